//! A port whose first queue has a rate limit: notifications, ahead of all others (FastLane 3.3.1).

use trimline_packet::{Handle, Packets, Service, Time, TimeDelta};

use crate::Rng;
use crate::model::ServiceModel;
use crate::output_port::{OutputPort, Wrapper};
use crate::pool::Pool;
use crate::port_context::PortContext;

/// A port with a clock for its first queue ([`Scheduler::RateLimited`](crate::Scheduler::RateLimited)): each packet
/// waits for the time of the one before at the cap's rate. Without a cap it acts as the port inside.
///
/// Over any time, the queue starts at most the rate's bytes plus one packet; with
/// [`Cap::is_work_conserving`](crate::Cap::is_work_conserving) this holds while other queues could send.
#[derive(Clone, Debug)]
pub struct RateLimited<P> {
    /// Its first queue is paused except while it may send.
    port: P,
    /// Time from which the cap lets the first queue send.
    ready_at: Time,
    /// The first queue respects the cap even if no other may send.
    is_strict: bool,
    /// The first queue is paused by a caller.
    is_paused: bool,
}

impl<P> RateLimited<P> {
    /// Sets the clock back by `by`, and the cap's time with it.
    pub fn set_back(&mut self, by: TimeDelta) {
        self.ready_at = self.ready_at.set_back(by);
    }
}

const FIRST: usize = 0;

impl<P: OutputPort> Default for RateLimited<P> {
    fn default() -> RateLimited<P> {
        let mut port = P::default();
        port.pause(FIRST);
        RateLimited { port, ready_at: Time::ZERO, is_strict: false, is_paused: false }
    }
}

impl<P: OutputPort<Model = ServiceModel>> RateLimited<P> {
    /// Records `is_strict`: [`OutputPort::next_start`] has no model.
    #[inline]
    fn record(&mut self, model: &ServiceModel) {
        self.is_strict = model.cap().is_some_and(|cap| !cap.is_work_conserving);
    }

    /// [`OutputPort::dequeue`] while the first queue has packets and no caller pauses it.
    #[inline(never)]
    fn dequeue_rate_limited<K: Packets, C: Rng>(
        &mut self,
        context: &mut PortContext<'_, ServiceModel, K, C>,
    ) -> Option<Handle> {
        let (now, model) = (context.now, context.model);
        if self.may_send(now, model) {
            self.port.resume(FIRST);
        }
        let sent = self.port.dequeue(context);
        self.port.pause(FIRST);
        if let (Some(sent), Some(cap)) = (sent, model.cap()) {
            let packet = context.packets.packet(sent);
            if model.classify(packet) == FIRST {
                self.ready_at = now + cap.spacing(packet.wire_bytes);
            }
        }
        sent
    }

    /// True if the first queue may send at `now`.
    fn may_send(&self, now: Time, model: &ServiceModel) -> bool {
        let Some(cap) = model.cap() else { return true };
        // FastLane 3.3.1: what others leave may be used.
        let is_alone = cap.is_work_conserving && self.port.next_start(now) == Time::NEVER;
        self.ready_at <= now || is_alone
    }
}

impl<P: OutputPort<Model = ServiceModel>> Wrapper for RateLimited<P> {
    type Model = ServiceModel;
    type Inner = P;

    #[inline(always)]
    fn inner(&self) -> &P {
        &self.port
    }

    #[inline(always)]
    fn inner_model<'a>(&self, model: &'a ServiceModel) -> &'a ServiceModel {
        model
    }
}

impl<P: OutputPort<Model = ServiceModel>> OutputPort for RateLimited<P> {
    #[inline(always)]
    fn enqueue_plainly<K: Packets>(
        &mut self,
        packet: Handle,
        model: &ServiceModel,
        packets: &mut K,
    ) -> bool {
        if packets.packet(packet).service == Service::Notification {
            self.record(model);
        }
        self.port.enqueue_plainly(packet, model, packets)
    }

