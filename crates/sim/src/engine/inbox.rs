//! The inbox of a node: packets that will arrive, and the window in which the node runs next.

use trimline_packet::Time;

use super::flights::{Flights, Place};
use crate::network::Ties;

/// With at most this number of packets in its inbox, on links included, a node need not run for them.
pub(super) const MAX_PENDING: u64 = 16;

/// One word: the window in which a node runs next (40 bits), whether its inbox is out of order (one bit), and the
/// number of packets in it (23 bits).
#[derive(Clone, Copy)]
pub(super) struct NextEvent(u64);

impl NextEvent {
    const NONE: NextEvent = NextEvent(NextEvent::NEVER << NextEvent::WINDOW_SHIFT);
    /// The window of a node that does not run again.
    pub(super) const NEVER: u64 = (1 << 40) - 1;
    const UNSORTED: u64 = 1 << 23;
    const PACKETS: u64 = NextEvent::UNSORTED - 1;
    const WINDOW_SHIFT: u32 = 24;
    const BELOW_WINDOW: u64 = (1 << NextEvent::WINDOW_SHIFT) - 1;

    #[inline(always)]
    pub(super) fn window(self) -> u64 {
        self.0 >> NextEvent::WINDOW_SHIFT
    }
    #[inline(always)]
    pub(super) fn packets(self) -> u64 {
        self.0 & NextEvent::PACKETS
    }
    #[inline(always)]
    pub(super) fn is_unsorted(self) -> bool {
        self.0 & NextEvent::UNSORTED != 0
    }
    #[inline(always)]
    pub(super) fn set_window(&mut self, window: u64) {
        self.0 = window << NextEvent::WINDOW_SHIFT | (self.0 & NextEvent::BELOW_WINDOW);
    }
    #[inline(always)]
    pub(super) fn add_packet(&mut self) {
        debug_assert!(self.packets() < NextEvent::PACKETS, "an inbox holds less than 2^23 packets");
        self.0 += 1;
    }
    #[inline(always)]
    pub(super) fn remove_packet(&mut self) {
        debug_assert!(self.packets() > 0, "an empty inbox gives no packet");
        self.0 -= 1;
    }
    #[inline(always)]
    pub(super) fn set_unsorted(&mut self) {
        self.0 |= NextEvent::UNSORTED;
    }
    #[inline(always)]
    pub(super) fn set_sorted(&mut self) {
        self.0 &= !NextEvent::UNSORTED;
    }
}

/// A list of packets on links, in order of time unless it is long.
#[derive(Clone, Copy)]
pub(super) struct Arrivals {
    /// Arrival time of the first packet; never, if the list is empty.
    pub(super) first_at: Time,
    /// Arrival time of the last packet, or of the last former packet of an empty list.
    pub(super) last_at: Time,
    pub(super) first: Place,
    /// Valid only while the list is not empty.
    pub(super) last: Place,
}

impl Arrivals {
    const NONE: Arrivals = Arrivals {
        first_at: Time::NEVER,
        last_at: Time::ZERO,
        first: Place::NONE,
        last: Place::NONE,
    };
}

/// The inbox of a node, and the window in which the node runs next. One cache line.
///
/// A long-delay and a short-delay list make nearly every insert an append.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Inbox {
    pub(super) lists: [Arrivals; 2],
    /// No arrival makes the node act before this window, because its transmitter is busy.
    pub(super) busy_until: u64,
    pub(super) next_event: NextEvent,
}

impl Inbox {
    pub(super) const EMPTY: Inbox =
        Inbox { lists: [Arrivals::NONE; 2], busy_until: 0, next_event: NextEvent::NONE };

    #[inline(always)]
    pub(super) fn first_arrival(&self) -> Time {
        self.lists[0].first_at.min(self.lists[1].first_at)
    }

    /// Inserts a packet that arrives no later than the last of its list. A running node's packets stay in order.
    #[inline(never)]
    pub(super) fn put_between(
        &mut self,
        flights: &mut Flights,
        number: usize,
        place: Place,
        ties: Ties,
        is_running: bool,
    ) {
        let (at, from) = (flights.at(place), flights.from(place));
        let list = &mut self.lists[number];
        let is_long = self.next_event.is_unsorted() || self.next_event.packets() > MAX_PENDING;
        if is_long && !is_running && !list.first.is_none() {
            // Too far from the end to search: the list is sorted when the node runs.
            self.next_event.set_unsorted();
            list.first_at = list.first_at.min(at);
            flights.set_next(list.last, place);
            list.last = place;
            return;
        }
        let goes_first =
            |other: Place| ties.order((flights.at(other), flights.from(other)), (at, from)).is_le();
        let (mut before, mut after) = (Place::NONE, list.first);
        while !after.is_none() && goes_first(after) {
            (before, after) = (after, flights.next(after));
        }
        flights.set_next(place, after);
        if before.is_none() {
            list.first = place;
            list.first_at = at;
        } else {
            flights.set_next(before, place);
        }
        if after.is_none() {
            list.last = place;
        }
    }
}
