//! Rules for the output of every command: 80 columns, no colours without a terminal, and `--json`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Child;

use serde_json::Value;

use super::scratch::{INCAST, Scratch, said};

/// A command, its arguments, its exit status without the Python package, and a place in its JSON that has a value.
/// `@` is the number of the call.
type Call = (&'static str, &'static [&'static str], i32, &'static str);

const CALLS: [Call; 15] = [
    ("list", &[], 0, "/experiments/0/id"),
    ("transports", &[], 0, "/0/name"),
    ("formats", &[], 0, "/distributions/0/mean_bytes"),
    ("explain", &["incast.toml"], 0, "/estimate/memory_bytes_per_run"),
    ("run", &["incast.toml", "--seeds", "1..2"], 0, "/runs/1/summary/flows/completed"),
    ("compare", &["incast.toml", "--transports", "ndp,dctcp"], 0, "/over_seeds/1/series"),
    ("trace", &["incast.toml", "--flow", "0"], 0, "/fct_components/0/time_ps"),
    ("report", &["out/incast"], 2, "/runs/0/summary/flows/completed"),
    (
        "reproduce",
        &["ndp/base", "--no-plot", "--set", "links.delay=2us"],
        1,
        "/experiments/0/findings/0/ours",
    ),
    (
        "bench",
        &["--only", "permutation-128,phost-432", "--repeat", "1", "--duration", "20us"],
        0,
        "/0/ns_per_hop",
    ),
    ("new transport", &["mine", "--path", "mine-@"], 0, "/files/0"),
    ("stats", &["stats.json"], 0, "/ports/0/packets"),
    ("ping", &["127.0.0.41", "--udp", "-a", "127.0.0.42", "-c", "2"], 0, "/pings/0/rtt_us"),
    ("rpc load", &["127.0.0.41", "--udp", "-a", "127.0.0.43", "-c", "20"], 0, "/latency_us/p99"),
    ("trimline-switch", &["switch.toml", "--check"], 0, "/hosts"),
];

/// Commands with `--json` that are not called here: measurements of real networks take minutes.
const LONG: [&str; 1] = ["testbed"];

const SWITCH: &str = "rate = \"1Gbps\"\n[[switch]]\nname = \"s\"\n[[host]]\nswitch = \"s\"\n\
                      interface = \"p\"\naddresses = [{ address = \"10.0.0.1\" }]\n";

/// A child that ends with the test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn program(name: &str) -> (&'static str, Vec<&str>) {
    match name {
        "trimline-switch" => (env!("CARGO_BIN_EXE_trimline-switch"), Vec::new()),
        words => (env!("CARGO_BIN_EXE_trimline"), words.split(' ').collect()),
    }
}

#[track_caller]
fn fits(text: &str, what: &str) {
    let wide = text.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None, "{what}");
    assert!(!text.contains('\x1b'), "{what}: {text}");
}

#[test]
fn every_command_prints_narrow_text_or_json() {
    let scratch = Scratch::new("every");
    scratch.write("incast.toml", INCAST);
    scratch.write("switch.toml", SWITCH);
    let counters: Vec<String> =
        (0..30).map(|number| format!("\"counter_{number}\": {number}")).collect();
    let counters = counters.join(", ");
    scratch.write(
        "stats.json",
        &format!(
            "{{ \"bytes\": 5, \"ports\": [{{ \"switch\": \"s\", \"packets\": 3, {counters} }}] }}"
        ),
    );
    let serve = ["rpc", "serve", "--udp", "-a", "127.0.0.41", "--seconds", "120"];
    let _server = Ends(scratch.command(&serve).spawn().unwrap());
    for (name, arguments, status, place) in CALLS {
        let call = |number: &str, more: &[&str]| {
            let (program, words) = program(name);
            let own = arguments.iter().map(|word| word.replace('@', number));
            let own: Vec<String> = words.into_iter().map(str::to_owned).chain(own).collect();
            let all: Vec<&str> =
                own.iter().map(String::as_str).chain(more.iter().copied()).collect();
            // The server of a ping takes a moment.
            let output = (0..20)
                .map(|_| scratch.program(program, &all).output().unwrap())
                .find(|output| output.status.code() == Some(status) || name != "ping");
            let output = output.expect("an answer");
            assert_eq!(output.status.code(), Some(status), "{name}: {}", said(&output));
            assert!(!said(&output).contains('\x1b'), "{name}: {}", said(&output));
            String::from_utf8(output.stdout).unwrap()
        };
        let text = call("1", &[]);
        assert!(!text.is_empty(), "{name}");
        fits(&text, name);
        let json: Value = serde_json::from_str(&call("2", &["--json"]))
            .unwrap_or_else(|error| panic!("{name} --json: {error}"));
        let value = json.pointer(place);
        assert!(value.is_some_and(|value| !value.is_null()), "{name}: {place}: {json:#}");
    }
    let more = ["reproduce", "ndp/base", "--no-plot", "-v", "--set", "links.delay=2us"];
    fits(&String::from_utf8(scratch.trimline(&more).stdout).unwrap(), "reproduce -v");
}

/// The man pages say which commands have `--json`: each is called here.
#[test]
fn every_command_with_json_is_tested() {
    let scratch = Scratch::new("pages");
    assert!(scratch.trimline(&["completions", "pages"]).status.success());
    let pages = fs::read_dir(scratch.join("pages")).unwrap().map(|entry| entry.unwrap().path());
    let pages = pages.filter(|path| path.extension().is_some_and(|ending| ending == "1"));
    let with_json: BTreeSet<String> = pages
        .filter(|page| fs::read_to_string(page).unwrap().contains("\\-\\-json"))
        .map(|page| page.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    let page = |name: &str| match name {
        "trimline-switch" => name.to_owned(),
        name => format!("trimline-{}", name.replace(' ', "-")),
    };
    let tested = CALLS.iter().map(|call| call.0).chain(LONG).map(page);
    assert_eq!(with_json, tested.collect());
}

/// Every example is described in 80 columns, and the results of some are printed so.
#[test]
fn results_of_examples_fit_a_terminal() {
    const RUN: [&str; 6] =
        ["intervals", "load", "lossless-rack", "own-sizes", "presets", "workloads"];
    let scratch = Scratch::new("examples");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut described = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if path.extension().is_none_or(|ending| ending != "toml") || name == "switch" {
            continue;
        }
        described += 1;
        let path = path.display().to_string();
        for command in ["explain", "run"] {
            if command == "explain" || RUN.contains(&name.as_str()) {
                let output = scratch.trimline(&[command, &path]);
                assert!(output.status.success(), "{command} {name}: {}", said(&output));
                fits(&String::from_utf8(output.stdout).unwrap(), &format!("{command} {name}"));
            }
        }
    }
    assert!(described > RUN.len(), "{described}");
}
