//! Chooses the path of each packet, and learns from what became of packets: one object with [`PathChooser::next_path`] and
//! [`PathChooser::feedback`].
//!
//! Rounds go over numbers, one for each path. The list is put into an order in which neighbours have no link in common
//! where it has paths through one up-link side by side. UET has numbers (entropy values) that switches hash: with
//! [`PathChooser::hashed`] each number stands for a drawn path, so that two may share one. State by path is
//! sparse: a path that was never bad takes no memory. The rules are those of uet-htsim (uec_mp.cpp at 40ccb05) and, for
//! REPS, of its paper (Bonato et al. 2024), which the code cites. Where uet-htsim reports a time-out for path 0,
//! whichever lost the packet, this reports the path of the packet.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use rand_xoshiro::rand_core::RngCore;
use smallvec::SmallVec;
use trimline_packet::{PathId, Time, TimeDelta};

use crate::spray::Spray;
use crate::{PathList, RngStream};

/// The fate of a packet on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// It arrived without a mark.
    Good,
    /// It arrived marked.
    Marked,
    /// A switch trimmed it.
    Trimmed,
    /// It was not answered in time.
    TimedOut,
}

/// A rule for the paths of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChoice {
    /// One packet on each path in a drawn order, then another order (NDP 3.1.1). It does not learn.
    Permutation,
    /// A path drawn for each packet. It does not learn.
    Random,
    /// One packet on each path, in the order of numbers XORed with one that is drawn for each round. It does not learn.
    Oblivious,
    /// Rounds as with [`PathChoice::Oblivious`], without paths that have a penalty.
    Bitmap,
    /// REPS: paths whose packets arrived unmarked are used again, each once; otherwise a drawn one.
    Reps {
        /// Time for which only known paths are used after a time-out (freezing); 0: never.
        freeze: TimeDelta,
    },
    /// A path whose packet arrived unmarked, each once, otherwise by the bitmap.
    Mixed,
}

/// The paths of a flow's packets.
#[derive(Debug)]
pub struct PathChooser(Rule);

#[derive(Debug)]
enum Rule {
    Permutation(Spray),
    ByNumber(Box<Numbered>),
}

#[derive(Debug)]
struct Numbered {
    /// The path of each number.
    paths: PathList,
    /// Numbers that are drawn onto paths; `None`: each path has one.
    entropies: Option<u16>,
    stream: RngStream,
    choice: PathChoice,
    rounds: Rounds,
    penalties: Penalties,
    recycled: Recycled,
}

/// Rounds over all numbers below a power of two.
#[derive(Debug, Default)]
struct Rounds {
    position: u32,
    drawn: u32,
}

/// Penalties of paths that have one, by number.
#[derive(Debug, Default)]
struct Penalties {
    sums: SmallVec<[(u16, u8); 4]>,
    /// A bit for each number up to the highest that ever had one: most numbers are looked at only to skip them.
    has_one: SmallVec<[u64; 1]>,
}

/// uet-htsim: the max penalty, which is also a time-out's.
const MAX_PENALTY: u8 = 15;

/// Paths of packets that arrived unmarked.
#[derive(Debug)]
enum Recycled {
    /// Without bound, each used once.
    List(VecDeque<u16>),
    Ring(Ring),
}

/// uet-htsim, REPS: paths in the ring.
const RING: usize = 8;
/// uet-htsim: packets on drawn paths after freezing. The paper has a window of them.
const EXPLORED: u8 = 16;

#[derive(Debug, Default)]
struct Ring {
    paths: [u16; RING],
    /// Paths that were not used since they were written: the last ones before `head`.
    fresh: usize,
    written: usize,
    head: usize,
    frozen_until: Option<Time>,
    frozen_next: usize,
    explores: u8,
}

const fn bit_of(path: u16) -> (usize, u64) {
    (path as usize / 64, 1 << (path % 64))
}

fn draw(stream: &mut RngStream, bound: u32) -> u32 {
    // The bias of the multiplication is below 2^-16.
    (((stream.next_u64() >> 32) * u64::from(bound)) >> 32) as u32
}

