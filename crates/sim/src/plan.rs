//! One run, fully decided: what a scenario becomes for one series and one seed. No strings to
//! interpret, no defaults left open.

use std::sync::Arc;

use trimline_packet::{ByteCount, TimeDelta};
use trimline_switch::ServiceModel;
pub use trimline_transport::ndp::{Config, PullSpacing};
pub use trimline_transport::tcp;
use trimline_transport::{cbr, ndp};

pub use crate::formats::sizes::SizeDistribution;
pub use crate::links::{Impairment, LinkChange, LinkEvent, Share};

use crate::topology::{Clos, LinkId};

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
    /// The memory that the queues of a switch share, when the model has some that do.
    pub shared_memory: SharedMemory,
    /// The transport and its parameters.
    pub transport: Transport,
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

/// The protocol of every host.
#[derive(Clone, Debug)]
pub enum Transport {
    /// NDP (SIGCOMM 2017).
    Ndp(ndp::Config),
    /// Senders of a constant bit rate that nothing slows down.
    Cbr(cbr::Config),
    /// TCP, DCTCP or MPTCP.
    Tcp(tcp::Config),
}

impl Transport {
    /// Payload bytes of a full packet.
    pub fn payload_bytes(&self) -> u16 {
        match self {
            Transport::Ndp(config) => config.payload_bytes,
            Transport::Cbr(config) => config.payload_bytes,
            Transport::Tcp(config) => config.payload_bytes,
        }
    }

    /// Whether a flow, or a part of one, keeps to a path while routing lets it, and does not send on all in turn.
    pub fn keeps_paths(&self) -> bool {
        match self {
            Transport::Ndp(_) | Transport::Cbr(_) => false,
            Transport::Tcp(_) => true,
        }
    }
}

/// How packets find their way among equal paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spraying {
    /// The sender chooses. NDP sends on every path of a random permutation in turn (NDP 3.1.1); a
    /// TCP flow keeps one path, each subflow its own, as ECMP by a hash of addresses and ports.
    #[default]
    SenderPermuted,
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
    /// When the flows start.
    pub start: TimeDelta,
    /// Each flow starts up to this much later, uniformly.
    pub start_jitter: TimeDelta,
    /// Priority class at the receiver, 0 (default) to 3.
    pub class: u8,
    /// How packets find their way.
    pub spraying: Spraying,
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

/// Partition and aggregate: a client asks several servers at once and waits for all answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queries {
    /// The one client; `None`: every host is one.
    pub client: Option<u32>,
    /// Servers of each query, drawn from all other hosts.
    pub servers: u32,
    /// How long a server takes between the last byte of a request and the beginning of its answer.
    pub service_time: Gap,
}

/// The flows of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// In the order of the file.
    pub flows: Vec<ListedFlow>,
    /// What starts flows when others end, by number.
    pub triggers: Vec<ListedTrigger>,
}

/// One flow of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFlow {
    /// Source host.
    pub source: u32,
    /// Destination host.
    pub destination: u32,
    /// Payload bytes.
    pub size: ByteCount,
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

/// When a trigger of a file starts the flows that wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListedTrigger {
    /// All, at the last of so many activations.
    After(u32),
    /// The next one, at each activation.
    OneByOne,
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
}

impl Size {
    /// The mean in thousandths of a byte; `None` for long-lived flows.
    pub fn mean_millibytes(&self) -> Option<u64> {
        match self {
            Size::LongLived => None,
            Size::Fixed(size) => Some(size.get().saturating_mul(1000)),
            Size::Drawn(sizes) => Some(sizes.mean_millibytes()),
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

/// A time that is fixed or drawn: the gap of a closed loop, the time that a server takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Always this.
    Fixed(TimeDelta),
    /// Exponential, with this mean.
    Exponential(TimeDelta),
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
