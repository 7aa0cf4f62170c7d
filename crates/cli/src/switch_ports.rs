//! Statistics of software switches: a row per port, with all port counters.

use serde_json::{Map, Value, json};
use trimline_packet::PortCounters;
use trimline_stack::io::PacketIo;
use trimline_stack::switch::{Config, Fabric, Losses, PacerState, Runner};

use crate::openmetrics::{Exposition, Kind, Labels};
use crate::terminal;

/// The rows' key in a file that `trimline stats` prints.
pub(crate) const KEY: &str = "ports";

/// Marks by a phantom queue, among all marks.
const BY_PHANTOM: &str = "marked_by_phantom";

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
pub(crate) fn table(config: &Config, fabric: &Fabric) -> String {
    format!("\n{}", terminal::entries(&port_rows(config, fabric)))
}

/// The hosts that have a pacer, with its state.
fn paced<'a>(
    config: &'a Config,
    fabric: &'a Fabric,
) -> impl Iterator<Item = (&'a str, PacerState)> + 'a {
    let hosts = (0..).zip(&config.host);
    hosts.filter_map(|(number, host)| Some((host.interface.as_str(), fabric.pacer(number)?)))
}

fn pacer_rows(config: &Config, fabric: &Fabric) -> Vec<Value> {
    let row = |(interface, state): (&str, PacerState)| {
        let mut row = Map::from_iter([("interface".to_owned(), json!(interface))]);
        let values = state.counted().into_iter().chain(state.gauged());
        row.extend(values.map(|(name, value)| (name.to_owned(), json!(value))));
        Value::Object(row)
    };
    paced(config, fabric).map(row).collect()
}

/// The pacers of all hosts, as text: empty without pacers.
pub(crate) fn pacers(config: &Config, fabric: &Fabric) -> String {
    match pacer_rows(config, fabric) {
        rows if rows.is_empty() => String::new(),
        rows => format!("pacers\n{}", terminal::entries(&rows)),
    }
}

/// Losses beside the ports, as text: one line, or empty.
pub(crate) fn losses(losses: &Losses) -> String {
    let lost = losses.named().into_iter().filter(|&(_, count)| count > 0);
    let lost: Vec<String> = lost.map(|(name, count)| format!("{name} {count}")).collect();
    if lost.is_empty() {
        return String::new();
    }
    format!("lost outside the ports: {}\n", lost.join(", "))
}

/// Ports and losses in the form that `trimline stats` reads.
pub(crate) fn state(config: &Config, fabric: &Fabric, losses: &Losses) -> Value {
    let lost = losses.named().map(|(name, count)| (name.to_owned(), json!(count)));
    let mut state = Map::from_iter(lost);
    state.insert(KEY.to_owned(), json!(port_rows(config, fabric)));
    let pacers = pacer_rows(config, fabric);
    if !pacers.is_empty() {
        state.insert("pacers".to_owned(), json!(pacers));
    }
    Value::Object(state)
}

fn metric_of(counter: &str) -> (String, &'static str) {
    match counter {
        "bytes" => ("trimline_switch_port_sent_bytes".to_owned(), "bytes"),
        "packets" => ("trimline_switch_port_sent_packets".to_owned(), "packets"),
        counter => (format!("trimline_switch_port_{counter}_packets"), "packets"),
    }
}

/// Ports, queues and losses, for OpenMetrics.
pub(crate) fn exposition<I: PacketIo>(config: &Config, runner: &Runner<I>) -> Exposition {
    let (fabric, mut text) = (runner.fabric(), Exposition::default());
    let ports: Vec<_> = fabric.counters().collect();
    let label = |number: usize| -> Labels {
        let (switch, port, _) = ports[number];
        let name = config.switch.get(switch as usize).map_or("", |switch| switch.name.as_str());
        // Ports of hosts come first, in the order of the hosts.
        let interface = config.host.get(number).map(|host| host.interface.clone());
        let interface = interface.map(|interface| ("interface", interface));
        let own = [("switch", name.to_owned()), ("port", port.to_string())];
        own.into_iter().chain(interface).collect()
    };
    let of_each = |value: &dyn Fn(usize) -> u64| -> Vec<(Labels, u64)> {
        (0..ports.len()).map(|number| (label(number), value(number))).collect()
    };
    for (place, counter) in PortCounters::NAMES.into_iter().enumerate() {
        let (name, unit) = metric_of(counter);
        let help = format!("Counter {counter} of a switch port.");
        let samples = of_each(&|number| ports[number].2.values()[place]);
        text.add((&name, unit, &help), Kind::Counter, samples);
    }
    let (name, unit) = metric_of(BY_PHANTOM);
    let help = "Packets that the phantom queue of a port marked; `marked` includes them.";
    let samples = of_each(&|number| fabric.marked_by_phantom(number as u32));
    text.add((&name, unit, help), Kind::Counter, samples);
    let queued = (0..ports.len()).flat_map(|number| {
        let queues = (0..).zip(fabric.queued(number as u32));
        queues.map(move |(queue, packets): (usize, u32)| (number, queue, packets))
    });
    let queued = queued.map(|(number, queue, packets)| {
        let mut labels = label(number);
        labels.push(("queue", queue.to_string()));
        (labels, packets.into())
    });
    let about = ("trimline_switch_queue_packets", "packets", "Packets in a queue of a port.");
    text.add(about, Kind::Gauge, queued);
    add_pacers(&mut text, config, fabric);
    let held = fabric.held() as u64;
    let about = ("trimline_switch_held_frames", "frames", "Frames in queues and on links.");
    text.add(about, Kind::Gauge, [(Labels::new(), held)]);
    let up = config.host.iter().enumerate().map(|(port, host)| {
        (vec![("interface", host.interface.clone())], u64::from(runner.is_up(port)))
    });
    let help = "1: the interface exists and its link is up.";
    text.add(("trimline_switch_interface_up", "", help), Kind::Gauge, up);
    let strangers = config.host.iter().zip(fabric.refused_sources());
    let strangers =
        strangers.map(|(host, count)| (vec![("interface", host.interface.clone())], count));
    let help = "Frames from sources that the port does not accept.";
    let about = ("trimline_switch_refused_source_frames", "frames", help);
    text.add(about, Kind::Counter, strangers);
    let lost = runner.losses().named();
    let lost = lost.map(|(name, count)| (vec![("reason", name.to_owned())], count));
    let about = ("trimline_switch_lost_frames", "frames", "Frames lost outside the ports.");
    text.add(about, Kind::Counter, lost);
    let unnotified = fabric.unnotified().into_iter().flatten();
    let unnotified =
        unnotified.map(|(reason, count)| (vec![("reason", reason.name().to_owned())], count));
    let help = "Frames dropped without a notification to the sender.";
    text.add(("trimline_switch_unnotified_frames", "frames", help), Kind::Counter, unnotified);
    text
}

/// Adds a metric for each quantity of pacers, if a host has one.
fn add_pacers(text: &mut Exposition, config: &Config, fabric: &Fabric) {
    let states: Vec<(&str, PacerState)> = paced(config, fabric).collect();
    let Some((_, first)) = states.first() else { return };
    let mut add = |name: &str, help: &str, kind, value: &dyn Fn(&PacerState) -> u64| {
        let unit = match name {
            "dropped_bytes" | "backlog_bytes" => "bytes",
            "passed" | "paced" | "dropped" => "packets",
            "flows" => "flows",
            _ => "",
        };
        let suffix = if unit == "packets" { "_packets" } else { "" };
        let name = format!("trimline_switch_pacer_{name}{suffix}");
        let label = |interface: &str| vec![("interface", interface.to_owned())];
        let samples = states.iter().map(|(interface, state)| (label(interface), value(state)));
        text.add((&name, unit, help), kind, samples);
    };
    for (place, (name, _)) in first.counted().into_iter().enumerate() {
        let help = format!("Counter {name} of a host's pacer.");
        add(name, &help, Kind::Counter, &|state| state.counted()[place].1);
    }
    for (place, (name, _)) in first.gauged().into_iter().enumerate() {
        let help = format!("The pacer's {name} now.");
        add(name, &help, Kind::Gauge, &|state| state.gauged()[place].1);
    }
}

pub(crate) use crate::rows::{check_target, write_file};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openmetrics::tests::{are_documented, parse};
    use trimline_stack::clock::Clock;
    use trimline_stack::host::Idle;
    use trimline_stack::io::mem;

    fn one_port() -> (Config, Fabric) {
        let text = "rate = \"1Gbps\"\npayload = 1500\n[[switch]]\nname = \"s\"\n[[host]]\nswitch = \"s\"\n\
                    interface = \"p\"\npacer = {}\naddresses = [{ address = \"10.0.0.1\" }]\n";
        let config = Config::parse(text).unwrap();
        let fabric = Fabric::new(&config).unwrap();
        (config, fabric)
    }

    #[test]
    fn every_loss_of_a_switch_port_is_printed_and_written() {
        let (config, fabric) = one_port();
        let (without_way, dropped_at_ingress, refused) = (11, 12, 13);
        let dropped_by_pacer = 18;
        let (unsent, unreadable, overrun, refused_source) = (14, 15, 16, 17);
        let lost = Losses {
            without_way,
            unknown_label: 19,
            dropped_at_ingress,
            dropped_by_pacer,
            refused,
            unsent,
            unreadable,
            overrun,
            refused_source,
        };
        let (described, state) = (losses(&lost), state(&config, &fabric, &lost));
        for (name, count) in lost.named() {
            assert!(described.contains(&format!("{name} {count}")), "{described}");
            assert_eq!(state[name], json!(count));
        }
        assert_eq!(state[KEY].as_array().map(Vec::len), Some(1));
        assert_eq!(losses(&Losses::default()), "");
        let described = pacers(&config, &fabric);
        let row = &state["pacers"][0];
        assert_eq!((&row["interface"], &row["rate_bps"]), (&json!("p"), &json!(1_000_000_000)));
        let pacer = fabric.pacer(0).unwrap();
        for (name, value) in pacer.counted().into_iter().chain(pacer.gauged()) {
            assert!(described.contains(&name.replace('_', " ")), "{described}");
            assert_eq!(row[name], json!(value));
        }
    }

    #[test]
    fn every_counter_of_a_switch_port_is_in_an_exposition_and_in_the_documents() {
        let (config, fabric) = one_port();
        let (near, _far) = mem::pair(1500).unwrap();
        let runner = Runner::new(fabric, vec![near], Clock::new_virtual(), Idle::Poll).unwrap();
        let text = exposition(&config, &runner).finish();
        let samples = parse(&text).unwrap();
        let port = "{switch=\"s\",port=\"0\",interface=\"p\"}";
        for counter in PortCounters::NAMES {
            let sample = format!("{}_total{port}", metric_of(counter).0);
            assert_eq!(samples.get(&sample), Some(&0), "{sample}: {text}");
        }
        for (reason, _) in runner.losses().named() {
            let sample = format!("trimline_switch_lost_frames_total{{reason=\"{reason}\"}}");
            assert!(samples.contains_key(&sample), "{sample}: {text}");
        }
        assert_eq!(samples["trimline_switch_interface_up{interface=\"p\"}"], 1);
        for name in ["passed_packets_total", "dropped_bytes_total", "flows", "backlog_bytes"] {
            let sample = format!("trimline_switch_pacer_{name}{{interface=\"p\"}}");
            assert_eq!(samples.get(&sample), Some(&0), "{sample}: {text}");
        }
        are_documented(&text);
    }
}
