//! The parameters of an NDP host, and what its application says and hears.

use alloc::sync::Arc;
use core::num::NonZeroU16;

use trimline_packet::{BitRate, ByteCount, ConnectionId, HostId, PathId, Time, TimeDelta};

use super::core_rate::CoreRate;
use super::send_scheduler::Order;
use crate::{Key, PathList, Stream, flow};

/// Parameters of every connection of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Packets pushed before the first PULL (IW; NDP 6.2: 30).
    pub initial_window: u32,
    /// The same in payload bytes, for connections of whatever payload; 0, `initial_window` packets of any size, is NDP's.
    pub initial_window_bytes: u32,
    /// The first so many packets of the first window bear [`trimline_packet::Packet::MARK_UNSCHEDULED`] when they are sent
    /// for the first time.
    pub marked: u32,
    /// Whether a probe goes behind the first window, so that its receiver knows what of it was lost (Aeolus, SIGCOMM
    /// 2020).
    pub aeolus: bool,
    /// Payload of a full packet in bytes (NDP: 9000). The header adds 64 on the wire.
    pub payload_bytes: u16,
    /// Rate of the host's link: pulls are paced to it.
    pub link_rate: BitRate,
    /// Bytes that the host's link carries beside those of each packet (preamble, gap): pulls by wire bytes wait for
    /// them too.
    pub framing_bytes: u16,
    /// Time between two pulls.
    pub pull_spacing: PullSpacing,
    /// Whether a pull may ride in its ACK or NACK when the pacer is due (NDP 3.2, footnote 4).
    pub pull_ack: bool,
    /// Whether a credit that finds nothing to send is kept. Without it a connection may stall for ever: for study
    /// ([`Config::without_credit_bank`]).
    pub credit_bank: bool,
    /// Trimmed headers may be forged (module `headers`): each is answered once for each transmission that it names, and moves
    /// neither the end of the data, nor LAST, nor the class. NDP itself believes each header (false).
    pub doubts_headers: bool,
    /// Whole packets of a connection that one ACK answers at most, and pulls that it asks for together
    /// (module `delayed_ack`): 1 to [`DelayedAck::MAX`](trimline_packet::DelayedAck::MAX). 1, each its own, is NDP's.
    pub ack_every: u8,
    /// Pulls that slow down while packets are trimmed before the last switch (module `core_rate`); `None`, at the rate
    /// of the link whatever becomes of the packets, is NDP's.
    pub core_rate: Option<CoreRate>,
    /// Payload bytes of a connection's turn, to be pulled and to send: so many packets as fill it, one at least. Senders
    /// then serve their connections in turn, whatever `order` says. 0, one packet whatever its size, is NDP's.
    pub turn: u32,
    /// How the connections of a host share its link.
    pub order: Order,
    /// Retransmission time-out of a packet that was sent and neither ACKed, NACKed nor returned.
    /// NDP 3.2.4: as low as 1 ms. With `follows_path` it holds until a round trip was measured.
    pub rto: TimeDelta,
    /// Time-out and window follow the round trips to each peer (module `round_trips`). NDP itself keeps `rto` and the first
    /// window (`None`).
    pub follows_path: Option<FollowsPath>,
    /// A PULL that elicits nothing for this long is queued again (chosen: 1 ms).
    pub pull_repeat: TimeDelta,
    /// The sender's backstop while nothing is owed to it (chosen: 1 ms).
    pub backstop_unowed: TimeDelta,
    /// The sender's backstop while pulls are owed; doubles with every expiry in a row (chosen:
    /// 100 ms).
    pub backstop_owed: TimeDelta,
    /// How long both ends remember a finished connection (NDP 3.2.2: the maximum segment lifetime
    /// is under 1 ms).
    pub time_wait: TimeDelta,
    /// Temporary removal of outlier paths (NDP 3.2.3); `None` never removes a path.
    pub path_penalty: Option<PathPenalty>,
    /// Times between two pulls as a real host keeps them, instead of `pull_spacing`.
    pub pull_gaps: Option<PullGaps>,
    /// Whether sending halves remember how long each packet took ([`super::Latency`]).
    pub record_latencies: bool,
}

