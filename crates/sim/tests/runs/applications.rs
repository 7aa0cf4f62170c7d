//! Applications and their flows: many, short, forgotten and renumbered.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

use trimline_metrics::{FlowEnd, FlowRecord, RunRecord};
use trimline_packet::TimeDelta;
use trimline_sim::plan::{EngineChoice, Plan};
use trimline_sim::scenario::Scenario;
use trimline_sim::transports::{Ndp, Transport};
use trimline_sim::{Resources, run_with};
use trimline_transport::ndp;

use crate::plans::{both, run_on};

fn plan(text: &str) -> Plan {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("s.toml").display().to_string();
    let scenario = Scenario::parse(&file, text, &[]);
    scenario.unwrap_or_else(|error| panic!("{error}\n{text}")).runs.remove(0).plan
}

/// Runs the plan with this many records in memory.
fn with(plan: &Plan, threads: usize, records_in_memory: usize) -> RunRecord {
    let resources = Resources { threads, records_in_memory };
    run_with(plan, resources, &mut |_| ControlFlow::Continue(())).expect("the plan can be run")
}

/// Short flows by the thousand, on lossy links that reorder.
fn many(transport: &str, time_wait: &str) -> Plan {
    plan(&format!(
        "duration = \"12ms\"\ntopology.fattree.k = 4\n{transport}time_wait = \"{time_wait}\"\n\
         [impairment]\nloss = \"0.5%\"\nreordering = \"200us\"\n\
         [[workload]]\nname = \"mice\"\nrandom.flows = 2\nsize = \"1KB\"\narrivals.poisson.every = \"10us\"\n\
         [[workload]]\nname = \"loops\"\npermutation = {{}}\nsize = \"20KB\"\narrivals.closed_loop.gap = \"3us\"\n\
         [[workload]]\nname = \"bursts\"\nincast = {{ receiver = \"random\", senders = 12 }}\nsize = \"2KB\"\n\
         start_jitter = \"70us\"\narrivals.poisson.every = \"50us\"\n\
         [[workload]]\nname = \"q\"\npartition_aggregate = {{ servers = 3, service_time = \"2us\" }}\n\
         size = \"4KB\"\narrivals.closed_loop = {{ mean_gap = \"20us\" }}\n"
    ))
}

const NDP: &str = "[transport.ndp]\ninitial_window = 12\n";
const TCP: &str =
    "[transport.tcp]\nrto_min = \"1ms\"\nrto_initial = \"1ms\"\nack_delay = \"50us\"\n";

/// Flow ids are reused hundreds of times, or at once without time-wait: late packets meet other flows.
#[test]
fn memory_threads_and_engine_do_not_change_results() {
    for (transport, time_wait) in [(NDP, "1ms"), (NDP, "0us"), (TCP, "2ms"), (TCP, "0us")] {
        let plan = many(transport, time_wait);
        let record = with(&plan, 1, usize::MAX);
        assert!(record.flows.len() > 15_000, "{}", record.flows.len());
        let ended = record.flows.iter().filter(|flow| flow.end == FlowEnd::Completed).count();
        assert!(ended as u64 > record.flows.len() * 3 / 4, "{ended} of {}", record.flows.len());
        for threads in 1..=3 {
            assert!(record == with(&plan, threads, 700), "{threads} threads, {time_wait}");
        }
        let heap = Plan { engine: EngineChoice::Heap, ..plan.clone() };
        assert!(record == with(&heap, 1, 1), "heap, {time_wait}");
    }
}

/// Late packets do not reopen a forgotten flow, and a remembered flow answers them.
#[test]
fn all_flows_end_with_any_forget_time() {
    for time_wait in [0, 100, 5_000] {
        let mut plan = many(NDP, "1ms");
        let time_wait = TimeDelta::from_us(time_wait);
        let config = plan.transports[0].config::<ndp::Config>().expect("NDP");
        plan.transports = vec![Ndp.with(ndp::Config { time_wait, ..config.clone() })];
        plan.workloads.truncate(1);
        plan.duration = None;
        let record = both(&plan);
        assert!(record.flows.iter().all(|flow| flow.end == FlowEnd::Completed));
    }
}

