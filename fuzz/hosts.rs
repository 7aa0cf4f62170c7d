//! Invariants of two hosts under any events. The fuzz target and the stack's tests share them.

use std::net::{IpAddr, Ipv4Addr};

use trimline_packet::wire::{Datagram, Ethernet, Fields, Profile, Record};
use trimline_packet::{BitRate, ConnectionId, Flags, Header, Kind, Service, Time, TimeDelta};
use trimline_stack::host::{Config, Connection, Core, Key, Streams};

const SERVICE: u16 = 7;

/// Max frames on their way; more are lost.
const ON_THE_WAY: usize = 64;

/// Max bytes that a host may keep of the other.
const ROOM: u64 = 200_000;

/// Half a turn of the clock.
const EPOCH: TimeDelta = TimeDelta::from_ps(1 << 63);

/// Choices from the input bytes.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn next(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// Returns the next byte, or 0 at the end.
    fn any(&mut self) -> u8 {
        self.next().unwrap_or(0)
    }

    fn number(&mut self) -> u32 {
        u32::from_be_bytes([0; 4].map(|_: u8| self.any()))
    }
}

fn address(host: usize) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, host as u8 + 1).into()
}

fn host(number: usize, choices: u8) -> Core {
    let mut config = Config::new(address(number), 1500, BitRate::from_gbps(10)).expect("room");
    config.streams = Some(Streams::seeded(number as u64));
    config.validates_addresses = choices & 1 != 0;
    config.joins_acks = choices & 8 != 0;
    if choices & 2 != 0 {
        config.share(Key::new([7; 16]));
    }
    config.limits.receive_buffer = 20_000;
    config.limits.early_bytes = 50_000;
    config.limits.message_bytes = 60_000;
    config.limits.peer_bytes = ROOM;
    config.limits.host_bytes = ROOM;
    config.limits.peer_connections = 64;
    config.limits.peer_half_open = 32;
    let mut core = Core::new(config);
    core.number_connections_from(number as u32 * 8);
    core.listen(Time::ZERO, SERVICE);
    core.add_peer(address(1 - number), &[], [2; 6]);
    core
}

/// A packet of an attacker that knows the numbers of connections.
fn forged(choices: &mut Choices<'_>, to: usize) -> Vec<u8> {
    let kinds = [Kind::Data, Kind::Ack, Kind::Nack, Kind::Pull, Kind::Reset];
    let kind = kinds[usize::from(choices.any()) % kinds.len()];
    let is_data = kind == Kind::Data;
    let length = usize::from(choices.any()) * 5;
    let sequence = match choices.any() {
        255 => choices.number(),
        low => u32::from(low),
    };
    let datagram = Datagram {
        source: match choices.any() {
            low @ ..8 => Ipv4Addr::new(10, 0, 1, low).into(),
            _ => address(1 - to),
        },
        destination: address(to),
        entropy: 50_000,
        service: if is_data { Service::Trimmable } else { Service::Control }.into(),
        marks: 0,
        fields: Fields {
            kind,
            flags: Flags::from_bits(choices.any()),
            connection: ConnectionId::new(u32::from(choices.any() % 20)),
            sequence,
            extra: if is_data {
                Header::data_extra(length as u16, SERVICE)
            } else {
                u32::from(choices.any())
            },
        },
    };
    let mut extension = Vec::new();
    let record = match choices.any() % 8 {
        0 => Some(Record::Close),
        1 => Some(Record::MessageEnd((length / 2 * usize::from(is_data)) as u16)),
        2 => Some(Record::Token([choices.any(); 8])),
        3 => Some(Record::Acked {
            connection: u32::from(choices.any() % 20),
            sequence: u32::from(choices.any()),
            flags: choices.any(),
        }),
        _ => None,
    };
    if let Some(record) = record {
        record.emit(&mut extension).expect("a known record");
    }
    let (mut bytes, payload) = (Vec::new(), vec![9; if is_data { length } else { 0 }]);
    let ethernet = Ethernet::default();
    datagram
        .emit(ethernet, &Profile::PAPER, &payload, &extension, &mut bytes)
        .expect("it can be written");
    bytes
}

/// Two hosts, and the frames between them.
struct World {
    hosts: [Core; 2],
    now: Time,
    on_the_way: [Vec<Vec<u8>>; 2],
    connections: [Vec<Connection>; 2],
}

impl World {
    /// Handles due timers, and sends.
    fn act(&mut self) {
        for (number, host) in self.hosts.iter_mut().enumerate() {
            host.expire(self.now);
            for _ in 0..200 {
                if host.transmit(self.now).is_none() {
                    break;
                }
                if self.on_the_way[1 - number].len() < ON_THE_WAY {
                    self.on_the_way[1 - number].push(host.frame().to_vec());
                }
            }
            self.connections[number].extend(std::iter::from_fn(|| host.accept()));
        }
    }

