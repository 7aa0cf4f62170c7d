//! Queries of the kernel's tables of links, addresses, routes and neighbours (rtnetlink). Reading messages ends for any
//! bytes.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::checked;

const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const RTM_NEWADDR: u16 = 20;
const RTM_GETADDR: u16 = 22;
const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
const RTM_NEWNEIGH: u16 = 28;
const RTM_GETNEIGH: u16 = 30;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const REQUEST: u16 = 1;
const DUMP: u16 = 0x300;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
/// A gateway of another address family than the destination: its family, and its address.
const RTA_VIA: u16 = 18;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
const IFLA_MTU: u16 = 4;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const STALE: u16 = 0x04;
/// Reachable, stale, delay, probe, permanent: states with a known address.
const KNOWN: u16 = 0x02 | STALE | 0x08 | 0x10 | 0x80;
/// The groups of changed routes of both families (RTMGRP_IPV4_ROUTE, RTMGRP_IPV6_ROUTE).
const ROUTE_GROUPS: u32 = 0x40 | 0x400;
/// Bytes of a message's header.
const HEADER: usize = 16;
const STALL_TIMEOUT_SECONDS: u8 = 1;

fn family(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => libc::AF_INET as u8,
        IpAddr::V6(_) => libc::AF_INET6 as u8,
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => Some(<[u8; 4]>::try_from(bytes).ok()?.into()),
        16 => Some(<[u8; 16]>::try_from(bytes).ok()?.into()),
        _ => None,
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

type Message<'a> = (u16, &'a [u8]);

/// Returns the messages of a datagram, up to malformed bytes.
fn messages(bytes: &[u8]) -> impl Iterator<Item = Message<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (length, kind) = (u32_at(rest, 0)? as usize, u16_at(rest, 4)?);
        let body = rest.get(HEADER..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, body))
    })
}

fn attributes(body: &[u8], header: usize) -> impl Iterator<Item = Message<'_>> {
    let mut rest = body.get(header..).unwrap_or(&[]);
    std::iter::from_fn(move || {
        let (length, kind) = (usize::from(u16_at(rest, 0)?), u16_at(rest, 2)?);
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, value))
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkNow {
    /// It is up and has a carrier.
    pub running: bool,
    pub mtu: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    pub ethernet: [u8; 6],
    /// It was not heard for a while. The kernel checks it only when it sends there itself.
    pub is_stale: bool,
}

/// Returns the entry in a message for a neighbour with a known Ethernet address.
fn neighbour_in((kind, body): Message<'_>, interface: u32, wanted: IpAddr) -> Option<Neighbour> {
    let state = u16_at(body, 8).filter(|state| state & KNOWN != 0)?;
    if kind != RTM_NEWNEIGH || u32_at(body, 4) != Some(interface) {
        return None;
    }
    let of = |wanted| attributes(body, 12).find(move |&(kind, _)| kind == wanted);
    let (_, destination) = of(NDA_DST)?;
    let (_, ethernet) = of(NDA_LLADDR)?;
    let ethernet = ethernet.try_into().ok()?;
    let is_wanted = address(destination) == Some(wanted);
    is_wanted.then_some(Neighbour { ethernet, is_stale: state & STALE != 0 })
}

/// Returns the interface of a route, and its gateway if any.
fn route_in((kind, body): Message<'_>) -> Option<(u32, Option<IpAddr>)> {
    if kind != RTM_NEWROUTE {
        return None;
    }
    let (mut by, mut gateway) = (None, None);
    for (kind, value) in attributes(body, 12) {
        match kind {
            RTA_OIF => by = u32_at(value, 0),
            RTA_GATEWAY => gateway = address(value),
            RTA_VIA => gateway = value.get(2..).and_then(address),
            _ => {}
        }
    }
    by.map(|by| (by, gateway))
}

/// A socket for queries in the network namespace of its opening.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    /// The number of the last query.
    asked: u32,
    buffer: Vec<u8>,
}

