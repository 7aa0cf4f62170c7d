//! Schemes as overlays: they replace the transport, the switches, the phantom queues and the pacers of a scenario.

use std::sync::Arc;

use super::rules::Overlay;
use super::schemes::{self, BuiltIn, Network};
use super::{payload, resolve};
use crate::keys::error::{Place, ScenarioError, Source, nearest};
use crate::keys::form::{Form, Language};
use crate::keys::quantity::{self, Quantity};
use crate::keys::read::read;
use crate::keys::tree::{self, Entry, Node, Table, Value};

/// Keys of scheme tables, and of the list of schemes to run.
pub(super) const TABLES: &str = "scheme";
pub(super) const CHOSEN: &str = "schemes";

/// Root keys that a scheme replaces.
const REPLACED: [&str; 2] = ["transport", "phantom_queue"];

fn is_replaced(table: &str, key: &str) -> bool {
    match table {
        "switch" => key != "latency",
        "host" => key == "pacer",
        _ => false,
    }
}

/// Refuses keys of a series that a scheme would replace.
pub(super) fn refuse_replaced(series: &Node) -> Result<(), ScenarioError> {
    for entry in series.table().map_or(&[][..], |table| &table.entries) {
        let keys = entry.node.table().map_or(&[][..], |table| &table.entries);
        let is_payload = |key: &Entry| {
            let of_transport = key.node.table().map_or(&[][..], |table| &table.entries);
            matches!(of_transport, [only] if only.key == "payload")
        };
        // A scheme takes over the payload.
        let lost = match &*entry.key {
            "transport" if keys.iter().all(is_payload) => None,
            key if REPLACED.contains(&key) => Some((key.to_owned(), &entry.key_place)),
            table => {
                let lost = keys.iter().find(|key| is_replaced(table, &key.key));
                lost.map(|key| (format!("{table}.{}", key.key), &key.key_place))
            }
        };
        if let Some((key, place)) = lost {
            return Err(ScenarioError::new(
                place,
                format!("`{key}` in a series that runs with schemes, which take its place"),
                "`schemes = []` in that series, or the key in a [[scheme]]",
            ));
        }
    }
    Ok(())
}

#[derive(Clone, Debug)]
pub(super) struct Scheme {
    pub(super) name: String,
    /// The built-in scheme that it begins from.
    like: Option<&'static str>,
    own: Option<Node>,
}

/// Takes the schemes out of a tree: the list in `schemes`, else all tables.
pub(super) fn take(tree: &mut Node) -> Result<Vec<Scheme>, ScenarioError> {
    let (tables, chosen) = (tree.take(TABLES), tree.take(CHOSEN));
    let made: Vec<Scheme> = match tables.as_ref().map(|entry| &entry.node.value) {
        Some(Value::List(nodes)) => nodes.iter().map(of_table).collect::<Result<_, _>>()?,
        // `scheme.hull.KEY` where no table has the name.
        Some(Value::Table(named)) => {
            let own = |entry: &Entry| of_name(&entry.key, &entry.key_place, entry.node.clone());
            named.entries.iter().map(own).collect::<Result<_, _>>()?
        }
        // The grammar refuses the others.
        Some(Value::Text(_) | Value::Integer(_) | Value::Boolean(_) | Value::Other(_)) | None => {
            Vec::new()
        }
    };
    for (place, scheme) in made.iter().enumerate() {
        if made[..place].iter().any(|other| other.name == scheme.name) {
            let whole = tables.as_ref().map_or(&tree.place, |entry| &entry.node.place);
            let own = scheme.own.as_ref().map_or(whole, |own| &own.place);
            return Err(twice(own, &scheme.name));
        }
    }
    let Some(names) = chosen.as_ref().and_then(|entry| entry.node.list()) else { return Ok(made) };
    let mut found: Vec<Scheme> = Vec::new();
    for node in names {
        let scheme = by_name(node, &made)?;
        if found.iter().any(|other| other.name == scheme.name) {
            return Err(twice(&node.place, &scheme.name));
        }
        found.push(scheme);
    }
    let named = tables.as_ref().and_then(|entry| entry.node.table());
    let is_unused = |entry: &&Entry| found.iter().all(|scheme| scheme.name != entry.key);
    if let Some(unused) = named.and_then(|named| named.entries.iter().find(is_unused)) {
        return Err(ScenarioError::new(
            &unused.key_place,
            format!("scheme `{}` is changed and does not run", unused.key),
            "its name in `schemes`",
        ));
    }
    Ok(found)
}

