//! The oracle: one binary heap of events, ordered by (time, class, tie). No window, no bitmap, no
//! assumption about delays. It can be observed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use trimline_packet::{Handle, Time, TimeDelta};
use trimline_switch::{Fate, OutputPort};

use super::Engine;
use crate::arena::Arena;
use crate::network::{self, Calendar, Network};
use crate::protocol::Protocol;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Arrival,
    /// Departures that no arrival forced, timers and application starts.
    Wake,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: Time,
    class: Class,
    tie: u64,
    unit: u32,
    handle: Handle,
    /// The unit that sent it.
    link: u32,
}

/// Somebody who looks on, event by event, and changes nothing.
pub(crate) trait Observer {
    /// An event of `unit` begins at `now`: the arrival of `arriving`, unless that is none.
    fn begins(&mut self, _arena: &Arena, _unit: u32, _now: Time, _arriving: Handle) {}
    /// The first bit of a packet is on the link of `unit`.
    fn departs(&mut self, _arena: &Arena, _unit: u32, _handle: Handle) {}
    /// The link of `unit` took a packet and loses it.
    fn lost(&mut self, _arena: &Arena, _unit: u32, _handle: Handle) {}
    /// A packet loses its place at `port`.
    fn displaced(&mut self, _arena: &Arena, _port: u32, _handle: Handle, _fate: Fate) {}
    /// A packet that was for `port` leaves by another one.
    fn deflected(&mut self, _arena: &Arena, _port: u32, _handle: Handle) {}
    /// The event is over for `unit`.
    fn ends<E: Protocol, P: OutputPort>(&mut self, _network: &Network<E, P>, _unit: u32) {}
}

/// Nobody looks on.
impl Observer for () {}

/// One heap of all events.
pub(crate) struct Heap<O = ()> {
    events: BinaryHeap<Reverse<Event>>,
    /// The earliest pending wake of each unit.
    wakes: Vec<Time>,
    touched: Vec<u32>,
    seed: u64,
    observer: O,
}

impl<O: Observer> Calendar for Heap<O> {
    fn arrive(&mut self, arena: &mut Arena, unit: u32, at: Time, handle: Handle, link: u32) {
        self.observer.departs(arena, link, handle);
        let tie = network::tie(self.seed, at, link);
        self.events.push(Reverse(Event { at, class: Class::Arrival, tie, unit, handle, link }));
    }
    fn touched(&mut self, port: u32) {
        self.touched.push(port);
    }
    fn displaced(&mut self, arena: &Arena, unit: u32, handle: Handle, fate: Fate) {
        self.observer.displaced(arena, unit, handle, fate);
    }
    fn deflected(&mut self, arena: &Arena, unit: u32, handle: Handle) {
        self.observer.deflected(arena, unit, handle);
    }
    fn lost(&mut self, arena: &Arena, unit: u32, handle: Handle) {
        self.observer.lost(arena, unit, handle);
    }
}

impl<O> Heap<O> {
    /// An engine for a network that has not run yet.
    pub(crate) fn new<E: Protocol, P: OutputPort>(network: &Network<E, P>, observer: O) -> Self {
        let ports = network.routes.ports();
        let mut heap = Heap {
            events: BinaryHeap::new(),
            wakes: vec![Time::NEVER; network.routes.units() as usize],
            touched: Vec::new(),
            seed: network.seed(),
            observer,
        };
        for host in 0..network.routes.hosts() {
            heap.wake(ports + host, network.host_next(host));
        }
        heap
    }

    /// Whoever looked on.
    pub(crate) fn into_observer(self) -> O {
        self.observer
    }

    fn wake(&mut self, unit: u32, at: Time) {
        if at < self.wakes[unit as usize] {
            self.wakes[unit as usize] = at;
            let tie = u64::from(unit);
            self.events.push(Reverse(Event {
                at,
                class: Class::Wake,
                tie,
                unit,
                handle: Handle::NONE,
                link: unit,
            }));
        }
    }
}

impl<E: Protocol, O: Observer, P: OutputPort> Engine<E, P> for Heap<O> {
    fn run_until(&mut self, network: &mut Network<E, P>, limit: Time) {
        let ports = network.routes.ports();
        while let Some(&Reverse(event)) = self.events.peek() {
            if event.at >= limit {
                break;
            }
            self.events.pop();
            let unit = event.unit;
            let just_after = event.at + TimeDelta::from_ps(1);
            if event.class == Class::Wake && self.wakes[unit as usize] == event.at {
                self.wakes[unit as usize] = Time::NEVER;
            }
            self.observer.begins(&network.arena, unit, event.at, event.handle);
            let next = if unit < ports {
                // Of a coupled switch the other ports come first, too: they are touched.
                let is_coupled = network.couples_ports();
                if is_coupled {
                    network.switch_advance(self, network.routes.switch_of(unit), just_after);
                } else {
                    network.port_advance(self, unit, just_after);
                }
                match event.class {
                    Class::Arrival if is_coupled => {
                        let arriving = (event.handle, event.link);
                        network.coupled_arrive(self, unit, event.at, arriving);
                    }
                    Class::Arrival => network.port_arrive(self, unit, event.at, event.handle),
                    Class::Wake => {}
                }
                network.port_wake(unit)
            } else {
                match event.class {
                    Class::Arrival => {
                        network.host_arrive(self, unit - ports, event.at, event.handle);
                    }
                    Class::Wake => network.host_advance(self, unit - ports, just_after),
                }
                network.host_next(unit - ports)
            };
            self.observer.ends(network, unit);
            if network.has_notices {
                for notice in network.take_notices() {
                    let unit = network.expect(notice);
                    self.wake(unit, notice.at);
                }
            }
            if next != Time::NEVER {
                self.wake(unit, next);
            }
            while let Some(port) = self.touched.pop() {
                self.observer.ends(network, port);
                let next = network.port_wake(port);
                if next != Time::NEVER {
                    self.wake(port, next);
                }
            }
        }
    }

    fn disturb(&mut self, _network: &mut Network<E, P>, unit: u32, at: Time) {
        self.wake(unit, at);
    }
}
