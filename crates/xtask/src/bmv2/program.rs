//! A compiled program: the JSON that p4c writes for bmv2, as far as Trimline's programs use it. Anything else is
//! refused with its place, not ignored.

use std::collections::BTreeMap;

use serde_json::Value;

use super::action::{Action, Primitive};
use super::calculation::Calculation;
use super::expression::Expression;
use super::names::{Field, FieldRef, Header, Names, RegisterArray};
use super::node::Node;
use super::packet::mask;
use super::table::{Match, Next, Table};

/// Supported version of the format.
const MAJOR_VERSION: u64 = 2;

/// Lists that must be empty, since they are not interpreted.
const NOT_SUPPORTED: [&str; 8] = [
    "header_stacks",
    "header_unions",
    "header_union_stacks",
    "parse_vsets",
    "meter_arrays",
    "counter_arrays",
    "learn_lists",
    "extern_instances",
];

#[derive(Clone, Debug)]
pub(super) enum ParserOp {
    Extract(usize),
    Do(Primitive),
}

/// Value and mask, each as long as the key.
pub(super) type Masked = (Vec<u8>, Vec<u8>);

#[derive(Clone, Debug)]
pub(super) struct Transition {
    /// Required key; `None`: any key.
    pub(super) on: Option<Masked>,
    /// Next state; `None`: the parser is done.
    pub(super) next: Option<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) ops: Vec<ParserOp>,
    pub(super) key: Vec<FieldRef>,
    pub(super) transitions: Vec<Transition>,
}

#[derive(Clone, Debug)]
pub(super) struct Checksum {
    pub(super) target: FieldRef,
    pub(super) calculation: usize,
    pub(super) condition: Option<Expression>,
    pub(super) verify: bool,
    pub(super) update: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Conditional {
    pub(super) condition: Expression,
    pub(super) then: Option<Next>,
    pub(super) otherwise: Option<Next>,
}

/// A program, ready to run.
#[derive(Debug)]
pub(crate) struct Program {
    pub(super) headers: Vec<Header>,
    pub(super) states: Vec<State>,
    pub(super) first_state: Option<usize>,
    /// Number of `PacketTooShort` among the program's errors.
    pub(super) too_short: u128,
    pub(super) no_error: u128,
    pub(super) deparser: Vec<usize>,
    pub(super) calculations: Vec<Calculation>,
    pub(super) checksums: Vec<Checksum>,
    pub(super) registers: Vec<RegisterArray>,
    pub(super) actions: Vec<Action>,
    pub(super) tables: Vec<Table>,
    pub(super) conditionals: Vec<Conditional>,
    pub(super) ingress: Option<Next>,
    pub(super) egress: Option<Next>,
    pub(super) names: Names,
    /// Names of fields that the target uses.
    aliases: BTreeMap<String, FieldRef>,
}

impl Program {
    /// Reads a document; `file` is its name in errors. An error has place, expectation and finding.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Program, String> {
        let document: Value =
            serde_json::from_str(text).map_err(|error| format!("{file}: {error}"))?;
        Program::read(&Node::root(&document, file))
    }

