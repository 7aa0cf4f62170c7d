//! State of a network that detours packets, besides its nodes: registers of ports, and path lengths of packets.
//!
//! [`trimline_switch::detour`] has the decisions, [`crate::network`] their effects on packets.

use std::collections::BTreeMap;

use trimline_metrics::{Name, PathRecord};
use trimline_packet::{ByteCount, Flags, Kind, Packet};
use trimline_switch::detour::{DetourModel, Hot, Seen, Steps};
use trimline_switch::{OutputPort, Returning};
use trimline_transport::RngStream;

use crate::flows::Flows;
use crate::random;
use crate::table::Shared;
use crate::topology::{LinkId, Routes};

/// The tables of switches that detour packets.
pub(crate) struct Detours {
    pub(crate) model: DetourModel,
    /// One per switch: it draws in order of time.
    pub(crate) streams: Shared<RngStream>,
    /// By port: the length that ingress believes, if not the present one.
    pub(crate) registers: Shared<u16>,
    /// By node: the port at the far end of its link that sends back.
    pub(crate) opposite: Shared<u32>,
    pub(crate) to_host: Shared<bool>,
    /// The queues that return headers.
    returning: Returning,
    pub(crate) targets: Vec<u32>,
    paths: Paths,
}

impl Detours {
    pub(crate) fn new(
        model: DetourModel,
        returning: Returning,
        routes: &Routes,
        seed: u64,
    ) -> Detours {
        let opposite = |node| routes.reverse(LinkId::new(node)).node();
        let first_host = routes.ports();
        let to_host = (0..first_host).map(|port| !routes.leads_to_switch(port)).collect();
        let stream = |switch| random::stream(seed, "deflection", &[switch]);
        Detours {
            model,
            streams: (0..routes.switches() as u64).map(stream).collect(),
            registers: vec![0; first_host as usize].into(),
            opposite: (0..routes.nodes()).map(opposite).collect(),
            to_host,
            returning,
            targets: Vec::new(),
            paths: Paths::default(),
        }
    }

    /// Returns another view of these tables.
    ///
    /// # Safety
    /// See [`crate::network::Core::view`].
    pub(crate) unsafe fn view(&self) -> Detours {
        // SAFETY: promised by the caller.
        unsafe {
            Detours {
                model: self.model,
                streams: self.streams.view(),
                registers: self.registers.view(),
                opposite: self.opposite.view(),
                to_host: self.to_host.view(),
                returning: self.returning,
                targets: Vec::new(),
                paths: Paths::default(),
            }
        }
    }

    pub(crate) fn gather(&mut self, other: &mut Detours) {
        self.paths.gather(&mut other.paths);
    }

    /// Returns whether departures from a port are recorded.
    #[inline(always)]
    pub(crate) fn records_departures(&self, port: u32) -> bool {
        self.model.seen != Seen::Now || self.to_host[port as usize]
    }

    /// Returns whether the queue length that a packet found is needed.
    #[inline(always)]
    pub(crate) fn asks_what_was_found(&self) -> bool {
        self.model.seen == Seen::LastArrivalThatLeft
    }

    /// Returns whether a port returns no header while `arriving` packets come. Hosts' headers have `min_header` bytes.
    #[inline]
    pub(crate) fn keeps_headers<P: OutputPort>(
        &self,
        port: &P,
        arriving: u64,
        min_header: u16,
    ) -> bool {
        match self.returning {
            Returning::Never => true,
            Returning::From {
                queue,
                bytes,
                trimmed_bytes,
                cell_bytes,
                queues_trimmed_by_bytes,
            } => {
                let header = u64::from(trimmed_bytes.max(min_header)) + u64::from(cell_bytes - 1);
                let max = u64::from(port.queue_bytes(queue)) + arriving * header;
                queues_trimmed_by_bytes == 0 && max <= bytes.into()
            }
            Returning::WhenFull { .. } | Returning::Anywhere => false,
        }
    }

    /// Returns whether a port detours no packet while `arriving` packets come.
    #[inline]
    pub(crate) fn keeps<P: OutputPort>(&self, number: u32, port: &P, arriving: u64) -> bool {
        // Counts all queues: a flow's class may lead data to any, and a departing packet records the length of its own
        // queue.
        let held: u64 = (0..P::QUEUES).map(|queue| u64::from(port.queue_packets(queue))).sum();
        let max = held + arriving;
        match (self.model.hot, self.model.seen) {
            (None, _) => true,
            (Some(Hot::Above(threshold)), Seen::Now) => max <= threshold.into(),
            (Some(Hot::Above(threshold)), Seen::LastDeparture) => {
                max.max(self.registers[number as usize].into()) <= threshold.into()
            }
            // A waiting packet may have found more than there is now.
            (Some(Hot::Above(_)), Seen::LastArrivalThatLeft) => false,
            // A queue holds one packet.
            (Some(Hot::Full), _) => held == 0 && arriving <= 1,
            (Some(Hot::Always), _) => false,
        }
    }

    /// Records a departure from a port that held `held` packets, the departing one included.
    pub(crate) fn record_departure(
        &mut self,
        port: u32,
        packet: &Packet,
        steps: Steps,
        held: impl FnOnce() -> u32,
        flows: &Flows,
    ) {
        if let Some(length) = self.model.seen.at_departure(held(), steps.found) {
            self.registers[port as usize] = length;
        }
        if self.to_host[port as usize] && is_data(packet) {
            let (opener, connection) = (packet.source.get(), packet.header.connection);
            if let Some(flow) = flows.description(opener, connection) {
                let is_one = !flows.keeps(flow.workload);
                let size = flow.size.filter(|_| is_one).map(ByteCount::get);
                self.paths.count(flow.workload, size, steps);
            }
        }
    }

