//! Estimates a run before it starts: packet-hops, time on one core, memory. Accurate to a factor of 1.5 where the tests
//! and docs/performance-log.md check.

use std::collections::BTreeSet;
use trimline_metrics::flow_store;
use trimline_packet::TimeDelta;
use trimline_sim::plan::{
    Arrivals, Choose, Connection, EngineChoice, Gap, Group, ListedFlow, Matrix, Plan, Receivers,
    Watch, Workload,
};
use trimline_sim::topology::Clos;

/// Hosts, and nanoseconds per packet-hop: permutations on one core of a server (docs/performance-log.md). Memory beyond
/// the caches makes the difference.
const NANOSECONDS_PER_HOP: [(f64, f64); 8] = [
    (16.0, 49.0),
    (128.0, 49.0),
    (432.0, 55.0),
    (1024.0, 63.0),
    (3456.0, 98.0),
    (8192.0, 161.0),
    (27648.0, 240.0),
    (65536.0, 320.0),
];
/// Time ratio of the heap engine to the windows engine.
const HEAP_FACTOR: f64 = 4.0;

/// The cost of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Packet-hops: transmissions of a packet over a link.
    pub hops: f64,
    /// Seconds on one core.
    pub seconds: f64,
    /// Peak memory, in 10^6 bytes.
    pub megabytes: f64,
}

impl Estimate {
    /// Estimates the run of a plan.
    pub fn of(plan: &Plan) -> Estimate {
        let (mut hops, mut slow_hops, mut bytes) = (0.0, 0.0, 0.0);
        let (mut flows, mut alive, mut seen) = (0.0, 0.0, 0.0);
        for workload in &plan.workloads {
            for group in groups(plan, workload) {
                let work = plan.transport_of(workload).work(plan, &group);
                hops += work.hops;
                slow_hops += work.hops * work.slowness;
                bytes += work.bytes;
                flows += group.flows;
                alive += group.alive;
                if let Some(watch) = &plan.timeline {
                    seen += work.hops * share_of_flows(plan, workload, &group, watch);
                }
            }
        }
        let hosts = f64::from(plan.topology.hosts());
        let engine = if plan.engine == EngineChoice::Heap { HEAP_FACTOR } else { 1.0 };
        // Building the network, each host and its ports; the path lists of both sides of a flow.
        let set_up = hosts * 1.2e-6 + flows * paths(&plan.topology) * 11e-9;
        // Records in memory, and a number per flow for the summary's quantiles.
        let records = flows.min(flow_store::IN_MEMORY as f64) * 220.0 + flows * 8.0;
        bytes += 4.5e6 + hosts * 2500.0 + alive * bytes_per_flow(&plan.topology) + records;
        if let Some(watch) = &plan.timeline {
            bytes += recorded_hops(plan, watch, seen, hops) * 200.0;
        }
        Estimate {
            hops,
            seconds: slow_hops * nanoseconds_per_hop(hosts) * engine / 1e9 + set_up,
            megabytes: bytes / 1e6,
        }
    }
}

/// A size of memory in the unit that gives one to three digits: "50 GB".
pub fn human_bytes(megabytes: f64) -> String {
    match megabytes {
        megabytes if megabytes < 1000.0 => format!("{megabytes:.0} MB"),
        megabytes if megabytes < 10_000.0 => format!("{:.1} GB", megabytes / 1e3),
        megabytes if megabytes < 1_000_000.0 => format!("{:.0} GB", megabytes / 1e3),
        megabytes => format!("{:.0} TB", megabytes / 1e6),
    }
}

/// Share of a group's hops by watched flows: of listed flows their number, otherwise at most all hops of their sources.
fn share_of_flows(plan: &Plan, workload: &Workload, group: &Group, watch: &Watch) -> f64 {
    let watched: BTreeSet<u32> = watch.flows.iter().map(|flow| flow.0).collect();
    match &workload.matrix {
        Matrix::Listed(listed) => {
            let is_watched =
                |flow: &&ListedFlow| watch.flows.contains(&(flow.source, flow.destination));
            listed.flows.iter().filter(is_watched).count() as f64 / listed.flows.len() as f64
        }
        // The group does not say how many servers share the answers.
        Matrix::Responses => f64::from(u8::from(!watched.is_empty())),
        Matrix::Permutation
        | Matrix::Random { .. }
        | Matrix::RandomPairs { .. }
        | Matrix::AllToAll
        | Matrix::Outcast { .. }
        | Matrix::Incast { .. }
        | Matrix::RandomIncast { .. }
        | Matrix::Requests(_)
        | Matrix::Pairs(_) => {
            let rounds = rounds(plan, workload, seconds_of(plan, workload), group.packets);
            let hosts = plan.topology.hosts().into();
            let sources = (group.flows / rounds / group.out_of).clamp(1.0, hosts);
            (watched.len() as f64 / sources).min(1.0)
        }
    }
}

