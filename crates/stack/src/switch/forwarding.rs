//! Where a frame leaves: by its Ethernet address, learned, or by its IP address, from a table.

use std::collections::HashMap;
use std::net::IpAddr;

use rand_xoshiro::rand_core::RngCore;
use trimline_transport::Stream;

use super::network::Network;

/// How one of several equal next hops is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// By a hash of the flow: every packet of a flow takes the same.
    #[default]
    Hash,
    /// At random for every packet.
    Spray,
}

/// Where frames leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// By this port of the switch.
    By(u16),
    /// By all ports but the one that it came from.
    Flood,
    /// Nowhere: no route, or no hop left to live.
    Nowhere,
}

/// What a switch knows of the ways.
#[derive(Debug)]
pub(super) enum Forwarding {
    /// Learns where Ethernet addresses are (of networks without loops).
    L2(HashMap<[u8; 6], u16>),
    /// Ports by IP address.
    L3 { routes: HashMap<IpAddr, Vec<u16>>, spread: Spread, seed: u64, draws: Stream },
}

/// Ethernet addresses that a switch remembers: a flood of forged ones must not take its memory.
const MOST_LEARNED: usize = 1 << 16;

impl Forwarding {
    /// Where a frame that came in by `port` leaves. L3 takes one from the hops it may live.
    pub(super) fn exit(&mut self, port: u16, bytes: &mut [u8]) -> Exit {
        match self {
            Forwarding::L2(learned) => {
                let address = |at: usize| -> [u8; 6] {
                    bytes.get(at..at + 6).and_then(|a| a.try_into().ok()).unwrap_or([0xff; 6])
                };
                let (destination, source) = (address(0), address(6));
                let is_group = |address: [u8; 6]| address[0] & 1 != 0;
                if !is_group(source)
                    && (learned.len() < MOST_LEARNED || learned.contains_key(&source))
                {
                    learned.insert(source, port);
                }
                match learned.get(&destination) {
                    Some(&exit) if exit == port => Exit::Nowhere,
                    Some(&exit) if !is_group(destination) => Exit::By(exit),
                    _ => Exit::Flood,
                }
            }
            Forwarding::L3 { routes, spread, seed, draws } => {
                let Some(network) = Network::of(bytes) else { return Exit::Nowhere };
                let Some(ports) = routes.get(&network.destination(bytes)) else {
                    return Exit::Nowhere;
                };
                if !network.hop(bytes) {
                    return Exit::Nowhere;
                }
                let exit = match (ports.len() as u64, spread) {
                    (1, _) => ports[0],
                    (count, Spread::Hash) => {
                        let hash = u128::from(network.flow_hash(bytes, *seed));
                        ports[((hash * u128::from(count)) >> 64) as usize]
                    }
                    (count, Spread::Spray) => {
                        let draw = u128::from(draws.next_u64());
                        ports[((draw * u128::from(count)) >> 64) as usize]
                    }
                };
                Exit::By(exit)
            }
        }
    }
}
