//! A packet as switches and endpoints see it: decoded, 28 bytes, no pointers.
//!
//! The simulator carries these values; the stack parses them from frames and emits them into
//! frames ([`crate::wire`]). Payload bytes are never here: the simulator has none, and the stack
//! keeps them beside the packet.

use core::fmt;

use crate::ids::{ConnectionId, Handle, HostId, PathId};

/// What a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Carries payload, or did before a switch trimmed it. The receiver answers it with an ACK
    /// (whole) or a NACK (trimmed); its own sender gets it back when [`Service::Returned`].
    Data = 0,
    /// The named packet arrived: its sender frees the buffer.
    Ack = 1,
    /// The named packet arrived without its payload: its sender prepares the retransmission.
    Nack = 2,
    /// Asks for as many packets as the counter rose by.
    Pull = 3,
    /// The connection is not known, or is refused: its state is discarded.
    Reset = 4,
}

/// The eight flag bits of the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Flags(u8);

impl Flags {
    /// In every packet of the first window: the receiver creates the connection from it.
    pub const SYN: u8 = 1 << 0;
    /// Nothing further to send now: the receiver keeps only as many pulls as packets are missing.
    pub const LAST: u8 = 1 << 1;
    /// Set in packets that the opener of the connection sent: tells a returned DATA from the peer's.
    pub const FROM_OPENER: u8 = 1 << 2;
    /// This ACK or NACK carries a valid pull counter.
    pub const PULL: u8 = 1 << 3;
    /// In an ACK, which never opens a connection, the bit of SYN: it answers several packets ([`Header::delayed_ack`]).
    pub const DELAYED_ACK: u8 = Flags::SYN;
    /// In an ACK or a NACK, which have no data, the bit of LAST: the receiver's application does not read, so nothing is
    /// pulled.
    pub const HELD: u8 = Flags::LAST;
    const ATTEMPT_SHIFT: u8 = 4;
    const CLASS_SHIFT: u8 = 6;

    /// The flags from their wire byte. Every byte is valid: no bit is spare.
    #[inline]
    pub const fn from_bits(bits: u8) -> Flags {
        Flags(bits)
    }
    /// The wire byte.
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }
    /// Whether all bits of `mask` are set.
    #[inline]
    pub const fn contains(self, mask: u8) -> bool {
        self.0 & mask == mask
    }
    /// These flags and those of `mask`.
    #[inline]
    #[must_use]
    pub const fn with(self, mask: u8) -> Flags {
        Flags(self.0 | mask)
    }
    /// These flags without those of `mask`.
    #[inline]
    #[must_use]
    pub const fn without(self, mask: u8) -> Flags {
        Flags(self.0 & !mask)
    }
    /// Which transmission of its sequence number this is, modulo 4; ACK and NACK echo it, so that
    /// they count for the path that earned them.
    #[inline]
    pub const fn attempt(self) -> u8 {
        self.0 >> Flags::ATTEMPT_SHIFT & 3
    }
    /// The priority class, 0 the default and 3 the highest: the receiver pulls a higher class first.
    #[inline]
    pub const fn class(self) -> u8 {
        self.0 >> Flags::CLASS_SHIFT
    }
    /// These flags with the attempt (modulo 4).
    #[inline]
    #[must_use]
    pub const fn with_attempt(self, attempt: u8) -> Flags {
        Flags(self.0 & !(3 << Flags::ATTEMPT_SHIFT) | (attempt & 3) << Flags::ATTEMPT_SHIFT)
    }
    /// These flags with the priority class (0 to 3).
    #[inline]
    #[must_use]
    pub const fn with_class(self, class: u8) -> Flags {
        Flags(self.0 & !(3 << Flags::CLASS_SHIFT) | (class & 3) << Flags::CLASS_SHIFT)
    }
}

