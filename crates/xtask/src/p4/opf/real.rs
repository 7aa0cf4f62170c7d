//! OPF's program on bmv2's `simple_switch`, if it is on PATH.
//!
//! The switch draws by itself and has threads, so the path of a detoured packet is random. Registers mark a port as hot
//! to which only detoured data goes. Then every packet has a set of possible ports, each of which must occur, and
//! frames and counts are the interpreter's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::bench::{MAX_TIME_TO_LIVE, PRIORITIES, frame_of};
use crate::detours::{Arriving, PORTS, packet_of};
use crate::frames::mend_checksum;
use crate::p4::OPF;
use crate::p4::bench::hex;
use crate::p4::simple_switch::{self, Arrivals, SWITCH, Shape};

const SHAPE: Shape<'static> =
    Shape { compiled: OPF.compiled, ports: PORTS, priorities: PRIORITIES };

/// A hot port for data that is detoured; a hot port for other packets; a port as long as the threshold.
const HOT: usize = 0;
const BUSY: usize = 7;
const FULL_ENOUGH: usize = 1;

const LENGTHS: &str = "register_write queue_length 0 1000\nregister_write queue_length 7 1000\n\
    register_write queue_length 1 8\nregister_write queue_length 5 500\nset_queue_depth 2000\n";

const REGISTERS: [&str; 3] = ["deflected", "refused", "queue_length"];

/// Enough packets that no target is missed by chance: one draw in sixteen selects the long port.
const DETOURED: u32 = 400;

const TARGETS: [usize; 4] = [2, 3, 4, 5];

/// Arriving frames, and the permitted outcomes.
#[derive(Default)]
struct Plan {
    arrivals: Arrivals,
    /// Ports by which each frame may leave, by the frame as it leaves.
    leaving: BTreeMap<Vec<u8>, BTreeSet<usize>>,
    detoured: u64,
    refused: u64,
}

impl Plan {
    fn send(
        &mut self,
        kind: &str,
        (input, own): (usize, usize),
        switches: u8,
        ports: &[usize],
    ) -> Result<(), String> {
        let sequence = self.arrivals.len() as u32;
        let packet = packet_of(kind, (input, own), 0, sequence)?;
        let arriving = Arriving { input, own, switches, packet };
        self.arrivals.push((input, frame_of(&arriving, switches)?));
        let leaves = frame_of(&arriving, switches + 1)?;
        match self.leaving.insert(leaves, ports.iter().copied().collect()) {
            None => Ok(()),
            Some(_) => Err("two packets are alike".to_owned()),
        }
    }

    /// Plans every kind of packet, and packets that cannot be forwarded.
    fn new() -> Result<Plan, String> {
        let mut plan = Plan::default();
        for index in 0..DETOURED {
            let input = [6, 2, 4][index as usize % 3];
            let others: Vec<usize> = TARGETS.into_iter().filter(|&port| port != input).collect();
            let kind = if index % 2 == 0 { "marked" } else { "droppable" };
            plan.send(kind, (input, HOT), (index % 2) as u8, &others)?;
            plan.detoured += 1;
        }
        for (kind, switches) in [
            ("marked", 2),
            ("marked", 40),
            ("scheduled", 0),
            ("control", 0),
            ("header", 0),
            ("droppable", 3),
        ] {
            plan.send(kind, (3, BUSY), switches, &[BUSY])?;
        }
        for _ in 0..3 {
            plan.send("marked", (4, FULL_ENOUGH), 0, &[FULL_ENOUGH])?;
        }
        let (input, whole) = plan.arrivals[0].clone();
        let mut astray = whole.clone();
        // No route leads to 10.9.0.0/16.
        astray[31] = 9;
        mend_checksum(&mut astray);
        let mut damaged = whole.clone();
        damaged[24] ^= 1;
        let mut old = whole;
        old[22] = 1;
        mend_checksum(&mut old);
        for frame in [astray, damaged, old] {
            plan.arrivals.push((input, frame));
            plan.refused += 1;
        }
        Ok(plan)
    }

