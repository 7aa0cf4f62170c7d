//! Clients that ask servers, and the servers' answers.
//!
//! # A request stands for its content
//! Packets carry no payload, so a request's content is its identity: its workload, its client and its index there. It
//! is in the flow that reaches the server with the last byte, and all that the server does follows from it: the size
//! of the answer, and how long it takes, are drawn from streams named by the server, the workload of the answers, and
//! the answer's index, which names the client and its query.

use std::ops::Range;

use trimline_packet::Time;
use trimline_transport::Stream;

use super::arrivals::{Times, gap_of};
use super::due::{Due, Next, What};
use super::matrix::other_than;
use super::setup::Setup;
use crate::flow::Flow;
use crate::plan::{Gap, Matrix, Queries, Size};
use crate::random;

/// The hosts that ask.
pub(crate) fn clients(queries: &Queries, hosts: u32) -> Range<u32> {
    match queries.client {
        Some(client) => client..client + 1,
        None => 0..hosts,
    }
}

/// When a client asks.
pub(super) enum Pace {
    Open(Times),
    Closed {
        draws: Stream,
        gap: Gap,
        count: Option<u32>,
        /// When the next query begins, and whether another one was before it; nothing while that one is under way.
        next: Option<(Time, bool)>,
        unanswered: u32,
    },
}

/// One client of a workload.
pub(super) struct Client {
    pub(super) pace: Pace,
    pub(super) query: u64,
    /// Of the query that begins, or comes next.
    pub(super) servers: Vec<u32>,
    /// How many of them were asked.
    pub(super) asked: u32,
}

impl Client {
    pub(super) fn next(&self) -> Option<Next> {
        let (at, follows) = match &self.pace {
            Pace::Open(times) => (Time::ZERO + times.peek()?, false),
            Pace::Closed { next, .. } => (*next)?,
        };
        let index = self.query * self.servers.len() as u64 + u64::from(self.asked);
        Some(Next { at, follows, index })
    }

    /// The next request starts: its server, and whether it is the last one of all.
    pub(super) fn take(&mut self, setup: &Setup, workload: u32, host: u32) -> (u32, bool) {
        let server = self.servers[self.asked as usize];
        self.asked += 1;
        if (self.asked as usize) < self.servers.len() {
            return (server, false);
        }
        self.query += 1;
        self.asked = 0;
        let is_done = match &mut self.pace {
            Pace::Open(times) => {
                times.advance();
                times.peek().is_none()
            }
            Pace::Closed { count, next, unanswered, .. } => {
                *next = None;
                *unanswered = self.servers.len() as u32;
                count.is_some_and(|count| self.query >= u64::from(count))
            }
        };
        if !is_done {
            self.draw(setup, workload, host);
        }
        (server, is_done)
    }

    /// An answer arrived. Whether the client now knows when it asks again.
    pub(super) fn answered(&mut self, now: Time) -> bool {
        let Pace::Closed { draws, gap, count, next, unanswered } = &mut self.pace else {
            return false;
        };
        *unanswered -= 1;
        if *unanswered > 0 || count.is_some_and(|count| self.query >= u64::from(count)) {
            return false;
        }
        *next = Some((now + gap_of(*gap, draws), true));
        true
    }

    /// The servers of the next query: distinct, none of them the client.
    pub(super) fn draw(&mut self, setup: &Setup, workload: u32, host: u32) {
        let Matrix::Requests(queries) = &setup.workloads[workload as usize].matrix else {
            panic!("a client asks")
        };
        let owner = [u64::from(host), setup.names[workload as usize], self.query];
        let mut draws = random::stream(setup.seed, "servers", &owner);
        let (wanted, hosts) = (queries.servers as usize, setup.hosts);
        let servers = &mut self.servers;
        servers.clear();
        let excluding = &queries.excluding;
        if (wanted + excluding.len()) * 4 < hosts as usize {
            while servers.len() < wanted {
                let server = other_than(host, hosts, &mut draws);
                if !servers.contains(&server) && !excluding.contains(&server) {
                    servers.push(server);
                }
            }
        } else {
            let is_server = |other: &u32| *other != host && !excluding.contains(other);
            servers.extend((0..hosts).filter(is_server));
            random::shuffle(&mut draws, servers);
            servers.truncate(wanted);
        }
    }
}

/// What a server does with a request whose last byte has arrived.
pub(super) fn answer(setup: &Setup, request: &Flow, now: Time) -> Due {
    let Matrix::Requests(queries) = &setup.workloads[request.workload as usize].matrix else {
        panic!("a request is of a client's workload")
    };
    let clients = clients(queries, setup.hosts);
    let client = request.source.get();
    let count = u64::from(clients.end - clients.start);
    let query = request.index / u64::from(queries.servers);
    let (workload, index) =
        (request.workload + 1, query * count + u64::from(client - clients.start));
    let server = u64::from(request.destination.get());
    let owner = [server, setup.names[workload as usize], index];
    let mut draws = random::stream(setup.seed, "service", &owner);
    let at = now + gap_of(queries.service_time, &mut draws);
    Due { at, follows: true, workload, index, what: What::Answer(client) }
}

/// The size of a request, unless the workload says.
pub(crate) const REQUEST: Size = Size::Fixed(trimline_packet::ByteCount::new(100));
