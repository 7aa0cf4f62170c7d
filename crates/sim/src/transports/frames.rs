//! Packets of the TCP family as frames of real hosts: Ethernet, IPv4 and TCP with its options, for captures.
//!
//! Segments become bytes: a full segment is the transport's payload; the last one of a message may be shorter. Streams
//! begin at 0, as most tools show them. A host listens at port 5001; the opener's port is its connection and subflow.
//!
//! A simulated segment has less information than real options ([`Said`]), and no more is shown: an ACK with SACK blocks
//! has no time stamps. A run counts 64 bytes on the wire besides the payload, whatever the options.

use std::collections::BTreeMap;

use trimline_metrics::capture::Frames;
use trimline_packet::{HostId, Kind, Packet};
use trimline_transport::tcp::{Config, MARK_CWR, Said};

const PORT: u16 = 5001;
/// Protocol number of TCP in IPv4.
const TCP: u8 = 6;
/// Tick of a time stamp: 2^20 ps.
const TICK: u32 = 20;

const SYN: u8 = 1 << 1;
const PSH: u8 = 1 << 3;
const ACK: u8 = 1 << 4;
const ECE: u8 = 1 << 6;
const CWR: u8 = 1 << 7;

/// Opener, peer, connection and subflow; the connection's own numbers come after all subflows.
type Stream = (u32, u32, u32, u8);
const WHOLE: u8 = u8::MAX;

pub(super) struct Segments {
    config: Config,
    /// Missing bytes to a full segment, by stream and segment.
    short: BTreeMap<Stream, BTreeMap<u32, u64>>,
    /// Last segment sent, by stream.
    near: BTreeMap<Stream, u32>,
}

impl Segments {
    /// Collects the streams of packets in order of time.
    pub(super) fn new<'a>(
        config: &Config,
        packets: impl IntoIterator<Item = &'a Packet>,
    ) -> Segments {
        let config = config.clone();
        let mut made = Segments { config, short: BTreeMap::new(), near: BTreeMap::new() };
        for packet in packets {
            if packet.header.kind != Kind::Data {
                continue;
            }
            let Some((stream, said)) = made.read(packet) else { continue };
            let missing = u64::from(made.config.payload_bytes).saturating_sub(said.payload.into());
            if said.payload == 0 || missing == 0 {
                continue;
            }
            made.short.entry(stream).or_default().insert(said.number, missing);
            if let Some(number) = said.of_connection {
                let whole = (stream.0, stream.1, stream.2, WHOLE);
                made.short.entry(whole).or_default().insert(number, missing);
            }
        }
        made.near.clear();
        made
    }

    fn read(&mut self, packet: &Packet) -> Option<(Stream, Said)> {
        let is_data = packet.header.kind == Kind::Data;
        let ends = (packet.source.get(), packet.destination.get());
        let (opener, peer) = if is_data { ends } else { (ends.1, ends.0) };
        let connection = packet.header.connection.get();
        let first = Said::of(packet, &self.config, 0)?;
        let stream = (opener, peer, connection, first.subflow);
        let near = self.near.get(&stream).copied().unwrap_or(0);
        let said = Said::of(packet, &self.config, near)?;
        if is_data {
            self.near.insert(stream, said.number);
        }
        Some((stream, said))
    }

    fn byte(&self, stream: Stream, number: u32) -> u32 {
        let missing: u64 = match self.short.get(&stream) {
            Some(short) => short.range(..number).map(|(_, missing)| missing).sum(),
            None => 0,
        };
        (u64::from(number) * u64::from(self.config.payload_bytes) - missing) as u32
    }

    fn window(&self) -> (u16, u8) {
        let bytes = u64::from(self.config.receive_window) * u64::from(self.config.payload_bytes);
        let scale = (0..14).find(|scale| bytes >> scale <= u64::from(u16::MAX)).unwrap_or(14);
        ((bytes >> scale).min(u16::MAX.into()) as u16, scale)
    }

    /// Returns the options of a segment, without padding.
    fn options(&self, stream: Stream, said: &Said, is_data: bool, time_ps: u64) -> Vec<u8> {
        let config = &self.config;
        let mut options = Vec::new();
        if said.is_syn {
            let [high, low] = config.payload_bytes.to_be_bytes();
            options.extend([2, 4, high, low, 3, 3, self.window().1]);
            if config.sack {
                options.extend([4, 2]);
            }
        }
        // An ACK carries its send time; the simulation needs only its echo.
        let now = (time_ps >> TICK) as u32;
        let stamp = if is_data { said.stamp } else { said.echo.map(|_| now) };
        if let Some(stamp) = stamp.or((said.is_syn && config.timestamps).then_some(now)) {
            options.extend([8, 10]);
            options.extend(stamp.to_be_bytes());
            options.extend(said.echo.unwrap_or(0).to_be_bytes());
        }
        let room = (38usize.saturating_sub(options.len())) / 8;
        let blocks = &said.blocks[..said.blocks.len().min(room)];
        if !blocks.is_empty() {
            options.extend([5, 2 + 8 * blocks.len() as u8]);
            for &(first, count) in blocks {
                let ends = [first, first.wrapping_add(count)];
                let bytes = ends.map(|end| 1u32.wrapping_add(self.byte(stream, end)).to_be_bytes());
                options.extend(bytes.as_flattened());
            }
        }
        if config.subflows > 1 {
            self.multipath(stream, said, is_data, &mut options);
        }
        options
    }

    /// Adds the options of Multipath TCP (RFC 8684): of SYNs, and places of data.
    fn multipath(&self, stream: Stream, said: &Said, is_data: bool, options: &mut Vec<u8>) {
        let (opener, peer, connection, subflow) = stream;
        let whole = (opener, peer, connection, WHOLE);
        let key = u64::from(opener) << 32 | u64::from(connection);
        match (said.is_syn && said.payload == 0, subflow, is_data) {
            (true, 0, true) => options.extend([30, 4, 0x01, 0x01]),
            (true, 0, false) => {
                options.extend([30, 12, 0x01, 0x01]);
                options.extend((key | 1 << 63).to_be_bytes());
            }
            (true, _, true) => {
                options.extend([30, 12, 0x10, subflow]);
                options.extend(connection.to_be_bytes());
                options.extend(u32::from(subflow).to_be_bytes());
            }
            (true, _, false) => {
                options.extend([30, 16, 0x10, subflow]);
                options.extend(key.to_be_bytes());
                options.extend(u32::from(subflow).to_be_bytes());
            }
            (false, ..) => {
                let Some(number) = said.of_connection else { return };
                let place = 1u32.wrapping_add(self.byte(whole, number)).to_be_bytes();
                if is_data {
                    options.extend([30, 14, 0x20, 0x04]);
                    options.extend(place);
                    options.extend(1u32.wrapping_add(self.byte(stream, said.number)).to_be_bytes());
                    options.extend(said.payload.to_be_bytes());
                } else {
                    options.extend([30, 8, 0x20, 0x01]);
                    options.extend(place);
                }
            }
        }
    }
}

