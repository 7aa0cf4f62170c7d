//! HPCC endpoints against their paper: what answers carry, when packets leave, what is resent.

use rand_xoshiro::rand_core::SeedableRng;
use trimline_packet::{
    BitRate, ByteCount, ConnectionId, Flags, Hop, HostId, Kind, Packet, PathId, Service, Telemetry,
    Time, TimeDelta,
};
use trimline_transport::hpcc::{Command, Config, Endpoint, Event, Law, Resend, Units};
use trimline_transport::{
    Allowed, Disposition, Endpoint as _, HostTables, Key, PathList, RngStream,
};

#[derive(Default)]
struct Table(Vec<Key>);

impl HostTables for Table {
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
        RngStream::seed_from_u64(1)
    }
}

/// The paper's parameters at 100 Gb/s, 13 us and packets of 1000 B.
fn config(resend: Resend) -> Config {
    Config {
        payload_bytes: 1000,
        law: Law {
            line: BitRate::from_gbps(100),
            base: TimeDelta::from_us(13),
            target: Law::TARGET,
            max_stage: Law::MAX_STAGE,
            additive_increase: ByteCount::new(80),
            min_rate: BitRate::from_bps(100_000_000),
            units: Units::Exact,
        },
        resend,
        rto: TimeDelta::from_ms(1),
    }
}

/// A sender, host 0, and a receiver, host 1.
struct Pair {
    hosts: [(Endpoint, Table); 2],
    now: Time,
}

impl Pair {
    fn new(resend: Resend, packets: Option<u64>) -> Pair {
        let host = |number| (Endpoint::new(HostId::new(number), config(resend)), Table::default());
        let mut pair = Pair { hosts: [host(0), host(1)], now: Time::ZERO };
        let [(sender, senders), (receiver, receivers)] = &mut pair.hosts;
        receiver.handle_command(Time::ZERO, Command::Listen, receivers);
        let open = Command::Open {
            peer: HostId::new(1),
            connection: ConnectionId::new(0),
            class: 0,
            length: packets.map(|packets| ByteCount::new(packets * 1000)),
            payload: None,
            paths: [PathId::new(0)].into_iter().collect(),
            stream: RngStream::seed_from_u64(1),
        };
        sender.handle_command(Time::ZERO, open, senders);
        pair
    }

    /// The next data packets of the sender, each at its time.
    fn data(&mut self, count: usize) -> Vec<(Time, Packet)> {
        let sender = &mut self.hosts[0].0;
        let mut sent = Vec::new();
        while sent.len() < count && sender.transmit_at(Allowed::ALL) < Time::NEVER {
            self.now = self.now.max(sender.transmit_at(Allowed::ALL));
            let packet = sender.poll_transmit(self.now, Allowed::ALL).expect("what was promised");
            assert_eq!(sender.telemetry(&packet), Some(Telemetry::EMPTY));
            sent.push((self.now, packet));
        }
        sent
    }

    /// Gives a packet to the receiver. Returns its answer, with the telemetry that it carries back.
    fn deliver(&mut self, packet: &Packet, hop: Option<Hop>) -> Option<(Packet, Telemetry)> {
        let (receiver, table) = &mut self.hosts[1];
        let mut telemetry = Telemetry::EMPTY;
        hop.into_iter().for_each(|hop| telemetry.push(hop));
        receiver.handle_telemetry(Some(telemetry));
        receiver.handle_packet(self.now, packet, table);
        let answer = receiver.poll_transmit(self.now, Allowed::CONTROL)?;
        let echo = receiver.telemetry(&answer).expect("an answer has telemetry");
        Some((answer, echo))
    }

    fn answer(&mut self, (answer, telemetry): &(Packet, Telemetry)) {
        let (sender, table) = &mut self.hosts[0];
        sender.handle_telemetry(Some(*telemetry));
        assert_eq!(sender.handle_packet(self.now, answer, table), Disposition::Discard);
    }

