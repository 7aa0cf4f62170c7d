//! Persistent connections that carry many messages, one after another.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

use trimline_metrics::{FlowEnd, FlowRecord, RunRecord};
use trimline_packet::{BitRate, TimeDelta};
use trimline_sim::plan::{Arrivals, Connection, EngineChoice, Matrix, Plan, Watch, Workload};
use trimline_sim::scenario::Scenario;
use trimline_sim::transports::{Cbr, Transport};
use trimline_sim::{Resources, RunError, run_with, topology};
use trimline_transport::cbr;

use crate::plans::{self, both, run, run_on, star, workload};

const US: u64 = 1_000_000;

fn plan(text: &str) -> Plan {
    let scenario = Scenario::parse("s", text, &[]);
    scenario.unwrap_or_else(|error| panic!("{error}\n{text}")).runs.remove(0).plan
}

/// Returns the records of a workload by source and destination, in order of their starts.
fn by_pair(record: &RunRecord, workload: &str) -> BTreeMap<(u32, u32), Vec<FlowRecord>> {
    let mut pairs: BTreeMap<_, Vec<FlowRecord>> = BTreeMap::new();
    for flow in record.flows.iter().filter(|flow| flow.workload == workload) {
        pairs.entry((flow.source, flow.destination)).or_default().push(flow);
    }
    pairs
}

fn delivered_at(flow: &FlowRecord) -> u64 {
    flow.start_ps + flow.fct_receiver_ps.expect("it was delivered")
}

fn acknowledged_at(flow: &FlowRecord) -> u64 {
    flow.start_ps + flow.fct_sender_ps.expect("it was acknowledged")
}

fn resent(flow: &FlowRecord) -> u64 {
    flow.retransmissions_signalled + flow.retransmissions_return + flow.retransmissions_timeout
}

/// Returns the slowdowns of successive messages of 1 MB on a path of thirty packets.
fn slowdowns(transport: &str, connection: &str, gap: &str) -> Vec<f64> {
    let record = both(&plan(&format!(
        "topology.star.hosts = 2\nlinks.delay = \"50us\"\n{transport}[[workload]]\nname = \"w\"\n\
         pairs = [[0, 1]]\nsize = \"1MB\"\narrivals.closed_loop = {{ gap = \"{gap}\", count = 3 }}\n\
         connection = \"{connection}\"\n"
    )));
    let over_ideal = |flow: FlowRecord| {
        assert_eq!((flow.end, flow.delivered_bytes), (FlowEnd::Completed, 1_000_000));
        flow.fct_receiver_ps.unwrap() as f64 / flow.ideal_fct_ps.unwrap() as f64
    };
    record.flows.iter().map(over_ideal).collect()
}

/// From two segments five round trips pass before the window fills the path: half of the time again.
#[test]
fn tcp_keeps_its_window_between_messages() {
    let tcp = |more: &str| {
        format!(
            "[transport.tcp]\nhandshake = \"standing\"\ninitial_window = 2\nack_every = 1\n\
             rto_min = \"1ms\"\nrto_initial = \"1ms\"\n{more}"
        )
    };
    let (keeps, restarts) = (tcp(""), tcp("restart_after_idle = true\n"));
    for (transport, connection, gap, is_fast) in [
        (&keeps, "persistent", "0us", true),
        (&keeps, "persistent", "20ms", true),
        (&restarts, "persistent", "0us", true),
        // Longer than the timeout: RFC 5681 4.1.
        (&restarts, "persistent", "20ms", false),
        (&keeps, "new", "0us", false),
        (&restarts, "new", "20ms", false),
    ] {
        let slowdowns = slowdowns(transport, connection, gap);
        let [first, second, third] = slowdowns[..] else { panic!("three messages") };
        assert!(first > 1.4, "{connection}, {gap}: {slowdowns:?}");
        for later in [second, third] {
            let is_right = if is_fast { later < 1.05 } else { (later / first - 1.0).abs() < 0.02 };
            assert!(is_right, "{connection}, {gap}: {slowdowns:?}");
        }
    }
}

