//! Frames in and out, in batches: one trait, several backends.
//!
//! | backend | needs | use |
//! |---|---|---|
//! | [`mem`] | nothing | tests, virtual or real clock; links with loss, damage, duplicates, reordering |
//! | [`udp`] | nothing | hosts anywhere; the kernel drops trimmed datagrams, so not behind switches that trim |
//! | [`afpacket`] | CAP_NET_RAW, as in a user namespace | whole frames on an interface: the default for NDP |

pub mod afpacket;
pub mod capture;
pub mod mem;
pub mod neighbours;
#[doc(hidden)]
pub mod sys;
pub mod udp;

mod offload;

use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// The capabilities of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Bytes of the longest IP packet.
    pub mtu: usize,
    /// Accepted frames may wait until [`PacketIo::flush`].
    pub needs_kick: bool,
    /// A frame may be given in several pieces without a copy.
    pub multi_buffer: bool,
    /// Received frames lie in memory written by the kernel or the peer.
    pub zero_copy: bool,
    /// Trimmed frames arrive: their IP and UDP lengths are not checked.
    pub receives_trimmed: bool,
    /// Headers that came back arrive, though their destination port is the entropy.
    pub receives_returned: bool,
    /// Datagrams of one length cross the kernel together (UDP_SEGMENT, UDP_GRO).
    pub joins_datagrams: bool,
    /// Next hops to peers are looked up, not learned from frames.
    pub finds_next_hops: bool,
    /// A lost interface may return: see [`PacketIo::reopen`].
    pub reopens: bool,
}

/// The state of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// It is up, with a carrier. Otherwise sent frames are lost.
    pub running: bool,
    /// Bytes of the longest IP packet that it carries now. Longer ones are lost.
    pub mtu: usize,
}

/// The next hop to a peer, as a backend knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// It comes with the peer, or from its frames.
    Given,
    /// This Ethernet address.
    Known([u8; 6]),
    /// It is being resolved, or there is none.
    Unknown,
}

/// The answer of this host's routing table about an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routed {
    /// A route leads there by this interface.
    Yes,
    /// No route leads there by this interface, or it is marked unreachable.
    No,
    /// The backend does not know.
    Unknown,
}

/// One frame to send, in consecutive pieces.
pub type Pieces<'a> = &'a [&'a [u8]];

/// A backend that receives and sends frames. Frames begin with the Ethernet header and have no FCS.
pub trait PacketIo {
    /// Passes up to `max` frames that have arrived to `take`, oldest first, without waiting. Returns their number.
    ///
    /// # Errors
    /// Fails if the interface is gone or the system refuses.
    fn rx_burst(&mut self, max: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize>;

    /// Sends frames in order. Returns the number accepted; others have no room now. [`PacketIo::flush`] sends accepted
    /// frames that wait.
    ///
    /// # Errors
    /// Fails if the interface is gone, the system refuses, or the first frame is longer than was ever possible.
    /// Unreachable destinations and links that are down are not errors: see [`PacketIo::lost`].
    fn tx_burst(&mut self, frames: &[Pieces<'_>]) -> io::Result<usize>;

    /// Sends the accepted frames.
    ///
    /// # Errors
    /// Fails as [`PacketIo::tx_burst`] does.
    fn flush(&mut self) -> io::Result<()>;

    /// Returns a descriptor that is readable when a frame has arrived, if waiting is possible.
    fn poll_fd(&self) -> Option<BorrowedFd<'_>>;

    /// Returns the capabilities of this backend.
    fn caps(&self) -> Caps;

    /// Returns the state of the interface.
    ///
    /// # Errors
    /// Fails if it is gone for good.
    fn link(&mut self) -> io::Result<LinkState> {
        Ok(LinkState { running: true, mtu: self.caps().mtu })
    }

    /// Opens an interface again that failed or is gone. Counters go on.
    ///
    /// # Errors
    /// Fails if it is absent, or this backend cannot reopen ([`Caps::reopens`]).
    fn reopen(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns the next hop to a peer. Never waits.
    fn next_hop(&mut self, _peer: IpAddr) -> NextHop {
        NextHop::Given
    }

    /// Returns whether routes of this host may have changed since the last call. Never waits.
    fn routes_changed(&mut self) -> bool {
        false
    }

    /// Returns whether a route leads to an address. Never waits.
    fn routed(&mut self, _address: IpAddr) -> Routed {
        Routed::Unknown
    }

    /// Returns the frames that were accepted but not taken by the link or their destination.
    fn lost(&self) -> u64 {
        0
    }

    /// Returns the frames that could not be handed over: tagged for another network, or joined in an unknown way.
    fn unreadable(&self) -> u64 {
        0
    }

    /// Returns the frames that arrived joined or without a checksum, left to a device by their sender's kernel. They
    /// were completed.
    fn offload(&self) -> u64 {
        0
    }

    /// Returns the frames without room in the ring, or in the memory for long frames, at the last [`PacketIo::link`].
    fn overrun(&self) -> u64 {
        0
    }
}

/// Any backend, chosen at run time.
impl<I: PacketIo + ?Sized> PacketIo for Box<I> {
    fn rx_burst(&mut self, max: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        (**self).rx_burst(max, take)
    }

    fn tx_burst(&mut self, frames: &[Pieces<'_>]) -> io::Result<usize> {
        (**self).tx_burst(frames)
    }

    fn flush(&mut self) -> io::Result<()> {
        (**self).flush()
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        (**self).poll_fd()
    }

    fn caps(&self) -> Caps {
        (**self).caps()
    }

    fn link(&mut self) -> io::Result<LinkState> {
        (**self).link()
    }

    fn reopen(&mut self) -> io::Result<()> {
        (**self).reopen()
    }

    fn next_hop(&mut self, peer: IpAddr) -> NextHop {
        (**self).next_hop(peer)
    }

    fn routes_changed(&mut self) -> bool {
        (**self).routes_changed()
    }

    fn routed(&mut self, address: IpAddr) -> Routed {
        (**self).routed(address)
    }

    fn lost(&self) -> u64 {
        (**self).lost()
    }

    fn unreadable(&self) -> u64 {
        (**self).unreadable()
    }

    fn offload(&self) -> u64 {
        (**self).offload()
    }

    fn overrun(&self) -> u64 {
        (**self).overrun()
    }
}

/// Returns standard output without a buffer. If it was closed at the start, the standard library opens /dev/null, which
/// loses output silently.
///
/// # Errors
/// Fails if it was closed.
pub fn standard_output() -> io::Result<File> {
    if sys::stdout_was_closed() {
        return Err(io::Error::new(io::ErrorKind::NotConnected, "standard output is closed"));
    }
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Bytes of the Ethernet header, which an MTU does not count.
pub(crate) const ETHERNET_BYTES: usize = 14;

pub(crate) use sys::Alarm;
pub use sys::wait_readable;
