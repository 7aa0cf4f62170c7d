//! Whole frames: Ethernet, IPv4 or IPv6, UDP, and their contents. Buffers hold no FCS.

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::ops::Range;

use super::checksum::Sum;
use super::header::{Fields, HEADER_BYTES, View};
use super::profile::{FCS_BYTES, Profile};
use super::{Error, What};
use crate::packet::{Kind, Packet, Service, ServiceClass};

mod field {
    use core::ops::Range;

    pub(super) const MAC_DESTINATION: Range<usize> = 0..6;
    pub(super) const MAC_SOURCE: Range<usize> = 6..12;
    pub(super) const ETHER_TYPE: Range<usize> = 12..14;
    pub(super) const IP: usize = 14;

    pub(super) mod v4 {
        use super::{IP, Range};
        pub(in super::super) const BYTES: usize = 20;
        pub(in super::super) const VERSION: usize = IP;
        pub(in super::super) const TRAFFIC_CLASS: usize = IP + 1;
        pub(in super::super) const LENGTH: Range<usize> = IP + 2..IP + 4;
        pub(in super::super) const FRAGMENT: Range<usize> = IP + 6..IP + 8;
        pub(in super::super) const TIME_TO_LIVE: usize = IP + 8;
        pub(in super::super) const PROTOCOL: usize = IP + 9;
        pub(in super::super) const CHECKSUM: Range<usize> = IP + 10..IP + 12;
        pub(in super::super) const SOURCE: Range<usize> = IP + 12..IP + 16;
        pub(in super::super) const DESTINATION: Range<usize> = IP + 16..IP + 20;
    }

    pub(super) mod v6 {
        use super::{IP, Range};
        pub(in super::super) const BYTES: usize = 40;
        pub(in super::super) const LENGTH: Range<usize> = IP + 4..IP + 6;
        pub(in super::super) const NEXT_HEADER: usize = IP + 6;
        pub(in super::super) const HOP_LIMIT: usize = IP + 7;
        pub(in super::super) const SOURCE: Range<usize> = IP + 8..IP + 24;
        pub(in super::super) const DESTINATION: Range<usize> = IP + 24..IP + 40;
    }

    /// Offsets within the UDP header.
    pub(super) mod udp {
        use super::Range;
        pub(in super::super) const BYTES: usize = 8;
        pub(in super::super) const SOURCE: Range<usize> = 0..2;
        pub(in super::super) const DESTINATION: Range<usize> = 2..4;
        pub(in super::super) const LENGTH: Range<usize> = 4..6;
        pub(in super::super) const CHECKSUM: Range<usize> = 6..8;
    }
}

const ETHER_TYPE_V4: u16 = 0x0800;
const ETHER_TYPE_V6: u16 = 0x86dd;
const PROTOCOL_UDP: u8 = 17;
/// Hop limit (chosen; far more than any datacenter has).
const TIME_TO_LIVE: u8 = 64;
/// Shortest Ethernet frame in bytes, without FCS.
const SHORTEST: usize = 60;

/// Bytes of the tag behind the 16, for hosts with a key.
pub const TAG_BYTES: usize = 8;

/// Tag over the 16 bytes, both addresses, payload and extension, for hosts with a key.
pub type Tag = [u8; TAG_BYTES];

/// Addresses of the Ethernet header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ethernet {
    /// Next hop.
    pub destination: [u8; 6],
    /// This hop.
    pub source: [u8; 6],
}

/// A decoded frame without payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Source address: canonical, except in a returned header.
    pub source: IpAddr,
    /// Destination address. In a fabric with an address per path, the path.
    pub destination: IpAddr,
    /// UDP port other than the protocol's: source port, or destination port of returned headers. In a fabric that
    /// hashes, the path.
    pub entropy: u16,
    /// Treatment in queues.
    pub service: ServiceClass,
    /// [`Packet::marks`].
    pub marks: u8,
    /// The decoded 16 bytes.
    pub fields: Fields,
}

