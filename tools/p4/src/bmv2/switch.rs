//! bmv2's `simple_switch` around a program, without a clock: ingress, the queues of each port, egress.
//!
//! The caller decides the time: a packet leaves its queue when it is taken. The highest priority of a port is served
//! first (`--priority-queues`). Rates are not modelled, because bmv2 has them per queue and not per link. Clones,
//! multicast, resubmission and recirculation are not modelled; their primitives are refused.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use super::packet::{Packet, crc32, internet_checksum, mask};
use super::{Action, Checksum, Match, Operand, Primitive, Program, Table};

/// Packets to this port are dropped by `simple_switch`.
const DROP_PORT: u64 = 511;

/// An action with its arguments.
type Call<'p> = (&'p Action, Vec<u128>);

struct Contents<'p> {
    table: &'p Table,
    /// Value of each part of the key, and length of the prefix that counts; then the call.
    entries: Vec<(Vec<(u128, u32)>, Call<'p>)>,
    default: Call<'p>,
}

pub(crate) struct Switch<'p> {
    program: &'p Program,
    tables: BTreeMap<&'p str, Contents<'p>>,
    pub(crate) registers: BTreeMap<&'p str, Vec<u64>>,
    /// Scripted results of `random`, so that the effect on a program is known: each a number below a bound, for which
    /// the program must ask.
    pub(crate) draws: VecDeque<(u64, u64)>,
    /// Queues by port and priority.
    queues: BTreeMap<(u64, u64), VecDeque<Packet<'p>>>,
    priorities: u64,
}

/// Returns the item of a name.
fn named<T>(
    mut items: impl Iterator<Item = T>,
    name: impl Fn(&T) -> &str,
    wanted: &str,
) -> Result<T, String> {
    items.find(|item| name(item) == wanted).ok_or_else(|| format!("the program has no {wanted:?}"))
}

impl<'p> Switch<'p> {
    /// Creates an empty switch with `priorities` queues per port.
    pub(crate) fn new(program: &'p Program, priorities: u64) -> Switch<'p> {
        let tables = program.pipelines.iter().flat_map(|pipeline| &pipeline.tables).map(|table| {
            let default = &table.default_entry;
            let data = default.action_data.iter().map(|data| data.0).collect();
            let default = (&program.actions[default.action_id], data);
            (table.name.as_str(), Contents { table, entries: Vec::new(), default })
        });
        let registers = program.register_arrays.iter();
        Switch {
            program,
            tables: tables.collect(),
            registers: registers.map(|array| (array.name.as_str(), vec![0; array.size])).collect(),
            draws: VecDeque::new(),
            queues: BTreeMap::new(),
            priorities,
        }
    }

    /// Executes commands of `simple_switch_CLI`, one per line: `table_add TABLE ACTION KEY... => ARGUMENT...`,
    /// `table_set_default TABLE ACTION ARGUMENT...`, `table_clear TABLE` and `register_write ARRAY CELL VALUE`. An
    /// error names line and problem.
    pub(crate) fn configure(&mut self, commands: &str) -> Result<(), String> {
        for (index, line) in commands.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            self.obey(&words).map_err(|error| format!("{}: {error}", index + 1))?;
        }
        Ok(())
    }

