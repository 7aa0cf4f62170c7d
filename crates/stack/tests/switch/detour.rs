//! Detours of frames (OPF III, DIBS), on a leaf-spine of real bytes.

use std::collections::BTreeMap;

use trimline_packet::wire::{Datagram, Ethernet, Fields, Frame, Profile};
use trimline_packet::{ConnectionId, Flags, Header, Kind, Packet, Service, Time, TimeDelta};
use trimline_stack::switch::{Config, Fabric};

use super::{address, mac, run};

const LEAVES: u8 = 4;
const SPINES: u8 = 3;
/// Hosts of a leaf.
const HOSTS: u8 = 4;
const PAYLOAD: u16 = 1000;

/// Leaves with their hosts, each with a link to each spine.
fn leaf_spine(head: &str) -> Result<Fabric, String> {
    let mut text = format!("seed = 7\nrate = \"1Gbps\"\npayload = {PAYLOAD}\n{head}\n");
    for spine in 0..SPINES {
        text += &format!("[[switch]]\nname = \"s{spine}\"\n");
    }
    for leaf in 0..LEAVES {
        text += &format!("[[switch]]\nname = \"l{leaf}\"\n");
        for spine in 0..SPINES {
            text += &format!("[[link]]\nbetween = [\"l{leaf}\", \"s{spine}\"]\n");
        }
    }
    for host in 0..LEAVES * HOSTS {
        let (leaf, number) = (host / HOSTS, host + 1);
        let (v4, v6) = (address(number, false), address(number, true));
        text += &format!(
            "[[host]]\nswitch = \"l{leaf}\"\ninterface = \"p{number}\"\n\
             addresses = [{{ address = \"{v4}\" }}, {{ address = \"{v6}\" }}]\n"
        );
    }
    Fabric::new(&Config::parse(&text)?)
}

/// Data from one host to another, scheduled or not.
fn data(from: u8, to: u8, v6: bool, sequence: u32, marks: u8) -> Vec<u8> {
    let datagram = Datagram {
        source: address(from, v6),
        destination: address(to, v6),
        entropy: 50_000,
        service: Service::Trimmable.into(),
        marks,
        fields: Fields {
            kind: Kind::Data,
            flags: Flags::default(),
            connection: ConnectionId::new(from.into()),
            sequence,
            extra: Header::data_extra(PAYLOAD, 0),
        },
    };
    let mut bytes = Vec::new();
    let ethernet = Ethernet { destination: mac(to), source: mac(from) };
    datagram
        .emit(ethernet, &Profile::PAPER, &[5; PAYLOAD as usize], &[], &mut bytes)
        .expect("a packet that has a form");
    bytes
}

/// The TTL of a frame.
fn time_to_live(bytes: &[u8]) -> u8 {
    match bytes[14] >> 4 {
        4 => bytes[22],
        _ => bytes[21],
    }
}

/// Every host of other leaves sends `packets` packets to host 1 at once. Returns what arrives, with its host.
fn incast(fabric: &mut Fabric, packets: u32, v6: bool, marks: u8) -> Vec<(u32, Vec<u8>)> {
    for sequence in 0..packets {
        for from in HOSTS + 1..=LEAVES * HOSTS {
            let bytes = data(from, 1, v6, sequence, marks);
            fabric.host_sends(Time::ZERO, u32::from(from) - 1, &bytes);
        }
    }
    run(fabric).into_iter().map(|(_, host, bytes)| (host, bytes)).collect()
}

fn detoured(fabric: &Fabric) -> u64 {
    fabric.counters().map(|(_, _, counters)| counters.detoured).sum()
}

/// Returns the connection and number of a packet.
fn name(bytes: &[u8]) -> (ConnectionId, u32) {
    let frame = Frame::new(bytes).unwrap();
    (frame.header().connection(), frame.header().sequence())
}

const OPF: &str = "profile = \"drop-tail\"\npackets = 20\ndetour = { threshold = 2 }";

