//! `trimline reproduce`: runs experiments, judges their findings, draws.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use serde_json::json;
use trimline_metrics::Manifest;
use trimline_metrics::result_folder::{self, MANIFEST};
use trimline_sim::scenario::{Run, Scenario};
use trimline_sim::transports::Transports;

use crate::cached::Cached;
use crate::execute::{Threads, catch_interrupts, execute, interrupted, is_stopped};
use crate::experiments::{Experiment, choose, load, reference};
use crate::failure::Failure;
use crate::finding::Finding;
use crate::memory;
use crate::outcome::{self, Outcome};
use crate::output_lock::{OutputLock, results_below};
use crate::partial_run;
use crate::results::{Earlier, earlier, say_resumed, write_run};
use crate::terminal::print;
use crate::verdicts::{self, Tier, Verdict};

pub(crate) struct Options {
    pub(crate) json: bool,
    pub(crate) verbose: bool,
    pub(crate) settings: Vec<String>,
    pub(crate) jobs: Option<usize>,
    pub(crate) out: PathBuf,
    pub(crate) tier: Tier,
    /// The series to run, with [`Tier::Partial`].
    pub(crate) series: Vec<String>,
    pub(crate) resume: bool,
    /// File of cached results: such runs are not repeated.
    pub(crate) cached: Option<PathBuf>,
    pub(crate) no_plot: bool,
    pub(crate) ignore_memory: bool,
    pub(crate) library: Option<PathBuf>,
    pub(crate) transports: Transports,
}

impl Options {
    fn wants(&self, run: &Run) -> bool {
        self.tier != Tier::Partial || self.series.contains(&run.plan.series)
    }
}

