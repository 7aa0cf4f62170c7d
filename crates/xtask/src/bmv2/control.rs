//! The control plane: commands of bmv2's `simple_switch_CLI`, so that one file serves both.
//!
//! `table_add TABLE ACTION KEY... => ARGUMENT...`, `table_set_default TABLE ACTION ARGUMENT...`, `table_clear TABLE`
//! and `register_write ARRAY CELL VALUE`. A value is decimal, hexadecimal with 0x, or an IPv4, IPv6 or MAC address; an
//! lpm key ends in a slash and the prefix length.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::packet::mask;
use super::program::Program;
use super::table::{Call, Entry, KeyPart, Match};

#[derive(Debug)]
pub(super) enum Command {
    Add { table: usize, entry: Entry },
    Default { table: usize, call: Call },
    Clear { table: usize },
    Register { array: usize, cell: usize, value: u128 },
}

pub(super) fn parse_command(program: &Program, line: &str) -> Result<Command, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match &words[..] {
        ["table_add", table, action, rest @ ..] => {
            let table = table_of(program, table)?;
            let arrow = rest.iter().position(|word| *word == "=>");
            let (keys, arguments) = rest.split_at(arrow.ok_or("expected \"=>\" behind the key")?);
            let known = &program.tables[table];
            if keys.len() != known.key.len() {
                let (parts, name) = (known.key.len(), &known.name);
                return Err(format!("table {name} has a key of {parts} parts, not {}", keys.len()));
            }
            let mut key = Vec::new();
            for (word, (field, how)) in keys.iter().zip(&known.key) {
                let (word, prefix) = match how {
                    Match::Exact => (*word, field.bits),
                    Match::LongestPrefix => {
                        let parts = word.split_once('/').and_then(|(word, prefix)| {
                            let prefix: u32 = prefix.parse().ok()?;
                            (prefix <= field.bits).then_some((word, prefix))
                        });
                        let bits = field.bits;
                        parts.ok_or_else(|| format!("expected VALUE/0..{bits}, not {word:?}"))?
                    }
                };
                key.push(KeyPart { value: value_of(word, field.bits)?, prefix });
            }
            let call = call_of(program, table, action, &arguments[1..])?;
            Ok(Command::Add { table, entry: Entry { key, call } })
        }
        ["table_set_default", table, action, arguments @ ..] => {
            let table = table_of(program, table)?;
            if program.tables[table].default_is_const {
                return Err(format!(
                    "the default of table {} is fixed",
                    program.tables[table].name
                ));
            }
            Ok(Command::Default { table, call: call_of(program, table, action, arguments)? })
        }
        ["table_clear", table] => Ok(Command::Clear { table: table_of(program, table)? }),
        ["register_write", array, cell, value] => {
            let array = program.register(array)?;
            let known = &program.registers[array];
            let cells = known.size;
            let index = cell.parse().ok().filter(|&cell| cell < cells);
            let cell = index.ok_or_else(|| format!("expected a cell of {cells}, not {cell:?}"))?;
            Ok(Command::Register { array, cell, value: value_of(value, known.bits)? })
        }
        _ => Err(format!(
            "expected table_add, table_set_default, table_clear or register_write, not {line:?}"
        )),
    }
}

fn table_of(program: &Program, name: &str) -> Result<usize, String> {
    let known = program.tables.iter().position(|table| table.name == name);
    known.ok_or_else(|| format!("there is no table {name:?}"))
}

fn call_of(program: &Program, table: usize, name: &str, words: &[&str]) -> Result<Call, String> {
    let table = &program.tables[table];
    let known = table.actions.iter().find(|(known, _)| known == name);
    let &(_, action) =
        known.ok_or_else(|| format!("table {} has no action {name:?}", table.name))?;
    let parameters = &program.actions[action].parameters;
    if words.len() != parameters.len() {
        let (needs, has) = (parameters.len(), words.len());
        return Err(format!("action {name} has {needs} parameters, not {has}"));
    }
    let values = words.iter().zip(parameters).map(|(word, &bits)| value_of(word, bits));
    Ok((action, values.collect::<Result<_, _>>()?))
}

fn value_of(word: &str, bits: u32) -> Result<u128, String> {
    let mac = || {
        let bytes: Vec<u8> =
            word.split(':').map(|byte| u8::from_str_radix(byte, 16).ok()).collect::<Option<_>>()?;
        let bytes: [u8; 6] = bytes.try_into().ok()?;
        Some(bytes.iter().fold(0, |value, &byte| value << 8 | u128::from(byte)))
    };
    let number = || match word.strip_prefix("0x") {
        Some(digits) => u128::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    };
    let address = || match bits {
        32 => word.parse::<Ipv4Addr>().ok().map(|address| u32::from(address).into()),
        48 => mac(),
        128 => word.parse::<Ipv6Addr>().ok().map(u128::from),
        _ => None,
    };
    let value = number().or_else(address).filter(|&value| value <= mask(bits));
    value.ok_or_else(|| format!("expected a value of {bits} bits, not {word:?}"))
}
