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
    pub(super) const PENALTY: PathPenalty = PathPenalty {
        min_nacks: 10,
        min_losses: 2,
        ratio: 2,
        removal: TimeDelta::from_ms(1),
        removal_max: TimeDelta::from_ms(4),
    };

    /// The paper's parameters.
    pub(super) fn config() -> Config {
        Config {
            initial_window: 30,
            marked: 30,
            aeolus: false,
            payload_bytes: 9000,
            link_rate: BitRate::from_gbps(10),
            framing_bytes: 0,
            pull_spacing: PullSpacing::WireBytes,
            pull_ack: true,
            credit_bank: true,
            doubts_headers: false,
            ack_every: 1,
            core_rate: None,
            initial_window_bytes: 0,
            turn: 0,
            rto: TimeDelta::from_ms(1),
            follows_path: None,
            pull_repeat: TimeDelta::from_ms(1),
            backstop_unowed: TimeDelta::from_ms(1),
            backstop_owed: TimeDelta::from_ms(100),
            time_wait: TimeDelta::from_ms(1),
            path_penalty: None,
            order: Order::Fair,
            pull_gaps: None,
            record_latencies: false,
        }
    }
}
