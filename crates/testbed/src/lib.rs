//! Hosts and switches on one machine, in their own network namespaces, and the measurements of the papers' testbeds.
//!
//! Namespaces have no name and belong to the process: when it ends, even by a crash, the kernel removes them with their
//! interfaces. Root is not needed where users may create user namespaces. The crate needs Linux and `ip` of iproute2.
//!
//! # Begin with
//! - [`network::TestNetwork`]: hosts, each in its own namespace, on a [`Shape`](network::Shape): a cable, one switch,
//!   or the FatTree of NDP's testbed.
//! - [`namespace::Namespace`]: one network namespace. [`namespace::allowed`] says why the machine permits none.
//! - [`report::Report`]: numbers, lines and files of a figure, for the caller to judge.
//!
//! # In and out
//! [`network::TestNetwork::build`] makes namespaces, interfaces and addresses. [`network::TestNetwork::host`] opens an
//! NDP host on one of them, which the caller's thread drives. [`group::with_switches`] runs the switches in a thread of
//! their own while the caller drives the hosts ([`group::Group`]). The modules below do all this for one measurement
//! each:
//!
//! | module | measures |
//! |---|---|
//! | [`bulk`] | throughput of one flow (NDP Figures 11 and 12) |
//! | [`rpc`], [`contact`] | the time of a request and its answer (NDP Figure 8) |
//! | [`incast`] | answers of many hosts, and a short flow beside long ones (NDP Figures 9 and 10) |
//! | [`coexist`] | NDP and the kernel's TCP through one port (NDP 3.3) |
//! | [`hull`], [`fastlane`] | TCP with phantom queues, and with notifications of drops |
//!
//! [`figures`], [`hull_figures`], [`fastlane_figures`] and [`kernel_figures`] run the measurements of a figure and
//! return a report; [`steps::Steps`] tells their progress. `trimline testbed` calls them and judges the numbers.
//!
//! # Example
//! The configuration of the switches needs no privilege. The paper's testbed has six switches and eight hosts:
//!
//! ```
//! use trimline_stack::switch::{Config, Fabric};
//! use trimline_testbed::network::Shape;
//!
//! let text = Shape::FatTree.switches("rate = \"100Mbps\"");
//! let config = Config::parse(&text).unwrap();
//! assert_eq!((config.switch.len(), config.host.len()), (6, 8));
//! assert_eq!(Fabric::new(&config).unwrap().hosts(), 8);
//! ```
//!
//! A flow between two hosts on a cable, on a machine that allows namespaces:
//!
//! ```no_run
//! use std::time::Duration;
//! use trimline_packet::BitRate;
//! use trimline_testbed::bulk::{Flow, ndp};
//!
//! # fn main() -> std::io::Result<()> {
//! let rate = BitRate::from_gbps(10);
//! let flow = Flow { payload: 1400, initial_window: 30, rate, time: Duration::from_secs(1) };
//! println!("{:.2} Gb/s", ndp(flow)?.gbps());
//! # Ok(())
//! # }
//! ```
//!
//! # Read on
//! `docs/testbed.md` explains the commands and their numbers, and `docs/internals/stack.md` the hosts and switches.
#![deny(unsafe_code)]

pub mod awake;
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
pub mod steps;
mod sys;
mod tcp;
mod watch;
