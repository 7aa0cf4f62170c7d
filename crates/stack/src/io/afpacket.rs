//! Whole frames on an interface of this network namespace, through a raw packet socket.
//!
//! Frames are received into a ring that the kernel shares (TPACKET_V2) and sent with `sendmmsg`. A ring for
//! sending was not chosen: a virtual Ethernet device gives a frame's slot back when it passes it on, not
//! when its receiver has copied it, so that a later frame can overwrite it; and a socket with such a ring
//! cannot send anything else.
//!
//! The kernel of the host sees every frame too. [`AfPacket::open_host`] keeps NDP's packets from it where it may, and
//! from being answered with ICMP errors where not.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::sys::{self, Batch, Link, Ring};
use super::{Caps, ETHERNET_BYTES, PacketIo, Pieces};

/// Frames that a ring holds.
const RING_FRAMES: usize = 512;

/// Frames that one system call sends.
const BATCH: usize = 64;

/// A packet socket on one interface.
#[derive(Debug)]
pub struct AfPacket {
    ring: Ring,
    link: Link,
    batch: Batch,
    /// Sockets that swallow what the kernel would answer.
    _quiet: Vec<UdpSocket>,
    /// The program that keeps packets from the kernel's own protocols.
    ingress: Option<OwnedFd>,
}

impl AfPacket {
    /// Opens an interface. All frames that arrive on it are received.
    ///
    /// # Errors
    /// No such interface, or no right to open it (CAP_NET_RAW in its network namespace).
    pub fn open(interface: &str) -> io::Result<AfPacket> {
        AfPacket::with_filter(interface, None)
    }

    /// Opens an interface of a host. Only UDP packets with this port, at either end, are received; the
    /// kernel does not answer them.
    ///
    /// # Errors
    /// As [`AfPacket::open`].
    pub fn open_host(interface: &str, port: u16) -> io::Result<AfPacket> {
        let mut socket = AfPacket::with_filter(interface, Some(port))?;
        socket.quiet(port);
        Ok(socket)
    }

    fn with_filter(interface: &str, port: Option<u16>) -> io::Result<AfPacket> {
        let link = sys::link(interface)
            .map_err(|error| io::Error::new(error.kind(), format!("{interface}: {error}")))?;
        let ring = Ring::open(&link, RING_FRAMES, port)
            .map_err(|error| io::Error::new(error.kind(), format!("{interface}: {error}")))?;
        Ok(AfPacket { ring, link, batch: Batch::default(), _quiet: Vec::new(), ingress: None })
    }

    /// Binds the protocol's port and throws away what arrives there, so that the kernel sends no ICMP
    /// errors. A port that is taken is quiet already. Where it is all ours, the kernel need not look at its
    /// packets at all.
    fn quiet(&mut self, port: u16) {
        // The first takes IPv4 with it, unless the system says otherwise.
        for address in ["::", "0.0.0.0"] {
            match UdpSocket::bind((address, port)) {
                Ok(socket) if sys::drop_everything(&socket).is_ok() => self._quiet.push(socket),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => break,
                // No IPv6 here.
                _ => {}
            }
        }
        if !self._quiet.is_empty() {
            self.ingress = sys::ingress::drop_port(self.link.index, port).ok();
        }
    }

    /// Whether packets of the port are kept from the kernel's own protocols, and not only from being answered.
    pub fn hides_from_kernel(&self) -> bool {
        self.ingress.is_some()
    }

    /// The interface's Ethernet address.
    pub fn ethernet(&self) -> [u8; 6] {
        self.link.ethernet
    }

    /// The number of the interface in its network namespace.
    pub fn index(&self) -> u32 {
        self.link.index
    }

    /// Frames that found the ring full since this was asked last.
    ///
    /// # Errors
    /// The interface is gone.
    pub fn lost(&self) -> io::Result<u32> {
        self.ring.lost()
    }
}

impl PacketIo for AfPacket {
    fn rx_burst(&mut self, most: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let mut count = 0;
        while count < most && self.ring.next(take) {
            count += 1;
        }
        Ok(count)
    }

    fn tx_burst(&mut self, frames: &[Pieces<'_>]) -> io::Result<usize> {
        let longest = self.link.mtu + ETHERNET_BYTES;
        let fits =
            |pieces: &&Pieces<'_>| pieces.iter().map(|piece| piece.len()).sum::<usize>() <= longest;
        let fitting = frames.iter().take_while(fits).count();
        if fitting == 0 && !frames.is_empty() {
            let text = format!("a frame is longer than the MTU of {}", self.link.mtu);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let mut sent = 0;
        for batch in frames[..fitting].chunks(BATCH) {
            let taken = match batch {
                [[piece]] => usize::from(sys::send_one(self.ring.fd(), piece)?),
                _ => self.batch.send(self.ring.fd(), batch)?,
            };
            sent += taken;
            if taken < batch.len() {
                break;
            }
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
            mtu: self.link.mtu,
            needs_kick: false,
            multi_buffer: true,
            zero_copy: true,
            receives_trimmed: true,
            receives_returned: true,
            joins_datagrams: false,
        }
    }
}
