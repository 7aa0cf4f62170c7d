//! The parameters of a host.

use std::net::IpAddr;

use trimline_packet::wire::labels::LABEL_BYTES;
use trimline_packet::wire::{Profile, TAG_BYTES};
use trimline_packet::{BitRate, TimeDelta};
use trimline_transport::ndp::{self, FollowsPath, PathPenalty};

use super::directory::Streams;
use super::key::Key;
use super::outgoing::EXTENSION_ROOM;
use super::wait::Idle;

/// Minimum of a measured RTO (chosen: how late a host that shares its cores may be).
pub(super) const MIN_RTO: TimeDelta = TimeDelta::from_ms(20);

/// Bytes of IP, UDP and NDP headers before the payload.
const HEADERS_V4: usize = 20 + 8 + 16;
const HEADERS_V6: usize = 40 + 8 + 16;

/// The memory that a host gives to data that arrives: the maximum for each connection, for each peer and in all. Data
/// beyond it is refused or not pulled, but never lost after an ACK. [`Config::send_buffer`] bounds data to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a connection that wait for its application; then it is no longer pulled.
    pub receive_buffer: u64,
    /// Bytes of a connection that wait for a missing packet; further packets are taken as headers.
    pub early_bytes: u64,
    /// Bytes of a message, to be sent or received.
    pub message_bytes: u64,
    /// Bytes buffered from one peer.
    pub peer_bytes: u64,
    /// Bytes buffered from all peers.
    pub host_bytes: u64,
    /// Bytes to be sent to one peer or ACKed by it; then its connections accept no more to send.
    pub peer_unacked: u64,
    /// Bytes to be sent to all peers or ACKed by them.
    pub host_unacked: u64,
    /// Connections that one peer may have opened here.
    pub peer_connections: u32,
    /// Connections that all peers may have opened here.
    pub connections: u32,
    /// Connections of one peer from which nothing could be read yet.
    pub peer_half_open: u32,
    /// Connections of all peers from which nothing could be read yet.
    pub half_open: u32,
    /// Sides of connections, including those that are only remembered.
    pub sides: u32,
    /// Peers that this host did not name itself.
    pub peers: u32,
}

impl Default for Limits {
    /// Chosen: a stalled application costs 4 MB; arrivals at 10 Gb/s until a lost packet is sent again (20 ms: 25 MB)
    /// are buffered; a peer has 128 MB, all peers 512 MB, and the same again for data to send to them.
    fn default() -> Limits {
        Limits {
            receive_buffer: 4 << 20,
            early_bytes: 32 << 20,
            message_bytes: 64 << 20,
            peer_bytes: 128 << 20,
            host_bytes: 512 << 20,
            peer_unacked: 128 << 20,
            host_unacked: 512 << 20,
            peer_connections: 4096,
            connections: 1 << 14,
            peer_half_open: 1024,
            half_open: 4096,
            sides: 1 << 18,
            peers: 1 << 16,
        }
    }
}

/// Parameters of a host.
#[derive(Clone, Debug)]
pub struct Config {
    /// The address that this host sends from.
    pub address: IpAddr,
    /// Its addresses where the fabric has one for each path (NDP 3.1.1); empty where it hashes.
    pub ways: Vec<IpAddr>,
    /// The Ethernet address that it sends from.
    pub ethernet: [u8; 6],
    /// DSCPs, and the length to which switches trim.
    pub profile: Profile,
    /// Number of paths to a host with one address: UDP source ports.
    pub entropies: u16,
    /// The share of the link that this host may fill by sending; pulls are paced to `ndp.link_rate`.
    pub send_rate: BitRate,
    /// The parameters of the protocol.
    pub ndp: ndp::Config,
    /// True if a new connection avoids the paths that others to its peer found bad, by `ndp.path_penalty`.
    pub shares_scores: bool,
    /// Bytes that a connection buffers for sending; for a stream two windows, if that is more. In a larger buffer bytes
    /// leave the CPU cache before they are sent.
    pub send_buffer: usize,
    /// The limits of what is buffered.
    pub limits: Limits,
    /// The time after which a connection fails because its peer was not heard ([`super::Failure::DeadPeer`]), or
    /// because nothing moved ([`super::Failure::Stalled`]). Both ends probe several times before. `None`: never.
    pub dead_peer_timeout: Option<TimeDelta>,
    /// True if a connection is opened only for a peer that shows a token of this host. Other peers are given a token,
    /// without state (RFC 9000, section 8). Only a peer's first connection takes a round trip more.
    pub validates_addresses: bool,
    /// True if an ACK that pulls nothing rides in the extension of a packet to the same peer, where there is room. That
    /// saves a frame. Peers understand such ACKs in any case.
    pub joins_acks: bool,
    /// A key that peers share; packets without its tag are refused. Set by [`Config::share`].
    pub key: Option<Key>,
    /// A second key whose tags are accepted too, while hosts change keys.
    pub other_key: Option<Key>,
    /// The way in which the host waits for work.
    pub idle: Idle,
    /// True if a waiting call leaves packets that are due on its return to the next call, so that they go together with
    /// what the application sends. For applications that call again at once.
    pub sends_later: bool,
    /// RNG streams; `None`: seeded by the operating system.
    pub streams: Option<Streams>,
    /// True if [`super::Host::pulls_received`] is recorded, for PULLs and for pulls in other packets.
    pub record_pulls: bool,
    /// The labels for which packets have room. Set by [`Config::leave_room_for_labels`].
    pub max_labels: usize,
}

