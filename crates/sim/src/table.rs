//! Tables indexed by numbers that this crate itself hands out: units, packets, hosts, words of a
//! bitmap. The packet path looks into ten of them for every hop, and a check of each index costs a
//! quarter of all instructions; so indices are checked in debug builds, in which the tests run, and
//! not in release builds.

use std::ops::{Index, IndexMut};

/// A vector whose indices are known to be right.
pub(crate) struct Table<T>(Vec<T>);

impl<T> Table<T> {
    pub(crate) const fn new() -> Table<T> {
        Table(Vec::new())
    }
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
    pub(crate) fn push(&mut self, item: T) {
        self.0.push(item);
    }
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }
}

impl<T> FromIterator<T> for Table<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Table<T> {
        Table(items.into_iter().collect())
    }
}

impl<T> From<Vec<T>> for Table<T> {
    fn from(items: Vec<T>) -> Table<T> {
        Table(items)
    }
}

impl<T> Index<usize> for Table<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, index: usize) -> &T {
        debug_assert!(index < self.0.len(), "index {index} of a table of {}", self.0.len());
        // SAFETY: an index comes from a counter over this table's own length: unit numbers from
        // `Routes`, handles from `Arena`, words and slots from `Ring`. None comes from outside.
        unsafe { self.0.get_unchecked(index) }
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut T {
        debug_assert!(index < self.0.len(), "index {index} of a table of {}", self.0.len());
        // SAFETY: as in `index`.
        unsafe { self.0.get_unchecked_mut(index) }
    }
}
