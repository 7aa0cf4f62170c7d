//! NDP (Handley et al., SIGCOMM 2017), section 3.2.
//!
//! A sender pushes its first window blindly; then the receiver pulls every packet, new or trimmed, at the rate of its
//! own link. [`Endpoint`] is one host: the streams of all its connections, their one pull queue, and their timers.

mod answered;
mod config;
mod connections;
mod core_rate;
mod delayed_ack;
mod endpoint;
mod following;
mod headers;
mod latencies;
mod paths;
mod pending_acks;
mod pull_queue;
mod receiver;
mod round_trips;
mod scoreboard;
mod send_scheduler;
mod sender;
mod slot;
mod starvation;
mod window;

pub use config::{
    Command, Config, Event, FollowsPath, PathPenalty, PullGap, PullGaps, PullSpacing,
    ReceiverStatistics, SenderProgress, SenderStatistics,
};
pub use core_rate::CoreRate;
pub use endpoint::Endpoint;
pub use latencies::Latency;
pub use scoreboard::Scoreboard;
pub use send_scheduler::Order;

#[cfg(test)]
mod tests {
    use super::*;
    use trimline_packet::{BitRate, TimeDelta};

    /// Removals of one to four milliseconds.
    pub(super) const PENALTY: PathPenalty = PathPenalty::lasting(TimeDelta::from_ms(1));

    /// The paper's parameters.
    pub(super) fn config() -> Config {
        Config::paper(BitRate::from_gbps(10))
    }
}
