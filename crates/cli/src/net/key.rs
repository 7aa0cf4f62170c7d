//! Files with the keys that hosts share: `trimline key`.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use trimline_experiments::Failure;
use trimline_stack::host;

const KEY_BYTES: usize = 16;

/// Max bytes of a file: two keys and some white space.
const LONGEST: u64 = 1024;

/// Permission bits that only the owner of a key file may have.
const OTHERS: u32 = 0o077;

/// The keys of a host: it sends with the first and accepts both.
pub(super) type Keys = (host::Key, Option<host::Key>);

fn wrong(file: &Path, kind: io::ErrorKind, what: &dyn std::fmt::Display) -> io::Error {
    io::Error::new(kind, format!("{}: {what}", file.display()))
}

#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Key {
    /// Write a new random key into a file that only its owner may read.
    New {
        /// File to create, which must not exist.
        file: PathBuf,
    },
}

pub(crate) fn key(Key::New { file }: &Key) -> Result<ExitCode, Failure> {
    create(file)
        .map(|()| ExitCode::SUCCESS)
        .map_err(|error| Failure::message(format!("key: {error}")))
}

/// Reads one key, or two on a line each, from a file that only its owner may read.
///
/// # Errors
/// Returns an error with the file's name if it is unreadable, has other content, or others may read or write it.
pub(super) fn read(file: &Path) -> io::Result<Keys> {
    let named = |error: io::Error| wrong(file, error.kind(), &error);
    let open = File::open(file).map_err(named)?;
    let mode = open.metadata().map_err(named)?.mode() & 0o7777;
    if mode & OTHERS != 0 {
        let text = format!(
            "other users may access this file (mode {mode:04o}); expected 0600: chmod 600 {}",
            file.display()
        );
        return Err(wrong(file, io::ErrorKind::PermissionDenied, &text));
    }
    let mut text = String::new();
    open.take(LONGEST).read_to_string(&mut text).map_err(named)?;
    let invalid = |what: &dyn std::fmt::Display| wrong(file, io::ErrorKind::InvalidInput, what);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let (first, second) = match lines[..] {
        [first] => (first, None),
        [first, second] => (first, Some(second)),
        [] | [..] => {
            let count = lines.len();
            let text = format!(
                "{count} lines; expected one key of 32 hexadecimal digits, or two keys on a line each"
            );
            return Err(invalid(&text));
        }
    };
    let parse = |text: &str| host::Key::parse(text).map_err(|error| invalid(&error));
    Ok((parse(first)?, second.map(parse).transpose()?))
}

/// Writes a new key to a new file, for its owner alone.
///
/// # Errors
/// Returns an error with the file's name if it exists or cannot be written.
fn create(file: &Path) -> io::Result<()> {
    let mut bytes = [0; KEY_BYTES];
    let random = Path::new("/dev/urandom");
    File::open(random)
        .and_then(|mut device| device.read_exact(&mut bytes))
        .map_err(|error| wrong(random, error.kind(), &error))?;
    let mut text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    text.push('\n');
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    let mut made = made.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            let text = "a file exists, which may be a key in use; expected a new name";
            wrong(file, error.kind(), &text)
        }
        kind => wrong(file, kind, &error),
    })?;
    made.write_all(text.as_bytes())
        .and_then(|()| made.sync_all())
        .map_err(|error| wrong(file, error.kind(), &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn only_its_owner_can_read_a_key_file() {
        let name = format!("trimline-key-{}", std::process::id());
        let file = std::env::temp_dir().join(name);
        let _ = fs::remove_file(&file);
        create(&file).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o600);
        let (key, other) = read(&file).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!((host::Key::parse(&text).unwrap(), None), (key.clone(), other));
        assert!(create(&file).unwrap_err().to_string().contains("a file exists"));
        assert_eq!(fs::read_to_string(&file).unwrap(), text, "the old key is kept");
        for mode in [0o640, 0o604, 0o620, 0o601] {
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            let said = read(&file).unwrap_err().to_string();
            assert!(
                said.contains(&format!("mode {mode:04o}")) && said.contains("chmod 600"),
                "{said}"
            );
        }
        fs::set_permissions(&file, Permissions::from_mode(0o400)).unwrap();
        assert_eq!(read(&file).unwrap().0, key);
        fs::remove_file(&file).unwrap();
        let second = "00".repeat(KEY_BYTES);
        create(&file).unwrap();
        let first = fs::read_to_string(&file).unwrap();
        let check = |text: String| {
            fs::write(&file, text).unwrap();
            read(&file).map_err(|error| error.to_string())
        };
        let both = check(format!("{first}\n {second}")).unwrap();
        assert_eq!(both.1, Some(host::Key::new([0; KEY_BYTES])));
        assert!(check(String::new()).unwrap_err().contains("0 lines"));
        assert!(check(format!("{first}{first}{first}")).unwrap_err().contains("3 lines"));
        assert!(
            check(format!("{first}00")).unwrap_err().contains("expected 32 hexadecimal digits")
        );
        fs::remove_file(&file).unwrap();
        create(&file).unwrap();
        let another = fs::read_to_string(&file).unwrap();
        fs::remove_file(&file).unwrap();
        assert_ne!(first, another);
    }
}
