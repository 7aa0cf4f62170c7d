//! Locks a command's output directory: no other command writes there, and no earlier run remains to be averaged in.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, FlockOperation, access, flock};
use trimline_metrics::manifest::Origin;
use trimline_metrics::result_folder::{self, LOCK, MANIFEST, is_passing};
use trimline_sim::scenario::{Run, Scenario};

use crate::failure::Failure;
use crate::results::{Earlier, earlier};

/// Summary over all runs of a folder; rewritten with them.
const SUMMARY: &str = "summary.json";
/// Max search depth: runs are at series/point/seed.
const DEPTH: usize = 5;

/// A folder of results that belongs to this command until the value is dropped.
#[derive(Debug)]
pub struct OutputLock {
    folder: PathBuf,
    _lock: Lock,
}

pub(crate) type Place<'a> = (PathBuf, &'a Run);

/// The result folder of a run below a command's folder: series, sweep point, seed, for any number of runs.
pub(crate) fn directory(folder: &Path, run: &Run) -> PathBuf {
    folder.join(&run.name)
}

/// Describes the results removed from a folder; an empty name is the folder's own result. `None` if empty.
pub(crate) fn describe_removed(folder: &Path, removed: &[String]) -> Option<String> {
    const MAX: usize = 4;
    let named = |name: &String| if name.is_empty() { "its own result" } else { name }.to_owned();
    let names: Vec<String> = removed.iter().take(MAX).map(named).collect();
    let runs = match removed.len() {
        0 => return None,
        1 => "a run",
        _ => "runs",
    };
    let more = match removed.len().saturating_sub(MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let folder = folder.display();
    Some(format!("removed {runs} of an earlier command from {folder}: {}{more}", names.join(", ")))
}

impl OutputLock {
    /// Locks the folder.
    ///
    /// # Errors
    /// Returns an error if another command has it, or it cannot be written.
    pub(crate) fn acquire(folder: &Path) -> Result<OutputLock, Failure> {
        let lock = Lock::acquire(folder).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => Failure::message(format!(
                "{}: another command is writing results into this folder; expected another folder",
                folder.display()
            )),
            _ => Failure::io(folder, &error),
        })?;
        Ok(OutputLock { folder: folder.to_owned(), _lock: lock })
    }

    /// Removes results of earlier commands for this scenario that do not match `runs`; returns their names. Results of
    /// the same scenario, settings and program stay until repeated.
    ///
    /// # Errors
    /// Returns an error if the folder has results of another scenario, or other files where a result will be.
    pub(crate) fn clear(
        &self,
        scenario: &Scenario,
        settings: &[String],
        runs: &[Place<'_>],
    ) -> Result<Vec<String>, Failure> {
        let stale = self.survey(scenario, settings, runs)?;
        let summary = self.folder.join(SUMMARY);
        if self.has_summary_of_runs()? {
            fs::remove_file(&summary).map_err(|error| Failure::io(&summary, &error))?;
        }
        for place in &stale {
            self.remove(place).map_err(|error| Failure::io(&self.folder, &error))?;
        }
        Ok(stale.iter().map(|place| self.name_of(place).display().to_string()).collect())
    }

    /// Finds the results that [`OutputLock::clear`] would remove. It removes nothing, so all checks come first.
    ///
    /// # Errors
    /// See [`OutputLock::clear`].
    pub(crate) fn survey(
        &self,
        scenario: &Scenario,
        settings: &[String],
        runs: &[Place<'_>],
    ) -> Result<Vec<PathBuf>, Failure> {
        let failed = |error: io::Error| Failure::io(&self.folder, &error);
        let own: BTreeMap<&Path, &Run> = runs.iter().map(|(place, run)| (&**place, *run)).collect();
        let (mut stale, mut foreign) = (Vec::new(), Vec::new());
        for place in results_below(&self.folder).map_err(failed)? {
            match Origin::of(&place) {
                Some(origin) if self.is_ours(&origin, &scenario.name, &place) => {}
                Some(origin) => {
                    foreign.push(format!("{} ({})", place.display(), origin.scenario));
                    continue;
                }
                None => {
                    foreign.push(place.display().to_string());
                    continue;
                }
            }
            // A new result replaces an old one, and other files beside it stay.
            let stays = own.get(&*place).is_some_and(|run| {
                place == self.folder
                    || earlier(&place, scenario, settings, run) != Earlier::Different
                    || result_folder::has_others(&place).unwrap_or(true)
            });
            if !stays {
                stale.push(place);
            }
        }
        if !foreign.is_empty() {
            return Err(self.refuse(&foreign, &scenario.name));
        }
        self.check(runs, &stale)?;
        Ok(stale)
    }

    /// True if a command wrote a result for this scenario here.
    fn is_ours(&self, origin: &Origin, scenario: &str, place: &Path) -> bool {
        let name = self.name_of(place);
        origin.scenario == scenario
            && (name.as_os_str().is_empty() || Path::new(&origin.run) == name)
    }

    fn name_of<'a>(&self, place: &'a Path) -> &'a Path {
        place.strip_prefix(&self.folder).unwrap_or(place)
    }

    fn refuse(&self, foreign: &[String], scenario: &str) -> Failure {
        let more = match foreign.len() {
            0..=3 => String::new(),
            count => format!(" and {} more", count - 3),
        };
        let names = foreign.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ");
        Failure::message(format!(
            "{} holds other results: {names}{more}; expected an empty folder or results of the scenario `{scenario}`: \
             give another folder with --out, or remove this one",
            self.folder.display()
        ))
    }

    /// Removes a result, and folders that are then empty. Other files stay.
    fn remove(&self, place: &Path) -> io::Result<()> {
        result_folder::remove(place)?;
        let above = place.ancestors().skip(usize::from(!place.exists()));
        for folder in above.take_while(|folder| *folder != self.folder) {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Checks that every run can be written, after the removal of `stale`.
    fn check(&self, runs: &[Place<'_>], stale: &[PathBuf]) -> Result<(), Failure> {
        if self.folder.exists() && !self.folder.is_dir() {
            return Err(Failure::message(format!("{}: not a folder", self.folder.display())));
        }
        leads_somewhere(&self.folder)?;
        self.has_summary_of_runs()?;
        for (place, _) in runs {
            let above = place.ancestors().skip(1);
            let mut inside = above.clone().take_while(|folder| folder.starts_with(&self.folder));
            if let Some(file) = inside.find(|path| path.exists() && !path.is_dir()) {
                return Err(Failure::message(format!("{}: not a folder", file.display())));
            }
            if place.file_name().is_none() {
                return Err(Failure::message(format!(
                    "{}: expected a folder with a name",
                    place.display()
                )));
            }
            leads_somewhere(place)?;
            let first = above.clone().find(|path| path.exists()).unwrap_or(Path::new("."));
            let there = match place.exists() {
                true => result_folder::maker(place).map_err(|error| Failure::io(place, &error))?,
                false => first.to_owned(),
            };
            access(&there, Access::WRITE_OK | Access::EXEC_OK)
                .map_err(|error| Failure::io(&there, &error.into()))?;
            let other = self.other(place, stale).map_err(|error| Failure::io(place, &error))?;
            if let Some(other) = other {
                return Err(Failure::message(format!(
                    "{} holds a file that is not a result: {}; expected an empty folder: give another with --out",
                    place.display(),
                    other.display()
                )));
            }
        }
        Ok(())
    }

    /// A file not written by a command, where a result will be and is not yet.
    fn other(&self, place: &Path, stale: &[PathBuf]) -> io::Result<Option<PathBuf>> {
        if !place.exists() || Origin::of(place).is_some() {
            return Ok(None);
        }
        if !place.is_dir() {
            return Ok(Some(place.to_owned()));
        }
        for entry in fs::read_dir(place)? {
            let entry = entry?;
            let (name, path) = (entry.file_name(), entry.path());
            let is_own = is_passing(&name) || (place == self.folder && name == SUMMARY);
            if !is_own && !will_go(&path, stale)? {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// Returns whether there is a summary over runs.
    ///
    /// # Errors
    /// Returns an error if `summary.json` exists but is not a summary written by Trimline.
    fn has_summary_of_runs(&self) -> Result<bool, Failure> {
        let file = self.folder.join(SUMMARY);
        if !file.exists() || self.folder.join(MANIFEST).exists() {
            return Ok(false);
        }
        let text = fs::read_to_string(&file).map_err(|error| Failure::io(&file, &error))?;
        if serde_json::from_str::<Vec<serde_json::Value>>(&text).is_err() {
            return Err(Failure::message(format!("{}: not a summary of runs", file.display())));
        }
        Ok(true)
    }
}

/// Refuses a dangling link: no folder can be renamed to its place.
fn leads_somewhere(path: &Path) -> Result<(), Failure> {
    // Without a trailing `/`, which would follow the link.
    let path: PathBuf = path.components().collect();
    if path.is_symlink() && !path.exists() {
        return Err(Failure::message(format!(
            "{}: a link to a folder that does not exist; expected an existing folder, or another one with --out",
            path.display()
        )));
    }
    Ok(())
}

/// True if a path is empty once the `stale` results are removed.
fn will_go(path: &Path, stale: &[PathBuf]) -> io::Result<bool> {
    if !path.is_dir() {
        return Ok(false);
    }
    if stale.iter().any(|stale| stale == path) {
        return Ok(!result_folder::has_others(path)?);
    }
    let mut is_empty = true;
    for entry in fs::read_dir(path)? {
        is_empty = false;
        if !will_go(&entry?.path(), stale)? {
            return Ok(false);
        }
    }
    Ok(!is_empty)
}

/// All results at or below a folder, sorted. Hidden folders are unfinished results.
///
/// # Errors
/// Returns an error if a folder cannot be read.
pub fn results_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((here, depth)) = folders.pop() {
        let is_result = here.join(MANIFEST).is_file();
        if is_result {
            found.push(here.clone());
        }
        if !here.is_dir() || depth == DEPTH || (is_result && depth > 0) {
            continue;
        }
        for entry in fs::read_dir(&here)? {
            let entry = entry?;
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            if entry.file_type()?.is_dir() && !is_hidden {
                folders.push((entry.path(), depth + 1));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_refused(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// A lock beside a folder. The kernel releases it when the command dies.
#[derive(Debug)]
struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Takes the lock of a folder, which need not exist yet.
    ///
    /// # Errors
    /// Returns `WouldBlock` if another process has it, or the file system's error.
    fn acquire(folder: &Path) -> io::Result<Lock> {
        let (beside, inside) = Lock::paths(folder)?;
        match Lock::acquire_at(&beside) {
            // The parent belongs to another user, for example of a mounted volume.
            Err(error) if is_refused(&error) && folder.is_dir() => Lock::acquire_at(&inside),
            taken => taken,
        }
    }

    /// Paths of the lock, the same for every name of a folder.
    fn paths(folder: &Path) -> io::Result<(PathBuf, PathBuf)> {
        let absolute = std::path::absolute(folder)?;
        let whole = match (absolute.parent(), absolute.file_name()) {
            (Some(parent), Some(name)) if !absolute.exists() => {
                fs::create_dir_all(parent)?;
                parent.canonicalize()?.join(name)
            }
            _ => absolute.canonicalize()?,
        };
        let inside = whole.join(LOCK);
        let beside = whole
            .file_name()
            .map(|name| whole.with_file_name(format!(".{}.lock", name.to_string_lossy())));
        Ok((beside.unwrap_or_else(|| inside.clone()), inside))
    }

    fn acquire_at(path: &Path) -> io::Result<Lock> {
        loop {
            let file = File::options().create(true).truncate(false).write(true).open(path)?;
            flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            // Another holder may have removed the file since it was opened.
            let is_there = fs::metadata(path)
                .is_ok_and(|there| file.metadata().is_ok_and(|ours| there.ino() == ours.ino()));
            if is_there {
                return Ok(Lock { path: path.to_owned(), _file: file });
            }
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Remove before release: the next holder makes its own file.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(test: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("trimline-lock-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn scenario(name: &str, more: &str) -> Scenario {
        let text = format!(
            "name = \"{name}\"\n{more}topology.star.hosts = 3\n[[workload]]\nname = \"w\"\npermutation = {{}}\n\
             size = \"9KB\"\n"
        );
        Scenario::parse("s", &text, &[]).unwrap_or_else(|error| panic!("{error}"))
    }

    fn places<'a>(folder: &Path, scenario: &'a Scenario) -> Vec<Place<'a>> {
        scenario.runs.iter().map(|run| (folder.join(&run.name), run)).collect()
    }

    fn result(folder: &Path, scenario: &str, run: &str) {
        fs::create_dir_all(folder).unwrap();
        let manifest = serde_json::json!({ "scenario": scenario, "run": run });
        fs::write(folder.join(MANIFEST), manifest.to_string()).unwrap();
    }

    #[track_caller]
    fn assert_refused<T: std::fmt::Debug>(outcome: Result<T, Failure>, part: &str) {
        let text = outcome.unwrap_err().to_string();
        assert!(text.contains(part), "{text}");
    }

    #[test]
    fn an_output_folder_belongs_to_one_command_at_a_time() {
        let scratch = scratch("lock");
        let folder = scratch.join("deep/x");
        let lock = OutputLock::acquire(&folder).unwrap();
        fs::create_dir_all(&folder).unwrap();
        let same = folder.join("../x");
        assert_refused(OutputLock::acquire(&same), "another command");
        drop(lock);
        drop(OutputLock::acquire(&same).unwrap());
        assert_eq!(fs::read_dir(scratch.join("deep")).unwrap().count(), 1);
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn earlier_runs_are_removed_and_other_files_are_named() {
        let scratch = scratch("clear");
        let folder = scratch.join("x");
        let scenario = scenario("x", "seeds = \"1..2\"\n");
        let clear = || {
            let lock = OutputLock::acquire(&folder)?;
            lock.clear(&scenario, &[], &places(&folder, &scenario))
        };
        result(&folder.join("old/seed-1"), "x", "old/seed-1");
        result(&folder.join("seed-3"), "x", "seed-3");
        fs::write(folder.join("notes.txt"), "mine").unwrap();
        assert_eq!(clear().unwrap(), ["old/seed-1", "seed-3"]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        // A folder of folders, and the runs of another scenario.
        for (place, name, run) in
            [("mine", "x", "seed-1"), ("seed-1", "y", "seed-1"), ("a/b", "y", "a/b")]
        {
            result(&folder.join(place), name, run);
            assert_refused(clear(), place);
            assert!(folder.join(place).join(MANIFEST).is_file());
            let first = place.split('/').next().unwrap();
            fs::remove_dir_all(folder.join(first)).unwrap();
        }
        // A file of that name that this program did not write.
        fs::write(folder.join("notes.txt"), "mine").unwrap();
        fs::create_dir_all(folder.join("seed-1")).unwrap();
        fs::write(folder.join("seed-1").join(MANIFEST), "{\"name\": \"shop\"}").unwrap();
        clear().unwrap_err();
        fs::remove_dir_all(folder.join("seed-1")).unwrap();
        // One result becomes a folder of several.
        result(&folder, "x", "seed-7");
        fs::write(folder.join("notes.txt"), "mine").unwrap();
        assert_eq!(clear().unwrap(), [""]);
        let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap()).collect();
        assert_eq!(left.iter().map(fs::DirEntry::file_name).collect::<Vec<_>>(), ["notes.txt"]);
        // The result of an obsolete run goes; other files beside it stay.
        result(&folder.join("seed-9"), "x", "seed-9");
        fs::write(folder.join("seed-9/notes.txt"), "mine").unwrap();
        assert_eq!(clear().unwrap(), ["seed-9"]);
        assert!(!folder.join("seed-9").join(MANIFEST).exists());
        assert_eq!(fs::read_to_string(folder.join("seed-9/notes.txt")).unwrap(), "mine");
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn removed_results_are_named() {
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            describe_removed(Path::new("out/x"), &names)
        };
        let end = |runs: &str, described: &str| {
            Some(format!("removed {runs} of an earlier command from out/x: {described}"))
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[""]), end("a run", "its own result"));
        let six = of(&["", "b", "c", "d", "e", "f"]);
        assert_eq!(six, end("runs", "its own result, b, c, d and 2 more"));
    }

    #[test]
    fn a_result_replaces_only_results_of_its_kind() {
        let scratch = scratch("one");
        let folder = scratch.join("x");
        let scenario = scenario("x", "");
        let clear = || {
            let lock = OutputLock::acquire(&folder)?;
            lock.clear(&scenario, &[], &[(folder.clone(), &scenario.runs[0])])
        };
        // A result of another scenario is refused.
        result(&folder, "y", "");
        assert_refused(clear(), "(y)");
        assert!(folder.join(MANIFEST).is_file());
        // Its own is replaced when the run has ended.
        result(&folder, "x", "seed-3");
        assert!(clear().unwrap().is_empty());
        assert!(folder.join(MANIFEST).is_file());
        // Several become one, unless other files are among them: then all stay.
        fs::remove_file(folder.join(MANIFEST)).unwrap();
        result(&folder.join("seed-1"), "x", "seed-1");
        result(&folder.join("a/seed-2"), "x", "a/seed-2");
        fs::write(folder.join(SUMMARY), "[]").unwrap();
        for other in ["report.html", "a/notes.txt", "a/seed-2/notes.txt"] {
            fs::write(folder.join(other), "mine").unwrap();
            assert_refused(clear(), "not a result");
            fs::remove_file(folder.join(other)).unwrap();
            assert!(
                folder.join(SUMMARY).is_file() && folder.join("seed-1").join(MANIFEST).is_file()
            );
        }
        assert_eq!(clear().unwrap(), ["a/seed-2", "seed-1"]);
        assert!(!folder.join(SUMMARY).exists());
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn a_repeated_run_keeps_other_files_of_its_folder() {
        let scratch = scratch("beside");
        let folder = scratch.join("x");
        let scenario = scenario("x", "seeds = \"1..2\"\n");
        result(&folder.join("seed-1"), "x", "seed-1");
        result(&folder.join("seed-2"), "x", "seed-2");
        fs::write(folder.join("seed-1/notes.txt"), "mine").unwrap();
        let lock = OutputLock::acquire(&folder).unwrap();
        let removed = lock.clear(&scenario, &[], &places(&folder, &scenario)).unwrap();
        assert_eq!(removed, ["seed-2"]);
        assert!(folder.join("seed-1").join(MANIFEST).is_file());
        assert_eq!(fs::read_to_string(folder.join("seed-1/notes.txt")).unwrap(), "mine");
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn a_folder_that_is_a_dangling_link_is_refused() {
        let scratch = scratch("links");
        let (folder, real) = (scratch.join("x"), scratch.join("real"));
        std::os::unix::fs::symlink(&real, &folder).unwrap();
        for more in ["", "seeds = \"1..2\"\n"] {
            let scenario = scenario("x", more);
            let places: Vec<_> =
                (scenario.runs.iter()).map(|run| (directory(&folder, run), run)).collect();
            let clear = || OutputLock::acquire(&folder)?.clear(&scenario, &[], &places);
            assert_refused(clear(), "does not exist");
            fs::create_dir(&real).unwrap();
            assert!(clear().unwrap().is_empty());
            // The folder's own result goes: the link stays.
            result(&folder, "x", "seed-7");
            assert_eq!(clear().unwrap(), [""]);
            assert!(folder.is_symlink() && folder.is_dir());
            fs::remove_dir_all(&real).unwrap();
        }
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn an_obstructing_file_is_named_before_a_run() {
        let scratch = scratch("way");
        let folder = scratch.join("x");
        let scenario = scenario("x", "seeds = \"1..2\"\n");
        let refused = || {
            let lock = OutputLock::acquire(&folder).unwrap();
            lock.clear(&scenario, &[], &places(&folder, &scenario)).unwrap_err().to_string()
        };
        fs::write(&folder, "a file").unwrap();
        assert!(refused().contains("not a folder"));
        fs::remove_file(&folder).unwrap();
        fs::create_dir_all(folder.join("seed-2")).unwrap();
        fs::write(folder.join("seed-2/thesis.tex"), "precious").unwrap();
        assert!(refused().contains("a file that is not a result"));
        fs::remove_dir_all(folder.join("seed-2")).unwrap();
        fs::write(folder.join(SUMMARY), "{}").unwrap();
        assert!(refused().contains("not a summary of runs"));
        fs::remove_dir_all(scratch).unwrap();
    }
}