/// NDP 3.2-p: data behind LAST is pushed again.
#[test]
fn an_ndp_message_takes_equal_time_on_new_and_persistent_connections() {
    let ndp = "[transport.ndp]\ninitial_window = 8\n";
    let [persistent, new] =
        ["persistent", "new"].map(|connection| slowdowns(ndp, connection, "10us"));
    for (persistent, new) in persistent.iter().zip(&new) {
        assert!(*new > 2.0 && (persistent / new - 1.0).abs() < 0.05, "{persistent} {new}");
    }
}

#[test]
fn a_message_waits_until_its_predecessor_is_acknowledged() {
    for transport in
        ["[transport.ndp]\n", "[transport.tcp]\nack_every = 1\nhandshake = \"standing\"\n"]
    {
        let record = both(&plan(&format!(
            "duration = \"1ms\"\ntopology.star.hosts = 2\n{transport}[[workload]]\nname = \"w\"\n\
             pairs = [[0, 1]]\nsize = \"90KB\"\narrivals.periodic.every = \"20us\"\nconnection = \"persistent\"\n"
        )));
        let messages: Vec<FlowRecord> = record.flows.iter().collect();
        // All messages that the application handed over have a record, and start at that time.
        let starts = messages.iter().map(|message| message.start_ps);
        assert!(starts.eq((0..50).map(|number| number * 20 * US)));
        let ended = messages.iter().position(|message| message.end != FlowEnd::Completed).unwrap();
        // A message takes at least 85 us.
        assert!((8..12).contains(&ended), "{ended}");
        for pair in messages[..ended].windows(2) {
            // Ten packets behind the last ACK of the message before.
            let min = acknowledged_at(&pair[0]) + pair[1].ideal_fct_ps.unwrap();
            let now = delivered_at(&pair[1]);
            assert!((min..min + 5 * US).contains(&now), "{min} {now}");
        }
        for message in &messages[..ended] {
            assert_eq!((message.packets_sent, message.delivered_bytes), (10, 90_000));
        }
        for message in &messages[ended + 1..] {
            assert_eq!((message.packets_sent, message.delivered_bytes), (0, 0), "{message:?}");
            assert_eq!((message.end, message.fct_receiver_ps), (FlowEnd::RunEnded, None));
        }
        // The message under way has its own counts.
        assert!(messages[ended].delivered_bytes <= 90_000 && messages[ended].packets_sent <= 10);
        assert_eq!(
            record.packets_delivered,
            record.flows.iter().map(|flow| flow.delivered_bytes / 9000).sum::<u64>()
        );
    }
}

/// All kinds of persistent workloads, on lossy links that reorder; one link fails.
fn hostile(transport: &str, more: &str) -> Plan {
    plan(&format!(
        "topology.fattree.k = 4\nrouting_convergence = \"100us\"\n{transport}{more}\
         [impairment]\nloss = \"1%\"\nreordering = \"50us\"\n\
         [[link_event]]\nat = \"1ms\"\nlink = \"aggregation 0 up 0\"\nchange = \"fail\"\n\
         [[workload]]\nname = \"mice\"\nrandom.flows = 2\nsize.distribution = \"web-ndp-paper\"\n\
         arrivals.poisson = {{ every = \"150us\", until = \"4ms\" }}\nconnection = \"persistent\"\n\
         [[workload]]\nname = \"loops\"\npermutation = {{}}\nsize = \"20KB\"\nconnection = \"persistent\"\n\
         arrivals.closed_loop = {{ gap = \"3us\", count = 30 }}\n\
         [[workload]]\nname = \"bursts\"\nincast = {{ receiver = \"random\", senders = 12 }}\nsize = \"2KB\"\n\
         start_jitter = \"70us\"\narrivals.poisson = {{ every = \"100us\", until = \"4ms\" }}\nconnection = \"persistent\"\n\
         [[workload]]\nname = \"beside\"\npermutation = {{}}\nsize = \"20KB\"\n\
         arrivals.periodic = {{ every = \"300us\", until = \"4ms\" }}\n\
         [[workload]]\nname = \"q\"\npartition_aggregate = {{ servers = 3, service_time = \"2us\" }}\n\
         size = \"4KB\"\narrivals.closed_loop = {{ mean_gap = \"20us\", count = 20 }}\nconnection = \"persistent\"\n"
    ))
}

