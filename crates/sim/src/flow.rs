//! What a flow is.

use trimline_packet::{ByteCount, HostId, Time};

/// A flow: who sends what to whom, and when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    pub(crate) source: HostId,
    pub(crate) destination: HostId,
    /// Place of its workload in the scenario.
    pub(crate) workload: u32,
    /// What its application at the source knows it by.
    pub(crate) token: u32,
    /// Number among the flows of its source and workload.
    pub(crate) index: u64,
    /// Payload bytes, `None` for a long-lived flow.
    pub(crate) size: Option<ByteCount>,
    pub(crate) start: Time,
    pub(crate) class: u8,
    /// Switches choose its paths.
    pub(crate) switch_random: bool,
    /// Which of the persistent connections to its destination carries it, once that is known.
    pub(crate) connection_number: Option<u16>,
}

impl Flow {
    /// Where there is none.
    pub(crate) const NONE: Flow = Flow {
        source: HostId::new(0),
        destination: HostId::new(0),
        workload: 0,
        token: 0,
        index: 0,
        size: None,
        start: Time::NEVER,
        class: 0,
        switch_random: false,
        connection_number: None,
    };
}
