//! Notifications of drops, made from the bytes of the dropped frame (FastLane 3.2), from any sender.
//!
//! Frames of this protocol become notifications as in [`Frame::notify`](trimline_packet::wire::Frame::notify). Other
//! packets of TCP or UDP keep their ports and IP length: a kernel that does not know FastLane takes them for truncated,
//! counts and drops them.

use std::net::IpAddr;

use super::ip_header::IpHeader;

const IP: usize = 14;
/// Bytes of a notification without its FCS: 64 on the wire (FastLane 3.3.1).
const MIN_LENGTH: usize = 60;
/// Bytes of the longest notification without its FCS: a frame of this protocol behind IPv4 with options.
pub(super) const LONGEST: usize = IP + 60 + 8 + 16;
const TCP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
/// Bytes of IPv6's fragment header (RFC 8200, 4.5).
const FRAGMENT_BYTES: usize = 8;

/// The reason why a dropped frame has no notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unnotified {
    /// It is not IP: ARP and others.
    NoIp,
    /// To or from a group, or a flooded copy: another copy may have arrived.
    Group,
    /// Its bytes end within its headers or before its length does, its checksum is wrong, or its lengths contradict.
    Malformed,
    /// A fragment other than the first: it has no ports.
    Fragment,
    /// Neither TCP nor UDP, or IPv6 with other headers before them.
    Protocol,
    /// A switch has already sent it back.
    Notification,
    /// It has no payload, or so little that its notification would be the packet itself.
    Control,
}

impl Unnotified {
    /// All reasons, indexed by their numbers.
    pub const ALL: [Unnotified; 7] = [
        Unnotified::NoIp,
        Unnotified::Group,
        Unnotified::Malformed,
        Unnotified::Fragment,
        Unnotified::Protocol,
        Unnotified::Notification,
        Unnotified::Control,
    ];

    /// Returns the name of its counter.
    pub const fn name(self) -> &'static str {
        match self {
            Unnotified::NoIp => "no_ip",
            Unnotified::Group => "group",
            Unnotified::Malformed => "malformed",
            Unnotified::Fragment => "fragment",
            Unnotified::Protocol => "protocol",
            Unnotified::Notification => "notification",
            Unnotified::Control => "control",
        }
    }
}

fn word(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

fn is_of_many(address: IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    address.is_multicast() || address.is_unspecified() || is_broadcast
}

/// Returns the IP header of a frame between two hosts, if it is not marked with the `dscp` of notifications.
pub(super) fn between_hosts(bytes: &[u8], dscp: u8) -> Result<IpHeader, Unnotified> {
    let network = match (IpHeader::of(bytes), bytes.get(12..14)) {
        (Some(network), _) => network,
        (None, None | Some([0x08, 0x00] | [0x86, 0xdd])) => return Err(Unnotified::Malformed),
        (None, Some(_)) => return Err(Unnotified::NoIp),
    };
    let is_group = (bytes[0] | bytes[6]) & 1 != 0;
    if is_group || is_of_many(network.source(bytes)) || is_of_many(network.destination(bytes)) {
        return Err(Unnotified::Group);
    }
    // FastLane 3.4.1-b: a packet that a switch has sent back gets no notification.
    if network.dscp(bytes) == dscp {
        return Err(Unnotified::Notification);
    }
    Ok(network)
}

pub(super) struct Behind {
    /// The protocol number of TCP or UDP.
    pub(super) protocol: u8,
    pub(super) at: usize,
    /// Offset of the end, by the length in IP, within the frame. Padding follows.
    pub(super) end: usize,
    /// More fragments follow.
    has_more: bool,
}

/// Returns the contents of a whole packet or first fragment.
pub(super) fn behind(bytes: &[u8], network: IpHeader) -> Result<Behind, Unnotified> {
    let found = match network {
        IpHeader::V4(_) => {
            if !network.is_sound(bytes) {
                return Err(Unnotified::Malformed);
            }
            let fragment = word(bytes, IP + 6);
            if fragment & 0x1fff != 0 {
                return Err(Unnotified::Fragment);
            }
            Behind {
                protocol: bytes[IP + 9],
                at: network.payload(),
                end: IP + word(bytes, IP + 2),
                has_more: fragment & 0x2000 != 0,
            }
        }
        IpHeader::V6 => {
            let (at, end) = (network.payload(), network.payload() + word(bytes, IP + 4));
            let whole = Behind { protocol: bytes[IP + 6], at, end, has_more: false };
            // RFC 8200, 4.5.
            const FRAGMENT: u8 = 44;
            match (whole.protocol, bytes.get(at..at + FRAGMENT_BYTES)) {
                (FRAGMENT, None) => return Err(Unnotified::Malformed),
                (FRAGMENT, Some(fragment)) => {
                    let place = word(fragment, 2);
                    if place & 0xfff8 != 0 {
                        return Err(Unnotified::Fragment);
                    }
                    let (protocol, at) = (fragment[0], at + FRAGMENT_BYTES);
                    Behind { protocol, at, end, has_more: place & 1 != 0 }
                }
                (_, _) => whole,
            }
        }
    };
    // Padding is harmless; a truncated packet is not.
    match found.end <= bytes.len() {
        true => Ok(found),
        false => Err(Unnotified::Malformed),
    }
}

/// Returns the bytes that the notification of a packet keeps, without FCS: 60, or the fixed part of its headers if
/// longer, but at most its own. Options of TCP are cut with the data.
fn truncated_length(
    bytes: &[u8],
    network: IpHeader,
    notifies_control: bool,
) -> Result<usize, Unnotified> {
    let Behind { protocol, at, end, has_more } = behind(bytes, network)?;
    let (fixed, header) = match protocol {
        6 if at + TCP_BYTES <= end => (TCP_BYTES, usize::from(bytes[at + 12] >> 4) * 4),
        17 if at + UDP_BYTES <= end => {
            let length = word(bytes, at + 4);
            // UDP has the length of the whole datagram, and a first fragment is a part of it.
            if length < UDP_BYTES || (at + length > end && !has_more) {
                return Err(Unnotified::Malformed);
            }
            (UDP_BYTES, UDP_BYTES)
        }
        6 | 17 => return Err(Unnotified::Malformed),
        _ => return Err(Unnotified::Protocol),
    };
    if header < fixed || at + header > end {
        return Err(Unnotified::Malformed);
    }
    let kept = MIN_LENGTH.max(at + fixed);
    // To a kernel that does not know FastLane, a notification that arrives whole is an unexpected packet.
    if (at + header == end || end <= kept) && !notifies_control {
        return Err(Unnotified::Control);
    }
    Ok(kept.min(bytes.len()))
}

/// Turns a packet of TCP or UDP into the notification of its own drop: swaps the addresses of Ethernet and IP, keeps
/// the ports and the IP length, sets `dscp`, clears ECN (FastLane 3.2). Returns the remaining bytes. An error leaves it
/// unchanged.
pub(super) fn notify(
    bytes: &mut [u8],
    network: IpHeader,
    dscp: u8,
    notifies_control: bool,
) -> Result<usize, Unnotified> {
    let kept = truncated_length(bytes, network, notifies_control)?;
    let (destination, behind) = bytes.split_at_mut(6);
    destination.swap_with_slice(&mut behind[..6]);
    network.swap_addresses(bytes);
    network.set_class(bytes, dscp << 2);
    Ok(kept)
}
