//! Label-switched paths (NDP 3.1.1, RFC 3032), on two leaves and two spines of real bytes.

use proptest::prelude::*;
use trimline_packet::wire::LabelStack;

use super::*;

/// Swapped at each switch, and popped at the last.
const BY_SPINE: [u32; 2] = [200, 210];

/// Popped at each switch: leaf 0 to a spine, a spine to leaf 1, leaf 1 to its host 2.
const ROUTES: [[u32; 3]; 2] = [[20, 31, 42], [21, 31, 42]];

/// Hosts 1 and 3 are at leaf 0, host 2 at leaf 1.
fn network(head: &str, are_routed: bool) -> Result<Fabric, String> {
    network_with(head, are_routed, "1Gbps")
}

/// A network whose links between switches have another rate than those of hosts.
fn network_with(head: &str, are_routed: bool, rate: &str) -> Result<Fabric, String> {
    let mut text = format!(
        "seed = 3\nrate = \"1Gbps\"\npayload = {PAYLOAD}\n{head}\n\
         [[switch]]\nname = \"l0\"\nlabels = [\
           {{ label = 200, to = \"s0\", swap = 201 }}, {{ label = 210, to = \"s1\", swap = 211 }},\
           {{ label = 20, to = \"s0\" }}, {{ label = 21, to = \"s1\" }}]\n\
         [[switch]]\nname = \"l1\"\nlabels = [\
           {{ label = 202, to = \"p2\" }}, {{ label = 212, to = \"p2\" }}, {{ label = 42, to = \"p2\" }}]\n"
    );
    for spine in 0..2 {
        text += &format!(
            "[[switch]]\nname = \"s{spine}\"\nlabels = [\
               {{ label = {}, to = \"l1\", swap = {} }}, {{ label = 31, to = \"l1\" }}]\n\
             [[link]]\nbetween = [\"l0\", \"s{spine}\"]\nrate = \"{rate}\"\n[[link]]\nbetween = [\"l1\", \"s{spine}\"]\nrate = \"{rate}\"\n",
            201 + 10 * spine,
            202 + 10 * spine,
        );
    }
    for (number, leaf) in [(1, 0), (2, 1), (3, 0)] {
        let addresses =
            [false, true].map(|v6| format!("{{ address = \"{}\" }}", address(number, v6)));
        let addresses = if are_routed { addresses.join(", ") } else { String::new() };
        text += &format!(
            "[[host]]\nswitch = \"l{leaf}\"\ninterface = \"p{number}\"\naddresses = [{addresses}]\n"
        );
    }
    Fabric::new(&Config::parse(&text)?)
}

fn labelled(frame: &[u8], labels: &[u32], ttl: u8) -> Vec<u8> {
    let mut bytes = frame.to_vec();
    LabelStack::of(labels, ttl).unwrap().push_onto(&mut bytes);
    bytes
}

/// Sends a frame from host 1. Returns what arrives, with its host and time.
fn sent(fabric: &mut Fabric, bytes: &[u8]) -> Vec<(Time, u32, Vec<u8>)> {
    fabric.host_sends(Time::ZERO, 0, bytes);
    run(fabric)
}

/// Packets that left each spine.
fn by_spine(fabric: &Fabric) -> [u64; 2] {
    [2, 3].map(|spine| {
        let ports = fabric.counters().filter(|&(switch, ..)| switch == spine);
        ports.map(|(.., counted)| counted.packets).sum()
    })
}

#[test]
fn a_label_chooses_the_spine_without_any_route() {
    for v6 in [false, true] {
        let plain = frame(1, 2, v6, 1, Service::Trimmable);
        for spine in 0..2 {
            for labels in [&[BY_SPINE[spine]][..], &ROUTES[spine]] {
                let mut fabric = network("", false).unwrap();
                let arrived = sent(&mut fabric, &labelled(&plain, labels, 64));
                let [(_, 1, bytes)] = &arrived[..] else { panic!("{labels:?}: {arrived:?}") };
                let parsed = Frame::new(bytes).unwrap().parse(&Profile::PAPER).unwrap();
                assert_eq!(parsed.payload, [5; PAYLOAD as usize]);
                let mut expected = [0; 2];
                expected[spine] = 1;
                assert_eq!(by_spine(&fabric), expected, "{labels:?}");
            }
        }
        let mut fabric = network("", false).unwrap();
        assert!(sent(&mut fabric, &plain).is_empty() && fabric.lost_ways() == 1, "no route");
    }
}

