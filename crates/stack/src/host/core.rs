//! One endpoint between frames and applications. It knows no socket and no clock, so a virtual world can drive it as
//! well as a real one.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::IpAddr;

use trimline_packet::wire::Routes;
use trimline_packet::{
    ByteCount, ConnectionId, Flags, Header, HostId, Kind, Packet, Time, TimeDelta,
};
use trimline_transport::ndp::{self, Command};
use trimline_transport::{Endpoint, Key, PathList, Side};

use super::config::Config;
use super::connection_ids::ConnectionIds;
use super::directory::{Slots, Streams, View};
use super::hashing::Quick;
use super::incoming::Incoming;
use super::outgoing::Outgoing;
use super::peers::{ME, Peers};
use super::scoreboard::Board;
use super::tokens::Tokens;
use super::{Cause, Connection, Failure, Options, Statistics};
use crate::random;

mod arrivals;
mod calls;
mod dead_peer;
mod reserve;
mod riding;
mod routing;
mod scores;
mod transmit;
mod validation;

use dead_peer::{Moved, Watch};
pub use reserve::Backlog;
use reserve::{Free, Service};
pub(crate) use riding::BEHIND_PAYLOAD;
use riding::Riding;
pub(super) use transmit::Written;

/// The bit of a service port that marks checked messages. A host that does not know checks refuses such ports.
const CHECKED: u16 = 1 << 15;

/// Timer wake-ups per RTO of a blocking host (chosen: a time-out is at most a quarter late). Each connection has
/// several timers, mostly in vain.
const TIMERS_AN_RTO: u64 = 4;

/// Number of ended connections whose memory is kept for new ones.
const FEW_MEMORIES: usize = 64;

/// RESETs that end a connection. They are not answered, and one may be lost (chosen).
const RESETS: usize = 3;

/// Handles of ended connections that a list may hold in addition to twice the connections in use.
const FEW_HANDLES: usize = 64;

/// The name by which both ends know a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Name {
    peer: HostId,
    connection: ConnectionId,
    opened_here: bool,
}

impl Name {
    fn key(self, side: Side) -> Key {
        let Name { peer, connection, opened_here } = self;
        Key { peer, connection, opened_here, side }
    }
}

/// The state of a connection towards its application.
#[derive(Debug)]
struct Entry {
    generation: u32,
    name: Name,
    service_port: u16,
    options: Options,
    outgoing: Outgoing,
    incoming: Incoming,
    failure: Option<Failure>,
    /// It is in the list of readable connections.
    listed: bool,
    abandoned: bool,
    in_use: bool,
    /// The peer has begun to send, even if the endpoint no longer has the receive stream.
    begun: bool,
    /// The application has accepted or opened it.
    taken: bool,
    /// The peer opened it, and nothing could be read yet.
    half_open: bool,
    /// Its application does not read: it is not pulled.
    held: bool,
    /// The limits of its peer or of this host stop its pulls.
    crowded: bool,
    /// `held || crowded`, as the endpoint was last told.
    holds: bool,
    /// Its received bytes, as counted for its peer.
    kept: u64,
    /// The bytes of its reserved slot, if it has one.
    reserve: Option<u64>,
    /// Its bytes to be sent or ACKed, as counted for its peer.
    unacked: u64,
    /// The time when the peer was last heard.
    received: Time,
    /// Progress of the send and the receive stream.
    moved: [Moved; 2],
}

