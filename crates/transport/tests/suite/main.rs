//! One suite for every transport; a function that makes a host selects the transport.

mod hosts;
mod paused;
mod whole;
#[allow(dead_code, reason = "other tests need more of it")]
#[path = "../world/mod.rs"]
mod world;
