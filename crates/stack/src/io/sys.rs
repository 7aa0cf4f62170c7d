//! The system calls of the backends.
#![allow(unsafe_code)]

#[path = "datagrams.rs"]
pub(crate) mod datagrams;
#[path = "ingress.rs"]
pub(crate) mod ingress;
#[path = "netlink.rs"]
pub(crate) mod netlink;

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::unfinished::{self, Unfinished};

/// The result of a system call.
pub(crate) fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A descriptor that is readable after [`ring`] until [`silence`].
pub(crate) fn event_fd() -> io::Result<OwnedFd> {
    // SAFETY: takes numbers only; a descriptor that is not negative is new and ours.
    let fd = checked(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })?;
    // SAFETY: see above.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes an event descriptor readable.
pub(crate) fn ring(bell: &OwnedFd) -> io::Result<()> {
    let one = 1u64.to_ne_bytes();
    // SAFETY: eight bytes that live through the call.
    let written = unsafe { libc::write(bell.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    // Full is readable, too.
    match io::Error::last_os_error() {
        error if written < 0 && error.kind() != io::ErrorKind::WouldBlock => Err(error),
        _ => Ok(()),
    }
}

/// Makes an event descriptor unreadable.
pub(crate) fn silence(bell: &OwnedFd) {
    let mut count = [0u8; 8];
    // SAFETY: eight bytes that live through the call. That nothing was rung is no mistake.
    unsafe { libc::read(bell.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
}

/// Waits until one of the descriptors is readable, at most `timeout_ns`. Gives whether one is.
pub(crate) fn wait_readable(fds: &[libc::c_int], timeout_ns: u64) -> io::Result<bool> {
    let mut polled: Vec<libc::pollfd> =
        fds.iter().map(|&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
    let timeout = libc::timespec {
        tv_sec: (timeout_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (timeout_ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: the array and the time live through the call; its length is the array's.
    let ready = unsafe {
        libc::ppoll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, &timeout, std::ptr::null())
    };
    // An error that waits at a socket, as when its link went down, makes it readable until somebody takes it.
    polled.iter().filter(|one| one.revents & libc::POLLERR != 0).for_each(|one| take_error(one.fd));
    match checked(ready) {
        Ok(ready) => Ok(ready > 0),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(error) => Err(error),
    }
}

/// Takes the error that waits at a socket: what it was is seen where it matters. Other descriptors have none.
fn take_error(fd: libc::c_int) {
    let mut error: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    let place = (&raw mut error).cast();
    // SAFETY: the number lives through the call, and its length is its own.
    unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_ERROR, place, &mut length) };
}

/// Whether an error says that a descriptor or memory of this process is not what it should be. Every other one is
/// about one destination, or about now.
pub(crate) fn is_fatal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBADF | libc::ENOTSOCK | libc::EFAULT))
}

/// Whether an error says that the kernel cuts no datagram of several, whatever its destination.
pub(crate) fn cannot_cut(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EIO | libc::EOPNOTSUPP))
}

/// What the kernel says of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) index: u32,
    pub(crate) mtu: usize,
    pub(crate) ethernet: [u8; 6],
}

/// A request about an interface, which the kernel fills in.
pub(crate) fn interface_request(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: a request of zeros is one without name and contents.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if name.is_empty() || name.len() >= request.ifr_name.len() {
        let text = "an interface name has 1 to 15 bytes";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    Ok(request)
}

/// A socket of this network namespace, to ask it things.
pub(crate) fn any_socket() -> io::Result<OwnedFd> {
    // SAFETY: takes numbers only; a descriptor that is not negative is new and ours.
    unsafe {
        let fd = checked(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Looks an interface up.
pub(crate) fn link(name: &str) -> io::Result<Link> {
    let socket = any_socket()?;
    let ask = |what: libc::Ioctl| {
        let mut request = interface_request(name)?;
        // SAFETY: the request lives through the call and is the one that these questions fill in.
        checked(unsafe { libc::ioctl(socket.as_raw_fd(), what, &mut request) })?;
        Ok::<libc::ifreq, io::Error>(request)
    };
    // SAFETY: each question fills in the member that is read.
    unsafe {
        let index = ask(libc::SIOCGIFINDEX as libc::Ioctl)?.ifr_ifru.ifru_ifindex;
        let mtu = ask(libc::SIOCGIFMTU as libc::Ioctl)?.ifr_ifru.ifru_mtu;
        let address = ask(libc::SIOCGIFHWADDR as libc::Ioctl)?.ifr_ifru.ifru_hwaddr.sa_data;
        let mut ethernet = [0; 6];
        for (byte, &from) in ethernet.iter_mut().zip(&address) {
            *byte = from as u8;
        }
        Ok(Link { index: index as u32, mtu: mtu as usize, ethernet })
    }
}

fn set<T>(fd: &OwnedFd, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as libc::socklen_t;
    let value: *const T = value;
    // SAFETY: the value lives through the call, and its length is its own.
    checked(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, value.cast(), length) })?;
    Ok(())
}

/// Sets a socket option to a number.
pub(crate) fn set_number(
    fd: &impl AsRawFd,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    let value: *const libc::c_int = &value;
    // SAFETY: the value lives through the call, and its length is its own.
    checked(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, value.cast(), length) })?;
    Ok(())
}

