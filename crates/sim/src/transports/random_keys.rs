//! Random parameters of a transport: keys with values from the samples of its grammar.

use super::AnyTransport;
use crate::keys::form::Grammar;
use crate::plan::Chosen;
use crate::topology::Clos;
use trimline_packet::SplitMix;

/// Maximum number of tables before the draw fails.
const MAX_TABLES: u32 = 1_000;

/// Draws a table of keys that the transport accepts, with this payload if it has the key. Each key with samples is
/// drawn independently. Panics if every table is refused.
pub(crate) fn random_parameters(
    transport: &dyn AnyTransport,
    draws: &mut SplitMix,
    payload_bytes: u16,
    topology: &Clos,
) -> Chosen {
    let mut refused = String::new();
    for _ in 0..MAX_TABLES {
        let keys = table(transport.grammar(), draws, payload_bytes);
        match transport.with_keys(&keys, topology) {
            Ok(chosen) => return chosen,
            Err(error) => refused = format!("{error} in\n{keys}"),
        }
    }
    panic!(
        "transport {} refuses {MAX_TABLES} random tables of its keys, the last one with {refused}",
        transport.name()
    )
}

fn table(grammar: &Grammar, draws: &mut SplitMix, payload_bytes: u16) -> String {
    let mut lines = String::new();
    for key in grammar.keys {
        if key.name == "payload" {
            lines += &format!("payload = \"{payload_bytes}B\"\n");
        } else if !key.samples.is_empty() && (key.is_always_drawn || draws.modulo(2) == 0) {
            let place = draws.modulo(key.samples.len() as u64) as usize;
            let value = key.written_samples().nth(place).expect("a sample");
            lines += &format!("{} = {value}\n", key.name);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::keys::form::Key;
    use crate::suites::plans::{fattree, star};
    use crate::topology::LinkSpec;
    use crate::transports::Transports;
    use trimline_packet::{BitRate, TimeDelta};

    /// A sample that its transport refuses in every network would never be tested.
    #[test]
    fn every_sample_is_accepted_in_some_random_table() {
        let slow = LinkSpec::new(BitRate::from_gbps(1), TimeDelta::from_us(5));
        let topologies = [star(4), fattree(4), Clos { host_link: slow, ..star(4) }];
        for transport in Transports::built_in().iter() {
            let grammar = transport.grammar();
            let lines = |key: &'static Key| {
                key.written_samples().map(move |value| format!("{} = {value}", key.name))
            };
            let mut left: BTreeSet<String> = grammar.keys.iter().flat_map(lines).collect();
            assert!(!left.is_empty(), "transport {} has no samples", transport.name());
            let mut draws = SplitMix(1);
            for number in 0..2_000 {
                let payload = draws.one_of(&[512, 1500, 9000]);
                let keys = table(grammar, &mut draws, payload);
                if transport.with_keys(&keys, &topologies[number % topologies.len()]).is_ok() {
                    left.retain(|line| !keys.lines().any(|given| given == line));
                }
            }
            assert!(left.is_empty(), "transport {}: {left:#?}", transport.name());
        }
    }

    #[test]
    fn a_key_is_left_out_half_of_the_time() {
        let (transports, mut draws) = (Transports::built_in(), SplitMix(1));
        let grammar = transports.find("pfabric").expect("a transport").grammar();
        let is_given = |_: &u32| table(grammar, &mut draws, 9000).contains("fastlane = true");
        let given = (0..1_000).filter(is_given).count();
        assert!((450..550).contains(&given), "{given}");
    }
}
