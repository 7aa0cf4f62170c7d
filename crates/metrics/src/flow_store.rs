//! The records of a run's flows: so many in memory, and beyond that on disk.
//!
//! A run gives each record when its flow is over, in no order. They are wanted in one order: by start, source,
//! workload and index. So what memory holds is sorted when it is full and written behind what was written before, as
//! a *sorted run*; who reads merges all of them. The file has no name and goes with its last user.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::mem;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use crate::flow::{FlowEnd, FlowRecord, Name};

/// Records that memory holds, unless told otherwise: 30 MB.
pub const IN_MEMORY: usize = 1 << 17;

/// Bytes of each sorted run that a reader has in memory.
const BUFFER: usize = 16 << 10;

/// Records on disk, in order.
#[derive(Clone, Copy, Debug)]
struct SortedRun {
    from: u64,
    to: u64,
}

/// The file of the sorted runs.
#[derive(Debug)]
struct Spill {
    file: Mutex<File>,
}

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
        self.records.sort_unstable_by(in_order);
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
        let readers: Vec<Reader<'_>> = match &self.spill {
            Some(spill) => self.runs.iter().map(|&run| Reader::new(spill, run)).collect(),
            None => Vec::new(),
        };
        let mut iter =
            Iter { store: self, readers, memory: self.records.iter(), heads: BinaryHeap::new() };
        for source in 0..=iter.readers.len() {
            iter.refill(source);
        }
        iter
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
        self.records.sort_unstable_by(in_order);
        let spill = match &mut self.spill {
            Some(spill) => spill,
            none => {
                let file = tempfile::tempfile().map_err(|error| explained(&error))?;
                none.insert(Arc::new(Spill { file: Mutex::new(file) }))
            }
        };
        let from = self.runs.last().map_or(0, |run| run.to);
        let mut file = spill.file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut write = |names: &mut Vec<Name>| -> io::Result<u64> {
            file.seek(SeekFrom::Start(from))?;
            let (mut to, mut buffer) = (from, Vec::with_capacity(2 * BUFFER));
            for record in &self.records {
                encode(record, number_of(names, &record.workload), &mut buffer);
                if buffer.len() >= BUFFER {
                    file.write_all(&buffer)?;
                    to += buffer.len() as u64;
                    buffer.clear();
                }
            }
            file.write_all(&buffer)?;
            Ok(to + buffer.len() as u64)
        };
        let to = write(&mut self.names).map_err(|error| explained(&error))?;
        drop(file);
        self.runs.push(SortedRun { from, to });
        self.records.clear();
        Ok(())
    }
}

/// The order of flows.csv.
fn in_order(a: &FlowRecord, b: &FlowRecord) -> Ordering {
    a.order().cmp(&b.order())
}

fn explained(error: &io::Error) -> io::Error {
    let folder = std::env::temp_dir();
    io::Error::new(
        error.kind(),
        format!(
            "records of flows do not fit {}: {error}; TMPDIR names another folder",
            folder.display()
        ),
    )
}

fn number_of(names: &mut Vec<Name>, name: &Name) -> u32 {
    let known = names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.clone());
        names.len() - 1
    });
    known as u32
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

/// The next record of one source.
struct Head {
    record: FlowRecord,
    source: usize,
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Head) -> Ordering {
        in_order(&self.record, &other.record).then(self.source.cmp(&other.source))
    }
}

/// All records of a store, in order.
pub struct Iter<'a> {
    store: &'a FlowStore,
    readers: Vec<Reader<'a>>,
    memory: std::slice::Iter<'a, FlowRecord>,
    heads: BinaryHeap<Reverse<Head>>,
}

impl Iter<'_> {
    /// Takes the next record of a sorted run, or of memory, which comes behind them.
    fn refill(&mut self, source: usize) {
        let record = match self.readers.get_mut(source) {
            Some(reader) => reader.next(&self.store.names),
            None => self.memory.next().cloned(),
        };
        if let Some(record) = record {
            self.heads.push(Reverse(Head { record, source }));
        }
    }
}

impl Iterator for Iter<'_> {
    type Item = FlowRecord;

    fn next(&mut self) -> Option<FlowRecord> {
        let mut record = if self.readers.is_empty() {
            // Nothing to merge.
            match self.heads.pop() {
                Some(Reverse(head)) => head.record,
                None => self.memory.next()?.clone(),
            }
        } else {
            let Reverse(Head { record, source }) = self.heads.pop()?;
            self.refill(source);
            record
        };
        if self.store.counts_everything {
            record.measured_bytes = record.delivered_bytes;
        }
        Some(record)
    }
}

/// Reads one sorted run.
struct Reader<'a> {
    spill: &'a Spill,
    run: SortedRun,
    buffer: Vec<u8>,
    place: usize,
}

