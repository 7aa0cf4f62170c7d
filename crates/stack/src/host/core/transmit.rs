//! The pacing and writing of frames.

use std::ops::Range;

use trimline_packet::wire::{Datagram, Ethernet, Record, Tag};
use trimline_packet::{ByteCount, Flags, Kind, Packet, Service, Time};
use trimline_transport::{Allowed, Endpoint};

use super::dead_peer::is_question;
use super::{Core, Name};

/// Maximum delay behind its own pace, in full packets, that a host makes up for (chosen: 8, the packets that a switch
/// port of the paper can queue).
const LATE_PACKETS: u64 = 8;

/// Minimum payload, in bytes, that is not copied into its frame (chosen: a full packet of the smaller MTU; savings in
/// docs/performance-log.md).
const APART: usize = 1400;

/// The shortest Ethernet frame, in bytes, without FCS.
pub(super) const SHORTEST: usize = 60;

#[derive(Debug)]
pub(in crate::host) struct Lent {
    entry: u32,
    at: Range<u64>,
}

#[derive(Debug)]
pub(in crate::host) struct Written {
    /// The frame, or its bytes before and behind the payload.
    pub(in crate::host) bytes: Vec<u8>,
    pub(in crate::host) head: usize,
    /// The payload, unless `bytes` contains it.
    pub(in crate::host) payload: Option<Lent>,
    /// A next hop is known. Without one the packet counts as lost.
    pub(in crate::host) has_way: bool,
}

impl Written {
    pub(in crate::host) fn pieces<'a>(&'a self, core: &'a Core) -> ([&'a [u8]; 4], usize) {
        let Some(lent) = &self.payload else { return ([&self.bytes, &[], &[], &[]], 1) };
        let (head, tail) = self.bytes.split_at(self.head);
        match core.lent(lent) {
            [first, []] => ([head, first, tail, &[]], 2 + usize::from(!tail.is_empty())),
            [first, second] => ([head, first, second, tail], 4),
        }
    }
}

impl Core {
    pub(super) fn next_transmit(&self) -> Time {
        let free = self.busy_until.saturating_since(Time::ZERO).saturating_sub(self.ahead);
        let is_waiting = !self.to_strangers.is_empty() || self.riding.is_waiting();
        let ready = match is_waiting || self.watch.asks() {
            true => Time::ZERO,
            false => self.endpoint.transmit_at(Allowed::ALL),
        };
        ready.max(Time::ZERO + free).max(self.clock)
    }

    /// Writes the next packet that may be sent at or before `now` into the frame. Returns its departure by the host's
    /// own pace; a thread that was held up makes up for a limited delay.
    pub fn transmit(&mut self, now: Time) -> Option<(Time, Packet)> {
        let (at, packet) = self.next_packet(now)?;
        self.frame = match self.to_strangers.pop_front() {
            Some(answer) => answer,
            None => self.write_frame(now, &packet, usize::MAX).bytes,
        };
        Some((at, packet))
    }

    /// Returns the next packet as [`Core::transmit`] does, but leaves a long payload in its buffer, where it stays
    /// until an arrival.
    pub(in crate::host) fn transmit_apart(&mut self, now: Time) -> Option<(Packet, Written)> {
        let (_, packet) = self.next_packet(now)?;
        let written = match self.to_strangers.pop_front() {
            Some(bytes) => Written { head: bytes.len(), bytes, payload: None, has_way: true },
            None => self.write_frame(now, &packet, APART),
        };
        Some((packet, written))
    }

    fn next_packet(&mut self, now: Time) -> Option<(Time, Packet)> {
        self.close_ended(now);
        if !self.unhanded.is_empty() {
            self.hand_over(now);
        }
        let due = self.next_transmit();
        if due > now {
            return None;
        }
        let full = self.config.ndp.payload_bytes + Packet::HEADER_BYTES;
        let behind = self.config.send_rate.transmission(ByteCount::new(u64::from(full)));
        let earliest = now.saturating_since(Time::ZERO).saturating_sub(behind * LATE_PACKETS);
        let at = due.max(Time::ZERO + earliest);
        self.clock = at;
        let packet = if let Some(answer) = self.next_to_stranger() {
            answer
        } else if let Some(question) = self.next_question() {
            question
        } else {
            self.next_of_endpoint(at)?
        };
        let wire = ByteCount::new(u64::from(packet.wire_bytes));
        self.busy_until = at.max(self.busy_until) + self.config.send_rate.transmission(wire);
        Some((at, packet))
    }

