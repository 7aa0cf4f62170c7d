//! Clients that ask servers, and the servers' answers.
//!
//! # A request stands for its content
//! Packets carry no payload, so a request's content is its identity: its workload, its client and its index there. It
//! reaches the server with the flow's last byte and decides all that the server does. The answer's size and service
//! time are drawn from streams named by the server, the workload of the answers, and the answer's index, which names
//! the client and its query.

use trimline_packet::Time;
use trimline_transport::RngStream;

use super::arrivals::{Times, gap_of};
use super::due::{Due, Next, What};
use super::matrix::other_than;
use super::setup::Setup;
use crate::flow::Flow;
use crate::plan::{Gap, Servers, Size};
use crate::random;

pub(super) enum Pace {
    Open(Times),
    Closed {
        draws: RngStream,
        gap: Gap,
        count: Option<u32>,
        /// The begin of the next query, and whether it follows another; `None` while a query is under way.
        next: Option<(Time, bool)>,
        unanswered: u32,
    },
}

pub(super) struct Client {
    pub(super) pace: Pace,
    pub(super) query: u64,
    /// The maximum number of requests of a query.
    pub(super) max: u64,
    pub(super) servers: Vec<u32>,
    pub(super) asked: u32,
}

impl Client {
    pub(super) fn next(&self) -> Option<Next> {
        let (at, follows) = match &self.pace {
            Pace::Open(times) => (Time::ZERO + times.peek()?, false),
            Pace::Closed { next, .. } => (*next)?,
        };
        let index = self.query * self.max + u64::from(self.asked);
        Some(Next { at, follows, index })
    }

    /// Starts the next request. Returns its server, and whether it is the client's last request.
    pub(super) fn start_next(&mut self, setup: &Setup, workload: u32, host: u32) -> (u32, bool) {
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

    /// Records that an answer arrived. Returns whether the client now knows when it asks again.
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

    /// Draws the servers of the next query, without the client: distinct if there are enough.
    pub(super) fn draw(&mut self, setup: &Setup, workload: u32, host: u32) {
        let queries = setup.asked_by(workload).expect("a client asks");
        let owner = [u64::from(host), setup.names[workload as usize], self.query];
        let mut draws = random::stream(setup.seed, "servers", &owner);
        let wanted = match &queries.servers {
            Servers::Fixed(servers) => *servers as usize,
            Servers::Groups(groups) => setup.group(groups, workload, host, self.query).1 as usize,
        };
        let hosts = setup.hosts;
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
            // Repeat the order until there are enough servers.
            let others = servers.len();
            while servers.len() < wanted {
                servers.push(servers[servers.len() - others]);
            }
            servers.truncate(wanted);
        }
    }
}

/// Schedules the answer to a request whose last byte has arrived.
pub(super) fn answer(setup: &Setup, request: &Flow, now: Time) -> Due {
    let queries = setup.asked_by(request.workload).expect("a request is of a client's workload");
    let client = request.source.get();
    let (query, asked) = (request.index / queries.max(), request.index % queries.max());
    // Servers are asked in turn: the number of earlier requests to this one.
    let others = u64::from(queries.others_of(client, setup.hosts));
    let again = match queries.servers {
        Servers::Fixed(_) => 0,
        Servers::Groups(_) => asked / others,
    };
    let clients = u64::from(queries.client_count(setup.hosts));
    let asked = query * clients + u64::from(queries.place_of(client));
    let (workload, index) = (request.workload + 1, asked * queries.max_to_one(setup.hosts) + again);
    let server = u64::from(request.destination.get());
    let owner = [server, setup.names[workload as usize], index];
    let mut draws = random::stream(setup.seed, "service", &owner);
    let at = now + gap_of(queries.service_time, &mut draws);
    Due { at, follows: true, workload, index, what: What::Answer(client) }
}

/// The size of a request, unless the workload gives one.
pub(crate) const REQUEST: Size = Size::Fixed(trimline_packet::ByteCount::new(100));
