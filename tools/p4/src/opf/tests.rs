//! The compiled program against the switch crate's decision on random input, and its behaviour where the vectors are
//! silent.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use proptest::prelude::*;

use super::{Bench, Encode, Opf, frame_of};
use crate::bmv2::{Program, Switch};
use crate::claim::{self, Claim as _, KEPT, program, tables};
use crate::detours::{Arriving, Command, Config, Device as _, Harness, PORTS, Vector, packet_of};
use crate::frames::mend_checksum;

fn kept() -> &'static (Program, String) {
    static READ: OnceLock<(Program, String)> = OnceLock::new();
    let root = crate::root();
    READ.get_or_init(|| (program::<Opf>(&root, KEPT).unwrap(), tables::<Opf>(&root).unwrap()))
}

/// Returns a switch with the kept tables, and then these commands.
fn switch(commands: &str) -> Switch<'static> {
    let (program, tables) = kept();
    claim::switch::<Opf>(program, &(tables.clone() + commands)).unwrap()
}

fn frame_of_v6(arriving: &Arriving, switches: u8) -> Result<Vec<u8>, String> {
    let v4 = frame_of(arriving, switches)?;
    let length = u16::from_be_bytes([v4[16], v4[17]]) - 20;
    let class = [0x60 | v4[15] >> 4, v4[15] << 4, 0, 0];
    let head =
        [&v4[..12], &[0x86, 0xdd], &class, &length.to_be_bytes(), &[v4[23], v4[22]]].concat();
    let address = |host| [&[0xfd, 0, 0, host][..], &[0; 11], &[1]].concat();
    Ok([head, address(v4[28]), address(v4[32]), v4[34..].to_vec()].concat())
}

fn command() -> impl Strategy<Value = Command> {
    let packet = (0..8usize, 0..PORTS, 0..PORTS, 0..5u8, 0..8u8, any::<u8>());
    let packet = packet.prop_map(|(kind, input, own, switches, priority, sequence)| {
        // The wire format has no priority for headers and control packets.
        let (kind, priority) = match kind {
            0 => ("scheduled", priority),
            1 => ("control", 0),
            2 => ("header", 0),
            3 => ("droppable", priority),
            _ => ("marked", priority),
        };
        let switches = if switches == 4 { sequence % 63 } else { switches };
        let packet = packet_of(kind, (input, own), priority, sequence.into()).expect("a kind");
        Command::Packet(Arriving { input, own, switches, packet })
    });
    prop_oneof![
        1 => (0..PORTS, 0..8u16).prop_map(|(port, packets)| Command::Length { port, packets }),
        2 => (0..PORTS).prop_map(|port| Command::Serve { port, times: 1 }),
        6 => packet,
    ]
}

/// Runs commands, with two numbers whose remainders are the draws of a packet.
fn check(
    config: &Config,
    commands: &[(Command, [u32; 2])],
    encode: Encode,
) -> Result<(), TestCaseError> {
    let vector = Vector { file: "chance".to_owned(), config: config.clone(), commands: Vec::new() };
    let mut harness = Harness::new(vector.model(), config);
    let mut bench = Bench::new(switch(&Opf::commands(config).unwrap()), encode);
    for (command, draws) in commands {
        if let Command::Packet(arriving) = command
            && let Some(of @ 1..) = harness.admitted(arriving).map(|admitted| admitted.len() as u32)
        {
            let places = draws.map(|draw| draw % of);
            harness.lay_out(&places, of);
            bench.lay_out(&places, of);
        }
        let (mut way, mut expected) = (None, None);
        prop_assert_eq!(bench.obey(command, &mut way), harness.obey(command, &mut expected));
        prop_assert_eq!(way, expected);
        for port in 0..PORTS {
            prop_assert_eq!(bench.seen(port), harness.seen(port));
            prop_assert_eq!(bench.detoured(port), harness.detoured(port));
        }
    }
    prop_assert_eq!(bench.finish(), Ok(()));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// Ports, registers and frames agree with the switch crate's decision.
    #[test]
    fn the_p4_detours_agree_with_the_reference(
        threshold in 0..5u32,
        limit in prop_oneof![4 => 0..4u8, 1 => Just(255)],
        to_switch in any::<[bool; PORTS]>(),
        dead in prop::array::uniform8(prop::bool::weighted(0.2)),
        v6 in any::<bool>(),
        commands in prop::collection::vec((command(), any::<[u32; 2]>()), 1..80),
    ) {
        let config = Config { threshold, limit, to_switch, dead };
        check(&config, &commands, if v6 { frame_of_v6 } else { frame_of })?;
    }
}

/// A marked frame by port 0 to host 2, changed, with a valid checksum.
fn marked(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let packet = packet_of("marked", (0, 2), 0, 7).unwrap();
    let mut bytes = frame_of(&Arriving { input: 0, own: 2, switches: 0, packet }, 0).unwrap();
    change(&mut bytes);
    mend_checksum(&mut bytes);
    bytes
}

/// Forwards a frame without a draw. Returns output port and frame.
fn forwarded(switch: &mut Switch<'_>, bytes: &[u8]) -> Option<(u64, Vec<u8>)> {
    let port = switch.receive(0, bytes).unwrap()?;
    let packet = switch.pop(port).expect("it is queued there");
    Some((port, switch.send(port, packet).unwrap()))
}

