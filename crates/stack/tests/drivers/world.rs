//! Hosts and switches of the stack on a virtual clock, in the shape of a simulator plan.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use trimline_metrics::FlowStore;
use trimline_metrics::timeline::PacketKind;
use trimline_packet::wire::{Frame, Profile};
use trimline_packet::{Flags, Kind, Service, Time};
use trimline_sim::plan::Plan;
use trimline_sim::random;
use trimline_stack::host::{Config, Core, Options, Streams};
use trimline_stack::switch::{self, Fabric};
use trimline_transport::{Key, Side, ndp};

/// A packet that leaves or reaches a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Happening {
    pub(crate) time_ps: u64,
    pub(crate) host: u32,
    pub(crate) departs: bool,
    pub(crate) packet: PacketKind,
    /// Source and destination of its flow.
    pub(crate) flow: (u32, u32),
    pub(crate) sequence: u32,
    pub(crate) attempt: u8,
    pub(crate) path: u16,
    pub(crate) wire_bytes: u16,
}

impl Happening {
    /// The sort key: by time, and in a fixed order at one instant.
    fn key(&self) -> (u64, u32, bool, u8, (u32, u32), u32) {
        let Happening { time_ps, host, departs, packet, flow, sequence, .. } = *self;
        (time_ps, host, departs, packet as u8, flow, sequence)
    }
}

impl PartialOrd for Happening {
    fn partial_cmp(&self, other: &Happening) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Happening {
    fn cmp(&self, other: &Happening) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

pub(crate) struct World {
    hosts: Vec<Core>,
    fabric: Fabric,
    /// Starts of flows: when, connection, source, destination, bytes. Latest first.
    starts: Vec<(Time, u32, u32, u32, u64)>,
    /// Source and destination by connection.
    flows: HashMap<u32, (u32, u32)>,
    happenings: Vec<Happening>,
    /// Number of addresses of a host; the first is the canonical one.
    ways: usize,
}

/// The address of a host on a path.
fn address(host: u32, way: usize) -> IpAddr {
    Ipv4Addr::new(10, way as u8, 0, host as u8 + 1).into()
}

fn host_of(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(address) => u32::from(address.octets()[3]) - 1,
        IpAddr::V6(_) => panic!("addresses are IPv4"),
    }
}

impl World {
    pub(crate) fn new(plan: &Plan, ndp: &ndp::Config) -> World {
        let clos = &plan.topology;
        let (leaves, spines) = (clos.tors_per_pod, clos.aggregations_per_pod);
        let ways = spines.max(1) as usize;
        let (rate, delay) = (clos.host_link.rate.as_bps(), clos.host_link.delay.as_ps());
        let model = (1..=64u32).find(|&packets| {
            plan.switch == trimline_switch::ServiceModel::paper(packets, ndp.payload_bytes)
        });
        let mut text = format!(
            "rate = \"{rate}bps\"\ndelay = \"{}ns\"\npackets = {}\npayload = {}\nseed = 0\n",
            delay / 1000,
            model.expect("a switch of the paper"),
            ndp.payload_bytes
        );
        for leaf in 0..leaves {
            writeln!(text, "[[switch]]\nname = \"tor{leaf}\"").unwrap();
        }
        for spine in 0..spines {
            writeln!(text, "[[switch]]\nname = \"spine{spine}\"").unwrap();
        }
        for (leaf, spine) in (0..leaves).flat_map(|leaf| (0..spines).map(move |s| (leaf, s))) {
            writeln!(text, "[[link]]\nbetween = [\"tor{leaf}\", \"spine{spine}\"]").unwrap();
        }
        for host in 0..clos.hosts() {
            let leaf = host / clos.hosts_per_tor;
            writeln!(text, "[[host]]\nswitch = \"tor{leaf}\"\ninterface = \"h{host}\"").unwrap();
            for way in 0..ways {
                let through =
                    if spines > 0 { format!(", through = \"spine{way}\"") } else { String::new() };
                let address = address(host, way);
                writeln!(text, "[[host.addresses]]\naddress = \"{address}\"").unwrap();
                if !through.is_empty() {
                    writeln!(text, "through = \"spine{way}\"").unwrap();
                }
            }
        }
        let config = switch::Config::parse(&text).unwrap();
        // The simulator's number of each port here, which selects its random bits.
        let per_leaf = clos.hosts_per_tor + spines;
        let unit = move |port: u32, hosts: u32| {
            let switch_ports = leaves * per_leaf + spines * leaves;
            if port >= switch_ports {
                return port;
            }
            if port < hosts {
                let (leaf, down) = (port / (per_leaf - spines), port % (per_leaf - spines));
                return leaf * per_leaf + down;
            }
            let (link, is_down) = ((port - hosts) / 2, (port - hosts) % 2 == 1);
            let (leaf, spine) = (link / spines, link % spines);
            match is_down {
                true => leaves * per_leaf + spine * leaves + leaf,
                false => leaf * per_leaf + (per_leaf - spines) + spine,
            }
        };
        let (seed, count) = (plan.seed, clos.hosts());
        let rngs = |port| random::stream(seed, "coin", &[u64::from(unit(port, count))]);
        // The simulator names a host's link by its host, with a bit set.
        let ports = leaves * per_leaf + spines * leaves;
        let ties = move |line, before: u64| {
            let link = unit(line, count);
            let name = link.checked_sub(ports).map_or(link, |host| host | 1 << 31);
            random::mix(seed ^ random::mix(before << 32 | u64::from(name)))
        };
        let fabric = Fabric::with_rng(&config, rngs, Box::new(ties));
        let hosts = (0..count).map(|host| {
            let mut config = Config::new(address(host, 0), 9100, clos.host_link.rate).unwrap();
            config.ndp = ndp.clone();
            // The simulator's connections share no scores.
            (config.shares_scores, config.dead_peer_timeout) = (false, None);
            config.ways = (0..ways).map(|way| address(host, way)).collect();
            Core::new(config)
        });
        World {
            hosts: hosts.collect(),
            fabric: fabric.unwrap(),
            starts: Vec::new(),
            flows: HashMap::new(),
            happenings: Vec::new(),
            ways,
        }
    }

