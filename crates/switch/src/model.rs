//! The configuration of a port: the five choices.

mod action;
mod error;
mod marker;
mod notifying;
mod unreached;

use alloc::vec::Vec;

use trimline_packet::{BitRate, ByteCount, Packet, Service, ServiceClass, TimeDelta};

use crate::drop_list::Disposition;
use crate::pool::Alpha;
pub use action::Action;
pub use error::ModelError;
pub use marker::{MarkAt, Marker, Signal, Unit};
pub use unreached::Surroundings;

/// Max number of queues of a port.
pub const MAX_QUEUES: usize = 8;
/// Max length of an overflow list.
pub const MAX_ACTIONS: usize = 4;

/// Maps packets to queues. Queue 0 is the most urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classifier {
    /// One queue for all packets.
    Single,
    /// NDP 3.1: headers, trimmed or returned, and control packets to queue 0, the header queue; whole data to queue 1,
    /// the data queue.
    HeaderAndData,
    /// By the class in the packet's header ([`Flags::class`](trimline_packet::Flags::class)), 0 to 3: class 3 to queue
    /// 0, class 0 to queue 3, control packets like data.
    Class,
    /// By priority ([`ServiceClass::priority`]), eight queues: data of priority 7 to queue 0, of priority 0 to queue 7.
    /// Headers and control packets go to queue 0.
    Priority,
    /// FastLane 3.2: notifications to queue 0, ahead of all others in queue 1.
    Notifications,
}

/// Chooses the queue that sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Order of arrival, one queue.
    Fifo,
    /// The waiting queue with the lowest number.
    Strict,
    /// Round robin, `weights[queue]` packets each (NDP 3.1: ten headers to one data packet). While only one queue waits
    /// the count stands still (chosen; not in the paper), so that the round continues later.
    WeightedRoundRobin {
        /// Packets per queue and round.
        weights: [u32; MAX_QUEUES],
    },
    /// The waiting queue with the lowest number; queue 0 at a limited rate (FastLane 3.3.1). For ports with a clock:
    /// [`RateLimited`](crate::RateLimited).
    RateLimited(Cap),
}

/// A rate limit for a port's first queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap {
    /// Max rate. Each packet waits for the time of the one before at this rate.
    pub rate: BitRate,
    /// The queue may exceed it while no other packet may go.
    pub is_work_conserving: bool,
}

impl Cap {
    /// The cap of FastLane 3.3.1: 1 % of the link, plus idle time.
    pub fn of_line(line: BitRate) -> Cap {
        let rate = BitRate::from_bps((line.as_bps() / 100).max(1));
        Cap { rate, is_work_conserving: true }
    }

    pub(crate) fn spacing(self, wire_bytes: u16) -> TimeDelta {
        self.rate.transmission(ByteCount::new(wire_bytes.into()))
    }
}

/// Chooses the packet of a queue that goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The packet that came first.
    Arrival,
    /// The first packet of the flow with the most urgent packet. A packet without room evicts less urgent ones, the
    /// least urgent first (pFabric). For the last queue of [`PriorityDrop`](crate::PriorityDrop).
    Urgency,
}

/// The capacity of a queue. A packet must fit both bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Packets, the one on the wire included.
    pub packets: u32,
    /// Bytes, the packet on the wire included.
    pub bytes: u32,
}

impl Limit {
    /// No limit.
    pub const NONE: Limit = Limit { packets: u32::MAX, bytes: u32::MAX };

    /// A limit in packets of any size.
    pub const fn packets(packets: u32) -> Limit {
        Limit { packets, bytes: u32::MAX }
    }
    /// A limit in bytes.
    pub const fn bytes(bytes: u32) -> Limit {
        Limit { packets: u32::MAX, bytes }
    }
}

