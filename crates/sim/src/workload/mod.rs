//! Workloads: who starts flows, to whom, when and how large.
//!
//! | module | what |
//! |---|---|
//! | this one | matrices: who sends to whom |
//! | [`applications`] | what starts flows: state machines, each at one host |
//! | [`arrivals`] | flows that follow each other: periodic, Poisson, closed loop |
//! | [`incasts`] | incasts that repeat |
//! | [`queries`] | clients that ask servers |
//! | [`listed`] | flows of files, and triggers |
//!
//! A flow is made when it starts. What is drawn for it comes from streams of its own, so a longer run, another
//! workload or another host moves no draw.

mod applications;
mod arrivals;
mod incasts;
mod listed;
mod queries;

pub(crate) use applications::{Applications, Notice};
pub(crate) use queries::REQUEST;

use std::cmp::Reverse;
use std::sync::Arc;

use trimline_packet::{ByteCount, HostId, Packet, Time, TimeDelta};

use crate::flows::Flow;
use crate::formats::sizes::WHOLE;
use crate::plan::{Arrivals, Choose, Matrix, Plan, Size, Spraying, Workload};
use crate::random;
use crate::topology::Clos;

use applications::{Application, Counts, Due, HostApplications, What};
use listed::Triggers;

/// Pairs of hosts of a matrix, at most: all of them are kept.
pub(crate) const MOST_PAIRS: u64 = 1 << 26;

/// The applications of a plan, or why there are none.
pub(crate) fn applications(plan: &Plan) -> Result<Applications, String> {
    let setup = Setup::new(plan);
    let hosts = (0..setup.hosts).map(|_| HostApplications::default()).collect();
    let mut building = Building { setup: &setup, hosts, counts: Counts::default() };
    for (place, workload) in (0u32..).zip(&setup.workloads) {
        building.workload(place, workload)?;
    }
    let Building { mut hosts, counts, .. } = building;
    for host in &mut hosts {
        host.due.shrink_to_fit();
        host.applications.shrink_to_fit();
    }
    Ok(Applications::over(Arc::new(setup), hosts, counts))
}

/// What follows from the end of a flow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// At its source the next one, in a closed loop.
    Plain,
    /// At its destination an answer.
    Requests,
    /// At its destination the next query.
    Responses,
    /// What its file says.
    Listed,
}

/// What never changes.
struct Setup {
    seed: u64,
    hosts: u32,
    topology: Clos,
    end: Option<TimeDelta>,
    workloads: Vec<Workload>,
    /// By workload: the hash of its name.
    names: Arc<[u64]>,
    /// By workload: the hosts among which each flow's destination is drawn anew.
    members: Vec<Option<Vec<u32>>>,
    /// By workload: a file with its triggers.
    triggers: Vec<Option<Triggers>>,
}

impl Setup {
    fn new(plan: &Plan) -> Setup {
        let (workloads, hosts) = (&plan.workloads, plan.topology.hosts());
        let members_of = |workload: &Workload| match &workload.matrix {
            Matrix::Random { excluding, .. } if workload.arrivals != Arrivals::Once => {
                Some(members(hosts, excluding))
            }
            _ => None,
        };
        let triggers_of = |workload: &Workload| match &workload.matrix {
            Matrix::Listed(listed) => Some(Triggers::new(listed, hosts)),
            _ => None,
        };
        Setup {
            seed: plan.seed,
            hosts,
            topology: plan.topology.clone(),
            end: plan.duration,
            names: workloads.iter().map(|workload| random::name_number(&workload.name)).collect(),
            members: workloads.iter().map(members_of).collect(),
            triggers: workloads.iter().map(triggers_of).collect(),
            workloads: workloads.clone(),
        }
    }

    fn any_switch_random(&self) -> bool {
        self.workloads.iter().any(|workload| workload.spraying == Spraying::SwitchRandom)
    }

    /// Whether a trigger of a file starts flows of another host than the one that activates it.
    fn has_notices(&self) -> bool {
        self.triggers.iter().flatten().any(Triggers::reach_others)
    }

    /// Whether the flows of a workload are counted before they start.
    fn is_counted(&self, workload: u32) -> bool {
        let workload = &self.workloads[workload as usize];
        match (&workload.matrix, workload.arrivals) {
            (Matrix::Listed(_), _) => true,
            (Matrix::RandomIncast { .. }, _) => false,
            (_, Arrivals::Once) => {
                !matches!(workload.matrix, Matrix::Requests(_) | Matrix::Responses)
            }
            (_, Arrivals::ClosedLoop { count, .. }) => count.is_some(),
            (_, Arrivals::Periodic { .. } | Arrivals::Poisson { .. }) => false,
        }
    }

    fn kind(&self, workload: u32) -> Kind {
        match &self.workloads[workload as usize].matrix {
            Matrix::Requests(_) => Kind::Requests,
            Matrix::Responses => Kind::Responses,
            Matrix::Listed(_) => Kind::Listed,
            Matrix::Permutation
            | Matrix::Random { .. }
            | Matrix::AllToAll
            | Matrix::Outcast { .. }
            | Matrix::Incast { .. }
            | Matrix::RandomIncast { .. }
            | Matrix::Pairs(_) => Kind::Plain,
        }
    }

    fn is_closed(&self, workload: u32) -> bool {
        matches!(self.workloads[workload as usize].arrivals, Arrivals::ClosedLoop { .. })
    }

