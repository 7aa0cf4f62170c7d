//! Notifications of drops between kernels with TCP: at the switch, in tshark, and in the kernels' counters (FastLane
//! 3.2, 3.3).

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use trimline_packet::wire::Profile;
use trimline_packet::{BitRate, TimeDelta};
use trimline_testbed::fastlane::{self, Setting};
use trimline_testbed::namespace::allowed;

/// A TCP packet as tshark decodes it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Packet {
    dscp: u8,
    /// The length field of IP.
    length: String,
    /// "1": the checksum of the header is right.
    checksum: String,
    ends: [String; 2],
    /// Identification of IP, and TCP's ports and sequence number.
    what: [String; 4],
    /// Bytes of the frame.
    bytes: usize,
}

fn dissected(path: &Path) -> Vec<Packet> {
    let fields = [
        "ip.dsfield.dscp",
        "ip.len",
        "ip.checksum.status",
        "ip.src",
        "ip.dst",
        "ip.id",
        "tcp.srcport",
        "tcp.dstport",
        "tcp.seq_raw",
        "frame.len",
    ];
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(path).args(["-o", "ip.check_checksum:TRUE", "-Y", "ip"]);
    tshark
        .args(["-T", "fields", "-E", "separator=,"])
        .args(fields.iter().flat_map(|field| ["-e", field]));
    let done = tshark.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let line = |line: &str| {
        let cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        let [dscp, length, checksum, source, destination, id, from, to, sequence, bytes] =
            <[String; 10]>::try_from(cells)
                .unwrap_or_else(|cells| panic!("not decoded: {cells:?}"));
        Packet {
            dscp: dscp.parse().unwrap(),
            length,
            checksum,
            ends: [source, destination],
            what: [id, from, to, sequence],
            bytes: bytes.parse().unwrap(),
        }
    };
    String::from_utf8(done.stdout).unwrap().lines().map(line).collect()
}

/// fastlane-3.2-a: a notification is the dropped packet with its ends swapped, cut, with its original length field.
fn check_capture(path: &Path) -> usize {
    let packets = dissected(path);
    let (told, sent): (Vec<Packet>, Vec<Packet>) =
        packets.into_iter().partition(|packet| packet.dscp == Profile::PAPER.notification);
    let known: HashMap<([String; 2], [String; 4]), Packet> = sent
        .into_iter()
        .map(|packet| ((packet.ends.clone(), packet.what.clone()), packet))
        .collect();
    for packet in &told {
        let [source, destination] = packet.ends.clone();
        let original = known.get(&([destination, source], packet.what.clone()));
        let original = original.unwrap_or_else(|| panic!("of no packet: {packet:?}"));
        assert_eq!(packet.length, original.length, "{packet:?}");
        assert_eq!((packet.checksum.as_str(), packet.bytes), ("1", 60), "{packet:?}");
    }
    told.len()
}

/// fastlane-3.2-a, 5.1.3-a: every sender's kernel counts its port's notifications as truncated, no port exceeds its
/// cap, and all flows complete.
#[test]
fn kernel_tcp_is_notified_of_drops_and_continues() {
    let name = format!("trimline-fastlane-{}.pcap", std::process::id());
    let path = std::env::temp_dir().join(name);
    let setting = Setting {
        rate: BitRate::from_bps(50_000_000),
        delay: TimeDelta::from_us(250),
        packets: 20,
        cap: BitRate::from_bps(10_000),
        senders: 2,
        flows: 4,
        bytes: 1_000_000,
        congestion: "cubic".to_owned(),
    };
    let Some(measured) = allowed(fastlane::sized_flows(&setting, Some(&path))) else { return };
    println!("{measured:?}");
    assert_eq!(measured.switch.refused, 0, "{measured:?}");
    for told in &measured.told {
        assert!(told.notifications > 0, "{measured:?}");
        assert_eq!(told.truncated, told.notifications as u64, "{measured:?}");
        assert!(told.max_in_a_second <= setting.max_in_a_second(), "{measured:?}");
    }
    // Each notification from the receiver's port left by a sender's port, or was dropped there.
    assert_eq!((measured.unnotified_data(), measured.unaccounted()), (0, 0), "{measured:?}");
    assert_eq!(measured.flows.complete, setting.senders * setting.flows, "{measured:?}");
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("SKIPPED: tshark is not installed");
    } else {
        assert_eq!(check_capture(&path) as u64, measured.sent());
    }
    std::fs::remove_file(&path).unwrap();
}
