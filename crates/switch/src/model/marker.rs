//! Rules that mark packets.

use trimline_packet::TimeDelta;

/// The AQM rule for the mark "congestion experienced", for packets with [`Packet::MARK_ECT`](trimline_packet::Packet::MARK_ECT).
///
/// ```
/// use trimline_packet::SplitMix;
/// use trimline_packet::testing::{Arena, packet};
/// use trimline_packet::{Packet, Packets, Service, Time};
/// use trimline_switch::{Choices, DropList, Marker, OutputPort, Pool, Port, PortContext};
///
/// let choices = Choices::ecn(200, 2);
/// assert!(matches!(choices.queues[0].marker, Marker::Threshold { above: 2, .. }));
/// let model = choices.build().unwrap();
///
/// let (mut port, mut packets) = (Port::<1>::new(), Arena::default());
/// let handles = [0, 1, 2, 3].map(|number| {
///     packets.add(Packet { marks: Packet::MARK_ECT, ..packet(Service::Droppable, 1500, number) })
/// });
/// let mut context = PortContext {
///     now: Time::ZERO,
///     model: &model,
///     packets: &mut packets,
///     pool: &mut Pool::none(),
///     rng: &mut SplitMix(1),
///     drop_list: &mut DropList::new(),
/// };
/// handles.map(|handle| port.enqueue(handle, &mut context));
/// let marked = handles.map(|handle| packets.packet(handle).marks & Packet::MARK_CE != 0);
/// assert_eq!(marked, [false, false, false, true], "the last finds three packets");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// Never.
    None,
    /// Queue length above a threshold (DCTCP).
    Threshold {
        /// Unit of the threshold.
        unit: Unit,
        /// Mark when the length is greater.
        above: u32,
        /// The packet itself is part of the length.
        count_self: bool,
        /// The time of measurement.
        at: MarkAt,
    },
    /// With a probability that rises linearly from 0 at `kmin` bytes to `pmax` at `kmax`, and is 1 above (DCQCN).
    /// Measured without the packet: what it finds at arrival, or what it leaves behind at departure.
    Ramp {
        /// Queue bytes up to which no packet is marked.
        kmin: u32,
        /// Queue bytes above which every packet is marked.
        kmax: u32,
        /// Probability at `kmax`, Q0.32.
        pmax: u32,
        /// The time of measurement.
        at: MarkAt,
    },
    /// By sojourn time at the start of transmission (CoDel, RFC 8289, with signals for drops). For
    /// [`CodelPort`](crate::CodelPort).
    CoDel {
        /// Acceptable sojourn time.
        target: TimeDelta,
        /// Time above `target` that counts as congestion.
        interval: TimeDelta,
        /// The kind of signal.
        signal: Signal,
    },
}

impl Marker {
    /// True if a port's short paths (a table by class, one pooled queue) mark by it.
    pub(super) const fn has_short_path(self) -> bool {
        match self {
            Marker::None | Marker::Threshold { .. } | Marker::CoDel { .. } => true,
            // A ramp at arrival draws a number there.
            Marker::Ramp { at, .. } => matches!(at, MarkAt::Dequeue),
        }
    }

    /// Returns unit, length and `count_self` of a threshold that is compared at `moment`.
    #[inline]
    pub(crate) fn threshold_at(self, moment: MarkAt) -> Option<(Unit, u32, bool)> {
        match self {
            Marker::Threshold { unit, above, count_self, at } => {
                (at == moment).then_some((unit, above, count_self))
            }
            Marker::None | Marker::Ramp { .. } | Marker::CoDel { .. } => None,
        }
    }

    /// Returns `kmin`, `kmax` and `pmax` of a ramp that is measured at `moment`.
    #[inline]
    pub(crate) fn ramp_at(self, moment: MarkAt) -> Option<[u32; 3]> {
        match self {
            Marker::Ramp { kmin, kmax, pmax, at } => (at == moment).then_some([kmin, kmax, pmax]),
            Marker::None | Marker::Threshold { .. } | Marker::CoDel { .. } => None,
        }
    }

    pub(super) fn marks_at(self, moment: MarkAt) -> bool {
        self.threshold_at(moment).is_some() || self.ramp_at(moment).is_some()
    }
}

/// The recipient of CoDel's signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The receiver, by the mark "congestion experienced".
    Mark,
    /// The sender of any data packet, by a notification (Source Quench; FastLane 5).
    Quench,
}

/// The unit of a queue length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
}

/// The time at which a marker measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkAt {
    /// On arrival.
    Enqueue,
    /// At the start of transmission.
    Dequeue,
}
