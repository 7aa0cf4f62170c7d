//! What is around a port while it takes or gives a packet.

use trimline_packet::{Packets, Time};

use crate::Rng;
use crate::drop_list::DropList;
use crate::pool::Pool;

/// Everything that a port may look at, draw from or write to and does not own: the one argument of
/// [`OutputPort::enqueue`](crate::OutputPort::enqueue) and [`OutputPort::dequeue`](crate::OutputPort::dequeue).
#[derive(Debug)]
pub struct PortContext<'a, M: ?Sized, K, C> {
    /// The time of the call. It never falls at one port.
    pub now: Time,
    /// The port's configuration, shared by many ports.
    pub model: &'a M,
    /// The storage of all packets.
    pub packets: &'a mut K,
    /// The memory that the ports of the switch share.
    pub pool: &'a mut Pool,
    /// The port's random stream.
    pub rng: &'a mut C,
    /// Takes the packets that lose their place, in the order in which they do.
    pub drop_list: &'a mut DropList,
}

impl<K: Packets, C: Rng, M: ?Sized> PortContext<'_, M, K, C> {
    /// The same around a port inside this one, which has a model of its own.
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
