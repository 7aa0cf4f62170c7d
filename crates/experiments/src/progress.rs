//! The progress of long commands on a terminal: a bar with the time left.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use trimline_packet::TimeDelta;
use trimline_sim::Progress;

/// Steps of the bar that a run has.
const STEPS_OF_RUN: u64 = 1000;

/// A bar on standard error with the time left, removed at its end. Hidden without a terminal.
#[derive(Debug)]
pub struct Bar(ProgressBar);

impl Bar {
    /// A bar of `steps`; hidden also if `is_quiet`.
    pub fn new(steps: u64, is_quiet: bool) -> Bar {
        // `ProgressBar` hides itself without a terminal.
        let bar = if is_quiet { ProgressBar::hidden() } else { ProgressBar::new(steps) };
        // The template is a constant; without it the plain bar still shows.
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {percent}% ETA {eta} {msg}") {
            bar.set_style(style);
        }
        Bar(bar)
    }

    /// Adds finished steps.
    pub fn advance(&self, steps: u64) {
        self.0.inc(steps);
    }

    /// Sets the finished steps and all steps.
    pub fn show(&self, done: u64, all: u64) {
        self.0.set_length(all);
        self.0.set_position(done);
    }

    /// Sets the text behind the bar: what is in progress.
    pub fn name(&self, text: impl Into<String>) {
        self.0.set_message(text.into());
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A bar for runs of the simulator.
pub(crate) struct RunsBar {
    bar: Bar,
    hops: AtomicU64,
    start: Instant,
}

/// The progress of a run that the bar shows.
pub(crate) struct Seen {
    hops: u64,
    permille: u64,
    at: Instant,
}

impl RunsBar {
    pub(crate) fn new(runs: usize, is_quiet: bool) -> RunsBar {
        let bar = Bar::new(runs as u64 * STEPS_OF_RUN, is_quiet);
        RunsBar { bar, hops: AtomicU64::new(0), start: Instant::now() }
    }

    pub(crate) fn begin(&self) -> Seen {
        Seen { hops: 0, permille: 0, at: Instant::now() }
    }

    pub(crate) fn show(&self, name: &str, progress: &Progress, seen: &mut Seen) {
        const PERIOD: Duration = Duration::from_millis(100);
        if self.bar.0.is_hidden() || seen.at.elapsed() < PERIOD {
            return;
        }
        seen.at = Instant::now();
        let (part, whole) = match progress.duration {
            Some(duration) => (progress.simulated.as_ps(), duration.as_ps()),
            None => (progress.flows_done, progress.flows),
        };
        let permille = u128::from(part) * u128::from(STEPS_OF_RUN) / u128::from(whole.max(1));
        let permille = permille.min(STEPS_OF_RUN.into()) as u64;
        self.bar.advance(permille.saturating_sub(seen.permille));
        seen.permille = seen.permille.max(permille);
        let new = progress.packet_hops - seen.hops;
        seen.hops = progress.packet_hops;
        let hops = self.hops.fetch_add(new, Ordering::Relaxed) + new;
        let rate = hops as f64 / self.start.elapsed().as_secs_f64() / 1e6;
        self.bar
            .name(format!("{name} {}: {rate:.1} M packet-hops/s", readable(progress.simulated)));
    }

    /// Shows the rest of a run.
    pub(crate) fn end(&self, seen: &Seen) {
        self.bar.advance(STEPS_OF_RUN - seen.permille);
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
}
