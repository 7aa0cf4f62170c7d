//! The parameters of a DCQCN host, and what it counts.

use trimline_packet::{BitRate, ByteCount, TimeDelta};

/// Parameters of every connection of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Payload of a full packet in bytes; the header adds 64 on the wire.
    pub payload_bytes: u16,
    /// The rate at which a flow begins, and the greatest one: that of the NIC.
    pub line_rate: BitRate,
    /// The least rate. The paper names none; chosen: that of 802.1Qau, 10 Mb/s.
    pub min_rate: BitRate,
    /// `alpha` is averaged with the gain 2^-`gain_shift` (the paper: 8, which is 1/256).
    pub gain_shift: u8,
    /// Time without a CNP after which `alpha` falls (the paper: 55 us).
    pub alpha_timer: TimeDelta,
    /// Time between two increases of the rate (the paper: 55 us).
    pub increase_timer: TimeDelta,
    /// Bytes on the wire between two increases of the rate (the paper: 10 MB).
    pub increase_bytes: ByteCount,
    /// Increases of fast recovery, F (the paper: 5).
    pub recoveries: u32,
    /// What additive increase adds to the target, R_AI (the paper: 40 Mb/s).
    pub additive_increase: BitRate,
    /// What hyper increase adds to the target, once more each time, R_HAI. The paper names none; chosen: ten times
    /// R_AI, the proportion of 802.1Qau.
    pub hyper_increase: BitRate,
    /// The least time between two CNPs of a flow (the paper: 50 us).
    pub cnp_interval: TimeDelta,
    /// Packets for which the sender asks for one ACK.
    pub ack_every: u8,
    /// Bytes of payload that a flow may have outstanding. The paper has no such limit.
    pub window: Option<ByteCount>,
    /// Time without an answer after which the sender goes back. It doubles until something is acknowledged.
    pub rto: TimeDelta,
}

impl Config {
    /// The rate for which the paper gives its parameters (DCQCN 5.2).
    pub const PUBLISHED_AT: BitRate = BitRate::from_gbps(40);

    /// The paper's parameters for a NIC of this rate; the chosen ones are named at the fields. Packets of 9000 bytes.
    ///
    /// Above 40 Gb/s the minimum rate and both increases are as large a part of the line rate as at 40 Gb/s (chosen;
    /// HPCC's simulator, `run.py`, sets R_AI and R_HAI in proportion to the rate, too). The byte counter stays at 10 MB.
    pub fn published(line_rate: BitRate) -> Config {
        let scaled = |bps| BitRate::from_bps(line_rate.scale(bps, Config::PUBLISHED_AT));
        Config {
            payload_bytes: 9000,
            line_rate,
            min_rate: scaled(10_000_000).min(line_rate),
            gain_shift: 8,
            alpha_timer: TimeDelta::from_us(55),
            increase_timer: TimeDelta::from_us(55),
            increase_bytes: ByteCount::new(10_000_000),
            recoveries: 5,
            additive_increase: scaled(40_000_000),
            hyper_increase: scaled(400_000_000),
            cnp_interval: TimeDelta::from_us(50),
            ack_every: 1,
            window: None,
            rto: TimeDelta::from_ms(10),
        }
    }
}

/// What a sending half has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStatistics {
    /// Packets sent, those that were sent again included.
    pub packets_sent: u64,
    /// Packets sent again behind a NACK.
    pub resent_nack: u64,
    /// Packets sent again behind a time-out.
    pub resent_timeout: u64,
    /// Time-outs.
    pub timeouts: u64,
    /// CNPs that arrived.
    pub cnps: u64,
}

/// What a receiving half has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStatistics {
    /// Payload bytes that arrived in order.
    pub bytes: u64,
    /// Packets that arrived in order.
    pub packets: u64,
    /// Packets that arrived out of order, or again, and were not kept.
    pub discarded: u64,
    /// Packets that arrived marked "congestion experienced".
    pub marked: u64,
    /// CNPs sent.
    pub cnps: u64,
}
