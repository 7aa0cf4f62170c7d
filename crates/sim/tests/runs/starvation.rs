//! Pulls paced to a fast host link behind a slow network: the headers alone can fill the slow links.

use crate::plans::{fattree, incast, plan, run};
use trimline_metrics::FlowEnd;
use trimline_packet::{BitRate, TimeDelta};
use trimline_sim::topology::{Clos, LinkSpec};
use trimline_switch::ServiceModel;

/// Ten senders, hosts at 100 Gb/s, 3 Gb/s between switches. A switch that prefers headers sends no data as
/// long as the receiver pulls at the rate of its own link.
#[test]
fn headers_that_fill_a_slow_network_do_not_starve_data_for_ever() {
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
        let trimline_sim::plan::Transport::Ndp(config) = &mut plan.transport else {
            unreachable!("the plans of these tests are NDP's")
        };
        config.payload_bytes = 512;
        config.link_rate = BitRate::from_gbps(100);
        plan.switch = switch.clone();
        plan.duration = Some(TimeDelta::from_ms(10));
        let record = run(&plan);
        let completed = |flow: trimline_metrics::FlowRecord| flow.end == FlowEnd::Completed;
        assert!(record.flows.iter().all(completed), "{switch:?}: {:#?}", record.flows);
    }
}
