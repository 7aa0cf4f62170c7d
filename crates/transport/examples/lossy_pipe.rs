//! Two NDP hosts driven by hand over a pipe that loses and trims packets.
//!
//!     cargo run -p trimline-transport --example lossy_pipe
//!
//! Host 0 pushes a first window of four packets. Host 1 pulls the others, and trimmed ones again; a time-out makes up
//! for a lost packet. The program is the driver: clock, pipe and tables. The last line:
//!
//!     10 packets arrived: 12 sent, 1 after a NACK, 1 after a time-out

use rand_xoshiro::rand_core::SeedableRng;
use trimline_packet::{BitRate, ByteCount, ConnectionId, HostId, Kind, PathId, Time};
use trimline_transport::ndp::{Command, Config, Endpoint};
use trimline_transport::{Allowed, Endpoint as _, HostTables, Key, PathList, RngStream};

/// The streams of one host: a slot is a place in the list.
#[derive(Default)]
struct Tables(Vec<Key>);

impl HostTables for Tables {
    fn find(&self, key: Key) -> Option<u32> {
        self.0.iter().position(|&known| known == key).map(|slot| slot as u32)
    }
    fn assign(&mut self, key: Key) -> u32 {
        self.0.push(key);
        self.0.len() as u32 - 1
    }
    fn release(&mut self, _key: Key, _slot: u32) {}
    fn paths(&self, _peer: HostId, paths: &mut PathList) {
        paths.push(PathId::new(0));
    }
    fn stream(&self, _key: Key) -> RngStream {
        RngStream::seed_from_u64(1)
    }
}

fn main() {
    let ids = [HostId::new(0), HostId::new(1)];
    let (mut hosts, mut tables) =
        (ids.map(|id| Endpoint::new(id, config())), [(); 2].map(|()| Tables::default()));
    hosts[1].handle_command(Time::ZERO, Command::Listen { service_port: 7 }, &mut tables[1]);
    let open = Command::Open {
        peer: ids[1],
        connection: ConnectionId::new(0),
        service_port: 7,
        class: 0,
        length: Some(ByteCount::new(90_000)),
        payload: None,
        paths: [PathId::new(0)].into_iter().collect(),
        stream: RngStream::seed_from_u64(1),
    };
    hosts[0].handle_command(Time::ZERO, open, &mut tables[0]);

    let (mut now, mut count) = (Time::ZERO, 0);
    loop {
        let next = |host: &Endpoint| host.transmit_at(Allowed::ALL).min(host.poll_timeout());
        now = next(&hosts[0]).min(next(&hosts[1])).max(now);
        if now == Time::NEVER {
            break;
        }
        for from in [0, 1] {
            hosts[from].handle_timeout(now, &mut tables[from]);
            while let Some(mut packet) = hosts[from].poll_transmit(now, Allowed::ALL) {
                count += 1;
                let (kind, sequence) = (packet.header.kind, packet.header.sequence);
                let outcome = match (count, kind) {
                    (3, _) => "is lost",
                    (4, Kind::Data) => "is trimmed",
                    _ => "arrives",
                };
                println!("{now}: {kind:?} {sequence} of host {from} {outcome}");
                if count == 4 {
                    packet.trim(64);
                }
                if count != 3 {
                    hosts[1 - from].handle_packet(now, &packet, &mut tables[1 - from]);
                }
            }
        }
    }
    let (sent, received) = (hosts[0].sender_statistics(0), hosts[1].receiver_statistics(0));
    println!(
        "{} packets arrived: {} sent, {} after a NACK, {} after a time-out",
        received.packets,
        sent.packets_sent,
        sent.retransmissions_nack,
        sent.retransmissions_timeout
    );
}

/// Returns the paper's parameters with a first window of four packets.
fn config() -> Config {
    Config { initial_window: 4, marked: 0, ..Config::paper(BitRate::from_gbps(10)) }
}
