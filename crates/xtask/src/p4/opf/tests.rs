//! The compiled program against the switch crate's decision on random input, and its behaviour where the vectors are
//! silent.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

use proptest::prelude::*;

use super::bench::{Bench, Encode, PRIORITIES, Setup, frame_of};
use crate::bmv2::{Program, Switch};
use crate::detours::{Arriving, Config, Harness, PORTS, Vector, packet_of};
use crate::frames::mend_checksum;
use crate::p4::OPF;
use crate::vectors::read;

fn file(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    read(&root, Path::new(name)).expect("it is kept")
}

fn program() -> &'static Program {
    static PROGRAM: OnceLock<Program> = OnceLock::new();
    PROGRAM
        .get_or_init(|| Program::parse(OPF.compiled, &file(OPF.compiled)).expect("it can be read"))
}

fn tables() -> &'static str {
    static TABLES: OnceLock<String> = OnceLock::new();
    TABLES.get_or_init(|| file(OPF.tables))
}

fn switch(commands: &str) -> Switch<'static> {
    let mut switch = Switch::new(program(), PRIORITIES);
    switch.configure(&(tables().to_owned() + commands)).expect("the tables take it");
    switch
}

fn frame_of_v6(arriving: &Arriving, switches: u8) -> Result<Vec<u8>, String> {
    let v4 = frame_of(arriving, switches)?;
    let mut bytes = [&v4[..12], &[0x86, 0xdd]].concat();
    let length = u16::from_be_bytes([v4[16], v4[17]]) - 20;
    bytes.extend([0x60 | v4[15] >> 4, v4[15] << 4, 0, 0]);
    bytes.extend(length.to_be_bytes());
    bytes.extend([v4[23], v4[22]]);
    for host in [v4[28], v4[32]] {
        bytes.extend([0xfd, 0, 0, host, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    }
    bytes.extend(&v4[34..]);
    Ok(bytes)
}

#[derive(Clone, Debug)]
enum Step {
    Length(usize, u16),
    Serve(usize),
    /// A packet, and two numbers whose remainders are its draws.
    Arrive(Arriving, [u32; 2]),
}

fn step() -> impl Strategy<Value = Step> {
    let packet = (0..8usize, 0..PORTS, 0..PORTS, 0..5u8, 0..8u8, any::<u8>(), any::<[u32; 2]>());
    let arrive = packet.prop_map(|(kind, input, own, switches, priority, sequence, draws)| {
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
        Step::Arrive(Arriving { input, own, switches, packet }, draws)
    });
    prop_oneof![
        1 => (0..PORTS, 0..8u16).prop_map(|(port, packets)| Step::Length(port, packets)),
        2 => (0..PORTS).prop_map(Step::Serve),
        6 => arrive,
    ]
}

fn check(config: &Config, steps: &[Step], encode: Encode) -> Result<(), TestCaseError> {
    let vector = Vector { file: "chance".to_owned(), config: config.clone(), commands: Vec::new() };
    let mut harness = Harness::new(vector.model(), config);
    let mut bench = Bench::new(program(), tables(), &Setup::of(config), encode).unwrap();
    let mut detoured = [0; PORTS];
    for step in steps {
        match step {
            Step::Length(port, packets) => {
                harness.set_length(*port, *packets);
                bench.set_length(*port, *packets).unwrap();
            }
            Step::Serve(port) => {
                harness.serve(*port);
                prop_assert_eq!(bench.serve(*port), Ok(()));
            }
            Step::Arrive(arriving, draws) => {
                if let Some(admitted) = harness.admitted(arriving)
                    && !admitted.is_empty()
                {
                    let of = admitted.len() as u32;
                    let places = draws.map(|draw| draw % of);
                    harness.lay_out(&places, of);
                    bench.lay_out(&places, of);
                }
                let way = harness.arrive(arriving);
                prop_assert_eq!(&bench.arrive(arriving), &way);
                detoured[arriving.own] += u64::from(way != Ok(arriving.own));
            }
        }
        for (port, &detoured) in detoured.iter().enumerate() {
            prop_assert_eq!(bench.holds("queue_length", port, harness.seen(port).into()), Ok(()));
            prop_assert_eq!(bench.holds("deflected", port, detoured), Ok(()));
        }
    }
    prop_assert_eq!(bench.finish(), Ok(()));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// Ports, registers and frames agree with the switch crate's decision.
    #[test]
    fn the_program_decides_as_the_reference(
        threshold in 0..5u32,
        limit in prop_oneof![4 => 0..4u8, 1 => Just(255)],
        to_switch in any::<[bool; PORTS]>(),
        dead in prop::array::uniform8(prop::bool::weighted(0.2)),
        v6 in any::<bool>(),
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let config = Config { threshold, limit, to_switch, dead };
        check(&config, &steps, if v6 { frame_of_v6 } else { frame_of })?;
    }
}

/// A marked frame by port 0 to host `own`, changed, with a valid checksum.
fn marked(own: usize, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let packet = packet_of("marked", (0, own), 0, 7).unwrap();
    let mut bytes = frame_of(&Arriving { input: 0, own, switches: 0, packet }, 0).unwrap();
    change(&mut bytes);
    mend_checksum(&mut bytes);
    bytes
}

/// Forwards a frame without a draw. Returns output port and frame.
fn forwarded(switch: &mut Switch<'_>, bytes: &[u8]) -> Option<(u64, Vec<u8>)> {
    let port = switch.receive(0, bytes).unwrap()?;
    let queued = switch.take(port).expect("it is queued there");
    Some((port, switch.send(port, queued).unwrap().expect("egress drops nothing")))
}

const HOT: &str = "register_write queue_length 2 9\n";

#[test]
fn a_ttl_that_runs_out_is_refused_and_a_higher_one_says_nothing() {
    for (time_to_live, leaves) in [(0, false), (1, false), (2, true), (65, true), (255, true)] {
        // Without a limit too.
        let no_limit = "table_set_default ingress.settings ingress.set 64 255 8 4\n";
        let limit = if time_to_live > 2 { no_limit } else { "" };
        let mut switch = switch(&format!("{HOT}{limit}"));
        let bytes = marked(2, |bytes| bytes[22] = time_to_live);
        let expected = leaves.then(|| (2, marked(2, |bytes| bytes[22] = time_to_live - 1)));
        assert_eq!(forwarded(&mut switch, &bytes), expected, "{time_to_live}");
        assert_eq!(switch.register("refused", 0), Ok(u64::from(!leaves)));
        assert_eq!(switch.register("deflected", 2), Ok(0));
    }
}

#[test]
fn as_long_as_nothing_is_set_nothing_is_detoured() {
    let mut switch =
        switch(&format!("{HOT}table_set_default ingress.settings ingress.set 0 0 0 0"));
    let expected = marked(2, |bytes| bytes[22] = 63);
    assert_eq!(forwarded(&mut switch, &marked(2, |_| {})), Some((2, expected)));
}

#[test]
fn a_frame_that_is_not_ip_is_forwarded_as_it_is() {
    let mut bytes = marked(2, |_| {});
    bytes[12..14].copy_from_slice(&[0x88, 0xb5]);
    // Even if its DSCP, 0, is taken for unscheduled.
    let mut switch = switch(&format!("{HOT}table_add ingress.unscheduled_dscp ingress.mark 0 =>"));
    assert_eq!(forwarded(&mut switch, &bytes), Some((2, bytes)));
}

#[test]
fn a_wrong_checksum_goes_no_further() {
    let mut bytes = marked(2, |_| {});
    bytes[25] ^= 1;
    let mut switch = switch(HOT);
    assert_eq!(forwarded(&mut switch, &bytes), None);
    assert_eq!(switch.register("refused", 0), Ok(1));
}

/// The one's-complement sum of an IPv4 header: 0xffff if the checksum is right.
fn sum(header: &[u8]) -> u32 {
    let words = header.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    (sum & 0xffff) + (sum >> 16)
}

/// The checksum is updated incrementally, at every value; also with options.
#[test]
fn the_checksum_follows_the_ttl() {
    let mut switch = switch("");
    for identification in 0..=u16::MAX {
        if identification % 16 != 0 && identification < 0xff00 {
            continue;
        }
        let change =
            |bytes: &mut Vec<u8>| bytes[18..20].copy_from_slice(&identification.to_be_bytes());
        let (_, left) = forwarded(&mut switch, &marked(2, change)).unwrap();
        let expected = marked(2, |bytes| {
            change(bytes);
            bytes[22] -= 1;
        });
        assert_eq!(left[..34], expected[..34]);
    }
    let mut options = marked(2, |_| {});
    options[14] = 0x46;
    options.splice(34..34, [1, 1, 1, 0]);
    options[24..26].fill(0);
    let checksum = !sum(&options[14..38]) as u16;
    options[24..26].copy_from_slice(&checksum.to_be_bytes());
    let (_, left) = forwarded(&mut switch, &options).unwrap();
    assert_eq!((left[22], sum(&left[14..38])), (63, 0xffff));
    // The checksum is not verified: a wrong one stays wrong.
    options[25] ^= 1;
    let (_, left) = forwarded(&mut switch, &options).unwrap();
    assert!(sum(&left[14..38]) != 0xffff);
}

/// Output ports of many flows to hosts behind set 1.
fn ways(switch: &mut Switch<'_>, input: u64, flows: u16) -> Vec<u64> {
    let way = |flow: u16| {
        let bytes = marked(2, |bytes| {
            bytes[31] = 1;
            bytes[34..36].copy_from_slice(&flow.to_be_bytes());
        });
        switch.receive(input, &bytes).unwrap().expect("it is routed")
    };
    (0..flows).map(way).collect()
}

#[test]
fn flows_are_spread_over_a_set_and_keep_their_port() {
    let mut one = switch("");
    let first = ways(&mut one, 0, 64);
    assert_eq!(first, ways(&mut one, 0, 64), "a flow keeps its port");
    for port in 2..6 {
        let flows = first.iter().filter(|&&way| way == port).count();
        assert!((8..=24).contains(&flows), "{flows} of 64 leave by port {port}");
    }
    assert_ne!(first, ways(&mut one, 3, 64), "what came by another port draws anew");

    // Another switch that uses other bits divides the flows of each port again.
    let mut other = switch(
        "table_clear ingress.ipv4_route\ntable_add ingress.ipv4_route ingress.spread 10.1.0.0/16 => 1 2 3\n",
    );
    let second = ways(&mut other, 0, 64);
    let of_one: BTreeSet<u64> =
        first.iter().zip(&second).filter(|(way, _)| **way == 2).map(|(_, next)| *next).collect();
    assert_eq!(of_one, BTreeSet::from([2, 3, 4, 5]));
}

#[test]
fn a_set_without_its_member_leads_nowhere() {
    let mut switch = switch("table_clear ingress.member\n");
    let bytes = marked(2, |bytes| bytes[31] = 1);
    assert_eq!(forwarded(&mut switch, &bytes), None);
    assert_eq!(switch.register("refused", 0), Ok(1));
}

/// The kept tables equal the bench's, with ports 2 to 5 to switches.
#[test]
fn the_tables_are_the_switch_of_the_vectors() {
    let mut to_switch = [false; PORTS];
    to_switch[2..6].fill(true);
    let config = Config { threshold: 8, limit: 2, to_switch, dead: [false; PORTS] };
    let commands = Setup::of(&config).commands();
    for line in commands.lines().filter(|line| !line.starts_with("table_clear")) {
        assert!(tables().lines().any(|kept| kept == line), "{line}");
    }
}
