//! NDP beside the kernel's own protocols, over one cable without offloads: a long flow beside TCP, a request beside an echo
//! of UDP.

use std::io;
use std::time::Duration;

use trimline_packet::BitRate;

use super::bulk::{self, Bulk, Flow};
use super::figures::us;
use super::network::{Shape, TestNetwork};
use super::report::Report;
use super::rpc::{self, Carrier};
use crate::host::Idle;

/// Time of each run of a long flow that is counted.
const TIME: Duration = Duration::from_millis(400);

/// Requests of each run.
const REQUESTS: u64 = 2000;

/// Long flows and requests of NDP, each judged by the run of the kernel's protocol just before it: the speed of a machine
/// that others use changes within seconds.
///
/// # Errors
/// The kernel refuses what the testbed needs.
pub fn kernel(rounds: u64) -> io::Result<Report> {
    let mut report = Report::default();
    report.line(&format!("{rounds} rounds, one after the other: median (min, max)"));
    for mtu in [9000u16, 1500] {
        let network = TestNetwork::build(Shape::BackToBack, mtu.into())?;
        network.set_offloads(false)?;
        let rate = BitRate::from_gbps(100);
        let flow = Flow { payload: mtu, initial_window: 60, rate, time: TIME, idle: Idle::Block };
        let pair = |_| Ok((bulk::tcp_over(&network, TIME)?, bulk::ndp_over(&network, flow)?));
        let pairs: Vec<(Bulk, Bulk)> = (0..rounds).map(pair).collect::<io::Result<_>>()?;
        let mut add = |label: &str, name: &str, value: &dyn Fn(&(Bulk, Bulk)) -> f64| {
            let (label, name) = (format!("MTU {mtu}: {label}"), format!("{name}_{mtu}"));
            report.rounds(&label, &name, pairs.iter().map(value));
        };
        add("TCP, Gb/s", "tcp_gbps", &|(tcp, _)| tcp.gbps());
        add("NDP, Gb/s", "ndp_gbps", &|(_, ndp)| ndp.gbps());
        add("NDP over TCP", "ndp_over_tcp", &|(tcp, ndp)| ndp.gbps() / tcp.gbps());
        add("TCP, processor s a GB", "tcp_s_per_gb", &|(tcp, _)| tcp.seconds_per_gb());
        add("NDP, processor s a GB", "ndp_s_per_gb", &|(_, ndp)| ndp.seconds_per_gb());
    }
    let network = TestNetwork::build(Shape::BackToBack, 1500)?;
    network.set_offloads(false)?;
    for (mode, polls) in [("polling", true), ("blocking", false)] {
        let time = |carrier| {
            rpc::measure_over(&network, carrier, polls, REQUESTS).map(|taken| us(&taken, 0.5))
        };
        let pair = |_| Ok((time(Carrier::Udp)?, time(Carrier::Ndp)?));
        let pairs: Vec<(f64, f64)> = (0..rounds).map(pair).collect::<io::Result<_>>()?;
        let mut add = |label: &str, name: &str, value: &dyn Fn(&(f64, f64)) -> f64| {
            let (label, name) = (format!("1 KB, {mode}: {label}"), format!("{name}_{mode}"));
            report.rounds(&label, &name, pairs.iter().map(value));
        };
        add("UDP echo, us", "udp_us", &|pair| pair.0);
        add("NDP request, us", "ndp_us", &|pair| pair.1);
        add("NDP over UDP", "ndp_over_udp", &|pair| pair.1 / pair.0);
    }
    Ok(report)
}
