//! The plan of one run: a scenario for one series and one seed, fully decided. It has no strings to interpret and no
//! open defaults.

use std::any::Any;
use std::fmt;
use std::num::{NonZeroU16, NonZeroU32};
use std::ops::{ControlFlow, Deref};
use std::sync::Arc;

use trimline_metrics::capture::Frames;
use trimline_metrics::timeline::PacketKind;
use trimline_metrics::{HostLink, RunRecord, SeriesColumn, flow_store};
use trimline_packet::{ByteCount, Packet, TimeDelta};
use trimline_switch::PauseModel;
use trimline_transport::Framing;

pub use trimline_hostnic::{
    Adaptive, Bypass, Interrupts, ReceiverModel, ReceiverSettings, TransmitterModel,
    TransmitterSettings,
};
pub use trimline_hostnic::{PacerModel, PacerSettings};
pub use trimline_packet::fluid::Clock;
pub use trimline_switch::detour;
pub use trimline_switch::{DetourModel, DrrModel, ServiceModel};
pub use trimline_switch::{PhantomModel, PhantomSettings};

pub use crate::formats::connection_matrix::Trigger;
pub use crate::formats::sizes::SizeDistribution;
pub use crate::gap::Gap;
pub use crate::links::{Impairment, LinkChange, LinkEvent, Share};
pub use crate::pareto::Pareto;
pub use crate::queries::{Groups, NoGroups, Queries, Servers};

use crate::topology::{Clos, LinkId, LinkSpec};

/// One run of a scenario.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name of the series; empty without one.
    pub series: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// Shape, rates and delays.
    pub topology: Clos,
    /// Model of every switch port.
    pub switch: ServiceModel,
    /// Profile that `switch` begins with.
    pub base: Base,
    /// A queue for packets that may only be dropped, beside the queues of `switch` under deficit round robin.
    pub droppable: Option<ServiceModel>,
    /// Ports that differ from the others; the last rule for a port holds.
    pub port_rules: Vec<PortRule>,
    /// Memory that the queues of a switch share, if the model has such queues.
    pub shared_memory: SharedMemory,
    /// Priority flow control: classes that are never dropped.
    pub lossless: Option<Lossless>,
    /// Packets that leave a switch by another port when their own is busy (OPF, DIBS).
    pub detour: Option<DetourModel>,
    /// Phantom queues of links (HULL); the last one for a link holds.
    pub phantom_queues: Vec<PhantomLink>,
    /// The pacers of hosts (HULL).
    pub pacer: Option<PacedHosts>,
    /// NICs and processors of hosts.
    pub nics: Nics,
    /// Packets that do not go up and down.
    pub fixed_routes: Vec<FixedRoute>,
    /// The transports with their parameters, at least one. A workload names its transport by place.
    pub transports: Vec<Chosen>,
    /// Traffic.
    pub workloads: Vec<Workload>,
    /// Length of the run; `None` runs until every sized flow has ended.
    pub duration: Option<TimeDelta>,
    /// Time at the beginning that throughput does not count.
    pub warm_up: TimeDelta,
    /// Changes of links.
    pub link_events: Vec<LinkEvent>,
    /// Time until hosts and switches learn that a link fails or is restored.
    pub routing_convergence: TimeDelta,
    /// Loss, corruption and reordering on links.
    pub impairment: Impairment,
    /// The engine that drives the run.
    pub engine: EngineChoice,
    /// Events to record. Such a run uses [`EngineChoice::Heap`].
    pub timeline: Option<Watch>,
    /// Time between two samples of all ports, by layer.
    pub sample_every: Option<TimeDelta>,
    /// Flows, ports and pods to sample besides the layers.
    pub sampled: Sampled,
}

/// Flows and ports that are sampled singly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// (source, destination) of flows.
    pub flows: Vec<(u32, u32)>,
    /// Switch ports, by the links on which they send.
    pub ports: Vec<LinkId>,
    /// Pods whose layers are sampled apart, too.
    pub pods: Vec<u32>,
}

impl Plan {
    /// Returns whether packets of some transport collect telemetry.
    pub fn collects_telemetry(&self) -> bool {
        self.transports.iter().any(|chosen| chosen.collects_telemetry())
    }

