//! What a software switch does with frames, on virtual time.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use trimline_packet::wire::{Datagram, Ethernet, Fields, Frame, Profile};
use trimline_packet::{ConnectionId, Flags, Header, Kind, Service, Time, TimeDelta};
use trimline_stack::switch::{Config, Fabric};

const PAYLOAD: u16 = 1000;

fn address(host: u8, v6: bool) -> IpAddr {
    match v6 {
        true => Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, host.into()).into(),
        false => Ipv4Addr::new(10, 0, 0, host).into(),
    }
}

fn mac(host: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, host]
}

/// A packet of NDP's, or one that may only be dropped, from one host to another.
fn frame(from: u8, to: u8, v6: bool, entropy: u16, service: Service) -> Vec<u8> {
    let datagram = Datagram {
        source: address(from, v6),
        destination: address(to, v6),
        entropy,
        service,
        marks: 0,
        fields: Fields {
            kind: Kind::Data,
            flags: Flags::default(),
            connection: ConnectionId::new(1),
            sequence: 7,
            extra: Header::data_extra(PAYLOAD, 0),
        },
    };
    let (mut bytes, payload) = (Vec::new(), [5; PAYLOAD as usize]);
    let ethernet = Ethernet { destination: mac(to), source: mac(from) };
    datagram.emit(ethernet, &Profile::PAPER, &payload, &[], &mut bytes).unwrap();
    bytes
}

/// One switch, hosts 1 to `hosts` on ports 0 and up.
fn star(hosts: u8, head: &str, switch: &str, host: &str) -> Fabric {
    let mut text =
        format!("seed = 1\npayload = {PAYLOAD}\n{head}\n[[switch]]\nname = \"s\"\n{switch}\n");
    for number in 1..=hosts {
        let (v4, v6) = (address(number, false), address(number, true));
        text += &format!(
            "[[host]]\nswitch = \"s\"\ninterface = \"p{number}\"\n{host}\n\
             addresses = [{{ address = \"{v4}\" }}, {{ address = \"{v6}\" }}]\n"
        );
    }
    Fabric::new(&Config::parse(&text).unwrap()).unwrap()
}

/// What leaves until nothing is left, by host: with the time.
fn run(fabric: &mut Fabric) -> Vec<(Time, u32, Vec<u8>)> {
    let mut out = Vec::new();
    while fabric.next() < Time::NEVER {
        let next = fabric.next();
        fabric.advance(next, &mut |at, host, bytes| out.push((at, host, bytes.to_vec())));
    }
    out
}

#[test]
fn ethernet_addresses_are_learned_and_unknown_ones_flooded() {
    let mut fabric = star(4, "rate = \"1Gbps\"", "forwarding = \"l2\"", "");
    let mut hosts = |from: u8, to: u8| -> Vec<u32> {
        let bytes = frame(from, to, false, 1, Service::Trimmable);
        fabric.host_sends(Time::ZERO + TimeDelta::from_ms(1), u32::from(from) - 1, &bytes);
        let mut hosts: Vec<u32> = run(&mut fabric)
            .into_iter()
            .map(|(_, host, got)| {
                assert_eq!(got, bytes, "a frame is forwarded as it is");
                host
            })
            .collect();
        hosts.sort_unstable();
        hosts
    };
    assert_eq!(hosts(1, 2), [1, 2, 3], "nobody knows where 2 is");
    assert_eq!(hosts(2, 1), [0], "1 was heard");
    assert_eq!(hosts(1, 2), [1], "and now 2 was");
    assert_eq!(hosts(3, 3), [0; 0], "what is behind the port that it came from stays there");
}

