//! The scoreboard of the paths to a peer, over all connections (NDP 3.2.3).
//!
//! Most requests end before their connection can judge its paths. So the host keeps a scoreboard for each peer by the
//! same rule, and a new connection avoids the paths that others found bad. The scoreboard is also shown to people.

use std::net::IpAddr;

use trimline_packet::{Time, TimeDelta};
use trimline_transport::ndp::{PathPenalty, Scoreboard};

/// Counters of the data packets on one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounters {
    /// Packets sent, retransmissions included.
    pub sent: u64,
    /// Packets ACKed.
    pub acked: u64,
    /// Packets NACKed: their headers arrived.
    pub nacked: u64,
    /// Packets returned as headers.
    pub returned: u64,
    /// Packets sent again without an answer.
    pub lost: u64,
    /// Removals of the path as an outlier.
    pub removals: u64,
}

/// A path of the scoreboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathStatus {
    /// The canonical address of the host at its end.
    pub peer: IpAddr,
    /// Its number.
    pub path: u16,
    /// The destination address of its packets.
    pub address: IpAddr,
    /// The UDP source port of its packets.
    pub source_port: u16,
    /// Counters of its packets.
    pub counters: PathCounters,
    /// The time until which new connections avoid it; `None` if they use it.
    pub removed_until: Option<Time>,
    /// Routing has withdrawn it ([`super::Core::withdraw_path`]).
    pub is_withdrawn: bool,
}

#[derive(Debug)]
pub(super) struct Board {
    counters: Vec<PathCounters>,
    penalty: Option<PathPenalty>,
    judge: Option<Judge>,
}

/// The rule that removes outliers, with its state.
#[derive(Debug)]
struct Judge {
    scores: Scoreboard,
    /// All paths, those in use first.
    order: Vec<u16>,
    /// Packets since the last judgement. A round is one packet for each path.
    round: usize,
    /// True for a path that was removed before the judgement.
    was_out: Vec<bool>,
}

impl Board {
    pub(super) fn new(paths: usize, penalty: Option<&PathPenalty>) -> Board {
        let mut board = Board { counters: Vec::new(), penalty: penalty.copied(), judge: None };
        board.grow(paths);
        board
    }

    #[cold]
    fn grow(&mut self, paths: usize) {
        let known = self.counters.len();
        self.counters.resize(paths.max(known), PathCounters::default());
        match (&mut self.judge, &self.penalty) {
            (Some(judge), Some(penalty)) => {
                judge.scores.extend(paths as u16, penalty);
                judge.order.extend(known as u16..paths as u16);
            }
            // An only path is never removed.
            (judge @ None, Some(penalty)) if paths > 1 => {
                *judge = Some(Judge {
                    scores: Scoreboard::new(paths as u16, penalty),
                    order: (0..paths as u16).collect(),
                    round: 0,
                    was_out: Vec::new(),
                });
            }
            _ => {}
        }
    }

    /// Records a transmission. `lost_on` is the path that lost the previous one.
    #[inline]
    pub(super) fn sent(&mut self, now: Time, path: u16, lost_on: Option<u16>) {
        if usize::from(path) >= self.counters.len() {
            self.grow(usize::from(path) + 1);
        }
        self.counters[usize::from(path)].sent += 1;
        if let Some(lost_on) = lost_on {
            self.counters[usize::from(lost_on)].lost += 1;
        }
        let (Some(judge), Some(penalty)) = (&mut self.judge, &self.penalty) else { return };
        if let Some(lost_on) = lost_on {
            judge.scores.loss(lost_on);
        }
        if !judge.scores.is_quiet() {
            judge.scores.sent(path);
        }
        judge.round += 1;
        if judge.round >= self.counters.len() {
            judge.judge(now, penalty, &mut self.counters);
        }
    }

    #[inline]
    pub(super) fn acked(&mut self, path: u16) {
        self.counters[usize::from(path)].acked += 1;
        if let Some(judge) = &mut self.judge {
            judge.scores.ack(path);
        }
    }

    /// Records a trimmed packet, whose header went on or came back.
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

    pub(super) fn set_back(&mut self, by: TimeDelta) {
        if let Some(judge) = &mut self.judge {
            judge.scores.set_back(by);
        }
    }

    /// Returns whether no path is avoided, or was until lately.
    pub(super) fn is_quiet(&self) -> bool {
        self.judge.as_ref().is_none_or(|judge| judge.scores.is_quiet())
    }

    pub(super) fn avoided(&self, now: Time) -> impl Iterator<Item = (u16, Time)> + '_ {
        let judge = self.judge.as_ref().filter(|judge| !judge.scores.is_quiet());
        judge.into_iter().flat_map(move |judge| {
            let all = 0..self.counters.len() as u16;
            all.map(|path| (path, judge.scores.removed_until(path)))
                .filter(move |&(_, until)| until > now)
        })
    }

    pub(super) fn counters(&self) -> &[PathCounters] {
        &self.counters
    }
}

