//! Results of runs on disk: a folder for each.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use trimline_explain::link_changes;
use trimline_metrics::manifest::{scenario_hash, text_hash};
use trimline_metrics::{
    FlowRecord, Manifest, ResultFolder, RunRecord, Summary, samples, series, table, timeline,
};
use trimline_sim::formats::hpcc::{self, Completion};
use trimline_sim::plan::EngineChoice;
use trimline_sim::scenario::{Output, Run, Scenario};

use crate::execute::Done;
use crate::failure::Failure;
use crate::notice::notice;

fn manifest(scenario: &Scenario, settings: &[String], run: &Run) -> Manifest {
    Manifest {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("TRIMLINE_COMMIT").to_owned(),
        source: env!("TRIMLINE_SOURCE").to_owned(),
        scenario: scenario.name.clone(),
        scenario_sha256: scenario_hash(&scenario.text, settings),
        plan_sha256: text_hash(&format!("{:?}", run.plan)),
        settings: settings.to_vec(),
        run: run.name.clone(),
        point: run.point.clone(),
        seed: run.plan.seed,
        host_link: run.plan.host_link(),
        link_events: link_changes(&run.plan),
        engine: match run.plan.engine {
            EngineChoice::LookaheadWindows => "windows",
            EngineChoice::Heap => "heap",
        }
        .to_owned(),
        threads: 1,
        interrupted: false,
        wall_seconds: 0.0,
        packet_hops: 0,
        packet_hops_per_second: 0.0,
    }
}

/// Writes the directory of a run, whole or not at all; `more` are additional files.
pub(crate) fn write_run(
    directory: &Path,
    scenario: &Scenario,
    settings: &[String],
    run: &Run,
    done: &Done,
    more: &[(&str, String)],
) -> Result<Summary, Failure> {
    let record = &done.record;
    let summary = Summary::new(record);
    let seconds = done.wall.as_secs_f64();
    let manifest = Manifest {
        threads: done.threads,
        interrupted: record.interrupted,
        wall_seconds: seconds,
        packet_hops: record.packet_hops,
        packet_hops_per_second: record.packet_hops as f64 / seconds.max(1e-9),
        ..manifest(scenario, settings, run)
    };
    let Output { ports, links, latencies, timeline, series, .. } = run.output;
    let (sampled, taken) = (&run.plan.sampled, &record.samples);
    type File<'a> = (bool, &'a str, &'a dyn Fn() -> Vec<u8>);
    let files: [File<'_>; 10] = [
        (ports, "ports.csv", &|| table::ports(record)),
        (ports && !record.pauses.is_empty(), "pauses.csv", &|| table::pauses(record)),
        (ports && run.plan.detour.is_some(), "paths.csv", &|| table::paths(record)),
        (ports && !record.hosts.is_empty(), "hosts.csv", &|| table::hosts(record)),
        (links, "links.csv", &|| table::links(record)),
        (latencies, "latencies.csv", &|| table::latencies(record)),
        (timeline, "timeline.csv", &|| timeline::csv(&record.timeline)),
        (series, "series.csv", &|| samples::csv(taken)),
        (!sampled.flows.is_empty(), "flow_series.csv", &|| series::flows_csv(&taken.flows)),
        (!sampled.ports.is_empty(), "port_series.csv", &|| series::ports_csv(&taken.ports)),
    ];
    let write = || -> std::io::Result<()> {
        let made = ResultFolder::begin(directory)?;
        if run.output.flows {
            let mut file = made.create("flows.csv")?;
            table::write_flows(record, &mut file)?;
            file.flush()?;
        }
        for (is_asked, name, csv) in files {
            if is_asked {
                made.write(name, csv())?;
            }
        }
        if run.output.fct {
            let mut file = made.create("fct.txt")?;
            write_fct(record, &mut file)?;
            file.flush()?;
        }
        for (name, text) in more {
            made.write(name, text)?;
        }
        made.write("scenario.toml", &scenario.text)?;
        made.write("summary.json", summary.to_json())?;
        made.write("manifest.json", manifest.to_json())?;
        made.finish()
    };
    write().map_err(|error| Failure::io(directory, &error))?;
    Ok(summary)
}

/// Writes completed flows in the format of HPCC's simulations, in the order of flows.csv.
fn write_fct(record: &RunRecord, out: &mut impl Write) -> std::io::Result<()> {
    let completion = |flow: &FlowRecord| {
        Some(hpcc::completion(&Completion {
            source: flow.source,
            destination: flow.destination,
            source_port: 10_000u16.wrapping_add(flow.index as u16),
            size_bytes: flow.size_bytes?,
            start_ps: flow.start_ps,
            fct_ps: flow.fct_receiver_ps?,
            ideal_ps: flow.ideal_fct_ps?,
        }))
    };
    let mut ended = record.flows.iter().filter_map(|flow| completion(&flow));
    ended.try_for_each(|line| out.write_all(line.as_bytes()))
}

/// The state of a run's result directory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Earlier {
    /// No result, or an interrupted run.
    Missing,
    /// A result of another scenario, other settings or another program.
    Different,
    Finished(Box<Summary>),
}

/// Reads the earlier result of each run that has a `directory` for it, with `read` if it is finished. Prints their number if
/// the command resumes or has any.
pub(crate) fn found<T>(
    scenario: &Scenario,
    settings: &[String],
    resumes: bool,
    directory: &dyn Fn(&Run) -> Option<PathBuf>,
    read: &dyn Fn(&Run, Summary) -> Option<T>,
) -> Vec<Option<T>> {
    let mut different = 0;
    let of = |run: &Run| match earlier(&directory(run)?, scenario, settings, run) {
        Earlier::Finished(summary) => read(run, *summary),
        Earlier::Different => {
            different += 1;
            None
        }
        Earlier::Missing => None,
    };
    let found: Vec<Option<T>> = scenario.runs.iter().map(of).collect();
    let finished = found.iter().flatten().count();
    if resumes || finished > 0 {
        notice(&format!("resumed: {finished} of {} runs are complete", found.len()));
        if different > 0 {
            notice(&format!(
                "{different} results are of another scenario or program: their runs are repeated"
            ));
        }
    }
    found
}

/// Checks for an earlier result of a run.
pub(crate) fn earlier(
    directory: &Path,
    scenario: &Scenario,
    settings: &[String],
    run: &Run,
) -> Earlier {
    let text = |name| fs::read_to_string(directory.join(name)).unwrap_or_default();
    let Some(found) = Manifest::from_json(&text("manifest.json")) else {
        // An unreadable manifest belongs to another program.
        let is_result = directory.join("manifest.json").exists();
        return if is_result { Earlier::Different } else { Earlier::Missing };
    };
    if !found.is_of_the_same_run(&manifest(scenario, settings, run)) {
        return Earlier::Different;
    }
    match Summary::from_json(&text("summary.json")) {
        Some(summary) if !found.interrupted || summary.is_deadlocked() => {
            Earlier::Finished(Box::new(summary))
        }
        _ => Earlier::Missing,
    }
}