    fn sequences(&mut self, count: usize) -> Vec<u32> {
        self.data(count).iter().map(|(_, packet)| packet.header.sequence).collect()
    }
}

fn hop(at_ns: u64, sent_bytes: u64, queue_bytes: u32) -> Hop {
    let (rate, at) = (BitRate::from_gbps(100), Time::from_ps(at_ns * 1_000));
    Hop { port: 3, queue_bytes, sent_bytes, at, rate }
}

/// A packet of 1000 B has 106 B more, an answer has 106 B: header and telemetry.
#[test]
fn each_packet_is_answered_with_its_own_telemetry() {
    let mut pair = Pair::new(Resend::GoBack, None);
    let sent = pair.data(3);
    for (place, (_, packet)) in (0..).zip(&sent) {
        assert_eq!((packet.wire_bytes, packet.marks), (1_106, 0));
        let hop = hop(100 * place, 1_106 * place, 7);
        let (answer, echo) = pair.deliver(packet, Some(hop)).expect("an answer");
        assert_eq!((answer.header.kind, answer.wire_bytes), (Kind::Ack, 106));
        let numbers = (answer.header.sequence, answer.header.extra);
        assert_eq!(numbers, (place as u32 + 1, place as u32));
        let mut later = echo;
        later.push(hop);
        assert_eq!((echo.hops(), later), (&[hop][..], echo), "no port adds to an answer");
    }
}

/// Packets leave at W / T: at the line's rate before any telemetry, at two thirds after a queue of half a product.
#[test]
fn packets_are_paced_at_a_window_in_a_base_round_trip() {
    let mut pair = Pair::new(Resend::GoBack, None);
    let gaps = |sent: &[(Time, Packet)]| -> Vec<u64> {
        sent.windows(2).map(|pair| (pair[1].0 - pair[0].0).as_ps()).collect()
    };
    let first = pair.data(4);
    assert_eq!(gaps(&first), [88_480; 3]);
    for (packet, hop) in first.iter().zip([hop(0, 0, 81_250), hop(13_000, 162_500, 81_250)]) {
        let answer = pair.deliver(&packet.1, Some(hop)).expect("an answer");
        pair.answer(&answer);
    }
    let (window, in_flight) = pair.hosts[0].0.window(0);
    assert_eq!((window, in_flight), (102_996, 2));
    let rate = pair.hosts[0].0.rate(0).as_bps();
    assert!((63_382_000_000..63_383_000_000).contains(&rate), "{rate}");
    let later = pair.data(4);
    assert!(gaps(&later).iter().all(|gap| gap.abs_diff(1_106 * 8_000 * 1_000_000_000 / rate) <= 1));
}

/// A packet may go while less than a window is in flight: 147 of 1106 B, not 148.
#[test]
fn a_window_bounds_what_is_in_flight() {
    let mut pair = Pair::new(Resend::GoBack, None);
    assert_eq!(pair.data(1_000).len(), 162_500_usize.div_ceil(1_106));
    assert_eq!(pair.hosts[0].0.transmit_at(Allowed::ALL), Time::NEVER);
}

#[test]
fn go_back_n_names_a_gap_once_and_resends_all_behind_it() {
    let mut pair = Pair::new(Resend::GoBack, Some(8));
    let sent = pair.data(8);
    let answers: Vec<_> = (0..8)
        .filter(|place| *place != 2)
        .filter_map(|place| pair.deliver(&sent[place].1, None))
        .collect();
    let kinds: Vec<_> =
        answers.iter().map(|(answer, _)| (answer.header.kind, answer.header.sequence)).collect();
    assert_eq!(kinds, [(Kind::Ack, 1), (Kind::Ack, 2), (Kind::Nack, 2)]);
    answers.iter().for_each(|answer| pair.answer(answer));
    assert_eq!(pair.sequences(9), [2, 3, 4, 5, 6, 7]);
    let statistics = *pair.hosts[0].0.sender_statistics(0);
    assert_eq!((statistics.resent_signalled, statistics.packets_sent), (6, 14));
}

