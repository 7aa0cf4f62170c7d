//! The measurements on the testbed, one function for each figure. The caller judges them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::time::Duration;

use trimline_packet::{BitRate, ByteCount, Packet};

use super::awake::Awake;
use super::coexist::{self, Interval, Setting};
use super::incast::{self, Answer, Completions};
use super::report::{Report, quantile};
use super::rpc::{self, Carrier, Latencies};
use super::steps::Steps;
use super::{bulk, contact, forwarder};

/// Measures the time of a 1 KB request with each carrier: polling, blocking, and blocking while no processor sleeps.
///
/// # Errors
/// Fails if the kernel refuses what the testbed needs.
pub fn fig08(requests: u64, steps: &Steps<'_>) -> io::Result<Report> {
    let mut report = Report::default();
    // A shared machine changes its speed, so values to be compared are measured in the same round.
    let rounds = ROUNDS.min(requests.max(1));
    let mut taken: BTreeMap<(&str, &str), Vec<Latencies>> = BTreeMap::new();
    steps.begin(rounds * every_way().count() as u64);
    let mut kept_awake = None;
    for _ in 0..rounds {
        for (carrier, (mode, polls)) in every_way() {
            let awake = (mode == AWAKE).then(Awake::begin).transpose()?;
            let one = steps.end(rpc::measure(carrier, polls, requests / rounds)?);
            taken.entry((key(carrier), mode)).or_default().push(one);
            kept_awake = awake.map(|awake| awake.description().to_owned()).or(kept_awake);
        }
    }
    report.line(&format!("medians of {rounds} rounds; (min, max) of their medians"));
    if let Some(kept_awake) = kept_awake {
        report.line(&format!("{AWAKE}: blocking; {kept_awake}"));
    }
    report.line("                       mode        median      p90      p99 (us)");
    let mut csv = String::from("carrier,mode,round,quantile,ns\n");
    for (carrier, (mode, _)) in every_way() {
        add_latencies(&mut report, &mut csv, (carrier, mode), &taken[&(key(carrier), mode)]);
    }
    let as_paper = PAPER_RATIOS.map(|(name, over, mode)| (name, (over, mode), ("ndp", "polling")));
    let alike = RATIOS.map(|(name, over, under, mode)| (name, (over, mode), (under, mode)));
    for (name, over, under) in alike.into_iter().chain(as_paper) {
        let pairs = taken[&over].iter().zip(&taken[&under]);
        let mut ratios: Vec<f64> =
            pairs.map(|(over, under)| us(over, 0.5) / us(under, 0.5)).collect();
        ratios.sort_by(f64::total_cmp);
        let (min, max) = (quantile(&ratios, 0.0), quantile(&ratios, 1.0));
        let median = quantile(&ratios, 0.5);
        report.line(&format!("{name:28} {median:6.2} ({min:.2}, {max:.2})"));
        report.measure(name, median);
    }
    report.files.push(("latencies.csv".to_owned(), csv));
    Ok(report)
}

/// Number of rounds, each with all measurements once.
const ROUNDS: u64 = 5;

/// The ratios: name, numerator, denominator, and the way of waiting of both.
const RATIOS: [(&str, &str, &str, &str); 7] = [
    ("ndp_over_raw_polling", "ndp", "raw", "polling"),
    ("tfo_over_ndp_polling", "tfo", "ndp", "polling"),
    ("tcp_over_ndp_polling", "tcp", "ndp", "polling"),
    ("tfo_over_ndp_blocking", "tfo", "ndp", "blocking"),
    ("kept_over_ndp_polling", "kept", "ndp", "polling"),
    ("kept_over_ndp_blocking", "kept", "ndp", "blocking"),
    ("validated_over_ndp_polling", "ndp_validated", "ndp", "polling"),
];

/// The paper's ratios: name, carrier and its way of waiting, over NDP that polls.
const PAPER_RATIOS: [(&str, &str, &str); 4] = [
    ("tfo_blocking_over_ndp_polling", "tfo", "blocking"),
    ("tcp_blocking_over_ndp_polling", "tcp", "blocking"),
    ("tfo_awake_over_ndp_polling", "tfo", AWAKE),
    ("tcp_awake_over_ndp_polling", "tcp", AWAKE),
];

/// The way of waiting of hosts that block while no processor sleeps deeply.
const AWAKE: &str = "awake";

