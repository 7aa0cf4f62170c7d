//! Topologies and flows that a scenario reads from files of other simulators.

use std::collections::BTreeMap;
use std::path::Path;

use trimline_packet::{ByteCount, TimeDelta};

use super::priorities;
use crate::formats::connection_matrix::{self, Connection, Start};
use crate::formats::{hpcc, htsim_topology};
use crate::keys::error::ScenarioError;
use crate::keys::quantity::LONGEST;
use crate::keys::read::{few_packets, in_file, text_of};
use crate::keys::tree::Node;
use crate::plan::{LinkChange, LinkEvent, Listed, ListedFlow, ListedStart};
use crate::topology::{self, Clos};

fn is_htsim(parent: Option<&Node>, file: &Node, extensions: &[&str]) -> bool {
    match parent.and_then(|parent| parent.child("format")).and_then(Node::text) {
        Some(format) => format == "htsim",
        None => {
            let name = Path::new(file.text().unwrap_or_default());
            name.extension().is_some_and(|found| {
                extensions.iter().any(|extension| found.eq_ignore_ascii_case(extension))
            })
        }
    }
}

fn says_more_than_framing(links: &Node) -> bool {
    let entries = links.table().map_or(&[][..], |table| &table.entries);
    entries.iter().any(|entry| match entry.node.table() {
        Some(_) => says_more_than_framing(&entry.node),
        None => entry.key != "framing",
    })
}

pub(super) fn topology(root: &Node, file: &Node) -> Result<Clos, ScenarioError> {
    // Files of other simulators never give the framing of their links.
    if let Some(links) = root.child("links").filter(|links| says_more_than_framing(links)) {
        return Err(ScenarioError::new(
            &links.place,
            "links beside a topology that says its own",
            "rates and delays in the file of the topology, and `framing` alone here",
        ));
    }
    let (name, text) = text_of(file, "a topology of htsim (.topo) or HPCC")?;
    let clos = match is_htsim(root.child("topology"), file, &["topo"]) {
        true => htsim_topology::parse(&name, &text).map(|read| read.clos),
        false => hpcc::topology(&name, &text),
    };
    clos.map_err(|error| in_file(file, &error))
}

/// Returns the hosts' numbers in HPCC's files, if they differ from Trimline's.
fn numbers_of_hosts(root: &Node) -> Result<Option<Vec<u32>>, ScenarioError> {
    let topology = root.child("topology");
    let file = topology.and_then(|topology| topology.child("file"));
    let Some(file) = file.filter(|file| !is_htsim(topology, file, &["topo"])) else {
        return Ok(None);
    };
    let (name, text) = text_of(file, "a topology of HPCC")?;
    let numbers = hpcc::host_numbers(&name, &text).map_err(|error| in_file(file, &error))?;
    Ok(Some(numbers).filter(|numbers| numbers.last() != Some(&(numbers.len() as u32 - 1))))
}

