//! Paths of the commands through two spines, in network namespaces: an address or labels for each path (NDP 3.1.1), and
//! a route that goes and comes back (NDP 3.2.3).

use trimline_testbed::namespace::{Namespace, allowed};
use trimline_testbed::network::{Shape, TestNetwork};

use super::operators::Lines;
use super::*;

/// A client at the first leaf and a server at the second.
const CLIENT: usize = 0;
const SERVER: usize = 2;

/// A program inside a namespace, where this user is root.
fn spawn(place: &Place, inside: &Namespace, name: &str, arguments: &[&str]) -> Child {
    let mut command = Command::new(place.0.join(name));
    command.args(arguments).current_dir(&place.0).stdout(Stdio::piped()).stderr(Stdio::piped());
    inside.inside(|| command.spawn()).unwrap()
}

/// Runs a client that must succeed; the server takes a moment. Returns what it printed.
fn answered(place: &Place, inside: &Namespace, arguments: &[&str]) -> String {
    let start = Instant::now();
    loop {
        let output = spawn(place, inside, "trimline", arguments).wait_with_output().unwrap();
        let (said, problem) = describe(&output);
        if output.status.success() {
            return said;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{arguments:?}: {said}{problem}");
    }
}

/// The paths in a file of `--stats`.
fn paths(place: &Place) -> Vec<serde_json::Value> {
    let (json, _) = describe(&place.run("trimline", &["stats", "stats.json", "--json"]));
    let state: serde_json::Value = serde_json::from_str(&json).unwrap();
    state["paths"].as_array().unwrap().clone()
}

/// Sends 200 requests until a load has used all paths, and returns the paths. On a machine that stalls packets time out,
/// and the scoreboard removes a path with many time-outs for a while.
fn load_on_all_paths(
    testbed: &Testbed,
    client: &Namespace,
    load: &[&str],
) -> Vec<serde_json::Value> {
    (0..10)
        .map(|_| {
            let said = answered(&testbed.place, client, load);
            assert!(said.contains("200 answered, 0 not"), "{said}");
            paths(&testbed.place)
        })
        .find(|all| all.iter().all(|path| path["removals"] == 0))
        .expect("a load without a removed path")
}

/// The switches of the testbed's FatTree with label tables, and without any address.
fn label_switches(shape: &Shape) -> String {
    let text = shape.switches("rate = \"1Gbps\"\npayload = 1400");
    let mut out = String::new();
    for line in text.lines() {
        if line.starts_with("[[host.addresses]]")
            || line.starts_with("address =")
            || line.starts_with("through =")
        {
            continue;
        }
        out += line;
        out += "\n";
        let Some(name) = line.strip_prefix("name = \"").and_then(|rest| rest.strip_suffix('"'))
        else {
            continue;
        };
        let labels = match name {
            "tor0" => {
                "{ label = 200, to = \"spine0\" }, { label = 201, to = \"spine1\", swap = 301 }, \
                 { label = 500, to = \"p0\" }"
            }
            "tor1" => {
                "{ label = 300, to = \"p2\" }, { label = 301, to = \"p2\" }, { label = 400, to = \"spine0\" }, \
                 { label = 401, to = \"spine1\" }"
            }
            "spine0" | "spine1" => {
                "{ label = 250, to = \"tor1\" }, { label = 301, to = \"tor1\", swap = 301 }, \
                 { label = 450, to = \"tor0\" }"
            }
            _ => continue,
        };
        out += &format!("labels = [{labels}]\n");
    }
    out
}

struct Testbed {
    place: Place,
    network: TestNetwork,
    _switch: Ends,
}

impl Testbed {
    /// Builds the network, or prints SKIPPED.
    fn new(test: &str, switches: impl FnOnce(&Shape) -> String) -> Option<Testbed> {
        let network = allowed(TestNetwork::build(Shape::FatTree, 1500))?;
        let place = Place::new(test);
        fs::write(place.0.join("switches.toml"), switches(network.shape())).unwrap();
        let middle = network.middle.as_ref().unwrap();
        let switch = Ends(spawn(&place, middle, "trimline-switch", &["switches.toml"]));
        Some(Testbed { place, network, _switch: switch })
    }

    fn host(&self, number: usize) -> &Namespace {
        &self.network.hosts[number].namespace
    }

    fn server(&self, more: &[&str]) -> Ends {
        let serve = ["rpc", "serve", "-i", "h2", "-a", "10.0.0.3"];
        Ends(spawn(&self.place, self.host(SERVER), "trimline", &[&serve[..], more].concat()))
    }
}

const CLIENT_AT: [&str; 4] = ["-i", "h0", "-a", "10.0.0.1"];

#[test]
fn commands_send_by_an_address_for_each_path() {
    let plain = |shape: &Shape| shape.switches("rate = \"1Gbps\"\npayload = 1400");
    let Some(testbed) = Testbed::new("addresses", plain) else { return };
    let own = ["--path-addresses", "10.0.0.3,10.1.0.3"];
    let to_client = ["--peer-paths", "10.0.0.1=10.0.0.1,10.1.0.1"];
    let _server = testbed.server(&[own, to_client].concat());
    let ways =
        ["--path-addresses", "10.0.0.1,10.1.0.1", "--peer-paths", "10.0.0.3=10.0.0.3,10.1.0.3"];
    let client = testbed.host(CLIENT);
    let ping = [&["ping", "10.0.0.3"][..], &CLIENT_AT, &ways, &["-c", "3", "--gap", "1"]].concat();
    assert!(answered(&testbed.place, client, &ping).contains("3 of 3 answered"));
    let load = [&["rpc", "load", "10.0.0.3"][..], &CLIENT_AT, &ways].concat();
    let load = [&load[..], &["-c", "200", "--bytes", "20000", "--stats", "stats.json"]].concat();
    let all = load_on_all_paths(&testbed, client, &load);
    let addresses: Vec<&str> = all.iter().filter_map(|path| path["address"].as_str()).collect();
    assert_eq!(addresses, ["10.0.0.3", "10.1.0.3"]);
    for path in &all {
        let sent = path["sent"].as_u64().unwrap();
        assert!((1300..1900).contains(&sent), "half of 15 packets for each of 200: {all:?}");
    }
    // An address that the host does not have.
    let wrong = ["--path-addresses", "10.0.0.1,10.9.0.1"];
    let ping = [&["ping", "10.0.0.3"][..], &CLIENT_AT, &wrong].concat();
    let output = spawn(&testbed.place, client, "trimline", &ping).wait_with_output().unwrap();
    let (_, problem) = describe(&output);
    assert!(problem.contains("10.9.0.1 is not an address of this interface"), "{problem}");
    let wrong = ["--path-addresses", "10.1.0.1"];
    let ping = [&["ping", "10.0.0.3"][..], &CLIENT_AT, &wrong].concat();
    let output = spawn(&testbed.place, client, "trimline", &ping).wait_with_output().unwrap();
    let (_, problem) = describe(&output);
    assert!(problem.contains("expected one of the path addresses"), "{problem}");
}

/// No switch has a route, so all packets have labels: source routes of three labels, and a swapped label.
#[test]
fn commands_send_on_label_switched_paths() {
    let Some(testbed) = Testbed::new("labels", label_switches) else { return };
    let to_client = ["--peer-paths", "10.0.0.1=400/450/500,401/450/500"];
    let _server = testbed.server(&to_client);
    let ways = ["--peer-paths", "10.0.0.3=200/250/300,201"];
    let client = testbed.host(CLIENT);
    let ping = [&["ping", "10.0.0.3"][..], &CLIENT_AT, &ways, &["-c", "3", "--gap", "1"]].concat();
    assert!(answered(&testbed.place, client, &ping).contains("3 of 3 answered"));
    let load = [&["rpc", "load", "10.0.0.3"][..], &CLIENT_AT, &ways].concat();
    let load = [&load[..], &["-c", "200", "--bytes", "20000", "--stats", "stats.json"]].concat();
    let all = load_on_all_paths(&testbed, client, &load);
    assert_eq!(all.len(), 2);
    for path in &all {
        assert!((1300..1900).contains(&path["sent"].as_u64().unwrap()), "{all:?}");
    }
}

#[test]
fn a_client_leaves_a_path_while_it_has_no_route() {
    let plain = |shape: &Shape| shape.switches("rate = \"1Gbps\"\npayload = 1400");
    let Some(testbed) = Testbed::new("routes", plain) else { return };
    let _server = testbed.server(&["--path-addresses", "10.0.0.3,10.1.0.3"]);
    let ways =
        ["--path-addresses", "10.0.0.1,10.1.0.1", "--peer-paths", "10.0.0.3=10.0.0.3,10.1.0.3"];
    let client = testbed.host(CLIENT);
    let ping = [&["ping", "10.0.0.3"][..], &CLIENT_AT, &ways, &["-c", "1", "--gap", "1"]].concat();
    answered(&testbed.place, client, &ping);
    let load = [&["rpc", "load", "10.0.0.3"][..], &CLIENT_AT, &ways].concat();
    let more = ["-c", "2000", "--rate-rps", "250", "--log", "json", "--stats", "stats.json"];
    let mut load = Ends(spawn(&testbed.place, client, "trimline", &[&load[..], &more].concat()));
    let lines = Lines::of(&mut load.0);
    std::thread::sleep(Duration::from_millis(500));
    client.ip(&["route add unreachable 10.1.0.3/32".to_owned()]).unwrap();
    lines.wait_for(&["path_withdrawn", "10.1.0.3"]);
    // Twice a second the command writes its counters.
    std::thread::sleep(Duration::from_millis(1200));
    let before = paths(&testbed.place);
    assert_eq!([&before[0]["withdrawn"], &before[1]["withdrawn"]], [false, true]);
    std::thread::sleep(Duration::from_millis(1500));
    let after = paths(&testbed.place);
    let sent = |paths: &[serde_json::Value], path: usize| paths[path]["sent"].as_u64().unwrap();
    assert_eq!(sent(&after, 1), sent(&before, 1), "{after:?}");
    assert!(sent(&after, 0) > sent(&before, 0) + 100, "{after:?}");
    client.ip(&["route del unreachable 10.1.0.3/32".to_owned()]).unwrap();
    lines.wait_for(&["path_announced", "10.1.0.3"]);
    assert!(load.0.wait().unwrap().success());
    let end = paths(&testbed.place);
    assert!(sent(&end, 1) > sent(&after, 1) + 100, "{end:?}");
    assert_eq!(end[1]["withdrawn"], false);
}
