//! The compiled program against the Rust port and the wire format, on random input.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::OnceLock;

use proptest::prelude::*;
use trimline_packet::wire::frame::Lengths;
use trimline_packet::wire::profile::FCS_BYTES;
use trimline_packet::wire::{Datagram, Ethernet, Fields, Frame, Profile};
use trimline_packet::{ConnectionId, Flags, Header, Kind, Packet, PathId, Service, ServiceClass};
use trimline_switch::{Choices, Limit, OutputPort, Pool, Port};

use super::{Bench, Ndp, PROFILE};
use crate::bmv2::Program;
use crate::claim::{Claim as _, KEPT, program, switch, tables};
use crate::frames::{frame, mend_checksum};
use crate::generate::generate;
use crate::vectors::{Command, Harness, PORTS, Vector};

fn bench(choices: &Choices) -> Bench<'static> {
    static READ: OnceLock<(Program, String)> = OnceLock::new();
    let root = crate::root();
    let read = || (program::<Ndp>(&root, KEPT).unwrap(), tables::<Ndp>(&root).unwrap());
    let (program, tables) = READ.get_or_init(read);
    let commands = tables.clone() + &Ndp::commands(choices).unwrap();
    Bench::new(switch::<Ndp>(program, &commands).unwrap())
}

#[test]
fn settings_that_the_program_lacks_are_refused() {
    for choices in [Choices::paper(8, 9000), Choices::netfpga(), Choices::drop_tail(8)] {
        assert!(Ndp::commands(&choices).is_err());
    }
}

const COUNTS: [&str; 4] = ["trimmed", "cut_bytes", "dropped", "returned"];

/// Frames, order and counts of the interpreted program agree with the Rust port on random arrivals. Egress sees a packet
/// and frees its place at its last bit, as in the vectors, or when it is chosen, as in `simple_switch`.
fn check(vector: &Vector, when_chosen: bool) {
    let choices = vector.choices(PROFILE).unwrap();
    let model = choices.build().expect("the profile can be built");
    let (mut harness, mut bench) = (Harness::<Port<2>>::new(&model), bench(&choices));
    let serve = |harness: &mut Harness<Port<2>>, bench: &mut Bench, port: usize| {
        harness.serve(0, port).unwrap();
        let left = bench.serve(port).unwrap();
        if when_chosen {
            // The packet on the wire has left, and the next one follows. No port takes from a pool.
            harness.ports[port].release(&model, &mut Pool::none());
            bench.release(port).unwrap();
        }
        let expected = harness.left[port].pop_front().map(|(_, packet)| frame(&packet).unwrap());
        assert_eq!(left, expected, "{}", vector.file);
        left.is_some()
    };
    for (_, command) in &vector.commands {
        match command {
            Command::Packet { packets, .. } => {
                bench.obey(command).unwrap();
                packets.iter().for_each(|(_, packet)| harness.arrive(*packet).unwrap());
            }
            Command::Serve { port, .. } => drop(serve(&mut harness, &mut bench, *port)),
            Command::Count { name, .. } => {
                assert_eq!(bench.count(name), harness.count(name), "{name} of {}", vector.file);
            }
            _ => {}
        }
    }
    (0..PORTS).for_each(|port| while serve(&mut harness, &mut bench, port) {});
    for name in ["data_packets", "data_bytes", "header_packets", "header_bytes"] {
        assert_eq!(bench.count(name), Ok(0), "{name} of {}", vector.file);
    }
}

#[test]
fn the_p4_program_agrees_with_the_reference() {
    for seed in 1..=32 {
        let (packets, header_bytes) = (1 + seed % 4, 64 + 10 * seed);
        let data_bytes = if seed % 4 == 0 { 128 * seed } else { u32::MAX.into() };
        let settings = format!(
            "packets={packets} payload=1436 header_bytes={header_bytes} data_bytes={data_bytes}"
        );
        let text = generate(PROFILE, &settings, seed).unwrap();
        let vector = Vector::parse(Path::new(&settings), &text).unwrap();
        check(&vector, false);
        check(&vector, true);
    }
}

/// Service of a DSCP in the program. It knows no priorities and no notifications: unknown DSCPs are droppable.
fn service_in_p4(dscp: u8) -> Service {
    let class = Profile::PAPER.class(dscp).filter(|class| class.priority() == 0);
    let service = class.map(ServiceClass::service).filter(|known| *known != Service::Notification);
    service.unwrap_or(Service::Droppable)
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
    let address = |host: u8| -> IpAddr {
        match v6 {
            true => Ipv6Addr::new(0xfd00, host.into(), 0, 0, 0, 0, 0, 1).into(),
            false => Ipv4Addr::new(10, 0, host, 1).into(),
        }
    };
    let (source, destination, fields) = (address(1), address(2), Fields::of(&header));
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
    fn trimmed_and_returned_frames_follow_the_wire_format(
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
    fn unknown_frames_are_not_changed(
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
        let mut mended = bytes.clone();
        if plain {
            mend_checksum(&mut mended);
        }
        if mend {
            bytes.clone_from(&mended);
        }
        let unreadable = bytes.len() < 14 || bytes != mended;
        let dscp = if v4 { bytes[15] >> 2 } else if v6 { (bytes[14] << 4 | bytes[15] >> 4) >> 2 } else { 0 };
        let mut cut = bytes.clone();
        let expected = match service_in_p4(dscp) {
            _ if unreadable => None,
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
        prop_assert_eq!(bench.count("refused"), Ok(unreadable.into()));
        prop_assert_eq!(bench.count("dropped"), Ok((expected.is_none() && !unreadable).into()));
        // With room it leaves as it came.
        let mut bench = self::bench(&Choices::p4(8, 9000));
        bench.receive(1, &bytes).unwrap();
        prop_assert_eq!(bench.serve(2).unwrap(), (!unreadable).then_some(bytes));
    }
}
