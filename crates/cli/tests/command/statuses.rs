//! Exit statuses: every kind of failure has the status that `trimline --help` lists.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::scratch::{INCAST, Scratch, said, succeeded};

const LARGE: &str = "topology.fattree.hosts = 1024\nduration = \"100000s\"\n\
                     output = { timeline = { flows = [[0, 1]] } }\n\
                     [[workload]]\nname = \"p\"\npermutation = {}\nsize = \"long-lived\"\n";

#[test]
fn failures_have_the_documented_status() {
    let scratch = Scratch::new("statuses");
    scratch.write("incast.toml", INCAST);
    scratch.write("wrong.toml", "topology.star.hosts = 3\nengine = \"steam\"\n");
    scratch.write("large.toml", LARGE);
    scratch.write("numbers.json", "[1]");
    fs::create_dir_all(scratch.join("broken/run/seed-1")).unwrap();
    let errors: [&[&str]; 27] = [
        // The command line.
        &[],
        &["rnu"],
        &["run"],
        &["run", "incast.toml", "--engine", "steam"],
        &["run", "incast.toml", "--json", "--quiet"],
        &["run", "incast.toml", "--threads", "0"],
        &["run", "incast.toml", "--seeds", "3"],
        &["compare", "incast.toml"],
        &["compare", "incast.toml", "--transports", "nodp"],
        &["trace", "incast.toml"],
        &["trace", "incast.toml", "--flow", "99"],
        &["trace", "incast.toml", "--flow", "0", "--run", "none"],
        &["bench", "--only", "none"],
        &["reproduce", "ndp/none"],
        &["new", "transport", "tcp"],
        &["stats", "numbers.json", "--every", "nan"],
        &["ping", "127.0.0.1", "-a", "127.0.0.1"],
        // Files, scenarios, folders and memory.
        &["explain", "none.toml"],
        &["explain", "wrong.toml"],
        &["run", "wrong.toml"],
        &["run", "incast.toml", "--out", "wrong.toml"],
        &["run", "large.toml"],
        &["report", "none"],
        &["list", "--experiments", "none"],
        &["stats", "numbers.json"],
        &["key", "new", "incast.toml"],
        // An interface.
        &["ping", "127.0.0.1", "-a", "127.0.0.1", "-i", "none"],
    ];
    for arguments in errors {
        let with_json = [arguments, &["--json"]].concat();
        for arguments in [arguments, &with_json] {
            let output = scratch.trimline(arguments);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", said(&output));
            assert!(output.stdout.is_empty(), "{arguments:?}");
            let is_error = said(&output).lines().any(|line| line.starts_with("error: "));
            assert!(is_error || arguments.is_empty(), "{arguments:?}: {}", said(&output));
        }
    }
    let program = env!("CARGO_BIN_EXE_trimline-switch");
    let output = scratch.program(program, &["wrong.toml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    // Done, but a finding does not hold, or nothing answers.
    for arguments in [
        &["reproduce", "ndp/base", "--no-plot", "--set", "links.delay=2us"][..],
        &["ping", "127.0.0.51", "--udp", "-a", "127.0.0.52", "-c", "1"],
        &["rpc", "load", "127.0.0.51", "--udp", "-a", "127.0.0.53", "-c", "1"],
    ] {
        let output = scratch.trimline(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", said(&output));
        assert!(!output.stdout.is_empty(), "{arguments:?}");
    }
    for arguments in [&["--help"][..], &["--version"], &["help", "run"], &["formats"]] {
        succeeded(&scratch.trimline(arguments));
    }
    let help = succeeded(&scratch.trimline(&["--help"]));
    for status in ["  0 ", "  1 ", "  2 ", "  101 ", "  130 "] {
        assert!(help.contains(&format!("\n{status}")), "{status}: {help}");
    }
}

/// Commands that write what there is, and commands that end at once.
#[test]
fn interrupts_have_one_status() {
    let scratch = Scratch::new("interrupts");
    scratch.write("large.toml", LARGE);
    let every = ["stats", "stats.json", "--every", "0.1"];
    scratch.write("stats.json", "{ \"frames\": 3 }");
    for (arguments, signal) in [
        (&["trace", "large.toml", "--flow", "0"][..], "-INT"),
        (&["bench", "--only", "permutation-128", "--repeat", "9999", "--duration", "1ms"], "-INT"),
        (&every, "-TERM"),
    ] {
        let mut command = scratch.command(arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        let id = child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        let deadline = Instant::now() + Duration::from_secs(30);
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > deadline {
                child.kill().unwrap();
                panic!("{arguments:?} did not stop");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(child.wait().unwrap().code(), Some(130), "{arguments:?}");
    }
}
