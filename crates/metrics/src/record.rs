//! Records of a run: per port, link and host, and of the whole run.

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

/// Initial host links, and a full data packet on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct HostLink {
    /// Rate in bit/s.
    pub rate_bps: u64,
    /// Payload bytes of a full data packet.
    pub payload_bytes: u64,
    /// Other bytes of a data packet on the wire.
    pub header_bytes: u64,
}

impl HostLink {
    /// Picoseconds that a flow occupies the link, headers included.
    pub fn busy_ps(&self, size_bytes: u64) -> u64 {
        let packets = size_bytes.div_ceil(self.payload_bytes.max(1)).max(1);
        let bytes = u128::from(size_bytes) + u128::from(packets) * u128::from(self.header_bytes);
        let ps = bytes * 8_000_000_000_000 / u128::from(self.rate_bps.max(1));
        u64::try_from(ps).unwrap_or(u64::MAX)
    }
}

/// Counters of an output port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortRecord {
    /// Place; its text is the port's name.
    pub place: PortPlace,
    /// Counters.
    pub counters: PortCounters,
    /// Initial link rate in bit/s.
    pub rate_bps: u64,
}

/// Gives access to the counters: `port.trimmed`.
impl std::ops::Deref for PortRecord {
    type Target = PortCounters;
    fn deref(&self) -> &PortCounters {
        &self.counters
    }
}

/// Undelivered packets of a link, by cause.
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
    /// Counter names, as columns.
    pub const NAMES: [&'static str; 3] = ["failed", "lost", "corrupted"];

    /// All counters, in [`LinkCounters::NAMES`] order.
    pub fn values(&self) -> [u64; 3] {
        [self.failed, self.lost, self.corrupted]
    }

    /// Adds another link's counters.
    pub fn add(&mut self, other: &LinkCounters) {
        self.failed += other.failed;
        self.lost += other.lost;
        self.corrupted += other.corrupted;
    }
}

/// One direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRecord {
    /// Sending port or host; its text is the link's name.
    pub place: LinkPlace,
    /// Undelivered packets.
    pub counters: LinkCounters,
    /// Initial rate in bit/s.
    pub rate_bps: u64,
}

/// Priority flow control on one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseRecord {
    /// Sending port or host.
    pub place: LinkPlace,
    /// Pause frames sent to the far end.
    pub sent: u64,
    /// Pause frames received from the far end.
    pub received: u64,
    /// Picoseconds in which any class was paused.
    pub stopped_ps: u64,
}

/// Counters between transport and link of a host: NIC queue, processors, pacer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCounters {
    /// Packets handed over by the transport.
    pub sent: u64,
    /// Bursts handed to the NIC (large send offload).
    pub bursts: u64,
    /// Packets dropped by a full NIC queue.
    pub queue_dropped: u64,
    /// Picoseconds of processor time for bursts.
    pub sending_ps: u64,
    /// Frames that entered the NIC's ring.
    pub frames: u64,
    /// Frames dropped by a full ring.
    pub ring_dropped: u64,
    /// Interrupts.
    pub interrupts: u64,
    /// Times that a processor took frames; merged frames count once.
    pub taken: u64,
    /// Picoseconds of processor time for arrivals.
    pub receiving_ps: u64,
    /// Packets that passed the pacer at once.
    pub passed: u64,
    /// Packets that the pacer queued.
    pub paced: u64,
    /// Packets dropped by the pacer's full FIFO.
    pub pacer_dropped: u64,
    /// Flow associations with the pacer.
    pub associated: u64,
    /// Associations that failed because the pacer's table was full.
    pub refused: u64,
    /// Packets marked by the link's phantom queue.
    pub marked: u64,
}

impl HostCounters {
    /// Counter names, as columns.
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

    /// All counters, in [`HostCounters::NAMES`] order.
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

/// NIC, processor and pacer counters of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRecord {
    /// Host number.
    pub host: u32,
    /// Counters of the run; 0 for missing parts.
    pub counters: HostCounters,
    /// Counters until the end of the warm-up.
    pub before: HostCounters,
}

impl HostRecord {
    /// Names of counters that are also reported without warm-up.
    pub const MEASURED: [&'static str; 3] =
        ["measured_sent", "measured_sending_ps", "measured_receiving_ps"];

    /// One counter without warm-up.
    pub fn measured(&self, of: impl Fn(&HostCounters) -> u64) -> u64 {
        of(&self.counters) - of(&self.before)
    }

    /// Values of [`HostRecord::MEASURED`].
    pub fn measured_values(&self) -> [u64; 3] {
        [
            self.measured(|host| host.sent),
            self.measured(|host| host.sending_ps),
            self.measured(|host| host.receiving_ps),
        ]
    }
}

/// Packets that reached their hosts by one kind of path, in a network with detours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathRecord {
    /// Workload name.
    pub workload: Name,
    /// Largest flow size in bytes; sizes are above half of it. `None` for long-lived flows and persistent connections.
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
    /// Links, in order, of a cycle that no packet had left for as long as a pause lasts: the run ended.
    pub deadlock: Vec<LinkPlace>,
    /// Cycles that resolved by themselves.
    pub passed: u64,
}

/// Latency of a packet, from first transmission to ACK at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PacketLatency {
    /// Picoseconds.
    pub ps: u64,
    /// True in the flow's first window.
    pub first_window: bool,
}

/// Intended load of Poisson arrivals, and its reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadRecord {
    /// Workload name.
    pub workload: Name,
    /// Mean payload over capacity, in billionths.
    pub offered_billionths: u64,
    /// Capacity of the links during the arrivals, in bytes.
    pub capacity_bytes: u64,
}

/// Measurements of a run (one series, one seed).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRecord {
    /// Series of the scenario.
    pub series: String,
    /// Seed of the run.
    pub seed: u64,
    /// Host links.
    pub host_link: HostLink,
    /// Flows in [`crate::FlowRecord::order`].
    pub flows: FlowStore,
    /// Latencies of all ACKed packets, sorted; empty unless requested.
    pub latencies: Vec<PacketLatency>,
    /// Requested events.
    pub timeline: Timeline,
    /// Samples of port layers over time, if requested.
    pub samples: Samples,
    /// Output ports of switches.
    pub ports: Vec<PortRecord>,
    /// Links: those of ports in their order, then of hosts.
    pub links: Vec<LinkRecord>,
    /// Priority flow control on `links`, in their order; empty without.
    pub pauses: Vec<PauseRecord>,
    /// Hosts with NIC queue, processors or pacers; empty without.
    pub hosts: Vec<HostRecord>,
    /// Path lengths of packets; empty without detour.
    pub paths: Vec<PathRecord>,
    /// Cycles of paused ports.
    pub pause_cycles: PauseCycles,
    /// Simulated time of the run in picoseconds.
    pub simulated_ps: u64,
    /// Measured interval in picoseconds: simulated time minus warm-up.
    pub measured_ps: u64,
    /// Packets that left a link, control and headers included: the simulator's work.
    pub packet_hops: u64,
    /// DATA packets that arrived whole, without duplicates.
    pub packets_delivered: u64,
    /// DATA packets that arrived whole at a host that had forgotten the connection.
    pub packets_unclaimed: u64,
    /// Workloads with Poisson arrivals.
    pub loads: Vec<LoadRecord>,
    /// True if the run was stopped early.
    pub interrupted: bool,
}
