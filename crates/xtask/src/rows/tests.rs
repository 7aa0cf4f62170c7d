use super::*;

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Checks a document of these rows and counts, whose commands exist and have no findings but `make missed`.
fn findings(counts: &str, rows: &[&str]) -> Vec<String> {
    let line = "|---|---|---|---|---|";
    let text = [
        "## Counts",
        "",
        COUNTS_HEAD,
        line,
        counts,
        &counts.replace("NDP", "**all**"),
        "",
        "## NDP",
        "",
        HEAD,
        line,
        &rows.join("\n"),
    ];
    check(&text.join("\n"), &[("NDP", rows.len())], |command| match command {
        "make missed" => Ok(Verdicts { held: 3, missed: 1 }),
        "make nothing" => Err("there is no target nothing".to_owned()),
        _ => Ok(Verdicts::default()),
    })
}

#[track_caller]
fn finds(row: &str, expected: &str) {
    let found = findings("| NDP | 1 | 1 | 0 | 0 |", &[row]);
    assert!(found.iter().any(|line| line.contains(expected)), "{row}: {found:?}");
}

#[test]
fn a_true_document_of_rows_has_no_findings() {
    let rows = [
        "| 3.1 | trimming | works | | `make rtl` | |",
        "| Fig 2 | fairness | partly | paper silent | `make missed` | 3 of 4 findings hold |",
        "| 4 | processor | partly | | `make rtl` | no board |",
        "| 3 | BCube | missing | | | no topology |",
    ];
    assert_eq!(findings("| NDP | 4 | 1 | 2 | 1 |", &rows), [""; 0]);
}

#[test]
fn a_row_has_a_known_state_a_fitting_mark_and_a_reason() {
    finds("| 3.1 | a | done | | `make rtl` | |", "state \"done\"");
    finds("| 3.1 | a | works | unknown | `make rtl` | |", "only a row that is partly there");
    finds("| 3.1 | a | partly | soon | `make rtl` | b |", "mark \"soon\"");
    finds("| 3.1 | a | partly | unknown | `make rtl` | |", "no reason");
    finds("| 3.1 | a | missing | | | |", "no reason");
    finds("| 3.1 | a | works | | | |", "no command");
    finds("| 3.1 | | works | | `make rtl` | |", "a source and a name");
    finds("| 3.1 | a | works | `make rtl` | |", "5 cells");
}

#[test]
fn a_row_agrees_with_the_recorded_verdicts() {
    finds("| 3.1 | a | works | | `make missed` | |", "1 findings of its experiment miss");
    finds("| 3.1 | a | partly | | `make missed` | 2 of 4 findings hold |", "recorded 3 of 4");
    finds("| 3.1 | a | works | | `make nothing` | |", "there is no target nothing");
}

#[test]
fn counts_of_rows_are_checked() {
    let row = "| 3.1 | a | works | | `make rtl` | |";
    let found = findings("| NDP | 1 | 0 | 1 | 0 |", &[row]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("docs/rows.md:5: NDP: [1, 0, 1, 0]"), "{found:?}");
    let found = findings("| HULL | 1 | 1 | 0 | 0 |", &[row]);
    assert!(found.iter().any(|line| line.contains("NDP: no counts")), "{found:?}");
    assert!(found.iter().any(|line| line.contains("HULL: no rows")), "{found:?}");
    let found = check("", &[("NDP", 1)], |_| Ok(Verdicts::default()));
    assert_eq!(found, ["docs/rows.md: NDP: 0 rows, expected 1"]);
}

#[test]
fn verdicts_are_counted_in_the_measured_table() {
    let rows = "| a | holds |\n| b | reported |\n| c | **misses both** |\n";
    let text = format!("{rows}<!-- measured: ndp/a -->\n{rows}<!-- end -->\n{rows}");
    assert_eq!(Verdicts::read(&text), Verdicts { held: 1, missed: 1 });
    assert_eq!(Verdicts::read(rows), Verdicts::default());
}

#[test]
fn commands_that_do_not_exist_are_found() {
    let root = root();
    let mut workspace = Workspace::read(&root).unwrap();
    for command in [
        "trimline reproduce ndp/fig03",
        "trimline testbed hull --only table1-real",
        "cargo test -p trimline-switch a_queue_at_the_threshold_is_not_hot",
        "cargo xtask vectors header-priority threshold",
        "make rtl",
    ] {
        assert!(workspace.verdicts(command).is_ok(), "{:?}", workspace.verdicts(command));
    }
    for (command, expected) in [
        ("trimline reproduce ndp/fig99", "there is no experiments/ndp/fig99"),
        ("trimline reproduce ndp/fig08", "there is no experiments/ndp/fig08"),
        ("trimline reproduce ndp-evaluation/fig01", "there is no experiments/ndp-evaluation/fig01"),
        ("trimline testbed fig99", "there is no README"),
        ("cargo test -p trimline-switch a_queue", "there is no test a_queue in crates/switch"),
        ("cargo test -p trimline-nothing a_queue", "there is no test a_queue"),
        ("cargo test -p switch a_queue", "there is no package switch"),
        ("cargo xtask vectors header-priority nothing", "there is no vector nothing"),
        ("cargo xtask vectors", "expected trimline reproduce"),
        ("make nothing", "there is no target nothing"),
        ("make PYTHON", "there is no target PYTHON"),
        ("ls", "expected trimline reproduce"),
    ] {
        let found = workspace.verdicts(command).unwrap_err();
        assert!(found.starts_with(expected), "{command}: {found}");
    }
}