    /// Returns, with priority flow control, a link input's memory above XOFF and the packet that crosses it, in bytes.
    pub fn headroom(&self, link: &LinkSpec) -> Option<u64> {
        let Lossless { headroom, .. } = self.lossless?;
        let link = LinkSpec { delay: link.delay + self.impairment.reordering, ..*link };
        let needed = || headroom_of(&link, link.delay, self.full_wire_bytes());
        Some(headroom.map_or_else(needed, u64::from))
    }

    /// Returns the host link, with a full data packet of the first transport.
    pub fn host_link(&self) -> HostLink {
        let chosen = self.transports.first();
        HostLink {
            rate_bps: self.topology.host_link.rate.as_bps(),
            payload_bytes: chosen.map_or(0, |chosen| u64::from(chosen.payload_bytes())),
            header_bytes: chosen.map_or(0, |chosen| u64::from(chosen.framing().header)),
        }
    }
}

/// The phantom queue of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhantomLink {
    /// The link, by the node that sends on it.
    pub link: LinkId,
    /// The settings as requested.
    pub settings: PhantomSettings,
    /// The settings checked for the rate of the link.
    pub model: PhantomModel,
}

/// Hosts with a pacer, all with the same parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacedHosts {
    /// The hosts; `None` for all.
    pub hosts: Option<Vec<u32>>,
    /// The settings as requested.
    pub settings: PacerSettings,
    /// The settings checked for the rate of the hosts' links.
    pub model: PacerModel,
}

/// Returns whether `hosts` contains a host; `None` contains all.
pub(crate) fn is_among(host: u32, hosts: &Option<Vec<u32>>) -> bool {
    hosts.as_ref().is_none_or(|hosts| hosts.contains(&host))
}

/// The NICs and processors of hosts. Absent stages take no time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nics {
    /// The queue in front of a host's link.
    pub transmit: Option<TransmitHosts>,
    /// The receive path of a host.
    pub receive: Option<ReceiveHosts>,
}

/// Hosts whose NIC has a queue, all with the same parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransmitHosts {
    /// The hosts; `None` for all.
    pub hosts: Option<Vec<u32>>,
    /// The settings as requested.
    pub settings: TransmitterSettings,
    /// The settings checked for the packets of the run.
    pub model: TransmitterModel,
}

/// Hosts whose processors take arriving packets, all with the same parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiveHosts {
    /// The hosts; `None` for all.
    pub hosts: Option<Vec<u32>>,
    /// The settings as requested.
    pub settings: ReceiverSettings,
    /// The settings, checked.
    pub model: ReceiverModel,
}

/// A route for all packets that arrive at a switch over one link, whatever their destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedRoute {
    /// The link to the switch.
    pub over: LinkId,
    /// The port, by the link on which it sends.
    pub by: LinkId,
}

/// An unchanged profile of switch ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// The profile's name.
    pub name: &'static str,
    /// The model of a port.
    pub model: ServiceModel,
}

/// The model of some switch ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortRule {
    /// The ports, by the links on which they send.
    pub ports: Vec<LinkId>,
    /// Their model.
    pub model: DrrModel,
    /// The profile that they begin with.
    pub base: Base,
}

/// Something that ports must do for a transport's key to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Ports mark packets that they trim at the last hop.
    LastHop,
    /// Ports trim packets.
    Trimming,
    /// Ports notify senders of drops or of congestion.
    Notification,
}

/// The pool of every switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SharedMemory {
    /// Every queue has its own memory.
    #[default]
    None,
    /// Bytes per switch.
    OfSwitch(ByteCount),
    /// Bytes per port of the switch.
    OfPort(ByteCount),
}

impl SharedMemory {
    /// Returns the pool of a switch with `ports` ports.
    pub fn of(self, ports: u64) -> ByteCount {
        match self {
            SharedMemory::None => ByteCount::ZERO,
            SharedMemory::OfSwitch(bytes) => bytes,
            SharedMemory::OfPort(bytes) => ByteCount::new(bytes.get().saturating_mul(ports)),
        }
    }
}

/// Priority flow control (IEEE 802.1Qbb) at all inputs of all switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lossless {
    /// An input with more bytes of a class than this stops its sender.
    pub xoff: u32,
    /// At or below this the sender may go on. Smaller than `xoff`.
    pub xon: u32,
    /// Memory of an input above `xoff` and the packet that crosses it, in bytes; `None` for its link's needs.
    pub headroom: Option<u32>,
    /// The queues that never drop, a bit each.
    pub classes: u8,
}

