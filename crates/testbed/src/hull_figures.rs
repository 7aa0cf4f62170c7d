//! HULL's first experiment on real packets (NSDI 2012, 3.1): Table 1 with a phantom queue added, and Figure 2.

use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use trimline_packet::{BitRate, ByteCount, TimeDelta};

use super::hull::{self, Marker, Measured, Setting};
use super::report::Report;
use super::steps::Steps;
use super::tcp;

/// Packets of the port's queue: the 700 KB that one port of HULL's switch can have (6.1), in frames of 1500 B.
const QUEUE: u32 = 467;

/// DCTCP's threshold at 1 Gb/s, 30 KB (HULL 3.1), in frames of 1500 B.
const THRESHOLD: u32 = 20;

/// Drains of Figure 2, in percent of the rate: not given in the paper; chosen.
const DRAINS: [u64; 6] = [75, 80, 85, 90, 95, 98];

/// The options of both figures.
#[derive(Clone, Debug)]
pub struct Options {
    /// Rate of every link.
    pub rate: BitRate,
    /// Delay of every link: a round trip has four links.
    pub delay: TimeDelta,
    /// The kernel's name of the congestion control of TCP without DCTCP.
    pub congestion: String,
    /// Length of each measured interval.
    pub time: Duration,
    /// Rounds, each with all measurements once.
    pub rounds: u64,
}

impl Options {
    fn setting(&self, congestion: &str, has_ecn: bool, marker: Marker) -> Setting {
        Setting {
            rate: self.rate,
            delay: self.delay,
            queue: QUEUE,
            marker,
            congestion: congestion.to_owned(),
            has_ecn,
            has_pacers: false,
            time: self.time,
        }
    }

    /// The setting of a marker on a network whose hosts have pacers.
    fn paced(&self, congestion: &str, marker: Marker) -> Setting {
        Setting { has_pacers: true, ..self.setting(congestion, true, marker) }
    }

    fn phantom(&self, percent: u64, threshold: u64) -> Marker {
        let drain = u128::from(self.rate.as_bps()) * u128::from(percent) / 100;
        let drain = BitRate::from_bps(u64::try_from(drain).expect("less than the rate"));
        Marker::Phantom { drain, threshold: ByteCount::new(threshold) }
    }

    /// Adds the first lines: the parameters, and the kernel's DCTCP.
    fn head(&self, report: &mut Report, dctcp: Option<&str>) {
        let Options { rate, delay, congestion, time, rounds } = self;
        let round_trip = (*delay * 4).as_ps() as f64 / 1e9;
        report.line(&format!(
            "two long flows into one port, {rate} per link, round trip {round_trip} ms, {rounds} rounds of {} s; TCP: \
             {congestion}",
            time.as_secs_f64()
        ));
        match dctcp {
            Some(name) => report.line(&format!("DCTCP: {name}")),
            None => {
                let text = "DCTCP: not in this kernel (scripts/dctcp.sh load); only TCP with ECN";
                report.line(text);
                report.lacks = Some((text.to_owned(), "dctcp"));
            }
        }
        report.line("medians of the rounds (min, max); throughput in % of the rate, waits in us");
    }
}

type Shown = fn(&Measured) -> f64;

/// The columns of both tables, with their names as measures.
const COLUMNS: [(&str, Shown); 11] = [
    ("throughput_percent", Measured::throughput_percent),
    ("goodput_percent", Measured::goodput_percent),
    ("smaller_percent", Measured::smaller_percent),
    ("wait_mean_us", Measured::mean_us),
    ("wait_p90_us", |one| one.wait_us(0.90)),
    ("wait_p99_us", |one| one.wait_us(0.99)),
    ("marked_percent", Measured::marked_percent),
    ("dropped", |one| one.port.dropped as f64),
    ("timeouts", |one| one.kernel.timeouts as f64),
    ("paced_percent", Measured::paced_percent),
    ("held_up_percent", Measured::held_up_percent),
];

