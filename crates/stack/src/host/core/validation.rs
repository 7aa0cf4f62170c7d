//! Strangers show that they are where they say they are, before anything is kept of them.

use trimline_packet::wire::{Datagram, Ethernet, Fields, Parsed, Record, Routes};
use trimline_packet::{Flags, Header, Kind, Packet, PathId, Service, Time};
use trimline_transport::ndp::Command;
use trimline_transport::{Endpoint, Half};

use super::super::directory::View;
use super::super::incoming;
use super::super::peers::ME;
use super::super::tokens::Token;
use super::{Core, Name};

/// Answers to strangers that wait for the NIC; more are not given.
const WAITING: usize = 256;

impl Core {
    /// Whether a packet would open a connection, and does not show that it comes from where it says.
    pub(super) fn is_stranger(&self, now: Time, parsed: &Parsed<'_>) -> bool {
        let Datagram { source, service, fields, .. } = &parsed.datagram;
        let opening = Flags::SYN | Flags::FROM_OPENER;
        let opens = fields.kind == Kind::Data
            && *service != Service::Returned
            && fields.flags.bits() & opening == opening
            && self.services.contains(&(fields.extra as u16));
        if !opens {
            return false;
        }
        if let Some(peer) = self.peers.host(*source) {
            let name = Name { peer, connection: fields.connection, opened_here: false };
            let is_remembered = self.slots.slot(name.key(Half::Receiving)).is_some();
            if is_remembered || self.names.contains_key(&name) {
                return false;
            }
        }
        let token = incoming::token(parsed.extension, parsed.payload.len());
        !token.is_some_and(|token| self.tokens.is_good(now, *source, token))
    }

    /// Answers the first packet of a stranger with a token: the packet was not taken. Nothing is kept but the answer,
    /// until it is sent; it is hardly longer than the shortest packet. It goes back the way the packet came, unless
    /// another one is known.
    pub(super) fn challenge(&mut self, now: Time, ethernet: Ethernet, datagram: &Datagram) {
        if self.challenges.len() >= WAITING {
            self.statistics.beyond_limits += 1;
            return;
        }
        let Some(token) = self.tokens.give(now, datagram.source) else {
            self.statistics.beyond_limits += 1;
            return;
        };
        let Fields { flags, connection, sequence, .. } = datagram.fields;
        let flags = Flags::default().with_attempt(flags.attempt());
        let answer = Datagram {
            source: datagram.destination,
            destination: datagram.source,
            service: Service::Control.into(),
            marks: 0,
            fields: Fields { kind: Kind::Nack, flags, connection, sequence, extra: 0 },
            ..*datagram
        };
        let (mut bytes, mut extension) = (Vec::new(), Vec::new());
        Record::Token(token).emit(&mut extension).expect("a known record");
        let known = self.peers.host(datagram.source).and_then(|peer| self.peers.next_hop(peer));
        let destination = known.unwrap_or(ethernet.source);
        let back = Ethernet { destination, source: self.config.ethernet };
        let tag = self.tag(&answer, [&[]; 2], &extension);
        let tag = tag.as_ref().map_or(&[][..], |tag| &tag[..]);
        answer
            .emit_tagged_headers(back, &self.config.profile, tag, [&[]; 2], &extension, &mut bytes)
            .expect("what was received can be answered");
        bytes.extend_from_slice(&extension);
        self.statistics.challenged += 1;
        self.statistics.frames_out += 1;
        self.statistics.bytes_out += bytes.len() as u64;
        self.challenges.push_back(bytes);
        self.clock = self.clock.max(now);
    }

    /// What stands for the next answer to a stranger where packets are counted and paced.
    pub(super) fn next_challenge(&self) -> Option<Packet> {
        self.challenges.front()?;
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

    /// A peer wants to see a token before it takes anything of a connection. The first time all that was sent goes
    /// again, with the token. A packet that had shown it, and was cut on its way, comes back as a header that a
    /// switch returned.
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
        entry.heard = now;
        self.clock = self.clock.max(now);
        self.peers.set_token(name.peer, token);
        let key = name.key(Half::Sending);
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