/// Headroom that a link's input needs, in bytes, if frames take `back` to the sender.
pub(crate) fn headroom_of(spec: &LinkSpec, back: TimeDelta, largest_packet: u16) -> u64 {
    let flight = spec.rate.bytes_in(spec.delay + back).get();
    PauseModel::headroom(flight, largest_packet + spec.framing_bytes)
}

/// The events that a run records: at these places, and of these flows anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// Ports and hosts, by the links on which they send.
    pub places: Vec<LinkId>,
    /// (source, destination) of flows, with their ACKs, NACKs and PULLs.
    pub flows: Vec<(u32, u32)>,
    /// Not before this time.
    pub from: TimeDelta,
    /// Before this time.
    pub to: Option<TimeDelta>,
    /// True if whole packets are kept, for a capture.
    pub keep_packets: bool,
}

impl Plan {
    /// Returns a workload's transport, with the workload's payload.
    ///
    /// # Panics
    /// Panics if the plan has no such transport, or the transport cannot have this payload.
    pub fn transport_of(&self, workload: &Workload) -> Chosen {
        let chosen = &self.transports[usize::from(workload.transport)];
        match workload.payload {
            None => chosen.clone(),
            Some(payload) => chosen.with_payload(payload.get()).unwrap_or_else(|why| {
                panic!("workload {} with transport {}, {why}", workload.name, chosen.name())
            }),
        }
    }

    /// Returns the size of the largest packet of the run, in bytes on the wire.
    pub fn full_wire_bytes(&self) -> u16 {
        let own = self.workloads.iter().filter(|workload| workload.payload.is_some());
        let own = own.map(|workload| self.transport_of(workload).full_wire_bytes());
        let all = self.transports.iter().map(|chosen| chosen.full_wire_bytes());
        all.chain(own).max().unwrap_or(0)
    }
}

/// Properties of all flows of a transport, whatever its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// True if a flow, or a part of it, keeps to a path while routing lets it.
    pub keeps_paths: bool,
    /// True if every sized flow ends: losses are sent again, and the sender learns of the last arrival.
    pub ends_flows: bool,
    /// The reason against `output.latencies`, as the end of "transport NAME, ..."; `None` without one.
    pub no_latencies: Option<&'static str>,
}

/// A transport with its parameters, as made by [`Transport::with`](crate::transports::Transport::with).
#[derive(Clone, Debug)]
pub struct Chosen(Arc<dyn Choice>);

impl Chosen {
    pub(crate) fn new(choice: impl Choice) -> Chosen {
        Chosen(Arc::new(choice))
    }
    /// Returns the parameters, if they have this type.
    pub fn config<C: Any>(&self) -> Option<&C> {
        self.0.parameters().downcast_ref::<Arc<C>>().map(|config| &**config)
    }
}

