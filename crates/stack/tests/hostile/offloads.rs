//! Kernels that leave checksums and segmentation to their interfaces, at a switch.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::links::Ends;
use trimline_stack::clock::Clock;
use trimline_stack::host::Idle;
use trimline_stack::switch::{self, Fabric, PortEvent, Runner};
use trimline_testbed::namespace::allowed;
use trimline_testbed::network::{self, Shape, TestNetwork};

/// Bytes of a transfer.
const BYTES: usize = 64 << 20;

/// Sends bytes by the kernel's TCP from host 0 to host 1 and checks them. Returns bit/s.
fn transfer(network: &TestNetwork) -> f64 {
    let [sender, receiver] = [0, 1].map(|host| &network.hosts[host].namespace);
    let to = (network::address(1, 0), 5001);
    let listener = receiver.inside(|| TcpListener::bind(to)).unwrap();
    let mut sending = sender.inside(|| TcpStream::connect(to)).unwrap();
    let (receiving, _) = listener.accept().unwrap();
    // A wait in vain ends the test.
    receiving.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    sending.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
    let start = Instant::now();
    // The bytes encode their place, to detect segments out of order.
    let bytes: Vec<u8> = (0..1u32 << 18).flat_map(u32::to_le_bytes).collect();
    let bytes = &bytes[..];
    thread::scope(|scope| {
        scope.spawn(move || (0..BYTES / bytes.len()).try_for_each(|_| sending.write_all(bytes)));
        let (mut receiving, mut chunk, mut place) = (receiving, vec![0; 1 << 16], 0);
        loop {
            let count = receiving.read(&mut chunk).unwrap();
            if count == 0 {
                break;
            }
            let mut got = &chunk[..count];
            while !got.is_empty() {
                let expected = &bytes[place % bytes.len()..];
                let (now, rest) = got.split_at(got.len().min(expected.len()));
                assert!(now == &expected[..now.len()], "bytes behind {place} are others");
                (got, place) = (rest, place + now.len());
            }
        }
        assert_eq!(place, BYTES);
    });
    BYTES as f64 * 8.0 / start.elapsed().as_secs_f64()
}

/// TCP is nearly as fast with offloads, and the switch reports them. Both rates:
/// `cargo test -p trimline-stack --test hostile offloads -- --nocapture`.
#[test]
fn a_kernel_with_offloads_is_as_fast_through_a_switch() {
    let Some(network) = allowed(TestNetwork::build(Shape::Star(2), 1500)) else { return };
    let settings = "rate = \"10Gbps\"\ndroppable_queue = 1000";
    let config = switch::Config::parse(&network.shape().switches(settings)).unwrap();
    let fabric = Fabric::new(&config).unwrap();
    let ports = network.ports().unwrap();
    let mut runner = Runner::new(fabric, ports, Clock::real(), Idle::Block).unwrap();
    let (over, said) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let mut pairs: Vec<[f64; 2]> = Vec::new();
    let ratio = |pair: &[f64; 2]| pair[1] / pair[0];
    thread::scope(|scope| {
        let switching = scope.spawn(|| {
            runner.run(|_, news| {
                said.lock().unwrap().extend_from_slice(news);
                over.load(Ordering::Relaxed)
            })
        });
        let end = Ends(&over);
        // Adjacent runs are compared, since other processes share the processors; a disturbed machine makes more pairs.
        while pairs.len() < 3 || (ratio(&pairs[pairs.len() / 2]) < 0.8 && pairs.len() < 9) {
            let pair = [false, true].map(|are_on| {
                network.set_offloads(are_on).unwrap();
                let rate = transfer(&network);
                let is_said = said.lock().unwrap().iter().any(|n| n.event == PortEvent::Offload);
                assert!(are_on || !pairs.is_empty() || !is_said, "frames were plain: {said:?}");
                rate
            });
            pairs.push(pair);
            pairs.sort_by(|one, other| ratio(one).total_cmp(&ratio(other)));
        }
        drop(end);
        switching.join().unwrap().unwrap();
    });
    let [off, on] = pairs[pairs.len() / 2].map(|rate| rate / 1e9);
    println!(
        "TCP: {off:.3} Gb/s without offloads, {on:.3} Gb/s with them (all, in bit/s: {pairs:.0?})"
    );
    assert!(on >= 0.8 * off, "{pairs:?}, {:?}", runner.losses());
    assert_eq!(runner.losses().unreadable, 0);
    let said = said.into_inner().unwrap();
    for port in 0..2 {
        let of_port = said.iter().filter(|n| n.port == port && n.event == PortEvent::Offload);
        assert_eq!(of_port.count(), 1, "port {port}: {said:?}");
    }
    let words = PortEvent::Offload.to_string();
    assert!(words.contains("ethtool -K INTERFACE tso off"), "{words}");
}
