//! An attacker that sees a connection's packets forges others. Then the transfer goes on, or it ends and says why.

use std::collections::VecDeque;

use super::two::Two;
use super::*;
use trimline_packet::SplitMix;
use trimline_packet::wire::Lengths;
use trimline_stack::host::{Connection, Key};

/// A frame of an attacker that knows all numbers.
fn forge(from: u8, to: u8, service: Service, fields: Fields, payload: &[u8]) -> Vec<u8> {
    let (source, destination) = (address(from), address(to));
    let datagram = Datagram {
        source,
        destination,
        entropy: 50_000,
        service: service.into(),
        marks: 0,
        fields,
    };
    let mut bytes = Vec::new();
    datagram.emit(Ethernet::default(), &Profile::PAPER, payload, &[], &mut bytes).unwrap();
    bytes
}

/// A trimmed header of the client's data.
fn header(connection: u32, sequence: u32, attempt: u8, flags: u8) -> Vec<u8> {
    let flags = Flags::from_bits(flags | Flags::FROM_OPENER).with_attempt(attempt);
    let connection = ConnectionId::new(connection);
    let extra = Header::data_extra(1400, SERVICE);
    let fields = Fields { kind: Kind::Data, flags, connection, sequence, extra };
    forge(2, 1, Service::Trimmed, fields, &[])
}

/// Two hosts in the middle of a message on connection 40.
fn under_way(message: &[u8], change: impl Fn(&mut Config)) -> (Two, Connection) {
    let mut two = Two::new(change);
    two.client.number_connections_from(40);
    let near = two.client.connect(address(1), SERVICE, Default::default()).unwrap();
    two.client.send(near, message).unwrap();
    two.run_for(TimeDelta::from_us(300));
    (two, near)
}

/// Returns the message at the server, if it is whole.
fn arrived(two: &mut Two) -> Option<Vec<u8>> {
    let far = two.server.accept().expect("it was opened");
    two.server.receive(far).expect("it has not failed")
}

#[test]
fn forged_headers_stall_nothing() {
    let message: Vec<u8> = (0..2_000_000u32).map(|n| (n / 7) as u8).collect();
    type Number = fn(u32) -> (u32, u8, u8);
    let attacks: [(&str, Number); 5] = [
        ("one header again and again", |_| (1500, 0, 0)),
        ("all attempts of it", |n| (1500, n as u8, 0)),
        ("every number ahead", |n| (250 + n % 1000, (n / 1000) as u8, 0)),
        ("the end of the data", |n| (n, 0, Flags::LAST)),
        ("another class", |n| (n / 2, 0, 3 << 6)),
    ];
    for (what, number) in attacks {
        for has_key in [false, true] {
            let (mut two, near) = under_way(&message, |config| {
                if has_key {
                    config.share(Key::new([1; 16]));
                    config.profile = Profile::KEYED;
                }
            });
            for n in 0..3000 {
                let (sequence, attempt, flags) = number(n);
                two.server.receive_frame(two.now, &header(40, sequence, attempt, flags));
            }
            // 2 MB take 1.7 ms.
            two.run_for(TimeDelta::from_ms(45));
            assert!(two.client.is_sent(near), "{what}");
            assert_eq!(arrived(&mut two).as_deref(), Some(&message[..]), "{what}");
            let refused = if has_key { 3000 } else { 0 };
            assert_eq!(two.server.statistics().refused_in_all(), refused, "{what}");
        }
    }
}

#[test]
fn forged_pulls_give_at_most_a_window_and_do_not_slow_later_data() {
    let message = vec![7; 2_000_000];
    for counter in [100, 10_000, 1 << 30, u32::MAX] {
        let (mut two, near) = under_way(&message, |_| {});
        let connection = ConnectionId::new(40);
        for n in 0..1000 {
            let fields = Fields {
                kind: Kind::Pull,
                flags: Flags::default(),
                connection,
                sequence: counter - n % 50,
                extra: 0,
            };
            two.client.receive_frame(two.now, &forge(1, 2, Service::Control, fields, &[]));
        }
        let before = two.data;
        two.connected = false;
        two.run_for(TimeDelta::from_ms(1));
        assert!(two.data - before <= 30 + 64, "{} packets for {counter}", two.data - before);
        two.connected = true;
        two.run_for(TimeDelta::from_ms(45));
        assert!(two.client.is_sent(near), "{counter}");
    }
}

