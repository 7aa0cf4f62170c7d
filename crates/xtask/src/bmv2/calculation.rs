//! Checksums and hashes of lists of fields.

use super::expression::Expression;
use super::names::Names;
use super::node::Node;
use super::packet::{Bits, Packet, mask};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    /// RFC 1071.
    Csum16,
    /// CRC of Ethernet and zlib.
    Crc32,
}

#[derive(Clone, Debug)]
pub(super) struct Calculation {
    pub(super) name: String,
    algorithm: Algorithm,
    input: Vec<(Expression, u32)>,
}

impl Calculation {
    pub(super) fn read(node: &Node, names: &Names) -> Result<Calculation, String> {
        let algorithm = match node.field("algo")?.text()? {
            "csum16" => Algorithm::Csum16,
            "crc32" => Algorithm::Crc32,
            _ => return Err(node.field("algo")?.expected("csum16 or crc32")),
        };
        let mut input = Vec::new();
        for part in node.field("input")?.items()? {
            input.push(match part.field("type")?.text()? {
                "field" => {
                    let field = names.field(&part.field("value")?)?;
                    (Expression::Field(field), field.bits)
                }
                "hexstr" => {
                    let bits = part.field("bitwidth")?.number()? as u32;
                    (Expression::read(&part, names, 0)?, bits)
                }
                _ => return Err(part.field("type")?.expected("field or hexstr")),
            });
        }
        Ok(Calculation { name: node.field("name")?.text()?.to_owned(), algorithm, input })
    }

    /// Calculates over the fields of valid headers, as bmv2 does; zeros fill the last byte.
    pub(super) fn output(&self, packet: &Packet) -> Result<u64, String> {
        let mut input = Bits::default();
        for (value, bits) in &self.input {
            if let Expression::Field(field) = value
                && !packet.is_valid(field.header)
            {
                continue;
            }
            input.push(value.value(packet, &[])? as u128 & mask(*bits), *bits);
        }
        Ok(match self.algorithm {
            Algorithm::Csum16 => input.internet_checksum().into(),
            Algorithm::Crc32 => input.crc32().into(),
        })
    }
}
