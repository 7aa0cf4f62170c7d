//! Applies dispositions, in the simulator and in the software switch.

use trimline_packet::{Handle, Packet, PortCounters};

use crate::drop_list::{Disposition, DropList};

/// Actions of a switch on packets that a port could not keep.
pub trait SwitchActions {
    /// Records a packet's disposition before it is applied.
    fn record(&mut self, packet: Handle, disposition: Disposition);
    /// The counters of the port.
    fn counters(&mut self) -> &mut PortCounters;
    /// Counts trimmed payload bytes.
    fn cut(&mut self, bytes: u64);
    /// Bounces a trimmed header. False if it cannot be bounced.
    fn bounce(&mut self, packet: Handle) -> bool;
    /// Routes a packet like any other, at once, and applies the resulting dispositions.
    fn forward(&mut self, packet: Handle);
    /// True if a packet is a trimmed header.
    fn is_header(&self, packet: Handle) -> bool;
    /// Frees the storage of a dropped packet.
    fn free(&mut self, packet: Handle);
    /// Makes a packet the notification of its drop. Returns the bytes trimmed, or `None` if this switch sends no
    /// notification of it.
    fn make_notification(&mut self, packet: Handle) -> Option<u16>;
    /// Sends a notification to the link over which its packet came, at once, and applies the resulting dispositions.
    fn send_back(&mut self, notification: Handle);
    /// Sends a notification to the sender of a packet that goes on, routed like any other. `header`: the packet as it
    /// leaves. False if no notification is sent.
    fn quench(&mut self, packet: Handle, header: &Packet) -> bool;
}

/// Applies all dispositions in `drop_list`, oldest first. The list is then empty and keeps its memory.
pub fn apply_dispositions(drop_list: &mut DropList, switch: &mut impl SwitchActions) {
    switch.counters().trimmed += u64::from(core::mem::take(&mut drop_list.trimmed));
    switch.cut(core::mem::take(&mut drop_list.cut_bytes));
    for (packet, disposition) in drop_list.drain() {
        switch.record(packet, disposition);
        let is_kept = match disposition {
            Disposition::Dropped => false,
            Disposition::Returned => {
                let is_bounced = switch.bounce(packet);
                if is_bounced {
                    // Return-to-sender (NDP 3.2.4): the header is routed like any other packet.
                    switch.counters().returned += 1;
                    switch.forward(packet);
                }
                is_bounced
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
        fn bounce(&mut self, packet: Handle) -> bool {
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
    fn every_dropped_packet_is_reported_then_forwarded_or_freed_and_counted_once() {
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
