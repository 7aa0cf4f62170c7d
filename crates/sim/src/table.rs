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
    /// Asks for an item's cache lines ahead of its use. Any index will do: nothing is read.
    #[inline(always)]
    pub(crate) fn prefetch(&self, index: usize) {
        prefetch(self.0.as_ptr().wrapping_add(index).cast(), size_of::<T>());
    }
    /// The same for the first `bytes` of it.
    #[inline(always)]
    pub(crate) fn prefetch_front(&self, index: usize, bytes: usize) {
        prefetch(self.0.as_ptr().wrapping_add(index).cast(), bytes);
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

/// Asks for the cache lines of `bytes` bytes at an address, where the machine can be asked.
#[inline(always)]
pub(crate) fn prefetch(address: *const u8, bytes: usize) {
    for offset in (0..bytes).step_by(64) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch is a hint; it reads nothing and faults at no address.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(address.wrapping_add(offset).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (address, offset);
    }
}
