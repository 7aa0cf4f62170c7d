//! Ownership of interfaces and addresses, and the next hops of frames.

use super::*;
use std::io;
use std::net::Ipv6Addr;
use std::time::{Duration, Instant};

use trimline_stack::clock::Clock;
use trimline_stack::host::Host;
use trimline_stack::io::afpacket::AfPacket;
use trimline_stack::io::udp::Udp;
use trimline_stack::io::{NextHop, PacketIo, mem};
use trimline_stack::switch;
use trimline_testbed::namespace::{Namespace, allowed};
use trimline_testbed::network::{self, Shape, TestNetwork};

fn rate() -> BitRate {
    BitRate::from_gbps(1)
}

#[test]
fn an_address_belongs_to_one_process_and_to_its_interface() {
    let Some(network) = allowed(TestNetwork::build(Shape::BackToBack, 1500)) else { return };
    let one = &network.hosts[0];
    let open = |address: IpAddr| Host::open(&one.interface, address, rate(), |_| {});
    let act = || {
        let own: IpAddr = network::address(0, 0).into();
        let first = open(own)?;
        let second = open(own).expect_err("it is taken");
        assert_eq!(second.kind(), io::ErrorKind::AddrInUse, "{second}");
        let udp = Host::open_udp(own, 1500, 1, rate(), |_| {}).expect_err("also over UDP");
        assert_eq!(udp.kind(), io::ErrorKind::AddrInUse, "{udp}");
        let other = open([10, 0, 0, 77].into()).expect_err("it is nobody's");
        assert_eq!(other.kind(), io::ErrorKind::AddrNotAvailable, "{other}");
        assert!(other.to_string().contains("10.0.0.77"), "{other}");
        drop(first);
        open(own).map(drop)
    };
    one.namespace.inside(act).unwrap();
}

#[test]
fn two_hosts_on_one_interface_do_not_interfere() {
    let Some(network) = allowed(TestNetwork::build(Shape::BackToBack, 1500)) else { return };
    let one = &network.hosts[1];
    one.namespace.ip(&[format!("addr add 10.0.0.50/8 dev {}", one.interface)]).unwrap();
    let open = |address: IpAddr| {
        let act = || Host::open(&one.interface, address, rate(), |_| {});
        one.namespace.inside(act).unwrap()
    };
    let mut servers = [open(network::address(1, 0).into()), open([10, 0, 0, 50].into())];
    servers.iter_mut().for_each(|server| server.listen(SERVICE));
    let act = || Host::open("h0", network::address(0, 0).into(), rate(), |_| {});
    let mut client = network.hosts[0].namespace.inside(act).unwrap();
    for number in 0..20 {
        let peer: IpAddr = [network::address(1, 0), [10, 0, 0, 50].into()][number % 2].into();
        network.hosts[0].namespace.inside(|| client.resolve(peer)).unwrap();
        let connection = client.connect(peer, SERVICE, Default::default()).unwrap();
        client.core().send(connection, b"one of twenty").unwrap();
        client.core().close(connection);
        let start = Instant::now();
        loop {
            client.turn().unwrap();
            servers.iter_mut().for_each(|server| {
                server.turn().unwrap();
                super::serve(server.core());
            });
            match client.core().receive(connection).expect("nobody refuses it") {
                Some(answer) => break assert_eq!(answer, b"one of twenty"),
                None => assert!(start.elapsed() < Duration::from_secs(5), "request {number}"),
            }
        }
    }
}

