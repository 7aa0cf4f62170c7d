//! What a switch does with the packets that a port could not keep: the same in the simulator and in the software
//! switch.

use trimline_packet::{Handle, Packet, PortCounters};

use crate::drop_list::{Disposition, DropList};

/// A switch around one of its ports, which could not keep packets.
pub trait SwitchActions {
    /// A packet is about to meet its fate: for those who record it.
    fn record(&mut self, packet: Handle, disposition: Disposition);
    /// The counters of the port.
    fn counters(&mut self) -> &mut PortCounters;
    /// So many bytes of payload were cut at the port.
    fn cut(&mut self, bytes: u64);
    /// Turns a trimmed header round. False: it is none that can be.
    fn turn_round(&mut self, packet: Handle) -> bool;
    /// Routes a packet like any other of this switch, at once. What it displaces is settled when this returns.
    fn forward(&mut self, packet: Handle);
    /// Whether a packet is a header: a switch has trimmed it.
    fn is_header(&self, packet: Handle) -> bool;
    /// A packet is dropped: frees its storage.
    fn free(&mut self, packet: Handle);
    /// Makes a packet the notification of its drop. Gives the bytes that were cut, or nothing: this switch tells nobody
    /// of this packet.
    fn make_notification(&mut self, packet: Handle) -> Option<u16>;
    /// Sends a notification out of the port of the link over which its packet came, at once. What it displaces is settled
    /// when this returns.
    fn send_back(&mut self, notification: Handle);
    /// Tells the sender of a packet that goes on: sends it a notification, routed like any other packet. `header` is the
    /// packet as it leaves. Gives whether the sender is told.
    fn quench(&mut self, packet: Handle, header: &Packet) -> bool;
}

/// Acts on everything that calls of one port displaced, oldest first. `drop_list` is then empty and keeps its memory.
pub fn apply_dispositions(drop_list: &mut DropList, switch: &mut impl SwitchActions) {
    switch.counters().trimmed += u64::from(core::mem::take(&mut drop_list.trimmed));
    switch.cut(core::mem::take(&mut drop_list.cut_bytes));
    for (packet, disposition) in drop_list.drain() {
        switch.record(packet, disposition);
        let is_kept = match disposition {
            Disposition::Dropped => false,
            Disposition::Returned => {
                let is_turned = switch.turn_round(packet);
                if is_turned {
                    // NDP 3.2.4: the header is routed like any other packet.
                    switch.counters().returned += 1;
                    switch.forward(packet);
                }
                is_turned
            }
            // FastLane 3.2: the packet is cut to its header, turned round, and leaves by its input port.
            Disposition::Notify => match switch.make_notification(packet) {
                None => false,
                Some(cut) => {
                    switch.cut(cut.into());
                    switch.counters().notified += 1;
                    switch.send_back(packet);
                    true
                }
            },
        };
        if !is_kept {
            let is_header = switch.is_header(packet);
            switch.counters().count_dropped(is_header);
            switch.free(packet);
        }
    }
    for (packet, header) in drop_list.drain_quenched() {
        switch.counters().notified += u64::from(switch.quench(packet, &header));
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    /// A switch that writes down what it is asked to do.
    #[derive(Default)]
    struct Written {
        counters: PortCounters,
        cut: u64,
        recorded: Vec<(Handle, Disposition)>,
        forwarded: Vec<Handle>,
        freed: Vec<Handle>,
        notified: Vec<Handle>,
        quenched: Vec<Handle>,
        refused: Vec<Handle>,
    }

    impl SwitchActions for Written {
        fn record(&mut self, packet: Handle, disposition: Disposition) {
            self.recorded.push((packet, disposition));
        }
        fn counters(&mut self) -> &mut PortCounters {
            &mut self.counters
        }
        fn cut(&mut self, bytes: u64) {
            self.cut += bytes;
        }
        fn turn_round(&mut self, packet: Handle) -> bool {
            !self.refused.contains(&packet)
        }
        fn forward(&mut self, packet: Handle) {
            self.forwarded.push(packet);
        }
        fn is_header(&self, packet: Handle) -> bool {
            packet == Handle::new(3)
        }
        fn free(&mut self, packet: Handle) {
            self.freed.push(packet);
        }
        fn make_notification(&mut self, packet: Handle) -> Option<u16> {
            (!self.refused.contains(&packet)).then_some(1436)
        }
        fn send_back(&mut self, notification: Handle) {
            self.notified.push(notification);
        }
        fn quench(&mut self, packet: Handle, header: &Packet) -> bool {
            assert_eq!(header.header.sequence, packet.index() as u32);
            self.quenched.push(packet);
            !self.refused.contains(&packet)
        }
    }

    #[test]
    fn every_dropped_packet_is_noted_then_forwarded_or_freed_and_counted_once() {
        let handle = Handle::new;
        let mut drop_list = DropList::new();
        (drop_list.trimmed, drop_list.cut_bytes) = (2, 18_000);
        let dispositions = [
            Disposition::Dropped,
            Disposition::Returned,
            Disposition::Notify,
            Disposition::Returned,
            Disposition::Notify,
        ];
        for (number, disposition) in (0..).zip(dispositions) {
            drop_list.push(handle(number), disposition);
        }
        for number in [5, 6] {
            let header = crate::testing::packet(trimline_packet::Service::Droppable, 1500, number);
            drop_list.quench(handle(number), header);
        }
        let recorded = drop_list.list().to_vec();
        let mut switch = Written { refused: [3, 4, 6].map(handle).to_vec(), ..Written::default() };
        apply_dispositions(&mut drop_list, &mut switch);
        assert_eq!(switch.recorded, recorded);
        assert_eq!(switch.forwarded, [handle(1)]);
        assert_eq!(
            (switch.notified, switch.quenched),
            (vec![handle(2)], vec![handle(5), handle(6)])
        );
        assert_eq!(switch.freed, [handle(0), handle(3), handle(4)]);
        let counters = PortCounters {
            trimmed: 2,
            dropped: 3,
            dropped_headers: 1,
            returned: 1,
            notified: 2,
            ..Default::default()
        };
        assert_eq!((switch.counters, switch.cut), (counters, 18_000 + 1436));
        assert!(!drop_list.is_changed() && drop_list.cut_bytes == 0);
    }
}
