//! Compares the port with a plain one: deques, sums and copies instead of links, counters and masks.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;
use trimline_packet::{BitRate, ByteCount, Handle, Packet, Packets, Service, ServiceClass, Time};

use crate::model::{MAX_QUEUES, MarkAt, Marker, Unit};
use crate::testing::{Arena, packet};
use crate::{
    Action, Alpha, Cap, Choices, Classifier, Disposition, DropList, Limit, Order, OutputPort, Pool,
    Port, PortContext, QueueChoices, QueueView, Rng, Scheduler,
};

/// A reproducible RNG, with its number of draws.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stream {
    seed: u32,
    draws: u32,
}

impl Stream {
    fn next(&mut self) -> u32 {
        self.draws += 1;
        let mixed = (self.seed ^ self.draws).wrapping_mul(0x9e37_79b1);
        (mixed ^ mixed >> 15).wrapping_mul(0x85eb_ca77)
    }
}

impl Rng for Stream {
    fn coin(&mut self) -> bool {
        self.next() >> 31 == 1
    }
    fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.next()) * u64::from(bound)) >> 32) as u32
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    handle: Handle,
    packet: Packet,
}

#[derive(Clone, Debug)]
struct Plain {
    queues: Vec<VecDeque<Entry>>,
    wire: Option<(usize, Entry)>,
    paused: Vec<bool>,
    turn: usize,
    left: u32,
}

#[derive(Clone, Debug)]
struct PlainSwitch {
    choices: Choices,
    pool_bytes: u64,
    ports: Vec<Plain>,
    stream: Stream,
    drop_list: Vec<(Entry, Disposition)>,
    /// Headers whose senders must be notified.
    notified: Vec<Entry>,
    trimmed: u32,
    cut: u64,
}

fn header(service: Service) -> bool {
    match service {
        Service::Trimmed | Service::Returned | Service::Control | Service::Notification => true,
        Service::Trimmable | Service::Droppable => false,
    }
}

impl PlainSwitch {
    fn new(choices: &Choices, pool_bytes: u64, ports: usize, seed: u32) -> PlainSwitch {
        let count = choices.queues.len();
        let left = match choices.scheduler {
            Scheduler::WeightedRoundRobin { weights } => weights[0],
            _ => 0,
        };
        let port = Plain {
            queues: vec![VecDeque::new(); count],
            wire: None,
            paused: vec![false; count],
            turn: 0,
            left,
        };
        PlainSwitch {
            choices: choices.clone(),
            pool_bytes,
            ports: vec![port; ports],
            stream: Stream { seed, draws: 0 },
            drop_list: Vec::new(),
            notified: Vec::new(),
            trimmed: 0,
            cut: 0,
        }
    }

    fn cells(&self, entry: &Entry) -> u64 {
        let cell = u64::from(self.choices.cell_bytes);
        u64::from(entry.packet.wire_bytes).div_ceil(cell) * cell
    }

    fn held(&self, port: usize, queue: usize) -> impl Iterator<Item = &Entry> {
        let port = &self.ports[port];
        let wire = port.wire.iter().filter(move |wire| wire.0 == queue).map(|wire| &wire.1);
        wire.chain(&port.queues[queue])
    }

    fn bytes(&self, port: usize, queue: usize) -> u64 {
        self.held(port, queue).map(|entry| self.cells(entry)).sum()
    }

    fn count(&self, port: usize, queue: usize) -> u64 {
        self.held(port, queue).count() as u64
    }

    fn pool_used(&self) -> u64 {
        let queues = (0..self.ports.len())
            .flat_map(|port| (0..self.choices.queues.len()).map(move |queue| (port, queue)));
        queues
            .filter(|&(_, queue)| self.choices.queues[queue].pool.is_some())
            .map(|(port, queue)| self.bytes(port, queue))
            .sum()
    }

    fn queue_of(&self, packet: &Packet) -> usize {
        match self.choices.classifier {
            Classifier::Single => 0,
            Classifier::HeaderAndData => usize::from(!header(packet.service.service())),
            Classifier::Notifications => usize::from(packet.service != Service::Notification),
            Classifier::Class => usize::from(3 - packet.header.flags.class()),
            Classifier::Priority if header(packet.service.service()) => 0,
            Classifier::Priority => usize::from(7 - packet.service.priority()),
        }
    }

