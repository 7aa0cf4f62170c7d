//! A testbed whose process is killed.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::*;
use trimline_testbed::namespace::Namespace;

/// Environment variable with the witness namespace, for the child that is killed.
const WITNESS: &str = "TRIMLINE_TEST_WITNESS";

/// Returns the interfaces of a network namespace.
fn interfaces(of: &Namespace) -> Vec<String> {
    let list = of.inside(|| std::fs::read_to_string("/proc/thread-self/net/dev")).unwrap();
    let name = |line: &str| Some(line.split_once(':')?.0.trim().to_owned());
    list.lines().filter_map(name).collect()
}

/// A leftover namespace has no name, but its cable into our namespace would be left too.
#[test]
fn a_killed_testbed_leaves_no_namespace() {
    if let Ok(witness) = std::env::var(WITNESS) {
        let network = TestNetwork::build(Shape::Star(2), 1500).unwrap();
        for host in &network.hosts {
            let line =
                format!("link add out{0} type veth peer name in{0} netns {witness}", host.number);
            host.namespace.ip(&[line]).unwrap();
        }
        println!("\nit stands");
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    let Some(witness) = allowed(Namespace::new()) else { return };
    let before = interfaces(&witness);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::a_killed_testbed_leaves_no_namespace", "--nocapture"])
        .env(WITNESS, witness.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(said.map_while(Result::ok).any(|line| line == "it stands"), "it does not stand");
    assert_eq!(interfaces(&witness).len(), before.len() + 2, "a cable from each host");
    child.kill().unwrap();
    child.wait().unwrap();
    // The kernel removes the namespaces asynchronously.
    let start = Instant::now();
    while interfaces(&witness) != before {
        assert!(start.elapsed() < Duration::from_secs(30), "{:?}", interfaces(&witness));
        std::thread::sleep(Duration::from_millis(10));
    }
}
