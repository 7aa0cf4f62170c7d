//! The second driver of ports and endpoints: real clocks, real frames.
//!
//! | module | contents |
//! |---|---|
//! | [`io`] | frames in and out in batches, behind one trait: in memory, over UDP, over a raw socket |
//! | [`host`] | an NDP host in the application's thread: connections, messages, streams |
//! | [`switch`] | switches in one process: the simulator's ports around frames |
//!
//! The endpoint and the port are the simulator's. This crate adds bytes, clocks, addresses and sockets, and does not
//! use the simulator; a test compares both packet by packet in one scenario. All system calls are in the `sys` modules.
#![deny(unsafe_code)]

pub mod clock;
pub mod host;
pub mod io;
pub mod switch;

mod random;
