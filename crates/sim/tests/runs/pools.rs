//! Connection pools: requests and messages that take an idle connection, heavy-tailed sizes, and the load that they
//! bring.

use std::collections::BTreeMap;

use trimline_metrics::measure::{Sizes, Spec};
use trimline_metrics::{FlowEnd, FlowRecord, Load, Measure, RunRecord, Summary};
use trimline_sim::plan::{Connection, Matrix, Plan, Pool, WhenBusy};
use trimline_sim::scenario::Scenario;
use trimline_sim::{RunError, run_on};

use crate::plans::{self, both, star, workload};

const US: u64 = 1_000_000;

fn plan(text: &str) -> Plan {
    let scenario = Scenario::parse("s.toml", text, &[]);
    scenario.unwrap_or_else(|error| panic!("{error}\n{text}")).runs.remove(0).plan
}

/// Every host asks another for 1 KB or, once in five times, 1 MB (HULL 6.2, a tenth of its large size).
fn asking(transport: &str, connection: &str, load: &str) -> Plan {
    plan(&format!(
        "duration = \"60ms\"\ntopology.star.hosts = 4\n{transport}[[workload]]\nname = \"files\"\n\
         partition_aggregate = {{ servers = 1, fct_from = \"request\" }}\n\
         size.mixture = [{{ size = \"1KB\", weight = 4 }}, {{ size = \"1MB\" }}]\n\
         connection = {connection}\narrivals.poisson = {{ load = \"{load}\", until = \"30ms\" }}\n"
    ))
}

const DCTCP: &str = "[transport.dctcp]\nhandshake = \"standing\"\nrto_min = \"1ms\"\n";

/// A request and its answer: when the client asked, the request left and the connection was idle.
#[derive(Clone, Copy, Debug)]
struct Asked {
    at: u64,
    left: u64,
    over: u64,
}

/// Delays above this mean a wait for a connection: the host's own answers keep its link busy for less.
const LATE: u64 = 100 * US;

impl Asked {
    /// Returns whether the request waited for a connection.
    fn is_late(&self) -> bool {
        self.left > self.at + LATE
    }
}

/// Returns requests by client and server, in the order of asking.
fn asked(record: &RunRecord) -> BTreeMap<(u32, u32), Vec<Asked>> {
    let all: Vec<FlowRecord> = record.flows.iter().collect();
    let mut pairs: BTreeMap<_, Vec<Asked>> = BTreeMap::new();
    for request in all.iter().filter(|flow| flow.workload == "files-requests") {
        let answer = all.iter().find(|flow| {
            flow.workload == "files"
                && (flow.source, flow.destination) == (request.destination, request.source)
                && flow.start_ps == request.start_ps
        });
        let answer = answer.expect("an answer counts from its request");
        assert_eq!((request.end, answer.end), (FlowEnd::Completed, FlowEnd::Completed));
        let at = request.start_ps;
        let last = request.fct_sender_ps.max(answer.fct_receiver_ps);
        let (left, over) = (at + request.host_wait_ps.unwrap(), at + last.unwrap());
        pairs.entry((request.source, request.destination)).or_default().push(Asked {
            at,
            left,
            over,
        });
    }
    pairs
}

/// Returns the number of busy connections of a pair.
fn busy(pair: &[Asked], at: u64) -> usize {
    pair.iter().filter(|one| one.left <= at && at < one.over).count()
}

/// Returns the number of earlier requests that are not over at that time.
fn before(pair: &[Asked], this: &Asked, at: u64) -> usize {
    pair.iter().filter(|one| one.left < this.left && at < one.over).count()
}

/// A pool never has more busy connections than its size, nor an idle one while a request waits.
#[test]
fn a_client_takes_an_idle_connection_or_waits_for_the_first() {
    // NDP pushes first windows in sequence: a request waits for the answers' windows.
    for (transport, is_prompt) in [(DCTCP, true), ("[transport.ndp]\n", false)] {
        let mut waited = 0;
        for each in [1, 2, 16] {
            let record = both(&asking(transport, &format!("{{ each = {each} }}"), "60%"));
            for pair in asked(&record).values() {
                assert!(pair.len() > 10, "{}", pair.len());
                assert!(pair.iter().all(|one| busy(pair, one.left) <= each), "{each}");
                for one in pair {
                    let others = before(pair, one, one.at);
                    assert!(
                        !is_prompt || !one.is_late() || others >= each,
                        "{each}: {others} busy, {one:?}"
                    );
                    waited += u32::from(one.is_late());
                }
            }
            let is_any_late = asked(&record).values().flatten().any(Asked::is_late);
            assert!(!is_prompt || each < 16 || !is_any_late);
        }
        assert!(waited > 20, "{waited}");
    }
}

