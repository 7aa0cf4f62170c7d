//! Datagrams in batches: several in a system call, and several of one length as one (UDP_SEGMENT, UDP_GRO).

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};
use std::ops::Range;
use std::os::fd::AsRawFd;

use super::{checked, refused_or, set_number, slice_of};

/// Maximum number of equal segments taken together (UDP_MAX_SEGMENTS of Linux 4.18).
const MAX_SEGMENTS: usize = 64;

/// Maximum bytes of joined segments: an IP packet, minus room for its headers.
const MAX_BYTES: usize = 65_000;

/// Receive buffers, each for a datagram as the kernel joined it.
const BUFFERS: usize = 8;
const BUFFER_BYTES: usize = 1 << 16;

/// Values from linux/udp.h.
const UDP_SEGMENT: libc::c_int = 103;
const UDP_GRO: libc::c_int = 104;

/// Aligned memory for control messages.
type Control = [u64; 12];

/// One datagram, or several of one length to one destination.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    pub(crate) to: SocketAddr,
    pub(crate) class: u8,
    /// The length of each datagram except a shorter last one.
    pub(crate) segment: usize,
    pub(crate) segments: usize,
    pub(crate) bytes: usize,
    pub(crate) pieces: Range<usize>,
}

impl Parcel {
    pub(crate) fn admits(&self, to: SocketAddr, class: u8, length: usize) -> bool {
        let is_open = self.segments * self.segment == self.bytes && self.segments < MAX_SEGMENTS;
        let is_alike = (self.to, self.class) == (to, class) && (1..=self.segment).contains(&length);
        is_open && is_alike && self.bytes + length <= MAX_BYTES
    }
}

pub(crate) fn can_segment(socket: &UdpSocket) -> bool {
    set_number(socket, libc::SOL_UDP, UDP_SEGMENT, 0).is_ok()
}

pub(crate) fn prepare_receiver(socket: &UdpSocket, v6: bool, joins: bool) -> io::Result<()> {
    match v6 {
        true => set_number(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1)?,
        false => set_number(socket, libc::IPPROTO_IP, libc::IP_RECVTOS, 1)?,
    }
    match joins {
        true => set_number(socket, libc::SOL_UDP, UDP_GRO, 1),
        false => Ok(()),
    }
}

fn raw_address(address: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: an address of zeros is valid, of no family.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let place = &raw mut storage;
    let length = match address {
        SocketAddr::V4(address) => {
            let raw = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: address.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
                sin_zero: [0; 8],
            };
            // SAFETY: a storage is large enough and aligned for every address.
            unsafe { place.cast::<libc::sockaddr_in>().write(raw) };
            size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(address) => {
            let raw = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: address.port().to_be(),
                sin6_flowinfo: address.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                sin6_scope_id: address.scope_id(),
            };
            // SAFETY: as above.
            unsafe { place.cast::<libc::sockaddr_in6>().write(raw) };
            size_of::<libc::sockaddr_in6>()
        }
    };
    (storage, length as libc::socklen_t)
}

fn address(storage: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let place: *const libc::sockaddr_storage = storage;
    match libc::c_int::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that it is one, and a storage is large enough.
            let raw = unsafe { place.cast::<libc::sockaddr_in>().read() };
            let ip = Ipv4Addr::from(raw.sin_addr.s_addr.to_ne_bytes());
            Some((ip, u16::from_be(raw.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let raw = unsafe { place.cast::<libc::sockaddr_in6>().read() };
            let ip = Ipv6Addr::from(raw.sin6_addr.s6_addr);
            let port = u16::from_be(raw.sin6_port);
            Some(SocketAddrV6::new(ip, port, raw.sin6_flowinfo, raw.sin6_scope_id).into())
        }
        _ => None,
    }
}

#[derive(Default)]
pub(crate) struct Outbox {
    vectors: Vec<libc::iovec>,
    addresses: Vec<(libc::sockaddr_storage, libc::socklen_t)>,
    controls: Vec<Control>,
    messages: Vec<libc::mmsghdr>,
}

// SAFETY: its pointers are written anew for every call and followed during the call alone.
unsafe impl Send for Outbox {}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Outbox")
    }
}

impl Outbox {
    pub(crate) fn send(
        &mut self,
        socket: &UdpSocket,
        pieces: &[&[u8]],
        parcels: &[Parcel],
    ) -> io::Result<usize> {
        self.write(pieces, parcels);
        let messages = &mut self.messages;
        // SAFETY: messages and all that they name live through the call.
        let sent = unsafe {
            let (pointer, count) = (messages.as_mut_ptr(), messages.len() as libc::c_uint);
            libc::sendmmsg(socket.as_raw_fd(), pointer, count, libc::MSG_DONTWAIT as _)
        };
        refused_or(sent).map(|sent| sent.unwrap_or(0) as usize)
    }

