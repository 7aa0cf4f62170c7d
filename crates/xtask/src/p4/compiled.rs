//! The compiled program: that it is the source's, and what the compiler makes of the source today.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::bmv2::Program;
use crate::vectors::read;

use super::bench::{claimed, run_vector};
use super::{COMPILED, SOURCE, TABLES};

/// The hashes of source and compiled program, as `sha256sum --check` reads them.
const HASHES: &str = "p4/compiled.sha256";

pub(super) const COMPILER: &str = "p4c-bm2-ss";

/// What `sha256sum` would print in that folder.
fn hashes(root: &Path) -> Result<String, String> {
    let mut text = String::new();
    for file in [SOURCE, COMPILED] {
        let path = Path::new(file);
        let bytes = Sha256::digest(read(root, path)?.as_bytes());
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        text.push_str(&format!("{digits}  {name}\n"));
    }
    Ok(text)
}

/// Source and compiled program are those that were kept together.
///
/// # Errors
/// One line that says which was changed, and what to do.
pub(super) fn check(root: &Path) -> Result<(), String> {
    let kept = read(root, Path::new(HASHES))?;
    let now = hashes(root)?;
    let mut files = kept.lines().zip(now.lines()).zip([SOURCE, COMPILED]);
    if let Some((_, file)) = files.find(|((kept, now), _)| kept != now) {
        return Err(format!(
            "{file}: is not what {HASHES} says: {COMPILED} may be stale. Compile {SOURCE} again: cargo xtask p4 \
             --compile (needs {COMPILER} on PATH)"
        ));
    }
    if kept.lines().count() != now.lines().count() {
        return Err(format!("{HASHES}: expected two lines, of {SOURCE} and {COMPILED}"));
    }
    Ok(())
}

/// Calls the compiler. `None`: there is none on PATH.
fn call_compiler(root: &Path, output: &Path) -> Result<Option<()>, String> {
    let source = Path::new(SOURCE);
    let folder = root.join(source.parent().unwrap_or(Path::new("")));
    let output = fs::canonicalize(output.parent().unwrap_or(Path::new(".")))
        .map(|folder| folder.join(output.file_name().unwrap_or_default()))
        .map_err(|error| format!("{}: {error}", output.display()))?;
    // In its folder, so that no path of this machine comes into the output.
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
            Err(format!("{SOURCE}: {COMPILER}: {}", String::from_utf8_lossy(&output.stderr)))
        }
    }
}

/// Compiles the program and writes down which source it is of.
///
/// # Errors
/// One line: what, and where.
pub(crate) fn compile(root: &Path) -> Result<usize, String> {
    if call_compiler(root, &root.join(COMPILED))?.is_none() {
        return Err(format!("{COMPILER} is not on PATH: install p4c"));
    }
    let text = hashes(root)?;
    fs::write(root.join(HASHES), text).map_err(|error| format!("{HASHES}: {error}"))?;
    Ok(2)
}

/// What says where something stood in which file, and by which compiler it was read.
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

/// The compiler on this machine makes of the source what is kept, or something that passes every vector too.
///
/// # Errors
/// It does not.
pub(super) fn compare(root: &Path) -> Result<String, String> {
    let folder = root.join("out/p4");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let path = folder.join("compiled.json");
    if call_compiler(root, &path)?.is_none() {
        return Ok(format!(
            "SKIPPED: {COMPILER} is not on PATH; the kept program was not compiled anew"
        ));
    }
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let document = |text: &str| -> Result<Value, String> {
        let mut value =
            serde_json::from_str(text).map_err(|error| format!("{COMPILED}: {error}"))?;
        without_places(&mut value);
        Ok(value)
    };
    if document(&text)? == document(&read(root, Path::new(COMPILED))?)? {
        return Ok(format!("{COMPILER} makes of {SOURCE} what is kept"));
    }
    let program = Program::parse(&path.display().to_string(), &text)?;
    let tables = read(root, Path::new(TABLES))?;
    let vectors = claimed(root)?;
    for vector in &vectors {
        run_vector(&program, &tables, vector).map_err(|error| format!("compiled anew: {error}"))?;
    }
    Ok(format!(
        "{COMPILER} makes of {SOURCE} something else than what is kept; {} vectors hold on it too",
        vectors.len()
    ))
}
