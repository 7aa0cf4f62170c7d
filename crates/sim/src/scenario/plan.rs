//! One run, fully decided: what a scenario becomes for one series and one seed. No strings to
//! interpret, no defaults left open.

use trimline_packet::{ByteCount, TimeDelta};
use trimline_switch::ServiceModel;
pub use trimline_transport::ndp::{Config, PullSpacing};
use trimline_transport::{cbr, ndp};

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
}

/// The protocol of every host.
#[derive(Clone, Debug)]
pub enum Transport {
    /// NDP (SIGCOMM 2017).
    Ndp(ndp::Config),
    /// Senders of a constant bit rate that nothing slows down.
    Cbr(cbr::Config),
}

impl Transport {
    /// Payload bytes of a full packet.
    pub fn payload_bytes(&self) -> u16 {
        match self {
            Transport::Ndp(config) => config.payload_bytes,
            Transport::Cbr(config) => config.payload_bytes,
        }
    }
}

/// How packets find their way among equal paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spraying {
    /// The sender sends on every path of a random permutation in turn (NDP 3.1.1).
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
    /// Bytes of each flow; `None` is long-lived.
    pub size: Option<ByteCount>,
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
    /// Exactly these (source, destination) pairs.
    Pairs(Vec<(u32, u32)>),
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
