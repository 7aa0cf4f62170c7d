//! Hosts over links that lose, double and reorder every kind of packet.

use proptest::prelude::*;
use trimline_packet::{Kind, Time, TimeDelta};
use trimline_transport::homa::{Config, Ending, Endpoint};

use crate::lone::config;
use crate::world::World;

fn world(config: &Config, seed: u64, loss: u64) -> World<Endpoint> {
    let mut world = World::new(4, |host| Endpoint::new(host, config.clone()), seed, loss);
    // Unscheduled bytes are on their way whatever a receiver grants.
    let max = config.rtt_bytes.max(config.unscheduled_bytes * 2);
    world.check = Some(Box::new(move |endpoint, table, packet| {
        if packet.header.kind == Kind::Pull
            && let Some(slot) = table.receiving(packet.header.connection)
        {
            // The last GRANT may exceed a round trip by less than a packet.
            let outstanding = endpoint.outstanding_bytes(slot);
            assert!(outstanding < u64::from(max) + 1100, "{outstanding} B on their way");
        }
    }));
    world.open_all();
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_message_ends_and_nothing_is_delivered_twice(
        seed in any::<u64>(),
        loss in prop_oneof![Just(3), Just(20), Just(u64::MAX)],
        unscheduled_bytes in prop_oneof![Just(1), Just(2400), Just(9000), Just(40_000)],
        rtt_bytes in prop_oneof![Just(1), Just(3300), Just(20_000)],
        overcommitment in 1u8..5,
        boost_bytes in prop_oneof![Just(0), Just(10_000)],
        backoff in prop_oneof![Just(0), Just(100)],
        aeolus in any::<bool>(),
    ) {
        let backoff = TimeDelta::from_us(backoff);
        let config = Config {
            unscheduled_bytes, rtt_bytes, overcommitment, boost_bytes, backoff, aeolus, ..config()
        };
        let mut world = world(&config, seed, loss);
        world.run();
        prop_assert!(world.is_each_once());
    }

    /// The outage is twice the longest wait, which is 1024 times the first.
    #[test]
    fn every_message_ends_after_an_outage_longer_than_any_timer(seed in any::<u64>()) {
        let mut world = world(&config(), seed, 20);
        world.works_from = Time::from_ps(2 * 1024 * 300_000_000);
        world.run();
        prop_assert!(world.is_each_once());
    }
}

/// Without loss there is no RESEND either.
#[test]
fn without_losses_no_packet_is_sent_twice() {
    for ending in [Ending::Acknowledged, Ending::Silent(TimeDelta::from_us(200))] {
        let config = Config {
            ending,
            resend: TimeDelta::from_ms(10),
            retry: TimeDelta::from_ms(10),
            ..config()
        };
        let mut world = world(&config, 5, u64::MAX);
        world.run();
        for (endpoint, table) in &world.hosts {
            for slot in 0..table.len() {
                assert_eq!(endpoint.statistics(slot).resent, 0, "{ending:?}");
            }
        }
    }
}
