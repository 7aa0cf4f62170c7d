//! Files of other simulators: every input of the fuzz target, and what chance makes of them.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

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
fn the_inputs_of_the_fuzz_target() {
    let corpus = corpus();
    assert!(corpus.len() >= 10);
    corpus.iter().for_each(|bytes| properties::formats(bytes));
}

proptest! {
    #[test]
    fn what_chance_makes_of_good_files(
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
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        properties::formats(&bytes);
    }
}
