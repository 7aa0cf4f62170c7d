//! Whole runs, from a plan to a record.

mod base_model;
mod engines;
mod plans;
