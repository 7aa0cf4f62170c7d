//! Every claim of spec/ndp-transport.toml names tests that exist.

use std::collections::BTreeMap;

const SPEC: &str = include_str!("../../../../spec/ndp-transport.toml");

const SOURCES: [&str; 12] = [
    include_str!("hostile.rs"),
    include_str!("impaired.rs"),
    include_str!("receiving.rs"),
    include_str!("sending.rs"),
    include_str!("timing.rs"),
    include_str!("../../src/arrivals.rs"),
    include_str!("../../src/ndp/paths.rs"),
    include_str!("../../src/ndp/pull_queue.rs"),
    include_str!("../../src/round_robin.rs"),
    include_str!("../../src/ndp/scoreboard.rs"),
    include_str!("../../src/ndp/turns.rs"),
    include_str!("../../src/ndp/window.rs"),
];

fn table(name: &str) -> BTreeMap<&'static str, &'static str> {
    let body = SPEC.split(&format!("[{name}]\n")).nth(1).expect("the table exists");
    body.lines()
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once(" = "))
        .map(|(id, text)| (id.trim_matches('"'), text.trim_matches('"')))
        .collect()
}

#[test]
fn every_claim_is_shown_by_tests_that_exist() {
    let (claims, shown) = (table("claims"), table("shown"));
    assert!(claims.keys().eq(shown.keys()), "each claim has its line in [shown]");
    assert!(claims.len() > 40);
    for (id, tests) in shown {
        for test in tests.split(", ") {
            let head = format!("fn {test}(");
            assert!(SOURCES.iter().any(|source| source.contains(&head)), "{id}: no test {test}");
        }
    }
}