    fn fits(&self, port: usize, queue: usize, entry: &Entry) -> bool {
        let choices = &self.choices.queues[queue];
        let limit =
            if header(entry.packet.service.service()) { choices.header } else { choices.whole };
        let after = self.bytes(port, queue) + self.cells(entry);
        let free = self.pool_bytes - self.pool_used();
        let pool = match choices.pool {
            None => true,
            Some(alpha) => {
                self.cells(entry) <= free && after * 65536 <= free * u64::from(alpha.bits())
            }
        };
        let queues = 0..self.choices.queues.len();
        let all = queues.clone().map(|queue| self.count(port, queue)).sum::<u64>();
        let all_bytes = queues.map(|queue| self.bytes(port, queue)).sum::<u64>();
        self.count(port, queue) < u64::from(limit.packets)
            && after <= u64::from(limit.bytes)
            && all < u64::from(self.choices.port.packets)
            && all_bytes + self.cells(entry) <= u64::from(self.choices.port.bytes)
            && pool
    }

    fn push(&mut self, port: usize, queue: usize, mut entry: Entry) {
        let (count, bytes) = (self.count(port, queue), self.bytes(port, queue));
        let mark = match self.choices.queues[queue].marker {
            Marker::Threshold { unit, above, count_self, at: MarkAt::Enqueue } => {
                let own = if count_self { (1, self.cells(&entry)) } else { (0, 0) };
                match unit {
                    Unit::Packets => count + own.0 > u64::from(above),
                    Unit::Bytes => bytes + own.1 > u64::from(above),
                }
            }
            Marker::Ramp { kmin, kmax, pmax, at: MarkAt::Enqueue } => {
                self.ramp(bytes, [kmin, kmax, pmax])
            }
            Marker::Threshold { at: MarkAt::Dequeue, .. }
            | Marker::Ramp { at: MarkAt::Dequeue, .. }
            | Marker::None
            | Marker::CoDel { .. } => false,
        };
        if mark && entry.packet.marks & Packet::MARK_ECT != 0 {
            entry.packet.marks |= Packet::MARK_CE;
        }
        self.ports[port].queues[queue].push_back(entry);
    }

    fn trim(&mut self, port: usize, entry: Entry) {
        let header = self.cut(entry);
        self.enqueue(port, header);
    }

    fn cut(&mut self, mut entry: Entry) -> Entry {
        let before = entry.packet.wire_bytes;
        entry.packet.wire_bytes = before.min(self.choices.trimmed_bytes);
        entry.packet.service = Service::Trimmed.into();
        entry.packet.marks &= !Packet::MARK_UNSCHEDULED;
        if self.choices.is_last_hop {
            entry.packet.marks |= Packet::MARK_LAST_HOP;
        }
        self.trimmed += 1;
        self.cut += u64::from(before - entry.packet.wire_bytes);
        entry
    }

    fn enqueue(&mut self, port: usize, entry: Entry) {
        let queue = self.queue_of(&entry.packet);
        let is_unscheduled = entry.packet.marks & Packet::MARK_UNSCHEDULED != 0
            && !header(entry.packet.service.service());
        if let Some(above) = self.choices.queues[queue].selective_drop
            && is_unscheduled
            && self.bytes(port, queue) > u64::from(above)
        {
            return self.drop_list.push((entry, Disposition::Dropped));
        }
        if self.fits(port, queue, &entry) {
            return self.push(port, queue, entry);
        }
        let service = entry.packet.service.service();
        for action in self.choices.queues[queue].overflow.clone() {
            match action {
                Action::Drop => break,
                Action::TrimArriving if service == Service::Trimmable => {
                    return self.trim(port, entry);
                }
                Action::TrimRandom if service == Service::Trimmable => {
                    let tail = self.ports[port].queues[queue].back();
                    let trimmable =
                        tail.is_some_and(|tail| tail.packet.service == Service::Trimmable);
                    if trimmable && self.stream.coin() {
                        let (before, mut victims) = (self.clone(), Vec::new());
                        while !self.fits(port, queue, &entry) {
                            let back = self.ports[port].queues[queue].pop_back();
                            match back.filter(|back| back.packet.service == Service::Trimmable) {
                                Some(back) => victims.push(back),
                                None => {
                                    *self = before;
                                    return self.trim(port, entry);
                                }
                            }
                        }
                        self.push(port, queue, entry);
                        for victim in victims {
                            self.trim(port, victim);
                        }
                        return;
                    }
                    return self.trim(port, entry);
                }
                Action::TrimToSender if service == Service::Trimmable => {
                    let header = self.cut(entry);
                    return self.drop_list.push((header, Disposition::Returned));
                }
                Action::TrimToBoth if service == Service::Trimmable => {
                    let header = self.cut(entry);
                    self.notified.push(header);
                    return self.enqueue(port, header);
                }
                Action::Return if service == Service::Trimmed => {
                    return self.drop_list.push((entry, Disposition::Returned));
                }
                Action::Notify if !matches!(service, Service::Returned | Service::Notification) => {
                    return self.drop_list.push((entry, Disposition::Notify));
                }
                Action::TrimArriving
                | Action::TrimRandom
                | Action::TrimToSender
                | Action::TrimToBoth
                | Action::Return
                | Action::Notify => {}
            }
        }
        self.drop_list.push((entry, Disposition::Dropped));
    }

