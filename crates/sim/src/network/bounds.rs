//! Bounds that engines need before a run: how soon and how late nodes can reach each other, and how many headers can
//! come together.

use trimline_packet::{Packet, Pause, TimeDelta};
use trimline_switch::Returning;

use super::core::{Core, LinkClass};
use crate::table::Shared;

impl Core {
    /// Maximum number of headers that arrivals over one link within `span` can put into a queue.
    ///
    /// An arriving packet is a header, becomes one, or takes one tail's place. In a queue counted in bytes it trims
    /// tails until it fits: at most as many as headers would fit in its place.
    pub(crate) fn max_headers_per_link(&self, span: TimeDelta, adds_one_header: bool) -> u64 {
        // Delayed packets may arrive together with later ones.
        let span = span + self.links.max_delay();
        let fastest = |class: &LinkClass| {
            span.as_ps().div_ceil(class.transmission(self.framing.min).as_ps()) + 1
        };
        let each = if adds_one_header { 1 } else { 2 };
        each * max(&self.classes, &fastest)
    }

    /// Maximum number of bytes over one link within `span`, in packets of at most `largest` bytes.
    pub(crate) fn max_bytes_per_link(&self, span: TimeDelta, largest: u16) -> u64 {
        // Delayed packets may arrive together with later ones.
        let span = span + self.links.max_delay();
        let of = |class: &LinkClass| {
            let packet = class.transmission(largest).as_ps();
            (span.as_ps().div_ceil(packet) + 1) * u64::from(largest)
        };
        max(&self.classes, &of)
    }

    /// Size of the shortest packet, in bytes on the wire.
    fn shortest(&self) -> u16 {
        // Packets of switches, notifications and pause frames, may be shorter than packets of hosts.
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

    pub(crate) fn min_transmission(&self) -> TimeDelta {
        let shortest = self.shortest();
        min(&self.classes, &|class| class.transmission(shortest))
    }

    pub(crate) fn lookahead(&self) -> TimeDelta {
        lookahead(&self.classes, self.shortest())
    }

    /// Maximum time between a node's decision to send and the arrival.
    pub(crate) fn horizon(&self, largest_packet: u16) -> TimeDelta {
        let of = |class: &LinkClass| class.transmission(largest_packet) + class.delay;
        max(&self.classes, &of) + self.links.max_delay()
    }
}

/// Minimum time between a decision to send and the arrival, for packets of at least `shortest` bytes.
pub(super) fn lookahead(classes: &Shared<LinkClass>, shortest: u16) -> TimeDelta {
    min(classes, &|class| class.transmission(shortest) + class.delay)
}

fn max<T: Ord>(classes: &Shared<LinkClass>, of: &dyn Fn(&LinkClass) -> T) -> T {
    classes.iter().map(of).max().expect("a network has links")
}

fn min<T: Ord>(classes: &Shared<LinkClass>, of: &dyn Fn(&LinkClass) -> T) -> T {
    classes.iter().map(of).min().expect("a network has links")
}