impl Judge {
    fn judge(&mut self, now: Time, penalty: &PathPenalty, counters: &mut [PathCounters]) {
        self.round = 0;
        if self.scores.is_quiet() {
            return self.scores.permuted(now);
        }
        let out = |scores: &Scoreboard, path| scores.removed_until(path) > now;
        // A removed path is not judged, so a path that is out now and was not before has been removed.
        self.was_out.clear();
        self.was_out.extend((0..counters.len() as u16).map(|path| out(&self.scores, path)));
        if self.scores.judge(now, penalty) > 0 {
            for ((path, counters), was_out) in (0..).zip(counters).zip(&self.was_out) {
                counters.removals += u64::from(!was_out && out(&self.scores, path));
            }
        }
        self.scores.sift(now, &mut self.order);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PENALTY: PathPenalty = PathPenalty {
        min_nacks: 10,
        min_losses: 2,
        ratio: 2,
        removal: TimeDelta::from_ms(20),
        removal_max: TimeDelta::from_ms(80),
    };

    fn at(ms: u64) -> Time {
        Time::ZERO + TimeDelta::from_ms(ms)
    }

    /// Sends rounds over four paths at one instant; `is_trimmed` selects packets whose headers arrive.
    fn rounds(board: &mut Board, now: Time, count: u32, is_trimmed: impl Fn(u32, u16) -> bool) {
        for round in 0..count {
            for path in 0..4 {
                board.sent(now, path, None);
                match is_trimmed(round, path) {
                    true => board.trimmed(path, false),
                    false => board.acked(path),
                }
            }
        }
    }

    fn avoided(board: &Board, now: Time) -> Vec<u16> {
        board.avoided(now).map(|(path, _)| path).collect()
    }

    #[test]
    fn a_lossy_path_is_avoided_for_a_while_and_then_restored() {
        let mut board = Board::new(4, Some(&PENALTY));
        rounds(&mut board, at(1), 5, |_, _| false);
        for _ in 0..2 {
            board.sent(at(1), 0, None);
            board.sent(at(1), 1, Some(0));
        }
        rounds(&mut board, at(2), 2, |_, _| false);
        assert_eq!(board.avoided(at(3)).collect::<Vec<_>>(), [(0, at(1) + PENALTY.removal)]);
        assert_eq!((board.counters()[0].lost, board.counters()[0].removals), (2, 1));
        assert_eq!(avoided(&board, at(22)), [0; 0]);
        rounds(&mut board, at(22), 2, |_, _| false);
        assert!(board.is_quiet(), "nothing is left to look after");
    }

    #[test]
    fn a_path_that_is_trimmed_is_avoided_until_it_has_earned_ten_acks() {
        let mut board = Board::new(4, Some(&PENALTY));
        while board.counters()[2].removals == 0 {
            rounds(&mut board, at(1), 1, |_, path| path == 2);
        }
        assert_eq!(avoided(&board, at(2)), [2]);
        // After its return, one packet is out at a time.
        rounds(&mut board, at(30), 1, |_, _| false);
        board.sent(at(30), 2, None);
        assert_eq!(avoided(&board, at(31)), [2]);
        board.acked(2);
        assert_eq!(avoided(&board, at(31)), [0; 0]);
        rounds(&mut board, at(31), 7, |_, _| false);
        assert!(!board.is_quiet());
        rounds(&mut board, at(31), 4, |_, _| false);
        assert_eq!(avoided(&board, at(31)), [0; 0]);
        assert!(board.is_quiet());
        assert_eq!(board.counters()[2].removals, 1);
    }

    #[test]
    fn a_few_headers_among_many_acks_remove_no_path() {
        let mut board = Board::new(4, Some(&PENALTY));
        rounds(&mut board, at(1), 110, |round, path| path == 2 && round % 9 == 0);
        assert_eq!(board.counters()[2].nacked, 13);
        assert_eq!(avoided(&board, at(1)), [0; 0]);
    }

    #[test]
    fn an_only_path_is_judged_after_other_paths_join() {
        let mut board = Board::new(1, Some(&PENALTY));
        board.sent(at(1), 0, None);
        rounds(&mut board, at(1), 5, |_, _| false);
        for _ in 0..2 {
            board.sent(at(1), 0, None);
            board.sent(at(1), 1, Some(0));
        }
        rounds(&mut board, at(2), 2, |_, _| false);
        assert_eq!(avoided(&board, at(3)), [0]);
    }

    #[test]
    fn without_path_penalties_answers_are_counted() {
        let mut board = Board::new(1, None);
        board.sent(at(0), 0, None);
        board.sent(at(0), 3, Some(0));
        board.trimmed(3, true);
        let counted = |path: usize| {
            let seen = board.counters()[path];
            [seen.sent, seen.acked, seen.nacked, seen.returned, seen.lost]
        };
        assert_eq!((counted(0), counted(3)), ([1, 0, 0, 0, 1], [1, 0, 0, 1, 0]));
        assert!(board.is_quiet());
    }
}
