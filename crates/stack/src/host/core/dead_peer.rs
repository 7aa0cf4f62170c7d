//! Dead-peer detection: a silent peer is probed several times, then given up. So are connections on which nothing
//! moves.
//!
//! A probe is a copy, without payload, of the last packet that the peer has ACKed. A peer that knows the connection
//! ACKs it, another one answers with a RESET, so a waiting peer is heard as well. Before the first ACK the probe is the
//! header of the first packet, as if trimmed, which draws a NACK. Each connection is inspected a few times within its
//! timeout, and probed at random, so that neither inspections nor probes coincide. If the ring of the interface
//! overran, the lost frames may have been answers: the verdict waits for a few more rounds.
//!
//! A peer may answer all probes while no data arrives: where only full packets are lost, or where another host forges
//! ACKs. So each inspection also checks for progress: a first ACK of a packet, or an arrival. If all packets that do
//! not move are long, the MTU of the path is named as the cause, since probes are short. A peer whose application does
//! not read flags its answers ([`Flags::HELD`]), which counts as progress.

use trimline_packet::{Flags, Header, Kind, Packet, Service, Time, TimeDelta};
use trimline_transport::{HostTables, PathList, Side};

use super::super::Failure;
use super::super::directory::View;
use super::super::peers::ME;
use super::Core;
use crate::random;

const ROUNDS: u64 = 16;

/// Rounds of silence before a peer may be probed.
const PATIENT_ROUNDS: u64 = 4;

/// Rounds of silence from which a peer is probed each round; before, at random.
const CERTAIN_ROUNDS: u64 = 8;

/// Maximum number of connections that are inspected together, so that the answers to their probes fit into the ring of
/// an interface (512 frames). The inspections of a round are spread over it.
const MAX_INSPECTIONS: usize = 64;

/// Minimum IP packet, in bytes, that a path may lose for its length (RFC 791: every host takes 576).
const MIN_PATH_MTU: u16 = 576;

/// Returns whether a packet is a keepalive probe. A first packet without payload is an empty stream.
pub(super) fn is_question(packet: &Packet) -> bool {
    let header = &packet.header;
    header.kind == Kind::Data && header.payload_length() == 0 && !header.flags.contains(Flags::SYN)
}

/// Progress of one stream, as the inspections saw it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moved {
    /// Packets; `None` before the first inspection.
    count: Option<u64>,
    /// Time of the inspection that first saw this count, or nothing under way.
    since: Time,
}

impl Moved {
    /// Returns the time since the last progress; zero with nothing under way.
    fn still(&mut self, now: Time, count: u64, is_under_way: bool) -> TimeDelta {
        if !is_under_way || self.count != Some(count) {
            *self = Moved { count: Some(count), since: now };
        }
        now.saturating_since(self.since)
    }

    pub(super) fn set_back(&mut self, by: TimeDelta) {
        self.since = self.since.set_back(by);
    }
}

/// The schedule of inspections.
#[derive(Debug)]
pub(super) struct Watch {
    /// Connections that have not failed.
    open: usize,
    /// The time of the next inspection.
    next: Option<Time>,
    /// Index of the connection at which the round continues.
    at: usize,
    /// The last check for due inspections. A host that slept could not hear its peers.
    looked: Time,
    /// The time since which this host has not slept.
    awake: Time,
    /// Time of the last frames that found no room in the ring.
    overran: Option<Time>,
    /// The RNG seed of this host.
    seed: u64,
    asks: Vec<u32>,
}

impl Watch {
    pub(super) fn new(seed: u64) -> Watch {
        Watch {
            open: 0,
            next: None,
            at: 0,
            looked: Time::ZERO,
            awake: Time::ZERO,
            overran: None,
            seed,
            asks: Vec::new(),
        }
    }

    pub(super) fn opened(&mut self) {
        self.open += 1;
    }

    pub(super) fn closed(&mut self) {
        self.open -= 1;
        if self.open == 0 {
            self.next = None;
        }
    }

    pub(super) fn next(&self) -> Time {
        match self.next {
            _ if self.open == 0 => Time::NEVER,
            // There is nothing to count from yet: as soon as anything happens.
            None => self.looked,
            Some(next) => next,
        }
    }

    pub(super) fn set_back(&mut self, by: TimeDelta) {
        self.next = self.next.map(|next| next.set_back(by));
        (self.looked, self.awake) = (self.looked.set_back(by), self.awake.set_back(by));
        self.overran = self.overran.map(|at| at.set_back(by));
    }

    pub(super) fn asks(&self) -> bool {
        !self.asks.is_empty()
    }
}

