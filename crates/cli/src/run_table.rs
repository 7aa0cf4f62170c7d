//! The tables of `trimline run`, in eighty columns: a row per workload and run, and means over seeds. Long-lived and
//! sized flows have separate tables for their different numbers.

use std::collections::BTreeMap;

use trimline_metrics::summary::WorkloadAggregate;
use trimline_metrics::{
    Aggregate, HostSummary, Interval, LinkCounters, Load, Slowdown, SlowdownOfSizes, Summary,
    WorkloadSummary,
};

use crate::terminal::columns;

const WIDTH: usize = 80;
/// Max workloads shown per run; summary.json has all.
const MAX: usize = 16;
const MARK: &str = "*";

struct Row {
    run: String,
    workload: String,
    numbers: Vec<String>,
}

/// The tables of runs by name, and of groups with several seeds.
pub(crate) fn tables(runs: &[(&str, &Summary)], groups: &[Aggregate]) -> String {
    let mut text = of_runs(runs);
    let several: Vec<&Aggregate> = groups.iter().filter(|group| group.seeds.len() > 1).collect();
    if !several.is_empty() {
        text += &over_seeds(&several);
    }
    text += &loads(runs);
    text += &losses(runs);
    text += &pauses(runs);
    text += &hosts(runs);
    let stopped = runs.iter().filter(|(_, run)| run.interrupted).count();
    if stopped > 0 {
        let enters = match runs.len() {
            1 => "",
            _ => "; means leave it out (--include-stopped includes it)",
        };
        text += &format!("\n{MARK} stopped before its end{enters}\n");
    }
    let hidden = runs.iter().map(|(_, run)| run.workloads.len().saturating_sub(MAX)).sum::<usize>();
    if hidden > 0 {
        text += &format!("\nsummary.json has {hidden} more workloads\n");
    }
    text
}

/// Requested and measured load of Poisson arrivals, or its range over runs.
fn loads(runs: &[(&str, &Summary)]) -> String {
    let mut of: BTreeMap<&str, Vec<&Load>> = BTreeMap::new();
    for one in runs.iter().flat_map(|(_, run)| &run.workloads) {
        if let Some(load) = &one.load {
            of.entry(&one.workload).or_default().push(load);
        }
    }
    let range = |loads: &[&Load], value: fn(&Load) -> f64| {
        let values = || loads.iter().map(|load| value(load));
        let min = fixed(values().fold(f64::INFINITY, f64::min), 1);
        let max = fixed(values().fold(0.0, f64::max), 1);
        if min == max { format!("{min} %") } else { format!("{min} to {max} %") }
    };
    let line = |(workload, loads): (&&str, &Vec<&Load>)| {
        let offered = range(loads, |load| load.offered_percent);
        let realised = range(loads, |load| load.realised_percent);
        format!(
            "\nload of {} on links of hosts: {offered} offered, {realised} realised",
            shortened(workload, 24)
        )
    };
    let text: String = of.iter().take(MAX).map(line).collect();
    if text.is_empty() { text } else { text + "\n" }
}

/// Packets lost on links, by cause: a transport that resends them is no slower than its links.
fn losses(runs: &[(&str, &Summary)]) -> String {
    let mut lost = LinkCounters::default();
    runs.iter().for_each(|(_, run)| lost.add(&run.links));
    let LinkCounters { failed, lost, corrupted } = lost;
    let of = if runs.len() == 1 { String::new() } else { format!(" in {} runs", runs.len()) };
    match failed + lost + corrupted {
        0 => String::new(),
        all => format!(
            "\nlinks lost {all} packets{of}: {lost} at random, {corrupted} damaged, {failed} while down\n"
        ),
    }
}

fn pauses(runs: &[(&str, &Summary)]) -> String {
    let with = || runs.iter().filter_map(|(name, run)| Some((*name, run.pauses.as_ref()?)));
    let count = with().count();
    if count == 0 {
        return String::new();
    }
    let sent: u64 = with().map(|(_, pauses)| pauses.sent).sum();
    let of = match (runs.len(), count) {
        (1, _) => String::new(),
        (_, 1) => " in 1 run".to_owned(),
        _ => format!(" in {count} runs"),
    };
    let mut text = format!("\npauses: {sent} frames{of}");
    let longest = with().filter_map(|(_, pauses)| pauses.longest.as_ref());
    if let Some(longest) = longest.rev().max_by_key(|longest| longest.stopped_ps) {
        let milliseconds = fixed(longest.stopped_ps as f64 / 1e9, 3);
        text += &format!(", stopped longest: {} ({milliseconds} ms)", longest.name);
    }
    text += "\n";
    let passed: u64 = with().map(|(_, pauses)| pauses.cycles_passed).sum();
    if passed > 0 {
        text += &format!("paused ports waited for each other {passed} times and resumed\n");
    }
    for (name, pauses) in with().filter(|(_, pauses)| !pauses.deadlock.is_empty()) {
        let name =
            if name.is_empty() { String::new() } else { format!(" in {}", shortened(name, 24)) };
        text += &format!("\ndeadlock{name}: each of these paused ports waits for the next\n");
        for link in pauses.deadlock.iter().take(MAX) {
            text += &format!("  {link}\n");
        }
        if pauses.deadlock.len() > MAX {
            text += &format!("  and {} more in summary.json\n", pauses.deadlock.len() - MAX);
        }
    }
    text
}