    #[inline]
    fn enqueue_pooled<K: Packets>(
        &mut self,
        packet: Handle,
        model: &ServiceModel,
        packets: &mut K,
        pool: &mut Pool,
    ) -> bool {
        self.port.enqueue_pooled(packet, model, packets, pool)
    }

    fn enqueue<K: Packets, C: Rng>(
        &mut self,
        packet: Handle,
        context: &mut PortContext<'_, ServiceModel, K, C>,
    ) {
        self.record(context.model);
        self.port.enqueue(packet, context);
    }

    #[inline(always)]
    fn dequeue<K: Packets, C: Rng>(
        &mut self,
        context: &mut PortContext<'_, ServiceModel, K, C>,
    ) -> Option<Handle> {
        match self.is_paused || self.port.first(FIRST).is_none() {
            true => self.port.dequeue(context),
            false => self.dequeue_rate_limited(context),
        }
    }

    fn release(&mut self, model: &ServiceModel, pool: &mut Pool) {
        self.port.release(model, pool);
    }

    fn pause(&mut self, queue: usize) {
        match queue {
            FIRST => self.is_paused = true,
            queue => self.port.pause(queue),
        }
    }

    fn resume(&mut self, queue: usize) {
        match queue {
            FIRST => self.is_paused = false,
            queue => self.port.resume(queue),
        }
    }