#[test]
fn an_unknown_label_is_dropped_and_counted() {
    let plain = frame(1, 2, false, 1, Service::Trimmable);
    // The last is known at the first switch alone.
    for labels in [&[999][..], &[BY_SPINE[0] + 1], &[20, 20]] {
        let mut fabric = network("", true).unwrap();
        assert!(sent(&mut fabric, &labelled(&plain, labels, 64)).is_empty());
        let counts = (fabric.unknown_labels(), fabric.lost_ways(), fabric.held());
        assert_eq!(counts, (1, 0, 0), "{labels:?}");
    }
    // Without any table a switch knows no labels.
    let mut fabric = star(2, "rate = \"1Gbps\"", "", "");
    assert!(sent(&mut fabric, &labelled(&plain, &[200], 64)).is_empty());
    assert_eq!((fabric.lost_ways(), fabric.held()), (1, 0));
}

#[test]
fn the_ttl_of_a_label_ends_and_goes_on_in_the_ip_header() {
    for v6 in [false, true] {
        let plain = frame(1, 2, v6, 1, Service::Trimmable);
        for labels in [&BY_SPINE[..1], &ROUTES[1]] {
            for ttl in [1, 2, 3, 4, 200] {
                let mut fabric = network("", true).unwrap();
                let arrived = sent(&mut fabric, &labelled(&plain, labels, ttl));
                assert_eq!(arrived.len(), usize::from(ttl > 3), "{ttl}");
                assert_eq!(fabric.lost_ways(), u64::from(ttl <= 3));
                for (.., bytes) in arrived {
                    assert_eq!(bytes[if v6 { 21 } else { 22 }], ttl - 3);
                    Frame::new(&bytes).unwrap().parse(&Profile::PAPER).unwrap();
                }
            }
        }
    }
}

/// The labels take time on a link, four bytes each; the last switch sends none.
#[test]
fn labels_take_time_on_the_wire() {
    let plain = frame(1, 2, false, 1, Service::Trimmable);
    let took = |labels: &[u32]| {
        let mut fabric = network("", true).unwrap();
        let bytes = match labels {
            [] => plain.clone(),
            labels => labelled(&plain, labels, 64),
        };
        sent(&mut fabric, &bytes)[0].0.saturating_since(Time::ZERO).as_ps() / 1000
    };
    let without = took(&[]);
    // Four bytes are 32 ns. One label crosses three links, a route 3 + 2 + 1 labels.
    assert_eq!(took(&BY_SPINE[..1]), without + 3 * 32);
    assert_eq!(took(&ROUTES[0]), without + 6 * 32);
}

/// Returns a network in which hosts 1 and 3 fill the port to host 2, after `packets` from each.
fn crowded(head: &str, labels: &[u32], packets: u32) -> (Fabric, Vec<(u32, Vec<u8>)>) {
    crowd(network(head, true).unwrap(), labels, packets)
}

fn crowd(mut fabric: Fabric, labels: &[u32], packets: u32) -> (Fabric, Vec<(u32, Vec<u8>)>) {
    for _ in 0..packets {
        for from in [1, 3] {
            let plain = frame(from, 2, false, 1, Service::Trimmable);
            let bytes = if labels.is_empty() { plain } else { labelled(&plain, labels, 64) };
            fabric.host_sends(Time::ZERO, u32::from(from) - 1, &bytes);
        }
    }
    let arrived = run(&mut fabric).into_iter().map(|(_, host, bytes)| (host, bytes)).collect();
    (fabric, arrived)
}

#[test]
fn packets_are_trimmed_below_their_labels() {
    let (plain, without) = crowded("packets = 4", &[], 30);
    assert!(plain.counters().any(|(.., counted)| counted.trimmed > 0));
    for labels in [&BY_SPINE[..1], &ROUTES[0]] {
        let (fabric, arrived) = crowded("packets = 4", labels, 30);
        let trimmed: u64 = fabric.counters().map(|(.., counted)| counted.trimmed).sum();
        assert!(trimmed > 10 && arrived.len() == 60, "{trimmed} trimmed, {}", arrived.len());
        let headers = arrived.iter().filter(|(_, bytes)| {
            let parsed = Frame::new(bytes).unwrap().parse(&Profile::PAPER).unwrap();
            assert_eq!(bytes.len() == 60, parsed.datagram.service == Service::Trimmed);
            parsed.datagram.service == Service::Trimmed
        });
        assert_eq!(headers.count() as u64, trimmed);
        assert_eq!(without.len(), arrived.len());
    }
}