fn row(report: &mut Report, label: &str, name: &str, runs: &[Measured]) {
    let mut line = format!("{label:24}");
    for (column, value) in COLUMNS {
        let found = report.of_rounds(&format!("{name}_{column}"), runs.iter().map(value));
        let [median, min, max] = found;
        line += &match column {
            "throughput_percent" | "wait_mean_us" | "held_up_percent" => {
                format!("  {median:8.1} {:18}", format!("({min:.1}, {max:.1})"))
            }
            _ => format!(" {median:8.1}"),
        };
    }
    report.line(&line);
}

const HEADINGS: &str = "                           throughput                  goodput  smaller   mean wait                      p90      \
                        p99   marked  dropped timeouts    paced   switch held up";

/// Measures Table 1 with a phantom queue added: throughput and waits at the port of TCP without ECN, with ECN of the
/// queue, with ECN of a phantom queue, and DCTCP with both if the kernel has it.
///
/// # Errors
/// Fails if the kernel refuses what the testbed needs.
pub fn table1(options: &Options, steps: &Steps<'_>) -> io::Result<Report> {
    let queue = Marker::Queue { packets: THRESHOLD };
    // HULL table 3: 950 Mb/s of 1 Gb/s, 1 KB.
    let phantom = options.phantom(95, 1000);
    let law = options.congestion.as_str();
    let mut schemes = vec![
        ("TCP, drop-tail", "tcp", options.setting(law, false, Marker::None)),
        ("TCP-ECN, queue of 30 KB", "ecn_30k", options.setting(law, true, queue)),
        ("TCP-ECN, phantom queue", "ecn_phantom", options.setting(law, true, phantom)),
        ("TCP-ECN, the same, pacers", "ecn_pacer", options.paced(law, phantom)),
    ];
    let dctcp = tcp::dctcp();
    if let Some(law) = dctcp {
        schemes.push(("DCTCP, queue of 30 KB", "dctcp_30k", options.setting(law, true, queue)));
        let setting = options.setting(law, true, phantom);
        schemes.push(("DCTCP, phantom queue", "dctcp_phantom", setting));
        schemes.push(("DCTCP, the same, pacers", "dctcp_pacer", options.paced(law, phantom)));
    }
    let mut runs: Vec<Vec<Measured>> = vec![Vec::new(); schemes.len()];
    steps.begin(options.rounds * schemes.len() as u64);
    for _ in 0..options.rounds {
        for (runs, (_, _, setting)) in runs.iter_mut().zip(&schemes) {
            runs.push(steps.end(hull::long_flows(setting)?));
        }
    }
    let mut report = Report::default();
    options.head(&mut report, dctcp);
    report.line(HEADINGS);
    let mut csv = String::from("scheme,round,quantile,ns\n");
    for ((label, name, _), runs) in schemes.iter().zip(&runs) {
        row(&mut report, label, name, runs);
        for (round, one) in runs.iter().enumerate() {
            for permille in 1..1000 {
                let share = f64::from(permille) / 1000.0;
                let ns = one.waits.value_at_quantile(share);
                let _ = writeln!(csv, "{name},{round},{share},{ns}");
            }
        }
    }
    report.files.push(("waits.csv".to_owned(), csv));
    // Ratios within a round, where the machine's speed is nearly constant.
    let mut place =
        |over: &str, under: &str, name: &str, value: &dyn Fn(&Measured, &Measured) -> f64| {
            let of = |wanted: &str| schemes.iter().position(|(_, name, _)| *name == wanted);
            if let (Some(over), Some(under)) = (of(over), of(under)) {
                let pairs = runs[over].iter().zip(&runs[under]);
                let found = report.of_rounds(name, pairs.map(|(over, under)| value(over, under)));
                let [median, min, max] = found;
                report.line(&format!("{name:40} {median:8.2} ({min:.2}, {max:.2})"));
            }
        };
    let waits = |over: &Measured, under: &Measured| over.mean_us() / under.mean_us().max(0.001);
    place("tcp", "ecn_30k", "tcp_over_ecn_30k_wait", &waits);
    place("tcp", "ecn_phantom", "tcp_over_ecn_phantom_wait", &waits);
    place("ecn_30k", "ecn_phantom", "ecn_30k_over_phantom_wait", &waits);
    place("tcp", "dctcp_30k", "dctcp_tcp_over_30k_wait", &waits);
    place("dctcp_30k", "dctcp_phantom", "dctcp_30k_over_phantom_wait", &waits);
    let cost =
        |over: &Measured, under: &Measured| over.throughput_percent() - under.throughput_percent();
    place("ecn_30k", "ecn_phantom", "ecn_phantom_cost_percent", &cost);
    place("dctcp_30k", "dctcp_phantom", "dctcp_phantom_cost_percent", &cost);
    place("dctcp_30k", "dctcp_pacer", "dctcp_pacer_cost_percent", &cost);
    place("ecn_pacer", "ecn_phantom", "ecn_pacer_gain_percent", &cost);
    place("dctcp_pacer", "dctcp_phantom", "dctcp_pacer_gain_percent", &cost);
    place("dctcp_pacer", "dctcp_phantom", "dctcp_pacer_over_phantom_wait", &waits);
    Ok(report)
}

