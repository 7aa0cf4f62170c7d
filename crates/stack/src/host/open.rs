//! A host on an interface of this machine: everything that can be is taken from the kernel.

use std::io;
use std::net::IpAddr;

use trimline_packet::BitRate;

use super::{Config, Host};
use crate::clock::Clock;
use crate::io::PacketIo;
use crate::io::afpacket::AfPacket;
use crate::io::neighbours;

impl Host<AfPacket> {
    /// Opens an interface. The Ethernet address and the MTU are the interface's. `change` has the last
    /// word about the parameters.
    ///
    /// # Errors
    /// No such interface, no right to open it, or an MTU that leaves no room.
    pub fn open(
        interface: &str,
        address: IpAddr,
        rate: BitRate,
        change: impl FnOnce(&mut Config),
    ) -> io::Result<Host<AfPacket>> {
        let port = trimline_packet::wire::Profile::PAPER.port;
        let socket = AfPacket::open_host(interface, port)?;
        let mut config = Config::new(address, socket.caps().mtu, rate).map_err(io::Error::other)?;
        config.ethernet = socket.ethernet();
        change(&mut config);
        Ok(Host::new(socket, config, Clock::real()))
    }

    /// Makes a peer known: the way to it is what the kernel's routes and neighbours say.
    ///
    /// # Errors
    /// There is no route by this interface, or nobody answers for the next hop.
    pub fn resolve(&mut self, peer: IpAddr) -> io::Result<()> {
        if !self.core.knows(peer) {
            let next_hop = neighbours::next_hop(self.io.index(), peer)?;
            self.core.add_peer(peer, &[], next_hop);
        }
        Ok(())
    }
}
