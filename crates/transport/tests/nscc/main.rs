//! NSCC and RCCC endpoints: one with handmade packets, or several over links that lose, double and reorder.

mod credit;
mod impaired;
mod lone;
mod receiving;
mod sending;
#[allow(dead_code, reason = "other tests need more of it")]
#[path = "../world/mod.rs"]
mod world;
