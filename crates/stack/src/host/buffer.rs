//! Bytes of a stream between an offset that nobody needs any more and the newest one: contiguous, so
//! that a packet's payload is a slice.

/// A window of a stream.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    /// Bytes at the front that are no longer needed.
    dead: usize,
    /// Offset in the stream of the first byte that is.
    start: u64,
}

impl Buffer {
    /// Offset behind the newest byte.
    pub(super) fn end(&self) -> u64 {
        self.start + self.len() as u64
    }

    /// Offset of the oldest byte that is kept.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Bytes that are kept.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.dead
    }

    /// Adds bytes at the end.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The bytes from one offset to another, both within the window.
    pub(super) fn slice(&self, from: u64, to: u64) -> &[u8] {
        let place = |offset: u64| self.dead + (offset - self.start) as usize;
        &self.bytes[place(from)..place(to)]
    }

    /// Forgets what lies before an offset.
    pub(super) fn release(&mut self, before: u64) {
        let gone = (before.saturating_sub(self.start) as usize).min(self.len());
        self.dead += gone;
        self.start += gone as u64;
        if self.dead == self.bytes.len() {
            self.bytes.clear();
            self.dead = 0;
        } else if self.dead > self.bytes.len() / 2 {
            // Each byte is moved at most once for every byte that was released.
            self.bytes.drain(..self.dead);
            self.dead = 0;
        }
    }

    /// Forgets what lies at or behind an offset.
    pub(super) fn truncate(&mut self, end: u64) {
        let keep = (end.saturating_sub(self.start) as usize).min(self.len());
        self.bytes.truncate(self.dead + keep);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A plain vector of the whole stream says the same.
        #[test]
        fn a_buffer_is_a_window_of_a_stream(
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
                    buffer.release(released as u64);
                }
                prop_assert_eq!(buffer.start(), released as u64);
                prop_assert_eq!(buffer.end(), all.len() as u64);
                prop_assert_eq!(buffer.slice(buffer.start(), buffer.end()), &all[released..]);
            }
        }
    }
}
