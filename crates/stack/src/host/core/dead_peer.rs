//! Peers that are not heard: asked several times, then given up. So are connections on which nothing moves.
//!
//! A host asks with a copy of the last packet that the peer has ACKed, without its payload: a peer that knows the
//! connection ACKs it, one that does not answers with a RESET. So a peer that only waits is heard as well. Before
//! anything was ACKed it asks with the header of its first packet, as if a switch had trimmed that, which draws a NACK. Each
//! connection is looked at a few times in the time after which it would be given up, and asked by chance. Neither the
//! looks nor the questions of many come together. Where the ring of the interface was full nevertheless, what was lost
//! may have been the answers: the verdict waits for another few rounds.
//!
//! A peer may answer all questions while no data arrives: where full packets are lost and short ones are not, or where
//! somebody forges ACKs. So each look asks whether anything moved as well: a packet was ACKed for the first time, or a
//! packet came. Where all that does not move is long, the MTU of the path is named as the cause: questions are short. A peer whose application does not read says so in its answers ([`Flags::HELD`]), which counts as much.

use trimline_packet::{Flags, Header, Kind, Packet, Service, Time, TimeDelta};
use trimline_transport::{HostTables, PathList, Side};

use super::super::Failure;
use super::super::directory::View;
use super::super::peers::ME;
use super::Core;
use crate::random;

/// Rounds in the time after which a peer is given up.
const ROUNDS: u64 = 16;

/// Rounds of silence before a peer is asked.
const PATIENT_ROUNDS: u64 = 4;

/// Rounds of silence from which on it is asked each time; before, by chance.
const CERTAIN_ROUNDS: u64 = 8;

/// Maximum of connections that are looked at together: the looks of a round are spread over it, so that the answers to
/// their questions fit into the ring of an interface (512 frames).
const INSPECTIONS: usize = 64;

/// Minimum length of an IP packet, in bytes, that a path may lose for its length (RFC 791: every host takes 576).
const MIN_PATH_MTU: u16 = 576;

/// Returns whether a packet is a keep-alive probe. A first packet without payload is an empty stream instead.
pub(super) fn is_question(packet: &Packet) -> bool {
    let header = &packet.header;
    header.kind == Kind::Data && header.payload_length() == 0 && !header.flags.contains(Flags::SYN)
}

/// Progress of one half of a connection, as periodic looks saw it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moved {
    /// Packets; nothing before the first look.
    count: Option<u64>,
    /// Time of the look that first saw this number, or found nothing under way.
    since: Time,
}

impl Moved {
    /// Time since the last progress of a half that has something under way; zero for one that has not.
    fn still(&mut self, now: Time, count: u64, is_under_way: bool) -> TimeDelta {
        if !is_under_way || self.count != Some(count) {
            *self = Moved { count: Some(count), since: now };
        }
        now.saturating_since(self.since)
    }

    /// The clock was set back.
    pub(super) fn set_back(&mut self, by: TimeDelta) {
        self.since = self.since.set_back(by);
    }
}

/// Who is to be looked at, and when.
#[derive(Debug)]
pub(super) struct Watch {
    /// Connections that have not failed.
    open: usize,
    /// When the next look is due.
    next: Option<Time>,
    /// Where the round goes on.
    at: usize,
    /// When somebody last looked whether anything is due: a host that slept has heard nobody.
    looked: Time,
    /// Since when this host has not slept.
    awake: Time,
    /// Time of the last frames that found no room in the ring, if there were any.
    overran: Option<Time>,
    /// The chance of this host.
    seed: u64,
    /// Connections whose peers are to be asked.
    asks: Vec<u32>,
}

impl Watch {
    /// Nobody is to be looked at.
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

    /// There is one more connection.
    pub(super) fn opened(&mut self) {
        self.open += 1;
    }

    /// One of them has ended or failed.
    pub(super) fn closed(&mut self) {
        self.open -= 1;
        if self.open == 0 {
            self.next = None;
        }
    }

    /// When something is to be done.
    pub(super) fn next(&self) -> Time {
        match self.next {
            _ if self.open == 0 => Time::NEVER,
            // There is nothing to count from yet: as soon as anything happens.
            None => self.looked,
            Some(next) => next,
        }
    }

    /// The clock was set back.
    pub(super) fn set_back(&mut self, by: TimeDelta) {
        self.next = self.next.map(|next| next.set_back(by));
        (self.looked, self.awake) = (self.looked.set_back(by), self.awake.set_back(by));
        self.overran = self.overran.map(|at| at.set_back(by));
    }

    /// Whether a peer is to be asked.
    pub(super) fn asks(&self) -> bool {
        !self.asks.is_empty()
    }
}

impl Core {
    /// Looks at some connections if it is time to.
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
        let end = (from + INSPECTIONS).min(all);
        watch.at = if end == all { 0 } else { end };
        let part = u128::from(round.as_ps()) * (end - from) as u128 / all as u128;
        watch.next = Some(now.saturating_add(TimeDelta::from_ps((part as u64).max(1))));
        for index in from..end {
            self.inspect_all(now, index as u32, timeout, awake);
        }
    }

    fn inspect_all(&mut self, now: Time, index: u32, timeout: TimeDelta, awake: Time) {
        let entry = &mut self.entries[index as usize];
        let is_under_way = entry.outgoing.opened || entry.begun;
        if !entry.in_use || entry.failure.is_some() || !is_under_way {
            return;
        }
        let (outgoing, incoming) = (&entry.outgoing, &entry.incoming);
        // All is there; only this host's application has not read it.
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

    /// Records that frames arrived and found no room, for who drives this core: they may have been answers.
    pub fn overran(&mut self, now: Time) {
        self.watch.overran = Some(now);
    }

    /// The packet by which a connection asks, its bytes and its attempt: the last one that was ACKed, without payload. Before
    /// that the header of the first one, if it is so long that the path may be at fault.
    fn question(&self, index: u32) -> Option<(u32, u16, u8)> {
        let outgoing = &self.entries[index as usize].outgoing;
        let acked = outgoing.last_acked().map(|sequence| (sequence, 0, 0));
        let is_long = |&(_, length, _): &_| self.config.packet_bytes(length) >= MIN_PATH_MTU;
        acked.or_else(|| outgoing.first_out().filter(is_long))
    }

    /// The next question to a peer that was not heard.
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
                // Not the attempt that is out: the answer measures no round trip.
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
