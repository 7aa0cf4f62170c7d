//! Runs plans on worker threads, with progress on a terminal and a clean stop.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use trimline_metrics::RunRecord;
use trimline_sim::Division;
use trimline_sim::scenario::Run;

use crate::failure::Failure;
use crate::notice::notice;
use crate::progress::RunsBar;

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
            notice(&format!("note: {threads} {thread} instead of {}: {reason}", self.count));
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
    let bar = RunsBar::new(pending.len(), threads.is_quiet);
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
                        one(run, threads, &bar, &is_over).and_then(|made| done(run, made));
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
    drop(bar);
    results.into_inner().unwrap_or_else(|e| e.into_inner())
}

fn one(
    run: &Run,
    threads: usize,
    bar: &RunsBar,
    is_over: &dyn Fn() -> bool,
) -> Result<Done, Failure> {
    let start = Instant::now();
    let mut seen = bar.begin();
    let record = trimline_sim::run_on(&run.plan, threads, &mut |progress| {
        bar.show(&run.name, &progress, &mut seen);
        if is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .map_err(|error| Failure::message(format!("{}: {error}", run.name)))?;
    bar.end(&seen);
    Ok(Done { record, wall: start.elapsed(), threads })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_parallel_runs_has_a_bound() {
        let threads = Threads::new(Some(8), true).unwrap();
        assert_eq!((threads.workers(20), threads.at_most(3).workers(20)), (8, 3));
        assert_eq!(threads.at_most(3).workers(2), 2);
    }
}
