//! Room that a service reserves for connections to come (NDP 4), while others fill the limits.

use super::*;
use trimline_stack::host::{Backlog, Connection};

/// A service that reserves, beside [`SERVICE`], which does not.
const RESERVED: u16 = 8;

const SLOTS: u32 = 5;
const BYTES: u64 = 40_000;

fn reserving(change: impl FnOnce(&mut Config)) -> Core {
    let mut server = server(change);
    let backlog = Backlog { connections: SLOTS, bytes: BYTES };
    server.listen_with(ms(0), RESERVED, backlog).unwrap();
    server
}

/// The first packets of connections to the service that reserves; the last ends its message.
fn train(source: IpAddr, connection: u32, packets: u32) -> Vec<Vec<u8>> {
    let packet = |sequence: u32| {
        let forged = Forged { service: RESERVED, sequence, ..Forged::syn(source, connection) };
        match sequence + 1 == packets {
            true => forged.frame(&[7; 1000], &[Record::MessageEnd(1000)]),
            false => forged.frame(&[7; 1000], &[]),
        }
    };
    (0..packets).map(packet).collect()
}

/// Sends a train. Returns its connection and its message, if the server has them.
fn received(
    server: &mut Core,
    source: IpAddr,
    number: u32,
    packets: u32,
) -> Option<(Connection, usize)> {
    train(source, number, packets).iter().for_each(|frame| server.receive_frame(ms(2), frame));
    let mut accepted = std::iter::from_fn(|| server.accept()).collect::<Vec<_>>().into_iter();
    let ours = accepted.find(|&one| server.peer(one) == Some((source, RESERVED)))?;
    let message = server.receive(ours).ok()??;
    Some((ours, message.len()))
}

fn flood(server: &mut Core, is_half_open: bool) {
    for number in 0..200 {
        for peer in 20..60 {
            let sequence = u32::from(is_half_open);
            let forged = Forged { sequence, ..Forged::syn(address(peer), number) };
            server.receive_frame(ms(1), &forged.frame(&[1; 1000], &[]));
        }
    }
}

#[test]
fn reserved_slots_are_free_when_other_connections_fill_the_limits() {
    for is_half_open in [true, false] {
        let mut server = reserving(|config| {
            config.limits.connections = 30;
            config.limits.half_open = 30;
        });
        flood(&mut server, is_half_open);
        assert_eq!(server.connections(), 30 - SLOTS as usize, "half open: {is_half_open}");
        let open: Vec<Connection> = (0..SLOTS)
            .map(|number| {
                let (one, length) = received(&mut server, address(9), number, 30).expect("a slot");
                assert_eq!(length, 30_000);
                one
            })
            .collect();
        assert_eq!(received(&mut server, address(9), 99, 1), None, "all slots are in use");
        // A slot is there again for its own service, and for no other.
        server.abandon(ms(3), open[0]);
        flood(&mut server, is_half_open);
        assert_eq!(server.connections(), 29, "half open: {is_half_open}");
        assert!(received(&mut server, address(10), 100, 30).is_some());
    }
}

#[test]
fn a_reserved_train_has_room_when_others_fill_the_memory() {
    let filled = |backlog: Option<Backlog>| {
        let mut server = server(|config| config.limits.host_bytes = 1 << 20);
        match backlog {
            Some(backlog) => server.listen_with(ms(0), RESERVED, backlog).unwrap(),
            None => server.listen(ms(0), RESERVED),
        }
        flood(&mut server, false);
        let before = server.buffered_bytes();
        let trains = (0..SLOTS).filter_map(|one| received(&mut server, address(9), one, 30));
        (before, trains.collect::<Vec<_>>().len())
    };
    let (bytes, trains) = filled(None);
    assert!(bytes > (1 << 20) - 2000 && trains == 0, "{bytes} B, {trains} trains");
    let (bytes, trains) = filled(Some(Backlog { connections: SLOTS, bytes: BYTES }));
    let shared = (1 << 20) - u64::from(SLOTS) * BYTES;
    assert!((shared - 2000..=shared).contains(&bytes), "{bytes} of {shared} B");
    assert_eq!(trains, SLOTS as usize);
}

/// A connection that has been read frees the memory of its slot.
#[test]
fn the_bytes_of_a_slot_are_used_again() {
    let mut server = reserving(|config| config.limits.host_bytes = 1 << 20);
    flood(&mut server, false);
    for number in 0..50 {
        let (one, length) = received(&mut server, address(9), number, 30).expect("a slot");
        assert_eq!(length, 30_000);
        server.abandon(ms(3), one);
    }
}

#[test]
fn a_new_peer_has_a_place_for_a_reserved_slot() {
    let mut server = reserving(|config| config.limits.peers = 25);
    flood(&mut server, true);
    assert_eq!(server.peers(), 25 - SLOTS);
    assert!(received(&mut server, address(9), 1, 30).is_some());
    assert_eq!(server.peers(), 26 - SLOTS);
}

/// The slots are for all peers.
#[test]
fn one_peer_cannot_take_more_slots_than_its_limit() {
    let mut server = reserving(|config| config.limits.peer_connections = 2);
    let taken = (0..SLOTS).filter_map(|one| received(&mut server, address(9), one, 30));
    assert_eq!(taken.count(), 2);
    assert!(received(&mut server, address(10), 1, 30).is_some());
}

#[test]
fn a_reserve_beyond_the_limits_is_refused() {
    let mut server = server(|config| {
        config.limits.connections = 10;
        config.limits.host_bytes = 1_000_000;
    });
    let reserve = |server: &mut Core, port: u16, connections: u32, bytes: u64| {
        server.listen_with(ms(0), port, Backlog { connections, bytes })
    };
    assert_eq!(reserve(&mut server, 8, 6, 100_000), Ok(()));
    let error = reserve(&mut server, 9, 5, 0).unwrap_err();
    assert!(error.starts_with("11 connections and 600000 B"), "{error}");
    assert!(reserve(&mut server, 9, 4, 200_000).is_err());
    assert_eq!(reserve(&mut server, 9, 4, 100_000), Ok(()));
    assert_eq!(reserve(&mut server, 9, 1, 400_000), Ok(()), "in place of the former");
}
