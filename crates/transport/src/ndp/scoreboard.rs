//! Feedback for each path, and the temporary removal of outliers (NDP 3.2.3).
//!
//! [`PathPenalty`] has the rule. Three measures keep noise that strikes all paths alike from ever removing one, yet
//! find soon a path that fails after a long good life:
//!
//! * a path begins with `min_nacks` ACKs, so its NACKs must outnumber its real ACKs by `min_nacks`. Without them a path
//!   with the share p of NACKs is most at risk when young: at p = 20 % one in 200 would be removed. With them the
//!   chance is (p / (1 - p))^10, one in a million;
//! * NACKs below half of the answers count only where eight standard deviations exclude chance;
//! * counts are halved at 128 answers, so the past weighs no more than the last 128.
//!
//! Tried: half of the answers alone. Two senders can fill a slow link with their windows and be trimmed in one packet
//! of five for ever, each at three quarters of its rate.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use trimline_packet::{Time, TimeDelta};

use crate::timers::set_back;

use super::config::PathPenalty;

/// Answers to a path's packets after which its counts are halved.
const MEMORY: u8 = 128;

const SIGMAS_SQUARED: u128 = 64;

/// The fields for an answer: eight to a cache line, for it may be about any path.
#[derive(Clone, Copy, Debug)]
struct Score {
    acks: u8,
    nacks: u8,
    losses: u8,
    /// The one packet of a path on probation is in flight.
    probing: bool,
    /// Doublings of the removal; [`Score::NEVER_REMOVED`] before the first one.
    doublings: u16,
    /// ACKs to earn after a removal, one packet at a time, to be like the others.
    probation: u16,
}

impl Score {
    const NEVER_REMOVED: u16 = u16::MAX;
    const LONGEST_PROBATION: u16 = 2;

    const fn of_new_path(benefit: u8) -> Score {
        let doublings = Score::NEVER_REMOVED;
        Score { acks: benefit, nacks: 0, losses: 0, probing: false, doublings, probation: 0 }
    }

    const fn answers(&self) -> u8 {
        self.acks + self.nacks
    }

    /// Min NACKs of an outlier.
    const fn min_nacks(&self, of_good_path: u16) -> u16 {
        match (self.probation, self.doublings) {
            (0, Score::NEVER_REMOVED) => of_good_path,
            (0, _) => 2,
            _ => 1,
        }
    }
}

/// The answers from a sender's paths.
#[derive(Debug)]
pub struct Scoreboard {
    scores: Box<[Score]>,
    /// Ends of removals, also past ones; on probation the end of the wait for an answer; [`Time::NEVER`] while routing
    /// has withdrawn the path, which is not compared.
    removed_until: Box<[Time]>,
    /// Removed paths not yet back in use: mostly empty.
    out_of_use: Vec<u16>,
    min_nacks: u16,
    min_losses: u16,
    benefit: u8,
    /// True if some path may be an outlier.
    alarm: bool,
    /// True if some path may be removed, withdrawn or on probation.
    disturbed: bool,
    permuted_at: Time,
    /// Max wait for an answer on probation.
    probation_timeout: TimeDelta,
    /// Paths back in use after a removal.
    restorations: u64,
}

impl Scoreboard {
    /// Creates a board of new paths.
    pub fn new(count: u16, penalty: &PathPenalty) -> Scoreboard {
        let benefit = penalty.min_nacks.min(u16::from(MEMORY / 2)) as u8;
        let scores = vec![Score::of_new_path(benefit); count as usize];
        Scoreboard {
            scores: scores.into_boxed_slice(),
            removed_until: vec![Time::ZERO; count as usize].into_boxed_slice(),
            out_of_use: Vec::new(),
            min_nacks: penalty.min_nacks,
            min_losses: penalty.min_losses,
            benefit,
            alarm: false,
            disturbed: false,
            permuted_at: Time::ZERO,
            probation_timeout: penalty.removal_max,
            restorations: 0,
        }
    }

    /// Adds new paths until there are `count`.
    pub fn extend(&mut self, count: u16, penalty: &PathPenalty) {
        let more = Scoreboard::new(count, penalty);
        let known = self.scores.len();
        let scores = self.scores.iter().chain(more.scores.get(known..).unwrap_or(&[]));
        self.scores = scores.copied().collect();
        let ends = self.removed_until.iter().chain(more.removed_until.get(known..).unwrap_or(&[]));
        self.removed_until = ends.copied().collect();
    }

