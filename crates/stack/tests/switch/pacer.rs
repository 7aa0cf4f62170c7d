//! A pacer on a host's cable of the software switch (HULL, NSDI 2012, 4.2).

use std::net::IpAddr;

use proptest::prelude::*;
use trimline_packet::{BitRate, ByteCount, Time, TimeDelta};
use trimline_stack::switch::{Config, Fabric};

use super::{address, mac, run, star};

const LINE: BitRate = BitRate::from_bps(100_000_000);
/// The rate of the bucket: it does not change, as the first update is after the tests.
const PACE: BitRate = BitRate::from_bps(10_000_000);
const HEAD: &str = "rate = \"100Mbps\"\nprofile = \"drop-tail\"\npackets = 1000\npayload = 1500";
const STEADY: &str = "first_rate = \"10Mbps\", interval = \"3600s\", association_chance = \"100%\"";

const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const SYN: u8 = 0x02;

fn us(us: u64) -> Time {
    Time::ZERO + TimeDelta::from_us(us)
}

/// A frame of TCP without its FCS, from a host and port to a host and port. Its number is at its end.
#[derive(Clone, Copy, Debug)]
struct Segment {
    from: (u8, u16),
    to: (u8, u16),
    v6: bool,
    protocol: u8,
    flags: u8,
    number: u16,
    bytes: usize,
}

impl Segment {
    fn new(from: (u8, u16), to: (u8, u16), flags: u8) -> Segment {
        Segment { from, to, v6: false, protocol: 6, flags, number: 0, bytes: 100 }
    }

    fn build(&self) -> Vec<u8> {
        let Segment { from, to, v6, protocol, flags, number, bytes } = *self;
        let mut frame = [mac(to.0), mac(from.0)].concat();
        match v6 {
            true => frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, protocol, 64]),
            false => frame.extend([8, 0, 0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0]),
        }
        for host in [from.0, to.0] {
            match address(host, v6) {
                IpAddr::V4(address) => frame.extend(address.octets()),
                IpAddr::V6(address) => frame.extend(address.octets()),
            }
        }
        frame.extend(from.1.to_be_bytes());
        frame.extend(to.1.to_be_bytes());
        frame.extend([0; 8]);
        frame.extend([0x50, flags]);
        frame.resize(bytes - 2, 7);
        frame.extend(number.to_be_bytes());
        frame
    }
}

/// A switch with hosts 1 and 2. Host 1 has a pacer with these keys, if any. Host 2's link is so fast that frames wait
/// nowhere behind host 1's cable.
fn pair(keys: Option<&str>) -> Fabric {
    let pacer = keys.map(|keys| format!("pacer = {{ {keys} }}")).unwrap_or_default();
    let mut text = format!("seed = 1\n{HEAD}\n[[switch]]\nname = \"s\"\nforwarding = \"l3\"\n");
    for (number, pacer) in [(1, pacer.as_str()), (2, "rate = \"100Gbps\"")] {
        let (v4, v6) = (address(number, false), address(number, true));
        text += &format!(
            "[[host]]\nswitch = \"s\"\ninterface = \"p{number}\"\n{pacer}\n\
             addresses = [{{ address = \"{v4}\" }}, {{ address = \"{v6}\" }}]\n"
        );
    }
    Fabric::new(&Config::parse(&text).unwrap()).unwrap()
}

/// An ACK of host 2 that echoes congestion to this port of host 1.
fn echo(port: u16) -> Vec<u8> {
    Segment::new((2, 80), (1, port), ACK | ECE).build()
}

