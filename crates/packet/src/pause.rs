//! Pause frames of priority flow control (IEEE 802.1Qbb), from a link's receiving end to its sending end.

use crate::ids::{ConnectionId, HostId, PathId};
use crate::packet::{Flags, Header, Kind, Packet, ServiceClass};

/// A pause frame. It crosses one link and bypasses queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Bit per class that pauses or resumes; other classes continue.
    pub classes: u8,
    /// Classes that pause, a subset of `classes`; the rest resumes.
    pub stopped: u8,
    /// Duration of the pause unless changed, in units of 512 bit times of the link.
    pub quanta: u16,
}

impl Pause {
    /// Bytes on the wire: the shortest Ethernet frame.
    pub const BYTES: u16 = 64;
    /// Bit times per unit of [`Pause::quanta`].
    pub const QUANTUM_BITS: u64 = 512;

    /// Encodes the frame as a packet, for links that carry packets.
    pub const fn to_packet(self) -> Packet {
        let nobody = HostId::new(0);
        let header = Header {
            kind: Kind::Pull,
            flags: Flags::from_bits(self.classes),
            path: PathId::new(0),
            connection: ConnectionId::new(0),
            sequence: self.stopped as u32,
            extra: self.quanta as u32,
        };
        Packet {
            source: nobody,
            destination: nobody,
            header,
            wire_bytes: Pause::BYTES,
            service: ServiceClass::LINK,
            marks: 0,
        }
    }

    /// Decodes a packet that is a pause frame.
    #[inline]
    pub const fn of(packet: &Packet) -> Option<Pause> {
        if !packet.service.is_link() {
            return None;
        }
        let Header { flags, sequence, extra, .. } = packet.header;
        Some(Pause { classes: flags.bits(), stopped: sequence as u8, quanta: extra as u16 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_frame_round_trips_and_other_packets_are_refused() {
        for (classes, stopped, quanta) in [(0b11, 0b01, u16::MAX), (1 << 7, 1 << 7, 7), (1, 0, 0)] {
            let pause = Pause { classes, stopped, quanta };
            assert_eq!(Pause::of(&pause.to_packet()), Some(pause));
            assert_eq!(pause.to_packet().wire_bytes, 64);
        }
        let header = Pause { classes: 1, stopped: 1, quanta: 1 }.to_packet().header;
        let control = Packet::control(HostId::new(0), HostId::new(1), header);
        assert_eq!(Pause::of(&control), None);
        assert!(ServiceClass::all().all(|class| !class.is_link()), "no transport sends one");
    }
}
