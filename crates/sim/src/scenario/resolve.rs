//! Resolves a checked tree into a plan: fills in defaults, and refuses mistakes that no grammar can see.

use std::num::NonZeroU16;

use trimline_packet::{BitRate, ByteCount, Packet, Pause, Telemetry, TimeDelta};
use trimline_switch::Marker;
use trimline_transport::Framing;

use super::Output;
use super::workloads::workloads;
use crate::engine::longest_run;
use crate::features::{detour, nic, phantom_queue, timeline};
use crate::keys::error::{ScenarioError, nearest};
use crate::keys::form::MAX_HOSTS;
use crate::keys::links::link;
use crate::keys::quantity;
use crate::keys::read::{duration_of, number, pair, positive, read};
use crate::keys::tree::Node;
use crate::plan::{Chosen, EngineChoice, LinkChange, LinkEvent, Need, Plan, Sampled};
use crate::topology::{self, Clos, LinkSpec, Processing};
use crate::transports::{AnyTransport, Setting, Transports, keys_of};

/// Resolves a tree that the grammar has accepted; the caller sets series and seed.
pub(super) fn resolve(root: &Node, known: &Transports) -> Result<(Plan, Output), ScenarioError> {
    let topology = topology(root)?;
    let named = Named::of(root, known)?;
    let profile = named.profile()?;
    let duration = root.child("duration").map(duration_of).transpose()?;
    if let Some(node) = root.child("duration").filter(|_| duration == Some(TimeDelta::ZERO)) {
        return Err(ScenarioError::new(&node.place, "a run of no length", "a time above zero"));
    }
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
    let transports = named.choose(profile, &topology)?;
    // Sizes in packets count the largest packet, including the payloads of workloads.
    let nodes = root.child("workload").and_then(Node::list).unwrap_or(&[]);
    let own = nodes.iter().map(super::workloads::payload).collect::<Result<Vec<_>, _>>()?;
    let own = own.into_iter().flatten().map(NonZeroU16::get).max().unwrap_or(0);
    let payload_bytes = transports.iter().map(|chosen| chosen.payload_bytes()).max().unwrap_or(0);
    let payload_bytes = payload_bytes.max(own);
    let framings = transports.iter().map(|chosen| chosen.framing());
    let framing = framings.reduce(Framing::with).unwrap_or(Framing::NDP);
    let mut links = super::links::links(root, &topology)?;
    let packets = (payload_bytes, framing);
    let switch = (profile, named.marker(topology.host_link.rate));
    let ports = super::switch::ports(root, switch, &topology, packets, &links)?;
    let answers = transports.iter().any(|chosen| chosen.answers_marks());
    let largest = framing.wire_bytes(payload_bytes);
    let is_lossless = ports.lossless.is_some();
    let detour = detour::keys::detour(root, &ports.switch, &topology, largest)?;
    last_hop_is_told(root, &transports)?;
    telemetry_has_room(root, &transports)?;
    let phantom_queues =
        phantom_queue::keys::phantom_queues(root, &topology, answers, &links.events)?;
    let pacer = nic::pacer_keys::pacer(root, &topology, largest, (answers, is_lossless))?;
    let nics = nic::keys::nics(root, topology.hosts(), largest, is_lossless)?;
    let shortest = framing.min.min(Packet::HEADER_BYTES).min(Pause::BYTES);
    within_longest(root, lookahead(&topology, &links.events, shortest))?;
    let (workloads, missing) = workloads(root, &topology, &transports, &named.places, duration)?;
    if !missing.is_empty() && links.events.is_empty() && root.child("routing_convergence").is_none()
    {
        // Links that a file lists as missing never existed.
        links.convergence = TimeDelta::ZERO;
    }
    links.events.extend(missing);
    let timeline = root.at(&["output", "timeline"]);
    let timeline = timeline.map(|node| timeline::keys::watch(node, &topology)).transpose()?;
    let series = root.at(&["output", "series"]);
    let sampled = series.map(|node| sampled(node, &topology)).transpose()?.unwrap_or_default();
    let plan = Plan {
        series: String::new(),
        seed: 0,
        switch: ports.switch,
        base: ports.base,
        droppable: ports.droppable,
        port_rules: ports.rules,
        shared_memory: ports.memory,
        lossless: ports.lossless,
        detour,
        phantom_queues,
        pacer,
        nics,
        fixed_routes: links.fixed_routes,
        topology,
        transports,
        workloads,
        duration,
        warm_up,
        link_events: links.events,
        routing_convergence: links.convergence,
        impairment: links.impairment,
        engine: match root.child("engine").and_then(Node::text) {
            _ if timeline.is_some() => EngineChoice::Heap,
            Some("heap") => EngineChoice::Heap,
            _ => EngineChoice::LookaheadWindows,
        },
        timeline,
        sample_every: series
            .map(|node| positive(node.child("every").unwrap_or(node)))
            .transpose()?,
        sampled,
    };
    let flag = |key, default| root.at(&["output", key]).and_then(Node::boolean).unwrap_or(default);
    Ok((
        plan,
        Output {
            flows: flag("flows", true),
            ports: flag("ports", false),
            links: flag("links", false),
            latencies: flag("latencies", false),
            timeline: root.at(&["output", "timeline"]).is_some(),
            fct: flag("fct", false),
            series: series.is_some(),
        },
    ))
}

