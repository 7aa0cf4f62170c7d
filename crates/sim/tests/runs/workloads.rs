//! Flows that follow each other: their starts, on both engines.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use trimline_metrics::{FlowEnd, FlowRecord, RunRecord};
use trimline_sim::scenario::Scenario;

use crate::plans::both;

/// Runs a scenario with one run; both engines agree.
fn record(text: &str) -> RunRecord {
    let scenario = Scenario::parse(&file("s.toml"), text, &[]);
    both(&scenario.unwrap_or_else(|error| panic!("{error}")).runs[0].plan)
}

fn refused(text: &str) -> String {
    Scenario::parse(&file("s.toml"), text, &[]).map(|_| ()).unwrap_err().to_string()
}

fn file(name: &str) -> String {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name).display().to_string()
}

/// Returns flows by source, in order of their starts.
fn by_source(record: &RunRecord, workload: &str) -> BTreeMap<u32, Vec<FlowRecord>> {
    let mut flows: BTreeMap<u32, Vec<FlowRecord>> = BTreeMap::new();
    for flow in record.flows.iter().filter(|flow| flow.workload == workload) {
        flows.entry(flow.source).or_default().push(flow);
    }
    flows
}

const US: u64 = 1_000_000;

#[test]
fn a_closed_loop_starts_a_flow_one_gap_after_the_last_ack() {
    let record = record(
        "duration = \"5ms\"\ntopology.fattree.k = 4\n[[workload]]\nname = \"w\"\nsize = \"90KB\"\n\
         pairs = [[0, 15], [1, 15]]\narrivals.closed_loop.gap = \"100us\"\n",
    );
    for flows in by_source(&record, "w").values() {
        assert!(flows.len() > 10, "{}", flows.len());
        for (number, pair) in flows.windows(2).enumerate() {
            let ended = pair[0].start_ps + pair[0].fct_sender_ps.unwrap();
            assert_eq!(pair[1].start_ps, ended + 100 * US);
            assert_eq!(pair[1].index as usize, number + 1);
        }
        // The loop never ran out of flows before the end of the run.
        let last = flows.last().unwrap();
        let next = last.fct_sender_ps.map_or(u64::MAX, |fct| last.start_ps + fct + 100 * US);
        assert!(next >= 5000 * US, "{next}");
    }
}

#[test]
fn a_closed_loop_of_random_sizes_and_gaps_lasts_until_the_end() {
    let base = "topology.fattree.k = 4\nlinks.host.rate = \"1Gbps\"\n[[link_event]]\nat = \"1ms\"\n\
                link = \"host 0\"\nchange.rate = \"10Gbps\"\n[[workload]]\nname = \"w\"\n\
                random.flows = 3\nsize.distribution = \"web-ndp-paper\"\n\
                arrivals.closed_loop.median_gap = \"200us\"\n";
    let long = record(&format!("duration = \"20ms\"\n{base}"));
    let ended = |flow: &FlowRecord| flow.end == FlowEnd::Completed;
    assert!(long.flows.iter().filter(ended).count() > 300);
    // A connection never runs out of flows: the last one lasts until the end, or ended a gap before it.
    let mut lasting = 0;
    let mut targets = [0; 16];
    for flows in by_source(&long, "w").values() {
        for slot in 0..3 {
            let own: Vec<_> = flows.iter().filter(|flow| flow.index % 3 == slot).collect();
            let last = own.last().unwrap();
            let end = last.fct_sender_ps.map_or(u64::MAX, |fct| last.start_ps + fct);
            lasting += usize::from(end > 18_500 * US);
            own.iter().for_each(|flow| targets[flow.destination as usize] += 1);
        }
    }
    assert!(lasting > 44, "{lasting} of 48 connections");
    assert!(targets.iter().all(|&flows| flows > 5), "destinations are drawn: {targets:?}");
    // A longer run begins with the same flows.
    let short = record(&format!("duration = \"4ms\"\n{base}"));
    for flow in short.flows.iter().filter(ended) {
        assert!(long.flows.iter().any(|other| other == flow), "{flow:?}");
    }
}

