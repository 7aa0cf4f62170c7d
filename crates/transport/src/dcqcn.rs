//! DCQCN (Zhu et al., "Congestion control for large-scale RDMA deployments", SIGCOMM 2015): senders cut their rates
//! when switches mark, in networks that priority flow control keeps from dropping.
//!
//! A connection is one stream on one path, like a queue pair of RoCEv2. The switch, the congestion point, marks by its
//! own rules (a ramp of probability, RED). The receiver, the notification point, answers marks with CNPs
//! ([`Endpoint`]'s receive streams). At the sender, the reaction point, CNPs cut the rate, and time and bytes raise it.
//!
//! # The packet
//! | field | data | ACK | NACK | CNP |
//! |---|---|---|---|---|
//! | `kind` | DATA | ACK | NACK | ACK |
//! | `sequence` | packet of the stream, from 0 | the next missing packet | the missing packet | 0 |
//! | `flags` | LAST (of a message); FROM_OPENER; [`ACK_REQUEST`]; class | class | class | class |
//! | `marks` | ECT, and CE of a switch | none | none | [`MARK_CNP`] |
//! | `extra` | payload bytes, as in every DATA packet | 0 | 0 | 0 |
//!
//! A CNP is a separate control packet, as in RoCEv2 (opcode 0x81). An ACK cannot carry it: a receiver may answer
//! several packets at once, and a CNP must not wait. Its kind is ACK, which every switch and trace knows as a packet to
//! a sender; the mark (ECN-Echo in the TCP family) tells it apart. A CNP acknowledges nothing, as a real CNP has no
//! number: its receiver reads only the mark.
//!
//! # Loss
//! Recovery is go-back-N: a receiver takes packets only in order, names the missing one once, and the sender restarts
//! there. A time-out without answers does the same. Neither happens in a lossless network.

use trimline_packet::Packet;

mod config;
mod endpoint;
mod pacing;
mod rate;
mod receiver;
mod sender;

pub use crate::flow::{Command, Event};
pub use config::{Config, ReceiverStatistics, SenderStatistics};
pub use endpoint::Endpoint;
pub use rate::{ALPHA_ONE, MIN_TIMER};

/// [`Packet::marks`]: congestion notification, packets of the flow were marked. The receiver reads nothing else of a
/// CNP.
pub const MARK_CNP: u8 = Packet::MARK_ECE;
/// Flag of data: the receiver answers with an ACK (the AckReq bit of RoCEv2).
pub const ACK_REQUEST: u8 = 1 << 3;

#[cfg(test)]
mod tests {
    use super::*;
    use trimline_packet::{BitRate, ByteCount, TimeDelta};

    /// The paper's parameters, at 10 Gb/s.
    pub(super) fn config() -> Config {
        Config::published(BitRate::from_gbps(10))
    }

    #[test]
    fn the_default_parameters_match_the_paper() {
        let us = TimeDelta::from_us;
        let config = config();
        assert_eq!(
            (config.alpha_timer, config.increase_timer, config.cnp_interval),
            (us(55), us(55), us(50))
        );
        assert_eq!((config.gain_shift, config.recoveries), (8, 5));
        assert_eq!(config.increase_bytes, ByteCount::new(10_000_000));
        assert_eq!(config.additive_increase, BitRate::from_bps(40_000_000));
        // No source scales below 40 Gb/s; above, steps scale with the rate.
        let of = |gbps| {
            let config = Config::published(BitRate::from_gbps(gbps));
            [config.min_rate, config.additive_increase, config.hyper_increase]
        };
        let mbps = |rates: [u64; 3]| rates.map(|rate| BitRate::from_bps(rate * 1_000_000));
        assert_eq!((of(1), of(40)), (mbps([10, 40, 400]), mbps([10, 40, 400])));
        assert_eq!((of(100), of(400)), (mbps([25, 100, 1_000]), mbps([100, 400, 4_000])));
        // No flow begins below its min rate.
        let slow = BitRate::from_bps(2_000_000);
        assert_eq!(Config::published(slow).min_rate, slow);
    }
}
