//! `trimline explain`: a scenario in words, and roughly what its runs will take.

use std::path::Path;
use std::process::ExitCode;

use trimline_packet::{ByteCount, TimeDelta};
use trimline_sim::plan::{
    Arrivals, Config, Gap, Matrix, Plan, PullSpacing, Size, Spraying, Transport, Workload, tcp,
};
use trimline_sim::scenario::Run;
use trimline_sim::topology::{Clos, HostDelay, Processing};

use crate::estimate::Estimate;
use crate::failure::Failure;
use crate::results::print;
use crate::scenario_file::read_scenario;

pub(crate) fn explain(
    path: &Path,
    format: Option<&str>,
    settings: &[String],
) -> Result<ExitCode, Failure> {
    let scenario = read_scenario(path, format, settings)?;
    let mut text = String::new();
    if !scenario.name.is_empty() {
        text += &format!("{}: {}\n", scenario.name, scenario.description);
    }
    let runs = scenario.runs.len();
    text += &format!("{runs} run{}\n", if runs == 1 { "" } else { "s" });
    let mut total = Estimate::default();
    let mut shown: Vec<(&str, String)> = Vec::new();
    for run in &scenario.runs {
        let estimate = Estimate::of(&run.plan);
        total.hops += estimate.hops;
        total.seconds += estimate.seconds;
        total.megabytes = total.megabytes.max(estimate.megabytes);
        let words = words(&run.plan);
        // One description for each series: seeds and the sweep follow it.
        if shown.last().is_none_or(|(series, _)| *series != run.plan.series) {
            let title = match run.plan.series.as_str() {
                "" => String::new(),
                series => format!("\nseries {series}\n"),
            };
            text += &title;
            text += &words;
            text += &varied(&scenario.runs, run);
            shown.push((&run.plan.series, words));
        }
    }
    text += &format!(
        "\nroughly {:.1} million packet-hops, {} on one core, {:.0} MB a run\n",
        total.hops / 1e6,
        human_time(total.seconds),
        total.megabytes,
    );
    print(&text);
    Ok(ExitCode::SUCCESS)
}

/// The sweep and the seeds of a series.
fn varied(runs: &[Run], first: &Run) -> String {
    let own = || runs.iter().filter(|run| run.plan.series == first.plan.series);
    let mut text = String::new();
    for (place, (key, _)) in first.point.iter().enumerate() {
        let mut values: Vec<&str> = Vec::new();
        for value in own().filter_map(|run| run.point.get(place)) {
            if !values.contains(&value.1.as_str()) {
                values.push(&value.1);
            }
        }
        text += &format!("  sweep      {key}: {}\n", shortened(&values));
    }
    let mut seeds: Vec<String> = Vec::new();
    for seed in own().map(|run| run.plan.seed.to_string()) {
        if !seeds.contains(&seed) {
            seeds.push(seed);
        }
    }
    let seeds: Vec<&str> = seeds.iter().map(String::as_str).collect();
    text + &format!("  seeds      {}\n", shortened(&seeds))
}

fn shortened(values: &[&str]) -> String {
    match values {
        [first, second, .., last] if values.len() > 8 => {
            format!("{first}, {second}, ..., {last} ({} values)", values.len())
        }
        values => values.join(", "),
    }
}

fn words(plan: &Plan) -> String {
    let clos = &plan.topology;
    let hosts = clos.hosts();
    let shape = match clos.tiers {
        0 => "two hosts and a cable".to_owned(),
        1 => format!("{hosts} hosts around one switch"),
        2 => format!(
            "{hosts} hosts: {} leaves of {} hosts, {} spines",
            clos.tors_per_pod, clos.hosts_per_tor, clos.aggregations_per_pod
        ),
        _ => format!(
            "FatTree of {hosts} hosts: {} pods of {} ToRs with {} hosts each, {} aggregation switches a \
             pod, {} cores",
            clos.pods,
            clos.tors_per_pod,
            clos.hosts_per_tor,
            clos.aggregations_per_pod,
            clos.aggregations_per_pod * clos.cores_per_aggregation
        ),
    };
    let mut text = format!("  topology   {shape}\n");
    let links =
        [("host", clos.host_link), ("ToR", clos.tor_link), ("aggregation", clos.aggregation_link)];
    let tiers = usize::from(clos.tiers.max(1));
    let links: Vec<String> = links[..tiers]
        .iter()
        .map(|(tier, link)| {
            let framing = match link.framing_bytes {
                0 => String::new(),
                bytes => format!(", {bytes} B of framing"),
            };
            format!("{tier} {}, {}{framing}", link.rate, time(link.delay.as_ps()))
        })
        .collect();
    text += &format!("  links      {}\n", links.join("; "));
    text += &processing_words(clos);

    let switch = &plan.switch;
    let headers = match switch.header_queue_capacity_bytes() {
        Some(bytes) => format!("{bytes} B for headers"),
        None => "headers without bound".to_owned(),
    };
    let full = if switch.returns_headers() { "returned to sender" } else { "dropped" };
    text += &format!(
        "  switch     {} queue{}, trimmed packets {} B, {headers}; what does not fit is {full}\n",
        switch.queue_count(),
        if switch.queue_count() == 1 { "" } else { "s" },
        switch.trimmed_bytes(),
    );
    if switch.shares_memory() {
        let least = plan.shared_memory.of(u64::from(clos.least_switch_ports()));
        text += &format!(
            "  memory     {} B or more, by its ports, shared by the queues of a switch (dynamic thresholds)\n",
            least.get()
        );
    }
    text += &match &plan.transport {
        Transport::Ndp(ndp) => ndp_words(ndp) + &round_trip_words(clos, ndp.payload_bytes),
        Transport::Tcp(tcp) => tcp_words(tcp) + &round_trip_words(clos, tcp.payload_bytes),
        Transport::Cbr(cbr) => {
            let clocks = match cbr.clock_lag.as_ps() {
                0 => String::new(),
                lag => format!("; a host's clock loses up to {} in each", time(lag)),
            };
            format!(
                "  transport  constant bit rate: {} a flow, {} B a packet, whatever happens{clocks}\n",
                cbr.rate, cbr.payload_bytes
            )
        }
    };
    for workload in &plan.workloads {
        text += &format!("  workload   {}\n", workload_words(workload, hosts));
    }
    text += &match plan.duration {
        Some(duration) => {
            format!(
                "  duration   {}, measured after {}\n",
                time(duration.as_ps()),
                time(plan.warm_up.as_ps())
            )
        }
        None => "  duration   until every flow has ended\n".to_owned(),
    };
    if let Some(watch) = &plan.timeline {
        text += &format!(
            "  timeline   of {} places and {} pairs of hosts, by the slow engine\n",
            watch.places.len(),
            watch.flows.len()
        );
    }
    text
}

