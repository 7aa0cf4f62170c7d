//! Scheduled actions of hosts, and their order at one instant.

use trimline_packet::Time;

/// A scheduled action of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// A trigger of a file was activated at another host. Comes before all flows of this instant.
    Notice(Activation),
    /// An application schedules more. Comes before all flows of this instant and workload.
    Look(u32),
    /// A flow to this host starts.
    Flow(u32),
    Application(u32),
    /// The answer to a request of this client starts.
    Answer(u32),
    /// A flow of a file starts.
    Listed(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Activation {
    pub(super) workload: u32,
    pub(super) trigger: u32,
}

/// A scheduled action. At one instant flows with a known start come before flows that follow from an event, both in
/// order of workloads and indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Due {
    pub(super) at: Time,
    /// True if the action follows from an event.
    pub(super) follows: bool,
    pub(super) workload: u32,
    pub(super) index: u64,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) at: Time,
    pub(super) follows: bool,
    pub(super) index: u64,
}
