//! Networks that tests of other modules use too, and properties of all networks.

use super::*;

pub(crate) use crate::suites::plans::{TEN_GIG, fattree};

pub(crate) fn leaf_spine() -> Clos {
    Clos {
        tiers: 2,
        pods: 1,
        tors_per_pod: 5,
        hosts_per_tor: 3,
        aggregations_per_pod: 4,
        cores_per_aggregation: 0,
        ..fattree(4)
    }
}

pub(crate) fn star() -> Clos {
    Clos {
        tiers: 1,
        pods: 1,
        tors_per_pod: 1,
        hosts_per_tor: 6,
        aggregations_per_pod: 0,
        cores_per_aggregation: 0,
        ..fattree(4)
    }
}

pub(crate) fn back_to_back() -> Clos {
    Clos { tiers: 0, hosts_per_tor: 1, tors_per_pod: 2, pods: 1, ..star() }
}

/// The tree of HULL's large simulation (NSDI 2012, 6.3).
fn hull() -> Clos {
    let counts = Clos { pods: 8, tors_per_pod: 4, hosts_per_tor: 6, ..fattree(4) };
    Clos { aggregations_per_pod: 2, cores_per_aggregation: 4, ..counts }
}

/// Follows a packet from a node's link until it enters a host. Returns the host and the number of links crossed.
fn follow(routes: &Routes, node: u32, to: HostId, path: PathId) -> (u32, usize) {
    let mut node = node;
    for links in 1..10 {
        node = routes.next_node(routes.link(node).far_end, to, path, |ups| ups - 1);
        if node >= routes.ports() {
            return (node - routes.ports(), links);
        }
    }
    panic!("the packet circles");
}

#[test]
fn every_path_is_a_shortest_path_to_its_destination() {
    for clos in [fattree(4), fattree(6), hull(), leaf_spine(), star(), back_to_back()] {
        let routes = Routes::new(&clos);
        for source in (0..clos.hosts()).step_by(1 + clos.hosts() as usize / 64) {
            for destination in (0..clos.hosts()).filter(|&host| host != source) {
                let (from, to) = (HostId::new(source), HostId::new(destination));
                let mut paths = PathList::new();
                routes.paths(from, to, &mut paths);
                assert!(!paths.is_empty());
                paths.push(ANY_PATH);
                let shortest = clos.links_between(from, to).len();
                for path in paths {
                    let found = follow(&routes, routes.first_host + source, to, path);
                    assert_eq!(found, (destination, shortest), "{clos:?} {source} {path:?}");
                }
            }
        }
    }
}

/// Network with different numbers for every tier and every part.
pub(crate) fn with_processing(clos: Clos) -> Clos {
    let ns = TimeDelta::from_ns;
    let host = |min| HostDelay { min: ns(min), spread: ns(9_000_000) };
    let link =
        |ns, framing_bytes| LinkSpec { delay: TimeDelta::from_ns(ns), framing_bytes, ..TEN_GIG };
    Clos {
        host_link: link(1, 10),
        tor_link: link(20, 11),
        aggregation_link: link(300, 12),
        processing: Processing {
            host_send: host(4_000),
            host_receive: host(50_000),
            switch: [ns(600_000), ns(7_000_000), ns(80_000_000)],
        },
        ..clos
    }
}

/// Packets cross the links by which idle times are computed: one place adds the delays of each.
#[test]
fn the_links_of_a_path_match_those_that_packets_cross() {
    for clos in [fattree(4), leaf_spine(), star(), back_to_back()].map(with_processing) {
        let routes = Routes::new(&clos);
        for source in 0..clos.hosts() {
            for destination in (0..clos.hosts()).filter(|&host| host != source) {
                let (from, to) = (HostId::new(source), HostId::new(destination));
                let mut paths = PathList::new();
                routes.paths(from, to, &mut paths);
                let mut node = routes.first_host + source;
                let mut crossed = Vec::new();
                while crossed.is_empty() || node < routes.first_host {
                    let link = routes.link(node);
                    crossed.push(link.spec);
                    node = routes.next_node(link.far_end, to, paths[0], |_| 0);
                }
                assert_eq!(
                    crossed[..],
                    clos.links_between(from, to)[..],
                    "{source} to {destination}"
                );
            }
        }
    }
    // By hand: up through a ToR, an aggregation switch and a core, and down again.
    let clos = with_processing(fattree(4));
    let way = clos.links_between(HostId::new(0), HostId::new(15));
    let delays: Vec<u64> = way.iter().map(|link| link.delay.as_ps() / 1000).collect();
    assert_eq!(delays, [604_001, 7_000_020, 80_000_300, 7_000_300, 600_020, 50_001]);
    let framing: Vec<u16> = way.iter().map(|link| link.framing_bytes).collect();
    assert_eq!(framing, [10, 11, 12, 12, 11, 10]);
}

