//! Expands a file into its runs: series, times schemes, times sweep, times seeds.

use std::sync::Arc;

use super::check::{Extent, range};
use super::grammar::{SCENARIO, SCHEMES_FILE};
use super::overlay::{self, Scheme};
use super::payload;
use super::resolve::resolve;
use super::rules::Overlay;
use super::sweep::{self, MAX_RUNS, axis_name, file_name, label, refuse_overridden};
use super::warnings::warnings;
use super::{Run, Scenario};
use crate::keys::error::{Place, ScenarioError, Source};
use crate::keys::form::Language;
use crate::keys::tree::{self, Entry, Node, Table, Value};
use crate::transports::Transports;

#[derive(Clone, Copy)]
struct Known<'a> {
    transports: &'a Transports,
    language: &'a Language,
}

pub(super) fn expand(
    (file, text): (&str, &str),
    schemes: Option<(&str, &str)>,
    settings: &[String],
    transports: &Transports,
) -> Result<Scenario, ScenarioError> {
    let source = Arc::new(Source::new(file, text));
    let mut base = tree::parse(&source)?;
    let language = &transports.language();
    let known = Known { transports, language };
    // A mistake in the base is an error even if every series hides it.
    SCENARIO.check(&base, Extent::Part, language)?;
    if let Some((name, text)) = schemes {
        let over = tree::parse(&Arc::new(Source::new(name, text)))?;
        SCHEMES_FILE.check(&over, Extent::Whole, language)?;
        if over.table().is_none_or(|table| table.entries.is_empty()) {
            return Err(ScenarioError::new(&over.place, "no scheme", "at least one [[scheme]]"));
        }
        for key in ["series", overlay::TABLES, overlay::CHOSEN] {
            base.take(key);
        }
        tree::overlay(&mut base, &over, &Overlay)?;
    }
    let written = base.child("series").and_then(Node::list).unwrap_or(&[]);
    written.iter().chain([&base]).try_for_each(unmistakable)?;
    let settings = settings.iter().map(|text| setting(text)).collect::<Result<Vec<_>, _>>()?;
    for setting in &settings {
        SCENARIO.check(setting, Extent::Part, language)?;
        unmistakable(setting)?;
    }

    let series = base.take("series");
    let mut variants: Vec<(String, Node, Option<Node>)> = Vec::new();
    for node in series.as_ref().and_then(|entry| entry.node.list()).unwrap_or(&[]) {
        let mut over = node.clone();
        let Some(name) = over.take("name") else {
            // Checked in part, so that errors in its keys are reported before missing keys.
            return Err(ScenarioError::new(
                &node.place,
                "missing key `name`",
                "`name`: the name of the series",
            ));
        };
        let text = name.node.text().unwrap_or_default().to_owned();
        if variants.iter().any(|(other, ..)| *other == text) {
            return Err(ScenarioError::new(
                &name.node.place,
                format!("a second series named `{text}`"),
                "a name of its own for every series",
            ));
        }
        let mut variant = base.clone();
        payload::overlay(&mut variant, &over)?;
        variants.push((text, variant, Some(over)));
    }
    if variants.is_empty() {
        variants.push((String::new(), base, None));
    }

    let mut scenario = Scenario {
        name: String::new(),
        description: String::new(),
        text: text.to_owned(),
        runs: Vec::new(),
    };
    let mut names: Vec<String> = Vec::new();
    for (series, variant, own) in variants {
        let mut overlaid = variant.clone();
        for setting in &settings {
            payload::overlay(&mut overlaid, setting)?;
        }
        let described =
            |key| overlaid.child(key).and_then(Node::text).unwrap_or_default().to_owned();
        scenario.name = described("name");
        scenario.description = described("description");
        let schemes = overlay::take(&mut overlaid)?;
        if let Some(own) = own.as_ref().filter(|_| !schemes.is_empty()) {
            overlay::refuse_replaced(own)?;
        }
        let alone = schemes.is_empty().then_some(None);
        for scheme in schemes.iter().map(Some).chain(alone) {
            let parts = [&*series, scheme.map_or("", |scheme| &scheme.name)];
            let name = parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>();
            let name = name.join("-");
            if names.contains(&name) {
                return Err(ScenarioError::new(
                    &variant.place,
                    format!("two runs of series and scheme are named `{name}`"),
                    "names of series and schemes that make one name each",
                ));
            }
            let basis =
                Basis { variant: &variant, series: own.as_ref(), settings: &settings, scheme };
            runs_of(&name, overlaid.clone(), basis, known, &mut scenario.runs)?;
            names.push(name);
        }
    }
    Ok(scenario)
}

#[derive(Clone, Copy)]
struct Basis<'a> {
    variant: &'a Node,
    series: Option<&'a Node>,
    settings: &'a [Node],
    scheme: Option<&'a Scheme>,
}

