//! Next hops, from the kernel's tables: its routes, and its neighbours (ARP, IPv6 neighbour discovery).

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket};
use std::time::{Duration, Instant};

use super::sys::netlink::{Neighbour, Netlink};

const DISCARD: u16 = 9;

/// Maximum time for the kernel to resolve a neighbour.
const STALL_TIMEOUT: Duration = Duration::from_secs(2);

/// Returns the Ethernet address of the next hop to `destination` on the interface with this index: its own, or the
/// gateway's in the kernel's route. Makes the kernel resolve it if it is unknown or stale.
///
/// # Errors
/// Fails without a route by this interface, or without an answer.
pub fn next_hop(interface: u32, destination: IpAddr) -> io::Result<[u8; 6]> {
    let mut netlink = Netlink::open()?;
    let start = Instant::now();
    loop {
        let found = look_up(&mut netlink, interface, destination)?;
        let neighbour = found.address;
        if found.is_to_be_asked() {
            // A datagram to the discard port makes the kernel resolve its next hop.
            let any: IpAddr = match neighbour {
                IpAddr::V4(_) => [0, 0, 0, 0].into(),
                IpAddr::V6(_) => [0u16; 8].into(),
            };
            UdpSocket::bind((any, 0))?.send_to(&[0], discard_port(neighbour, interface)).ok();
        }
        if let Some(known) = found.known {
            return Ok(known.ethernet);
        }
        if start.elapsed() > STALL_TIMEOUT {
            let text = format!("address resolution of {neighbour} had no answer");
            return Err(io::Error::new(io::ErrorKind::HostUnreachable, text));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn discard_port(neighbour: IpAddr, interface: u32) -> SocketAddr {
    on_link(neighbour, DISCARD, interface)
}

/// Returns a port of an address. A link-local address needs the interface's index.
pub(crate) fn on_link(address: IpAddr, port: u16, interface: u32) -> SocketAddr {
    match address {
        IpAddr::V6(own) if is_link_local(address) => {
            SocketAddrV6::new(own, port, 0, interface).into()
        }
        address => (address, port).into(),
    }
}

/// Returns whether an address is link-local: another link may have the same.
pub(crate) fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) address: IpAddr,
    /// The kernel's entry for it.
    pub(crate) known: Option<Neighbour>,
}

impl Found {
    /// Returns whether the kernel must send there itself: only then it resolves or checks a neighbour. This protocol's
    /// frames bypass it.
    pub(crate) fn is_to_be_asked(&self) -> bool {
        self.known.is_none_or(|known| known.is_stale)
    }
}

/// Returns the next hop to a destination, with the kernel's entry. Fails if there is no route by this interface.
pub(crate) fn look_up(
    netlink: &mut Netlink,
    interface: u32,
    destination: IpAddr,
) -> io::Result<Found> {
    // The kernel would name the route of any interface.
    if is_link_local(destination) {
        let known = netlink.neighbour(interface, destination)?;
        return Ok(Found { address: destination, known });
    }
    let (by, gateway) = netlink.route(destination).map_err(|error| {
        io::Error::new(error.kind(), format!("route to {destination}: {error}"))
    })?;
    if by != interface {
        let text = format!("the route to {destination} leaves by interface {by}, not {interface}");
        return Err(io::Error::new(io::ErrorKind::NetworkUnreachable, text));
    }
    let address = gateway.unwrap_or(destination);
    Ok(Found { address, known: netlink.neighbour(interface, address)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_asked_for_unknown_and_stale_neighbours() {
        let known = |is_stale| Some(Neighbour { ethernet: [2; 6], is_stale });
        let asks = |known| Found { address: [10, 0, 0, 2].into(), known }.is_to_be_asked();
        assert_eq!([None, known(true), known(false)].map(asks), [true, true, false]);
    }
}
