//! htsim's connection matrices, `.cm`: flows with a start or a trigger, triggers, and failed links.
//!
//! Files are read as htsim reads them: `#` comments, counts in the head that must match, words of a line in any order.
//! Trimline differs in two points. It rounds a decimal start to a whole number of picoseconds, where htsim rounds it to
//! a 32-bit float. And a trigger that starts flows of another host acts there one way through the network later, where
//! htsim's acts at once.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use trimline_packet::{ByteCount, TimeDelta};

use super::{FormatError, Text, scientific};

/// A connection matrix, read and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionMatrix {
    /// Number of hosts.
    pub nodes: u32,
    /// Flows, in the order of the file.
    pub connections: Vec<Connection>,
    /// Triggers, by their number in the file.
    pub triggers: BTreeMap<u32, TriggerLine>,
    /// Links that are missing.
    pub failures: Vec<Failure>,
}

/// The priority that htsim gives a flow without one: behind all others.
pub const PRIORITY: u64 = 2_000_000;

/// A flow of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Line of the file.
    pub line: usize,
    /// Source host.
    pub source: u32,
    /// Destination host.
    pub destination: u32,
    /// Number of the flow in the file, if given.
    pub id: Option<NonZeroU32>,
    /// Start of the flow.
    pub start: Start,
    /// Payload bytes; `None` (`size 0`): the flow sends until the end of the run.
    pub size: Option<ByteCount>,
    /// Trigger that is activated when the sender has every ACK.
    pub send_done_trigger: Option<u32>,
    /// Trigger that is activated when the receiver has every byte.
    pub recv_done_trigger: Option<u32>,
    /// Priority: the receiver pulls flows with a lower number first.
    pub priority: Option<u64>,
}

/// Start of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The time of the start.
    At(TimeDelta),
    /// The trigger that starts the flow.
    Trigger(u32),
}

/// A trigger of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerLine {
    /// Line of the file.
    pub line: usize,
    /// Condition that starts the waiting flows.
    pub trigger: Trigger,
}

/// Condition under which a trigger starts the flows that wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Starts all flows at the last of this number of activations: a "barrier". A "oneshot" has one.
    After(u32),
    /// Starts the next flow at each activation: a "multishot".
    OneByOne,
}

/// A missing link between an aggregation switch and a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Line of the file.
    pub line: usize,
    /// Aggregation switch, counted over all pods.
    pub switch: u32,
    /// Up-link of the switch.
    pub link: u32,
}

const CONNECTION: &str = "`SRC->DST [id I] start PS|trigger T size BYTES [send_done_trigger T] [recv_done_trigger T] [prio P]`";
const TRIGGER: &str = "`trigger id T oneshot|multishot|barrier [count N]`";
const FAILURE: &str = "`failure switch_type AGG switch_id S link_id L`";
const HEAD: &str = "`Nodes N`, `Connections C`, `Triggers T` or `Failures F`, then connections";

#[derive(Default)]
struct Counts {
    nodes: Option<u32>,
    connections: Option<u32>,
    triggers: Option<u32>,
    failures: Option<u32>,
}

/// Reads a connection matrix.
///
/// # Errors
/// Returns the first error.
pub fn parse(file: &str, text: &str) -> Result<ConnectionMatrix, FormatError> {
    let text = Text { file, text };
    let mut counts = Counts::default();
    let mut matrix = ConnectionMatrix {
        nodes: 0,
        connections: Vec::new(),
        triggers: BTreeMap::new(),
        failures: Vec::new(),
    };
    for (line, words) in text.lines() {
        let rest = &words[1..];
        match words[0] {
            "trigger" => {
                let (id, trigger) = self::trigger(&text, line, rest)?;
                if matrix.triggers.insert(id, trigger).is_some() {
                    return Err(text.error(line, format!("a second trigger {id}"), TRIGGER));
                }
            }
            "failure" => matrix.failures.push(failure(&text, line, rest)?),
            name @ ("Nodes" | "Connections" | "Triggers" | "Failures") => {
                let [count] = rest else {
                    return Err(text.error(line, format!("`{}`", words.join(" ")), HEAD));
                };
                let Ok(count) = count.parse::<u32>() else {
                    return Err(text.error(line, format!("`{count}` is no number"), HEAD));
                };
                let said = match name {
                    "Nodes" => &mut counts.nodes,
                    "Connections" => &mut counts.connections,
                    "Triggers" => &mut counts.triggers,
                    _ => &mut counts.failures,
                };
                // Hosts are checked against the first `Nodes`.
                if said.replace(count).is_some() {
                    return Err(text.error(line, format!("`{name}` stands twice"), HEAD));
                }
            }
            pair if pair.contains("->") => {
                matrix.connections.push(connection(&text, line, pair, rest, counts.nodes)?);
            }
            other => {
                return Err(text.error(line, format!("unknown word `{other}`"), HEAD));
            }
        }
    }
    matrix.nodes = match counts.nodes {
        Some(nodes @ 2..) => nodes,
        Some(nodes) => return Err(text.error(1, format!("`Nodes {nodes}`"), "two hosts or more")),
        None => return Err(text.error(1, "no line `Nodes N`: how many hosts there are", HEAD)),
    };
    check(&text, &matrix, &counts)?;
    Ok(matrix)
}

