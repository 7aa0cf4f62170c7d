//! Two hosts and a link without delay, for the first tests of a transport.

use std::sync::Arc;

use trimline_packet::{ByteCount, ConnectionId, HostId, Kind, PathId, Time};
use trimline_transport::flow::{Command, Event};
use trimline_transport::{Allowed, HostTables, Key, PathList, RngStream};

use crate::protocol::Protocol;
use crate::random::stream;

/// A run of one flow, in slot 0 of either host, until neither host has anything left to do.
///
/// Two NDP hosts by hand: the third packet is lost, and the sender's time-out sends it again.
///
/// ```
/// use trimline_sim::scenario::Scenario;
/// use trimline_sim::suites::Pair;
/// use trimline_transport::flow::Event;
/// use trimline_transport::ndp;
///
/// let text = "topology.back_to_back = {}\nworkload = [{ name = \"a\", pairs = [[0, 1]], size = \"9KB\" }]";
/// let scenario = Scenario::parse("", text, &[]).unwrap();
/// let config: &ndp::Config = scenario.runs[0].plan.transports[0].config().unwrap();
///
/// let pair = Pair::<ndp::Endpoint>::run(config.clone(), 90_000, |number| number == 3);
/// assert_eq!(pair.data_at.len(), 11, "ten packets, one of them twice");
/// assert!(matches!(pair.events[0][..], [Event::Acknowledged { .. }]));
/// assert!(matches!(pair.events[1][..], [Event::Delivered { .. }]));
/// ```
#[derive(Debug)]
pub struct Pair<E> {
    /// The sender and the receiver.
    pub hosts: [E; 2],
    /// Send time of each data packet.
    pub data_at: Vec<Time>,
    /// Events that the application of either host received.
    pub events: [Vec<Event>; 2],
}

#[derive(Default)]
struct Known(Vec<Key>);

impl HostTables for Known {
    fn find(&self, key: Key) -> Option<u32> {
        self.0.iter().position(|known| *known == key).map(|slot| slot as u32)
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
        stream(1, "pair", &[])
    }
}

impl<E: Protocol> Pair<E> {
    /// Runs a flow of `bytes` over a link that loses a packet if `is_lost` returns true for its number. Packets of both
    /// directions are counted together, from 1.
    ///
    /// # Panics
    /// Panics if the flow has not ended after a million packets.
    pub fn run(config: E::Config, bytes: u64, mut is_lost: impl FnMut(u64) -> bool) -> Pair<E> {
        let config = Arc::new(config);
        let ids = [HostId::new(0), HostId::new(1)];
        let mut hosts = ids.map(|host| E::new(host, &config, 1));
        let mut tables = [Known::default(), Known::default()];
        hosts[1].handle_command(Time::ZERO, Command::Listen.into(), &mut tables[1]);
        let open = Command::Open {
            peer: ids[1],
            connection: ConnectionId::new(0),
            class: 0,
            length: Some(ByteCount::new(bytes)),
            payload: None,
            paths: [PathId::new(0)].into_iter().collect(),
            stream: stream(1, "pair", &[]),
        };
        hosts[0].handle_command(Time::ZERO, open.into(), &mut tables[0]);
        let (mut count, mut now, mut data_at) = (0, Time::ZERO, Vec::new());
        loop {
            let next = |host: &E| host.transmit_at(Allowed::ALL).min(host.poll_timeout());
            let at = next(&hosts[0]).min(next(&hosts[1])).max(now);
            if at == Time::NEVER {
                break;
            }
            now = at;
            for from in [0, 1] {
                hosts[from].handle_timeout(now, &mut tables[from]);
                while let Some(packet) = hosts[from].poll_transmit(now, Allowed::ALL) {
                    count += 1;
                    assert!(count < 1_000_000, "the flow does not end");
                    if packet.header.kind == Kind::Data {
                        data_at.push(now);
                    }
                    if !is_lost(count) {
                        hosts[1 - from].handle_packet(now, &packet, &mut tables[1 - from]);
                    }
                }
            }
        }
        let events = [0, 1].map(|host: usize| {
            let events = std::iter::from_fn(|| hosts[host].poll_event());
            events.filter_map(Into::into).collect()
        });
        Pair { hosts, data_at, events }
    }
}