#[test]
fn a_closed_loop_ends_after_its_count() {
    let record = record(
        "topology.star.hosts = 4\n[[workload]]\nname = \"w\"\nsize = \"9KB\"\npermutation = {}\n\
         arrivals.closed_loop = { gap = \"0us\", count = 5 }\n",
    );
    assert_eq!(record.flows.len(), 20);
    assert!(record.flows.iter().all(|flow| flow.end == FlowEnd::Completed));
    for flows in by_source(&record, "w").values() {
        for pair in flows.windows(2) {
            assert_eq!(pair[1].start_ps, pair[0].start_ps + pair[0].fct_sender_ps.unwrap());
        }
    }
}

#[test]
fn poisson_arrivals_offer_the_requested_load() {
    for (matrix, load, links) in [
        ("random = {}", 30, 16),
        ("random.flows = 4", 30, 16),
        ("permutation = {}", 60, 16),
        ("incast = { receiver = 3, senders = 10 }", 40, 1),
        ("incast = { receiver = \"random\", senders = 10 }", 20, 16),
    ] {
        let record = record(&format!(
            "duration = \"100ms\"\ntopology.star.hosts = 16\n[[workload]]\nname = \"w\"\n{matrix}\n\
             size.distribution = \"web-ndp-paper\"\narrivals.poisson.load = \"{load}%\"\n",
        ));
        let bytes: u64 = record.flows.iter().filter_map(|flow| flow.size_bytes).sum();
        let full = 100e-3 * 10e9 / 8.0 * f64::from(links);
        let share = bytes as f64 / full * 100.0;
        let wanted = f64::from(load);
        // A heavy tail: the sum of sizes spreads by a tenth or two.
        assert!((0.6 * wanted..1.4 * wanted).contains(&share), "{matrix}: {share} % of {load}");
    }
}

#[test]
fn incasts_repeat_over_a_background() {
    let record = record(
        "duration = \"2ms\"\ntopology.fattree.k = 4\n[[workload]]\nname = \"background\"\n\
         random = {}\nsize = \"90KB\"\narrivals.poisson.load = \"20%\"\n[[workload]]\nname = \"bursts\"\n\
         incast = { receiver = \"random\", senders = 8 }\nsize = \"9KB\"\nstart = \"100us\"\n\
         arrivals.periodic = { every = \"500us\", until = \"1800us\" }\n",
    );
    let mut bursts: BTreeMap<u64, Vec<FlowRecord>> = BTreeMap::new();
    for flow in record.flows.iter().filter(|flow| flow.workload == "bursts") {
        bursts.entry(flow.start_ps).or_default().push(flow);
    }
    let starts: Vec<u64> = bursts.keys().map(|start| start / US).collect();
    assert_eq!(starts, [100, 600, 1100, 1600]);
    for burst in bursts.values() {
        assert_eq!(burst.len(), 8);
        assert!(burst.iter().all(|flow| flow.destination == burst[0].destination));
    }
    assert!(
        bursts.values().any(|burst| burst[0].destination != bursts[&(100 * US)][0].destination)
    );
    assert!(record.flows.iter().filter(|flow| flow.workload == "background").count() > 20);
}

#[test]
fn hosts_that_an_incast_excludes_neither_send_nor_receive() {
    let record = record(
        "duration = \"2ms\"\ntopology.star.hosts = 10\n[[workload]]\nname = \"bursts\"\n\
         incast = { receiver = \"random\", senders = 3, excluding = [0, 1, 2, 3, 9] }\nsize = \"1KB\"\n\
         arrivals.periodic = { every = \"50us\", until = \"1ms\" }\n",
    );
    let hosts: Vec<u32> =
        record.flows.iter().flat_map(|flow| [flow.source, flow.destination]).collect();
    assert_eq!(record.flows.len(), 60);
    assert!(hosts.iter().all(|host| (4..9).contains(host)), "{hosts:?}");
}

