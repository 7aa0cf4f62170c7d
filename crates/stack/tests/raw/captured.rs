//! What Wireshark makes of a capture from the testbed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;
use trimline_packet::wire::{Frame, Profile};
use trimline_packet::{Kind, Service};
use trimline_stack::testbed::group::with_switches;

const HOSTS: u32 = 20;
const EACH: usize = 56_000;

/// Nineteen hosts send to one through a switch that queues two packets: headers fill its queue, and some go
/// back (NDP 3.2.4).
fn incast(capture: &Path) -> io::Result<u64> {
    let network = Network::build(Shape::Star(HOSTS), 1500)?;
    let clock = Clock::real();
    let rate = BitRate::from_bps(100_000_000);
    let settings = "rate = \"100Mbps\"\npayload = 1400\npackets = 2\nseed = 1";
    let ((), count) = with_switches(&network, settings, &clock, Some(capture), || {
        let hosts = (0..HOSTS).map(|number| {
            let mut config = network.config(number, rate)?;
            config.ndp.payload_bytes = 1400;
            config.ndp.initial_window = 40;
            let mut host = network.host(number, config, &clock)?;
            host.listen(7);
            Ok(host)
        });
        let mut group = Group::new(hosts.collect::<io::Result<_>>()?, &clock, Idle::Block);
        for host in &mut group.hosts[1..] {
            let connection = host.connect(address(0, 0).into(), 7, Options::default())?;
            host.core().send(connection, &[7; EACH])?;
            host.core().close(connection);
        }
        let (mut servers, mut got) = (Vec::new(), 0);
        let deadline = group.now().saturating_add(TimeDelta::from_ms(60_000));
        let done = group.run_until(deadline, |hosts| {
            let core = hosts[0].core();
            servers.extend(std::iter::from_fn(|| core.accept()));
            for &server in &servers {
                got += usize::from(
                    matches!(core.receive(server), Ok(Some(message)) if message == [7; EACH]),
                );
            }
            got == HOSTS as usize - 1
        })?;
        assert!(done, "{got} of {} messages came", HOSTS - 1);
        Ok(())
    })?;
    Ok(count.returned)
}

/// What our own parser finds in the capture, by the dissector's display filters.
fn counted(path: &Path) -> BTreeMap<&'static str, usize> {
    let bytes = std::fs::read(path).unwrap();
    let (mut at, mut count) = (24, BTreeMap::new());
    while at < bytes.len() {
        let length = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        let frame = Frame::new(&bytes[at + 16..at + 16 + length]).unwrap();
        let datagram = frame.parse(&Profile::PAPER).unwrap().datagram;
        let filter = match (datagram.fields.kind, datagram.service) {
            (Kind::Data, Service::Returned) => "ndp_trim.returned",
            (Kind::Data, Service::Trimmed) => "ndp_trim.trimmed && !ndp_trim.returned",
            (Kind::Data, _) => "ndp_trim.kind == 0 && !ndp_trim.trimmed",
            (Kind::Ack, _) => "ndp_trim.kind == 1",
            (Kind::Nack, _) => "ndp_trim.kind == 2",
            (Kind::Pull, _) => "ndp_trim.kind == 3",
            (Kind::Reset, _) => "ndp_trim.kind == 4",
        };
        *count.entry(filter).or_insert(0) += 1;
        at += 16 + length;
    }
    count
}

/// Frames of a capture that a display filter passes.
fn shown(path: &Path, dissector: &Path, filter: &str) -> usize {
    let done = Command::new("tshark")
        .arg("-r")
        .arg(path)
        .args(["-X", &format!("lua_script:{}", dissector.display()), "-Y", filter])
        .args(["-T", "fields", "-e", "frame.number"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && !said.contains("Lua"), "{filter}: {said}");
    done.stdout.iter().filter(|&&byte| byte == b'\n').count()
}

#[test]
fn tshark_decodes_trimmed_and_returned_packets() {
    if Command::new("tshark").arg("--version").output().is_err() {
        println!("SKIPPED: tshark is not installed");
        return;
    }
    let name = format!("trimline-returned-{}.pcap", std::process::id());
    let path: PathBuf = std::env::temp_dir().join(name);
    let Some(returned) = allowed(incast(&path)) else { return };
    assert!(returned > 0, "no header came back");
    let count = counted(&path);
    let dissector = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/wireshark/ndp.lua");
    for (filter, &expected) in &count {
        assert_eq!(shown(&path, &dissector, filter), expected, "{filter}");
    }
    for filter in ["ndp_trim.returned", "ndp_trim.trimmed && !ndp_trim.returned"] {
        assert!(count.get(filter).is_some_and(|&count| count > 0), "{filter}: {count:?}");
    }
    for filter in ["!ndp_trim", "_ws.malformed"] {
        assert_eq!(shown(&path, &dissector, filter), 0, "{filter}");
    }
    std::fs::remove_file(&path).unwrap();
}
