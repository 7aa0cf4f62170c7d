//! Homa endpoints against their paper: one endpoint and handmade packets, or several over links that lose, double and
//! reorder.

mod hostile;
mod impaired;
mod lone;
mod receiving;
mod sending;
mod unscheduled;
#[path = "../world/mod.rs"]
mod world;