#[test]
fn a_start_beyond_the_longest_run_never_happens() {
    let run = |keys: &str| {
        record(&format!(
            "duration = \"1ms\"\ntopology.star.hosts = 4\nlinks = {{ rate = \"400Gbps\", delay = \"1ns\" }}\n{keys}\n\
             [[workload]]\nname = \"w\"\npairs = [[0, 1]]\nsize = \"9KB\"\n\
             [[workload]]\nname = \"late\"\npairs = [[1, 2]]\nsize = \"9KB\"\nstart = \"900000s\"\n"
        ))
    };
    // 2^40 lookahead windows of 2 ns are less than an hour.
    for timer in [
        "transport.ndp.rto = \"900000s\"",
        "transport.pfabric.rto = \"900000s\"",
        "engine = \"heap\"",
    ] {
        let record = run(timer);
        let ended = record.flows.iter().filter(|flow| flow.fct_receiver_ps.is_some());
        assert_eq!(
            ended.map(|flow| flow.workload.to_string()).collect::<Vec<_>>(),
            ["w"],
            "{timer}"
        );
    }
}

#[test]
fn servers_answer_requests_and_clients_continue_after_all_answers() {
    let record = record(
        "duration = \"3ms\"\ntopology.fattree.k = 4\n[[workload]]\nname = \"q\"\nsize = \"20KB\"\n\
         partition_aggregate = { client = 5, servers = 6, request = \"200B\", service_time = \"7us\" }\n\
         arrivals.closed_loop.gap = \"30us\"\n",
    );
    let of =
        |name: &str| record.flows.iter().filter(|flow| flow.workload == name).collect::<Vec<_>>();
    let (requests, answers) = (of("q-requests"), of("q"));
    assert!(requests.len() > 100 && requests.len() % 6 == 0, "{}", requests.len());
    let mut last_answer = None;
    for (query, asked) in requests.chunks(6).enumerate() {
        let start = asked[0].start_ps;
        assert!(asked.iter().all(|request| request.start_ps == start && request.source == 5));
        if let Some(last) = last_answer {
            assert_eq!(start, last + 30 * US);
        }
        last_answer = None;
        for request in asked {
            let Some(fct) = request.fct_receiver_ps else { return };
            let answer = answers.iter().find(|answer| {
                answer.source == request.destination && answer.index as usize == query
            });
            let Some(answer) = answer else { return };
            assert_eq!(answer.start_ps, start + fct + 7 * US);
            assert_eq!((answer.destination, answer.size_bytes), (5, Some(20_000)));
            let Some(fct) = answer.fct_receiver_ps else { return };
            last_answer = last_answer.max(Some(answer.start_ps + fct));
        }
    }
}

#[test]
fn every_host_sends_requests_in_an_open_loop() {
    let record = record(
        "duration = \"2ms\"\ntopology.star.hosts = 12\n[[workload]]\nname = \"q\"\nsize = \"9KB\"\n\
         partition_aggregate.servers = 9\narrivals.poisson.every = \"500us\"\nstart_jitter = \"50us\"\n",
    );
    let requests = record.flows.iter().filter(|flow| flow.workload == "q-requests").count();
    let answers = record.flows.iter().filter(|flow| flow.workload == "q").count();
    assert!(requests % 9 == 0 && (200..800).contains(&requests), "{requests}");
    assert!(answers <= requests && answers * 10 > requests * 9, "{answers} of {requests}");
}

