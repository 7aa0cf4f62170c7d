//! Feedback for each path, and the temporary removal of outliers (NDP 3.2.3).
//!
//! The rule stands at [`PathPenalty`]. Two things keep noise that strikes all paths alike from ever
//! removing one, and yet let a path that fails after a long good life be found soon:
//!
//! * a path begins with the benefit of `min_nacks` ACKs, so its NACKs must outnumber its real ACKs by
//!   `min_nacks`. Without it a path with the share p of NACKs has its worst moment when it is young:
//!   at p = 20 % one in 200 would be removed. With it the chance is (p / (1 - p))^10, one in a million;
//! * counts are halved at 64 answers, so the past weighs at most as much as the last 64.

use alloc::boxed::Box;
use alloc::vec;

use trimline_packet::{Time, TimeDelta};

use super::config::PathPenalty;

/// Answers to a path's packets after which its counts are halved.
const MEMORY: u16 = 64;

#[derive(Clone, Copy, Debug)]
struct Score {
    acks: u16,
    nacks: u16,
    losses: u16,
    /// Doublings of the removal; [`Score::NEVER_REMOVED`] before the first one.
    doublings: u16,
    /// End of the removal, also after it has passed.
    removed_until: Time,
}

impl Score {
    const NEVER_REMOVED: u16 = u16::MAX;
}

/// What came back from each path of a sender.
#[derive(Debug)]
pub(super) struct Scoreboard {
    scores: Box<[Score]>,
    benefit: u16,
}

impl Scoreboard {
    /// A board on which all paths are new.
    pub(super) fn new(count: u16, penalty: &PathPenalty) -> Scoreboard {
        let benefit = penalty.min_nacks.min(MEMORY / 2);
        let score = Score {
            acks: benefit,
            nacks: 0,
            losses: 0,
            doublings: Score::NEVER_REMOVED,
            removed_until: Time::ZERO,
        };
        Scoreboard { scores: vec![score; count as usize].into_boxed_slice(), benefit }
    }

    #[inline]
    fn halve_at_limit(score: &mut Score) {
        if score.acks + score.nacks >= MEMORY {
            score.acks /= 2;
            score.nacks /= 2;
            score.losses /= 2;
        }
    }

    /// A packet of this path was ACKed.
    #[inline]
    pub(super) fn ack(&mut self, path: u16) {
        let score = &mut self.scores[path as usize];
        score.acks += 1;
        Scoreboard::halve_at_limit(score);
    }

    /// A packet of this path was NACKed or returned.
    #[inline]
    pub(super) fn nack(&mut self, path: u16) {
        let score = &mut self.scores[path as usize];
        score.nacks += 1;
        Scoreboard::halve_at_limit(score);
    }

    /// A packet of this path was lost.
    pub(super) fn loss(&mut self, path: u16) {
        let score = &mut self.scores[path as usize];
        score.losses = (score.losses + 1).min(MEMORY);
    }

    /// Removes the outliers. Gives how many.
    pub(super) fn judge(&mut self, now: Time, penalty: &PathPenalty) -> u32 {
        let count = self.scores.len() as u64;
        let (mut answers, mut nacks, mut losses, mut removed) = (0, 0, 0, 0);
        for score in &self.scores {
            answers += u64::from(score.acks + score.nacks);
            nacks += u64::from(score.nacks);
            losses += u64::from(score.losses);
            removed += u64::from(score.removed_until > now);
        }
        let ratio = u64::from(penalty.ratio);
        let mut offenders = 0;
        for score in &mut self.scores {
            if removed >= count / 2 {
                break;
            }
            let own_nacks = u64::from(score.nacks);
            let own_answers = u64::from(score.acks + score.nacks);
            let trims = score.nacks >= penalty.min_nacks
                && 2 * own_nacks >= own_answers
                && own_nacks * answers >= ratio * nacks * own_answers;
            let loses = score.losses >= penalty.min_losses
                && u64::from(score.losses) * count >= ratio * losses;
            if score.removed_until <= now && (trims || loses) {
                let last = Scoreboard::removal(score.doublings, penalty);
                let soon = score.removed_until.saturating_add(last * 4) >= now;
                score.doublings = match score.doublings {
                    Score::NEVER_REMOVED => 0,
                    doublings if soon => (doublings + 1).min(30),
                    _ => 0,
                };
                score.removed_until = now + Scoreboard::removal(score.doublings, penalty);
                score.acks = self.benefit;
                score.nacks = 0;
                score.losses = 0;
                removed += 1;
                offenders += 1;
            }
        }
        offenders
    }

    fn removal(doublings: u16, penalty: &PathPenalty) -> TimeDelta {
        let doublings = if doublings == Score::NEVER_REMOVED { 0 } else { doublings };
        let ps = penalty.removal.as_ps().saturating_mul(1 << doublings);
        TimeDelta::from_ps(ps.min(penalty.removal_max.as_ps()))
    }

