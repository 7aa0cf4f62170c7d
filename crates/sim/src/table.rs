//! Tables indexed by numbers that this crate itself assigns: nodes, packets, hosts, words of a bitmap. The packet path
//! reads ten tables per hop, and a check of each index costs a quarter of all instructions. So indices are checked in
//! debug builds, in which the tests run, and not in release builds. The feature `checked` checks them there too, and
//! also that one thread alone changes shared items: `make checked` runs the released code under these checks, with its
//! own constants and optimisations.
//!
//! A [`Table`] belongs to one thread. The items of a [`Shared`] table are divided among the threads of a run, each with
//! its own view of the same memory.

use std::mem::ManuallyDrop;
use std::ops::{Index, IndexMut};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

const CHECKED: bool = cfg!(any(debug_assertions, feature = "checked"));

#[inline(always)]
#[track_caller]
fn check(index: usize, len: usize) {
    if CHECKED {
        assert!(index < len, "index {index} of a table of {len}");
    }
}

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
    /// Prefetches an item's cache lines. Any index will do: nothing is read.
    #[inline(always)]
    pub(crate) fn prefetch(&self, index: usize) {
        prefetch(self.0.as_ptr().wrapping_add(index).cast(), size_of::<T>());
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
        check(index, self.0.len());
        // SAFETY: an index comes from a counter over this table's own length: unit numbers from
        // `Routes`, handles from `Arena`, words and slots from `Wheel`. None comes from outside.
        unsafe { self.0.get_unchecked(index) }
    }
}

impl<T> IndexMut<usize> for Table<T> {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut T {
        check(index, self.0.len());
        // SAFETY: as in `index`.
        unsafe { self.0.get_unchecked_mut(index) }
    }
}

/// The memory of a shared table, freed with its last view.
struct Items<T> {
    start: *mut T,
    len: usize,
    capacity: usize,
    #[cfg(feature = "checked")]
    owners: owners::Owners,
}

impl<T> Drop for Items<T> {
    fn drop(&mut self) {
        // SAFETY: the parts of a vector that was never dropped; no view is left.
        drop(unsafe { Vec::from_raw_parts(self.start, self.len, self.capacity) });
    }
}

/// A view of a table whose items are divided among threads.
pub(crate) struct Shared<T> {
    start: *mut T,
    items: Arc<Items<T>>,
}

// SAFETY: a view is a pointer to items that may be used from any thread (`T: Send`) and read from several
// (`T: Sync`); that no two threads use one item that changes is what the callers of `Shared::view` promise.
unsafe impl<T: Send + Sync> Send for Shared<T> {}

impl<T> Shared<T> {
    /// Returns another view of these items.
    ///
    /// # Safety
    /// While two threads use views, an item that one thread changes is used by that thread alone. A run keeps this
    /// rule: the thread that owns a node uses ports, hosts and their state, and streams of flows belong to the thread
    /// of their host. All other items change only while the other threads wait.
    pub(crate) unsafe fn view(&self) -> Shared<T> {
        Shared { start: self.start, items: Arc::clone(&self.items) }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.items.len
    }
    /// Item at an index that comes from outside: from a packet.
    #[inline]
    pub(crate) fn find(&self, index: usize) -> Option<&T> {
        (index < self.len()).then(|| &self[index])
    }
    #[inline]
    pub(crate) fn find_mut(&mut self, index: usize) -> Option<&mut T> {
        if index < self.len() { Some(&mut self[index]) } else { None }
    }
    /// Returns all items, while no other thread changes any.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).map(|index| &self[index])
    }
    /// Prefetches an item's cache lines. Any index will do: nothing is read.
    #[inline(always)]
    pub(crate) fn prefetch(&self, index: usize) {
        prefetch(self.start.wrapping_add(index).cast(), size_of::<T>());
    }
    /// First `BYTES` of each item, for code that does not know the item's type.
    pub(crate) fn fronts<const BYTES: usize>(&self) -> Fronts<BYTES> {
        Fronts { start: self.start.addr(), stride: size_of::<T>() }
    }
}

/// The addresses of the first bytes of a table's items, for prefetching only.
#[derive(Clone, Copy, Default)]
pub(crate) struct Fronts<const BYTES: usize> {
    start: usize,
    stride: usize,
}

impl<const BYTES: usize> Fronts<BYTES> {
    /// Prefetches the front of an item. Any index will do: nothing is read.
    #[inline(always)]
    pub(crate) fn prefetch(&self, index: usize) {
        let address = self.start.wrapping_add(self.stride.wrapping_mul(index));
        prefetch(ptr::without_provenance(address), BYTES);
    }
}

