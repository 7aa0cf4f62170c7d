//! Scenario files: what a user writes, checked, and resolved into plans.

pub mod plan;

pub use plan::Plan;
