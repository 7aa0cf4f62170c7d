//! OPF's program, and a bench that holds it to `vectors/detour`: each packet leaves by the expected port, a hop older and
//! otherwise unchanged, and registers hold the lengths that the vector sees.
//!
//! The vectors give each draw and its bound: the interpreter's `random` returns the draw, and the program must pass the
//! bound.

use std::collections::VecDeque;
use std::path::Path;

use serde_json::{Value, json};

use crate::bmv2::{Switch, each_object};
use crate::claim::Claim;
use crate::detour_frames::{MAX_TIME_TO_LIVE, frame_of, targets};
use crate::detours::{Arriving, Config, Device, PORTS, Vector, read_all};
use crate::mutants::Mutant::{
    self, Also, Always, Condition, Operation, Program, Read, Set, Table, Without,
};
use crate::mutants::{actions, primitives};
use crate::simple_switch::hex;

pub(crate) mod real;
#[cfg(test)]
mod tests;

pub(crate) struct Opf;

impl Claim for Opf {
    type Vector = Vector;
    type Settings = Config;
    const FILE: &'static str = "opf_v1model.json";
    const TABLES: &'static str = "p4/eight_ports.txt";
    const PORTS: usize = PORTS;
    const PRIORITIES: u64 = 1;
    const MUTANTS: &'static [(&'static str, Mutant<Config>)] = &MUTANTS;

    fn vectors(root: &Path) -> Result<Vec<Vector>, String> {
        read_all(root)
    }

    fn settings(vector: &Vector) -> Result<Config, String> {
        Ok(vector.config.clone())
    }

    fn commands(config: &Config) -> Result<String, String> {
        let targets = targets(config);
        let mut text = format!(
            "table_set_default ingress.settings ingress.set {MAX_TIME_TO_LIVE} {} {} {}\n",
            config.limit,
            config.threshold,
            targets.len()
        );
        for (table, action) in [
            ("first_target", "first_is"),
            ("second_target", "second_is"),
            ("place_of_input", "input_is_at"),
            ("place_of_own", "own_is_at"),
        ] {
            text += &format!("table_clear ingress.{table}\n");
            for (place, &port) in targets.iter().enumerate() {
                let is_target = table.ends_with("target");
                let (key, value) = if is_target { (place, port) } else { (port, place) };
                text += &format!("table_add ingress.{table} ingress.{action} {key} => {value}\n");
            }
        }
        Ok(text)
    }

    fn run(switch: Switch<'_>, vector: &Vector) -> Result<(), String> {
        Bench::new(switch, frame_of).run(vector)
    }
}

type Encode = fn(&Arriving, u8) -> Result<Vec<u8>, String>;

/// The switch with the frames that wait in it.
struct Bench<'p> {
    switch: Switch<'p>,
    encode: Encode,
    /// Frames that must leave each port.
    waiting: [VecDeque<Vec<u8>>; PORTS],
}

impl<'p> Bench<'p> {
    fn new(switch: Switch<'p>, encode: Encode) -> Bench<'p> {
        Bench { switch, encode, waiting: Default::default() }
    }

    /// Checks that all scripted draws were drawn.
    fn check_all_drawn(&self) -> Result<(), String> {
        match self.switch.draws.len() {
            0 => Ok(()),
            draws => Err(format!("{draws} draws were not drawn")),
        }
    }
}

impl Device for Bench<'_> {
    fn set_length(&mut self, port: usize, packets: u16) -> Result<(), String> {
        self.switch.configure(&format!("register_write queue_length {port} {packets}"))
    }

    fn lay_out(&mut self, places: &[u32], of: u32) {
        self.switch.draws.extend(places.iter().map(|&place| (place.into(), of.into())));
    }

    fn arrive(&mut self, arriving: &Arriving) -> Result<usize, String> {
        let bytes = (self.encode)(arriving, arriving.switches)?;
        let way = self.switch.receive(arriving.input as u64, &bytes)?;
        let way = way.ok_or("the packet was dropped")? as usize;
        let waiting = self.waiting.get_mut(way).ok_or_else(|| format!("there is no port {way}"))?;
        waiting.push_back((self.encode)(arriving, arriving.switches + 1)?);
        self.check_all_drawn().map(|()| way)
    }

    fn serve(&mut self, port: usize) -> Result<(), String> {
        let (packet, expected) = (self.switch.pop(port as u64), self.waiting[port].pop_front());
        let left = packet.map(|packet| self.switch.send(port as u64, packet)).transpose()?;
        if left == expected {
            return Ok(());
        }
        let [left, expected] = [left, expected].map(|frame| hex(&frame.unwrap_or_default()));
        Err(format!("{left} leaves port {port}, which should be {expected}"))
    }

    fn seen(&self, port: usize) -> Result<u64, String> {
        Ok(self.switch.register("queue_length")?[port])
    }

    fn detoured(&self, port: usize) -> Result<u64, String> {
        Ok(self.switch.register("detoured")?[port])
    }

    /// Checks that every scripted draw occurred, and drains the queues.
    fn finish(mut self) -> Result<(), String> {
        self.check_all_drawn()?;
        for port in 0..PORTS {
            while !self.waiting[port].is_empty() {
                self.serve(port)?;
            }
        }
        Ok(())
    }
}