/// A parsed frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed<'a> {
    /// The decoded frame.
    pub datagram: Datagram,
    /// Payload of whole DATA, otherwise empty.
    pub payload: &'a [u8],
    /// Extension of a complete packet, for [`super::Records`].
    pub extension: &'a [u8],
    /// Bytes on the wire in the model: payload and 64 if whole, frame with FCS if trimmed. At least 64.
    pub wire_bytes: u16,
}

/// Treatment of the IP length by a trim. Both kinds are deployed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lengths {
    /// Switches write the remaining length.
    Updated,
    /// Switches keep the length of the whole packet.
    Stale,
}

/// Frame bytes with known header offsets.
///
/// A switch cuts a frame; the receiver learns which packet it was:
///
/// ```
/// use trimline_packet::wire::{Datagram, Ethernet, Fields, Frame, Lengths, Profile};
/// use trimline_packet::{ConnectionId, Flags, Header, Kind, Service};
///
/// let datagram = Datagram {
///     source: "10.0.0.1".parse().unwrap(),
///     destination: "10.0.0.2".parse().unwrap(),
///     entropy: 50_000,
///     service: Service::Trimmable.into(),
///     marks: 0,
///     fields: Fields {
///         kind: Kind::Data,
///         flags: Flags::default(),
///         connection: ConnectionId::new(7),
///         sequence: 3,
///         extra: Header::data_extra(1000, 0),
///     },
/// };
/// let ethernet = Ethernet { destination: [2, 0, 0, 0, 0, 2], source: [2, 0, 0, 0, 0, 1] };
/// let (profile, mut bytes) = (Profile::PAPER, Vec::new());
/// datagram.emit(ethernet, &profile, &[0; 1000], &[], &mut bytes).unwrap();
/// assert_eq!(Frame::new(&bytes).unwrap().parse(&profile).unwrap().datagram, datagram);
///
/// let left = Frame::trim(&mut bytes, &profile, false, Lengths::Updated).unwrap();
/// bytes.truncate(left);
/// let parsed = Frame::new(&bytes).unwrap().parse(&profile).unwrap();
/// assert_eq!((bytes.len(), parsed.payload.len()), (60, 0), "64 bytes with the check sequence");
/// assert!(parsed.datagram.service == Service::Trimmed);
/// assert_eq!(parsed.datagram.fields, datagram.fields);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    bytes: &'a [u8],
    layout: Layout,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    v6: bool,
    udp: usize,
}

/// The reason for an incomplete packet.
enum Incomplete {
    /// Bytes are missing.
    Cut,
    /// All bytes are present, but they or their checksum are damaged.
    Damaged,
}

impl Layout {
    /// Finds the headers, ignoring IP and UDP lengths, which trims make stale.
    fn of(bytes: &[u8]) -> Result<Layout, Error> {
        let cut = Error::new(What::Truncated, bytes.len());
        if bytes.len() < field::IP + 1 {
            return Err(cut);
        }
        let layout = match word(bytes, &field::ETHER_TYPE) {
            ETHER_TYPE_V4 => Layout { v6: false, udp: Layout::behind_v4(bytes)? },
            ETHER_TYPE_V6 => Layout { v6: true, udp: Layout::behind_v6(bytes)? },
            _ => return Err(Error::new(What::EtherType, field::ETHER_TYPE.start)),
        };
        if bytes.len() < layout.end() {
            return Err(cut);
        }
        Ok(layout)
    }

