use serde_json::{Value, json};
use trimline_packet::PortCounters;

use super::*;
use crate::fixtures::{flow, port, record};
use crate::flow::{FlowEnd, FlowRecord};
use crate::place::{Direction, Layer};
use crate::record::{HostCounters, HostLink, HostRecord, PacketLatency, PortRecord};
use crate::samples::{PortGroup, Sample};
use crate::timeline::tests::event;
use crate::timeline::{Event, PacketKind, What};

fn measure(spec: Value) -> Result<Measure, String> {
    serde_json::from_value(spec).map_err(|error| error.to_string())
}

/// Measures a run with a valid measure.
fn of(spec: Value, record: &RunRecord) -> Option<f64> {
    measure(spec).unwrap_or_else(|problem| panic!("{problem}")).of(record)
}

fn fct(reduce: &str) -> Value {
    json!({ "quantity": "fct", "at": "receiver", "reduce": reduce, "unit": "us" })
}

fn goodput(reduce: &str, unit: &str) -> Value {
    json!({ "quantity": "goodput", "reduce": reduce, "unit": unit })
}

fn overhead() -> Value {
    json!({ "quantity": "incast_overhead" })
}

/// Adds keys to `spec`.
fn with(mut spec: Value, more: Value) -> Value {
    let more = more.as_object().unwrap().clone();
    spec.as_object_mut().unwrap().extend(more);
    spec
}

fn close(number: Option<f64>, expected: f64) -> bool {
    number.is_some_and(|number| (number - expected).abs() < 1e-9)
}

/// Returns the port with `bytes` sent.
fn sent(port: PortRecord, bytes: u64) -> PortRecord {
    PortRecord { counters: PortCounters { bytes, ..port.counters }, ..port }
}

#[test]
fn an_incast_at_its_ideal_has_zero_overhead() {
    // Three senders of 50 packets: 3 x 50 x 7.2512 us, and 42.256 us of path between pods; 39.504 us for the nearer.
    let last = 1_087_680_000 + 42_256_000;
    let from = |source, fct, way: u64| FlowRecord {
        ideal_fct_ps: Some(50 * 7_251_200 + way),
        ..flow(source, Some(450_000), Some(fct))
    };
    let mut run = record(vec![
        from(1, last / 2, 42_256_000),
        from(2, last, 39_504_000),
        from(3, last - 1, 42_256_000),
    ]);
    assert!(close(of(overhead(), &run), 0.0));
    let spread = json!({ "quantity": "fct", "at": "receiver", "reduce": "max_over_min" });
    assert_eq!(of(spread.clone(), &run), Some(2.0));
    assert_eq!(of(fct("max"), &run), Some(last as f64 / 1e6));
    run.flows.in_memory()[1].fct_receiver_ps = Some(last + last / 100);
    assert!(close(of(overhead(), &run), 1.0));
    // Two receivers have two links.
    run.flows.in_memory()[0].destination = 9;
    assert_eq!(of(overhead(), &run), None);
    run.flows.in_memory()[0].destination = 0;
    run.flows.in_memory()[0].fct_receiver_ps = None;
    assert_eq!(of(overhead(), &run), None);
    assert_eq!(of(spread, &run), None);
}

