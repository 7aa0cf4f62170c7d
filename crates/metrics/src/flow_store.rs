//! Stores a run's flow records: a limited number in memory, the rest on disk.
//!
//! Records come unordered, as flows end; readers want them by start, source, workload and index. So full memory is
//! sorted and appended to a file as a *sorted run*, and readers merge all runs. The file has no name and disappears
//! with its last user.

mod disk;
mod tournament;

use std::cmp::Ordering;
use std::fmt;
use std::io;
use std::sync::Arc;

use crate::flow::{FlowRecord, Name};
use disk::{Reader, SortedRun, Spill};
use tournament::Tournament;

/// Default number of records in memory: 30 MB.
pub const IN_MEMORY: usize = 1 << 17;

/// Flow records in flows.csv order, in any number.
#[derive(Clone)]
pub struct FlowStore {
    limit: usize,
    /// Records in memory, sorted by [`FlowStore::finish`].
    records: Vec<FlowRecord>,
    runs: Vec<SortedRun>,
    spill: Option<Arc<Spill>>,
    /// Workload names by their numbers on disk.
    names: Vec<Name>,
    len: u64,
    counts_everything: bool,
}

impl FlowStore {
    /// Creates a store with up to `limit` records in memory, at least one.
    pub fn new(limit: usize) -> FlowStore {
        FlowStore {
            limit: limit.max(1),
            records: Vec::new(),
            runs: Vec::new(),
            spill: None,
            names: Vec::new(),
            len: 0,
            counts_everything: false,
        }
    }

    /// Number of records.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True if empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a record, in any order.
    ///
    /// # Errors
    /// Fails if memory was full and the system's temporary folder is too.
    pub fn push(&mut self, record: FlowRecord) -> io::Result<()> {
        if self.records.len() >= self.limit {
            self.write_run()?;
        }
        self.records.push(record);
        self.len += 1;
        Ok(())
    }

    /// Sorts the records after the last push.
    pub fn finish(&mut self) {
        let mut places = places_in_order(&self.records);
        for place in 0..places.len() {
            // Earlier swaps may have moved the record: follow them.
            let mut from = places[place] as usize;
            while from < place {
                from = places[from] as usize;
            }
            places[place] = from as u32;
            self.records.swap(place, from);
        }
    }

    /// Counts everything as measured: the measured interval was the whole run.
    pub fn count_everything(&mut self) {
        self.counts_everything = true;
    }

    /// Iterates in order, after [`FlowStore::finish`].
    ///
    /// # Panics
    /// Panics if the temporary file is unreadable.
    pub fn iter(&self) -> Iter<'_> {
        Iter::new(self)
    }

    /// Iterates without order, which saves a merge.
    ///
    /// # Panics
    /// Panics if the temporary file is unreadable.
    pub fn unordered(&self) -> impl Iterator<Item = FlowRecord> {
        let on_disk = self.readers().into_iter().flatten();
        on_disk.chain(self.records.iter().cloned()).map(|record| self.counted(record))
    }

    fn readers(&self) -> Vec<Reader<'_>> {
        match &self.spill {
            Some(spill) => {
                self.runs.iter().map(|&run| Reader::new(spill, run, &self.names)).collect()
            }
            None => Vec::new(),
        }
    }

    fn counted(&self, mut record: FlowRecord) -> FlowRecord {
        if self.counts_everything {
            record.measured_bytes = record.delivered_bytes;
        }
        record
    }

    /// Record at an index of the order.
    pub fn get(&self, place: usize) -> Option<FlowRecord> {
        self.iter().nth(place)
    }

    /// Gives mutable access to records in memory; their order must stay.
    ///
    /// # Panics
    /// Panics if records are on disk.
    pub fn in_memory(&mut self) -> &mut [FlowRecord] {
        assert!(self.runs.is_empty(), "records on disk are not changed");
        &mut self.records
    }

    /// Moves the records in memory to disk.
    fn write_run(&mut self) -> io::Result<()> {
        let spill = match &mut self.spill {
            Some(spill) => spill,
            none => none.insert(Arc::new(Spill::new()?)),
        };
        let from = self.runs.last().map_or(0, |run| run.to);
        let (records, names) = (&self.records, &mut self.names);
        let places = places_in_order(records);
        let in_order = places.iter().map(|&place| &records[place as usize]);
        self.runs.push(spill.write(from, in_order, names)?);
        self.records.clear();
        Ok(())
    }
}

fn in_order(a: &FlowRecord, b: &FlowRecord) -> Ordering {
    a.order().cmp(&b.order())
}

/// Indices of unsorted records in sorted order. Sorting keys avoids moves of large records.
fn places_in_order(records: &[FlowRecord]) -> Vec<u32> {
    let key = |(record, place): (&FlowRecord, u32)| (record.start_ps, record.source, place);
    let mut keys: Vec<(u64, u32, u32)> = records.iter().zip(0..).map(key).collect();
    keys.sort_unstable_by(|a, b| {
        let at_once = || in_order(&records[a.2 as usize], &records[b.2 as usize]);
        (a.0, a.1).cmp(&(b.0, b.1)).then_with(at_once)
    });
    keys.into_iter().map(|(.., place)| place).collect()
}

impl Default for FlowStore {
    fn default() -> FlowStore {
        FlowStore::new(IN_MEMORY)
    }
}

