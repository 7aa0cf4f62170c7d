//! Checks that the compiled programs belong to their sources, and compares them with today's compiler.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::bmv2::Program;
use crate::vectors::read;

use super::{Kept, NDP, OPF};

/// Sources and compiled programs.
const FILES: [&str; 5] = ["p4/ip.p4", NDP.source, NDP.compiled, OPF.source, OPF.compiled];

/// Their hashes, in the format of `sha256sum --check`.
const HASHES: &str = "p4/compiled.sha256";

pub(super) const COMPILER: &str = "p4c-bm2-ss";

fn hashes(root: &Path) -> Result<String, String> {
    let mut text = String::new();
    for file in FILES {
        let path = Path::new(file);
        let bytes = Sha256::digest(read(root, path)?.as_bytes());
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        text.push_str(&format!("{digits}  {name}\n"));
    }
    Ok(text)
}

/// Checks that sources and compiled programs were kept together. An error names the changed file, and the remedy.
pub(super) fn check(root: &Path) -> Result<(), String> {
    let kept = read(root, Path::new(HASHES))?;
    let now = hashes(root)?;
    let mut files = kept.lines().zip(now.lines()).zip(FILES);
    if let Some((_, file)) = files.find(|((kept, now), _)| kept != now) {
        return Err(format!(
            "{file}: is not what {HASHES} says: a compiled program may be stale. Compile them again: cargo xtask p4 \
             --compile (needs {COMPILER} on PATH)"
        ));
    }
    if kept.lines().count() != now.lines().count() {
        return Err(format!("{HASHES}: expected a line of each of {}", FILES.join(", ")));
    }
    Ok(())
}

/// Calls the compiler. `None`: it is not on PATH.
fn call_compiler(root: &Path, kept: &Kept, output: &Path) -> Result<Option<()>, String> {
    let source = Path::new(kept.source);
    let folder = root.join(source.parent().unwrap_or(Path::new("")));
    let output = fs::canonicalize(output.parent().unwrap_or(Path::new(".")))
        .map(|folder| folder.join(output.file_name().unwrap_or_default()))
        .map_err(|error| format!("{}: {error}", output.display()))?;
    // In its folder, so that the output has no path of this machine.
    let called = Command::new(COMPILER)
        .current_dir(folder)
        .args(["--std", "p4-16", "-o"])
        .arg(output)
        .arg(source.file_name().unwrap_or_default())
        .output();
    match called {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{COMPILER}: {error}")),
        Ok(output) if output.status.success() => Ok(Some(())),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("{}: {COMPILER}: {said}", kept.source))
        }
    }
}

/// Compiles the programs and records the hashes of their sources.
pub(crate) fn compile(root: &Path) -> Result<usize, String> {
    for kept in [&NDP, &OPF] {
        if call_compiler(root, kept, &root.join(kept.compiled))?.is_none() {
            return Err(format!("{COMPILER} is not on PATH: install p4c"));
        }
    }
    let text = hashes(root)?;
    fs::write(root.join(HASHES), text).map_err(|error| format!("{HASHES}: {error}"))?;
    Ok(3)
}

/// Removes places in source files, and the compiler's version.
fn without_places(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for key in ["source_info", "program", "__meta__"] {
                object.remove(key);
            }
            object.values_mut().for_each(without_places);
        }
        Value::Array(items) => items.iter_mut().for_each(without_places),
        _ => {}
    }
}

/// Compares the compiler's output with the kept program. If they differ, `hold` must run every vector on the new one.
pub(super) fn compare(
    root: &Path,
    kept: &Kept,
    hold: impl Fn(&Program) -> Result<usize, Vec<String>>,
) -> Result<String, Vec<String>> {
    let alone = |error: String| vec![error];
    let source = kept.source;
    let Some((path, text)) = anew(root, kept).map_err(alone)? else {
        return Ok(format!("SKIPPED: {COMPILER} is not on PATH; {source} was not compiled anew"));
    };
    let is_kept = is_same(&text, &read(root, Path::new(kept.compiled)).map_err(alone)?);
    if is_kept.map_err(alone)? {
        return Ok(format!("{COMPILER} makes of {source} what is kept"));
    }
    let vectors = hold(&Program::parse(&path, &text).map_err(alone)?)?;
    Ok(format!(
        "{COMPILER} makes of {source} something else than what is kept; {vectors} vectors hold on it too"
    ))
}

/// Compiles a source, and returns path and text of the output. `None`: there is no compiler.
fn anew(root: &Path, kept: &Kept) -> Result<Option<(String, String)>, String> {
    let folder = root.join("out/p4");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let path = folder.join(Path::new(kept.compiled).file_name().unwrap_or_default());
    if call_compiler(root, kept, &path)?.is_none() {
        return Ok(None);
    }
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(Some((path.display().to_string(), text)))
}

/// Returns whether two compiled programs are equal, apart from source lines.
fn is_same(anew: &str, kept: &str) -> Result<bool, String> {
    let document = |text: &str| -> Result<Value, String> {
        let mut value =
            serde_json::from_str(text).map_err(|error| format!("{COMPILER}: {error}"))?;
        without_places(&mut value);
        Ok(value)
    };
    Ok(document(anew)? == document(kept)?)
}
