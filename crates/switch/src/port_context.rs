//! The context of calls of a port.

use trimline_packet::{Packets, Time};

use crate::Rng;
use crate::drop_list::DropList;
use crate::pool::Pool;

/// State that a port uses and does not own: the argument of [`OutputPort::enqueue`](crate::OutputPort::enqueue) and
/// [`OutputPort::dequeue`](crate::OutputPort::dequeue).
#[derive(Debug)]
pub struct PortContext<'a, M: ?Sized, K, C> {
    /// The time of the call. It never falls at a port.
    pub now: Time,
    /// The port's configuration, shared by many ports.
    pub model: &'a M,
    /// The storage of all packets.
    pub packets: &'a mut K,
    /// The memory that the ports of the switch share.
    pub pool: &'a mut Pool,
    /// The port's RNG stream.
    pub rng: &'a mut C,
    /// Receives packets that the port does not keep, in order.
    pub drop_list: &'a mut DropList,
}

impl<K: Packets, C: Rng, M: ?Sized> PortContext<'_, M, K, C> {
    /// The context of a port inside, with its own model.
    #[inline(always)]
    pub fn with<'b, N: ?Sized>(&'b mut self, model: &'b N) -> PortContext<'b, N, K, C> {
        PortContext {
            now: self.now,
            model,
            packets: self.packets,
            pool: self.pool,
            rng: self.rng,
            drop_list: self.drop_list,
        }
    }
}