    fn behind_v4(bytes: &[u8]) -> Result<usize, Error> {
        if bytes[field::v4::VERSION] >> 4 != 4 {
            return Err(Error::new(What::IpVersion, field::v4::VERSION));
        }
        let header = usize::from(bytes[field::v4::VERSION] & 0xf) * 4;
        if header < field::v4::BYTES {
            return Err(Error::new(What::IpHeader, field::v4::VERSION));
        }
        let Some(header_bytes) = bytes.get(field::IP..field::IP + header) else {
            return Err(Error::new(What::Truncated, bytes.len()));
        };
        if !Sum::default().bytes(header_bytes).holds() {
            return Err(Error::new(What::IpChecksum, field::v4::CHECKSUM.start));
        }
        // "More fragments" and the offset; "don't fragment" may be set.
        if word(bytes, &field::v4::FRAGMENT) & 0x3fff != 0 {
            return Err(Error::new(What::Fragment, field::v4::FRAGMENT.start));
        }
        if bytes[field::v4::PROTOCOL] != PROTOCOL_UDP {
            return Err(Error::new(What::Protocol, field::v4::PROTOCOL));
        }
        Ok(field::IP + header)
    }

    fn behind_v6(bytes: &[u8]) -> Result<usize, Error> {
        if bytes[field::IP] >> 4 != 6 {
            return Err(Error::new(What::IpVersion, field::IP));
        }
        if bytes.len() < field::IP + field::v6::BYTES {
            return Err(Error::new(What::Truncated, bytes.len()));
        }
        if bytes[field::v6::NEXT_HEADER] != PROTOCOL_UDP {
            return Err(Error::new(What::Protocol, field::v6::NEXT_HEADER));
        }
        Ok(field::IP + field::v6::BYTES)
    }

    /// Longest UDP datagram in a packet without options.
    const fn longest(self) -> usize {
        let ip = if self.v6 { field::v6::BYTES } else { field::v4::BYTES };
        u16::MAX as usize - ip
    }

    /// Offset of the 16 bytes.
    const fn header(self) -> usize {
        self.udp + field::udp::BYTES
    }

    /// End of the 16 bytes.
    const fn end(self) -> usize {
        self.header() + HEADER_BYTES
    }
}

fn word(bytes: &[u8], at: &Range<usize>) -> u16 {
    u16::from_be_bytes([bytes[at.start], bytes[at.start + 1]])
}

fn set_word(bytes: &mut [u8], at: &Range<usize>, word: u16) {
    bytes[at.clone()].copy_from_slice(&word.to_be_bytes());
}

fn set_address(bytes: &mut [u8], at: Range<usize>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => bytes[at].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => bytes[at].copy_from_slice(&address.octets()),
    }
}

fn within(at: &Range<usize>, base: usize) -> Range<usize> {
    at.start + base..at.end + base
}

impl<'a> Frame<'a> {
    /// Finds the headers of a frame. Trailing bytes (padding, FCS) are harmless.
    ///
    /// # Errors
    /// Fails unless the frame is unfragmented UDP over IPv4 or IPv6 with at least 16 bytes behind UDP.
    pub fn new(bytes: &'a [u8]) -> Result<Frame<'a>, Error> {
        Ok(Frame { bytes, layout: Layout::of(bytes)? })
    }

    /// The Ethernet addresses.
    pub fn ethernet(&self) -> Ethernet {
        let mac = |at: Range<usize>| *self.bytes[at].first_chunk().expect("six bytes");
        Ethernet { destination: mac(field::MAC_DESTINATION), source: mac(field::MAC_SOURCE) }
    }

    /// The source address.
    pub fn source(&self) -> IpAddr {
        self.address(field::v4::SOURCE, field::v6::SOURCE)
    }

    /// The destination address.
    pub fn destination(&self) -> IpAddr {
        self.address(field::v4::DESTINATION, field::v6::DESTINATION)
    }

    fn address(&self, v4: Range<usize>, v6: Range<usize>) -> IpAddr {
        if self.layout.v6 {
            Ipv6Addr::from(*self.bytes[v6].first_chunk::<16>().expect("sixteen bytes")).into()
        } else {
            Ipv4Addr::from(*self.bytes[v4].first_chunk::<4>().expect("four bytes")).into()
        }
    }

    /// DSCP: class of the packet, or trace of a switch.
    pub fn dscp(&self) -> u8 {
        traffic_class(self.bytes, self.layout) >> 2
    }

    /// ECN field as [`Packet::marks`]; ECT(1) counts as ECT. For DSCP marks see [`Profile::marks`].
    pub fn marks(&self) -> u8 {
        match traffic_class(self.bytes, self.layout) & 3 {
            0 => 0,
            3 => Packet::MARK_ECT | Packet::MARK_CE,
            _ => Packet::MARK_ECT,
        }
    }

    /// UDP source and destination port.
    pub fn ports(&self) -> (u16, u16) {
        (self.udp_word(&field::udp::SOURCE), self.udp_word(&field::udp::DESTINATION))
    }

    /// The 16 bytes.
    pub fn header(&self) -> View<'a> {
        View::new(&self.bytes[self.layout.header()..]).expect("the layout was checked")
    }

