//! One NDP host: takes packets, commands and deadlines, gives packets and events.
//!
//! When the NIC asks, first the ACKs and NACKs go, in the order of the packets that they answer; then the PULL that is
//! due; then one packet of the send stream whose turn it is. ACKs and NACKs wait for no pacer (NDP 3.2: immediately).

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use trimline_packet::{Flags, Header, HostId, Kind, Packet, PathId, Service, Time, TimeDelta};

use super::answered::Answered;
use super::config::{Command, Config, Event, ReceiverStatistics, SenderProgress, SenderStatistics};
use super::latencies::{Latencies, Latency};
use super::pull_queue::{Gaps, PullQueue, Sent};
use super::receiver::{Arrival, Receiver, Repeat};
use super::round_trips::RoundTrips;
use super::send_scheduler::SendScheduler;
use super::slot::{Life, Slot, StreamState};
use crate::flow::Memory;
use crate::timers::{Timers, set_back};
use crate::{Allowed, Disposition, HostTables, Key, PathList, Side};

/// Max ACKs, NACKs and RESETs held for a NIC that takes none. Further ones are dropped; time-outs make up for them.
const CONTROL_LIMIT: usize = 1 << 16;

/// A receive stream's request for another packet.
#[derive(Clone, Copy)]
pub(super) enum Asked {
    /// No request.
    Nothing,
    /// In the answer to the packet.
    Riding { counter: u32 },
    /// In a PULL in its turn; the first one queued joins the stream to the pull queue.
    Queued { is_first: bool },
}

/// Returns whether a DATA packet has its payload. One shorter than a trimmed packet may be whole and marked trimmed.
#[inline(always)]
pub(super) fn is_whole(packet: &Packet) -> bool {
    let whole = u32::from(packet.header.payload_length()) + u32::from(Packet::HEADER_BYTES);
    packet.service != Service::Trimmed || u32::from(packet.wire_bytes) >= whole
}

#[inline(always)]
pub(super) fn answer(header: &Header, key: Key, kind: Kind, path: PathId, asked: Asked) -> Header {
    let mut flags = Flags::default().with_attempt(header.flags.attempt());
    if key.opened_here {
        flags = flags.with(Flags::FROM_OPENER);
    }
    let mut extra = 0;
    match asked {
        Asked::Riding { counter } => {
            flags = flags.with(Flags::PULL);
            extra = counter;
        }
        Asked::Nothing | Asked::Queued { .. } => {}
    }
    Header { kind, flags, path, connection: key.connection, sequence: header.sequence, extra }
}

/// All NDP connections of one host. Hot fields come first.
#[derive(Debug)]
#[repr(C)]
pub struct Endpoint {
    /// ACKs, NACKs and RESETs, in this order before anything else.
    pub(super) control: VecDeque<Packet>,
    pub(super) slots: Vec<Slot>,
    pub(super) pulls: PullQueue,
    /// Send streams with a credit and something to send.
    pub(super) ready: SendScheduler,
    pub(super) timers: Timers,
    pub(super) gaps: Gaps,
    pub(super) host: HostId,
    /// Shared by the hosts of a simulation.
    pub(super) config: Arc<Config>,
    pub(super) events: VecDeque<Event>,
    pub(super) latencies: Option<Box<Latencies>>,
    pub(super) listening: Vec<u16>,
    /// Round trips by peer, with [`Config::follows_path`].
    pub(super) round_trips: Vec<RoundTrips>,
    /// Answered headers by slot, with [`Config::doubts_headers`].
    pub(super) answered: Vec<Answered>,
    /// True if an option inspects every packet.
    has_options: bool,
    pub(super) reset_at: Option<Time>,
}