const PACKET_IGNORE_OUTGOING: libc::c_int = 23;

/// Bytes of the longest frame, and of what the kernel says before it.
const LONGEST_FRAME: usize = (1 << 16) + 64;

/// Memory that the kernel may use for frames that are longer than a place of the ring.
const LONG_FRAMES: libc::c_int = 4 << 20;

/// Bytes of a page of memory.
fn page_size() -> usize {
    // SAFETY: takes a number and gives one.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096)
}

/// A packet socket with a ring of received frames, and one to send.
#[derive(Debug)]
pub(crate) struct Ring {
    fd: OwnedFd,
    sender: OwnedFd,
    places: Places,
    /// Bytes of the mapping.
    bytes: usize,
    /// Memory for a frame that is longer than a place.
    long: Vec<u8>,
    /// Memory for frames that came as one.
    part: Vec<u8>,
    /// Frames that could not be handed over.
    refused: u64,
}

/// The places of a ring, one behind the other.
#[derive(Debug)]
struct Places {
    memory: *mut u8,
    frame_bytes: usize,
    frames: usize,
    at: usize,
}

/// What lies in a place.
enum Place<'a> {
    /// A frame.
    Frame(Unfinished, &'a mut [u8]),
    /// The beginning of a frame, which waits at the socket.
    Long,
    /// A frame that has lost its tag: it is for another network.
    Tagged { is_long: bool },
    /// The beginning of a frame.
    Cut,
}

// SAFETY: the memory is the ring's alone, and the kernel does not care which thread reads it.
unsafe impl Send for Places {}

