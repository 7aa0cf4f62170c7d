//! The constants of a run: the workloads, and facts about any flow that follow from them.

use std::sync::Arc;

use trimline_packet::{ByteCount, HostId, Packet, Time, TimeDelta};

use super::listed::Triggers;
use super::matrix::members;
use crate::flow::Flow;
use crate::formats::sizes::WHOLE;
use crate::pareto::DRAWS;
use crate::plan::{
    Arrivals, Connection, Groups, Matrix, Plan, Pool, Queries, Size, Spraying, WhenBusy, Workload,
};
use crate::random::{self, Purpose};
use crate::topology::Clos;

/// The consequence of a flow's end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// At its source the next flow, in a closed loop.
    Plain,
    /// At its destination an answer.
    Requests,
    /// At its destination the next query.
    Responses,
    /// The triggers of its file.
    Listed,
}

/// A workload's use of persistent connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Persistence {
    /// Connections from a source to a destination.
    pub(crate) connections: u16,
    /// The rule for a flow when no connection is idle.
    pub(crate) when_busy: WhenBusy,
    /// True if its flows are requests: a connection is busy until the answer has arrived.
    pub(crate) asks: bool,
    /// True if its flows are the answers to such requests.
    pub(crate) answers: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Asked {
    /// The connection of the pool that carried the request.
    pub(super) connection_number: Option<u16>,
    /// The time of the request, if the answer counts from then.
    pub(super) at: Option<Time>,
}

pub(super) struct Setup {
    pub(super) seed: u64,
    /// Purposes of the RNG streams of flow sizes and destinations.
    sizes: Purpose,
    pub(super) destinations: Purpose,
    pub(super) hosts: u32,
    pub(super) topology: Clos,
    pub(super) end: Option<TimeDelta>,
    pub(super) workloads: Vec<Workload>,
    /// By workload: the hash of its name.
    pub(super) names: Arc<[u64]>,
    /// By workload: the hosts from which each flow's destination is drawn.
    pub(super) members: Vec<Option<Vec<u32>>>,
    /// By workload: a file with its triggers.
    pub(super) triggers: Vec<Option<Triggers>>,
}

