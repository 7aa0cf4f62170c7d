//! The keys of phantom queues in a scenario, and the resulting settings.

use std::collections::BTreeSet;

use trimline_packet::BitRate;
use trimline_packet::fluid::Clock;
use trimline_switch::PhantomSettings;

use crate::keys::error::ScenarioError;
use crate::keys::form::{
    BYTES, DIRECTION, DURATION, Form, Grammar, Key, LAYER, RATE, SHARE, computed, fixed, optional,
};
use crate::keys::links::{link, selected};
use crate::keys::read::{bytes, clock, need_marks, rate, setting_fault, share};
use crate::keys::tree::Node;
use crate::plan::{LinkChange, LinkEvent, PhantomLink};
use crate::topology::{self, Clos, LinkId, Routes};

pub(crate) const KEY: Key = optional(
    "phantom_queue",
    Form::Tables(&PHANTOM),
    "Phantom queues on links (HULL, NSDI 2012, 2.1): counters that drain slower than the link and mark. They need a transport that answers marks.",
);

static PHANTOM: Grammar = Grammar {
    about: "A phantom queue on each of some links. Without layer, direction and link: on the link of every switch port. A later entry holds where two name a link.",
    alternatives: &[],
    keys: &[
        computed(
            "name",
            Form::Name,
            "none",
            "A name by which a series or a sweep changes this entry.",
        ),
        LAYER,
        DIRECTION,
        computed(
            "link",
            Form::Text,
            "all of the layer and direction",
            "One link, named as in link_event: \"tor 0 down 1\", or \"host 3\".",
        ),
        fixed(
            "drain",
            SHARE,
            "95%",
            "The rate at which the counter falls, of the link's. Below 100%.",
        )
        .with_source("HULL table 3"),
        computed("drain_rate", RATE, "by `drain`", "The same as a rate."),
        computed(
            "threshold",
            BYTES,
            "1KB (HULL table 3); above 10 Gb/s more in proportion to the link's rate (chosen)",
            "A packet that finds more than this in the counter is marked.",
        ),
        computed(
            "tick",
            DURATION,
            "at every instant",
            "The counter falls at the multiples of this time, as in hardware (HULL 5.1: 800 ns).",
        ),
    ],
};

fn links(node: &Node, topology: &Clos) -> Result<Vec<LinkId>, ScenarioError> {
    let names = topology::links(topology);
    let is_of_host = |name: &str| name.starts_with("host ");
    if let Some(name) = node.child("link")
        && name.text().is_some_and(is_of_host)
        && node.child("layer").or(node.child("direction")).is_none()
    {
        return Ok(vec![link(name, &names)?]);
    }
    if ["layer", "direction", "link"].iter().any(|key| node.child(key).is_some()) {
        return selected(node, topology);
    }
    Ok(names.iter().filter(|(name, _)| !is_of_host(name)).map(|&(_, link)| link).collect())
}

/// Reads all phantom queues of a scenario.
pub(crate) fn phantom_queues(
    root: &Node,
    topology: &Clos,
    answers_marks: bool,
    events: &[LinkEvent],
) -> Result<Vec<PhantomLink>, ScenarioError> {
    let nodes = root.child("phantom_queue").and_then(Node::list).unwrap_or(&[]);
    let mut links_of: Vec<Vec<LinkId>> = Vec::new();
    for node in nodes {
        need_marks(node, "a phantom queue", answers_marks)?;
        let links = links(node, topology)?;
        // An entry counts for no link that a later one names.
        let named: BTreeSet<LinkId> = links.iter().copied().collect();
        links_of.iter_mut().for_each(|earlier| earlier.retain(|link| !named.contains(link)));
        links_of.push(links);
    }
    let mut all = Vec::new();
    for (node, links) in nodes.iter().zip(links_of) {
        all.extend(phantoms(node, links, topology, events)?);
    }
    Ok(all)
}

