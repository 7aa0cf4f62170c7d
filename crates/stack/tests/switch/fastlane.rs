//! Notifications of drops on real packets: TCP and UDP over IPv4 and IPv6 through the software switch (FastLane 3.2,
//! 3.3).

use trimline_packet::wire::Profile;
use trimline_packet::{BitRate, Service, Time, TimeDelta};
use trimline_stack::switch::{Config, Fabric, Unnotified};

use super::{address, frame, mac, run, star};

pub(super) const DSCP: u8 = Profile::PAPER.notification;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// TCP's flags.
const ACK: u8 = 16;
const SYN: u8 = 2;
const FIN: u8 = 1;
const RST: u8 = 4;

/// A packet of a host's kernel.
#[derive(Clone, Copy)]
pub(super) struct Sent {
    pub(super) from: u8,
    pub(super) to: u8,
    pub(super) v6: bool,
    pub(super) protocol: u8,
    pub(super) flags: u8,
    /// Bytes of IPv4's and TCP's options.
    pub(super) options: [usize; 2],
    pub(super) payload: usize,
    /// DSCP and ECN.
    pub(super) class: u8,
    /// Flags and offset of IPv4's fragment, in units of eight bytes.
    pub(super) fragment: u16,
}

pub(super) const DATA: Sent = Sent {
    from: 1,
    to: 3,
    v6: false,
    protocol: TCP,
    flags: ACK,
    options: [0, 12],
    payload: 1000,
    class: 2,
    fragment: 0x4000,
};

