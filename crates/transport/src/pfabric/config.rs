//! Parameters of a host, and counters of its senders.

use trimline_packet::TimeDelta;

/// Measure of urgency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Unacknowledged bytes of its flow at sending; fewer is more urgent (pFabric 4.1).
    Remaining,
    /// Bytes of its flow (FastLane 4.2.2: a response's end must not overtake its beginning).
    Total,
}

/// Parameters of every flow of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Payload of a full packet, in bytes; the header adds 64.
    pub payload_bytes: u16,
    /// Initial and max packets in flight: the bandwidth-delay product (pFabric 4.3).
    pub window: u16,
    /// Measure of urgency.
    pub priority: Priority,
    /// Time without an ACK of new data after which packets count as lost. It is not backed off.
    pub rto: TimeDelta,
    /// Consecutive time-outs after which a flow probes (pFabric 4.3: 5).
    pub probe_after: u8,
    /// True if senders act on notifications of drops (FastLane 3.4.2).
    pub fastlane: bool,
    /// Time for which a driver keeps both streams of an ended flow.
    pub time_wait: TimeDelta,
}

/// Counters of a send stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStatistics {
    /// Data packets sent, retransmissions included.
    pub packets_sent: u64,
    /// Retransmissions after notifications of drops.
    pub retransmissions_notified: u64,
    /// Retransmissions after time-outs.
    pub retransmissions_timeout: u64,
    /// Time-outs, probes' included.
    pub timeouts: u64,
    /// Probes sent.
    pub probes: u64,
    /// Notifications that the sender acted on.
    pub notifications: u64,
}