fn every_way() -> impl Iterator<Item = (Carrier, (&'static str, bool))> {
    let modes = [("polling", true), ("blocking", false), (AWAKE, false)];
    Carrier::ALL.into_iter().flat_map(move |carrier| modes.map(|mode| (carrier, mode)))
}

pub(super) fn us(taken: &Latencies, quantile: f64) -> f64 {
    taken.value_at_quantile(quantile) as f64 / 1000.0
}

/// Adds a line, a measure and the distributions of a carrier: medians over its rounds.
fn add_latencies(
    report: &mut Report,
    csv: &mut String,
    (carrier, mode): (Carrier, &str),
    rounds: &[Latencies],
) {
    let sorted = |share| {
        let mut values: Vec<f64> = rounds.iter().map(|one| us(one, share)).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let at = |share| quantile(&sorted(share), 0.5);
    let (name, medians) = (carrier.name(), sorted(0.5));
    let (min, max) = (quantile(&medians, 0.0), quantile(&medians, 1.0));
    let (median, p90, p99) = (at(0.5), at(0.9), at(0.99));
    report.line(&format!(
        "{name:22} {mode:9} {median:8.1} {p90:8.1} {p99:8.1}   ({min:.1}, {max:.1})"
    ));
    report.measure(format!("{}_{mode}_us", key(carrier)), median);
    for (round, taken) in rounds.iter().enumerate() {
        for permille in 1..1000 {
            let share = f64::from(permille) / 1000.0;
            let ns = taken.value_at_quantile(share);
            let _ = writeln!(csv, "{name},{mode},{round},{share},{ns}");
        }
    }
}

/// Measures the first and the next request of `clients` new clients, to a server with address validation and to one
/// without.
///
/// # Errors
/// Fails if the kernel refuses what the testbed needs.
pub fn first_contact(clients: u64, steps: &Steps<'_>) -> io::Result<Report> {
    let mut report = Report::default();
    report.line(&format!("{clients} clients, medians (90th percentiles) in us"));
    report.line("server      mode        first request     next request");
    steps.begin(4);
    for (server, validates) in [("validates", true), ("does not", false)] {
        for (mode, polls) in [("polling", true), ("blocking", false)] {
            let taken = steps.end(contact::measure(validates, polls, clients)?);
            let words = |taken| format!("{:8.1} ({:.1})", us(taken, 0.5), us(taken, 0.9));
            let (first, next) = (words(&taken.first), words(&taken.next));
            report.line(&format!("{server:11} {mode:9} {first:>17} {next:>17}"));
            let key = if validates { "validated" } else { "open" };
            report.measure(format!("{key}_first_{mode}_us"), us(&taken.first, 0.5));
            report.measure(format!("{key}_next_{mode}_us"), us(&taken.next, 0.5));
        }
    }
    for mode in ["polling", "blocking"] {
        for which in ["first", "next"] {
            let of = |server: &str| report.of(&format!("{server}_{which}_{mode}_us"));
            let ratio = of("validated") / of("open");
            report.measure(format!("validated_over_open_{which}_{mode}"), ratio);
        }
    }
    Ok(report)
}

fn key(carrier: Carrier) -> &'static str {
    match carrier {
        Carrier::Raw => "raw",
        Carrier::Udp => "udp",
        Carrier::Ndp => "ndp",
        Carrier::NdpValidated => "ndp_validated",
        Carrier::FastOpen => "tfo",
        Carrier::Tcp => "tcp",
        Carrier::TcpKept => "kept",
    }
}

/// Returns each repetition's last completion in milliseconds, sorted.
fn lasts(repetitions: &[Completions]) -> Vec<f64> {
    let last = |completions: &Completions| completions.iter().max().copied().unwrap_or_default();
    let mut lasts: Vec<f64> =
        repetitions.iter().map(|one| last(one).as_secs_f64() * 1000.0).collect();
    lasts.sort_by(f64::total_cmp);
    lasts
}

fn with_capture<'a>(capture: Option<&'a Path>, steps: &'a Steps<'a>) -> incast::Options<'a> {
    incast::Options { capture, steps: Some(steps), ..incast::Options::default() }
}

