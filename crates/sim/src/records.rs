//! The records of a run: of its flows as they end, of its ports at the end.

use std::collections::VecDeque;
use std::io;

use trimline_metrics::{
    FlowEnd, FlowRecord, FlowStore, HostCounters, HostRecord, LinkCounters, LinkRecord, Name,
    PacketLatency, PauseCycles, PauseRecord, PortRecord, RunRecord, Samples, Timeline,
};
use trimline_packet::{ByteCount, PortCounters, Time, TimeDelta};
use trimline_transport::Side;

use crate::engine::Network;
use crate::features::pfc::state::Pauses;
use crate::flow::Flow;
use crate::flows::{Course, Opened, Seat, Totals};
use crate::offered::loads;
use crate::plan::{Chosen, Plan};
use crate::topology::Routes;

/// Distances, in flows, at which a flow that will be forgotten, and then its streams, are prefetched.
const FLOW_AHEAD: usize = 16;
const SIDES_AHEAD: usize = 8;

pub(crate) struct Records<'a> {
    plan: &'a Plan,
    /// By workload.
    transports: Vec<Chosen>,
    names: Vec<Name>,
    flows: FlowStore,
    latencies: Vec<PacketLatency>,
    packets_delivered: u64,
    /// True after the warm-up.
    is_measuring: bool,
    /// By host with stages: its counters at the end of the warm-up.
    hosts_before: Vec<HostCounters>,
    /// Sized flows that ended, as their senders know, with the times.
    ended: VecDeque<(Time, Opened)>,
}

impl<'a> Records<'a> {
    pub(crate) fn new(plan: &'a Plan, in_memory: usize) -> Self {
        Records {
            plan,
            transports: plan.workloads.iter().map(|workload| plan.transport_of(workload)).collect(),
            names: plan.workloads.iter().map(|workload| workload.name.as_str().into()).collect(),
            flows: FlowStore::new(in_memory),
            latencies: Vec::new(),
            packets_delivered: 0,
            is_measuring: false,
            hosts_before: Vec::new(),
            ended: VecDeque::new(),
        }
    }

    /// Ends the warm-up: earlier arrivals do not count.
    pub(crate) fn begin_measuring(&mut self, network: &mut Network, now: Time) -> io::Result<()> {
        self.record_messages(network, now)?;
        self.is_measuring = true;
        self.hosts_before = network.staged_hosts(now);
        let under_way: Vec<Opened> = network.core.flows.under_way().collect();
        for opened in under_way {
            let Seat { flow, receiver: Some(slot), .. } = network.core.flows.seat(opened) else {
                continue;
            };
            let bytes = network.hosts.statistics_of(flow.destination, slot).bytes;
            network.core.flows.set_before(opened, bytes);
        }
        Ok(())
    }

    fn record_messages(&mut self, network: &mut Network, now: Time) -> io::Result<()> {
        let messages = network.core.flows.take_messages();
        messages.iter().try_for_each(|course| self.record_message(course, now))
    }

    fn record_message(&mut self, course: &Course, now: Time) -> io::Result<()> {
        let mut record =
            self.begun(&course.flow, course.left, course.delivered, course.acknowledged, now);
        self.packets_delivered += course.totals.write(&mut record);
        self.push(record, course.before)
    }

    /// Records a persistent connection's present message, if any, at the end of the run.
    fn record_persistent(
        &mut self,
        network: &Network,
        opened: Opened,
        now: Time,
    ) -> io::Result<()> {
        let Seat { flow, sender, receiver, .. } = network.core.flows.seat(opened);
        let totals = |host, side, slot: Option<u32>| {
            slot.map_or(Totals::default(), |slot| network.hosts.totals(host, side, slot))
        };
        let sent = totals(flow.source, Side::Sending, sender);
        let received = totals(flow.destination, Side::Receiving, receiver);
        if let Some(slot) = sender {
            network.hosts.latencies(flow.source, slot, &mut self.latencies);
        }
        match network.core.flows.course(opened, sent, received) {
            Some(course) => self.record_message(&course, now),
            None => Ok(()),
        }
    }

