//! Vectors as bytes, for RTL and P4, which cannot read names. `cargo xtask vectors --expand FOLDER`.
//!
//! A named packet becomes a frame of the wire format; trimmed and returned packets come from [`Frame::trim`] and
//! [`Frame::bounce`]. A packet of S bytes on the wire is a frame of S - 4 bytes, without the frame check sequence;
//! the two bytes by which a real frame is shorter than the model's are padding.

use std::fmt::Write as _;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use trimline_packet::wire::frame::Lengths;
use trimline_packet::wire::profile::FCS_BYTES;
use trimline_packet::wire::route::{entropy_of, path_of};
use trimline_packet::wire::{Datagram, Ethernet, Frame, Profile, Routes};
use trimline_packet::{HostId, Kind, Packet, PathId, Service};
use trimline_switch::{Action, Choices, Limit, QueueChoices, Scheduler};

use crate::vectors::{Command, FOLDER, PORTS, Vector, read_all};

pub(crate) const GENERATED: &str = "vectors/generated";

/// Profiles that hardware claims: rtl/README.md and p4/README.md.
const PROFILES: [&str; 4] = ["paper", "netfpga", "p4", "drop-tail"];

/// Bytes that a switch reads of every frame: Ethernet and IPv4 headers.
const SHORTEST: usize = 34;

/// Offset of the IP header.
const IP: usize = 14;

/// "No limit" in a field of 20 bits.
const NO_BYTES: u32 = (1 << 20) - 1;
/// "No limit" in a field of 13 bits.
const NO_PACKETS: u32 = (1 << 13) - 1;

/// Addresses of hosts: host N has the first address of 10.0.N.0/24.
struct Hosts;

fn address(host: HostId) -> IpAddr {
    Ipv4Addr::new(10, 0, host.index() as u8, 1).into()
}

impl Routes for Hosts {
    fn canonical(&self, host: HostId) -> Option<IpAddr> {
        Some(address(host))
    }
    fn toward(&self, host: HostId, path: PathId) -> Option<(IpAddr, u16)> {
        Some((address(host), entropy_of(path)))
    }
    fn host(&self, address: IpAddr) -> Option<HostId> {
        match address {
            IpAddr::V4(address) => Some(HostId::new(u32::from(address.octets()[2]))),
            IpAddr::V6(_) => None,
        }
    }
    fn path(&self, _: IpAddr, entropy: u16) -> Option<PathId> {
        Some(path_of(entropy))
    }
}

/// Returns the bytes of a packet, without frame check sequence.
pub(crate) fn frame(packet: &Packet) -> Result<Vec<u8>, String> {
    let mut whole = *packet;
    let is_told = packet.service == Service::Notification;
    if whole.service.service().is_bounced() {
        whole.bounce();
    }
    if is_told {
        let is_data = whole.header.kind == Kind::Data;
        whole.service = if is_data { Service::Droppable } else { Service::Control }.into();
    }
    let cut = matches!(packet.service.service(), Service::Trimmed | Service::Returned);
    if cut {
        whole.service = Service::Trimmable.into();
    }
    let payload = if whole.header.kind == Kind::Data { whole.header.payload_length() } else { 0 };
    let wire = if payload > 0 { payload + Packet::HEADER_BYTES } else { whole.wire_bytes };
    let length = usize::from(wire).saturating_sub(FCS_BYTES);
    if length < SHORTEST {
        let wire = SHORTEST + FCS_BYTES;
        return Err(format!(
            "a frame has {wire} bytes on the wire at least, for its addresses and IPv4 header: {packet:?}"
        ));
    }

    let mac = |host: HostId| [2, 0, 0, 0, 0, host.index() as u8];
    let ethernet = Ethernet { destination: mac(whole.destination), source: mac(whole.source) };
    // No two packets of a vector have equal payloads.
    let sequence = whole.header.sequence as u8;
    let bytes_of =
        |index: u16| (index as u8).wrapping_mul(7).wrapping_add(sequence.wrapping_mul(31));
    let data: Vec<u8> = (0..payload).map(bytes_of).collect();
    let mut bytes = Vec::new();
    let error = |error| format!("{packet:?}: {error}");
    let datagram = Datagram::of(&whole, &Hosts).map_err(error)?;
    datagram.emit(ethernet, &Profile::PAPER, &data, &[], &mut bytes).map_err(error)?;
    let shortest = bytes.len();
    bytes.resize(length.max(shortest), 0);
    if cut {
        let left =
            Frame::trim(&mut bytes, &Profile::PAPER, false, Lengths::Updated).map_err(error)?;
        bytes.truncate(left);
    }
    if packet.service == Service::Returned {
        Frame::bounce(&mut bytes, &Profile::PAPER).map_err(error)?;
    }
    if is_told {
        let left = Frame::notify(&mut bytes, &Profile::PAPER).map_err(error)?;
        bytes.truncate(left);
        return Ok(bytes);
    }
    if length < shortest {
        shorten(&mut bytes, length, cut);
    }
    Ok(bytes)
}