/// Exchanges a message between a host on UDP sockets and a host on an interface without neighbour entries, whose kernel
/// must ask for the next hop. Returns both.
fn sockets_to_interface(network: &TestNetwork) -> (Host<Udp>, Host<AfPacket>) {
    for host in &network.hosts {
        host.namespace.ip(&[format!("neigh flush nud permanent dev {}", host.interface)]).unwrap();
    }
    let act = || Host::open("h1", network::address(1, 0).into(), rate(), |_| {});
    let mut server = network.hosts[1].namespace.inside(act).unwrap();
    server.listen(SERVICE);
    // Several datagrams at a time: the rate is no limit.
    let fast = BitRate::from_gbps(100);
    let act = || Host::open_udp(network::address(0, 0).into(), 1500, 1, fast, |_| {});
    let mut client = network.hosts[0].namespace.inside(act).unwrap();
    let peer = network::address(1, 0).into();
    client.resolve(peer);
    let connection = client.connect(peer, SERVICE, Default::default()).unwrap();
    let message: Vec<u8> = (0..300_000u32).map(|n| (n % 251) as u8).collect();
    client.core().send(connection, &message).unwrap();
    client.core().close(connection);
    let start = Instant::now();
    loop {
        client.turn().unwrap();
        server.turn().unwrap();
        super::serve(server.core());
        if let Some(answer) = client.core().receive(connection).unwrap() {
            assert!(answer == message);
            return (client, server);
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", server.statistics());
    }
}

/// On the cable sums and lengths are right, as on copper.
#[test]
fn hosts_on_sockets_and_on_interfaces_interoperate() {
    let Some(network) = allowed(TestNetwork::build(Shape::BackToBack, 1500)) else { return };
    network.set_offloads(false).unwrap();
    let (_, server) = sockets_to_interface(&network);
    assert_eq!(server.statistics().refused_in_all(), 0, "{:?}", server.statistics());
    assert_eq!(server.unreadable(), 0);
}

/// The kernel leaves checksums and segmentation to a virtual device.
#[test]
fn a_receiver_completes_the_offloads_of_a_kernel() {
    let Some(network) = allowed(TestNetwork::build(Shape::BackToBack, 1500)) else { return };
    let (client, server) = sockets_to_interface(&network);
    assert!(client.caps().joins_datagrams, "this kernel joins what is sent");
    assert_eq!(server.statistics().refused_in_all(), 0, "{:?}", server.statistics());
    assert_eq!(server.unreadable(), 0, "{:?}", server.statistics());
}

/// A host has two cables with equal link-local addresses: a client on the first asks the server there.
#[test]
fn a_link_local_address_is_resolved_on_its_link() {
    let Some(network) = allowed(TestNetwork::build(Shape::BackToBack, 1500)) else { return };
    let [near, far] = [&network.hosts[0].namespace, &network.hosts[1].namespace];
    let other = Namespace::new().unwrap();
    // Without an interface the kernel takes the other cable's route, which has the lower metric.
    let cable = format!("link add a0 type veth peer name h1 netns {}", other.path());
    near.ip(&[cable]).unwrap();
    let [own, peer] = [1, 2].map(|last| Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, last));
    let ends = [(near, "h0", own), (near, "a0", own), (far, "h1", peer), (&other, "h1", peer)];
    for (namespace, interface, address) in ends {
        namespace.set(&format!("ipv6/conf/{interface}/disable_ipv6"), "0").unwrap();
        let line = format!("addr add {address}/64 dev {interface} nodad");
        namespace.ip(&[format!("link set {interface} up"), line]).unwrap();
    }
    near.ip(&["route add fe80::/64 dev a0 metric 1".to_owned()]).unwrap();
    let open = |namespace: &Namespace, interface: &str, address: Ipv6Addr| {
        namespace.inside(|| Host::open(interface, address.into(), rate(), |_| {})).unwrap()
    };
    let mut servers = [open(far, "h1", peer), open(&other, "h1", peer)];
    servers.iter_mut().for_each(|server| server.listen(SERVICE));
    for (number, interface) in ["h0", "a0"].into_iter().enumerate() {
        let mut client = open(near, interface, own);
        near.inside(|| client.resolve(peer.into())).unwrap();
        let connection = client.connect(peer.into(), SERVICE, Default::default()).unwrap();
        client.core().send(connection, interface.as_bytes()).unwrap();
        client.core().close(connection);
        let start = Instant::now();
        loop {
            client.turn().unwrap();
            for (place, server) in servers.iter_mut().enumerate() {
                server.turn().unwrap();
                super::serve(server.core());
                assert!(place == number || server.core().connections() == 0, "the other one");
            }
            match client.core().receive(connection).expect("nobody refuses it") {
                Some(answer) => break assert_eq!(answer, interface.as_bytes()),
                None => assert!(start.elapsed() < Duration::from_secs(20), "{interface}"),
            }
        }
    }
    let sockets = near.inside(|| Host::open_udp(own.into(), 1500, 1, rate(), |_| {}));
    assert!(sockets.unwrap_err().to_string().contains("needs an interface"));
}

/// A forged Ethernet source does not divert the answers.
#[test]
fn answers_take_the_route_of_the_kernel() {
    let Some(network) = allowed(TestNetwork::build(Shape::BackToBack, 1500)) else { return };
    let change = |config: &mut Config| config.validates_addresses = false;
    let act = || Host::open("h1", network::address(1, 0).into(), rate(), change);
    let mut server = network.hosts[1].namespace.inside(act).unwrap();
    server.listen(SERVICE);
    let mut socket = network.socket(0).unwrap();
    // 10.0.0.1 is the client's address, and the server's is 10.0.0.2, unlike in the helpers.
    let forged = Forged::syn(network::address(0, 0).into(), 9);
    let mut frame = forged.frame_to(network::address(1, 0).into(), b"x", &[]);
    frame[..6].copy_from_slice(&network::ethernet(1));
    frame[6..12].copy_from_slice(&[2, 9, 9, 9, 9, 9]);
    socket.tx_burst(&[&[&frame]]).unwrap();
    let (start, mut answers) = (Instant::now(), Vec::new());
    while answers.is_empty() && start.elapsed() < Duration::from_secs(5) {
        server.turn().unwrap();
        socket.rx_burst(8, &mut |frame| answers.push(frame[..6].to_vec())).unwrap();
    }
    assert!(!answers.is_empty() && answers.iter().all(|to| to[..] == network::ethernet(0)));
}

/// In memory only the frame tells the next hop.
#[test]
fn without_a_kernel_answers_go_to_the_source_of_the_frame() {
    let (a, mut b) = mem::pair(1500).unwrap();
    let mut server = Host::new(a, config(1), Clock::real());
    server.listen(SERVICE);
    b.tx_burst(&[&[&request(address(9), 1, b"x")]]).unwrap();
    server.turn().unwrap();
    assert_eq!(b.rx_burst(8, &mut |_| {}).unwrap(), 1);
}

