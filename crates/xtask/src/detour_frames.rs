//! Vectors of detours as bytes, for RTL and P4: `cargo xtask vectors --expand FOLDER`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::detours::{Arriving, Command, Config, PORTS, Vector, packet_of, read_all};
use crate::frames::{frame, hex, mend_checksum};

/// Initial TTL in the wire format: the paper's `MAX_TTL`.
pub(crate) const MAX_TIME_TO_LIVE: u8 = 64;

/// Offset of the TTL in a frame.
const TIME_TO_LIVE: usize = 22;

/// Priorities beside which the wire format has a mark of unscheduled data.
const PRIORITIES: u8 = 8;

/// Returns the frame of a packet that has left this number of switches.
///
/// # Errors
/// Refuses a packet that would have been dropped on its way.
pub(crate) fn frame_of(arriving: &Arriving, switches: u8) -> Result<Vec<u8>, String> {
    let mut bytes = frame(&arriving.packet)?;
    let left = MAX_TIME_TO_LIVE.checked_sub(switches).filter(|&left| left > 0);
    bytes[TIME_TO_LIVE] = left.ok_or_else(|| format!("no packet leaves {switches} switches"))?;
    mend_checksum(&mut bytes);
    Ok(bytes)
}

/// Returns the live ports to switches.
pub(crate) fn targets(config: &Config) -> Vec<usize> {
    (0..PORTS).filter(|&port| config.to_switch[port] && !config.dead[port]).collect()
}

/// Returns the DSCPs of unscheduled data, a bit each.
fn unscheduled_dscps() -> Result<u64, String> {
    let mut dscps = 0;
    for kind in ["marked", "droppable"] {
        for priority in 0..PRIORITIES {
            let bytes = frame(&packet_of(kind, (0, 1), priority, 0)?)?;
            dscps |= 1 << (bytes[15] >> 2);
        }
    }
    Ok(dscps)
}

/// Expands a vector: the hardware's settings, and frames instead of kinds of packets.
pub(crate) fn expand(vector: &Vector) -> Result<String, String> {
    let Config { threshold, limit, .. } = vector.config;
    let ports = targets(&vector.config).iter().fold(0u32, |ports, port| ports | 1 << port);
    let mut text = format!(
        "config threshold={threshold} limit={limit} max_ttl={MAX_TIME_TO_LIVE} targets={ports} unscheduled={}\n",
        unscheduled_dscps()?
    );
    for (line, command) in &vector.commands {
        let expanded = match command {
            Command::Length { port, packets } => format!("length {port} {packets}"),
            Command::Draw { places, of } => {
                places.iter().fold(format!("draw {of}"), |mut text, place| {
                    let _ = write!(text, " {place}");
                    text
                })
            }
            Command::Packet(arriving) => {
                let bytes = frame_of(arriving, arriving.switches)
                    .map_err(|error| format!("{}:{line}: {error}", vector.file))?;
                format!("packet {} {} {}", arriving.input, arriving.own, hex(&bytes))
            }
            Command::Expect(port) => format!("expect {port}"),
            Command::Serve { port, times } => format!("serve {port} {times}"),
            Command::Seen { port, packets } => format!("seen {port} {packets}"),
            Command::Detoured { port, packets } => format!("detoured {port} {packets}"),
        };
        text.push_str(&expanded);
        text.push('\n');
    }
    Ok(text)
}

/// Writes every vector of detours into `folder`. Returns their number, or problem and place.
pub(crate) fn expand_all(root: &Path, folder: &Path) -> Result<usize, String> {
    let vectors = read_all(root)?;
    for vector in &vectors {
        let name = Path::new(&vector.file).file_stem().unwrap_or_default().to_string_lossy();
        let path = folder.join(format!("{name}.detour"));
        fs::write(&path, expand(vector)?)
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(vectors.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "# rule: r\n# origin: here\nconfig threshold=3\nports to_switch 2 3 5\ndead 5\n";

    #[test]
    fn a_vector_becomes_frames_and_settings() {
        let lines =
            "length 2 4\ndraw 0 0 of 1\npacket 0 2 marked count=1 priority=7\nexpect 3\nserve 3\n";
        let vector = Vector::parse(Path::new("v"), &format!("{HEAD}{lines}")).unwrap();
        let text = expand(&vector).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].starts_with("config threshold=3 limit=2 max_ttl=64 targets=12 unscheduled=")
        );
        assert_eq!(lines[1..3], ["length 2 4", "draw 1 0 0"]);
        assert_eq!(lines[4..], ["expect 3", "serve 3 1"]);
        // The TTL of 63 in its place, and a checksum that fits.
        let frame = lines[3].strip_prefix("packet 0 2 ").unwrap();
        assert_eq!(&frame[44..46], "3f");
        let words =
            (28..68).step_by(4).map(|at| u32::from_str_radix(&frame[at..at + 4], 16).unwrap());
        let sum: u32 = words.sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }

    #[test]
    fn each_priority_has_two_marks() {
        let dscps = unscheduled_dscps().unwrap();
        assert_eq!(dscps.count_ones(), 16);
        assert_eq!(dscps >> 3 & 0b101, 0b101, "3 and 5 are those of priority 0");
    }

    #[test]
    fn a_packet_that_would_have_been_dropped_is_refused() {
        let vector = format!("{HEAD}packet 0 2 marked count=64\nexpect 2\n");
        let vector = Vector::parse(Path::new("v"), &vector).unwrap();
        assert_eq!(expand(&vector).unwrap_err(), "v:6: no packet leaves 64 switches");
    }
}
