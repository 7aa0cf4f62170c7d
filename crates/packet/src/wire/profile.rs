//! Profiles: how a kind of switch marks and trims packets. All values are configurable; a profile is a start, not a
//! standard.

use crate::packet::{Packet, Service, ServiceClass};

/// DSCP of each packet class, and size of trimmed frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// DSCP of trimmable whole DATA.
    pub trimmable: u8,
    /// DSCP written by a trim.
    pub trimmed: u8,
    /// DSCP written by a trim next to the receiver; `trimmed` if the fabric does not distinguish it.
    pub trimmed_last_hop: u8,
    /// DSCP of a returned header.
    pub returned: u8,
    /// DSCP of ACK, NACK, PULL, RESET.
    pub control: u8,
    /// DSCP of droppable packets.
    pub droppable: u8,
    /// DSCP of a drop notification.
    pub notification: u8,
    /// Bytes of a trimmed frame, from Ethernet header to FCS inclusive.
    pub trimmed_bytes: u16,
    /// UDP port of the protocol.
    pub port: u16,
}

/// UDP port of every profile (chosen: in the dynamic range, ending in the protocol number 199 of the NDP authors'
/// prototype).
pub const PORT: u16 = 49_199;

/// Low three DSCP bits of scheduled data with a priority above 0; the high three are the priority.
const TRIMMABLE_BITS: u8 = 0b111;
const DROPPABLE_BITS: u8 = 0b101;
/// Low three DSCP bits of unscheduled data, with the two exceptions below.
const UNSCHEDULED_TRIMMABLE_BITS: u8 = 0b011;
const UNSCHEDULED_DROPPABLE_BITS: u8 = 0b001;
/// Trimmable unscheduled data of priority 1: the rule would give 11, which Spectrum-4 writes when it trims.
const UNSCHEDULED_TRIMMABLE_1: u8 = 0b000_111;
/// Droppable unscheduled data of priority 0: the rule would give 000001, the Lower-Effort PHB of RFC 8622, which
/// networks drop first.
const UNSCHEDULED_DROPPABLE_0: u8 = 0b000_101;

/// Bytes of the frame check sequence, which buffers here never contain.
pub const FCS_BYTES: usize = 4;

impl Profile {
    /// The NDP paper's profile: a trimmed packet is a 64-byte header (NDP 3.1). The paper uses its own protocol number
    /// and names no DSCP: all seven are chosen. Trimmed, returned and control packets share precedence 6; data has 1;
    /// notifications, ahead of everything (FastLane 3.2), 7.
    pub const PAPER: Profile = Profile {
        trimmable: 10,
        trimmed: 50,
        trimmed_last_hop: 52,
        returned: 54,
        control: 48,
        droppable: 0,
        notification: 56,
        trimmed_bytes: 64,
        port: PORT,
    };

    /// SONiC: trimmed DSCP 48 at every hop, from the configuration example of the SONiC packet-trimming design; 128
    /// bytes, the default of SAI_SWITCH_ATTR_PACKET_TRIM_SIZE. The rest is chosen; control moves off 48.
    pub const SONIC: Profile = Profile {
        trimmed: 48,
        trimmed_last_hop: 48,
        control: 50,
        trimmed_bytes: 128,
        ..Profile::PAPER
    };

    /// Spectrum-4 under Cumulus Linux 5.14: profile `packet-trim-default` writes DSCP 11 and trims to 256 bytes
    /// (configurable: 256 to 1024 in steps of 4). The rest is chosen.
    pub const SPECTRUM: Profile =
        Profile { trimmed: 11, trimmed_last_hop: 11, trimmed_bytes: 256, ..Profile::PAPER };

    /// Tomahawk 5: trims only to 206 bytes, DSCP 48 (constants of the SONiC project's packet-trimming tests). The rest
    /// is chosen.
    pub const TH5: Profile = Profile { trimmed_bytes: 206, ..Profile::SONIC };

