//! htsim's topologies, `.topo`: two or three tiers of a fat tree, keys in any case.
//!
//! # Bundles
//! `Bundle N` in a tier means that N parallel links join each of its switches with each switch of the tier below.
//! Trimline turns the switch into N planes, each a switch with one link to each switch below: the number and rate of
//! links stay. A packet that goes up by one link of a bundle comes down by the same link of its bundle; htsim's switch
//! would choose among all.

use std::collections::BTreeSet;

use trimline_packet::{BitRate, TimeDelta};

use super::{FormatError, Text, decimal};
use crate::topology::{Clos, LinkSpec, Processing};

/// A topology file, read and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The network, with the latencies of its switches.
    pub clos: Clos,
    /// Bytes of the queues towards the hosts by tier, if given; Trimline's queues are all alike.
    pub queues: Vec<(String, u64)>,
}

#[derive(Clone, Debug, Default)]
struct Tier {
    line: usize,
    speed: Option<u64>,
    radix_down: Option<u64>,
    radix_up: Option<u64>,
    latency_ps: Option<u64>,
    switch_latency_ps: u64,
    oversubscribed: Option<u64>,
    bundle: u64,
}

const EXPECTED: &str = "`Nodes`, `Tiers`, `Podsize`, then for each `Tier N`: Downlink_speed_Gbps, Radix_Down, \
                        Radix_Up (not the top tier), Downlink_Latency_ns, [Switch_Latency_ns, Oversubscribed, \
                        Bundle, Queue_Up, Queue_Down]";

/// The largest number in a file: products of three numbers fit in 64 bits.
const LARGEST: u64 = 1 << 20;

/// Reads a topology file.
///
/// # Errors
/// Returns the first error, or why the network is not a folded Clos.
pub fn parse(file: &str, text: &str) -> Result<Topology, FormatError> {
    let text = Text { file, text };
    let (mut nodes, mut tiers, mut pod) = (None, None, None);
    let mut blocks: Vec<Tier> = Vec::new();
    let mut queues = Vec::new();
    let mut seen = BTreeSet::new();
    for (line, words) in text.lines() {
        let wrong = |problem: String| text.error(line, problem, EXPECTED);
        let [key, value] = words[..] else {
            return Err(wrong(format!("`{}`", words.join(" "))));
        };
        let key = key.to_ascii_lowercase();
        // A key counts once in the head, and once in each tier.
        if key == "tier" {
            seen.clear();
        } else if !seen.insert(key.clone()) {
            return Err(wrong(format!("`{}` stands twice", words[0])));
        }
        let whole = || {
            let number = value.parse::<u64>().ok().filter(|&number| number <= LARGEST);
            number.ok_or_else(|| wrong(format!("`{value}` is no number up to {LARGEST}")))
        };
        let scaled = |unit| {
            let number = decimal(value, unit).filter(|&number| number <= u64::MAX / 8);
            number.ok_or_else(|| wrong(format!("`{value}` is no number")))
        };
        match (key.as_str(), blocks.last_mut()) {
            ("nodes", None) => nodes = Some(whole()?),
            ("tiers", None) => tiers = Some(whole()?),
            ("podsize", None) => pod = Some(whole()?),
            ("tier", _) => {
                if whole()? != blocks.len() as u64 {
                    return Err(wrong(format!("tier {value} after {} tiers", blocks.len())));
                }
                blocks.push(Tier { line, bundle: 1, ..Tier::default() });
            }
            ("downlink_speed_gbps", Some(tier)) => tier.speed = Some(scaled(1_000_000_000)?),
            ("radix_down", Some(tier)) => tier.radix_down = Some(whole()?),
            ("radix_up", Some(tier)) => tier.radix_up = Some(whole()?),
            ("downlink_latency_ns", Some(tier)) => tier.latency_ps = Some(scaled(1_000)?),
            ("switch_latency_ns", Some(tier)) => tier.switch_latency_ps = scaled(1_000)?,
            ("oversubscribed", Some(tier)) => tier.oversubscribed = Some(whole()?),
            ("bundle", Some(tier)) => {
                tier.bundle = whole()?;
                if tier.bundle == 0 {
                    return Err(wrong("`Bundle 0`".to_owned()));
                }
            }
            ("queue_up" | "queue_down", Some(_)) => {
                let bytes = scaled(1)?;
                queues.push((format!("tier {} {key}", blocks.len() - 1), bytes));
            }
            _ => return Err(wrong(format!("unknown or misplaced key `{}`", words[0]))),
        }
    }
    let end = text.last_line();
    let missing = |what: &str| text.error(end, format!("no `{what}`"), EXPECTED);
    let nodes = nodes.ok_or_else(|| missing("Nodes"))?;
    let tiers = tiers.ok_or_else(|| missing("Tiers"))?;
    let pod = pod.ok_or_else(|| missing("Podsize"))?;
    if !(2..=3).contains(&tiers) || tiers as usize != blocks.len() {
        let problem = format!("`Tiers {tiers}` and {} blocks `Tier`", blocks.len());
        return Err(text.error(end, problem, "2 or 3, and a block for each"));
    }
    clos(&text, nodes, pod, &blocks).map(|clos| Topology { clos, queues })
}

