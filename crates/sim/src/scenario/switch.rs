//! The service model of every switch port: a profile, and what the scenario changes in it.

use trimline_switch::model::{MarkAt, Unit};
use trimline_switch::{Action, Choices, Limit, Marker, Scheduler, ServiceModel};

use trimline_transport::Framing;

use super::error::ScenarioError;
use super::quantity::{self, Quantity, QueueSize};
use super::read::read;
use super::shared_memory;
use super::tree::Node;
use crate::plan::SharedMemory;
use crate::topology::Clos;

/// NDP 3.2.4: queues of eight packets.
const PAPER_PACKETS: u32 = 8;
/// NDP 6.1: DCTCP with 200-packet queues, marked at 30.
const ECN_PACKETS: u32 = 200;
const ECN_MARK: u32 = 30;

/// The service model of a checked scenario, and the memory that ports share.
pub(super) fn service_model(
    root: &Node,
    profile: &str,
    topology: &Clos,
    payload_bytes: u16,
    framing: Framing,
) -> Result<(ServiceModel, SharedMemory), ScenarioError> {
    let key = |key| root.at(&["switch", key]);
    let size = |key: &str| -> Result<Option<QueueSize>, ScenarioError> {
        root.at(&["switch", key])
            .map(|node| read(node, quantity::queue, Quantity::Queue))
            .transpose()
    };
    let packet_bytes = framing.wire_bytes(payload_bytes);
    let data = size("data_queue")?;
    let header = size("header_queue")?;
    let mark = size("ecn_threshold")?;
    for (name, size) in [("data_queue", data), ("header_queue", header), ("ecn_threshold", mark)] {
        // The switch counts in 32 bits.
        let bytes = match size {
            Some(QueueSize::Bytes(bytes)) => bytes,
            Some(QueueSize::Packets(packets)) => u64::from(packets) * u64::from(packet_bytes),
            None => 0,
        };
        if let Some(node) = key(name).filter(|_| bytes > u64::from(u32::MAX / 4)) {
            let most = format!("at most {} bytes", u32::MAX / 4);
            return Err(ScenarioError::new(&node.place, format!("a queue of {bytes} bytes"), most));
        }
    }

    let single = matches!(profile, "cut-payload" | "drop-tail" | "ecn");
    let default = if matches!(profile, "drop-tail" | "ecn") { ECN_PACKETS } else { PAPER_PACKETS };
    let packets = match data {
        Some(QueueSize::Packets(packets)) => packets,
        // The header queue follows the memory of the data queue.
        Some(QueueSize::Bytes(bytes)) => (bytes / u64::from(payload_bytes)).max(1) as u32,
        None => default,
    };
    let mut choices = match profile {
        "htsim" => Choices::htsim(packets, payload_bytes),
        "csg-htsim" => Choices::csg_htsim(packets, payload_bytes),
        "netfpga" => Choices::netfpga(),
        "p4" => Choices::p4(packets, payload_bytes),
        "cut-payload" => Choices::cut_payload(packets, packet_bytes),
        "drop-tail" => Choices::drop_tail(packets),
        "ecn" => Choices::ecn(packets, ECN_MARK),
        _ => Choices::paper(packets, payload_bytes),
    };
    // NDP's queues: 0 for headers, 1 for data. A single queue is both.
    let data_index = choices.queues.len() - 1;
    match data {
        Some(QueueSize::Bytes(bytes)) => {
            choices.queues[data_index].whole = Limit::bytes(bytes as u32);
            if single {
                choices.queues[0].header = Limit::bytes(bytes as u32);
            }
        }
        Some(QueueSize::Packets(packets)) if profile == "netfpga" => {
            choices.queues[data_index].whole = Limit::packets(packets);
        }
        _ => {}
    }
    let whole = choices.queues[data_index].whole;
    if whole.bytes < u32::from(packet_bytes) {
        let node = key("data_queue").or_else(|| key("profile")).unwrap_or(root);
        return Err(ScenarioError::new(
            &node.place,
            format!("the data queue holds {} B, but a packet has {packet_bytes} B", whole.bytes),
            format!("room for at least one packet, such as \"{packet_bytes}B\" or \"8pkt\""),
        ));
    }

    let two_queues = |name: &str| -> Result<Option<&Node>, ScenarioError> {
        let node = root.at(&["switch", name]);
        match node {
            Some(node) if single => Err(ScenarioError::new(
                &node.place,
                format!("`{name}` with profile \"{profile}\", which has one queue"),
                "a profile with a header queue: paper, htsim, csg-htsim, netfpga, p4",
            )),
            node => Ok(node),
        }
    };
    if two_queues("header_queue")?.is_some() {
        let limit = match header {
            Some(QueueSize::Bytes(bytes)) => Limit::bytes(bytes as u32),
            Some(QueueSize::Packets(packets)) => Limit::packets(packets),
            None => choices.queues[0].header,
        };
        (choices.queues[0].whole, choices.queues[0].header) = (limit, limit);
        // A header queue too small for one header would lose every ACK.
        if let Some(node) = key("header_queue").filter(|_| limit.bytes < u32::from(framing.least)) {
            return Err(ScenarioError::new(
                &node.place,
                "the header queue does not hold one header",
                format!("at least \"{}B\" or \"1pkt\"", framing.least),
            ));
        }
    }
    if let Some(node) = two_queues("wrr")? {
        let headers = read(node, quantity::ratio, Quantity::Ratio)?;
        choices.scheduler =
            Scheduler::WeightedRoundRobin { weights: [headers, 1, 0, 0, 0, 0, 0, 0] };
    }
    if let Some(node) = two_queues("coin")? {
        let action =
            if node.boolean() == Some(true) { Action::TrimByCoin } else { Action::TrimArriving };
        choices.queues[data_index].overflow = vec![action];
    }
    if let Some(node) = two_queues("return_to_sender")? {
        let action = if node.boolean() == Some(true) { Action::Return } else { Action::Drop };
        choices.queues[0].overflow = vec![action];
    }
    for name in ["ecn_threshold", "ecn_mark_at", "ecn_count_self"] {
        if let Some(node) = key(name).filter(|_| profile != "ecn") {
            return Err(ScenarioError::new(
                &node.place,
                format!("`{name}` with profile \"{profile}\", which does not mark"),
                "profile \"ecn\"",
            ));
        }
    }
    if profile == "ecn" {
        let (unit, above) = match mark {
            Some(QueueSize::Bytes(bytes)) => (Unit::Bytes, bytes as u32),
            Some(QueueSize::Packets(packets)) => (Unit::Packets, packets),
            None => (Unit::Packets, ECN_MARK),
        };
        let at = match key("ecn_mark_at").and_then(Node::text) {
            Some("dequeue") => MarkAt::Dequeue,
            _ => MarkAt::Enqueue,
        };
        let count_self = key("ecn_count_self").and_then(Node::boolean) == Some(true);
        choices.queues[0].marker = Marker::Threshold { unit, above, count_self, at };
    }
    let memory = shared_memory::share(root, profile, topology, packet_bytes, &mut choices)?;
    let model = choices.build().map_err(|error| {
        let node = root.child("switch").unwrap_or(root);
        ScenarioError::new(&node.place, error.to_string(), "a switch that can send")
    })?;
    Ok((model, memory))
}