/// Cuts a frame to a length that Ethernet forbids and `emit` never writes. Trimming switches write the remaining
/// length.
fn shorten(bytes: &mut Vec<u8>, length: usize, cut: bool) {
    bytes.truncate(length);
    let left = (length - IP) as u16;
    if cut && left < u16::from_be_bytes([bytes[IP + 2], bytes[IP + 3]]) {
        bytes[IP + 2..IP + 4].copy_from_slice(&left.to_be_bytes());
        mend_checksum(bytes);
    }
}

/// Writes the checksum of an IPv4 header without options.
pub(crate) fn mend_checksum(bytes: &mut [u8]) {
    bytes[IP + 10..IP + 12].fill(0);
    let words = bytes[IP..IP + 20].chunks(2);
    let mut sum: u32 = words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    bytes[IP + 10..IP + 12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the hardware registers of this model, if it has these.
fn registers(choices: &Choices) -> Option<String> {
    let bytes = |limit: u32| limit.min(NO_BYTES);
    let packets = |limit: u32| limit.min(NO_PACKETS);
    let is_more = |queue: &QueueChoices| queue.pool.is_some() || queue.selective_drop.is_some();
    if choices.cell_bytes != 1 || choices.port != Limit::NONE || choices.queues.iter().any(is_more)
    {
        return None;
    }
    let data = choices.queues.last()?;
    let header = choices.queues.first()?;
    let (strict, ratio) = match choices.scheduler {
        Scheduler::Fifo | Scheduler::Strict => (1, 0),
        Scheduler::WeightedRoundRobin { weights } if weights[1] == 1 => (0, weights[0]),
        Scheduler::WeightedRoundRobin { .. } | Scheduler::RateLimited(_) => return None,
    };
    let coin = 2 * u32::from(data.overflow.contains(&Action::TrimRandom));
    let returns = u32::from(header.overflow.contains(&Action::Return));
    let ndp = u32::from(choices.queues.len() == 2);
    Some(format!(
        "ndp={ndp} data_packets={} data_bytes={} header_bytes={} ratio={ratio} strict={strict} \
         return={returns} coin={coin}",
        packets(data.whole.packets),
        bytes(data.whole.bytes),
        bytes(header.header.bytes),
    ))
}

/// Expands the vector for one profile, with input ports of packets. `None`: not for hardware.
pub(crate) fn expand(vector: &Vector, profile: &str) -> Result<Option<String>, String> {
    let Some(registers) = registers(&vector.choices(profile)?) else { return Ok(None) };
    let mut text = format!("profile {profile}\nconfig {registers}\n");
    let mut line = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    for (_, command) in &vector.commands {
        match command {
            Command::Config(_) => {}
            Command::At(_) => return Err("hardware's vectors have no clock".to_owned()),
            Command::Packet { packets, .. } => {
                for (_, packet) in packets {
                    line(format!(
                        "packet {} {}",
                        packet.source.index() % PORTS,
                        hex(&frame(packet)?)
                    ));
                }
            }
            Command::Expect { port, packets } => {
                for (_, packet) in packets {
                    line(format!("expect {port} {}", hex(&frame(packet)?)));
                }
            }
            Command::Serve { port, times } => line(format!("serve {port} {times}")),
            Command::ScriptedBit(coins) => {
                let coins: Vec<&str> =
                    coins.iter().map(|&coin| if coin { "1" } else { "0" }).collect();
                line(format!("coin {}", coins.join(" ")));
            }
            Command::Count { name, number } => line(format!("count {name} {number}")),
        }
    }
    Ok(Some(text))
}

pub(crate) type Expanded = Vec<(String, String, String)>;

pub(crate) fn expanded(root: &Path) -> Result<Expanded, String> {
    let mut texts = Vec::new();
    for vector in read_all(root, &[FOLDER, GENERATED])? {
        let name = Path::new(&vector.file).file_stem().unwrap_or_default().to_string_lossy();
        for profile in vector.profiles.iter().filter(|name| PROFILES.contains(&name.as_str())) {
            if let Some(text) = expand(&vector, profile)? {
                texts.push((name.clone().into_owned(), profile.clone(), text));
            }
        }
    }
    Ok(texts)
}

/// Writes every vector that hardware claims into `folder`, a file for each profile. Returns their number, or problem
/// and place.
pub(crate) fn expand_all(root: &Path, folder: &Path) -> Result<usize, String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let texts = expanded(root)?;
    for (name, profile, text) in &texts {
        let path = folder.join(format!("{name}.{profile}.hex"));
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(texts.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    /// No runts, nor packets of other transports; a packet that lost nothing when trimmed looks whole.
    fn parses_back(packet: &Packet) -> bool {
        let lost = packet.header.kind == Kind::Data && packet.header.payload_length() > 2;
        let cut = matches!(packet.service.service(), Service::Trimmed | Service::Returned);
        // Other transports have priorities in the field of NDP's length.
        let length = u32::from(packet.header.payload_length()) + 64;
        let whole = [Service::Trimmable, Service::Droppable].contains(&packet.service.service());
        let is_ours = !whole || length == u32::from(packet.wire_bytes);
        packet.wire_bytes >= Packet::HEADER_BYTES && (lost || !cut) && is_ours
    }

    #[test]
    fn bytes_that_are_no_frame_are_an_error() {
        let text = |size, seq| {
            format!(
                "# claim: c\n# origin: o\n# profiles: p4\n\
                 define d data size={size} from=1 to=2 seq={seq}\npacket 2 d\n"
            )
        };
        let frame_of = |size, seq: u32| {
            let vector = Vector::parse(Path::new("v"), &text(size, seq)).unwrap();
            match &vector.commands[0].1 {
                Command::Packet { packets, .. } => frame(&packets[0].1),
                other => panic!("{other:?}"),
            }
        };
        assert!(frame_of(37, 0).unwrap_err().starts_with("a frame has 38 bytes"));
        assert_eq!(frame_of(38, 0).unwrap().len(), 34);
        assert_eq!(frame_of(100, u32::MAX).unwrap().len(), 96);
    }

    #[test]
    fn frames_parse_back_to_their_packets() {
        let mut frames = 0;
        for vector in read_all(&root(), &[FOLDER]).unwrap() {
            for (_, command) in &vector.commands {
                let (Command::Packet { packets, .. } | Command::Expect { packets, .. }) = command
                else {
                    continue;
                };
                for (name, packet) in packets.iter().filter(|(_, packet)| parses_back(packet)) {
                    let bytes = frame(packet).unwrap();
                    assert_eq!(bytes.len() + FCS_BYTES, usize::from(packet.wire_bytes), "{name}");
                    let parsed = Frame::new(&bytes).unwrap().parse(&Profile::PAPER).unwrap();
                    assert_eq!(parsed.packet(&Hosts).unwrap(), *packet, "{name}");
                    frames += 1;
                }
            }
        }
        assert!(frames > 1000);
    }
}
