//! What went through the ports of software switches: a row a port, with every counter that ports have.

use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};
use trimline_packet::PortCounters;
use trimline_stack::switch::{Config, Fabric};

use crate::rows;

/// The rows' key in a file that `trimline stats` prints.
pub(crate) const KEY: &str = "ports";

/// Of those that are marked, the ones that a phantom queue did.
const BY_PHANTOM: &str = "marked_by_phantom";

/// Columns of a row.
pub(crate) fn columns() -> Vec<&'static str> {
    ["switch", "port"].into_iter().chain(PortCounters::NAMES).chain([BY_PHANTOM]).collect()
}

fn port_rows(config: &Config, fabric: &Fabric) -> Vec<Value> {
    let row = |(number, (switch, port, seen)): (u32, (u32, u16, PortCounters))| {
        let name = config.switch.get(switch as usize).map_or("", |switch| switch.name.as_str());
        let mut row = Map::from_iter([("switch".to_owned(), json!(name))]);
        row.insert("port".to_owned(), json!(port));
        for (counter, value) in PortCounters::NAMES.iter().zip(seen.values()) {
            row.insert((*counter).to_owned(), json!(value));
        }
        row.insert(BY_PHANTOM.to_owned(), json!(fabric.marked_by_phantom(number)));
        Value::Object(row)
    };
    (0..).zip(fabric.counters()).map(row).collect()
}

/// The ports of all switches, as text.
pub fn table(config: &Config, fabric: &Fabric) -> String {
    rows::aligned(&columns(), &port_rows(config, fabric))
}

/// Writes them to a file that `trimline stats` prints.
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, config: &Config, fabric: &Fabric) -> io::Result<()> {
    rows::write_file(path, &json!({ KEY: port_rows(config, fabric) }))
}
