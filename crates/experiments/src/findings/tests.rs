use super::*;
use trimline_metrics::{FlowEnd, FlowRecord, HostLink, RunRecord};

fn record(seed: u64, fcts_us: &[Option<u64>]) -> RunRecord {
    let flows = fcts_us.iter().zip(1..).map(|(fct, source)| FlowRecord {
        fct_receiver_ps: fct.map(|us| us * 1_000_000),
        end: FlowEnd::Delivered,
        ..FlowRecord::not_started("w".into(), 0, source, 0, Some(9000))
    });
    RunRecord { series: "ndp".to_owned(), seed, flows: flows.collect(), ..empty() }
}

/// The record of a run without flows.
pub(super) fn empty() -> RunRecord {
    RunRecord {
        samples: Default::default(),
        series: String::new(),
        seed: 1,
        host_link: HostLink { rate_bps: 10_000_000_000, payload_bytes: 9000, header_bytes: 64 },
        flows: [].into_iter().collect(),
        latencies: Vec::new(),
        timeline: Default::default(),
        ports: Vec::new(),
        pauses: Vec::new(),
        paths: Vec::new(),
        hosts: Vec::new(),
        pause_cycles: Default::default(),
        links: Vec::new(),
        simulated_ps: 1,
        measured_ps: 1,
        packet_hops: 1,
        packets_delivered: 1,
        packets_unclaimed: 0,
        loads: Vec::new(),
        interrupted: false,
    }
}

const HEAD: &str = "title = \"t\"\n[[finding]]\nname = \"n\"\nsource = \"s\"\n\
    measure = { quantity = \"fct\", at = \"receiver\", reduce = \"max\", unit = \"us\" }\n";

fn parse(text: &str) -> Vec<Finding> {
    Expected::parse("expected.toml", text).unwrap().finding
}

fn verdict(bounds: &str, records: &[RunRecord]) -> Verdict {
    let text = format!("{HEAD}{bounds}");
    let findings = parse(&text);
    let runs: Vec<Outcome> =
        records.iter().map(|record| Outcome::new(&findings, &[], record)).collect();
    findings[0].verdict(&runs, 0, Tier::Full)
}

/// Runs of series "ndp" and "other" at places of a sweep, each with the FCT of its only flow.
fn swept(bounds: &str, runs: &[(&str, &str, &str, u64)]) -> Verdict {
    let text = format!("{HEAD}{bounds}");
    let findings = parse(&text);
    let runs: Vec<Outcome> = runs
        .iter()
        .map(|&(series, window, queue, fct)| {
            let point =
                [("window".to_owned(), window.to_owned()), ("queue".to_owned(), queue.into())];
            let mut record = record(1, &[Some(fct)]);
            record.series = series.to_owned();
            Outcome::new(&findings, &point, &record)
        })
        .collect();
    findings[0].verdict(&runs, 0, Tier::Full)
}

#[test]
fn points_of_a_sweep_are_selected() {
    let runs = [("ndp", "1", "6pkt", 10), ("ndp", "15", "6pkt", 20), ("ndp", "30", "8pkt", 40)];
    let ours = |bounds: &str| swept(&format!("hi = 99.0\n{bounds}"), &runs).ours;
    assert_eq!(ours("at.window = 15"), Some(20.0));
    assert_eq!(ours("at.window = { to = 15 }"), Some(20.0));
    assert_eq!(ours("at.window = { from = 16 }"), Some(40.0));
    assert_eq!(ours("at.window = { from = 15, to = 15 }"), Some(20.0));
    assert_eq!(ours("at.queue = \"6pkt\""), Some(20.0));
    assert_eq!(ours("at.window = 2"), None);
    assert_eq!(ours("at.other = 15"), None);
}

#[test]
fn a_spread_is_within_runs_that_differ_in_one_key() {
    let runs = [
        ("ndp", "1", "6pkt", 10),
        ("ndp", "1", "8pkt", 13),
        ("ndp", "2", "6pkt", 50),
        ("ndp", "2", "8pkt", 54),
    ];
    assert_eq!(swept("hi = 5.0\nspread_over = \"queue\"", &runs).ours, Some(4.0));
    assert!(!swept("hi = 3.9\nspread_over = \"queue\"", &runs).holds);
    assert_eq!(swept("hi = 5.0\nspread_over = \"queue\"", &runs[..1]).ours, None);
}

