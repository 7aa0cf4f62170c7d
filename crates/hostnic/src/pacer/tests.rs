//! Tests of the pacer, by the times at which packets leave its line.

use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;
use trimline_packet::SplitMix;
use trimline_packet::fluid::Clock;
use trimline_packet::testing::{Arena, packet};
use trimline_packet::{BitRate, ByteCount, Handle, Packets, Service, Time, TimeDelta};

use crate::{FlowId, Measured, Pacer, PacerModel, PacerSettings, Taken};

const GIGABIT: BitRate = BitRate::from_gbps(1);
const ALWAYS: u32 = 1_000_000_000;
/// Bits a second times picoseconds that make a byte.
const BYTE: i128 = 8_000_000_000_000;

fn us(us: u64) -> Time {
    Time::from_ps(us * 1_000_000)
}

fn flow(number: u32) -> FlowId {
    FlowId::new(number.into())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Left {
    at: Time,
    handle: Handle,
    bytes: u16,
}

/// A pacer before a line, and the packets that have left it.
#[derive(Clone)]
struct Line {
    model: PacerModel,
    pacer: Pacer,
    packets: Arena,
    rng: SplitMix,
    rate: BitRate,
    free_at: Time,
    left: Vec<Left>,
}

impl Line {
    fn new(settings: &PacerSettings) -> Line {
        let model = settings.check(GIGABIT, 1514).expect("right settings");
        Line {
            pacer: Pacer::new(&model),
            model,
            packets: Arena::default(),
            rng: SplitMix(7),
            rate: GIGABIT,
            free_at: Time::ZERO,
            left: Vec::new(),
        }
    }

    /// Sends the pacer's packet, if any; returns whether there was one.
    fn poll(&mut self, now: Time) -> bool {
        let Some(handle) = self.pacer.poll_transmit(now, &self.packets, &self.model) else {
            return false;
        };
        let bytes = self.packets.packet(handle).wire_bytes;
        self.left.push(Left { at: now, handle, bytes });
        self.free_at = now + self.rate.transmission(ByteCount::new(bytes.into()));
        true
    }

    /// Runs up to and including `until`.
    fn run(&mut self, until: Time) {
        loop {
            let next = self.pacer.next_start(self.free_at, &self.model);
            if next > until {
                return;
            }
            let is_sent = self.poll(next);
            let after = self.pacer.next_start(self.free_at.max(next), &self.model);
            assert!(is_sent || after > next, "a poll that gives nothing says when to come back");
        }
    }

    /// Runs up to `now`, then sends a packet from the host.
    fn send(&mut self, now: Time, of: FlowId, bytes: u16) -> (Taken, Handle) {
        self.run(now);
        let handle = self.packets.add(packet(Service::Droppable, bytes, 0));
        let taken = self.pacer.handle_packet(now, of, handle, &mut self.packets, &self.model);
        (taken, handle)
    }

    fn echo(&mut self, now: Time, of: FlowId) {
        self.run(now);
        self.pacer.handle_echo(now, of, &self.model, &mut self.rng);
    }

    fn is_paced(&self, now: Time, of: FlowId) -> bool {
        self.clone().send(now, of, 64).0 == Taken::Waits
    }

    fn bucket(&self, now: Time) -> (BitRate, u64) {
        let (rate, backlog) = self.pacer.buckets(now, &self.model).next().expect("one bucket");
        (rate, backlog.get())
    }
}

/// The testbed's settings, with every echo associating its flow.
fn sure() -> PacerSettings {
    PacerSettings { association_chance: ALWAYS, ..PacerSettings::testbed() }
}

/// The settings of [`sure`] at a constant rate.
fn at_rate(bits: u64, clock: Clock) -> PacerSettings {
    let rate = BitRate::from_bps(bits);
    let interval = TimeDelta::from_ms(1_000_000);
    PacerSettings { first_rate: Some(rate), interval, clock, ..sure() }
}

/// A bucket of 3000 B passes two packets of 1500 B, and then one every 24 us at 500 Mb/s (HULL 5.1). Ticks of 16 us
/// bring 1000 B each.
#[test]
fn a_token_bucket_passes_its_depth_and_then_its_rate() {
    let check = |clock, expected: [u64; 6]| {
        let mut line = Line::new(&at_rate(500_000_000, clock));
        line.echo(Time::ZERO, flow(1));
        for _ in 0..6 {
            assert_eq!(line.send(Time::ZERO, flow(1), 1500).0, Taken::Waits);
        }
        line.run(us(1000));
        let left: Vec<u64> = line.left.iter().map(|left| left.at.as_ps() / 1_000_000).collect();
        assert_eq!(left, expected);
        // The bucket is full again after 48 us, and stays at its depth.
        for _ in 0..3 {
            line.send(us(2000), flow(1), 1500);
        }
        line.run(us(3000));
        let left: Vec<u64> = line.left.iter().map(|left| left.at.as_ps() / 1_000_000).collect();
        assert_eq!(left[6..8], [2000, 2012]);
        assert!((2024..2048).contains(&left[8]), "{left:?}");
    };
    check(Clock::Continuous, [0, 12, 24, 48, 72, 96]);
    check(Clock::Tick(TimeDelta::from_us(16)), [0, 12, 32, 48, 80, 96]);
}

/// HULL 4.2: flows that have not met congestion are not paced, and go ahead of paced flows.
#[test]
fn a_flow_without_echoes_passes() {
    let mut line = Line::new(&at_rate(500_000, Clock::Continuous));
    line.echo(Time::ZERO, flow(1));
    for _ in 0..4 {
        assert_eq!(line.send(Time::ZERO, flow(1), 1500).0, Taken::Waits);
    }
    assert!(line.pacer.is_open());
    let (taken, passing) = line.send(us(1), flow(2), 1500);
    assert_eq!(taken, Taken::Passes);
    assert!(!line.pacer.is_open(), "it waits for the line");
    line.run(us(100));
    assert_eq!((line.left[1].handle, line.left[1].at), (passing, us(12)));
    assert_eq!(line.left[2].at, us(24), "tokens are not lost while another packet is sent");
}

/// HULL 4.2: the association ends T_i after the last echo; each echo extends it.
#[test]
fn an_association_without_echoes_ends_after_its_lifetime() {
    let mut line = Line::new(&sure());
    line.echo(us(0), flow(1));
    line.echo(us(6_000), flow(1));
    let just = |time: Time| Time::from_ps(time.as_ps() - 1);
    assert!(line.is_paced(just(us(16_000)), flow(1)));
    assert!(!line.is_paced(us(16_000), flow(1)));
    assert!(!line.is_paced(us(6_000), flow(2)), "another flow is not");
    assert_eq!(line.pacer.flows(just(us(16_000)), &line.model), 1);
    assert_eq!(line.pacer.flows(us(16_000), &line.model), 0);
    // An echo after the end counts as a first one: it draws.
    line.model.association_probability = 0;
    line.echo(us(16_000), flow(1));
    assert!(!line.is_paced(us(16_000), flow(1)));
    assert_eq!(line.pacer.counters().associated, 1);
}

/// An association stays while a packet of the flow waits: the next packet would overtake it.
#[test]
fn an_association_outlives_its_lifetime_while_a_packet_waits() {
    // 1500 B take 24 ms at 0.5 Mb/s, longer than the 10 ms of the association.
    let mut line = Line::new(&at_rate(500_000, Clock::Continuous));
    line.echo(Time::ZERO, flow(1));
    for _ in 0..3 {
        line.send(Time::ZERO, flow(1), 1500);
    }
    assert_eq!(line.send(us(20_000), flow(1), 1500).0, Taken::Waits);
    line.run(us(60_000));
    let left: Vec<u64> = line.left.iter().map(|left| left.at.as_ps() / 1_000_000).collect();
    assert_eq!(left, [0, 12, 24_000, 48_000]);
    assert_eq!(line.send(us(60_000), flow(1), 1500).0, Taken::Passes);
}

/// HULL 4.2: one echo in eight associates its flow; no draw for an associated flow.
#[test]
fn an_echo_associates_with_its_probability() {
    let settings = PacerSettings { flows: 20_000, ..PacerSettings::testbed() };
    let mut line = Line::new(&settings);
    for number in 0..80_000 {
        line.echo(Time::ZERO, flow(number));
    }
    let associated = line.pacer.counters().associated;
    // Six standard deviations of 93.5 around 10,000.
    assert!((9_440..10_560).contains(&associated), "{associated}");
    let mut once = Line::new(&sure());
    once.echo(Time::ZERO, flow(1));
    let before = once.rng.0;
    once.echo(Time::ZERO, flow(1));
    assert_eq!(once.rng.0, before);
    assert_eq!(once.pacer.counters().associated, 1);
}

/// HULL 5.1: the table holds 64 flows. A further flow is not paced until an association has ended.
#[test]
fn a_full_table_refuses_associations_until_one_ends() {
    let mut line = Line::new(&sure());
    for number in 0..64 {
        line.echo(us(number.into()), flow(number));
    }
    line.echo(us(100), flow(64));
    let counters = line.pacer.counters();
    assert_eq!((counters.associated, counters.refused), (64, 1));
    assert!(!line.is_paced(us(100), flow(64)) && line.is_paced(us(100), flow(63)));
    // Flow 0's association has ended; flow 1's has not, because a packet of it waits.
    line.model.law.min = BitRate::from_bps(1);
    line.send(us(9_999), flow(1), 1500);
    line.send(us(9_999), flow(1), 1500);
    line.send(us(9_999), flow(1), 1500);
    line.echo(us(10_001), flow(65));
    line.echo(us(10_001), flow(66));
    let counters = line.pacer.counters();
    assert_eq!((counters.associated, counters.refused), (65, 2));
    assert_eq!(line.pacer.flows(us(10_001), &line.model), 64);
}

/// HULL 5.1: a FIFO of 128 KB drops and counts overflow; a smaller packet may still fit.
#[test]
fn a_full_fifo_drops_and_counts() {
    let mut line = Line::new(&at_rate(500_000, Clock::Continuous));
    line.echo(Time::ZERO, flow(1));
    let taken: Vec<Taken> = (0..90).map(|_| line.send(Time::ZERO, flow(1), 1500).0).collect();
    // The first is on the line at once; 85 wait, 127,500 B.
    assert!(taken[..86].iter().all(|&taken| taken == Taken::Waits));
    assert!(taken[86..].iter().all(|&taken| taken == Taken::Dropped));
    assert_eq!(line.send(Time::ZERO, flow(1), 501).0, Taken::Dropped);
    assert_eq!(line.send(Time::ZERO, flow(1), 500).0, Taken::Waits);
    assert_eq!(line.bucket(Time::ZERO).1, 128_000);
    let counters = line.pacer.counters();
    assert_eq!((counters.paced, counters.dropped), (87, 5));
    assert_eq!(counters.dropped_bytes, 4 * 1500 + 501);
}

/// A packet larger than the bucket is dropped, and blocks no other.
#[test]
fn a_packet_larger_than_the_bucket_is_dropped() {
    let mut line = Line::new(&sure());
    line.echo(Time::ZERO, flow(1));
    assert_eq!(line.send(Time::ZERO, flow(1), 1515).0, Taken::Dropped);
    assert_eq!(line.send(Time::ZERO, flow(1), 1514).0, Taken::Waits);
    line.run(us(1));
    assert_eq!(line.left.len(), 1);
}

/// M_r counts paced bytes (HULL 4.2, footnote 2) or all bytes of the host (the text).
#[test]
fn unpaced_bytes_count_where_the_rate_measures_all_bytes() {
    let rate = |measured| {
        let mut line = Line::new(&PacerSettings { measured, ..sure() });
        // 1000 B every 16 us: 500 Mb/s that pass.
        (0..1000).for_each(|number| {
            line.send(us(16 * number), flow(1), 1000);
        });
        line.bucket(us(16_000)).0.as_bps()
    };
    assert_eq!(rate(Measured::Paced), 500_000, "nothing is paced: the least rate");
    assert_eq!(rate(Measured::FromHost), 500_000_000);
}

/// HULL 4.2: the backlog of a burst at a low rate drains, as beta raises the rate above the flow's.
#[test]
fn the_backlog_of_a_burst_drains() {
    let mut line = Line::new(&sure());
    line.echo(us(0), flow(1));
    let mut max = 0;
    for number in 0..40_000u64 {
        let now = us(16 * number);
        line.echo(now, flow(1));
        line.send(now, flow(1), 1000);
        // 64 KB at once (LSO) in the middle of 500 Mb/s.
        if number == 20_000 {
            (0..64).for_each(|_| {
                line.send(now, flow(1), 1000);
            });
        }
        max = max.max(line.bucket(now).1);
    }
    assert!(max > 60_000, "{max}");
    line.run(us(16 * 40_000));
    assert_eq!(line.bucket(us(16 * 40_000)), (BitRate::from_bps(500_000_000), 0));
}

/// Flows stay with one bucket, and each bucket has its own rate (HULL 4.2, remark 4).
#[test]
fn buckets_are_independent() {
    let settings = PacerSettings { buckets: 2, ..at_rate(500_000_000, Clock::Continuous) };
    let mut line = Line::new(&settings);
    line.rate = BitRate::from_gbps(100);
    let of_place = |place| (0..).map(flow).find(|flow| flow.place(2) == place).expect("one");
    let flows = [of_place(0), of_place(1)];
    for of in flows {
        line.echo(Time::ZERO, of);
    }
    let mut owners = Vec::new();
    for of in flows {
        for _ in 0..4 {
            let (taken, handle) = line.send(Time::ZERO, of, 1500);
            assert_eq!(taken, Taken::Waits);
            owners.push((handle, of));
        }
    }
    line.run(us(200));
    for of in flows {
        let times: Vec<u64> = line
            .left
            .iter()
            .filter(|left| owners.contains(&(left.handle, of)))
            .map(|left| left.at.as_ps() / 1_000_000)
            .collect();
        assert_eq!(times, [0, 0, 24, 48]);
    }
    assert_eq!(line.left.len(), 8);
}

/// A pacer without calls for a while equals one that is called all the time.
#[test]
fn an_idle_pacer_needs_no_calls() {
    let rates = [us(64), us(640), us(10_000), us(1_000_000)].map(|end| {
        let (mut slept, mut watched) = (Line::new(&sure()), Line::new(&sure()));
        for line in [&mut slept, &mut watched] {
            line.echo(Time::ZERO, flow(1));
            line.send(us(1), flow(1), 1500);
            line.run(us(60));
        }
        (2..end.as_ps() / 32_000_000).for_each(|number| {
            watched.send(us(32 * number), flow(2), 64);
        });
        assert_eq!(slept.bucket(end), watched.bucket(end));
        slept.bucket(end).0.as_bps()
    });
    // 1500 B in the first 64 us leave 23.4 Mb/s: an eighth, beside 7/8 of the line.
    assert_eq!(rates, [898_500_000, 270_000_000, 500_000, 500_000]);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Send { flow: u32, bytes: u16 },
    Echo { flow: u32 },
    Look,
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let step = prop_oneof![
        6 => (0u32..5, 64u16..=1514).prop_map(|(flow, bytes)| Step::Send { flow, bytes }),
        1 => (0u32..5).prop_map(|flow| Step::Echo { flow }),
        1 => Just(Step::Look),
    ];
    let gap = prop_oneof![3 => Just(0u64), 6 => 0u64..15_000_000, 1 => 0u64..400_000_000];
    prop::collection::vec((gap, step), 1..250)
}

fn settings() -> impl Strategy<Value = PacerSettings> {
    let clock = prop_oneof![Just(Clock::Continuous), Just(Clock::Tick(TimeDelta::from_us(16)))];
    let measured = prop_oneof![Just(Measured::Paced), Just(Measured::FromHost)];
    let rates = (500_000u64..1_000_000_000, 0u64..1 << 15);
    let sizes = (1514u64..20_000, 1514u64..30_000);
    (clock, measured, rates, sizes, 1u8..=3, 1u16..=5, 1u64..600).prop_map(
        |(clock, measured, (first, backlog_gain), (bucket, queue), buckets, flows, lifetime)| {
            PacerSettings {
                clock,
                measured,
                first_rate: Some(BitRate::from_bps(first)),
                backlog_gain,
                bucket: ByteCount::new(bucket),
                queue: ByteCount::new(queue),
                buckets,
                flows,
                association_chance: ALWAYS / 2,
                association_lifetime: TimeDelta::from_us(lifetime),
                ..PacerSettings::testbed()
            }
        },
    )
}

/// A packet that the pacer took.
#[derive(Clone, Copy, Debug)]
struct Came {
    at: Time,
    flow: u32,
    taken: Taken,
    handle: Handle,
}

/// The rate of each bucket from each update on.
type Rates = Vec<(Time, Vec<BitRate>)>;

/// Performs the steps until the pacer is empty.
fn perform(settings: &PacerSettings, seed: u64, steps: &[(u64, Step)]) -> (Line, Vec<Came>, Rates) {
    let mut line = Line::new(settings);
    line.rng = SplitMix(seed);
    let (mut now, mut came, mut rates) = (Time::ZERO, Vec::new(), Rates::new());
    let tail = [(40_000_000_000, Step::Look)];
    for &(gap, step) in steps.iter().chain(&tail) {
        now += TimeDelta::from_ps(gap);
        let ended = |rates: &Rates| Time::from_ps(rates.len() as u64 * 64_000_000);
        while ended(&rates) <= now {
            let at = ended(&rates);
            line.run(at);
            let buckets = line.pacer.buckets(at, &line.model);
            rates.push((at, buckets.map(|(rate, _)| rate).collect()));
        }
        match step {
            Step::Send { flow: number, bytes } => {
                let (taken, handle) = line.send(now, flow(number), bytes);
                came.push(Came { at: now, flow: number, taken, handle });
            }
            Step::Echo { flow: number } => line.echo(now, flow(number)),
            Step::Look => line.run(now),
        }
        for (_, backlog) in line.pacer.buckets(now, &line.model) {
            assert!(backlog <= settings.queue, "{backlog} wait");
        }
        assert!(line.pacer.flows(now, &line.model) <= usize::from(settings.flows));
    }
    (line, came, rates)
}

/// Sum of a bucket's rate up to a time, in parts of a byte.
fn granted(rates: &Rates, place: usize, to: Time) -> i128 {
    let ends = rates.iter().skip(1).map(|&(at, _)| at).chain([Time::NEVER]);
    let part = |((start, each), end): (&(Time, Vec<BitRate>), Time)| {
        let span = to.min(end).as_ps().saturating_sub(start.as_ps());
        i128::from(span) * i128::from(each[place].as_bps())
    };
    rates.iter().zip(ends).map(part).sum()
}

proptest! {
    /// HULL 4.2, 5.1: in any span a bucket passes at most its rate's bytes plus its depth, with ticks one tick's tokens
    /// more: R_max t + 3 KB. The rate keeps its bounds.
    #[test]
    fn no_interval_passes_more_than_the_rate_and_the_depth(
        settings in settings(), seed: u64, steps in steps(),
    ) {
        let (line, came, rates) = perform(&settings, seed, &steps);
        for (_, each) in &rates {
            for rate in each {
                prop_assert!((settings.min_rate..=GIGABIT).contains(rate));
                prop_assert_eq!(rate.as_bps() % 500_000, 0);
            }
        }
        let tick = match settings.clock {
            Clock::Continuous => 0,
            Clock::Tick(tick) => i128::from(tick.as_ps()),
        };
        for place in 0..usize::from(settings.buckets) {
            let is_of = |left: &&Left| {
                came.iter().any(|came| {
                    came.handle == left.handle
                        && came.taken == Taken::Waits
                        && flow(came.flow).place(settings.buckets) == place
                })
            };
            let max = rates.iter().map(|(_, each)| each[place].as_bps()).max();
            let slack = i128::from(settings.bucket.get()) * BYTE
                + tick * i128::from(max.expect("rates"));
            let left: Vec<(i128, Left)> = line
                .left
                .iter()
                .filter(is_of)
                .map(|left| (granted(&rates, place, left.at), *left))
                .collect();
            for (number, &(from, first)) in left.iter().enumerate() {
                let mut bytes = 0i128;
                for &(to, last) in &left[number..] {
                    bytes += i128::from(last.bytes);
                    prop_assert!(bytes * BYTE <= to - from + slack, "{first:?} {last:?} {bytes}");
                }
            }
        }
    }

    /// Packets are conserved, and flows keep their order, also if an association begins or ends between packets.
    #[test]
    fn packets_leave_once_and_in_flow_order(
        settings in settings(), seed: u64, steps in steps(),
    ) {
        let (line, came, _) = perform(&settings, seed, &steps);
        for number in 0..5 {
            let of = |came: &&Came| came.flow == number && came.taken != Taken::Dropped;
            let expected: Vec<Handle> = came.iter().filter(of).map(|came| came.handle).collect();
            let is_of = |left: &&Left| {
                came.iter().any(|came| came.flow == number && came.handle == left.handle)
            };
            let left: Vec<Handle> = line.left.iter().filter(is_of).map(|left| left.handle).collect();
            prop_assert_eq!(left, expected);
        }
        let counters = line.pacer.counters();
        let count = |taken| came.iter().filter(|came| came.taken == taken).count() as u64;
        prop_assert_eq!(
            [counters.passed, counters.paced, counters.dropped],
            [Taken::Passes, Taken::Waits, Taken::Dropped].map(count)
        );
    }

    /// HULL 4.2: passing packets are sent immediately: no waiting packet starts before them.
    #[test]
    fn unpaced_packets_leave_before_paced_ones(settings in settings(), seed: u64, steps in steps()) {
        let (line, came, _) = perform(&settings, seed, &steps);
        let left_at = |came: &Came| line.left.iter().find(|left| left.handle == came.handle);
        let passing = came.iter().filter(|came| came.taken == Taken::Passes);
        let waiting: Vec<Time> = came
            .iter()
            .filter(|came| came.taken == Taken::Waits)
            .map(|came| left_at(came).expect("it has left").at)
            .collect();
        for packet in passing {
            let left = left_at(packet).expect("it has left").at;
            prop_assert!(!waiting.iter().any(|&at| packet.at < at && at < left));
        }
    }

    /// Additional polls change nothing. The pacer names the first instant at which a packet can go.
    #[test]
    fn an_additional_poll_changes_nothing(
        settings in settings(), seed: u64, steps in steps(),
        inspects in prop::collection::vec(0u64..2_000_000_000, 0..200),
    ) {
        let (expected, ..) = perform(&settings, seed, &steps);
        let mut line = Line::new(&settings);
        line.rng = SplitMix(seed);
        let mut inspects = inspects;
        inspects.sort_unstable();
        let mut inspects = inspects.into_iter().map(Time::from_ps).peekable();
        let mut now = Time::ZERO;
        for (gap, step) in steps {
            now += TimeDelta::from_ps(gap);
            while let Some(at) = inspects.next_if(|&at| at <= now) {
                line.run(at);
                if line.free_at <= at && line.pacer.next_start(at, &line.model) > at {
                    prop_assert!(!line.poll(at), "before its time");
                }
            }
            match step {
                Step::Send { flow: number, bytes } => drop(line.send(now, flow(number), bytes)),
                Step::Echo { flow: number } => line.echo(now, flow(number)),
                Step::Look => line.run(now),
            }
        }
        line.run(now + TimeDelta::from_ps(40_000_000_000));
        prop_assert_eq!(line.left, expected.left);
    }
}

/// Sends `steps_of_rate` times 4 B every 8 us, eight packets per interval of 64 us. After a second the rate is right,
/// and the backlog worth at most half a step of the rate (beta Q / eta).
fn converges(
    steps_of_rate: u64,
    first: u64,
    gain: u32,
    backlog_gain: u64,
    clock: Clock,
) -> Result<(), TestCaseError> {
    let bytes = 4 * steps_of_rate as u16;
    let settings = PacerSettings {
        first_rate: Some(BitRate::from_bps(first)),
        gain,
        backlog_gain,
        clock,
        ..sure()
    };
    prop_assert_eq!(settings.warnings(GIGABIT), vec![]);
    let mut line = Line::new(&settings);
    for number in 0..125_000 {
        line.echo(us(8 * number), flow(1));
        line.send(us(8 * number), flow(1), bytes);
    }
    let end = us(1_000_000);
    line.run(end);
    let (rate, backlog) = line.bucket(end);
    prop_assert_eq!(rate.as_bps(), u64::from(bytes) * 1_000_000);
    let pushed = backlog * 8 * backlog_gain * u64::from(ALWAYS);
    let half_a_step = u64::from(gain) * 500_000 / 2;
    prop_assert!(pushed <= half_a_step, "{} B wait", backlog);
    Ok(())
}

/// beta Q / eta is less than half a step, and the rate is a multiple of a step: it does not rise for a packet of 256 B,
/// as a backlog of at most 256.04 B stays.
#[test]
fn a_packet_of_256_bytes_waits_forever() {
    converges(64, 500_000, 131_090_749, 16, Clock::Continuous).unwrap();
}

/// beta Q / eta is less than half a step: a backlog of at most 284 B stays; a packet has 168 B.
#[test]
fn a_packet_of_168_bytes_waits_forever() {
    converges(42, 500_000, 145_654_731, 16, Clock::Continuous).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// HULL 4.2, footnote 2: with paced bytes at a fixed rate R*, the rate settles at R* and the backlog at zero from
    /// any start, if beta T_r < eta. With a rate in steps (HULL 5.1) the backlog is at most half a step's worth.
    #[test]
    fn the_rate_converges_to_the_arrival_rate(
        steps_of_rate in 1u64..=249,
        first in 500_000u64..1_000_000_000,
        gain in 50_000_000u32..=500_000_000,
        backlog_gain in 16u64..700,
        clock in prop_oneof![Just(Clock::Continuous), Just(Clock::Tick(TimeDelta::from_us(16)))],
    ) {
        converges(steps_of_rate, first, gain, backlog_gain, clock)?;
    }
}

/// Waiting packets, tokens and associations survive a restart of the clock, and gaps stay.
#[test]
fn a_clock_that_is_set_back_changes_no_gap() {
    let settings = PacerSettings {
        association_chance: ALWAYS,
        first_rate: Some(BitRate::from_bps(100_000_000)),
        clock: Clock::Continuous,
        ..PacerSettings::testbed()
    };
    // A multiple of the interval, so that updates keep their places.
    let by = TimeDelta::from_us(64_000);
    let leaves = |is_set_back: bool| -> Vec<u64> {
        let model = settings.check(GIGABIT, 1514).expect("right settings");
        let (mut pacer, mut packets) = (Pacer::new(&model), Arena::default());
        let mut now = us(64_010);
        pacer.handle_echo(now, flow(1), &model, &mut SplitMix(7));
        for _ in 0..12 {
            let handle = packets.add(packet(Service::Droppable, 1500, 0));
            pacer.handle_packet(now, flow(1), handle, &mut packets, &model);
        }
        let (mut left, mut offset) = (Vec::new(), 0);
        while left.len() < 12 {
            now = pacer.next_start(now, &model);
            if pacer.poll_transmit(now, &packets, &model).is_some() {
                left.push(now.as_ps() + offset);
            }
            if is_set_back && left.len() == 5 && offset == 0 {
                pacer.set_back(by);
                (now, offset) = (now.set_back(by), by.as_ps());
            }
        }
        assert_eq!(pacer.flows(now, &model), 1);
        left
    };
    assert_eq!(leaves(true), leaves(false));
}
