//! Measures of single packets: latencies and timelines.

use std::collections::BTreeMap;

use super::reduce::{Missing, Reduced};
use crate::record::RunRecord;
use crate::timeline::{PacketKind, Timeline, What};

/// A value of timeline events.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    /// Number of events of this kind.
    Events(What),
    /// Idle time of each link between its first and last packet, ps.
    IdleTime(Reduced),
    /// Time in intervals, from the first departure on, in which whole DATA packets occupied the link for less than a
    /// share, ps. Incomplete intervals do not count.
    LowTime { interval_ps: u64, below_percent: u64, unit: f64 },
    /// A value of bursts: packets between which the link idles for less than a gap.
    Bursts { gap_ps: u64, of: BurstOf, reduce: Reduced },
    /// Packets in the queue that each retransmission found on arrival, including the packet on the wire.
    QueueFound(Reduced),
}

/// A value of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BurstOf {
    Packets,
    /// Bytes on the wire.
    Bytes,
    /// From first bit of first packet to last bit of last packet, ps.
    Span,
    /// From first bit to that of the next burst, ps; the last burst has no period.
    Period,
}

/// Measures a place or all places; `None` without events.
pub(super) fn number(value: &Value, timeline: &Timeline, place: Option<&str>) -> Option<f64> {
    match *value {
        Value::Events(what) => (!timeline.events.is_empty())
            .then(|| timeline.at(place).filter(|event| event.what == what).count() as f64),
        Value::IdleTime(reduce) => reduce.of(&idle(timeline, place), Missing::Max),
        Value::LowTime { interval_ps, below_percent, unit } => {
            low(timeline, place, interval_ps, below_percent).map(|ps| ps / unit)
        }
        Value::Bursts { gap_ps, of, reduce } => {
            reduce.of(&bursts(timeline, place, gap_ps, of), Missing::Max)
        }
        Value::QueueFound(reduce) => reduce.of(&found(timeline, place), Missing::Max),
    }
}

/// Reduces the latencies, in ps.
pub(super) fn latency(record: &RunRecord, later: bool, reduce: &Reduced) -> Option<f64> {
    let wanted = record.latencies.iter().filter(|latency| !later || !latency.first_window);
    let values: Vec<Option<f64>> = wanted.map(|latency| Some(latency.ps as f64)).collect();
    reduce.of(&values, Missing::Max)
}

/// Idle time between departures, by place.
fn idle(timeline: &Timeline, place: Option<&str>) -> Vec<Option<f64>> {
    // Value: time at which the link became free, total idle time.
    let mut links: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for event in timeline.at(place).filter(|event| event.what == What::Depart) {
        let (free, idle) = links.entry(event.place).or_insert((event.time_ps, 0));
        *idle += event.time_ps.saturating_sub(*free);
        *free = event.until_ps.unwrap_or(event.time_ps);
    }
    links.values().map(|&(_, idle)| Some(idle as f64)).collect()
}

fn bursts(timeline: &Timeline, place: Option<&str>, gap: u64, of: BurstOf) -> Vec<Option<f64>> {
    struct Burst {
        begin: u64,
        end: u64,
        packets: u64,
        bytes: u64,
    }
    let mut links: BTreeMap<u32, Vec<Burst>> = BTreeMap::new();
    for event in timeline.at(place).filter(|event| event.what == What::Depart) {
        let of_link = links.entry(event.place).or_default();
        let end = event.until_ps.unwrap_or(event.time_ps);
        match of_link.last_mut().filter(|burst| event.time_ps.saturating_sub(burst.end) < gap) {
            Some(burst) => {
                burst.end = end;
                burst.packets += 1;
                burst.bytes += u64::from(event.wire_bytes);
            }
            None => of_link.push(Burst {
                begin: event.time_ps,
                end,
                packets: 1,
                bytes: event.wire_bytes.into(),
            }),
        }
    }
    let value = |pair: &[Burst]| match of {
        BurstOf::Packets => pair[0].packets,
        BurstOf::Bytes => pair[0].bytes,
        BurstOf::Span => pair[0].end - pair[0].begin,
        BurstOf::Period => pair[1].begin - pair[0].begin,
    };
    let reach = if of == BurstOf::Period { 2 } else { 1 };
    let values = links.values().flat_map(|bursts| bursts.windows(reach));
    values.map(|pair| Some(value(pair) as f64)).collect()
}

fn low(timeline: &Timeline, place: Option<&str>, interval: u64, below_percent: u64) -> Option<f64> {
    let departures = || timeline.at(place).filter(|event| event.what == What::Depart);
    let begin = departures().next()?.time_ps;
    let end = departures().last()?.time_ps;
    let mut busy = vec![0; ((end - begin) / interval) as usize];
    for event in departures().filter(|event| event.packet == PacketKind::Data) {
        if let Some(busy) = busy.get_mut(((event.time_ps - begin) / interval) as usize) {
            *busy += event.until_ps.unwrap_or(event.time_ps) - event.time_ps;
        }
    }
    let low = busy.iter().filter(|&&busy| busy * 100 < interval * below_percent).count() as u64;
    Some((low * interval) as f64)
}

fn found(timeline: &Timeline, place: Option<&str>) -> Vec<Option<f64>> {
    let arrivals = timeline.at(place).filter(|event| {
        event.what == What::Enqueue && event.packet == PacketKind::Data && event.attempt > 0
    });
    // Minus the packet itself.
    arrivals.filter_map(|event| event.queue.map(|queue| Some(f64::from(queue.0 - 1)))).collect()
}