/// A matrix as htsim's `gen_allreduce.py` writes it: rings in which each host sends after it has received.
pub(crate) fn ring(hosts: &[u32], steps: usize, size: u64) -> String {
    let (mut connections, mut triggers) = (Vec::new(), Vec::new());
    for start in 0..hosts.len() {
        for step in 0..steps {
            let source = hosts[(start + step) % hosts.len()];
            let destination = hosts[(start + step + 1) % hosts.len()];
            let id = connections.len() + 1;
            let mut line = format!("{source}->{destination} id {id}");
            line += &match step {
                0 => " start 0".to_owned(),
                _ => format!(" trigger {}", triggers.len()),
            };
            line += &format!(" size {size}");
            if step + 1 < steps {
                triggers.push(format!("trigger id {} oneshot", triggers.len() + 1));
                line += &format!(" send_done_trigger {}", triggers.len());
            }
            connections.push(line);
        }
    }
    let head =
        format!("Nodes 16\nConnections {}\nTriggers {}\n", connections.len(), triggers.len());
    head + &connections.join("\n") + "\n" + &triggers.join("\n") + "\n"
}

#[test]
fn a_trigger_at_another_host_acts_after_a_one_way_delay() {
    let text = ring(&[0, 5, 10, 15, 1, 6, 11, 12], 7, 30_000);
    fs::write(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("ring.cm"), text).unwrap();
    for transport in [NDP, TCP] {
        let plan = plan(&format!(
            "topology.fattree.hosts = 16\n{transport}\
             [[workload]]\nname = \"ring\"\nfile = \"ring.cm\"\n"
        ));
        let record = both(&plan);
        for threads in 2..=4 {
            assert!(record == run_on(&plan, threads), "{threads} threads");
        }
        assert_eq!(record.flows.len(), 56);
        assert!(record.flows.iter().all(|flow| flow.end == FlowEnd::Completed));
        // In the ring from host 0 the flow from 5 to 10 starts when 0 has its last ACK, and so on. Between pods six
        // links of 1 us, and 64 bytes on each.
        let flows: Vec<FlowRecord> = record.flows.iter().collect();
        let of = |source: u32, index: u64| {
            flows.iter().find(|flow| (flow.source, flow.index) == (source, index)).unwrap()
        };
        let (first, second) = (of(0, 0), of(5, 0));
        assert_eq!((first.destination, second.destination), (5, 10));
        let noticed = first.start_ps + first.fct_sender_ps.unwrap();
        assert_eq!(second.start_ps, noticed + 6 * (1_000_000 + 51_200));
    }
}

#[test]
fn a_barrier_waits_for_all_hosts_and_a_multishot_starts_one_flow_at_a_time() {
    let text = "Nodes 16\nConnections 7\nTriggers 2\n1->2 start 0 size 9000 send_done_trigger 1\n\
                5->2 start 0 size 90000 recv_done_trigger 1\n9->2 start 50000000 size 9000 send_done_trigger 1\n\
                0->3 trigger 1 size 9000 send_done_trigger 2\n4->3 trigger 1 size 9000 send_done_trigger 2\n\
                8->3 trigger 2 size 9000\n12->3 trigger 2 size 9000\n\
                trigger id 1 barrier count 3\ntrigger id 2 multishot\n";
    fs::write(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("barrier.cm"), text).unwrap();
    let record = both(&plan(
        "topology.fattree.hosts = 16\n[[workload]]\nname = \"b\"\nfile = \"barrier.cm\"\n",
    ));
    let flows: Vec<FlowRecord> = record.flows.iter().collect();
    assert_eq!(flows.len(), 7);
    assert!(flows.iter().all(|flow| flow.end == FlowEnd::Completed));
    let of = |source: u32| flows.iter().find(|flow| flow.source == source).unwrap();
    let last = [1, 5, 9].map(|source| of(source).start_ps + of(source).fct_receiver_ps.unwrap());
    let last = last.into_iter().max().unwrap();
    let starts = [0, 4, 8, 12].map(|source| of(source).start_ps);
    assert!(starts.iter().all(|&start| start > last), "{starts:?} after {last}");
    assert!(starts[2] > starts[0].min(starts[1]) && starts[3] > starts[0].max(starts[1]));
}