    /// Schedules the flows of a run at their times, with the simulator's RNG streams.
    pub(crate) fn start(&mut self, plan: &Plan, flows: &FlowStore) {
        type Name = (u64, u64, u64);
        let mut names: HashMap<u32, Name> = HashMap::new();
        for (connection, flow) in (0..).zip(flows) {
            let owner = u64::from(flow.source);
            let workload = random::name_number(&flow.workload);
            names.insert(connection, (owner, workload, flow.index));
            self.flows.insert(connection, (flow.source, flow.destination));
            let size = flow.size_bytes.expect("sized flows");
            let start = Time::from_ps(flow.start_ps);
            self.starts.push((start, connection, flow.source, flow.destination, size));
        }
        self.starts.sort_unstable_by(|a, b| b.cmp(a));
        let seed = plan.seed;
        let streams = Streams(Arc::new(move |key: Key| {
            let (source, workload, index) = names[&key.connection.get()];
            let purpose = match key.side {
                Side::Sending => "flow sender",
                Side::Receiving => "flow receiver",
            };
            random::stream(seed, purpose, &[source, workload, index])
        }));
        let ways = self.ways;
        for (number, core) in (0..).zip(&mut self.hosts) {
            core.use_streams(streams.clone());
            core.listen(Time::ZERO, 0);
            for peer in (0..self.fabric.hosts() as u32).filter(|&peer| peer != number) {
                let addresses: Vec<IpAddr> = (0..ways).map(|way| address(peer, way)).collect();
                core.add_peer(addresses[0], &addresses, [2, 0, 0, 0, 0, peer as u8]);
            }
        }
    }

