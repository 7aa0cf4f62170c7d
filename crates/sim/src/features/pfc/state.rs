//! State of senders and inputs with priority flow control (IEEE 802.1Qbb).
//!
//! A class is a queue of the switch's ports. [`trimline_switch::Ingress`] has the counting and the thresholds,
//! [`crate::network`] the effects on ports and hosts.

use std::mem;

use trimline_packet::{BitRate, ByteCount, Handle, Packet, Pause, ServiceClass, Time, TimeDelta};
use trimline_switch::{Arrival, CLASSES, Ingress, PauseModel};
use trimline_transport::Allowed;

use crate::links::{LinkChange, Links, Step};
use crate::plan::{Lossless, headroom_of};
use crate::table::Shared;
use crate::topology::{LinkId, LinkSpec, Routes};

/// Inputs that are counted, and the longest packet that they can receive.
#[derive(Clone, Copy)]
pub(crate) struct LosslessInputs {
    pub(crate) lossless: Lossless,
    pub(crate) largest_packet: u16,
}

/// A sender's pauses, and their counters.
#[derive(Clone)]
pub(crate) struct Sender {
    /// By class: end of the pause.
    until: [Time; CLASSES],
    pub(crate) stopped: u8,
    /// The time since which any class is stopped.
    since: Time,
    /// By class: the time since which it is stopped without a break.
    class_since: [Time; CLASSES],
    pub(crate) counters: PauseCounters,
}

impl Sender {
    const FREE: Sender = Sender {
        until: [Time::NEVER; CLASSES],
        stopped: 0,
        since: Time::ZERO,
        class_since: [Time::ZERO; CLASSES],
        counters: PauseCounters { received: 0, stopped_for: TimeDelta::ZERO },
    };

    #[inline]
    fn first_end(&self) -> Time {
        match self.stopped {
            0 => Time::NEVER,
            _ => self.until.into_iter().min().unwrap_or(Time::NEVER),
        }
    }

    /// Stops a class. Returns whether it was not stopped before.
    pub(crate) fn stop(&mut self, class: usize, now: Time, until: Time) -> bool {
        self.until[class] = until;
        if self.stopped == 0 {
            self.since = now;
        }
        let is_new = self.stopped >> class & 1 == 0;
        if is_new {
            self.class_since[class] = now;
        }
        self.stopped |= 1 << class;
        is_new
    }

    pub(crate) fn go_on(&mut self, class: usize, now: Time) {
        self.until[class] = Time::NEVER;
        let before = self.stopped;
        self.stopped &= !(1 << class);
        if before != 0 && self.stopped == 0 {
            self.counters.stopped_for = self.counters.stopped_for + (now - self.since);
        }
    }

    /// Time since which a class is stopped without a break, if it is: none of its packets began to leave since then.
    pub(crate) fn stopped_since(&self, class: usize) -> Option<Time> {
        (self.stopped >> class & 1 != 0).then(|| self.class_since[class])
    }

