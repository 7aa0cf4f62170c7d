//! Link failures, lost interfaces and unreachable destinations, on real interfaces.

use super::*;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use trimline_stack::clock::Clock;
use trimline_stack::host::{Connection, Host, Idle, News};
use trimline_stack::io::afpacket::AfPacket;
use trimline_stack::switch::{self, Fabric, PortEvent, PortNews, Runner};
use trimline_testbed::namespace::{Namespace, allowed};
use trimline_testbed::network::{self, Shape, TestNetwork};

pub(super) fn host(network: &TestNetwork, number: u32) -> Host<AfPacket> {
    let config = network.config(number, BitRate::from_gbps(1)).unwrap();
    network.host(number, config, &Clock::real()).unwrap()
}

/// Ends the other threads of a test, also when the test fails.
pub(super) struct Ends<'a>(pub(super) &'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Echoes messages until `over`. Returns the news of its link.
fn serve(mut host: Host<AfPacket>, over: &AtomicBool, turns: &AtomicU64) -> Vec<News> {
    host.listen(SERVICE);
    let mut news = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let until = host.now().saturating_add(TimeDelta::from_ms(20));
        host.run_until(until, |core| {
            turns.fetch_add(1, Ordering::Relaxed);
            super::serve(core) > 0
        })
        .expect("a server goes on");
        news.extend(std::iter::from_fn(|| host.news()));
    }
    news
}

fn ask(host: &mut Host<AfPacket>, message: &[u8]) -> io::Result<Vec<u8>> {
    let peer = network::address(1, 0).into();
    let connection: Connection = host.connect(peer, SERVICE, Default::default())?;
    host.core().send(connection, message)?;
    host.core().close(connection);
    host.receive(connection, TimeDelta::from_ms(5000))
}

/// Either end's link goes down for 0.3 s, during requests and while idle. No host spins meanwhile.
#[test]
fn a_flapping_link_only_costs_time() {
    let Some(network) = allowed(TestNetwork::build(Shape::BackToBack, 1500)) else { return };
    let (over, turns) = (AtomicBool::new(false), AtomicU64::new(0));
    let [mut client, server] = [0, 1].map(|number| {
        let mut config = network.config(number, BitRate::from_gbps(1)).unwrap();
        // A host that blocks at once only has turns for a reason.
        config.idle = Idle::Sleep;
        network.host(number, config, &Clock::real()).unwrap()
    });
    let set = |number: usize, state: &str| {
        let host = &network.hosts[number];
        host.namespace.ip(&[format!("link set {} {state}", host.interface)]).unwrap();
        if state == "up" {
            // The kernel lost its neighbour entries with the link.
            let other = 1 - number as u32;
            let mac = switch::quantity::ethernet_text(network::ethernet(other));
            let (address, device) = (network::address(other, 0), &host.interface);
            let line = format!("neigh replace {address} lladdr {mac} dev {device} nud permanent");
            host.namespace.ip(&[line]).unwrap();
        }
    };
    let news = thread::scope(|scope| {
        let end = Ends(&over);
        let serving = scope.spawn(|| serve(server, &over, &turns));
        assert_eq!(ask(&mut client, b"before").unwrap(), b"before");
        for number in [0, 1] {
            // While a long answer is under way.
            let flap = scope.spawn(move || {
                thread::sleep(Duration::from_millis(5));
                set(number, "down");
                thread::sleep(Duration::from_millis(300));
                set(number, "up");
            });
            let message = vec![number as u8; 3_000_000];
            assert!(ask(&mut client, &message).unwrap() == message, "host {number}");
            flap.join().unwrap();
        }
        // While no request is under way.
        for number in [0, 1] {
            set(number, "down");
            thread::sleep(Duration::from_millis(50));
            let before = turns.load(Ordering::Relaxed);
            let until = client.now().saturating_add(TimeDelta::from_ms(300));
            let mut own = 0;
            client
                .run_until(until, |_| {
                    own += 1;
                    false
                })
                .unwrap();
            let server_turns = turns.load(Ordering::Relaxed) - before;
            // Each host checks its link ten times a second, and the server stops every 20 ms.
            assert!(server_turns < 5000 && own < 5000, "{server_turns} and {own} turns");
            set(number, "up");
            thread::sleep(Duration::from_millis(150));
            assert_eq!(ask(&mut client, b"after").unwrap(), b"after");
        }
        drop(end);
        serving.join().unwrap()
    });
    let downs = news.iter().filter(|&&one| one == News::Down).count();
    let ups = news.iter().filter(|&&one| one == News::Up).count();
    assert!(downs >= 2 && ups == downs, "{news:?}");
    assert!(client.news().is_some());
}

