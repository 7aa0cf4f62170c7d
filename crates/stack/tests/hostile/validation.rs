//! A server that validates addresses keeps nothing of strangers, and sends them little more than they sent.

use super::two::Two;
use super::*;
use trimline_packet::wire::Lengths;

fn validating(config: &mut Config) {
    config.validates_addresses = true;
}

/// Returns the length of each frame that a core sends until `until`.
fn sent_bytes(core: &mut Core, until: Time) -> Vec<usize> {
    let mut all = Vec::new();
    while core.next() <= until {
        let now = core.next();
        core.expire(now);
        while core.transmit(now).is_some() {
            all.push(core.frame().len());
        }
    }
    core.expire(until);
    all
}

/// Returns the token of a challenge.
fn token(frame: &[u8]) -> Option<[u8; 8]> {
    let parsed = Frame::new(frame).unwrap().parse(&Profile::PAPER).unwrap();
    let mut records = trimline_packet::wire::Records::new(parsed.extension, 0);
    records.find_map(|record| match record {
        Ok(Record::Token(token)) => Some(token),
        _ => None,
    })
}

#[test]
fn a_forged_request_draws_one_short_frame_and_leaves_nothing() {
    let mut server = server(validating);
    let frame = request(address(9), 1, b"x");
    server.receive_frame(ms(1), &frame);
    assert_eq!((server.connections(), server.peers(), server.accept()), (0, 0, None));
    let drawn = sent_bytes(&mut server, ms(120_000));
    println!("{} B draw {drawn:?} B", frame.len());
    assert_eq!(drawn.len(), 1);
    assert!(drawn[0] <= 3 * frame.len());
    assert_eq!((server.statistics().challenged, server.next()), (1, Time::NEVER));
}

/// The service's answers are much longer than requests.
#[test]
fn a_flood_of_forged_requests_draws_less_than_three_times_its_bytes() {
    let mut server = server(validating);
    let (mut came, mut went, mut frames) = (0, 0, 0);
    for number in 0..50_000u32 {
        // 1.25 million a second.
        let now = ms(1) + TimeDelta::from_ns(800 * u64::from(number));
        let frame = request(Ipv4Addr::from(0x0a02_0000 + number).into(), number, b"x");
        came += frame.len();
        server.receive_frame(now, &frame);
        let drawn = sent_bytes(&mut server, now);
        went += drawn.iter().sum::<usize>();
        frames += drawn.len();
    }
    let later = sent_bytes(&mut server, ms(60_000));
    assert_eq!((server.connections(), server.peers()), (0, 0));
    assert!(went < 3 * came && later.len() < 300, "{came} B draw {went} B, then {}", later.len());
    // 100,000 a second, in 40 ms.
    assert!((1000..=5000).contains(&(frames + later.len())), "{frames}");
}

/// A new peer takes one more round trip. Later requests go with the first packets.
#[test]
fn a_peer_address_is_validated_once() {
    let mut two = Two::new(validating);
    for number in 0..5 {
        let before = two.data;
        let (near, far) = two.open(b"what time is it?");
        two.client.close(near);
        two.run_for(TimeDelta::from_ms(1));
        assert_eq!(two.server.receive(far).unwrap().as_deref(), Some(&b"what time is it?"[..]));
        two.server.abandon(two.now, far);
        two.client.abandon(two.now, near);
        assert_eq!(two.server.statistics().challenged, 1, "request {number}");
        // The request and the end of the stream; the first time the request went twice.
        assert_eq!(two.data - before, 2 + u64::from(number == 0), "request {number}");
        two.run_for(TimeDelta::from_ms(20_000));
    }
}

/// No packet waits for a timeout or for its own pull.
#[test]
fn a_first_window_before_validation_is_resent() {
    for message in [100, 20_000, 2_000_000] {
        let mut two = Two::new(validating);
        let near = two.client.connect(address(1), SERVICE, Default::default()).unwrap();
        two.client.send(near, &vec![7; message]).unwrap();
        // Less than a timeout.
        two.run_for(TimeDelta::from_ms(10));
        let far = two.server.accept().expect("it was opened");
        assert_eq!(two.server.receive(far).unwrap().map(|got| got.len()), Some(message));
        let challenged = two.server.statistics().challenged;
        assert!((1..=30).contains(&challenged), "{challenged}");
        assert!(two.data <= message as u64 / 1400 + 35, "{} packets for {message} B", two.data);
    }
}

