//! Estimates the path to each peer and applies the estimates (module `round_trips`).

use trimline_packet::{ByteCount, Header, HostId, Packet, Time, TimeDelta};

use super::config::Config;
use super::endpoint::Endpoint;
use super::round_trips::{RoundTrips, Rto};
use super::slot::StreamState;
use super::window::Sample;
use crate::arrivals::WINDOW_LIMIT;

impl Endpoint {
    /// The time-out of packets sent to a peer now.
    #[inline]
    pub(super) fn rto(&self, peer: HostId) -> Rto {
        match &self.config.follows_path {
            None => Rto::fixed(self.config.rto),
            Some(follows) => self.round_trips_to(peer).rto(self.config.rto, follows),
        }
    }

    fn round_trips_to(&self, peer: HostId) -> &RoundTrips {
        self.round_trips.get(peer.index()).unwrap_or(&RoundTrips::UNKNOWN)
    }

    fn round_trips_mut(&mut self, peer: HostId) -> &mut RoundTrips {
        if self.round_trips.len() <= peer.index() {
            self.round_trips.resize(peer.index() + 1, RoundTrips::UNKNOWN);
        }
        &mut self.round_trips[peer.index()]
    }

    /// Forgets the path to `peer`, because the number now names another host.
    pub fn forget_path(&mut self, peer: HostId) {
        if let Some(trips) = self.round_trips.get_mut(peer.index()) {
            *trips = RoundTrips::UNKNOWN;
        }
    }

    pub(super) fn time_wait(&self, peer: HostId) -> TimeDelta {
        let Config { follows_path, rto, time_wait, .. } = &*self.config;
        follows_path.as_ref().map_or(*time_wait, |follows| {
            self.round_trips_to(peer).memory(*rto, follows).max(*time_wait)
        })
    }

    /// Handles an answer that measured a round trip or exceeded the time-out; then its pull counts.
    #[cold]
    #[inline(never)]
    pub(super) fn measured(&mut self, now: Time, slot: u32, sample: Sample, header: &Header) {
        self.record(now, slot, sample, header);
        let StreamState::Sending(sender) = &mut self.slots[slot as usize].stream_state else {
            return;
        };
        if let Some(counter) = header.pull_counter() {
            sender.pulled(counter);
        }
        sender.reconcile(&self.config);
        self.sender_changed(now, slot);
    }

    fn record(&mut self, now: Time, slot: u32, sample: Sample, header: &Header) {
        let peer = self.slots[slot as usize].key.peer;
        let rto = self.rto(peer);
        let trips = self.round_trips_mut(peer);
        let sample = match sample {
            Sample::Sent(at) => now.saturating_since(at),
            Sample::Late(timeouts) => return trips.was_late(timeouts, rto),
        };
        let (is_first, min) = (trips.measured(sample), trips.min);
        let entry = &mut self.slots[slot as usize];
        if is_first {
            // The time-outs of the first flight were guesses.
            entry.deadline = now;
            self.timers.arm(slot, now);
        }
        let follows = self.config.follows_path.as_ref();
        if let StreamState::Sending(sender) = &mut entry.stream_state
            && follows.and_then(|follows| follows.grows_from).is_some_and(|from| min >= from)
        {
            // Twice what the host's link carries in a round trip.
            let full = ByteCount::new(u64::from(sender.payload + Packet::HEADER_BYTES));
            let packets = 2 * min.as_ps() / self.config.link_rate.transmission(full).as_ps().max(1);
            let max_window = packets.min(u64::from(WINDOW_LIMIT / 2)) as u32;
            sender.measured(header, (sample, min), max_window, &self.config);
        }
    }
}
