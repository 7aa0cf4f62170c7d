//! Runs experiments, judges their findings, and keeps both.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use trimline_metrics::Manifest;
use trimline_metrics::result_folder::{self, MANIFEST};
use trimline_sim::scenario::{Run, Scenario};
use trimline_sim::transports::Transports;

use crate::cached::Cached;
use crate::execute::{Threads, execute};
use crate::failure::Failure;
use crate::finding::Finding;
use crate::library::{Experiment, choose, load, reference};
use crate::memory;
use crate::notice::notice;
use crate::outcome::{self, Outcome};
use crate::output_lock::{OutputLock, results_below};
use crate::partial_run;
use crate::results::{self, write_run};
use crate::verdicts::{self, Tier, Verdict};

/// Options of a reproduction.
#[derive(Clone, Debug)]
pub struct Options {
    /// Settings that go over the experiments' scenarios.
    pub settings: Vec<String>,
    /// Threads of all runs together.
    pub threads: Threads,
    /// Folder of the results; each experiment has a folder of its own there.
    pub out: PathBuf,
    /// The part of the runs to make.
    pub tier: Tier,
    /// The series to run, with [`Tier::Partial`].
    pub series: Vec<String>,
    /// Keep finished runs of an earlier command.
    pub resume: bool,
    /// File of cached results: such runs are not repeated.
    pub cached: Option<PathBuf>,
    /// Begin runs that do not fit into memory.
    pub ignore_memory: bool,
    /// Folder of experiments; see [`load`].
    pub library: Option<PathBuf>,
    /// The transports that scenarios may name.
    pub transports: Transports,
}

impl Options {
    fn wants(&self, run: &Run) -> bool {
        self.tier != Tier::Partial || self.series.contains(&run.plan.series)
    }
}

/// Experiments that can run: every mistake that needs no run is found.
#[derive(Debug)]
pub struct Reproduction {
    options: Options,
    experiments: Vec<(Experiment, Scenario)>,
    cached: Option<Cached>,
}

/// An experiment with the verdicts of its runs.
#[derive(Debug)]
pub struct Judged<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The folder of its results.
    pub out: PathBuf,
    /// The runs that were judged.
    pub tier: Tier,
    /// Some runs are missing.
    pub is_partial: bool,
    /// A verdict for each finding.
    pub verdicts: Vec<Verdict>,
    /// The content of findings.json.
    pub json: Value,
    _lock: OutputLock,
}

impl Reproduction {
    /// Reads the experiments with these `ids`.
    ///
    /// # Errors
    /// Returns a mistake in an experiment, in the ids, series or settings, or in the file of cached results; or a run that
    /// does not fit into memory.
    pub fn new(ids: &[String], options: Options) -> Result<Reproduction, Failure> {
        let experiments = choose(load(options.library.as_deref())?, ids)?
            .into_iter()
            .map(|experiment| {
                let scenario = scenario_of(&experiment, &options)?;
                Ok((experiment, scenario))
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        // Cached results do not apply to runs with other settings.
        if options.cached.is_some() && !options.settings.is_empty() {
            return Err(Failure::message(format!(
                "--cached with settings ({}): cached runs have the settings of the experiment; expected one of the two",
                options.settings.join(", ")
            )));
        }
        let cached = options.cached.as_deref().map(Cached::read).transpose()?;
        for (_, scenario) in &experiments {
            let wanted: Vec<&Run> = scenario.runs.iter().filter(|run| options.wants(run)).collect();
            memory::fitted(&wanted, options.threads.at_most(1), options.ignore_memory)?;
        }
        Ok(Reproduction { options, experiments, cached })
    }

    /// Runs each experiment, on all threads, when the iterator comes to it. Ends with `None` if `stop` ended the runs; results
    /// until then stay.
    pub fn judged<'a>(
        &'a self,
        stop: &'a AtomicBool,
    ) -> impl Iterator<Item = Result<Option<Judged<'a>>, Failure>> + use<'a> {
        self.experiments.iter().map(|(experiment, scenario)| self.judge(experiment, scenario, stop))
    }

    /// Makes the runs of an experiment, and judges and writes its findings. Returns `None` if `stop` ended the runs.
    fn judge<'a>(
        &self,
        experiment: &'a Experiment,
        scenario: &Scenario,
        stop: &AtomicBool,
    ) -> Result<Option<Judged<'a>>, Failure> {
        let options = &self.options;
        let out = options.out.join(&experiment.id);
        let findings = &experiment.expected.finding;
        let lock = OutputLock::acquire(&out)?;
        let mut found = found(scenario, findings, &out, options);
        let stay: BTreeSet<PathBuf> = (scenario.runs.iter().zip(&found))
            .filter(|(_, found)| found.is_some())
            .map(|(run, _)| run_directory(&out, run))
            .collect();
        if options.tier == Tier::Partial {
            check_loss(scenario, &out, &stay, options)?;
        }
        forget(&out, &stay).map_err(|error| Failure::io(&out, &error))?;
        let cached = match &self.cached {
            Some(cached) => cached.fill(&experiment.id, scenario, findings, &mut found),
            None => 0,
        };
        let mut outcomes = run_all(scenario, found, &out, options, findings, stop)?;
        if stop.load(Ordering::Relaxed) {
            notice(&format!(
                "stopped: {} holds partial results; --resume continues",
                out.display()
            ));
            return Ok(None);
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
        Ok(Some(Judged { experiment, out, tier, is_partial, verdicts, json, _lock: lock }))
    }
}

