//! How urgent a frame is (pFabric, SIGCOMM 2013, 4.1): the form of it on the wire, and ports that look at it.
//!
//! It is an option of TCP for experiments (kind 253, RFC 4727) under an ExID (RFC 6994): eight bytes in all, of which the
//! last four are the bytes that the flow has still to send, or those of the whole flow. The fewer, the more urgent.
//!
//! ```text
//! 253 | 8 | 0x70 0x46 | bytes of the flow, the highest first
//! ```
//!
//! A sender with more than 32 bits can hold writes the greatest number. A switch never changes the option. A frame without
//! it is treated as the simulator treats control packets: it goes before all data, and loses its place to nobody.

use trimline_packet::Packet;
use trimline_switch::profiles::{self, Sizes};
use trimline_switch::{Order, ServiceModel};

use super::ip_header::IpHeader;
use super::notification::behind;
use super::notifications_config;

/// TCP among the protocols of IP.
const TCP: u8 = 6;
/// TCP's header without options.
const TCP_BYTES: usize = 20;
/// The end of the options, and one that fills (RFC 9293, 3.2).
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
/// An option for experiments (RFC 4727).
const EXPERIMENT: u8 = 253;
/// Which experiment: "pF". Chosen; it is not registered.
const EXID: [u8; 2] = [0x70, 0x46];
/// Bytes of the option.
const OPTION_BYTES: usize = 8;

/// How urgent a frame says that it is; none if it says nothing, or cannot be read. Of a frame of which the IP header or
/// TCP's contradicts the others nothing is read, nor of a fragment but the first.
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
                // A length counts kind and length too: less would go on for ever.
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

/// The profile of ports that look at urgencies and tell nobody.
pub(super) const PROFILE: &str = "pfabric";

/// What such a port does that holds so many packets of so many bytes.
///
/// # Errors
/// A size that cannot be.
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

/// What ports do about urgency, in words: those that tell senders of drops and are in this order, or, without one, those
/// that tell nobody.
pub(super) fn describe(notifies: Option<Order>, bytes: u32) -> String {
    let evicted = match notifies {
        Some(Order::Urgency) => "evicted and told of",
        Some(Order::Arrival) | None => "evicted",
    };
    let [high, low] = EXID;
    format!(
        "all ports: the most urgent packet goes first, and the least urgent one is {evicted} where {bytes} B are full; option \
         {EXPERIMENT} of TCP with ExID 0x{high:02x}{low:02x} says how urgent; packets without it go before all others"
    )
}