/// An endpoint with the bytes of its connections.
#[derive(Debug)]
pub struct Core {
    pub(super) config: Config,
    endpoint: ndp::Endpoint,
    peers: Peers,
    /// For each peer that data was sent to: the outcome of its packets.
    boards: Vec<Option<Box<Board>>>,
    slots: Slots,
    entries: Vec<Entry>,
    free: Vec<u32>,
    names: HashMap<Name, u32, Quick>,
    connection_ids: ConnectionIds,
    /// Services for which connections are accepted.
    services: Vec<Service>,
    /// Reserved room that is not in use.
    free_reserve: Free,
    /// Connections that peers opened and the application has not accepted.
    accepted: VecDeque<Connection>,
    /// Connections with something new to read.
    readable: VecDeque<Connection>,
    /// Connections that have ended here but not yet at the endpoint.
    ended: Vec<Name>,
    watch: Watch,
    tokens: Tokens,
    /// Answers to unknown hosts: whole frames, without state.
    to_strangers: VecDeque<Vec<u8>>,
    /// ACKs that ride in the next packet or wait for one.
    riding: Riding,
    /// The time until which no unknown host is sent a refusal.
    refused_until: Time,
    /// Number of connections that are held ([`Command::Hold`]).
    holding: u32,
    /// Connections that are not pulled because others fill the limits.
    crowded: BTreeSet<(HostId, u32)>,
    /// Peers whose next hop is to be looked up.
    unresolved: Vec<HostId>,
    /// True if a new peer's next hop is the source of its first frame, because no other source knows it.
    pub(super) learns_next_hops: bool,
    /// Connections with data or an end unknown to the endpoint.
    unhanded: Vec<u32>,
    deadlines: BTreeSet<(Time, u32, u32)>,
    /// The time when the last bit of the last frame has left.
    busy_until: Time,
    /// How early a frame may be handed over before the link is free: frames that leave within 1 or 2 us go in one
    /// system call.
    pub(super) ahead: TimeDelta,
    /// The time of the endpoint's last action, before which nothing that follows from it was sent.
    clock: Time,
    pub(super) frame: Vec<u8>,
    extension: Vec<u8>,
    pub(super) statistics: Statistics,
    pub(super) pulls_received: Vec<Time>,
}

impl Core {
    /// Returns a host without connections.
    pub fn new(config: Config) -> Core {
        let streams = config.streams.clone().unwrap_or_else(|| Streams::seeded(random::seed()));
        Core {
            endpoint: ndp::Endpoint::new(ME, config.ndp.clone()),
            peers: Peers::new(config.address, &config.ways, config.entropies),
            boards: Vec::new(),
            entries: Vec::new(),
            free: Vec::new(),
            names: HashMap::default(),
            connection_ids: ConnectionIds::default(),
            services: Vec::new(),
            free_reserve: Free::default(),
            ended: Vec::new(),
            watch: Watch::new(streams.seed()),
            slots: Slots::new(streams),
            tokens: Tokens::new(),
            to_strangers: VecDeque::new(),
            riding: Riding::default(),
            refused_until: Time::ZERO,
            holding: 0,
            crowded: BTreeSet::new(),
            unresolved: Vec::new(),
            learns_next_hops: true,
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
            pulls_received: Vec::new(),
            config,
        }
    }

    /// Sets the id of the next connection opened here, from which ids count up, for repeatable runs.
    pub fn number_connections_from(&mut self, first: u32) {
        self.connection_ids = ConnectionIds::from(first);
    }

    /// Sets the RNG streams of future connections.
    pub fn use_streams(&mut self, streams: Streams) {
        self.slots.use_streams(streams);
    }

    /// Adds a peer: its canonical address, one for each path if the fabric has them, and its next hop's Ethernet
    /// address.
    pub fn add_peer(&mut self, canonical: IpAddr, ways: &[IpAddr], next_hop: [u8; 6]) {
        let host = self.peers.add(canonical, ways);
        self.peers.set_next_hop(host, next_hop);
    }

    pub(super) fn next_unresolved(&mut self) -> Option<IpAddr> {
        self.unresolved.pop().and_then(|host| self.peers.canonical(host))
    }

    pub(super) fn set_next_hop(&mut self, peer: IpAddr, next_hop: [u8; 6]) {
        if let Some(host) = self.peers.host(peer) {
            self.peers.set_next_hop(host, next_hop);
        }
    }

    /// Returns the peers that this host named or that have connections here.
    pub(super) fn peers_in_use(&self) -> Vec<IpAddr> {
        self.peers.in_use().collect()
    }

    pub(super) fn lacks_way(&self, peer: IpAddr) -> bool {
        self.peers.lacks_way(peer)
    }

    /// Returns whether packets can be sent to an address.
    pub fn knows(&self, address: IpAddr) -> bool {
        self.peers.host(address).is_some_and(|host| self.peers.next_hop(host).is_some())
    }

