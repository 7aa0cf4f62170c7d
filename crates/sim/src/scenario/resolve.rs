//! From a checked tree to a plan: defaults filled in, and what no grammar can see refused.

use trimline_packet::{BitRate, ByteCount, Packet, TimeDelta};
use trimline_transport::cbr;
use trimline_transport::ndp::{Config, PathPenalty, PullSpacing};

use super::Output;
use super::error::ScenarioError;
use super::form::MAX_HOSTS;
use super::quantity;
use super::read::{duration_of, number, pair, payload, positive, read};
use super::tree::Node;
use super::workloads::workloads;
use crate::plan::{EngineChoice, Plan, Transport, Watch};
use crate::topology::{self, Clos, LinkSpec, Processing};

/// The plan of a tree that the grammar accepted whole; series and seed are the caller's.
pub(super) fn resolve(root: &Node) -> Result<(Plan, Output), ScenarioError> {
    let topology = topology(root)?;
    let profile = root.at(&["switch", "profile"]).and_then(Node::text);
    let profile = profile.unwrap_or_else(|| super::tcp::default_profile(root).unwrap_or("paper"));
    let duration = root.child("duration").map(duration_of).transpose()?;
    let warm_up = root.child("warm_up").map(duration_of).transpose()?.unwrap_or(TimeDelta::ZERO);
    if let Some(node) = root.child("warm_up")
        && duration.is_none_or(|duration| warm_up >= duration)
    {
        return Err(ScenarioError::new(
            &node.place,
            "the warm-up leaves nothing to measure",
            "a time shorter than `duration`, which must be given",
        ));
    }
    let transport = transport(root, profile, &topology)?;
    let ports = super::switch::ports(
        root,
        profile,
        &topology,
        transport.payload_bytes(),
        transport.framing(),
    )?;
    let (workloads, missing) = workloads(root, &topology, &transport, duration)?;
    let mut links = super::links::links(root, &topology)?;
    if !missing.is_empty() && links.events.is_empty() && root.child("routing_convergence").is_none()
    {
        // What a file says is missing was never there.
        links.convergence = TimeDelta::ZERO;
    }
    links.events.extend(missing);
    let timeline = root.at(&["output", "timeline"]);
    let timeline = timeline.map(|node| watch(node, &topology)).transpose()?;
    let plan = Plan {
        series: String::new(),
        seed: 0,
        switch: ports.switch,
        droppable: ports.droppable,
        port_rules: ports.rules,
        shared_memory: ports.memory,
        topology,
        transport,
        workloads,
        duration,
        warm_up,
        link_events: links.events,
        routing_convergence: links.convergence,
        impairment: links.impairment,
        engine: match root.child("engine").and_then(Node::text) {
            _ if timeline.is_some() => EngineChoice::Heap,
            Some("heap") => EngineChoice::Heap,
            _ => EngineChoice::Windows,
        },
        timeline,
        sample_every: match root.at(&["output", "series"]) {
            Some(every) => Some(positive(every)?),
            None => None,
        },
    };
    let flag = |key, default| root.at(&["output", key]).and_then(Node::boolean).unwrap_or(default);
    Ok((
        plan,
        Output {
            flows: flag("flows", true),
            ports: flag("ports", false),
            latencies: flag("latencies", false),
            timeline: root.at(&["output", "timeline"]).is_some(),
            fct: flag("fct", false),
            series: root.at(&["output", "series"]).is_some(),
        },
    ))
}

/// What a timeline shows.
fn watch(node: &Node, topology: &Clos) -> Result<Watch, ScenarioError> {
    let list = |key| node.child(key).and_then(Node::list).unwrap_or(&[]);
    let names = topology::links(topology);
    let places = list("places").iter().map(|node| super::links::link(node, &names));
    let places = places.collect::<Result<Vec<_>, _>>()?;
    let flows = list("flows").iter().map(|node| pair(node, topology.hosts()));
    let flows = flows.collect::<Result<Vec<_>, _>>()?;
    if places.is_empty() && flows.is_empty() {
        return Err(ScenarioError::new(
            &node.place,
            "a timeline of nothing",
            "at least one of `places` and `flows`",
        ));
    }
    let from = node.child("from").map(duration_of).transpose()?.unwrap_or(TimeDelta::ZERO);
    let to = node.child("to").map(duration_of).transpose()?;
    if let Some(end) = node.child("to").filter(|_| to.is_some_and(|to| to <= from)) {
        return Err(ScenarioError::new(
            &end.place,
            "the timeline ends before it begins",
            "a time after `from`",
        ));
    }
    Ok(Watch { places, flows, from, to, keep_packets: false })
}

// Topology

