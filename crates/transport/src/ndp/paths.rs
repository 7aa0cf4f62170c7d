//! Chooses the path of each packet: a random permutation of the path list, one packet on each path, then another
//! permutation (NDP 3.1.1).
//!
//! One number is drawn per packet, so no packet pays for a whole round and a poll that sends nothing draws nothing.
//! Paths are known by their place in the list; for a list 0, 1, 2 ... only the permutation is stored.
//!
//! A withdrawn path keeps its place, which packets in flight remember. So a list that shrinks and grows again keeps all
//! counts.
//!
//! Another rule ([`PathChoice`]) chooses instead: each packet is then a round of its own, so that nothing is asked of it
//! where there is none.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use rand_xoshiro::rand_core::RngCore;
use trimline_packet::{PathId, Time};

use super::config::PathPenalty;
use super::scoreboard::Scoreboard;
use crate::RngStream;
use crate::path_choice::{Feedback, PathChoice, PathChooser};

/// No path to be avoided.
pub(super) const NO_PATH: u16 = u16::MAX;

#[derive(Debug)]
pub(super) struct Paths {
    /// Places in the path list: in use, then removed, then withdrawn by routing.
    order: Box<[u16]>,
    /// Packets sent in this round.
    position: u16,
    /// Paths in use.
    live: u16,
    /// Paths not withdrawn.
    routed: u16,
    /// True if some path of this round is on probation.
    on_probation: bool,
    stream: RngStream,
    seldom: Option<Box<Seldom>>,
}

/// State that the simulator needs only with a scoreboard or another rule.
#[derive(Debug)]
pub(super) struct Seldom {
    /// The path list; empty if it is 0, 1, 2 ...
    ids: Box<[PathId]>,
    scoreboard: Option<Scoreboard>,
    /// The rule, if it is not the permutation. Its paths are places. `order` is then 0, 1, 2 ... but for the chosen
    /// place and the first, which have changed places.
    chooser: Option<PathChooser>,
}

impl Seldom {
    /// Learns of an ACK.
    #[inline]
    pub(super) fn ack(&mut self, now: Time, place: u16) {
        match &mut self.scoreboard {
            Some(scoreboard) => scoreboard.ack(place),
            None => self.tell(now, place, Feedback::Good),
        }
    }

    /// Learns of a NACK or a returned header.
    #[inline]
    pub(super) fn nack(&mut self, now: Time, place: u16) {
        match &mut self.scoreboard {
            Some(scoreboard) => scoreboard.nack(place),
            None => self.tell(now, place, Feedback::Trimmed),
        }
    }

    /// Learns of a time-out.
    pub(super) fn loss(&mut self, now: Time, place: u16) {
        match &mut self.scoreboard {
            Some(scoreboard) => scoreboard.loss(place),
            None => self.tell(now, place, Feedback::TimedOut),
        }
    }

    #[cold]
    fn tell(&mut self, now: Time, place: u16, feedback: Feedback) {
        if let Some(chooser) = &mut self.chooser {
            chooser.feedback(now, PathId::new(place), feedback);
        }
    }
}

impl Paths {
    /// Creates the permutation of `list`, with a scoreboard to remove outliers by `penalty`.
    ///
    /// # Panics
    /// Panics if `list` is empty or has more than 65,535 paths.
    pub(super) fn new(list: &[PathId], stream: RngStream, penalty: Option<&PathPenalty>) -> Paths {
        let count = u16::try_from(list.len()).expect("a path list has at most 65,535 paths");
        assert!(count > 0, "a path list has at least one path");
        let counted = (0..count).zip(list).all(|(place, id)| id.get() == place);
        // A single path is never removed.
        let penalty = penalty.filter(|_| count > 1);
        let seldom = (!counted || penalty.is_some()).then(|| {
            Box::new(Seldom {
                ids: if counted { Box::default() } else { list.into() },
                scoreboard: penalty.map(|penalty| Scoreboard::new(count, penalty)),
                chooser: None,
            })
        });
        Paths {
            order: (0..count).collect(),
            position: 0,
            live: count,
            routed: count,
            on_probation: false,
            stream,
            seldom,
        }
    }

