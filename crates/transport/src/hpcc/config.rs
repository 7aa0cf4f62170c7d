//! Parameters of an HPCC host, and its counters.

use trimline_packet::{BitRate, ByteCount, TimeDelta};

/// Parameters of every connection of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Payload of a full packet, in bytes; headers and telemetry add 106.
    pub payload_bytes: u16,
    /// The law of windows.
    pub law: Law,
    /// Rule for resending after a loss.
    pub resend: Resend,
    /// Time without an answer after which the sender resends. It doubles until an ACK of new data.
    pub rto: TimeDelta,
}

/// Rule for resending after a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resend {
    /// All from the missing packet on.
    GoBack,
    /// The missing packets.
    Selective,
}

/// The law of windows: HPCC's Algorithm 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Law {
    /// Rate of the host's link: B of a flow's first window, and its max rate.
    pub line: BitRate,
    /// T, the base round trip.
    pub base: TimeDelta,
    /// eta, the utilisation that windows aim at, in billionths (the paper: 0.95).
    pub target: u32,
    /// maxStage, the additive increases between two multiplicative ones (the paper's simulations: 0).
    pub max_stage: u32,
    /// W_AI, the additive increase.
    pub additive_increase: ByteCount,
    /// Min rate of a flow. The paper gives none.
    pub min_rate: BitRate,
    /// Resolution of the telemetry.
    pub units: Units,
}

impl Law {
    /// The paper's maxStage for simulations. Its text says 5, a misprint by its authors (issue 24 of their simulator,
    /// whose configurations have 0).
    pub const MAX_STAGE: u32 = 0;
    /// The paper's eta.
    pub const TARGET: u32 = 950_000_000;
    /// N, the flows whose additive increases together fill what eta leaves free (HPCC 5.1: W_AI of 80 B at 100 Gb/s
    /// and 13 us is that of 100 flows).
    pub const FLOWS: u64 = 100;

    /// Returns W_AI for a link, a base round trip and an eta: the part of the bandwidth-delay product that eta leaves
    /// free, over [`Law::FLOWS`]; a byte at least.
    pub fn increase(line: BitRate, base: TimeDelta, target: u32) -> ByteCount {
        let free = u128::from(line.bytes_in(base).get())
            * u128::from(1_000_000_000u32.saturating_sub(target));
        let bytes = free / u128::from(1_000_000_000 * Law::FLOWS);
        ByteCount::new(u64::try_from(bytes).unwrap_or(u64::MAX).max(1))
    }
}

/// The units of telemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// Bytes and picoseconds.
    Exact,
    /// Those of HPCC's header: 80 B of a queue, 128 B sent modulo 2^20, nanoseconds modulo 2^24.
    Header,
}

/// Counters of a send stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStatistics {
    /// Packets sent, resent ones included.
    pub packets_sent: u64,
    /// Packets resent after an answer that named a loss.
    pub resent_signalled: u64,
    /// Packets resent after a time-out.
    pub resent_timeout: u64,
    /// Time-outs.
    pub timeouts: u64,
}

/// Counters of a receive stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStatistics {
    /// Payload bytes that were taken.
    pub bytes: u64,
    /// Packets that were taken.
    pub packets: u64,
    /// Packets discarded: duplicates, and with go-back-N those out of order.
    pub discarded: u64,
}