#[test]
fn a_header_beyond_the_true_end_is_not_waited_for() {
    for ahead in [0, 5, 59, 60, 1000] {
        let (mut two, near) = under_way(&[7; 20_000], |config| config.dead_peer_timeout = None);
        let end = two.data as u32;
        for attempt in 0..4 {
            two.server.receive_frame(two.now, &header(40, end + ahead, attempt, 0));
        }
        two.run_for(TimeDelta::from_ms(2000));
        assert_eq!((two.client.next(), two.server.next()), (Time::NEVER, Time::NEVER), "{ahead}");
        two.client.send(near, &[8; 200_000]).unwrap();
        two.run_for(TimeDelta::from_ms(1));
        assert!(two.client.is_sent(near), "{ahead}");
    }
}

#[test]
fn a_header_draws_one_answer_for_each_attempt() {
    let (mut two, _) = under_way(&[7; 20_000], |_| {});
    let end = two.data as u32;
    let mut draws = |sequence, attempt| {
        let before = two.server.statistics().frames_out;
        two.server.receive_frame(two.now, &header(40, sequence, attempt, 0));
        two.run_for(TimeDelta::from_us(10));
        two.server.statistics().frames_out - before
    };
    // A NACK with its pull.
    let answers = [0, 0, 1, 1, 1, 2].map(|attempt| draws(end + 3, attempt));
    assert_eq!(answers, [1, 0, 1, 0, 0, 1]);
    assert_eq!([59, 60, 1000].map(|ahead| draws(end + ahead, 0)), [1, 0, 0]);
}

/// A path that loses only full packets answers all probes.
#[test]
fn a_path_that_stops_carrying_full_packets_is_a_named_stall() {
    let (mut two, near) = under_way(&vec![7; 2_000_000], |_| {});
    two.longest = 1000;
    two.run_for(TimeDelta::from_ms(28_000));
    assert_eq!(two.client.receive(near), Ok(None));
    two.run_for(TimeDelta::from_ms(5000));
    let failure = two.client.receive(near).unwrap_err();
    assert!(matches!(failure, Failure::PathMtu(1400..=1500)), "{failure:?}");
    let text = failure.to_string();
    assert!(text.contains("MTU of the path") && text.contains("--mtu"), "{text}");
}

/// No frame of a first window of full packets arrives, so the peer is asked with a header. With and without address
/// validation.
#[test]
fn a_path_that_never_carried_a_full_packet_is_a_named_stall() {
    for validates in [false, true] {
        let mut two = Two::new(|config| config.validates_addresses = validates);
        two.longest = 1000;
        let near = two.client.connect(address(1), SERVICE, Default::default()).unwrap();
        two.client.write(near, &[7; 20 * 1410]).unwrap();
        two.run_for(TimeDelta::from_ms(60_000));
        let failure = two.client.receive(near).unwrap_err();
        assert!(matches!(failure, Failure::PathMtu(1400..=1500)), "{failure:?}, {validates}");
        // Packets of a smaller MTU arrive.
        let mut two = Two::new(|config| {
            config.validates_addresses = validates;
            config.ndp.payload_bytes = payload_of_mtu(986, config.address).unwrap();
        });
        two.longest = 1000;
        let (_, far) = two.open(&[7; 50_000]);
        assert!(two.server.receive(far).unwrap().is_some());
    }
}

/// A path that also loses short packets has no MTU problem.
#[test]
fn a_path_that_carries_no_data_is_a_stall() {
    let (mut two, near) = under_way(&[7; 100], |_| {});
    two.client.send(near, &[8; 20]).unwrap();
    two.longest = 63;
    two.run_for(TimeDelta::from_ms(60_000));
    let failure = two.client.receive(near).unwrap_err();
    assert!(matches!(failure, Failure::Stalled(_)), "{failure:?}");
}

#[test]
fn a_connection_that_has_just_begun_is_no_stall() {
    let (mut two, _) = under_way(b"first", |_| {});
    two.run_for(TimeDelta::from_ms(100_000));
    two.connected = false;
    let late = two.client.connect(address(1), SERVICE, Default::default()).unwrap();
    two.client.send(late, b"second").unwrap();
    two.run_for(TimeDelta::from_ms(29_000));
    assert_eq!(two.client.failure(late), None);
    two.run_for(TimeDelta::from_ms(4000));
    assert!(matches!(two.client.failure(late), Some(Failure::DeadPeer(_))));
}

