//! The parameters, commands and events of an NDP host.

use alloc::sync::Arc;
use core::num::NonZeroU16;

use trimline_packet::{BitRate, ByteCount, ConnectionId, HostId, PathId, Time, TimeDelta};

use super::core_rate::CoreRate;
use super::send_scheduler::Order;
use crate::path_choice::PathChoice;
use crate::{Key, PathList, RngStream, flow};

/// Parameters of all connections of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Packets pushed before the first PULL (IW; NDP 6.2: 30).
    pub initial_window: u32,
    /// Initial window in payload bytes, for any payload. With 0, as in NDP, `initial_window` packets of any size.
    pub initial_window_bytes: u32,
    /// Number of first packets of the first window with [`trimline_packet::Packet::MARK_UNSCHEDULED`] on their first
    /// transmission.
    pub marked: u32,
    /// True if a probe follows the first window, to reveal its losses to the receiver (Aeolus, SIGCOMM 2020).
    pub aeolus: bool,
    /// Payload of a full packet in bytes (NDP: 9000). The header adds 64 on the wire.
    pub payload_bytes: u16,
    /// Rate of the host's link, to which pulls are paced.
    pub link_rate: BitRate,
    /// Link bytes besides each packet (preamble, gap), which count for pulls by wire bytes.
    pub framing_bytes: u16,
    /// Time between two pulls.
    pub pull_spacing: PullSpacing,
    /// True if a pull may ride in its ACK or NACK (NDP 3.2, footnote 4).
    pub pull_ack: bool,
    /// True if a credit that finds nothing to send is banked. Otherwise connections may stall for ever: for study
    /// ([`Config::without_credit_bank`]).
    pub credit_bank: bool,
    /// True if trimmed headers may be forged (module `headers`): each is answered once per transmission that it names,
    /// and moves neither the end of the data, nor LAST, nor the class. NDP believes headers (false).
    pub doubts_headers: bool,
    /// Max whole packets of a connection that one ACK answers, and pulls sent together (module `delayed_ack`): 1 to
    /// [`DelayedAck::MAX`](trimline_packet::DelayedAck::MAX). NDP: 1.
    pub ack_every: u8,
    /// Slows pulls down while packets are trimmed before the last switch (module `core_rate`). NDP always pulls at the
    /// link's rate (`None`).
    pub core_rate: Option<CoreRate>,
    /// Payload bytes of a connection's turn, to pull and to send: as many packets as fill it, at least one. Senders
    /// then take turns, whatever `order` says. NDP: 0, one packet of any size.
    pub turn: u32,
    /// The order in which connections share the link.
    pub order: Order,
    /// Retransmission time-out of a packet neither ACKed, NACKed nor returned. NDP 3.2.4: as low as 1 ms. With
    /// `follows_path` it holds until a round trip was measured.
    pub rto: TimeDelta,
    /// Adapts time-out and window to the round trips to each peer (module `round_trips`). NDP keeps both (`None`).
    pub follows_path: Option<FollowsPath>,
    /// Delay before a vain PULL is queued again (chosen: 1 ms).
    pub pull_repeat: TimeDelta,
    /// The sender's backstop while no pull is owed (chosen: 1 ms).
    pub backstop_unowed: TimeDelta,
    /// The sender's backstop while pulls are owed; doubles with every expiry in a row (chosen:
    /// 100 ms).
    pub backstop_owed: TimeDelta,
    /// Time for which both ends remember a finished connection (NDP 3.2.2: the maximum segment lifetime is under 1 ms).
    pub time_wait: TimeDelta,
    /// Temporary removal of outlier paths (NDP 3.2.3), if any; with the permutation only.
    pub path_penalty: Option<PathPenalty>,
    /// The paths of data packets. NDP 3.1.1: the permutation.
    pub path_choice: PathChoice,
    /// Pull gaps of a real host, instead of `pull_spacing`.
    pub pull_gaps: Option<PullGaps>,
    /// True if the latency of each packet is recorded ([`super::Latency`]).
    pub record_latencies: bool,
}

impl Config {
    /// Returns the parameters of NDP's simulations (SIGCOMM 2017, 6): 30 packets of 9000 B, time-outs of 1 ms. What the
    /// paper leaves open is as in the simulator, and paths are kept (no `path_penalty`).
    pub const fn paper(link_rate: BitRate) -> Config {
        Config {
            initial_window: 30,
            initial_window_bytes: 0,
            marked: 30,
            aeolus: false,
            payload_bytes: 9000,
            link_rate,
            framing_bytes: 0,
            pull_spacing: PullSpacing::WireBytes,
            pull_ack: true,
            credit_bank: true,
            doubts_headers: false,
            ack_every: 1,
            core_rate: None,
            turn: 0,
            order: Order::Fair,
            rto: TimeDelta::from_ms(1),
            follows_path: None,
            pull_repeat: TimeDelta::from_ms(1),
            backstop_unowed: TimeDelta::from_ms(1),
            backstop_owed: TimeDelta::from_ms(100),
            time_wait: TimeDelta::from_ms(1),
            path_penalty: None,
            path_choice: PathChoice::Permutation,
            pull_gaps: None,
            record_latencies: false,
        }
    }

