//! What a host's NIC and processors do between its transport and its wire (HULL 4.1): they delay packets, join them and
//! lose those that find no room, and change none.
//!
//! - [`Transmitter`]: the FIFO that all connections of the host share, filled in bursts (large send offload).
//! - [`Receiver`]: frames wait for an interrupt, which is put off ([`Interrupts`]), and then for a processor, which takes
//!   those of a flow that follow each other as one (generic receive offload).
//!
//! Both are state of one host, and hosts share checked settings. They know packets and no transport. A constant delay of
//! the host is none of theirs: it commutes with both, and drivers add it to the link's.

mod interrupts;
mod receiver;
mod transmitter;

#[cfg(test)]
mod tests;

pub use interrupts::{Adaptive, Interrupts};
pub use receiver::{
    Bypass, Delivered, Receiver, ReceiverCounters, ReceiverModel, ReceiverSettings,
};
pub use transmitter::{Transmitter, TransmitterCounters, TransmitterModel, TransmitterSettings};
