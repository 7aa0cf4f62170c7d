//! Whole runs, from a plan to a record.

mod applications;
mod base_model;
mod dcqcn;
mod deadlocks;
mod engines;
mod every_transport;
mod homa;
mod host_order;
mod hull;
mod kept;
mod links;
mod nics;
mod pauses;
mod plans;
mod pools;
mod processing;
mod qos;
mod random_networks;
mod series;
mod several;
mod shared_memory;
mod shares;
mod starvation;
mod threads;
mod timeline;
mod workloads;
