//! Real frames between network namespaces. A test prints SKIPPED and why where the machine forbids them.

mod captured;
mod coexist;
mod crash;
mod fastlane;
mod hull;

use std::net::UdpSocket;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use trimline_packet::wire::Profile;
use trimline_packet::{BitRate, TimeDelta};
use trimline_stack::clock::Clock;
use trimline_stack::host::{Idle, Options};
use trimline_stack::io::{PacketIo, Routed, neighbours};
use trimline_testbed::group::Group;
use trimline_testbed::namespace::allowed;
use trimline_testbed::network::{Shape, TestNetwork, address, ethernet};
use trimline_testbed::{bulk, contact, incast, rpc};

#[test]
fn messages_cross_a_cable_with_the_neighbours_of_the_kernel() {
    let Some(network) = allowed(TestNetwork::build(Shape::BackToBack, 9100)) else { return };
    // Without the testbed's neighbour entries the kernel has to ask.
    let host = &network.hosts[0];
    let flush = format!("neigh flush nud permanent dev {}", host.interface);
    host.namespace.ip(&[flush]).unwrap();
    let socket = network.socket(0).unwrap();
    let interface = socket.index();
    let found = host.namespace.inside(|| neighbours::next_hop(interface, address(1, 0).into()));
    assert_eq!(found.unwrap(), ethernet(1));
    let nobody = host.namespace.inside(|| neighbours::next_hop(interface, [10, 0, 7, 7].into()));
    assert_eq!(nobody.unwrap_err().kind(), io::ErrorKind::HostUnreachable);
    drop(socket);

    let clock = Clock::real();
    let rate = BitRate::from_gbps(1);
    let hosts = (0..2).map(|number| {
        let mut host = network.host(number, network.config(number, rate).unwrap(), &clock).unwrap();
        host.listen(7);
        host
    });
    let mut group = Group::new(hosts.collect(), &clock, Idle::Block);
    let messages: Vec<Vec<u8>> =
        (1..200usize).map(|n| (0..n * 97).map(|i| (i ^ n) as u8).collect()).collect();
    let client = group.hosts[0].connect(address(1, 0).into(), 7, Options::default()).unwrap();
    let (mut sent, mut server, mut got) = (0, None, Vec::new());
    let deadline = group.now().saturating_add(TimeDelta::from_ms(30_000));
    let done = group.run_until(deadline, |hosts| {
        // More than the send buffer takes at once.
        let core = hosts[0].core();
        while sent < messages.len() && core.send(client, &messages[sent]).is_ok() {
            sent += 1;
        }
        if sent == messages.len() {
            core.close(client);
        }
        let core = hosts[1].core();
        server = server.or_else(|| core.accept());
        if let Some(server) = server {
            while let Ok(Some(message)) = core.receive(server) {
                got.push(message);
            }
        }
        got.len() == messages.len()
    });
    assert!(done.unwrap(), "{} of {} messages", got.len(), messages.len());
    assert!(got == messages);
}

/// NDP 3.2.3: a host hears of a changed route at once, and asks what it says.
#[test]
fn changed_routes_are_heard() {
    let Some(network) = allowed(TestNetwork::build(Shape::BackToBack, 1500)) else { return };
    let mut socket = network.socket(0).unwrap();
    let peer = address(1, 0).into();
    assert_eq!((socket.routes_changed(), socket.routed(peer)), (false, Routed::Yes));
    let line = |verb: &str, kind: &str| vec![format!("route {verb} {kind} {}/32", address(1, 0))];
    for kind in ["unreachable", "prohibit", "blackhole"] {
        network.hosts[0].namespace.ip(&line("add", kind)).unwrap();
        assert_eq!((socket.routes_changed(), socket.routed(peer)), (true, Routed::No), "{kind}");
        assert!(!socket.routes_changed());
        network.hosts[0].namespace.ip(&line("del", kind)).unwrap();
        assert_eq!((socket.routes_changed(), socket.routed(peer)), (true, Routed::Yes), "{kind}");
    }
    let nowhere = [192, 0, 2, 1].into();
    assert_eq!(socket.routed(nowhere), Routed::No, "no route");
    assert_eq!(socket.routed([127, 0, 0, 1].into()), Routed::No, "by another interface");
}

