//! Every built-in scheme at every rate and payload: an incast shows its purpose, and one flow fills an idle path.
//! docs/rates.md has the table of parameters and results.

use std::fmt::Write;

use trimline_metrics::{FlowEnd, RunRecord};
use trimline_packet::PortCounters;
use trimline_sim::plan::Plan;
use trimline_sim::plan::detour::Hot;
use trimline_sim::scenario::{Run, Scenario};

use crate::plans::run;

const GBPS: [u64; 8] = [1, 10, 25, 40, 100, 200, 400, 800];
const PAYLOADS: [u64; 3] = [1460, 4096, 9000];
/// Senders of the incast.
const SENDERS: u64 = 8;
/// Header bytes behind the payload of a packet; Homa has 12 bytes more.
const HEADER: u64 = 64;

/// A scheme, and the purpose that its incast must meet.
const SCHEMES: [(&str, &str); 15] = [
    ("ndp", "Switches trim packets and lose none, and the receiver's link is busy."),
    ("hull", "Switches mark packets, and neither ports nor pacers drop packets."),
    ("dctcp", "Switches mark packets and drop none, and the receiver's link is busy."),
    ("tcp", "The full queue drops packets, and every flow ends."),
    ("dcqcn", "Switches mark packets, pause their senders, and drop none."),
    (
        "phost",
        "Switches drop at most as many packets as all flows have free tokens, and the receiver's link is busy.",
    ),
    ("homa", "From 10 Gb/s on switches drop no packet, and the receiver's link is busy."),
    (
        "homa-aeolus",
        "Switches drop packets; from 10 Gb/s on at most as many as are unscheduled, and the receiver's link is busy.",
    ),
    ("opf", "Switches detour and trim packets and lose none, and the receiver's link is busy."),
    (
        "fastlane",
        "Switches notify senders of every drop, no sender times out where a queue lasts for less than 5 ms, and the receiver's link is busy.",
    ),
    ("pfabric", "The slowdown of the fastest flow is at most 1.1."),
    (
        "pfabric-fastlane",
        "Switches notify senders of every drop, and the slowdown of the fastest flow is at most 1.1.",
    ),
    (
        "uec",
        "Switches mark and trim packets and lose none, and the receiver's link is busy. *Missed* at 25 Gb/s with 1460 B: the bandwidth-delay product, which scales NSCC's steps, is an eighth of the 150 KB of its constants, so the last flow, alone on the link, grows by 3 % a round trip (fast increase).",
    ),
    ("rccc", "Switches trim packets and lose none, and the receiver's link is busy."),
    (
        "hpcc",
        "Switches drop no packet, and the receiver's link is busy for 95 % of eta, 90.2 %. *Missed* at 1 and 10 Gb/s, at 25 Gb/s with 4096 and 9000 B and at 40 Gb/s with 9000 B, with 84 to 89 %: where a round trip has few packets, a slow flow's window is a fraction of a packet, and two of its packets must come back before it knows that others have ended. With 16 times the additive increase, so that windows are equal, the link is busy for more than 90.2 % (`cargo test -p trimline-sim --test runs slow_flows_are_late`).",
    ),
];

/// HPCC leaves 1 - eta of a link free, so its bounds are those of others over 0.95.
const ETA_PERCENT: u64 = 95;

/// Schemes whose flows grow from an initial window, and the bound on a flow in units of its slow start. HULL marks the
/// bursts of a slow start, and the first mark takes half of the window.
const GROWING: [(&str, u64); 4] = [("hull", 2), ("dctcp", 1), ("tcp", 1), ("fastlane", 1)];

/// The run of one scheme in two racks of six hosts, with two spines between them.
fn run_of(scheme: &str, gbps: u64, payload: u64, workload: &str) -> Run {
    run_on_links(scheme, &format!("rate = \"{gbps}Gbps\""), payload, workload)
}

