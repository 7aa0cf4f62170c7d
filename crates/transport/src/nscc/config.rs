//! Parameters of a host, and counters of its senders.

use trimline_packet::{BitRate, TimeDelta};

use crate::path_choice::PathChoice;
use crate::rccc::Rule;

/// The average of the delays that decides by how much a window falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Average {
    /// uet-htsim: an exponential average with a gain of 1/80 for each ACK. An unmarked delay above the target counts as
    /// a quarter of the base round trip.
    Exponential,
    /// The specification, as asteria-ns3 cites it: the mean of the last base round trip.
    RoundTrip,
}

/// Reasons for which a window may fall to what arrived in the last period (QuickAdapt).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuickAdapt {
    /// None.
    Off,
    /// A NACK or a time-out (the specification with trimming, as asteria-ns3 cites it).
    Loss,
    /// A NACK, or a delay above four targets (uet-htsim).
    Delay,
}

/// The constants of the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Law {
    /// P, the bytes of a step: the payload of a full packet (uet-htsim), or the packet (asteria-ns3).
    pub step_bytes: u32,
    /// Bytes of a full packet on the wire: the min window.
    pub packet_bytes: u32,
    /// Rate of the host's link.
    pub line: BitRate,
    /// Round trip of an idle network. A shorter sample lowers the base of its flow.
    pub base: TimeDelta,
    /// Delay above which the network counts as congested.
    pub target: TimeDelta,
    /// Delay below which the way counts as idle.
    pub clear: TimeDelta,
    /// The first window in bytes on the wire; `None`: the max.
    pub first: Option<u64>,
    /// The average of the delays.
    pub average: Average,
    /// Reasons for QuickAdapt.
    pub quick_adapt: QuickAdapt,
}

/// The rule for how much a sender may send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Control {
    /// The sender's window (NSCC).
    Window,
    /// The receiver's credit (RCCC). The [`Law`] gives the line and the base round trip alone.
    Credit(Rule),
    /// A packet needs room in the window and credit.
    Both(Rule),
}

impl Control {
    /// Returns whether there is a window.
    pub const fn has_window(&self) -> bool {
        match self {
            Control::Window | Control::Both(_) => true,
            Control::Credit(_) => false,
        }
    }

    /// Returns the rule of the receiver's credit.
    pub const fn credit(&self) -> Option<&Rule> {
        match self {
            Control::Window => None,
            Control::Credit(rule) | Control::Both(rule) => Some(rule),
        }
    }
}

/// Parameters of every flow of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Payload of a full packet, in bytes; the header adds 64.
    pub payload_bytes: u16,
    /// True if switches may trim its packets.
    pub trims: bool,
    /// The paths of its packets.
    pub path_choice: PathChoice,
    /// Numbers that stand for drawn paths ([`PathChooser::hashed`](crate::path_choice::PathChooser::hashed)); `None`:
    /// each path has one.
    pub entropies: Option<u16>,
    /// Bytes on the wire for which a receiver sends one ACK.
    pub ack_every: u32,
    /// Time in flight after which a packet counts as lost.
    pub rto: TimeDelta,
    /// How many times `rto` doubles with time-outs in a row; at most 16.
    pub rto_doublings: u8,
    /// Time for which a driver keeps both streams of an ended flow.
    pub time_wait: TimeDelta,
    /// Window, credit, or both.
    pub control: Control,
    /// The constants of the window.
    pub law: Law,
}

/// Counters of a send stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStatistics {
    /// Data packets sent, retransmissions included.
    pub packets_sent: u64,
    /// Retransmissions of trimmed packets.
    pub resent_trimmed: u64,
    /// Retransmissions after time-outs.
    pub resent_timeout: u64,
    /// Times at which packets were found lost by time-out.
    pub timeouts: u64,
    /// Headers that switches returned.
    pub returned: u64,
    /// Times that QuickAdapt lowered the window.
    pub quick_adapts: u64,
    /// RTSs sent, for want of credit.
    pub rts_sent: u64,
}
