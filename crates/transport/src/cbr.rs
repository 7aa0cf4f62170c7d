//! Constant bit rate: senders that ignore loss, trimming and answers, and receivers that count. The worst case for a
//! switch (NDP 2.3, Figure 2), and background traffic.
//!
//! A send stream sends one full packet every wire time at its rate, on its paths in turn, for ever or until its data
//! has been sent once. Nothing is acknowledged or resent. A busy NIC delays a packet; the next ones keep their times,
//! at most one packet late.

use alloc::collections::VecDeque;
use core::num::NonZeroU16;

use trimline_packet::{BitRate, ByteCount, Flags, HostId, Kind, Packet, Service, Time, TimeDelta};

use crate::flow::{self, Command, Memory, Slots, Statistics};
use crate::{Allowed, Disposition, HostTables, Key, PathList, Side};

/// Parameters of every connection of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Payload of a packet, in bytes; the header adds 64.
    pub payload_bytes: u16,
    /// Rate of each send stream on the wire, headers included.
    pub rate: BitRate,
    /// Time that the host's clock loses per gap. Senders of equal rates would meet in the same order for ever; real
    /// senders do not.
    pub clock_lag: TimeDelta,
    /// True if packets bear [`Packet::MARK_UNSCHEDULED`]: no receiver has asked for them.
    pub marks_unscheduled: bool,
}

impl Config {
    /// Returns the time between two packets.
    pub fn gap(&self) -> TimeDelta {
        self.gap_of(self.payload_bytes)
    }

    /// Returns the time between two packets of `payload` bytes.
    fn gap_of(&self, payload: u16) -> TimeDelta {
        let wire = u64::from(payload) + u64::from(Packet::HEADER_BYTES);
        let gap = self.rate.transmission(ByteCount::new(wire)).as_ps();
        TimeDelta::from_ps(gap.saturating_add(self.clock_lag.as_ps()))
    }
}

/// An event for the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// All data handed over so far has been sent. A sender learns no more.
    Sent {
        /// The send stream.
        key: Key,
        /// The stream's slot.
        slot: u32,
    },
    /// Every packet up to the last one has arrived whole.
    Delivered {
        /// The receive stream.
        key: Key,
        /// The stream's slot.
        slot: u32,
    },
}

impl From<Event> for Option<flow::Event> {
    /// Drops `Sent`: sent data may not arrive.
    fn from(event: Event) -> Option<flow::Event> {
        match event {
            Event::Sent { .. } => None,
            Event::Delivered { key, slot } => Some(flow::Event::Delivered { key, slot }),
        }
    }
}

#[derive(Debug)]
struct Sender {
    key: Key,
    paths: PathList,
    /// Index into `paths`.
    turn: usize,
    sequence: u32,
    class: u8,
    /// Unsent payload bytes; `None` never runs out.
    left: Option<u64>,
    /// Payload of a full packet in bytes, and time to the next.
    payload: u16,
    gap: TimeDelta,
    due: Time,
}

#[derive(Debug, Default)]
struct Slot {
    sender: Option<Sender>,
    /// Packets of all messages so far, each sent once. A receive stream learns it from the packet with LAST.
    expected: Option<u64>,
    statistics: Statistics,
}

/// All constant-rate connections of one host.
#[derive(Debug)]
pub struct Endpoint {
    host: HostId,
    config: Config,
    gap: TimeDelta,
    has_several_gaps: bool,
    is_listening: bool,
    slots: Slots<Slot>,
    /// Slots of send streams with data left, by due time. With equal gaps a stream that has just sent is due last.
    turns: VecDeque<u32>,
    events: VecDeque<Event>,
}

