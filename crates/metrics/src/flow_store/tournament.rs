//! Finds the first of several sorted sources, with one comparison per level of a tree over them.

/// Winners of all matches of a knock-out tournament.
pub(super) struct Tournament {
    /// Winner at each node; node `n` has children `2n` and `2n + 1`, and the second half are the sources.
    winners: Vec<usize>,
}

/// A missing source, which loses every match.
const NONE: usize = usize::MAX;

impl Tournament {
    /// Plays all matches of `sources` sources.
    pub(super) fn new(sources: usize, is_before: impl Fn(usize, usize) -> bool) -> Tournament {
        let leaves = sources.next_power_of_two();
        let mut winners = vec![NONE; 2 * leaves];
        (0..sources).for_each(|source| winners[leaves + source] = source);
        let mut tournament = Tournament { winners };
        (1..leaves).rev().for_each(|node| tournament.play(node, &is_before));
        tournament
    }

    /// Returns the first source.
    pub(super) fn winner(&self) -> usize {
        self.winners[1]
    }

    /// Replays the matches of a source.
    pub(super) fn replay(&mut self, source: usize, is_before: impl Fn(usize, usize) -> bool) {
        let mut node = (self.winners.len() / 2 + source) / 2;
        while node > 0 {
            self.play(node, &is_before);
            node /= 2;
        }
    }

    fn play(&mut self, node: usize, is_before: &impl Fn(usize, usize) -> bool) {
        let (one, other) = (self.winners[2 * node], self.winners[2 * node + 1]);
        let second_wins = other != NONE && (one == NONE || is_before(other, one));
        self.winners[node] = if second_wins { other } else { one };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A merge of sorted lists equals a sort.
        #[test]
        fn sorted_runs_are_merged(mut lists in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 1..9)) {
            let mut expected = lists.concat();
            expected.sort_unstable();
            lists.iter_mut().for_each(|list| list.sort_unstable_by(|a, b| b.cmp(a)));
            let before = |lists: &[Vec<u8>], a: usize, b: usize| match (lists[a].last(), lists[b].last()) {
                (Some(one), Some(other)) => one < other,
                (one, _) => one.is_some(),
            };
            let mut tournament = Tournament::new(lists.len(), |a, b| before(&lists, a, b));
            let mut merged = Vec::new();
            while let Some(first) = lists[tournament.winner()].pop() {
                merged.push(first);
                tournament.replay(tournament.winner(), |a, b| before(&lists, a, b));
            }
            prop_assert_eq!(merged, expected);
        }
    }
}
