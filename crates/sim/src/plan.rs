//! One run, fully decided: what a scenario becomes for one series and one seed. No strings to
//! interpret, no defaults left open.

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
    /// Name of the series (empty when the scenario has none).
    pub series: String,
    /// Seed of every random stream of the run.
    pub seed: u64,
    /// Shape, rates and delays.
    pub topology: Clos,
    /// What every switch port does.
    pub switch: ServiceModel,
    /// The profile that `switch` begins with.
    pub base: Base,
    /// A queue of its own for packets that may only be dropped, beside those of `switch` under deficit round robin.
    pub droppable: Option<ServiceModel>,
    /// Ports that differ from the others; of two rules for a port the later one holds.
    pub port_rules: Vec<PortRule>,
    /// The memory that the queues of a switch share, when the model has some that do.
    pub shared_memory: SharedMemory,
    /// Priority flow control: classes that are never dropped.
    pub lossless: Option<Lossless>,
    /// Packets that leave a switch by another port when their own is busy (OPF, DIBS).
    pub detour: Option<DetourModel>,
    /// What stands on links: phantom queues and pacers (HULL).
    pub bumps: Bumps,
    /// What hosts' NICs and processors do between their transports and their links.
    pub nics: Nics,
    /// Packets that do not go up and down.
    pub fixed_routes: Vec<FixedRoute>,
    /// The transports of the run, each with its parameters: at least one. A workload names its own by its place.
    pub transports: Vec<Chosen>,
    /// Who sends what to whom.
    pub workloads: Vec<Workload>,
    /// Length of the run; `None` runs until every sized flow has ended.
    pub duration: Option<TimeDelta>,
    /// Time at the beginning that throughput does not count.
    pub warm_up: TimeDelta,
    /// Links that change.
    pub link_events: Vec<LinkEvent>,
    /// How long after a link fails or is restored hosts and switches know.
    pub routing_convergence: TimeDelta,
    /// What links do to packets.
    pub impairment: Impairment,
    /// Which engine drives the run.
    pub engine: EngineChoice,
    /// What is recorded event by event. Such a run is driven by [`EngineChoice::Heap`].
    pub timeline: Option<Watch>,
    /// Time between two samples of all ports, layer by layer.
    pub sample_every: Option<TimeDelta>,
    /// What is sampled one by one beside the layers.
    pub sampled: Sampled,
}

/// Flows and ports that are sampled one by one.
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
    /// With priority flow control: memory of the input of a link above XOFF and the packet that crosses it.
    pub fn headroom(&self, link: &LinkSpec) -> Option<u64> {
        let Lossless { headroom, .. } = self.lossless?;
        let link = LinkSpec { delay: link.delay + self.impairment.reordering, ..*link };
        let needed = || headroom_of(&link, link.delay, self.full_wire_bytes());
        Some(headroom.map_or_else(needed, u64::from))
    }

    /// The links of hosts, and a full data packet of the first transport on them.
    pub fn host_link(&self) -> HostLink {
        let chosen = self.transports.first();
        HostLink {
            rate_bps: self.topology.host_link.rate.as_bps(),
            payload_bytes: chosen.map_or(0, |chosen| u64::from(chosen.payload_bytes())),
            header_bytes: chosen.map_or(0, |chosen| u64::from(chosen.framing().header)),
        }
    }
}

/// What stands on links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bumps {
    /// Phantom queues; of two for a link the later one holds.
    pub phantoms: Vec<PhantomLink>,
    /// The pacers of hosts.
    pub paced: Option<PacedHosts>,
}

/// The phantom queue of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhantomLink {
    /// The link, by the unit that sends on it.
    pub link: LinkId,
    /// What was asked for.
    pub settings: PhantomSettings,
    /// The same, checked for the rate of the link.
    pub model: PhantomModel,
}

/// Hosts with a pacer, all with the same parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacedHosts {
    /// The hosts; `None`: all.
    pub hosts: Option<Vec<u32>>,
    /// What was asked for.
    pub settings: PacerSettings,
    /// The same, checked for the rate of the hosts' links.
    pub model: PacerModel,
}

/// Whether a host is one of these; `None`: all are.
pub(crate) fn is_among(host: u32, hosts: &Option<Vec<u32>>) -> bool {
    hosts.as_ref().is_none_or(|hosts| hosts.contains(&host))
}

/// The NICs and processors of hosts. What is not here takes no time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nics {
    /// The queue in which all that a host sends waits for its link.
    pub transmit: Option<TransmitHosts>,
    /// What a host does with what arrives.
    pub receive: Option<ReceiveHosts>,
}