/// The decoded header: the 16 bytes after UDP without their check, and the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Header {
    /// What the packet is for.
    pub kind: Kind,
    /// Flag bits.
    pub flags: Flags,
    /// The path that the sender chose.
    pub path: PathId,
    /// Connection, unique at its opener.
    pub connection: ConnectionId,
    /// DATA: packet number, from 0. ACK, NACK: the packet answered. PULL: the pull counter.
    pub sequence: u32,
    /// DATA: payload length (high 16 bits) and service port (low 16 bits). ACK and NACK: the pull
    /// counter, valid with [`Flags::PULL`]. PULL: zero.
    pub extra: u32,
}

impl Header {
    /// DATA: the bytes of payload that were sent, even when a switch trimmed them.
    #[inline]
    pub const fn payload_length(&self) -> u16 {
        (self.extra >> 16) as u16
    }
    /// DATA: the service port that a SYN is matched to.
    #[inline]
    pub const fn service_port(&self) -> u16 {
        self.extra as u16
    }
    /// The `extra` word of a DATA header.
    #[inline]
    pub const fn data_extra(payload_length: u16, service_port: u16) -> u32 {
        (payload_length as u32) << 16 | service_port as u32
    }
    /// ACK and NACK: the pull counter that rides along, if one does. Of an ACK of several packets see
    /// [`Header::delayed_ack`].
    #[inline]
    pub const fn pull_counter(&self) -> Option<u32> {
        match self.kind {
            Kind::Pull => Some(self.sequence),
            // That of an ACK of several packets has other bits beside it.
            Kind::Ack | Kind::Nack
                if self.flags.bits() & (Flags::PULL | Flags::DELAYED_ACK) == Flags::PULL =>
            {
                Some(self.extra)
            }
            Kind::Ack | Kind::Nack | Kind::Data | Kind::Reset => None,
        }
    }
    /// ACK with [`Flags::DELAYED_ACK`]: which packets beside [`Header::sequence`] it answers, and the pull counter.
    #[inline]
    pub const fn delayed_ack(&self) -> Option<DelayedAck> {
        match self.kind {
            Kind::Ack if self.flags.contains(Flags::DELAYED_ACK) => {
                let carries = self.flags.contains(Flags::PULL);
                let pulls = if carries { Some(self.extra as u16) } else { None };
                Some(DelayedAck { before: (self.extra >> 16) as u16, pulls })
            }
            Kind::Ack | Kind::Nack | Kind::Data | Kind::Pull | Kind::Reset => None,
        }
    }
}

/// What an ACK of several packets says in its `extra` word. All that it answers had the attempt of its flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// Bit `i`: packet `sequence - 1 - i` is answered too.
    pub before: u16,
    /// The low half of the pull counter. It is less than 2^15 ahead of any that was heard before.
    pub pulls: Option<u16>,
}

impl DelayedAck {
    /// The most packets that one ACK answers.
    pub const MAX: u8 = 17;

    /// The `extra` word.
    #[inline]
    pub const fn extra(self) -> u32 {
        let pulls = match self.pulls {
            Some(pulls) => pulls,
            None => 0,
        };
        (self.before as u32) << 16 | pulls as u32
    }
}

/// What the network may do to the packet. Three bits hold it: one more service has room, beside
/// [`ServiceClass::LINK`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Service {
    /// May be trimmed: whole DATA.
    Trimmable = 0,
    /// Was trimmed: a header.
    Trimmed = 1,
    /// A trimmed header on its way back to its sender. Never returned again.
    Returned = 2,
    /// ACK, NACK, PULL, RESET.
    Control = 3,
    /// May only be dropped: traffic of transports that do not know trimming.
    Droppable = 4,
    /// The header of a packet that a switch dropped, on its way back to its sender (FastLane 3.2), or of one that met
    /// congestion (Source Quench). Nobody is told of its own loss.
    Notification = 5,
}