    /// Shifts all times when the clock is set back.
    pub fn set_back(&mut self, by: TimeDelta) {
        set_back(&mut self.permuted_at, by);
        self.removed_until.iter_mut().for_each(|until| set_back(until, by));
    }

    /// Returns whether no score needs judging before a permutation.
    #[inline]
    pub const fn is_quiet(&self) -> bool {
        !self.alarm && !self.disturbed
    }

    /// Records a permutation while the board is quiet.
    #[inline]
    pub fn permuted(&mut self, now: Time) {
        self.permuted_at = now;
    }

    fn is_withdrawn(&self, path: usize) -> bool {
        self.removed_until[path] == Time::NEVER
    }

    /// Records an answer from a path on probation. Returns whether its packet was in flight, so that the next one may
    /// go; late answers are no news.
    #[cold]
    fn answered(&mut self, path: u16) -> bool {
        let is_news = core::mem::take(&mut self.scores[path as usize].probing);
        if is_news && !self.is_withdrawn(path as usize) {
            let until = &mut self.removed_until[path as usize];
            *until = (*until).min(self.permuted_at);
        }
        is_news
    }

    /// Marks a path that routing no longer offers.
    pub(super) fn withdraw(&mut self, path: u16) {
        self.removed_until[path as usize] = Time::NEVER;
        self.disturbed = true;
    }

    /// Marks a path that routing offers again as new.
    pub(super) fn restore(&mut self, path: u16) {
        self.scores[path as usize] = Score::of_new_path(self.benefit);
        self.removed_until[path as usize] = Time::ZERO;
        self.out_of_use.retain(|&other| other != path);
        self.disturbed = true;
    }

    #[inline]
    fn halve_at_limit(score: &mut Score) {
        if score.answers() >= MEMORY {
            score.doublings = Score::NEVER_REMOVED;
            score.acks /= 2;
            score.nacks /= 2;
            score.losses /= 2;
        }
    }

    /// Records an ACK for this path.
    #[inline]
    pub fn ack(&mut self, path: u16) {
        if self.scores[path as usize].probation > 0 {
            if !self.answered(path) {
                return;
            }
            let score = &mut self.scores[path as usize];
            score.probation -= 1;
            if score.probation == 0 {
                *score = Score { nacks: 0, acks: self.benefit, ..*score };
            }
        }
        let score = &mut self.scores[path as usize];
        score.acks += 1;
        Scoreboard::halve_at_limit(score);
    }

    /// Records a NACK or a return for this path.
    #[inline]
    pub fn nack(&mut self, path: u16) {
        if self.scores[path as usize].probation > 0 && !self.answered(path) {
            return;
        }
        let score = &mut self.scores[path as usize];
        score.nacks += 1;
        self.alarm |= u16::from(score.nacks) >= score.min_nacks(self.min_nacks);
        Scoreboard::halve_at_limit(score);
    }

    /// Records a loss on this path.
    pub fn loss(&mut self, path: u16) {
        if self.scores[path as usize].probation > 0 && !self.answered(path) {
            return;
        }
        let score = &mut self.scores[path as usize];
        score.losses = (score.losses + 1).min(MEMORY);
        self.alarm |= u16::from(score.losses) >= self.min_losses;
    }

    /// Records a packet on a path, in a round with a path on probation.
    pub fn sent(&mut self, path: u16) {
        if self.scores[path as usize].probation > 0 && !self.is_withdrawn(path as usize) {
            self.scores[path as usize].probing = true;
            self.removed_until[path as usize] =
                self.permuted_at.saturating_add(self.probation_timeout);
        }
    }

    pub(super) fn on_probation(&self) -> bool {
        self.scores.iter().any(|score| score.probation > 0)
    }

