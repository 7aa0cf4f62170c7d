//! The payload that a scenario gives all its transports: its place in the order of layers.
//!
//! Layers are, from the lowest, the scenario, a series, a scheme, a `--set` and a point of the sweep. A layer with
//! `payload` replaces the payloads of single transports in the layers below it.

use super::rules::Overlay;
use crate::keys::error::ScenarioError;
use crate::keys::form::{Form, Language};
use crate::keys::tree::{self, Entry, Node, Table, Value};

/// The key, at the root of a scenario and in tables under `transport` and `workload`.
pub(super) const KEY: &str = "payload";

pub(super) fn overlay(below: &mut Node, layer: &Node) -> Result<(), ScenarioError> {
    if layer.child(KEY).is_some() {
        transports_of(below).for_each(|entry| {
            entry.node.take(KEY);
        });
    }
    tree::overlay(below, layer, &Overlay)?;
    // Payloads of all single transports replace a common payload below them.
    if layer.child(KEY).is_none() && of_transports(layer).next().is_some() && are_all_own(below) {
        below.take(KEY);
    }
    Ok(())
}

/// Returns the common payload of a tree, or the one of its only transport.
pub(super) fn of(tree: &Node) -> Option<Entry> {
    let table = tree.table()?;
    if let Some(all) = table.find(KEY) {
        return Some(all.clone());
    }
    match &tree.child("transport")?.table()?.entries[..] {
        [only] => only.node.table()?.find(KEY).cloned(),
        _ => None,
    }
}

/// Returns the payloads of single transports.
pub(super) fn of_transports(tree: &Node) -> impl Iterator<Item = &Entry> {
    let transports = tree.child("transport").and_then(Node::table);
    let entries = transports.map_or(&[][..], |table| &table.entries);
    entries.iter().filter_map(|entry| entry.node.table()?.find(KEY))
}

fn transports_of(tree: &mut Node) -> impl Iterator<Item = &mut Entry> {
    let Value::Table(root) = &mut tree.value else { return [].iter_mut() };
    let transport = root.entries.iter_mut().find(|entry| entry.key == "transport");
    match transport.map(|entry| &mut entry.node.value) {
        Some(Value::Table(transports)) => transports.entries.iter_mut(),
        _ => [].iter_mut(),
    }
}

fn are_all_own(tree: &Node) -> bool {
    let transports = tree.child("transport").and_then(Node::table);
    transports.is_some_and(|table| table.entries.len() == of_transports(tree).count())
}

/// Gives the common payload to each transport without its own; `default` is the transport of a tree without one.
/// Refuses a payload without effect, or a transport without the key.
pub(super) fn set_payloads(
    tree: &mut Node,
    default: &str,
    language: &Language,
) -> Result<(), ScenarioError> {
    let Some(payload) = tree.table().and_then(|table| table.find(KEY)).cloned() else {
        return Ok(());
    };
    refuse_unused(tree, &payload)?;
    let place = &payload.key_place;
    if tree.child("transport").is_none() {
        let table = || Node { value: Value::Table(Table::default()), place: place.clone() };
        let path = [("transport".to_owned(), place.clone()), (default.to_owned(), place.clone())];
        tree::overlay(tree, &tree::branch(&path, table()), &Overlay)?;
    }
    for entry in transports_of(tree) {
        if !takes_payload(&entry.key, language) {
            return Err(ScenarioError::new(
                place,
                format!("`{KEY}`, and transport {} has no such key", entry.key),
                "transports with a payload",
            ));
        }
        if let Value::Table(keys) = &mut entry.node.value
            && keys.find(KEY).is_none()
        {
            keys.entries.push(payload.clone());
        }
    }
    Ok(())
}

fn takes_payload(transport: &str, language: &Language) -> bool {
    let known = language.transports.iter().find(|key| key.name == transport);
    known.is_none_or(|key| match &key.form {
        Form::Table(grammar) => grammar.keys.iter().any(|key| key.name == KEY),
        _ => false,
    })
}

fn refuse_unused(tree: &Node, payload: &Entry) -> Result<(), ScenarioError> {
    let workloads = tree.child("workload").and_then(Node::list).unwrap_or(&[]);
    let table = if are_all_own(tree) {
        "transport"
    } else if !workloads.is_empty() && workloads.iter().all(|node| node.child(KEY).is_some()) {
        "workload"
    } else {
        return Ok(());
    };
    Err(ScenarioError::new(
        &payload.key_place,
        format!(
            "`{KEY}`, and every table under `{table}` has its own: no flow would have this one"
        ),
        format!("`{KEY}` in one of the two places"),
    ))
}

#[cfg(test)]
mod tests {
    use crate::scenario::{Run, Scenario};

