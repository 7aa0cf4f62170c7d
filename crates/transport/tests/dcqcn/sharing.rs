//! The flows of one host share its NIC.

use trimline_packet::{Kind, Packet};
use trimline_transport::dcqcn::Config;
use trimline_transport::{Allowed, Endpoint as _};

use crate::link::{LinkAction, Pair, config, us};

fn packets(pair: &Pair, connection: u32) -> usize {
    let is_of = |packet: &Packet| packet.header.connection.get() == connection;
    pair.sent(0, |packet| packet.header.kind == Kind::Data && is_of(packet)).len()
}

#[test]
fn flows_at_the_line_rate_take_turns() {
    let mut pair = Pair::new(&config());
    (0..5).for_each(|connection| pair.open(connection, None));
    pair.run(us(600));
    // 500 packets of 1.2 us, whether ACKs are on their way or not.
    let shares: Vec<usize> = (0..5).map(|connection| packets(&pair, connection)).collect();
    assert!(shares.iter().all(|&share| (99..=101).contains(&share)), "{shares:?}");
}

#[test]
fn a_slow_flow_gets_its_rate_beside_fast_ones() {
    let mut pair = Pair::new(&Config { increase_timer: us(9_000) - us(0), ..config() });
    pair.action = Box::new(|now, packet| {
        let is_slow = packet.header.kind == Kind::Data && packet.header.connection.get() == 0;
        if is_slow && now < us(110) { LinkAction::Mark } else { LinkAction::Pass }
    });
    (0..3).for_each(|connection| pair.open(connection, None));
    pair.run(us(1000));
    let before: Vec<usize> = (0..3).map(|connection| packets(&pair, connection)).collect();
    let rate = pair.hosts[0].endpoint.rate(0, us(1000)).as_bps();
    assert!((1_000_000_000..3_000_000_000).contains(&rate), "{rate}");
    pair.run(us(4000));
    let shares: Vec<u64> = (0..3)
        .map(|connection| packets(&pair, connection) - before[connection as usize])
        .map(|n| n as u64)
        .collect();
    // In 3 ms; a packet has 12,000 bits.
    let expected = rate * 3 / 1000 / 12_000;
    assert!(shares[0].abs_diff(expected) <= 1, "{shares:?} {expected}");
    assert!(shares[1].abs_diff(shares[2]) <= 1, "{shares:?}");
    assert_eq!(shares.iter().sum::<u64>(), 2500, "the link is full");
}

#[test]
fn a_paced_packet_reports_its_send_time_only_if_data_is_allowed() {
    let mut pair = Pair::new(&config());
    pair.open(0, None);
    let sender = &mut pair.hosts[0].endpoint;
    assert_eq!(sender.transmit_at(Allowed::DATA), us(0));
    assert_eq!(sender.transmit_at(Allowed::CONTROL), trimline_packet::Time::NEVER);
    assert!(sender.poll_transmit(us(0), Allowed::CONTROL).is_none());
    assert!(sender.poll_transmit(us(0), Allowed::DATA).is_some());
    assert_eq!(sender.transmit_at(Allowed::ALL).as_ps(), 1_200_000);
    assert!(sender.poll_transmit(us(1), Allowed::ALL).is_none());
    assert_eq!(sender.transmit_at(Allowed::CONTROL), trimline_packet::Time::NEVER);
}
