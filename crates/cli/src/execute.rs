//! Runs plans: several at a time on worker threads, with progress on a terminal and a clean stop.

use std::io::IsTerminal;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use trimline_metrics::RunRecord;
use trimline_sim::Progress;
use trimline_sim::scenario::Run;

use crate::failure::Failure;

/// Set by Ctrl-C and by a request to terminate.
static STOP: AtomicBool = AtomicBool::new(false);

/// Exit status of a command that was stopped (128 + SIGINT).
pub(crate) fn interrupted() -> ExitCode {
    ExitCode::from(130)
}

/// Makes Ctrl-C stop runs instead of the process; the second one stops the process.
pub(crate) fn catch_interrupts() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .map_err(|error| Failure::message(format!("Ctrl-C cannot be caught: {error}")))
}

/// Whether the runs were asked to stop.
pub(crate) fn is_stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Workers of `wanted`, or of all cores.
pub(crate) fn workers(wanted: Option<usize>) -> Result<usize, Failure> {
    match wanted {
        Some(0) => Err(Failure::message("0 threads run nothing; at least 1")),
        Some(workers) => Ok(workers),
        None => Ok(std::thread::available_parallelism().map_or(1, NonZero::get)),
    }
}

/// Runs those of `runs` at the places `pending`, `workers` at a time. `done` takes each record as it comes,
/// with its place in `runs` and its wall time; runs that had not begun at a stop are left out.
///
/// # Errors
/// The first failure, of a run or of `done`; runs that have begun then stop.
pub(crate) fn execute(
    runs: &[Run],
    pending: &[usize],
    workers: usize,
    done: &(dyn Fn(usize, RunRecord, Duration) -> Result<(), Failure> + Sync),
) -> Result<(), Failure> {
    let next = AtomicUsize::new(0);
    let failure: Mutex<Option<Failure>> = Mutex::new(None);
    let has_failed = AtomicBool::new(false);
    let display = Display::new(pending.len());
    std::thread::scope(|scope| {
        for _ in 0..workers.min(pending.len()) {
            scope.spawn(|| {
                while !is_stopped() && !has_failed.load(Ordering::Relaxed) {
                    let next = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&index) = pending.get(next) else { return };
                    let outcome = one(&runs[index], &display, &has_failed)
                        .and_then(|(record, wall)| done(index, record, wall));
                    if let Err(error) = outcome {
                        has_failed.store(true, Ordering::Relaxed);
                        failure.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(error);
                    }
                }
            });
        }
    });
    display.bar.finish_and_clear();
    match failure.into_inner().unwrap_or_else(|e| e.into_inner()) {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

fn one(
    run: &Run,
    display: &Display,
    has_failed: &AtomicBool,
) -> Result<(RunRecord, Duration), Failure> {
    let start = Instant::now();
    let mut seen = Seen { hops: 0, permille: 0, at: start };
    let record = trimline_sim::run(&run.plan, &mut |progress| {
        display.show(run, &progress, &mut seen);
        if is_stopped() || has_failed.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
    .map_err(|error| Failure::message(format!("{}: {error}", run.name)))?;
    display.bar.inc(1000 - seen.permille);
    Ok((record, start.elapsed()))
}

/// One bar for all runs, in thousandths of a run; hidden unless stderr is a terminal.
struct Display {
    bar: ProgressBar,
    hops: AtomicU64,
    start: Instant,
}

/// What of one run the bar has counted.
struct Seen {
    hops: u64,
    permille: u64,
    at: Instant,
}

impl Display {
    fn new(runs: usize) -> Display {
        let bar = if std::io::stderr().is_terminal() {
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
            "{} {}: {:.1} M packet-hops/s",
            run.name, progress.simulated, rate
        ));
    }
}
