//! The ports and hosts of a run as engines drive them. Each implementation is compiled for one kind of port or one
//! transport. A call handles many nodes, or one event of the heap engine; there is none per packet within a window.

use trimline_packet::{Handle, Time, TimeDelta};
use trimline_switch::OutputPort;

use super::runner::Runner;
use crate::network::{self, Core, EventSink, HostTable, Hosts, SwitchTable, Switches};
use crate::protocol::Protocol;

pub(crate) type Network = network::Network<dyn SwitchNodes, dyn HostNodes>;

pub(crate) trait SwitchNodes: SwitchTable {
    /// Performs the events before `limit` of ports among the first `count` nodes of `runner`. Returns the first host's
    /// place.
    fn work(&mut self, core: &mut Core, runner: &mut Runner, count: usize, limit: Time) -> usize;
    /// Performs arrivals before `limit` at ports that have not run for them yet.
    fn catch_up(&mut self, core: &mut Core, runner: &mut Runner, ports: &[u32], limit: Time);
    /// Performs a port's own events up to `now`, then an arrival (packet and link). Returns when the port must run
    /// next.
    fn event(
        &mut self,
        core: &mut Core,
        sink: &mut dyn EventSink,
        port: u32,
        now: Time,
        arriving: Option<(Handle, u32)>,
    ) -> Time;
    /// Returns when a port must run although nothing arrives.
    fn wake(&self, core: &Core, port: u32) -> Time;
    /// Returns another view of these ports.
    ///
    /// # Safety
    /// See [`Core::view`].
    unsafe fn view(&self) -> Box<dyn SwitchNodes>;
}

pub(crate) trait HostNodes: HostTable {
    /// Performs the events before `limit` of hosts: `runner`'s nodes from the place `first` to `count`.
    fn work(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        first_and_count: (usize, usize),
        limit: Time,
    );
    /// Performs arrivals before `limit` at hosts that have not run for them yet.
    fn catch_up(&mut self, core: &mut Core, runner: &mut Runner, nodes: &[u32], limit: Time);
    /// Performs a host's own events up to `now`, or an arrival. Returns when the host acts next.
    fn event(
        &mut self,
        core: &mut Core,
        sink: &mut dyn EventSink,
        host: u32,
        now: Time,
        arriving: Option<Handle>,
    ) -> Time;
    fn wake(&self, core: &Core, host: u32) -> Time;
    /// Returns another view of these hosts.
    ///
    /// # Safety
    /// See [`Core::view`].
    unsafe fn view(&self) -> Box<dyn HostNodes>;
}

impl<P: OutputPort + 'static> SwitchNodes for Switches<P> {
    fn work(&mut self, core: &mut Core, runner: &mut Runner, count: usize, limit: Time) -> usize {
        runner.work_at_ports(self, core, count, limit)
    }
    fn catch_up(&mut self, core: &mut Core, runner: &mut Runner, ports: &[u32], limit: Time) {
        for &port in ports {
            runner.run_port_rarely(self, core, port, limit);
        }
    }
    fn event(
        &mut self,
        core: &mut Core,
        sink: &mut dyn EventSink,
        port: u32,
        now: Time,
        arriving: Option<(Handle, u32)>,
    ) -> Time {
        let just_after = now + TimeDelta::from_ps(1);
        // The other ports of a coupled switch come first, too: they are touched.
        if core.couples_ports {
            self.switch_advance(core, sink, core.routes.switch_of(port), just_after);
        } else {
            self.port_advance(core, sink, port, just_after);
        }
        match arriving {
            Some(packet) if core.couples_ports => {
                self.coupled_arrive(core, sink, port, now, packet);
            }
            Some((packet, _)) => self.port_arrive(core, sink, port, now, packet),
            None => {}
        }
        self.port_wake(core, port)
    }
    fn wake(&self, core: &Core, port: u32) -> Time {
        self.port_wake(core, port)
    }
    unsafe fn view(&self) -> Box<dyn SwitchNodes> {
        // SAFETY: promised by the caller.
        Box::new(unsafe { Switches::view(self) })
    }
}

impl<E: Protocol> HostNodes for Hosts<E> {
    fn work(
        &mut self,
        core: &mut Core,
        runner: &mut Runner,
        first_and_count: (usize, usize),
        limit: Time,
    ) {
        runner.work_at_hosts(self, core, first_and_count, limit);
    }
    fn catch_up(&mut self, core: &mut Core, runner: &mut Runner, nodes: &[u32], limit: Time) {
        for &node in nodes {
            runner.run_host(self, core, node, limit);
        }
    }
    fn event(
        &mut self,
        core: &mut Core,
        sink: &mut dyn EventSink,
        host: u32,
        now: Time,
        arriving: Option<Handle>,
    ) -> Time {
        match arriving {
            Some(packet) => self.host_arrive(core, sink, host, now, packet),
            None => self.host_advance(core, sink, host, now + TimeDelta::from_ps(1)),
        }
        self.host_next(core, host)
    }
    fn wake(&self, core: &Core, host: u32) -> Time {
        self.host_next(core, host)
    }
    unsafe fn view(&self) -> Box<dyn HostNodes> {
        // SAFETY: promised by the caller.
        Box::new(unsafe { Hosts::view(self) })
    }
}