    /// Returns the packets with this payload that are pushed before the first PULL.
    pub fn window(&self, payload: u16) -> u32 {
        match self.initial_window_bytes {
            0 => self.initial_window,
            bytes => bytes.div_ceil(payload.max(1).into()),
        }
    }

    /// Behaves as the authors' program: discards credits that find nothing to send. No timer makes up for it, neither a
    /// repeated PULL nor the backstop. If a PULL overtakes its NACK, the connection may wait for ever.
    #[must_use]
    pub fn without_credit_bank(self) -> Config {
        let never = TimeDelta::from_ps(u64::MAX);
        Config {
            credit_bank: false,
            pull_repeat: never,
            backstop_unowed: never,
            backstop_owed: never,
            ..self
        }
    }
}

/// A time-out, and optionally a window, that adapt to each peer's round trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowsPath {
    /// Min of a measured time-out; [`Config::rto`] holds before the first measurement.
    pub min_rto: TimeDelta,
    /// Min round trip of a path on which the window grows; `None`: it never grows.
    pub grows_from: Option<TimeDelta>,
}

/// Time between two pulls of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullSpacing {
    /// Wire bytes of the packet that queued the pull, plus framing, over the link rate: the paper's rule with headers
    /// (9064 B at 10 Gb/s: 7.2512 us).
    WireBytes,
    /// Payload bytes over the link rate, as in the authors' simulator (9000 B: 7.2 us).
    PayloadBytes,
    /// The wire time times `percent` / 100 (csg-htsim: 101).
    WireBytesScaled {
        /// Percentage of the wire time.
        percent: u32,
    },
}

/// A step of a distribution of pull gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PullGap {
    /// Cumulative share of gaps up to this one, in units of 2^-32, rising. The last step counts as the whole.
    pub share: u32,
    /// The gap after a full packet.
    pub gap: TimeDelta,
}

/// A distribution of pull gaps, with the RNG stream that draws them (NDP 5, Figures 12 and 13: imperfect pull spacing).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullGaps {
    /// The steps, at least one.
    pub steps: Arc<[PullGap]>,
    /// The host's RNG stream.
    pub stream: RngStream,
}

/// The rule that removes outlier paths for a time.
///
/// A path is an outlier by NACKs (a returned header counts as one) if it has at least `min_nacks`, its negative share
/// is at least `ratio` times the share of all paths together, and either at least half of its answers were negative or
/// eight standard deviations exclude chance. It is an outlier by losses if it lost at least `min_losses` packets and at
/// least `ratio` times the mean of the paths. Outliers are removed when the path list is permuted, at most half of the
/// paths at once. A removal lasts `removal`, doubling up to `removal_max` each time the path offends again within four
/// times its last removal.
///
/// After a removal for NACKs a path is on probation: it carries one packet at a time until `min_nacks` were ACKed
/// (twice and four times as many after a second and a third removal), and one outlying NACK removes it again. Then two
/// NACKs are enough instead of `min_nacks`, until it was good for 128 answers. Without probation every return of a slow
/// path costs a part of the window, whose packets wait there; a window too small to fill the queue does not even get a
/// NACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathPenalty {
    /// NACKs before a path can be an outlier (chosen: 10).
    pub min_nacks: u16,
    /// Losses before a path can be an outlier (chosen: 2).
    pub min_losses: u16,
    /// Factor over the mean (chosen: 2).
    pub ratio: u16,
    /// First removal (chosen: 1 ms).
    pub removal: TimeDelta,
    /// Longest removal (chosen: 4 ms, so that a restored link is in use within 10 ms).
    pub removal_max: TimeDelta,
}

impl PathPenalty {
    /// Returns the chosen numbers, with removals of `removal` to four times that.
    pub const fn lasting(removal: TimeDelta) -> PathPenalty {
        let removal_max = TimeDelta::from_ps(4 * removal.as_ps());
        PathPenalty { min_nacks: 10, min_losses: 2, ratio: 2, removal, removal_max }
    }
}

