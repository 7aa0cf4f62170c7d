//! DCQCN endpoints held to their paper: alone, and against each other over a link that drops, marks and holds.

mod going_back;
mod link;
mod notifying;
mod sharing;