fn topology(root: &Node) -> Result<Clos, ScenarioError> {
    let mut clos = shape(root)?;
    super::processing::add_to(&mut clos, root)?;
    Ok(clos)
}

/// Shape, rates and delays.
fn shape(root: &Node) -> Result<Clos, ScenarioError> {
    if let Some(file) = root.at(&["topology", "file"]) {
        return super::files::topology(root, file);
    }
    let preset = root.at(&["links", "preset"]).and_then(Node::text);
    let preset = preset.and_then(|name| name.trim_end_matches('G').parse::<u64>().ok());
    let link = |tier: &str| -> Result<LinkSpec, ScenarioError> {
        let nearest = |key| root.at(&["links", tier, key]).or_else(|| root.at(&["links", key]));
        let rate = nearest("rate")
            .map(|node| read(node, quantity::rate, quantity::Quantity::Rate))
            .transpose()?;
        let delay = nearest("delay").map(duration_of).transpose()?;
        Ok(LinkSpec::new(
            rate.unwrap_or(BitRate::from_gbps(preset.unwrap_or(10))),
            delay.unwrap_or(TimeDelta::from_us(1)),
        ))
    };
    let mut clos = Clos {
        tiers: 0,
        pods: 1,
        tors_per_pod: 1,
        hosts_per_tor: 2,
        aggregations_per_pod: 0,
        cores_per_aggregation: 0,
        host_link: link("host")?,
        tor_link: link("tor")?,
        aggregation_link: link("aggregation")?,
        processing: Processing::default(),
    };
    let Some(shape) = root.child("topology").and_then(Node::table).and_then(|t| t.entries.first())
    else {
        return Ok(clos);
    };
    let node = &shape.node;
    match shape.key.as_str() {
        "fattree" => {
            let tiers = number(node, "tiers").unwrap_or(3);
            let oversubscription = number(node, "oversubscription").unwrap_or(1);
            let k = fattree_k(node, tiers, oversubscription)?;
            clos.tiers = tiers as u8;
            clos.hosts_per_tor = k / 2 * oversubscription;
            clos.aggregations_per_pod = k / 2;
            if tiers == 3 {
                (clos.pods, clos.tors_per_pod, clos.cores_per_aggregation) = (k, k / 2, k / 2);
            } else {
                clos.tors_per_pod = k;
            }
        }
        "leafspine" => {
            clos.tiers = 2;
            clos.tors_per_pod = number(node, "leaves").unwrap_or(1);
            clos.aggregations_per_pod = number(node, "spines").unwrap_or(1);
            clos.hosts_per_tor = number(node, "hosts_per_leaf").unwrap_or(1);
        }
        "star" => {
            clos.tiers = 1;
            clos.hosts_per_tor = number(node, "hosts").unwrap_or(2);
        }
        _ => {}
    }
    let total = u64::from(clos.pods) * u64::from(clos.tors_per_pod) * u64::from(clos.hosts_per_tor);
    if total < 2 || total > MAX_HOSTS as u64 {
        return Err(ScenarioError::new(
            &node.place,
            format!("{total} hosts"),
            format!("from 2 to {MAX_HOSTS} hosts"),
        ));
    }
    Ok(clos)
}

/// Hosts of a FatTree of k-port switches without oversubscription.
fn fattree_hosts(k: u32, tiers: u32) -> u64 {
    let k = u64::from(k);
    if tiers == 3 { k * k * k / 4 } else { k * k / 2 }
}

fn fattree_k(node: &Node, tiers: u32, oversubscription: u32) -> Result<u32, ScenarioError> {
    if let Some(given) = node.child("k") {
        let k = number(node, "k").unwrap_or(0);
        if k % 2 == 1 {
            return Err(ScenarioError::new(
                &given.place,
                format!("a FatTree of {k}-port switches: half of the ports go up, half down"),
                format!("an even number such as {} or {}", k - 1, k + 1),
            )
            .nearest(Some((k + 1).to_string())));
        }
        return Ok(k);
    }
    let Some(given) = node.child("hosts") else { return Ok(2) };
    let wanted = u64::from(number(node, "hosts").unwrap_or(0));
    let size = |k| fattree_hosts(k, tiers) * u64::from(oversubscription);
    let ks = || (2..=128).step_by(2);
    if let Some(k) = ks().find(|&k| size(k) == wanted) {
        return Ok(k);
    }
    // The two below and the one above say where the next trees are.
    let below: Vec<u64> = ks().map(size).filter(|&size| size < wanted).collect();
    let above = ks().map(size).find(|&size| size > wanted);
    let around: Vec<u64> = below.iter().rev().take(2).rev().copied().chain(above).collect();
    let nearest = around.iter().min_by_key(|size| size.abs_diff(wanted));
    let formula = if tiers == 3 { "k^3/4" } else { "k^2/2" };
    let times = match oversubscription {
        1 => String::new(),
        times => format!(" times {times}"),
    };
    let around = around.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    Err(ScenarioError::new(
        &given.place,
        format!("no FatTree with {tiers} tiers has {wanted} hosts"),
        format!("{formula}{times} hosts with even k, such as {around}"),
    )
    .nearest(nearest.map(u64::to_string)))
}

