//! An interpreter of the JSON that p4c 1.2 writes for bmv2, as far as the programs in `p4/` use it. It executes a
//! compiled program on machines with neither compiler nor switch.
//!
//! Facts about the format are from bmv2's `JSON_format.md` and `simple_switch.md`. [`Program::read`] refuses what the
//! interpreter would ignore; [`Switch`] refuses a primitive that it does not have.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use serde_json::{Map, Value};

mod packet;
mod switch;
#[cfg(test)]
mod tests;

pub(crate) use packet::Packet;
pub(crate) use switch::Switch;

/// Metadata of `simple_switch` that the interpreter has.
const STANDARD: &str = "ingress_port packet_length checksum_error egress_spec priority enq_qdepth deq_qdepth egress_port";

/// Lists that must be empty, since they are not interpreted.
const EMPTY: &str = "header_stacks header_unions header_union_stacks parse_vsets meter_arrays counter_arrays learn_lists \
    extern_instances action_calls action_profiles entries";

fn has(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}

/// A field of a packet, by its place among all.
type Field = usize;

/// A number in hexadecimal digits.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Hex(u128);

impl TryFrom<String> for Hex {
    type Error = String;
    fn try_from(text: String) -> Result<Hex, String> {
        let digits = u128::from_str_radix(text.strip_prefix("0x").unwrap_or(&text), 16);
        digits.map(Hex).map_err(|_| format!("expected a hexadecimal number, not {text:?}"))
    }
}

/// An operation on left and right; booleans are 0 and 1. The format's arithmetic has infinite precision, and p4c cuts
/// each result to its width: so has this one, modulo 2^128.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Operator(fn(u128, u128) -> u128);

impl TryFrom<String> for Operator {
    type Error = String;
    fn try_from(op: String) -> Result<Operator, String> {
        Ok(Operator(match op.as_str() {
            "+" => u128::wrapping_add,
            "-" => u128::wrapping_sub,
            ">>" => |left, right| left.checked_shr(right as u32).unwrap_or(0),
            "==" => |left, right| (left == right).into(),
            "!=" => |left, right| (left != right).into(),
            "<" => |left, right| (left < right).into(),
            "<=" => |left, right| (left <= right).into(),
            ">" => |left, right| (left > right).into(),
            ">=" => |left, right| (left >= right).into(),
            "and" => |left, right| (left != 0 && right != 0).into(),
            "or" => |left, right| (left != 0 || right != 0).into(),
            "not" => |_, right| (right == 0).into(),
            "&" => |left, right| left & right,
            "~" => |_, right| !right,
            "d2b" => |_, right| (right != 0).into(),
            // The condition decides before.
            "?" => |left, _| left,
            _ => return Err(format!("operation {op} is not supported")),
        }))
    }
}

