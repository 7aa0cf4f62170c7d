//! Detour: a packet that finds its output port busy leaves by another port of the switch, and is routed on from there.
//! OPF (Shani et al., IFIP Networking 2024) and DIBS (Zarifis et al., EuroSys 2014) call it a detour. Random packet
//! spraying (Dixit et al., INFOCOM 2013) always detours, among equally near ports.
//!
//! Queue lengths, ports and the packet's history are arguments, so that the simulator, the software switch and the P4
//! program can be tested with the same vectors.
//!
//! A driver asks three questions about an arriving packet:
//!
//! ```
//! use trimline_packet::SplitMix;
//! use trimline_packet::testing::packet;
//! use trimline_packet::{Packet, Service};
//! use trimline_switch::detour::{DetourModel, Steps};
//!
//! let model = DetourModel::opf(10);
//! let mut data = packet(Service::Trimmable, 9064, 0);
//! data.marks = Packet::MARK_UNSCHEDULED;
//!
//! // May this packet leave by another port? Two detours are OPF's limit.
//! let twice = Steps::default().detoured().detoured();
//! assert!(model.applies(&data, Steps::default()) && !model.applies(&data, twice));
//! // Is its own port hot?
//! assert!(model.is_hot(11, || false) && !model.is_hot(10, || false));
//! // Which of four other ports: the shorter of two drawn ones.
//! let lengths = [3, 9, 9, 9];
//! let mut rng = SplitMix(1);
//! let chosen = (0..100).filter_map(|_| model.choose(4, |port| lengths[port as usize], &mut rng));
//! assert!(chosen.filter(|&port| port == 0).count() > 35, "7 of 16 pairs contain the short one");
//! ```

use trimline_packet::{Kind, Packet, Service};

use crate::Rng;
use crate::model::{Limit, ServiceModel};

/// The packets that a switch may detour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detourable {
    /// Data with [`Packet::MARK_UNSCHEDULED`] (OPF).
    Unscheduled,
    /// All data, whole (DIBS).
    Data,
}

/// The state of a port whose packets are detoured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hot {
    /// Its seen length in packets is above this (OPF: opf-thresh, Algorithm 1 line 8, strictly more).
    Above(u32),
    /// It has no room for the packet (DIBS).
    Full,
    /// Any (random packet spraying).
    Always,
}

/// The rule that chooses the other port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The shorter of two drawn with replacement, by seen length; of equals the first (OPF).
    ShorterOfTwo,
    /// A drawn port (DIBS, random packet spraying, OPF's published prototype).
    One,
}

/// The count that the limit bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Detours of the packet.
    Detours,
    /// Switches that it has left: `MAX_TTL - TTL` of Algorithm 1 as printed.
    Switches,
}

/// The queue length that a decision sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The length now.
    Now,
    /// The length at the last departure's start, that packet included (Algorithm 2).
    LastDeparture,
    /// The length that the last departing packet found at its arrival: an idle port stays hot until its next packet.
    /// (OPF's published prototype.)
    LastArrivalThatLeft,
}

impl Seen {
    /// A port's register after a packet began to leave (Algorithm 2): the port held `packets`, that one included, and
    /// the packet found `found` at its arrival. `None`: no register.
    #[inline]
    pub const fn at_departure(self, packets: u32, found: u16) -> Option<u16> {
        match self {
            Seen::Now => None,
            Seen::LastDeparture if packets > u16::MAX as u32 => Some(u16::MAX),
            Seen::LastDeparture => Some(packets as u16),
            Seen::LastArrivalThatLeft => Some(found),
        }
    }
}

/// Ports to which a packet may be detoured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Targets {
    /// Includes ports to hosts. Hosts cannot forward packets.
    pub hosts: bool,
    /// Includes the port by which the packet came.
    pub input: bool,
    /// Includes ports with dead links.
    pub dead: bool,
    /// Includes ports without room for the packet.
    pub full: bool,
    /// Includes the port that routing chose.
    pub own: bool,
    /// Only ports that routing might have chosen: upward ones, if the packet goes up.
    pub equal_cost: bool,
}

impl Targets {
    /// Every other port to a switch, except the input and dead links (OPF; each but the first is chosen).
    pub const OTHERS: Targets = Targets {
        hosts: false,
        input: false,
        dead: false,
        full: true,
        own: false,
        equal_cost: false,
    };
    /// [`Targets::OTHERS`] with room (DIBS).
    pub const WITH_ROOM: Targets = Targets { full: false, ..Targets::OTHERS };
    /// The port that routing chose and its equal-cost alternatives.
    pub const EQUAL_COST: Targets = Targets { own: true, equal_cost: true, ..Targets::OTHERS };
}

/// A port, as a packet that may be detoured sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// It leads to a host.
    pub is_host: bool,
    /// The packet came by it.
    pub is_input: bool,
    /// Routing knows its link as dead.
    pub is_dead: bool,
    /// It has no room for the packet.
    pub is_full: bool,
    /// Routing chose it.
    pub is_own: bool,
    /// Routing might have chosen it.
    pub is_equal_cost: bool,
}

