//! Workloads become flows.
//!
//! | module | what |
//! |---|---|
//! | this one | matrices: who sends to whom |
//! | [`arrivals`] | flows that follow each other: periodic, Poisson, closed loop |
//! | [`queries`] | incasts that repeat; clients that ask servers |
//! | [`listed`] | flows of files |
//!
//! All flows of a run are made before it begins, those of closed loops too: as many as an idle network could
//! carry. What is drawn for a flow comes from streams of its own, so a longer run, another workload or another
//! host moves no draw.

mod arrivals;
mod listed;
mod queries;

pub(crate) use queries::REQUEST;

use trimline_packet::{ByteCount, HostId, Time, TimeDelta};

use crate::flows::{Flow, Made};
use crate::formats::sizes::WHOLE;
use crate::links::LinkChange;
use crate::plan::{Arrivals, Choose, Matrix, Plan, Size, Spraying, Workload};
use crate::random;
use crate::topology::Clos;
use crate::triggers::{self, Trigger, Wiring};

/// Flows of a run, at most: each has state of a few hundred bytes.
pub(crate) const MAX_FLOWS: u64 = 1 << 26;

/// All flows of a plan, or why there are too many.
pub(crate) fn flows(plan: &Plan) -> Result<Made, String> {
    let mut making = Making {
        plan,
        hosts: plan.topology.hosts(),
        fastest: fastest(plan),
        made: Made::default(),
    };
    for (place, workload) in (0u32..).zip(&plan.workloads) {
        making.workload(place, workload)?;
    }
    Ok(making.made)
}

/// Flows in the making.
struct Making<'a> {
    plan: &'a Plan,
    hosts: u32,
    /// The network with every link as fast as it will ever be.
    fastest: Clos,
    made: Made,
}

/// The flow that is being made.
#[derive(Clone, Copy)]
struct Draft {
    source: u32,
    destination: u32,
    index: u64,
    start: Time,
    wiring: Option<Wiring>,
}

impl Making<'_> {
    fn workload(&mut self, place: u32, workload: &Workload) -> Result<(), String> {
        match (&workload.matrix, workload.arrivals) {
            (Matrix::Listed(listed), _) => self.listed(place, workload, listed),
            (Matrix::Requests(queries), _) => self.queries(place, workload, queries),
            (Matrix::Responses, _) => Ok(()),
            (Matrix::RandomIncast { .. }, _) => self.incasts(place, workload),
            (_, Arrivals::Once) => self.once(place, workload),
            (Matrix::Incast { .. }, _) => self.incasts(place, workload),
            _ => self.repeated(place, workload),
        }
    }

    /// Every flow of a matrix once.
    fn once(&mut self, place: u32, workload: &Workload) -> Result<(), String> {
        let name = random::name_number(&workload.name);
        let mut flows_of = vec![0u32; self.hosts as usize];
        for (source, destination) in pairs(workload, self.hosts, self.plan.seed) {
            let index = flows_of[source as usize];
            flows_of[source as usize] += 1;
            let later = jitter(workload, self.plan.seed, source, name, index);
            let start = Time::ZERO + workload.start + later;
            let index = u64::from(index);
            self.flow(place, workload, Draft { source, destination, index, start, wiring: None })?;
        }
        Ok(())
    }

    /// Makes a flow of a workload; gives its size.
    fn flow(
        &mut self,
        place: u32,
        workload: &Workload,
        draft: Draft,
    ) -> Result<Option<ByteCount>, String> {
        let name = random::name_number(&workload.name);
        let size = match &workload.size {
            Size::LongLived => None,
            Size::Fixed(size) => Some(*size),
            Size::Drawn(sizes) => {
                let owner = [u64::from(draft.source), name, draft.index];
                let mut draws = random::stream(self.plan.seed, "size", &owner);
                Some(ByteCount::new(sizes.size(random::below(&mut draws, WHOLE))))
            }
        };
        self.push(place, workload, draft, size)?;
        Ok(size)
    }

    fn push(
        &mut self,
        place: u32,
        workload: &Workload,
        draft: Draft,
        size: Option<ByteCount>,
    ) -> Result<(), String> {
        let index = u32::try_from(draft.index).ok();
        let Some(index) = index.filter(|_| (self.made.flows.len() as u64) < MAX_FLOWS) else {
            return Err(format!(
                "`{}`: more than {MAX_FLOWS} flows in a run, or 2^32 of one source",
                workload.name
            ));
        };
        let wiring = match draft.wiring {
            None => triggers::NONE,
            Some(wiring) => {
                self.made.wirings.push(wiring);
                self.made.wirings.len() as u32 - 1
            }
        };
        self.made.flows.push(Flow {
            source: HostId::new(draft.source),
            destination: HostId::new(draft.destination),
            workload: place,
            index,
            size,
            start: draft.start,
            class: workload.class,
            switch_random: workload.spraying == Spraying::SwitchRandom,
            wiring,
        });
        Ok(())
    }

    /// A new trigger.
    fn trigger(&mut self, trigger: Trigger) -> u32 {
        self.made.triggers.push(trigger);
        self.made.triggers.len() as u32 - 1
    }

    /// What a flow takes at least, whatever happens: every byte over the slowest link, without headers.
    fn at_least(&self, source: u32, destination: u32, size: ByteCount) -> TimeDelta {
        let links = self.fastest.links_between(HostId::new(source), HostId::new(destination));
        let slowest = links.iter().map(|link| link.rate.transmission(size)).max();
        links.iter().fold(slowest.unwrap_or(TimeDelta::ZERO), |sum, link| sum + link.delay)
    }
}

