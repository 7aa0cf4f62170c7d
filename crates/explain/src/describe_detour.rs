//! Describes the detour setting.

use trimline_sim::plan::Plan;
use trimline_sim::plan::detour::{Counts, Detourable, Hot, Pick, Seen};

/// Describes the packets that detour, when, and to which port.
pub(crate) fn describe(plan: &Plan) -> Option<String> {
    let model = plan.detour?;
    let what = match model.detourable {
        Detourable::Unscheduled => "unscheduled data",
        Detourable::Data => "data",
    };
    let when = match model.hot {
        None => return Some("never; path lengths are counted".to_owned()),
        Some(Hot::Always) => "always".to_owned(),
        Some(Hot::Full) => "when its port is full".to_owned(),
        Some(Hot::Above(threshold)) => format!(
            "when its port holds more than {threshold} packets{}",
            match model.seen {
                Seen::Now => "",
                Seen::LastDeparture => " (as of the last departure)",
                Seen::LastArrivalThatLeft => " (as the last departed packet found it on arrival)",
            }
        ),
    };
    let among = match (model.targets.equal_cost, model.targets.full) {
        (true, _) => "equal-cost ports",
        (false, true) => "other switch ports",
        (false, false) => "other switch ports with room",
    };
    let to = match model.pick {
        Pick::ShorterOfTwo => format!("the shorter of two {among}"),
        Pick::One => format!("one of the {among}"),
    };
    let targets = model.targets;
    let too: Vec<&str> = [
        (targets.hosts, "host ports"),
        (targets.input, "the input port"),
        (targets.dead, "dead links"),
        (targets.own && !targets.equal_cost, "its own port"),
    ]
    .into_iter()
    .filter_map(|(is, name)| is.then_some(name))
    .collect();
    let too = if too.is_empty() { String::new() } else { format!(", or {}", too.join(", ")) };
    let limit = match (model.limit, model.counts) {
        (None, _) => "without a limit".to_owned(),
        (Some(1), Counts::Detours) => "at most once".to_owned(),
        (Some(limit), Counts::Detours) => format!("at most {limit} times"),
        (Some(limit), Counts::Switches) => format!("only at its first {limit} switches"),
    };
    Some(format!("{what} detours {when}: to {to}{too}, {limit}"))
}

#[cfg(test)]
mod tests {
    use crate::scenario;

    fn describe(switch: &str) -> String {
        let text = format!(
            "topology.fattree.k = 4\nswitch = {{ {switch} }}\n\
             [[workload]]\nname = \"w\"\npermutation = {{}}\nsize = \"9KB\"\n"
        );
        super::describe(&scenario(&text).runs[0].plan).unwrap_or_default()
    }

    #[test]
    fn a_detour_scheme_is_described_with_its_changes() {
        assert_eq!(describe("latency = \"0s\""), "");
        assert_eq!(
            describe("data_queue = \"64pkt\", detour = {}"),
            "unscheduled data detours when its port holds more than 56 packets: to the shorter of two other switch \
             ports, at most 2 times"
        );
        assert_eq!(
            describe("detour = { scheme = \"dibs\", input = true, limit = 1 }"),
            "data detours when its port is full: to one of the other switch ports with room, or the input port, \
             at most once"
        );
        let literal = describe(
            "data_queue = \"64pkt\", detour = { threshold = \"52pkt\", counts = \"switches\", seen = \"last-departure\" }",
        );
        assert!(literal.contains("52 packets (as of the last departure)"), "{literal}");
        assert!(literal.ends_with("only at its first 2 switches"), "{literal}");
        assert!(describe("detour.scheme = \"rps\"").contains("equal-cost ports, without a limit"));
        assert_eq!(describe("detour.when = \"never\""), "never; path lengths are counted");
    }
}
