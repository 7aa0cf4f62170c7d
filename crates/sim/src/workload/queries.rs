//! Incasts that repeat, and clients that ask servers.

use trimline_packet::{ByteCount, Time, TimeDelta};

use super::arrivals::{gap_of, times};
use super::{Draft, Making, jitter, order, other_than};
use crate::plan::{Arrivals, Choose, Matrix, Queries, Size, Trigger, Workload};
use crate::random;
use crate::triggers::{NONE, Wiring};

impl Making<'_> {
    /// Incast after incast, senders drawn anew for each, the receiver too where it is not given.
    pub(super) fn incasts(&mut self, place: u32, workload: &Workload) -> Result<(), String> {
        let name = random::name_number(&workload.name);
        let seed = self.plan.seed;
        let (fixed, senders, excluding, choose) = match &workload.matrix {
            Matrix::Incast { receiver, senders, excluding, choose } => {
                (Some(*receiver), *senders, &excluding[..], *choose)
            }
            Matrix::RandomIncast { senders } => (None, *senders, &[][..], Choose::Random),
            _ => return Ok(()),
        };
        let mut flows_of = vec![0u32; self.hosts as usize];
        let draws = random::stream(seed, "arrivals", &[name]);
        for (number, at) in (0u64..).zip(times(workload.arrivals, 1, workload.start, draws)) {
            let mut draws = random::stream(seed, "incast", &[name, number]);
            let receiver =
                fixed.unwrap_or_else(|| random::below(&mut draws, u64::from(self.hosts)) as u32);
            let mut others: Vec<u32> = (0..self.hosts)
                .filter(|host| *host != receiver && !excluding.contains(host))
                .collect();
            order(choose, &mut draws, &mut others);
            for &source in &others[..senders as usize] {
                let index = flows_of[source as usize];
                flows_of[source as usize] += 1;
                let later = jitter(workload, seed, source, name, index);
                let draft = Draft {
                    source,
                    destination: receiver,
                    index: u64::from(index),
                    start: Time::ZERO + at + later,
                    wiring: None,
                };
                self.flow(place, workload, draft)?;
            }
        }
        Ok(())
    }

    /// The queries of every client: requests in workload `place`, answers in the next one.
    pub(super) fn queries(
        &mut self,
        place: u32,
        workload: &Workload,
        queries: &Queries,
    ) -> Result<(), String> {
        let clients = match queries.client {
            Some(client) => client..client + 1,
            None => 0..self.hosts,
        };
        let plan = self.plan;
        let Some(responses) = plan.workloads.get(place as usize + 1) else { return Ok(()) };
        let count = u64::from(clients.end - clients.start);
        for (number, client) in (0u64..).zip(clients) {
            let client =
                Client { host: client, number, count, place, workload, queries, responses };
            match workload.arrivals {
                Arrivals::ClosedLoop { .. } => self.closed_queries(&client)?,
                _ => {
                    let first = client.first(plan.seed);
                    let draws = client.stream(plan.seed);
                    for (query, at) in (0u64..).zip(times(workload.arrivals, 1, first, draws)) {
                        let ask = Ask {
                            query,
                            start: Time::ZERO + at,
                            waits_for: NONE,
                            delay: TimeDelta::ZERO,
                        };
                        self.query(&client, ask, NONE)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn closed_queries(&mut self, client: &Client<'_>) -> Result<(), String> {
        let Arrivals::ClosedLoop { gap, count } = client.workload.arrivals else { return Ok(()) };
        let (seed, end) = (self.plan.seed, self.plan.duration);
        let mut draws = client.stream(seed);
        let mut earliest = client.first(seed);
        let mut ask =
            Ask { query: 0, start: Time::ZERO + earliest, waits_for: NONE, delay: TimeDelta::ZERO };
        loop {
            let is_over = count.is_some_and(|count| ask.query >= u64::from(count))
                || end.is_some_and(|end| earliest >= end);
            if is_over {
                return Ok(());
            }
            let next = self.trigger(Trigger::After(client.queries.servers));
            let takes = self.query(client, ask, next)?;
            let delay = gap_of(gap, &mut draws);
            earliest = earliest + takes + delay;
            ask = Ask { query: ask.query + 1, start: Time::NEVER, waits_for: next, delay };
        }
    }

    /// One query; `next` is activated by each answer. Gives what it takes at least.
    fn query(&mut self, client: &Client<'_>, ask: Ask, next: u32) -> Result<TimeDelta, String> {
        let (seed, hosts) = (self.plan.seed, self.hosts);
        let servers = client.servers(seed, hosts, ask.query);
        let mut takes = TimeDelta::ZERO;
        for (nth, server) in (0u64..).zip(servers) {
            let answer = self.trigger(Trigger::After(1));
            let request = Draft {
                source: client.host,
                destination: server,
                index: ask.query * u64::from(client.queries.servers) + nth,
                start: ask.start,
                wiring: Some(Wiring {
                    waits_for: ask.waits_for,
                    delay: ask.delay,
                    on_delivered: answer,
                    on_acknowledged: NONE,
                }),
            };
            let asked = self.flow(client.place, client.workload, request)?;
            let response = Draft {
                source: server,
                destination: client.host,
                index: ask.query * client.count + client.number,
                start: Time::NEVER,
                wiring: Some(Wiring {
                    waits_for: answer,
                    delay: client.queries.service_time,
                    on_delivered: next,
                    on_acknowledged: NONE,
                }),
            };
            let answered = self.flow(client.place + 1, client.responses, response)?;
            let way = |from, to, size: Option<ByteCount>| {
                self.at_least(from, to, size.unwrap_or(ByteCount::ZERO))
            };
            let both = way(client.host, server, asked)
                + client.queries.service_time
                + way(server, client.host, answered);
            takes = takes.max(both);
        }
        Ok(takes)
    }
}

/// When a query begins.
#[derive(Clone, Copy)]
struct Ask {
    query: u64,
    start: Time,
    waits_for: u32,
    delay: TimeDelta,
}

/// One client of a workload.
struct Client<'a> {
    host: u32,
    number: u64,
    count: u64,
    place: u32,
    workload: &'a Workload,
    queries: &'a Queries,
    responses: &'a Workload,
}

impl Client<'_> {
    fn name(&self) -> u64 {
        random::name_number(&self.workload.name)
    }

    fn first(&self, seed: u64) -> TimeDelta {
        self.workload.start + jitter(self.workload, seed, self.host, self.name(), 0)
    }

    fn stream(&self, seed: u64) -> trimline_transport::Stream {
        random::stream(seed, "arrivals", &[u64::from(self.host), self.name()])
    }

    /// The servers of a query: distinct, none of them the client.
    fn servers(&self, seed: u64, hosts: u32, query: u64) -> Vec<u32> {
        let owner = [u64::from(self.host), self.name(), query];
        let mut draws = random::stream(seed, "servers", &owner);
        let wanted = self.queries.servers as usize;
        let mut servers: Vec<u32> = Vec::with_capacity(wanted);
        if wanted * 4 < hosts as usize {
            while servers.len() < wanted {
                let server = other_than(self.host, hosts, &mut draws);
                if !servers.contains(&server) {
                    servers.push(server);
                }
            }
        } else {
            servers.extend((0..hosts).filter(|&host| host != self.host));
            random::shuffle(&mut draws, &mut servers);
            servers.truncate(wanted);
        }
        servers
    }
}

/// The size of a request, unless the workload says.
pub(crate) const REQUEST: Size = Size::Fixed(ByteCount::new(100));
