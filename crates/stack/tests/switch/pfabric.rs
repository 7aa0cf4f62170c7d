//! Frames with a priority (pFabric 4.1) through the software switch: the order, the evicted packets, and hostile
//! options.

use trimline_packet::{Service, Time, TimeDelta};
use trimline_stack::switch::{Config, Fabric};

use super::fastlane::{DATA, DSCP, Sent, sign};
use super::{address, frame, run};

/// A packet of TCP with the option behind two bytes of padding, and two behind it.
fn urgent(sent: Sent, pfabric: u32) -> Vec<u8> {
    let mut option = vec![1, 1, 253, 8, 0x70, 0x46];
    option.extend(pfabric.to_be_bytes());
    with_options(sent, &option)
}

/// A packet of TCP with these bytes for options, padded.
fn with_options(sent: Sent, options: &[u8]) -> Vec<u8> {
    let sent = Sent { options: [sent.options[0], options.len().next_multiple_of(4)], ..sent };
    let mut bytes = sent.bytes();
    let at = sent.transport() + 20;
    bytes[at..at + options.len()].copy_from_slice(options);
    bytes
}

/// Four hosts, the third behind a slow cable. A port holds `packets` packets of 1064 B; [`DATA`] with the option has
/// 1070.
fn network(profile: &str, packets: u32) -> Fabric {
    let mut text = format!(
        "seed = 1\nrate = \"1Gbps\"\npayload = 1000\nprofile = \"{profile}\"\npackets = {packets}\n[[switch]]\nname = \"s\"\n"
    );
    for host in 1..=4 {
        let rate = if host == 3 { "rate = \"1Mbps\"" } else { "" };
        let (v4, v6) = (address(host, false), address(host, true));
        text += &format!(
            "[[host]]\nswitch = \"s\"\ninterface = \"p{host}\"\n{rate}\n\
             addresses = [{{ address = \"{v4}\" }}, {{ address = \"{v6}\" }}]\n"
        );
    }
    Fabric::new(&Config::parse(&text).unwrap()).unwrap()
}

/// Writes the frame's name into the last byte of its payload.
fn named(name: u8, mut bytes: Vec<u8>) -> Vec<u8> {
    *bytes.last_mut().unwrap() = name;
    bytes
}

/// Sends frames to host 3 in sequence, while the first is on its slow cable. The Ethernet address selects the sender.
/// Returns the leaving frames with their hosts.
fn sent(fabric: &mut Fabric, frames: &[Vec<u8>]) -> Vec<(u32, Vec<u8>)> {
    let mut now = Time::ZERO + TimeDelta::from_ms(1);
    let mut out = Vec::new();
    for bytes in frames {
        fabric.host_sends(now, u32::from(bytes[11]) - 1, bytes);
        now += TimeDelta::from_us(20);
        fabric.advance(now, &mut |_, host, bytes| out.push((host, bytes.to_vec())));
    }
    out.extend(run(fabric).into_iter().map(|(_, host, bytes)| (host, bytes)));
    out
}

/// Returns the names of the frames that host 3 got, in order of arrival, sent while another one was on its cable.
fn order(fabric: &mut Fabric, frames: &[Vec<u8>]) -> Vec<u8> {
    let first = named(0, urgent(Sent { from: 2, ..DATA }, 1));
    let out = sent(fabric, &[&[first], frames].concat());
    let arrived = out.iter().filter(|(host, _)| *host == 2);
    arrived.map(|(_, bytes)| *bytes.last().unwrap()).skip(1).collect()
}

/// Sets the flow by its ports.
fn of_flow(flow: u8, mut bytes: Vec<u8>) -> Vec<u8> {
    let at = if bytes[12..14] == [0x86, 0xdd] { 54 } else { 34 };
    bytes[at + 1] = flow;
    bytes
}

fn small(v6: bool) -> Sent {
    Sent { payload: 400, v6, ..DATA }
}

/// pfabric-a: the flow's first packet goes; over IPv4 and IPv6.
#[test]
fn the_flow_of_the_most_urgent_packet_sends_in_order() {
    for v6 in [false, true] {
        let mut fabric = network("pfabric", 4);
        let of = |name: u8, flow: u8, pfabric: u32| {
            named(name, of_flow(flow, urgent(small(v6), pfabric)))
        };
        let frames = [of(1, 1, 9000), of(2, 2, 8000), of(3, 1, 7500), of(4, 3, 8500)];
        assert_eq!(order(&mut fabric, &frames), [1, 3, 2, 4], "v6: {v6}");
    }
}

/// pfabric-b: a newcomer that is no more urgent is dropped.
#[test]
fn the_least_urgent_packet_is_evicted() {
    let mut fabric = network("pfabric", 4);
    let of = |name: u8, pfabric: u32| named(name, of_flow(name, urgent(DATA, pfabric)));
    // Two find room behind the one on the wire.
    let frames = [of(1, 50_000), of(2, 90_000), of(3, 70_000), of(4, 90_000), of(5, 60_000)];
    assert_eq!(order(&mut fabric, &frames), [1, 5]);
    let (_, _, port) = fabric.counters().nth(2).unwrap();
    assert_eq!((port.dropped, port.notified), (3, 0));
    assert!(fabric.unnotified().is_none());
}