/// What hosts and switches take for a packet, where they take any time.
fn processing_words(clos: &Clos) -> String {
    let processing = &clos.processing;
    if *processing == Processing::default() {
        return String::new();
    }
    let host = |delay: HostDelay| match delay.spread {
        TimeDelta::ZERO => time(delay.least.as_ps()),
        spread => {
            format!("{} to {}", time(delay.least.as_ps()), time((delay.least + spread).as_ps()))
        }
    };
    let mut words = format!(
        "hosts {} to send, {} to receive",
        host(processing.host_send),
        host(processing.host_receive)
    );
    let switches = ["ToR", "aggregation", "core"].iter().zip(processing.switch);
    for (layer, latency) in switches.take(usize::from(clos.tiers)) {
        words += &format!("; {layer} {}", time(latency.as_ps()));
    }
    format!("  processing {words}\n")
}

/// The bandwidth-delay product, beside which the initial window stands.
fn round_trip_words(clos: &Clos, payload_bytes: u16) -> String {
    let round_trip = clos.idle_round_trip(payload_bytes).as_ps();
    let packet = clos.host_link.transmission(ByteCount::new(u64::from(payload_bytes) + 64)).as_ps();
    let packets = round_trip as f64 / packet as f64;
    format!(
        "  round trip {} idle between the farthest hosts: {packets:.1} packets of the host's link\n",
        time(round_trip)
    )
}

/// The parameters of NDP.
fn ndp_words(ndp: &Config) -> String {
    format!(
        "  transport  NDP: initial window {}, {} B a packet, RTO {}, {}{}{}\n",
        ndp.initial_window,
        ndp.payload_bytes,
        time(ndp.rto.as_ps()),
        match ndp.pull_spacing {
            _ if ndp.pull_gaps.is_some() => "pulls spaced by a distribution".to_owned(),
            PullSpacing::WireBytes => "pulls paced by wire bytes".to_owned(),
            PullSpacing::PayloadBytes => "pulls paced by payload bytes".to_owned(),
            PullSpacing::WireBytesScaled { percent } => {
                format!("pulls paced to {percent} % of the wire time")
            }
        },
        if ndp.pull_ack { ", riding in ACKs" } else { ", each a packet" },
        if ndp.path_penalty.is_some() { "" } else { ", no path penalty" },
    )
}

/// The parameters of one of the TCP family.
fn tcp_words(tcp: &tcp::Config) -> String {
    let name = match (tcp.control, tcp.subflows) {
        (tcp::Control::Dctcp { .. }, _) => "DCTCP".to_owned(),
        (tcp::Control::NewReno, 1) => "TCP NewReno".to_owned(),
        (tcp::Control::Cubic, 1) => "TCP CUBIC".to_owned(),
        (_, subflows) => format!("MPTCP of {subflows} subflows"),
    };
    let options = [
        (tcp.ecn, "ECN"),
        (tcp.sack, "SACK"),
        (tcp.dsack, "DSACK"),
        (tcp.timestamps, "timestamps"),
        (tcp.frto, "F-RTO"),
    ];
    let options: Vec<&str> =
        options.iter().filter(|(is_on, _)| *is_on).map(|&(_, name)| name).collect();
    format!(
        "  transport  {name}: initial window {}, {} B a segment, RTO of {} to {}, an ACK for {} segments{}{}\n",
        tcp.initial_window,
        tcp.payload_bytes,
        time(tcp.rto_min.as_ps()),
        time(tcp.rto_max.as_ps()),
        tcp.ack_every,
        if options.is_empty() { "" } else { ", " },
        options.join(", "),
    )
}

