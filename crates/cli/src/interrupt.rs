//! Ctrl-C: a command stops its runs and writes what there is.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use trimline_experiments::Failure;

/// Set by Ctrl-C and requests to terminate, once caught.
static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Exit status of a command that was stopped (128 + SIGINT).
pub(crate) fn interrupted() -> ExitCode {
    ExitCode::from(130)
}

/// Makes Ctrl-C set the returned flag instead of ending the process; the second one ends the process.
pub(crate) fn catch_interrupts() -> Result<&'static AtomicBool, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    if STOP.set(Arc::clone(&stop)).is_ok() {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))
                .and_then(|_| flag::register(signal, Arc::clone(&stop)))
                .map_err(|error| Failure::message(format!("cannot handle Ctrl-C: {error}")))?;
        }
    }
    Ok(STOP.get_or_init(Arc::default))
}

pub(crate) fn is_stopped() -> bool {
    STOP.get().is_some_and(|stop| stop.load(Ordering::Relaxed))
}