/// Hosts whose NIC has a queue, all with the same parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransmitHosts {
    /// The hosts; `None`: all.
    pub hosts: Option<Vec<u32>>,
    /// What was asked for.
    pub settings: TransmitterSettings,
    /// The same, checked for the packets of the run.
    pub model: TransmitterModel,
}

/// Hosts whose processors take what arrives, all with the same parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiveHosts {
    /// The hosts; `None`: all.
    pub hosts: Option<Vec<u32>>,
    /// What was asked for.
    pub settings: ReceiverSettings,
    /// The same, checked.
    pub model: ReceiverModel,
}

/// What arrives at a switch over one link leaves it by one port, wherever it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedRoute {
    /// The link to the switch.
    pub over: LinkId,
    /// The port, by the link on which it sends.
    pub by: LinkId,
}

/// A profile of switch ports with nothing changed in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// Its name.
    pub name: &'static str,
    /// The model of a port.
    pub model: ServiceModel,
}

/// What some switch ports do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortRule {
    /// The ports, by the links on which they send.
    pub ports: Vec<LinkId>,
    /// What they do.
    pub model: DrrModel,
    /// The profile that they begin with.
    pub base: Base,
}

/// The pool of every switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SharedMemory {
    /// Every queue has memory of its own.
    #[default]
    None,
    /// So many bytes in each switch.
    OfSwitch(ByteCount),
    /// So many bytes for each port of the switch.
    OfPort(ByteCount),
}

impl SharedMemory {
    /// The pool of a switch with so many ports.
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
    /// An input that holds more bytes of a class than this stops its sender.
    pub xoff: u32,
    /// At this or less the sender may go on. Below `xoff`.
    pub xon: u32,
    /// Memory of an input above `xoff` and the packet that crosses it, in bytes: `None` for what its link needs.
    pub headroom: Option<u32>,
    /// The queues that are never dropped, a bit each.
    pub classes: u8,
}

/// The headroom that the input of a link needs, whose frames take the delay `back` to the sender.
pub(crate) fn headroom_of(spec: &LinkSpec, back: TimeDelta, largest_packet: u16) -> u64 {
    let flight = spec.rate.bytes_in(spec.delay + back).get();
    PauseModel::headroom(flight, largest_packet + spec.framing_bytes)
}

/// What a run records event by event: what happens at these places, and what happens to these flows
/// anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watch {
    /// Ports and hosts, by the links on which they send.
    pub places: Vec<LinkId>,
    /// (source, destination) of flows; their ACKs, NACKs and PULLs too.
    pub flows: Vec<(u32, u32)>,
    /// Not before this time.
    pub from: TimeDelta,
    /// Before this time.
    pub to: Option<TimeDelta>,
    /// Whole packets are kept beside the events, for a capture.
    pub keep_packets: bool,
}

impl Plan {
    /// The transport of a workload, with the workload's payload.
    ///
    /// # Panics
    /// A plan without transports, a workload that names none of them, or a payload that its transport cannot have.
    pub fn transport_of(&self, workload: &Workload) -> Chosen {
        let chosen = &self.transports[usize::from(workload.transport)];
        match workload.payload {
            None => chosen.clone(),
            Some(payload) => chosen.with_payload(payload.get()).unwrap_or_else(|why| {
                panic!("workload {} with transport {}, {why}", workload.name, chosen.name())
            }),
        }
    }

    /// Bytes on the wire of the largest packet of any transport or workload.
    pub fn full_wire_bytes(&self) -> u16 {
        let own = self.workloads.iter().filter(|workload| workload.payload.is_some());
        let own = own.map(|workload| self.transport_of(workload).full_wire_bytes());
        let all = self.transports.iter().map(|chosen| chosen.full_wire_bytes());
        all.chain(own).max().unwrap_or(0)
    }
}

/// What holds for all flows of a transport, whatever its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// A flow, or a part of one, keeps to a path while routing lets it, and does not send on all in turn.
    pub keeps_paths: bool,
    /// Every flow with a size ends: what is lost is sent again, and the sender hears of the last arrival.
    pub ends_flows: bool,
    /// Why `output.latencies` cannot be asked for, as the end of "transport NAME, ..."; `None` where it can.
    pub no_latencies: Option<&'static str>,
}