impl Rounds {
    #[inline]
    fn next(&mut self, count: u32, stream: &mut RngStream) -> u16 {
        let size = count.next_power_of_two();
        loop {
            if self.position == 0 {
                self.drawn = draw(stream, size);
            }
            let number = self.position ^ self.drawn;
            self.position = (self.position + 1) & (size - 1);
            if number < count {
                return number as u16;
            }
        }
    }
}

impl Penalties {
    fn place_of(&self, path: u16) -> Result<usize, usize> {
        self.sums.binary_search_by_key(&path, |&(path, _)| path)
    }

    fn add(&mut self, path: u16, penalty: u8) {
        match self.place_of(path) {
            Ok(place) => {
                let sum = self.sums[place].1.saturating_add(penalty);
                self.sums[place].1 = sum.min(MAX_PENALTY);
            }
            Err(place) => {
                self.sums.insert(place, (path, penalty));
                let (word, bit) = bit_of(path);
                if self.has_one.len() <= word {
                    self.has_one.resize(word + 1, 0);
                }
                self.has_one[word] |= bit;
            }
        }
    }

    /// Returns whether a path has a penalty.
    #[inline]
    fn has(&self, path: u16) -> bool {
        let (word, bit) = bit_of(path);
        self.has_one.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// Takes one off the penalty of a path.
    fn take_one(&mut self, path: u16) {
        let Ok(place) = self.place_of(path) else { return };
        self.sums[place].1 -= 1;
        if self.sums[place].1 == 0 {
            self.sums.remove(place);
            let (word, bit) = bit_of(path);
            self.has_one[word] &= !bit;
        }
    }
}

impl Ring {
    fn add(&mut self, path: u16) {
        self.paths[self.head] = path;
        self.head = (self.head + 1) % RING;
        self.fresh = (self.fresh + 1).min(RING);
        self.written = (self.written + 1).min(RING);
    }

    /// Returns the path to use again; `None`: draw one.
    fn next(&mut self) -> Option<u16> {
        if self.explores > 0 {
            self.explores -= 1;
            return None;
        }
        if self.frozen_until.is_some() {
            self.frozen_next = (self.frozen_next + 1) % self.written.max(1);
            return (self.written > 0).then(|| self.paths[self.frozen_next]);
        }
        let oldest = (self.head + RING - self.fresh) % RING;
        self.fresh = self.fresh.checked_sub(1)?;
        Some(self.paths[oldest])
    }

    fn feedback(&mut self, now: Time, path: u16, feedback: Feedback, freeze: TimeDelta) {
        let may_freeze = freeze > TimeDelta::ZERO && self.explores == 0;
        if feedback == Feedback::TimedOut && may_freeze && self.frozen_until.is_none() {
            self.frozen_until = Some(now.saturating_add(freeze));
        }
        if self.frozen_until.is_some_and(|until| now > until) {
            *self = Ring { explores: EXPLORED, ..Ring::default() };
        }
        if feedback == Feedback::Good {
            self.add(path);
        }
    }
}

impl PathChooser {
    /// Chooses among `paths`, with draws from `stream`.
    ///
    /// # Panics
    /// Panics if `paths` is empty.
    pub fn new(choice: PathChoice, paths: PathList, stream: RngStream) -> PathChooser {
        PathChooser::hashed(choice, None, paths, stream)
    }

    /// Chooses as [`PathChooser::new`] does, among so many numbers that stand for drawn paths, as where switches hash
    /// them. The permutation has no numbers.
    ///
    /// # Panics
    /// Panics if `paths` is empty.
    pub fn hashed(
        choice: PathChoice,
        entropies: Option<u16>,
        paths: PathList,
        stream: RngStream,
    ) -> PathChooser {
        assert!(!paths.is_empty(), "a connection has at least one path");
        if choice == PathChoice::Permutation {
            return PathChooser(Rule::Permutation(Spray::new(paths, stream)));
        }
        let mut numbered = Numbered {
            paths: PathList::new(),
            entropies: entropies.map(|count| count.max(1)),
            stream,
            choice,
            rounds: Rounds::default(),
            penalties: Penalties::default(),
            recycled: recycled(choice),
        };
        numbered.take_paths(&paths);
        PathChooser(Rule::ByNumber(Box::new(numbered)))
    }

