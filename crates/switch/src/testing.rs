//! Helpers of tests: packet storage, RNGs, packets.

use alloc::collections::VecDeque;

pub(crate) use trimline_packet::testing::{Arena, packet};
use trimline_packet::{Handle, Packet, Time};

use crate::{DropList, OutputPort, Pool, Port, PortContext, Rng, ServiceModel};

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

/// Everything that ports are given, their models apart.
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