/// A transport with its parameters, as a run uses it: what [`Transport::with`](crate::transports::Transport::with)
/// makes of both.
#[derive(Clone, Debug)]
pub struct Chosen(Arc<dyn Choice>);

impl Chosen {
    pub(crate) fn new(choice: impl Choice) -> Chosen {
        Chosen(Arc::new(choice))
    }
    /// The parameters, if they are of this type.
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

/// What a plan, its description and its estimate ask of a transport. Called a few times a run, never for a packet.
pub trait Choice: fmt::Debug + Send + Sync + 'static {
    /// The name, as scenarios write it.
    fn name(&self) -> &'static str;
    /// Whether it is of this crate's own list.
    fn is_built_in(&self) -> bool;
    /// The parameters, in an [`Arc`].
    fn parameters(&self) -> &dyn Any;
    /// Payload bytes of a full packet.
    fn payload_bytes(&self) -> u16;
    /// The same transport for flows whose full packets have another payload; otherwise why there are none, as the end of
    /// "transport NAME, ...".
    ///
    /// # Errors
    /// A transport whose connections all have one payload.
    fn with_payload(&self, payload_bytes: u16) -> Result<Chosen, &'static str>;
    /// What its packets take on the wire beside their payload.
    fn framing(&self) -> Framing;
    /// What holds for all its flows.
    fn traits(&self) -> Traits;
    /// What it tells of its flows over time, beside what is counted of every flow.
    fn series_columns(&self) -> Vec<SeriesColumn>;
    /// Whether its connections take further messages.
    fn takes_messages(&self) -> bool;
    /// Whether its senders answer marks.
    fn answers_marks(&self) -> bool;
    /// The key of its table that asks ports to tell what the last hop trims, if its value does.
    fn asks_for_last_hop(&self) -> Option<&'static str>;
    /// How long both ends remember a flow that has ended.
    fn time_wait(&self) -> TimeDelta;
    /// The parameters in words: lines for `explain`.
    fn describe(&self, plan: &Plan) -> String;
    /// Timers that are long beside a data centre's round trips, in words.
    fn slow_timers(&self) -> Option<String>;
    /// The time after which a sender that has measured no round trip sends again what nobody answered, with its key.
    fn first_timeout(&self) -> Option<(&'static str, TimeDelta)>;
    /// Full packets that a flow may have outstanding, with the key that limits them.
    fn window(&self) -> Option<(&'static str, u64)>;
    /// Who makes frames of these packets for a capture, which are in the order of time. `None`: packets have the form of
    /// this repository's own wire format.
    fn frames(&self, packets: &[Packet]) -> Option<Box<dyn Frames>>;
    /// The kind of a packet as one of its hosts sent it, for a timeline.
    fn packet_kind(&self, packet: &Packet) -> PacketKind;
    /// What the flows of a group will take.
    fn work(&self, plan: &Plan, group: &Group) -> Work;
    /// Runs a plan of which it is the only transport, or the only one that is not built in, or the first.
    ///
    /// # Errors
    /// A plan that cannot be run.
    fn run(
        &self,
        plan: &Plan,
        resources: Resources,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<RunRecord, RunError>;
    /// Bytes of a full packet on the wire.
    fn full_wire_bytes(&self) -> u16 {
        self.framing().wire_bytes(self.payload_bytes())
    }
}

/// Flows of one workload that fare alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// How many there are.
    pub flows: f64,
    /// Those of them that are under way, or remembered, at the same time.
    pub alive: f64,
    /// Payload packets of each; infinite for long-lived flows.
    pub packets: f64,
    /// Flows into the same receiver.
    pub into: f64,
    /// Flows out of the same sender.
    pub out_of: f64,
    /// Links on the way, on the average.
    pub links: f64,
    /// Seconds that they have, until the end of the run.
    pub seconds: f64,
}

/// What a group of flows will take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Packets on links.
    pub hops: f64,
    /// Time of one of them over that of a packet of NDP that finds its place.
    pub slowness: f64,
    /// Bytes of memory beside the usual of each flow.
    pub bytes: f64,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Virtual time.
    pub simulated: TimeDelta,
    /// Virtual time at the end, when it is known.
    pub duration: Option<TimeDelta>,
    /// Packets that left a link.
    pub packet_hops: u64,
    /// Sized flows that ended.
    pub flows_done: u64,
    /// Sized flows that are known of: all of those that a matrix, a file or a count says beforehand, and of those that
    /// arrive by a clock the ones that started.
    pub flows: u64,
}

/// What a run may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Threads, at most: as many as [`division`](crate::division) makes of them.
    pub threads: usize,
    /// Records of flows that memory holds; the others wait in a temporary file.
    pub records_in_memory: usize,
}

