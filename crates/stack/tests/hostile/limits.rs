//! Limits on connections of strangers, and reports to the application.

use super::two::Two;
use super::*;

#[test]
fn half_open_connections_are_limited_per_peer_and_in_total() {
    let mut server = server(|config| {
        config.limits.peer_half_open = 10;
        config.limits.half_open = 35;
    });
    for number in 0..100 {
        for peer in 3..8 {
            let forged = Forged { sequence: 1, ..Forged::syn(address(peer), number) };
            server.receive_frame(ms(1), &forged.frame(b"x", &[]));
        }
        assert!(server.connections() <= 35);
    }
    assert_eq!(server.connections(), 35);
    assert_eq!(server.statistics().beyond_limits, 500 - 35);
    // A readable connection is not half open and makes room.
    let forged = Forged::syn(address(3), 0);
    server.receive_frame(ms(2), &forged.frame(b"y", &[]));
    let forged = Forged { sequence: 1, ..Forged::syn(address(3), 500) };
    server.receive_frame(ms(2), &forged.frame(b"x", &[]));
    assert_eq!(server.connections(), 36);
}

#[test]
fn connections_are_limited_per_peer_and_in_total() {
    let mut server = server(|config| {
        config.limits.peer_connections = 10;
        config.limits.connections = 25;
    });
    for number in 0..100 {
        for peer in 3..8 {
            server.receive_frame(ms(1), &request(address(peer), number, b"x"));
        }
    }
    assert_eq!(server.connections(), 25);
    let first = server.accept().unwrap();
    server.abandon(ms(2), first);
    server.receive_frame(ms(3), &request(address(9), 7, b"x"));
    assert_eq!(server.connections(), 25, "an honest one has its place");
}

#[test]
fn peers_without_connections_are_forgotten() {
    let mut server = server(|config| config.limits.peers = 300);
    for number in 0..20_000u32 {
        let source = Ipv4Addr::from(0x0a01_0000 + number).into();
        // The first frames open connections. The others name packets so far ahead that they open none.
        let mut frame = Forged::syn(source, number);
        frame.sequence = number;
        server.receive_frame(ms(u64::from(number)), &frame.frame(b"", &[]));
        assert!(server.peers() <= 300);
        sent(&mut server, ms(u64::from(number)));
        for connection in std::iter::from_fn(|| server.accept()).collect::<Vec<_>>() {
            server.abandon(ms(u64::from(number)), connection);
        }
        server.expire(ms(u64::from(number)));
    }
    server.receive_frame(ms(60_000), &request(address(9), 7, b"x"));
    assert!(server.accept().is_some(), "an honest one has its place");
}

#[test]
fn a_host_that_does_not_listen_stores_no_state() {
    let mut core = Core::new(config(1));
    for number in 0..1000 {
        core.receive_frame(ms(1), &request(address(9), number, &[7; 1000]));
    }
    assert_eq!((core.connections(), core.peers(), core.accept()), (0, 0, None));
    // One RESET, not a flood.
    assert!(run_to(&mut core, ms(2)).len() <= 2);
}

#[test]
fn a_server_knows_the_requested_service() {
    let mut server = server(|_| {});
    server.listen(ms(0), 8);
    for (number, service) in [(1, 8), (2, SERVICE), (3, 8)] {
        let forged = Forged { service, ..Forged::syn(address(9), number) };
        server.receive_frame(ms(1), &forged.frame(b"x", &[]));
        let connection = server.accept().unwrap();
        assert_eq!(server.peer(connection), Some((address(9), service)));
    }
    let forged = Forged { service: 9, ..Forged::syn(address(9), 4) };
    server.receive_frame(ms(1), &forged.frame(b"x", &[]));
    assert!(server.accept().is_none(), "nobody listens there");
}

#[test]
fn an_oversized_message_is_refused_by_both_ends() {
    let mut two = Two::new(|config| config.limits.message_bytes = 1 << 20);
    let (near, far) = two.open(b"first");
    assert_eq!(two.client.send(near, &vec![0; 2 << 20]), Err(Failure::TooLong));
    assert_eq!(two.server.receive(far), Ok(Some(b"first".to_vec())));
    // A peer that ignores the limit.
    let mut given = 0;
    while given < 8 << 20 {
        match two.client.write(near, &[1; 1 << 16]) {
            Ok(0) | Err(_) => break,
            Ok(count) => given += count,
        }
        two.run_for(TimeDelta::from_ms(5));
    }
    assert_eq!(two.server.receive(far), Err(Failure::TooLong));
    two.run_for(TimeDelta::from_ms(3000));
    assert_eq!(two.client.receive(near), Err(Failure::Refused(Cause::TooLong)));
}

/// The source address is forged, so the answers are never ACKed.
#[test]
fn retransmissions_to_a_forged_source_end() {
    let mut server = server(|_| {});
    let frame = request(address(9), 1, b"x");
    server.receive_frame(ms(1), &frame);
    assert_eq!(serve(&mut server), 1);
    let first = run_to(&mut server, ms(33_000)).len();
    let then = run_to(&mut server, ms(120_000)).len();
    println!("{} B draw {first} frames, and {then} after half a minute", frame.len());
    assert_eq!((first, then), (22, 0), "docs/security.md has this number");
    assert_eq!(server.connections(), 1, "the application is told");
    let connection = server.next_readable().unwrap();
    assert!(matches!(server.receive(connection), Err(Failure::DeadPeer(_))));
    assert_eq!(serve(&mut server), 0);
    server.abandon(ms(120_000), connection);
    assert_eq!(server.connections(), 0);
}
