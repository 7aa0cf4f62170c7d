//! One row a port, one record a run.

use serde::{Deserialize, Serialize};
use trimline_packet::PortCounters;

use crate::flow::Name;
use crate::flow_store::FlowStore;
use crate::place::{LinkPlace, PortPlace};
use crate::samples::Samples;
use crate::timeline::Timeline;

impl PortRecord {
    /// Layer and place in words, for example `tor 3 down 2`.
    pub fn name(&self) -> String {
        self.place.to_string()
    }
}

/// The links between hosts and their switches when the run begins, and what a full data packet is on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct HostLink {
    /// Rate in bit/s.
    pub rate_bps: u64,
    /// Payload of a full data packet in bytes.
    pub payload_bytes: u64,
    /// What every data packet has on the wire beside its payload, in bytes.
    pub header_bytes: u64,
}

impl HostLink {
    /// How long a flow of `size_bytes` occupies such a link, its headers included, in picoseconds.
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
    /// Where it is; as text the port's name.
    pub place: PortPlace,
    /// What happened there.
    pub counters: PortCounters,
    /// Rate of its link at the beginning, in bit/s.
    pub rate_bps: u64,
}

/// A port's record is read like its counters: `port.trimmed`.
impl std::ops::Deref for PortRecord {
    type Target = PortCounters;
    fn deref(&self) -> &PortCounters {
        &self.counters
    }
}

/// Packets that a link did not bring, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct LinkCounters {
    /// The link was down.
    pub failed: u64,
    /// Lost by chance.
    pub lost: u64,
    /// Damaged, and thrown away at the far end.
    pub corrupted: u64,
}

impl LinkCounters {
    /// The names of all counters, as columns.
    pub const NAMES: [&'static str; 3] = ["failed", "lost", "corrupted"];

    /// All counters, in the order of [`LinkCounters::NAMES`].
    pub fn values(&self) -> [u64; 3] {
        [self.failed, self.lost, self.corrupted]
    }

    /// Adds those of another link.
    pub fn add(&mut self, other: &LinkCounters) {
        self.failed += other.failed;
        self.lost += other.lost;
        self.corrupted += other.corrupted;
    }
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRecord {
    /// The port or host that sends on it; as text the link's name.
    pub place: LinkPlace,
    /// What it did not bring.
    pub counters: LinkCounters,
    /// Rate at the beginning, in bit/s.
    pub rate_bps: u64,
}

/// What priority flow control did on one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseRecord {
    /// The port or host that sends on it.
    pub place: LinkPlace,
    /// Pause frames that this end has sent to the other.
    pub sent: u64,
    /// Pause frames that it received from there.
    pub received: u64,
    /// How long any of its classes was stopped.
    pub stopped_ps: u64,
}

/// What was done between the transport of a host and its link: its NIC's queue, its processors, its pacer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// Packets that the transport gave up.
    pub sent: u64,
    /// Bursts that it handed to the NIC (large send offload).
    pub bursts: u64,
    /// Packets that found the NIC's queue full.
    pub queue_dropped: u64,
    /// Processor time for bursts.
    pub sending_ps: u64,
    /// Frames that found a place in the ring of the NIC.
    pub frames: u64,
    /// Frames that found it full.
    pub ring_dropped: u64,
    /// Interrupts.
    pub interrupts: u64,
    /// Times that a processor took frames, several of a flow as one.
    pub taken: u64,
    /// Processor time for what arrived.
    pub receiving_ps: u64,
    /// Packets that the pacer let pass.
    pub passed: u64,
    /// Packets that it queued.
    pub paced: u64,
    /// Packets that found its FIFO full.
    pub pacer_dropped: u64,
    /// How often a flow was associated with it.
    pub associated: u64,
    /// How often one was to be, and its table was full.
    pub refused: u64,
    /// Packets that the phantom queue of its link marked.
    pub marked: u64,
}

impl HostCounters {
    /// The names of all counters, as columns.
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

