//! One network, several threads: each drives its own units through a view of its own.

use std::mem;

use trimline_switch::{Displaced, OutputPort, Pool, PortModel};

use super::{Ledger, Network};
use crate::arena::Arena;
use crate::protocol::Protocol;
use crate::table::Shared;

impl<E: Protocol, P: OutputPort> Network<E, P> {
    /// Another view of this network, without packets.
    ///
    /// # Safety
    /// While two threads use views, each calls only what concerns units of its own, and a switch with all its ports
    /// belongs to one thread. Who looks at other units, changes links or gathers does it while the others wait.
    pub(crate) unsafe fn view(&self) -> Self {
        let pools = if self.model.is_plain() {
            // No port looks at it, but each is handed the first.
            Shared::from(vec![Pool::none()])
        } else {
            // SAFETY: promised by the caller.
            unsafe { self.pools.view() }
        };
        // SAFETY: promised by the caller.
        unsafe {
            Network {
                seed: self.seed,
                ports: self.ports.view(),
                hosts: self.hosts.view(),
                classes: self.classes.view(),
                links: self.links.view(),
                arena: Arena::new(),
                routes: self.routes.view(),
                model: self.model.clone(),
                pools,
                couples_ports: self.couples_ports,
                pauses: self.pauses.as_ref().map(|pauses| Box::new(pauses.view())),
                deflections: self.deflections.as_ref().map(|of| Box::new(of.view())),
                bumps: self.bumps.as_ref().map(|bumps| Box::new(bumps.view())),
                nics: self.nics.as_ref().map(|nics| Box::new(nics.view())),
                has_stages: self.has_stages,
                coins: self.coins.view(),
                choices: self.choices.view(),
                counters: self.counters.view(),
                losses: self.losses.view(),
                sent: self.sent.view(),
                displaced: Displaced::default(),
                flows: self.flows.view(),
                has_notices: self.has_notices,
                ledger: Ledger::default(),
                port_hops: 0,
            }
        }
    }

    /// Takes over what another view counted.
    pub(crate) fn gather(&mut self, other: &mut Self) {
        self.flows.gather(&mut other.flows);
        self.ledger.add(&mem::take(&mut other.ledger));
        if let (Some(mine), Some(theirs)) = (&mut self.deflections, &mut other.deflections) {
            mine.gather(theirs);
        }
        self.port_hops += mem::take(&mut other.port_hops);
    }

    /// Takes over the packets of another view at the end of a run, when none will go anywhere.
    pub(crate) fn take_packets(&mut self, other: &Self) {
        other.arena.for_each_live(|&packet| {
            self.arena.insert(packet);
        });
    }
}

impl Ledger {
    fn add(&mut self, other: &Ledger) {
        self.created += other.created;
        self.created_bytes += other.created_bytes;
        for (mine, theirs) in self.delivered.iter_mut().zip(other.delivered) {
            *mine += theirs;
        }
        self.delivered_bytes += other.delivered_bytes;
        self.dropped += other.dropped;
        self.dropped_bytes += other.dropped_bytes;
        self.lost += other.lost;
        self.lost_bytes += other.lost_bytes;
        self.cut_bytes += other.cut_bytes;
    }
}
