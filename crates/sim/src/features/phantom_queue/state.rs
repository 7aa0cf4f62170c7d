//! The phantom queues of a network. [`trimline_switch::PhantomQueue`] has their behaviour.

use std::ops::Range;

use trimline_packet::{Packet, Time};
use trimline_switch::{PhantomModel, PhantomQueue};

use crate::plan::PhantomLink;
use crate::table::Shared;
use crate::topology::Routes;

#[derive(Clone)]
struct Phantom {
    model: PhantomModel,
    queue: PhantomQueue,
    /// Packets that it was the first to mark.
    marked: u64,
}

/// The phantom queues of a network, in a run with any.
pub(crate) struct PhantomQueues {
    by_node: Shared<Option<Box<Phantom>>>,
}

impl PhantomQueues {
    /// Phantom queues of a plan, if it has any. The last one for a link holds.
    pub(crate) fn new(plan: &[PhantomLink], routes: &Routes) -> Option<Box<PhantomQueues>> {
        if plan.is_empty() {
            return None;
        }
        let mut by_node = vec![None; routes.nodes() as usize];
        for &PhantomLink { link, model, .. } in plan {
            let phantom = Phantom { model, queue: PhantomQueue::new(), marked: 0 };
            by_node[link.index()] = Some(Box::new(phantom));
        }
        Some(Box::new(PhantomQueues { by_node: by_node.into() }))
    }

    /// Returns another view of this table.
    ///
    /// # Safety
    /// See [`crate::network::Core::view`].
    pub(crate) unsafe fn view(&self) -> PhantomQueues {
        // SAFETY: promised by the caller.
        unsafe { PhantomQueues { by_node: self.by_node.view() } }
    }

    /// Returns, for each node, whether its link has a phantom queue.
    pub(crate) fn on_links(&self) -> Shared<bool> {
        self.by_node.iter().map(Option::is_some).collect()
    }

    /// Returns whether the link of a node in the range has a phantom queue.
    pub(crate) fn has_any(&self, mut nodes: Range<u32>) -> bool {
        nodes.any(|node| self.by_node[node as usize].is_some())
    }

    /// Shows a packet at its departure to the phantom queue of its link.
    pub(crate) fn pass(&mut self, node: usize, now: Time, packet: &mut Packet) {
        if let Some(phantom) = &mut self.by_node[node] {
            phantom.marked += u64::from(phantom.queue.pass(now, packet, &phantom.model));
        }
    }

    pub(crate) fn marked(&self, node: usize) -> u64 {
        self.by_node[node].as_ref().map_or(0, |phantom| phantom.marked)
    }
}