impl Endpoint {
    /// Creates a host without connections.
    pub fn new(host: HostId, config: impl Into<Arc<Config>>) -> Endpoint {
        let config = config.into();
        let gaps = Gaps::new(&config);
        Endpoint {
            control: VecDeque::new(),
            slots: Vec::new(),
            pulls: PullQueue::new(&config, gaps.of_full()),
            ready: SendScheduler::new(config.order, config.turn),
            host,
            timers: Timers::NONE,
            gaps,
            has_options: config.ack_every > 1
                || config.core_rate.is_some()
                || config.aeolus
                || config.doubts_headers,
            latencies: config.record_latencies.then(Box::default),
            events: VecDeque::new(),
            config,
            listening: Vec::new(),
            round_trips: Vec::new(),
            answered: Vec::new(),
            reset_at: None,
        }
    }

    /// Returns the counters of the send stream in `slot`, until it is assigned again.
    ///
    /// # Panics
    /// Panics if it is no send stream.
    pub fn sender_statistics(&self, slot: u32) -> &SenderStatistics {
        match self.slots.get(slot as usize).map(|entry| &entry.stream_state) {
            Some(StreamState::Sending(sender)) => &sender.statistics,
            _ => panic!("slot {slot} is not of a sending side"),
        }
    }

    /// Counts removed paths that the send stream in `slot` uses again ([`SenderStatistics::path_removals`]).
    ///
    /// # Panics
    /// Panics if it is no send stream.
    pub fn path_restorations(&self, slot: u32) -> u64 {
        match self.slots.get(slot as usize).map(|entry| &entry.stream_state) {
            Some(StreamState::Sending(sender)) => sender.path_restorations(),
            _ => panic!("slot {slot} is not of a sending side"),
        }
    }

    /// Returns packet latencies of `slot`, in the order of ACKs; empty without [`Config::record_latencies`].
    pub fn latencies(&self, slot: u32) -> &[Latency] {
        self.latencies.as_deref().map_or(&[], |latencies| latencies.of(slot))
    }

    /// Returns the progress of the send stream in `slot`.
    ///
    /// # Panics
    /// Panics if it is no send stream.
    pub fn sender_progress(&self, slot: u32) -> SenderProgress {
        match self.slots.get(slot as usize).map(|entry| &entry.stream_state) {
            Some(StreamState::Sending(sender)) => sender.progress(),
            _ => panic!("slot {slot} is not of a sending side"),
        }
    }

    /// The window of the send stream in `slot`, in packets: the first one, unless it grew.
    ///
    /// # Panics
    /// Panics if it is no send stream.
    pub fn window(&self, slot: u32) -> u32 {
        match self.slots.get(slot as usize).map(|entry| &entry.stream_state) {
            Some(StreamState::Sending(sender)) => sender.window(&self.config),
            _ => panic!("slot {slot} is not of a sending side"),
        }
    }

    /// Returns the queued pulls of the receive stream in `slot`.
    ///
    /// # Panics
    /// Panics if it is no receive stream.
    pub fn pulls_queued(&self, slot: u32) -> u32 {
        match self.slots.get(slot as usize).map(|entry| &entry.stream_state) {
            Some(StreamState::Receiving(receiver)) => receiver.pulls(),
            _ => panic!("slot {slot} is not of a receiving side"),
        }
    }

    /// Returns the counters of the receive stream in `slot`, until it is assigned again.
    ///
    /// # Panics
    /// Panics if it is no receive stream.
    pub fn receiver_statistics(&self, slot: u32) -> &ReceiverStatistics {
        match self.slots.get(slot as usize).map(|entry| &entry.stream_state) {
            Some(StreamState::Receiving(receiver)) => &receiver.statistics,
            _ => panic!("slot {slot} is not of a receiving side"),
        }
    }

    /// Shifts all times but latencies when the driver's clock is set back.
    pub fn set_back(&mut self, by: TimeDelta) {
        self.timers.set_back(by);
        self.pulls.set_back(by);
        self.gaps.set_back(by);
        self.reset_at.iter_mut().for_each(|at| set_back(at, by));
        for entry in &mut self.slots {
            set_back(&mut entry.deadline, by);
            match &mut entry.stream_state {
                StreamState::Vacant => {}
                StreamState::Sending(sender) => sender.set_back(by),
                StreamState::Receiving(receiver) => {
                    set_back(&mut receiver.active_at, by);
                    set_back(receiver.pending_acks.since_mut(), by);
                }
            }
        }
    }