impl Setup {
    pub(super) fn new(plan: &Plan) -> Setup {
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
            sizes: Purpose::new(plan.seed, "size"),
            destinations: Purpose::new(plan.seed, "destination"),
            hosts,
            topology: plan.topology.clone(),
            end: plan.duration,
            names: workloads.iter().map(|workload| random::name_number(&workload.name)).collect(),
            members: workloads.iter().map(members_of).collect(),
            triggers: workloads.iter().map(triggers_of).collect(),
            workloads: workloads.clone(),
        }
    }

    pub(super) fn any_switch_random(&self) -> bool {
        self.workloads.iter().any(|workload| workload.spraying == Spraying::SwitchRandom)
    }

    /// Returns whether a trigger of a file starts flows of a host other than its activator.
    pub(super) fn has_notices(&self) -> bool {
        self.triggers.iter().flatten().any(Triggers::reach_others)
    }

    /// Returns whether the flows of a workload are counted before they start.
    pub(super) fn is_counted(&self, workload: u32) -> bool {
        let has_groups = self.queries_of(workload).is_some_and(|asked| asked.groups().is_some());
        let workload = &self.workloads[workload as usize];
        match (&workload.matrix, workload.arrivals) {
            _ if has_groups => false,
            (Matrix::Listed(_), _) => true,
            (Matrix::RandomIncast { .. }, _) => false,
            (_, Arrivals::Once) => {
                !matches!(workload.matrix, Matrix::Requests(_) | Matrix::Responses)
            }
            (_, Arrivals::ClosedLoop { count, .. }) => count.is_some(),
            (_, Arrivals::Periodic { .. } | Arrivals::Poisson { .. }) => false,
        }
    }

    pub(super) fn asked_by(&self, workload: u32) -> Option<&Queries> {
        let Matrix::Requests(queries) = &self.workloads[workload as usize].matrix else {
            return None;
        };
        Some(queries)
    }

    /// Queries of a workload of requests or answers.
    fn queries_of(&self, workload: u32) -> Option<&Queries> {
        // Requests stand before their answers.
        let answers = self.workloads[workload as usize].matrix == Matrix::Responses;
        self.asked_by(workload.checked_sub(answers.into())?)
    }

    /// Draws a query's answer size and number of requests. Both follow from the client and its query, so that a server
    /// knows what its client does.
    pub(super) fn group(
        &self,
        groups: &Groups,
        requests: u32,
        client: u32,
        query: u64,
    ) -> (u64, u32) {
        let owner = [u64::from(client), self.names[requests as usize], query];
        groups.draw(&mut random::stream(self.seed, "group", &owner))
    }

    fn size_in_group(&self, workload: u32, index: u64) -> Option<u64> {
        let Matrix::Responses = self.workloads[workload as usize].matrix else { return None };
        let queries = self.queries_of(workload)?;
        let groups = queries.groups()?;
        let asked = index / queries.max_to_one(self.hosts);
        let clients = u64::from(queries.client_count(self.hosts));
        let client = queries.client_at((asked % clients) as u32);
        Some(self.group(groups, workload - 1, client, asked / clients).0)
    }

    pub(super) fn kind(&self, workload: u32) -> Kind {
        match &self.workloads[workload as usize].matrix {
            Matrix::Requests(_) => Kind::Requests,
            Matrix::Responses => Kind::Responses,
            Matrix::Listed(_) => Kind::Listed,
            Matrix::Permutation
            | Matrix::Random { .. }
            | Matrix::RandomPairs { .. }
            | Matrix::AllToAll
            | Matrix::Outcast { .. }
            | Matrix::Incast { .. }
            | Matrix::RandomIncast { .. }
            | Matrix::Pairs(_) => Kind::Plain,
        }
    }

    pub(super) fn persistence(&self) -> Arc<[Persistence]> {
        let of = |(place, workload): (usize, &Workload)| {
            let (connections, when_busy, is_pool) = match workload.connection {
                Connection::New | Connection::Persistent => (1, WhenBusy::Wait, false),
                Connection::Pool(Pool { each, when_busy }) => (each, when_busy, true),
            };
            let (asks, answers) = match self.kind(place as u32) {
                Kind::Requests => (is_pool, false),
                Kind::Responses => (false, is_pool),
                Kind::Plain | Kind::Listed => (false, false),
            };
            Persistence { connections, when_busy, asks, answers }
        };
        self.workloads.iter().enumerate().map(of).collect()
    }

    /// Facts about a request that its answer needs.
    pub(super) fn asked(&self, request: &Flow) -> Option<Asked> {
        let workload = &self.workloads[request.workload as usize];
        let Matrix::Requests(queries) = &workload.matrix else { return None };
        let connection_number = match workload.connection {
            Connection::New | Connection::Persistent => None,
            Connection::Pool(_) => request.connection_number,
        };
        let at = queries.from_request.then_some(request.start);
        (connection_number.is_some() || at.is_some()).then_some(Asked { connection_number, at })
    }

    pub(super) fn is_closed(&self, workload: u32) -> bool {
        matches!(self.workloads[workload as usize].arrivals, Arrivals::ClosedLoop { .. })
    }

    pub(super) fn is_after_end(&self, time: TimeDelta) -> bool {
        self.end.is_some_and(|end| time >= end)
    }

    pub(super) fn drawn_from(&self, workload: u32) -> Option<&[u32]> {
        self.members[workload as usize].as_deref()
    }

    pub(super) fn listed(&self, workload: u32) -> &Triggers {
        self.triggers[workload as usize].as_ref().expect("a workload of a file")
    }

    /// Time of a minimum-size packet from host to host in an idle network.
    pub(super) fn one_way(&self, from: u32, to: u32) -> TimeDelta {
        let min = ByteCount::new(u64::from(Packet::HEADER_BYTES));
        self.topology.ideal_completion(HostId::new(from), HostId::new(to), 0, min, min)
    }

    /// Returns a flow that starts, with its fixed or drawn size.
    pub(super) fn flow(
        &self,
        workload: u32,
        source: HostId,
        destination: HostId,
        index: u64,
        start: Time,
        token: u32,
    ) -> Flow {
        let draw = |bound| {
            let owner = [u64::from(source.get()), self.names[workload as usize], index];
            random::below(&mut self.sizes.of(&owner), bound)
        };
        let size =
            match (self.size_in_group(workload, index), &self.workloads[workload as usize].size) {
                (Some(size), _) => Some(size),
                (None, Size::LongLived) => None,
                (None, Size::Fixed(size)) => Some(size.get()),
                (None, Size::Drawn(sizes)) => Some(sizes.size(draw(WHOLE))),
                (None, Size::Pareto(sizes)) => Some(sizes.size(draw(DRAWS))),
            };
        let size = size.map(ByteCount::new);
        self.sized_flow(workload, source, destination, index, start, token, size)
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of a flow")]
    pub(super) fn sized_flow(
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
        let connection_number = None;
        Flow {
            source,
            destination,
            workload,
            token,
            index,
            size,
            start,
            class,
            switch_random,
            connection_number,
        }
    }

    pub(super) fn listed_flow(
        &self,
        workload: u32,
        source: HostId,
        number: u32,
        index: u64,
        start: Time,
    ) -> Flow {
        let flow = self.listed(workload).flow(number);
        let destination = HostId::new(flow.destination);
        let made = self.sized_flow(workload, source, destination, index, start, number, flow.size);
        Flow { class: flow.class.unwrap_or(made.class), ..made }
    }
}
