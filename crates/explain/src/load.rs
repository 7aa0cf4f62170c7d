//! Warnings before a run about more load than the network can carry: results would show only the overload.
//!
//! Clocked arrivals (Poisson, periodic) come even if the network does not keep up. Flows that wait for each other, or
//! start once, never overload it.

use trimline_sim::plan::{Arrivals, Matrix, Plan, Receivers, Workload};
use trimline_sim::topology::{Clos, UpLinks};

/// Load of a workload on links, in bit/s on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Demand {
    out_of: f64,
    into: f64,
    /// Out of every host, if all send alike: then also the load of up-links.
    everywhere: f64,
}

/// Warns of each overload.
pub(crate) fn overload(plan: &Plan) -> Vec<String> {
    let clos = &plan.topology;
    let rate = clos.host_link.rate.as_bps() as f64;
    let demands: Vec<(usize, Demand)> = plan
        .workloads
        .iter()
        .enumerate()
        .filter_map(|(place, workload)| Some((place, demand(plan, place, workload)?)))
        .collect();
    let mut said = Vec::new();
    for &(place, demand) in &demands {
        let share = demand.out_of.max(demand.into) / rate;
        if share > 1.0 {
            said.push(format!(
                "workload {} offers {:.0} % of the rate of a host link, headers included",
                plan.workloads[place].name,
                share * 100.0
            ));
        }
    }
    let everywhere: f64 = demands.iter().map(|(_, demand)| demand.everywhere).sum();
    if said.is_empty() && everywhere > rate {
        said.push(format!(
            "all workloads together offer {:.0} % of the rate of the host links, headers included",
            everywhere / rate * 100.0
        ));
    }
    said.extend(upwards(clos, everywhere));
    said
}

fn upwards(clos: &Clos, each: f64) -> Vec<String> {
    let hosts = f64::from(clos.hosts());
    let times = |links: &UpLinks| {
        let below = f64::from(links.hosts_below);
        below * each * (hosts - below) / (hosts - 1.0) / links.bits_per_second as f64
    };
    let asked = clos.shared_up_links().into_iter().map(|links| (links.switches, times(&links)));
    asked
        .filter(|(_, times)| *times > 1.0)
        .map(|(name, times)| {
            format!(
                "the offered load on the up-links of {name} switches is {times:.1} times their rate"
            )
        })
        .collect()
}

/// The load of a workload; `None` without clocked arrivals.
fn demand(plan: &Plan, place: usize, workload: &Workload) -> Option<Demand> {
    let (gap, is_clocked_each) = match workload.arrivals {
        Arrivals::Poisson { mean, .. } => (mean, false),
        Arrivals::Periodic { every, .. } => (every, true),
        Arrivals::Once | Arrivals::ClosedLoop { .. } => return None,
    };
    let chosen = plan.transport_of(workload);
    let payload = f64::from(chosen.payload_bytes().max(1));
    let on_wire = f64::from(chosen.full_wire_bytes()) / payload;
    let bits = workload.size.mean_millibytes()? as f64 / 1000.0 * 8.0 * on_wire;
    let one = bits / (gap.as_ps().max(1) as f64 / 1e12);
    // A periodic flow repeats on every pair; a Poisson process belongs to its source.
    let times = |pairs: f64| if is_clocked_each { pairs } else { 1.0 };
    let hosts = f64::from(plan.topology.hosts());
    let all = |rate: f64| Demand { out_of: rate, into: rate, everywhere: rate };
    Some(match &workload.matrix {
        Matrix::Permutation => all(one),
        Matrix::Random { flows, .. } => all(one * times(f64::from(*flows))),
        Matrix::RandomPairs { total, not_source, not_destination, .. } => {
            let mean = |excluded: &[u32]| f64::from(*total) / (hosts - excluded.len() as f64);
            let (out_of, into) =
                (one * times(mean(not_source)), one * times(mean(not_destination)));
            Demand { out_of, into, everywhere: out_of }
        }
        Matrix::AllToAll => all(one * times(hosts - 1.0)),
        Matrix::Incast { senders, .. } => {
            Demand { into: one * f64::from(*senders), out_of: one, everywhere: 0.0 }
        }
        Matrix::RandomIncast { senders, receivers: receivers @ Receivers::Any, excluding } => {
            let members = receivers.count(plan.topology.hosts(), excluding);
            all(one * f64::from(*senders) / f64::from(members))
        }
        Matrix::RandomIncast { senders, receivers, excluding } => {
            let to = f64::from(receivers.count(plan.topology.hosts(), excluding));
            let from = (hosts - to - excluding.len() as f64).max(1.0);
            let flows = one * f64::from(*senders);
            Demand { into: flows / to, out_of: flows / from, everywhere: 0.0 }
        }
        Matrix::Outcast { receivers, .. } => {
            Demand { out_of: one * times(f64::from(*receivers)), ..Demand::default() }
        }
        Matrix::Pairs(pairs) => of_pairs(pairs, one, is_clocked_each),
        Matrix::Listed(_) | Matrix::Requests(_) => return None,
        Matrix::Responses => {
            let Matrix::Requests(asked) = &plan.workloads.get(place.checked_sub(1)?)?.matrix else {
                return None;
            };
            let into = one * (asked.mean_servers_thousandths() as f64 / 1e3);
            match asked.clients {
                Some(_) => Demand { into, ..Demand::default() },
                None => all(into),
            }
        }
    })
}