impl Deref for Chosen {
    type Target = dyn Choice;
    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

/// A transport, as plans and estimates see it. Called a few times per run, never per packet.
pub trait Choice: fmt::Debug + Send + Sync + 'static {
    /// Name in scenarios.
    fn name(&self) -> &'static str;
    /// Returns whether the transport is in this crate's own list.
    fn is_built_in(&self) -> bool;
    /// Parameters, in an [`Arc`].
    fn parameters(&self) -> &dyn Any;
    /// Payload of a full packet, in bytes.
    fn payload_bytes(&self) -> u16;
    /// Returns this transport with another payload in full packets.
    ///
    /// # Errors
    /// Fails if all its connections have one payload, with the reason as the end of "transport NAME, ...".
    fn with_payload(&self, payload_bytes: u16) -> Result<Chosen, &'static str>;
    /// Bytes on the wire besides the payload.
    fn framing(&self) -> Framing;
    /// Properties of all its flows.
    fn traits(&self) -> Traits;
    /// Columns of its flows' series, besides the counts of every flow.
    fn series_columns(&self) -> Vec<SeriesColumn>;
    /// Returns whether its connections take further messages.
    fn takes_messages(&self) -> bool;
    /// Returns whether its senders respond to marks.
    fn answers_marks(&self) -> bool;
    /// Returns whether its packets collect telemetry of the ports on their way.
    fn collects_telemetry(&self) -> bool;
    /// Returns what it needs of ports, with the key of its table that needs it.
    fn need(&self) -> Option<(&'static str, Need)>;
    /// Returns how long both ends remember a flow that has ended.
    fn time_wait(&self) -> TimeDelta;
    /// Describes the parameters: lines for `explain`.
    fn describe(&self, plan: &Plan) -> String;
    /// Describes timers that are long compared to a data centre's round trips.
    fn slow_timers(&self) -> Option<String>;
    /// Time until a sender without a measured round trip sends an unanswered packet again, with its key.
    fn first_timeout(&self) -> Option<(&'static str, TimeDelta)>;
    /// Time for which a sender may use a token of its receiver, with its key.
    fn token_expiry(&self) -> Option<(&'static str, TimeDelta)>;
    /// Full packets that a flow may have outstanding, with the key that limits them.
    fn window(&self) -> Option<(&'static str, u64)>;
    /// Returns a builder of frames for a capture of these packets, in order of time; `None` if they have this
    /// repository's wire format.
    fn frames(&self, packets: &[Packet]) -> Option<Box<dyn Frames>>;
    /// Kind of a packet as one of its hosts sent it, for a timeline.
    fn packet_kind(&self, packet: &Packet) -> PacketKind;
    /// Estimates the work of a group of flows.
    fn work(&self, plan: &Plan, group: &Group) -> Work;
    /// Runs a plan whose only transport, or only transport that is not built in, or first transport, this is.
    ///
    /// # Errors
    /// Fails if the plan cannot run.
    fn run(
        &self,
        plan: &Plan,
        resources: Resources,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<RunRecord, RunError>;
    /// Size of a full packet, in bytes on the wire.
    fn full_wire_bytes(&self) -> u16 {
        self.framing().wire_bytes(self.payload_bytes())
    }
}

/// Similar flows of one workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// Number of flows.
    pub flows: f64,
    /// Flows that are under way, or remembered, at the same time.
    pub alive: f64,
    /// Payload packets of each; infinite for long-lived flows.
    pub packets: f64,
    /// Flows into the same receiver.
    pub into: f64,
    /// Flows out of the same sender.
    pub out_of: f64,
    /// Links on the way, on average.
    pub links: f64,
    /// Time until the end of the run, in seconds.
    pub seconds: f64,
}

/// The estimated work of a group of flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Packets on links.
    pub hops: f64,
    /// CPU time per hop, relative to an NDP packet that is queued without trimming.
    pub slowness: f64,
    /// Bytes of memory besides the usual of each flow.
    pub bytes: f64,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Virtual time.
    pub simulated: TimeDelta,
    /// Virtual time at the end, if known.
    pub duration: Option<TimeDelta>,
    /// Packets that left a link.
    pub packet_hops: u64,
    /// Sized flows that ended.
    pub flows_done: u64,
    /// Known sized flows: all flows of a matrix, a file or a count; of flows by a clock, those that started.
    pub flows: u64,
}

/// Limits on the resources of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Maximum number of threads: [`division`](crate::division) may use fewer.
    pub threads: usize,
    /// Flow records in memory; the others wait in a temporary file.
    pub records_in_memory: usize,
}

impl Default for Resources {
    /// One thread.
    fn default() -> Resources {
        Resources { threads: 1, records_in_memory: flow_store::IN_MEMORY }
    }
}

/// The reason why a plan cannot run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The network is too small for its workloads, or has no hosts.
    Topology(String),
    /// One host has more flows under way than it can number.
    Workload(String),
    /// The records of flows fit neither memory nor disk.
    Records(String),
    /// There is no transport, or there are several that cannot be in one run.
    Transport(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Topology(what) => write!(f, "topology: {what}"),
            RunError::Workload(what) => write!(f, "workload: {what}"),
            RunError::Records(what) => f.write_str(what),
            RunError::Transport(what) => write!(f, "transport: {what}"),
        }
    }
}

impl std::error::Error for RunError {}

/// The choice among equal paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spraying {
    /// The sender chooses. NDP sends on every path of a random permutation in turn (NDP 3.1.1); a TCP flow keeps one
    /// path, each subflow its own, as ECMP by a hash of addresses and ports.
    #[default]
    SenderPermuted,
    /// The sender chooses, and all flows of the workload between two hosts agree: their streams share random numbers.
    PerPair,
    /// Every switch chooses at random for every packet.
    SwitchRandom,
}

