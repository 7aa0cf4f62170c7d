//! OPF's detour: before a packet is given to its port, the ingress looks at the lengths of all
//! ports and may choose another. The port itself knows nothing of it.

use trimline_packet::{Service, Time};

use crate::testing::{World, packet};
use crate::{Port, ServiceModel};

/// The ingress of a switch that detours.
struct Detour {
    /// Packets in the data queue from which a port counts as hot.
    threshold: u32,
    /// Detours that one packet may take.
    limit: u8,
}

impl Detour {
    /// The port for a packet that routing sends to `preferred`, and its count of detours then. Of the
    /// other switch ports the one with the shortest data queue, the first among equals; a host port
    /// is never one of them.
    fn choose(
        &self,
        ports: &[Port<2>],
        preferred: usize,
        switch_ports: core::ops::Range<usize>,
        taken: u8,
    ) -> (usize, u8) {
        let length = |port: usize| ports[port].queue_packets(1);
        if length(preferred) < self.threshold || taken >= self.limit {
            return (preferred, taken);
        }
        let others = switch_ports.filter(|&port| port != preferred);
        match others.min_by_key(|&port| (length(port), port)) {
            Some(other) if length(other) < length(preferred) => (other, taken + 1),
            _ => (preferred, taken),
        }
    }
}

#[test]
fn heat_leaves_the_full_port_until_the_limit() {
    let model = ServiceModel::paper(8, 9000);
    let mut ports = [const { Port::<2>::new() }; 4];
    let mut world = World::new();
    let detour = Detour { threshold: 6, limit: 2 };
    let mut arrive = |ports: &mut [Port<2>], taken: u8| {
        // Port 0 is a host's, ports 1 to 3 lead to switches.
        let (port, taken) = detour.choose(ports, 1, 1..4, taken);
        let handle = world.packets.add(packet(Service::Trimmable, 9064, 0));
        ports[port].enqueue(handle, &mut world.around(Time::ZERO, &model));
        (port, taken)
    };
    for _ in 0..6 {
        assert_eq!(arrive(&mut ports, 0), (1, 0));
    }
    assert_eq!(arrive(&mut ports, 0), (2, 1), "the shortest, the first among equals");
    assert_eq!(arrive(&mut ports, 1), (3, 2));
    assert_eq!(arrive(&mut ports, 2), (1, 2), "two detours are enough");
    assert_eq!(ports[0].queue_packets(1), 0, "never a host port");
}