fn need(text: &Text<'_>, tier: &Tier, value: Option<u64>, name: &str) -> Result<u64, FormatError> {
    let value = value.filter(|&value| value > 0 || name.contains("Latency"));
    value.ok_or_else(|| text.error(tier.line, format!("no `{name}` in this tier"), EXPECTED))
}

/// Checks that both ends of links have whole bundles.
fn check_bundles(text: &Text<'_>, tiers: &[Tier]) -> Result<(), FormatError> {
    for (below, tier) in tiers.iter().zip(&tiers[1..]) {
        let ends =
            [("Radix_Down", tier.radix_down), ("Radix_Up of the tier below", below.radix_up)];
        for (name, radix) in ends {
            if let Some(links) = radix.filter(|links| !links.is_multiple_of(tier.bundle)) {
                let problem = format!("`Bundle {}` and {links} links as {name}", tier.bundle);
                return Err(text.error(tier.line, problem, "a multiple of `Bundle`"));
            }
        }
    }
    Ok(())
}

fn clos(text: &Text<'_>, nodes: u64, pod: u64, tiers: &[Tier]) -> Result<Clos, FormatError> {
    let radix = |tier: &Tier| need(text, tier, tier.radix_down, "Radix_Down");
    let up = |tier: &Tier| need(text, tier, tier.radix_up, "Radix_Up");
    let (tor, second) = (&tiers[0], &tiers[1]);
    let hosts_per_tor = radix(tor)?;
    let unlike = |tier: &Tier, problem: String, expected: &str| {
        Err(text.error(tier.line, problem, expected.to_owned()))
    };
    if tor.bundle != 1 {
        let problem = format!("`Bundle {}` of links to hosts", tor.bundle);
        return unlike(tor, problem, "`Bundle 1`: a host has one link");
    }
    check_bundles(text, tiers)?;
    if pod == 0 || !nodes.is_multiple_of(pod) || !pod.is_multiple_of(hosts_per_tor) {
        return unlike(
            tor,
            format!("{nodes} nodes in pods of {pod} with {hosts_per_tor} to a ToR"),
            "whole pods and whole ToRs",
        );
    }
    let (pods, tors) = (nodes / pod, pod / hosts_per_tor);
    let tor_ups = up(tor)?;
    for (tier, up) in tiers.iter().zip([Some(tor_ups), second.radix_up]) {
        if let (Some(said), Some(up), Some(down)) = (tier.oversubscribed, up, tier.radix_down)
            && tiers.len() > 1
            && said != down / up.max(1)
        {
            let problem = format!("`Oversubscribed {said}` with {down} links down and {up} up");
            return unlike(tier, problem, "the ratio of the two, as htsim checks it");
        }
    }
    // With two tiers htsim has one pod, and its spines are the switches that the up-links of the ToRs reach.
    let (aggregations, cores) = if tiers.len() == 3 {
        let core = &tiers[2];
        if radix(second)? != tors * second.bundle {
            let problem = format!("{} links down, but {tors} ToRs in a pod", radix(second)?);
            return unlike(
                second,
                problem,
                "one link, or a `Bundle` of them, to every ToR of the pod",
            );
        }
        if radix(core)? != pods * core.bundle {
            let problem = format!("{} links down, but {pods} pods", radix(core)?);
            return unlike(core, problem, "one link, or a `Bundle` of them, to every pod");
        }
        // Each plane of an aggregation switch has its part of the up-links.
        let ups = up(second)?;
        if !ups.is_multiple_of(second.bundle) {
            let problem = format!("{ups} links up in {} planes", second.bundle);
            return unlike(second, problem, "`Radix_Up` a multiple of `Bundle`");
        }
        (tor_ups, ups / second.bundle)
    } else {
        if pods != 1 || radix(second)? != tors * second.bundle {
            let problem = format!("{} links down, {tors} ToRs, {pods} pods", radix(second)?);
            return unlike(
                second,
                problem,
                "one pod, and one link, or a `Bundle` of them, to every ToR",
            );
        }
        (tor_ups, 0)
    };
    let paths = aggregations * cores.max(1);
    if !(2..=LARGEST).contains(&nodes) || paths > 1 << 14 {
        return unlike(tor, format!("{nodes} nodes, {paths} paths"), "2 to 2^20 nodes, 2^14 paths");
    }
    let link = |number: usize| -> Result<LinkSpec, FormatError> {
        let Some(tier) = tiers.get(number) else {
            return Ok(LinkSpec::new(BitRate::from_gbps(10), TimeDelta::from_us(1)));
        };
        let delay = need(text, tier, tier.latency_ps, "Downlink_Latency_ns")?;
        let rate = need(text, tier, tier.speed, "Downlink_speed_Gbps")?;
        Ok(LinkSpec::new(BitRate::from_bps(rate), TimeDelta::from_ps(delay)))
    };
    let latency = |number: usize| {
        tiers.get(number).map_or(TimeDelta::ZERO, |tier| TimeDelta::from_ps(tier.switch_latency_ps))
    };
    let switch = [latency(0), latency(1), latency(2)];
    Ok(Clos {
        tiers: tiers.len() as u8,
        pods: pods as u32,
        tors_per_pod: tors as u32,
        hosts_per_tor: hosts_per_tor as u32,
        aggregations_per_pod: aggregations as u32,
        cores_per_aggregation: cores as u32,
        host_link: link(0)?,
        tor_link: link(1)?,
        aggregation_link: link(2)?,
        processing: Processing { switch, ..Processing::default() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: &str = "# three tiers\nNodes 128\nTiers 3\nPodsize 16\n\nTier 0\nOversubscribed 1\n\
        Downlink_speed_Gbps 100\nRadix_Down 4\nRADIX_UP 4\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0\n\n\
        Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 4\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0.5\nBundle 1\n\n\
        Tier 2\nDownlink_speed_Gbps 400\nRadix_Down 8\nDownlink_Latency_ns 2000.5\n";

    const TWO: &str = "Nodes 32\nTiers 2\nPodsize 32\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\n\
        Radix_Up 2\nDownlink_Latency_ns 1000\nOversubscribed 4\nTier 1\nDownlink_speed_Gbps 100\n\
        Radix_Down 4\nDownlink_Latency_ns 1000\n";

    #[test]
    fn fat_trees_and_leaf_spines_are_read() {
        let clos = parse("a.topo", THREE).unwrap().clos;
        assert_eq!(
            (clos.hosts(), clos.pods, clos.tors_per_pod, clos.hosts_per_tor),
            (128, 8, 4, 4)
        );
        assert_eq!((clos.aggregations_per_pod, clos.cores_per_aggregation), (4, 4));
        assert_eq!(clos.aggregation_link.rate, BitRate::from_gbps(400));
        assert_eq!(clos.aggregation_link.delay, TimeDelta::from_ps(2_000_500));
        assert_eq!(clos.processing.switch.map(TimeDelta::as_ps), [0, 500, 0]);
        let clos = parse("a.topo", TWO).unwrap().clos;
        assert_eq!((clos.tiers, clos.tors_per_pod, clos.aggregations_per_pod), (2, 4, 2));
    }

    #[test]
    fn a_bundle_of_links_becomes_planes() {
        // Two spines with two links to each of four leaves become four planes with one link each.
        let text =
            TWO.replace("Radix_Up 2", "Radix_Up 4").replace("Oversubscribed 4", "Oversubscribed 2");
        let text = text.replace("Radix_Down 4", "Radix_Down 8\nBundle 2");
        let clos = parse("a.topo", &text).unwrap().clos;
        assert_eq!((clos.hosts(), clos.tors_per_pod, clos.aggregations_per_pod), (32, 4, 4));
        // Eight hosts; an aggregation switch has two links to each of two cores.
        let text = "Nodes 8\nTiers 3\nPodsize 4\nTier 0\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 2\n\
            Downlink_Latency_ns 1000\nTier 1\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 4\n\
            Downlink_Latency_ns 1000\nTier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\nDownlink_Latency_ns 1000\n\
            Bundle 2\n";
        let clos = parse("a.topo", text).unwrap().clos;
        assert_eq!((clos.pods, clos.tors_per_pod, clos.hosts_per_tor), (2, 2, 2));
        assert_eq!((clos.aggregations_per_pod, clos.cores_per_aggregation), (2, 4));
        assert_eq!(clos.aggregation_link.rate, BitRate::from_gbps(100));
        // Two links from each ToR to one aggregation switch too: two planes, each with two of its four up-links.
        let one = text.replace("Radix_Down 2\nRadix_Up 4", "Radix_Down 4\nRadix_Up 4\nBundle 2");
        let clos = parse("a.topo", &one).unwrap().clos;
        assert_eq!((clos.aggregations_per_pod, clos.cores_per_aggregation), (2, 2));
    }

    #[test]
    fn errors_name_file_and_line() {
        for (from, to, line) in [
            ("Radix_Down 8", "Radix_Down 7", 4),
            ("Nodes 32", "Nodes x", 1),
            ("Tiers 2", "Tiers 3", 13),
            ("Podsize 32", "Podsize 16", 10),
            ("Oversubscribed 4", "Oversubscribed 2", 4),
            ("Oversubscribed 4", "Bundle 2", 4),
            ("Radix_Down 4", "Radix_Down 4\nBundle 2", 10),
            ("Radix_Down 4", "Radix_Down 4\nBundle 3", 10),
            ("Radix_Down 4", "Radix_Down 4\nBundle 0", 13),
            ("Radix_Up 2", "Radix_Sideways 2", 7),
            ("Radix_Up 2\n", "", 4),
            ("Tier 1", "Tier 2", 10),
            ("Downlink_Latency_ns 1000\nO", "O", 4),
            ("Nodes 32", "Nodes 32 33", 1),
            ("Tiers 2", "Nodes 16\nTiers 2", 2),
            ("Radix_Up 2", "Radix_Up 2\nradix_up 3", 8),
        ] {
            let text = TWO.replacen(from, to, 1);
            assert_ne!(text, TWO);
            let error = parse("a.topo", &text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("a.topo:{line}: ")), "{from} -> {to}: {error}");
        }
    }
}
