//! Files of JSON for `trimline stats`.

use std::io;
use std::path::Path;

use serde_json::Value;

/// Checks that a path is a regular file or does not exist. Root could otherwise replace a device.
///
/// # Errors
/// Returns an error with the path if it is anything else.
pub(crate) fn check_target(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Ok(about) if !about.is_file() => {
            let described = format!("{}: expected a regular file or a new path", path.display());
            Err(io::Error::new(io::ErrorKind::InvalidInput, described))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Writes a file atomically, for concurrent readers.
///
/// # Errors
/// Returns an error with the file's name if it cannot be written.
pub(crate) fn write_file(path: &Path, json: &Value) -> io::Result<()> {
    check_target(path)?;
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    // Other processes write beside this file, perhaps to the same name.
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".new.{}", std::process::id()));
    let beside = Path::new(&beside);
    std::fs::write(beside, format!("{json:#}\n")).map_err(named)?;
    std::fs::rename(beside, path).map_err(|error| {
        // No other process knows the file.
        let _ = std::fs::remove_file(beside);
        named(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::path::PathBuf;

    fn folder(name: &str) -> PathBuf {
        let name = format!("trimline-rows-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    fn count(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn files_of_similar_names_do_not_share_a_temporary_name() {
        let folder = folder("like");
        // Blocks writers that share one temporary name.
        std::fs::create_dir(folder.join("10.0.0.new")).unwrap();
        for name in ["10.0.0.1", "10.0.0.11"] {
            write_file(&folder.join(name), &json!({ "name": name })).unwrap();
            let text = std::fs::read_to_string(folder.join(name)).unwrap();
            assert!(text.contains(name), "{text}");
        }
        assert_eq!(count(&folder), 3, "nothing else is left");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_special_file_is_not_replaced() {
        let folder = folder("device");
        let file = |name: &str| folder.join(name);
        std::fs::write(file("target"), "kept").unwrap();
        std::os::unix::fs::symlink(file("target"), file("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(file("socket")).unwrap();
        for name in ["link", "socket"] {
            let described = write_file(&file(name), &json!({})).unwrap_err().to_string();
            assert!(described.contains(&format!("{name}: expected a regular file")), "{described}");
        }
        assert!(file("link").is_symlink() && count(&folder) == 3);
        assert_eq!(std::fs::read_to_string(file("target")).unwrap(), "kept");
        write_file(&file("target"), &json!({})).unwrap();
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_write_error_names_the_file_and_leaves_nothing() {
        let folder = folder("error");
        std::fs::create_dir(folder.join("taken")).unwrap();
        for name in ["gone/stats.json", "taken"] {
            let described = write_file(&folder.join(name), &json!({})).unwrap_err().to_string();
            assert!(described.contains(&format!("{name}: ")), "{described}");
        }
        assert_eq!(count(&folder), 1);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