    fn dequeue(&mut self, number: usize) -> Option<Entry> {
        let port = &mut self.ports[number];
        port.wire = None;
        let ready =
            |port: &Plain, queue: usize| !port.queues[queue].is_empty() && !port.paused[queue];
        let count = port.queues.len();
        let eligible: Vec<usize> = (0..count).filter(|&queue| ready(port, queue)).collect();
        let queue = match self.choices.scheduler {
            Scheduler::WeightedRoundRobin { weights } if eligible.len() > 1 => {
                if !ready(port, port.turn) || port.left == 0 {
                    let after = (1..=count).map(|step| (port.turn + step) % count);
                    port.turn = after.clone().find(|&queue| ready(port, queue)).unwrap();
                    port.left = weights[port.turn];
                }
                port.left -= 1;
                port.turn
            }
            _ => *eligible.first()?,
        };
        let mut entry = port.queues[queue].pop_front().unwrap();
        port.wire = Some((queue, entry));
        let long = match self.choices.queues[queue].marker {
            Marker::Threshold { unit, above, count_self, at: MarkAt::Dequeue } => {
                let own = if count_self { (0, 0) } else { (1, self.cells(&entry)) };
                match unit {
                    Unit::Packets => self.count(number, queue) - own.0 > u64::from(above),
                    Unit::Bytes => self.bytes(number, queue) - own.1 > u64::from(above),
                }
            }
            Marker::Ramp { kmin, kmax, pmax, at: MarkAt::Dequeue } => {
                let left = self.bytes(number, queue) - self.cells(&entry);
                self.ramp(left, [kmin, kmax, pmax])
            }
            Marker::Threshold { at: MarkAt::Enqueue, .. }
            | Marker::Ramp { at: MarkAt::Enqueue, .. }
            | Marker::None
            | Marker::CoDel { .. } => false,
        };
        if long && entry.packet.marks & Packet::MARK_ECT != 0 {
            entry.packet.marks |= Packet::MARK_CE;
        }
        Some(entry)
    }

    /// True if a ramp marks at `bytes`. A number is drawn between its ends only.
    fn ramp(&mut self, bytes: u64, [kmin, kmax, pmax]: [u32; 3]) -> bool {
        if bytes > u64::from(kmax) {
            return true;
        }
        if bytes <= u64::from(kmin) {
            return false;
        }
        let share = (bytes - u64::from(kmin)) * u64::from(pmax) / u64::from(kmax - kmin);
        u64::from(self.stream.below(u32::MAX)) < share
    }
}

#[derive(Clone, Debug)]
enum Step {
    Arrive { port: usize, packet: Packet },
    Serve { port: usize },
    Pause { port: usize, queue: usize },
    Resume { port: usize, queue: usize },
}

fn any_service() -> impl Strategy<Value = Service> {
    prop_oneof![
        8 => Just(Service::Trimmable),
        2 => Just(Service::Droppable),
        1 => Just(Service::Control),
        1 => Just(Service::Trimmed),
        1 => Just(Service::Returned),
        1 => Just(Service::Notification),
    ]
}

