//! Replays the inputs of the fuzz target of this crate, so that what fuzzing found once stays found, and some that
//! chance draws.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

#[path = "../../../fuzz/hosts.rs"]
mod hosts;

#[test]
fn hosts_survive_what_fuzzing_found() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/core");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        println!("{}", path.display());
        hosts::core(&fs::read(&path).unwrap());
        count += 1;
    }
    assert!(count >= 10, "{count} inputs");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn hosts_survive_anything(bytes in prop::collection::vec(any::<u8>(), 0..800)) {
        hosts::core(&bytes);
    }
}
