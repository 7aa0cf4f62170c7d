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
    /// Override a scenario key in every series and scheme, e.g. `--set payload=1460B` or `--set
    /// workload.incast.size=90KB`. A sweep of the same key takes precedence.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Run these seeds, a range "1..5" or a list "1,4,7". Default: the seeds of the scenario.
    #[arg(long = "seeds", value_name = "SEEDS")]
    seeds: Option<String>,
    /// Run only seed N. Default: the seeds of the scenario.
    #[arg(long = "seed", value_name = "N", conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Read the topology from an htsim or HPCC file. Default: the topology of the scenario.
    #[arg(long, value_name = "FILE")]
    topology: Option<PathBuf>,
    /// Format of a file of flows. Default: detected from its name and first line.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Simulation engine; both give the same results. Default: the engine of the scenario.
    #[arg(long, value_parser = ["windows", "heap"])]
    engine: Option<String>,
}

/// The format of a file of flows.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// Connection matrix of htsim.
    Htsim,
    /// Flow file of HPCC.
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
    /// Number of threads, used first for parallel runs and then within runs; results do not depend on N. Default: all
    /// cores, but one per run on small networks.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Directory of the results; each command needs its own. Default: out/ and the path of the scenario file, such as
    /// out/examples/incast; `compare` appends -compare.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Continue a stopped command: keep complete results of the same scenario and program, and make only the other
    /// runs.
    #[arg(long)]
    resume: bool,
    /// Print only warnings and errors.
    #[arg(long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Include runs that were stopped early in means over seeds.
    #[arg(long)]
    include_stopped: bool,
    /// Start runs even if their estimated memory exceeds the free memory.
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
    /// Directory of experiments. Default: ./experiments, else the built-in experiments.
    #[arg(long = "experiments", env = "TRIMLINE_EXPERIMENTS", value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}
