//! Whole runs, from a plan to a record.

mod base_model;
mod engines;
mod links;
mod plans;
mod random_networks;
mod starvation;
mod timeline;