    /// Writes a packet; a payload of `apart` bytes or more is only referenced.
    fn write_frame(&mut self, now: Time, packet: &Packet, apart: usize) -> Written {
        self.extension.clear();
        let header = &packet.header;
        let mut payload: [&[u8]; 2] = [&[]; 2];
        let mut of = None;
        let is_header = packet.service == Service::Trimmed;
        if header.kind == Kind::Data && !is_question(packet) && !is_header {
            let lent = self.place(now, packet);
            payload = self.entries[lent.entry as usize].outgoing.slices(&lent.at);
            of = Some(lent);
        }
        let datagram = Datagram::of(packet, &self.peers).expect("a peer has an address");
        let next_hop = self.peers.next_hop(packet.destination);
        let (destination, has_way) = (next_hop.unwrap_or([0xff; 6]), next_hop.is_some());
        let ethernet = Ethernet { destination, source: self.config.ethernet };
        let (profile, extension) = (&self.config.profile, &self.extension);
        let mut bytes = std::mem::take(&mut self.frame);
        let tag = self.tag(&datagram, payload, extension);
        datagram
            .emit_tagged_headers(
                ethernet,
                profile,
                tag.as_ref().map_or(&[], |tag| &tag[..]),
                payload,
                extension,
                &mut bytes,
            )
            .expect("an endpoint sends what can be written");
        if let Some(labels) = self.peers.labels(packet.destination, packet.header.path) {
            labels.push_onto(&mut bytes);
        }
        let head = bytes.len();
        let length = payload[0].len() + payload[1].len();
        let is_apart = length >= apart;
        if !is_apart {
            payload.iter().for_each(|piece| bytes.extend_from_slice(piece));
        }
        bytes.extend_from_slice(extension);
        if !is_apart {
            bytes.resize(bytes.len().max(SHORTEST), 0);
        }
        let sent = bytes.len() + if is_apart { length } else { 0 };
        match has_way {
            true => {
                self.statistics.frames_out += 1;
                self.statistics.bytes_out += sent as u64;
            }
            false => self.statistics.without_way += 1,
        }
        let owner = of.as_ref().map(|lent| lent.entry);
        let payload = if is_apart { of } else { None };
        // Sending may have made room for the endpoint to learn of more bytes.
        if let Some(owner) = owner
            && !self.entries[owner as usize].outgoing.is_handed_over()
        {
            self.hand_over_one(now, owner);
        }
        Written { bytes, head, payload, has_way }
    }

    /// Locates the payload of a packet in sending, and writes its records.
    fn place(&mut self, now: Time, packet: &Packet) -> Lent {
        let header = &packet.header;
        let name = Name {
            peer: packet.destination,
            connection: header.connection,
            opened_here: header.flags.contains(Flags::FROM_OPENER),
        };
        let entry = *self.names.get(&name).expect("a half that sends has its bytes");
        let outgoing = &mut self.entries[entry as usize].outgoing;
        if header.flags.contains(Flags::SYN)
            && let Some(token) = self.peers.token(packet.destination)
        {
            outgoing.shown = Some(token);
            Record::Token(token).emit(&mut self.extension).expect("a known record");
        }
        let at = outgoing.packet(header.sequence, header.payload_length(), &mut self.extension);
        self.riding.write(&mut self.extension);
        let path = header.path.get();
        let lost_on = outgoing.takes(header.sequence, path, header.flags.attempt());
        self.record_sent(now, packet.destination, path, lost_on);
        Lent { entry, at }
    }

    pub(super) fn tag(
        &self,
        datagram: &Datagram,
        payload: [&[u8]; 2],
        extension: &[u8],
    ) -> Option<Tag> {
        let key = self.config.key.as_ref()?;
        let Datagram { source, destination, fields, .. } = datagram;
        let header = fields.emit(*source, *destination);
        Some(key.tag([*source, *destination], &header, &[payload[0], payload[1], extension]))
    }

    pub(in crate::host) fn lent(&self, lent: &Lent) -> [&[u8]; 2] {
        self.entries[lent.entry as usize].outgoing.slices(&lent.at)
    }

    /// Returns the last frame of [`Core::transmit`].
    pub fn frame(&self) -> &[u8] {
        &self.frame
    }
}