/// A multishot trigger has more flows than activations, and a flow waits for one which the run's end cuts off.
#[test]
fn flows_that_wait_for_a_trigger_at_the_end_are_counted() {
    let text = "Nodes 16\nConnections 5\nTriggers 2\n0->1 start 0 size 9000 send_done_trigger 1\n\
                2->3 trigger 1 size 9000\n4->5 trigger 1 size 9000\n6->7 start 0 size 90000000 send_done_trigger 2\n\
                8->9 trigger 2 size 9000\ntrigger id 1 multishot\ntrigger id 2 oneshot\n";
    fs::write(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("waits.cm"), text).unwrap();
    let record = both(&plan(
        "topology.fattree.hosts = 16\nduration = \"1ms\"\n[[workload]]\nname = \"w\"\nfile = \"waits.cm\"\n",
    ));
    let ends: BTreeMap<u32, FlowEnd> =
        record.flows.iter().map(|flow| (flow.source, flow.end)).collect();
    let expected = [
        (0, FlowEnd::Completed),
        (2, FlowEnd::Completed),
        (4, FlowEnd::NotStarted),
        (6, FlowEnd::RunEnded),
        (8, FlowEnd::NotStarted),
    ];
    assert_eq!(ends, BTreeMap::from(expected));
}

#[test]
fn service_times_are_drawn_by_request() {
    let text = |more: &str| {
        format!(
            "topology.star.hosts = 8\n[[workload]]\nname = \"q\"\nsize = \"1KB\"\n\
             partition_aggregate = {{ client = 0, servers = 2, mean_service_time = \"50us\" }}\n\
             arrivals.closed_loop = {{ gap = \"100us\", count = 40 }}\n{more}"
        )
    };
    let taken = |record: &RunRecord| -> Vec<((u32, u64), u64)> {
        let flows: Vec<FlowRecord> = record.flows.iter().collect();
        let requests = flows.iter().filter(|flow| flow.workload == "q-requests");
        let answer = |request: &FlowRecord| {
            let is_answer = |flow: &&FlowRecord| {
                flow.workload == "q"
                    && (flow.source, flow.index) == (request.destination, request.index / 2)
            };
            let answer = flows.iter().find(is_answer).expect("each request is answered");
            let arrived = request.start_ps + request.fct_receiver_ps.unwrap();
            ((answer.source, answer.index), answer.start_ps - arrived)
        };
        requests.map(answer).collect()
    };
    let alone = taken(&both(&plan(&text(""))));
    assert_eq!(alone.len(), 80);
    let mean = alone.iter().map(|(_, ps)| ps).sum::<u64>() / 80;
    assert!((35_000_000..65_000_000).contains(&mean), "{mean}");
    assert!(alone.windows(2).all(|pair| pair[0].1 != pair[1].1), "{alone:?}");
    let other = "[[workload]]\nname = \"other\"\npermutation = {}\nsize = \"90KB\"\n";
    assert_eq!(alone, taken(&both(&plan(&text(other)))));
}

#[test]
fn excluded_hosts_get_no_requests() {
    // Few hosts: the rest is listed. Many hosts: servers are drawn until they fit.
    for hosts in [5u32, 40] {
        let record = both(&plan(&format!(
            "topology.star.hosts = {hosts}\n[[workload]]\nname = \"q\"\nsize = \"1KB\"\n\
             partition_aggregate = {{ servers = 2, excluding = [1, 4] }}\n\
             arrivals.closed_loop = {{ gap = \"10us\", count = 20 }}\n"
        )));
        let requests = record.flows.iter().filter(|flow| flow.workload == "q-requests");
        let asked: BTreeSet<u32> = requests.map(|flow| flow.destination).collect();
        let all = (0..hosts).filter(|host| ![1, 4].contains(host));
        assert_eq!(asked, all.collect::<BTreeSet<u32>>());
    }
}
