//! Packets that a sender pushes unscheduled.

use trimline_packet::{ByteCount, Flags, Kind, Packet, Service, Time};
use trimline_transport::ndp::{Command, Config};

use crate::impaired::two;
use crate::link::{LinkAction, Network, config, us};
use crate::lone::*;

/// Returns an endless sender after its first window, and those packets.
fn pushed(initial_window: u32, marked: u32) -> (Lone, Vec<Packet>) {
    let mut lone = Lone::sender(Config { initial_window, marked, ..config() }, None);
    let sent = lone.all();
    (lone, sent)
}

#[test]
fn first_time_unscheduled_data_is_marked() {
    let marks = |packets: &[Packet]| -> Vec<(u32, bool)> {
        packets
            .iter()
            .map(|packet| (packet.header.sequence, packet.marks == Packet::MARK_UNSCHEDULED))
            .collect()
    };
    let (mut lone, sent) = pushed(4, 3);
    assert_eq!(marks(&sent), [(0, true), (1, true), (2, true), (3, false)]);
    lone.receive(&nack(1));
    lone.receive(&pull(2));
    assert_eq!(marks(&lone.all()), [(1, false), (4, false)]);
    let (_, sent) = pushed(2, 9);
    assert_eq!(marks(&sent), [(0, true), (1, true)]);
}

fn aeolus(initial_window: u32) -> Config {
    Config { initial_window, marked: initial_window, aeolus: true, ..config() }
}

/// Aeolus: the probe has 64 bytes, and the path and queues of the last unscheduled packet.
#[test]
fn a_probe_follows_the_unscheduled_packets() {
    for (packets, last) in [(None, 2), (Some(9), 2), (Some(3), 2), (Some(2), 1)] {
        let mut lone = Lone::sender(aeolus(3), packets);
        let sent = lone.all();
        let (probe, data) = sent.split_last().expect("a window");
        assert_eq!(data.last().map(|packet| packet.header.sequence), Some(last));
        assert_eq!((probe.header.kind, probe.header.sequence), (Kind::Data, last));
        assert!(probe.header.flags.contains(Flags::SYN | Flags::PULL | Flags::FROM_OPENER));
        let is_end = packets.is_some_and(|packets| packets <= 3);
        assert_eq!(probe.header.flags.contains(Flags::LAST), is_end, "{packets:?}");
        assert_eq!((probe.wire_bytes, probe.marks), (64, 0), "it is not dropped as they are");
        assert!(probe.service == Service::Droppable);
        assert_eq!(probe.header.path, data[data.len() - 1].header.path);
        // The probe is no packet of the connection, and takes no credit.
        let statistics = lone.endpoint.sender_statistics(lone.slot(sending(1)));
        assert_eq!(statistics.packets_sent, u64::from(last) + 1);
        assert_eq!(lone.next(), None);
    }
    let mut empty = Lone::new(aeolus(3));
    empty.open(1, Some(0));
    assert_eq!(empty.all().len(), 1, "an empty packet cannot be cut");
    let (_, without) = pushed(3, 3);
    assert_eq!(without.len(), 3);
}

#[test]
fn answered_packets_need_no_probe() {
    let mut lone = Lone::sender(aeolus(2), Some(2));
    (0..2).for_each(|_| assert!(lone.next().is_some()));
    lone.receive(&ack(0));
    lone.receive(&ack(1));
    assert_eq!(lone.next(), None);
}

/// A probe that waited until its packets were answered asks nothing, and leaves its credit to later data.
#[test]
fn a_probe_that_came_too_late_takes_no_credit_of_later_data() {
    for (window, is_appended_before) in [(1, false), (1, true), (2, false), (2, true)] {
        let mut lone = Lone::sender(aeolus(window), Some(1));
        let first = lone.next().expect("the packet");
        assert_eq!(first.wire_bytes, 9064);
        let later = Command::Send { key: sending(1), length: ByteCount::new(100) };
        if is_appended_before {
            lone.command(later.clone());
            lone.receive(&ack(0));
        } else {
            lone.receive(&ack(0));
            lone.command(later);
        }
        let sent = lone.all();
        // In a window of two the later packet is unscheduled too, and has a probe of its own.
        let sizes: Vec<_> = sent.iter().map(|packet| packet.wire_bytes).collect();
        assert_eq!(sizes, [164, 64][..window as usize], "{is_appended_before}: {sent:?}");
        // What is appended to a window on its way takes the late probe's credit besides its own.
        let left = lone.endpoint.sender_progress(lone.slot(sending(1))).credit;
        assert_eq!(left, u32::from(is_appended_before) * (window - 1), "{window}");
    }
}

/// A probe draws NACKs and pulls as missing packets' headers would.
#[test]
fn a_probe_is_answered_with_the_lost_packets() {
    let probe = |last: u32, mask: u8| {
        let mut packet = data(1, last, Flags::SYN | Flags::PULL | mask);
        packet.header.extra = trimline_packet::Header::data_extra(0, crate::link::PORT);
        (packet.wire_bytes, packet.service) = (64, Service::Droppable.into());
        packet
    };
    let mut lone = Lone::new(Config { pull_ack: false, ..aeolus(4) });
    lone.receive(&data(1, 1, Flags::SYN));
    assert_eq!(lone.kinds(), [(Kind::Ack, 1), (Kind::Pull, 1)]);
    lone.receive(&probe(3, 0));
    lone.at(us(8));
    assert_eq!(lone.kinds(), [(Kind::Nack, 0), (Kind::Nack, 2), (Kind::Nack, 3), (Kind::Pull, 2)]);
    let slot = lone.slot(receiving(1));
    assert_eq!(lone.endpoint.pulls_queued(slot), 2, "one for each that is missing");
    assert_eq!(lone.endpoint.receiver_statistics(slot).trims, 0, "no header came");
    // All was lost: the probe opens the connection. The end is known, so no more is pulled than is missing.
    let mut alone = Lone::new(Config { pull_ack: false, ..aeolus(4) });
    alone.receive(&probe(1, Flags::LAST));
    assert_eq!(alone.kinds(), [(Kind::Nack, 0), (Kind::Nack, 1), (Kind::Pull, 1)]);
    alone.receive(&data(1, 0, Flags::SYN));
    let slot = alone.slot(receiving(1));
    assert_eq!(alone.endpoint.pulls_queued(slot), 1, "one packet is missing");
    // All arrived: no answer.
    let mut whole = Lone::new(Config { pull_ack: false, ..aeolus(4) });
    (0..2).for_each(|sequence| {
        whole.receive(&data(1, sequence, Flags::SYN));
    });
    whole.at(us(1000)).all();
    whole.receive(&probe(1, Flags::LAST));
    assert_eq!(whole.kinds(), []);
    // No sender of this configuration sends more unscheduled packets.
    whole.receive(&probe(4, 0));
    assert_eq!(whole.kinds(), []);
}

/// Without a probe the loss costs a timeout.
#[test]
fn lost_unscheduled_data_arrives_a_round_trip_later() {
    let ended = |config: &Config| -> Time {
        let network: Network = two(config, 6, |packet, _| {
            let is_unasked = packet.marks & Packet::MARK_UNSCHEDULED != 0;
            if is_unasked && packet.header.sequence > 1 {
                LinkAction::Drop
            } else {
                LinkAction::Pass
            }
        });
        network.delivered_at(1, Network::receiving(0, 1)).expect("it ends")
    };
    let with = ended(&aeolus(6));
    assert!(with < us(200), "{with:?}");
    let without = ended(&Config { aeolus: false, ..aeolus(6) });
    assert!(without > us(1000), "{without:?}");
}
