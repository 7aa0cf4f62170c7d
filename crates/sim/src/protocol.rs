//! What the simulator needs to know of a transport beyond its endpoint: how to open a flow, and what
//! its events and statistics mean.

use std::sync::Arc;

use trimline_metrics::{FlowRecord, PacketLatency};
use trimline_packet::{ConnectionId, HostId, PathId, TimeDelta};
use trimline_transport::{Endpoint, Key, Stream, cbr, flow, ndp, tcp};

use crate::flows::Flow;
use crate::random;

/// Something that a flow's record notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowEvent {
    /// The last byte arrived at the receiver.
    Delivered(u32),
    /// The last ACK arrived at the sender.
    Acknowledged(u32),
}

/// A transport that the simulator can drive.
pub(crate) trait Protocol:
    Endpoint<Command: From<flow::Command>, Event: Into<Option<flow::Event>>> + Send + Sync
{
    /// Parameters of a host.
    type Config: Clone + Send + Sync;

    /// A host; what is random in it is drawn from streams of its own.
    fn new(host: HostId, config: &Arc<Self::Config>, seed: u64) -> Self;
    /// The command that makes a host accept every flow.
    fn listen() -> Self::Command {
        flow::Command::Listen.into()
    }
    /// The command that opens a flow and hands it all its data.
    fn open(flow: &Flow, number: u32, paths: Vec<PathId>, stream: Stream) -> Self::Command {
        let Flow { destination: peer, class, size: length, .. } = *flow;
        let connection = ConnectionId::new(number);
        flow::Command::Open { peer, connection, class, length, paths, stream }.into()
    }
    /// The command that names the paths of one half that work.
    fn paths(key: Key, paths: Vec<PathId>) -> Self::Command {
        flow::Command::Paths { key, paths }.into()
    }
    /// What an event says about a flow.
    fn flow_event(event: Self::Event) -> Option<FlowEvent> {
        Some(match event.into()? {
            flow::Event::Delivered { key, .. } => FlowEvent::Delivered(key.connection.get()),
            flow::Event::Acknowledged { key, .. } => FlowEvent::Acknowledged(key.connection.get()),
        })
    }
    /// What the half in `slot` did. Whoever writes the record of senders itself is asked of receivers only.
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
    /// Where the state of the connections lies, and its bytes: asked for before a host is visited, where it is worth
    /// it.
    fn connections(&self) -> (*const u8, usize) {
        (std::ptr::null(), 0)
    }
    /// Appends how long the packets of the sending half in `slot` took, where that is recorded.
    fn latencies(&self, _slot: u32, _config: &Self::Config, _latencies: &mut Vec<PacketLatency>) {}
}

impl Protocol for ndp::Endpoint {
    type Config = ndp::Config;

    fn new(host: HostId, config: &Arc<ndp::Config>, seed: u64) -> Self {
        let mut config = Arc::clone(config);
        if config.pull_gaps.is_some()
            && let Some(gaps) = &mut Arc::make_mut(&mut config).pull_gaps
        {
            gaps.stream = random::stream(seed, "pull gap", &[u64::from(host.get())]);
        }
        ndp::Endpoint::new(host, config)
    }

    fn statistics_of(&self, slot: u32) -> flow::Statistics {
        let seen = self.receiver_statistics(slot);
        let (packets, bytes, headers) = (seen.packets, seen.bytes, seen.trims);
        flow::Statistics { packets, bytes, headers, resent: 0 }
    }

    fn record_sender(&self, slot: u32, record: &mut FlowRecord) {
        let seen = self.sender_statistics(slot);
        record.packets_sent = seen.packets_sent;
        record.retransmissions_signalled = seen.retransmissions_nack;
        record.retransmissions_return = seen.retransmissions_return;
        record.retransmissions_timeout = seen.retransmissions_timeout;
        record.returns = seen.returns;
        record.timeouts = seen.timeouts;
        record.path_removals = seen.path_removals;
        record.path_restorations = self.path_restorations(slot);
    }

    fn connections(&self) -> (*const u8, usize) {
        self.connections_memory()
    }

    fn latencies(&self, slot: u32, config: &ndp::Config, latencies: &mut Vec<PacketLatency>) {
        latencies.extend(self.latencies(slot).iter().map(|latency| PacketLatency {
            first_window: latency.sequence < config.initial_window,
            ps: latency.time.as_ps(),
        }));
    }
}

impl Protocol for cbr::Endpoint {
    type Config = cbr::Config;

    /// The plan's clock is the slowest one; each host draws its own.
    fn new(host: HostId, config: &Arc<cbr::Config>, seed: u64) -> Self {
        let mut clocks = random::stream(seed, "clock", &[u64::from(host.get())]);
        let lag = random::below(&mut clocks, config.clock_lag.as_ps() + 1);
        let clock_lag = TimeDelta::from_ps(lag);
        cbr::Endpoint::new(host, cbr::Config { clock_lag, ..cbr::Config::clone(config) })
    }

    fn statistics_of(&self, slot: u32) -> flow::Statistics {
        *self.statistics(slot)
    }

    fn connections(&self) -> (*const u8, usize) {
        self.connections_memory()
    }
}

impl Protocol for tcp::Endpoint {
    type Config = tcp::Config;

    fn new(host: HostId, config: &Arc<tcp::Config>, _seed: u64) -> Self {
        tcp::Endpoint::new(host, Arc::clone(config))
    }

    fn statistics_of(&self, slot: u32) -> flow::Statistics {
        let seen = self.receiver_statistics(slot);
        let (packets, bytes) = (seen.packets, seen.bytes);
        flow::Statistics { packets, bytes, ..flow::Statistics::default() }
    }

    fn record_sender(&self, slot: u32, record: &mut FlowRecord) {
        let seen = self.sender_statistics(slot);
        record.packets_sent = seen.packets_sent;
        record.retransmissions_signalled = seen.retransmissions_fast;
        record.retransmissions_timeout = seen.retransmissions_timeout;
        record.timeouts = seen.timeouts;
    }

    fn connections(&self) -> (*const u8, usize) {
        self.connections_memory()
    }
}
