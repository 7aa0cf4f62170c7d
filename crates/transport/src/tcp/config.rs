//! Parameters of a TCP host, and its counters.

use trimline_packet::{Service, TimeDelta};

/// Max subflows of a connection: three header bits name a subflow.
pub const MAX_SUBFLOWS: u8 = 8;

/// Parameters of every connection of a host. Both ends have equal ones, without SYN negotiation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// True if segments enter one FIFO of the NIC once a window allows them; else connections take turns. ACKs overtake
    /// data in both cases.
    pub is_fifo: bool,
    /// Payload of a full segment, in bytes; the header adds 64.
    pub payload_bytes: u16,
    /// Initial window, in segments (RFC 6928: 10).
    pub initial_window: u16,
    /// Initial slow start threshold, in segments (RFC 5681: arbitrarily high; NDP's authors: 15).
    pub initial_threshold: u16,
    /// Congestion control.
    pub control: Control,
    /// Subflows of a connection, 1 to [`MAX_SUBFLOWS`]. Several are MPTCP.
    pub subflows: u8,
    /// True if the increases of subflows are linked (RFC 6356). Else each grows like a flow, as in the programs of
    /// NDP's authors.
    pub coupled: bool,
    /// True if data is ECN-capable and marks are echoed (RFC 3168; RFC 8257 with [`Control::Dctcp`]).
    pub ecn: bool,
    /// True if receivers send SACK blocks (RFC 2018), and senders use them (RFC 6675). Not with several subflows: their
    /// ACKs need the field.
    pub sack: bool,
    /// True if receivers report duplicates (RFC 2883), and senders undo needless reductions. Needs `sack`.
    pub dsack: bool,
    /// True if ACKs without blocks echo the segment's send time (RFC 7323).
    pub timestamps: bool,
    /// True if a time-out is first tested for being spurious (RFC 5682).
    pub frto: bool,
    /// The opening of a connection.
    pub handshake: Handshake,
    /// Segments in order per ACK (RFC 5681: 2; 1 acknowledges each).
    pub ack_every: u8,
    /// True if the first segment of a connection is acknowledged at once (ns-3). Else its ACK may wait as any other,
    /// and an initial window of one segment waits for `ack_delay`.
    pub ack_first: bool,
    /// Max delay of an ACK (RFC 1122: less than 500 ms).
    pub ack_delay: TimeDelta,
    /// True if the window grows by the segments that an ACK answers, in slow start by two at most (RFC 3465). Else each
    /// ACK counts as one segment (ns-3), so delayed ACKs slow the growth.
    pub byte_counting: bool,
    /// Time-out of a SYN without data; each repetition doubles it (RFC 6298: the initial RTO; ns-3: 3 s).
    pub syn_timeout: TimeDelta,
    /// RTO before the first sample (RFC 6298: 1 s).
    pub rto_initial: TimeDelta,
    /// Minimum RTO (RFC 6298: 1 s).
    pub rto_min: TimeDelta,
    /// Min of 4 RTTVAR, the G of RFC 6298 (2.3). Linux bounds this term and not the RTO, by its `tcp_rto_min` of 200
    /// ms. 0 leaves the bounds of `rto_margin`.
    pub rto_variance_min: TimeDelta,
    /// True if every RTO is at least 3/2 of SRTT, and `ack_delay` longer where ACKs are delayed (chosen). Else SRTT and
    /// four times RTTVAR are enough (RFC 6298; ns-3).
    pub rto_margin: bool,
    /// Max RTO (RFC 6298: at least 60 s).
    pub rto_max: TimeDelta,
    /// Receive window: segments accepted from the oldest missing one on.
    pub receive_window: u16,
    /// True if an idle subflow (nothing outstanding, nothing sent for over an RTO) restarts with at most the initial
    /// window (RFC 5681 4.1). Else it keeps its window.
    pub restart_after_idle: bool,
    /// True if ACKs with an echo also grow the window, as in htsim's DCTCP. RFC 3168 6.1.2 forbids it, and RFC 8257
    /// keeps that.
    pub grows_when_marked: bool,
    /// True if DCTCP's `alpha` begins at 0, as in htsim: the first marks hardly count. Else at 1 (RFC 8257 4.2).
    pub alpha_from_zero: bool,
    /// The reaction to switches' notifications.
    pub notifications: Notifications,
    /// Time for which a driver keeps both streams once all data is acknowledged and no more will come, to answer late
    /// packets (RFC 9293 3.6.1: twice the max lifetime of a segment). A connection that is not forgotten takes more
    /// data.
    pub time_wait: TimeDelta,
}

impl Config {
    /// Returns TCP NewReno (RFC 6582) with an initial window of 10 segments (RFC 6928), one subflow, an ACK for each
    /// segment and no options. The time-out begins at `rto`, its minimum.
    pub const fn new_reno(payload_bytes: u16, rto: TimeDelta) -> Config {
        Config {
            payload_bytes,
            initial_window: 10,
            initial_threshold: u16::MAX,
            control: Control::NewReno,
            subflows: 1,
            coupled: true,
            ecn: false,
            sack: false,
            dsack: false,
            timestamps: false,
            frto: false,
            handshake: Handshake::ThreeWay,
            is_fifo: false,
            ack_every: 1,
            ack_first: false,
            ack_delay: TimeDelta::from_ms(40),
            byte_counting: true,
            syn_timeout: rto,
            rto_initial: rto,
            rto_min: rto,
            rto_variance_min: TimeDelta::ZERO,
            rto_margin: true,
            rto_max: TimeDelta::from_ms(500),
            receive_window: 4096,
            restart_after_idle: false,
            grows_when_marked: false,
            alpha_from_zero: false,
            notifications: Notifications::Ignored,
            time_wait: TimeDelta::from_ms(10),
        }
    }
}

/// The law of congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// RFC 5681 and RFC 6582.
    NewReno,
    /// RFC 9438.
    Cubic,
    /// RFC 8257: the gain of `alpha` is 2^-`gain_shift` (4).
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
    /// Notifications name dropped packets (FastLane 3.4.1). Needs one subflow, without SACK and time stamps, whose
    /// fields FastLane's two options use. Duplicate ACKs then say nothing of loss.
    FastLane(FastLane),
    /// Switches trim segments (CP, as NDP 2.3 and 3.1 describe it): a receiver answers a trimmed segment with a NACK
    /// that names it, and the sender resends it at once. Needs one subflow and SACK. The window is reduced as for any
    /// loss that SACK shows: once per window of data.
    CutPayload,
}

impl Notifications {
    /// Returns the service class of data segments.
    #[inline]
    pub(super) const fn data_service(&self) -> Service {
        match self {
            Notifications::CutPayload => Service::Trimmable,
            Notifications::Ignored | Notifications::Quench | Notifications::FastLane(_) => {
                Service::Droppable
            }
        }
    }

    pub(super) const fn fastlane(&self) -> Option<&FastLane> {
        match self {
            Notifications::FastLane(rules) => Some(rules),
            Notifications::Ignored | Notifications::Quench | Notifications::CutPayload => None,
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
    /// Returns true if an ACK echoes only its segments' marks (RFC 8257 3.2); false if it echoes a mark until the
    /// sender has acted (RFC 3168 6.1.3).
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
    /// The connection existed before: the first window goes at once, all marked SYN, so that any segment creates the
    /// receiver.
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
    /// Notifications, and NACKs of trimmed segments, that the sender acted on.
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
