//! A thread that writes a command's output: packets do not wait for a disk or a reader.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use trimline_experiments::notice;

/// Max wait for the last write at the end of a command (chosen: enough for a busy disk, and a blocked reader holds up
/// no command).
const STALL_TIMEOUT: Duration = Duration::from_secs(5);

/// Background writer. While a write is in progress only the newest pending value is kept. A failed write is reported
/// once; later writes are still tried.
#[derive(Debug)]
pub(crate) struct Writer<T> {
    place: String,
    shared: Arc<Shared<T>>,
}

#[derive(Debug)]
struct Shared<T> {
    pending: Mutex<Pending<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Pending<T> {
    newest: Option<T>,
    /// No more values will come.
    is_over: bool,
    /// The outcome of the last write.
    outcome: Option<io::Result<()>>,
}

impl<T: Send + 'static> Writer<T> {
    /// Starts a thread that passes values to `write`; `place` names the target in messages.
    pub(crate) fn start(
        place: impl Into<String>,
        write: impl FnMut(T) -> io::Result<()> + Send + 'static,
    ) -> Writer<T> {
        Writer::saying(place, write, notice)
    }

    fn saying(
        place: impl Into<String>,
        mut write: impl FnMut(T) -> io::Result<()> + Send + 'static,
        mut say: impl FnMut(&str) + Send + 'static,
    ) -> Writer<T> {
        let pending = Mutex::new(Pending { newest: None, is_over: false, outcome: None });
        let shared = Arc::new(Shared { pending, changed: Condvar::new() });
        let of_thread = Arc::clone(&shared);
        std::thread::spawn(move || {
            let (mut outcome, mut was_said) = (Ok(()), false);
            while let Some(newest) = of_thread.next() {
                outcome = write(newest);
                if let (Err(error), false) = (&outcome, was_said) {
                    was_said = true;
                    say(&format!("{error}; the program continues"));
                }
            }
            of_thread.pending().outcome = Some(outcome);
            of_thread.changed.notify_all();
        });
        Writer { place: place.into(), shared }
    }

    /// Replaces the pending value. Never waits.
    pub(crate) fn set_pending(&self, newest: T) {
        self.shared.pending().newest = Some(newest);
        self.shared.changed.notify_all();
    }

    /// Writes the last value, and waits for at most five seconds.
    ///
    /// # Errors
    /// Returns an error if the last write failed, or was not done in time.
    pub(crate) fn finish(self, last: T) -> io::Result<()> {
        self.finish_within(last, STALL_TIMEOUT)
    }

    fn finish_within(self, last: T, stall_timeout: Duration) -> io::Result<()> {
        self.set_pending(last);
        let mut pending = self.shared.pending();
        pending.is_over = true;
        self.shared.changed.notify_all();
        let is_waited_for = |pending: &mut Pending<T>| pending.outcome.is_none();
        let waited = self.shared.changed.wait_timeout_while(pending, stall_timeout, is_waited_for);
        let (mut pending, _) = waited.unwrap_or_else(PoisonError::into_inner);
        pending.outcome.take().unwrap_or_else(|| {
            let described = format!("{}: the last write did not finish in time", self.place);
            Err(io::Error::new(io::ErrorKind::TimedOut, described))
        })
    }
}

impl<T> Drop for Writer<T> {
    fn drop(&mut self) {
        self.shared.pending().is_over = true;
        self.shared.changed.notify_all();
    }
}

impl<T> Shared<T> {
    /// Locks the pending value. Holders do nothing that could panic.
    fn pending(&self) -> MutexGuard<'_, Pending<T>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the newest value. `None` after the last.
    fn next(&self) -> Option<T> {
        let waits = |pending: &mut Pending<T>| pending.newest.is_none() && !pending.is_over;
        let waited = self.changed.wait_while(self.pending(), waits);
        waited.unwrap_or_else(PoisonError::into_inner).newest.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_write_error_is_reported_once_and_the_newest_value_is_written() {
        let ((said, received), (written, seen)) = (mpsc::channel(), mpsc::channel());
        let write = move |number: u32| {
            written.send(number).unwrap();
            match number {
                0..4 => Err(io::Error::other("no room")),
                4.. => Ok(()),
            }
        };
        let say = move |text: &str| said.send(text.to_owned()).unwrap();
        let writer = Writer::saying("place", write, say);
        for number in 0..4 {
            writer.set_pending(number);
            assert_eq!(seen.recv(), Ok(number));
        }
        writer.finish(4).unwrap();
        assert_eq!(received.iter().collect::<Vec<_>>(), ["no room; the program continues"]);
        let writer = Writer::saying("place", |()| Err(io::Error::other("no room")), |_| {});
        assert_eq!(writer.finish(()).unwrap_err().to_string(), "no room");
    }

    #[test]
    fn a_slow_reader_delays_no_writer() {
        let (go_on, wait) = mpsc::channel::<()>();
        let (begun, begins) = mpsc::channel();
        let write = move |number: u32| {
            begun.send(number).unwrap();
            wait.recv().map_err(io::Error::other)
        };
        let writer = Writer::saying("place", write, |_| {});
        writer.set_pending(0);
        assert_eq!(begins.recv(), Ok(0));
        (1..1000).for_each(|number| writer.set_pending(number));
        let ended = writer.finish_within(1000, Duration::from_millis(10)).unwrap_err();
        assert_eq!(ended.kind(), io::ErrorKind::TimedOut);
        assert!(ended.to_string().contains("place"), "{ended}");
        go_on.send(()).unwrap();
        assert_eq!(begins.recv(), Ok(1000), "the newest alone was kept");
    }
}