impl Config {
    /// Packets of a payload that are pushed before the first PULL.
    pub fn window(&self, payload: u16) -> u32 {
        match self.initial_window_bytes {
            0 => self.initial_window,
            bytes => bytes.div_ceil(payload.max(1).into()),
        }
    }

    /// What the authors' program does: a credit that finds nothing to send is discarded, and no timer makes up for it,
    /// neither a repeated PULL nor the sender's backstop. A PULL that overtakes its NACK is lost, and the connection may
    /// wait for ever.
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

/// A time-out, and perhaps a window, that follow the round trips to each peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FollowsPath {
    /// Minimum of a measured time-out; before the first measurement it is [`Config::rto`].
    pub min_rto: TimeDelta,
    /// Minimum round trip from which on the window grows; `None`: it never does.
    pub grows_from: Option<TimeDelta>,
}

/// Time between two pulls of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullSpacing {
    /// Wire bytes of the packet that queued the pull, and the link's framing, over the link rate: the paper's rule
    /// with headers counted (9064 B at 10 Gb/s: 7.2512 us).
    WireBytes,
    /// Payload bytes over the link rate, as the authors' simulator (9000 B: 7.2 us).
    PayloadBytes,
    /// The wire time times `percent` / 100 (csg-htsim: 101).
    WireBytesScaled {
        /// Hundredths of the wire time.
        percent: u32,
    },
}

/// One step of an empirical distribution of the time between two pulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PullGap {
    /// The share of all gaps up to this one, in units of 2^-32; rising from step to step. The last one
    /// counts as the whole, whatever it says.
    pub share: u32,
    /// The gap after the pull of a full packet.
    pub gap: TimeDelta,
}

/// A distribution of the time between two pulls, and the host's stream that draws from it (NDP 5,
/// Figures 12 and 13: imperfect pull spacing).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullGaps {
    /// At least one step.
    pub steps: Arc<[PullGap]>,
    /// The host's own.
    pub stream: Stream,
}

/// When a path counts as an outlier, and for how long it is removed.
///
/// A path is an outlier by NACKs (a returned header counts as one) when it gathered at least `min_nacks`
/// of them, its negative share is at least `ratio` times that of all paths together, and at least half of
/// its answers were negative or eight standard deviations say that it is no chance. It is one by losses
/// when it lost at least `min_losses` packets and at least `ratio` times the mean of the paths. Checked
/// when the path list is permuted; at most half of the paths are removed at once. The removal lasts
/// `removal`, doubling up to `removal_max` each time the path offends again within four times its last
/// removal.
///
/// A path that was removed for its NACKs comes back on probation: it carries one packet at a time until
/// `min_nacks` were ACKed (twice and four times as many after a second and a third removal), and one
/// outlying NACK removes it again. Then it is used like the others, but two NACKs are enough instead of
/// `min_nacks` until it has been good for 128 answers. Without probation every return of a slow path costs a part of
/// the window: what it carries waits there, and with a window too small to fill the queue there is not
/// even a NACK to tell.
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

