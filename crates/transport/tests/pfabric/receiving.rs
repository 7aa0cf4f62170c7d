//! The rules of a receiver.

use trimline_packet::{Flags, Kind, Packet, Service};
use trimline_transport::Disposition;
use trimline_transport::flow::Event;
use trimline_transport::pfabric::Config;

use crate::lone::{HOST, Lone, PEER, config, data, notified};

const SYN: u8 = Flags::SYN;
const LAST: u8 = Flags::LAST;

fn answers(lone: &mut Lone, packet: &Packet) -> Vec<(u32, u32)> {
    lone.receive(packet);
    let sent = lone.all();
    assert!(sent.iter().all(|ack| ack.header.kind == Kind::Ack && ack.service == Service::Control));
    sent.iter().map(|ack| (ack.header.sequence, ack.header.extra)).collect()
}

/// pFabric 4.3: each packet has its own ACK, also a copy.
#[test]
fn each_ack_names_the_first_missing_packet() {
    let mut lone = Lone::new(config());
    assert_eq!(answers(&mut lone, &data(0, 0)), [], "nothing made the flow known");
    assert_eq!(answers(&mut lone, &data(2, SYN | LAST)), [(2, 0)]);
    assert_eq!(answers(&mut lone, &data(0, SYN)), [(0, 1)]);
    assert_eq!(answers(&mut lone, &data(0, SYN)), [(0, 1)]);
    assert_eq!(lone.events(), []);
    assert_eq!(lone.receive(&data(1, 0)), Disposition::Accept { slot: 0, sequence: 1 });
    assert!(matches!(lone.events()[..], [Event::Delivered { slot: 0, .. }]));
    assert_eq!(lone.receive(&data(1, 0)), Disposition::Discard);
    assert_eq!(lone.events(), []);
    let seen = lone.endpoint.receiver_statistics(0);
    assert_eq!((seen.packets, seen.bytes), (3, 3 * 1436));
    assert_eq!(
        lone.receive(&data(1 << 20, 0)),
        Disposition::Discard,
        "nothing so far ahead was sent"
    );
    let mut forgetful = Lone::new(config());
    forgetful.table.has_forgotten = true;
    assert_eq!(answers(&mut forgetful, &data(0, SYN)), []);
}

/// FastLane 4.2.2: a probe goes back at once, even if its flow is unknown.
#[test]
fn a_probe_goes_back_on_its_path() {
    let mut lone = Lone::new(config());
    let mut probe = data(7, 0);
    (probe.header.kind, probe.wire_bytes) = (Kind::Pull, 64);
    lone.receive(&probe);
    let echo = lone.next().expect("an echo");
    assert_eq!((echo.source, echo.destination, echo.wire_bytes), (HOST, PEER, 64));
    assert_eq!((echo.header.kind, echo.header.sequence), (Kind::Pull, 7));
    assert_eq!(
        (echo.header.path, echo.header.connection),
        (probe.header.path, probe.header.connection)
    );
    assert!(echo.service == Service::Control && echo.header.flags == Flags::default());
}

/// FastLane 3.4.1.
#[test]
fn a_dropped_ack_is_resent_unless_a_later_one_covers_it() {
    let mut lone = Lone::new(Config { fastlane: true, ..config() });
    let acks = [0, 1, 3].map(|sequence| {
        lone.receive(&data(sequence, SYN));
        lone.next().expect("an ACK")
    });
    assert_eq!(answers(&mut lone, &notified(&acks[0])), [], "the next one says that 0 arrived");
    assert_eq!(answers(&mut lone, &notified(&acks[1])), [(1, 2)]);
    assert_eq!(answers(&mut lone, &notified(&acks[2])), [(3, 2)]);
    lone.receive(&data(2, SYN));
    lone.all();
    assert_eq!(answers(&mut lone, &notified(&acks[2])), []);
    let mut plain = Lone::new(config());
    plain.receive(&data(0, SYN));
    let ack = plain.next().expect("an ACK");
    assert_eq!(answers(&mut plain, &notified(&ack)), [], "who does not ask for notifications");
}
