//! `trimline trace`: the history of a flow.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use trimline_experiments::trace::{Traced, trace as write_trace};
use trimline_experiments::{Failure, default_folder, notice};
use trimline_metrics::fct_breakdown::Component;
use trimline_sim::transports::Transports;

use crate::interrupt::catch_interrupts;
use crate::output::Output;
use crate::settings::Settings;
use crate::status::interrupted;
use crate::terminal::columns;

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Scenario file (TOML), htsim connection matrix (.cm) or HPCC flow file.
    scenario: PathBuf,
    #[command(flatten)]
    settings: Settings,
    /// Flow to trace, by its row in flows.csv from 0. Default: the flows and ports of `output.timeline`.
    #[arg(long, value_name = "N")]
    flow: Option<usize>,
    /// Run to trace, by the name that `run` prints. Default: the first run.
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
    /// Directory of the results. Default: out/ and the path of the scenario file, with -trace appended.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

pub(crate) fn trace(options: Options, transports: &Transports) -> Result<ExitCode, Failure> {
    let Options { scenario: path, settings, flow, run, out, output } = options;
    let scenario = settings.read(&path, transports)?;
    let out = out.unwrap_or_else(|| default_folder(&path, "trace"));
    let stop = catch_interrupts()?;
    let traced = write_trace(scenario, &settings.texts(), &out, run.as_deref(), flow, stop)?;
    let Some(Traced { components, events, packets }) = traced else {
        notice("stopped: nothing was written");
        return Ok(interrupted());
    };
    let files = ["trace.pcapng", "trace.json", "timeline.csv"].map(|name| out.join(name));
    let [capture, perfetto, table] = files.each_ref().map(|file| file.display().to_string());
    let parts = components.as_ref().map(|components| {
        let part = |one: &Component| json!({ "component": one.name, "time_ps": one.ps });
        components.iter().map(part).collect::<Vec<_>>()
    });
    let all = json!({
        "folder": out.display().to_string(),
        "events": events,
        "packets": packets,
        "fct_components": parts,
        "files": [capture, perfetto, table],
    });
    output.print(&all, || {
        let components = components.as_deref().map(describe_components).unwrap_or_default();
        let files = columns(&[
            vec![capture.clone(), "for Wireshark (NDP with tools/wireshark/ndp.lua)".to_owned()],
            vec![perfetto.clone(), "for ui.perfetto.dev".to_owned()],
            vec![table.clone(), "as a table, which `trimline report` draws".to_owned()],
        ]);
        format!("{components}{events} events, {packets} packets\n{files}")
    })?;
    Ok(ExitCode::SUCCESS)
}

/// A completion time and its components, for a terminal.
fn describe_components(components: &[Component]) -> String {
    let us = |ps: u64| format!("{:.3} us", ps as f64 / 1e6);
    let all = components.iter().map(|component| component.ps).sum();
    let mut rows = vec![vec!["completion time".to_owned(), us(all)]];
    rows.extend(
        components.iter().map(|component| vec![format!("  {}", component.name), us(component.ps)]),
    );
    columns(&rows)
}
