//! Suites that check the duties of every transport, for the tests of this crate and of transports outside it.

mod every_profile;
mod pair;
pub mod plans;
mod random_networks;
mod variations;

pub use every_profile::every_profile;
pub use pair::Pair;
pub use random_networks::{Seen, case, change_links, lossless_networks, random_networks, seeds};
pub use variations::take_time;