/// Measures Figure 2: a phantom queue of 6 KB with a sweep of its drain. The loss is the drain minus the throughput of
/// both flows, in percent of the rate.
///
/// # Errors
/// Fails if the kernel refuses what the testbed needs.
pub fn fig02(options: &Options, steps: &Steps<'_>) -> io::Result<Report> {
    let dctcp = tcp::dctcp();
    let mut laws = vec![("TCP-ECN", "ecn", options.congestion.as_str())];
    laws.extend(dctcp.map(|law| ("DCTCP", "dctcp", law)));
    let points: Vec<_> =
        laws.iter().flat_map(|&law| DRAINS.map(|percent| (law, percent))).collect();
    let mut runs: Vec<Vec<Measured>> = vec![Vec::new(); points.len()];
    steps.begin(options.rounds * points.len() as u64);
    for _ in 0..options.rounds {
        for (runs, ((_, _, law), percent)) in runs.iter_mut().zip(&points) {
            let setting = options.setting(law, true, options.phantom(*percent, 6000));
            runs.push(steps.end(hull::long_flows(&setting)?));
        }
    }
    let mut report = Report::default();
    options.head(&mut report, dctcp);
    report.line(HEADINGS);
    let mut csv = String::from(
        "law,drain_percent,round,throughput_percent,loss_percent,wait_mean_us,wait_p99_us,held_up_percent\n",
    );
    for (((label, name, _), percent), runs) in points.iter().zip(&runs) {
        row(
            &mut report,
            &format!("{label}, drain {percent} %"),
            &format!("{name}_{percent}"),
            runs,
        );
        for (round, one) in runs.iter().enumerate() {
            let (throughput, mean, p99) =
                (one.throughput_percent(), one.mean_us(), one.wait_us(0.99));
            let (loss, held_up) = (*percent as f64 - throughput, one.held_up_percent());
            let _ = writeln!(
                csv,
                "{name},{percent},{round},{throughput:.3},{loss:.3},{mean:.3},{p99:.3},{held_up:.3}"
            );
        }
    }
    report.files.push(("sweep.csv".to_owned(), csv));
    for (label, name, _) in &laws {
        let mut losses = Vec::new();
        for percent in DRAINS {
            let loss = percent as f64 - report.of(&format!("{name}_{percent}_throughput_percent"));
            report.measure(format!("{name}_{percent}_loss_percent"), loss);
            losses.push(loss);
        }
        let words: Vec<String> = losses.iter().map(|loss| format!("{loss:.1}")).collect();
        report.line(&format!("{label}: loss below the drain, % of the rate: {}", words.join(", ")));
        losses.sort_by(f64::total_cmp);
        report.measure(format!("{name}_loss_least_percent"), losses[0]);
        report.measure(format!("{name}_loss_most_percent"), losses[losses.len() - 1]);
        let wait = |percent: u64| report.of(&format!("{name}_{percent}_wait_mean_us"));
        let rise = wait(98) / wait(75).max(0.001);
        report.measure(format!("{name}_wait_98_over_75"), rise);
    }
    Ok(report)
}