/// Hops that a timeline stores: of its flows, and for each place as many as fit its link, with a header per packet.
fn recorded_hops(plan: &Plan, watch: &Watch, of_flows: f64, all: f64) -> f64 {
    let time = |time: TimeDelta| time.as_ps() as f64 / 1e12;
    let Some(duration) = plan.duration.map(time) else {
        return if watch.places.is_empty() { of_flows } else { all };
    };
    let to = watch.to.map_or(duration, |to| time(to).min(duration));
    let seconds = (to - time(watch.from)).max(0.0);
    let clos = &plan.topology;
    let rates =
        [clos.host_link, clos.tor_link, clos.aggregation_link].map(|link| link.rate.as_bps());
    let fastest = rates.into_iter().max().unwrap_or_default() as f64;
    let packet_bits =
        |workload: &Workload| 8.0 * f64::from(plan.transport_of(workload).payload_bytes());
    let min = plan.workloads.iter().map(packet_bits).fold(f64::INFINITY, f64::min);
    let of_places = 2.0 * watch.places.len() as f64 * seconds * fastest / min;
    (of_flows * seconds / duration + of_places).min(all)
}

/// Interpolates between measured sizes by the logarithm of the hosts.
fn nanoseconds_per_hop(hosts: f64) -> f64 {
    let (first, last) =
        (NANOSECONDS_PER_HOP[0], NANOSECONDS_PER_HOP[NANOSECONDS_PER_HOP.len() - 1]);
    let hosts = hosts.clamp(first.0, last.0);
    let next = NANOSECONDS_PER_HOP.partition_point(|&(size, _)| size < hosts).max(1);
    let ((small, few), (large, many)) = (NANOSECONDS_PER_HOP[next - 1], NANOSECONDS_PER_HOP[next]);
    few + (many - few) * (hosts / small).ln() / (large / small).ln()
}

fn bytes_per_flow(clos: &Clos) -> f64 {
    3000.0 + 22.0 * paths(clos)
}

/// Number of paths between hosts of different pods.
fn paths(clos: &Clos) -> f64 {
    f64::from(clos.aggregations_per_pod.max(1) * clos.cores_per_aggregation.max(1))
}

fn seconds_of(plan: &Plan, workload: &Workload) -> f64 {
    plan.duration.map_or(f64::INFINITY, |duration| {
        duration.as_ps().saturating_sub(workload.start.as_ps()) as f64 / 1e12
    })
}

