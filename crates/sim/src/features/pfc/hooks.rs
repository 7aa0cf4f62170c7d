//! Priority flow control (IEEE 802.1Qbb) at ports and hosts: inputs of switches pause the senders of their links.
//!
//! - A frame takes wire time on the reverse direction of the link, ahead of the queues there and behind the packet on
//!   the wire. It holds the state at its departure, so that two changes before that are one frame.
//! - A pause expires. While a class stays stopped, its sender gets another frame after half that time.
//! - A host's transport may not send a stopped class ([`trimline_transport::Allowed`]).

use trimline_packet::{ByteCount, Handle, Packets, Pause, Time, TimeDelta};
use trimline_switch::{Arrival, Disposition, OutputPort};

use super::state::classes_of;
use crate::network::{Core, EventSink, LinkClass, Switches, Transmission, Transmitter, pool_of};
use crate::topology::LinkId;

/// Returns how long a frame stops traffic on a link of this class.
fn lasts(class: &LinkClass, pause: Pause) -> TimeDelta {
    class.rate.transmission(ByteCount::new(Pause::QUANTUM_BITS / 8 * u64::from(pause.quanta)))
}

impl<P: OutputPort> Switches<P> {
    /// Performs an arrival over a link at a port whose inputs are counted. Returns whether the port may act at once.
    #[inline(never)]
    pub(crate) fn lossless_arrive(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        port: u32,
        (now, link): (Time, u32),
        handle: Handle,
    ) -> bool {
        let packet = core.arena.packet(handle);
        if let Some(pause) = Pause::of(packet) {
            core.consume(handle);
            self.notify_port(core, port, pause, now);
            return true;
        }
        let class = self.ports[port as usize].port.classify(&self.model, packet);
        let bytes = packet.wire_bytes;
        let pauses = core.pauses.as_mut().expect("a network with pauses");
        let input = pauses.opposite[link as usize];
        match pauses.arrives(handle, input, class, bytes, now) {
            Arrival::Counted => {}
            Arrival::Stops => sink.touched(input),
            Arrival::NoRoom => {
                sink.disposed(&core.arena, port, handle, Disposition::Dropped);
                let is_header = core.arena.packet(handle).service.service().is_header();
                core.counters[port as usize].count_dropped(is_header);
                core.drop_quietly(handle);
                return false;
            }
        }
        // Behind a pause frame on the wire the packet comes next.
        let is_frame = !self.ports[port as usize].port.is_sending();
        self.enqueue_coupled(core, sink, port, now, handle) || is_frame
    }

    /// Performs the events of [`Switches::coupled_act`] where inputs are counted.
    #[inline(never)]
    pub(crate) fn lossless_act(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        port: u32,
        now: Time,
    ) {
        let node = &mut self.ports[port as usize];
        let is_free = node.link.busy_until <= now;
        let pauses = core.pauses.as_mut().expect("a network with pauses");
        if is_free && node.port.is_sending() {
            let pool = pool_of(&self.model, &core.routes, port);
            node.port.release(&self.model, &mut core.pools[pool]);
            if let Some(input) = pauses.leaves(port, now) {
                sink.touched(input);
            }
        }
        let has_frame = pauses.has_due(port) && {
            let sender = &mut pauses.senders[port as usize];
            for class in sender.ended(now) {
                sender.go_on(class, now);
                node.resume(class, now);
            }
            let input = &mut pauses.inputs[port as usize];
            if input.renew_at <= now {
                input.renew_at = Time::NEVER;
                let stopped = input.ingress.stopped();
                classes_of(stopped).for_each(|class| input.notify(class, now));
            }
            pauses.update(port);
            pauses.inputs[port as usize].pending != 0
        };
        if !is_free {
            return;
        }
        if has_frame {
            self.send_pause(core, sink, port, now);
        } else if node.next_departure() <= now {
            self.depart::<true>(core, sink, port, now);
        }
    }

    /// Sends a port's present pauses to the sender at the other end of its link.
    fn send_pause(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        port: u32,
        now: Time,
    ) {
        let pauses = core.pauses.as_mut().expect("a network with pauses");
        let next = pauses.opposite[port as usize];
        let (frame, before) = pauses.frame(port, now);
        let packet = frame.to_packet();
        let from = Transmission::new(port, before | Transmission::PAUSE);
        let link = &mut self.ports[port as usize].link;
        core.count_created(&packet);
        core.port_hops += 1;
        let handle = core.arena.insert(packet);
        core.begin(sink, link, (from, next), (now, handle, packet.wire_bytes));
    }

    fn notify_port(&mut self, core: &mut Core, port: u32, pause: Pause, now: Time) {
        let node = &mut self.ports[port as usize];
        let lasts = lasts(&core.classes[node.link.class as usize], pause);
        let pauses = core.pauses.as_mut().expect("a network with pauses");
        let sender = &mut pauses.senders[port as usize];
        sender.counters.received += 1;
        for class in classes_of(pause.classes) {
            if pause.stopped >> class & 1 == 0 {
                sender.go_on(class, now);
                node.resume(class, now);
            } else if sender.stop(class, now, now + lasts) {
                node.port.pause(class);
            }
        }
        pauses.update(port);
    }
}

impl Core {
    fn consume(&mut self, handle: Handle) {
        let packet = *self.arena.packet(handle);
        self.count_delivered(&packet);
        self.arena.release(handle);
    }

    /// Takes a packet from a host's link if it is a pause frame, which the transport does not see. Returns whether it
    /// is.
    #[cold]
    pub(crate) fn host_takes_pause(
        &mut self,
        (host, link): (u32, &Transmitter),
        now: Time,
        handle: Handle,
    ) -> bool {
        let Some(pause) = Pause::of(self.arena.packet(handle)) else { return false };
        self.consume(handle);
        let lasts = lasts(&self.classes[link.class as usize], pause);
        let sender = self.routes.ports() + host;
        let pauses = self.pauses.as_mut().expect("a network with pauses");
        pauses.notify_host(sender, pause, lasts, now);
        true
    }

    /// Forgets pauses that the ends of a failed link sent or received over it. Returns the stopped classes of its
    /// sender, a bit each; `None` without flow control.
    pub(crate) fn forget_pauses(&mut self, link: LinkId, now: Time) -> Option<u8> {
        let pauses = self.pauses.as_mut()?;
        let sender = &mut pauses.senders[link.index()];
        let stopped = sender.stopped;
        classes_of(stopped).for_each(|class| sender.go_on(class, now));
        pauses.update(link.node());
        pauses.disturbed.push(link.node());
        let receiver = pauses.opposite[link.index()];
        pauses.forget_input(receiver);
        Some(stopped)
    }
}