impl Service {
    /// How many there are.
    pub const COUNT: usize = 6;
    /// All of them, in the order of their numbers.
    pub const ALL: [Service; Service::COUNT] = [
        Service::Trimmable,
        Service::Trimmed,
        Service::Returned,
        Service::Control,
        Service::Droppable,
        Service::Notification,
    ];

    /// Whether a packet of this service has its payload: it is data that no switch has cut.
    #[inline]
    pub const fn is_whole(self) -> bool {
        match self {
            Service::Trimmable | Service::Droppable => true,
            Service::Trimmed | Service::Returned | Service::Control | Service::Notification => {
                false
            }
        }
    }

    /// Whether a switch has trimmed the packet: it is a header on its way to its receiver, or back to its sender.
    #[inline]
    pub const fn is_header(self) -> bool {
        match self {
            Service::Trimmed | Service::Returned => true,
            Service::Trimmable | Service::Control | Service::Droppable | Service::Notification => {
                false
            }
        }
    }

    /// Whether a switch has swapped the packet's addresses: its source is where it was sent to.
    #[inline]
    pub const fn is_turned_round(self) -> bool {
        match self {
            Service::Returned | Service::Notification => true,
            Service::Trimmable | Service::Trimmed | Service::Control | Service::Droppable => false,
        }
    }
}

/// How the network treats a packet, in one byte: its [`Service`] (bits 0 to 2) and its priority (bits 3 to 5). On the
/// wire it is the DSCP ([`Profile::dscp`](crate::wire::Profile::dscp)).
///
/// Whole data has one of eight priorities: 7 is the most urgent, 0 what a transport without priorities sends. Headers
/// and control packets have none; they go ahead of data. So a trim loses the priority: a switch that trims writes one
/// DSCP, whatever the packet's was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ServiceClass(u8);

impl ServiceClass {
    /// How many values the six bits have.
    pub const COUNT: usize = 64;
    /// The most urgent priority.
    pub const TOP_PRIORITY: u8 = 7;
    const SERVICE_BITS: u8 = 7;
    /// Of no service: a frame between the two ends of a link ([`Pause`](crate::Pause)). No queue ever holds one, and no
    /// transport sends one.
    pub const LINK: ServiceClass = ServiceClass(Service::COUNT as u8);

    /// Whether this is [`ServiceClass::LINK`].
    #[inline]
    pub const fn is_link(self) -> bool {
        self.0 == ServiceClass::LINK.0
    }

    /// A service and a priority, modulo 8. Services that have no priority are given 0.
    #[inline]
    pub const fn new(service: Service, priority: u8) -> ServiceClass {
        match service {
            Service::Trimmable | Service::Droppable => {
                ServiceClass((priority & 7) << 3 | service as u8)
            }
            Service::Trimmed | Service::Returned | Service::Control | Service::Notification => {
                ServiceClass(service as u8)
            }
        }
    }

    /// The service.
    #[inline]
    pub const fn service(self) -> Service {
        const SERVICES: [Service; 8] = {
            // What no constructor makes is treated like what may only be dropped.
            let mut services = [Service::Droppable; 8];
            let mut place = 0;
            while place < Service::COUNT {
                services[Service::ALL[place] as usize] = Service::ALL[place];
                place += 1;
            }
            services
        };
        SERVICES[(self.0 & ServiceClass::SERVICE_BITS) as usize]
    }

    /// The priority, 0 to 7.
    #[inline]
    pub const fn priority(self) -> u8 {
        self.0 >> 3 & 7
    }

    /// The six bits, for tables by class: below [`ServiceClass::COUNT`].
    #[inline]
    pub const fn index(self) -> usize {
        (self.0 & 63) as usize
    }

    /// The service's number, for tables of eight.
    #[inline]
    pub const fn service_index(self) -> usize {
        (self.0 & ServiceClass::SERVICE_BITS) as usize
    }