fn twice(place: &Place, name: &str) -> ScenarioError {
    ScenarioError::new(place, format!("scheme `{name}` twice"), "each scheme once")
}

fn by_name(node: &Node, made: &[Scheme]) -> Result<Scheme, ScenarioError> {
    let name = node.text().unwrap_or_default();
    if let Some(scheme) = made.iter().find(|scheme| scheme.name == name) {
        return Ok(scheme.clone());
    }
    if let Some(BuiltIn { name, .. }) = schemes::named(name) {
        return Ok(Scheme { name: (*name).to_owned(), like: Some(name), own: None });
    }
    let known = || made.iter().map(|scheme| &*scheme.name).chain(schemes::NAMES);
    let expected = format!("one of {}", known().collect::<Vec<_>>().join(", "));
    Err(ScenarioError::new(&node.place, format!("no scheme `{name}`"), expected)
        .nearest(nearest(name, known())))
}

fn of_table(node: &Node) -> Result<Scheme, ScenarioError> {
    let mut own = node.clone();
    let Some(name) = own.take("name") else {
        return Err(ScenarioError::new(
            &node.place,
            "missing key `name`",
            "`name`: the name of the scheme",
        ));
    };
    of_name(name.node.text().unwrap_or_default(), &name.node.place, own)
}

fn of_name(text: &str, place: &Place, mut own: Node) -> Result<Scheme, ScenarioError> {
    let asked = own.take("like");
    let like = asked.as_ref().and_then(|entry| entry.node.text()).unwrap_or(text);
    let like = schemes::named(like).map(|scheme| scheme.name);
    if like.is_none() && own.child("transport").is_none() {
        return Err(ScenarioError::new(
            place,
            format!("scheme `{text}` says no transport and is none of those that are built in"),
            format!("`transport`, or `like`: one of {}", schemes::NAMES.join(", ")),
        )
        .nearest(nearest(text, schemes::NAMES)));
    }
    Ok(Scheme { name: text.to_owned(), like, own: Some(own) })
}

/// Overlays a scheme on a tree of scenario and series. `later` are the layers above it; `whole`, which includes these,
/// determines its sizes.
pub(super) fn overlay(
    tree: &mut Node,
    (whole, later): (&Node, &Node),
    scheme: &Scheme,
    language: &Language,
) -> Result<(), ScenarioError> {
    let named = whole.child("workload").and_then(Node::list).unwrap_or(&[]);
    if let Some(node) = named.iter().find_map(|workload| workload.child("transport")) {
        return Err(ScenarioError::new(
            &node.place,
            format!("a workload that names its transport beside scheme `{}`", scheme.name),
            "workloads without `transport`: a scheme is the transport of all",
        ));
    }
    let below = payload::of(tree);
    let own = scheme.own.as_ref().and_then(payload::of);
    let mut over = keys(scheme, payload::of(later).or(own).or(below.clone()).as_ref(), whole)?;
    if let Some(payload) = below.filter(|_| tree.child(payload::KEY).is_none()) {
        set_payload(&mut over, payload, language);
    }
    // A scheme replaces everything that another scheme could set.
    for key in REPLACED {
        tree.take(key);
    }
    if let Value::Table(root) = &mut tree.value {
        for entry in &mut root.entries {
            let Value::Table(table) = &mut entry.node.value else { continue };
            table.entries.retain(|key| !is_replaced(&entry.key, &key.key));
        }
    }
    payload::overlay(tree, &over)
}

/// Gives the payload to a transport without one that takes it.
fn set_payload(over: &mut Node, payload: Entry, language: &Language) {
    let Value::Table(root) = &mut over.value else { return };
    let Some(transport) = root.entries.iter_mut().find(|entry| entry.key == "transport") else {
        return;
    };
    let Value::Table(transports) = &mut transport.node.value else { return };
    let [only] = &mut transports.entries[..] else { return };
    let known = language.transports.iter().find(|key| key.name == only.key);
    let takes = known.is_some_and(|key| match &key.form {
        Form::Table(grammar) => grammar.keys.iter().any(|key| key.name == payload.key),
        _ => false,
    });
    let Value::Table(keys) = &mut only.node.value else { return };
    if takes && keys.find(&payload.key).is_none() {
        keys.entries.push(payload);
    }
}

