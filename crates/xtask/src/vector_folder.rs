//! Folders of vectors: reads, runs and writes all of them.

use std::fs;
use std::path::Path;

use crate::vectors::{list, read};

/// Parses every vector of a folder, which has at least one.
pub(crate) fn parse_folder<V>(
    root: &Path,
    folder: &str,
    parse: impl Fn(&Path, &str) -> Result<V, String>,
) -> Result<Vec<V>, String> {
    let files = list(root, Path::new(folder))?;
    if files.is_empty() {
        return Err(format!("{folder}: no vector"));
    }
    files.iter().map(|file| parse(file, &read(root, file)?)).collect()
}

/// Runs parsed vectors. Returns their number, or a line per failure.
pub(crate) fn run_each<V, T>(
    vectors: Result<Vec<V>, String>,
    run: impl Fn(&V) -> Result<T, String>,
) -> Result<usize, Vec<String>> {
    let vectors = vectors.map_err(|error| vec![error])?;
    let failures: Vec<String> = vectors.iter().filter_map(|vector| run(vector).err()).collect();
    if failures.is_empty() { Ok(vectors.len()) } else { Err(failures) }
}

/// Writes named texts into `folder`. Returns their number, or problem and place.
pub(crate) fn write_texts(
    folder: &Path,
    extension: &str,
    texts: &[(String, String)],
) -> Result<usize, String> {
    for (name, text) in texts {
        let path = folder.join(format!("{name}.{extension}"));
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(texts.len())
}
