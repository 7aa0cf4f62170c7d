//! What is behind an output port: the simulator's port, or two of them that share the wire.

use trimline_packet::{Handle, Packets, Service, Time};
use trimline_switch::{Chance, Displaced, Pool, Port, ServiceModel};

use super::frames::Frames;

/// Bytes that each kind of traffic may send in a turn: a full packet, so that every turn sends one.
const QUANTUM: i64 = 9064;

/// What the ports of a switch do.
#[derive(Clone, Debug)]
pub(super) struct Models {
    /// For NDP's packets, and for all when there is nothing beside them.
    pub(super) ndp: ServiceModel,
    /// For packets that may only be dropped, beside NDP under deficit round robin (NDP 3.3).
    pub(super) beside: Option<ServiceModel>,
}

/// The queues of an output port.
#[derive(Clone, Debug, Default)]
pub(super) struct Egress {
    ndp: Port<8>,
    beside: Port<1>,
    /// Bytes that each may still send in its turn; below zero when its last packet was longer.
    deficits: [i64; 2],
    turn: usize,
}

impl Egress {
    pub(super) fn enqueue(
        &mut self,
        now: Time,
        packet: Handle,
        models: &Models,
        frames: &mut Frames,
        coin: &mut impl Chance,
        displaced: &mut Displaced,
    ) {
        let mut pool = Pool::none();
        match &models.beside {
            Some(model) if frames.packet(packet).service == Service::Droppable => {
                self.beside.enqueue(now, packet, model, frames, &mut pool, coin, displaced);
            }
            _ => self.ndp.enqueue(now, packet, &models.ndp, frames, &mut pool, coin, displaced),
        }
    }

    /// What was on the wire has left, and nothing is sent.
    pub(super) fn release(&mut self, models: &Models) {
        let mut pool = Pool::none();
        self.ndp.release(&models.ndp, &mut pool);
        if let Some(model) = &models.beside {
            self.beside.release(model, &mut pool);
        }
    }

    pub(super) fn is_backlogged(&self) -> bool {
        self.ndp.is_backlogged() || self.beside.is_backlogged()
    }

    /// What was on the wire has left; the next packet is on it now.
    pub(super) fn dequeue(
        &mut self,
        now: Time,
        models: &Models,
        frames: &mut Frames,
        displaced: &mut Displaced,
    ) -> Option<Handle> {
        let mut pool = Pool::none();
        let Some(beside) = &models.beside else {
            return self.ndp.dequeue(now, &models.ndp, frames, &mut pool, displaced);
        };
        self.release(models);
        let waits = [self.ndp.is_backlogged(), self.beside.is_backlogged()];
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
            0 => self.ndp.dequeue(now, &models.ndp, frames, &mut pool, displaced),
            _ => self.beside.dequeue(now, beside, frames, &mut pool, displaced),
        };
        let bytes = sent.map_or(0, |sent| frames.packet(sent).wire_bytes);
        self.deficits[self.turn] -= i64::from(bytes);
        sent
    }

    /// Packets of each queue, those on the wire included: NDP's, then those beside.
    pub(super) fn queued(&self, models: &Models) -> Vec<u32> {
        let queues = 0..models.ndp.queue_count();
        let mut queued: Vec<u32> = queues.map(|queue| self.ndp.queue_packets(queue)).collect();
        queued.extend(models.beside.is_some().then(|| self.beside.queue_packets(0)));
        queued
    }
}