fn check(text: &Text<'_>, matrix: &ConnectionMatrix, counts: &Counts) -> Result<(), FormatError> {
    let end = text.last_line();
    for (name, said, there) in [
        ("Connections", counts.connections.unwrap_or(0), matrix.connections.len()),
        ("Triggers", counts.triggers.unwrap_or(0), matrix.triggers.len()),
        ("Failures", counts.failures.unwrap_or(0), matrix.failures.len()),
    ] {
        if said as usize != there {
            return Err(text.error(
                end,
                format!("`{name} {said}`, but there are {there}"),
                "the number that the file has",
            ));
        }
    }
    // Activations of each trigger.
    let mut activated: BTreeMap<u32, u32> = BTreeMap::new();
    for connection in &matrix.connections {
        let triggers = [connection.send_done_trigger, connection.recv_done_trigger];
        for trigger in triggers.into_iter().flatten() {
            known(text, matrix, trigger, connection.line)?;
            *activated.entry(trigger).or_default() += 1;
        }
    }
    for connection in &matrix.connections {
        let Start::Trigger(trigger) = connection.start else { continue };
        known(text, matrix, trigger, connection.line)?;
        if !activated.contains_key(&trigger) {
            return Err(text.error(
                connection.line,
                format!("trigger {trigger} is never activated"),
                "a connection with this send_done_trigger or recv_done_trigger",
            ));
        }
    }
    for (id, trigger) in &matrix.triggers {
        let count = activated.get(id).copied().unwrap_or(0);
        let max = match trigger.trigger {
            Trigger::After(count) => count,
            Trigger::OneByOne => u32::MAX,
        };
        if count > max {
            return Err(text.error(
                trigger.line,
                format!("trigger {id} is activated {count} times"),
                format!("at most {max}"),
            ));
        }
    }
    all_start(text, matrix)
}

/// Refuses flows that can never start even if every started flow ends: barriers that are never filled, and triggers
/// that wait for each other. A multishot trigger may have more flows than activations.
fn all_start(text: &Text<'_>, matrix: &ConnectionMatrix) -> Result<(), FormatError> {
    let of = |start: Start| match start {
        Start::At(_) => None,
        Start::Trigger(trigger) => Some(trigger),
    };
    let mut waiting: BTreeMap<u32, Vec<&Connection>> = BTreeMap::new();
    let mut started: Vec<&Connection> = Vec::new();
    for connection in &matrix.connections {
        match of(connection.start) {
            None => started.push(connection),
            Some(trigger) => waiting.entry(trigger).or_default().push(connection),
        }
    }
    waiting.values_mut().for_each(|flows| flows.reverse());
    let mut activations: BTreeMap<u32, u32> = BTreeMap::new();
    while let Some(connection) = started.pop() {
        // A flow that sends for ever activates nothing.
        let is_done = connection.size.is_some();
        let triggers = [connection.send_done_trigger, connection.recv_done_trigger];
        for id in triggers.into_iter().flatten().filter(|_| is_done) {
            let count = activations.entry(id).or_default();
            *count += 1;
            let Some(flows) = waiting.get_mut(&id) else { continue };
            match matrix.triggers[&id].trigger {
                Trigger::After(needed) if *count == needed => started.append(flows),
                Trigger::After(_) => {}
                Trigger::OneByOne => started.extend(flows.pop()),
            }
        }
    }
    for (id, flows) in waiting {
        let Some(first) = flows.iter().map(|flow| flow.line).min() else { continue };
        let count = activations.get(&id).copied().unwrap_or(0);
        let needed = match matrix.triggers[&id].trigger {
            Trigger::After(needed) => needed,
            Trigger::OneByOne if count > 0 => continue,
            Trigger::OneByOne => 1,
        };
        let problem = format!(
            "the flow never starts: its trigger {id} is activated {count} times, of {needed}"
        );
        let expected = "flows that activate it, of a size, and that do not wait for it themselves";
        return Err(text.error(first, problem, expected));
    }
    Ok(())
}

