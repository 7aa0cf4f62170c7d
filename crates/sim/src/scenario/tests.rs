//! Every kind of mistake with its message, and the plan of a correct file.

mod defaults;
mod effects;

use std::fs;

use super::*;
use crate::plan::{Choose, Matrix, Size, Spraying};
use trimline_packet::{BitRate, ByteCount, TimeDelta};
use trimline_switch::ServiceModel;
use trimline_transport::cbr;
use trimline_transport::ndp::{self, PullSpacing};

const GOOD: &str = r#"
duration = "20.1ms"
warm_up = "10.1ms"
seeds = "1..3"

[topology.fattree]
hosts = 432

[[workload]]
name = "everyone"
permutation = {}
size = "long-lived"
"#;

fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse("scenario.toml", text, &[])
}

/// The error of `GOOD` with one piece of text replaced.
#[track_caller]
fn refused(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "GOOD does not contain {from:?}");
    match parse(&GOOD.replacen(from, to, 1)) {
        Ok(_) => panic!("{to:?} was accepted"),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn check(from: &str, to: &str, message: &str) {
    assert_eq!(refused(from, to), message);
}

#[test]
fn a_minimal_file_has_the_defaults_of_the_paper() {
    let scenario = parse(GOOD).unwrap();
    assert_eq!(scenario.runs.len(), 3);
    let run = &scenario.runs[1];
    assert_eq!((run.name.as_str(), run.plan.seed), ("seed-2", 2));
    assert_eq!(
        run.output,
        Output {
            flows: true,
            ports: false,
            links: false,
            latencies: false,
            timeline: false,
            fct: false,
            series: false
        }
    );
    let plan = &run.plan;
    assert_eq!(plan.topology.hosts(), 432);
    assert_eq!((plan.topology.pods, plan.topology.hosts_per_tor), (12, 6));
    assert_eq!(plan.topology.aggregation_link.rate, BitRate::from_gbps(10));
    assert_eq!(plan.topology.host_link.delay, TimeDelta::from_us(1));
    assert_eq!(plan.switch, ServiceModel::paper(8, 9000));
    let ndp = plan.transports[0].config::<ndp::Config>().expect("NDP");
    assert_eq!((ndp.initial_window, ndp.payload_bytes, ndp.pull_ack), (30, 9000, true));
    assert_eq!(ndp.pull_spacing, PullSpacing::WireBytes);
    assert_eq!(plan.duration, Some(TimeDelta::from_us(20_100)));
    assert_eq!(plan.warm_up, TimeDelta::from_us(10_100));
    assert_eq!(plan.workloads[0].matrix, Matrix::Permutation);
    assert_eq!(plan.workloads[0].size, Size::LongLived);
    assert_eq!(plan.workloads[0].spraying, Spraying::SenderPermuted);
}

#[test]
fn an_old_key_names_the_new_key() {
    for (text, place, said) in [
        (
            "switch.deflection = {}",
            "1:8",
            "unknown key `deflection` (at `deflection`); expected `detour`, its name now",
        ),
        (
            "[[detour]]",
            "1:3",
            "unknown key `detour` (at `detour`); expected `fixed_route`, its name now",
        ),
        (
            "transport.dcqcn.least_rate = \"1Gbps\"",
            "1:17",
            "unknown key `least_rate` (at `least_rate`); expected `min_rate`, its name now",
        ),
        (
            "[[workload]]\nname = \"w\"\nsize.pareto = { mean = \"9KB\", shape = \"2\", most = \"1MB\" }",
            "3:44",
            "unknown key `most` (at `most`); expected `max`, its name now",
        ),
        (
            "[[workload]]\nconnection = \"kept\"",
            "2:14",
            "unknown word \"kept\": its name is now \"persistent\" (at `\"kept\"`)",
        ),
        (
            "switch.detour = { counts = \"deflections\" }",
            "1:28",
            "unknown word \"deflections\": its name is now \"detours\" (at `\"deflections\"`)",
        ),
    ] {
        let error = Scenario::parse("old.toml", text, &[]).unwrap_err().to_string();
        assert!(error.contains(&format!("{place}: {said}")), "{error}");
    }
}

#[test]
fn a_wrong_key_names_the_nearest() {
    check(
        "seeds",
        "sedes",
        "scenario.toml:4:1: unknown key `sedes` (at `sedes`); expected one of name, description, \
         duration, warm_up, seeds, engine, topology, links, host, link_event, routing_convergence, \
         impairment, fixed_route, switch, phantom_queue, transport, payload, workload, output, \
         sweep, series, scheme, schemes; nearest: seeds",
    );
    check(
        "hosts = 432",
        "host = 432",
        "scenario.toml:7:1: unknown key `host` (at `host`); expected one of k, hosts, tiers, \
         oversubscription; nearest: hosts",
    );
    check(
        "permutation = {}",
        "permutation = { x = 1 }",
        "scenario.toml:11:17: unknown key `x` (at `x`); expected no key here",
    );
}

#[test]
fn a_wrong_unit_names_the_nearest() {
    check(
        "\"20.1ms\"",
        "\"20.1mss\"",
        "scenario.toml:2:12: \"20.1mss\" has the unknown unit `mss` (at `\"20.1mss\"`); expected a \
         time such as \"1us\" (units: ps, ns, us, ms, s); nearest: \"20.1ms\"",
    );
    check(
        "\"20.1ms\"",
        "20",
        "scenario.toml:2:12: a number without a unit (at `20`); expected a time such as \"1us\" \
         (units: ps, ns, us, ms, s)",
    );
    check(
        "\"long-lived\"",
        "\"450kB\"",
        "scenario.toml:12:8: \"450kB\" has the unknown unit `kB` (at `\"450kB\"`); expected \
         \"long-lived\", or a size such as \"9000B\" (units: B, KB, MB, GB of 1000; KiB, MiB, GiB \
         of 1024), or a table with distribution, file, format, packet, interpolation, \
         pareto, mixture; nearest: \"450KB\"",
    );
}

#[test]
fn a_wrong_type_names_the_expected_one() {
    check(
        "hosts = 432",
        "hosts = \"432\"",
        "scenario.toml:7:9: a string does not belong here (at `\"432\"`); expected an integer from \
         2 to 1048576",
    );
    check(
        "permutation = {}",
        "permutation = true",
        "scenario.toml:11:15: a boolean does not belong here (at `true`); expected a table with no \
         keys",
    );
    check(
        "permutation = {}",
        "permutation = {}\nclass = 4",
        "scenario.toml:12:9: 4 is out of range (at `4`); expected an integer from 0 to 3; nearest: 3",
    );
    check(
        "permutation = {}",
        "permutation = {}\nspraying = \"switch_random\"",
        "scenario.toml:12:12: unknown word \"switch_random\" (at `\"switch_random\"`); expected one \
         of \"sender-permuted\", \"per-flow\", \"per-pair\", \"switch-random\"; nearest: \"switch-random\"",
    );
}

#[test]
fn invalid_toml_is_refused_with_its_place() {
    let message = refused("hosts = 432", "hosts = = 432");
    assert!(message.starts_with("scenario.toml:7:"), "{message}");
    assert!(message.contains("not TOML"), "{message}");
}

#[test]
fn an_impossible_fattree_names_the_nearest_sizes() {
    check(
        "432",
        "431",
        "scenario.toml:7:9: no FatTree with 3 tiers has 431 hosts (at `431`); expected k^3/4 hosts \
         with even k, such as 128, 250, 432; nearest: 432",
    );
    check(
        "hosts = 432",
        "hosts = 500\noversubscription = 4",
        "scenario.toml:7:9: no FatTree with 3 tiers has 500 hosts (at `500`); expected k^3/4 times \
         4 hosts with even k, such as 64, 216, 512; nearest: 512",
    );
    check(
        "hosts = 432",
        "k = 7",
        "scenario.toml:7:5: a FatTree of 7-port switches: half of the ports go up, half down \
         (at `7`); expected an even number such as 6 or 8; nearest: 8",
    );
    check(
        "hosts = 432",
        "hosts = 432\nk = 12",
        "scenario.toml:8:1: `k` beside `hosts` (at `k`); expected exactly one of k, hosts",
    );
    check(
        "[topology.fattree]\nhosts = 432",
        "topology = {}",
        "scenario.toml:6:12: none of the alternatives is given (at `{}`); expected exactly one of \
         fattree, clos, leafspine, star, back_to_back, file",
    );
    check(
        "[topology.fattree]\nhosts = 432",
        "topology.leafspine = { leaves = 1000, spines = 2, hosts_per_leaf = 60000 }",
        "scenario.toml:6:22: 60000000 hosts (at `{ leaves = 1000, spines = 2, hosts_per_leaf = \
         60000 }`); expected from 2 to 1048576 hosts",
    );
}

#[test]
fn hosts_that_do_not_exist_are_refused() {
    check(
        "permutation = {}",
        "pairs = [[0, 1], [2, 432]]",
        "scenario.toml:11:22: no host 432 in a network of 432 (at `432`); expected a host from 0 to \
         431; nearest: 431",
    );
    check(
        "permutation = {}",
        "pairs = [[0, 1], [2, 2]]",
        "scenario.toml:11:18: host 2 sends to itself (at `[2, 2]`); expected two different hosts",
    );
    check(
        "permutation = {}",
        "pairs = [[0, 1, 2]]",
        "scenario.toml:11:10: no pair (at `[0, 1, 2]`); expected [source, destination], two host \
         numbers",
    );
    check(
        "permutation = {}",
        "pairs = []",
        "scenario.toml:11:9: no pairs (at `[]`); expected at least one pair",
    );
    check(
        "permutation = {}",
        "incast = { receiver = 0, senders = 432 }",
        "scenario.toml:11:36: 432 senders among 431 other hosts (at `432`); expected at most 431 \
         senders; nearest: 431",
    );
    check(
        "permutation = {}",
        "incast = { receiver = 0, senders = 431, excluding = [0, 5, 5] }",
        "scenario.toml:11:36: 431 senders among 430 other hosts (at `431`); expected at most 430 \
         senders; nearest: 430",
    );
}

#[test]
fn missing_or_equal_workloads_are_refused() {
    let workload = "[[workload]]\nname = \"everyone\"\npermutation = {}\nsize = \"long-lived\"\n";
    check(
        workload,
        "",
        "scenario.toml:1:1: missing key `workload`; expected `workload`: at least one table",
    );
    let none = parse("workload = []\ntopology.star.hosts = 2").unwrap_err().to_string();
    assert_eq!(none, "scenario.toml:1:12: empty (at `[]`); expected at least one table");
    let twice = format!("{workload}\n{workload}");
    check(
        workload,
        &twice,
        "scenario.toml:15:8: a second workload named `everyone` (at `\"everyone\"`); expected a name \
         of its own for every workload",
    );
    check(
        "permutation = {}",
        "",
        "scenario.toml:9:1: none of the alternatives is given (at `[[workload]]`); expected exactly \
         one of permutation, random, all_to_all, incast, outcast, pairs, partition_aggregate, file",
    );
    check(
        "size = \"long-lived\"",
        "",
        "scenario.toml:9:1: missing key `size` (at `[[workload]]`); expected `size`: \
         bytes, \"long-lived\" or a distribution",
    );
}

#[test]
fn a_run_without_an_end_is_refused() {
    check(
        "duration = \"20.1ms\"\nwarm_up = \"10.1ms\"",
        "",
        "scenario.toml:11:8: a long-lived flow in a run without `duration` never ends (at \
         `\"long-lived\"`); expected a size, or `duration` in the scenario",
    );
    check(
        "\"10.1ms\"",
        "\"20.1ms\"",
        "scenario.toml:3:11: the warm-up leaves nothing to measure (at `\"20.1ms\"`); expected a time \
         shorter than `duration`, which must be given",
    );
    check(
        "permutation = {}\nsize = \"long-lived\"",
        "permutation = {}\nsize = \"0B\"",
        "scenario.toml:12:8: a flow of 0 packets (at `\"0B\"`); expected from 1 to 2147483647 packets \
         of 9000 B",
    );
}

#[test]
fn seeds_are_a_number_a_list_or_a_range() {
    let seeds = |text: &str| -> Vec<u64> {
        let scenario = parse(&GOOD.replace("\"1..3\"", text)).unwrap();
        scenario.runs.iter().map(|run| run.plan.seed).collect()
    };
    assert_eq!(seeds("[7]"), [7]);
    assert_eq!(seeds("1"), [1]);
    assert_eq!(seeds("[3, 1]"), [3, 1]);
    assert_eq!(seeds("\"4..6\""), [4, 5, 6]);
    check(
        "\"1..3\"",
        "\"3..1\"",
        "scenario.toml:4:9: \"3..1\" is no range (at `\"3..1\"`); expected an integer from 0, or a range \
         such as \"1..5\", or a list, each an integer from 0",
    );
    check(
        "\"1..3\"",
        "[1, 2, 1]",
        "scenario.toml:4:9: a seed is given twice (at `[1, 2, 1]`); expected at least one seed, each \
         once",
    );
    check(
        "\"1..3\"",
        "[1, -2]",
        "scenario.toml:4:13: -2 is out of range (at `-2`); expected an integer from 0; nearest: 0",
    );
}

#[test]
fn a_slow_clock_adds_parts_per_million_to_the_gap() {
    let lag = |cbr: &str| {
        let text = GOOD.replace("[topology.fattree]", &format!("{cbr}\n[topology.fattree]"));
        let runs = parse(&text).unwrap_or_else(|error| panic!("{error}")).runs;
        let config = runs[0].plan.transports[0].config::<cbr::Config>().expect("CBR");
        config.clock_lag.as_ps()
    };
    assert_eq!(lag("transport.cbr = {}"), 0);
    assert_eq!(lag("transport.cbr = { clock_ppm = 200 }"), 1450);
    assert_eq!(lag("transport.cbr = { clock_ppm = 200, rate = \"1Gbps\" }"), 14_502);
}

#[test]
fn profiles_set_the_pacing_and_keys_override_it() {
    let plan = |text: &str| {
        let text = GOOD.replace("[topology.fattree]", &format!("{text}\n[topology.fattree]"));
        parse(&text).unwrap_or_else(|error| panic!("{error}")).runs.remove(0).plan
    };
    let htsim = plan("switch.profile = \"htsim\"");
    assert_eq!(htsim.switch, ServiceModel::htsim(8, 9000));
    let ndp = htsim.transports[0].config::<ndp::Config>().expect("NDP");
    assert_eq!((ndp.pull_spacing, ndp.pull_ack), (PullSpacing::PayloadBytes, true));
    let csg = plan("switch.profile = \"csg-htsim\"");
    assert_eq!(csg.switch, ServiceModel::csg_htsim(8, 9000));
    let ndp = csg.transports[0].config::<ndp::Config>().expect("NDP");
    assert_eq!(ndp.pull_spacing, PullSpacing::WireBytesScaled { percent: 101 });
    assert_eq!((ndp.pull_ack, ndp.order), (true, ndp::Order::RoundRobin));

    assert_eq!(plan("switch.data_queue = \"12pkt\"").switch, ServiceModel::paper(12, 9000));
    assert_eq!(
        plan("switch = { profile = \"p4\", wrr = \"10:1\", coin = true }").switch,
        ServiceModel::paper(8, 9000)
    );
    // CP: headers fill twice the memory of packets, which may be given in packets or bytes.
    for size in ["8pkt", "72512B"] {
        let text = format!("switch = {{ profile = \"cut-payload\", data_queue = \"{size}\" }}");
        assert_eq!(plan(&text).switch, ServiceModel::cut_payload(8, 9064), "{size}");
    }
    let to = |whom: &str| plan(&format!("switch.trim_to = \"{whom}\"")).switch;
    let overflow = |whom: &str| to(whom).describe().join("; ");
    assert_eq!(to("receiver"), ServiceModel::paper(8, 9000));
    assert!(
        overflow("sender").contains("trim the arriving packet to 64 B and return it"),
        "{}",
        overflow("sender")
    );
    let ndp = "transport.ndp = { payload = \"1500B\", initial_window = 23, rto = \"5ms\", \
               pull_spacing.percent_of_wire = 99, path_penalty = false }";
    let small = plan(ndp);
    assert_eq!(small.switch, ServiceModel::paper(8, 1500));
    let config = small.transports[0].config::<ndp::Config>().expect("NDP");
    assert_eq!((config.payload_bytes, config.initial_window), (1500, 23));
    assert_eq!((config.rto, config.path_penalty), (TimeDelta::from_ms(5), None));
    assert_eq!(config.pull_spacing, PullSpacing::WireBytesScaled { percent: 99 });
    let marked =
        plan("switch = { profile = \"ecn\", data_queue = \"100pkt\", ecn_threshold = \"20pkt\" }");
    assert_eq!(marked.switch, ServiceModel::ecn(100, 20));
}

#[test]
fn an_invalid_switch_is_refused() {
    let refused = |text: &str| -> String {
        let text = GOOD.replace("[topology.fattree]", &format!("{text}\n[topology.fattree]"));
        parse(&text).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(
        refused("switch.profile = \"papr\""),
        "scenario.toml:6:18: unknown word \"papr\" (at `\"papr\"`); expected one of \"paper\", \
         \"htsim\", \"csg-htsim\", \"netfpga\", \"p4\", \"cut-payload\", \"drop-tail\", \"ecn\", \"qos\", \
         \"priorities\", \"codel\", \"source-quench\", \"fastlane\", \"pfabric\", \"fastlane-pfabric\", \"uec\"; \
         nearest: \"paper\""
    );
    assert_eq!(
        refused("switch.data_queue = \"1500B\""),
        "scenario.toml:6:21: the data queue holds 1500 B, but a packet has 9064 B (at `\"1500B\"`); \
         expected room for at least one packet, such as \"9064B\" or \"8pkt\""
    );
    assert_eq!(
        refused("switch = { profile = \"ecn\", coin = true }"),
        "scenario.toml:6:36: `coin` with profile \"ecn\", which has one queue (at `true`); expected a \
         profile with a header queue: paper, htsim, csg-htsim, netfpga, p4, uec"
    );
    assert_eq!(
        refused("switch = { coin = true, trim_to = \"sender\" }"),
        "scenario.toml:6:19: `coin` where a trimmed header goes to the sender: only the arriving packet is trimmed \
         (at `true`); expected `coin = false`, or `trim_to = \"receiver\"`"
    );
    assert_eq!(
        refused("switch = { profile = \"drop-tail\", trim_to = \"both\" }"),
        "scenario.toml:6:45: `trim_to` with profile \"drop-tail\", which has one queue (at `\"both\"`); expected a \
         profile with a header queue: paper, htsim, csg-htsim, netfpga, p4, uec"
    );
    assert_eq!(
        refused("switch.wrr = \"10:2\""),
        "scenario.toml:6:14: \"10:2\" the right side is not 1 (at `\"10:2\"`); expected headers to data \
         packets such as \"10:1\""
    );
    assert_eq!(
        refused("switch.ecn_threshold = \"20pkt\""),
        "scenario.toml:6:24: `ecn_threshold` with profile \"paper\", which does not mark (at \
         `\"20pkt\"`); expected profile \"ecn\" or \"uec\""
    );
    assert_eq!(
        refused("transport.ndp.payload = \"64KiB\""),
        "scenario.toml:6:25: a payload of 65536 B (at `\"64KiB\"`); expected from 1B to 65471B"
    );
    assert_eq!(
        refused("transport.ndp.rto = \"0us\""),
        "scenario.toml:6:21: a timer of no length would expire for ever (at `\"0us\"`); expected a \
         time above zero"
    );
}

#[test]
fn links_have_one_default_and_exceptions_by_tier() {
    let text = GOOD.replace(
        "[topology.fattree]",
        "[links]\nrate = \"40Gbps\"\nhost.rate = \"10Gbps\"\naggregation.delay = \"2us\"\n[topology.fattree]",
    );
    let topology = parse(&text).unwrap().runs.remove(0).plan.topology;
    assert_eq!(topology.host_link.rate, BitRate::from_gbps(10));
    assert_eq!(topology.tor_link.rate, BitRate::from_gbps(40));
    assert_eq!(topology.tor_link.delay, TimeDelta::from_us(1));
    assert_eq!(topology.aggregation_link.rate, BitRate::from_gbps(40));
    assert_eq!(topology.aggregation_link.delay, TimeDelta::from_us(2));
}

#[test]
fn every_shape_becomes_a_clos() {
    let shape = |text: &str| {
        let text = GOOD.replace("[topology.fattree]\nhosts = 432", text);
        let clos =
            parse(&text).unwrap_or_else(|error| panic!("{error}")).runs.remove(0).plan.topology;
        (
            clos.tiers,
            [clos.pods, clos.tors_per_pod, clos.hosts_per_tor],
            [clos.aggregations_per_pod, clos.cores_per_aggregation],
        )
    };
    assert_eq!(shape("topology.fattree.k = 8"), (3, [8, 4, 4], [4, 4]));
    assert_eq!(shape("topology.fattree = { hosts = 8192 }"), (3, [32, 16, 16], [16, 16]));
    assert_eq!(
        shape("topology.fattree = { k = 8, oversubscription = 4 }"),
        (3, [8, 4, 16], [4, 4])
    );
    assert_eq!(shape("topology.fattree = { hosts = 32, tiers = 2 }"), (2, [1, 8, 4], [4, 0]));
    assert_eq!(
        shape(
            "topology.clos = { pods = 8, tors_per_pod = 4, hosts_per_tor = 6, aggregations_per_pod = 2, \
             cores_per_aggregation = 4 }"
        ),
        (3, [8, 4, 6], [2, 4])
    );
    assert_eq!(
        shape("topology.leafspine = { leaves = 9, spines = 4, hosts_per_leaf = 16 }"),
        (2, [1, 9, 16], [4, 0])
    );
    assert_eq!(shape("topology.star.hosts = 6"), (1, [1, 1, 6], [0, 0]));
    assert_eq!(shape("topology.back_to_back = {}"), (0, [1, 1, 2], [0, 0]));
}

const VARIED: &str = r#"
seeds = "1..2"
topology.fattree.k = 4

[[workload]]
name = "reply"
incast = { receiver = 0, senders = 3 }
size = "450KB"

[sweep]
workload.reply.incast.senders = { from = 1, to = 11, step = 5 }

[[series]]
name = "paper"

[[series]]
name = "prioritised"
switch.profile = "htsim"
topology.star.hosts = 32
sweep."workload.reply.incast.senders" = [10]
[[series.workload]]
name = "reply"
incast.excluding = [7]
[[series.workload]]
name = "urgent"
pairs = [[7, 0]]
class = 3
size = "450KB"
"#;

#[test]
fn series_sweep_and_seeds_multiply() {
    let scenario = parse(VARIED).unwrap();
    let names: Vec<&str> = scenario.runs.iter().map(|run| run.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "paper/senders=1/seed-1",
            "paper/senders=1/seed-2",
            "paper/senders=6/seed-1",
            "paper/senders=6/seed-2",
            "paper/senders=11/seed-1",
            "paper/senders=11/seed-2",
            "prioritised/senders=10/seed-1",
            "prioritised/senders=10/seed-2",
        ]
    );
    let run = &scenario.runs[5];
    assert_eq!(run.point, [("senders".to_owned(), "11".to_owned())]);
    assert_eq!(run.plan.workloads.len(), 1);
    assert_eq!(
        run.plan.workloads[0].matrix,
        Matrix::Incast { receiver: 0, senders: 11, excluding: vec![], choose: Choose::Random }
    );
    let run = &scenario.runs[6];
    assert_eq!(run.plan.series, "prioritised");
    assert_eq!((run.plan.topology.tiers, run.plan.topology.hosts()), (1, 32));
    assert_eq!(run.plan.switch, ServiceModel::htsim(8, 9000));
    assert_eq!(
        run.plan.workloads[0].matrix,
        Matrix::Incast { receiver: 0, senders: 10, excluding: vec![7], choose: Choose::Random }
    );
    assert_eq!(run.plan.workloads[0].size, Size::Fixed(ByteCount::new(450_000)));
    assert_eq!((run.plan.workloads[1].class, &run.plan.workloads[1].name[..]), (3, "urgent"));
}

#[test]
fn errors_in_series_and_sweep_have_their_place() {
    let refused = |from: &str, to: &str| -> String {
        assert!(VARIED.contains(from), "{from}");
        parse(&VARIED.replacen(from, to, 1)).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(
        refused("switch.profile = \"htsim\"", "switch.profil = \"htsim\""),
        "scenario.toml:18:8: unknown key `profil` (at `profil`); expected one of profile, data_queue, \
         port_limit, selective_drop, header_queue, wrr, coin, trim_to, return_to_sender, last_hop, notifications, codel, \
         ecn_threshold, ecn_ramp, ecn_mark_at, ecn_count_self, droppable_queue, droppable_ecn_threshold, buffer_cell, \
         shared_buffer, shared_buffer_per_port, shared_buffer_alpha, latency, pfc, detour, port; nearest: profile"
    );
    assert_eq!(
        refused("switch.profile = \"htsim\"", "series = []"),
        "scenario.toml:18:1: unknown key `series` (at `series`); expected one of name, name, \
         description, duration, warm_up, seeds, engine, topology, links, host, link_event, \
         routing_convergence, impairment, fixed_route, switch, phantom_queue, transport, payload, \
         workload, output, sweep, scheme, schemes; nearest: seeds"
            .replace("name, name", "name")
    );
    assert_eq!(
        refused("to = 11", "to = 16"),
        "scenario.toml:11:33: 16 senders among 15 other hosts (at `{ from = 1, to = 16, step = 5 }`); \
         expected at most 15 senders; nearest: 15"
    );
    assert_eq!(
        refused("reply.incast.senders =", "replay.incast.senders ="),
        "scenario.toml:11:10: no workload is named `replay` (at `replay`); expected one of reply; \
         nearest: reply"
    );
    assert_eq!(
        refused("step = 5", "step = 0"),
        "scenario.toml:11:33: no range (at `{ from = 1, to = 11, step = 0 }`); expected { from = 1, \
         to = 431, step = 10 }: integers, from <= to, step >= 1"
    );
    assert_eq!(
        refused("[10]", "[]"),
        "scenario.toml:20:41: no values (at `[]`); expected at least one value, each once"
    );
    assert_eq!(
        refused("name = \"prioritised\"", "name = \"paper\""),
        "scenario.toml:17:8: a second series named `paper` (at `\"paper\"`); expected a name of its own \
         for every series"
    );
    assert_eq!(
        refused("name = \"paper\"", "name = \"a/b\""),
        "scenario.toml:14:8: no name for a file (at `\"a/b\"`); expected a name of letters, digits, `-`, \
         `_` and `.`"
    );
}

#[test]
fn settings_apply_to_every_series() {
    let settings = |settings: &[&str]| {
        let settings: Vec<String> = settings.iter().map(|&text| text.to_owned()).collect();
        Scenario::parse("scenario.toml", VARIED, &settings)
    };
    let scenario = settings(&[
        "seeds=[9]",
        "links.rate=40Gbps",
        "workload.reply.size=\"9KB\"",
        "sweep.workload.reply.incast.senders=[2]",
    ])
    .unwrap();
    assert_eq!(scenario.runs.len(), 2);
    for run in &scenario.runs {
        assert_eq!(run.plan.seed, 9);
        assert_eq!(run.plan.topology.host_link.rate, BitRate::from_gbps(40));
        assert_eq!(run.plan.workloads[0].size, Size::Fixed(ByteCount::new(9000)));
    }
    let refused = |text: &str| settings(&[text]).map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        refused("links.rat=40Gbps"),
        "--set:1:7: unknown key `rat` (at `rat`); expected one of preset, rate, delay, framing, host, tor, \
         aggregation; nearest: rate"
    );
    assert_eq!(
        refused("links.rate=40Gbs"),
        "--set:1:12: \"40Gbs\" has the unknown unit `Gbs` (at `40Gbs`); expected a rate such as \
         \"10Gbps\" (units: bps, Kbps, Mbps, Gbps, Tbps); nearest: \"40Gbps\""
    );
    assert_eq!(
        refused("duration"),
        "--set:1:1: no setting (at `duration`); expected KEY=VALUE with a dotted key of the scenario"
    );
    assert_eq!(
        refused("workload.replies.size=9KB"),
        "--set:1:10: no workload is named `replies` (at `replies`); expected one of reply; nearest: \
         reply"
    );
}

#[test]
fn the_published_schema_matches_the_grammar() {
    let published = include_str!("../../../../schema/scenario.schema.json");
    assert!(
        published == schema(&Transports::built_in()),
        "schema/scenario.schema.json is stale: write `trimline schema` to it"
    );
}

#[test]
fn an_initial_window_may_be_the_bandwidth_delay_product() {
    let window = |text: &str| {
        let text = format!(
            "{text}\n[topology.fattree]\nhosts = 432\n[[workload]]\nname = \"p\"\npermutation = {{}}\nsize = \"9KB\"\n"
        );
        let scenario = Scenario::parse("s", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
        let plan = scenario.runs.into_iter().next().unwrap().plan;
        let ndp = plan.transports[0].config::<ndp::Config>().expect("NDP");
        (plan.topology.host_link.rate.as_bps() / 1_000_000_000, ndp.initial_window)
    };
    // 55.8144 us are 7.7 packets of 7.2512 us; two queues of eight.
    assert_eq!(window("transport.ndp.initial_window = \"bdp\""), (10, 24));
    // 12 us and a tenth of the rest: 16.38144 us are 22.6 packets of 725.12 ns.
    assert_eq!(window("links.preset = \"100G\""), (100, 23 + 16));
    assert_eq!(window("links = { preset = \"400G\", rate = \"10Gbps\" }"), (10, 24));
    assert_eq!(window("links.preset = \"800G\"\ntransport.ndp.initial_window = 30"), (800, 30));
    assert_eq!(window(""), (10, 30));
}

#[test]
fn an_ambiguous_number_of_seeds_is_refused() {
    let seeds = |text: &str| {
        let scenario = Scenario::parse("s.toml", VARIED, &[format!("seeds={text}")]);
        let seeds = |scenario: Scenario| -> Vec<u64> {
            scenario.runs.iter().map(|run| run.plan.seed).take(3).collect()
        };
        scenario.map(seeds).map_err(|error| error.to_string())
    };
    assert_eq!(seeds("[3]").unwrap(), [3, 3, 3]);
    assert_eq!(seeds("1").unwrap(), [1, 1, 1]);
    assert_eq!(seeds("\"1..3\"").unwrap(), [1, 2, 3]);
    let refused = seeds("3").unwrap_err();
    assert!(refused.contains("3 may be one seed or 3 seeds"), "{refused}");
    assert!(refused.contains("expected [3] for the seed 3, or \"1..3\""), "{refused}");
}

#[test]
fn a_run_without_length_is_refused() {
    let refused = Scenario::parse("s.toml", VARIED, &["duration=0s".to_owned()]).unwrap_err();
    assert!(refused.to_string().contains("a run of no length"), "{refused}");
}

/// Returns the time that this thread had a processor: other programs do not count.
fn processor_ns() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Each name was once compared with all before it: eight times the workloads took 64 times as long.
#[test]
fn a_hundred_thousand_workloads_are_read() {
    let read = |count: usize| {
        let mut text = "topology.star.hosts = 3\n".to_owned();
        for number in 0..count {
            text +=
                &format!("[[workload]]\nname = \"w{number}\"\npairs = [[0, 1]]\nsize = \"9KB\"\n");
        }
        let start = processor_ns();
        let scenario = Scenario::parse("s.toml", &text, &[]).unwrap();
        assert_eq!(scenario.runs[0].plan.workloads.len(), count);
        processor_ns() - start
    };
    let few = (0..3).map(|_| read(12_500)).min().unwrap();
    let many = (0..3).map(|_| read(100_000)).min().unwrap();
    assert!(many < 24 * few, "12,500 in {few} ns, 100,000 in {many} ns");
}
