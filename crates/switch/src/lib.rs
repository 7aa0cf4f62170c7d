//! Output ports of switches: they queue, trim, mark, drop and send packets.
//!
//! A [`Port`] combines five orthogonal choices ([`ServiceModel`]): queues, classifier, marker, scheduler, overflow.
//! Each scheme is a configuration, not a type. A port never acts on another port: packets that it does not keep go to
//! [`DropList`] with a [`Disposition`] for the switch.
//!
//! Sans I/O: time and random numbers are arguments, so that the simulator, the software switch, P4 and RTL can be
//! tested with the same vectors. The crate knows no transport.
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
