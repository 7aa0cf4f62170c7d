//! An incast under three transports: a scenario text goes in, quantiles of completion times come out.
//!
//!     cargo run -p trimline-sim --example run_scenario
//!
//! Each of 32 hosts sends 64 KB to one at once, whose link needs 1.7 ms for all of it. NDP's slowest flow ends soon
//! after. TCP and DCTCP lose packets and wait for time-outs of 5 ms. The last line:
//!
//!     tcp: 32 of 32 flows, p50 7416 us, p99 7513 us, 0 trimmed

use std::ops::ControlFlow;

use trimline_metrics::Summary;
use trimline_sim::scenario::Scenario;

const SCENARIO: &str = r#"
    topology.star.hosts = 33

    [[workload]]
    name = "replies"
    incast = { receiver = 0, senders = 32 }
    size = "64KB"

    [[series]]
    name = "ndp"

    [[series]]
    name = "dctcp"
    transport.dctcp.timers = "datacenter"

    [[series]]
    name = "tcp"
    transport.tcp.timers = "datacenter"
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Settings lay over the text, as `--set` of the command does.
    let settings = ["links.rate=10Gbps".to_owned()];
    let scenario = Scenario::parse("incast.toml", SCENARIO, &settings)?;
    for run in &scenario.runs {
        let record = trimline_sim::run(&run.plan, &mut |_| ControlFlow::Continue(()))?;
        let summary = Summary::new(&record);
        let (flows, ports) = (&summary.flows, &summary.ports);
        let fct = summary.fct_receiver_us.ok_or("no flow has ended")?;
        println!(
            "{}: {} of {} flows, p50 {:.0} us, p99 {:.0} us, {} trimmed",
            run.plan.series, flows.completed, flows.total, fct.p50, fct.p99, ports.trimmed
        );
    }
    Ok(())
}
