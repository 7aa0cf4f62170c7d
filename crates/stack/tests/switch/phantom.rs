//! A phantom queue on a port of the software switch (HULL, NSDI 2012, 2.1), and waiting times at a port.

use trimline_packet::fluid::Clock;
use trimline_packet::{
    BitRate, ByteCount, ConnectionId, Flags, Header, HostId, Kind, Packet, PathId, Service, Time,
    TimeDelta,
};
use trimline_stack::switch::{Config, Fabric};
use trimline_switch::{PhantomQueue, PhantomSettings};

use super::{address, mac, run, star};

const RATE: BitRate = BitRate::from_bps(100_000_000);

/// The marks of a packet with this ECN field (RFC 3168, section 5).
const MARKS: [u8; 4] = [0, Packet::MARK_ECT, Packet::MARK_ECT, Packet::MARK_ECT | Packet::MARK_CE];

/// A frame of TCP to host 3 without its FCS. Its number is at its end.
fn frame(from: u8, v6: bool, ecn: u8, number: u16, bytes: usize) -> Vec<u8> {
    let mut frame = [mac(3), mac(from)].concat();
    let addresses = [address(from, v6), address(3, v6)];
    match v6 {
        true => frame.extend([0x86, 0xdd, 0x60, ecn << 4, 0, 0, 0, 0, 6, 64]),
        false => frame.extend([8, 0, 0x45, ecn, 0, 0, 0, 0, 0, 0, 64, 6, 0, 0]),
    }
    let length = (bytes - if v6 { 54 } else { 14 }) as u16;
    let at = if v6 { 18 } else { 16 };
    frame[at..at + 2].copy_from_slice(&length.to_be_bytes());
    for address in addresses {
        match address {
            std::net::IpAddr::V4(address) => frame.extend(address.octets()),
            std::net::IpAddr::V6(address) => frame.extend(address.octets()),
        }
    }
    if !v6 {
        let sum = !header_sum(&frame);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
    }
    frame.resize(bytes - 2, 7);
    frame.extend(number.to_be_bytes());
    frame
}

/// The sum over an IPv4 header: all ones if its checksum is right (RFC 791).
fn header_sum(frame: &[u8]) -> u16 {
    let described = frame[14..34].chunks(2);
    let sum: u32 = described.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    ((sum & 0xffff) + (sum >> 16)) as u16
}

fn ecn_of(frame: &[u8]) -> u8 {
    if frame[12..14] == [0x86, 0xdd] { frame[15] >> 4 & 3 } else { frame[15] & 3 }
}

/// A frame as a phantom queue sees it.
fn packet(bytes: usize, ecn: u8) -> Packet {
    let (kind, flags, path) = (Kind::Data, Flags::default(), PathId::new(0));
    let connection = ConnectionId::new(0);
    Packet {
        source: HostId::new(0),
        destination: HostId::new(0),
        header: Header { kind, flags, path, connection, sequence: 0, extra: 0 },
        wire_bytes: bytes as u16 + 4,
        service: Service::Droppable.into(),
        marks: MARKS[usize::from(ecn)],
    }
}

/// Hosts 1 and 2 send these frames in turn, one every `gap`, from `from` on. Returns host 3's frames, with the times at
/// which first bits left its port.
fn send(
    fabric: &mut Fabric,
    from: Time,
    frames: &[Vec<u8>],
    gap: TimeDelta,
) -> Vec<(Time, Vec<u8>)> {
    let (mut now, mut out) = (from, Vec::new());
    for (number, frame) in frames.iter().enumerate() {
        fabric.advance(now, &mut |at, host, bytes| out.push((at, host, bytes.to_vec())));
        fabric.host_sends(now, number as u32 % 2, frame);
        now += gap;
    }
    out.extend(run(fabric));
    let left = |(at, host, bytes): (Time, u32, Vec<u8>)| {
        assert_eq!(host, 2);
        let wire = ByteCount::new(bytes.len() as u64 + 4);
        (at.set_back(RATE.transmission(wire)), bytes)
    };
    out.into_iter().map(left).collect()
}

/// Frames of every length and ECN field.
fn frames(v6: bool, count: u16) -> Vec<Vec<u8>> {
    let one = |number: u16| {
        let (from, ecn) = (number as u8 % 2 + 1, (number % 7 % 4) as u8);
        frame(from, v6, ecn, number, 100 + usize::from(number) * 377 % 1415)
    };
    (0..count).map(one).collect()
}

fn head(phantom: &str) -> String {
    format!(
        "rate = \"100Mbps\"\nprofile = \"drop-tail\"\npackets = 1000\nphantom_queue = {{ {phantom} }}"
    )
}

