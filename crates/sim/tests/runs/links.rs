//! Links that slow down, fail, come back, lose, corrupt and reorder.

use crate::plans::{both, fattree, plan, run, star, workload};
use trimline_metrics::{FlowEnd, LinkCounters, RunRecord};
use trimline_packet::{BitRate, TimeDelta};
use trimline_sim::plan::{Impairment, LinkChange, LinkEvent, Matrix, Plan, Share, Spraying};
use trimline_sim::scenario::Scenario;
use trimline_sim::topology::{self, Clos, LinkId};
use trimline_sim::transports::{Ndp, Transport};

fn link(clos: &Clos, name: &str) -> LinkId {
    let links = topology::links(clos);
    links.into_iter().find(|(known, _)| known == name).expect("a link of this name").1
}

/// A change of both directions of a link.
pub(crate) fn event(clos: &Clos, us: u64, name: &str, change: LinkChange) -> LinkEvent {
    let at = TimeDelta::from_us(us);
    LinkEvent { at, link: link(clos, name), both_directions: true, change }
}

fn packets(record: &RunRecord, port: &str) -> u64 {
    record.ports.iter().find(|known| known.name() == port).expect("a port of this name").packets
}

fn lost(record: &RunRecord, link: &str) -> LinkCounters {
    record
        .links
        .iter()
        .find(|known| known.place.to_string() == link)
        .expect("a link of this name")
        .counters
}

/// Runs one flow of 30 pushed packets alone, from host 0 to host 1 of a star, with link events.
fn alone(events: impl Fn(&Clos) -> Vec<LinkEvent>) -> RunRecord {
    let clos = star(2);
    let flow = workload("one", Matrix::Pairs(vec![(0, 1)]), Some(30 * 9000));
    both(&Plan { link_events: events(&clos), ..plan(clos, 30, vec![flow]) })
}

#[test]
fn a_new_link_rate_applies_from_the_next_packet() {
    // 9064 B take 7.2512 us at 10 Gb/s and 72.512 us at 1 Gb/s. Two links of 1 us.
    let fct =
        |events: fn(&Clos) -> Vec<LinkEvent>| alone(events).flows.get(0).unwrap().fct_receiver_ps;
    assert_eq!(fct(|_| vec![]), Some(31 * 7_251_200 + 2_000_000));
    // The host's link from the beginning.
    let slow = |clos: &Clos, us| event(clos, us, "host 0", LinkChange::Rate(BitRate::from_gbps(1)));
    let from_start = alone(|clos| vec![slow(clos, 0)]).flows.get(0).unwrap().fct_receiver_ps;
    assert_eq!(from_start, Some(30 * 72_512_000 + 7_251_200 + 2_000_000));
    // At 10 us the second packet is being sent: two at the old rate, 28 at the new one.
    let later = alone(|clos| vec![slow(clos, 10)]).flows.get(0).unwrap().fct_receiver_ps;
    assert_eq!(later, Some((2 + 1) * 7_251_200 + 28 * 72_512_000 + 2_000_000));
    // At 14.5024 us exactly the third begins: the change comes first.
    let at = TimeDelta::from_ps(14_502_400);
    let exact =
        alone(|clos| vec![LinkEvent { at, ..slow(clos, 0) }]).flows.get(0).unwrap().fct_receiver_ps;
    assert_eq!(exact, later);
    // The other direction carries headers: nothing changes before the first pull.
    let other = alone(|clos| {
        let link = topology::reverse(clos, link(clos, "host 0"));
        vec![LinkEvent { link, both_directions: false, ..slow(clos, 0) }]
    });
    assert_eq!(other.flows.get(0).unwrap().fct_receiver_ps, Some(31 * 7_251_200 + 2_000_000));
}

#[test]
fn packets_on_the_wire_of_a_failed_link_arrive_and_others_are_lost() {
    let record = alone(|clos| {
        let mut events = vec![event(clos, 10, "host 0", LinkChange::Fail)];
        events.push(event(clos, 100, "host 0", LinkChange::Restore));
        events
    });
    let flow = record.flows.get(0).unwrap();
    // Two packets had begun and arrive, but their ACKs are lost; 12 more leave before the restoration; the 15th begins
    // after 100 us.
    assert_eq!((flow.end, flow.retransmissions_timeout), (FlowEnd::Completed, 14));
    assert_eq!(flow.packets_sent, 44);
    // Both directions failed: 12 packets of one, two ACKs and their pulls of the other.
    let gone = |name: &str| lost(&record, name);
    assert_eq!(gone("host 0"), LinkCounters { failed: 12, ..LinkCounters::default() });
    assert!(gone("tor 0 down 0").failed >= 2, "{:?}", gone("tor 0 down 0"));
    assert_eq!(gone("host 1"), LinkCounters::default());
}

#[test]
fn a_restored_link_has_its_original_rate() {
    let record = alone(|clos| {
        vec![
            event(clos, 0, "host 0", LinkChange::Rate(BitRate::from_gbps(1))),
            event(clos, 10, "host 0", LinkChange::Restore),
        ]
    });
    let first = 72_512_000;
    assert_eq!(
        record.flows.get(0).unwrap().fct_receiver_ps,
        Some(first + 29 * 7_251_200 + 7_251_200 + 2_000_000)
    );
}

