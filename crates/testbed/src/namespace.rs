//! Network namespaces without a name: they vanish with the process that holds them, however it ends.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Command, Stdio};
use std::thread;

use super::sys;

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    file: File,
}

/// Becomes root of its own user namespace, unless it is root already, to create network namespaces. Must precede all
/// threads.
///
/// # Errors
/// Fails if the system does not allow it.
pub fn become_root() -> io::Result<()> {
    let (user, group) = sys::identity();
    if user == 0 {
        return Ok(());
    }
    sys::new_user()?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// Returns whether the machine or the user's privileges forbid a testbed.
pub fn is_forbidden(error: &io::Error) -> bool {
    // The kernel reports with ENOSPC that no user namespace is left.
    error.kind() == io::ErrorKind::PermissionDenied || error.raw_os_error() == Some(libc::ENOSPC)
}

/// Returns the result of a testbed in a test. Prints SKIPPED where the machine forbids a testbed, or has no `ip`.
///
/// # Panics
/// Panics on any other error.
pub fn allowed<T>(outcome: io::Result<T>) -> Option<T> {
    match outcome {
        Ok(done) => Some(done),
        Err(error) if is_forbidden(&error) || error.kind() == io::ErrorKind::NotFound => {
            println!("SKIPPED: {error} ({NEEDS})");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The requirements of a testbed.
pub const NEEDS: &str = "network namespaces and raw sockets need iproute2, and root or a kernel that lets users have \
                         user namespaces";

impl Namespace {
    /// Creates a network namespace with a running loopback interface.
    ///
    /// # Errors
    /// Fails if the system does not allow it.
    pub fn new() -> io::Result<Namespace> {
        let made = thread::spawn(|| {
            sys::new_network()?;
            File::open("/proc/thread-self/ns/net")
        });
        let file = made.join().map_err(|_| io::Error::other("the thread is gone"))??;
        let namespace = Namespace { file };
        namespace.ip(&["link set lo up".to_owned()])?;
        Ok(namespace)
    }

    /// Runs `act` inside.
    ///
    /// # Errors
    /// Fails if it cannot be entered, or `act` fails.
    pub fn inside<T: Send>(&self, act: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                self.enter()?;
                act()
            });
            thread.join().map_err(|_| io::Error::other("the thread inside panicked"))?
        })
    }

    /// Moves this thread inside for good.
    ///
    /// # Errors
    /// Fails if it cannot be entered.
    pub fn enter(&self) -> io::Result<()> {
        sys::enter_network(self.file.as_fd())
    }

    /// Returns its path for other programs, while this process lives.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Runs lines of `ip` inside.
    ///
    /// # Errors
    /// Fails if `ip` is missing or refuses, with its message.
    pub fn ip(&self, lines: &[String]) -> io::Result<()> {
        self.inside(|| {
            let mut child = Command::new("ip")
                .args(["-batch", "-"])
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .map_err(|error| io::Error::new(error.kind(), format!("ip (iproute2): {error}")))?;
            let mut input = child.stdin.take().expect("it was asked for");
            input.write_all((lines.join("\n") + "\n").as_bytes())?;
            drop(input);
            let output = child.wait_with_output()?;
            match output.status.success() {
                true => Ok(()),
                false => Err(io::Error::other(format!(
                    "ip: {}",
                    String::from_utf8_lossy(&output.stderr).trim()
                ))),
            }
        })
    }

    /// Sets a parameter of the kernel's network inside, such as `ipv4/tcp_fastopen`.
    ///
    /// # Errors
    /// Fails if there is no such parameter.
    pub fn set(&self, parameter: &str, value: &str) -> io::Result<()> {
        let path = format!("/proc/sys/net/{parameter}");
        self.inside(|| {
            fs::write(&path, value)
                .map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))
        })
    }
}
