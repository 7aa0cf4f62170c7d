//! Looks at all switch ports at equal distances of time, and adds them up by layer.

use trimline_metrics::{Layer, Sample, Samples};
use trimline_packet::{PortCounters, Time, TimeDelta};
use trimline_switch::OutputPort;

use crate::network::Network;
use crate::protocol::Protocol;

/// The samples of a run in the making.
#[derive(Clone)]
pub(crate) struct Sampler {
    every: TimeDelta,
    next: Time,
    last: Time,
    /// By port: its layer.
    layer_of: Vec<u32>,
    /// By layer: its counters at the last sample.
    before: Vec<PortCounters>,
    samples: Samples,
}

impl Sampler {
    pub(crate) fn new<E: Protocol, P: OutputPort>(
        network: &Network<E, P>,
        every: TimeDelta,
    ) -> Sampler {
        let mut samples = Samples::default();
        let layer_of = (0..network.routes.ports())
            .map(|port| {
                let name = network.routes.port_name(port);
                // "tor 3 up 2" is of the layer "tor up".
                let words: Vec<&str> =
                    name.split(' ').filter(|word| word.parse::<u32>().is_err()).collect();
                let name = words.join(" ");
                let known = samples.layers.iter().position(|layer| layer.name == name);
                let place = known.unwrap_or_else(|| {
                    samples.layers.push(Layer { name, ports: 0, rate_bps: 0 });
                    samples.layers.len() - 1
                });
                samples.layers[place].ports += 1;
                samples.layers[place].rate_bps += network.routes.link(port).spec.rate.as_bps();
                place as u32
            })
            .collect();
        Sampler {
            every,
            next: Time::ZERO + every,
            last: Time::ZERO,
            layer_of,
            before: vec![PortCounters::default(); samples.layers.len()],
            samples,
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
        let fresh = |layer| Sample {
            time_ps: now.as_ps(),
            since_ps: self.last.as_ps(),
            layer,
            ..Sample::default()
        };
        let mut taken: Vec<Sample> = (0..self.before.len() as u32).map(fresh).collect();
        for (port, (counters, &layer)) in network.port_counters().zip(&self.layer_of).enumerate() {
            let sample = &mut taken[layer as usize];
            sample.counters.add(counters);
            let queue = network.queued_bytes(port as u32);
            sample.queue_bytes += queue;
            sample.queue_bytes_max = sample.queue_bytes_max.max(queue);
        }
        for (sample, before) in taken.iter_mut().zip(&mut self.before) {
            let now = sample.counters;
            sample.counters = now.since(before);
            *before = now;
        }
        self.samples.samples.append(&mut taken);
        self.last = now;
        self.next = now + self.every;
    }

    pub(crate) fn into_samples(self) -> Samples {
        self.samples
    }
}
