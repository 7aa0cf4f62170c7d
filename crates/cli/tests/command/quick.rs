//! The quick tier of `trimline reproduce`: a subset of the full tier's runs, unchanged.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use super::scratch::{Scratch, said};

const SCENARIO: &str = "name = \"tiny\"\nseeds = \"1..3\"\n[topology.star]\nhosts = 9\n[[workload]]\n\
    name = \"w\"\nincast = { receiver = 0, senders = 1 }\nsize = \"90KB\"\n[sweep]\n\
    workload.w.incast.senders = [1, 4, 8]\n[[series]]\nname = \"paper\"\n[[series]]\nname = \"p4\"\n\
    switch.profile = \"p4\"\n";

/// Three findings: the quick tier judges two, and has no run of the third.
const EXPECTED: &str = "title = \"tiny\"\n[quick]\nseries = [\"paper\"]\nat.senders = [1, 8]\n\
    [[finding]]\nname = \"one\"\nsource = \"s\"\nseries = \"paper\"\nflows = 1\nmeasure = { quantity = \"fct\", at = \"receiver\", \
    reduce = \"max\", unit = \"us\" }\nhi = 1000.0\n\
    [[finding]]\nname = \"eight\"\nsource = \"s\"\nseries = \"paper\"\nflows = 8\nmeasure = { quantity = \"fct\", at = \"receiver\", \
    reduce = \"max\", unit = \"us\" }\nhi = 1.0\n\
    [[finding]]\nname = \"p4\"\nsource = \"s\"\nseries = \"p4\"\nmeasure = { quantity = \"fct\", at = \"receiver\", \
    reduce = \"max\", unit = \"us\" }\nhi = 1.0\n";

fn scratch(test: &str, expected: &str) -> Scratch {
    let scratch = Scratch::new(test);
    let folder = scratch.join("experiments/a/tiny");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("scenario.toml"), SCENARIO).unwrap();
    fs::write(folder.join("expected.toml"), expected).unwrap();
    scratch
}

fn reproduce(scratch: &Scratch, more: &[&str]) -> Output {
    scratch.trimline(&[&["reproduce", "a/tiny", "--no-plot"], more].concat())
}

/// Returns the name and flows.csv of every run below a folder.
fn runs(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.join("a/tiny/runs")];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("flows.csv") {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn the_quick_tier_is_a_subset_of_the_full_one() {
    let folder = scratch("quick", EXPECTED);
    let quick = reproduce(&folder, &["--quick", "--json"]);
    // One of its findings does not hold.
    assert_eq!(quick.status.code(), Some(1), "{}", said(&quick));
    let report: Value = serde_json::from_slice(&quick.stdout).unwrap();
    assert_eq!(report["experiments"][0]["tier"], "quick");
    let findings = &report["experiments"][0]["findings"];
    assert_eq!((&findings[0]["holds"], findings[0].get("not_judged")), (&true.into(), None));
    assert_eq!((&findings[1]["holds"], findings[1].get("not_judged")), (&false.into(), None));
    assert_eq!((&findings[2]["not_judged"], &findings[2]["ours"]), (&true.into(), &Value::Null));

    let full = reproduce(&folder, &["--json"]);
    let report: Value = serde_json::from_slice(&full.stdout).unwrap();
    assert_eq!(report["experiments"][0].get("tier"), None);
    assert_eq!(report["experiments"][0]["findings"][2]["holds"], false);
    let (some, all) = (runs(&folder.join("out/quick")), runs(&folder.join("out")));
    assert_eq!((some.len(), all.len()), (2, 18));
    for run in &some {
        assert!(all.contains(run), "{}", run.0);
    }
    // The full tier goes on where the quick one ended.
    let on = reproduce(&folder, &["--out", "out/quick", "--resume"]);
    let text = said(&on);
    assert!(text.contains("resumed: 2 of 18 runs are complete"), "{text}");
    assert_eq!(runs(&folder.join("out/quick")), all);
}

#[test]
fn the_verdict_table_names_findings_that_were_not_judged() {
    let folder = scratch("not-judged", &EXPECTED.replace("hi = 1.0", "hi = 9999.0"));
    let output = reproduce(&folder, &["--quick", "-v"]);
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{table}");
    assert!(table.contains("a/tiny: tiny (quick tier: some of the runs)"), "{table}");
    let mut lines = table.lines().rev();
    let (counts, last) = (lines.next().unwrap(), lines.next().unwrap());
    assert!(last.starts_with("p4 ") && last.ends_with("not judged"), "{table}");
    // A finding that is not judged counts nowhere.
    assert_eq!(counts, "findings with a range: 2 of 2 hold; with only a sign: 0 of 0 hold");
}

#[test]
fn an_empty_choice_of_runs_is_refused_before_a_run() {
    let folder = scratch("mistake-quick", &EXPECTED.replace("[1, 8]", "[1, 9]"));
    let output = reproduce(&folder, &["--quick"]);
    assert_eq!(output.status.code(), Some(2));
    let text = said(&output);
    assert!(text.contains("a/tiny: [quick] of expected.toml: no run at `senders`"), "{text}");
    assert!(!folder.join("out").exists());
}

fn verdicts(folder: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.join("out/a/tiny/findings.json")).unwrap())
        .unwrap()
}