    /// All counters, in the order of [`HostCounters::NAMES`].
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

/// What one host's NIC, processors and pacer did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRecord {
    /// The host's number.
    pub host: u32,
    /// What they did; what it does not have has done nothing.
    pub counters: HostCounters,
    /// Of that, what was before the warm-up ended.
    pub before: HostCounters,
}

impl HostRecord {
    /// The names of the counters that are also told from the end of the warm-up on.
    pub const MEASURED: [&'static str; 3] =
        ["measured_sent", "measured_sending_ps", "measured_receiving_ps"];

    /// One counter from the end of the warm-up on.
    pub fn measured(&self, of: impl Fn(&HostCounters) -> u64) -> u64 {
        of(&self.counters) - of(&self.before)
    }

    /// Those of [`HostRecord::MEASURED`].
    pub fn measured_values(&self) -> [u64; 3] {
        [
            self.measured(|host| host.sent),
            self.measured(|host| host.sending_ps),
            self.measured(|host| host.receiving_ps),
        ]
    }
}

/// Packets that came to their hosts on one kind of way, in a network that detours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathRecord {
    /// Name of the workload.
    pub workload: Name,
    /// Their flows have up to so many bytes, and more than half of it; `None` for flows without an end and for kept
    /// connections.
    pub up_to_bytes: Option<u64>,
    /// Links from host to host.
    pub links: u16,
    /// Times that a switch detoured the packet.
    pub detours: u8,
    /// How many packets.
    pub packets: u64,
}

/// Cycles of ports that were all paused with packets waiting, each by the switch of the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PauseCycles {
    /// The links of one from whose ports nothing had left for as long as a pause lasts, in order: the run ended.
    pub deadlock: Vec<LinkPlace>,
    /// How often there was one that came to an end by itself.
    pub passed: u64,
}

/// How long one packet took, from its first sending until its ACK arrived at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PacketLatency {
    /// Picoseconds.
    pub ps: u64,
    /// Whether it belongs to its flow's first window.
    pub first_window: bool,
}

/// The load that a workload of Poisson arrivals was to bring, and what it is a share of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadRecord {
    /// Name of the workload.
    pub workload: Name,
    /// Mean payload over what the links carry, in billionths.
    pub offered_billionths: u64,
    /// What these links carry in the time of arrivals, in bytes.
    pub capacity_bytes: u64,
}

/// What one run (one series, one seed) measured.
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
    /// Every packet that was ACKed, sorted, when the scenario asks; else none.
    pub latencies: Vec<PacketLatency>,
    /// What the scenario asks to see event by event.
    pub timeline: Timeline,
    /// What the layers of ports did over time, when the scenario asks.
    pub samples: Samples,
    /// Output ports of switches.
    pub ports: Vec<PortRecord>,
    /// Links, those of ports in their order before those of hosts.
    pub links: Vec<LinkRecord>,
    /// The same links with priority flow control; empty without.
    pub pauses: Vec<PauseRecord>,
    /// Hosts with a NIC's queue, processors or pacers; empty in a run without.
    pub hosts: Vec<HostRecord>,
    /// How far packets came, with detour; empty in a run without.
    pub paths: Vec<PathRecord>,
    /// Cycles of paused ports.
    pub pause_cycles: PauseCycles,
    /// Simulated time at the end of the run.
    pub simulated_ps: u64,
    /// Length of the measured interval: simulated time less the warm-up.
    pub measured_ps: u64,
    /// Packets that left a link, control and headers included: the work of the simulator.
    pub packet_hops: u64,
    /// DATA packets that arrived whole at their receiver, duplicates not counted.
    pub packets_delivered: u64,
    /// DATA packets that arrived whole at a host which had forgotten their connection.
    pub packets_unclaimed: u64,
    /// Workloads whose flows arrive as a Poisson process.
    pub loads: Vec<LoadRecord>,
    /// Whether the run was stopped before its end.
    pub interrupted: bool,
}
