//! One endpoint between frames and applications. Takes times, frames and commands, gives frames; knows
//! no socket and no clock, so a virtual world can drive it as well as a real one.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::IpAddr;

use trimline_packet::wire::{Datagram, Error, Ethernet, Frame, Parsed, Routes, What};
use trimline_packet::{
    ByteCount, ConnectionId, Flags, HostId, Kind, Packet, PathId, Service, Time, TimeDelta,
};
use trimline_transport::ndp::{self, Command, Event};
use trimline_transport::{Disposition, Endpoint, Half, Key};

use super::config::Config;
use super::directory::{Slots, Streams, View};
use super::hashing::Quick;
use super::incoming::{self, Incoming};
use super::outgoing::Outgoing;
use super::peers::{ME, Peers};
use super::scoreboard::{Board, PathStatus};
use super::{Connection, Failure, Options, Statistics};
use crate::random;

mod transmit;
pub(super) use transmit::Written;

/// What one connection is called by both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Name {
    peer: HostId,
    connection: ConnectionId,
    opened_here: bool,
}

impl Name {
    fn key(self, half: Half) -> Key {
        let Name { peer, connection, opened_here } = self;
        Key { peer, connection, opened_here, half }
    }
}

/// A connection as its application has it.
#[derive(Debug)]
struct Entry {
    generation: u32,
    name: Name,
    service_port: u16,
    options: Options,
    outgoing: Outgoing,
    incoming: Incoming,
    failure: Option<Failure>,
    /// It waits in the list of those with something to read.
    listed: bool,
    /// The application wants nothing of it any more.
    abandoned: bool,
    in_use: bool,
}

/// An endpoint with the bytes of its connections.
#[derive(Debug)]
pub struct Core {
    pub(super) config: Config,
    endpoint: ndp::Endpoint,
    peers: Peers,
    /// What became of the packets to each peer that data was sent to.
    boards: Vec<Option<Box<Board>>>,
    slots: Slots,
    entries: Vec<Entry>,
    free: Vec<u32>,
    names: HashMap<Name, u32, Quick>,
    next_connection: u32,
    /// Connections that peers opened, for the application to take.
    accepted: VecDeque<u32>,
    /// Connections with something new to read.
    readable: VecDeque<u32>,
    /// Connections with something that the endpoint does not know of.
    unhanded: Vec<u32>,
    deadlines: BTreeSet<(Time, u32, u32)>,
    /// When the last bit of what was sent last has left.
    busy_until: Time,
    /// How long before the link is free the next frame may be handed over: frames that leave within a
    /// microsecond or two go in one system call.
    pub(super) ahead: TimeDelta,
    /// When something was handled last: nothing that follows from it was sent before.
    clock: Time,
    /// The frame being written.
    pub(super) frame: Vec<u8>,
    extension: Vec<u8>,
    pub(super) statistics: Statistics,
    pub(super) pulls_heard: Vec<Time>,
}

impl Core {
    /// A host without connections.
    pub fn new(config: Config) -> Core {
        let streams = config.streams.clone().unwrap_or_else(|| Streams::seeded(random::seed()));
        Core {
            endpoint: ndp::Endpoint::new(ME, config.ndp.clone()),
            peers: Peers::new(config.address, &config.ways, config.entropies),
            boards: Vec::new(),
            slots: Slots::new(streams),
            entries: Vec::new(),
            free: Vec::new(),
            names: HashMap::default(),
            // A client that is started again must not use the numbers that its servers remember.
            next_connection: random::seed() as u32,
            accepted: VecDeque::new(),
            readable: VecDeque::new(),
            unhanded: Vec::new(),
            deadlines: BTreeSet::new(),
            busy_until: Time::ZERO,
            ahead: TimeDelta::ZERO,
            clock: Time::ZERO,
            frame: Vec::new(),
            extension: Vec::new(),
            statistics: Statistics::default(),
            pulls_heard: Vec::new(),
            config,
        }
    }

    /// The number of the next connection that is opened here: for runs that are to be the same again.
    pub fn number_connections_from(&mut self, first: u32) {
        self.next_connection = first;
    }

