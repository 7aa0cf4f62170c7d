//! Steps of a figure, for a caller that shows progress.

use std::cell::Cell;
use std::fmt;

/// Counts the steps of a figure.
pub struct Steps<'a> {
    show: &'a dyn Fn(u64, u64),
    done: Cell<u64>,
    all: Cell<u64>,
}

impl<'a> Steps<'a> {
    /// Calls `show` with the numbers of finished steps and of all steps when they change.
    pub fn new(show: &'a dyn Fn(u64, u64)) -> Steps<'a> {
        Steps { show, done: Cell::new(0), all: Cell::new(0) }
    }

    /// Begins a figure of `all` steps.
    pub(super) fn begin(&self, all: u64) {
        self.done.set(0);
        self.all.set(all);
        (self.show)(0, all);
    }

    /// Ends a step. Returns its result.
    pub(super) fn end<T>(&self, result: T) -> T {
        self.done.set(self.done.get() + 1);
        (self.show)(self.done.get(), self.all.get());
        result
    }
}

impl fmt::Debug for Steps<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} of {} steps", self.done.get(), self.all.get())
    }
}