impl<T> From<Vec<T>> for Shared<T> {
    fn from(items: Vec<T>) -> Shared<T> {
        let mut items = ManuallyDrop::new(items);
        let (start, len, capacity) = (items.as_mut_ptr(), items.len(), items.capacity());
        let items = Items {
            start,
            len,
            capacity,
            #[cfg(feature = "checked")]
            owners: owners::Owners::new(len),
        };
        Shared { start, items: Arc::new(items) }
    }
}

impl<T> FromIterator<T> for Shared<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Shared<T> {
        Shared::from(items.into_iter().collect::<Vec<T>>())
    }
}

impl<T> Index<usize> for Shared<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, index: usize) -> &T {
        check(index, self.len());
        #[cfg(feature = "checked")]
        self.items.owners.read(index);
        // SAFETY: the index as in `Table`; the item is initialised, and no other thread changes it now
        // (`Shared::view`).
        unsafe { &*self.start.add(index) }
    }
}

impl<T> IndexMut<usize> for Shared<T> {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut T {
        check(index, self.len());
        #[cfg(feature = "checked")]
        self.items.owners.change(index);
        // SAFETY: as in `index`; whoever may change an item is the only one to use it now.
        unsafe { &mut *self.start.add(index) }
    }
}

/// Lets other threads use this thread's changes: threads have met, or are about to begin.
#[inline]
pub(crate) fn hand_over() {
    #[cfg(feature = "checked")]
    owners::hand_over();
}

/// The last thread that changed each item of a shared table: checks the promise of [`Shared::view`].
#[cfg(feature = "checked")]
mod owners {
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    /// Rises when threads of any run hand over to each other: a change counts until then.
    static EPOCH: AtomicU32 = AtomicU32::new(1);
    static THREADS: AtomicU32 = AtomicU32::new(0);

    thread_local! {
        static ME: u32 = THREADS.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn hand_over() {
        EPOCH.fetch_add(1, Ordering::SeqCst);
    }

    /// Per item: the epoch and the thread of its last change.
    pub(super) struct Owners(Box<[AtomicU64]>);

    impl Owners {
        pub(super) fn new(len: usize) -> Owners {
            Owners((0..len).map(|_| AtomicU64::new(0)).collect())
        }

        fn me() -> u64 {
            u64::from(EPOCH.load(Ordering::SeqCst)) << 32 | u64::from(ME.with(|me| *me))
        }

        #[track_caller]
        fn check(index: usize, last: u64, me: u64) {
            assert!(
                last >> 32 != me >> 32 || last == me,
                "two threads use item {index} of a table, and one of them changed it"
            );
        }

        #[track_caller]
        pub(super) fn read(&self, index: usize) {
            Owners::check(index, self.0[index].load(Ordering::Relaxed), Owners::me());
        }

        #[track_caller]
        pub(super) fn change(&self, index: usize) {
            let me = Owners::me();
            Owners::check(index, self.0[index].swap(me, Ordering::Relaxed), me);
        }
    }
}

/// Segments of a growing table: the first has one item, each further one four times as many.
const SEGMENTS: usize = 12;

/// The number of each segment's first item, and the total number of items.
const STARTS: [u32; SEGMENTS + 1] = {
    let mut starts = [0; SEGMENTS + 1];
    let mut segment = 0;
    while segment < SEGMENTS {
        starts[segment + 1] = starts[segment] + 4u32.pow(segment as u32);
        segment += 1;
    }
    starts
};

/// A table that one thread makes longer while others read: items stay where they are, and fields that change are
/// atomics.
///
/// Other threads look up an item only after a packet sent after its making.
#[repr(align(64))]
pub(crate) struct Growing<T> {
    segments: [AtomicPtr<T>; SEGMENTS],
}

impl<T: Default> Growing<T> {
    /// Returns a table with one item: the first segment is always there.
    pub(crate) fn new() -> Growing<T> {
        let mut table = Growing { segments: [const { AtomicPtr::new(ptr::null_mut()) }; SEGMENTS] };
        *table.segments[0].get_mut() = Growing::<T>::items(1);
        table
    }

    fn items(len: u32) -> *mut T {
        let items: Box<[T]> = (0..len).map(|_| T::default()).collect();
        Box::into_raw(items).cast()
    }

