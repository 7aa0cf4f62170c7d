//! Wire properties: emitted packets parse back, switches' changes are understood, and no bytes make a parser panic.

extern crate std;

use alloc::vec;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::route::{entropy_of, path_of};
use super::*;
use crate::ids::{ConnectionId, HostId, PathId};
use crate::packet::{Flags, Header, Kind, Packet, Service, ServiceClass};

const KINDS: [Kind; 5] = [Kind::Data, Kind::Ack, Kind::Nack, Kind::Pull, Kind::Reset];

fn ethernet() -> Ethernet {
    Ethernet { destination: [2, 0, 0, 0, 0, 1], source: [2, 0, 0, 0, 0, 2] }
}

fn v4(last: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, last).into()
}

/// Creates whole DATA from 10.0.0.1 to 10.0.0.2.
fn data(payload_length: u16) -> Datagram {
    Datagram {
        source: v4(1),
        destination: v4(2),
        entropy: 50_000,
        service: Service::Trimmable.into(),
        marks: Packet::MARK_ECT,
        fields: Fields {
            kind: Kind::Data,
            flags: Flags::from_bits(Flags::SYN | Flags::FROM_OPENER),
            connection: ConnectionId::new(7),
            sequence: 3,
            extra: Header::data_extra(payload_length, 80),
        },
    }
}

/// True for packets of a header only.
fn is_cut(service: ServiceClass) -> bool {
    match service.service() {
        Service::Trimmed | Service::Returned | Service::Notification => true,
        Service::Trimmable | Service::Control | Service::Droppable => false,
    }
}

fn emitted(datagram: &Datagram, profile: &Profile, extension: &[u8]) -> Vec<u8> {
    let cut = is_cut(datagram.service);
    let length = if cut { 0 } else { datagram.fields.payload_length() };
    let payload: Vec<u8> = (0..length).map(|at| at as u8).collect();
    let mut bytes = Vec::new();
    datagram.emit(ethernet(), profile, &payload, extension, &mut bytes).unwrap();
    bytes
}

fn parsed<'a>(bytes: &'a [u8], profile: &Profile) -> Result<Parsed<'a>, Error> {
    Frame::new(bytes)?.parse(profile)
}

/// Checks the parsed service and payload length.
#[track_caller]
fn check(bytes: &[u8], profile: &Profile, expected: Result<(Service, usize), What>) {
    let found = parsed(bytes, profile)
        .map(|parsed| (parsed.datagram.service.service(), parsed.payload.len()))
        .map_err(|error| error.what);
    assert_eq!(found, expected);
}

fn any_profile() -> impl Strategy<Value = Profile> {
    select(Profile::ALL.to_vec()).prop_map(|(_, profile)| profile)
}

fn any_fields() -> impl Strategy<Value = Fields> {
    (select(KINDS.to_vec()), any::<u8>(), any::<u32>(), any::<u32>(), 0u16..2000, any::<u16>())
        .prop_map(|(kind, flags, connection, sequence, high, low)| Fields {
            kind,
            flags: Flags::from_bits(flags),
            connection: ConnectionId::new(connection),
            sequence,
            extra: Header::data_extra(high, low),
        })
}

fn any_addresses() -> impl Strategy<Value = (IpAddr, IpAddr)> {
    prop_oneof![
        any::<(u32, u32)>().prop_map(|(one, other)| {
            (Ipv4Addr::from_bits(one).into(), Ipv4Addr::from_bits(other).into())
        }),
        any::<(u128, u128)>().prop_map(|(one, other)| {
            (Ipv6Addr::from_bits(one).into(), Ipv6Addr::from_bits(other).into())
        }),
    ]
}

/// Generates all datagrams that can be emitted.
fn any_datagram() -> impl Strategy<Value = Datagram> {
    let ecn = select(vec![0, Packet::MARK_ECT, Packet::MARK_ECT | Packet::MARK_CE]);
    let marks = (ecn, any::<bool>());
    (any_addresses(), any::<u16>(), (any::<Index>(), 0u8..8), marks, any_fields()).prop_map(
        |((source, destination), entropy, (service, priority), (ecn, mark), fields)| {
            use Service::{Control, Droppable, Notification, Returned, Trimmable, Trimmed};
            let services: &[Service] = match fields.kind {
                Kind::Data => &[Trimmable, Trimmed, Returned, Droppable, Notification],
                Kind::Ack | Kind::Nack | Kind::Pull | Kind::Reset => {
                    &[Control, Droppable, Notification]
                }
            };
            let service = ServiceClass::new(*service.get(services), priority);
            let is_unscheduled =
                mark && fields.kind == Kind::Data && Profile::unscheduled(service).is_some();
            let marks = ecn | if is_unscheduled { Packet::MARK_UNSCHEDULED } else { 0 };
            Datagram { source, destination, entropy, service, marks, fields }
        },
    )
}