/// A request may wait beside an idle connection.
#[test]
fn a_request_that_waits_for_the_least_busy_connection_stays_there() {
    let idle_beside = |when_busy: &str| {
        let connection = format!("{{ each = 2, when_busy = \"{when_busy}\" }}");
        let record = both(&asking(DCTCP, &connection, "80%"));
        let late = |pair: &Vec<Asked>| {
            // Just before it leaves: with one connection idle it could have left then.
            let late = pair.iter().filter(|one| one.is_late());
            late.filter(|one| before(pair, one, one.left - LATE) < 2).count()
        };
        asked(&record).values().map(late).sum::<usize>()
    };
    assert_eq!(idle_beside("wait"), 0);
    assert!(idle_beside("least-busy") > 3);
}

/// HULL 6.2: a small answer waits only if all connections are busy.
#[test]
fn small_answers_do_not_wait_for_large_ones() {
    let slowest = |each: u32| {
        let record = both(&asking(DCTCP, &format!("{{ each = {each} }}"), "40%"));
        let spec = |reduce: &str| Spec {
            quantity: "fct".into(),
            at: Some("receiver".into()),
            workload: Some("files".into()),
            size_bytes: Some(Sizes { from: None, below: Some(10_000) }),
            reduce: Some(reduce.into()),
            unit: Some("us".into()),
            ..Spec::default()
        };
        // A pool's messages have the keys of any flow.
        ["mean", "p50", "p90", "p99.9"]
            .map(|reduce| Measure::try_from(spec(reduce)).unwrap().of(&record).unwrap())
    };
    let [one_mean, .., one_last] = slowest(1);
    let [mean, median, ninety, last] = slowest(16);
    assert!(median <= ninety && ninety <= last && mean < last);
    // A megabyte takes 800 us.
    assert!(one_last > 600.0 && one_last > 2.0 * last, "{one_last} {last}");
    assert!(one_mean > 1.3 * mean, "{one_mean} {mean}");
}

/// At most `each` messages of a pair are under way.
#[test]
fn flows_of_any_matrix_have_pools() {
    for matrix in ["random = {}", "permutation = {}", "incast = { receiver = 1, senders = 3 }"] {
        let record = both(&plan(&format!(
            "duration = \"60ms\"\ntopology.star.hosts = 4\n{DCTCP}[[workload]]\nname = \"w\"\n{matrix}\n\
             size.pareto = {{ shape = \"1.05\", mean = \"60KB\", max = \"1MB\" }}\n\
             connection.each = 3\narrivals.poisson = {{ load = \"70%\", until = \"20ms\" }}\n"
        )));
        let mut pairs: BTreeMap<_, Vec<Asked>> = BTreeMap::new();
        for flow in record.flows.iter() {
            assert_eq!(flow.end, FlowEnd::Completed);
            let (at, over) = (flow.start_ps, flow.start_ps + flow.fct_sender_ps.unwrap());
            let left = at + flow.host_wait_ps.unwrap();
            pairs.entry((flow.source, flow.destination)).or_default().push(Asked {
                at,
                left,
                over,
            });
        }
        let max = pairs.values().map(|pair| pair.iter().map(|one| busy(pair, one.left)).max());
        assert_eq!(max.max().flatten(), Some(3), "{matrix}");
    }
}

/// The realised load counts flows that began.
#[test]
fn offered_and_realised_load_are_reported() {
    let record = both(&asking(DCTCP, "{ each = 16 }", "40%"));
    let summary = Summary::new(&record);
    let load = |name: &str| {
        let found = summary.workloads.iter().find(|workload| workload.workload == name);
        found.expect("a workload").load.clone()
    };
    assert_eq!(load("files-requests"), None);
    let Some(Load { offered_percent, realised_percent }) = load("files") else { panic!("a load") };
    let answers = record.flows.iter().filter(|flow| flow.workload == "files");
    let bytes: u64 = answers.filter_map(|flow| flow.size_bytes).sum();
    // Four links of 10 Gb/s, for 30 ms.
    let realised = bytes as f64 / (4.0 * 30e-3 * 10e9 / 8.0) * 100.0;
    assert!((offered_percent - 40.0).abs() < 1e-3, "{offered_percent}");
    assert!((realised_percent - realised).abs() < 1e-5, "{realised_percent} {realised}");
    assert!((25.0..55.0).contains(&realised), "{realised}");
}

#[test]
fn a_connection_pool_changes_no_draw() {
    let drawn = |connection: &str| {
        let record = both(&asking(DCTCP, connection, "40%"));
        let of = |flow: FlowRecord| {
            (flow.workload.to_string(), flow.source, flow.index, flow.size_bytes)
        };
        let mut drawn: Vec<_> = record.flows.iter().map(of).collect();
        drawn.sort();
        drawn
    };
    let new = drawn("\"new\"");
    assert!(new.len() > 200, "{}", new.len());
    assert_eq!(new, drawn("{ each = 3 }"));
    assert_eq!(new, drawn("{ each = 3, when_busy = \"least-busy\" }"));
}