impl Basis<'_> {
    /// Returns the overlays of the base, lowest first.
    fn layers(&self) -> Vec<&Node> {
        self.series.into_iter().chain(self.settings).collect()
    }

    /// Returns the tree of a sweep point, with all layers. `whole` is the tree without the scheme; `name` names series
    /// and scheme.
    fn tree(
        self,
        name: &str,
        whole: &Node,
        point: &[Node],
        language: &Language,
    ) -> Result<Node, ScenarioError> {
        let mut tree = self.variant.clone();
        if let Some(scheme) = self.scheme {
            let mut later =
                Node { value: Value::Table(Table::default()), place: whole.place.clone() };
            for over in self.settings.iter().chain(point) {
                payload::overlay(&mut later, over)?;
            }
            overlay::overlay(&mut tree, (whole, &later), scheme, language)?;
        }
        let own = self.series.filter(|series| series.child("transport").is_some());
        let is_named = self.scheme.is_some() || own.is_some();
        for setting in self.settings {
            if is_named || !chooses_transport(setting) {
                refuse_other_transport(name, &tree, setting, is_named)?;
            }
            payload::overlay(&mut tree, setting)?;
        }
        for over in point {
            refuse_other_transport(name, &tree, over, is_named)?;
            payload::overlay(&mut tree, over)?;
        }
        for key in ["sweep", overlay::TABLES, overlay::CHOSEN] {
            tree.take(key);
        }
        Ok(tree)
    }
}

/// Returns whether a setting is a whole table of transports, and not a key in one.
fn chooses_transport(setting: &Node) -> bool {
    let key = setting.place.source.text.split('=').next().unwrap_or_default();
    steps(key).count() <= 2
}

/// Refuses a layer with a key of a transport that the series or scheme below lacks: the run's name would hide the
/// change.
fn refuse_other_transport(
    name: &str,
    tree: &Node,
    layer: &Node,
    is_named: bool,
) -> Result<(), ScenarioError> {
    let entries = |tree: &Node| -> Vec<Entry> {
        let table = tree.child("transport").and_then(Node::table);
        table.map_or_else(Vec::new, |table| table.entries.clone())
    };
    let known: Vec<String> = entries(tree).into_iter().map(|entry| entry.key).collect();
    let other = entries(layer).into_iter().find(|entry| !known.contains(&entry.key));
    let Some(other) = other.filter(|_| !known.is_empty()) else { return Ok(()) };
    let of = if name.is_empty() { "a scenario".to_owned() } else { format!("series `{name}`") };
    let (key, known) = (&other.key, known.join(", "));
    let mut expected = format!("keys of transport.{known}");
    if other.node.child(payload::KEY).is_some() {
        expected += &format!(", or `{}`, which is a key for all transports", payload::KEY);
    }
    if !is_named {
        expected += &format!(", or `transport.{key}={{}}` before it, which chooses that transport");
    }
    let problem = format!("`transport.{key}` of {of}, whose transport is {known}");
    Err(ScenarioError::new(&other.key_place, problem, expected))
}

/// Returns every run of one series, whose tree is `variant`, with at most one scheme.
fn runs_of(
    series: &str,
    mut variant: Node,
    basis: Basis<'_>,
    known: Known<'_>,
    runs: &mut Vec<Run>,
) -> Result<(), ScenarioError> {
    let sweep = variant.take("sweep");
    let axes = match &sweep {
        Some(entry) => sweep::axes(&entry.node, &variant)?,
        None => Vec::new(),
    };
    axes.iter().try_for_each(|axis| refuse_overridden(axis, &basis.layers(), &variant))?;
    let points = axes.iter().try_fold(1usize, |n, axis| n.checked_mul(axis.values.len()));
    if points.is_none_or(|points| points > MAX_RUNS) {
        let place = sweep.as_ref().map_or(&variant.place, |entry| &entry.key_place);
        return Err(ScenarioError::new(
            place,
            "the sweep has too many runs",
            format!("at most {MAX_RUNS}"),
        ));
    }
    for index in 0..points.unwrap_or(1) {
        let mut tree = variant.clone();
        let mut point = Vec::new();
        // The last axis varies fastest.
        let mut rest = index;
        let mut chosen = vec![0; axes.len()];
        for (slot, axis) in chosen.iter_mut().zip(&axes).rev() {
            *slot = rest % axis.values.len();
            rest /= axis.values.len();
        }
        let mut overlaid = Vec::new();
        for (slot, axis) in chosen.iter().zip(&axes) {
            let value = &axis.values[*slot];
            let branch = tree::branch(&axis.path, value.clone());
            payload::overlay(&mut tree, &branch)?;
            overlaid.push(branch);
            point.push((axis_name(axis, &axes), label(value)));
        }
        let mut tree = basis.tree(series, &tree, &overlaid, known.language)?;
        payload::set_payloads(&mut tree, known.transports.default().name(), known.language)?;
        SCENARIO.check(&tree, Extent::Whole, known.language)?;
        let (plan, output) = resolve(&tree, known.transports)?;
        let warnings = warnings(&plan);
        let seeds = seeds(&tree)?;
        if runs.len() + seeds.len() > MAX_RUNS {
            return Err(ScenarioError::new(
                tree.child("seeds").map_or(&tree.place, |node| &node.place),
                "the scenario has too many runs",
                format!("at most {MAX_RUNS}"),
            ));
        }
        for seed in seeds {
            let mut plan = plan.clone();
            plan.series = series.to_owned();
            plan.seed = seed;
            let at = point.iter().map(|(k, v)| format!("{k}={}", file_name(v)));
            let at = at.collect::<Vec<_>>().join(",");
            let seed = format!("seed-{seed}");
            let parts = [series, &at, &seed];
            let name: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            let (name, point, warnings) = (name.join("/"), point.clone(), warnings.clone());
            runs.push(Run { name, point, plan, output, warnings });
        }
    }
    Ok(())
}

