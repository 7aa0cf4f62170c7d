//! Mistakes in the compiled program, in its tables or in its settings, which at least one vector of the profile must
//! find. The list is in p4/README.md.

use std::path::Path;

use serde_json::{Value, json};
use trimline_switch::{Choices, Limit};

use super::bench::{Bench, PRIORITIES, claimed, settings};
use super::change::{
    Found, actions, assigns, conditions, each_object, is, replace_operations, sorted_out, without,
};
use super::{NDP, PROFILE};
use crate::bmv2::{Program, Switch};
use crate::vectors::{Vector, read};

enum Mutant {
    Settings(fn(&mut Choices)),
    /// A mistake in the tables: a line and its replacement.
    Table(&'static str, &'static str),
    Program(fn(&mut Value)),
}

use Mutant::{Program as InProgram, Settings, Table};

const MUTANTS: [(&str, Mutant); 25] = [
    ("trim to 60 bytes", Settings(|choices| choices.trimmed_bytes = 60)),
    ("trim to 63 bytes", Settings(|choices| choices.trimmed_bytes = 63)),
    ("trim to 65 bytes", Settings(|choices| choices.trimmed_bytes = 65)),
    ("trim to 128 bytes", Settings(|choices| choices.trimmed_bytes = 128)),
    ("one packet more in the data queue", Settings(|choices| choices.queues[1].whole.packets += 1)),
    ("one packet less in the data queue", Settings(|choices| choices.queues[1].whole.packets -= 1)),
    (
        "one header less in the header queue",
        Settings(|choices| {
            let header = &mut choices.queues[0].header;
            *header = Limit { bytes: header.bytes - 64, ..*header };
        }),
    ),
    (
        "a full data queue takes one more",
        InProgram(|program| replace_operations(program, "ingress.admit_data", "<", "<=")),
    ),
    (
        "the header queue is never filled to the last byte",
        InProgram(|program| replace_operations(program, "ingress.admit_header", "<=", "<")),
    ),
    ("headers are reckoned without the frame check sequence", InProgram(without_fcs)),
    ("nothing is cut off", InProgram(|program| without(program, "ingress.trim", is("truncate")))),
    (
        "the IPv4 length is not mended",
        InProgram(|program| {
            without(program, "ingress.mark_trimmed_ipv4", assigns("ipv4", "length"))
        }),
    ),
    (
        "the TRIMMED DSCP is not written",
        InProgram(|program| without(program, "ingress.mark_trimmed_ipv4", assigns("ipv4", "dscp"))),
    ),
    ("the IPv4 checksum is not mended", InProgram(without_checksums)),
    (
        "the addresses are not swapped",
        InProgram(|program| {
            without(program, "ingress.turn_round_ipv4", assigns("ipv4", "source"));
            without(program, "ingress.turn_round_ipv4", assigns("ipv4", "destination"));
        }),
    ),
    (
        "only one address is swapped",
        InProgram(|program| without(program, "ingress.turn_round_ipv4", assigns("ipv4", "source"))),
    ),
    (
        "the MAC addresses are not swapped",
        InProgram(|program| {
            without(program, "ingress.turn_round", assigns("ethernet", "source"));
            without(program, "ingress.turn_round", assigns("ethernet", "destination"));
        }),
    ),
    (
        "the UDP ports are not swapped",
        InProgram(|program| {
            without(program, "ingress.turn_round", assigns("udp", "source"));
            without(program, "ingress.turn_round", assigns("udp", "destination"));
        }),
    ),
    (
        "the RETURNED DSCP is not written",
        InProgram(|program| without(program, "ingress.turn_round_ipv4", assigns("ipv4", "dscp"))),
    ),
    ("nothing is returned to its sender", InProgram(without_returns)),
    (
        "a returned header leaves by the port where it found no place",
        Table(
            "table_add ingress.ipv4_route_back ingress.forward 10.0.1.0/24 => 1",
            "table_add ingress.ipv4_route_back ingress.forward 10.0.1.0/24 => 2",
        ),
    ),
    (
        "a returned header is returned again",
        Table(
            "table_add ingress.service_of_dscp ingress.serve 54 => 3",
            "table_add ingress.service_of_dscp ingress.serve 54 => 2",
        ),
    ),
    (
        "headers wait behind data",
        InProgram(|program| {
            without(program, "ingress.enqueue", assigns("standard_metadata", "priority"))
        }),
    ),
    (
        "egress gives no data packet's place back",
        InProgram(|program| without(program, "egress.release_data", is("register_write"))),
    ),
    (
        "egress gives no header's place back",
        InProgram(|program| without(program, "egress.release_header", is("register_write"))),
    ),
];

fn without_fcs(program: &mut Value) {
    for action in actions(program, "ingress.admit_header") {
        each_object(action, &mut |object| {
            if object.get("value").is_some_and(|value| value == "0x00000004") {
                object.insert("value".to_owned(), json!("0x00000000"));
            }
        });
    }
}

fn without_checksums(program: &mut Value) {
    for checksum in program["checksums"].as_array_mut().into_iter().flatten() {
        checksum["update"] = json!(false);
    }
}

/// Disables returns: the only condition that reads the packet type leads there.
fn without_returns(program: &mut Value) {
    for conditional in conditions(program, &json!(["ndp", "kind"])) {
        conditional["true_next"] = conditional["false_next"].clone();
    }
}

/// Returns the vectors that find each mistake, or a line per mistake without any.
pub(crate) fn check_all(root: &Path) -> Result<Vec<Found>, Vec<String>> {
    let read_all = || -> Result<(String, String, Vec<Vector>), String> {
        let file = |name: &str| read(root, Path::new(name));
        Ok((file(NDP.compiled)?, file(NDP.tables)?, claimed(root)?))
    };
    let (text, tables, vectors) = read_all().map_err(|error| vec![error])?;
    sorted_out(&MUTANTS, |mutant| finders(mutant, &text, &tables, &vectors))
}

fn finders(
    mutant: &Mutant,
    text: &str,
    tables: &str,
    vectors: &[Vector],
) -> Result<Vec<String>, String> {
    let mut document: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut tables = tables.to_owned();
    let unchanged = (document.clone(), tables.clone());
    match mutant {
        Settings(_) => {}
        Table(old, new) => tables = tables.replace(old, new),
        InProgram(change) => change(&mut document),
    }
    if !matches!(mutant, Settings(_)) && (&document, &tables) == (&unchanged.0, &unchanged.1) {
        return Err("the program has no such place".to_owned());
    }
    let program = Program::parse(NDP.compiled, &document.to_string())?;
    let mut finders = Vec::new();
    for vector in vectors {
        let mut choices = vector.choices(PROFILE)?;
        if let Settings(change) = mutant {
            change(&mut choices);
        }
        let mut switch = Switch::new(&program, PRIORITIES);
        switch.configure(&(tables.clone() + &settings(&choices)?))?;
        if Bench::new(switch).run(vector).is_err() {
            finders.push(vector.file.clone());
        }
    }
    Ok(finders)
}
