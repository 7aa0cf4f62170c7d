//! `trimline bench`: packet-hops per second on the standard workloads.
//!
//! Each measurement has its own process, for its peak memory; the best of several counts, since other load only adds
//! time. With several threads, each is paired with a run on one thread just before; the median of the pairs gives the
//! speed-up.

use std::ops::ControlFlow;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use clap::Args;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use trimline_experiments::{Bar, Failure, notice};
use trimline_sim::scenario::Scenario;

use crate::output::Output;
use crate::terminal::{columns, print};

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    output: Output,
    /// Run permutations of 16 to 65,536 hosts, which show how time and memory grow.
    #[arg(long, conflicts_with = "only")]
    scale: bool,
    /// Run the large workloads: 8192 hosts for 5 ms, 65,536 hosts, and an incast of 60,000 hosts.
    #[arg(long, conflicts_with_all = ["only", "scale"])]
    large: bool,
    /// Run only these workloads (comma-separated names), also of --scale and --large.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// Threads per run. With more than one, each measurement is paired with a single-threaded run.
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// Number of repetitions; the best counts, or the median with several threads. Default: 3, or 5 with several
    /// threads; 1 with --large or workloads of HULL.
    #[arg(long, value_name = "N")]
    repeat: Option<usize>,
    /// Run one workload once in this process and print its numbers as JSON.
    #[arg(long, value_name = "NAME", hide = true, conflicts_with = "only")]
    once: Option<String>,
    /// Simulated time. Default: the workload's.
    #[arg(long, value_name = "TIME", hide = true)]
    duration: Option<String>,
    /// Engine.
    #[arg(long, value_parser = ["windows", "heap"], hide = true)]
    engine: Option<String>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Measurement {
    workload: String,
    hosts: u32,
    threads: usize,
    hops: u64,
    /// CPU time from the scenario's text to the complete network.
    set_up_seconds: f64,
    /// CPU time of the run, all threads, without set-up.
    seconds: f64,
    wall_seconds: f64,
    /// From CPU time with one thread, as it varies less with other load; from wall time with several.
    ns_per_hop: f64,
    /// Wall time with one thread over wall time with several: median of the pairs.
    speed_up: Option<f64>,
    /// Counted under callgrind by `make bench-instructions`; never by this command.
    instructions_per_hop: Option<f64>,
    peak_rss_bytes: Option<u64>,
    /// Peak memory less the process's before, per host with its ports and flows.
    bytes_per_host: Option<f64>,
}

/// A standard workload: 10 Gb/s, 1 us a link, 9000 B, initial window 23. HULL's use their paper's network.
struct Workload {
    name: &'static str,
    hosts: u32,
    /// Topology and links; empty: a FatTree with these hosts.
    network: &'static str,
    transport: &'static str,
    /// Simulated time; `None`: until every flow has ended.
    duration: Option<&'static str>,
    flows: &'static str,
}

impl Workload {
    /// NDP, unless [`Workload::with`] names another.
    const fn new(
        name: &'static str,
        hosts: u32,
        network: &'static str,
        duration: Option<&'static str>,
        flows: &'static str,
    ) -> Workload {
        let transport = "transport.ndp = { initial_window = 23, rto = \"5.37ms\" }";
        Workload { name, hosts, network, transport, duration, flows }
    }

    /// Every host sends to one other, without end.
    const fn permutation(name: &'static str, hosts: u32, duration: &'static str) -> Workload {
        let flows = "permutation = {}\nsize = \"long-lived\"";
        Workload::new(name, hosts, "", Some(duration), flows)
    }

    /// Poisson arrivals with Pareto sizes; 13.9 s are five million flows.
    const fn hull(name: &'static str) -> Workload {
        let flows = "random = {}\nsize.pareto = { shape = \"1.05\", mean = \"100KB\" }\n\
                     arrivals.poisson = { every = \"533.333us\", until = \"13.9s\" }\n\
                     connection = { each = 2 }";
        let network = "seeds = [1]\n\
                       topology.clos = { pods = 8, tors_per_pod = 4, hosts_per_tor = 6, aggregations_per_pod = 2, \
                       cores_per_aggregation = 4 }\nlinks.delay = \"200ns\"\nhost.delay = \"500ns\"";
        Workload::new(name, 192, network, None, flows)
    }