    fn is_after_end(&self, time: TimeDelta) -> bool {
        self.end.is_some_and(|end| time >= end)
    }

    fn drawn_from(&self, workload: u32) -> Option<&[u32]> {
        self.members[workload as usize].as_deref()
    }

    fn listed(&self, workload: u32) -> &Triggers {
        self.triggers[workload as usize].as_ref().expect("a workload of a file")
    }

    /// How long a least packet takes from host to host in an idle network.
    fn one_way(&self, from: u32, to: u32) -> TimeDelta {
        let least = ByteCount::new(u64::from(Packet::HEADER_BYTES));
        self.topology.ideal_completion(HostId::new(from), HostId::new(to), 0, least, least)
    }

    /// A flow that starts, its size fixed or drawn.
    fn flow(
        &self,
        workload: u32,
        source: HostId,
        destination: HostId,
        index: u64,
        start: Time,
        token: u32,
    ) -> Flow {
        let size = match &self.workloads[workload as usize].size {
            Size::LongLived => None,
            Size::Fixed(size) => Some(*size),
            Size::Drawn(sizes) => {
                let owner = [u64::from(source.get()), self.names[workload as usize], index];
                let mut draws = random::stream(self.seed, "size", &owner);
                Some(ByteCount::new(sizes.size(random::below(&mut draws, WHOLE))))
            }
        };
        self.sized_flow(workload, source, destination, index, start, token, size)
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of a flow")]
    fn sized_flow(
        &self,
        workload: u32,
        source: HostId,
        destination: HostId,
        index: u64,
        start: Time,
        token: u32,
        size: Option<ByteCount>,
    ) -> Flow {
        let Workload { class, spraying, .. } = self.workloads[workload as usize];
        let switch_random = spraying == Spraying::SwitchRandom;
        Flow { source, destination, workload, token, index, size, start, class, switch_random }
    }
}

/// Applications in the making.
struct Building<'a> {
    setup: &'a Setup,
    hosts: Vec<HostApplications>,
    counts: Counts,
}

impl Building<'_> {
    fn workload(&mut self, place: u32, workload: &Workload) -> Result<(), String> {
        match (&workload.matrix, workload.arrivals) {
            (Matrix::Listed(listed), _) => self.listed(place, workload, listed),
            (Matrix::Requests(queries), _) => self.clients(place, workload, queries),
            (Matrix::Responses, _) => Ok(()),
            (Matrix::RandomIncast { .. }, _) => self.incasts(place, workload),
            (_, Arrivals::Once) => self.once(place, workload),
            (Matrix::Incast { .. }, _) => self.incasts(place, workload),
            (
                Matrix::Permutation
                | Matrix::Random { .. }
                | Matrix::AllToAll
                | Matrix::Outcast { .. }
                | Matrix::Pairs(_),
                Arrivals::Periodic { .. } | Arrivals::Poisson { .. } | Arrivals::ClosedLoop { .. },
            ) => self.repeated(place, workload),
        }
    }

    /// Every flow of a matrix once.
    fn once(&mut self, place: u32, workload: &Workload) -> Result<(), String> {
        let (seed, name) = (self.setup.seed, self.setup.names[place as usize]);
        let is_sized = workload.size != Size::LongLived;
        let mut flows_of = vec![0u64; self.setup.hosts as usize];
        for (source, destination) in pairs(workload, self.setup.hosts, seed) {
            self.check(source, destination)?;
            let index = flows_of[source as usize];
            flows_of[source as usize] += 1;
            let later = jitter(workload, seed, source, name, index);
            let at = Time::ZERO + workload.start + later;
            let what = What::Flow(destination);
            self.due(source, Due { at, follows: false, workload: place, index, what });
            self.counts.to_come += 1;
            self.counts.known += u64::from(is_sized);
        }
        Ok(())
    }

    fn due(&mut self, host: u32, due: Due) {
        self.hosts[host as usize].due.push(Reverse(due));
    }

    /// An application of a host that is not done.
    fn application(&mut self, place: u32, host: u32, application: Application) {
        let own = &mut self.hosts[host as usize];
        let number = own.applications.len() as u32;
        let is_to_come =
            application.next().is_some() || matches!(application, Application::Incasts(_));
        self.counts.to_come += i64::from(is_to_come);
        own.applications.push((place, application));
        own.plan(number);
    }

    fn check(&self, source: u32, destination: u32) -> Result<(), String> {
        let hosts = self.setup.hosts;
        if source < hosts && destination < hosts {
            return Ok(());
        }
        Err(format!(
            "a flow from host {source} to host {destination}, but hosts are 0 to {}",
            hosts - 1
        ))
    }
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
fn jitter(workload: &Workload, seed: u64, source: u32, name: u64, index: u64) -> TimeDelta {
    match workload.start_jitter.as_ps() {
        0 => TimeDelta::ZERO,
        span => {
            let owner = [u64::from(source), name, index];
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
        // All that start by themselves, sorted by source.
        let mut flows = Vec::new();
        let mut applications = super::applications(&plan).unwrap();
        let each = &mut |flow| {
            flows.push(flow);
            Ok(())
        };
        applications.not_started(each).unwrap();
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
            super::pairs(&workload("i", matrix), 16, 1)
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
        let indices: Vec<u64> = flows.iter().map(|flow| flow.index).collect();
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
