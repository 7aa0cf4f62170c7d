//! Results appear whole or not at all: files are written beside their place and then renamed into it. What others have
//! laid beside the files of a result stays where it is.

use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

pub use crate::manifest::MANIFEST;

use crate::manifest::Origin;

/// Every file that commands write into the directory of a result. Others are their owner's.
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
    "parts.csv",
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

/// The lock of whoever writes here. It lies inside only where the directory above cannot be written.
pub const LOCK: &str = ".lock";

/// A directory of results in the making.
#[derive(Debug)]
pub struct ResultFolder {
    target: PathBuf,
    partial: PathBuf,
    is_finished: bool,
}

impl ResultFolder {
    /// Begins the directory that will stand at `target`. What a killed process left of an earlier attempt
    /// goes.
    ///
    /// # Errors
    /// Something that is no result stands there, and is left alone; or the file system refuses.
    pub fn begin(target: &Path) -> io::Result<ResultFolder> {
        let partial = beside(target, "partial")?;
        if !is_replaceable(target)? {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                format!("{} holds something else than a result", target.display()),
            ));
        }
        if let Some(parent) = partial.parent() {
            fs::create_dir_all(parent)?;
        }
        remove_attempts(target)?;
        fs::create_dir(&partial)?;
        Ok(ResultFolder { target: target.to_owned(), partial, is_finished: false })
    }

    /// Writes a file of the directory.
    ///
    /// # Errors
    /// The file system refuses, or the name is not one of [`FILES`].
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        fs::write(self.path(name)?, bytes)
    }

    /// Begins a file of the directory that is written piece by piece.
    ///
    /// # Errors
    /// The file system refuses, or the name is not one of [`FILES`].
    pub fn create(&self, name: &str) -> io::Result<BufWriter<fs::File>> {
        fs::File::create(self.path(name)?).map(BufWriter::new)
    }

    /// A file that no list has would stay behind when the result goes.
    fn path(&self, name: &str) -> io::Result<PathBuf> {
        if !FILES.contains(&name) {
            let words = format!("`{name}` is no file of a result");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        Ok(self.partial.join(name))
    }

    /// Puts the directory in its place. An older result there is replaced; other files there stay.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn finish(mut self) -> io::Result<()> {
        if self.target.exists() {
            let replaced = beside(&self.target, "replaced")?;
            fs::rename(&self.target, &replaced)?;
            fs::rename(&self.partial, &self.target)?;
            for entry in fs::read_dir(&replaced)? {
                let entry = entry?;
                if !is_of_a_result(&entry)? {
                    fs::rename(entry.path(), self.target.join(entry.file_name()))?;
                }
            }
            fs::remove_dir_all(&replaced)?;
        } else {
            fs::rename(&self.partial, &self.target)?;
        }
        self.is_finished = true;
        Ok(())
    }
}

impl Drop for ResultFolder {
    fn drop(&mut self) {
        if !self.is_finished {
            // Nothing can be done about a failure here, and nothing half-written is in place.
            let _ = fs::remove_dir_all(&self.partial);
        }
    }
}

/// Whether something else than files of a result lies in a directory.
///
/// # Errors
/// The file system refuses.
pub fn has_others(directory: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(directory)? {
        if !is_of_a_result(&entry?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes a result: its files, and its directory if nothing else is in it. What stays is no result any more.
///
/// # Errors
/// The file system refuses.
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
    // Last: a directory that is left half-way is still known as a result, and goes the next time.
    if let Some(manifest) = manifest {
        fs::remove_file(manifest)?;
    }
    if is_empty { fs::remove_dir(directory) } else { Ok(()) }
}

fn is_of_a_result(entry: &fs::DirEntry) -> io::Result<bool> {
    let is_known = entry.file_name().to_str().is_some_and(|name| FILES.contains(&name));
    Ok(is_known && !entry.file_type()?.is_dir())
}

/// Writes one file whole or not at all.
///
/// # Errors
/// The file system refuses.
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
        if entry?.file_name() != LOCK {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes the directories that attempts at `target` were made in.
fn remove_attempts(target: &Path) -> io::Result<()> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{name}.partial-");
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    for entry in fs::read_dir(parent.unwrap_or(Path::new(".")))? {
        let path = entry?.path();
        let is_attempt =
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix));
        if is_attempt && path.is_dir() {
            fs::remove_dir_all(path)?;
        }
    }
    Ok(())
}

/// A hidden name beside `target`, different for every process.
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

    /// A scratch directory of one test.
    fn scratch(test: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("trimline-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// A manifest as far as it says where its result comes from.
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
    fn what_others_laid_into_a_result_stays() {
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
    fn a_file_that_would_stay_behind_is_refused() {
        let scratch = scratch("unknown");
        let directory = ResultFolder::begin(&scratch.join("result")).unwrap();
        let error = directory.write("flow.csv", "").unwrap_err();
        assert_eq!(error.to_string(), "`flow.csv` is no file of a result");
        drop(directory);
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn what_is_no_result_is_left_alone() {
        let scratch = scratch("foreign");
        fs::write(scratch.join("thesis.tex"), "precious").unwrap();
        let error = ResultFolder::begin(&scratch).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(names(&scratch), ["thesis.tex"]);
        // That of a web application.
        fs::write(scratch.join(MANIFEST), "{\"name\": \"shop\"}").unwrap();
        ResultFolder::begin(&scratch).unwrap_err();
        fs::remove_file(scratch.join(MANIFEST)).unwrap();
        write_file(&scratch.join("summary.json"), "{}").unwrap();
        assert_eq!(names(&scratch), ["summary.json", "thesis.tex"]);
        fs::remove_dir_all(scratch).unwrap();
    }
}
