use super::*;
use std::collections::BTreeMap;
use trimline_stack::host::{Connection, Options};

/// Messages per connection.
const EACH: u64 = 500;

/// A message that encodes its connection and number; its other bytes follow from both.
fn message(connection: u64, number: u64) -> Vec<u8> {
    let name = connection * EACH + number;
    let length =
        16 + (name * 2_654_435_761 % 97) as usize * if number.is_multiple_of(50) { 100 } else { 3 };
    let mut bytes = name.to_be_bytes().to_vec();
    bytes.extend(length.to_be_bytes());
    bytes.extend((16..length).map(|place| (name as usize * 31 + place * 7) as u8));
    bytes
}

/// Sends messages over a bad cable: each arrives once, in order, unaltered.
fn deliver(messages: u64, rules: Impairments, seed: u64) {
    let mut pair = Pair::new(1500, rules, seed);
    let connections = messages / EACH;
    let (mut opened, mut finished) = (0, 0);
    let mut servers: BTreeMap<Connection, Option<(u64, u64)>> = BTreeMap::new();
    pair.run(|pair| {
        while opened < connections && opened - finished < 8 {
            let client = pair.core(0).connect(address(1, false), SERVICE, Options::default());
            let client = client.unwrap();
            (0..EACH).for_each(|n| pair.core(0).send(client, &message(opened, n)).unwrap());
            pair.core(0).close(client);
            opened += 1;
        }
        while let Some(server) = pair.core(1).accept() {
            servers.insert(server, None);
        }
        while let Some(server) = pair.core(1).next_readable() {
            let Some(progress) = servers.get_mut(&server) else { continue };
            while let Ok(Some(got)) = pair.core(1).receive(server) {
                let name = u64::from_be_bytes(*got.first_chunk().unwrap());
                let (connection, number) = (name / EACH, name % EACH);
                let (expected, next) = progress.get_or_insert((connection, 0));
                assert_eq!((connection, number), (*expected, *next), "once and in order");
                assert!(got == message(connection, number), "message {name} was altered");
                *next += 1;
            }
            if *progress == Some((progress.unwrap_or_default().0, EACH)) {
                pair.core(1).close(server);
                servers.remove(&server);
                finished += 1;
            }
        }
        finished == connections
    });
    // Late packets open no connection.
    while pair.step() {
        assert!(pair.core(1).accept().is_none(), "a late packet opened a connection");
    }
    let seen = pair.hosts.each_ref().map(|host| *host.statistics());
    if rules.corruption > 0 {
        assert!(seen.iter().all(|seen| seen.refused_in_all() > 0), "{seen:?}");
    }
}

/// Loss, corruption and duplication of 1 % each, and one frame in fifty overtaken by up to 20.
fn bad() -> Impairments {
    let one = Impairments::share(100);
    Impairments {
        loss: one,
        corruption: one,
        duplication: one,
        reordering: 2 * one,
        reorder_depth: 20,
    }
}

#[test]
fn two_million_messages_survive_all_impairments_at_once() {
    for seed in 1..=8 {
        deliver(250_000, bad(), seed);
    }
}

#[test]
fn messages_survive_each_impairment() {
    let (none, all) = (Impairments::default(), bad());
    let heavy = Impairments::share(1000);
    for (seed, rules) in [
        (2, Impairments { loss: heavy, ..none }),
        (3, Impairments { corruption: heavy, ..none }),
        (4, Impairments { duplication: heavy, ..none }),
        (5, Impairments { reordering: heavy, reorder_depth: 100, ..none }),
        (6, all),
    ] {
        deliver(4 * EACH, rules, seed);
    }
}
