//! Files of other simulators: the fuzz target's inputs, and random changes.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use trimline_sim::distributions;
use trimline_sim::formats::sizes::{Form, SizeDistribution};
use trimline_sim::scenario::Scenario;

#[path = "../../../fuzz/formats.rs"]
mod properties;

fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/formats");
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn inputs_of_the_fuzz_corpus_keep_the_properties() {
    let corpus = corpus();
    assert!(corpus.len() >= 10);
    corpus.iter().for_each(|bytes| properties::formats(bytes));
}

/// Each published workload is read by its first line alone, and is built in.
#[test]
fn every_published_size_file_is_read_unchanged() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("distributions");
    let mut names: Vec<String> = (fs::read_dir(&folder).unwrap())
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".txt"))
        .collect();
    names.sort();
    assert_eq!(names.len(), 15);
    for name in names {
        let text = fs::read_to_string(folder.join(&name)).unwrap();
        let form = Form::of(&text).unwrap_or_else(|| panic!("{name}"));
        assert!(name.starts_with(form.name()), "{name}: {form:?}");
        let read = SizeDistribution::parse(&name, &text, form, 1, form.reading());
        let read = read.unwrap_or_else(|error| panic!("{error}"));
        assert!(read.points().len() + 2 >= text.lines().count(), "{name}");
        let file = folder.join(&name).display().to_string();
        let scenario = format!(
            "topology.star.hosts = 3\n[[workload]]\nname = \"w\"\nrandom = {{}}\nsize.file = {file:?}\n"
        );
        // Two files of Homa need the unit: their sizes may be bytes or packets.
        let is_unclear = form == Form::Homa && read.largest() < 1_000_000;
        let notified =
            scenario.replace(&format!("{file:?}"), &format!("{file:?}\nsize.packet = \"1B\""));
        Scenario::parse("s.toml", &notified, &[]).unwrap_or_else(|error| panic!("{error}"));
        match Scenario::parse("s.toml", &scenario, &[]) {
            Ok(_) => assert!(!is_unclear, "{name}"),
            Err(error) => assert!(is_unclear, "{error}"),
        }
        assert!(distributions::built_in().any(|(_, file, _)| file == name), "{name}");
    }
}

#[test]
fn scenarios_of_the_repository_keep_the_fuzz_properties() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut read = 0;
    for folder in ["examples", "experiments/ndp/fig16", "experiments/ndp/fig22"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                properties::scenario(&fs::read(path).unwrap());
                read += 1;
            }
        }
    }
    assert!(read >= 6);
}

proptest! {
    #[test]
    fn randomly_edited_files_keep_the_properties(
        file in 0usize..10,
        cuts in prop::collection::vec((any::<prop::sample::Index>(), "[-0-9a-z. >\\n#%]{0,4}"), 1..6),
    ) {
        let corpus = corpus();
        let mut text = String::from_utf8_lossy(&corpus[file % corpus.len()]).into_owned();
        for (place, put) in cuts {
            let at = place.index(text.len() + 1);
            let end = (at + put.len() / 2).min(text.len());
            if text.is_char_boundary(at) && text.is_char_boundary(end) {
                text.replace_range(at..end, &put);
            }
        }
        properties::formats(text.as_bytes());
    }

    #[test]
    fn any_bytes_keep_the_properties(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        properties::formats(&bytes);
    }
}
