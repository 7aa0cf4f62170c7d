//! A packet as switches and endpoints see it: decoded, 28 bytes, no pointers.
//!
//! The simulator carries these values; the stack converts them from and to frames ([`crate::wire`]). Payload is kept
//! elsewhere: the simulator has none.

use core::fmt;

use crate::ids::{ConnectionId, Handle, HostId, PathId};

/// Packet type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Payload, unless a switch trimmed it. The receiver answers with an ACK (whole) or NACK (trimmed); the sender gets
    /// it back as [`Service::Returned`].
    Data = 0,
    /// The answered packet arrived: its sender frees the buffer.
    Ack = 1,
    /// The answered packet arrived trimmed: its sender prepares the retransmission.
    Nack = 2,
    /// Asks for as many packets as the pull counter rose by.
    Pull = 3,
    /// The connection is unknown or refused: discard its state.
    Reset = 4,
}

/// The eight flag bits of the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Flags(u8);

impl Flags {
    /// Set in the first window: the receiver creates the connection from it.
    pub const SYN: u8 = 1 << 0;
    /// No further packets now: the receiver keeps only as many pulls as packets are missing.
    pub const LAST: u8 = 1 << 1;
    /// Set by the connection's opener: distinguishes returned DATA from the peer's.
    pub const FROM_OPENER: u8 = 1 << 2;
    /// The ACK or NACK has a valid pull counter.
    pub const PULL: u8 = 1 << 3;
    /// The ACK answers several packets ([`Header::delayed_ack`]). ACKs never open connections, so the SYN bit is free.
    pub const DELAYED_ACK: u8 = Flags::SYN;
    /// The receiver's application does not read, so nothing is pulled. ACKs and NACKs have no data, so the LAST bit is
    /// free.
    pub const HELD: u8 = Flags::LAST;
    const ATTEMPT_SHIFT: u8 = 4;
    const CLASS_SHIFT: u8 = 6;

    /// Decodes the wire byte. All bits are in use, so every byte is valid.
    #[inline]
    pub const fn from_bits(bits: u8) -> Flags {
        Flags(bits)
    }
    /// The wire byte.
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }
    /// True if all bits of `mask` are set.
    #[inline]
    pub const fn contains(self, mask: u8) -> bool {
        self.0 & mask == mask
    }
    /// Sets the bits of `mask`.
    #[inline]
    #[must_use]
    pub const fn with(self, mask: u8) -> Flags {
        Flags(self.0 | mask)
    }
    /// Clears the bits of `mask`.
    #[inline]
    #[must_use]
    pub const fn without(self, mask: u8) -> Flags {
        Flags(self.0 & !mask)
    }
    /// Number of this transmission of the packet, modulo 4. Answers echo it, to count for their path.
    #[inline]
    pub const fn attempt(self) -> u8 {
        self.0 >> Flags::ATTEMPT_SHIFT & 3
    }
    /// Priority class, from 0 (default) to 3: receivers pull higher classes first.
    #[inline]
    pub const fn class(self) -> u8 {
        self.0 >> Flags::CLASS_SHIFT
    }
    /// Sets the attempt, modulo 4.
    #[inline]
    #[must_use]
    pub const fn with_attempt(self, attempt: u8) -> Flags {
        Flags(self.0 & !(3 << Flags::ATTEMPT_SHIFT) | (attempt & 3) << Flags::ATTEMPT_SHIFT)
    }
    /// Sets the priority class, 0 to 3.
    #[inline]
    #[must_use]
    pub const fn with_class(self, class: u8) -> Flags {
        Flags(self.0 & !(3 << Flags::CLASS_SHIFT) | (class & 3) << Flags::CLASS_SHIFT)
    }
}

/// The decoded header: the 16 bytes after UDP without checksum, and the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Header {
    /// Packet type.
    pub kind: Kind,
    /// Flag bits.
    pub flags: Flags,
    /// Path, chosen by the sender.
    pub path: PathId,
    /// Connection, unique at its opener.
    pub connection: ConnectionId,
    /// DATA: packet number, from 0. ACK, NACK: answered packet. PULL: pull counter.
    pub sequence: u32,
    /// DATA: payload length (high 16 bits) and service port (low 16 bits). ACK, NACK: pull counter, valid with
    /// [`Flags::PULL`]. PULL: zero.
    pub extra: u32,
}

