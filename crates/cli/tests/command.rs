//! The program as a user calls it: exit status, messages, files.

#[path = "command/every.rs"]
mod every;
#[path = "command/import.rs"]
mod import;
#[path = "command/output.rs"]
mod output;
#[path = "command/quick.rs"]
mod quick;
#[path = "command/scratch.rs"]
mod scratch;
#[path = "command/statuses.rs"]
mod statuses;
#[path = "command/terminal.rs"]
mod terminal;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use scratch::{INCAST, Scratch, said, succeeded};

/// A scenario whose packets and pauses go round in a ring.
const RING: &str = "topology.leafspine = { leaves = 3, spines = 1, hosts_per_leaf = 2 }\nduration = \"20ms\"\n\
                    transport.cbr = {}\nswitch = { profile = \"drop-tail\", pfc = { xoff = \"5pkt\" } }\n\
                    output.ports = true\n\
                    fixed_route = [ { over = \"tor 0 up 0\", by = \"spine 0 down 1\" },\n\
                    { over = \"tor 1 up 0\", by = \"spine 0 down 2\" },\n\
                    { over = \"tor 2 up 0\", by = \"spine 0 down 0\" } ]\n\
                    [[workload]]\nname = \"w\"\npairs = [[0, 4], [2, 0], [4, 2]]\nsize = \"long-lived\"\n";

#[test]
fn a_deadlock_is_reported_in_the_result() {
    let scratch = Scratch::new("deadlock");
    scratch.write("s.toml", RING);
    let run = scratch.trimline(&["run", "s.toml", "--out", "out"]);
    assert!(run.status.success(), "{run:?}");
    let said = String::from_utf8(run.stdout).unwrap();
    assert!(said.contains(
        "deadlock in seed-1: each of these paused ports waits for the next\n  tor 0 up 0\n"
    ));
    assert!(said.contains("* stopped before its end"), "{said}");
    let summary: serde_json::Value =
        serde_json::from_str(&scratch.read("out/seed-1/summary.json")).unwrap();
    assert_eq!(summary["interrupted"], true);
    let links = ["tor 0 up 0", "spine 0 down 1", "tor 1 up 0"];
    let more = ["spine 0 down 2", "tor 2 up 0", "spine 0 down 0"];
    assert_eq!(summary["pauses"]["deadlock"], serde_json::json!([links, more].concat()));
    assert!(scratch.read("out/seed-1/pauses.csv").contains("\ntor 0 up 0,"));
    // The run would end the same way every time, so it is not repeated.
    let again = scratch.trimline(&["run", "s.toml", "--out", "out", "--resume", "--quiet"]);
    let said = String::from_utf8(again.stderr).unwrap();
    assert!(said.contains("resumed: 1 of 1 runs are complete"), "{said}");
    assert!(
        said.contains("warning: seed-1: deadlock of paused ports: tor 0 up 0, spine 0 down 1"),
        "{said}"
    );
}

#[test]
fn a_repeated_run_writes_equal_bytes() {
    let scratch = Scratch::new("run");
    scratch.write("incast.toml", INCAST);
    succeeded(&scratch.trimline(&["run", "incast.toml"]));
    succeeded(&scratch.trimline(&["run", "incast.toml", "--out", "again", "--engine", "heap"]));
    for file in ["flows.csv", "summary.json"] {
        let first = scratch.read(&format!("out/incast/seed-1/{file}"));
        assert_eq!(first, scratch.read(&format!("again/seed-1/{file}")), "{file}");
        assert!(first.len() > 100);
    }
    assert!(scratch.read("again/seed-1/manifest.json").contains("\"engine\": \"heap\""));
    assert!(!Path::new(&scratch.0.join("again/seed-1/ports.csv")).exists());
    // A second result replaces the first.
    succeeded(&scratch.trimline(&["run", "incast.toml", "--set", "output.ports=true"]));
    assert!(scratch.read("out/incast/seed-1/ports.csv").starts_with("name,packets,bytes,"));
}

/// A release build wrote the golden files; this is a debug build, and `make test` repeats it in a release build.
#[test]
fn every_build_and_engine_writes_the_golden_bytes() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
    let scratch = Scratch::new("golden");
    for (engine, threads) in [("windows", "1"), ("windows", "2"), ("windows", "5"), ("heap", "1")] {
        let scenario = format!("{golden}/scenario.toml");
        let out = format!("{engine}-{threads}");
        let run = ["run", &scenario, "--out", &out, "--engine", engine, "--threads", threads];
        succeeded(&scratch.trimline(&run));
        for file in ["flows.csv", "summary.json"] {
            let expected = fs::read_to_string(format!("{golden}/{file}")).unwrap();
            assert!(scratch.read(&format!("{out}/seed-1/{file}")) == expected, "{out}: {file}");
        }
        let manifest = scratch.read(&format!("{out}/seed-1/manifest.json"));
        assert!(manifest.contains(&format!("\"threads\": {threads}")), "{manifest}");
    }
    // One switch is one thread's work.
    scratch.write(
        "star.toml",
        "topology.star.hosts = 4\n[[workload]]\nname = \"w\"\n\
                   pairs = [[0, 1]]\nsize = \"9KB\"\n",
    );
    let output = scratch.trimline(&["run", "star.toml", "--threads", "2"]);
    succeeded(&output);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("note: 1 thread instead of 2: "), "{said}");
}

