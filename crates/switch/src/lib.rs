//! What a switch does with a packet when the queue it is for is short, long or full.
//!
//! One output port ([`Port`]) is five orthogonal choices ([`ServiceModel`]): queues, classifier,
//! marker, scheduler, overflow. Every scheme is a configuration of them, not a type of its own. A
//! port decides nothing that leaves by another port: packets that lose their place come back in
//! [`Displaced`] with a [`Fate`], and the switch around the port acts on it.
//!
//! Sans I/O: no clock, no random source. Time and chance are arguments, so that the simulator, the
//! software switch, P4 and RTL can be held to the same vectors. This crate knows no transport.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod model;

pub use model::ServiceModel;
