//! NDP's program on bmv2's `simple_switch`: two comparisons.
//!
//! First, registers mark queues as full. Then every packet has one disposition, and frames and registers must be the
//! interpreter's; the order between the two queues of a port is open. Second, slow queues do fill: every packet must
//! be accounted for, in order, and every place freed.

use std::path::Path;

use super::{Ndp, PORTS};
use crate::bmv2::Program;
use crate::claim::switch;
use crate::frames::frame;
use crate::simple_switch::{Arrivals, Exit, Exits, Run, SWITCH, Simple, expect};
use crate::vectors::{Command, Vector};

/// Port 1 has room for everything, however late its queues are served; the data queue of port 2 is full; both queues of
/// ports 0 and 3 are full.
const FULL: &str = "table_set_default ingress.settings ingress.set 50 54 64 1000 0xffffffff 0xffffffff 500000\n\
    register_write data_packets 2 1000\nregister_write data_packets 3 1000\n\
    register_write header_bytes 3 500000\nregister_write data_packets 0 1000\n\
    register_write header_bytes 0 500000\n";

/// Packets of a burst from port 1 to port 2, which is slow and holds four data packets and four headers.
const BURST: usize = 200;
const SLOW: &str = "table_set_default ingress.settings ingress.set 50 54 64 4 0xffffffff 0xffffffff 256\n\
    set_queue_rate 100 2\n";

fn frames_of(text: &str) -> Result<Arrivals, String> {
    let text = format!("# claim: all\n# origin: chosen\n# profiles: p4\n{text}");
    let vector = Vector::parse(Path::new("packets for the real switch"), &text)?;
    let packets = vector.commands.iter().filter_map(|(_, command)| match command {
        Command::Packet { packets, .. } => Some(packets),
        _ => None,
    });
    packets.flatten().map(|(_, packet)| Ok((packet.source.index(), frame(packet)?))).collect()
}

/// Returns every kind of packet from every port to every port, and packets that cannot be forwarded.
fn packets() -> Result<Arrivals, String> {
    let mut text = String::new();
    for n in 0..PORTS * PORTS {
        let hosts = format!("from={} to={}", n / PORTS, n % PORTS);
        // No two packets may leave alike, so what is trimmed or returned has other numbers.
        let (cut, back) = (n + 16, n + 32);
        text += &format!(
            "define a{n} data size=1500 {hosts} seq={n}\ndefine b{n} data size=9064 {hosts} seq={n}\n\
             define c{n} data size=70 {hosts} seq={n}\ndefine d{n} droppable size=300 {hosts} seq={n}\n\
             define e{n} ack {hosts} seq={n}\ndefine f{n} pull {hosts} seq={n}\n\
             define g{n} data size=1500 {hosts} seq={cut}\ndefine h{n} trimmed g{n}\n\
             define i{n} data size=1500 {hosts} seq={back}\ndefine j{n} returned i{n}\n\
             packet 0 a{n} b{n} c{n} d{n} e{n} f{n} h{n} j{n}\n"
        );
    }
    // No route leads to this host.
    text += "define astray data size=100 from=0 to=9\npacket 9 astray\n";
    let mut frames = frames_of(&text)?;
    // A wrong checksum, and a frame that is not IP.
    let mut damaged = frames[0].1.clone();
    damaged[24] ^= 1;
    let other = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xb5][..], &[7; 50]].concat();
    frames.extend([(0, damaged), (2, other)]);
    Ok(frames)
}

/// Returns whether a frame is from the header queue, by its DSCP in the tables.
fn is_header(frame: &[u8]) -> bool {
    frame[12..14] == [8, 0] && [48, 50, 52, 54].contains(&(frame[15] >> 2))
}

pub(crate) fn compare(
    program: &Program,
    tables: &str,
    simple: &Simple<'_>,
) -> Result<String, String> {
    Ok(full_queues(program, tables, simple)? + "\n" + &slow_queues(tables, simple)?)
}

