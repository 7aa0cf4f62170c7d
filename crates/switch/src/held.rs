//! The packets and bytes that a queue or a port holds.

use crate::model::Limit;

/// The packets and bytes in a queue or a port.
#[derive(Clone, Copy)]
pub(crate) struct Held {
    pub(crate) packets: u32,
    pub(crate) bytes: u32,
}

impl Held {
    /// Whether a packet of so many bytes fits behind it.
    pub(crate) fn fits(self, bytes: u32, limit: Limit) -> bool {
        self.packets < limit.packets
            && u64::from(self.bytes) + u64::from(bytes) <= u64::from(limit.bytes)
    }
}
