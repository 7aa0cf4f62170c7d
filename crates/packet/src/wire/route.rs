//! Addresses and ports to hosts and paths, and back: a frame's [`Datagram`] and the [`Packet`] that
//! switches and endpoints see.

use core::net::IpAddr;

use super::frame::{Datagram, Parsed};
use super::header::Fields;
use super::{Error, What};
use crate::ids::{HostId, PathId};
use crate::packet::{Packet, Service};

/// What the caller knows of addresses. A path is the pair (destination address, entropy): an address
/// for each core switch where the fabric routes by them (NDP 3.1.1), the UDP source port where it
/// hashes.
pub trait Routes {
    /// The one address that a host sends from.
    fn canonical(&self, host: HostId) -> Option<IpAddr>;
    /// Where a packet to `host` on `path` is sent: destination address and entropy.
    fn toward(&self, host: HostId, path: PathId) -> Option<(IpAddr, u16)>;
    /// The host that this address belongs to, as one of several or the only one.
    fn host(&self, address: IpAddr) -> Option<HostId>;
    /// The path that this destination address and entropy name.
    fn path(&self, address: IpAddr, entropy: u16) -> Option<PathId>;
}

/// The entropy of a path in a fabric that hashes: the path's number, counted from the beginning of the
/// dynamic range and on from 0 behind its end. A bijection, so that every path has one.
pub const fn entropy_of(path: PathId) -> u16 {
    path.get().wrapping_add(0xc000)
}

/// The path of an entropy: the inverse of [`entropy_of`].
pub const fn path_of(entropy: u16) -> PathId {
    PathId::new(entropy.wrapping_sub(0xc000))
}

const UNKNOWN: Error = Error::new(What::Address, 0);

impl Datagram {
    /// The addresses and fields of a packet. Marks that IP does not know are left behind.
    ///
    /// # Errors
    /// [`What::Address`] for a host or path without an address.
    pub fn of(packet: &Packet, routes: &impl Routes) -> Result<Datagram, Error> {
        // A returned header has the addresses of its way out, swapped.
        let (from, to) = match packet.service.service() {
            Service::Returned => (packet.destination, packet.source),
            Service::Trimmable | Service::Trimmed | Service::Control | Service::Droppable => {
                (packet.source, packet.destination)
            }
        };
        let canonical = routes.canonical(from).ok_or(UNKNOWN)?;
        let (address, entropy) = routes.toward(to, packet.header.path).ok_or(UNKNOWN)?;
        let (source, destination) = match packet.service.service() {
            Service::Returned => (address, canonical),
            Service::Trimmable | Service::Trimmed | Service::Control | Service::Droppable => {
                (canonical, address)
            }
        };
        Ok(Datagram {
            source,
            destination,
            entropy,
            service: packet.service,
            marks: packet.marks & (Packet::MARK_ECT | Packet::MARK_CE),
            fields: Fields::of(&packet.header),
        })
    }
}

impl Parsed<'_> {
    /// The packet as switches and endpoints see it.
    ///
    /// # Errors
    /// [`What::Address`] for an address that belongs to no host, or names no path.
    pub fn packet(&self, routes: &impl Routes) -> Result<Packet, Error> {
        let Datagram { source, destination, entropy, service, marks, fields } = self.datagram;
        let routed = if service == Service::Returned { source } else { destination };
        Ok(Packet {
            source: routes.host(source).ok_or(UNKNOWN)?,
            destination: routes.host(destination).ok_or(UNKNOWN)?,
            header: fields.on_path(routes.path(routed, entropy).ok_or(UNKNOWN)?),
            wire_bytes: self.wire_bytes,
            service,
            marks,
        })
    }
}