    /// Uses these paths from now on, and forgets what it learned; an empty list changes nothing.
    pub fn replace(&mut self, paths: PathList) {
        match &mut self.0 {
            Rule::Permutation(spray) => spray.replace(paths),
            Rule::ByNumber(numbered) if !paths.is_empty() => {
                numbered.take_paths(&paths);
                (numbered.rounds, numbered.penalties) = (Rounds::default(), Penalties::default());
                numbered.recycled = recycled(numbered.choice);
            }
            Rule::ByNumber(_) => {}
        }
    }

    /// Returns the path of the next packet.
    pub fn next_path(&mut self) -> PathId {
        self.next_numbered().1
    }

    /// Returns number and path of the next packet.
    pub fn next_numbered(&mut self) -> (u16, PathId) {
        match &mut self.0 {
            Rule::Permutation(spray) => (0, spray.next_path()),
            Rule::ByNumber(numbered) => {
                let number = numbered.next();
                (number, numbered.paths[usize::from(number)])
            }
        }
    }

    /// Learns the fate of a packet with a number on a path. A number that routing has moved to another path is ignored.
    pub fn learn(&mut self, now: Time, (number, path): (u16, PathId), feedback: Feedback) {
        let Rule::ByNumber(numbered) = &mut self.0 else { return };
        if numbered.paths.get(usize::from(number)) == Some(&path) {
            numbered.feedback(now, number, feedback);
        }
    }

    /// Learns the fate of a packet on a path. A path that is no longer in the list is ignored.
    pub fn feedback(&mut self, now: Time, path: PathId, feedback: Feedback) {
        let Rule::ByNumber(numbered) = &mut self.0 else { return };
        let is_at = |place: usize| numbered.paths.get(place) == Some(&path);
        // Most lists are 0, 1, 2 ...
        let place = Some(path.index()).filter(|&place| is_at(place));
        let place = place.or_else(|| numbered.paths.iter().position(|&known| known == path));
        if let Some(place) = place {
            numbered.feedback(now, place as u16, feedback);
        }
    }
}

fn recycled(choice: PathChoice) -> Recycled {
    match choice {
        PathChoice::Reps { .. } => Recycled::Ring(Ring::default()),
        PathChoice::Permutation
        | PathChoice::Random
        | PathChoice::Oblivious
        | PathChoice::Bitmap
        | PathChoice::Mixed => Recycled::List(VecDeque::new()),
    }
}

/// Returns paths in the order of their places with the bits reversed: of a list that goes through one up-link after
/// the other, the first so many paths have each a different one.
fn spread(paths: &PathList) -> PathList {
    let bits = paths.len().next_power_of_two().trailing_zeros();
    let places = (0..1_usize << bits).map(|place| match bits {
        0 => 0,
        bits => place.reverse_bits() >> (usize::BITS - bits),
    });
    places.filter_map(|place| paths.get(place).copied()).collect()
}

impl Numbered {
    fn take_paths(&mut self, paths: &PathList) {
        let count = paths.len() as u32;
        self.paths = match self.entropies {
            None => spread(paths),
            Some(entropies) => {
                (0..entropies).map(|_| paths[draw(&mut self.stream, count) as usize]).collect()
            }
        };
    }

    fn count(&self) -> u32 {
        self.paths.len() as u32
    }

    fn next(&mut self) -> u16 {
        let count = self.count();
        if count == 1 {
            return 0;
        }
        let again = match &mut self.recycled {
            Recycled::List(list) => list.pop_front(),
            Recycled::Ring(ring) => ring.next(),
        };
        match (again, self.choice) {
            (Some(path), _) => path,
            (None, PathChoice::Oblivious) => self.rounds.next(count, &mut self.stream),
            (None, PathChoice::Bitmap | PathChoice::Mixed) => self.without_penalty(count),
            (None, PathChoice::Random | PathChoice::Permutation | PathChoice::Reps { .. }) => {
                draw(&mut self.stream, count) as u16
            }
        }
    }

