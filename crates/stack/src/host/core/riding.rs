//! ACKs that ride in data packets, so that a request and its answer take one frame each.
//!
//! An ACK that pulls nothing is held while the endpoint is polled for the next packet, at the same instant. In data to
//! the same peer with room behind its payload it becomes a record. Otherwise it goes before other packets and right
//! behind data.

use std::collections::VecDeque;

use trimline_packet::wire::{ACKED_BYTES, Record, TAG_BYTES};
use trimline_packet::{ConnectionId, Flags, Header, Kind, Packet, Service, Time};
use trimline_transport::{Allowed, Endpoint};

use super::super::Cause;
use super::super::outgoing::EXTENSION_ROOM;
use super::super::peers::ME;
use super::{Core, Name};

/// Maximum number of ACKs that ride in one packet.
const MAX: usize = 4;

/// Maximum number of waiting control packets (chosen: the connections that one peer may open).
const MAX_WAITING: usize = 4096;

/// Maximum bytes behind a payload: a tag, the packet's records, and riding ACKs.
pub(crate) const BEHIND_PAYLOAD: usize = TAG_BYTES + EXTENSION_ROOM + MAX * ACKED_BYTES;

#[derive(Debug, Default)]
pub(super) struct Riding {
    /// Control packets of the endpoint, which go before further ones.
    waiting: VecDeque<Packet>,
    /// ACKs that ride in the next packet.
    in_next: Vec<Header>,
}

impl Riding {
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Queues a control packet before further packets of the endpoint, up to [`MAX_WAITING`].
    pub(super) fn push(&mut self, packet: Packet) {
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push_back(packet);
        }
    }

    pub(super) fn write(&mut self, extension: &mut Vec<u8>) {
        for Header { connection, sequence, flags, .. } in self.in_next.drain(..) {
            let (connection, flags) = (connection.get(), flags.bits());
            let record = Record::Acked { connection, sequence, flags };
            record.emit(extension).expect("a known record");
        }
    }
}

fn is_idle_ack(packet: &Packet) -> bool {
    packet.header.kind == Kind::Ack && packet.header.pull_counter().is_none()
}

impl Core {
    /// Returns the next packet of the endpoint. Answers of connections that are not pulled are flagged [`Flags::HELD`].
    fn poll_endpoint(&mut self, at: Time) -> Option<Packet> {
        let mut packet = self.endpoint.poll_transmit(at, Allowed::ALL)?;
        let header = &mut packet.header;
        if header.kind == Kind::Reset {
            header.extra = Cause::NoService as u32;
        }
        if self.holding > 0 && matches!(header.kind, Kind::Ack | Kind::Nack) {
            let opened_here = header.flags.contains(Flags::FROM_OPENER);
            let name =
                Name { peer: packet.destination, connection: header.connection, opened_here };
            if self.names.get(&name).is_some_and(|&index| self.entries[index as usize].holds) {
                header.flags = header.flags.with(Flags::HELD);
            }
        }
        Some(packet)
    }

    /// Returns the next packet to send, with ACKs that may ride in it.
    pub(super) fn next_of_endpoint(&mut self, at: Time) -> Option<Packet> {
        if let Some(packet) = self.riding.waiting.pop_front() {
            return Some(packet);
        }
        let first = self.poll_endpoint(at)?;
        if !self.config.joins_acks || !is_idle_ack(&first) {
            return Some(first);
        }
        let mut acks = std::mem::take(&mut self.riding.waiting);
        acks.push_back(first);
        let next = loop {
            match self.poll_endpoint(at) {
                Some(packet) if is_idle_ack(&packet) && acks.len() < MAX => acks.push_back(packet),
                other => break other,
            }
        };
        if let Some(data) = next
            && data.header.kind == Kind::Data
        {
            if acks.iter().all(|ack| ack.destination == data.destination)
                && self.has_room_behind(&data, acks.len())
            {
                self.riding.in_next.extend(acks.drain(..).map(|ack| ack.header));
            }
            // Data cannot wait: its bytes must still be there when it is written.
            self.riding.waiting = acks;
            return Some(data);
        }
        acks.extend(next);
        self.riding.waiting = acks;
        self.riding.waiting.pop_front()
    }

    fn has_room_behind(&self, data: &Packet, acks: usize) -> bool {
        // The packet's own records have room of their own.
        let free = self.config.ndp.payload_bytes - data.header.payload_length();
        acks * ACKED_BYTES <= usize::from(free)
    }

    pub(super) fn riders<'a>(
        packet: &Packet,
        records: impl Iterator<Item = Record<'a>>,
    ) -> impl Iterator<Item = Packet> {
        let (peer, path) = (packet.source, packet.header.path);
        records.filter_map(move |record| {
            let Record::Acked { connection, sequence, flags } = record else { return None };
            let (connection, flags) = (ConnectionId::new(connection), Flags::from_bits(flags));
            let header = Header { kind: Kind::Ack, flags, path, connection, sequence, extra: 0 };
            let mut ack = Packet::control(peer, ME, header);
            ack.service = Service::Control.into();
            // An ACK that pulls does not ride.
            ack.header.pull_counter().is_none().then_some(ack)
        })
    }
}