    /// Records a frame at a host.
    fn record(&mut self, time: Time, host: u32, departs: bool, frame: &[u8]) {
        let parsed = Frame::new(frame).unwrap().parse(&Profile::PAPER).unwrap();
        let datagram = parsed.datagram;
        let fields = datagram.fields;
        let packet = match (fields.kind, datagram.service.service()) {
            (Kind::Data, Service::Returned) => PacketKind::Returned,
            (Kind::Data, Service::Trimmed) => PacketKind::Header,
            (Kind::Data, _) => PacketKind::Data,
            (Kind::Ack, _) => PacketKind::Ack,
            (Kind::Nack, _) => PacketKind::Nack,
            (Kind::Pull, _) => PacketKind::Pull,
            (Kind::Reset, _) => PacketKind::Reset,
        };
        let routed = match packet {
            PacketKind::Returned => datagram.source,
            _ => datagram.destination,
        };
        let IpAddr::V4(routed) = routed else { panic!("addresses are IPv4") };
        let path = match self.ways {
            1 => 0,
            _ => u16::from(routed.octets()[1]),
        };
        let flow = self.flows[&fields.connection.get()];
        // Every frame goes between the two ends of its flow.
        let mut ends = [host_of(datagram.source), host_of(datagram.destination)];
        if fields.flags.contains(Flags::FROM_OPENER) == (packet == PacketKind::Returned) {
            ends.reverse();
        }
        assert_eq!((ends[0], ends[1]), flow, "{fields:?}");
        self.happenings.push(Happening {
            time_ps: time.as_ps(),
            host,
            departs,
            packet,
            flow,
            sequence: fields.sequence,
            attempt: match packet {
                PacketKind::Pull => 0,
                _ => fields.flags.attempt(),
            },
            path,
            wire_bytes: parsed.wire_bytes,
        });
    }

    fn transmit(&mut self, now: Time, host: u32) {
        loop {
            let core = &mut self.hosts[host as usize];
            let Some((at, _)) = core.transmit(now) else { return };
            assert_eq!(at, now, "a virtual clock is never late");
            let frame = core.frame().to_vec();
            self.fabric.host_sends(now, host, &frame);
            self.record(now, host, true, &frame);
        }
    }

    /// Runs until no work is left.
    pub(crate) fn run(mut self) -> Vec<Happening> {
        loop {
            let hosts = self.hosts.iter().map(Core::next).min().unwrap();
            let start = self.starts.last().map_or(Time::NEVER, |start| start.0);
            let now = hosts.min(start).min(self.fabric.next());
            if now == Time::NEVER {
                return self.happenings;
            }
            // The simulator's order at one instant: transmitters, arrivals, timers, starts.
            for host in 0..self.hosts.len() as u32 {
                self.transmit(now, host);
            }
            let mut arrivals = Vec::new();
            self.fabric.advance(now, &mut |at, host, frame| {
                assert_eq!(at, now, "a virtual clock is never late");
                arrivals.push((host, frame.to_vec()));
            });
            for (host, frame) in arrivals {
                self.record(now, host, false, &frame);
                self.hosts[host as usize].receive_frame(now, &frame);
                self.transmit(now, host);
            }
            for host in 0..self.hosts.len() as u32 {
                self.hosts[host as usize].expire(now);
            }
            while self.starts.last().is_some_and(|start| start.0 <= now) {
                let (_, connection, source, destination, size) = self.starts.pop().unwrap();
                let core = &mut self.hosts[source as usize];
                core.number_connections_from(connection);
                let peer = address(destination, 0);
                let opened = core.connect(peer, 0, Options::default()).unwrap();
                let bytes = vec![7; size as usize];
                assert_eq!(core.write(opened, &bytes).unwrap(), bytes.len());
            }
            for host in 0..self.hosts.len() as u32 {
                self.transmit(now, host);
            }
        }
    }
}
