//! NDP beside TCP (NDP 7): a tree of two levels is ports inside a port. The upper level shares the
//! wire by bytes, the lower ones are the service models of each kind of traffic.

use trimline_packet::{Handle, Packets, Service, Time};

use crate::testing::{Arena, Coins, packet};
use crate::{Chance, Displaced, Pool, Port, ServiceModel};

/// Bytes of one turn: a full packet, so that every turn sends one.
const QUANTUM: i64 = 9064;

/// The models of both kinds of traffic.
struct Models {
    ndp: ServiceModel,
    tcp: ServiceModel,
}

/// An output port that NDP and TCP share under deficit round robin.
#[derive(Default)]
struct SharedPort {
    ndp: Port<2>,
    tcp: Port<1>,
    /// Bytes that each may still send in its turn; below zero when its last packet was longer.
    deficits: [i64; 2],
    turn: usize,
}

impl SharedPort {
    #[allow(clippy::too_many_arguments)]
    fn enqueue<P: Packets, C: Chance>(
        &mut self,
        now: Time,
        packet: Handle,
        models: &Models,
        packets: &mut P,
        pool: &mut Pool,
        coin: &mut C,
        displaced: &mut Displaced,
    ) {
        match packets.packet(packet).service {
            Service::Droppable => {
                self.tcp.enqueue(now, packet, &models.tcp, packets, pool, coin, displaced);
            }
            _ => {
                self.ndp.enqueue(now, packet, &models.ndp, packets, pool, coin, displaced);
            }
        }
    }

    fn dequeue<P: Packets>(
        &mut self,
        now: Time,
        models: &Models,
        packets: &mut P,
        pool: &mut Pool,
        displaced: &mut Displaced,
    ) -> Option<Handle> {
        // One wire: whoever had it gives its memory back, whoever is next.
        self.ndp.release(&models.ndp, pool);
        self.tcp.release(&models.tcp, pool);
        let waits = [self.ndp.is_backlogged(), self.tcp.is_backlogged()];
        if waits == [false, false] {
            self.deficits = [0; 2];
            return None;
        }
        while !waits[self.turn] || self.deficits[self.turn] <= 0 {
            if !waits[self.turn] {
                self.deficits[self.turn] = 0;
            }
            self.turn = 1 - self.turn;
            self.deficits[self.turn] += QUANTUM;
        }
        let sent = match self.turn {
            0 => self.ndp.dequeue(now, &models.ndp, packets, pool, displaced),
            _ => self.tcp.dequeue(now, &models.tcp, packets, pool, displaced),
        };
        let bytes = sent.map_or(0, |sent| packets.packet(sent).wire_bytes);
        self.deficits[self.turn] -= i64::from(bytes);
        sent
    }
}

#[test]
fn each_gets_half_of_the_bytes_and_keeps_its_own_queue() {
    let models = Models { ndp: ServiceModel::paper(8, 9000), tcp: ServiceModel::drop_tail(50) };
    let (mut port, mut packets, mut pool) = (SharedPort::default(), Arena::default(), Pool::none());
    let (mut coins, mut displaced) = (Coins::default(), Displaced::new());
    coins.0.extend([false, true].into_iter().cycle().take(10_000));
    let mut sent = [0u64; 2];
    for round in 0..2000 {
        for (service, bytes) in [(Service::Trimmable, 9064), (Service::Droppable, 1564)] {
            let copies = 9064 / u32::from(bytes) + 1;
            for copy in 0..copies {
                let handle = packets.add(packet(service, bytes, round * 10 + copy));
                port.enqueue(
                    Time::ZERO,
                    handle,
                    &models,
                    &mut packets,
                    &mut pool,
                    &mut coins,
                    &mut displaced,
                );
            }
        }
        let next = port.dequeue(Time::ZERO, &models, &mut packets, &mut pool, &mut displaced);
        let next = packets.packet(next.expect("both wait"));
        sent[usize::from(next.service == Service::Droppable)] += u64::from(next.wire_bytes);
        assert!(port.ndp.queue_packets(1) <= 8 && port.tcp.queue_packets(0) <= 50);
    }
    assert!(sent[0].abs_diff(sent[1]) <= 2 * 9064, "{sent:?}");
    assert!(displaced.trimmed > 0, "NDP's packets are trimmed");
    assert!(!displaced.is_empty(), "TCP's are dropped");
}
