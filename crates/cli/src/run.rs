//! `trimline run`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

use trimline_metrics::{Aggregate, Summary, directory};
use trimline_sim::scenario::Run;

use crate::execute::{catch_interrupts, execute, interrupted, is_stopped, workers};
use crate::failure::{Failure, read_scenario};
use crate::results::{columns, print, write_run};

/// Runs a scenario and writes its results: straight into `out` when it is one run, else a directory a
/// run below `out`, and summary.json over their seeds.
pub(crate) fn run(
    path: &Path,
    settings: &[String],
    threads: Option<usize>,
    out: Option<PathBuf>,
) -> Result<ExitCode, Failure> {
    let workers = workers(threads)?;
    let scenario = read_scenario(path, settings)?;
    let out = out.unwrap_or_else(|| Path::new("out").join(&scenario.name));
    catch_interrupts()?;
    let is_single = scenario.runs.len() == 1;
    let summaries: Mutex<Vec<Option<Summary>>> = Mutex::new(vec![None; scenario.runs.len()]);
    execute(&scenario.runs, workers, &|index, record, wall| {
        let run = &scenario.runs[index];
        let directory = if is_single { out.clone() } else { out.join(&run.name) };
        let summary = write_run(&directory, &scenario, settings, run, &record, wall)?;
        summaries.lock().unwrap_or_else(|e| e.into_inner())[index] = Some(summary);
        Ok(())
    })?;
    let summaries = summaries.into_inner().unwrap_or_else(|e| e.into_inner());

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
        let file = out.join("summary.json");
        directory::write_file(&file, Aggregate::to_json(&groups))
            .map_err(|error| Failure::io(&file, &error))?;
    }

    let mut rows = vec![header()];
    for (run, summary) in scenario.runs.iter().zip(&summaries) {
        rows.extend(summary.as_ref().map(|summary| row(&run.name, summary)));
    }
    print(&columns(&rows));
    print(&format!("results: {}\n", out.display()));
    if is_stopped() {
        eprintln!("stopped: results hold what there was until then");
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