/// Packets that hosts had no room for.
fn hosts(runs: &[(&str, &Summary)]) -> String {
    let with: Vec<&HostSummary> = runs.iter().filter_map(|(_, run)| run.hosts.as_ref()).collect();
    let sum = |of: fn(&HostSummary) -> u64| with.iter().map(|hosts| of(hosts)).sum::<u64>();
    let (queues, rings) = (sum(|hosts| hosts.queue_dropped), sum(|hosts| hosts.ring_dropped));
    let pacers = sum(|hosts| hosts.pacer_dropped);
    match queues + rings + pacers {
        0 => String::new(),
        all => format!(
            "\nhosts dropped {all} packets: {queues} in NICs' queues, {rings} in their rings, {pacers} in pacers\n"
        ),
    }
}

fn marked(name: &str, run: &Summary) -> String {
    format!("{name}{}", if run.interrupted { MARK } else { "" })
}

fn of_runs(runs: &[(&str, &Summary)]) -> String {
    let mut long = vec![head("long-lived", &["flows", "mean Gb/s", "min Gb/s", "resent"])];
    let mut sized =
        vec![head("of a size", &["flows", "done", "FCT p50 us", "p99 us", "max us", "resent"])];
    for (name, run) in runs {
        let name = marked(name, run);
        for one in run.workloads.iter().take(MAX) {
            let rows = if one.long_lived { &mut long } else { &mut sized };
            let workload =
                if run.workloads.len() > 1 { one.workload.clone() } else { String::new() };
            rows.push(Row { run: name.clone(), workload, numbers: numbers(one) });
        }
    }
    joined(&[&long, &sized, &slowdowns(runs)])
}

/// Median and 99 % of the slowdown: of all flows, and by size if there are several.
fn slowdowns(runs: &[(&str, &Summary)]) -> Vec<Row> {
    const CLASSES: [(Option<u64>, &str); 4] = [
        (Some(10_000), "to 10 KB"),
        (Some(100_000), "to 100 KB"),
        (Some(1_000_000), "to 1 MB"),
        (None, "above"),
    ];
    let with = || {
        runs.iter().flat_map(|(name, run)| {
            let is_only = run.workloads.len() == 1;
            let with = move |one: &'_ WorkloadSummary| {
                let workload = if is_only { String::new() } else { one.workload.clone() };
                Some((marked(name, run), workload, one.slowdown.clone()?))
            };
            run.workloads.iter().take(MAX).filter_map(with)
        })
    };
    let has = |slowdown: &Slowdown, class| {
        slowdown.sizes.iter().find(|of| of.up_to_bytes == class).cloned()
    };
    let mut classes = CLASSES.to_vec();
    classes.retain(|(class, _)| with().any(|(.., slowdown)| has(&slowdown, *class).is_some()));
    if with().all(|(.., slowdown)| slowdown.sizes.len() == 1) {
        classes.clear();
    }
    let cell = |p50: f64, p99: f64| format!("{}/{}", short(p50), short(p99));
    let names: Vec<&str> = std::iter::once("all").chain(classes.iter().map(|of| of.1)).collect();
    let row = |(run, workload, slowdown): (String, String, Slowdown)| {
        let of = |class| {
            has(&slowdown, class).map_or("-".to_owned(), |of: SlowdownOfSizes| cell(of.p50, of.p99))
        };
        let all = cell(slowdown.p50, slowdown.p99);
        let numbers = std::iter::once(all).chain(classes.iter().map(|&(class, _)| of(class)));
        Row { run, workload, numbers: numbers.collect() }
    };
    let head = Row { run: "slowdown p50/p99".into(), ..head("", &names) };
    std::iter::once(head).chain(with().map(row)).collect()
}

fn short(number: f64) -> String {
    let decimals = if number < 10.0 { 2 } else { usize::from(number < 100.0) };
    format!("{number:.decimals$}")
}