    /// Puts the paths in use in front, in the order in which they are. Gives how many there are.
    pub(super) fn sift(&self, now: Time, order: &mut [u16]) -> u16 {
        let mut live = 0;
        for place in 0..order.len() {
            if self.scores[order[place] as usize].removed_until <= now {
                order.swap(live, place);
                live += 1;
            }
        }
        live as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;
    use rand_xoshiro::rand_core::{RngCore, SeedableRng};

    const PENALTY: PathPenalty = PathPenalty {
        min_nacks: 10,
        min_losses: 2,
        ratio: 2,
        removal: TimeDelta::from_ms(1),
        removal_max: TimeDelta::from_ms(4),
    };

    fn at(us: u64) -> Time {
        Time::from_ps(us * 1_000_000)
    }

    fn live(board: &Scoreboard, now: Time) -> Vec<u16> {
        let mut order: Vec<u16> = (0..board.scores.len() as u16).collect();
        let live = board.sift(now, &mut order);
        order.truncate(live as usize);
        order
    }

    /// `rounds` answers from each of `count` paths, NACKs in `bad` only.
    fn feed(board: &mut Scoreboard, rounds: usize, count: u16, bad: &[u16]) {
        for _ in 0..rounds {
            for path in 0..count {
                if bad.contains(&path) { board.nack(path) } else { board.ack(path) }
            }
        }
    }

    #[test]
    fn a_path_of_nacks_is_removed_at_the_tenth() {
        let mut board = Scoreboard::new(4, &PENALTY);
        feed(&mut board, 9, 4, &[2]);
        assert_eq!(board.judge(at(0), &PENALTY), 0);
        feed(&mut board, 1, 4, &[2]);
        assert_eq!(board.judge(at(0), &PENALTY), 1);
        assert_eq!(live(&board, at(0)), [0, 1, 3]);
    }

    #[test]
    fn a_path_that_fails_after_a_long_good_life_is_removed_soon() {
        let mut board = Scoreboard::new(4, &PENALTY);
        feed(&mut board, 100_000, 4, &[]);
        feed(&mut board, 64, 4, &[2]);
        assert_eq!(board.judge(at(0), &PENALTY), 1);
    }

    #[test]
    fn a_removed_path_is_restored_and_its_removal_doubles_while_it_offends() {
        let mut board = Scoreboard::new(4, &PENALTY);
        let mut now = at(0);
        for removal in [1_000, 2_000, 4_000, 4_000] {
            feed(&mut board, 10, 4, &[2]);
            assert_eq!(board.judge(now, &PENALTY), 1);
            let until = now + TimeDelta::from_us(removal);
            assert_eq!(live(&board, Time::from_ps(until.as_ps() - 1)), [0, 1, 3]);
            assert_eq!(live(&board, until), [0, 1, 2, 3]);
            now = until;
        }
        // Long good, it is a first offender again.
        now += TimeDelta::from_ms(17);
        feed(&mut board, 10, 4, &[2]);
        assert_eq!(board.judge(now, &PENALTY), 1);
        assert_eq!(live(&board, now + TimeDelta::from_ms(1)), [0, 1, 2, 3]);
    }

    #[test]
    fn two_losses_where_the_others_lose_nothing_remove_a_path() {
        let mut board = Scoreboard::new(4, &PENALTY);
        board.loss(1);
        assert_eq!(board.judge(at(0), &PENALTY), 0);
        board.loss(1);
        assert_eq!(board.judge(at(0), &PENALTY), 1);
        assert_eq!(live(&board, at(0)), [0, 2, 3]);
    }

    #[test]
    fn losses_that_strike_every_path_remove_none() {
        let mut board = Scoreboard::new(8, &PENALTY);
        for _ in 0..50 {
            (0..8).for_each(|path| board.loss(path));
            assert_eq!(board.judge(at(0), &PENALTY), 0);
        }
    }

    #[test]
    fn a_young_path_with_half_of_its_answers_negative_is_not_removed() {
        let mut board = Scoreboard::new(4, &PENALTY);
        feed(&mut board, 9, 4, &[]);
        feed(&mut board, 10, 4, &[2]);
        assert_eq!(board.judge(at(0), &PENALTY), 0);
    }

    #[test]
    fn at_most_half_of_the_paths_are_removed() {
        // With a ratio of one every path can be an outlier.
        let penalty = PathPenalty { ratio: 1, ..PENALTY };
        let mut board = Scoreboard::new(7, &penalty);
        feed(&mut board, 30, 7, &[0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(board.judge(at(0), &penalty), 3);
        assert_eq!(live(&board, at(0)).len(), 4);
        assert_eq!(board.judge(at(1), &penalty), 0);
        let mut lone = Scoreboard::new(1, &penalty);
        feed(&mut lone, 30, 1, &[0]);
        assert_eq!(lone.judge(at(0), &penalty), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
        /// NACKs that strike all paths alike, whatever their share, never remove one.
        #[test]
        fn symmetric_noise_removes_no_path(
            seed in any::<u64>(),
            share in 2u64..=20,
            count in prop_oneof![Just(1u16), Just(2), Just(16), Just(36)],
        ) {
            let mut stream = crate::Stream::seed_from_u64(seed);
            let mut board = Scoreboard::new(count, &PENALTY);
            for round in 0..100_000u64 {
                for path in 0..count {
                    let nacked = ((stream.next_u64() >> 32) * 100) >> 32 < share;
                    if nacked { board.nack(path) } else { board.ack(path) }
                }
                prop_assert_eq!(board.judge(at(round), &PENALTY), 0, "round {}", round);
            }
        }
    }
}
