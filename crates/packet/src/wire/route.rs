//! Addresses and ports to hosts and paths, and back: a frame's [`Datagram`] and the [`Packet`] that
//! switches and endpoints see.

use core::net::IpAddr;

use super::frame::{Datagram, Parsed};
use super::header::Fields;
use super::profile::Profile;
use super::{Error, What};
use crate::ids::{HostId, PathId};
use crate::packet::{Kind, Packet};

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
    /// The addresses and fields of a packet. Marks that IP does not know, or not of such a packet, are left behind.
    ///
    /// # Errors
    /// [`What::Address`] for a host or path without an address.
    pub fn of(packet: &Packet, routes: &impl Routes) -> Result<Datagram, Error> {
        // What was turned round has the addresses of its way out, swapped.
        let is_turned_round = packet.service.service().is_turned_round();
        let (from, to) = match is_turned_round {
            true => (packet.destination, packet.source),
            false => (packet.source, packet.destination),
        };
        let canonical = routes.canonical(from).ok_or(UNKNOWN)?;
        let (address, entropy) = routes.toward(to, packet.header.path).ok_or(UNKNOWN)?;
        let (source, destination) = match is_turned_round {
            true => (address, canonical),
            false => (canonical, address),
        };
        Ok(Datagram {
            source,
            destination,
            entropy,
            service: packet.service,
            marks: packet.marks & marks_of_ip(packet),
            fields: Fields::of(&packet.header),
        })
    }
}

/// The marks that IP can express of a packet: ECN; in the DSCP of whole data that it is unscheduled, in that of a
/// trimmed header that the last switch cut it.
fn marks_of_ip(packet: &Packet) -> u8 {
    let in_dscp = match packet.header.kind {
        Kind::Data => Profile::marks_of(packet.service),
        Kind::Ack | Kind::Nack | Kind::Pull | Kind::Reset => 0,
    };
    Packet::MARK_ECT | Packet::MARK_CE | in_dscp
}

impl Parsed<'_> {
    /// The packet as switches and endpoints see it.
    ///
    /// # Errors
    /// [`What::Address`] for an address that belongs to no host, or names no path.
    pub fn packet(&self, routes: &impl Routes) -> Result<Packet, Error> {
        let Datagram { source, destination, entropy, service, marks, fields } = self.datagram;
        let routed = if service.service().is_turned_round() { source } else { destination };
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
