//! Hosts over links that lose, double and reorder.

use std::cell::RefCell;
use std::collections::BTreeMap;

use trimline_packet::{Flags, HostId, Kind};
use trimline_transport::HostTables as _;
use trimline_transport::Key;
use trimline_transport::nscc::{Config, Control, Endpoint};

use crate::credit::rule;
use crate::lone::config;
use crate::world::World;

/// Every flow ends once, and no sender has more in flight than its window, or one packet.
#[test]
fn flows_end_once_and_keep_to_their_windows() {
    for seed in 0..60 {
        let loss = [u64::MAX, 200, 20, 5][seed as usize % 4];
        let trims = seed % 3 != 0;
        let make = |host: HostId| Endpoint::new(host, Config { trims, ..config() });
        let mut world = World::new(4, make, seed, loss);
        world.check = Some(Box::new(|endpoint: &Endpoint, table, packet| {
            if packet.header.kind != Kind::Data {
                return;
            }
            let key = Key::sending(packet.destination, packet.header.connection);
            let (window, in_flight) = endpoint.window(table.find(key).expect("its stream"));
            assert!(in_flight <= window.max(1500), "{in_flight} of {window}");
        }));
        world.open_all();
        world.run();
        assert!(world.is_each_once(), "seed {seed}");
    }
}

/// A sender overdraws its credit by one packet at most, and a receiver grants no more than what the highest target of
/// the flow asked for and slow credit.
#[test]
fn flows_with_credit_end_once_and_credit_is_conserved() {
    for seed in 0..80 {
        let loss = [u64::MAX, 200, 20, 4][seed as usize % 4];
        let trims = seed % 3 != 0;
        let make = |host: HostId| {
            let control = match seed % 2 {
                0 => Control::Credit(rule()),
                _ => Control::Both(rule()),
            };
            Endpoint::new(host, Config { trims, control, ..config() })
        };
        let mut world = World::new(4, make, seed, loss);
        // Flows are shorter than 2^16 quanta.
        let targets: RefCell<BTreeMap<u32, i32>> = RefCell::default();
        world.check = Some(Box::new(move |endpoint: &Endpoint, table, packet| {
            let connection = packet.header.connection;
            let is_of_opener = packet.header.flags.contains(Flags::FROM_OPENER);
            let target = match (packet.header.kind, is_of_opener) {
                (Kind::Data, true) => i32::from(packet.header.extra as i16),
                (Kind::Pull, true) => packet.header.sequence as i32,
                (Kind::Pull, false) => {
                    let granted = packet.header.sequence as i32;
                    let asked = targets.borrow().get(&connection.get()).copied().unwrap_or(0);
                    // 18,750 bytes are 73 quanta; a PULL has 16.
                    assert!(granted < asked.max(0) + 73 + 16, "{granted} of {asked}");
                    return;
                }
                _ => return,
            };
            let key = Key::sending(packet.destination, connection);
            let slot = table.find(key).expect("its stream");
            let credit = endpoint.credit(slot);
            assert!((-1499..=18_750).contains(&credit), "{credit}");
            let sent = endpoint.sender_statistics(slot).packets_sent;
            assert!(sent > 0 || packet.header.kind == Kind::Pull);
            let mut targets = targets.borrow_mut();
            let highest = targets.entry(connection.get()).or_insert(target);
            *highest = target.max(*highest);
        }));
        world.open_all();
        world.run();
        assert!(world.is_each_once(), "seed {seed}");
    }
}
