//! The receiver's credit: the rules of its sender and of its receiver.

use trimline_packet::{BitRate, Flags, Kind, Packet, Service, Time};
use trimline_transport::Endpoint as _;
use trimline_transport::flow::Event;
use trimline_transport::nscc::{ACK_REQUEST, Config, Control, NO_ECHO};
use trimline_transport::rccc::Rule;

use crate::lone::{Lone, ack, config, control, data, nack, us};

/// 18,750 bytes at the beginning and at most, 4,096 bytes a PULL.
pub(crate) fn rule() -> Rule {
    Rule {
        max: 18_750,
        first: 18_750,
        pull: 16,
        line: BitRate::from_gbps(10),
        share: 990_000,
        core: None,
    }
}

fn alone() -> Config {
    Config { control: Control::Credit(rule()), ..config() }
}

fn both() -> Config {
    Config { control: Control::Both(rule()), ..config() }
}

fn pull(granted: u32) -> Packet {
    control(Kind::Pull, granted, 0)
}

fn targets(packets: &[Packet]) -> Vec<i32> {
    packets.iter().map(|packet| i32::from(packet.header.extra as i16)).collect()
}

/// uet-htsim: any credit lets a packet go, and each states how much is wanted.
#[test]
fn speculative_credit_goes_at_once_and_its_last_packet_asks_for_an_ack() {
    let mut lone = Lone::with(alone(), 40);
    let first = lone.all();
    assert_eq!(first.len(), 13, "18,750 bytes and what is overdrawn");
    assert_eq!(lone.endpoint.credit(0), 18_750 - 13 * 1_500);
    // The backlog exceeds the max: the target is what was used.
    let expected: Vec<i32> = (1..=13).map(|sent| (1_500 * sent + 255) / 256).collect();
    assert_eq!(targets(&first), expected);
    for (number, packet) in (0..).zip(&first) {
        let asks = packet.header.flags.contains(ACK_REQUEST);
        assert_eq!((packet.header.sequence, asks), (number, number == 12));
        assert_eq!(packet.header.payload_length(), 1_436);
    }
    // Without credit an ACK lets nothing go.
    lone.at(10).receive(&ack(12, 13, &[]));
    assert_eq!(lone.numbers(), []);
}

#[test]
fn a_pull_lets_as_much_go_as_it_grants_and_the_debt_is_paid_first() {
    let mut lone = Lone::with(alone(), 40);
    lone.all();
    lone.at(9).receive(&pull(16));
    // 4,096 - 750: three packets.
    assert_eq!(lone.numbers(), [13, 14, 15]);
    assert_eq!(lone.endpoint.credit(0), 4_096 - 750 - 4_500);
    lone.receive(&pull(16));
    lone.receive(&pull(7));
    assert_eq!(lone.numbers(), [], "an old PULL");
    lone.receive(&pull(36));
    let sent = lone.all();
    assert_eq!(sent.len(), 3);
    // 18,750 + 466 bytes more than the 36 quanta.
    assert_eq!(lone.endpoint.credit(0), 36 * 256 - 750 - 9_000);
    assert_eq!(targets(&sent[2..]), [36 + (18_750 + 534 + 255) / 256]);
}

/// uet-htsim: speculation ends with the first answer, and what is left is taken back.
#[test]
fn any_answer_takes_back_speculative_credit() {
    let mut lone = Lone::with(alone(), 3);
    assert_eq!(
        targets(&lone.all()),
        [6, 6, (4_500 - 18_750 + 255) / 256 - 1],
        "a packet at least, while there is new data"
    );
    assert_eq!(lone.endpoint.credit(0), 14_250);
    lone.at(8).receive(&nack(1, 0));
    assert_eq!((lone.endpoint.credit(0), lone.numbers()), (0, vec![]));
    lone.receive(&pull(3));
    let sent = lone.all();
    assert_eq!(sent[0].header.sequence, 1);
    assert_eq!(lone.endpoint.credit(0), 768 - 1_500);
    assert_eq!(targets(&sent), [3 + 3], "nothing but the debt of 732 bytes");
    let mut lone = Lone::with(alone(), 3);
    lone.all();
    lone.at(8).receive(&ack(0, 1, &[]));
    assert_eq!(lone.endpoint.credit(0), 0);
}

