//! Readers that make numbers of checked TOML nodes: quantities, counts, hosts and texts of files. They know no table of
//! the scenario.

use std::fs;
use std::path::Path;

use trimline_packet::fluid::Clock;
use trimline_packet::{BitRate, ByteCount, SettingFault, TimeDelta};

use super::error::ScenarioError;
use super::quantity::{self, Quantity};
use super::tree::Node;
use crate::formats::FormatError;

pub(crate) fn duration_of(node: &Node) -> Result<TimeDelta, ScenarioError> {
    read(node, quantity::duration, Quantity::Duration)
}

/// Reads a quantity that the grammar has accepted.
pub(crate) fn read<T>(
    node: &Node,
    parse: fn(&str) -> Result<T, quantity::Fault>,
    quantity: Quantity,
) -> Result<T, ScenarioError> {
    parse(node.text().unwrap_or_default()).map_err(|fault| {
        ScenarioError::new(&node.place, fault.problem, quantity.expected()).nearest(fault.nearest)
    })
}

pub(crate) fn bytes(node: &Node) -> Result<ByteCount, ScenarioError> {
    read(node, quantity::bytes, Quantity::Bytes)
}

pub(crate) fn rate(node: &Node) -> Result<BitRate, ScenarioError> {
    read(node, quantity::rate, Quantity::Rate)
}

/// Reads a tick; without one a counter moves at every instant.
pub(crate) fn clock(node: &Node) -> Result<Clock, ScenarioError> {
    let tick = duration_of(node)?;
    Ok(if tick == TimeDelta::ZERO { Clock::Continuous } else { Clock::Tick(tick) })
}

/// Reads a share, in billionths.
pub(crate) fn share(node: &Node) -> Result<u64, ScenarioError> {
    read(node, quantity::share, Quantity::Share)
}

/// Refuses a table whose settings need marks if no transport of the run answers them.
pub(crate) fn need_marks(
    node: &Node,
    what: &str,
    answers_marks: bool,
) -> Result<(), ScenarioError> {
    if answers_marks {
        return Ok(());
    }
    Err(ScenarioError::new(
        &node.place,
        format!("{what} with transports that do not answer marks"),
        "a transport with ECN: dctcp, dcqcn, or tcp with ecn = true",
    ))
}