    /// Delivers all frames in order.
    fn arrive(&mut self) {
        for (host, frames) in self.hosts.iter_mut().zip(&mut self.on_the_way) {
            frames.drain(..).for_each(|frame| host.receive_frame(self.now, &frame));
        }
    }

    fn use_connection(&mut self, number: usize, choices: &mut Choices<'_>) {
        let host = &mut self.hosts[number];
        let all = &self.connections[number];
        let Some(&one) = all.get(usize::from(choices.any()) % all.len().max(1)) else { return };
        // Any error is allowed.
        match choices.any() % 6 {
            0 => drop(host.send(one, &vec![5; usize::from(choices.any()) * 40 + 1])),
            1 => drop(host.write(one, &vec![6; usize::from(choices.any()) * 40])),
            2 => host.close(one),
            3 => host.abandon(self.now, one),
            4 => drop(host.receive(one)),
            _ => drop(host.read(one, &mut [0; 3000])),
        }
    }

    fn step(&mut self, choice: u8, choices: &mut Choices<'_>) {
        let number = usize::from(choice >> 7);
        match choice & 0x7f {
            0..=15 => {
                let one =
                    self.hosts[number].connect(address(1 - number), SERVICE, Default::default());
                self.connections[number].extend(one);
            }
            16..=47 => self.use_connection(number, choices),
            48..=71 => self.arrive(),
            72..=79 => {
                // Out of order, twice, damaged, cut, or not at all.
                let frames = &mut self.on_the_way[number];
                let Some(last) = frames.len().checked_sub(1) else { return };
                let place = usize::from(choices.any()) % (last + 1);
                let mut frame = frames[place].clone();
                match choices.any() % 4 {
                    0 => frames.swap(place, last),
                    1 => drop(frames.remove(place)),
                    2 => {
                        let at = usize::from(choices.any()) * 7 % frame.len();
                        frame[at] ^= choices.any();
                    }
                    _ => frame.truncate(usize::from(choices.any()).max(42)),
                }
                self.hosts[number].receive_frame(self.now, &frame);
            }
            80..=95 => {
                let frame = forged(choices, number);
                self.hosts[number].receive_frame(self.now, &frame);
            }
            // From microseconds to hours: past timeouts, time-wait, the silence, the life of tokens.
            96..=119 => {
                let scale = u32::from(choices.any() % 24);
                let span = TimeDelta::from_ns((u64::from(choices.any()) + 1) << scale << 10);
                self.now = self.now.saturating_add(span);
            }
            120..=123 => {
                let next = self.hosts.iter().map(Core::next).min().unwrap_or(Time::NEVER);
                if next != Time::NEVER {
                    self.now = self.now.max(next);
                }
            }
            // The clock wraps.
            _ => {
                self.hosts.iter_mut().for_each(|host| host.set_back(EPOCH));
                self.now = self.now.set_back(EPOCH);
            }
        }
    }
}

/// Any connections, frames, forgeries, times and clocks: no panic, bounded memory, and an end once applications and
/// peers are gone.
pub(crate) fn core(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let first = choices.any();
    let hosts = [0, 1].map(|number| host(number, first));
    // Shortly before the clock wraps, or at its beginning.
    let now =
        if first & 4 != 0 { EPOCH.saturating_sub(TimeDelta::from_ms(50)) } else { TimeDelta::ZERO };
    let mut world = World {
        hosts,
        now: Time::ZERO.saturating_add(now),
        on_the_way: Default::default(),
        connections: Default::default(),
    };
    while let Some(choice) = choices.next() {
        if world.now.saturating_since(Time::ZERO + EPOCH) > TimeDelta::ZERO {
            world.hosts.iter_mut().for_each(|host| host.set_back(EPOCH));
            world.now = world.now.set_back(EPOCH);
        }
        world.step(choice, &mut choices);
        world.act();
        for host in &world.hosts {
            // And data that is read in order beside it.
            assert!(
                host.buffered_bytes() <= ROOM + 2 * 20_000,
                "{} B are kept",
                host.buffered_bytes()
            );
        }
    }
    // The applications give everything up, and nothing arrives any more.
    for (host, connections) in world.hosts.iter_mut().zip(&mut world.connections) {
        connections.drain(..).for_each(|one| host.abandon(world.now, one));
    }
    for _ in 0..10_000 {
        let next = world.hosts.iter().map(Core::next).min().unwrap_or(Time::NEVER);
        if next == Time::NEVER {
            return;
        }
        world.now = world.now.max(next);
        world.act();
        world.on_the_way = Default::default();
    }
    panic!("it does not end: {:?}", world.hosts.map(|host| (host.next(), host.connections())));
}