/// Generates trimmable whole DATA.
fn any_trimmable() -> impl Strategy<Value = Datagram> {
    any_datagram().prop_map(|mut datagram| {
        datagram.fields.kind = Kind::Data;
        datagram.service = ServiceClass::new(Service::Trimmable, datagram.service.priority());
        datagram
    })
}

/// Marks that a trim leaves.
fn ecn_of(datagram: &Datagram) -> u8 {
    datagram.marks & !Packet::MARK_UNSCHEDULED
}

fn lengths() -> impl Strategy<Value = Lengths> {
    select(vec![Lengths::Updated, Lengths::Stale])
}

proptest! {
    #[test]
    fn emitted_packets_parse_back(
        datagram in any_datagram(),
        profile in any_profile(),
        extension in proptest::collection::vec(any::<u8>(), 0..40),
        trailing in proptest::collection::vec(any::<u8>(), 0..8),
    ) {
        let cut = is_cut(datagram.service);
        let extension = if cut { &[][..] } else { &extension[..] };
        let mut bytes = emitted(&datagram, &profile, extension);
        bytes.extend(trailing);
        let parsed = parsed(&bytes, &profile).unwrap();
        prop_assert_eq!(parsed.datagram, datagram);
        prop_assert_eq!(parsed.extension, extension);
        prop_assert_eq!(Frame::new(&bytes).unwrap().ethernet(), ethernet());
        if !cut {
            prop_assert_eq!(parsed.payload.len(), datagram.fields.payload_length());
            prop_assert!(parsed.payload.iter().enumerate().all(|(at, &byte)| byte == at as u8));
        }
    }

    #[test]
    fn a_trimmed_packet_has_the_fields_that_were_sent(
        datagram in any_trimmable(),
        profile in any_profile(),
        last_hop in any::<bool>(),
        lengths in lengths(),
        jitter in 0usize..16,
    ) {
        let mut bytes = emitted(&datagram, &profile, &[]);
        let whole = bytes.len();
        let left = Frame::trim(&mut bytes, &profile, last_hop, lengths).unwrap();
        let left = (left + jitter).min(whole);
        let parsed = parsed(&bytes[..left], &profile).unwrap();
        prop_assert_eq!(parsed.datagram.fields, datagram.fields);
        // Padding may follow the last byte of payload.
        let header = if datagram.source.is_ipv6() { 78 } else { 58 };
        let complete = left >= header + datagram.fields.payload_length();
        let expected = if complete { Service::Trimmable } else { Service::Trimmed };
        // A whole packet does not say which switch trimmed it.
        let is_notified = last_hop && profile.marks_last_hop() && !complete;
        let notified = if is_notified { Packet::MARK_LAST_HOP } else { 0 };
        prop_assert_eq!(parsed.datagram.marks, ecn_of(&datagram) | notified);
        // A switch that trims writes one DSCP: priority and mark are lost, even if all bytes remain.
        prop_assert_eq!(parsed.datagram.service, ServiceClass::from(expected));
        prop_assert_eq!(parsed.payload.is_empty(), !complete || datagram.fields.payload_length() == 0);
    }

    #[test]
    fn a_sender_reads_its_returned_header(
        datagram in any_trimmable(),
        profile in any_profile(),
        lengths in lengths(),
    ) {
        let mut bytes = emitted(&datagram, &profile, &[]);
        let left = Frame::trim(&mut bytes, &profile, false, lengths).unwrap();
        bytes.truncate(left);
        Frame::bounce(&mut bytes, &profile).unwrap();
        let returned = parsed(&bytes, &profile).unwrap();
        prop_assert_eq!(returned.datagram, Datagram {
            source: datagram.destination,
            destination: datagram.source,
            service: Service::Returned.into(),
            marks: ecn_of(&datagram),
            ..datagram
        });
        prop_assert_eq!(returned.payload, &[]);
        // A second bounce is refused.
        prop_assert_eq!(
            Frame::bounce(&mut bytes, &profile).map_err(|error| error.what),
            Err(What::Service)
        );
    }

    /// FastLane 3.2, all packet types: the whole packet's length is kept.
    #[test]
    fn a_sender_reads_a_notification_of_its_packet(
        datagram in any_datagram(),
        profile in any_profile(),
        extension in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let extension = if is_cut(datagram.service) { &[][..] } else { &extension[..] };
        let mut bytes = emitted(&datagram, &profile, extension);
        let whole = bytes.clone();
        let notified = Frame::notify(&mut bytes, &profile);
        if datagram.service.service().is_bounced() {
            prop_assert_eq!(notified.map_err(|error| error.what), Err(What::Service));
            return Ok(());
        }
        bytes.truncate(notified.unwrap());
        let v6 = datagram.source.is_ipv6();
        prop_assert_eq!(bytes.len(), if v6 { 78 } else { 60 });
        let length = if v6 { 18..20 } else { 16..18 };
        prop_assert_eq!(&bytes[length.clone()], &whole[length]);
        let notification = parsed(&bytes, &profile).unwrap();
        prop_assert_eq!(notification.datagram, Datagram {
            source: datagram.destination,
            destination: datagram.source,
            service: Service::Notification.into(),
            marks: 0,
            ..datagram
        });
        prop_assert_eq!(notification.payload, &[]);
    }

    #[test]
    fn the_header_check_survives_a_swap_of_addresses(
        fields in any_fields(),
        (source, destination) in any_addresses(),
    ) {
        let bytes = fields.emit(source, destination);
        let view = View::new(&bytes).unwrap();
        prop_assert_eq!(view.parse(source, destination), Ok(fields));
        prop_assert_eq!(view.parse(destination, source), Ok(fields));
    }

    #[test]
    fn every_single_bit_error_in_the_header_is_refused(
        fields in any_fields(),
        (source, destination) in any_addresses(),
    ) {
        let good = fields.emit(source, destination);
        for bit in 0..8 * HEADER_BYTES {
            let mut bad = good;
            bad[bit / 8] ^= 1 << (bit % 8);
            let refused = View::new(&bad).unwrap().parse(source, destination).unwrap_err();
            let expected = if bit / 8 == 0 && bit % 8 >= 4 { What::Version } else { What::Check };
            prop_assert_eq!(refused.what, expected, "bit {}", bit);
        }
    }

    #[test]
    fn every_single_bit_error_in_an_address_is_refused(
        fields in any_fields(),
        (source, destination) in any::<(u32, u32)>(),
    ) {
        let address = |bits| IpAddr::from(Ipv4Addr::from_bits(bits));
        let bytes = fields.emit(address(source), address(destination));
        for bit in 0..32 {
            let view = View::new(&bytes).unwrap();
            prop_assert!(!view.check_holds(address(source ^ 1 << bit), address(destination)));
        }
    }

    #[test]
    fn a_damaged_byte_of_a_whole_packet_is_never_taken_for_payload(
        datagram in any_trimmable(),
        extension in proptest::collection::vec(any::<u8>(), 0..20),
        at in any::<Index>(),
        flip in 1u8..,
    ) {
        let profile = Profile::PAPER;
        let mut bytes = emitted(&datagram, &profile, &extension);
        let header = if datagram.source.is_ipv6() { 78 } else { 58 };
        let sent = header + datagram.fields.payload_length() + extension.len();
        let at = header - 16 + at.index(sent - (header - 16));
        // To a one's-complement sum 0x00 and 0xff are equal only as whole words.
        bytes[at] ^= flip;
        prop_assert!(parsed(&bytes, &profile).is_err());
    }

    /// A header must be shorter than its whole packet: receivers take full length for whole, and it has no payload.
    #[test]
    fn a_single_bit_error_never_makes_a_whole_packet_without_its_payload(
        datagram in any_trimmable(),
        extension in proptest::collection::vec(any::<u8>(), 0..20),
    ) {
        let profile = Profile::PAPER;
        let bytes = emitted(&datagram, &profile, &extension);
        let payload = parsed(&bytes, &profile).unwrap().payload.to_vec();
        for bit in 0..8 * bytes.len() {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let Ok(read) = parsed(&bad, &profile) else { continue };
            let whole = usize::from(Packet::HEADER_BYTES) + read.datagram.fields.payload_length();
            let is_short = usize::from(read.wire_bytes) < whole;
            prop_assert!(read.payload == payload || is_short, "bit {bit} of {}", bytes.len());
        }
    }

    #[test]
    fn a_packet_becomes_a_datagram_and_back(
        mut datagram in any_datagram(),
        profile in any_profile(),
        (one, other) in (0u32..1000, 0u32..1000),
        path in any::<u16>(),
        by_address in any::<bool>(),
    ) {
        let fabric = Fabric { by_address };
        let path = PathId::new(if by_address { path % 1000 } else { path });
        let packet = Packet {
            source: HostId::new(one),
            destination: HostId::new(other),
            header: datagram.fields.on_path(path),
            wire_bytes: match is_cut(datagram.service) {
                true => 64,
                false => 64 + datagram.fields.payload_length() as u16,
            },
            service: datagram.service,
            marks: datagram.marks,
        };
        datagram = Datagram::of(&packet, &fabric).unwrap();
        let bytes = emitted(&datagram, &profile, &[]);
        prop_assert_eq!(parsed(&bytes, &profile).unwrap().packet(&fabric), Ok(packet));
    }

    /// A tag stays in place, later bytes parse as without it, and switches that trim to at least 70 bytes (IPv6: 90)
    /// leave it.
    #[test]
    fn an_authentication_tag_precedes_the_payload(
        length in 0u16..3000,
        extension in proptest::collection::vec(any::<u8>(), 0..20),
        tag in any::<[u8; TAG_BYTES]>(),
        v6 in any::<bool>(),
        cut_at in 64u16..200,
    ) {
        let mut datagram = data(length);
        if v6 {
            (datagram.source, datagram.destination) =
                (Ipv6Addr::new(1, 2, 3, 4, 5, 6, 7, 8).into(), Ipv6Addr::new(8, 7, 6, 5, 4, 3, 2, 1).into());
        }
        let payload: Vec<u8> = (0..length).map(|n| n as u8).collect();
        let profile = Profile { trimmed_bytes: cut_at, ..Profile::PAPER };
        let (ethernet, mut bytes) = (Ethernet::default(), Vec::new());
        datagram
            .emit_tagged_headers(ethernet, &profile, &tag, [&payload, &[]], &extension, &mut bytes)
            .unwrap();
        bytes.extend_from_slice(&payload);
        bytes.extend_from_slice(&extension);
        let frame = Frame::new(&bytes).unwrap();
        let parsed = frame.parse_tagged(&profile).unwrap();
        prop_assert_eq!((parsed.datagram, parsed.payload), (datagram, &payload[..]));
        prop_assert_eq!((parsed.extension, frame.tag()), (&extension[..], Some(tag)));
        let survives = cut_at >= Profile::min_keyed_bytes(v6);
        prop_assert_eq!(survives, cut_at >= if v6 { 90 } else { 70 });
        let left = Frame::trim(&mut bytes, &profile, false, Lengths::Updated).unwrap();
        bytes.truncate(left);
        Frame::bounce(&mut bytes, &profile).unwrap();
        let frame = Frame::new(&bytes).unwrap();
        let parsed = frame.parse_tagged(&profile).unwrap();
        prop_assert_eq!(parsed.datagram.fields, datagram.fields);
        prop_assert!(!survives || frame.tag() == Some(tag));
    }

    #[test]
    fn records_parse_back(ends in proptest::collection::vec(0u16..9000, 0..6), close in any::<bool>(),
        value in proptest::collection::vec(any::<u8>(), 0..=255), number in 5u8..) {
        let mut records: Vec<Record> = ends.into_iter().map(Record::MessageEnd).collect();
        records.push(Record::Token([number; TOKEN_BYTES]));
        let (connection, sequence) = (u32::from(number) << 23, 77);
        records.push(Record::Acked { connection, sequence, flags: number });
        records.push(Record::Unknown { number, value: &value });
        if close {
            records.push(Record::Close);
        }
        let mut bytes = Vec::new();
        for record in &records {
            record.emit(&mut bytes).unwrap();
        }
        let found: Result<Vec<Record>, Error> = Records::new(&bytes, 9000).collect();
        prop_assert_eq!(found, Ok(records));
    }

    #[test]
    fn no_bytes_make_a_parser_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        profile in any_profile(),
    ) {
        every_entry(&bytes, &profile);
    }

    #[test]
    fn no_corrupted_frame_makes_a_parser_panic(
        datagram in any_datagram(),
        profile in any_profile(),
        damage in proptest::collection::vec((any::<Index>(), any::<u8>()), 0..6),
        length in any::<Index>(),
    ) {
        let cut = is_cut(datagram.service);
        let extension: &[u8] = if cut { &[] } else { &[1, 2, 0, 1] };
        let mut bytes = emitted(&datagram, &profile, extension);
        for (at, byte) in damage {
            let at = at.index(bytes.len().min(90));
            bytes[at] = byte;
        }
        every_entry(&bytes, &profile);
        every_entry(&bytes[..length.index(bytes.len())], &profile);
    }
}