/// Checks that the port marks as a phantom queue alone at the same instants, and changes only the ECN field and its
/// checksum. Returns the number of marks.
fn check(keys: &str, clock: Clock, v6: bool, gap_us: u64) -> u64 {
    let mut fabric = star(3, &head(keys), "", "");
    let sent = frames(v6, 400);
    let start = Time::ZERO + TimeDelta::from_ms(1);
    let out = send(&mut fabric, start, &sent, TimeDelta::from_us(gap_us));
    assert_eq!(out.len(), sent.len());
    let (drain, threshold) = (BitRate::from_bps(95_000_000), ByteCount::new(3000));
    let model = PhantomSettings { drain, threshold, clock }.check(RATE).unwrap();
    let (mut phantom, mut marked) = (PhantomQueue::new(), 0);
    for (left, bytes) in &out {
        let number = u16::from_be_bytes(*bytes.last_chunk().unwrap());
        let before = &sent[usize::from(number)];
        let mut packet = packet(before.len(), ecn_of(before));
        let is_new = phantom.pass(*left, &mut packet, &model);
        marked += u64::from(is_new);
        let expected = if is_new { 3 } else { ecn_of(before) };
        assert_eq!(ecn_of(bytes), expected, "{number}, {gap_us} us, {clock:?}");
        assert!(v6 || header_sum(bytes) == 0xffff, "{bytes:x?}");
        let behind = if v6 { 22 } else { 26 };
        assert_eq!(bytes[behind..], before[behind..]);
    }
    let (_, _, port) = fabric.counters().nth(2).unwrap();
    assert_eq!((port.marked, fabric.marked_by_phantom(2)), (marked, marked));
    assert_eq!([0, 1].map(|port| fabric.marked_by_phantom(port)), [0, 0]);
    marked
}

#[test]
fn a_port_marks_packets_above_its_phantom_threshold() {
    let tick = Clock::Tick(TimeDelta::from_us(20));
    let by_rate = "drain_rate = \"95Mbps\", threshold = \"3KB\"";
    let ticks = "drain = \"95%\", threshold = \"3KB\", tick = \"20us\"";
    for v6 in [false, true] {
        for (keys, clock) in [(by_rate, Clock::Continuous), (ticks, tick)] {
            // A frame takes 65 us on average, and drains in 68.
            let marked = [50, 66, 69, 400].map(|gap_us| check(keys, clock, v6, gap_us));
            assert!(marked[0] > marked[1] && marked[1] > 0, "{marked:?}");
            assert_eq!(marked[2..], [0, 0]);
        }
    }
}

#[test]
fn a_port_counts_marks_of_queue_and_phantom_queue_separately() {
    let head = "rate = \"100Mbps\"\nprofile = \"ecn\"\necn_threshold = 5\npackets = 1000\n\
                phantom_queue = { drain = \"80%\", threshold = \"1KB\" }";
    let mut fabric = star(3, head, "", "");
    let sent: Vec<Vec<u8>> = (0..100).map(|n| frame(n as u8 % 2 + 1, false, 2, n, 1000)).collect();
    let out = send(&mut fabric, Time::ZERO, &sent, TimeDelta::from_us(60));
    let marked = out.iter().filter(|(_, bytes)| ecn_of(bytes) == 3).count() as u64;
    let (_, _, port) = fabric.counters().nth(2).unwrap();
    let by_phantom = fabric.marked_by_phantom(2);
    assert!(by_phantom > 0 && by_phantom < marked, "{by_phantom} of {marked}");
    assert_eq!(port.marked, marked);
}

#[test]
fn a_clock_restart_empties_no_phantom_queue() {
    // The phantom queue fills, and then drains.
    let (gap, long, second) =
        (TimeDelta::from_us(66), TimeDelta::from_us(90), TimeDelta::from_ms(1000));
    let start = Time::ZERO + second;
    let middle = start + gap * 200;
    let marks = |is_set_back: bool| -> Vec<u16> {
        let mut fabric = star(3, &head("threshold = \"3KB\""), "", "");
        let sent = frames(false, 400);
        let mut out = send(&mut fabric, start, &sent[..200], gap);
        let mut later = middle;
        if is_set_back {
            fabric.set_back(second);
            later = middle.set_back(second);
        }
        out.extend(send(&mut fabric, later, &sent[200..], long));
        let marked = out.iter().filter(|(_, bytes)| ecn_of(bytes) == 3);
        marked.map(|(_, bytes)| u16::from_be_bytes(*bytes.last_chunk().unwrap())).collect()
    };
    let expected = marks(false);
    assert!(expected.contains(&205) && !expected.contains(&390), "{expected:?}");
    assert_eq!(marks(true), expected);
}

