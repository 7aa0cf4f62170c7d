//! Times that end, jump and begin again.

use super::two::Two;
use super::*;
use std::time::{Duration, Instant};

use trimline_stack::clock::Clock;
use trimline_stack::host::{Host, Idle};
use trimline_stack::io::{PacketIo, mem};
use trimline_stack::switch::{self, Fabric, Runner};

/// 2^63 ps: then a real clock begins again.
const EPOCH: TimeDelta = TimeDelta::from_ps(1 << 63);

/// A transfer that is under way when the clock begins again goes on: timers, pacing, keep-alives and deadlines.
#[test]
fn what_is_under_way_survives_a_clock_that_begins_again() {
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

/// The same with hosts whose real clock is as old as that: they notice by themselves.
#[test]
fn a_host_notices_that_its_clock_begins_again() {
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
    let begin = Instant::now();
    let mut answered = 0;
    while begin.elapsed() < Duration::from_millis(500) {
        let until = client.now().saturating_add(TimeDelta::from_ms(2));
        let one = client.connect(address(1), SERVICE, Default::default()).unwrap();
        client.core().send(one, b"x").unwrap();
        client.core().close(one);
        for _ in 0..50 {
            client.turn().unwrap();
            server.turn().unwrap();
            super::serve(server.core());
        }
        client.run_until(until, |_| false).unwrap();
        server.turn().unwrap();
        client.turn().unwrap();
        answered += u64::from(matches!(client.core().receive(one), Ok(Some(_))));
        let now = client.now();
        client.core().abandon(now, one);
    }
    assert!(client.now() < ms(10_000), "it has begun again");
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert!(answered > 50, "{answered}");
}

/// A switch between two interfaces in memory, whose clock begins again while frames cross it.
#[test]
fn a_switch_notices_that_its_clock_begins_again() {
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
    let mut runner = Runner::new(fabric, vec![a, b], clock, Idle::Poll).unwrap();
    let frame = request(address(2), 1, b"x");
    let (begin, mut sent, mut got) = (Instant::now(), 0, 0);
    while begin.elapsed() < Duration::from_millis(300) {
        sent += far.tx_burst(&[&[&frame]]).unwrap();
        let round = Instant::now();
        while round.elapsed() < Duration::from_millis(1) {
            runner.turn().unwrap();
            got += near.rx_burst(64, &mut |_| {}).unwrap();
        }
    }
    assert!(sent >= 10 && got == sent, "{got} of {sent}");
}
