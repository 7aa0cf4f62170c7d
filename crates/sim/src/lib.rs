//! The simulator: virtual time, links, topology, routes, workloads and scenario files around the
//! ports of `trimline-switch` and the endpoints of `trimline-transport`.

pub mod scenario;
pub mod topology;
