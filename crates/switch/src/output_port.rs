//! The interface of output ports, whatever their queues.

use trimline_packet::{Handle, Packet, Packets, Service, ServiceClass, Time};

use crate::Rng;
use crate::model::{Limit, ServiceModel};
use crate::pool::Pool;
use crate::port_context::PortContext;

/// The configuration of a network's ports, as far as drivers read it.
pub trait PortModel: Clone + Send + Sync {
    /// True if service and size determine queue and memory: no shared memory, cells, ramp or classes. Such ports drop
    /// nothing at [`OutputPort::dequeue`].
    fn is_plain(&self) -> bool;
    /// True if a queue takes memory from the pool: decisions then depend on the switch's other ports.
    fn shares_memory(&self) -> bool;
    /// Source of packets that leave by another port of the switch.
    fn returning(&self) -> Returning;
    /// True if the pool has room for `bytes` more in any queue and order: then ports are independent. False if unknown.
    fn admits_all(&self, _pool: &Pool, _bytes: u64) -> bool {
        false
    }
}

/// Source of packets to the sender: returned headers and notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returning {
    /// Ports send nothing back.
    Never,
    /// Headers, from this queue, once it holds this much.
    From {
        /// The queue.
        queue: usize,
        /// The bytes that it holds.
        bytes: u32,
        /// Bytes of a trimmed header.
        trimmed_bytes: u16,
        /// Upper bound of a header's memory beyond its bytes, in the last cell.
        cell_bytes: u16,
        /// Queues where an arriving packet may trim several tails, since bytes are counted. Without such a queue each
        /// packet adds at most one header.
        queues_trimmed_by_bytes: u32,
    },
    /// Notifications, once this queue's content and the arriving bytes exceed this. A dropped notification causes none.
    WhenFull {
        /// The queue.
        queue: usize,
        /// The bytes that it takes.
        bytes: u32,
    },
    /// Ports differ in the queue, or any packet may cause a notification.
    Anywhere,
}

/// A read-only view of a port's queues.
pub trait QueueView {
    /// The configuration, shared by many ports.
    type Model: PortModel;
    /// The maximum number of queues.
    const QUEUES: usize;

    /// True while the memory of a packet on the wire is not released.
    fn is_sending(&self) -> bool;

    /// Max occupancy of a queue; `None` if the model has no such queue.
    fn max_in_queue(&self, model: &Self::Model, queue: usize) -> Option<Limit>;

    /// True if a queue takes memory from the switch's pool.
    fn is_pooled(&self, model: &Self::Model, queue: usize) -> bool;

    /// The queue for this packet.
    fn classify(&self, model: &Self::Model, packet: &Packet) -> usize;

    /// The queue for this service and priority, if the flow's class does not decide.
    fn queue_of(&self, model: &Self::Model, class: ServiceClass) -> usize;

    /// The first waiting packet of a queue, or [`Handle::NONE`].
    fn first(&self, queue: usize) -> Handle;

    /// Bytes of memory in a queue, the packet on the wire included.
    fn queue_bytes(&self, queue: usize) -> u32;

    /// Packets of a queue, the one on the wire included.
    fn queue_packets(&self, queue: usize) -> u32;

    /// The queue length that an arriving packet finds, in packets, with the one on the wire. With priority queues: the
    /// sum over all.
    fn packets_before(&self, model: &Self::Model, packet: &Packet) -> u32;

    /// True if an arriving packet would be queued whole without a drop or trim.
    fn has_room(&self, model: &Self::Model, packet: &Packet, pool: &Pool) -> bool;

    /// Newly marked packets, modulo 2^32.
    fn marked(&self) -> u32;
}

/// A port that adds a function to the port inside, which holds the queues.
pub trait Wrapper {
    /// The configuration of the wrapper.
    type Model: PortModel;
    /// The port inside.
    type Inner: QueueView;

    /// The port inside.
    fn inner(&self) -> &Self::Inner;

    /// The configuration of the port inside.
    fn inner_model<'a>(&self, model: &'a Self::Model) -> &'a <Self::Inner as QueueView>::Model;

    /// Packets that the wrapper marked itself.
    fn marked_outside(&self) -> u32 {
        0
    }
}

impl<W: Wrapper> QueueView for W {
    type Model = W::Model;
    const QUEUES: usize = W::Inner::QUEUES;

    #[inline(always)]
    fn is_sending(&self) -> bool {
        self.inner().is_sending()
    }

    fn max_in_queue(&self, model: &W::Model, queue: usize) -> Option<Limit> {
        self.inner().max_in_queue(self.inner_model(model), queue)
    }

