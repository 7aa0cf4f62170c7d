//! Maps addresses and ports to hosts and paths: a frame's [`Datagram`] from and to the [`Packet`] of switches and
//! endpoints.

use core::net::IpAddr;

use super::frame::{Datagram, Parsed};
use super::header::Fields;
use super::profile::Profile;
use super::{Error, What};
use crate::ids::{HostId, PathId};
use crate::packet::{Kind, Packet};

/// The caller's address tables. A path is the pair (destination address, entropy): an address per core switch in
/// fabrics that route by them (NDP 3.1.1), the UDP source port in fabrics that hash.
pub trait Routes {
    /// Source address of a host.
    fn canonical(&self, host: HostId) -> Option<IpAddr>;
    /// Destination address and entropy of a packet to `host` on `path`.
    fn toward(&self, host: HostId, path: PathId) -> Option<(IpAddr, u16)>;
    /// Host with this address, perhaps among others.
    fn host(&self, address: IpAddr) -> Option<HostId>;
    /// Path of this destination address and entropy.
    fn path(&self, address: IpAddr, entropy: u16) -> Option<PathId>;
}

/// Entropy of a path in a fabric that hashes: path number plus start of the dynamic range, modulo 2^16. A bijection, so
/// all paths have one.
pub const fn entropy_of(path: PathId) -> u16 {
    path.get().wrapping_add(0xc000)
}

/// Path of an entropy: inverse of [`entropy_of`].
pub const fn path_of(entropy: u16) -> PathId {
    PathId::new(entropy.wrapping_sub(0xc000))
}

const UNKNOWN: Error = Error::new(What::Address, 0);

impl Datagram {
    /// Converts a packet, without marks that IP cannot express for it.
    ///
    /// # Errors
    /// [`What::Address`] for a host or path without an address.
    pub fn of(packet: &Packet, routes: &impl Routes) -> Result<Datagram, Error> {
        // A bounced packet has the addresses of its way out, swapped.
        let is_bounced = packet.service.service().is_bounced();
        let (from, to) = match is_bounced {
            true => (packet.destination, packet.source),
            false => (packet.source, packet.destination),
        };
        let canonical = routes.canonical(from).ok_or(UNKNOWN)?;
        let (address, entropy) = routes.toward(to, packet.header.path).ok_or(UNKNOWN)?;
        let (source, destination) = match is_bounced {
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

/// Marks that IP can express for a packet: ECN; in the DSCP "unscheduled" of whole data, "trimmed by the last switch"
/// of a header.
fn marks_of_ip(packet: &Packet) -> u8 {
    let in_dscp = match packet.header.kind {
        Kind::Data => Profile::marks_of(packet.service),
        Kind::Ack | Kind::Nack | Kind::Pull | Kind::Reset => 0,
    };
    Packet::MARK_ECT | Packet::MARK_CE | in_dscp
}

impl Parsed<'_> {
    /// Converts to a packet of switches and endpoints.
    ///
    /// # Errors
    /// [`What::Address`] for an address without host or path.
    pub fn packet(&self, routes: &impl Routes) -> Result<Packet, Error> {
        let Datagram { source, destination, entropy, service, marks, fields } = self.datagram;
        let routed = if service.service().is_bounced() { source } else { destination };
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