    /// Bytes behind the 16, the tag of hosts with a key, if present.
    pub fn tag(&self) -> Option<Tag> {
        self.bytes[self.layout.end()..].first_chunk().copied()
    }

    fn udp_word(&self, at: &Range<usize>) -> u16 {
        word(self.bytes, &within(at, self.layout.udp))
    }

    /// Returns payload and extension of a whole packet. It needs no IP length: the UDP length is equivalent and
    /// checksummed.
    fn rest(
        &self,
        tag_bytes: usize,
        payload_length: usize,
    ) -> Result<(&'a [u8], &'a [u8]), Incomplete> {
        let length = usize::from(self.udp_word(&field::udp::LENGTH));
        let before = field::udp::BYTES + HEADER_BYTES + tag_bytes;
        let min = before + payload_length;
        if !(min..=self.layout.longest()).contains(&length) {
            return Err(Incomplete::Cut);
        }
        let udp = self.bytes[self.layout.udp..].get(..length).ok_or(Incomplete::Cut)?;
        // Complete packets always have a checksum; the checksum of a trimmed packet may be anything.
        let sum = pseudo_header(self.source(), self.destination(), length).bytes(udp);
        if self.udp_word(&field::udp::CHECKSUM) == 0 || !sum.holds() {
            return Err(Incomplete::Damaged);
        }
        Ok(udp[before..].split_at(payload_length))
    }

