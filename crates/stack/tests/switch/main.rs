//! A software switch's treatment of frames, on virtual time.

mod detour;
mod fastlane;
mod labels;
mod pacer;
mod pfabric;
mod phantom;

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

/// A packet of NDP, or one that may only be dropped, from one host to another.
fn frame(from: u8, to: u8, v6: bool, entropy: u16, service: Service) -> Vec<u8> {
    let datagram = Datagram {
        source: address(from, v6),
        destination: address(to, v6),
        entropy,
        service: service.into(),
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

/// One switch with hosts 1 to `hosts` on ports 0 and up.
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

/// Runs until the fabric is idle. Returns the frames that left: time, host, bytes.
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

/// Sends a frame with these Ethernet addresses from a host. Returns the hosts that get it.
fn received_by(fabric: &mut Fabric, at: Time, host: u32, to: [u8; 6], from: [u8; 6]) -> Vec<u32> {
    let mut bytes = frame(1, 2, false, 1, Service::Trimmable);
    bytes[..6].copy_from_slice(&to);
    bytes[6..12].copy_from_slice(&from);
    fabric.host_sends(at, host, &bytes);
    let mut hosts: Vec<u32> = run(fabric).into_iter().map(|(_, host, _)| host).collect();
    hosts.sort_unstable();
    hosts
}

#[test]
fn a_learned_address_expires_and_moves_with_its_host() {
    let mut fabric = star(3, "rate = \"1Gbps\"", "forwarding = \"l2\"", "");
    let s = |s: u64| Time::ZERO + TimeDelta::from_ms(1000 * s);
    assert_eq!(received_by(&mut fabric, s(1), 0, mac(9), mac(1)), [1, 2]);
    assert_eq!(received_by(&mut fabric, s(300), 1, mac(1), mac(2)), [0]);
    assert_eq!(received_by(&mut fabric, s(302), 1, mac(1), mac(2)), [0, 2], "300 s have passed");
    // The address appears at another port and moves there.
    assert_eq!(received_by(&mut fabric, s(303), 2, mac(2), mac(1)), [1]);
    assert_eq!(received_by(&mut fabric, s(304), 1, mac(1), mac(2)), [2]);
}

#[test]
fn groups_are_flooded_and_never_learned() {
    let mut fabric = star(3, "rate = \"1Gbps\"", "forwarding = \"l2\"", "");
    let at = Time::ZERO + TimeDelta::from_ms(1);
    let all = [0xff; 6];
    assert_eq!(received_by(&mut fabric, at, 0, mac(9), all), [1, 2]);
    assert_eq!(received_by(&mut fabric, at, 0, all, mac(1)), [1, 2]);
    assert_eq!(received_by(&mut fabric, at, 1, all, mac(2)), [0, 2]);
}

#[test]
fn a_flood_of_forged_addresses_evicts_no_known_address() {
    let mut fabric = star(3, "rate = \"100Gbps\"", "forwarding = \"l2\"", "");
    let s = |s: u64| Time::ZERO + TimeDelta::from_ms(1000 * s);
    assert_eq!(received_by(&mut fabric, s(1), 0, mac(9), mac(1)), [1, 2]);
    for number in 0..1u32 << 16 {
        let [a, b, c, d] = number.to_be_bytes();
        let at = s(2) + TimeDelta::from_us(number.into());
        received_by(&mut fabric, at, 2, mac(1), [6, 0, a, b, c, d]);
    }
    assert_eq!(received_by(&mut fabric, s(3), 1, mac(1), mac(2)), [0]);
    assert_eq!(received_by(&mut fabric, s(4), 0, mac(2), mac(1)), [1, 2], "2 found no place");
    // When the forged ones are old, it does.
    assert_eq!(received_by(&mut fabric, s(303), 1, mac(1), mac(2)), [0]);
    assert_eq!(received_by(&mut fabric, s(304), 0, mac(2), mac(1)), [1]);
}

/// With one hash the second switch would send all its flows one way.
#[test]
fn two_tiers_of_hashing_use_all_paths() {
    let mut text = String::from("rate = \"10Gbps\"\nseed = 3\n");
    for name in ["a", "m0", "m1", "n0", "n1", "b"] {
        text += &format!("[[switch]]\nname = \"{name}\"\n");
    }
    for (one, other) in
        [("a", "m0"), ("a", "m1"), ("m0", "n0"), ("m0", "n1"), ("m1", "n0"), ("m1", "n1")]
    {
        text += &format!("[[link]]\nbetween = [\"{one}\", \"{other}\"]\n");
    }
    for name in ["n0", "n1"] {
        text += &format!("[[link]]\nbetween = [\"{name}\", \"b\"]\n");
    }
    for (host, switch) in [(1, "a"), (2, "b")] {
        let address = address(host, false);
        text += &format!(
            "[[host]]\nswitch = \"{switch}\"\ninterface = \"p{host}\"\n\
             addresses = [{{ address = \"{address}\" }}]\n"
        );
    }
    let mut fabric = Fabric::new(&Config::parse(&text).unwrap()).unwrap();
    for number in 0..400u16 {
        let at = Time::ZERO + TimeDelta::from_us(10 * u64::from(number));
        fabric.advance(at, &mut |_, _, _| {});
        fabric.host_sends(at, 0, &frame(1, 2, false, 49_152 + number, Service::Trimmable));
    }
    assert_eq!(run(&mut fabric).len(), 1);
    // m0 and m1 sent a hundred each to n0 and n1; four standard deviations are 35.
    let sent: Vec<u64> = fabric
        .counters()
        .filter(|&(switch, _, seen)| (1..3).contains(&switch) && seen.packets > 0)
        .map(|(_, _, seen)| seen.packets)
        .collect();
    assert_eq!(sent.len(), 4, "{sent:?}");
    assert!(sent.iter().all(|count| (65..136).contains(count)), "{sent:?}");
}

#[test]
fn a_flow_keeps_its_path_and_many_flows_use_all() {
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
                // RFC 791: the sum over the header, its own field included, is all ones.
                let header = bytes[14..34].chunks(2);
                let sum: u32 = header.map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
                assert!(v6 || (sum & 0xffff) + (sum >> 16) == 0xffff, "{bytes:x?}");
            }
        }
        let counted: u64 = fabric.counters().map(|(_, _, seen)| seen.trimmed).sum();
        assert!(trimmed > 5);
        assert_eq!(counted, trimmed);
    }
}

