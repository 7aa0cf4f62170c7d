//! Workloads become flows.

use trimline_packet::{HostId, Time, TimeDelta};

use crate::flows::Flow;
use crate::random;
use crate::scenario::plan::{Choose, Matrix, Spraying, Workload};

/// The flows of a workload, drawn from streams of its own: adding a workload moves no other's draws.
pub(crate) fn flows(workload: &Workload, place: u32, hosts: u32, seed: u64) -> Vec<Flow> {
    let name = random::name_number(&workload.name);
    let mut draws = random::stream(seed, "matrix", &[name]);
    let pairs: Vec<(u32, u32)> = match &workload.matrix {
        Matrix::Permutation => {
            let destinations = derangement(&mut draws, hosts);
            destinations.into_iter().enumerate().map(|(from, to)| (from as u32, to)).collect()
        }
        Matrix::Incast { receiver, senders, excluding, choose } => {
            let mut others: Vec<u32> =
                (0..hosts).filter(|host| host != receiver && !excluding.contains(host)).collect();
            order(*choose, &mut draws, &mut others);
            others.truncate(*senders as usize);
            others.into_iter().map(|sender| (sender, *receiver)).collect()
        }
        Matrix::Random { flows } => (0..hosts)
            .flat_map(|from| (0..*flows).map(move |_| from))
            .map(|from| {
                let other = random::below(&mut draws, u64::from(hosts) - 1) as u32;
                (from, other + u32::from(other >= from))
            })
            .collect(),
        Matrix::AllToAll => (0..hosts)
            .flat_map(|from| (0..hosts).map(move |to| (from, to)))
            .filter(|(from, to)| from != to)
            .collect(),
        Matrix::Outcast { sender, receivers, choose } => {
            let mut others: Vec<u32> = (0..hosts).filter(|host| host != sender).collect();
            order(*choose, &mut draws, &mut others);
            others.truncate(*receivers as usize);
            others.into_iter().map(|receiver| (*sender, receiver)).collect()
        }
        Matrix::Pairs(pairs) => pairs.clone(),
    };
    let mut flows_of = vec![0u32; hosts as usize];
    pairs
        .into_iter()
        .map(|(source, destination)| {
            let index = flows_of[source as usize];
            flows_of[source as usize] += 1;
            Flow {
                source: HostId::new(source),
                destination: HostId::new(destination),
                workload: place,
                index,
                size: workload.size,
                start: Time::ZERO + workload.start + jitter(workload, seed, source, name, index),
                class: workload.class,
                switch_random: workload.spraying == Spraying::SwitchRandom,
            }
        })
        .collect()
}

/// Puts those that are chosen first in front.
fn order(choose: Choose, draws: &mut trimline_transport::Stream, others: &mut [u32]) {
    match choose {
        Choose::Random => random::shuffle(draws, others),
        Choose::Last => others.reverse(),
    }
}

/// How much later than the others a flow starts: drawn from the flow's own stream.
fn jitter(workload: &Workload, seed: u64, source: u32, name: u64, index: u32) -> TimeDelta {
    match workload.start_jitter.as_ps() {
        0 => TimeDelta::ZERO,
        span => {
            let owner = [u64::from(source), name, u64::from(index)];
            let mut draws = random::stream(seed, "start", &owner);
            TimeDelta::from_ps(random::below(&mut draws, span + 1))
        }
    }
}

/// A uniform random permutation without a fixed point, by rejection (one in e is one).
fn derangement(draws: &mut trimline_transport::Stream, hosts: u32) -> Vec<u32> {
    assert!(hosts > 1, "a permutation needs two hosts");
    let mut destinations: Vec<u32> = (0..hosts).collect();
    loop {
        random::shuffle(draws, &mut destinations);
        if destinations.iter().enumerate().all(|(from, &to)| from as u32 != to) {
            return destinations;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimline_packet::ByteCount;

    fn workload(name: &str, matrix: Matrix) -> Workload {
        Workload {
            name: name.into(),
            matrix,
            size: Some(ByteCount::new(9000)),
            start: TimeDelta::ZERO,
            start_jitter: TimeDelta::from_us(10),
            class: 0,
            spraying: Spraying::SenderPermuted,
        }
    }

    #[test]
    fn a_permutation_gives_every_host_one_flow_each_way() {
        let flows = flows(&workload("p", Matrix::Permutation), 0, 432, 1);
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
            flows(&workload("i", matrix), 0, 16, 1)
        };
        let (few, all) = (senders(5), senders(15));
        assert_eq!(few[..], all[..5]);
        let mut hosts: Vec<u32> = all.iter().map(|flow| flow.source.get()).collect();
        hosts.sort_unstable();
        assert_eq!(hosts, (0..16).filter(|&host| host != 3).collect::<Vec<_>>());
    }

    fn pairs(matrix: Matrix, hosts: u32) -> Vec<(u32, u32)> {
        let flows = flows(&workload("w", matrix), 0, hosts, 1);
        flows.iter().map(|flow| (flow.source.get(), flow.destination.get())).collect()
    }

    #[test]
    fn random_flows_reach_every_other_host_about_equally_and_never_their_own() {
        let pairs = pairs(Matrix::Random { flows: 3000 }, 4);
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
    fn the_flows_of_a_host_have_numbers_of_their_own() {
        let flows = flows(&workload("r", Matrix::Random { flows: 3 }), 0, 4, 1);
        let indices: Vec<u32> = flows.iter().map(|flow| flow.index).collect();
        assert_eq!(indices, [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn all_to_all_is_every_pair_once() {
        let mut pairs = pairs(Matrix::AllToAll, 9);
        assert_eq!(pairs.len(), 72);
        pairs.dedup();
        assert_eq!(pairs.len(), 72);
        assert!(pairs.iter().all(|(from, to)| from != to));
    }

    #[test]
    fn an_outcast_draws_distinct_receivers() {
        let outcast =
            |receivers, choose| pairs(Matrix::Outcast { sender: 3, receivers, choose }, 16);
        assert_eq!(outcast(2, Choose::Last), [(3, 15), (3, 14)]);
        let mut all = outcast(15, Choose::Random);
        assert_eq!(all[..5], outcast(5, Choose::Random));
        all.sort_unstable();
        assert_eq!(all, (0..16).filter(|&to| to != 3).map(|to| (3, to)).collect::<Vec<_>>());
    }

    #[test]
    fn seeds_and_names_give_other_draws() {
        let destinations = |name, seed| -> Vec<u32> {
            let flows = flows(&workload(name, Matrix::Permutation), 0, 64, seed);
            flows.iter().map(|flow| flow.destination.get()).collect()
        };
        assert_eq!(destinations("a", 1), destinations("a", 1));
        assert_ne!(destinations("a", 1), destinations("a", 2));
        assert_ne!(destinations("a", 1), destinations("b", 1));
    }
}
