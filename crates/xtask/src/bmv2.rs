//! An interpreter of the JSON that the P4 compiler writes for bmv2, in the version that p4c 1.2 writes, as far as the
//! programs in `p4/` use it. It exists so that a compiled program is executed in every run of the tests, on machines
//! that have neither compiler nor switch.
//!
//! Facts about the format are those of bmv2's `JSON_format.md` and `simple_switch.md`.

mod action;
mod calculation;
mod control;
mod draws;
mod expression;
mod machine;
mod names;
mod node;
mod packet;
mod program;
mod switch;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use draws::NodeRng;
pub(crate) use program::Program;
pub(crate) use switch::{Queued, Switch};