    pub(crate) fn ended(&self, now: Time) -> impl Iterator<Item = usize> + use<> {
        let until = self.until;
        (0..CLASSES).filter(move |&class| until[class] <= now)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PauseCounters {
    pub(crate) received: u64,
    /// Time for which any class was stopped.
    pub(crate) stopped_for: TimeDelta,
}

/// A packet's share of the memory of an input.
#[derive(Clone, Copy, Default)]
struct Counted {
    input: u32,
    class: u8,
    /// Zero for a packet that does not count.
    bytes: u16,
}

/// The receiving side of a port's link.
#[derive(Clone)]
pub(crate) struct Input {
    pub(crate) ingress: Ingress,
    /// Memory above XOFF: for the packet that crosses it, and the headroom.
    above_xoff: u32,
    /// Bytes of a class from which on it may cross XOFF within a lookahead.
    restless_from: u32,
    /// The classes that may cross XOFF, or are stopped, a bit each.
    restless: u8,
    /// The classes with changes that the sender does not know yet, a bit each, since `pending_since`.
    pub(crate) pending: u8,
    pending_since: Time,
    /// The time at which the next frame must renew the pauses.
    pub(crate) renew_at: Time,
    /// Half of a pause at the sender's maximum rate.
    renew_after: TimeDelta,
    /// Frames sent to the sender.
    sent: u64,
}

impl Input {
    /// Updates a class after a change. Returns whether the input has become calm or ceased to be.
    #[inline]
    fn has_turned(&mut self, class: usize) -> bool {
        let is_restless = self.ingress.held(class) >= self.restless_from
            || self.ingress.stopped() >> class & 1 != 0;
        let before = self.restless;
        self.restless = before & !(1 << class) | u8::from(is_restless) << class;
        (before == 0) != (self.restless == 0)
    }

    pub(crate) fn notify(&mut self, class: usize, now: Time) {
        if self.pending == 0 {
            self.pending_since = now;
        }
        self.pending |= 1 << class;
    }

    /// Returns when the port must act for its input, with a free transmitter from `free_at` on.
    #[inline]
    fn next(&self, free_at: Time) -> Time {
        let notified_at = match self.pending {
            0 => Time::NEVER,
            _ => self.pending_since.max(free_at),
        };
        notified_at.min(self.renew_at)
    }
}

pub(crate) struct Pauses {
    model: PauseModel,
    pub(crate) senders: Shared<Sender>,
    /// By port: the input from the other end of its link.
    pub(crate) inputs: Shared<Input>,
    /// By port: whether its sender is stopped, or its input has a frame to send or to renew. Most ports have none of
    /// these, so that their packets leave the two tables above alone.
    has_due: Shared<bool>,
    /// By port: the packet on its wire.
    on_wire: Shared<Counted>,
    /// By node: the sender on the same link in the other direction.
    pub(crate) opposite: Shared<u32>,
    switch_of: Shared<u32>,
    /// By switch: inputs that may cross XOFF or XON within a lookahead.
    restless: Shared<u32>,
    /// By handle: the packet's share of the input by which it came.
    came_by: Vec<Counted>,
    /// By class: the packet classes that hosts may not send while it is stopped.
    of_hosts: [u8; CLASSES],
    /// Nodes whose pauses were forgotten between two events.
    pub(crate) disturbed: Vec<u32>,
}

impl Pauses {
    /// Initial state of a network. `queue_of` gives the class of packets.
    pub(crate) fn new(
        lossless: Lossless,
        (largest_packet, lookahead): (u16, TimeDelta),
        routes: &Routes,
        links: &Links,
        queue_of: &dyn Fn(ServiceClass) -> usize,
    ) -> Pauses {
        let Lossless { xoff, xon, headroom, classes } = lossless;
        let model = PauseModel { xoff, xon, lossless: classes, quanta: u16::MAX };
        let opposite: Vec<u32> =
            (0..routes.nodes()).map(|node| routes.reverse(LinkId::new(node)).node()).collect();
        let mut fastest: Vec<_> = (0..routes.nodes()).map(|node| routes.link(node).spec).collect();
        for step in links.steps() {
            if let Step::Change(link, LinkChange::Rate(rate)) = step {
                let spec = &mut fastest[link.index()];
                spec.rate = spec.rate.max(rate);
            }
        }
        let input = |port: u32| {
            let spec = fastest[opposite[port as usize] as usize];
            let back = routes.link(port).spec.delay + links.max_delay();
            let spec = LinkSpec { delay: spec.delay + links.max_delay(), ..spec };
            let needed = headroom_of(&spec, back, largest_packet);
            // A lookahead's bytes, and the packet whose last bit is the first of these bytes.
            let soon = spec.rate.bytes_in(lookahead).get() + 1 + u64::from(largest_packet);
            let restless_from = (u64::from(model.xoff) + 1).saturating_sub(soon) as u32;
            let pause = spec.rate.transmission(ByteCount::new(64 * u64::from(model.quanta)));
            Input {
                ingress: Ingress::default(),
                above_xoff: headroom
                    .unwrap_or_else(|| u32::try_from(needed).unwrap_or(u32::MAX))
                    .saturating_add(u32::from(largest_packet)),
                restless_from,
                // If one lookahead may bring more than XOFF, no input is ever calm.
                restless: if restless_from == 0 { model.lossless } else { 0 },
                pending: 0,
                pending_since: Time::ZERO,
                renew_at: Time::NEVER,
                renew_after: TimeDelta::from_ps(pause.as_ps() / 2),
                sent: 0,
            }
        };
        let mut of_hosts = [0; CLASSES];
        for service in ServiceClass::all() {
            of_hosts[queue_of(service)] |= 1 << class_of_hosts(service);
        }
        let inputs: Shared<Input> = (0..routes.ports()).map(input).collect();
        let mut restless = vec![0; routes.switches()];
        for port in 0..routes.ports() {
            let is_restless = inputs[port as usize].restless != 0;
            restless[routes.switch_of(port) as usize] += u32::from(is_restless);
        }
        Pauses {
            model,
            senders: vec![Sender::FREE; routes.nodes() as usize].into(),
            inputs,
            has_due: vec![false; routes.ports() as usize].into(),
            on_wire: vec![Counted::default(); routes.ports() as usize].into(),
            opposite: opposite.into(),
            switch_of: (0..routes.ports()).map(|port| routes.switch_of(port)).collect(),
            restless: restless.into(),
            came_by: Vec::new(),
            of_hosts,
            disturbed: Vec::new(),
        }
    }

    /// Returns another view of these tables.
    ///
    /// # Safety
    /// See [`crate::network::Core::view`].
    pub(crate) unsafe fn view(&self) -> Pauses {
        // SAFETY: promised by the caller.
        unsafe {
            Pauses {
                model: self.model,
                senders: self.senders.view(),
                inputs: self.inputs.view(),
                has_due: self.has_due.view(),
                on_wire: self.on_wire.view(),
                opposite: self.opposite.view(),
                switch_of: self.switch_of.view(),
                restless: self.restless.view(),
                came_by: Vec::new(),
                of_hosts: self.of_hosts,
                disturbed: Vec::new(),
            }
        }
    }

    /// Returns when a port must act for its input or an expiring pause, with a free transmitter from `free_at` on.
    #[inline]
    pub(crate) fn next(&self, port: u32, free_at: Time) -> Time {
        if !self.has_due(port) {
            return Time::NEVER;
        }
        self.first_end(port).min(self.inputs[port as usize].next(free_at))
    }

    /// Returns whether a port's sender is stopped, or its input has a frame to send or to renew.
    #[inline]
    pub(crate) fn has_due(&self, port: u32) -> bool {
        self.has_due[port as usize]
    }

    /// Updates [`Pauses::has_due`] after a change of a node's sender or input.
    #[cold]
    pub(crate) fn update(&mut self, node: u32) {
        let Some(has_due) = self.has_due.find_mut(node as usize) else { return };
        let input = &self.inputs[node as usize];
        let is_due = input.pending != 0 || input.renew_at < Time::NEVER;
        *has_due = is_due || self.senders[node as usize].stopped != 0;
    }

    /// Counts a packet that comes by an input. Returns the result.
    #[inline]
    pub(crate) fn arrives(
        &mut self,
        handle: Handle,
        input: u32,
        class: usize,
        bytes: u16,
        now: Time,
    ) -> Arrival {
        if self.came_by.len() <= handle.index() {
            self.came_by.resize(handle.index() + 1, Counted::default());
        }
        let is_counted = self.model.lossless >> class & 1 != 0;
        self.came_by[handle.index()] =
            Counted { input, class: class as u8, bytes: if is_counted { bytes } else { 0 } };
        if !is_counted {
            return Arrival::Counted;
        }
        let at = &mut self.inputs[input as usize];
        let arrival = at.ingress.arrive(class, bytes, at.above_xoff, &self.model);
        if arrival == Arrival::Stops {
            at.notify(class, now);
        }
        if at.has_turned(class) {
            self.turn(input);
        }
        if arrival == Arrival::Stops {
            self.update(input);
        }
        arrival
    }

    /// Updates the switch of an input that turned calm or restless.
    #[cold]
    fn turn(&mut self, input: u32) {
        let restless = &mut self.restless[self.switch_of[input as usize] as usize];
        *restless = match self.inputs[input as usize].restless {
            0 => *restless - 1,
            _ => *restless + 1,
        };
    }

    /// Returns whether no input of a switch can cross XOFF or XON within a lookahead.
    #[inline]
    pub(crate) fn is_calm(&self, switch: u32) -> bool {
        self.restless[switch as usize] == 0
    }

    /// Forgets the frames of a port's input, after its link has failed.
    pub(crate) fn forget_input(&mut self, port: u32) {
        let Some(input) = self.inputs.find_mut(port as usize) else { return };
        input.ingress.forget();
        (input.pending, input.renew_at) = (0, Time::NEVER);
        let turns = (0..CLASSES).filter(|&class| input.has_turned(class)).count();
        if turns % 2 != 0 {
            self.turn(port);
        }
        self.update(port);
        self.disturbed.push(port);
    }

    #[inline]
    pub(crate) fn departs(&mut self, port: u32, handle: Handle) {
        self.on_wire[port as usize] = self.came_by[handle.index()];
    }

    /// Records that a packet's last bit has left. Returns the input whose sender must be notified, if any.
    #[inline]
    pub(crate) fn leaves(&mut self, port: u32, now: Time) -> Option<u32> {
        let Counted { input, class, bytes } = mem::take(&mut self.on_wire[port as usize]);
        if bytes == 0 {
            return None;
        }
        let at = &mut self.inputs[input as usize];
        let resumes = at.ingress.leave(usize::from(class), bytes, &self.model);
        if resumes {
            at.notify(usize::from(class), now);
        }
        if at.has_turned(usize::from(class)) {
            self.turn(input);
        }
        if resumes {
            self.update(input);
        }
        resumes.then_some(input)
    }

    /// Frame with the present state of a port's input, and the number of earlier frames. It renews the pauses of all
    /// stopped classes, whichever has changed: they have one time of renewal.
    pub(crate) fn frame(&mut self, port: u32, now: Time) -> (Pause, u64) {
        let at = &mut self.inputs[port as usize];
        let stopped = at.ingress.stopped();
        let classes = mem::take(&mut at.pending) | stopped;
        at.renew_at = match stopped {
            0 => Time::NEVER,
            _ => now + at.renew_after,
        };
        let before = at.sent;
        at.sent += 1;
        self.update(port);
        (Pause { classes, stopped, quanta: self.model.quanta }, before)
    }

    /// Port by whose input a waiting packet came.
    pub(crate) fn input_of(&self, handle: Handle) -> u32 {
        self.came_by[handle.index()].input
    }

    /// Maximum duration of a pause on a link of this rate.
    pub(crate) fn longest(&self, rate: BitRate) -> TimeDelta {
        let bits = Pause::QUANTUM_BITS * u64::from(self.model.quanta);
        rate.transmission(ByteCount::new(bits / 8))
    }

    #[inline]
    pub(crate) fn allowed(&self, node: u32) -> Allowed {
        match self.senders[node as usize].stopped {
            0 => Allowed::ALL,
            stopped => {
                let closed = classes_of(stopped);
                Allowed::from_bits(!closed.fold(0, |bits, class| bits | self.of_hosts[class]))
            }
        }
    }

    #[inline]
    pub(crate) fn first_end(&self, node: u32) -> Time {
        self.senders[node as usize].first_end()
    }

    pub(crate) fn end_at_host(&mut self, node: u32, now: Time) {
        let sender = &mut self.senders[node as usize];
        sender.ended(now).for_each(|class| sender.go_on(class, now));
    }

    pub(crate) fn notify_host(&mut self, node: u32, pause: Pause, lasts: TimeDelta, now: Time) {
        let sender = &mut self.senders[node as usize];
        sender.counters.received += 1;
        for class in (0..CLASSES).filter(|class| pause.classes >> class & 1 != 0) {
            match pause.stopped >> class & 1 {
                0 => sender.go_on(class, now),
                _ => {
                    sender.stop(class, now, now + lasts);
                }
            }
        }
    }

    /// Frames that a node has sent over its link, and its counters of received ones.
    pub(crate) fn counters(&self, node: u32, now: Time) -> (u64, PauseCounters) {
        let sender = &self.senders[node as usize];
        let mut counters = sender.counters;
        if sender.stopped != 0 {
            counters.stopped_for = counters.stopped_for + (now - sender.since);
        }
        let sent = self.inputs.find(node as usize).map_or(0, |input| input.sent);
        (sent, counters)
    }
}

/// Class of a service's packets in a host's NIC.
fn class_of_hosts(service: ServiceClass) -> u8 {
    let pause = Pause { classes: 0, stopped: 0, quanta: 0 };
    Packet { service, ..pause.to_packet() }.class()
}

/// Returns the classes of a mask, a bit each.
pub(crate) fn classes_of(bits: u8) -> impl Iterator<Item = usize> {
    (0..CLASSES).filter(move |class| bits >> class & 1 != 0)
}