fn phantoms(
    node: &Node,
    links: Vec<LinkId>,
    topology: &Clos,
    events: &[LinkEvent],
) -> Result<Vec<PhantomLink>, ScenarioError> {
    let threshold = node.child("threshold").map(bytes).transpose()?;
    let clock = node.child("tick").map_or(Ok(Clock::Continuous), clock)?;
    let drain = node.child("drain").map(share).transpose()?;
    let fixed = node.child("drain_rate").map(rate).transpose()?;
    if let (Some(_), Some(other)) = (drain, node.child("drain_rate")) {
        return Err(ScenarioError::new(
            &other.place,
            "two drains",
            "either `drain`, a share of the link's rate, or `drain_rate`",
        ));
    }
    if let Some(none) = node.child("drain").filter(|_| drain == Some(0)) {
        return Err(ScenarioError::new(
            &none.place,
            "a counter that never falls",
            "a share above 0% and below 100%, such as \"95%\"",
        ));
    }
    let keys: &[_] = if fixed.is_some() { &[("drain", "drain_rate")] } else { &[] };
    let routes = Routes::new(topology);
    let phantom = |link: LinkId| {
        let at_first = routes.link(link.node()).spec.rate;
        let billionths = drain.unwrap_or(950_000_000);
        let of_share = u128::from(at_first.as_bps()) * u128::from(billionths) / 1_000_000_000;
        let drain = fixed.unwrap_or(BitRate::from_bps((of_share as u64).max(1)));
        let threshold = threshold.unwrap_or_else(|| PhantomSettings::threshold_for(at_first));
        let settings = PhantomSettings { drain, threshold, clock };
        // A link that becomes slower must stay faster than its drain.
        let changes = events.iter().filter(|event| {
            event.link == link || event.both_directions && routes.reverse(event.link) == link
        });
        let slowest = changes.filter_map(|event| match event.change {
            LinkChange::Rate(rate) => Some(rate),
            LinkChange::Fail | LinkChange::Restore => None,
        });
        let slowest = slowest.fold(at_first, BitRate::min);
        let model = settings.check(slowest).map_err(|fault| setting_fault(node, keys, &fault))?;
        Ok(PhantomLink { link, settings, model })
    };
    links.into_iter().map(phantom).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use trimline_packet::{ByteCount, TimeDelta};

    use super::*;
    use crate::plan::Plan;
    use crate::scenario::Scenario;

    pub(crate) const TOP: &str = "links.rate = \"1Gbps\"\ntopology.star.hosts = 4\nworkload = [{ name = \"w\", permutation = {}, size = \"9KB\" }]\n";

    pub(crate) fn parse(rest: &str) -> Result<Plan, String> {
        let text = format!("{TOP}{rest}");
        let scenario = Scenario::parse("s.toml", &text, &[]).map_err(|error| error.to_string())?;
        Ok(scenario.runs[0].plan.clone())
    }

    pub(crate) fn refused(rest: &str, parts: &[&str]) {
        let error = parse(rest).expect_err(rest);
        for part in parts {
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    pub(crate) const DCTCP: &str = "transport.dctcp.payload = \"1460B\"\n";

    #[test]
    fn three_lines_of_keys_put_a_phantom_queue_on_every_port() {
        let plan =
            parse(&format!("{DCTCP}[[phantom_queue]]\ndrain = \"90%\"\nthreshold = \"3KB\""));
        let phantoms = plan.unwrap().phantom_queues;
        assert_eq!(phantoms.len(), 4);
        let expected = PhantomSettings {
            drain: BitRate::from_bps(900_000_000),
            threshold: ByteCount::new(3_000),
            clock: Clock::Continuous,
        };
        assert!(phantoms.iter().all(|phantom| phantom.settings == expected));
    }

    #[test]
    fn a_later_entry_of_a_link_replaces_an_earlier_one() {
        let plan = parse(&format!(
            "{DCTCP}[[phantom_queue]]\n[[phantom_queue]]\nlink = \"host 2\"\ndrain_rate = \"800Mbps\"\ntick = \"800ns\""
        ))
        .unwrap();
        let names = topology::links(&plan.topology);
        let phantoms = plan.phantom_queues;
        let last = phantoms.last().unwrap();
        let named = names.iter().find(|(_, link)| *link == last.link).unwrap();
        assert_eq!((phantoms.len(), named.0.as_str()), (5, "host 2"));
        assert_eq!(last.settings.clock, Clock::Tick(TimeDelta::from_ns(800)));
        // The first entry, whose drain a slow link could not reach, does not count for that link.
        let slow = "[[link_event]]\nat = \"0us\"\nlink = \"tor 0 down 1\"\nchange = { rate = \"100Mbps\" }\n";
        let entry = "[[phantom_queue]]\nlink = \"tor 0 down 1\"\ndrain_rate = \"95Mbps\"\n";
        let plan = parse(&format!("{DCTCP}{slow}[[phantom_queue]]\n{entry}")).unwrap();
        let drains: Vec<u64> =
            plan.phantom_queues.iter().map(|one| one.settings.drain.as_bps() / 1_000_000).collect();
        assert_eq!(drains, [950, 950, 950, 95]);
        refused(&format!("{DCTCP}{slow}{entry}[[phantom_queue]]\n"), &["not below"]);
    }

    #[test]
    fn invalid_phantom_queues_are_refused() {
        let phantom = |keys: &str| format!("{DCTCP}[[phantom_queue]]\n{keys}");
        refused(
            &phantom("drain = \"100%\""),
            &["s.toml:6:9", "is not below the link's", "nearest being 950 Mb/s"],
        );
        refused(&phantom("drain_rate = \"2Gbps\""), &["s.toml:6:14", "is not below the link's"]);
        refused(&phantom("threshold = \"0B\""), &["s.toml:6:13", "threshold"]);
        refused(&phantom("drain = \"0%\""), &["s.toml:6:9", "never falls"]);
        refused(&phantom("drain_rate = \"0bps\""), &["s.toml:6:14"]);
        refused(
            &phantom("drain = \"90%\"\ndrain_rate = \"1Mbps\""),
            &["s.toml:7:14", "two drains"],
        );
        refused(&phantom("link = \"tor 9 down 9\""), &["no link is named"]);
        refused("[[phantom_queue]]", &["s.toml:4", "do not answer marks", "dctcp"]);
        refused("transport.tcp = {}\n[[phantom_queue]]", &["do not answer marks"]);
        assert!(parse("transport.tcp.ecn = true\n[[phantom_queue]]").is_ok());
        let slower = "[[link_event]]\nat = \"1ms\"\nlink = \"tor 0 down 1\"\nchange = { rate = \"500Mbps\" }";
        refused(&format!("{}\n{slower}", phantom("")), &["is not below the link's 500 Mb/s"]);
    }
}
