//! Hosts around one small port, which drops by priority and may notify, and links that lose, double and reorder every
//! kind of packet.

use proptest::prelude::*;
use trimline_packet::Time;
use trimline_transport::pfabric::{Config, Endpoint, Priority};

use crate::lone::config;
use crate::world::{Port, World};

fn world(config: &Config, seed: u64, loss: u64, room: usize, unnotified: u64) -> World<Endpoint> {
    let mut world = World::new(6, |host| Endpoint::new(host, config.clone()), seed, loss);
    world.port = Some(Port { room, unnotified, queue: Vec::new(), free: Time::ZERO });
    world.open_all();
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_flow_ends_and_nothing_is_delivered_twice(
        seed in any::<u64>(),
        loss in prop_oneof![Just(3), Just(20), Just(u64::MAX)],
        room in 1usize..40,
        unnotified in prop_oneof![Just(0), Just(500), Just(1000)],
        window in prop_oneof![Just(1), Just(8), Just(40)],
        (fastlane, is_total) in (any::<bool>(), any::<bool>()),
    ) {
        let priority = if is_total { Priority::Total } else { Priority::Remaining };
        let config = Config { window, priority, fastlane, ..config() };
        let mut world = world(&config, seed, loss, room, unnotified);
        world.run();
        prop_assert!(world.is_each_once());
    }
}

/// FastLane 3.4.2, 3.3.2: with all notifications no flow times out; without them flows still end.
#[test]
fn notifications_replace_timeouts() {
    let config = Config { fastlane: true, ..config() };
    let [all, side, none] = [0, 500, 1000].map(|unnotified| {
        let mut world = world(&config, 5, u64::MAX, 12, unnotified);
        let end = world.run();
        let timeouts = |(endpoint, _): &(Endpoint, _)| -> u64 {
            (0..2).map(|slot| endpoint.sender_statistics(slot).timeouts).sum()
        };
        (end, world.hosts[1..].iter().map(timeouts).sum::<u64>())
    });
    assert!(all.1 == 0 && side.1 > 0 && none.1 > 0, "{all:?} {side:?} {none:?}");
    assert!(all.0 < side.0 && all.0 < none.0, "{all:?} {side:?} {none:?}");
}