    fn write(&mut self, pieces: &[&[u8]], parcels: &[Parcel]) {
        let Outbox { vectors, addresses, controls, messages } = self;
        vectors.clear();
        vectors.extend(pieces.iter().map(slice_of));
        addresses.clear();
        addresses.extend(parcels.iter().map(|parcel| raw_address(parcel.to)));
        controls.clear();
        controls.resize(parcels.len(), Control::default());
        messages.clear();
        // One pointer into each: borrowing a part again would invalidate the pointers taken before.
        let (vectors, addresses) = (vectors.as_mut_ptr(), addresses.as_mut_ptr());
        let controls = controls.as_mut_ptr();
        for (number, parcel) in parcels.iter().enumerate() {
            // SAFETY: a message of zeros is one without address, data and control.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            let header = &mut message.msg_hdr;
            // SAFETY: there is an address and a control for each parcel, and a vector for each of its pieces.
            unsafe {
                let address = addresses.add(number);
                header.msg_name = (&raw mut (*address).0).cast();
                header.msg_namelen = (*address).1;
                header.msg_iov = vectors.add(parcel.pieces.start);
                header.msg_control = controls.add(number).cast();
            }
            header.msg_iovlen = parcel.pieces.len() as _;
            header.msg_controllen = size_of::<Control>() as _;
            let (level, name) = match parcel.to {
                SocketAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TOS),
                SocketAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
            };
            // SAFETY: the control memory has room for both, and is the message's alone.
            unsafe {
                let mut place = libc::CMSG_FIRSTHDR(header);
                let mut room = control(place, level, name, libc::c_int::from(parcel.class));
                if parcel.segments > 1 {
                    place = libc::CMSG_NXTHDR(header, place);
                    room += control(place, libc::SOL_UDP, UDP_SEGMENT, parcel.segment as u16);
                }
                header.msg_controllen = room as _;
            }
            messages.push(message);
        }
    }
}

/// Writes a control message. Returns its size.
///
/// # Safety
/// `place` must point to a control message with this much room.
unsafe fn control<T>(
    place: *mut libc::cmsghdr,
    level: libc::c_int,
    name: libc::c_int,
    value: T,
) -> usize {
    let bytes = size_of::<T>() as libc::c_uint;
    // SAFETY: the caller's promise; the data need not be aligned.
    unsafe {
        (*place).cmsg_level = level;
        (*place).cmsg_type = name;
        (*place).cmsg_len = libc::CMSG_LEN(bytes) as _;
        libc::CMSG_DATA(place).cast::<T>().write_unaligned(value);
        libc::CMSG_SPACE(bytes) as usize
    }
}

#[derive(Clone, Copy, Debug)]
struct Received {
    from: SocketAddr,
    class: u8,
    length: usize,
    segment: usize,
}

pub(crate) struct Inbox {
    memory: Vec<u8>,
    received: Vec<Option<Received>>,
    /// The current buffer, and the offset in it.
    at: (usize, usize),
}

impl std::fmt::Debug for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inbox").field("at", &self.at).finish_non_exhaustive()
    }
}

impl Inbox {
    pub(crate) fn new() -> Inbox {
        Inbox { memory: vec![0; BUFFERS * BUFFER_BYTES], received: Vec::new(), at: (0, 0) }
    }

    /// Receives more datagrams when all were taken. Returns whether any are there.
    pub(crate) fn fill(&mut self, socket: &UdpSocket) -> io::Result<bool> {
        if self.at.0 < self.received.len() {
            return Ok(true);
        }
        self.received.clear();
        self.at = (0, 0);
        // SAFETY: addresses and messages of zeros are valid.
        let mut addresses: [libc::sockaddr_storage; BUFFERS] = unsafe { std::mem::zeroed() };
        let mut messages: [libc::mmsghdr; BUFFERS] = unsafe { std::mem::zeroed() };
        let mut controls = [Control::default(); BUFFERS];
        let memory = self.memory.as_mut_ptr();
        let mut vectors: [libc::iovec; BUFFERS] = std::array::from_fn(|number| {
            // SAFETY: the memory has room for so many buffers.
            let buffer = unsafe { memory.add(number * BUFFER_BYTES) };
            libc::iovec { iov_base: buffer.cast(), iov_len: BUFFER_BYTES }
        });
        for (number, message) in messages.iter_mut().enumerate() {
            let header = &mut message.msg_hdr;
            header.msg_name = (&raw mut addresses[number]).cast();
            header.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            header.msg_iov = &raw mut vectors[number];
            header.msg_iovlen = 1;
            header.msg_control = controls[number].as_mut_ptr().cast();
            header.msg_controllen = size_of::<Control>() as _;
        }
        // SAFETY: messages and all that they name live through the call; each buffer is in one message.
        let got = checked(unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                messages.as_mut_ptr(),
                BUFFERS as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        });
        let got = match got {
            Ok(got) => got as usize,
            Err(error) if super::is_fatal(&error) => return Err(error),
            // No datagram is there, or an earlier one did not arrive, which its time-out will show.
            Err(_) => 0,
        };
        for (message, from) in messages[..got].iter().zip(&addresses) {
            let length = message.msg_len as usize;
            // SAFETY: the kernel has written the control messages of this header.
            let (class, segment) = unsafe { said(&message.msg_hdr) };
            let whole = message.msg_hdr.msg_flags & libc::MSG_TRUNC == 0;
            let segment = segment.filter(|&segment| segment > 0).unwrap_or(length.max(1));
            let received = address(from).map(|from| Received { from, class, length, segment });
            self.received.push(received.filter(|_| whole));
        }
        Ok(got > 0)
    }

    pub(crate) fn next(&mut self) -> Option<(SocketAddr, u8, &[u8])> {
        loop {
            let (buffer, from) = self.at;
            let received = (*self.received.get(buffer)?).filter(|what| from < what.length);
            let Some(Received { from: sender, class, length, segment }) = received else {
                self.at = (buffer + 1, 0);
                continue;
            };
            let to = (from + segment).min(length);
            self.at.1 = to;
            let bytes = &self.memory[buffer * BUFFER_BYTES..][from..to];
            return Some((sender, class, bytes));
        }
    }
}

