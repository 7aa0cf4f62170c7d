//! Next hops, from the kernel's tables: its routes, and its neighbours (ARP, IPv6 neighbour discovery).

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket};
use std::time::{Duration, Instant};

use super::sys::netlink::Netlink;

/// The port of the discard service.
const DISCARD: u16 = 9;

/// How long the kernel may look for a neighbour.
const PATIENCE: Duration = Duration::from_secs(2);

/// The Ethernet address to which packets for `destination` are sent on the interface with this number: the
/// destination's own, or that of the gateway of the kernel's route. The kernel is made to look for it if it
/// does not know it yet.
///
/// # Errors
/// There is no route by this interface, or nobody answers.
pub fn next_hop(interface: u32, destination: IpAddr) -> io::Result<[u8; 6]> {
    let mut netlink = Netlink::open()?;
    let start = Instant::now();
    loop {
        let neighbour = match look_up(&mut netlink, interface, destination)? {
            Ok(ethernet) => return Ok(ethernet),
            Err(neighbour) => neighbour,
        };
        if start.elapsed() > PATIENCE {
            let text = format!("nobody answers for {neighbour}");
            return Err(io::Error::new(io::ErrorKind::HostUnreachable, text));
        }
        // A datagram to the discard port: the kernel looks for its next hop.
        let any: IpAddr = match neighbour {
            IpAddr::V4(_) => [0, 0, 0, 0].into(),
            IpAddr::V6(_) => [0u16; 8].into(),
        };
        UdpSocket::bind((any, 0))?.send_to(&[0], discard_port(neighbour, interface)).ok();
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The discard port of a neighbour on an interface.
pub(crate) fn discard_port(neighbour: IpAddr, interface: u32) -> SocketAddr {
    on_link(neighbour, DISCARD, interface)
}

/// A port of an address on an interface: an address of this link alone needs the interface's number.
pub(crate) fn on_link(address: IpAddr, port: u16, interface: u32) -> SocketAddr {
    match address {
        IpAddr::V6(own) if is_link_local(address) => {
            SocketAddrV6::new(own, port, 0, interface).into()
        }
        address => (address, port).into(),
    }
}

/// Whether an address is of one link alone: another link may have the same.
pub(crate) fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

/// The Ethernet address of the next hop to a destination, or the neighbour whose address the kernel does not know.
///
/// # Errors
/// There is no route by this interface.
pub(crate) fn look_up(
    netlink: &mut Netlink,
    interface: u32,
    destination: IpAddr,
) -> io::Result<Result<[u8; 6], IpAddr>> {
    // The kernel would name the route of any interface.
    if is_link_local(destination) {
        return Ok(netlink.neighbour(interface, destination)?.ok_or(destination));
    }
    let (by, gateway) = netlink.route(destination).map_err(|error| {
        io::Error::new(error.kind(), format!("route to {destination}: {error}"))
    })?;
    if by != interface {
        let text = format!("the route to {destination} leaves by interface {by}, not {interface}");
        return Err(io::Error::new(io::ErrorKind::NetworkUnreachable, text));
    }
    let neighbour = gateway.unwrap_or(destination);
    Ok(netlink.neighbour(interface, neighbour)?.ok_or(neighbour))
}
