//! The TCP family: NewReno (RFC 5681, RFC 6582) with and without SACK (RFC 6675), CUBIC (RFC 9438), ECN (RFC 3168),
//! DCTCP (RFC 8257) and MPTCP (linked increases, RFC 6356; reinjection). Reactions to switches' notifications of drops:
//! FastLane or Source Quench ([`Notifications`]).
//!
//! A connection is one stream from its opener to its peer, over one or more subflows. An [`Endpoint`] is one host: all
//! its streams and timers. A [`Config`] selects the family member; switches drop and mark.

mod config;
mod congestion;
mod endpoint;
mod notified;
mod outstanding;
mod receiver;
mod round_trip;
mod said;
mod segment;
mod sender;
mod subflow;

pub use crate::flow::{Command, Event};
pub use config::{
    Config, Control, FastLane, Handshake, MAX_SUBFLOWS, Notifications, ReceiverStatistics,
    SenderProgress, SenderStatistics,
};
pub use endpoint::Endpoint;
pub use said::Said;
pub use segment::MARK_CWR;

#[cfg(test)]
mod tests {
    use super::*;
    use trimline_packet::TimeDelta;

    pub(super) fn config() -> Config {
        Config {
            rto_max: TimeDelta::from_ms(1000),
            ..Config::new_reno(9000, TimeDelta::from_ms(10))
        }
    }
}
