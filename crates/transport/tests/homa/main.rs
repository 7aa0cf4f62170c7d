//! Homa endpoints checked against their paper: one endpoint against handmade packets, and endpoints against each other
//! over links that lose, double and reorder.

mod hostile;
mod impaired;
mod lone;
mod receiving;
mod sending;
mod unscheduled;
#[path = "../world/mod.rs"]
mod world;
