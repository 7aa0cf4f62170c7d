//! The records of a run's flows: so many in memory, and beyond that on disk.
//!
//! A run gives each record when its flow is over, in no order. They are wanted in one order: by start, source,
//! workload and index. So what memory holds is sorted when it is full and written behind what was written before, as
//! a *sorted run*; who reads merges all of them. The file has no name and goes with its last user.

mod disk;
mod tournament;

use std::cmp::Ordering;
use std::fmt;
use std::io;
use std::sync::Arc;

use crate::flow::{FlowRecord, Name};
use disk::{Reader, SortedRun, Spill};
use tournament::Tournament;

/// Records that memory holds, unless told otherwise: 30 MB.
pub const IN_MEMORY: usize = 1 << 17;

/// Records of flows in the order of flows.csv, however many there are.
#[derive(Clone)]
pub struct FlowStore {
    limit: usize,
    /// What is not on disk; in order once [`FlowStore::finish`] was called.
    records: Vec<FlowRecord>,
    runs: Vec<SortedRun>,
    spill: Option<Arc<Spill>>,
    /// What records on disk call a workload by number.
    names: Vec<Name>,
    len: u64,
    counts_everything: bool,
}

impl FlowStore {
    /// A store that keeps up to `limit` records in memory, one at least.
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

    /// How many records there are.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes a record, in any order.
    ///
    /// # Errors
    /// Memory was full, and the system's folder for temporary files took no more.
    pub fn push(&mut self, record: FlowRecord) -> io::Result<()> {
        if self.records.len() >= self.limit {
            self.write_run()?;
        }
        self.records.push(record);
        self.len += 1;
        Ok(())
    }

    /// No record comes any more.
    pub fn finish(&mut self) {
        let mut places = places_in_order(&self.records);
        for place in 0..places.len() {
            // What stood where the record belongs may have been moved: it is where that place got its own from.
            let mut from = places[place] as usize;
            while from < place {
                from = places[from] as usize;
            }
            places[place] = from as u32;
            self.records.swap(place, from);
        }
    }

    /// The measured interval was the whole run: all that was delivered counts as measured.
    pub fn count_everything(&mut self) {
        self.counts_everything = true;
    }

    /// All records, in order. After [`FlowStore::finish`].
    ///
    /// # Panics
    /// The file of temporary records cannot be read again.
    pub fn iter(&self) -> Iter<'_> {
        Iter::new(self)
    }

    /// All records in no order, which spares a merge.
    ///
    /// # Panics
    /// The file of temporary records cannot be read again.
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

    /// The record at a place of the order.
    pub fn get(&self, place: usize) -> Option<FlowRecord> {
        self.iter().nth(place)
    }

    /// The records of a store that has none on disk, to be changed; their order must stay.
    ///
    /// # Panics
    /// Some are on disk.
    pub fn in_memory(&mut self) -> &mut [FlowRecord] {
        assert!(self.runs.is_empty(), "records on disk are not changed");
        &mut self.records
    }

    /// Writes what is in memory behind what is on disk.
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

/// The order of flows.csv.
fn in_order(a: &FlowRecord, b: &FlowRecord) -> Ordering {
    a.order().cmp(&b.order())
}

/// Where the first, the second, ... of unsorted records stand. Records are large, so keys are sorted in their place.
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

/// All records of a store, in order: each source has its next one at hand, and the first of these is taken.
pub struct Iter<'a> {
    store: &'a FlowStore,
    readers: Vec<Reader<'a>>,
    memory: std::slice::Iter<'a, FlowRecord>,
    /// The next record of each reader, and of memory behind them. Empty when there is nothing to merge.
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

/// Whether the record at hand of one source comes before that of another; a source that is at its end comes last.
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
        /// Whatever memory holds, the store gives what sorting everything gives.
        #[test]
        fn a_store_is_a_sorted_list(
            records in prop::collection::vec(record(), 0..60),
            limit in 1usize..70,
        ) {
            let mut sorted = records.clone();
            sorted.sort_by(in_order);
            // Equal places would come in any order; no two flows of a run have one.
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
