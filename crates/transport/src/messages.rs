//! The messages of a send stream: where each ends, and the length of its last packet.

use alloc::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
struct Message {
    /// One past its last packet.
    end: u32,
    /// In bytes, of the last packet.
    last_bytes: u16,
}

/// The messages of a send stream that are not acknowledged, oldest first.
#[derive(Debug)]
pub(crate) struct Messages {
    /// Bytes of a full packet.
    payload: u16,
    is_endless: bool,
    waiting: VecDeque<Message>,
}

impl Messages {
    pub(crate) fn new(payload: u16) -> Messages {
        Messages { payload, is_endless: false, waiting: VecDeque::new() }
    }

    /// Payload of a full packet, in bytes.
    #[inline]
    pub(crate) fn payload(&self) -> u16 {
        self.payload
    }

    pub(crate) fn never_end(&mut self) {
        self.is_endless = true;
    }

    /// Adds a message behind the others, from packet `first` on if there is none.
    pub(crate) fn append(&mut self, first: u32, length: u64) {
        if self.is_endless || length == 0 {
            return;
        }
        let payload = u64::from(self.payload);
        let last_bytes = match length % payload {
            0 => self.payload,
            rest => rest as u16,
        };
        let begin = self.waiting.back().map_or(first, |message| message.end);
        let end = begin.wrapping_add(length.div_ceil(payload) as u32);
        self.waiting.push_back(Message { end, last_bytes });
    }

    /// Returns whether some message has this packet, or an earlier one has ended.
    #[inline]
    pub(crate) fn has(&self, sequence: u32) -> bool {
        self.is_endless
            || self
                .waiting
                .back()
                .is_some_and(|last| last.end.wrapping_sub(sequence).wrapping_sub(1) < 1 << 31)
    }

    /// Returns the payload of a packet, and whether it ends a message.
    #[inline]
    pub(crate) fn length(&self, sequence: u32) -> (u16, bool) {
        let behind = sequence.wrapping_add(1);
        match self.waiting.iter().find(|message| message.end == behind) {
            Some(message) => (message.last_bytes, true),
            None => (self.payload, false),
        }
    }

    /// Drops the messages whose packets all lie before `until`. Returns their number.
    pub(crate) fn end(&mut self, until: u32) -> u32 {
        let mut ended = 0;
        let is_over = |message: &Message| until.wrapping_sub(message.end) < 1 << 31;
        while self.waiting.front().is_some_and(is_over) {
            self.waiting.pop_front();
            ended += 1;
        }
        ended
    }
}
