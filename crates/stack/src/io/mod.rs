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
pub(crate) mod sys;
pub mod udp;

use std::io;
use std::os::fd::BorrowedFd;

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
}

/// One frame to be sent, as pieces that follow each other.
pub type Pieces<'a> = &'a [&'a [u8]];

/// Where frames go in and out. Frames begin with the Ethernet header and have no FCS.
pub trait PacketIo {
    /// Takes up to `most` frames that have arrived, oldest first, each valid during the call. Never
    /// waits. Gives how many there were.
    ///
    /// # Errors
    /// The interface is gone, or the system refuses.
    fn rx_burst(&mut self, most: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize>;

    /// Sends frames in order and gives how many were taken; the others find no room now. What was
    /// taken and not yet sent goes with [`PacketIo::flush`].
    ///
    /// # Errors
    /// The interface is gone, the system refuses, or the first frame is longer than the MTU.
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
}

/// Any backend: for programs that choose when they run.
impl<I: PacketIo + ?Sized> PacketIo for Box<I> {
    fn rx_burst(&mut self, most: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        (**self).rx_burst(most, take)
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
}

/// Bytes of the Ethernet header, which an MTU does not count.
pub(crate) const ETHERNET_BYTES: usize = 14;

pub(crate) use sys::wait_readable;