/// Reads the flows of a `workload.file`, and its missing links.
pub(super) fn flows(
    root: &Node,
    node: &Node,
    file: &Node,
    clos: &Clos,
    payload_bytes: u16,
    duration: Option<TimeDelta>,
) -> Result<(Listed, Vec<LinkEvent>), ScenarioError> {
    let (name, text) = text_of(file, "flows of htsim (.cm) or HPCC")?;
    let hosts = clos.hosts();
    let outside = |line: usize, what: String| {
        ScenarioError::new(
            &file.place,
            format!("{name}:{line}: {what}"),
            format!("a file for {hosts} hosts, 0 to {}", hosts - 1),
        )
    };
    let (listed, missing) = if is_htsim(Some(node), file, &["cm", "tm"]) {
        let matrix = connection_matrix::parse(&name, &text).map_err(|e| in_file(file, &e))?;
        if matrix.nodes != hosts {
            return Err(outside(1, format!("`Nodes {}` in a network of {hosts}", matrix.nodes)));
        }
        let endless = matrix.connections.iter().find(|connection| connection.size.is_none());
        if let (Some(endless), None) = (endless, duration) {
            let Connection { source, destination, line, .. } = endless;
            let problem = format!(
                "{name}:{line}: `{source}->{destination} size 0` sends until the end of the run, and nothing says when \
                 that is"
            );
            let expected =
                "`duration` in the scenario, or --set duration=1ms (as htsim's -end 1000)";
            return Err(ScenarioError::new(&file.place, problem, expected));
        }
        let numbers: BTreeMap<u32, u32> = matrix.triggers.keys().copied().zip(0..).collect();
        let number = |trigger: Option<u32>| trigger.and_then(|id| numbers.get(&id).copied());
        let classes = priorities::classes(node, file, &name, &matrix.connections)?;
        let flows = matrix.connections.iter().zip(classes).map(|(connection, class)| ListedFlow {
            class,
            id: connection.id,
            source: connection.source,
            destination: connection.destination,
            size: connection.size,
            start: match connection.start {
                Start::At(at) => ListedStart::At(at),
                Start::Trigger(id) => ListedStart::Trigger(numbers.get(&id).copied().unwrap_or(0)),
            },
            on_acknowledged: number(connection.send_done_trigger),
            on_delivered: number(connection.recv_done_trigger),
        });
        let triggers = matrix.triggers.values().map(|line| line.trigger);
        let listed = Listed { flows: flows.collect(), triggers: triggers.collect() };
        let links = if matrix.failures.is_empty() { Vec::new() } else { topology::links(clos) };
        let mut missing = Vec::new();
        for failure in &matrix.failures {
            let link = format!("aggregation {} up {}", failure.switch, failure.link);
            let Some(&(_, link)) = links.iter().find(|(name, _)| *name == link) else {
                let problem = format!("{name}:{}: no link `{link}`", failure.line);
                return Err(ScenarioError::new(&file.place, problem, "a link of the topology"));
            };
            missing.push(LinkEvent {
                at: TimeDelta::ZERO,
                link,
                both_directions: true,
                change: LinkChange::Fail,
            });
        }
        (listed, missing)
    } else {
        let mut flows = hpcc::flows(&name, &text).map_err(|error| in_file(file, &error))?;
        if let Some(numbers) = numbers_of_hosts(root)? {
            for flow in &mut flows {
                let line = flow.line;
                for host in [&mut flow.source, &mut flow.destination] {
                    let place = numbers.binary_search(host).map_err(|_| {
                        let problem = format!("{name}:{line}: node {host} is no host");
                        ScenarioError::new(&file.place, problem, "a host of the topology's file")
                    })?;
                    *host = place as u32;
                }
            }
        }
        let beyond = flows.iter().find(|flow| flow.source.max(flow.destination) >= hosts);
        if let Some(flow) = beyond {
            let host = flow.source.max(flow.destination);
            return Err(outside(flow.line, format!("host {host} in a network of {hosts}")));
        }
        let flows = flows.iter().map(|flow| ListedFlow {
            id: None,
            source: flow.source,
            destination: flow.destination,
            size: Some(flow.size),
            class: None,
            start: ListedStart::At(flow.start),
            on_acknowledged: None,
            on_delivered: None,
        });
        (Listed { flows: flows.collect(), triggers: Vec::new() }, Vec::new())
    };
    let beyond = |flow: &&ListedFlow| match flow.start {
        ListedStart::At(at) => at > LONGEST,
        ListedStart::Trigger(_) => false,
    };
    if let Some(late) = listed.flows.iter().find(beyond) {
        let problem =
            format!("{name}: {}->{} starts after {LONGEST}", late.source, late.destination);
        return Err(ScenarioError::new(&file.place, problem, "flows that start before"));
    }
    if listed.flows.is_empty() {
        return Err(outside(1, "no flows".to_owned()));
    }
    let sizes = listed.flows.iter().filter_map(|flow| flow.size);
    let largest = sizes.map(ByteCount::get).max().unwrap_or(1);
    few_packets(file, largest, payload_bytes)?;
    Ok((listed, missing))
}
