//! Detours: which packets, where to, how often, and their effect on a run. `switch/src/detour.rs` tests the decision
//! alone; `random_networks` compares engines and threads.

use std::collections::{HashMap, HashSet};

use trimline_metrics::RunRecord;
use trimline_metrics::timeline::{PacketKind, What};
use trimline_packet::{BitRate, TimeDelta};
use trimline_sim::plan::detour::{DetourModel, Hot, Seen, Targets};
use trimline_sim::plan::{LinkChange, LinkEvent, Lossless, Matrix, Plan, Size, Spraying, Watch};
use trimline_sim::topology;
use trimline_sim::transports::{Cbr, Ndp, Transport};
use trimline_switch::{Choices, Limit, ServiceModel};
use trimline_transport::{cbr, ndp};

use crate::plans::{self, fattree, plan, run, same_everywhere, workload};

/// Capacity of a data queue, in packets.
const QUEUE: u32 = 16;

/// Eight hosts of other pods each send a window to the two hosts of one ToR, in a FatTree with 16 hosts.
fn incast(size: u64, model: Option<DetourModel>) -> Plan {
    let pairs = (0..2).flat_map(|to| (4..12).map(move |from| (from, to))).collect();
    let mut plan = plan(fattree(4), 12, vec![workload("w", Matrix::Pairs(pairs), Some(size))]);
    plan.switch = ServiceModel::paper(QUEUE, 9000);
    plan.detour = model;
    plan
}

fn everywhere(places: &[(String, topology::LinkId)]) -> Watch {
    Watch {
        places: places.iter().map(|&(_, link)| link).collect(),
        flows: Vec::new(),
        from: TimeDelta::ZERO,
        to: None,
        keep_packets: false,
    }
}

fn trims(record: &RunRecord) -> u64 {
    record.ports.iter().map(|port| port.trimmed).sum()
}

fn detoured(record: &RunRecord) -> u64 {
    record.ports.iter().map(|port| port.detoured).sum()
}

fn links(record: &RunRecord) -> impl Iterator<Item = (u16, u8)> {
    record.paths.iter().map(|path| (path.links, path.detours))
}

#[test]
fn detours_avoid_trims_and_use_more_links() {
    let plain = same_everywhere(&incast(90_000, None), 2);
    let opf = same_everywhere(&incast(90_000, Some(DetourModel::opf(QUEUE - 6))), 2);
    assert!(plain.paths.is_empty() && detoured(&plain) == 0);
    assert!(detoured(&opf) > 20, "{}", detoured(&opf));
    assert!(4 * trims(&opf) < 3 * trims(&plain), "{} of {}", trims(&opf), trims(&plain));
    // Six links between pods; a packet that is detoured once takes two or more besides.
    for (links, detours) in links(&opf) {
        assert!(detours <= 2 && links % 2 == 0, "{links} links, {detours} detours");
        match detours {
            0 => assert_eq!(links, 6),
            _ => assert!(links > 6, "{links} links, {detours} detours"),
        }
    }
    assert!(links(&opf).any(|(_, detours)| detours == 2));
    let packets: u64 = opf.paths.iter().map(|path| path.packets).sum();
    assert!(packets >= 16 * 10 && opf.paths.iter().all(|path| &*path.workload == "w"));
    assert!(opf.paths.iter().all(|path| path.up_to_bytes == Some(131_072)));
}

/// Debug builds assert that a switch whose ports the lookahead window engine treats as independent detours nothing.
#[test]
fn data_of_every_class_makes_a_port_hot() {
    let mut plan = incast(90_000, Some(DetourModel::dibs()));
    plan.switch = ServiceModel::qos(2);
    plan.workloads[0].class = 1;
    assert!(detoured(&same_everywhere(&plan, 2)) > 20);
}

#[test]
fn scheduled_packets_are_not_detoured() {
    let model = DetourModel { hot: Some(Hot::Above(0)), ..DetourModel::opf(0) };
    // Two packets of each flow are marked.
    let mut plan = incast(900_000, Some(model));
    let ndp = ndp::Config { marked: 2, ..plans::ndp(12) };
    plan.transports = vec![Ndp.with(ndp)];
    let record = run(&plan);
    let arrived: u64 =
        record.paths.iter().filter(|path| path.detours > 0).map(|path| path.packets).sum();
    assert!(arrived > 0 && arrived <= 2 * 16, "{arrived} packets of {} flows", record.flows.len());
}

