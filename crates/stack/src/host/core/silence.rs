//! Peers that are not heard: asked several times, then given up. So are connections on which nothing moves.
//!
//! A host asks with a copy of the last packet that the peer has ACKed, without its payload: a peer that knows the
//! connection ACKs it, one that does not answers with a RESET. So a peer that only waits is heard as well. Each
//! connection is looked at a few times in the time after which it would be given up, and asked by chance: the
//! questions of many do not come together.
//!
//! A peer may answer all questions while no data arrives: where full packets are lost and short ones are not, or where
//! somebody forges ACKs. So each look asks whether anything moved as well: a packet was ACKed for the first time, or a
//! packet came. A peer whose application does not read says so in its answers ([`Flags::HELD`]), which counts as much.

use trimline_packet::{Flags, Header, Kind, Packet, Service, Time, TimeDelta};
use trimline_transport::{Half, HostTables, PathList};

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

/// Connections that are looked at together, at most.
const LOOKS: usize = 4096;

/// Whether a packet asks whether the peer is there. A first packet without payload is of an empty stream.
pub(super) fn is_question(packet: &Packet) -> bool {
    let header = &packet.header;
    header.kind == Kind::Data && header.payload_length() == 0 && !header.flags.contains(Flags::SYN)
}

/// What has moved on one half of a connection, as the looks saw it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moved {
    /// Packets; nothing before the first look.
    count: Option<u64>,
    /// When a look first saw so many, or found nothing under way.
    since: Time,
}

impl Moved {
    /// How long nothing has moved, though something is under way.
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
    }

    /// Whether a peer is to be asked.
    pub(super) fn asks(&self) -> bool {
        !self.asks.is_empty()
    }
}

impl Core {
    /// Looks at some connections if it is time to.
    pub(super) fn look_for_silence(&mut self, now: Time) {
        let Some(silence) = self.config.silence else { return };
        let round = TimeDelta::from_ps((silence.as_ps() / ROUNDS).max(1));
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
        let end = (watch.at + LOOKS).min(self.entries.len());
        let from = std::mem::replace(&mut watch.at, end);
        let awake = watch.awake;
        if end == self.entries.len() {
            watch.at = 0;
            watch.next = Some(now.saturating_add(round));
        }
        for index in from..end {
            self.look_at(now, index as u32, silence, awake);
        }
    }

    fn look_at(&mut self, now: Time, index: u32, silence: TimeDelta, awake: Time) {
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
        let quiet = now.saturating_since(entry.heard.max(awake));
        if quiet >= silence {
            return self.fail(now, index, Failure::Silent(quiet));
        }
        let has_gap = incoming.early() > 0 && !entry.holds;
        let [sent, came] = &mut entry.moved;
        let still = sent
            .still(now, outgoing.news, !outgoing.is_complete())
            .max(came.still(now, incoming.arrived(), has_gap))
            .min(now.saturating_since(awake));
        if still >= silence {
            return self.fail(now, index, Failure::Stalled(still));
        }
        let rounds = quiet.as_ps() / (silence.as_ps() / ROUNDS).max(1);
        let chance = random::mix(self.watch.seed ^ random::mix(u64::from(index) ^ now.as_ps()));
        let asks = rounds >= CERTAIN_ROUNDS
            || rounds >= PATIENT_ROUNDS && chance.is_multiple_of(PATIENT_ROUNDS);
        if asks && outgoing.last_acked().is_some() {
            self.watch.asks.push(index);
        }
    }

    /// The next question to a peer that was not heard.
    pub(super) fn next_question(&mut self) -> Option<Packet> {
        while let Some(index) = self.watch.asks.pop() {
            let entry = &self.entries[index as usize];
            let Some(sequence) = entry.outgoing.last_acked().filter(|_| entry.in_use) else {
                continue;
            };
            let mut paths = PathList::new();
            let (name, begun) = (entry.name, false);
            let view = View { slots: &mut self.slots, peers: &mut self.peers, begun };
            view.paths(name.peer, &mut paths);
            let mut flags = Flags::default();
            if name.key(Half::Sending).opened_here {
                flags = flags.with(Flags::FROM_OPENER);
            }
            let pick =
                random::mix(self.watch.seed ^ u64::from(index) ^ self.clock.as_ps()) as usize;
            let header = Header {
                kind: Kind::Data,
                flags,
                path: paths[pick % paths.len()],
                connection: name.connection,
                sequence,
                extra: Header::data_extra(0, entry.service_port),
            };
            let mut packet = Packet::control(ME, name.peer, header);
            packet.service = Service::Trimmable.into();
            return Some(packet);
        }
        None
    }
}
