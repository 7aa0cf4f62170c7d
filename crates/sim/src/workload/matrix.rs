//! Traffic matrices: sources, destinations and start jitter.

use trimline_packet::TimeDelta;
use trimline_transport::RngStream;

use crate::plan::{Choose, Matrix, Workload};
use crate::random;

/// Maximum number of host pairs in a matrix; all are kept in memory.
pub(crate) const MAX_PAIRS: u64 = 1 << 26;

/// Returns (source, destination) of every flow of a matrix that has each once.
pub(super) fn pairs(workload: &Workload, hosts: u32, seed: u64) -> Vec<(u32, u32)> {
    let name = random::name_number(&workload.name);
    let mut draws = random::stream(seed, "matrix", &[name]);
    match &workload.matrix {
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
        Matrix::Random { flows, excluding } => {
            let members = members(hosts, excluding);
            let sources = members.iter().flat_map(|&from| (0..*flows).map(move |_| from));
            sources.map(|from| (from, other_member(from, &members, &mut draws))).collect()
        }
        matrix @ Matrix::RandomPairs { .. } => {
            let drawn = random_pairs(matrix, hosts, &mut draws).into_iter();
            drawn.filter(|(from, to)| from != to).collect()
        }
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
        Matrix::RandomIncast { .. }
        | Matrix::Listed(_)
        | Matrix::Requests(_)
        | Matrix::Responses => Vec::new(),
    }
}

/// Number of pairs of a host with itself that a workload draws. They become no flows.
pub(crate) fn self_pairs(workload: &Workload, hosts: u32, seed: u64) -> usize {
    let name = random::name_number(&workload.name);
    let mut draws = random::stream(seed, "matrix", &[name]);
    let drawn = random_pairs(&workload.matrix, hosts, &mut draws);
    drawn.into_iter().filter(|(from, to)| from == to).count()
}

/// All pairs of [`Matrix::RandomPairs`], hosts with themselves included; empty for other matrices.
fn random_pairs(matrix: &Matrix, hosts: u32, draws: &mut RngStream) -> Vec<(u32, u32)> {
    let Matrix::RandomPairs { total, not_source, not_destination, self_pairs } = matrix else {
        return Vec::new();
    };
    let (sources, destinations) = (members(hosts, not_source), members(hosts, not_destination));
    let mut one_of = |hosts: &[u32]| hosts[random::below(draws, hosts.len() as u64) as usize];
    let mut pair = || loop {
        let pair = (one_of(&sources), one_of(&destinations));
        if *self_pairs || pair.0 != pair.1 {
            return pair;
        }
    };
    (0..*total).map(|_| pair()).collect()
}

/// Hosts that take part, in ascending order.
pub(super) fn members(hosts: u32, excluding: &[u32]) -> Vec<u32> {
    (0..hosts).filter(|host| !excluding.contains(host)).collect()
}

pub(super) fn other_than(host: u32, hosts: u32, draws: &mut RngStream) -> u32 {
    let other = random::below(draws, u64::from(hosts) - 1) as u32;
    other + u32::from(other >= host)
}

/// Draws a host from all members but one member.
pub(super) fn other_member(host: u32, members: &[u32], draws: &mut RngStream) -> u32 {
    let own = members.partition_point(|&member| member < host);
    members[other_than(own as u32, members.len() as u32, draws) as usize]
}

/// Orders hosts so that the first are chosen.
pub(super) fn order(choose: Choose, draws: &mut RngStream, others: &mut [u32]) {
    match choose {
        Choose::Random => random::shuffle(draws, others),
        Choose::Last => others.reverse(),
    }
}

/// Start jitter of a flow, drawn from the flow's own stream.
pub(super) fn jitter(
    workload: &Workload,
    seed: u64,
    source: u32,
    name: u64,
    index: u64,
) -> TimeDelta {
    match workload.start_jitter.as_ps() {
        0 => TimeDelta::ZERO,
        span => {
            let owner = [u64::from(source), name, index];
            let mut draws = random::stream(seed, "start", &owner);
            TimeDelta::from_ps(random::below(&mut draws, span + 1))
        }
    }
}

/// Draws a uniform permutation without a fixed point, by rejection (one in e is one).
fn derangement(draws: &mut RngStream, hosts: u32) -> Vec<u32> {
    assert!(hosts > 1, "a permutation needs two hosts");
    let mut destinations: Vec<u32> = (0..hosts).collect();
    loop {
        random::shuffle(draws, &mut destinations);
        if destinations.iter().enumerate().all(|(from, &to)| from as u32 != to) {
            return destinations;
        }
    }
}
