//! Replays the inputs of the fuzz targets, so that past findings stay fixed.

use std::fs;
use std::path::Path;

use trimline_packet::Service;
use trimline_packet::wire::{Frame, Profile};

#[path = "../../../fuzz/properties.rs"]
mod properties;

/// Returns every input of a target, with its name.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut inputs: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| {
            let entry = entry.expect("a readable folder");
            let name = entry.file_name().into_string().expect("a name in UTF-8");
            (name, fs::read(entry.path()).expect("a readable file"))
        })
        .collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "no inputs in {}", folder.display());
    inputs
}

#[test]
fn frames_of_the_fuzz_corpus_keep_the_properties() {
    for (_, bytes) in corpus("parse_frame") {
        properties::parse_frame(&bytes);
    }
}

#[test]
fn headers_of_the_fuzz_corpus_keep_the_properties() {
    for (_, bytes) in corpus("header") {
        properties::header(&bytes);
    }
}

/// Named inputs give the results in their names: the corpus reaches behind every check.
#[test]
fn the_named_frames_of_the_corpus_parse() {
    let mut seen = 0;
    for (name, bytes) in corpus("parse_frame") {
        let expected = match name.split('-').next() {
            Some("whole") => Service::Trimmable,
            Some("trimmed") => Service::Trimmed,
            Some("returned") => Service::Returned,
            Some("control") => Service::Control,
            _ => continue,
        };
        let frame = Frame::new(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let parsed = frame.parse(&Profile::PAPER).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(parsed.datagram.service.service(), expected, "{name}");
        seen += 1;
    }
    assert!(seen >= 8, "only {seen} named frames");
}