    /// Removes the outliers. Returns their number.
    pub fn judge(&mut self, now: Time, penalty: &PathPenalty) -> u32 {
        let (mut answers, mut nacks, mut losses, mut removed) = (0, 0, 0, 0);
        let mut count = 0;
        for (score, &until) in self.scores.iter().zip(&self.removed_until) {
            if until == Time::NEVER {
                continue;
            }
            count += 1;
            answers += u64::from(score.answers());
            nacks += u64::from(score.nacks);
            losses += u64::from(score.losses);
            removed += u64::from(until > now);
        }
        self.permuted_at = now;
        let ratio = u64::from(penalty.ratio);
        let mut offenders = 0;
        let boards = self.scores.iter_mut().zip(&mut self.removed_until);
        for (path, (score, until)) in (0u16..).zip(boards) {
            // NDP 3.2.3-e: half of the paths stay in use.
            if removed >= count / 2 {
                break;
            }
            if *until > now {
                continue;
            }
            let own_nacks = u64::from(score.nacks);
            let own_answers = u64::from(score.answers());
            let trims = u16::from(score.nacks) >= score.min_nacks(penalty.min_nacks)
                && own_nacks * answers >= ratio * nacks * own_answers
                && (2 * own_nacks >= own_answers
                    || exceeds_random_share(own_nacks, own_answers, nacks, answers));
            // NDP 3.2.3-d: outliers with regard to packet loss.
            let loses = u16::from(score.losses) >= penalty.min_losses
                && u64::from(score.losses) * count >= ratio * losses;
            if trims || loses {
                let last = Scoreboard::removal(score.doublings, penalty);
                let soon = until.saturating_add(last * 4) >= now;
                score.doublings = match score.doublings {
                    Score::NEVER_REMOVED => 0,
                    doublings if soon || score.probation > 0 => (doublings + 1).min(30),
                    _ => 0,
                };
                *until = now + Scoreboard::removal(score.doublings, penalty);
                let doublings = score.doublings.min(Score::LONGEST_PROBATION);
                score.probation =
                    if trims { u16::from(self.benefit.max(1)) << doublings } else { 0 };
                score.acks = if trims { 0 } else { self.benefit };
                score.nacks = 0;
                score.losses = 0;
                score.probing = false;
                if !self.out_of_use.contains(&path) {
                    self.out_of_use.push(path);
                }
                removed += 1;
                offenders += 1;
            }
        }
        self.disturbed |= offenders > 0;
        self.alarm = self.scores.iter().any(|score| {
            u16::from(score.nacks) >= score.min_nacks(penalty.min_nacks)
                || u16::from(score.losses) >= penalty.min_losses
        });
        offenders
    }

    fn removal(doublings: u16, penalty: &PathPenalty) -> TimeDelta {
        let doublings = if doublings == Score::NEVER_REMOVED { 0 } else { doublings };
        let ps = penalty.removal.as_ps().saturating_mul(1 << doublings);
        TimeDelta::from_ps(ps.min(penalty.removal_max.as_ps()))
    }

    /// Removes a path that other connections found bad, whatever its score. It comes back without probation; withdrawn
    /// paths stay withdrawn.
    #[cold]
    pub(super) fn remove(&mut self, path: u16, until: Time) {
        let end = &mut self.removed_until[path as usize];
        *end = (*end).max(until);
        if !self.out_of_use.contains(&path) {
            self.out_of_use.push(path);
        }
        self.disturbed = true;
    }

    /// The end of a path's removal: past if the path is in use; [`Time::NEVER`] while routing has withdrawn it.
    pub fn removed_until(&self, path: u16) -> Time {
        self.removed_until[path as usize]
    }

    pub(super) fn restorations(&self) -> u64 {
        self.restorations
    }

    /// Moves the paths in use to the front, in their order. Returns their number.
    pub fn sift(&mut self, now: Time, order: &mut [u16]) -> u16 {
        let mut live = 0;
        for place in 0..order.len() {
            if self.removed_until[order[place] as usize] <= now {
                order.swap(live, place);
                live += 1;
            }
        }
        let removed = self.out_of_use.len();
        let removed_until = &self.removed_until;
        self.out_of_use.retain(|&path| removed_until[path as usize] > now);
        self.restorations += (removed - self.out_of_use.len()) as u64;
        self.disturbed = live < self.scores.len() || self.on_probation();
        live as u16
    }
}

