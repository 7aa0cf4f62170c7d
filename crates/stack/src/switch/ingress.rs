//! The ingress of a host: limited to the rate of its cable and to accepted sources.

use trimline_packet::{ByteCount, Time, TimeDelta};

use super::config::Line;
use super::pacer::HostPacer;
use super::security::Guard;
use crate::io::mem::Impairer;

/// Maximum queue for a host's cable, in full packets of 9064 bytes: a Linux device's default.
const LONGEST_QUEUE: u64 = 1000;

#[derive(Debug)]
pub(super) struct Ingress {
    pub(super) port: u32,
    pub(super) busy_until: Time,
    pub(super) impairer: Option<Impairer>,
    pub(super) dropped: u64,
    pub(super) pacer: Option<Box<HostPacer>>,
    guard: Option<Box<Guard>>,
}

impl Ingress {
    pub(super) fn new(
        port: u32,
        impairer: Option<Impairer>,
        guard: Option<Guard>,
        pacer: Option<HostPacer>,
    ) -> Ingress {
        let (guard, pacer) = (guard.map(Box::new), pacer.map(Box::new));
        Ingress { port, busy_until: Time::ZERO, impairer, dropped: 0, pacer, guard }
    }

    pub(super) fn set_back(&mut self, by: TimeDelta) {
        self.busy_until = self.busy_until.set_back(by);
        if let Some(pacer) = &mut self.pacer {
            pacer.set_back(by);
        }
    }

    /// Returns whether the event at this time is the pacer's valid one.
    pub(super) fn is_planned(&self, at: Time) -> bool {
        self.pacer.as_ref().is_some_and(|pacer| pacer.planned == at)
    }

    /// Admits a frame whose source is accepted, unless too much waits for the cable.
    pub(super) fn admits(&mut self, now: Time, line: Line, frame: &[u8]) -> bool {
        if self.guard.as_mut().is_some_and(|guard| !guard.admits(frame)) {
            return false;
        }
        let longest = line.rate.transmission(ByteCount::new(9064)) * LONGEST_QUEUE;
        let waits = match &self.pacer {
            None => self.busy_until.saturating_since(now),
            Some(pacer) => line.rate.transmission(pacer.sent_bytes()),
        };
        let has_room = waits <= longest;
        self.dropped += u64::from(!has_room);
        has_room
    }

    /// Puts a frame on the cable. Returns when its last bit leaves the host.
    pub(super) fn send(&mut self, now: Time, line: Line, wire_bytes: u16) -> Time {
        let begin = self.busy_until.max(now);
        self.busy_until = begin + line.rate.transmission(ByteCount::new(wire_bytes.into()));
        self.busy_until
    }

    pub(super) fn dropped_by_pacer(&self) -> u64 {
        self.pacer.as_ref().map_or(0, |pacer| pacer.dropped())
    }

    pub(super) fn refused_sources(&self) -> u64 {
        self.guard.as_ref().map_or(0, |guard| guard.refused)
    }

    pub(super) fn intruder(&self) -> Option<&str> {
        self.guard.as_ref()?.first.as_deref()
    }

    /// Forgets the learned sources: another host may be there.
    pub(super) fn forget_sources(&mut self) {
        self.guard.iter_mut().for_each(|guard| guard.forget());
    }

    pub(super) fn change_guard(&mut self, new: Option<Guard>) {
        match (&mut self.guard, new) {
            (Some(guard), Some(new)) => guard.adopt(new),
            (guard, new) => *guard = new.map(Box::new),
        }
    }
}
