//! Applications start flows: state machines, each at one host.
//!
//! An application receives events of its own host (the last byte of a flow arrived, the last ACK of a flow it sent, a
//! time has come) and starts flows there. Its draws come from streams named by source, workload and index. So nothing
//! here depends on the order in which hosts run.
//!
//! Only a [`Notice`] goes to another host: a trigger of a file that starts flows elsewhere.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::mem;
use std::num::NonZeroU16;
use std::sync::Arc;

use trimline_packet::{HostId, Time};

use super::arrivals::{ClosedLoop, OpenLoop};
use super::due::{Activation, Due, Next, What};
use super::incasts::Incasts;
use super::queries::{Client, answer};
use super::setup::{Asked, Kind, Persistence, Setup};
use crate::flow::Flow;
use crate::plan::Spraying;
use crate::table::Shared;

pub(super) enum Application {
    Open(OpenLoop),
    Closed(ClosedLoop),
    Incasts(Incasts),
    Client(Client),
}

impl Application {
    pub(super) fn next(&self) -> Option<Next> {
        match self {
            Application::Open(open) => open.next(),
            Application::Closed(closed) => closed.next(),
            Application::Incasts(_) => None,
            Application::Client(client) => client.next(),
        }
    }
}

#[derive(Default)]
pub(super) struct HostApplications {
    pub(super) due: BinaryHeap<Reverse<Due>>,
    /// By number: the place of the workload, and the application.
    pub(super) applications: Vec<(u32, Application)>,
    /// By workload and number: activations of file triggers that this host knows of.
    activations: BTreeMap<Activation, u32>,
    /// By workload and index of the answers that this host owes: facts about their requests.
    asked: BTreeMap<(u32, u64), Asked>,
}

impl HostApplications {
    pub(super) fn plan(&mut self, number: u32) {
        let (workload, application) = &self.applications[number as usize];
        let Some(Next { at, follows, index }) = application.next() else { return };
        let (workload, what) = (*workload, What::Application(number));
        self.due.push(Reverse(Due { at, follows, workload, index, what }));
    }
}

/// A message between hosts: a trigger of a file was activated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) at: Time,
    pub(crate) host: u32,
    activation: Activation,
}

/// Counts of one thread of the run.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    /// Sources of flows that are not done: flows to come, unfinished applications, owed answers.
    pub(super) to_come: i64,
    /// Sized flows that are known.
    pub(super) known: u64,
}

/// The applications of all hosts. Mutable state belongs to one host, and to the thread that drives it.
pub(crate) struct Applications {
    pub(super) setup: Arc<Setup>,
    pub(super) hosts: Shared<HostApplications>,
    pub(super) counts: Counts,
    notices: Vec<Notice>,
}

impl Applications {
    pub(super) fn over(setup: Arc<Setup>, hosts: Vec<HostApplications>, counts: Counts) -> Self {
        Applications { setup, hosts: hosts.into(), counts, notices: Vec::new() }
    }

    /// Returns a view for another thread of the run.
    ///
    /// # Safety
    /// See [`Shared::view`]: a host is driven by one thread at a time.
    pub(crate) unsafe fn view(&self) -> Applications {
        Applications {
            setup: Arc::clone(&self.setup),
            // SAFETY: promised by the caller.
            hosts: unsafe { self.hosts.view() },
            counts: Counts::default(),
            notices: Vec::new(),
        }
    }

    pub(crate) fn gather(&mut self, other: &mut Applications) {
        let counts = mem::take(&mut other.counts);
        self.counts.to_come += counts.to_come;
        self.counts.known += counts.known;
    }

