//! Whole frames on an interface of this network namespace, through a raw packet socket.
//!
//! Frames are received into a ring that the kernel shares (TPACKET_V2) and sent with `sendmmsg`. A ring for sending
//! does not work: a virtual Ethernet device returns a frame's slot when it passes the frame on, before the receiver has
//! copied it, so a later frame can overwrite it. A socket with such a ring cannot send anything else, either.
//!
//! A kernel at the other end of a virtual cable may leave checksums and segmentation to a device that is not there.
//! `offload` does that here.
//!
//! The kernel of the host sees every frame too. [`AfPacket::open_host`] hides NDP's packets from it where possible, and
//! otherwise keeps it from answering them with ICMP errors.

use std::cell::Cell;
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use trimline_packet::wire::Profile;

use super::sys::ingress::Own;
use super::sys::netlink::{LinkNow, Netlink};
use super::sys::{self, Batch, Link, Ring};
use super::{Caps, ETHERNET_BYTES, LinkState, NextHop, PacketIo, Pieces, Routed, neighbours};

const RING_FRAMES: usize = 512;

/// Maximum number of frames in one system call.
const BATCH: usize = 64;

/// A packet socket on one interface.
#[derive(Debug)]
pub struct AfPacket {
    /// The interface's name, and the only UDP port to receive, if any.
    opened: (String, Option<u16>),
    ring: Ring,
    link: Link,
    batch: Batch,
    /// Sockets that own each address's port and discard its packets, so that the kernel does not answer.
    quiet: Vec<UdpSocket>,
    netlink: Netlink,
    /// Receives messages about changed routes, on a host's interface.
    routes: Option<Netlink>,
    /// The state of the link when last inspected.
    seen: LinkState,
    /// Bytes of the longest packet at opening.
    mtu: usize,
    unsent: u64,
    /// Frames that found the ring full.
    overrun: u64,
    /// The program that hides packets from the kernel's own protocols.
    ingress: Option<OwnedFd>,
}

impl AfPacket {
    /// Opens an interface for all frames, to any destination: it is promiscuous until this is dropped.
    ///
    /// # Errors
    /// Fails without such an interface, or without the right to open it (CAP_NET_RAW in its network namespace).
    pub fn open(interface: &str) -> io::Result<AfPacket> {
        AfPacket::with_filter(interface, None)
    }

    /// Opens an interface of a host with these addresses, for UDP packets from or to the profile's port; the kernel
    /// does not answer them.
    ///
    /// # Errors
    /// Fails as [`AfPacket::open`] does, and for an address that is not the interface's or that another process has.
    pub fn open_host(
        interface: &str,
        profile: &Profile,
        addresses: &[IpAddr],
    ) -> io::Result<AfPacket> {
        let mut socket = AfPacket::open_port(interface, profile.port)?;
        socket.claim(profile, addresses)?;
        Ok(socket)
    }

    pub(crate) fn open_port(interface: &str, port: u16) -> io::Result<AfPacket> {
        AfPacket::with_filter(interface, Some(port))
    }

    fn with_filter(interface: &str, port: Option<u16>) -> io::Result<AfPacket> {
        let link = sys::link(interface)
            .map_err(|error| io::Error::new(error.kind(), format!("{interface}: {error}")))?;
        let ring = Ring::open(&link, RING_FRAMES, port)
            .map_err(|error| io::Error::new(error.kind(), format!("{interface}: {error}")))?;
        Ok(AfPacket {
            opened: (interface.to_owned(), port),
            ring,
            link,
            batch: Batch::default(),
            quiet: Vec::new(),
            netlink: Netlink::open()?,
            routes: None,
            seen: LinkState { running: true, mtu: link.mtu },
            mtu: link.mtu,
            unsent: 0,
            overrun: 0,
            ingress: None,
        })
    }

