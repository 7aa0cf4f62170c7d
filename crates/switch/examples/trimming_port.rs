//! A switch port driven by hand: seven packets arrive at once at a port for three, and leave one by one.
//!
//!     cargo run -p trimline-switch --example trimming_port
//!
//! The port trims packets without room, and queues their headers for two. It gives further headers back, to be returned
//! to their senders. Headers leave first, ten to one data packet. The last line:
//!
//!     left 5, trimmed 4, returned 2

use trimline_packet::SplitMix;
use trimline_packet::testing::{Arena, packet};
use trimline_packet::{Packets, Service, Time};
use trimline_switch::{
    Action, Choices, Disposition, DropList, Limit, OutputPort, Pool, Port, PortContext,
    QueueChoices,
};

fn main() {
    // NDP's queues with room for three packets and two headers, without the coin.
    let mut choices = Choices::paper(3, 9000);
    choices.queues[0] = QueueChoices::new(Limit::packets(2)).overflow(&[Action::Return]);
    choices.queues[1] = QueueChoices::new(Limit::packets(3)).overflow(&[Action::TrimArriving]);
    let model = choices.build().expect("the choices fit together");

    // The driver owns packets, shared memory, random numbers and the list of packets that the port does not keep.
    let (mut packets, mut pool) = (Arena::default(), Pool::none());
    let (mut rng, mut drop_list) = (SplitMix(1), DropList::new());
    let mut port = Port::<2>::new();
    let mut context = PortContext {
        now: Time::ZERO,
        model: &model,
        packets: &mut packets,
        pool: &mut pool,
        rng: &mut rng,
        drop_list: &mut drop_list,
    };

    let mut returned = 0;
    for sequence in 0..7 {
        let handle = context.packets.add(packet(Service::Trimmable, 9064, sequence));
        port.enqueue(handle, &mut context);
        let outcome = match context.drop_list.drain().next() {
            Some((_, Disposition::Returned)) => "is trimmed; no room for the header: return it",
            Some((_, Disposition::Dropped | Disposition::Notify)) => "is dropped",
            None if context.packets.packet(handle).service == Service::Trimmed => "is trimmed",
            None => "is queued whole",
        };
        returned += u32::from(outcome.ends_with("return it"));
        println!("packet {sequence} arrives and {outcome}");
    }

    // The wire is free: each call releases the packet before and starts the next one.
    let mut left = 0;
    while let Some(handle) = port.dequeue(&mut context) {
        let packet = context.packets.packet(handle);
        println!("packet {} leaves with {} bytes", packet.header.sequence, packet.wire_bytes);
        left += 1;
    }
    println!("left {left}, trimmed {}, returned {returned}", drop_list.trimmed);
}
