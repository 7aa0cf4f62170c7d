//! Sweeps: their keys and values, and conflicts with other layers.

use super::check::range;
use super::rules::Overlay;
use super::{overlay, payload};
use crate::keys::error::{Place, ScenarioError};
use crate::keys::tree::{self, Entry, Node, Rules, Table, Value};

/// Maximum runs of a scenario: more indicate a mistake in a range.
pub(super) const MAX_RUNS: usize = 1_000_000;

pub(super) struct Axis {
    pub(super) path: Vec<(String, Place)>,
    pub(super) values: Vec<Node>,
}

impl Axis {
    fn key(&self) -> String {
        self.path.iter().map(|(step, _)| step.as_str()).collect::<Vec<_>>().join(".")
    }

    fn is_payload(&self) -> bool {
        matches!(&self.path[..], [(only, _)] if only == payload::KEY)
    }

    fn is_payload_of_transport(&self) -> bool {
        let steps: Vec<&str> = self.path.iter().map(|(step, _)| &**step).collect();
        matches!(steps[..], ["transport", _, last] if last == payload::KEY)
    }

    /// Returns payloads of a layer that replace the swept one: transports' for the common one, and vice versa.
    fn other_payloads<'a>(&self, layer: &'a Node) -> Vec<(String, &'a Node)> {
        let all = layer.child(payload::KEY).filter(|_| self.is_payload_of_transport());
        let of_transports = layer.child("transport").and_then(Node::table);
        let of_transports = of_transports.filter(|_| self.is_payload());
        let entries = of_transports.map_or(&[][..], |table| &table.entries);
        let own = entries.iter().filter_map(|entry| {
            let key = format!("transport.{}.{}", entry.key, payload::KEY);
            Some((key, entry.node.child(payload::KEY)?))
        });
        all.map(|node| (payload::KEY.to_owned(), node)).into_iter().chain(own).collect()
    }

    fn is_at(&self, path: &[(String, Place)]) -> bool {
        self.path.iter().map(|(step, _)| step).eq(path.iter().map(|(step, _)| step))
    }
}

/// Returns the axes of a sweep over `tree`: its leaves, lists and ranges. A later axis replaces one with an equal key,
/// however written.
pub(super) fn axes(sweep: &Node, tree: &Node) -> Result<Vec<Axis>, ScenarioError> {
    let mut axes = Vec::new();
    collect(sweep, Some(tree), &mut Vec::new(), &mut axes)?;
    axes.iter().try_for_each(refuse_schemes)?;
    refuse_both_payloads(&axes)?;
    Ok(axes)
}

/// Refuses a sweep over both the common payload and a transport's: only one has an effect.
fn refuse_both_payloads(axes: &[Axis]) -> Result<(), ScenarioError> {
    let all = axes.iter().find(|axis| axis.is_payload());
    let of_one = axes.iter().find(|axis| axis.is_payload_of_transport());
    let (Some(all), Some(of_one)) = (all, of_one) else { return Ok(()) };
    let place = of_one.path.last().map(|(_, place)| place);
    Err(ScenarioError::new(
        place.unwrap_or(&all.path[0].1),
        format!("`{}` and `{}` are both swept", all.key(), of_one.key()),
        "one of the two",
    ))
}

/// Refuses a sweep over schemes, which are made before sweep points.
fn refuse_schemes(axis: &Axis) -> Result<(), ScenarioError> {
    match axis.path.first() {
        Some((first, place)) if [overlay::TABLES, overlay::CHOSEN].contains(&first.as_str()) => {
            Err(ScenarioError::new(
                place,
                format!("`{}`: schemes are not swept", axis.key()),
                "a key that they set, such as `sweep.switch.data_queue`, or several schemes",
            ))
        }
        Some(_) | None => Ok(()),
    }
}

fn collect(
    node: &Node,
    tree: Option<&Node>,
    path: &mut Vec<(String, Place)>,
    axes: &mut Vec<Axis>,
) -> Result<(), ScenarioError> {
    for entry in node.table().map_or(&[][..], |table| &table.entries) {
        let depth = path.len();
        let mut below = tree;
        for step in steps_of(&entry.key, tree) {
            below = below.and_then(|tree| element(tree, step));
            path.push((step.to_owned(), entry.key_place.clone()));
        }
        match &entry.node.value {
            Value::Table(table) if table.find("from").is_none() => {
                collect(&entry.node, below, path, axes)?;
            }
            _ => {
                let values = values(&entry.node)?;
                axes.retain(|axis| !axis.is_at(path));
                axes.push(Axis { path: path.clone(), values });
            }
        }
        path.truncate(depth);
    }
    Ok(())
}

/// Returns the node under a key, or under a name of a list of named tables.
fn element<'a>(tree: &'a Node, step: &str) -> Option<&'a Node> {
    match tree.list() {
        Some(nodes) => nodes.iter().find(|node| tree::name(node) == Some(step)),
        None => tree.child(step),
    }
}