fn refused(workload: &str) -> String {
    let text = format!(
        "duration = \"1ms\"\ntopology.star.hosts = 4\n[[workload]]\nname = \"w\"\npermutation = {{}}\n{workload}\n"
    );
    Scenario::parse("s.toml", &text, &[]).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn invalid_pareto_sizes_are_refused() {
    for (size, message) in [
        (
            "pareto = { shape = \"1\", mean = \"100KB\" }",
            "s.toml:6:29: sizes without a mean (at `\"1\"`); expected a shape above 1",
        ),
        (
            "pareto = { shape = \"1.05\", mean = \"20B\" }",
            "s.toml:6:44: a mean of 20 B makes the least size smaller than a byte (at `\"20B\"`); expected a mean \
             of 21B or more",
        ),
        (
            "pareto = { shape = \"1.05\", mean = \"100KB\", max = \"100KB\" }",
            "s.toml:6:59: a largest size that does not exceed the mean (at `\"100KB\"`); expected more than 100000 B",
        ),
        (
            "pareto = { shape = \"0\", mean = \"100KB\" }",
            "s.toml:6:29: \"0\" is too small or too large (at `\"0\"`); expected a factor from 1/65536 to 65535 such \
             as \"2\", \"1/4\" or \"0.25\"",
        ),
        (
            "pareto = { shape = \"1.05\" }",
            "s.toml:6:19: missing key `mean` (at `{ shape = \"1.05\" }`); expected `mean`: a size such as \"9000B\" \
             (units: B, KB, MB, GB of 1000; KiB, MiB, GiB of 1024)",
        ),
        (
            "pareto = { shape = \"1.05\", mean = \"1KB\" }, packet = \"1B\"",
            "s.toml:6:62: the form of a file for a distribution that has none (at `\"1B\"`); expected `packet`, \
             `format` and `interpolation` beside `file` or `distribution`",
        ),
        (
            "mixture = []",
            "s.toml:6:20: no weight (at `[]`); expected sizes of which one has a weight above 0",
        ),
        (
            "mixture = [{ size = \"1KB\", weight = 0 }]",
            "s.toml:6:20: no weight (at `[{ size = \"1KB\", weight = 0 }]`); expected sizes of which one has a weight \
             above 0",
        ),
        (
            "mixture = [{ size = \"0B\" }]",
            "s.toml:6:30: a flow of 0 packets (at `\"0B\"`); expected from 1 to 2147483647 packets of 9000 B",
        ),
    ] {
        assert_eq!(refused(&format!("size = {{ {size} }}")), message);
    }
}

#[test]
fn invalid_pools_are_refused() {
    for (workload, message) in [
        (
            "size = \"1KB\"\nconnection = { each = 0 }",
            "s.toml:7:23: 0 is out of range (at `0`); expected an integer from 1 to 1024; nearest: 1",
        ),
        (
            "size = \"1KB\"\nconnection = { each = 2, when_busy = \"queue\" }",
            "s.toml:7:38: unknown word \"queue\" (at `\"queue\"`); expected one of \"wait\", \"least-busy\"",
        ),
        (
            "size = \"1KB\"\nconnection = {}",
            "s.toml:7:14: missing key `each` (at `{}`); expected `each`: an integer from 1 to 1024",
        ),
        (
            "size = \"long-lived\"\nconnection = { each = 2 }",
            "s.toml:7:14: a persistent connection for a long-lived flow, which none can follow (at `{ each = 2 }`); \
             expected a `size`, or \"new\"",
        ),
        (
            "size = \"1KB\"\nconnection = { each = 2 }\n[transport.phost]",
            "s.toml:7:14: a persistent connection of phost, which sends one flow on each (at `{ each = 2 }`); expected \
             \"new\" with this transport",
        ),
    ] {
        assert_eq!(refused(workload), message);
    }
}

/// The plan comes from no scenario.
#[test]
fn a_pool_of_no_connections_is_refused() {
    let mut none = workload("w", Matrix::Permutation, Some(9000));
    none.connection = Connection::Pool(Pool { each: 0, when_busy: WhenBusy::Wait });
    let plan = plans::plan(star(4), 8, vec![none]);
    let error = run_on(&plan, 1, &mut |_| std::ops::ControlFlow::Continue(())).unwrap_err();
    let expected = "`w` keeps its connections, of which there are none";
    assert_eq!(error, RunError::Workload(expected.to_owned()));
}