/// One port has a phantom queue; the others mark nothing.
#[test]
fn each_port_has_its_own_phantom_queue() {
    let text = |host: &str, head: &str| {
        format!(
            "rate = \"100Mbps\"\nprofile = \"drop-tail\"\npackets = 1000\n{head}\n[[switch]]\nname = \"s\"\n\
             [[host]]\nswitch = \"s\"\ninterface = \"p1\"\naddresses = [{{ address = \"10.0.0.1\" }}]\n\
             [[host]]\nswitch = \"s\"\ninterface = \"p2\"\naddresses = [{{ address = \"10.0.0.2\" }}]\n\
             [[host]]\nswitch = \"s\"\ninterface = \"p3\"\naddresses = [{{ address = \"10.0.0.3\" }}]\n{host}\n"
        )
    };
    let of_all = "phantom_queue = { threshold = \"3KB\" }";
    let of_one = "phantom_queue = { threshold = \"1MB\" }";
    for (host, head, marks) in
        [("", "", false), ("", of_all, true), (of_all, "", true), (of_one, of_all, false)]
    {
        let config = Config::parse(&text(host, head)).unwrap();
        let mut fabric = Fabric::new(&config).unwrap();
        send(&mut fabric, Time::ZERO, &frames(false, 400), TimeDelta::from_us(50));
        let marked = [0, 1, 2].map(|port| fabric.marked_by_phantom(port));
        assert_eq!(marked.map(|count| count > 0), [false, false, marks], "{host} {head}");
    }
}

#[test]
fn an_invalid_phantom_queue_is_refused_with_its_place() {
    let said = |keys: &str| {
        let host = format!("rate = \"1Gbps\"\nphantom_queue = {{ {keys} }}");
        let text = format!(
            "rate = \"10Gbps\"\n[[switch]]\nname = \"s\"\n[[host]]\nswitch = \"s\"\ninterface = \"p1\"\n{host}\n"
        );
        match Config::parse(&text).and_then(|config| Fabric::new(&config).map(|_| config)) {
            Ok(config) => config.describe_phantom().unwrap().join("\n"),
            Err(error) => error,
        }
    };
    assert_eq!(
        said(""),
        "p1: a phantom queue drains at 950 Mb/s, at every instant, and marks packets that find more than 1000 B"
    );
    assert_eq!(said("tick = \"0s\""), said(""));
    assert_eq!(
        said("drain = \"80%\", tick = \"800ns\", threshold = \"6KB\""),
        "p1: a phantom queue drains at 800 Mb/s, every 0.800000 us, and marks packets that find more than 6000 B"
    );
    let above = "p1: phantom_queue: `drain` of 1 Gb/s is not below the link's 1 Gb/s: nothing would ever be marked; \
                 nearest: 950 Mb/s";
    assert_eq!([said("drain = \"100%\""), said("drain_rate = \"1Gbps\"")], [above, above]);
    assert_eq!(
        said("threshold = \"0B\""),
        "p1: phantom_queue: `threshold` of 0 B marks whatever follows another packet, at any load; nearest: 1 B"
    );
    assert_eq!(
        said("drain = \"0%\""),
        "p1: phantom_queue: a `drain` of 0 never falls and marks every packet; nearest: 1 bps"
    );
    assert_eq!(
        said("drain = \"95%\", drain_rate = \"950Mbps\""),
        "p1: phantom_queue: drain and drain_rate: expected one of the two"
    );
    for (wrong, word) in [
        ("drains = \"95%\"", "drains"),
        ("drain = \"150%\"", "more than 100 %"),
        ("tick = \"9\"", "time"),
    ] {
        assert!(said(wrong).contains(word), "{}", said(wrong));
    }
    assert!(said("threshold = \"10B\", tick = \"1us\"").contains("warning: `clock`"));
}

/// In every pair one frame waits one transmission longer, from the last bit in to the first bit out (HULL 5.2).
#[test]
fn waiting_times_of_frames_are_counted_on_request() {
    let mut fabric = star(3, "rate = \"100Mbps\"\nprofile = \"drop-tail\"\npackets = 1000", "", "");
    fabric.watch_waits(2);
    for number in 0..10 {
        for host in [0, 1] {
            let frame = frame(host as u8 + 1, false, 0, number, 1246);
            fabric.host_sends(Time::ZERO, host, &frame);
        }
    }
    run(&mut fabric);
    assert!(fabric.waits(0).is_none() && fabric.waits(1).is_none());
    let waits = fabric.waits(2).unwrap();
    let transmission_ns = 100_000.0;
    assert_eq!((waits.len(), waits.min()), (20, 0));
    let near = |value: f64, frames: f64| {
        assert!((value / transmission_ns - frames).abs() < 0.01 * frames, "{value} ns");
    };
    near(waits.max() as f64, 10.0);
    near(waits.mean(), 5.0);
    near(waits.value_at_quantile(0.5) as f64, 5.0);
}
