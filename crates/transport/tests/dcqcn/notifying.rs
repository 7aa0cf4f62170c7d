//! CNPs: when receivers send them, and how senders react.

use trimline_packet::{Kind, Packet, Time, TimeDelta};
use trimline_transport::dcqcn::{ALPHA_ONE, Config, MARK_CNP};

use crate::link::{LinkAction, Pair, config, us};

fn is_cnp(packet: &Packet) -> bool {
    packet.marks & MARK_CNP != 0
}

/// Runs an endless flow whose data packets from `from` to `to`, in us, are marked.
fn marked(config: &Config, from: u64, to: u64, until: u64) -> Pair {
    let mut pair = Pair::new(config);
    pair.action = Box::new(move |now, packet| {
        let is_data = packet.header.kind == Kind::Data;
        if is_data && now >= us(from) && now < us(to) { LinkAction::Mark } else { LinkAction::Pass }
    });
    pair.open(0, None);
    pair.run(us(until));
    pair
}

#[test]
fn a_flow_gets_at_most_one_cnp_per_50_us() {
    let pair = marked(&config(), 100, 1000, 2000);
    let notified = pair.sent(1, is_cnp);
    let gaps: Vec<TimeDelta> = notified.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(notified.len() > 10, "{}", notified.len());
    assert!(gaps.iter().all(|&gap| gap >= TimeDelta::from_us(50)), "{gaps:?}");
    // The next packet behind it arrives in time for this bound: the rate is at least 300 Mb/s here.
    assert!(gaps[..4].iter().all(|&gap| gap < TimeDelta::from_us(65)), "{gaps:?}");
    // 1.2 us of wire and 5 us of delay; the first marked packet is reported at once.
    assert!(notified[0] < us(108) && notified[0] >= us(106), "{}", notified[0]);
    let counted = pair.hosts[1].endpoint.receiver_statistics(0);
    assert_eq!(counted.cnps, notified.len() as u64);
    assert_eq!(pair.hosts[0].endpoint.sender_statistics(0).cnps, counted.cnps);
    assert!(counted.marked > counted.cnps);
}

#[test]
fn an_unmarked_packet_causes_no_cnp() {
    let pair = marked(&config(), 0, 0, 1000);
    assert_eq!(pair.sent(1, is_cnp), []);
    assert_eq!(pair.hosts[0].endpoint.rate(0, us(1000)).as_bps(), 10_000_000_000);
    assert_eq!(pair.hosts[0].endpoint.alpha(0, us(1000)), ALPHA_ONE);
}

/// A trace's view of a flow that gets one CNP.
#[test]
fn reading_rate_and_alpha_changes_nothing() {
    let pair = marked(&config(), 100, 101, 3000);
    let notified = pair.sent(1, is_cnp);
    assert_eq!(notified.len(), 1);
    let sender = &pair.hosts[0].endpoint;
    // At a late look the flow is back at the line's rate, and alpha has fallen 52 times in 2888 us.
    assert_eq!(sender.rate(0, us(3000)).as_bps(), 10_000_000_000);
    let alpha = sender.alpha(0, us(3000));
    assert!((ALPHA_ONE / 100 * 81..ALPHA_ONE / 100 * 82).contains(&alpha), "{alpha}");
    assert_eq!(alpha, sender.alpha(0, us(3000)));

    let mut pair = marked(&config(), 100, 101, 113);
    let notified = pair.sent(1, is_cnp)[0] + TimeDelta::from_ps(5_051_200);
    let mut rates = Vec::new();
    for after in [1, 54, 56, 111, 166, 221, 276] {
        let at = notified + TimeDelta::from_us(after);
        pair.run(at);
        rates.push(pair.hosts[0].endpoint.rate(0, at).as_bps() / 1_000);
    }
    assert_eq!(rates, [5e6, 5e6, 7.5e6, 8.75e6, 9.375e6, 9.6875e6, 9.84375e6].map(|k| k as u64));
}

#[test]
fn a_flow_sends_at_its_rate() {
    let pair = marked(&config(), 100, 101, 160);
    let notified = pair.sent(1, is_cnp)[0] + TimeDelta::from_ps(5_051_200);
    let data = pair.sent(0, |packet| packet.header.kind == Kind::Data);
    let gap = |from: Time, to: Time| {
        let times: Vec<Time> = data.iter().copied().filter(|&at| at >= from && at < to).collect();
        times.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>()
    };
    assert!(gap(us(0), us(100)).iter().all(|gap| gap.as_ps() == 1_200_000), "1500 B at 10 Gb/s");
    let slow = gap(notified + TimeDelta::from_us(3), notified + TimeDelta::from_us(40));
    assert!(slow.len() > 10 && slow.iter().all(|gap| gap.as_ps() == 2_400_000), "{slow:?}");
}
