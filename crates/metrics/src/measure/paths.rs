//! Measures of path lengths in a network with detours.

use super::spec::Sizes;
use crate::record::PathRecord;

/// A value over all packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// Mean number of links from host to host.
    MeanLinks,
    /// Maximum number of links.
    MaxLinks,
    /// Mean number of detours.
    MeanDetours,
    /// Packets with detours, in percent.
    Detoured,
}

/// Measures the selected packets; `None` without any.
///
/// A size class counts if all its sizes, from above half its bound to the bound, are selected.
pub(super) fn number(
    value: Value,
    paths: &[PathRecord],
    workload: Option<&str>,
    sizes: Option<Sizes>,
) -> Option<f64> {
    let is_in = |path: &&PathRecord| {
        let Some(Sizes { from, below }) = sizes else { return true };
        path.up_to_bytes.is_some_and(|max| {
            from.is_none_or(|from| max / 2 + 1 >= from) && below.is_none_or(|below| max < below)
        })
    };
    let of_workload = |path: &&PathRecord| workload.is_none_or(|name| path.workload == *name);
    let paths: Vec<&PathRecord> = paths.iter().filter(of_workload).filter(is_in).collect();
    let packets: u64 = paths.iter().map(|path| path.packets).sum();
    let mean = |of: fn(&PathRecord) -> u64| {
        let sum: u64 = paths.iter().map(|path| of(path) * path.packets).sum();
        sum as f64 / packets as f64
    };
    (packets > 0).then(|| match value {
        Value::MeanLinks => mean(|path| path.links.into()),
        Value::MaxLinks => paths.iter().map(|path| f64::from(path.links)).fold(0.0, f64::max),
        Value::MeanDetours => mean(|path| path.detours.into()),
        Value::Detoured => 100.0 * mean(|path| u64::from(path.detours > 0)),
    })
}
