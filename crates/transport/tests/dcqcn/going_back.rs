//! Go-back-N: every packet arrives in the end, in order and once.

use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use trimline_packet::{ByteCount, Kind, Time};
use trimline_transport::Endpoint as _;
use trimline_transport::RngStream;
use trimline_transport::dcqcn::{ACK_REQUEST, Config, Event};

use crate::link::{LinkAction, Pair, config, us};

/// Checks that everything arrived once and in order, and that both ends know.
fn is_over(pair: &Pair, packets: u32) {
    let expected: Vec<(u32, u32)> = (0..packets).map(|sequence| (0, sequence)).collect();
    assert_eq!(pair.hosts[1].accepted, expected);
    assert!(matches!(pair.hosts[1].events[..], [(_, Event::Delivered { .. })]));
    assert!(matches!(pair.hosts[0].events[..], [(_, Event::Acknowledged { .. })]));
}

#[test]
fn a_lost_packet_causes_one_go_back_n() {
    for ack_every in [1, 4] {
        for lost in 0..20 {
            let mut pair = Pair::new(&Config { ack_every, ..config() });
            let mut is_lost = false;
            pair.action = Box::new(move |_, packet| {
                let is_it = packet.header.kind == Kind::Data && packet.header.sequence == lost;
                if is_it && !std::mem::replace(&mut is_lost, true) {
                    LinkAction::Drop
                } else {
                    LinkAction::Pass
                }
            });
            pair.open(0, Some(20));
            pair.run(us(10_000));
            is_over(&pair, 20);
            let seen = pair.hosts[0].endpoint.sender_statistics(0);
            // No packet follows the last one, so only a timeout finds its loss.
            let (timeouts, is_last) = (seen.timeouts, lost == 19);
            assert_eq!(timeouts, u64::from(is_last), "packet {lost}");
            let resent = if is_last { seen.resent_timeout } else { seen.resent_nack };
            // At most the packets that were sent in the 12.5 us until the NACK came.
            assert!((1..=12).contains(&resent), "packet {lost}: {resent}");
            assert_eq!(seen.resent_nack + seen.resent_timeout, resent);
            let nacks = pair.sent(1, |packet| packet.header.kind == Kind::Nack);
            assert_eq!(nacks.len(), usize::from(!is_last), "named once");
        }
    }
}

#[test]
fn a_flow_ends_if_any_answer_is_lost() {
    for lost in 0..10 {
        let mut pair = Pair::new(&config());
        let mut answers = 0;
        pair.action = Box::new(move |_, packet| {
            if packet.header.kind == Kind::Data {
                return LinkAction::Pass;
            }
            answers += 1;
            if answers == lost + 1 { LinkAction::Drop } else { LinkAction::Pass }
        });
        pair.open(0, Some(10));
        pair.run(us(10_000));
        is_over(&pair, 10);
        let seen = pair.hosts[0].endpoint.sender_statistics(0);
        assert_eq!(seen.timeouts, u64::from(lost == 9), "ACKs are cumulative: answer {lost}");
    }
}

#[test]
fn flows_end_with_5_percent_loss_in_either_direction() {
    for seed in 0..20 {
        let config = Config { ack_every: 1 + (seed % 3) as u8, ..config() };
        let mut pair = Pair::new(&config);
        let mut dice = RngStream::seed_from_u64(seed);
        pair.action = Box::new(move |_, _| match dice.next_u64() % 20 {
            0 => LinkAction::Drop,
            1 => LinkAction::Mark,
            _ => LinkAction::Pass,
        });
        pair.open(0, Some(300));
        pair.run(us(3_000_000));
        is_over(&pair, 300);
        assert_eq!(pair.hosts[0].endpoint.poll_timeout(), Time::NEVER, "nothing is armed");
        let seen = pair.hosts[0].endpoint.sender_statistics(0);
        assert!(seen.resent_nack > 0, "seed {seed}");
    }
}