    /// Chooses by another rule than the permutation, without a scoreboard.
    #[cold]
    pub(super) fn with_choice(mut self, choice: PathChoice) -> Paths {
        let count = self.order.len() as u16;
        if choice == PathChoice::Permutation || count == 1 {
            return self;
        }
        let ids = match self.seldom.take() {
            Some(seldom) => seldom.ids,
            None => Box::default(),
        };
        let places = (0..count).map(PathId::new).collect();
        let chooser = Some(PathChooser::new(choice, places, self.stream.clone()));
        self.seldom = Some(Box::new(Seldom { ids, scoreboard: None, chooser }));
        (self.live, self.position) = (1, 1);
        self
    }

    fn chooser(&mut self) -> Option<&mut PathChooser> {
        self.seldom.as_mut()?.chooser.as_mut()
    }

    /// Lets the rule choose the only place of the next round.
    #[cold]
    fn choose_by_rule(&mut self) {
        let Some(place) = self.chooser().map(|chooser| chooser.next_path().get()) else { return };
        let before = self.order[0];
        self.order.swap(0, usize::from(before));
        self.order.swap(0, usize::from(place));
    }

    /// Returns the part that learns from answers, if there is one.
    #[inline]
    pub(super) fn judges(&mut self) -> Option<&mut Seldom> {
        self.seldom.as_deref_mut()
    }

    /// Draws a number below `bound`; the bias of the multiplication is below 2^-16.
    #[inline]
    fn draw(&mut self, bound: u16) -> u16 {
        // NDP 3.1.1-c: an only path needs no draw.
        if bound <= 1 {
            return 0;
        }
        (((self.stream.next_u64() >> 32) * bound as u64) >> 32) as u16
    }

    /// Returns whether [`Paths::permute`] is due: every path has had its packet.
    #[inline]
    pub(super) const fn round_ended(&self) -> bool {
        self.position >= self.live
    }

    /// Begins another round. NDP 3.2.3-b: outliers are removed when the path list is permuted. Returns their number.
    pub(super) fn permute(&mut self, now: Time, penalty: Option<&PathPenalty>) -> u32 {
        self.position = 0;
        if self.seldom.as_ref().is_some_and(|seldom| seldom.chooser.is_some()) {
            self.choose_by_rule();
            return 0;
        }
        match (self.seldom.as_mut().and_then(|seldom| seldom.scoreboard.as_mut()), penalty) {
            (Some(scoreboard), Some(_)) if scoreboard.is_quiet() => {
                scoreboard.permuted(now);
                0
            }
            (Some(scoreboard), Some(penalty)) => {
                let removed = scoreboard.judge(now, penalty);
                let routed = &mut self.order[..self.routed as usize];
                // If only removed paths are left, they are used.
                self.live = match scoreboard.sift(now, routed) {
                    0 => self.routed,
                    live => live,
                };
                self.on_probation = scoreboard.on_probation();
                removed
            }
            _ => 0,
        }
    }

    /// Returns the place of the round's next path; not `avoid` if possible.
    #[inline]
    pub(super) fn choose(&mut self, avoid: u16) -> u16 {
        debug_assert!(!self.round_ended(), "a round that ended is permuted before the next choice");
        let position = self.position;
        // NDP 3.1.1-a: a path that this round has not taken yet.
        let left = self.live - position;
        let other = position + self.draw(left);
        self.order.swap(position as usize, other as usize);
        if self.order[position as usize] == avoid && self.live == 1 {
            // A rule that insists on the path gets it.
            for _ in 0..8 {
                if self.order[position as usize] == avoid {
                    self.choose_by_rule();
                }
            }
        } else if self.order[position as usize] == avoid {
            // Another one of this round, or at its end one that it already used.
            let other =
                if left > 1 { position + 1 + self.draw(left - 1) } else { self.draw(position) };
            self.order.swap(position as usize, other as usize);
        }
        self.position += 1;
        let place = self.order[position as usize];
        if self.on_probation {
            self.record_sent(place);
        }
        place
    }