/// Returns the minimum lookahead for packets of at least `shortest` bytes. It never exceeds the run's.
fn lookahead(topology: &Clos, events: &[LinkEvent], shortest: u16) -> TimeDelta {
    let links = [&topology.host_link, &topology.tor_link, &topology.aggregation_link];
    let of_event = |event: &LinkEvent| match event.change {
        LinkChange::Rate(rate) => Some(rate),
        LinkChange::Fail | LinkChange::Restore => None,
    };
    let fastest = events.iter().filter_map(of_event).max();
    let between = |link: &&LinkSpec| {
        let rate = fastest.map_or(link.rate, |rate| rate.max(link.rate));
        rate.transmission(ByteCount::new(u64::from(shortest))) + link.delay
    };
    let tiers = usize::from(topology.tiers).clamp(1, links.len());
    links[..tiers].iter().map(between).min().unwrap_or(TimeDelta::ZERO)
}

/// Refuses times that no run of this network reaches. With a duration only that counts.
fn within_longest(root: &Node, lookahead: TimeDelta) -> Result<(), ScenarioError> {
    let max = longest_run(lookahead);
    let check = |node: &Node| match duration_of(node)? {
        time if time > max => Err(ScenarioError::new(
            &node.place,
            format!("{time} with links on which a packet takes {lookahead} at least"),
            format!("at most {max}, the longest run with these links"),
        )),
        _ => Ok(()),
    };
    if let Some(duration) = root.child("duration") {
        return check(duration);
    }
    let list = |key| root.child(key).and_then(Node::list).unwrap_or(&[]).iter();
    let starts =
        list("workload").flat_map(|node| [node.child("start"), node.child("start_jitter")]);
    let changes = list("link_event").map(|node| node.child("at"));
    starts.chain(changes).flatten().try_for_each(check)
}

/// Refuses a transport that needs `last_hop` if no port has it.
fn last_hop_is_told(root: &Node, transports: &[Chosen]) -> Result<(), ScenarioError> {
    let asking = transports.iter().find_map(|one| match one.need()? {
        (key, Need::LastHop) => Some((one.name(), key)),
        (_, Need::Trimming | Need::Notification) => None,
    });
    let Some((transport, key)) = asking else { return Ok(()) };
    let notifies = |node: &Node| node.child("last_hop").and_then(Node::boolean) == Some(true);
    let switch = root.child("switch");
    let ports = switch.and_then(|switch| switch.child("port")).and_then(Node::list).unwrap_or(&[]);
    if switch.is_some_and(notifies) || ports.iter().any(notifies) {
        return Ok(());
    }
    let node = root.at(&["transport", transport, key]);
    Err(ScenarioError::new(
        &node.unwrap_or(root).place,
        format!(
            "`{key}`, and no port tells what the last hop trimmed: all of it would count as the core's"
        ),
        "a [[switch.port]] with layer = \"tor\", direction = \"down\", last_hop = true",
    ))
}

