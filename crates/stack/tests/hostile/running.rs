//! Switches that change, refuse sources and stop while frames are under way, on a virtual clock.

use super::*;
use trimline_stack::clock::Clock;
use trimline_stack::host::Idle;
use trimline_stack::io::PacketIo;
use trimline_stack::io::mem::{self, Mem};
use trimline_stack::switch::{self, Fabric, PortEvent, Runner};

/// A configuration of one switch with two hosts.
fn config(head: &str, of_host: &str) -> switch::Config {
    let mut text = format!("{head}\n[[switch]]\nname = \"s\"\n");
    for n in 1..3 {
        text += &format!(
            "[[host]]\nswitch = \"s\"\ninterface = \"p{n}\"\n{of_host}\n\
             addresses = [{{ address = \"{}\" }}]\n",
            address(n)
        );
    }
    switch::Config::parse(&text).unwrap()
}

/// Returns a switch, the far ends of its cables, and its clock.
fn switch_of(config: &switch::Config) -> (Runner<Mem>, [Mem; 2], Clock) {
    let clock = Clock::new_virtual();
    let [(a, near), (b, far)] = [1500; 2].map(|mtu| mem::pair(mtu).unwrap());
    let fabric = Fabric::new(config).unwrap();
    (Runner::new(fabric, vec![a, b], clock.clone(), Idle::Poll).unwrap(), [near, far], clock)
}

fn arrived(io: &mut Mem) -> usize {
    io.rx_burst(1000, &mut |_| {}).unwrap()
}

/// Sends `count` frames of over 1000 bytes from host 2 to host 1, with this source.
fn send(far: &mut Mem, source: u8, count: usize) {
    for _ in 0..count {
        let frame = Forged::syn(address(source), 1).frame(&[7; 1000], &[]);
        far.tx_burst(&[&[&frame]]).unwrap();
    }
}

/// Refused frames are counted; the switch reports the source once.
#[test]
fn a_port_with_port_security_refuses_forged_sources() {
    for (security, expected) in [("", 4), ("port_security = {}", 1)] {
        let (mut runner, [mut near, mut far], clock) =
            switch_of(&config("rate = \"1Gbps\"", security));
        let mut news = Vec::new();
        for (step, source) in (1..).zip([9, 2, 9, 9]) {
            send(&mut far, source, 1);
            for part in 0..2 {
                clock.advance_to(ms(step * 1000 + part));
                runner.turn().unwrap();
            }
            news.extend(runner.inspect());
        }
        assert_eq!(arrived(&mut near), expected, "{security}");
        assert_eq!(runner.losses().refused_source, 4 - expected as u64, "{security}");
        let sources = news.iter().filter_map(|one| match &one.event {
            PortEvent::Intruder(source) => Some((one.port, source.as_str())),
            _ => None,
        });
        let said: Vec<_> = sources.collect();
        assert_eq!(said, if expected == 4 { vec![] } else { vec![(1, "10.0.0.9")] });
    }
}

/// A rate and an address change while frames wait. A refused change leaves everything as it was.
#[test]
fn a_configuration_changes_without_loss_or_is_refused() {
    let slow = config("rate = \"1Mbps\"", "");
    let (mut runner, [mut near, mut far], clock) = switch_of(&slow);
    clock.advance_to(ms(1));
    send(&mut far, 2, 8);
    runner.turn().unwrap();
    // Nine milliseconds for a frame, on either side of the switch.
    clock.advance_to(ms(21));
    runner.turn().unwrap();
    assert_eq!(arrived(&mut near), 1);
    let other = config("rate = \"1Gbps\"\npackets = 9", "");
    let error = runner.fabric_mut().change(&slow, &other).unwrap_err();
    assert!(error.contains("packets: nothing became 9") && error.contains("restart"), "{error}");
    let wrong = config("rate = \"1Gbps\"\nport_security = { learn = 0 }", "");
    let error = runner.fabric_mut().change(&slow, &wrong).unwrap_err();
    assert!(error.contains("p1: port_security"), "{error}");
    clock.advance_to(ms(30));
    runner.turn().unwrap();
    assert_eq!(arrived(&mut near), 1, "the rate is as it was");
    runner.fabric_mut().change(&slow, &config("rate = \"1Gbps\"", "")).unwrap();
    clock.advance_to(ms(100));
    runner.turn().unwrap();
    assert_eq!(arrived(&mut near), 6, "those that were on the slow cable");
    clock.advance_to(ms(101));
    send(&mut far, 2, 8);
    runner.turn().unwrap();
    clock.advance_to(ms(102));
    runner.turn().unwrap();
    assert_eq!(arrived(&mut near), 8, "at the new rate");
    assert_eq!(runner.losses(), switch::Losses::default());
    assert_eq!(runner.fabric().held(), 0);
}

#[test]
fn an_address_moves_to_another_port() {
    let before = config("rate = \"1Gbps\"", "");
    let (mut runner, [mut near, mut far], clock) = switch_of(&before);
    clock.advance_to(ms(1));
    let swapped = {
        let mut text = "rate = \"1Gbps\"\n[[switch]]\nname = \"s\"\n".to_owned();
        for (n, other) in [(1, 2), (2, 1)] {
            text += &format!(
                "[[host]]\nswitch = \"s\"\ninterface = \"p{n}\"\n\n\
                 addresses = [{{ address = \"{}\" }}]\n",
                address(other)
            );
        }
        switch::Config::parse(&text).unwrap()
    };
    runner.fabric_mut().change(&before, &swapped).unwrap();
    send(&mut near, 2, 1);
    for step in 1..4 {
        clock.advance_to(ms(step));
        runner.turn().unwrap();
    }
    assert_eq!((arrived(&mut near), arrived(&mut far)), (0, 1));
}

/// A draining switch takes nothing more, and ends in time even if frames are left.
#[test]
fn a_switch_drains_for_a_bounded_time_before_it_ends() {
    // On a real clock: a queue of 8 at 10 Mb/s takes 10 ms, at 10 Kb/s many seconds.
    for (rate, longest_ms, left) in [("10Mbps", 5000, 0..1), ("10Kbps", 50, 1..9)] {
        let (a, mut near) = mem::pair(1500).unwrap();
        let (b, mut far) = mem::pair(1500).unwrap();
        let fabric = Fabric::new(&config(&format!("rate = \"{rate}\""), "")).unwrap();
        let mut runner = Runner::new(fabric, vec![a, b], Clock::real(), Idle::Block).unwrap();
        send(&mut far, 2, 8);
        let still = runner.drain(TimeDelta::from_ms(longest_ms)).unwrap();
        assert!(left.contains(&still), "{rate}: {still} left");
        assert_eq!(arrived(&mut near), 8 - still, "{rate}");
    }
}