fn full_queues(program: &Program, tables: &str, simple: &Simple<'_>) -> Result<String, String> {
    let (commands, frames) = (tables.to_owned() + FULL, packets()?);
    let expected = Run::interpreted::<Ndp>(program, switch::<Ndp>(program, &commands)?, &frames)?;
    let mut exits = Exits::new();
    for (port, frames) in expected.left.into_iter().enumerate() {
        for frame in frames {
            let (packet, stream) = (exits.len(), is_header(&frame).into());
            let before = exits.insert(frame, Exit { packet, stream, ports: vec![port] });
            assert!(before.is_none(), "two packets are alike");
        }
    }
    let run = simple("full", &commands, &frames)?;
    let (left, registers) = (run.judge_all(&exits)?.len(), expected.registers.len());
    for (name, cells) in &expected.registers {
        for (cell, &expected) in cells.iter().enumerate() {
            expect(&format!("{name}[{cell}]"), run.registers[name][cell], expected)?;
        }
    }
    let packets = frames.len();
    Ok(format!(
        "{SWITCH} gives the interpreter's {left} frames and {registers} registers for {packets} packets"
    ))
}

/// Returns the burst, and its packets as they may leave: whole, trimmed or returned.
fn burst() -> Result<(Arrivals, Exits), String> {
    let mut frames = frames_of(&format!(
        "define d1..d{BURST} data size=1500 from=1 to=2\n\
         define t1..t{BURST} trimmed d1..d{BURST}\ndefine r1..r{BURST} returned d1..d{BURST}\n\
         packet 2 d1..d{BURST} t1..t{BURST} r1..r{BURST}\n"
    ))?;
    let mut exits = Exits::new();
    for (index, (_, frame)) in frames.iter().enumerate() {
        let (packet, stream) = (index % BURST, index / BURST);
        let ports = vec![if stream == 2 { 1 } else { 2 }];
        exits.insert(frame.clone(), Exit { packet, stream, ports });
    }
    frames.truncate(BURST);
    Ok((frames, exits))
}

fn slow_queues(tables: &str, simple: &Simple<'_>) -> Result<String, String> {
    let (frames, exits) = burst()?;
    let run = simple("slow", &(tables.to_owned() + SLOW), &frames)?;
    let mut counts = [0; 3];
    run.judge(&exits)?.iter().for_each(|(exit, _)| counts[exit.stream] += 1);
    let [whole, trimmed, returned] = counts;
    let dropped = BURST as u64 - counts.iter().sum::<u64>();
    // A dropped header was trimmed and returned before.
    let headers = trimmed + returned + dropped;
    for name in run.registers.keys() {
        let expected = match name.as_str() {
            "trimmed" => headers,
            "cut_bytes" => headers * (1500 - 64),
            "returned" => returned + dropped,
            "dropped" => dropped,
            _ => 0,
        };
        expect(name, run.sum(name), expected)?;
    }
    let counts =
        format!("{whole} whole, {trimmed} trimmed, {returned} returned, {dropped} dropped");
    // The numbers are random, but each form must occur: the burst takes a moment, the queue two seconds.
    if [whole, trimmed, returned].contains(&0) {
        return Err(format!("{SWITCH}: {counts}"));
    }
    Ok(format!("{SWITCH} accounts for a burst of {BURST} to a slow port: {counts}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simple_switch::tests::compared;

    #[test]
    fn differences_from_simple_switch_are_found() {
        // Four places in each of three queues.
        let expected = "simple_switch gives the interpreter's 77 frames and 9 registers for 131 packets\n\
             simple_switch accounts for a burst of 200 to a slow port: 4 whole, 4 trimmed, 4 returned, 188 dropped";
        assert_eq!(compared::<Ndp>(compare, &[], "", &|_| {}).as_deref(), Ok(expected));
        let finds = |name: &str, change: fn(&mut Run), expected: &str| {
            let error = compared::<Ndp>(compare, &[], name, &change).unwrap_err();
            assert!(error.contains(expected), "{error}");
        };
        for name in ["full", "slow"] {
            finds(name, |run| run.left[2][0][20] ^= 1, "no packet that was sent");
            finds(name, |run| run.left.swap(1, 2), "the wrong port");
            finds(name, |run| run.left[2].swap(0, 1), "overtaken");
            finds(name, |run| run.left[2].extend_from_within(..1), "a second time");
            let counted = |run: &mut Run| run.registers.get_mut("trimmed").unwrap()[2] += 1;
            finds(name, counted, "register trimmed");
        }
        finds("full", |run| drop(run.left[2].pop()), "packets left, not 77");
        finds("slow", |run| drop(run.left[2].pop()), "register cut_bytes");
    }
}
