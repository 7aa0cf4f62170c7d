//! The system calls of the testbed.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd};
use std::time::Duration;

use trimline_stack::io::sys::{any_socket, checked, interface_request, set_number};

pub(super) fn new_network() -> io::Result<()> {
    // SAFETY: takes a number only; other threads keep their namespace.
    checked(unsafe { libc::unshare(libc::CLONE_NEWNET) }).map(|_| ())
}

pub(super) fn enter_network(namespace: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: takes numbers only.
    checked(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }).map(|_| ())
}

/// Moves this process, which must have one thread, into a new user namespace.
pub(super) fn new_user() -> io::Result<()> {
    // SAFETY: takes a number only.
    checked(unsafe { libc::unshare(libc::CLONE_NEWUSER) }).map(|_| ())
}

pub(super) fn identity() -> (u32, u32) {
    // SAFETY: takes nothing and cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Lets this thread run only where no other thread wants to.
pub(super) fn only_if_idle() -> io::Result<()> {
    let of_class = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameter lives through the call; 0 is this thread.
    checked(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const of_class) })
        .map(|_| ())
}

/// Returns the processor time of this process, with the kernel.
pub(super) fn processor_time() -> Duration {
    processor_time_of(libc::RUSAGE_SELF)
}

/// Returns the processor time of ended child processes.
pub(super) fn processor_time_of_children() -> Duration {
    processor_time_of(libc::RUSAGE_CHILDREN)
}

fn processor_time_of(whose: libc::c_int) -> Duration {
    // SAFETY: a structure of zeros is valid, and it lives through the call, which cannot fail.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(whose, &mut usage);
        usage
    };
    let duration = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    duration(usage.ru_utime) + duration(usage.ru_stime)
}

/// Returns a file of this many zeros that takes no memory.
pub(super) fn zeros(bytes: u64) -> io::Result<File> {
    // SAFETY: the name lives through the call; a descriptor that is not negative is new and ours.
    let file = unsafe {
        let fd = libc::memfd_create(c"zeros".as_ptr(), libc::MFD_CLOEXEC);
        File::from_raw_fd(checked(fd)?)
    };
    file.set_len(bytes)?;
    Ok(file)
}

/// Pins this thread to a processor, if it exists.
pub(super) fn pin(processor: usize) {
    // SAFETY: a set of zeros is an empty one; it lives through the call. That it fails does no harm.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

/// Keeps this thread on a processor, if it exists, until the value is dropped.
#[derive(Debug)]
pub(super) struct Pinned {
    before: libc::cpu_set_t,
    /// Affinity is of a thread.
    _of_thread: PhantomData<*const ()>,
}

impl Pinned {
    pub(super) fn to(processor: usize) -> Pinned {
        // SAFETY: a set of zeros is an empty one; it lives through the call.
        let before = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
            set
        };
        pin(processor);
        Pinned { before, _of_thread: PhantomData }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: the set lives through the call. An empty one is refused, which does no harm.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &self.before) };
    }
}

#[repr(C)]
struct EthtoolValue {
    command: u32,
    value: u32,
}

/// Sets whether the kernel may leave checksums and segmentation to an interface.
pub(super) fn set_offloads(interface: &str, are_on: bool) -> io::Result<()> {
    const SIOCETHTOOL: libc::c_ulong = 0x8946;
    // ETHTOOL_SRXCSUM, STXCSUM, STSO, SGSO, SGRO: segmentation needs the checksum.
    const COMMANDS: [u32; 5] = [0x15, 0x17, 0x1f, 0x24, 0x2c];
    let socket = any_socket()?;
    for command in COMMANDS {
        let mut value = EthtoolValue { command, value: are_on.into() };
        let mut request = interface_request(interface)?;
        request.ifr_ifru.ifru_data = (&raw mut value).cast();
        // SAFETY: request and value live through the call.
        let done =
            unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as libc::Ioctl, &mut request) };
        match checked(done) {
            Ok(_) => {}
            // A setting that cannot be changed does not exist.
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Open {
    /// Handshake, then data.
    Plain,
    /// Data with the SYN (RFC 7413).
    Fast,
}

/// Opens a TCP connection with cubic and sends the first bytes. Returns how many were sent, which may be fewer without
/// blocking.
pub(super) fn tcp_connect(
    address: Ipv4Addr,
    port: u16,
    open: Open,
    blocks: bool,
    first: &[u8],
) -> io::Result<(TcpStream, usize)> {
    let kind =
        libc::SOCK_STREAM | libc::SOCK_CLOEXEC | if blocks { 0 } else { libc::SOCK_NONBLOCK };
    // SAFETY: takes numbers only; a descriptor that is not negative is new and ours.
    let stream = unsafe {
        TcpStream::from_raw_fd(checked(libc::socket(libc::AF_INET, kind, libc::IPPROTO_TCP))?)
    };
    set_number(&stream, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)?;
    set_congestion(&stream, "cubic")?;
    let to = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.octets()) },
        sin_zero: [0; 8],
    };
    let pointer: *const libc::sockaddr_in = &to;
    let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    let under_way =
        |error: &io::Error| matches!(error.raw_os_error(), Some(libc::EINPROGRESS | libc::EAGAIN));
    let fd = stream.as_raw_fd();
    if open == Open::Plain {
        // SAFETY: the address lives through the call.
        match checked(unsafe { libc::connect(fd, pointer.cast(), length) }) {
            Err(error) if !under_way(&error) => return Err(error),
            _ => return Ok((stream, 0)),
        }
    }
    // SAFETY: address and bytes live through the call.
    let sent = unsafe {
        let flags = libc::MSG_FASTOPEN | libc::MSG_NOSIGNAL;
        libc::sendto(fd, first.as_ptr().cast(), first.len(), flags, pointer.cast(), length)
    };
    match checked(sent as libc::c_int) {
        Ok(sent) => Ok((stream, sent as usize)),
        Err(error) if under_way(&error) => Ok((stream, 0)),
        Err(error) => Err(error),
    }
}

pub(super) fn set_congestion(socket: &impl AsRawFd, name: &str) -> io::Result<()> {
    // SAFETY: the name lives through the call, and its length is its own.
    checked(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_ptr().cast(),
            name.len() as libc::socklen_t,
        )
    })?;
    Ok(())
}

/// Lets a listening socket accept data with the SYN.
pub(super) fn accept_fast_open(socket: &impl AsRawFd) -> io::Result<()> {
    set_number(socket, libc::IPPROTO_TCP, libc::TCP_FASTOPEN, 1024)
}
