//! `trimline explain`: a scenario in words, and roughly what its runs will take.

use std::path::Path;
use std::process::ExitCode;

use trimline_packet::TimeDelta;
use trimline_sim::plan::{
    Arrivals, Connection, Gap, Matrix, Plan, ServiceModel, Size, Spraying, Workload,
};
use trimline_sim::scenario::Run;
use trimline_sim::topology::{Clos, HostDelay, Processing};
use trimline_sim::transports::{Transports, time};

use crate::estimate::Estimate;
use crate::failure::Failure;
use crate::results::print;
use crate::scenario_file::read_scenario;

pub(crate) fn explain(
    path: &Path,
    format: Option<&str>,
    settings: &[String],
    transports: &Transports,
) -> Result<ExitCode, Failure> {
    let scenario = read_scenario(path, format, settings, transports)?;
    let mut text = String::new();
    if !scenario.name.is_empty() {
        text += &format!("{}: {}\n", scenario.name, scenario.description);
    }
    let runs = scenario.runs.len();
    text += &format!("{runs} run{}\n", plural(runs));
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
            format!("{tier} {}, {}{framing}", link.rate, time(link.delay))
        })
        .collect();
    text += &format!("  links      {}\n", links.join("; "));
    text += &processing_words(clos);

    text += &format!("  switch     {}\n", port_words(&plan.switch, plan.droppable.is_some()));
    for rule in &plan.port_rules {
        text += &format!(
            "  of these   {} port{}: {}\n",
            rule.ports.len(),
            plural(rule.ports.len()),
            port_words(&rule.model.main, rule.model.droppable.is_some())
        );
    }
    if plan.switch.shares_memory() {
        let least = plan.shared_memory.of(u64::from(clos.least_switch_ports()));
        text += &format!(
            "  memory     {} B or more, by its ports, shared by the queues of a switch (dynamic thresholds)\n",
            least.get()
        );
    }
    for chosen in &plan.transports {
        text += &chosen.words(plan);
    }
    for workload in &plan.workloads {
        let with = match &plan.transports[..] {
            [_] => String::new(),
            _ => format!(", with {}", plan.transport_of(workload).name()),
        };
        text += &format!("  workload   {}{with}\n", workload_words(workload, hosts));
    }
    text += &match plan.duration {
        Some(duration) => {
            format!("  duration   {}, measured after {}\n", time(duration), time(plan.warm_up))
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

/// What a switch port does.
fn port_words(model: &ServiceModel, has_droppable_queue: bool) -> String {
    let headers = match model.header_queue_capacity_bytes() {
        Some(bytes) => format!("{bytes} B for headers"),
        None => "headers without bound".to_owned(),
    };
    let full = if model.returns_headers() { "returned to sender" } else { "dropped" };
    let beside = match has_droppable_queue {
        true => "; beside them a queue for packets that may only be dropped (deficit round robin)",
        false => "",
    };
    format!(
        "{} queue{}, trimmed packets {} B, {headers}; what does not fit is {full}{beside}",
        model.queue_count(),
        plural(model.queue_count()),
        model.trimmed_bytes(),
    )
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// What hosts and switches take for a packet, where they take any time.
fn processing_words(clos: &Clos) -> String {
    let processing = &clos.processing;
    if *processing == Processing::default() {
        return String::new();
    }
    let host = |delay: HostDelay| match delay.spread {
        TimeDelta::ZERO => time(delay.least),
        spread => {
            format!("{} to {}", time(delay.least), time(delay.least + spread))
        }
    };
    let mut words = format!(
        "hosts {} to send, {} to receive",
        host(processing.host_send),
        host(processing.host_receive)
    );
    let switches = ["ToR", "aggregation", "core"].iter().zip(processing.switch);
    for (layer, latency) in switches.take(usize::from(clos.tiers)) {
        words += &format!("; {layer} {}", time(latency));
    }
    format!("  processing {words}\n")
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
        Arrivals::Periodic { every, .. } => format!(", again every {}", time(every)),
        Arrivals::Poisson { mean, .. } => {
            format!(", again and again, Poisson with a mean gap of {}", time(mean))
        }
        Arrivals::ClosedLoop { gap: Gap::Fixed(gap), .. } => {
            format!(", again {} after the end of the last", time(gap))
        }
        Arrivals::ClosedLoop { gap: Gap::Exponential(mean), .. } => {
            format!(
                ", again after the last and an exponential gap of {} on the average",
                time(mean)
            )
        }
    };
    let jitter = match workload.start_jitter.as_ps() {
        0 => String::new(),
        _ => format!(" and up to {} later", time(workload.start_jitter)),
    };
    let paths = match workload.spraying {
        Spraying::SenderPermuted => "paths permuted by the sender",
        Spraying::SwitchRandom => "paths chosen by the switches",
    };
    let connection = match workload.connection {
        Connection::New => "",
        Connection::Kept => ", connections kept",
    };
    format!(
        "{}: {matrix}, {size}{arrivals}, from {}{jitter}, class {}, {paths}{connection}",
        workload.name,
        time(workload.start),
        workload.class
    )
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
    fn ports_that_differ_are_said() {
        let text = "topology.star.hosts = 3\nswitch.droppable_queue = \"50pkt\"\n\
                    [[switch.port]]\nlink = \"tor 0 down 1\"\nprofile = \"drop-tail\"\n\
                    [[workload]]\nname = \"w\"\npermutation = {}\nsize = \"9KB\"\n";
        let scenario = Scenario::parse("s", text, &[]).unwrap_or_else(|error| panic!("{error}"));
        let words = words(&scenario.runs[0].plan);
        assert!(words.contains("returned to sender; beside them a queue"), "{words}");
        assert!(words.contains("of these   1 port: 1 queue, "), "{words}");
    }

    #[test]
    fn connections_that_are_kept_are_said_to_be() {
        let workload = |connection: &str| {
            let text = format!(
                "topology.star.hosts = 3\n[[workload]]\nname = \"w\"\npermutation = {{}}\nsize = \"9KB\"\n\
                 arrivals.closed_loop = {{ gap = \"1us\", count = 3 }}\n{connection}"
            );
            let scenario = Scenario::parse("s", &text, &[]);
            words(&scenario.unwrap_or_else(|error| panic!("{error}")).runs[0].plan)
        };
        assert!(workload("connection = \"kept\"").contains(", connections kept\n"));
        assert_eq!(workload("connection = \"new\""), workload(""));
    }

    #[test]
    fn long_lists_are_shortened() {
        let values: Vec<String> = (1..=9).map(|n| n.to_string()).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        assert_eq!(shortened(&values), "1, 2, ..., 9 (9 values)");
        assert_eq!(shortened(&values[..2]), "1, 2");
    }
}
