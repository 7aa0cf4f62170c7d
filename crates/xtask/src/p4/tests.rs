//! The compiled program against the Rust port and the wire format, on random input.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::OnceLock;

use proptest::prelude::*;
use trimline_packet::wire::frame::Lengths;
use trimline_packet::wire::profile::FCS_BYTES;
use trimline_packet::wire::{Datagram, Ethernet, Fields, Frame, Profile};
use trimline_packet::{
    ConnectionId, Flags, Header, HostId, Kind, Packet, PathId, Service, ServiceClass,
};
use trimline_switch::{Choices, Limit, OutputPort, Pool, Port};

use super::bench::{Bench, PRIORITIES, claimed, settings};
use super::{NDP, check_mutations, compiled, run_all};
use crate::bmv2::{Program, Switch};
use crate::frames::frame;
use crate::vectors::{Harness, PORTS, read};

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn program() -> &'static Program {
    static PROGRAM: OnceLock<Program> = OnceLock::new();
    let text = || read(&root(), Path::new(NDP.compiled)).expect("it is kept");
    PROGRAM.get_or_init(|| Program::parse(NDP.compiled, &text()).expect("it can be read"))
}

fn bench(choices: &Choices) -> Bench<'static> {
    static TEXT: OnceLock<String> = OnceLock::new();
    let tables = TEXT.get_or_init(|| read(&root(), Path::new(NDP.tables)).expect("it is kept"));
    let mut switch = Switch::new(program(), PRIORITIES);
    let settings = settings(choices).expect("the profile p4 can be set");
    switch.configure(&format!("{tables}{settings}")).expect("the tables take it");
    Bench::new(switch)
}

#[test]
fn every_vector_of_the_profile_holds() {
    match run_all(&root()) {
        Ok(covered) => {
            assert!(covered.vectors >= 20, "{}", covered.vectors);
            assert!(covered.detours >= 20, "{}", covered.detours);
        }
        Err(failures) => panic!("{}", failures.join("\n")),
    }
}

#[test]
fn every_mutant_is_found_by_a_vector() {
    if let Err(missed) = check_mutations(&root()) {
        panic!("{}", missed.join("\n"));
    }
}

#[test]
fn a_stale_program_is_found() {
    compiled::check(&root()).unwrap();
    let folder = root().join("target/xtask-stale");
    std::fs::create_dir_all(folder.join("p4")).unwrap();
    let files =
        ["ip.p4", "ndp_v1model.p4", "ndp_v1model.json", "opf_v1model.p4", "opf_v1model.json"];
    for file in files.iter().chain(&["compiled.sha256"]) {
        std::fs::copy(root().join("p4").join(file), folder.join("p4").join(file)).unwrap();
    }
    compiled::check(&folder).unwrap();
    for file in files {
        let path = folder.join("p4").join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.clone() + "\n").unwrap();
        let error = compiled::check(&folder).unwrap_err();
        assert!(error.starts_with(&format!("p4/{file}: ")) && error.contains("stale"), "{error}");
        std::fs::write(&path, text).unwrap();
    }
}

#[test]
fn what_the_program_cannot_be_set_to_is_refused() {
    let error = settings(&Choices::paper(8, 9000)).unwrap_err();
    assert_eq!(error, "the program cannot be set to another order than headers first");
    assert!(settings(&Choices::netfpga()).is_err() && settings(&Choices::drop_tail(8)).is_err());
    assert!(
        claimed(&root())
            .unwrap()
            .iter()
            .all(|vector| { settings(&vector.choices("p4").unwrap()).is_ok() })
    );
}

#[derive(Clone, Debug)]
enum Step {
    Arrive(Packet),
    Serve(usize),
}

