//! A timeline shows the events of a run and changes nothing.

use std::collections::BTreeMap;

use crate::plans::{incast, plan, run, star};
use trimline_metrics::timeline::{Event, PacketKind, What};
use trimline_metrics::{FlowRecord, RunRecord, Timeline};
use trimline_packet::SplitMix;
use trimline_packet::TimeDelta;
use trimline_sim::plan::{Plan, Watch};
use trimline_sim::suites::{case, change_links};
use trimline_sim::topology;

fn watch_everything(plan: &Plan) -> Watch {
    let places = topology::links(&plan.topology).into_iter().map(|(_, link)| link).collect();
    Watch { places, flows: Vec::new(), from: TimeDelta::ZERO, to: None, keep_packets: false }
}

fn count(timeline: &Timeline, what: What) -> BTreeMap<u32, u64> {
    let mut counts = BTreeMap::new();
    for event in timeline.events.iter().filter(|event| event.what == what) {
        *counts.entry(event.place).or_default() += 1;
    }
    counts
}

/// Checks that the counters of ports and flows agree with the timeline.
fn agrees(record: &RunRecord) {
    let timeline = &record.timeline;
    let of = |what| count(timeline, what);
    let [departed, trimmed, dropped, returned, notified, marked, lost] =
        [What::Depart, What::Trim, What::Drop, What::Return, What::Notify, What::Mark, What::Lose]
            .map(of);
    let mut headers: BTreeMap<u32, u64> = BTreeMap::new();
    for event in timeline.events.iter().filter(|event| event.what == What::Drop) {
        let is_header = [PacketKind::Header, PacketKind::Returned].contains(&event.packet);
        *headers.entry(event.place).or_default() += u64::from(is_header);
    }
    for host in &record.hosts {
        let place = record.ports.len() as u32 + host.host;
        let seen = marked.get(&place).copied().unwrap_or(0);
        assert_eq!(seen, host.counters.marked, "marks of host {}", host.host);
    }
    for (place, port) in record.ports.iter().enumerate() {
        assert_eq!(timeline.places[place], port.name());
        let seen = |counts: &BTreeMap<u32, u64>| counts.get(&(place as u32)).copied().unwrap_or(0);
        assert_eq!(seen(&departed), port.packets, "departures of {}", port.name());
        assert_eq!(seen(&trimmed), port.trimmed, "trims at {}", port.name());
        assert_eq!(seen(&dropped), port.dropped, "drops at {}", port.name());
        assert_eq!(seen(&returned), port.returned, "returns at {}", port.name());
        assert_eq!(seen(&notified), port.notified, "notifications at {}", port.name());
        assert_eq!(seen(&headers), port.dropped_headers, "headers dropped at {}", port.name());
        assert_eq!(seen(&marked), port.marked, "marks at {}", port.name());
    }
    for (place, link) in record.links.iter().enumerate() {
        let name = link.place.to_string();
        assert_eq!(timeline.places[place], name);
        let seen = lost.get(&(place as u32)).copied().unwrap_or(0);
        assert_eq!(seen, link.counters.values().iter().sum::<u64>(), "losses of {name}");
    }
    assert_eq!(departed.values().sum::<u64>(), record.packet_hops);

    // A link sends one packet after the other.
    let mut free: BTreeMap<u32, u64> = BTreeMap::new();
    let mut last = 0;
    for event in &timeline.events {
        let Event { time_ps, place, what, queue, .. } = *event;
        assert!(time_ps >= last, "{event:?}");
        last = time_ps;
        let is_port = (place as usize) < record.ports.len();
        match what {
            What::Depart => {
                let until = event.until_ps.expect("a departure has an end");
                let before = free.insert(place, until).unwrap_or(0);
                assert!(
                    time_ps >= before && until > time_ps,
                    "{event:?} at a link busy to {before}"
                );
            }
            What::Arrive => assert!(!is_port),
            What::Enqueue => {
                assert!(
                    queue.is_some_and(|(packets, bytes)| packets > 0 && bytes > 0),
                    "{event:?}"
                );
            }
            What::Trim
            | What::Mark
            | What::Return
            | What::Notify
            | What::Drop
            | What::Detour
            | What::Lose => {}
        }
    }
}

