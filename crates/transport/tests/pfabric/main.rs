//! pFabric endpoints against their papers: one endpoint and handmade packets, or several around a port that drops,
//! notifies, doubles and reorders.

mod impaired;
mod lone;
mod receiving;
mod sending;
#[allow(dead_code, reason = "other tests need more of it")]
#[path = "../world/mod.rs"]
mod world;
