//! The `trimline` command: it reads scenarios, runs them, reports results and judges findings.
//!
//! The crate is a library, so that three programs share it: the binaries `trimline` and `trimline-switch`, the Python
//! package, and programs with a transport of their own. `trimline-sim` has scenarios and runs, `trimline-metrics`
//! results, `trimline-stack` hosts and switches, `trimline-testbed` measurements on real ones.
//!
//! # Begin with
//! - [`command`]: a whole command line, from words to an exit status.
//! - [`command_with`]: the same in a program that adds a transport.
//! - [`single::Named`]: a scenario whose runs the caller schedules itself, as the Python package does.
//!
//! # In and out
//! Words go in. A command checks the scenario, the memory that its runs need and the folder of their results, and only
//! then begins: it locks the folder, runs the plans on several threads, and writes each result completely or not at
//! all. Tables go to standard output; warnings, progress and errors go to standard error.
//!
//! | status | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | a finding does not hold |
//! | 2 | a mistake in the command, a file or a scenario |
//! | 130 | stopped by Ctrl-C, with the results so far written |
//!
//! # Example
//! A scenario has a run for each series and seed. A mistake is one line with its place:
//!
//! ```
//! use trimline::single::Named;
//!
//! let text = r#"
//!     seeds = "1..2"
//!     topology.star.hosts = 4
//!
//!     [[workload]]
//!     name = "shuffle"
//!     permutation = {}
//!     size = "90KB"
//! "#;
//! let scenario = Named::parse("shuffle.toml", text, "shuffle", Vec::new()).unwrap();
//! let names: Vec<String> = scenario.runs().into_iter().map(|run| run.name).collect();
//! assert_eq!(names, ["seed-1", "seed-2"]);
//!
//! let wrong = text.replace("seeds", "seesd");
//! let error = Named::parse("shuffle.toml", &wrong, "shuffle", Vec::new()).unwrap_err();
//! assert!(error.starts_with("shuffle.toml:2:") && error.contains("seeds"), "{error}");
//! ```
//!
//! # Read on
//! - For `trimline-switch`: [`switch_ports`], [`terminal`], [`log`], [`openmetrics`] and [`writer`].
//! - `README.md` lists the commands, `docs/first-hour.md` shows them at work, `docs/errors.md` shows their answers to
//!   mistakes.
//! - `docs/internals/metrics-and-findings.md` explains how a finding is judged.
//!
//! # Features
//! `checked`: a run checks every index of its packet path, at half the speed.
#![forbid(unsafe_code)]

mod baseline;
mod bench;
mod cached;
mod compare;
mod describe_detour;
mod describe_plan;
mod describe_timers;
mod estimate;
mod execute;
mod experiments;
mod explain;
mod failure;
mod finding;
mod findings;
mod import;
mod load;
pub mod log;
mod memory;
mod net;
pub mod openmetrics;
mod outcome;
mod output_lock;
mod partial_run;
mod quantity;
mod quick;
mod reference;
mod report;
mod reproduce;
mod results;
mod rows;
mod run;
mod run_table;
mod scenario_file;
pub mod single;
mod stats;
pub mod switch_ports;
pub mod terminal;
mod testbed;
mod toml_text;
mod trace;
mod transport;
mod verdicts;
mod warnings;
pub mod writer;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use trimline_sim::scenario::SCHEMES;
use trimline_sim::transports::{AnyTransport, Transports};

use failure::Failure;
use import::FlowFormat;

/// Options that override a scenario.
#[derive(Args, Clone, Debug, Default)]
struct Settings {
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
    format: Option<FlowFormat>,
    /// Engine instead of the scenario's.
    #[arg(long, value_parser = ["windows", "heap"])]
    engine: Option<String>,
}

