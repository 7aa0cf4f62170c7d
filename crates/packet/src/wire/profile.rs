//! How a kind of switch marks and cuts packets. Every value is the operator's to set: a profile is a
//! beginning, not a standard.

use crate::packet::{Service, ServiceClass};

/// The DSCP of every class of packet, and where a switch cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Whole DATA that a switch may trim.
    pub trimmable: u8,
    /// What a switch writes when it trims.
    pub trimmed: u8,
    /// What the switch next to the receiver writes when it trims. The same as `trimmed` where the
    /// fabric does not tell them apart.
    pub trimmed_last_hop: u8,
    /// A trimmed header on its way back to its sender.
    pub returned: u8,
    /// ACK, NACK, PULL, RESET.
    pub control: u8,
    /// What may only be dropped.
    pub droppable: u8,
    /// Bytes that a switch leaves of a frame, from the Ethernet header to the FCS inclusive.
    pub trimmed_bytes: u16,
    /// The UDP port of the protocol.
    pub port: u16,
}

/// The UDP port of every profile (chosen: in the dynamic range, ending in the protocol number 199 of
/// the NDP authors' prototype).
pub const PORT: u16 = 49_199;

/// The three bits behind the priority in the DSCP of data with a priority.
const TRIMMABLE_BITS: u8 = 0b111;
const DROPPABLE_BITS: u8 = 0b101;

/// Bytes of the frame check sequence, which no buffer here contains.
pub const FCS_BYTES: usize = 4;

impl Profile {
    /// NDP's own: a trimmed packet is a 64-byte header (NDP 3.1). The paper uses a protocol number of
    /// its own and names no DSCP: all six are chosen. Trimmed, returned and control packets share
    /// precedence 6, data has precedence 1.
    pub const PAPER: Profile = Profile {
        trimmable: 10,
        trimmed: 50,
        trimmed_last_hop: 52,
        returned: 54,
        control: 48,
        droppable: 0,
        trimmed_bytes: 64,
        port: PORT,
    };

    /// SONiC: trimmed DSCP 48 as in the configuration example of the SONiC packet-trimming design;
    /// size 128, the default of SAI_SWITCH_ATTR_PACKET_TRIM_SIZE. One DSCP at every hop. The others
    /// are chosen; control moves off 48.
    pub const SONIC: Profile = Profile {
        trimmed: 48,
        trimmed_last_hop: 48,
        control: 50,
        trimmed_bytes: 128,
        ..Profile::PAPER
    };

    /// Spectrum-4 under Cumulus Linux 5.14: its profile `packet-trim-default` writes DSCP 11 and cuts
    /// at 256 bytes (256 to 1024 in steps of 4 can be set). The others are chosen.
    pub const SPECTRUM: Profile =
        Profile { trimmed: 11, trimmed_last_hop: 11, trimmed_bytes: 256, ..Profile::PAPER };

    /// Tomahawk 5: cuts at 206 bytes and nowhere else, DSCP 48 (constants of the SONiC project's
    /// packet-trimming tests). The others are chosen.
    pub const TH5: Profile = Profile { trimmed_bytes: 206, ..Profile::SONIC };

    /// Every profile with its name.
    pub const ALL: [(&'static str, Profile); 4] = [
        ("paper", Profile::PAPER),
        ("sonic", Profile::SONIC),
        ("spectrum", Profile::SPECTRUM),
        ("th5", Profile::TH5),
    ];

    /// The profile of this name.
    pub fn named(name: &str) -> Option<Profile> {
        Profile::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, profile)| profile)
    }

    /// Two classes that bear one DSCP though nothing else tells them apart, or a value beyond 63:
    /// names of what is in conflict. `None` is a usable profile.
    ///
    /// Trimmed DATA and control may share a value, and often do: type and length tell them apart.
    pub fn conflict(&self) -> Option<(&'static str, &'static str)> {
        let values = [
            ("trimmable", self.trimmable),
            ("returned", self.returned),
            ("droppable", self.droppable),
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
            let alone = &values[..index.min(3)];
            if let Some(&(other, _)) = alone.iter().find(|&&(_, taken)| taken == value) {
                return Some((name, other));
            }
        }
        None
    }

    /// The DSCP of a class. Data with a priority above 0 has values of its own, the same in every profile (chosen): the
    /// three leading bits are the priority, as in IP precedence; the three behind them are 7 for what may be trimmed
    /// and 5 for what may only be dropped. No value that a standard names ends so.
    pub const fn dscp(&self, class: ServiceClass) -> u8 {
        match (class.service(), class.priority()) {
            (Service::Trimmable, 0) => self.trimmable,
            (Service::Trimmable, priority) => priority << 3 | TRIMMABLE_BITS,
            (Service::Trimmed, _) => self.trimmed,
            (Service::Returned, _) => self.returned,
            (Service::Control, _) => self.control,
            (Service::Droppable, 0) => self.droppable,
            (Service::Droppable, priority) => priority << 3 | DROPPABLE_BITS,
        }
    }

    /// The class of data with a priority above 0 that a DSCP announces.
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

    /// The class that a DSCP announces; what arrived decides in the end. `None` when the profile does
    /// not name it.
    pub const fn class(&self, dscp: u8) -> Option<ServiceClass> {
        let service = if dscp == self.trimmable {
            Service::Trimmable
        } else if dscp == self.returned {
            Service::Returned
        } else if dscp == self.droppable {
            Service::Droppable
        } else if dscp == self.trimmed || dscp == self.trimmed_last_hop {
            Service::Trimmed
        } else if dscp == self.control {
            Service::Control
        } else {
            return Profile::prioritised(dscp);
        };
        Some(ServiceClass::new(service, 0))
    }
}