/// Lets host 1 send segments at these times. Returns, for each that host 2 gets, the time of its first bit on host 1's
/// cable, its port, its number and its bytes on the wire.
fn send(fabric: &mut Fabric, segments: &[(Time, Segment)]) -> Vec<(Time, u16, u16, u64)> {
    let mut out = Vec::new();
    for (now, segment) in segments {
        fabric.advance(*now, &mut |at, host, bytes| out.push((at, host, bytes.to_vec())));
        fabric.host_sends(*now, 0, &segment.build());
        fabric.advance(*now, &mut |at, host, bytes| out.push((at, host, bytes.to_vec())));
    }
    out.extend(run(fabric));
    let seen = |(at, host, bytes): (Time, u32, Vec<u8>)| {
        assert_eq!(host, 1, "host 1 is sent nothing");
        let wire = bytes.len() as u64 + 4;
        let wire_bytes = ByteCount::new(wire);
        let both = LINE.transmission(wire_bytes) + BitRate::from_gbps(100).transmission(wire_bytes);
        let port = u16::from_be_bytes([bytes[34], bytes[35]]);
        let number = u16::from_be_bytes(*bytes.last_chunk().unwrap());
        (at.set_back(both), port, number, wire)
    };
    out.into_iter().map(seen).collect()
}

/// Bursts of two flows of host 1, by ports 1 and 2: gaps in us, and lengths without FCS.
fn bursts() -> impl Strategy<Value = Vec<(Time, Segment)>> {
    let one = (prop_oneof![4 => Just(0u64), 1 => 0u64..3000], 1u16..=2, 60usize..=1514);
    prop::collection::vec(one, 1..80).prop_map(|sends| {
        let mut now = us(1000);
        let segment = |(number, (gap, port, bytes)): (usize, (u64, u16, usize))| {
            now += TimeDelta::from_us(gap);
            let segment = Segment::new((1, port), (2, 80), ACK);
            (now, Segment { number: number as u16, bytes, ..segment })
        };
        sends.into_iter().enumerate().map(segment).collect()
    })
}

proptest! {
    /// Flow 1 is associated, flow 2 is not. Of flow 1 no interval carries more than the bucket and the rate allow; both
    /// keep their order and lose nothing; and flow 2 is later than without the pacer by no more than the paced frames that
    /// left before it took.
    #[test]
    fn a_paced_flow_keeps_to_its_rate_and_its_order(segments in bursts(), has_tick: bool) {
        let tick = if has_tick { 16 } else { 0 };
        let keys = format!(
            "{STEADY}, bucket = \"3KB\", queue = \"1MB\", tick = \"{tick}us\", association_lifetime = \"3600s\""
        );
        let mut fabric = pair(Some(&keys));
        fabric.host_sends(us(1), 1, &echo(1));
        prop_assert_eq!(run(&mut fabric).len(), 1);
        let state = fabric.pacer(0).unwrap();
        prop_assert_eq!((state.flows, state.counters.associated), (1, 1));
        prop_assert!(fabric.pacer(1).is_none(), "host 2 has none");

        let (paced, plain) = (send(&mut fabric, &segments), send(&mut pair(None), &segments));
        prop_assert_eq!((paced.len(), plain.len()), (segments.len(), segments.len()));
        let of = |sent: &[(Time, u16, u16, u64)], flow: u16| -> Vec<(Time, u16, u64)> {
            let own = sent.iter().filter(|one| one.1 == flow);
            own.map(|&(at, _, number, bytes)| (at, number, bytes)).collect()
        };
        for flow in [1, 2] {
            let numbers = |sent| of(sent, flow).iter().map(|one| one.1).collect::<Vec<_>>();
            prop_assert_eq!(numbers(&paced), numbers(&plain), "flow {} is in order", flow);
        }
        let first = of(&paced, 1);
        for (place, (from, ..)) in first.iter().enumerate() {
            let mut bytes = 0;
            for (to, _, more) in &first[place..] {
                bytes += more;
                let allowed = PACE.bytes_in(*to - *from + TimeDelta::from_us(tick)).get() + 3000;
                prop_assert!(bytes <= allowed + 1, "{} B from {:?} to {:?}", bytes, from, to);
            }
        }
        for (with, without) in of(&paced, 2).iter().zip(of(&plain, 2)) {
            let before = first.iter().filter(|one| one.0 < with.0);
            let taken = LINE.transmission(ByteCount::new(before.map(|one| one.2).sum()));
            prop_assert!(with.0 <= without.0 + taken, "{:?} instead of {:?}", with, without);
        }
        let counters = fabric.pacer(0).unwrap().counters;
        prop_assert_eq!(counters.paced as usize, first.len());
        prop_assert_eq!(counters.passed as usize, segments.len() - first.len());
        prop_assert_eq!(fabric.held(), 0);
    }
}