/// pfabric-c: the sender does not matter, nor other claims of the packet.
#[test]
fn packets_without_priority_go_first_and_are_not_evicted() {
    let mut fabric = network("pfabric", 4);
    let plain = named(2, DATA.bytes());
    let of_ours = named(3, frame(1, 3, false, 9, Service::Trimmable));
    let frames = [named(1, of_flow(1, urgent(DATA, 1))), plain, of_ours];
    let late = named(4, of_flow(4, urgent(DATA, 0)));
    let frames = [&frames[..], &[late]].concat();
    // The first has no room beside them, and the last is as urgent as a packet without a priority.
    assert_eq!(order(&mut fabric, &frames), [2, 3]);
}

/// fastlane-3.4.2-a, 3.2-b.
#[test]
fn senders_of_evicted_packets_are_notified_by_their_own_ports() {
    let mut fabric = network("fastlane-pfabric", 3);
    let of = |name: u8, from: u8, pfabric: u32| {
        named(name, of_flow(name, urgent(Sent { from, ..DATA }, pfabric)))
    };
    // One on the wire and one behind it.
    let out = sent(&mut fabric, &[of(1, 2, 5), of(2, 1, 90_000), of(3, 4, 10)]);
    let notified = out.iter().filter(|(_, bytes)| bytes[15] >> 2 == DSCP).map(|(host, _)| *host);
    assert_eq!(notified.collect::<Vec<u32>>(), [0], "host 1's packet was evicted by host 4's");
    let arrived = out.iter().filter(|(host, _)| *host == 2);
    let arrived: Vec<u8> = arrived.map(|(_, bytes)| *bytes.last().unwrap()).collect();
    assert_eq!(arrived, [1, 3]);
    let (_, _, port) = fabric.counters().nth(2).unwrap();
    assert_eq!((port.notified, port.dropped), (1, 0));
    assert_eq!(fabric.unnotified().unwrap().iter().map(|(_, count)| count).sum::<u64>(), 0);
}