    /// uet-htsim: skips paths with a penalty and takes one off the first of them; after a round the next one goes, bad
    /// or not.
    fn without_penalty(&mut self, count: u32) -> u16 {
        let mut path = self.rounds.next(count, &mut self.stream);
        if !self.penalties.has(path) {
            return path;
        }
        self.penalties.take_one(path);
        for _ in 0..count {
            path = self.rounds.next(count, &mut self.stream);
            if !self.penalties.has(path) {
                break;
            }
        }
        path
    }

    fn feedback(&mut self, now: Time, path: u16, feedback: Feedback) {
        match (self.choice, &mut self.recycled) {
            (PathChoice::Reps { freeze }, Recycled::Ring(ring)) => {
                ring.feedback(now, path, feedback, freeze);
            }
            (PathChoice::Mixed, Recycled::List(list)) if feedback == Feedback::Good => {
                list.push_back(path);
            }
            (PathChoice::Mixed | PathChoice::Bitmap, _) => match feedback {
                Feedback::Good => {}
                Feedback::Marked => self.penalties.add(path, 1),
                Feedback::Trimmed => self.penalties.add(path, 4),
                Feedback::TimedOut => self.penalties.add(path, MAX_PENALTY),
            },
            (PathChoice::Permutation | PathChoice::Random | PathChoice::Oblivious, _)
            | (PathChoice::Reps { .. }, Recycled::List(_)) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;
    use rand_xoshiro::rand_core::SeedableRng;

    const FREEZE: TimeDelta = TimeDelta::from_ms(10);
    const ALL: [PathChoice; 7] = [
        PathChoice::Permutation,
        PathChoice::Random,
        PathChoice::Oblivious,
        PathChoice::Bitmap,
        PathChoice::Reps { freeze: FREEZE },
        PathChoice::Reps { freeze: TimeDelta::ZERO },
        PathChoice::Mixed,
    ];

    fn chooser(choice: PathChoice, count: u16) -> PathChooser {
        let paths = (0..count).map(PathId::new).collect();
        PathChooser::new(choice, paths, RngStream::seed_from_u64(3))
    }

    fn round(chooser: &mut PathChooser, count: u16) -> Vec<u16> {
        (0..count).map(|_| chooser.next_path().get()).collect()
    }

    fn tell(chooser: &mut PathChooser, path: u16, feedback: Feedback) {
        chooser.feedback(Time::ZERO, PathId::new(path), feedback);
    }

    #[test]
    fn a_round_takes_each_path_once_in_another_order() {
        for choice in [PathChoice::Oblivious, PathChoice::Bitmap, PathChoice::Mixed] {
            for count in [1, 2, 3, 100, 128] {
                let mut chooser = chooser(choice, count);
                let rounds: Vec<Vec<u16>> = (0..9).map(|_| round(&mut chooser, count)).collect();
                for round in &rounds {
                    let paths: BTreeSet<u16> = round.iter().copied().collect();
                    assert_eq!(paths.len(), usize::from(count), "{choice:?}");
                }
                let orders: BTreeSet<&Vec<u16>> = rounds.iter().collect();
                assert!(orders.len() > 1 || count < 3, "{choice:?} {count}");
            }
        }
    }

    /// Paths 0 to 7 have one up-link, 8 to 15 the next.
    #[test]
    fn packets_in_a_row_take_different_up_links() {
        for choice in [PathChoice::Oblivious, PathChoice::Bitmap, PathChoice::Mixed] {
            let mut chooser = chooser(choice, 64);
            for _ in 0..20 {
                let up_links: BTreeSet<u16> =
                    round(&mut chooser, 8).iter().map(|path| path / 8).collect();
                assert_eq!(up_links.len(), 8, "{choice:?}");
            }
        }
        let mut chooser = chooser(PathChoice::Oblivious, 36);
        for _ in 0..20 {
            let paths = round(&mut chooser, 36);
            let same = paths.windows(2).filter(|pair| pair[0] / 6 == pair[1] / 6).count();
            assert!(same <= 4, "{paths:?}");
        }
    }

    /// Rounds, from 1, after which a path is used again.
    fn used_again(feedback: &[Feedback]) -> usize {
        let mut chooser = chooser(PathChoice::Bitmap, 128);
        round(&mut chooser, 128);
        feedback.iter().for_each(|&feedback| tell(&mut chooser, 77, feedback));
        // A round without path 77 is one packet shorter.
        let mut number = 1;
        loop {
            let Rule::ByNumber(numbered) = &chooser.0 else { panic!("by number") };
            let before = numbered.penalties.sums.len();
            let paths = round(&mut chooser, 128 - before as u16);
            if paths.contains(&77) {
                return number;
            }
            number += 1;
        }
    }

    #[test]
    fn a_penalty_keeps_a_path_out_for_as_many_rounds() {
        use Feedback::{Good, Marked, TimedOut, Trimmed};
        assert_eq!(used_again(&[Good]), 1);
        assert_eq!(used_again(&[Marked]), 2);
        assert_eq!(used_again(&[Trimmed]), 5, "in its fifth round");
        assert_eq!(used_again(&[TimedOut]), 16);
        assert_eq!(used_again(&[Trimmed, Trimmed, Trimmed, Trimmed, TimedOut]), 16, "15 at most");
        assert_eq!(used_again(&[Trimmed, Good, Marked]), 6);
    }

    #[test]
    fn if_all_paths_have_penalties_packets_go_all_the_same() {
        let mut chooser = chooser(PathChoice::Bitmap, 4);
        (0..4).for_each(|path| tell(&mut chooser, path, Feedback::TimedOut));
        let paths: BTreeSet<u16> = round(&mut chooser, 60).into_iter().collect();
        assert_eq!(paths.len(), 4);
    }

    #[test]
    fn reps_uses_unmarked_paths_once_the_oldest_first_then_draws() {
        let mut chooser = chooser(PathChoice::Reps { freeze: FREEZE }, 4096);
        for path in [3, 5, 7] {
            tell(&mut chooser, path, Feedback::Good);
        }
        tell(&mut chooser, 9, Feedback::Marked);
        tell(&mut chooser, 11, Feedback::Trimmed);
        assert_eq!(round(&mut chooser, 3), [3, 5, 7]);
        let drawn = round(&mut chooser, 5);
        let known = BTreeSet::from([3, 5, 7, 9, 11]);
        assert!(drawn.iter().all(|path| !known.contains(path)), "{drawn:?}");
        // The ring has eight places: the oldest two are gone.
        (100..110).for_each(|path| tell(&mut chooser, path, Feedback::Good));
        assert_eq!(round(&mut chooser, 8), (102..110).collect::<Vec<u16>>());
    }

    #[test]
    fn frozen_reps_goes_round_its_ring_and_then_explores() {
        let at = |chooser: &mut PathChooser, ms, path, feedback| {
            chooser.feedback(Time::ZERO + TimeDelta::from_ms(ms), PathId::new(path), feedback);
        };
        let freezing = |freeze| {
            let mut chooser = chooser(PathChoice::Reps { freeze }, 4096);
            [3, 5, 7].iter().for_each(|&path| at(&mut chooser, 1, path, Feedback::Good));
            at(&mut chooser, 1, 9, Feedback::TimedOut);
            chooser
        };
        let mut chooser = freezing(FREEZE);
        let paths = round(&mut chooser, 9);
        let ring: BTreeSet<u16> = paths.iter().copied().collect();
        assert_eq!(ring, BTreeSet::from([3, 5, 7]));
        assert!(paths[..3] == paths[3..6] && paths[..3] == paths[6..]);
        // After 10 ms the first feedback ends it: 16 drawn packets, then what arrived since.
        at(&mut chooser, 11, 5, Feedback::Good);
        assert!(round(&mut chooser, 4).iter().all(|path| ring.contains(path)));
        at(&mut chooser, 12, 5, Feedback::Good);
        at(&mut chooser, 12, 9, Feedback::TimedOut);
        let drawn: BTreeSet<u16> = round(&mut chooser, 16).into_iter().collect();
        assert!(drawn.len() > 10 && !drawn.contains(&5), "{drawn:?}");
        assert_eq!(round(&mut chooser, 1), [5]);
        // Without freezing each is used once.
        let mut chooser = freezing(TimeDelta::ZERO);
        assert_eq!(round(&mut chooser, 3), [3, 5, 7]);
        assert!(round(&mut chooser, 3).iter().all(|path| !ring.contains(path)));
    }

    #[test]
    fn mixed_recycles_all_unmarked_paths_and_keeps_penalties() {
        let mut chooser = chooser(PathChoice::Mixed, 16);
        round(&mut chooser, 16);
        let good: Vec<u16> = (0..16).chain(0..16).collect();
        good.iter().for_each(|&path| tell(&mut chooser, path, Feedback::Good));
        tell(&mut chooser, 4, Feedback::Marked);
        assert_eq!(round(&mut chooser, 32), good);
        let rest = round(&mut chooser, 15);
        assert!(!rest.contains(&4), "{rest:?}");
    }

    #[test]
    fn each_rule_keeps_to_the_paths_that_routing_has() {
        for choice in ALL {
            let mut chooser = chooser(choice, 8);
            round(&mut chooser, 20);
            (0..8).for_each(|path| tell(&mut chooser, path, Feedback::Good));
            chooser.replace([PathId::new(6), PathId::new(700)].into_iter().collect());
            chooser.replace(PathList::new());
            // What is told of a path that is gone has no effect.
            (0..8).for_each(|path| tell(&mut chooser, path, Feedback::Good));
            tell(&mut chooser, 700, Feedback::Good);
            let paths: BTreeSet<u16> = round(&mut chooser, 64).into_iter().collect();
            assert_eq!(paths, BTreeSet::from([6, 700]), "{choice:?}");
        }
    }

    #[test]
    fn hashed_numbers_share_paths_and_are_judged_apart() {
        let hashed = |choice| {
            let paths = (0..8).map(PathId::new).collect();
            PathChooser::hashed(choice, Some(128), paths, RngStream::seed_from_u64(3))
        };
        let mut chooser = hashed(PathChoice::Bitmap);
        let first: Vec<(u16, PathId)> = (0..128).map(|_| chooser.next_numbered()).collect();
        let numbers: BTreeSet<u16> = first.iter().map(|&(number, _)| number).collect();
        assert_eq!(numbers.len(), 128, "each number once in a round");
        let mut loads = [0u32; 8];
        first.iter().for_each(|&(_, path)| loads[path.index()] += 1);
        assert!(loads.iter().any(|&load| load != 16) && loads.iter().sum::<u32>() == 128);
        // A number has one path, and its penalty is its own.
        let (number, path) = first[9];
        chooser.learn(Time::ZERO, (number, path), Feedback::Marked);
        chooser.learn(Time::ZERO, (number, PathId::new(path.get() ^ 1)), Feedback::TimedOut);
        let second: Vec<(u16, PathId)> = (0..127).map(|_| chooser.next_numbered()).collect();
        assert!(second.iter().all(|&(other, _)| other != number));
        assert!(second.iter().any(|&(_, other)| other == path));
        assert!(second.iter().all(|entry| first.contains(entry)));
        // Routing draws again.
        chooser.replace([PathId::new(3)].into_iter().collect());
        assert_eq!(chooser.next_path(), PathId::new(3));
        assert_eq!(hashed(PathChoice::Permutation).next_numbered().0, 0);
    }

    #[test]
    fn a_drawn_path_is_equally_likely() {
        let mut chooser = chooser(PathChoice::Random, 5);
        let mut counts = [0u32; 5];
        round(&mut chooser, 20_000).iter().for_each(|&path| counts[usize::from(path)] += 1);
        assert!(counts.iter().all(|count| (3_800..4_200).contains(count)), "{counts:?}");
    }
}