    #[inline(always)]
    fn next_start(&self, free_at: Time) -> Time {
        let others = self.port.next_start(free_at);
        if self.is_paused || self.port.first(FIRST).is_none() {
            return others;
        }
        others.min(if self.is_strict { self.ready_at.max(free_at) } else { free_at })
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;
    use trimline_packet::{BitRate, ByteCount};

    use super::*;
    use crate::model::{Cap, Choices, Scheduler};
    use crate::testing::{World, packet};
    use crate::{CodelPort, Disposition, Port, PriorityDrop, QueueView};

    const LINE: BitRate = BitRate::from_gbps(10);

    fn model(is_work_conserving: bool) -> ServiceModel {
        let cap = Cap { is_work_conserving, ..Cap::of_line(LINE) };
        ServiceModel::fastlane(128_000, 3_200, cap)
    }

    /// A port on a link of [`LINE`].
    struct Link<P> {
        port: P,
        world: World,
        free_at: Time,
        /// Time, service and bytes of sent packets.
        left: Vec<(Time, Service, u16)>,
    }

    impl<P: OutputPort<Model = ServiceModel>> Link<P> {
        fn new() -> Link<P> {
            Link { port: P::default(), world: World::new(), free_at: Time::ZERO, left: Vec::new() }
        }

        fn run(&mut self, model: &ServiceModel, until: Time) {
            loop {
                let now = self.port.next_start(self.free_at);
                if now >= until {
                    return;
                }
                let sent = self.port.dequeue(&mut self.world.context(now, model));
                let sent = *self.world.packets.packet(sent.expect("what was promised"));
                self.left.push((now, sent.service.service(), sent.wire_bytes));
                self.free_at = now + LINE.transmission(ByteCount::new(sent.wire_bytes.into()));
            }
        }

        fn arrive(&mut self, model: &ServiceModel, now: Time, service: Service, bytes: u16) {
            self.run(model, now);
            if self.free_at <= now {
                self.port.release(model, &mut self.world.pool);
                self.free_at = now;
            }
            let handle = self.world.packets.add(packet(service, bytes, 0));
            if !self.port.enqueue_plainly(handle, model, &mut self.world.packets) {
                self.port.enqueue(handle, &mut self.world.context(now, model));
            }
        }
    }

    fn us(us: u64) -> Time {
        Time::ZERO + TimeDelta::from_us(us)
    }

    /// FastLane 3.3: 50 notifications of 64 bytes are 3.2 KB; 1 % of 10 Gb/s is one each 5.12 us.
    #[test]
    fn fifty_notifications_wait_and_one_goes_each_five_microseconds() {
        for (is_work_conserving, spacing) in [(false, 5_120_000), (true, 51_200)] {
            let (model, mut link) =
                (model(is_work_conserving), Link::<RateLimited<Port<2>>>::new());
            (0..60).for_each(|_| link.arrive(&model, us(0), Service::Notification, 64));
            let dropped = link.world.drop_list.list().to_vec();
            assert!(dropped.iter().all(|&(_, disposition)| disposition == Disposition::Dropped));
            assert_eq!((link.port.queue_bytes(0), dropped.len()), (3_200, 10));
            link.run(&model, us(1_000_000));
            let times: Vec<u64> = link.left.iter().map(|left| left.0.as_ps()).collect();
            assert_eq!(times, (0..50).map(|n| n * spacing).collect::<Vec<u64>>());
        }
    }

    /// FastLane 3.3.1, 4.1.1: while data waits, a notification goes as soon as the clock allows, and otherwise data.
    #[test]
    fn notifications_go_before_data_when_the_clock_allows() {
        for is_work_conserving in [false, true] {
            let (model, mut link) =
                (model(is_work_conserving), Link::<RateLimited<Port<2>>>::new());
            (0..20).for_each(|_| link.arrive(&model, us(0), Service::Droppable, 1500));
            (0..3).for_each(|_| link.arrive(&model, us(0), Service::Notification, 64));
            link.run(&model, us(1000));
            let places: Vec<usize> = (0..link.left.len())
                .filter(|&place| link.left[place].1 == Service::Notification)
                .collect();
            // A data packet takes 1.2 us: the fifth packet ends after 5.12 us.
            assert_eq!(places, [0, 6, 12]);
            assert_eq!(link.left.len(), 23);
        }
    }

    #[test]
    fn a_paused_queue_does_not_send() {
        let (model, mut link) = (model(true), Link::<RateLimited<Port<2>>>::new());
        link.port.pause(FIRST);
        link.arrive(&model, us(0), Service::Notification, 64);
        assert_eq!(link.port.next_start(us(0)), Time::NEVER);
        assert_eq!(link.port.dequeue(&mut link.world.context(us(0), &model)), None);
        link.port.resume(FIRST);
        link.port.pause(1);
        link.arrive(&model, us(0), Service::Droppable, 1500);
        link.run(&model, us(9));
        assert_eq!(link.left.len(), 1, "data is paused");
        link.port.resume(1);
        link.run(&model, us(9));
        assert_eq!(link.left[1].1, Service::Droppable);
    }

    #[test]
    fn a_clock_that_is_set_back_moves_the_cap_with_it() {
        let (model, mut link) = (model(false), Link::<RateLimited<Port<2>>>::new());
        (0..2).for_each(|_| link.arrive(&model, us(1000), Service::Notification, 64));
        link.run(&model, us(1001));
        link.port.set_back(TimeDelta::from_us(1000));
        assert_eq!(link.port.next_start(us(1)).as_ps(), 5_120_000);
    }

    #[test]
    fn a_rate_limited_port_without_a_cap_equals_the_inner_port() {
        let model = ServiceModel::paper(8, 9000);
        let (mut rate_limited, mut plain) =
            (Link::<RateLimited<Port<2>>>::new(), Link::<Port<2>>::new());
        for step in 0..200 {
            let service = [Service::Droppable, Service::Control, Service::Trimmed][step % 3];
            let (now, bytes) = (us(step as u64), if step % 3 == 0 { 9064 } else { 64 });
            rate_limited.arrive(&model, now, service, bytes);
            plain.arrive(&model, now, service, bytes);
        }
        rate_limited.run(&model, us(10_000));
        plain.run(&model, us(10_000));
        assert_eq!(rate_limited.left, plain.left);
    }

    /// Checks the invariants of a capped port.
    fn check(
        steps: &[(u64, Service, u16)],
        choices: &Choices,
        link: Link<impl OutputPort<Model = ServiceModel>>,
    ) {
        let (model, mut link) = (choices.build().expect("valid choices"), link);
        let Scheduler::RateLimited(cap) = choices.scheduler else { panic!("the model has a cap") };
        let (mut now, mut arrived) = (Time::ZERO, 0);
        let [max_notified, max] =
            [0, 1].map(|queue| link.port.max_in_queue(&model, queue).expect("two queues").bytes);
        for &(wait, service, bytes) in steps {
            now += TimeDelta::from_ns(wait);
            link.arrive(&model, now, service, bytes);
            arrived += 1;
            // FastLane 3.3.2: the memory of each is its own.
            assert!(link.port.queue_bytes(0) <= max_notified && link.port.queue_bytes(1) <= max);
        }
        link.run(&model, Time::NEVER);
        assert_eq!(arrived, link.left.len() + link.world.drop_list.list().len(), "conserved");
        let notified: Vec<(Time, u16)> = link
            .left
            .iter()
            .filter(|left| left.1 == Service::Notification)
            .map(|&(at, _, bytes)| (at, bytes))
            .collect();
        if cap.is_work_conserving {
            // The transmitter never idles while a packet waits.
            return;
        }
        for (place, &(from, _)) in notified.iter().enumerate() {
            let mut bits = 0u128;
            for &(at, bytes) in &notified[place..] {
                // FastLane 3.3.1: what the rate brings, and one packet.
                let span = u128::from((at - from).as_ps());
                let brought = u128::from(cap.rate.as_bps()) * span;
                assert!(bits * 1_000_000_000_000 <= brought, "{bits} bits in {span} ps");
                bits += u128::from(bytes) * 8;
            }
        }
    }

    /// An arrival: nanoseconds since the last one, service, bytes.
    fn any_arrival() -> impl Strategy<Value = (u64, Service, u16)> {
        let wait = prop_oneof![4 => Just(0u64), 3 => 0u64..3000, 1 => 0u64..100_000];
        let kind = prop_oneof![
            3 => Just((Service::Notification, 64)),
            1 => (64u16..200).prop_map(|bytes| (Service::Notification, bytes)),
            3 => (64u16..9000).prop_map(|bytes| (Service::Droppable, bytes)),
            1 => Just((Service::Control, 64)),
        ];
        (wait, kind).prop_map(|(wait, (service, bytes))| (wait, service, bytes))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        /// FastLane 3.3: notifications always keep to their memory and, unless they may use idle time, to their rate.
        #[test]
        fn notifications_keep_to_rate_and_memory(
            steps in prop::collection::vec(any_arrival(), 1..300),
            permille in 1u64..200,
            is_work_conserving in any::<bool>(),
            bytes in 200u32..20_000,
            notified in 64u32..2000,
            kind in 0usize..3,
        ) {
            let rate = BitRate::from_bps(LINE.as_bps() * permille / 1000);
            let cap = Cap { rate, is_work_conserving };
            let bytes = bytes + notified;
            match kind {
                0 => check(&steps, &Choices::fastlane(bytes, notified, cap), Link::<RateLimited<Port<2>>>::new()),
                1 => {
                    let mut choices = Choices::fastlane(bytes, notified, cap);
                    choices.queues[1].marker = crate::profiles::codel(crate::Signal::Mark);
                    check(&steps, &choices, Link::<RateLimited<CodelPort<Port<2>>>>::new());
                }
                _ => {
                    let choices = Choices::fastlane_pfabric(bytes, notified, cap);
                    check(&steps, &choices, Link::<RateLimited<PriorityDrop<2>>>::new());
                }
            }
        }

        /// FastLane 3.3.1: a port with a work-conserving cap is idle only when no packet waits.
        #[test]
        fn a_work_conserving_cap_leaves_the_link_no_idle_time(
            steps in prop::collection::vec(any_arrival(), 1..200),
        ) {
            let (model, mut link) = (model(true), Link::<RateLimited<Port<2>>>::new());
            let mut now = Time::ZERO;
            for (wait, service, bytes) in steps {
                now += TimeDelta::from_ns(wait);
                link.arrive(&model, now, service, bytes);
                prop_assert_eq!(link.port.next_start(link.free_at), link.free_at);
            }
        }
    }
}