impl Core {
    pub(super) fn find_dead_peers(&mut self, now: Time) {
        let Some(timeout) = self.config.dead_peer_timeout else { return };
        let round = TimeDelta::from_ps((timeout.as_ps() / ROUNDS).max(1));
        let watch = &mut self.watch;
        if now.saturating_since(watch.looked) > round * PATIENT_ROUNDS {
            watch.awake = now;
        }
        watch.looked = watch.looked.max(now);
        if watch.open == 0 {
            return;
        }
        let due = *watch.next.get_or_insert(now.saturating_add(round));
        if due > now {
            return;
        }
        let (all, from, awake) = (self.entries.len(), watch.at, watch.awake);
        let end = (from + MAX_INSPECTIONS).min(all);
        watch.at = if end == all { 0 } else { end };
        let part = u128::from(round.as_ps()) * (end - from) as u128 / all as u128;
        watch.next = Some(now.saturating_add(TimeDelta::from_ps((part as u64).max(1))));
        for index in from..end {
            self.inspect(now, index as u32, timeout, awake);
        }
    }

    fn inspect(&mut self, now: Time, index: u32, timeout: TimeDelta, awake: Time) {
        let entry = &mut self.entries[index as usize];
        let is_under_way = entry.outgoing.opened || entry.begun;
        if !entry.in_use || entry.failure.is_some() || !is_under_way {
            return;
        }
        let (outgoing, incoming) = (&entry.outgoing, &entry.incoming);
        // All data is there; only this host's application has not read it.
        if outgoing.is_complete() && incoming.is_closed() {
            return;
        }
        let quiet = now.saturating_since(entry.received.max(awake));
        let round = (timeout.as_ps() / ROUNDS).max(1);
        let is_deaf = self.watch.overran.is_some_and(|at| {
            now.saturating_since(at).as_ps() < PATIENT_ROUNDS * round && quiet < timeout + timeout
        });
        if quiet >= timeout && !is_deaf {
            return self.fail(now, index, Failure::DeadPeer(quiet));
        }
        let has_gap = incoming.early() > 0 && !entry.holds;
        let [sent, came] = &mut entry.moved;
        let still = sent
            .still(now, outgoing.news, !outgoing.is_complete())
            .max(came.still(now, incoming.arrived(), has_gap))
            .min(now.saturating_since(awake));
        if still >= timeout && !is_deaf {
            let shortest = outgoing.shortest_out().map(|payload| self.config.packet_bytes(payload));
            return match shortest.filter(|&bytes| bytes >= MIN_PATH_MTU) {
                Some(bytes) => self.fail(now, index, Failure::PathMtu(bytes)),
                None => self.fail(now, index, Failure::Stalled(still)),
            };
        }
        let rounds = quiet.as_ps() / round;
        let rng = random::mix(self.watch.seed ^ random::mix(u64::from(index) ^ now.as_ps()));
        let asks = rounds >= CERTAIN_ROUNDS
            || rounds >= PATIENT_ROUNDS && rng.is_multiple_of(PATIENT_ROUNDS);
        if asks && self.question(index).is_some() {
            self.watch.asks.push(index);
        }
    }

    /// Records that arriving frames found no room: they may have been answers.
    pub fn overran(&mut self, now: Time) {
        self.watch.overran = Some(now);
    }

    /// Returns the number, payload bytes and attempt of a probe: the last ACKed packet, without payload. Before the
    /// first ACK: the first packet's header, if it is so long that the path may be at fault.
    fn question(&self, index: u32) -> Option<(u32, u16, u8)> {
        let outgoing = &self.entries[index as usize].outgoing;
        let acked = outgoing.last_acked().map(|sequence| (sequence, 0, 0));
        let is_long = |&(_, length, _): &_| self.config.packet_bytes(length) >= MIN_PATH_MTU;
        acked.or_else(|| outgoing.first_out().filter(is_long))
    }

    pub(super) fn next_question(&mut self) -> Option<Packet> {
        while let Some(index) = self.watch.asks.pop() {
            let entry = &self.entries[index as usize];
            let Some((sequence, length, attempt)) = self.question(index).filter(|_| entry.in_use)
            else {
                continue;
            };
            let mut paths = PathList::new();
            let (name, begun) = (entry.name, false);
            let view = View { slots: &mut self.slots, peers: &mut self.peers, begun };
            view.paths(name.peer, &mut paths);
            let mut flags = Flags::default();
            if name.key(Side::Sending).opened_here {
                flags = flags.with(Flags::FROM_OPENER);
            }
            if length > 0 {
                // Not the current attempt, so that the answer measures no round trip.
                flags = flags.with(Flags::SYN).with_attempt(attempt.wrapping_add(2));
            }
            let pick =
                random::mix(self.watch.seed ^ u64::from(index) ^ self.clock.as_ps()) as usize;
            let header = Header {
                kind: Kind::Data,
                flags,
                path: paths[pick % paths.len()],
                connection: name.connection,
                sequence,
                extra: Header::data_extra(length, entry.service_port),
            };
            let mut packet = Packet::control(ME, name.peer, header);
            let service = if length > 0 { Service::Trimmed } else { Service::Trimmable };
            packet.service = service.into();
            return Some(packet);
        }
        None
    }
}
