//! OPF's program on bmv2's `simple_switch`.
//!
//! The switch draws by itself, so the path of a detoured packet is random. Registers mark a port as hot to which only
//! detoured data goes. Then every packet has a set of possible ports, and each of these must occur.

use std::collections::BTreeSet;

use super::{MAX_TIME_TO_LIVE, frame_of};
use crate::bmv2::Program;
use crate::detours::{Arriving, packet_of};
use crate::frames::mend_checksum;
use crate::simple_switch::{Arrivals, Exit, Exits, SWITCH, Simple, expect};

/// A hot port for data that is detoured; a hot port for other packets; a port as long as the threshold.
const HOT: usize = 0;
const BUSY: usize = 7;
const FULL_ENOUGH: usize = 1;

const LENGTHS: &str = "register_write queue_length 0 1000\nregister_write queue_length 7 1000\n\
    register_write queue_length 1 8\nregister_write queue_length 5 500\n";

/// Enough packets that no target is missed by chance: one draw in sixteen selects the long port.
const DETOURED: usize = 400;

const TARGETS: [usize; 4] = [2, 3, 4, 5];

/// Returns every kind of packet, first those that are detoured, and the permitted ways out.
fn plan() -> Result<(Arrivals, Exits), String> {
    let mut packets = Vec::new();
    for index in 0..DETOURED {
        let input = [6, 2, 4][index % 3];
        let ports = TARGETS.into_iter().filter(|&port| port != input).collect();
        packets.push((["marked", "droppable"][index % 2], (input, HOT), index as u8 % 2, ports));
    }
    let kinds = ["marked", "marked", "scheduled", "control", "header", "droppable"];
    for (kind, switches) in kinds.into_iter().zip([2, 40, 0, 0, 0, 3]) {
        packets.push((kind, (3, BUSY), switches, vec![BUSY]));
    }
    packets.extend([(); 3].map(|()| ("marked", (4, FULL_ENOUGH), 0, vec![FULL_ENOUGH])));

    let (mut arrivals, mut exits) = (Arrivals::new(), Exits::new());
    for (number, (kind, (input, own), switches, ports)) in packets.into_iter().enumerate() {
        let packet = packet_of(kind, (input, own), 0, number as u32)?;
        let arriving = Arriving { input, own, switches, packet };
        arrivals.push((input, frame_of(&arriving, switches)?));
        // Any order.
        let exit = Exit { packet: number, stream: number, ports };
        exits.insert(frame_of(&arriving, switches + 1)?, exit);
    }
    let (input, whole) = arrivals[0].clone();
    let [mut astray, mut damaged, mut old] = [(); 3].map(|()| whole.clone());
    // No route leads to 10.9.0.0/16.
    astray[31] = 9;
    mend_checksum(&mut astray);
    damaged[24] ^= 1;
    old[22] = 1;
    mend_checksum(&mut old);
    arrivals.extend([astray, damaged, old].map(|frame| (input, frame)));
    Ok((arrivals, exits))
}

pub(crate) fn compare(_: &Program, tables: &str, simple: &Simple<'_>) -> Result<String, String> {
    let (arrivals, exits) = plan()?;
    let run = simple("detour", &(tables.to_owned() + LENGTHS), &arrivals)?;
    let left = run.judge_all(&exits)?;
    let found: BTreeSet<usize> = left.iter().map(|(_, port)| *port).collect();
    if let Some(port) = TARGETS.iter().find(|port| !found.contains(port)) {
        return Err(format!("{SWITCH}: nothing was detoured to port {port}"));
    }
    let detoured = DETOURED as u64;
    expect("detoured of the hot port", run.registers["detoured"][HOT], detoured)?;
    expect("detoured, all", run.sum("detoured"), detoured)?;
    // The last three packets cannot be forwarded.
    expect("refused", run.sum("refused"), 3)?;
    expect("queue_length of the hot port", run.registers["queue_length"][HOT], 1000)?;
    let packets = arrivals.len();
    Ok(format!(
        "{SWITCH} detours {detoured} of {packets} packets, of hosts sent with a TTL of {MAX_TIME_TO_LIVE}, as the \
         interpreter may"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opf::Opf;
    use crate::simple_switch::{Run, tests::compared};

    #[test]
    fn differences_from_simple_switch_are_found() {
        let arrivals = plan().unwrap().0;
        let detoured = arrivals.iter().take(DETOURED).enumerate();
        let draws = detoured.flat_map(|(index, (input, _))| {
            let (index, of) = (index as u64, if TARGETS.contains(input) { 3 } else { 4 });
            [(index / 3 % of, of), (index / 12 % of, of)]
        });
        let draws: Vec<(u64, u64)> = draws.collect();
        assert!(compared::<Opf>(compare, &draws, "", &|_| {}).is_ok());
        let finds = |change: fn(&mut Run), expected: &str| {
            let error = compared::<Opf>(compare, &draws, "detour", &change).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        finds(|run| run.left[2][0][22] += 1, "no packet that was sent");
        finds(|run| run.left.swap(0, 7), "the wrong port");
        finds(|run| run.left[7].extend_from_within(..1), "a second time");
        finds(|run| drop(run.left[7].pop()), "packets left, not 409");
        fn register<'r>(run: &'r mut Run, name: &str) -> &'r mut Vec<u64> {
            run.registers.get_mut(name).unwrap()
        }
        finds(|run| register(run, "detoured")[7] = 1, "detoured, all is 401");
        finds(|run| register(run, "refused")[1] = 1, "refused is 4");
        finds(|run| register(run, "queue_length")[0] = 1, "queue_length of the hot port is 1");
    }
}
