//! Dead-peer detection: a silent peer is given up, an idle one is not.

use super::two::Two;
use super::*;
use trimline_stack::host::Connection;

const DEAD_PEER: TimeDelta = TimeDelta::from_ms(30_000);

/// Returns why a connection failed, if it has.
fn end(core: &mut Core, connection: Connection) -> Option<Failure> {
    core.receive(connection).err()
}

#[test]
fn idle_peers_are_not_given_up() {
    let mut two = Two::new(|_| {});
    let (near, far) = two.open(b"think for ten minutes");
    assert!(two.server.receive(far).unwrap().is_some());
    let before = two.client.statistics().frames_out;
    two.run_for(TimeDelta::from_ms(600_000));
    assert_eq!((end(&mut two.client, near), end(&mut two.server, far)), (None, None));
    // A few keepalives a minute, and their answers.
    let frames = two.client.statistics().frames_out - before;
    assert!((20..200).contains(&frames), "{frames} frames in ten minutes");
    two.server.send(far, b"42").unwrap();
    two.run_for(TimeDelta::from_ms(5));
    assert_eq!(two.client.receive(near), Ok(Some(b"42".to_vec())));
}

#[test]
fn a_dead_peer_is_given_up_in_time_by_both_ends() {
    // In the middle of a message, and while idle.
    for message in [10, 30_000_000] {
        let mut two = Two::new(|_| {});
        let (near, far) = two.open(&vec![7; message]);
        two.connected = false;
        two.run_for(TimeDelta::from_ms(29_000));
        assert_eq!(end(&mut two.client, near), None, "{message} B");
        two.run_for(TimeDelta::from_ms(4000));
        let ends = [end(&mut two.client, near), end(&mut two.server, far)];
        for failure in ends {
            let Some(Failure::DeadPeer(quiet)) = failure else {
                // A whole message is read first.
                assert_eq!((failure, message), (None, 10));
                assert!(matches!(two.server.receive(far), Err(Failure::DeadPeer(_))));
                continue;
            };
            assert!(
                quiet >= DEAD_PEER && quiet < DEAD_PEER + TimeDelta::from_ms(3000),
                "{quiet:?}"
            );
            assert!(
                failure.unwrap().to_string().contains("no packet arrived from the peer for 3"),
                "{failure:?}"
            );
        }
        two.client.abandon(two.now, near);
        two.server.abandon(two.now, far);
        two.run_for(TimeDelta::from_ms(11_000));
        assert_eq!(
            (two.client.next(), two.server.next()),
            (Time::NEVER, Time::NEVER),
            "nothing is left"
        );
    }
}

/// The restarted server does not know the connection.
#[test]
fn a_restarted_peer_is_given_up_at_its_reset() {
    let mut two = Two::new(|_| {});
    let (near, _) = two.open(b"think");
    two.server = server(|_| {});
    two.run_for(TimeDelta::from_ms(25_000));
    assert_eq!(end(&mut two.client, near), Some(Failure::Refused(Cause::NoService)));
}

/// A host that was stopped for an hour received nothing meanwhile.
#[test]
fn a_host_that_slept_gives_its_peers_time_to_answer() {
    let mut two = Two::new(|_| {});
    let (near, far) = two.open(b"think");
    two.now += TimeDelta::from_ms(3_600_000);
    two.run_for(TimeDelta::from_ms(60_000));
    assert!(two.server.receive(far).is_ok());
    assert_eq!((end(&mut two.client, near), end(&mut two.server, far)), (None, None));
}

/// Connections that strangers abandon end without the application.
#[test]
fn connections_abandoned_by_strangers_end_by_themselves() {
    let mut server = server(|_| {});
    for number in 0..500 {
        let forged = Forged { sequence: 1, ..Forged::syn(address(number as u8 % 100 + 3), number) };
        server.receive_frame(ms(1), &forged.frame(b"x", &[]));
    }
    assert_eq!(server.connections(), 500);
    run_to(&mut server, ms(40_000));
    assert_eq!(server.connections(), 0);
    run_to(&mut server, ms(200_000));
    assert_eq!(server.next(), Time::NEVER);
}

/// Runs both ends until `until`. Each end polls its ring of 512 frames every 20 ms, as on a busy machine. Returns the
/// frames lost at a full ring.
fn run_through_rings(two: &mut Two, until: Time) -> usize {
    const RING: usize = 512;
    let (mut lost, mut rings) = (0, [Vec::new(), Vec::new()]);
    for millisecond in 0u64.. {
        if two.now > until {
            break;
        }
        let Two { now, client, server, .. } = two;
        for (end, core) in [client, server].into_iter().enumerate() {
            if millisecond.is_multiple_of(20) {
                rings[end].drain(..).for_each(|frame: Vec<u8>| core.receive_frame(*now, &frame));
            }
            core.expire(*now);
            while core.transmit(*now).is_some() {
                match rings[1 - end].len() < RING {
                    true => rings[1 - end].push(core.frame().to_vec()),
                    false => lost += 1,
                }
            }
        }
        *now += TimeDelta::from_ms(1);
    }
    lost
}

#[test]
fn ten_thousand_idle_connections_are_not_given_up() {
    const COUNT: usize = 10_000;
    let mut two = Two::new(|config| {
        config.limits.peer_connections = COUNT as u32;
        config.limits.peer_half_open = COUNT as u32;
        config.limits.half_open = COUNT as u32;
    });
    let mut ends = Vec::new();
    for _ in 0..COUNT / 100 {
        ends.extend((0..100).map(|_| two.send(b"think")));
        let until = two.now + TimeDelta::from_ms(2);
        two.run_to(until);
    }
    while let Some(far) = two.server.accept() {
        assert_eq!(two.server.receive(far), Ok(Some(b"think".to_vec())));
    }
    let until = two.now + TimeDelta::from_ms(120_000);
    let lost = run_through_rings(&mut two, until);
    let given_up = ends.iter().filter(|&&near| two.client.failure(near).is_some()).count();
    println!("{given_up} of {COUNT} given up, {lost} frames lost");
    assert_eq!((given_up, two.server.connections()), (0, COUNT));
}

/// Frames lost at the interface may have been the answers.
#[test]
fn an_interface_overrun_delays_dead_peer_detection() {
    let cases = [(0..0, 30..34), (28_000..29_000, 35..40), (20_000..100_000, 60..64)];
    for (overruns, given_up) in cases {
        let mut two = Two::new(|_| {});
        let (near, _) = two.open(b"think");
        two.connected = false;
        while two.client.failure(near).is_none() {
            assert!(two.now < ms(100_000));
            if overruns.contains(&(two.now.as_ps() / 1_000_000_000)) {
                two.client.overran(two.now);
            }
            two.run_for(TimeDelta::from_ms(100));
        }
        let seconds = two.now.as_ps() / 1_000_000_000_000;
        assert!(given_up.contains(&seconds), "after {seconds} s, {overruns:?}");
    }
}