/// Checks that a flow's wait at its host ends with the first departure there.
pub(crate) fn records_waits(record: &RunRecord) {
    let ports = record.ports.len() as u32;
    let mut first: BTreeMap<(&str, u64, u32, u32), u64> = BTreeMap::new();
    for event in record.timeline.events.iter().filter(|event| event.what == What::Depart) {
        let flow = event.flow;
        if event.place == ports + flow.source {
            let workload = &*record.timeline.workloads[flow.workload as usize];
            let key = (workload, flow.index, flow.source, flow.destination);
            first.entry(key).or_insert(event.time_ps);
        }
    }
    for flow in &record.flows {
        let key = (&*flow.workload, flow.index, flow.source, flow.destination);
        let waited = first.get(&key).map(|at| at - flow.start_ps);
        assert_eq!(flow.host_wait_ps, waited, "{flow:?}");
    }
}

#[test]
fn a_timeline_matches_the_counters_and_changes_no_result() {
    let (mut trims, mut losses, mut waits) = (0, 0, 0);
    for seed in 0..60 {
        let mut plan = case(seed);
        if seed % 2 == 0 {
            change_links(&mut plan, &mut SplitMix(seed));
        }
        plan.duration = Some(TimeDelta::from_us(300));
        plan.warm_up = TimeDelta::ZERO;
        let without = run(&plan);
        plan.timeline = Some(watch_everything(&plan));
        let with = run(&plan);
        agrees(&with);
        records_waits(&with);
        let is_long = |flow: &FlowRecord| flow.host_wait_ps.is_some_and(|wait| wait > 0);
        waits += with.flows.iter().filter(is_long).count();
        trims += count(&with.timeline, What::Trim).values().sum::<u64>();
        losses += count(&with.timeline, What::Lose).values().sum::<u64>();
        assert_eq!(RunRecord { timeline: Timeline::default(), ..with }, without, "seed {seed}");
    }
    assert!(trims > 1000 && losses > 50, "{trims} trims, {losses} losses");
    assert!(waits > 100, "{waits} flows that waited at their hosts");
}

#[test]
fn marks_are_events_of_the_marking_ports() {
    let base = "duration = \"1ms\"\ntopology.fattree.k = 4\ntransport.dctcp = {}\n[[workload]]\nname = \"w\"\n\
                incast = { receiver = 0, senders = 8 }\nsize = \"300KB\"\n";
    let scenario = trimline_sim::scenario::Scenario::parse("s", base, &[]);
    let mut plan = scenario.unwrap_or_else(|error| panic!("{error}")).runs[0].plan.clone();
    let without = run(&plan);
    plan.timeline = Some(watch_everything(&plan));
    let with = run(&plan);
    agrees(&with);
    let marks = with.ports.iter().map(|port| port.marked).sum::<u64>();
    assert!(marks > 100, "{marks} marks");
    assert_eq!(RunRecord { timeline: Timeline::default(), ..with }, without);
}

/// Runs a scenario on a star, with everything on its timeline.
fn timeline_of(keys: &str) -> RunRecord {
    let base = "duration = \"2ms\"\ntopology.star.hosts = 9\n[[workload]]\nname = \"w\"\n\
                incast = { receiver = 0, senders = 8 }\nsize = \"300KB\"\n";
    let scenario = trimline_sim::scenario::Scenario::parse("s", &format!("{keys}{base}"), &[]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{keys}: {error}"));
    let mut plan = scenario.runs[0].plan.clone();
    let without = run(&plan);
    plan.timeline = Some(watch_everything(&plan));
    let with = run(&plan);
    agrees(&with);
    assert_eq!(RunRecord { timeline: Timeline::default(), ..with.clone() }, without, "{keys}");
    with
}

fn kinds(record: &RunRecord) -> BTreeMap<&'static str, u64> {
    let mut kinds = BTreeMap::new();
    for event in record.timeline.events.iter().filter(|event| event.what == What::Depart) {
        *kinds.entry(event.packet.name()).or_default() += 1;
    }
    kinds
}

/// The names come from the transports' papers.
#[test]
fn timeline_packets_have_the_names_of_their_transports() {
    let own = ["pull", "nack", "syn", "syn-ack", "probe", "rts", "token", "grant", "resend", "cnp"];
    let small = "switch.data_queue = \"4pkt\"\n";
    for (keys, expected) in [
        ("transport.ndp = {}\n".to_owned(), &["pull", "nack"][..]),
        ("transport.tcp = {}\n".to_owned(), &["syn", "syn-ack"]),
        ("transport.dctcp.handshake = \"standing\"\n".to_owned(), &[]),
        (format!("transport.pfabric = {{ rto = \"50us\" }}\n{small}"), &["probe"]),
        ("transport.phost = {}\n".to_owned(), &["rts", "token"]),
        ("transport.homa = {}\n".to_owned(), &["grant"]),
        ("transport.homa.aeolus = true\n".to_owned(), &["probe", "grant"]),
        ("transport.dcqcn = {}\n".to_owned(), &["cnp", "nack"]),
    ] {
        let found = kinds(&timeline_of(&keys));
        for name in expected {
            assert!(found.contains_key(name), "{keys}: no {name} in {found:?}");
        }
        for name in own.iter().filter(|name| !expected.contains(name)) {
            assert!(!found.contains_key(name) || *name == "resend", "{keys}: {name} in {found:?}");
        }
    }
}