#[test]
fn timeouts_double_up_to_64_times_until_an_ack() {
    let mut pair = Pair::new(&config());
    pair.action = Box::new(|_, _| LinkAction::Drop);
    pair.open(0, Some(1));
    pair.run(us(400_000));
    let sent = pair.sent(0, |_| true);
    let gaps: Vec<u64> =
        sent.windows(2).map(|pair| (pair[1] - pair[0]).as_ps() / 1_000_000).collect();
    assert_eq!(gaps[..3], [1000, 2000, 4000]);
    // From the fourth on each gap is longer by up to a quarter.
    let min = [8000, 16_000, 32_000, 64_000, 64_000, 64_000];
    assert!(gaps.len() >= 9, "{gaps:?}");
    for (gap, min) in gaps[3..].iter().zip(min) {
        assert!((min..min + min / 4).contains(gap), "{gaps:?}");
    }
    assert!(gaps[6] != gaps[7] && gaps[7] != gaps[8], "{gaps:?}");
    pair.action = Box::new(|_, _| LinkAction::Pass);
    pair.run(us(500_000));
    is_over(&pair, 1);
}

/// Bursts are reordered into a queue with room for one packet, which takes a few packets of each, in any order.
#[test]
fn a_flow_with_reordered_and_mostly_lost_bursts_ends() {
    for seed in 0..20 {
        let mut pair = Pair::new(&Config { ack_every: 200, ..config() });
        let mut dice = RngStream::seed_from_u64(seed);
        pair.gap = us(50) - Time::ZERO;
        pair.action = Box::new(move |_, packet| match packet.header.kind {
            Kind::Data => LinkAction::Late(us(dice.next_u64() % 200) - Time::ZERO),
            _ => LinkAction::Pass,
        });
        pair.open(0, Some(60));
        pair.run(us(400_000));
        is_over(&pair, 60);
    }
}

/// After three timeouts in a row a sender sends one packet, and one more per arrival.
#[test]
fn after_three_timeouts_a_sender_sends_one_packet_per_arrival() {
    let mut pair = Pair::new(&Config { ack_every: 200, ..config() });
    pair.action = Box::new(|_, _| LinkAction::Drop);
    pair.open(0, Some(40));
    pair.run(us(14_500));
    let sent = pair.sent(0, |_| true);
    // At 0, 1, 3, 7 ms; the next is due at 15.
    let bursts = [0, 1000, 3000, 7000]
        .map(|at| sent.iter().filter(|&&sent| (us(at)..us(at + 900)).contains(&sent)).count());
    assert_eq!(bursts, [40, 40, 40, 1]);
    pair.action = Box::new(|_, _| LinkAction::Pass);
    pair.run(us(20_000));
    is_over(&pair, 40);
    let asked: Vec<u32> = pair.hosts[0].sent[121..]
        .iter()
        .filter(|(_, packet)| packet.header.flags.contains(ACK_REQUEST))
        .map(|(_, packet)| packet.header.sequence)
        .collect();
    assert_eq!(asked, [0, 2, 6, 14, 30, 39], "windows of 1, 2, 4, 8, 16");
    // The sender is no longer careful: a further message goes in one burst. Its first packet asks for an ACK too, since
    // a while has passed.
    pair.hosts[0].sent.clear();
    pair.send(0, 40 * 1436);
    pair.run(us(21_000));
    let asked = pair.sent(0, |packet| packet.header.flags.contains(ACK_REQUEST));
    assert_eq!((pair.sent(0, |_| true).len(), asked.len()), (40, 2));
}

/// Two flows time out together, and the first of two simultaneous packets is lost.
#[test]
fn two_flows_that_collide_at_timeouts_separate() {
    let mut pair = Pair::new(&config());
    pair.action = Box::new(|_, _| LinkAction::Drop);
    pair.open(0, Some(1));
    pair.open(1, Some(1));
    pair.run(us(400_000));
    let times = |flow: u32| pair.sent(0, |packet| packet.header.connection.get() == flow);
    let (first, other) = (times(0), times(1));
    let together = first.iter().filter(|&&at| other.iter().any(|&sent| near(at, sent))).count();
    assert!(first.len() > 8 && together <= 5, "{together} of {}", first.len());
}