fn numbers(one: &WorkloadSummary) -> Vec<String> {
    let or_dash = |number: Option<f64>, decimals| number.map_or("-".into(), |n| fixed(n, decimals));
    let goodput = one.goodput_gbps.as_ref();
    let fct = one.fct_receiver_us.as_ref();
    let flows = one.flows.to_string();
    let resent = one.retransmissions.to_string();
    if one.long_lived {
        let mean = or_dash(goodput.map(|goodput| goodput.mean), 3);
        return vec![flows, mean, or_dash(goodput.map(|goodput| goodput.min), 3), resent];
    }
    vec![
        flows,
        one.delivered.to_string(),
        or_dash(fct.map(|fct| fct.p50), 1),
        or_dash(fct.map(|fct| fct.p99), 1),
        or_dash(fct.map(|fct| fct.max), 1),
        resent,
    ]
}

fn over_seeds(groups: &[&Aggregate]) -> String {
    let mut long = vec![head("long-lived", &["seeds", "mean Gb/s", "min Gb/s"])];
    let mut sized = vec![head("of a size", &["seeds", "FCT p50 us", "p99 us", "max us"])];
    for group in groups {
        let point = group.point.iter().map(|(key, value)| format!("{key}={value}"));
        let series = (!group.series.is_empty()).then(|| group.series.clone());
        let name = series.into_iter().chain(point).collect::<Vec<_>>().join("/");
        for one in group.workloads.iter().take(MAX) {
            let rows = if one.long_lived { &mut long } else { &mut sized };
            let is_only = group.workloads.len() == 1 && !name.is_empty();
            let workload = if is_only { String::new() } else { one.workload.clone() };
            let seeds = group.seeds.len().to_string();
            let numbers = std::iter::once(seeds).chain(intervals(one)).collect();
            rows.push(Row { run: name.clone(), workload, numbers });
        }
    }
    format!("\nmean over seeds ± 95 % interval\n{}", joined(&[&long, &sized]))
}

fn intervals(one: &WorkloadAggregate) -> Vec<String> {
    let cell = |interval: Option<Interval>, decimals| match interval {
        None => "-".to_owned(),
        Some(Interval { mean, half_width: None, .. }) => fixed(mean, decimals),
        Some(Interval { mean, half_width: Some(half_width), .. }) => {
            // An interval has the decimals of its mean.
            let decimals = decimals_of(mean, decimals);
            format!("{mean:.decimals$} ± {half_width:.decimals$}")
        }
    };
    if one.long_lived {
        return vec![cell(one.mean_goodput_gbps, 3), cell(one.min_goodput_gbps, 3)];
    }
    [one.fct_receiver_p50_us, one.fct_receiver_p99_us, one.fct_receiver_max_us]
        .map(|interval| cell(interval, 1))
        .to_vec()
}

/// Drops a decimal for each digit beyond three.
fn fixed(number: f64, decimals: usize) -> String {
    let decimals = decimals_of(number, decimals);
    format!("{number:.decimals$}")
}

/// Decimals of a number, at most `max`: one less for each digit beyond three.
fn decimals_of(number: f64, max: usize) -> usize {
    let digits = if number.abs() < 1.0 { 0 } else { number.abs().log10() as usize };
    max.min(5usize.saturating_sub(digits))
}

fn head(kind: &str, names: &[&str]) -> Row {
    let numbers = names.iter().map(|&name| name.into()).collect();
    Row { run: format!("flows {kind}"), workload: String::new(), numbers }
}

fn joined(tables: &[&[Row]]) -> String {
    let tables = tables.iter().filter(|rows| rows.len() > 1);
    tables.map(|rows| narrowed(rows)).collect::<Vec<_>>().join("\n")
}

/// Aligns rows in columns, with names short enough for a terminal.
fn narrowed(rows: &[Row]) -> String {
    let count = rows.first().map_or(0, |row| row.numbers.len());
    let width = |column: usize| rows.iter().map(|row| row.numbers[column].chars().count()).max();
    let others: usize = (0..count).map(|column| 2 + width(column).unwrap_or(0)).sum();
    let room = WIDTH.saturating_sub(others).max(20);
    let line = |row: &Row| {
        let label = labelled(&row.run, &row.workload, room);
        std::iter::once(label).chain(row.numbers.iter().cloned()).collect()
    };
    let lines: Vec<Vec<String>> = rows.iter().map(line).collect();
    columns(&lines)
}

/// A run and its workload within `room` characters: beginning and end of each.
fn labelled(run: &str, workload: &str, room: usize) -> String {
    if run.is_empty() || workload.is_empty() {
        return shortened(&format!("{run}{workload}"), room);
    }
    let length = |name: &str| name.chars().count();
    // Room that one name does not need goes to the other.
    let of_workload = length(workload).min(room.saturating_sub(1 + length(run)).max(room / 2));
    let of_run = room - 1 - of_workload;
    format!("{} {}", shortened(run, of_run), shortened(workload, of_workload))
}

