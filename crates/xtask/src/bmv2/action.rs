//! Actions and their primitives.

use super::expression::Expression;
use super::names::{FieldRef, Member, Names};
use super::node::Node;

#[derive(Clone, Debug)]
pub(super) enum Primitive {
    Assign {
        to: FieldRef,
        value: Expression,
    },
    RegisterRead {
        to: FieldRef,
        array: usize,
        index: Expression,
    },
    RegisterWrite {
        array: usize,
        index: Expression,
        value: Expression,
    },
    /// `base` plus a calculation modulo `size`.
    Hash {
        to: FieldRef,
        base: Expression,
        calculation: usize,
        size: Expression,
    },
    /// A random number between inclusive bounds.
    Random {
        to: FieldRef,
        low: Expression,
        high: Expression,
    },
    /// `mark_to_drop`: sets the drop port.
    Drop,
    /// Limits the bytes that leave the switch.
    Truncate(Expression),
    Nothing,
}

#[derive(Clone, Debug)]
pub(super) struct Action {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) parameters: Vec<u32>,
    pub(super) primitives: Vec<Primitive>,
}

impl Action {
    pub(super) fn read(node: &Node, names: &Names) -> Result<Action, String> {
        let mut parameters = Vec::new();
        for parameter in node.field("runtime_data")?.items()? {
            let width = parameter.field("bitwidth")?;
            let bits = u32::try_from(width.number()?).ok().filter(|bits| (1..=128).contains(bits));
            parameters.push(bits.ok_or_else(|| width.expected("1 to 128 bits"))?);
        }
        let primitives = node.field("primitives")?.items()?;
        let read = |primitive| Primitive::read(primitive, names, parameters.len());
        Ok(Action {
            id: node.field("id")?.number()?,
            name: node.field("name")?.text()?.to_owned(),
            primitives: primitives.iter().map(read).collect::<Result<_, _>>()?,
            parameters,
        })
    }
}

impl Primitive {
    pub(super) fn read(node: &Node, names: &Names, locals: usize) -> Result<Primitive, String> {
        let parameters = node.field("parameters")?;
        let value = |node: &Node| Expression::read(node, names, locals);
        match node.field("op")?.text()? {
            "assign" => Primitive::assign(&parameters, names, locals),
            "register_read" => {
                let [to, array, index] = parameters.tuple()?;
                Ok(Primitive::RegisterRead {
                    to: destination(&to, names)?,
                    array: register(&array, names)?,
                    index: value(&index)?,
                })
            }
            "register_write" => {
                let [array, index, written] = parameters.tuple()?;
                Ok(Primitive::RegisterWrite {
                    array: register(&array, names)?,
                    index: value(&index)?,
                    value: value(&written)?,
                })
            }
            "modify_field_with_hash_based_offset" => {
                let [to, base, calculation, size] = parameters.tuple()?;
                if calculation.field("type")?.text()? != "calculation" {
                    return Err(calculation.field("type")?.expected("calculation"));
                }
                Ok(Primitive::Hash {
                    to: destination(&to, names)?,
                    base: value(&base)?,
                    calculation: names.calculation(&calculation.field("value")?)?,
                    size: value(&size)?,
                })
            }
            "modify_field_rng_uniform" => {
                let [to, low, high] = parameters.tuple()?;
                Ok(Primitive::Random {
                    to: destination(&to, names)?,
                    low: value(&low)?,
                    high: value(&high)?,
                })
            }
            "mark_to_drop" => Ok(Primitive::Drop),
            "truncate" => {
                let [bytes] = parameters.tuple()?;
                Ok(Primitive::Truncate(value(&bytes)?))
            }
            "no_op" => Ok(Primitive::Nothing),
            _ => Err(node.field("op")?.expected(
                "assign, register_read, register_write, modify_field_with_hash_based_offset, \
                 modify_field_rng_uniform, mark_to_drop, truncate or no_op",
            )),
        }
    }

    /// Reads the two parameters of `assign` in actions or `set` in parsers.
    pub(super) fn assign(
        parameters: &Node,
        names: &Names,
        locals: usize,
    ) -> Result<Primitive, String> {
        let [to, value] = parameters.tuple()?;
        Ok(Primitive::Assign {
            to: destination(&to, names)?,
            value: Expression::read(&value, names, locals)?,
        })
    }
}

fn destination(node: &Node, names: &Names) -> Result<FieldRef, String> {
    if node.field("type")?.text()? != "field" {
        return Err(node.field("type")?.expected("field"));
    }
    let field = names.field(&node.field("value")?)?;
    if field.member == Member::Valid {
        return Err(node.field("value")?.error("the validity of a header is not written this way"));
    }
    Ok(field)
}

fn register(node: &Node, names: &Names) -> Result<usize, String> {
    if node.field("type")?.text()? != "register_array" {
        return Err(node.field("type")?.expected("register_array"));
    }
    names.register(&node.field("value")?)
}
