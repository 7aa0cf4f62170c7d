//! Errors in the configuration of a port.

use core::fmt;

use trimline_packet::Packet;

use super::MAX_ACTIONS;

/// An error in [`Choices`](super::Choices), and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelError {
    /// The number of queues is not the classifier's.
    QueueCount {
        /// Queues stated.
        queues: usize,
        /// Queues that the classifier fills.
        classifier: usize,
    },
    /// FIFO is the order of one queue, not of several.
    FifoOfSeveral {
        /// Queues stated.
        queues: usize,
    },
    /// A queue that may never send.
    WeightZero {
        /// The queue.
        queue: usize,
    },
    /// A queue without capacity.
    LimitZero {
        /// The queue.
        queue: usize,
    },
    /// A port without capacity.
    PortLimitZero,
    /// More steps than [`MAX_ACTIONS`].
    TooManyActions {
        /// The queue.
        queue: usize,
    },
    /// A ramp whose lower end is not below its upper end.
    Ramp {
        /// The queue.
        queue: usize,
    },
    /// A queue that both trims packets and notifies of drops.
    NotifiesAndTrims {
        /// The queue.
        queue: usize,
    },
    /// A notification queue too small for a notification.
    BelowOneNotification {
        /// The queue.
        queue: usize,
    },
    /// A cap on the only queue: no other queue uses the rest.
    CapOfOne,
    /// CoDel with a zero target or interval, or in several queues.
    CoDel {
        /// The queue.
        queue: usize,
    },
    /// Order by urgency not in the last queue, or in one that shares memory, trims, returns or marks.
    Urgency {
        /// The queue.
        queue: usize,
    },
    /// Trimmed packets of zero bytes.
    TrimmedBytesZero,
    /// Cells of zero bytes.
    CellBytesZero,
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelError::QueueCount { queues, classifier } => {
                write!(f, "{queues} queues, but the classifier fills {classifier}")
            }
            ModelError::FifoOfSeveral { queues } => {
                write!(f, "scheduler FIFO serves one queue, not {queues}")
            }
            ModelError::WeightZero { queue } => write!(f, "queue {queue}: weight 0 never sends"),
            ModelError::LimitZero { queue } => {
                write!(f, "queue {queue}: a limit of 0 holds nothing")
            }
            ModelError::PortLimitZero => write!(f, "a port with a limit of 0 holds nothing"),
            ModelError::TooManyActions { queue } => {
                write!(f, "queue {queue}: more than {MAX_ACTIONS} overflow actions")
            }
            ModelError::Ramp { queue } => write!(f, "queue {queue}: kmin is not below kmax"),
            ModelError::NotifiesAndTrims { queue } => {
                write!(f, "queue {queue}: what is trimmed is not dropped, so nobody is told of it")
            }
            ModelError::BelowOneNotification { queue } => {
                write!(f, "queue {queue}: a notification has {} bytes", Packet::HEADER_BYTES)
            }
            ModelError::CapOfOne => write!(f, "a cap needs a queue beside the one that it bounds"),
            ModelError::CoDel { queue } => {
                write!(f, "queue {queue}: CoDel needs a target and an interval, in one queue")
            }
            ModelError::Urgency { queue } => write!(
                f,
                "queue {queue}: order by urgency is for the last queue, with memory of its own, which marks and trims \
                 nothing"
            ),
            ModelError::TrimmedBytesZero => write!(f, "trimmed packets need at least one byte"),
            ModelError::CellBytesZero => write!(f, "cells need at least one byte"),
        }
    }
}

impl core::error::Error for ModelError {}