/// A frame leaves a switch with a hot port 2 as it should, without a detour, or is refused.
#[track_caller]
fn leaves(commands: &str, bytes: &[u8], expected: Option<Vec<u8>>) {
    let mut switch = switch(&format!("register_write queue_length 2 9\n{commands}"));
    let is_refused = u64::from(expected.is_none());
    assert_eq!(forwarded(&mut switch, bytes), expected.map(|expected| (2, expected)));
    assert_eq!(switch.register("refused").unwrap()[0], is_refused);
    assert_eq!(switch.register("detoured").unwrap()[2], 0);
}

#[test]
fn an_expired_ttl_is_dropped_and_a_ttl_above_the_initial_one_is_ignored() {
    for time_to_live in [0, 1, 2, 65, 255] {
        // Without a limit too.
        let no_limit = "table_set_default ingress.settings ingress.set 64 255 8 4\n";
        let limit = if time_to_live > 2 { no_limit } else { "" };
        let left = (time_to_live > 1).then(|| marked(|bytes| bytes[22] = time_to_live - 1));
        leaves(limit, &marked(|bytes| bytes[22] = time_to_live), left);
    }
}

#[test]
fn the_program_handles_cases_without_a_vector() {
    let nothing_set = "table_set_default ingress.settings ingress.set 0 0 0 0";
    leaves(nothing_set, &marked(|_| {}), Some(marked(|bytes| bytes[22] = 63)));
    // A frame that is not IP is forwarded, even if its DSCP, 0, is taken for unscheduled.
    let mut other = marked(|_| {});
    other[12..14].copy_from_slice(&[0x88, 0xb5]);
    leaves("table_add ingress.unscheduled_dscp ingress.mark 0 =>", &other, Some(other.clone()));
    // A set without its member leads nowhere.
    leaves("table_clear ingress.member\n", &marked(|bytes| bytes[31] = 1), None);
}

/// The checksum is updated incrementally, at every value; also with options.
#[test]
fn the_checksum_follows_the_ttl() {
    let mut switch = switch("");
    for identification in (0..0xff00).step_by(16).chain(0xff00..=u16::MAX) {
        let change =
            |bytes: &mut Vec<u8>| bytes[18..20].copy_from_slice(&identification.to_be_bytes());
        let (_, left) = forwarded(&mut switch, &marked(change)).unwrap();
        let expected = marked(|bytes| {
            change(bytes);
            bytes[22] -= 1;
        });
        assert_eq!(left[..34], expected[..34]);
    }
    let mut options = marked(|bytes| bytes[14] = 0x46);
    // Options whose sum is -0.
    options.splice(34..34, [0xff; 4]);
    let (_, left) = forwarded(&mut switch, &options).unwrap();
    let mut mended = left.clone();
    mend_checksum(&mut mended);
    assert_eq!((left[22], &left), (63, &mended));
    // The checksum is not verified: a wrong one stays wrong.
    options[25] ^= 1;
    let (_, left) = forwarded(&mut switch, &options).unwrap();
    mended.clone_from(&left);
    mend_checksum(&mut mended);
    assert_ne!(left, mended);
}

/// Output ports of many flows to hosts behind set 1.
fn ways(switch: &mut Switch<'_>, input: u64) -> Vec<u64> {
    let way = |flow: u16| {
        let bytes = marked(|bytes| {
            bytes[31] = 1;
            bytes[34..36].copy_from_slice(&flow.to_be_bytes());
        });
        switch.receive(input, &bytes).unwrap().expect("it is routed")
    };
    (0..64).map(way).collect()
}

#[test]
fn flows_spread_over_equal_cost_ports_and_keep_their_port() {
    let mut one = switch("");
    let first = ways(&mut one, 0);
    assert_eq!(first, ways(&mut one, 0), "a flow keeps its port");
    for port in 2..6 {
        let flows = first.iter().filter(|&&way| way == port).count();
        assert!((8..=24).contains(&flows), "{flows} of 64 leave by port {port}");
    }
    assert_ne!(first, ways(&mut one, 3), "what came by another port draws anew");

    // Another switch that uses other bits divides the flows of each port again.
    let mut other = switch(
        "table_clear ingress.ipv4_route\ntable_add ingress.ipv4_route ingress.spread 10.1.0.0/16 => 1 2 3\n",
    );
    let second = ways(&mut other, 0);
    let of_one: BTreeSet<u64> =
        first.iter().zip(&second).filter(|(way, _)| **way == 2).map(|(_, next)| *next).collect();
    assert_eq!(of_one, BTreeSet::from([2, 3, 4, 5]));
}

/// The kept tables equal the bench's, with ports 2 to 5 to switches.
#[test]
fn the_tables_describe_the_switch_of_the_vectors() {
    let mut to_switch = [false; PORTS];
    to_switch[2..6].fill(true);
    let config = Config { threshold: 8, limit: 2, to_switch, dead: [false; PORTS] };
    let commands = Opf::commands(&config).unwrap();
    for line in commands.lines().filter(|line| !line.starts_with("table_clear")) {
        assert!(kept().1.lines().any(|kept| kept == line), "{line}");
    }
}