fn known(
    text: &Text<'_>,
    matrix: &ConnectionMatrix,
    trigger: u32,
    line: usize,
) -> Result<(), FormatError> {
    if matrix.triggers.contains_key(&trigger) {
        return Ok(());
    }
    Err(text.error(line, format!("no trigger {trigger} in the file"), TRIGGER))
}

/// Reads key and value pairs; a key of `flags` has no value.
fn fields<'a>(
    text: &Text<'_>,
    line: usize,
    words: &[&'a str],
    flags: &[&str],
    expected: &str,
) -> Result<BTreeMap<&'a str, &'a str>, FormatError> {
    let mut fields = BTreeMap::new();
    let mut words = words.iter();
    while let Some(&key) = words.next() {
        let value = match flags.contains(&key) {
            true => "",
            false => words
                .next()
                .ok_or_else(|| text.error(line, format!("nothing behind `{key}`"), expected))?,
        };
        if fields.insert(key, value).is_some() {
            return Err(text.error(line, format!("`{key}` stands twice"), expected));
        }
    }
    Ok(fields)
}

fn whole(
    text: &Text<'_>,
    line: usize,
    key: &str,
    value: &str,
    expected: &str,
) -> Result<u32, FormatError> {
    value.parse().map_err(|_| {
        text.error(line, format!("`{key} {value}` has no whole number below 2^32"), expected)
    })
}

fn connection(
    text: &Text<'_>,
    line: usize,
    pair: &str,
    words: &[&str],
    nodes: Option<u32>,
) -> Result<Connection, FormatError> {
    let ends = pair
        .split_once("->")
        .and_then(|(source, destination)| Some((source.parse().ok()?, destination.parse().ok()?)));
    let Some((source, destination)) = ends else {
        return Err(text.error(line, format!("`{pair}` names no two hosts"), CONNECTION));
    };
    let Some(nodes) = nodes else {
        return Err(text.error(line, "a connection before `Nodes`", HEAD));
    };
    for host in [source, destination] {
        if host >= nodes {
            return Err(text.error(
                line,
                format!("host {host} of {nodes}"),
                format!("hosts from 0 to {}", nodes.saturating_sub(1)),
            ));
        }
    }
    if source == destination {
        return Err(text.error(line, format!("host {source} sends to itself"), CONNECTION));
    }
    let mut connection = Connection {
        line,
        source,
        destination,
        id: None,
        start: Start::At(TimeDelta::ZERO),
        size: None,
        send_done_trigger: None,
        recv_done_trigger: None,
        priority: None,
    };
    if let Some(word) = words.iter().find(|word| ["msg", "addon"].contains(word)) {
        let problem = format!("`{word}`: messages on an open connection are not simulated");
        return Err(text.error(line, problem, "flows, each with a connection of its own"));
    }
    let (mut has_start, mut has_trigger, mut has_size) = (false, false, false);
    for (key, value) in fields(text, line, words, &[], CONNECTION)? {
        let whole = || whole(text, line, key, value, CONNECTION);
        let wrong = |what: &str| text.error(line, format!("`{key} {value}`: {what}"), CONNECTION);
        match key {
            "id" => {
                let id = NonZeroU32::new(whole()?);
                connection.id = Some(id.ok_or_else(|| wrong("0 is no name of a flow"))?);
            }
            "start" => {
                has_start = true;
                let ps = scientific(value, 1).filter(|&ps| ps <= u64::MAX / 2);
                let ps = ps.ok_or_else(|| wrong("no number of picoseconds"))?;
                connection.start = Start::At(TimeDelta::from_ps(ps));
            }
            "trigger" => {
                has_trigger = true;
                connection.start = Start::Trigger(whole()?);
            }
            "size" => {
                has_size = true;
                let bytes = value.parse().ok().filter(|&bytes| bytes <= u64::MAX / 2);
                let bytes: u64 = bytes.ok_or_else(|| wrong("no number of bytes"))?;
                // As in htsim, a flow of size 0 sends for ever.
                connection.size = (bytes > 0).then(|| ByteCount::new(bytes));
            }
            "send_done_trigger" => connection.send_done_trigger = Some(whole()?),
            "recv_done_trigger" => connection.recv_done_trigger = Some(whole()?),
            "prio" => {
                let priority = value.parse().map_err(|_| wrong("no whole number"))?;
                connection.priority = Some(priority);
            }
            _ => return Err(text.error(line, format!("unknown word `{key}`"), CONNECTION)),
        }
    }
    if has_start == has_trigger {
        let problem =
            if has_start { "both start and trigger" } else { "neither start nor trigger" };
        return Err(text.error(line, problem, CONNECTION));
    }
    if !has_size {
        return Err(text.error(line, "no size", CONNECTION));
    }
    Ok(connection)
}