/// A request of the application to an NDP host.
#[derive(Clone, Debug)]
pub enum Command {
    /// Accept connections to a service port.
    Listen {
        /// The port.
        service_port: u16,
    },
    /// Open a connection and send at once, without a handshake.
    Open {
        /// The peer.
        peer: HostId,
        /// A connection number unused by this host.
        connection: ConnectionId,
        /// The service port at the peer.
        service_port: u16,
        /// Priority class of every packet, 0 to 3.
        class: u8,
        /// Payload bytes to send; `None` never runs out.
        length: Option<ByteCount>,
        /// Payload of a full packet, if not [`Config::payload_bytes`].
        payload: Option<NonZeroU16>,
        /// The paths to the peer.
        paths: PathList,
        /// The connection's RNG stream.
        stream: RngStream,
    },
    /// Send more data. After a packet marked LAST it is pushed, not pulled.
    Send {
        /// The stream to send on; either end may send.
        key: Key,
        /// More payload bytes.
        length: ByteCount,
    },
    /// Pull this connection's data in another class from now on.
    Prioritise {
        /// The receive stream.
        key: Key,
        /// Class, 0 to 3.
        class: u8,
    },
    /// Stop pulling while the application does not read; arriving packets are answered. Then the withheld pulls are
    /// queued.
    Hold {
        /// The receive stream.
        key: Key,
        /// True to hold, false to go on.
        holds: bool,
    },
    /// Send the first window again, as if unsent: the receiver kept nothing of it. Has no effect after an answer.
    Renew {
        /// The send stream.
        key: Key,
    },
    /// NDP 3.2.3: use only these paths, after routing learned of a failure or its end. Packets in flight on others are
    /// resent when they time out. An empty list changes nothing: better lost than never sent.
    Paths {
        /// The stream.
        key: Key,
        /// The paths that work.
        paths: PathList,
    },
    /// Avoid a path that other connections found bad (NDP 3.2.3), if [`Config::path_penalty`] allows it and another
    /// path is left.
    Avoid {
        /// The send stream.
        key: Key,
        /// The path.
        path: PathId,
        /// End of the removal.
        until: Time,
    },
    /// Send this stream's packets in another class from now on.
    Classify {
        /// The send stream.
        key: Key,
        /// Class, 0 to 3.
        class: u8,
    },
    /// Close the stream: no more is sent or received, and it enters time-wait.
    Close {
        /// The stream to close.
        key: Key,
    },
    /// End the stream at once, without sending or resending its data.
    Abandon {
        /// The stream to end.
        key: Key,
    },
}

/// A report to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A peer opened a connection here.
    Accepted {
        /// The receive stream.
        key: Key,
        /// The slot.
        slot: u32,
    },
    /// All data up to LAST has arrived.
    Delivered {
        /// The receive stream.
        key: Key,
        /// The slot.
        slot: u32,
    },
    /// All data to be sent has been ACKed.
    Acknowledged {
        /// The send stream.
        key: Key,
        /// The slot.
        slot: u32,
    },
    /// The peer refused or does not know the connection.
    Refused {
        /// The refused stream.
        key: Key,
    },
}

impl From<flow::Command> for Command {
    /// Converts a command, with service port 0.
    fn from(command: flow::Command) -> Command {
        match command {
            flow::Command::Listen => Command::Listen { service_port: 0 },
            flow::Command::Open { peer, connection, class, length, payload, paths, stream } => {
                let service_port = 0;
                Command::Open {
                    peer,
                    connection,
                    service_port,
                    class,
                    length,
                    payload,
                    paths,
                    stream,
                }
            }
            flow::Command::Send { key, length } => Command::Send { key, length },
            flow::Command::Paths { key, paths } => Command::Paths { key, paths },
        }
    }
}

impl From<Event> for Option<flow::Event> {
    fn from(event: Event) -> Option<flow::Event> {
        match event {
            Event::Delivered { key, slot } => Some(flow::Event::Delivered { key, slot }),
            Event::Acknowledged { key, slot } => Some(flow::Event::Acknowledged { key, slot }),
            Event::Accepted { .. } | Event::Refused { .. } => None,
        }
    }
}

/// Counters of a send stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStatistics {
    /// DATA packets sent, retransmissions included.
    pub packets_sent: u64,
    /// Retransmissions after a NACK.
    pub retransmissions_nack: u64,
    /// Retransmissions after a return.
    pub retransmissions_return: u64,
    /// Retransmissions after a time-out.
    pub retransmissions_timeout: u64,
    /// Returned headers.
    pub returns: u64,
    /// Time-outs: RTO of a packet, or the backstop.
    pub timeouts: u64,
    /// Path removals by the scoreboard.
    pub path_removals: u64,
}

/// The progress of a send stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderProgress {
    /// Unanswered packets.
    pub in_flight: u32,
    /// Packets to resend.
    pub waiting: u32,
    /// The highest pull counter received.
    pub pulls: u32,
    /// Packets that may be sent.
    pub credit: u32,
}

/// Counters of a receive stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStatistics {
    /// Payload bytes, without duplicates.
    pub bytes: u64,
    /// Whole DATA packets, without duplicates.
    pub packets: u64,
    /// Duplicate DATA packets.
    pub duplicates: u64,
    /// Trimmed headers.
    pub trims: u64,
    /// Pulls sent, alone or with an ACK or NACK.
    pub pulls: u64,
}
