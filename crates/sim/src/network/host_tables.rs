//! A host's tables about its peers.

use trimline_packet::HostId;
use trimline_transport::{HostTables, Key, PathList, RngStream};

use crate::flows::Flows;
use crate::topology::Routes;

/// A host's tables about its peers, made at set-up.
pub(super) struct Tables<'a> {
    pub(super) host: HostId,
    pub(super) flows: &'a mut Flows,
    pub(super) routes: &'a Routes,
}

impl HostTables for Tables<'_> {
    #[inline]
    fn find(&self, key: Key) -> Option<u32> {
        self.flows.find(self.host.get(), key)
    }
    fn assign(&mut self, key: Key) -> u32 {
        self.flows.assign(self.host.get(), key)
    }
    fn accepts(&self, key: Key) -> bool {
        self.flows.accepts(self.host.get(), key)
    }
    fn release(&mut self, key: Key, _slot: u32) {
        self.flows.release(self.host.get(), key);
    }
    fn paths(&self, peer: HostId, paths: &mut PathList) {
        if self.flows.any_switch_random() {
            paths.push(trimline_transport::ANY_PATH);
        } else {
            self.routes.paths(self.host, peer, paths);
        }
    }
    fn transport(&self, key: Key) -> Option<usize> {
        self.flows.transport_of(self.host.get(), key)
    }
    fn stream(&self, key: Key) -> RngStream {
        self.flows.stream(self.host.get(), key)
    }
}