    const BASE: &str = "duration = \"2ms\"\ntopology.star.hosts = 4\n\
        [[workload]]\nname = \"w\"\npermutation = {}\nsize = \"long-lived\"\n";

    fn runs(keys: &str, tables: &str, settings: &[&str]) -> Result<Vec<Run>, String> {
        let settings: Vec<String> = settings.iter().map(|&text| text.to_owned()).collect();
        let scenario = Scenario::parse("s.toml", &format!("{keys}{BASE}{tables}"), &settings);
        scenario.map(|scenario| scenario.runs).map_err(|error| error.to_string())
    }

    /// Series, transport and payload of each run.
    #[track_caller]
    fn check(keys: &str, tables: &str, settings: &[&str], expected: &[(&str, &str, u16)]) {
        let runs = runs(keys, tables, settings).unwrap_or_else(|error| panic!("{error}"));
        let found: Vec<(&str, &str, u16)> = runs
            .iter()
            .map(|run| {
                let chosen = &run.plan.transports[0];
                (&*run.plan.series, chosen.name(), chosen.payload_bytes())
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[track_caller]
    fn refused(keys: &str, tables: &str, settings: &[&str], parts: &[&str]) {
        let error = runs(keys, tables, settings).expect_err("refused");
        parts.iter().for_each(|part| assert!(error.contains(part), "{part}: {error}"));
    }

    const SERIES: &str = "[[series]]\nname = \"a\"\ntransport.dctcp = {}\n\
        [[series]]\nname = \"b\"\ntransport.homa = {}\n";

    #[test]
    fn one_payload_applies_to_every_transport_and_scheme() {
        check("payload = \"1460B\"\n", "", &[], &[("", "ndp", 1460)]);
        check("payload = \"1460B\"\n", SERIES, &[], &[("a", "dctcp", 1460), ("b", "homa", 1460)]);
        let schemes = "schemes = [\"dctcp\", \"hull\", \"ndp\"]\n";
        let of = |payload| {
            [("dctcp", "dctcp", payload), ("hull", "dctcp", payload), ("ndp", "ndp", payload)]
        };
        check(schemes, "", &["payload=1460B"], &of(1460));
        check(&format!("{schemes}payload = \"700B\"\n"), "", &["payload=1460B"], &of(1460));
        check(&format!("{schemes}transport.tcp.payload = \"700B\"\n"), "", &[], &of(700));
        check(
            &format!("{schemes}transport.tcp.payload = \"700B\"\n"),
            "",
            &["payload=1460B"],
            &of(1460),
        );
        let swept = "sweep.payload = [\"1460B\", \"9000B\"]\nschemes = [\"dctcp\", \"homa\"]\n";
        let expected = [
            ("dctcp", "dctcp", 1460),
            ("dctcp", "dctcp", 9000),
            ("homa", "homa", 1460),
            ("homa", "homa", 9000),
        ];
        check(swept, "", &[], &expected);
        check(&format!("transport.ndp = {{}}\n{swept}"), "", &[], &expected);
    }

    /// From the lowest: the scenario, a series, a scheme, a setting, a sweep point.
    #[test]
    fn the_payload_of_a_later_layer_applies() {
        let own = "[[series]]\nname = \"a\"\ntransport.ndp.payload = \"700B\"\n[[series]]\nname = \"b\"\n";
        check("payload = \"1460B\"\n", own, &[], &[("a", "ndp", 700), ("b", "ndp", 1460)]);
        check(
            "transport.ndp.payload = \"1460B\"\n",
            own,
            &["payload=4000B"],
            &[("a", "ndp", 4000), ("b", "ndp", 4000)],
        );
        let series = "[[series]]\nname = \"a\"\npayload = \"700B\"\n";
        check("transport.ndp.payload = \"1460B\"\n", series, &[], &[("a", "ndp", 700)]);
        let last = ["payload=4000B", "transport.ndp.payload=5000B"];
        check("", series, &last, &[("a", "ndp", 5000)]);
        check("", series, &[last[1], last[0]], &[("a", "ndp", 4000)]);
        let scheme =
            "[[scheme]]\nname = \"mine\"\nlike = \"hull\"\ntransport.dctcp.payload = \"700B\"\n";
        check("payload = \"1460B\"\n", scheme, &[], &[("mine", "dctcp", 700)]);
        check("payload = \"1460B\"\n", scheme, &["payload=4000B"], &[("mine", "dctcp", 4000)]);
    }

    /// Thresholds and buckets fit the packets that the scheme sends.
    #[test]
    fn a_scheme_scales_to_its_payload() {
        let bucket = |keys: &str, tables: &str, settings: &[&str]| {
            let runs = runs(keys, tables, settings).unwrap_or_else(|error| panic!("{error}"));
            runs[0].plan.pacer.as_ref().map(|paced| paced.settings.bucket.get())
        };
        assert_eq!(bucket("schemes = [\"hull\"]\n", "", &[]), Some(18_128));
        assert_eq!(bucket("schemes = [\"hull\"]\n", "", &["payload=4000B"]), Some(8_128));
        assert_eq!(
            bucket("schemes = [\"hull\"]\n", "", &["transport.dctcp.payload=4000B"]),
            Some(8_128)
        );
        let scheme = "[[scheme]]\nname = \"hull\"\ntransport.dctcp.payload = \"5000B\"\n";
        assert_eq!(bucket("payload = \"4000B\"\n", scheme, &[]), Some(10_128));
        // A setting of another key leaves the payload of the scenario as it is.
        let kept = ["transport.dctcp.ack_every=2"];
        let scenario = "schemes = [\"hull\"]\ntransport.tcp.payload = \"4000B\"\n";
        assert_eq!(bucket(scenario, "", &kept), Some(8_128));
        check(scenario, "", &kept, &[("hull", "dctcp", 4000)]);
    }

    #[test]
    fn a_payload_that_applies_to_no_flow_is_refused() {
        refused(
            "payload = \"700B\"\ntransport.ndp.payload = \"1460B\"\n",
            "",
            &[],
            &["s.toml:1:1: `payload`, and every table under `transport` has its own"],
        );
        let workload = "payload = \"1460B\"\n";
        refused(
            "payload = \"700B\"\n",
            workload,
            &[],
            &["every table under `workload` has its own"],
        );
        refused("", workload, &["payload=700B"], &["--set:1:1: `payload`, and every table"]);
        refused("payload = \"1460\"\n", "", &[], &["s.toml:1:11"]);
    }

    #[test]
    fn a_transport_that_a_series_or_scheme_does_not_have_is_refused() {
        for (keys, tables, name) in [
            ("", SERIES, "a"),
            ("schemes = [\"dctcp\", \"homa\"]\ntransport.ndp = {}\n", "", "dctcp"),
        ] {
            let set = format!("`transport.ndp` of series `{name}`, whose transport is dctcp");
            refused(
                keys,
                tables,
                &["transport.ndp.payload=1460B"],
                &["--set:1:11", &set, "`payload`"],
            );
            refused(keys, tables, &["transport.ndp={}"], &["--set:1:11", &set]);
        }
        let swept = "sweep.transport.ndp.payload = [\"1460B\", \"9000B\"]\n";
        let schemes = "schemes = [\"dctcp\", \"homa\"]\ntransport.ndp = {}\n";
        refused(
            &format!("{schemes}{swept}"),
            "",
            &[],
            &["`transport.ndp` of series `dctcp`", "s.toml:3:17"],
        );
        refused(
            &format!("transport.tcp = {{}}\n{swept}"),
            "",
            &[],
            &["a scenario, whose transport is tcp"],
        );
        refused(
            "transport.tcp = {}\n",
            "",
            &["transport.ndp.ack_every=2"],
            &["`transport.ndp={}`"],
        );
        refused(
            "",
            SERIES,
            &["transport.dctcp.ack_every=2"],
            &["series `b`, whose transport is homa"],
        );
        // A whole table chooses the transport of series without one.
        check("transport.tcp = {}\n", "", &["transport.ndp={}"], &[("", "ndp", 9000)]);
        check(
            "transport.tcp = {}\n",
            "",
            &["transport.ndp={}", "transport.ndp.payload=700B"],
            &[("", "ndp", 700)],
        );
        check("", "", &["transport.tcp.payload=700B"], &[("", "tcp", 700)]);
    }

    #[test]
    fn a_payload_that_a_sweep_would_hide_is_refused() {
        let all = "sweep.payload = [\"700B\", \"1460B\"]\n";
        let own = "[[series]]\nname = \"a\"\ntransport.ndp.payload = \"700B\"\n";
        refused(all, own, &[], &["`transport.ndp.payload`, and `payload` is swept at s.toml:1:7"]);
        refused(all, "", &["transport.ndp.payload=700B"], &["--set:1:23", "`payload` is swept"]);
        let of_ndp = "transport.ndp = {}\nsweep.transport.ndp.payload = [\"700B\", \"1460B\"]\n";
        refused(
            of_ndp,
            "",
            &["payload=700B"],
            &["`payload`, and `transport.ndp.payload` is swept"],
        );
        refused(
            &format!("{of_ndp}{all}"),
            "",
            &[],
            &["`payload` and `transport.ndp.payload` are both swept"],
        );
    }
}