fn groups(plan: &Plan, workload: &Workload) -> Vec<Group> {
    let clos = &plan.topology;
    let hosts = clos.hosts();
    let all = f64::from(hosts);
    let payload = f64::from(plan.transport_of(workload).payload_bytes());
    let seconds = seconds_of(plan, workload);
    let bytes = workload.size.mean_millibytes().map(|size| size as f64 / 1000.0);
    let packets = bytes.map_or(f64::INFINITY, |bytes| (bytes / payload).ceil());
    // Consecutive flows do not overlap; together they have the whole time.
    let rounds = rounds(plan, workload, seconds, packets);
    let group = |flows: f64, into: f64, out_of: f64, links: f64| Group {
        flows: flows * rounds,
        alive: match workload.connection {
            Connection::New => flows * rounds.min(1.0 + remembered(plan) * rounds / seconds),
            Connection::Persistent => flows * rounds.min(partners(workload, hosts)),
            Connection::Pool(pool) => {
                flows * rounds.min(partners(workload, hosts) * f64::from(pool.each))
            }
        },
        packets,
        into,
        out_of,
        links,
        seconds: if rounds > 1.0 { f64::INFINITY } else { seconds },
    };
    let anywhere = mean_links(clos, 0, 1..hosts);
    let chosen = |one: u32, count: u32, choose: Choose| match choose {
        Choose::Last if one == 0 => mean_links(clos, one, hosts - count.min(hosts - 1)..hosts),
        _ => anywhere,
    };
    match &workload.matrix {
        Matrix::Permutation => vec![group(all, 1.0, 1.0, anywhere)],
        Matrix::Random { flows, excluding } => {
            let all = all - excluding.len() as f64;
            // The number of flows per receiver that has any.
            let flows = f64::from(*flows);
            let into = flows / (1.0 - (-flows).exp());
            vec![group(all * flows, into, flows, anywhere)]
        }
        Matrix::RandomPairs { total, not_source, not_destination, .. } => {
            let total = f64::from(*total);
            let each = |excluded: &[u32]| (total / (all - excluded.len() as f64)).max(1e-9);
            // The mean number per host that has any.
            let several = |mean: f64| mean / (1.0 - (-mean).exp());
            let (out_of, into) = (several(each(not_source)), several(each(not_destination)));
            vec![group(total, into, out_of, anywhere)]
        }
        Matrix::AllToAll => {
            vec![group(all * (all - 1.0), all - 1.0, all - 1.0, anywhere)]
        }
        Matrix::Outcast { sender, receivers, choose } => {
            let flows = f64::from(*receivers);
            vec![group(flows, 1.0, flows, chosen(*sender, *receivers, *choose))]
        }
        Matrix::Incast { receiver, senders, choose, .. } => {
            let flows = f64::from(*senders);
            vec![group(flows, flows, 1.0, chosen(*receiver, *senders, *choose))]
        }
        Matrix::RandomIncast { senders, receivers, .. } => {
            let flows = f64::from(*senders);
            let into = match receivers {
                Receivers::Any | Receivers::OneOf(_) => flows,
                Receivers::EachOneOf(set) => flows / set.len() as f64,
            };
            vec![group(flows, into, 1.0, anywhere)]
        }
        Matrix::Listed(listed) => {
            let sizes = listed.flows.iter().filter_map(|flow| flow.size);
            let (bytes, sized) = sizes
                .fold((0.0, 0.0), |(bytes, flows), size| (bytes + size.get() as f64, flows + 1.0));
            let endless = listed.flows.len() as f64 - sized;
            let packets = (bytes / f64::max(sized, 1.0) / payload).ceil();
            let of = |flows, packets| Group { packets, ..group(flows, 1.0, 1.0, anywhere) };
            let both = [of(sized, packets), of(endless, f64::INFINITY)];
            both.into_iter().filter(|group| group.flows > 0.0).collect()
        }
        Matrix::Requests(queries) => {
            let clients = f64::from(queries.client_count(clos.hosts()));
            let servers = queries.mean_servers_thousandths() as f64 / 1e3;
            vec![group(clients * servers, 1.0, servers, anywhere)]
        }
        // Equally many as the requests of the workload before.
        Matrix::Responses => {
            let before = plan.workloads.iter().position(|other| std::ptr::eq(other, workload));
            let asked = before.and_then(|place| plan.workloads.get(place.checked_sub(1)?));
            asked
                .map(|asked| groups(plan, asked))
                .unwrap_or_default()
                .into_iter()
                .map(|asked| Group { packets, into: asked.out_of, out_of: 1.0, ..asked })
                .collect()
        }
        Matrix::Pairs(pairs) => pairs
            .iter()
            .map(|&(from, to)| {
                let into = pairs.iter().filter(|pair| pair.1 == to).count() as f64;
                let out_of = pairs.iter().filter(|pair| pair.0 == from).count() as f64;
                group(1.0, into, out_of, mean_links(clos, from, to..to + 1))
            })
            .collect(),
    }
}

/// Max number of destinations of successive flows of a source.
fn partners(workload: &Workload, hosts: u32) -> f64 {
    match workload.matrix {
        Matrix::Random { .. }
        | Matrix::RandomIncast { .. }
        | Matrix::Incast { .. }
        | Matrix::Requests(_)
        | Matrix::Responses => f64::from(hosts - 1),
        Matrix::Permutation
        | Matrix::RandomPairs { .. }
        | Matrix::AllToAll
        | Matrix::Outcast { .. }
        | Matrix::Pairs(_)
        | Matrix::Listed(_) => 1.0,
    }
}

/// Seconds for which an ended flow is remembered.
fn remembered(plan: &Plan) -> f64 {
    let time_wait = plan.transports.iter().map(|chosen| chosen.time_wait()).max();
    let time_wait = time_wait.unwrap_or(TimeDelta::ZERO);
    // Flows are forgotten every 0.4 ms.
    time_wait.as_ps() as f64 / 1e12 + 0.4e-3
}

