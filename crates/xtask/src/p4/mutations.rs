use std::path::Path;
pub(crate) fn check_all(_: &Path) -> Result<Vec<(&'static str, Vec<String>)>, Vec<String>> {
    Ok(vec![])
}