    /// Messages of W2 at 80 % on the network of Homa's authors.
    const fn homa(name: &'static str) -> Workload {
        let flows = "random = {}\nsize = { distribution = \"homa-w2\" }\n\
                     arrivals = { poisson = { load = \"63.68%\" } }";
        let network = "topology.leafspine = { leaves = 9, spines = 4, hosts_per_leaf = 16 }\n\
                       links = { rate = \"10Gbps\", framing = \"20B\", host = { delay = \"875ns\" }, \
                       tor = { rate = \"40Gbps\", delay = \"250ns\" } }";
        Workload::new(name, 144, network, Some("4ms"), flows)
    }

    /// Incasts into a pod over random traffic, as in opf/fig06.
    const fn opf(name: &'static str) -> Workload {
        let flows = "random = {}\nsize = { distribution = \"hadoop\" }\n\
                     arrivals = { poisson = { load = \"30%\" } }\n\
                     [[workload]]\nname = \"incast\"\n\
                     incast = { receiver = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], senders = 216 }\n\
                     size = { distribution = \"hadoop\" }\n\
                     arrivals = { periodic = { every = \"400us\" } }";
        let network =
            "topology.fattree.hosts = 432\nlinks = { rate = \"100Gbps\", delay = \"500ns\" }";
        Workload::new(name, 432, network, Some("3ms"), flows)
    }

    /// Groups of answers and transfers of 1 MB at 60 %, a tenth of it short, as in fastlane/fig06.
    const fn fastlane(name: &'static str) -> Workload {
        let flows = "partition_aggregate = { total = [\"32KB\", \"64KB\", \"96KB\", \"128KB\", \"160KB\"], \
                     request = \"10B\" }\n\
                     size.mixture = [{ size = \"2KB\" }, { size = \"4KB\" }, { size = \"8KB\" }, { size = \"16KB\" }, \
                     { size = \"32KB\" }]\n\
                     arrivals = { poisson = { load = \"6%\" } }\n\
                     [[workload]]\nname = \"long\"\n\
                     partition_aggregate = { servers = 1, request = \"10B\" }\nsize = \"1MB\"\n\
                     arrivals = { poisson = { load = \"54%\" } }";
        let network = "topology.fattree.k = 8\nlinks = { rate = \"10Gbps\", delay = \"700ns\" }";
        Workload::new(name, 128, network, Some("20ms"), flows)
    }

    /// The permutation at 100 Gb/s.
    const fn at_100_gbps(name: &'static str) -> Workload {
        let flows = "permutation = {}\nsize = \"long-lived\"";
        let network =
            "topology.fattree.hosts = 432\nlinks = { rate = \"100Gbps\", delay = \"1us\" }";
        Workload::new(name, 432, network, Some("2.01ms"), flows)
    }

    const fn with(self, transport: &'static str) -> Workload {
        Workload { transport, ..self }
    }

    fn is_hull(&self) -> bool {
        self.name.starts_with("hull-")
    }
}

const STANDARD: [Workload; 5] = [
    Workload::permutation("permutation-128", 128, "20.1ms"),
    Workload::permutation("permutation-432", 432, "20.1ms"),
    Workload::permutation("permutation-1024", 1024, "5.05ms"),
    Workload::permutation("permutation-8192", 8192, "0.3ms"),
    Workload::new(
        "incast-431x450KB",
        432,
        "",
        None,
        "incast = { receiver = 0, senders = 431 }\nsize = \"450KB\"",
    ),
];

