//! A stream in the protocol and a connection of an application live and end together.

use super::two::Two;
use super::*;
use trimline_stack::host::Options;

/// A server answers into an outage, so its answer is never ACKed. The request is repeated after the protocol's own
/// time-wait.
#[test]
fn a_request_repeated_long_after_time_wait_is_recognised() {
    for gap_ms in [900, 1400, 2500, 9000] {
        let mut server = server(|_| {});
        let frame = request(address(9), 77, b"what time is it?");
        server.receive_frame(ms(1), &frame);
        assert_eq!(serve(&mut server), 1);
        run_to(&mut server, ms(1 + gap_ms));
        server.receive_frame(ms(1 + gap_ms), &frame);
        assert_eq!(serve(&mut server), 0, "served once, {gap_ms} ms later");
        let answers = sent(&mut server, ms(1 + gap_ms));
        let acks = answers.iter().filter(|fields| fields.kind == Kind::Ack).count();
        assert_eq!(acks, 1, "an honest client hears that it arrived: {answers:?}");
        assert!(answers.iter().all(|fields| fields.kind != Kind::Reset), "{answers:?}");
    }
}

/// The failed connection stays until the application abandons it.
#[test]
fn a_failed_connection_does_not_restart() {
    let mut server = server(|_| {});
    let mut forged = Forged::syn(address(9), 5);
    server.receive_frame(ms(1), &forged.frame(b"a", &[]));
    let connection = server.accept().unwrap();
    let pulls = sent(&mut server, ms(1)).iter().filter(|fields| fields.kind == Kind::Ack).count();
    let mut reset = Forged { kind: Kind::Reset, sequence: pulls as u32, ..forged };
    reset.flags = Flags::FROM_OPENER | Flags::PULL;
    server.receive_frame(ms(2), &reset.frame(b"", &[]));
    assert_eq!(server.read(connection, &mut [0; 1]), Ok(1));
    assert_eq!(server.read(connection, &mut [0; 1]), Err(Failure::Refused(Cause::Unknown)));
    run_to(&mut server, ms(4000));
    for sequence in [0, 1, 7] {
        forged.sequence = sequence;
        server.receive_frame(ms(4000), &forged.frame(b"b", &[]));
        run_to(&mut server, ms(4100));
    }
    assert!(server.accept().is_none(), "no second one of that number");
    assert_eq!(
        server.read(connection, &mut [0; 1]),
        Err(Failure::Refused(Cause::Unknown)),
        "nothing came to it"
    );
}

#[test]
fn an_answer_later_than_time_wait_arrives() {
    let mut client = Core::new(config(2));
    client.add_peer(address(1), &[], [2; 6]);
    let mut server = server(|config| config.dead_peer_timeout = None);
    client.number_connections_from(40);
    let connection = client.connect(address(1), SERVICE, Options::default()).unwrap();
    client.send(connection, b"think").unwrap();
    client.close(connection);
    let (mut held, mut now) = (None, ms(1));
    let mut answer = None;
    while answer.is_none() && now < ms(10_000) {
        for _ in 0..2 {
            client.expire(now);
            server.expire(now);
            while client.transmit(now).is_some() {
                server.receive_frame(now, client.frame());
            }
            while server.transmit(now).is_some() {
                client.receive_frame(now, server.frame());
            }
        }
        held = held.or_else(|| server.accept());
        if let (Some(held), true) = (held, now >= ms(3000))
            && let Ok(Some(message)) = server.receive(held)
        {
            server.send(held, &message).unwrap();
            server.close(held);
        }
        answer = client.receive(connection).expect("it did not fail");
        now += TimeDelta::from_ms(10);
    }
    assert_eq!(answer.as_deref(), Some(&b"think"[..]));
}

/// Ended connections leave nothing, at either end, shortly after time-wait.
#[test]
fn ended_connections_are_forgotten() {
    let mut server = server(|_| {});
    for connection in 0..50 {
        server.receive_frame(ms(1), &request(address(9), connection, b"x"));
    }
    let accepted: Vec<_> = std::iter::from_fn(|| server.accept()).collect();
    assert_eq!(accepted.len(), 50);
    for connection in accepted {
        server.abandon(ms(2), connection);
    }
    assert_eq!(server.connections(), 0);
    run_to(&mut server, ms(11_000));
    // The number is free again.
    server.receive_frame(ms(11_000), &request(address(9), 7, b"y"));
    assert!(server.accept().is_some());
}

/// An attacker that guessed a connection's number, but no pull counter, gains nothing.
#[test]
fn a_pull_beyond_the_sent_data_gives_at_most_a_window() {
    for (counter, expected) in [(40, 40), (1_000_000, 64), (u32::MAX, 0)] {
        let mut server = server(|_| {});
        server.receive_frame(ms(1), &request(address(9), 5, b"x"));
        let connection = server.accept().unwrap();
        server.send(connection, &[7; 500_000]).unwrap();
        let before = run_to(&mut server, ms(3)).len();
        assert!(before > 30, "{before} packets of a first window");
        let mut forged = Forged { kind: Kind::Pull, ..Forged::syn(address(9), 5) };
        (forged.flags, forged.sequence) = (Flags::FROM_OPENER, counter);
        server.receive_frame(ms(4), &forged.frame(b"", &[]));
        let pulled = run_to(&mut server, ms(5)).len();
        assert_eq!(pulled, expected, "for {counter}");
    }
}

/// A stream opened by a late answer would pull for ever.
#[test]
fn an_answer_on_an_abandoned_connection_leaves_nothing() {
    let mut two = Two::new(|_| {});
    let (near, far) = two.open(b"never mind");
    // The server never learns that the client abandoned it.
    two.longest = 0;
    two.client.abandon(two.now, near);
    two.server.send(far, &[7; 500_000]).unwrap();
    // Then the path to it is gone.
    two.run_for(TimeDelta::from_us(20));
    two.connected = false;
    two.server.abandon(two.now, far);
    two.run_for(TimeDelta::from_ms(10_000));
    assert_eq!((two.client.next(), two.server.next()), (Time::NEVER, Time::NEVER));
}
