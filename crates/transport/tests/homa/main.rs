//! Homa endpoints held to their paper: one endpoint against packets made by hand, and endpoints against each other over
//! links that lose, double and reorder.

mod hostile;
mod impaired;
mod lone;
mod receiving;
mod sending;
mod unscheduled;
#[path = "../world/mod.rs"]
mod world;
