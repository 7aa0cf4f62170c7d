//! Completion of frames that a kernel left unfinished for a virtual cable (veth): a checksum is missing, or one frame
//! holds several datagrams of one length or segments of TCP.
//!
//! The kernel describes each frame in a header before it (struct virtio_net_hdr of linux/virtio_net.h).

use super::ETHERNET_BYTES;

/// The kernel's description of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Offload {
    /// The first byte to sum, and the distance of the missing checksum from it.
    sum: Option<(usize, usize)>,
    /// The kind of joined frames, 0 if not joined.
    joined: u8,
    /// Payload bytes of each joined frame but the last.
    segment: usize,
}

/// Bytes of the description.
pub(super) const BYTES: usize = 10;

const NEEDS_SUM: u8 = 1;
/// Segments of TCP over IPv4 and over IPv6: VIRTIO_NET_HDR_GSO_TCPV4, VIRTIO_NET_HDR_GSO_TCPV6.
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
/// Datagrams of UDP: VIRTIO_NET_HDR_GSO_UDP_L4.
const UDP: u8 = 5;
/// A congestion mark in the byte of the kind.
const MARKED: u8 = 0x80;

const UDP_BYTES: usize = 8;
/// The shortest TCP header.
const TCP_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;
/// Offsets in the TCP header.
const TCP_SEQUENCE: usize = 4;
const TCP_OFFSET: usize = 12;
const TCP_FLAGS: usize = 13;
const TCP_SUM: usize = 16;
const UDP_LENGTH: usize = 4;
const UDP_SUM: usize = 6;
/// TCP flags of the last segment alone (FIN, PSH), and of the first alone (CWR).
const OF_LAST: u8 = 0x09;
const OF_FIRST: u8 = 0x80;

impl Offload {
    pub(super) fn is_offloaded(self) -> bool {
        self != Offload::default()
    }

    /// Reads a description in native byte order.
    pub(super) fn of(bytes: &[u8; BYTES]) -> Offload {
        let half = |at: usize| usize::from(u16::from_ne_bytes([bytes[at], bytes[at + 1]]));
        Offload {
            sum: (bytes[0] & NEEDS_SUM != 0).then(|| (half(6), half(8))),
            joined: bytes[1] & !MARKED,
            segment: half(4),
        }
    }