impl Places {
    /// Shows what is in the next place, if the kernel has put something there, and gives the place back.
    #[inline]
    fn next(&mut self, look: impl FnOnce(Place<'_>)) -> bool {
        const BEFORE: usize = size_of::<libc::tpacket2_hdr>() + unfinished::BYTES;
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
            look(if seen & VLAN != 0 {
                Place::Tagged { is_long }
            } else if is_long {
                Place::Long
            } else if whole && inside {
                let said = start.add(mac - unfinished::BYTES).cast::<[u8; unfinished::BYTES]>();
                let frame = std::slice::from_raw_parts_mut(start.add(mac), length);
                Place::Frame(Unfinished::of(&said.read()), frame)
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

/// A frame that waits at a packet socket, and what the kernel says of it.
#[cold]
fn receive_long<'a>(fd: &OwnedFd, memory: &'a mut Vec<u8>) -> Option<(Unfinished, &'a mut [u8])> {
    memory.resize(LONGEST_FRAME, 0);
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    let (place, room) = (memory.as_mut_ptr().cast(), memory.len());
    // SAFETY: the memory lives through the call, and its length is its own.
    let got = unsafe { libc::recv(fd.as_raw_fd(), place, room, flags) };
    let frame = memory.get_mut(..usize::try_from(got).unwrap_or(0))?;
    let (said, frame) = frame.split_first_chunk_mut::<{ unfinished::BYTES }>()?;
    Some((Unfinished::of(said), frame))
}

/// A packet socket that is bound to nothing.
fn packet_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: takes numbers only; a descriptor that is not negative is new and ours.
    unsafe { Ok(OwnedFd::from_raw_fd(checked(libc::socket(libc::AF_PACKET, kind, 0))?)) }
}

/// Binds a packet socket to an interface, for frames of this protocol; of protocol 0 none arrive.
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

/// One instruction of a classic BPF program.
const fn step(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

fn attach(fd: &OwnedFd, program: &mut [libc::sock_filter]) -> io::Result<()> {
    let program =
        libc::sock_fprog { len: program.len() as libc::c_ushort, filter: program.as_mut_ptr() };
    set(fd, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Passes UDP over IPv4 or IPv6 with this port at either end; lengths are not looked at.
fn port_filter(port: u16) -> [libc::sock_filter; 14] {
    let port = u32::from(port);
    // As linux/filter.h encodes them.
    const LOAD_HALF: u32 = 0x28;
    const LOAD_BYTE: u32 = 0x30;
    const HALF_AT_INDEX: u32 = 0x48;
    const INDEX: u32 = 0x01;
    const INDEX_BY_V4_LENGTH: u32 = 0xb1;
    const EQUAL: u32 = 0x15;
    const JUMP: u32 = 0x05;
    const GIVE: u32 = 0x06;
    // A jump counts the steps that it leaves out.
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

impl Ring {
    /// Opens a socket on an interface, with a filter for a UDP port or without.
    pub(crate) fn open(link: &Link, frames: usize, port: Option<u16>) -> io::Result<Ring> {
        let page = page_size();
        // What is sent by the first would have to say how far it is finished.
        let (fd, sender) = (packet_socket()?, packet_socket()?);
        set_number(&sender, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)?;
        bind_packet_socket(&sender, link, 0)?;
        let option = |name, value: libc::c_int| set(&fd, libc::SOL_PACKET, name, &value);
        option(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V2 as libc::c_int)?;
        option(PACKET_IGNORE_OUTGOING, 1)?;
        option(libc::PACKET_VNET_HDR, 1)?;
        // A frame that is longer than a place waits at the socket.
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
        if let Some(port) = port {
            attach(&fd, &mut port_filter(port))?;
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
        let ring = Ring { fd, sender, places, bytes, long, part, refused: 0 };
        bind_packet_socket(&ring.fd, link, libc::ETH_P_ALL as u16)?;
        Ok(ring)
    }

    /// Becomes readable when frames arrive.
    pub(crate) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// What frames are sent by.
    pub(crate) fn sender(&self) -> &OwnedFd {
        &self.sender
    }

    /// Frames that arrived and could not be handed over: tagged, cut short, or joined in a way that is not known.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    /// Hands the next frame over, if there is one, or the frames that came as one.
    #[inline]
    pub(crate) fn next(&mut self, take: &mut dyn FnMut(&[u8])) -> bool {
        let Ring { places, fd, long, part, refused, .. } = self;
        places.next(|place| {
            let is_taken = match place {
                Place::Frame(said, frame) => said.finish(frame, part, take),
                Place::Long => match receive_long(fd, long) {
                    Some((said, frame)) => said.finish(frame, part, take),
                    None => false,
                },
                Place::Tagged { is_long } => {
                    // What waits at the socket waits for nobody else.
                    is_long.then(|| receive_long(fd, long));
                    false
                }
                Place::Cut => false,
            };
            *refused += u64::from(!is_taken);
        })
    }

    /// Frames that found no place since this was asked last.
    pub(crate) fn lost(&self) -> io::Result<u32> {
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
        Ok(counted.tp_drops)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nobody has a slice of it any more.
        unsafe { libc::munmap(self.places.memory.cast(), self.bytes) };
    }
}

fn slice_of(piece: &&[u8]) -> libc::iovec {
    libc::iovec { iov_base: piece.as_ptr().cast_mut().cast(), iov_len: piece.len() }
}

/// Memory for the system call that sends several frames.
#[derive(Default)]
pub(crate) struct Batch {
    vectors: Vec<libc::iovec>,
    messages: Vec<libc::mmsghdr>,
}

// SAFETY: its pointers are written anew for every call and followed during the call alone.
unsafe impl Send for Batch {}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Batch")
    }
}

impl Batch {
    /// Sends frames on a bound packet socket; gives how many there was room for.
    pub(crate) fn send(&mut self, fd: &OwnedFd, frames: &[&[&[u8]]]) -> io::Result<usize> {
        self.write(frames);
        let messages = &mut self.messages;
        // SAFETY: messages, vectors and the bytes that they name live through the call.
        let sent = unsafe {
            let (pointer, count) = (messages.as_mut_ptr(), messages.len() as libc::c_uint);
            match messages.as_mut_slice() {
                [one] => {
                    let sent = libc::sendmsg(fd.as_raw_fd(), &one.msg_hdr, libc::MSG_DONTWAIT);
                    (sent as libc::c_int).min(1)
                }
                _ => libc::sendmmsg(fd.as_raw_fd(), pointer, count, libc::MSG_DONTWAIT),
            }
        };
        refused_or(sent).map(|sent| sent.unwrap_or(0) as usize)
    }

    /// A message for each frame, as the system call reads it.
    fn write(&mut self, frames: &[&[&[u8]]]) {
        let Batch { vectors, messages } = self;
        vectors.clear();
        messages.clear();
        frames.iter().for_each(|pieces| vectors.extend(pieces.iter().map(slice_of)));
        let mut next = vectors.as_mut_ptr();
        messages.extend(frames.iter().map(|pieces| {
            // SAFETY: a message of zeros is one without address, data and control.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            message.msg_hdr.msg_iov = next;
            message.msg_hdr.msg_iovlen = pieces.len() as _;
            // SAFETY: there is a vector for each piece, so this is at most one behind the last.
            next = unsafe { next.add(pieces.len()) };
            message
        }));
    }
}

/// Sends one frame in one piece on a bound packet socket; gives whether there was room for it.
pub(crate) fn send_one(fd: &OwnedFd, frame: &[u8]) -> io::Result<bool> {
    // SAFETY: the bytes live through the call.
    let sent = unsafe {
        libc::send(fd.as_raw_fd(), frame.as_ptr().cast(), frame.len(), libc::MSG_DONTWAIT)
    };
    refused_or(sent as libc::c_int).map(|sent| sent.is_some())
}

/// The result of sending: `None` when there is no room now.
fn refused_or(sent: libc::c_int) -> io::Result<Option<libc::c_int>> {
    match checked(sent) {
        Ok(sent) => Ok(Some(sent)),
        Err(error) => match error.raw_os_error() {
            Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => Ok(None),
            _ => Err(error),
        },
    }
}

/// Lets a socket receive nothing at all, though it is bound.
pub(crate) fn drop_everything(socket: &std::net::UdpSocket) -> io::Result<()> {
    let mut program = [step(0x06, 0, 0, 0)];
    let program = libc::sock_fprog { len: 1, filter: program.as_mut_ptr() };
    let length = size_of::<libc::sock_fprog>() as libc::socklen_t;
    let pointer: *const libc::sock_fprog = &program;
    // SAFETY: the program lives through the call, and its length is its own.
    checked(unsafe {
        let (level, name) = (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER);
        libc::setsockopt(socket.as_raw_fd(), level, name, pointer.cast(), length)
    })?;
    Ok(())
}

/// Asks for buffers of a socket; the system may give less.
pub(crate) fn set_buffers(socket: &impl AsRawFd, bytes: libc::c_int) -> io::Result<()> {
    set_number(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes)?;
    set_number(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a message says to the system call: its bytes, piece by piece.
    fn pieces(header: &libc::msghdr) -> Vec<Vec<u8>> {
        // SAFETY: the vectors were written for this message, and their bytes live.
        let vectors = unsafe { std::slice::from_raw_parts(header.msg_iov, header.msg_iovlen) };
        let bytes = vectors.iter().map(|one| {
            // SAFETY: as above.
            unsafe { std::slice::from_raw_parts(one.iov_base.cast::<u8>(), one.iov_len) }.to_vec()
        });
        bytes.collect()
    }

    #[test]
    fn a_batch_names_the_pieces_of_its_frames() {
        let frames: [&[&[u8]]; 3] = [&[b"one", b" frame"], &[b"another"], &[b"a", b"b", b"c"]];
        let mut batch = Batch::default();
        for _ in 0..2 {
            batch.write(&frames);
            for (message, frame) in batch.messages.iter().zip(frames) {
                assert_eq!(pieces(&message.msg_hdr), frame);
            }
        }
    }

    /// Memory as a ring has it, whose kernel is the test.
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
                start.add(MAC - unfinished::BYTES).write(said);
                start.add(MAC).copy_from_nonoverlapping(frame.as_ptr(), frame.len());
                (*header).tp_status = libc::TP_STATUS_USER | status;
            }
            self.at = (self.at + 1) % FRAMES;
        }
    }

    #[test]
    fn places_of_a_ring_are_read_in_turn_and_given_back() {
        let (mut kernel, mut places) = Kernel::new();
        assert!(!places.next(|_| panic!("nothing is there")));
        for number in 0..10u8 {
            let frame = [number; 100];
            kernel.put(&places, 0, 100, 0, &frame);
            let mut seen = Vec::new();
            assert!(places.next(|place| match place {
                Place::Frame(said, bytes) => {
                    assert_eq!(said, Unfinished::default());
                    seen = bytes.to_vec();
                    // It is the reader's while it reads.
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
                    Place::Frame(said, _) if said == Unfinished::default() => "frame",
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