const MUTANTS: [(&str, Mutant<Config>); 43] = [
    ("the threshold is one less", Set(|to| to.threshold = to.threshold.saturating_sub(1))),
    ("the threshold is one more", Set(|to| to.threshold += 1)),
    ("the limit is one less", Set(|to| to.limit = to.limit.saturating_sub(1))),
    ("the limit is one more", Set(|to| to.limit += 1)),
    ("MAX_TTL is one less than the hosts'", Table("ingress.set 64", "ingress.set 63")),
    ("MAX_TTL is one more than the hosts'", Table("ingress.set 64", "ingress.set 65")),
    ("a port to a host is drawn", Set(|to| to.to_switch = [true; PORTS])),
    ("a dead link is drawn", Set(|to| to.dead = [false; PORTS])),
    ("the input is drawn", Table("table_add ingress.place_of_input", "#")),
    ("its own port is drawn", Table("table_add ingress.place_of_own", "#")),
    (
        "a target is missing",
        Set(|to| targets(to).last().into_iter().for_each(|&last| to.dead[last] = true)),
    ),
    ("scheduled data is detoured", Also("table_add ingress.unscheduled_dscp ingress.mark 10 =>")),
    ("headers are detoured", Also("table_add ingress.unscheduled_dscp ingress.mark 50 =>")),
    ("control packets are detoured", Also("table_add ingress.unscheduled_dscp ingress.mark 48 =>")),
    ("the mark of what may be trimmed is not known", Table(".mark 3 =>", ".no_mark 3 =>")),
    ("the mark of what may only be dropped is not known", Table(".mark 5 =>", ".no_mark 5 =>")),
    ("the mark beside a priority is not known", Table(".mark 27 =>", ".no_mark 27 =>")),
    ("nobody asks for the mark", Condition("unscheduled", "==", "<=")),
    ("a queue of the threshold is hot", Condition("threshold", ">", ">=")),
    ("every port is hot", Always("threshold", true)),
    ("no port is hot", Always("threshold", false)),
    ("detoured once more at the limit", Condition("limit", "<", "<=")),
    ("no limit", Condition("limit", "<", "!=")),
    ("the length of the input is looked at", Read("look_at_own", "port", "standard.ingress_port")),
    ("drawn where no port is left", Always("candidates", true)),
    ("an input that is its own port is left out twice", Program(left_out_twice)),
    ("one port is drawn", Program(one_draw)),
    ("drawn without replacement", Program(|program| bound(program, 1, "-"))),
    ("a draw may give a place too many", Program(|program| bound(program, 0, "+"))),
    ("the lower place is not stepped over", Read("draw", "lower", "upper")),
    ("the higher place is not stepped over", Read("draw", "upper", "lower")),
    ("the longer of both is chosen", Operation("detour", "<", ">")),
    ("of equals the second is chosen", Operation("detour", "<", "<=")),
    ("always the first is chosen", Read("detour", "second_port", "first_port")),
    ("always the second is chosen", Read("detour", "first_port", "second_port")),
    ("nothing that is detoured is counted", Without("detour", &["register_write"])),
    ("the TTL stays", Without("leave_ipv4", &["ipv4.time_to_live"])),
    ("the IPv4 checksum is not mended", Without("leave_ipv4", &["ipv4.checksum"])),
    ("the register is not written", Without("write_length", &["register_write"])),
    ("the register is written a departure late", Program(written_late)),
    (
        "the register is that of the input",
        Read("write_length", "standard.egress_port", "standard.ingress_port"),
    ),
    ("the register leaves the packet out", Read("write_length", "0x00000001", "0x0")),
    (
        "the register holds what the packet found",
        Read("write_length", "standard.deq_qdepth", "standard.enq_qdepth"),
    ),
];

/// Changes only the comparison of two places. Each is also compared with a constant, the place of no target.
fn left_out_twice(program: &mut Value) {
    for action in actions(program, "count_candidates") {
        each_object(action, &mut |object| {
            let is_of_both = object.get("right").is_some_and(|right| right["type"] != "hexstr");
            if is_of_both && object["op"] == "==" {
                object.insert("op".to_owned(), json!("<"));
            }
        });
    }
}

fn draws(program: &mut Value) -> Vec<&mut Value> {
    let primitives = actions(program, "draw").flat_map(primitives);
    primitives.filter(|primitive| primitive["op"] == "modify_field_rng_uniform").collect()
}

/// Uses the first draw for both.
fn one_draw(program: &mut Value) {
    if let [first, second] = &mut draws(program)[..] {
        let [from, to] = [first, &mut *second].map(|draw| draw["parameters"][0].clone());
        **second = json!({"op": "assign", "parameters": [to, from]});
    }
}

/// Shifts the upper bound of a draw by one.
fn bound(program: &mut Value, which: usize, op: &str) {
    if let Some(draw) = draws(program).get_mut(which) {
        let (high, one) = (&mut draw["parameters"][2], json!({"type": "hexstr", "value": "0x1"}));
        let moved = json!({"op": op, "left": high.take(), "right": one});
        *high = json!({"type": "expression", "value": moved});
    }
}

/// Writes the value of the previous departure, kept in `refused` of the port, which no vector reads.
fn written_late(program: &mut Value) {
    let kept = json!({"type": "register_array", "value": "refused"});
    let before = json!({"type": "field", "value": ["scalars", "metadata_t.length"]});
    for primitives in actions(program, "write_length").map(primitives) {
        let write = primitives.pop().expect("the write of the register is the last");
        let (array, index, now) =
            (&write["parameters"][0], &write["parameters"][1], &write["parameters"][2]);
        primitives.extend([
            json!({"op": "register_read", "parameters": [before, kept, index]}),
            json!({"op": "register_write", "parameters": [kept, index, now]}),
            json!({"op": "register_write", "parameters": [array, index, before]}),
        ]);
    }
}
