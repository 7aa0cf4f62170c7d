//! Records of flows.

use std::borrow::Borrow;
use std::fmt;
use std::num::NonZeroU32;
use std::ops::Deref;
use std::sync::Arc;

/// The end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEnd {
    /// Every byte, and the last ACK, arrived.
    Completed,
    /// Every byte arrived; the last ACK did not before the run ended.
    Delivered,
    /// The run ended before every byte arrived.
    RunEnded,
    /// The flow is long-lived: it has no end.
    LongLived,
    /// The flow starts after the run.
    NotStarted,
}

/// Workload name, shared by flow records.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl Deref for Name {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Name {
        Name(text.into())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl PartialEq<String> for Name {
    fn eq(&self, other: &String) -> bool {
        **self == **other
    }
}

impl PartialEq<Name> for String {
    fn eq(&self, other: &Name) -> bool {
        **self == **other
    }
}

/// A flow. Times are picoseconds from the start of the run, sizes payload bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRecord {
    /// Workload name.
    pub workload: Name,
    /// Flow number within source and workload.
    pub index: u64,
    /// Number from a flow file.
    pub id: Option<NonZeroU32>,
    /// Source host.
    pub source: u32,
    /// Destination host.
    pub destination: u32,
    /// Payload bytes, `None` for a long-lived flow.
    pub size_bytes: Option<u64>,
    /// Start by the application.
    pub start_ps: u64,
    /// Start until the first packet began to leave the host.
    pub host_wait_ps: Option<u64>,
    /// Start until the last byte arrived at the receiver.
    pub fct_receiver_ps: Option<u64>,
    /// Start until the last ACK arrived at the sender.
    pub fct_sender_ps: Option<u64>,
    /// Ideal `fct_receiver_ps`, in an idle network.
    pub ideal_fct_ps: Option<u64>,
    /// Ideal `fct_sender_ps`, in an idle network.
    pub ideal_fct_sender_ps: Option<u64>,
    /// Payload bytes that arrived, without duplicates.
    pub delivered_bytes: u64,
    /// Payload bytes that arrived after the warm-up.
    pub measured_bytes: u64,
    /// Packets sent, retransmissions included.
    pub packets_sent: u64,
    /// Retransmissions after loss signals: NACKs (NDP), duplicate ACKs or SACK blocks (TCP).
    pub retransmissions_signalled: u64,
    /// Retransmissions after returned headers.
    pub retransmissions_return: u64,
    /// Retransmissions after timeouts.
    pub retransmissions_timeout: u64,
    /// Headers that arrived at the receiver.
    pub trims: u64,
    /// Headers returned to the sender.
    pub returns: u64,
    /// Sender timeouts.
    pub timeouts: u64,
    /// Paths removed by the sender's scoreboard.
    pub path_removals: u64,
    /// Removed paths restored by the sender.
    pub path_restorations: u64,
    /// The end of the flow.
    pub end: FlowEnd,
}

impl FlowRecord {
    /// Creates a record without events.
    pub fn not_started(
        workload: Name,
        index: u64,
        source: u32,
        destination: u32,
        size_bytes: Option<u64>,
    ) -> FlowRecord {
        FlowRecord {
            workload,
            index,
            id: None,
            source,
            destination,
            size_bytes,
            start_ps: 0,
            host_wait_ps: None,
            fct_receiver_ps: None,
            fct_sender_ps: None,
            ideal_fct_ps: None,
            ideal_fct_sender_ps: None,
            delivered_bytes: 0,
            measured_bytes: 0,
            packets_sent: 0,
            retransmissions_signalled: 0,
            retransmissions_return: 0,
            retransmissions_timeout: 0,
            trims: 0,
            returns: 0,
            timeouts: 0,
            path_removals: 0,
            path_restorations: 0,
            end: FlowEnd::NotStarted,
        }
    }

    /// Sort key in records and flows.csv: start, source host, workload, index.
    pub fn order(&self) -> (u64, u32, &str, u64) {
        (self.start_ps, self.source, &self.workload, self.index)
    }

    /// FCT at the receiver over ideal FCT, in millionths, rounded half up. Integer arithmetic gives the same digits
    /// everywhere.
    pub fn slowdown_millionths(&self) -> Option<u64> {
        let (fct, ideal) = (self.fct_receiver_ps?, self.ideal_fct_ps?);
        if ideal == 0 {
            return None;
        }
        let twice = fct.checked_mul(2_000_000).and_then(|scaled| scaled.checked_add(ideal));
        Some(match twice {
            Some(twice) => twice / 2 / ideal,
            None => {
                let (fct, ideal) = (u128::from(fct), u128::from(ideal));
                ((fct * 2_000_000 + ideal) / (2 * ideal)) as u64
            }
        })
    }

    /// Goodput in Gb/s. Long-lived: payload in the measured interval of `measured_ps`. Sized: size over FCT at the
    /// receiver; `None` if undelivered.
    pub fn goodput_gbps(&self, measured_ps: u64) -> Option<f64> {
        let (bytes, ps) = match self.size_bytes {
            None => (self.measured_bytes, measured_ps),
            Some(size) => (size, self.fct_receiver_ps?),
        };
        // Bits per picosecond are terabits per second.
        (ps > 0).then(|| (bytes * 8) as f64 / ps as f64 * 1000.0)
    }
}
