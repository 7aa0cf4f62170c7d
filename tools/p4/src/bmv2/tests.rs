use serde_json::{Value, json};

use super::packet::{crc32, internet_checksum};
use super::{Program, Switch};
use crate::claim::{Claim as _, KEPT, program};
use crate::opf::Opf;

/// OPF's program with one value replaced is refused with this error.
#[track_caller]
fn refused(pointer: &str, value: Value, expected: &str) {
    let text = std::fs::read_to_string(crate::root().join(KEPT).join(Opf::FILE)).unwrap();
    let mut document: Value = serde_json::from_str(&text).unwrap();
    *document.pointer_mut(pointer).unwrap() = value;
    let error = Program::read(document).err().unwrap();
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn unsupported_parts_of_a_program_are_refused() {
    refused("/__meta__/version/0", json!(3), "expected version 2 of the format, not 3");
    refused("/header_stacks", json!([{}]), "header_stacks is not supported: [{}]");
    refused("/header_types/2/fields/0/2", json!(true), "expected an unsigned ethernet.destination");
    let mask = "/parsers/0/parse_states/0/transitions/0/mask";
    refused(mask, json!("0xff"), "mask is not supported: \"0xff\"");
    let counters = "/pipelines/0/tables/0/with_counters";
    refused(counters, json!(true), "with_counters is not supported: true");
    let (target, group) = ("/pipelines/0/tables/0/key/0/target", "standard_metadata.mcast_grp");
    refused(
        target,
        json!(["standard_metadata", "mcast_grp"]),
        &format!("{group} is not supported"),
    );
    let operand = "/actions/0/primitives/0/parameters/0/type";
    refused(operand, json!("stack_field"), "unknown variant `stack_field`, expected one of");
    let condition = "/pipelines/0/conditionals/0/expression/value/op";
    refused(condition, json!("two_comp_mod"), "operation two_comp_mod is not supported");
}

#[test]
fn the_longest_prefix_matches() {
    let program = program::<Opf>(&crate::root(), KEPT).unwrap();
    let mut switch = Switch::new(&program, 1);
    for (prefix, port) in [("::/0", 1), ("fd00:2::1/128", 2), ("fd00:2::/32", 3), ("fd00::/16", 4)]
    {
        let command = format!("table_add ingress.ipv6_route ingress.forward {prefix} => {port}");
        switch.configure(&command).unwrap();
    }
    let ways = ["fd00:2::1", "fd00:2::2", "fd00:3::1", "fe00::1"].map(|destination| {
        let destination: std::net::Ipv6Addr = destination.parse().unwrap();
        let head = [0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, 59, 64];
        switch.receive(0, &[&[0; 12], &head[..], &[1; 16], &destination.octets()].concat()).unwrap()
    });
    assert_eq!(ways, [Some(2), Some(3), Some(4), Some(1)]);
}

#[test]
fn invalid_commands_name_their_line() {
    let program = program::<Opf>(&crate::root(), KEPT).unwrap();
    let mut switch = Switch::new(&program, 1);
    let add = |rest: &str| format!("table_add ingress.ipv4_route ingress.{rest}");
    switch.configure(&add("forward 10.0.0.0/16 => 1")).unwrap();
    for (command, expected) in [
        ("jump t", "expected a command, not \"jump t\""),
        ("table_add t go 1/8 => 1", "the program has no \"t\""),
        (&add("mark 1/8 =>"), "ingress.ipv4_route has no action \"ingress.mark\""),
        (&add("forward 1/8 1"), "expected \"=>\""),
        (&add("forward 1/8 2/8 => 1"), "ingress.ipv4_route has a key of 1 parts"),
        (&add("forward 10.0.0.0/33 => 1"), "expected 10.0.0.0/0..32"),
        (&add("forward 10.0.0.0/8 => 512"), "expected a value of 9 bits, not \"512\""),
        (&add("forward 10.0.0.0/8 =>"), "ingress.forward has 1 parameters"),
        (&add("forward 10.0.0.0/16 => 2"), "ingress.ipv4_route has this key already, or is full"),
        ("table_set_default tbl_refuse ingress.refuse", "the default of tbl_refuse is fixed"),
        ("register_write refused 512 1", "refused has no cell 512"),
    ] {
        let error = switch.configure(&format!("# head\n{command}\n")).unwrap_err();
        assert_eq!(error, format!("2: {expected}"));
    }
}

#[test]
fn checksums_match_published_check_values() {
    // Section 3 of RFC 1071: the sum of these is ddf2.
    assert_eq!(internet_checksum(&[0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
}