/// A permutation in which one core link fails from 1 to 11 ms; hosts know after 1 ms.
fn failure(spraying: Spraying, duration_us: u64, restore: bool) -> RunRecord {
    let clos = fattree(4);
    let mut flow = workload("p", Matrix::Permutation, None);
    flow.spraying = spraying;
    let mut events = vec![event(&clos, 1_000, "aggregation 0 up 0", LinkChange::Fail)];
    if restore {
        events.push(event(&clos, 11_000, "aggregation 0 up 0", LinkChange::Restore));
    }
    let mut plan = plan(clos, 30, vec![flow]);
    plan.link_events = events;
    plan.routing_convergence = TimeDelta::from_ms(1);
    plan.duration = Some(TimeDelta::from_us(duration_us));
    plan.transports = vec![Ndp.with(trimline_transport::ndp::Config {
        // Only routing may keep packets away.
        path_penalty: None,
        pull_gaps: None,
        follows_path: None,
        record_latencies: false,
        ..crate::plans::ndp(30)
    })];
    both(&plan)
}

#[test]
fn a_dead_link_is_unused_from_convergence_to_restoration() {
    for spraying in [Spraying::SenderPermuted, Spraying::SwitchRandom] {
        for port in ["aggregation 0 up 0", "core 0 down 0"] {
            let used = |us| packets(&failure(spraying, us, true), port);
            // Before the failure, until convergence, after it, until the restoration is known, after.
            let [first, failed, known, restored, last] =
                [1_000, 2_050, 11_900, 12_000, 13_000].map(used);
            assert!(first > 50, "{spraying:?} {port}: {first}");
            assert!(failed > first + 20, "{spraying:?} {port}: {failed}");
            // Packets that were in queues when hosts and switches learned of it.
            assert!(known <= failed + 20, "{spraying:?} {port}: {failed} {known}");
            assert_eq!(known, restored, "{spraying:?} {port}");
            assert!(last > restored + 50, "{spraying:?} {port}: {restored} {last}");
        }
    }
}

#[test]
fn flows_that_start_after_convergence_avoid_the_dead_path() {
    let clos = fattree(4);
    let mut flow = workload("p", Matrix::Permutation, Some(900_000));
    flow.start = TimeDelta::from_ms(2);
    let events = vec![event(&clos, 0, "tor 0 up 1", LinkChange::Fail)];
    let mut plan = plan(clos, 30, vec![flow]);
    plan.link_events = events;
    plan.routing_convergence = TimeDelta::from_ms(1);
    let record = both(&plan);
    assert!(record.flows.iter().all(|flow| flow.end == FlowEnd::Completed));
    assert_eq!(record.flows.iter().map(|flow| flow.timeouts).sum::<u64>(), 0);
    let used = |port| packets(&record, port);
    assert_eq!((used("tor 0 up 1"), used("aggregation 1 down 0")), (0, 0));
}

#[test]
fn loss_and_corruption_only_cost_retransmissions() {
    let share = |billionths| Share::from_billionths(billionths).expect("below one");
    for impairment in [
        Impairment { loss: share(20_000_000), ..Impairment::default() },
        Impairment { corruption: share(20_000_000), ..Impairment::default() },
        Impairment { reordering: TimeDelta::from_us(30), ..Impairment::default() },
    ] {
        let flow = workload("p", Matrix::Permutation, Some(900_000));
        let record =
            both(&Plan { impairment: impairment.clone(), ..plan(fattree(4), 30, vec![flow]) });
        assert!(record.flows.iter().all(|flow| flow.end == FlowEnd::Completed), "{impairment:?}");
        let resent: u64 = record.flows.iter().map(|flow| flow.retransmissions_timeout).sum();
        // 1600 packets on up to six links, their answers as well.
        let loses = impairment.reordering == TimeDelta::ZERO;
        assert_eq!(resent > 150, loses, "{impairment:?}: {resent}");
    }
}

#[test]
fn an_impairment_of_one_link_changes_no_draw_of_another() {
    // Pods that share no link can affect each other only by draws.
    let there = |links: Vec<LinkId>| {
        let pairs = Matrix::Pairs(vec![(12, 14), (13, 14), (15, 12)]);
        let here = workload("here", Matrix::Pairs(vec![(0, 2), (1, 3)]), Some(900_000));
        let mut plan = plan(fattree(4), 23, vec![workload("there", pairs, Some(900_000)), here]);
        if !links.is_empty() {
            let loss = Share::from_billionths(100_000_000).expect("below one");
            plan.impairment = Impairment { loss, links, ..Impairment::default() };
        }
        let (there, here): (Vec<_>, Vec<_>) =
            run(&plan).flows.iter().partition(|flow| flow.workload == "there");
        (there, here)
    };
    let clos = fattree(4);
    let (untouched, touched) = (there(vec![]), there(vec![link(&clos, "tor 0 up 0")]));
    assert_eq!(untouched.0, touched.0);
    assert_ne!(untouched.1, touched.1);
}

/// Time stamps of MPTCP's subflows wrap in 275 ms; this round trip takes 840.
#[test]
fn a_round_trip_may_exceed_the_range_of_short_time_stamps() {
    let text = "topology.fattree.k = 4\nlinks.delay = \"70ms\"\ntransport.mptcp = {}\n\
        workload = [{ name = \"w\", pairs = [[0, 15]], size = \"9MB\" }]\n";
    let scenario = Scenario::parse("s.toml", text, &[]).expect("a scenario");
    let record = both(&scenario.runs[0].plan);
    let flow = record.flows.iter().next().expect("a flow");
    assert_eq!(flow.delivered_bytes, 9_000_000);
    assert_eq!((flow.timeouts, flow.packets_sent), (0, 1000), "nothing is lost: {flow:?}");
}