// Transport

fn transport(root: &Node, profile: &str, topology: &Clos) -> Result<Transport, ScenarioError> {
    if let Some(config) = super::tcp::transport(root)? {
        return Ok(Transport::Tcp(config));
    }
    let Some(node) = root.at(&["transport", "cbr"]) else {
        return ndp(root, profile, topology).map(Transport::Ndp);
    };
    if let Some(asked) = root.at(&["output", "latencies"]).filter(|n| n.boolean() == Some(true)) {
        return Err(ScenarioError::new(
            &asked.place,
            "latencies of senders that hear of no arrival",
            "transport ndp",
        ));
    }
    let (payload_bytes, rate) = constant_rate(node, topology)?;
    let mut config = cbr::Config { payload_bytes, rate, clock_lag: TimeDelta::ZERO };
    let ppm = u128::from(number(node, "clock_ppm").unwrap_or(0));
    let lag = u128::from(config.gap().as_ps()) * ppm / 1_000_000;
    config.clock_lag = TimeDelta::from_ps(u64::try_from(lag).unwrap_or(u64::MAX - 1));
    Ok(Transport::Cbr(config))
}

/// Payload and rate of senders of a constant bit rate.
fn constant_rate(node: &Node, topology: &Clos) -> Result<(u16, BitRate), ScenarioError> {
    let rate = match node.child("rate") {
        Some(rate) => read(rate, quantity::rate, quantity::Quantity::Rate)?,
        None => topology.host_link.rate,
    };
    Ok((payload(node)?.unwrap_or(9000), rate))
}

/// The initial window "bdp": an idle round trip between the farthest hosts, from the first bit of a packet
/// to its ACK, in packets; and two full data queues of eight, one on the way up and one on the way down
/// (chosen: on the base model 8 + 16 = 24, the authors use 23 and 30).
fn bdp_window(topology: &Clos, payload_bytes: u16) -> u32 {
    const QUEUES: u64 = 16;
    let wire = ByteCount::new(u64::from(payload_bytes) + u64::from(Packet::HEADER_BYTES));
    let packet = topology.host_link.transmission(wire).as_ps();
    let packets = topology.idle_round_trip(payload_bytes).as_ps().div_ceil(packet);
    (packets + QUEUES).min(65_535) as u32
}

/// NDP 6.2: IW 30, 9000 B packets. The rest is chosen where its field says so.
fn ndp(root: &Node, profile: &str, topology: &Clos) -> Result<Config, ScenarioError> {
    let mut config = Config {
        initial_window: 30,
        payload_bytes: 9000,
        link_rate: topology.host_link.rate,
        framing_bytes: topology.host_link.framing_bytes,
        // What the authors' two simulators do instead of the paper's rule comes with their profile.
        pull_spacing: match profile {
            "htsim" => PullSpacing::PayloadBytes,
            "csg-htsim" => PullSpacing::WireBytesScaled { percent: 101 },
            _ => PullSpacing::WireBytes,
        },
        pull_ack: profile != "csg-htsim",
        rto: TimeDelta::from_ms(1),
        pull_repeat: TimeDelta::from_ms(1),
        backstop_unowed: TimeDelta::from_ms(1),
        backstop_owed: TimeDelta::from_ms(100),
        time_wait: TimeDelta::from_ms(1),
        pull_gaps: None,
        record_latencies: root.at(&["output", "latencies"]).and_then(Node::boolean) == Some(true),
        path_penalty: Some(PathPenalty {
            min_nacks: 10,
            min_losses: 2,
            ratio: 2,
            removal: TimeDelta::from_ms(1),
            removal_max: TimeDelta::from_ms(4),
        }),
    };
    let is_preset = root.at(&["links", "preset"]).is_some();
    let Some(node) = root.at(&["transport", "ndp"]) else {
        if is_preset {
            config.initial_window = bdp_window(topology, config.payload_bytes);
        }
        return Ok(config);
    };
    config.payload_bytes = payload(node)?.unwrap_or(config.payload_bytes);
    config.initial_window = match node.child("initial_window") {
        Some(window) if window.text().is_none() => number(node, "initial_window").unwrap_or(30),
        None if !is_preset => config.initial_window,
        _ => bdp_window(topology, config.payload_bytes),
    };
    if let Some(spacing) = node.child("pull_spacing") {
        config.pull_spacing = match (spacing.text(), number(spacing, "percent_of_wire")) {
            (Some("payload-bytes"), _) => PullSpacing::PayloadBytes,
            (None, Some(percent)) => PullSpacing::WireBytesScaled { percent },
            _ => PullSpacing::WireBytes,
        };
        config.pull_gaps = super::pull_gaps::read(spacing)?;
    }
    if let Some(pull_ack) = node.child("pull_ack").and_then(Node::boolean) {
        config.pull_ack = pull_ack;
    }
    let positive = |key: &str, field: &mut TimeDelta| -> Result<(), ScenarioError> {
        let Some(node) = node.child(key) else { return Ok(()) };
        *field = duration_of(node)?;
        if *field == TimeDelta::ZERO {
            return Err(ScenarioError::new(
                &node.place,
                "a timer of no length would expire for ever",
                "a time above zero",
            ));
        }
        Ok(())
    };
    positive("rto", &mut config.rto)?;
    positive("pull_repeat", &mut config.pull_repeat)?;
    positive("backstop_unowed", &mut config.backstop_unowed)?;
    positive("backstop_owed", &mut config.backstop_owed)?;
    if let Some(node) = node.child("time_wait") {
        config.time_wait = duration_of(node)?;
    }
    if let Some(node) = node.child("path_penalty") {
        config.path_penalty = path_penalty(node, config.path_penalty)?;
    }
    Ok(config)
}

