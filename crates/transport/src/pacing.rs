//! Pacing: packets of a flow leave at its rate, not when the NIC has room.
//!
//! A packet is work: its bits on the wire. The rate removes work over time; the next packet may go when none is left.
//! So a change of rate acts at once, even between two packets of a slow flow. A busy NIC delays a packet; the next ones
//! keep their times, at most one full packet late (chosen).

use alloc::collections::BinaryHeap;
use core::cmp::Reverse;

use trimline_packet::{Time, TimeDelta};

use crate::round_robin::{Linked, RoundRobin};
use crate::shell::{Shell, StreamState};

/// Picoseconds per second; work is in bits times this, so nothing is rounded.
const SECOND_PS: i64 = 1_000_000_000_000;

#[inline]
fn work(bytes: u16) -> i64 {
    i64::from(bytes) * 8 * SECOND_PS
}

/// The work of one flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    /// Work left at `at`. Below zero: unused sending time.
    left: i64,
    at: Time,
    /// Bytes of a full packet on the wire.
    full_bytes: u16,
}

impl Pacer {
    /// Makes the pacer of a flow that may send at once.
    pub(crate) fn new(now: Time, full_bytes: u16) -> Pacer {
        Pacer { left: 0, at: now, full_bytes }
    }

    /// The time up to which work was removed.
    #[inline]
    pub(crate) fn at(&self) -> Time {
        self.at
    }

    /// Removes the work done up to `until` at a constant rate. At most one full packet is saved up.
    #[inline]
    pub(crate) fn drain(&mut self, until: Time, rate_bps: u64) {
        let min = -work(self.full_bytes);
        let done = u128::from((until - self.at).as_ps()) * u128::from(rate_bps);
        let done = i64::try_from(done).unwrap_or(i64::MAX);
        self.left = self.left.saturating_sub(done).max(min);
        self.at = until;
    }

    /// Adds a packet that was sent.
    #[inline]
    pub(crate) fn sent(&mut self, wire_bytes: u16) {
        self.left += work(wire_bytes);
    }

    /// Returns the time of the next packet at a constant rate; may be in the past.
    #[inline]
    pub(crate) fn due(&self, rate_bps: u64) -> Time {
        if self.left <= 0 {
            return self.at;
        }
        let takes = self.left.cast_unsigned().div_ceil(rate_bps);
        self.at.saturating_add(TimeDelta::from_ps(takes))
    }
}

/// A send stream whose packets are paced.
pub(crate) trait Paced: Linked {
    /// Time at which the stream is listed; [`Time::NEVER`] outside the list.
    fn listed(&self) -> Time;
    /// Sets it.
    fn list(&mut self, at: Time);
}

/// The send streams of a host that have data: those that are due take turns, the others wait for their times.
#[derive(Debug)]
pub(crate) struct PacedSenders {
    ready: RoundRobin,
    /// The first entry is valid; others may be stale.
    waiting: BinaryHeap<Reverse<(Time, u32)>>,
}

impl PacedSenders {
    pub(crate) const NONE: PacedSenders =
        PacedSenders { ready: RoundRobin::EMPTY, waiting: BinaryHeap::new() };

    fn holds<S: Paced, R, X>(shell: &Shell<S, R, X>, (due, slot): (Time, u32)) -> bool {
        matches!(&shell.slots[slot as usize].stream_state,
            StreamState::Sending(sender) if sender.listed() == due)
    }

    /// Drops stale entries before the first valid one.
    pub(crate) fn drop_old<S: Paced, R, X>(&mut self, shell: &Shell<S, R, X>) {
        while self.waiting.peek().is_some_and(|&Reverse(entry)| !PacedSenders::holds(shell, entry))
        {
            self.waiting.pop();
        }
    }

    /// Updates the place of a send stream, which has data or not, and whose next packet is due at `due`.
    #[inline]
    pub(crate) fn update<S: Paced, R, X: Copy>(
        &mut self,
        shell: &mut Shell<S, R, X>,
        now: Time,
        slot: u32,
        (has_data, due): (bool, Time),
    ) {
        let sender = shell.at(slot).stream_state.sender();
        let (joins, waits) = (has_data && due <= now, has_data && due > now);
        let listed = if waits { due } else { Time::NEVER };
        let is_listed = sender.listed() == listed;
        sender.list(listed);
        let is_member = sender.links().joined();
        if waits && !is_listed {
            self.waiting.push(Reverse((due, slot)));
        }
        if joins && !is_member {
            self.ready.join(&mut shell.slots, slot);
        } else if !joins && is_member {
            self.ready.leave(&mut shell.slots, slot);
        }
        self.drop_old(shell);
    }

    /// Lets the streams that have become due take turns. Returns the slot whose turn it is.
    #[inline]
    pub(crate) fn next<S: Paced, R, X: Copy>(
        &mut self,
        shell: &mut Shell<S, R, X>,
        now: Time,
    ) -> Option<u32> {
        while let Some(&Reverse((due, slot))) = self.waiting.peek()
            && due <= now
        {
            self.waiting.pop();
            shell.at(slot).stream_state.sender().list(Time::NEVER);
            self.ready.join(&mut shell.slots, slot);
            self.drop_old(shell);
        }
        (!self.ready.is_empty()).then(|| self.ready.head())
    }

    /// Ends the turn of the stream whose turn it was.
    #[inline]
    pub(crate) fn turn<S: Paced, R, X>(&mut self, shell: &mut Shell<S, R, X>) {
        self.ready.turn(&mut shell.slots);
    }

    /// The earliest time at which some stream is due: [`Time::ZERO`] for now.
    #[inline]
    pub(crate) fn ready_at(&self) -> Time {
        if !self.ready.is_empty() {
            return Time::ZERO;
        }
        self.waiting.peek().map_or(Time::NEVER, |&Reverse((due, _))| due)
    }
}