fn sum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// Writes the checksum of a frame's IPv4 header.
pub(super) fn sign(frame: &mut [u8]) {
    if frame[12..14] == [8, 0] {
        frame[24..26].fill(0);
        let end = 14 + usize::from(frame[14] & 15) * 4;
        let sum = !sum(&frame[14..end]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
    }
}

impl Sent {
    /// Offset of the transport header.
    pub(super) fn transport(&self) -> usize {
        14 + if self.v6 { 40 } else { 20 + self.options[0] }
    }

    /// Length of the transport header without options.
    fn fixed(&self) -> usize {
        if self.protocol == TCP { 20 } else { 8 }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let Sent { from, to, v6, protocol, flags, options, payload, class, fragment } = *self;
        let mut frame = [mac(to), mac(from)].concat();
        let header = self.fixed() + if protocol == TCP { options[1] } else { 0 };
        let behind = header + payload;
        match v6 {
            true => {
                let length = (behind as u16).to_be_bytes();
                frame.extend([0x86, 0xdd, 0x60 | class >> 4, class << 4 | 7, 1, 2]);
                frame.extend([length[0], length[1], protocol, 64]);
            }
            false => {
                let described = (20 + options[0]) / 4;
                let length = ((described * 4 + behind) as u16).to_be_bytes();
                let [high, low] = fragment.to_be_bytes();
                frame.extend([8, 0, 0x40 | described as u8, class, length[0], length[1]]);
                frame.extend([0x12, 0x34, high, low, 64, protocol, 0, 0]);
            }
        }
        for host in [from, to] {
            match address(host, v6) {
                std::net::IpAddr::V4(address) => frame.extend(address.octets()),
                std::net::IpAddr::V6(address) => frame.extend(address.octets()),
            }
        }
        if !v6 {
            frame.extend(vec![1; options[0]]);
        }
        frame.extend([0x9c, 0x40, 0x1f, 0x90]);
        match protocol {
            TCP => {
                frame.extend([9, 8, 7, 6, 5, 4, 3, 2, (header / 4 * 16) as u8, flags]);
                frame.extend([0xff, 0xff, 0xab, 0xcd, 0, 0]);
                frame.extend(vec![1; options[1]]);
            }
            _ => {
                let length = (behind as u16).to_be_bytes();
                frame.extend([length[0], length[1], 0xab, 0xcd]);
            }
        }
        frame.extend((0..payload).map(|place| place as u8));
        sign(&mut frame);
        frame
    }

    /// The notification of its drop at the first switch that forwards by IP addresses.
    fn notification(&self) -> Vec<u8> {
        let mut frame = self.bytes();
        let hops = if self.v6 { 21 } else { 22 };
        frame[hops] -= 1;
        frame[..6].copy_from_slice(&mac(self.from));
        frame[6..12].copy_from_slice(&mac(self.to));
        let (length, start) = if self.v6 { (16, 22) } else { (4, 26) };
        let (one, other) = frame[start..start + 2 * length].split_at_mut(length);
        one.swap_with_slice(other);
        match self.v6 {
            true => (frame[14], frame[15]) = (0x60 | DSCP >> 2, (DSCP << 6) | 7),
            false => frame[15] = DSCP << 2,
        }
        sign(&mut frame);
        frame.truncate(60.max(self.transport() + self.fixed()));
        frame
    }
}

/// Settings of a port that holds two packets, with notifications beside them.
fn head(keys: &str) -> String {
    format!("rate = \"100Mbps\"\nprofile = \"fastlane\"\npackets = 3\n{keys}")
}

fn unnotified(fabric: &Fabric, reason: Unnotified) -> u64 {
    let all = fabric.unnotified().expect("senders are told of drops");
    all.iter().find(|(known, _)| *known == reason).unwrap().1
}

/// A star with a slow cable to host 3, and memory for two notifications.
fn narrow(hosts: u8, keys: &str, switch: &str) -> Fabric {
    let mut text = format!(
        "seed = 1\npayload = 1000\nrate = \"100Mbps\"\nprofile = \"fastlane\"\npackets = 3\n\
         notifications = {{ memory = \"256B\"{keys} }}\n[[switch]]\nname = \"s\"\n{switch}\n"
    );
    for number in 1..=hosts {
        let rate = if number == 3 { "10Mbps" } else { "100Mbps" };
        let (v4, v6) = (address(number, false), address(number, true));
        text += &format!(
            "[[host]]\nswitch = \"s\"\ninterface = \"p{number}\"\nrate = \"{rate}\"\n\
             addresses = [{{ address = \"{v4}\" }}, {{ address = \"{v6}\" }}]\n"
        );
    }
    Fabric::new(&Config::parse(&text).unwrap()).unwrap()
}

/// Sends `frames` from host 1 behind packets of host 2 that fill host 3's port. Returns what hosts get.
fn behind_a_full_port(fabric: &mut Fabric, frames: &[Vec<u8>]) -> Vec<(u32, Vec<u8>)> {
    // Three of 978 B leave no room in 2936.
    let filler = Sent { from: 2, payload: 908, ..DATA };
    let full: Vec<Vec<u8>> = (0..3).map(|_| filler.bytes()).collect();
    let from = Time::ZERO + TimeDelta::from_ms(10);
    for bytes in &full {
        fabric.host_sends(from, 1, bytes);
    }
    // The last of the three is in before these frames, and the first is not out.
    let later = from + TimeDelta::from_us(260);
    fabric.advance(later, &mut |_, _, _| {});
    for frame in frames {
        fabric.host_sends(later, 0, frame);
    }
    run(fabric).into_iter().map(|(_, host, bytes)| (host, bytes)).collect()
}

/// fastlane-3.2-a: addresses swapped, ports not, its DSCP, no ECN, the length of the whole packet, 64 bytes on the wire
/// or what the headers need.
#[test]
fn a_dropped_packet_of_a_kernel_becomes_its_notification() {
    let cases = [
        (DATA, 60),
        (Sent { v6: true, ..DATA }, 74),
        (Sent { options: [0, 0], class: 0, ..DATA }, 60),
        (Sent { options: [40, 40], class: 0xff, payload: 300, ..DATA }, 94),
        (Sent { protocol: UDP, payload: 1200, ..DATA }, 60),
        (Sent { protocol: UDP, v6: true, payload: 1200, ..DATA }, 62),
        (Sent { protocol: UDP, payload: 19, ..DATA }, 60),
        // Data so short that only the fixed headers are kept.
        (Sent { options: [0, 0], payload: 7, ..DATA }, 60),
        (Sent { v6: true, options: [0, 0], payload: 1, ..DATA }, 74),
        // SYN with data, as TCP Fast Open sends it.
        (Sent { flags: SYN, payload: 400, ..DATA }, 60),
        // A first fragment.
        (Sent { fragment: 0x2000, ..DATA }, 60),
    ];
    for (case, (sent, length)) in cases.into_iter().enumerate() {
        let mut fabric = narrow(3, "", "");
        let out = behind_a_full_port(&mut fabric, &[sent.bytes()]);
        let back: Vec<&Vec<u8>> =
            out.iter().filter(|(host, _)| *host == 0).map(|(_, bytes)| bytes).collect();
        assert_eq!(back, [&sent.notification()], "case {case}");
        assert_eq!(back[0].len(), length, "case {case}");
        let (_, _, port) = fabric.counters().nth(2).unwrap();
        assert_eq!((port.notified, port.dropped), (1, 0), "case {case}");
        assert_eq!(fabric.held(), 0);
    }
}

/// fastlane-3.2-b: a notification is not routed, so a packet with a forged source draws it to the true port.
#[test]
fn a_notification_leaves_by_the_port_by_which_its_packet_came() {
    let mut fabric = narrow(4, "", "");
    let forged = Sent { from: 4, ..DATA };
    let out = behind_a_full_port(&mut fabric, &[forged.bytes(), DATA.bytes()]);
    let back: Vec<&(u32, Vec<u8>)> = out.iter().filter(|(host, _)| *host != 2).collect();
    assert_eq!(back, [&(0, forged.notification()), &(0, DATA.notification())]);
}

/// fastlane-3.4.1-a: only with `control`, since a kernel would get a whole packet.
#[test]
fn senders_of_control_packets_are_notified_if_configured() {
    let bare = Sent { payload: 0, options: [0, 0], ..DATA };
    let mut control: Vec<Sent> = [ACK, SYN, SYN | ACK, FIN | ACK, RST]
        .into_iter()
        .flat_map(|flags| [false, true].map(|v6| Sent { flags, v6, ..bare }))
        .collect();
    // With options; data that would arrive whole.
    control.push(Sent { options: [0, 12], ..bare });
    control.push(Sent { payload: 6, ..bare });
    control.push(Sent { protocol: UDP, payload: 18, ..bare });
    for (keys, notified) in [("", 0), (", control = false", 0), (", control = true", 1)] {
        for (case, sent) in control.iter().enumerate() {
            let mut fabric = narrow(3, keys, "");
            let out = behind_a_full_port(&mut fabric, &[sent.bytes()]);
            let back: Vec<Vec<u8>> =
                out.into_iter().filter(|(host, _)| *host == 0).map(|(_, bytes)| bytes).collect();
            assert_eq!(unnotified(&fabric, Unnotified::Control), 1 - notified, "case {case}");
            let (_, _, port) = fabric.counters().nth(2).unwrap();
            assert_eq!((port.notified, port.dropped), (notified, 1 - notified), "case {case}");
            let expected = if notified == 1 { vec![sent.notification()] } else { Vec::new() };
            assert_eq!(back, expected, "case {case}");
        }
    }
}

/// Notifications of this protocol's data have swapped ports.
#[test]
fn dropped_ndp_frames_are_notified_as_in_the_model() {
    for v6 in [false, true] {
        let mut fabric = narrow(3, "", "");
        let sent = frame(1, 3, v6, 50_000, Service::Droppable);
        let out = behind_a_full_port(&mut fabric, std::slice::from_ref(&sent));
        let back = &out.iter().find(|(host, _)| *host == 0).expect("its sender is told").1;
        let parsed = trimline_packet::wire::Frame::new(back).unwrap();
        assert_eq!(parsed.ports(), (Profile::PAPER.port, 50_000));
        let notified = parsed.parse(&Profile::PAPER).unwrap().datagram;
        assert_eq!(
            (notified.service.service(), notified.source),
            (Service::Notification, address(3, v6))
        );
        assert_eq!(back.len(), if v6 { 78 } else { 60 });
    }
}

/// fastlane-3.4.1-b: such drops are counted by their reason.
#[test]
fn packets_without_a_unicast_sender_get_no_notification() {
    let of = |sent: Sent, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = sent.bytes();
        change(&mut bytes);
        bytes
    };
    let v6 = Sent { v6: true, ..DATA };
    let cases: Vec<(Unnotified, Vec<u8>)> = vec![
        (
            Unnotified::Notification,
            of(DATA, &|bytes| {
                bytes[15] = DSCP << 2;
                sign(bytes)
            }),
        ),
        (Unnotified::Notification, of(v6, &|bytes| (bytes[14], bytes[15]) = (0x6e, 0))),
        (Unnotified::NoIp, of(DATA, &|bytes| bytes[12..14].copy_from_slice(&[8, 6]))),
        (Unnotified::NoIp, of(DATA, &|bytes| bytes[12..14].copy_from_slice(&[0x81, 0]))),
        // Groups: of Ethernet at either end, and of IP.
        (Unnotified::Group, of(DATA, &|bytes| bytes[6] |= 1)),
        (
            Unnotified::Group,
            of(DATA, &|bytes| {
                bytes[30..34].fill(255);
                sign(bytes)
            }),
        ),
        (
            Unnotified::Group,
            of(DATA, &|bytes| {
                bytes[30] = 224;
                sign(bytes)
            }),
        ),
        (
            Unnotified::Group,
            of(DATA, &|bytes| {
                bytes[26..30].fill(0);
                sign(bytes)
            }),
        ),
        (Unnotified::Group, of(v6, &|bytes| bytes[38] = 0xff)),
        (Unnotified::Group, of(v6, &|bytes| bytes[22..38].fill(0))),
        (Unnotified::Fragment, of(Sent { fragment: 0x2001, ..DATA }, &|_| {})),
        (Unnotified::Fragment, of(Sent { fragment: 100, ..DATA }, &|_| {})),
        (
            Unnotified::Fragment,
            of(v6, &|bytes| {
                bytes[20] = 44;
                bytes[54..58].copy_from_slice(&[TCP, 0, 0, 9])
            }),
        ),
        (
            Unnotified::Protocol,
            of(DATA, &|bytes| {
                bytes[23] = 1;
                sign(bytes)
            }),
        ),
        (Unnotified::Protocol, of(v6, &|bytes| bytes[20] = 58)),
        (Unnotified::Protocol, of(v6, &|bytes| bytes[20] = 0)),
        // Cut before: within the data, the options, the header.
        (Unnotified::Malformed, of(DATA, &|bytes| bytes.truncate(500))),
        (Unnotified::Malformed, of(Sent { options: [0, 40], ..DATA }, &|bytes| bytes.truncate(60))),
        (Unnotified::Malformed, of(v6, &|bytes| bytes.truncate(60))),
        (Unnotified::Malformed, of(Sent { options: [40, 0], ..DATA }, &|bytes| bytes.truncate(60))),
        // Lengths that contradict: of IPv4's header, IP, TCP's header, UDP.
        (
            Unnotified::Malformed,
            of(DATA, &|bytes| {
                bytes[14] = 0x44;
                bytes[15] = 0;
                sign(bytes)
            }),
        ),
        (
            Unnotified::Malformed,
            of(DATA, &|bytes| {
                bytes[16..18].copy_from_slice(&[0, 39]);
                sign(bytes)
            }),
        ),
        (Unnotified::Malformed, of(DATA, &|bytes| bytes[46] = 0x40)),
        (Unnotified::Malformed, of(Sent { payload: 3, ..DATA }, &|bytes| bytes[46] = 0xf0)),
        (
            Unnotified::Malformed,
            of(Sent { protocol: UDP, ..DATA }, &|bytes| bytes[38..40].copy_from_slice(&[0, 7])),
        ),
        (
            Unnotified::Malformed,
            of(Sent { protocol: UDP, ..DATA }, &|bytes| bytes[38..40].fill(255)),
        ),
        // A wrong checksum.
        (Unnotified::Malformed, of(DATA, &|bytes| bytes[18] ^= 1)),
    ];
    for (case, (reason, bytes)) in cases.iter().enumerate() {
        let mut fabric = narrow(3, ", control = true", "forwarding = \"l2\"");
        for host in [1, 2, 3] {
            let hello = Sent { from: host, to: 4 - host.min(3), ..DATA }.bytes();
            fabric.host_sends(Time::ZERO, u32::from(host) - 1, &hello);
        }
        run(&mut fabric);
        let before = fabric.counters().nth(2).unwrap().2;
        let out = behind_a_full_port(&mut fabric, std::slice::from_ref(bytes));
        assert!(out.iter().all(|(host, _)| *host == 2), "case {case}: {reason:?}");
        assert_eq!(
            unnotified(&fabric, *reason),
            1,
            "case {case}: {reason:?}, {:?}",
            fabric.unnotified()
        );
        let port = fabric.counters().nth(2).unwrap().2.since(&before);
        assert!(port.notified == 0 && port.dropped == 1, "case {case}: {port:?}");
    }
}

