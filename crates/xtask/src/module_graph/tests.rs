//! Circles of invented crates.

use super::*;

fn files(files: &[(&str, &str)]) -> Files {
    files.iter().map(|&(path, text)| (format!("src/{path}"), text.to_owned())).collect()
}

#[track_caller]
fn check(crate_files: &[(&str, &str)], expected: &[&str]) {
    let found = circles("src/lib.rs", &files(crate_files)).unwrap();
    assert_eq!(found.keys().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn a_cycle_of_two_modules_names_file_and_line_of_each_arrow() {
    let text = files(&[
        ("lib.rs", "mod a;\nmod b;\n"),
        ("a.rs", "\nuse crate::b::B;\n"),
        ("b.rs", "fn f() -> usize {\n\n    crate::a::f()\n}\n"),
    ]);
    let found = circles("src/lib.rs", &text).unwrap();
    let expected = ("a -> b -> a".to_owned(), "src/a.rs:2, src/b.rs:3".to_owned());
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [expected]);
}

#[test]
fn a_cycle_of_three_modules_begins_at_the_first_name() {
    check(
        &[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("c.rs", "use super::a::A;"),
            ("a.rs", "use super::{b::{self, B}, c::unused as _};"),
            ("b.rs", "const C: u32 = crate::c::C;"),
        ],
        &["a -> b -> c -> a", "a -> c -> a"],
    );
    check(
        &[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("c.rs", "use super::a::A;"),
            ("a.rs", "use super::b::B;"),
            ("b.rs", "use super::c::C;"),
        ],
        &["a -> b -> c -> a"],
    );
}

#[test]
fn files_of_a_feature_have_their_own_layers() {
    let room = [
        ("lib.rs", "mod features; mod network;"),
        ("features.rs", "mod pause;"),
        ("features/pause.rs", "mod hooks; mod state;"),
        ("features/pause/hooks.rs", "use super::state::S; use crate::network::N;"),
        ("features/pause/state.rs", "pub struct S;"),
        ("network.rs", "use crate::features::pause::state::S;"),
    ];
    check(&room, &[]);
    let mut circle = room.to_vec();
    circle[4].1 = "use crate::network::N;";
    check(&circle, &["features::pause::state -> network -> features::pause::state"]);
}

#[test]
fn a_diamond_is_no_cycle() {
    check(
        &[
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "use crate::{b::B, c::C};"),
            ("b.rs", "use crate::d::D;"),
            ("c.rs", "use crate::d::D;"),
            ("d.rs", "pub struct D;"),
        ],
        &[],
    );
}

#[test]
fn dependencies_of_tests_do_not_count() {
    check(
        &[
            ("lib.rs", "mod a; mod b; #[cfg(test)] mod tests;"),
            ("a.rs", "use crate::b::B;"),
            (
                "b.rs",
                "#[cfg(test)] use crate::a::A; #[cfg(all(test, unix))] mod t { use crate::a::A; }
                 #[test] fn f() { crate::a::f() }",
            ),
        ],
        &[],
    );
    // A feature whose name contains `test` does not make a test.
    check(
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "#[cfg(feature = \"test\")] use crate::a::A;"),
        ],
        &["a -> b -> a"],
    );
}

#[test]
fn a_reexported_name_belongs_to_its_defining_module() {
    // b names C through its parent, which has it from c.
    let root = "mod a; mod f { mod b; mod c; pub use c::C; pub(crate) use b::*; }";
    let files = |c| {
        [
            ("lib.rs", root),
            ("a.rs", "use crate::f::C;"),
            ("f/b.rs", "use super::C; pub struct B;"),
            ("f/c.rs", c),
        ]
    };
    check(&files("pub struct C;"), &[]);
    check(&files("use super::b::B;"), &["f::b -> f::c -> f::b"]);
    check(&files("use super::B;"), &["f::b -> f::c -> f::b"]);
    check(&files("use crate::a::A;"), &["a -> f -> a"]);
}

#[test]
fn a_child_names_its_parents_types_and_calls_none_of_its_functions() {
    let parent = "mod c; pub struct P; pub fn p() { c::f() }";
    check(&[("lib.rs", "mod p;"), ("p.rs", parent), ("p/c.rs", "use super::P;")], &[]);
    check(
        &[("lib.rs", "mod p;"), ("p/mod.rs", parent), ("p/c.rs", "use super::{P, p};")],
        &["p's own file -> p::c -> p's own file"],
    );
    // A parent that only offers its child may have functions for it.
    let offers = "mod c; pub use c::f; pub fn p() {}";
    check(&[("lib.rs", "mod p;"), ("p.rs", offers), ("p/c.rs", "use super::p;")], &[]);
}

#[test]
fn a_nested_module_counts_as_its_folder_outside() {
    check(
        &[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "mod inner;"),
            ("a/inner.rs", "use crate::b::B;"),
            ("b.rs", "fn f() { println!(\"{}\", crate::a::inner::F); }"),
        ],
        &["a -> b -> a"],
    );
}

#[test]
fn names_of_other_crates_are_no_modules() {
    check(
        &[
            ("lib.rs", "mod fmt; mod b; use std::fmt as display;"),
            ("fmt.rs", "use crate::b::B;"),
            ("b.rs", "use std::fmt; impl fmt::Display for B {} use crate::display::Debug;"),
        ],
        &[],
    );
}

#[test]
fn a_file_that_is_missing_is_named() {
    let missing = circles("src/lib.rs", &files(&[("lib.rs", "mod a;")])).unwrap_err();
    assert_eq!(missing, "src/a.rs: no such file");
    let wrong = circles("src/lib.rs", &files(&[("lib.rs", "\nfn 1")])).unwrap_err();
    assert!(wrong.starts_with("src/lib.rs:2: "), "{wrong}");
}

#[test]
fn a_tolerated_cycle_that_does_not_exist_is_an_error() {
    let circle = |names: &str| (("sim".to_owned(), names.to_owned()), "src/a.rs:1".to_owned());
    let found = BTreeMap::from([circle("a -> b -> a"), circle("c -> d -> c")]);
    assert_eq!(judge(&found, &[("sim", "a -> b -> a"), ("sim", "c -> d -> c")]), [""; 0]);
    let news = judge(&found, &[("sim", "a -> b -> a")]);
    assert_eq!(news.len(), 1);
    assert!(news[0].contains("c -> d -> c (src/a.rs:1)") && news[0].contains(RULE), "{news:?}");
    let gone =
        judge(&found, &[("sim", "a -> b -> a"), ("sim", "c -> d -> c"), ("cli", "c -> d -> c")]);
    assert_eq!(gone.len(), 1);
    assert!(gone[0].contains("cli: c -> d -> c is no circle"), "{gone:?}");
}