/// Returns whether two times differ by less than 10 us.
fn near(one: Time, other: Time) -> bool {
    one.as_ps().abs_diff(other.as_ps()) < 10_000_000
}

#[test]
fn every_nth_packet_and_the_last_request_an_ack() {
    let mut pair = Pair::new(&Config { ack_every: 4, ..config() });
    pair.open(0, Some(10));
    pair.run(us(1000));
    is_over(&pair, 10);
    let sent = pair.hosts[0].sent.iter();
    let asked = sent.filter(|(_, packet)| packet.header.flags.contains(ACK_REQUEST));
    let asked: Vec<u32> = asked.map(|(_, packet)| packet.header.sequence).collect();
    assert_eq!(asked, [3, 7, 9]);
    let acks: Vec<u32> = pair.hosts[1].sent.iter().map(|(_, ack)| ack.header.sequence).collect();
    assert_eq!(acks, [4, 8, 10]);
}

/// A packet takes 1.2 ms at 10 Mb/s, longer than the timeout, so each asks for an ACK.
#[test]
fn a_slow_flow_with_few_acks_does_not_time_out() {
    let config = Config { ack_every: 200, increase_timer: us(1_000_000) - Time::ZERO, ..config() };
    let mut pair = Pair::new(&config);
    pair.action = Box::new(|_, packet| {
        if packet.header.kind == Kind::Data { LinkAction::Mark } else { LinkAction::Pass }
    });
    pair.open(0, None);
    pair.run(us(100_000));
    let seen = pair.hosts[0].endpoint.sender_statistics(0);
    assert!(seen.packets_sent > 80 && seen.timeouts == 0, "{seen:?}");
}

#[test]
fn a_window_limits_unacknowledged_data() {
    let window = Some(ByteCount::new(1436 * 4 + 1));
    let mut pair = Pair::new(&Config { window, ack_every: 200, ..config() });
    pair.open(0, Some(12));
    pair.run(us(1000));
    is_over(&pair, 12);
    let sent = pair.sent(0, |_| true);
    // Four at once, then four for each ACK. The last packet of a window asks for it.
    let gaps: Vec<bool> =
        sent.windows(2).map(|pair| (pair[1] - pair[0]).as_ps() > 2_000_000).collect();
    let long = [3, 7];
    assert!(gaps.iter().enumerate().all(|(at, &gap)| gap == long.contains(&at)), "{gaps:?}");
}

#[test]
fn messages_of_a_connection_arrive_in_order_with_an_event_each() {
    let mut pair = Pair::new(&config());
    let lost = [1, 4];
    let mut seen = Vec::new();
    pair.action = Box::new(move |_, packet| {
        let sequence = packet.header.sequence;
        let is_new = packet.header.kind == Kind::Data && !seen.contains(&sequence);
        if is_new {
            seen.push(sequence);
        }
        if is_new && lost.contains(&sequence) { LinkAction::Drop } else { LinkAction::Pass }
    });
    pair.open_bytes(0, Some(2000));
    for length in [100, 0, 4000] {
        pair.send(0, length);
    }
    pair.run(us(10_000));
    let bytes = pair.hosts[1].endpoint.receiver_statistics(0).bytes;
    assert_eq!(bytes, 6100);
    assert_eq!((pair.hosts[0].events.len(), pair.hosts[1].events.len()), (3, 3));
    // 1436 + 564; 100; 1436 + 1436 + 1128.
    let mut lengths = [0; 6];
    for (_, packet) in &pair.hosts[0].sent {
        lengths[packet.header.sequence as usize] = packet.wire_bytes - 64;
    }
    assert_eq!(lengths, [1436, 564, 100, 1436, 1436, 1128]);
}
