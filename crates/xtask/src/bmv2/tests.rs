//! The interpreter against the format's documents, on a program of a few lines.

use serde_json::{Value, json};

use super::node::Node;
use super::{Draw, Program, Switch};

fn field(header: &str, member: &str) -> Value {
    json!({"type": "field", "value": [header, member]})
}

fn number(text: &str) -> Value {
    json!({"type": "hexstr", "value": text})
}

fn operation(op: &str, left: Value, right: Value) -> Value {
    json!({"type": "expression", "value": {"op": op, "left": left, "right": right}})
}

fn primitive(op: &str, parameters: &[Value]) -> Value {
    json!({"op": op, "parameters": parameters})
}

fn action(id: u64, name: &str, widths: &[u64], primitives: &[Value]) -> Value {
    let data = |bits: &u64| json!({"name": "parameter", "bitwidth": bits});
    let data: Vec<Value> = widths.iter().map(data).collect();
    json!({"name": name, "id": id, "runtime_data": data, "primitives": primitives})
}

/// A header of four bytes: a, b and a checksum over both. Packets with 1 or 2 as `a` are looked up by `b`.
fn document() -> Value {
    let local = |index: u64| json!({"type": "runtime_data", "value": index});
    let seen = json!({"type": "register_array", "value": "seen"});
    let count = operation("+", field("scalars", "count"), number("0x01"));
    let count = operation("&", count, number("0xff"));
    json!({
        "__meta__": {"version": [2, 23], "compiler": "none"},
        "header_types": [
            {"name": "scalars_0", "id": 0, "fields": [["count", 8, false], ["_padding", 8, false]]},
            {"name": "standard_metadata", "id": 1, "fields": [
                ["ingress_port", 9, false], ["egress_spec", 9, false], ["egress_port", 9, false],
                ["packet_length", 32, false], ["parser_error", 32, false], ["checksum_error", 1, false],
                ["priority", 3, false], ["deq_qdepth", 19, false], ["_padding", 5, false]]},
            {"name": "h_t", "id": 2, "fields": [["a", 8, false], ["b", 8, false], ["sum", 16, false]]},
        ],
        "headers": [
            {"name": "scalars", "id": 0, "header_type": "scalars_0", "metadata": true},
            {"name": "standard_metadata", "id": 1, "header_type": "standard_metadata", "metadata": true},
            {"name": "h", "id": 2, "header_type": "h_t", "metadata": false},
        ],
        "header_stacks": [],
        "errors": [["NoError", 0], ["PacketTooShort", 1]],
        "parsers": [{"name": "parser", "id": 0, "init_state": "start", "parse_states": [
            {"name": "start", "id": 0,
             "parser_ops": [{"op": "extract", "parameters": [{"type": "regular", "value": "h"}]}],
             "transition_key": [field("h", "a")],
             "transitions": [
                {"type": "hexstr", "value": "0x01", "mask": null, "next_state": null},
                {"type": "hexstr", "value": "0x02", "mask": "0x0e", "next_state": "more"},
                {"type": "default", "value": null, "mask": null, "next_state": null}]},
            {"name": "more", "id": 1,
             "parser_ops": [{"op": "set", "parameters": [field("scalars", "count"), number("0x7")]}],
             "transition_key": [],
             "transitions": [{"value": "default", "mask": null, "next_state": null}]},
        ]}],
        "deparsers": [{"name": "deparser", "id": 0, "order": ["h"]}],
        "calculations": [{"name": "calc", "id": 0, "algo": "csum16", "input": [
            field("h", "a"), field("h", "b"),
            {"type": "hexstr", "value": "0x0001", "bitwidth": 16}]}],
        "checksums": [{"name": "cksum", "id": 0, "target": ["h", "sum"], "type": "generic",
            "calculation": "calc", "verify": false, "update": true, "if_cond": {
                "type": "expression", "value": {"op": "valid", "left": null,
                    "right": {"type": "header", "value": "h"}}}}],
        "register_arrays": [{"name": "seen", "id": 0, "size": 4, "bitwidth": 8}],
        "actions": [
            action(0, "go", &[9, 3], &[
                primitive("assign", &[field("standard_metadata", "egress_spec"), local(0)]),
                primitive("assign", &[field("standard_metadata", "priority"), local(1)]),
                primitive("register_read", &[field("scalars", "count"), seen.clone(), number("0x2")]),
                primitive("register_write", &[seen, number("0x2"),
                    json!({"type": "expression", "value": count})]),
            ]),
            action(1, "lose", &[], &[primitive("mark_to_drop", &[
                json!({"type": "header", "value": "standard_metadata"})])]),
            action(2, "cut", &[8], &[primitive("truncate", &[local(0)])]),
        ],
        "pipelines": [
            {"name": "ingress", "id": 0, "init_table": "known", "action_profiles": [],
             "conditionals": [{"name": "known", "id": 0, "true_next": "t", "false_next": null,
                "expression": operation("<=", field("h", "a"), number("0x02"))}],
             "tables": [{"name": "t", "id": 0, "match_type": "lpm", "type": "simple", "max_size": 3,
                "key": [{"match_type": "lpm", "target": ["h", "b"], "mask": null}],
                "action_ids": [0, 1], "actions": ["go", "lose"],
                "next_tables": {"go": null, "lose": null},
                "default_entry": {"action_id": 1, "action_const": false, "action_data": [],
                    "action_entry_const": false}}]},
            {"name": "egress", "id": 1, "init_table": "c", "action_profiles": [], "conditionals": [],
             "tables": [{"name": "c", "id": 1, "match_type": "exact", "type": "simple", "max_size": 3,
                "key": [{"match_type": "exact", "target": ["h", "a"], "mask": null}],
                "action_ids": [2], "actions": ["cut"],
                "next_tables": {"__HIT__": null, "__MISS__": null},
                "default_entry": {"action_id": 2, "action_const": true, "action_data": ["0xff"],
                    "action_entry_const": true}}]},
        ],
        "field_aliases": [
            ["intrinsic_metadata.priority", ["standard_metadata", "priority"]],
            ["queueing_metadata.deq_qdepth", ["standard_metadata", "deq_qdepth"]],
        ],
    })
}