/// The beginning and the end of a name within `max` characters: where runs differ.
fn shortened(name: &str, max: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= max {
        return name.to_owned();
    }
    let end = (max - 1) * 2 / 3;
    let begin = max - 1 - end;
    let letters = &letters;
    letters[..begin].iter().chain(&['…']).chain(&letters[letters.len() - end..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::ControlFlow;
    use trimline_metrics::summary::Counting;
    use trimline_sim::scenario::Scenario;

    fn summaries(text: &str) -> (Scenario, Vec<Summary>) {
        let scenario = Scenario::parse("s", text, &[]).unwrap_or_else(|error| panic!("{error}"));
        let run = |run: &trimline_sim::scenario::Run| {
            let record = trimline_sim::run(&run.plan, &mut |_| ControlFlow::Continue(()));
            Summary::new(&record.unwrap_or_else(|error| panic!("{error}")))
        };
        let summaries = scenario.runs.iter().map(run).collect();
        (scenario, summaries)
    }

    #[test]
    fn the_load_of_poisson_arrivals_is_shown() {
        let (_, one) = summaries(
            "duration = \"1ms\"\ntopology.star.hosts = 9\n[[workload]]\nname = \"w\"\npermutation = {}\n\
             size.pareto = { shape = \"1.05\", mean = \"100KB\" }\narrivals.poisson.load = \"40%\"\n",
        );
        let load = one[0].workloads[0].load.as_ref().expect("a load");
        let text = tables(&[("", &one[0])], &[]);
        let expected = format!(
            "\nload of w on links of hosts: 40.0 % offered, {} % realised\n",
            fixed(load.realised_percent, 1)
        );
        assert!(load.realised_percent > 0.0 && text.contains(&expected), "{text}");
        let twice = Summary {
            workloads: vec![WorkloadSummary {
                load: Some(Load { offered_percent: 40.0, realised_percent: 55.0 }),
                ..one[0].workloads[0].clone()
            }],
            ..one[0].clone()
        };
        let text = tables(&[("a", &one[0]), ("b", &twice)], &[]);
        assert!(text.contains(" to 55.0 % realised"), "{text}");
    }

    const MIXED: &str = "impairment.loss = \"1%\"\nseeds = \"1..2\"\nduration = \"1ms\"\ntopology.star.hosts = 9\n\
        [[workload]]\nname = \"background\"\npermutation = {}\nsize = \"long-lived\"\n\
        [[workload]]\nname = \"replies-of-a-long-name\"\nsize = \"90KB\"\n\
        incast = { receiver = 0, senders = 8 }\n\
        [[series]]\nname = \"as-in-the-paper-with-a-long-name\"\n";

    /// Three leaves with packets that circle, and the same without fixed routes.
    const RING: &str = "topology.leafspine = { leaves = 3, spines = 1, hosts_per_leaf = 2 }\nduration = \"10ms\"\n\
        transport.cbr = {}\nswitch = { profile = \"drop-tail\", pfc = { xoff = \"5pkt\" } }\n\
        [[workload]]\nname = \"w\"\npairs = [[0, 4], [2, 0], [4, 2]]\nsize = \"long-lived\"\n\
        [[series]]\nname = \"up-and-down\"\n\
        [[series]]\nname = \"round\"\nfixed_route = [ { over = \"tor 0 up 0\", by = \"spine 0 down 1\" },\n\
        { over = \"tor 1 up 0\", by = \"spine 0 down 2\" }, { over = \"tor 2 up 0\", by = \"spine 0 down 0\" } ]\n";

    #[test]
    fn run_tables_fit_a_terminal() {
        let shown = |scenario: &Scenario, summaries: &[Summary]| {
            let runs: Vec<(&str, &Summary)> =
                scenario.runs.iter().map(|run| &*run.name).zip(summaries).collect();
            let all: Vec<&Summary> = summaries.iter().collect();
            tables(&runs, &[Aggregate::new(&[], &all, Counting::Whole)])
        };
        let (scenario, mut of_mixed) = summaries(MIXED);
        let whole = shown(&scenario, &of_mixed);
        of_mixed[1].interrupted = true;
        let stopped = shown(&scenario, &of_mixed);
        let (scenario, of_ring) = summaries(RING);
        let text = [whole, stopped, shown(&scenario, &of_ring)].join("\n---\n\n");
        for line in text.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/run.txt");
        if std::env::var_os("TRIMLINE_BLESS").is_some() {
            std::fs::write(file, &text).unwrap();
        }
        assert_eq!(text, std::fs::read_to_string(file).unwrap_or_default());
    }

    #[test]
    fn a_shortened_name_keeps_its_ends() {
        assert_eq!(shortened("abcdefghij", 10), "abcdefghij");
        assert_eq!(shortened("abcdefghijklm", 10), "abc…hijklm");
        assert_eq!(
            [fixed(1234567.89, 1), fixed(0.12345, 3), fixed(98.76, 1)],
            ["1234568", "0.123", "98.8"]
        );
    }
}