const NDP: &str = "[transport.ndp]\ninitial_window = 12\n";
const TIMERS: &str = "rto_min = \"1ms\"\nrto_initial = \"1ms\"\nack_delay = \"50us\"\n";

#[test]
fn each_message_has_its_own_counts_on_lossy_links() {
    let tcp = |name: &str| format!("[transport.{name}]\npayload = \"1500B\"\n{TIMERS}");
    let restarts = tcp("tcp") + "restart_after_idle = true\n";
    for (transport, payload) in
        [(NDP.to_owned(), 9000), (restarts, 1500), (tcp("dctcp"), 1500), (tcp("mptcp"), 1500)]
    {
        let plan = hostile(&transport, "");
        let record = both(&plan);
        for threads in 3..=4 {
            assert!(record == run_on(&plan, threads), "{threads} threads, {transport}");
        }
        assert!(record.flows.len() > 3_000, "{}", record.flows.len());
        let (mut waited, mut again) = (0, 0);
        for flow in record.flows.iter() {
            assert_eq!(flow.end, FlowEnd::Completed, "{flow:?}");
            assert_eq!(Some(flow.delivered_bytes), flow.size_bytes, "{flow:?}");
            // MPTCP repeats segments on another subflow as new ones of that subflow.
            let packets = flow.size_bytes.unwrap().div_ceil(payload);
            let first = flow.packets_sent - resent(&flow);
            assert!(first == packets || transport.contains("mptcp"), "{flow:?}");
            again += resent(&flow);
        }
        assert!(again > 100, "{again}");
        for workload in ["mice", "loops", "bursts", "q", "q-requests"] {
            for messages in by_pair(&record, workload).values() {
                for pair in messages.windows(2) {
                    assert!(delivered_at(&pair[1]) > acknowledged_at(&pair[0]), "{pair:?}");
                    waited += u64::from(pair[1].start_ps < acknowledged_at(&pair[0]));
                }
            }
        }
        assert!(waited > 20, "{waited}");
    }
}

#[test]
fn message_records_are_spilled_to_disk() {
    let plan = hostile(NDP, "");
    let with = |records_in_memory| {
        let resources = Resources { threads: 1, records_in_memory };
        run_with(&plan, resources, &mut |_| ControlFlow::Continue(())).expect("a run")
    };
    let record = with(usize::MAX);
    assert!(record == with(100) && record == with(1));
}

