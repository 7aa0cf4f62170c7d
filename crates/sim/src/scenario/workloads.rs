//! Resolves checked `workload` tables into workloads.

use std::collections::BTreeSet;
use std::num::NonZeroU16;

use trimline_packet::{ByteCount, TimeDelta};

use super::random_matrix;
use crate::keys::error::ScenarioError;
use crate::keys::quantity;
use crate::keys::read::{duration_of, excluded, few_packets, host, number, pair, positive, read};
use crate::keys::tree::Node;
use crate::plan::{
    Arrivals, Choose, Chosen, Connection, Gap, LinkEvent, Matrix, Pool, Queries, Receivers,
    Servers, Size, Spraying, WhenBusy, Workload,
};
use crate::topology::{Clos, UpLinks};
use crate::workload::REQUEST;

/// Returns the workloads, and missing links of their files. `places` are the indices of their transports.
pub(super) fn workloads(
    root: &Node,
    topology: &Clos,
    transports: &[Chosen],
    places: &[u8],
    duration: Option<TimeDelta>,
) -> Result<(Vec<Workload>, Vec<LinkEvent>), ScenarioError> {
    let hosts = topology.hosts();
    let mut workloads: Vec<Workload> = Vec::new();
    let mut names: BTreeSet<String> = BTreeSet::new();
    let mut missing = Vec::new();
    let nodes = root.child("workload").and_then(Node::list).unwrap_or(&[]);
    for (node, &place) in nodes.iter().zip(places) {
        let name = node.child("name").and_then(Node::text).unwrap_or_default();
        let payload = payload(node)?;
        let transport = &with_payload(node, &transports[usize::from(place)], payload)?;
        let time = |key| node.child(key).map(duration_of).transpose();
        let (matrix, size) = match node.child("file") {
            Some(file) => {
                if let Some(stray) = node.child("size").or(node.child("arrivals")) {
                    return Err(ScenarioError::new(
                        &stray.place,
                        "a file lists every flow with its size and start",
                        "`file` without `size` and `arrivals`",
                    ));
                }
                if duration.is_none() {
                    refuse_endless(file, transport, "`duration` in the scenario")?;
                }
                let payload = transport.payload_bytes();
                let (listed, links) =
                    super::files::flows(root, node, file, topology, payload, duration)?;
                missing.extend(links);
                (Matrix::Listed(listed.into()), REQUEST)
            }
            None => {
                let (matrix, size) = (matrix(node, hosts)?, size(node, transport, duration)?);
                match node.child("partition_aggregate") {
                    Some(ask) => super::queries::grouped(ask, node, matrix, size)?,
                    None => (matrix, size),
                }
            }
        };
        let start = time("start")?.unwrap_or(TimeDelta::ZERO);
        let workload = Workload {
            name: name.to_owned(),
            arrivals: arrivals(node, &matrix, &size, topology, duration)?,
            connection: connection(node, &size, transport)?,
            matrix,
            size,
            start,
            start_jitter: time("start_jitter")?.unwrap_or(TimeDelta::ZERO),
            class: number(node, "class").unwrap_or(0) as u8,
            spraying: spraying(node, transport)?,
            transport: place,
            payload,
        };
        let mut made = vec![workload];
        if let Some(ask) = node.child("partition_aggregate") {
            refuse_endless(ask, transport, "a long-lived matrix")?;
            made = with_answers(ask, made.remove(0), transport)?;
        }
        for workload in made {
            if !names.insert(workload.name.clone()) {
                let place = node.child("name").unwrap_or(node);
                return Err(ScenarioError::new(
                    &place.place,
                    format!("a second workload named `{}`", workload.name),
                    "a name of its own for every workload",
                ));
            }
            workloads.push(workload);
        }
    }
    Ok((workloads, missing))
}

pub(super) fn payload(node: &Node) -> Result<Option<NonZeroU16>, ScenarioError> {
    Ok(crate::keys::read::payload(node)?.and_then(NonZeroU16::new))
}

fn with_payload(
    node: &Node,
    transport: &Chosen,
    payload: Option<NonZeroU16>,
) -> Result<Chosen, ScenarioError> {
    let Some(payload) = payload else { return Ok(transport.clone()) };
    transport.with_payload(payload.get()).map_err(|why| {
        ScenarioError::new(
            &node.child("payload").unwrap_or(node).place,
            format!("a payload of a workload with transport {}, {why}", transport.name()),
            format!("`payload` in transport.{}, for all workloads", transport.name()),
        )
    })
}

