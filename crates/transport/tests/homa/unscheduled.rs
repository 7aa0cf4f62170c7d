//! Aeolus: a probe behind the unscheduled packets, and recovery of the lost ones.

use trimline_packet::{Flags, Kind};
use trimline_transport::homa::{Config, Ending};

use crate::lone::{Lone, config, data_from, grant, probe, resend, us};

fn aeolus() -> Config {
    Config { aeolus: true, marked: 3, ..config() }
}

#[test]
fn a_probe_follows_the_unscheduled_packets() {
    for (bytes, last) in [(500, 0), (2100, 2), (50_000, 2)] {
        let mut lone = Lone::new(aeolus());
        lone.open(1, Some(bytes));
        let sent = lone.all();
        let (probe, data) = sent.split_last().expect("a message");
        assert_eq!(data.last().map(|packet| packet.header.sequence), Some(last), "{bytes}");
        let header = probe.header;
        assert_eq!((header.kind, header.sequence), (Kind::Nack, last));
        assert!(header.flags.contains(Flags::FROM_OPENER | Flags::SYN));
        assert_eq!(header.service_port(), bytes.div_ceil(1000) as u16, "packets of the message");
        // The probe waits in the queue of the data, but is not marked to be dropped.
        assert_eq!(probe.service, data[data.len() - 1].service);
        assert_eq!((probe.wire_bytes, probe.marks), (64, 0));
        assert_eq!(lone.endpoint.statistics(0).packets, u64::from(last) + 1);
    }
    let mut without = Lone::new(config());
    without.open(1, Some(2100));
    assert_eq!(without.data().len(), 3);
}

#[test]
fn a_message_with_a_queued_probe_has_not_ended() {
    let linger = trimline_packet::TimeDelta::from_us(50);
    let mut lone = Lone::new(Config { ending: Ending::Silent(linger), ..aeolus() });
    lone.open(1, Some(900));
    assert!(lone.next().is_some());
    lone.at(60).expire();
    assert_eq!((lone.events(), lone.all().len()), (vec![], 1));
    lone.at(110).expire();
    assert_eq!(lone.events().len(), 1);
}

/// Lost packets are granted before packets that were never sent.
#[test]
fn lost_data_is_granted_first() {
    let mut lone = Lone::listening(aeolus());
    lone.receive(&data_from(7, 7, 1, 9));
    // Three packets are unscheduled, 3300 B; one is here, and a GRANT fills the round trip.
    assert_eq!(lone.said(Kind::Pull), [(7, 4, 0)]);
    lone.at(10).receive(&probe(7, 2, 9));
    assert_eq!(lone.endpoint.outstanding_bytes(0), 1100, "what was granted alone is on its way");
    let mut said = Vec::new();
    for now in 10..14 {
        lone.now = us(now);
        said.extend(lone.all().iter().map(|packet| (packet.header.kind, packet.header.sequence)));
    }
    assert_eq!(said, [(Kind::Nack, 0), (Kind::Nack, 2)], "one each packet time, no more than fits");
    assert_eq!(lone.endpoint.outstanding_bytes(0), 3300);
    // A second copy of a probe takes back nothing.
    lone.receive(&probe(7, 2, 9));
    assert_eq!((lone.endpoint.outstanding_bytes(0), lone.next()), (3300, None));
    lone.at(20).receive(&data_from(7, 7, 0, 9));
    assert_eq!(lone.said(Kind::Pull), [(7, 5, 0)]);
}

#[test]
fn a_probe_alone_announces_a_message() {
    let mut lone = Lone::listening(aeolus());
    lone.receive(&probe(7, 0, 1));
    assert_eq!(lone.said(Kind::Nack), [(7, 0, 1 << 16)]);
    // The only scheduled message has the lowest priority.
    lone.at(100).expire();
    assert_eq!(lone.all().len(), 1, "what does not come is asked for again");
    lone.receive(&data_from(7, 7, 0, 1));
    assert_eq!((lone.said(Kind::Ack), lone.endpoint.outstanding_bytes(0)), (vec![(7, 1, 0)], 0));
    // No host probes while the scheme is off.
    let mut off = Lone::listening(config());
    off.receive(&probe(7, 0, 1));
    assert_eq!((off.next(), off.table.len()), (None, 0));
}

/// A packet behind the probe was on its way, and is not asked for.
#[test]
fn reordered_data_is_not_lost() {
    let mut lone = Lone::listening(aeolus());
    lone.receive(&probe(7, 2, 3));
    lone.receive(&data_from(7, 7, 0, 3));
    lone.receive(&data_from(7, 7, 1, 3));
    assert_eq!(lone.endpoint.outstanding_bytes(0), 0);
    assert_eq!(lone.said(Kind::Nack), [(7, 2, 1 << 16)]);
    assert_eq!(lone.endpoint.outstanding_bytes(0), 1100);
    lone.receive(&data_from(7, 7, 2, 3));
    assert_eq!(lone.said(Kind::Ack), [(7, 3, 0)]);
}

#[test]
fn lost_data_is_resent_with_the_priority_of_its_grant() {
    let mut lone = Lone::new(aeolus());
    lone.open(1, Some(2500));
    lone.all();
    lone.receive(&resend(1, 1, 1, 2));
    assert_eq!(lone.data(), [(1, 1, 2)]);
    let mut without = Lone::new(config());
    without.open(1, Some(9500));
    without.all();
    without.receive(&resend(1, 1, 1, 2));
    without.receive(&grant(1, 4, 1));
    assert_eq!(without.data(), [(1, 1, 5), (1, 3, 1)], "as urgent as at first");
}
