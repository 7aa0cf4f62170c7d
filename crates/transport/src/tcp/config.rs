//! The parameters of a TCP host, and what it counts.

use trimline_packet::TimeDelta;

/// The most subflows of a connection: three bits of the header name one.
pub const MAX_SUBFLOWS: u8 = 8;

/// Parameters of every connection of a host. Both ends have the same: what a SYN would negotiate is
/// agreed on before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Whether a segment enters one queue of the host when a window allows it, as in a NIC that is a FIFO; else the
    /// connections of a host take turns. ACKs overtake data in both cases.
    pub is_fifo: bool,
    /// Payload of a full segment in bytes; the header adds 64 on the wire.
    pub payload_bytes: u16,
    /// Segments of the initial window (RFC 6928: 10).
    pub initial_window: u16,
    /// Segments of the first slow start threshold (RFC 5681: arbitrarily high; the authors of NDP: 15).
    pub initial_threshold: u16,
    /// How the window grows and shrinks.
    pub control: Control,
    /// Subflows of a connection, 1 to [`MAX_SUBFLOWS`]. Several are MPTCP.
    pub subflows: u8,
    /// Whether the increases of several subflows are linked (RFC 6356). If not, each grows as a flow does, as in the
    /// programs of NDP's authors.
    pub coupled: bool,
    /// Whether data is sent as ECN-capable, and marks are echoed (RFC 3168; RFC 8257 with
    /// [`Control::Dctcp`]).
    pub ecn: bool,
    /// Whether receivers say which segments they have (RFC 2018), and senders recover by it (RFC 6675).
    /// Not with several subflows: their ACKs carry the connection's number in the same place.
    pub sack: bool,
    /// Whether receivers also say which segments came twice (RFC 2883), and senders take back a
    /// reduction that was for nothing. Needs `sack`.
    pub dsack: bool,
    /// Whether ACKs echo the time at which the segment was sent (RFC 7323), where they need no room
    /// for blocks.
    pub timestamps: bool,
    /// Whether a time-out is first tested for being spurious (RFC 5682).
    pub frto: bool,
    /// How a connection begins.
    pub handshake: Handshake,
    /// Segments in order that one ACK answers (RFC 5681: 2; 1 answers each).
    pub ack_every: u8,
    /// The longest that an ACK is delayed (RFC 1122: less than 500 ms).
    pub ack_delay: TimeDelta,
    /// RTO before the first sample (RFC 6298: 1 s).
    pub rto_initial: TimeDelta,
    /// Minimum RTO (RFC 6298: 1 s).
    pub rto_min: TimeDelta,
    /// Minimum of the RTO's term 4 RTTVAR, the G of RFC 6298 (2.3). Linux bounds this term and not the RTO, by its
    /// `tcp_rto_min` of 200 ms. 0 leaves only the bound that every sender has: half of SRTT, and `ack_delay` where ACKs are
    /// delayed.
    pub rto_variance_min: TimeDelta,
    /// Greatest RTO (RFC 6298: 60 s at least).
    pub rto_max: TimeDelta,
    /// Segments that the receiver takes beyond the oldest one that is missing: the receive window.
    pub receive_window: u16,
    /// Whether the window of a subflow that has sent nothing for more than an RTO, and has nothing outstanding, is at
    /// most the initial one before the next new segment (RFC 5681 4.1). If not, it is kept however long nobody sends.
    pub restart_after_idle: bool,
    /// Whether an ACK with an echo lets the window grow like any other. RFC 3168 6.1.2 says no, and RFC 8257 changes
    /// nothing of it; the DCTCP of htsim does.
    pub grows_when_marked: bool,
    /// Whether DCTCP's `alpha` begins at 0, so that the first marks hardly count, as in htsim. RFC 8257 4.2: at 1.
    pub alpha_from_zero: bool,
    /// What is done about notifications of switches.
    pub notifications: Notifications,
    /// How long a driver keeps both halves of a connection after everything was acknowledged and no more will be sent
    /// on it, so that what is late is answered (RFC 9293 3.6.1: twice the time that a segment can be in the network).
    /// A connection that is not forgotten takes more at any time, also later.
    pub time_wait: TimeDelta,
}

