//! The simulator: virtual time, links, topology, routes, workloads and scenario files around the
//! ports of `trimline-switch` and the endpoints of `trimline-transport`.

mod arena;
pub mod distributions;
mod engine;
mod features;
mod flow;
mod flows;
pub mod formats;
mod gap;
mod keys;
mod links;
mod network;
mod offered;
pub mod pareto;
mod partition;
pub mod plan;
mod protocol;
mod queries;
pub mod random;
mod records;
mod run;
mod sampler;
pub mod scenario;
pub mod suites;
mod table;
pub mod topology;
pub mod transports;
mod workload;

pub use offered::{Offered, offered};
pub use partition::{Division, division};
pub use plan::{Progress, Resources, RunError};
pub use run::{run, run_on, run_with};
pub use workload::self_pairs;
