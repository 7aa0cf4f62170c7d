//! Ports that wait though packets wait: one with a cap on the rate of a class, on both engines and on several threads.

use std::ops::ControlFlow;

use trimline_metrics::RunRecord;
use trimline_packet::{BitRate, ByteCount, Handle, Packet, Packets, ServiceClass, Time, TimeDelta};
use trimline_switch::{
    Around, Chance, Limit, OutputPort, Pool, Port, PortModel, Returning, ServiceModel,
};
use trimline_transport::ndp;

use super::{Flows, Resources, perform, workload};
use crate::plan::{EngineChoice, Plan};
use crate::scenario::Scenario;

/// A port of two queues whose first may send at a rate of its own, and some packets at once, by a token bucket.
#[derive(Default)]
struct Capped {
    port: Port<2>,
    /// The first queue has its tokens from here on.
    ready_at: Time,
}

#[derive(Clone)]
struct CappedModel {
    queues: ServiceModel,
    rate: BitRate,
    /// What the bucket holds, as the time that it takes to fill.
    burst: TimeDelta,
}

impl PortModel for CappedModel {
    fn is_plain(&self) -> bool {
        self.queues.is_plain()
    }
    fn shares_memory(&self) -> bool {
        self.queues.shares_memory()
    }
    fn returning(&self) -> Returning {
        self.queues.returning()
    }
}

impl OutputPort for Capped {
    type Model = CappedModel;
    const QUEUES: usize = 2;

    fn enqueue_plainly<K: Packets>(
        &mut self,
        packet: Handle,
        model: &CappedModel,
        packets: &mut K,
    ) -> bool {
        self.port.enqueue_plainly(packet, &model.queues, packets)
    }
    fn enqueue<K: Packets, C: Chance>(
        &mut self,
        packet: Handle,
        around: &mut Around<'_, CappedModel, K, C>,
    ) {
        let model = &around.model.queues;
        self.port.enqueue(packet, &mut around.with(model));
    }
    fn dequeue<K: Packets, C: Chance>(
        &mut self,
        around: &mut Around<'_, CappedModel, K, C>,
    ) -> Option<Handle> {
        let (now, model) = (around.now, around.model);
        if self.ready_at > now {
            self.port.pause(0);
        } else {
            self.port.resume(0);
        }
        let sent = self.port.dequeue(&mut around.with(&model.queues))?;
        let packet = around.packets.packet(sent);
        if model.queues.queue_of(packet.service) == 0 {
            let bytes = ByteCount::new(u64::from(packet.wire_bytes));
            let full = Time::from_ps(now.as_ps().saturating_sub(model.burst.as_ps()));
            self.ready_at = self.ready_at.max(full) + model.rate.transmission(bytes);
        }
        Some(sent)
    }
    fn release(&mut self, model: &CappedModel, pool: &mut Pool) {
        self.port.release(&model.queues, pool);
    }
    fn pause(&mut self, queue: usize) {
        self.port.pause(queue);
    }
    fn resume(&mut self, queue: usize) {
        self.port.resume(queue);
    }
    fn is_sending(&self) -> bool {
        self.port.is_sending()
    }
    fn next_start(&self, free_at: Time) -> Time {
        let when = |queue: usize, ready: Time| match self.port.first(queue).is_none() {
            true => Time::NEVER,
            false => ready.max(free_at),
        };
        when(0, self.ready_at).min(when(1, Time::ZERO))
    }
    fn most_in_queue(&self, model: &CappedModel, queue: usize) -> Option<Limit> {
        OutputPort::most_in_queue(&self.port, &model.queues, queue)
    }
    fn is_pooled(&self, model: &CappedModel, queue: usize) -> bool {
        OutputPort::is_pooled(&self.port, &model.queues, queue)
    }
    fn classify(&self, model: &CappedModel, packet: &Packet) -> usize {
        OutputPort::classify(&self.port, &model.queues, packet)
    }
    fn queue_of(&self, model: &CappedModel, class: ServiceClass) -> usize {
        OutputPort::queue_of(&self.port, &model.queues, class)
    }
    fn first(&self, queue: usize) -> Handle {
        self.port.first(queue)
    }
    fn queue_bytes(&self, queue: usize) -> u32 {
        self.port.queue_bytes(queue)
    }
    fn queue_packets(&self, queue: usize) -> u32 {
        self.port.queue_packets(queue)
    }