#[test]
fn a_straight_line_over_the_numbers_of_a_key_explains_a_share() {
    let runs = |middle| {
        let queues = [("6pkt", 10), ("8pkt", middle), ("12pkt", 40)];
        queues.map(|(queue, value)| ("ndp", "1", queue, value))
    };
    let finding = "lo = 0.9\nlinear_over = \"queue\"";
    assert!((swept(finding, &runs(20)).ours.unwrap() - 1.0).abs() < 1e-12);
    let bent = swept(finding, &runs(40));
    assert!((bent.ours.unwrap() - 4.0 / 7.0).abs() < 1e-12 && !bent.holds);
    // Two points are always on a line, and places that are not numbers never are.
    assert_eq!(swept(finding, &runs(20)[..2]).ours, None);
    assert_eq!(swept(finding, &["a", "b", "c"].map(|queue| ("ndp", "1", queue, 1))).ours, None);
}

#[test]
fn a_series_is_compared_with_another_at_equal_sweep_points() {
    let runs = [
        ("other", "1", "6pkt", 100),
        ("other", "2", "6pkt", 200),
        ("ndp", "1", "6pkt", 101),
        ("ndp", "2", "6pkt", 199),
    ];
    let finding = "series = \"ndp\"\nagainst = \"other\"\n";
    let worst = swept(&format!("{finding}lo = -2.0\nhi = 2.0"), &runs);
    assert!((worst.ours.unwrap() - 1.0).abs() < 1e-9 && worst.holds);
    assert!(!swept(&format!("{finding}hi = 0.9"), &runs).holds);
    assert!(swept(&format!("{finding}hi = 0"), &runs).sign);
    assert_eq!(swept(&format!("{finding}hi = 0.9"), &runs[1..]).ours, None);
}

#[test]
fn every_run_must_satisfy_a_finding_and_the_worst_is_shown() {
    let records = [record(1, &[Some(10), Some(20)]), record(2, &[Some(30)])];
    let upper = verdict("hi = 30.0", &records);
    assert_eq!((upper.ours, upper.holds), (Some(30.0), true));
    assert_eq!(upper.seeds.unwrap().mean, 25.0);
    assert!(!verdict("hi = 29.9", &records).holds);
    let lower = verdict("lo = 20.0", &records);
    assert_eq!((lower.ours, lower.holds), (Some(20.0), true));
    assert!(!verdict("lo = 20.1", &records).holds);
    assert_eq!(verdict("lo = 10.0\nhi = 31.0", &records).ours, Some(30.0));
    assert!(!verdict("lo = 21.0\nhi = 100.0", &records).holds);
    assert_eq!(verdict("", &records).ours, Some(25.0));
}

#[test]
fn several_seeds_have_a_mean_and_an_interval_in_the_machine_readable_form() {
    let records = [10, 20, 30].map(|us| record(us, &[Some(us)]));
    let of = |records: &[RunRecord]| serde_json::to_value(verdict("hi = 99.0", records)).unwrap();
    let seeds = &of(&records)["seeds"];
    assert_eq!((&seeds["mean"], &seeds["count"]), (&20.0.into(), &3.into()));
    // Student's t of two degrees of freedom: 4.303 x 10 / sqrt 3.
    assert!((seeds["half_width"].as_f64().unwrap() - 24.843).abs() < 1e-3, "{seeds}");
    assert!(of(&records[..1]).as_object().unwrap().get("seeds").is_none());
}

#[test]
fn the_mean_over_seeds_may_satisfy_a_finding_that_a_seed_misses() {
    let records = [record(1, &[Some(20)]), record(2, &[Some(30)])];
    let mean = verdict("hi = 25.0\nover_seeds = \"mean\"", &records);
    assert_eq!((mean.ours, mean.holds), (Some(25.0), true));
    assert!(!verdict("hi = 24.9\nover_seeds = \"mean\"", &records).holds);
    assert!(!verdict("hi = 25.0", &records).holds);
}

#[test]
fn the_min_or_max_over_seeds_may_satisfy_a_finding_that_others_miss() {
    let records = [record(1, &[Some(20)]), record(2, &[Some(30)]), record(3, &[Some(25)])];
    let of = |bounds: &str, over: &str| {
        let verdict = verdict(&format!("{bounds}\nover_seeds = \"{over}\""), &records);
        (verdict.ours, verdict.holds)
    };
    assert_eq!(of("hi = 20.0", "min"), (Some(20.0), true));
    assert_eq!(of("hi = 19.9", "min"), (Some(20.0), false));
    assert_eq!(of("lo = 30.0", "max"), (Some(30.0), true));
    assert_eq!(of("lo = 30.1", "max"), (Some(30.0), false));
    assert_eq!(of("", "max"), (Some(30.0), true));
}

