//! The send stream of a flow: packets in flight, packets to resend, and probing.

use alloc::collections::{BTreeMap, BTreeSet};
use core::num::NonZeroU16;

use trimline_packet::{Flags, Header, HostId, Kind, Packet, Service, Time};

use super::config::{Config, Priority, SenderStatistics};
use crate::shell::UsePaths;
use crate::spray::Spray;
use crate::{Arrivals, Key, PathList, RngStream, WINDOW_LIMIT};

const ENDLESS: u32 = u32::MAX;

/// The send stream of a flow.
#[derive(Debug)]
pub struct Sender {
    pub(super) key: Key,
    pub(super) paths: Spray,
    /// Rank among the flows of this host that may send: urgency and number.
    pub(super) rank: Option<(u32, u64)>,
    /// Number of the flow at its host: orders flows of equal urgency.
    pub(super) number: u64,
    length: Option<u64>,
    packets: u32,
    /// Payload of a full packet, in bytes.
    payload: u16,
    class: u8,
    /// The first packet that was never sent.
    next: u32,
    acked: Arrivals,
    acked_bytes: u64,
    in_flight: u32,
    /// Packets to resend.
    lost: BTreeSet<u32>,
    /// Retransmissions, modulo 4, of each unacknowledged packet that was resent.
    attempts: BTreeMap<u32, u8>,
    window: u32,
    threshold: u32,
    /// ACKs since the window last grew in congestion avoidance.
    received: u32,
    /// Time-outs since the last ACK of new data or returned probe.
    in_a_row: u8,
    /// True until a probe comes back; nothing else is sent.
    is_probing: bool,
    owes_probe: bool,
    probes: u32,
    /// Probes sent before the flow last began to probe.
    probes_before: u32,
    /// True while the flow resends what switches dropped (FastLane 3.4.2); nothing new is sent.
    is_notified: bool,
    /// Packets resent in this recovery that may be in the network.
    again: BTreeSet<u32>,
    /// Max size of `again`.
    max_sim: u32,
    /// True once the peer has answered data.
    was_received: bool,
    has_ended: bool,
    pub(super) deadline: Time,
    pub(super) statistics: SenderStatistics,
}

impl UsePaths for Sender {
    fn use_paths(&mut self, paths: PathList, _stream: impl FnOnce() -> RngStream) {
        self.paths.replace(paths);
    }
}

impl Sender {
    pub(super) fn new(
        key: Key,
        paths: Spray,
        (length, payload): (Option<u64>, Option<NonZeroU16>),
        class: u8,
        config: &Config,
    ) -> Sender {
        let payload = payload.map_or(config.payload_bytes, NonZeroU16::get);
        let packets = length.map_or(ENDLESS, |length| {
            let count = length.div_ceil(u64::from(payload)).max(1);
            let count = u32::try_from(count).ok().filter(|&count| count < ENDLESS);
            count.expect("a flow with an end has fewer than 2^32 - 1 packets")
        });
        let window = u32::from(config.window);
        Sender {
            key,
            paths,
            rank: None,
            number: 0,
            length,
            packets,
            payload,
            class,
            next: 0,
            acked: Arrivals::default(),
            acked_bytes: 0,
            in_flight: 0,
            lost: BTreeSet::new(),
            attempts: BTreeMap::new(),
            window,
            threshold: window,
            received: 0,
            in_a_row: 0,
            is_probing: false,
            owes_probe: false,
            probes: 0,
            probes_before: 0,
            is_notified: false,
            again: BTreeSet::new(),
            max_sim: 0,
            was_received: false,
            has_ended: false,
            deadline: Time::NEVER,
            statistics: SenderStatistics::default(),
        }
    }

    pub(super) fn window(&self) -> u32 {
        self.window
    }

    /// Returns the packets in flight, as far as the sender knows.
    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    fn bytes_of(&self, sequence: u32) -> u16 {
        let payload = u64::from(self.payload);
        let before = u64::from(sequence) * payload;
        self.length.map_or(payload, |length| (length - before.min(length)).min(payload)) as u16
    }