fn spraying(node: &Node, transport: &Chosen) -> Result<Spraying, ScenarioError> {
    let Some(asked) = node.child("spraying") else { return Ok(Spraying::SenderPermuted) };
    let (own, own_words) = match transport.traits().keeps_paths {
        true => ("per-flow", "\"per-flow\", \"per-pair\""),
        false => ("sender-permuted", "\"sender-permuted\""),
    };
    match asked.text() {
        Some("switch-random") => Ok(Spraying::SwitchRandom),
        Some("per-pair") if own == "per-flow" => Ok(Spraying::PerPair),
        Some(word) if word != own => Err(ScenarioError::new(
            &asked.place,
            format!("\"{word}\" paths, which this transport does not choose"),
            format!("{own_words} or \"switch-random\""),
        )),
        _ => Ok(Spraying::SenderPermuted),
    }
}

fn connection(node: &Node, size: &Size, transport: &Chosen) -> Result<Connection, ScenarioError> {
    let Some(asked) = node.child("connection") else { return Ok(Connection::New) };
    let persistent = match (asked.table(), asked.text()) {
        (Some(_), _) => Connection::Pool(pool(asked)),
        (None, Some("persistent")) => Connection::Persistent,
        (None, _) => return Ok(Connection::New),
    };
    let refuse =
        |problem: &str, expected: &str| Err(ScenarioError::new(&asked.place, problem, expected));
    if node.child("file").is_some() {
        let expected = "\"persistent\" without `file`, or \"new\"";
        return refuse("a persistent connection for a file, whose flows have their own", expected);
    }
    if matches!(size, Size::LongLived) {
        let expected = "a `size`, or \"new\"";
        return refuse(
            "a persistent connection for a long-lived flow, which none can follow",
            expected,
        );
    }
    if !transport.takes_messages() {
        let problem = format!(
            "a persistent connection of {}, which sends one flow on each",
            transport.name()
        );
        return refuse(&problem, "\"new\" with this transport");
    }
    Ok(persistent)
}

fn pool(node: &Node) -> Pool {
    let when_busy = match node.child("when_busy").and_then(Node::text) {
        Some("least-busy") => WhenBusy::LeastBusy,
        _ => WhenBusy::Wait,
    };
    let each = number(node, "each").and_then(|each| u16::try_from(each).ok()).unwrap_or(1);
    Pool { each, when_busy }
}

/// Returns the answers, after their requests as another workload.
fn with_answers(
    node: &Node,
    answers: Workload,
    transport: &Chosen,
) -> Result<Vec<Workload>, ScenarioError> {
    let size = match node.child("request") {
        Some(request) => Size::Fixed(sized(request, transport)?),
        None => REQUEST,
    };
    let requests = Workload { name: format!("{}-requests", answers.name), size, ..answers.clone() };
    Ok(vec![requests, Workload { matrix: Matrix::Responses, ..answers }])
}

fn refuse_endless(node: &Node, transport: &Chosen, expected: &str) -> Result<(), ScenarioError> {
    if transport.traits().ends_flows {
        return Ok(());
    }
    Err(ScenarioError::new(
        &node.place,
        "a flow that resends nothing and may never be whole",
        format!("{expected} with transport {}", transport.name()),
    ))
}