fn program(document: &Value) -> Result<Program, String> {
    Program::parse("f.json", &document.to_string())
}

const TABLES: &str = "table_add t go 0x40/2 => 1 0\ntable_add t go 0x48/5 => 2 1 # longer\n";

/// Sends one frame through, and compares frame and port.
#[track_caller]
fn check(document: &Value, frame: &[u8], expected: Option<(u64, &[u8])>) {
    let program = program(document).unwrap();
    let mut switch = Switch::new(&program, 2);
    switch.configure(TABLES).unwrap();
    let queued = switch.receive(3, frame).unwrap();
    assert_eq!(queued, expected.map(|(port, _)| port));
    if let Some((port, expected)) = expected {
        let queued = switch.take(port).expect("it is queued at that port");
        assert_eq!(switch.preview(port, &queued).unwrap().unwrap(), expected);
        assert_eq!(switch.send(port, queued).unwrap().unwrap(), expected);
    }
}

#[test]
fn the_longest_prefix_decides_and_the_checksum_is_written() {
    // 0x0141 and 0x0001: the sum is 0x0142.
    check(&document(), &[1, 0x41, 9, 9, 5, 6], Some((1, &[1, 0x41, 0xfe, 0xbd, 5, 6])));
    check(&document(), &[1, 0x49, 9, 9], Some((2, &[1, 0x49, 0xfe, 0xb5])));
    check(&document(), &[1, 0x80, 9, 9], None);
}

#[test]
fn a_frame_too_short_for_its_header_is_not_changed() {
    // There is no header, so `a` is 0 and the table is looked up with 0, which no prefix has.
    check(&document(), &[1, 0x41, 9], None);
    let mut document = document();
    *document.pointer_mut("/pipelines/0/conditionals/0/expression").unwrap() =
        operation("==", field("standard_metadata", "parser_error"), number("0x00"));
    check(&document, &[1, 0x41, 9], Some((0, &[1, 0x41, 9])));
    check(&document, &[1, 0x41, 0, 0], Some((1, &[1, 0x41, 0xfe, 0xbd])));
}

#[test]
fn a_condition_leads_two_ways() {
    check(&document(), &[3, 0x41, 0, 0], Some((0, &[3, 0x41, 0xfc, 0xbd])));
}