    /// Returns the flow's urgency, in bytes; smaller is more urgent.
    pub(super) fn urgency(&self, config: &Config) -> u32 {
        let bytes = match config.priority {
            Priority::Remaining => self.length.map(|length| length - self.acked_bytes),
            Priority::Total => self.length,
        };
        bytes.map_or(u32::MAX, |bytes| u32::try_from(bytes).unwrap_or(u32::MAX))
    }

    pub(super) fn is_ready(&self) -> bool {
        if self.has_ended || self.is_probing {
            return self.owes_probe && !self.has_ended;
        }
        if self.is_notified {
            return !self.lost.is_empty() && (self.again.len() as u32) < self.max_sim;
        }
        let has_new = self.next < self.packets && self.next - self.acked.base() < WINDOW_LIMIT;
        self.in_flight < self.window && (!self.lost.is_empty() || has_new)
    }

    /// Sends the next packet, if one may go.
    pub(super) fn send(&mut self, now: Time, host: HostId, config: &Config) -> Option<Packet> {
        if !self.is_ready() {
            return None;
        }
        if self.owes_probe {
            self.owes_probe = false;
            self.deadline = now.saturating_add(config.rto);
            self.statistics.probes += 1;
            return Some(self.probe(host, config));
        }
        let sequence = match self.lost.pop_first() {
            None => {
                self.next += 1;
                self.next - 1
            }
            Some(sequence) => {
                let attempt = self.attempts.entry(sequence).or_default();
                *attempt = (*attempt + 1) & 3;
                if self.is_notified {
                    self.again.insert(sequence);
                    self.statistics.retransmissions_notified += 1;
                } else {
                    self.statistics.retransmissions_timeout += 1;
                }
                sequence
            }
        };
        self.in_flight += 1;
        self.statistics.packets_sent += 1;
        if self.deadline == Time::NEVER {
            self.deadline = now.saturating_add(config.rto);
        }
        let bytes = self.bytes_of(sequence);
        let is_last = self.length.is_some() && sequence + 1 == self.packets;
        let path = self.paths.next_path();
        let mut packet = self.key.data(host, path, sequence, bytes, is_last, Service::Droppable);
        let attempt = self.attempts.get(&sequence).copied().unwrap_or(0);
        let syn = if self.was_received { 0 } else { Flags::SYN };
        packet.header.flags =
            packet.header.flags.with(syn).with_class(self.class).with_attempt(attempt);
        packet.header.extra = self.urgency(config);
        Some(packet)
    }

    /// Makes a packet without data, as urgent as the flow's data. Where it gets through, data would too.
    fn probe(&mut self, host: HostId, config: &Config) -> Packet {
        self.probes = self.probes.wrapping_add(1);
        let header = Header {
            kind: Kind::Pull,
            flags: Flags::default().with(Flags::FROM_OPENER).with_class(self.class),
            path: self.paths.next_path(),
            connection: self.key.connection,
            sequence: self.probes,
            extra: self.urgency(config),
        };
        let service = Service::Droppable.into();
        Packet { service, ..Packet::control(host, self.key.peer, header) }
    }

    /// Handles an ACK. Returns whether it ends the flow.
    pub(super) fn receive(&mut self, now: Time, header: &Header, config: &Config) -> bool {
        self.was_received = true;
        if self.has_ended {
            return false;
        }
        let (mut count, until) = (0, header.extra.min(self.next));
        while self.acked.base() < until {
            count += self.acknowledge(self.acked.base());
        }
        let is_sent = header.sequence < self.next && header.sequence >= self.acked.base();
        if is_sent && !self.acked.contains(header.sequence) {
            count += self.acknowledge(header.sequence);
        }
        if count == 0 {
            return false;
        }
        self.in_a_row = 0;
        if !self.is_probing {
            self.rearm(now, config);
        }
        match self.is_notified {
            true => self.recovered(config),
            false => (0..count).for_each(|_| self.grow(config)),
        }
        if self.acked.base() < self.packets {
            return false;
        }
        self.end();
        true
    }

    /// Ends a recovery when no dropped packet is missing. Chosen: the window continues from where the retransmissions
    /// have come to.
    fn recovered(&mut self, config: &Config) {
        if self.is_notified && self.lost.is_empty() && self.again.is_empty() && !self.is_probing {
            self.is_notified = false;
            (self.window, self.received) = (self.max_sim.min(config.window.into()), 0);
        }
    }