fn any_packet() -> impl Strategy<Value = Packet> {
    let size = prop_oneof![4 => Just(9064u16), 2 => Just(1564), 2 => 1u16..=9064, 1 => 1u16..=64];
    let marks = (any::<bool>(), any::<bool>());
    (any_service(), size, (0u8..4, 0u8..8), marks, 0u32..1000).prop_map(
        |(service, size, (class, priority), (ect, unscheduled), sequence)| {
            let size = if header(service) { size.min(64) } else { size };
            let mut packet = packet(service, size, sequence);
            packet.header.flags = packet.header.flags.with_class(class);
            packet.service = ServiceClass::new(service, priority);
            packet.marks = if ect { Packet::MARK_ECT } else { 0 };
            packet.marks |= if unscheduled { Packet::MARK_UNSCHEDULED } else { 0 };
            packet
        },
    )
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0usize..2, any_packet()).prop_map(|(port, packet)| Step::Arrive { port, packet }),
        7 => (0usize..2).prop_map(|port| Step::Serve { port }),
        1 => (0usize..2, 0usize..8).prop_map(|(port, queue)| Step::Pause { port, queue }),
        1 => (0usize..2, 0usize..8).prop_map(|(port, queue)| Step::Resume { port, queue }),
    ]
}

fn any_limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        3 => (1u32..10).prop_map(Limit::packets),
        3 => (1u32..30_000).prop_map(Limit::bytes),
        2 => (1u32..10, 1u32..60_000).prop_map(|(packets, bytes)| Limit { packets, bytes }),
        1 => Just(Limit::NONE),
    ]
}

/// A limit, mostly absent: a port that is nearly always full shows little of its queues.
fn any_port_limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        3 => Just(Limit::NONE),
        1 => (1u32..20).prop_map(Limit::packets),
        1 => (1u32..60_000).prop_map(Limit::bytes),
    ]
}

fn any_marker() -> impl Strategy<Value = Marker> {
    let unit = prop_oneof![Just(Unit::Packets), Just(Unit::Bytes)];
    let at = || prop_oneof![Just(MarkAt::Enqueue), Just(MarkAt::Dequeue)];
    let threshold =
        (unit, any::<bool>(), at(), 0u32..5).prop_map(|(unit, count_self, at, above)| {
            let above = if unit == Unit::Bytes { above * 5000 } else { above };
            Marker::Threshold { unit, above, count_self, at }
        });
    let ramp = (0u32..10_000, 1u32..20_000, any::<u32>(), at())
        .prop_map(|(kmin, more, pmax, at)| Marker::Ramp { kmin, kmax: kmin + more, pmax, at });
    prop_oneof![2 => Just(Marker::None), 1 => threshold, 1 => ramp]
}

fn any_queue() -> impl Strategy<Value = QueueChoices> {
    let action = prop_oneof![
        1 => Just(Action::Drop),
        2 => Just(Action::TrimArriving),
        5 => Just(Action::TrimRandom),
        1 => Just(Action::TrimToSender),
        1 => Just(Action::TrimToBoth),
        3 => Just(Action::Return),
        1 => Just(Action::Notify),
    ];
    let pool = prop_oneof![
        2 => Just(None),
        1 => (1u32..8).prop_map(|quarters| Some(Alpha::from_fraction(quarters, 4))),
    ];
    let overflow = prop::collection::vec(action, 0..=4);
    let drops = prop_oneof![3 => Just(None), 1 => (0u32..20_000).prop_map(Some)];
    (any_limit(), any_limit(), pool, any_marker(), drops, overflow).prop_map(
        |(whole, header, pool, marker, selective_drop, overflow)| QueueChoices {
            whole,
            header,
            pool,
            marker,
            selective_drop,
            order: Order::Arrival,
            overflow,
        },
    )
}

