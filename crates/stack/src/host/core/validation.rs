//! Address validation: an unknown host shows that it receives at its address before it costs any state.

use trimline_packet::wire::{Datagram, Error, Ethernet, Fields, Parsed, Record, Routes, What};
use trimline_packet::{ByteCount, Flags, Header, Kind, Packet, PathId, Service, Time};
use trimline_transport::ndp::Command;
use trimline_transport::{Endpoint, PathList, Side};

use super::super::Cause;
use super::super::directory::View;
use super::super::incoming;
use super::super::peers::ME;
use super::super::tokens::Token;
use super::transmit::SHORTEST;
use super::{Core, Name};

/// Maximum number of answers to unknown hosts that wait for the NIC.
const WAITING: usize = 256;

impl Core {
    pub(super) fn is_welcome(&self, datagram: &Datagram) -> bool {
        let Datagram { service, fields, .. } = datagram;
        let opening = Flags::SYN | Flags::FROM_OPENER;
        fields.kind == Kind::Data
            && !service.service().is_bounced()
            && fields.flags.bits() & opening == opening
            && self.listens(fields.extra as u16)
    }

    /// Returns whether a packet would open a connection without a valid token.
    pub(super) fn is_stranger(&self, now: Time, parsed: &Parsed<'_>) -> bool {
        let Datagram { source, fields, .. } = &parsed.datagram;
        if !self.is_welcome(&parsed.datagram) {
            return false;
        }
        if let Some(peer) = self.peers.host(*source) {
            let name = Name { peer, connection: fields.connection, opened_here: false };
            let is_remembered = self.slots.slot(name.key(Side::Receiving)).is_some();
            if is_remembered || self.names.contains_key(&name) {
                return false;
            }
        }
        let token = incoming::token(parsed.extension, parsed.payload.len());
        !token.is_some_and(|token| self.tokens.is_good(now, *source, token))
    }

    /// Answers the first packet of an unknown host with a token instead of taking it. The answer is hardly longer than
    /// the shortest packet.
    pub(super) fn challenge(&mut self, now: Time, ethernet: Ethernet, datagram: &Datagram) {
        let token = match self.to_strangers.len() < WAITING {
            true => self.tokens.issue(now, datagram.source),
            false => None,
        };
        let Some(token) = token else { return self.statistics.beyond_limits += 1 };
        let mut extension = Vec::new();
        Record::Token(token).emit(&mut extension).expect("a known record");
        let flags = Flags::default().with_attempt(datagram.fields.flags.attempt());
        self.statistics.challenged += 1;
        self.answer_stranger(now, ethernet, datagram, (Kind::Nack, flags), &extension);
    }

    /// Refuses a packet of an unknown host to an unknown connection. NDP 3.2.2-d: data and PULLs are answered by a
    /// RESET, rarely.
    pub(super) fn refuse_stranger(&mut self, now: Time, ethernet: Ethernet, datagram: &Datagram) {
        let fields = datagram.fields;
        let is_asked = match fields.kind {
            _ if datagram.service.service().is_bounced() => false,
            Kind::Data | Kind::Pull => true,
            Kind::Ack | Kind::Nack | Kind::Reset => false,
        };
        if !is_asked {
            return self.statistics.refuse(Error { what: What::Address, at: 0 });
        }
        if now < self.refused_until || self.to_strangers.len() >= WAITING {
            return;
        }
        let full = ByteCount::new(u64::from(self.config.ndp.payload_bytes + Packet::HEADER_BYTES));
        self.refused_until = now.saturating_add(self.config.send_rate.transmission(full));
        let mut flags = Flags::default();
        if !fields.flags.contains(Flags::FROM_OPENER) {
            flags = flags.with(Flags::FROM_OPENER);
        }
        if fields.kind == Kind::Pull {
            flags = flags.with(Flags::PULL);
        }
        self.answer_stranger(now, ethernet, datagram, (Kind::Reset, flags), &[]);
    }

    /// Answers a packet, without other state. The answer goes back the way the packet came, unless another next hop is
    /// known.
    fn answer_stranger(
        &mut self,
        now: Time,
        ethernet: Ethernet,
        asked: &Datagram,
        (kind, flags): (Kind, Flags),
        extension: &[u8],
    ) {
        let Fields { connection, sequence, .. } = asked.fields;
        let extra = if kind == Kind::Reset { Cause::NoService as u32 } else { 0 };
        let answer = Datagram {
            source: asked.destination,
            destination: asked.source,
            service: Service::Control.into(),
            marks: 0,
            fields: Fields { kind, flags, connection, sequence, extra },
            ..*asked
        };
        let known = self.peers.host(asked.source).and_then(|peer| self.peers.next_hop(peer));
        let destination = known.unwrap_or(ethernet.source);
        let back = Ethernet { destination, source: self.config.ethernet };
        let tag = self.tag(&answer, [&[]; 2], extension);
        let tag = tag.as_ref().map_or(&[][..], |tag| &tag[..]);
        let mut bytes = Vec::new();
        answer
            .emit_tagged_headers(back, &self.config.profile, tag, [&[]; 2], extension, &mut bytes)
            .expect("what was received can be answered");
        bytes.extend_from_slice(extension);
        bytes.resize(bytes.len().max(SHORTEST), 0);
        if let Some(peer) = self.peers.host(asked.source) {
            let mut paths = PathList::new();
            self.peers.paths(peer, &mut paths);
            if let Some(labels) = paths.first().and_then(|&path| self.peers.labels(peer, path)) {
                labels.push_onto(&mut bytes);
            }
        }
        self.statistics.frames_out += 1;
        self.statistics.bytes_out += bytes.len() as u64;
        self.to_strangers.push_back(bytes);
        self.clock = self.clock.max(now);
    }

    /// Returns a stand-in for the next answer to an unknown host, for counting and pacing.
    pub(super) fn next_to_stranger(&self) -> Option<Packet> {
        self.to_strangers.front()?;
        let header = Header {
            kind: Kind::Nack,
            flags: Flags::default(),
            path: PathId::new(0),
            connection: Default::default(),
            sequence: 0,
            extra: 0,
        };
        Some(Packet::control(ME, ME, header))
    }

    /// Handles a peer's demand for a token. At first, everything sent goes again, with the token. A packet that showed
    /// it and was trimmed on its way counts as a header that a switch returned.
    pub(super) fn was_challenged(&mut self, now: Time, packet: &Packet, name: Name, token: Token) {
        let known = self.names.get(&name).copied().filter(|_| name.opened_here);
        let Some(index) = known else { return self.statistics.implausible += 1 };
        let entry = &mut self.entries[index as usize];
        let outgoing = &mut entry.outgoing;
        let is_answered = entry.begun || outgoing.last_acked().is_some();
        if is_answered || entry.failure.is_some() || !outgoing.has_sent(packet.header.sequence) {
            self.statistics.implausible += 1;
            return;
        }
        entry.received = now;
        self.clock = self.clock.max(now);
        self.peers.set_token(name.peer, token);
        let key = name.key(Side::Sending);
        if outgoing.shown.replace(token) != Some(token) {
            self.command(now, Command::Renew { key });
        } else {
            let mut returned = *packet;
            returned.service = Service::Returned.into();
            returned.header.kind = Kind::Data;
            returned.header.flags = packet.header.flags.with(Flags::FROM_OPENER);
            let mut view = View { slots: &mut self.slots, peers: &mut self.peers, begun: false };
            self.endpoint.handle_packet(now, &returned, &mut view);
        }
        self.drain_events(now, None);
    }
}
