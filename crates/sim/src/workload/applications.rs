//! What starts flows: state machines, each at one host.
//!
//! An application hears what its own host notices (the last byte of a flow that arrived, the last ACK of one that it
//! sent, a time that has come) and starts flows of its own host. What it draws comes from streams named by source,
//! workload and index. So nothing here depends on the order in which hosts are visited.
//!
//! The one thing that goes to another host is a [`Notice`]: a trigger of a file that starts flows elsewhere.

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

/// One application of a host.
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

/// The applications of one host.
#[derive(Default)]
pub(super) struct HostApplications {
    pub(super) due: BinaryHeap<Reverse<Due>>,
    /// Each with the place of its workload.
    pub(super) applications: Vec<(u32, Application)>,
    /// How often triggers of files, by workload and number, were activated as far as this host knows.
    activations: BTreeMap<Activation, u32>,
    /// By workload and index of the answers that are owed here: what they have to know of their requests.
    asked: BTreeMap<(u32, u64), Asked>,
}

impl HostApplications {
    /// What application `number` does next is due.
    pub(super) fn plan(&mut self, number: u32) {
        let (workload, application) = &self.applications[number as usize];
        let Some(Next { at, follows, index }) = application.next() else { return };
        let (workload, what) = (*workload, What::Application(number));
        self.due.push(Reverse(Due { at, follows, workload, index, what }));
    }
}

/// Something that one host tells another: a trigger of a file was activated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    /// When it arrives.
    pub(crate) at: Time,
    /// Where it arrives.
    pub(crate) host: u32,
    activation: Activation,
}

/// What a thread of the run counted.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    /// What may yet start flows by itself: flows to come, applications that are not done, answers that are owed.
    pub(super) to_come: i64,
    /// Sized flows that are known of.
    pub(super) known: u64,
}

/// The applications of all hosts. What changes belongs to one host, and so to the thread that drives it.
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

    /// The same for another thread of the run.
    ///
    /// # Safety
    /// As [`Shared::view`]: a host is driven by one thread at a time.
    pub(crate) unsafe fn view(&self) -> Applications {
        Applications {
            setup: Arc::clone(&self.setup),
            // SAFETY: promised by the caller.
            hosts: unsafe { self.hosts.view() },
            counts: Counts::default(),
            notices: Vec::new(),
        }
    }

    /// Takes over what the view of another thread counted.
    pub(crate) fn gather(&mut self, other: &mut Applications) {
        let counts = mem::take(&mut other.counts);
        self.counts.to_come += counts.to_come;
        self.counts.known += counts.known;
    }

    /// Hash of each workload's name.
    pub(crate) fn names(&self) -> Arc<[u64]> {
        Arc::clone(&self.setup.names)
    }
    /// Whether hosts tell each other anything.
    pub(crate) fn has_notices(&self) -> bool {
        self.setup.has_notices()
    }
    /// Whether each workload keeps its connections.
    pub(crate) fn keeps(&self) -> Arc<[bool]> {
        self.setup.workloads.iter().map(|workload| workload.connection.is_persistent()).collect()
    }
    /// How.
    pub(crate) fn persistence(&self) -> Arc<[Persistence]> {
        self.setup.persistence()
    }
    /// Payload of a full packet of a workload's flows, if not that of their transport.
    pub(crate) fn payload(&self, workload: u32) -> Option<NonZeroU16> {
        self.setup.workloads[workload as usize].payload
    }
    /// Whether the flows of a workload from one host to another all have the same paths.
    pub(crate) fn is_per_pair(&self, workload: u32) -> bool {
        self.setup.workloads[workload as usize].spraying == Spraying::PerPair
    }
    /// Seed of the run.
    pub(crate) fn seed(&self) -> u64 {
        self.setup.seed
    }
    pub(crate) fn any_switch_random(&self) -> bool {
        self.setup.any_switch_random()
    }
    /// Sized flows that are known of: all of those that are counted beforehand, and of others those that started.
    pub(crate) fn known(&self) -> u64 {
        self.counts.known
    }
    /// Whether nothing will start a flow any more unless one that is under way does.
    pub(crate) fn are_done(&self) -> bool {
        self.counts.to_come == 0
    }
    /// What hosts tell each other: to be delivered by whoever drives them.
    pub(crate) fn notices(&mut self) -> &mut Vec<Notice> {
        &mut self.notices
    }

    /// When a host does something next: never if it does not know.
    pub(crate) fn next_start(&self, host: u32) -> Time {
        let first = self.hosts[host as usize].due.peek();
        first.map_or(Time::NEVER, |Reverse(due)| due.at)
    }

    /// The next flow that a host starts at `now`, if what is due is one.
    pub(crate) fn take_start(&mut self, host: u32, now: Time) -> Option<Flow> {
        while let Some(&Reverse(due)) = self.hosts[host as usize].due.peek()
            && due.at <= now
        {
            if let Some(flow) = self.take(host) {
                return Some(flow);
            }
        }
        None
    }

    /// The first thing that is due at a host, whenever that is.
    fn take(&mut self, host: u32) -> Option<Flow> {
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
                self.look(host, number);
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
                    Application::Open(open) => open.take(setup, due.workload, host),
                    Application::Closed(closed) => closed.take(setup, due.workload, host),
                    Application::Client(client) => {
                        self.counts.to_come += 1;
                        client.take(setup, due.workload, host)
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

    /// Puts the next incasts before a host.
    fn look(&mut self, host: u32, number: u32) {
        let own = &mut self.hosts[host as usize];
        let (workload, Application::Incasts(incasts)) = &mut own.applications[number as usize]
        else {
            panic!("only incasts are looked for")
        };
        let is_done = incasts.advance(&self.setup, *workload);
        self.counts.to_come += incasts.push(host, *workload, number, &mut own.due) as i64;
        self.counts.to_come -= i64::from(is_done);
    }

    /// The last byte of a flow arrived at its destination.
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

    /// The last ACK of a flow arrived at its source.
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

    /// An answer arrived at its client.
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

    /// A trigger of a file is activated by what `host` noticed. At other hosts it acts one way later.
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

    /// A notice will arrive: its host acts on it then.
    pub(crate) fn expect(&mut self, notice: Notice) {
        let Notice { at, host, activation } = notice;
        let what = What::Notice(activation);
        let due = Due { at, follows: false, workload: 0, index: 0, what };
        self.hosts[host as usize].due.push(Reverse(due));
    }

    /// One activation of a trigger, at a host whose flows it starts.
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

    /// The flows that did not start before the end of the run, `now`: those of files, and of others those that would
    /// have started by themselves. A flow that waits for its trigger is given `now` as its start.
    pub(crate) fn not_started(
        &mut self,
        now: Time,
        each: &mut impl FnMut(Flow) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        for host in 0..self.hosts.len() as u32 {
            while let Some(Reverse(due)) = self.hosts[host as usize].due.peek() {
                if due.follows && !matches!(due.what, What::Listed(_)) {
                    // It waits for others: it is no flow yet, and nothing that comes after it is.
                    self.hosts[host as usize].due.pop();
                } else if let Some(flow) = self.take(host) {
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