    /// Parses the frame. Incomplete DATA is a header, whatever its DSCP; complete DATA is whole, even if marked by a
    /// switch that trims to more bytes than the frame has.
    ///
    /// # Errors
    /// Refuse the frame and count it by [`Error::what`].
    pub fn parse(&self, profile: &Profile) -> Result<Parsed<'a>, Error> {
        self.parse_behind(profile, 0)
    }

    /// Parses a frame with a tag, unverified: see [`Frame::tag`].
    ///
    /// # Errors
    /// See [`Frame::parse`].
    pub fn parse_tagged(&self, profile: &Profile) -> Result<Parsed<'a>, Error> {
        self.parse_behind(profile, TAG_BYTES)
    }

    fn parse_behind(&self, profile: &Profile, tag_bytes: usize) -> Result<Parsed<'a>, Error> {
        let (source, destination) = (self.source(), self.destination());
        let fields = self
            .header()
            .parse(source, destination)
            .map_err(|error| error.moved(self.layout.header()))?;
        // No packet can carry that much: the payload length is false.
        let sent = field::udp::BYTES + HEADER_BYTES + tag_bytes + fields.payload_length();
        if sent > self.layout.longest() {
            return Err(Error::new(What::Length, self.layout.header()));
        }
        let unknown_service = Error::new(What::Service, field::v4::TRAFFIC_CLASS);
        let class = profile.class(self.dscp()).ok_or(unknown_service)?;
        let announced = class.service();

        let (source_port, destination_port) = self.ports();
        let (port, entropy) = match announced.is_bounced() {
            true => (source_port, destination_port),
            false => (destination_port, source_port),
        };
        if port != profile.port {
            return Err(Error::new(What::Port, self.layout.udp));
        }

        let damaged = Error::new(What::UdpChecksum, self.layout.udp + field::udp::CHECKSUM.start);
        let rest = self.rest(tag_bytes, fields.payload_length());
        let none: (&[u8], &[u8]) = (&[], &[]);
        let is_data = match fields.kind {
            Kind::Data => true,
            Kind::Ack | Kind::Nack | Kind::Pull | Kind::Reset => false,
        };
        let (service, (payload, extension)) = match (is_data, announced, rest) {
            // A notification may be of any packet, and has only its header.
            (_, Service::Notification, _) => (Service::Notification, none),
            (true, Service::Returned, _) => (Service::Returned, none),
            (false, Service::Returned, _) => return Err(unknown_service),
            (true, Service::Droppable, Ok(rest)) => (Service::Droppable, rest),
            (true, _, Ok(rest)) => (Service::Trimmable, rest),
            (true, _, Err(Incomplete::Cut)) => (Service::Trimmed, none),
            // Trimmed and control share a DSCP in some fabrics; whole DATA never has it.
            (true, Service::Trimmed | Service::Control, Err(Incomplete::Damaged)) => {
                (Service::Trimmed, none)
            }
            (false, Service::Droppable, Ok(rest)) => (Service::Droppable, rest),
            (false, _, Ok(rest)) => (Service::Control, rest),
            (false, Service::Droppable, Err(Incomplete::Cut)) => (Service::Droppable, none),
            (false, _, Err(Incomplete::Cut)) => (Service::Control, none),
            (false, Service::Trimmed, Err(Incomplete::Damaged)) => (Service::Control, none),
            (true | false, _, Err(Incomplete::Damaged)) => return Err(damaged),
        };
        let whole = usize::from(Packet::HEADER_BYTES) + fields.payload_length();
        let wire_bytes = match service {
            // A damaged UDP length turns a frame as long as a whole packet into a header. Its payload is not trusted,
            // so its size must not look like a whole packet's.
            Service::Trimmed => (self.bytes.len() + FCS_BYTES).min(whole.saturating_sub(1)),
            Service::Returned | Service::Notification => self.bytes.len() + FCS_BYTES,
            Service::Trimmable | Service::Control | Service::Droppable => {
                usize::from(Packet::HEADER_BYTES) + payload.len()
            }
        };
        // A trimmed packet has lost its priority.
        let service = if service == announced { class } else { service.into() };
        let wire_bytes = wire_bytes.max(Packet::HEADER_BYTES.into()).min(u16::MAX.into()) as u16;
        // A trimmed packet has lost its mark with its DSCP; control packets have no mark.
        let is_as_announced = is_data && service == announced;
        let in_dscp = if is_as_announced { profile.marks(self.dscp()) } else { 0 };
        let marks = self.marks() | in_dscp;
        let datagram = Datagram { source, destination, entropy, service, marks, fields };
        Ok(Parsed { datagram, payload, extension, wire_bytes })
    }

    /// Trims a frame as a switch does: cuts it at the profile's size, writes the TRIMMED DSCP (priority and mark are
    /// lost), keeps UDP. Returns the remaining bytes. The 16 bytes always stay, even if the size is too small for IPv6.
    /// Frames within the size stay whole.
    ///
    /// # Errors
    /// Fails for frames that are not this protocol's or not TRIMMABLE.
    pub fn trim(
        bytes: &mut [u8],
        profile: &Profile,
        last_hop: bool,
        lengths: Lengths,
    ) -> Result<usize, Error> {
        let layout = Layout::of(bytes)?;
        let class = profile.class(traffic_class(bytes, layout) >> 2);
        if class.is_none_or(|class| class != Service::Trimmable) {
            return Err(Error::new(What::Service, field::v4::TRAFFIC_CLASS));
        }
        let size = usize::from(profile.trimmed_bytes).saturating_sub(FCS_BYTES);
        let left = size.max(layout.end()).min(bytes.len());
        if lengths == Lengths::Updated {
            let (at, before) = if layout.v6 {
                (field::v6::LENGTH, field::IP + field::v6::BYTES)
            } else {
                (field::v4::LENGTH, field::IP)
            };
            let length = (left - before).min(word(bytes, &at).into());
            set_word(bytes, &at, length as u16);
        }
        let dscp = if last_hop { profile.trimmed_last_hop } else { profile.trimmed };
        set_dscp(bytes, layout, dscp);
        Ok(left)
    }

    /// Bounces a trimmed frame (NDP 3.2.4): swaps addresses and ports and writes DSCP RETURNED, nothing else, as a
    /// plain switch can. The checksum of the 16 bytes stays valid.
    ///
    /// # Errors
    /// Fails for frames that are not this protocol's or never returned: control, or returned already.
    pub fn bounce(bytes: &mut [u8], profile: &Profile) -> Result<(), Error> {
        let layout = Layout::of(bytes)?;
        let frame = Frame { bytes, layout };
        let trimmed = [profile.trimmed, profile.trimmed_last_hop].contains(&frame.dscp());
        if !trimmed || frame.header().kind() != Some(Kind::Data) {
            return Err(Error::new(What::Service, field::v4::TRAFFIC_CLASS));
        }
        swap_ends(bytes, layout);
        set_dscp(bytes, layout, profile.returned);
        Ok(())
    }

    /// Turns a frame into its own drop notification (FastLane 3.2): swaps addresses and ports, writes the DSCP, clears
    /// ECN, cuts behind the 16 bytes or the shortest frame. IP and UDP keep the whole packet's length. Returns the
    /// remaining bytes. The checksum of the 16 bytes stays valid.
    ///
    /// # Errors
    /// Fails for frames that are not this protocol's, or were bounced or turned into notifications already.
    pub fn notify(bytes: &mut [u8], profile: &Profile) -> Result<usize, Error> {
        let layout = Layout::of(bytes)?;
        if [profile.notification, profile.returned].contains(&(traffic_class(bytes, layout) >> 2)) {
            return Err(Error::new(What::Service, field::v4::TRAFFIC_CLASS));
        }
        swap_ends(bytes, layout);
        set_traffic_class(bytes, layout, profile.notification << 2);
        Ok(layout.end().max(SHORTEST).min(bytes.len()))
    }
}