/// Measures an incast of seven hosts: the last completion by size, with NDP and TCP, `repeats` times at `rate`.
/// `capture` takes every frame of NDP.
///
/// # Errors
/// Fails if the kernel refuses what the testbed needs.
pub fn fig09(
    rate: BitRate,
    repeats: usize,
    capture: Option<&Path>,
    steps: &Steps<'_>,
) -> io::Result<Report> {
    const SIZES: [u64; 5] = [10_000, 30_000, 100_000, 300_000, 1_000_000];
    let lists: Vec<Vec<Answer>> = SIZES.into_iter().map(incast::equal_answers).collect();
    steps.begin(2 * lists.len() as u64);
    let (ndp, ndp_count) = incast::ndp(rate, &lists, repeats, with_capture(capture, steps))?;
    let (tcp, tcp_count) = incast::tcp(rate, &lists, repeats, steps)?;
    let mut report = Report::default();
    report.line(&format!("{} per link, {repeats} repetitions of each size", rate));
    report.line("  answer     ideal   NDP median      p90   TCP median      p90 (ms)");
    let mut csv = String::from("protocol,bytes,repetition,server,ns\n");
    let (mut over, mut spread, mut tcp_spread, mut ratio) =
        (f64::MIN, f64::MIN, f64::MIN, f64::MIN);
    for (place, &bytes) in SIZES.iter().enumerate() {
        let ideal = incast::ideal(rate, &lists[place]).as_secs_f64() * 1000.0;
        let (ndp_lasts, tcp_lasts) = (lasts(&ndp[place]), lasts(&tcp[place]));
        let (median, p90) = (quantile(&ndp_lasts, 0.5), quantile(&ndp_lasts, 0.9));
        let (tcp_median, tcp_p90) = (quantile(&tcp_lasts, 0.5), quantile(&tcp_lasts, 0.9));
        report.line(&format!(
            "{bytes:8} B {ideal:9.2} {median:12.2} {p90:8.2} {tcp_median:12.2} {tcp_p90:8.2}"
        ));
        over = over.max((median / ideal - 1.0) * 100.0);
        spread = spread.max(p90 / median);
        tcp_spread = tcp_spread.max(tcp_p90 / tcp_median);
        ratio = ratio.max(tcp_median / median);
        report.measure(format!("tcp_over_ndp_{bytes}"), tcp_median / median);
        report.measure(format!("tcp_median_ms_{bytes}"), tcp_median);
        report.measure(format!("ndp_median_ms_{bytes}"), median);
        for (name, all) in [("NDP", &ndp[place]), ("TCP", &tcp[place])] {
            for (repetition, completions) in all.iter().enumerate() {
                for (server, time) in (1..).zip(completions) {
                    let server: u32 = server;
                    let ns = time.as_nanos();
                    let _ = writeln!(csv, "{name},{bytes},{repetition},{server},{ns}");
                }
            }
        }
    }
    for (name, count) in [("NDP", ndp_count), ("TCP", tcp_count)] {
        report.line(&format!(
            "{name}: switches sent {} packets, trimmed {}, returned {}, dropped {}, refused {}",
            count.packets, count.trimmed, count.returned, count.dropped, count.refused
        ));
    }
    report.measure("ndp_over_ideal_percent", over);
    report.measure("ndp_p90_over_median", spread);
    report.measure("tcp_over_ndp", ratio);
    report.measure("tcp_p90_over_median", tcp_spread);
    report.files.push(("completions.csv".to_owned(), csv));
    Ok(report)
}