    /// Returns the connection table's memory, to prefetch.
    #[inline]
    pub fn connections_memory(&self) -> Memory {
        Memory::of(&self.slots)
    }

    #[inline]
    fn handle_data(
        &mut self,
        now: Time,
        packet: &Packet,
        directory: &mut impl HostTables,
    ) -> Disposition {
        if self.has_options && self.is_apart(packet) {
            self.handle_apart(now, packet, directory);
            return Disposition::Discard;
        }
        let header = &packet.header;
        let key = Key {
            peer: packet.source,
            connection: header.connection,
            opened_here: !header.flags.contains(Flags::FROM_OPENER),
            side: Side::Receiving,
        };
        let slot = match directory.find(key) {
            Some(slot) => slot,
            None => match self.accept(now, packet, key, directory) {
                Some(slot) => slot,
                None => {
                    self.reset(now, packet, key.peer, directory);
                    return Disposition::Discard;
                }
            },
        };
        self.arrive(now, packet, key, slot, directory)
    }

    /// Answers a DATA packet at its receive stream and asks for another one. A closed stream refuses packets that it
    /// lacks.
    ///
    /// NDP 3.2-d, 3.2-n: for every header or packet that arrives a pull is queued; once LAST is known the superfluous
    /// ones are removed.
    #[inline(always)]
    fn arrive(
        &mut self,
        now: Time,
        packet: &Packet,
        key: Key,
        slot: u32,
        directory: &mut impl HostTables,
    ) -> Disposition {
        let header = &packet.header;
        let (length, class) = (header.payload_length(), header.flags.class());
        let entry = &mut self.slots[slot as usize];
        let life = entry.life;
        // The stream is looked up once, and again after rare work on the whole endpoint.
        let (mut receiver, mut deadline) =
            (Receiver::of(&mut entry.stream_state), &mut entry.deadline);
        if life != Life::Open && !receiver.has(header.sequence) {
            self.reset(now, packet, key.peer, directory);
            return Disposition::Discard;
        }
        let last = header.flags.contains(Flags::LAST);
        let arrival = receiver.arrive(now, header.sequence, length, is_whole(packet), last);
        let (kind, disposition) = match arrival {
            Arrival::Beyond => return Disposition::Discard,
            Arrival::Whole => {
                self.gaps.arrived();
                (Kind::Ack, Disposition::Accept { slot, sequence: header.sequence })
            }
            Arrival::Header => (Kind::Nack, Disposition::Discard),
            Arrival::Duplicate => (Kind::Ack, Disposition::Discard),
        };
        if class != receiver.class && !receiver.class_fixed {
            self.change_class(slot, class);
            let entry = &mut self.slots[slot as usize];
            (receiver, deadline) = (Receiver::of(&mut entry.stream_state), &mut entry.deadline);
        }
        let mut allowance = receiver.allowance();
        if receiver.repeating || receiver.pulls() > allowance {
            self.drop_pulls(slot, allowance);
            let entry = &mut self.slots[slot as usize];
            (receiver, deadline) = (Receiver::of(&mut entry.stream_state), &mut entry.deadline);
        }
        if self.has_options {
            if self.heeds_options(now, packet, slot, arrival) {
                return disposition;
            }
            let entry = &mut self.slots[slot as usize];
            (receiver, deadline) = (Receiver::of(&mut entry.stream_state), &mut entry.deadline);
            allowance = receiver.allowance();
        }
        let mut asked = Asked::Nothing;
        if arrival != Arrival::Duplicate && receiver.held {
            receiver.withheld = receiver.withheld.saturating_add(1);
        } else if arrival != Arrival::Duplicate && receiver.pulls() < allowance {
            if self.config.pull_ack && self.pulls.may_ride(now) {
                asked = Asked::Riding { counter: receiver.ride_pull() };
                self.pulls.rode(now, self.gaps.pulled(length));
                let due = now.saturating_add(self.config.pull_repeat);
                if due < *deadline {
                    *deadline = due;
                    self.timers.arm(slot, due);
                }
            } else {
                asked = Asked::Queued { is_first: receiver.pulls() == 0 };
                receiver.queue_pull(length);
                self.pulls.add(now);
            }
        }
        if self.control.len() < CONTROL_LIMIT {
            let answer = answer(header, key, kind, receiver.paths.spray(), asked);
            self.control.push_back(Packet::control(self.host, key.peer, answer));
        }
        if receiver.complete() && !receiver.delivered {
            receiver.delivered = true;
            self.events.push_back(Event::Delivered { key, slot });
        }
        if let Asked::Queued { is_first: true } = asked {
            let class = receiver.class;
            self.pulls.join(&mut self.slots, slot, class);
        }
        disposition
    }

