//! Output ports of switches: they queue, mark, trim, drop and send packets.
//!
//! A scheme such as NDP, DCTCP or pFabric is a configuration of a port and not a type. The crate knows packets. It
//! knows no transport and no link, and it has no clock.
//!
//! # Begin with
//! - [`Choices`]: the five independent choices of a port: queues, classifier, marker, scheduler, overflow.
//!   [`Choices::build`] checks them and returns a [`ServiceModel`], which many ports share. [`profiles`] has named
//!   ones.
//! - [`Port`]: the state of one port.
//! - [`OutputPort`]: the calls of a driver, [`OutputPort::enqueue`] and [`OutputPort::dequeue`].
//!
//! # In and out
//! The driver is a switch: one of the simulator (`trimline-sim`), or the software switch (`trimline-stack`).
//! 1. A packet arrives. The driver routes it and calls `enqueue` with its handle and a [`PortContext`]: the time, the
//!    model, the storage of packets, shared memory ([`Pool`]), random numbers and a [`DropList`].
//! 2. The port queues the packet, perhaps marked or trimmed. Each packet that it does not keep goes to the drop list
//!    with a [`Disposition`]. The driver calls [`apply_dispositions`], which drops or bounces the packet, or notifies
//!    its sender, through [`SwitchActions`].
//! 3. When the wire is free and [`OutputPort::next_start`] has come, `dequeue` returns the packet to send.
//!
//! Equal calls have equal outcomes. The files of `vectors/switch` list calls and outcomes: this crate, the software
//! switch, the P4 programs and the SystemVerilog switch are tested with them.
//!
//! # Example
//! A port for two data packets trims the third one. Its header goes first, because the scheduler is strict:
//!
//! ```
//! use trimline_packet::SplitMix;
//! use trimline_packet::testing::{Arena, packet};
//! use trimline_packet::{Packets, Service, Time};
//! use trimline_switch::{DropList, OutputPort, Pool, Port, PortContext, ServiceModel};
//!
//! let model = ServiceModel::p4(2, 9000);
//! let mut port = Port::<2>::new();
//! let mut context = PortContext {
//!     now: Time::ZERO,
//!     model: &model,
//!     packets: &mut Arena::default(),
//!     pool: &mut Pool::none(),
//!     rng: &mut SplitMix(1),
//!     drop_list: &mut DropList::new(),
//! };
//! for sequence in 0..3 {
//!     let handle = context.packets.add(packet(Service::Trimmable, 9064, sequence));
//!     port.enqueue(handle, &mut context);
//! }
//! assert_eq!((context.drop_list.trimmed, context.drop_list.cut_bytes), (1, 9000));
//!
//! let mut left = Vec::new();
//! while let Some(handle) = port.dequeue(&mut context) {
//!     let packet = context.packets.packet(handle);
//!     left.push((packet.header.sequence, packet.wire_bytes));
//! }
//! assert_eq!(left, [(2, 64), (0, 9064), (1, 9064)]);
//! ```
//!
//! `cargo run -p trimline-switch --example trimming_port` prints the same with return-to-sender.
//!
//! # Read on
//! - [`visit_ports`] chooses the kind of port for a model: [`Drr`], [`PerPort`], [`RateLimited`], [`CodelPort`] and
//!   [`PriorityDrop`] add to [`Port`] what their models need.
//! - Beside ports: [`detour`], [`phantom`] queues and [`Ingress`] (priority flow control).
//! - `docs/internals/switch-port.md` explains ports; `detours.md`, `phantom-queues-and-nic.md` and
//!   `priority-flow-control.md` there explain the rest. `spec/deviations.toml` has the source of each profile's
//!   constants.
//!
//! The crate is `no_std` with `alloc`, and has no features.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[cfg(test)]
mod admission;
mod codel;
mod codel_port;
mod deficits;
mod describe;
pub mod detour;
mod dispositions;
mod drop_list;
mod drr;
mod held;
mod ingress;
mod kinds;
pub mod model;
#[cfg(test)]
mod oracle;
mod output_port;
mod per_port;
pub mod phantom;
mod pool;
mod port;
mod port_context;
mod priority_drop;
pub mod profiles;
mod rate_limited;
#[cfg(test)]
mod testing;

pub use codel_port::CodelPort;
pub use deficits::Deficits;
pub use detour::DetourModel;
pub use dispositions::{SwitchActions, apply_dispositions};
pub use drop_list::{Disposition, DropList};
pub use drr::{Drr, DrrModel};
pub use ingress::{Arrival, CLASSES, Ingress, PauseModel};
pub use kinds::{PortVisitor, visit_ports};
pub use model::{
    Action, Cap, Choices, Classifier, Demands, Limit, Marker, ModelError, Order, QueueChoices,
    Scheduler, ServiceModel, Signal, Surroundings,
};
pub use output_port::{OutputPort, PortModel, QueueView, Returning, Wrapper};
pub use per_port::{Models, PerPort};
pub use phantom::{PhantomModel, PhantomQueue, PhantomSettings};
pub use pool::{Alpha, Pool};
pub use port::Port;
pub use port_context::PortContext;
pub use priority_drop::PriorityDrop;
pub use rate_limited::RateLimited;
pub use trimline_packet::Rng;