    /// Random streams for the connections to come.
    pub fn use_streams(&mut self, streams: Streams) {
        self.slots.use_streams(streams);
    }

    /// Makes a peer known: its canonical address, one for each path if the fabric has them, and the
    /// Ethernet address of the next hop to it.
    pub fn add_peer(&mut self, canonical: IpAddr, ways: &[IpAddr], next_hop: [u8; 6]) {
        let host = self.peers.add(canonical, ways);
        self.peers.set_next_hop(host, next_hop);
    }

    /// Whether packets can be sent to an address.
    pub fn knows(&self, address: IpAddr) -> bool {
        self.peers.host(address).is_some_and(|host| self.peers.next_hop(host).is_some())
    }

    /// The endpoint, to be looked at.
    pub fn endpoint(&self) -> &ndp::Endpoint {
        &self.endpoint
    }

    fn command(&mut self, now: Time, command: Command) {
        self.clock = self.clock.max(now);
        let mut view = View { slots: &mut self.slots, peers: &self.peers };
        self.endpoint.handle_command(now, command, &mut view);
    }

    /// Accepts connections to a service port.
    pub fn listen(&mut self, now: Time, service_port: u16) {
        self.command(now, Command::Listen { service_port });
    }

    fn entry(&mut self, name: Name, service_port: u16, options: Options) -> u32 {
        let free = self.free.pop();
        let index = free.unwrap_or(self.entries.len() as u32);
        let entry = Entry {
            generation: free.map_or(0, |index| self.entries[index as usize].generation + 1),
            name,
            service_port,
            options,
            outgoing: Outgoing::default(),
            incoming: Incoming::default(),
            failure: None,
            listed: false,
            abandoned: false,
            in_use: true,
        };
        match self.entries.get_mut(index as usize) {
            Some(place) => *place = entry,
            None => self.entries.push(entry),
        }
        self.names.insert(name, index);
        index
    }

    fn handle(&self, index: u32) -> Connection {
        Connection { index, generation: self.entries[index as usize].generation }
    }