/// The permutation with the TCP family, as measured in the authors' simulator: queues of 100 packets, every segment
/// answered; DCTCP also with as much memory shared by a switch's ports. Then lossless networks, whose inputs stop at 15
/// packets: with DCQCN, and with DCTCP as NDP's authors had it in DCQCN's place. Part of the standard workloads.
const FAMILY: [Workload; 6] = [
    Workload::permutation("tcp-432", 432, "100.1ms").with(
        "transport.tcp = { ack_every = 1, sack = false, rto_min = \"10ms\" }\n\
         switch.data_queue = \"906400B\"",
    ),
    Workload::permutation("dctcp-432", 432, "100.1ms").with(
        "transport.dctcp = { ack_every = 1, sack = false, rto_min = \"10ms\" }\n\
         switch = { data_queue = \"906400B\", ecn_threshold = \"271920B\" }",
    ),
    Workload::permutation("dctcp-shared-432", 432, "100.1ms").with(
        "transport.dctcp = { ack_every = 1, sack = false, rto_min = \"10ms\" }\n\
         switch = { shared_buffer_per_port = \"906400B\", ecn_threshold = \"271920B\" }",
    ),
    Workload::permutation("mptcp-432", 432, "20.1ms").with(
        "transport.mptcp = { ack_every = 1, rto_min = \"10ms\" }\n\
         switch.data_queue = \"906400B\"",
    ),
    Workload::permutation("dcqcn-432", 432, "20.1ms").with(
        "transport.dcqcn = {}\n\
         switch.pfc = { xoff = \"15pkt\", xon = \"12pkt\" }",
    ),
    Workload::permutation("dcqcn-window-432", 432, "20.1ms").with(
        "transport.dctcp = { initial_threshold = 15, ack_every = 1, sack = false, rto_initial = \"10ms\", rto_min = \"10ms\" }\n\
         switch = { ecn_threshold = \"16pkt\", ecn_mark_at = \"dequeue\", pfc = { xoff = \"15pkt\", xon = \"12pkt\" } }",
    ),
];

/// The permutation with pHost, with its own switch of eight packets a port. Part of the standard workloads.
const PHOST: [Workload; 1] =
    [Workload::permutation("phost-432", 432, "20.1ms").with("transport.phost = {}")];

/// W2 at 80 % on the network of Homa's authors: their Homa, and NDP. Part of the standard workloads.
const HOMA: [Workload; 2] = [
    Workload::homa("homa-144").with(
        "transport.homa = { payload = \"1442B\", rtt_bytes = \"10000B\", scheduled_levels = 3, \
         cutoffs = { distribution = \"homa-w2\" }, acks = false, linger = \"20us\", \
         time_wait = \"300us\", resend = \"100ms\", \
         retry = \"10s\" }\nswitch.data_queue = \"20000pkt\"",
    ),
    Workload::homa("ndp-144").with("transport.ndp = { payload = \"1442B\", initial_window = 8 }"),
];

/// Incasts into a pod over random traffic with NDP: with and without detour. Part of the standard workloads.
const OPF: [Workload; 2] = [
    Workload::opf("opf-432").with(
        "transport.ndp = { initial_window = 23, marked = 12, rto = \"5.37ms\" }\n\
         switch = { data_queue = \"64pkt\", detour = {} }",
    ),
    Workload::opf("opf-432-off").with(
        "transport.ndp = { initial_window = 23, marked = 12, rto = \"5.37ms\" }\n\
         switch = { data_queue = \"64pkt\" }",
    ),
];

/// FastLane's groups at 60 %: TCP over switches that notify senders of drops, pFabric over its own, and TCP over plain
/// switches. Part of the standard workloads.
const FASTLANE: [Workload; 3] = [
    Workload::fastlane("fastlane-128").with(
        "transport.tcp = { payload = \"1436B\", handshake = \"standing\", sack = false, timestamps = false, ack_every = 1, \
         rto_initial = \"1ms\", rto_min = \"1ms\", notifications = \"fastlane\" }\nswitch.data_queue = \"128KB\"",
    ),
    Workload::fastlane("pfabric-128").with(
        "transport.pfabric = { payload = \"1436B\", priority = \"total\" }\nswitch.data_queue = \"64KB\"",
    ),
    Workload::fastlane("tcp-128").with(
        "transport.tcp = { payload = \"1436B\", handshake = \"standing\", sack = false, timestamps = false, ack_every = 1, \
         rto_initial = \"1ms\", rto_min = \"1ms\" }\nswitch = { profile = \"drop-tail\", data_queue = \"128KB\" }",
    ),
];

