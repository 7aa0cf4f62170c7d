//! Headers, fields and registers of a program: names and widths.

use std::collections::BTreeMap;

use super::node::Node;

/// A field of a header, or its validity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FieldRef {
    pub(super) header: usize,
    pub(super) member: Member,
    pub(super) bits: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Member {
    Field(usize),
    /// The hidden field `$valid$`.
    Valid,
}

#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) bits: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) name: String,
    pub(super) fields: Vec<Field>,
    pub(super) metadata: bool,
}

impl Header {
    pub(super) fn bits(&self) -> u32 {
        self.fields.iter().map(|field| field.bits).sum()
    }
}

#[derive(Clone, Debug)]
pub(super) struct RegisterArray {
    pub(super) name: String,
    pub(super) size: usize,
    pub(super) bits: u32,
}

#[derive(Debug, Default)]
pub(super) struct Names {
    headers: BTreeMap<String, (usize, Vec<Field>)>,
    registers: BTreeMap<String, usize>,
    calculations: BTreeMap<String, usize>,
}

impl Names {
    pub(super) fn new(headers: &[Header], registers: &[RegisterArray]) -> Names {
        let header = |(index, header): (usize, &Header)| {
            (header.name.clone(), (index, header.fields.clone()))
        };
        let register = |(index, register): (usize, &RegisterArray)| (register.name.clone(), index);
        Names {
            headers: headers.iter().enumerate().map(header).collect(),
            registers: registers.iter().enumerate().map(register).collect(),
            calculations: BTreeMap::new(),
        }
    }

    /// Adds the names of calculations, which come later since they name fields.
    pub(super) fn know_calculations(&mut self, names: impl Iterator<Item = String>) {
        self.calculations = names.zip(0..).collect();
    }

    /// Reads `[header, field]`.
    pub(super) fn field(&self, node: &Node) -> Result<FieldRef, String> {
        let [header, field] = node.tuple()?;
        let member = field.text()?;
        let unknown = || field.expected(&format!("a field of {:?}", header.text().unwrap_or("")));
        self.field_named(header.text()?, member).ok_or_else(unknown)
    }

    pub(super) fn field_named(&self, header: &str, member: &str) -> Option<FieldRef> {
        let (header, fields) = self.headers.get(header)?;
        if member == "$valid$" {
            return Some(FieldRef { header: *header, member: Member::Valid, bits: 1 });
        }
        let index = fields.iter().position(|field| field.name == member)?;
        let bits = fields[index].bits;
        Some(FieldRef { header: *header, member: Member::Field(index), bits })
    }

    pub(super) fn header(&self, node: &Node) -> Result<usize, String> {
        let known = self.headers.get(node.text()?);
        known.map(|(index, _)| *index).ok_or_else(|| node.expected("the name of a header"))
    }

    pub(super) fn register(&self, node: &Node) -> Result<usize, String> {
        self.register_named(node.text()?)
            .ok_or_else(|| node.expected("the name of a register array"))
    }

    pub(super) fn calculation(&self, node: &Node) -> Result<usize, String> {
        let known = self.calculations.get(node.text()?).copied();
        known.ok_or_else(|| node.expected("the name of a calculation"))
    }

    pub(super) fn register_named(&self, name: &str) -> Option<usize> {
        self.registers.get(name).copied()
    }
}
