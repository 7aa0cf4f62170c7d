//! Records for the tests of several modules.

use trimline_packet::PortCounters;

use crate::flow::{FlowEnd, FlowRecord};
use crate::place::{Direction, Layer, LinkPlace, PortPlace};
use crate::record::{HostLink, LinkCounters, LinkRecord, PortRecord, RunRecord};
use crate::timeline::Timeline;

pub(crate) fn port(layer: Layer, switch: u32, direction: Direction, link: u32) -> PortPlace {
    PortPlace { layer, switch, direction, link }
}

/// Returns a flow from `source` to host 0, long-lived without a size.
pub(crate) fn flow(source: u32, size: Option<u64>, fct: Option<u64>) -> FlowRecord {
    FlowRecord {
        fct_receiver_ps: fct,
        fct_sender_ps: fct.map(|fct| fct + 6_307_200),
        ideal_fct_ps: size.map(|_| 259_792_000),
        ideal_fct_sender_ps: size.map(|_| 266_099_200),
        delivered_bytes: size.unwrap_or(1_000_000),
        measured_bytes: size.unwrap_or(900_000),
        packets_sent: 31,
        retransmissions_signalled: 1,
        trims: 1,
        end: if size.is_none() {
            FlowEnd::LongLived
        } else if fct.is_some() {
            FlowEnd::Completed
        } else {
            FlowEnd::RunEnded
        },
        ..FlowRecord::not_started("reply".into(), 0, source, 0, size)
    }
}

/// Returns a run of the base model, 10 Gb/s and 9000 B, with the last millisecond measured.
pub(crate) fn record(flows: Vec<FlowRecord>) -> RunRecord {
    RunRecord {
        series: "ndp".to_owned(),
        seed: 1,
        host_link: HostLink { rate_bps: 10_000_000_000, payload_bytes: 9000, header_bytes: 64 },
        flows: flows.into(),
        latencies: Vec::new(),
        timeline: Timeline::default(),
        samples: crate::samples::Samples::default(),
        ports: vec![
            PortRecord {
                place: port(Layer::Tor, 0, Direction::Down, 0),
                counters: PortCounters {
                    packets: 31,
                    bytes: 280_000,
                    trimmed: 1,
                    ..PortCounters::default()
                },
                ..PortRecord::default()
            },
            PortRecord {
                place: port(Layer::Core, 3, Direction::Down, 2),
                counters: PortCounters { dropped: 4, returned: 2, ..PortCounters::default() },
                ..PortRecord::default()
            },
        ],
        links: [
            (LinkPlace::Port(PortPlace::default()), [0, 0, 0]),
            (LinkPlace::Host(0), [1, 2, 3]),
        ]
        .map(|(place, [failed, lost, corrupted])| LinkRecord {
            place,
            counters: LinkCounters { failed, lost, corrupted },
            rate_bps: 10,
        })
        .into(),
        pauses: Vec::new(),
        paths: Vec::new(),
        hosts: Vec::new(),
        pause_cycles: Default::default(),
        simulated_ps: 2_000_000_000,
        measured_ps: 1_000_000_000,
        packet_hops: 500,
        packets_delivered: 30,
        packets_unclaimed: 0,
        loads: Vec::new(),
        interrupted: false,
    }
}