    /// Sets all remembered times back with the clock.
    pub fn set_back(&mut self, by: TimeDelta) {
        self.endpoint.set_back(by);
        self.boards.iter_mut().flatten().for_each(|board| board.set_back(by));
        self.peers.set_back(by);
        self.watch.set_back(by);
        (self.clock, self.busy_until) = (self.clock.set_back(by), self.busy_until.set_back(by));
        self.refused_until = self.refused_until.set_back(by);
        for entry in &mut self.entries {
            entry.received = entry.received.set_back(by);
            entry.moved.iter_mut().for_each(|moved| moved.set_back(by));
            entry.options.deadline = entry.options.deadline.map(|deadline| deadline.set_back(by));
        }
        let deadlines = std::mem::take(&mut self.deadlines).into_iter();
        self.deadlines =
            deadlines.map(|(time, index, one)| (time.set_back(by), index, one)).collect();
    }

    /// Returns the endpoint, for inspection.
    pub fn endpoint(&self) -> &ndp::Endpoint {
        &self.endpoint
    }

    fn command(&mut self, now: Time, command: Command) {
        self.clock = self.clock.max(now);
        let (peers, begun) = (&mut self.peers, false);
        let mut view = View { slots: &mut self.slots, peers, begun };
        self.endpoint.handle_command(now, command, &mut view);
    }

    /// Accepts unchecked connections to a service port.
    ///
    /// # Panics
    /// Panics for a port of 32,768 or more: these are the checked ones.
    pub fn listen(&mut self, now: Time, service_port: u16) {
        assert!(service_port < CHECKED, "service ports lie below {CHECKED}, not {service_port}");
        self.listen_on(now, service_port);
    }

    /// Accepts checked connections to a service port ([`Options::checked`]).
    ///
    /// # Panics
    /// Panics as [`Core::listen`] does.
    pub fn listen_checked(&mut self, now: Time, service_port: u16) {
        assert!(service_port < CHECKED, "service ports lie below {CHECKED}, not {service_port}");
        self.listen_on(now, service_port | CHECKED);
    }

    fn listen_on(&mut self, now: Time, service_port: u16) {
        if !self.listens(service_port) {
            self.services.push(Service::new(service_port));
        }
        self.command(now, Command::Listen { service_port });
    }

    fn listens(&self, service_port: u16) -> bool {
        self.services.iter().any(|service| service.port == service_port)
    }

