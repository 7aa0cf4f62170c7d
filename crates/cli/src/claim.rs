//! The folder of a command's results belongs to that command: nobody else writes there meanwhile, and no run of an
//! earlier command stays to be averaged in.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, FlockOperation, access, flock};
use trimline_metrics::result_folder;
use trimline_sim::scenario::{Run, Scenario};

use crate::failure::Failure;
use crate::results::{Earlier, earlier};

const MANIFEST: &str = "manifest.json";
/// Over all runs of a folder; it is written anew with them.
const SUMMARY: &str = "summary.json";
/// Runs lie at series/point/seed; beyond that nothing is looked for.
const DEPTH: usize = 5;

/// A folder of results that belongs to this command until the value is dropped.
#[derive(Debug)]
pub struct Claim {
    folder: PathBuf,
    _lock: Lock,
}

/// A run, and where its result will be.
pub(crate) type Place<'a> = (PathBuf, &'a Run);

/// Where the result of a run is that is one of so many: the folder itself when it is the only one.
pub(crate) fn directory(folder: &Path, run: &Run, runs: usize) -> PathBuf {
    if runs == 1 { folder.to_owned() } else { folder.join(&run.name) }
}

impl Claim {
    /// Takes the folder.
    ///
    /// # Errors
    /// Another command has it, or nothing can be written there.
    pub(crate) fn take(folder: &Path) -> Result<Claim, Failure> {
        let lock = Lock::take(folder).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => Failure::message(format!(
                "{}: another command is writing its results there; expected a folder of this command's own",
                folder.display()
            )),
            _ => Failure::io(folder, &error),
        })?;
        Ok(Claim { folder: folder.to_owned(), _lock: lock })
    }

    /// Removes what earlier commands left of this scenario and is not of the `runs` as they are now; gives its names.
    /// Runs of the same scenario, settings and program stay until they are done again.
    ///
    /// # Errors
    /// The folder holds results of something else, or something that is no result stands where one will.
    pub(crate) fn clear(
        &self,
        scenario: &Scenario,
        settings: &[String],
        runs: &[Place<'_>],
    ) -> Result<Vec<String>, Failure> {
        let failed = |error: io::Error| Failure::io(&self.folder, &error);
        let own: BTreeMap<&Path, &Run> = runs.iter().map(|(place, run)| (&**place, *run)).collect();
        let (mut stale, mut foreign) = (Vec::new(), Vec::new());
        for place in results_below(&self.folder).map_err(failed)? {
            let run = own.get(&*place);
            if place == self.folder && run.is_some() {
                // One result takes the place of another.
                continue;
            }
            let is_same = |run: &&Run| earlier(&place, scenario, settings, run) != Earlier::Foreign;
            if run.is_some_and(is_same) {
                continue;
            }
            match Origin::of(&place) {
                Some(origin) if !origin.is_of(&scenario.name, self.name_of(&place)) => {
                    foreign.push(format!("{} ({})", place.display(), origin.scenario));
                }
                None if run.is_none() => foreign.push(place.display().to_string()),
                Some(_) | None => stale.push(place),
            }
        }
        if !foreign.is_empty() {
            return Err(self.refuse(&foreign, &scenario.name));
        }
        for place in &stale {
            self.remove(place).map_err(failed)?;
        }
        self.check(runs)?;
        Ok(stale.iter().map(|place| self.name_of(place).display().to_string()).collect())
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
            "{} holds results of something else: {names}{more}; expected an empty folder, or one of the scenario \
             `{scenario}`: name another with --out, or remove this one",
            self.folder.display()
        ))
    }

    /// Removes a result, and folders that are then empty.
    fn remove(&self, place: &Path) -> io::Result<()> {
        if place == self.folder {
            // It was one result; now it will hold several.
            for entry in fs::read_dir(place)? {
                let path = entry?.path();
                if path.is_file() {
                    fs::remove_file(path)?;
                }
            }
            return Ok(());
        }
        fs::remove_dir_all(place)?;
        let above = place.ancestors().skip(1);
        for folder in above.take_while(|folder| *folder != self.folder) {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Whether every run can be written where it belongs: known before anything runs.
    fn check(&self, runs: &[Place<'_>]) -> Result<(), Failure> {
        if self.folder.exists() && !self.folder.is_dir() {
            return Err(Failure::message(format!("{}: not a folder", self.folder.display())));
        }
        self.check_summary()?;
        if self.folder.exists() {
            access(&self.folder, Access::WRITE_OK | Access::EXEC_OK)
                .map_err(|error| Failure::io(&self.folder, &error.into()))?;
        }
        for (place, _) in runs {
            let above = place.ancestors().skip(1);
            let inside = above.take_while(|folder| folder.starts_with(&self.folder));
            if let Some(file) = inside.into_iter().find(|path| path.exists() && !path.is_dir()) {
                return Err(Failure::message(format!("{}: not a folder", file.display())));
            }
            result_folder::check(place).map_err(|error| Failure::io(place, &error))?;
        }
        Ok(())
    }

    /// An earlier summary over runs goes; a file of somebody else stays.
    fn check_summary(&self) -> Result<(), Failure> {
        let file = self.folder.join(SUMMARY);
        if !file.exists() || self.folder.join(MANIFEST).exists() {
            return Ok(());
        }
        let text = fs::read_to_string(&file).map_err(|error| Failure::io(&file, &error))?;
        if serde_json::from_str::<Vec<serde_json::Value>>(&text).is_err() {
            return Err(Failure::message(format!("{}: no summary of runs", file.display())));
        }
        fs::remove_file(&file).map_err(|error| Failure::io(&file, &error))
    }
}

/// What a manifest says of where its result comes from.
struct Origin {
    scenario: String,
    run: PathBuf,
}

impl Origin {
    fn of(place: &Path) -> Option<Origin> {
        let text = fs::read_to_string(place.join(MANIFEST)).ok()?;
        let read: serde_json::Value = serde_json::from_str(&text).ok()?;
        let word = |key: &str| read.get(key)?.as_str().map(str::to_owned);
        Some(Origin { scenario: word("scenario")?, run: word("run")?.into() })
    }

    /// Whether a command wrote it, for this scenario, into the folder in which it has this `name`.
    fn is_of(&self, scenario: &str, name: &Path) -> bool {
        self.scenario == scenario && (name.as_os_str().is_empty() || self.run == name)
    }
}

/// Every result at or below a folder, sorted. Hidden folders are results in the making.
fn results_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
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

/// A lock beside a folder. The kernel takes it back from a command that was killed.
#[derive(Debug)]
struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Takes the lock of a folder, which need not be there yet.
    ///
    /// # Errors
    /// `WouldBlock`: somebody else has it. Otherwise the file system refuses.
    fn take(folder: &Path) -> io::Result<Lock> {
        let (beside, inside) = Lock::paths(folder)?;
        match Lock::take_at(&beside) {
            // The parent is somebody else's, such as that of a mounted volume.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && folder.is_dir() => {
                Lock::take_at(&inside)
            }
            taken => taken,
        }
    }

    /// The same folder has the same lock, however it is named.
    fn paths(folder: &Path) -> io::Result<(PathBuf, PathBuf)> {
        let absolute = std::path::absolute(folder)?;
        let whole = match (absolute.parent(), absolute.file_name()) {
            (Some(parent), Some(name)) if !absolute.exists() => {
                fs::create_dir_all(parent)?;
                parent.canonicalize()?.join(name)
            }
            _ => absolute.canonicalize()?,
        };
        let inside = whole.join(".lock");
        let beside = whole
            .file_name()
            .map(|name| whole.with_file_name(format!(".{}.lock", name.to_string_lossy())));
        Ok((beside.unwrap_or_else(|| inside.clone()), inside))
    }

    fn take_at(path: &Path) -> io::Result<Lock> {
        loop {
            let file = File::options().create(true).truncate(false).write(true).open(path)?;
            flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            // Whoever had it may have removed the file since it was opened.
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
        // Before the lock is given back: who comes next makes a file of its own.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(test: &str) -> PathBuf {
        let path =
            std::env::temp_dir().join(format!("trimline-claim-{test}-{}", std::process::id()));
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

    /// A result as far as its origin goes.
    fn result(folder: &Path, scenario: &str, run: &str) {
        fs::create_dir_all(folder).unwrap();
        let manifest = serde_json::json!({ "scenario": scenario, "run": run });
        fs::write(folder.join(MANIFEST), manifest.to_string()).unwrap();
    }

    #[test]
    fn a_folder_belongs_to_one_command_at_a_time() {
        let scratch = scratch("lock");
        let folder = scratch.join("deep/x");
        let claim = Claim::take(&folder).unwrap();
        fs::create_dir_all(&folder).unwrap();
        let same = folder.join("../x");
        match Claim::take(&same) {
            Err(Failure::Message(text)) => assert!(text.contains("another command"), "{text}"),
            other => panic!("{other:?}"),
        }
        drop(claim);
        drop(Claim::take(&same).unwrap());
        assert_eq!(fs::read_dir(scratch.join("deep")).unwrap().count(), 1);
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn runs_of_an_earlier_command_go_and_those_of_something_else_are_named() {
        let scratch = scratch("clear");
        let folder = scratch.join("x");
        let scenario = scenario("x", "seeds = \"1..2\"\n");
        let clear = || {
            let claim = Claim::take(&folder)?;
            claim.clear(&scenario, &[], &places(&folder, &scenario))
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
            match clear() {
                Err(Failure::Message(text)) => assert!(text.contains(place), "{text}"),
                other => panic!("{place}: {other:?}"),
            }
            assert!(folder.join(place).join(MANIFEST).is_file());
            let first = place.split('/').next().unwrap();
            fs::remove_dir_all(folder.join(first)).unwrap();
        }
        // One result becomes a folder of several.
        result(&folder, "x", "seed-7");
        assert_eq!(clear().unwrap(), [""]);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn what_stands_in_the_way_is_named_before_anything_runs() {
        let scratch = scratch("way");
        let folder = scratch.join("x");
        let scenario = scenario("x", "seeds = \"1..2\"\n");
        let refused = || {
            let claim = Claim::take(&folder).unwrap();
            match claim.clear(&scenario, &[], &places(&folder, &scenario)) {
                Err(Failure::Message(text)) => text,
                other => panic!("{other:?}"),
            }
        };
        fs::write(&folder, "a file").unwrap();
        assert!(refused().contains("not a folder"));
        fs::remove_file(&folder).unwrap();
        fs::create_dir_all(folder.join("seed-2")).unwrap();
        fs::write(folder.join("seed-2/thesis.tex"), "precious").unwrap();
        assert!(refused().contains("something else than a result"));
        fs::remove_dir_all(folder.join("seed-2")).unwrap();
        fs::write(folder.join(SUMMARY), "{}").unwrap();
        assert!(refused().contains("no summary of runs"));
        fs::remove_dir_all(scratch).unwrap();
    }
}