#[test]
fn a_missing_value_satisfies_no_finding() {
    let unfinished = [record(1, &[Some(10)]), record(2, &[Some(10), None])];
    let missing = verdict("hi = 30.0", &unfinished);
    assert_eq!((missing.ours, missing.holds), (None, false));
    assert!(!verdict("", &unfinished).holds);
    assert!(!verdict("hi = 30.0\nseries = \"other\"", &unfinished).holds);
    assert!(!verdict("hi = 30.0\nflows = 7", &unfinished).holds);
    assert!(verdict("hi = 30.0\nflows = 1", &unfinished).holds);
    assert!(!verdict("hi = 30.0\nflows_from = 2", &unfinished).holds);
    let mut stopped = record(1, &[Some(10)]);
    stopped.interrupted = true;
    assert!(!verdict("hi = 30.0", &[stopped]).holds);
}

#[test]
fn the_quick_tier_may_lack_runs_but_no_value() {
    let text = format!("{HEAD}hi = 30.0\n");
    let quick = |more: &str, record: &RunRecord| {
        let findings = parse(&format!("{text}{more}"));
        let verdict = findings[0].verdict(&[Outcome::new(&findings, &[], record)], 0, Tier::Quick);
        (verdict.not_judged, verdict.holds, verdict.ours)
    };
    let (ended, unfinished) = (record(1, &[Some(10)]), record(1, &[Some(10), None]));
    assert_eq!(quick("series = \"other\"", &ended), (true, true, None));
    assert_eq!(quick("flows = 7", &ended), (true, true, None));
    assert_eq!(quick("", &ended), (false, true, Some(10.0)));
    assert_eq!(quick("", &unfinished), (false, false, None));
    assert_eq!(quick("lo = 11.0", &ended), (false, false, Some(10.0)));
    assert_eq!(quick("lo = 11.0\nover_seeds = \"mean\"", &ended), (true, true, Some(10.0)));
    assert_eq!(quick("lo = 11.0\nover_seeds = \"max\"", &ended), (true, true, Some(10.0)));
    assert_eq!(quick("against = \"other\"", &ended), (false, false, None));
}

#[test]
fn a_partial_run_judges_findings_with_all_their_series() {
    let part = |more: &str, record: &RunRecord| {
        let findings = parse(&format!("{HEAD}hi = 30.0\n{more}"));
        let verdict =
            findings[0].verdict(&[Outcome::new(&findings, &[], record)], 0, Tier::Partial);
        (verdict.not_judged, verdict.holds, verdict.ours)
    };
    let (ended, unfinished) = (record(1, &[Some(10)]), record(1, &[Some(10), None]));
    assert_eq!(part("series = \"ndp\"", &ended), (false, true, Some(10.0)));
    assert_eq!(part("series = \"ndp\"\nover_seeds = \"mean\"", &ended), (false, true, Some(10.0)));
    assert_eq!(part("series = \"ndp\"", &unfinished), (false, false, None));
    assert_eq!(part("series = \"other\"", &ended), (true, true, None));
    assert_eq!(part("series = \"ndp\"\nagainst = \"other\"", &ended), (true, true, None));
    // It is about all series.
    assert_eq!(part("", &ended), (true, true, Some(10.0)));
}

#[test]
fn flows_are_selected() {
    let records = [record(1, &[Some(10), Some(20)])];
    let of = |key: &str| {
        let text = HEAD.replace("reduce", &format!("{key}, reduce"));
        let findings = parse(&text);
        let run = Outcome::new(&findings, &[], &records[0]);
        findings[0].verdict(&[run], 0, Tier::Full).ours
    };
    assert_eq!(of("pair = [1, 0]"), Some(10.0));
    assert_eq!(of("workload = \"x\""), None);
}

fn refused(text: &str) -> String {
    Expected::<Measure>::parse("expected.toml", text).unwrap_err().to_string()
}

#[test]
fn errors_in_expected_toml_are_named() {
    assert!(refused("titel = \"t\"").starts_with("expected.toml:1: unknown field `titel`"));
    let message = refused(&HEAD.replace("fct", "speed"));
    assert!(message.starts_with("expected.toml:5: no quantity is named `speed`"), "{message}");
    let message = refused(&HEAD.replace("reduce = \"max\"", "reduce = \"most\""));
    assert!(message.contains("no `reduce` is named `most`"), "{message}");
    assert!(refused(&format!("{HEAD}lo = 2.0\nhi = 1.0")).contains("lo is above hi"));
    let twice = format!("{HEAD}{}", HEAD.replace("title = \"t\"\n", ""));
    assert!(refused(&twice).contains("another finding has the same name"));
}

