//! Hosts under attack, on broken links and over long times. Virtual time where possible, otherwise real interfaces in
//! own namespaces; a test prints SKIPPED where the machine forbids them.

mod ahead;
mod causes;
mod checked;
mod clocks;
mod dead_peer;
mod distant;
mod forged;
mod goodbyes;
mod interfaces;
mod keys;
mod lifetimes;
mod limits;
mod links;
mod offloads;
mod reading;
mod reserve;
mod running;
mod switches;
mod two;
mod unacked;
mod validation;
mod ways;

use std::net::{IpAddr, Ipv4Addr};

use trimline_packet::wire::{Datagram, Ethernet, Fields, Frame, Profile, Record};
use trimline_packet::{
    BitRate, ByteCount, ConnectionId, Flags, Header, Kind, Service, Time, TimeDelta,
};
use trimline_stack::host::{Cause, Config, Core, Failure, Streams, payload_of_mtu};

/// The service that every test uses.
const SERVICE: u16 = 7;

fn address(host: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, host).into()
}

fn ms(ms: u64) -> Time {
    Time::ZERO + TimeDelta::from_ms(ms)
}

/// A host's configuration as in `trimline rpc serve`, with the real times.
fn config(host: u8) -> Config {
    let mut config = Config::new(address(host), 1500, BitRate::from_gbps(10)).unwrap();
    config.streams = Some(Streams::seeded(u64::from(host)));
    config
}

/// A server that listens and knows no peer.
fn server(change: impl FnOnce(&mut Config)) -> Core {
    let mut config = config(1);
    change(&mut config);
    let mut core = Core::new(config);
    core.listen(Time::ZERO, SERVICE);
    core
}

/// A packet of a sender that opens connections at will.
#[derive(Clone, Copy)]
struct Forged {
    source: IpAddr,
    kind: Kind,
    flags: u8,
    connection: u32,
    sequence: u32,
    service: u16,
}

impl Forged {
    /// The first packet of a connection to the service.
    fn syn(source: IpAddr, connection: u32) -> Forged {
        let flags = Flags::SYN | Flags::FROM_OPENER;
        Forged { source, kind: Kind::Data, flags, connection, sequence: 0, service: SERVICE }
    }

    /// Its frame, with a payload and with records behind it.
    fn frame(self, payload: &[u8], records: &[Record<'_>]) -> Vec<u8> {
        self.frame_to(address(1), payload, records)
    }

    /// Its frame for another host.
    fn frame_to(self, destination: IpAddr, payload: &[u8], records: &[Record<'_>]) -> Vec<u8> {
        let extra = match self.kind {
            Kind::Data => Header::data_extra(payload.len() as u16, self.service),
            Kind::Ack | Kind::Nack | Kind::Pull | Kind::Reset => 0,
        };
        let service = match self.kind {
            Kind::Data => Service::Trimmable,
            Kind::Ack | Kind::Nack | Kind::Pull | Kind::Reset => Service::Control,
        };
        let datagram = Datagram {
            source: self.source,
            destination,
            entropy: 50_000,
            service: service.into(),
            marks: 0,
            fields: Fields {
                kind: self.kind,
                flags: Flags::from_bits(self.flags),
                connection: ConnectionId::new(self.connection),
                sequence: self.sequence,
                extra,
            },
        };
        let mut extension = Vec::new();
        records.iter().for_each(|record| record.emit(&mut extension).unwrap());
        let (mut bytes, ethernet) = (Vec::new(), Ethernet::default());
        datagram.emit(ethernet, &Profile::PAPER, payload, &extension, &mut bytes).unwrap();
        bytes
    }
}

/// A whole one-message request of a client that closes behind it.
fn request(source: IpAddr, connection: u32, message: &[u8]) -> Vec<u8> {
    let end = Record::MessageEnd(message.len() as u16);
    let padded = [message, &[0]].concat();
    let mut forged = Forged::syn(source, connection);
    forged.flags |= Flags::LAST;
    forged.frame(&padded, &[end, Record::Close])
}

/// Returns the header fields of the packets that a core sends now.
fn sent(core: &mut Core, now: Time) -> Vec<Fields> {
    let mut all = Vec::new();
    while core.transmit(now).is_some() {
        let parsed = Frame::new(core.frame()).unwrap().parse(&Profile::PAPER).unwrap();
        all.push(parsed.datagram.fields);
    }
    all
}

/// Runs a core until `until`. Returns what it sent.
fn run_to(core: &mut Core, until: Time) -> Vec<Fields> {
    let mut all = Vec::new();
    while core.next() <= until {
        let now = core.next();
        core.expire(now);
        all.extend(sent(core, now));
    }
    core.expire(until);
    all
}

/// Echoes every request, as `trimline rpc serve` does. Returns the number of requests.
fn serve(core: &mut Core) -> usize {
    let mut count = 0;
    while core.accept().is_some() {}
    while let Some(connection) = core.next_readable() {
        loop {
            match core.receive(connection) {
                Ok(Some(message)) => {
                    count += 1;
                    core.send(connection, &message).unwrap();
                }
                Ok(None) => break,
                Err(Failure::Closed) => {
                    core.close(connection);
                    if core.failure(connection).is_some() {
                        core.abandon(Time::ZERO, connection);
                    }
                    break;
                }
                Err(_) => break core.abandon(Time::ZERO, connection),
            }
        }
    }
    count
}