impl Default for Resources {
    /// One thread.
    fn default() -> Resources {
        Resources { threads: 1, records_in_memory: flow_store::IN_MEMORY }
    }
}

/// Why a plan cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The network would be too small for its workloads, or has no hosts.
    Topology(String),
    /// More flows under way at one host than it can number.
    Workload(String),
    /// The records of flows fit neither memory nor disk.
    Records(String),
    /// No transport, or several that cannot be in one run.
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

/// How packets find their way among equal paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spraying {
    /// The sender chooses. NDP sends on every path of a random permutation in turn (NDP 3.1.1); a
    /// TCP flow keeps one path, each subflow its own, as ECMP by a hash of addresses and ports.
    #[default]
    SenderPermuted,
    /// As the sender chooses, and the same for all flows of the workload from one host to another: their halves draw
    /// from one stream.
    PerPair,
    /// Every switch chooses at random for every packet.
    SwitchRandom,
}

/// The engine that drives a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// Lookahead windows: the fast one.
    #[default]
    Windows,
    /// One binary heap of events: the oracle that the fast one is held to.
    Heap,
}

/// One group of flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Unique in the scenario; part of every flow's identity.
    pub name: String,
    /// Who sends to whom.
    pub matrix: Matrix,
    /// Bytes of each flow.
    pub size: Size,
    /// How flows follow each other.
    pub arrivals: Arrivals,
    /// Whether flows from one host to another share a connection.
    pub connection: Connection,
    /// When the flows start.
    pub start: TimeDelta,
    /// Each flow starts up to this much later, uniformly.
    pub start_jitter: TimeDelta,
    /// Priority class at the receiver, 0 (default) to 3.
    pub class: u8,
    /// How packets find their way.
    pub spraying: Spraying,
    /// Place of its transport among those of the plan.
    pub transport: u8,
    /// Payload of a full packet of its flows, if not that of the transport.
    pub payload: Option<NonZeroU16>,
}

impl Workload {
    /// What a file calls the flow at this place of it; `None` where no file gave it a number.
    pub(crate) fn id_of(&self, place: u32) -> Option<NonZeroU32> {
        let Matrix::Listed(listed) = &self.matrix else { return None };
        listed.flows.get(place as usize)?.id
    }
}

/// Which connection carries a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Connection {
    /// One of its own.
    #[default]
    New,
    /// The one connection of its workload from its source to its destination, which stays open: flows are messages
    /// on it, one after another, and each waits at its source until the one before was acknowledged.
    Persistent,
    /// One of several such connections that is idle. Where a client asks, an answer comes back on the connection of
    /// its request, which is idle again when the answer is there.
    Pool(Pool),
}

impl Connection {
    /// Whether it stays open for further flows.
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
    /// How many: at least one. A flow takes one of those that are idle, drawn from a stream of its own.
    pub each: u16,
    /// What a flow does that finds none idle.
    pub when_busy: WhenBusy,
}

/// What a flow does that finds all connections of its pool busy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenBusy {
    /// It waits at its source for the first one that becomes idle, in the order of arrivals.
    #[default]
    Wait,
    /// It waits for the one behind which the fewest wait, the first of several, whichever becomes idle before.
    LeastBusy,
}

/// Who sends to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matrix {
    /// Every host sends to one other, and receives from one other: a random derangement of the
    /// hosts.
    Permutation,
    /// Every host sends `flows` flows, each to a host drawn from all others: some receive from several,
    /// some from none.
    Random {
        /// Flows of each host.
        flows: u32,
        /// Hosts that neither send nor receive.
        excluding: Vec<u32>,
    },
    /// So many pairs of a source and a destination, each drawn with replacement. Nothing is made of a pair of a host
    /// with itself.
    RandomPairs {
        /// Pairs that are drawn.
        total: u32,
        /// Hosts that never send, sorted, each once.
        not_source: Vec<u32>,
        /// Hosts that never receive, sorted, each once.
        not_destination: Vec<u32>,
        /// Whether a host may draw itself; otherwise the pair is drawn again.
        self_pairs: bool,
    },
    /// Every host sends to every other.
    AllToAll,
    /// `sender` sends to `receivers` of the other hosts.
    Outcast {
        /// The sending host.
        sender: u32,
        /// How many receive.
        receivers: u32,
        /// Which of the others receive.
        choose: Choose,
    },
    /// `senders` of the other hosts send to `receiver`.
    Incast {
        /// The receiving host.
        receiver: u32,
        /// How many send.
        senders: u32,
        /// Hosts that are never chosen, sorted, each once; another workload may use them.
        excluding: Vec<u32>,
        /// Which of the others send.
        choose: Choose,
    },
    /// `senders` of the other hosts send to a host that is drawn too, anew for each incast.
    RandomIncast {
        /// How many send.
        senders: u32,
        /// Who receives.
        receivers: Receivers,
        /// Hosts that are never drawn, to send or of all to receive, sorted, each once.
        excluding: Vec<u32>,
    },
    /// Exactly these (source, destination) pairs.
    Pairs(Vec<(u32, u32)>),
    /// What a file lists, flow by flow: sizes and starts are its own.
    Listed(Arc<Listed>),
    /// Clients ask servers: the requests. The answers are the workload behind this one, whose matrix is
    /// [`Matrix::Responses`] and whose size is that of an answer.
    Requests(Queries),
    /// The answers to the requests of the workload before.
    Responses,
}