    /// Records and forgets flows that ended long enough before `now` to have no packet on its way, in order of their
    /// ends. All nodes have caught up to `now`, so the engine does not matter.
    pub(crate) fn forget(&mut self, network: &mut Network, now: Time) -> io::Result<()> {
        self.record_messages(network, now)?;
        self.append_ended(network);
        let time_wait = network.hosts.time_wait();
        while let Some(&(ended, opened)) = self.ended.front()
            && ended.saturating_add(time_wait) <= now
        {
            self.ended.pop_front();
            self.prefetch_next(network);
            self.record_flow(network, opened, now)?;
            network.forget(opened);
        }
        Ok(())
    }

    /// Appends the flows that ended since the last call, in order of their ends.
    fn append_ended(&mut self, network: &mut Network) {
        let known = self.ended.len();
        network.core.flows.take_ended(&mut self.ended);
        let ended = self.ended.make_contiguous();
        ended[known..].sort_unstable();
        // Earlier ends were taken earlier. Should it not be so, the order is still that by ends.
        if !ended.is_sorted() {
            ended.sort_unstable();
        }
    }

    /// Prefetches a flow that is forgotten soon, and then its streams, long unused.
    fn prefetch_next(&self, network: &Network) {
        if let Some(&(_, opened)) = self.ended.get(FLOW_AHEAD) {
            network.core.flows.prefetch_seat(opened);
        }
        if let Some(&(_, opened)) = self.ended.get(SIDES_AHEAD) {
            network.prefetch_sides(opened);
        }
    }

    fn record_flow(&mut self, network: &Network, opened: Opened, now: Time) -> io::Result<()> {
        let seat = network.core.flows.seat(opened);
        let mut record = self.begun(&seat.flow, seat.left, seat.delivered, seat.acknowledged, now);
        if let Some(slot) = seat.sender {
            network.hosts.record_sender(seat.flow.source, slot, &mut record);
            network.hosts.latencies(seat.flow.source, slot, &mut self.latencies);
        }
        if let Some(slot) = seat.receiver {
            let receiver = seat.flow.destination;
            self.packets_delivered += network.hosts.record_receiver(receiver, slot, &mut record);
        }
        self.push(record, seat.before)
    }

    /// Record of a started flow, with its end.
    fn begun(
        &self,
        flow: &Flow,
        left: Option<Time>,
        delivered: Option<Time>,
        acknowledged: Option<Time>,
        now: Time,
    ) -> FlowRecord {
        let since_start = |end: Time| (end - flow.start).as_ps();
        FlowRecord {
            host_wait_ps: left.map(since_start),
            fct_receiver_ps: delivered.map(since_start),
            fct_sender_ps: acknowledged.map(since_start),
            end: match (flow.size, delivered, acknowledged) {
                _ if flow.start >= now => FlowEnd::NotStarted,
                (None, ..) => FlowEnd::LongLived,
                (_, Some(_), Some(_)) => FlowEnd::Completed,
                (_, Some(_), None) => FlowEnd::Delivered,
                (_, None, _) => FlowEnd::RunEnded,
            },
            ..self.blank(flow)
        }
    }

    /// Stores a record; `before` of its bytes had arrived at the end of the warm-up.
    fn push(&mut self, mut record: FlowRecord, before: u64) -> io::Result<()> {
        if let Some(size) = record.size_bytes {
            assert!(
                record.delivered_bytes <= size,
                "{record:?} has more bytes than its flow: something was delivered twice"
            );
            if record.fct_receiver_ps.is_some() {
                assert_eq!(record.delivered_bytes, size, "{record:?} ended with a hole");
            }
        }
        if self.is_measuring {
            record.measured_bytes = record.delivered_bytes - before;
        }
        self.flows.push(record)
    }

    fn blank(&self, flow: &Flow) -> FlowRecord {
        let workload = self.names[flow.workload as usize].clone();
        let (source, destination) = (flow.source.get(), flow.destination.get());
        let size = flow.size.map(ByteCount::get);
        let ideal = flow.size.map(|size| self.ideal(flow, size));
        FlowRecord {
            id: self.plan.workloads[flow.workload as usize].id_of(flow.token),
            start_ps: flow.start.as_ps(),
            ideal_fct_ps: ideal.map(TimeDelta::as_ps),
            ideal_fct_sender_ps: ideal.map(|ideal| (ideal + self.way_back(flow)).as_ps()),
            ..FlowRecord::not_started(workload, flow.index, source, destination, size)
        }
    }

