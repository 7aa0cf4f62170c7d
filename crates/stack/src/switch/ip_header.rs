//! Reading and writing of the IP header of any frame.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use trimline_packet::Packet;

const IP: usize = 14;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IpHeader {
    /// IPv4, with its header length in bytes.
    V4(usize),
    /// IPv6.
    V6,
}

impl IpHeader {
    /// Returns the IP header, if the frame has a whole one.
    pub(super) fn of(bytes: &[u8]) -> Option<IpHeader> {
        let first = *bytes.get(IP)?;
        let (header, version, length) = match [bytes[12], bytes[13]] {
            [0x08, 0x00] => {
                let length = usize::from(first & 15) * 4;
                (IpHeader::V4(length), 4, length)
            }
            [0x86, 0xdd] => (IpHeader::V6, 6, 40),
            _ => return None,
        };
        let is_whole = length >= 20 && bytes.len() >= IP + length;
        (first >> 4 == version && is_whole).then_some(header)
    }

    /// Returns the offset behind the header.
    pub(super) fn payload(self) -> usize {
        match self {
            IpHeader::V4(header) => IP + header,
            IpHeader::V6 => IP + 40,
        }
    }

    fn class(self, bytes: &[u8]) -> u8 {
        match self {
            IpHeader::V4(_) => bytes[IP + 1],
            IpHeader::V6 => bytes[IP] << 4 | bytes[IP + 1] >> 4,
        }
    }

    pub(super) fn dscp(self, bytes: &[u8]) -> u8 {
        self.class(bytes) >> 2
    }

    /// Returns the ECN field as [`Packet::marks`].
    pub(super) fn marks(self, bytes: &[u8]) -> u8 {
        match self.class(bytes) & 3 {
            0 => 0,
            3 => Packet::MARK_ECT | Packet::MARK_CE,
            _ => Packet::MARK_ECT,
        }
    }

    /// Sets "congestion experienced".
    pub(super) fn mark(self, bytes: &mut [u8]) {
        match self {
            IpHeader::V4(_) => change_word(bytes, IP, |word| word | 3),
            IpHeader::V6 => bytes[IP + 1] |= 3 << 4,
        }
    }

    /// Sets DSCP and ECN together.
    pub(super) fn set_class(self, bytes: &mut [u8], class: u8) {
        match self {
            IpHeader::V4(_) => change_word(bytes, IP, |word| word & 0xff00 | u16::from(class)),
            IpHeader::V6 => {
                bytes[IP] = 6 << 4 | class >> 4;
                bytes[IP + 1] = class << 4 | bytes[IP + 1] & 15;
            }
        }
    }

    /// Swaps the addresses, which does not change the IPv4 checksum (FastLane 3.2).
    pub(super) fn swap_addresses(self, bytes: &mut [u8]) {
        let (source, destination) = self.addresses();
        source.zip(destination).for_each(|(one, other)| bytes.swap(one, other));
    }

    /// Returns whether the IPv4 checksum is right (RFC 791); IPv6 has none.
    pub(super) fn is_sound(self, bytes: &[u8]) -> bool {
        match self {
            IpHeader::V6 => true,
            IpHeader::V4(header) => {
                let described = bytes[IP..IP + header].chunks(2);
                let sum: u32 = described.map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
                (sum & 0xffff) + (sum >> 16) == 0xffff
            }
        }
    }

    fn addresses(self) -> (Range<usize>, Range<usize>) {
        match self {
            IpHeader::V4(_) => (IP + 12..IP + 16, IP + 16..IP + 20),
            IpHeader::V6 => (IP + 8..IP + 24, IP + 24..IP + 40),
        }
    }

    pub(super) fn source(self, bytes: &[u8]) -> IpAddr {
        self.address(bytes, self.addresses().0)
    }

    pub(super) fn destination(self, bytes: &[u8]) -> IpAddr {
        self.address(bytes, self.addresses().1)
    }

    fn address(self, bytes: &[u8], at: Range<usize>) -> IpAddr {
        match self {
            IpHeader::V4(_) => {
                Ipv4Addr::from(*bytes[at].first_chunk::<4>().expect("four bytes")).into()
            }
            IpHeader::V6 => {
                Ipv6Addr::from(*bytes[at].first_chunk::<16>().expect("sixteen bytes")).into()
            }
        }
    }

    /// Returns the protocol behind the header.
    pub(super) fn protocol(self, bytes: &[u8]) -> u8 {
        match self {
            IpHeader::V4(_) => bytes[IP + 9],
            IpHeader::V6 => bytes[IP + 6],
        }
    }