/// Who receives incasts whose receiver is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Receivers {
    /// Any host that is not excluded, one for each incast.
    Any,
    /// One of these hosts for each incast. None of them sends. Sorted, each once, at least one.
    OneOf(Vec<u32>),
    /// One of these for each sender of an incast. None of them sends.
    EachOneOf(Vec<u32>),
}

impl Receivers {
    /// The hosts that may receive and never send.
    pub fn set(&self) -> &[u32] {
        match self {
            Receivers::Any => &[],
            Receivers::OneOf(set) | Receivers::EachOneOf(set) => set,
        }
    }

    /// How many hosts may receive, of so many of which some are never drawn.
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
    /// What starts flows when others end, by number.
    pub triggers: Vec<Trigger>,
}

/// One flow of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFlow {
    /// Its number in the file, where it has one.
    pub id: Option<NonZeroU32>,
    /// Source host.
    pub source: u32,
    /// Destination host.
    pub destination: u32,
    /// Payload bytes; `None`: it has no end.
    pub size: Option<ByteCount>,
    /// Its priority class at the receiver, where the file gives priorities; else that of the workload.
    pub class: Option<u8>,
    /// When it starts: after the workload's start, or when a trigger fires.
    pub start: ListedStart,
    /// The trigger that its last ACK activates, at its source.
    pub on_acknowledged: Option<u32>,
    /// The trigger that its last byte activates, at its destination.
    pub on_delivered: Option<u32>,
}

/// When a listed flow starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedStart {
    /// So long after the workload's start.
    At(TimeDelta),
    /// When this trigger fires, which is one of its source host.
    Trigger(u32),
}

/// Bytes of the flows of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Size {
    /// They have no end.
    LongLived,
    /// All of this size.
    Fixed(ByteCount),
    /// Each drawn from its own stream.
    Drawn(Arc<SizeDistribution>),
    /// The same, of a Pareto distribution.
    Pareto(Pareto),
}

impl Size {
    /// The mean in thousandths of a byte; `None` for long-lived flows.
    pub fn mean_millibytes(&self) -> Option<u64> {
        match self {
            Size::LongLived => None,
            Size::Fixed(size) => Some(size.get().saturating_mul(1000)),
            Size::Drawn(sizes) => Some(sizes.mean_millibytes()),
            Size::Pareto(sizes) => Some(sizes.mean_millibytes()),
        }
    }
}

/// How flows follow each other: those of a pair, or of a connection to hosts that are drawn; an incast or a query
/// is one arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// Each flow once.
    #[default]
    Once,
    /// The next one this much later, whatever became of the last.
    Periodic {
        /// From one to the next.
        every: TimeDelta,
        /// None at this time or later.
        until: TimeDelta,
    },
    /// A Poisson process: gaps are exponential.
    Poisson {
        /// Mean gap between the arrivals of one source; of the whole workload with incasts.
        mean: TimeDelta,
        /// None at this time or later.
        until: TimeDelta,
    },
    /// The next one when the last has ended at the sender (a query: when all answers are there), and a gap has
    /// passed.
    ClosedLoop {
        /// The gap.
        gap: Gap,
        /// How many of each connection or client; `None`: until the end of the run.
        count: Option<u32>,
    },
}

/// Which hosts send in an incast, or receive in an outcast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choose {
    /// Drawn at random.
    #[default]
    Random,
    /// Those with the highest numbers.
    Last,
}