#[test]
fn series_run_by_separate_commands_are_judged_together() {
    let folder = scratch("series", EXPECTED);
    let (series, out) = (|name| ["--series", name], folder.join("out"));
    assert_eq!(reproduce(&folder, &series("paper")).status.code(), Some(1));
    let first = runs(&out);
    assert_eq!(first.len(), 9, "three seeds at three places: {first:?}");
    let part = verdicts(&folder);
    assert_eq!((&part["tier"], &part["series"]), (&"part".into(), &serde_json::json!(["paper"])));
    let judged = |verdicts: &Value| -> Vec<bool> {
        let findings = verdicts["findings"].as_array().unwrap().iter();
        findings.map(|finding| finding["not_judged"] != Value::Bool(true)).collect()
    };
    assert_eq!(judged(&part), [true, true, false]);

    // Runs of the other series stay, with --resume or without; then all findings are judged, as by one command.
    assert_eq!(reproduce(&folder, &series("p4")).status.code(), Some(1));
    let both = runs(&out);
    assert_eq!(both.len(), 18);
    assert!(first.iter().all(|run| both.contains(run)));
    let whole = verdicts(&folder);
    assert_eq!((whole.get("tier"), whole.get("series")), (None, None));
    assert_eq!(reproduce(&folder, &[]).status.code(), Some(1));
    assert_eq!(verdicts(&folder), whole);

    // A series that lacks a seed is not judged from its other seeds.
    fs::remove_dir_all(out.join("a/tiny/runs/p4/senders=4/seed-2")).unwrap();
    let resumed = reproduce(&folder, &["--series", "paper", "--resume"]);
    let text = said(&resumed);
    assert!(text.contains("17 of 18 runs are complete"), "{text}");
    assert_eq!(verdicts(&folder), part);

    let unknown = reproduce(&folder, &series("papers"));
    assert_eq!(unknown.status.code(), Some(2));
    let text = said(&unknown);
    assert!(text.contains("a/tiny: no series `papers`; expected some of p4, paper"), "{text}");
    assert_eq!(verdicts(&folder), part, "a mistake loses nothing");
}

/// Other scenarios or seeds would not make them again.
#[test]
fn results_of_other_series_are_not_overwritten() {
    let folder = scratch("lost", EXPECTED);
    let (scenario, out) = (folder.join("experiments/a/tiny/scenario.toml"), folder.join("out"));
    assert_eq!(reproduce(&folder, &["--series", "paper"]).status.code(), Some(1));
    let (first, judged) = (runs(&out), verdicts(&folder));
    let refused = |arguments: &[&str], lost: &str| {
        let output = reproduce(&folder, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let text = said(&output);
        assert!(text.contains(&format!("which would be lost (paper: {lost})")), "{text}");
        assert_eq!(
            (runs(&out), verdicts(&folder)),
            (first.clone(), judged.clone()),
            "{arguments:?}"
        );
    };
    refused(&["--series", "p4", "--seeds", "1..1"], "9");
    refused(&["--series", "paper", "--seeds", "1..1"], "6");
    fs::write(&scenario, SCENARIO.replace("90KB", "99KB")).unwrap();
    refused(&["--series", "p4"], "9");
    refused(&["--series", "p4", "--resume"], "9");

    // An interrupted run is no loss; requested runs are made again.
    for path in ["senders=1/seed-1", "senders=1/seed-2", "senders=1/seed-3", "senders=4/seed-1"] {
        let manifest = out.join("a/tiny/runs/paper").join(path).join("manifest.json");
        let text = fs::read_to_string(&manifest).unwrap();
        fs::write(&manifest, text.replace("\"interrupted\": false", "\"interrupted\": true"))
            .unwrap();
    }
    refused(&["--series", "p4"], "5");
    assert_eq!(reproduce(&folder, &["--series", "paper"]).status.code(), Some(1));
    assert_eq!(runs(&out).len(), 9);
    assert_ne!(runs(&out), first);
}
