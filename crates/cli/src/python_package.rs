//! The Python package, which draws and makes tables from results.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use trimline_experiments::{Failure, notice};

/// The standard output of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stdout {
    /// That of the command.
    Shown,
    /// Returned.
    Returned,
}

/// Calls `main` of a Python module of the package, and returns its exit status and its standard output; without the
/// package, says so and returns `None`.
pub(crate) fn call(
    module: &str,
    arguments: &[OsString],
    stdout: Stdout,
) -> Result<Option<(i32, Vec<u8>)>, Failure> {
    let python = python();
    let code = format!(
        "import sys\ntry:\n    from trimline.{module} import main\nexcept ImportError as error:\n    \
         print(error, file=sys.stderr)\n    sys.exit({MISSING})\n\
         sys.exit(main(sys.argv[1:]))"
    );
    let output = Command::new(&python)
        .args(["-c", &code])
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .stdout(if stdout == Stdout::Shown { Stdio::inherit() } else { Stdio::piped() })
        .output();
    let (status, text) = match output {
        Ok(output) => (output.status.code().unwrap_or(2), output.stdout),
        Err(error) if error.kind() == ErrorKind::NotFound => (MISSING, Vec::new()),
        Err(error) => return Err(Failure::io(&python, &error)),
    };
    if status == MISSING {
        notice(&missing(module, &python));
        return Ok(None);
    }
    Ok(Some((status, text)))
}

/// Exit status of a call whose module cannot be imported: a shell's status for a missing command.
const MISSING: i32 = 127;

fn missing(module: &str, python: &Path) -> String {
    format!(
        "{} cannot import trimline.{module}: install it with `pip install .`, or in a clone with `make venv module`, \
         or set TRIMLINE_PYTHON to another Python",
        python.display()
    )
}

/// Checks that Python has this module of the package.
///
/// # Errors
/// Returns what is missing, and how to install it.
pub(crate) fn check(module: &str) -> Result<(), String> {
    let python = python();
    let probe = format!("import trimline.{module}");
    let has_package = Command::new(&python)
        .args(["-c", &probe])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if has_package {
        return Ok(());
    }
    Err(missing(module, &python))
}

/// TRIMLINE_PYTHON; otherwise Python of .venv here or above; otherwise python3.
fn python() -> PathBuf {
    if let Some(python) = std::env::var_os("TRIMLINE_PYTHON") {
        return PathBuf::from(python);
    }
    let here = std::env::current_dir().unwrap_or_default();
    here.ancestors()
        .map(|directory| directory.join(".venv/bin/python"))
        .find(|python| fs::metadata(python).is_ok())
        .unwrap_or_else(|| PathBuf::from("python3"))
}
