use trimline_packet::{ByteCount, TimeDelta};

use super::matrix;
use crate::flow::Flow;
use crate::plan::{Arrivals, Choose, Connection, Matrix, Size, Spraying, Workload};
use crate::scenario::Scenario;

fn workload(name: &str, matrix: Matrix) -> Workload {
    Workload {
        name: name.into(),
        matrix,
        size: Size::Fixed(ByteCount::new(9000)),
        arrivals: Arrivals::Once,
        connection: Connection::New,
        start: TimeDelta::ZERO,
        start_jitter: TimeDelta::from_us(10),
        class: 0,
        spraying: Spraying::SenderPermuted,
        transport: 0,
        payload: None,
    }
}

/// Flows of one workload on `hosts` hosts around a switch.
fn made(workload: &Workload, hosts: u32, seed: u64) -> Vec<Flow> {
    let text = format!(
        "topology.star.hosts = {hosts}\nseeds = [{seed}]\n\
         workload = [{{ name = \"w\", permutation = {{}}, size = \"9KB\" }}]"
    );
    let mut plan = Scenario::parse("s", &text, &[]).unwrap().runs.remove(0).plan;
    plan.workloads = vec![workload.clone()];
    // All that start by themselves, sorted by source.
    let mut flows = Vec::new();
    let mut applications = super::applications(&plan).unwrap();
    let each = &mut |flow| {
        flows.push(flow);
        Ok(())
    };
    applications.not_started(trimline_packet::Time::ZERO, each).unwrap();
    flows.sort_by_key(|flow| (flow.source, flow.index));
    flows
}

#[test]
fn a_permutation_gives_every_host_one_flow_each_way() {
    let flows = made(&workload("p", Matrix::Permutation), 432, 1);
    let mut received = vec![0; 432];
    for (from, flow) in flows.iter().enumerate() {
        assert_eq!(flow.source.index(), from);
        assert_ne!(flow.source, flow.destination);
        received[flow.destination.index()] += 1;
    }
    assert!(received.iter().all(|&count| count == 1));
}

#[test]
fn an_incast_draws_distinct_senders_and_more_senders_move_no_draw() {
    let senders = |count| {
        let matrix = Matrix::Incast {
            receiver: 3,
            senders: count,
            excluding: vec![],
            choose: Choose::Random,
        };
        matrix::pairs(&workload("i", matrix), 16, 1)
    };
    let (few, all) = (senders(5), senders(15));
    assert_eq!(few[..], all[..5]);
    let mut hosts: Vec<u32> = all.iter().map(|&(source, _)| source).collect();
    hosts.sort_unstable();
    assert_eq!(hosts, (0..16).filter(|&host| host != 3).collect::<Vec<_>>());
}

fn pairs(matrix: Matrix, hosts: u32) -> Vec<(u32, u32)> {
    let flows = made(&workload("w", matrix), hosts, 1);
    flows.iter().map(|flow| (flow.source.get(), flow.destination.get())).collect()
}

#[test]
fn random_flows_reach_all_other_hosts_equally() {
    let pairs = pairs(Matrix::Random { flows: 3000, excluding: vec![] }, 4);
    let mut counts = [[0; 4]; 4];
    pairs.iter().for_each(|&(from, to)| counts[from as usize][to as usize] += 1);
    for (from, counts) in counts.iter().enumerate() {
        for (to, &count) in counts.iter().enumerate() {
            match from == to {
                true => assert_eq!(count, 0),
                false => assert!((900..1100).contains(&count), "{counts:?}"),
            }
        }
    }
}

#[test]
fn hosts_that_are_excluded_neither_send_nor_receive() {
    let mut once = workload("w", Matrix::Random { flows: 40, excluding: vec![0, 3] });
    let check = |workload: &Workload| {
        let flows = made(workload, 6, 1);
        let ends = flows.iter().flat_map(|flow| [flow.source.get(), flow.destination.get()]);
        let seen: std::collections::BTreeSet<u32> = ends.collect();
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [1, 2, 4, 5]);
        assert!(flows.iter().all(|flow| flow.source != flow.destination));
    };
    check(&once);
    // Destinations that are drawn anew, flow by flow.
    once.arrivals =
        Arrivals::Periodic { every: TimeDelta::from_us(10), until: TimeDelta::from_us(100) };
    check(&once);
}

/// With replacement: sources and destinations repeat, and no host has a share.
#[test]
fn random_pairs_are_drawn_with_replacement_among_hosts_that_are_not_excluded() {
    let matrix = |self_pairs| Matrix::RandomPairs {
        total: 3000,
        not_source: vec![0, 2],
        not_destination: vec![3],
        self_pairs,
    };
    let mut counts = [[0; 4]; 4];
    for (from, to) in pairs(matrix(false), 4) {
        counts[from as usize][to as usize] += 1;
    }
    assert_eq!((counts[0], counts[2]), ([0; 4], [0; 4]), "they never send");
    // Of six pairs five are left: host 1 may not draw itself.
    for (from, to) in [(1, 0), (1, 2), (3, 0), (3, 1), (3, 2)] {
        assert!((520..680).contains(&counts[from][to]), "{counts:?}");
    }
    assert_eq!(counts.as_flattened().iter().sum::<u32>(), 3000);
    // A pair of a host with itself counts as drawn: of six pairs one is not made.
    let with = workload("w", matrix(true));
    let (made, itself) = (pairs(matrix(true), 4).len(), matrix::self_pairs(&with, 4, 1));
    assert_eq!(made + itself, 3000);
    assert!((420..580).contains(&itself), "{itself}");
    assert_eq!(matrix::self_pairs(&workload("w", matrix(false)), 4, 1), 0);
    assert_eq!(matrix::self_pairs(&workload("w", Matrix::Permutation), 4, 1), 0);
}

#[test]
fn flows_of_a_host_have_distinct_numbers() {
    let flows = made(&workload("r", Matrix::Random { flows: 3, excluding: vec![] }), 4, 1);
    let indices: Vec<u64> = flows.iter().map(|flow| flow.index).collect();
    assert_eq!(indices, [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
}

#[test]
fn all_to_all_has_every_pair_once() {
    let mut pairs = pairs(Matrix::AllToAll, 9);
    assert_eq!(pairs.len(), 72);
    pairs.dedup();
    assert_eq!(pairs.len(), 72);
    assert!(pairs.iter().all(|(from, to)| from != to));
}

#[test]
fn an_outcast_draws_distinct_receivers() {
    let outcast = |receivers, choose| pairs(Matrix::Outcast { sender: 3, receivers, choose }, 16);
    assert_eq!(outcast(2, Choose::Last), [(3, 15), (3, 14)]);
    let mut all = outcast(15, Choose::Random);
    assert_eq!(all[..5], outcast(5, Choose::Random));
    all.sort_unstable();
    assert_eq!(all, (0..16).filter(|&to| to != 3).map(|to| (3, to)).collect::<Vec<_>>());
}

#[test]
fn seeds_and_names_change_the_draws() {
    let destinations = |name, seed| -> Vec<u32> {
        let flows = made(&workload(name, Matrix::Permutation), 64, seed);
        flows.iter().map(|flow| flow.destination.get()).collect()
    };
    assert_eq!(destinations("a", 1), destinations("a", 1));
    assert_ne!(destinations("a", 1), destinations("a", 2));
    assert_ne!(destinations("a", 1), destinations("b", 1));
}