#[test]
fn a_flow_without_credit_asks_by_rts_until_it_is_heard() {
    let mut lone = Lone::with(alone(), 40);
    lone.all();
    lone.at(12).receive(&ack(12, 13, &[]));
    lone.at(100).expire();
    assert_eq!(lone.all(), []);
    assert_eq!(lone.endpoint.poll_timeout(), us(1_600), "the ACK says that the target was heard");
    lone.at(1_600).expire();
    let rts = lone.all();
    assert_eq!(rts.len(), 1);
    let header = rts[0].header;
    assert_eq!((header.kind, header.flags.bits()), (Kind::Pull, Flags::FROM_OPENER));
    assert!(rts[0].service == Service::Control && rts[0].wire_bytes == 64);
    assert_eq!(header.sequence, (18_750 + 750_u32).div_ceil(256));
    assert_eq!(lone.endpoint.sender_statistics(0).rts_sent, 1);
    // It is repeated, and the wait doubles, until an answer.
    assert_eq!(lone.endpoint.poll_timeout(), us(1_700));
    lone.at(1_700).expire();
    assert_eq!(lone.all().len(), 1);
    assert_eq!(lone.endpoint.poll_timeout(), us(1_900));
    let mut answer = ack(13, 13, &[]);
    answer.header.flags = answer.header.flags.with(NO_ECHO);
    lone.at(1_710).receive(&answer);
    assert_eq!(lone.endpoint.poll_timeout(), us(1_900), "a timer may come early");
    lone.at(1_900).expire();
    assert_eq!(lone.all(), []);
    assert_eq!(lone.endpoint.poll_timeout(), us(3_300));
    lone.at(2_000).receive(&pull(1));
    assert_eq!(lone.numbers(), [], "256 bytes do not pay the debt");
    lone.at(3_300).expire();
    assert_eq!(lone.all(), []);
    lone.at(3_600).expire();
    assert_eq!(lone.all().len(), 1, "PULLs may be lost");
    // Nothing was lost.
    assert_eq!(lone.endpoint.sender_statistics(0).timeouts, 0);
}

/// A time-out that finds no credit asks at once; one that finds some resends.
#[test]
fn a_time_out_resends_by_credit_or_asks_for_it() {
    let mut lone = Lone::with(alone(), 4);
    assert_eq!(lone.numbers(), [0, 1, 2, 3]);
    lone.at(100).expire();
    assert_eq!(lone.numbers(), [0, 1, 2, 3], "from what is left of speculative credit");
    let mut lone = Lone::with(alone(), 13);
    lone.all();
    lone.at(100).expire();
    let rts = lone.all();
    assert_eq!(rts.len(), 1);
    let flags = rts[0].header.flags.bits();
    assert_eq!(
        (rts[0].header.kind, flags),
        (Kind::Pull, Flags::FROM_OPENER | Flags::SYN),
        "no answer came yet"
    );
    assert_eq!(rts[0].header.sequence, (18_750 + 750_u32).div_ceil(256), "all is backlog");
    // At once, although the last target is younger than the time-out; but once in a round trip.
    let mut lone = Lone::with(alone(), 40);
    lone.all();
    lone.at(50).receive(&pull(3));
    assert_eq!(lone.numbers(), [13]);
    lone.at(100).expire();
    assert_eq!(lone.all().len(), 1);
    lone.at(150).expire();
    assert_eq!(lone.numbers(), []);
}

/// Beneath NSCC a packet needs room in the window too, and the window bounds what is asked for.
#[test]
fn beneath_nscc_a_packet_needs_window_and_credit() {
    let mut narrow = both();
    narrow.law.first = Some(6_000);
    let mut lone = Lone::with(narrow, 40);
    let first = lone.all();
    assert_eq!(first.len(), 4, "the window is full");
    // A window of 6,000 bytes and a packet, less than the credit: while speculating a packet at least.
    assert_eq!(targets(&first), [6; 4]);
    lone.at(10).receive(&pull(0));
    assert_eq!(lone.endpoint.credit(0), 0);
    lone.receive(&ack(3, 4, &[]));
    assert_eq!(lone.numbers(), [], "no credit");
    lone.receive(&pull(6));
    let sent = lone.all();
    assert_eq!(sent.len(), 2);
    let (window, _) = lone.endpoint.window(0);
    let asked = (window as i32 + 1_500 + 1_464 + 255) / 256;
    assert_eq!(targets(&sent[1..]), [6 + asked]);
}

/// uet-htsim: what the last hop trimmed is the receiver's business, and leaves the window alone.
#[test]
fn beneath_nscc_a_trim_at_the_last_hop_takes_nothing_from_the_window() {
    let mut lone = Lone::with(both(), 40);
    lone.all();
    lone.at(10).receive(&Packet { marks: Packet::MARK_LAST_HOP, ..nack(5, 0) });
    assert_eq!(lone.endpoint.window(0).0, 18_750);
    lone.receive(&nack(6, 0));
    assert_eq!(lone.endpoint.window(0).0, 17_250);
}

