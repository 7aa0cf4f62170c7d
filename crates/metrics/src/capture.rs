//! Converts a timeline to a capture file: pcapng with nanoseconds, one interface per port or host, packets in their
//! wire format (`trimline_packet::wire`, or their transport's: [`Frames`]).
//!
//! Packets are captured when they begin to leave: once per link, whole or trimmed as they are. Host `n` has address
//! 10.0.0.0 + n + 1; the path is the UDP source port.

use std::net::{IpAddr, Ipv4Addr};

use trimline_packet::wire::route::{entropy_of, path_of};
use trimline_packet::wire::{Datagram, Ethernet, Profile, Routes};
use trimline_packet::{HostId, Packet, PathId, Pause};

use crate::timeline::{Timeline, What};

/// Captured bytes of a frame: all headers, and the first payload bytes, which are zeros.
const SNAP: usize = 128;

/// A capture file with its packet counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// Packets in the file.
    pub packets: u64,
    /// Departures that the wire format cannot express.
    pub left_out: u64,
}

/// Host addresses in a network that hashes.
struct Addresses;

impl Routes for Addresses {
    fn canonical(&self, host: HostId) -> Option<IpAddr> {
        let number = host.get().checked_add(1).filter(|number| *number < 1 << 24)?;
        Some(IpAddr::V4(Ipv4Addr::from_bits(10 << 24 | number)))
    }
    fn toward(&self, host: HostId, path: PathId) -> Option<(IpAddr, u16)> {
        Some((self.canonical(host)?, entropy_of(path)))
    }
    fn host(&self, address: IpAddr) -> Option<HostId> {
        match address {
            IpAddr::V4(address) if address.octets()[0] == 10 => {
                (address.to_bits() & 0xff_ffff).checked_sub(1).map(HostId::new)
            }
            _ => None,
        }
    }
    fn path(&self, _address: IpAddr, entropy: u16) -> Option<PathId> {
        Some(path_of(entropy))
    }
}

/// Converts packets to frames, in sending order.
pub trait Frames {
    /// Frame of a packet that leaves at `time_ps`, if it has one.
    fn frame(&mut self, packet: &Packet, time_ps: u64) -> Option<Vec<u8>>;
}

/// Encodes packets in this repository's wire format.
#[derive(Clone, Copy, Debug)]
pub struct Own;

impl Frames for Own {
    fn frame(&mut self, packet: &Packet, _time_ps: u64) -> Option<Vec<u8>> {
        frame(packet)
    }
}

/// Captures the departures of a timeline with packets; `frames_of` converts the packets of each workload.
///
/// # Panics
/// Panics if `frames_of` lacks the workload of a packet.
pub fn pcapng(timeline: &Timeline, frames_of: &mut [Box<dyn Frames>]) -> Capture {
    let mut writer = Writer::default();
    writer.section();
    // Interfaces are in the order of their first packets.
    let mut interface_of = vec![None; timeline.places.len()];
    let mut interfaces = 0u32;
    let mut capture = Capture { bytes: Vec::new(), packets: 0, left_out: 0 };
    for (event, packet) in timeline.events.iter().zip(&timeline.packets) {
        if event.what != What::Depart {
            continue;
        }
        let made = match Pause::of(packet) {
            Some(pause) => Some(pause_frame(pause, event.place)),
            None => frames_of[event.flow.workload as usize].frame(packet, event.time_ps),
        };
        let Some(frame) = made else {
            capture.left_out += 1;
            continue;
        };
        let place = event.place as usize;
        let interface = *interface_of[place].get_or_insert_with(|| {
            writer.interface(&timeline.places[place]);
            interfaces += 1;
            interfaces - 1
        });
        writer.packet(interface, event.time_ps / 1000, &frame);
        capture.packets += 1;
    }
    capture.bytes = writer.bytes;
    capture
}

/// Encodes a pause frame (IEEE 802.1Qbb): MAC control, opcode 0x0101, a bit per class, times in quanta.
fn pause_frame(pause: Pause, place: u32) -> Vec<u8> {
    const TO: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01];
    let [_, a, b, c] = place.to_be_bytes();
    let mut frame = [&TO[..], &[0x02, 1, 0, a, b, c], &[0x88, 0x08, 0x01, 0x01, 0]].concat();
    frame.push(pause.classes);
    for class in 0..8 {
        let quanta = if pause.stopped >> class & 1 != 0 { pause.quanta } else { 0 };
        frame.extend(quanta.to_be_bytes());
    }
    // The shortest frame without its FCS.
    frame.resize(60, 0);
    frame
}

fn frame(packet: &Packet) -> Option<Vec<u8>> {
    let datagram = Datagram::of(packet, &Addresses).ok()?;
    let mac = |host: HostId| {
        let [_, a, b, c] = host.get().to_be_bytes();
        [0x02, 0, 0, a, b, c]
    };
    let ethernet = Ethernet { source: mac(packet.source), destination: mac(packet.destination) };
    // Payload is not simulated.
    let is_whole = packet.wire_bytes > Packet::HEADER_BYTES;
    let payload = vec![0; if is_whole { datagram.fields.payload_length() } else { 0 }];
    let mut bytes = Vec::new();
    datagram.emit(ethernet, &Profile::PAPER, &payload, &[], &mut bytes).ok()?;
    Some(bytes)
}