    /// Checks that each packet left once as required by a permitted port, that every such port occurred, and that
    /// registers agree.
    fn judge(&self, left: &[Vec<Vec<u8>>], registers: &[Vec<u64>]) -> Result<(), String> {
        let (mut seen, mut found) = (BTreeSet::new(), BTreeSet::new());
        for (port, frames) in left.iter().enumerate() {
            for frame in frames {
                let wrong =
                    |what: &str| Err(format!("{SWITCH}: port {port}: {what}: {}", hex(frame)));
                match self.leaving.get(frame) {
                    None => return wrong("no packet that was sent"),
                    Some(ports) if !ports.contains(&port) => return wrong("the wrong port"),
                    Some(_) if !seen.insert(frame) => return wrong("a second time"),
                    Some(_) => found.insert(port),
                };
            }
        }
        if seen.len() != self.leaving.len() {
            let (left, sent) = (seen.len(), self.leaving.len());
            return Err(format!("{SWITCH}: {left} packets left, not {sent}"));
        }
        if let Some(port) = TARGETS.iter().find(|port| !found.contains(port)) {
            return Err(format!("{SWITCH}: nothing was detoured to port {port}"));
        }
        let [detoured, refused, lengths] = registers else {
            return Err(format!("{SWITCH}: {} registers", registers.len()));
        };
        for (name, held, expected) in [
            ("deflected", detoured[HOT], self.detoured),
            ("detoured, all", detoured.iter().sum(), self.detoured),
            ("refused", refused.iter().sum(), self.refused),
            ("queue_length of the hot port", lengths[HOT], 1000),
        ] {
            if held != expected {
                return Err(format!("register {name} is {held} in {SWITCH}, not {expected}"));
            }
        }
        Ok(())
    }
}

/// Compares the switch with the interpreter. Returns what was compared or why not; a difference is an error.
pub(in crate::p4) fn compare(root: &Path, _: &str, tables: &str) -> Result<String, String> {
    if let Some(missing) = simple_switch::missing() {
        return Ok(format!("SKIPPED: {missing} is not on PATH; bmv2 was not asked of OPF"));
    }
    let plan = Plan::new()?;
    let commands = tables.to_owned() + LENGTHS;
    let run = simple_switch::run(root, &SHAPE, "detour", &commands, &plan.arrivals, &REGISTERS)?;
    plan.judge(&run.left, &run.registers)?;
    Ok(format!(
        "{SWITCH} detours {} of {} packets, of hosts sent with a TTL of {MAX_TIME_TO_LIVE}, as the interpreter may",
        plan.detoured,
        plan.arrivals.len()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bmv2::{Draw, Program, Switch};
    use crate::p4::simple_switch::Left;
    use crate::vectors::read;

    fn root() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    /// The interpreter gets the real switch's input; then with mistakes.
    #[test]
    fn the_packets_leave_as_they_may() {
        let file = |name: &str| read(&root(), Path::new(name)).unwrap();
        let program = Program::parse(OPF.compiled, &file(OPF.compiled)).unwrap();
        let mut switch = Switch::new(&program, PRIORITIES);
        // The interpreter's queues have no depth.
        let lengths = LENGTHS.replace("set_queue_depth 2000\n", "");
        switch.configure(&(file(OPF.tables) + &lengths)).unwrap();
        let plan = Plan::new().unwrap();
        for (index, (input, bytes)) in plan.arrivals.iter().enumerate() {
            let of: u64 = if TARGETS.contains(input) { 3 } else { 4 };
            if index < DETOURED as usize {
                for value in [index as u64 / 3 % of, index as u64 / 12 % of] {
                    switch.lay_out(Draw { value, low: 0, high: of - 1 });
                }
            }
            switch.receive(*input as u64, bytes).unwrap();
        }
        let mut left = vec![Vec::new(); PORTS];
        for (port, left) in left.iter_mut().enumerate() {
            while let Some(queued) = switch.take(port as u64) {
                left.push(switch.send(port as u64, queued).unwrap().unwrap());
            }
        }
        let registers = REGISTERS.map(|name| switch.registers(name).unwrap());
        plan.judge(&left, &registers).unwrap();

        let found = |change: fn(&mut Left, &mut [Vec<u64>; 3])| {
            let (mut left, mut registers) = (left.clone(), registers.clone());
            change(&mut left, &mut registers);
            plan.judge(&left, &registers).unwrap_err()
        };
        assert!(found(|left, _| left[2][0][22] += 1).contains("no packet that was sent"));
        assert!(found(|left, _| left.swap(0, 7)).contains("the wrong port"));
        let twice = found(|left, _| {
            let frame = left[7][0].clone();
            left[7].push(frame);
        });
        assert!(twice.contains("a second time"));
        assert!(found(|left, _| drop(left[7].pop())).contains("packets left, not"));
        assert!(found(|_, registers| registers[0][7] = 1).contains("register detoured, all"));
        assert!(found(|_, registers| registers[2][0] = 1).contains("queue_length of the hot port"));
    }
}
