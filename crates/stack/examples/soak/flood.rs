//! Ten kinds of forged packets.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use trimline_packet::wire::{Datagram, Ethernet, Fields, Profile, Record};
use trimline_packet::{ConnectionId, Flags, Header, Kind, Service};
use trimline_stack::io::PacketIo;
use trimline_stack::io::afpacket::AfPacket;
use trimline_testbed::namespace::Namespace;
use trimline_testbed::network;

use super::{CLIENT, FLOODER, LASTING_CLIENT, LASTING_SERVER, SERVER};

/// Kinds of floods, a thread each.
pub(crate) const KINDS: u64 = 10;

const SERVICE: u16 = 9;

/// Frames that a thread sends at once before it waits.
const BURST: usize = 16;
const PAUSE: Duration = Duration::from_millis(5);

/// A random number generator.
struct NodeRng(u64);

impl NodeRng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn address(&mut self) -> IpAddr {
        Ipv4Addr::from(0x0a00_0000 | self.next() as u32 & 0x00ff_ffff).into()
    }
}

/// Floods until `over` is set.
pub(crate) fn run(place: &Namespace, kind: u64, over: &AtomicBool, sent: &AtomicU64) {
    let mut draw = NodeRng(0x1234_5678_9abc_def1 ^ kind << 20);
    let Ok(mut socket) = place.inside(|| AfPacket::open(&format!("h{FLOODER}"))) else { return };
    while !over.load(Ordering::Relaxed) {
        let frames: Vec<Vec<u8>> = (0..BURST).map(|_| frame(kind, &mut draw)).collect();
        for frame in &frames {
            // A full queue does not stop the flood.
            if socket.tx_burst(&[&[frame]]).is_ok() {
                sent.fetch_add(1, Ordering::Relaxed);
            }
        }
        // Received frames are discarded.
        socket.rx_burst(usize::MAX, &mut |_| {}).ok();
        thread::sleep(PAUSE);
    }
}

fn frame(kind: u64, draw: &mut NodeRng) -> Vec<u8> {
    // Each pair is also flooded in the name of its other end.
    let pairs = [[CLIENT, SERVER], [LASTING_CLIENT, LASTING_SERVER]];
    let [client, server] = pairs[draw.below(2) as usize];
    let of = |host: u32| -> IpAddr { network::address(host, 0).into() };
    let opening = Flags::SYN | Flags::FROM_OPENER;
    let service = Header::data_extra;
    let (source, target, kind_of, flags, sequence, length) = match kind {
        // Requests of strangers, of the client, and of senders that begin far ahead.
        0 => (draw.address(), server, Kind::Data, opening, 0, draw.below(1400)),
        1 => (of(client), server, Kind::Data, opening, draw.below(40), draw.below(1400)),
        2 => (draw.address(), server, Kind::Data, opening, draw.next() & 0x7fff, 1),
        // Data and control packets of no connection.
        3 => (of(client), server, Kind::Data, Flags::FROM_OPENER, draw.below(100), 100),
        4 => (of(client), server, Kind::Reset, (draw.next() & 0x3f) as u8, draw.below(100), 0),
        5 => (of(server), client, Kind::Pull, (draw.next() & 0x3f) as u8, draw.below(1000), 0),
        6 => (of(server), client, Kind::Ack, (draw.next() & 0x3f) as u8, draw.below(100), 0),
        7 => (of(server), client, Kind::Nack, 0, draw.below(30), 0),
        8 => (draw.address(), client, Kind::Data, opening, 0, 64),
        _ => (draw.address(), server, Kind::Data, (draw.next() & 0xff) as u8, draw.next(), 9),
    };
    let is_data = kind_of == Kind::Data;
    let extra = if is_data { service(length as u16, SERVICE) } else { draw.next() as u32 };
    let datagram = Datagram {
        source,
        destination: of(target),
        entropy: 49_152 + draw.below(1000) as u16,
        service: if is_data { Service::Trimmable } else { Service::Control }.into(),
        marks: 0,
        fields: Fields {
            kind: kind_of,
            flags: Flags::from_bits(flags),
            connection: ConnectionId::new(draw.next() as u32),
            sequence: sequence as u32,
            extra,
        },
    };
    let (mut bytes, mut extension) = (Vec::new(), Vec::new());
    if kind == 7 {
        let token = Record::Token(draw.next().to_be_bytes());
        token.emit(&mut extension).expect("a known record");
    }
    let ethernet =
        Ethernet { destination: network::ethernet(target), source: network::ethernet(FLOODER) };
    let payload = vec![0x5a; if is_data { length as usize } else { 0 }];
    datagram
        .emit(ethernet, &Profile::PAPER, &payload, &extension, &mut bytes)
        .expect("it can be written");
    if kind == 9 && draw.below(2) == 0 {
        // Damages any byte.
        let place = draw.below(bytes.len() as u64) as usize;
        bytes[place] ^= draw.next() as u8;
    }
    bytes
}
