//! What hosts are about to do, and in which order at one instant.

use trimline_packet::Time;

/// What a host will do when its time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// A trigger of a file was activated at another host. Before all flows of this instant.
    Notice(Activation),
    /// An application looks what comes next. Before all flows of this instant and workload.
    Look(u32),
    /// A flow to this host starts.
    Flow(u32),
    /// An application starts its next flow.
    Application(u32),
    /// The answer to a request of this client starts.
    Answer(u32),
    /// A flow of a file starts.
    Listed(u32),
}

/// A trigger of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Activation {
    pub(super) workload: u32,
    pub(super) trigger: u32,
}

/// Something that a host is about to do. At one instant flows whose start was known come before those that follow
/// from something, and each kind in the order of workloads and indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Due {
    pub(super) at: Time,
    /// It follows from something that happened.
    pub(super) follows: bool,
    pub(super) workload: u32,
    pub(super) index: u64,
    pub(super) what: What,
}

/// The next flow of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) at: Time,
    pub(super) follows: bool,
    pub(super) index: u64,
}
