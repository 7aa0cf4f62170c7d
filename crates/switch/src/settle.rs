//! What a switch does with the packets that a port could not keep: the same in the simulator and in the software
//! switch.

use trimline_packet::{Handle, PortCounters};

use crate::displaced::{Displaced, Fate};

/// A switch around one of its ports, which could not keep packets.
pub trait Fabric {
    /// A packet is about to meet its fate: for those who record it.
    fn note(&mut self, packet: Handle, fate: Fate);
    /// The counters of the port.
    fn counters(&mut self) -> &mut PortCounters;
    /// So many bytes of payload were cut at the port.
    fn cut(&mut self, bytes: u64);
    /// Turns a trimmed header round. False: it is none that can be.
    fn turn_round(&mut self, packet: Handle) -> bool;
    /// Routes a packet like any other of this switch, at once. What it displaces is settled when this returns.
    fn forward(&mut self, packet: Handle);
    /// A packet is dropped: frees its storage.
    fn free(&mut self, packet: Handle);
}

/// Acts on everything that calls of one port displaced, oldest first. `displaced` is then empty and keeps its memory.
pub fn settle(displaced: &mut Displaced, fabric: &mut impl Fabric) {
    fabric.counters().trimmed += u64::from(core::mem::take(&mut displaced.trimmed));
    fabric.cut(core::mem::take(&mut displaced.cut_bytes));
    for (packet, fate) in displaced.drain() {
        fabric.note(packet, fate);
        let is_kept = match fate {
            // A sender that is told of a drop is told beside it: the packet itself is gone either way. No switch here
            // can tell senders yet, and `Choices::build` refuses a model that asks for it.
            Fate::Dropped | Fate::Notify => false,
            Fate::Returned => fabric.turn_round(packet),
        };
        if is_kept {
            // NDP 3.2.4: the header is routed like any other packet.
            fabric.counters().returned += 1;
            fabric.forward(packet);
        } else {
            fabric.counters().dropped += 1;
            fabric.free(packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// A switch that writes down what it is asked to do.
    #[derive(Default)]
    struct Written {
        counters: PortCounters,
        cut: u64,
        noted: Vec<(Handle, Fate)>,
        forwarded: Vec<Handle>,
        freed: Vec<Handle>,
        refused: Option<Handle>,
    }

    impl Fabric for Written {
        fn note(&mut self, packet: Handle, fate: Fate) {
            self.noted.push((packet, fate));
        }
        fn counters(&mut self) -> &mut PortCounters {
            &mut self.counters
        }
        fn cut(&mut self, bytes: u64) {
            self.cut += bytes;
        }
        fn turn_round(&mut self, packet: Handle) -> bool {
            self.refused != Some(packet)
        }
        fn forward(&mut self, packet: Handle) {
            self.forwarded.push(packet);
        }
        fn free(&mut self, packet: Handle) {
            self.freed.push(packet);
        }
    }

    #[test]
    fn every_displaced_packet_is_noted_then_forwarded_or_freed_and_counted_once() {
        let handle = Handle::new;
        let mut displaced = Displaced::new();
        (displaced.trimmed, displaced.cut_bytes) = (2, 18_000);
        let fates = [Fate::Dropped, Fate::Returned, Fate::Notify, Fate::Returned];
        for (number, fate) in (0..).zip(fates) {
            displaced.push(handle(number), fate);
        }
        let noted = displaced.list().to_vec();
        let mut fabric = Written { refused: Some(handle(3)), ..Written::default() };
        settle(&mut displaced, &mut fabric);
        assert_eq!(fabric.noted, noted);
        assert_eq!(fabric.forwarded, [handle(1)]);
        assert_eq!(fabric.freed, [handle(0), handle(2), handle(3)]);
        let counters = PortCounters { trimmed: 2, dropped: 3, returned: 1, ..Default::default() };
        assert_eq!((fabric.counters, fabric.cut), (counters, 18_000));
        assert!(!displaced.is_changed() && displaced.cut_bytes == 0);
    }
}
