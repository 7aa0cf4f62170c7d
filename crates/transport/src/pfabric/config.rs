//! Parameters of a host, and what its senders count.

use trimline_packet::TimeDelta;

/// What makes a packet urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// The bytes of its flow that were not acknowledged when it was sent: the fewer, the more urgent (pFabric 4.1).
    Remaining,
    /// The bytes of its flow (FastLane 4.2.2: so that the end of a response does not go before its beginning).
    Total,
}

/// Parameters of every flow of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Payload of a full packet in bytes; the header adds 64 on the wire.
    pub payload_bytes: u16,
    /// Packets that may be in flight at most, and are at the beginning: the bandwidth-delay product (pFabric 4.3).
    pub window: u16,
    /// What makes a packet urgent.
    pub priority: Priority,
    /// Time without an ACK of new data after which packets are taken for lost. It is not backed off.
    pub rto: TimeDelta,
    /// Time-outs in a row after which a flow probes (pFabric 4.3: 5).
    pub probe_after: u8,
    /// Whether notifications of drops are acted on (FastLane 3.4.2).
    pub fastlane: bool,
    /// How long a driver keeps both halves of a flow that has ended.
    pub time_wait: TimeDelta,
}

/// What a sending half has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStatistics {
    /// Packets with data sent, retransmissions included.
    pub packets_sent: u64,
    /// Retransmissions because a switch told of the drop.
    pub retransmissions_notified: u64,
    /// Retransmissions because of a time-out.
    pub retransmissions_timeout: u64,
    /// Time-outs, those of probes included.
    pub timeouts: u64,
    /// Probes sent.
    pub probes: u64,
    /// Notifications that were acted on.
    pub notifications: u64,
}
