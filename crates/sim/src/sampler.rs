//! Looks at all switch ports and hosts at equal distances of time, and adds them up by layer. What a scenario chose it
//! looks at one by one.

mod chosen;

use trimline_metrics::{Direction, Layer, PortGroup, PortPlace, Sample, Samples};
use trimline_packet::{PortCounters, Time, TimeDelta};
use trimline_switch::OutputPort;

use chosen::Chosen;

use crate::network::Network;
use crate::plan::Plan;
use crate::protocol::Protocol;

/// The samples of a run in the making.
#[derive(Clone)]
pub(crate) struct Sampler {
    every: TimeDelta,
    next: Time,
    last: Time,
    /// By port: its group.
    group_of: Vec<u32>,
    /// By group: its counters at the last sample.
    before: Vec<PortCounters>,
    /// By group: for how long its ports were stopped until then, summed over them.
    stopped_before: Vec<u64>,
    /// By workload: payload of a full packet.
    payloads: Vec<u64>,
    samples: Samples,
    chosen: Chosen,
}

impl Sampler {
    pub(crate) fn new<E: Protocol, P: OutputPort>(
        network: &Network<E, P>,
        plan: &Plan,
        config: &E::Config,
        every: TimeDelta,
    ) -> Sampler {
        let mut samples = Samples::default();
        let group_of = (0..network.routes.ports())
            .map(|port| {
                let PortPlace { layer, direction, .. } = network.routes.port_place(port);
                let is_of =
                    |group: &PortGroup| (group.layer, group.direction) == (layer, direction);
                let known = samples.groups.iter().position(is_of);
                let place = known.unwrap_or_else(|| {
                    samples.groups.push(PortGroup { layer, direction, ports: 0, rate_bps: 0 });
                    samples.groups.len() - 1
                });
                samples.groups[place].ports += 1;
                samples.groups[place].rate_bps += network.routes.link(port).spec.rate.as_bps();
                place as u32
            })
            .collect();
        let (ports, hosts) = (network.routes.ports(), network.routes.hosts());
        let rates = (ports..ports + hosts).map(|unit| network.routes.link(unit).spec.rate.as_bps());
        samples.groups.push(PortGroup {
            layer: Layer::Host,
            direction: Direction::Up,
            ports: u64::from(hosts),
            rate_bps: rates.sum(),
        });
        Sampler {
            every,
            next: Time::ZERO + every,
            last: Time::ZERO,
            group_of,
            before: vec![PortCounters::default(); samples.groups.len()],
            stopped_before: vec![0; samples.groups.len()],
            payloads: plan
                .workloads
                .iter()
                .map(|workload| u64::from(plan.transport_of(workload).payload_bytes()))
                .collect(),
            samples,
            chosen: Chosen::new(network, plan, config),
        }
    }

    /// When the next sample is due.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Takes it: every port has done what it had to before `now`.
    pub(crate) fn sample<E: Protocol, P: OutputPort>(
        &mut self,
        network: &Network<E, P>,
        now: Time,
    ) {
        let fresh = |group| Sample {
            time_ps: now.as_ps(),
            since_ps: self.last.as_ps(),
            group,
            ..Sample::default()
        };
        let mut taken: Vec<Sample> = (0..self.before.len() as u32).map(fresh).collect();
        for (port, (counters, &group)) in network.port_counters().zip(&self.group_of).enumerate() {
            let sample = &mut taken[group as usize];
            sample.counters.add(&counters);
            let queue = network.queued_bytes(port as u32);
            sample.queue_bytes += queue;
            sample.queue_bytes_max = sample.queue_bytes_max.max(queue);
            sample.stopped_ps += network.stopped_for(port as u32, now).as_ps();
        }
        // Hosts are the last group.
        if let Some(hosts) = taken.last_mut() {
            network.host_counters().for_each(|counters| hosts.counters.add(counters));
            let stopped = |host| network.stopped_for(network.routes.ports() + host, now).as_ps();
            hosts.stopped_ps = (0..network.routes.hosts()).map(stopped).sum();
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