/// One copy may arrive though another is dropped.
#[test]
fn flooded_copies_get_no_notification() {
    let mut fabric = star(4, &head(""), "forwarding = \"l2\"", "");
    let at = Time::ZERO + TimeDelta::from_ms(1);
    (0..12).for_each(|n| {
        fabric.host_sends(at, n % 2, &Sent { from: n as u8 % 2 + 1, ..DATA }.bytes())
    });
    let out = run(&mut fabric);
    assert!(out.iter().all(|(_, _, bytes)| bytes.len() > 100));
    let dropped: u64 = fabric.counters().map(|(_, _, port)| port.dropped).sum();
    assert!(dropped > 0);
    assert_eq!((unnotified(&fabric, Unnotified::Group), fabric.held()), (dropped, 0));
}

/// Arrival time and host of a frame, and its bytes.
type Arrived = (Time, u32, Vec<u8>);

/// Hosts 1 and 2 send to host 3 at full rate. Returns when notifications left for host 1, all arrivals, and the fabric.
fn crowded(head: &str, host: &str, ms: u64) -> (Vec<Time>, Vec<Arrived>, Fabric) {
    let mut fabric = star(3, head, "", host);
    fabric.watch_notifications(0);
    let mut out = Vec::new();
    let start = Time::ZERO + TimeDelta::from_ms(1);
    for number in 0..ms * 10 {
        let now = start + TimeDelta::from_us(100) * number;
        fabric.advance(now, &mut |at, host, bytes| out.push((at, host, bytes.to_vec())));
        for from in [1, 2] {
            let v6 = number % 3 == 0;
            fabric.host_sends(now, u32::from(from) - 1, &Sent { from, v6, ..DATA }.bytes());
        }
    }
    out.extend(run(&mut fabric));
    (fabric.notifications(0).unwrap().to_vec(), out, fabric)
}