    /// Every class that a packet can be of.
    pub fn all() -> impl Iterator<Item = ServiceClass> {
        let with = |service| (0..8).map(move |priority| ServiceClass::new(service, priority));
        Service::ALL.into_iter().flat_map(move |service| {
            let has_priority = ServiceClass::new(service, 1).priority() == 1;
            with(service).take(if has_priority { 8 } else { 1 })
        })
    }
}

impl From<Service> for ServiceClass {
    /// The service with priority 0.
    #[inline]
    fn from(service: Service) -> ServiceClass {
        ServiceClass::new(service, 0)
    }
}

impl PartialEq<Service> for ServiceClass {
    /// Whether this is the service, whatever the priority.
    #[inline]
    fn eq(&self, service: &Service) -> bool {
        self.0 & ServiceClass::SERVICE_BITS == *service as u8
    }
}

impl fmt::Debug for ServiceClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.priority() {
            0 => write!(f, "{:?}", self.service()),
            priority => write!(f, "{:?} of priority {priority}", self.service()),
        }
    }
}

/// One packet, anywhere between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Packet {
    /// Where it goes back to. Canonical: the same for every path.
    pub source: HostId,
    /// Where it goes.
    pub destination: HostId,
    /// The transport header.
    pub header: Header,
    /// Bytes that it takes on the wire now: full, or trimmed.
    pub wire_bytes: u16,
    /// How the network treats it.
    pub service: ServiceClass,
    /// Congestion marks: see the `MARK_` constants.
    pub marks: u8,
}

impl Packet {
    /// [`Packet::marks`]: the transport understands ECN.
    pub const MARK_ECT: u8 = 1 << 0;
    /// [`Packet::marks`]: congestion experienced.
    pub const MARK_CE: u8 = 1 << 1;
    /// [`Packet::marks`] of an ACK: packets of the flow arrived with [`Packet::MARK_CE`], and its sender must hear of it.
    /// ECN-Echo of the TCP family (RFC 3168, section 6.1.3; DCTCP), and what makes an ACK a CNP of DCQCN.
    pub const MARK_ECE: u8 = 1 << 2;
    /// [`Packet::marks`] of data: sent for the first time and before its receiver asked for it, in the pre-credit phase.
    /// Switches may treat it in its own way (OPF II.D, Aeolus). On a wire it is part of the DSCP.
    pub const MARK_UNSCHEDULED: u8 = 1 << 4;
    /// [`Packet::marks`] of a trimmed header: the switch next to the receiver cut it, where what is sent to one host
    /// meets, and no port before. On a wire it is part of the DSCP
    /// ([`Profile::trimmed_last_hop`](crate::wire::Profile::trimmed_last_hop)).
    pub const MARK_LAST_HOP: u8 = 1 << 5;
    /// [`Packet::marks`] of data that a host's NIC hands over: the next packet of its flow is taken together with it
    /// (generic receive offload), and one answer may do for both. Never on a wire.
    pub const MARK_DELAYED_ACK: u8 = 1 << 7;
    /// The class of headers and control packets: the most urgent one (IEEE 802.1Q, network control).
    pub const CONTROL_CLASS: u8 = 7;
    /// Bytes of a control packet and of a trimmed header (NDP 3.1: 64 bytes).
    pub const HEADER_BYTES: u16 = 64;

    /// The class that a link pauses it with, 0 to 7. Headers and control packets are of class
    /// [`Packet::CONTROL_CLASS`], data of that of its priority.
    #[inline]
    pub const fn class(&self) -> u8 {
        match self.service.service() {
            Service::Trimmed | Service::Returned | Service::Control | Service::Notification => {
                Packet::CONTROL_CLASS
            }
            Service::Trimmable | Service::Droppable => self.service.priority(),
        }
    }

    /// Whether this tells a sender that packets of its flow met congestion: an ACK with [`Packet::MARK_ECE`], whatever
    /// the transport.
    #[inline]
    pub const fn echoes_congestion(&self) -> bool {
        matches!(self.header.kind, Kind::Ack) && self.marks & Packet::MARK_ECE != 0
    }

