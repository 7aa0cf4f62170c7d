//! An interpreter of the JSON that p4c 1.2 writes for bmv2, as far as the programs in `p4/` use it. It lets every test
//! run execute a compiled program, on machines with neither compiler nor switch.
//!
//! Facts about the format are from bmv2's `JSON_format.md` and `simple_switch.md`.

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

pub(crate) use draws::Draw;
pub(crate) use program::Program;
pub(crate) use switch::{Queued, Switch};
