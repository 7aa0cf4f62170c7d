//! Frames in and out, in batches: one trait, several ways.
//!
//! | backend | needs | what it is for |
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

/// What a backend can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Bytes of the longest IP packet.
    pub mtu: usize,
    /// Frames that were taken may wait until [`PacketIo::flush`].
    pub needs_kick: bool,
    /// A frame may be given in several pieces without being copied together first.
    pub multi_buffer: bool,
    /// Received frames lie in memory that the kernel or the peer wrote.
    pub zero_copy: bool,
    /// Frames that a switch trimmed arrive: their IP and UDP lengths are not looked at.
    pub receives_trimmed: bool,
    /// Headers that came back arrive, though their destination port is the entropy value.
    pub receives_returned: bool,
    /// Datagrams of one length cross the kernel together, out and in (UDP_SEGMENT, UDP_GRO).
    pub joins_datagrams: bool,
    /// The ways to peers are looked up, not learned from frames.
    pub finds_next_hops: bool,
    /// An interface that is gone may return: see [`PacketIo::reopen`].
    pub reopens: bool,
}

/// How an interface is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// It is up, and something is at the other end. While it is not, what is sent is lost.
    pub running: bool,
    /// Bytes of the longest IP packet that it carries now. Longer ones are lost.
    pub mtu: usize,
}

/// The way to a peer, as far as a backend knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// There is nothing to know: whoever makes the peer known says it, or frames from it do.
    Given,
    /// To this Ethernet address.
    Known([u8; 6]),
    /// It is being looked for, or there is none.
    Unknown,
}

/// One frame to be sent, as pieces that follow each other.
pub type Pieces<'a> = &'a [&'a [u8]];

/// Where frames go in and out. Frames begin with the Ethernet header and have no FCS.
pub trait PacketIo {
    /// Takes up to `max` frames that have arrived, oldest first, each valid during the call. Never
    /// waits. Gives how many there were.
    ///
    /// # Errors
    /// The interface is gone, or the system refuses.
    fn rx_burst(&mut self, max: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize>;

    /// Sends frames in order and gives how many were taken; the others find no room now. What was
    /// taken and not yet sent goes with [`PacketIo::flush`].
    ///
    /// # Errors
    /// The interface is gone, the system refuses, or the first frame is longer than any that was ever possible.
    /// A destination that cannot be reached, or a link that is down, is no error: see [`PacketIo::lost`].
    fn tx_burst(&mut self, frames: &[Pieces<'_>]) -> io::Result<usize>;

    /// Sends what was taken.
    ///
    /// # Errors
    /// As [`PacketIo::tx_burst`].
    fn flush(&mut self) -> io::Result<()>;

    /// What becomes readable when a frame arrives; `None` if nothing can be waited for.
    fn poll_fd(&self) -> Option<BorrowedFd<'_>>;

    /// What this backend can do.
    fn caps(&self) -> Caps;

    /// How the interface is now.
    ///
    /// # Errors
    /// It is gone, for good.
    fn link(&mut self) -> io::Result<LinkState> {
        Ok(LinkState { running: true, mtu: self.caps().mtu })
    }

    /// Opens the interface anew that failed or is gone. Counts go on.
    ///
    /// # Errors
    /// It is not there, or this backend opens none anew ([`Caps::reopens`]).
    fn reopen(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The way to a peer. Never waits.
    fn next_hop(&mut self, _peer: IpAddr) -> NextHop {
        NextHop::Given
    }

    /// Frames that were taken and could not be sent: their destination or the link did not take them.
    fn lost(&self) -> u64 {
        0
    }

    /// Frames that arrived and could not be handed over: they were tagged for another network, or joined in a way that
    /// is not known.
    fn unreadable(&self) -> u64 {
        0
    }

    /// Frames that arrived joined, or without a checksum: their sender's kernel had left that to a device. They were
    /// handed over as they should be.
    fn offload(&self) -> u64 {
        0
    }

    /// Frames that arrived and found the ring, or the memory for long frames, full, as of the last [`PacketIo::link`].
    fn overrun(&self) -> u64 {
        0
    }
}

/// Any backend: for programs that choose when they run.
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

/// Standard output without a buffer. The standard library opens /dev/null where standard output was closed when the process
/// began, and all that is written there is lost in silence.
///
/// # Errors
/// It was closed.
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
