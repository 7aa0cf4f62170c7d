//! Tests that a network without deliveries satisfies no finding.

use std::collections::BTreeMap;

use trimline_metrics::timeline::{Event, FlowName, PacketKind, What};
use trimline_metrics::{
    Direction, FlowEnd, FlowRecord, Layer, PortPlace, PortRecord, RunRecord, Timeline,
};

use super::tests::empty;
use super::{At, Finding};
use crate::library::load;
use crate::outcome::Outcome;
use crate::verdicts::Tier;

const US: u64 = 1_000_000;

/// A record of hosts behind ports that drop every packet, without notification.
fn record(finding: &Finding, size: Option<u64>) -> RunRecord {
    let pairs = (0..8).flat_map(|source| (0..8).map(move |destination| (source, destination)));
    let flow = |(source, destination): (u32, u32)| {
        let workload = finding.measure.workload().unwrap_or("w").into();
        let index = u64::from(destination);
        FlowRecord {
            ideal_fct_ps: size.map(|_| 50 * US),
            ideal_fct_sender_ps: size.map(|_| 60 * US),

            packets_sent: 100,
            end: if size.is_some() { FlowEnd::RunEnded } else { FlowEnd::LongLived },
            ..FlowRecord::not_started(workload, index, source, destination, size)
        }
    };
    let layers = [Layer::Tor, Layer::Aggregation, Layer::Spine, Layer::Core];
    let ports = layers.into_iter().flat_map(|layer| {
        [Direction::Up, Direction::Down].map(|direction| PortRecord {
            place: PortPlace { layer, switch: 0, direction, link: 0 },
            rate_bps: 10_000_000_000,
            ..PortRecord::default()
        })
    });
    let sent = Event {
        time_ps: US,
        until_ps: Some(8 * US),
        place: 0,
        what: What::Depart,
        packet: PacketKind::Data,
        flow: FlowName { workload: 0, index: 0, source: 1, destination: 0 },
        sequence: 0,
        attempt: 0,
        path: 0,
        wire_bytes: 9064,
        queue: None,
    };
    RunRecord {
        series: finding.series.clone().unwrap_or_default(),
        flows: pairs.map(flow).collect(),
        timeline: Timeline {
            places: vec!["host 1".to_owned()],
            workloads: vec!["w".to_owned()],
            events: vec![sent; 64],
            packets: Vec::new(),
        },
        ports: ports.collect(),
        simulated_ps: 1000 * US,
        measured_ps: 1000 * US,
        packet_hops: 6400,
        packets_delivered: 0,
        ..empty()
    }
}

/// Runs of the finding at different places of the sweep, and runs that it compares with.
fn outcomes(finding: &Finding, size: Option<u64>) -> Vec<Outcome> {
    let label = |at: &At| match at {
        At::Number(number) => number.to_string(),
        At::Text(text) => text.clone(),
        At::Range(range) => range.from.or(range.to).unwrap_or_default().to_string(),
    };
    let record = record(finding, size);
    let own = finding.series.clone().unwrap_or_default();
    let series = std::iter::once(own).chain(finding.against.clone());
    let runs = series.flat_map(|series| [1, 2, 3].map(|number| (series.clone(), number)));
    let outcome = |(series, number): (String, u64)| {
        let mut point: BTreeMap<String, String> =
            finding.at.iter().map(|(key, at)| (key.clone(), label(at))).collect();
        let over = finding.spread_over.as_ref().or(finding.linear_over.as_ref());
        point.extend(over.map(|key| (key.clone(), number.to_string())));
        Outcome {
            series,
            seed: if over.is_some() { 1 } else { number },
            point: point.into_iter().collect(),
            flows: finding.flows.or(finding.flows_from).unwrap_or(record.flows.len() as usize),
            values: vec![finding.measure.of(&record)],
        }
    };
    runs.map(outcome).collect()
}

#[test]
fn a_network_that_delivers_nothing_satisfies_no_finding() {
    let experiments = load(None).unwrap();
    let mut judged = 0;
    for experiment in experiments {
        let findings = &experiment.expected.finding;
        let survives = |finding: &Finding, size| {
            finding.verdict(&outcomes(finding, size), 0, Tier::Full).holds
        };
        for finding in findings.iter().filter(|finding| finding.lo.or(finding.hi).is_some()) {
            let companion = finding
                .companion
                .as_ref()
                .map(|name| findings.iter().find(|other| other.name == *name).expect("is checked"));
            for size in [None, Some(90_000)] {
                judged += 1;
                assert!(
                    !survives(companion.unwrap_or(finding), size),
                    "{}: \"{}\" holds for a network that delivers nothing: give it the bound that fails then, or \
                     a companion that does",
                    experiment.id,
                    finding.name
                );
            }
            // An unneeded companion would hide that its finding is judged alone.
            assert!(
                companion.is_none()
                    || [None, Some(90_000)].iter().any(|size| survives(finding, *size)),
                "{}: \"{}\" needs no companion",
                experiment.id,
                finding.name
            );
        }
    }
    assert!(judged > 100, "{judged}");
}
