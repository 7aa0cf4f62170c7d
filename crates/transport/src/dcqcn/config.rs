//! Parameters of a DCQCN host, and its counters.

use trimline_packet::{BitRate, ByteCount, TimeDelta};

/// Parameters of every connection of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Payload of a full packet, in bytes; the header adds 64.
    pub payload_bytes: u16,
    /// Initial and max rate of a flow: the NIC's rate.
    pub line_rate: BitRate,
    /// Min rate. The paper gives none; chosen: 10 Mb/s, as in 802.1Qau.
    pub min_rate: BitRate,
    /// `alpha` has the gain 2^-`gain_shift` (the paper: 8, so 1/256).
    pub gain_shift: u8,
    /// Time without a CNP after which `alpha` falls (the paper: 55 us).
    pub alpha_timer: TimeDelta,
    /// Time between two increases (the paper: 55 us).
    pub increase_timer: TimeDelta,
    /// Bytes on the wire between two increases (the paper: 10 MB).
    pub increase_bytes: ByteCount,
    /// F, the increases of fast recovery (the paper: 5).
    pub recoveries: u32,
    /// R_AI, the additive increase of the target (the paper: 40 Mb/s).
    pub additive_increase: BitRate,
    /// R_HAI, the hyper increase of the target, once more each time. The paper gives none; chosen: ten times R_AI, as
    /// in 802.1Qau.
    pub hyper_increase: BitRate,
    /// Min time between two CNPs of a flow (the paper: 50 us).
    pub cnp_interval: TimeDelta,
    /// Packets per requested ACK.
    pub ack_every: u8,
    /// Max outstanding payload of a flow; the paper has no limit.
    pub window: Option<ByteCount>,
    /// Time without an answer after which the sender goes back. It doubles until an ACK of new data.
    pub rto: TimeDelta,
}

impl Config {
    /// Rate for which the paper gives its parameters (DCQCN 5.2).
    pub const PUBLISHED_AT: BitRate = BitRate::from_gbps(40);

    /// Returns the paper's parameters for a NIC of this rate, with packets of 9000 bytes. The fields name chosen
    /// values.
    ///
    /// Above 40 Gb/s min rate and both steps scale with the line rate (chosen; HPCC's simulator, `run.py`, also scales
    /// R_AI and R_HAI). The byte counter stays at 10 MB.
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

/// Counters of a send stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStatistics {
    /// Packets sent, resent ones included.
    pub packets_sent: u64,
    /// Packets resent after a NACK.
    pub resent_nack: u64,
    /// Packets resent after a time-out.
    pub resent_timeout: u64,
    /// Time-outs.
    pub timeouts: u64,
    /// CNPs that arrived.
    pub cnps: u64,
}

/// Counters of a receive stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStatistics {
    /// Payload bytes that arrived in order.
    pub bytes: u64,
    /// Packets that arrived in order.
    pub packets: u64,
    /// Packets discarded: out of order or duplicate.
    pub discarded: u64,
    /// Packets that arrived marked "congestion experienced".
    pub marked: u64,
    /// CNPs sent.
    pub cnps: u64,
}
