//! `trimline run`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

use trimline_metrics::{Aggregate, Interval, Summary, result_folder};
use trimline_sim::scenario::{Run, Scenario};
use trimline_sim::transports::Transports;

use crate::execute::{Threads, catch_interrupts, execute, interrupted, is_stopped};
use crate::failure::Failure;
use crate::results::{Earlier, columns, earlier, print, say_resumed, write_run};
use crate::scenario_file::read_scenario;

/// Runs a scenario and writes its results: straight into `out` when it is one run, else a directory a
/// run below `out`, and summary.json over their seeds. With `resume` runs whose result is there are left out.
pub(crate) fn run(
    path: &Path,
    format: Option<&str>,
    settings: &[String],
    threads: Option<usize>,
    out: Option<PathBuf>,
    resume: bool,
    transports: &Transports,
) -> Result<ExitCode, Failure> {
    let scenario = read_scenario(path, format, settings, transports)?;
    let out = out.unwrap_or_else(|| Path::new("out").join(&scenario.name));
    run_scenario(&scenario, settings, threads, out, resume)
}

/// Runs a scenario that was read.
pub(crate) fn run_scenario(
    scenario: &Scenario,
    settings: &[String],
    threads: Option<usize>,
    out: PathBuf,
    resume: bool,
) -> Result<ExitCode, Failure> {
    let threads = Threads::new(threads)?;
    catch_interrupts()?;
    let is_single = scenario.runs.len() == 1;
    let directory = |run: &Run| if is_single { out.clone() } else { out.join(&run.name) };
    let mut found: Vec<Option<Summary>> = vec![None; scenario.runs.len()];
    if resume {
        let mut foreign = 0;
        for (run, found) in scenario.runs.iter().zip(&mut found) {
            match earlier(&directory(run), scenario, settings, run) {
                Earlier::Finished(summary) => *found = Some(*summary),
                Earlier::Foreign => foreign += 1,
                Earlier::Missing => {}
            }
        }
        say_resumed(found.iter().flatten().count(), foreign, found.len());
    }
    let pending: Vec<usize> = (0..found.len()).filter(|&run| found[run].is_none()).collect();
    let summaries = Mutex::new(found);
    execute(&scenario.runs, &pending, threads, &|index, done| {
        let run = &scenario.runs[index];
        let summary = write_run(&directory(run), scenario, settings, run, &done, &[])?;
        summaries.lock().unwrap_or_else(|e| e.into_inner())[index] = Some(summary);
        Ok(())
    })?;
    let summaries = summaries.into_inner().unwrap_or_else(|e| e.into_inner());

    let mut over_seeds = Vec::new();
    if !is_single {
        let mut groups: Vec<(&Run, Vec<&Summary>)> = Vec::new();
        for (run, summary) in scenario.runs.iter().zip(&summaries) {
            let Some(summary) = summary else { continue };
            let belongs =
                |other: &Run| other.plan.series == run.plan.series && other.point == run.point;
            match groups.last_mut() {
                Some((first, group)) if belongs(first) => group.push(summary),
                _ => groups.push((run, vec![summary])),
            }
        }
        let groups: Vec<Aggregate> =
            groups.iter().map(|(first, group)| Aggregate::new(&first.point, group)).collect();
        over_seeds = seeds_table(&groups);
        let file = out.join("summary.json");
        result_folder::write_file(&file, Aggregate::to_json(&groups))
            .map_err(|error| Failure::io(&file, &error))?;
    }

    let mut rows = vec![header()];
    for (run, summary) in scenario.runs.iter().zip(&summaries) {
        rows.extend(summary.as_ref().map(|summary| row(&run.name, summary)));
    }
    print(&columns(&rows));
    if !over_seeds.is_empty() {
        print(&format!("\nover seeds, mean ± 95 % interval\n{}", columns(&over_seeds)));
    }
    print(&format!("results: {}\n", out.display()));
    if is_stopped() {
        eprintln!("stopped: results hold what there was until then; --resume goes on");
        return Ok(interrupted());
    }
    Ok(ExitCode::SUCCESS)
}

fn header() -> Vec<String> {
    [
        "run",
        "flows",
        "completed",
        "mean Gb/s",
        "min Gb/s",
        "FCT p50 us",
        "p99 us",
        "max us",
        "retransmitted",
        "hops",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn row(name: &str, summary: &Summary) -> Vec<String> {
    let or_dash = |number: Option<f64>, decimals: usize| {
        number.map_or("-".to_owned(), |number| format!("{number:.decimals$}"))
    };
    let goodput = summary.goodput_gbps.as_ref();
    let fct = summary.fct_receiver_us.as_ref();
    let retransmissions = &summary.retransmissions;
    vec![
        name.to_owned(),
        summary.flows.total.to_string(),
        (summary.flows.completed + summary.flows.delivered).to_string(),
        or_dash(goodput.map(|goodput| goodput.mean), 3),
        or_dash(goodput.map(|goodput| goodput.min), 3),
        or_dash(fct.map(|fct| fct.p50), 1),
        or_dash(fct.map(|fct| fct.p99), 1),
        or_dash(fct.map(|fct| fct.max), 1),
        (retransmissions.nack + retransmissions.returned + retransmissions.timeout).to_string(),
        summary.packet_hops.to_string(),
    ]
}

/// Mean and interval of every group of several seeds; empty when there is none.
fn seeds_table(groups: &[Aggregate]) -> Vec<Vec<String>> {
    let several: Vec<&Aggregate> = groups.iter().filter(|group| group.seeds.len() > 1).collect();
    if several.is_empty() {
        return Vec::new();
    }
    let head = [
        "series",
        "seeds",
        "mean Gb/s",
        "min Gb/s",
        "FCT p50 us",
        "p99 us",
        "max us",
        "retransmitted/packet",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for group in several {
        let point = group.point.iter().map(|(key, value)| format!("{key}={value}"));
        let name: Vec<String> = [group.series.clone()]
            .into_iter()
            .filter(|name| !name.is_empty())
            .chain(point)
            .collect();
        let cell = |interval: Option<Interval>, decimals: usize| match interval {
            None => "-".to_owned(),
            Some(Interval { mean, half_width: None, .. }) => format!("{mean:.decimals$}"),
            Some(Interval { mean, half_width: Some(half_width), .. }) => {
                format!("{mean:.decimals$} ± {half_width:.decimals$}")
            }
        };
        rows.push(vec![
            if name.is_empty() { "all".to_owned() } else { name.join(" ") },
            group.seeds.len().to_string(),
            cell(group.mean_goodput_gbps, 3),
            cell(group.min_goodput_gbps, 3),
            cell(group.fct_receiver_p50_us, 1),
            cell(group.fct_receiver_p99_us, 1),
            cell(group.fct_receiver_max_us, 1),
            cell(group.retransmissions_per_packet, 4),
        ]);
    }
    rows
}