    fn obey(&mut self, words: &[&str]) -> Result<(), String> {
        match words {
            [] => {}
            ["table_add", name, action, rest @ ..] => {
                let table = self.contents(name)?.table;
                let arrow = rest.iter().position(|word| *word == "=>");
                let (keys, arguments) = rest.split_at(arrow.ok_or("expected \"=>\"")?);
                if keys.len() != table.key.len() {
                    return Err(format!("{name} has a key of {} parts", table.key.len()));
                }
                let mut key = Vec::new();
                for (word, part) in keys.iter().zip(&table.key) {
                    let bits = self.program.names.widths[part.target];
                    let (word, prefix) = match (&part.match_type, word.split_once('/')) {
                        (Match::Lpm, Some((word, prefix))) => (word, prefix.parse().ok()),
                        (Match::Lpm, None) => (*word, None),
                        (Match::Exact, _) => (*word, Some(bits)),
                    };
                    let prefix = prefix.filter(|&prefix| prefix <= bits);
                    let prefix = prefix.ok_or_else(|| format!("expected {word}/0..{bits}"))?;
                    key.push((number(word, bits)?, prefix));
                }
                let call = self.call(table, action, &arguments[1..])?;
                let entries = &mut self.contents(name)?.entries;
                if entries.iter().any(|known| known.0 == key) || entries.len() == table.max_size {
                    return Err(format!("{name} has this key already, or is full"));
                }
                entries.push((key, call));
            }
            ["table_set_default", name, action, arguments @ ..] => {
                let table = self.contents(name)?.table;
                if table.default_entry.action_entry_const {
                    return Err(format!("the default of {name} is fixed"));
                }
                self.contents(name)?.default = self.call(table, action, arguments)?;
            }
            ["table_clear", name] => self.contents(name)?.entries.clear(),
            ["register_write", array, cell, value] => {
                self.write_register(array, number(cell, 64)?, number(value, 64)?)?;
            }
            _ => return Err(format!("expected a command, not {:?}", words.join(" "))),
        }
        Ok(())
    }