/// Splits a key into steps. Names in the tree may contain dots.
fn steps_of<'a>(key: &'a str, mut tree: Option<&Node>) -> Vec<&'a str> {
    let mut steps = Vec::new();
    let mut rest = Some(key);
    while let Some(key) = rest {
        let named = tree.and_then(|tree| named_step(key, tree));
        let step = named.unwrap_or_else(|| key.split('.').next().unwrap_or(key));
        steps.push(step);
        rest = key[step.len()..].strip_prefix('.');
        tree = tree.and_then(|tree| element(tree, step));
    }
    steps
}

/// Returns the longest name of a list with which a key begins.
fn named_step<'a>(key: &'a str, tree: &Node) -> Option<&'a str> {
    let names = tree.list()?.iter().filter_map(tree::name);
    let begins = |name: &&str| {
        key.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    names.filter(begins).map(str::len).max().map(|length| &key[..length])
}

fn values(node: &Node) -> Result<Vec<Node>, ScenarioError> {
    let values = match &node.value {
        Value::Table(table) => steps(node, table)?,
        Value::List(nodes) => nodes.clone(),
        Value::Text(text) => match range(text) {
            Some((first, last)) if last - first < MAX_RUNS as u64 => {
                (first..=last).map(|n| integer(n as i64, &node.place)).collect()
            }
            _ => return Err(not_values(node)),
        },
        Value::Integer(_) | Value::Boolean(_) | Value::Other(_) => return Err(not_values(node)),
    };
    if let Some(value) = values.iter().find(|node| label(node).is_empty()) {
        return Err(not_values(value));
    }
    let mut labels: Vec<String> = values.iter().map(|node| file_name(&label(node))).collect();
    labels.sort_unstable();
    if values.is_empty() || labels.windows(2).any(|pair| pair[0] == pair[1]) {
        let problem = if values.is_empty() { "no values" } else { "a value is given twice" };
        return Err(ScenarioError::new(&node.place, problem, "at least one value, each once"));
    }
    Ok(values)
}

/// Refuses a value in `layers`, lowest first, that the sweep would replace. A layer that sweeps the key itself precedes
/// the layers below it.
pub(super) fn refuse_overridden(
    axis: &Axis,
    layers: &[&Node],
    tree: &Node,
) -> Result<(), ScenarioError> {
    let sweeps = |layer: &&Node| layer.child("sweep").is_some_and(|it| is_swept(it, tree, axis));
    let above = layers.iter().rposition(sweeps).map_or(0, |place| place + 1);
    match layers[above..].iter().find_map(|layer| conflict(layer, tree, axis)) {
        None => Ok(()),
        Some(conflict) => Err(conflict.error(axis)),
    }
}

fn is_swept(sweep: &Node, tree: &Node, axis: &Axis) -> bool {
    fn at(node: &Node, tree: Option<&Node>, rest: &[(String, Place)]) -> bool {
        if rest.is_empty() {
            return true;
        }
        node.table().is_some_and(|table| {
            table.entries.iter().any(|entry| {
                let steps = steps_of(&entry.key, tree);
                let goes_there = rest.len() >= steps.len()
                    && rest.iter().zip(&steps).all(|((there, _), step)| there == step);
                let below = || steps.iter().try_fold(tree?, |tree, step| element(tree, step));
                goes_there && at(&entry.node, below(), &rest[steps.len()..])
            })
        })
    }
    at(sweep, Some(tree), &axis.path)
}

struct Conflict {
    key: String,
    place: Place,
    /// True if it replaces the swept key.
    is_alternative: bool,
}

impl Conflict {
    fn error(&self, axis: &Axis) -> ScenarioError {
        let (key, swept) = (&self.key, axis.key());
        let place = axis.path.last().map_or(&self.place, |(_, place)| place);
        let (line, column) = place.source.position(place.start);
        let at = format!("{}:{line}:{column}", place.source.name);
        let (problem, expected) = if self.is_alternative {
            let problem = format!("`{key}` in place of `{swept}`, which is swept at {at}");
            (problem, "what is swept, or a scenario without this sweep".to_owned())
        } else {
            let problem = match *key == swept {
                true => format!("`{key}` is swept at {at}: this value would not be in force"),
                false => format!("`{key}`, and `{swept}` is swept at {at}"),
            };
            (problem, format!("`sweep.{swept}`, or no such setting"))
        };
        ScenarioError::new(&self.place, problem, expected)
    }
}