#[test]
fn a_peer_that_does_not_read_is_no_stall_and_may_continue() {
    let mut two = Two::new(|_| {});
    let near = two.client.connect(address(1), SERVICE, Default::default()).unwrap();
    let mut left = 12_000_000;
    while left > 0 && two.now < ms(3000) {
        left -= two.client.write(near, &vec![7; left]).unwrap();
        two.run_for(TimeDelta::from_us(100));
    }
    assert!(left > 0, "its buffers are full");
    two.run_for(TimeDelta::from_ms(600_000));
    let far = two.server.accept().unwrap();
    let mut got = 0;
    let mut bytes = vec![0; 1 << 20];
    for _ in 0..1000 {
        left -= two.client.write(near, &vec![7; left]).unwrap();
        two.run_for(TimeDelta::from_ms(1));
        got += two.server.read(far, &mut bytes).unwrap();
    }
    assert_eq!((left, got), (0, 12_000_000));
}

/// An ACK of the server.
fn ack(sequence: u32) -> Vec<u8> {
    let (connection, flags) = (ConnectionId::new(40), Flags::default());
    let fields = Fields { kind: Kind::Ack, flags, connection, sequence, extra: 0 };
    forge(1, 2, Service::Control, fields, &[])
}

/// A keepalive has the number of an ACKed packet, without its bytes.
#[test]
fn a_keepalive_does_not_stand_for_a_lost_packet() {
    let mut two = Two::new(|_| {});
    two.client.number_connections_from(40);
    let near = two.client.connect(address(1), SERVICE, Default::default()).unwrap();
    two.client.write(near, &[7; 10_000]).unwrap();
    two.run_for(TimeDelta::from_ms(1));
    two.lost = Some(two.data as u32);
    two.client.write(near, &[8; 100]).unwrap();
    two.run_for(TimeDelta::from_us(10));
    two.client.receive_frame(two.now, &ack(two.lost.unwrap()));
    two.lost = None;
    // The host asks several times.
    two.run_for(TimeDelta::from_ms(25_000));
    two.client.write(near, &[9; 100]).unwrap();
    two.run_for(TimeDelta::from_ms(1));
    let far = two.server.accept().unwrap();
    let mut bytes = [0; 20_000];
    assert_eq!(two.server.read(far, &mut bytes), Ok(10_000));
    two.run_for(TimeDelta::from_ms(70_000));
    assert!(matches!(
        two.client.read(near, &mut bytes),
        Err(Failure::DeadPeer(_) | Failure::Refused(_) | Failure::Stalled(_))
    ));
    assert!(two.server.read(far, &mut bytes).is_err());
}

/// An attacker ACKs a packet that never arrives. No message with a hole is delivered.
#[test]
fn a_packet_acked_by_an_attacker_ends_the_connection() {
    for missing in [0, 9, 19] {
        let mut two = Two::new(|_| {});
        two.client.number_connections_from(40);
        let near = two.client.connect(address(1), SERVICE, Default::default()).unwrap();
        two.lost = Some(missing);
        two.client.send(near, &[7; 28_000]).unwrap();
        two.run_for(TimeDelta::from_ms(1));
        two.client.receive_frame(two.now, &ack(missing));
        two.lost = None;
        let far = two.server.accept().expect("it was opened");
        two.run_for(TimeDelta::from_ms(70_000));
        let ends = [two.client.receive(near), two.server.receive(far)].map(Result::unwrap_err);
        let [near, far] = ends;
        assert!(
            matches!(near, Failure::Refused(_))
                && matches!(far, Failure::DeadPeer(_) | Failure::Stalled(_)),
            "packet {missing}: {near:?}, {far:?}"
        );
    }
}

/// One-way delay of a frame.
const DELAY: TimeDelta = TimeDelta::from_us(10);

/// A client that sends to a server, and an attacker between them.
struct World {
    now: Time,
    rng: SplitMix,
    cores: [Core; 2],
    /// Frames under way: when they arrive, and at which end.
    wire: VecDeque<(Time, usize, Vec<u8>)>,
    /// Genuine frames to replay, each with its receiver.
    seen: Vec<(usize, Vec<u8>)>,
    /// The highest data number, and the highest pull counter.
    sequence: u32,
    counter: u32,
    /// Percent of data that is trimmed, and of frames that are lost.
    trims: u64,
    loses: u64,
    /// True if the attacker also forges packets that end the connection or inject bytes.
    is_rough: bool,
    /// True if the attacker has injected bytes. Then a message's end may be missing, undetectably.
    has_put: bool,
}