    pub(crate) fn names(&self) -> Arc<[u64]> {
        Arc::clone(&self.setup.names)
    }
    pub(crate) fn has_notices(&self) -> bool {
        self.setup.has_notices()
    }
    /// Returns whether each workload uses persistent connections.
    pub(crate) fn keeps(&self) -> Arc<[bool]> {
        self.setup.workloads.iter().map(|workload| workload.connection.is_persistent()).collect()
    }
    /// Returns how each workload uses its connections.
    pub(crate) fn persistence(&self) -> Arc<[Persistence]> {
        self.setup.persistence()
    }
    /// Payload of a workload's full packets, if it differs from the transport's.
    pub(crate) fn payload(&self, workload: u32) -> Option<NonZeroU16> {
        self.setup.workloads[workload as usize].payload
    }
    /// Returns whether a workload's flows between two hosts all have the same paths.
    pub(crate) fn is_per_pair(&self, workload: u32) -> bool {
        self.setup.workloads[workload as usize].spraying == Spraying::PerPair
    }
    pub(crate) fn seed(&self) -> u64 {
        self.setup.seed
    }
    pub(crate) fn any_switch_random(&self) -> bool {
        self.setup.any_switch_random()
    }
    /// Number of known sized flows: all flows that are counted beforehand, and started flows of other workloads.
    pub(crate) fn known(&self) -> u64 {
        self.counts.known
    }
    /// Returns whether only a flow under way can start another flow.
    pub(crate) fn are_done(&self) -> bool {
        self.counts.to_come == 0
    }
    /// Pending notices between hosts; the driver delivers them.
    pub(crate) fn notices(&mut self) -> &mut Vec<Notice> {
        &mut self.notices
    }

    /// Time of a host's next action; never, if it knows of none.
    pub(crate) fn next_start(&self, host: u32) -> Time {
        let first = self.hosts[host as usize].due.peek();
        first.map_or(Time::NEVER, |Reverse(due)| due.at)
    }

    /// Starts the next flow of a host that is due at `now`, if there is one.
    pub(crate) fn start_due(&mut self, host: u32, now: Time) -> Option<Flow> {
        while let Some(&Reverse(due)) = self.hosts[host as usize].due.peek()
            && due.at <= now
        {
            if let Some(flow) = self.start_first(host) {
                return Some(flow);
            }
        }
        None
    }

    /// Performs the first action in a host's list, at any time.
    fn start_first(&mut self, host: u32) -> Option<Flow> {
        let own = &mut self.hosts[host as usize];
        let Reverse(due) = own.due.pop()?;
        let source = HostId::new(host);
        let flow = |destination, token| {
            let destination = HostId::new(destination);
            self.setup.flow(due.workload, source, destination, due.index, due.at, token)
        };
        let flow = match due.what {
            What::Notice(activation) => {
                self.fire(host, activation, due.at);
                return None;
            }
            What::Look(number) => {
                self.schedule_incasts(host, number);
                return None;
            }
            What::Flow(destination) => {
                self.counts.to_come -= 1;
                flow(destination, 0)
            }
            What::Answer(client) => {
                self.counts.to_come -= 1;
                let answer = flow(client, 0);
                match own.asked.remove(&(due.workload, due.index)) {
                    None => answer,
                    Some(Asked { connection_number, at }) => {
                        Flow { connection_number, start: at.unwrap_or(answer.start), ..answer }
                    }
                }
            }
            What::Listed(number) => {
                self.counts.to_come -= 1;
                self.setup.listed_flow(due.workload, source, number, due.index, due.at)
            }
            What::Application(number) => {
                let setup = &self.setup;
                let (_, application) = &mut own.applications[number as usize];
                let (destination, is_done) = match application {
                    Application::Open(open) => open.start_next(setup, due.workload, host),
                    Application::Closed(closed) => closed.start_next(setup, due.workload, host),
                    Application::Client(client) => {
                        self.counts.to_come += 1;
                        client.start_next(setup, due.workload, host)
                    }
                    Application::Incasts(_) => panic!("incasts are flows of their own"),
                };
                let flow = flow(destination, number);
                self.counts.to_come -= i64::from(is_done);
                own.plan(number);
                flow
            }
        };
        if !self.setup.is_counted(flow.workload) {
            self.counts.known += u64::from(flow.size.is_some());
        }
        Some(flow)
    }

    /// Schedules the next incasts of a host.
    fn schedule_incasts(&mut self, host: u32, number: u32) {
        let own = &mut self.hosts[host as usize];
        let (workload, Application::Incasts(incasts)) = &mut own.applications[number as usize]
        else {
            panic!("only incasts are looked for")
        };
        let is_done = incasts.advance(&self.setup, *workload);
        self.counts.to_come += incasts.push(host, *workload, number, &mut own.due) as i64;
        self.counts.to_come -= i64::from(is_done);
    }