/// HULL 4.2: the frames of other flows bypass the token bucket. A frame waits for the one on the cable at most, while a
/// paced flow has a backlog.
#[test]
fn a_flow_passes_the_backlog_of_a_paced_one() {
    let mut fabric = pair(Some(&format!("{STEADY}, association_lifetime = \"3600s\"")));
    fabric.host_sends(us(1), 1, &echo(1));
    run(&mut fabric);
    let full = |port| Segment { bytes: 1514, ..Segment::new((1, port), (2, 80), ACK) };
    let mut segments: Vec<_> =
        (0..30).map(|n| (us(1000), Segment { number: n, ..full(1) })).collect();
    let later =
        (30..38).map(|n| (us(5000 + 1117 * u64::from(n - 30)), Segment { number: n, ..full(2) }));
    segments.extend(later);
    let sent = send(&mut fabric, &segments);
    let last = sent.iter().filter(|one| one.1 == 1).map(|one| one.0).max().unwrap();
    let frame = LINE.transmission(ByteCount::new(1518));
    for (at, _, number, _) in sent.iter().filter(|one| one.1 == 2) {
        let (now, _) = segments[usize::from(*number)];
        assert!(*at >= now && *at <= now + frame && *at < last, "{number} at {at:?}");
    }
}

/// A lone flow that is not associated leaves as without a pacer, to the picosecond.
#[test]
fn a_flow_without_echoes_leaves_as_without_a_pacer() {
    let segment = Segment { bytes: 1514, ..Segment::new((1, 1), (2, 80), ACK) };
    let segments: Vec<_> = (0..50)
        .map(|number| {
            let burst = u64::from(number) / 10;
            (us(700 * burst), Segment { number, ..segment })
        })
        .collect();
    let paced = send(&mut pair(Some(STEADY)), &segments);
    assert_eq!(paced, send(&mut pair(None), &segments));
}

/// Shows host 1 a frame of host 2, and then sends two full frames by port 1. Returns whether they were paced.
fn associates(answer: &Segment) -> bool {
    let mut fabric = pair(Some(STEADY));
    fabric.host_sends(us(1), 1, &answer.build());
    run(&mut fabric);
    let sent = Segment { bytes: 1514, v6: answer.v6, ..Segment::new((1, 1), (2, 80), ACK) };
    fabric.host_sends(us(1000), 0, &sent.build());
    fabric.host_sends(us(1000), 0, &sent.build());
    assert_eq!(run(&mut fabric).len(), 2);
    let state = fabric.pacer(0).unwrap();
    assert_eq!(state.counters.paced + state.counters.passed, 2);
    assert_eq!(state.counters.paced > 0, state.flows > 0);
    state.counters.paced == 2
}

#[test]
fn echoes_of_tcp_associate_their_flow_and_no_other_frame_does() {
    let echo = Segment::new((2, 80), (1, 1), ACK | ECE);
    for v6 in [false, true] {
        let echo = Segment { v6, ..echo };
        assert!(associates(&echo), "{echo:?}");
        for other in [
            Segment { flags: ACK, ..echo },
            // RFC 3168 6.1.1: the answer to a SYN agrees on ECN by this bit.
            Segment { flags: SYN | ACK | ECE, ..echo },
            Segment { flags: ECE, ..echo },
            Segment { protocol: 17, ..echo },
        ] {
            assert!(!associates(&other), "{other:?}");
        }
    }
    for other in [Segment { to: (1, 2), ..echo }, Segment { from: (2, 81), ..echo }] {
        let mut fabric = pair(Some(STEADY));
        fabric.host_sends(us(1), 1, &other.build());
        run(&mut fabric);
        assert_eq!(fabric.pacer(0).unwrap().flows, 1, "{other:?} is of another flow");
        assert!(!associates_alone(&mut fabric), "{other:?}");
    }
}