fn any_choices() -> impl Strategy<Value = Choices> {
    let profile = (0usize..9, 1u32..10).prop_map(|(profile, packets)| match profile {
        0 => Choices::paper(packets, 9000),
        1 => Choices::htsim(packets, 9000),
        2 => Choices::csg_htsim(packets, 9000),
        3 => Choices::netfpga(),
        4 => Choices::p4(packets, 9000),
        5 => Choices::cut_payload(packets, 9064),
        6 => Choices::drop_tail(packets),
        // Its cap belongs to the wrapping port.
        7 => Choices::fastlane(packets * 9064, 64 * packets, Cap::of_line(BitRate::from_gbps(10))),
        _ => Choices::ecn(packets + 2, packets),
    });
    // Header queues small enough to overflow, so that the second stage is reached.
    let small = (profile, 1u32..400).prop_map(|(mut choices, bytes)| {
        if choices.queues.len() == 2 {
            let min = if choices.classifier == Classifier::Notifications { 64 } else { 1 };
            choices.queues[0].header = Limit::bytes(bytes.max(min));
        }
        choices
    });
    let cell = prop_oneof![Just(1u16), Just(32), Just(200)];
    let weights = prop::collection::vec(1u32..5, MAX_QUEUES);
    let queues = prop::collection::vec(any_queue(), 8);
    let custom = (0usize..5, queues, 0usize..2, weights, cell, 1u16..100, any_port_limit());
    let custom = custom.prop_map(
        |(classifier, mut queues, scheduler, weights, cell_bytes, trimmed, port)| {
            let (classifier, count) = [
                (Classifier::Single, 1),
                (Classifier::HeaderAndData, 2),
                (Classifier::Class, 4),
                (Classifier::Priority, 8),
                (Classifier::Notifications, 2),
            ][classifier];
            queues.truncate(count);
            if classifier == Classifier::Notifications {
                queues[0].header.bytes = queues[0].header.bytes.max(64);
            }
            let round_robin =
                Scheduler::WeightedRoundRobin { weights: weights.try_into().unwrap() };
            let scheduler = [Scheduler::Strict, round_robin][scheduler];
            let is_last_hop = trimmed % 2 == 1;
            let trimmed_bytes = trimmed;
            Choices { queues, classifier, scheduler, port, trimmed_bytes, cell_bytes, is_last_hop }
        },
    );
    prop_oneof![small, custom]
}