    /// Applies options to a packet. Returns whether its ACK is delayed and its pull queued.
    #[cold]
    #[inline(never)]
    pub(super) fn heeds_options(
        &mut self,
        now: Time,
        packet: &Packet,
        slot: u32,
        arrival: Arrival,
    ) -> bool {
        let flags = packet.header.flags;
        // In a first window only retransmissions were pulled.
        let was_pulled = !flags.contains(Flags::SYN) || flags.attempt() != 0;
        let is_last_hop = packet.marks & Packet::MARK_LAST_HOP != 0;
        if arrival == Arrival::Whole {
            self.recount(slot);
        }
        match arrival {
            Arrival::Whole => self.gaps.heed_whole(now, was_pulled),
            Arrival::Header if was_pulled => self.gaps.heed_header(now, is_last_hop),
            Arrival::Header | Arrival::Duplicate | Arrival::Beyond => {}
        }
        arrival == Arrival::Whole
            && self.config.ack_every > 1
            && self.joins(now, slot, &packet.header)
    }

    pub(super) fn push_control(&mut self, packet: Packet) {
        if self.control.len() < CONTROL_LIMIT {
            self.control.push_back(packet);
        }
    }

    /// Aeolus: a probe names the last unasked packet. Missing ones up to it were lost: each is answered and pulled as
    /// if its header had come.
    #[cold]
    pub(super) fn handle_probe(
        &mut self,
        now: Time,
        packet: &Packet,
        directory: &mut impl HostTables,
    ) {
        let header = &packet.header;
        // No Aeolus sender sends more unasked.
        if header.sequence >= self.config.initial_window {
            return;
        }
        let Some((_, slot)) = self.receiving_side(now, packet, directory) else { return };
        let mut lost = *packet;
        lost.service = Service::Trimmed.into();
        lost.header.extra =
            Header::data_extra(self.config.payload_bytes, packet.header.service_port());
        for sequence in 0..=header.sequence {
            let entry = &mut self.slots[slot as usize];
            if entry.life != Life::Open || Receiver::of(&mut entry.stream_state).has(sequence) {
                continue;
            }
            let last = if sequence == header.sequence { 0 } else { Flags::LAST };
            lost.header.flags = header.flags.without(Flags::PULL | last);
            lost.header.sequence = sequence;
            let trims = Receiver::of(&mut entry.stream_state).statistics.trims;
            // Not by `arrive`: a second inlined copy would make the first one slower.
            crate::Endpoint::handle_packet(self, now, &lost, directory);
            // No header came.
            Receiver::of(&mut self.slots[slot as usize].stream_state).statistics.trims = trims;
        }
    }

    #[cold]
    fn change_class(&mut self, slot: u32, class: u8) {
        let receiver = Receiver::of(&mut self.slots[slot as usize].stream_state);
        let old = core::mem::replace(&mut receiver.class, class);
        if receiver.pulls() > 0 {
            self.pulls.reclassify(&mut self.slots, slot, old, class);
        }
    }

    /// Keeps `allowance` pulls of a stream and no repetition.
    #[cold]
    pub(super) fn drop_pulls(&mut self, slot: u32, allowance: u32) {
        let receiver = Receiver::of(&mut self.slots[slot as usize].stream_state);
        let dropped = receiver.drop_pulls(allowance);
        let (class, leaves) = (receiver.class, receiver.pulls() == 0);
        self.pulls.remove(&mut self.slots, slot, class, dropped, leaves);
    }

