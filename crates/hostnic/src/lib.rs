//! A host between its transport and its wire.
//!
//! Each part is a plain state machine with the state of one host; hosts share checked settings. A driver passes packets
//! from the transport to the [`Transmitter`], from there to the [`Pacer`] and on to the link; arriving frames pass the
//! [`Receiver`]. Each part may be missing, and a driver that has none pays nothing. No part changes a packet.
//!
//! - [`Transmitter`]: the FIFO that all connections of the host share, filled in bursts (large send offload, HULL 4.1).
//! - [`Pacer`]: holds the packets of flows that cause congestion, and spaces them out (HULL 4.2, 5.1).
//! - [`Receiver`]: frames wait for an interrupt, which is moderated ([`Interrupts`]), and then for a processor, which takes
//!   consecutive frames of a flow as one (generic receive offload).
//!
//! This crate knows packets and neither transports nor switches. A constant delay of the host commutes with every part:
//! drivers add it to the delay of the link.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod associations;
mod flow_id;
mod interrupts;
mod limiter;
mod pacer;
mod pacer_settings;
mod rate;
mod receiver;
mod tokens;
mod transmitter;

pub use flow_id::FlowId;
pub use interrupts::{Adaptive, Interrupts};
pub use pacer::{Pacer, PacerCounters, Taken};
pub use pacer_settings::{Measured, PacerModel, PacerSettings};
pub use receiver::{
    Bypass, Delivered, Receiver, ReceiverCounters, ReceiverModel, ReceiverSettings,
};
pub use transmitter::{Transmitter, TransmitterCounters, TransmitterModel, TransmitterSettings};