/// FastLane 5: a group's responses add up to its total.
#[test]
fn groups_of_answers_have_equal_sizes_and_reuse_servers_among_few_hosts() {
    let record = record(
        "duration = \"20ms\"\ntopology.star.hosts = 8\n[[workload]]\nname = \"g\"\n\
         size.mixture = [{ size = \"2KB\" }, { size = \"4KB\" }]\narrivals.poisson = { every = \"1ms\", until = \"15ms\" }\n\
         partition_aggregate = { total = [\"32KB\", \"64KB\"], client = [0, 3, 5], excluding = [0, 3, 6], request = \"10B\", fct_from = \"request\" }\n",
    );
    let mut groups: BTreeMap<(u32, u64), Vec<&FlowRecord>> = BTreeMap::new();
    let mut requests: BTreeMap<(u32, u64), usize> = BTreeMap::new();
    let flows: Vec<FlowRecord> = record.flows.iter().collect();
    for flow in &flows {
        assert_eq!(flow.end, FlowEnd::Completed);
        if flow.workload == "g" {
            groups.entry((flow.destination, flow.start_ps)).or_default().push(flow);
        } else {
            assert_eq!(flow.size_bytes, Some(10));
            *requests.entry((flow.source, flow.start_ps)).or_default() += 1;
        }
    }
    assert!((25..70).contains(&groups.len()), "{}", groups.len());
    let mut kinds = BTreeSet::new();
    for ((client, start), flows) in groups {
        assert!([0, 3, 5].contains(&client));
        let size = flows[0].size_bytes.unwrap();
        assert!(flows.iter().all(|flow| flow.size_bytes == Some(size)), "{flows:?}");
        assert_eq!(requests[&(client, start)], flows.len());
        kinds.insert((size, size * flows.len() as u64));
        // Hosts 1, 2, 4, 5 and 7 are servers, 5 not its own.
        let mut of: BTreeMap<u32, usize> = BTreeMap::new();
        flows.iter().for_each(|flow| *of.entry(flow.source).or_default() += 1);
        let servers = if client == 5 { 4 } else { 5 };
        assert_eq!(of.len(), servers, "{of:?}");
        assert!(of.keys().all(|server| ![0, 3, 6, client].contains(server)));
        let (max, min) = (of.values().max().unwrap(), of.values().min().unwrap());
        assert!(max - min <= 1, "{of:?}");
        let mut indices: Vec<(u32, u64)> =
            flows.iter().map(|flow| (flow.source, flow.index)).collect();
        indices.sort_unstable();
        indices.dedup();
        assert_eq!(indices.len(), flows.len(), "each answer has an index of its own");
    }
    let all = [(2_000, 32_000), (2_000, 64_000), (4_000, 32_000), (4_000, 64_000)];
    assert_eq!(kinds, BTreeSet::from(all));
}

#[test]
fn groups_of_answers_end_by_count_and_offer_their_load() {
    let run = |arrivals: &str| {
        record(&format!(
            "duration = \"40ms\"\ntopology.star.hosts = 20\n[[workload]]\nname = \"g\"\n\
             size = \"4KB\"\npartition_aggregate.total = [\"16KB\", \"48KB\"]\n{arrivals}\n"
        ))
    };
    let closed = run("arrivals.closed_loop = { gap = \"10us\", count = 3 }");
    let answers = closed.flows.iter().filter(|flow| flow.workload == "g").count();
    let asked = closed.flows.iter().filter(|flow| flow.workload == "g-requests").count();
    assert!(answers == asked && (20 * 3 * 4..20 * 3 * 12).contains(&answers), "{answers} {asked}");
    // 32 KB at the mean, 20 clients of 10 Gb/s: 20 % in 20 ms are 100 MB.
    let open = run("arrivals.poisson = { load = \"20%\", until = \"20ms\" }");
    let bytes: u64 = open
        .flows
        .iter()
        .filter(|flow| flow.workload == "g")
        .map(|flow| flow.size_bytes.unwrap())
        .sum();
    assert!((93_000_000..107_000_000).contains(&bytes), "{bytes}");
}

