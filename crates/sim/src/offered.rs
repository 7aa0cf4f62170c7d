//! The offered load of Poisson arrivals, in shares of the links' capacity.
//!
//! The links are those of the key `load`: of each source; of the receiver of incasts, or of all hosts if it is drawn;
//! of the clients for the answers to queries. Only payload counts.

use std::collections::BTreeSet;

use trimline_metrics::LoadRecord;
use trimline_packet::{BitRate, Time, TimeDelta};

use crate::plan::{Arrivals, Matrix, Plan, Queries, Servers, Workload};

/// The load that a Poisson workload offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// Mean payload over the capacity of the links, in billionths.
    pub billionths: u64,
    /// Number of links.
    pub links: u32,
    /// Rate of each link.
    pub rate: BitRate,
    /// Earliest arrival of a flow.
    pub from: TimeDelta,
    /// No flow arrives at this time or later.
    pub until: TimeDelta,
}

/// Returns the offered load of the workload at `place`. `None` without Poisson arrivals, and for requests of queries,
/// which their answers represent.
pub fn offered(plan: &Plan, place: usize) -> Option<Offered> {
    let workload = plan.workloads.get(place)?;
    let Arrivals::Poisson { mean, until } = workload.arrivals else { return None };
    let before = place.checked_sub(1).and_then(|place| plan.workloads.get(place));
    let Shape { processes, flows, links } = shape(workload, before, plan.topology.hosts())?;
    let rate = plan.topology.host_link.rate;
    let groups = before.and_then(|before| match &before.matrix {
        Matrix::Requests(queries) if workload.matrix == Matrix::Responses => queries.groups(),
        _ => None,
    });
    let millibytes = match groups {
        Some(groups) => groups.mean_millibytes(),
        None => workload.size.mean_millibytes()?,
    };
    let millibytes = u128::from(millibytes);
    // Bits a second are millibytes / 1000 * 8 / (picoseconds / 10^12); the result is in billionths of the rate.
    let above =
        (millibytes * u128::from(processes)).checked_mul(u128::from(flows) * 8_000_000_000)?;
    let below = u128::from(links) * u128::from(rate.as_bps()) * u128::from(mean.as_ps());
    let billionths = above.checked_mul(1_000_000_000)?.checked_div(below)?;
    let billionths = u64::try_from(billionths).ok()?;
    Some(Offered { billionths, links, rate, from: workload.start, until })
}

impl Offered {
    /// Payload that the links can carry during arrivals of a run until `end`, in bytes.
    fn capacity_bytes(&self, end: Time) -> u64 {
        let until = (Time::ZERO + self.until).min(end);
        let ps = until.saturating_since(Time::ZERO + self.from).as_ps();
        let bits = u128::from(self.rate.as_bps()) * u128::from(self.links) * u128::from(ps);
        u64::try_from(bits / 8_000_000_000_000).unwrap_or(u64::MAX)
    }
}

pub(crate) fn loads(plan: &Plan, end: Time) -> Vec<LoadRecord> {
    let of = |(place, workload): (usize, &Workload)| {
        let offered = offered(plan, place)?;
        Some(LoadRecord {
            workload: workload.name.as_str().into(),
            offered_billionths: offered.billionths,
            capacity_bytes: offered.capacity_bytes(end),
        })
    };
    plan.workloads.iter().enumerate().filter_map(of).collect()
}

struct Shape {
    processes: u32,
    /// Flows of each arrival.
    flows: u32,
    /// Links that carry them.
    links: u32,
}

fn shape(workload: &Workload, before: Option<&Workload>, hosts: u32) -> Option<Shape> {
    let of_sources = |sources: u32| Shape { processes: sources, flows: 1, links: sources };
    Some(match &workload.matrix {
        Matrix::Permutation | Matrix::AllToAll => of_sources(hosts),
        Matrix::Random { excluding, .. } => {
            of_sources(hosts.saturating_sub(excluding.len() as u32))
        }
        Matrix::Outcast { .. } => of_sources(1),
        Matrix::Incast { senders, .. } => Shape { processes: 1, flows: *senders, links: 1 },
        Matrix::RandomIncast { senders, receivers, excluding } => {
            Shape { processes: 1, flows: *senders, links: receivers.count(hosts, excluding) }
        }
        Matrix::Pairs(pairs) => {
            let sources: BTreeSet<u32> = pairs.iter().map(|pair| pair.0).collect();
            of_sources(sources.len() as u32)
        }
        Matrix::Responses => match &before?.matrix {
            Matrix::Requests(queries) => answers(queries, hosts),
            Matrix::Permutation
            | Matrix::Random { .. }
            | Matrix::RandomPairs { .. }
            | Matrix::AllToAll
            | Matrix::Outcast { .. }
            | Matrix::Incast { .. }
            | Matrix::RandomIncast { .. }
            | Matrix::Pairs(_)
            | Matrix::Listed(_)
            | Matrix::Responses => return None,
        },
        // The number of sending hosts is drawn.
        Matrix::RandomPairs { .. } | Matrix::Requests(_) | Matrix::Listed(_) => return None,
    })
}

