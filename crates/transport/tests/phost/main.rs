//! pHost endpoints checked against their paper: one endpoint against handmade packets, and endpoints against each other
//! over links that lose, double and reorder.

mod impaired;
mod lone;
mod receiving;
mod sending;
#[allow(dead_code, reason = "other tests need more of it")]
#[path = "../world/mod.rs"]
mod world;
