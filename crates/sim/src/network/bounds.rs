//! What engines must know before a run: how soon and how late units can reach each other, and how many headers can
//! come together.

use trimline_packet::{Packet, Service, TimeDelta};
use trimline_switch::OutputPort;

use super::{LinkClass, Network};
use crate::protocol::Protocol;

impl<E: Protocol, P: OutputPort> Network<E, P> {
    /// The queue from which headers are returned, and the bytes that it holds, when the profile
    /// returns any.
    pub(crate) fn returning_queue(&self) -> Option<(usize, u32)> {
        let capacity = self.model.header_queue_capacity_bytes()?;
        self.model.returns_headers().then(|| (self.model.queue_of(Service::Trimmed), capacity))
    }
    /// Whether what a port may keep depends on the other ports of its switch.
    pub(crate) fn shares_memory(&self) -> bool {
        self.model.shares_memory()
    }

    /// Whether a packet that arrives adds one header to a queue at most: where the place for data is counted in
    /// packets, it takes the place of one tail.
    pub(crate) fn packet_adds_one_header(&self) -> bool {
        self.model.most_in_queue(self.model.queue_of(Service::Trimmable)).bytes == u32::MAX
    }

    /// The most headers that what arrives over one link within `span` can put into a queue.
    ///
    /// A packet that arrives is a header or becomes one, or takes the place of one tail; where the
    /// place is counted in bytes it trims tails until it fits, no more of them than headers would fit
    /// its place.
    pub(crate) fn most_headers_per_link(&self, span: TimeDelta) -> u64 {
        // What was sent earlier and delayed may arrive together with what was not.
        let span = span + self.links.most_delay();
        let fastest = |class: &LinkClass| {
            span.as_ps().div_ceil(class.transmission(Packet::HEADER_BYTES).as_ps()) + 1
        };
        let each = if self.packet_adds_one_header() { 1 } else { 2 };
        each * self.classes.iter().map(fastest).max().expect("a network has links")
    }

    /// The least time that a packet takes on a link, its propagation apart.
    pub(crate) fn least_transmission(&self) -> TimeDelta {
        let least = |class: &LinkClass| class.transmission(Packet::HEADER_BYTES);
        self.classes.iter().map(least).min().expect("a network has links")
    }

    /// The least time between a unit's decision to send and the arrival of what it sends.
    pub(crate) fn lookahead(&self) -> TimeDelta {
        let least = |class: &LinkClass| class.transmission(Packet::HEADER_BYTES) + class.delay;
        self.classes.iter().map(least).min().expect("a network has links")
    }

    /// The most time between a unit's decision to send and the arrival of what it sends.
    pub(crate) fn horizon(&self, largest_packet: u16) -> TimeDelta {
        let most = |class: &LinkClass| class.transmission(largest_packet) + class.delay;
        let most = self.classes.iter().map(most).max().expect("a network has links");
        most + self.links.most_delay()
    }
}
