//! A model's messages to senders (FastLane 3, RFC 896), and to receivers by trimming.

use super::{Action, Limit, Marker, QueueModel, ServiceModel, Signal};

impl ServiceModel {
    /// True if a port sends a packet to the sender of each trimmed packet.
    pub(crate) fn trims_towards_senders(&self) -> bool {
        let does = |queue: &QueueModel| queue.overflow.iter().any(|a| a.trims_towards_sender());
        self.queues.iter().any(does)
    }

    /// True if a port can trim packets.
    pub fn trims(&self) -> bool {
        self.queues.iter().any(|queue| queue.overflow.iter().any(|action| action.trims()))
    }

    /// True if a port can notify senders, by overflow or CoDel.
    pub fn notifies(&self) -> bool {
        let notifies = |queue: &QueueModel| {
            queue.overflow.contains(&Action::Notify)
                || matches!(queue.marker, Marker::CoDel { signal: Signal::Quench, .. })
        };
        self.queues.iter().any(notifies)
    }

    /// The only queue that notifies senders, and the bytes up to which it takes every packet; `None` unless exact bytes
    /// alone bound it and no queue quenches.
    pub(crate) fn notifying_queue(&self) -> Option<(usize, u32)> {
        let quenches = |queue: &QueueModel| {
            matches!(queue.marker, Marker::CoDel { signal: Signal::Quench, .. })
        };
        let is_exact = self.cell_bytes == 1 && self.port == Limit::NONE && !self.shares_memory();
        if !is_exact || self.queues.iter().any(quenches) {
            return None;
        }
        let notifies = |queue: &QueueModel| queue.overflow.contains(&Action::Notify);
        let mut all = (0..self.queue_count()).filter(|&queue| notifies(&self.queues[queue]));
        let queue = all.next().filter(|_| all.next().is_none())?;
        let QueueModel { limits: [whole, header], unscheduled, .. } = self.queues[queue];
        let bytes = whole.bytes.min(header.bytes).min(unscheduled);
        (whole.packets.min(header.packets) == u32::MAX).then_some((queue, bytes))
    }
}
