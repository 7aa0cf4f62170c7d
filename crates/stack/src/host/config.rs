//! The parameters of a host.

use std::net::IpAddr;

use trimline_packet::wire::{Profile, TAG_BYTES};
use trimline_packet::{BitRate, TimeDelta};
use trimline_transport::ndp::{self, FollowsPath, PathPenalty, PullSpacing};

use super::directory::Streams;
use super::key::Key;
use super::outgoing::EXTENSION_ROOM;
use super::wait::Idle;

/// Minimum of a measured RTO (chosen: what a host that shares its cores may be late).
pub(super) const MIN_RTO: TimeDelta = TimeDelta::from_ms(20);

/// Bytes of IP, UDP and NDP headers before the payload.
const HEADERS_V4: usize = 20 + 8 + 16;
const HEADERS_V6: usize = 40 + 8 + 16;

/// What a host keeps for others, at most: of one connection, of one peer, in all. What is beyond is refused or not
/// pulled, never lost after it was ACKed. What is to be sent is bounded by [`Config::send_buffer`] for each connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a connection that wait for its application: then nothing more is pulled.
    pub receive_buffer: u64,
    /// Bytes of a connection that wait for a packet that is missing: further ones are taken as headers.
    pub early_bytes: u64,
    /// Bytes of a message, to be sent or received.
    pub message_bytes: u64,
    /// Bytes that are kept of one peer.
    pub peer_bytes: u64,
    /// Bytes that are kept of all.
    pub host_bytes: u64,
    /// Bytes that wait to be sent to one peer or ACKed by it: then connections to it take no more to send.
    pub peer_unacked: u64,
    /// Bytes that wait to be sent to all peers or ACKed by them.
    pub host_unacked: u64,
    /// Connections that one peer may have opened here.
    pub peer_connections: u32,
    /// Connections that all may have opened here.
    pub connections: u32,
    /// Those of one peer of which the application could not read anything yet.
    pub peer_half_open: u32,
    /// The same of all.
    pub half_open: u32,
    /// Halves of connections, those included that are only remembered.
    pub sides: u32,
    /// Peers that this host did not name itself.
    pub peers: u32,
}

impl Default for Limits {
    /// Chosen: a stalled application costs 4 MB; what arrives at 10 Gb/s until a lost packet is sent again (20 ms:
    /// 25 MB) is kept; a peer has 128 MB, all together half a gigabyte, and as much of what is sent to
    /// them.
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
    /// Its addresses where the fabric has one for each path (NDP 3.1.1); none where it hashes.
    pub ways: Vec<IpAddr>,
    /// The Ethernet address that it sends from.
    pub ethernet: [u8; 6],
    /// DSCPs, and where switches cut.
    pub profile: Profile,
    /// Paths to a host with one address: UDP source ports.
    pub entropies: u16,
    /// The share of the link that this host may fill, sending; pulls are paced to `ndp.link_rate`.
    pub send_rate: BitRate,
    /// The protocol's parameters.
    pub ndp: ndp::Config,
    /// A connection begins without the paths that others to its peer found bad, by `ndp.path_penalty`.
    pub shares_scores: bool,
    /// Bytes that a connection keeps for sending before it takes no more; of a stream two windows, if that is more. What is
    /// sent was written so long ago: in a larger buffer it has left the cache by then.
    pub send_buffer: usize,
    /// What is kept for others.
    pub limits: Limits,
    /// A connection fails whose peer was not heard for so long ([`super::Failure::DeadPeer`]), or on which nothing moved
    /// for so long though it was heard ([`super::Failure::Stalled`]). Both ends ask several times before. `None`: never.
    pub dead_peer_timeout: Option<TimeDelta>,
    /// A connection is opened for those alone who show a token of this host; others are given one, and nothing is kept
    /// of them (RFC 9000, section 8). The first connection of a peer takes a round trip more, later ones do not.
    pub validates_addresses: bool,
    /// An ACK that pulls nothing rides in the extension of a packet to the same peer that is sent with it, where there
    /// is room: a frame less. Peers understand it in any case.
    pub joins_acks: bool,
    /// A key that peers share: what does not bear its tag is refused. Set by [`Config::share`].
    pub key: Option<Key>,
    /// A second key whose tags are believed, beside [`Config::key`], while hosts change from one to the other.
    pub other_key: Option<Key>,
    /// What to do when there is nothing to do.
    pub idle: Idle,
    /// What a waiting call would send when it returns waits for the next call, and goes together with
    /// what the application sends then: for applications that call again at once.
    pub sends_later: bool,
    /// Random streams; from the operating system if there are none.
    pub streams: Option<Streams>,
    /// Whether [`super::Host::pulls_received`] is kept: of PULLs, and of pulls that rode in other packets.
    pub record_pulls: bool,
}

