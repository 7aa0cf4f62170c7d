//! Bumps on a link: what stands between a port or a host and its wire, sees every packet that goes by, and keeps none
//! or some (HULL, NSDI 2012).
//!
//! - A [`PhantomQueue`] keeps none: a counter in series with a port, which marks before a queue forms (2.1, 5.1).
//! - A [`Pacer`] keeps the packets of flows that cause congestion, and spaces them out (4.2, 5.1).
//!
//! Both are state, and many links share one checked configuration ([`PhantomModel`], [`PacerModel`]), as ports share a
//! service model. They combine with every port, transport and driver: a driver that has none pays nothing.

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
