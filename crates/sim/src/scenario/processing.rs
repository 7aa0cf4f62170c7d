//! Scenario keys for the delays of hosts and switches and for the framing of links. All are zero by default.

use trimline_packet::{ByteCount, TimeDelta};

use crate::features::nic;
use crate::keys::error::ScenarioError;
use crate::keys::form::{BYTES, DURATION, Form, Grammar, Key, computed, fixed, optional};
use crate::keys::quantity::{self, Quantity};
use crate::keys::read::{duration_of, read};
use crate::keys::tree::Node;
use crate::topology::{Clos, HostDelay, Processing};

pub(super) const FRAMING_KEY: Key = fixed(
    "framing",
    BYTES,
    "0B",
    "What each packet takes on the link beside its own bytes: on Ethernet \"20B\" (preamble 8, gap 12; the bytes of a packet count its FCS). It takes time, and no queue and no count of bytes holds it.",
);

pub(super) const LATENCY_KEY: Key = computed(
    "latency",
    Form::Either(&LATENCIES),
    "0, or what the file of the topology says",
    "From a packet's last bit at a switch until it enters the output queue: one time for all, or one for each tier. A returned header does not take it again.",
);

pub(super) const HOST_KEY: Key = optional(
    "host",
    Form::Table(&HOST),
    "What every host takes for a packet, beside its time on the link, and how its connections share the link.",
);

static LATENCIES: [Form; 2] = [DURATION, Form::Table(&LATENCY)];

static LATENCY: Grammar = Grammar {
    about: "Latency by tier.",
    alternatives: &[],
    keys: &[
        fixed("tor", DURATION, "0s", "ToR or leaf switches."),
        fixed("aggregation", DURATION, "0s", "Aggregation or spine switches."),
        fixed("core", DURATION, "0s", "Core switches."),
    ],
};

const DELAY_KEY: Key = fixed(
    "delay",
    DURATION,
    "0s",
    "From the endpoint's decision to send until the first bit is on the link, and from a packet's last bit until the endpoint hears of it. Any number of packets are in it at once; it takes no time of the link.",
);
const SPREAD_KEY: Key = fixed(
    "delay_spread",
    DURATION,
    "0s",
    "Each packet takes up to this much more, drawn uniformly. A host keeps its packets in order: one that takes long holds up those behind it. Ideal completion times and initial_window \"bdp\" do not count it.",
);

static HOST: Grammar = Grammar {
    about: "The delay of every host, exceptions by direction, and what stands between them and the link.",
    alternatives: &[],
    keys: &[
        DELAY_KEY,
        SPREAD_KEY,
        optional("send", Form::Table(&ONE_WAY), "What a host takes for what it sends."),
        optional("receive", Form::Table(&ONE_WAY), "What a host takes for what it receives."),
        nic::keys::FIFO_KEY,
        nic::pacer_keys::KEY,
        nic::keys::CPU_KEY,
    ],
};

static ONE_WAY: Grammar = Grammar {
    about: "The delay in one direction.",
    alternatives: &[],
    keys: &[DELAY_KEY, SPREAD_KEY],
};

const MAX_FRAMING: u64 = 1000;

/// The longest delay of a host or a switch: longer ones make another network.
const MAX_DELAY: TimeDelta = TimeDelta::from_ms(1_000);

pub(super) fn add_to(clos: &mut Clos, root: &Node) -> Result<(), ScenarioError> {
    let tiers = [
        ("host", &mut clos.host_link),
        ("tor", &mut clos.tor_link),
        ("aggregation", &mut clos.aggregation_link),
    ];
    for (tier, link) in tiers {
        let node = root.at(&["links", tier, "framing"]).or_else(|| root.at(&["links", "framing"]));
        link.framing_bytes = node.map_or(Ok(0), framing)?;
    }
    clos.processing = Processing {
        host_send: host(root, "send")?,
        host_receive: host(root, "receive")?,
        switch: match root.at(&["switch", "latency"]) {
            Some(node) => latency(node)?,
            None => clos.processing.switch,
        },
    };
    Ok(())
}