impl Profile {
    /// Minimum bytes of a trimmed frame with a tag.
    pub const fn min_keyed_bytes(v6: bool) -> u16 {
        let ip = if v6 { field::v6::BYTES } else { field::v4::BYTES };
        (field::IP + ip + field::udp::BYTES + HEADER_BYTES + TAG_BYTES + FCS_BYTES) as u16
    }
}

impl Datagram {
    /// Overwrites `bytes` with the frame: headers, payload, extension, padding up to 60 bytes. Headers, trimmed or
    /// returned, and notifications look as from a switch: UDP length of the whole packet, worthless UDP checksum.
    ///
    /// # Errors
    /// [`What::Length`] if the payload differs from the header's length (empty if trimmed) or the packet is too long
    /// for IP; [`What::Service`] for a class that this type never has; [`What::IpVersion`] for addresses of two
    /// families; [`What::Marks`] for CE without ECT, and for unscheduled packets that are not whole data.
    pub fn emit(
        &self,
        ethernet: Ethernet,
        profile: &Profile,
        payload: &[u8],
        extension: &[u8],
        bytes: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.emit_headers(ethernet, profile, [payload, &[]], extension, bytes)?;
        bytes.extend_from_slice(payload);
        bytes.extend_from_slice(extension);
        bytes.resize(bytes.len().max(SHORTEST), 0);
        Ok(())
    }