impl Settings {
    fn texts(&self) -> Vec<String> {
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
struct Runs {
    /// Threads: as many runs at the same time, and what is left over within each; the results are the same
    /// with any number. Default: all cores, several for one run only where the network is large.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Directory of the results, which holds those of one command; default: out/ and the place of the scenario's
    /// file, such as out/examples/incast, for `compare` with -compare.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on where an earlier command was stopped: runs whose results are there, of the same scenario by
    /// the same program, are not done again.
    #[arg(long)]
    resume: bool,
    /// Print nothing but warnings and errors.
    #[arg(long)]
    quiet: bool,
    /// Count runs that were stopped before their end in means over seeds.
    #[arg(long)]
    include_stopped: bool,
    /// Begin runs that seem to need more memory than there is.
    #[arg(long)]
    ignore_memory: bool,
}

impl Runs {
    fn options(self, json: bool) -> run::Options {
        let Runs { threads, out, resume, quiet, include_stopped, ignore_memory } = self;
        run::Options { threads, out, resume, json, quiet, include_stopped, ignore_memory }
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

#[derive(Parser, Debug)]
#[command(
    name = "trimline",
    version,
    term_width = 80,
    about = "Simulates datacenter networks whose switches trim packets instead of dropping them."
)]
struct Command {
    #[command(subcommand)]
    verb: Verb,
}

/// The help of `--schemes`, which names all built-in schemes.
fn schemes_help() -> String {
    format!(
        "Schemes instead: a transport with its switches, phantom queues and pacers, under one name. Names with commas of \
         {}; or a file (TOML) with a table [[scheme]] for each",
        SCHEMES.join(", ")
    )
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Run a scenario and write its results.
    Run {
        /// Scenario file (TOML), or flows of htsim (.cm) or of HPCC.
        scenario: PathBuf,
        #[command(flatten)]
        settings: Settings,
        #[command(flatten)]
        runs: Runs,
        /// Print the numbers as JSON instead of tables.
        #[arg(long, conflicts_with = "quiet")]
        json: bool,
    },
    /// Run experiments and hold the findings of their paper against them.
    Reproduce {
        /// Experiments: ndp/fig14, ndp, or all.
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        /// Print findings as JSON.
        #[arg(long)]
        json: bool,
        /// Print every finding, with its range and what is known of those that do not hold.
        #[arg(short, long, conflicts_with = "json")]
        verbose: bool,
        #[command(flatten)]
        settings: Settings,
        /// As `--threads` of `run`.
        #[arg(long, visible_alias = "threads", value_name = "N")]
        jobs: Option<usize>,
        /// Only some of the runs, each as in the full tier: minutes for all. What they are too few for is not judged.
        #[arg(long)]
        quick: bool,
        /// Only these series, with commas. What is there of the others stays and is judged beside them; findings about
        /// series that are not there are not judged.
        #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "quick")]
        series: Vec<String>,
        /// Directory of the results; default: out, with --quick out/quick.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Go on where an earlier command was stopped, as in `run`.
        #[arg(long)]
        resume: bool,
        /// Runs that were made elsewhere, as scripts/cached_runs.py writes them: they are judged and not made again.
        #[arg(long, value_name = "FILE")]
        cached: Option<PathBuf>,
        /// Do not draw.
        #[arg(long)]
        no_plot: bool,
        /// Begin runs that seem to need more memory than there is.
        #[arg(long)]
        ignore_memory: bool,
        #[command(flatten)]
        library: Library,
    },
    /// List the experiments.
    List {
        /// Print them as JSON.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        library: Library,
    },
    /// Run a scenario with several transports, or with several schemes: one table, one figure.
    #[command(
        group = clap::ArgGroup::new("compared").required(true).args(["transports", "schemes"]),
        override_usage = "trimline compare <SCENARIO> <--transports <NAMES>|--schemes <NAMES>>"
    )]
    Compare {
        /// Scenario file (TOML), or flows of htsim (.cm) or of HPCC.
        scenario: PathBuf,
        /// Names of transports with commas, such as ndp,dctcp.
        #[arg(long, value_name = "NAMES")]
        transports: Option<String>,
        // The simulator has the list of names.
        #[arg(long, value_name = "NAMES|FILE", conflicts_with = "timers", help = schemes_help())]
        schemes: Option<String>,
        /// Timers of TCP, DCTCP and MPTCP: presets of their `timers`. Default: what the scenario says.
        #[arg(long, value_parser = ["linux", "datacenter", "rfc"])]
        timers: Option<String>,
        #[command(flatten)]
        settings: Settings,
        #[command(flatten)]
        runs: Runs,
    },
    /// Follow a flow packet by packet: a capture for Wireshark, a trace for Perfetto, a table.
    Trace {
        /// Scenario file (TOML), or flows of htsim (.cm) or of HPCC.
        scenario: PathBuf,
        #[command(flatten)]
        settings: Settings,
        /// The flow: its row in flows.csv, from 0; default: what `output.timeline` asks for.
        #[arg(long, value_name = "N")]
        flow: Option<usize>,
        /// Name of the run, as `run` prints it; default: the first.
        #[arg(long, value_name = "NAME")]
        run: Option<String>,
        /// Directory of the result; default: out/ and the scenario's name with -trace.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Make one HTML file of results: verdicts, plots, the network, manifests.
    Report {
        /// Directories of results.
        #[arg(required = true, value_name = "DIR")]
        folders: Vec<PathBuf>,
        /// The file; default: report.html in the first directory.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        /// Count runs that were stopped before their end.
        #[arg(long)]
        include_stopped: bool,
    },
    /// Measure packet-hops per second on the standard workloads.
    Bench(bench::Options),
    /// Run a figure on real hosts and switches, in network namespaces that vanish with the command.
    Testbed(testbed::Options),
    /// Send messages to a host that answers (`trimline rpc serve`) and time them, over NDP.
    Ping(net::Ping),
    /// Answer requests over NDP, or generate them.
    #[command(subcommand)]
    Rpc(net::Rpc),
    /// Send standard input to a host, or receive it, over NDP.
    #[command(subcommand)]
    Cat(net::Cat),
    /// Make keys that hosts share (`--key`).
    #[command(subcommand)]
    Key(KeyVerb),
    /// Print what a command with --stats wrote last: frames, and what became of the packets on each path.
    Stats {
        /// The file.
        file: PathBuf,
        /// Print again every so many seconds, until interrupted.
        #[arg(long, value_name = "S")]
        every: Option<f64>,
    },
    /// Print the JSON Schema of scenario files.
    Schema,
    /// Print every key of a scenario, the switch profiles, the names of links and the columns of every file.
    Reference,
    /// List the transports that scenarios can name.
    Transports {
        /// Print them as JSON: names, labels and colours of figures.
        #[arg(long)]
        json: bool,
    },
    /// Write the beginning of something of your own.
    New {
        #[command(subcommand)]
        what: New,
    },
    /// Say which files of other simulators are read, and list the built-in flow sizes.
    Formats,
    /// Say in words what a scenario is, and what its runs will take.
    Explain {
        /// Scenario file (TOML), or flows as for `run`.
        scenario: PathBuf,
        #[command(flatten)]
        settings: Settings,
    },
}

#[derive(Subcommand, Debug)]
enum New {
    /// A crate with a transport of your own: a constant rate with ACKs, which works, to be changed into yours. Its
    /// program has every command of this one.
    Transport {
        /// Name of the crate and of the transport: lower-case letters, digits and `_`.
        name: String,
        /// The folder to write; it must not be there. Default: the name.
        #[arg(long, value_name = "DIR")]
        path: Option<PathBuf>,
        /// A checkout of Trimline on which the crate depends; default: the one that this program was built from.
        #[arg(long, value_name = "DIR")]
        trimline: Option<PathBuf>,
    },
}

#[derive(Subcommand, Debug)]
enum KeyVerb {
    /// Write a new random key to a file that its owner alone may read.
    New {
        /// The file; it must not be there.
        file: PathBuf,
    },
}

/// Options for the place of experiments.
#[derive(Args, Clone, Debug, Default)]
struct Library {
    /// Directory of experiments; default: ./experiments, or those built in.
    #[arg(long = "experiments", env = "TRIMLINE_EXPERIMENTS", value_name = "DIR")]
    directory: Option<PathBuf>,
}

/// Runs a command line with the program's name first. Help and misuse end the process.
pub fn command(described: impl IntoIterator<Item = OsString>) -> ExitCode {
    perform(described, &Transports::built_in())
}

/// Runs a command line in a program with more transports: every command accepts their names.
///
/// ```no_run
/// # use trimline_sim::transports::Ndp as Mine;
/// fn main() -> std::process::ExitCode {
///     trimline::command_with(std::env::args_os(), &[&Mine])
/// }
/// ```
pub fn command_with(
    described: impl IntoIterator<Item = OsString>,
    more: &[&'static dyn AnyTransport],
) -> ExitCode {
    match Transports::built_in().with(more) {
        Ok(transports) => perform(described, &transports),
        Err(problem) => Failure::message(problem).report(),
    }
}

fn perform(described: impl IntoIterator<Item = OsString>, transports: &Transports) -> ExitCode {
    let outcome = match Command::parse_from(described).verb {
        Verb::Run { scenario, settings, runs, json } => {
            let format = settings.format;
            run::run(&scenario, format, &settings.texts(), &runs.options(json), transports)
        }
        Verb::Compare { scenario, transports: names, schemes, timers, settings, runs } => {
            let compared = match (schemes, names) {
                (Some(schemes), _) => compare::Compared::Schemes(schemes),
                (None, names) => compare::Compared::Transports(names.unwrap_or_default()),
            };
            let options = compare::Options { compared, timers, run: runs.options(false) };
            let format = settings.format;
            compare::compare(&scenario, format, &settings.texts(), options, transports)
        }
        Verb::Trace { scenario, settings, flow, run, out } => {
            let options = trace::Options { flow, run, out };
            let format = settings.format;
            trace::trace(&scenario, format, &settings.texts(), &options, transports)
        }
        Verb::Report { folders, out, include_stopped } => {
            report::report(&folders, out, include_stopped)
        }
        Verb::Reproduce {
            ids,
            json,
            verbose,
            settings,
            jobs,
            quick,
            series,
            out,
            resume,
            cached,
            no_plot,
            ignore_memory,
            library,
        } => {
            let default = if quick { "out/quick" } else { "out" };
            let options = reproduce::Options {
                json,
                verbose,
                settings: settings.texts(),
                jobs,
                out: out.unwrap_or_else(|| default.into()),
                tier: match (quick, series.is_empty()) {
                    (true, _) => verdicts::Tier::Quick,
                    (false, true) => verdicts::Tier::Full,
                    (false, false) => verdicts::Tier::Partial,
                },
                series,
                resume,
                cached,
                no_plot,
                ignore_memory,
                library: library.directory,
                transports: transports.clone(),
            };
            reproduce::reproduce(&ids, &options)
        }
        Verb::List { json, library } => experiments::list(library.directory.as_deref(), json),
        Verb::Bench(options) => bench::bench(&options),
        Verb::Ping(options) => net::ping(&options),
        Verb::Rpc(what) => net::rpc(&what),
        Verb::Cat(what) => net::cat(&what),
        Verb::Key(KeyVerb::New { file }) => net::key::create(&file)
            .map(|()| ExitCode::SUCCESS)
            .map_err(|error| Failure::message(format!("key: {error}"))),
        Verb::Stats { file, every } => stats::stats(&file, every),
        Verb::Testbed(options) => testbed::testbed(&options),
        Verb::Schema => {
            terminal::print(&trimline_sim::scenario::schema(transports)).map(|()| ExitCode::SUCCESS)
        }
        Verb::Reference => {
            terminal::print(&reference::reference(transports)).map(|()| ExitCode::SUCCESS)
        }
        Verb::Transports { json } => transport::list(transports, json),
        Verb::New { what: New::Transport { name, path, trimline } } => {
            transport::new(&name, path, trimline, transports)
        }
        Verb::Formats => import::formats(),
        Verb::Explain { scenario, settings } => {
            let format = settings.format;
            explain::explain(&scenario, format, &settings.texts(), transports)
        }
    };
    outcome.unwrap_or_else(Failure::report)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    /// Every help text fits a terminal of 80 columns.
    #[test]
    fn help_fits_a_terminal() {
        fn check(command: &mut clap::Command) {
            for help in [command.render_help(), command.render_long_help()] {
                let help = help.to_string();
                let wide = help.lines().find(|line| line.chars().count() > 80);
                assert_eq!(wide, None, "{}", command.get_name());
            }
            command.get_subcommands_mut().for_each(check);
        }
        let mut command = super::Command::command();
        command.build();
        check(&mut command);
    }
}
