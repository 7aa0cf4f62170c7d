//! Packet sockets whose received frames lie in memory shared with the kernel (TPACKET_V2).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::super::offload::{self, Offload};
use super::{Link, checked, is_fatal, set, set_number, step};

const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

const LONGEST_FRAME: usize = (1 << 16) + 64;

/// Memory, in bytes, for frames longer than a place of the ring.
const LONG_FRAMES: libc::c_int = 4 << 20;

fn page_size() -> usize {
    // SAFETY: takes a number and gives one.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096)
}

/// A packet socket with a ring of received frames, and one for sending.
#[derive(Debug)]
pub(crate) struct Ring {
    fd: OwnedFd,
    sender: OwnedFd,
    places: Places,
    bytes: usize,
    /// Memory for a frame longer than a place.
    long: Vec<u8>,
    /// Memory for a frame of several joined ones.
    part: Vec<u8>,
    /// Frames that could not be handed over.
    refused: u64,
    /// Long frames without memory that [`Ring::lost`] has not yet reported.
    cut: u32,
    /// Frames that the sender's kernel left unfinished.
    offload: u64,
}

#[derive(Debug)]
struct Places {
    memory: *mut u8,
    frame_bytes: usize,
    frames: usize,
    at: usize,
}

enum Place<'a> {
    /// A whole frame.
    Frame(Offload, &'a mut [u8]),
    /// The beginning of a frame, which waits at the socket.
    Long,
    /// A frame that has lost its VLAN tag: it is for another network.
    Tagged { is_long: bool },
    /// The beginning of a frame whose rest found no memory.
    Cut,
}

// SAFETY: the memory is the ring's alone, and the kernel does not care which thread reads it.
unsafe impl Send for Places {}

impl Places {
    /// Shows the next place, if the kernel has filled it, and returns it to the kernel.
    #[inline]
    fn next(&mut self, inspect: impl FnOnce(Place<'_>)) -> bool {
        const BEFORE: usize = size_of::<libc::tpacket2_hdr>() + offload::BYTES;
        const LONG: u32 = 1 << 1;
        const VLAN: u32 = 1 << 4;
        // SAFETY: the place is inside the memory, aligned to 16 bytes at least, and the kernel only
        // changes a frame's bytes while its status says that the frame is the kernel's.
        unsafe {
            let start = self.memory.add(self.at * self.frame_bytes);
            let header: *mut libc::tpacket2_hdr = start.cast();
            let status = std::sync::atomic::AtomicU32::from_ptr(&raw mut (*header).tp_status);
            let seen = status.load(std::sync::atomic::Ordering::Acquire);
            if seen & libc::TP_STATUS_USER == 0 {
                return false;
            }
            let mac = usize::from((*header).tp_mac);
            let length = (*header).tp_snaplen as usize;
            let whole = (*header).tp_len as usize == length;
            let inside = mac >= BEFORE && mac + length <= self.frame_bytes;
            let is_long = seen & LONG != 0;
            inspect(if seen & VLAN != 0 {
                Place::Tagged { is_long }
            } else if is_long {
                Place::Long
            } else if whole && inside {
                let said = start.add(mac - offload::BYTES).cast::<[u8; offload::BYTES]>();
                let frame = std::slice::from_raw_parts_mut(start.add(mac), length);
                Place::Frame(Offload::of(&said.read()), frame)
            } else {
                Place::Cut
            });
            status.store(libc::TP_STATUS_KERNEL, std::sync::atomic::Ordering::Release);
        }
        self.at += 1;
        if self.at == self.frames {
            self.at = 0;
        }
        true
    }
}

#[cold]
fn receive_long<'a>(fd: &OwnedFd, memory: &'a mut Vec<u8>) -> Option<(Offload, &'a mut [u8])> {
    memory.resize(LONGEST_FRAME, 0);
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    let (place, room) = (memory.as_mut_ptr().cast(), memory.len());
    let got = loop {
        // SAFETY: the memory lives through the call, and its length is its own.
        let got = unsafe { libc::recv(fd.as_raw_fd(), place, room, flags) };
        let error = io::Error::last_os_error();
        // A pending error, as after the link went down, is reported once and takes no frame. Otherwise this frame would
        // be read for the next place, and so on for ever.
        if got >= 0 || error.kind() == io::ErrorKind::WouldBlock || is_fatal(&error) {
            break got;
        }
    };
    let frame = memory.get_mut(..usize::try_from(got).unwrap_or(0))?;
    let (said, frame) = frame.split_first_chunk_mut::<{ offload::BYTES }>()?;
    Some((Offload::of(said), frame))
}