    #[inline(always)]
    fn segment(index: u32) -> usize {
        // The segments before number n have (4^n - 1) / 3 items.
        (index * 3 + 1).ilog2() as usize / 2
    }

    /// Item at an index that may come from outside.
    #[inline(always)]
    pub(crate) fn find(&self, index: u32) -> Option<&T> {
        if index != 0 {
            return self.find_behind_first(index);
        }
        // Most hosts that are busy for long have one flow.
        let first = self.segments[0].load(Ordering::Relaxed);
        // SAFETY: the first segment was made with the table, has one item and stays until the table goes.
        Some(unsafe { &*first })
    }

    /// Prefetches the cache line in which an item begins. Any index below 2^22 will do: no item is read.
    #[inline(always)]
    pub(crate) fn prefetch(&self, index: u32) {
        let segment = Growing::<T>::segment(index);
        let start = self.segments.get(segment).map(|start| start.load(Ordering::Acquire));
        if let Some(start) = start {
            prefetch(start.wrapping_add((index - STARTS[segment]) as usize).cast(), 1);
        }
    }

    #[inline]
    fn find_behind_first(&self, index: u32) -> Option<&T> {
        let segment = Growing::<T>::segment(index);
        let start = self.segments.get(segment)?.load(Ordering::Acquire);
        if start.is_null() {
            return None;
        }
        // SAFETY: a segment has as many items as there are numbers before the next one's first, all of them made
        // before the pointer was stored, and it stays until the table goes.
        Some(unsafe { &*start.add((index - STARTS[segment]) as usize) })
    }

    /// Ensures an item at `index`, below 2^22. Only for the thread that makes the table longer.
    pub(crate) fn grow_to(&self, index: u32) -> &T {
        let segment = Growing::<T>::segment(index);
        if self.segments[segment].load(Ordering::Relaxed).is_null() {
            let len = STARTS[segment + 1] - STARTS[segment];
            self.segments[segment].store(Growing::<T>::items(len), Ordering::Release);
        }
        self.find(index).expect("the segment is there")
    }
}

impl<T> Drop for Growing<T> {
    fn drop(&mut self) {
        for (segment, start) in self.segments.iter_mut().enumerate() {
            let start = *start.get_mut();
            if !start.is_null() {
                let len = (STARTS[segment + 1] - STARTS[segment]) as usize;
                // SAFETY: made by `grow_to` from a box of so many items, and nobody has the table any more.
                drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(start, len)) });
            }
        }
    }
}

/// Prefetches the cache lines of `bytes` bytes at an address, where the machine supports it.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    #[test]
    #[should_panic(expected = "index 3 of a table of 3")]
    fn a_wrong_index_of_a_table_is_found() {
        let table = Table::from(vec![1, 2, 3]);
        let _ = table[std::hint::black_box(3)];
    }

    #[test]
    #[should_panic(expected = "index 4 of a table of 3")]
    fn a_wrong_index_of_a_shared_table_is_found() {
        let mut table = Shared::from(vec![1, 2, 3]);
        table[std::hint::black_box(4)] = 0;
    }

    /// One after the other, so that the test itself has no race.
    #[cfg(feature = "checked")]
    #[test]
    fn an_item_that_two_threads_change_is_found() {
        let mut table = Shared::from(vec![1, 2]);
        let elsewhere = |table: &mut Shared<i32>, item: usize| {
            // SAFETY: the other thread has ended when this one goes on.
            let mut view = unsafe { table.view() };
            std::thread::spawn(move || view[item] += 1).join()
        };
        // Until the check fails, or other tests hand over in between a hundred times.
        let is_found = (0..100).any(|_| {
            table[0] = 5;
            elsewhere(&mut table, 0).is_err()
        });
        assert!(is_found);
        hand_over();
        assert!(elsewhere(&mut table, 1).is_ok());
    }

    #[test]
    fn a_growing_table_moves_no_item() {
        let table: Growing<AtomicU32> = Growing::new();
        assert!(table.find(1).is_none() && table.find(u32::MAX / 4).is_none());
        let mut places = Vec::new();
        for index in 0..5_000 {
            let item = table.grow_to(index);
            item.store(index, Ordering::Relaxed);
            places.push(ptr::from_ref(item));
        }
        for (index, place) in (0..).zip(places) {
            let item = table.find(index).unwrap();
            assert_eq!((ptr::from_ref(item), item.load(Ordering::Relaxed)), (place, index));
        }
        // The last number of a host lies in the last segment.
        assert!(STARTS[SEGMENTS] > 1 << 22);
    }
}