/// Measures a short flow beside six long ones, with and without priority, `repeats` times at `rate`.
///
/// # Errors
/// Fails if the kernel refuses what the testbed needs.
pub fn fig10(
    rate: BitRate,
    repeats: usize,
    capture: Option<&Path>,
    steps: &Steps<'_>,
) -> io::Result<Report> {
    const SIZES: [u64; 4] = [10_000, 50_000, 200_000, 1_000_000];
    /// Long enough that the short flow ends first.
    const LONG: u64 = 2_000_000;
    let variants = |bytes| {
        [(0, false), (2, true), (0, true)]
            .map(|(class, has_long)| incast::short_among_long(bytes, LONG, class, has_long))
    };
    let lists: Vec<Vec<Answer>> = SIZES.into_iter().flat_map(variants).collect();
    steps.begin(lists.len() as u64);
    let (all, _) = incast::ndp(rate, &lists, repeats, with_capture(capture, steps))?;
    let mut report = Report::default();
    report.line(&format!("{rate} per link, {repeats} repetitions, beside six flows of {LONG} B"));
    report.line("   short      idle  priority      none (ms, medians)");
    let mut worst = f64::MIN;
    for (place, bytes) in SIZES.into_iter().enumerate() {
        let median = |variant: usize| {
            let mut times: Vec<f64> = all[place * 3 + variant]
                .iter()
                .map(|completions| completions[0].as_secs_f64() * 1000.0)
                .collect();
            times.sort_by(f64::total_cmp);
            quantile(&times, 0.5)
        };
        let (idle, priority, none) = (median(0), median(1), median(2));
        report.line(&format!("{bytes:8} B {idle:8.2} {priority:9.2} {none:9.2}"));
        worst = worst.max(priority / idle);
        if bytes == 200_000 {
            report.measure("priority_over_idle", priority / idle);
            report.measure("none_over_idle", none / idle);
            let full = ByteCount::new(u64::from(incast::PAYLOAD + Packet::HEADER_BYTES));
            let packet_ms = rate.transmission(full).as_ps() as f64 / 1e9;
            report.measure("priority_more_packets", (priority - idle) / packet_ms);
            report.measure("idle_ms", idle);
            report.measure("priority_ms", priority);
        }
    }
    report.measure("priority_over_idle_worst", worst);
    Ok(report)
}

/// Measures the throughput by initial window.
///
/// # Errors
/// Fails if the kernel refuses what the testbed needs.
pub fn fig11(steps: &Steps<'_>) -> io::Result<Report> {
    const MBPS: u64 = 1000;
    let mut report = Report::default();
    report.line("window   Gb/s (1500 B, 1 Gb/s)");
    let mut csv = String::from("initial_window,gbps\n");
    let mut needed = f64::NAN;
    const WINDOWS: [u32; 13] = [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 25, 30, 40];
    steps.begin(WINDOWS.len() as u64);
    for window in WINDOWS {
        let flow = bulk::Flow {
            payload: 1500,
            initial_window: window,
            rate: BitRate::from_bps(MBPS * 1_000_000),
            time: Duration::from_millis(500),
        };
        let gbps = steps.end(bulk::ndp(flow)?).gbps();
        report.line(&format!("{window:6} {gbps:6.3}"));
        let _ = writeln!(csv, "{window},{gbps:.6}");
        let percent = gbps * 100_000.0 / MBPS as f64;
        if percent >= 90.0 && needed.is_nan() {
            needed = f64::from(window);
        }
        if window == 40 {
            report.measure("window_40_percent", percent);
        }
    }
    report.measure("window_for_90_percent", needed);
    report.files.push(("throughput.csv".to_owned(), csv));
    Ok(report)
}

/// Measures the time between two PULLs at the sender.
///
/// # Errors
/// Fails if the kernel refuses what the testbed needs.
pub fn fig12(steps: &Steps<'_>) -> io::Result<Report> {
    let mut report = Report::default();
    report.line("payload     rate   target      p1     p10  median     p90     p99    mean (us)");
    // The two cases of the figure, the first at a tenth of its rate; and 9000 B at a rate that a shared machine
    // sustains, for distributions.
    steps.begin(3);
    for (payload, mbps, name) in
        [(1500u16, 1000u64, "1500"), (9000, 10_000, "9000"), (9000, 2500, "9000_slow")]
    {
        let rate = BitRate::from_bps(mbps * 1_000_000);
        let flow =
            bulk::Flow { payload, initial_window: 30, rate, time: Duration::from_millis(2000) };
        let done = steps.end(bulk::ndp(flow)?);
        let mut gaps: Vec<f64> = done.gaps_ns.iter().map(|&ns| ns as f64 / 1000.0).collect();
        gaps.sort_by(f64::total_cmp);
        let target = f64::from(u32::from(payload) + 64) * 8.0 / mbps as f64;
        let mean = gaps.iter().sum::<f64>() / gaps.len().max(1) as f64;
        let at = |share| quantile(&gaps, share);
        report.line(&format!(
            "{payload:7} {:>8} {target:8.2} {:7.2} {:7.2} {:7.2} {:7.2} {:7.2} {mean:7.2}   {} gaps, {:.2} Gb/s",
            rate.to_string(),
            at(0.01),
            at(0.1),
            at(0.5),
            at(0.9),
            at(0.99),
            gaps.len(),
            done.gbps()
        ));
        report.measure(format!("median_over_target_{name}"), at(0.5) / target);
        report.measure(format!("spread_over_target_{name}"), (at(0.9) - at(0.1)) / target);
        report.measure(format!("mean_over_target_{name}"), mean / target);
        let file = format!("pull-gaps-{}.csv", name.replace('_', "-"));
        report.files.push((file, distribution(&gaps, target, mbps)));
    }
    Ok(report)
}