impl Netlink {
    pub fn open() -> io::Result<Netlink> {
        // SAFETY: takes numbers only; a descriptor that is not negative is new and ours.
        let socket = unsafe {
            let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
            let fd = checked(libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE))?;
            OwnedFd::from_raw_fd(fd)
        };
        let stall_timeout = libc::timeval { tv_sec: STALL_TIMEOUT_SECONDS.into(), tv_usec: 0 };
        super::set(&socket, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &stall_timeout)?;
        Ok(Netlink { socket, asked: 0, buffer: vec![0; 1 << 16] })
    }

    /// Opens a socket that receives messages about changed routes ([`Netlink::heard`]), and asks nothing.
    pub fn open_routes() -> io::Result<Netlink> {
        let netlink = Netlink::open()?;
        // SAFETY: a structure of zeros is valid: the kernel chooses the port.
        let mut place: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        place.nl_family = libc::AF_NETLINK as libc::sa_family_t;
        // Without a port a socket hears nothing.
        place.nl_groups = ROUTE_GROUPS;
        let length = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
        let socket = netlink.socket.as_raw_fd();
        // SAFETY: the place lives through the call, and its length is its own.
        checked(unsafe { libc::bind(socket, (&raw const place).cast(), length) })?;
        Ok(netlink)
    }

    /// Returns whether a message has arrived since the last call, or was lost for want of room. Never waits.
    pub fn heard(&mut self) -> bool {
        let mut any = false;
        loop {
            let (socket, buffer) = (self.socket.as_raw_fd(), &mut self.buffer);
            let (place, length) = (buffer.as_mut_ptr().cast(), buffer.len());
            // SAFETY: the buffer lives through the call, and its length is its own.
            let got = unsafe { libc::recv(socket, place, length, libc::MSG_DONTWAIT) };
            match checked(got as libc::c_int) {
                Ok(0) => return any,
                Ok(_) => any = true,
                // News was lost, so there was some.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => any = true,
                Err(_) => return any,
            }
        }
    }

    /// Sends a query and passes each message of the answer to `take`.
    fn ask(
        &mut self,
        kind: u16,
        flags: u16,
        body: &[u8],
        mut take: impl FnMut(Message<'_>),
    ) -> io::Result<()> {
        self.asked = self.asked.wrapping_add(1);
        let length = (HEADER + body.len()) as u32;
        let mut message = length.to_ne_bytes().to_vec();
        message.extend(kind.to_ne_bytes());
        message.extend((REQUEST | flags).to_ne_bytes());
        message.extend(self.asked.to_ne_bytes());
        message.extend([0; 4]);
        message.extend_from_slice(body);
        let socket = self.socket.as_raw_fd();
        // SAFETY: the bytes live through the call.
        let sent = unsafe { libc::send(socket, message.as_ptr().cast(), message.len(), 0) };
        checked(sent as libc::c_int)?;
        loop {
            let buffer = &mut self.buffer;
            // SAFETY: the buffer lives through the call, and its length is its own.
            let got = unsafe { libc::recv(socket, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
            let bytes = &buffer[..checked(got as libc::c_int)? as usize];
            // The answer to an earlier query that was given up.
            if u32_at(bytes, 8).is_some_and(|number| number != self.asked) {
                continue;
            }
            for (kind, body) in messages(bytes) {
                match kind {
                    NLMSG_DONE => return Ok(()),
                    NLMSG_ERROR => {
                        let error = u32_at(body, 0).map_or(0, |error| error as i32);
                        return match error.checked_neg() {
                            None | Some(..=0) => Ok(()),
                            Some(error) => Err(io::Error::from_raw_os_error(error)),
                        };
                    }
                    _ => take((kind, body)),
                }
            }
            if flags & DUMP == 0 || bytes.is_empty() {
                return Ok(());
            }
        }
    }

    /// Returns the interface towards an address, and the gateway if any.
    pub fn route(&mut self, destination: IpAddr) -> io::Result<(u32, Option<IpAddr>)> {
        let mut body = vec![0; 12];
        (body[0], body[1]) = (family(destination), octets(destination).len() as u8 * 8);
        attribute(&mut body, RTA_DST, &octets(destination));
        let mut found = None;
        self.ask(RTM_GETROUTE, 0, &body, |message| found = found.or_else(|| route_in(message)))?;
        found.ok_or_else(|| io::ErrorKind::NetworkUnreachable.into())
    }

    /// A neighbour, if the kernel knows its Ethernet address.
    pub fn neighbour(&mut self, interface: u32, wanted: IpAddr) -> io::Result<Option<Neighbour>> {
        let mut body = vec![0; 12];
        body[0] = family(wanted);
        body[4..8].copy_from_slice(&interface.to_ne_bytes());
        attribute(&mut body, NDA_DST, &octets(wanted));
        let mut found = None;
        let asked = self.ask(RTM_GETNEIGH, 0, &body, |message| {
            found = found.or_else(|| neighbour_in(message, interface, wanted));
        });
        match asked {
            Err(error) if error.raw_os_error() != Some(libc::ENOENT) => Err(error),
            Ok(()) | Err(_) => Ok(found),
        }
    }

    /// Returns the state of a link. Fails with ENODEV if it is gone.
    pub fn link(&mut self, interface: u32) -> io::Result<LinkNow> {
        let mut body = vec![0; 16];
        body[4..8].copy_from_slice(&interface.to_ne_bytes());
        let mut found = None;
        self.ask(RTM_GETLINK, 0, &body, |(kind, body)| {
            let flags = u32_at(body, 8).filter(|_| kind == RTM_NEWLINK);
            let mtu = attributes(body, 16).find(|&(kind, _)| kind == IFLA_MTU);
            let mtu = mtu.and_then(|(_, value)| u32_at(value, 0));
            if let (Some(flags), Some(mtu)) = (flags, mtu) {
                let wanted = (libc::IFF_UP | libc::IFF_RUNNING) as u32;
                let running = flags & wanted == wanted;
                found = Some(LinkNow { running, mtu: mtu as usize });
            }
        })?;
        found.ok_or_else(|| io::Error::from_raw_os_error(libc::ENODEV))
    }

    /// The addresses of an interface.
    pub fn addresses(&mut self, interface: u32) -> io::Result<Vec<IpAddr>> {
        let mut found = Vec::new();
        self.ask(RTM_GETADDR, DUMP, &[0; 8], |(kind, body)| {
            if kind != RTM_NEWADDR || u32_at(body, 4) != Some(interface) {
                return;
            }
            let of = |wanted| {
                let mut all = attributes(body, 8).filter(move |&(kind, _)| kind == wanted);
                all.find_map(|(_, value)| address(value))
            };
            // On a point-to-point line IFA_ADDRESS is the peer's address.
            found.extend(of(IFA_LOCAL).or_else(|| of(IFA_ADDRESS)));
        })?;
        Ok(found)
    }
}

fn attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend((4 + value.len() as u16).to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn trailing_bytes_of_netlink_are_no_message() {
        for extra in 0..40 {
            let mut bytes = 20u32.to_ne_bytes().to_vec();
            bytes.extend([28, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9]);
            let trailing: Vec<u8> = (0..extra).map(|n| n as u8 ^ 0x15).collect();
            bytes.extend(trailing);
            let found: Vec<Message<'_>> = messages(&bytes).collect();
            assert_eq!(found[0], (28, &[9, 9, 9, 9][..]), "{extra}");
        }
    }

    #[test]
    fn a_route_has_a_gateway_of_its_own_family_or_of_the_other_or_none() {
        let read = |kind, attributes: &[(u16, &[u8])]| {
            let mut body = vec![0; 12];
            attributes.iter().for_each(|&(kind, value)| attribute(&mut body, kind, value));
            route_in((kind, &body))
        };
        let by = (RTA_OIF, &3u32.to_ne_bytes()[..]);
        let v6 = std::net::Ipv6Addr::from(0xfe80_u128 << 112 | 1);
        let via = [&(libc::AF_INET6 as u16).to_ne_bytes()[..], &v6.octets(), &[0; 2]].concat();
        let via = (RTA_VIA, &via[..18]);
        assert_eq!(read(RTM_NEWROUTE, &[by]), Some((3, None)));
        let gateway = (RTA_GATEWAY, &[10, 0, 0, 9][..]);
        assert_eq!(read(RTM_NEWROUTE, &[by, gateway]), Some((3, Some([10, 0, 0, 9].into()))));
        assert_eq!(read(RTM_NEWROUTE, &[by, via]), Some((3, Some(v6.into()))));
        assert_eq!(read(RTM_NEWROUTE, &[by, (RTA_VIA, &[2])]), Some((3, None)));
        assert_eq!(read(RTM_NEWROUTE, &[gateway]), None, "it says no interface");
        assert_eq!(read(RTM_GETROUTE, &[by]), None);
    }

    #[test]
    fn a_neighbour_is_usable_in_five_states_and_stale_in_one() {
        let wanted = IpAddr::from([10, 0, 0, 2]);
        let said = |state: u16, to: [u8; 4]| {
            let mut body = vec![0; 12];
            body[4..8].copy_from_slice(&3u32.to_ne_bytes());
            body[8..10].copy_from_slice(&state.to_ne_bytes());
            attribute(&mut body, NDA_DST, &to);
            attribute(&mut body, NDA_LLADDR, &[2, 0, 0, 0, 0, 9]);
            body.extend([0; 2]);
            body
        };
        let read =
            |kind, state, interface, to| neighbour_in((kind, &said(state, to)), interface, wanted);
        let known = |is_stale| Some(Neighbour { ethernet: [2, 0, 0, 0, 0, 9], is_stale });
        let mine = [10, 0, 0, 2];
        // None, incomplete, reachable, stale, delay, probe, failed, no ARP, permanent: linux/neighbour.h.
        let states = [0x00, 0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80];
        let expected = [
            None,
            None,
            known(false),
            known(true),
            known(false),
            known(false),
            None,
            None,
            known(false),
        ];
        assert_eq!(states.map(|state| read(RTM_NEWNEIGH, state, 3, mine)), expected);
        assert_eq!(read(RTM_NEWNEIGH, 0x02, 4, mine), None, "another interface");
        assert_eq!(read(RTM_NEWNEIGH, 0x02, 3, [10, 0, 0, 3]), None, "another address");
        assert_eq!(read(RTM_GETNEIGH, 0x02, 3, mine), None, "another message");
    }

    proptest! {
        /// Reading ends for any bytes, and stays within them.
        #[test]
        fn any_netlink_bytes_are_parsed_or_refused(bytes in prop::collection::vec(prop_oneof![0u8..24, any::<u8>()], 0..200)) {
            let mut count = 0;
            for (_, body) in messages(&bytes) {
                count += 1;
                let all: usize = attributes(body, 12).map(|(_, value)| value.len() + 4).sum();
                prop_assert!(all <= body.len());
            }
            prop_assert!(count <= bytes.len() / HEADER);
        }
    }

    #[test]
    fn the_loopback_interface_has_a_link_state() {
        let mut netlink = Netlink::open().unwrap();
        let link = super::super::link("lo").unwrap();
        assert_eq!(netlink.link(link.index).unwrap().mtu, link.mtu);
        assert!(netlink.addresses(link.index).unwrap().iter().all(IpAddr::is_loopback));
        let gone = netlink.link(0x7fff_0000).unwrap_err();
        assert_eq!(gone.raw_os_error(), Some(libc::ENODEV));
        assert_eq!(netlink.neighbour(link.index, [127, 9, 9, 9].into()).unwrap(), None);
    }
}