/// fastlane-3.3.1-a, 5.1.3-a: 64 bytes each 512 us of 100 Mb/s at 1 %, longer ones later; over any time no more.
#[test]
fn a_non_work_conserving_cap_holds_over_any_interval() {
    let keys = "notifications = { work_conserving = false, memory = \"640B\" }";
    let (times, out, fabric) = crowded(&head(keys), "", 100);
    let to_host_1: Vec<&Vec<u8>> =
        out.iter().filter(|(_, host, _)| *host == 0).map(|(_, _, bytes)| bytes).collect();
    assert_eq!(times.len(), to_host_1.len());
    assert!(times.len() > 100, "{}", times.len());
    for (pair, bytes) in times.windows(2).zip(&to_host_1) {
        let wire = (bytes.len() as u64 + 4).max(64);
        let spacing = TimeDelta::from_ps(512_000_000 * wire / 64);
        assert!(pair[1] >= pair[0] + spacing, "{:?} after {wire} B", pair[1] - pair[0]);
    }
    let (_, _, port) = fabric.counters().next().unwrap();
    assert!(port.dropped > 0, "more were made than go: {port:?}");
}

/// fastlane-3.3.1-b.
#[test]
fn notifications_go_at_once_on_an_idle_port() {
    let (times, _, fabric) = crowded(&head(""), "", 20);
    let port = fabric.counters().nth(2).unwrap().2;
    assert_eq!(fabric.counters().next().unwrap().2.dropped, 0);
    assert!(times.windows(2).any(|pair| pair[1] < pair[0] + TimeDelta::from_us(400)));
    let other = fabric.counters().nth(1).unwrap().2;
    assert_eq!(times.len() as u64 + other.packets, port.notified);
}