/// Returns a distribution of gaps in the format of scenarios, scaled to 10 Gb/s: the means of two hundred equal parts.
/// The last part is divided further, so that rare long gaps keep their weight and the mean is exact.
fn distribution(sorted_us: &[f64], target_us: f64, mbps: u64) -> String {
    let mut text = format!(
        "# Time between two pulls at the sender, measured by `trimline testbed fig12` at {mbps} Mb/s (target\n\
         # {target_us} us), {} gaps, and scaled to 10 Gb/s: ns,share\n",
        sorted_us.len()
    );
    let scale = mbps as f64 / 10_000.0 * 1000.0;
    let shares = (1..200).map(|part| f64::from(part) / 200.0);
    let (mut from, mut last) = (0, 0.0);
    for share in shares.chain([0.998, 0.999, 0.9995, 1.0]) {
        let to = (share * sorted_us.len() as f64).round() as usize;
        if to > from {
            let sum: f64 = sorted_us[from..to].iter().sum();
            // Gaps rise from line to line, at least by the resolution of the file.
            last = (sum / (to - from) as f64 * scale).max(last + 0.001);
            let _ = writeln!(text, "{last:.3},{share}");
            from = to;
        }
    }
    text
}

/// Measures one flow against bare frames, and the switch against a bare forwarder: medians of `pairs` pairs.
///
/// # Errors
/// Fails if the kernel refuses what the testbed needs.
pub fn throughput(pairs: u64, steps: &Steps<'_>) -> io::Result<Report> {
    let mut report = Report::default();
    report.line(&format!("medians of {pairs} pairs, one after the other"));
    report.line("payload   raw Gb/s   NDP Gb/s   share (min, max)     sent again");
    let mut csv = String::from("payload,pair,raw_gbps,ndp_gbps\n");
    steps.begin(2 * pairs + 2);
    for payload in [9000u16, 1500] {
        let time = Duration::from_millis(300);
        let (mut raws, mut flows, mut shares) = (Vec::new(), Vec::new(), Vec::new());
        let (mut again, mut packets) = (0, 0);
        // A shared machine changes its speed from second to second, so each flow is compared with the bare frames just
        // before it.
        for pair in 0..pairs {
            let raw = bulk::raw(payload, time)?.gbps();
            let rate = BitRate::from_gbps(100);
            let flow = bulk::Flow { payload, initial_window: 60, rate, time };
            let done = steps.end(bulk::ndp(flow)?);
            let _ = writeln!(csv, "{payload},{pair},{raw:.4},{:.4}", done.gbps());
            raws.push(raw);
            flows.push(done.gbps());
            shares.push(done.gbps() / raw * 100.0);
            again += done.retransmissions;
            packets += done.packets;
        }
        for values in [&mut raws, &mut flows, &mut shares] {
            values.sort_by(f64::total_cmp);
        }
        let share = quantile(&shares, 0.5);
        report.line(&format!(
            "{payload:7} {:10.2} {:10.2} {share:6.1}% ({:5.1}, {:5.1})  {again:8} of {packets}",
            quantile(&raws, 0.5),
            quantile(&flows, 0.5),
            quantile(&shares, 0.0),
            quantile(&shares, 1.0),
        ));
        report.measure(format!("raw_gbps_{payload}"), quantile(&raws, 0.5));
        report.measure(format!("ndp_over_raw_percent_{payload}"), share);
    }
    report.files.push(("goodput.csv".to_owned(), csv));
    let time = Duration::from_millis(1500);
    let bare = steps.end(forwarder::bare(time)?);
    let switched = steps.end(forwarder::switched(time)?);
    report.line(&format!(
        "16 ports, 64 B: bare forwarder {bare:.0} packets/s, switch {switched:.0} packets/s"
    ));
    report.measure("switch_over_forwarder_percent", switched / bare * 100.0);
    Ok(report)
}