/// What the application asks of an NDP host.
#[derive(Clone, Debug)]
pub enum Command {
    /// Accept connections whose SYN names this service port.
    Listen {
        /// Port to accept.
        service_port: u16,
    },
    /// Open a connection and send on it at once: there is no handshake.
    Open {
        /// The other host.
        peer: HostId,
        /// Number of the connection, not in use by this host.
        connection: ConnectionId,
        /// Where the peer listens.
        service_port: u16,
        /// Priority class written into every packet, 0 to 3.
        class: u8,
        /// Payload bytes to send; `None` never runs out.
        length: Option<ByteCount>,
        /// Payload of a full packet, if not [`Config::payload_bytes`].
        payload: Option<NonZeroU16>,
        /// The paths to the peer.
        paths: PathList,
        /// The connection's random stream.
        stream: Stream,
    },
    /// More data on a connection. After a packet marked LAST it is pushed, not pulled.
    Send {
        /// The half to send on (either end may send).
        key: Key,
        /// More payload bytes.
        length: ByteCount,
    },
    /// Pull this connection's data in another priority class from now on.
    Prioritise {
        /// The receiving half.
        key: Key,
        /// Class, 0 to 3.
        class: u8,
    },
    /// The application does not read: while `holds`, what arrives is answered and nothing more is pulled. Then as
    /// much is pulled as would have been.
    Hold {
        /// The receiving half.
        key: Key,
        /// Whether to hold, or to go on.
        holds: bool,
    },
    /// The receiver kept nothing of the first window: it goes again, as if it had not been sent. Says nothing once the
    /// peer has answered.
    Renew {
        /// The sending half.
        key: Key,
    },
    /// NDP 3.2.3: routing learned of a failure, or of its end. From now on the half sends on these
    /// paths only; what is in flight on others is resent when it times out. An empty list changes
    /// nothing: packets are rather lost than never sent.
    Paths {
        /// The half, of either direction.
        key: Key,
        /// The paths that work.
        paths: PathList,
    },
    /// Other connections to the peer found this path bad (NDP 3.2.3): the half does not use it until
    /// then, if [`Config::path_penalty`] lets paths be removed and another one is left.
    Avoid {
        /// The sending half.
        key: Key,
        /// The path.
        path: PathId,
        /// When it may be used again.
        until: Time,
    },
    /// What this half sends bears another priority class from now on.
    Classify {
        /// The sending half.
        key: Key,
        /// Class, 0 to 3.
        class: u8,
    },
    /// Nothing more will be sent or received on this half: it enters time-wait.
    Close {
        /// The half to close.
        key: Key,
    },
    /// The half ends here and now: what was not sent or not ACKed is never sent again.
    Abandon {
        /// The half to end.
        key: Key,
    },
}

/// What the application is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A peer opened a connection here.
    Accepted {
        /// The receiving half.
        key: Key,
        /// Its slot.
        slot: u32,
    },
    /// Everything that the peer sent up to its packet marked LAST has arrived.
    Delivered {
        /// The receiving half.
        key: Key,
        /// Its slot.
        slot: u32,
    },
    /// Everything that was to be sent has been ACKed.
    Acknowledged {
        /// The sending half.
        key: Key,
        /// Its slot.
        slot: u32,
    },
    /// The peer does not know the connection, or refused it.
    Refused {
        /// The half that was refused.
        key: Key,
    },
}

impl From<flow::Command> for Command {
    /// Service port 0 of every host.
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

/// What a sending half has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStatistics {
    /// DATA packets sent, retransmissions included.
    pub packets_sent: u64,
    /// Retransmissions of packets that were NACKed.
    pub retransmissions_nack: u64,
    /// Retransmissions of packets whose header came back.
    pub retransmissions_return: u64,
    /// Retransmissions of packets that timed out.
    pub retransmissions_timeout: u64,
    /// Headers that came back.
    pub returns: u64,
    /// Time-outs: RTO of a packet, or the backstop.
    pub timeouts: u64,
    /// Removals of a path by the scoreboard.
    pub path_removals: u64,
}

/// How far a sending half is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderProgress {
    /// Packets that were sent and not heard of.
    pub in_flight: u32,
    /// Packets that are to be sent again.
    pub waiting: u32,
    /// The highest pull counter heard.
    pub pulls: u32,
    /// Packets that may be sent.
    pub credit: u32,
}

/// What a receiving half has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStatistics {
    /// Payload bytes that arrived, duplicates not counted.
    pub bytes: u64,
    /// DATA packets that arrived whole, duplicates not counted.
    pub packets: u64,
    /// DATA packets that arrived again.
    pub duplicates: u64,
    /// Trimmed headers that arrived.
    pub trims: u64,
    /// Pulls sent, alone or with an ACK or NACK.
    pub pulls: u64,
}