    fn read(root: &Node) -> Result<Program, String> {
        let [major, _] = root.field("__meta__")?.field("version")?.tuple()?;
        if major.number()? != MAJOR_VERSION {
            return Err(major.expected(&format!("{MAJOR_VERSION}, the version that is read")));
        }
        for list in NOT_SUPPORTED {
            if let Some(first) = root
                .optional(list)
                .map(|list| list.items())
                .transpose()?
                .into_iter()
                .flatten()
                .next()
            {
                return Err(first.error("is not supported: expected an empty list"));
            }
        }
        let headers = read_headers(root)?;
        let registers = read_registers(root)?;
        let mut names = Names::new(&headers, &registers);
        let calculations = root.field("calculations")?.items()?;
        let read = |node| Calculation::read(node, &names);
        let calculations: Vec<Calculation> =
            calculations.iter().map(read).collect::<Result<_, _>>()?;
        names.know_calculations(calculations.iter().map(|known| known.name.clone()));
        let (states, first_state) = read_parser(root, &names)?;
        let order = only(root, "deparsers")?.field("order")?.items()?;
        let deparser = order.iter().map(|name| names.header(name)).collect::<Result<_, _>>()?;
        let actions = root.field("actions")?.items()?;
        let actions: Vec<Action> =
            actions.iter().map(|node| Action::read(node, &names)).collect::<Result<_, _>>()?;

        let mut nodes = Nodes::default();
        let pipelines = root.field("pipelines")?.items()?;
        for pipeline in &pipelines {
            nodes.name(pipeline)?;
        }
        let (mut tables, mut conditionals) = (Vec::new(), Vec::new());
        let (mut ingress, mut egress) = (None, None);
        for pipeline in &pipelines {
            for table in pipeline.field("tables")?.items()? {
                tables.push(Table::read(&table, &names, &actions, &nodes)?);
            }
            for conditional in pipeline.field("conditionals")?.items()? {
                conditionals.push(Conditional {
                    condition: Expression::read(&conditional.field("expression")?, &names, 0)?,
                    then: nodes.next(&conditional.field("true_next")?)?,
                    otherwise: nodes.next(&conditional.field("false_next")?)?,
                });
            }
            let first = nodes.next(&pipeline.field("init_table")?)?;
            match pipeline.field("name")?.text()? {
                "ingress" => ingress = first,
                "egress" => egress = first,
                _ => return Err(pipeline.field("name")?.expected("ingress or egress")),
            }
        }
        let mut aliases = BTreeMap::new();
        for alias in root.field("field_aliases")?.items()? {
            let [name, field] = alias.tuple()?;
            aliases.insert(name.text()?.to_owned(), names.field(&field)?);
        }
        Ok(Program {
            states,
            first_state,
            too_short: error_code(root, "PacketTooShort")?,
            no_error: error_code(root, "NoError")?,
            deparser,
            calculations,
            checksums: read_checksums(root, &names)?,
            headers,
            registers,
            actions,
            tables,
            conditionals,
            ingress,
            egress,
            names,
            aliases,
        })
    }

    /// Returns a field by the target's name or an alias.
    pub(super) fn target_field(&self, header: &str, member: &str) -> Option<FieldRef> {
        let alias = self.aliases.get(&format!("{header}.{member}")).copied();
        alias.or_else(|| self.names.field_named(header, member))
    }

    pub(super) fn register(&self, name: &str) -> Result<usize, String> {
        let known = self.names.register_named(name);
        known.ok_or_else(|| format!("the program has no register array {name:?}"))
    }
}

#[derive(Debug, Default)]
pub(super) struct Nodes {
    known: BTreeMap<String, Next>,
    tables: usize,
    conditionals: usize,
}

impl Nodes {
    fn name(&mut self, pipeline: &Node) -> Result<(), String> {
        for table in pipeline.field("tables")?.items()? {
            let name = table.field("name")?.text()?.to_owned();
            self.known.insert(name, Next::Table(self.tables));
            self.tables += 1;
        }
        for conditional in pipeline.field("conditionals")?.items()? {
            let name = conditional.field("name")?.text()?.to_owned();
            self.known.insert(name, Next::Conditional(self.conditionals));
            self.conditionals += 1;
        }
        let calls = pipeline.optional("action_calls").map(|calls| calls.items()).transpose()?;
        match calls.unwrap_or_default().first() {
            Some(call) => Err(call.error("is not supported: expected an empty list")),
            None => Ok(()),
        }
    }

    /// Returns the next node. `None`: null, the end.
    pub(super) fn next(&self, node: &Node) -> Result<Option<Next>, String> {
        let Some(name) = node.text_or_null()? else { return Ok(None) };
        let known = self.known.get(name).copied();
        known.map(Some).ok_or_else(|| node.expected("the name of a table or a conditional"))
    }
}

fn only<'a>(root: &Node<'a>, list: &str) -> Result<Node<'a>, String> {
    let [item] = root.field(list)?.tuple()?;
    Ok(item)
}

fn error_code(root: &Node, name: &str) -> Result<u128, String> {
    let errors = root.field("errors")?;
    for error in errors.items()? {
        let [known, code] = error.tuple()?;
        if known.text()? == name {
            return Ok(code.number()?.into());
        }
    }
    Err(errors.error(&format!("there is no {name:?}")))
}