#[test]
fn a_smaller_mtu_is_reported_and_waited_for() {
    let Some(network) = allowed(TestNetwork::build(Shape::BackToBack, 1500)) else { return };
    let (over, turns) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut client = host(&network, 0);
    let server = host(&network, 1);
    let set = |mtu: u32| {
        for host in &network.hosts {
            host.namespace.ip(&[format!("link set {} mtu {mtu}", host.interface)]).unwrap();
        }
    };
    thread::scope(|scope| {
        let end = Ends(&over);
        let serving = scope.spawn(|| serve(server, &over, &turns));
        set(1000);
        let widen = scope.spawn(|| {
            thread::sleep(Duration::from_millis(400));
            set(1500);
        });
        let message = vec![3; 50_000];
        assert!(ask(&mut client, &message).unwrap() == message);
        widen.join().unwrap();
        drop(end);
        serving.join().unwrap();
    });
    let news: Vec<News> = std::iter::from_fn(|| client.news()).collect();
    assert!(news.contains(&News::TooNarrow(1000)), "{news:?}");
    assert!(client.unsent() > 0);
}

#[test]
fn a_removed_interface_is_a_named_error() {
    let Some(network) = allowed(TestNetwork::build(Shape::BackToBack, 1500)) else { return };
    let mut client = host(&network, 0);
    let one = &network.hosts[1];
    one.namespace.ip(&[format!("link del {}", one.interface)]).unwrap();
    let until = client.now().saturating_add(TimeDelta::from_ms(3000));
    let error = client.run_until(until, |_| false).unwrap_err();
    assert!(error.to_string().contains("gone"), "{error}");
}