impl Header {
    /// DATA: payload bytes sent, also after a trim.
    #[inline]
    pub const fn payload_length(&self) -> u16 {
        (self.extra >> 16) as u16
    }
    /// DATA: service port for SYNs.
    #[inline]
    pub const fn service_port(&self) -> u16 {
        self.extra as u16
    }
    /// Encodes the `extra` word of DATA.
    #[inline]
    pub const fn data_extra(payload_length: u16, service_port: u16) -> u32 {
        (payload_length as u32) << 16 | service_port as u32
    }
    /// ACK, NACK: pull counter, if present; see [`Header::delayed_ack`] for ACKs of several packets.
    #[inline]
    pub const fn pull_counter(&self) -> Option<u32> {
        match self.kind {
            Kind::Pull => Some(self.sequence),
            // An ACK of several packets has other bits beside its pull counter.
            Kind::Ack | Kind::Nack
                if self.flags.bits() & (Flags::PULL | Flags::DELAYED_ACK) == Flags::PULL =>
            {
                Some(self.extra)
            }
            Kind::Ack | Kind::Nack | Kind::Data | Kind::Reset => None,
        }
    }
    /// ACK with [`Flags::DELAYED_ACK`]: answered packets besides [`Header::sequence`], and pull counter.
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

/// The `extra` word of an ACK of several packets, which all had the attempt of its flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// Bit `i`: packet `sequence - 1 - i` is answered too.
    pub before: u16,
    /// Low 16 bits of the pull counter, which is less than 2^15 ahead of any counter received before.
    pub pulls: Option<u16>,
}

impl DelayedAck {
    /// Maximum number of packets per ACK.
    pub const MAX: u8 = 17;

    /// Encodes the `extra` word.
    #[inline]
    pub const fn extra(self) -> u32 {
        let pulls = match self.pulls {
            Some(pulls) => pulls,
            None => 0,
        };
        (self.before as u32) << 16 | pulls as u32
    }
}

/// Permitted treatment by the network. Its three bits have room for one more service besides [`ServiceClass::LINK`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Service {
    /// Whole DATA, trimmable.
    Trimmable = 0,
    /// A header: trimmed DATA.
    Trimmed = 1,
    /// A header on its way back to its sender. Never returned again.
    Returned = 2,
    /// ACK, NACK, PULL, RESET.
    Control = 3,
    /// Droppable traffic of transports without trimming.
    Droppable = 4,
    /// Header of a packet that was dropped (FastLane 3.2) or met congestion (Source Quench), on its way back to its
    /// sender. Its own loss causes no notification.
    Notification = 5,
}

impl Service {
    /// Number of services.
    pub const COUNT: usize = 6;
    /// All services by number.
    pub const ALL: [Service; Service::COUNT] = [
        Service::Trimmable,
        Service::Trimmed,
        Service::Returned,
        Service::Control,
        Service::Droppable,
        Service::Notification,
    ];

    /// True for data with payload: untrimmed.
    #[inline]
    pub const fn is_whole(self) -> bool {
        match self {
            Service::Trimmable | Service::Droppable => true,
            Service::Trimmed | Service::Returned | Service::Control | Service::Notification => {
                false
            }
        }
    }

    /// True for headers, on their way to the receiver or back to the sender.
    #[inline]
    pub const fn is_header(self) -> bool {
        match self {
            Service::Trimmed | Service::Returned => true,
            Service::Trimmable | Service::Control | Service::Droppable | Service::Notification => {
                false
            }
        }
    }

    /// True if a switch swapped the addresses: the source is the original destination.
    #[inline]
    pub const fn is_bounced(self) -> bool {
        match self {
            Service::Returned | Service::Notification => true,
            Service::Trimmable | Service::Trimmed | Service::Control | Service::Droppable => false,
        }
    }
}

