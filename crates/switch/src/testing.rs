//! Helpers of tests: packet storage, RNGs, packets.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use trimline_packet::{
    ConnectionId, Flags, Handle, Header, HostId, Kind, Packet, Packets, PathId, Service, Time,
};

use crate::{DropList, OutputPort, Pool, Port, PortContext, Rng, ServiceModel};

/// Packets by handle; never freed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arena(Vec<(Packet, Handle)>);

impl Arena {
    pub(crate) fn add(&mut self, packet: Packet) -> Handle {
        self.0.push((packet, Handle::NONE));
        Handle::new(self.0.len() as u32 - 1)
    }
}

impl Packets for Arena {
    fn packet(&self, handle: Handle) -> &Packet {
        &self.0[handle.index()].0
    }
    fn packet_mut(&mut self, handle: Handle) -> &mut Packet {
        &mut self.0[handle.index()].0
    }
    fn next(&self, handle: Handle) -> Handle {
        self.0[handle.index()].1
    }
    fn set_next(&mut self, handle: Handle, next: Handle) {
        self.0[handle.index()].1 = next;
    }
}

/// A scripted RNG. A draw beyond the script panics.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScriptedRng(pub(crate) VecDeque<bool>);

impl Rng for ScriptedRng {
    fn coin(&mut self) -> bool {
        self.0.pop_front().expect("a coin was drawn that the test did not lay out")
    }
    fn below(&mut self, _bound: u32) -> u32 {
        u32::from(self.coin())
    }
}

/// A reproducible RNG (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct SplitMix(pub(crate) u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Rng for SplitMix {
    fn coin(&mut self) -> bool {
        self.next() >> 63 != 0
    }
    fn below(&mut self, bound: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u32
    }
}

/// A packet from host 1 to host 2.
pub(crate) fn packet(service: Service, wire_bytes: u16, sequence: u32) -> Packet {
    let kind = if service == Service::Control { Kind::Ack } else { Kind::Data };
    Packet {
        source: HostId::new(1),
        destination: HostId::new(2),
        header: Header {
            kind,
            flags: Flags::default(),
            path: PathId::new(0),
            connection: ConnectionId::new(1),
            sequence,
            extra: 0,
        },
        wire_bytes,
        service: service.into(),
        marks: 0,
    }
}

/// State around ports, without models.
pub(crate) struct World {
    pub(crate) packets: Arena,
    pub(crate) pool: Pool,
    pub(crate) coins: ScriptedRng,
    pub(crate) drop_list: DropList,
}

impl World {
    pub(crate) fn new() -> World {
        let (packets, pool) = (Arena::default(), Pool::none());
        World { packets, pool, coins: ScriptedRng::default(), drop_list: DropList::new() }
    }

    pub(crate) fn context<'a, M>(
        &'a mut self,
        now: Time,
        model: &'a M,
    ) -> PortContext<'a, M, Arena, ScriptedRng> {
        let World { packets, pool, coins, drop_list } = self;
        PortContext { now, model, packets, pool, rng: coins, drop_list }
    }
}

pub(crate) struct Bench<const Q: usize> {
    pub(crate) model: ServiceModel,
    pub(crate) port: Port<Q>,
    pub(crate) packets: Arena,
    pub(crate) pool: Pool,
    pub(crate) coins: ScriptedRng,
    pub(crate) drop_list: DropList,
}

impl<const Q: usize> Bench<Q> {
    pub(crate) fn new(model: ServiceModel) -> Bench<Q> {
        Bench {
            model,
            port: Port::new(),
            packets: Arena::default(),
            pool: Pool::none(),
            coins: ScriptedRng::default(),
            drop_list: DropList::new(),
        }
    }

    pub(crate) fn arrive(&mut self, packet: Packet) -> Handle {
        let handle = self.packets.add(packet);
        let (port, mut context) = self.split(Time::ZERO);
        port.enqueue(handle, &mut context);
        handle
    }

    pub(crate) fn serve(&mut self) -> Option<Handle> {
        let (port, mut context) = self.split(Time::ZERO);
        port.dequeue(&mut context)
    }

    fn split(
        &mut self,
        now: Time,
    ) -> (&mut Port<Q>, PortContext<'_, ServiceModel, Arena, ScriptedRng>) {
        let Bench { model, port, packets, pool, coins, drop_list } = self;
        (port, PortContext { now, model, packets, pool, rng: coins, drop_list })
    }
}
