//! Wireshark's view of a capture from the testbed.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;
use trimline_packet::wire::{Frame, Profile};
use trimline_packet::{Kind, Service};
use trimline_testbed::group::with_switches;

const HOSTS: u32 = 20;
const EACH: usize = 56_000;

/// Nineteen hosts send to one through a switch that queues two packets: headers fill its queue, and some go back
/// (NDP 3.2.4).
fn incast(capture: &Path) -> io::Result<u64> {
    let network = TestNetwork::build(Shape::Star(HOSTS), 1500)?;
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

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Data,
    Trimmed,
    Returned,
    Ack,
    Nack,
    Pull,
    Reset,
}

/// Returns the frames that our own parser finds in the capture.
fn parsed(path: &Path) -> Vec<What> {
    let bytes = std::fs::read(path).unwrap();
    let (mut at, mut frames) = (24, Vec::new());
    while at < bytes.len() {
        let length = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        let frame = Frame::new(&bytes[at + 16..at + 16 + length]).unwrap();
        let datagram = frame.parse(&Profile::PAPER).unwrap().datagram;
        frames.push(match (datagram.fields.kind, datagram.service.service()) {
            (Kind::Data, Service::Returned) => What::Returned,
            (Kind::Data, Service::Trimmed) => What::Trimmed,
            (Kind::Data, _) => What::Data,
            (Kind::Ack, _) => What::Ack,
            (Kind::Nack, _) => What::Nack,
            (Kind::Pull, _) => What::Pull,
            (Kind::Reset, _) => What::Reset,
        });
        at += 16 + length;
    }
    frames
}

/// Returns the frames that the dissector finds. Panics at an unknown or malformed frame.
fn dissected(path: &Path, dissector: &Path) -> Vec<What> {
    let fields = ["kind", "trimmed", "returned"].map(|name| format!("ndp_trim.{name}"));
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(path).args(["-X", &format!("lua_script:{}", dissector.display())]);
    tshark.args(["-T", "fields", "-E", "separator=,", "-e", "_ws.malformed"]);
    tshark.args(fields.iter().flat_map(|field| ["-e", field]));
    let done = tshark.output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && !said.contains("Lua"), "{said}");
    let lines = String::from_utf8(done.stdout).unwrap();
    let what = |(number, line): (usize, &str)| {
        let cells: Vec<&str> = line.split(',').collect();
        match cells[..] {
            ["", "0", "", ""] => What::Data,
            ["", "0", _, ""] => What::Trimmed,
            ["", "0", _, _] => What::Returned,
            ["", "1", "", ""] => What::Ack,
            ["", "2", "", ""] => What::Nack,
            ["", "3", "", ""] => What::Pull,
            ["", "4", "", ""] => What::Reset,
            _ => panic!("frame {}: malformed, kind, trimmed, returned: {line}", number + 1),
        }
    };
    lines.lines().enumerate().map(what).collect()
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
    let frames = parsed(&path);
    let dissector = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/wireshark/ndp.lua");
    let seen = dissected(&path, &dissector);
    assert_eq!(seen.len(), frames.len());
    for (number, (seen, frame)) in (1..).zip(seen.iter().zip(&frames)) {
        assert_eq!(seen, frame, "frame {number}");
    }
    for what in [What::Data, What::Trimmed, What::Returned, What::Ack, What::Nack, What::Pull] {
        assert!(frames.contains(&what), "{what:?}");
    }
    std::fs::remove_file(&path).unwrap();
}