#[test]
fn a_wrong_checksum_is_seen_where_it_is_verified() {
    let mut document = document();
    *document.pointer_mut("/checksums/0/verify").unwrap() = json!(true);
    *document.pointer_mut("/pipelines/0/conditionals/0/expression").unwrap() =
        operation("==", field("standard_metadata", "checksum_error"), number("0x01"));
    check(&document, &[1, 0x41, 0xfe, 0xbd], Some((0, &[1, 0x41, 0xfe, 0xbd])));
    check(&document, &[1, 0x41, 0xfe, 0xbe], Some((1, &[1, 0x41, 0xfe, 0xbd])));
}

#[test]
fn a_truncated_packet_has_no_more_bytes() {
    let mut document = document();
    *document.pointer_mut("/pipelines/1/tables/0/default_entry/action_data/0").unwrap() =
        json!("0x5");
    check(&document, &[1, 0x41, 0, 0, 5, 6], Some((1, &[1, 0x41, 0xfe, 0xbd, 5])));
    check(&document, &[1, 0x41, 0, 0], Some((1, &[1, 0x41, 0xfe, 0xbd])));
}

#[test]
fn the_higher_priority_leaves_first_and_registers_count() {
    let program = program(&document()).unwrap();
    let mut switch = Switch::new(&program, 2);
    switch.configure("table_add t go 0x40/4 => 1 0\ntable_add t go 0x50/4 => 1 1\n").unwrap();
    for b in [0x41, 0x42, 0x51, 0x43, 0x52] {
        assert!(switch.receive(0, &[1, b, 0, 0]).unwrap().is_some());
    }
    let mut left = Vec::new();
    while let Some(queued) = switch.take(1) {
        left.push(switch.send(1, queued).unwrap().unwrap()[1]);
    }
    assert_eq!(left, [0x51, 0x52, 0x41, 0x42, 0x43]);
    assert_eq!(switch.registers("seen").unwrap(), [0, 0, 5, 0]);
    assert!(switch.register("seen", 4).is_err() && switch.registers("luck").is_err());
    switch.configure("register_write seen 2 255").unwrap();
    assert!(switch.receive(0, &[1, 0x41, 0, 0]).unwrap().is_some());
    assert_eq!(switch.register("seen", 2).unwrap(), 0, "a cell has eight bits");
}

#[test]
fn a_register_has_no_cell_behind_its_end() {
    let mut document = document();
    *document.pointer_mut("/actions/0/primitives/2/parameters/2").unwrap() = number("0x4");
    let program = program(&document).unwrap();
    let mut switch = Switch::new(&program, 2);
    switch.configure(TABLES).unwrap();
    let error = switch.receive(0, &[1, 0x41, 0, 0]).unwrap_err();
    assert_eq!(error, "table t: action go: register seen has no cell 4");
}

/// The document whose action `go` does something else first.
fn instead(op: &str, parameters: &[Value]) -> Value {
    let mut document = document();
    *document.pointer_mut("/actions/0/primitives/0").unwrap() = primitive(op, parameters);
    document
}

#[test]
fn what_is_drawn_was_laid_out() {
    let port = field("standard_metadata", "egress_spec");
    let document = instead("modify_field_rng_uniform", &[port, number("0x1"), field("h", "a")]);
    let program = program(&document).unwrap();
    let mut switch = Switch::new(&program, 2);
    switch.configure(TABLES).unwrap();
    let mut draw = |draw: Option<(u64, u64, u64)>| {
        if let Some((value, low, high)) = draw {
            switch.lay_out(Draw { value, low, high });
        }
        let outcome = switch.receive(0, &[1, 0x41, 0, 0]);
        assert_eq!(switch.undrawn(), 0);
        outcome.map_err(|error| error.replace("table t: action go: a draw from 1 to 1", ""))
    };
    assert_eq!(draw(Some((1, 1, 1))), Ok(Some(1)));
    assert_eq!(draw(None), Err(", which is not laid out".to_owned()));
    assert_eq!(draw(Some((1, 1, 2))), Err(", not from 1 to 2".to_owned()));
    assert_eq!(draw(Some((1, 0, 1))), Err(", not from 0 to 1".to_owned()));
    assert_eq!(draw(Some((2, 1, 1))), Err(" does not give 2".to_owned()));
}