/// Reports a fault of a setting at its key, or at its table. `keys` has the keys of settings that have another name.
pub(crate) fn setting_fault(
    node: &Node,
    keys: &[(&str, &'static str)],
    fault: &SettingFault,
) -> ScenarioError {
    let known = keys.iter().find(|(setting, _)| *setting == fault.key);
    let key = known.map_or(fault.key, |known| known.1);
    let place = node.child(key).unwrap_or(node);
    let expected = match &fault.nearest {
        Some(nearest) => format!("another value, the nearest being {nearest}"),
        None => "another value".to_owned(),
    };
    let problem = format!("`{key}` of {} {}", fault.value, fault.reason);
    ScenarioError::new(&place.place, problem, expected)
}

/// Reads an integer, which the grammar keeps within bounds.
pub(crate) fn number(node: &Node, key: &str) -> Option<u32> {
    node.child(key)?.integer().and_then(|number| u32::try_from(number).ok())
}

pub(crate) fn positive(node: &Node) -> Result<TimeDelta, ScenarioError> {
    match duration_of(node)? {
        TimeDelta::ZERO => {
            Err(ScenarioError::new(&node.place, "infinitely many at once", "a time above zero"))
        }
        time => Ok(time),
    }
}

/// Reads the payload of a full packet, if given.
pub(crate) fn payload(node: &Node) -> Result<Option<u16>, ScenarioError> {
    let Some(payload) = node.child("payload") else { return Ok(None) };
    let bytes = read(payload, quantity::bytes, Quantity::Bytes)?;
    // A packet with its 64 B of headers must fit in 16 bits.
    const MAX_PAYLOAD: u64 = u16::MAX as u64 - 64;
    if bytes.get() == 0 || bytes.get() > MAX_PAYLOAD {
        return Err(ScenarioError::new(
            &payload.place,
            format!("a payload of {bytes}"),
            format!("from 1B to {MAX_PAYLOAD}B"),
        ));
    }
    Ok(Some(bytes.get() as u16))
}

/// Maximum packets of a flow: half of the sequence numbers, since more would wrap.
pub(crate) const MAX_PACKETS: u64 = u32::MAX as u64 / 2;

pub(crate) fn few_packets(node: &Node, size: u64, payload_bytes: u16) -> Result<(), ScenarioError> {
    let packets = size.div_ceil(u64::from(payload_bytes));
    if size == 0 || packets > MAX_PACKETS {
        return Err(ScenarioError::new(
            &node.place,
            format!("a flow of {packets} packets"),
            format!("from 1 to {MAX_PACKETS} packets of {payload_bytes} B"),
        ));
    }
    Ok(())
}

pub(crate) fn host(node: &Node, hosts: u32) -> Result<u32, ScenarioError> {
    let number = node.integer().unwrap_or(-1);
    u32::try_from(number).ok().filter(|&host| host < hosts).ok_or_else(|| {
        ScenarioError::new(
            &node.place,
            format!("no host {number} in a network of {hosts}"),
            format!("a host from 0 to {}", hosts - 1),
        )
        .nearest(Some((hosts - 1).to_string()))
    })
}

/// Returns the hosts that have a stage, in the order of the list; `None` for all.
pub(crate) fn some_hosts(node: &Node, all: u32) -> Result<Option<Vec<u32>>, ScenarioError> {
    let list = node.child("hosts").and_then(Node::list);
    list.map(|hosts| hosts.iter().map(|node| host(node, all)).collect()).transpose()
}

/// Returns the hosts under `excluding`: ascending, each once.
pub(crate) fn excluded(node: &Node, hosts: u32) -> Result<Vec<u32>, ScenarioError> {
    listed_hosts(node, "excluding", hosts)
}

/// Returns the hosts that a key lists: ascending, each once.
pub(crate) fn listed_hosts(node: &Node, key: &str, hosts: u32) -> Result<Vec<u32>, ScenarioError> {
    let list = node.child(key).and_then(Node::list).unwrap_or(&[]);
    let mut listed =
        list.iter().map(|node| host(node, hosts)).collect::<Result<Vec<_>, ScenarioError>>()?;
    listed.sort_unstable();
    listed.dedup();
    Ok(listed)
}

/// Reads a pair [source, destination].
pub(crate) fn pair(node: &Node, hosts: u32) -> Result<(u32, u32), ScenarioError> {
    let Some([source, destination]) = node.list() else {
        return Err(ScenarioError::new(
            &node.place,
            "no pair",
            "[source, destination], two host numbers",
        ));
    };
    let flow = (host(source, hosts)?, host(destination, hosts)?);
    if flow.0 == flow.1 {
        return Err(ScenarioError::new(
            &node.place,
            format!("host {} sends to itself", flow.0),
            "two different hosts",
        ));
    }
    Ok(flow)
}

/// Returns the text of a file relative to the scenario's folder, and its name for errors. A file is read once, however
/// many sweep points name it.
pub(crate) fn text_of(node: &Node, expected: &str) -> Result<(String, String), ScenarioError> {
    let source = &node.place.source;
    let folder = Path::new(&source.name).parent().unwrap_or(Path::new(""));
    let name = folder.join(node.text().unwrap_or_default()).display().to_string();
    match source.file(&name, contents) {
        Ok(text) => Ok((name, text)),
        Err(problem) => {
            Err(ScenarioError::new(&node.place, format!("{name}: {problem}"), expected))
        }
    }
}

fn contents(path: &str) -> Result<String, String> {
    #[cfg(test)]
    tests::READ.with_borrow_mut(|read| read.push(path.to_owned()));
    // Reading a pipe may block for ever, and a device may have no end.
    if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err("no regular file".to_owned());
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|_| "no text in UTF-8".to_owned())
}

/// Converts an error in a file that a scenario names.
pub(crate) fn in_file(node: &Node, error: &FormatError) -> ScenarioError {
    let problem = format!("{}:{}: {}", error.file, error.line, error.problem);
    ScenarioError::new(&node.place, problem, error.expected.clone())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use crate::scenario::{Scenario, Source};

    thread_local! {
        pub(crate) static READ: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    }

    #[test]
    fn all_points_of_a_sweep_read_one_version_of_a_file() {
        let name = concat!(env!("CARGO_MANIFEST_DIR"), "/distributions/dcpim-CDF_dctcp.txt");
        let text = format!(
            "topology.star.hosts = 3\nsweep.workload.w.size.packet = [\"1000B\", \"1460B\", \"2000B\"]\n\
             [[workload]]\nname = \"w\"\npermutation = {{}}\nsize.file = \"{name}\"\n"
        );
        READ.take();
        let scenario = Scenario::parse("s.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((scenario.runs.len(), READ.take()), (3, vec![name.to_owned()]));
        // A second parse reads the file again.
        Scenario::parse("s.toml", &text, &[]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(READ.take().len(), 1);
    }

    #[test]
    fn a_file_is_read_once() {
        let source = Source::new("s.toml", "");
        let mut states = ["first", "second"].into_iter().map(|state| Ok(state.to_owned()));
        let mut read = || source.file("f", |_| states.next().unwrap());
        assert_eq!([read(), read()], [Ok("first".to_owned()), Ok("first".to_owned())]);
        assert_eq!(source.file("g", |_| Err("gone".to_owned())), Err("gone".to_owned()));
        assert_eq!(source.file("g", |_| Ok(String::new())), Err("gone".to_owned()));
    }
}