impl Targets {
    /// True if a packet may be detoured to the port.
    pub const fn admit(&self, target: Target) -> bool {
        (self.hosts || !target.is_host)
            && (self.input || !target.is_input)
            && (self.dead || !target.is_dead)
            && (self.full || !target.is_full)
            && (self.own || !target.is_own)
            && (!self.equal_cost || target.is_equal_cost)
    }
}

/// The history of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Switches that it has left.
    pub switches: u8,
    /// Detours so far.
    pub detours: u8,
    /// Packets found in the current queue.
    pub found: u16,
}

impl Steps {
    /// Counts a further switch.
    #[must_use]
    pub const fn further(self) -> Steps {
        Steps { switches: self.switches.saturating_add(1), ..self }
    }

    /// Counts a detour.
    #[must_use]
    pub const fn detoured(self) -> Steps {
        Steps { detours: self.detours.saturating_add(1), ..self }
    }
}

/// The detour rules of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetourModel {
    /// The packets that may be detoured.
    pub detourable: Detourable,
    /// The state of a hot port; `None`: no port is hot, and the rest is as with detour.
    pub hot: Option<Hot>,
    /// The rule that chooses the other port.
    pub pick: Pick,
    /// The ports to choose from.
    pub targets: Targets,
    /// A packet whose count reached this is not detoured (OPF: dcc-thresh); `None`: no limit.
    pub limit: Option<u8>,
    /// The count that `limit` bounds.
    pub counts: Counts,
    /// The queue length that decisions see.
    pub seen: Seen,
}

impl DetourModel {
    /// OPF with this threshold in packets: at most two detours.
    pub const fn opf(threshold: u32) -> DetourModel {
        DetourModel {
            detourable: Detourable::Unscheduled,
            hot: Some(Hot::Above(threshold)),
            pick: Pick::ShorterOfTwo,
            targets: Targets::OTHERS,
            limit: Some(2),
            counts: Counts::Detours,
            seen: Seen::Now,
        }
    }

    /// DIBS: any data, only at a full port, to a drawn port with room, without limit.
    pub const fn dibs() -> DetourModel {
        DetourModel {
            detourable: Detourable::Data,
            hot: Some(Hot::Full),
            pick: Pick::One,
            targets: Targets::WITH_ROOM,
            limit: None,
            ..DetourModel::opf(0)
        }
    }

    /// Random packet spraying: any data, always, to a drawn port among the equally near.
    pub const fn rps() -> DetourModel {
        DetourModel { hot: Some(Hot::Always), targets: Targets::EQUAL_COST, ..DetourModel::dibs() }
    }

    /// Adaptive routing by each switch alone: any data, always, to the shorter of two drawn ports among the equally
    /// near. The way keeps its length.
    pub const fn adaptive() -> DetourModel {
        DetourModel { pick: Pick::ShorterOfTwo, ..DetourModel::rps() }
    }

    /// True if a packet may be detoured at a hot port (Algorithm 1, line 3). Headers and control packets never may.
    #[inline]
    pub fn applies(&self, packet: &Packet, steps: Steps) -> bool {
        let is_meant = match self.detourable {
            Detourable::Unscheduled => packet.marks & Packet::MARK_UNSCHEDULED != 0,
            Detourable::Data => packet.header.kind == Kind::Data,
        };
        let counted = match self.counts {
            Counts::Detours => steps.detours,
            Counts::Switches => steps.switches,
        };
        packet.service.service().is_whole()
            && is_meant
            && self.limit.is_none_or(|limit| counted < limit)
    }

    /// True if a port with a seen length of `packets` is hot.
    #[inline]
    pub fn is_hot(&self, packets: u32, is_full: impl FnOnce() -> bool) -> bool {
        match self.hot {
            None => false,
            Some(Hot::Above(threshold)) => packets > threshold,
            Some(Hot::Full) => is_full(),
            Some(Hot::Always) => true,
        }
    }

    /// Index of the chosen port among `candidates`; `None` without candidates. `packets` gives a candidate's seen
    /// length.
    pub fn choose(
        &self,
        candidates: u32,
        mut packets: impl FnMut(u32) -> u32,
        rng: &mut impl Rng,
    ) -> Option<u32> {
        match (candidates, self.pick) {
            (0, _) => None,
            (_, Pick::One) => Some(rng.below(candidates)),
            (_, Pick::ShorterOfTwo) => {
                let (first, second) = (rng.below(candidates), rng.below(candidates));
                Some(if packets(second) < packets(first) { second } else { first })
            }
        }
    }
}