fn of_pairs(pairs: &[(u32, u32)], one: f64, is_clocked_each: bool) -> Demand {
    let mut senders: Vec<u32> = pairs.iter().map(|pair| pair.0).collect();
    let mut receivers: Vec<u32> = pairs.iter().map(|pair| pair.1).collect();
    let out_of = if is_clocked_each { max(&mut senders) } else { 1.0 };
    let into = if is_clocked_each { max(&mut receivers) } else { 0.0 };
    Demand { out_of: one * out_of, into: one * into, everywhere: 0.0 }
}

/// Count of the most frequent host.
fn max(hosts: &mut [u32]) -> f64 {
    hosts.sort_unstable();
    hosts.chunk_by(|a, b| a == b).map(<[u32]>::len).max().unwrap_or(0) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    fn said(text: &str) -> Vec<String> {
        let text = format!("duration = \"1ms\"\n{text}");
        let scenario = scenario(&text);
        overload(&scenario.runs[0].plan)
    }

    fn by_load(topology: &str, load: &str) -> Vec<String> {
        said(&format!(
            "{topology}\n[[workload]]\nname = \"w\"\nrandom = {{}}\nsize = \"90KB\"\n\
             arrivals.poisson.load = \"{load}\"\n"
        ))
    }

    #[test]
    fn a_load_beyond_the_host_links_is_warned_of() {
        let star = "topology.star.hosts = 8";
        assert_eq!(by_load(star, "60%"), [""; 0]);
        let twice = by_load(star, "200%");
        assert!(twice.len() == 1 && twice[0].contains("workload w offers 201 %"), "{twice:?}");
        // Two workloads that fit alone.
        let both = ["a", "b"].map(|name| {
            format!(
                "[[workload]]\nname = \"{name}\"\npermutation = {{}}\nsize = \"90KB\"\n\
                 arrivals.poisson.load = \"60%\"\n"
            )
        });
        let both = said(&format!("{star}\n{}", both.concat()));
        assert!(both.len() == 1 && both[0].contains("together offer 121 %"), "{both:?}");
    }

    #[test]
    fn a_load_beyond_shared_up_links_is_warned_of() {
        let shape = "topology.fattree = { k = 8, tiers = 2, oversubscription = 3 }";
        assert_eq!(by_load(shape, "30%"), [""; 0]);
        let over = by_load(shape, "60%");
        assert!(over.len() == 1, "{over:?}");
        assert!(over[0].contains("ToR switches is 1.6 times their rate"), "{over:?}");
    }

    #[test]
    fn the_load_counts_incasts_answers_and_pairs_and_no_closed_loops() {
        let star = "topology.star.hosts = 9\n[[workload]]\nname = \"w\"\nsize = \"90KB\"\n";
        let of = |rest: &str| said(&format!("{star}{rest}"));
        let often = "arrivals.periodic.every = \"100us\"";
        // 90 KB in 100 us are 7.2 Gb/s.
        assert!(of(&format!("pairs = [[0, 1], [2, 3]]\n{often}")).is_empty());
        assert!(of(&format!("pairs = [[0, 1], [2, 1]]\n{often}"))[0].contains("145 %"));
        let incast = of(&format!("incast = {{ receiver = 0, senders = 8 }}\n{often}"));
        assert!(incast[0].contains("580 %"), "{incast:?}");
        let asked = "partition_aggregate = { client = 0, servers = 8 }";
        assert!(of(&format!("{asked}\n{often}"))[0].contains("580 %"));
        assert!(of(&format!("{asked}\narrivals.closed_loop.gap = \"1us\"")).is_empty());
        assert!(of("incast = { receiver = 0, senders = 8 }").is_empty());
    }
}