fn arrivals(
    node: &Node,
    matrix: &Matrix,
    size: &Size,
    topology: &Clos,
    duration: Option<TimeDelta>,
) -> Result<Arrivals, ScenarioError> {
    let Some(table) = node.child("arrivals") else { return Ok(Arrivals::Once) };
    if matches!(size, Size::LongLived) {
        return Err(ScenarioError::new(
            &table.place,
            "long-lived flows that follow each other",
            "a `size` with arrivals",
        ));
    }
    let until = |table: &Node| match (table.child("until"), duration) {
        (Some(until), _) => duration_of(until),
        (None, Some(duration)) => Ok(duration),
        (None, None) => Err(ScenarioError::new(
            &table.place,
            "arrivals without end",
            "`until`, or `duration` in the scenario",
        )),
    };
    if let Some(poisson) = table.child("poisson") {
        let mean = match poisson.child("load") {
            Some(load) => by_load(load, matrix, size, topology)?,
            None => positive(poisson.child("every").unwrap_or(poisson))?,
        };
        return Ok(Arrivals::Poisson { mean, until: until(poisson)? });
    }
    if let Some(periodic) = table.child("periodic") {
        let every = positive(periodic.child("every").unwrap_or(periodic))?;
        return Ok(Arrivals::Periodic { every, until: until(periodic)? });
    }
    let Some(closed) = table.child("closed_loop") else { return Ok(Arrivals::Once) };
    if matches!(matrix, Matrix::Incast { .. } | Matrix::RandomIncast { .. }) {
        return Err(ScenarioError::new(
            &closed.place,
            "senders that wait for each other",
            "`partition_aggregate`, where the receiver asks and waits",
        ));
    }
    let count = number(closed, "count");
    if count.is_none() && duration.is_none() {
        return Err(ScenarioError::new(
            &closed.place,
            "a closed loop without end",
            "`count`, or `duration` in the scenario",
        ));
    }
    let gap = match (closed.child("mean_gap"), closed.child("median_gap")) {
        (Some(mean), _) => Gap::Exponential(positive(mean)?),
        (_, Some(median)) => {
            // The mean of an exponential is its median over ln 2.
            const ONE_OVER_LN_2: u128 = 1_442_695_040_888_963;
            let ps = u128::from(positive(median)?.as_ps()) * ONE_OVER_LN_2 / 1_000_000_000_000_000;
            Gap::Exponential(TimeDelta::from_ps(u64::try_from(ps).unwrap_or(u64::MAX / 2)))
        }
        _ => Gap::Fixed(duration_of(closed.child("gap").unwrap_or(closed))?),
    };
    Ok(Arrivals::ClosedLoop { gap, count })
}

/// Returns the mean gap at which payload is a given fraction of the capacity of links: each source's; with incasts the
/// receiver's; with random receivers all hosts'; with queries each client's, by the answers.
fn by_load(
    load: &Node,
    matrix: &Matrix,
    size: &Size,
    topology: &Clos,
) -> Result<TimeDelta, ScenarioError> {
    let value = load.child("value").unwrap_or(load);
    let billionths = read(value, quantity::share, quantity::Quantity::Share)?;
    let wrong = |problem: &str| Err(ScenarioError::new(&load.place, problem, "a load above 0%"));
    if billionths == 0 {
        return wrong("nothing ever arrives");
    }
    let (flows, links) = match matrix {
        Matrix::Incast { senders, .. } => (*senders, 1),
        Matrix::RandomIncast { senders, receivers, excluding } => {
            (*senders, receivers.count(topology.hosts(), excluding))
        }
        Matrix::Requests(Queries { servers: Servers::Fixed(servers), .. }) => (*servers, 1),
        _ => (1, 1),
    };
    let each = match matrix {
        // All answers to a query together.
        Matrix::Requests(Queries { servers: Servers::Groups(groups), .. }) => {
            Some(groups.mean_millibytes())
        }
        _ => size.mean_millibytes(),
    };
    let millibytes = u128::from(each.unwrap_or(0)) * u128::from(flows);
    // Seconds are millibytes / 1000 * 8 / (rate * billionths / 1e9).
    let Rate { bits_per_second, hosts } = rate_for_one(load, matrix, topology)?;
    let below = u128::from(bits_per_second) * u128::from(billionths) * u128::from(links);
    let above = (millibytes * 8).checked_mul(1_000_000_000_000_000_000);
    let mean = above.and_then(|above| above.checked_mul(u128::from(hosts.0)));
    let mean = mean.map(|above| above / below / u128::from(hosts.1));
    match mean.and_then(|mean| u64::try_from(mean).ok()).filter(|&ps| ps <= u64::MAX / 2) {
        Some(ps @ 1..) => Ok(TimeDelta::from_ps(ps)),
        _ => wrong("flows too small or too large for this load"),
    }
}

struct Rate {
    bits_per_second: u64,
    /// Number of hosts that fill these links at this rate, as a fraction: only part of each host's traffic crosses them.
    hosts: (u64, u64),
}

