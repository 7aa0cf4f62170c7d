//! What engines must know before a run: how soon and how late units can reach each other, and how many headers can
//! come together.

use trimline_packet::{Packet, Pause, TimeDelta};
use trimline_switch::Returning;

use super::core::{Core, LinkClass};
use crate::table::Shared;

impl Core {
    /// The most headers that what arrives over one link within `span` can put into a queue.
    ///
    /// A packet that arrives is a header or becomes one, or takes the place of one tail; where the
    /// place is counted in bytes it trims tails until it fits, no more of them than headers would fit
    /// its place.
    pub(crate) fn max_headers_per_link(&self, span: TimeDelta, adds_one_header: bool) -> u64 {
        // What was sent earlier and delayed may arrive together with what was not.
        let span = span + self.links.max_delay();
        let fastest = |class: &LinkClass| {
            span.as_ps().div_ceil(class.transmission(self.framing.min).as_ps()) + 1
        };
        let each = if adds_one_header { 1 } else { 2 };
        each * max(&self.classes, &fastest)
    }

    /// The most bytes that arrive over one link within `span`, of packets that are no longer than `largest`.
    pub(crate) fn max_bytes_per_link(&self, span: TimeDelta, largest: u16) -> u64 {
        // What was sent earlier and delayed may arrive together with what was not.
        let span = span + self.links.max_delay();
        let of = |class: &LinkClass| {
            let packet = class.transmission(largest).as_ps();
            (span.as_ps().div_ceil(packet) + 1) * u64::from(largest)
        };
        max(&self.classes, &of)
    }

    /// Bytes on the wire of the shortest packet.
    fn shortest(&self) -> u16 {
        // What a switch makes may be shorter than what hosts send: a notification, a pause frame.
        let notified = match self.returning {
            Returning::WhenFull { .. } | Returning::Anywhere => {
                self.framing.min.min(Packet::HEADER_BYTES)
            }
            Returning::Never | Returning::From { .. } => self.framing.min,
        };
        match self.pauses {
            None => notified,
            Some(_) => notified.min(Pause::BYTES),
        }
    }

    /// The least time that a packet takes on a link, its propagation apart.
    pub(crate) fn min_transmission(&self) -> TimeDelta {
        let shortest = self.shortest();
        min(&self.classes, &|class| class.transmission(shortest))
    }

    /// The least time between a unit's decision to send and the arrival of what it sends.
    pub(crate) fn lookahead(&self) -> TimeDelta {
        lookahead(&self.classes, self.shortest())
    }

    /// The most time between a unit's decision to send and the arrival of what it sends.
    pub(crate) fn horizon(&self, largest_packet: u16) -> TimeDelta {
        let of = |class: &LinkClass| class.transmission(largest_packet) + class.delay;
        max(&self.classes, &of) + self.links.max_delay()
    }
}

/// The least time between the decision to send and the arrival, with packets of so many bytes at least.
pub(super) fn lookahead(classes: &Shared<LinkClass>, shortest: u16) -> TimeDelta {
    min(classes, &|class| class.transmission(shortest) + class.delay)
}

fn max<T: Ord>(classes: &Shared<LinkClass>, of: &dyn Fn(&LinkClass) -> T) -> T {
    classes.iter().map(of).max().expect("a network has links")
}

fn min<T: Ord>(classes: &Shared<LinkClass>, of: &dyn Fn(&LinkClass) -> T) -> T {
    classes.iter().map(of).min().expect("a network has links")
}
