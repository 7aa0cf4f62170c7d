//! `trimline reproduce`: runs experiments, and prints the verdicts on their findings.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;
use std::{mem, panic};

use clap::Args;
use serde_json::json;
use trimline_experiments::reproduction::{self, Judged, Reproduction};
use trimline_experiments::verdicts::Tier;
use trimline_experiments::{Failure, Threads, notice};
use trimline_sim::transports::Transports;

use crate::failure::report;
use crate::interrupt::catch_interrupts;
use crate::output::{Output, print_json};
use crate::python_package::{self, Stdout};
use crate::settings::{Library, Settings};
use crate::status::{done, interrupted};
use crate::terminal::print;
use crate::verdict_table::{Count, summary, table};

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Experiments to run: an experiment such as ndp/fig14, a paper such as ndp, or all.
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    output: Output,
    /// Print every finding with its range, and the known causes of misses.
    #[arg(short, long, conflicts_with = "json")]
    verbose: bool,
    #[command(flatten)]
    settings: Settings,
    /// Number of threads, as `--threads` of `run`.
    #[arg(long, visible_alias = "threads", value_name = "N")]
    jobs: Option<usize>,
    /// Make a subset of the full runs, which takes minutes for all experiments. Findings that need the other runs are
    /// not judged.
    #[arg(long)]
    quick: bool,
    /// Run only these series (comma-separated names); earlier results of other series stay. Findings about series
    /// without results are not judged.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "quick")]
    series: Vec<String>,
    /// Directory of the results. Default: out, or out/quick with --quick.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Continue a stopped command, as `--resume` of `run`.
    #[arg(long)]
    resume: bool,
    /// Use the results in FILE, which scripts/cached_runs.py writes, and make only the other runs.
    #[arg(long, value_name = "FILE")]
    cached: Option<PathBuf>,
    /// Do not draw figures.
    #[arg(long)]
    no_plot: bool,
    /// Start runs even if their estimated memory exceeds the free memory.
    #[arg(long)]
    ignore_memory: bool,
    #[command(flatten)]
    library: Library,
}

pub(crate) fn reproduce(options: Options, transports: &Transports) -> Result<ExitCode, Failure> {
    let Options { ids, output, verbose, no_plot, .. } = options;
    let json = output.is_json();
    let default = if options.quick { "out/quick" } else { "out" };
    let library = options.library.directory;
    let options = reproduction::Options {
        settings: options.settings.texts(),
        threads: Threads::new(options.jobs, false)?,
        out: options.out.unwrap_or_else(|| default.into()),
        tier: match (options.quick, options.series.is_empty()) {
            (true, _) => Tier::Quick,
            (false, true) => Tier::Full,
            (false, false) => Tier::Partial,
        },
        series: options.series,
        resume: options.resume,
        cached: options.cached,
        ignore_memory: options.ignore_memory,
        library: library.clone(),
        transports: transports.clone(),
    };
    let reproduction = Reproduction::new(&ids, options)?;
    let stop = catch_interrupts()?;
    let start = Instant::now();
    let (mut findings, mut all_hold) = (Vec::new(), true);
    let mut count = Count::default();
    let ended = thread::scope(|scope| {
        // One picture is drawn while the next experiment runs.
        let mut drawing: Option<ScopedJoinHandle<'_, Result<(), Failure>>> = None;
        for judged in reproduction.judged(stop) {
            drawing.take().map_or(Ok(()), joined)?;
            let Some(mut judged) = judged? else { return Ok(false) };
            let Judged { experiment, tier, verdicts, .. } = &judged;
            let (id, title) = (&experiment.id, &experiment.expected.title);
            if verbose && !json {
                print(&table(id, title, verdicts, *tier))?;
            } else if !json {
                print(&summary(id, title, verdicts, *tier))?;
            }
            count.add(verdicts);
            all_hold &= verdicts.iter().all(|verdict| verdict.holds);
            findings.push(mem::take(&mut judged.json));
            if judged.is_partial && !no_plot {
                notice(&format!("no figure: it needs all series of {id}"));
            } else if !no_plot {
                let library = library.as_deref();
                drawing = Some(scope.spawn(move || draw(&judged, library, json, verbose)));
            }
        }
        drawing.map_or(Ok(true), |drawing| joined(drawing).map(|()| true))
    })?;
    if !ended {
        return Ok(interrupted());
    }
    if json {
        print_json(&json!({ "experiments": findings }))?;
    } else if verbose && findings.len() > 1 {
        print(&format!("\n{} experiments: {}", findings.len(), count.line()))?;
    } else if !verbose {
        let seconds = start.elapsed().as_secs_f64();
        let described = "-v shows every finding, and causes of misses";
        print(&format!("{} ({described}); {seconds:.0} s\n", count.describe()))?;
    }
    Ok(done(all_hold))
}

fn joined(drawing: ScopedJoinHandle<'_, Result<(), Failure>>) -> Result<(), Failure> {
    drawing.join().unwrap_or_else(|panic| panic::resume_unwind(panic))
}

/// Draws with the Python package, if present. The verdict does not depend on it.
fn draw(
    judged: &Judged<'_>,
    library: Option<&Path>,
    json: bool,
    verbose: bool,
) -> Result<(), Failure> {
    let (id, out) = (&judged.experiment.id, &judged.out);
    let is_quiet = json || !verbose;
    let mut words = vec![id.into(), out.into()];
    if let Some(library) = library {
        words.extend(["--experiments".into(), library.into()]);
    }
    let stdout = if is_quiet { Stdout::Returned } else { Stdout::Shown };
    match python_package::call("plot.__main__", &words, stdout) {
        // In a summary, name only the picture for the screen.
        Ok(Some((0, _))) if is_quiet && !json => {
            let picture = out.join(format!("{}.png", id.replace('/', "-")));
            if picture.exists() {
                print(&format!("  {}\n", picture.display()))?;
            }
        }
        // The package reports itself why it draws nothing.
        Ok(Some((0..=2, _))) => {}
        Ok(Some((status, _))) => {
            notice(&format!("no figure: trimline.plot exited with status {status}"))
        }
        Ok(None) => notice("no figure: it needs trimline.plot"),
        Err(failure) => drop(report(&failure)),
    }
    Ok(())
}