fn path_penalty(
    node: &Node,
    default: Option<PathPenalty>,
) -> Result<Option<PathPenalty>, ScenarioError> {
    if node.boolean() == Some(false) {
        return Ok(None);
    }
    let Some(mut penalty) = default else { return Ok(None) };
    let count = |key| number(node, key).and_then(|number| u16::try_from(number).ok());
    penalty.min_nacks = count("min_nacks").unwrap_or(penalty.min_nacks);
    penalty.min_losses = count("min_losses").unwrap_or(penalty.min_losses);
    penalty.ratio = count("ratio").unwrap_or(penalty.ratio);
    if let Some(removal) = node.child("removal") {
        penalty.removal = duration_of(removal)?;
    }
    if let Some(removal_max) = node.child("removal_max") {
        penalty.removal_max = duration_of(removal_max)?;
    }
    if penalty.removal > penalty.removal_max {
        let place = node.child("removal").or(node.child("removal_max")).unwrap_or(node);
        return Err(ScenarioError::new(
            &place.place,
            "the first removal is longer than the longest",
            format!("`removal` up to `removal_max`, which is {}", penalty.removal_max),
        ));
    }
    Ok(Some(penalty))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn timeline(timeline: &str) -> Result<Plan, String> {
        let text = format!(
            "topology.star.hosts = 4\nworkload = [{{ name = \"w\", permutation = {{}}, size = \"9KB\" }}]\n\
             output.timeline = {timeline}"
        );
        let scenario = Scenario::parse("s.toml", &text, &[]).map_err(|error| error.to_string())?;
        assert!(scenario.runs[0].output.timeline);
        Ok(scenario.runs[0].plan.clone())
    }

    #[test]
    fn a_timeline_names_places_and_flows() {
        let plan = timeline("{ places = [\"host 2\"], flows = [[1, 0]], from = \"1us\" }").unwrap();
        let links = topology::links(&plan.topology);
        let host = links.iter().find(|(name, _)| name == "host 2").unwrap().1;
        assert_eq!(
            plan.timeline,
            Some(Watch {
                places: vec![host],
                flows: vec![(1, 0)],
                from: TimeDelta::from_us(1),
                to: None,
                keep_packets: false,
            })
        );
        assert_eq!(plan.engine, EngineChoice::Heap);
    }

    #[test]
    fn a_timeline_of_nothing_is_refused() {
        let refused = |text: &str| timeline(text).unwrap_err();
        assert!(refused("{}").contains("at least one of `places` and `flows`"));
        assert!(refused("{ places = [] }").contains("a timeline of nothing"));
        assert!(refused("{ places = [\"host 4\"] }").contains("nearest: host"));
        assert!(refused("{ flows = [[1, 1]] }").contains("host 1 sends to itself"));
        assert!(refused("{ flows = [[1, 4]] }").contains("host 4"));
        let backwards = "{ flows = [[1, 0]], from = \"2us\", to = \"2us\" }";
        assert!(refused(backwards).contains("ends before it begins"));
    }
}
