//! Compact records on disk that read fast.
//!
//! A record is the lengths of its numbers, four bits each, then the numbers, lowest byte first, without high zero
//! bytes. Most numbers of most flows are 0 and take no byte.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};

use crate::flow::{FlowEnd, FlowRecord, Name};

/// Buffer size per sorted run, in bytes.
const BUFFER: usize = 16 << 10;
/// Number count of a record.
const NUMBERS: usize = 24;
/// Size of the lengths in bytes.
const LENGTHS: usize = NUMBERS / 2;
/// Bytes of a full number. Buffers have as many spare bytes, because readers load full numbers.
const NUMBER: usize = size_of::<u64>();
/// Maximum size of a record in bytes.
const LONGEST: usize = LENGTHS + NUMBERS * NUMBER;

/// File range of sorted records.
#[derive(Clone, Copy, Debug)]
pub(super) struct SortedRun {
    pub(super) from: u64,
    pub(super) to: u64,
}

#[derive(Debug)]
pub(super) struct Spill {
    file: Mutex<File>,
}

impl Spill {
    pub(super) fn new() -> io::Result<Spill> {
        let file = unnamed_file().map_err(|error| explained(&error))?;
        Ok(Spill { file: Mutex::new(file) })
    }

    /// Appends records at `from`.
    pub(super) fn write<'a>(
        &self,
        from: u64,
        records: impl Iterator<Item = &'a FlowRecord>,
        names: &mut Vec<Name>,
    ) -> io::Result<SortedRun> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let write = || -> io::Result<u64> {
            file.seek(SeekFrom::Start(from))?;
            let (mut to, mut buffer) = (from, Vec::with_capacity(BUFFER + LONGEST + NUMBER));
            for record in records {
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
        let to = write().map_err(|error| explained(&error))?;
        Ok(SortedRun { from, to })
    }

    fn read(&self, from: u64, buffer: &mut [u8]) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(from))
            .and_then(|_| file.read_exact(buffer))
            .expect("records that were written can be read");
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn unnamed_file() -> io::Result<File> {
    tempfile::tempfile()
}

/// A browser has no files.
#[cfg(target_arch = "wasm32")]
fn unnamed_file() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

fn explained(error: &io::Error) -> io::Error {
    // `temp_dir` panics where there is none.
    let folder = if cfg!(target_arch = "wasm32") { "/".into() } else { std::env::temp_dir() };
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

/// Reads one sorted run.
pub(super) struct Reader<'a> {
    spill: &'a Spill,
    names: &'a [Name],
    run: SortedRun,
    /// Data and [`NUMBER`] spare bytes.
    buffer: Vec<u8>,
    place: usize,
    /// End of the data.
    end: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(spill: &'a Spill, run: SortedRun, names: &'a [Name]) -> Reader<'a> {
        Reader { spill, names, run, buffer: Vec::new(), place: 0, end: 0 }
    }

    /// Keeps the rest of the buffer and reads more.
    fn refill(&mut self) {
        self.buffer.copy_within(self.place..self.end, 0);
        self.end -= self.place;
        self.place = 0;
        let more = (self.run.to - self.run.from).min((BUFFER - self.end) as u64) as usize;
        self.buffer.resize(BUFFER + NUMBER, 0);
        self.spill.read(self.run.from, &mut self.buffer[self.end..][..more]);
        self.run.from += more as u64;
        self.end += more;
    }
}

impl Iterator for Reader<'_> {
    type Item = FlowRecord;

    fn next(&mut self) -> Option<FlowRecord> {
        if self.end - self.place < LONGEST && self.run.from < self.run.to {
            self.refill();
        }
        if self.place == self.end {
            return None;
        }
        let (record, length) = decode(self.names, &self.buffer[self.place..]);
        self.place += length;
        Some(record)
    }
}

fn write_numbers(numbers: [u64; NUMBERS], out: &mut Vec<u8>) {
    let start = out.len();
    let mut end = start + LENGTHS;
    out.resize(start + LONGEST + NUMBER, 0);
    for (place, number) in numbers.into_iter().enumerate() {
        let length = NUMBER - number.leading_zeros() as usize / 8;
        out[start + place / 2] |= (length as u8) << (4 * (place % 2));
        out[end..][..NUMBER].copy_from_slice(&number.to_le_bytes());
        end += length;
    }
    out.truncate(end);
}

/// Returns numbers and size of a record, which [`NUMBER`] spare bytes follow.
fn read_numbers(bytes: &[u8]) -> ([u64; NUMBERS], usize) {
    let mut numbers = [0; NUMBERS];
    let mut end = LENGTHS;
    for (place, number) in numbers.iter_mut().enumerate() {
        let length = usize::from(bytes[place / 2] >> (4 * (place % 2)) & 0xf);
        if length > 0 {
            let all = bytes[end..].first_chunk().expect("bytes beyond the last record");
            *number = u64::from_le_bytes(*all) << (64 - 8 * length) >> (64 - 8 * length);
            end += length;
        }
    }
    (numbers, end)
}

fn encode(record: &FlowRecord, workload: u32, out: &mut Vec<u8>) {
    // An absent number is 0, others are one more; no time or size is 2^64 - 1.
    let some = |number: Option<u64>| number.map_or(0, |number| number + 1);
    let end = match record.end {
        FlowEnd::Completed => 0,
        FlowEnd::Delivered => 1,
        FlowEnd::RunEnded => 2,
        FlowEnd::LongLived => 3,
        FlowEnd::NotStarted => 4,
    };
    // All fields are named, so that a new one cannot be forgotten.
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
    let numbers = [
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
    ];
    write_numbers(numbers, out);
}

/// Returns a record and its size.
fn decode(names: &[Name], bytes: &[u8]) -> (FlowRecord, usize) {
    let (numbers, length) = read_numbers(bytes);
    let mut numbers = numbers.into_iter();
    let mut number = || numbers.next().expect("as many numbers as were written");
    // Fields are in the order of `encode`.
    let record = FlowRecord {
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
    };
    (record, length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Numbers of every length round-trip, whatever follows them.
        #[test]
        fn numbers_of_any_length_round_trip(lengths in prop::array::uniform24(0u32..65), bits in any::<u64>(), behind in any::<u64>()) {
            let numbers = lengths.map(|length| {
                let some = bits.rotate_left(length);
                if length == 0 { 0 } else { some >> (64 - length) }
            });
            let mut out = vec![1, 2, 3];
            write_numbers(numbers, &mut out);
            let end = out.len();
            out.extend(behind.to_le_bytes());
            prop_assert_eq!(read_numbers(&out[3..]), (numbers, end - 3));
        }
    }

    #[test]
    fn a_full_disk_names_its_folder() {
        let error = explained(&io::Error::from(io::ErrorKind::StorageFull));
        let folder = std::env::temp_dir();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(error.to_string().contains(&folder.display().to_string()), "{error}");
    }
}
