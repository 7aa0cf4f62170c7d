//! The parameters of a host.

use std::net::IpAddr;

use trimline_packet::wire::Profile;
use trimline_packet::{BitRate, TimeDelta};
use trimline_transport::ndp::{self, PathPenalty, PullSpacing};

use super::directory::Streams;
use super::outgoing::EXTENSION_ROOM;
use super::wait::Idle;

/// Bytes of IP, UDP and NDP headers before the payload.
const HEADERS_V4: usize = 20 + 8 + 16;
const HEADERS_V6: usize = 40 + 8 + 16;

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
    /// Bytes that a connection keeps for sending before it takes no more. What is sent was written so long
    /// ago: in a larger buffer it has left the cache by then.
    pub send_buffer: usize,
    /// What to do when there is nothing to do.
    pub idle: Idle,
    /// What a waiting call would send when it returns waits for the next call, and goes together with
    /// what the application sends then: for applications that call again at once.
    pub sends_later: bool,
    /// Random streams; from the operating system if there are none.
    pub streams: Option<Streams>,
    /// Whether [`super::Host::pulls_heard`] is kept: of PULLs, and of pulls that rode in other packets.
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
    /// NDP's parameters for a host with this address on a link of this MTU and rate. What the paper
    /// sets for hosts with a core of their own is longer here: a host that shares its cores answers
    /// late, and what only came late must not be sent again. First window 30 packets; RTO and the
    /// repetition of a PULL 20 ms (both double when in vain); a connection is remembered for one
    /// second, longer than the longest RTO.
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
                payload_bytes: payload_of_mtu(mtu, address)?,
                link_rate: rate,
                framing_bytes: 0,
                pull_spacing: PullSpacing::WireBytes,
                pull_ack: true,
                order: ndp::Order::Fair,
                rto: TimeDelta::from_ms(20),
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
            idle: Idle::Block,
            sends_later: false,
            streams: None,
            record_pulls: false,
        })
    }
}
