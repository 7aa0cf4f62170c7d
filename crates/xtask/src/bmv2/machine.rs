//! A program with its tables and registers, which processes packets.

use super::action::Primitive;
use super::draws::ScriptedDraws;
use super::expression::Expression;
use super::packet::{Bits, Packet, mask};
use super::program::{Checksum, ParserOp, Program};
use super::table::{Call, Contents, Next};

/// Maximum number of parser steps: more is a loop. Control flow has no loops: its nodes lead forward.
const MAX_STEPS: usize = 1000;

/// Packets to this port are dropped by `simple_switch`.
pub(super) const DROP_PORT: u128 = 511;

#[derive(Clone, Debug)]
pub(super) struct Machine<'p> {
    pub(super) program: &'p Program,
    pub(super) tables: Vec<Contents>,
    pub(super) registers: Vec<Vec<u128>>,
    pub(super) draws: ScriptedDraws,
}

impl<'p> Machine<'p> {
    pub(super) fn new(program: &'p Program) -> Machine<'p> {
        Machine {
            program,
            tables: program.tables.iter().map(|table| table.empty()).collect(),
            registers: program.registers.iter().map(|array| vec![0; array.size]).collect(),
            draws: ScriptedDraws::default(),
        }
    }

    /// Parses a frame, and verifies its checksums. As in bmv2, parsing ends at a header that is cut off.
    pub(super) fn parse(&mut self, packet: &mut Packet) -> Result<(), String> {
        let program = self.program;
        let mut error = program.no_error;
        let mut state = program.first_state;
        let mut steps = 0;
        'states: while let Some(index) = state {
            steps += 1;
            if steps > MAX_STEPS {
                return Err("the parser does not come to an end".to_owned());
            }
            let current = &program.states[index];
            for op in &current.ops {
                match op {
                    ParserOp::Extract(header) => {
                        if !packet.extract(*header, &program.headers[*header]) {
                            error = program.too_short;
                            break 'states;
                        }
                    }
                    ParserOp::Do(primitive) => self.step(primitive, packet, &[])?,
                }
            }
            let mut key = Bits::default();
            for field in &current.key {
                key.push_padded(packet.read(*field), field.bits);
            }
            let matches = |value: &[u8], mask: &[u8]| {
                let mut bytes = key.bytes.iter().zip(value).zip(mask);
                bytes.all(|((key, value), mask)| key & mask == value & mask)
            };
            let mut transitions = current.transitions.iter();
            let taken = transitions.find(|transition| match &transition.on {
                None => true,
                Some((value, mask)) => matches(value, mask),
            });
            state = taken.and_then(|transition| transition.next);
        }
        let mut damaged = false;
        for checksum in program.checksums.iter().filter(|checksum| checksum.verify) {
            if let Some(sum) = self.checksum(checksum, packet)? {
                damaged |= packet.read(checksum.target) != sum;
            }
        }
        for (member, value) in [("parser_error", error), ("checksum_error", damaged.into())] {
            if let Some(field) = program.target_field("standard_metadata", member) {
                packet.write(field, value);
            }
        }
        Ok(())
    }

    /// Returns the correct checksum; `None` if it does not apply.
    fn checksum(&self, checksum: &Checksum, packet: &Packet) -> Result<Option<u128>, String> {
        let holds = |condition: &Expression| condition.value(packet, &[]).map(|value| value != 0);
        let applies = checksum.condition.as_ref().map_or(Ok(true), holds)?;
        if !applies || !packet.is_valid(checksum.target.header) {
            return Ok(None);
        }
        let calculation = &self.program.calculations[checksum.calculation];
        calculation.output(packet).map(|sum| Some(sum.into()))
    }