/// Refuses packets with telemetry where they may pass more ports than they have room for. Without detours the longest
/// way passes five.
fn telemetry_has_room(root: &Node, transports: &[Chosen]) -> Result<(), ScenarioError> {
    let Some(chosen) = transports.iter().find(|chosen| chosen.collects_telemetry()) else {
        return Ok(());
    };
    let longer = root.at(&["switch", "detour"]).or_else(|| root.child("fixed_route"));
    let Some(node) = longer else { return Ok(()) };
    let (name, max) = (chosen.name(), Telemetry::MAX_HOPS);
    Err(ScenarioError::new(
        &node.place,
        format!(
            "ways of any length beside `{name}`, whose packets have room for the telemetry of {max} ports"
        ),
        "shortest paths: no switch.detour and no fixed_route",
    ))
}

fn sampled(node: &Node, topology: &Clos) -> Result<Sampled, ScenarioError> {
    let list = |key| node.child(key).and_then(Node::list).unwrap_or(&[]);
    let names = topology::links(topology);
    let port = |node: &Node| {
        let link = link(node, &names)?;
        match node.text().is_some_and(|name| name.starts_with("host ")) {
            false => Ok(link),
            true => Err(ScenarioError::new(
                &node.place,
                "a host has no queue of packets",
                "a port of a switch; `flows` has what hosts do",
            )),
        }
    };
    Ok(Sampled {
        flows: list("flows")
            .iter()
            .map(|node| pair(node, topology.hosts()))
            .collect::<Result<_, _>>()?,
        ports: list("ports").iter().map(port).collect::<Result<_, _>>()?,
        pods: list("pods").iter().map(|node| pod(node, topology)).collect::<Result<_, _>>()?,
    })
}

fn pod(node: &Node, topology: &Clos) -> Result<u32, ScenarioError> {
    let pods = topology.pods;
    let given = node.integer().and_then(|pod| u32::try_from(pod).ok());
    given.filter(|&pod| pod < pods && topology.tiers == 3).ok_or_else(|| {
        let expected = match topology.tiers {
            3 => format!("0 to {}", pods - 1),
            _ => "a FatTree".to_owned(),
        };
        ScenarioError::new(&node.place, "no pod of this network", expected)
    })
}

// Topology

fn topology(root: &Node) -> Result<Clos, ScenarioError> {
    let mut clos = shape(root)?;
    super::processing::add_to(&mut clos, root)?;
    Ok(clos)
}

pub(super) fn host_rate(root: &Node) -> Result<BitRate, ScenarioError> {
    Ok(shape(root)?.host_link.rate)
}