/// Returns whether NACKs lie eight standard deviations above a random share of all answers (hypergeometric
/// distribution).
fn exceeds_random_share(own_nacks: u64, own_answers: u64, nacks: u64, answers: u64) -> bool {
    let excess = u128::from((own_nacks * answers).saturating_sub(own_answers * nacks));
    let spread = u128::from(own_answers * nacks);
    let others = u128::from((answers - nacks) * (answers - own_answers));
    excess * excess * u128::from(answers) >= SIGMAS_SQUARED * spread * others
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ndp::tests::PENALTY;
    use proptest::prelude::*;
    use rand_xoshiro::rand_core::{RngCore, SeedableRng};

    fn at(us: u64) -> Time {
        Time::from_ps(us * 1_000_000)
    }

    fn live(board: &mut Scoreboard, now: Time) -> Vec<u16> {
        let mut order: Vec<u16> = (0..board.scores.len() as u16).collect();
        let live = board.sift(now, &mut order);
        order.truncate(live as usize);
        order
    }

    #[test]
    fn a_path_restoration_is_counted_once() {
        let mut board = Scoreboard::new(4, &PENALTY);
        feed(&mut board, 10, 4, &[1, 2]);
        let restored = |board: &mut Scoreboard, us| {
            live(board, at(us));
            board.restorations()
        };
        assert_eq!(restored(&mut board, 0), 0);
        assert_eq!(board.judge(at(0), &PENALTY), 2);
        assert_eq!([999, 1_000, 1_001].map(|us| restored(&mut board, us)), [0, 2, 2]);
        // The wait for the answer of a probation is no removal.
        board.judge(at(1_001), &PENALTY);
        board.sent(1);
        assert_eq!(live(&mut board, at(1_001)), [0, 2, 3]);
        board.ack(1);
        assert_eq!(restored(&mut board, 1_002), 2);
    }

    /// Feeds `rounds` answers from each of `count` paths, with NACKs on `bad` only.
    fn feed(board: &mut Scoreboard, rounds: usize, count: u16, bad: &[u16]) {
        for _ in 0..rounds {
            for path in 0..count {
                if bad.contains(&path) { board.nack(path) } else { board.ack(path) }
            }
        }
    }

    #[test]
    fn a_path_with_only_nacks_is_removed_at_the_tenth() {
        let mut board = Scoreboard::new(4, &PENALTY);
        feed(&mut board, 9, 4, &[2]);
        assert_eq!(board.judge(at(0), &PENALTY), 0);
        feed(&mut board, 1, 4, &[2]);
        assert_eq!(board.judge(at(0), &PENALTY), 1);
        assert_eq!(live(&mut board, at(0)), [0, 1, 3]);
    }

    #[test]
    fn a_path_that_fails_after_many_acks_is_removed_soon() {
        let mut board = Scoreboard::new(4, &PENALTY);
        feed(&mut board, 100_000, 4, &[]);
        feed(&mut board, 64, 4, &[2]);
        assert_eq!(board.judge(at(0), &PENALTY), 1);
    }

    /// Sends one packet on a path on probation, and answers it.
    fn probe(board: &mut Scoreboard, path: u16, acked: bool) {
        board.sent(path);
        if acked { board.ack(path) } else { board.nack(path) }
    }

    /// NDP 3.2.3-b.
    #[test]
    fn a_removed_path_is_restored_and_repeated_removals_last_twice_as_long() {
        let mut board = Scoreboard::new(4, &PENALTY);
        let mut now = at(0);
        feed(&mut board, 10, 4, &[2]);
        for removal in [1_000, 2_000, 4_000, 4_000] {
            assert_eq!(board.judge(now, &PENALTY), 1);
            let until = now + TimeDelta::from_us(removal);
            assert_eq!(live(&mut board, Time::from_ps(until.as_ps() - 1)), [0, 1, 3]);
            assert_eq!(live(&mut board, until), [0, 1, 2, 3]);
            now = until;
            assert_eq!(board.judge(now, &PENALTY), 0);
            probe(&mut board, 2, false);
        }
    }

    #[test]
    fn on_probation_a_path_carries_one_packet_at_a_time_until_it_has_earned_its_acks() {
        let mut board = Scoreboard::new(4, &PENALTY);
        feed(&mut board, 10, 4, &[2]);
        board.judge(at(0), &PENALTY);
        // Late answers are not news, and do not end the removal.
        board.ack(2);
        board.nack(2);
        assert_eq!(live(&mut board, at(999)), [0, 1, 3]);
        for probe in 0..10 {
            assert_eq!(board.judge(at(1_000 + probe), &PENALTY), 0);
            assert_eq!(live(&mut board, at(1_000 + probe)), [0, 1, 2, 3]);
            board.sent(2);
            assert!(board.on_probation());
            assert_eq!(live(&mut board, at(1_000 + probe)), [0, 1, 3], "while one is out");
            board.ack(2);
        }
        assert!(!board.on_probation());
        // Like the others, but two NACKs are too many until it has been good for long.
        board.sent(2);
        assert_eq!(live(&mut board, at(1_010)), [0, 1, 2, 3]);
        board.nack(2);
        assert_eq!(board.judge(at(1_011), &PENALTY), 0);
        feed(&mut board, 130, 4, &[]);
        (0..9).for_each(|_| board.nack(2));
        assert_eq!(board.judge(at(1_012), &PENALTY), 0);
    }

    #[test]
    fn two_nacks_soon_after_probation_remove_a_path_again() {
        let mut board = Scoreboard::new(16, &PENALTY);
        feed(&mut board, 10, 16, &[2]);
        (0..800).filter(|answer| answer % 16 != 2).for_each(|answer| board.ack(answer % 16));
        board.judge(at(0), &PENALTY);
        for _ in 0..10 {
            board.judge(at(1_000), &PENALTY);
            probe(&mut board, 2, true);
        }
        board.nack(2);
        board.nack(2);
        assert_eq!(board.judge(at(1_100), &PENALTY), 1);
    }

    #[test]
    fn a_path_on_probation_does_not_wait_forever_for_an_answer() {
        let mut board = Scoreboard::new(4, &PENALTY);
        feed(&mut board, 10, 4, &[2]);
        board.judge(at(0), &PENALTY);
        board.judge(at(1_000), &PENALTY);
        board.sent(2);
        assert_eq!(live(&mut board, at(4_999)), [0, 1, 3]);
        assert_eq!(live(&mut board, at(5_000)), [0, 1, 2, 3]);
    }

    /// NDP 3.2.3-d.
    #[test]
    fn two_losses_where_the_others_lose_nothing_remove_a_path() {
        let mut board = Scoreboard::new(4, &PENALTY);
        board.loss(1);
        assert_eq!(board.judge(at(0), &PENALTY), 0);
        board.loss(1);
        assert_eq!(board.judge(at(0), &PENALTY), 1);
        assert_eq!(live(&mut board, at(0)), [0, 2, 3]);
    }

    /// NDP 3.2.3-e.
    #[test]
    fn losses_that_strike_every_path_remove_none() {
        let mut board = Scoreboard::new(8, &PENALTY);
        for _ in 0..50 {
            (0..8).for_each(|path| board.loss(path));
            assert_eq!(board.judge(at(0), &PENALTY), 0);
        }
    }

    /// NDP 3.2.3-e.
    #[test]
    fn a_new_path_with_half_nacks_is_not_removed() {
        let mut board = Scoreboard::new(4, &PENALTY);
        feed(&mut board, 9, 4, &[]);
        feed(&mut board, 10, 4, &[2]);
        assert_eq!(board.judge(at(0), &PENALTY), 0);
    }

    /// NDP 3.2.3-e.
    #[test]
    fn an_outlier_needs_more_nacks_where_every_path_is_trimmed() {
        // One answer in five is a NACK: seventeen in excess may be chance, more than half of all are not.
        for (nacks, removed) in [(30, 0), (56, 1)] {
            let mut board = Scoreboard::new(4, &PENALTY);
            for round in 0..64 {
                for path in 0..4 {
                    let nacked = if path == 2 { round < nacks } else { round % 5 == 0 };
                    if nacked { board.nack(path) } else { board.ack(path) }
                }
            }
            assert_eq!(board.judge(at(0), &PENALTY), removed, "{nacks} of 64");
        }
    }

    #[test]
    fn a_path_shared_by_two_full_windows_is_removed() {
        // One packet in five, for ever: far from half, and no chance.
        let mut board = Scoreboard::new(16, &PENALTY);
        let mut removed = 0;
        for round in 0..100 {
            (0..16).filter(|&path| path != 3).for_each(|path| board.ack(path));
            if round % 5 == 0 {
                board.nack(3)
            } else {
                board.ack(3)
            }
            removed += board.judge(at(0), &PENALTY);
        }
        assert_eq!(removed, 1);
    }

    /// NDP 3.2.3-e.
    #[test]
    fn at_most_half_of_the_paths_are_removed() {
        // With a ratio of one every path can be an outlier.
        let penalty = PathPenalty { ratio: 1, ..PENALTY };
        let mut board = Scoreboard::new(7, &penalty);
        (0..8).for_each(|loss| board.loss(loss % 4));
        assert_eq!(board.judge(at(0), &penalty), 3);
        assert_eq!(live(&mut board, at(0)).len(), 4);
        assert_eq!(board.judge(at(1), &penalty), 0);
        let mut lone = Scoreboard::new(1, &penalty);
        feed(&mut lone, 30, 1, &[0]);
        assert_eq!(lone.judge(at(0), &penalty), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
        /// NACKs that strike all paths alike, whatever their share, never remove one.
        /// NDP 3.2.3-e.
        #[test]
        fn symmetric_noise_removes_no_path(
            seed in any::<u64>(),
            share in 2u64..=20,
            count in prop_oneof![Just(1u16), Just(2), Just(16), Just(36)],
        ) {
            let mut stream = crate::RngStream::seed_from_u64(seed);
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
