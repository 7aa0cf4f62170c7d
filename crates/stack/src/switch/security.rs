//! Port security: the source addresses that a port accepts. Frames from other sources are refused and counted.

use std::net::{IpAddr, Ipv4Addr};

use serde::Deserialize;
use trimline_packet::wire::LabelStack;

use super::ip_header::IpHeader;
use super::quantity::{Ethernet, ethernet_text};

/// Offset of the sender's IPv4 address in an ARP packet over Ethernet.
const ARP_SENDER: usize = 14 + 14;

/// The configuration of the sources that a port accepts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortSecurityConfig {
    /// Ethernet addresses of the host.
    #[serde(default)]
    pub ethernet: Vec<Ethernet>,
    /// Number of further Ethernet addresses to accept: the first seen since the link came up. Default: 1 without
    /// `ethernet`, else 0.
    pub learn: Option<usize>,
    /// True if IP packets and ARP are accepted only from the host's `addresses`. Default: true.
    pub ip: Option<bool>,
}

impl PortSecurityConfig {
    /// Returns the guard for these addresses of a host. Fails if the port would accept nothing.
    pub(super) fn guard(&self, addresses: &[IpAddr]) -> Result<Guard, String> {
        let known: Vec<[u8; 6]> = self.ethernet.iter().map(|address| address.0).collect();
        let room = self.learn.unwrap_or(usize::from(known.is_empty()));
        if known.is_empty() && room == 0 {
            return Err(
                "port_security: the port would accept no frame; expected `ethernet`, or `learn` above 0".to_owned()
            );
        }
        if self.ip.unwrap_or(true) && addresses.is_empty() {
            return Err(
                "port_security: the host has no `addresses`; expected `addresses`, or ip = false"
                    .to_owned(),
            );
        }
        let addresses = self.ip.unwrap_or(true).then(|| addresses.to_vec());
        Ok(Guard { known, room, learned: Vec::new(), addresses, refused: 0, first: None })
    }
}

#[derive(Clone, Debug)]
pub(super) struct Guard {
    known: Vec<[u8; 6]>,
    room: usize,
    learned: Vec<[u8; 6]>,
    addresses: Option<Vec<IpAddr>>,
    pub(super) refused: u64,
    /// The source of the first refused frame.
    pub(super) first: Option<String>,
}

impl Guard {
    pub(super) fn describe(&self) -> String {
        let known = self.known.iter().map(|&address| ethernet_text(address).to_string());
        let first = match self.room {
            0 => None,
            1 => Some("the first Ethernet address that sends".to_owned()),
            room => Some(format!("the first {room} Ethernet addresses that send")),
        };
        let ethernet = known.chain(first).collect::<Vec<_>>().join(", ");
        let Some(addresses) = &self.addresses else { return format!("{ethernet}; any IP address") };
        let addresses = addresses.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ");
        format!("{ethernet}; IP from {addresses}")
    }

    /// Returns whether a frame may enter. A refused frame is counted, and teaches no address.
    pub(super) fn admits(&mut self, bytes: &[u8]) -> bool {
        let stranger = self.stranger(bytes);
        if stranger.is_some() {
            self.refused += 1;
            if self.first.is_none() {
                self.first = stranger;
            }
            return false;
        }
        true
    }

    fn stranger(&mut self, bytes: &[u8]) -> Option<String> {
        let Some(&ethernet) = bytes.get(6..).and_then(|rest| rest.first_chunk::<6>()) else {
            return Some("a frame without a source address".to_owned());
        };
        let is_known = self.known.contains(&ethernet) || self.learned.contains(&ethernet);
        let is_group = ethernet[0] & 1 != 0;
        if !is_known && (is_group || self.learned.len() >= self.room) {
            return Some(ethernet_text(ethernet).to_string());
        }
        if let Some(addresses) = &self.addresses
            && let Some(source) = source(bytes)
            && !addresses.contains(&source)
        {
            return Some(source.to_string());
        }
        if !is_known {
            self.learned.push(ethernet);
        }
        None
    }

    pub(super) fn forget(&mut self) {
        self.learned.clear();
    }

    /// Takes over another configuration. Counts stay, and learned addresses while there is room.
    pub(super) fn adopt(&mut self, other: Guard) {
        let Guard { known, room, addresses, .. } = other;
        self.learned.retain(|address| !known.contains(address));
        self.learned.truncate(room);
        (self.known, self.room, self.addresses) = (known, room, addresses);
    }
}