/// The choices for a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueChoices {
    /// Capacity for an arriving whole packet.
    pub whole: Limit,
    /// Capacity for an arriving header or control packet.
    pub header: Limit,
    /// `None`: memory of its own. Otherwise the switch's pool, up to this times its free memory and the limits.
    pub pool: Option<Alpha>,
    /// The marking rule.
    pub marker: Marker,
    /// Selective dropping (Aeolus, SIGCOMM 2020): drops a whole packet with [`Packet::MARK_UNSCHEDULED`] that finds
    /// more than this many bytes (with the packet on the wire, without its own), whatever the overflow list. `None`:
    /// off.
    pub selective_drop: Option<u32>,
    /// The order of its packets.
    pub order: Order,
    /// Steps for a packet that does not fit, in order; at most [`MAX_ACTIONS`].
    pub overflow: Vec<Action>,
}

impl QueueChoices {
    /// A drop-tail queue with memory of its own, without marks.
    pub fn new(limit: Limit) -> QueueChoices {
        QueueChoices {
            whole: limit,
            header: limit,
            pool: None,
            marker: Marker::None,
            selective_drop: None,
            order: Order::Arrival,
            overflow: Vec::new(),
        }
    }

    /// Replaces the overflow list.
    #[must_use]
    pub fn overflow(mut self, actions: &[Action]) -> QueueChoices {
        self.overflow = actions.to_vec();
        self
    }

    /// Replaces the marker.
    #[must_use]
    pub fn marker(mut self, marker: Marker) -> QueueChoices {
        self.marker = marker;
        self
    }
}

/// The five choices as a user states them, unchecked.
///
/// A published profile is a start. [`Choices::build`] refuses what contradicts itself:
///
/// ```
/// use trimline_switch::{Action, Choices, Limit, ModelError, QueueChoices};
///
/// // DCTCP's queue, which trims a packet without room.
/// let mut choices = Choices::ecn(200, 65);
/// choices.queues[0].overflow = vec![Action::TrimArriving];
/// assert_eq!(choices.build().unwrap().queue_count(), 1);
///
/// choices.queues.push(QueueChoices::new(Limit::packets(8)));
/// let error = choices.build().unwrap_err();
/// assert_eq!(error, ModelError::QueueCount { queues: 2, classifier: 1 });
/// assert_eq!(error.to_string(), "2 queues, but the classifier fills 1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    /// The queues, most urgent first: 1 to [`MAX_QUEUES`].
    pub queues: Vec<QueueChoices>,
    /// Maps packets to queues.
    pub classifier: Classifier,
    /// Chooses the queue that sends next.
    pub scheduler: Scheduler,
    /// Capacity of all queues together, for packets of any service.
    pub port: Limit,
    /// Bytes on the wire of a trimmed packet (NDP 3.1: 64).
    pub trimmed_bytes: u16,
    /// Memory is allocated in cells of this many bytes; 1 is exact.
    pub cell_bytes: u16,
    /// The port leads to a host, and marks trimmed packets with [`Packet::MARK_LAST_HOP`].
    pub is_last_hop: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueModel {
    pub(crate) limits: [Limit; 2],
    pub(crate) pool: Option<Alpha>,
    pub(crate) overflow: [Action; MAX_ACTIONS],
    pub(crate) marker: Marker,
    /// Max bytes that an unscheduled packet may find.
    pub(crate) unscheduled: u32,
    pub(crate) order: Order,
}

impl QueueModel {
    /// The disposition of a packet without room, in a queue that does not trim.
    pub(crate) fn disposition(&self, service: Service) -> Disposition {
        let dispositions = self.overflow.iter().find_map(|action| action.disposition(service));
        dispositions.unwrap_or(Disposition::Dropped)
    }
}

/// The fast path into a queue, by class: a packet within these limits is queued without further checks. They are zero
/// in models with more checks, and at most the threshold of selective dropping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(16))]
pub(crate) struct ClassEntry {
    pub(crate) limit: Limit,
    pub(crate) queue: u8,
    pub(crate) bit: u8,
}

