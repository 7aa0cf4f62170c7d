//! One scenario on both drivers: the simulator, and frames between hosts and switches on a virtual clock. Every host
//! sends and receives the same packets, to the picosecond.

mod world;

use std::ops::ControlFlow;

use trimline_metrics::RunRecord;
use trimline_metrics::timeline::{PacketKind, What};
use trimline_packet::TimeDelta;
use trimline_sim::plan::{Plan, Watch};
use trimline_sim::scenario::Scenario;
use trimline_sim::topology;

use world::{Happening, World};

/// Returns the simulator's record, and the packets that hosts sent and received.
fn simulated(plan: &Plan) -> (RunRecord, Vec<Happening>) {
    let mut plan = plan.clone();
    let links = topology::links(&plan.topology).into_iter();
    let hosts: Vec<_> =
        links.filter(|(name, _)| name.starts_with("host ")).map(|(_, link)| link).collect();
    plan.timeline = Some(Watch {
        places: hosts,
        flows: Vec::new(),
        from: TimeDelta::ZERO,
        to: None,
        keep_packets: false,
    });
    let record = trimline_sim::run(&plan, &mut |_| ControlFlow::Continue(())).unwrap();
    let mut happenings: Vec<Happening> = record
        .timeline
        .events
        .iter()
        .filter(|event| matches!(event.what, What::Depart | What::Arrive))
        .filter_map(|event| {
            let place = &record.timeline.places[event.place as usize];
            let host = place.strip_prefix("host ")?.parse().unwrap();
            Some(Happening {
                time_ps: event.time_ps,
                host,
                departs: event.what == What::Depart,
                packet: event.packet,
                flow: (event.flow.source, event.flow.destination),
                sequence: event.sequence,
                attempt: event.attempt,
                path: event.path,
                wire_bytes: event.wire_bytes,
            })
        })
        .collect();
    happenings.sort();
    (record, happenings)
}

/// Runs the scenario on both drivers, which must agree, and returns the events.
#[track_caller]
fn check(text: &str) -> Vec<Happening> {
    let scenario = Scenario::parse("scenario", text, &[]).unwrap();
    let mut all = Vec::new();
    for run in &scenario.runs {
        let plan = &run.plan;
        let ndp = plan.transports[0]
            .config::<trimline_transport::ndp::Config>()
            .expect("NDP runs on both");
        let (record, expected) = simulated(plan);
        let mut world = World::new(plan, ndp);
        world.start(plan, &record.flows);
        let mut got = world.run();
        got.sort();
        let differs = expected.iter().zip(&got).position(|(expected, got)| expected != got);
        if let Some(place) = differs {
            let from = place.saturating_sub(3);
            let near =
                |list: &[Happening]| format!("{:#?}", &list[from..list.len().min(place + 3)]);
            panic!("{}: happening {place} differs: {} {}", run.name, near(&expected), near(&got));
        }
        assert_eq!(got.len(), expected.len(), "{}", run.name);
        assert!(!got.is_empty());
        all.extend(got);
    }
    all
}

fn count(happenings: &[Happening], packet: PacketKind) -> usize {
    happenings.iter().filter(|happening| happening.packet == packet).count()
}

#[test]
fn both_drivers_agree_on_an_incast_into_one_switch() {
    let happenings = check(
        r#"
        seeds = "1..3"
        [topology.star]
        hosts = 12
        [transport.ndp]
        initial_window = 12
        [[workload]]
        name = "replies"
        incast = { receiver = 0, senders = 11 }
        size = "180KB"
        start_jitter = "10us"
        "#,
    );
    assert!(count(&happenings, PacketKind::Header) > 100, "packets are trimmed");
}

#[test]
fn both_drivers_agree_on_an_incast_with_returned_headers() {
    let happenings = check(
        r#"
        seeds = "1..3"
        [topology.star]
        hosts = 20
        [switch]
        profile = "paper"
        data_queue = "2pkt"
        [transport.ndp]
        initial_window = 40
        payload = "1400B"
        [[workload]]
        name = "replies"
        incast = { receiver = 0, senders = 19 }
        size = "84KB"
        start_jitter = "3us"
        "#,
    );
    assert!(count(&happenings, PacketKind::Returned) > 20, "headers come back");
}

#[test]
fn both_drivers_agree_on_paths_through_two_spines() {
    let happenings = check(
        r#"
        seeds = "1..3"
        [topology.leafspine]
        leaves = 4
        spines = 2
        hosts_per_leaf = 2
        [[workload]]
        name = "across"
        pairs = [[0, 2], [1, 4], [3, 6], [5, 2], [7, 0]]
        size = "900KB"
        start_jitter = "20us"
        "#,
    );
    for path in [0, 1] {
        let taken = |h: &&Happening| h.packet == PacketKind::Data && h.path == path;
        assert!(happenings.iter().filter(taken).count() > 300, "path {path}");
    }
}
