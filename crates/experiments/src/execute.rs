//! Runs plans on worker threads, with progress on a terminal and a clean stop.

use std::io::IsTerminal;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use trimline_metrics::RunRecord;
use trimline_packet::TimeDelta;
use trimline_sim::scenario::Run;
use trimline_sim::{Division, Progress};

use crate::failure::Failure;

/// Cores for parallel runs; spare cores go to threads within each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    count: usize,
    is_wanted: bool,
    at_once: usize,
    is_quiet: bool,
}

impl Threads {
    /// Hosts per thread from which several threads are faster than one (`trimline bench --scale --threads 2`).
    const HOSTS_EACH: usize = 128;

    /// Takes the wanted number of threads, or all cores. Without progress bar if `is_quiet`.
    ///
    /// # Errors
    /// Returns an error for 0 threads.
    pub fn new(wanted: Option<usize>, is_quiet: bool) -> Result<Threads, Failure> {
        let count = match wanted {
            Some(0) => return Err(Failure::message("0 threads; expected at least 1")),
            Some(count) => count,
            None => std::thread::available_parallelism().map_or(1, NonZero::get),
        };
        let is_wanted = wanted.is_some();
        Ok(Threads { count, is_wanted, at_once: usize::MAX, is_quiet })
    }

    pub(crate) fn at_most(self, runs: usize) -> Threads {
        Threads { at_once: runs.max(1), ..self }
    }

    pub(crate) fn workers(self, runs: usize) -> usize {
        self.count.min(runs).min(self.at_once)
    }

    fn of(self, run: &Run, runs: usize) -> Division {
        let max = self.count / self.workers(runs).max(1);
        let hosts = run.plan.topology.hosts() as usize;
        let count = if self.is_wanted { max } else { max.min(hosts / Threads::HOSTS_EACH) };
        trimline_sim::division(&run.plan, count.max(1))
    }

    /// Prints why a single run does not use all wanted threads.
    fn explain(self, run: &Run) {
        if let Division { threads, reason: Some(reason) } = self.of(run, 1)
            && self.is_wanted
        {
            let thread = if threads == 1 { "thread" } else { "threads" };
            eprintln!("note: {threads} {thread} instead of {}: {reason}", self.count);
        }
    }
}

pub(crate) struct Done {
    pub(crate) record: RunRecord,
    pub(crate) wall: Duration,
    pub(crate) threads: usize,
}

/// Makes the runs at the indices `pending` in parallel. Puts what `done` makes of each into `found`, at the index of the
/// run. Runs not begun when `stop` is set are left out.
///
/// # Errors
/// Returns the first failure of a run or of `done`; runs in progress then stop.
pub(crate) fn execute<T: Send>(
    runs: &[Run],
    found: Vec<Option<T>>,
    pending: &[usize],
    threads: Threads,
    stop: &AtomicBool,
    done: &(dyn Fn(&Run, Done) -> Result<T, Failure> + Sync),
) -> Result<Vec<Option<T>>, Failure> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Ok(found));
    let has_failed = AtomicBool::new(false);
    let is_over = || stop.load(Ordering::Relaxed) || has_failed.load(Ordering::Relaxed);
    let display = Display::new(pending.len(), threads.is_quiet);
    if let &[only] = pending {
        threads.explain(&runs[only]);
    }
    std::thread::scope(|scope| {
        for _ in 0..threads.workers(pending.len()) {
            scope.spawn(|| {
                while !is_over() {
                    let next = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&index) = pending.get(next) else { return };
                    let run = &runs[index];
                    let threads = threads.of(run, pending.len()).threads;
                    let outcome =
                        one(run, threads, &display, &is_over).and_then(|made| done(run, made));
                    let mut results = results.lock().unwrap_or_else(|e| e.into_inner());
                    match (outcome, results.as_mut()) {
                        (Ok(result), Ok(found)) => found[index] = Some(result),
                        (Err(error), Ok(_)) => {
                            has_failed.store(true, Ordering::Relaxed);
                            *results = Err(error);
                        }
                        // The first failure counts.
                        (_, Err(_)) => {}
                    }
                }
            });
        }
    });
    display.bar.finish_and_clear();
    results.into_inner().unwrap_or_else(|e| e.into_inner())
}

fn one(
    run: &Run,
    threads: usize,
    display: &Display,
    is_over: &dyn Fn() -> bool,
) -> Result<Done, Failure> {
    let start = Instant::now();
    let mut seen = Seen { hops: 0, permille: 0, at: start };
    let record = trimline_sim::run_on(&run.plan, threads, &mut |progress| {
        display.show(run, &progress, &mut seen);
        if is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .map_err(|error| Failure::message(format!("{}: {error}", run.name)))?;
    display.bar.inc(1000 - seen.permille);
    Ok(Done { record, wall: start.elapsed(), threads })
}

/// A bar for all runs, in thousandths of a run; hidden without a terminal.
struct Display {
    bar: ProgressBar,
    hops: AtomicU64,
    start: Instant,
}

struct Seen {
    hops: u64,
    permille: u64,
    at: Instant,
}

impl Display {
    fn new(runs: usize, is_quiet: bool) -> Display {
        let bar = if std::io::stderr().is_terminal() && !is_quiet {
            ProgressBar::new(runs as u64 * 1000)
        } else {
            ProgressBar::hidden()
        };
        // The template is a constant; without it the plain bar still shows.
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {percent}% ETA {eta} {msg}") {
            bar.set_style(style);
        }
        Display { bar, hops: AtomicU64::new(0), start: Instant::now() }
    }

    fn show(&self, run: &Run, progress: &Progress, seen: &mut Seen) {
        const PERIOD: Duration = Duration::from_millis(100);
        if self.bar.is_hidden() || seen.at.elapsed() < PERIOD {
            return;
        }
        seen.at = Instant::now();
        let (part, whole) = match progress.duration {
            Some(duration) => (progress.simulated.as_ps(), duration.as_ps()),
            None => (progress.flows_done, progress.flows),
        };
        let permille = (u128::from(part) * 1000 / u128::from(whole.max(1))).min(1000) as u64;
        self.bar.inc(permille.saturating_sub(seen.permille));
        seen.permille = seen.permille.max(permille);
        let new = progress.packet_hops - seen.hops;
        seen.hops = progress.packet_hops;
        let hops = self.hops.fetch_add(new, Ordering::Relaxed) + new;
        let rate = hops as f64 / self.start.elapsed().as_secs_f64() / 1e6;
        self.bar.set_message(format!(
            "{} {}: {rate:.1} M packet-hops/s",
            run.name,
            readable(progress.simulated)
        ));
    }
}

/// A time in the unit that gives one to three digits before the point.
fn readable(time: TimeDelta) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns")];
    let ps = time.as_ps();
    match UNITS.iter().find(|&&(unit, _)| ps >= unit) {
        Some(&(unit, name)) => format!("{:.2} {name}", ps as f64 / unit as f64),
        None => format!("{ps} ps"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_in_readable_units() {
        let shown = [0, 999, 1_500, 2_345_678_901, 61_000_000_000_000]
            .map(|ps| readable(TimeDelta::from_ps(ps)));
        assert_eq!(shown, ["0 ps", "999 ps", "1.50 ns", "2.35 ms", "61.00 s"]);
    }

    #[test]
    fn the_number_of_parallel_runs_has_a_bound() {
        let threads = Threads::new(Some(8), true).unwrap();
        assert_eq!((threads.workers(20), threads.at_most(3).workers(20)), (8, 3));
        assert_eq!(threads.at_most(3).workers(2), 2);
    }
}