impl ServiceModel {
    /// Capacity for whole data packets, by their queue (of priority 0, with priorities) and the port.
    pub fn room_for_data(&self) -> Limit {
        let whole = self.queues[self.queue_of(Service::Trimmable)].limits[0];
        Limit {
            packets: whole.packets.min(self.port.packets),
            bytes: whole.bytes.min(self.port.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use trimline_packet::ServiceClass;

    use super::*;
    use crate::testing::packet;

    /// Prepared draws.
    struct Laid(&'static [u32]);

    impl Rng for Laid {
        fn coin(&mut self) -> bool {
            unreachable!("no rule here tosses a coin")
        }
        fn below(&mut self, bound: u32) -> u32 {
            let (first, rest) = self.0.split_first().expect("a draw that was laid out");
            self.0 = rest;
            assert!(*first < bound);
            *first
        }
    }

    fn unscheduled(service: Service) -> Packet {
        Packet { marks: Packet::MARK_UNSCHEDULED, ..packet(service, 9064, 0) }
    }

    #[test]
    fn only_whole_unscheduled_data_below_the_limit_detours() {
        let opf = DetourModel::opf(8);
        let steps = |switches, detours| Steps { switches, detours, found: 0 };
        let data = unscheduled(Service::Trimmable);
        assert!(opf.applies(&data, steps(9, 1)));
        assert!(!opf.applies(&data, steps(0, 2)), "two are enough");
        assert!(!opf.applies(&packet(Service::Trimmable, 9064, 0), steps(0, 0)), "scheduled");
        for service in [Service::Trimmed, Service::Returned, Service::Control] {
            assert!(!opf.applies(&unscheduled(service), steps(0, 0)), "{service:?}");
        }
        let literal = DetourModel { counts: Counts::Switches, ..opf };
        assert!(literal.applies(&data, steps(1, 0)));
        assert!(!literal.applies(&data, steps(2, 0)), "the third switch never detours");
        let dibs = DetourModel::dibs();
        assert!(dibs.applies(&packet(Service::Droppable, 1500, 0), steps(200, 200)));
        let ack = Packet { service: ServiceClass::from(Service::Control), ..data };
        assert!(!dibs.applies(&ack, steps(0, 0)));
    }

    #[test]
    fn a_queue_at_the_threshold_is_not_hot() {
        let opf = DetourModel::opf(8);
        assert_eq!([7, 8, 9].map(|packets| opf.is_hot(packets, || true)), [false, false, true]);
        let dibs = DetourModel::dibs();
        assert!(dibs.is_hot(0, || true) && !dibs.is_hot(99, || false));
        let never = DetourModel { hot: None, ..opf };
        assert!(!never.is_hot(u32::MAX, || true));
        assert!(DetourModel::rps().is_hot(0, || false));
        assert!(DetourModel::adaptive().is_hot(0, || false));
    }

    #[test]
    fn a_detour_takes_the_shorter_of_two_drawn_queues() {
        let opf = DetourModel::opf(8);
        let packets = |place: u32| [5, 3, 3, 0][place as usize];
        let choose = |draws| opf.choose(4, packets, &mut Laid(draws));
        assert_eq!(choose(&[0, 1]), Some(1));
        assert_eq!(choose(&[1, 0]), Some(1));
        assert_eq!(choose(&[2, 1]), Some(2), "of equals the first drawn");
        assert_eq!(choose(&[0, 0]), Some(0), "with replacement; not the shortest of all");
        assert_eq!(opf.choose(0, packets, &mut Laid(&[])), None, "nothing is drawn");
        let adaptive = DetourModel::adaptive();
        assert_eq!(adaptive.choose(4, packets, &mut Laid(&[0, 3])), Some(3));
        let one = DetourModel::dibs();
        assert_eq!(one.choose(4, packets, &mut Laid(&[0])), Some(0));
    }

    #[test]
    fn a_register_holds_the_queue_length_of_the_last_departure() {
        assert_eq!(Seen::Now.at_departure(7, 3), None);
        assert_eq!(Seen::LastDeparture.at_departure(7, 3), Some(7));
        assert_eq!(Seen::LastDeparture.at_departure(70_000, 3), Some(u16::MAX));
        assert_eq!(Seen::LastArrivalThatLeft.at_departure(7, 3), Some(3));
    }

    #[test]
    fn a_detour_excludes_ports_to_hosts_inputs_and_dead_links() {
        let with = |change: fn(&mut Target)| {
            let mut target = Target::default();
            change(&mut target);
            target
        };
        let all = [
            with(|target| target.is_host = true),
            with(|target| target.is_input = true),
            with(|target| target.is_dead = true),
            with(|target| target.is_own = true),
            with(|target| target.is_full = true),
            Target::default(),
        ];
        let admitted = |targets: Targets| all.map(|target| targets.admit(target));
        assert_eq!(admitted(Targets::OTHERS), [false, false, false, false, true, true]);
        assert_eq!(admitted(Targets::WITH_ROOM), [false, false, false, false, false, true]);
        let own = Target { is_own: true, is_equal_cost: true, ..Target::default() };
        assert_eq!(DetourModel::adaptive().targets, Targets::EQUAL_COST);
        assert!(Targets::EQUAL_COST.admit(own) && !Targets::EQUAL_COST.admit(Target::default()));
        let (hosts, input, dead) = (true, true, true);
        let any = Targets { hosts, input, dead, own: true, ..Targets::OTHERS };
        assert!(admitted(any).iter().all(|&is| is));
    }
}
