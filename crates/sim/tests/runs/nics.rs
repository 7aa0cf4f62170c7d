//! A host's stages between transport and link: NIC queue, interrupts and processors (HULL, NSDI 2012, 4.1).

use trimline_metrics::{HostCounters, RunRecord};
use trimline_packet::TimeDelta;
use trimline_sim::plan::Plan;
use trimline_sim::scenario::Scenario;

use crate::plans::{run, same_everywhere};

/// One long TCP flow between two hosts at 10 Gb/s, and more keys.
fn one_flow(besides: &str) -> Plan {
    let text = format!(
        "duration = \"40ms\"\nwarm_up = \"20ms\"\ntopology.star.hosts = 3\n\
         links = {{ rate = \"10Gbps\", delay = \"1us\", framing = \"24B\" }}\n\
         transport.tcp = {{ payload = \"1450B\", receive_window = 400, initial_window = 400, ack_delay = \"1ms\", rto_min = \"10ms\" }}\n\
         switch = {{ profile = \"drop-tail\", data_queue = \"2MB\" }}\n\
         workload = [{{ name = \"w\", pairs = [[0, 1]], size = \"long-lived\" }}]\n\
         {besides}\n"
    );
    let scenario = Scenario::parse("s.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
    scenario.runs[0].plan.clone()
}

/// Returns goodput in Gb/s from 20 to 40 ms.
fn goodput(record: &RunRecord) -> f64 {
    record.flows.iter().map(|flow| flow.measured_bytes as f64 * 8.0 / 20e6).sum()
}

fn host(record: &RunRecord, number: usize) -> HostCounters {
    record.hosts[number].counters
}

/// Returns the bytes that the receiver acknowledged per ACK.
fn bytes_an_ack(record: &RunRecord) -> f64 {
    let bytes: u64 = record.flows.iter().map(|flow| flow.delivered_bytes).sum();
    bytes as f64 / host(record, 1).sent as f64
}

/// HULL table 2: without coalescing, every second segment has an ACK.
#[test]
fn coalesced_segments_have_one_ack() {
    let every = run(&one_flow("host.cpu = { gro = \"0B\" }"));
    assert!((2_850.0..2_910.0).contains(&bytes_an_ack(&every)), "{}", bytes_an_ack(&every));
    let coalesced = "host.cpu = { interrupts = { frames = 32, time = \"1ms\" }, hosts = [1] }";
    let joined = run(&one_flow(coalesced));
    // 32 frames of 1450 bytes.
    assert!((45_000.0..46_500.0).contains(&bytes_an_ack(&joined)), "{}", bytes_an_ack(&joined));
    assert!(goodput(&joined) > 9.2, "{}", goodput(&joined));
    let counted = host(&joined, 1);
    assert!(counted.interrupts * 31 < counted.frames, "{counted:?}");
}

/// 1.5 us a frame are 667,000 frames a second, whatever the link.
#[test]
fn a_processor_is_the_bottleneck_when_frames_cost_more_than_the_link() {
    let record = run(&one_flow("host.cpu = { packet_cost = \"1500ns\", ring = 4096 }"));
    let expected = 1450.0 * 8.0 / 1_500.0;
    // A round of 64 of 13,333 frames may count at either end.
    assert!(
        (0.98 * expected..1.005 * expected).contains(&goodput(&record)),
        "{}",
        goodput(&record)
    );
    // The processor never rests once the window is full.
    assert!(host(&record, 1).receiving_ps > 37_000_000_000, "{:?}", host(&record, 1));
    // Two processors carry the link.
    let two = run(&one_flow(
        "host.cpu = { packet_cost = \"1500ns\", ring = 4096, cores = 2, gro = \"0B\" }",
    ));
    assert!(goodput(&two) > 9.2, "{}", goodput(&two));
}

/// HULL 4.1, remark 3: without segmentation offload the sender's processor is the bottleneck.
#[test]
fn bursts_cost_the_sender_time() {
    let with = |lso: &str| {
        run(&one_flow(&format!(
            "host.fifo = {{ queue = \"4MB\", lso = \"{lso}\", burst_cost = \"1700ns\" }}"
        )))
    };
    let (on, off) = (with("64KB"), with("0B"));
    let expected = 1450.0 * 8.0 / 1_700.0;
    assert!(goodput(&on) > 9.2, "{}", goodput(&on));
    assert!((0.98 * expected..1.001 * expected).contains(&goodput(&off)), "{}", goodput(&off));
    assert!(host(&off, 0).sending_ps > 38_000_000_000, "{:?}", host(&off, 0));
}

/// A NIC queue holds all connections' packets, in order.
#[test]
fn a_full_queue_loses_packets_and_every_flow_ends() {
    let text = "topology.star.hosts = 4\nlinks.rate = \"10Gbps\"\nlinks.delay = \"1us\"\n\
                transport.tcp = { payload = \"1450B\", ack_delay = \"1ms\", rto_min = \"10ms\", initial_window = 40 }\n\
                switch = { profile = \"drop-tail\", data_queue = \"2MB\" }\nhost.fifo = \"30KB\"\n\
                workload = [{ name = \"w\", pairs = [[0, 1], [0, 2], [0, 3]], size = \"300KB\" }]\n";
    let scenario = Scenario::parse("s.toml", text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let plan = scenario.runs[0].plan.clone();
    let record = run(&plan);
    assert!(record.flows.iter().all(|flow| flow.fct_sender_ps.is_some()));
    let counted = host(&record, 0);
    assert!(counted.queue_dropped > 10, "{counted:?}");
    // Only packets lost there are sent again, with few exceptions.
    let sent: u64 = record.flows.iter().map(|flow| flow.packets_sent).sum();
    let needed = 3 * 207 + counted.queue_dropped;
    assert!((needed..needed + 10).contains(&sent), "{sent} of {needed}");
    assert_eq!(record.ports.iter().map(|port| port.dropped).sum::<u64>(), 0);
}

/// A flow, however small, is two bursts: a SYN and four segments.
#[test]
fn a_burst_ends_where_a_host_has_no_more_data() {
    let text = "topology.star.hosts = 2\nlinks.rate = \"10Gbps\"\nlinks.delay = \"1us\"\n\
                transport.tcp = { payload = \"1450B\", ack_delay = \"1ms\", rto_min = \"10ms\" }\n\
                host.fifo = \"1MB\"\n\
                workload = [{ name = \"w\", pairs = [[0, 1]], size = \"5800B\", arrivals = { periodic = { every = \"100us\", until = \"99.95ms\" } } }]\n";
    let scenario = Scenario::parse("s.toml", text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let record = run(&scenario.runs[0].plan);
    let flows = record.flows.len() as u64;
    assert_eq!((flows, host(&record, 0).sent), (1000, 5000));
    assert_eq!(host(&record, 0).bursts, 2 * flows);
}

#[test]
fn a_full_ring_loses_frames_and_every_flow_ends() {
    let text = "topology.star.hosts = 4\nlinks.rate = \"10Gbps\"\nlinks.delay = \"1us\"\n\
                transport.tcp = { payload = \"1450B\", ack_delay = \"1ms\", rto_min = \"10ms\" }\n\
                switch = { profile = \"drop-tail\", data_queue = \"2MB\" }\n\
                host.cpu = { ring = 8, packet_cost = \"3us\", hosts = [0] }\n\
                workload = [{ name = \"w\", incast = { receiver = 0, senders = 3 }, size = \"300KB\" }]\n";
    let scenario = Scenario::parse("s.toml", text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let record = run(&scenario.runs[0].plan);
    assert!(record.flows.iter().all(|flow| flow.fct_sender_ps.is_some()));
    let counted = host(&record, 0);
    assert!(counted.ring_dropped > 10, "{counted:?}");
    let sent: u64 = record.flows.iter().map(|flow| flow.packets_sent).sum();
    // Three SYNs beside the data.
    assert_eq!(counted.frames + counted.ring_dropped, sent + 3, "nothing else is lost");
}

#[test]
fn host_stages_agree_on_both_engines_and_on_threads() {
    let queue = "host.fifo = { queue = \"60KB\", burst_cost = \"2us\" }";
    let processors = "host.cpu = { interrupts = { frames = 8, time = \"20us\" }, packet_cost = \"260ns\", answer_cost = \"5200ns\", cores = 1 }";
    let many = "host.cpu = { cores = 16, packet_cost = \"5us\", hosts = [1] }";
    let both = format!("{queue}\n{processors}");
    let adaptive = "host.cpu.interrupts = \"adaptive\"";
    for besides in [queue, processors, many, &both, adaptive] {
        let mut plan = one_flow(besides);
        plan.duration = Some(TimeDelta::from_ms(4));
        plan.warm_up = TimeDelta::ZERO;
        same_everywhere(&plan, 2);
    }
    let text = format!(
        "duration = \"4ms\"\ntopology.star.hosts = 3\n\
         links = {{ rate = \"10Gbps\", delay = \"1us\" }}\n\
         transport.dctcp = {{ payload = \"1450B\", ack_delay = \"1ms\", rto_min = \"10ms\" }}\n\
         workload = [{{ name = \"w\", incast = {{ receiver = 0, senders = 2 }}, size = \"long-lived\" }}]\n\
         {both}\nhost.pacer = {{}}\nphantom_queue = [{{ drain = \"90%\" }}]\n"
    );
    let scenario = Scenario::parse("s.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}"));
    same_everywhere(&scenario.runs[0].plan, 2);
}