fn keys(scheme: &Scheme, payload: Option<&Entry>, whole: &Node) -> Result<Node, ScenarioError> {
    let mut over = match scheme.like.and_then(schemes::named) {
        None => {
            let place = scheme.own.as_ref().map_or(&whole.place, |own| &own.place);
            Node { value: Value::Table(Table::default()), place: place.clone() }
        }
        Some(like) => {
            let payload = payload.map_or(Ok(PAYLOAD), |entry| {
                read(&entry.node, quantity::bytes, Quantity::Bytes).map(|bytes| bytes.get())
            })?;
            let rate = resolve::host_rate(whole)?;
            let network = Network { rate, packet_bytes: payload.saturating_add(HEADER) };
            let name = format!("scheme {}", like.name);
            tree::parse(&Arc::new(Source::new(&name, &(like.keys)(network))))?
        }
    };
    if let Some(own) = &scheme.own {
        tree::overlay(&mut over, own, &Overlay)?;
    }
    Ok(over)
}

/// Default payload of transports, and their header.
const PAYLOAD: u64 = 9000;
const HEADER: u64 = 64;

#[cfg(test)]
mod tests {
    use crate::plan::{Plan, SharedMemory};
    use crate::scenario::{Scenario, ScenarioError};
    use crate::transports::Transports;
    use trimline_packet::{ByteCount, TimeDelta};
    use trimline_switch::model::{MarkAt, Unit};
    use trimline_switch::{Limit, Marker, ServiceModel};

    const BASE: &str = "topology.star.hosts = 4\ntransport.tcp.payload = \"1436B\"\n\
        switch = { profile = \"drop-tail\", shared_buffer = \"4MB\", latency = \"300ns\" }\n\
        host = { delay = \"2us\" }\n\
        workload = [{ name = \"w\", permutation = {}, size = \"9KB\" }]\n";

    fn parse(more: &str, settings: &[&str]) -> Result<Scenario, ScenarioError> {
        let settings: Vec<String> = settings.iter().map(|&text| text.to_owned()).collect();
        Scenario::parse("s.toml", &format!("{more}{BASE}"), &settings)
    }

    #[track_caller]
    fn plans(more: &str, settings: &[&str]) -> Vec<Plan> {
        let scenario = parse(more, settings).unwrap_or_else(|error| panic!("{error}"));
        scenario.runs.into_iter().map(|run| run.plan).collect()
    }