/// Runs the experiments `ids` in sequence, each on all threads.
pub(crate) fn reproduce(ids: &[String], options: &Options) -> Result<ExitCode, Failure> {
    let threads = Threads::new(options.jobs)?;
    let library = options.library.as_deref();
    let experiments = choose(load(library)?, ids)?;
    // Find every mistake before the first run.
    let scenarios = experiments
        .iter()
        .map(|experiment| {
            let name = &experiment.scenario_name;
            let mut scenario = Scenario::parse_with(
                name,
                &experiment.scenario,
                &options.settings,
                &options.transports,
            )?;
            experiment.expected.check(&experiment.expected_name, &scenario)?;
            match options.tier {
                Tier::Quick => experiment.expected.quick.choose(&experiment.id, &mut scenario)?,
                Tier::Partial => partial_run::check(&experiment.id, &scenario, &options.series)?,
                Tier::Full => {}
            }
            Ok(scenario)
        })
        .collect::<Result<Vec<Scenario>, Failure>>()?;
    // Cached results do not apply to runs with other settings.
    if options.cached.is_some() && !options.settings.is_empty() {
        return Err(Failure::message(format!(
            "--cached beside other settings ({}): cached runs are runs of the experiment as it is",
            options.settings.join(", ")
        )));
    }
    let elsewhere = options.cached.as_deref().map(Cached::read).transpose()?;
    for scenario in &scenarios {
        let wanted: Vec<&Run> = scenario.runs.iter().filter(|run| options.wants(run)).collect();
        memory::fitted(&wanted, threads.at_most(1), options.ignore_memory)?;
    }
    catch_interrupts()?;

    let start = Instant::now();
    let (mut judged, mut all_hold) = (Vec::new(), true);
    let mut count = verdicts::Count::default();
    for (experiment, scenario) in experiments.iter().zip(&scenarios) {
        let out = options.out.join(&experiment.id);
        let findings = &experiment.expected.finding;
        let _lock = OutputLock::take(&out)?;
        let mut found = found(scenario, findings, &out, options);
        let stay: BTreeSet<PathBuf> = (scenario.runs.iter().zip(&found))
            .filter(|(_, found)| found.is_some())
            .map(|(run, _)| run_directory(&out, run))
            .collect();
        if options.tier == Tier::Partial {
            check_loss(scenario, &out, &stay, options)?;
        }
        forget(&out, &stay).map_err(|error| Failure::io(&out, &error))?;
        let cached = match &elsewhere {
            Some(elsewhere) => elsewhere.fill(&experiment.id, scenario, findings, &mut found),
            None => 0,
        };
        let mut outcomes = run_all(scenario, found, &out, threads, options, findings)?;
        if is_stopped() {
            eprintln!(
                "stopped: {} holds what there was until then; --resume goes on",
                out.display()
            );
            return Ok(interrupted());
        }
        // Fewer seeds than a finding needs would change its verdict.
        let series = partial_run::whole_series(scenario, &outcomes);
        let is_partial = outcomes.len() < scenario.runs.len();
        outcomes.retain(|outcome| series.contains(&outcome.series));
        let tier = match options.tier {
            Tier::Partial if !is_partial => Tier::Full,
            tier => tier,
        };
        let verdicts: Vec<Verdict> = findings
            .iter()
            .enumerate()
            .map(|(place, finding)| finding.verdict(&outcomes, place, tier))
            .collect();
        let mut json = verdicts::as_json(&experiment.id, &verdicts, tier);
        if is_partial {
            json["series"] = json!(series);
        }
        if cached > 0 {
            json["cached"] = cached.into();
        }
        write_findings(experiment, &json, &out, options)?;
        let (id, title) = (&experiment.id, &experiment.expected.title);
        if options.verbose && !options.json {
            print(&verdicts::table(id, title, &verdicts, tier))?;
        } else if !options.json {
            print(&verdicts::summary(id, title, &verdicts, tier))?;
        }
        if is_partial && !options.no_plot {
            eprintln!("no figure: it needs all series of {id}");
        } else if !options.no_plot {
            draw(id, &out, options)?;
        }
        count.add(&verdicts);
        all_hold &= verdicts.iter().all(|verdict| verdict.holds);
        judged.push(json);
    }
    if options.json {
        print(&format!("{:#}\n", json!({ "experiments": judged })))?;
    } else if options.verbose && experiments.len() > 1 {
        print(&format!("\n{} experiments: {}", experiments.len(), count.line()))?;
    } else if !options.verbose {
        let seconds = start.elapsed().as_secs_f64();
        let described = "-v shows each, and causes of misses";
        print(&format!("{} ({described}); {seconds:.0} s\n", count.describe()))?;
    }
    Ok(if all_hold { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn run_directory(out: &Path, run: &Run) -> PathBuf {
    out.join("runs").join(&run.name)
}

/// Outcomes of finished runs of an earlier reproduction, unless to be repeated.
fn found(
    scenario: &Scenario,
    findings: &[Finding],
    out: &Path,
    options: &Options,
) -> Vec<Option<Outcome>> {
    if !options.resume && options.tier != Tier::Partial {
        return vec![None; scenario.runs.len()];
    }
    let mut different = 0;
    let outcome = |run: &Run| {
        if options.wants(run) && !options.resume {
            return None;
        }
        let directory = run_directory(out, run);
        match earlier(&directory, scenario, &options.settings, run) {
            Earlier::Finished(_) => {
                let text = fs::read_to_string(directory.join(outcome::FILE)).ok()?;
                Outcome::from_json(findings, run, &text)
            }
            Earlier::Different => {
                different += 1;
                None
            }
            Earlier::Missing => None,
        }
    };
    let found: Vec<Option<Outcome>> = scenario.runs.iter().map(outcome).collect();
    let finished = found.iter().flatten().count();
    // With `--series` alone results of other series stay, and are judged too.
    if options.resume || finished > 0 {
        say_resumed(finished, different, found.len());
    }
    found
}

/// Removes the earlier verdict and runs except `stay`: they would be drawn beside the new ones. Other files stay.
fn forget(out: &Path, stay: &BTreeSet<PathBuf>) -> std::io::Result<()> {
    let findings = out.join("findings.json");
    if findings.exists() {
        fs::remove_file(findings)?;
    }
    for result in results_below(&out.join("runs"))? {
        if !stay.contains(&result) {
            result_folder::remove(&result)?;
        }
    }
    Ok(())
}

/// Refuses to delete results that will not be made again: with `--series`, results not in `stay` and of no requested
/// run. Interrupted runs may go.
fn check_loss(
    scenario: &Scenario,
    out: &Path,
    stay: &BTreeSet<PathBuf>,
    options: &Options,
) -> Result<(), Failure> {
    let runs = out.join("runs");
    let made_again: BTreeSet<PathBuf> = (scenario.runs.iter())
        .filter(|run| options.wants(run))
        .map(|run| run_directory(out, run))
        .collect();
    let mut lost = BTreeMap::new();
    for result in results_below(&runs).map_err(|error| Failure::io(&runs, &error))? {
        let text = fs::read_to_string(result.join(MANIFEST)).unwrap_or_default();
        let is_whole = Manifest::from_json(&text).is_none_or(|manifest| !manifest.interrupted);
        if is_whole && !stay.contains(&result) && !made_again.contains(&result) {
            let name = result.strip_prefix(&runs).unwrap_or(&result);
            let series = name.iter().next().unwrap_or_default().display().to_string();
            *lost.entry(series).or_insert(0) += 1;
        }
    }
    if lost.is_empty() {
        return Ok(());
    }
    let names: Vec<String> =
        lost.iter().map(|(series, runs): (_, &u32)| format!("{series}: {runs}")).collect();
    Err(Failure::message(format!(
        "{} holds results of another scenario or program, or of other seeds, that would be lost ({}); expected another \
         folder (--out), or this one without them",
        out.display(),
        names.join(", ")
    )))
}

/// Runs all runs not `found`, writes each below `out`/runs, and reduces it to the findings' answers: full records hold
/// thousands of flows and ports each.
fn run_all(
    scenario: &Scenario,
    found: Vec<Option<Outcome>>,
    out: &Path,
    threads: Threads,
    options: &Options,
    findings: &[Finding],
) -> Result<Vec<Outcome>, Failure> {
    let is_pending = |&run: &usize| found[run].is_none() && options.wants(&scenario.runs[run]);
    let pending: Vec<usize> = (0..found.len()).filter(is_pending).collect();
    let waiting: Vec<&Run> = pending.iter().map(|&run| &scenario.runs[run]).collect();
    let threads = memory::fitted(&waiting, threads, options.ignore_memory)?;
    let settings = &options.settings;
    let outcomes = Mutex::new(found);
    execute(&scenario.runs, &pending, threads, &|index, done| {
        let run = &scenario.runs[index];
        let outcome = Outcome::new(findings, &run.point, &done.record);
        let more = [(outcome::FILE, outcome.to_json(findings))];
        write_run(&run_directory(out, run), scenario, settings, run, &done, &more)?;
        outcomes.lock().unwrap_or_else(|e| e.into_inner())[index] = Some(outcome);
        Ok(())
    })?;
    let outcomes = outcomes.into_inner().unwrap_or_else(|e| e.into_inner());
    Ok(outcomes.into_iter().flatten().collect())
}

fn write_findings(
    experiment: &Experiment,
    findings: &serde_json::Value,
    out: &Path,
    options: &Options,
) -> Result<(), Failure> {
    let write = |path: PathBuf, text: &str| {
        result_folder::write_file(&path, text).map_err(|error| Failure::io(&path, &error))
    };
    verdicts::write(out, findings)?;
    for file in &experiment.expected.reference_files {
        let text = reference(options.library.as_deref(), file).ok_or_else(|| {
            Failure::message(format!("{}: no reference file `{file}`", experiment.id))
        })?;
        write(out.join("reference").join(file), &text)?;
    }
    Ok(())
}

/// Draws with the Python package, if present. The verdict does not depend on it.
fn draw(id: &str, out: &Path, options: &Options) -> Result<(), Failure> {
    let is_quiet = options.json || !options.verbose;
    let mut words = vec![id.into(), out.into()];
    if let Some(library) = &options.library {
        words.extend(["--experiments".into(), library.into()]);
    }
    match call_package("plot.__main__", &words, is_quiet) {
        // In a summary, name only the picture for the screen.
        Ok(Some(0)) if is_quiet && !options.json => {
            let picture = out.join(format!("{}.png", id.replace('/', "-")));
            if picture.exists() {
                print(&format!("  {}\n", picture.display()))?;
            }
        }
        // The package reports itself why it draws nothing.
        Ok(Some(0..=2)) => {}
        Ok(Some(status)) => eprintln!("no figure: trimline.plot ended with {status}"),
        Ok(None) => eprintln!("no figure without trimline.plot"),
        Err(failure) => drop(failure.report()),
    }
    Ok(())
}

/// Calls `main` of a Python module of the package, and returns its exit status; without the package, says so and
/// returns `None`.
pub(crate) fn call_package(
    module: &str,
    arguments: &[std::ffi::OsString],
    is_quiet: bool,
) -> Result<Option<i32>, Failure> {
    if let Err(problem) = check_package(module) {
        eprintln!("{problem}");
        return Ok(None);
    }
    let python = python();
    let code =
        format!("import sys; from trimline.{module} import main; sys.exit(main(sys.argv[1:]))");
    let status = Command::new(&python)
        .args(["-c", &code])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(if is_quiet { Stdio::null() } else { Stdio::inherit() })
        .status()
        .map_err(|error| Failure::io(&python, &error))?;
    Ok(Some(status.code().unwrap_or(2)))
}

/// Checks that Python has this module of the package.
///
/// # Errors
/// Returns what is missing, and how to install it.
pub(crate) fn check_package(module: &str) -> Result<(), String> {
    let python = python();
    let probe = format!("import trimline.{module}");
    let has_package = Command::new(&python)
        .args(["-c", &probe])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if has_package {
        return Ok(());
    }
    Err(format!(
        "{} cannot import trimline.{module}: `pip install .` brings all of it, in a clone `make venv module` too; or name \
         another Python with TRIMLINE_PYTHON",
        python.display()
    ))
}

/// TRIMLINE_PYTHON; otherwise Python of .venv here or above; otherwise python3.
fn python() -> PathBuf {
    if let Some(python) = std::env::var_os("TRIMLINE_PYTHON") {
        return PathBuf::from(python);
    }
    let here = std::env::current_dir().unwrap_or_default();
    here.ancestors()
        .map(|directory| directory.join(".venv/bin/python"))
        .find(|python| fs::metadata(python).is_ok())
        .unwrap_or_else(|| PathBuf::from("python3"))
}
