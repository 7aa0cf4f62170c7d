//! What became of the packets on each path to a peer, over all connections (NDP 3.2.3).
//!
//! A connection judges its paths by what it has seen itself; most requests are over before they have seen
//! anything. So the host keeps a scoreboard for each peer by the same rule, and a connection begins
//! without the paths that others found bad. It is also what people look at.

use std::net::IpAddr;

use trimline_packet::Time;
use trimline_transport::ndp::{PathPenalty, Scoreboard};

/// What became of the packets of data on one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounters {
    /// Packets sent, retransmissions included.
    pub sent: u64,
    /// Of these ACKed.
    pub acked: u64,
    /// Of these NACKed: their headers arrived.
    pub nacked: u64,
    /// Of these returned as headers.
    pub returned: u64,
    /// Of these sent again because nothing was heard.
    pub lost: u64,
    /// Times that the path was removed for being an outlier.
    pub removals: u64,
}

/// A path of the scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathStatus {
    /// The canonical address of the host that it leads to.
    pub peer: IpAddr,
    /// Its number.
    pub path: u16,
    /// The address that its packets go to.
    pub address: IpAddr,
    /// The UDP port that they come from.
    pub source_port: u16,
    /// What became of them.
    pub counters: PathCounters,
    /// Until when new connections do not use it; `None` if they do.
    pub removed_until: Option<Time>,
}

/// The paths to one peer.
#[derive(Debug)]
pub(super) struct Board {
    counters: Vec<PathCounters>,
    judge: Option<Judge>,
}

/// Which paths are to be avoided.
#[derive(Debug)]
struct Judge {
    penalty: PathPenalty,
    scores: Scoreboard,
    /// All paths, those in use in front.
    order: Vec<u16>,
    /// Packets since the paths were judged: a round, as the permutation of a connection.
    round: usize,
    /// Whether each was out before it was judged.
    was_out: Vec<bool>,
}

impl Board {
    /// For so many paths, of which outliers are removed by this rule.
    pub(super) fn new(paths: usize, penalty: Option<&PathPenalty>) -> Board {
        let judge = penalty.map(|penalty| Judge {
            penalty: *penalty,
            scores: Scoreboard::new(paths as u16, penalty),
            order: (0..paths as u16).collect(),
            round: 0,
            was_out: Vec::new(),
        });
        Board { counters: vec![PathCounters::default(); paths], judge }
    }

    /// There are as many paths as this, if there were fewer.
    #[cold]
    fn grow(&mut self, paths: usize) {
        let known = self.counters.len();
        self.counters.resize(paths.max(known), PathCounters::default());
        if let Some(judge) = &mut self.judge {
            judge.scores.extend(paths as u16, &judge.penalty);
            judge.order.extend(known as u16..paths as u16);
        }
    }

    /// A packet of data is sent on a path, perhaps again: then it was lost on the other one.
    #[inline]
    pub(super) fn sent(&mut self, now: Time, path: u16, lost_on: Option<u16>) {
        if usize::from(path) >= self.counters.len() {
            self.grow(usize::from(path) + 1);
        }
        self.counters[usize::from(path)].sent += 1;
        if let Some(lost_on) = lost_on {
            self.counters[usize::from(lost_on)].lost += 1;
        }
        let Some(judge) = &mut self.judge else { return };
        if let Some(lost_on) = lost_on {
            judge.scores.loss(lost_on);
        }
        if !judge.scores.is_quiet() {
            judge.scores.sent(path);
        }
        judge.round += 1;
        if judge.round >= self.counters.len() {
            judge.judge(now, &mut self.counters);
        }
    }

    /// A packet of the path was ACKed.
    #[inline]
    pub(super) fn acked(&mut self, path: u16) {
        self.counters[usize::from(path)].acked += 1;
        if let Some(judge) = &mut self.judge {
            judge.scores.ack(path);
        }
    }

    /// A packet of the path was trimmed, and its header went on or came back.
    pub(super) fn trimmed(&mut self, path: u16, came_back: bool) {
        let counters = &mut self.counters[usize::from(path)];
        match came_back {
            true => counters.returned += 1,
            false => counters.nacked += 1,
        }
        if let Some(judge) = &mut self.judge {
            judge.scores.nack(path);
        }
    }

    /// Whether no path is to be avoided, or was a moment ago.
    pub(super) fn is_quiet(&self) -> bool {
        self.judge.as_ref().is_none_or(|judge| judge.scores.is_quiet())
    }

    /// Each path that is to be avoided now, and until when.
    pub(super) fn avoided(&self, now: Time) -> impl Iterator<Item = (u16, Time)> + '_ {
        let judge = self.judge.as_ref().filter(|judge| !judge.scores.is_quiet());
        judge.into_iter().flat_map(move |judge| {
            let all = 0..self.counters.len() as u16;
            all.map(|path| (path, judge.scores.removed_until(path)))
                .filter(move |&(_, until)| until > now)
        })
    }

    /// What became of the packets, path by path.
    pub(super) fn counters(&self) -> &[PathCounters] {
        &self.counters
    }
}

impl Judge {
    fn judge(&mut self, now: Time, counters: &mut [PathCounters]) {
        self.round = 0;
        if self.scores.is_quiet() {
            return self.scores.permuted(now);
        }
        let out = |scores: &Scoreboard, path| scores.removed_until(path) > now;
        // One that is removed is not judged, so who is out after it and was not before was removed.
        self.was_out.clear();
        self.was_out.extend((0..counters.len() as u16).map(|path| out(&self.scores, path)));
        if self.scores.judge(now, &self.penalty) > 0 {
            for ((path, counters), was_out) in (0..).zip(counters).zip(&self.was_out) {
                counters.removals += u64::from(!was_out && out(&self.scores, path));
            }
        }
        self.scores.sift(now, &mut self.order);
    }
}
