//! Frames from the network: which are refused, and how others are handled.
//!
//! A number from a peer is checked before it is used. A payload without room is refused before the endpoint sees it:
//! data that was ACKed is kept until the application has it.
//!
//! A connection, its peer and the host have limits on memory ([`super::super::Limits`]). A connection is not pulled
//! while others fill the limits of its peer or of the host. If it holds the beginning of a message itself and its
//! application can read nothing, waiting might never end: then it fails.

use std::net::IpAddr;

use trimline_packet::wire::{Datagram, Error, Ethernet, Frame, Parsed, Records, Routes, What};
use trimline_packet::{Flags, Header, HostId, Kind, Packet, Service, Time};
use trimline_transport::ndp::{Command, Event, SenderProgress};
use trimline_transport::{Disposition, Endpoint, Key, Side};

use super::super::credit::{Bounds, MORE_PULLS};
use super::super::directory::View;
use super::super::incoming::{self, Incoming};
use super::super::peers::ME;
use super::super::{Cause, Failure, Key as SharedKey, Options};
use super::dead_peer::is_question;
use super::{CHECKED, Core, Name};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// The endpoint takes it, for this connection if the application has one.
    Take(Option<u32>),
    /// Its header alone is taken: the connection has reached its own limit.
    Cut(u32),
    /// Its header alone is taken: other connections fill the limits.
    Crowded(u32),
    /// It is the next packet of a message whose rest will have no room.
    Full(u32),
    /// The peer probes a connection that has ended here: a RESET answers.
    Ended,
    /// The peer cannot have meant it.
    Implausible,
    /// It would open a connection beyond the limits.
    Beyond,
}

impl Name {
    fn of(packet: &Packet) -> Name {
        let header = &packet.header;
        let from_opener = header.flags.contains(Flags::FROM_OPENER);
        let opened_here = match header.kind {
            _ if packet.service.service().is_bounced() => from_opener,
            Kind::Data | Kind::Ack | Kind::Nack | Kind::Pull | Kind::Reset => !from_opener,
        };
        Name { peer: packet.source, connection: header.connection, opened_here }
    }
}

/// Turns a delayed ACK into an ACK of one packet that pulls nothing. No host of this stack sends delayed ACKs, and
/// their pull counter is not checked.
fn clear_delayed_ack(packet: &mut Packet) {
    let header = &mut packet.header;
    if header.delayed_ack().is_some() {
        header.flags = header.flags.without(Flags::DELAYED_ACK | Flags::PULL);
        header.extra = 0;
    }
}

impl Core {
    /// Handles a frame that arrived.
    pub fn receive_frame(&mut self, now: Time, bytes: &[u8]) {
        self.close_ended(now);
        self.statistics.frames_in += 1;
        self.statistics.bytes_in += bytes.len() as u64;
        let frame = Frame::new(bytes);
        match frame.and_then(|frame| Ok((frame.ethernet(), self.understand(&frame)?))) {
            Ok((ethernet, parsed)) => self.handle_parsed(now, ethernet, &parsed),
            Err(error) => self.statistics.refuse(error),
        }
    }

