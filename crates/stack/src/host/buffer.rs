//! The buffered bytes of a stream, in a ring: releasing moves nothing, and a packet's payload is one or two slices.

use std::collections::VecDeque;

/// A contiguous part of a stream, from the oldest byte still needed to the newest.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    bytes: VecDeque<u8>,
    /// Offset of the first byte in the stream.
    start: u64,
}

/// Maximum bytes that an emptied list keeps for reuse (chosen: a request of 1 KB and its bookkeeping).
const LITTLE: usize = 4096;

/// Memory, in bytes, that stays after messages (chosen: 4096 connections of a peer have 256 MB).
pub(super) const SPARE: usize = 1 << 16;

/// Returns an empty list, which reuses the memory if `keeps` and it is at most [`LITTLE`].
pub(super) fn emptied<T>(mut list: VecDeque<T>, keeps: bool) -> VecDeque<T> {
    if !keeps || list.capacity() * size_of::<T>() > LITTLE {
        return VecDeque::new();
    }
    list.clear();
    list
}

impl Buffer {
    /// Resets to the beginning of a stream, and reuses the memory if `keeps` and it is at most [`LITTLE`].
    pub(super) fn emptied(self, keeps: bool) -> Buffer {
        Buffer { bytes: emptied(self.bytes, keeps), start: 0 }
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    pub(super) fn end(&self) -> u64 {
        self.start + self.len() as u64
    }

    pub(super) fn start(&self) -> u64 {
        self.start
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Returns the bytes between two buffered offsets; the second slice follows the first.
    pub(super) fn slices(&self, from: u64, to: u64) -> [&[u8]; 2] {
        let (front, back) = self.bytes.as_slices();
        let [from, to] = [from, to].map(|offset| (offset - self.start) as usize);
        let split = front.len();
        [
            &front[from.min(split)..to.min(split)],
            &back[from.saturating_sub(split)..to.saturating_sub(split)],
        ]
    }

    /// Releases the bytes before an offset. A long buffer keeps `spare` bytes of memory.
    pub(super) fn release(&mut self, before: u64, spare: usize) {
        let gone = (before.saturating_sub(self.start) as usize).min(self.len());
        self.start += gone as u64;
        if gone == self.len() {
            // The ring restarts at its front, so that the next bytes are one slice.
            self.bytes.clear();
        } else {
            self.bytes.drain(..gone);
        }
        // Limits count bytes, not capacity.
        if self.bytes.capacity() > spare.max(4 * self.len()) {
            self.bytes.shrink_to(spare.max(2 * self.len()));
        }
    }

    pub(super) fn truncate(&mut self, end: u64) {
        self.bytes.truncate(end.saturating_sub(self.start) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_buffer_frees_the_memory_of_a_long_message() {
        let mut buffer = Buffer::default();
        let message: Vec<u8> = (0..3_000_000u32).map(|n| n as u8).collect();
        buffer.append(&message);
        for before in [2_000_000, 2_999_000, 3_000_000] {
            buffer.release(before, SPARE);
            let rest = buffer.slices(before, 3_000_000).concat();
            assert_eq!(rest, message[before as usize..]);
        }
        assert!(buffer.capacity() <= SPARE, "{} B", buffer.capacity());
    }

    proptest! {
        /// The buffer agrees with a plain vector of the whole stream.
        #[test]
        fn a_buffer_agrees_with_a_vector_of_the_stream(
            steps in prop::collection::vec((any::<bool>(), 0usize..50), 1..100),
        ) {
            let (mut buffer, mut all, mut released) = (Buffer::default(), Vec::new(), 0);
            for (appends, count) in steps {
                if appends {
                    let bytes: Vec<u8> = (0..count).map(|n| (all.len() + n) as u8).collect();
                    buffer.append(&bytes);
                    all.extend(bytes);
                } else {
                    released = (released + count).min(all.len());
                    buffer.release(released as u64, 100);
                }
                prop_assert_eq!(buffer.start(), released as u64);
                prop_assert_eq!(buffer.end(), all.len() as u64);
                prop_assert_eq!(buffer.slices(buffer.start(), buffer.end()).concat(), &all[released..]);
                // A part, wherever the ring wraps.
                let (from, to) = (released + buffer.len() / 3, all.len() - buffer.len() / 3);
                let part = buffer.slices(from as u64, to as u64).concat();
                prop_assert_eq!(part, &all[from..to]);
            }
        }
    }
}