/// Two receivers with three flows, sizes up to 1000 B and above: each group has its own quantile.
#[test]
fn a_mean_over_groups_weights_each_by_its_flows() {
    let to = |destination, size, fct| FlowRecord {
        destination,
        ideal_fct_ps: Some(100),
        ..flow(9, Some(size), Some(fct))
    };
    let mut run = record(vec![
        to(1, 500, 100),
        to(1, 1000, 300),
        to(1, 1001, 500),
        to(2, 9000, 200),
        to(2, 9001, 400),
        to(2, 600, 700),
    ]);
    let slowest = |groups: Value| {
        let spec = json!({ "quantity": "slowdown", "reduce": "p99", "groups": groups });
        measure(spec).map(|measure| measure.of(&run).unwrap())
    };
    assert_eq!(slowest(json!({ "receivers": true })), Ok((3.0 * 5.0 + 3.0 * 7.0) / 6.0));
    let sizes = json!({ "sizes_up_to": [1000, 5000] });
    assert_eq!(slowest(sizes), Ok((3.0 * 7.0 + 3.0 * 5.0) / 6.0));
    let both = json!({ "receivers": true, "sizes_up_to": [1000, 9000] });
    assert_eq!(slowest(both), Ok((2.0 * 3.0 + 5.0 + 2.0 * 4.0 + 7.0) / 6.0));
    for (groups, why) in [
        (json!({}), "of nothing"),
        (json!({ "sizes_up_to": [5, 5] }), "does not ascend"),
        (json!({ "senders": true }), "unknown field"),
    ] {
        let refused = slowest(groups).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
    run.flows.in_memory()[3].fct_receiver_ps = None;
    let spec = json!({ "quantity": "slowdown", "reduce": "p50", "groups": { "receivers": true } });
    assert_eq!(of(spec, &run), Some((3.0 * 3.0 + 3.0 * 7.0) / 6.0));
    let refused = measure(json!({ "quantity": "goodput", "unit": "Gb/s", "reduce": "mean",
                                  "groups": { "receivers": true } }));
    assert!(refused.unwrap_err().contains("`groups` has no meaning for `goodput`"));
}

/// 1500 B at 100 Gb/s: numbers do not depend on the base model.
#[test]
fn a_query_ends_with_its_last_answer() {
    let answer = |client, start, fct| FlowRecord {
        destination: client,
        start_ps: start,
        ..flow(9, Some(2_000), fct)
    };
    let us = 1_000_000;
    let mut flows = vec![
        answer(1, 5, Some(10 * us)),
        answer(1, 5, Some(30 * us)),
        answer(1, 7, Some(20 * us)),
        answer(2, 5, Some(50 * us)),
        FlowRecord { workload: "other".into(), ..answer(1, 5, Some(90 * us)) },
    ];
    let query = |reduce: &str| json!({ "quantity": "query_completion", "workload": "reply", "reduce": reduce, "unit": "us" });
    let run = record(flows.clone());
    assert_eq!(of(query("p50"), &run), Some(30.0));
    assert!(close(of(query("mean"), &run), 100.0 / 3.0));
    assert_eq!(of(query("max"), &run), Some(50.0));
    // A query with a missing answer is the slowest.
    flows[0].fct_receiver_ps = None;
    let run = record(flows);
    assert_eq!(of(query("p50"), &run), Some(50.0));
    assert_eq!((of(query("p90"), &run), of(query("mean"), &run)), (None, None));
    let spec = json!({ "quantity": "query_completion", "reduce": "p50", "unit": "us" });
    assert!(measure(spec).unwrap_err().contains("`workload` is missing"));
    assert!(measure(with(query("sum"), json!({}))).unwrap_err().contains("no meaning"));
}

#[test]
fn goodput_and_overhead_use_the_link_and_ideals_of_the_record() {
    // Ten packets of 1564 B, 125.12 ns each, and a path of 2 us.
    let ideal = 10 * 125_120 + 2_000_000;
    let mut run = record(vec![FlowRecord {
        ideal_fct_ps: Some(ideal),
        ..flow(1, Some(15_000), Some(ideal))
    }]);
    run.host_link = HostLink { rate_bps: 100_000_000_000, payload_bytes: 1500, header_bytes: 64 };
    assert!(close(of(overhead(), &run), 0.0));
    run.flows.push(FlowRecord { source: 2, ..run.flows.get(0).unwrap() }).unwrap();
    for flow in run.flows.in_memory() {
        flow.fct_receiver_ps = Some(20 * 125_120 + 2_000_000);
    }
    assert!(close(of(overhead(), &run), 0.0));

    // 50 Gb/s of payload in the measured millisecond.
    let mut run = record(vec![flow(1, None, None), flow(2, None, None)]);
    run.host_link.rate_bps = 100_000_000_000;
    run.flows.in_memory().iter_mut().for_each(|flow| flow.measured_bytes = 6_250_000);
    assert!(close(of(goodput("mean", "% of the host link"), &run), 50.0));
    assert!(close(of(json!({ "quantity": "fair_share", "reduce": "mean" }), &run), 100.0));
    // Two milliseconds of 100 Gb/s are 25 MB; of the second link, at 400 Gb/s, 100 MB.
    run.ports = vec![
        PortRecord { rate_bps: 100_000_000_000, ..sent(tor(0, Direction::Down, 0), 5_000_000) },
        PortRecord { rate_bps: 400_000_000_000, ..sent(tor(0, Direction::Down, 1), 20_000_000) },
        PortRecord { rate_bps: 100_000_000_000, ..sent(tor(0, Direction::Up, 0), 9) },
    ];
    let down = json!({ "layer": "tor", "direction": "down" });
    let used = |reduce: &str| json!({ "quantity": "utilisation", "ports": down, "reduce": reduce });
    assert!(close(of(used("mean"), &run), 20.0));
    assert!(close(of(used("max"), &run), 20.0));
    let one = json!({ "quantity": "utilisation", "reduce": "max",
                      "ports": { "layer": "tor", "switch": 0, "direction": "down", "link": 1 } });
    assert!(close(of(one, &run), 20.0));
}

fn tor(switch: u32, direction: Direction, link: u32) -> PortRecord {
    at(Layer::Tor, switch, direction, link)
}

fn at(layer: Layer, switch: u32, direction: Direction, link: u32) -> PortRecord {
    PortRecord { place: port(layer, switch, direction, link), ..PortRecord::default() }
}

#[test]
fn picoseconds_stay_exact_in_other_units() {
    let run = record(vec![flow(1, Some(270_000), Some(1_668_124_800))]);
    assert_eq!(of(fct("max"), &run), Some(1668.1248));
    let sender = json!({ "quantity": "fct", "at": "sender", "reduce": "max", "unit": "ns" });
    assert_eq!(of(sender, &run), Some(1_674_432.0));
}

#[test]
fn flows_are_selected() {
    let mut run = record(vec![flow(1, None, None), flow(2, None, None)]);
    let mean = goodput("mean", "Gb/s");
    assert_eq!(of(mean.clone(), &run), Some(7.2));
    assert_eq!(of(goodput("mean", "% of the host link"), &run), Some(72.0));
    assert_eq!(of(with(mean.clone(), json!({ "pair": [2, 0] })), &run), Some(7.2));
    assert_eq!(of(with(mean.clone(), json!({ "pair": [0, 2] })), &run), None);
    assert_eq!(of(with(mean.clone(), json!({ "workload": "other" })), &run), None);
    assert_eq!(of(with(mean.clone(), json!({ "started_before_us": 0 })), &run), None);
    assert_eq!(of(with(mean.clone(), json!({ "started_before_us": 1 })), &run), Some(7.2));
    // A long-lived flow has no size.
    assert_eq!(of(with(mean, json!({ "size_bytes": { "from": 0 } })), &run), None);
    run.flows = [(9_999, 10), (10_000, 20), (10_000_001, 90)]
        .map(|(size, us)| flow(1, Some(size), Some(us * 1_000_000)))
        .to_vec()
        .into();
    let sized = |size: Value| of(with(fct("max"), json!({ "size_bytes": size })), &run);
    assert_eq!(sized(json!({ "below": 10_000 })), Some(10.0));
    assert_eq!(sized(json!({ "from": 10_000, "below": 10_000_000 })), Some(20.0));
    assert_eq!(sized(json!({ "from": 10_000_001 })), Some(90.0));
}

#[test]
fn values_are_reduced() {
    let us = 1_000_000;
    let run = record((1..=4).map(|n| flow(n, Some(9000), Some(u64::from(n) * us))).collect());
    let each =
        ["min", "mean", "p50", "p75", "p75.01", "p99.99", "max"].map(|how| of(fct(how), &run));
    assert_eq!(each.map(Option::unwrap), [1.0, 2.5, 2.0, 3.0, 4.0, 4.0, 4.0]);
    let plain = |how: &str| json!({ "quantity": "fct", "at": "receiver", "reduce": how });
    // (1 + 2 + 3 + 4)^2 / (4 x 30).
    assert!(close(of(plain("jain"), &run), 100.0 / 120.0));
    assert_eq!(of(plain("count"), &run), Some(4.0));
    let within = json!({ "within": { "from": 2.0, "to": 3.0 } });
    assert_eq!(of(with(fct("count"), within.clone()), &run), Some(2.0));
    assert_eq!(of(with(fct("share"), within), &run), Some(50.0));
    assert_eq!(
        of(json!({ "quantity": "slowdown", "reduce": "max" }), &run),
        Some(4e6 / 259_792_000.0)
    );
    // At the sender, against its ideal time: 6.3 us later each.
    assert_eq!(
        of(json!({ "quantity": "slowdown", "at": "sender", "reduce": "max" }), &run),
        Some((4e6 + 6_307_200.0) / 266_099_200.0)
    );
}

#[test]
fn a_quantile_takes_unfinished_flows_for_the_slowest() {
    let us = 1_000_000;
    let times = [Some(30), Some(10), None, Some(20)];
    let flows = times.map(|us_each| flow(1, Some(9000), us_each.map(|each: u64| each * us)));
    let run = record(flows.to_vec());
    assert_eq!(of(fct("p50"), &run), Some(20.0));
    assert_eq!(of(fct("p99"), &run), None);
    assert_eq!(of(fct("mean"), &run), None);
    let share = json!({ "quantity": "fct", "at": "receiver", "reduce": "share" });
    assert_eq!(of(share, &run), Some(75.0));
    // A missing goodput is below all others.
    assert_eq!(of(goodput("p25", "Gb/s"), &run), None);
    assert!(close(of(goodput("p50", "Gb/s"), &run), 2.4));
    let run = record(flows[..2].to_vec());
    assert_eq!(of(fct("p99"), &run), Some(30.0));
}

#[test]
fn a_fair_share_is_relative_to_the_mean_goodput() {
    // Eleven flows: nine of 0.8 Gb/s in the measured millisecond, one of 0.4 Gb/s, one of 0 Gb/s.
    let mut run = record((1..=11).map(|source| flow(source, None, None)).collect());
    run.flows.in_memory().iter_mut().for_each(|flow| flow.measured_bytes = 100_000);
    run.flows.in_memory()[3].measured_bytes = 50_000;
    run.flows.in_memory()[4].measured_bytes = 0;
    let share = |reduce: &str| of(json!({ "quantity": "fair_share", "reduce": reduce }), &run);
    let (whole, min) = ((9.0 * 0.8 + 0.4) * 10.0, 0.2 * 11.0 * 10.0);
    assert!(close(share("mean"), whole));
    assert!(close(share("lowest_tenth"), min));
    assert!(close(share("mean_less_lowest_tenth"), whole - min));
    assert!(close(share("max"), 88.0));
}

#[test]
fn slow_flows_are_counted() {
    let mut run = record((1..=4).map(|source| flow(source, None, None)).collect());
    for (flow, gbps) in run.flows.in_memory().iter_mut().zip([2.9, 3.1, 5.4, 5.6]) {
        flow.measured_bytes = (gbps / 8000.0 * run.measured_ps as f64) as u64;
    }
    let within = |from: f64, to: f64| json!({ "within": { "from": from, "to": to } });
    assert_eq!(of(with(goodput("count", "Gb/s"), within(3.0, 5.5)), &run), Some(2.0));
    assert_eq!(of(with(goodput("count", "Mb/s"), within(3000.0, 5500.0)), &run), Some(2.0));
    assert_eq!(
        of(with(goodput("share", "% of the host link"), within(0.0, 30.0)), &run),
        Some(25.0)
    );
}

#[test]
fn retransmissions_are_counted_by_cause() {
    let mut run = record(vec![flow(1, None, None), flow(2, None, None)]);
    run.packets_delivered = 10;
    for flow in run.flows.in_memory() {
        flow.packets_sent = 100;
        flow.retransmissions_signalled = 3;
        flow.retransmissions_return = 2;
        flow.retransmissions_timeout = 1;
        flow.path_removals = 4;
        (flow.trims, flow.returns) = (6, 2);
    }
    let of = |spec: Value| of(spec, &run);
    let per = json!({ "quantity": "retransmissions", "per": "packet_delivered" });
    assert_eq!(of(per.clone()), Some(1.2));
    assert_eq!(of(with(per.clone(), json!({ "cause": "signalled" }))), Some(0.6));
    assert_eq!(of(with(per, json!({ "cause": "return" }))), Some(0.4));
    let timeout = json!({ "quantity": "retransmissions", "cause": "timeout", "per": "packet_sent", "unit": "%" });
    assert_eq!(of(timeout), Some(1.0));
    let nacks = json!({ "quantity": "retransmissions", "cause": "signalled", "per": "return" });
    assert_eq!(of(nacks), Some(1.5));
    let returned = json!({ "quantity": "headers_returned", "per": "header", "unit": "%" });
    assert_eq!(of(returned), Some(25.0));
    assert_eq!(of(json!({ "quantity": "path_removals" })), Some(8.0));
    assert_eq!(of(json!({ "quantity": "path_removals", "pair": [1, 0] })), Some(4.0));
    assert_eq!(of(json!({ "quantity": "hops", "per": "packet_delivered" })), Some(50.0));
    assert_eq!(of(json!({ "quantity": "hops", "unit": "million" })), Some(0.0005));
}

#[test]
fn trims_and_drops_are_counted_where_they_happen() {
    let mut run = record(vec![FlowRecord { packets_sent: 100, ..flow(1, None, None) }]);
    let counted = |port: PortRecord, trimmed, dropped| PortRecord {
        counters: PortCounters { trimmed, dropped, ..PortCounters::default() },
        ..port
    };
    run.ports = vec![
        counted(tor(0, Direction::Down, 0), 2, 3),
        counted(tor(0, Direction::Up, 1), 30, 5),
        counted(tor(1, Direction::Up, 0), 10, 0),
        counted(at(Layer::Aggregation, 0, Direction::Down, 1), 1, 7),
        counted(at(Layer::Aggregation, 0, Direction::Up, 1), 0, 9),
    ];
    let of = |spec: Value| of(spec, &run);
    let up = json!({ "layer": "tor", "direction": "up" });
    let trimmed = |key: &str, ports: &Value| json!({ "quantity": "port_trimmed", key: ports, "per": "packet_sent", "unit": "%" });
    assert_eq!(of(trimmed("ports", &up)), Some(40.0));
    assert_eq!(of(trimmed("ports", &json!({ "direction": "up" }))), Some(40.0));
    // 60 packets passed the ToRs' up ports, 3 of them were trimmed.
    assert_eq!(of(trimmed("beyond", &up)), Some(5.0));
    assert_eq!(of(trimmed("ports", &json!({ "layer": "core" }))), None);
    let dropped = |layer: &str, reduce: &str| {
        let ports = json!({ "layer": layer, "direction": "down" });
        json!({ "quantity": "port_dropped", "ports": ports, "reduce": reduce })
    };
    assert_eq!(of(dropped("tor", "sum")), Some(3.0));
    assert_eq!(of(dropped("aggregation", "sum")), Some(7.0));
    assert_eq!(of(json!({ "quantity": "port_dropped", "reduce": "max" })), Some(9.0));
}

#[test]
fn a_core_link_is_compared_with_those_of_its_switch() {
    let mut run = record(vec![flow(1, None, None)]);
    run.ports.clear();
    let core = json!([{ "layer": "aggregation", "direction": "up" }, { "layer": "core" }]);
    let min = json!({ "quantity": "port_bytes", "ports": core, "reduce": "min_of_switch" });
    assert_eq!(of(min.clone(), &run), None);
    let port =
        |layer, switch, direction, link, bytes| sent(at(layer, switch, direction, link), bytes);
    let (up, down) = (Direction::Up, Direction::Down);
    run.ports = vec![
        port(Layer::Tor, 0, up, 0, 1),
        port(Layer::Tor, 0, up, 1, 999),
        port(Layer::Aggregation, 0, down, 0, 1),
        port(Layer::Aggregation, 0, up, 0, 1_000),
        port(Layer::Aggregation, 0, up, 1, 3_000),
        port(Layer::Aggregation, 1, up, 0, 700),
        port(Layer::Aggregation, 1, up, 1, 700),
    ];
    assert_eq!(of(min.clone(), &run), Some(50.0));
    run.ports.push(port(Layer::Core, 0, down, 0, 900));
    run.ports.push(port(Layer::Core, 0, down, 1, 100));
    assert_eq!(of(min, &run), Some(20.0));
}

#[test]
fn latencies_are_selected_by_kind() {
    let mut run = record(vec![flow(1, None, None)]);
    let latency = |packets: &str, reduce: &str| json!({ "quantity": "latency", "packets": packets, "reduce": reduce, "unit": "us" });
    assert_eq!(of(latency("all", "p50"), &run), None);
    let took = |us: u64, first_window| PacketLatency { ps: us * 1_000_000, first_window };
    run.latencies = vec![took(5, true), took(6, true), took(7, false), took(9, false)];
    assert_eq!(of(latency("all", "p50"), &run), Some(6.0));
    assert_eq!(of(latency("later", "p50"), &run), Some(7.0));
    assert_eq!(of(latency("all", "max"), &run), Some(9.0));
}

#[test]
fn a_timeline_measures_idle_times_and_queues() {
    let mut run = record(vec![flow(1, None, None)]);
    let trims = json!({ "quantity": "events", "event": "trim" });
    let idle = json!({ "quantity": "idle_time", "reduce": "max", "unit": "us" });
    let found = json!({ "quantity": "queue_found", "reduce": "min" });
    for spec in [&trims, &idle, &found] {
        assert_eq!(of(spec.clone(), &run), None);
    }
    let sends = |place, begin: u64, end: u64| Event {
        place,
        until_ps: Some(end),
        ..event(begin * 1_000_000, What::Depart)
    };
    let us = 1_000_000;
    run.timeline.places = vec!["tor 0 down 0".into(), "host 1".into()];
    run.timeline.events = vec![
        event(1, What::Enqueue),
        event(1, What::Trim),
        sends(0, 2, 5 * us),
        sends(1, 3, 4 * us),
        sends(0, 5, 6 * us),
        Event { attempt: 1, queue: Some((4, 1)), ..event(6 * us, What::Enqueue) },
        Event { attempt: 2, queue: Some((3, 1)), ..event(7 * us, What::Enqueue) },
        // Headers and departures are not arriving retransmissions.
        Event { attempt: 1, packet: PacketKind::Header, ..event(7 * us, What::Enqueue) },
        sends(0, 8, 9 * us),
        sends(1, 9, 10 * us),
    ];
    assert_eq!(of(trims.clone(), &run), Some(1.0));
    assert_eq!(of(idle.clone(), &run), Some(5.0));
    assert_eq!(of(found.clone(), &run), Some(2.0));
    let at = |spec: Value, place: &str| of(with(spec, json!({ "place": place })), &run);
    assert_eq!(at(idle, "tor 0 down 0"), Some(2.0));
    assert_eq!(at(trims, "host 1"), Some(0.0));
    assert_eq!(at(found, "host 1"), None);
}

#[test]
fn an_interval_below_the_given_utilisation_is_low() {
    let mut run = record(vec![flow(1, None, None)]);
    let low = |percent: u64| json!({ "quantity": "low_time", "interval_us": 100, "below_percent": percent, "unit": "us" });
    assert_eq!(of(low(90), &run), None);
    let sends = |begin: u64, end: u64| Event {
        until_ps: Some(end * 1_000_000),
        ..event(begin * 1_000_000, What::Depart)
    };
    run.timeline.places = vec!["tor 0 down 0".into()];
    let header = Event { packet: PacketKind::Header, ..sends(195, 215) };
    // From 5 us on: 90 us of the first interval, 89 us of the second, 0 us of the third; the fourth is incomplete.
    run.timeline.events =
        vec![sends(5, 95), sends(105, 194), header, sends(305, 310), sends(320, 330)];
    assert_eq!(of(low(90), &run), Some(200.0));
    assert_eq!(of(low(89), &run), Some(100.0));
}

#[test]
fn samples_are_selected_by_layer_and_time() {
    let mut run = record(vec![flow(1, None, None)]);
    let group = |direction, pod| PortGroup {
        layer: Layer::Tor,
        direction,
        pod,
        ports: 2,
        rate_bps: 20_000_000_000,
    };
    run.samples.groups = vec![
        group(Direction::Down, None),
        group(Direction::Up, None),
        group(Direction::Down, Some(1)),
    ];
    let sample = |us: u64, group, bytes| Sample {
        time_ps: us * 1_000_000,
        since_ps: (us - 10) * 1_000_000,
        group,
        counters: PortCounters { bytes: 12_500, ..PortCounters::default() },
        queue_bytes: bytes,
        data_queue_bytes: bytes / 4,
        queue_bytes_max: bytes,
        stopped_ps: 0,
    };
    run.samples.samples = vec![
        sample(10, 0, 4000),
        sample(10, 1, 1),
        sample(20, 0, 8000),
        sample(30, 0, 2000),
        sample(30, 2, 600),
    ];
    let down = json!({ "layer": "tor", "direction": "down" });
    let queue = |quantity: &str, reduce: &str| json!({ "quantity": quantity, "ports": down, "reduce": reduce, "unit": "KB" });
    assert_eq!(of(queue("queue", "max"), &run), Some(4.0));
    assert_eq!(of(queue("fullest_queue", "max"), &run), Some(8.0));
    let late = json!({ "from_us": 21, "to_us": 30 });
    assert_eq!(of(with(queue("fullest_queue", "max"), late), &run), Some(2.0));
    for (queues, kilobytes) in [("all", 4.0), ("data", 1.0), ("headers", 3.0)] {
        let some = with(queue("queue", "max"), json!({ "of": queues }));
        assert_eq!(of(some, &run), Some(kilobytes), "{queues}");
    }
    let in_pod = with(queue("fullest_queue", "max"), json!({ "pod": 1 }));
    assert_eq!(of(in_pod, &run), Some(0.6));
    assert_eq!(of(with(queue("queue", "max"), json!({ "pod": 0 })), &run), None);
    let used = json!({ "quantity": "sampled_utilisation", "ports": down, "reduce": "mean" });
    assert!(close(of(used, &run), 50.0));
}

#[test]
fn undelivered_bytes_count_started_flows_only() {
    let mut flows: Vec<FlowRecord> = (0..4).map(|_| flow(1000, None, None)).collect();
    for (flow, arrived) in flows.iter_mut().zip([1000, 400, 0, 0]) {
        (flow.size_bytes, flow.delivered_bytes) = (Some(1000), arrived);
        flow.end = FlowEnd::RunEnded;
    }
    flows[3].end = FlowEnd::NotStarted;
    let share = of(json!({ "quantity": "undelivered" }), &record(flows)).expect("a number");
    assert!((share - 160.0 / 3.0).abs() < 1e-9, "{share}");
}

#[test]
fn path_lengths_are_selected_by_workload_and_size() {
    let mut run = record(vec![flow(1, None, None)]);
    let path = |name: &str, up_to_bytes, links, detours, packets| crate::PathRecord {
        workload: name.into(),
        up_to_bytes,
        links,
        detours,
        packets,
    };
    run.paths = vec![
        path("a", Some(1024), 6, 0, 30),
        path("a", Some(1024), 8, 1, 10),
        path("a", Some(131_072), 12, 3, 1),
        path("b", None, 2, 0, 100),
    ];
    let ways = |quantity: &str, more| with(json!({ "quantity": quantity }), more);
    let small = json!({ "workload": "a", "size_bytes": { "below": 100_000 } });
    assert_eq!(
        of(with(ways("links", small.clone()), json!({ "reduce": "mean" })), &run),
        Some(6.5)
    );
    assert_eq!(of(ways("links", json!({ "reduce": "max" })), &run), Some(12.0));
    assert_eq!(of(ways("detours", small.clone()), &run), Some(0.25));
    assert_eq!(of(ways("detoured", small), &run), Some(25.0));
    let large = json!({ "size_bytes": { "from": 65_537 } });
    assert_eq!(of(ways("detoured", large), &run), Some(100.0), "not those without a size");
    assert_eq!(of(ways("detoured", json!({ "workload": "c" })), &run), None);
}

#[test]
fn a_measure_without_meaning_is_refused() {
    for (spec, problem) in [
        (json!({ "quantity": "speed" }), "no quantity is named `speed`; expected one of fct,"),
        (json!({ "quantity": "fct", "spead": 1 }), "unknown field `spead`"),
        (json!({ "quantity": "fct", "reduce": "max", "unit": "us" }), "`at` is missing"),
        (with(fct("max"), json!({ "unit": "Gb/s" })), "`unit` is `Gb/s`; expected one of ps,"),
        (with(fct("max"), json!({ "cause": "return" })), "`cause` has no meaning for `fct`"),
        (with(fct("max"), json!({ "within": { "to": 1.0 } })), "`within` is for count and share"),
        (with(fct("count"), json!({ "within": {} })), "`within` takes no value"),
        (fct("p0"), "no `reduce` is named `p0`"),
        (fct("p100.01"), "no `reduce` is named"),
        (fct("p99.999"), "no `reduce` is named"),
        (fct("sum"), "`reduce` = `sum` has no meaning for `fct`"),
        (fct("jain"), "`unit` has no meaning"),
        (fct("min_of_switch"), "has no meaning for `fct`"),
        (with(fct("max"), json!({ "size_bytes": { "from": 5, "below": 5 } })), "takes no size"),
        (json!({ "quantity": "fct", "at": "receiver", "unit": "us" }), "`reduce` is missing"),
        (json!({ "quantity": "hops", "per": "packet_sent" }), "`per` is `packet_sent`"),
        (json!({ "quantity": "hops", "workload": "w" }), "`workload` has no meaning for `hops`"),
        (json!({ "quantity": "retransmissions", "cause": "nack" }), "`cause` is `nack`"),
        (
            json!({ "quantity": "port_trimmed", "ports": { "layer": "leaf" }, "reduce": "sum" }),
            "expected a table of layer, switch",
        ),
        (json!({ "quantity": "port_trimmed", "ports": [], "reduce": "sum" }), "takes no port"),
        (
            json!({ "quantity": "port_trimmed", "per": "packet_sent", "reduce": "sum" }),
            "no `reduce`",
        ),
        (
            json!({ "quantity": "port_trimmed", "workload": "w", "reduce": "sum" }),
            "only with `per`",
        ),
        (json!({ "quantity": "low_time", "below_percent": 9, "unit": "us" }), "`interval_us`"),
        (json!({ "quantity": "queue", "reduce": "max", "unit": "B" }), "one layer and direction"),
        (json!({ "quantity": "latency", "reduce": "max", "unit": "us" }), "`packets` is missing"),
        (json!({ "quantity": "events", "event": "explode" }), "`event` is `explode`"),
    ] {
        let error = measure(spec.clone()).expect_err(&spec.to_string());
        assert!(error.contains(problem), "{spec}: {error}");
    }
}

#[test]
fn a_measure_round_trips_and_has_a_unit() {
    for (spec, unit) in [
        (with(fct("p99.9"), json!({ "size_bytes": { "from": null, "below": 10_000 } })), "us"),
        (json!({ "quantity": "fct", "at": "sender", "reduce": "share" }), "%"),
        (goodput("mean", "% of the host link"), "% of the host link"),
        (json!({ "quantity": "fair_share", "reduce": "jain" }), ""),
        (json!({ "quantity": "path_removals" }), "paths"),
        (overhead(), "%"),
    ] {
        let read = measure(spec.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), spec);
        assert_eq!(read.unit(), unit);
        assert_eq!(measure(spec).unwrap(), read);
    }
}