    #[track_caller]
    fn refused(more: &str, parts: &[&str]) {
        let error = parse(more, &[]).expect_err(more).to_string();
        for part in parts {
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    #[test]
    fn a_scheme_replaces_transport_switch_and_host() {
        let named = "schemes = [\"ndp\", \"hull\", \"dctcp\", \"tcp\", \"dcqcn\", \"phost\"]\n";
        let pacer = "host.pacer.flows = 3\nphantom_queue = [{ drain = \"50%\" }]\n";
        // A key that a scheme lacks does not remain from another scheme.
        let other = plans(&format!("transport.dctcp = {{}}\n{named}"), &[]);
        let base =
            BASE.replace("host = { delay = \"2us\" }\n", &format!("host.delay = \"2us\"\n{pacer}"));
        let base = base.replace("tcp.payload", "dctcp.payload");
        let scenario = Scenario::parse("s.toml", &format!("{named}{base}"), &[]);
        let plans: Vec<Plan> = scenario.unwrap().runs.into_iter().map(|run| run.plan).collect();
        let series: Vec<&str> = plans.iter().map(|plan| &*plan.series).collect();
        assert_eq!(series, ["ndp", "hull", "dctcp", "tcp", "dcqcn", "phost"]);
        for plan in &plans {
            let chosen = &plan.transports[0];
            let name = match &*plan.series {
                "hull" => "dctcp",
                name => name,
            };
            assert_eq!((chosen.name(), chosen.payload_bytes()), (name, 1436), "{}", plan.series);
            assert_eq!(plan.shared_memory, SharedMemory::None, "{}", plan.series);
            assert_eq!(plan.topology.processing.switch, [TimeDelta::from_ns(300); 3]);
            assert_eq!(plan.topology.processing.host_send.min, TimeDelta::from_us(2));
            let is_hull = plan.series == "hull";
            assert_eq!(plan.pacer.is_some(), is_hull);
            assert_eq!(plan.phantom_queues.len(), if is_hull { 4 } else { 0 });
            assert_eq!(plan.lossless.is_some(), plan.series == "dcqcn");
        }
        assert_eq!(plans[0].switch, ServiceModel::paper(8, 1436));
        let hull = plans[1].pacer.as_ref().expect("a pacer");
        assert_eq!(hull.settings.bucket, ByteCount::new(3_000));
        assert_eq!(hull.settings.flows, 64, "not what the scenario said");
        assert_eq!(plans[3].switch, ServiceModel::drop_tail(200));
        assert_eq!(other.len(), 6);
    }

    fn threshold(plan: &Plan) -> u32 {
        let at = |above| {
            let (unit, count_self, at) = (Unit::Bytes, false, MarkAt::Enqueue);
            let mut choices = trimline_switch::Choices::ecn(200, 1);
            if above == 390_000 {
                // At 40 Gb/s: as long in time as 200 packets of 1500 B at 10 Gb/s.
                let limit = Limit::bytes(1_200_000);
                (choices.queues[0].whole, choices.queues[0].header) = (limit, limit);
            }
            choices.queues[0].marker = Marker::Threshold { unit, above, count_self, at };
            choices.build().expect("a model")
        };
        let known = [30_000, 97_500, 390_000];
        known.into_iter().find(|&above| at(above) == plan.switch).expect("a threshold")
    }

    #[test]
    fn a_scheme_scales_to_the_rate_of_settings_and_sweep() {
        let named = "schemes = [\"dctcp\"]\n";
        assert_eq!(threshold(&plans(named, &[])[0]), 97_500);
        assert_eq!(threshold(&plans(named, &["links.rate=40Gbps"])[0]), 390_000);
        let swept = format!("{named}sweep.links.rate = [\"1Gbps\", \"40Gbps\"]\n");
        let swept = plans(&swept, &[]);
        assert_eq!(swept.iter().map(threshold).collect::<Vec<_>>(), [30_000, 390_000]);
        // Settings and sweep are above the scheme.
        let set = plans(named, &["switch.data_queue=9pkt"]);
        assert_eq!(set[0].switch.max_in_queue(0), Limit::packets(9));
        let swept = plans(&format!("{named}sweep.switch.data_queue = [\"7pkt\"]\n"), &[]);
        assert_eq!(swept[0].switch.max_in_queue(0), Limit::packets(7));
    }

    #[test]
    fn tables_define_or_change_schemes() {
        let text = "[[series]]\nname = \"a\"\nseeds = [3]\n[[series]]\nname = \"b\"\nschemes = [\"ndp\"]\n\
            [[series]]\nname = \"c\"\nscheme.small.switch.data_queue = \"4pkt\"\n\
            [[series]]\nname = \"d\"\nschemes = []\n\
            [[scheme]]\nname = \"small\"\nlike = \"tcp\"\nswitch.data_queue = \"9pkt\"\n\
            [[scheme]]\nname = \"mine\"\ntransport.tcp.payload = \"700B\"\nswitch.profile = \"qos\"\n";
        let scenario = Scenario::parse(
            "s.toml",
            &format!("{BASE}{text}"),
            &["schemes=[\"small\",\"mine\"]".to_owned()],
        );
        let all: Vec<String> =
            scenario.unwrap().runs.iter().map(|run| run.plan.series.clone()).collect();
        assert_eq!(all.len(), 8, "a setting holds in every series: {all:?}");
        let scenario = Scenario::parse("s.toml", &format!("{BASE}{text}"), &[]).unwrap();
        let found: Vec<(&str, &str)> =
            scenario.runs.iter().map(|run| (&*run.name, &*run.plan.series)).collect();
        assert_eq!(
            found,
            [
                ("a-small/seed-3", "a-small"),
                ("a-mine/seed-3", "a-mine"),
                ("b-ndp/seed-1", "b-ndp"),
                ("c-small/seed-1", "c-small"),
                ("c-mine/seed-1", "c-mine"),
                ("d/seed-1", "d")
            ]
        );
        // A series changes a built-in scheme that has no table.
        let changed = "schemes = [\"ndp\", \"tcp\"]\nseries = [{ name = \"a\", scheme.tcp.switch.data_queue = \"4pkt\" }]\n";
        let changed = plans(changed, &[]);
        assert_eq!(changed[1].switch, ServiceModel::drop_tail(4));
        let [small, mine, _, smaller, ..] = &scenario.runs[..] else { panic!("six runs") };
        assert_eq!(small.plan.switch, ServiceModel::drop_tail(9));
        assert_eq!(smaller.plan.switch, ServiceModel::drop_tail(4));
        assert_eq!(mine.plan.switch, ServiceModel::qos(200));
        assert_eq!(mine.plan.transports[0].payload_bytes(), 700);
        assert_eq!(small.plan.switch.max_in_queue(0), Limit::packets(9));
    }

    #[test]
    fn an_invalid_scheme_is_refused() {
        refused("schemes = [\"hul\"]\n", &["s.toml:1:12", "no scheme `hul`", "nearest: hull"]);
        refused("schemes = [\"ndp\", \"ndp\"]\n", &["scheme `ndp` twice"]);
        refused(
            "scheme = [{ name = \"x\" }]\n",
            &["scheme `x` says no transport", "`like`: one of ndp, hull"],
        );
        refused("scheme = [{ like = \"ndp\" }]\n", &["missing key `name`"]);
        let of_series = "schemes = [\"ndp\"]\nseries = [{ name = \"a\", scheme.npd.switch.data_queue = \"4pkt\" }]\n";
        refused(&of_series.replace("npd", "tcp"), &["s.toml:2:32", "is changed and does not run"]);
        refused(of_series, &["s.toml:2:32", "scheme `npd` says no transport", "nearest: ndp"]);
        refused("scheme = [{ name = \"x\", like = \"npd\" }]\n", &["nearest: \"ndp\""]);
        refused(
            "scheme = [{ name = \"ndp\", links.rate = \"1Gbps\" }]\n",
            &["unknown key `links`"],
        );
        refused(
            "scheme = [{ name = \"ndp\", switch.data_queu = \"9pkt\" }]\n",
            &["nearest: data_queue"],
        );
        let text = BASE.replace("permutation = {}", "permutation = {}, transport = \"tcp\"");
        let error = Scenario::parse("s.toml", &format!("schemes = [\"ndp\"]\n{text}"), &[]);
        assert!(error.unwrap_err().to_string().contains("names its transport beside scheme `ndp`"));
        let same = "schemes = [\"ndp\"]\nseries = [{ name = \"a\" }, { name = \"a-ndp\", schemes = [] }]\n";
        refused(same, &["two runs of series and scheme are named `a-ndp`"]);
    }

    #[test]
    fn a_series_key_that_a_scheme_would_replace_is_refused() {
        let series =
            |keys: &str| format!("schemes = [\"ndp\"]\nseries = [{{ name = \"a\", {keys} }}]\n");
        for (keys, lost) in [
            ("transport.dctcp = {}", "`transport` in a series that runs with schemes"),
            ("transport.tcp.ack_every = 2", "`transport` in a series"),
            ("switch.data_queue = \"9pkt\"", "`switch.data_queue` in a series"),
            ("host.pacer.flows = 3", "`host.pacer` in a series"),
            ("phantom_queue = [{ drain = \"50%\" }]", "`phantom_queue` in a series"),
        ] {
            refused(&series(keys), &["s.toml:2:", lost, "`schemes = []` in that series"]);
        }
        plans(&series("transport.dctcp = {}, schemes = []"), &[]);
        let kept =
            "transport.tcp.payload = \"1000B\", switch.latency = \"1us\", host.delay = \"3us\"";
        assert_eq!(plans(&series(kept), &[])[0].transports[0].payload_bytes(), 1000);
    }

    #[test]
    fn schemes_of_another_file_replace_those_of_the_scenario() {
        let known = Transports::built_in();
        let base = format!("{BASE}[[series]]\nname = \"own\"\n[[scheme]]\nname = \"tcp\"\n");
        let read = |text| Scenario::parse_schemes(("s.toml", &base), ("x.toml", text), &[], &known);
        let scenario =
            read("[[scheme]]\nname = \"ndp\"\n[[scheme]]\nname = \"b\"\nlike = \"tcp\"\n");
        let series: Vec<String> =
            scenario.unwrap().runs.into_iter().map(|run| run.plan.series).collect();
        assert_eq!(series, ["ndp", "b"]);
        let error = |text| read(text).expect_err(text).to_string();
        assert!(error("").contains("expected at least one [[scheme]]"), "{}", error(""));
        assert!(error("links.rate = \"1Gbps\"").contains("x.toml:1:1: unknown key `links`"));
        assert!(error("[[scheme]]\nname = \"q\"\n").starts_with("x.toml:2:8: scheme `q` says no"));
    }
}