#[test]
fn selective_retransmission_resends_what_was_overtaken_and_delivers_the_message_once() {
    let mut pair = Pair::new(Resend::Selective, Some(8));
    let sent = pair.data(8);
    let answers: Vec<_> = (0..8)
        .filter(|place| ![2, 5].contains(place))
        .filter_map(|place| pair.deliver(&sent[place].1, None))
        .collect();
    assert!(answers.iter().all(|(answer, _)| answer.header.kind == Kind::Ack));
    answers.iter().for_each(|answer| pair.answer(answer));
    assert_eq!(pair.hosts[1].0.poll_event(), None, "two are missing");
    let again = pair.data(9);
    let sequences: Vec<u32> = again.iter().map(|(_, packet)| packet.header.sequence).collect();
    assert_eq!(sequences, [2, 5]);
    for (_, packet) in &again {
        let answer = pair.deliver(packet, None).expect("an answer");
        pair.answer(&answer);
    }
    assert!(matches!(pair.hosts[1].0.poll_event(), Some(Event::Delivered { .. })));
    assert!(matches!(pair.hosts[0].0.poll_event(), Some(Event::Acknowledged { .. })));
    let statistics = *pair.hosts[0].0.sender_statistics(0);
    assert_eq!((statistics.resent_signalled, statistics.packets_sent), (2, 10));
    let taken = *pair.hosts[1].0.receiver_statistics(0);
    assert_eq!((taken.packets, taken.bytes, taken.discarded), (8, 8_000, 0));
}

/// What comes twice is answered and not taken.
#[test]
fn a_duplicate_is_answered_and_discarded() {
    for resend in [Resend::GoBack, Resend::Selective] {
        let mut pair = Pair::new(resend, Some(3));
        let (_, first) = pair.data(1)[0];
        pair.deliver(&first, None).expect("an answer");
        let (answer, _) = pair.deliver(&first, None).expect("an answer");
        assert_eq!((answer.header.kind, answer.header.sequence), (Kind::Ack, 1));
        assert_eq!(pair.hosts[1].0.receiver_statistics(0).discarded, 1);
    }
}

/// A time-out resends, doubles, and is over with an answer.
#[test]
fn a_timeout_resends_what_is_not_acknowledged() {
    for (resend, expected) in [(Resend::GoBack, vec![0, 1, 2]), (Resend::Selective, vec![0, 1, 2])]
    {
        let mut pair = Pair::new(resend, Some(3));
        pair.data(3);
        for at_us in [1_000, 3_000] {
            let (sender, table) = &mut pair.hosts[0];
            let due = sender.poll_timeout();
            assert!(due >= Time::from_ps(at_us * 1_000_000), "{due}");
            pair.now = due;
            sender.handle_timeout(due, table);
            assert_eq!(pair.sequences(9), expected);
        }
        let statistics = *pair.hosts[0].0.sender_statistics(0);
        assert_eq!((statistics.timeouts, statistics.resent_timeout), (2, 6));
    }
}

/// Switches may cut, bounce or invent what they like.
#[test]
fn packets_that_are_cut_bounced_or_of_nothing_change_nothing() {
    let mut pair = Pair::new(Resend::GoBack, Some(3));
    let (_, first) = pair.data(1)[0];
    let short = Packet { wire_bytes: first.wire_bytes - 1, ..first };
    let trimmed = Packet { service: Service::Trimmed.into(), ..first };
    let returned = Packet { service: Service::Returned.into(), ..first };
    let mut strange = first;
    strange.header.flags = Flags::default();
    for packet in [short, trimmed, returned, strange] {
        assert_eq!(pair.deliver(&packet, None), None);
    }
    let (answer, echo) = pair.deliver(&first, Some(hop(1, 0, 0))).expect("an answer");
    let mut late = answer;
    late.header.sequence = 7;
    pair.answer(&(late, echo));
    assert_eq!(pair.hosts[0].0.window(0), (162_500, 1), "seven were never sent");
}
