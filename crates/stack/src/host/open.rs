//! Hosts of this machine, on an interface or UDP sockets, with data from the kernel.

use std::io;
use std::net::IpAddr;

use trimline_packet::BitRate;
use trimline_packet::wire::Profile;

use super::{Config, Host};
use crate::clock::Clock;
use crate::io::afpacket::AfPacket;
use crate::io::udp::Udp;
use crate::io::{PacketIo, neighbours};

impl Host<AfPacket> {
    /// Opens an interface with its Ethernet address and MTU, and validates unknown addresses. `change` may change any
    /// parameter.
    ///
    /// # Errors
    /// Fails without such an interface or the right to open it, for an address that is not the interface's or that
    /// another process has, and if the MTU leaves no room.
    pub fn open(
        interface: &str,
        address: IpAddr,
        rate: BitRate,
        change: impl FnOnce(&mut Config),
    ) -> io::Result<Host<AfPacket>> {
        let mut socket = AfPacket::open_port(interface, Profile::PAPER.port)?;
        let mut config = Config::new(address, socket.caps().mtu, rate).map_err(io::Error::other)?;
        config.ethernet = socket.ethernet();
        (config.validates_addresses, config.joins_acks) = (true, true);
        change(&mut config);
        config.check().map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let addresses: Vec<IpAddr> = match config.ways.as_slice() {
            [] => vec![config.address],
            ways if !ways.contains(&config.address) => {
                let text = format!("{address}: expected one of the path addresses of this host");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
            ways => ways.to_vec(),
        };
        socket
            .claim(&config.profile, &addresses)
            .map_err(|error| io::Error::new(error.kind(), format!("{interface}: {error}")))?;
        Ok(Host::new(socket, config, Clock::real()))
    }

    /// Adds a peer, with the next hop from the kernel's routes and neighbours. Its path addresses stay.
    ///
    /// # Errors
    /// Fails without a route by this interface, or if the next hop does not answer.
    pub fn resolve(&mut self, peer: IpAddr) -> io::Result<()> {
        if !self.core.knows(peer) {
            let next_hop = neighbours::next_hop(self.io.index(), peer)?;
            self.core.add_peer(peer, &[], next_hop);
        }
        Ok(())
    }
}

impl Host<Udp> {
    /// Opens `paths` UDP sockets for sending at an address of this machine, on a path that carries `mtu` bytes with IP
    /// headers, and validates unknown addresses. `change` may change any parameter.
    ///
    /// # Errors
    /// Fails without such an address, or if the MTU leaves no room.
    pub fn open_udp(
        address: IpAddr,
        mtu: usize,
        paths: u16,
        rate: BitRate,
        change: impl FnOnce(&mut Config),
    ) -> io::Result<Host<Udp>> {
        let socket = Udp::open(address, mtu, paths, Profile::PAPER)
            .map_err(|error| io::Error::new(error.kind(), format!("{address}: {error}")))?;
        let mut config = Config::new(address, socket.caps().mtu, rate).map_err(io::Error::other)?;
        config.entropies = paths;
        (config.validates_addresses, config.joins_acks) = (true, true);
        change(&mut config);
        config.check().map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(Host::new(socket, config, Clock::real()))
    }

    /// Adds a peer; the kernel finds the way to it.
    pub fn resolve(&mut self, peer: IpAddr) {
        if !self.core.knows(peer) {
            self.core.add_peer(peer, &[], [0; 6]);
        }
    }
}

impl<I: PacketIo + 'static> Host<I> {
    /// Erases the type of the interface.
    pub fn boxed(self) -> Host<Box<dyn PacketIo>> {
        let Host {
            io,
            core,
            clock,
            waiter,
            pending,
            spare,
            links,
            latest,
            begun_again,
            waker,
            overran,
        } = self;
        let io = Box::new(io);
        Host { io, core, clock, waiter, pending, spare, links, latest, begun_again, waker, overran }
    }
}
