//! DCQCN's packets as frames of real hosts: Ethernet, IPv4, UDP and RoCEv2, for captures.
//!
//! A connection is a queue pair of the reliable service with sent messages (SEND). Both ends have the number of the
//! connection. A packet's number is its PSN. As in AETH, an ACK names the last packet that it answers, a NACK the
//! missing one ("PSN sequence error"); AETH's count of messages is not simulated and is 0. A CNP has opcode 0x81 with
//! BECN.

use trimline_metrics::capture::Frames;
use trimline_packet::{Flags, Kind, Packet};
use trimline_transport::dcqcn::{ACK_REQUEST, Config, MARK_CNP};

use super::frames::behind_ip;

/// UDP port of RoCEv2 (IBTA, Annex A17).
const PORT: u16 = 4791;
const UDP: u8 = 17;
/// First queue pair of data: 0 and 1 are for management.
const FIRST_QUEUE: u32 = 2;
/// Mask of 24 bits.
const NUMBERS: u32 = 0xff_ffff;

const SEND_FIRST: u8 = 0x00;
const SEND_MIDDLE: u8 = 0x01;
const SEND_LAST: u8 = 0x02;
const SEND_ONLY: u8 = 0x04;
const ACKNOWLEDGE: u8 = 0x11;
const CNP: u8 = 0x81;
/// Bit in the byte behind the partition key.
const BECN: u8 = 1 << 6;
/// Bit in the byte before the PSN.
const ASKS: u8 = 1 << 7;
/// Syndromes of AETH: an ACK without credits, and a NACK for a gap.
const ACK: u8 = 0x1f;
const SEQUENCE_ERROR: u8 = 0x60;

pub(super) struct Queues {
    payload_bytes: u16,
}

impl Queues {
    pub(super) fn new(config: &Config) -> Queues {
        Queues { payload_bytes: config.payload_bytes }
    }

    /// Returns the opcode of data. Only ends of messages are simulated, so only a stream's first packet is known to
    /// begin one.
    fn opcode(&self, packet: &Packet) -> u8 {
        let is_first = packet.header.sequence == 0;
        match (is_first, packet.header.flags.contains(Flags::LAST)) {
            (true, true) => SEND_ONLY,
            (true, false) => SEND_FIRST,
            (false, true) => SEND_LAST,
            (false, false) => SEND_MIDDLE,
        }
    }
}

/// Content behind UDP, without the check at the end.
struct Transport {
    opcode: u8,
    pads: u8,
    notices: u8,
    asks: u8,
    psn: u32,
    behind: Vec<u8>,
}

impl Transport {
    fn bytes(&self, queue: u32) -> Vec<u8> {
        // The default partition.
        let mut bytes = vec![self.opcode, self.pads << 4, 0xff, 0xff, self.notices];
        bytes.extend(&queue.to_be_bytes()[1..]);
        bytes.push(self.asks);
        bytes.extend(&(self.psn & NUMBERS).to_be_bytes()[1..]);
        bytes.extend(&self.behind);
        bytes
    }
}

impl Frames for Queues {
    fn frame(&mut self, packet: &Packet, _time_ps: u64) -> Option<Vec<u8>> {
        let header = &packet.header;
        let said = match header.kind {
            Kind::Data => {
                let payload = header.payload_length().min(self.payload_bytes);
                let pads = payload.wrapping_neg() as u8 & 3;
                let asks = if header.flags.contains(ACK_REQUEST) { ASKS } else { 0 };
                // The content of packets is not simulated.
                let behind = vec![0; usize::from(payload) + usize::from(pads)];
                let (opcode, psn) = (self.opcode(packet), header.sequence);
                Transport { opcode, pads, notices: 0, asks, psn, behind }
            }
            Kind::Ack if packet.marks & MARK_CNP != 0 => {
                let behind = vec![0; 16];
                Transport { opcode: CNP, pads: 0, notices: BECN, asks: 0, psn: 0, behind }
            }
            Kind::Ack | Kind::Nack => {
                let is_ack = header.kind == Kind::Ack;
                let behind = vec![if is_ack { ACK } else { SEQUENCE_ERROR }, 0, 0, 0];
                let psn = header.sequence.wrapping_sub(u32::from(is_ack));
                Transport { opcode: ACKNOWLEDGE, pads: 0, notices: 0, asks: 0, psn, behind }
            }
            Kind::Pull | Kind::Reset => return None,
        };
        let queue = header.connection.get().wrapping_add(FIRST_QUEUE) & NUMBERS;
        Some(framed(packet, queue, &said.bytes(queue)))
    }
}

