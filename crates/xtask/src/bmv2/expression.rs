//! Expressions and their references to fields.
//!
//! The format's arithmetic has infinite precision and is cut to the width of a field on writes. This one has 127 bits
//! and a sign, and reports overflow. Wider fields (IPv6 addresses) are copied and matched, without arithmetic; that is
//! checked when a program is read.

use super::names::{FieldRef, Names};
use super::node::Node;
use super::packet::Packet;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    ShiftLeft,
    ShiftRight,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    And,
    Or,
    BitAnd,
    BitOr,
    BitXor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Not,
    BitNot,
    /// `d2b`: a number is true unless it is 0.
    ToBoolean,
    /// `b2d`: true is 1.
    ToNumber,
}

/// An expression. Booleans are 0 and 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expression {
    Value(i128),
    Field(FieldRef),
    Local(usize),
    Valid(usize),
    Unary(Unary, Box<Expression>),
    Binary(Binary, Box<[Expression; 2]>),
    /// Condition, then, else.
    Choice(Box<[Expression; 3]>),
}

const BINARY: [(&str, Binary); 16] = [
    ("+", Binary::Add),
    ("-", Binary::Subtract),
    ("*", Binary::Multiply),
    ("<<", Binary::ShiftLeft),
    (">>", Binary::ShiftRight),
    ("==", Binary::Equal),
    ("!=", Binary::NotEqual),
    ("<", Binary::Less),
    ("<=", Binary::LessOrEqual),
    (">", Binary::Greater),
    (">=", Binary::GreaterOrEqual),
    ("and", Binary::And),
    ("or", Binary::Or),
    ("&", Binary::BitAnd),
    ("|", Binary::BitOr),
    ("^", Binary::BitXor),
];

const UNARY: [(&str, Unary); 4] = [
    ("not", Unary::Not),
    ("~", Unary::BitNot),
    ("d2b", Unary::ToBoolean),
    ("b2d", Unary::ToNumber),
];

/// Operations that are exact on fields of all 128 bits.
const OF_ANY_WIDTH: [Binary; 5] =
    [Binary::Equal, Binary::NotEqual, Binary::BitAnd, Binary::BitOr, Binary::BitXor];

impl Expression {
    /// Reads a type-value object; the action has `locals` parameters.
    pub(super) fn read(node: &Node, names: &Names, locals: usize) -> Result<Expression, String> {
        let value = node.field("value")?;
        match node.field("type")?.text()? {
            "field" => Ok(Expression::Field(names.field(&value)?)),
            "hexstr" => {
                let (negative, magnitude) = value.hexadecimal()?;
                // A number of all 128 bits keeps its bits.
                let number = magnitude as i128;
                Ok(Expression::Value(if negative { number.wrapping_neg() } else { number }))
            }
            "bool" => Ok(Expression::Value(value.boolean()?.into())),
            "local" | "runtime_data" => {
                let index = value.number()? as usize;
                if index < locals {
                    Ok(Expression::Local(index))
                } else {
                    Err(value.expected(&format!("one of {locals} parameters")))
                }
            }
            // p4c wraps an expression into another one if it is a parameter.
            "expression" if value.optional("type").is_some() => {
                Expression::read(&value, names, locals)
            }
            "expression" => Expression::operation(&value, names, locals),
            _ => Err(node
                .field("type")?
                .expected("field, hexstr, bool, local, runtime_data or expression")),
        }
    }

    fn operation(node: &Node, names: &Names, locals: usize) -> Result<Expression, String> {
        let op = node.field("op")?;
        let right = node.field("right")?;
        let operand = |key: &str| Expression::read(&node.field(key)?, names, locals);
        let name = op.text()?;
        if name == "valid" {
            return match right.field("type")?.text()? {
                "header" => Ok(Expression::Valid(names.header(&right.field("value")?)?)),
                _ => Err(right.field("type")?.expected("header")),
            };
        }
        if name == "?" {
            let parts = [operand("cond")?, operand("left")?, operand("right")?];
            return Ok(Expression::Choice(Box::new(parts)));
        }
        if let Some(&(_, unary)) = UNARY.iter().find(|(known, _)| *known == name) {
            return Ok(Expression::Unary(unary, Box::new(operand("right")?)));
        }
        let Some(&(_, binary)) = BINARY.iter().find(|(known, _)| *known == name) else {
            let known: Vec<&str> = BINARY.iter().map(|(known, _)| *known).collect();
            return Err(op.expected(&format!(
                "an operation of {}, not, ~, d2b, b2d, ?, valid",
                known.join(", ")
            )));
        };
        let operands = [operand("left")?, operand("right")?];
        let wide = |side: &Expression| matches!(side, Expression::Field(field) if field.bits > 127);
        if !OF_ANY_WIDTH.contains(&binary) && operands.iter().any(wide) {
            return Err(op.error("fields of 128 bits are copied and matched, not reckoned with"));
        }
        Ok(Expression::Binary(binary, Box::new(operands)))
    }

    /// Evaluates the expression. Refuses a result that needs more than 127 bits.
    pub(super) fn value(&self, packet: &Packet, locals: &[u128]) -> Result<i128, String> {
        let value = |side: &Expression| side.value(packet, locals);
        Ok(match self {
            Expression::Value(value) => *value,
            Expression::Field(field) => packet.read(*field) as i128,
            Expression::Local(index) => locals[*index] as i128,
            Expression::Valid(header) => packet.is_valid(*header).into(),
            Expression::Unary(unary, operand) => {
                let operand = value(operand)?;
                match unary {
                    Unary::Not => (operand == 0).into(),
                    Unary::BitNot => !operand,
                    Unary::ToBoolean => (operand != 0).into(),
                    Unary::ToNumber => operand,
                }
            }
            Expression::Choice(parts) => {
                let [condition, left, right] = &**parts;
                value(if value(condition)? != 0 { left } else { right })?
            }
            Expression::Binary(binary, sides) => {
                let (left, right) = (value(&sides[0])?, value(&sides[1])?);
                binary
                    .of(left, right)
                    .ok_or_else(|| format!("{left} {binary:?} {right} needs more than 127 bits"))?
            }
        })
    }
}

impl Binary {
    fn of(self, left: i128, right: i128) -> Option<i128> {
        let shift = || u32::try_from(right).ok();
        Some(match self {
            Binary::Add => left.checked_add(right)?,
            Binary::Subtract => left.checked_sub(right)?,
            Binary::Multiply => left.checked_mul(right)?,
            Binary::ShiftLeft => {
                let factor = 1i128.checked_shl(shift()?).filter(|&factor| factor > 0)?;
                left.checked_mul(factor)?
            }
            Binary::ShiftRight => left.checked_shr(shift()?).unwrap_or(0),
            Binary::Equal => (left == right).into(),
            Binary::NotEqual => (left != right).into(),
            Binary::Less => (left < right).into(),
            Binary::LessOrEqual => (left <= right).into(),
            Binary::Greater => (left > right).into(),
            Binary::GreaterOrEqual => (left >= right).into(),
            Binary::And => (left != 0 && right != 0).into(),
            Binary::Or => (left != 0 || right != 0).into(),
            Binary::BitAnd => left & right,
            Binary::BitOr => left | right,
            Binary::BitXor => left ^ right,
        })
    }
}
