//! Two long flows of the kernel's TCP into one port of the switch, which has a marking queue, a phantom queue, or
//! neither (HULL, NSDI 2012, 3.1): their throughput, and the waits of frames at the port by the switch's clock.
//!
//! Hosts may have pacers, which the switch keeps on their cables, as HULL's testbed has them (5.2). Without one they
//! send no bursts of segmentation offload (4.1): a host gives its interface one segment at a time.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use trimline_packet::{BitRate, ByteCount, PortCounters, TimeDelta};

use super::group::{Watched, with_watched_switches};
use super::network::{Shape, TestNetwork};
use super::tcp::{self, Received, TcpCounters};
use super::watch::Watch;
use trimline_stack::clock::Clock;
use trimline_stack::switch::{Fabric, PacerCounters, Waits};

/// The MTU of every interface (HULL 6.1).
const MTU: usize = 1500;

/// Number of flows, each from its own host.
const FLOWS: u32 = 2;

/// Time of flows before measurements: several sawteeth of TCP in the deep queue.
const WARM_UP: Duration = Duration::from_secs(3);

/// The way in which the port marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// No marks: the queue drops packets that do not fit.
    None,
    /// The queue marks from a length on.
    Queue {
        /// The queue length from which it marks, in packets.
        packets: u32,
    },
    /// A phantom queue with a tick of 800 ns (HULL 5.1).
    Phantom {
        /// The drain rate.
        drain: BitRate,
        /// A packet that finds more than this in the counter is marked.
        threshold: ByteCount,
    },
}

/// The parameters of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Rate of every link.
    pub rate: BitRate,
    /// Delay of every link: a round trip has four links.
    pub delay: TimeDelta,
    /// Packets of the port's queue.
    pub queue: u32,
    /// The way in which the port marks.
    pub marker: Marker,
    /// The kernel's name of TCP's congestion control.
    pub congestion: String,
    /// Whether hosts use ECN.
    pub has_ecn: bool,
    /// True if hosts have pacers, with HULL's settings for this rate.
    pub has_pacers: bool,
    /// Length of the measured interval.
    pub time: Duration,
}

impl Setting {
    fn switch(&self) -> String {
        let Setting { rate, delay, queue, marker, has_pacers, .. } = self;
        let (profile, key) = match marker {
            Marker::None => ("drop-tail", String::new()),
            Marker::Queue { packets } => ("ecn", format!("ecn_threshold = {packets}")),
            Marker::Phantom { drain, threshold } => {
                let (drain, threshold) = (drain.as_bps(), threshold.get());
                let keys = format!("drain_rate = \"{drain}bps\", threshold = \"{threshold}B\"");
                ("drop-tail", format!("phantom_queue = {{ {keys}, tick = \"800ns\" }}"))
            }
        };
        let pacer = if *has_pacers { pacer(*rate) } else { String::new() };
        format!(
            "rate = \"{}bps\"\ndelay = \"{}ps\"\npayload = {MTU}\nprofile = \"{profile}\"\npackets = {queue}\n\
             {key}{pacer}",
            rate.as_bps(),
            delay.as_ps(),
        )
    }
}

/// The line of the configuration for HULL's pacer (table 3, 5.1) at another rate than 1 Gb/s: all times are longer by
/// the ratio, and beta, a rate for each byte and update, is smaller by it, at least 1. A bucket holds two frames of 1518
/// B, as the paper's 3 KB hold two packets of 1500.
fn pacer(rate: BitRate) -> String {
    const GIGABIT: u64 = 1_000_000_000;
    let scaled = |ns: u64| ns.saturating_mul(GIGABIT) / rate.as_bps().max(1);
    let beta = (16 * rate.as_bps() / GIGABIT).max(1);
    format!(
        "\npacer = {{ interval = \"{}ns\", tick = \"{}ns\", association_lifetime = \"{}ns\", backlog_gain = {beta}, \
         bucket = \"3036B\" }}",
        scaled(64_000),
        scaled(16_000),
        scaled(10_000_000)
    )
}

/// The receiver's port: hosts' ports are the first, and the receiver is the first host.
const PORT: u32 = 0;

#[derive(Clone, Debug)]
struct Seen {
    port: PortCounters,
    by_phantom: u64,
    waits: Waits,
    pacers: PacerCounters,
}

impl Seen {
    fn of(fabric: &Fabric) -> Seen {
        let (_, _, port) = fabric.counters().next().expect("a star has a port for each host");
        let waits = fabric.waits(PORT).expect("it was asked for").clone();
        let mut pacers = PacerCounters::default();
        for state in (1..=FLOWS).filter_map(|sender| fabric.pacer(sender)) {
            pacers.passed += state.counters.passed;
            pacers.paced += state.counters.paced;
            pacers.dropped += state.counters.dropped;
        }
        Seen { port, by_phantom: fabric.marked_by_phantom(PORT), waits, pacers }
    }
}