/// Measures long flows of NDP and TCP into one port, with a queue for each and a common one, and incasts of NDP beside
/// long flows of TCP, each once in every round.
///
/// # Errors
/// Fails if the kernel refuses what the testbed needs.
pub fn coexist(setting: &Setting, rounds: u64, steps: &Steps<'_>) -> io::Result<Report> {
    let both = Setting { tcp_queue: None, ..setting.clone() };
    let (mut own, mut one, mut incasts) = (Vec::new(), Vec::new(), Vec::new());
    steps.begin(3 * rounds);
    for _ in 0..rounds {
        own.push(steps.end(coexist::long_flows(setting)?));
        one.push(steps.end(coexist::long_flows(&both)?));
        incasts.push(steps.end(coexist::incasts(setting)?));
    }
    let mut report = Report::default();
    let Setting { rate, ndp_flows, tcp_flows, congestion, time, senders, bytes, .. } = setting;
    report.line(&format!(
        "{rate} per link, {rounds} rounds; {ndp_flows} long flows of NDP and {tcp_flows} of TCP ({congestion}) to one \
         host, {} s",
        time.as_secs_f64()
    ));
    report.line("                                                        median (min, max)");
    let of_rate = |bps: f64| bps / rate.as_bps() as f64 * 100.0;
    let mut long = |prefix: &str, name: &str, label: &str, value: &dyn Fn(&Interval) -> f64| {
        let runs = if prefix.is_empty() { &own } else { &one };
        let values = runs.iter().map(|(interval, _)| value(interval));
        report.rounds(label, &format!("{prefix}{name}"), values);
    };
    let trimmed = |one: &Interval| {
        let port = &one.port;
        port.trimmed as f64 / (port.data.packets + port.trimmed).max(1) as f64 * 100.0
    };
    for (prefix, label) in [("", ""), ("one_queue_", "one queue: ")] {
        let named = |text: &str| format!("{label}{text}");
        let share = |one: &Interval| one.ndp_share() * 100.0;
        long(prefix, "ndp_share_percent", &named("NDP, % of the goodput of both"), &share);
        long(prefix, "tcp_share_percent", &named("TCP, % of the goodput of both"), &|one| {
            100.0 - share(one)
        });
        long(prefix, "goodput_percent", &named("goodput of both, % of the rate"), &|one| {
            of_rate(one.ndp_bps() + one.tcp_bps())
        });
        long(prefix, "timeouts", &named("TCP's time-outs"), &|one| one.kernel.timeouts as f64);
        long(prefix, "sent_again", &named("TCP's segments sent again"), &|one| {
            one.kernel.retransmissions as f64
        });
        long(prefix, "trimmed", &named("packets trimmed in NDP's data queue"), &|one| {
            one.port.trimmed as f64
        });
        long(prefix, "headers_dropped", &named("packets dropped in NDP's header queue"), &|one| {
            one.port.headers.dropped as f64
        });
        long(prefix, "data_dropped", &named("packets dropped in NDP's data queue"), &|one| {
            one.port.data.dropped as f64
        });
    }
    long("", "tcp_dropped", "packets dropped in TCP's queue", &|one| one.port.tcp.dropped as f64);
    long("", "ndp_goodput_percent", "NDP, % of the rate", &|one| of_rate(one.ndp_bps()));
    long("", "tcp_goodput_percent", "TCP, % of the rate", &|one| of_rate(one.tcp_bps()));
    long("", "ndp_wire_percent", "NDP, % of the bytes that the port sent", &|one| {
        one.ndp_wire_share() * 100.0
    });
    long("", "held_up_percent", "switch and NDP's hosts held up, % of the time", &|one| {
        one.held_up_share() * 100.0
    });
    long("", "trimmed_percent", "trimmed, % of NDP's packets", &trimmed);

    let ideal = setting.ideal().as_secs_f64() * 1000.0;
    report.line(&format!(
        "incasts of {senders} x {bytes} B beside {tcp_flows} flows of TCP, ideal alone {ideal:.1} ms"
    ));
    let mut tcp = |name: &str, label: &str, value: &dyn Fn(&coexist::Incasts) -> f64| {
        report.rounds(label, name, incasts.iter().map(|(one, _)| value(one)));
    };
    tcp("tcp_before_percent", "TCP before, % of the rate", &|one| of_rate(one.before.tcp_bps()));
    tcp("tcp_during_percent", "TCP during, % of the rate", &|one| of_rate(one.during.tcp_bps()));
    tcp("tcp_loss_percent", "TCP's loss beyond half of the port, % of the half", &|one| {
        100.0 - one.during.tcp_bps() / setting.fair_share() * 100.0
    });
    tcp("incast_timeouts", "TCP's time-outs", &|one| one.during.kernel.timeouts as f64);
    tcp("incast_trimmed", "packets trimmed in NDP's data queue", &|one| {
        one.during.port.trimmed as f64
    });
    tcp("incast_headers_dropped", "packets dropped in NDP's header queue", &|one| {
        one.during.port.headers.dropped as f64
    });
    tcp("incast_data_dropped", "packets dropped in NDP's data queue", &|one| {
        one.during.port.data.dropped as f64
    });
    tcp("incast_tcp_dropped", "packets dropped in TCP's queue", &|one| {
        one.during.port.tcp.dropped as f64
    });
    tcp("incast_held_up_percent", "switch and NDP's hosts held up, % of the time", &|one| {
        one.during.held_up_share() * 100.0
    });
    let all = |of: fn(&coexist::Incasts) -> &Vec<Completions>| {
        incasts.iter().flat_map(move |(one, _)| lasts(of(one)))
    };
    report.rounds("last answer beside TCP, ms", "incast_ms", all(|one| &one.beside));
    report.rounds("last answer without TCP, ms", "incast_alone_ms", all(|one| &one.alone));
    // Alone, delays come from the machine: a switch or a host that is held up.
    let over_ideal = all(|one| &one.alone).map(|last| last / ideal);
    report.rounds("last answer without TCP, over the ideal", "incast_alone_over_ideal", over_ideal);
    let over_ideal = all(|one| &one.beside).map(|last| last / ideal);
    report.rounds("last answer beside TCP, over the ideal", "incast_over_ideal", over_ideal);
    let refused = own.iter().chain(&one).map(|(_, count)| count.refused);
    let refused: u64 = refused.chain(incasts.iter().map(|(_, count)| count.refused)).sum();
    report.line(&format!("frames that an interface or a cable refused: {refused}"));
    report.measure("refused", refused as f64);

    let mut csv = String::from("round,incast,beside,server,ns\n");
    for (round, (one, _)) in incasts.iter().enumerate() {
        for (beside, all) in [("nothing", &one.alone), ("TCP", &one.beside)] {
            for (incast, completions) in all.iter().enumerate() {
                for (server, time) in (1..).zip(completions) {
                    let (server, ns): (u32, _) = (server, time.as_nanos());
                    let _ = writeln!(csv, "{round},{incast},{beside},{server},{ns}");
                }
            }
        }
    }
    report.files.push(("completions.csv".to_owned(), csv));
    let mut csv = String::from("queues,round,ndp_bps,tcp_bps,ndp_wire_share,held_up_share\n");
    for (queues, runs) in [("own", &own), ("one", &one)] {
        for (round, (one, _)) in runs.iter().enumerate() {
            let (ndp, tcp) = (one.ndp_bps(), one.tcp_bps());
            let (wire, held_up) = (one.ndp_wire_share(), one.held_up_share());
            let _ = writeln!(csv, "{queues},{round},{ndp:.0},{tcp:.0},{wire:.6},{held_up:.6}");
        }
    }
    report.files.push(("shares.csv".to_owned(), csv));
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reduced_distribution_keeps_the_mean_and_the_tail() {
        // One gap in a thousand is a hundred times longer.
        let mut gaps: Vec<f64> =
            (0..10_000).map(|n| if n % 1000 == 0 { 1250.0 } else { 12.5 }).collect();
        gaps.sort_by(f64::total_cmp);
        let text = distribution(&gaps, 12.512, 1000);
        let (mut mean, mut before, mut last) = (0.0, 0.0, 0.0);
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (ns, share) = line.split_once(',').unwrap();
            let (ns, share): (f64, f64) = (ns.parse().unwrap(), share.parse().unwrap());
            assert!(ns > last && share > before, "{line}");
            mean += ns * (share - before);
            (before, last) = (share, ns);
        }
        assert_eq!(before, 1.0);
        assert!((mean / 1373.75 - 1.0).abs() < 0.001, "{mean}");
        assert_eq!(last.round(), 125_000.0);
    }
}