/// The round of a port with two queues: `first` turns of `all` for the first queue. Strict priority is a round of one
/// turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    pub(crate) first: u32,
    pub(crate) all: u32,
}

/// The checked choices of a port, flat; shared by all ports of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceModel {
    pub(crate) classes: [ClassEntry; ServiceClass::COUNT],
    pub(crate) round: Round,
    pub(crate) scheduler: Scheduler,
    pub(crate) queues: [QueueModel; MAX_QUEUES],
    /// Service and size determine queue and memory: no pool, cells, ramp at arrival, classes or order by urgency.
    pub(crate) has_class_table: bool,
    /// `has_class_table`, and departures drop or quench nothing.
    pub(crate) is_plain: bool,
    /// A queue marks arriving packets.
    pub(crate) marks_at_enqueue: bool,
    /// A queue marks departing packets.
    pub(crate) marks_at_dequeue: bool,
    /// One of those does so by a ramp.
    pub(crate) ramps_at_dequeue: bool,
    pub(crate) port: Limit,
    /// A single queue that takes exact sizes from the pool, and marks by a threshold at most.
    pub(crate) is_one_pooled: bool,
    codel_queue: Option<u8>,
    /// The min factor of queues that take exact sizes from the pool.
    pub(crate) min_alpha: Option<Alpha>,
    pub(crate) classifier: Classifier,
    pub(crate) trimmed_bytes: u16,
    pub(crate) trim_marks: u8,
    pub(crate) cell_bytes: u16,
    queue_count: u8,
}

const HEADER_SERVICES: u8 = {
    let (mut services, mut place) = (0, 0);
    while place < Service::COUNT {
        let service = Service::ALL[place];
        services |= match service {
            Service::Trimmed | Service::Returned | Service::Control | Service::Notification => {
                1 << service as u8
            }
            Service::Trimmable | Service::Droppable => 0,
        };
        place += 1;
    }
    services
};

/// 1 for a header, notification or control packet, 0 for whole data.
#[inline]
pub(crate) const fn is_header(service: Service) -> usize {
    (HEADER_SERVICES >> service as u8 & 1) as usize
}

const fn by_notification(service: Service) -> usize {
    match service {
        Service::Notification => 0,
        Service::Trimmable
        | Service::Trimmed
        | Service::Returned
        | Service::Control
        | Service::Droppable => 1,
    }
}

fn by_priority(class: ServiceClass) -> usize {
    match is_header(class.service()) {
        0 => usize::from(ServiceClass::TOP_PRIORITY - class.priority()),
        _ => 0,
    }
}

/// True if these choices allow order by urgency.
fn may_be_urgent(choices: &QueueChoices) -> bool {
    let only_drops = |action: &Action| match action {
        Action::Drop | Action::Notify => true,
        Action::TrimArriving
        | Action::TrimRandom
        | Action::TrimToSender
        | Action::TrimToBoth
        | Action::Return => false,
    };
    choices.pool.is_none()
        && choices.marker == Marker::None
        && choices.selective_drop.is_none()
        && choices.overflow.iter().all(only_drops)
}

/// Abilities beyond [`Port`](crate::Port) that a model needs, at some cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    /// A limited rate: [`RateLimited`](crate::RateLimited).
    pub clock: bool,
    /// Arrival times: [`CodelPort`](crate::CodelPort).
    pub sojourn: bool,
    /// Packets from the middle of a queue: [`PriorityDrop`](crate::PriorityDrop).
    pub urgency: bool,
}

impl Choices {
    /// Checks the choices and converts them for the packet path.
    ///
    /// # Errors
    /// Returns the first fault, and its queue.
    pub fn build(&self) -> Result<ServiceModel, ModelError> {
        let contradicts = |queue: &QueueChoices| {
            queue.overflow.contains(&Action::Notify)
                && queue.overflow.iter().any(|action| action.trims())
        };
        match self.queues.iter().position(contradicts) {
            Some(queue) => Err(ModelError::NotifiesAndTrims { queue }),
            None => self.lay_out(),
        }
    }

