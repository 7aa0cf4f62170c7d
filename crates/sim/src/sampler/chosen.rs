//! Samples the flows and ports that a scenario chose (`output.series`).

use std::collections::BTreeMap;

use trimline_metrics::series::{FlowRow, PortRow};
use trimline_metrics::{FlowSeries, PortSeries, Reading, Readings, SeriesColumn};
use trimline_packet::{ConnectionId, HostId, PortCounters, Time, TimeDelta};
use trimline_transport::Side;

use crate::engine::Network;
use crate::flow::Flow;
use crate::flows::{Opened, Seat, Totals};
use crate::plan::Plan;
use crate::topology::Routes;

#[derive(Clone)]
struct Seen {
    /// The last flow of the connection.
    flow: Flow,
    counted: [u64; trimline_metrics::series::COUNTED.len()],
    own: Vec<Option<u64>>,
}

/// The series of chosen flows and ports in the making.
#[derive(Clone)]
pub(super) struct Chosen {
    /// (source, destination).
    flows: Vec<(u32, u32)>,
    /// By node.
    ports: Vec<u32>,
    /// By opener and connection: flows at the last sample.
    before: BTreeMap<(u32, ConnectionId), Seen>,
    /// In the order of `ports`.
    ports_before: Vec<PortCounters>,
    /// In the order of `ports`.
    stopped_before: Vec<TimeDelta>,
    flow_series: FlowSeries,
    port_series: PortSeries,
}

impl Chosen {
    /// Returns empty series. `columns` are the transports' own columns, if flows are chosen.
    pub(super) fn new(routes: &Routes, plan: &Plan, columns: Vec<SeriesColumn>) -> Chosen {
        let ports: Vec<u32> = plan.sampled.ports.iter().map(|link| link.node()).collect();
        let of = |&port: &u32| (routes.port_place(port), routes.link(port).spec.rate.as_bps());
        let port_series = PortSeries { ports: ports.iter().map(of).collect(), rows: Vec::new() };
        Chosen {
            flows: plan.sampled.flows.clone(),
            ports_before: vec![PortCounters::default(); ports.len()],
            stopped_before: vec![TimeDelta::ZERO; ports.len()],
            ports,
            before: BTreeMap::new(),
            flow_series: FlowSeries {
                workloads: plan.workloads.iter().map(|workload| workload.name.clone()).collect(),
                columns,
                rows: Vec::new(),
            },
            port_series,
        }
    }

    /// Takes the rows of `now`; the rows before were taken at `last`.
    pub(super) fn sample(&mut self, network: &Network, last: Time, now: Time) {
        if !self.ports.is_empty() {
            self.sample_ports(network, last, now);
        }
        if !self.flows.is_empty() {
            self.sample_flows(network, last, now);
        }
    }

    fn sample_ports(&mut self, network: &Network, last: Time, now: Time) {
        let counters = network.port_counters();
        let before = self.ports_before.iter_mut().zip(&mut self.stopped_before);
        for (number, (&port, (before, stopped_before))) in (0..).zip(self.ports.iter().zip(before))
        {
            let counted = counters[port as usize];
            let stopped = network.stopped_for(port, now);
            self.port_series.rows.push(PortRow {
                time_ps: now.as_ps(),
                since_ps: last.as_ps(),
                port: number,
                counters: counted.since(before),
                stopped_ps: stopped.as_ps() - stopped_before.as_ps(),
                queue_bytes: network.queued_bytes(port),
            });
            (*before, *stopped_before) = (counted, stopped);
        }
    }

    fn sample_flows(&mut self, network: &Network, last: Time, now: Time) {
        let mut before = std::mem::take(&mut self.before);
        for opened in network.core.flows.under_way() {
            let seat = network.core.flows.seat(opened);
            let ends = (seat.flow.source.get(), seat.flow.destination.get());
            // A flow that ended before the last row has had its last row.
            let is_over = seat.acknowledged.is_some_and(|at| at <= last);
            if !self.flows.contains(&ends)
                || (is_over && !network.core.flows.carries_messages(opened))
            {
                continue;
            }
            let key = (opened.by, network.core.flows.connection(opened));
            let earlier = before.remove(&key);
            let seen = self.inspect(network, now, (opened, &seat), earlier.as_ref());
            self.flow_series.rows.push(self.row(&seen, earlier.as_ref(), last, now));
            self.before.insert(key, seen);
        }
    }

    /// Reads the counts of a flow's streams, and the transport's own columns.
    fn inspect(
        &self,
        network: &Network,
        now: Time,
        (opened, seat): (Opened, &Seat),
        earlier: Option<&Seen>,
    ) -> Seen {
        let columns = &self.flow_series.columns;
        let mut own = vec![None; columns.len()];
        let mut readings = Readings::new(now, columns, &mut own);
        let mut totals = Totals::default();
        let sides: [(Side, HostId, Option<u32>); 2] = [
            (Side::Sending, seat.flow.source, seat.sender),
            (Side::Receiving, seat.flow.destination, seat.receiver),
        ];
        for (side, host, slot) in sides {
            let Some(slot) = slot else { continue };
            totals = totals.with(&network.hosts.totals(host, side, slot));
            network.hosts.read(host, slot, side, &mut readings);
        }
        // Between two messages a persistent connection still shows the message before.
        let carried = network.core.flows.carried(opened.by, network.core.flows.connection(opened));
        let flow = carried.or(earlier.map(|seen| seen.flow)).unwrap_or(seat.flow);
        Seen { flow, counted: totals.series(), own }
    }

    fn row(&self, seen: &Seen, earlier: Option<&Seen>, last: Time, now: Time) -> FlowRow {
        let mut row = FlowRow {
            time_ps: now.as_ps(),
            since_ps: last.as_ps(),
            workload: seen.flow.workload,
            index: seen.flow.index,
            source: seen.flow.source.get(),
            destination: seen.flow.destination.get(),
            counted: seen.counted,
            own: seen.own.clone(),
        };
        let Some(earlier) = earlier else { return row };
        for (counted, before) in row.counted.iter_mut().zip(earlier.counted) {
            *counted -= before;
        }
        let kinds = self.flow_series.columns.iter().map(|column| column.kind);
        for (kind, (value, before)) in kinds.zip(row.own.iter_mut().zip(&earlier.own)) {
            match kind {
                Reading::Level => {}
                Reading::Count => *value = value.map(|value| value - before.unwrap_or(0)),
            }
        }
        row
    }

    pub(super) fn into_series(self) -> (FlowSeries, PortSeries) {
        (self.flow_series, self.port_series)
    }
}