#[test]
fn a_burst_ends_where_a_link_is_idle_for_a_gap() {
    let mut run = record(vec![flow(1, None, None)]);
    let sends = |place, begin: u64, end: u64, bytes| Event {
        place,
        wire_bytes: bytes,
        until_ps: Some(end * 1_000_000),
        ..event(begin * 1_000_000, What::Depart)
    };
    run.timeline.places = vec!["host 0".into(), "host 1".into()];
    // Idle for 9 us and 10 us: only the second ends a burst with a gap of 10 us.
    run.timeline.events = vec![
        sends(0, 0, 1, 1_500),
        sends(0, 10, 12, 3_000),
        sends(1, 15, 16, 64),
        sends(0, 22, 23, 1_500),
        sends(0, 23, 24, 500),
    ];
    let of_bursts = |what: &str, reduce: &str, unit: Option<&str>| {
        let spec = json!({ "quantity": "bursts", "place": "host 0", "gap_us": 10, "of": what, "reduce": reduce });
        let unit = unit.map_or(json!({}), |unit| json!({ "unit": unit }));
        of(with(spec, unit), &run)
    };
    assert_eq!(of_bursts("packets", "count", None), Some(2.0));
    assert_eq!(of_bursts("bytes", "max", Some("B")), Some(4_500.0));
    assert_eq!(of_bursts("bytes", "min", Some("KB")), Some(2.0));
    assert_eq!(of_bursts("span", "max", Some("us")), Some(12.0));
    assert_eq!(of_bursts("period", "max", Some("us")), Some(22.0));
    let all = json!({ "quantity": "bursts", "gap_us": 1, "of": "packets", "reduce": "count" });
    assert_eq!(of(all, &run), Some(4.0), "links are looked at one by one");
}