/// Returns the key of a layer that a sweep point would replace.
fn conflict(layer: &Node, tree: &Node, axis: &Axis) -> Option<Conflict> {
    if let Some((key, node)) = axis.other_payloads(layer).pop() {
        return Some(Conflict { key, place: node.place.clone(), is_alternative: false });
    }
    let (mut node, mut tree) = (layer, Some(tree));
    // Names of list elements are part of a key, but not of a path of the grammar.
    let (mut key, mut path) = (String::new(), String::new());
    for (place, (step, _)) in axis.path.iter().enumerate() {
        let is_last = place + 1 == axis.path.len();
        tree = tree.and_then(|tree| element(tree, step));
        if let Some(table) = node.table() {
            let is_alternative = |key: &str| Overlay.is_alternative(&tree::join(&path, key));
            // An alternative that is already present is changed, and the keys beside it stay.
            let others = tree.is_none() && is_alternative(step);
            let other = |entry: &&Entry| others && is_alternative(&entry.key);
            if let Some(other) = table.entries.iter().find(other) {
                let (key, place) = (tree::join(&key, &other.key), other.key_place.clone());
                return Some(Conflict { key, place, is_alternative: true });
            }
            path = tree::join(&path, step);
        }
        node = element(node, step)?;
        key = tree::join(&key, step);
        if is_value(node, is_last) {
            return Some(Conflict { key, place: node.place.clone(), is_alternative: false });
        }
    }
    None
}

/// Returns whether a swept node, or one above it, is a value.
fn is_value(node: &Node, is_swept: bool) -> bool {
    match &node.value {
        Value::Table(table) => is_swept && !table.entries.is_empty(),
        Value::List(nodes) => is_swept || nodes.iter().all(|node| node.table().is_none()),
        Value::Text(_) | Value::Integer(_) | Value::Boolean(_) | Value::Other(_) => true,
    }
}

fn not_values(node: &Node) -> ScenarioError {
    ScenarioError::new(
        &node.place,
        format!("{} cannot be swept over", node.type_name()),
        "a list of strings, integers or booleans, \"1..5\", or { from, to, step }",
    )
}

fn integer(number: i64, place: &Place) -> Node {
    Node { value: Value::Integer(number), place: place.clone() }
}

fn steps(node: &Node, table: &Table) -> Result<Vec<Node>, ScenarioError> {
    let number = |key: &str| table.find(key).and_then(|entry| entry.node.integer());
    let known = |key: &str| matches!(key, "from" | "to" | "step");
    let (from, to) = (number("from"), number("to"));
    let step = if table.find("step").is_some() { number("step") } else { Some(1) };
    match (from, to, step) {
        (Some(from), Some(to), Some(step))
            if from <= to
                && step > 0
                && to.checked_sub(from).is_some_and(|span| span / step < MAX_RUNS as i64)
                && table.entries.iter().all(|entry| known(&entry.key)) =>
        {
            let count = (to - from) / step;
            Ok((0..=count).map(|n| integer(from + n * step, &node.place)).collect())
        }
        _ => Err(ScenarioError::new(
            &node.place,
            "no range",
            "{ from = 1, to = 431, step = 10 }: integers, from <= to, step >= 1",
        )),
    }
}

/// Returns the last step of the path if unique among the axes, else the path.
pub(super) fn axis_name(axis: &Axis, axes: &[Axis]) -> String {
    let last = |axis: &Axis| {
        let mut steps = axis.path.iter().rev().map(|(step, _)| step.clone());
        // A table with one number is named by the table.
        steps.find(|step| step != "value").unwrap_or_default()
    };
    let name = last(axis);
    if axes.iter().filter(|other| last(other) == name).count() == 1 {
        return name;
    }
    axis.key()
}

