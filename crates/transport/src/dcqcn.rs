//! DCQCN (Zhu et al., "Congestion control for large-scale RDMA deployments", SIGCOMM 2015): rates that fall when
//! switches mark, for networks that priority flow control keeps from dropping.
//!
//! One connection is one stream from its opener to its peer, on one path, as a queue pair of RoCEv2 has it. The switch
//! is the congestion point, and its marks are the switch's own affair (a ramp of probability, RED). The receiver is the
//! notification point: it tells of marks with a CNP ([`Endpoint`]'s receiving halves). The sender is the reaction
//! point: CNPs cut its rate, time and bytes raise it again.
//!
//! # The packet
//! | field | data | ACK | NACK | CNP |
//! |---|---|---|---|---|
//! | `kind` | DATA | ACK | NACK | ACK |
//! | `sequence` | packet of the stream, from 0 | the next packet that is missing | the packet that is missing | 0 |
//! | `flags` | LAST (of a message); FROM_OPENER; [`ACK_REQUEST`]; class | class | class | class |
//! | `marks` | ECT, and CE of a switch | none | none | [`MARK_CNP`] |
//! | `extra` | payload bytes, as in every DATA packet | 0 | 0 | 0 |
//!
//! A CNP is a control packet of its own, as in RoCEv2 (opcode 0x81). It cannot ride in an ACK there: a receiver may
//! answer several packets at once, and a CNP must not wait for that. It is of kind ACK, which every switch and every
//! trace knows as a packet to a sender; the mark, that of ECN-Echo in the TCP family, tells it apart. It acknowledges
//! nothing, for a real one has no number: whoever receives one looks at the mark alone.
//!
//! # What gets lost
//! Recovery is go-back-N: a receiver takes packets in order only, names the missing one once, and the sender begins
//! again there. A time-out does the same when nothing was heard. In a lossless network neither happens.

use trimline_packet::Packet;

mod config;
mod endpoint;
mod pacing;
mod rate;
mod receiver;
mod sender;
mod way;

pub use crate::flow::{Command, Event};
pub use config::{Config, ReceiverStatistics, SenderStatistics};
pub use endpoint::Endpoint;
pub use rate::{ALPHA_ONE, MIN_TIMER};

/// [`Packet::marks`]: congestion notification, packets of the flow were marked. The
/// receiver of one reacts, and reads nothing else of it.
pub const MARK_CNP: u8 = Packet::MARK_ECE;
/// A flag of data: its receiver answers with an ACK (the AckReq bit of RoCEv2).
pub const ACK_REQUEST: u8 = 1 << 3;

#[cfg(test)]
mod tests {
    use super::*;
    use trimline_packet::{BitRate, ByteCount, TimeDelta};

    /// The paper's, at 10 Gb/s.
    pub(super) fn config() -> Config {
        Config::published(BitRate::from_gbps(10))
    }

    #[test]
    fn the_parameters_are_the_papers() {
        let us = TimeDelta::from_us;
        let config = config();
        assert_eq!(
            (config.alpha_timer, config.increase_timer, config.cnp_interval),
            (us(55), us(55), us(50))
        );
        assert_eq!((config.gain_shift, config.recoveries), (8, 5));
        assert_eq!(config.increase_bytes, ByteCount::new(10_000_000));
        assert_eq!(config.additive_increase, BitRate::from_bps(40_000_000));
        // No source scales below 40 Gb/s; above, increases are as large a part of the rate.
        let of = |gbps| {
            let config = Config::published(BitRate::from_gbps(gbps));
            [config.min_rate, config.additive_increase, config.hyper_increase]
        };
        let mbps = |rates: [u64; 3]| rates.map(|rate| BitRate::from_bps(rate * 1_000_000));
        assert_eq!((of(1), of(40)), (mbps([10, 40, 400]), mbps([10, 40, 400])));
        assert_eq!((of(100), of(400)), (mbps([25, 100, 1_000]), mbps([100, 400, 4_000])));
        // No flow begins below its least rate.
        let slow = BitRate::from_bps(2_000_000);
        assert_eq!(Config::published(slow).min_rate, slow);
    }
}