#[test]
fn a_hash_is_of_valid_headers_and_has_a_base_and_a_size() {
    let hash = |size: &str| {
        let port = field("standard_metadata", "egress_spec");
        let calculation = json!({"type": "calculation", "value": "hash"});
        let parameters = [port, number("0x7"), calculation, number(size)];
        let mut document = instead("modify_field_with_hash_based_offset", &parameters);
        document["calculations"].as_array_mut().unwrap().push(
            json!({"name": "hash", "id": 1, "algo": "crc32", "input": [field("h", "a"), field("h", "b")]}),
        );
        document
    };
    let port_of = |size: &str, frame: &[u8]| {
        let program = program(&hash(size)).unwrap();
        let mut switch = Switch::new(&program, 2);
        switch.configure(&format!("{TABLES}table_add t go 0x00/8 => 1 0\n")).unwrap();
        switch.receive(0, frame).unwrap()
    };
    // CRC-32 of the bytes 1 and 0x41 is 0x591952b8, of no bytes 0.
    assert_eq!(port_of("0x6", &[1, 0x41, 0, 0]), Some(9));
    assert_eq!(port_of("0x0", &[1, 0x41, 0, 0]), Some(7));
    assert_eq!(port_of("0x6", &[1]), Some(7));
    let mut document = hash("0x6");
    *document.pointer_mut("/actions/0/primitives/0/parameters/2/value").unwrap() = json!("luck");
    let error = program(&document).unwrap_err();
    assert!(error.ends_with("value expected the name of a calculation, not \"luck\""), "{error}");
}

#[test]
fn states_are_chosen_by_value_and_mask() {
    let mut document = document();
    // `count` is 7 after state "more".
    *document.pointer_mut("/pipelines/0/conditionals/0/expression").unwrap() =
        operation("==", field("scalars", "count"), number("0x07"));
    for (a, port) in [(1, 0), (2, 1), (3, 1), (4, 0), (0x12, 1), (0x0a, 0)] {
        let sum = !(u16::from(a) << 8 | 0x41).wrapping_add(1);
        let frame = [&[a, 0x41][..], &sum.to_be_bytes()].concat();
        check(&document, &frame, Some((port, &frame)));
    }
}

#[test]
fn a_parser_that_goes_round_is_found() {
    let mut document = document();
    *document.pointer_mut("/parsers/0/parse_states/1/transitions/0/next_state").unwrap() =
        json!("more");
    let program = program(&document).unwrap();
    let error = Switch::new(&program, 2).receive(0, &[2, 0, 0, 0]).unwrap_err();
    assert_eq!(error, "the parser does not come to an end");
}

/// Evaluates an expression, through the condition that it equals a number.
#[track_caller]
fn gives(expression: Value, expected: &str) {
    let mut document = document();
    *document.pointer_mut("/pipelines/0/conditionals/0/expression").unwrap() =
        operation("==", expression.clone(), number(expected));
    let program = program(&document).unwrap();
    let mut switch = Switch::new(&program, 2);
    switch.configure(TABLES).unwrap();
    // True leads to the table and to port 1, false to the end and to port 0.
    switch.receive(3, &[1, 0x41, 0x80, 0]).unwrap();
    assert!(switch.take(1).is_some(), "{expression} is not {expected}");
}

#[test]
fn expressions_are_of_infinite_precision() {
    let (a, b) = (|| field("h", "a"), || field("h", "b"));
    gives(operation("-", a(), b()), "-0x40");
    gives(operation("&", operation("-", a(), b()), number("0xff")), "0xc0");
    gives(operation("*", b(), b()), "0x1081");
    gives(operation("<<", b(), number("0x8")), "0x4100");
    gives(operation(">>", b(), number("0x4")), "0x4");
    gives(operation("|", a(), b()), "0x41");
    gives(operation("^", b(), number("0xff")), "0xbe");
    gives(operation("~", Value::Null, b()), "-0x42");
    let less = operation("<", a(), b());
    gives(operation("b2d", Value::Null, less.clone()), "0x1");
    gives(operation("not", Value::Null, less.clone()), "0x0");
    gives(operation("d2b", Value::Null, b()), "0x1");
    let and = operation("and", less.clone(), json!({"type": "bool", "value": false}));
    gives(and.clone(), "0x0");
    gives(operation("or", less.clone(), and), "0x1");
    gives(operation("valid", Value::Null, json!({"type": "header", "value": "h"})), "0x1");
    gives(field("h", "$valid$"), "0x1");
    let mut choice = operation("?", a(), b());
    choice["value"]["cond"] = operation(">", a(), b());
    gives(choice, "0x41");
}