/// Without a detour only the file with the paths differs.
#[test]
fn a_switch_that_never_detours_changes_nothing() {
    let never = DetourModel { hot: None, ..DetourModel::opf(0) };
    for plan in [incast(90_000, Some(never)), incast(90_000, Some(DetourModel::opf(500)))] {
        let without = run(&Plan { detour: None, ..plan.clone() });
        let with = same_everywhere(&plan, 3);
        assert!(links(&with).all(|way| way == (6, 0)), "{:?}", with.paths);
        assert_eq!(RunRecord { paths: Vec::new(), ..with }, without);
    }
}

/// A detoured packet does not go straight back, to another host, or to a dead link.
#[test]
fn no_packet_is_detoured_to_a_forbidden_port() {
    let mut plan = incast(90_000, Some(DetourModel::opf(2)));
    let places = topology::links(&plan.topology);
    let names: HashMap<&str, topology::LinkId> =
        places.iter().map(|(name, link)| (name.as_str(), *link)).collect();
    let dead = names["aggregation 0 up 1"];
    plan.link_events.push(LinkEvent {
        at: TimeDelta::ZERO,
        link: dead,
        both_directions: true,
        change: LinkChange::Fail,
    });
    plan.routing_convergence = TimeDelta::ZERO;
    plan.timeline = Some(everywhere(&places));
    let record = run(&plan);
    let mut last: HashMap<(u32, u32, u32), &str> = HashMap::new();
    let mut turned = HashSet::new();
    let (mut moves, mut detours) = (0, 0);
    for event in &record.timeline.events {
        let place = record.timeline.places[event.place as usize].as_str();
        let packet = (event.flow.source, event.flow.destination, event.sequence);
        if event.what == What::Detour {
            detours += 1;
            turned.insert(packet);
        }
        if event.what == What::Arrive && event.packet == PacketKind::Data {
            assert_eq!(place, format!("host {}", event.flow.destination));
        }
        if event.what != What::Depart || event.packet != PacketKind::Data {
            continue;
        }
        assert_ne!(place, "aggregation 0 up 1");
        if turned.remove(&packet) {
            let back = topology::reverse(&plan.topology, names[last[&packet]]);
            assert_ne!(back, names[place], "{packet:?} went back by {place}");
            moves += 1;
        }
        last.insert(packet, place);
    }
    assert_eq!(detours, detoured(&record));
    assert!(detours > 20 && moves > 20, "{detours} detours, {moves} moves");
}

/// With its own path it would come straight back to the core that detoured it.
#[test]
fn a_packet_that_a_core_detoured_draws_a_new_path() {
    let mut plan = incast(90_000, Some(DetourModel::opf(2)));
    let places = topology::links(&plan.topology);
    plan.timeline = Some(everywhere(&places));
    let record = run(&plan);
    // Per packet: the switch that detoured it last, and the core that it left since.
    let mut packets: HashMap<(u32, u32, u32), (&str, Option<&str>)> = HashMap::new();
    let (mut returned, mut others) = (0, 0);
    for event in &record.timeline.events {
        let place = record.timeline.places[event.place as usize].as_str();
        let switch = place.split_inclusive(' ').take(2).map(str::len).sum();
        let switch = &place[..switch];
        let packet = (event.flow.source, event.flow.destination, event.sequence);
        if event.what == What::Detour {
            packets.insert(packet, (switch, None));
        } else if event.what == What::Depart
            && event.packet == PacketKind::Data
            && switch.starts_with("core ")
        {
            let Some((by, left)) = packets.get_mut(&packet) else { continue };
            if left.replace(switch).is_some() && by.starts_with("core ") {
                *if *by == switch { &mut returned } else { &mut others } += 1;
                packets.remove(&packet);
            }
        }
    }
    assert!(
        returned + others > 20 && others * 2 > returned,
        "{others} go elsewhere, {returned} back"
    );
}