fn read_headers(root: &Node) -> Result<Vec<Header>, String> {
    let mut types = BTreeMap::new();
    for header in root.field("header_types")?.items()? {
        let mut fields = Vec::new();
        for field in header.field("fields")?.items()? {
            let parts = field.items()?;
            let [name, bits, rest @ ..] = &parts[..] else {
                return Err(field.expected("name, bits and signedness"));
            };
            if let [signed] = rest
                && signed.boolean()?
            {
                return Err(field.error("signed fields are not supported"));
            }
            let expected = || bits.expected("1 to 128 bits");
            let width = u32::try_from(bits.number().map_err(|_| expected())?);
            let bits = width.ok().filter(|width| (1..=128).contains(width)).ok_or_else(expected)?;
            fields.push(Field { name: name.text()?.to_owned(), bits });
        }
        types.insert(header.field("name")?.text()?, fields);
    }
    let mut headers = Vec::new();
    for instance in root.field("headers")?.items()? {
        let kind = instance.field("header_type")?;
        let fields =
            types.get(kind.text()?).ok_or_else(|| kind.expected("the name of a header type"))?;
        let header = Header {
            name: instance.field("name")?.text()?.to_owned(),
            fields: fields.clone(),
            metadata: instance.field("metadata")?.boolean()?,
        };
        if !header.metadata && !header.bits().is_multiple_of(8) {
            return Err(kind.error("a header has a whole number of bytes"));
        }
        headers.push(header);
    }
    Ok(headers)
}

fn read_registers(root: &Node) -> Result<Vec<RegisterArray>, String> {
    let mut registers = Vec::new();
    for register in root.field("register_arrays")?.items()? {
        let width = register.field("bitwidth")?;
        let bits = u32::try_from(width.number()?).ok().filter(|bits| (1..=128).contains(bits));
        registers.push(RegisterArray {
            name: register.field("name")?.text()?.to_owned(),
            size: register.field("size")?.number()? as usize,
            bits: bits.ok_or_else(|| width.expected("1 to 128 bits"))?,
        });
    }
    Ok(registers)
}

fn read_parser(root: &Node, names: &Names) -> Result<(Vec<State>, Option<usize>), String> {
    let parser = only(root, "parsers")?;
    let nodes = parser.field("parse_states")?.items()?;
    let mut known = BTreeMap::new();
    for (index, state) in nodes.iter().enumerate() {
        known.insert(state.field("name")?.text()?, index);
    }
    let state_of = |node: &Node| -> Result<Option<usize>, String> {
        let Some(name) = node.text_or_null()? else { return Ok(None) };
        known.get(name).copied().map(Some).ok_or_else(|| node.expected("the name of a state"))
    };
    let mut states = Vec::new();
    for state in &nodes {
        let ops = state.field("parser_ops")?.items()?;
        let ops = ops.iter().map(|op| read_parser_op(op, names)).collect::<Result<_, _>>()?;
        let mut key = Vec::new();
        for part in state.field("transition_key")?.items()? {
            match part.field("type")?.text()? {
                "field" => key.push(names.field(&part.field("value")?)?),
                _ => return Err(part.field("type")?.expected("field")),
            }
        }
        let bytes: usize = key.iter().map(|field| field.bits.div_ceil(8) as usize).sum();
        let mut transitions = Vec::new();
        for transition in state.field("transitions")?.items()? {
            let next = state_of(&transition.field("next_state")?)?;
            transitions.push(Transition { on: read_transition(&transition, bytes)?, next });
        }
        states.push(State { ops, key, transitions });
    }
    Ok((states, state_of(&parser.field("init_state")?)?))
}

fn read_parser_op(op: &Node, names: &Names) -> Result<ParserOp, String> {
    let parameters = op.field("parameters")?;
    match op.field("op")?.text()? {
        "extract" => {
            let [header] = parameters.tuple()?;
            match header.field("type")?.text()? {
                "regular" => Ok(ParserOp::Extract(names.header(&header.field("value")?)?)),
                _ => Err(header.field("type")?.expected("regular")),
            }
        }
        "set" => Primitive::assign(&parameters, names, 0).map(ParserOp::Do),
        "primitive" => {
            let [primitive] = parameters.tuple()?;
            Primitive::read(&primitive, names, 0).map(ParserOp::Do)
        }
        _ => Err(op.field("op")?.expected("extract, set or primitive")),
    }
}

/// Reads the key of a transition; `None`: the default.
fn read_transition(node: &Node, bytes: usize) -> Result<Option<Masked>, String> {
    let value = node.field("value")?;
    // Older documents have no type, and "default" as value.
    let kind = node.optional("type").map(|kind| kind.text().map(str::to_owned)).transpose()?;
    let is_default = value.text_or_null()?.is_none_or(|value| value == "default");
    match kind.as_deref() {
        Some("default") => return Ok(None),
        None if is_default => return Ok(None),
        None | Some("hexstr") => {}
        Some(_) => return Err(node.field("type")?.expected("default or hexstr")),
    }
    let long = |node: &Node| -> Result<Vec<u8>, String> {
        let read = node.bytes()?;
        if read.len() == bytes {
            Ok(read)
        } else {
            Err(node.expected(&format!("{bytes} bytes, as the key has")))
        }
    };
    let mask = match node.optional("mask") {
        Some(mask) => long(&mask)?,
        None => vec![0xff; bytes],
    };
    Ok(Some((long(&value)?, mask)))
}

