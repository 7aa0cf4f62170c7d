//! Invariants of a frame that a full port drops, for any bytes. The fuzz target and the stack's tests share them.

use trimline_packet::wire::Profile;
use trimline_packet::{Time, TimeDelta};
use trimline_stack::switch::{Config, Fabric};

/// A switch whose host 2 has a slow cable; its port holds three packets.
const SWITCH: &str = "seed = 1\nrate = \"1Gbps\"\npackets = 3\npayload = 1000\n\
                      [[switch]]\nname = \"s\"\nforwarding = \"l2\"\n\
                      [[host]]\nswitch = \"s\"\ninterface = \"p1\"\n\
                      [[host]]\nswitch = \"s\"\ninterface = \"p2\"\nrate = \"1Mbps\"\n";

/// Frames that fill the port.
const FILLERS: u64 = 3;

/// A frame of IPv4 between the hosts, 1014 bytes.
fn filler(from: u8, to: u8) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 8, 0, 0x45, 0];
    frame.resize(1014, 0);
    frame
}

/// Max bytes of a notification: 64 with its FCS, or what the fixed headers need.
const LONGEST: usize = 98;

fn sum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// Sends a frame into a full port. Its first byte says: the frame is between the two hosts; senders are notified of
/// packets without payload; the port orders by priority, which its fillers lack.
pub(crate) fn notification(bytes: &[u8]) {
    let Some((&choices, bytes)) = bytes.split_first() else { return };
    let tells_control = choices & 2 != 0;
    let profile = if choices & 4 != 0 { "fastlane-pfabric" } else { "fastlane" };
    let head = format!(
        "profile = \"{profile}\"\nnotifications = {{ control = {tells_control}, memory = \"128B\" }}\n"
    );
    let config = Config::parse(&(head + SWITCH)).expect("a sound configuration");
    let mut fabric = Fabric::new(&config).expect("a sound configuration");
    let start = Time::ZERO + TimeDelta::from_ms(1);
    fabric.host_sends(start, 1, &filler(2, 1));
    fabric.advance(start + TimeDelta::from_ms(20), &mut |_, _, _| {});
    let now = start + TimeDelta::from_ms(20);
    for _ in 0..FILLERS {
        fabric.host_sends(now, 0, &filler(1, 2));
    }
    let mut sent = bytes[..bytes.len().min(1514)].to_vec();
    sent.resize(sent.len().max(14), 0);
    if choices & 1 != 0 {
        sent[..12].copy_from_slice(&filler(1, 2)[..12]);
    }
    let later = now + TimeDelta::from_us(50);
    fabric.advance(later, &mut |_, _, _| {});
    let before = fabric.counters().nth(1).expect("two ports").2;
    fabric.host_sends(later, 0, &sent);
    let mut back: Vec<Vec<u8>> = Vec::new();
    let mut there = 0;
    while fabric.next() < Time::NEVER {
        let next = fabric.next();
        fabric.advance(next, &mut |_, host, frame| match host {
            0 => back.push(frame.to_vec()),
            _ => there += 1,
        });
    }
    let seen = fabric.counters().nth(1).expect("two ports").2.since(&before);
    let unnotified: u64 =
        fabric.unnotified().expect("senders are told").iter().map(|(_, count)| count).sum();
    // Every frame is sent on, notified, or dropped for a counted reason.
    assert_eq!((fabric.held(), back.len() as u64), (0, seen.notified));
    let is_notification = seen.dropped - unnotified;
    assert!(
        is_notification <= 1 && seen.dropped + seen.notified + there - FILLERS <= 1,
        "{seen:?}"
    );
    let Some(told) = back.first() else { return };
    assert!(told.len() <= LONGEST.min(sent.len()), "{} of {} B", told.len(), sent.len());
    assert_eq!((&told[..6], &told[6..12]), (&sent[6..12], &sent[..6]));
    assert!((told[0] | told[6]) & 1 == 0, "of no group");
    assert_eq!(told[12..14], sent[12..14]);
    let has_v6 = told[12..14] == [0x86, 0xdd];
    let class = if has_v6 { told[14] << 4 | told[15] >> 4 } else { told[15] };
    assert_eq!(class, Profile::PAPER.notification << 2);
    let length =
        u16::from_be_bytes(if has_v6 { [told[18], told[19]] } else { [told[16], told[17]] });
    let before =
        u16::from_be_bytes(if has_v6 { [sent[18], sent[19]] } else { [sent[16], sent[17]] });
    assert_eq!(length, before, "the length of the whole packet");
    let (at, side) = if has_v6 { (22, 16) } else { (26, 4) };
    assert_eq!(told[at..at + side], sent[at + side..at + 2 * side]);
    assert_eq!(told[at + side..at + 2 * side], sent[at..at + side]);
    if !has_v6 {
        let end = 14 + usize::from(told[14] & 15) * 4;
        assert_eq!(sum(&told[14..end]), 0xffff, "the header's checksum is right");
    }
}
