//! What the simulator needs to know of a transport beyond its endpoint: what its hosts are made of, and what its
//! statistics mean.

use std::sync::Arc;

use trimline_metrics::{FlowRecord, PacketLatency, Readings, SeriesColumn};
use trimline_packet::{HostId, TimeDelta};
use trimline_transport::{Endpoint, Side, flow};

/// Longer than time-outs are without backing off.
pub(crate) const STALL_TIMEOUT: TimeDelta = TimeDelta::from_ms(30_000);

/// A transport's endpoint that the simulator can drive. It speaks [`flow::Command`] and [`flow::Event`]; commands and
/// events of a transport's own are converted.
pub trait Protocol:
    Endpoint<Command: From<flow::Command>, Event: Into<Option<flow::Event>>> + Send + Sync + 'static
{
    /// Whether a connection takes further messages ([`flow::Command::Send`]) and tells of each at both ends: that it
    /// was delivered, then that it was acknowledged. Scenarios may then keep connections.
    const TAKES_MESSAGES: bool = false;

    /// Parameters of a host.
    type Config: Clone + std::fmt::Debug + Send + Sync + 'static;

    /// A host; what is random in it is drawn from streams of its own ([`crate::random::stream`]).
    fn new(host: HostId, config: &Arc<Self::Config>, seed: u64) -> Self;
    /// How long both halves of a flow are kept after the last ACK has arrived, to answer what is late.
    fn time_wait(config: &Self::Config) -> TimeDelta;
    /// For how long senders may say nothing and go on all the same. A run without a duration in which no payload has
    /// arrived for longer is given up.
    fn stall_timeout(_config: &Self::Config) -> TimeDelta {
        STALL_TIMEOUT
    }
    /// The half in `slot` is forgotten: the slot may be assigned again.
    fn forget(&mut self, slot: u32);
    /// What the half in `slot` did. A transport that writes the record of senders itself is asked for receivers only.
    fn statistics_of(&self, slot: u32) -> flow::Statistics;
    /// Writes what the sending half in `slot` did into its flow's record.
    fn record_sender(&self, slot: u32, record: &mut FlowRecord) {
        let seen = self.statistics_of(slot);
        record.packets_sent = seen.packets;
        record.retransmissions_timeout = seen.resent;
        record.returns = seen.headers;
    }
    /// Writes what the receiving half in `slot` saw into its flow's record. Gives whole packets.
    fn record_receiver(&self, slot: u32, record: &mut FlowRecord) -> u64 {
        let seen = self.statistics_of(slot);
        record.delivered_bytes = seen.bytes;
        record.trims = seen.headers;
        seen.packets
    }
    /// Where the state of the connections lies, by slot: asked for before a host is visited, where it is worth it.
    fn connections(&self) -> flow::Memory {
        flow::Memory::NONE
    }
    /// What the transport tells of its flows over time (`output.series`), beside what is counted of every flow: a
    /// window, a rate, a share of marks.
    fn series_columns(_config: &Self::Config) -> Vec<SeriesColumn> {
        Vec::new()
    }
    /// Gives the values of these columns that the half in `slot` has. Called at the times of the series only.
    fn read(&self, _slot: u32, _side: Side, _readings: &mut Readings<'_>) {}
    /// Appends how long the packets of the sending half in `slot` took, where that is recorded.
    fn latencies(&self, _slot: u32, _config: &Self::Config, _latencies: &mut Vec<PacketLatency>) {}
}
