//! Mistakes in the control plane's settings, in the tables or in the compiled program, which at least one vector of
//! detours must find. The list is in p4/README.md.

use std::path::Path;

use serde_json::{Value, json};

use super::bench::{Bench, Setup, frame_of};
use crate::bmv2::Program;
use crate::detours::{Config, PORTS, Vector, read_all};
use crate::p4::OPF;
use crate::p4::change::{
    Found, actions, assigns, conditions, each_object, is, metadata, replace_field,
    replace_operation, replace_operations, replace_read, sorted_out, without,
};
use crate::vectors::read;

enum Mutant {
    Set(fn(&mut Setup, &Config)),
    /// A DSCP that is wrongly taken for unscheduled data, or one that is missing.
    Marks(&'static str),
    Lacks(&'static str),
    InProgram(fn(&mut Value)),
}

use Mutant::{InProgram, Lacks, Marks, Set};

const MUTANTS: [(&str, Mutant); 43] = [
    (
        "the threshold is one less",
        Set(|setup, _| setup.threshold = setup.threshold.saturating_sub(1)),
    ),
    ("the threshold is one more", Set(|setup, _| setup.threshold += 1)),
    ("the limit is one less", Set(|setup, _| setup.limit = setup.limit.saturating_sub(1))),
    ("the limit is one more", Set(|setup, _| setup.limit += 1)),
    ("MAX_TTL is one less than the hosts'", Set(|setup, _| setup.max_time_to_live -= 1)),
    ("MAX_TTL is one more than the hosts'", Set(|setup, _| setup.max_time_to_live += 1)),
    (
        "a port to a host is drawn",
        Set(|setup, config| {
            let targets = (0..PORTS).filter(|&port| !config.dead[port]).collect();
            *setup = Setup::among(targets, config);
        }),
    ),
    (
        "a dead link is drawn",
        Set(|setup, config| {
            let targets = (0..PORTS).filter(|&port| config.to_switch[port]).collect();
            *setup = Setup::among(targets, config);
        }),
    ),
    ("the input is drawn", Set(|setup, _| setup.inputs.clear())),
    ("its own port is drawn", Set(|setup, _| setup.owns.clear())),
    (
        "a target is missing",
        Set(|setup, config| {
            let mut targets = setup.targets.clone();
            targets.pop();
            *setup = Setup::among(targets, config);
        }),
    ),
    ("scheduled data is deflected", Marks("10")),
    ("headers are deflected", Marks("50")),
    ("control packets are deflected", Marks("48")),
    ("the mark of what may be trimmed is not known", Lacks("3")),
    ("the mark of what may only be dropped is not known", Lacks("5")),
    ("the mark beside a priority is not known", Lacks("27")),
    (
        "nobody asks for the mark",
        InProgram(|program| {
            for condition in conditions(program, &metadata("unscheduled")) {
                replace_operation(condition, "==", "<=");
            }
        }),
    ),
    (
        "a queue of the threshold is hot",
        InProgram(|program| {
            for condition in conditions(program, &metadata("threshold")) {
                replace_operation(condition, ">", ">=");
            }
        }),
    ),
    (
        "every port is hot",
        InProgram(|program| {
            for condition in conditions(program, &metadata("threshold")) {
                condition["false_next"] = condition["true_next"].clone();
            }
        }),
    ),
    (
        "no port is hot",
        InProgram(|program| {
            for condition in conditions(program, &metadata("threshold")) {
                condition["true_next"] = condition["false_next"].clone();
            }
        }),
    ),
    (
        "deflected once more at the limit",
        InProgram(|program| {
            for condition in conditions(program, &metadata("limit")) {
                replace_operation(condition, "<", "<=");
            }
        }),
    ),
    (
        "no limit",
        InProgram(|program| {
            for condition in conditions(program, &metadata("limit")) {
                replace_operation(condition, "<", "!=");
            }
        }),
    ),
    (
        "the length of the input is looked at",
        InProgram(|program| {
            let input = json!(["standard_metadata", "ingress_port"]);
            replace_read(program, "ingress.look_at_own", &metadata("port"), &input);
        }),
    ),
    (
        "drawn where no port is left",
        InProgram(|program| {
            for condition in conditions(program, &metadata("candidates")) {
                condition["false_next"] = condition["true_next"].clone();
            }
        }),
    ),
    ("an input that is its own port is left out twice", InProgram(left_out_twice)),
    ("one port is drawn", InProgram(one_draw)),
    ("drawn without replacement", InProgram(|program| bound(program, 1, -1))),
    ("a draw may give a place too many", InProgram(|program| bound(program, 0, 1))),
    (
        "the lower place is not stepped over",
        InProgram(|program| {
            replace_read(program, "ingress.draw", &metadata("lower"), &metadata("upper"));
        }),
    ),
    (
        "the higher place is not stepped over",
        InProgram(|program| {
            replace_read(program, "ingress.draw", &metadata("upper"), &metadata("lower"));
        }),
    ),
    (
        "the longer of both is chosen",
        InProgram(|program| replace_operations(program, "ingress.deflect", "<", ">")),
    ),
    (
        "of equals the second is chosen",
        InProgram(|program| replace_operations(program, "ingress.deflect", "<", "<=")),
    ),
    (
        "always the first is chosen",
        InProgram(|program| {
            let (first, second) = (metadata("first_port"), metadata("second_port"));
            replace_read(program, "ingress.deflect", &second, &first);
        }),
    ),
    (
        "always the second is chosen",
        InProgram(|program| {
            let (first, second) = (metadata("first_port"), metadata("second_port"));
            replace_read(program, "ingress.deflect", &first, &second);
        }),
    ),
    (
        "nothing that is deflected is counted",
        InProgram(|program| without(program, "ingress.deflect", is("register_write"))),
    ),
    (
        "the TTL stays",
        InProgram(|program| {
            without(program, "ingress.leave_ipv4", assigns("ipv4", "time_to_live"));
        }),
    ),
    (
        "the IPv4 checksum is not mended",
        InProgram(|program| without(program, "ingress.leave_ipv4", assigns("ipv4", "checksum"))),
    ),
    (
        "the register is not written",
        InProgram(|program| without(program, "egress.write_length", is("register_write"))),
    ),
    ("the register is written a departure late", InProgram(written_late)),
    (
        "the register is that of the input",
        InProgram(|program| {
            let [egress, ingress] =
                ["egress_port", "ingress_port"].map(|port| json!(["standard_metadata", port]));
            replace_read(program, "egress.write_length", &egress, &ingress);
        }),
    ),
    (
        "the register leaves the packet out",
        InProgram(|program| {
            for action in actions(program, "egress.write_length") {
                replace_field(action, &json!("0x00000001"), &json!("0x00000000"));
            }
        }),
    ),
    (
        "the register holds what the packet found",
        InProgram(|program| {
            let [left, found] =
                ["deq_qdepth", "enq_qdepth"].map(|depth| json!(["standard_metadata", depth]));
            replace_read(program, "egress.write_length", &left, &found);
        }),
    ),
];

/// Changes only the comparison of two places. Each is also compared with a constant, the place of no target.
fn left_out_twice(program: &mut Value) {
    for action in actions(program, "ingress.count_candidates") {
        each_object(action, &mut |object| {
            let is_of_both = object.get("right").is_some_and(|right| right["type"] != "hexstr");
            if is_of_both && object.get("op").is_some_and(|op| op == "==") {
                object.insert("op".to_owned(), json!("<"));
            }
        });
    }
}

fn draws(program: &mut Value) -> impl Iterator<Item = &mut Value> {
    let primitives = actions(program, "ingress.draw")
        .flat_map(|action| action["primitives"].as_array_mut().into_iter().flatten());
    primitives.filter(|primitive| is("modify_field_rng_uniform")(primitive))
}

/// Uses the first draw for both.
fn one_draw(program: &mut Value) {
    let drawn: Vec<Value> =
        draws(program).map(|draw| draw["parameters"][0]["value"].clone()).collect();
    if let [first, second] = &drawn[..] {
        let is_second = |primitive: &Value| primitive["parameters"][0]["value"] == *second;
        without(program, "ingress.draw", |primitive| {
            is("modify_field_rng_uniform")(primitive) && is_second(primitive)
        });
        replace_read(program, "ingress.draw", second, first);
    }
}

/// Shifts the upper bound of a draw.
fn bound(program: &mut Value, which: usize, by: i8) {
    if let Some(draw) = draws(program).nth(which) {
        let high = draw["parameters"][2].clone();
        let op = if by < 0 { "-" } else { "+" };
        let one = json!({"type": "hexstr", "value": "0x0001"});
        let moved = json!({"op": op, "left": high, "right": one});
        draw["parameters"][2] = json!({"type": "expression", "value": moved});
    }
}

/// Writes the value of the previous departure, kept in `refused` of the port, which no vector reads.
fn written_late(program: &mut Value) {
    let kept = json!({"type": "register_array", "value": "refused"});
    let before = json!({"type": "field", "value": metadata("length")});
    for action in actions(program, "egress.write_length") {
        let primitives = action["primitives"].as_array_mut().expect("a list");
        let Some(at) = primitives.iter().position(is("register_write")) else { continue };
        let parameters = &mut primitives[at]["parameters"];
        let (index, now) = (parameters[1].clone(), parameters[2].clone());
        parameters[2] = before.clone();
        let reads = json!({"op": "register_read", "parameters": [before, kept, index]});
        let writes = json!({"op": "register_write", "parameters": [kept, index, now]});
        primitives.splice(at..at, [reads, writes]);
    }
}

/// Returns the vectors that find each mistake, or a line per mistake without any.
pub(in crate::p4) fn check_all(root: &Path) -> Result<Vec<Found>, Vec<String>> {
    let read_all = || -> Result<(String, String, Vec<Vector>), String> {
        let file = |name: &str| read(root, Path::new(name));
        Ok((file(OPF.compiled)?, file(OPF.tables)?, read_all(root)?))
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
    let mark = |dscp: &str| format!("table_add ingress.unscheduled_dscp ingress.mark {dscp} =>\n");
    let is_of_vector = match mutant {
        Set(_) => true,
        Marks(dscp) => {
            tables.push_str(&mark(dscp));
            false
        }
        Lacks(dscp) => {
            tables = tables.replace(&mark(dscp), "");
            false
        }
        InProgram(change) => {
            change(&mut document);
            false
        }
    };
    if !is_of_vector && (&document, &tables) == (&unchanged.0, &unchanged.1) {
        return Err("the program has no such place".to_owned());
    }
    let program = Program::parse(OPF.compiled, &document.to_string())?;
    let mut finders = Vec::new();
    for vector in vectors {
        let mut setup = Setup::of(&vector.config);
        if let Set(change) = mutant {
            change(&mut setup, &vector.config);
        }
        if Bench::new(&program, &tables, &setup, frame_of)?.run(vector).is_err() {
            finders.push(vector.file.clone());
        }
    }
    Ok(finders)
}