/// The document with one value replaced is refused with these words.
#[track_caller]
fn refused(pointer: &str, value: Value, expected: &str) {
    let mut document = document();
    match document.pointer_mut(pointer) {
        Some(place) => *place = value,
        None => document[&pointer[1..]] = value,
    }
    assert_eq!(program(&document).unwrap_err(), format!("f.json: {expected}"));
}

#[test]
fn what_cannot_be_read_is_named_with_its_place() {
    refused(
        "/__meta__/version/0",
        json!(3),
        "__meta__ version[0] expected 2, the version that is read, not 3",
    );
    refused(
        "/header_stacks",
        json!([{"name": "s"}]),
        "header_stacks[0] is not supported: expected an empty list",
    );
    refused(
        "/counter_arrays",
        json!([{"name": "c"}]),
        "counter_arrays[0] is not supported: expected an empty list",
    );
    refused("/headers", json!(7), "headers expected an array, not 7");
    refused(
        "/actions/1/primitives/0",
        json!({"op": "drop"}),
        "actions[1] primitives[0] there is no \"parameters\"",
    );
    refused(
        "/actions/1/primitives/0/op",
        json!("clone_ingress_pkt_to_egress"),
        "actions[1] primitives[0] op expected assign, register_read, register_write, \
         modify_field_with_hash_based_offset, modify_field_rng_uniform, mark_to_drop, truncate or no_op, not \"clone_ingress_pkt_to_egress\"",
    );
    refused(
        "/actions/0/primitives/0/parameters/1/value",
        json!(2),
        "actions[0] primitives[0] parameters[1] value expected one of 2 parameters, not 2",
    );
    refused(
        "/actions/0/primitives/0/parameters/0/value/1",
        json!("luck"),
        "actions[0] primitives[0] parameters[0] value[1] expected a field of \"standard_metadata\", not \"luck\"",
    );
    refused(
        "/actions/0/primitives/2/parameters/1/value",
        json!("luck"),
        "actions[0] primitives[2] parameters[1] value expected the name of a register array, not \"luck\"",
    );
    refused(
        "/header_types/2/fields/0",
        json!(["a", 8, true]),
        "header_types[2] fields[0] signed fields are not supported",
    );
    refused(
        "/header_types/2/fields/0/1",
        json!("*"),
        "header_types[2] fields[0][1] expected 1 to 128 bits, not \"*\"",
    );
    refused(
        "/header_types/2/fields/0/1",
        json!(7),
        "headers[2] header_type a header has a whole number of bytes",
    );
    refused(
        "/parsers/0/parse_states/0/parser_ops/0/op",
        json!("extract_VL"),
        "parsers[0] parse_states[0] parser_ops[0] op expected extract, set or primitive, not \"extract_VL\"",
    );
    refused(
        "/parsers/0/parse_states/0/transitions/0/value",
        json!("0x0001"),
        "parsers[0] parse_states[0] transitions[0] value expected 1 bytes, as the key has, not \"0x0001\"",
    );
    refused(
        "/parsers/0/parse_states/0/transitions/1/next_state",
        json!("luck"),
        "parsers[0] parse_states[0] transitions[1] next_state expected the name of a state, not \"luck\"",
    );
    refused(
        "/calculations/0/algo",
        json!("crc16"),
        "calculations[0] algo expected csum16 or crc32, not \"crc16\"",
    );
    refused(
        "/pipelines/0/tables/0/key/0/match_type",
        json!("ternary"),
        "pipelines[0] tables[0] key[0] match_type expected exact or lpm, not \"ternary\"",
    );
    refused(
        "/pipelines/0/tables/0/type",
        json!("indirect"),
        "pipelines[0] tables[0] type expected simple, not \"indirect\"",
    );
    refused(
        "/pipelines/0/conditionals/0/true_next",
        json!("luck"),
        "pipelines[0] conditionals[0] true_next expected the name of a table or a conditional, not \"luck\"",
    );
    refused(
        "/pipelines/0/conditionals/0/expression/value/op",
        json!("two_comp_mod"),
        "pipelines[0] conditionals[0] expression value op expected an operation of +, -, *, <<, >>, ==, !=, <, <=, >, >=, \
         and, or, &, |, ^, not, ~, d2b, b2d, ?, valid, not \"two_comp_mod\"",
    );
    refused(
        "/pipelines/1/tables/0/default_entry/action_data/0",
        json!("0x100"),
        "pipelines[1] tables[0] default_entry action_data[0] expected a value of 8 bits, not \"0x100\"",
    );
    refused("/errors", json!([["NoError", 0]]), "errors there is no \"PacketTooShort\"");
    let error = Program::parse("f.json", "{").unwrap_err();
    assert!(error.starts_with("f.json: EOF while parsing"), "{error}");
}