/// Returns whether a frame by port 1 is paced.
fn associates_alone(fabric: &mut Fabric) -> bool {
    let before = fabric.pacer(0).unwrap().counters.paced;
    fabric.host_sends(us(2000), 0, &Segment::new((1, 1), (2, 80), ACK).build());
    run(fabric);
    fabric.pacer(0).unwrap().counters.paced > before
}

/// HULL 4.2: the association times out, and the rate follows the flow (equation 4).
#[test]
fn an_association_ends_and_the_rate_follows_the_flow() {
    let keys =
        "association_chance = \"100%\", association_lifetime = \"5ms\", first_rate = \"100Mbps\"";
    let mut fabric = pair(Some(keys));
    fabric.host_sends(us(1), 1, &echo(1));
    run(&mut fabric);
    // 1518 B each 400 us: 30.4 Mb/s.
    let segment = Segment { bytes: 1514, ..Segment::new((1, 1), (2, 80), ACK) };
    let at = |number: u16| us(200 + 400 * u64::from(number));
    let segments: Vec<_> = (0..12).map(|n| (at(n), Segment { number: n, ..segment })).collect();
    send(&mut fabric, &segments);
    let state = fabric.pacer(0).unwrap();
    assert_eq!((state.counters.paced, state.counters.passed, state.flows), (12, 0, 1));
    assert!((20_000_000..45_000_000).contains(&state.rate_bps), "{} b/s", state.rate_bps);
    let late: Vec<_> = (12..20).map(|n| (at(n + 2), Segment { number: n, ..segment })).collect();
    send(&mut fabric, &late);
    let state = fabric.pacer(0).unwrap();
    assert_eq!((state.counters.paced, state.counters.passed), (12, 8));
    assert_eq!((state.flows, state.backlog_bytes), (0, 0));
}

#[test]
fn a_full_fifo_drops_and_counts() {
    let mut fabric = pair(Some(&format!("{STEADY}, queue = \"4KB\"")));
    fabric.host_sends(us(1), 1, &echo(1));
    run(&mut fabric);
    let segment = Segment { bytes: 1514, ..Segment::new((1, 1), (2, 80), ACK) };
    let burst: Vec<_> = (0..40).map(|n| (us(1000), Segment { number: n, ..segment })).collect();
    let arrived = send(&mut fabric, &burst).len() as u64;
    let counters = fabric.pacer(0).unwrap().counters;
    assert!(counters.dropped > 0 && counters.paced == arrived, "{counters:?}");
    assert_eq!(counters.dropped + arrived, 40);
    assert_eq!(counters.dropped_bytes, counters.dropped * 1518);
    assert_eq!((fabric.dropped_by_pacers(), fabric.dropped_at_ingress()), (counters.dropped, 0));
    assert_eq!(fabric.held(), 0);
}

/// A host that hands over more than the cable takes in 725 ms loses frames, as without a pacer.
#[test]
fn a_host_cannot_fill_the_memory_before_its_pacer() {
    let mut fabric = pair(Some(STEADY));
    let frame = Segment { bytes: 1514, ..Segment::new((1, 1), (2, 80), ACK) }.build();
    let fits = 1000 * 9064 / 1518;
    for _ in 0..fits + 500 {
        fabric.host_sends(us(1), 0, &frame);
    }
    assert!((490..500).contains(&fabric.dropped_at_ingress()), "{}", fabric.dropped_at_ingress());
    run(&mut fabric);
    assert_eq!(fabric.held(), 0);
}