    /// Parses a frame. With a key it must bear a tag of that key or the other one; of a trimmed header half of the tag
    /// counts.
    fn understand<'a>(&self, frame: &Frame<'a>) -> Result<Parsed<'a>, Error> {
        let profile = &self.config.profile;
        let Some(key) = &self.config.key else { return frame.parse(profile) };
        let parsed = frame.parse_tagged(profile)?;
        let Datagram { source, destination, service, .. } = parsed.datagram;
        let (addresses, header) = ([source, destination], frame.header());
        let (header, tag) = (header.bytes(), frame.tag());
        let made = |key: &SharedKey| match service.service() {
            Service::Trimmed | Service::Returned => {
                tag.is_some_and(|tag| key.made_header(tag, addresses, header))
            }
            // No switch before a host with a key sends notifications, so this one is forged.
            Service::Notification => false,
            Service::Trimmable | Service::Control | Service::Droppable => {
                tag == Some(key.tag(addresses, header, &[parsed.payload, parsed.extension]))
            }
        };
        if made(key) || self.config.other_key.as_ref().is_some_and(made) {
            Ok(parsed)
        } else {
            Err(Error { what: What::Tag, at: 0 })
        }
    }

    fn handle_parsed(&mut self, now: Time, ethernet: Ethernet, parsed: &Parsed<'_>) {
        let Datagram { source, destination, .. } = parsed.datagram;
        // A packet from this host's own address is forged.
        if self.peers.host(destination) != Some(ME) || self.peers.host(source) == Some(ME) {
            self.statistics.misdirected += 1;
            return;
        }
        if !incoming::is_readable(parsed.extension, parsed.payload.len()) {
            return self.statistics.refuse(Error { what: What::Record, at: 0 });
        }
        if self.config.validates_addresses && self.is_stranger(now, parsed) {
            return self.challenge(now, ethernet, &parsed.datagram);
        }
        if self.peers.host(source).is_none() {
            if !self.is_welcome(&parsed.datagram) {
                return self.refuse_stranger(now, ethernet, &parsed.datagram);
            }
            if !self.admit(now, ethernet, source, parsed.datagram.fields.extra as u16) {
                self.statistics.beyond_limits += 1;
                return;
            }
        }
        let packet = match parsed.packet(&self.peers) {
            Ok(packet) => packet,
            Err(error) => return self.statistics.refuse(error),
        };
        if packet.header.kind == Kind::Data {
            let records = Records::new(parsed.extension, parsed.payload.len()).flatten();
            Core::riders(&packet, records).for_each(|ack| self.handle_packet(now, ack, &[], &[]));
        }
        let name = Name::of(&packet);
        if packet.header.kind == Kind::Nack
            && let Some(token) = incoming::token(parsed.extension, 0)
        {
            return self.was_challenged(now, &packet, name, token);
        }
        self.handle_packet(now, packet, parsed.payload, parsed.extension);
    }

    fn handle_packet(&mut self, now: Time, mut packet: Packet, payload: &[u8], extension: &[u8]) {
        let name = Name::of(&packet);
        clear_delayed_ack(&mut packet);
        let index = match self.verdict(&packet, name) {
            Verdict::Take(index) => index,
            Verdict::Cut(index) => {
                if !self.cut(&mut packet) {
                    return;
                }
                Some(index)
            }
            Verdict::Crowded(index) => {
                self.wait_for_others(index);
                if !self.cut(&mut packet) {
                    return;
                }
                Some(index)
            }
            Verdict::Full(index) => {
                self.statistics.without_room += 1;
                self.fail(now, index, Failure::NoRoom);
                // The endpoint refuses it.
                None
            }
            Verdict::Ended => return self.say_ended(&packet),
            Verdict::Implausible => {
                self.statistics.implausible += 1;
                return;
            }
            Verdict::Beyond => {
                self.statistics.beyond_limits += 1;
                return;
            }
        };
        match packet.service.service() {
            Service::Trimmed => self.statistics.trimmed_in += 1,
            Service::Returned | Service::Notification => self.statistics.returned_in += 1,
            Service::Trimmable | Service::Control | Service::Droppable => {}
        }
        if let Some(index) = index
            && packet.header.kind != Kind::Reset
        {
            self.entries[index as usize].received = now;
        }
        if let Some(index) = index {
            self.heed_answer(index, &mut packet);
        }
        self.deliver(now, &packet, index, (payload, extension));
    }

    /// Reads from an ACK or NACK the packets that came, the pull counter, and whether the peer's application reads.
    fn heed_answer(&mut self, index: u32, packet: &mut Packet) {
        let entry = &mut self.entries[index as usize];
        let came_back = packet.service.service().is_bounced();
        let header = &mut packet.header;
        let answers = match header.kind {
            Kind::Data => came_back,
            // A control packet that came back is this host's own.
            Kind::Ack | Kind::Nack | Kind::Pull => !came_back,
            Kind::Reset => false,
        };
        if !answers {
            return;
        }
        if header.kind != Kind::Pull {
            entry.outgoing.came_through(header.sequence, header.flags.attempt());
        }
        if header.kind != Kind::Data {
            entry.outgoing.news += u64::from(header.flags.contains(Flags::HELD));
        }
        if let Some(counter) = header.pull_counter()
            && let Some(slot) = self.slots.slot(entry.name.key(Side::Sending))
        {
            let SenderProgress { credit, .. } = self.endpoint.sender_progress(slot);
            let bounds = Bounds {
                max: self.endpoint.window(slot).saturating_add(MORE_PULLS),
                used: entry.outgoing.on_their_way().saturating_add(credit),
                sent: self.endpoint.sender_statistics(slot).packets_sent,
            };
            let counter = entry.outgoing.pulled.clip(counter, bounds);
            match header.kind {
                Kind::Pull => header.sequence = counter,
                Kind::Ack | Kind::Nack | Kind::Data | Kind::Reset => header.extra = counter,
            }
        }
    }

    /// Reduces a packet to its header. Returns false for a packet without payload: the endpoint would take it for
    /// whole, with records for which there is no room, so it must be ignored.
    fn cut(&mut self, packet: &mut Packet) -> bool {
        self.statistics.without_room += 1;
        (packet.service, packet.wire_bytes) = (Service::Trimmed.into(), Packet::HEADER_BYTES);
        packet.header.payload_length() > 0
    }

    fn deliver(
        &mut self,
        now: Time,
        packet: &Packet,
        index: Option<u32>,
        (payload, extension): (&[u8], &[u8]),
    ) {
        self.clock = self.clock.max(now);
        let begun = index.is_some_and(|index| {
            let entry = &self.entries[index as usize];
            entry.begun || entry.failure.is_some()
        });
        let mut view = View { slots: &mut self.slots, peers: &mut self.peers, begun };
        let disposition = self.endpoint.handle_packet(now, packet, &mut view);
        self.drain_events(now, Some(packet));
        self.answered(packet, index);
        // A pull may ride in an ACK or a NACK.
        if self.config.record_pulls && packet.header.pull_counter().is_some() {
            self.pulls_received.push(now);
        }
        if let Disposition::Accept { slot, sequence } = disposition
            && let Some(index) = self.slots.owner(slot)
        {
            let incoming = &mut self.entries[index as usize].incoming;
            let progress = incoming.insert(sequence, payload, extension);
            if progress {
                self.progressed(index);
            }
            self.account(index);
            self.refuse_endless(now, index);
        }
    }

    /// Admits a new peer that asks for a service, if there is room.
    fn admit(&mut self, now: Time, ethernet: Ethernet, source: IpAddr, port: u16) -> bool {
        let reserved = self.free_slot(port).map_or(self.free_reserve.slots, |_| 0);
        let Core { peers, boards, config, endpoint, .. } = self;
        let max = config.limits.peers - reserved;
        let admitted = peers.admit(now, source, max, |gone: HostId| {
            if let Some(board) = boards.get_mut(gone.index()) {
                *board = None;
            }
            endpoint.forget_path(gone);
        });
        let Some(host) = admitted else { return false };
        match self.learns_next_hops {
            // The way back is the way that the frame came.
            true => self.peers.set_next_hop(host, ethernet.source),
            false => self.unresolved.push(host),
        }
        true
    }

    fn verdict(&self, packet: &Packet, name: Name) -> Verdict {
        let index = self.names.get(&name).copied();
        let header = &packet.header;
        match header.kind {
            // This host's own header: the endpoint knows whether it sent it.
            _ if packet.service.service().is_bounced() => Verdict::Take(index),
            Kind::Data => self.verdict_of_data(packet, name, index),
            Kind::Ack | Kind::Nack | Kind::Pull => Verdict::Take(index),
            Kind::Reset => match index {
                Some(index) if !self.may_reset(packet, name, index) => Verdict::Implausible,
                _ => Verdict::Take(index),
            },
        }
    }

    fn verdict_of_data(&self, packet: &Packet, name: Name, index: Option<u32>) -> Verdict {
        let header = &packet.header;
        let Some(index) = index else {
            return match self.slots.slot(name.key(Side::Receiving)) {
                Some(_) if is_question(packet) => Verdict::Ended,
                // The connection is remembered.
                Some(_) => Verdict::Take(None),
                None => self.verdict_of_opening(packet, name),
            };
        };
        let entry = &self.entries[index as usize];
        if is_question(packet) && entry.failure.is_some() {
            return Verdict::Ended;
        }
        let is_known = entry.incoming.has(header.sequence);
        // The peer probes with a packet that was ACKed. A packet that is not here was ACKed by another host.
        let is_misled = is_question(packet) && !is_known;
        if is_misled || !entry.incoming.expects(header.sequence) {
            return Verdict::Implausible;
        }
        // A header takes no room, nor does a copy, which is not kept.
        if packet.service == Service::Trimmed || is_known {
            return Verdict::Take(Some(index));
        }
        if !self.has_own_room(index, packet) {
            return Verdict::Cut(index);
        }
        let own = entry.reserve.map_or(0, |bytes| bytes.saturating_sub(entry.kept));
        if self.others_leave_room(entry.name.peer, u64::from(header.payload_length()), own) {
            return Verdict::Take(Some(index));
        }
        let is_stuck = entry.kept > 0 && entry.incoming.unread() == 0;
        match entry.incoming.is_next(header.sequence) {
            true if is_stuck => Verdict::Full(index),
            // The next packet decides.
            false if is_stuck => Verdict::Cut(index),
            true | false => Verdict::Crowded(index),
        }
    }

    /// Decides about a packet that may open a connection.
    fn verdict_of_opening(&self, packet: &Packet, name: Name) -> Verdict {
        let header = &packet.header;
        let is_welcome = header.flags.contains(Flags::SYN)
            && !name.opened_here
            && self.listens(header.service_port());
        if !is_welcome {
            // The endpoint refuses it.
            return Verdict::Take(None);
        }
        if !Incoming::default().expects(header.sequence) {
            return Verdict::Implausible;
        }
        let limits = &self.config.limits;
        let (of_peer, of_all) = self.peers.holdings(name.peer);
        let length = u64::from(header.payload_length());
        let slot = self.free_slot(header.service_port());
        // A connection without a reserved slot takes none of another service.
        let reserved = slot.map_or(self.free_reserve.slots, |_| 0);
        let has_room = of_all.sides < limits.sides.saturating_sub(reserved.saturating_mul(2))
            && of_all.accepted < limits.connections.saturating_sub(reserved)
            && of_peer.accepted < limits.peer_connections
            && of_all.half_open < limits.half_open.saturating_sub(reserved)
            && of_peer.half_open < limits.peer_half_open
            && self.others_leave_room(name.peer, length, slot.map_or(0, |slot| slot.bytes));
        if has_room { Verdict::Take(None) } else { Verdict::Beyond }
    }

    /// Answers a probe about a connection that has ended here, because the peer waits in vain.
    #[cold]
    fn say_ended(&mut self, question: &Packet) {
        let header = &question.header;
        let from_opener = header.flags.contains(Flags::FROM_OPENER);
        let flags = Flags::from_bits(if from_opener { 0 } else { Flags::FROM_OPENER });
        let extra = Cause::Ended as u32;
        let reset = Header { kind: Kind::Reset, flags, extra, ..*header };
        self.riding.push(Packet::control(ME, question.source, reset));
    }

    fn has_own_room(&self, index: u32, packet: &Packet) -> bool {
        let entry = &self.entries[index as usize];
        let limits = &self.config.limits;
        let length = u64::from(packet.header.payload_length());
        match entry.incoming.is_next(packet.header.sequence) {
            // Twice: packets may be under way that were pulled before the application was found not to read.
            true => entry.incoming.unread() <= 2 * limits.receive_buffer,
            false => entry.incoming.early() + length <= limits.early_bytes,
        }
    }

    /// Returns whether there is room for a packet of a connection with `own` reserved bytes left.
    fn others_leave_room(&self, peer: HostId, length: u64, own: u64) -> bool {
        let (of_peer, of_all) = self.peers.holdings(peer);
        let is_left = length <= own || of_all.kept + length <= self.shared_bytes();
        of_peer.kept + length <= self.config.limits.peer_bytes && is_left
    }

    /// Returns whether a RESET is plausible: it names a packet that was sent, or the last PULL that its sender
    /// received, 0 if none.
    fn may_reset(&self, packet: &Packet, name: Name, index: u32) -> bool {
        let sequence = packet.header.sequence;
        if !packet.header.flags.contains(Flags::PULL) {
            return self.entries[index as usize].outgoing.has_sent(sequence);
        }
        let Some(slot) = self.slots.slot(name.key(Side::Receiving)) else { return false };
        let pulls = self.endpoint.receiver_statistics(slot).pulls;
        pulls > u64::from(u32::MAX / 2) || u64::from(sequence) <= pulls
    }

    fn progressed(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        if std::mem::take(&mut entry.half_open) {
            let peer = entry.name.peer;
            self.peers.holds(peer, |holdings| holdings.half_open -= 1);
        }
        self.list_readable(index);
    }

    /// Updates whether a connection is pulled, after its buffered bytes have changed.
    pub(super) fn account(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        if !entry.in_use {
            return;
        }
        let (unread, max) = (entry.incoming.unread(), self.config.limits.receive_buffer);
        entry.held = if entry.held { unread > max / 2 } else { unread >= max };
        self.count_buffered(index);
        self.report_holds(index);
    }

    /// Recounts the bytes that a connection keeps, and resumes others if that makes room.
    pub(super) fn count_buffered(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        let kept = entry.incoming.buffered_bytes();
        let before = std::mem::replace(&mut entry.kept, kept);
        let (peer, reserve) = (entry.name.peer, entry.reserve.unwrap_or(0));
        let were_full = self.are_full(peer);
        let free = &mut self.free_reserve.bytes;
        *free = *free + before.min(reserve) - kept.min(reserve);
        self.peers.holds(peer, |holdings| holdings.kept = holdings.kept - before + kept);
        if self.crowded.is_empty() || were_full == self.are_full(peer) {
            return;
        }
        let is_freed = |core: &Core, peer| core.are_full(peer) == (false, false);
        let freed: Vec<(HostId, u32)> = match were_full {
            (_, true) => self.crowded.iter().copied().filter(|&(p, _)| is_freed(self, p)).collect(),
            (_, false) => {
                let of_peer = self.crowded.range((peer, 0)..=(peer, u32::MAX)).copied();
                of_peer.filter(|&(p, _)| is_freed(self, p)).collect()
            }
        };
        for (peer, index) in freed {
            self.crowded.remove(&(peer, index));
            self.entries[index as usize].crowded = false;
            self.report_holds(index);
        }
    }

    /// Returns whether more than 7/8 of the limits of a peer, and of all peers, are used.
    fn are_full(&self, peer: HostId) -> (bool, bool) {
        let (of_peer, of_all) = self.peers.holdings(peer);
        let nearly = |limit: u64| limit - limit / 8;
        let limits = &self.config.limits;
        (of_peer.kept > nearly(limits.peer_bytes), of_all.kept > nearly(self.shared_bytes()))
    }

    #[cold]
    fn wait_for_others(&mut self, index: u32) {
        let peer = self.entries[index as usize].name.peer;
        if self.are_full(peer) != (false, false) {
            self.crowded.insert((peer, index));
            self.entries[index as usize].crowded = true;
            self.report_holds(index);
        }
    }

    fn report_holds(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        let holds = entry.held || entry.crowded;
        if std::mem::replace(&mut entry.holds, holds) != holds {
            self.holding = if holds { self.holding + 1 } else { self.holding - 1 };
            let key = entry.name.key(Side::Receiving);
            self.command(self.clock, Command::Hold { key, holds });
        }
    }

    fn refuse_endless(&mut self, now: Time, index: u32) {
        let entry = &self.entries[index as usize];
        if entry.in_use
            && entry.failure.is_none()
            && entry.incoming.unfinished() > self.config.limits.message_bytes
        {
            self.fail(now, index, Failure::TooLong);
        }
    }

    /// Records an ACK, a NACK or a header that came back, or handles a RESET.
    fn answered(&mut self, packet: &Packet, index: Option<u32>) {
        let header = &packet.header;
        let came_back = packet.service.service().is_bounced();
        match header.kind {
            Kind::Data if came_back => {}
            // A control packet of this host's own.
            Kind::Ack | Kind::Nack | Kind::Pull | Kind::Reset if came_back => return,
            Kind::Ack | Kind::Nack => {}
            Kind::Reset => return self.was_reset(packet, index),
            Kind::Data | Kind::Pull => return,
        }
        let Some(index) = index else { return };
        let outgoing = &mut self.entries[index as usize].outgoing;
        let board = self.boards.get_mut(packet.source.index()).and_then(Option::as_deref_mut);
        let (sequence, attempt) = (header.sequence, header.flags.attempt());
        if header.kind == Kind::Ack {
            if let (Some(path), Some(board)) = (outgoing.acked(sequence, attempt), board) {
                board.acked(path);
            }
            self.retire(index);
        } else if let (Some(path), Some(board)) = (outgoing.answered(sequence, attempt), board) {
            board.trimmed(path, came_back);
        }
    }

    /// Handles a RESET: the peer does not know a packet that it has ACKed, or that it sends at all. It has abandoned or
    /// forgotten the connection, or restarted, so the rest of its data will never come.
    #[cold]
    fn was_reset(&mut self, packet: &Packet, index: Option<u32>) {
        let Some(index) = index else { return };
        let entry = &self.entries[index as usize];
        let is_of_sender = !packet.header.flags.contains(Flags::PULL);
        let names_acked = entry.outgoing.last_acked() == Some(packet.header.sequence);
        let is_over = entry.incoming.is_closed() || entry.failure.is_some() || !entry.in_use;
        if (names_acked || !is_of_sender) && !is_over {
            let cause = Cause::of_word(packet.header.extra);
            self.fail(self.clock, index, Failure::Refused(cause));
        }
    }

    pub(super) fn drain_events(&mut self, now: Time, packet: Option<&Packet>) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Accepted { key, slot } => {
                    let port = packet.map_or(0, |packet| packet.header.service_port());
                    self.was_accepted(now, key, slot, port);
                }
                Event::Refused { key } => {
                    let Key { peer, connection, opened_here, .. } = key;
                    let name = Name { peer, connection, opened_here };
                    if let Some(&index) = self.names.get(&name) {
                        let reset = packet.filter(|packet| packet.header.kind == Kind::Reset);
                        let cause = Cause::of_word(reset.map_or(0, |reset| reset.header.extra));
                        self.fail(now, index, Failure::Refused(cause));
                    }
                }
                Event::Delivered { .. } | Event::Acknowledged { .. } => {}
            }
        }
    }

    fn was_accepted(&mut self, now: Time, key: Key, slot: u32, service_port: u16) {
        let Key { peer, connection, opened_here, .. } = key;
        let name = Name { peer, connection, opened_here };
        let known = self.names.get(&name).copied();
        let index = match known {
            Some(index) => index,
            // The application has abandoned the connection that the peer answers on, so no one else would end that
            // stream.
            None if opened_here => return self.command(now, Command::Abandon { key }),
            None => {
                let checked = service_port & CHECKED != 0;
                let options = Options { checked, ..Options::default() };
                let index = self.entry(name, service_port, options);
                let connection = self.handle(index);
                self.accepted.push_back(connection);
                index
            }
        };
        let entry = &mut self.entries[index as usize];
        (entry.begun, entry.received) = (true, now);
        self.peers.received(peer, now);
        self.slots.set_owner(slot, Some(index));
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Config;
    use super::*;
    use trimline_packet::wire::{Fields, Profile, Record};
    use trimline_packet::{BitRate, ConnectionId, DelayedAck, Header, TimeDelta};

    const SERVER: [u8; 4] = [10, 0, 0, 1];
    const CLIENT: [u8; 4] = [10, 0, 0, 2];

    fn core(address: [u8; 4], change: impl FnOnce(&mut Config)) -> Core {
        let mut config = Config::new(address.into(), 1500, BitRate::from_gbps(10)).unwrap();
        change(&mut config);
        Core::new(config)
    }

    fn frame(from: [u8; 4], to: [u8; 4], fields: Fields, records: &[Record<'_>]) -> Vec<u8> {
        let service = match fields.kind {
            Kind::Data => Service::Trimmable,
            Kind::Ack | Kind::Nack | Kind::Pull | Kind::Reset => Service::Control,
        };
        let datagram = Datagram {
            source: from.into(),
            destination: to.into(),
            entropy: 50_000,
            service: service.into(),
            marks: 0,
            fields,
        };
        let (mut bytes, mut extension) = (Vec::new(), Vec::new());
        records.iter().for_each(|record| record.emit(&mut extension).unwrap());
        let ethernet = Ethernet::default();
        datagram.emit(ethernet, &Profile::PAPER, &[], &extension, &mut bytes).unwrap();
        bytes
    }

    fn ends(sequence: u32, count: usize) -> Vec<u8> {
        let flags = Flags::from_bits(Flags::SYN | Flags::FROM_OPENER);
        let (kind, connection) = (Kind::Data, ConnectionId::new(9));
        let extra = Header::data_extra(0, 7);
        let fields = Fields { kind, flags, connection, sequence, extra };
        frame(CLIENT, SERVER, fields, &vec![Record::MessageEnd(0); count])
    }

    /// Returns a server after 1000 packets from this number on that carry only ends of messages.
    fn flooded(first: u32) -> Core {
        let mut server = core(SERVER, |config| {
            config.limits.early_bytes = 10_000;
            config.limits.receive_buffer = 5_000;
        });
        server.listen(Time::ZERO, 7);
        for sequence in first..first + 1000 {
            server.receive_frame(Time::ZERO, &ends(sequence, 8));
        }
        server
    }

    #[test]
    fn the_memory_of_packets_without_payload_is_bounded() {
        // Behind a gap, and in order where no application reads.
        for first in [1, 0] {
            let server = flooded(first);
            // Twice the buffer and the early bytes, plus one packet of each.
            assert!(
                (5_000..21_000).contains(&server.buffered_bytes()),
                "{} B from {first}",
                server.buffered_bytes()
            );
            assert!(server.statistics().without_room > 500, "{:?}", server.statistics());
        }
        let mut server = flooded(0);
        let before = server.statistics().refused_in_all();
        server.receive_frame(Time::ZERO, &ends(1, 8));
        assert_eq!(server.statistics().refused_in_all(), before);
        server.receive_frame(Time::ZERO, &ends(1, 9));
        assert_eq!(server.statistics().refused_in_all(), before + 1, "more than any sender writes");
    }

    #[test]
    fn an_ack_of_several_packets_is_one_of_one_packet_and_pulls_nothing() {
        let mut client = core(CLIENT, |_| {});
        client.add_peer(SERVER.into(), &[], [2; 6]);
        let connection = client.connect(SERVER.into(), 7, Options::default()).unwrap();
        client.send(connection, &[7; 500_000]).unwrap();
        let send_all = |client: &mut Core, until: Time| {
            let mut sent = Vec::new();
            while client.next() <= until {
                let now = client.next();
                client.expire(now);
                sent.extend(client.transmit(now).map(|(_, packet)| packet.header));
            }
            sent
        };
        let now = Time::ZERO.saturating_add(TimeDelta::from_us(500));
        let window = send_all(&mut client, now);
        assert!(window.len() > 5, "{} packets", window.len());
        let extra = DelayedAck { before: u16::MAX, pulls: Some(1000) }.extra();
        let flags = Flags::from_bits(Flags::DELAYED_ACK | Flags::PULL);
        let Header { connection: number, sequence, .. } = window[3];
        let fields = Fields { kind: Kind::Ack, flags, connection: number, sequence, extra };
        client.receive_frame(now, &frame(SERVER, CLIENT, fields, &[]));
        let later = now.saturating_add(TimeDelta::from_us(500));
        assert_eq!(send_all(&mut client, later), [], "nothing was pulled");
        let seen = client.sender_statistics(connection).unwrap();
        assert_eq!(seen.packets_sent, window.len() as u64);
        assert!(!client.is_sent(connection));
        assert_eq!(client.statistics().implausible, 0);
    }
}