/// The kernel looks for each stranger's address, which does not exist.
#[test]
fn unresolved_strangers_delay_no_other_peer() {
    let Some(network) = allowed(TestNetwork::build(Shape::BackToBack, 1500)) else { return };
    let change = |config: &mut Config| config.validates_addresses = false;
    let act = || Host::open("h1", network::address(1, 0).into(), rate(), change);
    let mut server = network.hosts[1].namespace.inside(act).unwrap();
    server.listen(SERVICE);
    let mut socket = network.socket(0).unwrap();
    let start = Instant::now();
    let mut send = |source: Ipv4Addr, number: u32| {
        let forged = Forged::syn(source.into(), number);
        let mut frame = forged.frame_to(network::address(1, 0).into(), b"x", &[]);
        frame[..6].copy_from_slice(&network::ethernet(1));
        frame[6..12].copy_from_slice(&network::ethernet(0));
        socket.tx_burst(&[&[&frame]]).unwrap();
        server.turn().unwrap();
        super::serve(server.core());
        let mut answers = 0;
        socket.rx_burst(64, &mut |_| answers += 1).unwrap();
        answers
    };
    for number in 0..3000 {
        send(Ipv4Addr::from(0x0a10_0000 + number), number);
        assert!(start.elapsed() < Duration::from_secs(20), "it waited for strangers");
    }
    // The other end of the cable is known.
    for number in 0.. {
        if send(network::address(0, 0), 5000 + number) > 0 {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "it waited for strangers");
    }
}

/// A peer silently gets another Ethernet address. The kernel must be made to ask; the host uses the new address.
#[test]
fn a_peer_with_a_new_ethernet_address_is_resolved_again() {
    let Some(network) = allowed(TestNetwork::build(Shape::BackToBack, 1500)) else { return };
    let near = &network.hosts[0];
    let (peer, device) = (network::address(1, 0), &near.interface);
    // Neighbour discovery gives up soon, so that the test is short.
    for parameter in ["delay_first_probe_time", "ucast_solicit"] {
        near.namespace.set(&format!("ipv4/neigh/{device}/{parameter}"), "1").unwrap();
    }
    let stale = switch::quantity::ethernet_text([2, 9, 9, 9, 9, 9]);
    let line = format!("neigh replace {peer} lladdr {stale} dev {device} nud stale");
    near.namespace.ip(&[line]).unwrap();
    let act = || AfPacket::open_host(device, &Profile::PAPER, &[network::address(0, 0).into()]);
    let mut socket = near.namespace.inside(act).unwrap();
    let start = Instant::now();
    let mut found = socket.next_hop(peer.into());
    assert_eq!(found, NextHop::Known([2, 9, 9, 9, 9, 9]), "what is known, for now");
    while found != NextHop::Known(network::ethernet(1)) {
        assert!(start.elapsed() < Duration::from_secs(30), "{found:?}");
        std::thread::sleep(Duration::from_millis(50));
        found = socket.next_hop(peer.into());
    }
}

/// A switch forwards frames for the hosts behind it; a host only takes its own.
#[test]
fn the_interfaces_of_a_switch_are_promiscuous_and_those_of_hosts_are_not() {
    let Some(network) = allowed(TestNetwork::build(Shape::BackToBack, 1500)) else { return };
    let host = &network.hosts[0];
    let promiscuity = || {
        let show = || {
            std::process::Command::new("ip").args(["-d", "link", "show", &host.interface]).output()
        };
        let output = host.namespace.inside(show).unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut words = text.split_whitespace().skip_while(|&word| word != "promiscuity");
        words.nth(1).expect("ip says it").to_owned()
    };
    assert_eq!(promiscuity(), "0");
    let socket = network.socket(0).unwrap();
    assert_eq!(promiscuity(), "0", "a host");
    drop(socket);
    let port = host.namespace.inside(|| AfPacket::open(&host.interface)).unwrap();
    assert_eq!(promiscuity(), "1", "a port of a switch");
    drop(port);
    assert_eq!(promiscuity(), "0");
}

/// The ring holds 512 unread frames.
#[test]
fn frames_lost_at_a_full_ring_are_counted() {
    let Some(network) = allowed(TestNetwork::build(Shape::BackToBack, 1500)) else { return };
    let [mut near, mut far] = [0, 1].map(|number| network.socket(number).unwrap());
    let forged = Forged::syn(network::address(0, 0).into(), 9);
    let mut frame = forged.frame_to(network::address(1, 0).into(), b"x", &[]);
    frame[..6].copy_from_slice(&network::ethernet(1));
    frame[6..12].copy_from_slice(&network::ethernet(0));
    let (start, mut sent) = (Instant::now(), 0);
    while far.overrun() == 0 {
        sent += near.tx_burst(&[&[&frame]]).unwrap();
        far.link().unwrap();
        assert!(start.elapsed() < Duration::from_secs(20), "{sent} frames were sent");
    }
    assert!(sent > 500, "{sent} frames");
}
