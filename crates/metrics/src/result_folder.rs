//! Results appear completely or not at all: files are written beside their place, then renamed. Other files and
//! symbolic links stay. Mount points cannot be renamed: their files are made inside and renamed one by one, the
//! manifest last.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, BufWriter};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub use crate::manifest::MANIFEST;

use crate::manifest::Origin;

/// Files of commands in a result directory. Other files are the user's.
pub const FILES: [&str; 21] = [
    MANIFEST,
    "summary.json",
    "scenario.toml",
    "flows.csv",
    "ports.csv",
    "links.csv",
    "pauses.csv",
    "paths.csv",
    "hosts.csv",
    "latencies.csv",
    "timeline.csv",
    "fct_components.csv",
    "series.csv",
    "flow_series.csv",
    "port_series.csv",
    "fct.txt",
    "measures.json",
    "findings.json",
    "trace.json",
    "trace.pcapng",
    "report.html",
];

/// Lock of the writer. Inside the directory only if the parent is not writable.
pub const LOCK: &str = ".lock";

/// Name prefix of an attempt inside a mount point.
const INSIDE: &str = ".partial-";

/// An unfinished result directory.
#[derive(Debug)]
pub struct ResultFolder {
    target: PathBuf,
    partial: PathBuf,
    is_finished: bool,
}

impl ResultFolder {
    /// Begins a result for `target` and removes remains of killed attempts.
    ///
    /// # Errors
    /// Fails if `target` is something else than a result, which stays, or if the file system refuses.
    pub fn begin(target: &Path) -> io::Result<ResultFolder> {
        // `.` has no name either and must not be renamed.
        beside(target, "partial")?;
        let target = &followed(target)?;
        let partial = match target.is_dir() && is_mounted(target)? {
            true => inside(target),
            false => beside(target, "partial")?,
        };
        if !is_replaceable(target)? {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                format!("{} holds a file that is not a result", target.display()),
            ));
        }
        if let Some(parent) = partial.parent() {
            fs::create_dir_all(parent)?;
        }
        remove_attempts(&partial)?;
        fs::create_dir(&partial)?;
        Ok(ResultFolder { target: target.to_owned(), partial, is_finished: false })
    }

    /// Writes a file.
    ///
    /// # Errors
    /// Fails if the file system refuses or [`FILES`] lacks the name.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        fs::write(self.path(name)?, bytes)
    }

    /// Opens a file for piecewise writing.
    ///
    /// # Errors
    /// Fails if the file system refuses or [`FILES`] lacks the name.
    pub fn create(&self, name: &str) -> io::Result<BufWriter<fs::File>> {
        fs::File::create(self.path(name)?).map(BufWriter::new)
    }

    /// Rejects unlisted names: such files would survive the result's removal.
    fn path(&self, name: &str) -> io::Result<PathBuf> {
        if !FILES.contains(&name) {
            let words = format!("`{name}` is no file of a result");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        Ok(self.partial.join(name))
    }

    /// Moves the directory to its target. Replaces an older result; other files stay.
    ///
    /// # Errors
    /// Fails if the file system refuses.
    pub fn finish(mut self) -> io::Result<()> {
        if !self.target.exists() {
            fs::rename(&self.partial, &self.target)?;
        } else if self.is_inside() || !self.replace()? {
            self.fill()?;
        }
        self.is_finished = true;
        Ok(())
    }

    fn is_inside(&self) -> bool {
        self.partial.parent() == Some(&self.target)
    }

    /// Replaces the existing directory. Returns false if it cannot be renamed: a mount point, or a lower layer of an
    /// overlay.
    fn replace(&self) -> io::Result<bool> {
        let replaced = beside(&self.target, "replaced")?;
        match fs::rename(&self.target, &replaced) {
            Err(error) if is_held(&error) => return Ok(false),
            renamed => renamed?,
        }
        if let Err(error) = fs::rename(&self.partial, &self.target) {
            // Restore the old directory.
            fs::rename(&replaced, &self.target)?;
            return Err(error);
        }
        for entry in fs::read_dir(&replaced)? {
            let entry = entry?;
            if !is_of_a_result(&entry)? {
                fs::rename(entry.path(), self.target.join(entry.file_name()))?;
            }
        }
        fs::remove_dir_all(&replaced)?;
        Ok(true)
    }

    /// Moves the files into the existing directory. Meanwhile it has no manifest and is not a result.
    fn fill(&mut self) -> io::Result<()> {
        if !self.is_inside() {
            self.bring_inside()?;
        }
        empty(&self.target)?;
        let moved = move_files(&self.partial, &self.target);
        if moved.is_err() {
            // The first error is reported.
            let _ = empty(&self.target);
        }
        moved
    }

    /// Copies the files to the target's file system, for renaming.
    fn bring_inside(&mut self) -> io::Result<()> {
        let outside = std::mem::replace(&mut self.partial, inside(&self.target));
        let copied = copy_files(&outside, &self.partial);
        fs::remove_dir_all(&outside)?;
        copied
    }
}