/// Returns the links that `load` refers to, and the hosts that fill them.
fn rate_for_one(load: &Node, matrix: &Matrix, topology: &Clos) -> Result<Rate, ScenarioError> {
    let own = Rate { bits_per_second: topology.host_link.rate.as_bps(), hosts: (1, 1) };
    let Some(of) = load.child("of") else { return Ok(own) };
    let asked = of.text().unwrap_or_default();
    if asked == "hosts" {
        return Ok(own);
    }
    let wrong =
        |problem: String, expected: &str| Err(ScenarioError::new(&of.place, problem, expected));
    let is_even = match matrix {
        Matrix::Permutation | Matrix::AllToAll => true,
        Matrix::Random { excluding, .. } => excluding.is_empty(),
        Matrix::RandomPairs { .. }
        | Matrix::Incast { .. }
        | Matrix::RandomIncast { .. }
        | Matrix::Outcast { .. }
        | Matrix::Pairs(_)
        | Matrix::Listed(_)
        | Matrix::Requests(_)
        | Matrix::Responses => false,
    };
    if !is_even {
        return wrong(
            format!("load of \"{asked}\" where hosts do not all send alike"),
            "`random` without `excluding`, `permutation` or `all_to_all`; or a load of \"hosts\"",
        );
    }
    let all = u64::from(topology.hosts());
    let shared = |links: UpLinks| {
        let below = u64::from(links.hosts_below);
        Rate { bits_per_second: links.bits_per_second, hosts: (below * (all - below), all - 1) }
    };
    let of_tier =
        |name: &str| topology.shared_up_links().into_iter().find(|links| links.switches == name);
    let for_each = |rate: &Rate| {
        u128::from(rate.bits_per_second) * u128::from(rate.hosts.1) * 1_000_000
            / u128::from(rate.hosts.0)
    };
    let tier = match asked {
        "uplinks" => of_tier("ToR"),
        "core" => of_tier("aggregation"),
        "bottleneck" => {
            let tiers =
                topology.shared_up_links().into_iter().map(shared).filter(|it| it.hosts.0 > 0);
            return Ok(tiers.chain([own]).min_by_key(for_each).expect("hosts have links"));
        }
        other => unreachable!("the grammar takes no `{other}`"),
    };
    match tier.map(shared).filter(|rate| rate.hosts.0 > 0) {
        Some(rate) => Ok(rate),
        None => wrong(
            format!("no flow crosses links of \"{asked}\" in this topology"),
            "a topology that has this tier, or a load of \"hosts\" or \"bottleneck\"",
        ),
    }
}

fn size(
    parent: &Node,
    transport: &Chosen,
    duration: Option<TimeDelta>,
) -> Result<Size, ScenarioError> {
    let Some(node) = parent.child("size") else {
        return Err(ScenarioError::new(
            &parent.place,
            "missing key `size`",
            "`size`: bytes, \"long-lived\" or a distribution",
        ));
    };
    if node.text() == Some("long-lived") {
        return match duration {
            Some(_) if parent.child("partition_aggregate").is_none() => Ok(Size::LongLived),
            Some(_) => Err(ScenarioError::new(
                &node.place,
                "an answer without end",
                "the size of an answer",
            )),
            None => Err(ScenarioError::new(
                &node.place,
                "a long-lived flow in a run without `duration` never ends",
                "a size, or `duration` in the scenario",
            )),
        };
    }
    if duration.is_none() {
        refuse_endless(node, transport, "\"long-lived\", or `duration` in the scenario,")?;
    }
    if node.table().is_some() {
        return crate::distributions::drawn(node, transport.payload_bytes());
    }
    sized(node, transport).map(Size::Fixed)
}

fn sized(node: &Node, transport: &Chosen) -> Result<ByteCount, ScenarioError> {
    let size = read(node, quantity::bytes, quantity::Quantity::Bytes)?;
    few_packets(node, size.get(), transport.payload_bytes())?;
    Ok(size)
}

fn matrix(node: &Node, hosts: u32) -> Result<Matrix, ScenarioError> {
    if let Some(incast) = node.child("incast") {
        return incast_matrix(incast, hosts);
    }
    if let Some(outcast) = node.child("outcast") {
        return outcast_matrix(outcast, hosts);
    }
    if let Some(random) = node.child("random") {
        return random_matrix::random(random, hosts);
    }
    if let Some(all) = node.child("all_to_all") {
        let flows = u64::from(hosts) * u64::from(hosts - 1);
        return random_matrix::few(all, hosts, flows, Matrix::AllToAll);
    }
    if let Some(ask) = node.child("partition_aggregate") {
        return super::queries::queries(ask, hosts);
    }
    let Some(list) = node.child("pairs") else { return Ok(Matrix::Permutation) };
    let pairs = list.list().unwrap_or(&[]).iter().map(|node| pair(node, hosts));
    let pairs = pairs.collect::<Result<Vec<_>, _>>()?;
    if pairs.is_empty() {
        return Err(ScenarioError::new(&list.place, "no pairs", "at least one pair"));
    }
    Ok(Matrix::Pairs(pairs))
}