/// Returns the run of [`run_of`] with the links of a key.
fn run_on_links(scheme: &str, links: &str, payload: u64, workload: &str) -> Run {
    let text = format!(
        "schemes = [\"{scheme}\"]\nlinks = {{ {links}, delay = \"500ns\" }}\n\
         topology.leafspine = {{ leaves = 2, spines = 2, hosts_per_leaf = 6 }}\n\
         payload = \"{payload}B\"\n[[workload]]\nname = \"w\"\n{workload}\n"
    );
    let scenario = Scenario::parse("s", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
    scenario.runs.into_iter().next().expect("a run")
}

/// Packets of each flow of the incast: as much as the link sends in 150 us, so that all flows exceed five times the
/// longest queue of a port; at least 200.
fn packets_of(gbps: u64, payload: u64) -> u64 {
    (gbps * 150_000 / 8).div_ceil(payload + HEADER).max(200)
}

fn count(record: &RunRecord, of: fn(&PortCounters) -> u64) -> u64 {
    record.ports.iter().map(|port| of(&port.counters)).sum()
}

/// The results of an incast.
struct Seen {
    marked: u64,
    trimmed: u64,
    detoured: u64,
    notified: u64,
    dropped: u64,
    pauses: u64,
    pacer_dropped: u64,
    timeouts: u64,
    /// Slowdown of the fastest flow, in millionths.
    fastest: u64,
    /// The time of all packets on the link of the receiver over the time of the run, in thousandths.
    busy: u64,
}

impl Seen {
    fn of(record: &RunRecord, gbps: u64, wire_bytes: u64) -> Seen {
        let flows: Vec<_> = record.flows.iter().collect();
        let all_end = flows.iter().all(|flow| flow.end == FlowEnd::Completed);
        assert!(all_end, "every flow of a size ends");
        let last = flows.iter().filter_map(|flow| flow.fct_receiver_ps).max().expect("a flow");
        Seen {
            marked: count(record, |port| port.marked),
            trimmed: count(record, |port| port.trimmed),
            detoured: count(record, |port| port.detoured),
            notified: count(record, |port| port.notified),
            dropped: count(record, |port| port.dropped),
            pauses: record.pauses.iter().map(|link| link.sent).sum(),
            pacer_dropped: record.hosts.iter().map(|host| host.counters.pacer_dropped).sum(),
            timeouts: flows.iter().map(|flow| flow.timeouts).sum(),
            fastest: flows
                .iter()
                .filter_map(|flow| flow.slowdown_millionths())
                .min()
                .expect("a flow"),
            busy: wire_bytes * 8_000 * 1_000 / gbps / last,
        }
    }

    /// Returns whether the scheme met its purpose.
    fn check(&self, scheme: &str, gbps: u64, plan: &Plan) -> bool {
        let unasked = || SENDERS * plan.transports[0].window().expect("a window").1;
        let is_busy = self.busy >= 950;
        match scheme {
            "ndp" | "rccc" => self.trimmed > 0 && self.dropped == 0 && is_busy,
            "uec" => {
                // The miss that the purpose names.
                let is_missed = gbps == 25 && plan.transports[0].payload_bytes() == 1460;
                self.marked > 0 && self.trimmed > 0 && self.dropped == 0 && is_busy != is_missed
            }
            "opf" => self.trimmed > 0 && self.detoured > 0 && self.dropped == 0 && is_busy,
            "hull" => self.marked > 0 && self.dropped == 0 && self.pacer_dropped == 0,
            "dctcp" => self.marked > 0 && self.dropped == 0 && is_busy,
            "tcp" => self.dropped > 0,
            "dcqcn" => self.marked > 0 && self.pauses > 0 && self.dropped == 0,
            "phost" => self.dropped <= unasked() && is_busy,
            // Below, 2 ms without an answer are shorter than the queue of large packets.
            "homa" => gbps < 10 || self.dropped == 0 && is_busy,
            "homa-aeolus" => {
                self.dropped > 0 && (gbps < 10 || self.dropped <= unasked() && is_busy)
            }
            // A sender that has measured an empty queue has a timeout of 1 ms. 85 packets of 9 KB last 6 ms at 1 Gb/s.
            "fastlane" => {
                let is_long = 8 * queue_bytes(plan) / gbps > 5_000_000;
                let has_no_timeout = is_long || self.timeouts == 0;
                self.notified > 0 && self.dropped == 0 && has_no_timeout && is_busy
            }
            "hpcc" => {
                // The misses that the purpose names.
                let payload = plan.transports[0].payload_bytes();
                let is_missed =
                    matches!((gbps, payload), (1 | 10, _) | (25, 4096 | 9000) | (40, 9000));
                let is_busy = self.busy >= 950 * ETA_PERCENT / 100;
                self.dropped == 0 && is_busy != is_missed
            }
            "pfabric" => self.fastest <= 1_100_000,
            "pfabric-fastlane" => self.fastest <= 1_100_000 && self.dropped == 0,
            other => panic!("no purpose of {other}"),
        }
    }

    fn words(&self) -> String {
        let counts = [
            ("marked", self.marked),
            ("paused", self.pauses),
            ("trimmed", self.trimmed),
            ("detoured", self.detoured),
            ("notified", self.notified),
        ];
        let some = counts.iter().filter(|(_, count)| *count > 0);
        let words: String = some.map(|(name, count)| format!("{name} {count}, ")).collect();
        let pacers = match self.pacer_dropped {
            0 => String::new(),
            dropped => format!(", {dropped} at pacers"),
        };
        format!("{words}dropped {}{pacers}", self.dropped)
    }
}

/// Returns the bytes of full packets that a queue holds.
fn queue_bytes(plan: &Plan) -> u64 {
    let room = plan.switch.room_for_data();
    u64::from(room.bytes).min(u64::from(room.packets) * u64::from(plan.full_wire_bytes()))
}

/// Returns the parameters that follow from rate and payload.
fn derived(plan: &Plan) -> String {
    let bytes = queue_bytes(plan);
    let mut said = Vec::new();
    if let Some(lossless) = plan.lossless {
        said.push(format!("XOFF {} B", lossless.xoff));
    } else {
        said.push(format!("queue {bytes} B"));
    }
    let words = plan.switch.describe();
    let rules = words.iter().flat_map(|line| line.split([',', ';']).map(str::trim));
    let rules = rules.filter(|rule| {
        ["ECN marks ", "drops unscheduled "].iter().any(|begin| rule.starts_with(begin))
    });
    for rule in rules {
        if !said.iter().any(|known| known == rule) {
            said.push(rule.to_owned());
        }
    }
    if let Some(phantom) = plan.phantom_queues.first() {
        said.push(format!("phantom queue marks above {}", phantom.settings.threshold));
    }
    if let Some(paced) = &plan.pacer {
        said.push(format!("pacer holds {}", paced.settings.queue));
    }
    if let Some(Hot::Above(threshold)) = plan.detour.and_then(|model| model.hot) {
        said.push(format!("detours above {threshold} packets"));
    }
    if let Some((key, window)) =
        plan.transports[0].window().filter(|(key, _)| *key != "receive_window")
    {
        said.push(format!("{key} {window} packets"));
    }
    said.join("; ")
}

/// Returns the longest time of a flow on an idle path whose window begins at ten packets and doubles each round trip: a
/// handshake, a round trip for each shorter window, and the rest at the link's rate.
fn slow_start_ps(plan: &Plan, packets: u64, ideal_ps: u64) -> u64 {
    let chosen = &plan.transports[0];
    let round_trip =
        plan.topology.idle_round_trip(chosen.payload_bytes(), chosen.framing()).as_ps();
    let (mut window, mut sent, mut rounds) = (10, 0, 1);
    while sent + window < packets {
        sent += window;
        window *= 2;
        rounds += 1;
    }
    ideal_ps + rounds * round_trip
}

/// Runs one flow of 500 packets between two racks. Returns its slowdown and the bound, in millionths.
fn idle(scheme: &str, gbps: u64, payload: u64) -> (u64, u64) {
    let packets = 500;
    let size = packets * payload;
    let run_of = run_of(scheme, gbps, payload, &format!("pairs = [[0, 11]]\nsize = \"{size}B\""));
    let record = run(&run_of.plan);
    let flow = record.flows.iter().next().expect("a flow");
    let slowdown = flow.slowdown_millionths().expect("a flow that ended");
    if scheme == "hpcc" {
        return (slowdown, 1_050_000 * 100 / ETA_PERCENT);
    }
    let Some((_, times)) = GROWING.iter().find(|(name, _)| *name == scheme) else {
        return (slowdown, 1_050_000);
    };
    let ideal = flow.ideal_fct_ps.expect("a flow of a size");
    let bound = slow_start_ps(&run_of.plan, packets, ideal);
    (slowdown, times * bound * 1_000_000 / ideal)
}

const HEAD: &str = "# Parameters of schemes at every rate

This page lists the parameters of the built-in schemes (`trimline compare --schemes`) at eight rates and three payloads, and the
results of a test with them. `TRIMLINE_BLESS=1 cargo test -p trimline-sim --test runs rates` writes this page. Without the variable
the command compares the page with its results, and fails if a scheme does not meet its purpose.

Papers state parameters for 1 and 10 Gb/s, DCQCN's for 40 Gb/s. Up to these rates the schemes use the papers' values. Above, a parameter
that is a time of the link (a queue, a threshold, a rate increase) grows with the rate, and a parameter that is a round
trip (a window, tokens) grows with the packets per round trip.

The network has two racks of six hosts and two spines, with 500 ns per link and one rate for all links. The incast has eight flows into one
host, each of as many packets as the link sends in 150 us, min 200. *Busy* is the time of all packets on the receiver's
link divided by the time until the last flow ended. *Idle* is the slowdown of one flow of 500 packets between the racks without
other traffic. *Max idle* is its bound: 1.05; for HPCC, which leaves 5 % of a link free, 1.05 / 0.95; for TCP, DCTCP and FastLane a slow start from ten packets; for
HULL twice that.
";

/// The table of all runs. It takes a few seconds.
#[test]
fn every_scheme_serves_its_purpose_at_every_rate() {
    let mut page = HEAD.to_owned();
    let mut wrong = Vec::new();
    for (scheme, purpose) in SCHEMES {
        let _ = write!(
            page,
            "\n## {scheme}\n\n{purpose}\n\n| Gb/s | payload, B | parameters | incast | busy | idle | max idle |\n|---|---|---|---|---|---|---|\n"
        );
        let mut warnings: Vec<String> = Vec::new();
        for payload in PAYLOADS {
            for gbps in GBPS {
                let packets = packets_of(gbps, payload);
                let incast = run_of(
                    scheme,
                    gbps,
                    payload,
                    &format!(
                        "incast = {{ receiver = 0, senders = {SENDERS}, choose = \"last\" }}\nsize = \"{}B\"",
                        packets * payload
                    ),
                );
                let wire = u64::from(incast.plan.full_wire_bytes());
                let seen = Seen::of(&run(&incast.plan), gbps, SENDERS * packets * wire);
                let (slowdown, bound) = idle(scheme, gbps, payload);
                if !seen.check(scheme, gbps, &incast.plan) || slowdown > bound {
                    wrong.push(format!(
                        "{scheme}, {gbps} Gb/s, {payload} B: {}, busy {}, idle {slowdown} of {bound}",
                        seen.words(),
                        seen.busy
                    ));
                }
                let said = incast.warnings.iter().map(|warning| &warning.sentence);
                warnings.extend(said.map(|said| format!("{gbps} Gb/s, {payload} B: {said}")));
                let thousandths = |millionths: u64| {
                    let rounded = (millionths + 500) / 1_000;
                    format!("{}.{:03}", rounded / 1_000, rounded % 1_000)
                };
                let _ = writeln!(
                    page,
                    "| {gbps} | {payload} | {} | {} | {}.{} % | {} | {} |",
                    derived(&incast.plan),
                    seen.words(),
                    seen.busy / 10,
                    seen.busy % 10,
                    thousandths(slowdown),
                    thousandths(bound)
                );
            }
        }
        for warning in warnings {
            let _ = write!(page, "\nWarning at {warning}.\n");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs"));
    if !folder.is_dir() {
        // The folder is missing in a copy of the sources alone.
        return;
    }
    let file = folder.join("rates.md");
    if std::env::var_os("TRIMLINE_BLESS").is_some() {
        std::fs::write(&file, &page).expect("docs/rates.md");
    }
    let old = std::fs::read_to_string(file).unwrap_or_default();
    let command = "TRIMLINE_BLESS=1 cargo test -p trimline-sim --test runs rates";
    assert!(old == page, "docs/rates.md is old: `{command}` writes it");
}

/// A preset equals its rate, except for NDP's initial window.
#[test]
fn presets_fill_an_idle_path() {
    let size = |payload: u64| format!("pairs = [[0, 11]]\nsize = \"{}B\"", 500 * payload);
    for (scheme, _) in SCHEMES {
        for gbps in &GBPS[1..] {
            for payload in PAYLOADS {
                let of = |links: &str| run_on_links(scheme, links, payload, &size(payload));
                let preset = of(&format!("preset = \"{gbps}G\""));
                if !["ndp", "opf"].contains(&scheme) {
                    let plan = of(&format!("rate = \"{gbps}Gbps\"")).plan;
                    assert_eq!(format!("{:?}", preset.plan), format!("{plan:?}"), "{scheme}");
                    continue;
                }
                let record = run(&preset.plan);
                let slowdown =
                    record.flows.iter().next().and_then(|flow| flow.slowdown_millionths());
                assert!(slowdown <= Some(1_050_000), "{scheme} {gbps} {payload}: {slowdown:?}");
            }
        }
    }
}
