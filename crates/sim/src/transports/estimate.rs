//! Estimates of the work of flows.

use trimline_transport::Framing;

use crate::plan::{Group, Plan, Work};

/// Headers per data packet while both queues are full (NDP 3.1).
const HEADERS_PER_PACKET: f64 = 10.0;

/// Estimates the work of senders without congestion control. All packets are sent; the last link carries as headers
/// what it cannot carry whole.
pub fn constant_rate(
    plan: &Plan,
    payload_bytes: u16,
    framing: Framing,
    bits_per_second: f64,
    group: &Group,
) -> Work {
    let wire_bits = f64::from(framing.wire_bytes(payload_bytes)) * 8.0;
    let sent = group.flows * group.seconds * bits_per_second / wire_bits;
    let receivers = group.flows / group.into;
    // In the time of a data packet.
    let headers = match plan.switch.queue_count() {
        1 => wire_bits / (f64::from(framing.header) * 8.0),
        _ => 1.0 + HEADERS_PER_PACKET,
    };
    let last = (sent / receivers).min(sent / group.flows * headers) * receivers;
    Work { hops: sent * (group.links - 1.0) + last, slowness: 1.0, bytes: 0.0 }
}

/// Estimates the work of flows that share and fill the hosts' links, with `acks` ACKs per packet. It ignores collisions
/// of flows that keep their paths, which reduce the work of a permutation by up to half.
pub fn windowed(
    plan: &Plan,
    payload_bytes: u16,
    framing: Framing,
    acks: f64,
    group: &Group,
) -> Work {
    let wire_bits = f64::from(framing.wire_bytes(payload_bytes)) * 8.0;
    let rate = plan.topology.host_link.rate.as_bps() as f64 / wire_bits;
    let each = group.seconds * rate / group.into.max(group.out_of).max(1.0);
    let delivered = group.flows * each.min(group.packets);
    Work { hops: delivered * group.links * (1.0 + acks), slowness: 1.0, bytes: 0.0 }
}