#[test]
fn only_marked_data_leaves_by_another_port() {
    for v6 in [false, true] {
        let mut fabric = leaf_spine(OPF).unwrap();
        incast(&mut fabric, 6, v6, 0);
        assert_eq!(detoured(&fabric), 0, "somebody asked for it");
        let mut fabric = leaf_spine(OPF).unwrap();
        let arrived = incast(&mut fabric, 6, v6, Packet::MARK_UNSCHEDULED);
        assert!(detoured(&fabric) > 0);
        assert!(arrived.iter().all(|&(host, _)| host == 0), "no other host gets it");
    }
}

/// OPF's published prototype: a port's length is what its last packet found, so hot ports are known late.
#[test]
fn detours_read_the_queue_length_that_the_last_departed_packet_found() {
    let detoured_at = |seen: &str| {
        let head = OPF.replace("threshold = 2", &format!("threshold = 2, seen = \"{seen}\""));
        let mut fabric = leaf_spine(&head).unwrap();
        incast(&mut fabric, 12, false, Packet::MARK_UNSCHEDULED);
        detoured(&fabric)
    };
    let [now, arrival] = ["now", "last-arrival"].map(detoured_at);
    assert!(0 < arrival && arrival < now, "{now} now, {arrival} as the last to leave found them");
}

/// Returns the number of detours in the header of a frame.
fn detours(bytes: &[u8]) -> u8 {
    match bytes[14] >> 4 {
        4 => bytes[19],
        _ => bytes[17],
    }
}

/// An incast fills the ports behind the core, which a packet reaches after two switches.
#[test]
fn packets_are_detoured_behind_the_core_at_most_twice() {
    for v6 in [false, true] {
        let mut fabric = leaf_spine(OPF).unwrap();
        let arrived = incast(&mut fabric, 12, v6, Packet::MARK_UNSCHEDULED);
        let mut by_count = [0u64; 3];
        let mut switches = std::collections::BTreeSet::new();
        for (_, bytes) in &arrived {
            let count = detours(bytes);
            assert!(count <= 2, "{count} detours");
            by_count[usize::from(count)] += 1;
            switches.insert(64 - time_to_live(bytes));
            let parsed = Frame::new(bytes).unwrap().parse(&Profile::PAPER).unwrap();
            assert_eq!(parsed.payload.len(), usize::from(PAYLOAD), "{v6}");
        }
        assert!(by_count.iter().all(|&packets| packets > 0), "{by_count:?}");
        // Two detours of spines to other leaves: seven switches. At the fifth a packet has left four.
        assert_eq!(switches.last(), Some(&7), "{switches:?}");
        if !v6 {
            let sums = arrived.iter().map(|(_, bytes)| bytes[14..34].chunks(2).fold(0u32, add));
            assert!(sums.into_iter().all(|sum| sum == 0xffff), "IPv4's checksum is right");
        }
        let counted = by_count[1] + 2 * by_count[2];
        let dropped: u64 = fabric.counters().map(|(_, _, counters)| counters.dropped).sum();
        let all = detoured(&fabric);
        assert!((counted..=counted + 2 * dropped).contains(&all), "{counted} of {all}");
    }
}

/// A kernel writes any identification, and a host could forge a count.
#[test]
fn a_count_of_detours_from_a_host_is_not_trusted() {
    let with = |forged: u8| {
        let mut fabric = leaf_spine(OPF).unwrap();
        for sequence in 0..6 {
            for from in HOSTS + 1..=LEAVES * HOSTS {
                let mut bytes = data(from, 1, true, sequence, Packet::MARK_UNSCHEDULED);
                bytes[17] = forged;
                fabric.host_sends(Time::ZERO, u32::from(from) - 1, &bytes);
            }
        }
        let arrived: Vec<u8> = run(&mut fabric).iter().map(|(.., bytes)| detours(bytes)).collect();
        (detoured(&fabric), arrived)
    };
    assert!(with(0).0 > 0);
    assert_eq!(with(200), with(0));
}

