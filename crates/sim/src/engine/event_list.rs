//! The event list of one switch: times at which its ports act by themselves within a window.

use trimline_packet::Time;

/// Times and ports, the last first. The list is short: a port acts by itself once per packet time.
#[derive(Default)]
pub(super) struct EventList(Vec<(Time, u32)>);

impl EventList {
    /// Adds an event that is before `limit`; ignores others.
    #[inline(always)]
    pub(super) fn push(&mut self, at: Time, port: u32, limit: Time) {
        if at >= limit {
            return;
        }
        let mut place = self.0.len();
        self.0.push((at, port));
        while place > 0 && self.0[place - 1] < (at, port) {
            self.0[place] = self.0[place - 1];
            place -= 1;
        }
        self.0[place] = (at, port);
    }

    /// Removes the first event if it is before `until`. At one instant the lowest port comes first.
    #[inline(always)]
    pub(super) fn pop(&mut self, until: Time) -> Option<(Time, u32)> {
        self.0.pop_if(|&mut (at, _)| at < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_earliest_event_is_taken_first(
            recorded in prop::collection::vec((0u64..50, 0u32..8), 0..60),
            limit in 0u64..50,
            until in 0u64..50,
        ) {
            let mut event_list = EventList::default();
            for &(at, port) in &recorded {
                event_list.push(Time::from_ps(at), port, Time::from_ps(limit));
            }
            let mut taken = Vec::new();
            while let Some((at, port)) = event_list.pop(Time::from_ps(until)) {
                taken.push((at.as_ps(), port));
            }
            let mut expected = recorded;
            expected.retain(|&(at, _)| at < limit.min(until));
            expected.sort_unstable();
            prop_assert_eq!(taken, expected);
        }
    }
}
