//! Samples all switch ports and hosts at equal intervals, and adds them up by layer. Chosen flows and ports are sampled
//! singly.

mod chosen;

use trimline_metrics::{Direction, Layer, PortGroup, PortPlace, Sample, Samples};
use trimline_packet::{PortCounters, Time, TimeDelta};

use chosen::Chosen;

use crate::engine::Network;
use crate::plan::Plan;
use crate::topology::Routes;

#[derive(Clone)]
pub(crate) struct Sampler {
    every: TimeDelta,
    next: Time,
    last: Time,
    /// By port: its groups, one of all pods and perhaps one of its own pod.
    groups_of: Vec<[Option<u32>; 2]>,
    /// By port: the queues that data enters.
    data_queues: Vec<u32>,
    before: Vec<PortCounters>,
    /// By group: stopped time of its ports at the last sample, summed.
    stopped_before: Vec<u64>,
    payloads: Vec<u64>,
    samples: Samples,
    chosen: Chosen,
}

impl Sampler {
    pub(crate) fn new(network: &Network, plan: &Plan, every: TimeDelta) -> Sampler {
        let data_queues = (0..network.core.routes.ports()).map(|port| network.data_queues(port));
        let asks = !plan.sampled.flows.is_empty();
        let columns = if asks { network.hosts.series_columns() } else { Vec::new() };
        let chosen = Chosen::new(&network.core.routes, plan, columns);
        Sampler::of(&network.core.routes, plan, every, (data_queues.collect(), chosen))
    }

    fn of(
        routes: &Routes,
        plan: &Plan,
        every: TimeDelta,
        (data_queues, chosen): (Vec<u32>, Chosen),
    ) -> Sampler {
        let mut samples = Samples::default();
        let mut group = |port: u32, pod: Option<u32>| {
            let PortPlace { layer, direction, .. } = routes.port_place(port);
            let is_of = |group: &PortGroup| {
                (group.layer, group.direction, group.pod) == (layer, direction, pod)
            };
            let known = samples.groups.iter().position(is_of);
            let place = known.unwrap_or_else(|| {
                samples.groups.push(PortGroup { layer, direction, pod, ports: 0, rate_bps: 0 });
                samples.groups.len() - 1
            });
            samples.groups[place].ports += 1;
            samples.groups[place].rate_bps += routes.link(port).spec.rate.as_bps();
            place as u32
        };
        let ports = 0..routes.ports();
        // The layers of all pods come first.
        let of_all: Vec<u32> = ports.clone().map(|port| group(port, None)).collect();
        let of_pod = ports.map(|port| {
            let pod = routes.pod_of(port).filter(|pod| plan.sampled.pods.contains(pod));
            pod.map(|pod| group(port, Some(pod)))
        });
        let groups_of = of_all.iter().zip(of_pod).map(|(&all, pod)| [Some(all), pod]).collect();
        let (ports, hosts) = (routes.ports(), routes.hosts());
        let rates = (ports..ports + hosts).map(|node| routes.link(node).spec.rate.as_bps());
        samples.groups.push(PortGroup {
            layer: Layer::Host,
            direction: Direction::Up,
            pod: None,
            ports: u64::from(hosts),
            rate_bps: rates.sum(),
        });
        Sampler {
            every,
            next: Time::ZERO + every,
            last: Time::ZERO,
            groups_of,
            data_queues,
            before: vec![PortCounters::default(); samples.groups.len()],
            stopped_before: vec![0; samples.groups.len()],
            payloads: plan
                .workloads
                .iter()
                .map(|workload| u64::from(plan.transport_of(workload).payload_bytes()))
                .collect(),
            samples,
            chosen,
        }
    }

    pub(crate) fn next(&self) -> Time {
        self.next
    }

    pub(crate) fn sample(&mut self, network: &Network, now: Time) {
        let fresh = |group| Sample {
            time_ps: now.as_ps(),
            since_ps: self.last.as_ps(),
            group,
            ..Sample::default()
        };
        let mut taken: Vec<Sample> = (0..self.before.len() as u32).map(fresh).collect();
        let counters = network.port_counters();
        for (port, (counters, groups)) in counters.iter().zip(&self.groups_of).enumerate() {
            let queue = network.queued_bytes(port as u32);
            let data = network.queued_in(port as u32, self.data_queues[port]);
            let stopped_ps = network.stopped_for(port as u32, now).as_ps();
            for group in groups.iter().flatten() {
                let sample = &mut taken[*group as usize];
                sample.counters.add(counters);
                sample.queue_bytes += queue;
                sample.data_queue_bytes += data;
                sample.queue_bytes_max = sample.queue_bytes_max.max(queue);
                sample.stopped_ps += stopped_ps;
            }
        }
        // Hosts are the last group.
        if let Some(hosts) = taken.last_mut() {
            network.host_counters().for_each(|counters| hosts.counters.add(&counters));
            let stopped =
                |host| network.stopped_for(network.core.routes.ports() + host, now).as_ps();
            hosts.stopped_ps = (0..network.core.routes.hosts()).map(stopped).sum();
            let unsent = network.unsent_bytes(&self.payloads);
            hosts.queue_bytes = unsent.iter().sum();
            hosts.queue_bytes_max = unsent.into_iter().max().unwrap_or(0);
        }
        for (sample, before) in taken.iter_mut().zip(&mut self.before) {
            let now = sample.counters;
            sample.counters = now.since(before);
            *before = now;
        }
        for (sample, before) in taken.iter_mut().zip(&mut self.stopped_before) {
            let now = sample.stopped_ps;
            sample.stopped_ps -= *before;
            *before = now;
        }
        self.samples.samples.append(&mut taken);
        self.chosen.sample(network, self.last, now);
        self.last = now;
        self.next = now + self.every;
    }

    pub(crate) fn into_samples(self) -> Samples {
        let (flows, ports) = self.chosen.into_series();
        Samples { flows, ports, ..self.samples }
    }
}
