//! The nodes that the windows engine runs in one window, and their state.

use trimline_packet::{Handle, Time};

use super::event_list::EventList;
use super::returns::Returns;
use super::wheel::Wheel;
use crate::network::{Core, Ties, Transmission};
use crate::table::Table;

/// Distances, in nodes, at which a node's own lines and inbox, and then its packets, are prefetched.
pub(super) const FAR_AHEAD: usize = 6;
pub(super) const NEAR_AHEAD: usize = 3;

/// An arrival at a port of a switch whose ports run together.
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

pub(crate) struct Runner {
    pub(super) wheel: Wheel,
    /// The nodes that run in this window, ports before hosts.
    pub(super) nodes: Table<u32>,
    pub(super) entries: Vec<Entry>,
    /// The events of a coupled switch in this window.
    pub(super) event_list: EventList,
    /// The ports of a coupled switch that other ports have changed in this run.
    pub(super) touched: Vec<u32>,
    pub(super) returns: Returns,
    /// The size of the largest packet, in bytes on the wire, if a coupled switch's ports may run alone while it has
    /// room for all arrivals.
    pub(super) largest_packet: Option<u64>,
}

impl Runner {
    pub(super) fn new(core: &Core, wheel: Wheel, largest_packet: u16) -> Runner {
        let nodes = core.routes.nodes();
        // Padding makes prefetching past the end harmless. It is a node of this thread, not of another.
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

    /// Collects the nodes that run in this window. Returns their number.
    #[inline]
    pub(super) fn collect(&mut self) -> usize {
        self.wheel.collect(&mut self.nodes)
    }

    /// Collects the nodes to which no other thread sends. Returns their number.
    pub(super) fn collect_inner(&mut self) -> usize {
        self.wheel.collect_inner(&mut self.nodes)
    }

    /// Collects the nodes to which other threads send. Returns their number.
    pub(super) fn collect_border(&mut self) -> usize {
        self.wheel.collect_border(&mut self.nodes)
    }

    #[inline(always)]
    pub(super) fn prefetch_arrivals(&self, core: &Core, node: u32) {
        for first in self.wheel.firsts(node) {
            core.arena.prefetch(first);
        }
    }
}