    /// [`Choices::build`] without the check of overflow lists.
    pub(crate) fn lay_out(&self) -> Result<ServiceModel, ModelError> {
        let queues = self.queues.len();
        let classifier = match self.classifier {
            Classifier::Single => 1,
            Classifier::HeaderAndData | Classifier::Notifications => 2,
            Classifier::Class => 4,
            Classifier::Priority => 8,
        };
        if queues != classifier {
            return Err(ModelError::QueueCount { queues, classifier });
        }
        match self.scheduler {
            Scheduler::Fifo if queues > 1 => return Err(ModelError::FifoOfSeveral { queues }),
            Scheduler::WeightedRoundRobin { weights } => {
                if let Some(queue) = weights[..queues].iter().position(|&weight| weight == 0) {
                    return Err(ModelError::WeightZero { queue });
                }
            }
            Scheduler::RateLimited(_) if queues == 1 => return Err(ModelError::CapOfOne),
            Scheduler::Fifo | Scheduler::Strict | Scheduler::RateLimited(_) => {}
        }
        if self.port.packets == 0 || self.port.bytes == 0 {
            return Err(ModelError::PortLimitZero);
        }
        if self.trimmed_bytes == 0 {
            return Err(ModelError::TrimmedBytesZero);
        }
        if self.cell_bytes == 0 {
            return Err(ModelError::CellBytesZero);
        }
        const UNUSED: QueueModel = QueueModel {
            limits: [Limit::NONE; 2],
            pool: None,
            overflow: [Action::Drop; MAX_ACTIONS],
            marker: Marker::None,
            unscheduled: u32::MAX,
            order: Order::Arrival,
        };
        let mut codel = None;
        let mut flat = [UNUSED; MAX_QUEUES];
        for (queue, (flat, choices)) in flat.iter_mut().zip(&self.queues).enumerate() {
            let limits = [choices.whole, choices.header];
            if limits.iter().any(|limit| limit.packets == 0 || limit.bytes == 0) {
                return Err(ModelError::LimitZero { queue });
            }
            if choices.overflow.len() > MAX_ACTIONS {
                return Err(ModelError::TooManyActions { queue });
            }
            if matches!(choices.marker, Marker::Ramp { kmin, kmax, .. } if kmin >= kmax) {
                return Err(ModelError::Ramp { queue });
            }
            let for_notifications = self.classifier == Classifier::Notifications && queue == 0;
            if for_notifications && choices.header.bytes < Packet::HEADER_BYTES.into() {
                return Err(ModelError::BelowOneNotification { queue });
            }
            if let Marker::CoDel { target, interval, signal } = choices.marker {
                let is_nothing = target.as_ps() == 0 || interval.as_ps() == 0;
                if is_nothing || codel.replace((queue, signal)).is_some() {
                    return Err(ModelError::CoDel { queue });
                }
            }
            let may_be_urgent =
                queue + 1 == queues && self.port == Limit::NONE && may_be_urgent(choices);
            if choices.order == Order::Urgency && !may_be_urgent {
                return Err(ModelError::Urgency { queue });
            }
            let (pool, marker, order) = (choices.pool, choices.marker, choices.order);
            *flat = QueueModel { limits, pool, marker, order, ..UNUSED };
            flat.unscheduled = choices.selective_drop.unwrap_or(u32::MAX);
            flat.overflow[..choices.overflow.len()].copy_from_slice(&choices.overflow);
        }
        let is_simple = |queue: &QueueChoices| {
            queue.pool.is_none() && queue.marker.has_short_path() && queue.order == Order::Arrival
        };
        let has_class_table = self.cell_bytes == 1
            && self.classifier != Classifier::Class
            && self.queues.iter().all(is_simple);
        let quenches = matches!(codel, Some((_, Signal::Quench)));
        let closed = ClassEntry { limit: Limit { packets: 0, bytes: 0 }, queue: 0, bit: 1 };
        let round = match self.scheduler {
            Scheduler::WeightedRoundRobin { weights: [first, second, ..] } => {
                Round { first, all: first.saturating_add(second) }
            }
            Scheduler::Fifo | Scheduler::Strict | Scheduler::RateLimited(_) => {
                Round { first: 1, all: 1 }
            }
        };
        let mut model = ServiceModel {
            classes: [closed; ServiceClass::COUNT],
            round,
            scheduler: self.scheduler,
            queues: flat,
            has_class_table,
            is_plain: has_class_table && !quenches,
            marks_at_enqueue: self
                .queues
                .iter()
                .any(|queue| queue.marker.marks_at(MarkAt::Enqueue)),
            marks_at_dequeue: self
                .queues
                .iter()
                .any(|queue| queue.marker.marks_at(MarkAt::Dequeue)),
            ramps_at_dequeue: (self.queues.iter())
                .any(|queue| queue.marker.ramp_at(MarkAt::Dequeue).is_some()),
            codel_queue: codel.map(|(queue, _)| queue as u8),
            port: self.port,
            is_one_pooled: self.cell_bytes == 1
                && self.port == Limit::NONE
                && matches!(&self.queues[..], [only] if only.pool.is_some()
                    && only.selective_drop.is_none()
                    && only.marker.has_short_path()),
            min_alpha: match self.cell_bytes {
                1 => self.queues.iter().filter_map(|queue| queue.pool).min(),
                _ => None,
            },
            classifier: self.classifier,
            trimmed_bytes: self.trimmed_bytes,
            trim_marks: if self.is_last_hop { Packet::MARK_LAST_HOP } else { 0 },
            cell_bytes: self.cell_bytes,
            queue_count: queues as u8,
        };
        if has_class_table && self.port == Limit::NONE {
            for class in ServiceClass::all() {
                let queue = model.queue_of(class);
                let header = is_header(class.service());
                let mut limit = flat[queue].limits[header];
                if header == 0 {
                    limit.bytes = limit.bytes.min(flat[queue].unscheduled);
                }
                model.classes[class.index()] =
                    ClassEntry { limit, queue: queue as u8, bit: 1 << queue };
            }
        }
        Ok(model)
    }
}