    /// Takes the protocol's port at each address, for this process alone. The kernel sends no ICMP errors for a port in
    /// use, and the packets cost no memory because the socket discards them. Where the kernel allows it, they are
    /// dropped before its IP sees them.
    pub(crate) fn claim(&mut self, profile: &Profile, addresses: &[IpAddr]) -> io::Result<()> {
        let known = self.netlink.addresses(self.link.index)?;
        // Without it the host asks seldom.
        self.routes = Netlink::open_routes().ok();
        for &address in addresses {
            if !known.contains(&address) {
                let text = format!("{address} is not an address of this interface");
                return Err(io::Error::new(io::ErrorKind::AddrNotAvailable, text));
            }
            let (port, index) = (profile.port, self.link.index);
            let place = neighbours::on_link(address, port, index);
            let socket = UdpSocket::bind(place).map_err(|error| {
                let text = format!("{address}, UDP port {port}: {error} (another host process?)");
                io::Error::new(error.kind(), text)
            })?;
            sys::drop_everything(&socket)?;
            // Packets that wait for an absent neighbour fill it.
            socket.set_nonblocking(true)?;
            self.quiet.push(socket);
        }
        let (port, returned_dscp) = (profile.port, profile.returned);
        let own = Own { addresses, port, returned_dscp };
        self.ingress = sys::ingress::drop_own(self.link.index, &own).ok();
        Ok(())
    }

    /// Returns whether packets of the port are hidden from the kernel's own protocols, not only left unanswered.
    pub fn hides_from_kernel(&self) -> bool {
        self.ingress.is_some()
    }

    /// Makes the kernel resolve the next hop to a peer, with a datagram to its discard port, or to the peer's where
    /// this host has no address of its family.
    fn have_kernel_ask(&self, neighbour: IpAddr, peer: IpAddr) {
        let is_of = |socket: &&UdpSocket, address: IpAddr| {
            socket.local_addr().is_ok_and(|own| own.is_ipv4() == address.is_ipv4())
        };
        for address in [neighbour, peer] {
            if let Some(own) = self.quiet.iter().find(|socket| is_of(socket, address)) {
                let to = neighbours::discard_port(address, self.link.index);
                // The result is in the table of neighbours.
                let _ = own.send_to(&[0], to);
                return;
            }
        }
    }

    /// Returns the Ethernet address of the interface.
    pub fn ethernet(&self) -> [u8; 6] {
        self.link.ethernet
    }

    /// Returns the index of the interface in its network namespace.
    pub fn index(&self) -> u32 {
        self.link.index
    }
}

impl PacketIo for AfPacket {
    fn rx_burst(&mut self, max: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let (mut count, taken) = (0, Cell::new(0));
        // Each of the joined frames counts, because other interfaces wait meanwhile.
        let mut counted = |frame: &[u8]| {
            taken.set(taken.get() + 1);
            take(frame);
        };
        while count < max && self.ring.next(&mut counted) {
            count = (count + 1).max(taken.get());
        }
        Ok(count)
    }