fn read_checksums(root: &Node, names: &Names) -> Result<Vec<Checksum>, String> {
    let mut checksums = Vec::new();
    for checksum in root.field("checksums")?.items()? {
        let condition = checksum.optional("if_cond");
        let flag = |key: &str| checksum.optional(key).map(|flag| flag.boolean()).transpose();
        checksums.push(Checksum {
            target: names.field(&checksum.field("target")?)?,
            calculation: names.calculation(&checksum.field("calculation")?)?,
            condition: condition.map(|node| Expression::read(&node, names, 0)).transpose()?,
            verify: flag("verify")?.unwrap_or(true),
            update: flag("update")?.unwrap_or(true),
        });
    }
    Ok(checksums)
}

impl Table {
    fn read(
        node: &Node,
        names: &Names,
        actions: &[Action],
        nodes: &Nodes,
    ) -> Result<Table, String> {
        let kind = node.field("type")?;
        if kind.text()? != "simple" {
            return Err(kind.expected("simple"));
        }
        let (mut key, mut prefixes) = (Vec::new(), 0);
        for part in node.field("key")?.items()? {
            let how = match part.field("match_type")?.text()? {
                "exact" => Match::Exact,
                "lpm" => Match::LongestPrefix,
                _ => return Err(part.field("match_type")?.expected("exact or lpm")),
            };
            prefixes += u32::from(how == Match::LongestPrefix);
            if let Some(mask) = part.optional("mask") {
                return Err(mask.error("masked keys are not supported"));
            }
            key.push((names.field(&part.field("target")?)?, how));
        }
        if prefixes > 1 {
            return Err(node.field("key")?.error("a table has one lpm key at most"));
        }
        let (action_names, ids) = (node.field("actions")?.items()?, node.field("action_ids")?);
        let mut known = Vec::new();
        for (name, id) in action_names.iter().zip(ids.items()?) {
            known.push((name.text()?.to_owned(), action_of(&id, actions)?));
        }
        let next = node.field("next_tables")?;
        let (hit, miss) = (next.field("__HIT__").ok(), next.field("__MISS__").ok());
        let mut next_of_action = BTreeMap::new();
        for (name, action) in &known {
            if let Ok(next) = next.field(name) {
                next_of_action.insert(*action, nodes.next(&next)?);
            } else if hit.is_none() && miss.is_none() {
                return Err(next.error(&format!("there is no {name:?}")));
            }
        }
        let next_of = |node: Option<Node>| node.map(|node| nodes.next(&node)).transpose();
        let entry = node.field("default_entry")?;
        let default = action_of(&entry.field("action_id")?, actions)?;
        let data = read_data(&entry.field("action_data")?, &actions[default])?;
        let is_const = entry.field("action_entry_const")?.boolean()?;
        if let Some(entries) = node.optional("entries")
            && let Some(first) = entries.items()?.first()
        {
            return Err(first.error("entries in the program are not supported"));
        }
        Ok(Table {
            name: node.field("name")?.text()?.to_owned(),
            key,
            actions: known,
            hit: next_of(hit)?,
            miss: next_of(miss)?,
            next: next_of_action,
            default: (default, data),
            default_is_const: is_const,
            capacity: node.field("max_size")?.number()? as usize,
        })
    }
}

fn action_of(id: &Node, actions: &[Action]) -> Result<usize, String> {
    let number = id.number()?;
    let known = actions.iter().position(|action| action.id == number);
    known.ok_or_else(|| id.expected("the id of an action"))
}

fn read_data(node: &Node, action: &Action) -> Result<Vec<u128>, String> {
    let items = node.items()?;
    if items.len() != action.parameters.len() {
        return Err(node.expected(&format!("{} arguments", action.parameters.len())));
    }
    let value = |(item, &bits): (&Node, &u32)| match item.unsigned()? {
        value if value <= mask(bits) => Ok(value),
        _ => Err(item.expected(&format!("a value of {bits} bits"))),
    };
    items.iter().zip(&action.parameters).map(value).collect()
}