    fn is_pooled(&self, model: &W::Model, queue: usize) -> bool {
        self.inner().is_pooled(self.inner_model(model), queue)
    }

    #[inline]
    fn classify(&self, model: &W::Model, packet: &Packet) -> usize {
        self.inner().classify(self.inner_model(model), packet)
    }

    fn queue_of(&self, model: &W::Model, class: ServiceClass) -> usize {
        self.inner().queue_of(self.inner_model(model), class)
    }

    #[inline(always)]
    fn first(&self, queue: usize) -> Handle {
        self.inner().first(queue)
    }

    #[inline(always)]
    fn queue_bytes(&self, queue: usize) -> u32 {
        self.inner().queue_bytes(queue)
    }

    #[inline(always)]
    fn queue_packets(&self, queue: usize) -> u32 {
        self.inner().queue_packets(queue)
    }

    fn packets_before(&self, model: &W::Model, packet: &Packet) -> u32 {
        self.inner().packets_before(self.inner_model(model), packet)
    }

    fn has_room(&self, model: &W::Model, packet: &Packet, pool: &Pool) -> bool {
        self.inner().has_room(self.inner_model(model), packet, pool)
    }

    fn marked(&self) -> u32 {
        self.inner().marked().wrapping_add(self.marked_outside())
    }
}

/// An output port: packets enter, and leave one at a time for the wire.
pub trait OutputPort: QueueView + Default + Send + Sync {
    /// An idle port with the model of this number, if ports differ ([`PerPort`](crate::PerPort)).
    fn with_model(_number: u16) -> Self {
        Self::default()
    }

    /// Queues a packet that fits under a plain model: the first step of [`OutputPort::enqueue`], for drivers that count
    /// instructions. False without any change.
    fn enqueue_plainly<K: Packets>(
        &mut self,
        packet: Handle,
        model: &Self::Model,
        packets: &mut K,
    ) -> bool;

    /// Queues a packet that fits under a model with one pooled queue: the second step of [`OutputPort::enqueue`]. False
    /// without any change.
    fn enqueue_pooled<K: Packets>(
        &mut self,
        _packet: Handle,
        _model: &Self::Model,
        _packets: &mut K,
        _pool: &mut Pool,
    ) -> bool {
        false
    }

    /// Queues an arriving packet. Packets not kept go to [`PortContext::drop_list`], in order.
    fn enqueue<K: Packets, C: Rng>(
        &mut self,
        packet: Handle,
        context: &mut PortContext<'_, Self::Model, K, C>,
    );

    /// Releases the memory of the packet that was on the wire, and starts the scheduler's next; `None` if no packet may
    /// go.
    fn dequeue<K: Packets, C: Rng>(
        &mut self,
        context: &mut PortContext<'_, Self::Model, K, C>,
    ) -> Option<Handle>;

    /// Releases the memory of the packet that was on the wire.
    fn release(&mut self, model: &Self::Model, pool: &mut Pool);

    /// Stops a queue. Its packet on the wire goes on.
    fn pause(&mut self, queue: usize);

    /// Lets a queue send again.
    fn resume(&mut self, queue: usize);

    /// Time of the next start without arrivals, if the transmitter is free at `free_at`: then, later though packets
    /// wait (a class with a rate limit), or never.
    ///
    /// [`OutputPort::dequeue`] at that time returns or drops a packet, so that this moves on.
    fn next_start(&self, free_at: Time) -> Time;
}

impl PortModel for ServiceModel {
    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.is_plain
    }

    fn shares_memory(&self) -> bool {
        ServiceModel::shares_memory(self)
    }

    fn returning(&self) -> Returning {
        if self.trims_towards_senders() || self.headers_fill_the_port() {
            return Returning::Anywhere;
        }
        if self.notifies() {
            return match self.notifying_queue() {
                Some((queue, bytes)) => Returning::WhenFull { queue, bytes },
                None => Returning::Anywhere,
            };
        }
        match self.header_queue_capacity_bytes().filter(|_| self.returns_headers()) {
            None => Returning::Never,
            Some(bytes) => Returning::From {
                queue: self.queue_of(Service::Trimmed),
                bytes,
                trimmed_bytes: self.trimmed_bytes(),
                cell_bytes: self.cell_bytes,
                queues_trimmed_by_bytes: self.queues_trimmed_by_bytes(),
            },
        }
    }

    #[inline]
    fn admits_all(&self, pool: &Pool, bytes: u64) -> bool {
        self.min_alpha.is_some_and(|alpha| pool.admits_all(bytes, alpha))
    }
}
