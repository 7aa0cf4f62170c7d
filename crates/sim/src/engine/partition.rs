//! Which thread drives which unit: whole pods, or leaves with their hosts, and the switches above them spread
//! evenly.
//!
//! Only links to and from the top tier cross from one thread to another, so a packet changes threads twice on its way
//! at most, and all ports of a switch, its shared memory and its returned headers stay with one thread.
//!
//! The switches at both ends of those links are the border. All other units, hosts among them, neither send to other
//! threads nor receive from them.

use trimline_packet::TimeDelta;
use trimline_switch::OutputPort;

use crate::division::MOST_THREADS;
use crate::network::Network;
use crate::protocol::Protocol;
use crate::table::Shared;
use crate::topology::{Part, Routes};

/// The units of each thread.
pub(crate) struct Partition {
    /// Per unit: the number of its thread.
    owners: Shared<u8>,
    /// A bit per unit: it is a port of a switch at the border.
    border: Shared<u64>,
    threads: usize,
}

impl Partition {
    /// Divides a network among at most as many threads as it has parts.
    pub(crate) fn new(routes: &Routes, threads: usize) -> Partition {
        let (parts, tops) = routes.parts();
        assert!(threads <= parts.min(MOST_THREADS) as usize, "a thread without a part");
        let share = |number: u32, of: u32| {
            (u64::from(number) * threads as u64 / u64::from(of.max(1))) as u8
        };
        let owner = |unit| match routes.part_of(unit) {
            Part::Below(part) => share(part, parts),
            Part::Top(switch) => share(switch, tops),
        };
        let mut border = vec![0; (routes.units() as usize).div_ceil(64)];
        for port in (0..routes.ports()).filter(|&port| routes.is_at_border(port)) {
            border[port as usize / 64] |= 1 << (port % 64);
        }
        let owners = (0..routes.units()).map(owner).collect();
        Partition { owners, border: border.into(), threads }
    }

    /// How many threads there are.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Per unit: who drives it.
    pub(super) fn owners(&self) -> Shared<u8> {
        // SAFETY: no item ever changes.
        unsafe { self.owners.view() }
    }

    /// A bit per unit: other threads may send to it, and it to them.
    pub(super) fn border(&self) -> Shared<u64> {
        // SAFETY: no item ever changes.
        unsafe { self.border.view() }
    }

    /// No packet goes from one thread to another in less than this.
    pub(super) fn lookahead<E: Protocol, P: OutputPort>(
        &self,
        network: &Network<E, P>,
    ) -> TimeDelta {
        network.least_transmission() + network.routes.least_top_delay()
    }
}
