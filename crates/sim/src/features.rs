//! Mechanisms that a scenario may add to plain ports, links and hosts. A room for each holds its keys in a scenario
//! (`keys`), its state in a run (`state`) and what it does when packets move (`hooks`, methods of the network).
//!
//! The files of a room stand at different heights: `keys` below [`crate::scenario`], `state` below
//! [`crate::network`], `hooks` above it. So the order of modules counts each file here by itself.

pub(crate) mod detour;
pub(crate) mod nic;
pub(crate) mod pfc;
pub(crate) mod phantom_queue;
pub(crate) mod shared_buffer;
pub(crate) mod telemetry;
pub(crate) mod timeline;