    #[cold]
    fn record_sent(&mut self, place: u16) {
        if let Some(scoreboard) = self.scoreboard() {
            scoreboard.sent(place);
        }
    }

    /// Uses only these paths. Known ones keep their places; an empty list changes nothing.
    ///
    /// # Panics
    /// Panics beyond 65,535 different paths in a connection's life.
    #[cold]
    pub(super) fn replace(&mut self, list: &[PathId], penalty: Option<&PathPenalty>) {
        if list.is_empty() {
            return;
        }
        if self.chooser().is_some() {
            return self.replace_by_rule(list);
        }
        let count = self.order.len();
        let mut ids: Vec<PathId> = (0..count as u16).map(|place| self.id(place)).collect();
        let mut routed = vec![false; count];
        for &id in list {
            match ids.iter().position(|&known| known == id) {
                Some(place) => routed[place] = true,
                None => {
                    ids.push(id);
                    routed.push(true);
                }
            }
        }
        let places = u16::try_from(ids.len()).expect("a path list has at most 65,535 paths");
        let was_routed = |place: u16| self.order[..self.routed as usize].contains(&place);
        if let (Some(seldom), Some(penalty)) = (&mut self.seldom, penalty)
            && let Some(scoreboard) = &mut seldom.scoreboard
        {
            scoreboard.extend(places, penalty);
            for place in 0..places {
                match (was_routed(place), routed[place as usize]) {
                    (true, false) => scoreboard.withdraw(place),
                    (false, true) => scoreboard.restore(place),
                    _ => {}
                }
            }
        }
        let mut order = self.order.to_vec();
        order.extend(count as u16..places);
        // Stable, so that paths that stay keep their order.
        order.sort_by_key(|&place| !routed[place as usize]);
        self.order = order.into_boxed_slice();
        self.routed = routed.iter().filter(|&&is_routed| is_routed).count() as u16;
        self.live = self.routed;
        // The next packet begins a round.
        self.position = self.live;
        if places as usize > count {
            let known = self.seldom.take().and_then(|seldom| seldom.scoreboard);
            // A single path has no scoreboard.
            let new = |penalty| {
                let mut scoreboard = Scoreboard::new(places, penalty);
                let withdrawn = (0..places).filter(|&place| !routed[place as usize]);
                withdrawn.for_each(|place| scoreboard.withdraw(place));
                scoreboard
            };
            let scoreboard = known.or_else(|| penalty.map(new));
            let (ids, chooser) = (ids.into_boxed_slice(), None);
            self.seldom = Some(Box::new(Seldom { ids, scoreboard, chooser }));
        }
    }

    /// Lets the rule choose among these paths. Known ones keep their places.
    #[cold]
    fn replace_by_rule(&mut self, list: &[PathId]) {
        let count = self.order.len() as u16;
        let mut ids: Vec<PathId> = (0..count).map(|place| self.id(place)).collect();
        let places = list.iter().map(|&id| {
            let known = ids.iter().position(|&known| known == id);
            let place = known.unwrap_or_else(|| {
                ids.push(id);
                ids.len() - 1
            });
            PathId::new(u16::try_from(place).expect("a path list has at most 65,535 paths"))
        });
        let places = places.collect();
        self.order = (0..ids.len() as u16).collect();
        (self.live, self.position) = (1, 1);
        if let Some(seldom) = &mut self.seldom {
            seldom.ids = ids.into_boxed_slice();
            if let Some(chooser) = &mut seldom.chooser {
                chooser.replace(places);
            }
        }
    }