/// Returns the class and segment length of a message.
///
/// # Safety
/// The kernel must have written the control messages.
unsafe fn said(header: &libc::msghdr) -> (u8, Option<usize>) {
    let (mut class, mut segment) = (0, None);
    // SAFETY: the caller's promise; data are read as they are, aligned or not.
    unsafe {
        // A reference to the header would not cover the data behind it.
        let mut place = libc::CMSG_FIRSTHDR(header);
        while !place.is_null() {
            let data = libc::CMSG_DATA(place);
            match ((*place).cmsg_level, (*place).cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_TOS) => class = data.read(),
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    class = data.cast::<libc::c_int>().read_unaligned() as u8;
                }
                (libc::SOL_UDP, UDP_GRO) => {
                    segment = usize::try_from(data.cast::<libc::c_int>().read_unaligned()).ok();
                }
                _ => {}
            }
            place = libc::CMSG_NXTHDR(header, place);
        }
    }
    (class, segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(header: &libc::msghdr) -> Option<u16> {
        // SAFETY: the control messages were written for this header.
        unsafe {
            let mut place = libc::CMSG_FIRSTHDR(header);
            while !place.is_null() {
                if ((*place).cmsg_level, (*place).cmsg_type) == (libc::SOL_UDP, UDP_SEGMENT) {
                    return Some(libc::CMSG_DATA(place).cast::<u16>().read_unaligned());
                }
                place = libc::CMSG_NXTHDR(header, place);
            }
        }
        None
    }

    #[test]
    fn gso_messages_have_the_format_of_the_kernel() {
        let to: [SocketAddr; 2] = [
            "10.0.0.1:49199".parse().unwrap(),
            SocketAddrV6::new("fe80::1".parse().unwrap(), 49_199, 0, 3).into(),
        ];
        let pieces: [&[u8]; 4] = [b"one", b"two", b"a long piece", b"."];
        let parcel = |to, class, segments, pieces: Range<usize>| Parcel {
            to,
            class,
            segment: 3,
            segments,
            bytes: 6,
            pieces,
        };
        let parcels = [parcel(to[0], 0xb8, 2, 0..2), parcel(to[1], 0x2a, 1, 2..4)];
        let mut outbox = Outbox::default();
        for _ in 0..2 {
            outbox.write(&pieces, &parcels);
            for (message, parcel) in outbox.messages.iter().zip(&parcels) {
                let header = &message.msg_hdr;
                // SAFETY: all that the message names was written for it, and lives.
                unsafe {
                    let name: *const libc::sockaddr_storage = header.msg_name.cast();
                    assert_eq!(address(&*name), Some(parcel.to));
                    let vectors = std::slice::from_raw_parts(header.msg_iov, header.msg_iovlen);
                    let bytes = vectors.iter().map(|one| {
                        std::slice::from_raw_parts(one.iov_base.cast::<u8>(), one.iov_len)
                    });
                    assert!(bytes.eq(pieces[parcel.pieces.clone()].iter().copied()));
                    assert_eq!(said(header).0, parcel.class);
                }
                assert_eq!(segment(header), (parcel.segments > 1).then_some(3));
            }
        }
    }

    #[test]
    fn a_coalesced_datagram_is_split() {
        let mut inbox = Inbox::new();
        let from: SocketAddr = "10.0.0.1:5".parse().unwrap();
        let whole = |length, segment| Some(Received { from, class: 7, length, segment });
        inbox.memory[..6].copy_from_slice(b"abcdef");
        inbox.memory[2 * BUFFER_BYTES..2 * BUFFER_BYTES + 3].copy_from_slice(b"xyz");
        inbox.received = vec![whole(6, 4), None, whole(3, 3), whole(0, 1)];
        let mut seen = Vec::new();
        while let Some((sender, class, bytes)) = inbox.next() {
            assert_eq!((sender, class), (from, 7));
            seen.push(bytes.to_vec());
        }
        assert_eq!(seen, [&b"abcd"[..], b"ef", b"xyz"]);
    }
}
