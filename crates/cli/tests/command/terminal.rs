//! The program on a terminal: bars with the time left, colours, and messages in lines of 80 columns.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::scratch::{Scratch, said};

/// A terminal of 80 columns: the end of its user, and the end of a program.
fn terminal() -> (File, OwnedFd) {
    let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&user).unwrap();
    unlockpt(&user).unwrap();
    let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&user, size).unwrap();
    let name = ptsname(&user, Vec::new()).unwrap().into_string().unwrap();
    let program = File::options().read(true).write(true).open(name).unwrap();
    (user.into(), program.into())
}

/// Returns the text on a terminal until the program closes it, or until `is_enough`.
fn seen(user: &mut File, is_enough: impl Fn(&str) -> bool) -> String {
    let (mut all, mut bytes) = (Vec::new(), [0; 4096]);
    // Linux reports the end of a terminal as an error.
    while let Ok(count @ 1..) = user.read(&mut bytes) {
        all.extend_from_slice(&bytes[..count]);
        if is_enough(&String::from_utf8_lossy(&all)) {
            break;
        }
    }
    String::from_utf8_lossy(&all).replace("\r\n", "\n")
}

#[test]
fn long_commands_show_a_bar_with_the_time_left() {
    let scratch = Scratch::new("bars");
    let endless = "topology.fattree.hosts = 128\nduration = \"1000s\"\n[[workload]]\nname = \"p\"\n\
                   permutation = {}\nsize = \"long-lived\"\n";
    scratch.write("endless.toml", endless);
    for arguments in [
        &["run", "endless.toml"][..],
        &["run", "endless.toml", "--json"],
        &["compare", "endless.toml", "--transports", "ndp,tcp"],
        &["trace", "endless.toml", "--flow", "0"],
        &["bench", "--only", "permutation-128", "--repeat", "9999", "--duration", "1ms"],
        &["ping", "127.0.0.61", "--udp", "-a", "127.0.0.62", "--json"],
        &["rpc", "load", "127.0.0.61", "--udp", "-a", "127.0.0.63"],
    ] {
        let (mut user, program) = terminal();
        let mut command = scratch.command(arguments);
        let mut child = command.stdout(Stdio::null()).stderr(program).spawn().unwrap();
        drop(command);
        let shown = seen(&mut user, |text| text.contains("% ETA "));
        assert!(shown.contains("% ETA "), "{arguments:?}: {shown}");
        let id = child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        seen(&mut user, |_| false);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{arguments:?}");
    }
    // Without a terminal, or with --quiet, there is none.
    let short = ["run", "endless.toml", "--set", "duration=3ms", "--out", "short"];
    let output = scratch.trimline(&short);
    assert_eq!((output.status.code(), said(&output)), (Some(0), String::new()));
    let (mut user, program) = terminal();
    let quiet = [&short[..], &["--quiet"]].concat();
    let mut command = scratch.command(&quiet);
    let mut child = command.stderr(program).spawn().unwrap();
    drop(command);
    assert_eq!(seen(&mut user, |_| false), "");
    assert!(child.wait().unwrap().success());
}

#[test]
fn messages_are_wrapped_on_a_terminal_and_whole_elsewhere() {
    let scratch = Scratch::new("messages");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (command, example) in [("run", "pull-overtakes-nack"), ("explain", "switch")] {
        let path = examples.join(format!("{example}.toml")).display().to_string();
        let arguments = [command, &path];
        let quiet: &[&str] = if command == "run" { &["--quiet"] } else { &[] };
        let arguments = [&arguments[..], quiet].concat();
        let (mut user, program) = terminal();
        let mut on_terminal = scratch.command(&arguments);
        let mut child = on_terminal.stdout(Stdio::null()).stderr(program).spawn().unwrap();
        drop(on_terminal);
        let shown = seen(&mut user, |_| false);
        child.wait().unwrap();
        let whole = said(&scratch.trimline(&arguments));
        assert!(whole.lines().any(|line| line.chars().count() > 120), "{whole}");
        let first = |text: &str| words(text.split("\n 3 |").next().unwrap());
        assert_eq!(first(&shown), first(&whole));
        let wide = |line: &&str| line.chars().count() > 80 && !line.contains("/examples/");
        assert_eq!(shown.lines().find(wide), None);
    }
}

#[test]
fn colours_need_a_terminal_and_no_objection() {
    let scratch = Scratch::new("colours");
    let refuted = ["reproduce", "ndp/base", "--no-plot", "-v", "--set", "links.delay=2us"];
    let has_colours = |output: &str| output.contains("\x1b[31m");
    let Output { stdout, .. } = scratch.trimline(&refuted);
    assert!(!has_colours(&String::from_utf8(stdout).unwrap()));
    for (no_color, is_coloured) in [("", true), ("1", false)] {
        let (mut user, program) = terminal();
        let mut command = scratch.command(&refuted);
        command.env("NO_COLOR", no_color).stdout(program).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        drop(command);
        let shown = seen(&mut user, |_| false);
        assert_eq!(child.wait().unwrap().code(), Some(1));
        assert!(shown.contains("DOES NOT HOLD") && has_colours(&shown) == is_coloured, "{shown}");
    }
}