/// Calls every parser of network bytes.
fn every_entry(bytes: &[u8], profile: &Profile) {
    let _ = View::new(bytes).map(|view| view.parse(v4(1), v4(2)));
    let _ = Records::new(bytes, 100).count();
    if let Ok(parsed) = parsed(bytes, profile) {
        let _ = Records::new(parsed.extension, parsed.payload.len()).count();
        let _ = parsed.packet(&Fabric { by_address: true });
        let _ = parsed.packet(&Fabric { by_address: false });
    }
    for lengths in [Lengths::Updated, Lengths::Stale] {
        let mut copy = bytes.to_vec();
        if let Ok(left) = Frame::trim(&mut copy, profile, true, lengths) {
            assert!(left <= bytes.len());
        }
    }
    let _ = Frame::bounce(&mut bytes.to_vec(), profile);
    if let Ok(left) = Frame::notify(&mut bytes.to_vec(), profile) {
        assert!(left <= bytes.len());
    }
}

/// Host h is 10.h, with an address per path below 1000, or one address and the path as port.
struct Fabric {
    by_address: bool,
}

impl Routes for Fabric {
    fn canonical(&self, host: HostId) -> Option<IpAddr> {
        Some(Ipv4Addr::from_bits(10 << 24 | host.get() << 10 | 1023).into())
    }
    fn toward(&self, host: HostId, path: PathId) -> Option<(IpAddr, u16)> {
        if self.by_address {
            let address = 10 << 24 | host.get() << 10 | u32::from(path.get());
            Some((Ipv4Addr::from_bits(address).into(), 50_000))
        } else {
            Some((self.canonical(host)?, entropy_of(path)))
        }
    }
    fn host(&self, address: IpAddr) -> Option<HostId> {
        match address {
            IpAddr::V4(address) if address.octets()[0] == 10 => {
                Some(HostId::new(address.to_bits() >> 10 & 0x3fff))
            }
            _ => None,
        }
    }
    fn path(&self, address: IpAddr, entropy: u16) -> Option<PathId> {
        match address {
            IpAddr::V4(address) if self.by_address => {
                Some(PathId::new((address.to_bits() & 1023) as u16))
            }
            _ => Some(path_of(entropy)),
        }
    }
}