#[test]
fn a_cap_scales_with_the_rate_of_its_port() {
    let text = |rates: [&str; 3]| {
        let mut text = "payload = 1000\nprofile = \"fastlane\"\npackets = 3\n\
                        notifications = { cap = \"0.5%\", work_conserving = false }\n[[switch]]\nname = \"s\"\n"
            .to_owned();
        for (number, rate) in (1..).zip(rates) {
            text += &format!(
                "[[host]]\nswitch = \"s\"\ninterface = \"p{number}\"\nrate = \"{rate}\"\n\
                 addresses = [{{ address = \"{}\" }}]\n",
                address(number, false)
            );
        }
        Config::parse(&text).unwrap()
    };
    let config = text(["200Mbps", "100Mbps", "50Mbps"]);
    assert_eq!(
        config.describe_notifications().unwrap().iter().map(|line| &line[..2]).collect::<Vec<_>>(),
        ["p1", "p2", "p3"]
    );
    let mut fabric = Fabric::new(&config).unwrap();
    [0, 1].into_iter().for_each(|port| fabric.watch_notifications(port));
    for number in 0..1000u64 {
        let now = Time::ZERO + TimeDelta::from_us(100) * number;
        fabric.advance(now, &mut |_, _, _| {});
        for from in [1, 2] {
            fabric.host_sends(now, u32::from(from) - 1, &Sent { from, ..DATA }.bytes());
        }
    }
    run(&mut fabric);
    for (port, bps) in [(0, 1_000_000), (1, 500_000)] {
        let spacing = BitRate::from_bps(bps).transmission(trimline_packet::ByteCount::new(64));
        let times = fabric.notifications(port).unwrap();
        let min = times.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap();
        assert_eq!(min, spacing, "port {port}");
    }
}