#[test]
fn a_packet_reaches_its_destination_from_any_switch() {
    for clos in [fattree(4), leaf_spine(), star()] {
        let routes = Routes::new(&clos);
        for port in 0..routes.ports() {
            for destination in 0..clos.hosts() {
                for path in [0, 1, 3, 7, 15, 1000] {
                    let (to, path) = (HostId::new(destination), PathId::new(path));
                    let next = routes.next_port(routes.switch_of(port), to, path, |_| 0);
                    assert_eq!(follow(&routes, next, to, path).0, destination);
                }
            }
        }
    }
}

#[test]
fn distinct_paths_use_distinct_cores() {
    let clos = fattree(6);
    let routes = Routes::new(&clos);
    let mut paths = PathList::new();
    routes.paths(HostId::new(0), HostId::new(53), &mut paths);
    let mut used: Vec<Vec<u32>> = paths
        .iter()
        .map(|&path| {
            let to = HostId::new(53);
            let mut node = routes.first_host;
            let mut ports = Vec::new();
            for _ in 0..6 {
                node = routes.next_node(routes.link(node).far_end, to, path, |_| 0);
                ports.push(node);
            }
            ports
        })
        .collect();
    used.sort();
    used.dedup();
    assert_eq!(used.len(), 9);
}

#[test]
fn a_432_host_fattree_has_the_expected_switches_and_ports() {
    let routes = Routes::new(&fattree(12));
    assert_eq!((routes.switches(), routes.ports(), routes.hosts()), (180, 2160, 432));
    let names: Vec<_> = [0, 6, 72 * 12, 72 * 12 + 6, 144 * 12].map(|p| routes.port_name(p)).into();
    assert_eq!(
        names,
        [
            "tor 0 down 0",
            "tor 0 up 0",
            "aggregation 0 down 0",
            "aggregation 0 up 0",
            "core 0 down 0"
        ]
    );
}

/// HULL 6.3: 56 switches of 8 ports, 192 servers. Servers that offer 15 % of their links to all others load the links
/// between ToRs and aggregation switches by 43.8 %, and those to the cores by 39.6 %.
#[test]
fn the_tree_of_hull_has_the_switches_and_loads_of_its_paper() {
    let clos = hull();
    let routes = Routes::new(&clos);
    assert_eq!((routes.switches(), routes.ports(), routes.hosts()), (56, 56 * 8, 192));
    assert_eq!(clos.min_switch_ports(), 8);
    let mut crossed = [0u32; 2];
    let one = HostId::new(0);
    for other in 1..clos.hosts() {
        let links = clos.links_between(one, HostId::new(other)).len();
        crossed[0] += u32::from(links >= 4);
        crossed[1] += u32::from(links == 6);
    }
    let share = |count: u32, links: u32| {
        0.15 * f64::from(clos.hosts() * count) / f64::from(clos.hosts() - 1) / f64::from(links)
    };
    let up_links = [clos.pods * clos.tors_per_pod * 2, clos.pods * 2 * 4];
    assert!((share(crossed[0], up_links[0]) - 0.438).abs() < 0.000_5);
    assert!((share(crossed[1], up_links[1]) - 0.396).abs() < 0.000_5);
}

#[test]
fn the_ideal_completion_matches_the_base_model() {
    let clos = fattree(4);
    let wire = ByteCount::new(9064);
    let ideal = |packets: u64| {
        clos.ideal_completion(HostId::new(0), HostId::new(15), packets - 1, wire, wire).as_ps()
    };
    assert_eq!(ideal(30), 259_792_000);
    assert_eq!(ideal(50), 404_816_000);
    assert_eq!(ideal(1), 49_507_200);
    // A short packet takes its time on the last link too: by another path it arrives among the full ones.
    let short = |destination, full_packets| {
        let (to, last) = (HostId::new(destination), ByteCount::new(100));
        clos.ideal_completion(HostId::new(0), to, full_packets, wire, last).as_ps()
    };
    assert_eq!(short(15, 29), ideal(29) + 80_000);
    let below = clos.ideal_completion(HostId::new(0), HostId::new(1), 28, wire, wire).as_ps();
    // 29 full packets on the first of two links, the last one on the second too; 1 us each way.
    assert_eq!(below, 30 * 7_251_200 + 2_000_000);
    assert_eq!(short(1, 29), below + 80_000);
    // Behind four full ones it has crossed the last link before the first full one arrives there.
    assert_eq!([short(15, 4), short(15, 5)], [ideal(4), ideal(5) + 80_000]);
    // 50 KB: five packets of 9000 B and one of 5000 B.
    let last = ByteCount::new(5064);
    let of_50_kb = clos.ideal_completion(HostId::new(0), HostId::new(15), 5, wire, last);
    assert_eq!(of_50_kb.as_ps(), ideal(5) + 4_051_200);
}

