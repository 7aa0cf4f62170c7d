//! The records of a run: one per port, link and host, and one of the whole run.

use serde::{Deserialize, Serialize};
use trimline_packet::PortCounters;

use crate::flow::Name;
use crate::flow_store::FlowStore;
use crate::place::{LinkPlace, PortPlace};
use crate::samples::Samples;
use crate::timeline::Timeline;

impl PortRecord {
    /// Layer and place, for example `tor 3 down 2`.
    pub fn name(&self) -> String {
        self.place.to_string()
    }
}

/// Links between hosts and switches at the start of the run, and a full data packet on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct HostLink {
    /// Rate in bit/s.
    pub rate_bps: u64,
    /// Payload of a full data packet in bytes.
    pub payload_bytes: u64,
    /// Bytes on the wire of a data packet besides its payload.
    pub header_bytes: u64,
}

impl HostLink {
    /// Time that a flow of `size_bytes` occupies this link, headers included, in picoseconds.
    pub fn busy_ps(&self, size_bytes: u64) -> u64 {
        let packets = size_bytes.div_ceil(self.payload_bytes.max(1)).max(1);
        let bytes = u128::from(size_bytes) + u128::from(packets) * u128::from(self.header_bytes);
        let ps = bytes * 8_000_000_000_000 / u128::from(self.rate_bps.max(1));
        u64::try_from(ps).unwrap_or(u64::MAX)
    }
}

/// Counters of one output port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortRecord {
    /// Place of the port; its text is the port's name.
    pub place: PortPlace,
    /// Counters of the port.
    pub counters: PortCounters,
    /// Rate of its link at the start, in bit/s.
    pub rate_bps: u64,
}

/// Gives direct access to the counters: `port.trimmed`.
impl std::ops::Deref for PortRecord {
    type Target = PortCounters;
    fn deref(&self) -> &PortCounters {
        &self.counters
    }
}

/// Packets that a link did not deliver, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct LinkCounters {
    /// Lost because the link was down.
    pub failed: u64,
    /// Lost by chance.
    pub lost: u64,
    /// Damaged, and discarded at the far end.
    pub corrupted: u64,
}

impl LinkCounters {
    /// Names of all counters, as columns.
    pub const NAMES: [&'static str; 3] = ["failed", "lost", "corrupted"];

    /// Returns all counters, in the order of [`LinkCounters::NAMES`].
    pub fn values(&self) -> [u64; 3] {
        [self.failed, self.lost, self.corrupted]
    }

    /// Adds the counters of another link.
    pub fn add(&mut self, other: &LinkCounters) {
        self.failed += other.failed;
        self.lost += other.lost;
        self.corrupted += other.corrupted;
    }
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRecord {
    /// The sending port or host; its text is the link's name.
    pub place: LinkPlace,
    /// Packets that the link did not deliver.
    pub counters: LinkCounters,
    /// Rate at the start, in bit/s.
    pub rate_bps: u64,
}

/// Priority flow control on one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseRecord {
    /// The sending port or host.
    pub place: LinkPlace,
    /// Pause frames sent to the far end.
    pub sent: u64,
    /// Pause frames received from the far end.
    pub received: u64,
    /// Time that any class was paused, in picoseconds.
    pub stopped_ps: u64,
}

/// Counters between a host's transport and its link: NIC queue, processors, pacer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// Packets that the transport handed over.
    pub sent: u64,
    /// Bursts handed to the NIC (large send offload).
    pub bursts: u64,
    /// Packets dropped by a full NIC queue.
    pub queue_dropped: u64,
    /// Processor time for bursts, in picoseconds.
    pub sending_ps: u64,
    /// Frames that entered the NIC's ring.
    pub frames: u64,
    /// Frames dropped by a full ring.
    pub ring_dropped: u64,
    /// Interrupts.
    pub interrupts: u64,
    /// Times that a processor took frames, merged frames of a flow counted once.
    pub taken: u64,
    /// Processor time for arrivals, in picoseconds.
    pub receiving_ps: u64,
    /// Packets that passed the pacer at once.
    pub passed: u64,
    /// Packets that the pacer queued.
    pub paced: u64,
    /// Packets dropped by the pacer's full FIFO.
    pub pacer_dropped: u64,
    /// Times that a flow was associated with the pacer.
    pub associated: u64,
    /// Times that an association failed because the pacer's table was full.
    pub refused: u64,
    /// Packets that the link's phantom queue marked.
    pub marked: u64,
}

impl HostCounters {
    /// Names of all counters, as columns.
    pub const NAMES: [&'static str; 15] = [
        "sent",
        "bursts",
        "queue_dropped",
        "sending_ps",
        "frames",
        "ring_dropped",
        "interrupts",
        "taken",
        "receiving_ps",
        "passed",
        "paced",
        "pacer_dropped",
        "associated",
        "refused",
        "marked",
    ];