impl ServiceModel {
    /// Number of queues; a [`Port`](crate::Port) has at least as many.
    pub fn queue_count(&self) -> usize {
        usize::from(self.queue_count)
    }

    /// True if service and size determine queue and memory: no shared memory, cells, ramp at arrival, classes or order by
    /// urgency; and departures drop or quench nothing.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// True if a queue takes memory from the switch's pool.
    pub fn is_pooled(&self, queue: usize) -> bool {
        self.queues[queue].pool.is_some()
    }

    /// True if any queue takes memory from the pool: decisions then depend on the switch's other ports.
    pub fn shares_memory(&self) -> bool {
        self.queues.iter().any(|queue| queue.pool.is_some())
    }

    /// The queue for this class. With [`Classifier::Class`]: the queue of class 0.
    pub fn queue_of(&self, class: impl Into<ServiceClass>) -> usize {
        let class = class.into();
        match self.classifier {
            Classifier::Single => 0,
            Classifier::HeaderAndData => 1 - is_header(class.service()),
            Classifier::Class => 3,
            Classifier::Priority => by_priority(class),
            Classifier::Notifications => by_notification(class.service()),
        }
    }

    #[inline]
    pub(crate) fn cap(&self) -> Option<Cap> {
        match self.scheduler {
            Scheduler::RateLimited(cap) => Some(cap),
            Scheduler::Fifo | Scheduler::Strict | Scheduler::WeightedRoundRobin { .. } => None,
        }
    }

