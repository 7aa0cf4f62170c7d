//! Pulls paced to a fast host link behind a slow network: headers alone can fill the slow links.

use crate::plans::{fattree, incast, ndp, plan, run};
use trimline_metrics::FlowEnd;
use trimline_packet::{BitRate, TimeDelta};
use trimline_sim::topology::{Clos, LinkSpec};
use trimline_sim::transports::{Ndp, Transport};
use trimline_switch::ServiceModel;
use trimline_transport::ndp::Config;

/// Ten senders, hosts at 100 Gb/s, 3 Gb/s between switches. While the receiver pulls at its link's rate, a switch that
/// prefers headers sends no data.
#[test]
fn headers_that_fill_a_slow_network_do_not_starve_data_forever() {
    let delay = TimeDelta::from_ns(100);
    let slow = LinkSpec::new(BitRate::from_gbps(3), delay);
    let clos = Clos {
        host_link: LinkSpec::new(BitRate::from_gbps(100), delay),
        tor_link: slow,
        aggregation_link: slow,
        ..fattree(4)
    };
    for switch in [
        ServiceModel::csg_htsim(2, 512),
        ServiceModel::p4(2, 512),
        ServiceModel::netfpga(),
        ServiceModel::paper(2, 512),
    ] {
        let mut plan = plan(clos.clone(), 8, vec![incast(10, 54_682)]);
        let link_rate = BitRate::from_gbps(100);
        plan.transports = vec![Ndp.with(Config { payload_bytes: 512, link_rate, ..ndp(8) })];
        plan.switch = switch.clone();
        plan.duration = Some(TimeDelta::from_ms(10));
        let record = run(&plan);
        let completed = |flow: trimline_metrics::FlowRecord| flow.end == FlowEnd::Completed;
        assert!(record.flows.iter().all(completed), "{switch:?}: {:#?}", record.flows);
    }
}