    /// [`Profile::PAPER`] for hosts with a key: trimmed frames contain the tag, with IPv6 too.
    pub const KEYED: Profile =
        Profile { trimmed_bytes: Profile::min_keyed_bytes(true), ..Profile::PAPER };

    /// All profiles by name.
    pub const ALL: [(&'static str, Profile); 5] = [
        ("paper", Profile::PAPER),
        ("keyed", Profile::KEYED),
        ("sonic", Profile::SONIC),
        ("spectrum", Profile::SPECTRUM),
        ("th5", Profile::TH5),
    ];

    /// Looks up a profile by name.
    pub fn named(name: &str) -> Option<Profile> {
        Profile::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, profile)| profile)
    }

    /// Names a conflict: a DSCP shared by classes that need their own, above 63, or reserved. `None` for usable
    /// profiles.
    ///
    /// Trimmed DATA and control may share a DSCP, and often do: type and length distinguish them.
    pub fn conflict(&self) -> Option<(&'static str, &'static str)> {
        let values = [
            ("trimmable", self.trimmable),
            ("returned", self.returned),
            ("droppable", self.droppable),
            ("notification", self.notification),
            ("trimmed", self.trimmed),
            ("trimmed_last_hop", self.trimmed_last_hop),
            ("control", self.control),
        ];
        for (index, &(name, value)) in values.iter().enumerate() {
            if value > 63 {
                return Some((name, "the range 0 to 63"));
            }
            if Profile::prioritised(value).is_some() {
                return Some((name, "data with a priority"));
            }
            if Profile::unscheduled_class(value).is_some() {
                return Some((name, "unscheduled data"));
            }
            let alone = &values[..index.min(4)];
            if let Some(&(other, _)) = alone.iter().find(|&&(_, taken)| taken == value) {
                return Some((name, other));
            }
        }
        None
    }

    /// DSCP of a class. Data with a priority above 0 has its own values, equal in all profiles (chosen): high three
    /// bits priority, as in IP precedence; low three bits 7 for trimmable, 5 for droppable. No standard names such a
    /// value.
    pub const fn dscp(&self, class: ServiceClass) -> u8 {
        match (class.service(), class.priority()) {
            (Service::Trimmable, 0) => self.trimmable,
            (Service::Trimmable, priority) => priority << 3 | TRIMMABLE_BITS,
            (Service::Trimmed, _) => self.trimmed,
            (Service::Returned, _) => self.returned,
            (Service::Control, _) => self.control,
            (Service::Droppable, 0) => self.droppable,
            (Service::Droppable, priority) => priority << 3 | DROPPABLE_BITS,
            (Service::Notification, _) => self.notification,
        }
    }

    /// DSCP of whole data with [`Packet::MARK_UNSCHEDULED`], equal in all profiles (chosen): priority, then 3 for
    /// trimmable, 1 for droppable. Two such values have other meanings and are replaced by values that priority 0
    /// leaves free: 7 for trimmable data of priority 1, 5 for droppable data of priority 0. `None` for services without
    /// the mark.
    pub const fn unscheduled(class: ServiceClass) -> Option<u8> {
        match (class.service(), class.priority()) {
            (Service::Trimmable, 1) => Some(UNSCHEDULED_TRIMMABLE_1),
            (Service::Trimmable, priority) => Some(priority << 3 | UNSCHEDULED_TRIMMABLE_BITS),
            (Service::Droppable, 0) => Some(UNSCHEDULED_DROPPABLE_0),
            (Service::Droppable, priority) => Some(priority << 3 | UNSCHEDULED_DROPPABLE_BITS),
            (
                Service::Trimmed | Service::Returned | Service::Control | Service::Notification,
                _,
            ) => None,
        }
    }

    /// Class of unscheduled data with this DSCP.
    const fn unscheduled_class(dscp: u8) -> Option<ServiceClass> {
        let (service, priority) = match (dscp >> 3, dscp & 7) {
            (0, _) if dscp == UNSCHEDULED_TRIMMABLE_1 => (Service::Trimmable, 1),
            (0, _) if dscp == UNSCHEDULED_DROPPABLE_0 => (Service::Droppable, 0),
            (priority @ (0 | 2..=7), UNSCHEDULED_TRIMMABLE_BITS) => (Service::Trimmable, priority),
            (priority @ 1..=7, UNSCHEDULED_DROPPABLE_BITS) => (Service::Droppable, priority),
            (_, _) => return None,
        };
        Some(ServiceClass::new(service, priority))
    }

    /// Part of [`Packet::marks`] in a DSCP: [`Packet::MARK_UNSCHEDULED`] of whole data, [`Packet::MARK_LAST_HOP`] of a
    /// header, or 0.
    pub const fn marks(&self, dscp: u8) -> u8 {
        if dscp == self.trimmed_last_hop && self.marks_last_hop() {
            return Packet::MARK_LAST_HOP;
        }
        match Profile::unscheduled_class(dscp) {
            Some(_) => Packet::MARK_UNSCHEDULED,
            None => 0,
        }
    }

    /// Marks that a DSCP can encode.
    pub const MARKS: u8 = Packet::MARK_UNSCHEDULED | Packet::MARK_LAST_HOP;

    /// Marks that a DSCP can encode for this class.
    pub const fn marks_of(class: ServiceClass) -> u8 {
        match class.service() {
            Service::Trimmable | Service::Droppable => Packet::MARK_UNSCHEDULED,
            Service::Trimmed => Packet::MARK_LAST_HOP,
            Service::Returned | Service::Control | Service::Notification => 0,
        }
    }

    /// DSCP of data of this class with `marks`, a subset of [`Profile::MARKS`]; `None` if inexpressible.
    pub const fn marked(&self, class: ServiceClass, marks: u8) -> Option<u8> {
        match marks {
            0 => Some(self.dscp(class)),
            Packet::MARK_UNSCHEDULED => Profile::unscheduled(class),
            Packet::MARK_LAST_HOP => match class.service() {
                Service::Trimmed if self.marks_last_hop() => Some(self.trimmed_last_hop),
                Service::Trimmed
                | Service::Trimmable
                | Service::Droppable
                | Service::Returned
                | Service::Control
                | Service::Notification => None,
            },
            _ => None,
        }
    }

    /// True if receivers can see that the switch next to them trimmed a packet.
    pub const fn marks_last_hop(&self) -> bool {
        self.trimmed_last_hop != self.trimmed
    }

    /// Class of data with a priority above 0 for this DSCP.
    const fn prioritised(dscp: u8) -> Option<ServiceClass> {
        match (dscp >> 3, dscp & 7) {
            (priority @ 1..=7, TRIMMABLE_BITS) => {
                Some(ServiceClass::new(Service::Trimmable, priority))
            }
            (priority @ 1..=7, DROPPABLE_BITS) => {
                Some(ServiceClass::new(Service::Droppable, priority))
            }
            (_, _) => None,
        }
    }

    /// Class that a DSCP announces, `None` if unnamed. The received bytes decide in the end.
    pub const fn class(&self, dscp: u8) -> Option<ServiceClass> {
        let service = if dscp == self.trimmable {
            Service::Trimmable
        } else if dscp == self.returned {
            Service::Returned
        } else if dscp == self.droppable {
            Service::Droppable
        } else if dscp == self.notification {
            Service::Notification
        } else if dscp == self.trimmed || dscp == self.trimmed_last_hop {
            Service::Trimmed
        } else if dscp == self.control {
            Service::Control
        } else {
            return match Profile::prioritised(dscp) {
                Some(class) => Some(class),
                None => Profile::unscheduled_class(dscp),
            };
        };
        Some(ServiceClass::new(service, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Datagram, Ethernet, Fields, Frame};
    use super::*;
    use crate::ids::ConnectionId;
    use crate::packet::{Flags, Header, Kind};

    #[test]
    fn unscheduled_data_has_its_own_dscps() {
        let values = |service| {
            [0, 1, 2, 7].map(|priority| Profile::unscheduled(ServiceClass::new(service, priority)))
        };
        assert_eq!(values(Service::Trimmable), [Some(3), Some(7), Some(19), Some(59)]);
        assert_eq!(values(Service::Droppable), [Some(5), Some(9), Some(17), Some(57)]);
        for service in
            [Service::Trimmed, Service::Returned, Service::Control, Service::Notification]
        {
            assert_eq!(Profile::unscheduled(service.into()), None, "{service:?}");
        }
        // The Lower-Effort PHB, and the value that Spectrum-4 writes when it trims.
        let marks = |dscp| Profile::PAPER.marks(dscp);
        assert_eq!([1, 11].map(marks), [0; 2]);
        let unscheduled = |&dscp: &u8| marks(dscp) == Packet::MARK_UNSCHEDULED;
        assert_eq!((0..64).filter(unscheduled).count(), 16);
    }

    /// Each class, with and without mark, has its own value in each profile, which parses back.
    #[test]
    fn class_and_mark_parse_back() {
        for (name, profile) in Profile::ALL {
            let mut taken = alloc::collections::BTreeSet::new();
            for class in ServiceClass::all() {
                assert!(taken.insert(profile.dscp(class)), "{name}: {class:?}");
                assert_eq!(profile.marks(profile.dscp(class)), 0, "{name}: {class:?}");
                let Some(dscp) = Profile::unscheduled(class) else { continue };
                assert!(dscp < 64 && taken.insert(dscp), "{name}: {class:?}");
                assert_eq!(profile.class(dscp), Some(class), "{name}");
                assert_eq!(profile.marks(dscp), Packet::MARK_UNSCHEDULED);
            }
            // No other value is known.
            let known = (0..64).filter(|&dscp| profile.class(dscp).is_some()).count();
            let last_hop = usize::from(profile.marks_last_hop());
            assert_eq!(known, taken.len() + last_hop, "{name}");
            let cut = profile.marked(Service::Trimmed.into(), Packet::MARK_LAST_HOP);
            assert_eq!(cut, profile.marks_last_hop().then_some(profile.trimmed_last_hop));
            assert!(cut.is_none_or(|dscp| profile.marks(dscp) == Packet::MARK_LAST_HOP));
            assert_eq!(profile.conflict(), None, "{name}");
        }
    }

    #[test]
    fn every_trim_of_unscheduled_data_removes_its_mark() {
        let address = core::net::IpAddr::from([10, 0, 0, 1]);
        let datagram = Datagram {
            source: address,
            destination: address,
            entropy: 0,
            service: Service::Droppable.into(),
            marks: Packet::MARK_UNSCHEDULED,
            fields: Fields {
                kind: Kind::Data,
                flags: Flags::default(),
                connection: ConnectionId::new(0),
                sequence: 0,
                extra: Header::data_extra(100, 0),
            },
        };
        let mut bytes = alloc::vec::Vec::new();
        datagram.emit(Ethernet::default(), &Profile::PAPER, &[0; 100], &[], &mut bytes).unwrap();
        for length in 58..=bytes.len() {
            let parsed = Frame::new(&bytes[..length]).unwrap().parse(&Profile::PAPER).unwrap();
            let is_whole = length == bytes.len();
            let marks = if is_whole { Packet::MARK_UNSCHEDULED } else { 0 };
            assert_eq!(parsed.datagram.marks, marks, "{length}");
            assert_eq!(parsed.payload.is_empty(), !is_whole);
        }
    }

    #[test]
    fn a_dscp_of_unscheduled_data_conflicts_with_other_classes() {
        for (dscp, expected) in
            [(3, Some("unscheduled data")), (1, None), (7, Some("unscheduled data"))]
        {
            let taken = Profile { control: dscp, ..Profile::PAPER };
            assert_eq!(taken.conflict(), expected.map(|with| ("control", with)), "{dscp}");
        }
    }
}