    /// Overwrites `headers` with the headers of a frame, for callers that send payload (one or two pieces) and
    /// extension without a copy. The checksum covers both. Padding is the caller's.
    ///
    /// # Errors
    /// See [`Datagram::emit`].
    pub fn emit_headers(
        &self,
        ethernet: Ethernet,
        profile: &Profile,
        payload: [&[u8]; 2],
        extension: &[u8],
        headers: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.emit_tagged_headers(ethernet, profile, &[], payload, extension, headers)
    }

    /// Writes headers with a tag, or none if `tag` is empty, as [`Datagram::emit_headers`]. UDP's length and checksum
    /// include the tag.
    ///
    /// # Errors
    /// See [`Datagram::emit`].
    pub fn emit_tagged_headers(
        &self,
        ethernet: Ethernet,
        profile: &Profile,
        tag: &[u8],
        payload: [&[u8]; 2],
        extension: &[u8],
        headers: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let bytes = headers;
        let cut = match self.service.service() {
            Service::Trimmed | Service::Returned | Service::Notification => true,
            Service::Trimmable | Service::Control | Service::Droppable => false,
        };
        let lawful = match self.fields.kind {
            Kind::Data => self.service != Service::Control,
            Kind::Ack | Kind::Nack | Kind::Pull | Kind::Reset => match self.service.service() {
                Service::Control | Service::Droppable | Service::Notification => true,
                Service::Trimmable | Service::Trimmed | Service::Returned => false,
            },
        };
        if !lawful {
            return Err(Error::new(What::Service, field::v4::TRAFFIC_CLASS));
        }
        let inexpressible = Error::new(What::Marks, field::v4::TRAFFIC_CLASS);
        let ecn = match self.marks & !Profile::MARKS {
            0 => 0,
            Packet::MARK_ECT => 2,
            marks if marks == Packet::MARK_ECT | Packet::MARK_CE => 3,
            _ => return Err(inexpressible),
        };
        let dscp = match (self.marks & Profile::MARKS, self.fields.kind) {
            (0, _) => profile.dscp(self.service),
            (marks, Kind::Data) => profile.marked(self.service, marks).ok_or(inexpressible)?,
            (_, Kind::Ack | Kind::Nack | Kind::Pull | Kind::Reset) => return Err(inexpressible),
        };
        let expected = if cut { 0 } else { self.fields.payload_length() };
        let length = payload[0].len() + payload[1].len();
        if length != expected || (cut && !extension.is_empty()) {
            return Err(Error::new(What::Length, field::v4::LENGTH.start));
        }

        let v6 = self.source.is_ipv6();
        if v6 != self.destination.is_ipv6() {
            return Err(Error::new(What::IpVersion, field::IP));
        }
        let ip_bytes = if v6 { field::v6::BYTES } else { field::v4::BYTES };
        let layout = Layout { v6, udp: field::IP + ip_bytes };
        let before = field::udp::BYTES + HEADER_BYTES + tag.len();
        let sent = before + self.fields.payload_length() + extension.len();
        if sent > layout.longest() {
            return Err(Error::new(What::Length, field::v4::LENGTH.start));
        }
        let left = if cut { before } else { sent };

        bytes.clear();
        bytes.resize(layout.udp + field::udp::BYTES, 0);
        bytes.extend_from_slice(&self.fields.emit(self.source, self.destination));
        bytes.extend_from_slice(tag);

        bytes[field::MAC_DESTINATION].copy_from_slice(&ethernet.destination);
        bytes[field::MAC_SOURCE].copy_from_slice(&ethernet.source);
        if v6 {
            set_word(bytes, &field::ETHER_TYPE, ETHER_TYPE_V6);
            bytes[field::IP] = 0x60;
            set_word(bytes, &field::v6::LENGTH, left as u16);
            bytes[field::v6::NEXT_HEADER] = PROTOCOL_UDP;
            bytes[field::v6::HOP_LIMIT] = TIME_TO_LIVE;
            set_address(bytes, field::v6::SOURCE, self.source);
            set_address(bytes, field::v6::DESTINATION, self.destination);
        } else {
            set_word(bytes, &field::ETHER_TYPE, ETHER_TYPE_V4);
            bytes[field::v4::VERSION] = 0x45;
            set_word(bytes, &field::v4::LENGTH, (ip_bytes + left) as u16);
            // "Don't fragment", offset 0.
            set_word(bytes, &field::v4::FRAGMENT, 0x4000);
            bytes[field::v4::TIME_TO_LIVE] = TIME_TO_LIVE;
            bytes[field::v4::PROTOCOL] = PROTOCOL_UDP;
            set_address(bytes, field::v4::SOURCE, self.source);
            set_address(bytes, field::v4::DESTINATION, self.destination);
        }
        set_traffic_class(bytes, layout, dscp << 2 | ecn);

        let (source_port, destination_port) = match self.service.service().is_bounced() {
            true => (profile.port, self.entropy),
            false => (self.entropy, profile.port),
        };
        let udp = &mut bytes[layout.udp..];
        set_word(udp, &field::udp::SOURCE, source_port);
        set_word(udp, &field::udp::DESTINATION, destination_port);
        set_word(udp, &field::udp::LENGTH, sent as u16);
        if !cut {
            let sum = pseudo_header(self.source, self.destination, sent);
            let sum = sum.pieces([&*udp, payload[0], payload[1], extension]).complement();
            // RFC 768: zero means that there is no checksum.
            set_word(udp, &field::udp::CHECKSUM, if sum == 0 { 0xffff } else { sum });
        }
        Ok(())
    }
}