/// The results of the measured interval.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Length of the interval.
    pub time: Duration,
    /// The rate of the port.
    pub rate: BitRate,
    /// Bytes of each flow that the receiver's application read.
    pub bytes: Vec<u64>,
    /// Counters of the port.
    pub port: PortCounters,
    /// Packets that the phantom queue marked.
    pub by_phantom: u64,
    /// Waits of frames at the port, in nanoseconds.
    pub waits: Waits,
    /// Packets of the senders that passed their pacers, waited and were dropped there.
    pub pacers: PacerCounters,
    /// Counters of the senders' kernels.
    pub kernel: TcpCounters,
    /// Time that the switch's thread waited for a processor, if the kernel counts it.
    pub held_up: Option<Duration>,
}

impl Measured {
    fn percent(&self, bytes: u64) -> f64 {
        let bits = bytes as f64 * 8.0 / self.time.as_secs_f64().max(1e-9);
        bits / self.rate.as_bps() as f64 * 100.0
    }

    /// Returns the throughput of both flows in frames, as in HULL, in percent of the port's rate.
    pub fn throughput_percent(&self) -> f64 {
        self.percent(self.port.bytes)
    }

    /// Returns the goodput of both flows, in percent of the port's rate.
    pub fn goodput_percent(&self) -> f64 {
        self.percent(self.bytes.iter().sum())
    }

    /// Returns the smaller flow's share of the goodput, in percent.
    pub fn smaller_percent(&self) -> f64 {
        let min = self.bytes.iter().min().copied().unwrap_or(0);
        min as f64 / self.bytes.iter().sum::<u64>().max(1) as f64 * 100.0
    }

    /// Returns the mean wait of a frame, in microseconds.
    pub fn mean_us(&self) -> f64 {
        self.waits.mean() / 1000.0
    }

    /// Returns the maximum wait of this share of frames, in microseconds.
    pub fn wait_us(&self, share: f64) -> f64 {
        self.waits.value_at_quantile(share) as f64 / 1000.0
    }

    /// Returns the percentage of packets that the port marked.
    pub fn marked_percent(&self) -> f64 {
        self.port.marked as f64 / self.port.packets.max(1) as f64 * 100.0
    }

    /// Returns the percentage of the senders' packets that were paced; 0 without pacers.
    pub fn paced_percent(&self) -> f64 {
        let PacerCounters { passed, paced, .. } = self.pacers;
        paced as f64 / (passed + paced).max(1) as f64 * 100.0
    }

    /// Returns the percentage of time that the switch's thread waited for a processor; NaN if unknown.
    pub fn held_up_percent(&self) -> f64 {
        let held_up = self.held_up.map_or(f64::NAN, |held_up| held_up.as_secs_f64());
        held_up / self.time.as_secs_f64().max(1e-9) * 100.0
    }
}

struct Sight {
    at: Instant,
    bytes: Vec<u64>,
    seen: Seen,
    held_up: Option<Duration>,
    kernel: TcpCounters,
}

fn since(from: &Sight, to: Sight, rate: BitRate) -> Measured {
    let mut waits = to.seen.waits;
    waits.subtract(&from.seen.waits).expect("the earlier of two states of one histogram");
    Measured {
        time: to.at - from.at,
        rate,
        bytes: to.bytes.iter().zip(&from.bytes).map(|(to, from)| to - from).collect(),
        port: to.seen.port.since(&from.seen.port),
        by_phantom: to.seen.by_phantom - from.seen.by_phantom,
        waits,
        pacers: PacerCounters {
            passed: to.seen.pacers.passed - from.seen.pacers.passed,
            paced: to.seen.pacers.paced - from.seen.pacers.paced,
            dropped: to.seen.pacers.dropped - from.seen.pacers.dropped,
            ..PacerCounters::default()
        },
        kernel: to.kernel.since(from.kernel),
        held_up: to.held_up.zip(from.held_up).map(|(to, from)| to.saturating_sub(from)),
    }
}