#[test]
fn the_header_layout_matches_the_documentation() {
    let fields = Fields {
        kind: Kind::Nack,
        flags: Flags::from_bits(0xa5),
        connection: ConnectionId::new(0x0102_0304),
        sequence: 0x0506_0708,
        extra: 0x090a_0b0c,
    };
    let bytes = fields.emit(v4(1), v4(2));
    assert_eq!(bytes[..2], [0x12, 0xa5]);
    assert_eq!(bytes[4..], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    // Computed by hand: 12a5 + 0102 + 0304 + 0506 + 0708 + 090a + 0b0c + 0a00 + 0001 + 0a00 + 0002.
    assert_eq!(bytes[2..4], (!0x4ad2_u16).to_be_bytes());
}

#[test]
fn a_header_of_zeros_is_refused() {
    let refused = View::new(&[0; 16]).unwrap().parse(v4(1), v4(2)).unwrap_err();
    assert_eq!(refused, Error::new(What::Version, 0));
}

#[test]
fn an_unknown_type_with_a_valid_check_is_refused() {
    let mut bytes = data(0).fields.emit(v4(1), v4(2));
    bytes[0] += 9;
    let check = u16::from_be_bytes([bytes[2], bytes[3]]) - 0x900;
    bytes[2..4].copy_from_slice(&check.to_be_bytes());
    let refused = View::new(&bytes).unwrap().parse(v4(1), v4(2)).unwrap_err();
    assert_eq!(refused.what, What::Kind);
}

#[test]
fn profiles_have_no_conflicts() {
    for (name, profile) in Profile::ALL {
        assert_eq!(profile.conflict(), None, "{name}");
        assert_eq!(Profile::named(name), Some(profile));
    }
    assert_eq!(Profile::named("papers"), None);
    let clash = Profile { returned: 10, ..Profile::PAPER };
    assert_eq!(clash.conflict(), Some(("returned", "trimmable")));
    let clash = Profile { trimmed: 0, ..Profile::PAPER };
    assert_eq!(clash.conflict(), Some(("trimmed", "droppable")));
    let clash = Profile { notification: 48, ..Profile::PAPER };
    assert_eq!(clash.conflict(), Some(("control", "notification")));
    let beyond = Profile { control: 64, ..Profile::PAPER };
    assert_eq!(beyond.conflict(), Some(("control", "the range 0 to 63")));
    let shared = Profile { control: 50, trimmed_last_hop: 50, ..Profile::PAPER };
    assert_eq!(shared.conflict(), None);
    let taken = Profile { control: 13, ..Profile::PAPER };
    assert_eq!(taken.conflict(), Some(("control", "data with a priority")));
}

#[test]
fn the_classes_of_priority_0_have_the_documented_dscps() {
    let dscp = |service: Service| Profile::PAPER.dscp(service.into());
    assert_eq!(Service::ALL.map(dscp), [10, 50, 54, 48, 0, 56]);
}

#[test]
fn the_trim_of_the_paper_leaves_a_64_byte_ipv4_frame() {
    let mut bytes = emitted(&data(9000), &Profile::PAPER, &[]);
    assert_eq!(bytes.len(), 14 + 20 + 8 + 16 + 9000);
    let left = Frame::trim(&mut bytes, &Profile::PAPER, false, Lengths::Updated).unwrap();
    assert_eq!(left + 4, 64);
    let trimmed = parsed(&bytes[..left], &Profile::PAPER).unwrap();
    assert_eq!(trimmed.wire_bytes, 64);
    assert_eq!(trimmed.datagram.fields.payload_length(), 9000);
    assert_eq!(u16::from_be_bytes([bytes[16], bytes[17]]), 46, "IP length updated");
}

#[test]
fn a_trim_without_a_new_ip_length_is_recognised() {
    let profile = Profile::TH5;
    let mut bytes = emitted(&data(9000), &profile, &[]);
    let left = Frame::trim(&mut bytes, &profile, false, Lengths::Stale).unwrap();
    assert_eq!(u16::from_be_bytes([bytes[16], bytes[17]]), 9044, "IP length stale");
    check(&bytes[..left], &profile, Ok((Service::Trimmed, 0)));
}

#[test]
fn a_packet_smaller_than_the_trim_length_arrives_whole() {
    let profile = Profile::SPECTRUM;
    let mut bytes = emitted(&data(100), &profile, &[]);
    let left = Frame::trim(&mut bytes, &profile, true, Lengths::Updated).unwrap();
    assert_eq!(left, bytes.len());
    check(&bytes, &profile, Ok((Service::Trimmable, 100)));
    // A damaged payload with a good header: the receiver asks for it again.
    *bytes.last_mut().unwrap() ^= 1;
    check(&bytes, &profile, Ok((Service::Trimmed, 0)));
}

#[test]
fn a_whole_packet_with_a_damaged_payload_is_refused() {
    let mut bytes = emitted(&data(100), &Profile::PAPER, &[]);
    *bytes.last_mut().unwrap() ^= 1;
    check(&bytes, &Profile::PAPER, Err(What::UdpChecksum));
}

#[test]
fn a_whole_packet_without_a_udp_checksum_is_refused() {
    // The one packet in 65536 whose checksum would be zero.
    let sum = |bytes: &[u8]| u16::from_be_bytes([bytes[40], bytes[41]]);
    let mut bytes = (0..=u16::MAX)
        .map(|entropy| emitted(&Datagram { entropy, ..data(8) }, &Profile::PAPER, &[]))
        .find(|bytes| sum(bytes) == 0xffff)
        .unwrap();
    check(&bytes, &Profile::PAPER, Ok((Service::Trimmable, 8)));
    bytes[40..42].fill(0);
    check(&bytes, &Profile::PAPER, Err(What::UdpChecksum));
}

/// Found by fuzzing: a header that claims more payload than any packet holds.
#[test]
fn a_payload_that_no_packet_holds_is_refused() {
    let claiming = |payload_length| {
        let mut trimmed = Datagram { service: Service::Trimmed.into(), ..data(0) };
        let mut bytes = emitted(&trimmed, &Profile::PAPER, &[]);
        trimmed.fields.extra = Header::data_extra(payload_length, 80);
        let header = trimmed.fields.emit(trimmed.source, trimmed.destination);
        bytes[42..58].copy_from_slice(&header);
        bytes
    };
    check(&claiming(65_535 - 44), &Profile::PAPER, Ok((Service::Trimmed, 0)));
    check(&claiming(65_535 - 43), &Profile::PAPER, Err(What::Length));
}

#[test]
fn a_trim_to_best_effort_is_recognised_by_its_length() {
    // The SAI default for the DSCP of trimmed packets is 0.
    let profile = Profile { trimmed: 0, ..Profile::SONIC };
    let mut bytes = emitted(&data(9000), &profile, &[]);
    let left = Frame::trim(&mut bytes, &profile, false, Lengths::Updated).unwrap();
    check(&bytes[..left], &Profile::SONIC, Ok((Service::Trimmed, 0)));
}

#[test]
fn a_trim_through_the_header_is_refused() {
    let bytes = emitted(&data(9000), &Profile::PAPER, &[]);
    check(&bytes[..57], &Profile::PAPER, Err(What::Truncated));
    check(&bytes[..58], &Profile::PAPER, Ok((Service::Trimmed, 0)));
}

#[test]
fn a_trim_removes_the_extension_and_keeps_the_header_of_control() {
    let mut ack = data(0);
    ack.fields.kind = Kind::Ack;
    ack.service = Service::Control.into();
    let mut extension = Vec::new();
    Record::Unknown { number: 9, value: &[0; 200] }.emit(&mut extension).unwrap();
    let bytes = emitted(&ack, &Profile::PAPER, &extension);
    let whole = parsed(&bytes, &Profile::PAPER).unwrap();
    assert_eq!(whole.extension, extension);
    let cut = parsed(&bytes[..60], &Profile::PAPER).unwrap();
    assert_eq!((cut.datagram, cut.extension), (ack, &[][..]));
}

#[test]
fn trimmed_and_control_may_share_a_dscp() {
    let profile = Profile { control: 48, ..Profile::SONIC };
    let mut bytes = emitted(&data(9000), &profile, &[]);
    let left = Frame::trim(&mut bytes, &profile, false, Lengths::Updated).unwrap();
    check(&bytes[..left], &profile, Ok((Service::Trimmed, 0)));
    let mut pull = data(0);
    pull.fields.kind = Kind::Pull;
    pull.service = Service::Control.into();
    check(&emitted(&pull, &profile, &[]), &profile, Ok((Service::Control, 0)));
}

#[test]
fn only_trimmable_data_is_trimmed_and_only_trimmed_data_returned() {
    let profile = Profile::PAPER;
    let mut bytes = emitted(&data(9000), &profile, &[]);
    let refused = Frame::bounce(&mut bytes, &profile).unwrap_err();
    assert_eq!(refused.what, What::Service);
    Frame::trim(&mut bytes, &profile, false, Lengths::Updated).unwrap();
    let refused = Frame::trim(&mut bytes, &profile, false, Lengths::Updated).unwrap_err();
    assert_eq!(refused.what, What::Service);
}

#[test]
fn frames_of_other_protocols_are_refused_with_a_reason() {
    let good = emitted(&data(100), &Profile::PAPER, &[]);
    let with = |changes: &[(usize, u8)]| {
        let mut bytes = good.clone();
        for &(at, byte) in changes {
            bytes[at] = byte;
        }
        // The IPv4 checksum is correct, so that the intended error is found.
        bytes[24..26].fill(0);
        let sum = super::checksum::Sum::default().bytes(&bytes[14..34]).complement();
        bytes[24..26].copy_from_slice(&sum.to_be_bytes());
        bytes
    };
    let profile = Profile::PAPER;
    check(&with(&[]), &profile, Ok((Service::Trimmable, 100)));
    check(&with(&[(12, 0x81), (13, 0)]), &profile, Err(What::EtherType));
    check(&with(&[(12, 0x86), (13, 0xdd)]), &profile, Err(What::IpVersion));
    check(&with(&[(14, 0x44)]), &profile, Err(What::IpHeader));
    check(&with(&[(20, 0x20)]), &profile, Err(What::Fragment));
    check(&with(&[(21, 1)]), &profile, Err(What::Fragment));
    check(&with(&[(23, 6)]), &profile, Err(What::Protocol));
    check(&with(&[(15, 34 << 2)]), &profile, Err(What::Service));
    // Droppable unscheduled data of priority 4.
    check(&with(&[(15, 33 << 2)]), &profile, Ok((Service::Droppable, 100)));
    check(&with(&[(36, 0)]), &profile, Err(What::Port));
    let mut bytes = good.clone();
    bytes[22] ^= 1;
    check(&bytes, &profile, Err(What::IpChecksum));
    check(&good[..20], &profile, Err(What::Truncated));
    check(&[], &profile, Err(What::Truncated));
}

#[test]
fn ipv4_options_are_skipped() {
    let mut bytes = emitted(&data(100), &Profile::PAPER, &[]);
    for _ in 0..4 {
        bytes.insert(34, 1);
    }
    bytes[14] = 0x46;
    bytes[24..26].fill(0);
    let sum = super::checksum::Sum::default().bytes(&bytes[14..38]).complement();
    bytes[24..26].copy_from_slice(&sum.to_be_bytes());
    check(&bytes, &Profile::PAPER, Ok((Service::Trimmable, 100)));
    let left = Frame::trim(&mut bytes, &Profile::PAPER, false, Lengths::Updated).unwrap();
    check(&bytes[..left], &Profile::PAPER, Ok((Service::Trimmed, 0)));
}

#[test]
fn invalid_datagrams_are_not_emitted() {
    let emit = |datagram: Datagram, payload: &[u8]| {
        let mut bytes = Vec::new();
        datagram
            .emit(ethernet(), &Profile::PAPER, payload, &[], &mut bytes)
            .map_err(|error| error.what)
    };
    assert_eq!(emit(data(2), &[1, 2]), Ok(()));
    assert_eq!(emit(data(3), &[1, 2]), Err(What::Length));
    assert_eq!(emit(data(u16::MAX), &[0; 65_535]), Err(What::Length));
    let service = |service: Service| Datagram { service: service.into(), ..data(0) };
    assert_eq!(emit(service(Service::Control), &[]), Err(What::Service));
    assert_eq!(emit(Datagram { marks: Packet::MARK_CE, ..data(0) }, &[]), Err(What::Marks));
    assert_eq!(
        emit(Datagram { marks: Packet::MARK_DELAYED_ACK, ..data(0) }, &[]),
        Err(What::Marks)
    );
    let marks = Packet::MARK_UNSCHEDULED;
    let trimmed = Datagram { service: Service::Trimmed.into(), marks, ..data(0) };
    assert_eq!(emit(trimmed, &[]), Err(What::Marks));
    let mut droppable = Datagram { service: Service::Droppable.into(), marks, ..data(0) };
    assert_eq!(emit(droppable, &[]), Ok(()));
    droppable.fields.kind = Kind::Ack;
    assert_eq!(emit(droppable, &[]), Err(What::Marks));
    let mixed = Datagram { source: Ipv6Addr::LOCALHOST.into(), ..data(0) };
    assert_eq!(emit(mixed, &[]), Err(What::IpVersion));
    let mut ack = service(Service::Returned);
    ack.fields.kind = Kind::Ack;
    assert_eq!(emit(ack, &[]), Err(What::Service));
}

#[test]
fn malformed_records_end_the_extension() {
    let check = |bytes: &[u8], good: usize| {
        let mut records = Records::new(bytes, 10);
        for _ in 0..good {
            assert!(matches!(records.next(), Some(Ok(_))));
        }
        let error = records.next().unwrap().unwrap_err();
        assert_eq!(error.what, What::Record);
        assert_eq!(records.next(), None);
    };
    check(&[1], 0);
    check(&[2, 0, 1, 2, 0], 1);
    check(&[1, 1, 5], 0);
    check(&[2, 1, 0], 0);
    check(&[3, 7, 0, 0, 0, 0, 0, 0, 0], 0);
    check(&[4, 8, 0, 0, 0, 0, 0, 0, 0, 0], 0);
    check(&[1, 2, 0, 11], 0);
    check(&[1, 2, 0, 10, 9, 3, 0, 0], 1);
    let mut bytes = Vec::new();
    for number in [1, 2, 3, 4] {
        let known = Record::Unknown { number, value: &[] };
        assert_eq!(known.emit(&mut bytes).map_err(|error| error.what), Err(What::Record));
    }
    assert!(bytes.is_empty());
}

#[test]
fn errors_name_the_problem_and_its_place() {
    use std::string::ToString;
    let mut bytes = emitted(&data(100), &Profile::PAPER, &[]);
    bytes[50] ^= 1;
    let error = parsed(&bytes, &Profile::PAPER).unwrap_err();
    assert_eq!(error.to_string(), "header check does not match at byte 44");
}

#[test]
fn every_drop_reason_has_its_number_and_a_unique_name() {
    use std::string::ToString;
    for (place, what) in What::ALL.into_iter().enumerate() {
        assert_eq!(what as usize, place);
        let same = What::ALL.into_iter().filter(|other| other.name() == what.name());
        assert_eq!(same.count(), 1, "{}", what.name());
        assert!(Error::new(what, 7).to_string().ends_with("at byte 7"));
    }
}