impl Frames for Segments {
    fn frame(&mut self, packet: &Packet, time_ps: u64) -> Option<Vec<u8>> {
        let is_data = packet.header.kind == Kind::Data;
        let (stream, said) = self.read(packet)?;
        let mut options = self.options(stream, &said, is_data, time_ps);
        while !options.len().is_multiple_of(4) {
            options.push(1);
        }
        let client =
            1024 + (stream.2.wrapping_mul(8).wrapping_add(stream.3.into()) % 60_000) as u16;
        let (from, to) = if is_data { (client, PORT) } else { (PORT, client) };
        let begins = said.is_syn && said.number == 0;
        let place = 1u32.wrapping_add(self.byte(stream, said.number));
        // Only the opener has a stream; a SYN is a byte of it, and of the answer's.
        let (sequence, answers) = match (is_data, begins) {
            (true, true) => (0, 0),
            (true, false) => (place, 1),
            (false, _) => (u32::from(!said.is_syn), place),
        };
        let mut flags = 0;
        let set = |flags: &mut u8, flag: u8, is_set: bool| *flags |= if is_set { flag } else { 0 };
        set(&mut flags, SYN, if is_data { begins } else { said.is_syn });
        set(&mut flags, ACK, answers > 0);
        set(&mut flags, PSH, is_data && said.is_last);
        let asks_for_ecn = self.config.ecn && said.is_syn && said.payload == 0;
        set(&mut flags, ECE, packet.marks & Packet::MARK_ECE != 0 || asks_for_ecn);
        set(&mut flags, CWR, packet.marks & MARK_CWR != 0 || (asks_for_ecn && is_data));
        let (window, scale) = self.window();
        let window = if flags & SYN == 0 {
            window
        } else {
            window.checked_shl(scale.into()).unwrap_or(u16::MAX)
        };

        let mut segment = Vec::with_capacity(60 + usize::from(said.payload));
        segment.extend(from.to_be_bytes());
        segment.extend(to.to_be_bytes());
        segment.extend(sequence.to_be_bytes());
        segment.extend(answers.to_be_bytes());
        segment.extend([(5 + options.len() as u8 / 4) << 4, flags]);
        segment.extend(window.to_be_bytes());
        segment.extend([0; 4]);
        segment.extend(options);
        // The content of packets is not simulated.
        segment.resize(segment.len() + usize::from(said.payload), 0);
        Some(framed(packet, segment))
    }
}

