//! What holds of every transport: one suite, which takes a transport by the function that makes a host of it.

mod hosts;
mod paused;
mod whole;
#[allow(dead_code, reason = "other tests need more of it")]
#[path = "../world/mod.rs"]
mod world;
