//! The oracle: one binary heap of events, ordered by (time, class, tie). No window, no bitmap, no
//! assumption about delays.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use trimline_packet::{Handle, Time, TimeDelta};

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
}

/// One heap of all events.
pub(crate) struct Heap {
    events: BinaryHeap<Reverse<Event>>,
    /// The earliest pending wake of each unit.
    wakes: Vec<Time>,
    returned_into: Vec<u32>,
    seed: u64,
}

impl Calendar for Heap {
    fn arrive(&mut self, _arena: &mut Arena, unit: u32, at: Time, handle: Handle, link: u32) {
        let tie = network::tie(self.seed, at, link);
        self.events.push(Reverse(Event { at, class: Class::Arrival, tie, unit, handle }));
    }
    fn returned_into(&mut self, port: u32) {
        self.returned_into.push(port);
    }
}

impl Heap {
    /// An engine for a network that has not run yet.
    pub(crate) fn new<E: Protocol, const Q: usize>(network: &Network<E, Q>) -> Heap {
        let ports = network.routes.ports();
        let mut heap = Heap {
            events: BinaryHeap::new(),
            wakes: vec![Time::NEVER; network.routes.units() as usize],
            returned_into: Vec::new(),
            seed: network.seed(),
        };
        for host in 0..network.routes.hosts() {
            heap.wake(ports + host, network.host_next(host));
        }
        heap
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
            }));
        }
    }
}

impl<E: Protocol, const Q: usize> Engine<E, Q> for Heap {
    fn run_until(&mut self, network: &mut Network<E, Q>, limit: Time) {
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
            let next = if unit < ports {
                network.port_advance(self, unit, just_after);
                if event.class == Class::Arrival {
                    network.port_arrive(self, unit, event.at, event.handle);
                }
                network.port_next(unit)
            } else {
                match event.class {
                    Class::Arrival => {
                        network.host_arrive(self, unit - ports, event.at, event.handle);
                    }
                    Class::Wake => network.host_advance(self, unit - ports, just_after),
                }
                network.host_next(unit - ports)
            };
            if next != Time::NEVER {
                self.wake(unit, next);
            }
            while let Some(port) = self.returned_into.pop() {
                let next = network.port_next(port);
                if next != Time::NEVER {
                    self.wake(port, next);
                }
            }
        }
    }
}
