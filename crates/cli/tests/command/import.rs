//! Files of other simulators as a user gives them to the program.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::scratch::{Scratch, said, succeeded};

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
    let folder = Scratch::new("permutation");
    fs::create_dir(folder.join("flows")).unwrap();
    fs::write(folder.join("flows/perm_16n.cm"), permutation(16)).unwrap();
    let output =
        folder.trimline(&["run", "flows/perm_16n.cm", "--out", "out", "--set", "output.fct=true"]);
    succeeded(&output);
    let flows = fs::read_to_string(folder.join("out/seed-1/flows.csv")).unwrap();
    assert_eq!(flows.matches(",completed").count(), 16, "{flows}");
    let fct = fs::read_to_string(folder.join("out/seed-1/fct.txt")).unwrap();
    assert_eq!(fct.lines().count(), 16);
    for line in fct.lines() {
        let described: Vec<&str> = line.split(' ').collect();
        assert_eq!(
            (described.len(), described[3], described[4], described[5]),
            (8, "100", "2000000", "0"),
            "{line}"
        );
        let (took, ideal): (u64, u64) =
            (described[6].parse().unwrap(), described[7].parse().unwrap());
        assert!(took >= ideal && took < 3 * ideal, "{line}");
    }
}

#[test]
fn a_topology_of_htsim_replaces_the_fat_tree() {
    let folder = Scratch::new("topology");
    fs::write(folder.join("perm.cm"), permutation(32)).unwrap();
    let topology = "Nodes 32\nTiers 2\nPodsize 32\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\n\
        Radix_Up 2\nDownlink_Latency_ns 1000\nOversubscribed 4\nTier 1\nDownlink_speed_Gbps 100\n\
        Radix_Down 4\nDownlink_Latency_ns 1000\n";
    fs::write(folder.join("tiny.topo"), topology).unwrap();
    let output = folder.trimline(&["explain", "perm.cm", "--topology", "tiny.topo"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("32 hosts: 4 leaves of 8 hosts, 2 spines"), "{text}");
    assert!(text.contains("32 flows from a file"), "{text}");
    fs::write(folder.join("wrong.topo"), topology.replace("Radix_Up", "Radix_Upp")).unwrap();
    let output = folder.trimline(&["explain", "perm.cm", "--topology", "wrong.topo"]);
    assert_eq!(output.status.code(), Some(2));
    let text = said(&output);
    assert!(text.contains("wrong.topo:7: unknown or misplaced key `Radix_Upp`"), "{text}");
}

#[test]
fn a_flow_of_size_0_sends_until_the_end() {
    let folder = Scratch::new("size-0");
    let flows = "Nodes 16\nConnections 3\n0->1 id 1 start 0 size 0\n2->3 id 2 start 0 size 90000\n\
                 4->5 id 3 start 5000000 size 0\n";
    fs::write(folder.join("a.cm"), flows).unwrap();
    let output = folder.trimline(&["run", "a.cm"]);
    assert_eq!(output.status.code(), Some(2));
    let text = said(&output);
    let problem = "a.cm:3: `0->1 size 0` sends until the end of the run, and nothing says when that is; expected \
                   `duration` in the scenario, or --set duration=1ms (as htsim's -end 1000)";
    assert!(text.contains(problem), "{text}");
    let described = ["run", "a.cm", "--set", "duration=1ms", "--out", "out"];
    let output = folder.trimline(&described);
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    // The file has no rate, so the program prints the rate that it took.
    let rate = "note: a.cm has no link rate: links have 10 Gb/s and 1us; change them with --topology or --set \
                links.rate=100Gbps";
    assert_eq!(text.trim_end(), rate);
    let flows = fs::read_to_string(folder.join("out/seed-1/flows.csv")).unwrap();
    assert_eq!(flows.matches(",long-lived").count(), 2, "{flows}");
    assert_eq!(flows.matches(",completed").count(), 1, "{flows}");
    // 1.2 MB a millisecond at 10 Gb/s.
    let sent = |source: &str| -> u64 {
        let mut rows = flows.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let row = rows.find(|row| row[3] == source).expect("a row");
        row[13].parse().expect("a number")
    };
    assert!(sent("0") > 1_000_000 && sent("4") > 1_000_000, "{flows}");
    let arguments = ["explain", "a.cm", "--set", "duration=1ms", "--set", "links.rate=100Gbps"];
    let output = folder.trimline(&arguments);
    assert!(output.status.success());
    assert!(output.stderr.is_empty(), "{}", said(&output));
}

#[test]
fn an_error_in_a_connection_matrix_names_its_line() {
    let folder = Scratch::new("import-mistake");
    fs::write(folder.join("a.cm"), permutation(16).replace("3->8", "3->16")).unwrap();
    let output = folder.trimline(&["run", "a.cm"]);
    assert_eq!(output.status.code(), Some(2));
    let text = said(&output);
    assert!(text.contains("a.cm:6: host 16 of 16; expected hosts from 0 to 15"), "{text}");
    assert!(!folder.join("out").exists());
}

#[test]
fn flows_of_hpcc_run_unchanged() {
    let folder = Scratch::new("hpcc");
    fs::write(folder.join("flow.txt"), "2\n0 1 3 100 20000 0.00001\n1 0 3 100 9000 2e-05\n")
        .unwrap();
    fs::write(
        folder.join("topology.txt"),
        "3 1 2\n2\n0 2 10Gbps 0.001ms 0\n1 2 10Gbps 0.001ms 0\n",
    )
    .unwrap();
    let described = ["run", "flow.txt", "--topology", "topology.txt", "--out", "out"];
    let output = folder.trimline(&described);
    succeeded(&output);
    let flows = fs::read_to_string(folder.join("out/seed-1/flows.csv")).unwrap();
    assert!(flows.contains("flows,0,,0,1,20000,10000000,0,"), "{flows}");
    assert!(flows.contains("flows,0,,1,0,9000,20000000,0,"), "{flows}");
    // Such a file does not have the number of hosts.
    let output = folder.trimline(&["run", "flow.txt"]);
    assert_eq!(output.status.code(), Some(2));
    let text = said(&output);
    assert!(text.contains("flow.txt: flows without a network; expected --topology"), "{text}");
}

#[test]
fn the_formats_command_lists_every_distribution() {
    let output = Scratch::new("formats").trimline(&["formats"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for name in ["web-search", "homa-w5", "dcpim-imc10", "web-ndp-paper"] {
        assert!(text.contains(name), "{text}");
    }
}

/// Returns the rows of flows.csv, each by column.
fn flows(folder: &Path) -> Vec<BTreeMap<String, String>> {
    let text = fs::read_to_string(folder.join("out/seed-1/flows.csv")).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let header: Vec<String> = lines.next().unwrap().collect();
    lines.map(|row| header.iter().cloned().zip(row).collect()).collect()
}

/// Matrices with and without numbers, starts and triggers of every kind, failures, priorities, words in any order,
/// comments.
#[test]
fn every_shape_of_a_connection_matrix_runs_unchanged() {
    let star = "Nodes 16\nConnections 2\n";
    for (name, text, ended) in [
        ("bidir.cm", format!("{star}0->13 start 0 size 90000\n13->0 start 0 size 90000\n"), 2),
        ("incast.tm", format!("# two\n{star}8->0 id 1 start 0 size 90000\n9->0 id 2 size 90000 start 40\n"), 2),
        // Recognised by its first word.
        ("foo", format!("{star}8->0 id 1 start 0 size 90000\n\n9->0 id 2 start 1.5e6 size 9\n"), 2),
        (
            "serial.cm",
            "Nodes 16\nConnections 3\nTriggers 2\n0->5 id 1 start 0 size 90000 send_done_trigger 1\n\
             0->9 id 2 trigger 1 size 90000 recv_done_trigger 2\n9->3 id 3 trigger 2 size 90000\n\
             trigger id 1 oneshot\ntrigger id 2 barrier count 1\n"
                .to_owned(),
            3,
        ),
        (
            "failed.cm",
            "Nodes 16\nConnections 1\nFailures 1\n0->15 id 7 start 0 size 90000\n\
             failure switch_type AGG switch_id 0 link_id 1\n"
                .to_owned(),
            1,
        ),
    ] {
        let folder = Scratch::new(&format!("shape-{name}"));
        fs::write(folder.join(name), text).unwrap();
        let output = folder.trimline(&["run", name, "--out", "out"]);
        succeeded(&output);
        let rows = flows(&folder);
        assert_eq!(rows.iter().filter(|row| row["end"] == "completed").count(), ended, "{name}");
        for row in rows {
            let has_id = name != "bidir.cm";
            assert_eq!(row["id"].is_empty(), !has_id, "{name}: {row:?}");
        }
    }
}

#[test]
fn a_receiver_pulls_flows_with_a_lower_priority_number_first() {
    let folder = Scratch::new("priorities");
    let line = |host: u32, prio: &str| format!("{host}->0 id {host} start 0 size 900000{prio}\n");
    let text = format!(
        "Nodes 16\nConnections 4\n{}{}{}{}",
        line(1, " prio 30"),
        line(2, ""),
        line(3, " prio 10"),
        line(4, " prio 20")
    );
    fs::write(folder.join("a.cm"), text).unwrap();
    let order = |more: &[&str]| -> Vec<String> {
        let described = [&["run", "a.cm", "--out", "out"], more].concat();
        let output = folder.trimline(&described);
        succeeded(&output);
        let mut rows = flows(&folder);
        rows.sort_by_key(|row| row["fct_receiver_ps"].parse::<u64>().unwrap());
        rows.iter().map(|row| row["id"].clone()).collect()
    };
    assert_eq!(order(&[]), ["3", "4", "1", "2"]);
    // All alike: the first one ends long after a quarter of the time.
    order(&["--set", "workload.flows.priorities=false"]);
    let first =
        flows(&folder).iter().map(|row| row["fct_receiver_ps"].parse::<u64>().unwrap()).min();
    assert!(first.is_some_and(|ps| ps > 2_000_000_000), "{first:?}");
}

#[test]
fn ignored_parts_of_a_connection_matrix_are_warned_of_once() {
    let many: String =
        (1..6).map(|host| format!("{host}->0 start 0 size 9 prio {host}\n")).collect();
    for (name, text, described) in [
        (
            "messages.cm",
            "Nodes 16\nConnections 2\n0->1 id 1 msg start 0 size 4086\n0->1 id 1 msg start 0 size 4086\n".to_owned(),
            "messages.cm:3: `msg`: messages on an open connection are not simulated; expected flows, each with a \
             connection of its own",
        ),
        (
            "counts.cm",
            "Nodes 16\nConnections 3\n0->1 id 1 start 0 size 4086\n".to_owned(),
            "counts.cm:3: `Connections 3`, but there are 1; expected the number that the file has",
        ),
        (
            "priorities.cm",
            format!("Nodes 16\nConnections 5\n{many}"),
            "priorities.cm:7: host 0 receives flows of more than 4 priorities; expected 4 at most, as many as a \
             receiver has classes; or `priorities = false`, which treats all alike",
        ),
        (
            "hosts.cm",
            "Nodes 100\nConnections 1\n0->1 start 0 size 9\n".to_owned(),
            "hosts.cm: no FatTree has 100 hosts; expected --topology FILE with the network, a .topo of htsim",
        ),
    ] {
        let folder = Scratch::new(&format!("refused-{name}"));
        fs::write(folder.join(name), text).unwrap();
        let output = folder.trimline(&["run", name]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        let error = said(&output);
        assert_eq!(error.trim_end(), format!("error: {described}"));
    }
}

#[test]
fn a_topology_with_bundles_runs_and_its_errors_show_no_toml() {
    let folder = Scratch::new("bundles");
    let topology = "Nodes 8\nTiers 3\nPodsize 4\n\nTier 0\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 2\n\
        Downlink_Latency_ns 1000\n\nTier 1\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 4\n\
        Downlink_Latency_ns 1000\nBundle 1\n\nTier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\n\
        Downlink_Latency_ns 1000\nBundle 2\n";
    fs::write(folder.join("two.topo"), topology).unwrap();
    let matrix =
        "Nodes 8\nConnections 2\n0->7 id 1 start 0 size 90000\n5->2 id 2 start 0 size 90000\n";
    fs::write(folder.join("a.cm"), matrix).unwrap();
    let output = folder.trimline(&["run", "a.cm", "--topology", "two.topo", "--out", "out"]);
    succeeded(&output);
    assert!(flows(&folder).iter().all(|row| row["end"] == "completed"));
    fs::write(folder.join("three.topo"), topology.replace("Bundle 2", "Bundle 3")).unwrap();
    let output = folder.trimline(&["run", "a.cm", "--topology", "three.topo"]);
    let error = said(&output);
    let described = "error: three.topo:18: `Bundle 3` and 4 links as Radix_Down; expected a multiple of `Bundle`";
    assert_eq!(error.trim_end(), described);
}
