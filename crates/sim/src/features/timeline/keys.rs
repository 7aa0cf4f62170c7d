//! The keys of a timeline in a scenario.

use trimline_packet::TimeDelta;

use crate::keys::error::ScenarioError;
use crate::keys::form::{DURATION, Form, Grammar, HOST, Key, computed, fixed, optional};
use crate::keys::links::link;
use crate::keys::read::{duration_of, pair};
use crate::keys::tree::Node;
use crate::plan::Watch;
use crate::topology::{self, Clos};

pub(crate) const KEY: Key = optional(
    "timeline",
    Form::Table(&TIMELINE),
    "timeline.csv: one row for each thing that happens at some places or to some flows. The run is then driven by the slow engine, heap, whatever `engine` says.",
);

static TIMELINE: Grammar = Grammar {
    about: "What is recorded: everything at these places, and everything that happens to these flows anywhere.",
    alternatives: &[],
    keys: &[
        computed(
            "places",
            Form::List(&Form::Text),
            "none",
            "Ports and hosts, named as in link_event: \"tor 0 down 0\", \"host 7\".",
        ),
        computed(
            "flows",
            Form::List(&Form::List(&HOST)),
            "none",
            "Flows by their [source, destination], with their ACKs, NACKs and PULLs.",
        ),
        fixed("from", DURATION, "0s", "Nothing earlier."),
        computed("to", DURATION, "the end of the run", "Nothing at this time or later."),
    ],
};

/// Reads the events to record: the table `timeline` of `output`.
pub(crate) fn watch(node: &Node, topology: &Clos) -> Result<Watch, ScenarioError> {
    let list = |key| node.child(key).and_then(Node::list).unwrap_or(&[]);
    let names = topology::links(topology);
    let places = list("places").iter().map(|node| link(node, &names));
    let places = places.collect::<Result<Vec<_>, _>>()?;
    let flows = list("flows").iter().map(|node| pair(node, topology.hosts()));
    let flows = flows.collect::<Result<Vec<_>, _>>()?;
    if places.is_empty() && flows.is_empty() {
        return Err(ScenarioError::new(
            &node.place,
            "a timeline of nothing",
            "at least one of `places` and `flows`",
        ));
    }
    let from = node.child("from").map(duration_of).transpose()?.unwrap_or(TimeDelta::ZERO);
    let to = node.child("to").map(duration_of).transpose()?;
    if let Some(end) = node.child("to").filter(|_| to.is_some_and(|to| to <= from)) {
        return Err(ScenarioError::new(
            &end.place,
            "the timeline ends before it begins",
            "a time after `from`",
        ));
    }
    Ok(Watch { places, flows, from, to, keep_packets: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{EngineChoice, Plan};
    use crate::scenario::Scenario;

    fn timeline(timeline: &str) -> Result<Plan, String> {
        let text = format!(
            "topology.star.hosts = 4\nworkload = [{{ name = \"w\", permutation = {{}}, size = \"9KB\" }}]\n\
             output.timeline = {timeline}"
        );
        let scenario = Scenario::parse("s.toml", &text, &[]).map_err(|error| error.to_string())?;
        assert!(scenario.runs[0].output.timeline);
        Ok(scenario.runs[0].plan.clone())
    }

    #[test]
    fn a_timeline_names_places_and_flows() {
        let plan = timeline("{ places = [\"host 2\"], flows = [[1, 0]], from = \"1us\" }").unwrap();
        let links = topology::links(&plan.topology);
        let host = links.iter().find(|(name, _)| name == "host 2").unwrap().1;
        assert_eq!(
            plan.timeline,
            Some(Watch {
                places: vec![host],
                flows: vec![(1, 0)],
                from: TimeDelta::from_us(1),
                to: None,
                keep_packets: false,
            })
        );
        assert_eq!(plan.engine, EngineChoice::Heap);
    }

    #[test]
    fn an_empty_timeline_is_refused() {
        let refused = |text: &str| timeline(text).unwrap_err();
        assert!(refused("{}").contains("at least one of `places` and `flows`"));
        assert!(refused("{ places = [] }").contains("a timeline of nothing"));
        assert!(refused("{ places = [\"host 4\"] }").contains("nearest: host"));
        assert!(refused("{ flows = [[1, 1]] }").contains("host 1 sends to itself"));
        assert!(refused("{ flows = [[1, 4]] }").contains("host 4"));
        let backwards = "{ flows = [[1, 0]], from = \"2us\", to = \"2us\" }";
        assert!(refused(backwards).contains("ends before it begins"));
    }
}