    /// Records that the last byte of a flow arrived at its destination.
    pub(crate) fn delivered(&mut self, flow: &Flow, now: Time) {
        let host = flow.destination.get();
        match self.setup.kind(flow.workload) {
            Kind::Plain => {}
            Kind::Requests => {
                let own = &mut self.hosts[host as usize];
                let answer = answer(&self.setup, flow, now);
                if let Some(asked) = self.setup.asked(flow) {
                    own.asked.insert((answer.workload, answer.index), asked);
                }
                own.due.push(Reverse(answer));
            }
            Kind::Responses => self.answered(host, flow, now),
            Kind::Listed => {
                let trigger = self.setup.listed(flow.workload).on_delivered(flow.token);
                self.activate(host, flow.workload, trigger, now);
            }
        }
    }

    /// Records that the last ACK of a flow arrived at its source.
    pub(crate) fn acknowledged(&mut self, flow: &Flow, now: Time) {
        let host = flow.source.get();
        match self.setup.kind(flow.workload) {
            Kind::Plain => {
                let own = &mut self.hosts[host as usize];
                if let Some((_, Application::Closed(closed))) =
                    own.applications.get_mut(flow.token as usize)
                    && self.setup.is_closed(flow.workload)
                {
                    closed.ended(now);
                    own.plan(flow.token);
                }
            }
            Kind::Requests | Kind::Responses => {}
            Kind::Listed => {
                let trigger = self.setup.listed(flow.workload).on_acknowledged(flow.token);
                self.activate(host, flow.workload, trigger, now);
            }
        }
    }

    fn answered(&mut self, host: u32, flow: &Flow, now: Time) {
        let own = &mut self.hosts[host as usize];
        let requests = flow.workload - 1;
        let of_client = |(workload, _): &(u32, Application)| *workload == requests;
        let Some(number) = own.applications.iter().position(of_client) else { return };
        let (_, Application::Client(client)) = &mut own.applications[number] else { return };
        if client.answered(now) {
            own.plan(number as u32);
        }
    }

    /// Activates a trigger of a file after an event at `host`. At other hosts it acts one way later.
    fn activate(&mut self, host: u32, workload: u32, trigger: Option<u32>, now: Time) {
        let Some(trigger) = trigger else { return };
        let activation = Activation { workload, trigger };
        let setup = Arc::clone(&self.setup);
        for target in setup.listed(workload).hosts_of(trigger) {
            if target == host {
                self.fire(host, activation, now);
            } else {
                let at = now + setup.one_way(host, target);
                self.notices.push(Notice { at, host: target, activation });
            }
        }
    }

    pub(crate) fn expect(&mut self, notice: Notice) {
        let Notice { at, host, activation } = notice;
        let what = What::Notice(activation);
        let due = Due { at, follows: false, workload: 0, index: 0, what };
        self.hosts[host as usize].due.push(Reverse(due));
    }

    /// Counts one activation of a trigger at a host, and schedules the flows it starts there.
    fn fire(&mut self, host: u32, activation: Activation, at: Time) {
        let Activation { workload, trigger } = activation;
        let own = &mut self.hosts[host as usize];
        let count = own.activations.entry(activation).or_default();
        *count += 1;
        let listed = self.setup.listed(workload);
        for (flow, index) in listed.started(trigger, host, *count) {
            let what = What::Listed(flow);
            own.due.push(Reverse(Due { at, follows: true, workload, index, what }));
        }
    }

    /// Calls `each` with the flows that did not start before the end of the run, `now`: all flows of files, and others
    /// that would have started by themselves. A flow that waits for its trigger gets the start `now`.
    pub(crate) fn not_started(
        &mut self,
        now: Time,
        each: &mut impl FnMut(Flow) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        for host in 0..self.hosts.len() as u32 {
            while let Some(Reverse(due)) = self.hosts[host as usize].due.peek() {
                if due.follows && !matches!(due.what, What::Listed(_)) {
                    // It waits for other flows: it is no flow yet, nor is anything after it.
                    self.hosts[host as usize].due.pop();
                } else if let Some(flow) = self.start_first(host) {
                    each(flow)?;
                }
            }
        }
        for workload in 0..self.setup.workloads.len() as u32 {
            if self.setup.kind(workload) != Kind::Listed {
                continue;
            }
            let activations = |host: u32, trigger| {
                let of_host = &self.hosts[host as usize].activations;
                of_host.get(&Activation { workload, trigger }).copied().unwrap_or(0)
            };
            for (number, index, source) in self.setup.listed(workload).waiting(activations) {
                let source = HostId::new(source);
                each(self.setup.listed_flow(workload, source, number, index, now))?;
            }
        }
        Ok(())
    }
}
