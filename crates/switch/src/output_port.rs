//! What a driver asks of an output port, whatever its queues are.

use trimline_packet::{Handle, Packet, Packets, Service, ServiceClass, Time};

use crate::Rng;
use crate::model::{Limit, ServiceModel};
use crate::pool::Pool;
use crate::port_context::PortContext;

/// The configuration of a network's ports, as far as their drivers look at it.
pub trait PortModel: Clone + Send + Sync {
    /// Whether a packet's queue and memory follow from its service and size alone: no shared memory, no cells, no ramp
    /// of marks, no classes. Such ports displace nothing at [`OutputPort::dequeue`].
    fn is_plain(&self) -> bool;
    /// Whether a queue takes its memory from the switch's pool: what a port decides then depends on the other ports of
    /// its switch.
    fn shares_memory(&self) -> bool;
    /// From where ports send something back, by another port of their switch.
    fn returning(&self) -> Returning;
    /// Whether the pool has room for so many bytes more whatever their order, in every queue: then no port depends on
    /// another one of its switch. A model that cannot tell says no.
    fn admits_all(&self, _pool: &Pool, _bytes: u64) -> bool {
        false
    }
}

/// From where ports send something to its sender: headers that they return, and notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returning {
    /// They send nothing back.
    Never,
    /// Headers, from this queue, and not before it holds this much.
    From {
        /// Which queue.
        queue: usize,
        /// The bytes that it holds.
        bytes: u32,
        /// Bytes of a trimmed header.
        trimmed_bytes: u16,
        /// A header takes less than this beside its bytes: its last cell is not full.
        cell_bytes: u16,
        /// Whether a packet that arrives adds one header to the queue at most.
        adds_one_header: bool,
    },
    /// Notifications, of packets that this queue has no room for: not before what it holds and what comes are more than
    /// this together. A notification is told of by none.
    WhenFull {
        /// Which queue.
        queue: usize,
        /// The bytes that it takes.
        bytes: u32,
    },
    /// Ports differ in the queue, or any packet may be told of.
    Anywhere,
}

/// The state of a port's queues, which nothing here changes.
pub trait QueueView {
    /// The configuration of the port, which many ports share.
    type Model: PortModel;
    /// The maximum number of queues.
    const QUEUES: usize;

    /// Whether a packet is on the wire whose memory was not released yet.
    fn is_sending(&self) -> bool;

    /// The maximum that a queue can hold, whatever arrives; `None` if the model has no such queue.
    fn max_in_queue(&self, model: &Self::Model, queue: usize) -> Option<Limit>;

    /// Whether a queue takes its memory from the switch's pool.
    fn is_pooled(&self, model: &Self::Model, queue: usize) -> bool;

    /// The queue that takes this packet.
    fn classify(&self, model: &Self::Model, packet: &Packet) -> usize;

    /// The queue that takes packets of this service and priority, where no flow's class decides.
    fn queue_of(&self, model: &Self::Model, class: ServiceClass) -> usize;

    /// The first packet that waits in a queue, [`Handle::NONE`] if there is none.
    fn first(&self, queue: usize) -> Handle;

    /// Bytes of memory that a queue uses, those of its packet on the wire included.
    fn queue_bytes(&self, queue: usize) -> u32;

    /// Packets of a queue, the one on the wire included.
    fn queue_packets(&self, queue: usize) -> u32;

    /// The queue length that an arriving packet finds, in packets, the one on the wire included. With a queue for each
    /// priority it is the sum over all queues.
    fn packets_before(&self, model: &Self::Model, packet: &Packet) -> u32;

    /// Whether a packet that arrives would be queued whole, and no other lose its place.
    fn has_room(&self, model: &Self::Model, packet: &Packet, pool: &Pool) -> bool;

    /// Packets that this port marked and that had no mark before, modulo 2^32.
    fn marked(&self) -> u32;
}

/// A port that adds one function to the port inside, whose queues are its own: [`QueueView`] reads them there.
pub trait Wrapper {
    /// The configuration of the wrapper.
    type Model: PortModel;
    /// The port inside.
    type Inner: QueueView;

    /// The port inside.
    fn inner(&self) -> &Self::Inner;

    /// The configuration of the port inside.
    fn inner_model<'a>(&self, model: &'a Self::Model) -> &'a <Self::Inner as QueueView>::Model;

    /// Packets that the wrapper marked, beside those that the port inside marked.
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

/// An output port: packets enter it, and one at a time leaves it for the wire.
pub trait OutputPort: QueueView + Default + Send + Sync {
    /// An idle port with the model of this number, where ports differ ([`PerPort`](crate::PerPort)).
    fn with_model(_number: u16) -> Self {
        Self::default()
    }

    /// The first step of [`OutputPort::enqueue`], for drivers that count instructions: queues a packet that fits
    /// under a model with nothing but limits. Gives whether it did; if not, nothing has happened.
    fn enqueue_plainly<K: Packets>(
        &mut self,
        packet: Handle,
        model: &Self::Model,
        packets: &mut K,
    ) -> bool;

    /// The second step of [`OutputPort::enqueue`]: queues a packet that fits under a model whose one queue takes its memory
    /// from the switch's pool. Gives whether it did; under other models nothing happens.
    fn enqueue_pooled<K: Packets>(
        &mut self,
        _packet: Handle,
        _model: &Self::Model,
        _packets: &mut K,
        _pool: &mut Pool,
    ) -> bool {
        false
    }

    /// A packet arrives. It is queued, or it or others lose their place: they are appended to
    /// [`PortContext::drop_list`], in the order in which it happened.
    fn enqueue<K: Packets, C: Rng>(
        &mut self,
        packet: Handle,
        context: &mut PortContext<'_, Self::Model, K, C>,
    );

    /// The transmitter is free: what was on the wire has left, and its memory is released. The scheduler chooses
    /// the next packet, which is now on the wire; `None` when nothing may go.
    fn dequeue<K: Packets, C: Rng>(
        &mut self,
        context: &mut PortContext<'_, Self::Model, K, C>,
    ) -> Option<Handle>;

    /// What was on the wire has left: its memory is released, and nothing is sent.
    fn release(&mut self, model: &Self::Model, pool: &mut Pool);

    /// A queue stops sending. Its packet on the wire goes on.
    fn pause(&mut self, queue: usize);

    /// A queue may send again.
    fn resume(&mut self, queue: usize);

    /// When the port will next start to send, if nothing arrives first and its transmitter is free at `free_at`: then,
    /// or later though packets wait (a class with a cap on its rate), or never.
    ///
    /// [`OutputPort::dequeue`] at that time gives a packet or drops one, so that this moves on.
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
        if self.trims_towards_senders() {
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
                // Where the place for data is counted in packets, a packet takes the place of one tail.
                adds_one_header: self.max_in_queue(self.queue_of(Service::Trimmable)).bytes
                    == u32::MAX,
            },
        }
    }

    #[inline]
    fn admits_all(&self, pool: &Pool, bytes: u64) -> bool {
        self.min_alpha.is_some_and(|alpha| pool.admits_all(bytes, alpha))
    }
}