/// Returns a sweep value for names of runs; empty if it cannot be swept.
pub(super) fn label(node: &Node) -> String {
    match &node.value {
        Value::Text(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Boolean(truth) => truth.to_string(),
        _ => String::new(),
    }
}

/// Makes a sweep value part of a path: `-` replaces characters that shells or file systems interpret. `20%` stays.
pub(super) fn file_name(label: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.,%+@=".contains(c);
    label.chars().map(|c| if fits(c) { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use crate::scenario::Scenario;

    const WORKLOAD: &str = "[[workload]]\nname = \"w\"\npermutation = {}\nsize = \"1KB\"\n";

    fn names(text: &str, settings: &[&str]) -> Result<Vec<String>, String> {
        let settings: Vec<String> = settings.iter().map(|&text| text.to_owned()).collect();
        let scenario = Scenario::parse("s.toml", text, &settings).map_err(|e| e.to_string())?;
        Ok(scenario.runs.into_iter().map(|run| run.name).collect())
    }

    fn swept(sweep: &str, series: &str, settings: &[&str]) -> Result<Vec<String>, String> {
        let series = format!("[[series]]\nname = \"a\"\n{series}");
        let text = format!("topology.star.hosts = 4\n[sweep]\n{sweep}\n{WORKLOAD}{series}");
        names(&text, settings)
    }

    const SIZES: &str = "workload.w.size = [\"9KB\", \"90KB\"]";

    #[test]
    fn a_value_that_a_sweep_would_hide_is_refused() {
        assert_eq!(
            swept(SIZES, "workload.w.size = \"1MB\"", &[]).unwrap_err(),
            "s.toml:10:19: `workload.w.size` is swept at s.toml:3:12: this value would not be in force \
             (at `\"1MB\"`); expected `sweep.workload.w.size`, or no such setting"
        );
        let refused =
            |sweep, series, settings: &[&str]| swept(sweep, series, settings).unwrap_err();
        let set = refused(SIZES, "", &["workload.w.size=5KB"]);
        assert!(set.starts_with("--set:1:17: `workload.w.size` is swept at s.toml:3:12"), "{set}");
        let named = "[[series.workload]]\nname = \"w\"\nsize = \"1MB\"";
        assert!(refused(SIZES, named, &[]).contains("`workload.w.size` is swept"));
        // Below and above the swept key.
        let below = refused(SIZES, "workload.w.size.distribution = \"web-search\"", &[]);
        assert!(below.contains("`workload.w.size` is swept at"), "{below}");
        let packet = "workload.w.size.packet = [\"1000B\", \"1460B\"]";
        let above = refused(packet, "workload.w.size = \"1MB\"", &[]);
        assert!(
            above.contains("`workload.w.size`, and `workload.w.size.packet` is swept"),
            "{above}"
        );
    }

    #[test]
    fn an_alternative_that_a_sweep_would_replace_is_refused() {
        let hosts = "topology.star.hosts = [4, 8]";
        let message =
            "`topology.fattree` in place of `topology.star.hosts`, which is swept at s.toml:3:15";
        for refused in [
            swept(hosts, "topology.fattree.k = 4", &[]).unwrap_err(),
            swept(hosts, "", &["topology.fattree.k=4"]).unwrap_err(),
        ] {
            assert!(refused.contains(message), "{refused}");
        }
        let refused = swept(hosts, "", &["topology.file=x.topo"]).unwrap_err();
        assert!(refused.contains("`topology.file` in place of `topology.star.hosts`"), "{refused}");
        let window = "transport.ndp.initial_window = [10, 20]";
        let refused = swept(window, "transport.tcp = {}", &[]).unwrap_err();
        assert!(refused.contains("`transport.tcp` in place of"), "{refused}");
    }

    #[test]
    fn a_sweep_overrides_equal_and_shorter_keys() {
        let of =
            |names: Result<Vec<String>, String>| names.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(of(swept(SIZES, "links.rate = \"1Gbps\"", &["workload.w.class=3"])).len(), 2);
        let own = "workload.w.size = \"1MB\"\nsweep.workload.w.size = [\"2KB\"]";
        assert_eq!(of(swept(SIZES, own, &[])), ["a/size=2KB/seed-1"]);
        let set = ["workload.w.size=1MB", "sweep.\"workload.w.size\"=[\"3KB\"]"];
        assert_eq!(of(swept(SIZES, "", &set)), ["a/size=3KB/seed-1"]);
        let ports = "topology.star.hosts = [4, 8]";
        assert_eq!(of(swept(ports, "transport.ndp = {}", &[])).len(), 2);
    }

    #[test]
    fn schemes_are_not_swept() {
        let scheme = "[[scheme]]\nname = \"x\"\nlike = \"tcp\"\n";
        for (key, values) in [
            ("scheme.x.switch.data_queue", "[\"4pkt\", \"9pkt\"]"),
            ("schemes", "[\"ndp\", \"x\"]"),
        ] {
            let text =
                format!("topology.star.hosts = 4\nsweep.{key} = {values}\n{WORKLOAD}{scheme}");
            let refused = names(&text, &[]).unwrap_err();
            assert!(
                refused.starts_with(&format!("s.toml:2:7: `{key}`: schemes are not")),
                "{refused}"
            );
        }
    }

    #[test]
    fn names_with_dots_are_swept_and_set() {
        let workload = WORKLOAD.replace("\"w\"", "\"a.b\"") + &WORKLOAD.replace("\"w\"", "\"a\"");
        for key in ["workload.\"a.b\".size", "\"workload.a.b.size\"", "workload.\"a.b.size\""] {
            let text = format!(
                "topology.star.hosts = 4\n[sweep]\n{key} = [\"9KB\", \"90KB\"]\n{workload}"
            );
            let found = names(&text, &["workload.\"a.b\".class=2", "workload.'a.b'.start=3us"]);
            assert_eq!(found.unwrap(), ["size=9KB/seed-1", "size=90KB/seed-1"], "{key}");
            let refused = names(&text, &["workload.\"a.b\".size=5KB"]).unwrap_err();
            assert!(refused.contains("`workload.a.b.size` is swept"), "{refused}");
        }
    }
}
