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
            match choose {
                Choose::Random => random::shuffle(&mut draws, &mut others),
                Choose::Last => others.reverse(),
            }
            others.truncate(*senders as usize);
            others.into_iter().map(|sender| (sender, *receiver)).collect()
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