    pub(super) fn run(&mut self, first: Option<Next>, packet: &mut Packet) -> Result<(), String> {
        let program = self.program;
        let mut next = first;
        while let Some(node) = next {
            match node {
                Next::Table(index) => {
                    let table = &program.tables[index];
                    let (call, then) = table.look_up(&self.tables[index], packet);
                    let call = call.clone();
                    next = then;
                    self.act(&call, packet)
                        .map_err(|error| format!("table {}: {error}", table.name))?;
                }
                Next::Conditional(index) => {
                    let conditional = &program.conditionals[index];
                    let holds = conditional.condition.value(packet, &[])? != 0;
                    next = if holds { conditional.then } else { conditional.otherwise };
                }
            }
        }
        Ok(())
    }

    fn act(&mut self, (action, arguments): &Call, packet: &mut Packet) -> Result<(), String> {
        let action = &self.program.actions[*action];
        for primitive in &action.primitives {
            self.step(primitive, packet, arguments)
                .map_err(|error| format!("action {}: {error}", action.name))?;
        }
        Ok(())
    }

    fn step(
        &mut self,
        primitive: &Primitive,
        packet: &mut Packet,
        arguments: &[u128],
    ) -> Result<(), String> {
        match primitive {
            Primitive::Assign { to, value } => {
                let value = value.value(packet, arguments)?;
                packet.write(*to, value as u128);
            }
            Primitive::RegisterRead { to, array, index } => {
                let index = self.index(*array, index, packet, arguments)?;
                packet.write(*to, self.registers[*array][index]);
            }
            Primitive::RegisterWrite { array, index, value } => {
                let index = self.index(*array, index, packet, arguments)?;
                let value = value.value(packet, arguments)? as u128;
                self.registers[*array][index] = value & mask(self.program.registers[*array].bits);
            }
            Primitive::Hash { to, base, calculation, size } => {
                let hash = self.program.calculations[*calculation].output(packet)?;
                let base = base.value(packet, arguments)?;
                // bmv2 takes a size of 0 for 1.
                let size = size.value(packet, arguments)?.max(1);
                let sum = (i128::from(hash) % size).checked_add(base);
                packet.write(*to, sum.ok_or("a hash needs more than 127 bits")? as u128);
            }
            Primitive::Random { to, low, high } => {
                let bounds = (low.value(packet, arguments)?, high.value(packet, arguments)?);
                packet.write(*to, self.draws.draw(bounds)? as u128);
            }
            Primitive::Drop => {
                let field = self.program.target_field("standard_metadata", "egress_spec");
                packet.write(field.ok_or("there is no egress_spec")?, DROP_PORT);
            }
            Primitive::Truncate(bytes) => {
                let bytes = usize::try_from(bytes.value(packet, arguments)?)
                    .map_err(|_| "a packet cannot be cut at less than no bytes")?;
                packet.truncated = Some(packet.truncated.map_or(bytes, |before| before.min(bytes)));
            }
            Primitive::Nothing => {}
        }
        Ok(())
    }

    fn index(
        &self,
        array: usize,
        index: &Expression,
        packet: &Packet,
        arguments: &[u128],
    ) -> Result<usize, String> {
        let index = index.value(packet, arguments)?;
        let array = &self.program.registers[array];
        let within = usize::try_from(index).ok().filter(|&index| index < array.size);
        within.ok_or_else(|| format!("register {} has no cell {index}", array.name))
    }

    /// Updates the checksums and reassembles the packet.
    pub(super) fn deparse(&self, packet: &mut Packet) -> Result<Vec<u8>, String> {
        let program = self.program;
        for checksum in program.checksums.iter().filter(|checksum| checksum.update) {
            if let Some(sum) = self.checksum(checksum, packet)? {
                packet.write(checksum.target, sum);
            }
        }
        let mut frame = Bits::default();
        for &index in program.deparser.iter().filter(|&&index| packet.is_valid(index)) {
            packet.emit(index, &program.headers[index], &mut frame);
        }
        let mut frame = frame.bytes;
        frame.extend_from_slice(&packet.payload);
        frame.truncate(packet.truncated.unwrap_or(usize::MAX));
        Ok(frame)
    }
}
