//! Bumps on a link: devices between a port or host and its wire that see every packet (HULL, NSDI 2012).
//!
//! - A [`PhantomQueue`] keeps no packet: a counter in series with a port, which marks before a queue forms (2.1, 5.1).
//! - A [`Pacer`] delays and spaces out the packets of flows that cause congestion (4.2, 5.1).
//!
//! Links share checked configurations ([`PhantomModel`], [`PacerModel`]), as ports share a service model. They combine
//! with every port, transport and driver. A driver without them pays nothing.

mod associations;
mod clock;
mod flow_id;
mod limiter;
mod pacer;
mod pacer_settings;
mod phantom;
mod rate;
mod tokens;
mod volume;

#[cfg(test)]
mod tests;

pub use crate::setting::SettingFault;
pub use clock::Clock;
pub use flow_id::FlowId;
pub use pacer::{Pacer, PacerCounters, Taken};
pub use pacer_settings::{Measured, PacerModel, PacerSettings};
pub use phantom::{PhantomModel, PhantomQueue, PhantomSettings};