/// Refuses a bare number of seeds above 1: it could be a seed or a count.
fn unmistakable(written: &Node) -> Result<(), ScenarioError> {
    match written.child("seeds").map(|node| (node, node.integer())) {
        None | Some((_, None | Some(1))) => Ok(()),
        Some((node, Some(number))) => Err(ScenarioError::new(
            &node.place,
            format!("{number} may be one seed or {number} seeds"),
            format!("[{number}] for the seed {number}, or \"1..{}\"", number.max(2)),
        )),
    }
}

fn seeds(tree: &Node) -> Result<Vec<u64>, ScenarioError> {
    let Some(node) = tree.child("seeds") else { return Ok(vec![1]) };
    let seeds: Vec<u64> = match &node.value {
        Value::Text(text) => {
            let (first, last) = range(text).unwrap_or((1, 1));
            if last - first >= MAX_RUNS as u64 {
                return Err(ScenarioError::new(
                    &node.place,
                    format!("{} seeds", last - first + 1),
                    format!("at most {MAX_RUNS}"),
                ));
            }
            (first..=last).collect()
        }
        Value::List(nodes) => {
            nodes.iter().filter_map(Node::integer).map(|seed| seed as u64).collect()
        }
        _ => node.integer().map(|seed| seed as u64).into_iter().collect(),
    };
    let mut sorted = seeds.clone();
    sorted.sort_unstable();
    if seeds.is_empty() || sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        let problem = if seeds.is_empty() { "no seeds" } else { "a seed is given twice" };
        return Err(ScenarioError::new(&node.place, problem, "at least one seed, each once"));
    }
    Ok(seeds)
}

/// Parses `--set key=value` as a tree. A value that is not TOML is a string: `links.rate=40Gbps`.
fn setting(text: &str) -> Result<Node, ScenarioError> {
    let source = Arc::new(Source::new("--set", text));
    let place = |start, end| Place { source: source.clone(), start, end };
    let parsed = match (tree::parse(&source), text.split_once('=')) {
        (Ok(node), _) => node,
        (Err(_), Some((key, value))) if !key.trim().is_empty() => {
            let path: Vec<(String, Place)> = steps(key)
                .map(|(start, step)| (bare(step).to_owned(), place(start, start + step.len())))
                .collect();
            let value_place = place(key.len() + 1, text.len());
            tree::branch(
                &path,
                Node { value: Value::Text(value.trim().to_owned()), place: value_place },
            )
        }
        (Err(_), _) => {
            return Err(ScenarioError::new(
                &place(0, text.len()),
                "no setting",
                "KEY=VALUE with a dotted key of the scenario",
            ));
        }
    };
    match parsed.table().and_then(|table| table.find("series")) {
        None => Ok(parsed),
        Some(entry) => Err(ScenarioError::new(
            &entry.key_place,
            "series cannot be set",
            "a key of the scenario: it then holds in every series",
        )),
    }
}

/// Splits a dotted key into steps with their offsets. A quoted dot is part of its step.
fn steps(key: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut quote = None;
    let is_dot = move |c: char| {
        match quote {
            None if c == '"' || c == '\'' => quote = Some(c),
            Some(open) if c == open => quote = None,
            None | Some(_) => {}
        }
        c == '.' && quote.is_none()
    };
    let mut start = 0;
    key.split(is_dot).map(move |step| {
        let at = start;
        start += step.len() + 1;
        (at, step)
    })
}

fn bare(step: &str) -> &str {
    let step = step.trim();
    let quoted = |quote| step.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    quoted('"').or_else(|| quoted('\'')).unwrap_or(step)
}