impl Reader<'_> {
    fn new(spill: &Spill, run: SortedRun) -> Reader<'_> {
        Reader { spill, run, buffer: Vec::new(), place: 0 }
    }

    fn next(&mut self, names: &[Name]) -> Option<FlowRecord> {
        if self.place == self.buffer.len() && self.run.from == self.run.to {
            return None;
        }
        Some(decode(names, || self.number()))
    }

    fn byte(&mut self) -> u8 {
        if self.place == self.buffer.len() {
            let left = (self.run.to - self.run.from).min(BUFFER as u64);
            let mut buffer = mem::take(&mut self.buffer);
            buffer.resize(left as usize, 0);
            let mut file = self.spill.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(self.run.from))
                .and_then(|_| file.read_exact(&mut buffer))
                .expect("records that were written can be read");
            self.run.from += left;
            (self.buffer, self.place) = (buffer, 0);
        }
        self.place += 1;
        self.buffer[self.place - 1]
    }

    /// Seven bits a byte, lowest first; the highest bit says that more follow.
    fn number(&mut self) -> u64 {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return number;
            }
            shift += 7;
        }
    }
}

fn write_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn encode(record: &FlowRecord, workload: u32, out: &mut Vec<u8>) {
    // A number that is not there is 0, all others one more; no time and no size is 2^64 - 1.
    let some = |number: Option<u64>| number.map_or(0, |number| number + 1);
    let end = match record.end {
        FlowEnd::Completed => 0,
        FlowEnd::Delivered => 1,
        FlowEnd::RunEnded => 2,
        FlowEnd::LongLived => 3,
        FlowEnd::NotStarted => 4,
    };
    // Every field is named, so that a new one cannot be forgotten.
    let FlowRecord {
        workload: _,
        index,
        id,
        source,
        destination,
        size_bytes,
        start_ps,
        host_wait_ps,
        fct_receiver_ps,
        fct_sender_ps,
        ideal_fct_ps,
        ideal_fct_sender_ps,
        delivered_bytes,
        measured_bytes,
        packets_sent,
        retransmissions_signalled,
        retransmissions_return,
        retransmissions_timeout,
        trims,
        returns,
        timeouts,
        path_removals,
        path_restorations,
        end: _,
    } = *record;
    for number in [
        u64::from(workload),
        index,
        id.map_or(0, |id| u64::from(id.get())),
        u64::from(source),
        u64::from(destination),
        some(size_bytes),
        start_ps,
        some(host_wait_ps),
        some(fct_receiver_ps),
        some(fct_sender_ps),
        some(ideal_fct_ps),
        some(ideal_fct_sender_ps),
        delivered_bytes,
        measured_bytes,
        packets_sent,
        retransmissions_signalled,
        retransmissions_return,
        retransmissions_timeout,
        trims,
        returns,
        timeouts,
        path_removals,
        path_restorations,
        end,
    ] {
        write_number(number, out);
    }
}

fn decode(names: &[Name], mut number: impl FnMut() -> u64) -> FlowRecord {
    // Fields are read in the order in which they are written here: that of `encode`.
    FlowRecord {
        workload: names[number() as usize].clone(),
        index: number(),
        id: NonZeroU32::new(number() as u32),
        source: number() as u32,
        destination: number() as u32,
        size_bytes: number().checked_sub(1),
        start_ps: number(),
        host_wait_ps: number().checked_sub(1),
        fct_receiver_ps: number().checked_sub(1),
        fct_sender_ps: number().checked_sub(1),
        ideal_fct_ps: number().checked_sub(1),
        ideal_fct_sender_ps: number().checked_sub(1),
        delivered_bytes: number(),
        measured_bytes: number(),
        packets_sent: number(),
        retransmissions_signalled: number(),
        retransmissions_return: number(),
        retransmissions_timeout: number(),
        trims: number(),
        returns: number(),
        timeouts: number(),
        path_removals: number(),
        path_restorations: number(),
        end: match number() {
            0 => FlowEnd::Completed,
            1 => FlowEnd::Delivered,
            2 => FlowEnd::RunEnded,
            3 => FlowEnd::LongLived,
            4 => FlowEnd::NotStarted,
            other => panic!("a record on disk has no end {other}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
            prop_assert_eq!(store.get(3), sorted.get(3).cloned());
            prop_assert_eq!(&store.clone(), &FlowStore::from(sorted));
        }
    }

    #[test]
    fn a_folder_that_takes_nothing_is_named() {
        let error = explained(&io::Error::from(io::ErrorKind::StorageFull));
        let folder = std::env::temp_dir();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(error.to_string().contains(&folder.display().to_string()), "{error}");
    }
}
