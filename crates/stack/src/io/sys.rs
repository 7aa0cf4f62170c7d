//! The system calls of the backends.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

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
    match checked(ready) {
        Ok(ready) => Ok(ready > 0),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(error) => Err(error),
    }
}
