//! Replays the inputs of this crate's fuzz targets, and random ones.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

#[path = "../../../fuzz/hosts.rs"]
mod hosts;
#[path = "../../../fuzz/notifications.rs"]
mod notifications;

/// Returns the inputs of a target.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let read = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        println!("{}", path.display());
        fs::read(&path).unwrap()
    };
    let inputs: Vec<Vec<u8>> = fs::read_dir(folder).unwrap().map(read).collect();
    assert!(inputs.len() >= 10, "{} inputs", inputs.len());
    inputs
}

#[test]
fn hosts_survive_what_fuzzing_found() {
    corpus("core").iter().for_each(|bytes| hosts::core(bytes));
}

#[test]
fn notifications_survive_what_fuzzing_found() {
    corpus("notification").iter().for_each(|bytes| notifications::notification(bytes));
}

/// Frames that end behind any byte of their headers.
#[test]
fn notifications_survive_truncation_at_every_byte() {
    for bytes in corpus("notification") {
        for end in 1..bytes.len().min(140) {
            notifications::notification(&bytes[..end]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn hosts_survive_anything(bytes in prop::collection::vec(any::<u8>(), 0..800)) {
        hosts::core(&bytes);
    }

    #[test]
    fn notifications_survive_anything(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        notifications::notification(&bytes);
    }

    /// Packets of every kind, cut and damaged anywhere.
    #[test]
    fn notifications_survive_truncated_and_corrupted_packets(
        input in prop::sample::select(corpus("notification")),
        end in 1usize..1200,
        damage in prop::collection::vec((1usize..120, any::<u8>()), 0..4),
        choices in 0u8..4,
    ) {
        let mut bytes = input;
        bytes.truncate(end.max(1));
        for (place, byte) in damage {
            if let Some(old) = bytes.get_mut(place) {
                *old = byte;
            }
        }
        bytes[0] = bytes[0] & 1 | choices << 1;
        notifications::notification(&bytes);
    }
}