/// Ingress sees a port's values as its last departing packet wrote them.
#[test]
fn ingress_reads_the_queue_length_that_egress_wrote() {
    let with = |seen| {
        let model = DetourModel { seen, ..DetourModel::opf(4) };
        let record = same_everywhere(&incast(90_000, Some(model)), 2);
        (detoured(&record), trims(&record))
    };
    let [now, departure, arrival] =
        [Seen::Now, Seen::LastDeparture, Seen::LastArrivalThatLeft].map(with);
    assert!(departure.0 > 20 && arrival.0 > 20, "{departure:?} and {arrival:?}");
    assert!(now != departure && departure != arrival, "{now:?}, {departure:?}, {arrival:?}");
}

#[test]
fn a_host_drops_packets_for_other_hosts() {
    let targets = Targets { hosts: true, ..Targets::OTHERS };
    let record =
        same_everywhere(&incast(90_000, Some(DetourModel { targets, ..DetourModel::opf(2) })), 3);
    let dropped: u64 = record.ports.iter().map(|port| port.dropped).sum();
    assert!(dropped > 0);
    assert!(record.flows.iter().all(|flow| flow.fct_sender_ps.is_some()));
}

#[test]
fn random_spraying_detours_equal_switch_spraying() {
    let mean = |change: fn(&mut Plan)| {
        let fcts = (1..=12).flat_map(|seed| {
            let flows = workload("w", Matrix::Permutation, Some(2_000_000));
            let mut plan = plan(fattree(8), 23, vec![flows]);
            (plan.seed, plan.switch) = (seed, ServiceModel::drop_tail(400));
            change(&mut plan);
            run(&plan).flows.iter().filter_map(|flow| flow.fct_receiver_ps).collect::<Vec<_>>()
        });
        let fcts: Vec<u64> = fcts.collect();
        fcts.iter().sum::<u64>() as f64 / fcts.len() as f64
    };
    let sprayed = mean(|plan| plan.detour = Some(DetourModel::rps()));
    let chosen = mean(|plan| {
        plan.workloads.iter_mut().for_each(|workload| workload.spraying = Spraying::SwitchRandom);
    });
    assert!((sprayed / chosen - 1.0).abs() < 0.01, "{sprayed} and {chosen}");
    let adaptive = mean(|plan| plan.detour = Some(DetourModel::adaptive()));
    assert!(adaptive < 0.98 * sprayed, "{adaptive} and {sprayed}");
}

/// Adaptive routing keeps every path as short as it was.
#[test]
fn adaptive_routing_lengthens_no_path() {
    let record = same_everywhere(&incast(90_000, Some(DetourModel::adaptive())), 2);
    assert!(links(&record).all(|(links, _)| links == 6), "{:?}", record.paths);
    assert!(links(&record).any(|(_, detours)| detours > 0));
}

/// Paths that are not up and down close a cycle of paused ports: the run reports it.
#[test]
fn dibs_with_pauses_can_deadlock() {
    let packet = 9064;
    // Queues that pause their senders are never full.
    let busy = DetourModel { hot: Some(Hot::Above(2)), ..DetourModel::dibs() };
    let mut plan = incast(1, Some(busy));
    plan.workloads[0].size = Size::LongLived;
    plan.transports = vec![Cbr.with(cbr::Config {
        payload_bytes: 9000,
        rate: BitRate::from_gbps(10),
        clock_lag: TimeDelta::ZERO,
        marks_unscheduled: false,
    })];
    let mut choices = Choices::drop_tail(1);
    (choices.queues[0].whole, choices.queues[0].header) = (Limit::NONE, Limit::NONE);
    plan.switch = choices.build().expect("a model");
    plan.lossless = Some(Lossless { xoff: 4 * packet, xon: packet, headroom: None, classes: 1 });
    plan.duration = Some(TimeDelta::from_ms(20));
    let record = same_everywhere(&plan, 2);
    let stood = !record.pause_cycles.deadlock.is_empty() || record.pause_cycles.passed > 0;
    assert!(stood && detoured(&record) > 0, "{:?}", record.pause_cycles);
}