#[test]
fn hosts_report_processor_load_and_answers() {
    let mut run = record(vec![flow(1, None, None)]);
    let load = |at: &str, host: Option<u32>| {
        let host = host.map_or(json!({}), |host| json!({ "host": host }));
        with(json!({ "quantity": "processor_load", "at": at }), host)
    };
    assert_eq!(of(load("receiver", None), &run), None, "nothing is counted");
    let delivered: u64 = run.flows.iter().map(|flow| flow.measured_bytes).sum();
    let destination = run.flows.iter().next().unwrap().destination;
    (run.simulated_ps, run.measured_ps) = (2_000, 1_000);
    let of_host = |host, counters, before| HostRecord { host, counters, before };
    let none = HostCounters::default();
    let busy = HostCounters { receiving_ps: 900, sent: 9, ring_dropped: 2, ..none };
    let before = HostCounters { receiving_ps: 400, sent: 5, ..none };
    let other = HostCounters { sending_ps: 100, queue_dropped: 3, paced: 7, ..none };
    run.hosts = vec![of_host(destination, busy, before), of_host(destination + 1, other, none)];
    assert_eq!(of(load("receiver", Some(destination)), &run), Some(50.0));
    assert_eq!(of(load("receiver", None), &run), Some(25.0), "the mean of both");
    assert_eq!(of(load("sender", Some(destination + 1)), &run), Some(10.0));
    let answers = json!({ "quantity": "bytes_an_answer", "host": destination, "unit": "B" });
    assert_eq!(of(answers, &run), Some(delivered as f64 / 4.0));
    assert_eq!(of(json!({ "quantity": "host_dropped" }), &run), Some(5.0));
    assert_eq!(of(json!({ "quantity": "paced", "host": destination }), &run), Some(0.0));
}