/// The permutation at 100 Gb/s with what uet-htsim and HPCC's authors simulate, beside NDP. Part of the standard workloads.
const AT_100_GBPS: [Workload; 4] = [
    Workload::at_100_gbps("ndp-432-100g").with("transport.ndp = { payload = \"4086B\" }"),
    Workload::at_100_gbps("nscc-432").with(
        "transport.nscc = { payload = \"4086B\" }\n\
         switch = { profile = \"uec\", port = [{ layer = \"tor\", direction = \"down\", last_hop = true }] }",
    ),
    Workload::at_100_gbps("rccc-432").with(
        "transport.rccc = { payload = \"4086B\" }\n\
         switch = { profile = \"uec\", port = [{ layer = \"tor\", direction = \"down\", last_hop = true }] }",
    ),
    Workload::at_100_gbps("hpcc-432").with(
        "transport.hpcc = { payload = \"4086B\" }\n\
         switch = { profile = \"drop-tail\", pfc.xoff = \"1250KB\" }",
    ),
];

/// FatTrees of 4 to 64 ports a switch, each for about the same work: from half a millisecond on mostly steady state, as
/// the first windows are pushed in 0.17 ms.
const SCALE: [Workload; 9] = [
    Workload::permutation("scale-16", 16, "100ms"),
    Workload::permutation("scale-54", 54, "50ms"),
    Workload::permutation("scale-128", 128, "20ms"),
    Workload::permutation("scale-432", 432, "10ms"),
    Workload::permutation("scale-1024", 1024, "5ms"),
    Workload::permutation("scale-3456", 3456, "2ms"),
    Workload::permutation("scale-8192", 8192, "1ms"),
    Workload::permutation("scale-27648", 27648, "0.5ms"),
    Workload::permutation("scale-65536", 65536, "0.5ms"),
];

const LARGE: [Workload; 4] = [
    Workload::permutation("permutation-8192-5ms", 8192, "5ms"),
    Workload::permutation("permutation-65536", 65536, "0.2ms"),
    Workload::new(
        "incast-60000x9KB",
        65536,
        "",
        None,
        "incast = { receiver = 0, senders = 60000 }\nsize = \"9KB\"",
    ),
    // The storm's beginning: all of it is 22 seconds of the receiver's link, hours of computing.
    Workload::new(
        "incast-60000x450KB",
        65536,
        "",
        Some("5ms"),
        "incast = { receiver = 0, senders = 60000 }\nsize = \"450KB\"",
    ),
];

/// HULL's large simulation (NSDI 2012, 6.3), once each unless told otherwise: five million flows of heavy-tailed sizes
/// between 192 servers, by HULL, DCTCP and TCP. The sizes of seed 1 add up to 267 GB.
const HULL: [Workload; 3] = [
    Workload::hull("hull-192").with(
        "transport.dctcp = { payload = \"1436B\", ack_every = 1, timers = \"datacenter\", rto_min = \"10ms\", \
         handshake = \"standing\", restart_after_idle = true }\n\
         switch = { profile = \"drop-tail\", data_queue = \"250pkt\" }\n\
         phantom_queue = [{ drain = \"95%\", threshold = \"1KB\" }]\nhost.pacer = {}",
    ),
    Workload::hull("hull-192-dctcp").with(
        "transport.dctcp = { payload = \"1436B\", ack_every = 1, timers = \"datacenter\", rto_min = \"10ms\", \
         handshake = \"standing\", restart_after_idle = true }\n\
         switch = { data_queue = \"250pkt\", ecn_threshold = \"65pkt\" }",
    ),
    Workload::hull("hull-192-tcp").with(
        "transport.tcp = { payload = \"1436B\", ack_every = 1, timers = \"datacenter\", rto_min = \"10ms\", \
         handshake = \"standing\", restart_after_idle = true }\n\
         switch.data_queue = \"250pkt\"",
    ),
];

/// The workloads of a command without options.
fn standard() -> impl Iterator<Item = &'static Workload> {
    STANDARD
        .iter()
        .chain(&FAMILY)
        .chain(&PHOST)
        .chain(&HOMA)
        .chain(&OPF)
        .chain(&FASTLANE)
        .chain(&AT_100_GBPS)
}

