//! DCQCN endpoints against their paper, over a link that drops, marks and delays.

mod going_back;
mod link;
mod notifying;
mod sharing;