    fn contents(&mut self, table: &str) -> Result<&mut Contents<'p>, String> {
        self.tables.get_mut(table).ok_or_else(|| format!("the program has no {table:?}"))
    }

    fn call(&self, table: &Table, name: &str, words: &[&str]) -> Result<Call<'p>, String> {
        let known = table.actions.iter().position(|action| action == name);
        let known = known.ok_or_else(|| format!("{} has no action {name:?}", table.name))?;
        let action = &self.program.actions[table.action_ids[known]];
        let widths = &action.runtime_data;
        if words.len() != widths.len() {
            return Err(format!("{name} has {} parameters", widths.len()));
        }
        let values = words.iter().zip(widths).map(|(word, width)| number(word, width.bitwidth));
        Ok((action, values.collect::<Result<_, _>>()?))
    }

    fn write_register(&mut self, name: &str, cell: u128, value: u128) -> Result<(), String> {
        let array = named(self.program.register_arrays.iter(), |array| &array.name, name)?;
        let value = value & mask(array.bitwidth);
        let cells = self.registers.get_mut(name).expect("each array has cells");
        let cell = cells.get_mut(cell as usize).ok_or_else(|| format!("{name} has no cell {cell}"));
        *cell? = value as u64;
        Ok(())
    }

    pub(crate) fn register(&self, name: &str) -> Result<&[u64], String> {
        let cells = self.registers.get(name).map(Vec::as_slice);
        cells.ok_or_else(|| format!("the program has no {name:?}"))
    }

    /// Sends an arriving frame through ingress into a queue. Returns the port; `None` if the frame is dropped. Refuses
    /// what no switch can do.
    pub(crate) fn receive(&mut self, port: u64, frame: &[u8]) -> Result<Option<u64>, String> {
        let mut packet = Packet::new(&self.program.names, frame);
        packet.set_standard("ingress_port", port);
        packet.set_standard("packet_length", frame.len() as u64);
        self.parse(&mut packet)?;
        self.run("ingress", &mut packet)?;
        let (egress, priority) = (packet.standard("egress_spec"), packet.standard("priority"));
        if egress == DROP_PORT {
            return Ok(None);
        }
        if priority >= self.priorities {
            return Err(format!("priority {priority} of {} queues", self.priorities));
        }
        let queue = self.queues.entry((egress, priority)).or_default();
        packet.set_standard("enq_qdepth", queue.len() as u64);
        queue.push_back(packet);
        Ok(Some(egress))
    }

    /// Takes the next packet from the queues of a port, before egress.
    pub(crate) fn pop(&mut self, port: u64) -> Option<Packet<'p>> {
        let mut queues = self.queues.range_mut((port, 0)..(port + 1, 0)).rev();
        let queue = queues.find_map(|(_, queue)| (!queue.is_empty()).then_some(queue))?;
        let mut packet = queue.pop_front()?;
        packet.set_standard("deq_qdepth", queue.len() as u64);
        Some(packet)
    }

    /// Sends a taken packet through egress, and returns the frame. Refuses what no switch can do, and a drop.
    pub(crate) fn send(&mut self, port: u64, mut packet: Packet<'p>) -> Result<Vec<u8>, String> {
        packet.set_standard("egress_port", port);
        packet.set_standard("egress_spec", 0);
        self.run("egress", &mut packet)?;
        if packet.standard("egress_spec") == DROP_PORT {
            return Err(format!("egress of port {port} dropped a packet"));
        }
        for checksum in self.program.checksums.iter().filter(|checksum| checksum.update) {
            if let Some(sum) = self.checksum(checksum, &packet)? {
                packet.write(checksum.target, sum);
            }
        }
        let headers = self.program.deparsers[0].order.iter();
        let mut frame: Vec<u8> = headers.flat_map(|header| packet.emit(header)).collect();
        frame.extend_from_slice(&packet.payload);
        frame.truncate(packet.truncated);
        Ok(frame)
    }

    /// Parses a frame, and verifies its checksums. As in bmv2, parsing ends at a header that is cut off.
    fn parse(&mut self, packet: &mut Packet<'p>) -> Result<(), String> {
        let parser = &self.program.parsers[0];
        let mut next = parser.init_state.as_deref();
        'states: while let Some(name) = next {
            let state = named(parser.parse_states.iter(), |state| &state.name, name)?;
            for op in &state.parser_ops {
                match (op.op.as_str(), &op.parameters[..]) {
                    ("extract", [Operand::Regular(header)]) if packet.extract(header) => {}
                    ("extract", [Operand::Regular(_)]) => break 'states,
                    _ => self.step(op, packet, &[])?,
                }
            }
            // Each field of the key has bytes of its own.
            let key = state.transition_key.iter().fold(0, |key, field| {
                let bits = self.program.names.widths[field.value].next_multiple_of(8);
                key << bits | packet.read(field.value)
            });
            let mut transitions = state.transitions.iter();
            let taken = transitions.find(|to| to.value.as_ref().is_none_or(|value| value.0 == key));
            next = taken.and_then(|transition| transition.next_state.as_deref());
        }
        for checksum in self.program.checksums.iter().filter(|checksum| checksum.verify) {
            let sum = self.checksum(checksum, packet)?;
            if sum.is_some_and(|sum| packet.read(checksum.target) != sum) {
                packet.set_standard("checksum_error", 1);
            }
        }
        Ok(())
    }

    /// Returns the correct checksum; `None` if it does not apply.
    fn checksum(&self, checksum: &Checksum, packet: &Packet<'p>) -> Result<Option<u128>, String> {
        let applies = checksum.if_cond.value(packet, &[]) != 0;
        applies.then(|| self.calculate(&checksum.calculation, packet)).transpose()
    }

    fn calculate(&self, name: &str, packet: &Packet<'p>) -> Result<u128, String> {
        let calculation = named(self.program.calculations.iter(), |known| &known.name, name)?;
        let bytes = packet.bytes(calculation.input.iter().map(|input| input.value));
        match calculation.algo.as_str() {
            "csum16" => Ok(internet_checksum(&bytes).into()),
            "crc32" => Ok(crc32(&bytes).into()),
            other => Err(format!("{other} is not supported")),
        }
    }

    fn run(&mut self, pipeline: &str, packet: &mut Packet<'p>) -> Result<(), String> {
        let pipeline = named(self.program.pipelines.iter(), |known| &known.name, pipeline)?;
        let mut next = &pipeline.init_table;
        while let Some(name) = next {
            if let Some(contents) = self.tables.get(name.as_str()) {
                let next_tables = &contents.table.next_tables;
                let (action, arguments) = self.look_up(contents, packet);
                for primitive in &action.primitives {
                    self.step(primitive, packet, &arguments)
                        .map_err(|error| format!("{}: {error}", action.name))?;
                }
                next = &next_tables[&action.name];
            } else {
                let node = named(pipeline.conditionals.iter(), |known| &known.name, name)?;
                let holds = node.expression.value(packet, &[]) != 0;
                next = if holds { &node.true_next } else { &node.false_next };
            }
        }
        Ok(())
    }

    /// Returns the call of the entry with the longest prefix, or the default.
    fn look_up(&self, contents: &Contents<'p>, packet: &Packet<'p>) -> Call<'p> {
        let Contents { table, entries, default } = contents;
        let matches = |key: &[(u128, u32)]| {
            key.iter().zip(&table.key).all(|(&(value, prefix), part)| {
                let bits = self.program.names.widths[part.target];
                (value ^ packet.read(part.target)).checked_shr(bits - prefix).unwrap_or(0) == 0
            })
        };
        let hits = entries.iter().filter(|(key, _)| matches(key));
        let hit = hits.max_by_key(|(key, _)| key.iter().map(|(_, prefix)| prefix).sum::<u32>());
        hit.map_or(default, |(_, call)| call).clone()
    }

    fn step(
        &mut self,
        primitive: &Primitive,
        packet: &mut Packet<'p>,
        arguments: &[u128],
    ) -> Result<(), String> {
        use Operand::{Calculation, Field, Header, RegisterArray};
        let value = |operand: &Operand| operand.value(packet, arguments);
        match (primitive.op.as_str(), &primitive.parameters[..]) {
            ("assign" | "set", [Field(to), from]) => packet.write(*to, value(from)),
            ("register_read", [Field(to), RegisterArray(array), index]) => {
                let (cells, index) = (self.register(array)?, value(index));
                let held = cells.get(index as usize);
                let held = *held.ok_or_else(|| format!("{array} has no cell {index}"))?;
                packet.write(*to, held.into());
            }
            ("register_write", [RegisterArray(array), index, written]) => {
                self.write_register(array, value(index), value(written))?;
            }
            ("modify_field_with_hash_based_offset", [Field(to), base, Calculation(hash), size]) => {
                let (base, size) = (value(base), value(size));
                packet.write(*to, base + self.calculate(hash, packet)? % size.max(1));
            }
            ("modify_field_rng_uniform", [Field(to), low, high]) => {
                let (bounds, scripted) = ((value(low), value(high)), self.draws.pop_front());
                let is_right = |(draw, of): &(u64, u64)| {
                    bounds == (0, u128::from(*of).wrapping_sub(1)) && draw < of
                };
                let draw = scripted.filter(is_right).ok_or_else(|| {
                    format!("a draw within {bounds:?}, but the script has {scripted:?}")
                });
                packet.write(*to, draw?.0.into());
            }
            ("mark_to_drop", [Header(_)]) => packet.set_standard("egress_spec", DROP_PORT),
            ("truncate", [bytes]) => {
                packet.truncated = packet.truncated.min(value(bytes) as usize);
            }
            (op, _) => return Err(format!("{op} is not supported with these parameters")),
        }
        Ok(())
    }
}

/// Reads a value: decimal, hexadecimal with 0x, or an IPv4, IPv6 or MAC address.
fn number(word: &str, bits: u32) -> Result<u128, String> {
    let hex = |digits: &str| u128::from_str_radix(digits, 16).ok();
    let number = match (word.strip_prefix("0x"), word.parse()) {
        (Some(digits), _) => hex(digits),
        (None, Ok(IpAddr::V4(address))) => Some(u32::from(address).into()),
        (None, Ok(IpAddr::V6(address))) => Some(address.into()),
        (None, Err(_)) if word.contains(':') => hex(&word.replace(':', "")),
        (None, Err(_)) => word.parse().ok(),
    };
    let number = number.filter(|&number| number <= mask(bits));
    number.ok_or_else(|| format!("expected a value of {bits} bits, not {word:?}"))
}
