//! Suites that hold a transport to what every transport owes: for the tests of this crate, and for those of a
//! transport outside it.

mod every_profile;
mod pair;
pub mod plans;
mod random_networks;
mod variations;

pub use every_profile::every_profile;
pub use pair::Pair;
pub use random_networks::{Seen, case, lossless_networks, random_networks, seeds, unsettle};
pub use variations::take_time;
