//! Hosts against each other over links that lose, double and reorder every kind of packet.

use proptest::prelude::*;
use trimline_transport::phost::{Config, Endpoint, FreeTokens, Order, ReceiverRules};

use crate::lone::config;
use crate::world::World;

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_flow_ends_and_nothing_is_delivered_twice(
        seed in any::<u64>(),
        loss in prop_oneof![Just(3), Just(20), Just(u64::MAX)],
        free_tokens in prop_oneof![Just(0), Just(1), Just(8)],
        token_window in prop_oneof![Just(1), Just(8)],
        is_short in any::<bool>(),
        is_fair in any::<bool>(),
        is_yaps in any::<bool>(),
    ) {
        let order = if is_fair { Order::Fair } else { Order::Srpt };
        let config = Config {
            free_tokens,
            free_for: if is_short { FreeTokens::ShortFlows } else { FreeTokens::AllFlows },
            token_window,
            receiver: if is_yaps { ReceiverRules::Yaps } else { ReceiverRules::Prompt },
            receiver_order: order,
            sender_order: order,
            ..config()
        };
        let mut world = World::new(4, |host| Endpoint::new(host, config.clone()), seed, loss);
        world.open_all();
        world.run();
        prop_assert!(world.is_each_once());
    }
}