/// Number of successive flows of a connection.
fn rounds(plan: &Plan, workload: &Workload, seconds: f64, packets: f64) -> f64 {
    let (clos, transport) = (&plan.topology, plan.transport_of(workload));
    let (payload, framing) = (transport.payload_bytes(), transport.framing());
    let time = |time: TimeDelta| time.as_ps() as f64 / 1e12;
    let wire_bits = f64::from(framing.wire_bytes(payload)) * 8.0;
    let idle = packets * wire_bits / clos.host_link.rate.as_bps() as f64
        + time(clos.idle_round_trip(payload, framing));
    let rounds = match workload.arrivals {
        Arrivals::Once => return 1.0,
        Arrivals::Periodic { every, until } => {
            (time(until) - time(workload.start)).max(0.0) / time(every)
        }
        Arrivals::Poisson { mean, until } => {
            (time(until) - time(workload.start)).max(0.0) / time(mean)
        }
        Arrivals::ClosedLoop { count: Some(count), .. } => f64::from(count),
        Arrivals::ClosedLoop { gap: Gap::Fixed(gap) | Gap::Exponential(gap), .. } => {
            seconds / (time(gap) + idle)
        }
    };
    rounds.max(1.0)
}

/// Mean number of links between a host and the hosts of a range.
fn mean_links(clos: &Clos, one: u32, others: std::ops::Range<u32>) -> f64 {
    let count = others.len() as f64;
    clos.links_to(one, others) as f64 / count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;
    use std::ops::ControlFlow;

    fn check(text: &str) {
        let scenario = scenario(text);
        let plan = &scenario.runs[0].plan;
        let record = trimline_sim::run(plan, &mut |_| ControlFlow::Continue(())).unwrap();
        let estimate = Estimate::of(plan).hops / record.packet_hops as f64;
        assert!((0.67..1.5).contains(&estimate), "{estimate} of {} for {text}", record.packet_hops);
    }

    fn permutation(hosts: u32, window: u32) -> String {
        format!(
            "topology.fattree.hosts = {hosts}\nduration = \"2ms\"\ntransport.ndp.initial_window = {window}\n\
             [[workload]]\nname = \"p\"\npermutation = {{}}\nsize = \"long-lived\"\n"
        )
    }

    #[test]
    fn permutations_are_estimated() {
        for (hosts, window) in [(16, 30), (16, 3), (54, 12), (128, 30), (128, 6)] {
            check(&permutation(hosts, window));
        }
        check(&(permutation(54, 23) + "[switch]\nprofile = \"csg-htsim\"\n"));
    }

    /// Persistent connections are as many as pairs of hosts, also with drawn destinations.
    #[test]
    fn persistent_connections_are_counted_by_pairs() {
        let alive = |matrix: &str, connection: &str| {
            let text = format!(
                "duration = \"1s\"\ntopology.star.hosts = 10\n[[workload]]\nname = \"w\"\n{matrix}\nsize = \"9KB\"\n\
                 arrivals.poisson.every = \"10us\"\nconnection = \"{connection}\"\n"
            );
            let scenario = scenario(&text);
            let plan = &scenario.runs[0].plan;
            groups(plan, &plan.workloads[0]).iter().map(|group| group.alive).sum::<f64>()
        };
        assert_eq!(alive("permutation = {}", "persistent"), 10.0);
        assert_eq!(alive("random = {}", "persistent"), 90.0);
        // Each flow is remembered for a while.
        assert!(alive("permutation = {}", "new") > 1000.0);
    }

    /// A timeline stores only its flow, port or tenth of the time, not the whole run.
    #[test]
    fn timelines_are_estimated_by_the_events_they_watch() {
        let whole = |matrix: &str| {
            format!(
                "topology.fattree.hosts = 16\nduration = \"2ms\"\n[[workload]]\nname = \"w\"\n{matrix}\n\
                 [output]\ntimeline = "
            )
        };
        let matrices = [
            "size = \"long-lived\"\npermutation = {}",
            "size = \"long-lived\"\npayload = \"1000B\"\npermutation = {}",
            "size = \"long-lived\"\npairs = [[0, 9], [3, 2]]",
            "size = \"long-lived\"\nincast = { receiver = 9, senders = 15 }",
            "size = \"200KB\"\npartition_aggregate = { client = 0, servers = 2, request = \"2KB\" }\n\
             arrivals = { closed_loop = { gap = \"10us\" } }",
        ];
        let watches = [
            "{ flows = [[0, 9]] }",
            "{ flows = [[11, 0], [12, 0], [13, 0], [14, 0], [15, 0]] }",
            "{ flows = [[0, 9]], from = \"1ms\", to = \"1.2ms\" }",
            "{ places = [\"tor 0 down 0\", \"host 9\"] }",
        ];
        for (matrix, watch) in
            matrices.iter().flat_map(|matrix| watches.map(|watch| (matrix, watch)))
        {
            let text = whole(matrix) + watch;
            let scenario = scenario(&text);
            let mut plan = scenario.runs[0].plan.clone();
            let record = trimline_sim::run(&plan, &mut |_| ControlFlow::Continue(())).unwrap();
            let kept = std::mem::size_of_val(&*record.timeline.events);
            let with = Estimate::of(&plan).megabytes;
            plan.timeline = None;
            let all = Estimate::of(&plan).hops * 200.0;
            let ours = (with - Estimate::of(&plan).megabytes) * 1e6;
            assert!(ours >= kept as f64 * 0.7, "{ours} for {kept} in {text}");
            let share = if watch.contains("to = ") { 0.1 } else { 1.0 };
            assert!(ours <= all * share + 1.0, "{ours} of {all} in {text}");
            if matrix.ends_with("permutation = {}") && !watch.contains("[11, 0]") {
                assert!(ours <= all * 0.25, "{ours} of {all} in {text}");
            }
        }
    }

    #[test]
    fn incasts_are_estimated() {
        for (hosts, senders, size) in [(16, 1, "900KB"), (16, 15, "90KB"), (128, 60, "450KB")] {
            check(&format!(
                "topology.fattree.hosts = {hosts}\n[[workload]]\nname = \"i\"\nsize = \"{size}\"\n\
                 incast = {{ receiver = 0, senders = {senders} }}\n"
            ));
        }
    }

    #[test]
    fn other_matrices_are_estimated() {
        let workload = |matrix: &str, size: &str| {
            format!(
                "duration = \"2ms\"\ntopology.leafspine = {{ leaves = 4, spines = 4, hosts_per_leaf = 4 }}\n\
                 [[workload]]\nname = \"w\"\n{matrix}\nsize = \"{size}\"\n"
            )
        };
        check(&workload("random = { flows = 2 }", "long-lived"));
        check(&workload("all_to_all = {}", "long-lived"));
        check(&workload("outcast = { sender = 3, receivers = 9 }", "long-lived"));
        check(&workload("pairs = [[0, 1], [0, 5], [9, 5]]", "long-lived"));
    }

    #[test]
    fn constant_rates_are_estimated() {
        for (senders, profile) in [(1, "paper"), (30, "paper"), (30, "cut-payload")] {
            check(&format!(
                "duration = \"1ms\"\ntopology.star.hosts = 31\ntransport.cbr = {{}}\n\
                 switch.profile = \"{profile}\"\n[[workload]]\nname = \"c\"\nsize = \"long-lived\"\n\
                 incast = {{ receiver = 0, senders = {senders} }}\nstart_jitter = \"7us\"\n"
            ));
        }
    }

    #[test]
    fn the_estimate_of_the_authors_permutation_is_near_their_count() {
        let text =
            permutation(432, 23).replace("2ms", "20.1ms") + "[switch]\nprofile = \"htsim\"\n";
        let scenario = scenario(&text);
        let hops = Estimate::of(&scenario.runs[0].plan).hops;
        assert!((15e6..20e6).contains(&hops), "17.58 million, not {hops}");
    }

    #[test]
    fn estimated_time_and_memory_grow_with_the_network() {
        let of = |hosts| {
            let scenario = scenario(&permutation(hosts, 30));
            Estimate::of(&scenario.runs[0].plan)
        };
        let (small, large) = (of(128), of(8192));
        assert!((0.28..0.4).contains(&(small.seconds / small.hops * 6.5e6)), "{small:?}");
        // Measured: 5.6, 105 and 1935 MB.
        assert!((4.0..7.0).contains(&small.megabytes), "{small:?}");
        assert!((90.0..140.0).contains(&large.megabytes), "{large:?}");
        let largest = of(65536);
        assert!((1600.0..2300.0).contains(&largest.megabytes), "{largest:?}");
        assert_eq!(nanoseconds_per_hop(1.0), 49.0);
        assert_eq!(nanoseconds_per_hop(432.0), 55.0);
        assert_eq!(nanoseconds_per_hop(1e6), 320.0);
        assert!((55.0..63.0).contains(&nanoseconds_per_hop(600.0)));
    }
}
