//! FCT breakdown: the waits of a flow's last packet, place by place.

use crate::csv::table;
use crate::flow::FlowRecord;
use crate::timeline::{Event, PacketKind, Timeline, What};

/// A component of a flow completion time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Cause of the wait, in words.
    pub name: String,
    /// Duration in picoseconds.
    pub ps: u64,
}

/// Splits a flow's FCT at the receiver into parts, in time order, that sum to it. The timeline has all events of the
/// flow.
///
/// The last parts follow the packet whose arrival completed the flow. `None` for undelivered flows and incomplete
/// timelines.
pub fn components(timeline: &Timeline, flow: &FlowRecord) -> Option<Vec<Component>> {
    let end = flow.start_ps.checked_add(flow.fct_receiver_ps?)?;
    let is_data = |event: &&Event| event.packet == PacketKind::Data;
    let first = timeline.events.iter().filter(is_data).find(|event| event.what == What::Depart)?;
    let last = timeline
        .events
        .iter()
        .filter(is_data)
        .rfind(|event| event.what == What::Arrive && event.time_ps == end)?;
    // Attempts count modulo 4, so the path of this transmission begins with its last departure.
    let is_last = |event: &&Event| {
        (event.packet, event.sequence, event.attempt) == (last.packet, last.sequence, last.attempt)
            && event.time_ps <= end
    };
    let way: Vec<&Event> = timeline.events.iter().filter(is_last).collect();
    let begin =
        way.iter().rposition(|event| event.what == What::Depart && event.queue.is_none())?;
    let mut parts = vec![
        Component {
            name: "waited at its host".to_owned(),
            ps: first.time_ps.checked_sub(flow.start_ps)?,
        },
        Component {
            name: "sent until its last packet left".to_owned(),
            ps: way[begin].time_ps.checked_sub(first.time_ps)?,
        },
    ];
    let mut on_links = 0;
    let (mut left, mut came) = (way[begin].time_ps, None);
    for event in &way[begin + 1..] {
        match event.what {
            What::Enqueue => {
                on_links += event.time_ps.checked_sub(left)?;
                came = Some(event.time_ps);
            }
            What::Depart => {
                // A packet that departs on arrival was never queued.
                let since = came.take().unwrap_or_else(|| {
                    on_links += event.time_ps - left;
                    event.time_ps
                });
                let place = timeline.places.get(event.place as usize)?;
                parts.push(Component {
                    name: format!("queued at {}", layer_of(place)),
                    ps: event.time_ps.checked_sub(since)?,
                });
                left = event.time_ps;
            }
            What::Arrive => on_links += event.time_ps.checked_sub(left)?,
            What::Trim
            | What::Mark
            | What::Return
            | What::Notify
            | What::Drop
            | What::Detour
            | What::Lose => {}
        }
    }
    parts.push(Component { name: "on links".to_owned(), ps: on_links });
    let sum: u64 = parts.iter().map(|part| part.ps).sum();
    (Some(sum) == flow.fct_receiver_ps).then_some(parts)
}

/// Removes the numbers of `tor 3 down 2`.
fn layer_of(place: &str) -> String {
    let words = place.split(' ').filter(|word| !word.starts_with(|c: char| c.is_ascii_digit()));
    words.collect::<Vec<_>>().join(" ")
}

/// Columns of fct_components.csv.
pub const COMPONENT_COLUMNS: [&str; 2] = ["component", "time_ps"];

/// Formats fct_components.csv.
pub fn csv(parts: &[Component]) -> Vec<u8> {
    table(&COMPONENT_COLUMNS, parts.iter().map(|part| [part.name.clone(), part.ps.to_string()]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::flow;
    use crate::timeline::tests::event;

    /// Events of a flow that starts at 10 ps: its first packet leaves at 12 ps, its second at 20 ps and 40 ps.
    fn timeline() -> Timeline {
        let at_host = |time, what| Event { place: 1, queue: None, ..event(time, what) };
        let first = |event: Event| Event { sequence: 0, ..event };
        let again = |event: Event| Event { attempt: 1, ..event };
        Timeline {
            places: vec!["tor 0 down 0".into(), "host 1".into(), "host 0".into()],
            workloads: vec!["reply".into()],
            events: vec![
                first(at_host(12, What::Depart)),
                at_host(20, What::Depart),
                first(event(22, What::Depart)),
                event(30, What::Drop),
                first(Event { place: 2, ..at_host(32, What::Arrive) }),
                again(at_host(40, What::Depart)),
                again(event(50, What::Enqueue)),
                again(event(57, What::Depart)),
                again(Event { place: 2, ..at_host(67, What::Arrive) }),
            ],
            packets: Vec::new(),
        }
    }

    #[test]
    fn the_components_of_an_fct_add_up_to_it() {
        let mut flow = flow(1, Some(18_000), Some(57));
        flow.start_ps = 10;
        let found = components(&timeline(), &flow).unwrap();
        let found: Vec<(&str, u64)> = found.iter().map(|part| (&*part.name, part.ps)).collect();
        let expected = [
            ("waited at its host", 2),
            ("sent until its last packet left", 28),
            ("queued at tor down", 7),
            ("on links", 20),
        ];
        assert_eq!(found, expected);
        // Another completion time needs another timeline.
        flow.fct_receiver_ps = Some(58);
        assert_eq!(components(&timeline(), &flow), None);
    }
}
