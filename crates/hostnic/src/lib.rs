//! A host between its transport and its wire: transmit queue, pacer, interrupts and processors.
//!
//! Each part is a plain state machine with the state of one host. Each part may be missing, and a driver without it
//! pays nothing. No part changes a packet. The crate knows packets. It knows no transport and no switch, and it has no
//! clock.
//!
//! # Begin with
//! - [`Pacer`]: holds the packets of flows that cause congestion, and spaces them out (HULL 4.2, 5.1).
//! - [`Transmitter`]: the FIFO that all connections of the host share, filled in bursts (large send offload, HULL 4.1).
//! - [`Receiver`]: frames wait for an interrupt, which is moderated ([`Interrupts`]), and then for a processor, which
//!   takes consecutive frames of a flow as one (generic receive offload).
//!
//! Each has settings ([`PacerSettings`], [`TransmitterSettings`], [`ReceiverSettings`]). Their `check` returns a model,
//! which hosts share, or the invalid setting. Published settings are constructors, such as [`PacerSettings::testbed`].
//!
//! # In and out
//! The driver passes packets from the transport to the transmitter, from there to the pacer and on to the link. It
//! passes arriving frames to the receiver, and what the receiver delivers to the transport. Every call has the time and
//! the model as arguments, and packets are handles into the driver's storage. Each type says in its contract which
//! method has the time of the next call. The simulator drives all parts in `crates/sim/src/features/nic/hooks.rs`.
//!
//! # Example
//! A frame interrupts the host at once. The processor takes 1 us for the interrupt and 2 us for the frame:
//!
//! ```
//! use trimline_hostnic::{Bypass, Interrupts, Receiver, ReceiverSettings};
//! use trimline_packet::testing::{Arena, packet};
//! use trimline_packet::{ByteCount, Service, Time, TimeDelta};
//!
//! let settings = ReceiverSettings {
//!     interrupts: Interrupts::EachFrame,
//!     ring: 512,
//!     round: 64,
//!     merge: ByteCount::ZERO,
//!     processors: 1,
//!     per_interrupt: TimeDelta::from_us(1),
//!     per_packet: TimeDelta::from_us(2),
//!     per_answer: TimeDelta::ZERO,
//!     bypass: Bypass::default(),
//! };
//! let model = settings.check().unwrap();
//! let (mut receiver, mut packets) = (Receiver::new(&model), Arena::default());
//!
//! let frame = packets.add(packet(Service::Trimmable, 1500, 0));
//! assert!(receiver.handle_frame(Time::ZERO, frame, &mut packets, &model));
//! assert!(receiver.poll_delivery(Time::ZERO, &mut packets, &model).is_none());
//! let due = receiver.poll_timeout(&model);
//! assert_eq!(due, Time::ZERO + TimeDelta::from_us(3));
//! let delivered = receiver.poll_delivery(due, &mut packets, &model).unwrap();
//! assert_eq!((delivered.packet, receiver.counters(due).interrupts), (frame, 1));
//! ```
//!
//! # Read on
//! A constant delay of the host commutes with every part: drivers add it to the delay of the link.
//! `docs/internals/phantom-queues-and-nic.md` explains the parts, their order, and what a second host model replaces.
//!
//! The crate is `no_std` with `alloc`, and has no features.
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