    #[inline]
    fn handle_feedback(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let header = &packet.header;
        let key = Key {
            peer: packet.source,
            connection: header.connection,
            opened_here: !header.flags.contains(Flags::FROM_OPENER),
            side: Side::Sending,
        };
        let Some(slot) = directory.find(key) else {
            // An ACK or NACK needs no reaction; a receiver that pulls would pull for ever.
            if header.kind == Kind::Pull {
                self.reset(now, packet, key.peer, directory);
            }
            return;
        };
        let entry = &mut self.slots[slot as usize];
        let StreamState::Sending(sender) = &mut entry.stream_state else {
            panic!("the directory gave a sending side the slot of a receiving one")
        };
        sender.receive(now);
        let sample = self.config.follows_path.as_ref().and_then(|_| sender.sample(header));
        match header.kind {
            Kind::Ack => {
                if let Some(delayed_ack) = header.delayed_ack() {
                    return self.acked_together(now, slot, header, delayed_ack);
                }
                if let Some(latencies) = &mut self.latencies {
                    latencies.acked(now, slot, header.sequence);
                }
                sender.acked(header.sequence, header.flags.attempt());
            }
            Kind::Nack => sender.nacked(header.sequence, header.flags.attempt()),
            Kind::Data | Kind::Pull | Kind::Reset => {}
        }
        if let Some(sample) = sample {
            return self.measured(now, slot, sample, header);
        }
        if let Some(counter) = header.pull_counter() {
            sender.pulled(counter);
        }
        sender.reconcile(&self.config);
        self.sender_changed(now, slot);
    }

    /// Handles a returned header, the sender's own packet.
    #[inline(never)]
    fn handle_return(&mut self, now: Time, packet: &Packet, directory: &mut impl HostTables) {
        let header = &packet.header;
        let key = Key {
            peer: packet.source,
            connection: header.connection,
            opened_here: header.flags.contains(Flags::FROM_OPENER),
            side: Side::Sending,
        };
        let Some(slot) = directory.find(key) else { return };
        let StreamState::Sending(sender) = &mut self.slots[slot as usize].stream_state else {
            panic!("the directory gave a sending side the slot of a receiving one")
        };
        sender.receive(now);
        sender.returned(header.sequence, header.flags.attempt());
        sender.reconcile(&self.config);
        self.sender_changed(now, slot);
    }

    /// Updates turns and events after a send stream may have become ready, unready or complete.
    #[inline]
    pub(super) fn sender_changed(&mut self, now: Time, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        let StreamState::Sending(sender) = &mut entry.stream_state else { return };
        let ready = sender.ready();
        let completes = sender.complete() && !sender.acknowledged;
        if completes {
            sender.acknowledged = true;
            self.events.push_back(Event::Acknowledged { key: entry.key, slot });
        }
        let allowed = (sender.credit(), sender.waiting());
        self.ready.update(slot, &mut sender.scheduler, ready, allowed);
        if completes && self.slots[slot as usize].life == Life::Closing {
            self.enter_time_wait(now, slot);
        }
    }

    fn transmit_pull(&mut self, now: Time) -> Packet {
        let (slot, class) = self.pulls.head();
        let entry = &mut self.slots[slot as usize];
        let receiver = Receiver::of(&mut entry.stream_state);
        let (counter, length) = receiver.send_pull(now);
        let leaves = receiver.pulls() == 0;
        let path = receiver.paths.spray();
        let due = now.saturating_add(self.config.pull_repeat);
        if leaves && due < entry.deadline {
            entry.deadline = due;
            self.timers.arm(slot, due);
        }
        let flags = entry.direction();
        let packet = entry.control(self.host, Kind::Pull, flags, path, counter, 0);
        let gap = self.gaps.pulled(length);
        let sent = Sent { gap, count: 1, bytes: length.into(), leaves };
        self.pulls.sent(now, &mut self.slots, class, sent);
        packet
    }

