//! Builds the applications of hosts from the workloads of a plan.

use std::cmp::Reverse;
use std::sync::Arc;

use trimline_packet::Time;

use super::applications::{Application, Applications, Counts, HostApplications};
use super::arrivals::{ClosedLoop, Connection, OpenLoop, Times};
use super::due::{Due, What};
use super::incasts::{Incasts, Source};
use super::matrix::{jitter, pairs};
use super::queries::{Client, Pace};
use super::setup::Setup;
use crate::plan::{Arrivals, Listed, ListedStart, Matrix, Plan, Queries, Servers, Size, Workload};
use crate::random;

/// Applications of a plan, or the reason why there are none.
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
                | Matrix::RandomPairs { .. }
                | Matrix::AllToAll
                | Matrix::Outcast { .. }
                | Matrix::Pairs(_),
                Arrivals::Periodic { .. } | Arrivals::Poisson { .. } | Arrivals::ClosedLoop { .. },
            ) => self.repeated(place, workload),
        }
    }

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

    /// Adds an application of a host that is not done.
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

    /// Adds a series of flows for each pair of a matrix, or each connection to hosts that are drawn anew.
    fn repeated(&mut self, place: u32, workload: &Workload) -> Result<(), String> {
        let (seed, name) = (self.setup.seed, self.setup.names[place as usize]);
        let pairs = pairs(workload, self.setup.hosts, seed);
        let mut pairs_of = vec![0u32; self.setup.hosts as usize];
        for &(source, destination) in &pairs {
            self.check(source, destination)?;
            pairs_of[source as usize] += 1;
        }
        let mut slots_of = vec![0u32; self.setup.hosts as usize];
        for (source, destination) in pairs {
            let slot = slots_of[source as usize];
            slots_of[source as usize] += 1;
            let connection = Connection { destination, slot, slots: pairs_of[source as usize] };
            let first = workload.start + jitter(workload, seed, source, name, u64::from(slot));
            let draws =
                random::stream(seed, "arrivals", &[u64::from(source), name, u64::from(slot)]);
            let application = match workload.arrivals {
                Arrivals::ClosedLoop { gap, count } => {
                    if self.setup.is_after_end(first) || count == Some(0) {
                        continue;
                    }
                    let next = Some((Time::ZERO + first, false));
                    let closed = ClosedLoop { connection, draws, gap, count, number: 0, next };
                    let sized = u64::from(workload.size.mean_millibytes().is_some());
                    self.counts.known += sized * u64::from(count.unwrap_or(0));
                    Application::Closed(closed)
                }
                Arrivals::Once | Arrivals::Periodic { .. } | Arrivals::Poisson { .. } => {
                    let slots = u64::from(connection.slots);
                    let times = Times::new(workload.arrivals, slots, first, draws);
                    Application::Open(OpenLoop { connection, times, number: 0 })
                }
            };
            self.application(place, source, application);
        }
        Ok(())
    }

    fn incasts(&mut self, place: u32, workload: &Workload) -> Result<(), String> {
        if let Matrix::Incast { receiver, .. } = &workload.matrix {
            self.check(*receiver, *receiver)?;
        }
        let draws =
            random::stream(self.setup.seed, "arrivals", &[self.setup.names[place as usize]]);
        let source = Source {
            times: Times::new(workload.arrivals, 1, workload.start, draws),
            number: 0,
            flows_of: vec![0; self.setup.hosts as usize],
        };
        let first = Arc::new(source.part(self.setup, place));
        for host in 0..self.setup.hosts {
            let incasts = Incasts { part: Arc::clone(&first) };
            let number = self.hosts[host as usize].applications.len() as u32;
            let due = &mut self.hosts[host as usize].due;
            self.counts.to_come += incasts.push(host, place, number, due) as i64;
            if first.source.is_some() {
                self.application(place, host, Application::Incasts(incasts));
            }
        }
        Ok(())
    }

    /// Adds the clients of a workload, whose answers are the next workload.
    fn clients(
        &mut self,
        place: u32,
        workload: &Workload,
        queries: &Queries,
    ) -> Result<(), String> {
        let (seed, name) = (self.setup.seed, self.setup.names[place as usize]);
        for host in queries.each_client(self.setup.hosts) {
            self.check(host, host)?;
            let first = workload.start + jitter(workload, seed, host, name, 0);
            let draws = random::stream(seed, "arrivals", &[u64::from(host), name]);
            let pace = match workload.arrivals {
                Arrivals::ClosedLoop { gap, count } => {
                    if self.setup.is_after_end(first) || count == Some(0) {
                        continue;
                    }
                    if let Servers::Fixed(servers) = queries.servers {
                        let flows = 2 * u64::from(servers) * u64::from(count.unwrap_or(0));
                        self.counts.known += flows;
                    }
                    let next = Some((Time::ZERO + first, false));
                    Pace::Closed { draws, gap, count, next, unanswered: 0 }
                }
                Arrivals::Once | Arrivals::Periodic { .. } | Arrivals::Poisson { .. } => {
                    Pace::Open(Times::new(workload.arrivals, 1, first, draws))
                }
            };
            if let Pace::Open(times) = &pace
                && times.peek().is_none()
            {
                continue;
            }
            let max = queries.max();
            let mut client = Client { pace, query: 0, max, servers: Vec::new(), asked: 0 };
            client.draw(self.setup, place, host);
            self.application(place, host, Application::Client(client));
        }
        Ok(())
    }

    fn listed(&mut self, place: u32, workload: &Workload, listed: &Listed) -> Result<(), String> {
        let sized = listed.flows.iter().filter(|flow| flow.size.is_some());
        self.counts.known += sized.count() as u64;
        self.counts.to_come += listed.flows.len() as i64;
        let mut flows_of = vec![0u64; self.setup.hosts as usize];
        for (number, flow) in (0u32..).zip(&listed.flows) {
            self.check(flow.source, flow.destination)?;
            let own = &mut flows_of[flow.source as usize];
            let index = *own;
            *own += 1;
            if let ListedStart::At(at) = flow.start {
                let (at, what) = (Time::ZERO + workload.start + at, What::Listed(number));
                let due = Due { at, follows: false, workload: place, index, what };
                self.due(flow.source, due);
            }
        }
        Ok(())
    }
}