fn all() -> impl Iterator<Item = &'static Workload> {
    standard().chain(&SCALE).chain(&LARGE).chain(&HULL)
}

impl Workload {
    fn named(name: &str) -> Result<&'static Workload, Failure> {
        all().find(|workload| workload.name == name).ok_or_else(|| {
            let names: Vec<&str> = all().map(|workload| workload.name).collect();
            Failure::message(format!("no workload `{name}`; expected one of {}", names.join(", ")))
        })
    }

    fn scenario(&self) -> String {
        let duration = self.duration.map(|time| format!("duration = \"{time}\"\n"));
        let network = match self.network {
            "" => format!("topology.fattree.hosts = {}", self.hosts),
            network => network.to_owned(),
        };
        format!(
            "{}{}\n\
             {}\n\
             [[workload]]\nname = \"bench\"\n{}\n",
            duration.unwrap_or_default(),
            network,
            self.transport,
            self.flows
        )
    }
}

pub(crate) fn bench(options: &Options) -> Result<ExitCode, Failure> {
    if let Some(name) = &options.once {
        let measurement = once(Workload::named(name)?, options)?;
        let line = serde_json::to_string(&measurement);
        print(&format!("{}\n", line.map_err(|error| Failure::message(error.to_string()))?))?;
        return Ok(ExitCode::SUCCESS);
    }
    let chosen: Vec<&Workload> = match &options.only[..] {
        [] if options.scale => SCALE.iter().collect(),
        [] if options.large => LARGE.iter().collect(),
        [] => standard().collect(),
        names => names.iter().map(|name| Workload::named(name)).collect::<Result<_, _>>()?,
    };
    let repeat = options.repeat.unwrap_or(match options.threads {
        _ if options.large || chosen.iter().any(|workload| workload.is_hull()) => 1,
        1 => 3,
        _ => 5,
    });
    let measure = if options.threads > 1 { pairs } else { best };
    let bar = Bar::new(chosen.len() as u64 * repeat.max(1) as u64, false);
    let measurements = chosen
        .into_iter()
        .map(|workload| {
            bar.name(workload.name);
            measure(workload, options, repeat.max(1), &bar)
        })
        .collect::<Result<Vec<Measurement>, Failure>>()?;
    drop(bar);
    options.output.print(&measurements, || table(&measurements))?;
    Ok(ExitCode::SUCCESS)
}

fn by_time(a: &Measurement, b: &Measurement) -> std::cmp::Ordering {
    a.ns_per_hop.total_cmp(&b.ns_per_hop)
}

fn best(
    workload: &Workload,
    options: &Options,
    repeat: usize,
    bar: &Bar,
) -> Result<Measurement, Failure> {
    let mut measurements = (0..repeat)
        .map(|_| in_child(workload, options, 1).inspect(|_| bar.advance(1)))
        .collect::<Result<Vec<Measurement>, Failure>>()?;
    measurements.sort_by(by_time);
    Ok(measurements.swap_remove(0))
}

/// The median measurement with several threads, and the median speed-up.
fn pairs(
    workload: &Workload,
    options: &Options,
    repeat: usize,
    bar: &Bar,
) -> Result<Measurement, Failure> {
    let (mut measurements, mut speed_ups) = (Vec::new(), Vec::new());
    for _ in 0..repeat {
        let alone = in_child(workload, options, 1)?;
        let together = in_child(workload, options, options.threads)?;
        speed_ups.push(alone.wall_seconds / together.wall_seconds);
        measurements.push(together);
        bar.advance(1);
    }
    measurements.sort_by(by_time);
    speed_ups.sort_by(f64::total_cmp);
    let median = measurements.swap_remove(repeat / 2);
    Ok(Measurement { speed_up: Some(speed_ups[repeat / 2]), ..median })
}

fn in_child(
    workload: &Workload,
    options: &Options,
    threads: usize,
) -> Result<Measurement, Failure> {
    let failed = |what: String| Failure::message(format!("bench {}: {what}", workload.name));
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let mut command = Command::new(program);
    command.args(["bench", "--once", workload.name]).stdin(Stdio::null()).stderr(Stdio::inherit());
    command.arg("--threads").arg(threads.to_string());
    for (option, value) in [("--duration", &options.duration), ("--engine", &options.engine)] {
        if let Some(value) = value {
            command.args([option, value]);
        }
    }
    let output = command.output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
}