#[derive(Deserialize)]
#[serde(tag = "type", content = "value", rename_all = "snake_case")]
enum Operand {
    Field(Field),
    Hexstr(Hex),
    /// A parameter of the action.
    RuntimeData(usize),
    Expression(Box<Operation>),
    RegisterArray(String),
    Calculation(String),
    Header(#[expect(dead_code, reason = "it is the target's metadata")] String),
    /// A header that a parser extracts.
    Regular(String),
}

impl Operand {
    fn value(&self, packet: &Packet<'_>, arguments: &[u128]) -> u128 {
        let value = |operand: &Operand| operand.value(packet, arguments);
        match self {
            Operand::Field(field) => packet.read(*field),
            Operand::Hexstr(number) => number.0,
            Operand::RuntimeData(index) => arguments[*index],
            Operand::Expression(operation) => {
                let Operation { op, left, right, cond } = &**operation;
                if cond.as_ref().is_some_and(|cond| value(cond) == 0) {
                    return value(right);
                }
                op.0(left.as_ref().map_or(0, value), value(right))
            }
            Operand::RegisterArray(_)
            | Operand::Calculation(_)
            | Operand::Header(_)
            | Operand::Regular(_) => {
                panic!("p4c writes no register, header or calculation into an expression")
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Match {
    Exact,
    Lpm,
}

/// Declares objects of the document, with the members that the interpreter reads.
macro_rules! objects {
    ($($(#[$meta:meta])* $name:ident { $($field:ident: $kind:ty),* })*) => {
        $($(#[$meta])* #[derive(Deserialize)] struct $name { $($field: $kind),* })*
    };
}

objects! {
    Operation { op: Operator, left: Option<Operand>, right: Operand, cond: Option<Operand> }
    /// An operand that must be a field.
    OfField { value: Field }

    /// A statement of an action or of a parser.
    Primitive { op: String, parameters: Vec<Operand> }
    Parameter { bitwidth: u32 }
    Action { name: String, runtime_data: Vec<Parameter>, primitives: Vec<Primitive> }

    /// The next node of an action is `None` at the end.
    Table {
        name: String, key: Vec<Key>, max_size: usize, actions: Vec<String>, action_ids: Vec<usize>,
        next_tables: BTreeMap<String, Option<String>>, default_entry: DefaultEntry
    }
    Key { match_type: Match, target: Field }
    DefaultEntry { action_id: usize, action_data: Vec<Hex>, action_entry_const: bool }
    Conditional {
        name: String, expression: Operand, true_next: Option<String>, false_next: Option<String>
    }
    Pipeline {
        name: String, init_table: Option<String>, tables: Vec<Table>, conditionals: Vec<Conditional>
    }

    Parser { init_state: Option<String>, parse_states: Vec<State> }
    State {
        name: String, parser_ops: Vec<Primitive>, transition_key: Vec<OfField>,
        transitions: Vec<Transition>
    }
    /// The value has the bytes of the key; `None` is any key.
    Transition { value: Option<Hex>, next_state: Option<String> }
    Deparser { order: Vec<String> }

    Calculation { name: String, algo: String, input: Vec<OfField> }
    Checksum {
        target: Field, calculation: String, if_cond: Operand, verify: bool, update: bool
    }
    RegisterArray { name: String, size: usize, bitwidth: u32 }

    /// A field has a name, bits, and may be signed.
    HeaderType { name: String, fields: Vec<(String, u32, bool)> }
    Header { name: String, header_type: String }
    Meta { version: (u64, u64) }
    /// The parts of a document that are read before fields are resolved.
    Head { __meta__: Meta, header_types: Vec<HeaderType>, headers: Vec<Header> }
}

/// A compiled program.
#[derive(Deserialize)]
pub(crate) struct Program {
    parsers: [Parser; 1],
    deparsers: [Deparser; 1],
    register_arrays: Vec<RegisterArray>,
    calculations: Vec<Calculation>,
    actions: Vec<Action>,
    pipelines: [Pipeline; 2],
    checksums: Vec<Checksum>,
    #[serde(skip)]
    names: Names,
}

/// The fields of a program.
#[derive(Default)]
struct Names {
    /// Bits of each field.
    widths: Vec<u32>,
    /// Fields by `HEADER.MEMBER`. `$valid$` says whether a packet has the header.
    fields: BTreeMap<String, Field>,
    /// Fields of each header, in order.
    headers: BTreeMap<String, Range<Field>>,
}

impl Program {
    pub(crate) fn read(mut document: Value) -> Result<Program, String> {
        let unreadable = |error: serde_json::Error| error.to_string();
        let head = Head::deserialize(&document).map_err(unreadable)?;
        let (major, _) = head.__meta__.version;
        if major != 2 {
            return Err(format!("expected version 2 of the format, not {major}"));
        }
        let names = Names::read(head)?;
        let mut resolved = Ok(());
        each_object(&mut document, &mut |object| {
            if resolved.is_ok() {
                resolved = names.resolve(object);
            }
        });
        resolved?;
        Ok(Program { names, ..Program::deserialize(document).map_err(unreadable)? })
    }

    pub(crate) fn register_names(&self) -> impl Iterator<Item = &str> {
        self.register_arrays.iter().map(|array| array.name.as_str())
    }
}

impl Names {
    fn read(head: Head) -> Result<Names, String> {
        let mut names = Names::default();
        for Header { name, header_type } in head.headers {
            let kind = head.header_types.iter().find(|known| known.name == header_type);
            let kind = kind.ok_or_else(|| format!("there is no header type {header_type:?}"))?;
            names.add(format!("{name}.$valid$"), 1);
            let first = names.widths.len();
            for (member, bits, is_signed) in &kind.fields {
                if *is_signed || *bits > 128 {
                    return Err(format!("expected an unsigned {name}.{member} of 1 to 128 bits"));
                }
                if name != "standard_metadata" || has(STANDARD, member) {
                    names.add(format!("{name}.{member}"), *bits);
                }
            }
            names.headers.insert(name, first..names.widths.len());
        }
        Ok(names)
    }

    fn add(&mut self, name: String, bits: u32) {
        self.fields.insert(name, self.widths.len());
        self.widths.push(bits);
    }

    /// Replaces the names of fields by their places. Refuses what the interpreter would ignore.
    fn resolve(&self, object: &mut Map<String, Value>) -> Result<(), String> {
        let is_ignored = |(key, value): &(&String, &Value)| match key.as_str() {
            "mask" | "direct_meters" => !value.is_null(),
            "with_counters" | "support_timeout" => **value != false,
            list => has(EMPTY, list) && value.as_array().is_none_or(|list| !list.is_empty()),
        };
        if let Some((key, value)) = object.iter().find(is_ignored) {
            return Err(format!("{key} is not supported: {value}"));
        }
        // p4c wraps an expression into another one if it is a parameter.
        while object.get("type").is_some_and(|kind| kind == "expression")
            && let Some(Value::Object(inner)) = object.get("value")
            && inner.contains_key("type")
        {
            *object = inner.clone();
        }
        let is_field = object.get("type").is_some_and(|kind| kind == "field");
        let Some(named) = object.get_mut(if is_field { "value" } else { "target" }) else {
            return Ok(());
        };
        if let (Some(header), Some(member)) = (named[0].as_str(), named[1].as_str()) {
            let name = format!("{header}.{member}");
            let field = self.fields.get(&name);
            *named = (*field.ok_or_else(|| format!("{name} is not supported"))?).into();
        }
        Ok(())
    }
}

/// Calls `change` with every object in a value.
pub(crate) fn each_object(value: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            change(object);
            object.values_mut().for_each(|value| each_object(value, change));
        }
        Value::Array(items) => items.iter_mut().for_each(|value| each_object(value, change)),
        _ => {}
    }
}