    /// Hands over a completed frame, or each joined frame. Returns whether that was possible.
    pub(super) fn finish(
        self,
        frame: &mut [u8],
        memory: &mut Vec<u8>,
        take: &mut dyn FnMut(&[u8]),
    ) -> bool {
        match (self.joined, self.sum) {
            (0, None) => {
                take(frame);
                true
            }
            (0, Some((from, place))) => {
                let Some(sum) = frame.get(from..).map(sum) else { return false };
                let Some(field) = frame.get_mut(from + place..from + place + 2) else {
                    return false;
                };
                field.copy_from_slice(&complement(sum).to_be_bytes());
                take(frame);
                true
            }
            (UDP, Some((start, UDP_SUM))) => {
                cut(frame, start, Joined::Udp, self.segment, memory, take).is_some()
            }
            (TCP_V4 | TCP_V6, Some((start, TCP_SUM))) => {
                cut(frame, start, Joined::Tcp, self.segment, memory, take).is_some()
            }
            (_, _) => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joined {
    Udp,
    Tcp,
}

/// Segments packets that share the first one's headers. The transport header begins at `start`.
fn cut(
    frame: &[u8],
    start: usize,
    joined: Joined,
    segment: usize,
    memory: &mut Vec<u8>,
    take: &mut dyn FnMut(&[u8]),
) -> Option<()> {
    let (header, protocol, sum_at) = match joined {
        Joined::Udp => (UDP_BYTES, 17, UDP_SUM),
        Joined::Tcp => {
            let header = usize::from(frame.get(start + TCP_OFFSET)? >> 4) * 4;
            (Some(header).filter(|&bytes| bytes >= TCP_BYTES)?, 6, TCP_SUM)
        }
    };
    let (headers, payload) = frame.split_at_checked(start + header)?;
    let is_v6 = match headers.get(12..15)? {
        &[0x08, 0x00, first] => {
            (start == ETHERNET_BYTES + usize::from(first & 15) * 4).then_some(false)
        }
        [0x86, 0xdd, _] => (start == ETHERNET_BYTES + IPV6_BYTES).then_some(true),
        _ => None,
    }?;
    if segment == 0 || payload.is_empty() {
        return None;
    }
    let count = payload.len().div_ceil(segment);
    for (number, part) in payload.chunks(segment).enumerate() {
        memory.clear();
        memory.extend_from_slice(headers);
        memory.extend_from_slice(part);
        let length = header + part.len();
        let (ip_length, addresses) = match is_v6 {
            true => (length, ETHERNET_BYTES + 8..ETHERNET_BYTES + 40),
            false => (start - ETHERNET_BYTES + length, ETHERNET_BYTES + 12..ETHERNET_BYTES + 20),
        };
        let at = if is_v6 { ETHERNET_BYTES + 4 } else { ETHERNET_BYTES + 2 };
        set(memory, at, u16::try_from(ip_length).ok()?);
        match joined {
            Joined::Udp => set(memory, start + UDP_LENGTH, length as u16),
            Joined::Tcp => {
                let place: [u8; 4] = headers[start + TCP_SEQUENCE..][..4].try_into().ok()?;
                let sequence = u32::from_be_bytes(place).wrapping_add((number * segment) as u32);
                memory[start + TCP_SEQUENCE..][..4].copy_from_slice(&sequence.to_be_bytes());
                let others = if number > 0 { OF_FIRST } else { 0 };
                let others = others | if number + 1 < count { OF_LAST } else { 0 };
                memory[start + TCP_FLAGS] &= !others;
            }
        }
        if !is_v6 {
            if joined == Joined::Tcp {
                // A kernel joins segments again only if their identifications are consecutive.
                let first = u16::from_be_bytes([headers[18], headers[19]]);
                set(memory, ETHERNET_BYTES + 4, first.wrapping_add(number as u16));
            }
            set(memory, ETHERNET_BYTES + 10, 0);
            let check = !folded(sum(&memory[ETHERNET_BYTES..start]));
            set(memory, ETHERNET_BYTES + 10, check);
        }
        set(memory, start + sum_at, 0);
        let pseudo = sum(&memory[addresses]) + protocol + length as u64;
        let check = complement(pseudo + sum(&memory[start..]));
        set(memory, start + sum_at, check);
        take(memory);
    }
    Some(())
}

fn set(bytes: &mut [u8], at: usize, number: u16) {
    bytes[at..at + 2].copy_from_slice(&number.to_be_bytes());
}

/// Returns the sum of 16-bit words (RFC 1071), as 32-bit words, which fold to the same.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let words = words.iter().map(|&word| u64::from(u32::from_be_bytes(word)));
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    words.sum::<u64>() + u64::from(u32::from_be_bytes(last))
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Returns the checksum of a sum, which is never zero: that means none (RFC 768).
fn complement(sum: u64) -> u16 {
    match !folded(sum) {
        0 => 0xffff,
        check => check,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
    use trimline_packet::wire::{Datagram, Ethernet, Fields, Frame, Profile};
    use trimline_packet::{ConnectionId, Flags, Header, Kind, Service};

    fn addresses(v6: bool) -> [IpAddr; 2] {
        match v6 {
            true => [1, 2].map(|last| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last).into()),
            false => [1, 2].map(|last| Ipv4Addr::new(10, 0, 0, last).into()),
        }
    }

    fn frame(v6: bool, sequence: u32, payload: &[u8]) -> Vec<u8> {
        let [source, destination] = addresses(v6);
        let datagram = Datagram {
            source,
            destination,
            entropy: 50_000,
            service: Service::Trimmable.into(),
            marks: 0,
            fields: Fields {
                kind: Kind::Data,
                flags: Flags::default(),
                connection: ConnectionId::new(7),
                sequence,
                extra: Header::data_extra(payload.len() as u16, 9),
            },
        };
        let mut bytes = Vec::new();
        datagram.emit(Ethernet::default(), &Profile::PAPER, payload, &[], &mut bytes).unwrap();
        bytes
    }

    fn said(sum_from: usize, kind: u8, segment: u16) -> Offload {
        let mut bytes = [0; BYTES];
        (bytes[0], bytes[1]) = (NEEDS_SUM, kind);
        bytes[4..6].copy_from_slice(&segment.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(sum_from as u16).to_ne_bytes());
        bytes[8..10].copy_from_slice(&6u16.to_ne_bytes());
        Offload::of(&bytes)
    }

    #[test]
    fn coalesced_datagrams_are_split_as_they_were_sent() {
        for v6 in [false, true] {
            let udp = if v6 { 54 } else { 34 };
            // The last one is shorter.
            let frames: Vec<Vec<u8>> = (0..5)
                .map(|n| frame(v6, n, &vec![n as u8; if n == 4 { 91 } else { 300 }]))
                .collect();
            let mut joined = frames[0][..udp + UDP_BYTES].to_vec();
            frames.iter().for_each(|frame| joined.extend_from_slice(&frame[udp + UDP_BYTES..]));
            let segment = frames[0].len() - udp - UDP_BYTES;
            let mut seen = Vec::new();
            // Field order of linux/virtio_net.h.
            let offload = said(udp, 5, segment as u16);
            assert!(
                offload.finish(&mut joined, &mut Vec::new(), &mut |one| seen.push(one.to_vec()))
            );
            assert_eq!(seen.len(), 5);
            for (number, (seen, frame)) in seen.iter().zip(&frames).enumerate() {
                let parsed = Frame::new(seen).unwrap().parse(&Profile::PAPER).unwrap();
                assert_eq!(parsed.datagram.fields.sequence, number as u32);
                assert_eq!(seen, frame, "v6 {v6}, {number}");
            }
        }
    }

    /// Returns a TCP segment with options and a correct checksum.
    fn segment(v6: bool, sequence: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
        let (start, length) = (if v6 { 54 } else { 34 }, 32 + payload.len());
        let mut bytes = frame(v6, 0, &[])[..start].to_vec();
        bytes.resize(start + 32, 0);
        bytes[start..start + 4].copy_from_slice(&[0x12, 0x34, 0x56, 0x78]);
        bytes[start + 4..start + 8].copy_from_slice(&sequence.to_be_bytes());
        (bytes[start + 12], bytes[start + 13]) = (8 << 4, flags);
        bytes[start + 20..start + 32].fill(1);
        bytes.extend_from_slice(payload);
        let addresses = if v6 { 22..54 } else { 26..34 };
        match v6 {
            true => set(&mut bytes, 18, length as u16),
            false => {
                set(&mut bytes, 16, length as u16 + 20);
                set(&mut bytes, 24, 0);
                let check = !folded(sum(&bytes[14..34]));
                set(&mut bytes, 24, check);
            }
        }
        let check = complement(sum(&bytes[addresses]) + 6 + length as u64 + sum(&bytes[start..]));
        set(&mut bytes, start + 16, check);
        bytes
    }

    #[test]
    fn coalesced_tcp_segments_are_split_with_their_numbers_and_flags() {
        const ACK: u8 = 0x10;
        for (v6, kind) in [(false, TCP_V4), (true, TCP_V6 | MARKED)] {
            let start = if v6 { 54 } else { 34 };
            // Sequence numbers that wrap; CWR in the first alone, PSH and FIN in the last alone; the last is shorter.
            let first = u32::MAX - 500;
            let mut joined = segment(v6, first, ACK | OF_FIRST | OF_LAST, &[7; 3 * 400 + 9]);
            set(&mut joined, start + 16, 0);
            let mut said = said(start, kind, 400);
            said.sum = Some((start, 16));
            let mut seen = Vec::new();
            assert!(said.finish(&mut joined, &mut Vec::new(), &mut |one| seen.push(one.to_vec())));
            assert_eq!(seen.len(), 4);
            for (number, seen) in seen.iter().enumerate() {
                let flags = match number {
                    0 => ACK | OF_FIRST,
                    3 => ACK | OF_LAST,
                    _ => ACK,
                };
                let length = if number == 3 { 9 } else { 400 };
                let sequence = first.wrapping_add(400 * number as u32);
                let mut expected = segment(v6, sequence, flags, &vec![7; length]);
                if !v6 {
                    set(&mut expected, 18, number as u16);
                    set(&mut expected, 24, 0);
                    let check = !folded(sum(&expected[14..34]));
                    set(&mut expected, 24, check);
                }
                assert_eq!(*seen, expected, "v6 {v6}, {number}");
            }
        }
    }

    #[test]
    fn an_offloaded_checksum_is_computed() {
        for v6 in [false, true] {
            let udp = if v6 { 54 } else { 34 };
            let whole = frame(v6, 1, &[9; 101]);
            let mut left = whole.clone();
            let addresses = if v6 { 22..54 } else { 26..34 };
            let pseudo = sum(&left[addresses]) + 17 + (left.len() - udp) as u64;
            set(&mut left, udp + 6, folded(pseudo));
            assert_ne!(left, whole);
            let mut seen = Vec::new();
            let offload = said(udp, 0, 0);
            assert!(offload.finish(&mut left, &mut Vec::new(), &mut |one| seen = one.to_vec()));
            assert_eq!(seen, whole);
        }
    }

    #[test]
    fn an_invalid_offload_is_refused() {
        let whole = frame(false, 1, &[9; 101]);
        let check = |offload: Offload, bytes: &[u8]| {
            let mut none = |_: &[u8]| panic!("it was handed over");
            assert!(!offload.finish(&mut bytes.to_vec(), &mut Vec::new(), &mut none));
        };
        // A checksum outside, segments of TCP where a UDP checksum is, no segment, absent headers, another protocol.
        check(said(1000, 0, 0), &whole);
        check(said(whole.len() - 7, 0, 0), &whole);
        check(said(34, 1, 100), &whole);
        check(said(34, UDP, 0), &whole);
        check(said(54, UDP, 100), &whole);
        check(said(34, UDP, 100), &whole[..40]);
        check(said(34, UDP, 100), &whole[..42]);
        check(Offload { sum: None, joined: UDP, segment: 100 }, &whole);
    }
}
