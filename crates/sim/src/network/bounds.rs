//! Bounds that engines need before a run: how soon and how late nodes can reach each other, and how many headers can
//! come together.

use trimline_packet::{Packet, Pause, TimeDelta};
use trimline_switch::Returning;

use super::core::{Core, LinkClass};
use crate::table::Shared;

impl Core {
    /// Maximum number of packets that arrive over one link within `span`.
    pub(crate) fn max_packets_per_link(&self, span: TimeDelta) -> u64 {
        // Delayed packets may arrive together with later ones.
        let span = span + self.links.max_delay();
        let fastest = |class: &LinkClass| {
            span.as_ps().div_ceil(class.transmission(self.framing.min).as_ps()) + 1
        };
        max(&self.classes, &fastest)
    }

    /// Maximum number of tails that waited before a window and are trimmed within it, in a queue with a limit in bytes.
    /// Each arriving packet adds one header besides. Packets have at most `largest` bytes.
    pub(crate) fn max_older_tails(&self, largest: u16) -> u64 {
        max_older_tails(largest, self.framing.min)
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

/// Trimming begins at the end: a packet that trims an older tail has trimmed all packets of the window. So the older tails
/// make room for one packet.
fn max_older_tails(largest: u16, shortest: u16) -> u64 {
    u64::from(largest.div_ceil(shortest))
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trimline_packet::testing::{Arena, packet};
    use trimline_packet::{Service, SplitMix, Time};
    use trimline_switch::{
        Choices, DropList, Limit, OutputPort, Pool, Port, PortContext, QueueView,
    };

    use super::*;

    const SHORTEST: u16 = 64;

    proptest! {
        #[test]
        fn packets_trim_no_more_tails_than_their_bound(
            limit in prop_oneof![(1..9_000u32).prop_map(Limit::bytes), (1..20u32).prop_map(Limit::packets)],
            cell_bytes in 1..200u16,
            waiting in prop::collection::vec(SHORTEST..90, 150),
            arriving in prop::collection::vec((prop_oneof![SHORTEST..90, SHORTEST..9_000], 0..4), 1..20),
            seed: u64,
        ) {
            let mut choices = Choices::paper(1, 64);
            choices.queues[0].header = Limit::NONE;
            choices.queues[1].whole = limit;
            choices.cell_bytes = cell_bytes;
            let model = choices.build().expect("a valid model");
            let (mut port, mut packets) = (Port::<2>::new(), Arena::default());
            let mut rng = SplitMix(seed);
            let mut added = |size, departures| {
                let handle = packets.add(packet(Service::Trimmable, size, 0));
                let mut context = PortContext {
                    now: Time::ZERO,
                    model: &model,
                    packets: &mut packets,
                    pool: &mut Pool::none(),
                    rng: &mut rng,
                    drop_list: &mut DropList::new(),
                };
                let before = port.queue_packets(0);
                port.enqueue(handle, &mut context);
                let added = port.queue_packets(0) - before;
                for _ in 0..departures {
                    port.dequeue(&mut context);
                    port.release(&model, context.pool);
                }
                u64::from(added)
            };
            let _: u64 = waiting.into_iter().map(|size| added(size, 0)).sum();
            let largest = arriving.iter().map(|(size, _)| *size).max().unwrap_or(0);
            let older = if limit.bytes == u32::MAX { 0 } else { max_older_tails(largest, SHORTEST) };
            let max = arriving.len() as u64 + older;
            let headers: u64 =
                arriving.into_iter().map(|(size, departures)| added(size, departures)).sum();
            prop_assert!(headers <= max, "{headers} headers, at most {max} expected");
        }
    }
}
