//! Results appear whole or not at all: files are written beside their place and then renamed into it.

use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// The file whose presence says that a directory is a result.
const MANIFEST: &str = "manifest.json";

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
        check(target)?;
        let partial = beside(target, "partial")?;
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
    /// The file system refuses.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        fs::write(self.partial.join(name), bytes)
    }

    /// Begins a file of the directory that is written piece by piece.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn create(&self, name: &str) -> io::Result<BufWriter<fs::File>> {
        fs::File::create(self.partial.join(name)).map(BufWriter::new)
    }

    /// Puts the directory in its place; an older result there is replaced.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn finish(mut self) -> io::Result<()> {
        if self.target.exists() {
            let replaced = beside(&self.target, "replaced")?;
            fs::rename(&self.target, &replaced)?;
            fs::rename(&self.partial, &self.target)?;
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

/// Whether a result can stand at `target`: [`ResultFolder::begin`] without beginning.
///
/// # Errors
/// Something that is no result stands there, or the path has no name.
pub fn check(target: &Path) -> io::Result<()> {
    beside(target, "partial")?;
    if is_replaceable(target)? {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::AlreadyExists,
        format!("{} holds something else than a result", target.display()),
    ))
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
    if !target.exists() || target.join(MANIFEST).exists() {
        return Ok(true);
    }
    Ok(target.is_dir() && fs::read_dir(target)?.next().is_none())
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
        directory.write(MANIFEST, "1").unwrap();
        assert!(!target.exists());
        directory.finish().unwrap();
        fs::create_dir(scratch.join("deep/.result.partial-0")).unwrap();
        assert_eq!(names(&target), [MANIFEST]);
        assert_eq!(names(&scratch.join("deep")), [".result.partial-0", "result"]);
        let directory = ResultFolder::begin(&target).unwrap();
        directory.write(MANIFEST, "1").unwrap();
        directory.finish().unwrap();
        assert_eq!(names(&scratch.join("deep")), ["result"]);

        let again = ResultFolder::begin(&target).unwrap();
        again.write(MANIFEST, "2").unwrap();
        again.finish().unwrap();
        assert_eq!(fs::read_to_string(target.join(MANIFEST)).unwrap(), "2");
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
    fn what_is_no_result_is_left_alone() {
        let scratch = scratch("foreign");
        fs::write(scratch.join("thesis.tex"), "precious").unwrap();
        let error = ResultFolder::begin(&scratch).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(names(&scratch), ["thesis.tex"]);
        write_file(&scratch.join("summary.json"), "{}").unwrap();
        assert_eq!(names(&scratch), ["summary.json", "thesis.tex"]);
        fs::remove_dir_all(scratch).unwrap();
    }
}