/// fastlane-3.2-c: the packet's protocol is unknown there.
#[test]
fn a_notification_goes_before_data_at_the_next_switch() {
    let mut text = head(
        "payload = 1000\n[[switch]]\nname = \"a\"\n[[switch]]\nname = \"b\"\n[[link]]\nbetween = [\"a\", \"b\"]",
    );
    for (host, switch) in [(1, "a"), (2, "b"), (3, "b")] {
        text += &format!(
            "\n[[host]]\nswitch = \"{switch}\"\ninterface = \"p{host}\"\nrate = \"{}Mbps\"\n\
             addresses = [{{ address = \"{}\" }}]\n",
            if host == 3 { 50 } else { 100 },
            address(host, false)
        );
    }
    let mut fabric = Fabric::new(&Config::parse(&text).unwrap()).unwrap();
    // Host 2 keeps the ports of hosts 1 and 3 busy; host 1 sends into the latter.
    let mut out = Vec::new();
    for number in 0..100u64 {
        let now = Time::ZERO + TimeDelta::from_us(90) * number;
        fabric.advance(now, &mut |_, host, bytes| out.push((host, bytes.to_vec())));
        fabric.host_sends(now, 0, &DATA.bytes());
        fabric.host_sends(now, 2, &Sent { from: 3, to: 1, ..DATA }.bytes());
        fabric.host_sends(
            now,
            1,
            &Sent { from: 2, to: if number % 2 == 0 { 3 } else { 1 }, ..DATA }.bytes(),
        );
    }
    let queue = fabric.queue_counters(0, Service::Notification.into());
    assert!(queue.packets > 5, "{queue:?}");
    let is_notified = |bytes: &[u8]| bytes[15] >> 2 == DSCP;
    let notified =
        out.iter().filter(|(host, bytes)| *host == 0 && is_notified(bytes)).count() as u64;
    assert!(notified.abs_diff(queue.packets) <= 1, "{notified} of {queue:?}");
    // Two hops of its packet and one of its own.
    let mut back = out.iter().filter(|(host, bytes)| *host == 0 && is_notified(bytes));
    assert!(back.all(|(_, bytes)| bytes[22] == 61));
}

/// The packet claims to be a notification but is as long as data.
#[test]
fn a_packet_longer_than_a_notification_has_no_priority() {
    let mut fabric = star(3, &head(""), "", "");
    let loud = Sent { class: DSCP << 2, ..DATA };
    fabric.host_sends(Time::ZERO, 0, &loud.bytes());
    fabric.host_sends(Time::ZERO, 1, &Sent { from: 2, protocol: UDP, ..loud }.bytes());
    run(&mut fabric);
    assert_eq!(fabric.queue_counters(2, Service::Notification.into()).packets, 0);
    assert_eq!(fabric.queue_counters(2, Service::Droppable.into()).packets, 2);
    // A notification of another switch does.
    fabric.host_sends(
        Time::ZERO + TimeDelta::from_ms(1),
        0,
        &Sent { from: 3, to: 1, ..DATA }.notification(),
    );
    run(&mut fabric);
    assert_eq!(fabric.queue_counters(2, Service::Notification.into()).packets, 1);
}