/// A target of one of the peer's packets.
fn wanting(number: u32, flags: u8, target: u16) -> Packet {
    let mut packet = data(number, flags, 0);
    packet.header.extra |= u32::from(target);
    packet
}

/// PULLs that go now.
fn pulls(lone: &mut Lone) -> Vec<u32> {
    let sent = lone.all();
    let pulls = sent.iter().filter(|packet| packet.header.kind == Kind::Pull);
    pulls.map(|packet| packet.header.sequence).collect()
}

#[test]
fn a_receiver_grants_what_is_asked_for_at_its_pace() {
    let mut lone = Lone::new(alone());
    lone.receive(&wanting(0, 0, 40));
    assert_eq!(pulls(&mut lone), [16]);
    // 4,096 bytes at 0.99 of 10 Gb/s.
    let next = Time::from_ps(3_309_898);
    assert_eq!(lone.endpoint.transmit_at(trimline_transport::Allowed::ALL), next);
    lone.at(3);
    assert_eq!(pulls(&mut lone), []);
    lone.at(4);
    assert_eq!(pulls(&mut lone), [32]);
    lone.at(7);
    assert_eq!(pulls(&mut lone), [40], "eight quanta");
    // And slow credit, up to 73 quanta more.
    lone.at(100);
    assert_eq!(pulls(&mut lone), [56, 72, 88, 104, 120]);
    lone.at(200);
    assert_eq!(pulls(&mut lone), []);
    assert_eq!(lone.endpoint.granted(0), 120);
}

#[test]
fn a_trimmed_packet_and_an_rts_get_a_pull_although_nothing_more_is_asked_for() {
    let mut lone = Lone::new(alone());
    let mut trimmed = wanting(0, 0, 0);
    trimmed.trim(64);
    lone.receive(&trimmed);
    let sent = lone.all();
    assert_eq!((sent[0].header.kind, sent[1].header.kind), (Kind::Nack, Kind::Pull));
    assert_eq!(sent[1].header.sequence, 0, "the count so far");
    let mut rts = control(Kind::Pull, 0, 0);
    rts.header.flags = Flags::default().with(Flags::FROM_OPENER | Flags::SYN);
    let mut lone = Lone::new(alone());
    lone.receive(&rts);
    let sent = lone.all();
    assert_eq!((sent[0].header.kind, sent[0].header.sequence), (Kind::Ack, 0), "nothing arrived");
    assert_eq!((sent[1].header.kind, sent[1].header.sequence), (Kind::Pull, 0));
    rts.header.sequence = 5;
    lone.at(100).receive(&rts);
    assert_eq!(pulls(&mut lone)[0], 5);
}

/// A receiver that has everything grants nothing more; an RTS tells that its last ACK was lost.
#[test]
fn a_flow_that_has_all_gets_no_credit_and_an_rts_of_it_an_ack() {
    let mut lone = Lone::new(alone());
    lone.receive(&wanting(0, 0, 6));
    assert_eq!(pulls(&mut lone), [6]);
    lone.at(50).receive(&wanting(1, Flags::LAST, 40));
    assert!(
        std::iter::from_fn(|| lone.endpoint.poll_event())
            .any(|event| matches!(event, Event::Delivered { .. }))
    );
    assert_eq!(pulls(&mut lone), []);
    let mut rts = control(Kind::Pull, 60, 0);
    rts.header.flags = Flags::default().with(Flags::FROM_OPENER);
    lone.receive(&rts);
    let sent = lone.all();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].header.kind, Kind::Ack);
    assert_eq!((sent[0].header.sequence, sent[0].header.flags.bits()), (2 << 16 | 2, NO_ECHO));
    lone.endpoint.forget(0);
    assert_eq!(lone.endpoint.transmit_at(trimline_transport::Allowed::ALL), Time::NEVER);
}

/// An ACK for an RTS echoes no packet.
#[test]
fn an_ack_for_an_rts_ends_the_flow_and_says_nothing_of_the_round_trip() {
    let mut lone = Lone::with(both(), 3);
    lone.all();
    let mut ack = ack(3, 3, &[]);
    ack.header.flags = ack.header.flags.with(NO_ECHO);
    lone.at(90).receive(&ack);
    assert!(lone.has_ended());
    assert_eq!(lone.endpoint.mean_delay(0).as_ps(), 0);
}

/// Flows that may send share what a target asks for.
#[test]
fn flows_that_are_ready_together_share_the_target() {
    let mut lone = Lone::with(alone(), 40);
    lone.open(10, 40 * 1_436);
    let first = lone.all();
    assert_eq!(first.len(), 26, "they take turns");
    // Two are ready until the first one's last packet.
    assert_eq!(targets(&first[..4]), [3, 3, 6, 6]);
}
