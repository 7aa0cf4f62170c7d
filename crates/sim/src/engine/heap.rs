//! The oracle: one binary heap of events, ordered by (time, class, tie). It has no window, no bitmap, and assumes
//! nothing about delays. A recorder may record each event; it changes nothing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use trimline_metrics::Timeline;
use trimline_packet::{Handle, Packet, Time};
use trimline_switch::Disposition;

use super::{Engine, Network};
use crate::arena::Arena;
use crate::features::timeline::state::Recorder;
use crate::network::{EventSink, Ties, Transmission};

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
    node: u32,
    handle: Handle,
    from: Transmission,
}

pub(crate) struct Heap {
    events: BinaryHeap<Reverse<Event>>,
    /// Per node: the earliest pending wake.
    wakes: Vec<Time>,
    touched: Vec<u32>,
    ties: Ties,
    recorder: Option<Recorder>,
}

impl EventSink for Heap {
    fn arrive(
        &mut self,
        arena: &mut Arena,
        node: u32,
        at: Time,
        handle: Handle,
        from: Transmission,
    ) {
        if let Some(recorder) = &mut self.recorder {
            recorder.departs(arena, from.link(), handle);
        }
        let tie = self.ties.tie(from);
        self.events.push(Reverse(Event { at, class: Class::Arrival, tie, node, handle, from }));
    }
    fn touched(&mut self, port: u32) {
        self.touched.push(port);
    }
    fn disposed(&mut self, arena: &Arena, node: u32, handle: Handle, disposition: Disposition) {
        if let Some(recorder) = &mut self.recorder {
            recorder.disposed(arena, node, handle, disposition);
        }
    }
    fn quenched(&mut self, port: u32, packet: &Packet) {
        if let Some(recorder) = &mut self.recorder {
            recorder.quenched(port, packet);
        }
    }
    fn detoured(&mut self, arena: &Arena, node: u32, handle: Handle) {
        if let Some(recorder) = &mut self.recorder {
            recorder.detoured(arena, node, handle);
        }
    }
    fn lost(&mut self, arena: &Arena, node: u32, handle: Handle) {
        if let Some(recorder) = &mut self.recorder {
            recorder.lost(arena, node, handle);
        }
    }
}

impl Heap {
    pub(crate) fn new(network: &Network, recorder: Option<Recorder>) -> Heap {
        let ports = network.core.routes.ports();
        let mut heap = Heap {
            events: BinaryHeap::new(),
            wakes: vec![Time::NEVER; network.core.routes.nodes() as usize],
            touched: Vec::new(),
            ties: network.core.ties(),
            recorder,
        };
        for host in 0..network.core.routes.hosts() {
            heap.wake(ports + host, network.hosts.wake(&network.core, host));
        }
        heap
    }

    pub(crate) fn into_timeline(self) -> Timeline {
        self.recorder.map_or_else(Timeline::default, Recorder::into_timeline)
    }

    fn ends(&mut self, network: &Network, node: u32) {
        if let Some(recorder) = &mut self.recorder {
            recorder.ends(network, node);
        }
    }

    fn wake(&mut self, node: u32, at: Time) {
        if at < self.wakes[node as usize] {
            self.wakes[node as usize] = at;
            let tie = u64::from(node);
            self.events.push(Reverse(Event {
                at,
                class: Class::Wake,
                tie,
                node,
                handle: Handle::NONE,
                from: Transmission::NONE,
            }));
        }
    }
}

impl Engine for Heap {
    fn run_until(&mut self, network: &mut Network, limit: Time) {
        let ports = network.core.routes.ports();
        while let Some(&Reverse(event)) = self.events.peek() {
            if event.at >= limit {
                break;
            }
            self.events.pop();
            let node = event.node;
            if event.class == Class::Wake && self.wakes[node as usize] == event.at {
                self.wakes[node as usize] = Time::NEVER;
            }
            if let Some(recorder) = &mut self.recorder {
                recorder.begins(&network.core.arena, node, event.at, event.handle);
            }
            let Network { core, switches, hosts } = &mut *network;
            let is_arrival = event.class == Class::Arrival;
            let next = match node.checked_sub(ports) {
                None => {
                    let arriving = is_arrival.then_some((event.handle, event.from.link()));
                    switches.event(core, self, node, event.at, arriving)
                }
                Some(host) => {
                    let arriving = is_arrival.then_some(event.handle);
                    hosts.event(core, self, host, event.at, arriving)
                }
            };
            self.ends(network, node);
            if network.core.has_notices {
                for notice in network.core.take_notices() {
                    let node = network.expect(notice);
                    self.wake(node, notice.at);
                }
            }
            if next != Time::NEVER {
                self.wake(node, next);
            }
            while let Some(port) = self.touched.pop() {
                self.ends(network, port);
                let next = network.switches.wake(&network.core, port);
                if next != Time::NEVER {
                    self.wake(port, next);
                }
            }
        }
    }

    fn disturb(&mut self, _network: &mut Network, node: u32, at: Time) {
        self.wake(node, at);
    }
}