/// NDP 3.3: TCP has its own queue, and half of the link.
#[test]
fn ndp_and_tcp_share_a_link_under_deficit_round_robin() {
    let mut fabric = star(3, "rate = \"1Gbps\"\npackets = 8\ndroppable_queue = 200", "", "");
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
fn an_idle_traffic_class_returns_to_its_share_only() {
    let mut fabric = star(3, "rate = \"1Gbps\"\npackets = 200\ndroppable_queue = 200", "", "");
    let is_tcp = |bytes: &[u8]| {
        let parsed = Frame::new(bytes).unwrap().parse(&Profile::PAPER).unwrap();
        parsed.datagram.service == Service::Droppable
    };
    // A hundred of NDP alone, then both.
    for number in 0..150 {
        fabric.host_sends(Time::ZERO, 0, &frame(1, 3, false, number, Service::Trimmable));
    }
    let transmission = TimeDelta::from_ns(8512);
    let mut got = Vec::new();
    let then = Time::ZERO + transmission * 100;
    fabric.advance(then, &mut |_, _, bytes| got.push(is_tcp(bytes)));
    assert!(got.iter().all(|is_tcp| !is_tcp));
    for number in 0..150 {
        fabric.host_sends(then, 1, &frame(2, 3, false, number, Service::Droppable));
    }
    let later = run(&mut fabric);
    let first = later.iter().position(|(_, _, bytes)| is_tcp(bytes)).unwrap();
    let after: Vec<bool> = later[first..].iter().map(|(_, _, bytes)| is_tcp(bytes)).collect();
    let tcp = after[..40].iter().filter(|&&is_tcp| is_tcp).count();
    assert!((12..29).contains(&tcp), "{tcp} of 40");
}

#[test]
fn ecn_capable_packets_above_the_threshold_are_marked() {
    let mut fabric =
        star(3, "rate = \"1Gbps\"\npackets = 100\nprofile = \"ecn\"\necn_threshold = 5", "", "");
    let marked = |bytes: &[u8]| bytes[15] & 3 == 3;
    for number in 0..20 {
        for from in [1, 2] {
            let mut bytes = frame(from, 3, false, number, Service::Droppable);
            // ECN-capable, as TCP with ECN (RFC 3168); the checksum is adjusted.
            let able = from == 1;
            if able {
                bytes[15] |= 2;
                let sum = u16::from_be_bytes([bytes[24], bytes[25]]);
                let less = sum.checked_sub(2).unwrap_or(sum.wrapping_sub(3));
                bytes[24..26].copy_from_slice(&less.to_be_bytes());
            }
            fabric.host_sends(Time::ZERO, u32::from(from) - 1, &bytes);
        }
    }
    let got = run(&mut fabric);
    assert_eq!(got.len(), 40);
    let count = |from: u8, is_marked: bool| {
        let of = |bytes: &[u8]| bytes[29] == from && marked(bytes) == is_marked;
        got.iter().filter(|(_, _, bytes)| of(bytes)).count()
    };
    assert_eq!(count(2, true), 0, "these cannot bear a mark");
    // Two come in while one leaves, so half of the queue is over five packets soon.
    assert!(
        count(1, true) >= 10 && count(1, false) >= 2,
        "{} and {}",
        count(1, true),
        count(1, false)
    );
    for (_, _, bytes) in &got {
        let header = bytes[14..34].chunks(2);
        let sum: u32 = header.map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }
    assert!(Config::parse("profile = \"ecn\"").is_ok_and(|config| Fabric::new(&config).is_err()));
    assert!(Config::parse("ecn_threshold = 5").is_ok_and(|config| Fabric::new(&config).is_err()));
}

#[test]
fn a_host_that_sends_faster_than_its_cable_for_long_loses_frames() {
    let mut fabric = star(2, "rate = \"1Gbps\"\npackets = 8", "", "");
    let bytes = frame(1, 2, false, 1, Service::Trimmable);
    // A thousand packets of 9 KB are 8519 of these.
    (0..9000).for_each(|_| fabric.host_sends(Time::ZERO, 0, &bytes));
    let dropped = fabric.dropped_at_ingress();
    assert!((450..500).contains(&dropped), "{dropped}");
    assert_eq!(run(&mut fabric).len() as u64, 9000 - dropped);
    assert_eq!(fabric.held(), 0);
}

#[test]
fn the_seed_determines_the_impairments() {
    let got = |seed: u32| {
        let mut text = format!("seed = {seed}\nrate = \"1Gbps\"\n[[switch]]\nname = \"s\"\n");
        for host in [1, 2] {
            text += &format!(
                "[[host]]\nswitch = \"s\"\ninterface = \"p{host}\"\n\
                 impairment = {{ loss = \"10%\", reordering = \"10%\" }}\n\
                 addresses = [{{ address = \"{}\" }}]\n",
                address(host, false)
            );
        }
        let mut fabric = Fabric::new(&Config::parse(&text).unwrap()).unwrap();
        for number in 0..500u16 {
            let at = Time::ZERO + TimeDelta::from_us(20 * u64::from(number));
            fabric.host_sends(at, 0, &frame(1, 2, false, 10_000 + number, Service::Trimmable));
        }
        run(&mut fabric)
    };
    assert!(got(1) == got(1) && got(2) == got(2));
    assert!(got(1) != got(2));
}

#[test]
fn links_lose_corrupt_duplicate_delay_and_reorder_frames() {
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