    /// Path lengths of each workload's packets; `names` are of the workloads.
    pub(crate) fn paths(&self, names: &[Name]) -> Vec<PathRecord> {
        let record = |(&key, &packets): (&Path, &u64)| PathRecord {
            workload: names[key.workload as usize].clone(),
            up_to_bytes: key.size_class.map(|class| 1 << class),
            links: key.links,
            detours: key.detours,
            packets,
        };
        self.paths.all().iter().map(record).collect()
    }
}

/// Returns whether a packet is whole data of the host that opened its connection.
fn is_data(packet: &Packet) -> bool {
    packet.service.service().is_whole()
        && packet.header.kind == Kind::Data
        && packet.header.flags.contains(Flags::FROM_OPENER)
}

/// Number of packets that ingress believes a port to hold, if it holds `packets`.
#[inline]
pub(crate) fn seen(seen: Seen, registers: &Shared<u16>, port: u32, packets: u32) -> u32 {
    match seen {
        Seen::Now => packets,
        Seen::LastDeparture | Seen::LastArrivalThatLeft => registers[port as usize].into(),
    }
}

/// The key by which packets are counted. A size class ends at this power of two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Path {
    workload: u32,
    size_class: Option<u8>,
    links: u16,
    detours: u8,
}

/// Sizes, links and detours that are counted in a table; others in a map.
const SIZES: usize = 40;
const LINKS: usize = 32;
const DETOURS: usize = 4;

/// Delivered packets, by path.
#[derive(Clone, Default)]
struct Paths {
    table: Vec<u64>,
    others: BTreeMap<Path, u64>,
}

impl Paths {
    #[inline]
    fn count(&mut self, workload: u32, size: Option<u64>, steps: Steps) {
        let size_class = size.map(|size| size.max(1).next_power_of_two().trailing_zeros() as u8);
        // Count the present switch, and the link of the sender.
        let links = u16::from(steps.switches) + 2;
        let path = Path { workload, size_class, links, detours: steps.detours };
        match Paths::place(path) {
            Some(place) => {
                if self.table.len() <= place {
                    self.table.resize(place + 1, 0);
                }
                self.table[place] += 1;
            }
            None => *self.others.entry(path).or_default() += 1,
        }
    }

    /// Place of a path in the table. Its first size stands for no size.
    #[inline]
    fn place(path: Path) -> Option<usize> {
        let size = path.size_class.map_or(0, |class| usize::from(class) + 1);
        let (links, detours) = (usize::from(path.links), usize::from(path.detours));
        let is_in = size < SIZES && links < LINKS && detours < DETOURS;
        let workload = path.workload as usize;
        is_in.then(|| ((workload * SIZES + size) * LINKS + links) * DETOURS + detours)
    }

    fn at(place: usize) -> Path {
        let (rest, detours) = (place / DETOURS, place % DETOURS);
        let (rest, links) = (rest / LINKS, rest % LINKS);
        let (workload, size) = (rest / SIZES, rest % SIZES);
        Path {
            workload: workload as u32,
            size_class: size.checked_sub(1).map(|class| class as u8),
            links: links as u16,
            detours: detours as u8,
        }
    }

    fn all(&self) -> BTreeMap<Path, u64> {
        let counted = self.table.iter().enumerate().filter(|&(_, &packets)| packets > 0);
        let counted = counted.map(|(place, &packets)| (Paths::at(place), packets));
        counted.chain(self.others.iter().map(|(&path, &packets)| (path, packets))).collect()
    }

    fn gather(&mut self, other: &mut Paths) {
        let Paths { table, others } = std::mem::take(other);
        if self.table.len() < table.len() {
            self.table.resize(table.len(), 0);
        }
        self.table.iter_mut().zip(table).for_each(|(mine, theirs)| *mine += theirs);
        for (path, packets) in others {
            *self.others.entry(path).or_default() += packets;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_length_is_counted_inside_or_beyond_the_table() {
        let mut paths = Paths::default();
        let steps = |switches, detours| Steps { switches, detours, found: 0 };
        let cases = [
            (0, None, steps(0, 0)),
            (3, Some(0), steps(4, 1)),
            (3, Some(131_073), steps(4, 3)),
            (1, Some(u64::MAX / 4), steps(4, 0)),
            (1, Some(9), steps(40, 0)),
            (1, Some(9), steps(9, 200)),
        ];
        for (number, (workload, size, steps)) in (1..).zip(cases) {
            let mut others = Paths::default();
            (0..number).for_each(|_| others.count(workload, size, steps));
            paths.gather(&mut others);
        }
        let all = paths.all();
        let mut counts: Vec<u64> = all.values().copied().collect();
        counts.sort_unstable();
        assert_eq!(counts, [1, 2, 3, 4, 5, 6]);
        let way = Path { workload: 3, size_class: Some(18), links: 6, detours: 3 };
        assert_eq!(all[&way], 3);
        let longest = Path { workload: 1, size_class: Some(4), links: 42, detours: 0 };
        assert_eq!(all[&longest], 5);
    }
}