fn answers(queries: &Queries, hosts: u32) -> Shape {
    let clients = queries.client_count(hosts);
    let flows = match queries.servers {
        Servers::Fixed(servers) => servers,
        // The mean is over all answers together.
        Servers::Groups(_) => 1,
    };
    Shape { processes: clients, flows, links: clients }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn of(workload: &str) -> Vec<Option<u64>> {
        let text = format!(
            "duration = \"10ms\"\ntopology.star.hosts = 10\n[[workload]]\nname = \"w\"\nstart = \"1ms\"\n\
             size = \"90KB\"\n{workload}\n"
        );
        let plan = Scenario::parse("s", &text, &[]).unwrap().runs.remove(0).plan;
        let all = (0..plan.workloads.len()).map(|place| offered(&plan, place));
        all.map(|offered| offered.map(|offered| offered.billionths)).collect()
    }

    /// The share equals the key `load`, for any matrix.
    #[test]
    fn the_offered_load_equals_the_key_load() {
        for matrix in [
            "permutation = {}",
            "random.flows = 3",
            "random = { excluding = [0, 4] }",
            "all_to_all = {}",
            "outcast = { sender = 1, receivers = 4 }",
            "incast = { receiver = 2, senders = 5 }",
            "incast = { receiver = \"random\", senders = 5 }",
            "pairs = [[0, 1], [0, 2], [3, 1]]",
        ] {
            let offered = of(&format!("{matrix}\narrivals.poisson.load = \"40%\""));
            let [Some(billionths)] = offered[..] else { panic!("{matrix}") };
            assert!(billionths.abs_diff(400_000_000) < 20, "{matrix}: {billionths}");
        }
        for matrix in ["{ servers = 3 }", "{ client = 4, servers = 1 }"] {
            let ask = format!("partition_aggregate = {matrix}\narrivals.poisson.load = \"40%\"");
            let offered = of(&ask);
            let [None, Some(billionths)] = offered[..] else { panic!("{matrix}: {offered:?}") };
            assert!(billionths.abs_diff(400_000_000) < 20, "{matrix}: {billionths}");
        }
        assert_eq!(of("permutation = {}\narrivals.periodic.every = \"1ms\""), [None]);
        assert_eq!(of("permutation = {}"), [None]);
    }

    /// A load of links between switches: the flows that cross them bring this share of their rate.
    #[test]
    fn the_load_of_switch_links_counts_the_flows_that_cross_them() {
        let offered_by = |topology: &str, matrix: &str, load: &str| {
            let text = format!(
                "duration = \"10ms\"\n[topology]\n{topology}\n[[workload]]\nname = \"w\"\n{matrix}\n\
                 size = \"90KB\"\narrivals.poisson.load = {load}\n"
            );
            let scenario = Scenario::parse("s", &text, &[]).map_err(|error| error.to_string())?;
            let plan = &scenario.runs[0].plan;
            let share = offered(plan, 0).unwrap().billionths as f64 / 1e9;
            let (clos, rate) = (&plan.topology, plan.topology.host_link.rate.as_bps() as f64);
            let hosts = f64::from(clos.hosts());
            let mut shares = vec![share];
            shares.extend(clos.shared_up_links().iter().map(|links| {
                let below = f64::from(links.hosts_below);
                let crossing = (hosts - below) / (hosts - 1.0);
                share * rate * below * crossing / links.bits_per_second as f64
            }));
            Ok::<_, String>(shares)
        };
        let narrow = "fattree = { k = 8, tiers = 2, oversubscription = 3 }";
        let wide = "fattree.k = 8";
        // Up-links twice as fast as the links of hosts, and fewer.
        let unequal = "leafspine = { leaves = 4, spines = 3, hosts_per_leaf = 10 }\n\
                       [links]\nrate = \"200Gbps\"\ntor.rate = \"400Gbps\"";
        let near = |a: f64| (a - 0.6).abs() < 1e-6;
        for (topology, of, place) in [
            (narrow, "hosts", 0),
            (narrow, "uplinks", 1),
            (narrow, "bottleneck", 1),
            (unequal, "uplinks", 1),
            (unequal, "bottleneck", 1),
            (wide, "uplinks", 1),
            (wide, "core", 2),
            (wide, "bottleneck", 0),
        ] {
            let load = format!("{{ of = \"{of}\", value = \"60%\" }}");
            for matrix in ["random = {}", "permutation = {}", "all_to_all = {}"] {
                let shares = offered_by(topology, matrix, &load).unwrap();
                assert!(near(shares[place]), "{topology} {of}: {shares:?}");
                let is_max = shares.iter().all(|&share| share < 0.6 + 1e-6);
                assert!(of != "bottleneck" || is_max, "{topology}: {shares:?}");
            }
        }
        let refused = |topology, matrix, of: &str| {
            let load = format!("{{ of = \"{of}\", value = \"60%\" }}");
            offered_by(topology, matrix, &load).unwrap_err()
        };
        assert!(refused(narrow, "random = {}", "core").contains("no flow crosses"));
        assert!(refused("star.hosts = 4", "random = {}", "uplinks").contains("no flow crosses"));
        let incast = refused(wide, "incast = { receiver = 0, senders = 4 }", "core");
        assert!(incast.contains("do not all send alike"), "{incast}");
        let hosts = "{ of = \"hosts\", value = \"60%\" }";
        assert!(near(
            offered_by(wide, "incast = { receiver = 0, senders = 4 }", hosts).unwrap()[0]
        ));
    }

    /// From the start of the workload to the end of arrivals or of the run.
    #[test]
    fn the_capacity_covers_the_time_of_arrivals() {
        let us = TimeDelta::from_us;
        let offered = Offered {
            billionths: 0,
            links: 4,
            rate: BitRate::from_gbps(10),
            from: us(100),
            until: us(300),
        };
        let bytes = |end| offered.capacity_bytes(Time::ZERO + us(end));
        assert_eq!(
            [bytes(50), bytes(200), bytes(300), bytes(900)],
            [0, 500_000, 1_000_000, 1_000_000]
        );
    }
}
