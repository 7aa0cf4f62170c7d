//! Hosts over links that lose, double and reorder.

use trimline_packet::{HostId, Kind};
use trimline_transport::HostTables as _;
use trimline_transport::Key;
use trimline_transport::nscc::{Config, Endpoint};

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