/// The scenario of an experiment, with the runs of the tier.
fn scenario_of(experiment: &Experiment, options: &Options) -> Result<Scenario, Failure> {
    let Experiment { id, scenario_name, scenario, expected_name, expected } = experiment;
    let mut scenario =
        Scenario::parse_with(scenario_name, scenario, &options.settings, &options.transports)?;
    expected.check(expected_name, &scenario)?;
    match options.tier {
        Tier::Quick => expected.quick.choose(id, &mut scenario)?,
        Tier::Partial => partial_run::check(id, &scenario, &options.series)?,
        Tier::Full => {}
    }
    Ok(scenario)
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
    // With `--series` alone results of other series stay, and are judged too.
    let stays = |run: &Run| options.resume || !options.wants(run);
    let directory = |run: &Run| stays(run).then(|| run_directory(out, run));
    let read = |run: &Run, _| {
        let text = fs::read_to_string(run_directory(out, run).join(outcome::FILE)).ok()?;
        Outcome::from_json(findings, run, &text)
    };
    results::found(scenario, &options.settings, options.resume, &directory, &read)
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
        "{} holds results of another scenario, program or seeds, which would be lost ({}); expected another folder \
         (--out), or a folder without them",
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
    options: &Options,
    findings: &[Finding],
    stop: &AtomicBool,
) -> Result<Vec<Outcome>, Failure> {
    let is_pending = |&run: &usize| found[run].is_none() && options.wants(&scenario.runs[run]);
    let pending: Vec<usize> = (0..found.len()).filter(is_pending).collect();
    let waiting: Vec<&Run> = pending.iter().map(|&run| &scenario.runs[run]).collect();
    let threads = memory::fitted(&waiting, options.threads, options.ignore_memory)?;
    let settings = &options.settings;
    let outcomes = execute(&scenario.runs, found, &pending, threads, stop, &|run, done| {
        let outcome = Outcome::new(findings, &run.point, &done.record);
        let more = [(outcome::FILE, outcome.to_json(findings))];
        write_run(&run_directory(out, run), scenario, settings, run, &done, &more)?;
        Ok(outcome)
    })?;
    Ok(outcomes.into_iter().flatten().collect())
}

fn write_findings(
    experiment: &Experiment,
    findings: &serde_json::Value,
    out: &Path,
    options: &Options,
) -> Result<(), Failure> {
    verdicts::write(out, findings)?;
    for file in &experiment.expected.reference_files {
        let text = reference(options.library.as_deref(), file).ok_or_else(|| {
            Failure::message(format!("{}: no reference file `{file}`", experiment.id))
        })?;
        let path = out.join("reference").join(file);
        result_folder::write_file(&path, text).map_err(|error| Failure::io(&path, &error))?;
    }
    Ok(())
}