#[test]
fn several_runs_have_a_directory_each() {
    let scratch = Scratch::new("runs");
    scratch.write("incast.toml", INCAST);
    let out = scratch.trimline(&["run", "incast.toml", "--seeds", "1..3", "--threads", "2"]);
    let table = succeeded(&out);
    for seed in 1..=3 {
        let summary = scratch.read(&format!("out/incast/seed-{seed}/summary.json"));
        assert!(summary.contains("\"completed\": 8"), "{summary}");
        assert!(table.contains(&format!("seed-{seed}")), "{table}");
    }
    assert!(scratch.read("out/incast/summary.json").contains("\"half_width\""));
    // The terminal shows mean and interval over the seeds; with one seed there is none.
    let interval = table.lines().skip_while(|line| !line.starts_with("mean over seeds")).nth(2);
    assert!(
        interval.is_some_and(|line| line.starts_with("reply") && line.contains(" ± ")),
        "{table}"
    );
    let one = succeeded(&scratch.trimline(&["run", "incast.toml", "--set", "sweep.seeds=[1,2]"]));
    assert!(!one.contains("over seeds"), "{one}");
}

#[test]
fn a_folder_holds_the_runs_of_one_command() {
    let scratch = Scratch::new("one-command");
    scratch.write("incast.toml", INCAST);
    succeeded(&scratch.trimline(&["run", "incast.toml", "--seeds", "1..3"]));
    scratch.write("out/incast/notes.txt", "mine");
    // Fewer seeds of another experiment: the first one's third run must not be averaged in.
    let other = ["run", "incast.toml", "--seeds", "1..2", "--set", "links.rate=100Gbps"];
    let output = scratch.trimline(&other);
    succeeded(&output);
    let removed =
        "note: removed runs of an earlier command from out/incast: seed-1, seed-2, seed-3\n";
    assert_eq!(said(&output), removed);
    let left = results(&scratch.0.join("out/incast"), true);
    let left: Vec<&String> = left.keys().collect();
    assert_eq!(left, ["seed-1/manifest.json", "seed-2/manifest.json"]);
    // Equal results stay until they are made again, and a file of the user stays.
    assert_eq!(said(&scratch.trimline(&other)), "");
    assert_eq!(scratch.read("out/incast/notes.txt"), "mine");
    // Another scenario's folder is left alone; the command fails before anything runs.
    scratch.write("other.toml", INCAST);
    let refused =
        scratch.trimline(&["run", "other.toml", "--seeds", "1..2", "--out", "out/incast"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(said(&refused).contains("out/incast/seed-1 (incast)"), "{}", said(&refused));
    assert_eq!(results(&scratch.0.join("out/incast"), true).len(), 2);
    // Two files of one name have two folders.
    for place in ["p1", "p2"] {
        fs::create_dir(scratch.0.join(place)).unwrap();
        scratch.write(&format!("{place}/x.toml"), INCAST);
        succeeded(&scratch.trimline(&["run", &format!("{place}/x.toml")]));
        assert!(scratch.0.join(format!("out/{place}/x/seed-1/flows.csv")).is_file());
    }
}

#[test]
fn a_run_beyond_memory_is_refused_with_its_need() {
    let scratch = Scratch::new("memory");
    let large = "topology.fattree.hosts = 1024\nduration = \"100000s\"\n[[workload]]\nname = \"p\"\n\
                 permutation = {}\nsize = \"long-lived\"\noutput.timeline.flows = [[0, 1]]\n";
    let large =
        large.replace("[[workload]]", "[output]\ntimeline = { flows = [[0, 1]] }\n[[workload]]");
    scratch.write("large.toml", large.trim_end_matches("output.timeline.flows = [[0, 1]]\n"));
    let text = succeeded(&scratch.trimline(&["explain", "large.toml"]));
    let number =
        text.lines().last().unwrap().split(", ").last().unwrap().replace(" of memory per run", "");
    assert!(number.ends_with(" TB"), "{text}");
    let refused = scratch.trimline(&["run", "large.toml"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(said(&refused).contains(&format!("seed-1 needs roughly {number} of memory")));
    assert!(said(&refused).contains("--ignore-memory"), "{}", said(&refused));
    let short = ["run", "large.toml", "--set", "duration=1us", "--ignore-memory", "--quiet"];
    assert_eq!(succeeded(&scratch.trimline(&short)), "");
    // A reproduction is refused as well, before its first run.
    let paths = ["--set", "duration=100000s", "--set", "output.timeline.flows=[[0, 431]]"];
    let refused = scratch.trimline(&[&["reproduce", "ndp/fig14"], &paths[..]].concat());
    assert_eq!(refused.status.code(), Some(2));
    let text = said(&refused);
    assert!(text.contains("of memory") && text.contains("--ignore-memory"), "{text}");
    assert!(!scratch.0.join("out/ndp").exists());
}

#[test]
fn a_misused_trace_command_removes_no_file() {
    let scratch = Scratch::new("trace-misuse");
    scratch.write("incast.toml", INCAST);
    let out = ["--out", "x"];
    succeeded(&scratch.trimline(&[&["run", "incast.toml", "--seeds", "1..2"], &out[..]].concat()));
    let before = results(&scratch.0.join("x"), true);
    assert_eq!(before.len(), 2);
    for more in [&["--flow", "99"][..], &[]] {
        let refused = scratch.trimline(&[&["trace", "incast.toml"], &out[..], more].concat());
        assert_eq!(refused.status.code(), Some(2), "{more:?}");
        assert_eq!(results(&scratch.0.join("x"), true), before);
    }
    let done = scratch.trimline(&[&["trace", "incast.toml", "--flow", "0"], &out[..]].concat());
    succeeded(&done);
    assert!(said(&done).contains("from x: seed-1, seed-2"), "{}", said(&done));
    // The parts of its completion time are all of it.
    let column = |text: &str, place: usize| -> Vec<u64> {
        let cells = text.lines().filter_map(|line| line.split(',').nth(place));
        cells.filter_map(|cell| cell.parse().ok()).collect()
    };
    let flows = scratch.read("x/flows.csv");
    let (wait, fct) = (column(&flows, 7)[0], column(&flows, 8)[0]);
    let parts = column(&scratch.read("x/fct_components.csv"), 1);
    assert_eq!((parts[0], parts.iter().sum::<u64>()), (wait, fct));
}

#[test]
fn overload_and_the_meaning_of_seeds_are_warned_of() {
    let scratch = Scratch::new("said");
    let scenario = "duration = \"100us\"\ntopology.star.hosts = 4\n[[workload]]\nname = \"w\"\n\
                    random = {}\nsize = \"9KB\"\narrivals.poisson.load = \"200%\"\n";
    scratch.write("w.toml", scenario);
    let output = scratch.trimline(&["run", "w.toml"]);
    succeeded(&output);
    assert!(
        said(&output).starts_with("warning: workload w offers 201 % of the rate"),
        "{}",
        said(&output)
    );
    let text = succeeded(&scratch.trimline(&["explain", "w.toml"]));
    assert!(text.contains("  overload   workload w offers 201 % of the rate"), "{text}");
    let misread = scratch.trimline(&["run", "w.toml", "--seeds", "3"]);
    assert_eq!(misread.status.code(), Some(2));
    assert!(said(&misread).contains("3 may be one seed or 3 seeds"), "{}", said(&misread));
    succeeded(&scratch.trimline(&["run", "w.toml", "--seed", "3"]));
    assert!(scratch.read("out/w/seed-3/manifest.json").contains("\"seed\": 3"));
}

#[test]
fn json_output_has_no_other_text() {
    let scratch = Scratch::new("json");
    scratch.write("incast.toml", INCAST);
    let json = succeeded(&scratch.trimline(&["run", "incast.toml", "--seeds", "1..2", "--json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["runs"][1]["folder"], "out/incast/seed-2");
    assert_eq!(json["runs"][1]["summary"]["workloads"][0]["workload"], "reply");
    assert_eq!(json["over_seeds"][0]["workloads"][0]["fct_receiver_max_us"]["count"], 2);
    let output = scratch.trimline(&["run", "incast.toml", "--quiet"]);
    assert_eq!((succeeded(&output), said(&output).contains("note")), (String::new(), true));
}

const SWEEP: &str = "seeds = \"1..2\"\ntopology.star.hosts = 9\n[[workload]]\nname = \"reply\"\nsize = \"90KB\"\n\
                     incast = { receiver = 0, senders = 8 }\n[sweep]\nworkload.reply.incast.senders = [2, 5, 8]\n\
                     [[series]]\nname = \"a\"\n[[series]]\nname = \"b\"\nswitch.data_queue = \"4pkt\"\n";

/// Returns the text of every file below a folder, by path: only manifests, or all others. A repeated run has another
/// manifest.
fn results(folder: &Path, manifests: bool) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(here) = folders.pop() {
        for entry in fs::read_dir(here).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("manifest.json") == manifests {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, fs::read_to_string(path).unwrap());
            }
        }
    }
    found
}

/// Returns the runs whose manifest changed: they were repeated.
fn done_again(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    let differs = |name: &&String| before.get(*name) != after.get(*name);
    after.keys().filter(differs).cloned().collect()
}

#[test]
fn a_stopped_sweep_resumes_to_equal_bytes() {
    let scratch = Scratch::new("resume");
    scratch.write("sweep.toml", SWEEP);
    let out = scratch.0.join("out/sweep");
    succeeded(&scratch.trimline(&["run", "sweep.toml"]));
    let whole = results(&out, false);
    assert_eq!(whole.len(), 12 * 3 + 1);

    // One run missing, one stopped before its end, one half-written, and no summary over all.
    fs::remove_dir_all(out.join("a/senders=5/seed-2")).unwrap();
    let stopped = "out/sweep/b/senders=8/seed-1/manifest.json";
    let manifest = scratch.read(stopped);
    let cut = manifest.replace("\"interrupted\": false", "\"interrupted\": true");
    assert_ne!(cut, manifest);
    scratch.write(stopped, &cut);
    scratch.write("out/sweep/b/senders=8/seed-1/flows.csv", "half\n");
    fs::create_dir(out.join("a/senders=2/.seed-1.partial-7")).unwrap();
    scratch.write("out/sweep/b/senders=2/seed-2/summary.json", "{");
    fs::remove_file(out.join("summary.json")).unwrap();
    let before = results(&out, true);
    let resumed = scratch.trimline(&["run", "sweep.toml", "--resume"]);
    succeeded(&resumed);
    let said = String::from_utf8(resumed.stderr).unwrap();
    assert_eq!(said, "resumed: 9 of 12 runs are complete\n");
    assert_eq!(results(&out, false), whole);
    let again = ["a/senders=5/seed-2", "b/senders=2/seed-2", "b/senders=8/seed-1"];
    let again = again.map(|run| format!("{run}/manifest.json"));
    assert_eq!(done_again(&before, &results(&out, true)), again);

    // Nothing to do, and nothing is done; without the option everything is.
    let before = results(&out, true);
    succeeded(&scratch.trimline(&["run", "sweep.toml", "--resume"]));
    assert_eq!(done_again(&before, &results(&out, true)), [""; 0]);
    assert_eq!(results(&out, false), whole);
    succeeded(&scratch.trimline(&["run", "sweep.toml"]));
    assert_eq!(done_again(&before, &results(&out, true)).len(), 12);

    // Results of another scenario, other settings, or another program are not mixed in.
    let before = results(&out, true);
    scratch.write("sweep.toml", &SWEEP.replace("4pkt", "5pkt"));
    let changed = scratch.trimline(&["run", "sweep.toml", "--resume"]);
    assert!(
        String::from_utf8_lossy(&changed.stderr).contains("12 results are of another scenario")
    );
    let after = results(&out, true);
    assert_eq!(done_again(&before, &after).len(), 12);
    succeeded(&scratch.trimline(&["run", "sweep.toml", "--resume", "--engine", "heap"]));
    let heap = results(&out, true);
    assert_eq!(done_again(&after, &heap).len(), 12);
    let older =
        heap["a/senders=2/seed-1/manifest.json"].replacen("\"source\": \"", "\"source\": \"0", 1);
    scratch.write("out/sweep/a/senders=2/seed-1/manifest.json", &older);
    succeeded(&scratch.trimline(&["run", "sweep.toml", "--resume", "--engine", "heap"]));
    assert_eq!(done_again(&heap, &results(&out, true)), ["a/senders=2/seed-1/manifest.json"]);
}

#[test]
fn a_changed_file_of_a_scenario_prevents_a_resume() {
    let scratch = Scratch::new("resume-file");
    let scenario = INCAST.to_owned() + "[transport.ndp]\npull_spacing = { file = \"gaps.csv\" }\n";
    scratch.write("incast.toml", &scenario);
    scratch.write("gaps.csv", "7000,0.5\n7500,1\n");
    succeeded(&scratch.trimline(&["run", "incast.toml"]));
    let resumed = || {
        let output = scratch.trimline(&["run", "incast.toml", "--resume"]);
        succeeded(&output);
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(resumed().contains("1 of 1 runs"));
    scratch.write("gaps.csv", "7000,0.5\n7600,1\n");
    assert!(resumed().contains("0 of 1 runs"));
}

#[test]
fn a_stopped_reproduction_resumes_to_an_equal_verdict() {
    let scratch = Scratch::new("resume-reproduce");
    let base = ["reproduce", "ndp/base", "--no-plot", "--seeds", "1..2"];
    let resume = [&base[..], &["--resume"]].concat();
    let table = succeeded(&scratch.trimline(&base));
    let out = scratch.0.join("out/ndp/base");
    let whole = results(&out, false);
    fs::remove_dir_all(out.join("runs/packets-1/seed-2")).unwrap();
    fs::remove_file(out.join("runs/packets-1/seed-1/measures.json")).unwrap();
    fs::remove_file(out.join("findings.json")).unwrap();
    let before = results(&out, true);
    let resumed = scratch.trimline(&resume);
    assert_eq!(succeeded(&resumed), table);
    assert_eq!(results(&out, false), whole);
    let again = done_again(&before, &results(&out, true));
    assert_eq!(again, [1, 2].map(|seed| format!("runs/packets-1/seed-{seed}/manifest.json")));

    // A run that the scenario no longer has is removed.
    succeeded(&scratch.trimline(&["reproduce", "ndp/base", "--no-plot", "--resume"]));
    assert!(!out.join("runs/packets-1/seed-2").exists());
}

fn example(name: &str) -> String {
    format!("{}/../../examples/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_example_runs() {
    let scratch = Scratch::new("examples");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let scenarios =
        files.filter(|file| file.extension().is_some_and(|extension| extension == "toml"));
    for file in scenarios.filter(|file| !file.ends_with("switch.toml")) {
        let file = file.to_str().unwrap();
        let explained = succeeded(&scratch.trimline(&["explain", file]));
        assert!(explained.contains("packet-hops"), "{explained}");
        succeeded(&scratch.trimline(&["run", file, "--seeds", "1", "--out", "out"]));
        fs::remove_dir_all(scratch.0.join("out")).unwrap();
    }
}

/// A run waits for payload that arrives, a flow that is to start and a link that comes back. A run that cannot end is
/// given up, with a warning.
#[test]
fn a_run_without_a_duration_lasts_while_a_flow_can_progress() {
    let scratch = Scratch::new("patience");
    let run = |name: &str, text: &str| {
        let file = format!("{name}.toml");
        scratch.write(&file, text);
        let output = scratch.trimline(&["run", &file, "--out", name]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        succeeded(&output);
        let summary = scratch.read(&format!("{name}/seed-1/summary.json"));
        let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
        (summary["flows"]["completed"].as_u64().unwrap(), said)
    };
    let flow = |more: &str| {
        format!("[[workload]]\nname = \"w\"\npairs = [[0, 1]]\nsize = \"9MB\"\n{more}")
    };
    let cable = "topology.back_to_back = {}\n";
    for (name, transport) in [("ndp", "ndp.rto = \"1s\""), ("tcp", "tcp = {}")] {
        let slow = format!("{cable}links.rate = \"1Mbps\"\ntransport.{transport}\n");
        assert_eq!(run(name, &(slow + &flow(""))), (1, String::new()), "72 s at 1 Mb/s");
    }
    let late = format!("{cable}transport.ndp = {{}}\n{}", flow("start = \"40s\"\n"));
    assert_eq!(run("late", &late), (1, String::new()));
    let failed = |at: &str, change: &str| {
        format!("[[link_event]]\nat = \"{at}\"\nlink = \"tor 0 down 1\"\nchange = \"{change}\"\n")
    };
    let star = format!("topology.star.hosts = 2\ntransport.ndp = {{}}\n{}", flow(""));
    let dead = star + &failed("10us", "fail");
    assert_eq!(run("back", &format!("{dead}{}", failed("80s", "restore"))), (1, String::new()));
    let (completed, said) = run("dead", &dead);
    assert_eq!(completed, 0);
    let expected =
        "stalled after 30 s of virtual time: no packet arrived any more; incomplete flows: 1";
    assert!(said.starts_with("warning: ") && said.contains(expected), "{said}");
    let past =
        format!("duration = \"1ms\"\n{cable}transport.ndp = {{}}\n{}", flow("start = \"2ms\"\n"));
    let (completed, said) = run("past", &past);
    assert_eq!(completed, 0);
    assert!(said.contains("1 of 1 flows did not start before the run ended"), "{said}");
}

#[test]
fn the_window_of_a_preset_slows_no_flow() {
    let scratch = Scratch::new("presets");
    let slowdown = |directory: &str, rate: &str| {
        let summary = scratch.read(&format!("{directory}/{rate}/seed-1/summary.json"));
        let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
        summary["slowdown"]["max"].as_f64().unwrap()
    };
    succeeded(&scratch.trimline(&["run", &example("presets"), "--out", "bdp"]));
    for rate in ["10G", "25G", "40G", "50G", "100G", "200G", "400G", "800G"] {
        assert_eq!(slowdown("bdp", rate), 1.0, "{rate}");
    }
    // 139 packets are on the way at 800 Gb/s: a hundred are too few, and more than enough at 400.
    let set = ["--set", "transport.ndp.initial_window=100"];
    succeeded(
        &scratch.trimline(&[&["run", &example("presets"), "--out", "few"], &set[..]].concat()),
    );
    assert_eq!(slowdown("few", "400G"), 1.0);
    assert!(slowdown("few", "800G") > 1.2);
}

#[test]
fn a_scenario_error_is_named_and_writes_nothing() {
    let scratch = Scratch::new("mistake");
    scratch.write("incast.toml", &INCAST.replace("\"90KB\"", "\"90kB\""));
    let output = scratch.trimline(&["run", "incast.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    let first = stderr.lines().next().unwrap();
    assert_eq!(
        first,
        "error: incast.toml:4:8: \"90kB\" has the unknown unit `kB` (at `\"90kB\"`); expected \
         \"long-lived\", or a size such as \"9000B\" (units: B, KB, MB, GB of 1000; KiB, MiB, GiB of \
         1024), or a table with distribution, file, format, packet, interpolation, \
         pareto, mixture; nearest: \"90KB\""
    );
    assert!(stderr.contains("size = \"90kB\""), "the line is shown: {stderr}");
    assert_eq!(stderr.matches("has the unknown unit").count(), 1, "{stderr}");
    assert!(output.stdout.is_empty());
    assert_eq!(scratch.names(), ["incast.toml"]);
}

#[test]
fn misuse_has_exit_status_two() {
    let scratch = Scratch::new("misuse");
    scratch.write("incast.toml", INCAST);
    scratch.write("thesis.tex", "precious");
    for arguments in [
        &["run"][..],
        &["run", "nothing.toml"],
        &["run", "incast.toml", "--threads", "0"],
        &["run", "incast.toml", "--set", "seeds"],
        &["run", "incast.toml", "--engine", "steam"],
        &["reproduce", "ndp/fig99"],
        &["reproduce", "ndp/base", "--set", "seed=1"],
        &["bench", "--only", "permutation-7"],
        &["list", "--experiments", "nowhere"],
        &["explain", "nothing.toml"],
        &["frobnicate"],
    ] {
        let output = scratch.trimline(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
        assert_eq!(scratch.names(), ["incast.toml", "thesis.tex"], "{arguments:?}");
    }
}

#[test]
fn reproduce_writes_its_verdicts_as_json() {
    let scratch = Scratch::new("reproduce");
    let output = scratch.trimline(&["reproduce", "ndp/base", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&succeeded(&output)).unwrap();
    let experiment = &report["experiments"][0];
    assert_eq!(experiment["id"], "ndp/base");
    let finding = &experiment["findings"][0];
    let keys: Vec<&str> = finding.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["name", "paper", "reference", "ours", "lo", "hi", "unit", "holds"]);
    assert_eq!((&finding["ours"], &finding["holds"]), (&259.792.into(), &true.into()));
    // Without the Python package the verdict stands, and stderr says how to draw.
    assert!(String::from_utf8_lossy(&output.stderr).contains("trimline.plot"));
    assert!(scratch.read("out/ndp/base/runs/packets-1/seed-1/flows.csv").contains("55814400"));
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&scratch.read("out/ndp/base/findings.json"))
            .unwrap(),
        *experiment
    );

    let slow = ["reproduce", "ndp/base", "--no-plot", "--set", "links.delay=2us"];
    let shown = [&slow[..], &["-v"]].concat();
    let [summary, table] = [&slow[..], &shown].map(|arguments| {
        let output = scratch.trimline(arguments);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stdout).unwrap()
    });
    assert!(table.contains("DOES NOT HOLD") && !table.contains('\x1b'), "{table}");
    assert!(summary.contains("\n0 of 4 findings hold (-v shows every finding"), "{summary}");
    let is_wide = |line: &str| line.chars().count() > 80;
    assert!(summary.lines().count() == 3 && !summary.lines().any(is_wide), "{summary}");
}

/// Cached runs do not cover other settings.
#[test]
fn cached_runs_with_other_settings_are_refused() {
    let scratch = Scratch::new("kept-settings");
    scratch.write("cached.jsonl", "");
    let base = ["reproduce", "ndp/base", "--no-plot", "--cached", "cached.jsonl"];
    for setting in [["--set", "links.delay=2us"], ["--seeds", "1..2"]] {
        let output = scratch.trimline(&[&base[..], &setting[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{setting:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("--cached with settings"), "{said}");
        assert_eq!(scratch.names(), ["cached.jsonl"], "{setting:?}");
    }
}

#[test]
fn two_reproductions_are_not_mixed() {
    let scratch = Scratch::new("again");
    let base = ["reproduce", "ndp/base", "--no-plot"];
    succeeded(&scratch.trimline(&[&base[..], &["--seeds", "1..2"]].concat()));
    scratch.write("out/ndp/base/runs/notes.txt", "mine");
    assert!(scratch.0.join("out/ndp/base/runs/packets-1/seed-2").is_dir());
    succeeded(&scratch.trimline(&base));
    assert!(scratch.0.join("out/ndp/base/runs/packets-1/seed-1").is_dir());
    assert!(!scratch.0.join("out/ndp/base/runs/packets-1/seed-2").exists());
    assert_eq!(scratch.read("out/ndp/base/runs/notes.txt"), "mine");
}

#[test]
fn list_schema_and_explain_print_their_texts() {
    let scratch = Scratch::new("print");
    scratch.write("incast.toml", INCAST);
    let list: serde_json::Value =
        serde_json::from_str(&succeeded(&scratch.trimline(&["list", "--json"]))).unwrap();
    assert!(list["experiments"].as_array().unwrap().iter().any(|e| e["id"] == "ndp/fig14"));
    let schema = succeeded(&scratch.trimline(&["schema"]));
    assert_eq!(schema, include_str!("../../../schema/scenario.schema.json"));
    let text = succeeded(&scratch.trimline(&["explain", "incast.toml"]));
    assert!(text.contains("8 hosts send to host 0") && text.contains("packet-hops"), "{text}");
    assert_eq!(scratch.names(), ["incast.toml"]);
}

#[test]
fn bench_measures_a_separate_process() {
    let scratch = Scratch::new("bench");
    let arguments =
        ["bench", "--json", "--only", "permutation-128", "--repeat", "1", "--duration", "0.1ms"];
    let lines: serde_json::Value =
        serde_json::from_str(&succeeded(&scratch.trimline(&arguments))).unwrap();
    let line = lines[0].as_object().unwrap();
    let keys: Vec<&str> = line.keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "workload",
            "hosts",
            "threads",
            "hops",
            "set_up_seconds",
            "seconds",
            "wall_seconds",
            "ns_per_hop",
            "speed_up",
            "instructions_per_hop",
            "peak_rss_bytes",
            "bytes_per_host"
        ]
    );
    assert!(line["hops"].as_u64().unwrap() > 1000 && line["instructions_per_hop"].is_null());
    assert!(line["speed_up"].is_null());
    let pairs = [&arguments[..], &["--threads", "2"]].concat();
    let lines: serde_json::Value =
        serde_json::from_str(&succeeded(&scratch.trimline(&pairs))).unwrap();
    assert_eq!(lines[0]["hops"], line["hops"]);
    assert_eq!(lines[0]["threads"], 2);
    assert!(lines[0]["speed_up"].as_f64().unwrap() > 0.0);
}

#[test]
fn ctrl_c_stops_a_run_with_a_partial_result() {
    let scratch = Scratch::new("interrupt");
    let endless = "topology.fattree.hosts = 128\nduration = \"1000s\"\n[[workload]]\nname = \"p\"\n\
                   permutation = {}\nsize = \"long-lived\"\n\
                   [[workload]]\nname = \"late\"\npairs = [[0, 1]]\nsize = \"9KB\"\nstart = \"999s\"\n";
    scratch.write("endless.toml", endless);
    let mut child = scratch
        .command(&["run", "endless.toml"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Long enough to be inside the run; the handler is set before it begins.
    std::thread::sleep(Duration::from_millis(500));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let deadline = Instant::now() + Duration::from_secs(30);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("the run did not stop");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(130));
    let summary = scratch.read("out/endless/seed-1/summary.json");
    assert!(summary.contains("\"interrupted\": true"), "{summary}");
    let flows = scratch.read("out/endless/seed-1/flows.csv");
    assert_eq!(flows.matches(",long-lived\n").count(), 128);
    assert_eq!(flows.matches(",not-started\n").count(), 1);
    assert_eq!(scratch.names(), ["endless.toml", "out"]);
}

#[test]
fn transports_are_listed_with_label_and_colour() {
    let scratch = Scratch::new("transports");
    let text = succeeded(&scratch.trimline(&["transports"]));
    assert!(text.contains("NDP (SIGCOMM 2017)"), "{text}");
    let json = succeeded(&scratch.trimline(&["transports", "--json"]));
    let all: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    assert_eq!(text.lines().count(), 1 + all.len(), "a line each below the head: {text}");
    assert_eq!(all.last().unwrap()["name"], "hpcc");
    assert_eq!((&all[2]["name"], &all[2]["label"]), (&"dctcp".into(), &"DCTCP".into()));
}

/// docs/first-hour.md builds the crate and runs it.
#[test]
fn a_crate_for_a_transport_is_written_once() {
    let scratch = Scratch::new("new-transport");
    succeeded(&scratch.trimline(&["new", "transport", "my_own", "--path", "there/mine"]));
    let read = |file: &str| scratch.read(&format!("there/mine/{file}"));
    assert!(read("Cargo.toml").contains("name = \"my_own\""));
    assert!(read("Cargo.toml").contains("/crates/sim\" }"));
    assert!(read("src/lib.rs").contains("impl Transport for MyOwn"));
    assert!(
        read("src/main.rs").contains("command_with(std::env::args_os(), &[my_own::TRANSPORT])")
    );
    assert!(read("tests/suites.rs").contains("every_profile(TRANSPORT)"));
    assert!(read("Cargo.lock").contains("trimline-sim"));
    let refused = |arguments: &[&str]| {
        let output = scratch.trimline(&[&["new", "transport"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(refused(&["my_own", "--path", "there/mine"]).contains("there/mine: exists"));
    assert!(refused(&["tcp"]).contains("is an existing transport"));
    assert!(refused(&["Paced"]).contains("lower-case"));
    let nowhere = refused(&["paced", "--trimline", "there"]);
    assert!(nowhere.contains("not a checkout of Trimline"), "{nowhere}");
    assert_eq!(scratch.names(), ["there"]);
}

#[test]
fn workloads_of_one_run_have_their_own_transports() {
    let scratch = Scratch::new("several");
    let scenario = "topology.star.hosts = 4\nswitch.profile = \"paper\"\n\
                    transport = { ndp = {}, dctcp = { rto_min = \"1ms\" } }\n\
                    [[workload]]\nname = \"new\"\ntransport = \"ndp\"\npermutation = {}\nsize = \"90KB\"\n\
                    [[workload]]\nname = \"old\"\ntransport = \"dctcp\"\npermutation = {}\nsize = \"90KB\"\n";
    scratch.write("mixed.toml", scenario);
    let text = succeeded(&scratch.trimline(&["explain", "mixed.toml"]));
    for line in ["transport  NDP: ", "transport  DCTCP: ", "with ndp\n", "with dctcp\n", "roughly "]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    succeeded(&scratch.trimline(&["run", "mixed.toml"]));
    let rows = scratch.read("out/mixed/seed-1/flows.csv");
    assert_eq!(rows.matches(",completed").count(), 8, "{rows}");
    // Without the package there are the runs' tables, and a hint how to get the other one.
    let report = scratch.trimline(&["report", "out/mixed"]);
    assert_eq!(report.status.code(), Some(2));
    assert!(said(&report).contains("install it with `pip install .`"), "{}", said(&report));
    let table = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(table.contains("flows of a size") && table.contains("seed-1"), "{table}");
    let output = scratch.trimline(&["compare", "mixed.toml", "--transports", "ndp,dctcp"]);
    assert!(said(&output).contains("install it with `pip install .`"), "{}", said(&output));
    assert!(succeeded(&output).contains("slowdown p50/p99"));
    let output = scratch.trimline(&["compare", "mixed.toml", "--transports", "ndp,dctpc"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no transport `dctpc`") && said.contains("nearest: dctcp"), "{said}");
}

#[test]
fn schemes_come_from_names_or_a_file() {
    let scratch = Scratch::new("schemes");
    let scenario = "topology.star.hosts = 4\n\
                    [[workload]]\nname = \"w\"\npermutation = {}\nsize = \"90KB\"\n";
    scratch.write("work.toml", scenario);
    let refused = |arguments: &[&str]| {
        let output = scratch.trimline(&[&["compare", "work.toml"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(refused(&[]).contains("--transports"));
    assert!(refused(&["--schemes", "ndp", "--transports", "ndp"]).contains("cannot be used with"));
    assert!(refused(&["--schemes", "ndp", "--timers", "rfc"]).contains("cannot be used with"));
    let unknown = refused(&["--schemes", "ndp,hul"]);
    assert!(unknown.contains("--schemes:1:19: no scheme `hul`"), "{unknown}");
    assert!(unknown.contains("nearest: hull"), "{unknown}");
    assert!(refused(&["--schemes", "none.toml"]).contains("none.toml"));
    scratch.write("own.toml", "[[scheme]]\nname = \"mine\"\nswitch.profile = \"qos\"\n");
    assert!(refused(&["--schemes", "own.toml"]).contains("own.toml:2:8: scheme `mine` says no"));
    let own = "[[scheme]]\nname = \"mine\"\nlike = \"tcp\"\nswitch.profile = \"qos\"\n";
    scratch.write("own.toml", own);
    // Everything is right, but the package that makes the table is missing.
    let output = scratch.trimline(&["compare", "work.toml", "--schemes", "own.toml"]);
    assert!(succeeded(&output).contains("mine/seed-1"));
    // The schemes in a scenario.
    scratch.write("both.toml", &format!("schemes = [\"hull\", \"mine\"]\n{scenario}{own}"));
    let text = succeeded(&scratch.trimline(&["explain", "both.toml"]));
    for line in ["profile drop-tail", "class 3 to class 0, each", "phantom"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    succeeded(&scratch.trimline(&["run", "both.toml"]));
    assert!(scratch.read("out/both/hull/seed-1/flows.csv").contains(",completed"));
}