/// Runs the steps on ports of `Q` queues and plain ports, and compares their visible state.
fn compare<const Q: usize>(choices: &Choices, pool_bytes: u64, seed: u32, steps: &[Step]) {
    let model = choices.lay_out().expect("generated choices are valid");
    let mut plain = PlainSwitch::new(choices, pool_bytes, 2, seed);
    let (mut packets, mut pool) = (Arena::default(), Pool::new(ByteCount::new(pool_bytes)));
    let (mut stream, mut drop_list) = (Stream { seed, draws: 0 }, DropList::new());
    let mut ports = [Port::<Q>::new(), Port::<Q>::new()];
    macro_rules! context {
        () => {
            &mut PortContext {
                now: Time::ZERO,
                model: &model,
                packets: &mut packets,
                pool: &mut pool,
                rng: &mut stream,
                drop_list: &mut drop_list,
            }
        };
    }
    let (mut arrived, mut sent, mut lost) = ((0u64, 0u64), (0u64, 0u64), (0u64, 0u64));
    for step in steps {
        match step.clone() {
            Step::Arrive { port, packet } => {
                let handle = packets.add(packet);
                arrived = (arrived.0 + 1, arrived.1 + u64::from(packet.wire_bytes));
                plain.enqueue(port, Entry { handle, packet });
                ports[port].enqueue(handle, context!());
            }
            Step::Serve { port } => {
                let expected = plain.dequeue(port);
                let got = ports[port].dequeue(context!());
                let got = got.map(|handle| Entry { handle, packet: *packets.packet(handle) });
                assert_eq!(got, expected, "the packet that is served");
                if let Some(entry) = got {
                    sent = (sent.0 + 1, sent.1 + u64::from(entry.packet.wire_bytes));
                }
            }
            Step::Pause { port, queue } => {
                let queue = queue % choices.queues.len();
                plain.ports[port].paused[queue] = true;
                ports[port].pause(queue);
            }
            Step::Resume { port, queue } => {
                let queue = queue % choices.queues.len();
                plain.ports[port].paused[queue] = false;
                ports[port].resume(queue);
            }
        }
        let got: Vec<(Entry, Disposition)> = drop_list
            .drain()
            .map(|(handle, disposition)| {
                (Entry { handle, packet: *packets.packet(handle) }, disposition)
            })
            .collect();
        assert_eq!(got, plain.drop_list, "the packets that lost their place");
        lost.0 += got.len() as u64;
        lost.1 += got.iter().map(|(entry, _)| u64::from(entry.packet.wire_bytes)).sum::<u64>();
        plain.drop_list.clear();
        let notified: Vec<Entry> =
            drop_list.drain_quenched().map(|(handle, packet)| Entry { handle, packet }).collect();
        assert_eq!(notified, plain.notified, "headers whose senders are told");
        plain.notified.clear();
        assert_eq!((drop_list.trimmed, drop_list.cut_bytes), (plain.trimmed, plain.cut));
        assert_eq!(stream, plain.stream, "the draws");
        assert_eq!(pool.used().get(), plain.pool_used(), "the pool");
        for (number, port) in ports.iter().enumerate() {
            let state = &plain.ports[number];
            let mut waits = false;
            for queue in 0..choices.queues.len() {
                assert_eq!(u64::from(port.queue_packets(queue)), plain.count(number, queue));
                assert_eq!(u64::from(port.queue_bytes(queue)), plain.bytes(number, queue));
                waits |= !state.queues[queue].is_empty() && !state.paused[queue];
                // Bounds: no queue exceeds the larger of its limits.
                let queues = &choices.queues[queue];
                let (whole, header) = (queues.whole, queues.header);
                assert!(port.queue_packets(queue) <= whole.packets.max(header.packets));
                assert!(port.queue_bytes(queue) <= whole.bytes.max(header.bytes));
            }
            let queues = 0..choices.queues.len();
            let all = queues.clone().map(|queue| port.queue_packets(queue)).sum::<u32>();
            let all_bytes = queues.map(|queue| port.queue_bytes(queue)).sum::<u32>();
            assert!(all <= choices.port.packets && all_bytes <= choices.port.bytes);
            assert_eq!(port.is_backlogged(), waits);
        }
        // Conservation: every packet and every byte that arrived is somewhere.
        let (mut queued, mut queued_bytes) = (0, 0);
        for entry in plain.ports.iter().flat_map(|port| port.queues.iter().flatten()) {
            queued += 1;
            queued_bytes += u64::from(packets.packet(entry.handle).wire_bytes);
        }
        assert_eq!(arrived.0, sent.0 + lost.0 + queued, "packets are conserved");
        assert_eq!(
            arrived.1,
            sent.1 + lost.1 + queued_bytes + drop_list.cut_bytes,
            "bytes are conserved"
        );
    }
    // The remaining packets leave in the same order.
    for (number, port) in ports.iter_mut().enumerate() {
        for queue in 0..choices.queues.len() {
            plain.ports[number].paused[queue] = false;
            port.resume(queue);
        }
        loop {
            let got = port.dequeue(context!());
            assert_eq!(got, plain.dequeue(number).map(|entry| entry.handle), "the rest");
            if got.is_none() {
                break;
            }
        }
        assert!(
            (0..choices.queues.len())
                .all(|q| (port.queue_packets(q), port.queue_bytes(q)) == (0, 0))
        );
    }
    assert_eq!(pool.used(), ByteCount::ZERO, "an empty switch uses no pool");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_port_agrees_with_the_reference_port(
        choices in any_choices(),
        pool_bytes in 0u64..100_000,
        seed in any::<u32>(),
        steps in prop::collection::vec(any_step(), 1..120),
    ) {
        match choices.queues.len() {
            1 => compare::<1>(&choices, pool_bytes, seed, &steps),
            2 => compare::<2>(&choices, pool_bytes, seed, &steps),
            4 => compare::<4>(&choices, pool_bytes, seed, &steps),
            _ => {}
        }
        compare::<8>(&choices, pool_bytes, seed, &steps);
    }

    /// Eight priorities take the fast path: class and size determine queue and memory.
    #[test]
    fn eight_priorities_agree_with_the_reference_port(
        queues in prop::collection::vec((any_limit(), any_limit()), 8),
        weights in prop::collection::vec(1u32..5, MAX_QUEUES),
        is_strict in any::<bool>(),
        (port, selective_drop) in (any_port_limit(), prop::option::of(0u32..20_000)),
        seed in any::<u32>(),
        steps in prop::collection::vec(any_step(), 1..160),
    ) {
        let queue = |(whole, header)| {
            let actions = [Action::TrimRandom, Action::Return];
            QueueChoices { header, selective_drop, ..QueueChoices::new(whole).overflow(&actions) }
        };
        let scheduler = match is_strict {
            true => Scheduler::Strict,
            false => Scheduler::WeightedRoundRobin { weights: weights.try_into().unwrap() },
        };
        let queues = queues.into_iter().map(queue).collect();
        let classifier = Classifier::Priority;
        let choices = Choices { queues, classifier, scheduler, port, ..Choices::drop_tail(1) };
        assert!(choices.build().unwrap().is_plain());
        compare::<8>(&choices, 0, seed, &steps);
    }
}