/// The largest payload of a packet of an MTU.
///
/// # Errors
/// An MTU that leaves no room, said in words.
pub fn payload_of_mtu(mtu: usize, address: IpAddr) -> Result<u16, String> {
    let headers = if address.is_ipv6() { HEADERS_V6 } else { HEADERS_V4 } + EXTENSION_ROOM;
    match mtu.checked_sub(headers) {
        None | Some(0) => {
            Err(format!("an MTU of {mtu} leaves no room behind {headers} B of headers"))
        }
        Some(payload) => Ok(payload.min(usize::from(u16::MAX) - headers) as u16),
    }
}

impl Config {
    /// Bytes of the longest IP packet that this host sends.
    pub(super) fn longest_packet(&self) -> usize {
        usize::from(self.packet_bytes(self.ndp.payload_bytes)) + EXTENSION_ROOM
    }

    /// Bytes of an IP packet with a payload, without its extension.
    pub(super) fn packet_bytes(&self, payload: u16) -> u16 {
        let headers = if self.address.is_ipv6() { HEADERS_V6 } else { HEADERS_V4 };
        let tag = if self.key.is_some() { TAG_BYTES } else { 0 };
        (headers + tag) as u16 + payload
    }

    /// Peers share this key from now on. Packets make room for its tag. Switches must leave the tag when they trim, as
    /// [`Profile::KEYED`] says: a header without it is refused.
    pub fn share(&mut self, key: Key) {
        if self.key.replace(key).is_none() {
            self.ndp.payload_bytes = self.ndp.payload_bytes.saturating_sub(TAG_BYTES as u16).max(1);
        }
    }

    /// Checks that the parameters go together.
    ///
    /// # Errors
    /// A sentence that names the parameters that do not.
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

    /// NDP's parameters for a host with this address on a link of this MTU and rate. What the paper
    /// sets for hosts with a core of their own is longer here: a host that shares its cores answers
    /// late, and what only came late must not be sent again. The first window is 30 packets; where round trips
    /// take a millisecond, which no datacenter's do, it grows until it fills the path. The RTO follows the round
    /// trips ([`FollowsPath`]), 20 ms at the minimum. Before the first answer of a peer it is 200 ms: most round
    /// trips between any two hosts are shorter, and a longer path costs its first window twice, once (RFC 6298: one
    /// second, which a lone packet would wait that is lost in a datacenter). A PULL is repeated after 20 ms. Both double
    /// when in vain. A connection is remembered for one second, or 32 RTOs; ten seconds if nothing was ever sent to its
    /// peer, whose RTO may be any.
    ///
    /// # Errors
    /// An MTU that leaves no room, said in words.
    pub fn new(address: IpAddr, mtu: usize, rate: BitRate) -> Result<Config, String> {
        Ok(Config {
            address,
            ways: Vec::new(),
            ethernet: [0; 6],
            profile: Profile::PAPER,
            entropies: 16,
            send_rate: rate,
            ndp: ndp::Config {
                initial_window: 30,
                // No DSCP says it.
                marked: 0,
                aeolus: false,
                payload_bytes: payload_of_mtu(mtu, address)?,
                link_rate: rate,
                framing_bytes: 0,
                pull_spacing: PullSpacing::WireBytes,
                pull_ack: true,
                credit_bank: true,
                doubts_headers: true,
                ack_every: 1,
                core_rate: None,
                initial_window_bytes: 0,
                turn: 0,
                order: ndp::Order::Fair,
                rto: TimeDelta::from_ms(200),
                follows_path: Some(FollowsPath {
                    min_rto: MIN_RTO,
                    grows_from: Some(TimeDelta::from_ms(1)),
                }),
                pull_repeat: TimeDelta::from_ms(20),
                backstop_unowed: TimeDelta::from_ms(20),
                backstop_owed: TimeDelta::from_ms(200),
                time_wait: TimeDelta::from_ms(1000),
                // The simulator's rule; removed for one to four RTOs, which is how losses are noticed.
                path_penalty: Some(PathPenalty {
                    min_nacks: 10,
                    min_losses: 2,
                    ratio: 2,
                    removal: TimeDelta::from_ms(20),
                    removal_max: TimeDelta::from_ms(80),
                }),
                pull_gaps: None,
                record_latencies: false,
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