/// Writes the blocks of a pcapng file (draft-ietf-opsawg-pcapng), little-endian.
#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn block(&mut self, kind: u32, body: &[u8]) {
        let length = body.len() as u32 + 12;
        for part in [&kind.to_le_bytes()[..], &length.to_le_bytes(), body, &length.to_le_bytes()] {
            self.bytes.extend_from_slice(part);
        }
    }

    fn section(&mut self) {
        let mut body = Vec::new();
        body.extend_from_slice(&0x1a2b_3c4d_u32.to_le_bytes());
        body.extend_from_slice(&1u16.to_le_bytes());
        body.extend_from_slice(&0u16.to_le_bytes());
        // The length of the section is unspecified.
        body.extend_from_slice(&u64::MAX.to_le_bytes());
        option(&mut body, 4, b"trimline");
        option(&mut body, 0, b"");
        self.block(0x0a0d_0d0a, &body);
    }

    fn interface(&mut self, name: &str) {
        const ETHERNET: u16 = 1;
        let mut body = Vec::new();
        body.extend_from_slice(&ETHERNET.to_le_bytes());
        body.extend_from_slice(&0u16.to_le_bytes());
        body.extend_from_slice(&(SNAP as u32).to_le_bytes());
        option(&mut body, 2, name.as_bytes());
        // Time stamps are in nanoseconds.
        option(&mut body, 9, &[9]);
        option(&mut body, 0, b"");
        self.block(1, &body);
    }

    fn packet(&mut self, interface: u32, nanoseconds: u64, frame: &[u8]) {
        let kept = &frame[..frame.len().min(SNAP)];
        let mut body = Vec::new();
        for word in [
            interface,
            (nanoseconds >> 32) as u32,
            nanoseconds as u32,
            kept.len() as u32,
            frame.len() as u32,
        ] {
            body.extend_from_slice(&word.to_le_bytes());
        }
        padded(&mut body, kept);
        self.block(6, &body);
    }
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend_from_slice(&code.to_le_bytes());
    body.extend_from_slice(&(value.len() as u16).to_le_bytes());
    padded(body, value);
}

fn padded(body: &mut Vec<u8>, value: &[u8]) {
    body.extend_from_slice(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::tests::event;
    use trimline_packet::wire::Frame;
    use trimline_packet::{ConnectionId, Flags, Header, Kind, Service};

    fn packet(wire_bytes: u16, service: Service) -> Packet {
        let header = Header {
            kind: Kind::Data,
            flags: Flags::default().with(Flags::SYN),
            path: PathId::new(3),
            connection: ConnectionId::new(7),
            sequence: 9,
            extra: Header::data_extra(9000, 0),
        };
        let (source, destination) = (HostId::new(1), HostId::new(0));
        Packet { source, destination, header, wire_bytes, service: service.into(), marks: 0 }
    }

    #[test]
    fn frames_parse_back_to_their_packets() {
        for (bytes, service) in
            [(9064, Service::Trimmable), (64, Service::Trimmed), (64, Service::Returned)]
        {
            let packet = packet(bytes, service);
            let frame = frame(&packet).unwrap();
            let parsed = Frame::new(&frame).unwrap().parse(&Profile::PAPER).unwrap();
            assert_eq!(parsed.packet(&Addresses), Ok(packet));
        }
    }

    #[test]
    fn capture_blocks_are_whole_and_have_their_lengths() {
        let timeline = Timeline {
            places: vec!["tor 0 down 0".into(), "host 1".into()],
            workloads: vec!["w".into()],
            events: vec![
                crate::timeline::Event { place: 1, ..event(5_999, What::Depart) },
                event(7_000, What::Trim),
                event(8_000_000_000_000_000, What::Depart),
            ],
            packets: vec![
                packet(9064, Service::Trimmable),
                packet(64, Service::Trimmed),
                packet(64, Service::Trimmed),
            ],
        };
        let capture = pcapng(&timeline, &mut [Box::new(Own)]);
        assert_eq!((capture.packets, capture.left_out), (2, 0));
        let word =
            |at: usize| u32::from_le_bytes(*capture.bytes[at..].first_chunk().expect("four bytes"));
        let (mut at, mut kinds) = (0, Vec::new());
        while at < capture.bytes.len() {
            let length = word(at + 4);
            assert_eq!(length % 4, 0);
            assert_eq!(word(at + length as usize - 4), length);
            kinds.push((word(at), word(at + 8), word(at + 12), word(at + 16), word(at + 20)));
            at += length as usize;
        }
        assert_eq!(at, capture.bytes.len());
        let packets: Vec<_> = kinds.iter().filter(|kind| kind.0 == 6).collect();
        // Interface, time in ns (high, low), captured bytes.
        assert_eq!(*packets[0], (6, 0, 0, 5, SNAP as u32));
        let ns = 8_000_000_000_000_u64;
        assert_eq!(*packets[1], (6, 1, (ns >> 32) as u32, ns as u32, 60));
    }
}
