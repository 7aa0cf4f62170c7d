//! Hosts and switches on one machine, in their own network namespaces.
//!
//! Namespaces have no name and belong to the process: when it ends, even by a crash, the kernel removes them with their
//! interfaces. Root is not needed where users may create user namespaces.
//!
//! [`network`] makes hosts, links and switches; [`bulk`], [`rpc`], [`incast`], [`coexist`], [`hull`] and [`fastlane`] each run
//! one measurement on them; the modules `*_figures` run the measurements of a figure and print its rows.
#![deny(unsafe_code)]

pub mod bulk;
pub mod coexist;
pub mod contact;
pub mod fastlane;
pub mod fastlane_figures;
pub mod figures;
pub mod forwarder;
pub mod group;
pub mod hull;
pub mod hull_figures;
pub mod incast;
pub mod kernel_figures;
pub mod namespace;
pub mod network;
pub mod report;
pub mod rpc;
mod sys;
mod tcp;
mod watch;