fn workload_words(workload: &Workload, hosts: u32) -> String {
    let matrix = match &workload.matrix {
        Matrix::Permutation => format!("{hosts} hosts send to one other each"),
        Matrix::Incast { receiver, senders, .. } => {
            format!("{senders} hosts send to host {receiver}")
        }
        Matrix::Random { flows, excluding } => {
            let members = hosts.saturating_sub(excluding.len() as u32);
            format!("{members} hosts send {flows} flows each to random others")
        }
        Matrix::AllToAll => format!("{hosts} hosts send to every other"),
        Matrix::Outcast { sender, receivers, .. } => {
            format!("host {sender} sends to {receivers} hosts")
        }
        Matrix::RandomIncast { senders } => format!("{senders} hosts send to a random one"),
        Matrix::Pairs(pairs) if pairs.len() == 1 => "1 flow".to_owned(),
        Matrix::Pairs(pairs) => format!("{} flows", pairs.len()),
        Matrix::Listed(listed) => format!("{} flows of a file", listed.flows.len()),
        Matrix::Requests(queries) => {
            let who = match queries.client {
                Some(client) => format!("host {client} asks"),
                None => format!("{hosts} hosts ask"),
            };
            format!("{who} {} random others at once", queries.servers)
        }
        Matrix::Responses => "the answers".to_owned(),
    };
    let size = match (&workload.matrix, &workload.size) {
        (Matrix::Listed(_), _) => "sizes of the file".to_owned(),
        (_, Size::LongLived) => "for ever".to_owned(),
        (_, Size::Fixed(size)) => format!("{size} each"),
        (_, Size::Drawn(sizes)) => {
            format!("sizes drawn, {} B on the average", sizes.mean_millibytes() / 1000)
        }
    };
    let arrivals = match workload.arrivals {
        Arrivals::Once => String::new(),
        Arrivals::Periodic { every, .. } => format!(", again every {}", time(every.as_ps())),
        Arrivals::Poisson { mean, .. } => {
            format!(", again and again, Poisson with a mean gap of {}", time(mean.as_ps()))
        }
        Arrivals::ClosedLoop { gap: Gap::Fixed(gap), .. } => {
            format!(", again {} after the end of the last", time(gap.as_ps()))
        }
        Arrivals::ClosedLoop { gap: Gap::Exponential(mean), .. } => {
            format!(
                ", again after the last and an exponential gap of {} on the average",
                time(mean.as_ps())
            )
        }
    };
    let jitter = match workload.start_jitter.as_ps() {
        0 => String::new(),
        _ => format!(" and up to {} later", time(workload.start_jitter.as_ps())),
    };
    let paths = match workload.spraying {
        Spraying::SenderPermuted => "paths permuted by the sender",
        Spraying::SwitchRandom => "paths chosen by the switches",
    };
    format!(
        "{}: {matrix}, {size}{arrivals}, from {}{jitter}, class {}, {paths}",
        workload.name,
        time(workload.start.as_ps()),
        workload.class
    )
}

/// A time as a scenario file writes it: the largest unit in which it is a short decimal.
fn time(ps: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns")];
    let unit = UNITS.iter().find(|&&(unit, _)| ps >= unit);
    let (unit, name) = unit.copied().unwrap_or((1, "ps"));
    let decimals = format!("{:.12}", (ps % unit) as f64 / unit as f64);
    let decimals = decimals[1..].trim_end_matches('0').trim_end_matches('.');
    format!("{}{decimals}{name}", ps / unit)
}

fn human_time(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 1.0 => format!("{:.0} ms", seconds * 1000.0),
        seconds if seconds < 120.0 => format!("{seconds:.1} s"),
        seconds => format!("{:.0} min", seconds / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimline_sim::scenario::Scenario;

    #[test]
    fn a_timeline_is_said_to_be_slow() {
        let text = "topology.star.hosts = 3\n[[workload]]\nname = \"w\"\npermutation = {}\nsize = \"9KB\"\n\
                    [output]\ntimeline = { places = [\"host 1\", \"host 2\"], flows = [[0, 1]] }\n";
        let scenario = Scenario::parse("s", text, &[]).unwrap_or_else(|error| panic!("{error}"));
        let words = words(&scenario.runs[0].plan);
        assert!(words.contains("timeline   of 2 places and 1 pairs of hosts, by the slow engine"));
    }

    #[test]
    fn times_read_as_scenarios_write_them() {
        assert_eq!(time(20_100_000_000), "20.1ms");
        assert_eq!(time(7_251_200), "7.2512us");
        assert_eq!(time(1_000_000_000_000), "1s");
        assert_eq!(time(0), "0ps");
    }

    #[test]
    fn long_lists_are_shortened() {
        let values: Vec<String> = (1..=9).map(|n| n.to_string()).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        assert_eq!(shortened(&values), "1, 2, ..., 9 (9 values)");
        assert_eq!(shortened(&values[..2]), "1, 2");
    }
}