#[test]
fn a_flow_keeps_its_way_and_many_flows_use_all() {
    for spread in ["hash", "spray"] {
        let mut text = String::from("rate = \"10Gbps\"\nseed = 3\n");
        for name in ["a", "b"] {
            text += &format!("[[switch]]\nname = \"{name}\"\nspread = \"{spread}\"\n");
        }
        for spine in 0..4 {
            text += &format!("[[switch]]\nname = \"spine{spine}\"\n");
            text += &format!("[[link]]\nbetween = [\"a\", \"spine{spine}\"]\n");
            text += &format!("[[link]]\nbetween = [\"spine{spine}\", \"b\"]\n");
        }
        for (host, switch) in [(1, "a"), (2, "b")] {
            let address = address(host, false);
            text += &format!(
                "[[host]]\nswitch = \"{switch}\"\ninterface = \"p{host}\"\n\
                 addresses = [{{ address = \"{address}\" }}]\n"
            );
        }
        let config = Config::parse(&text).unwrap();
        // Packets of one flow, and of four hundred.
        for (flows, each) in [(1, 400), (400, 1)] {
            let mut fabric = Fabric::new(&config).unwrap();
            for number in 0..flows * each {
                let bytes = frame(1, 2, false, 49_152 + number / each, Service::Trimmable);
                let at = Time::ZERO + TimeDelta::from_us(10 * u64::from(number));
                fabric.advance(at, &mut |_, _, _| {});
                fabric.host_sends(at, 0, &bytes);
            }
            run(&mut fabric);
            let sent: Vec<u64> = fabric
                .counters()
                .filter(|&(switch, _, seen)| switch >= 2 && seen.packets > 0)
                .map(|(_, _, seen)| seen.packets)
                .collect();
            assert_eq!(sent.iter().sum::<u64>(), 400);
            match (spread, flows) {
                ("hash", 1) => assert_eq!(sent, [400], "one flow, one way"),
                _ => {
                    assert_eq!(sent.len(), 4, "{spread}: {sent:?}");
                    // A hundred each; four standard deviations are 35.
                    assert!(
                        sent.iter().all(|count| (65..136).contains(count)),
                        "{spread}: {sent:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn both_families_are_trimmed_with_lengths_as_configured() {
    for (stale, v6) in [(false, false), (false, true), (true, false), (true, true)] {
        let head = format!("rate = \"1Gbps\"\npackets = 2\nstale_lengths = {stale}");
        let mut fabric = star(3, &head, "", "");
        for number in 0..20 {
            for from in [1, 2] {
                let bytes = frame(from, 3, v6, 50_000 + number, Service::Trimmable);
                fabric.host_sends(Time::ZERO, u32::from(from) - 1, &bytes);
            }
        }
        let got = run(&mut fabric);
        assert_eq!(got.len(), 40);
        let whole = frame(1, 3, v6, 50_000, Service::Trimmable);
        let length_at = if v6 { 18..20 } else { 16..18 };
        let mut trimmed = 0;
        for (_, host, bytes) in &got {
            assert_eq!(*host, 2);
            let parsed = Frame::new(bytes).unwrap().parse(&Profile::PAPER).unwrap();
            assert_eq!(parsed.datagram.fields.sequence, 7);
            if parsed.datagram.service == Service::Trimmed {
                trimmed += 1;
                assert!(bytes.len() < 90, "{} bytes", bytes.len());
                let is_stale = bytes[length_at.clone()] == whole[length_at.clone()];
                assert_eq!(is_stale, stale);
            }
        }
        let counted: u64 = fabric.counters().map(|(_, _, seen)| seen.trimmed).sum();
        assert!(trimmed > 5);
        assert_eq!(counted, trimmed);
    }
}

/// NDP 3.3: TCP's packets have a queue of their own, and half of the link.
#[test]
fn ndp_and_tcp_share_a_link_under_deficit_round_robin() {
    let mut fabric = star(3, "rate = \"1Gbps\"\npackets = 8\nbeside = 200", "", "");
    for number in 0..150 {
        let ndp = frame(1, 3, false, 50_000 + number, Service::Trimmable);
        let tcp = frame(2, 3, false, 50_000 + number, Service::Droppable);
        fabric.host_sends(Time::ZERO, 0, &ndp);
        fabric.host_sends(Time::ZERO, 1, &tcp);
    }
    let got = run(&mut fabric);
    let bytes = |service: Service| -> usize {
        let wire = |bytes: &[u8]| {
            let parsed = Frame::new(bytes).unwrap().parse(&Profile::PAPER).unwrap();
            let tcp = parsed.datagram.service == Service::Droppable;
            (tcp == (service == Service::Droppable)).then_some(bytes.len())
        };
        // While both wait.
        got.iter().take(100).filter_map(|(_, _, bytes)| wire(bytes)).sum()
    };
    let (ndp, tcp) = (bytes(Service::Trimmable), bytes(Service::Droppable));
    let share = tcp as f64 / (ndp + tcp) as f64;
    assert!((0.42..0.58).contains(&share), "{ndp} and {tcp} bytes");
    let dropped: u64 = fabric.counters().map(|(_, _, seen)| seen.dropped).sum();
    assert_eq!(dropped, 0, "TCP's queue is long enough");
}

#[test]
fn links_lose_damage_double_delay_and_hold_back() {
    let sent = |impairment: &str| {
        let host = format!("impairment = {{ {impairment} }}\ndelay = \"5us\"");
        let mut fabric = star(2, "rate = \"1Gbps\"", "", &host);
        for number in 0..2000u16 {
            let at = Time::ZERO + TimeDelta::from_us(20 * u64::from(number));
            fabric.host_sends(at, 0, &frame(1, 2, false, 10_000 + number, Service::Trimmable));
        }
        run(&mut fabric)
    };
    let entropies = |got: &[(Time, u32, Vec<u8>)]| -> Vec<u16> {
        let port = |bytes: &[u8]| u16::from_be_bytes([bytes[34], bytes[35]]);
        got.iter().map(|(_, _, bytes)| port(bytes)).collect()
    };
    // Out of one host and into the other: twice 5 us, and two transmissions of 1064 B.
    let clean = sent("");
    assert_eq!(clean.len(), 2000);
    assert_eq!(clean[0].0, Time::ZERO + TimeDelta::from_ns(2 * (5000 + 8512)));
    // Two links with 10 % each.
    let lost = 2000 - sent("loss = \"10%\"").len();
    assert!((300..460).contains(&lost), "{lost} lost");
    let doubled = sent("duplication = \"10%\"").len() - 2000;
    assert!((330..520).contains(&doubled), "{doubled} doubled");
    let damaged = sent("corruption = \"10%\"");
    let whole =
        |bytes: &[u8]| Frame::new(bytes).is_ok_and(|frame| frame.parse(&Profile::PAPER).is_ok());
    let broken = 2000 - damaged.iter().filter(|(_, _, bytes)| whole(bytes)).count();
    assert!(broken > 200, "{broken} damaged");
    let swapped = entropies(&sent("reordering = \"10%\", reorder_depth = 3"));
    let inversions = swapped.windows(2).filter(|pair| pair[0] > pair[1]).count();
    assert!(inversions > 150, "{inversions} out of order");
    let mut times: BTreeMap<u16, usize> = BTreeMap::new();
    swapped.iter().for_each(|&number| *times.entry(number).or_default() += 1);
    assert!(times.values().all(|&count| count == 1), "held back, not doubled");
}
