//! In-band telemetry (INT, as HPCC uses it): state of the ports on a packet's way.
//!
//! A packet has no room for it ([`crate::Packet`]). A driver keeps it beside the packets of transports that ask for it.

use crate::units::{BitRate, Time};

/// The state of a switch port as it begins to send the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The port: a sender that sees another one knows that its path has changed.
    pub port: u32,
    /// Bytes that waited behind the packet, in all queues of the port.
    pub queue_bytes: u32,
    /// Bytes that the port had sent before the packet.
    pub sent_bytes: u64,
    /// Time at which the transmission began.
    pub at: Time,
    /// Rate of the port's link.
    pub rate: BitRate,
}

/// The telemetry of one packet: on its way to the receiver, or on its way back in an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Telemetry {
    hops: [Hop; Telemetry::MAX_HOPS],
    count: u8,
    /// True in an ACK: ports add nothing.
    is_echo: bool,
}

impl Telemetry {
    /// Ports that a packet has room for (HPCC 4.1).
    pub const MAX_HOPS: usize = 5;
    /// Bytes on the wire: 8 for each hop, and 2 for their number and the path (HPCC 4.1, Figure 7).
    pub const BYTES: u16 = 42;
    /// The telemetry of a packet at its sender.
    pub const EMPTY: Telemetry = Telemetry {
        hops: [Hop {
            port: 0,
            queue_bytes: 0,
            sent_bytes: 0,
            at: Time::ZERO,
            rate: BitRate::from_bps(1),
        }; Telemetry::MAX_HOPS],
        count: 0,
        is_echo: false,
    };

    /// Adds a hop to a packet on its way to the receiver.
    ///
    /// # Panics
    /// Panics if it has [`Telemetry::MAX_HOPS`]: drivers refuse networks with longer paths.
    #[inline]
    pub fn push(&mut self, hop: Hop) {
        if self.is_echo {
            return;
        }
        let place = usize::from(self.count);
        assert!(
            place < Telemetry::MAX_HOPS,
            "a packet with telemetry passes five switches at most"
        );
        self.hops[place] = hop;
        self.count += 1;
    }

    /// The ports on the way, in its order.
    #[inline]
    pub fn hops(&self) -> &[Hop] {
        &self.hops[..usize::from(self.count)]
    }

    /// Returns it as an ACK carries it back.
    #[inline]
    #[must_use]
    pub const fn echo(self) -> Telemetry {
        Telemetry { is_echo: true, ..self }
    }

    /// Returns whether it is of the same path as another packet's.
    pub fn is_same_path(&self, other: &Telemetry) -> bool {
        let ports = |of: &Telemetry| of.hops.map(|hop| hop.port);
        let count = usize::from(self.count);
        self.count == other.count && ports(self)[..count] == ports(other)[..count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(port: u32) -> Hop {
        Hop { port, ..Telemetry::EMPTY.hops[0] }
    }

    #[test]
    fn ports_are_added_on_the_way_and_not_on_the_way_back() {
        let mut telemetry = Telemetry::EMPTY;
        (0..5).for_each(|port| telemetry.push(hop(port)));
        let ports: alloc::vec::Vec<u32> = telemetry.hops().iter().map(|hop| hop.port).collect();
        assert_eq!(ports, [0, 1, 2, 3, 4]);
        let mut echo = telemetry.echo();
        echo.push(hop(9));
        assert_eq!((echo.hops(), echo.is_same_path(&telemetry)), (telemetry.hops(), true));
    }

    #[test]
    #[should_panic(expected = "five switches at most")]
    fn a_sixth_port_has_no_room() {
        let mut telemetry = Telemetry::EMPTY;
        (0..6).for_each(|port| telemetry.push(hop(port)));
    }

    #[test]
    fn a_path_is_its_ports_in_order() {
        let of = |ports: &[u32]| {
            let mut telemetry = Telemetry::EMPTY;
            ports.iter().for_each(|&port| telemetry.push(hop(port)));
            telemetry
        };
        assert!(of(&[1, 2]).is_same_path(&of(&[1, 2])));
        for other in [&[1][..], &[1, 2, 3], &[2, 1], &[1, 3]] {
            assert!(!of(&[1, 2]).is_same_path(&of(other)), "{other:?}");
        }
    }

    /// HPCC 4.1: 42 bytes.
    #[test]
    fn five_hops_of_eight_bytes_and_two_more_are_on_the_wire() {
        assert_eq!(usize::from(Telemetry::BYTES), 8 * Telemetry::MAX_HOPS + 2);
    }
}