/// A frame of another protocol has no count, so its TTL bounds its detours.
#[test]
fn a_packet_of_another_protocol_is_bounded_by_its_ttl() {
    let head = "profile = \"drop-tail\"\npackets = 20\n\
                detour = { scheme = \"dibs\", limit = 1 }";
    let arrived_with = |port: u16, ttl: u8| {
        let mut fabric = leaf_spine(head).unwrap();
        for sequence in 0..12 {
            for from in HOSTS + 1..=LEAVES * HOSTS {
                let mut bytes = data(from, 1, true, sequence, 0);
                let at = 14 + 40 + 2;
                bytes[at..at + 2].copy_from_slice(&port.to_be_bytes());
                (bytes[17], bytes[21]) = (9, ttl);
                fabric.host_sends(Time::ZERO, u32::from(from) - 1, &bytes);
            }
        }
        let labels: Vec<u8> = run(&mut fabric).iter().map(|(.., bytes)| detours(bytes)).collect();
        (detoured(&fabric), labels)
    };
    let (ours, counts) = arrived_with(Profile::PAPER.port, 64);
    assert!(ours > 0 && counts.iter().all(|&count| count <= 1), "{counts:?}");
    let (others, labels) = arrived_with(9, 64);
    assert_eq!(others, 0, "no first switch is full, and at the second the TTL says one switch");
    assert!(labels.iter().all(|&label| label == 9), "its flow label is its own");
}

#[test]
fn a_packet_that_has_left_two_switches_is_not_detoured() {
    let head = OPF.replace("threshold = 2", "threshold = 2, counts = \"switches\"");
    let mut fabric = leaf_spine(&head).unwrap();
    let arrived = incast(&mut fabric, 12, false, Packet::MARK_UNSCHEDULED);
    let mut hops: BTreeMap<u8, u32> = BTreeMap::new();
    for (_, bytes) in &arrived {
        *hops.entry(64 - time_to_live(bytes)).or_default() += 1;
        assert_eq!(bytes[14..34].chunks(2).fold(0u32, add), 0xffff, "IPv4's checksum is right");
    }
    // Three switches without a detour. A leaf may send to another spine: three too. A spine may send to another leaf,
    // which is the third switch and sends on, up and down again: five.
    assert_eq!(hops.keys().copied().collect::<Vec<_>>(), [3, 5], "{hops:?}");
    assert!(arrived.iter().all(|(_, bytes)| detours(bytes) == 0), "nothing is written");
}

fn add(sum: u32, word: &[u8]) -> u32 {
    let sum = sum + u32::from(u16::from_be_bytes([word[0], word[1]]));
    (sum & 0xffff) + (sum >> 16)
}

#[test]
fn detours_carry_packets_that_would_be_dropped() {
    let plain = "profile = \"drop-tail\"\npackets = 20";
    let dropped = |head: &str, marks: u8| {
        let mut fabric = leaf_spine(head).unwrap();
        let arrived = incast(&mut fabric, 6, false, marks);
        let dropped: u64 = fabric.counters().map(|(_, _, counters)| counters.dropped).sum();
        assert_eq!(arrived.len() as u64 + dropped + fabric.lost_ways(), 6 * 12, "{head}");
        assert_eq!(fabric.held(), 0);
        let mut names: Vec<_> = arrived.iter().map(|(_, bytes)| name(bytes)).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "nothing comes twice");
        dropped + fabric.lost_ways()
    };
    let dibs = "profile = \"drop-tail\"\npackets = 20\ndetour = { scheme = \"dibs\" }";
    let without = dropped(plain, 0);
    assert!(without >= 15, "{without}");
    assert!(dropped(dibs, 0) < without / 2, "of {without}");
}

#[test]
fn a_detour_threshold_that_is_never_passed_changes_only_the_hash() {
    let with = |detour: &str| {
        let head = format!("profile = \"drop-tail\"\npackets = 200\n{detour}");
        let mut fabric = leaf_spine(&head).unwrap();
        let arrived = incast(&mut fabric, 3, false, Packet::MARK_UNSCHEDULED);
        let by_port: Vec<u64> = fabric.counters().map(|(.., counted)| counted.packets).collect();
        ((arrived.len(), detoured(&fabric)), by_port)
    };
    let (detour, plain) = (with("detour = { threshold = 199 }"), with(""));
    assert_eq!(detour.0, plain.0);
    assert_ne!(detour.1, plain.1, "the hash has the input");
}