/// The engine that drives a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// Lookahead windows: the fast engine.
    #[default]
    LookaheadWindows,
    /// One binary heap of events: the oracle for the fast engine.
    Heap,
}

/// One group of flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Unique in the scenario; part of every flow's identity.
    pub name: String,
    /// Sources and destinations.
    pub matrix: Matrix,
    /// Bytes of each flow.
    pub size: Size,
    /// Times between flows.
    pub arrivals: Arrivals,
    /// Sharing of connections among flows from one host to another.
    pub connection: Connection,
    /// Start time of the flows.
    pub start: TimeDelta,
    /// Maximum extra delay of each flow's start, uniform.
    pub start_jitter: TimeDelta,
    /// Priority class at the receiver, 0 (default) to 3.
    pub class: u8,
    /// The choice among paths.
    pub spraying: Spraying,
    /// Place of its transport in the plan.
    pub transport: u8,
    /// Payload of a full packet of its flows, if not the transport's.
    pub payload: Option<NonZeroU16>,
}

impl Workload {
    /// Number of a flow in its file, by its place there; `None` if it has no number.
    pub(crate) fn id_of(&self, place: u32) -> Option<NonZeroU32> {
        let Matrix::Listed(listed) = &self.matrix else { return None };
        listed.flows.get(place as usize)?.id
    }
}

/// The connection that carries a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Connection {
    /// A new connection per flow.
    #[default]
    New,
    /// One connection per workload, source and destination, which stays open. Flows are messages on it; each waits at
    /// its source until the one before was acknowledged.
    Persistent,
    /// An idle connection of a pool. A client's answer comes back on the connection of its request, which is idle again
    /// when the answer has arrived.
    Pool(Pool),
}

impl Connection {
    /// Returns whether the connection stays open for further flows.
    pub fn is_persistent(self) -> bool {
        match self {
            Connection::New => false,
            Connection::Persistent | Connection::Pool(_) => true,
        }
    }
}

/// The connections of a workload from a source to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Number of connections, at least one. A flow takes an idle one, drawn from its own stream.
    pub each: u16,
    /// The rule for a flow that finds no idle connection.
    pub when_busy: WhenBusy,
}

/// The rule for a flow when all connections of its pool are busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenBusy {
    /// It waits at its source for the first idle connection, in order of arrival.
    #[default]
    Wait,
    /// It waits for the connection with the fewest waiting flows, the first of several, even if another is idle
    /// earlier.
    LeastBusy,
}

/// Sources and destinations of flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matrix {
    /// Every host sends to one other, and receives from one: a random derangement.
    Permutation,
    /// Every host sends `flows` flows, each to a random other host. The number that a host receives varies, and may be
    /// 0.
    Random {
        /// Flows of each host.
        flows: u32,
        /// Hosts that neither send nor receive.
        excluding: Vec<u32>,
    },
    /// Pairs of a source and a destination, drawn with replacement. A pair of a host with itself becomes no flow.
    RandomPairs {
        /// Number of pairs drawn.
        total: u32,
        /// Hosts that never send, sorted, each once.
        not_source: Vec<u32>,
        /// Hosts that never receive, sorted, each once.
        not_destination: Vec<u32>,
        /// True if a host may draw itself; otherwise the pair is drawn again.
        self_pairs: bool,
    },
    /// Every host sends to every other.
    AllToAll,
    /// `sender` sends to `receivers` of the other hosts.
    Outcast {
        /// The sending host.
        sender: u32,
        /// Number of receivers.
        receivers: u32,
        /// The rule that selects receivers.
        choose: Choose,
    },
    /// `senders` of the other hosts send to `receiver`.
    Incast {
        /// The receiving host.
        receiver: u32,
        /// Number of senders.
        senders: u32,
        /// Hosts that are never chosen, sorted, each once; another workload may use them.
        excluding: Vec<u32>,
        /// The rule that selects senders.
        choose: Choose,
    },
    /// `senders` of the other hosts send to a random host, drawn for each incast.
    RandomIncast {
        /// Number of senders.
        senders: u32,
        /// Possible receivers.
        receivers: Receivers,
        /// Hosts that are never drawn, to send or, from all hosts, to receive; sorted, each once.
        excluding: Vec<u32>,
    },
    /// Exactly these (source, destination) pairs.
    Pairs(Vec<(u32, u32)>),
    /// The flows of a file, with its sizes and starts.
    Listed(Arc<Listed>),
    /// Clients ask servers: the requests. The next workload is the answers, with [`Matrix::Responses`] and the size of
    /// an answer.
    Requests(Queries),
    /// The answers to the requests of the workload before.
    Responses,
}

