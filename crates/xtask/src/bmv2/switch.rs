//! bmv2's `simple_switch` around a program, without a clock: ingress, the queues of each port, egress.
//!
//! The caller decides the time: a packet leaves its queue when it is taken. The highest priority of a port is served
//! first (`--priority-queues`). Rates are not modelled, because bmv2 has them per queue and not per link. Clones,
//! multicast, resubmission and recirculation are not modelled; their primitives are refused.

use std::collections::{BTreeMap, VecDeque};

use super::control::{Command, parse_command};
use super::draws::Draw;
use super::machine::{DROP_PORT, Machine};
use super::packet::Packet;
use super::program::Program;

#[derive(Clone, Debug)]
pub(crate) struct Queued {
    packet: Packet,
    priority: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Switch<'p> {
    machine: Machine<'p>,
    /// Queues of each port, by priority.
    ports: BTreeMap<u64, Vec<VecDeque<Queued>>>,
    priorities: usize,
}

impl<'p> Switch<'p> {
    /// Creates an empty switch with `priorities` queues per port.
    pub(crate) fn new(program: &'p Program, priorities: usize) -> Switch<'p> {
        Switch { machine: Machine::new(program), ports: BTreeMap::new(), priorities }
    }

    /// Executes commands, one per line, as `simple_switch_CLI` does. An error names line, problem and expectation.
    pub(crate) fn configure(&mut self, commands: &str) -> Result<(), String> {
        for (index, line) in commands.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let outcome =
                parse_command(self.machine.program, line).and_then(|command| match command {
                    Command::Add { table, entry } => {
                        let contents = &mut self.machine.tables[table];
                        self.machine.program.tables[table].add(contents, entry)
                    }
                    Command::Default { table, call } => {
                        self.machine.tables[table].default = call;
                        Ok(())
                    }
                    Command::Clear { table } => {
                        self.machine.tables[table].entries.clear();
                        Ok(())
                    }
                    Command::Register { array, cell, value } => {
                        self.machine.registers[array][cell] = value;
                        Ok(())
                    }
                });
            outcome.map_err(|error| format!("{}: {error}", index + 1))?;
        }
        Ok(())
    }

    fn set(&self, packet: &mut Packet, header: &str, member: &str, value: u64) {
        if let Some(field) = self.machine.program.target_field(header, member) {
            packet.write(field, value.into());
        }
    }

    fn value(&self, packet: &Packet, header: &str, member: &str) -> Result<u64, String> {
        let field = self.machine.program.target_field(header, member);
        let field = field.ok_or_else(|| format!("the program has no {header}.{member}"))?;
        Ok(packet.read(field) as u64)
    }

    pub(crate) fn lay_out(&mut self, draw: Draw) {
        self.machine.draws.0.push_back(draw);
    }

    pub(crate) fn undrawn(&self) -> usize {
        self.machine.draws.0.len()
    }

    /// Sends an arriving frame through ingress into a queue. Returns the port; `None` if the frame is dropped. Refuses
    /// what no switch can do.
    pub(crate) fn receive(&mut self, port: u64, frame: &[u8]) -> Result<Option<u64>, String> {
        let program = self.machine.program;
        let mut packet = Packet::new(&program.headers, frame);
        self.set(&mut packet, "standard_metadata", "ingress_port", port);
        let length = packet.length as u64;
        self.set(&mut packet, "standard_metadata", "packet_length", length);
        self.machine.parse(&mut packet)?;
        self.machine.run(program.ingress, &mut packet)?;
        let egress = self.value(&packet, "standard_metadata", "egress_spec")?;
        if u128::from(egress) == DROP_PORT {
            return Ok(None);
        }
        let priority = self.value(&packet, "intrinsic_metadata", "priority").unwrap_or(0) as usize;
        if priority >= self.priorities {
            return Err(format!("priority {priority} of {} queues", self.priorities));
        }
        let queues =
            self.ports.entry(egress).or_insert_with(|| vec![VecDeque::new(); self.priorities]);
        let depth = queues[priority].len() as u64;
        queues[priority].push_back(Queued { packet, priority });
        let packet = &mut self.ports.get_mut(&egress).expect("the port has queues")[priority];
        let packet = &mut packet.back_mut().expect("a packet was pushed").packet;
        if let Some(field) = program.target_field("queueing_metadata", "enq_qdepth") {
            packet.write(field, depth.into());
        }
        Ok(Some(egress))
    }

    /// Takes the next packet from the queues of a port, before egress.
    pub(crate) fn take(&mut self, port: u64) -> Option<Queued> {
        let queues = self.ports.get_mut(&port)?;
        let mut queued = queues.iter_mut().rev().find_map(VecDeque::pop_front)?;
        let depth = queues[queued.priority].len() as u64;
        self.set(&mut queued.packet, "queueing_metadata", "deq_qdepth", depth);
        Some(queued)
    }

    /// Sends a taken packet through egress. Returns the frame; `None` if egress dropped it. Refuses what no switch can
    /// do.
    pub(crate) fn send(&mut self, port: u64, queued: Queued) -> Result<Option<Vec<u8>>, String> {
        let program = self.machine.program;
        let mut packet = queued.packet;
        self.set(&mut packet, "standard_metadata", "egress_port", port);
        self.set(&mut packet, "standard_metadata", "egress_spec", 0);
        self.machine.run(program.egress, &mut packet)?;
        if u128::from(self.value(&packet, "standard_metadata", "egress_spec")?) == DROP_PORT {
            return Ok(None);
        }
        self.machine.deparse(&mut packet).map(Some)
    }

    /// Returns the frame that [`Switch::send`] would, without effect.
    pub(crate) fn preview(&self, port: u64, queued: &Queued) -> Result<Option<Vec<u8>>, String> {
        let (machine, ports) = (self.machine.clone(), BTreeMap::new());
        Switch { machine, ports, priorities: self.priorities }.send(port, queued.clone())
    }

    pub(crate) fn register(&self, array: &str, cell: usize) -> Result<u64, String> {
        let cells = &self.machine.registers[self.machine.program.register(array)?];
        let value =
            cells.get(cell).ok_or_else(|| format!("register {array} has no cell {cell}"))?;
        Ok(*value as u64)
    }

    pub(crate) fn registers(&self, array: &str) -> Result<Vec<u64>, String> {
        let cells = &self.machine.registers[self.machine.program.register(array)?];
        Ok(cells.iter().map(|&cell| cell as u64).collect())
    }
}