impl World {
    fn new(seed: u64) -> World {
        let mut rng = SplitMix(seed);
        let window = rng.one_of(&[2, 4, 12]);
        let change = |config: &mut Config| {
            config.ndp.initial_window = window;
            config.dead_peer_timeout = Some(TimeDelta::from_ms(2000));
        };
        let mut client = config(2);
        change(&mut client);
        let mut client = Core::new(client);
        client.add_peer(address(1), &[], [2; 6]);
        client.number_connections_from(40);
        let (trims, loses) = (rng.one_of(&[0, 10, 60]), rng.one_of(&[0, 0, 5]));
        World {
            now: ms(1),
            is_rough: rng.modulo(100) < 20,
            has_put: false,
            rng,
            cores: [client, server(change)],
            wire: VecDeque::new(),
            seen: Vec::new(),
            sequence: 0,
            counter: 0,
            trims,
            loses,
        }
    }

    /// Runs both ends until both are idle at this instant.
    fn run_until_idle(&mut self) {
        loop {
            let mut moved = false;
            while self.wire.front().is_some_and(|&(at, ..)| at <= self.now) {
                let (_, to, frame) = self.wire.pop_front().unwrap();
                self.cores[to].receive_frame(self.now, &frame);
            }
            for from in 0..2 {
                moved |= self.cores[from].expire(self.now);
                while self.cores[from].transmit(self.now).is_some() {
                    moved = true;
                    self.carry(from);
                }
            }
            if !moved {
                return;
            }
        }
    }

    /// Carries a frame, whole or trimmed, or loses it.
    fn carry(&mut self, from: usize) {
        let mut frame = self.cores[from].frame().to_vec();
        let fields = Frame::new(&frame).unwrap().parse(&Profile::PAPER).unwrap().datagram.fields;
        match fields.kind {
            Kind::Data if from == 0 => self.sequence = self.sequence.max(fields.sequence),
            Kind::Pull => self.counter = self.counter.max(fields.sequence),
            Kind::Ack | Kind::Nack if fields.flags.contains(Flags::PULL) => {
                self.counter = self.counter.max(fields.extra);
            }
            Kind::Data | Kind::Ack | Kind::Nack | Kind::Reset => {}
        }
        if self.seen.len() < 200 {
            self.seen.push((1 - from, frame.clone()));
        }
        if self.rng.modulo(100) < self.loses {
            return;
        }
        if fields.kind == Kind::Data && frame.len() > 100 && self.rng.modulo(100) < self.trims {
            let left = Frame::trim(&mut frame, &Profile::PAPER, false, Lengths::Updated).unwrap();
            frame.truncate(left);
        }
        self.wire.push_back((self.now + DELAY, 1 - from, frame));
    }

    /// Runs until `until`.
    fn run_to(&mut self, until: Time) {
        loop {
            self.run_until_idle();
            let arrival = self.wire.front().map_or(Time::NEVER, |&(at, ..)| at);
            let next = arrival.min(self.cores[0].next()).min(self.cores[1].next());
            if next > until {
                self.now = until;
                return;
            }
            self.now = next.max(self.now);
        }
    }

    /// Delivers a forged packet.
    fn attack(&mut self) {
        let rng = &mut self.rng;
        let near = self.sequence.wrapping_add(rng.modulo(80) as u32).wrapping_sub(20);
        let sequence = match rng.modulo(10) {
            0 => rng.next_u64() as u32,
            1 => self.sequence + 1000,
            _ => near,
        };
        let ahead = rng.one_of(&[0, 1, 2, 30, 64, 200, 5000, 1 << 20, 1 << 30, 1 << 31]);
        let counter = match rng.modulo(100) < 20 {
            true => self.counter.wrapping_sub(ahead),
            false => self.counter.wrapping_add(ahead),
        };
        let flags = Flags::from_bits(rng.next_u64() as u8);
        let what = rng.modulo(if self.is_rough { 10 } else { 6 });
        let (from_client, from_server) =
            (flags.with(Flags::FROM_OPENER), flags.without(Flags::FROM_OPENER));
        // A separate ACK would acknowledge a packet that never arrived.
        let (kind, flags, service, sequence, extra) = match what {
            0..=2 => (Kind::Data, from_client, Service::Trimmed, sequence, 0),
            3 => (Kind::Pull, from_server, Service::Control, counter, 0),
            4 => (Kind::Nack, from_server, Service::Control, sequence, counter),
            5 if rng.modulo(100) < 50 => (Kind::Data, from_client, Service::Returned, sequence, 0),
            5 => return self.repeat(),
            6 => (Kind::Ack, from_server, Service::Control, sequence, counter),
            7 | 8 => (Kind::Data, from_client, Service::Trimmable, sequence, 0),
            _ if rng.modulo(100) < 50 => (Kind::Reset, from_server, Service::Control, sequence, 0),
            _ => (Kind::Reset, from_client, Service::Control, counter, 0),
        };
        let length = match what {
            7 => 0,
            _ => rng.one_of(&[1, 700, 1400]),
        };
        let extra = if kind == Kind::Data { Header::data_extra(length, SERVICE) } else { extra };
        self.has_put |= service == Service::Trimmable;
        let payload = vec![0; if service == Service::Trimmable { length.into() } else { 0 }];
        let connection = ConnectionId::new(40);
        let fields = Fields { kind, flags, connection, sequence, extra };
        let to = usize::from(flags.contains(Flags::FROM_OPENER) && service != Service::Returned);
        let (from, at) = if to == 1 { (2, 1) } else { (1, 2) };
        let many = if self.rng.modulo(100) < 5 { self.rng.modulo(300) } else { 1 };
        for n in 0..many as u32 {
            let fields = Fields { sequence: fields.sequence.wrapping_add(n), ..fields };
            self.cores[to].receive_frame(self.now, &forge(from, at, service, fields, &payload));
        }
    }