#[test]
fn packets_are_sprayed_over_equal_cost_ports_only() {
    // Packets that come one by one find all queues empty; packets that come at once fill them evenly.
    for (scheme, gap_us, by_spine) in
        [("rps", 20, 15..=45), ("adaptive", 20, 15..=45), ("adaptive", 0, 28..=32)]
    {
        let head =
            format!("profile = \"drop-tail\"\npackets = 100\ndetour = {{ scheme = \"{scheme}\" }}");
        let mut fabric = leaf_spine(&head).unwrap();
        for sequence in 0..90 {
            let at = Time::ZERO + TimeDelta::from_us(gap_us) * u64::from(sequence);
            // All at once is more than the links to the spines carry, so queues grow.
            let host = if gap_us == 0 { 12 + sequence % u32::from(HOSTS) } else { 15 };
            fabric.host_sends(at, host, &data(host as u8 + 1, 1, false, sequence, 0));
        }
        let arrived = run(&mut fabric);
        assert!(arrived.len() == 90 && arrived.iter().all(|(.., bytes)| time_to_live(bytes) == 61));
        let counters = fabric.counters().filter(|&(switch, ..)| switch < SPINES.into());
        let mut packets: BTreeMap<u32, u64> = BTreeMap::new();
        counters.for_each(|(switch, _, counted)| {
            *packets.entry(switch).or_default() += counted.packets;
        });
        let is_spread = packets.values().all(|packets| by_spine.contains(packets));
        assert!(is_spread, "{scheme}: {packets:?}");
    }
}

/// A TTL of hosts that are far away, or of a larger initial TTL.
#[test]
fn a_packet_with_a_ttl_above_the_initial_one_is_not_detoured() {
    let head = OPF.replace("threshold = 2", "threshold = 2, counts = \"switches\"");
    let detoured_of = |ttl: u8| {
        let mut fabric = leaf_spine(&head).unwrap();
        for sequence in 0..6 {
            for from in HOSTS + 1..=LEAVES * HOSTS {
                let mut bytes = data(from, 1, true, sequence, Packet::MARK_UNSCHEDULED);
                bytes[21] = ttl;
                fabric.host_sends(Time::ZERO, u32::from(from) - 1, &bytes);
            }
        }
        run(&mut fabric);
        detoured(&fabric)
    };
    assert!(detoured_of(64) > 0 && detoured_of(63) > 0);
    assert_eq!([255, 65 + 64, 62, 10].map(detoured_of), [0; 4]);
}

#[test]
fn an_invalid_detour_configuration_is_refused() {
    let error = |head: &str| leaf_spine(head).err().unwrap_or_default();
    let high = error("packets = 8\ndetour = { threshold = 8 }");
    assert!(high.starts_with("detour: threshold = 8: a queue of 8 packets"), "{high}");
    let telling = error("profile = \"fastlane\"\npackets = 100\ndetour = {}");
    assert!(telling.starts_with("detour: ports of profile \"fastlane\""), "{telling}");
    let unknown = error("detour = { hops = 2 }");
    assert!(unknown.contains("unknown field `hops`"), "{unknown}");
    let parsed = |text: &str| Fabric::new(&Config::parse(text).unwrap()).err().unwrap_or_default();
    let star = parsed("rate = \"1Gbps\"\ndetour = {}\n[[switch]]\nname = \"s\"");
    assert!(star.starts_with("detour: no switch has a port to another one"), "{star}");
    let l2 = parsed(
        "rate = \"1Gbps\"\ndetour = {}\n[[switch]]\nname = \"a\"\nforwarding = \"l2\"\n\
         [[switch]]\nname = \"b\"\n[[link]]\nbetween = [\"a\", \"b\"]",
    );
    assert!(l2.starts_with("detour: switch \"a\" forwards by Ethernet addresses"), "{l2}");
}