fn packet_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: takes numbers only; a descriptor that is not negative is new and ours.
    unsafe { Ok(OwnedFd::from_raw_fd(checked(libc::socket(libc::AF_PACKET, kind, 0))?)) }
}

/// Binds a packet socket to an interface; with protocol 0 no frames arrive.
fn bind_packet_socket(fd: &OwnedFd, link: &Link, protocol: u16) -> io::Result<()> {
    // SAFETY: an address of zeros is valid.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = link.index as libc::c_int;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    let pointer: *const libc::sockaddr_ll = &address;
    // SAFETY: the address lives through the call, and its length is its own.
    checked(unsafe { libc::bind(fd.as_raw_fd(), pointer.cast(), length) })?;
    Ok(())
}

fn attach(fd: &OwnedFd, program: &mut [libc::sock_filter]) -> io::Result<()> {
    let program =
        libc::sock_fprog { len: program.len() as libc::c_ushort, filter: program.as_mut_ptr() };
    set(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Returns a filter for UDP over IPv4 or IPv6 from or to this port, of any length.
fn port_filter(port: u16) -> [libc::sock_filter; 14] {
    let port = u32::from(port);
    // Encodings from linux/filter.h.
    const LOAD_HALF: u32 = 0x28;
    const LOAD_BYTE: u32 = 0x30;
    const HALF_AT_INDEX: u32 = 0x48;
    const INDEX: u32 = 0x01;
    const INDEX_BY_V4_LENGTH: u32 = 0xb1;
    const EQUAL: u32 = 0x15;
    const JUMP: u32 = 0x05;
    const GIVE: u32 = 0x06;
    // A jump counts the instructions that it skips.
    [
        step(LOAD_HALF, 0, 0, 12),
        step(EQUAL, 0, 4, 0x0800),
        step(LOAD_BYTE, 0, 0, 23),
        step(EQUAL, 0, 9, 17),
        step(INDEX_BY_V4_LENGTH, 0, 0, 14),
        step(JUMP, 0, 0, 2),
        step(EQUAL, 0, 6, 0x86dd),
        step(INDEX, 0, 0, 40),
        step(HALF_AT_INDEX, 0, 0, 14),
        step(EQUAL, 2, 0, port),
        step(HALF_AT_INDEX, 0, 0, 16),
        step(EQUAL, 0, 1, port),
        step(GIVE, 0, 0, u32::MAX),
        step(GIVE, 0, 0, 0),
    ]
}

/// Makes the interface receive frames for other hosts, which many devices drop.
fn take_all(fd: &OwnedFd, link: &Link) -> io::Result<()> {
    let request = libc::packet_mreq {
        mr_ifindex: link.index as libc::c_int,
        mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set(fd, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
}

impl Ring {
    /// Opens a socket on an interface, for a UDP port or for all frames to any destination.
    pub(crate) fn open(link: &Link, frames: usize, port: Option<u16>) -> io::Result<Ring> {
        let page = page_size();
        // Frames sent by the receiving socket would need a virtio_net_hdr.
        let (fd, sender) = (packet_socket()?, packet_socket()?);
        set_number(&sender, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)?;
        bind_packet_socket(&sender, link, 0)?;
        let option = |name, value: libc::c_int| set(&fd, libc::SOL_PACKET, name, &value);
        option(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V2 as libc::c_int)?;
        option(PACKET_IGNORE_OUTGOING, 1)?;
        option(libc::PACKET_VNET_HDR, 1)?;
        // A frame longer than a place waits at the socket.
        option(libc::PACKET_COPY_THRESH, 1)?;
        set_number(&fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, LONG_FRAMES)
            .or_else(|_| set_number(&fd, libc::SOL_SOCKET, libc::SO_RCVBUF, LONG_FRAMES))?;
        // Header, address and alignment before the frame take less than 128 bytes.
        let needed = link.mtu + 14 + 128;
        let frame_bytes =
            if needed <= page { needed.next_power_of_two() } else { needed.next_multiple_of(page) };
        let block_bytes = frame_bytes.max(page);
        let blocks = (frames * frame_bytes).div_ceil(block_bytes);
        let frames = blocks * (block_bytes / frame_bytes);
        let request = libc::tpacket_req {
            tp_block_size: block_bytes as libc::c_uint,
            tp_block_nr: blocks as libc::c_uint,
            tp_frame_size: frame_bytes as libc::c_uint,
            tp_frame_nr: frames as libc::c_uint,
        };
        set(&fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        match port {
            Some(port) => attach(&fd, &mut port_filter(port))?,
            None => take_all(&fd, link)?,
        }
        let bytes = blocks * block_bytes;
        // SAFETY: a new mapping of the socket's ring, which is this long.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let places = Places { memory: memory.cast(), frame_bytes, frames, at: 0 };
        let (long, part) = (Vec::new(), Vec::new());
        let ring = Ring { fd, sender, places, bytes, long, part, refused: 0, cut: 0, offload: 0 };
        bind_packet_socket(&ring.fd, link, libc::ETH_P_ALL as u16)?;
        Ok(ring)
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    pub(crate) fn sender(&self) -> &OwnedFd {
        &self.sender
    }

    /// Returns the frames that were tagged, or joined in an unknown way.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    /// Continues the counts of another ring.
    pub(crate) fn count_on(&mut self, other: &Ring) {
        (self.refused, self.offload) = (other.refused, other.offload);
    }

    pub(crate) fn offload(&self) -> u64 {
        self.offload
    }

    /// Returns whether this socket is still bound to the interface. The kernel unbinds it when the interface is deleted
    /// or moves to another network namespace, even if its number is in use again.
    pub(crate) fn is_bound(&self, link: &Link) -> io::Result<bool> {
        // SAFETY: an address of zeros is valid.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        let pointer = (&raw mut address).cast();
        // SAFETY: the address lives through the call, and its length is its own.
        checked(unsafe { libc::getsockname(self.fd.as_raw_fd(), pointer, &mut length) })?;
        Ok(address.sll_ifindex == link.index as libc::c_int)
    }

    /// Hands over the next frame, or those joined in it. Returns whether there was one.
    #[inline]
    pub(crate) fn next(&mut self, take: &mut dyn FnMut(&[u8])) -> bool {
        let Ring { places, fd, long, part, refused, cut, offload, .. } = self;
        let mut finish = |said: Offload, frame: &mut [u8]| {
            *offload += u64::from(said.is_offloaded());
            said.finish(frame, part, take)
        };
        places.next(|place| {
            let is_taken = match place {
                Place::Frame(said, frame) => finish(said, frame),
                Place::Long => match receive_long(fd, long) {
                    Some((said, frame)) => finish(said, frame),
                    None => false,
                },
                Place::Tagged { is_long } => {
                    // The frame at the socket must not be read for a later place.
                    is_long.then(|| receive_long(fd, long));
                    false
                }
                // The memory for long frames was full.
                Place::Cut => {
                    *cut += 1;
                    return;
                }
            };
            *refused += u64::from(!is_taken);
        })
    }

    /// Returns the frames lost for lack of room since the last call.
    pub(crate) fn lost(&mut self) -> io::Result<u32> {
        let mut counted = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        let pointer: *mut libc::tpacket_stats = &mut counted;
        // SAFETY: the structure lives through the call, and its length is its own.
        checked(unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                pointer.cast(),
                &mut length,
            )
        })?;
        Ok(counted.tp_drops.saturating_add(std::mem::take(&mut self.cut)))
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nobody has a slice of it any more.
        unsafe { libc::munmap(self.places.memory.cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    /// UDP sockets have pending errors as well.
    #[test]
    fn a_pending_socket_error_costs_no_frame() {
        let bind = || UdpSocket::bind("127.0.0.1:0").unwrap();
        let (near, far) = (bind(), bind());
        near.connect(far.local_addr().unwrap()).unwrap();
        far.connect(near.local_addr().unwrap()).unwrap();
        let first = [&[0; offload::BYTES][..], b"the first frame"].concat();
        let second = [&[0; offload::BYTES][..], b"the second frame"].concat();
        far.send(&first).unwrap();
        far.send(&second).unwrap();
        drop(far);
        // The port is closed, and the kernel reports that at the socket.
        near.send(b"?").unwrap();
        let (fd, mut memory) = (OwnedFd::from(near), Vec::new());
        for expected in [&b"the first frame"[..], b"the second frame"] {
            let (_, frame) = receive_long(&fd, &mut memory).expect("it waits at the socket");
            assert_eq!(frame, expected);
        }
        assert!(receive_long(&fd, &mut memory).is_none());
    }

    /// The memory of a ring, with the test as the kernel.
    struct Kernel {
        words: Vec<u128>,
        at: usize,
    }

    const FRAME_BYTES: usize = 256;
    const FRAMES: usize = 3;
    const MAC: usize = 96;

    impl Kernel {
        fn new() -> (Kernel, Places) {
            let mut words = vec![0; FRAME_BYTES * FRAMES / 16];
            let memory = words.as_mut_ptr().cast();
            (
                Kernel { words, at: 0 },
                Places { memory, frame_bytes: FRAME_BYTES, frames: FRAMES, at: 0 },
            )
        }

        fn put(&mut self, places: &Places, status: u32, length: u32, said: u8, frame: &[u8]) {
            // SAFETY: the place is inside the memory that both share, and the other side does not look at it now.
            unsafe {
                let start = places.memory.add(self.at * FRAME_BYTES);
                let header: *mut libc::tpacket2_hdr = start.cast();
                (*header).tp_mac = MAC as u16;
                (*header).tp_snaplen = frame.len() as u32;
                (*header).tp_len = length;
                start.add(MAC - offload::BYTES).write(said);
                start.add(MAC).copy_from_nonoverlapping(frame.as_ptr(), frame.len());
                (*header).tp_status = libc::TP_STATUS_USER | status;
            }
            self.at = (self.at + 1) % FRAMES;
        }
    }

    #[test]
    fn ring_slots_are_read_in_order_and_returned() {
        let (mut kernel, mut places) = Kernel::new();
        assert!(!places.next(|_| panic!("nothing is there")));
        for number in 0..10u8 {
            let frame = [number; 100];
            kernel.put(&places, 0, 100, 0, &frame);
            let mut seen = Vec::new();
            assert!(places.next(|place| match place {
                Place::Frame(said, bytes) => {
                    assert_eq!(said, Offload::default());
                    seen = bytes.to_vec();
                    // The reader owns it while it reads.
                    bytes.fill(0);
                }
                _ => panic!("a whole frame"),
            }));
            assert_eq!(seen, frame);
            assert!(!places.next(|_| panic!("it was given back")));
        }
        let check = |kernel: &mut Kernel, places: &mut Places, status, length, expected: &str| {
            kernel.put(places, status, length, 1, &[7; 100]);
            let mut what = "";
            places.next(|place| {
                what = match place {
                    Place::Frame(said, _) if said == Offload::default() => "frame",
                    Place::Frame(..) => "unfinished",
                    Place::Long => "long",
                    Place::Tagged { is_long: true } => "long and tagged",
                    Place::Tagged { .. } => "tagged",
                    Place::Cut => "cut",
                }
            });
            assert_eq!(what, expected);
        };
        check(&mut kernel, &mut places, 0, 100, "unfinished");
        check(&mut kernel, &mut places, 0, 101, "cut");
        check(&mut kernel, &mut places, 1 << 1, 3000, "long");
        check(&mut kernel, &mut places, 1 << 4, 100, "tagged");
        check(&mut kernel, &mut places, 1 << 4 | 1 << 1, 3000, "long and tagged");
        drop(kernel.words);
    }
}