    fn entry(&mut self, name: Name, service_port: u16, options: Options) -> u32 {
        let free = self.free.pop();
        let index = free.unwrap_or(self.entries.len() as u32);
        let old = self.entries.get_mut(index as usize);
        let (outgoing, incoming) = old.map_or_else(Default::default, |old| {
            (std::mem::take(&mut old.outgoing), std::mem::take(&mut old.incoming))
        });
        let reserve = if name.opened_here { None } else { self.take_slot(service_port) };
        let entry = Entry {
            generation: free.map_or(0, |index| self.entries[index as usize].generation + 1),
            name,
            service_port,
            options,
            outgoing,
            incoming,
            failure: None,
            listed: false,
            abandoned: false,
            in_use: true,
            begun: false,
            taken: name.opened_here,
            half_open: !name.opened_here,
            held: false,
            crowded: false,
            holds: false,
            kept: 0,
            reserve,
            unacked: 0,
            received: self.clock,
            moved: Default::default(),
        };
        let accepted = u32::from(!name.opened_here);
        self.peers.holds(name.peer, |holdings| {
            holdings.connections += 1;
            holdings.accepted += accepted;
            holdings.half_open += accepted;
        });
        self.watch.opened();
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

    /// Frees a connection that is complete in both directions, or abandoned, as it must be after a failure.
    ///
    /// The endpoint does not close a stream by itself, so until here it recognises every copy of the packets, and from
    /// here on it remembers both streams for time-wait.
    fn retire(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        let sent = entry.outgoing.is_closed() && entry.outgoing.is_complete();
        let done = sent && entry.incoming.is_finished() || entry.abandoned;
        if !done || !entry.in_use {
            return self.count_unacked(index);
        }
        entry.in_use = false;
        self.holding -= u32::from(std::mem::take(&mut entry.holds));
        // The memory of a few is kept for new ones.
        let keeps = self.free.len() < FEW_MEMORIES;
        entry.outgoing = std::mem::take(&mut entry.outgoing).emptied(keeps);
        entry.incoming = std::mem::take(&mut entry.incoming).emptied(keeps);
        let (name, generation, deadline) = (entry.name, entry.generation, entry.options.deadline);
        let accepted = u32::from(!name.opened_here);
        let half_open = u32::from(entry.half_open);
        self.peers.holds(name.peer, |holdings| {
            holdings.connections -= 1;
            holdings.accepted -= accepted;
            holdings.half_open -= half_open;
        });
        self.crowded.remove(&(name.peer, index));
        self.count_buffered(index);
        self.count_unacked(index);
        let entry = &mut self.entries[index as usize];
        if entry.reserve.take().is_some() {
            let port = entry.service_port;
            self.give_back_slot(port);
        }
        if self.entries[index as usize].failure.is_none() {
            self.watch.closed();
            self.ended.push(name);
        }
        self.names.remove(&name);
        if let Some(deadline) = deadline {
            self.deadlines.remove(&(deadline, index, generation));
        }
        for side in [Side::Sending, Side::Receiving] {
            if let Some(slot) = self.slots.slot(name.key(side)) {
                self.slots.set_owner(slot, None);
            }
        }
        self.free.push(index);
    }

    fn close_ended(&mut self, now: Time) {
        while let Some(name) = self.ended.pop() {
            for side in [Side::Sending, Side::Receiving] {
                self.command(now, Command::Close { key: name.key(side) });
            }
        }
    }

    fn fail(&mut self, now: Time, index: u32, failure: Failure) {
        let entry = &mut self.entries[index as usize];
        if entry.failure.is_none() {
            entry.failure = Some(failure);
            self.watch.closed();
            if !matches!(failure, Failure::Refused(_) | Failure::DeadPeer(_)) {
                self.reset_peer(index, Cause::of(failure));
            }
        }
        let entry = &mut self.entries[index as usize];
        // Bytes that can never be read make room for others.
        entry.incoming.give_up();
        // No application has it, so none will abandon it.
        entry.abandoned = failure == Failure::Closed || !entry.taken;
        let name = entry.name;
        for side in [Side::Sending, Side::Receiving] {
            self.command(now, Command::Abandon { key: name.key(side) });
        }
        self.account(index);
        self.list_readable(index);
        self.retire(index);
    }

    /// Tells the peer that a connection has failed here. A RESET must name something that the peer sent: a packet, or
    /// else the last pull, 0 if none came.
    #[cold]
    fn reset_peer(&mut self, index: u32, cause: Cause) {
        let Entry { name, incoming, .. } = &self.entries[index as usize];
        let (sequence, of_pull) = match (incoming.last(), self.slots.slot(name.key(Side::Sending)))
        {
            (Some(sequence), _) => (sequence, 0),
            (None, Some(slot)) => (self.endpoint.sender_progress(slot).pulls, Flags::PULL),
            // Nothing was sent here or there.
            (None, None) => return,
        };
        let of_opener = if name.opened_here { Flags::FROM_OPENER } else { 0 };
        let mut paths = PathList::new();
        self.peers.paths(name.peer, &mut paths);
        for &path in paths.iter().cycle().take(RESETS) {
            let flags = Flags::from_bits(of_pull | of_opener);
            let (kind, connection, extra) = (Kind::Reset, name.connection, cause as u32);
            let header = Header { kind, flags, path, connection, sequence, extra };
            self.riding.push(Packet::control(ME, name.peer, header));
        }
    }

    fn list_readable(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        if !std::mem::replace(&mut entry.listed, true) {
            let connection = self.handle(index);
            self.readable.push_back(connection);
        }
        // An application may leave either list unread.
        let max = 2 * self.connections() + FEW_HANDLES;
        for list in [&mut self.readable, &mut self.accepted] {
            if list.len() > max {
                let entries = &self.entries;
                list.retain(|one| {
                    let entry = &entries[one.index as usize];
                    entry.in_use && entry.generation == one.generation
                });
            }
        }
    }

    fn hand_over(&mut self, now: Time) {
        // No connection is listed meanwhile.
        let mut unhanded = std::mem::take(&mut self.unhanded);
        for index in unhanded.drain(..) {
            self.entries[index as usize].outgoing.listed = false;
            if self.entries[index as usize].in_use {
                self.hand_over_one(now, index);
            }
        }
        self.unhanded = unhanded;
    }

    fn hand_over_one(&mut self, now: Time, index: u32) {
        let entry = &mut self.entries[index as usize];
        if entry.failure.is_some() {
            return;
        }
        let key = entry.name.key(Side::Sending);
        let length = ByteCount::new(entry.outgoing.hand_over());
        let opens = !std::mem::replace(&mut entry.outgoing.opened, true);
        if opens {
            entry.received = entry.received.max(now);
        }
        let (service_port, class) = (entry.service_port, entry.options.class);
        if opens && key.opened_here {
            let mut paths = PathList::new();
            self.peers.paths(key.peer, &mut paths);
            let open = Command::Open {
                peer: key.peer,
                connection: key.connection,
                service_port,
                class,
                length: Some(length),
                payload: None,
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
        self.drain_events(now, None);
    }

    /// Returns when something other than an arrival is due: a packet to send, a timer, a deadline.
    pub fn next(&self) -> Time {
        if !self.unhanded.is_empty() {
            return self.clock;
        }
        self.next_transmit().min(self.next_timer())
    }

    pub(super) fn next_timer(&self) -> Time {
        self.endpoint.poll_timeout().min(self.next_deadline())
    }

    fn next_deadline(&self) -> Time {
        let deadline = self.deadlines.first().map_or(Time::NEVER, |&(time, ..)| time);
        let watch =
            if self.config.dead_peer_timeout.is_some() { self.watch.next() } else { Time::NEVER };
        deadline.min(watch)
    }

    /// Returns when a host that blocks at `now` must wake: like [`Core::next`], but the endpoint's timers are delayed
    /// so that several are handled together.
    pub(super) fn next_wake(&self, now: Time) -> Time {
        if !self.unhanded.is_empty() {
            return self.clock;
        }
        let ndp::Config { rto, follows_path, .. } = &self.config.ndp;
        let rto = follows_path.map_or(*rto, |follows| follows.min_rto.min(*rto));
        let together = TimeDelta::from_ps(rto.as_ps() / TIMERS_AN_RTO);
        let timers = self.endpoint.poll_timeout().max(now.saturating_add(together));
        self.next_transmit().min(timers).min(self.next_deadline())
    }

    /// Handles the timers and deadlines that are due. Returns whether there were any.
    pub fn expire(&mut self, now: Time) -> bool {
        let mut any = false;
        self.close_ended(now);
        self.find_dead_peers(now);
        if self.endpoint.poll_timeout() <= now {
            any = true;
            self.clock = self.clock.max(now);
            let (peers, begun) = (&mut self.peers, false);
            let mut view = View { slots: &mut self.slots, peers, begun };
            self.endpoint.handle_timeout(now, &mut view);
            self.drain_events(now, None);
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

#[cfg(test)]
mod tests {
    use super::*;
    use trimline_packet::BitRate;

    #[test]
    fn timers_are_coalesced_and_deadlines_are_not() {
        let ms = |ms| Time::ZERO.saturating_add(TimeDelta::from_ms(ms));
        let mut config = Config::new([10, 0, 0, 1].into(), 1500, BitRate::from_gbps(10)).unwrap();
        config.dead_peer_timeout = None;
        config.ndp.rto = TimeDelta::from_ms(20);
        let mut core = Core::new(config);
        let peer = [10, 0, 0, 2].into();
        core.add_peer(peer, &[], [2; 6]);
        assert_eq!(core.next_wake(ms(0)), Time::NEVER);
        let connection = core.connect(peer, 7, Options::default()).unwrap();
        core.send(connection, b"x").unwrap();
        assert!(core.transmit(ms(0)).is_some() && core.transmit(ms(1)).is_none());
        assert_eq!(core.next(), ms(20));
        assert_eq!(core.next_wake(ms(10)), ms(20), "what is far away is waited for exactly");
        assert_eq!(core.next_wake(ms(19)), ms(24), "and what is near a quarter of an RTO");
        core.set_deadline(connection, Some(ms(21)));
        assert_eq!(core.next_wake(ms(19)), ms(21));
    }
}