fn trigger(
    text: &Text<'_>,
    line: usize,
    words: &[&str],
) -> Result<(u32, TriggerLine), FormatError> {
    const KINDS: [&str; 3] = ["oneshot", "multishot", "barrier"];
    let fields = fields(text, line, words, &KINDS, TRIGGER)?;
    if let Some(other) =
        fields.keys().find(|key| !["id", "count"].contains(key) && !KINDS.contains(key))
    {
        return Err(text.error(line, format!("unknown word `{other}`"), TRIGGER));
    }
    let number =
        |key: &str| fields.get(key).map(|value| whole(text, line, key, value, TRIGGER)).transpose();
    let (id, count) = (number("id")?.unwrap_or(0), number("count")?);
    if id == 0 {
        return Err(text.error(line, "a trigger without an id above 0", TRIGGER));
    }
    let kinds: Vec<&str> = KINDS.into_iter().filter(|kind| fields.contains_key(kind)).collect();
    let trigger = match (&kinds[..], count) {
        (["oneshot"], _) => Trigger::After(1),
        (["multishot"], _) => Trigger::OneByOne,
        (["barrier"], Some(count @ 1..)) => Trigger::After(count),
        (["barrier"], _) => return Err(text.error(line, "a barrier without `count`", TRIGGER)),
        _ => return Err(text.error(line, "not exactly one kind of trigger", TRIGGER)),
    };
    Ok((id, TriggerLine { line, trigger }))
}