    fn transmit_data(&mut self, now: Time) -> Packet {
        loop {
            let slot = self.ready.next();
            let measured = self.config.follows_path.is_some();
            let rto = measured.then(|| self.rto(self.slots[slot as usize].key.peer));
            let entry = &mut self.slots[slot as usize];
            // The slot may have been assigned anew since the turn was queued.
            let StreamState::Sending(sender) = &mut entry.stream_state else { continue };
            sender.scheduler.spend();
            let prefers_new = self.ready.are_by_kind() && !sender.scheduler.spend_resend();
            if !sender.ready() {
                continue;
            }
            if sender.is_probing() && !sender.drops_probe() {
                return self.transmit_probe(slot);
            }
            let (packet, mut due) =
                sender.transmit(now, &self.config, self.host, &entry.key, prefers_new);
            if let Some(rto) = rto {
                due = now.saturating_add(rto.after(sender.timeouts(packet.header.sequence)));
            }
            if let Some(latencies) = &mut self.latencies {
                latencies.sent(now, slot, packet.header.sequence);
            }
            let (ready, allowed) = (sender.ready(), (sender.credit(), sender.waiting()));
            self.ready.update(slot, &mut sender.scheduler, ready, allowed);
            if self.config.turn > 0 {
                self.ready.sent(slot, packet.header.payload_length().into());
            }
            if due < entry.deadline {
                entry.deadline = due;
                self.timers.arm(slot, due);
            }
            return packet;
        }
    }

    #[cold]
    #[inline(never)]
    fn transmit_probe(&mut self, slot: u32) -> Packet {
        let entry = &mut self.slots[slot as usize];
        let StreamState::Sending(sender) = &mut entry.stream_state else {
            unreachable!("a sending side probes")
        };
        let packet = sender.probe(self.host, &entry.key);
        let (ready, allowed) = (sender.ready(), (sender.credit(), sender.waiting()));
        self.ready.update(slot, &mut sender.scheduler, ready, allowed);
        packet
    }

    fn expire(&mut self, now: Time, slot: u32, directory: &mut impl HostTables) {
        let entry = &mut self.slots[slot as usize];
        if entry.life == Life::TimeWait {
            self.time_wait_expired(now, slot, directory);
            return;
        }
        let rto = self.rto(self.slots[slot as usize].key.peer);
        let entry = &mut self.slots[slot as usize];
        match &mut entry.stream_state {
            StreamState::Vacant => {}
            StreamState::Sending(sender) => {
                entry.deadline = sender.expire(now, &self.config, rto);
                self.sender_changed(now, slot);
            }
            StreamState::Receiving(receiver) => match receiver.expire(now, self.config.pull_repeat)
            {
                Repeat::At(deadline) => entry.deadline = deadline,
                Repeat::Now(deadline) => {
                    entry.deadline = deadline;
                    let class = receiver.class;
                    self.pulls.add(now);
                    self.pulls.join(&mut self.slots, slot, class);
                }
            },
        }
        if self.has_options {
            self.answer_in_time(now, slot);
            self.forget_headers(slot);
        }
        let deadline = self.slots[slot as usize].deadline;
        if deadline != Time::NEVER {
            self.timers.arm(slot, deadline);
        }
    }

    /// Refuses an unknown stream with a RESET. `packet` is DATA or a PULL.
    #[cold]
    pub(super) fn reset(
        &mut self,
        now: Time,
        packet: &Packet,
        peer: HostId,
        directory: &mut impl HostTables,
    ) {
        // NDP 3.2.2-d: rare, and never more than one per full packet's time: a flood of DATA for unknown
        // connections must not become a flood of RESETs.
        let gap = self.gaps.after(self.config.payload_bytes);
        if self.reset_at.is_some_and(|at| now < at + gap) || self.control.len() >= CONTROL_LIMIT {
            return;
        }
        self.reset_at = Some(now);
        let mut flags = Flags::default();
        if !packet.header.flags.contains(Flags::FROM_OPENER) {
            flags = flags.with(Flags::FROM_OPENER);
        }
        // A RESET that answers a PULL ends the receive stream, any other one the send stream.
        if packet.header.kind == Kind::Pull {
            flags = flags.with(Flags::PULL);
        }
        let mut paths = PathList::new();
        directory.paths(peer, &mut paths);
        let answer = Header {
            kind: Kind::Reset,
            flags,
            path: paths.first().copied().unwrap_or(crate::ANY_PATH),
            connection: packet.header.connection,
            sequence: packet.header.sequence,
            extra: 0,
        };
        self.control.push_back(Packet::control(self.host, peer, answer));
    }
}