    /// A packet without payload that goes ahead of data.
    #[inline]
    pub const fn control(source: HostId, destination: HostId, header: Header) -> Packet {
        let service = ServiceClass::new(Service::Control, 0);
        let wire_bytes = Packet::HEADER_BYTES;
        Packet { source, destination, header, wire_bytes, service, marks: 0 }
    }

    /// Cuts the payload: what is left is `trimmed_bytes` on the wire. Gives the bytes cut. The priority and
    /// [`Packet::MARK_UNSCHEDULED`] are lost: a switch that trims writes one DSCP.
    #[inline]
    pub fn trim(&mut self, trimmed_bytes: u16) -> u16 {
        let cut = self.wire_bytes.saturating_sub(trimmed_bytes);
        self.wire_bytes -= cut;
        self.marks &= !Packet::MARK_UNSCHEDULED;
        self.service = ServiceClass::new(Service::Trimmed, 0);
        cut
    }

    /// Turns a trimmed header round (NDP 3.2.4): addresses swapped, DSCP RETURNED, nothing else.
    #[inline]
    pub fn turn_round(&mut self) {
        core::mem::swap(&mut self.source, &mut self.destination);
        self.service = ServiceClass::new(Service::Returned, 0);
        self.marks &= !Packet::MARK_LAST_HOP;
    }

    /// Makes a packet the notification of its own drop (FastLane 3.2): addresses swapped, cut to its header of
    /// [`Packet::HEADER_BYTES`], a service of its own. Gives the bytes cut. The rest of the header says which packet it
    /// was; the marks of IP (ECN, and the one in the DSCP) are overwritten, those of the transport stay.
    #[inline]
    pub fn notify(&mut self) -> u16 {
        let cut = self.wire_bytes.saturating_sub(Packet::HEADER_BYTES);
        self.wire_bytes -= cut;
        core::mem::swap(&mut self.source, &mut self.destination);
        self.service = ServiceClass::new(Service::Notification, 0);
        let of_ip = Packet::MARK_ECT | Packet::MARK_CE;
        self.marks &= !(of_ip | Packet::MARK_UNSCHEDULED | Packet::MARK_LAST_HOP);
        cut
    }
}