/// The network with every link as fast as the fastest change makes any.
fn fastest(plan: &Plan) -> Clos {
    let mut clos = plan.topology.clone();
    for event in &plan.link_events {
        let LinkChange::Rate(rate) = event.change else { continue };
        for link in [&mut clos.host_link, &mut clos.tor_link, &mut clos.aggregation_link] {
            link.rate = link.rate.max(rate);
        }
    }
    clos
}

/// (source, destination) of every flow of a matrix that has each once.
fn pairs(workload: &Workload, hosts: u32, seed: u64) -> Vec<(u32, u32)> {
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

/// The hosts that take part, ascending.
fn members(hosts: u32, excluding: &[u32]) -> Vec<u32> {
    (0..hosts).filter(|host| !excluding.contains(host)).collect()
}

/// A host drawn from all but one.
fn other_than(host: u32, hosts: u32, draws: &mut trimline_transport::Stream) -> u32 {
    let other = random::below(draws, u64::from(hosts) - 1) as u32;
    other + u32::from(other >= host)
}

/// A host drawn from all members but one, which is among them.
fn other_member(host: u32, members: &[u32], draws: &mut trimline_transport::Stream) -> u32 {
    let own = members.partition_point(|&member| member < host);
    members[other_than(own as u32, members.len() as u32, draws) as usize]
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
    use crate::scenario::Scenario;

    fn workload(name: &str, matrix: Matrix) -> Workload {
        Workload {
            name: name.into(),
            matrix,
            size: Size::Fixed(ByteCount::new(9000)),
            arrivals: Arrivals::Once,
            start: TimeDelta::ZERO,
            start_jitter: TimeDelta::from_us(10),
            class: 0,
            spraying: Spraying::SenderPermuted,
            transport: 0,
        }
    }

    /// The flows of one workload on so many hosts around a switch.
    fn made(workload: &Workload, hosts: u32, seed: u64) -> Vec<Flow> {
        let text = format!(
            "topology.star.hosts = {hosts}\nseeds = {seed}\n\
             workload = [{{ name = \"w\", permutation = {{}}, size = \"9KB\" }}]"
        );
        let mut plan = Scenario::parse("s", &text, &[]).unwrap().runs.remove(0).plan;
        plan.workloads = vec![workload.clone()];
        super::flows(&plan).unwrap().flows
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
            made(&workload("i", matrix), 16, 1)
        };
        let (few, all) = (senders(5), senders(15));
        assert_eq!(few[..], all[..5]);
        let mut hosts: Vec<u32> = all.iter().map(|flow| flow.source.get()).collect();
        hosts.sort_unstable();
        assert_eq!(hosts, (0..16).filter(|&host| host != 3).collect::<Vec<_>>());
    }

    fn pairs(matrix: Matrix, hosts: u32) -> Vec<(u32, u32)> {
        let flows = made(&workload("w", matrix), hosts, 1);
        flows.iter().map(|flow| (flow.source.get(), flow.destination.get())).collect()
    }

    #[test]
    fn random_flows_reach_every_other_host_about_equally_and_never_their_own() {
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

    #[test]
    fn the_flows_of_a_host_have_numbers_of_their_own() {
        let flows = made(&workload("r", Matrix::Random { flows: 3, excluding: vec![] }), 4, 1);
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
            let flows = made(&workload(name, Matrix::Permutation), 64, seed);
            flows.iter().map(|flow| flow.destination.get()).collect()
        };
        assert_eq!(destinations("a", 1), destinations("a", 1));
        assert_ne!(destinations("a", 1), destinations("a", 2));
        assert_ne!(destinations("a", 1), destinations("b", 1));
    }
}
