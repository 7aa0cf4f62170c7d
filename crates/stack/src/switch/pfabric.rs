//! The urgency of a frame (pFabric, SIGCOMM 2013, 4.1): its form on the wire, and ports that order by it.
//!
//! It is a TCP option for experiments (kind 253, RFC 4727) with an ExID (RFC 6994), of eight bytes. The last four are
//! the bytes that the flow has still to send, or has in all. Fewer are more urgent.
//!
//! ```text
//! 253 | 8 | 0x70 0x46 | bytes of the flow, the highest first
//! ```
//!
//! A flow with more than 32 bits of bytes writes the maximum. A switch never changes the option. A frame without it is
//! treated as the simulator's control packets: it goes before all data, and never loses its place.

use trimline_packet::Packet;
use trimline_switch::profiles::{self, Sizes};
use trimline_switch::{Order, ServiceModel};

use super::ip_header::IpHeader;
use super::notification::behind;
use super::notifications_config;

const TCP: u8 = 6;
const TCP_BYTES: usize = 20;
/// The end of the options, and the padding option (RFC 9293, 3.2).
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
/// An option for experiments (RFC 4727).
const EXPERIMENT: u8 = 253;
/// The ExID: "pF". Chosen; it is not registered.
const EXID: [u8; 2] = [0x70, 0x46];
const OPTION_BYTES: usize = 8;

/// Returns the urgency in a frame, unless it has none, is malformed, or is a fragment except the first.
pub(super) fn of(bytes: &[u8]) -> Option<u32> {
    let found = behind(bytes, IpHeader::of(bytes)?).ok()?;
    if found.protocol != TCP {
        return None;
    }
    let segment = bytes.get(found.at..found.end)?;
    let header = usize::from(segment.get(12)? >> 4) * 4;
    let mut options = segment.get(TCP_BYTES..header)?;
    while let [kind, rest @ ..] = options {
        options = match *kind {
            END => return None,
            NO_OPERATION => rest,
            _ => {
                // A length includes kind and length: a smaller one would loop for ever.
                let length = usize::from(*rest.first()?);
                let option = options.get(..length).filter(|option| option.len() >= 2)?;
                if let [EXPERIMENT, _, high, low, pfabric @ ..] = option
                    && [*high, *low] == EXID
                    && option.len() == OPTION_BYTES
                {
                    return pfabric.try_into().ok().map(u32::from_be_bytes);
                }
                &options[length..]
            }
        };
    }
    None
}

/// The profile of ports ordered by urgency, without notifications.
pub(super) const PROFILE: &str = "pfabric";

/// Returns the model of such a port, or a message about an invalid size.
pub(super) fn model(packets: u32, packet_bytes: u16) -> Result<ServiceModel, String> {
    notifications_config::port_bytes(packets, packet_bytes)?;
    let profile = profiles::named(PROFILE).expect("a profile of this name");
    let sizes = Sizes {
        packets,
        payload_bytes: packet_bytes.saturating_sub(Packet::HEADER_BYTES),
        packet_bytes,
        mark: 0,
        line: trimline_packet::BitRate::from_gbps(1),
    };
    (profile.build)(sizes).build().map_err(|error| format!("profile {PROFILE}: {error}"))
}

pub(super) fn describe(notifies: Option<Order>, bytes: u32) -> String {
    let evicted = match notifies {
        Some(Order::Urgency) => "evicted, with a notification,",
        Some(Order::Arrival) | None => "evicted",
    };
    let [high, low] = EXID;
    format!(
        "all ports: the most urgent packet leaves first, and the least urgent one is {evicted} when the queue of \
         {bytes} B is full; option \
         {EXPERIMENT} of TCP with ExID 0x{high:02x}{low:02x} has the priority; packets without it precede all others"
    )
}
