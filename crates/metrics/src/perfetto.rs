//! Converts a timeline to Chrome's trace format for Perfetto (ui.perfetto.dev): a track per port and host, a slice per
//! packet on its link, queue lengths as counters, trims, drops and returns as marks.

use serde_json::{Value, json};

use crate::timeline::{Event, FlowName, Timeline, What};

/// Formats the trace as JSON text with a final newline.
pub fn trace(timeline: &Timeline) -> String {
    let mut events: Vec<Value> = Vec::new();
    let mut is_named = vec![false; timeline.places.len()];
    for event in &timeline.events {
        let place = event.place as usize;
        if !std::mem::replace(&mut is_named[place], true) {
            let name = &timeline.places[place];
            events.push(json!({
                "ph": "M", "name": "process_name", "pid": event.place, "args": { "name": name },
            }));
        }
        events.extend(of_event(timeline, event));
    }
    let mut text = json!({ "displayTimeUnit": "ns", "traceEvents": events }).to_string();
    text.push('\n');
    text
}

/// Converts to microseconds; six decimals keep every picosecond.
fn us(ps: u64) -> f64 {
    ps as f64 / 1e6
}

fn of_event(timeline: &Timeline, event: &Event) -> Vec<Value> {
    let workload = timeline.workloads.get(event.flow.workload as usize);
    let flow = match event.flow == FlowName::NONE {
        true => "none".to_owned(),
        false => format!(
            "{} {} -> {} ({})",
            workload.map_or("", String::as_str),
            event.flow.source,
            event.flow.destination,
            event.flow.index
        ),
    };
    let about = json!({
        "flow": flow,
        "sequence": event.sequence,
        "attempt": event.attempt,
        "path": event.path,
        "wire_bytes": event.wire_bytes,
    });
    let name = format!("{} {}", event.packet.name(), event.sequence);
    let (time, pid) = (us(event.time_ps), event.place);
    let mut made = Vec::new();
    match event.what {
        What::Depart => made.push(json!({
            "ph": "X", "name": name, "cat": event.packet.name(), "pid": pid, "tid": 0, "ts": time,
            "dur": us(event.until_ps.unwrap_or(event.time_ps) - event.time_ps), "args": about,
        })),
        What::Enqueue => {}
        What::Arrive
        | What::Trim
        | What::Mark
        | What::Detour
        | What::Return
        | What::Notify
        | What::Drop
        | What::Lose => made.push(json!({
            "ph": "i", "s": "t", "name": format!("{} {name}", event.what.name()),
            "cat": event.packet.name(), "pid": pid, "tid": 1, "ts": time, "args": about,
        })),
    }
    if let Some((packets, bytes)) = event.queue {
        made.push(json!({
            "ph": "C", "name": "queue", "pid": pid, "ts": time,
            "args": { "packets": packets, "bytes": bytes },
        }));
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::tests::event;

    #[test]
    fn a_timeline_becomes_slices_marks_and_counters() {
        let timeline = Timeline {
            places: vec!["tor 0 down 0".into()],
            workloads: vec!["replies".into()],
            events: vec![
                event(5, What::Trim),
                Event { until_ps: Some(7_251_205), ..event(5, What::Depart) },
            ],
            packets: Vec::new(),
        };
        let trace: Value = serde_json::from_str(&trace(&timeline)).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let kinds: Vec<&str> = events.iter().map(|event| event["ph"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["M", "i", "C", "X", "C"]);
        assert_eq!(events[3]["dur"], json!(7.2512));
        assert_eq!(events[1]["name"], json!("trim data 7"));
    }
}
