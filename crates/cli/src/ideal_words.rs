//! Networks in which the ideal completion time is a bound, and not the minimum.

use trimline_packet::{ByteCount, TimeDelta};
use trimline_sim::plan::Plan;

/// By how much ideal times may be too short, in a sentence; none where they are the minimum.
pub(crate) fn ideal_bound(plan: &Plan) -> Vec<String> {
    let clos = &plan.topology;
    let is_sized = plan.workloads.iter().any(|workload| workload.size.mean_millibytes().is_some());
    if clos.ideal_times_are_exact() || !is_sized {
        return Vec::new();
    }
    let full = ByteCount::new(u64::from(plan.full_wire_bytes()));
    let links = [clos.host_link, clos.tor_link, clos.aggregation_link];
    let links = links.iter().take(usize::from(clos.tiers));
    let slowest = links.map(|link| link.transmission(full)).max().unwrap_or(TimeDelta::ZERO);
    vec![format!(
        "ideal times may be too short by up to {:.2} us, one full packet on the slowest link, and slowdowns too large",
        slowest.as_ps() as f64 / 1e6
    )]
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimline_sim::scenario::Scenario;

    fn said(links: &str) -> Vec<String> {
        let text = format!(
            "topology.fattree.k = 4\n{links}\n[[workload]]\nname = \"w\"\npermutation = {{}}\nsize = \"90KB\"\n"
        );
        let scenario = Scenario::parse("s", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
        ideal_bound(&scenario.runs[0].plan)
    }

    #[test]
    fn links_slower_than_those_of_hosts_are_said() {
        assert_eq!(said("links.tor.rate = \"40Gbps\""), [""; 0]);
        let slower = said("links.host.rate = \"40Gbps\"");
        assert!(slower.len() == 1 && slower[0].contains("up to 7.25 us, one full"), "{slower:?}");
    }
}