/// The clock wraps: the cap waits no longer than before.
#[test]
fn a_clock_restart_does_not_lengthen_the_waits_of_caps() {
    let keys = "notifications = { work_conserving = false, cap = \"0.1%\" }";
    let times = |is_set_back: bool| {
        let mut fabric = star(3, &head(keys), "", "");
        fabric.watch_notifications(0);
        let second = TimeDelta::from_ms(1000);
        let mut now = Time::ZERO + second;
        for number in 0..200 {
            if number == 100 && is_set_back {
                fabric.set_back(second);
                now = now.set_back(second);
            }
            fabric.advance(now, &mut |_, _, _| {});
            for from in [1, 2] {
                fabric.host_sends(now, u32::from(from) - 1, &Sent { from, ..DATA }.bytes());
            }
            now += TimeDelta::from_us(100);
        }
        run(&mut fabric);
        fabric.notifications(0).unwrap().len()
    };
    assert_eq!(times(true), times(false));
}

#[test]
fn invalid_notification_settings_are_refused_with_their_place() {
    let said = |head: &str| {
        let text = format!(
            "rate = \"1Gbps\"\n{head}\n[[switch]]\nname = \"s\"\n[[host]]\nswitch = \"s\"\ninterface = \"p1\"\n"
        );
        match Config::parse(&text).and_then(|config| Fabric::new(&config).map(|_| config)) {
            Ok(config) => config.describe_notifications().unwrap().join("\n"),
            Err(error) => error,
        }
    };
    let fastlane = |keys: &str| said(&format!("profile = \"fastlane\"\n{keys}"));
    assert_eq!(
        fastlane("packets = 80\npayload = 1536"),
        "p1: notifies senders of drops of TCP and UDP packets with payload: notifications have priority, each \
         51.200000 us while other packets wait, in 3200 B of 128000 B"
    );
    assert_eq!(
        fastlane(
            "notifications = { cap = \"0.1%\", memory = \"1KB\", work_conserving = false, control = true }"
        ),
        "p1: notifies senders of drops of all TCP and UDP packets: notifications have priority, each 512.000000 us \
         always, \
         in 1000 B of 72512 B"
    );
    let min = "p1: notifications: `cap` of 511 bit/s is less than one notification of 64 B in a second; nearest: \"512ppb\"";
    assert_eq!(fastlane("notifications = { cap = \"511ppb\" }"), min);
    assert!(fastlane("notifications = { cap = \"512ppb\" }").contains("each 1000000.000000 us"));
    assert!(fastlane("notifications = { cap = \"0%\" }").contains("`cap` of 0 bit/s"));
    assert!(fastlane("notifications = { cap = \"101%\" }").contains("more than 100 %"));
    let memory = |size: &str| fastlane(&format!("notifications = {{ memory = \"{size}\" }}"));
    let why = "in a port of 72512 B: one notification has 64 B, and a packet of 9064 B needs room beside them; nearest";
    assert_eq!(memory("63B"), format!("notifications: `memory` of 63 B {why}: \"64B\""));
    assert_eq!(memory("63449B"), format!("notifications: `memory` of 63449 B {why}: \"63448B\""));
    assert!(memory("64B").contains("in 64 B") && memory("63448B").contains("in 63448 B"));
    assert!(fastlane("packets = 1").contains("nearest: 2"), "{}", fastlane("packets = 1"));
    for profile in ["paper", "drop-tail"] {
        let described = said(&format!("profile = \"{profile}\"\nnotifications = {{}}"));
        assert!(
            described.contains("does not notify")
                && described.contains("nearest: profile = \"fastlane\""),
            "{described}"
        );
    }
    assert!(fastlane("droppable_queue = 100").contains("nearest: no droppable_queue"));
    for (wrong, word) in [
        ("ecn_threshold = 5", "does not mark"),
        ("beside = 5", "droppable_queue"),
        ("notifications = { capp = \"1%\" }", "capp"),
        ("notifications = { cap = 1 }", "cap"),
    ] {
        assert!(fastlane(wrong).contains(word), "{}", fastlane(wrong));
    }
    assert!(said("profile = \"codel\"").contains("queueing delays"));
    assert_eq!(said("profile = \"paper\""), "");
}

#[test]
fn a_switch_without_notifications_counts_no_reasons() {
    assert!(star(2, "rate = \"1Gbps\"", "", "").unnotified().is_none());
    assert_eq!(Unnotified::ALL.map(|reason| reason as usize), [0, 1, 2, 3, 4, 5, 6]);
    let names: std::collections::BTreeSet<&str> =
        Unnotified::ALL.iter().map(|reason| reason.name()).collect();
    assert_eq!(names.len(), Unnotified::ALL.len());
}
