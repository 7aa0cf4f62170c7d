//! What engines must know before a run: how soon and how late units can reach each other, and how many headers can
//! come together.

use trimline_packet::{Packet, Pause, TimeDelta};
use trimline_switch::{OutputPort, PortModel, Returning};

use super::{LinkClass, Network};
use crate::protocol::Protocol;

impl<E: Protocol, P: OutputPort> Network<E, P> {
    /// From where ports return headers.
    pub(crate) fn returning(&self) -> Returning {
        self.model.returning()
    }

    /// Whether what a port does depends on the other ports of its switch: all of them are then visited together.
    #[inline]
    pub(crate) fn couples_ports(&self) -> bool {
        self.couples_ports
    }

    /// The most headers that what arrives over one link within `span` can put into a queue.
    ///
    /// A packet that arrives is a header or becomes one, or takes the place of one tail; where the
    /// place is counted in bytes it trims tails until it fits, no more of them than headers would fit
    /// its place.
    pub(crate) fn most_headers_per_link(&self, span: TimeDelta, adds_one_header: bool) -> u64 {
        // What was sent earlier and delayed may arrive together with what was not.
        let span = span + self.links.most_delay();
        let fastest = |class: &LinkClass| {
            span.as_ps().div_ceil(class.transmission(E::FRAMING.least).as_ps()) + 1
        };
        let each = if adds_one_header { 1 } else { 2 };
        each * self.classes.iter().map(fastest).max().expect("a network has links")
    }

    /// The most bytes that arrive over one link within `span`, of packets that are no longer than `largest`.
    pub(crate) fn most_bytes_per_link(&self, span: TimeDelta, largest: u16) -> u64 {
        // What was sent earlier and delayed may arrive together with what was not.
        let span = span + self.links.most_delay();
        let of = |class: &LinkClass| {
            let packet = class.transmission(largest).as_ps();
            (span.as_ps().div_ceil(packet) + 1) * u64::from(largest)
        };
        self.classes.iter().map(of).max().expect("a network has links")
    }

    /// Bytes on the wire of the shortest packet.
    fn shortest(&self) -> u16 {
        // What a switch makes may be shorter than what hosts send: a notification, a pause frame.
        let told = match self.model.returning() {
            Returning::WhenFull { .. } | Returning::Anywhere => {
                E::FRAMING.least.min(Packet::HEADER_BYTES)
            }
            Returning::Never | Returning::From { .. } => E::FRAMING.least,
        };
        match self.pauses {
            None => told,
            Some(_) => told.min(Pause::BYTES),
        }
    }

    /// The least time that a packet takes on a link, its propagation apart.
    pub(crate) fn least_transmission(&self) -> TimeDelta {
        let least = |class: &LinkClass| class.transmission(self.shortest());
        self.classes.iter().map(least).min().expect("a network has links")
    }

    /// The least time between a unit's decision to send and the arrival of what it sends.
    pub(crate) fn lookahead(&self) -> TimeDelta {
        lookahead(self.classes.iter(), self.shortest())
    }

    /// The most time between a unit's decision to send and the arrival of what it sends.
    pub(crate) fn horizon(&self, largest_packet: u16) -> TimeDelta {
        let most = |class: &LinkClass| class.transmission(largest_packet) + class.delay;
        let most = self.classes.iter().map(most).max().expect("a network has links");
        most + self.links.most_delay()
    }
}

/// The least time between the decision to send and the arrival, with packets of so many bytes at least.
pub(super) fn lookahead<'a>(
    classes: impl Iterator<Item = &'a LinkClass>,
    shortest: u16,
) -> TimeDelta {
    let least = |class: &LinkClass| class.transmission(shortest) + class.delay;
    classes.map(least).min().expect("a network has links")
}