#[test]
fn a_connection_matrix_runs_unchanged_and_its_triggers_fire() {
    let text = "Nodes 16\nConnections 5\nTriggers 2\n0->15 id 1 start 2000000 size 90000 send_done_trigger 1\n\
                0->7 id 2 trigger 1 size 18000 recv_done_trigger 2\n7->3 id 3 trigger 2 size 9000\n\
                7->4 id 4 trigger 2 size 9000\n9->7 id 5 start 0 size 9000 recv_done_trigger 2\n\
                trigger id 1 oneshot\ntrigger id 2 barrier count 2\n";
    fs::write(file("chain.cm"), text).unwrap();
    let scenario =
        "topology.fattree.hosts = 16\nworkload = [{ name = \"w\", file = \"chain.cm\" }]\n";
    let record = record(scenario);
    assert!(record.flows.iter().all(|flow| flow.end == FlowEnd::Completed));
    let flow = |source, destination| {
        let ends = |flow: &FlowRecord| (flow.source, flow.destination) == (source, destination);
        record.flows.iter().find(ends).unwrap()
    };
    let (first, second, other) = (flow(0, 15), flow(0, 7), flow(9, 7));
    assert_eq!(first.start_ps, 2 * US);
    assert_eq!(second.start_ps, first.start_ps + first.fct_sender_ps.unwrap());
    let both = [second, other].map(|flow| flow.start_ps + flow.fct_receiver_ps.unwrap());
    for last in [flow(7, 3), flow(7, 4)] {
        assert_eq!(last.start_ps, both[0].max(both[1]));
    }
    fs::write(file("many.cm"), "Nodes 3\nConnections 1\n0->1 start 0 size 1\n").unwrap();
    assert!(refused(&scenario.replace("chain", "many")).contains("`Nodes 3` in a network of 16"));
    fs::write(file("wrong.cm"), text.replace("id 3 trigger", "id 3 begin")).unwrap();
    assert!(
        refused(&scenario.replace("chain", "wrong")).contains("wrong.cm:6: unknown word `begin`")
    );
}

#[test]
fn multishot_triggers_start_one_flow_at_a_time() {
    let text = "Nodes 4\nConnections 4\nTriggers 1\n0->1 start 0 size 9000 send_done_trigger 1\n\
                0->1 trigger 1 size 9000 send_done_trigger 1\n0->2 trigger 1 size 9000\n\
                0->3 trigger 1 size 9000\ntrigger id 1 multishot\n";
    fs::write(file("shots.cm"), text).unwrap();
    let record = record(
        "duration = \"1ms\"\ntopology.star.hosts = 4\nworkload = [{ name = \"w\", file = \"shots.cm\" }]\n",
    );
    let to: Vec<(u32, FlowEnd)> =
        record.flows.iter().map(|flow| (flow.destination, flow.end)).collect();
    // Two activations; the third flow still waits for one.
    let done = FlowEnd::Completed;
    assert_eq!(to, [(1, done), (1, done), (2, done), (3, FlowEnd::NotStarted)]);
}

#[test]
fn a_failed_link_of_a_connection_matrix_carries_no_packet() {
    let text = "Nodes 16\nConnections 1\nFailures 1\n0->15 start 0 size 9000000\n\
                failure switch_type AGG switch_id 1 link_id 0\n";
    fs::write(file("failed.cm"), text).unwrap();
    let record = record(
        "topology.fattree.hosts = 16\nworkload = [{ name = \"w\", file = \"failed.cm\" }]\n",
    );
    let port = |name: &str| record.ports.iter().find(|port| port.name() == name).unwrap().packets;
    assert_eq!(port("aggregation 1 up 0"), 0);
    assert!(port("aggregation 1 up 1") > 100 && port("aggregation 0 up 0") > 100);
    assert_eq!(record.flows.get(0).unwrap().timeouts, 0);
}