impl From<Vec<FlowRecord>> for FlowStore {
    fn from(records: Vec<FlowRecord>) -> FlowStore {
        let len = records.len() as u64;
        let mut store = FlowStore { records, len, ..FlowStore::new(usize::MAX) };
        store.finish();
        store
    }
}

impl FromIterator<FlowRecord> for FlowStore {
    fn from_iter<I: IntoIterator<Item = FlowRecord>>(records: I) -> FlowStore {
        records.into_iter().collect::<Vec<FlowRecord>>().into()
    }
}

impl PartialEq for FlowStore {
    fn eq(&self, other: &FlowStore) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl Eq for FlowStore {}

impl fmt::Debug for FlowStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> IntoIterator for &'a FlowStore {
    type Item = FlowRecord;
    type IntoIter = Iter<'a>;
    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Merges all records in order: takes the first of the sources' next records.
pub struct Iter<'a> {
    store: &'a FlowStore,
    readers: Vec<Reader<'a>>,
    memory: std::slice::Iter<'a, FlowRecord>,
    /// Next record of each reader, then of memory. Empty without readers.
    heads: Vec<Option<FlowRecord>>,
    tournament: Tournament,
}

impl<'a> Iter<'a> {
    fn new(store: &'a FlowStore) -> Iter<'a> {
        let (mut readers, mut memory) = (store.readers(), store.records.iter());
        let mut heads: Vec<_> = readers.iter_mut().map(Reader::next).collect();
        if !heads.is_empty() {
            heads.push(memory.next().cloned());
        }
        let tournament = Tournament::new(heads.len(), |a, b| is_before(&heads, a, b));
        Iter { store, readers, memory, heads, tournament }
    }

    fn merged(&mut self) -> Option<FlowRecord> {
        let source = self.tournament.winner();
        let next = match self.readers.get_mut(source) {
            Some(reader) => reader.next(),
            None => self.memory.next().cloned(),
        };
        let record = std::mem::replace(&mut self.heads[source], next);
        self.tournament.replay(source, |a, b| is_before(&self.heads, a, b));
        record
    }
}

/// Compares two sources' next records; an exhausted source is last.
fn is_before(heads: &[Option<FlowRecord>], a: usize, b: usize) -> bool {
    match (&heads[a], &heads[b]) {
        (Some(one), Some(other)) => in_order(one, other).then(a.cmp(&b)).is_lt(),
        (head, _) => head.is_some(),
    }
}

impl Iterator for Iter<'_> {
    type Item = FlowRecord;

    fn next(&mut self) -> Option<FlowRecord> {
        let record =
            if self.heads.is_empty() { self.memory.next().cloned() } else { self.merged() };
        record.map(|record| self.store.counted(record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowEnd;
    use proptest::prelude::*;
    use std::num::NonZeroU32;

    fn record() -> impl Strategy<Value = FlowRecord> {
        let numbers = prop::collection::vec(prop_oneof![0u64..3, any::<u64>()], 13);
        let some = || prop::option::of(0u64..u64::MAX);
        (
            0usize..3,
            0u64..4,
            0u32..3,
            0u64..3,
            [some(), some(), some(), some(), some(), some()],
            numbers,
        )
            .prop_map(|(workload, index, source, start_ps, some, numbers)| FlowRecord {
                workload: ["b", "a", "c"][workload].into(),
                index,
                id: NonZeroU32::new(numbers[12] as u32),
                source,
                destination: numbers[0] as u32,
                size_bytes: some[0],
                start_ps,
                host_wait_ps: some[5],
                fct_receiver_ps: some[1],
                fct_sender_ps: some[2],
                ideal_fct_ps: some[3],
                ideal_fct_sender_ps: some[4],
                delivered_bytes: numbers[1],
                measured_bytes: numbers[2],
                packets_sent: numbers[3],
                retransmissions_signalled: numbers[4],
                retransmissions_return: numbers[5],
                retransmissions_timeout: numbers[6],
                trims: numbers[7],
                returns: numbers[8],
                timeouts: numbers[9],
                path_removals: numbers[10],
                path_restorations: numbers[11],
                end: [
                    FlowEnd::Completed,
                    FlowEnd::Delivered,
                    FlowEnd::RunEnded,
                    FlowEnd::LongLived,
                    FlowEnd::NotStarted,
                ][numbers[0] as usize % 5],
            })
    }

    proptest! {
        /// The store equals a sorted list at any memory limit.
        #[test]
        fn a_flow_store_equals_a_sorted_list(
            records in prop::collection::vec(record(), 0..60),
            limit in 1usize..70,
        ) {
            let mut sorted = records.clone();
            sorted.sort_by(in_order);
            // Equal keys would come in any order; a run has no two equal flows.
            sorted.dedup_by(|a, b| in_order(a, b).is_eq());
            let mut shuffled = sorted.clone();
            shuffled.reverse();
            shuffled.rotate_left(limit % records.len().max(1) % sorted.len().max(1));
            let mut store = FlowStore::new(limit);
            for record in shuffled {
                store.push(record).unwrap();
            }
            store.finish();
            prop_assert_eq!(store.len(), sorted.len() as u64);
            prop_assert!(store.iter().eq(sorted.iter().cloned()));
            let mut unordered: Vec<FlowRecord> = store.unordered().collect();
            unordered.sort_by(in_order);
            prop_assert_eq!(&unordered, &sorted);
            prop_assert_eq!(store.get(3), sorted.get(3).cloned());
            prop_assert_eq!(&store.clone(), &FlowStore::from(sorted));
        }
    }
}
