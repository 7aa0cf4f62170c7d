//! Questions to the kernel's routing tables (rtnetlink). Messages are built and read as bytes.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::checked;

const RTM_NEWNEIGH: u16 = 28;
const RTM_GETNEIGH: u16 = 30;
const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const REQUEST: u16 = 1;
const DUMP: u16 = 0x300;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
/// Reachable, stale, delay, probe, permanent: states in which an address is known.
const KNOWN: u16 = 0x02 | 0x04 | 0x08 | 0x10 | 0x80;

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

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Asks, and hands every message of the answer over: its type and what is behind its header.
fn ask(kind: u16, flags: u16, body: &[u8], mut take: impl FnMut(u16, &[u8])) -> io::Result<()> {
    // SAFETY: takes numbers only; a descriptor that is not negative is new and ours.
    let socket = unsafe {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        OwnedFd::from_raw_fd(checked(libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE))?)
    };
    let length = 16 + body.len() as u32;
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend((REQUEST | flags).to_ne_bytes());
    message.extend([1, 0, 0, 0, 0, 0, 0, 0]);
    message.extend_from_slice(body);
    // SAFETY: the bytes live through the call.
    let sent = unsafe { libc::send(socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
    checked(sent as libc::c_int)?;
    let mut buffer = vec![0u8; 1 << 16];
    loop {
        // SAFETY: the buffer lives through the call, and its length is its own.
        let got =
            unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        let mut rest = &buffer[..checked(got as libc::c_int)? as usize];
        while let (Some(length), Some(kind)) = (word(rest, 0), half(rest, 4)) {
            let length = (length as usize).clamp(16, rest.len());
            let body = rest.get(16..length).unwrap_or(&[]);
            match kind {
                NLMSG_DONE => return Ok(()),
                NLMSG_ERROR => {
                    let error = word(body, 0).map_or(0, |error| error as i32);
                    return match error {
                        0 => Ok(()),
                        _ => Err(io::Error::from_raw_os_error(-error)),
                    };
                }
                _ => take(kind, body),
            }
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        }
        if flags & DUMP == 0 {
            return Ok(());
        }
    }
}

/// The attributes behind a header of this length.
fn attributes(body: &[u8], header: usize) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = body.get(header..).unwrap_or(&[]);
    std::iter::from_fn(move || {
        let (length, kind) = (usize::from(half(rest, 0)?), half(rest, 2)?);
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        Some((kind, value))
    })
}

/// The interface by which the kernel sends to an address, and the gateway if there is one.
pub(crate) fn route(destination: IpAddr) -> io::Result<(u32, Option<IpAddr>)> {
    let octets = octets(destination);
    let mut body = vec![0; 12];
    (body[0], body[1]) = (family(destination), octets.len() as u8 * 8);
    body.extend((4 + octets.len() as u16).to_ne_bytes());
    body.extend(RTA_DST.to_ne_bytes());
    body.extend(octets);
    let mut found = None;
    ask(RTM_GETROUTE, 0, &body, |kind, body| {
        if kind != RTM_NEWROUTE {
            return;
        }
        let (mut by, mut gateway) = (None, None);
        for (kind, value) in attributes(body, 12) {
            match kind {
                RTA_OIF => by = word(value, 0),
                RTA_GATEWAY => gateway = address(value),
                _ => {}
            }
        }
        found = by.map(|by| (by, gateway));
    })?;
    found.ok_or_else(|| io::ErrorKind::NetworkUnreachable.into())
}

/// The Ethernet address of a neighbour, if the kernel knows it.
pub(crate) fn neighbour(interface: u32, wanted: IpAddr) -> io::Result<Option<[u8; 6]>> {
    let mut body = vec![0; 12];
    body[0] = family(wanted);
    let mut found = None;
    ask(RTM_GETNEIGH, DUMP, &body, |kind, body| {
        let known = half(body, 8).is_some_and(|state| state & KNOWN != 0);
        if kind != RTM_NEWNEIGH || word(body, 4) != Some(interface) || !known {
            return;
        }
        let (mut is_wanted, mut ethernet) = (false, None);
        for (kind, value) in attributes(body, 12) {
            match kind {
                NDA_DST => is_wanted = address(value) == Some(wanted),
                NDA_LLADDR => ethernet = value.try_into().ok(),
                _ => {}
            }
        }
        if is_wanted {
            found = found.or(ethernet);
        }
    })?;
    Ok(found)
}