    fn find(&mut self, connection: Connection) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(connection.index as usize)?;
        (entry.in_use && entry.generation == connection.generation).then_some(entry)
    }

    /// Opens a connection to a known peer. Nothing is sent before there is something to send.
    ///
    /// # Errors
    /// [`Failure::Unreachable`]: [`Core::add_peer`] comes first.
    pub fn connect(
        &mut self,
        peer: IpAddr,
        service_port: u16,
        options: Options,
    ) -> Result<Connection, Failure> {
        let host = self.peers.host(peer).ok_or(Failure::Unreachable)?;
        if self.peers.next_hop(host).is_none() || host == ME {
            return Err(Failure::Unreachable);
        }
        let name = loop {
            let connection = ConnectionId::new(self.next_connection);
            self.next_connection = self.next_connection.wrapping_add(1);
            let name = Name { peer: host, connection, opened_here: true };
            // Neither in use nor remembered.
            let unknown = |half| self.slots.slot(name.key(half)).is_none();
            if unknown(Half::Sending) && unknown(Half::Receiving) && !self.names.contains_key(&name)
            {
                break name;
            }
        };
        let index = self.entry(name, service_port, Options { deadline: None, ..options });
        let connection = self.handle(index);
        self.set_deadline(connection, options.deadline);
        Ok(connection)
    }

    /// A connection that a peer opened.
    pub fn accept(&mut self) -> Option<Connection> {
        while let Some(index) = self.accepted.pop_front() {
            if self.entries[index as usize].in_use {
                return Some(self.handle(index));
            }
        }
        None
    }

    /// A connection with something to read that was not there when it was given last.
    pub fn next_readable(&mut self) -> Option<Connection> {
        while let Some(index) = self.readable.pop_front() {
            let entry = &mut self.entries[index as usize];
            entry.listed = false;
            if entry.in_use {
                return Some(self.handle(index));
            }
        }
        None
    }

    /// The canonical address of the other end, and the service port.
    pub fn peer(&mut self, connection: Connection) -> Option<(IpAddr, u16)> {
        let (host, port) =
            self.find(connection).map(|entry| (entry.name.peer, entry.service_port))?;
        Some((self.peers.canonical(host)?, port))
    }

    /// The state behind a handle that may still send.
    fn sending(&mut self, connection: Connection) -> Result<&mut Entry, Failure> {
        let entry = self.find(connection).ok_or(Failure::Closed)?;
        match entry.failure {
            Some(failure) => Err(failure),
            None if entry.outgoing.is_closed() => Err(Failure::Closed),
            None => Ok(entry),
        }
    }

    fn list_unhanded(&mut self, index: u32) {
        let outgoing = &mut self.entries[index as usize].outgoing;
        if !std::mem::replace(&mut outgoing.listed, true) {
            self.unhanded.push(index);
        }
    }

    /// Gives a message to be sent as one.
    ///
    /// # Errors
    /// [`Failure::Full`] when the send buffer has no room for it now, [`Failure::Empty`] for no bytes.
    pub fn send(&mut self, connection: Connection, message: &[u8]) -> Result<(), Failure> {
        let limit = self.config.send_buffer;
        let entry = self.sending(connection)?;
        if message.is_empty() {
            return Err(Failure::Empty);
        }
        // A message that is longer than the buffer is taken when the buffer is empty.
        let used = entry.outgoing.bytes();
        if used > 0 && used + message.len() > limit {
            return Err(Failure::Full);
        }
        entry.outgoing.message(message);
        self.list_unhanded(connection.index);
        Ok(())
    }

    /// Gives bytes of a stream. Gives how many were taken: fewer when the send buffer is full.
    ///
    /// # Errors
    /// A connection that may not send any more.
    pub fn write(&mut self, connection: Connection, bytes: &[u8]) -> Result<usize, Failure> {
        let limit = self.config.send_buffer;
        let entry = self.sending(connection)?;
        let count = bytes.len().min(limit.saturating_sub(entry.outgoing.bytes()));
        entry.outgoing.write(&bytes[..count]);
        self.list_unhanded(connection.index);
        Ok(count)
    }

    /// Nothing more will be sent; what was given is delivered. The other direction goes on.
    pub fn close(&mut self, connection: Connection) {
        let Ok(entry) = self.sending(connection) else { return };
        entry.outgoing.close();
        self.list_unhanded(connection.index);
    }

    /// The application wants nothing of the connection any more: nothing is sent again, and what
    /// arrives is thrown away.
    pub fn abandon(&mut self, now: Time, connection: Connection) {
        if self.find(connection).is_some() {
            self.fail(now, connection.index, Failure::Closed);
            self.retire(connection.index);
        }
    }

    fn fail(&mut self, now: Time, index: u32, failure: Failure) {
        let entry = &mut self.entries[index as usize];
        entry.failure.get_or_insert(failure);
        entry.abandoned = failure == Failure::Closed;
        let name = entry.name;
        for half in [Half::Sending, Half::Receiving] {
            self.command(now, Command::Abandon { key: name.key(half) });
        }
        self.list_readable(index);
    }

    /// The next whole message, if it is there.
    ///
    /// # Errors
    /// [`Failure::Closed`] when none is left and none will come; otherwise why the connection failed: it
    /// stays, to be asked again, until it is abandoned.
    pub fn receive(&mut self, connection: Connection) -> Result<Option<Vec<u8>>, Failure> {
        let entry = self.find(connection).ok_or(Failure::Closed)?;
        let message = entry.incoming.message();
        let finished = entry.incoming.is_finished();
        let end = match message {
            Some(_) => None,
            None if finished => Some(Failure::Closed),
            None => entry.failure,
        };
        self.retire(connection.index);
        end.map_or(Ok(message), Err)
    }

    /// The next bytes of the stream. Gives how many there were, 0 if there are none now.
    ///
    /// # Errors
    /// As [`Core::receive`].
    pub fn read(&mut self, connection: Connection, bytes: &mut [u8]) -> Result<usize, Failure> {
        let entry = self.find(connection).ok_or(Failure::Closed)?;
        let count = entry.incoming.read(bytes);
        let finished = entry.incoming.is_finished();
        let end = match count {
            0 if finished => Some(Failure::Closed),
            0 => entry.failure,
            _ => None,
        };
        self.retire(connection.index);
        end.map_or(Ok(count), Err)
    }

    /// Whether everything that was given has been ACKed.
    pub fn is_sent(&mut self, connection: Connection) -> bool {
        self.find(connection).is_none_or(|entry| entry.outgoing.is_complete())
    }

    /// When the connection fails if it is still in use: for those that were accepted, whose peers may have
    /// gone, too.
    pub fn set_deadline(&mut self, connection: Connection, deadline: Option<Time>) {
        let Some(entry) = self.find(connection) else { return };
        let Connection { index, generation } = connection;
        if let Some(old) = std::mem::replace(&mut entry.options.deadline, deadline) {
            self.deadlines.remove(&(old, index, generation));
        }
        self.deadlines.extend(deadline.map(|deadline| (deadline, index, generation)));
    }

    /// From now on the data that this connection receives is pulled in another class, 0 to 3.
    pub fn prioritise(&mut self, now: Time, connection: Connection, class: u8) {
        let Some(name) = self.find(connection).map(|entry| entry.name) else { return };
        self.command(now, Command::Prioritise { key: name.key(Half::Receiving), class });
    }

    /// What the sending half of a connection has done, while the endpoint remembers it.
    pub fn sender_statistics(&mut self, connection: Connection) -> Option<ndp::SenderStatistics> {
        let name = self.find(connection)?.name;
        let slot = self.slots.slot(name.key(Half::Sending))?;
        Some(*self.endpoint.sender_statistics(slot))
    }

    /// What the receiving half of a connection has seen, while the endpoint remembers it.
    pub fn receiver_statistics(
        &mut self,
        connection: Connection,
    ) -> Option<ndp::ReceiverStatistics> {
        let name = self.find(connection)?.name;
        let slot = self.slots.slot(name.key(Half::Receiving))?;
        Some(*self.endpoint.receiver_statistics(slot))
    }

    /// Connections that are in use.
    pub fn connections(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Frees what nobody needs: everything was sent and ACKed, everything read; or its application has
    /// abandoned it, as it must what failed.
    fn retire(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        let sent = entry.outgoing.is_closed() && entry.outgoing.is_complete();
        let done = sent && entry.incoming.is_finished() || entry.abandoned;
        if !done || !entry.in_use {
            return;
        }
        entry.in_use = false;
        entry.outgoing = Outgoing::default();
        entry.incoming = Incoming::default();
        let (name, generation, deadline) = (entry.name, entry.generation, entry.options.deadline);
        self.names.remove(&name);
        if let Some(deadline) = deadline {
            self.deadlines.remove(&(deadline, index, generation));
        }
        for half in [Half::Sending, Half::Receiving] {
            if let Some(slot) = self.slots.slot(name.key(half)) {
                self.slots.set_owner(slot, None);
            }
        }
        self.free.push(index);
    }

    fn list_readable(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        if !std::mem::replace(&mut entry.listed, true) {
            self.readable.push_back(index);
        }
    }

    /// Tells the endpoint what it may send.
    fn hand_over(&mut self, now: Time) {
        for index in std::mem::take(&mut self.unhanded) {
            self.entries[index as usize].outgoing.listed = false;
            if self.entries[index as usize].in_use {
                self.hand_over_one(now, index);
            }
        }
    }

    fn hand_over_one(&mut self, now: Time, index: u32) {
        let entry = &mut self.entries[index as usize];
        if entry.failure.is_some() {
            return;
        }
        let key = entry.name.key(Half::Sending);
        let length = ByteCount::new(entry.outgoing.hand_over());
        let all = entry.outgoing.is_handed_over();
        let opens = !std::mem::replace(&mut entry.outgoing.opened, true);
        let closes = all && entry.outgoing.is_closed() && !entry.outgoing.told_close;
        entry.outgoing.told_close |= closes;
        let (service_port, class) = (entry.service_port, entry.options.class);
        if opens && key.opened_here {
            let mut paths = Vec::new();
            self.peers.paths(key.peer, &mut paths);
            let open = Command::Open {
                peer: key.peer,
                connection: key.connection,
                service_port,
                class,
                length: Some(length),
                paths,
                stream: self.slots.stream(key),
            };
            self.command(now, open);
        } else if length > ByteCount::ZERO {
            self.command(now, Command::Send { key, length });
        }
        if opens && self.config.shares_scores {
            self.avoid_outliers(now, key);
        }
        if closes {
            self.command(now, Command::Close { key });
        }
        self.drain_events(now);
    }

    /// A half begins without the paths that other connections found bad.
    fn avoid_outliers(&mut self, now: Time, key: Key) {
        let board = self.boards.get(key.peer.index()).and_then(Option::as_deref);
        let Some(board) = board.filter(|board| !board.is_quiet()) else { return };
        let avoided: Vec<(u16, Time)> = board.avoided(now).collect();
        for (path, until) in avoided {
            self.command(now, Command::Avoid { key, path: PathId::new(path), until });
        }
    }

    /// A packet of data goes to a peer by a path.
    #[inline]
    pub(super) fn note_sent(&mut self, now: Time, peer: HostId, path: u16, lost_on: Option<u16>) {
        match self.boards.get_mut(peer.index()) {
            Some(Some(board)) => board.sent(now, path, lost_on),
            _ => self.first_sent(now, peer, path),
        }
    }

    #[cold]
    fn first_sent(&mut self, now: Time, peer: HostId, path: u16) {
        let mut paths = Vec::new();
        self.peers.paths(peer, &mut paths);
        let mut board = Board::new(paths.len(), self.config.ndp.path_penalty.as_ref());
        board.sent(now, path, None);
        let index = peer.index();
        self.boards.resize_with(self.boards.len().max(index + 1), || None);
        self.boards[index] = Some(Box::new(board));
    }

    /// The scoreboard: each path to each peer that data was sent to, and what became of the packets.
    pub fn paths(&self, now: Time) -> Vec<PathStatus> {
        let mut all = Vec::new();
        for (host, board) in (0..).map(HostId::new).zip(&self.boards) {
            let (Some(board), Some(peer)) = (board, self.peers.canonical(host)) else { continue };
            let avoided: Vec<(u16, Time)> = board.avoided(now).collect();
            for (path, &counters) in (0..).zip(board.counters()) {
                let Some((address, source_port)) = self.peers.toward(host, PathId::new(path))
                else {
                    continue;
                };
                let removed_until =
                    avoided.iter().find(|&&(other, _)| other == path).map(|&(_, until)| until);
                all.push(PathStatus { peer, path, address, source_port, counters, removed_until });
            }
        }
        all
    }

    /// A frame arrived.
    pub fn receive_frame(&mut self, now: Time, bytes: &[u8]) {
        self.statistics.frames_in += 1;
        self.statistics.bytes_in += bytes.len() as u64;
        let parsed = Frame::new(bytes)
            .and_then(|frame| Ok((frame.ethernet(), frame.parse(&self.config.profile)?)));
        match parsed {
            Ok((ethernet, parsed)) => self.take(now, ethernet, &parsed),
            Err(error) => self.statistics.refuse(error),
        }
    }

    fn take(&mut self, now: Time, ethernet: Ethernet, parsed: &Parsed<'_>) {
        let Datagram { source, destination, fields, .. } = parsed.datagram;
        // Nor does anything come from here.
        if self.peers.host(destination) != Some(ME) || self.peers.host(source) == Some(ME) {
            self.statistics.misdirected += 1;
            return;
        }
        if !incoming::is_readable(parsed.extension, parsed.payload.len()) {
            return self.statistics.refuse(Error { what: What::Record, at: 0 });
        }
        if self.peers.host(source).is_none()
            && fields.kind == Kind::Data
            && fields.flags.contains(Flags::SYN)
        {
            // Someone new opens a connection; the way back is the way it came.
            let host = self.peers.add(source, &[]);
            self.peers.set_next_hop(host, ethernet.source);
        }
        let packet = match parsed.packet(&self.peers) {
            Ok(packet) => packet,
            Err(error) => return self.statistics.refuse(error),
        };
        match packet.service.service() {
            Service::Trimmed => self.statistics.trimmed_in += 1,
            Service::Returned => self.statistics.returned_in += 1,
            Service::Trimmable | Service::Control | Service::Droppable => {}
        }
        self.clock = self.clock.max(now);
        let mut view = View { slots: &mut self.slots, peers: &self.peers };
        let disposition = self.endpoint.handle_packet(now, &packet, &mut view);
        self.drain_events(now);
        self.answered(&packet);
        // A pull may ride in an ACK or a NACK.
        if self.config.record_pulls && packet.header.pull_counter().is_some() {
            self.pulls_heard.push(now);
        }
        if let Disposition::Accept { slot, sequence } = disposition
            && let Some(index) = self.slots.owner(slot)
        {
            let incoming = &mut self.entries[index as usize].incoming;
            let progress = incoming.insert(sequence, parsed.payload, parsed.extension);
            if progress {
                self.progressed(now, index);
            }
        }
    }

    /// There is more to read.
    fn progressed(&mut self, now: Time, index: u32) {
        let entry = &self.entries[index as usize];
        if entry.incoming.is_closed() {
            // Nothing is missing and nothing follows: the endpoint remembers the half and no more.
            let key = entry.name.key(Half::Receiving);
            self.command(now, Command::Close { key });
        }
        self.list_readable(index);
    }

    /// An ACK, a NACK or a header that came back: of a packet that was sent here.
    fn answered(&mut self, packet: &Packet) {
        let header = &packet.header;
        let came_back = packet.service == Service::Returned;
        let opened_here = match header.kind {
            Kind::Ack | Kind::Nack => !header.flags.contains(Flags::FROM_OPENER),
            Kind::Data if came_back => header.flags.contains(Flags::FROM_OPENER),
            Kind::Data | Kind::Pull | Kind::Reset => return,
        };
        let name = Name { peer: packet.source, connection: header.connection, opened_here };
        let Some(&index) = self.names.get(&name) else { return };
        let outgoing = &mut self.entries[index as usize].outgoing;
        let board = self.boards.get_mut(name.peer.index()).and_then(Option::as_deref_mut);
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

    fn drain_events(&mut self, now: Time) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Accepted { key, slot } => self.was_accepted(key, slot),
                Event::Refused { key } => {
                    let Key { peer, connection, opened_here, .. } = key;
                    let name = Name { peer, connection, opened_here };
                    if let Some(&index) = self.names.get(&name) {
                        self.fail(now, index, Failure::Refused);
                    }
                }
                Event::Delivered { .. } | Event::Acknowledged { .. } => {}
            }
        }
    }

    fn was_accepted(&mut self, key: Key, slot: u32) {
        let Key { peer, connection, opened_here, .. } = key;
        let name = Name { peer, connection, opened_here };
        let known = self.names.get(&name).copied();
        let index = match known {
            Some(index) => index,
            // The application has abandoned what the peer answers on.
            None if opened_here => return,
            None => {
                let index = self.entry(name, 0, Options::default());
                self.accepted.push_back(index);
                index
            }
        };
        self.slots.set_owner(slot, Some(index));
    }

    /// When something will be due that is not the arrival of a frame: a packet to send, a timer, a
    /// deadline.
    pub fn next(&self) -> Time {
        if !self.unhanded.is_empty() {
            return self.clock;
        }
        let deadline = self.deadlines.first().map_or(Time::NEVER, |&(time, ..)| time);
        self.next_transmit().min(self.endpoint.poll_timeout()).min(deadline)
    }

    /// Timers and deadlines that are due. Gives whether there were any.
    pub fn expire(&mut self, now: Time) -> bool {
        let mut any = false;
        if self.endpoint.poll_timeout() <= now {
            any = true;
            self.clock = self.clock.max(now);
            let mut view = View { slots: &mut self.slots, peers: &self.peers };
            self.endpoint.handle_timeout(now, &mut view);
            self.drain_events(now);
        }
        while let Some(&(time, index, generation)) = self.deadlines.first() {
            if time > now {
                break;
            }
            any = true;
            self.deadlines.remove(&(time, index, generation));
            let entry = &self.entries[index as usize];
            if entry.in_use && entry.generation == generation {
                self.fail(now, index, Failure::Deadline);
            }
        }
        any
    }
}