/// Puts a segment behind Ethernet and IPv4.
fn framed(packet: &Packet, mut segment: Vec<u8>) -> Vec<u8> {
    let [from, to] = [packet.source, packet.destination].map(address);
    let length = segment.len() as u16;
    let pseudo = [&from[..], &to, &[0, TCP], &length.to_be_bytes()].concat();
    let check = ones_complement(&[&pseudo, &segment]);
    segment[16..18].copy_from_slice(&check.to_be_bytes());
    behind_ip(packet, TCP, &segment)
}

/// Puts a payload behind Ethernet and IPv4.
pub(super) fn behind_ip(packet: &Packet, protocol: u8, content: &[u8]) -> Vec<u8> {
    let [from, to] = [packet.source, packet.destination].map(address);
    let length = content.len() as u16;
    let ecn = match (packet.marks & Packet::MARK_CE != 0, packet.marks & Packet::MARK_ECT != 0) {
        (true, _) => 3,
        (false, true) => 2,
        (false, false) => 0,
    };
    let mut ip = vec![0x45, ecn];
    ip.extend((20 + length).to_be_bytes());
    // No fragment; 64 hops.
    ip.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    ip.extend(from);
    ip.extend(to);
    let check = ones_complement(&[&ip]);
    ip[10..12].copy_from_slice(&check.to_be_bytes());
    let mac = |host: HostId| {
        let [_, a, b, c] = host.get().to_be_bytes();
        [0x02, 0, 0, a, b, c]
    };
    let (destination, source) = (mac(packet.destination), mac(packet.source));
    [&destination[..], &source, &[8, 0], &ip, content].concat()
}

/// Returns 10.0.0.0 + n + 1, as in captures of other transports.
fn address(host: HostId) -> [u8; 4] {
    (10 << 24 | (host.get().wrapping_add(1) & 0xff_ffff)).to_be_bytes()
}

/// Returns the Internet checksum (RFC 1071) over pieces of whole words; the last may be odd.
fn ones_complement(pieces: &[&[u8]]) -> u16 {
    let described = pieces.iter().flat_map(|piece| piece.chunks(2));
    let sum: u64 =
        described.map(|word| u64::from(word[0]) << 8 | u64::from(*word.get(1).unwrap_or(&0))).sum();
    let mut sum = sum;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suites::plans::star;
    use crate::transports::{Family, Transport};
    use trimline_packet::{ConnectionId, Flags, Header, PathId, Service};

    fn config() -> Config {
        Family::Tcp.config("sack = false\ntimestamps = false", &star(2)).expect("its keys")
    }

    fn data(sequence: u32, payload: u16, flags: u8) -> Packet {
        let header = Header {
            kind: Kind::Data,
            flags: Flags::default().with(Flags::FROM_OPENER | flags),
            path: PathId::new(0),
            connection: ConnectionId::new(3),
            sequence,
            extra: 0,
        };
        let (source, destination) = (HostId::new(1), HostId::new(0));
        let marks = Packet::MARK_ECT | Packet::MARK_CE;
        let service = Service::Droppable.into();
        Packet { source, destination, header, wire_bytes: payload + 64, service, marks }
    }

    fn word(frame: &[u8], at: usize) -> u32 {
        u32::from_be_bytes(*frame[at..].first_chunk().expect("four bytes"))
    }

    /// Two messages on a persistent connection: the last segment of the first one has ten bytes.
    #[test]
    fn sequence_numbers_follow_segments_of_any_length() {
        let config = config();
        let full = config.payload_bytes;
        let packets = [data(0, full, 0), data(1, 10, Flags::LAST), data(2, full, 0)];
        let mut frames = Segments::new(&config, &packets);
        let of = |packet: &Packet, frames: &mut Segments| frames.frame(packet, 0).expect("a frame");
        let frame = packets.map(|packet| of(&packet, &mut frames));
        let place = |frame: &[u8]| word(frame, 14 + 20 + 4);
        let places = [0, u32::from(full), u32::from(full) + 10].map(|byte| byte + 1);
        assert_eq!([0, 1, 2].map(|number| place(&frame[number])), places);
        // Whole and valid: the sum over a valid header is zero.
        assert_eq!(ones_complement(&[&frame[1][14..34]]), 0);
        assert_eq!(frame[1][15] & 3, 3, "congestion experienced");
        let flags = |frame: &[u8]| frame[14 + 20 + 13];
        assert_eq!(flags(&frame[1]), ACK | PSH);
    }
}