    /// Returns all counters, in the order of [`HostCounters::NAMES`].
    pub fn values(&self) -> [u64; 15] {
        let HostCounters {
            sent,
            bursts,
            queue_dropped,
            sending_ps,
            frames,
            ring_dropped,
            interrupts,
            taken,
            receiving_ps,
            passed,
            paced,
            pacer_dropped,
            associated,
            refused,
            marked,
        } = *self;
        [
            sent,
            bursts,
            queue_dropped,
            sending_ps,
            frames,
            ring_dropped,
            interrupts,
            taken,
            receiving_ps,
            passed,
            paced,
            pacer_dropped,
            associated,
            refused,
            marked,
        ]
    }
}

/// Counters of a host's NIC, processors and pacer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRecord {
    /// Number of the host.
    pub host: u32,
    /// Counters of the whole run; 0 for missing parts.
    pub counters: HostCounters,
    /// Counters at the end of the warm-up.
    pub before: HostCounters,
}

impl HostRecord {
    /// Names of the counters that are also reported without the warm-up.
    pub const MEASURED: [&'static str; 3] =
        ["measured_sent", "measured_sending_ps", "measured_receiving_ps"];

    /// Returns one counter without the warm-up.
    pub fn measured(&self, of: impl Fn(&HostCounters) -> u64) -> u64 {
        of(&self.counters) - of(&self.before)
    }

    /// Returns the counters of [`HostRecord::MEASURED`].
    pub fn measured_values(&self) -> [u64; 3] {
        [
            self.measured(|host| host.sent),
            self.measured(|host| host.sending_ps),
            self.measured(|host| host.receiving_ps),
        ]
    }
}

/// Packets that reached their hosts on one kind of path, in a network with detours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathRecord {
    /// Name of the workload.
    pub workload: Name,
    /// Upper bound of the flow sizes in bytes; sizes are above half of it. `None` for long-lived flows and persistent
    /// connections.
    pub up_to_bytes: Option<u64>,
    /// Links from host to host.
    pub links: u16,
    /// Detours of the packet.
    pub detours: u8,
    /// Number of packets.
    pub packets: u64,
}

/// Cycles of ports that were all paused with packets waiting, each by the switch of the next port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PauseCycles {
    /// Links, in order, of a cycle from whose ports no packet had left for as long as a pause lasts: the run ended.
    pub deadlock: Vec<LinkPlace>,
    /// Number of cycles that resolved by themselves.
    pub passed: u64,
}

/// Time of a packet from its first transmission until its ACK arrived at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PacketLatency {
    /// Latency in picoseconds.
    pub ps: u64,
    /// True if the packet belongs to its flow's first window.
    pub first_window: bool,
}

/// Intended load of a workload with Poisson arrivals, and its reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadRecord {
    /// Name of the workload.
    pub workload: Name,
    /// Mean payload over link capacity, in billionths.
    pub offered_billionths: u64,
    /// Capacity of these links during the arrivals, in bytes.
    pub capacity_bytes: u64,
}

/// Measurements of one run (one series, one seed).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRecord {
    /// Series of the scenario.
    pub series: String,
    /// Seed of the run.
    pub seed: u64,
    /// The links of hosts.
    pub host_link: HostLink,
    /// Flows in the order of [`crate::FlowRecord::order`].
    pub flows: FlowStore,
    /// Latencies of all ACKed packets, sorted; empty unless the scenario asks for them.
    pub latencies: Vec<PacketLatency>,
    /// Events that the scenario asks for.
    pub timeline: Timeline,
    /// Samples of port layers over time, if the scenario asks for them.
    pub samples: Samples,
    /// Output ports of switches.
    pub ports: Vec<PortRecord>,
    /// Links, those of ports in their order, then those of hosts.
    pub links: Vec<LinkRecord>,
    /// Priority flow control on the links, in the order of `links`; empty without it.
    pub pauses: Vec<PauseRecord>,
    /// Hosts with a NIC queue, processors or pacers; empty without them.
    pub hosts: Vec<HostRecord>,
    /// Path lengths of packets; empty without detour.
    pub paths: Vec<PathRecord>,
    /// Cycles of paused ports.
    pub pause_cycles: PauseCycles,
    /// Simulated time at the end of the run, in picoseconds.
    pub simulated_ps: u64,
    /// Length of the measured interval in picoseconds: simulated time minus warm-up.
    pub measured_ps: u64,
    /// Packets that left a link, control and headers included: the simulator's work.
    pub packet_hops: u64,
    /// DATA packets that arrived whole at their receiver, without duplicates.
    pub packets_delivered: u64,
    /// DATA packets that arrived whole at a host that had forgotten their connection.
    pub packets_unclaimed: u64,
    /// Workloads whose flows arrive as a Poisson process.
    pub loads: Vec<LoadRecord>,
    /// True if the run was stopped before its end.
    pub interrupted: bool,
}