impl Endpoint {
    /// Makes a host without connections.
    pub fn new(host: HostId, config: Config) -> Endpoint {
        Endpoint {
            host,
            gap: config.gap(),
            config,
            has_several_gaps: false,
            is_listening: false,
            slots: Slots::new(),
            turns: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Returns the counters of the stream in `slot`.
    ///
    /// # Panics
    /// Panics if `slot` was never assigned.
    pub fn statistics(&self, slot: u32) -> &Statistics {
        match self.slots.find(slot) {
            Some(slot) => &slot.statistics,
            None => panic!("slot {slot} was never assigned"),
        }
    }

    /// Returns where the connections' state lies, for drivers that prefetch.
    pub fn connections_memory(&self) -> Memory {
        self.slots.memory()
    }

    /// Forgets the stream in `slot`, which has nothing to send. The slot may be assigned again.
    pub fn forget(&mut self, slot: u32) {
        debug_assert!(!self.turns.contains(&slot), "a half that is forgotten has nothing to send");
        *self.slots.at(slot) = Slot::default();
    }

    /// Queues the stream in `slot` behind the streams that are due by `due`.
    fn queue_by_due_time(&mut self, slot: u32, due: Time) {
        let place = self.turns.partition_point(|&other| self.due(other) <= Some(due));
        self.turns.insert(place, slot);
    }

    fn due(&self, slot: u32) -> Option<Time> {
        Some(self.slots.find(slot)?.sender.as_ref()?.due)
    }
}

impl crate::Endpoint for Endpoint {
    type Command = Command;
    type Event = Event;

    fn handle_command(&mut self, now: Time, command: Command, directory: &mut impl HostTables) {
        match command {
            Command::Listen => self.is_listening = true,
            Command::Open { peer, connection, class, length, payload, paths, .. } => {
                assert!(!paths.is_empty(), "a connection has at least one path");
                let key = Key { peer, connection, opened_here: true, side: Side::Sending };
                let slot = directory.assign(key);
                let left = length.map(ByteCount::get);
                let (mut full, mut gap) = (self.config.payload_bytes, self.gap);
                if let Some(payload) = payload.map(NonZeroU16::get).filter(|&own| own != full) {
                    (full, gap) = (payload, self.config.gap_of(payload));
                    self.has_several_gaps = true;
                }
                let sender = Sender {
                    key,
                    paths,
                    turn: 0,
                    sequence: 0,
                    class,
                    left,
                    payload: full,
                    gap,
                    due: now,
                };
                self.slots.at(slot).sender = Some(sender);
                if left == Some(0) {
                    return self.events.push_back(Event::Sent { key, slot });
                }
                self.queue_by_due_time(slot, now);
            }
            Command::Send { key, length } => {
                let Some(slot) = directory.find(key).filter(|_| length > ByteCount::ZERO) else {
                    return;
                };
                let Some(Sender { left: Some(left), due, .. }) = &mut self.slots.at(slot).sender
                else {
                    return;
                };
                let is_idle = *left == 0;
                *left = left.saturating_add(length.get());
                if is_idle {
                    *due = now.max(*due);
                    let due = *due;
                    self.queue_by_due_time(slot, due);
                }
            }
            Command::Paths { key, paths } => {
                let Some(slot) = directory.find(key).filter(|_| !paths.is_empty()) else { return };
                if let Some(sender) = &mut self.slots.at(slot).sender {
                    (sender.paths, sender.turn) = (paths, 0);
                }
            }
        }
    }

    fn handle_packet(
        &mut self,
        _now: Time,
        packet: &Packet,
        directory: &mut impl HostTables,
    ) -> Disposition {
        let header = &packet.header;
        if header.kind != Kind::Data || !self.is_listening {
            return Disposition::Discard;
        }
        let key = Key::of(packet);
        let is_back = key.side == Side::Sending;
        let slot = match directory.find(key) {
            Some(slot) => slot,
            None if is_back || !directory.accepts(key) => return Disposition::Discard,
            None => directory.assign(key),
        };
        let length = header.payload_length();
        let whole = u32::from(length) + u32::from(Packet::HEADER_BYTES);
        let Slot { expected, statistics, .. } = self.slots.at(slot);
        if is_back || u32::from(packet.wire_bytes) < whole {
            statistics.headers += 1;
            return Disposition::Discard;
        }
        statistics.packets += 1;
        statistics.bytes += u64::from(length);
        if header.flags.contains(Flags::LAST) {
            // The last packet of an earlier message may arrive later.
            *expected = (*expected).max(Some(u64::from(header.sequence) + 1));
        }
        if *expected == Some(statistics.packets) {
            self.events.push_back(Event::Delivered { key, slot });
        }
        Disposition::Accept { slot, sequence: header.sequence }
    }

    fn handle_timeout(&mut self, _now: Time, _directory: &mut impl HostTables) {}

    fn poll_transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet> {
        let &slot = self.turns.front()?;
        let Slot { sender: Some(sender), statistics, .. } = self.slots.at(slot) else {
            panic!("only sending sides have turns")
        };
        if now < sender.due || !allowed.data() {
            return None;
        }
        let (payload, gap) = (u64::from(sender.payload), sender.gap);
        let length = sender.left.map_or(payload, |left| left.min(payload)) as u16;
        sender.left = sender.left.map(|left| left - u64::from(length));
        let is_last = sender.left == Some(0);
        // A NIC that was busy for longer than a gap does not catch up.
        let earliest = Time::from_ps(now.as_ps().saturating_sub(gap.as_ps()));
        sender.due = sender.due.max(earliest) + gap;
        let path = sender.paths[sender.turn];
        sender.turn = if sender.turn + 1 == sender.paths.len() { 0 } else { sender.turn + 1 };
        let sequence = sender.sequence;
        sender.sequence = sequence.wrapping_add(1);
        statistics.packets += 1;
        statistics.bytes += u64::from(length);
        let (key, class, due) = (sender.key, sender.class, sender.due);
        self.turns.pop_front();
        if is_last {
            self.events.push_back(Event::Sent { key, slot });
        } else if self.has_several_gaps {
            self.queue_by_due_time(slot, due);
        } else {
            self.turns.push_back(slot);
        }
        let mut packet = key.data(self.host, path, sequence, length, is_last, Service::Trimmable);
        if self.config.marks_unscheduled {
            packet.marks |= Packet::MARK_UNSCHEDULED;
        }
        packet.header.flags = packet.header.flags.with_class(class);
        Some(packet)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn transmit_at(&self, allowed: Allowed) -> Time {
        let first = self.turns.front().filter(|_| allowed.data());
        first.and_then(|&slot| self.due(slot)).unwrap_or(Time::NEVER)
    }

    fn poll_timeout(&self) -> Time {
        Time::NEVER
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::{Endpoint as _, RngStream};
    use rand_xoshiro::rand_core::SeedableRng;
    use trimline_packet::{ConnectionId, PathId};

    struct Slots(Vec<Key>);

    impl HostTables for Slots {
        fn find(&self, key: Key) -> Option<u32> {
            self.0.iter().position(|known| *known == key).map(|slot| slot as u32)
        }
        fn assign(&mut self, key: Key) -> u32 {
            self.0.push(key);
            self.0.len() as u32 - 1
        }
        fn release(&mut self, _key: Key, _slot: u32) {}
        fn paths(&self, _peer: HostId, paths: &mut PathList) {
            paths.push(PathId::new(0));
        }
        fn stream(&self, _key: Key) -> RngStream {
            unreachable!("nothing here is random")
        }
    }

    const CONFIG: Config = Config {
        payload_bytes: 9000,
        rate: BitRate::from_gbps(10),
        clock_lag: TimeDelta::ZERO,
        marks_unscheduled: false,
    };

    fn host(number: u32) -> (Endpoint, Slots) {
        let mut slots = Slots(Vec::new());
        let mut endpoint = Endpoint::new(HostId::new(number), CONFIG);
        endpoint.handle_command(Time::ZERO, Command::Listen, &mut slots);
        (endpoint, slots)
    }

    fn open(number: u32, length: Option<u64>, paths: u16) -> Command {
        Command::Open {
            peer: HostId::new(9),
            connection: ConnectionId::new(number),
            class: 0,
            length: length.map(ByteCount::new),
            payload: None,
            stream: RngStream::seed_from_u64(0),
            paths: (0..paths).map(PathId::new).collect(),
        }
    }

    /// Sends all packets before `until`.
    fn sent(endpoint: &mut Endpoint, until: Time) -> Vec<(Time, Packet)> {
        let mut sent = Vec::new();
        while endpoint.transmit_at(Allowed::ALL) < until {
            let now = endpoint.transmit_at(Allowed::ALL);
            sent.push((now, endpoint.poll_transmit(now, Allowed::ALL).unwrap()));
        }
        sent
    }

    #[test]
    fn cbr_sends_at_its_rate_on_paths_in_turn_without_reacting_to_losses() {
        let (mut endpoint, mut slots) = host(1);
        endpoint.handle_command(Time::ZERO, open(0, None, 3), &mut slots);
        let packets = sent(&mut endpoint, Time::from_ps(7_251_200 * 6));
        assert_eq!(packets.len(), 6);
        for (number, (at, packet)) in packets.iter().enumerate() {
            assert_eq!(at.as_ps(), 7_251_200 * number as u64);
            assert_eq!(packet.header.path, PathId::new(number as u16 % 3));
            assert_eq!((packet.header.sequence, packet.wire_bytes), (number as u32, 9064));
            let mut back = *packet;
            back.trim(64);
            back.bounce();
            endpoint.handle_packet(*at, &back, &mut slots);
        }
        let seen = endpoint.statistics(0);
        assert_eq!((seen.packets, seen.bytes, seen.headers), (6, 54_000, 6));
    }

    #[test]
    fn an_early_poll_sends_nothing_and_a_busy_nic_delays_no_later_packet() {
        let (mut endpoint, mut slots) = host(1);
        endpoint.handle_command(Time::ZERO, open(0, None, 1), &mut slots);
        let gap = 7_251_200;
        assert!(endpoint.poll_transmit(Time::ZERO, Allowed::CONTROL).is_none());
        assert!(endpoint.poll_transmit(Time::ZERO, Allowed::ALL).is_some());
        assert!(endpoint.poll_transmit(Time::from_ps(gap - 1), Allowed::ALL).is_none());
        assert!(endpoint.poll_transmit(Time::from_ps(gap * 10), Allowed::ALL).is_some());
        assert_eq!(endpoint.transmit_at(Allowed::ALL).as_ps(), gap * 10);
    }

    #[test]
    fn a_slow_clock_has_longer_gaps() {
        let mut slots = Slots(Vec::new());
        let config = Config { clock_lag: TimeDelta::from_ps(725), ..CONFIG };
        let mut endpoint = Endpoint::new(HostId::new(1), config);
        endpoint.handle_command(Time::ZERO, open(0, None, 1), &mut slots);
        let times: Vec<u64> = sent(&mut endpoint, Time::from_ps(7_251_926 * 2))
            .iter()
            .map(|(at, _)| at.as_ps())
            .collect();
        assert_eq!(times, [0, 7_251_925, 7_251_925 * 2]);
    }

    /// 1500 B are 1564 B on the wire, 1.2512 us at 10 Gb/s; 9000 B take 7.2512 us.
    #[test]
    fn a_connection_with_a_payload_of_its_own_has_the_same_rate_on_the_wire() {
        let (mut endpoint, mut slots) = host(1);
        endpoint.handle_command(Time::ZERO, open(0, None, 1), &mut slots);
        let mut small = open(1, None, 1);
        if let Command::Open { payload, .. } = &mut small {
            *payload = NonZeroU16::new(1500);
        }
        endpoint.handle_command(Time::ZERO, small, &mut slots);
        let packets = sent(&mut endpoint, Time::from_ps(7_251_200 * 2));
        let of = |number: u32| -> Vec<(u64, u16)> {
            let own = packets.iter().filter(|(_, packet)| packet.header.connection.get() == number);
            own.map(|(at, packet)| (at.as_ps(), packet.wire_bytes)).collect()
        };
        assert_eq!(of(0), [(0, 9064), (7_251_200, 9064)]);
        let expected: Vec<(u64, u16)> = (0..12).map(|count| (count * 1_251_200, 1564)).collect();
        assert_eq!(of(1), expected);
    }

    #[test]
    fn connections_of_a_host_send_in_order_of_their_times() {
        let (mut endpoint, mut slots) = host(1);
        endpoint.handle_command(Time::ZERO, open(0, None, 1), &mut slots);
        assert!(endpoint.poll_transmit(Time::ZERO, Allowed::ALL).is_some());
        endpoint.handle_command(Time::from_ps(1), open(1, None, 1), &mut slots);
        let packets = sent(&mut endpoint, Time::from_ps(7_251_200 * 2));
        let connections: Vec<u32> =
            packets.iter().map(|(_, packet)| packet.header.connection.get()).collect();
        assert_eq!(connections, [1, 0, 1]);
    }

    #[test]
    fn a_further_message_continues_at_the_rate() {
        let (mut endpoint, mut slots) = host(1);
        endpoint.handle_command(Time::ZERO, open(0, Some(10_000), 1), &mut slots);
        endpoint.handle_command(Time::ZERO, open(1, None, 1), &mut slots);
        let key = slots.0[0];
        let send = |length| Command::Send { key, length: ByteCount::new(length) };
        endpoint.handle_command(Time::ZERO, send(5000), &mut slots);
        let gap = 7_251_200;
        let packets = sent(&mut endpoint, Time::from_ps(gap * 2 + 1));
        let of_first = |packets: &[(Time, Packet)]| -> Vec<(u64, u32, u16)> {
            let own = packets.iter().filter(|(_, packet)| packet.header.connection.get() == 0);
            own.map(|(at, packet)| (at.as_ps(), packet.header.sequence, packet.wire_bytes - 64))
                .collect()
        };
        assert_eq!(of_first(&packets), [(0, 0, 9000), (gap, 1, 6000)]);
        assert!(matches!(endpoint.poll_event(), Some(Event::Sent { slot: 0, .. })));
        // The rate bounds a message that comes early; after a pause a message goes at once.
        endpoint.handle_command(Time::from_ps(gap + 1), send(9000), &mut slots);
        endpoint.handle_command(Time::from_ps(gap + 1), send(0), &mut slots);
        let packets = sent(&mut endpoint, Time::from_ps(gap * 5));
        assert_eq!(of_first(&packets), [(gap * 2, 2, 9000)]);
        assert!(endpoint.poll_event().is_some() && endpoint.poll_event().is_none());
        endpoint.handle_command(Time::from_ps(gap * 9 / 2), send(1), &mut slots);
        let packets = sent(&mut endpoint, Time::from_ps(gap * 6));
        assert_eq!(of_first(&packets), [(gap * 9 / 2, 3, 1)]);
    }

    #[test]
    fn a_receiver_counts_whole_packets_and_headers_separately() {
        let (mut sender, mut slots) = host(1);
        sender.handle_command(Time::ZERO, open(0, Some(20_000), 1), &mut slots);
        let packets = sent(&mut sender, Time::NEVER);
        assert_eq!(packets.len(), 3);
        assert!(matches!(sender.poll_event(), Some(Event::Sent { slot: 0, .. })));
        let (mut receiver, mut slots) = host(9);
        for (number, (at, packet)) in packets.iter().enumerate() {
            let mut packet = *packet;
            if number == 1 {
                packet.trim(64);
            }
            receiver.handle_packet(*at, &packet, &mut slots);
        }
        let seen = receiver.statistics(0);
        assert_eq!((seen.packets, seen.bytes, seen.headers), (2, 11_000, 1));
        assert_eq!(receiver.transmit_at(Allowed::ALL), Time::NEVER);
        assert_eq!(receiver.poll_event(), None, "a packet is missing");
    }

    #[test]
    fn a_receiver_reports_a_complete_flow_in_any_order() {
        let (mut sender, mut slots) = host(1);
        sender.handle_command(Time::ZERO, open(0, Some(20_000), 1), &mut slots);
        let packets = sent(&mut sender, Time::NEVER);
        let (mut receiver, mut slots) = host(9);
        for (count, place) in [2, 0, 1].into_iter().enumerate() {
            assert_eq!(receiver.poll_event(), None, "{count} of 3 have arrived");
            let (at, packet) = packets[place];
            receiver.handle_packet(at, &packet, &mut slots);
        }
        assert!(matches!(receiver.poll_event(), Some(Event::Delivered { slot: 0, .. })));
        assert_eq!(receiver.poll_event(), None);
    }
}
