//! Packets that leave a switch by another port than routing chose ([`trimline_switch::detour`]).
//!
//! The decision depends on the queues of the other ports at that instant, so such a switch is coupled
//! (coupled.rs of [`crate::network`]).

use trimline_packet::{Handle, Packets, Time};
use trimline_switch::OutputPort;
use trimline_switch::detour::{Steps, Target};
use trimline_transport::ANY_PATH;

use super::state::{Detours, seen};
use crate::network::{Core, EventSink, Switches, pool_of};
use crate::random::NodeRng;

impl<P: OutputPort> Switches<P> {
    /// Returns whether a port keeps `arriving` packets: it detours none, and returns no header.
    pub(crate) fn keeps_all(&self, core: &Core, port: u32, arriving: u64) -> bool {
        let Some(detours) = &core.detours else { return true };
        let node = &self.ports[port as usize];
        let keeps_headers = detours.keeps_headers(&node.port, arriving, core.framing.header);
        keeps_headers && detours.keeps(port, &node.port, arriving)
    }

    /// Performs an arrival at a switch that may detour the packet. Returns whether the port may act at once.
    #[inline(never)]
    pub(crate) fn detouring_arrive(
        &mut self,
        core: &mut Core,
        sink: &mut (impl EventSink + ?Sized),
        port: u32,
        (now, link): (Time, u32),
        handle: Handle,
    ) -> bool {
        let from_host = link >= core.routes.ports();
        let steps = if from_host { Steps::default() } else { core.arena.steps(handle).further() };
        let (way, steps) = self.way(core, port, link, handle, steps);
        if way != port {
            sink.detoured(&core.arena, port, handle);
        }
        let found = match &core.detours {
            Some(detours) if detours.asks_what_was_found() => {
                let packet = core.arena.packet(handle);
                let found = self.ports[way as usize].port.packets_before(&self.model, packet);
                found.min(u16::MAX.into()) as u16
            }
            Some(_) | None => 0,
        };
        core.arena.set_steps(handle, Steps { found, ..steps });
        let may_act = match core.pauses {
            Some(_) => self.lossless_arrive(core, sink, way, (now, link), handle),
            None => self.enqueue_coupled(core, sink, way, now, handle),
        };
        if way != port {
            sink.touched(way);
        }
        way == port && may_act
    }

    /// Port by which a packet for `port` leaves, and its steps then.
    fn way(
        &self,
        core: &mut Core,
        port: u32,
        link: u32,
        handle: Handle,
        steps: Steps,
    ) -> (u32, Steps) {
        let packet = *core.arena.packet(handle);
        let unchanged = (port, steps);
        let Some(detours) = &mut core.detours else { return unchanged };
        if packet.service.is_link() || !detours.model.applies(&packet, steps) {
            return unchanged;
        }
        let pool = &core.pools[pool_of(&self.model, &core.routes, port)];
        let (model, ports) = (&self.model, &self.ports);
        let is_full = |port: u32| !ports[port as usize].port.has_room(model, &packet, pool);
        let length = |port: u32| ports[port as usize].port.packets_before(model, &packet);
        let seen = |detours: &Detours, port| {
            seen(detours.model.seen, &detours.registers, port, length(port))
        };
        if !detours.model.is_hot(seen(detours, port), || is_full(port)) {
            return unchanged;
        }
        let switch = core.routes.switch_of(port);
        let mut targets = std::mem::take(&mut detours.targets);
        targets.clear();
        targets.extend(core.routes.ports_of(switch).filter(|&target| {
            detours.model.targets.admit(Target {
                is_host: detours.to_host[target as usize],
                is_input: detours.opposite[link as usize] == target,
                is_dead: core.routes.is_dead(target),
                is_full: is_full(target),
                is_own: target == port,
                is_equal_cost: core.routes.are_equally_near(port, target),
            })
        }));
        let candidates = targets.len() as u32;
        let model = detours.model;
        let chosen = {
            // The RNG and the queue lengths are separate fields.
            let held: Vec<u32> = targets.iter().map(|&target| seen(detours, target)).collect();
            let rng = &mut NodeRng { streams: &mut detours.streams, node: switch };
            model.choose(candidates, |place| held[place as usize], rng)
        };
        let chosen = chosen.map(|place| targets[place as usize]);
        detours.targets = targets;
        let Some(way) = chosen.filter(|&way| way != port) else { return unchanged };
        core.counters[port as usize].detoured += 1;
        if packet.header.path != ANY_PATH && !model.targets.equal_cost {
            // Its own path would bring it straight back.
            let mut draw = NodeRng { streams: &mut detours.streams, node: switch };
            core.arena.packet_mut(handle).header.path = core.routes.draw_path(&mut draw);
        }
        (way, steps.detoured())
    }
}

impl Core {
    /// Drops a packet that was detoured to the wrong host. Returns whether this is one.
    pub(crate) fn drops_stray(&mut self, host: u32, handle: Handle) -> bool {
        let Some(detours) = &self.detours else { return false };
        let packet = *self.arena.packet(handle);
        let is_stray = packet.destination.get() != host && !packet.service.is_link();
        if is_stray {
            // As if the port had dropped it.
            let port = detours.opposite[(self.routes.ports() + host) as usize];
            let is_header = packet.service.service().is_header();
            self.counters[port as usize].count_dropped(is_header);
            self.drop_quietly(handle);
        }
        is_stray
    }
}
