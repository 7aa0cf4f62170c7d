//! The system calls of the backends.
#![allow(unsafe_code)]

#[path = "datagrams.rs"]
pub(crate) mod datagrams;
#[path = "ingress.rs"]
pub(crate) mod ingress;
#[path = "netlink.rs"]
pub mod netlink;
#[path = "rings.rs"]
mod rings;

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use rings::Ring;

/// The result of a system call.
pub fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Runs before `main` and before the standard library, which opens /dev/null in place of closed descriptors.
#[used]
#[unsafe(link_section = ".init_array")]
static CHECK_STDOUT: extern "C" fn() = {
    extern "C" fn check_stdout() {
        // SAFETY: takes numbers only.
        let is_closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } < 0;
        STDOUT_WAS_CLOSED.store(is_closed, Ordering::Relaxed);
    }
    check_stdout
};

/// Returns whether standard output was closed when the process began.
pub(crate) fn stdout_was_closed() -> bool {
    STDOUT_WAS_CLOSED.load(Ordering::Relaxed)
}

/// Returns a descriptor that is readable from [`ring`] to [`silence`].
pub(crate) fn event_fd() -> io::Result<OwnedFd> {
    // SAFETY: takes numbers only; a descriptor that is not negative is new and ours.
    let fd = checked(unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) })?;
    // SAFETY: see above.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub(crate) fn ring(waker: &OwnedFd) -> io::Result<()> {
    let one = 1u64.to_ne_bytes();
    // SAFETY: eight bytes that live through the call.
    let written = unsafe { libc::write(waker.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    // A full counter is readable, too.
    match io::Error::last_os_error() {
        error if written < 0 && error.kind() != io::ErrorKind::WouldBlock => Err(error),
        _ => Ok(()),
    }
}

pub(crate) fn clear_eventfd(waker: &OwnedFd) {
    let mut count = [0u8; 8];
    // SAFETY: eight bytes that live through the call. That nothing was rung is no mistake.
    unsafe { libc::read(waker.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
}

fn timespec(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (ns / 1_000_000_000) as _,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    }
}

fn readable(fd: libc::c_int) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN, revents: 0 }
}

/// Waits for at most `timeout_ns`. Returns whether a descriptor is readable.
pub fn wait_readable(fds: impl Iterator<Item = libc::c_int>, timeout_ns: u64) -> io::Result<bool> {
    let mut polled: Vec<libc::pollfd> = fds.map(readable).collect();
    poll(&mut polled, Some(timespec(timeout_ns)))
}

/// A timer with a descriptor, which stays set between waits: setting a kernel timer for each is expensive under a
/// hypervisor.
#[derive(Debug)]
pub(crate) struct Alarm {
    timer: OwnedFd,
    polled: Vec<libc::pollfd>,
}

impl Alarm {
    pub(crate) fn new() -> io::Result<Alarm> {
        let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
        // SAFETY: takes numbers only; a descriptor that is not negative is new and ours.
        let timer = unsafe {
            OwnedFd::from_raw_fd(checked(libc::timerfd_create(libc::CLOCK_MONOTONIC, flags))?)
        };
        Ok(Alarm { timer, polled: Vec::new() })
    }

    /// Sets it to ring once, in `ns` nanoseconds.
    pub(crate) fn set(&mut self, ns: u64) -> io::Result<()> {
        // Zero would never ring.
        let (it_interval, it_value) = (timespec(0), timespec(ns.max(1)));
        let time = libc::itimerspec { it_interval, it_value };
        let timer = self.timer.as_raw_fd();
        // SAFETY: the time lives through the call; the old one is not asked for.
        checked(unsafe { libc::timerfd_settime(timer, 0, &time, std::ptr::null_mut()) }).map(drop)
    }

    /// Waits for a descriptor or the alarm. Returns whether it rang; it goes on ringing until it is set again.
    pub(crate) fn wait(&mut self, fds: impl Iterator<Item = libc::c_int>) -> io::Result<bool> {
        self.polled.clear();
        self.polled.push(readable(self.timer.as_raw_fd()));
        self.polled.extend(fds.map(readable));
        poll(&mut self.polled, None)?;
        Ok(self.polled[0].revents != 0)
    }
}