fn failure(text: &Text<'_>, line: usize, words: &[&str]) -> Result<Failure, FormatError> {
    let fields = fields(text, line, words, &[], FAILURE)?;
    let number = |key: &str| match fields.get(key) {
        Some(value) => whole(text, line, key, value, FAILURE),
        None => Err(text.error(line, format!("no `{key}`"), FAILURE)),
    };
    // htsim asserts this too: only links of aggregation switches can be missing.
    match fields.get("switch_type") {
        Some(&"AGG") => {}
        other => {
            let name = other.copied().unwrap_or("none");
            return Err(text.error(line, format!("switch_type {name}"), FAILURE));
        }
    }
    Ok(Failure { line, switch: number("switch_id")?, link: number("link_id")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_skipped() {
        let text = "Nodes 2\nConnections 1\n0->1 start 0 size 1\n";
        assert_eq!(parse("a.cm", &format!("\u{feff}{text}")), parse("a.cm", text));
        assert!(
            parse("a.cm", text).is_ok() && parse("a.cm", &format!("\n\u{feff}{text}")).is_err()
        );
    }

    #[test]
    fn flows_triggers_and_failures_are_read() {
        let text = "# a comment\nNodes 4\nConnections 3\nTriggers 2\nFailures 1\n\
                    0->1 id 1 start 1.5 size 2000000 send_done_trigger 7 prio 3\n\
                    0->2 id 2 trigger 7 size 9000 recv_done_trigger 8\n\
                    2->3 id 3 trigger 8 size 1\n\
                    trigger id 7 oneshot\ntrigger id 8 barrier count 1\n\
                    failure switch_type AGG switch_id 5 link_id 0\n";
        let matrix = parse("a.cm", text).unwrap();
        assert_eq!((matrix.nodes, matrix.connections.len()), (4, 3));
        let first = &matrix.connections[0];
        // Half rounds up; a picosecond is the smallest time.
        assert_eq!(first.start, Start::At(TimeDelta::from_ps(2)));
        assert_eq!(
            (first.send_done_trigger, first.priority, first.id),
            (Some(7), Some(3), NonZeroU32::new(1))
        );
        assert_eq!(matrix.connections[1].start, Start::Trigger(7));
        assert_eq!(matrix.triggers[&8].trigger, Trigger::After(1));
        assert_eq!(matrix.failures, [Failure { line: 11, switch: 5, link: 0 }]);
    }

    #[test]
    fn start_times_keep_every_picosecond() {
        let text = "Nodes 2\nConnections 1\n0->1 start 123456789012345 size 1\n";
        let start = parse("a.cm", text).unwrap().connections[0].start;
        assert_eq!(start, Start::At(TimeDelta::from_ps(123_456_789_012_345)));
    }

    #[test]
    fn errors_name_file_and_line() {
        let head = "Nodes 4\nConnections 1\n";
        for (line, text) in [
            (3, format!("{head}0->4 start 0 size 1\n")),
            (3, format!("{head}0->0 start 0 size 1\n")),
            (3, format!("{head}0->1 size 1\n")),
            (3, format!("{head}0->1 start 0 trigger 1 size 1\n")),
            (3, format!("{head}0->1 start 0\n")),
            (3, format!("{head}0->1 start 0 size -1\n")),
            (3, format!("{head}0->1 start -1 size 1\n")),
            (3, format!("{head}0->1 id 0 start 0 size 1\n")),
            (3, format!("{head}0->1 start 0 size 1 colour red\n")),
            (3, format!("{head}0->1 start 0 size\n")),
            (3, format!("{head}0->1 start 0 start 1 size 1\n")),
            (3, format!("{head}0->1 start 0 size 1 send_done_trigger 9\n")),
            (3, format!("{head}x->1 start 0 size 1\n")),
            (4, format!("{head}0->1 start 0 size 1\n0->1 start 0 size 1\n")),
            (1, "0->1 start 0 size 1\n".to_owned()),
            (4, format!("{head}3->1 start 0 size 1\nNodes 2\n")),
            (1, "Nodes\n".to_owned()),
            (1, "Hosts 4\n".to_owned()),
            (2, "Nodes 4\nConnections 1\n".to_owned()),
            (1, "trigger id 0 oneshot\n".to_owned()),
            (1, "trigger id 1\n".to_owned()),
            (1, "trigger id 1 barrier\n".to_owned()),
            (1, "trigger id 1 oneshot multishot\n".to_owned()),
            (1, "failure switch_type TOR switch_id 0 link_id 0\n".to_owned()),
        ] {
            let error = parse("a.cm", &text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("a.cm:{line}: ")), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_trigger_without_an_activation_is_refused() {
        let text = |connections: &str| {
            let count = connections.lines().count();
            format!(
                "Nodes 4\nConnections {count}\nTriggers 1\n{connections}trigger id 1 multishot\n"
            )
        };
        let read = |connections| parse("a.cm", &text(connections));
        read("0->1 start 0 size 1 recv_done_trigger 1\n0->2 trigger 1 size 1\n").unwrap();
        read("0->1 start 0 size 1 send_done_trigger 1\n2->1 start 0 size 1 send_done_trigger 1\n")
            .unwrap();
        let error = read("0->1 trigger 1 size 1\n").unwrap_err().to_string();
        assert!(error.contains("never activated"), "{error}");
    }

    #[test]
    fn flows_that_can_never_start_are_refused() {
        let refused = |body: &str, line: usize, says: &str| {
            let count = |of: &str| body.lines().filter(|line| line.contains(of)).count();
            let head =
                format!("Nodes 6\nConnections {}\nTriggers {}\n", count("->"), count("trigger id"));
            let error = parse("a.cm", &(head + body)).unwrap_err().to_string();
            assert!(error.starts_with(&format!("a.cm:{}: ", 3 + line)), "{error}");
            assert!(error.contains(says), "{error}");
        };
        let two =
            "0->1 start 0 size 9 send_done_trigger 1\n2->3 start 0 size 9 recv_done_trigger 1\n";
        let barrier = |count: u32| {
            format!("{two}4->5 trigger 1 size 9\ntrigger id 1 barrier count {count}\n")
        };
        refused(&barrier(3), 3, "trigger 1 is activated 2 times, of 3");
        parse("a.cm", &format!("Nodes 6\nConnections 3\nTriggers 1\n{}", barrier(2))).unwrap();
        // Each trigger waits for the other.
        let circle = "0->1 trigger 1 size 9 send_done_trigger 2\n2->3 trigger 2 size 9 send_done_trigger 1\n\
                      trigger id 1 oneshot\ntrigger id 2 multishot\n";
        refused(circle, 1, "its trigger 1 is activated 0 times, of 1");
        // A flow that sends for ever does not end.
        let endless = "0->1 start 0 size 0 send_done_trigger 1\n2->3 trigger 1 size 9\ntrigger id 1 oneshot\n";
        refused(endless, 2, "trigger 1 is activated 0 times");
    }
}
