//! The notification of a drop, made of the bytes of the frame that was dropped (FastLane 3.2), whoever sent it.
//!
//! Frames of this protocol are told of as [`Frame::notify`](trimline_packet::wire::Frame::notify) does. Any other packet
//! of TCP or UDP keeps its ports as they are, and its IP length: a kernel that does not know FastLane takes it for
//! truncated, counts it and drops it.

use std::net::IpAddr;

use super::ip_header::IpHeader;

const IP: usize = 14;
/// Bytes of a notification without its FCS: 64 on the wire (FastLane 3.3.1).
const KEPT: usize = 60;
/// Bytes of the longest notification without its FCS: that of one of this protocol's frames behind IPv4 with options.
pub(super) const LONGEST: usize = IP + 60 + 8 + 16;
/// TCP's header without options.
const TCP_BYTES: usize = 20;
/// UDP's header.
const UDP_BYTES: usize = 8;
/// IPv6's header of fragments (RFC 8200, 4.5).
const FRAGMENT_BYTES: usize = 8;

/// Why nobody was told of a frame that was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untold {
    /// It is no IP: ARP and all else.
    NoIp,
    /// To or from a group, or a copy of a frame that went everywhere: nobody knows whether another copy arrived.
    Group,
    /// Its bytes end within its headers or before its length does, its checksum is wrong, or its lengths contradict.
    Malformed,
    /// A fragment other than the first: it has no ports.
    Fragment,
    /// Neither TCP nor UDP, or IPv6 with other headers before them.
    Protocol,
    /// A switch has turned it round already.
    Notification,
    /// It carries nothing, or so little that its notification would be the packet itself.
    Control,
}

impl Untold {
    /// All of them. The place of each is its number.
    pub const ALL: [Untold; 7] = [
        Untold::NoIp,
        Untold::Group,
        Untold::Malformed,
        Untold::Fragment,
        Untold::Protocol,
        Untold::Notification,
        Untold::Control,
    ];

    /// What a counter of it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Untold::NoIp => "no_ip",
            Untold::Group => "group",
            Untold::Malformed => "malformed",
            Untold::Fragment => "fragment",
            Untold::Protocol => "protocol",
            Untold::Notification => "notification",
            Untold::Control => "control",
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

/// The IP header of a frame between two hosts that no switch has turned round. `dscp` is that of notifications.
pub(super) fn between_hosts(bytes: &[u8], dscp: u8) -> Result<IpHeader, Untold> {
    let network = match (IpHeader::of(bytes), bytes.get(12..14)) {
        (Some(network), _) => network,
        (None, None | Some([0x08, 0x00] | [0x86, 0xdd])) => return Err(Untold::Malformed),
        (None, Some(_)) => return Err(Untold::NoIp),
    };
    let is_group = (bytes[0] | bytes[6]) & 1 != 0;
    if is_group || is_of_many(network.source(bytes)) || is_of_many(network.destination(bytes)) {
        return Err(Untold::Group);
    }
    // FastLane 3.4.1-b: what a switch has turned round is not told of.
    if network.dscp(bytes) == dscp {
        return Err(Untold::Notification);
    }
    Ok(network)
}

/// What is behind the header of IP.
pub(super) struct Behind {
    /// TCP or UDP, by its number.
    pub(super) protocol: u8,
    /// Where its header begins.
    pub(super) at: usize,
    /// Where the packet ends, by the length in IP: behind that is padding. No later than the frame.
    pub(super) end: usize,
    /// More fragments follow.
    has_more: bool,
}

/// What is behind the header of IP of a whole packet, or of a first fragment.
pub(super) fn behind(bytes: &[u8], network: IpHeader) -> Result<Behind, Untold> {
    let found = match network {
        IpHeader::V4(_) => {
            if !network.is_sound(bytes) {
                return Err(Untold::Malformed);
            }
            let fragment = word(bytes, IP + 6);
            if fragment & 0x1fff != 0 {
                return Err(Untold::Fragment);
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
                (FRAGMENT, None) => return Err(Untold::Malformed),
                (FRAGMENT, Some(fragment)) => {
                    let place = word(fragment, 2);
                    if place & 0xfff8 != 0 {
                        return Err(Untold::Fragment);
                    }
                    let (protocol, at) = (fragment[0], at + FRAGMENT_BYTES);
                    Behind { protocol, at, end, has_more: place & 1 != 0 }
                }
                (_, _) => whole,
            }
        }
    };
    // Padding is no harm; a packet that was cut before is.
    match found.end <= bytes.len() {
        true => Ok(found),
        false => Err(Untold::Malformed),
    }
}

/// Bytes of a packet of TCP or UDP that its notification keeps, without FCS: 60, or the fixed part of its headers where
/// that is longer, and no more than there are. Options of TCP are cut with the data.
fn kept(bytes: &[u8], network: IpHeader, notifies_control: bool) -> Result<usize, Untold> {
    let Behind { protocol, at, end, has_more } = behind(bytes, network)?;
    let (fixed, header) = match protocol {
        6 if at + TCP_BYTES <= end => (TCP_BYTES, usize::from(bytes[at + 12] >> 4) * 4),
        17 if at + UDP_BYTES <= end => {
            let length = word(bytes, at + 4);
            // UDP's length is that of the whole datagram, of which a first fragment is a part.
            if length < UDP_BYTES || (at + length > end && !has_more) {
                return Err(Untold::Malformed);
            }
            (UDP_BYTES, UDP_BYTES)
        }
        6 | 17 => return Err(Untold::Malformed),
        _ => return Err(Untold::Protocol),
    };
    if header < fixed || at + header > end {
        return Err(Untold::Malformed);
    }
    let kept = KEPT.max(at + fixed);
    // What arrives whole is no notification to a kernel that does not know FastLane: it is a packet of nobody.
    if (at + header == end || end <= kept) && !notifies_control {
        return Err(Untold::Control);
    }
    Ok(kept.min(bytes.len()))
}

/// Makes a packet of TCP or UDP the notification of its own drop: the addresses of Ethernet and IP are swapped and the
/// ports are not, `dscp` is written, ECN cleared, and the IP length left as it was (FastLane 3.2). Gives the bytes that
/// are left. On an error nothing has changed.
pub(super) fn notify(
    bytes: &mut [u8],
    network: IpHeader,
    dscp: u8,
    notifies_control: bool,
) -> Result<usize, Untold> {
    let kept = kept(bytes, network, notifies_control)?;
    let (destination, behind) = bytes.split_at_mut(6);
    destination.swap_with_slice(&mut behind[..6]);
    network.swap_addresses(bytes);
    network.set_class(bytes, dscp << 2);
    Ok(kept)
}