/// Waits for an event of a port of a switch.
fn wait_for(said: &Mutex<Vec<PortNews>>, port: usize, is_it: fn(&PortEvent) -> bool) {
    let start = Instant::now();
    while !said.lock().unwrap().iter().any(|news| news.port == port && is_it(&news.event)) {
        assert!(start.elapsed() < Duration::from_secs(10), "port {port}: {said:?}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A source that host 2's port learns when its interface is new.
const OTHER: [u8; 6] = [2, 0, 0, 0, 9, 9];

/// Asks host 1 from host 2, with this Ethernet address, and waits at most `wait_ms`.
fn ask_from(network: &TestNetwork, ethernet: [u8; 6], wait_ms: u64) -> io::Result<Vec<u8>> {
    let mut config = network.config(2, BitRate::from_gbps(1))?;
    config.ethernet = ethernet;
    let mut host = network.host(2, config, &Clock::real())?;
    let peer = network::address(1, 0).into();
    let connection = host.connect(peer, SERVICE, Default::default())?;
    host.core().send(connection, b"new")?;
    host.core().close(connection);
    host.receive(connection, TimeDelta::from_ms(wait_ms))
}

/// A port's link flaps, and interfaces are deleted, remade, and moved away and back. Each port works when its interface
/// is back.
#[test]
fn a_switch_loses_only_the_failed_port_until_it_is_restored() {
    let Some(network) = allowed(TestNetwork::build(Shape::Star(3), 1500)) else { return };
    let middle = network.middle.as_ref().unwrap();
    let settings = "rate = \"1Gbps\"\nport_security = {}";
    let config = switch::Config::parse(&network.shape().switches(settings)).unwrap();
    let fabric = Fabric::new(&config).unwrap();
    let mut runner =
        Runner::new(fabric, network.ports().unwrap(), Clock::real(), Idle::Block).unwrap();
    let (over, turns) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut client = host(&network, 0);
    let server = host(&network, 1);
    let said = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let switching = scope.spawn(|| {
            // Interfaces are looked up in the switch's namespace.
            middle.enter()?;
            runner.run(|_, news| {
                said.lock().unwrap().extend_from_slice(news);
                over.load(Ordering::Relaxed)
            })
        });
        let end = Ends(&over);
        let serving = scope.spawn(|| serve(server, &over, &turns));
        let is_lost: fn(&PortEvent) -> bool = |event| matches!(event, PortEvent::Lost(_));
        assert_eq!(ask(&mut client, b"before").unwrap(), b"before");
        middle.ip(&["link set p1 down".into()]).unwrap();
        wait_for(&said, 1, |event| *event == PortEvent::Down);
        middle.ip(&["link set p1 up".into()]).unwrap();
        assert_eq!(ask(&mut client, b"after").unwrap(), b"after");
        assert_eq!(ask_from(&network, network::ethernet(2), 5000).unwrap(), b"new");
        assert!(ask_from(&network, OTHER, 500).is_err(), "a second source was accepted");
        middle.ip(&["link del p2".into()]).unwrap();
        wait_for(&said, 2, is_lost);
        assert_eq!(ask(&mut client, b"without").unwrap(), b"without");
        // Between two checks: the switch's end keeps its number, and the kernel has unbound the socket.
        let away = Namespace::new().unwrap();
        middle.ip(&[format!("link set p1 netns {}", away.path())]).unwrap();
        let back = format!("link set p1 netns {}", middle.path());
        away.ip(&[back]).unwrap();
        middle.ip(&["link set p1 up".into()]).unwrap();
        wait_for(&said, 1, |event| *event == PortEvent::Back);
        assert_eq!(ask(&mut client, b"back").unwrap(), b"back");
        // Both ends are new.
        let mac = switch::quantity::ethernet_text(network::ethernet(2));
        let path = network.hosts[2].namespace.path();
        middle
            .ip(&[
                format!("link add p2 mtu 1500 type veth peer name h2 address {mac} netns {path}"),
                "link set p2 up".into(),
            ])
            .unwrap();
        let device = &network.hosts[2].namespace;
        device.ip(&["link set h2 up".into(), "addr add 10.0.0.3/8 dev h2".into()]).unwrap();
        wait_for(&said, 2, |event| *event == PortEvent::Back);
        let entry = |of: u32| {
            let mac = switch::quantity::ethernet_text(network::ethernet(of));
            format!("neigh replace {} lladdr {mac} dev h2 nud permanent", network::address(of, 0))
        };
        device.ip(&[entry(0), entry(1)]).unwrap();
        // Another host may be there now, and its source is learned anew.
        assert_eq!(ask_from(&network, OTHER, 5000).unwrap(), b"new");
        drop(end);
        serving.join().unwrap();
        switching.join().unwrap().expect("a switch goes on");
    });
    let said = said.into_inner().unwrap();
    assert!(said.contains(&PortNews { port: 1, event: PortEvent::Up }), "{said:?}");
}

/// UDP: broadcast, unroutable or absurd destinations cost only their own packets.
#[test]
fn an_unreachable_destination_costs_only_its_own_packets() {
    let Some(place) = allowed(Namespace::new()) else { return };
    let act = || {
        let open = |last: u8, change: fn(&mut Config)| {
            Host::open_udp([127, 0, 0, last].into(), 1500, 2, BitRate::from_gbps(1), change)
        };
        let mut client = open(2, |_| {})?;
        let mut server = open(3, |_| {})?;
        server.listen(SERVICE);
        let absurd: [IpAddr; 5] = [
            [255, 255, 255, 255].into(),
            [203, 0, 113, 1].into(),
            [127, 255, 255, 255].into(),
            [224, 0, 0, 1].into(),
            [0, 0, 0, 0].into(),
        ];
        let mut connections = Vec::new();
        for peer in absurd.into_iter().chain([[127, 0, 0, 3].into()]) {
            client.resolve(peer);
            let connection = client.connect(peer, SERVICE, Default::default()).unwrap();
            // Several datagrams of one length cross the kernel together.
            client.core().send(connection, &[9; 20_000]).unwrap();
            client.core().close(connection);
            connections.push(connection);
        }
        let honest = connections[connections.len() - 1];
        let start = Instant::now();
        loop {
            client.turn()?;
            server.turn()?;
            super::serve(server.core());
            match client.core().receive(honest) {
                Ok(Some(answer)) => break assert!(answer == [9; 20_000]),
                Ok(None) => assert!(start.elapsed() < Duration::from_secs(10), "no answer"),
                Err(failure) => panic!("{failure}"),
            }
        }
        assert!(client.unsent() > 0, "some could not be sent");
        assert!(client.caps().joins_datagrams, "one destination is no reason to send singly");
        Ok(())
    };
    place.inside(act).unwrap();
}