fn once(workload: &Workload, options: &Options) -> Result<Measurement, Failure> {
    let before = memory("VmRSS:");
    let start = cpu();
    let mut settings = Vec::new();
    settings.extend(options.duration.as_ref().map(|time| format!("duration=\"{time}\"")));
    settings.extend(options.engine.as_ref().map(|engine| format!("engine=\"{engine}\"")));
    let scenario = Scenario::parse(workload.name, &workload.scenario(), &settings)?;
    let [run] = &scenario.runs[..] else {
        return Err(Failure::message(format!("{}: expected one run", workload.name)));
    };
    // The first progress report comes when the network is complete.
    let division = trimline_sim::division(&run.plan, options.threads);
    if let Some(reason) = &division.reason {
        notice(&format!(
            "note: {}: {} of {} threads: {reason}",
            workload.name, division.threads, options.threads
        ));
    }
    let now = || (cpu(), Instant::now());
    let (mut begin, mut end, mut hops) = (None, now(), 0);
    let record = trimline_sim::run_on(&run.plan, division.threads, &mut |progress| {
        begin.get_or_insert_with(now);
        if progress.packet_hops != hops {
            (end, hops) = (now(), progress.packet_hops);
        }
        ControlFlow::Continue(())
    })
    .map_err(|error| Failure::message(format!("{}: {error}", workload.name)))?;
    let begin = begin.unwrap_or(end);
    let seconds = (end.0 - begin.0).max(1e-9);
    let wall_seconds = end.1.duration_since(begin.1).as_secs_f64().max(1e-9);
    let counts = if division.threads == 1 { seconds } else { wall_seconds };
    let peak = memory("VmHWM:");
    let more = peak.zip(before).map(|(peak, before)| peak.saturating_sub(before));
    Ok(Measurement {
        workload: workload.name.to_owned(),
        hosts: workload.hosts,
        threads: division.threads,
        hops: record.packet_hops,
        set_up_seconds: begin.0 - start,
        seconds,
        wall_seconds,
        ns_per_hop: counts * 1e9 / record.packet_hops.max(1) as f64,
        speed_up: None,
        instructions_per_hop: None,
        peak_rss_bytes: peak,
        bytes_per_host: more.map(|bytes| bytes as f64 / f64::from(workload.hosts)),
    })
}

fn cpu() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Bytes of this process's resident set, now (`VmRSS:`) or at its peak (`VmHWM:`), on Linux.
fn memory(which: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(which))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

fn table(measurements: &[Measurement]) -> String {
    let head = [
        "workload",
        "hosts",
        "threads",
        "hops",
        "set-up s",
        "CPU s",
        "wall s",
        "ns/hop",
        "M hops/s",
        "speed-up",
        "peak RSS MB",
        "KB/host",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for m in measurements {
        rows.push(vec![
            m.workload.clone(),
            m.hosts.to_string(),
            m.threads.to_string(),
            m.hops.to_string(),
            format!("{:.3}", m.set_up_seconds),
            format!("{:.3}", m.seconds),
            format!("{:.3}", m.wall_seconds),
            format!("{:.1}", m.ns_per_hop),
            format!("{:.1}", 1000.0 / m.ns_per_hop),
            m.speed_up.map_or("-".to_owned(), |speed_up| format!("{speed_up:.2}")),
            m.peak_rss_bytes.map_or("-".to_owned(), |bytes| format!("{:.1}", bytes as f64 / 1e6)),
            m.bytes_per_host.map_or("-".to_owned(), |bytes| format!("{:.1}", bytes / 1e3)),
        ]);
    }
    columns(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bench_workload_is_one_run() {
        for workload in all() {
            let scenario = Scenario::parse(workload.name, &workload.scenario(), &[]).unwrap();
            assert_eq!(scenario.runs.len(), 1, "{}", workload.name);
            assert_eq!(scenario.runs[0].plan.topology.hosts(), workload.hosts);
        }
        assert!(Workload::named("permutation-100").is_err());
    }
}