    /// Removes a path that other connections found bad; the next packet begins a round. Needs a scoreboard.
    #[cold]
    pub(super) fn avoid(&mut self, path: PathId, until: Time) {
        let place = (0..self.order.len() as u16).find(|&place| self.id(place) == path);
        if let (Some(place), Some(scoreboard)) = (place, self.scoreboard()) {
            scoreboard.remove(place, until);
            self.position = self.live;
        }
    }

    /// Returns the next path without a scoreboard. NDP 3.1.1-b: ACKs, NACKs and PULLs are sprayed too.
    #[inline]
    pub(super) fn spray(&mut self) -> PathId {
        if self.round_ended() {
            self.position = 0;
        }
        let place = self.choose(NO_PATH);
        self.id(place)
    }

    /// The identifier of the path at a place.
    #[inline]
    pub(super) fn id(&self, place: u16) -> PathId {
        match &self.seldom {
            Some(seldom) if !seldom.ids.is_empty() => seldom.ids[place as usize],
            _ => PathId::new(place),
        }
    }

    pub(super) fn restorations(&self) -> u64 {
        let scoreboard = self.seldom.as_ref().and_then(|seldom| seldom.scoreboard.as_ref());
        scoreboard.map_or(0, Scoreboard::restorations)
    }

    #[inline]
    pub(super) fn scoreboard(&mut self) -> Option<&mut Scoreboard> {
        self.seldom.as_mut()?.scoreboard.as_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ndp::tests::PENALTY;
    use alloc::collections::BTreeSet;
    use rand_xoshiro::rand_core::SeedableRng;

    fn paths(count: u16) -> Paths {
        let list: Vec<PathId> = (0..count).map(PathId::new).collect();
        Paths::new(&list, RngStream::seed_from_u64(7), None)
    }

    fn next(paths: &mut Paths, avoid: u16) -> u16 {
        if paths.round_ended() {
            paths.permute(Time::ZERO, None);
        }
        paths.choose(avoid)
    }

    /// NDP 3.1.1-a.
    #[test]
    fn every_round_uses_every_path_once_in_a_new_order() {
        let mut paths = paths(36);
        let rounds: Vec<Vec<u16>> =
            (0..20).map(|_| (0..36).map(|_| next(&mut paths, NO_PATH)).collect()).collect();
        for round in &rounds {
            assert_eq!(round.iter().collect::<BTreeSet<_>>().len(), 36);
        }
        assert_eq!(rounds.iter().collect::<BTreeSet<_>>().len(), 20);
    }

    /// NDP 3.1.1-a.
    #[test]
    fn every_path_is_equally_likely_at_every_position_of_a_round() {
        let mut paths = paths(5);
        let mut counts = [[0u32; 5]; 5];
        for _ in 0..20_000 {
            for count in &mut counts {
                count[next(&mut paths, NO_PATH) as usize] += 1;
            }
        }
        for count in counts.iter().flatten() {
            assert!((3_700..4_300).contains(count), "{counts:?}");
        }
    }

    /// NDP 3.2.3-c, 3.2.4-m.
    #[test]
    fn an_avoided_path_is_unused_while_another_exists() {
        let mut paths = paths(3);
        for turn in 0..3_000 {
            let avoid = turn % 3;
            assert_ne!(next(&mut paths, avoid), avoid);
        }
    }

    /// NDP 3.1.1-c.
    #[test]
    fn the_only_path_is_used_even_if_avoided() {
        let mut paths = Paths::new(&[crate::ANY_PATH], RngStream::seed_from_u64(1), None);
        assert_eq!(next(&mut paths, 0), 0);
        assert_eq!(paths.id(0), crate::ANY_PATH);
    }

    #[test]
    fn path_identifiers_may_be_any_numbers() {
        let list = [PathId::new(700), PathId::new(9)];
        let mut paths = Paths::new(&list, RngStream::seed_from_u64(1), None);
        let taken: BTreeSet<PathId> = (0..2).map(|_| paths.spray()).collect();
        assert_eq!(taken, list.into_iter().collect());
    }

    /// Returns the paths that the next three rounds take.
    fn taken(paths: &mut Paths, penalty: Option<&PathPenalty>) -> Vec<u16> {
        let mut taken = BTreeSet::new();
        for _ in 0..3 * paths.order.len() {
            if paths.round_ended() {
                paths.permute(Time::ZERO, penalty);
            }
            let place = paths.choose(NO_PATH);
            taken.insert(paths.id(place).get());
        }
        taken.into_iter().collect()
    }

    #[test]
    fn a_withdrawn_path_is_unused_until_it_is_announced_again() {
        for penalty in [None, Some(&PENALTY)] {
            let list: Vec<PathId> = (0..4).map(PathId::new).collect();
            let mut paths = Paths::new(&list, RngStream::seed_from_u64(7), penalty);
            next(&mut paths, NO_PATH);
            paths.replace(&[list[3], list[0]], penalty);
            assert_eq!(taken(&mut paths, penalty), [0, 3]);
            paths.replace(&[], penalty);
            assert_eq!(taken(&mut paths, penalty), [0, 3]);
            paths.replace(&list, penalty);
            assert_eq!(taken(&mut paths, penalty), [0, 1, 2, 3]);
            paths.replace(&[PathId::new(9), list[1]], penalty);
            assert_eq!(taken(&mut paths, penalty), [1, 9]);
            let fourth = (0..5).find(|&place| paths.id(place).get() == 9);
            assert_eq!(fourth, Some(4), "known paths keep their places");
        }
    }

    const RULES: [PathChoice; 5] = [
        PathChoice::Random,
        PathChoice::Oblivious,
        PathChoice::Bitmap,
        PathChoice::Reps { freeze: trimline_packet::TimeDelta::ZERO },
        PathChoice::Mixed,
    ];

    #[test]
    fn another_rule_chooses_avoids_and_follows_routing() {
        for choice in RULES {
            let list: Vec<PathId> = (0..8).map(|number| PathId::new(10 + number)).collect();
            let paths = Paths::new(&list, RngStream::seed_from_u64(7), None);
            let mut paths = paths.with_choice(choice);
            for turn in 0..400 {
                let avoid = turn % 8;
                let place = next(&mut paths, avoid);
                assert!(place < 8 && place != avoid, "{choice:?}");
                assert_eq!(paths.id(place).get(), 10 + place);
                paths.judges().expect("a rule").ack(Time::ZERO, place);
            }
            paths.replace(&[list[3], PathId::new(99)], None);
            let taken: BTreeSet<u16> = (0..100)
                .map(|_| {
                    let place = next(&mut paths, NO_PATH);
                    paths.id(place).get()
                })
                .collect();
            assert_eq!(taken, BTreeSet::from([13, 99]), "{choice:?}");
        }
        // An only path needs no rule.
        let only = Paths::new(&[PathId::new(4)], RngStream::seed_from_u64(7), None);
        assert_eq!(next(&mut only.with_choice(PathChoice::Mixed), 0), 0);
    }

    #[test]
    fn a_rule_is_told_of_the_places_of_packets() {
        let list: Vec<PathId> = (0..8).map(PathId::new).collect();
        let paths = Paths::new(&list, RngStream::seed_from_u64(7), None);
        let mut paths = paths.with_choice(PathChoice::Bitmap);
        paths.judges().expect("a rule").loss(Time::ZERO, 5);
        let taken: Vec<u16> = (0..7 * 14).map(|_| next(&mut paths, NO_PATH)).collect();
        assert!(!taken.contains(&5), "{taken:?}");
    }

    #[test]
    fn an_only_path_is_judged_after_other_paths_join() {
        let list: Vec<PathId> = (0..4).map(PathId::new).collect();
        let mut paths = Paths::new(&list[..1], RngStream::seed_from_u64(7), Some(&PENALTY));
        assert!(paths.scoreboard().is_none());
        paths.replace(&list[1..], Some(&PENALTY));
        assert_eq!(taken(&mut paths, Some(&PENALTY)), [1, 2, 3]);
        (0..2).for_each(|_| paths.scoreboard().unwrap().loss(2));
        assert_eq!(paths.permute(Time::ZERO, Some(&PENALTY)), 1);
        assert_eq!(taken(&mut paths, Some(&PENALTY)), [1, 3]);
        paths.replace(&list, Some(&PENALTY));
        assert_eq!(taken(&mut paths, Some(&PENALTY)), [0, 1, 3]);
    }

    #[test]
    fn removed_paths_are_used_if_routing_leaves_no_others() {
        let list: Vec<PathId> = (0..4).map(PathId::new).collect();
        let mut paths = Paths::new(&list, RngStream::seed_from_u64(7), Some(&PENALTY));
        for _ in 0..2 {
            paths.scoreboard().unwrap().loss(1);
            paths.scoreboard().unwrap().loss(2);
        }
        assert_eq!(paths.permute(Time::ZERO, Some(&PENALTY)), 2);
        assert_eq!(taken(&mut paths, Some(&PENALTY)), [0, 3]);
        paths.replace(&[list[1], list[2]], Some(&PENALTY));
        assert_eq!(taken(&mut paths, Some(&PENALTY)), [1, 2]);
    }

    #[test]
    fn a_path_that_other_connections_found_bad_is_excluded_for_the_given_time() {
        let list: Vec<PathId> = (3..7).map(PathId::new).collect();
        let mut paths = Paths::new(&list, RngStream::seed_from_u64(7), Some(&PENALTY));
        // In the middle of a round, too.
        next(&mut paths, NO_PATH);
        let until = Time::ZERO + PENALTY.removal;
        paths.avoid(list[2], until);
        assert_eq!(taken(&mut paths, Some(&PENALTY)), [3, 4, 6]);
        (0..4).for_each(|_| assert!(paths.round_ended() || paths.choose(NO_PATH) != 2));
        paths.position = paths.live;
        assert_eq!(paths.permute(until, Some(&PENALTY)), 0);
        let round: BTreeSet<u16> = (0..4).map(|_| paths.choose(NO_PATH)).collect();
        assert_eq!(round.len(), 4, "and then it is used again");
        assert_eq!(paths.restorations(), 1);
        // If all paths are bad, all are used; without a scoreboard no path is removed.
        list.iter().for_each(|&path| paths.avoid(path, until + PENALTY.removal));
        assert!(paths.round_ended());
        assert_eq!(paths.permute(until, Some(&PENALTY)), 0);
        assert_eq!(paths.live, 4);
        let mut paths = Paths::new(&list, RngStream::seed_from_u64(7), None);
        paths.avoid(list[2], until);
        assert_eq!(taken(&mut paths, None), [3, 4, 5, 6]);
    }

    #[test]
    fn late_answers_of_a_withdrawn_path_do_not_count() {
        let list: Vec<PathId> = (0..4).map(PathId::new).collect();
        let mut paths = Paths::new(&list, RngStream::seed_from_u64(7), Some(&PENALTY));
        paths.replace(&list[1..], Some(&PENALTY));
        for _ in 0..40 {
            paths.scoreboard().unwrap().loss(0);
            paths.scoreboard().unwrap().nack(0);
        }
        (0..2).for_each(|_| paths.scoreboard().unwrap().loss(1));
        assert_eq!(paths.permute(Time::ZERO, Some(&PENALTY)), 1);
        assert_eq!(taken(&mut paths, Some(&PENALTY)), [2, 3]);
        // Back in the list, it begins anew.
        paths.replace(&list, Some(&PENALTY));
        assert_eq!(paths.permute(Time::ZERO, Some(&PENALTY)), 0);
        assert_eq!(taken(&mut paths, Some(&PENALTY)), [0, 2, 3]);
    }
}