fn choose(node: &Node) -> Choose {
    match node.child("choose").and_then(Node::text) {
        Some("last") => Choose::Last,
        _ => Choose::Random,
    }
}

fn outcast_matrix(node: &Node, hosts: u32) -> Result<Matrix, ScenarioError> {
    let sender = node.child("sender").map_or(Ok(0), |node| host(node, hosts))?;
    let receivers = number(node, "receivers").unwrap_or(0);
    if receivers > hosts - 1 {
        let place = node.child("receivers").unwrap_or(node);
        return Err(ScenarioError::new(
            &place.place,
            format!("{receivers} receivers among {} other hosts", hosts - 1),
            format!("at most {} receivers", hosts - 1),
        )
        .nearest(Some((hosts - 1).to_string())));
    }
    Ok(Matrix::Outcast { sender, receivers, choose: choose(node) })
}

fn incast_matrix(node: &Node, hosts: u32) -> Result<Matrix, ScenarioError> {
    let given = node.child("receiver").filter(|receiver| receiver.integer().is_some());
    let receivers = if given.is_some() { None } else { Some(receivers(node, hosts)?) };
    if let (None, Some(stray)) = (given, node.child("choose")) {
        return Err(ScenarioError::new(
            &stray.place,
            "a choice of senders for a receiver that is drawn",
            "`choose` only with a receiver that is given",
        ));
    }
    if let (Some(_), Some(stray)) = (given, node.child("each")) {
        return Err(ScenarioError::new(
            &stray.place,
            "`each` beside one receiver",
            "`receiver`: a list of hosts, from which one is drawn",
        ));
    }
    let receiver = given.map(|node| host(node, hosts)).transpose()?;
    let excluding = excluded(node, hosts)?;
    let senders = number(node, "senders").unwrap_or(0);
    let set = receivers.as_ref().map_or(&[][..], Receivers::set);
    let stays =
        |host: &u32| Some(*host) == receiver || set.contains(host) || excluding.contains(host);
    // If any host may receive, the receiver may be a host that could have sent.
    let drawn_from_all = u32::from(receiver.is_none() && set.is_empty());
    let others = (0..hosts).filter(|host| !stays(host)).count() as u32;
    let others = others.saturating_sub(drawn_from_all);
    if senders > others {
        let place = node.child("senders").unwrap_or(node);
        return Err(ScenarioError::new(
            &place.place,
            format!("{senders} senders among {others} other hosts"),
            format!("at most {others} senders"),
        )
        .nearest(Some(others.to_string())));
    }
    Ok(match (receiver, receivers) {
        (Some(receiver), _) => {
            Matrix::Incast { receiver, senders, excluding, choose: choose(node) }
        }
        (None, receivers) => Matrix::RandomIncast {
            senders,
            receivers: receivers.unwrap_or(Receivers::Any),
            excluding,
        },
    })
}

fn receivers(node: &Node, hosts: u32) -> Result<Receivers, ScenarioError> {
    let by_sender = node.child("each").and_then(Node::text) == Some("sender");
    let listed = node.child("receiver").and_then(Node::list);
    let Some(listed) = listed else {
        return match node.child("each") {
            Some(stray) => Err(ScenarioError::new(
                &stray.place,
                "`each` without a list of receivers",
                "`receiver`: a list of hosts, from which one is drawn",
            )),
            None => Ok(Receivers::Any),
        };
    };
    let set: Result<BTreeSet<u32>, _> = listed.iter().map(|node| host(node, hosts)).collect();
    let set: Vec<u32> = set?.into_iter().collect();
    if set.is_empty() {
        return Err(ScenarioError::new(
            &node.child("receiver").unwrap_or(node).place,
            "nobody receives",
            "at least one host",
        ));
    }
    Ok(if by_sender { Receivers::EachOneOf(set) } else { Receivers::OneOf(set) })
}
