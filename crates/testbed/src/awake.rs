//! Processors that do not fall into a deep sleep (NDP 5.1: sleep states deeper than C1 are disabled).
//!
//! The kernel promises a wake-up within the time that a process has written into `/dev/cpu_dma_latency`, as long as that
//! process has the file open: with 0 an idle processor spins. This acts through the driver of sleep states. A virtual
//! machine often has none: its idle processor halts, and the host decides how deep it sleeps. There, and where the
//! file cannot be written, a thread of the lowest scheduling class spins on each processor instead. It gives way to
//! any other thread at once, and the processor never halts.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use super::sys;

const LATENCY: &str = "/dev/cpu_dma_latency";
const DRIVER: &str = "/sys/devices/system/cpu/cpuidle/current_driver";

/// Keeps all processors from sleeping, until it is dropped.
#[derive(Debug)]
pub struct Awake {
    /// The file that limits sleep states while it is open.
    _limit: Option<File>,
    is_over: Arc<AtomicBool>,
    spinning: Vec<JoinHandle<()>>,
    described: String,
}

impl Awake {
    /// Limits the sleep states of all processors.
    ///
    /// # Errors
    /// Fails if the system neither limits them nor starts the threads.
    pub fn begin() -> io::Result<Awake> {
        let driver = fs::read_to_string(DRIVER).map(|text| text.trim().to_owned());
        let has_driver = driver.as_ref().is_ok_and(|name| !name.is_empty() && name != "none");
        let limit = limit();
        let is_over = Arc::new(AtomicBool::new(false));
        let (described, spins) = match (&limit, has_driver) {
            (Ok(_), true) => {
                let name = driver.unwrap_or_default();
                (format!("sleep states limited by {LATENCY} = 0 us (driver {name})"), false)
            }
            (Ok(_), false) => (
                format!(
                    "{LATENCY} = 0 us is held, but this machine has no driver of sleep states (a virtual machine \\
                     halts): a thread of the class SCHED_IDLE spins on each processor"
                ),
                true,
            ),
            (Err(error), _) => (
                format!(
                    "{LATENCY} cannot be held ({error}): a thread of the class SCHED_IDLE spins on each processor"
                ),
                true,
            ),
        };
        let mut awake = Awake { _limit: limit.ok(), is_over, spinning: Vec::new(), described };
        if spins {
            let processors = thread::available_parallelism()?.get();
            for processor in 0..processors {
                let is_over = Arc::clone(&awake.is_over);
                let name = format!("awake{processor}");
                let spinning = thread::Builder::new().name(name).spawn(move || {
                    sys::pin(processor);
                    // Without it the thread would take its share from those that are measured.
                    if sys::only_if_idle().is_err() {
                        return;
                    }
                    while !is_over.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
                awake.spinning.push(spinning?);
            }
        }
        Ok(awake)
    }

    /// Returns how the processors are kept awake.
    pub fn description(&self) -> &str {
        &self.described
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for spinning in self.spinning.drain(..) {
            let _ = spinning.join();
        }
    }
}

/// Asks for a wake-up within 0 us, as long as the file is open (Documentation/power/pm_qos_interface.rst of Linux).
fn limit() -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).open(LATENCY)?;
    file.write_all(&0i32.to_ne_bytes())?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_kept_awake_in_one_of_two_ways() {
        let awake = Awake::begin().unwrap();
        let spins = awake.description().contains("spins");
        let processors = thread::available_parallelism().unwrap().get();
        assert_eq!(awake.spinning.len(), if spins { processors } else { 0 });
        assert!(awake.description().contains(LATENCY), "{}", awake.description());
    }
}