/// Returns whether a frame's priority counts: a rival whose priority value is higher only than 0 then goes first.
fn says(bytes: Vec<u8>) -> bool {
    let mut fabric = network("pfabric", 4);
    let rival = named(2, of_flow(9, urgent(small(false), 1)));
    match order(&mut fabric, &[named(1, bytes), rival])[..] {
        [2, 1] => true,
        [1, 2] => false,
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn a_priority_option_is_found_at_every_valid_place() {
    let option = [253, 8, 0x70, 0x46, 0, 0, 0, 2];
    let behind = |before: &[u8]| says(with_options(small(false), &[before, &option].concat()));
    assert!(behind(&[]));
    assert!(behind(&[1]) && behind(&[1, 1, 1]));
    // Time stamps; an option of another experiment, and of this one with another length.
    assert!(behind(&[8, 10, 1, 2, 3, 4, 5, 6, 7, 8]));
    assert!(behind(&[253, 8, 0x70, 0x47, 0, 0, 0, 0]));
    assert!(behind(&[253, 4, 0x70, 0x46]) && behind(&[253, 2]));
    // The first counts.
    assert!(!behind(&[253, 8, 0x70, 0x46, 0, 0, 0, 0]));
    for v6 in [false, true] {
        assert!(says(with_options(small(v6), &option)));
        let first = Sent { fragment: 0x2000, ..small(v6) };
        assert!(says(with_options(first, &option)), "a first fragment");
    }
    assert!(says(with_options(Sent { options: [40, 0], ..small(false) }, &option)));
}

/// Bytes are no priority unless all lengths agree.
#[test]
fn an_unreadable_option_gives_no_priority() {
    let option = [253, 8, 0x70, 0x46, 0, 0, 0, 2];
    let cases: &[&[u8]] = &[
        // An end before it; a length of none, of one, beyond the header, missing.
        &[0, 1, 1, 1, 253, 8, 0x70, 0x46, 0, 0, 0, 2],
        &[8, 0, 1, 1, 253, 8, 0x70, 0x46, 0, 0, 0, 2],
        &[8, 1, 1, 1, 253, 8, 0x70, 0x46, 0, 0, 0, 2],
        &[8, 200, 1, 1, 253, 8, 0x70, 0x46, 0, 0, 0, 2],
        &[1, 1, 1, 253],
        &[253, 8, 0x70, 0x46],
        &[253, 7, 0x70, 0x46, 0, 0, 2, 1],
        &[253, 10, 0x70, 0x46, 0, 0, 0, 2, 0, 0, 1, 1],
        &[254, 8, 0x70, 0x46, 0, 0, 0, 2],
        &[1, 1, 253, 8, 0x70, 0x46, 0, 0],
    ];
    for case in cases {
        assert!(!says(with_options(small(false), case)), "{case:?}");
    }
    let whole = with_options(small(false), &option);
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        sign(&mut bytes);
        bytes
    };
    assert!(says(changed(&|_| {})));
    let tcp = 34;
    // TCP's header: none, shorter than it can be, ending in the option, beyond the packet.
    for offset in [0, 4, 5, 6] {
        assert!(!says(changed(&|bytes| bytes[tcp + 12] = offset << 4)), "{offset}");
    }
    let short = with_options(Sent { payload: 2, ..small(false) }, &option);
    let beyond = |mut bytes: Vec<u8>| {
        bytes[tcp + 12] = 15 << 4;
        bytes
    };
    assert!(!says(beyond(short)));
    // Another protocol; a later fragment; a wrong checksum; a length beyond the frame.
    assert!(!says(changed(&|bytes| bytes[23] = 132)));
    assert!(!says(changed(&|bytes| bytes[21] = 9)));
    let mut unsound = whole.clone();
    unsound[24] ^= 1;
    assert!(!says(unsound));
    assert!(!says(changed(&|bytes| bytes[16] = 0x7f)));
}

/// Frames are cut anywhere, with any header byte changed.
#[test]
fn no_frame_makes_the_priority_parser_panic() {
    for profile in ["pfabric", "fastlane-pfabric"] {
        let mut fabric = network(profile, 3);
        let mut now = Time::ZERO + TimeDelta::from_ms(1);
        for v6 in [false, true] {
            let whole = urgent(Sent { payload: 60, ..small(v6) }, 77);
            for place in 12..100.min(whole.len()) {
                for value in [0, 1, 2, 0x0f, 0x50, 0xf0, 0xfd, 0xff] {
                    let mut bytes = whole.clone();
                    bytes[place] = value;
                    sign(&mut bytes[..]);
                    for end in [whole.len(), place + 1] {
                        fabric.host_sends(now, 0, &bytes[..end]);
                        now += TimeDelta::from_us(3);
                        fabric.advance(now, &mut |_, _, _| {});
                    }
                }
            }
        }
        run(&mut fabric);
        assert_eq!(fabric.held(), 0, "{profile}");
    }
}

#[test]
fn pfabric_ports_are_described_and_refuse_invalid_settings() {
    let said = |head: &str| {
        let text = format!(
            "rate = \"1Gbps\"\n{head}\n[[switch]]\nname = \"s\"\n[[host]]\nswitch = \"s\"\ninterface = \"p1\"\n\
             addresses = [{{ address = \"{}\" }}]\n",
            address(1, false)
        );
        match Config::parse(&text).and_then(|config| Fabric::new(&config).map(|_| config)) {
            Ok(config) => config.describe_pfabric().unwrap().join("\n"),
            Err(error) => error,
        }
    };
    assert_eq!(
        said("profile = \"pfabric\"\npackets = 43\npayload = 1436"),
        "all ports: the most urgent packet leaves first, and the least urgent one is evicted when the queue of 64500 \
         B is full; option 253 \
         of TCP with ExID 0x7046 has the priority; packets without it precede all others"
    );
    let notified = said("profile = \"fastlane-pfabric\"\npackets = 80\npayload = 1536");
    assert!(
        notified.contains("is evicted, with a notification, when the queue of 124800 B is full"),
        "{notified}"
    );
    assert_eq!([said("profile = \"paper\""), said("profile = \"fastlane\"")], ["", ""]);
    for (keys, described) in [
        (
            "droppable_queue = 9",
            "droppable_queue = 9: it would take all packets that profile \"pfabric\" orders by urgency",
        ),
        ("ecn_threshold = 9", "profile \"pfabric\" does not mark"),
        ("droppable_ecn_threshold = 9", "droppable_queue is missing"),
        ("beside = 9", "the new name of this key is droppable_queue"),
        ("notifications = {}", "profile \"pfabric\" does not notify senders of drops"),
        ("packets = 4000000000", "more than 4 GiB; nearest: 473848"),
        ("packets = 0", "profile pfabric: "),
    ] {
        let error = said(&format!("profile = \"pfabric\"\n{keys}"));
        assert!(error.contains(described), "{keys}: {error}");
    }
    let error = said("profile = \"fastlane-pfabric\"\ndroppable_queue = 9");
    assert!(error.contains("nearest: no droppable_queue"), "{error}");
    for profile in ["pfabric", "fastlane-pfabric"] {
        let text = format!(
            "rate = \"1Gbps\"\nprofile = \"{profile}\"\ndetour = {{}}\n[[switch]]\nname = \"a\"\n[[switch]]\nname = \"b\"\n\
             [[link]]\nbetween = [\"a\", \"b\"]\n"
        );
        let error = Config::parse(&text).and_then(|config| Fabric::new(&config)).err().unwrap();
        assert!(error.contains(&format!("detour: ports of profile \"{profile}\"")), "{error}");
    }
}
