//! Priority flow control (IEEE 802.1Qbb): counts a switch's bytes per input, and stops the sender of the link.
//!
//! A class is a queue of the switch's ports. A packet counts at its input from arrival until its last bit has left, at
//! whichever port it waits. Above XOFF the class stops; at XON it may go on. The packet that crosses XOFF and the
//! packets then in flight, the headroom, fit above XOFF.

/// Max number of classes, the queues of a port.
pub const CLASSES: usize = 8;

/// The pause thresholds of a network's inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseModel {
    /// An input with more bytes of a class stops it.
    pub xoff: u32,
    /// A stopped class goes on at this many bytes or fewer.
    pub xon: u32,
    /// Bit mask of lossless classes; others are not counted.
    pub lossless: u8,
    /// Duration of a pause unless refreshed, in units of 512 bit times.
    pub quanta: u16,
}

impl PauseModel {
    /// Headroom of a link in bytes, `2 d R + 2 MTU + 64`: what arrives while the pause frame waits behind a packet of
    /// the reverse direction, is sent, travels and finds the sender at the beginning of a packet, plus what was on its
    /// way. `flight`: bytes that the link carries in its end-to-end time, both directions together.
    pub const fn headroom(flight: u64, largest_packet: u16) -> u64 {
        flight + 2 * largest_packet as u64 + trimline_packet::Pause::BYTES as u64
    }
}

/// The outcome of a packet's arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It is counted.
    Counted,
    /// It is counted, and its class must stop.
    Stops,
    /// The input's memory is full: the packet is lost.
    NoRoom,
}

/// Bytes held for an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ingress {
    held: [u32; CLASSES],
    stopped: u8,
}

impl Ingress {
    /// Counts an arriving packet of a lossless class. `above_xoff`: memory above XOFF, for a packet and the headroom.
    #[inline]
    pub fn arrive(
        &mut self,
        class: usize,
        bytes: u16,
        above_xoff: u32,
        model: &PauseModel,
    ) -> Arrival {
        let held = self.held[class] + u32::from(bytes);
        if held > model.xoff.saturating_add(above_xoff) {
            return Arrival::NoRoom;
        }
        self.held[class] = held;
        let stops = held > model.xoff && self.stopped >> class & 1 == 0;
        self.stopped |= u8::from(stops) << class;
        if stops { Arrival::Stops } else { Arrival::Counted }
    }

    /// Removes a lossless packet whose last bit has left. True if its class may now go on.
    #[inline]
    pub fn leave(&mut self, class: usize, bytes: u16, model: &PauseModel) -> bool {
        self.held[class] -= u32::from(bytes);
        let resumes = self.stopped >> class & 1 != 0 && self.held[class] <= model.xon;
        self.stopped &= !(u8::from(resumes) << class);
        resumes
    }

    /// Bit mask of the stopped classes.
    #[inline]
    pub fn stopped(&self) -> u8 {
        self.stopped
    }

    /// Bytes held of a class.
    pub fn held(&self, class: usize) -> u32 {
        self.held[class]
    }

    /// Forgets stopped classes as the link failed: no frame is sent, and a later sender is stopped anew.
    pub fn forget(&mut self) {
        self.stopped = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, packet};
    use crate::{OutputPort, Port, ServiceModel};
    use alloc::vec::Vec;
    use proptest::prelude::*;
    use trimline_packet::{Handle, Packets, Service, Time};

    fn model(xoff: u32, xon: u32) -> PauseModel {
        PauseModel { xoff, xon, lossless: 1, quanta: u16::MAX }
    }

    #[test]
    fn a_class_pauses_above_xoff_resumes_at_xon_and_drops_beyond_the_headroom() {
        let model = model(3000, 1500);
        let mut ingress = Ingress::default();
        let arrive = |ingress: &mut Ingress| ingress.arrive(2, 1500, 1500, &model);
        assert_eq!(arrive(&mut ingress), Arrival::Counted);
        assert_eq!(arrive(&mut ingress), Arrival::Counted, "at XOFF, not above it");
        assert_eq!(arrive(&mut ingress), Arrival::Stops);
        assert_eq!((ingress.held(2), ingress.stopped()), (4500, 1 << 2));
        assert_eq!(arrive(&mut ingress), Arrival::NoRoom);
        assert_eq!(ingress.held(2), 4500, "what is lost is not held");
        assert!(!ingress.leave(2, 1500, &model), "3000 are more than XON");
        assert_eq!(arrive(&mut ingress), Arrival::Counted, "it was told already");
        assert!(!ingress.leave(2, 1500, &model) && ingress.leave(2, 1500, &model));
        assert!(!ingress.leave(2, 1500, &model), "once");
        assert_eq!((ingress.held(2), ingress.stopped()), (0, 0));
    }