    /// Returns source and destination port of TCP and UDP, 4 bytes; empty for other protocols and for fragments.
    pub(super) fn ports(self, bytes: &[u8]) -> &[u8] {
        let start = self.payload();
        // Only the first fragment has ports.
        let has_ports = match self {
            IpHeader::V4(_) => bytes[IP + 6] & 0x3f == 0 && bytes[IP + 7] == 0,
            IpHeader::V6 => true,
        } && matches!(self.protocol(bytes), 6 | 17);
        if has_ports { bytes.get(start..start + 4).unwrap_or(&[]) } else { &[] }
    }

    /// Returns a hash of addresses, protocol and ports.
    pub(super) fn flow_hash(self, bytes: &[u8], seed: u64) -> u64 {
        let (source, destination) = self.addresses();
        let (protocol, ports) = (self.protocol(bytes), self.ports(bytes));
        let parts = [&bytes[source], &bytes[destination], &[protocol], ports];
        let mix =
            |state: u64, &byte: &u8| (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        crate::random::mix(parts.iter().flat_map(|part| part.iter()).fold(seed, mix))
    }

    pub(super) fn time_to_live(self, bytes: &[u8]) -> u8 {
        bytes[self.time_to_live_at()]
    }

    /// Returns the number of detours that switches have written into the header: the low byte of the identification of
    /// an IPv4 packet that may not be fragmented, or of the flow label of IPv6. Receivers read neither (RFC 6864, 4.1;
    /// RFC 6437, 2). `None` for a packet that may be fragmented, which needs its identification.
    pub(super) fn detours(self, bytes: &[u8]) -> Option<u8> {
        match self {
            // "Don't fragment", no further fragment, offset 0.
            IpHeader::V4(_) => (bytes[IP + 6..IP + 8] == [0x40, 0]).then(|| bytes[IP + 5]),
            IpHeader::V6 => Some(bytes[IP + 3]),
        }
    }

    /// Writes the number of detours, where [`IpHeader::detours`] reads it.
    pub(super) fn set_detours(self, bytes: &mut [u8], detours: u8) {
        match self {
            IpHeader::V4(_) => {
                change_word(bytes, IP + 4, |word| word & 0xff00 | u16::from(detours));
            }
            IpHeader::V6 => bytes[IP + 3] = detours,
        }
    }

    fn time_to_live_at(self) -> usize {
        match self {
            IpHeader::V4(_) => IP + 8,
            IpHeader::V6 => IP + 7,
        }
    }

    /// Replaces the TTL.
    pub(super) fn set_time_to_live(self, bytes: &mut [u8], ttl: u8) {
        let at = self.time_to_live_at();
        match self {
            IpHeader::V4(_) => change_word(bytes, at, |word| word & 0xff | u16::from(ttl) << 8),
            IpHeader::V6 => bytes[at] = ttl,
        }
    }

    /// Decrements the TTL. Returns false if it has expired.
    pub(super) fn hop(self, bytes: &mut [u8]) -> bool {
        let at = self.time_to_live_at();
        if bytes[at] <= 1 {
            return false;
        }
        match self {
            IpHeader::V4(_) => change_word(bytes, at, |word| word - 0x100),
            IpHeader::V6 => bytes[at] -= 1,
        }
        true
    }
}

/// Changes an aligned word of an IPv4 header, and updates the checksum (RFC 1624, equation 3).
fn change_word(bytes: &mut [u8], at: usize, change: impl FnOnce(u16) -> u16) {
    let word = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let old = word(bytes, at);
    let new = change(old);
    bytes[at..at + 2].copy_from_slice(&new.to_be_bytes());
    let sum = u32::from(!word(bytes, IP + 10)) + u32::from(!old) + u32::from(new);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    bytes[IP + 10..IP + 12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimline_packet::wire::{Datagram, Ethernet, Fields, Frame, Profile};
    use trimline_packet::{ConnectionId, Flags, Header, Kind, Service};

    fn frame(v6: bool) -> Vec<u8> {
        let address = |host: u8| -> IpAddr {
            if v6 {
                Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, host.into()).into()
            } else {
                Ipv4Addr::new(10, 0, 0, host).into()
            }
        };
        let datagram = Datagram {
            source: address(1),
            destination: address(2),
            entropy: 50_000,
            service: Service::Trimmable.into(),
            marks: Packet::MARK_ECT,
            fields: Fields {
                kind: Kind::Data,
                flags: Flags::default(),
                connection: ConnectionId::new(1),
                sequence: 0,
                extra: Header::data_extra(100, 0),
            },
        };
        let ethernet = Ethernet { destination: [2; 6], source: [4; 6] };
        let mut bytes = Vec::new();
        datagram.emit(ethernet, &Profile::PAPER, &[7; 100], &[], &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn rewritten_ip_headers_still_parse() {
        for v6 in [false, true] {
            let mut bytes = frame(v6);
            let header = IpHeader::of(&bytes).unwrap();
            assert_eq!(header.dscp(&bytes), Profile::PAPER.trimmable);
            assert_eq!(header.marks(&bytes), Packet::MARK_ECT);
            let mut hops = 0;
            while header.hop(&mut bytes) {
                hops += 1;
                Frame::new(&bytes).unwrap().parse(&Profile::PAPER).unwrap();
            }
            assert_eq!(hops, 63);
            header.mark(&mut bytes);
            let parsed = Frame::new(&bytes).unwrap().parse(&Profile::PAPER).unwrap();
            assert_eq!(parsed.datagram.marks, Packet::MARK_ECT | Packet::MARK_CE);
            assert_eq!(header.destination(&bytes), parsed.datagram.destination);
        }
    }

    #[test]
    fn a_detour_count_changes_nothing_that_a_receiver_reads() {
        for v6 in [false, true] {
            let mut bytes = frame(v6);
            let before = Frame::new(&bytes).unwrap().parse(&Profile::PAPER).unwrap().datagram;
            let header = IpHeader::of(&bytes).unwrap();
            for detours in 0..=255 {
                header.set_detours(&mut bytes, detours);
                assert_eq!(header.detours(&bytes), Some(detours));
                assert!(header.is_sound(&bytes));
                let after = Frame::new(&bytes).unwrap().parse(&Profile::PAPER).unwrap().datagram;
                assert_eq!(after, before);
            }
        }
        let mut fragment = frame(false);
        let header = IpHeader::of(&fragment).unwrap();
        for flags in [[0, 0], [0x20, 0], [0x40, 1]] {
            fragment[IP + 6..IP + 8].copy_from_slice(&flags);
            assert_eq!(header.detours(&fragment), None, "{flags:?}");
        }
    }

    #[test]
    fn the_flow_hash_depends_on_flow_and_entropy() {
        for v6 in [false, true] {
            let bytes = frame(v6);
            let header = IpHeader::of(&bytes).unwrap();
            let mut other = bytes.clone();
            *other.last_mut().unwrap() ^= 1;
            assert_eq!(header.flow_hash(&bytes, 1), header.flow_hash(&other, 1));
            other[header.payload() + 1] ^= 1;
            assert_ne!(header.flow_hash(&bytes, 1), header.flow_hash(&other, 1));
        }
    }

    /// Only the first fragment has ports, but all fragments of a packet go one way.
    #[test]
    fn fragments_of_a_packet_have_one_hash() {
        let mut first = frame(false);
        first[IP + 6] = 0x20;
        let mut later = first.clone();
        (later[IP + 6], later[IP + 7]) = (0x20, 100);
        let mut last = first.clone();
        (last[IP + 6], last[IP + 7]) = (0, 200);
        for piece in [&mut later, &mut last] {
            piece[34..38].copy_from_slice(b"data");
        }
        let hashes =
            [&first, &later, &last].map(|bytes| IpHeader::of(bytes).unwrap().flow_hash(bytes, 1));
        assert!(hashes.iter().all(|&hash| hash == hashes[0]));
        assert_ne!(hashes[0], IpHeader::of(&frame(false)).unwrap().flow_hash(&frame(false), 1));
    }

    #[test]
    fn a_frame_without_ip_has_no_network_header() {
        assert_eq!(IpHeader::of(&[0; 60]), None);
        assert_eq!(IpHeader::of(&[]), None);
        // Cut behind any byte.
        for (v6, whole) in [(false, IP + 20), (true, IP + 40)] {
            let bytes = frame(v6);
            for end in 0..bytes.len() {
                assert_eq!(IpHeader::of(&bytes[..end]).is_some(), end >= whole, "{end} B");
            }
        }
        // RFC 791: an IPv4 header has at least five words.
        let mut bytes = frame(false);
        bytes[14] = 0x44;
        assert_eq!(IpHeader::of(&bytes), None);
        let mut bytes = frame(true);
        bytes[14] = 0x40;
        assert_eq!(IpHeader::of(&bytes), None);
    }
}