fn pseudo_header(source: IpAddr, destination: IpAddr, udp_length: usize) -> Sum {
    let sum = Sum::default().address(source).address(destination);
    sum.word(PROTOCOL_UDP.into()).word(udp_length as u16)
}

/// DSCP and ECN.
fn traffic_class(bytes: &[u8], layout: Layout) -> u8 {
    if layout.v6 {
        bytes[field::IP] << 4 | bytes[field::IP + 1] >> 4
    } else {
        bytes[field::v4::TRAFFIC_CLASS]
    }
}

fn set_dscp(bytes: &mut [u8], layout: Layout, dscp: u8) {
    let ecn = traffic_class(bytes, layout) & 3;
    set_traffic_class(bytes, layout, dscp << 2 | ecn);
}

/// Writes DSCP and ECN, then the IPv4 checksum.
fn set_traffic_class(bytes: &mut [u8], layout: Layout, class: u8) {
    if layout.v6 {
        bytes[field::IP] = 0x60 | class >> 4;
        bytes[field::IP + 1] = class << 4 | bytes[field::IP + 1] & 0xf;
    } else {
        bytes[field::v4::TRAFFIC_CLASS] = class;
        set_word(bytes, &field::v4::CHECKSUM, 0);
        let sum = Sum::default().bytes(&bytes[field::IP..layout.udp]).complement();
        set_word(bytes, &field::v4::CHECKSUM, sum);
    }
}

/// Swaps Ethernet addresses, IP addresses and ports.
fn swap_ends(bytes: &mut [u8], layout: Layout) {
    swap(bytes, field::MAC_SOURCE, field::MAC_DESTINATION);
    if layout.v6 {
        swap(bytes, field::v6::SOURCE, field::v6::DESTINATION);
    } else {
        swap(bytes, field::v4::SOURCE, field::v4::DESTINATION);
    }
    let ports = (field::udp::SOURCE, field::udp::DESTINATION);
    swap(bytes, within(&ports.0, layout.udp), within(&ports.1, layout.udp));
}

fn swap(bytes: &mut [u8], one: Range<usize>, other: Range<usize>) {
    for (one, other) in one.zip(other) {
        bytes.swap(one, other);
    }
}