#[test]
fn the_kernel_does_not_see_packets_of_the_port() {
    let Some(network) = allowed(TestNetwork::build(Shape::BackToBack, 1500)) else { return };
    let port = Profile::PAPER.port;
    // IP packets that a host's kernel took from its interfaces.
    let seen = || {
        let read = || fs::read_to_string("/proc/thread-self/net/snmp");
        let text = network.hosts[1].namespace.inside(read).unwrap();
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("Ip: "));
        let names = lines.next().unwrap().split(' ');
        let mut known = names.zip(lines.next().unwrap().split(' '));
        let (_, count) = known.find(|&(name, _)| name == "InReceives").unwrap();
        count.parse::<u64>().unwrap()
    };
    let send = |port: u16| {
        let act = || {
            let socket = UdpSocket::bind("0.0.0.0:0")?;
            (0..10).try_for_each(|_| socket.send_to(b"a word", (address(1, 0), port)).map(drop))
        };
        network.hosts[0].namespace.inside(act).unwrap();
    };
    // Packets cross the cable when the kernel finds time.
    let wait = |what: &str, is_over: &mut dyn FnMut() -> bool| {
        let start = Instant::now();
        while !is_over() {
            assert!(start.elapsed() < Duration::from_secs(30), "{what}");
            thread::sleep(Duration::from_millis(1));
        }
    };
    // Returns the packets that the kernel takes during `act`, which should send it ten.
    let taken = |act: &mut dyn FnMut()| {
        let before = seen();
        act();
        wait("ten packets to the kernel", &mut || seen() >= before + 10);
        seen() - before
    };
    assert_eq!(taken(&mut || send(port)), 10);
    let mut socket = network.socket(1).unwrap();
    if !socket.hides_from_kernel() {
        println!("SKIPPED: a program at the interface needs Linux 6.6 and CAP_BPF");
        return;
    }
    let mut frames = 0;
    let took = taken(&mut || {
        send(port);
        // On a machine with two processors packets to the other port might overtake them.
        wait("ten packets to the host", &mut || {
            socket.rx_burst(100, &mut |_| frames += 1).unwrap();
            frames >= 10
        });
        send(9);
    });
    assert_eq!(took, 10, "only those to the other port");
    socket.rx_burst(100, &mut |_| frames += 1).unwrap();
    assert_eq!(frames, 10, "and to this port ten");
    drop(socket);
    assert_eq!(taken(&mut || send(port)), 10, "and the kernel's again");
}

#[test]
fn an_incast_is_trimmed_and_arrives_whole() {
    let rate = BitRate::from_bps(500_000_000);
    // Larger than the queues between: seven first windows are trimmed.
    let lists = [incast::equal_answers(200_000)];
    let Some((completions, count)) =
        allowed(incast::ndp(rate, &lists, 1, incast::Options::default()))
    else {
        return;
    };
    assert_eq!(completions[0][0].len(), 7);
    assert!(count.trimmed > 0, "{count:?}");
    assert_eq!(count.dropped, 0, "{count:?}");
}

#[test]
fn every_rpc_carrier_answers_requests() {
    for carrier in rpc::Carrier::ALL {
        for polls in [true, false] {
            let Some(taken) = allowed(rpc::measure(carrier, polls, 200)) else { return };
            assert_eq!(taken.len(), 200, "{}", carrier.name());
        }
    }
}

/// A server that validates addresses needs one more round trip for the first request only.
#[test]
fn the_first_contact_is_timed_separately() {
    for validates in [true, false] {
        let Some(taken) = allowed(contact::measure(validates, true, 3)) else { return };
        assert_eq!((taken.first.len(), taken.next.len()), (3, 3), "{validates}");
    }
}

#[test]
fn a_flow_is_paced_by_its_receiver() {
    let flow = bulk::Flow {
        payload: 1500,
        initial_window: 30,
        rate: BitRate::from_bps(100_000_000),
        time: Duration::from_millis(300),
    };
    let Some(done) = allowed(bulk::ndp(flow)) else { return };
    assert!(done.bytes > 0 && !done.gaps_ns.is_empty());
    // At most its pace, whatever the machine does: 1500 of 1564 bytes, and what was due before.
    assert!(done.gbps() < 0.11, "{} Gb/s", done.gbps());
}

#[test]
fn a_testbed_is_invisible_outside_its_namespace() {
    let interfaces = || {
        let list = std::fs::read_to_string("/proc/net/dev").unwrap();
        let name = |line: &str| Some(line.split_once(':')?.0.trim().to_owned());
        list.lines().filter_map(name).collect::<Vec<_>>()
    };
    let before = interfaces();
    let Some(network) = allowed(TestNetwork::build(Shape::Star(3), 1500)) else { return };
    assert_eq!(interfaces(), before);
    // The namespace lives as long as the process holds it: after a crash the kernel removes it.
    let path = network.hosts[0].namespace.path();
    assert!(std::fs::metadata(&path).is_ok());
    drop(network);
    assert!(std::fs::metadata(&path).is_err());
    assert_eq!(interfaces(), before);
}

#[test]
fn a_capture_has_whole_and_trimmed_packets() {
    let rate = BitRate::from_bps(500_000_000);
    let name = format!("trimline-capture-{}.pcap", std::process::id());
    let path = std::env::temp_dir().join(name);
    let capture = Some(path.as_path());
    let options = incast::Options { packets: 1, initial_window: 40, capture, ..Default::default() };
    let lists = [incast::equal_answers(60_000)];
    let Some((_, count)) = allowed(incast::ndp(rate, &lists, 1, options)) else { return };
    assert!(count.trimmed > 0, "{count:?}");
    let bytes = std::fs::read(&path).unwrap();
    let (mut at, mut seen) = (24, [0; 64]);
    while at < bytes.len() {
        let length = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        let frame = &bytes[at + 16..at + 16 + length];
        seen[usize::from(frame[15] >> 2)] += 1;
        at += 16 + length;
    }
    assert_eq!(at, bytes.len(), "the file ends with a whole frame");
    let profile = trimline_packet::wire::Profile::PAPER;
    for dscp in [profile.trimmable, profile.trimmed, profile.control] {
        assert!(seen[usize::from(dscp)] > 0, "DSCP {dscp}: {seen:?}");
    }
    std::fs::remove_file(&path).unwrap();
}
