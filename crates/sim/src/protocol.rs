//! What the simulator needs to know of a transport beyond its endpoint: how to open a flow, and what
//! its events and statistics mean.

use trimline_metrics::FlowRecord;
use trimline_packet::{ConnectionId, HostId, PathId};
use trimline_transport::{Endpoint, Stream, ndp};

use crate::flows::Flow;

/// Where every host listens.
const SERVICE_PORT: u16 = 0;

/// Something that a flow's record notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowEvent {
    /// The last byte arrived at the receiver.
    Delivered(u32),
    /// The last ACK arrived at the sender.
    Acknowledged(u32),
}

/// A transport that the simulator can drive.
pub(crate) trait Protocol: Endpoint {
    /// Parameters of a host.
    type Config;

    /// A host.
    fn new(host: HostId, config: &Self::Config) -> Self;
    /// The command that makes a host accept every flow.
    fn listen() -> Self::Command;
    /// The command that opens a flow and hands it all its data.
    fn open(flow: &Flow, number: u32, paths: Vec<PathId>, stream: Stream) -> Self::Command;
    /// What an event says about a flow.
    fn flow_event(event: &Self::Event) -> Option<FlowEvent>;
    /// Writes what the sending half in `slot` did into its flow's record.
    fn record_sender(&self, slot: u32, record: &mut FlowRecord);
    /// Writes what the receiving half in `slot` saw into its flow's record. Gives whole packets.
    fn record_receiver(&self, slot: u32, record: &mut FlowRecord) -> u64;
    /// Payload bytes that the receiving half in `slot` has.
    fn delivered_bytes(&self, slot: u32) -> u64;
}

impl Protocol for ndp::Endpoint {
    type Config = ndp::Config;

    fn new(host: HostId, config: &ndp::Config) -> Self {
        ndp::Endpoint::new(host, config.clone())
    }

    fn listen() -> ndp::Command {
        ndp::Command::Listen { service_port: SERVICE_PORT }
    }

    fn open(flow: &Flow, number: u32, paths: Vec<PathId>, stream: Stream) -> ndp::Command {
        ndp::Command::Open {
            peer: flow.destination,
            connection: ConnectionId::new(number),
            service_port: SERVICE_PORT,
            class: flow.class,
            length: flow.size,
            paths,
            stream,
        }
    }

    fn flow_event(event: &ndp::Event) -> Option<FlowEvent> {
        match event {
            ndp::Event::Delivered { key, .. } => Some(FlowEvent::Delivered(key.connection.get())),
            ndp::Event::Acknowledged { key, .. } => {
                Some(FlowEvent::Acknowledged(key.connection.get()))
            }
            ndp::Event::Accepted { .. } | ndp::Event::Refused { .. } => None,
        }
    }

    fn record_sender(&self, slot: u32, record: &mut FlowRecord) {
        let seen = self.sender_statistics(slot);
        record.packets_sent = seen.packets_sent;
        record.retransmissions_nack = seen.retransmissions_nack;
        record.retransmissions_return = seen.retransmissions_return;
        record.retransmissions_timeout = seen.retransmissions_timeout;
        record.returns = seen.returns;
        record.timeouts = seen.timeouts;
    }

    fn record_receiver(&self, slot: u32, record: &mut FlowRecord) -> u64 {
        let seen = self.receiver_statistics(slot);
        record.delivered_bytes = seen.bytes;
        record.trims = seen.trims;
        seen.packets
    }

    fn delivered_bytes(&self, slot: u32) -> u64 {
        self.receiver_statistics(slot).bytes
    }
}