    #[inline]
    pub(crate) fn codel_queue(&self) -> Option<usize> {
        self.codel_queue.map(usize::from)
    }

    /// Abilities that this model needs.
    pub fn demands(&self) -> Demands {
        Demands {
            clock: self.cap().is_some(),
            sojourn: self.codel_queue.is_some(),
            urgency: self.queues.iter().any(|queue| queue.order == Order::Urgency),
        }
    }

    /// True if a port can return headers.
    pub fn returns_headers(&self) -> bool {
        self.queues[self.queue_of(Service::Trimmed)].overflow.contains(&Action::Return)
    }

    fn trims_tails(queue: &QueueModel) -> bool {
        queue.overflow.iter().any(|action| action.trims_tails())
    }

    /// Number of queues where an arriving packet may trim several tails: a limit in packets takes one.
    pub(crate) fn queues_trimmed_by_bytes(&self) -> u32 {
        let by_bytes = |queue: &&QueueModel| {
            ServiceModel::trims_tails(queue) && queue.limits[0].bytes != u32::MAX
        };
        self.queues[..self.queue_count()].iter().filter(by_bytes).count() as u32
    }

    /// True if headers can return from a port where the headers of trimmed tails take the room that trimming makes.
    pub(crate) fn headers_fill_the_port(&self) -> bool {
        self.port.bytes != u32::MAX
            && self.returns_headers()
            && self.queues.iter().any(ServiceModel::trims_tails)
    }

    /// Bytes of headers that the header queue holds; `None` if unbounded.
    pub fn header_queue_capacity_bytes(&self) -> Option<u32> {
        let limit = self.queues[self.queue_of(Service::Trimmed)].limits[1];
        let packets = u64::from(limit.packets) * u64::from(self.trimmed_bytes);
        let bytes = u64::from(limit.bytes).min(packets) as u32;
        (limit != Limit::NONE).then_some(bytes)
    }

    /// Max occupancy of a queue.
    pub fn max_in_queue(&self, queue: usize) -> Limit {
        let [whole, header] = self.queues[queue].limits;
        Limit {
            packets: whole.packets.max(header.packets).min(self.port.packets),
            bytes: whole.bytes.max(header.bytes).min(self.port.bytes),
        }
    }

    /// Capacity of all queues of a port together.
    pub fn port_limit(&self) -> Limit {
        self.port
    }

    /// Bytes on the wire of a trimmed packet.
    pub fn trimmed_bytes(&self) -> u16 {
        self.trimmed_bytes
    }

    /// The queue for this packet.
    #[inline]
    pub fn classify(&self, packet: &Packet) -> usize {
        match self.classifier {
            Classifier::Single => 0,
            Classifier::HeaderAndData => 1 - is_header(packet.service.service()),
            Classifier::Class => 3 - usize::from(packet.header.flags.class()),
            Classifier::Priority => by_priority(packet.service),
            Classifier::Notifications => by_notification(packet.service.service()),
        }
    }