#[test]
fn a_companion_is_another_finding_with_bounds_about_the_same_series() {
    let two = |first: &str, second: &str| {
        let other = HEAD.replace("title = \"t\"\n", "").replace("\"n\"", "\"m\"");
        format!("{HEAD}companion = \"m\"\n{first}{other}{second}")
    };
    assert_eq!(parse(&two("", "hi = 1.0")).len(), 2);
    assert_eq!(parse(&two("series = \"a\"\n", "hi = 1.0\nseries = \"a\"")).len(), 2);
    for text in [
        two("", ""),
        two("series = \"a\"\n", "hi = 1.0"),
        two("", "hi = 1.0\ncompanion = \"n\""),
        format!("{HEAD}companion = \"n\"\nhi = 1.0"),
        format!("{HEAD}companion = \"x\"\nhi = 1.0"),
    ] {
        assert!(refused(&text).contains("`companion` names no finding"), "{text}");
    }
}

#[test]
fn a_finding_about_an_absent_series_is_refused_before_a_run() {
    let scenario = "topology.star.hosts = 3\n[[workload]]\nname = \"w\"\npermutation = {}\n\
                    size = \"9KB\"\n[[series]]\nname = \"a\"\n";
    let scenario = Scenario::parse("s", scenario, &[]).unwrap();
    let check = |text: &str| {
        let expected: Expected = Expected::parse("e", text).unwrap();
        expected
            .check("e", &scenario)
            .map_or_else(|failure| failure.to_string(), |()| String::new())
    };
    assert_eq!(check(&format!("{HEAD}series = \"a\"")), "");
    assert!(check(&format!("{HEAD}series = \"b\"")).contains("no series `b`"));
    assert!(check(&format!("{HEAD}against = \"b\"")).contains("no series `b`"));
    let workload = HEAD.replace("reduce", "workload = \"x\", reduce");
    assert!(check(&workload).contains("no workload `x`"));
    let latency = HEAD.replace("\"fct\", at = \"receiver\"", "\"latency\", packets = \"all\"");
    assert!(check(&latency).contains("output.latencies"), "{}", check(&latency));
}

#[test]
fn a_testbed_program_is_judged_like_a_run() {
    let text = "title = \"t\"\n[[finding]]\nname = \"n\"\nsource = \"s\"\nunit = \"x\"\n\
                measure = \"ratio\"\nlo = 1.0\nhi = 2.0\n";
    let finding = Expected::<String>::parse("t", text).unwrap().finding.remove(0);
    let of = |value: f64| {
        let verdict = finding.of_testbed(&BTreeMap::from([("ratio".to_owned(), value)]));
        (verdict.ours, verdict.holds)
    };
    assert_eq!(of(1.5), (Some(1.5), true));
    assert_eq!(of(2.5), (Some(2.5), false));
    assert_eq!(of(f64::NAN), (None, false));
    assert!(!finding.of_testbed(&BTreeMap::new()).holds);
}

#[test]
fn a_missing_value_may_have_a_known_cause() {
    let missed = |bounds: &str, fct| verdict(bounds, &[record(1, &[fct])]).missed;
    let cause = "hi = 5.0\ncause = \"why\"\n";
    assert_eq!(missed(cause, Some(6)), Some(Missed::CauseKnown));
    assert_eq!(missed(cause, None), Some(Missed::CauseKnown));
    assert_eq!(missed(cause, Some(5)), None);
    assert_eq!(missed("hi = 5.0", Some(6)), None);
    // The baseline says more.
    assert_eq!(missed(&format!("{cause}reference = 7.0"), Some(6)), Some(Missed::AsBaseline));
    assert_eq!(
        missed(&format!("{cause}baseline = {{ none = \"n\" }}"), Some(6)),
        Some(Missed::NoProgram)
    );
    assert!(refused(&format!("{HEAD}cause = \" \"")).contains("`cause` is empty"));
}

#[test]
fn a_sign_is_the_one_bound_at_zero_of_a_comparison() {
    let is_sign = |bounds: &str| parse(&format!("{HEAD}{bounds}"))[0].is_sign();
    assert!(is_sign("against = \"other\"\nhi = 0"));
    assert!(is_sign("against = \"other\"\nlo = 0.0"));
    // Without a comparison, a bound of 0 asks for the number itself.
    assert!(!is_sign("hi = 0"));
    assert!(!is_sign("against = \"other\"\nhi = -1"));
    assert!(!is_sign("against = \"other\"\nlo = 0\nhi = 0"));
    assert!(!is_sign("against = \"other\""));
}
