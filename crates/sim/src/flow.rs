//! The description of a flow.

use trimline_packet::{ByteCount, HostId, Time};

/// A flow: its hosts, size and start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    pub(crate) source: HostId,
    pub(crate) destination: HostId,
    /// Place of its workload in the scenario.
    pub(crate) workload: u32,
    /// Its name at the application of its source.
    pub(crate) token: u32,
    /// Number among the flows of its source and workload.
    pub(crate) index: u64,
    /// Payload bytes, `None` for a long-lived flow.
    pub(crate) size: Option<ByteCount>,
    pub(crate) start: Time,
    pub(crate) class: u8,
    /// True if switches choose its paths.
    pub(crate) switch_random: bool,
    /// The persistent connection to its destination that carries it, once known.
    pub(crate) connection_number: Option<u16>,
}

impl Flow {
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