#[test]
fn fields_of_128_bits_are_not_reckoned_with() {
    let mut document = document();
    let fields =
        json!([["a", 8, false], ["b", 8, false], ["sum", 16, false], ["wide", 128, false]]);
    *document.pointer_mut("/header_types/2/fields").unwrap() = fields;
    let condition = "/pipelines/0/conditionals/0/expression";
    *document.pointer_mut(condition).unwrap() =
        operation("==", field("h", "wide"), number("0xffffffffffffffffffffffffffffffff"));
    let frame = [&[1, 0x41, 0xfe, 0xbd][..], &[0xff; 16]].concat();
    check(&document, &frame, Some((1, &frame)));
    *document.pointer_mut(condition).unwrap() = operation("<", field("h", "wide"), number("0x1"));
    let error = program(&document).unwrap_err();
    assert!(
        error.ends_with("fields of 128 bits are copied and matched, not reckoned with"),
        "{error}"
    );
}

#[test]
fn commands_that_cannot_be_obeyed_name_their_line() {
    let program = program(&document()).unwrap();
    let obey = |line: &str| {
        let mut switch = Switch::new(&program, 2);
        switch.configure(&format!("# head\n{line}\n")).unwrap_err()
    };
    assert_eq!(
        obey("jump t"),
        "2: expected table_add, table_set_default, table_clear or register_write, not \"jump t\""
    );
    assert_eq!(obey("table_add u go 1/8 => 1 0"), "2: there is no table \"u\"");
    assert_eq!(obey("table_add t cut 1/8 => 1"), "2: table t has no action \"cut\"");
    assert_eq!(obey("table_add t go 1/8 1 0"), "2: expected \"=>\" behind the key");
    assert_eq!(obey("table_add t go 1/8 2/8 => 1 0"), "2: table t has a key of 1 parts, not 2");
    assert_eq!(obey("table_add t go 1/9 => 1 0"), "2: expected VALUE/0..8, not \"1/9\"");
    assert_eq!(obey("table_add t go 256/8 => 1 0"), "2: expected a value of 8 bits, not \"256\"");
    assert_eq!(obey("table_add t go 1/8 => 1"), "2: action go has 2 parameters, not 1");
    assert_eq!(obey("table_set_default c cut 1"), "2: the default of table c is fixed");
    let twice = "table_add t go 1/8 => 1 0\ntable_add t go 1/8 => 2 0";
    assert_eq!(obey(twice), "3: table t has this key already");
    let mut switch = Switch::new(&program, 2);
    switch.configure(&format!("{TABLES}table_clear t\n{TABLES}")).unwrap();
    assert_eq!(obey("table_clear u"), "2: there is no table \"u\"");
    let many: String = (0..4).map(|b| format!("table_add t go {b}/8 => 1 0\n")).collect();
    assert_eq!(obey(&many), "5: table t is full: 3 entries");
}

#[test]
fn hexadecimal_strings_are_numbers_and_bytes() {
    let read = |text: &str| Node::root(&json!(text), "f").hexadecimal();
    assert_eq!(read("0x0010"), Ok((false, 16)));
    assert_eq!(read("-0x1"), Ok((true, 1)));
    assert_eq!(read("7f"), Ok((false, 127)));
    assert!(read("0xg").is_err() && read("").is_err());
    let bytes = |text: &str| Node::root(&json!(text), "f").bytes();
    assert_eq!(bytes("0xaba03"), Ok(vec![0x0a, 0xba, 0x03]));
    assert!(bytes("0x+1").is_err());
}