/// The way back is that of its address.
#[test]
fn a_returned_header_has_no_labels() {
    // The first queue fills with headers.
    let fabric = network_with("packets = 1", true, "5Mbps").unwrap();
    let (fabric, arrived) = crowd(fabric, &ROUTES[0], 300);
    let returned = arrived.iter().filter(|(host, bytes)| {
        let parsed = Frame::new(bytes).unwrap().parse(&Profile::PAPER).unwrap();
        let is_returned = parsed.datagram.service == Service::Returned;
        assert_eq!(is_returned, *host != 1, "to its sender");
        is_returned
    });
    assert!(returned.count() > 10);
    assert_eq!(fabric.held(), 0);
}

#[test]
fn an_invalid_label_table_is_refused() {
    let error = |labels: &str, more: &str| {
        let text = format!(
            "rate = \"1Gbps\"\n{more}\n[[switch]]\nname = \"a\"\nlabels = [{labels}]\n\
             [[switch]]\nname = \"b\"\n[[link]]\nbetween = [\"a\", \"b\"]\n\
             [[host]]\nswitch = \"b\"\ninterface = \"p\"\n"
        );
        Config::parse(&text).and_then(|config| Fabric::new(&config).map(drop)).unwrap_err()
    };
    let reserved = error("{ label = 3, to = \"b\" }", "");
    assert_eq!(reserved, "switch \"a\": labels: label = 3: expected 16 to 1048575");
    let far = error("{ label = 16, to = \"p\" }", "");
    assert!(far.starts_with("switch \"a\": labels: to = \"p\": expected a switch"), "{far}");
    let twice = error("{ label = 16, to = \"b\" }, { label = 16, to = \"b\" }", "");
    assert_eq!(twice, "switch \"a\": labels: 16 is there twice");
    let detour = error("{ label = 16, to = \"b\" }", "detour = {}");
    assert!(detour.starts_with("labels: a detoured frame"), "{detour}");
    let several = error("{ label = 16, to = \"b\" }", "link = [{ between = [\"a\", \"b\"] }]");
    assert!(several.contains("duplicate key") || several.contains("several"), "{several}");
}

proptest! {
    /// A label-switched path delivers the bytes that a routed one delivers, for any frame: whole, and trimmed below
    /// the labels.
    #[test]
    fn labels_change_no_byte_of_a_packet(
        payload in 0u16..1200,
        v6 in any::<bool>(),
        way in 0usize..4,
        service in prop_oneof![Just(Service::Trimmable), Just(Service::Droppable)],
        cut in any::<bool>(),
    ) {
        let datagram = Datagram {
            source: address(1, v6),
            destination: address(2, v6),
            entropy: 50_000,
            service: service.into(),
            marks: 0,
            fields: Fields {
                kind: Kind::Data,
                flags: Flags::default(),
                connection: ConnectionId::new(1),
                sequence: 7,
                extra: Header::data_extra(payload, 0),
            },
        };
        let mut plain = Vec::new();
        let ethernet = Ethernet { destination: mac(2), source: mac(1) };
        let body = vec![5; usize::from(payload)];
        datagram.emit(ethernet, &Profile::PAPER, &body, &[], &mut plain).unwrap();
        let labels = match way {
            0 | 1 => &BY_SPINE[way..=way],
            _ => &ROUTES[way - 2][..],
        };
        let arrived = |bytes: Vec<u8>| {
            // A queue of one packet trims most of a burst.
            let mut fabric = network(if cut { "packets = 1" } else { "" }, true).unwrap();
            for _ in 0..if cut { 9 } else { 1 } {
                fabric.host_sends(Time::ZERO, 0, &bytes);
                fabric.host_sends(Time::ZERO, 2, &bytes);
            }
            let mut frames: Vec<Vec<u8>> = run(&mut fabric).into_iter().map(|(.., b)| b).collect();
            frames.sort_unstable();
            frames.dedup();
            frames
        };
        prop_assert_eq!(arrived(labelled(&plain, labels, 64)), arrived(plain));
    }
}