/// True if a directory's location prevents its renaming.
fn is_held(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices)
}

fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Moves all files, the manifest last, and removes the source.
fn move_files(from: &Path, to: &Path) -> io::Result<()> {
    let entries = fs::read_dir(from)?;
    let mut names: Vec<OsString> =
        entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
    names.sort_by_key(|name| name == MANIFEST);
    for name in names {
        fs::rename(from.join(&name), to.join(&name))?;
    }
    fs::remove_dir(from)
}

/// Removes a result's files, the manifest first.
fn empty(directory: &Path) -> io::Result<()> {
    let manifest = directory.join(MANIFEST);
    if manifest.exists() {
        fs::remove_file(manifest)?;
    }
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if is_of_a_result(&entry)? {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Returns the directory that is written to before a result is in its place at `target`, which must exist.
///
/// # Errors
/// Fails if the file system refuses.
pub fn maker(target: &Path) -> io::Result<PathBuf> {
    let target = followed(target)?;
    let parent = target.parent().map(Path::to_owned);
    Ok(if is_mounted(&target)? { target } else { parent.unwrap_or(target) })
}

/// True for names that commands use temporarily in result directories.
pub fn is_passing(name: &OsStr) -> bool {
    name == LOCK || name.to_string_lossy().starts_with(INSIDE)
}

/// Resolves symbolic links of an existing path.
fn followed(path: &Path) -> io::Result<PathBuf> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path.to_owned()),
        _ => path.canonicalize(),
    }
}

/// True for mount points.
fn is_mounted(directory: &Path) -> io::Result<bool> {
    let whole = directory.canonicalize()?;
    match whole.parent() {
        Some(parent) => Ok(fs::metadata(&whole)?.dev() != fs::metadata(parent)?.dev()),
        None => Ok(true),
    }
}

impl Drop for ResultFolder {
    fn drop(&mut self) {
        if !self.is_finished {
            // A failure has no remedy here, and the target is untouched.
            let _ = fs::remove_dir_all(&self.partial);
        }
    }
}

