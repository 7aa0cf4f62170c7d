//! A transport of your own beside the built-in ones: TCP whose window does not grow.
//!
//!     cargo run -p trimline-sim --example fixed_window
//!
//! The transport has TCP's endpoint with keys, parameters and a name of its own; `trimline new transport NAME` writes
//! one with an endpoint of its own. Eight hosts send 1 MB each to one, through a queue of 100 packets. Windows of 2 and
//! 10 packets fit into it. A window of 40 does not, and packets are dropped. The last line:
//!
//!     window 40: p99 9563 us, 298 packets sent again

use std::ops::ControlFlow;

use trimline_metrics::Summary;
use trimline_sim::scenario::Scenario;
use trimline_sim::transports::{
    ConfigOf, Family, Form, Grammar, Group, Keys, Plan, Sample, ScenarioError, Setting, Traits,
    Transport, Transports, Work, fixed,
};
use trimline_transport::tcp;

#[derive(Clone, Copy, Debug)]
struct FixedWindow;

static GRAMMAR: Grammar = Grammar {
    about: "TCP whose window does not grow.",
    alternatives: &[],
    keys: &[fixed("window", Form::Integer(1, 1000), "10", "Max packets in flight of a flow.")],
};

impl Transport for FixedWindow {
    type Endpoint = tcp::Endpoint;

    fn name(self) -> &'static str {
        "fixed_window"
    }
    fn label(self) -> &'static str {
        "fixed window"
    }
    fn colour(self) -> &'static str {
        "#CC79A7"
    }
    fn about(self) -> &'static str {
        GRAMMAR.about
    }
    fn grammar(self) -> &'static Grammar {
        &GRAMMAR
    }
    fn traits(self) -> Traits {
        Family::Tcp.traits()
    }
    fn resolve(self, keys: &Keys<'_>, setting: &Setting<'_>) -> Result<tcp::Config, ScenarioError> {
        let window = keys.integer("window") as u16;
        // The receiver's window bounds the sender's.
        let tcp = Family::Tcp.config("timers = \"datacenter\"", setting.topology)?;
        Ok(tcp::Config { initial_window: window, receive_window: window, ..tcp })
    }
    fn payload_bytes(self, config: &ConfigOf<Self>) -> u16 {
        config.payload_bytes
    }
    fn describe(self, config: &ConfigOf<Self>) -> String {
        format!("fixed window: {} packets", config.initial_window)
    }
    fn work(self, config: &ConfigOf<Self>, plan: &Plan, group: &Group) -> Work {
        Family::Tcp.work(config, plan, group)
    }
    fn samples(self) -> &'static [Sample] {
        &[Sample { name: "fixed_window", keys: "window = 4", min_bytes: 1_000_000 }]
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = r#"
        topology.star.hosts = 9
        switch = { profile = "drop-tail", data_queue = "100pkt" }
        transport.fixed_window = {}
        workload = [{ name = "a", incast = { receiver = 0, senders = 8 }, size = "1MB" }]
        sweep = { "transport.fixed_window.window" = [2, 10, 40] }
    "#;
    let transports = Transports::built_in().with(&[&FixedWindow])?;
    for run in Scenario::parse_with("windows.toml", text, &[], &transports)?.runs {
        let record = trimline_sim::run(&run.plan, &mut |_| ControlFlow::Continue(()))?;
        let summary = Summary::new(&record);
        let fct = summary.fct_receiver_us.ok_or("no flow has ended")?;
        let resent = summary.retransmissions.nack + summary.retransmissions.timeout;
        println!("window {}: p99 {:.0} us, {resent} packets sent again", run.point[0].1, fct.p99);
    }
    Ok(())
}
