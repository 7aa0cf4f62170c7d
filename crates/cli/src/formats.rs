//! `trimline formats`: the files of other simulators that are read, and the built-in flow sizes.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use trimline_experiments::Failure;
use trimline_explain::wrapped;
use trimline_sim::distributions;
use trimline_sim::formats::sizes::{Reading, SizeDistribution};

use crate::output::Output;
use crate::terminal::entries;

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    output: Output,
}

/// Keys that name files of other simulators, and the files.
const READ: [(&str, &str); 3] = [
    ("topology.file", "topologies of htsim (.topo), and of HPCC if the graph is a folded Clos"),
    (
        "workload.file",
        "connection matrices of htsim (.cm: flows, triggers, failures), flow files of HPCC",
    ),
    (
        "size.file",
        "flow sizes of HPCC (bytes and percents), Homa (mean, then sizes and probabilities) and dcPIM (packets, 1, \
         probability), or sizes and cumulative shares up to 1; columns are separated by blanks or commas",
    ),
];

/// Keys that write files in formats of other simulators, and the files.
const WRITTEN: [(&str, &str); 1] = [("output.fct", "fct.txt, in the FCT format of HPCC")];

pub(crate) fn formats(options: &Options) -> Result<ExitCode, Failure> {
    let files = |list: &[(&str, &str)]| -> Vec<Value> {
        list.iter().map(|(key, about)| json!({ "key": key, "files": about })).collect()
    };
    let all = json!({
        "read": files(&READ),
        "written": files(&WRITTEN),
        "distributions": distributions(),
    });
    options.output.print(&all, text)?;
    Ok(ExitCode::SUCCESS)
}

fn distributions() -> Vec<Value> {
    let entry = |(name, file, sizes): (&str, &str, SizeDistribution)| {
        let interpolation = match sizes.reading() {
            Reading::Step => "step",
            Reading::Linear => "linear",
        };
        json!({
            "distribution": name,
            "mean_bytes": sizes.mean_millibytes() / 1000,
            "largest_bytes": sizes.largest(),
            "interpolation": interpolation,
            "file": file,
        })
    };
    distributions::built_in().map(entry).collect()
}

fn text() -> String {
    let files = |list: &[(&str, &str)]| -> String {
        let line = |(key, about): &(&str, &str)| wrapped(&format!("{key:15}{about}"), 15) + "\n";
        list.iter().map(line).collect()
    };
    let (read, written, table) = (files(&READ), files(&WRITTEN), entries(&distributions()));
    let commands = wrapped(COMMANDS, 0);
    format!(
        "Files that Trimline reads unchanged:\n\n{read}\n{commands}\n\nFiles that Trimline writes:\n\n{written}\n\
         Built-in flow-size distributions (size.distribution = NAME; sources in\n\
         crates/sim/distributions/README.md):\n\n{table}"
    )
}

const COMMANDS: &str = "`trimline run FLOWS.cm [--topology FILE]` runs a connection matrix without a scenario, and \
                        `trimline run FLOWS --topology FILE` a flow file of HPCC; so do compare, trace and explain. \
                        `--format` gives the format if neither the name (.cm, .tm) nor the first line shows it.";