/// How the window grows and shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// RFC 5681 and RFC 6582.
    NewReno,
    /// RFC 9438.
    Cubic,
    /// RFC 8257: `alpha` is averaged with the gain 2^-`gain_shift` (4).
    Dctcp {
        /// The gain's exponent.
        gain_shift: u8,
    },
}

/// What a host does about notifications of switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notifications {
    /// Nothing.
    Ignored,
    /// They are Source Quenches (FastLane 2.2.1): the window is reduced as for an echoed mark, once for each window of
    /// data. Nothing is resent.
    Quench,
    /// They say which packet was dropped (FastLane 3.4.1). Needs one subflow, and neither SACK nor time stamps: the words
    /// of those carry FastLane's two options. Duplicate ACKs then say nothing of loss.
    FastLane(FastLane),
}

impl Notifications {
    /// FastLane's rules, where they hold.
    pub(super) const fn fastlane(&self) -> Option<&FastLane> {
        match self {
            Notifications::FastLane(rules) => Some(rules),
            Notifications::Ignored | Notifications::Quench => None,
        }
    }
}

/// What FastLane's paper leaves open of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastLane {
    /// How much smaller max_sim is with each further try of a segment, as a shift (chosen: 1, half as much).
    pub retry_shift: u8,
}

impl Default for FastLane {
    fn default() -> FastLane {
        FastLane { retry_shift: 1 }
    }
}

impl Control {
    /// Whether an ACK echoes the marks of just the segments that it answers (RFC 8257 3.2), and not each mark until
    /// the sender says that it has acted (RFC 3168 6.1.3).
    pub(super) const fn echoes_each_mark(self) -> bool {
        match self {
            Control::NewReno | Control::Cubic => false,
            Control::Dctcp { .. } => true,
        }
    }

    /// Whether what is resent is ECN-capable too. RFC 3168 6.1.5 forbids it; RFC 8257 has no such rule.
    pub(super) const fn marks_retransmissions(self) -> bool {
        match self {
            Control::NewReno | Control::Cubic => false,
            Control::Dctcp { .. } => true,
        }
    }
}

/// How a connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// A SYN, its answer, then data.
    ThreeWay,
    /// The SYN carries the first segment; the rest waits for its answer (RFC 7413, with a cookie from an
    /// earlier connection).
    FastOpen,
    /// The connection stood before: the first window is sent at once. Every segment of it is marked
    /// SYN, so that whichever comes first makes the receiver.
    Standing,
}

/// What a sending half has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStatistics {
    /// Segments with data sent, retransmissions included.
    pub packets_sent: u64,
    /// Retransmissions because of duplicate ACKs or SACK blocks.
    pub retransmissions_fast: u64,
    /// Retransmissions because a switch told of the drop.
    pub retransmissions_notified: u32,
    /// Retransmissions because of a time-out, and what was sent again on another subflow after one.
    pub retransmissions_timeout: u64,
    /// Retransmission time-outs, those of the SYN included.
    pub timeouts: u64,
    /// Reductions that were taken back because what was resent had arrived.
    pub undone: u64,
    /// Notifications that were acted on.
    pub notifications: u32,
}

/// How far a sending half is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderProgress {
    /// Congestion window, summed over subflows, in segments, Q32.32.
    pub window: u64,
    /// Segments in flight, summed over subflows.
    pub in_flight: u32,
    /// The longest smoothed round trip of a subflow, once one was measured.
    pub round_trip: Option<TimeDelta>,
    /// The averaged share of marked segments (RFC 8257), Q32.32; `None` with another law than DCTCP's.
    pub alpha: Option<u64>,
}

/// What a receiving half has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStatistics {
    /// Payload bytes that arrived, duplicates not counted.
    pub bytes: u64,
    /// Segments with data that arrived, duplicates not counted.
    pub packets: u64,
    /// Segments that arrived again.
    pub duplicates: u64,
    /// Segments that arrived marked "congestion experienced".
    pub marked: u64,
}
