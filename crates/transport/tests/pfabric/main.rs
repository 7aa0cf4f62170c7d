//! pFabric endpoints held to their papers: one endpoint against packets made by hand, and endpoints against each other
//! around a port that drops, tells, doubles and reorders.

mod impaired;
mod lone;
mod receiving;
mod sending;
#[allow(dead_code, reason = "other tests need more of it")]
#[path = "../world/mod.rs"]
mod world;
