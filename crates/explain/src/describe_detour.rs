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
        None => return Some("never; ways are counted".to_owned()),
        Some(Hot::Always) => "whatever its port holds".to_owned(),
        Some(Hot::Full) => "where its port has no room".to_owned(),
        Some(Hot::Above(threshold)) => format!(
            "where its port holds more than {threshold} packets{}",
            match model.seen {
                Seen::Now => "",
                Seen::LastDeparture => " (as of the last departure)",
                Seen::LastArrivalThatLeft => " (as the last packet to leave found it when it came)",
            }
        ),
    };
    let among = match (model.targets.equal_cost, model.targets.full) {
        (true, _) => "ports that are equally near",
        (false, true) => "other ports to switches",
        (false, false) => "other ports to switches that have room",
    };
    let to = match model.pick {
        Pick::ShorterOfTwo => format!("the shorter of two {among}"),
        Pick::One => format!("one of the {among}"),
    };
    let targets = model.targets;
    let too: Vec<&str> = [
        (targets.hosts, "ports of hosts"),
        (targets.input, "the port that it came by"),
        (targets.dead, "dead links"),
        (targets.own && !targets.equal_cost, "its own port"),
    ]
    .into_iter()
    .filter_map(|(is, name)| is.then_some(name))
    .collect();
    let too = if too.is_empty() { String::new() } else { format!(", or {}", too.join(", ")) };
    let limit = match (model.limit, model.counts) {
        (None, _) => "without limit".to_owned(),
        (Some(1), Counts::Detours) => "once at most".to_owned(),
        (Some(limit), Counts::Detours) => format!("{limit} times at most"),
        (Some(limit), Counts::Switches) => format!("at its first {limit} switches only"),
    };
    Some(format!("{what} {when} goes to {to}{too}, {limit}"))
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
    fn a_scheme_is_said_with_what_differs_from_it() {
        assert_eq!(describe("latency = \"0s\""), "");
        assert_eq!(
            describe("data_queue = \"64pkt\", detour = {}"),
            "unscheduled data where its port holds more than 56 packets goes to the shorter of two other ports to switches, 2 times at most"
        );
        assert_eq!(
            describe("detour = { scheme = \"dibs\", input = true, limit = 1 }"),
            "data where its port has no room goes to one of the other ports to switches that have room, or the port that it came by, once at most"
        );
        let literal = describe(
            "data_queue = \"64pkt\", detour = { threshold = \"52pkt\", counts = \"switches\", seen = \"last-departure\" }",
        );
        assert!(literal.contains("52 packets (as of the last departure)"), "{literal}");
        assert!(literal.ends_with("at its first 2 switches only"), "{literal}");
        assert!(describe("detour.scheme = \"rps\"").contains("equally near, without limit"));
        assert_eq!(describe("detour.when = \"never\""), "never; ways are counted");
    }
}