    #[inline]
    pub(crate) fn occupancy(&self, wire_bytes: u16) -> u32 {
        if self.cell_bytes == 1 {
            u32::from(wire_bytes)
        } else {
            u32::from(wire_bytes).next_multiple_of(u32::from(self.cell_bytes))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: impl FnOnce(&mut Choices), expected: ModelError) {
        let mut choices = Choices::paper(8, 9000);
        change(&mut choices);
        assert_eq!(choices.build().map(|model| model.queue_count()), Err(expected));
    }

    #[test]
    fn errors_name_the_setting_and_its_place() {
        check(
            |choices| choices.queues.truncate(1),
            ModelError::QueueCount { queues: 1, classifier: 2 },
        );
        check(|c| c.scheduler = Scheduler::Fifo, ModelError::FifoOfSeveral { queues: 2 });
        let weights = [1, 0, 1, 1, 1, 1, 1, 1];
        check(
            |c| c.scheduler = Scheduler::WeightedRoundRobin { weights },
            ModelError::WeightZero { queue: 1 },
        );
        check(|c| c.queues[1].whole = Limit::packets(0), ModelError::LimitZero { queue: 1 });
        check(
            |c| c.queues[0].overflow = [Action::Return; 5].to_vec(),
            ModelError::TooManyActions { queue: 0 },
        );
        check(
            |c| {
                c.queues[1].marker = Marker::Ramp { kmin: 5, kmax: 5, pmax: 1, at: MarkAt::Enqueue }
            },
            ModelError::Ramp { queue: 1 },
        );
        check(|c| c.port = Limit::bytes(0), ModelError::PortLimitZero);
        check(
            |c| c.queues[1].overflow.push(Action::Notify),
            ModelError::NotifiesAndTrims { queue: 1 },
        );
        check(
            |c| {
                c.classifier = Classifier::Notifications;
                c.queues[0] = QueueChoices::new(Limit::bytes(63));
            },
            ModelError::BelowOneNotification { queue: 0 },
        );
        let codel = |target, interval| Marker::CoDel {
            target: TimeDelta::from_us(target),
            interval: TimeDelta::from_us(interval),
            signal: Signal::Mark,
        };
        check(|c| c.queues[1].marker = codel(0, 9), ModelError::CoDel { queue: 1 });
        check(|c| c.queues[0].marker = codel(9, 0), ModelError::CoDel { queue: 0 });
        check(
            |c| c.queues.iter_mut().for_each(|queue| queue.marker = codel(5, 100)),
            ModelError::CoDel { queue: 1 },
        );
        for queue in [0, 1] {
            // The first queue is not the last, and the last one trims.
            check(|c| c.queues[queue].order = Order::Urgency, ModelError::Urgency { queue });
        }
        check(
            |c| {
                *c = Choices::drop_tail(8);
                c.scheduler = Scheduler::RateLimited(Cap::of_line(BitRate::from_gbps(10)));
            },
            ModelError::CapOfOne,
        );
        check(|c| c.trimmed_bytes = 0, ModelError::TrimmedBytesZero);
        check(|c| c.cell_bytes = 0, ModelError::CellBytesZero);
    }

    #[test]
    fn a_model_has_the_header_queue_of_its_profile() {
        let cases = [
            (ServiceModel::paper(8, 9000), true, Some(72_000)),
            (ServiceModel::csg_htsim(8, 9000), false, Some(144_000)),
            (ServiceModel::netfpga(), false, Some(12_000)),
            (ServiceModel::p4(8, 9000), true, Some(72_000)),
            (ServiceModel::drop_tail(8), false, Some(512)),
            (ServiceModel::cut_payload(8, 9064), false, Some(145_024)),
        ];
        for (model, returns, bytes) in cases {
            assert_eq!(model.returns_headers(), returns);
            assert_eq!(model.header_queue_capacity_bytes(), bytes);
        }
        let mut unbounded = Choices::paper(8, 9000);
        unbounded.queues[0].header = Limit::NONE;
        assert_eq!(unbounded.build().unwrap().header_queue_capacity_bytes(), None);
    }

    #[test]
    fn every_service_maps_to_its_queue() {
        let model = ServiceModel::paper(8, 9000);
        let queues = [
            Service::Trimmable,
            Service::Droppable,
            Service::Trimmed,
            Service::Returned,
            Service::Control,
            Service::Notification,
        ]
        .map(|service| model.queue_of(service));
        assert_eq!(queues, [1, 1, 0, 0, 0, 0]);
        // FastLane 3.3: what TCP's ACKs share with data, notifications do not.
        let line = BitRate::from_gbps(10);
        let model = ServiceModel::fastlane(128_000, 3_200, Cap::of_line(line));
        assert_eq!(Service::ALL.map(|service| model.queue_of(service)), [1, 1, 1, 1, 1, 0]);
    }
}