    /// Arrival time of a flow's last byte in an idle network.
    fn ideal(&self, flow: &Flow, size: ByteCount) -> TimeDelta {
        let transport = &self.transports[flow.workload as usize];
        let header = u64::from(transport.framing().header);
        let payload = u64::from(transport.payload_bytes());
        let full_packets = size.get().saturating_sub(1) / payload;
        let last = size.get() - full_packets * payload;
        self.plan.topology.ideal_completion(
            flow.source,
            flow.destination,
            full_packets,
            ByteCount::new(payload + header),
            ByteCount::new(last + header),
        )
    }

    /// Time of an ACK in an idle network, from a flow's destination to its source.
    fn way_back(&self, flow: &Flow) -> TimeDelta {
        let transport = &self.transports[flow.workload as usize];
        let ack = ByteCount::new(u64::from(transport.framing().min));
        self.plan.topology.ideal_completion(flow.destination, flow.source, 0, ack, ack)
    }

    pub(crate) fn into_record(
        mut self,
        network: &mut Network,
        now: Time,
        is_interrupted: bool,
    ) -> io::Result<RunRecord> {
        self.record_messages(network, now)?;
        let under_way: Vec<Opened> = network.core.flows.under_way().collect();
        for opened in under_way {
            match network.core.flows.carries_messages(opened) {
                true => self.record_persistent(network, opened, now)?,
                false => self.record_flow(network, opened, now)?,
            }
        }
        network.core.flows.each_waiting(&mut |course| self.record_message(&course, now))?;
        network.core.flows.applications.not_started(now, &mut |flow| {
            let record = self.blank(&flow);
            self.flows.push(record)
        })?;
        if !self.is_measuring {
            self.flows.count_everything();
        }
        self.flows.finish();
        let routes = &network.core.routes;
        let ports = of_ports(routes, network.port_counters());
        let links = of_links(routes, network.core.link_counters());
        let pauses = network.core.pauses.as_ref();
        let pauses = pauses.map_or_else(Vec::new, |pauses| of_inputs(routes, pauses, now));
        let hosts = of_hosts(&self.hosts_before, network.staged_hosts(now));
        let detours = network.core.detours.as_ref();
        let paths = detours.map_or_else(Vec::new, |detoured| detoured.paths(&self.names));
        self.latencies.sort_unstable();
        Ok(RunRecord {
            timeline: Timeline::default(),
            samples: Samples::default(),
            latencies: self.latencies,
            series: self.plan.series.clone(),
            seed: self.plan.seed,
            host_link: self.plan.host_link(),
            flows: self.flows,
            ports,
            links,
            pauses,
            paths,
            hosts,
            pause_cycles: PauseCycles::default(),
            simulated_ps: now.as_ps(),
            measured_ps: now.saturating_since(Time::ZERO + self.plan.warm_up).as_ps(),
            packet_hops: network.core.packet_hops(),
            packets_delivered: self.packets_delivered,
            packets_unclaimed: network.core.ledger.unclaimed,
            loads: loads(self.plan, now),
            interrupted: is_interrupted,
        })
    }
}

fn of_ports(routes: &Routes, counters: Vec<PortCounters>) -> Vec<PortRecord> {
    let record = |(counters, port)| PortRecord {
        counters,
        place: routes.port_place(port),
        rate_bps: routes.link(port).spec.rate.as_bps(),
    };
    counters.into_iter().zip(0..).map(record).collect()
}

fn of_links(routes: &Routes, counters: Vec<LinkCounters>) -> Vec<LinkRecord> {
    let record = |(counters, node)| LinkRecord {
        place: routes.node_place(node),
        counters,
        rate_bps: routes.link(node).spec.rate.as_bps(),
    };
    counters.into_iter().zip(0..).map(record).collect()
}

/// Returns how often and for how long each node was stopped.
fn of_inputs(routes: &Routes, pauses: &Pauses, now: Time) -> Vec<PauseRecord> {
    let record = |node| {
        let (sent, counters) = pauses.counters(node, now);
        PauseRecord {
            place: routes.node_place(node),
            sent,
            received: counters.received,
            stopped_ps: counters.stopped_for.as_ps(),
        }
    };
    (0..routes.nodes()).map(record).collect()
}

/// Records of hosts with stages, with their counts before the measured time.
fn of_hosts(before: &[HostCounters], counters: Vec<HostCounters>) -> Vec<HostRecord> {
    let before = |host: u32| before.get(host as usize).copied().unwrap_or_default();
    let record = |(counters, host)| HostRecord { host, counters, before: before(host) };
    counters.into_iter().zip(0..).map(record).collect()
}
