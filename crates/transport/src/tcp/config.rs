//! Parameters of a TCP host, and its counters.

use trimline_packet::TimeDelta;

/// Max subflows of a connection: three header bits name a subflow.
pub const MAX_SUBFLOWS: u8 = 8;

/// Parameters of every connection of a host. Both ends use equal ones: there is no SYN negotiation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// True if segments enter one FIFO of the host's NIC once a window allows them; else connections take turns. ACKs
    /// overtake data in both cases.
    pub is_fifo: bool,
    /// Payload of a full segment, in bytes; the header adds 64.
    pub payload_bytes: u16,
    /// Initial window, in segments (RFC 6928: 10).
    pub initial_window: u16,
    /// Initial slow start threshold, in segments (RFC 5681: arbitrarily high; the authors of NDP: 15).
    pub initial_threshold: u16,
    /// Congestion control.
    pub control: Control,
    /// Subflows of a connection, 1 to [`MAX_SUBFLOWS`]. Several are MPTCP.
    pub subflows: u8,
    /// True if the increases of subflows are linked (RFC 6356). Else each grows as a flow does, as in the programs of
    /// NDP's authors.
    pub coupled: bool,
    /// True if data is ECN-capable and marks are echoed (RFC 3168; RFC 8257 with [`Control::Dctcp`]).
    pub ecn: bool,
    /// True if receivers send SACK blocks (RFC 2018), and senders recover by them (RFC 6675). Not with several
    /// subflows: their ACKs carry the connection's number there.
    pub sack: bool,
    /// True if receivers also report duplicates (RFC 2883), and senders undo needless reductions. Needs `sack`.
    pub dsack: bool,
    /// True if ACKs without blocks echo the segment's send time (RFC 7323).
    pub timestamps: bool,
    /// True if a time-out is first tested for being spurious (RFC 5682).
    pub frto: bool,
    /// The opening of a connection.
    pub handshake: Handshake,
    /// Segments in order per ACK (RFC 5681: 2; 1 acknowledges each).
    pub ack_every: u8,
    /// Max delay of an ACK (RFC 1122: less than 500 ms).
    pub ack_delay: TimeDelta,
    /// RTO before the first sample (RFC 6298: 1 s).
    pub rto_initial: TimeDelta,
    /// Minimum RTO (RFC 6298: 1 s).
    pub rto_min: TimeDelta,
    /// Min of the RTO's term 4 RTTVAR, the G of RFC 6298 (2.3). Linux bounds this term and not the RTO, by its
    /// `tcp_rto_min` of 200 ms. 0 leaves the bound of every sender: half of SRTT, and `ack_delay` if ACKs are delayed.
    pub rto_variance_min: TimeDelta,
    /// Max RTO (RFC 6298: at least 60 s).
    pub rto_max: TimeDelta,
    /// Receive window: segments accepted from the oldest missing one on.
    pub receive_window: u16,
    /// True if a subflow restarts with at most the initial window once it has nothing outstanding and was idle for more
    /// than an RTO (RFC 5681 4.1). Else it keeps its window.
    pub restart_after_idle: bool,
    /// True if the window also grows by ACKs with an echo, as in htsim's DCTCP. RFC 3168 6.1.2 forbids it, and RFC 8257
    /// changes nothing there.
    pub grows_when_marked: bool,
    /// True if DCTCP's `alpha` begins at 0, so that the first marks hardly count, as in htsim; else at 1 (RFC 8257
    /// 4.2).
    pub alpha_from_zero: bool,
    /// The reaction to switches' notifications.
    pub notifications: Notifications,
    /// Time for which a driver keeps both streams after all data was acknowledged and no more will come, to answer late
    /// packets (RFC 9293 3.6.1: twice the max lifetime of a segment). A connection that is not forgotten takes more
    /// data at any time.
    pub time_wait: TimeDelta,
}

/// The law of congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// RFC 5681 and RFC 6582.
    NewReno,
    /// RFC 9438.
    Cubic,
    /// RFC 8257: the gain of the average `alpha` is 2^-`gain_shift` (4).
    Dctcp {
        /// The gain's exponent.
        gain_shift: u8,
    },
}

/// The reaction of a host to switches' notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notifications {
    /// No reaction.
    Ignored,
    /// Source Quench (FastLane 2.2.1): the window shrinks as for an echoed mark, once per window of data. Nothing is
    /// resent.
    Quench,
    /// Notifications name dropped packets (FastLane 3.4.1). Needs one subflow, and neither SACK nor time stamps:
    /// FastLane's two options use their fields. Duplicate ACKs then say nothing of loss.
    FastLane(FastLane),
}

impl Notifications {
    /// Returns FastLane's rules if they apply.
    pub(super) const fn fastlane(&self) -> Option<&FastLane> {
        match self {
            Notifications::FastLane(rules) => Some(rules),
            Notifications::Ignored | Notifications::Quench => None,
        }
    }
}

/// Sender rules that FastLane's paper leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastLane {
    /// Right shift of max_sim per further try of a segment (chosen: 1, half).
    pub retry_shift: u8,
}

impl Default for FastLane {
    fn default() -> FastLane {
        FastLane { retry_shift: 1 }
    }
}

impl Control {
    /// Returns whether an ACK echoes the marks of just its segments (RFC 8257 3.2), or each mark until the sender has
    /// acted (RFC 3168 6.1.3).
    pub(super) const fn echoes_each_mark(self) -> bool {
        match self {
            Control::NewReno | Control::Cubic => false,
            Control::Dctcp { .. } => true,
        }
    }

    /// Returns whether resent segments are ECN-capable. RFC 3168 6.1.5 forbids it; RFC 8257 has no such rule.
    pub(super) const fn marks_retransmissions(self) -> bool {
        match self {
            Control::NewReno | Control::Cubic => false,
            Control::Dctcp { .. } => true,
        }
    }
}

/// The opening of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// A SYN, its answer, then data.
    ThreeWay,
    /// The SYN carries the first segment; the rest waits for its answer (RFC 7413, with a cookie from an earlier
    /// connection).
    FastOpen,
    /// The connection existed before: the first window goes at once, all marked SYN, so that any of its segments
    /// creates the receiver.
    Standing,
}

/// Counters of a send stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStatistics {
    /// Data segments sent, retransmissions included.
    pub packets_sent: u64,
    /// Retransmissions after duplicate ACKs or SACK blocks.
    pub retransmissions_fast: u64,
    /// Retransmissions after notifications of drops.
    pub retransmissions_notified: u32,
    /// Retransmissions after time-outs, those on other subflows included.
    pub retransmissions_timeout: u64,
    /// Retransmission time-outs, also of SYNs.
    pub timeouts: u64,
    /// Reductions undone because the resent segments had arrived.
    pub undone: u64,
    /// Notifications that the sender acted on.
    pub notifications: u32,
}

/// Progress of a send stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderProgress {
    /// Congestion window, summed over subflows, in segments, Q32.32.
    pub window: u64,
    /// Segments in flight, summed over subflows.
    pub in_flight: u32,
    /// Longest smoothed round trip of a subflow, once measured.
    pub round_trip: Option<TimeDelta>,
    /// DCTCP's average share of marked segments (RFC 8257), Q32.32; `None` for other laws.
    pub alpha: Option<u64>,
}

/// Counters of a receive stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStatistics {
    /// Payload bytes that arrived, without duplicates.
    pub bytes: u64,
    /// Data segments that arrived, without duplicates.
    pub packets: u64,
    /// Duplicate segments.
    pub duplicates: u64,
    /// Segments that arrived marked "congestion experienced".
    pub marked: u64,
}