/// True if a directory has anything but files of a result.
///
/// # Errors
/// Fails if the file system refuses.
pub fn has_others(directory: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(directory)? {
        if !is_of_a_result(&entry?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes a result's files, and the directory if then empty and neither link nor mount point. What remains is no
/// result.
///
/// # Errors
/// Fails if the file system refuses.
pub fn remove(directory: &Path) -> io::Result<()> {
    let mut is_empty = true;
    let mut manifest = None;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if !is_of_a_result(&entry)? {
            is_empty = false;
        } else if entry.file_name() == MANIFEST {
            manifest = Some(entry.path());
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    // Last: an interrupted removal leaves a recognisable result for the next attempt.
    if let Some(manifest) = manifest {
        fs::remove_file(manifest)?;
    }
    let is_link = fs::symlink_metadata(directory)?.is_symlink();
    if !is_empty || is_link || is_mounted(directory)? {
        return Ok(());
    }
    match fs::remove_dir(directory) {
        Err(error) if is_held(&error) => Ok(()),
        removed => removed,
    }
}

fn is_of_a_result(entry: &fs::DirEntry) -> io::Result<bool> {
    let is_known = entry.file_name().to_str().is_some_and(|name| FILES.contains(&name));
    Ok(is_known && !entry.file_type()?.is_dir())
}

/// Writes one file completely or not at all.
///
/// # Errors
/// Fails if the file system refuses.
pub fn write_file(target: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let partial = beside(target, "partial")?;
    if let Some(parent) = partial.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(&partial, bytes)?;
    fs::rename(&partial, target)
}

fn is_replaceable(target: &Path) -> io::Result<bool> {
    if !target.exists() || Origin::of(target).is_some() {
        return Ok(true);
    }
    if !target.is_dir() {
        return Ok(false);
    }
    for entry in fs::read_dir(target)? {
        if !is_passing(&entry?.file_name()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes directories of earlier attempts: siblings with another process number.
fn remove_attempts(partial: &Path) -> io::Result<()> {
    let name = partial.file_name().unwrap_or_default().to_string_lossy();
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let parent = partial.parent().filter(|parent| !parent.as_os_str().is_empty());
    for entry in fs::read_dir(parent.unwrap_or(Path::new(".")))? {
        let path = entry?.path();
        let is_attempt =
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix));
        if is_attempt && path.is_dir() {
            fs::remove_dir_all(path)?;
        }
    }
    Ok(())
}

/// Hidden name in `target`, unique per process.
fn inside(target: &Path) -> PathBuf {
    target.join(format!("{INSIDE}{}", std::process::id()))
}

/// Hidden name beside `target`, unique per process.
fn beside(target: &Path, what: &str) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("{} has no name", target.display()))
    })?;
    let hidden = format!(".{}.{what}-{}", name.to_string_lossy(), std::process::id());
    Ok(target.with_file_name(hidden))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(test: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("trimline-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// Returns a manifest with only the origin.
    fn manifest(run: &str) -> String {
        serde_json::json!({ "scenario": "x", "run": run }).to_string()
    }

    fn names(path: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_directory_appears_when_finished() {
        let scratch = scratch("appears");
        let target = scratch.join("deep/result");
        let directory = ResultFolder::begin(&target).unwrap();
        directory.write(MANIFEST, manifest("1")).unwrap();
        assert!(!target.exists());
        directory.finish().unwrap();
        fs::create_dir(scratch.join("deep/.result.partial-0")).unwrap();
        assert_eq!(names(&target), [MANIFEST]);
        assert_eq!(names(&scratch.join("deep")), [".result.partial-0", "result"]);
        let directory = ResultFolder::begin(&target).unwrap();
        directory.write(MANIFEST, manifest("1")).unwrap();
        directory.finish().unwrap();
        assert_eq!(names(&scratch.join("deep")), ["result"]);

        let again = ResultFolder::begin(&target).unwrap();
        again.write(MANIFEST, manifest("2")).unwrap();
        again.finish().unwrap();
        assert_eq!(Origin::of(&target).unwrap().run, "2");
        assert_eq!(names(&scratch.join("deep")), ["result"]);
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn an_unfinished_directory_leaves_nothing() {
        let scratch = scratch("unfinished");
        let directory = ResultFolder::begin(&scratch.join("result")).unwrap();
        directory.write("flows.csv", "half").unwrap();
        drop(directory);
        assert!(names(&scratch).is_empty());
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn files_of_others_in_a_result_folder_stay() {
        let scratch = scratch("others");
        let target = scratch.join("result");
        let write = |text: &str| {
            let directory = ResultFolder::begin(&target).unwrap();
            directory.write(MANIFEST, manifest(text)).unwrap();
            directory.write("flows.csv", text).unwrap();
            directory.finish().unwrap();
        };
        write("1");
        fs::write(target.join("notes.txt"), "mine").unwrap();
        fs::create_dir(target.join("flows.csv.d")).unwrap();
        fs::write(target.join("flows.csv.d/part"), "mine").unwrap();
        fs::write(target.join("report.html"), "of the old result").unwrap();
        write("2");
        assert_eq!(names(&target), ["flows.csv", "flows.csv.d", MANIFEST, "notes.txt"]);
        assert_eq!(Origin::of(&target).unwrap().run, "2");
        assert_eq!(fs::read_to_string(target.join("flows.csv.d/part")).unwrap(), "mine");
        assert_eq!(names(&scratch), ["result"]);

        remove(&target).unwrap();
        assert_eq!(names(&target), ["flows.csv.d", "notes.txt"]);
        let refused = ResultFolder::begin(&target).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        fs::remove_dir_all(&target).unwrap();
        write("3");
        remove(&target).unwrap();
        assert!(names(&scratch).is_empty());
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn a_directory_that_is_a_symbolic_link_stays_a_link() {
        let scratch = scratch("link");
        let (real, link) = (scratch.join("real"), scratch.join("link"));
        fs::create_dir_all(real.join("deep")).unwrap();
        std::os::unix::fs::symlink(real.join("deep"), &link).unwrap();
        for run in ["1", "2"] {
            let directory = ResultFolder::begin(&link).unwrap();
            directory.write(MANIFEST, manifest(run)).unwrap();
            directory.finish().unwrap();
            assert_eq!(Origin::of(&real.join("deep")).unwrap().run, run);
            assert_eq!(
                (names(&real), names(&scratch)),
                (vec!["deep".into()], vec!["link".into(), "real".into()])
            );
            fs::write(link.join("notes.txt"), "mine").unwrap();
        }
        assert_eq!(names(&link), [MANIFEST, "notes.txt"]);
        fs::remove_file(link.join("notes.txt")).unwrap();
        remove(&link).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink() && names(&link).is_empty());
        assert_eq!(maker(&link).unwrap(), real.canonicalize().unwrap());
        fs::remove_dir(real.join("deep")).unwrap();
        ResultFolder::begin(&link).unwrap_err();
        fs::remove_dir_all(scratch).unwrap();
    }

    /// Simulates a mount point, which a test may not create.
    #[test]
    fn a_directory_that_cannot_be_renamed_is_filled() {
        let scratch = scratch("mounted");
        let target = scratch.join("result");
        let attempt = |run: &str, is_inside: bool| {
            let mut directory = ResultFolder::begin(&target).unwrap();
            if is_inside {
                fs::remove_dir(&directory.partial).unwrap();
                directory.partial = inside(&target);
                remove_attempts(&directory.partial).unwrap();
                fs::create_dir(&directory.partial).unwrap();
            }
            directory.write(MANIFEST, manifest(run)).unwrap();
            directory.write("flows.csv", run).unwrap();
            directory
        };
        fs::create_dir_all(target.join(".partial-0")).unwrap();
        attempt("1", true).finish().unwrap();
        assert_eq!(names(&target), ["flows.csv", MANIFEST]);
        fs::write(target.join("notes.txt"), "mine").unwrap();
        fs::write(target.join("report.html"), "of the old result").unwrap();
        // An attempt beside the target is copied.
        let mut beside = attempt("2", false);
        beside.fill().unwrap();
        beside.is_finished = true;
        assert_eq!(names(&target), ["flows.csv", MANIFEST, "notes.txt"]);
        assert_eq!(Origin::of(&target).unwrap().run, "2");
        assert_eq!(names(&scratch), ["result"]);
        // A failed attempt leaves no result, but other files stay.
        let failing = attempt("3", true);
        fs::remove_file(target.join("flows.csv")).unwrap();
        fs::create_dir(target.join("flows.csv")).unwrap();
        failing.finish().unwrap_err();
        assert_eq!(names(&target), ["flows.csv", "notes.txt"]);
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn a_file_that_would_outlive_a_result_is_refused() {
        let scratch = scratch("unknown");
        let directory = ResultFolder::begin(&scratch.join("result")).unwrap();
        let error = directory.write("flow.csv", "").unwrap_err();
        assert_eq!(error.to_string(), "`flow.csv` is no file of a result");
        drop(directory);
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn a_folder_without_a_result_is_left_alone() {
        let scratch = scratch("foreign");
        fs::write(scratch.join("thesis.tex"), "precious").unwrap();
        let error = ResultFolder::begin(&scratch).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(names(&scratch), ["thesis.tex"]);
        // The manifest of a web application.
        fs::write(scratch.join(MANIFEST), "{\"name\": \"shop\"}").unwrap();
        ResultFolder::begin(&scratch).unwrap_err();
        fs::remove_file(scratch.join(MANIFEST)).unwrap();
        write_file(&scratch.join("summary.json"), "{}").unwrap();
        assert_eq!(names(&scratch), ["summary.json", "thesis.tex"]);
        fs::remove_dir_all(scratch).unwrap();
    }
}