/// Treatment in the network, in one byte: [`Service`] (bits 0 to 2) and priority (bits 3 to 5). On the wire it is the
/// DSCP ([`Profile::dscp`](crate::wire::Profile::dscp)).
///
/// Whole data has eight priorities: 7 is the most urgent, and 0 is for transports without priorities. Headers and
/// control packets have no priority and go ahead of data. So a trim loses the priority: switches write one DSCP when
/// they trim.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ServiceClass(u8);

impl ServiceClass {
    /// Number of values of six bits.
    pub const COUNT: usize = 64;
    /// The most urgent priority.
    pub const TOP_PRIORITY: u8 = 7;
    const SERVICE_BITS: u8 = 7;
    /// A frame between the ends of a link ([`Pause`](crate::Pause)), without a service. Queues never hold it, and
    /// transports never send it.
    pub const LINK: ServiceClass = ServiceClass(Service::COUNT as u8);

    /// True for [`ServiceClass::LINK`].
    #[inline]
    pub const fn is_link(self) -> bool {
        self.0 == ServiceClass::LINK.0
    }

    /// Combines service and priority, modulo 8. Services without priorities get 0.
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
            // No constructor makes other values; they count as droppable.
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

    /// The six bits as a table index, below [`ServiceClass::COUNT`].
    #[inline]
    pub const fn index(self) -> usize {
        (self.0 & 63) as usize
    }

    /// The service's number as an index into tables of eight.
    #[inline]
    pub const fn service_index(self) -> usize {
        (self.0 & ServiceClass::SERVICE_BITS) as usize
    }

    /// All classes that packets can have.
    pub fn all() -> impl Iterator<Item = ServiceClass> {
        let with = |service| (0..8).map(move |priority| ServiceClass::new(service, priority));
        Service::ALL.into_iter().flat_map(move |service| {
            let has_priority = ServiceClass::new(service, 1).priority() == 1;
            with(service).take(if has_priority { 8 } else { 1 })
        })
    }
}

impl From<Service> for ServiceClass {
    /// Returns the service with priority 0.
    #[inline]
    fn from(service: Service) -> ServiceClass {
        ServiceClass::new(service, 0)
    }
}

impl PartialEq<Service> for ServiceClass {
    /// Compares services, ignoring priority.
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

/// A packet between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Packet {
    /// Host that answers go to. Canonical: equal for all paths.
    pub source: HostId,
    /// Destination host.
    pub destination: HostId,
    /// The transport header.
    pub header: Header,
    /// Current bytes on the wire, full or trimmed.
    pub wire_bytes: u16,
    /// Treatment in the network.
    pub service: ServiceClass,
    /// Congestion marks: see the `MARK_` constants.
    pub marks: u8,
}

impl Packet {
    /// [`Packet::marks`]: transport understands ECN.
    pub const MARK_ECT: u8 = 1 << 0;
    /// [`Packet::marks`]: congestion experienced.
    pub const MARK_CE: u8 = 1 << 1;
    /// [`Packet::marks`] of an ACK: tells the sender that packets arrived with [`Packet::MARK_CE`]. ECN-Echo of the TCP
    /// family (RFC 3168, section 6.1.3; DCTCP); makes an ACK a CNP of DCQCN.
    pub const MARK_ECE: u8 = 1 << 2;
    /// [`Packet::marks`] of data: sent for the first time and unasked, in the pre-credit phase. Switches may treat it
    /// specially (OPF II.D, Aeolus). On a wire it is part of the DSCP.
    pub const MARK_UNSCHEDULED: u8 = 1 << 4;
    /// [`Packet::marks`] of a header: trimmed by the switch next to the receiver, where a host's incoming traffic
    /// meets, not earlier. On a wire it is part of the DSCP
    /// ([`Profile::trimmed_last_hop`](crate::wire::Profile::trimmed_last_hop)).
    pub const MARK_LAST_HOP: u8 = 1 << 5;
    /// [`Packet::marks`] of data from a host's NIC: merged with the flow's next packet (generic receive offload), so
    /// one ACK may answer both. Never on a wire.
    pub const MARK_DELAYED_ACK: u8 = 1 << 7;
    /// Class of headers and control packets: the most urgent (IEEE 802.1Q, network control).
    pub const CONTROL_CLASS: u8 = 7;
    /// Bytes of a control packet or header (NDP 3.1: 64 bytes).
    pub const HEADER_BYTES: u16 = 64;