    #[test]
    fn the_headroom_covers_two_delays_two_packets_and_a_frame() {
        // 10 Gb/s and 1 us carry 1250 B from end to end; 100 Gb/s ten times as much.
        assert_eq!(PauseModel::headroom(2 * 1250, 9064), 20_692);
        assert_eq!(PauseModel::headroom(2 * 12_500, 9064), 43_192);
    }

    proptest! {
        /// The sender receives exactly its changes of state; classes are independent.
        #[test]
        fn the_sender_receives_every_change_of_pause_state(
            steps in prop::collection::vec((0usize..8, 1u16..3000, any::<bool>()), 1..300),
            (xoff, xon) in (0u32..20_000, 0u32..20_000),
            above_xoff in 0u32..10_000,
        ) {
            let model = PauseModel { xoff, xon: xon.min(xoff), lossless: u8::MAX, quanta: 1 };
            let mut ingress = Ingress::default();
            let mut queues: [Vec<u16>; 8] = Default::default();
            let mut notified = [false; 8];
            for (class, bytes, leaves) in steps {
                if leaves {
                    let Some(bytes) = queues[class].pop() else { continue };
                    if ingress.leave(class, bytes, &model) {
                        prop_assert!(notified[class]);
                        notified[class] = false;
                    }
                } else {
                    match ingress.arrive(class, bytes, above_xoff, &model) {
                        Arrival::NoRoom => {}
                        arrival => {
                            queues[class].push(bytes);
                            if arrival == Arrival::Stops {
                                prop_assert!(!notified[class]);
                                notified[class] = true;
                            }
                        }
                    }
                }
                for class in 0..8 {
                    let held = queues[class].iter().copied().map(u32::from).sum::<u32>();
                    prop_assert_eq!(ingress.held(class), held);
                    prop_assert_eq!(ingress.stopped() >> class & 1 != 0, notified[class]);
                    prop_assert!(held <= xoff + above_xoff);
                    prop_assert!(notified[class] || held <= xoff, "above XOFF and not told");
                    prop_assert!(!notified[class] || held > model.xon, "at XON and not told");
                }
            }
        }
    }

    /// Connects a port to a port of a second switch, which sends a packet to the host in three packet times and pauses
    /// the first at once. Returns the packets that arrived at the host, and those dropped.
    fn two_switches(model: &PauseModel) -> (u32, usize) {
        let downstream_model = ServiceModel::drop_tail(8);
        let upstream_model = ServiceModel::drop_tail(100);
        let (mut upstream, mut downstream) = (Port::<1>::new(), Port::<1>::new());
        let mut world = World::new();
        let mut ingress = Ingress::default();
        for sequence in 0..100 {
            let handle = world.packets.add(packet(Service::Droppable, 1500, sequence));
            upstream.enqueue(handle, &mut world.context(Time::ZERO, &upstream_model));
        }
        let (mut link, mut on_wire, mut delivered): (Option<Handle>, Option<Handle>, u32) =
            (None, None, 0);
        for step in 0..400 {
            // The second switch sends one packet in three steps. Its memory is free when it has left.
            if step % 3 == 0 {
                let left = on_wire.take();
                on_wire = downstream.dequeue(&mut world.context(Time::ZERO, &downstream_model));
                if let Some(left) = left {
                    delivered += 1;
                    if ingress.leave(0, world.packets.packet(left).wire_bytes, model) {
                        upstream.resume(0);
                    }
                }
            }
            // A packet of the first switch arrives one step later.
            if let Some(arriving) = link.take() {
                let bytes = world.packets.packet(arriving).wire_bytes;
                if ingress.arrive(0, bytes, u32::MAX, model) == Arrival::Stops {
                    upstream.pause(0);
                }
                downstream.enqueue(arriving, &mut world.context(Time::ZERO, &downstream_model));
            }
            // A stopped port still finishes the packet on its wire, and offers no other.
            link = upstream.dequeue(&mut world.context(Time::ZERO, &upstream_model));
            assert!(!(ingress.stopped() != 0 && link.is_some()), "a stopped port sent");
            assert!(!(ingress.stopped() != 0 && upstream.is_backlogged()), "and has an event");
        }
        (delivered, world.drop_list.list().len())
    }

    #[test]
    fn only_a_sender_that_ignores_pauses_loses_packets() {
        assert_eq!(two_switches(&model(5 * 1500, 2 * 1500)), (100, 0));
        let (delivered, dropped) = two_switches(&model(u32::MAX, 0));
        assert!(dropped > 50 && delivered as usize + dropped == 100, "{delivered} {dropped}");
    }
}
