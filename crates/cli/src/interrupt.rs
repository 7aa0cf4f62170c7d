//! Ctrl-C: a command ends with status 130; some stop their runs and write what there is.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use trimline_experiments::Failure;

use crate::status::INTERRUPTED;

/// Set by Ctrl-C and requests to terminate, once caught.
static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// True while Ctrl-C ends the process at once.
static AT_ONCE: OnceLock<Arc<AtomicBool>> = OnceLock::new();

fn failed(error: &io::Error) -> Failure {
    Failure::message(format!("cannot handle Ctrl-C: {error}"))
}

/// Makes Ctrl-C and requests to terminate end the process with the status of an interrupt.
pub(crate) fn end_at_interrupts() -> Result<(), Failure> {
    let at_once = Arc::new(AtomicBool::new(true));
    if AT_ONCE.set(Arc::clone(&at_once)).is_ok() {
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&at_once))
                .map_err(|error| failed(&error))?;
        }
    }
    Ok(())
}

/// Makes Ctrl-C set the returned flag instead of ending the process; the second one ends the process.
pub(crate) fn catch_interrupts() -> Result<&'static AtomicBool, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    if STOP.set(Arc::clone(&stop)).is_ok() {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&stop))
                .and_then(|_| flag::register(signal, Arc::clone(&stop)))
                .map_err(|error| failed(&error))?;
        }
    }
    if let Some(at_once) = AT_ONCE.get() {
        at_once.store(false, Ordering::Relaxed);
    }
    Ok(STOP.get_or_init(Arc::default))
}

pub(crate) fn is_stopped() -> bool {
    STOP.get().is_some_and(|stop| stop.load(Ordering::Relaxed))
}
