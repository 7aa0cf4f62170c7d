//! The commands for real packets, run without privileges, and their messages for wrong input.

#[path = "hosts/operators.rs"]
mod operators;
#[path = "hosts/paths.rs"]
mod paths;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The user id of `nobody`.
const NONE: u32 = 65_534;

/// A folder with the programs, which every user may run.
struct Place(PathBuf);

impl Place {
    fn new(test: &str) -> Place {
        let path = std::env::temp_dir().join(format!("trimline-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        for (name, program) in [
            ("trimline", env!("CARGO_BIN_EXE_trimline")),
            ("trimline-switch", env!("CARGO_BIN_EXE_trimline-switch")),
        ] {
            // A file that this process wrote is busy while a child of another test's thread still has it open.
            let copied = Command::new("cp").arg(program).arg(path.join(name)).status();
            assert!(copied.unwrap().success(), "{program}");
        }
        Place(path)
    }

    /// A program in this folder, run as `nobody` if this user is root.
    fn program(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.0.join(name));
        command.args(arguments).current_dir(&self.0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let is_root = fs::metadata(Path::new("/proc/self"))
            .is_ok_and(|about| std::os::unix::fs::MetadataExt::uid(&about) == 0);
        if is_root {
            command.uid(NONE).gid(NONE);
        }
        command
    }

    fn run(&self, name: &str, arguments: &[&str]) -> Output {
        self.program(name, arguments).output().unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A child that ends with the test.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn describe(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn requests_are_answered_over_udp_without_privileges() {
    let place = Place::new("udp");
    let serve = ["rpc", "serve", "--udp", "-a", "127.0.0.2", "--seconds", "120"];
    let _server = Ends(place.program("trimline", &serve).spawn().unwrap());
    // The server takes a moment.
    let mut answered = false;
    for _ in 0..20 {
        let ping = ["ping", "127.0.0.2", "--udp", "-a", "127.0.0.3", "-c", "2", "--gap", "1"];
        let output = place.run("trimline", &ping);
        let (said, problem) = describe(&output);
        assert!(problem.is_empty(), "{problem}");
        answered = output.status.success() && said.contains("2 of 2 answered");
        if answered {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(answered);
    for shape in [["--concurrency", "8"], ["--rate-rps", "2000"]] {
        let load = ["rpc", "load", "127.0.0.2", "--udp", "-a", "127.0.0.3", "-c", "500"];
        let load = [&load[..], &["--bytes", "5000", "--stats", "stats.json"], &shape].concat();
        let (said, problem) = describe(&place.run("trimline", &load));
        assert!(said.contains("500 answered, 0 not"), "{said}{problem}");
        let (said, _) = describe(&place.run("trimline", &["stats", "stats.json"]));
        assert!(said.contains("frames_in") && said.contains("udp"), "{said}");
        // The scoreboard: the one path to the server, and all of it ACKed.
        assert!(said.lines().any(|line| line.starts_with("127.0.0.2 ")), "{said}");
        let (json, _) = describe(&place.run("trimline", &["stats", "stats.json", "--json"]));
        let state: serde_json::Value = serde_json::from_str(&json).unwrap();
        let [path] = &state["paths"].as_array().unwrap()[..] else { panic!("{json}") };
        assert_eq!((&path["peer"], &path["path"]), (&"127.0.0.2".into(), &0.into()), "{json}");
        assert_eq!((&path["address"], &path["removed"]), (&"127.0.0.2".into(), &false.into()));
        assert!(path["sent"].as_u64().unwrap() >= 2000, "four packets a request: {json}");
    }
}

/// A server that requires checks refuses other requests; path options are read.
#[test]
fn requests_are_checksummed_if_both_ends_ask() {
    let place = Place::new("check");
    let serve = ["rpc", "serve", "--udp", "-a", "127.0.0.31", "--seconds", "120", "--check"];
    let _server = Ends(place.program("trimline", &serve).spawn().unwrap());
    let load = ["rpc", "load", "127.0.0.31", "--udp", "-a", "127.0.0.32", "-c", "50"];
    let path = ["--rto", "5ms", "--window", "8", "--mtu", "1000", "--bytes", "20000"];
    let checked = [&load[..], &path, &["--check"]].concat();
    // The server takes a moment.
    let answered = (0..20).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        describe(&place.run("trimline", &checked)).0.contains("50 answered, 0 not")
    });
    assert!(answered);
    let (said, problem) = describe(&place.run("trimline", &load));
    assert!(
        said.contains("0 answered") && problem.contains("no application listens"),
        "{said}{problem}"
    );
}

#[test]
fn invalid_path_options_are_refused() {
    let place = Place::new("path");
    let ping = ["ping", "127.0.0.33", "--udp", "-a", "127.0.0.34"];
    for (option, value, expected) in [
        ("--rto", "6s", "from 100us to 5s"),
        ("--rto", "20", "a time such as"),
        ("--window", "0", "1..=1024"),
        ("--mtu", "100", "128"),
    ] {
        let output = place.run("trimline", &[&ping[..], &[option, value]].concat());
        let (_, problem) = describe(&output);
        assert!(!output.status.success() && problem.contains(expected), "{option}: {problem}");
        assert!(problem.contains(option), "{option}: {problem}");
    }
}

#[test]
fn requests_without_the_shared_key_are_not_answered() {
    let place = Place::new("key");
    let key = |name: &str, mode: u32, text: &str| {
        let file = place.0.join(name);
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        // A user who is not root owns the file already.
        let _ = std::os::unix::fs::chown(&file, Some(NONE), Some(NONE));
    };
    let made = place.run("trimline", &["key", "new", "key"]);
    assert!(made.status.success(), "{:?}", describe(&made));
    let again = describe(&place.run("trimline", &["key", "new", "key"])).1;
    assert!(again.contains("key: a file exists"), "{again}");
    let old = "100102030405060708090a0b0c0d0e0f\n";
    let new = fs::read_to_string(place.0.join("key")).unwrap();
    key("other", 0o600, old);
    key("both", 0o600, &format!("{old}{new}"));
    key("short", 0o600, "0001\n");
    key("open", 0o644, old);
    let serve = ["rpc", "serve", "--udp", "-a", "127.0.0.21", "--seconds", "120", "--key", "key"];
    let _server = Ends(place.program("trimline", &serve).spawn().unwrap());
    let ping = |key: &[&str]| {
        let ping = ["ping", "127.0.0.21", "--udp", "-a", "127.0.0.22", "-c", "1", "--gap", "1"];
        describe(&place.run("trimline", &[&ping[..], key].concat()))
    };
    // The server takes a moment.
    let mut said = String::new();
    for _ in 0..20 {
        said = ping(&["--key", "key"]).0;
        if said.contains("1 of 1 answered") {
            break;
        }
    }
    assert!(said.contains("1 of 1 answered"), "{said}");
    for other in [&["--key", "other"][..], &[]] {
        let (said, _) = ping(other);
        assert!(said.contains("0 of 1 answered"), "{other:?}: {said}");
    }
    // A server that only has the new key refuses a client that sends with the old one.
    let (said, _) = ping(&["--key", "both"]);
    assert!(said.contains("0 of 1 answered"), "{said}");
    let (_, problem) = ping(&["--key", "open"]);
    assert!(problem.contains("open: other users may access this file (mode 0644)"), "{problem}");
    let (_, problem) = ping(&["--key", "short"]);
    assert!(problem.contains("short: expected 32 hexadecimal digits"), "{problem}");
}

#[test]
fn a_file_crosses_over_udp() {
    let place = Place::new("cat");
    let sent: Vec<u8> = (0..300_000u32).map(|n| (n ^ n >> 7) as u8).collect();
    fs::write(place.0.join("sent"), &sent).unwrap();
    let listen = ["cat", "listen", "--udp", "-a", "127.0.0.4"];
    let mut listener = place.program("trimline", &listen);
    let listener =
        Ends(listener.stdout(fs::File::create(place.0.join("got")).unwrap()).spawn().unwrap());
    let mut send =
        place.program("trimline", &["cat", "send", "127.0.0.4", "--udp", "-a", "127.0.0.5"]);
    let output = send.stdin(fs::File::open(place.0.join("sent")).unwrap()).output().unwrap();
    let (_, said) = describe(&output);
    assert!(output.status.success(), "{said}");
    // The rate.
    assert!(said.starts_with("300000 B in ") && said.ends_with(" Gb/s\n"), "{said}");
    let mut listener = listener;
    assert!(listener.0.wait().unwrap().success());
    assert!(fs::read(place.0.join("got")).unwrap() == sent);
}

/// Returns success and standard error of a command, if it ended in time.
fn ended(child: &mut Child, within: Duration) -> Option<(bool, String)> {
    let start = Instant::now();
    while start.elapsed() < within {
        if let Some(status) = child.try_wait().unwrap() {
            let mut said = String::new();
            child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
            return Some((status.success(), said));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

/// Either end is killed in the middle; the other one names the silent peer within the timeout.
#[test]
fn a_command_whose_peer_is_killed_ends_with_a_cause() {
    let place = Place::new("killed");
    for (round, dies) in ["listener", "sender", "listener", "sender"].into_iter().enumerate() {
        let (near, far) =
            (format!("127.0.1.{}", round * 2 + 2), format!("127.0.1.{}", round * 2 + 3));
        let listen =
            ["cat", "listen", "--udp", "-a", &far, "--dead-peer-timeout", "2", "--from", &near];
        let mut listener = Ends(place.program("trimline", &listen).spawn().unwrap());
        // The listener's output is not read, so the protocol goes on though its output is blocked.
        let _output = listener.0.stdout.take();
        std::thread::sleep(Duration::from_millis(200));
        let send = ["cat", "send", &far, "--udp", "-a", &near, "--dead-peer-timeout", "2"];
        let mut sender =
            Ends(place.program("trimline", &send).stdin(Stdio::piped()).spawn().unwrap());
        let mut input = sender.0.stdin.take().unwrap();
        input.write_all(&[7; 100_000]).unwrap();
        // Standard input is blocked for longer than the timeout: neither end gives up.
        std::thread::sleep(Duration::from_millis(3500));
        assert!(sender.0.try_wait().unwrap().is_none() && listener.0.try_wait().unwrap().is_none());
        let (killed, other) = if dies == "listener" {
            (&mut listener, &mut sender)
        } else {
            (&mut sender, &mut listener)
        };
        killed.0.kill().unwrap();
        let (success, said) = ended(&mut other.0, Duration::from_secs(6)).expect("it ends");
        assert!(!success && said.contains(" for 2 s, since"), "{dies}: {said}");
    }
    // No host was ever there.
    let send =
        ["cat", "send", "127.0.1.99", "--udp", "-a", "127.0.1.1", "--dead-peer-timeout", "1"];
    let mut sender = Ends(place.program("trimline", &send).stdin(Stdio::piped()).spawn().unwrap());
    sender.0.stdin.as_mut().unwrap().write_all(b"hello").unwrap();
    let (success, said) = ended(&mut sender.0, Duration::from_secs(5)).expect("it ends");
    assert!(!success && said.contains("no packet from 127.0.1.99"), "{said}");
}

/// Returns a listener, and a sender of its standard input.
fn two_ends(place: &Place, subnet: u8, listen: impl FnOnce(&mut Command)) -> (Ends, Ends) {
    let (near, far) = (format!("127.0.{subnet}.1"), format!("127.0.{subnet}.2"));
    let mut listener = place.program("trimline", &["cat", "listen", "--udp", "-a", &far]);
    listen(&mut listener);
    let listener = Ends(listener.spawn().unwrap());
    std::thread::sleep(Duration::from_millis(300));
    let mut sender = place.program("trimline", &["cat", "send", &far, "--udp", "-a", &near]);
    (listener, Ends(sender.stdin(Stdio::piped()).spawn().unwrap()))
}

/// Ctrl-C or SIGTERM at either end while idle. The other end says at once how much arrived.
#[test]
fn a_stopped_command_resets_its_peer_at_once() {
    let place = Place::new("stopped");
    for (round, (signal, stops_sender)) in
        [("-INT", true), ("-TERM", true), ("-INT", false), ("-TERM", false)].into_iter().enumerate()
    {
        let (mut listener, mut sender) = two_ends(&place, 30 + round as u8, |_| {});
        sender.0.stdin.as_mut().unwrap().write_all(&[7; 50_000]).unwrap();
        std::thread::sleep(Duration::from_millis(500));
        let (stopped, other) =
            if stops_sender { (&mut sender, &mut listener) } else { (&mut listener, &mut sender) };
        let pid = stopped.0.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        let (success, said) = ended(&mut other.0, Duration::from_secs(3)).expect("it ends at once");
        let (why, much) = match stops_sender {
            true => ("its application has stopped", "50000 B arrived"),
            false => ("interrupted", "50000 B were ACKed"),
        };
        assert!(!success && said.contains(why) && said.contains(much), "{signal}: {said}");
        let (_, said) = ended(&mut stopped.0, Duration::from_secs(3)).expect("it ends");
        assert!(said.contains("interrupted") && said.contains("50000 B"), "{signal}: {said}");
        assert_eq!(stopped.0.wait().unwrap().code(), Some(130), "{signal}: {said}");
    }
}

/// The outputs are full, broken, or closed before the command began.
#[test]
fn a_failed_output_ends_both_commands_with_its_cause() {
    let place = Place::new("output");
    for (subnet, why) in [(34, "No space left"), (35, "Broken pipe")] {
        let (mut listener, mut sender) = two_ends(&place, subnet, |listener| {
            if subnet == 34 {
                listener.stdout(fs::File::options().write(true).open("/dev/full").unwrap());
            }
        });
        drop(listener.0.stdout.take());
        sender.0.stdin.as_mut().unwrap().write_all(&[7; 50_000]).unwrap();
        for end in [&mut sender, &mut listener] {
            let (success, said) = ended(&mut end.0, Duration::from_secs(3)).expect("it ends");
            assert!(!success && said.contains("standard output: ") && said.contains(why), "{said}");
        }
    }
    let closed = "exec ./trimline cat listen --udp -a 127.0.36.2 >&-";
    let output = Command::new("sh").args(["-c", closed]).current_dir(&place.0).output().unwrap();
    let (_, said) = describe(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("standard output is closed"), "{said}");
}

/// Returns the number of kills: `TRIMLINE_KILLS=200 cargo test -p trimline-cli --test hosts kills -- --nocapture`.
fn kills() -> usize {
    std::env::var("TRIMLINE_KILLS").map_or(8, |count| count.parse().expect("a number"))
}

/// Returns an address pair and a moment, both by round.
fn pair(round: usize) -> ([String; 2], Duration) {
    let place = |last: usize| format!("127.{}.{}.{last}", 10 + round / 250, round % 250);
    ([place(1), place(2)], Duration::from_millis((round * 37 % 300) as u64))
}

/// Kills one end of an endless transfer. Returns how long the other one lived.
fn kill_of_cat(place: &Place, round: usize, kills_listener: bool) -> Duration {
    let ([near, far], moment) = pair(round);
    let listen = ["cat", "listen", "--udp", "-a", &far, "--dead-peer-timeout", "1"];
    let mut listener = Ends(place.program("trimline", &listen).spawn().unwrap());
    std::thread::sleep(Duration::from_millis(300));
    let send = ["cat", "send", &far, "--udp", "-a", &near, "--dead-peer-timeout", "1"];
    let endless = fs::File::open("/dev/zero").unwrap();
    let mut sender = Ends(place.program("trimline", &send).stdin(endless).spawn().unwrap());
    let mut output = listener.0.stdout.take().unwrap();
    output.read_exact(&mut [0]).expect("the transfer begins");
    std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
    std::thread::sleep(moment);
    match kills_listener {
        true => killed(listener, &mut sender),
        false => killed(sender, &mut listener),
    }
}

/// Kills a server during requests. Returns how long the client lived.
fn kill_of_server(place: &Place, round: usize) -> Duration {
    let ([near, far], moment) = pair(round);
    let serve = ["rpc", "serve", "--udp", "-a", &far];
    let server = Ends(place.program("trimline", &serve).spawn().unwrap());
    std::thread::sleep(Duration::from_millis(300));
    let load =
        ["rpc", "load", &far, "--udp", "-a", &near, "--dead-peer-timeout", "1", "-c", "1000000000"];
    let mut client = place.program("trimline", &load);
    let mut client = Ends(client.args(["--concurrency", "8"]).spawn().unwrap());
    std::thread::sleep(Duration::from_millis(200) + moment);
    killed(server, &mut client)
}

/// Kills a client during its requests: the server answers the next one.
fn kill_of_client(place: &Place, round: usize) {
    let ([near, far], moment) = pair(round);
    let serve = ["rpc", "serve", "--udp", "-a", &far];
    let mut server = Ends(place.program("trimline", &serve).spawn().unwrap());
    std::thread::sleep(Duration::from_millis(300));
    let load = ["rpc", "load", &far, "--udp", "-a", &near, "-c", "1000000000"];
    let client = Ends(place.program("trimline", &load).spawn().unwrap());
    std::thread::sleep(Duration::from_millis(200) + moment);
    drop(client);
    let ping = ["ping", &far, "--udp", "-a", &near, "-c", "1", "--gap", "1"];
    let (said, problem) = describe(&place.run("trimline", &ping));
    assert!(said.contains("1 of 1 answered"), "{round}: {said}{problem}");
    assert!(server.0.try_wait().unwrap().is_none(), "{round}: the server has ended");
}

/// Kills one and waits for the other, which must fail with a message. Returns the wait.
fn killed(mut one: Ends, other: &mut Ends) -> Duration {
    assert!(one.0.try_wait().unwrap().is_none() && other.0.try_wait().unwrap().is_none());
    drop(one);
    let start = Instant::now();
    let (success, said) = ended(&mut other.0, Duration::from_secs(8)).expect("it ends");
    assert!(!success && said.contains("no packet from"), "{said}");
    start.elapsed()
}

/// Kills at many moments either end of `cat`, or the server or client of `rpc`. The other process names the silent peer
/// within the timeout; a server goes on.
#[test]
fn a_peer_killed_at_any_moment_leaves_no_command_waiting() {
    const AT_ONCE: usize = 4;
    let place = Place::new("kills");
    let all = kills();
    let longest = std::thread::scope(|scope| {
        let run = |first: usize| {
            let place = &place;
            let rounds = (first..all).step_by(AT_ONCE);
            scope.spawn(move || {
                let lived = rounds.map(|round| match (round + round / AT_ONCE) % 4 {
                    0 => kill_of_cat(place, round, true),
                    1 => kill_of_cat(place, round, false),
                    2 => kill_of_server(place, round),
                    _ => {
                        kill_of_client(place, round);
                        Duration::ZERO
                    }
                });
                lived.max().unwrap_or_default()
            })
        };
        let threads: Vec<_> = (0..AT_ONCE).map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).max().unwrap()
    });
    println!("{all} kills; who was left ended after {longest:.1?} at most, with a time-out of 1 s");
}

/// A second process fails, and a client's own address accepts nothing.
#[test]
fn a_second_process_on_an_address_is_refused() {
    let place = Place::new("taken");
    let serve = ["rpc", "serve", "--udp", "-a", "127.0.2.2", "--seconds", "60"];
    let _server = Ends(place.program("trimline", &serve).spawn().unwrap());
    std::thread::sleep(Duration::from_millis(300));
    let (_, said) = describe(&place.run("trimline", &serve));
    assert!(said.contains("127.0.2.2") && said.contains("in use"), "{said}");
    // A waiting client is no server.
    let ping = ["ping", "127.0.2.2", "--udp", "-a", "127.0.2.3", "-c", "3", "--gap", "700"];
    let _client = Ends(place.program("trimline", &ping).spawn().unwrap());
    std::thread::sleep(Duration::from_millis(200));
    let ping = ["ping", "127.0.2.3", "--udp", "-a", "127.0.2.4", "-c", "1", "--gap", "1"];
    let (said, _) = describe(&place.run("trimline", &ping));
    assert!(said.contains("refused") && said.contains("0 of 1 answered"), "{said}");
}

/// The kernel must let users have user namespaces.
#[test]
fn the_testbed_runs_without_root_or_names_the_missing_right() {
    let place = Place::new("testbed");
    let output = place.run("trimline", &["testbed", "fig08", "--repeat", "20"]);
    let (said, problem) = describe(&output);
    if said.contains("SKIPPED") {
        println!("{said}");
        assert!(said.contains("user namespaces"), "{said}");
        assert!(output.status.success());
        return;
    }
    // Speed does not matter here: 0, or 1 for a finding that does not hold.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}{problem}");
    for carrier in ["raw echo", "NDP", "TFO", "TCP, one connection"] {
        assert!(said.contains(carrier), "{said}{problem}");
    }
    assert!(place.0.join("out/testbed/fig08/measures.json").exists());
}

#[test]
fn cat_and_rpc_are_measured_beside_kernel_protocols() {
    let place = Place::new("kernel");
    let output = place.run("trimline", &["testbed", "kernel", "--repeat", "1", "--json"]);
    let (said, problem) = describe(&output);
    if said.contains("SKIPPED") {
        println!("{said}");
        return;
    }
    let measured: serde_json::Value = serde_json::from_str(&said).expect(&problem);
    let measure = |name: &str| measured["measures"][name].as_f64().expect(name);
    for name in ["cat_over_tcp_9000", "cat_over_tcp_1500", "cat_s_over_tcp_9000"] {
        assert!(measure(name) > 0.0, "{name}: {said}");
    }
    for mode in ["polling", "blocking"] {
        let [ours, baseline] = ["rpc_us", "udp_us"].map(|name| measure(&format!("{name}_{mode}")));
        let ratio = measure(&format!("rpc_over_udp_{mode}"));
        assert!(baseline > 0.0 && (ratio - ours / baseline).abs() < 1e-9, "{mode}: {said}");
    }
}

#[test]
fn wrong_options_are_refused_with_a_sentence() {
    let place = Place::new("wrong");
    let check = |name: &str, arguments: &[&str], expected: &[&str]| {
        let output = place.run(name, arguments);
        let (_, said) = describe(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        for word in expected {
            assert!(said.contains(word), "{arguments:?}: {said}");
        }
    };
    check("trimline", &["ping", "10.0.0.1", "-a", "10.0.0.2"], &["--interface"]);
    check("trimline", &["ping", "10.0.0.1", "-a", "10.0.0"], &["10.0.0", "--address"]);
    check(
        "trimline",
        &["ping", "10.0.0.1", "-i", "nowhere0", "-a", "10.0.0.2"],
        &["ping", "nowhere0"],
    );
    check("trimline", &["rpc", "serve", "--udp", "-a", "203.0.113.1"], &["203.0.113.1"]);
    check(
        "trimline",
        &["rpc", "serve", "--udp", "-a", "0.0.0.0"],
        &["0.0.0.0", "a specific address"],
    );
    let serve = ["rpc", "serve", "--udp", "-a", "127.0.0.1", "--stats"];
    check("trimline", &[&serve[..], &["/dev/null"]].concat(), &["/dev/null", "regular file"]);
    check("trimline", &["stats", "missing.json"], &["missing.json"]);
    let testbed = |arguments: &[&str], expected: &[&str]| {
        check("trimline", &[&["testbed"], arguments].concat(), expected);
    };
    testbed(&["fig08", "--tcp-flows", "2"], &["fig08", "--tcp-flows", "coexist"]);
    testbed(&["hull", "--tcp-flows", "2"], &["hull", "--tcp-flows", "coexist"]);
    testbed(&["fig08", "--seconds", "2"], &["fig08", "--seconds", "coexist or hull"]);
    testbed(&["coexist", "--only", "fig02-real"], &["coexist", "--only", "hull"]);
    testbed(&["hull", "--only", "fig03"], &["fig03", "table1-real", "fig02-real"]);
    testbed(&["fastlane", "--seconds", "2"], &["fastlane", "--seconds", "coexist or hull"]);
    testbed(&["fastlane", "--only", "fig02-real"], &["fastlane", "--only", "hull"]);
    testbed(&["coexist", "--delay", "1ms"], &["--delay", "hull or fastlane"]);
    testbed(&["fig08", "--congestion", "reno"], &["--congestion", "coexist, hull or fastlane"]);
    testbed(&["hull", "--delay", "250"], &["--delay", "a time such as"]);
    testbed(&["fig11", "--capture", "file.pcap"], &["fig11", "--capture", "fig09"]);
    testbed(&["coexist", "--ndp-flows", "0"], &["--ndp-flows", "1..=64"]);
    testbed(&["coexist", "--incast-bytes", "65MB"], &["--incast-bytes", "1 B to 64 MB"]);
    testbed(&["coexist", "--incast-bytes", "many"], &["--incast-bytes", "expected a size"]);
    fs::write(place.0.join("list.json"), "[1]").unwrap();
    check("trimline", &["stats", "list.json"], &["list.json", "expected"]);
    check("trimline", &["stats", "list.json", "--every", "soon"], &["--every", "soon"]);
    let config = |text: &str, expected: &[&str]| {
        fs::write(place.0.join("network.toml"), text).unwrap();
        let expected = [&["network.toml"], expected].concat();
        check("trimline-switch", &["network.toml", "--check"], &expected);
    };
    config("rate = \"fast\"", &["line 1", "expected a rate such as"]);
    config("[[switch]]\nname = \"a\"\nports = 4", &["line 3", "ports"]);
    config("[[switch]]\nname = \"a\"\n[[host]]\nswitch = \"a\"\ninterface = \"p\"", &["p", "rate"]);
    config("[[link]]\nbetween = [\"a\", \"b\"]", &["\"a\""]);
    config(
        "rate = \"1Gbps\"\nphantom_queue = { drain = \"100%\" }\n[[switch]]\nname = \"a\"\n[[host]]\nswitch = \"a\"\ninterface = \"p\"",
        &["p: phantom_queue", "`drain` of 1 Gb/s is not below", "nearest: 950 Mb/s"],
    );
    config("profile = \"papre\"", &["papre", "expected paper"]);
    config("rate = \"1Gbps\"", &["no switch", "[[switch]]"]);
    let one = "rate = \"1Gbps\"\n[[switch]]\nname = \"a\"\n";
    config(&format!("{one}[[link]]\nbetween = [\"a\", \"a\"]"), &["[[link]] 1", "two switches"]);
    let port = |name: &str| format!("[[host]]\nswitch = \"a\"\ninterface = \"{name}\"\n");
    config(&format!("{one}{}{}", port("p"), port("p")), &["[[host]] 2", "\"p\"", "another host"]);
    config(&format!("{one}{}", port("an-interface-of-the-switch")), &["[[host]] 1", "15 bytes"]);
    check("trimline-switch", &["missing.toml"], &["missing.toml"]);
}

#[test]
fn a_pacer_between_two_interfaces_needs_no_file() {
    let place = Place::new("pacer");
    let pacer = ["--pacer", "veth0", "eth0", "--rate", "1Gbps", "--check"];
    let (said, problem) = describe(&place.run("trimline-switch", &pacer));
    assert!(said.starts_with("1 switches, 0 links, 2 hosts\n"), "{said}{problem}");
    assert!(said.contains("veth0: a pacer spaces out flows") && !said.contains("eth0, "), "{said}");
    for (options, expected) in [
        (&["--pacer", "veth0", "eth0", "--check"][..], "--rate"),
        (&["--pacer", "veth0", "--rate", "1Gbps"], "2 values"),
        (&["--rate", "1Gbps"], "required"),
        (&["--pacer", "veth0", "eth0", "--rate", "fast", "--check"], "--pacer: "),
        (&["--pacer", "veth0", "veth0", "--rate", "1Gbps", "--check"], "another host"),
    ] {
        let (_, problem) = describe(&place.run("trimline-switch", options));
        assert!(problem.contains(expected), "{options:?}: {problem}");
    }
}

#[test]
fn the_example_of_a_switch_network_is_valid() {
    let place = Place::new("example");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/switch.toml");
    fs::copy(example, place.0.join("switch.toml")).unwrap();
    let (said, problem) = describe(&place.run("trimline-switch", &["switch.toml", "--check"]));
    assert_eq!(said, "4 switches, 4 links, 4 hosts\n", "{problem}");
    let text = fs::read_to_string(place.0.join("switch.toml")).unwrap();
    let text = format!("phantom_queue = {{ tick = \"800ns\" }}\n{text}");
    fs::write(place.0.join("switch.toml"), text).unwrap();
    let (said, problem) = describe(&place.run("trimline-switch", &["switch.toml", "--check"]));
    let expected = "p0, p1, p2, p3, tor0 to spine0, tor0 to spine1, tor1 to spine0, tor1 to spine1:\n  \
                    a phantom queue drains at 950 Mb/s, every 0.800000 us, and marks packets that\n  \
                    find more than 1000 B\n";
    assert_eq!(said, format!("4 switches, 4 links, 4 hosts\n{expected}"), "{problem}");
    let security = "rate = \"1Gbps\"\n[[switch]]\nname = \"a\"\n[[host]]\nswitch = \"a\"\ninterface = \"p0\"\n\
                    addresses = [{ address = \"10.0.0.1\" }]\nport_security = {}\n";
    fs::write(place.0.join("switch.toml"), security).unwrap();
    let (said, problem) = describe(&place.run("trimline-switch", &["switch.toml", "--check"]));
    let line = "p0: accepts the first Ethernet address that sends; IP from 10.0.0.1";
    assert_eq!(said.lines().nth(1), Some(line), "{said}{problem}");
    let text = "rate = \"1Gbps\"\nprofile = \"fastlane-pfabric\"\n[[switch]]\nname = \"a\"\n\
                [[host]]\nswitch = \"a\"\ninterface = \"p0\"\n";
    fs::write(place.0.join("switch.toml"), text).unwrap();
    let check = ["switch.toml", "--check", "--json"];
    let (said, problem) = describe(&place.run("trimline-switch", &check));
    let json: serde_json::Value = serde_json::from_str(&said).unwrap();
    for (place, beginning) in [
        (0, "p0: notifies senders of drops"),
        (1, "all ports: the most urgent packet leaves first"),
    ] {
        let line = json["settings"][place].as_str();
        assert!(line.is_some_and(|line| line.starts_with(beginning)), "{said}{problem}");
    }
}