/// Storage that owns packets and links them into queues.
///
/// A queue is a list through [`Packets::next`]: as deep as its capacity without memory of its own.
/// The simulator implements this over an arena, the software switch over its buffer pool.
pub trait Packets {
    /// The packet behind a handle.
    fn packet(&self, handle: Handle) -> &Packet;
    /// The packet behind a handle, to be changed.
    fn packet_mut(&mut self, handle: Handle) -> &mut Packet;
    /// The packet after this one in its list.
    fn next(&self, handle: Handle) -> Handle;
    /// Links `next` behind `handle`.
    fn set_next(&mut self, handle: Handle, next: Handle);
    /// Cuts the payload of a packet; gives the bytes cut. Storage that holds payload releases it.
    #[inline]
    fn trim(&mut self, handle: Handle, trimmed_bytes: u16) -> u16 {
        self.packet_mut(handle).trim(trimmed_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_and_its_link_fit_half_a_cache_line() {
        assert_eq!(size_of::<Packet>(), 28);
    }

    #[test]
    fn a_class_is_a_service_and_a_priority() {
        let urgent = ServiceClass::new(Service::Droppable, 7);
        assert_eq!((urgent.service(), urgent.priority()), (Service::Droppable, 7));
        assert!(urgent == Service::Droppable && urgent != Service::Trimmable);
        assert_ne!(urgent, ServiceClass::from(Service::Droppable));
        assert_eq!(ServiceClass::new(Service::Control, 5).priority(), 0, "control has none");
        let all: alloc::vec::Vec<usize> = ServiceClass::all().map(ServiceClass::index).collect();
        let different: alloc::collections::BTreeSet<&usize> = all.iter().collect();
        assert_eq!((all.len(), different.len()), (2 * 8 + 4, 2 * 8 + 4));
        assert!(all.iter().all(|&index| index < ServiceClass::COUNT));
    }

    #[test]
    fn a_trim_loses_priority_and_mark() {
        let header = Header {
            kind: Kind::Data,
            flags: Flags::default(),
            path: PathId::new(0),
            connection: ConnectionId::new(0),
            sequence: 0,
            extra: 0,
        };
        let mut packet = Packet::control(HostId::new(0), HostId::new(1), header);
        (packet.service, packet.wire_bytes) = (ServiceClass::new(Service::Trimmable, 6), 1564);
        packet.marks = Packet::MARK_ECT | Packet::MARK_UNSCHEDULED;
        assert_eq!((packet.class(), packet.trim(64)), (6, 1500));
        assert_eq!(packet.service, ServiceClass::from(Service::Trimmed));
        assert_eq!((packet.class(), packet.marks), (Packet::CONTROL_CLASS, Packet::MARK_ECT));
    }

    /// FastLane 3.2: the header says which packet it was, and of which sender.
    #[test]
    fn a_notification_is_the_header_turned_round() {
        let header = Header {
            kind: Kind::Ack,
            flags: Flags::from_bits(0b1010_0101),
            path: PathId::new(7),
            connection: ConnectionId::new(9),
            sequence: 11,
            extra: 13,
        };
        let whole = Packet {
            wire_bytes: 1500,
            service: ServiceClass::new(Service::Droppable, 5),
            marks: u8::MAX,
            ..Packet::control(HostId::new(0), HostId::new(1), header)
        };
        let mut notification = whole;
        assert_eq!(notification.notify(), 1500 - 64);
        assert_eq!(
            (notification.source, notification.destination),
            (HostId::new(1), HostId::new(0))
        );
        assert_eq!((notification.header, notification.wire_bytes), (header, 64));
        assert_eq!(notification.service, ServiceClass::from(Service::Notification));
        assert!(
            notification.service.service().is_turned_round() && !notification.service.is_link()
        );
        let of_dscp = Packet::MARK_UNSCHEDULED | Packet::MARK_LAST_HOP;
        let of_ip = Packet::MARK_ECT | Packet::MARK_CE | of_dscp;
        assert_eq!(notification.marks, !of_ip);
        // What is shorter than a header is not filled up.
        let mut short = Packet { wire_bytes: 40, ..whole };
        assert_eq!((short.notify(), short.wire_bytes), (0, 40));
    }

    #[test]
    fn only_an_ack_with_the_mark_echoes_congestion() {
        let check = |kind, marks, expected| {
            let header = Header {
                kind,
                flags: Flags::default(),
                path: PathId::new(0),
                connection: ConnectionId::new(0),
                sequence: 0,
                extra: 0,
            };
            let packet =
                Packet { marks, ..Packet::control(HostId::new(0), HostId::new(1), header) };
            assert_eq!(packet.echoes_congestion(), expected, "{kind:?} {marks:#b}");
        };
        let others = !Packet::MARK_ECE;
        check(Kind::Ack, Packet::MARK_ECE, true);
        check(Kind::Ack, u8::MAX, true);
        check(Kind::Ack, others, false);
        for kind in [Kind::Data, Kind::Nack, Kind::Pull, Kind::Reset] {
            check(kind, Packet::MARK_ECE, false);
        }
    }

    #[test]
    fn flags_keep_their_fields_apart() {
        let flags = Flags::default().with(Flags::SYN | Flags::PULL).with_class(3).with_attempt(2);
        assert_eq!((flags.class(), flags.attempt()), (3, 2));
        assert!(flags.contains(Flags::SYN | Flags::PULL) && !flags.contains(Flags::LAST));
        assert_eq!(flags.with_attempt(5).attempt(), 1);
        assert_eq!(flags.without(Flags::SYN).bits(), flags.bits() & !1);
    }
}