    /// Marks a packet as arrived for the first time. Returns 1.
    fn acknowledge(&mut self, sequence: u32) -> u32 {
        self.acked.insert(sequence);
        self.acked_bytes += u64::from(self.bytes_of(sequence));
        self.attempts.remove(&sequence);
        if !self.lost.remove(&sequence) {
            self.in_flight -= 1;
        }
        if self.again.remove(&sequence) {
            // FastLane 3.4.2: slow start, one more with each arrival.
            self.max_sim += 1;
        }
        1
    }

    /// pFabric 4.3: slow start up to the threshold, then TCP's growth, up to the bandwidth-delay product.
    fn grow(&mut self, config: &Config) {
        if self.window >= u32::from(config.window) {
            return;
        }
        self.received += 1;
        if self.window < self.threshold || self.received >= self.window {
            self.window += 1;
            self.received = 0;
        }
    }

    /// Restarts the timer if packets are in flight.
    fn rearm(&mut self, now: Time, config: &Config) {
        self.deadline = match self.in_flight {
            0 => Time::NEVER,
            _ => now.saturating_add(config.rto),
        };
    }

    fn end(&mut self) {
        self.has_ended = true;
        self.deadline = Time::NEVER;
        self.acked.shrink();
    }

    /// Handles a returned probe: congestion has passed.
    pub(super) fn receive_probe(&mut self, now: Time, number: u32, config: &Config) {
        // It need not have met the flow: what makes that known is data. Where a round trip takes longer than the
        // time-out, a later probe is already under way, so any probe sent since the flow began to probe will do.
        let back = number.wrapping_sub(self.probes_before.wrapping_add(1));
        let is_of_these = back < self.probes.wrapping_sub(self.probes_before);
        if !self.is_probing || self.has_ended || !is_of_these {
            return;
        }
        (self.is_probing, self.owes_probe, self.in_a_row) = (false, false, 0);
        self.rearm(now, config);
        self.recovered(config);
    }

    /// Handles a notification of a drop (FastLane 3.4.2). Returns whether the packet was in flight.
    pub(super) fn notified(&mut self, header: &Header) -> bool {
        let sequence = header.sequence;
        let is_in_flight = sequence < self.next
            && sequence >= self.acked.base()
            && !self.acked.contains(sequence)
            && !self.lost.contains(&sequence);
        let attempt = self.attempts.get(&sequence).copied().unwrap_or(0);
        if self.has_ended || !is_in_flight || header.flags.attempt() != attempt {
            return false;
        }
        self.in_flight -= 1;
        self.lost.insert(sequence);
        self.again.remove(&sequence);
        if !core::mem::replace(&mut self.is_notified, true) {
            self.threshold = (self.window / 2).max(1);
        }
        // FastLane 3.4.2: 1 whenever a notification arrives, and nothing before a probe has come back.
        self.max_sim = 1;
        if !self.is_probing {
            self.begin_to_probe();
        }
        true
    }

    /// Sends only probes from now on, until one comes back.
    fn begin_to_probe(&mut self) {
        (self.is_probing, self.owes_probe) = (true, true);
        self.probes_before = self.probes;
    }

    /// Handles a notification of a dropped probe: it is resent at once, like other packets without data (FastLane
    /// 3.4.1).
    pub(super) fn notified_of_probe(&mut self, number: u32) -> bool {
        let is_last = self.is_probing && !self.has_ended && number == self.probes;
        self.owes_probe |= is_last;
        is_last
    }

    pub(super) fn expire(&mut self, now: Time, config: &Config) {
        if self.deadline > now || self.has_ended {
            return;
        }
        self.deadline = now.saturating_add(config.rto);
        self.statistics.timeouts += 1;
        if self.is_probing {
            self.owes_probe = true;
            return;
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        for sequence in self.acked.base()..self.next {
            if !self.acked.contains(sequence) {
                self.lost.insert(sequence);
            }
        }
        (self.in_flight, self.is_notified) = (0, false);
        self.again.clear();
        // pFabric 4.3: slow start, with the threshold at half the window.
        self.threshold = (self.window / 2).max(1);
        (self.window, self.received) = (1, 0);
        if self.in_a_row >= config.probe_after {
            self.begin_to_probe();
        }
    }
}