fn poll(polled: &mut [libc::pollfd], timeout: Option<libc::timespec>) -> io::Result<bool> {
    let timeout = timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the array and the time live through the call; its length is the array's.
    let ready = unsafe {
        libc::ppoll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, timeout, std::ptr::null())
    };
    // A pending error, as after the link went down, makes a socket readable until the error is taken.
    polled.iter().filter(|one| one.revents & libc::POLLERR != 0).for_each(|one| take_error(one.fd));
    match checked(ready) {
        Ok(ready) => Ok(ready > 0),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(error) => Err(error),
    }
}

/// Takes the pending error of a socket, whose effect shows elsewhere. Other descriptors have none.
fn take_error(fd: libc::c_int) {
    let mut error: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    let place = (&raw mut error).cast();
    // SAFETY: the number lives through the call, and its length is its own.
    unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_ERROR, place, &mut length) };
}

/// Returns whether an error means a wrong descriptor or memory of this process. Others concern one destination, or are
/// temporary.
pub(crate) fn is_fatal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBADF | libc::ENOTSOCK | libc::EFAULT))
}

/// Returns whether an error means that the kernel cannot segment at all.
pub(crate) fn cannot_cut(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EIO | libc::EOPNOTSUPP))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub index: u32,
    pub mtu: usize,
    pub ethernet: [u8; 6],
}

/// A request about an interface, which the kernel fills in.
pub fn interface_request(name: &str) -> io::Result<libc::ifreq> {
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
pub fn any_socket() -> io::Result<OwnedFd> {
    // SAFETY: takes numbers only; a descriptor that is not negative is new and ours.
    unsafe {
        let fd = checked(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Looks an interface up.
pub fn link(name: &str) -> io::Result<Link> {
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
pub fn set_number(
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

const fn step(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

fn slice_of(piece: &&[u8]) -> libc::iovec {
    libc::iovec { iov_base: piece.as_ptr().cast_mut().cast(), iov_len: piece.len() }
}

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
                _ => libc::sendmmsg(fd.as_raw_fd(), pointer, count, libc::MSG_DONTWAIT as _),
            }
        };
        refused_or(sent).map(|sent| sent.unwrap_or(0) as usize)
    }

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

pub(crate) fn send_one(fd: &OwnedFd, frame: &[u8]) -> io::Result<bool> {
    // SAFETY: the bytes live through the call.
    let sent = unsafe {
        libc::send(fd.as_raw_fd(), frame.as_ptr().cast(), frame.len(), libc::MSG_DONTWAIT)
    };
    refused_or(sent as libc::c_int).map(|sent| sent.is_some())
}

fn refused_or(sent: libc::c_int) -> io::Result<Option<libc::c_int>> {
    match checked(sent) {
        Ok(sent) => Ok(Some(sent)),
        Err(error) => match error.raw_os_error() {
            Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => Ok(None),
            _ => Err(error),
        },
    }
}

/// Makes a bound socket receive nothing.
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

pub(crate) fn set_buffers(socket: &impl AsRawFd, bytes: libc::c_int) -> io::Result<()> {
    set_number(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes)?;
    set_number(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn an_alarm_stays_ready_until_it_is_set_again() {
        let mut alarm = Alarm::new().unwrap();
        let start = std::time::Instant::now();
        alarm.set(3_000_000).unwrap();
        assert!(alarm.wait(std::iter::empty()).unwrap());
        assert!(start.elapsed().as_millis() >= 3);
        assert!(alarm.wait(std::iter::empty()).unwrap(), "it goes on ringing");
        // Another descriptor is seen while the alarm is set for later.
        alarm.set(60_000_000_000).unwrap();
        let waker = event_fd().unwrap();
        ring(&waker).unwrap();
        assert!(!alarm.wait(std::iter::once(waker.as_raw_fd())).unwrap());
        alarm.set(0).unwrap();
        assert!(alarm.wait(std::iter::empty()).unwrap(), "at once");
        assert!(start.elapsed().as_secs() < 30);
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
}