    /// Replays a genuine frame.
    fn repeat(&mut self) {
        if !self.seen.is_empty() {
            let place = self.rng.modulo(self.seen.len() as u64) as usize;
            let (to, frame) = &self.seen[place];
            self.cores[*to].receive_frame(self.now, frame);
        }
    }
}

/// Runs a transfer of two messages under attack. Panics unless it is whole soon afterwards, or ends.
fn disturbed(seed: u64) {
    let mut world = World::new(seed);
    let near = world.cores[0].connect(address(1), SERVICE, Default::default()).unwrap();
    let lengths = [0; 2].map(|_: u32| 1 + world.rng.modulo(40_000) as usize);
    let messages = lengths.map(|length| (0..length).map(|n| (n / 3) as u8).collect::<Vec<u8>>());
    world.cores[0].send(near, &messages[0]).unwrap();
    // A server that does not know the connection refuses it.
    while world.cores[1].connections() == 0 {
        world.run_to(world.now + TimeDelta::from_us(10));
    }
    let (forgeries, mut was_second_sent) = (world.rng.modulo(60), false);
    for number in 0..forgeries {
        let pause = world.rng.one_of(&[0, 0, 1, 10, 100, 3000]);
        world.run_to(world.now + TimeDelta::from_us(pause));
        world.attack();
        if number == forgeries / 2 {
            was_second_sent = world.cores[0].send(near, &messages[1]).is_ok();
        }
    }
    // A rough attack may have ended the connection.
    was_second_sent |= forgeries == 0 && world.cores[0].send(near, &messages[1]).is_ok();
    assert!(was_second_sent || world.is_rough, "seed {seed}");
    let attacked_until = world.now;
    (world.trims, world.loses) = (0, 0);
    let (mut far, mut got, mut failure) = (None, Vec::new(), None);
    // Eight times the longest RTO.
    let stall_timeout = TimeDelta::from_ms(if world.is_rough { 12_000 } else { 1300 });
    while world.now < attacked_until + stall_timeout && got.len() < 2 && failure.is_none() {
        world.run_to(world.now + TimeDelta::from_ms(20));
        far = far.or_else(|| world.cores[1].accept());
        let Some(far) = far else {
            failure = world.cores[0].failure(near);
            continue;
        };
        match world.cores[1].receive(far) {
            Ok(message) => got.extend(message),
            Err(cause) => failure = Some(cause),
        }
        failure = failure.or(world.cores[0].failure(near));
    }
    if world.is_rough {
        let is_over = failure.is_some() || world.has_put && world.cores[0].is_sent(near);
        assert!(got.len() == 2 || is_over, "seed {seed}: neither goes on nor ends");
    } else {
        assert_eq!(failure, None, "seed {seed}");
        assert!(got == messages, "seed {seed}: {} of 2 messages, stalled", got.len());
    }
}

/// `TRIMLINE_FORGERIES=A..B` selects other seeds than the first 10,000.
#[test]
fn after_any_forgery_a_transfer_continues_or_ends_with_a_cause() {
    let seeds = std::env::var("TRIMLINE_FORGERIES").unwrap_or("0..10000".into());
    let (first, end) = seeds.split_once("..").expect("A..B");
    let [first, end] = [first, end].map(|number| number.parse::<u64>().expect("A..B"));
    std::thread::scope(|scope| {
        for part in 0..2 {
            scope.spawn(move || (first + part..end).step_by(2).for_each(disturbed));
        }
    });
}