#[test]
fn notifications_are_events_of_the_sending_ports() {
    for keys in [
        "transport.tcp.notifications = \"fastlane\"\nswitch.data_queue = \"16pkt\"\n",
        "transport.tcp.notifications = \"source-quench\"\n",
        "transport.pfabric.fastlane = true\nswitch.data_queue = \"16pkt\"\n",
    ] {
        let record = timeline_of(keys);
        let notified = record.ports.iter().map(|port| port.notified).sum::<u64>();
        let departed = kinds(&record).get("notification").copied().unwrap_or(0);
        assert!(notified > 0 && departed > 0, "{keys}: {notified} notified, {departed} departed");
    }
}

#[test]
fn marks_of_a_host_phantom_queue_are_events_and_counted() {
    let keys = "transport.dctcp = {}\nswitch.profile = \"drop-tail\"\noutput.series = \"100us\"\n\
                phantom_queue = [{ link = \"host 1\", drain = \"5%\", threshold = \"3KB\" }]\n";
    let record = timeline_of(keys);
    let marked = record.hosts.iter().map(|host| host.counters.marked).sum::<u64>();
    assert!(marked > 10, "{marked} marks");
    assert_eq!(record.hosts.len(), 9);
    assert!(record.ports.iter().all(|port| port.marked == 0));
    let sampled = record.samples.samples.iter().map(|sample| sample.counters.marked).sum::<u64>();
    assert!(sampled > 0 && sampled <= marked, "{sampled} of {marked}");
}

#[test]
fn dropped_headers_have_their_own_count() {
    let keys =
        "transport.ndp = {}\nswitch = { header_queue = \"4pkt\", return_to_sender = false }\n";
    let record = timeline_of(keys);
    let sum = |of: fn(&trimline_packet::PortCounters) -> u64| {
        record.ports.iter().map(|port| of(&port.counters)).sum::<u64>()
    };
    let (dropped, headers) = (sum(|port| port.dropped), sum(|port| port.dropped_headers));
    assert!(headers > 0 && headers <= dropped, "{headers} of {dropped}");
    let tcp = timeline_of("transport.tcp = {}\nswitch.data_queue = \"8pkt\"\n");
    assert!(tcp.ports.iter().all(|port| port.dropped_headers == 0));
    assert!(tcp.ports.iter().any(|port| port.dropped > 0));
}

#[test]
fn a_timeline_has_only_the_watched_places_and_flows() {
    let mut plan = plan(star(5), 10, vec![incast(4, 90_000)]);
    plan.timeline = Some(watch_everything(&plan));
    let all = run(&plan).timeline;
    let mut of = |watch: Watch| {
        plan.timeline = Some(watch);
        run(&plan).timeline.events
    };
    let expected = |wanted: &dyn Fn(&Event) -> bool| -> Vec<Event> {
        all.events.iter().copied().filter(|event| wanted(event)).collect()
    };
    let watch = || Watch {
        places: vec![],
        flows: vec![],
        from: TimeDelta::ZERO,
        to: None,
        keep_packets: false,
    };
    let links = topology::links(&star(5));
    let place = |name: &str| links.iter().position(|(known, _)| known == name).unwrap();

    let port = place("tor 0 down 0");
    let at_port = of(Watch { places: vec![links[port].1], ..watch() });
    assert!(at_port == expected(&|event| event.place == port as u32));
    assert!(at_port.iter().any(|event| event.what == What::Trim));

    // With the ACKs and PULLs that come back to the source.
    let of_flow = of(Watch { flows: vec![(2, 0)], ..watch() });
    assert!(of_flow == expected(&|event| event.flow.source == 2));
    assert!(of_flow.iter().any(|event| event.place == place("host 2") as u32));

    let (from, to) = (TimeDelta::from_us(50), Some(TimeDelta::from_us(60)));
    let places = links.iter().map(|&(_, link)| link).collect();
    let within = of(Watch { places, from, to, ..watch() });
    let between = expected(&|event| (50_000_000..60_000_000).contains(&event.time_ps));
    assert!(within == between, "{} events, not {}", within.len(), between.len());
    assert!(!within.is_empty());
}
