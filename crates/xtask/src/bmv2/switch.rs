//! bmv2's `simple_switch` around a program, without its clock: ingress, the queues of each port, egress.
//!
//! What it does in time is the caller's: a packet leaves its queue when it is taken. Of the queues of a port the one of
//! the highest priority is served first (`--priority-queues`); rates are not modelled, because they are per queue there
//! and not per link. Clones, multicast, resubmission and recirculation are not modelled; programs that ask for them
//! use primitives that are not read.

use std::collections::{BTreeMap, VecDeque};

use super::control::{Command, parse_command};
use super::draws::NodeRng;
use super::machine::{DROP_PORT, Machine};
use super::packet::Packet;
use super::program::Program;

/// A packet between ingress and egress.
#[derive(Clone, Debug)]
pub(crate) struct Queued {
    packet: Packet,
    priority: usize,
}

/// A switch that runs a program.
#[derive(Clone, Debug)]
pub(crate) struct Switch<'p> {
    machine: Machine<'p>,
    /// Queues of each port, by priority.
    ports: BTreeMap<u64, Vec<VecDeque<Queued>>>,
    priorities: usize,
}

impl<'p> Switch<'p> {
    /// An empty switch with so many queues a port.
    pub(crate) fn new(program: &'p Program, priorities: usize) -> Switch<'p> {
        Switch { machine: Machine::new(program), ports: BTreeMap::new(), priorities }
    }

    /// Obeys the commands of a control plane, one a line, as `simple_switch_CLI` takes them.
    ///
    /// # Errors
    /// The line, what is wrong, what was expected.
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

    /// What the next `random` gives.
    pub(crate) fn lay_out(&mut self, draw: NodeRng) {
        self.machine.draws.0.push_back(draw);
    }

    /// How much of it was not drawn.
    pub(crate) fn undrawn(&self) -> usize {
        self.machine.draws.0.len()
    }

    /// A frame comes in by a port and goes through ingress into a queue: of which port; `None` if it is dropped.
    ///
    /// # Errors
    /// The program does what no switch can do.
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

    /// Takes the next packet from the queues of a port. It is not yet through egress.
    pub(crate) fn take(&mut self, port: u64) -> Option<Queued> {
        let queues = self.ports.get_mut(&port)?;
        let mut queued = queues.iter_mut().rev().find_map(VecDeque::pop_front)?;
        let depth = queues[queued.priority].len() as u64;
        self.set(&mut queued.packet, "queueing_metadata", "deq_qdepth", depth);
        Some(queued)
    }

    /// A packet that was taken goes through egress: the frame that leaves, `None` if egress dropped it.
    ///
    /// # Errors
    /// The program does what no switch can do.
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

    /// The frame that [`Switch::send`] would give, and nothing happens.
    ///
    /// # Errors
    /// Those of [`Switch::send`].
    pub(crate) fn preview(&self, port: u64, queued: &Queued) -> Result<Option<Vec<u8>>, String> {
        let (machine, ports) = (self.machine.clone(), BTreeMap::new());
        Switch { machine, ports, priorities: self.priorities }.send(port, queued.clone())
    }

    /// The cell of a register array.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn register(&self, array: &str, cell: usize) -> Result<u64, String> {
        let cells = &self.machine.registers[self.machine.program.register(array)?];
        let value =
            cells.get(cell).ok_or_else(|| format!("register {array} has no cell {cell}"))?;
        Ok(*value as u64)
    }

    /// The cells of a register array.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn registers(&self, array: &str) -> Result<Vec<u64>, String> {
        let cells = &self.machine.registers[self.machine.program.register(array)?];
        Ok(cells.iter().map(|&cell| cell as u64).collect())
    }
}
