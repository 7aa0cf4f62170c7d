//! Repeated incasts: senders drawn anew for each, and the receiver too if it is not given.
//!
//! Senders are drawn for the whole workload, not by each host. Hosts read a shared list, a part of the incasts at a
//! time. The first host at the end of a part makes the next one, always the same. A part is freed when the last host
//! has read it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, OnceLock};

use trimline_packet::Time;
use trimline_transport::RngStream;

use super::arrivals::Times;
use super::due::{Due, What};
use super::matrix::{jitter, order};
use super::setup::Setup;
use crate::plan::{Choose, Matrix, Receivers};
use crate::random;

/// One flow of an incast, of a known host.
#[derive(Clone, Copy)]
pub(super) struct Sends {
    at: Time,
    receiver: u32,
    index: u64,
}

/// A part of the incasts: all that begin before the next part.
pub(super) struct Part {
    /// By host.
    pub(super) flows: Vec<Sends>,
    pub(super) first: Vec<u32>,
    /// Makes the next part, if there is one.
    pub(super) source: Option<Source>,
    pub(super) next: OnceLock<Arc<Part>>,
}

#[derive(Clone)]
pub(super) struct Source {
    pub(super) times: Times,
    pub(super) number: u64,
    /// By host: flows so far.
    pub(super) flows_of: Vec<u64>,
}

impl Source {
    /// Next incasts: enough to make reading them cheap for the hosts.
    pub(super) fn part(mut self, setup: &Setup, place: u32) -> Part {
        let workload = &setup.workloads[place as usize];
        let (name, hosts) = (setup.names[place as usize], setup.hosts);
        const ANY: &Receivers = &Receivers::Any;
        let (fixed, receivers, senders, excluding, choose) = match &workload.matrix {
            Matrix::Incast { receiver, senders, excluding, choose } => {
                (Some(*receiver), ANY, *senders, excluding, *choose)
            }
            Matrix::RandomIncast { senders, receivers, excluding } => {
                (None, receivers, *senders, excluding, Choose::Random)
            }
            _ => panic!("an incast"),
        };
        let may_receive: Vec<u32> = (0..hosts).filter(|host| !excluding.contains(host)).collect();
        let mut drawn: Vec<(u32, Sends)> = Vec::new();
        while let Some(at) = self.times.peek()
            && drawn.len() < 4 * hosts as usize + 256
        {
            let mut draws: RngStream = random::stream(setup.seed, "incast", &[name, self.number]);
            let one_of = |set: &[u32], draws: &mut RngStream| {
                set[random::below(draws, set.len() as u64) as usize]
            };
            let of_all = match (fixed, receivers) {
                (Some(fixed), _) => Some(fixed),
                (None, Receivers::Any) => Some(one_of(&may_receive, &mut draws)),
                (None, Receivers::OneOf(set)) => Some(one_of(set, &mut draws)),
                (None, Receivers::EachOneOf(_)) => None,
            };
            let stays = |host: &u32| receivers.set().contains(host) || excluding.contains(host);
            let mut others: Vec<u32> =
                (0..hosts).filter(|host| Some(*host) != of_all && !stays(host)).collect();
            order(choose, &mut draws, &mut others);
            for &source in &others[..senders as usize] {
                let receiver = of_all.unwrap_or_else(|| one_of(receivers.set(), &mut draws));
                let index = self.flows_of[source as usize];
                self.flows_of[source as usize] += 1;
                let later = jitter(workload, setup.seed, source, name, index);
                drawn.push((source, Sends { at: Time::ZERO + at + later, receiver, index }));
            }
            self.number += 1;
            self.times.advance();
        }
        drawn.sort_by_key(|(source, sends)| (*source, sends.index));
        let first =
            (0..=hosts).map(|host| drawn.partition_point(|&(source, _)| source < host) as u32);
        let first = first.collect();
        let flows = drawn.into_iter().map(|(_, sends)| sends).collect();
        let source = self.times.peek().is_some().then_some(self);
        Part { flows, first, source, next: OnceLock::new() }
    }
}

pub(super) struct Incasts {
    pub(super) part: Arc<Part>,
}

impl Incasts {
    /// Goes on to the next part. Returns whether it is the last part.
    pub(super) fn advance(&mut self, setup: &Setup, place: u32) -> bool {
        let next = self.part.next.get_or_init(|| {
            let source = self.part.source.clone().expect("there are more incasts");
            Arc::new(source.part(setup, place))
        });
        self.part = Arc::clone(next);
        self.part.source.is_none()
    }

    /// Schedules the host's flows in this part, and the look at the next part. Returns the number of flows.
    pub(super) fn push(
        &self,
        host: u32,
        workload: u32,
        number: u32,
        due: &mut BinaryHeap<Reverse<Due>>,
    ) -> usize {
        let bounds = [host, host + 1].map(|host| self.part.first[host as usize] as usize);
        let own = &self.part.flows[bounds[0]..bounds[1]];
        due.extend(own.iter().map(|&Sends { at, receiver, index }| {
            Reverse(Due { at, follows: false, workload, index, what: What::Flow(receiver) })
        }));
        if let Some(at) = self.part.source.as_ref().and_then(|source| source.times.peek()) {
            let (at, what) = (Time::ZERO + at, What::Look(number));
            due.push(Reverse(Due { at, follows: false, workload, index: 0, what }));
        }
        own.len()
    }
}
