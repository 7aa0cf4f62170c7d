//! Counters, log lines and signals of hosts and switches, as operators see them.

use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};

use trimline_testbed::namespace::allowed;
use trimline_testbed::network::{Shape, TestNetwork};

use super::*;

/// The lines of a child's standard error, as they come.
#[derive(Clone)]
pub(super) struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    pub(super) fn of(child: &mut Child) -> Lines {
        let lines = Lines(Arc::default());
        let (cached, said) = (Arc::clone(&lines.0), child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in BufReader::new(said).lines().map_while(Result::ok) {
                cached.lock().unwrap().push(line);
            }
        });
        lines
    }

    /// Waits for a line with all of these words; removes it and earlier lines.
    pub(super) fn wait_for(&self, described: &[&str]) -> String {
        let start = Instant::now();
        loop {
            let mut lines = self.0.lock().unwrap();
            let is_it = |line: &String| described.iter().all(|word| line.contains(word));
            if let Some(place) = lines.iter().position(is_it) {
                return lines.drain(..=place).next_back().unwrap();
            }
            assert!(start.elapsed() < Duration::from_secs(10), "{described:?}: {lines:?}");
            drop(lines);
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Reads a socket of counters until the answer has this line.
fn counters(socket: &Path, line: &str) -> String {
    let start = Instant::now();
    loop {
        let mut answer = String::new();
        if let Ok(mut stream) = UnixStream::connect(socket) {
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
            stream.read_to_string(&mut answer).unwrap();
            assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
            assert!(answer.ends_with("\n# EOF\n"), "{answer}");
            if answer.lines().any(|one| one == line) {
                return answer;
            }
        }
        assert!(start.elapsed() < Duration::from_secs(10), "{line}: {answer}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn signal(child: &Child, signal: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
}

#[test]
fn counters_of_a_server_are_read_at_a_socket() {
    let place = Place::new("metrics");
    let serve = ["rpc", "serve", "--udp", "-a", "127.0.50.1", "--metrics", "unix:counters"];
    let mut server = Ends(place.program("trimline", &serve).spawn().unwrap());
    let socket = place.0.join("counters");
    counters(&socket, "trimline_host_received_frames_total 0");
    // A second server does not take the socket.
    let other = ["rpc", "serve", "--udp", "-a", "127.0.50.2", "--metrics", "unix:counters"];
    let (_, said) = describe(&place.run("trimline", &other));
    assert!(said.contains("counters: another process listens on this socket"), "{said}");
    let ping = ["ping", "127.0.50.1", "--udp", "-a", "127.0.50.3", "-c", "3", "--gap", "1"];
    let (said, problem) = describe(&place.run("trimline", &ping));
    assert!(said.contains("3 of 3 answered"), "{said}{problem}");
    counters(&socket, "trimline_host_peers 1");
    signal(&server.0, "-TERM");
    assert_eq!(server.0.wait().unwrap().code(), Some(130));
    assert!(!socket.exists());
    let (_, said) =
        describe(&place.run("trimline", &[&serve[..5], &["--metrics", "here"]].concat()));
    assert!(said.contains("expected unix:PATH"), "{said}");
}

/// A message of 3 MB takes 5 s at this rate, and its first answer longer than the dead-peer timeout of two seconds.
#[test]
fn a_slow_server_that_still_acknowledges_is_waited_for() {
    let place = Place::new("heard");
    let serve = ["rpc", "serve", "--udp", "-a", "127.0.51.1", "--seconds", "60"];
    let _server = Ends(place.program("trimline", &serve).spawn().unwrap());
    std::thread::sleep(Duration::from_millis(300));
    let load = ["rpc", "load", "127.0.51.1", "--udp", "-a", "127.0.51.2", "-c", "1"];
    let load = [&load[..], &["--bytes", "1500000", "--rate", "4Mbps"]].concat();
    let (said, problem) = describe(&place.run("trimline", &load));
    assert!(said.contains("1 answered, 0 not"), "{said}{problem}");
    // No host is there.
    let load =
        ["rpc", "load", "127.0.51.9", "--udp", "-a", "127.0.51.2", "-c", "1", "--log", "json"];
    let output = place.run("trimline", &load);
    let (_, problem) = describe(&output);
    assert!(problem.contains("\"event\":\"request_failed\""), "{problem}");
    assert!(
        problem.contains("\"server\":\"127.0.51.9\"")
            && problem.contains("no packet from 127.0.51.9 for 2 s")
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn both_ends_of_a_transfer_report_progress() {
    let place = Place::new("interval");
    let listen = ["cat", "listen", "--udp", "-a", "127.0.52.2", "--interval", "1", "--log", "json"];
    let mut listener =
        Ends(place.program("trimline", &listen).stdout(Stdio::null()).spawn().unwrap());
    let far = Lines::of(&mut listener.0);
    std::thread::sleep(Duration::from_millis(300));
    let send = ["cat", "send", "127.0.52.2", "--udp", "-a", "127.0.52.1", "--interval", "1"];
    let mut sender = Ends(place.program("trimline", &send).stdin(Stdio::piped()).spawn().unwrap());
    let near = Lines::of(&mut sender.0);
    let mut input = sender.0.stdin.take().unwrap();
    for _ in 0..3 {
        input.write_all(&[7; 100_000]).unwrap();
        std::thread::sleep(Duration::from_millis(800));
    }
    drop(input);
    assert!(sender.0.wait().unwrap().success() && listener.0.wait().unwrap().success());
    near.wait_for(&["0.000 to 1.", " s: 200000 B, 0.00 Gb/s"]);
    near.wait_for(&["1.", " to 2.", " s: 100000 B, 0.00 Gb/s"]);
    near.wait_for(&["300000 B in 2."]);
    let line = far.wait_for(&["\"event\":\"interval\"", "\"begin_s\":0.0,\"end_s\":1."]);
    // The last four bytes may be the checksum, and wait.
    assert!(line.contains("\"bytes\":199996"), "{line}");
    far.wait_for(&["\"event\":\"transferred\"", "\"bytes\":300000"]);
}

/// A switch reports its ports' events, reloads its configuration, and drains on SIGTERM.
#[test]
fn a_running_switch_is_monitored_reconfigured_and_stopped() {
    let Some(network) = allowed(TestNetwork::build(Shape::Star(2), 1500)) else { return };
    let place = Place::new("switch");
    let (file, socket) = (place.0.join("switch.toml"), place.0.join("counters"));
    let configure = |head: &str| fs::write(&file, network.shape().switches(head)).unwrap();
    configure("rate = \"1Gbps\"");
    let middle = network.middle.as_ref().unwrap();
    let start = || {
        Command::new(env!("CARGO_BIN_EXE_trimline-switch"))
            .args(["switch.toml", "--log", "json", "--metrics", "unix:counters"])
            .current_dir(&place.0)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
    };
    let mut switch = Ends(middle.inside(start).unwrap());
    let said = Lines::of(&mut switch.0);
    said.wait_for(&["\"program\":\"trimline-switch\",\"event\":\"started\""]);
    let up = |state: u8| format!("trimline_switch_interface_up{{interface=\"p1\"}} {state}");
    counters(&socket, &up(1));
    middle.ip(&["link set p1 down".to_owned()]).unwrap();
    said.wait_for(&["\"event\":\"link_down\"", "\"interface\":\"p1\""]);
    counters(&socket, &up(0));
    middle.ip(&["link set p1 up".to_owned()]).unwrap();
    said.wait_for(&["\"event\":\"link_up\""]);
    configure("rate = \"100Mbps\"\nport_security = {}");
    signal(&switch.0, "-HUP");
    said.wait_for(&["\"event\":\"reloaded\"", "switch.toml"]);
    for (head, problem) in [
        ("rate = \"1Gbps\"\npackets = 9", "packets: nothing became 9; that needs a restart"),
        ("rate = \"fast\"", "expected a rate such as"),
    ] {
        configure(head);
        signal(&switch.0, "-HUP");
        said.wait_for(&["\"event\":\"reload_refused\"", problem, "the old configuration stays"]);
    }
    signal(&switch.0, "-TERM");
    said.wait_for(&["\"event\":\"drained\",\"frames_left\":0"]);
    assert_eq!(switch.0.wait().unwrap().code(), Some(0));
    assert!(!socket.exists());
}