    /// Pause class, 0 to 7: [`Packet::CONTROL_CLASS`] for headers and control packets, the priority for data.
    #[inline]
    pub const fn class(&self) -> u8 {
        match self.service.service() {
            Service::Trimmed | Service::Returned | Service::Control | Service::Notification => {
                Packet::CONTROL_CLASS
            }
            Service::Trimmable | Service::Droppable => self.service.priority(),
        }
    }

    /// True for an ACK with [`Packet::MARK_ECE`], of any transport: tells the sender about congestion.
    #[inline]
    pub const fn echoes_congestion(&self) -> bool {
        matches!(self.header.kind, Kind::Ack) && self.marks & Packet::MARK_ECE != 0
    }

    /// Creates a control packet: no payload, ahead of data.
    #[inline]
    pub const fn control(source: HostId, destination: HostId, header: Header) -> Packet {
        let service = ServiceClass::new(Service::Control, 0);
        let wire_bytes = Packet::HEADER_BYTES;
        Packet { source, destination, header, wire_bytes, service, marks: 0 }
    }

    /// Cuts the packet to `trimmed_bytes` on the wire and returns the bytes cut. Priority and
    /// [`Packet::MARK_UNSCHEDULED`] are lost: switches write one DSCP when they trim.
    #[inline]
    pub fn trim(&mut self, trimmed_bytes: u16) -> u16 {
        let cut = self.wire_bytes.saturating_sub(trimmed_bytes);
        self.wire_bytes -= cut;
        self.marks &= !Packet::MARK_UNSCHEDULED;
        self.service = ServiceClass::new(Service::Trimmed, 0);
        cut
    }

    /// Bounces a header (return-to-sender, NDP 3.2.4): swaps the addresses and writes DSCP RETURNED, nothing else.
    #[inline]
    pub fn bounce(&mut self) {
        core::mem::swap(&mut self.source, &mut self.destination);
        self.service = ServiceClass::new(Service::Returned, 0);
        self.marks &= !Packet::MARK_LAST_HOP;
    }

    /// Turns a packet into its own drop notification (FastLane 3.2): swaps addresses, cuts to [`Packet::HEADER_BYTES`],
    /// sets the service, and returns the bytes cut. The remaining header identifies the packet. IP marks (ECN and DSCP)
    /// are cleared; transport marks stay.
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
/// A queue is a list through [`Packets::next`] and needs no memory of its own. Implemented by the simulator's arena and
/// the software switch's buffer pool.
pub trait Packets {
    /// Returns the packet behind a handle.
    fn packet(&self, handle: Handle) -> &Packet;
    /// Returns the packet behind a handle, mutably.
    fn packet_mut(&mut self, handle: Handle) -> &mut Packet;
    /// Returns the next packet in the list.
    fn next(&self, handle: Handle) -> Handle;
    /// Links `next` behind `handle`.
    fn set_next(&mut self, handle: Handle, next: Handle);
    /// Trims a packet and returns the bytes cut. Storage with payload releases it.
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
    fn a_class_holds_a_service_and_a_priority() {
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

    /// FastLane 3.2: the header identifies the packet and its sender.
    #[test]
    fn a_notification_holds_what_a_bounced_header_holds() {
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
        assert!(notification.service.service().is_bounced() && !notification.service.is_link());
        let of_dscp = Packet::MARK_UNSCHEDULED | Packet::MARK_LAST_HOP;
        let of_ip = Packet::MARK_ECT | Packet::MARK_CE | of_dscp;
        assert_eq!(notification.marks, !of_ip);
        // A packet shorter than a header is not padded.
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
    fn flag_fields_are_independent() {
        let flags = Flags::default().with(Flags::SYN | Flags::PULL).with_class(3).with_attempt(2);
        assert_eq!((flags.class(), flags.attempt()), (3, 2));
        assert!(flags.contains(Flags::SYN | Flags::PULL) && !flags.contains(Flags::LAST));
        assert_eq!(flags.with_attempt(5).attempt(), 1);
        assert_eq!(flags.without(Flags::SYN).bits(), flags.bits() & !1);
    }
}