/// Returns the IP address of a frame's sender. A host that asks for an address has none, and IPv6 neighbour discovery
/// may use a link-local one: no router forwards either.
fn source(bytes: &[u8]) -> Option<IpAddr> {
    let source = match bytes.get(12..14)? {
        [0x08, 0x06] => {
            let sender = bytes.get(ARP_SENDER..)?.first_chunk::<4>()?;
            Ipv4Addr::from(*sender).into()
        }
        // Below labels.
        [0x88, 0x47] => {
            let (_, plain) = LabelStack::split(bytes)?;
            IpHeader::of(&plain)?.source(&plain)
        }
        _ => IpHeader::of(bytes)?.source(bytes),
    };
    let is_of_link = matches!(source, IpAddr::V6(address) if address.is_unicast_link_local());
    (!source.is_unspecified() && !is_of_link).then_some(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(text: &str, addresses: &[&str]) -> Result<Guard, String> {
        let addresses: Vec<IpAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
        let config: PortSecurityConfig = toml::from_str(text).map_err(|error| error.to_string())?;
        config.guard(&addresses)
    }

    fn frame(ethernet: u8, kind: u16, source: [u8; 4]) -> Vec<u8> {
        let mut bytes = vec![0; 60];
        bytes[6..12].copy_from_slice(&[2, 0, 0, 0, 0, ethernet]);
        bytes[12..14].copy_from_slice(&kind.to_be_bytes());
        if kind == 0x0806 {
            bytes[28..32].copy_from_slice(&source);
        } else {
            bytes[14] = 0x45;
            bytes[16..18].copy_from_slice(&46u16.to_be_bytes());
            bytes[26..30].copy_from_slice(&source);
        }
        bytes
    }

    #[test]
    fn a_port_with_port_security_accepts_its_own_sources() {
        let (own, other, none) = ([10, 0, 0, 1], [10, 0, 0, 2], [0; 4]);
        let check = |guard: &mut Guard, accepted: bool, (ethernet, kind, source)| {
            let bytes = frame(ethernet, kind, source);
            assert_eq!(guard.admits(&bytes), accepted, "{ethernet} {kind:x} {source:?}: {guard:?}");
        };
        // The first address seen, if its IP address is right.
        let mut learns = guard("", &["10.0.0.1"]).unwrap();
        for (accepted, frame) in [
            (false, (9, 0x0800, other)),
            (true, (1, 0x0800, own)),
            (true, (1, 0x0806, own)),
            (true, (1, 0x0806, none)),
            (false, (1, 0x0806, other)),
            (false, (2, 0x0800, own)),
            (true, (1, 0x88cc, other)),
        ] {
            check(&mut learns, accepted, frame);
        }
        assert_eq!((learns.refused, learns.first.as_deref()), (3, Some("10.0.0.2")));
        learns.forget();
        check(&mut learns, true, (2, 0x0800, own));
        assert!(!learns.admits(&[0; 9]), "without a source");
        // Only the named addresses.
        let mut named = guard("ethernet = [\"02:00:00:00:00:01\"]\nip = false", &[]).unwrap();
        check(&mut named, true, (1, 0x0800, other));
        check(&mut named, false, (2, 0x0800, own));
        assert_eq!(named.first.as_deref(), Some("02:00:00:00:00:02"));
        named.adopt(guard("learn = 2", &["10.0.0.2"]).unwrap());
        check(&mut named, false, (1, 0x0800, own));
        check(&mut named, true, (1, 0x0800, other));
        check(&mut named, true, (2, 0x0800, other));
        check(&mut named, false, (3, 0x0800, other));
        assert_eq!(named.refused, 3, "counts go on");
        for (wrong, described) in [("learn = 0", "accept no frame"), ("", "no `addresses`")] {
            let said = guard(wrong, &[]).unwrap_err();
            assert!(said.contains(described), "{said}");
        }
        let described = |text: &str| guard(text, &["10.0.0.1", "fd00::1"]).unwrap().describe();
        assert_eq!(
            described(""),
            "the first Ethernet address that sends; IP from 10.0.0.1, fd00::1"
        );
        let both = "ethernet = [\"02:00:00:00:00:01\"]\nlearn = 2\nip = false";
        let expected =
            "02:00:00:00:00:01, the first 2 Ethernet addresses that send; any IP address";
        assert_eq!(described(both), expected);
        assert!(guard("ethernet = [\"02:00\"]", &[]).unwrap_err().contains("Ethernet address"));
    }
}