#[test]
fn flows_and_topologies_of_hpcc_are_read() {
    fs::write(
        file("star.txt"),
        "5 1 4\n4\n0 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n2 4 100Gbps 1us 0\n3 4 100Gbps 1us 0\n",
    )
    .unwrap();
    fs::write(file("flows.txt"), "2\n0 1 3 100 9000 0.000001\n3 2 3 100 18000 0.000002\n").unwrap();
    let scenario =
        "topology.file = \"star.txt\"\nworkload = [{ name = \"w\", file = \"flows.txt\" }]\n";
    let record = record(scenario);
    let flows: Vec<_> =
        record.flows.iter().map(|flow| (flow.source, flow.start_ps, flow.size_bytes)).collect();
    assert_eq!(flows, [(0, US, Some(9000)), (3, 2 * US, Some(18_000))]);
    assert!(record.flows.iter().all(|flow| flow.end == FlowEnd::Completed));
    fs::write(file("flows9.txt"), "1\n0 9 3 100 9000 0\n").unwrap();
    let error = refused(&scenario.replace("flows.txt", "flows9.txt"));
    assert!(error.contains("flows9.txt:2: host 9 in a network of 4"), "{error}");
    assert!(
        refused(&format!("links.rate = \"1Gbps\"\n{scenario}")).contains("links beside a topology")
    );
}

#[test]
fn workloads_without_end_or_sense_are_refused() {
    let with = |workload: &str| {
        refused(&format!("topology.star.hosts = 4\nworkload = [{{ name = \"w\", {workload} }}]\n"))
    };
    let closed = "permutation = {}, size = \"9KB\", arrivals.closed_loop.gap = \"1us\"";
    assert!(with(closed).contains("a closed loop without end"));
    let open = "permutation = {}, size = \"9KB\", arrivals.poisson.load = \"10%\"";
    assert!(with(open).contains("arrivals without end"));
    assert!(with("permutation = {}").contains("missing key `size`"));
    let incast = "incast = { receiver = 0, senders = 2 }, size = \"9KB\"";
    let looped = format!("{incast}, arrivals.closed_loop = {{ gap = \"1us\", count = 1 }}");
    assert!(with(&looped).contains("partition_aggregate"));
    assert!(with("permutation = {}, size.distribution = \"web-serch\"").contains("web-search"));
    assert!(with("partition_aggregate.servers = 4, size = \"1KB\"").contains("3 other hosts"));
    let total = |size: &str, total: &str| {
        with(&format!("partition_aggregate.total = {total}, size = {size}"))
    };
    assert!(total("\"3KB\"", "[\"6KB\", \"8KB\"]").contains("8000 B, which is no whole number"));
    assert!(total("\"3KB\"", "\"0B\"").contains("no whole number"));
    assert!(total("\"3KB\"", "[]").contains("at least one size and one total"));
    let continuous = total("{ distribution = \"web-search\" }", "\"6KB\"");
    assert!(continuous.contains("or a `mixture`"), "{continuous}");
    assert!(with("partition_aggregate = {}, size = \"1KB\"").contains("servers, total"));
    let both = "partition_aggregate = { servers = 2, total = \"6KB\" }, size = \"1KB\"";
    assert!(with(both).contains("exactly one of servers, total"));
    let none = "partition_aggregate = { servers = 2, client = [] }, size = \"1KB\"";
    assert!(with(none).contains("at least one host"));
    assert!(with("file = \"nowhere.cm\"").contains("nowhere.cm"));
    assert!(with("file = \"a.cm\", size = \"1KB\"").contains("a file lists every flow"));
    let dense =
        "permutation = {}, size = \"9KB\", arrivals.poisson = { load = \"0%\", until = \"1s\" }";
    assert!(with(dense).contains("nothing ever arrives"));
}