#[test]
fn each_of_a_hundred_thousand_messages_has_a_record() {
    let text = "topology.star.hosts = 4\n[[workload]]\nname = \"w\"\npermutation = {}\nsize = \"100B\"\n\
                arrivals.closed_loop = { gap = \"0us\", count = 25000 }\nconnection = \"persistent\"\n";
    let resources = Resources { threads: 1, records_in_memory: 1000 };
    let record = run_with(&plan(text), resources, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((record.flows.len(), record.packets_delivered), (100_000, 100_000));
    for messages in by_pair(&record, "w").values() {
        for (index, message) in (0..).zip(messages) {
            assert_eq!(
                (message.index, message.packets_sent, message.delivered_bytes),
                (index, 1, 100)
            );
        }
        let in_turn = |pair: &[FlowRecord]| pair[1].start_ps == acknowledged_at(&pair[0]);
        assert!(messages.windows(2).all(in_turn));
    }
}

/// Only bytes after the warm-up are measured.
#[test]
fn a_message_that_began_before_the_warm_up_ended_counts_from_then() {
    for warm_up in [333, 400, 1000, 1234] {
        let record = both(&plan(&format!(
            "duration = \"3ms\"\nwarm_up = \"{warm_up}us\"\ntopology.star.hosts = 4\n[[workload]]\nname = \"w\"\n\
             permutation = {{}}\nsize = \"90KB\"\narrivals.closed_loop.gap = \"1us\"\nconnection = \"persistent\"\n"
        )));
        let mut across = 0;
        for flow in record.flows.iter().filter(|flow| flow.end == FlowEnd::Completed) {
            let expected = match (flow.start_ps, delivered_at(&flow)) {
                (_, end) if end < warm_up * US => 0..1,
                (start, _) if start > warm_up * US => 90_000..90_001,
                _ => 9_000..90_000,
            };
            assert!(expected.contains(&flow.measured_bytes), "{warm_up}: {flow:?}");
            across += u64::from((1..90_000).contains(&flow.measured_bytes));
        }
        assert!((1..=4).contains(&across), "{across}");
    }
}

/// A request keeps its client and its query.
#[test]
fn a_request_on_a_persistent_connection_gets_the_answer_it_gets_on_a_new_one() {
    let served = |connection: &str| -> BTreeMap<(u32, u32, u64), u64> {
        let record = both(&plan(&format!(
            "topology.star.hosts = 6\n[[workload]]\nname = \"q\"\nsize = \"1KB\"\n\
             partition_aggregate = {{ servers = 2, mean_service_time = \"50us\" }}\n\
             arrivals.closed_loop = {{ gap = \"10us\", count = 40 }}\nconnection = \"{connection}\"\n"
        )));
        let requests: Vec<_> =
            record.flows.iter().filter(|flow| flow.workload == "q-requests").collect();
        let answers: Vec<_> = record.flows.iter().filter(|flow| flow.workload == "q").collect();
        assert_eq!((requests.len(), answers.len()), (480, 480));
        let service = |request: &FlowRecord| {
            // The answer's index names the client, one of six, and its query.
            let index = request.index / 2 * 6 + u64::from(request.source);
            let is_answer = |flow: &&FlowRecord| {
                (flow.source, flow.destination, flow.index)
                    == (request.destination, request.source, index)
            };
            let answer = answers.iter().find(is_answer).expect("each request is answered");
            let name = (request.source, request.destination, request.index);
            (name, answer.start_ps - delivered_at(request))
        };
        requests.iter().map(service).collect()
    };
    let persistent = served("persistent");
    assert_eq!(persistent, served("new"));
    assert_eq!(persistent.values().collect::<BTreeSet<_>>().len(), 480);
}

/// A timeline changes nothing.
#[test]
fn a_timeline_names_messages() {
    let text = "topology.star.hosts = 2\n[[workload]]\nname = \"w\"\npairs = [[0, 1]]\nsize = \"27KB\"\n\
                arrivals.closed_loop = { gap = \"5us\", count = 4 }\nconnection = \"persistent\"\n";
    let plan = plan(text);
    let places = topology::links(&plan.topology).into_iter().map(|(_, link)| link).collect();
    let watch =
        Watch { places, flows: Vec::new(), from: TimeDelta::ZERO, to: None, keep_packets: false };
    let watched = run(&Plan { timeline: Some(watch), ..plan.clone() });
    let unwatched = RunRecord { timeline: Default::default(), ..watched.clone() };
    crate::timeline::records_waits(&watched);
    assert!(unwatched == run(&plan));
    let of = |index| {
        let events = watched.timeline.events.iter().filter(move |event| event.flow.index == index);
        events.map(|event| event.time_ps)
    };
    for (index, message) in (0..).zip(watched.flows.iter()) {
        assert_eq!(of(index).min(), Some(message.start_ps));
        assert_eq!(of(index).max(), Some(acknowledged_at(&message)));
    }
}

#[test]
fn a_workload_that_cannot_be_persistent_is_refused() {
    let matrix = "Nodes 4\nConnections 1\n0->1 start 0 size 9000\n";
    fs::write(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kept.cm"), matrix).unwrap();
    for (workload, what) in [
        (
            "permutation = {}\nsize = \"long-lived\"",
            "a persistent connection for a long-lived flow, which none can follow (at `\"persistent\"`); expected a `size`, or \"new\"",
        ),
        (
            "file = \"kept.cm\"",
            "a persistent connection for a file, whose flows have their own (at `\"persistent\"`); expected \"persistent\" without `file`, or \"new\"",
        ),
    ] {
        let text = format!(
            "duration = \"1ms\"\ntopology.star.hosts = 4\n[[workload]]\nname = \"w\"\nconnection = \"persistent\"\n{workload}\n"
        );
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("s.toml").display().to_string();
        let error = Scenario::parse(&file, &text, &[]).map(|_| ()).unwrap_err().to_string();
        assert_eq!(error, format!("{file}:5:14: {what}"));
    }
}

/// The plan comes from no scenario.
#[test]
fn a_plan_with_persistent_connections_of_a_transport_without_messages_is_refused() {
    let mut persistent = workload("w", Matrix::Permutation, Some(9000));
    persistent.connection = Connection::Persistent;
    let (rate, clock_lag) = (BitRate::from_gbps(1), TimeDelta::ZERO);
    let cbr =
        Cbr.with(cbr::Config { payload_bytes: 9000, rate, clock_lag, marks_unscheduled: false });
    let error =
        |plan: &Plan| trimline_sim::run(plan, &mut |_| ControlFlow::Continue(())).unwrap_err();
    let plan = plans::plan(star(4), 8, vec![persistent.clone()]);
    let without = error(&Plan { transports: vec![cbr], ..plan.clone() });
    let expected = "`w` keeps its connections, and transport `cbr` sends one message on each";
    assert_eq!(without, RunError::Workload(expected.to_owned()));
    let endless = workload("w", Matrix::Permutation, None);
    persistent.size = endless.size;
    let duration = Some(TimeDelta::from_ms(1));
    let endless = error(&Plan { workloads: vec![persistent], duration, ..plan });
    let expected = "`w` keeps its connections, whose flows never end";
    assert_eq!(endless, RunError::Workload(expected.to_owned()));
}

#[test]
fn a_repeated_pair_shares_a_connection() {
    let mut twice = workload("w", Matrix::Pairs(vec![(0, 1), (2, 1), (0, 1)]), Some(45_000));
    assert_eq!(twice.arrivals, Arrivals::Once);
    twice.connection = Connection::Persistent;
    let plan = plans::plan(star(4), 8, vec![twice]);
    let record = both(&plan);
    assert!(record == run(&Plan { engine: EngineChoice::Heap, ..plan }));
    let pairs = by_pair(&record, "w");
    let [first, second] = &pairs[&(0, 1)][..] else { panic!("two messages") };
    assert!(delivered_at(second) > acknowledged_at(first) && second.start_ps == 0);
}

/// Messages of two workloads do not wait for each other.
#[test]
fn each_workload_has_its_own_connections() {
    let persistent = |name: &str| {
        let pairs = workload(name, Matrix::Pairs(vec![(0, 1)]), Some(900_000));
        Workload { connection: Connection::Persistent, ..pairs }
    };
    let record = both(&plans::plan(star(4), 8, vec![persistent("v"), persistent("w")]));
    for flow in record.flows.iter() {
        let slowdown = flow.fct_receiver_ps.unwrap() as f64 / flow.ideal_fct_ps.unwrap() as f64;
        assert!((1.7..2.2).contains(&slowdown), "{slowdown}");
    }
}
