//! Flows of each transport from their beginning to their end.

use trimline_packet::{ByteCount, ConnectionId, Flags, HostId, Time, TimeDelta};
use trimline_transport::flow::{Command, Event};
use trimline_transport::{Allowed, Disposition, Endpoint, Key, Side};

use crate::hosts::{
    both_host, dcqcn_host, homa_host, hpcc_host, nscc_host, pfabric_host, phost_host, rccc_host,
    selective_hpcc_host, tcp_host,
};
use crate::world::World;

/// A time longer than any timer of the hosts.
const LONG: TimeDelta = TimeDelta::from_ms(1000);

trait Tested: Endpoint<Command = Command, Event = Event> {}
impl<E: Endpoint<Command = Command, Event = Event>> Tested for E {}

/// Host 1 sends one flow to host 0 over links without loss.
fn one_flow<E: Tested>(make: impl Fn(HostId) -> E, bytes: u64) -> World<E> {
    let mut world = World::new(2, make, 1, u64::MAX);
    world.open(1, 0, 0, bytes);
    world
}

/// Returns the first packets of an opened flow.
fn first_packets<E: Tested>(world: &mut World<E>) -> Vec<trimline_packet::Packet> {
    let endpoint = &mut world.hosts[1].0;
    let packets: Vec<_> =
        std::iter::from_fn(|| endpoint.poll_transmit(Time::ZERO, Allowed::ALL)).take(3).collect();
    assert!(!packets.is_empty());
    packets
}

/// Alone: a flow ends; then nothing is sent and no timer set.
fn a_flow_ends_and_is_silent<E: Tested>(make: impl Fn(HostId) -> E) {
    let mut world = one_flow(make, 50_000);
    world.run_until(Time::ZERO + LONG, |_| false);
    assert_eq!(world.delivered.get(&0), Some(&1));
    assert_eq!(world.acknowledged.get(&0), Some(&1));
    assert!(world.hosts.iter().all(|(endpoint, _)| endpoint.poll_timeout() > world.now + LONG));
}

/// Impaired: links lose, double and reorder every kind of packet.
fn flows_end_once_over_bad_links<E: Tested>(make: impl Fn(HostId) -> E) {
    for (seed, loss) in [(1, u64::MAX), (2, 20), (3, 20), (4, 5)] {
        let mut world = World::new(4, &make, seed, loss);
        world.open_all();
        world.run();
        assert!(world.is_each_once(), "seed {seed}");
    }
}

/// Closed: a host that does not listen takes and answers nothing.
fn a_host_that_does_not_listen_takes_nothing<E: Tested>(make: impl Fn(HostId) -> E) {
    let mut world = one_flow(&make, 50_000);
    let packets = first_packets(&mut world);
    let (_, table) = &mut world.hosts[0];
    let mut closed = make(HostId::new(0));
    for packet in packets {
        assert_eq!(closed.handle_packet(Time::ZERO, &packet, table), Disposition::Discard);
    }
    assert_eq!((closed.poll_event(), table.len()), (None, 0));
    assert_eq!(closed.poll_transmit(Time::ZERO, Allowed::ALL), None);
}

/// Forgotten: late packets do not reopen a connection.
fn a_forgotten_connection_does_not_begin_anew<E: Tested>(make: impl Fn(HostId) -> E) {
    let mut world = one_flow(make, 50_000);
    let packets = first_packets(&mut world);
    let (endpoint, table) = &mut world.hosts[0];
    table.has_forgotten = true;
    for packet in &packets {
        assert_eq!(endpoint.handle_packet(Time::ZERO, packet, table), Disposition::Discard);
    }
    assert_eq!((endpoint.poll_event(), table.len()), (None, 0));
    table.has_forgotten = false;
    let first = packets.iter().filter(|packet| packet.header.flags.contains(Flags::FROM_OPENER));
    for packet in first {
        endpoint.handle_packet(Time::ZERO, packet, table);
    }
    assert_eq!(table.len(), 1, "the same packets begin a connection that was not forgotten");
}

/// Kept: a further message is delivered and acknowledged, or ignored.
fn a_further_message_is_taken_or_ignored<E: Tested>(make: impl Fn(HostId) -> E, is_taken: bool) {
    let mut world = one_flow(make, 50_000);
    world.run_until(Time::ZERO + LONG, |_| false);
    let peer = HostId::new(0);
    let connection = ConnectionId::new(0);
    let key = Key { peer, connection, opened_here: true, side: Side::Sending };
    let (endpoint, table) = &mut world.hosts[1];
    endpoint.handle_command(world.now, Command::Send { key, length: ByteCount::new(9000) }, table);
    world.run_until(Time::ZERO + LONG * 2, |_| false);
    let count = 1 + u32::from(is_taken);
    assert_eq!((world.delivered.get(&0), world.acknowledged.get(&0)), (Some(&count), Some(&count)));
}

/// Makes a transport's suite; `takes_messages`: further messages on a connection.
macro_rules! suite {
    ($name:ident, $host:ident, takes_messages: $takes_messages:literal) => {
        mod $name {
            use super::*;

            #[test]
            fn a_flow_alone_ends_and_is_silent() {
                a_flow_ends_and_is_silent($host);
            }
            #[test]
            fn flows_over_bad_links_end_once() {
                flows_end_once_over_bad_links($host);
            }
            #[test]
            fn a_host_that_does_not_listen_accepts_no_flow() {
                a_host_that_does_not_listen_takes_nothing($host);
            }
            #[test]
            fn a_forgotten_connection_does_not_restart() {
                a_forgotten_connection_does_not_begin_anew($host);
            }
            #[test]
            fn a_further_message_is_accepted_or_ignored() {
                a_further_message_is_taken_or_ignored($host, $takes_messages);
            }
        }
    };
}

suite!(dcqcn, dcqcn_host, takes_messages: true);
suite!(homa, homa_host, takes_messages: false);
suite!(hpcc, hpcc_host, takes_messages: true);
suite!(hpcc_selective, selective_hpcc_host, takes_messages: true);
suite!(nscc, nscc_host, takes_messages: false);
suite!(pfabric, pfabric_host, takes_messages: false);
suite!(phost, phost_host, takes_messages: false);
suite!(rccc, rccc_host, takes_messages: false);
suite!(rccc_and_nscc, both_host, takes_messages: false);
suite!(tcp, tcp_host, takes_messages: true);