fn framing(node: &Node) -> Result<u16, ScenarioError> {
    let bytes = read(node, quantity::bytes, Quantity::Bytes)?;
    if bytes > ByteCount::new(MAX_FRAMING) {
        let expected = format!("at most {MAX_FRAMING}B: 20B on Ethernet");
        return Err(ScenarioError::new(&node.place, format!("framing of {bytes}"), expected));
    }
    Ok(bytes.get() as u16)
}

fn delay(node: Option<&Node>) -> Result<TimeDelta, ScenarioError> {
    let Some(node) = node else { return Ok(TimeDelta::ZERO) };
    let delay = duration_of(node)?;
    if delay > MAX_DELAY {
        let problem = "a packet would take more than a second";
        return Err(ScenarioError::new(&node.place, problem, format!("at most {MAX_DELAY}")));
    }
    Ok(delay)
}

fn host(root: &Node, direction: &str) -> Result<HostDelay, ScenarioError> {
    let nearest = |key| root.at(&["host", direction, key]).or_else(|| root.at(&["host", key]));
    Ok(HostDelay { min: delay(nearest("delay"))?, spread: delay(nearest("delay_spread"))? })
}

fn latency(node: &Node) -> Result<[TimeDelta; 3], ScenarioError> {
    if node.table().is_none() {
        return Ok([delay(Some(node))?; 3]);
    }
    let [tor, aggregation, core] = ["tor", "aggregation", "core"].map(|tier| node.child(tier));
    Ok([delay(tor)?, delay(aggregation)?, delay(core)?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn parse(keys: &str) -> Result<Clos, String> {
        let text = format!(
            "topology.fattree.k = 4\nworkload = [{{ name = \"w\", permutation = {{}}, size = \"9KB\" }}]\n{keys}"
        );
        let scenario = Scenario::parse("s.toml", &text, &[]).map_err(|error| error.to_string())?;
        Ok(scenario.runs[0].plan.topology.clone())
    }

    fn ns(delay: TimeDelta) -> u64 {
        delay.as_ps() / 1000
    }

    #[test]
    fn every_processing_delay_has_a_key_and_exceptions() {
        let clos = parse(
            "links.framing = \"20B\"\nlinks.tor.framing = \"24B\"\nswitch.latency = \"300ns\"\n\
             host.delay = \"3us\"\nhost.delay_spread = \"1us\"\nhost.receive.delay = \"5us\"",
        )
        .unwrap();
        let links = [clos.host_link, clos.tor_link, clos.aggregation_link];
        assert_eq!(links.map(|link| link.framing_bytes), [20, 24, 20]);
        let Processing { host_send, host_receive, switch } = clos.processing;
        assert_eq!(switch.map(ns), [300; 3]);
        assert_eq!((ns(host_send.min), ns(host_send.spread)), (3_000, 1_000));
        assert_eq!((ns(host_receive.min), ns(host_receive.spread)), (5_000, 1_000));
        let tiers = parse("switch.latency = { tor = \"300ns\", core = \"1us\" }").unwrap();
        assert_eq!(tiers.processing.switch.map(ns), [300, 0, 1_000]);
    }

    #[test]
    fn processing_takes_no_time_by_default() {
        let clos = parse("").unwrap();
        assert_eq!(clos.processing, Processing::default());
        assert_eq!(clos.host_link.framing_bytes, 0);
    }

    #[test]
    fn wrong_processing_keys_are_refused() {
        let refused = |text: &str| parse(text).unwrap_err();
        assert_eq!(
            refused("links.framing = \"2KB\""),
            "s.toml:3:17: framing of 2000 B (at `\"2KB\"`); expected at most 1000B: 20B on Ethernet"
        );
        assert!(refused("host.delay = \"2s\"").contains("more than a second"));
        assert!(refused("host.send.delay_spread = \"2s\"").contains("more than a second"));
        assert!(refused("switch.latency.core = \"2s\"").contains("more than a second"));
        assert!(refused("switch.latency.spine = \"2us\"").contains("unknown key `spine`"));
        assert!(refused("switch.latency = 5").contains("does not belong here"));
        assert!(refused("host.spread = \"1us\"").contains("unknown key `spread`"));
    }
}