/// Runs two long flows into one port.
///
/// # Errors
/// Fails without a privilege or this congestion control, or if a flow breaks.
pub fn long_flows(setting: &Setting) -> io::Result<Measured> {
    let network = TestNetwork::build(Shape::Star(1 + FLOWS), MTU)?;
    for host in &network.hosts {
        host.namespace.set("ipv4/tcp_ecn", if setting.has_ecn { "1" } else { "0" })?;
        // HULL 4.1: without segmentation offload. Otherwise TCP joins segments, and the kernel segments them below it.
        host.namespace.ip(&[format!("link set dev {} gso_max_segs 1", host.interface)])?;
    }
    let (clock, watch) = (Clock::real(), Watch::new());
    let watched = Watched {
        prepare: |fabric: &mut Fabric| fabric.watch_waits(PORT),
        show: |fabric: &Fabric| watch.show(|| Seen::of(fabric)),
    };
    let (measured, _) =
        with_watched_switches(&network, &setting.switch(), &clock, None, watched, || {
            let (receiver, senders) = network.hosts.split_first().expect("it has three hosts");
            // The switch has its own processor: its thread reads frames when they come.
            tcp::beside_flows(
                senders,
                receiver,
                &setting.congestion,
                Some([0, 0]),
                |received: &Received| {
                    let inspect = || -> io::Result<Sight> {
                        let kernel = TcpCounters::of(senders)?;
                        let (seen, held_up) = watch.ask()?;
                        let bytes = received.of_each();
                        Ok(Sight { at: Instant::now(), bytes, seen, held_up, kernel })
                    };
                    thread::sleep(WARM_UP);
                    let before = inspect()?;
                    thread::sleep(setting.time);
                    Ok(since(&before, inspect()?, setting.rate))
                },
            )
        })?;
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(marker: Marker, expected: &str) {
        let setting = Setting {
            rate: BitRate::from_bps(8_000_000),
            delay: TimeDelta::from_us(250),
            queue: 7,
            marker,
            congestion: "reno".to_owned(),
            has_ecn: true,
            has_pacers: false,
            time: Duration::ZERO,
        };
        let head = "rate = \"8000000bps\"\ndelay = \"250000000ps\"\npayload = 1500\n";
        assert_eq!(setting.switch(), format!("{head}{expected}"));
        let paced = Setting { has_pacers: true, ..setting };
        let pacer = "\npacer = { interval = \"8000000ns\", tick = \"2000000ns\", \
                     association_lifetime = \"1250000000ns\", backlog_gain = 1, bucket = \"3036B\" }";
        assert_eq!(paced.switch(), format!("{head}{expected}{pacer}"));
    }

    #[test]
    fn the_switch_configuration_has_its_marker() {
        check(Marker::None, "profile = \"drop-tail\"\npackets = 7\n");
        check(Marker::Queue { packets: 3 }, "profile = \"ecn\"\npackets = 7\necn_threshold = 3");
        let drain = BitRate::from_bps(7_600_000);
        check(
            Marker::Phantom { drain, threshold: ByteCount::new(1000) },
            "profile = \"drop-tail\"\npackets = 7\n\
             phantom_queue = { drain_rate = \"7600000bps\", threshold = \"1000B\", tick = \"800ns\" }",
        );
    }

    #[test]
    fn latencies_are_counted_within_the_measured_interval() {
        let waits = |values: &[u64]| {
            let mut waits = Waits::new_with_bounds(1, 1_000_000, 3).unwrap();
            values.iter().for_each(|&value| waits.saturating_record(value));
            waits
        };
        let start = Instant::now();
        let sight = |ms, values: &[u64], bytes: [u64; 2], port: u64| Sight {
            at: start + Duration::from_millis(ms),
            bytes: bytes.to_vec(),
            seen: Seen {
                port: PortCounters {
                    packets: port,
                    bytes: port * 1000,
                    marked: port / 4,
                    ..PortCounters::default()
                },
                by_phantom: port / 10,
                waits: waits(values),
                pacers: PacerCounters { passed: port, paced: port * 3, ..PacerCounters::default() },
            },
            held_up: Some(Duration::from_millis(ms / 10)),
            kernel: TcpCounters::default(),
        };
        let (before, after) = (
            sight(0, &[1000], [0, 1000], 40),
            sight(1000, &[1000, 2000, 4000], [30_000, 11_000], 80),
        );
        let measured = since(&before, after, BitRate::from_bps(640_000));
        assert_eq!(measured.throughput_percent(), 50.0);
        assert_eq!(measured.goodput_percent(), 50.0);
        assert_eq!(measured.smaller_percent(), 25.0);
        assert_eq!((measured.marked_percent(), measured.by_phantom), (25.0, 4));
        assert_eq!(measured.held_up_percent(), 10.0);
        assert_eq!((measured.pacers.passed, measured.paced_percent()), (40, 75.0));
        assert_eq!(measured.waits.len(), 2);
        assert!((measured.mean_us() - 3.0).abs() < 0.01, "{}", measured.mean_us());
        assert!((measured.wait_us(0.99) - 4.0).abs() < 0.01);
    }
}
