//! A host's NIC and processors, between transport and wire (HULL 4.1). They delay and merge packets, and drop those
//! without room; they never change one.
//!
//! - [`Transmitter`]: a FIFO shared by all connections of the host, filled in bursts (large send offload).
//! - [`Receiver`]: frames wait for a coalesced interrupt ([`Interrupts`]) and then for a processor, which merges
//!   consecutive frames of a flow (generic receive offload).
//!
//! Both are state of one host with shared, checked settings. They know packets and no transport. A constant host delay
//! commutes with both, so drivers add it to the link's.

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
