//! Priority flow control across two switches: the ingress of the second counts what each input
//! holds of its memory and pauses the port of the first before it runs out.

use trimline_packet::{Handle, Packets, Service, Time};

use crate::testing::{World, packet};
use crate::{Port, ServiceModel};

/// What the upstream port is told. On a wire a frame of 64 bytes, ahead of all queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    Pause,
    Resume,
}

/// What one input has in the switch's memory, whatever port it waits at.
struct Ingress {
    held: u32,
    pause_above: u32,
    resume_below: u32,
    paused: bool,
}

impl Ingress {
    fn arrive(&mut self, bytes: u32) -> Option<Signal> {
        self.held += bytes;
        let pause = !self.paused && self.held > self.pause_above;
        self.paused |= pause;
        pause.then_some(Signal::Pause)
    }

    fn leave(&mut self, bytes: u32) -> Option<Signal> {
        self.held -= bytes;
        let resume = self.paused && self.held < self.resume_below;
        self.paused &= !resume;
        resume.then_some(Signal::Resume)
    }
}

/// The first switch's port to the second and the second's port to the host, which sends one packet
/// in the time of three. Gives what arrived at the host and what was dropped.
fn run(pause_above: u32) -> (u32, usize) {
    let model = ServiceModel::drop_tail(8);
    let upstream_model = ServiceModel::drop_tail(100);
    let (mut upstream, mut downstream) = (Port::<1>::new(), Port::<1>::new());
    let mut world = World::new();
    let mut ingress = Ingress { held: 0, pause_above, resume_below: 3 * 1500, paused: false };
    for sequence in 0..100 {
        let handle = world.packets.add(packet(Service::Droppable, 1500, sequence));
        upstream.enqueue(handle, &mut world.around(Time::ZERO, &upstream_model));
    }
    let (mut link, mut on_wire, mut delivered): (Option<Handle>, Option<Handle>, u32) =
        (None, None, 0);
    for step in 0..400 {
        let mut signals = [None; 2];
        // The second switch sends one packet in three steps. Its memory is free when it has left.
        if step % 3 == 0 {
            let left = on_wire.take();
            on_wire = downstream.dequeue(&mut world.around(Time::ZERO, &model));
            if let Some(left) = left {
                delivered += 1;
                // Resume is a follow-up of the dequeue that caused it.
                signals[0] = ingress.leave(u32::from(world.packets.packet(left).wire_bytes));
            }
        }
        // What the first switch sent arrives one step later.
        if let Some(arriving) = link.take() {
            signals[1] = ingress.arrive(u32::from(world.packets.packet(arriving).wire_bytes));
            downstream.enqueue(arriving, &mut world.around(Time::ZERO, &model));
        }
        for signal in signals.into_iter().flatten() {
            match signal {
                Signal::Pause => upstream.pause(0),
                Signal::Resume => upstream.resume(0),
            }
        }
        // A paused port still finishes what is on its wire, and has no packet to offer.
        link = upstream.dequeue(&mut world.around(Time::ZERO, &upstream_model));
        assert!(!(ingress.paused && link.is_some()), "a paused port sent");
        assert!(!(ingress.paused && upstream.is_backlogged()), "a paused port has an event");
    }
    (delivered, world.displaced.list().len())
}

#[test]
fn pause_loses_nothing() {
    assert_eq!(run(5 * 1500), (100, 0));
}

#[test]
fn without_pause_the_queue_overflows() {
    let (delivered, dropped) = run(u32::MAX);
    assert!(dropped > 50 && delivered as usize + dropped == 100, "{delivered} {dropped}");
}