/// Receivers of incasts whose receiver is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Receivers {
    /// Any host that is not excluded, one for each incast.
    Any,
    /// One of these hosts for each incast; they never send. Sorted, each once, at least one.
    OneOf(Vec<u32>),
    /// One of these hosts for each sender of an incast; they never send.
    EachOneOf(Vec<u32>),
}

impl Receivers {
    /// Returns the hosts that may receive and never send.
    pub fn set(&self) -> &[u32] {
        match self {
            Receivers::Any => &[],
            Receivers::OneOf(set) | Receivers::EachOneOf(set) => set,
        }
    }

    /// Returns the number of possible receivers among `hosts` hosts without the `excluding` ones.
    pub fn count(&self, hosts: u32, excluding: &[u32]) -> u32 {
        match self {
            Receivers::Any => hosts.saturating_sub(excluding.len() as u32),
            Receivers::OneOf(set) | Receivers::EachOneOf(set) => set.len() as u32,
        }
    }
}

/// The flows of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// In the order of the file.
    pub flows: Vec<ListedFlow>,
    /// Triggers that start flows when others end, by number.
    pub triggers: Vec<Trigger>,
}

/// One flow of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFlow {
    /// Its number in the file, if it has one.
    pub id: Option<NonZeroU32>,
    /// Source host.
    pub source: u32,
    /// Destination host.
    pub destination: u32,
    /// Payload bytes; `None` for a flow without end.
    pub size: Option<ByteCount>,
    /// Its priority class at the receiver, if the file gives priorities; otherwise the workload's.
    pub class: Option<u8>,
    /// Its start: a time after the workload's start, or a trigger.
    pub start: ListedStart,
    /// The trigger that its last ACK activates, at its source.
    pub on_acknowledged: Option<u32>,
    /// The trigger that its last byte activates, at its destination.
    pub on_delivered: Option<u32>,
}

/// The start of a listed flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedStart {
    /// Time after the workload's start.
    At(TimeDelta),
    /// At this trigger of its source host.
    Trigger(u32),
}

/// Bytes of the flows of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Size {
    /// Flows without end.
    LongLived,
    /// One size for all flows.
    Fixed(ByteCount),
    /// Each drawn from its own stream.
    Drawn(Arc<SizeDistribution>),
    /// Each drawn from its own stream, from a Pareto distribution.
    Pareto(Pareto),
}

impl Size {
    /// Returns the mean in thousandths of a byte; `None` for long-lived flows.
    pub fn mean_millibytes(&self) -> Option<u64> {
        match self {
            Size::LongLived => None,
            Size::Fixed(size) => Some(size.get().saturating_mul(1000)),
            Size::Drawn(sizes) => Some(sizes.mean_millibytes()),
            Size::Pareto(sizes) => Some(sizes.mean_millibytes()),
        }
    }
}

/// Times between flows of a pair, or of a connection to random hosts. An incast or a query is one arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// Each flow once.
    #[default]
    Once,
    /// Equal gaps, whatever became of the last flow.
    Periodic {
        /// Time from one flow to the next.
        every: TimeDelta,
        /// No flow at this time or later.
        until: TimeDelta,
    },
    /// A Poisson process: gaps are exponential.
    Poisson {
        /// Mean gap between the arrivals of one source; with incasts, of the whole workload.
        mean: TimeDelta,
        /// No flow at this time or later.
        until: TimeDelta,
    },
    /// The next flow starts a gap after the last one ended at the sender (a query: after all answers).
    ClosedLoop {
        /// The gap.
        gap: Gap,
        /// Number per connection or client; `None` for no limit until the end of the run.
        count: Option<u32>,
    },
}

/// The rule that selects senders of an incast or receivers of an outcast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choose {
    /// Drawn at random.
    #[default]
    Random,
    /// The hosts with the highest numbers.
    Last,
}
