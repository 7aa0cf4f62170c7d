//! A host and a switch survive any input.

use proptest::prelude::*;
use trimline_packet::wire::{Datagram, Ethernet, Fields, Profile};
use trimline_packet::{ConnectionId, Flags, Kind, Service};
use trimline_stack::host::Options;
use trimline_stack::switch;

use super::*;

/// A well-formed packet with arbitrary content.
fn any_packet() -> impl Strategy<Value = (Datagram, Vec<u8>)> {
    let kinds = prop_oneof![
        4 => Just(Kind::Data),
        2 => Just(Kind::Ack),
        1 => Just(Kind::Nack),
        2 => Just(Kind::Pull),
        1 => Just(Kind::Reset),
    ];
    let numbers = prop_oneof![0u32..12, any::<u32>()];
    let fields = (kinds, any::<u8>(), 0u32..3, numbers, any::<u32>(), 0u16..300);
    let services = prop_oneof![
        3 => Just(Service::Trimmable),
        1 => Just(Service::Trimmed),
        1 => Just(Service::Returned),
        1 => Just(Service::Droppable),
    ];
    let extensions = prop_oneof![
        3 => Just(Vec::new()),
        1 => prop::collection::vec(any::<u8>(), 0..12),
        2 => Just(vec![1, 2, 0, 0]),
        1 => Just(vec![2, 0]),
    ];
    (fields, services, extensions, 0usize..3).prop_map(|(fields, service, extension, from)| {
        let (kind, flags, connection, sequence, extra, length) = fields;
        let is_data = kind == Kind::Data;
        let extra = if is_data { u32::from(length) << 16 | u32::from(SERVICE) } else { extra % 40 };
        let datagram = Datagram {
            source: address(from, false),
            destination: address(1, false),
            entropy: 50_000,
            service: if is_data { service } else { Service::Control }.into(),
            marks: 0,
            fields: Fields {
                kind,
                flags: Flags::from_bits(flags),
                connection: ConnectionId::new(1000 + connection),
                sequence,
                extra,
            },
        };
        let cut = matches!(datagram.service.service(), Service::Trimmed | Service::Returned);
        (datagram, if cut { Vec::new() } else { extension })
    })
}

/// Its frame, with some bits flipped.
fn frame((datagram, extension): &(Datagram, Vec<u8>), damage: &[(usize, u8)]) -> Vec<u8> {
    let is_cut = matches!(datagram.service.service(), Service::Trimmed | Service::Returned);
    let payload = vec![9; if is_cut { 0 } else { datagram.fields.payload_length() }];
    let mut bytes = Vec::new();
    let ethernet = Ethernet { destination: [2; 6], source: [4; 6] };
    datagram.emit(ethernet, &Profile::PAPER, &payload, extension, &mut bytes).unwrap();
    for &(place, bits) in damage {
        let place = place % bytes.len();
        bytes[place] ^= bits;
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_host_survives_any_packets(
        packets in prop::collection::vec(
            (any_packet(), prop::collection::vec((any::<usize>(), any::<u8>()), 0..2), any::<u8>()),
            1..120,
        ),
    ) {
        let mut core = Core::new(config(1, 1500, false));
        core.number_connections_from(1000);
        core.listen(Time::ZERO, SERVICE);
        core.add_peer(address(0, false), &[], [2; 6]);
        let mut now = Time::ZERO;
        let mut connections = Vec::new();
        for (number, (packet, damage, act)) in packets.iter().enumerate() {
            now += TimeDelta::from_us(u64::from(*act));
            core.receive_frame(now, &frame(packet, if number % 4 == 0 { damage } else { &[] }));
            connections.extend(core.accept());
            match act % 8 {
                0 => connections.extend(core.connect(address(0, false), 1, Options::default())),
                1..=5 => {
                    if let Some(&one) = connections.get(usize::from(act / 8) % connections.len().max(1)) {
                        match act % 8 {
                            1 => drop(core.send(one, &[*act; 700])),
                            2 => drop(core.receive(one)),
                            3 => core.close(one),
                            4 => drop(core.read(one, &mut [0; 100])),
                            _ => core.abandon(now, one),
                        }
                    }
                }
                _ => {
                    core.expire(now);
                }
            }
            for _ in 0..20 {
                if core.transmit(now).is_none() {
                    break;
                }
            }
        }
    }

    #[test]
    fn a_switch_survives_any_frames_and_counts_each(
        packets in prop::collection::vec(
            (any_packet(), prop::collection::vec((any::<usize>(), any::<u8>()), 0..3), 0u32..3),
            1..200,
        ),
        l2 in any::<bool>(),
        beside in any::<bool>(),
    ) {
        let mut text = String::from("rate = \"1Gbps\"\npayload = 300\npackets = 2\nseed = 1\n");
        if beside {
            text += "droppable_queue = 3\n";
        }
        text += "[[switch]]\nname = \"s\"\n";
        if l2 {
            text += "forwarding = \"l2\"\n";
        }
        for host in 0..3 {
            let address = address(host, false);
            text += &format!(
                "[[host]]\nswitch = \"s\"\ninterface = \"p{host}\"\naddresses = [{{ address = \"{address}\" }}]\n"
            );
        }
        let config = switch::Config::parse(&text).unwrap();
        let mut fabric = switch::Fabric::new(&config).unwrap();
        let mut delivered = 0u64;
        for (number, (packet, damage, host)) in packets.iter().enumerate() {
            let now = Time::ZERO + TimeDelta::from_ns(300 * number as u64);
            fabric.advance(now, &mut |_, _, _| delivered += 1);
            fabric.host_sends(now, *host, &frame(packet, damage));
        }
        while fabric.next() < Time::NEVER {
            let next = fabric.next();
            fabric.advance(next, &mut |_, _, _| delivered += 1);
        }
        prop_assert_eq!(fabric.held(), 0);
        let (mut sent, mut dropped) = (0, 0);
        for (_, _, port) in fabric.counters() {
            sent += port.packets;
            dropped += port.dropped;
        }
        prop_assert_eq!(sent, delivered);
        // A returned header is counted when it is turned, and again where it leaves.
        if !l2 {
            prop_assert_eq!(packets.len() as u64, delivered + dropped + fabric.lost_ways());
        }
    }
}