#[test]
fn samples_change_no_result_and_add_up_to_the_counters() {
    let text = "duration = \"2ms\"\nwarm_up = \"1ms\"\ntopology.fattree.k = 4\n[[workload]]\nname = \"w\"\n\
                permutation = {}\nsize = \"long-lived\"\n";
    let without = record(text);
    let with = record(&format!("output.series = \"33us\"\n{text}"));
    assert_eq!((&with.flows, &with.ports), (&without.flows, &without.ports));
    // A run without a stated end stops at the same instant, and its links change on time.
    let sized = text.replace("duration = \"2ms\"\nwarm_up = \"1ms\"\n", "link_event = [{ at = \"99us\", \
        link = \"tor 0 up 0\", change = \"fail\" }, { at = \"120us\", link = \"tor 0 up 0\", change = \"restore\" }]\n");
    let sized = sized.replace("long-lived", "900KB");
    let (plain, sampled) = (record(&sized), record(&format!("output.series = \"33us\"\n{sized}")));
    assert_eq!(plain, RunRecord { samples: plain.samples.clone(), ..sampled });
    let groups = with.samples.groups.iter();
    let layers: Vec<String> =
        groups.map(|group| format!("{} {}", group.layer, group.direction)).collect();
    let fabric = ["tor down", "tor up", "aggregation down", "aggregation up", "core down"];
    assert_eq!(layers, [&fabric[..], &["host up"]].concat());
    assert_eq!(with.samples.samples.len(), 60 * 6);
    let last = with.samples.samples.last().unwrap().time_ps;
    let of_ports = with.samples.samples.iter().filter(|sample| sample.group < 5);
    let sampled: u64 = of_ports.map(|sample| sample.counters.bytes).sum();
    let counted: u64 = with.ports.iter().map(|port| port.bytes).sum();
    assert!(sampled < counted && sampled as f64 > counted as f64 * last as f64 / 2.1e9);
    // Full links, and queues of at most eight packets and their headers.
    let busy = with.samples.samples.iter().filter(|sample| sample.group == 0);
    for sample in busy.skip(10) {
        let share = sample.counters.bytes as f64 * 8.0 / (16.0 * 10e9 * 33e-6);
        assert!((0.8..1.1).contains(&share), "{share}");
        assert!(sample.queue_bytes_max <= 9 * 9064 + 72_000);
    }
}

#[test]
fn samples_count_the_sent_and_unsent_bytes_of_hosts() {
    // Two flows of ten packets from one host, at 0 and 50 us, and nothing else: 7.2512 us a packet.
    let text = "output.series = \"10us\"\nduration = \"200us\"\ntopology.star.hosts = 3\n[[workload]]\n\
                name = \"a\"\npairs = [[0, 1]]\nsize = \"90KB\"\n[[workload]]\nname = \"b\"\n\
                pairs = [[0, 2]]\nsize = \"90KB\"\nstart = \"50us\"\n";
    let record = record(text);
    let hosts: Vec<_> = record.samples.samples.iter().filter(|sample| sample.group == 1).collect();
    let unsent: Vec<u64> = hosts.iter().map(|sample| sample.queue_bytes / 9000).collect();
    // A sample at 50 us comes before events at that time.
    assert_eq!(unsent[..7], [8, 7, 5, 4, 3, 11, 10]);
    assert_eq!(unsent[14..], [0; 6]);
    assert_eq!(hosts[0].queue_bytes, hosts[0].queue_bytes_max);
    assert_eq!(hosts[0].counters.packets, 2, "at 0 and 7.25 us; the first ACK comes later");
    let sent: u64 = hosts.iter().map(|sample| sample.counters.bytes).sum();
    let down: u64 = record.ports.iter().map(|port| port.bytes).sum();
    assert_eq!(sent, down, "one switch: what hosts send is what it sends");
}

/// With a server that repeats, a second request would wait on one connection.
#[test]
fn groups_of_answers_on_persistent_connections_are_refused() {
    let text = "topology.star.hosts = 8\ntransport.tcp = {}\n[[workload]]\nname = \"g\"\nsize = \"2KB\"\n\
                connection = \"persistent\"\npartition_aggregate = { total = \"32KB\" }\narrivals.poisson = { every = \"1ms\", until = \"5ms\" }\n";
    let error = Scenario::parse("s.toml", text, &[]).expect_err("refused").to_string();
    assert!(error.contains("persistent connections for groups of answers"), "{error}");
}
