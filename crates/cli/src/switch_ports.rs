//! What went through the ports of software switches: a row a port, with every counter that ports have.

use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};
use trimline_packet::PortCounters;
use trimline_stack::switch::{Config, Fabric, Losses};

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

/// What was lost beside the ports, as text: one line, or nothing.
pub fn losses(losses: &Losses) -> String {
    let lost = losses.named().into_iter().filter(|&(_, count)| count > 0);
    let lost: Vec<String> = lost.map(|(name, count)| format!("{name} {count}")).collect();
    if lost.is_empty() {
        return String::new();
    }
    format!("lost beside the ports: {}\n", lost.join(", "))
}

/// Both, as `trimline stats` reads them.
pub fn state(config: &Config, fabric: &Fabric, losses: &Losses) -> Value {
    let lost = losses.named().map(|(name, count)| (name.to_owned(), json!(count)));
    let mut state = Map::from_iter(lost);
    state.insert(KEY.to_owned(), json!(port_rows(config, fabric)));
    Value::Object(state)
}

pub use rows::check_target;

/// Writes a state to a file that `trimline stats` prints.
///
/// # Errors
/// The file cannot be written; the error names it.
pub fn write(path: &Path, state: &Value) -> io::Result<()> {
    rows::write_file(path, state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loss_is_told_in_words_and_in_the_file() {
        let text = "rate = \"1Gbps\"\n[[switch]]\nname = \"s\"\n[[host]]\nswitch = \"s\"\n\
                    interface = \"p\"\naddresses = [{ address = \"10.0.0.1\" }]\n";
        let config = Config::parse(text).unwrap();
        let fabric = Fabric::new(&config).unwrap();
        let (without_way, dropped_at_ingress, refused) = (11, 12, 13);
        let (unsent, unreadable, overrun) = (14, 15, 16);
        let lost = Losses { without_way, dropped_at_ingress, refused, unsent, unreadable, overrun };
        let (words, state) = (losses(&lost), state(&config, &fabric, &lost));
        for (name, count) in lost.named() {
            assert!(words.contains(&format!("{name} {count}")), "{words}");
            assert_eq!(state[name], json!(count));
        }
        assert_eq!(state[KEY].as_array().map(Vec::len), Some(1));
        assert_eq!(losses(&Losses::default()), "");
    }
}