#[test]
fn lost_challenges_and_restarted_servers_only_cost_time() {
    let mut two = Two::new(validating);
    two.connected = false;
    let near = two.client.connect(address(1), SERVICE, Default::default()).unwrap();
    two.client.send(near, b"x").unwrap();
    two.run_for(TimeDelta::from_ms(1));
    two.connected = true;
    two.run_for(TimeDelta::from_ms(250));
    assert!(two.server.accept().is_some(), "it came again after its time-out");
    // The second server does not accept the first server's tokens.
    two.server = server(validating);
    let (_, far) = two.open(b"y");
    assert_eq!(two.server.receive(far), Ok(Some(b"y".to_vec())));
    assert_eq!(two.server.statistics().challenged, 1);
}

/// A switch that trims a first packet cuts off its token. The server keeps nothing, and the packet returns as if a
/// switch had returned it.
#[test]
fn trimmed_first_packets_are_resent_at_once() {
    let mut two = Two::new(validating);
    let (near, far) = two.open(b"for the token");
    two.server.abandon(two.now, far);
    two.client.abandon(two.now, near);
    two.run_for(TimeDelta::from_ms(5000));
    let near = two.client.connect(address(1), SERVICE, Default::default()).unwrap();
    two.client.send(near, &[7; 10_000]).unwrap();
    let mut cut = 0;
    for _ in 0..20 {
        two.now += TimeDelta::from_us(1);
        while two.client.transmit(two.now).is_some() {
            let mut frame = two.client.frame().to_vec();
            let left = Frame::trim(&mut frame, &Profile::PAPER, false, Lengths::Updated).unwrap();
            two.server.receive_frame(two.now, &frame[..left]);
            cut += 1;
        }
    }
    assert_eq!((cut, two.server.connections()), (8, 0));
    two.run_for(TimeDelta::from_ms(10));
    let far = two.server.accept().expect("before any time-out");
    assert_eq!(two.server.receive(far).unwrap().map(|got| got.len()), Some(10_000));
}

/// A challenge needs a connection opened here, a packet that was sent, and no answer yet.
#[test]
fn forged_challenges_change_nothing() {
    let mut two = Two::new(|_| {});
    two.client.number_connections_from(5);
    let (near, far) = two.open(&[7; 100_000]);
    assert!(two.server.receive(far).unwrap().is_some());
    let before = two.data;
    for (connection, sequence) in [(5, 0), (5, 3), (5, 1000), (6, 0)] {
        let mut forged = Forged { kind: Kind::Nack, ..Forged::syn(address(1), connection) };
        (forged.flags, forged.sequence) = (0, sequence);
        let frame = forged.frame_to(address(2), b"", &[Record::Token([9; 8])]);
        two.client.receive_frame(two.now, &frame);
        two.run_for(TimeDelta::from_ms(1));
    }
    assert_eq!((two.data, two.client.statistics().implausible), (before, 4));
    // In the middle of a message, for every packet that may be on its way.
    two.client.send(near, &[8; 1_000_000]).unwrap();
    two.run_for(TimeDelta::from_us(300));
    for sequence in 0..1000 {
        let mut forged = Forged { kind: Kind::Nack, ..Forged::syn(address(1), 5) };
        (forged.flags, forged.sequence) = (0, sequence);
        let frame = forged.frame_to(address(2), b"", &[Record::Token([9; 8])]);
        two.client.receive_frame(two.now, &frame);
    }
    assert_eq!(two.client.statistics().implausible, 1004);
    two.run_for(TimeDelta::from_ms(10));
    assert_eq!(two.server.receive(far), Ok(Some(vec![8; 1_000_000])));
}

#[test]
fn a_token_from_another_address_is_refused() {
    let mut server = server(validating);
    server.receive_frame(ms(1), &request(address(9), 1, b"x"));
    server.transmit(ms(1)).expect("a challenge");
    let token = token(server.frame()).expect("with a token");
    let end = Record::MessageEnd(1);
    for (peer, is_served) in [(8, false), (9, true)] {
        let forged = Forged::syn(address(peer), 2);
        server.receive_frame(ms(2), &forged.frame(b"y", &[end, Record::Token(token)]));
        assert_eq!(server.accept().is_some(), is_served, "10.0.0.{peer}");
    }
}