/// Returns the largest payload of a packet on a link of this MTU.
///
/// # Errors
/// Returns a message if the MTU leaves no room for a payload.
pub fn payload_of_mtu(mtu: usize, address: IpAddr) -> Result<u16, String> {
    let headers = if address.is_ipv6() { HEADERS_V6 } else { HEADERS_V4 } + EXTENSION_ROOM;
    match mtu.checked_sub(headers) {
        None | Some(0) => {
            Err(format!("an MTU of {mtu} B leaves no room after {headers} B of headers"))
        }
        Some(payload) => Ok(payload.min(usize::from(u16::MAX) - headers) as u16),
    }
}

impl Config {
    pub(super) fn longest_packet(&self) -> usize {
        let labels = self.max_labels * LABEL_BYTES;
        usize::from(self.packet_bytes(self.ndp.payload_bytes)) + EXTENSION_ROOM + labels
    }

    /// Returns the bytes of an IP packet without its extension.
    pub(super) fn packet_bytes(&self, payload: u16) -> u16 {
        let headers = if self.address.is_ipv6() { HEADERS_V6 } else { HEADERS_V4 };
        let tag = if self.key.is_some() { TAG_BYTES } else { 0 };
        (headers + tag) as u16 + payload
    }

    /// Makes peers share this key from now on. Packets leave room for its tag. Switches must leave it when they trim,
    /// as [`Profile::KEYED`] does: a header without it is refused.
    pub fn share(&mut self, key: Key) {
        if self.key.replace(key).is_none() {
            self.ndp.payload_bytes = self.ndp.payload_bytes.saturating_sub(TAG_BYTES as u16).max(1);
        }
    }

    /// Leaves room in every packet for this many labels before the IP header ([`super::Core::label_peer`]), which the
    /// MTU of the interface counts.
    pub fn leave_room_for_labels(&mut self, labels: usize) {
        let more = labels.saturating_sub(self.max_labels);
        let bytes = (more * LABEL_BYTES) as u16;
        self.ndp.payload_bytes = self.ndp.payload_bytes.saturating_sub(bytes).max(1);
        self.max_labels += more;
    }

    /// Checks that the parameters fit together, and names those that do not.
    pub(super) fn check(&self) -> Result<(), String> {
        let (cut, needed) =
            (self.profile.trimmed_bytes, Profile::min_keyed_bytes(self.address.is_ipv6()));
        if self.key.is_some() && cut < needed {
            return Err(format!(
                "a key needs {needed} B of a trimmed packet, and this profile's switches leave {cut} B; nearest: \
                 profile \"keyed\", whose switches leave {} B",
                Profile::KEYED.trimmed_bytes
            ));
        }
        Ok(())
    }

    /// Returns NDP's parameters for a host with this address on a link of this MTU and rate.
    ///
    /// The timers are longer than the paper's, which are for hosts with a core of their own: a host that shares its
    /// cores answers late, and a late packet must not be sent again. The initial window is 30 packets; it grows until
    /// it fills a path whose round trips take 1 ms, as no datacenter's do. The RTO follows the round trips
    /// ([`FollowsPath`]) from 20 ms up. Before a peer's first answer it is 200 ms: most round trips between any hosts
    /// are shorter, and a longer path sends its first window twice, once. (The second of RFC 6298 would delay a lone
    /// packet that is lost in a datacenter.) A PULL is repeated after 20 ms. Both timers double with each vain attempt.
    /// A connection is remembered for 1 s, or 32 RTOs; for 10 s if nothing was ever sent to its peer, whose RTO is
    /// unknown.
    ///
    /// # Errors
    /// Returns a message if the MTU leaves no room for a payload.
    pub fn new(address: IpAddr, mtu: usize, rate: BitRate) -> Result<Config, String> {
        Ok(Config {
            address,
            ways: Vec::new(),
            ethernet: [0; 6],
            profile: Profile::PAPER,
            entropies: 16,
            send_rate: rate,
            ndp: ndp::Config {
                // No DSCP carries it.
                marked: 0,
                payload_bytes: payload_of_mtu(mtu, address)?,
                doubts_headers: true,
                rto: TimeDelta::from_ms(200),
                follows_path: Some(FollowsPath {
                    min_rto: MIN_RTO,
                    grows_from: Some(TimeDelta::from_ms(1)),
                }),
                pull_repeat: TimeDelta::from_ms(20),
                backstop_unowed: TimeDelta::from_ms(20),
                backstop_owed: TimeDelta::from_ms(200),
                time_wait: TimeDelta::from_ms(1000),
                // The simulator's rule, with a removal of one to four RTOs, since losses are noticed by time-outs.
                path_penalty: Some(PathPenalty::lasting(TimeDelta::from_ms(20))),
                ..ndp::Config::paper(rate)
            },
            shares_scores: true,
            send_buffer: 1 << 20,
            limits: Limits::default(),
            dead_peer_timeout: Some(TimeDelta::from_ms(30_000)),
            validates_addresses: false,
            joins_acks: false,
            key: None,
            other_key: None,
            idle: Idle::Block,
            sends_later: false,
            streams: None,
            record_pulls: false,
            max_labels: 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_needs_switches_that_leave_its_tag() {
        for (address, needed) in [("10.0.0.1", 70), ("fd00::1", 90)] {
            let address = address.parse().unwrap();
            let mut config = Config::new(address, 1500, BitRate::from_gbps(10)).unwrap();
            assert_eq!(config.check(), Ok(()));
            config.share(Key::new([1; 16]));
            let problem = config.check().unwrap_err();
            let expected = format!("needs {needed} B of a trimmed packet");
            assert!(problem.contains(&expected) && problem.contains("\"keyed\""), "{problem}");
            for (name, profile) in Profile::ALL {
                config.profile = profile;
                assert_eq!(config.check().is_ok(), name != "paper", "{name}");
            }
            config.profile.trimmed_bytes = needed;
            assert_eq!(config.check(), Ok(()));
        }
    }
}