fn shape(root: &Node) -> Result<Clos, ScenarioError> {
    let asked = root.child("topology");
    if let Some(file) = asked.and_then(|asked| asked.child("file")) {
        return super::files::topology(root, file);
    }
    let format = asked.and_then(Node::table).and_then(|table| table.find("format"));
    if let Some(format) = format {
        return Err(ScenarioError::new(
            &format.key_place,
            "`format` of a topology that is no file",
            "`file` beside `format`, or no `format`",
        ));
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
    let Some((shape, node)) = asked.and_then(one_shape) else { return Ok(clos) };
    match shape {
        Shape::FatTree => {
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
        Shape::Clos => {
            let of = |key| number(node, key).unwrap_or(1);
            clos.tiers = 3;
            clos.pods = of("pods");
            clos.tors_per_pod = of("tors_per_pod");
            clos.hosts_per_tor = of("hosts_per_tor");
            clos.aggregations_per_pod = of("aggregations_per_pod");
            clos.cores_per_aggregation = of("cores_per_aggregation");
        }
        Shape::LeafSpine => {
            clos.tiers = 2;
            clos.tors_per_pod = number(node, "leaves").unwrap_or(1);
            clos.aggregations_per_pod = number(node, "spines").unwrap_or(1);
            clos.hosts_per_tor = number(node, "hosts_per_leaf").unwrap_or(1);
        }
        Shape::Star => {
            clos.tiers = 1;
            clos.hosts_per_tor = number(node, "hosts").unwrap_or(2);
        }
        Shape::BackToBack => {}
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

/// A shape that is not from a file.
#[derive(Clone, Copy)]
enum Shape {
    FatTree,
    Clos,
    LeafSpine,
    Star,
    BackToBack,
}

const SHAPES: [(&str, Shape); 5] = [
    ("fattree", Shape::FatTree),
    ("clos", Shape::Clos),
    ("leafspine", Shape::LeafSpine),
    ("star", Shape::Star),
    ("back_to_back", Shape::BackToBack),
];

fn one_shape(topology: &Node) -> Option<(Shape, &Node)> {
    SHAPES.iter().find_map(|&(key, shape)| Some((shape, topology.child(key)?)))
}

/// Returns the hosts of a FatTree without oversubscription.
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
    // The two sizes below and the one above are offered.
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

// Transports

/// The transports of a scenario and its workloads, in the order of the tables; without a table the default one.
pub(super) struct Named<'a> {
    all: Vec<&'static dyn AnyTransport>,
    used: Vec<&'static dyn AnyTransport>,
    /// Index of each workload's transport in `used`.
    places: Vec<u8>,
    root: &'a Node,
}

impl<'a> Named<'a> {
    fn of(root: &'a Node, known: &Transports) -> Result<Named<'a>, ScenarioError> {
        let entries = root.child("transport").and_then(Node::table);
        let entries = entries.map_or(&[][..], |table| &table.entries);
        let mut all: Vec<_> = entries.iter().filter_map(|entry| known.find(&entry.key)).collect();
        if all.is_empty() {
            all.push(known.default());
        }
        let mut named = Named { all, used: Vec::new(), places: Vec::new(), root };
        let mut asked = Vec::new();
        for workload in root.child("workload").and_then(Node::list).unwrap_or(&[]) {
            asked.push(named.transport_of(workload)?.name());
        }
        named.used = named.all.clone();
        named.used.retain(|transport| asked.contains(&transport.name()));
        let place = |name: &&str| named.used.iter().position(|used| used.name() == *name);
        named.places = asked.iter().filter_map(place).map(|place| place as u8).collect();
        Ok(named)
    }

    fn transport_of(&self, workload: &Node) -> Result<&'static dyn AnyTransport, ScenarioError> {
        let names: Vec<&str> = self.all.iter().map(|transport| transport.name()).collect();
        let Some(asked) = workload.child("transport") else {
            return match self.all[..] {
                [only] => Ok(only),
                _ => Err(ScenarioError::new(
                    &workload.place,
                    "a workload without `transport` where there are several",
                    format!("`transport`: one of {}", names.join(", ")),
                )),
            };
        };
        let name = asked.text().unwrap_or_default();
        self.all.iter().copied().find(|transport| transport.name() == name).ok_or_else(|| {
            ScenarioError::new(
                &asked.place,
                format!("no table `transport.{name}`"),
                format!("one of the tables under `transport`: {}", names.join(", ")),
            )
            .nearest(nearest(name, names))
        })
    }

    /// Returns the scenario's switch profile, or the one that its transports agree on.
    fn profile(&self) -> Result<&'a str, ScenarioError> {
        if let Some(profile) = self.root.at(&["switch", "profile"]).and_then(Node::text) {
            return Ok(profile);
        }
        let profile = |used: &&'static dyn AnyTransport| used.profile(&keys_of(self.root, *used));
        let profiles: Vec<&'static str> = self.used.iter().map(profile).collect();
        if profiles.windows(2).any(|pair| pair[0] != pair[1]) {
            let each = self.used.iter().zip(&profiles);
            let each: Vec<String> =
                each.map(|(used, profile)| format!("{} {profile}", used.name())).collect();
            let node = self.root.child("transport").unwrap_or(self.root);
            return Err(ScenarioError::new(
                &node.place,
                format!("transports with different switches by default: {}", each.join(", ")),
                "`switch.profile`, which says what all of them send through",
            ));
        }
        Ok(profiles.first().copied().unwrap_or("paper"))
    }

    /// Returns the marker that the transports agree on. `None`: the profile's.
    fn marker(&self, rate: BitRate) -> Option<Marker> {
        let mut markers = self.used.iter().map(|used| used.marker(rate));
        let first = markers.next()?;
        first.filter(|_| markers.all(|marker| marker == first))
    }

    fn choose(&self, profile: &str, topology: &Clos) -> Result<Vec<Chosen>, ScenarioError> {
        let latencies = self.root.at(&["output", "latencies"]);
        let latencies = latencies.filter(|asked| asked.boolean() == Some(true));
        let setting = Setting {
            profile,
            topology,
            is_preset: self.root.at(&["links", "preset"]).is_some(),
            records_latencies: latencies.is_some(),
        };
        let choose = |transport: &&'static dyn AnyTransport| {
            if let Some((asked, why)) = latencies.zip(transport.traits().no_latencies) {
                return Err(ScenarioError::new(
                    &asked.place,
                    format!("latencies of transport {}, {why}", transport.name()),
                    "transport ndp",
                ));
            }
            transport.choose(&keys_of(self.root, *transport), &setting)
        };
        self.used.iter().map(choose).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    #[test]
    fn a_core_rate_needs_last_hop_ports() {
        let plan = |rest: &str| {
            let text = format!(
                "topology.fattree.k = 4\ntransport.ndp.core_rate = true\n{rest}\n\
                 [[workload]]\nname = \"w\"\npermutation = {{}}\nsize = \"9KB\"\n"
            );
            let scenario = Scenario::parse("s.toml", &text, &[]);
            scenario.map(|_| ()).map_err(|error| error.to_string())
        };
        let refused = plan("").unwrap_err();
        assert!(refused.starts_with("s.toml:2:27: `core_rate`, and no port tells"), "{refused}");
        assert_eq!(
            plan("[[switch.port]]\nlayer = \"tor\"\ndirection = \"down\"\nlast_hop = true"),
            Ok(())
        );
    }

    #[test]
    fn times_beyond_the_longest_run_are_refused() {
        let read = |keys: &str, links: &str| {
            let text = format!(
                "topology.star.hosts = 4\nlinks = {links}\n[[workload]]\nname = \"w\"\n\
                 permutation = {{}}\nsize = \"9KB\"\n{keys}"
            );
            Scenario::parse("s.toml", &text, &[]).map(|_| ()).map_err(|error| error.to_string())
        };
        // 2^40 lookahead windows of 2^11 ps: a header takes 1.28 ns at 400 Gb/s.
        let fast = "{ rate = \"400Gbps\", delay = \"1ns\" }";
        let refused = read("start = \"2252s\"", fast).unwrap_err();
        assert!(refused.starts_with("s.toml:7:9: "), "{refused}");
        assert!(refused.contains("expected at most 2251"), "{refused}");
        assert_eq!(read("start = \"2251s\"", fast), Ok(()));
        assert_eq!(read("start = \"900000s\"", "{}"), Ok(()));
        let refused = read("start_jitter = \"9000000s\"", "{}").unwrap_err();
        assert!(refused.contains("is too large, above 1000000s"), "{refused}");
    }

    #[test]
    fn a_format_without_a_topology_file_is_refused() {
        let workload = "[[workload]]\nname = \"w\"\npermutation = {}\nsize = \"9KB\"\n";
        for shape in ["star.hosts = 8", "back_to_back = {}"] {
            let text = format!("[topology]\nformat = \"htsim\"\n{shape}\n{workload}");
            let error = Scenario::parse("s.toml", &text, &[]).map(|_| ()).unwrap_err().to_string();
            assert_eq!(
                error,
                "s.toml:2:1: `format` of a topology that is no file (at `format`); expected `file` \
                 beside `format`, or no `format`"
            );
        }
    }
}
