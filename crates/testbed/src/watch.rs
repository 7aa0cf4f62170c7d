//! What the thread of the switches lets other threads of a testbed see, and how long threads had no processor.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long the switches may take to say what they counted.
const STALL_TIMEOUT: Duration = Duration::from_secs(10);

/// How long this thread was ready to run and had no processor, as far as the kernel counts that.
pub(super) fn held_up() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// Lets one thread ask what the switches' thread has counted, and how long it was held up.
#[derive(Debug)]
pub(super) struct Watch<T> {
    wanted: AtomicBool,
    seen: Mutex<Option<(T, Option<Duration>)>>,
}

impl<T> Watch<T> {
    /// Nobody has asked.
    pub(super) const fn new() -> Watch<T> {
        Watch { wanted: AtomicBool::new(false), seen: Mutex::new(None) }
    }

    /// The switches' thread: answers who asks.
    pub(super) fn show(&self, inspect: impl FnOnce() -> T) {
        if self.wanted.load(Ordering::Acquire) {
            self.wanted.store(false, Ordering::Relaxed);
            let seen = &mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            *seen = Some((inspect(), held_up()));
        }
    }

    /// Another thread: waits for the answer.
    ///
    /// # Errors
    /// None comes.
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