fn packet() -> impl Strategy<Value = Packet> {
    let hosts = (0..PORTS as u32, prop_oneof![3 => Just(2), 1 => 0..PORTS as u32]);
    let size = prop_oneof![2 => Just(1500), 1 => 64..200u16, 1 => 64..1500u16];
    (0..12, hosts, size, any::<u16>(), 0..2u8).prop_map(
        |(what, (from, to), size, sequence, ecn)| {
            let (kind, service) = match what {
                0 => (Kind::Ack, Service::Control),
                1 => (Kind::Nack, Service::Control),
                2 => (Kind::Pull, Service::Control),
                3 => (Kind::Reset, Service::Control),
                4 => (Kind::Data, Service::Droppable),
                _ => (Kind::Data, Service::Trimmable),
            };
            let data = kind == Kind::Data;
            let payload = if data { size - Packet::HEADER_BYTES } else { 0 };
            let mut packet = Packet {
                source: HostId::new(from),
                destination: HostId::new(to),
                header: Header {
                    kind,
                    flags: Flags::default().with(Flags::FROM_OPENER),
                    path: PathId::new(0),
                    connection: ConnectionId::new(1),
                    sequence: sequence.into(),
                    extra: if data { Header::data_extra(payload, 0) } else { 0 },
                },
                wire_bytes: payload + Packet::HEADER_BYTES,
                service: service.into(),
                marks: if ecn == 1 { Packet::MARK_ECT } else { 0 },
            };
            // As another switch left it.
            if matches!(what, 5 | 6) {
                packet.trim(Packet::HEADER_BYTES);
            }
            if what == 6 {
                packet.bounce();
            }
            packet
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let port = prop_oneof![3 => Just(2), 1 => 0..PORTS];
    prop_oneof![3 => packet().prop_map(Step::Arrive), 2 => port.prop_map(Step::Serve)]
}

const COUNTS: [&str; 4] = ["trimmed", "cut_bytes", "dropped", "returned"];
const OF_A_PORT: [&str; 4] = ["data_packets", "data_bytes", "header_packets", "header_bytes"];

/// Time at which egress sees a packet and frees its place.
#[derive(Clone, Copy, PartialEq)]
enum Egress {
    /// At its last bit, as in the vectors.
    AtLastBit,
    /// When it is chosen, as in `simple_switch`.
    WhenChosen,
}

fn check(choices: &Choices, steps: &[Step], egress: Egress) -> Result<(), TestCaseError> {
    let model = choices.build().expect("the profile can be built");
    let (mut harness, mut bench) = (Harness::<Port<2>>::new(&model), bench(choices));
    let serve = |harness: &mut Harness<Port<2>>, bench: &mut Bench, port: usize| {
        harness.serve(0, port).unwrap();
        let left = bench.serve(port).unwrap();
        if egress == Egress::WhenChosen {
            // The packet on the wire has left, and the next one follows. No port takes from a pool.
            harness.ports[port].release(&model, &mut Pool::none());
            bench.release(port).unwrap();
        }
        let expected = harness.left[port].pop_front().map(|(_, packet)| frame(&packet).unwrap());
        prop_assert_eq!(&left, &expected);
        Ok(left.is_some())
    };
    for step in steps {
        match step {
            Step::Arrive(packet) => {
                harness.arrive(*packet).unwrap();
                bench.receive(packet.source.index(), &frame(packet).unwrap()).unwrap();
            }
            Step::Serve(port) => {
                serve(&mut harness, &mut bench, *port)?;
            }
        }
    }
    let of_a_port = (0..PORTS).flat_map(|port| OF_A_PORT.map(|name| format!("{port}.{name}")));
    for name in COUNTS.map(str::to_owned).into_iter().chain(of_a_port) {
        prop_assert_eq!(bench.count(&name).unwrap(), harness.count(&name).unwrap(), "{}", name);
    }
    for port in 0..PORTS {
        while serve(&mut harness, &mut bench, port)? {}
        for name in OF_A_PORT {
            prop_assert_eq!(bench.count(&format!("{port}.{name}")).unwrap(), 0);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Frames, order and counts of the interpreted program agree with the Rust port.
    #[test]
    fn the_program_is_the_reference(
        packets in 1..5u32,
        data_bytes in prop_oneof![3 => Just(u32::MAX), 1 => 64..4000u32],
        header_bytes in 64..400u32,
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut choices = Choices::p4(packets, 1436);
        choices.queues[0].header = Limit::bytes(header_bytes);
        choices.queues[1].whole.bytes = data_bytes;
        check(&choices, &steps, Egress::AtLastBit)?;
        check(&choices, &steps, Egress::WhenChosen)?;
    }
}

fn address(v6: bool, host: u16) -> IpAddr {
    if v6 {
        Ipv6Addr::new(0xfd00, host, 0, 0, 0, 0, 0, 1).into()
    } else {
        Ipv4Addr::new(10, 0, host as u8, 1).into()
    }
}

/// Service of a DSCP in the program. It knows no priorities: unknown DSCPs are droppable.
fn service_in_p4(dscp: u8) -> Service {
    let class = Profile::PAPER.class(dscp).filter(|class| class.priority() == 0);
    class.map_or(Service::Droppable, ServiceClass::service)
}

fn whole(v6: bool, service: Service, payload: u16, sequence: u32, marks: u8) -> Vec<u8> {
    let header = Header {
        kind: Kind::Data,
        flags: Flags::default(),
        path: PathId::new(0),
        connection: ConnectionId::new(7),
        sequence,
        extra: Header::data_extra(payload, 80),
    };
    let (source, destination) = (address(v6, 1), address(v6, 2));
    let fields = Fields::of(&header);
    let datagram =
        Datagram { source, destination, entropy: 50_000, service: service.into(), marks, fields };
    let ethernet = Ethernet { destination: [2, 0, 0, 0, 0, 2], source: [2, 0, 0, 0, 0, 1] };
    let data: Vec<u8> = (0..payload).map(|byte| byte as u8).collect();
    let mut bytes = Vec::new();
    datagram.emit(ethernet, &Profile::PAPER, &data, &[], &mut bytes).unwrap();
    bytes
}

/// A switch without room for data and with room for one header of `left` bytes.
fn full(left: usize) -> Bench<'static> {
    let mut choices = Choices::p4(1, 1436);
    choices.queues[1].whole = Limit::packets(0);
    choices.queues[0].header = Limit::bytes((left + FCS_BYTES) as u32);
    bench(&choices)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// IPv4 and IPv6: trimmed and returned packets have the bytes of the wire format.
    #[test]
    fn trimmed_and_returned_frames_are_those_of_the_wire_format(
        v6 in any::<bool>(),
        payload in prop_oneof![0..40u16, 0..9000u16],
        sequence in any::<u32>(),
        marks in prop_oneof![Just(0), Just(Packet::MARK_ECT), Just(Packet::MARK_ECT | Packet::MARK_CE)],
    ) {
        let bytes = whole(v6, Service::Trimmable, payload, sequence, marks);
        let mut cut = bytes.clone();
        let left = Frame::trim(&mut cut, &Profile::PAPER, false, Lengths::Updated).unwrap();
        cut.truncate(left);
        let mut back = cut.clone();
        Frame::bounce(&mut back, &Profile::PAPER).unwrap();
        let mut bench = full(left);
        for _ in 0..3 {
            bench.receive(1, &bytes).unwrap();
        }
        prop_assert_eq!(bench.serve(2).unwrap(), Some(cut));
        prop_assert_eq!(bench.serve(1).unwrap(), Some(back));
        prop_assert_eq!((bench.serve(2).unwrap(), bench.serve(1).unwrap()), (None, None));
        // The third went back too, and found the other header queue full.
        let counts = COUNTS.map(|name| bench.count(name).unwrap());
        prop_assert_eq!(counts, [3, 3 * (bytes.len() - left) as u64, 1, 2]);
    }

    /// Frames with any cut or damage outside their addresses are trimmed if the wire format permits it, otherwise
    /// dropped or forwarded unchanged.
    #[test]
    fn what_is_not_understood_is_not_changed(
        v6 in any::<bool>(),
        service in prop_oneof![
            Just(Service::Trimmable), Just(Service::Trimmable), Just(Service::Droppable),
        ],
        payload in 0..300u16,
        damage in prop::collection::vec((12..70usize, any::<u8>()), 0..3),
        mend in any::<bool>(),
        length in prop_oneof![1 => 0..100usize, 2 => Just(usize::MAX)],
    ) {
        let mut bytes = whole(v6, service, payload, 1, 0);
        let destination = if v6 { 38..54 } else { 30..34 };
        for (at, flip) in damage {
            if at < bytes.len() && !destination.contains(&at) {
                bytes[at] ^= flip;
            }
        }
        bytes.truncate(length);
        let is = |ether_type: [u8; 2], min: usize| bytes.len() >= min && bytes[12..14] == ether_type;
        let (v4, v6) = (is([8, 0], 34), is([0x86, 0xdd], 54));
        let plain = v4 && bytes[14] & 0xf == 5;
        let sum = |bytes: &[u8]| {
            let words = bytes[14..34].chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
            let sum: u32 = words.sum();
            let sum = (sum & 0xffff) + (sum >> 16);
            ((sum & 0xffff) + (sum >> 16)) as u16
        };
        if plain && mend {
            bytes[24..26].fill(0);
            let sum = !sum(&bytes);
            bytes[24..26].copy_from_slice(&sum.to_be_bytes());
        }
        let right = !plain || sum(&bytes) == 0xffff;
        let dscp = if v4 { bytes[15] >> 2 } else if v6 { (bytes[14] << 4 | bytes[15] >> 4) >> 2 } else { 0 };
        let mut cut = bytes.clone();
        let expected = match service_in_p4(dscp) {
            _ if bytes.len() < 14 || !right => None,
            Service::Trimmable => match Frame::trim(&mut cut, &Profile::PAPER, false, Lengths::Updated) {
                // This program does not support IPv4 options.
                Ok(left) if plain || v6 => Some(cut[..left].to_vec()),
                _ => None,
            },
            Service::Droppable => None,
            _ => Some(bytes.clone()),
        };
        let mut bench = full(9000);
        // A damaged address would lead elsewhere; the destination is intact.
        bench.receive(1, &bytes).unwrap();
        prop_assert_eq!(bench.serve(2).unwrap(), expected.clone());
        let refused: u64 = bench.switch.registers("refused").unwrap().iter().sum();
        let unreadable = bytes.len() < 14 || !right;
        prop_assert_eq!(refused, u64::from(unreadable));
        prop_assert_eq!(bench.count("dropped").unwrap(), u64::from(expected.is_none() && !unreadable));
        // With room it leaves as it came.
        let mut bench = self::bench(&Choices::p4(8, 9000));
        bench.receive(1, &bytes).unwrap();
        prop_assert_eq!(bench.serve(2).unwrap(), (!unreadable).then_some(bytes));
    }
}
