//! The program's outputs and its errors: folders of results, standard output.

use std::fs;
use std::time::{Duration, Instant};

use super::scratch::{INCAST, Scratch, said, succeeded};

#[test]
fn two_commands_do_not_write_into_one_folder() {
    let scratch = Scratch::new("two-commands");
    let endless = "topology.fattree.hosts = 128\nduration = \"1000s\"\n[[workload]]\nname = \"p\"\n\
                   permutation = {}\nsize = \"long-lived\"\n";
    scratch.write("endless.toml", endless);
    let mut first = scratch.command(&["run", "endless.toml", "--quiet"]).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while !scratch.0.join("out/.endless.lock").exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    let second = scratch.trimline(&["run", "endless.toml", "--set", "duration=1us"]);
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(second.status.code(), Some(2));
    assert!(said(&second).contains("another command is writing results into this folder"));
    // A command that was killed holds no lock.
    succeeded(&scratch.trimline(&["run", "endless.toml", "--set", "duration=1us"]));
}

#[test]
fn a_result_of_other_settings_is_replaced_with_a_notice() {
    let scratch = Scratch::new("replaced");
    scratch.write("incast.toml", INCAST);
    let run = |settings: &[&str]| {
        let output = scratch.trimline(&[&["run", "incast.toml", "--out", "o"], settings].concat());
        succeeded(&output);
        said(&output)
    };
    let described = "removed a run of an earlier command from o: seed-1";
    let said = [&[][..], &[], &["--set", "duration=1ms"], &["--set", "duration=1ms", "--resume"]]
        .map(|settings| run(settings).contains(described));
    assert_eq!(said, [false, false, true, false]);
}

#[test]
fn the_output_folder_is_checked_before_a_run() {
    let scratch = Scratch::new("out-first");
    let long = "topology.fattree.hosts = 128\nduration = \"1000s\"\n[[workload]]\nname = \"p\"\n\
                permutation = {}\nsize = \"long-lived\"\n";
    scratch.write("long.toml", long);
    scratch.write("thesis.tex", "precious");
    fs::create_dir_all(scratch.0.join("folder/seed-2")).unwrap();
    scratch.write("folder/seed-2/thesis.tex", "precious");
    let start = Instant::now();
    for (out, seeds) in
        [("thesis.tex", "1"), ("thesis.tex/x", "1"), ("folder", "1..2"), ("folder", "[2]")]
    {
        let output = scratch.trimline(&["run", "long.toml", "--out", out, "--seeds", seeds]);
        assert_eq!(output.status.code(), Some(2), "{out}: {}", said(&output));
        assert_eq!(said(&output).lines().count(), 1, "{}", said(&output));
    }
    assert!(start.elapsed() < Duration::from_secs(20));
    assert_eq!(scratch.names(), ["folder", "long.toml", "thesis.tex"]);
}

#[test]
fn a_result_in_a_linked_folder_goes_to_its_target() {
    let scratch = Scratch::new("links");
    scratch.write("incast.toml", INCAST);
    fs::create_dir(scratch.0.join("real")).unwrap();
    std::os::unix::fs::symlink("real", scratch.0.join("lk")).unwrap();
    for _ in 0..2 {
        succeeded(&scratch.trimline(&["run", "incast.toml", "--out", "lk"]));
        assert!(scratch.0.join("lk").is_symlink());
        assert!(scratch.read("real/seed-1/manifest.json").contains("\"scenario\": \"incast\""));
        assert_eq!(scratch.names(), ["incast.toml", "lk", "real"]);
        scratch.write("real/notes.txt", "mine");
    }
    assert_eq!(scratch.read("real/notes.txt"), "mine");
    std::os::unix::fs::symlink("nowhere", scratch.0.join("lost")).unwrap();
    let refused = scratch.trimline(&["run", "incast.toml", "--out", "lost"]);
    assert_eq!(refused.status.code(), Some(2));
    let described = "lost: a link to a folder that does not exist";
    assert!(said(&refused).contains(described), "{}", said(&refused));
}

/// A reader that has gone away is no error.
#[test]
fn a_full_standard_output_is_reported() {
    let scratch = Scratch::new("full");
    scratch.write("incast.toml", INCAST);
    scratch.write("stats.json", "{ \"frames\": 3 }");
    let commands: [&[&str]; 5] = [
        &["schema"],
        &["list"],
        &["explain", "incast.toml"],
        &["run", "incast.toml", "--json"],
        &["stats", "stats.json"],
    ];
    for arguments in commands {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = scratch.command(arguments).stdout(full).output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains("error: standard output: No space left"), "{arguments:?}: {said}");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = scratch.command(arguments).stdout(writer).output().unwrap();
        succeeded(&output);
    }
    // The command goes on until it is stopped, and a closed reader stops it.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let every = ["stats", "stats.json", "--every", "0.1"];
    succeeded(&scratch.command(&every).stdout(writer).output().unwrap());
}
