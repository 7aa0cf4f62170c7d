//! Clocks that end, jump and wrap.

use super::two::Two;
use super::*;
use std::time::{Duration, Instant};

use trimline_stack::clock::Clock;
use trimline_stack::host::{Host, Idle};
use trimline_stack::io::{PacketIo, mem};
use trimline_stack::switch::{self, Fabric, Runner};

/// 2^63 ps: a real clock wraps there.
const EPOCH: TimeDelta = TimeDelta::from_ps(1 << 63);

/// A transfer, its timers, pacing, keepalives and deadlines go on when the clock wraps.
#[test]
fn transfers_survive_a_clock_restart() {
    for (lossy, message) in [(false, 3_000_000), (true, 3_000_000), (true, 5)] {
        let mut two = Two::new(|_| {});
        two.now = Time::ZERO + EPOCH - TimeDelta::from_ms(5);
        let near = two.client.connect(address(1), SERVICE, Default::default()).unwrap();
        two.client.set_deadline(near, Some(two.now + TimeDelta::from_ms(4000)));
        two.client.send(near, &vec![3; message]).unwrap();
        two.run_for(TimeDelta::from_us(100));
        two.connected = !lossy;
        two.run_to(Time::ZERO + EPOCH);
        two.client.set_back(EPOCH);
        two.server.set_back(EPOCH);
        two.now = Time::ZERO;
        two.connected = true;
        two.run_to(ms(500));
        let far = two.server.accept().expect("it was opened");
        let got = two.server.receive(far).unwrap().expect("it has arrived");
        assert_eq!(got.len(), message);
        two.run_to(ms(3000));
        assert_eq!(two.client.receive(near), Ok(None));
        two.run_to(ms(4500));
        assert_eq!(two.client.receive(near), Err(Failure::Deadline));
    }
}

/// The hosts' real clock is close to its end.
#[test]
fn a_host_detects_a_clock_restart() {
    let age = Duration::from_nanos(((1u128 << 63) / 1000) as u64) - Duration::from_millis(150);
    let Some(start) = Instant::now().checked_sub(age) else {
        return println!("SKIPPED: this machine's clock does not go back so far");
    };
    let clock = Clock::Real(start);
    let (a, b) = mem::pair(1500).unwrap();
    let mut client = Host::new(a, config(2), clock.clone());
    let mut server = Host::new(b, config(1), clock.clone());
    client.core().add_peer(address(1), &[], [2; 6]);
    server.listen(SERVICE);
    // Some connections come after the wrap.
    let (begin, mut later) = (Instant::now(), 0);
    while later < 20 {
        let one = client.connect(address(1), SERVICE, Default::default()).unwrap();
        client.core().send(one, b"x").unwrap();
        client.core().close(one);
        let answer = loop {
            client.turn().unwrap();
            server.turn().unwrap();
            super::serve(server.core());
            if let Some(answer) = client.core().receive(one).unwrap() {
                break answer;
            }
            assert!(begin.elapsed() < Duration::from_secs(30), "{later} requests were answered");
        };
        assert_eq!(answer, b"x");
        let now = client.now();
        client.core().abandon(now, one);
        later += u32::from(now < ms(10_000));
    }
}

/// The clock wraps while frames cross the switch.
#[test]
fn a_switch_detects_a_clock_restart() {
    let age = Duration::from_nanos(((1u128 << 63) / 1000) as u64) - Duration::from_millis(100);
    let Some(start) = Instant::now().checked_sub(age) else {
        return println!("SKIPPED: this machine's clock does not go back so far");
    };
    let text = "rate = \"1Gbps\"\n[[switch]]\nname = \"s\"\n".to_owned()
        + &(1..3)
            .map(|n| {
                let address = address(n);
                format!(
                    "[[host]]\nswitch = \"s\"\ninterface = \"p{n}\"\n\
                     addresses = [{{ address = \"{address}\" }}]\n"
                )
            })
            .collect::<String>();
    let fabric = Fabric::new(&switch::Config::parse(&text).unwrap()).unwrap();
    let clock = Clock::Real(start);
    let ((mut near, a), (mut far, b)) = (mem::pair(1500).unwrap(), mem::pair(1500).unwrap());
    let mut runner = Runner::new(fabric, vec![a, b], clock.clone(), Idle::Poll).unwrap();
    let frame = request(address(2), 1, b"x");
    let (begin, mut sent, mut got, mut later) = (Instant::now(), 0, 0, 0);
    while later < 100 || got < sent {
        // Frames leave before, during and after the wrap.
        if later < 100 {
            sent += far.tx_burst(&[&[&frame]]).unwrap();
            later += u32::from(clock.now() < ms(10_000));
        }
        runner.turn().unwrap();
        got += near.rx_burst(64, &mut |_| {}).unwrap();
        assert!(begin.elapsed() < Duration::from_secs(30), "{got} of {sent} arrived");
    }
    assert_eq!(got, sent);
}

/// Returns the hosts that get a frame to `to` from host `from`; three hosts around a learning switch.
fn arrives(fabric: &mut Fabric, now: Time, from: u32, to: u8) -> Vec<u32> {
    let mut frame = request(address(2), 1, b"x");
    frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, to]);
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, from as u8]);
    fabric.host_sends(now, from, &frame);
    let mut seen = Vec::new();
    fabric.advance(now + TimeDelta::from_ms(1), &mut |_, host, _| seen.push(host));
    seen.sort_unstable();
    seen
}

#[test]
fn learned_addresses_expire_after_a_clock_restart() {
    let mut text = "rate = \"1Gbps\"\n[[switch]]\nname = \"s\"\nforwarding = \"l2\"\n".to_owned();
    for n in 0..3 {
        text += &format!(
            "[[host]]\nswitch = \"s\"\ninterface = \"p{n}\"\n\
             addresses = [{{ address = \"{}\" }}]\n",
            address(n + 1)
        );
    }
    let mut fabric = Fabric::new(&switch::Config::parse(&text).unwrap()).unwrap();
    let second = TimeDelta::from_ms(1000);
    let end = Time::ZERO + (EPOCH.saturating_sub(second));
    assert_eq!(arrives(&mut fabric, end, 1, 9), [0, 2], "nobody knows 9");
    assert_eq!(arrives(&mut fabric, end, 0, 1), [1], "1 was heard");
    fabric.set_back(EPOCH);
    assert_eq!(arrives(&mut fabric, ms(1000), 2, 1), [1], "it is known still");
    assert_eq!(arrives(&mut fabric, ms(310_000), 2, 1), [0, 1], "it was not heard for 300 s");
}

/// Two months are in the future, though half an epoch is shorter.
#[test]
fn a_deadline_in_two_months_does_not_expire_early() {
    let (io, _other) = mem::pair(1500).unwrap();
    let mut host = Host::new(io, config(1), Clock::new_virtual());
    let two_months = TimeDelta::from_ms(60 * 24 * 3_600_000);
    let mut turns = 0;
    let is_done = |_: &mut Core| {
        turns += 1;
        turns == 3
    };
    assert!(host.run_until(Time::ZERO + two_months, is_done).unwrap());
}
