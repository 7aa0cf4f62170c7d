//! One suite for every transport, by the function that makes its host.

mod hosts;
mod paused;
mod whole;
#[allow(dead_code, reason = "other tests need more of it")]
#[path = "../world/mod.rs"]
mod world;
