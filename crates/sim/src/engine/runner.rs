//! The units that the windows engine works on in one window, and what it keeps about them.

use trimline_packet::{Handle, Time};

use super::event_list::EventList;
use super::returns::Returns;
use super::wheel::Wheel;
use crate::network::{Core, Ties, Transmission};
use crate::table::Table;

/// Visits ahead at which a unit's own lines and its inbox are prefetched, and at which its packets are.
pub(super) const FAR_AHEAD: usize = 6;
pub(super) const NEAR_AHEAD: usize = 3;

/// An arrival at one of the ports that are visited together.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) at: Time,
    pub(super) from: Transmission,
    pub(super) node: u32,
    pub(super) handle: Handle,
}

/// Sorts arrivals by time, and at one instant by the hash of their transmissions.
pub(super) fn in_order(entries: &mut [Entry], ties: Ties) {
    let key = |entry: &Entry| (entry.at, entry.from);
    entries.sort_unstable_by(|a, b| ties.order(key(a), key(b)));
}

/// The state of a window: which units are visited, and what has arrived for them.
pub(crate) struct Runner {
    pub(super) wheel: Wheel,
    /// The units to be visited in this window, ports before hosts.
    pub(super) nodes: Table<u32>,
    /// The arrivals at ports that are visited together.
    pub(super) entries: Vec<Entry>,
    /// What the ports of a coupled switch will do in this window.
    pub(super) event_list: EventList,
    /// The ports of a coupled switch that others of it have changed in this visit.
    pub(super) touched: Vec<u32>,
    pub(super) returns: Returns,
    /// The size of the largest packet, in bytes on the wire, if ports of coupled switches may be visited alone while their
    /// switch has room for all that arrives; `None` if they may not.
    pub(super) largest_packet: Option<u64>,
}

impl Runner {
    /// Visits of a network, with a wheel in which nothing is planned yet.
    pub(super) fn new(core: &Core, wheel: Wheel, largest_packet: u16) -> Runner {
        let nodes = core.routes.nodes();
        // Padding, so that prefetching past the end is harmless: a unit of this thread, not of another.
        let mine = (0..nodes).find(|&node| wheel.is_mine(node)).expect("every thread has a part");
        Runner {
            returns: Returns::new(core, wheel.shift(), largest_packet),
            wheel,
            nodes: vec![mine; nodes as usize + FAR_AHEAD + 1].into(),
            entries: Vec::new(),
            event_list: EventList::default(),
            touched: Vec::new(),
            largest_packet: core.may_be_apart().then_some(largest_packet.into()),
        }
    }

    /// Collects the units to be visited in this window. Returns how many there are.
    #[inline]
    pub(super) fn collect(&mut self) -> usize {
        self.wheel.collect(&mut self.nodes)
    }

    /// As [`Runner::collect`], of the units that no other thread sends to.
    pub(super) fn collect_inner(&mut self) -> usize {
        self.wheel.collect_inner(&mut self.nodes)
    }

    /// As [`Runner::collect`], of the units that other threads send to.
    pub(super) fn collect_border(&mut self) -> usize {
        self.wheel.collect_border(&mut self.nodes)
    }

    /// Prefetches the packets that arrive next at a unit.
    #[inline(always)]
    pub(super) fn prefetch_arrivals(&self, core: &Core, node: u32) {
        for first in self.wheel.firsts(node) {
            core.arena.prefetch(first);
        }
    }
}
