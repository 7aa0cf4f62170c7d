//! The second driver of ports and endpoints: real clocks, real frames.
//!
//! | module | what |
//! |---|---|
//! | [`io`] | frames in and out in batches, behind one trait: in memory, over UDP, over a raw socket |
//! | [`host`] | an NDP host in the application's thread: connections, messages, streams |
//! | [`switch`] | switches in one process: the simulator's ports around frames |
//!
//! The endpoint and the port are those of the simulator. This crate adds what they do not have: bytes,
//! clocks, addresses and sockets. It knows nothing of the simulator; a test runs one scenario on both and
//! compares packet by packet.
//!
//! System calls are in the `sys` modules and nowhere else.
#![deny(unsafe_code)]

pub mod clock;
pub mod host;
pub mod io;
pub mod switch;

mod random;