/// Arrival time of the last packet, if each link takes packets in order of arrival. A packet is its bytes on the wire
/// and its path: an up-link of the ToR and one of the aggregation switch.
fn last_arrival(way: &[LinkSpec], packets: &[(u64, [u64; 2])]) -> TimeDelta {
    let mut at = vec![TimeDelta::ZERO; packets.len()];
    for (place, link) in way.iter().enumerate() {
        let tier = place.min(way.len() - 1 - place);
        let mut order: Vec<usize> = (0..packets.len()).collect();
        order.sort_by_key(|&packet| at[packet]);
        let mut free = std::collections::BTreeMap::new();
        for packet in order {
            let (bytes, path) = &packets[packet];
            let free = free.entry(&path[..tier]).or_insert(TimeDelta::ZERO);
            *free = at[packet].max(*free) + link.transmission(ByteCount::new(*bytes));
            at[packet] = *free + link.delay;
        }
    }
    at.into_iter().max().expect("a packet")
}

/// Minimum over all paths of each packet, and all places of the short one among the full ones.
fn found_minimum(clos: &Clos, full_packets: usize, full: u64, last: u64) -> TimeDelta {
    let way = clos.links_between(HostId::new(0), HostId::new(clos.hosts() - 1));
    let [tor, aggregation] =
        [clos.aggregations_per_pod, clos.cores_per_aggregation.max(1)].map(u64::from);
    let paths = tor * aggregation;
    let mut found = None;
    // All paths are alike: the first packet takes the first path.
    for choice in 0..paths.pow(full_packets as u32) {
        for place in 0..=full_packets {
            let mut rest = choice * paths;
            let packets: Vec<(u64, [u64; 2])> = (0..=full_packets)
                .map(|packet| {
                    let path = rest % paths;
                    rest /= paths;
                    (if packet == place { last } else { full }, [path % tor, path / tor])
                })
                .collect();
            let took = last_arrival(&way, &packets);
            found = Some(found.map_or(took, |found: TimeDelta| found.min(took)));
        }
    }
    found.expect("a path")
}

/// Follows packets over every path between the farthest hosts of random networks with links of any rates.
#[test]
fn an_ideal_time_is_the_minimum_over_all_paths() {
    let mut draws = trimline_packet::SplitMix(12);
    let (mut exact, mut shared, mut below) = (0, 0, 0);
    for case in 0..300 {
        let tiers = draws.one_of(&[2, 3]);
        let mut link = || LinkSpec {
            rate: trimline_packet::BitRate::from_gbps(draws.one_of(&[10, 25, 40])),
            delay: TimeDelta::from_ps(draws.modulo(2_000_000)),
            ..TEN_GIG
        };
        let (host_link, tor_link, aggregation_link) = (link(), link(), link());
        let counts = Clos { host_link, tor_link, aggregation_link, ..fattree(2) };
        let clos = Clos {
            tiers,
            pods: if tiers == 3 { 2 } else { 1 },
            tors_per_pod: 2,
            aggregations_per_pod: 1 + draws.modulo(3) as u32,
            cores_per_aggregation: if tiers == 3 { 1 + draws.modulo(2) as u32 } else { 0 },
            ..counts
        };
        let full_packets = draws.modulo(5);
        let short = 1 + draws.modulo(9_000);
        let last = 64 + draws.one_of(&[9_000, short]);
        let (from, to) = (HostId::new(0), HostId::new(clos.hosts() - 1));
        let (full_wire, last_wire) = (ByteCount::new(9_064), ByteCount::new(last));
        let ideal = clos.ideal_completion(from, to, full_packets, full_wire, last_wire);
        let found = found_minimum(&clos, full_packets as usize, 9_064, last);
        assert!(ideal <= found, "case {case}: {ideal} > {found}: {full_packets} {last} {clos:?}");
        let is_exact = clos.ideal_times_are_exact();
        if is_exact {
            assert_eq!(ideal, found, "case {case}: {full_packets} full, {last} B, {clos:?}");
        }
        let links = [host_link, tor_link, aggregation_link];
        let slowest = links.iter().map(|link| link.transmission(full_wire)).max();
        assert!(found <= ideal + slowest.expect("a link"), "case {case}: {found} {ideal} {clos:?}");
        // All paths share the links of hosts and ToRs, and one of these is the bottleneck.
        let transmission = |link: &LinkSpec| link.transmission(full_wire);
        let bottleneck = transmission(&host_link).max(transmission(&tor_link));
        let is_behind_tors = clos.aggregations_per_pod == 1 && clos.cores_per_aggregation > 1;
        let is_faster = transmission(&aggregation_link) <= bottleneck;
        if is_behind_tors && is_faster && last_wire == full_wire {
            assert_eq!(ideal, found, "case {case}: {full_packets} full, {clos:?}");
            shared += 1;
        }
        exact += u32::from(is_exact);
        below += u32::from(ideal < found);
    }
    assert!(exact > 60 && shared > 5 && below > 0, "{exact}, {shared} exact, {below} below");
}
