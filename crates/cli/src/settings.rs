//! Options that several commands have.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use trimline_experiments::run::Options;
use trimline_experiments::{Failure, FlowFormat, Threads, read_scenario};
use trimline_metrics::summary::Counting;
use trimline_sim::scenario::Scenario;
use trimline_sim::transports::Transports;

/// Options that override a scenario.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Settings {
    /// Override a scenario key in every series and scheme, e.g. `--set payload=1460B` or `--set workload.incast.size=90KB`.
    /// It goes before the scenario, a series and a scheme, and after a sweep.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Seeds instead of the scenario's: a range "1..5" or a list "1,4,7".
    #[arg(long = "seeds", value_name = "SEEDS")]
    seeds: Option<String>,
    /// One seed instead of the scenario's, by its number.
    #[arg(long = "seed", value_name = "N", conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Topology instead of the scenario's: a file of htsim or HPCC.
    #[arg(long, value_name = "FILE")]
    topology: Option<PathBuf>,
    /// The file has flows in this format. Default: by its name and first line.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Engine instead of the scenario's.
    #[arg(long, value_parser = ["windows", "heap"])]
    engine: Option<String>,
}

/// The format of a file of flows.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// A connection matrix of htsim.
    Htsim,
    /// Flows of HPCC's simulations.
    Hpcc,
}

impl Settings {
    /// Reads the scenario of a command.
    pub(crate) fn read(&self, path: &Path, transports: &Transports) -> Result<Scenario, Failure> {
        read_scenario(path, self.format(), &self.texts(), transports)
    }

    pub(crate) fn format(&self) -> Option<FlowFormat> {
        self.format.map(|format| match format {
            Format::Htsim => FlowFormat::Htsim,
            Format::Hpcc => FlowFormat::Hpcc,
        })
    }

    /// The settings as text, in their order.
    pub(crate) fn texts(&self) -> Vec<String> {
        let mut texts = self.set.clone();
        texts.extend(self.seeds.as_deref().map(seeds_setting));
        texts.extend(self.seed.map(|seed| format!("seeds=[{seed}]")));
        if let Some(file) = &self.topology {
            // A JSON string is a TOML string.
            let name = serde_json::Value::from(file.display().to_string());
            texts.push(format!("topology.file={name}"));
        }
        texts.extend(self.engine.as_deref().map(|engine| format!("engine=\"{engine}\"")));
        texts
    }
}

/// Options of runs.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Runs {
    /// Threads: as many runs at the same time, and what is left over within each; the results are the same
    /// with any number. Default: all cores, several for one run only where the network is large.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Directory of the results, which holds those of one command; default: out/ and the place of the scenario's
    /// file, such as out/examples/incast, for `compare` with -compare.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Go on where an earlier command was stopped: runs whose results are there, of the same scenario by
    /// the same program, are not done again.
    #[arg(long)]
    resume: bool,
    /// Print nothing but warnings and errors.
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Count runs that were stopped before their end in means over seeds.
    #[arg(long)]
    include_stopped: bool,
    /// Begin runs that seem to need more memory than there is.
    #[arg(long)]
    ignore_memory: bool,
}

impl Runs {
    pub(crate) fn options(&self) -> Result<Options, Failure> {
        Ok(Options {
            threads: Threads::new(self.threads, self.quiet)?,
            resume: self.resume,
            counting: if self.include_stopped { Counting::Stopped } else { Counting::Whole },
            ignore_memory: self.ignore_memory,
        })
    }
}

/// Converts `--seeds` to a setting: "1,4,7" is a list, "1..5" a range; of bare numbers only 1 is accepted, as in a
/// scenario.
fn seeds_setting(seeds: &str) -> String {
    match (seeds.contains(','), seeds.contains("..")) {
        (true, _) => format!("seeds=[{seeds}]"),
        (_, true) => format!("seeds=\"{seeds}\""),
        _ => format!("seeds={seeds}"),
    }
}

/// Options for the place of experiments.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Library {
    /// Directory of experiments; default: ./experiments, or those built in.
    #[arg(long = "experiments", env = "TRIMLINE_EXPERIMENTS", value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}