/// The clock restarts while packets wait: none is lost, and the rest leaves at the same gaps.
#[test]
fn a_clock_restart_changes_no_gap() {
    let second = TimeDelta::from_ms(1000);
    let gaps = |is_set_back: bool| -> Vec<u64> {
        let mut fabric = pair(Some(&format!("{STEADY}, tick = \"0s\"")));
        let start = Time::ZERO + second;
        fabric.host_sends(start, 1, &echo(1));
        let (mut out, mut clock) = (Vec::new(), start + TimeDelta::from_us(100));
        fabric.advance(clock, &mut |_, _, _| {});
        let segment = Segment { bytes: 1514, ..Segment::new((1, 1), (2, 80), ACK) };
        for number in 0..20 {
            fabric.host_sends(clock, 0, &Segment { number, ..segment }.build());
        }
        clock += TimeDelta::from_ms(6);
        fabric.advance(clock, &mut |at, _, _| out.push(at));
        let mut offset = TimeDelta::ZERO;
        if is_set_back {
            fabric.set_back(second);
            offset = second;
        }
        assert!(out.len() > 3 && out.len() < 20, "{}", out.len());
        out.extend(run(&mut fabric).into_iter().map(|(at, ..)| at + offset));
        assert_eq!(out.len(), 20);
        out.windows(2).map(|pair| (pair[1] - pair[0]).as_ps()).collect()
    };
    assert_eq!(gaps(true), gaps(false));
}

fn refused(keys: &str) -> String {
    let text = format!(
        "{HEAD}\npacer = {{ {keys} }}\n[[switch]]\nname = \"s\"\n[[host]]\nswitch = \"s\"\ninterface = \"p1\"\n"
    );
    let config = Config::parse(&text).unwrap();
    Fabric::new(&config).map(|_| ()).unwrap_err()
}

#[test]
fn an_invalid_pacer_is_refused_with_the_nearest_valid_value() {
    for (keys, expected) in [
        ("bucket = \"1KB\"", "p1: pacer: `bucket` of 1000 B is less than a packet of 1564 B"),
        ("gain = \"0%\"", "p1: pacer: `gain` of 0 billionths is no weight"),
        ("min_rate = \"1Gbps\"", "p1: pacer: `min_rate` of 1 Gb/s is above the link's rate"),
        ("association_chance = \"0%\"", "p1: pacer: `association_chance` of 0 billionths"),
        ("flows = 0", "p1: pacer: `flows` of 0 paces nothing; nearest: 1"),
    ] {
        assert!(refused(keys).starts_with(expected), "{}", refused(keys));
    }
}

#[test]
fn pacers_are_described_and_need_a_restart() {
    let text = |rate: &str, keys: &str| {
        format!(
            "{}\npacer = {{ {keys} }}\n[[switch]]\nname = \"s\"\n[[host]]\nswitch = \"s\"\ninterface = \"p1\"\n\
             [[host]]\nswitch = \"s\"\ninterface = \"p2\"\npacer = {{ interval = \"1ms\" }}\n",
            HEAD.replace("100Mbps", rate)
        )
    };
    let config = |rate: &str, keys: &str| Config::parse(&text(rate, keys)).unwrap();
    let lines = config("100Mbps", "").describe_pacers().unwrap();
    assert!(lines[0].starts_with("p1: a pacer spaces out flows"), "{lines:?}");
    assert!(lines[0].contains("12.5 % of echoes") && lines[1].contains("1000.000000 us"));
    let warned = config("100Mbps", "backlog_gain = 5000").describe_pacers().unwrap();
    assert!(warned[0].contains("warning: `backlog_gain`"), "{warned:?}");
    let mut fabric = Fabric::new(&config("100Mbps", "")).unwrap();
    let mut change = |after: Config| fabric.change(&config("100Mbps", ""), &after).unwrap_err();
    assert!(change(config("200Mbps", "")).starts_with("rate: pacers depend on the rate"));
    assert!(change(config("100Mbps", "flows = 9")).starts_with("pacer: "));
}

#[test]
fn a_switch_without_pacers_has_no_state_of_one() {
    let fabric = star(2, "rate = \"1Gbps\"", "", "");
    assert!(fabric.pacer(0).is_none() && fabric.pacer(7).is_none());
    assert_eq!(fabric.dropped_by_pacers(), 0);
}