/// Puts the bytes behind Ethernet, IPv4 and UDP, with RoCEv2's check.
fn framed(packet: &Packet, queue: u32, bytes: &[u8]) -> Vec<u8> {
    // The sender's port distinguishes flows where switches hash.
    let from = 0xc000 | (queue & 0x3fff) as u16;
    let length = 8 + bytes.len() as u16 + 4;
    let mut datagram = [from, PORT, length, 0].map(u16::to_be_bytes).concat();
    datagram.extend(bytes);
    datagram.extend([0; 4]);
    let mut frame = behind_ip(packet, UDP, &datagram);
    let end = frame.len() - 4;
    let check = invariant_check(&frame[14..end]);
    frame[end..].copy_from_slice(&check.to_le_bytes());
    frame
}

/// Returns the invariant CRC: fields that switches may change count as ones (IBTA, Annex A17).
fn invariant_check(ip: &[u8]) -> u32 {
    /// Type of service, hops and checksum of IPv4; checksum of UDP; FECN and BECN.
    const CHANGES: [usize; 7] = [1, 8, 10, 11, 26, 27, 32];
    let bytes = ip.iter().enumerate();
    let masked = bytes.map(|(at, &byte)| if CHANGES.contains(&at) { 0xff } else { byte });
    // Ones replace the local route header.
    let crc = std::iter::repeat_n(0xff, 8).chain(masked).fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            crc >> 1 ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    });
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suites::plans::star;
    use crate::transports::{Dcqcn, Transport as _};
    use trimline_packet::{ConnectionId, Header, HostId, PathId, Service};

    fn packet(kind: Kind, sequence: u32, payload: u16, flags: u8, marks: u8) -> Packet {
        let header = Header {
            kind,
            flags: Flags::default().with(flags),
            path: PathId::new(0),
            connection: ConnectionId::new(3),
            sequence,
            extra: Header::data_extra(payload, 0),
        };
        let (source, destination) = (HostId::new(1), HostId::new(0));
        let service = Service::Droppable.into();
        Packet { source, destination, header, wire_bytes: payload + 64, service, marks }
    }

    fn frame(packet: &Packet) -> Vec<u8> {
        let config = Dcqcn.config("", &star(2)).expect("its keys");
        Queues::new(&config).frame(packet, 0).expect("a frame")
    }

    /// Offset of the transport header.
    const HEADER: usize = 14 + 20 + 8;

    #[test]
    fn data_acks_and_notifications_have_their_opcodes() {
        for (kind, sequence, flags, marks, opcode, psn) in [
            (Kind::Data, 0, 0, 0, SEND_FIRST, 0),
            (Kind::Data, 0, Flags::LAST, 0, SEND_ONLY, 0),
            (Kind::Data, 0x0100_0007, 0, 0, SEND_MIDDLE, 7),
            (Kind::Data, 9, Flags::LAST, 0, SEND_LAST, 9),
            (Kind::Ack, 9, 0, 0, ACKNOWLEDGE, 8),
            (Kind::Nack, 9, 0, 0, ACKNOWLEDGE, 9),
            (Kind::Ack, 0, 0, MARK_CNP, CNP, 0),
        ] {
            let frame = frame(&packet(kind, sequence, 0, flags, marks));
            assert_eq!(frame[HEADER], opcode, "{kind:?}");
            assert_eq!(frame[HEADER + 9..HEADER + 12], [0, 0, psn], "{kind:?}");
            assert_eq!(frame[HEADER + 5..HEADER + 8], [0, 0, 5], "{kind:?}");
            assert_eq!(frame[36..38], PORT.to_be_bytes());
        }
        let syndrome = |kind| frame(&packet(kind, 9, 0, 0, 0))[HEADER + 12];
        assert_eq!((syndrome(Kind::Ack), syndrome(Kind::Nack)), (ACK, SEQUENCE_ERROR));
        assert_eq!(frame(&packet(Kind::Ack, 0, 0, 0, MARK_CNP))[HEADER + 4], BECN);
    }

    #[test]
    fn a_frame_has_marks_ack_requests_and_padding() {
        let marks = Packet::MARK_ECT | Packet::MARK_CE;
        let marked = frame(&packet(Kind::Data, 1, 1001, ACK_REQUEST, marks));
        assert_eq!(marked[15] & 3, 3, "congestion experienced");
        assert_eq!(marked[HEADER + 8], ASKS);
        assert_eq!(marked[HEADER + 1] >> 4, 3, "1001 bytes and three more");
        assert_eq!(marked.len(), HEADER + 12 + 1004 + 4);
        let other = frame(&packet(Kind::Data, 1, 1001, ACK_REQUEST, Packet::MARK_ECT));
        assert_eq!(other[15] & 3, 2);
        // A mark does not change the invariant check.
        assert_eq!(marked[marked.len() - 4..], other[other.len() - 4..]);
    }

    /// Value of another program, which agrees with frames of real NICs.
    #[test]
    fn the_icrc_matches_real_frames() {
        let cnp = frame(&packet(Kind::Ack, 0, 0, 0, MARK_CNP));
        assert_eq!(cnp[cnp.len() - 4..], [0x66, 0x37, 0xf6, 0x81]);
    }
}
