//! Files of other simulators as a user gives them to the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn scratch(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn trimline(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_trimline"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

/// A permutation as htsim's generator writes it.
fn permutation(hosts: u32) -> String {
    let mut text = format!("Nodes {hosts}\nConnections {hosts}\n");
    for host in 0..hosts {
        let to = (host + 5) % hosts;
        text += &format!("{host}->{to} id {} start 0 size 2000000\n", host + 1);
    }
    text
}

#[test]
fn a_permutation_of_htsim_runs_unchanged() {
    let folder = scratch("permutation");
    fs::create_dir(folder.join("flows")).unwrap();
    fs::write(folder.join("flows/perm_16n.cm"), permutation(16)).unwrap();
    let output = trimline(
        &folder,
        &["run", "flows/perm_16n.cm", "--out", "out", "--set", "output.fct=true"],
    );
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let flows = fs::read_to_string(folder.join("out/flows.csv")).unwrap();
    assert_eq!(flows.matches(",completed").count(), 16, "{flows}");
    let fct = fs::read_to_string(folder.join("out/fct.txt")).unwrap();
    assert_eq!(fct.lines().count(), 16);
    for line in fct.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(
            (words.len(), words[3], words[4], words[5]),
            (8, "100", "2000000", "0"),
            "{line}"
        );
        let (took, ideal): (u64, u64) = (words[6].parse().unwrap(), words[7].parse().unwrap());
        assert!(took >= ideal && took < 3 * ideal, "{line}");
    }
}

#[test]
fn a_topology_of_htsim_takes_the_place_of_the_fat_tree() {
    let folder = scratch("topology");
    fs::write(folder.join("perm.cm"), permutation(32)).unwrap();
    let topology = "Nodes 32\nTiers 2\nPodsize 32\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\n\
        Radix_Up 2\nDownlink_Latency_ns 1000\nOversubscribed 4\nTier 1\nDownlink_speed_Gbps 100\n\
        Radix_Down 4\nDownlink_Latency_ns 1000\n";
    fs::write(folder.join("tiny.topo"), topology).unwrap();
    let output = trimline(&folder, &["explain", "perm.cm", "--topology", "tiny.topo"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("32 hosts: 4 leaves of 8 hosts, 2 spines"), "{text}");
    assert!(text.contains("32 flows of a file"), "{text}");
    fs::write(folder.join("wrong.topo"), topology.replace("Radix_Up", "Radix_Upp")).unwrap();
    let output = trimline(&folder, &["explain", "perm.cm", "--topology", "wrong.topo"]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("wrong.topo:7: unknown or misplaced key `Radix_Upp`"), "{text}");
}

#[test]
fn a_flow_of_size_0_sends_until_the_end() {
    let folder = scratch("size-0");
    let flows = "Nodes 16\nConnections 3\n0->1 id 1 start 0 size 0\n2->3 id 2 start 0 size 90000\n\
                 4->5 id 3 start 5000000 size 0\n";
    fs::write(folder.join("a.cm"), flows).unwrap();
    let output = trimline(&folder, &["run", "a.cm"]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let problem = "a.cm:3: `0->1 size 0` sends until the end of the run, and nothing says when that is; expected \
                   `duration` in the scenario, or --set duration=1ms";
    assert!(text.contains(problem), "{text}");
    let words = ["run", "a.cm", "--set", "duration=1ms", "--out", "out"];
    let output = trimline(&folder, &words);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    // The file says no rate: what was taken is said.
    let rate = "note: a.cm says no rate: links of 10 Gb/s and 1us; others with --topology, or --set links.rate=100Gbps";
    assert_eq!(text.trim_end(), rate);
    let flows = fs::read_to_string(folder.join("out/flows.csv")).unwrap();
    assert_eq!(flows.matches(",long-lived").count(), 2, "{flows}");
    assert_eq!(flows.matches(",completed").count(), 1, "{flows}");
    // 1.2 MB a millisecond at 10 Gb/s.
    let sent = |source: &str| -> u64 {
        let mut rows = flows.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let row = rows.find(|row| row[2] == source).expect("a row");
        row[11].parse().expect("a number")
    };
    assert!(sent("0") > 1_000_000 && sent("4") > 1_000_000, "{flows}");
    let said = ["explain", "a.cm", "--set", "duration=1ms", "--set", "links.rate=100Gbps"];
    let output = trimline(&folder, &said);
    assert!(output.status.success());
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_mistake_in_a_connection_matrix_names_its_line() {
    let folder = scratch("mistake");
    fs::write(folder.join("a.cm"), permutation(16).replace("3->8", "3->16")).unwrap();
    let output = trimline(&folder, &["run", "a.cm"]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("a.cm:6: host 16 of 16; expected hosts from 0 to 15"), "{text}");
    assert!(!folder.join("out").exists());
}

#[test]
fn flows_of_hpcc_run_when_their_form_is_said() {
    let folder = scratch("hpcc");
    fs::write(folder.join("flow.txt"), "2\n0 1 3 100 20000 0.00001\n1 0 3 100 9000 2e-05\n")
        .unwrap();
    fs::write(
        folder.join("topology.txt"),
        "3 1 2\n2\n0 2 10Gbps 0.001ms 0\n1 2 10Gbps 0.001ms 0\n",
    )
    .unwrap();
    let words =
        ["run", "flow.txt", "--format", "hpcc", "--topology", "topology.txt", "--out", "out"];
    let output = trimline(&folder, &words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let flows = fs::read_to_string(folder.join("out/flows.csv")).unwrap();
    assert!(flows.contains("flows,0,0,1,20000,10000000,"), "{flows}");
    assert!(flows.contains("flows,0,1,0,9000,20000000,"), "{flows}");
    // Such a file does not say how many hosts there are.
    let output = trimline(&folder, &["run", "flow.txt", "--format", "hpcc"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("topology"));
}

#[test]
fn formats_lists_every_distribution() {
    let output = trimline(&scratch("formats"), &["formats"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for name in ["web-search", "homa-w5", "dcpim-imc10", "web-ndp-paper"] {
        assert!(text.contains(name), "{text}");
    }
}
