//! Homa's cut-offs: message sizes that give each priority an equal number of unscheduled bytes.
//!
//! The rules are those of the authors' simulator. A packet counts, with its wire bytes, under the bytes that its
//! message has left when it is sent. Only packets of the first `first_bytes` and of the last `last_bytes` of a message
//! count: the others are granted their own priority. GRANTs count under zero bytes, since they share the highest
//! priority.

use std::collections::BTreeMap;

use crate::formats::sizes::{Reading, SizeDistribution};

#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// Payload of a full packet.
    pub(super) payload: u64,
    /// Wire bytes besides the payload.
    pub(super) overhead: u64,
    /// Wire bytes of a GRANT.
    pub(super) grant: u64,
    /// Unscheduled payload bytes of a message.
    pub(super) unscheduled: u64,
    /// Wire bytes that count from the beginning of a message.
    pub(super) first_bytes: u64,
    /// Wire bytes that count up to the end of a message.
    pub(super) last_bytes: u64,
}

/// Number of sizes for an interval of a linear distribution.
const STEPS: u64 = 16;

fn sizes(distribution: &SizeDistribution) -> Vec<(u64, u64)> {
    let mut sizes = Vec::new();
    let (mut below, mut before) = (0, 0);
    for (place, &(above, reached)) in distribution.points().iter().enumerate() {
        let weight = reached - before;
        if distribution.reading() == Reading::Linear && place > 0 {
            let step = |step: u64| below + (above - below) * step / STEPS;
            sizes.extend((1..=STEPS).map(|number| (step(number), weight / STEPS)));
        } else {
            sizes.push((above, weight));
        }
        (below, before) = (above, reached);
    }
    sizes
}

/// Returns the payload bytes of a message's packets, in order.
fn packets(size: u64, costs: Costs) -> impl Iterator<Item = u64> {
    let mut sent = 0;
    core::iter::from_fn(move || {
        let end = if sent < costs.unscheduled { size.min(costs.unscheduled) } else { size };
        let packet = (end - sent).min(costs.payload);
        sent += packet;
        (packet > 0).then_some(packet)
    })
}

/// Returns wire bytes by the bytes left of their message, with the weights of the distribution.
fn bytes_by_left(distribution: &SizeDistribution, costs: Costs) -> BTreeMap<u64, u128> {
    let mut bytes = BTreeMap::new();
    for (size, weight) in sizes(distribution).into_iter().filter(|&(_, weight)| weight > 0) {
        let whole: u64 = packets(size, costs).map(|packet| packet + costs.overhead).sum();
        let (mut left, mut on_wire, mut sent) = (size, whole, 0);
        for packet in packets(size, costs) {
            let wire = packet + costs.overhead;
            if sent < costs.first_bytes || on_wire < costs.last_bytes {
                *bytes.entry(left).or_default() += u128::from(weight) * u128::from(wire);
            }
            if size - left >= costs.unscheduled {
                *bytes.entry(0).or_default() += u128::from(weight) * u128::from(costs.grant);
            }
            (left, on_wire, sent) = (left - packet, on_wire - wire, sent + wire);
        }
    }
    bytes
}

/// Returns up to `levels` - 1 ascending cut-offs; fewer if a single size fills several levels.
pub(super) fn cutoffs(distribution: &SizeDistribution, levels: u8, costs: Costs) -> Vec<u32> {
    let bytes = bytes_by_left(distribution, costs);
    let total: u128 = bytes.values().sum();
    let mut cutoffs = Vec::new();
    let (mut level, mut reached) = (1, 0u128);
    for (left, bytes) in bytes {
        reached += bytes;
        // One cut-off per size: the next level begins above it.
        if level < u128::from(levels) && reached * u128::from(levels) >= total * level {
            cutoffs.push(u32::try_from(left).unwrap_or(u32::MAX));
            level += 1;
        }
    }
    cutoffs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributions::built_in;

    /// Values of Homa's authors.
    const COSTS: Costs = Costs {
        payload: 1442,
        overhead: 96,
        grant: 84,
        unscheduled: 9328,
        first_bytes: 10_000,
        last_bytes: 10_000,
    };

    fn named(name: &str) -> SizeDistribution {
        built_in().find(|(known, ..)| *known == name).expect("a built-in distribution").2
    }

    #[test]
    fn packets_are_split_at_the_end_of_the_unscheduled_bytes() {
        let of = |size| packets(size, COSTS).collect::<Vec<u64>>();
        assert_eq!(of(1), [1]);
        assert_eq!(of(2000), [1442, 558]);
        assert_eq!(of(9328)[5..], [1442, 676]);
        assert_eq!(of(11_000)[5..], [1442, 676, 1442, 230]);
    }

    /// A message of 3000 B has packets of 1442, 1442 and 116 B when 3000, 1558 and 116 B are left.
    #[test]
    fn a_packet_counts_at_the_remaining_bytes_of_its_message() {
        let sizes = SizeDistribution::mixture(&[(3000, 1), (100, 3)]).expect("a mixture");
        let bytes = bytes_by_left(&sizes, COSTS);
        let weight = bytes[&3000] / 1538;
        let expected = [(100, 3 * 196), (116, 212), (1558, 1538), (3000, 1538)];
        assert_eq!(bytes.len(), 4);
        for (left, wire) in expected {
            assert_eq!(bytes[&left] / weight, wire, "{left}");
        }
        // 588, 800, 2338 and 3876 of 3876 bytes.
        assert_eq!(cutoffs(&sizes, 2, COSTS), [1558]);
        assert_eq!(cutoffs(&sizes, 4, COSTS), [1558, 3000]);
        assert_eq!(cutoffs(&sizes, 8, COSTS), [100, 1558, 3000]);
        assert!(cutoffs(&sizes, 1, COSTS).is_empty());
    }

    #[test]
    fn the_grants_of_a_long_message_count_and_its_scheduled_middle_does_not() {
        let sizes = SizeDistribution::mixture(&[(100_000, 1)]).expect("a mixture");
        let bytes = bytes_by_left(&sizes, COSTS);
        let weight = bytes[&100_000] / 1538;
        let scheduled = (100_000 - 9328u128).div_ceil(1442);
        assert_eq!(bytes[&0] / weight, 84 * scheduled);
        let counted: u128 = bytes.values().sum::<u128>() / weight - 84 * scheduled;
        assert!((18_000..22_000).contains(&counted), "{counted}");
    }

    /// Each level carries its part, as exactly as sizes permit.
    #[test]
    fn levels_carry_equal_bytes() {
        for (name, levels) in [("homa-w1", 7), ("homa-w2", 5), ("homa-w3", 4), ("homa-w4", 2)] {
            let sizes = named(name);
            let cutoffs = cutoffs(&sizes, levels, COSTS);
            assert_eq!(cutoffs.len(), usize::from(levels) - 1, "{name}");
            assert!(cutoffs.is_sorted());
            let bytes = bytes_by_left(&sizes, COSTS);
            let total: u128 = bytes.values().sum();
            let largest = bytes.values().max().expect("bytes");
            let mut below = 0;
            for (level, &cutoff) in (1..).zip(&cutoffs) {
                let reached: u128 = bytes.range(..=u64::from(cutoff)).map(|(_, bytes)| bytes).sum();
                let part = total * level / u128::from(levels);
                assert!(reached >= part && reached - part <= *largest, "{name}: {cutoffs:?}");
                assert!(reached > below);
                below = reached;
            }
        }
    }
}
