//! How a kind of switch marks and cuts packets. Every value is the operator's to set: a profile is a
//! beginning, not a standard.

use crate::packet::Service;

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

    /// Ultra Ethernet: the transport names the classes and leaves their values to the operator
    /// (chosen as in `paper`). At least 24 bytes behind the IP header survive: 62 with Ethernet and
    /// FCS, so 64.
    pub const UEC: Profile = Profile::PAPER;

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

    /// Tomahawk 6: no public source was found for its values: 392 bytes and the DSCP of `th5` are
    /// chosen.
    pub const TH6: Profile = Profile { trimmed_bytes: 392, ..Profile::SONIC };

    /// Every profile with its name.
    pub const ALL: [(&'static str, Profile); 6] = [
        ("paper", Profile::PAPER),
        ("uec", Profile::UEC),
        ("sonic", Profile::SONIC),
        ("spectrum", Profile::SPECTRUM),
        ("th5", Profile::TH5),
        ("th6", Profile::TH6),
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
            let alone = &values[..index.min(3)];
            if let Some(&(other, _)) = alone.iter().find(|&&(_, taken)| taken == value) {
                return Some((name, other));
            }
        }
        None
    }

    /// The DSCP of a class.
    pub const fn dscp(&self, service: Service) -> u8 {
        match service {
            Service::Trimmable => self.trimmable,
            Service::Trimmed => self.trimmed,
            Service::Returned => self.returned,
            Service::Control => self.control,
            Service::Droppable => self.droppable,
        }
    }

    /// The class that a DSCP announces; what arrived decides in the end. `None` when the profile does
    /// not name it.
    pub const fn service(&self, dscp: u8) -> Option<Service> {
        if dscp == self.trimmable {
            Some(Service::Trimmable)
        } else if dscp == self.returned {
            Some(Service::Returned)
        } else if dscp == self.droppable {
            Some(Service::Droppable)
        } else if dscp == self.trimmed || dscp == self.trimmed_last_hop {
            Some(Service::Trimmed)
        } else if dscp == self.control {
            Some(Service::Control)
        } else {
            None
        }
    }
}
