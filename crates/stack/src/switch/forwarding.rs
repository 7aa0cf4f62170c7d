//! The exit of a frame: by its learned Ethernet address, or by its IP address from a table.

use std::collections::HashMap;
use std::net::IpAddr;

use rand_xoshiro::rand_core::RngCore;
use trimline_packet::{Time, TimeDelta};
use trimline_transport::RngStream;

use super::exit::Exit;
use super::frames::Stored;
use super::ip_header::IpHeader;
use super::labels::LabelTable;

/// The choice among equal next hops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// By a hash of the flow: all packets of a flow take one.
    #[default]
    Hash,
    /// At random for every packet.
    Spray,
}

#[derive(Debug)]
pub(super) enum Forwarding {
    /// Learned ports of Ethernet addresses (in networks without loops).
    L2(Learned),
    /// Ports by IP address.
    L3(Table),
    /// Ports by label, and below that the other forwarding of a frame without labels.
    Labels(Box<(LabelTable, Forwarding)>),
}

#[derive(Debug)]
pub(super) struct Table {
    pub(super) routes: HashMap<IpAddr, Vec<u16>>,
    pub(super) spread: Spread,
    pub(super) seed: u64,
    /// The hash includes the input: a detoured frame takes a new path, others keep their order.
    pub(super) hashes_input: bool,
    pub(super) draws: RngStream,
}

/// Maximum number of learned addresses, so that a flood of forged ones does not exhaust memory.
const MAX_LEARNED: usize = 1 << 16;

/// Lifetime of an unheard address (IEEE 802.1Q, 8.8.3: 300 s).
const AGEING: TimeDelta = TimeDelta::from_ms(300_000);

/// Minimum interval between searches of a full table (chosen).
const SWEEPS: TimeDelta = TimeDelta::from_ms(3000);

/// The last port and time of each Ethernet address.
#[derive(Debug, Default)]
pub(super) struct Learned {
    entries: HashMap<[u8; 6], (u16, Time)>,
    /// The time before which a full table is not searched again.
    swept_until: Time,
}

impl Learned {
    fn receive(&mut self, now: Time, address: [u8; 6], port: u16) {
        if self.entries.len() >= MAX_LEARNED && !self.entries.contains_key(&address) {
            // A table full of forged addresses is not searched for each new one.
            if now < self.swept_until {
                return;
            }
            self.swept_until = now.saturating_add(SWEEPS);
            self.entries.retain(|_, &mut (_, received)| received.saturating_add(AGEING) > now);
            if self.entries.len() >= MAX_LEARNED {
                return;
            }
        }
        self.entries.insert(address, (port, now));
    }

    fn port(&self, now: Time, address: [u8; 6]) -> Option<u16> {
        let &(port, received) = self.entries.get(&address)?;
        (received.saturating_add(AGEING) > now).then_some(port)
    }
}

impl Forwarding {
    pub(super) fn set_back(&mut self, by: TimeDelta) {
        match self {
            Forwarding::L2(Learned { entries, swept_until }) => {
                *swept_until = swept_until.set_back(by);
                entries.values_mut().for_each(|(_, received)| *received = received.set_back(by));
            }
            Forwarding::L3(_) => {}
            Forwarding::Labels(both) => both.1.set_back(by),
        }
    }

    /// Returns the table of IP addresses, if the switch has one.
    pub(super) fn addresses_mut(&mut self) -> Option<&mut Table> {
        match self {
            Forwarding::L2(_) => None,
            Forwarding::L3(table) => Some(table),
            Forwarding::Labels(both) => both.1.addresses_mut(),
        }
    }

    /// Returns the exit of a frame that came in by `port`. L3 decrements its TTL.
    pub(super) fn exit(&mut self, now: Time, port: u16, frame: &mut Stored) -> Exit {
        let bytes = &mut frame.bytes[..];
        match self {
            Forwarding::Labels(both) => {
                let (table, below) = &mut **both;
                match table.exit(&mut frame.labels, bytes) {
                    Some((exit, popped)) => {
                        frame.packet.wire_bytes -= popped;
                        exit
                    }
                    None => below.exit(now, port, frame),
                }
            }
            Forwarding::L2(learned) => {
                let address = |at: usize| -> [u8; 6] {
                    bytes.get(at..at + 6).and_then(|a| a.try_into().ok()).unwrap_or([0xff; 6])
                };
                let (destination, source) = (address(0), address(6));
                let is_group = |address: [u8; 6]| address[0] & 1 != 0;
                if !is_group(source) {
                    learned.receive(now, source, port);
                }
                match learned.port(now, destination) {
                    Some(exit) if exit == port => Exit::Nowhere,
                    Some(exit) => Exit::By(exit),
                    None => Exit::Flood,
                }
            }
            Forwarding::L3(table) => table.exit(port, bytes),
        }
    }

    pub(super) fn equally_near(&self, bytes: &[u8]) -> &[u16] {
        match self {
            // No switch with labels detours.
            Forwarding::L2(_) | Forwarding::Labels(_) => &[],
            Forwarding::L3(table) => {
                let ports = IpHeader::of(bytes)
                    .and_then(|network| table.routes.get(&network.destination(bytes)));
                ports.map_or(&[], Vec::as_slice)
            }
        }
    }
}

impl Table {
    fn exit(&mut self, input: u16, bytes: &mut [u8]) -> Exit {
        let Some(network) = IpHeader::of(bytes) else { return Exit::Nowhere };
        let Some(ports) = self.routes.get(&network.destination(bytes)) else {
            return Exit::Nowhere;
        };
        if !network.hop(bytes) {
            return Exit::Nowhere;
        }
        let exit = match (ports.len() as u64, self.spread) {
            (1, _) => ports[0],
            (count, Spread::Hash) => {
                let of_input = if self.hashes_input { u64::from(input) + 1 } else { 0 };
                let seed = self.seed ^ of_input;
                let hash = u128::from(network.flow_hash(bytes, seed));
                ports[((hash * u128::from(count)) >> 64) as usize]
            }
            (count, Spread::Spray) => {
                let draw = u128::from(self.draws.next_u64());
                ports[((draw * u128::from(count)) >> 64) as usize]
            }
        };
        Exit::By(exit)
    }
}
