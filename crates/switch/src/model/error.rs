//! What can be wrong with the configuration of a port.

use core::fmt;

use trimline_packet::Packet;

use super::MAX_ACTIONS;

/// What is wrong with [`Choices`](super::Choices), and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelError {
    /// The classifier names queues that do not exist, or leaves some unused.
    QueueCount {
        /// Queues stated.
        queues: usize,
        /// Queues that the classifier fills.
        classifier: usize,
    },
    /// First in first out is the order of one queue, not of several.
    FifoOfSeveral {
        /// Queues stated.
        queues: usize,
    },
    /// A queue that may never send.
    WeightZero {
        /// Which one.
        queue: usize,
    },
    /// A queue that holds nothing.
    LimitZero {
        /// Which one.
        queue: usize,
    },
    /// A port that holds nothing.
    PortLimitZero,
    /// More steps than [`MAX_ACTIONS`].
    TooManyActions {
        /// Which queue.
        queue: usize,
    },
    /// A ramp whose lower end is not below its upper end.
    Ramp {
        /// Which queue.
        queue: usize,
    },
    /// A queue that both trims what does not fit and tells its sender of a drop.
    NotifiesAndTrims {
        /// Which queue.
        queue: usize,
    },
    /// A queue for notifications that holds none.
    BelowOneNotification {
        /// Which queue.
        queue: usize,
    },
    /// A cap on the only queue: nothing else uses what it leaves.
    CapOfOne,
    /// CoDel with a target or interval of nothing, or in more than one queue.
    CoDel {
        /// Which queue.
        queue: usize,
    },
    /// Order by urgency in another queue than the last, or in one that shares memory, trims, returns or marks.
    Urgency {
        /// Which queue.
        queue: usize,
    },
    /// Trimmed packets of no bytes.
    TrimmedBytesZero,
    /// Cells of no bytes.
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
