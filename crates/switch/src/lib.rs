//! What a switch does with a packet when the queue it is for is short, long or full.
//!
//! One output port ([`Port`]) is five orthogonal choices ([`ServiceModel`]): queues, classifier,
//! marker, scheduler, overflow. Every scheme is a configuration of them, not a type of its own. A
//! port decides nothing that leaves by another port: packets that lose their place come back in
//! [`DropList`] with a [`Disposition`], and the switch around the port acts on it.
//!
//! Sans I/O: no clock, no random source. Time and chance are arguments, so that the simulator, the
//! software switch, P4 and RTL can be held to the same vectors. This crate knows no transport.
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
