//! The simulator's interface to a transport, besides its endpoint: the construction of hosts, and the meaning of
//! statistics.

use std::sync::Arc;

use trimline_metrics::{FlowRecord, PacketLatency, Readings, SeriesColumn};
use trimline_packet::{HostId, TimeDelta};
use trimline_transport::{Endpoint, Side, flow};

/// Longer than timeouts without back-off.
pub(crate) const STALL_TIMEOUT: TimeDelta = TimeDelta::from_ms(30_000);

/// A transport's endpoint that the simulator can drive. Its own commands and events convert to [`flow::Command`] and
/// [`flow::Event`].
pub trait Protocol:
    Endpoint<Command: From<flow::Command>, Event: Into<Option<flow::Event>>> + Send + Sync + 'static
{
    /// True if a connection takes further messages ([`flow::Command::Send`]) and reports each at both ends: delivery,
    /// then acknowledgement. Scenarios may then use persistent connections.
    const TAKES_MESSAGES: bool = false;

    /// Parameters of a host.
    type Config: Clone + std::fmt::Debug + Send + Sync + 'static;

    /// Returns a host, which draws from its own streams ([`crate::random::stream`]).
    fn new(host: HostId, config: &Arc<Self::Config>, seed: u64) -> Self;
    /// Returns how long a flow's streams are kept after the last ACK, to answer late packets.
    fn time_wait(config: &Self::Config) -> TimeDelta;
    /// Returns how long senders may be silent and still go on. A run without a duration is given up if no payload
    /// arrives for longer.
    fn stall_timeout(_config: &Self::Config) -> TimeDelta {
        STALL_TIMEOUT
    }
    /// Forgets the stream in `slot`: the slot may be assigned again.
    fn forget(&mut self, slot: u32);
    /// Statistics of the stream in `slot`. A transport that writes senders' records itself is asked only
    /// for receivers.
    fn statistics_of(&self, slot: u32) -> flow::Statistics;
    /// Writes the send stream in `slot` into its flow's record.
    fn record_sender(&self, slot: u32, record: &mut FlowRecord) {
        let seen = self.statistics_of(slot);
        record.packets_sent = seen.packets;
        record.retransmissions_timeout = seen.resent;
        record.returns = seen.headers;
    }
    /// Writes the receive stream in `slot` into its flow's record. Returns the whole packets.
    fn record_receiver(&self, slot: u32, record: &mut FlowRecord) -> u64 {
        let seen = self.statistics_of(slot);
        record.delivered_bytes = seen.bytes;
        record.trims = seen.headers;
        seen.packets
    }
    /// Memory of the connections, by slot, for prefetching, if that pays.
    fn connections(&self) -> flow::Memory {
        flow::Memory::NONE
    }
    /// The transport's columns of a flow's series (`output.series`), besides the usual counts: a window, a rate, a
    /// share of marks.
    fn series_columns(_config: &Self::Config) -> Vec<SeriesColumn> {
        Vec::new()
    }
    /// Reads the values of these columns for the stream in `slot`. Called only at the times of the series.
    fn read(&self, _slot: u32, _side: Side, _readings: &mut Readings<'_>) {}
    /// Appends the latencies of the packets of the send stream in `slot`, if they are recorded.
    fn latencies(&self, _slot: u32, _config: &Self::Config, _latencies: &mut Vec<PacketLatency>) {}
}
