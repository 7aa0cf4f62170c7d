//! The switches' thread as other threads see it, and the times that threads waited for a processor.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum wait for the switches' counters.
const STALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the time that this thread was ready without a processor, if the kernel counts it.
pub(super) fn held_up() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// Lets one thread read the counters of the switches' thread, and how long it was held up.
#[derive(Debug)]
pub(super) struct Watch<T> {
    wanted: AtomicBool,
    seen: Mutex<Option<(T, Option<Duration>)>>,
}

impl<T> Watch<T> {
    pub(super) const fn new() -> Watch<T> {
        Watch { wanted: AtomicBool::new(false), seen: Mutex::new(None) }
    }

    pub(super) fn show(&self, inspect: impl FnOnce() -> T) {
        if self.wanted.load(Ordering::Acquire) {
            self.wanted.store(false, Ordering::Relaxed);
            let seen = &mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            *seen = Some((inspect(), held_up()));
        }
    }

    /// Requests the counters and waits for them. Fails without an answer in time.
    pub(super) fn ask(&self) -> io::Result<(T, Option<Duration>)> {
        self.wanted.store(true, Ordering::Release);
        let start = Instant::now();
        loop {
            if let Some(seen) = self.seen.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return Ok(seen);
            }
            if start.elapsed() > STALL_TIMEOUT {
                let text = "the switch does not say what it counted";
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            thread::sleep(Duration::from_micros(50));
        }
    }
}