impl crate::Endpoint for Endpoint {
    type Command = Command;
    type Event = Event;

    fn handle_command(&mut self, now: Time, command: Command, directory: &mut impl HostTables) {
        match command {
            Command::Listen { service_port } => {
                if !self.listening.contains(&service_port) {
                    self.listening.push(service_port);
                }
            }
            Command::Open {
                peer,
                connection,
                service_port,
                class,
                length,
                payload,
                paths,
                stream,
            } => {
                let key = Key { peer, connection, opened_here: true, side: Side::Sending };
                let data = (length.map(|length| length.get()), payload);
                self.open(now, key, service_port, class, data, &paths, stream, directory);
            }
            Command::Send { key, length } => self.send(now, key, length.get(), directory),
            Command::Prioritise { key, class } => self.prioritise(key, class, directory),
            Command::Hold { key, holds } => self.hold(now, key, holds, directory),
            Command::Renew { key } => self.renew(now, key, directory),
            Command::Paths { key, paths } => self.use_paths(key, &paths, directory),
            Command::Avoid { key, path, until } => self.avoid(key, path, until, directory),
            Command::Classify { key, class } => self.classify(key, class, directory),
            Command::Close { key } => self.close(now, key, directory),
            Command::Abandon { key } => self.abandon(now, key, directory),
        }
    }

    #[inline]
    fn handle_packet(
        &mut self,
        now: Time,
        packet: &Packet,
        directory: &mut impl HostTables,
    ) -> Disposition {
        // A switch that drops and notifies has returned the header. Control packets are not resent: PULLs and time-outs
        // make up for them.
        let is_back = packet.service.service().is_bounced();
        match packet.header.kind {
            Kind::Data if is_back => self.handle_return(now, packet, directory),
            Kind::Ack | Kind::Nack | Kind::Pull | Kind::Reset if is_back => {}
            Kind::Data => return self.handle_data(now, packet, directory),
            Kind::Ack | Kind::Nack | Kind::Pull => self.handle_feedback(now, packet, directory),
            Kind::Reset => self.handle_reset(now, packet, directory),
        }
        Disposition::Discard
    }

    fn handle_timeout(&mut self, now: Time, directory: &mut impl HostTables) {
        while let Some((deadline, slot)) = self.timers.due(now) {
            // A deadline that was brought forward has left its old entry behind.
            if self.slots[slot as usize].deadline == deadline {
                self.expire(now, slot, directory);
            }
        }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet> {
        if allowed.control() {
            // NDP 3.2-c, 3.2-l: ACKs and NACKs wait for no pacer; then the PULL that is due, then data.
            if let Some(packet) = self.control.pop_front() {
                return Some(packet);
            }
            if now >= self.pulls.due() && !self.pulls.is_empty() {
                return Some(match self.config.ack_every {
                    1 => self.transmit_pull(now),
                    _ => self.transmit_pulls(now),
                });
            }
        }
        if allowed.data() && !self.ready.is_empty() {
            return Some(self.transmit_data(now));
        }
        None
    }

    #[inline]
    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    #[inline]
    fn transmit_at(&self, allowed: Allowed) -> Time {
        let has_more = (allowed.control() & !self.control.is_empty())
            | (allowed.data() & !self.ready.is_empty());
        if has_more {
            Time::ZERO
        } else if allowed.control() {
            self.pulls.due()
        } else {
            Time::NEVER
        }
    }

    #[inline]
    fn poll_timeout(&self) -> Time {
        self.timers.earliest()
    }
}