    fn packets_before(&self, model: &CappedModel, packet: &Packet) -> u32 {
        self.port.packets_before(&model.queues, packet)
    }

    fn has_room(&self, model: &CappedModel, packet: &Packet, pool: &Pool) -> bool {
        self.port.has_room(&model.queues, packet, pool)
    }

    fn marked(&self) -> u32 {
        self.port.marked()
    }
}

/// A random small network with NDP.
fn plan(seed: u64) -> Plan {
    let pick = |place: u64, most: u64| crate::random::mix(seed ^ place << 32) % most;
    let topology = [
        "fattree.k = 4",
        "star.hosts = 9",
        "leafspine = { leaves = 3, spines = 2, hosts_per_leaf = 4 }",
    ][pick(1, 3) as usize];
    let senders = 2 + pick(2, 6);
    let size = 1 + pick(3, 200_000);
    let queue = ["", "header_queue = \"256B\"", "header_queue = \"9KB\""][pick(4, 3) as usize];
    let text = format!(
        "topology.{topology}\nduration = \"{}us\"\nseeds = [{seed}]\nswitch = {{ {queue} }}\n\
         workload = [\n\
         {{ name = \"i\", incast = {{ receiver = 0, senders = {senders} }}, size = \"{size}B\" }},\n\
         {{ name = \"p\", permutation = {{}}, size = \"long-lived\" }} ]\n",
        200 + pick(5, 400)
    );
    let scenario = Scenario::parse("s.toml", &text, &[]).expect("a scenario");
    scenario.runs[0].plan.clone()
}

fn run(plan: &Plan, rate: BitRate, engine: EngineChoice, threads: usize) -> RunRecord {
    let plan = Plan { engine, ..plan.clone() };
    let config = plan.transports[0].config::<ndp::Config>().expect("the plans here are NDP's");
    let applications = workload::applications(&plan).expect("applications");
    let flows = Flows::new(applications, plan.topology.hosts(), [0; 2].into());
    let burst = rate.transmission(ByteCount::new(128));
    let model = CappedModel { queues: plan.switch.clone(), rate, burst };
    let resources = Resources { threads, ..Resources::default() };
    let mut watch = |_| ControlFlow::Continue(());
    perform::<ndp::Endpoint, Capped>(&plan, config, &model, flows, resources, &mut watch)
        .expect("a run")
}

#[test]
fn engines_and_threads_agree_on_ports_with_a_cap() {
    // Headers take 0.7 % of what data takes: below, at and above a cap of that.
    let caps = [2_000_000, 20_000_000, 100_000_000];
    let mut slowed = [0; 3];
    for seed in 0..60 {
        let plan = plan(seed);
        let cap = seed as usize % caps.len();
        let rate = BitRate::from_bps(caps[cap]);
        let heap = run(&plan, rate, EngineChoice::Heap, 1);
        for threads in 1..=3 {
            let windows = run(&plan, rate, EngineChoice::Windows, threads);
            assert!(windows == heap, "seed {seed}: {threads} threads and the heap differ");
        }
        let free = run(&plan, BitRate::from_gbps(1000), EngineChoice::Windows, 1);
        slowed[cap] += u32::from(free.packets_delivered > heap.packets_delivered);
    }
    let [low, middle, high] = slowed;
    assert!(low > 16 && middle > 10 && low + middle + high > 30, "of 20 each: {slowed:?}");
}