    fn tx_burst(&mut self, frames: &[Pieces<'_>]) -> io::Result<usize> {
        let length = |pieces: &Pieces<'_>| pieces.iter().map(|piece| piece.len()).sum::<usize>();
        let fits = |pieces: &&Pieces<'_>| length(pieces) <= self.mtu + ETHERNET_BYTES;
        let fitting = frames.iter().take_while(fits).count();
        if fitting == 0 && !frames.is_empty() {
            let text = format!("a frame is longer than the MTU of {}", self.mtu);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let mut sent = 0;
        while sent < fitting {
            let batch = &frames[sent..fitting.min(sent + BATCH)];
            let taken = match batch {
                [[piece]] => sys::send_one(self.ring.sender(), piece).map(usize::from),
                _ => self.batch.send(self.ring.sender(), batch),
            };
            match taken {
                // The other end is gone: there will be no room either.
                Ok(0) if !self.seen.running => {}
                Ok(taken) if taken < batch.len() => return Ok(sent + taken),
                Ok(taken) => {
                    sent += taken;
                    continue;
                }
                Err(error) if sys::is_fatal(&error) => return Err(error),
                // The link is down, or carries no frame of this length now.
                Err(_) => {}
            }
            sent += 1;
            self.unsent += 1;
        }
        Ok(sent)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.ring.fd().as_fd())
    }

    fn caps(&self) -> Caps {
        Caps {
            mtu: self.mtu,
            needs_kick: false,
            multi_buffer: true,
            zero_copy: true,
            receives_trimmed: true,
            receives_returned: true,
            joins_datagrams: false,
            finds_next_hops: true,
            reopens: self.quiet.is_empty(),
        }
    }

    fn link(&mut self) -> io::Result<LinkState> {
        // A missing answer is no news.
        self.overrun += u64::from(self.ring.lost().unwrap_or(0));
        let asked = match self.ring.is_bound(&self.link) {
            Ok(false) => Err(io::Error::from_raw_os_error(libc::ENODEV)),
            Ok(true) | Err(_) => self.netlink.link(self.link.index),
        };
        self.seen = state_after(self.seen, asked)?;
        Ok(self.seen)
    }

    fn reopen(&mut self) -> io::Result<()> {
        if !self.caps().reopens {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let (interface, port) = &self.opened;
        let mut new = AfPacket::with_filter(interface, *port)?;
        new.ring.count_on(&self.ring);
        (new.unsent, new.overrun) = (self.unsent, self.overrun);
        *self = new;
        Ok(())
    }

    fn next_hop(&mut self, peer: IpAddr) -> NextHop {
        let Ok(found) = neighbours::look_up(&mut self.netlink, self.link.index, peer) else {
            return NextHop::Unknown;
        };
        if found.is_to_be_asked() {
            self.have_kernel_ask(found.address, peer);
        }
        found.known.map_or(NextHop::Unknown, |known| NextHop::Known(known.ethernet))
    }

    fn routes_changed(&mut self) -> bool {
        self.routes.as_mut().is_some_and(Netlink::heard)
    }

    fn routed(&mut self, address: IpAddr) -> Routed {
        match self.netlink.route(address) {
            Ok((by, _)) if by == self.link.index => Routed::Yes,
            Ok(_) => Routed::No,
            Err(error) if is_no_route(&error) => Routed::No,
            Err(_) => Routed::Unknown,
        }
    }

    fn lost(&self) -> u64 {
        self.unsent
    }

    fn unreadable(&self) -> u64 {
        self.ring.refused()
    }

    fn offload(&self) -> u64 {
        self.ring.offload()
    }

    fn overrun(&self) -> u64 {
        self.overrun
    }
}

/// Returns whether the kernel has no route, or one of type "unreachable", "prohibit" or "blackhole" (the errors of
/// `fib_props` in linux/net/ipv4/fib_semantics.c).
fn is_no_route(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NetworkUnreachable
        || [libc::ENETUNREACH, libc::EHOSTUNREACH, libc::EACCES, libc::EINVAL]
            .map(Some)
            .contains(&error.raw_os_error())
}

/// Returns the state of a link from the kernel's answer. A missing answer is no news; only a lost interface is an
/// error.
fn state_after(before: LinkState, asked: io::Result<LinkNow>) -> io::Result<LinkState> {
    match asked {
        Ok(LinkNow { running, mtu }) => Ok(LinkState { running, mtu }),
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {
            Err(io::Error::new(io::ErrorKind::NotFound, "the interface is gone"))
        }
        Err(_) => Ok(before),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_interface_is_an_error() {
        let before = LinkState { running: false, mtu: 900 };
        for number in [libc::ENOBUFS, libc::EAGAIN, libc::EINTR, libc::ENOMEM, libc::EPERM] {
            let asked = Err(io::Error::from_raw_os_error(number));
            assert_eq!(state_after(before, asked).unwrap(), before, "error {number}");
        }
        let gone = Err(io::Error::from_raw_os_error(libc::ENODEV));
        assert!(state_after(before, gone).unwrap_err().to_string().contains("gone"));
        let now = state_after(before, Ok(LinkNow { running: true, mtu: 1500 })).unwrap();
        assert_eq!(now, LinkState { running: true, mtu: 1500 });
    }
}
