//! Detour: a packet that finds its output port busy leaves by another port of the switch, and finds its way from
//! there. OPF (Shani et al., IFIP Networking 2024) and DIBS (Zarifis et al., EuroSys 2014) call it a detour; random packet
//! spraying (Dixit et al., INFOCOM 2013) is the case that always takes place, among ports that are equally near.
//!
//! The decision alone: how long queues are, which ports there are, and what a packet has gone through are arguments. So the
//! simulator, the software switch and the P4 program can be held to the same vectors.

use trimline_packet::{Kind, Packet, Service};

use crate::Rng;
use crate::model::{Limit, ServiceModel};

/// Which packets a switch may detour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detourable {
    /// Data with [`Packet::MARK_UNSCHEDULED`] (OPF).
    Unscheduled,
    /// All data, whole (DIBS).
    Data,
}

/// What the port of a packet must be like for it to be detoured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hot {
    /// Its queue is seen to hold more packets than this (OPF: opf-thresh, Algorithm 1 line 8, strictly more).
    Above(u32),
    /// It has no room for the packet (DIBS).
    Full,
    /// Anything: every packet is detoured (random packet spraying).
    Always,
}

/// How the other port is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// Two are drawn, with replacement; the one that is seen to hold fewer packets, the first drawn of equals (OPF).
    ShorterOfTwo,
    /// One is drawn (DIBS, random packet spraying, OPF's published prototype).
    One,
}

/// What counts towards the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Times that the packet was detoured.
    Detours,
    /// Switches that it has left, whichever way: `MAX_TTL - TTL` of Algorithm 1 as printed.
    Switches,
}

/// How long a queue is seen to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// As long as it is.
    Now,
    /// As long as it was when a packet last began to leave it, that one included (Algorithm 2).
    LastDeparture,
    /// As long as the last packet to begin to leave found it when it came: an idle port stays hot until its next packet.
    /// (OPF's published prototype.)
    LastArrivalThatLeft,
}

impl Seen {
    /// What the register of a port holds after a packet began to leave it (Algorithm 2): the port held `packets`, that
    /// one included, and the packet had found `found` when it came. `None`: there is no register.
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

/// Which ports a packet may be detoured to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Targets {
    /// Ports to hosts too. A host that gets another's packet has no way to send it on.
    pub hosts: bool,
    /// The port by which the packet came, too.
    pub input: bool,
    /// Ports whose link routing knows to be dead, too.
    pub dead: bool,
    /// Ports that have no room for the packet, too.
    pub full: bool,
    /// The port that routing chose, too.
    pub own: bool,
    /// Only ports that routing might have chosen: those up, if it goes up.
    pub equal_cost: bool,
}

impl Targets {
    /// Every other port to a switch, but for the input and dead links (OPF; each but the first is chosen).
    pub const OTHERS: Targets = Targets {
        hosts: false,
        input: false,
        dead: false,
        full: true,
        own: false,
        equal_cost: false,
    };
    /// Those of them that have room (DIBS).
    pub const WITH_ROOM: Targets = Targets { full: false, ..Targets::OTHERS };
    /// The port that routing chose and those that it might have chosen as well.
    pub const EQUAL_COST: Targets = Targets { own: true, equal_cost: true, ..Targets::OTHERS };
}

/// A port of the switch, as a packet that may be detoured sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// It leads to a host.
    pub is_host: bool,
    /// The packet came by it.
    pub is_input: bool,
    /// Routing knows its link to be dead.
    pub is_dead: bool,
    /// It has no room for the packet.
    pub is_full: bool,
    /// Routing chose it.
    pub is_own: bool,
    /// Routing might have chosen it.
    pub is_equal_cost: bool,
}

impl Targets {
    /// Whether a packet may be detoured to a port.
    pub const fn admit(&self, target: Target) -> bool {
        (self.hosts || !target.is_host)
            && (self.input || !target.is_input)
            && (self.dead || !target.is_dead)
            && (self.full || !target.is_full)
            && (self.own || !target.is_own)
            && (!self.equal_cost || target.is_equal_cost)
    }
}

/// What a packet has gone through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// Switches that it has left.
    pub switches: u8,
    /// Times that it was detoured.
    pub detours: u8,
    /// Packets that it found in the queue where it is.
    pub found: u16,
}

impl Steps {
    /// The packet comes to a further switch.
    #[must_use]
    pub const fn further(self) -> Steps {
        Steps { switches: self.switches.saturating_add(1), ..self }
    }

    /// The packet is detoured.
    #[must_use]
    pub const fn detoured(self) -> Steps {
        Steps { detours: self.detours.saturating_add(1), ..self }
    }
}

/// How the switches of a network detour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetourModel {
    /// Which packets.
    pub detourable: Detourable,
    /// Which port is hot; `None`: none is, and everything else is as with detour.
    pub hot: Option<Hot>,
    /// Which other port.
    pub pick: Pick,
    /// Among which.
    pub targets: Targets,
    /// A packet of which this many were counted is not detoured again (OPF: dcc-thresh); `None`: no limit.
    pub limit: Option<u8>,
    /// What is counted.
    pub counts: Counts,
    /// How long queues are seen to be.
    pub seen: Seen,
}

impl DetourModel {
    /// OPF with this threshold in packets: two detours at most.
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

    /// DIBS: any data, only when the port is full, to a port drawn from those with room, without limit.
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

    /// Random packet spraying: any data, always, to a port drawn from those that are equally near.
    pub const fn rps() -> DetourModel {
        DetourModel { hot: Some(Hot::Always), targets: Targets::EQUAL_COST, ..DetourModel::dibs() }
    }

    /// Whether a packet may be detoured, whatever its port is like (Algorithm 1, line 3). Headers and control packets
    /// never are.
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

    /// Whether a port is hot whose queue is seen to hold so many packets.
    #[inline]
    pub fn is_hot(&self, packets: u32, is_full: impl FnOnce() -> bool) -> bool {
        match self.hot {
            None => false,
            Some(Hot::Above(threshold)) => packets > threshold,
            Some(Hot::Full) => is_full(),
            Some(Hot::Always) => true,
        }
    }

    /// One of the `candidates` ports that were admitted, by its place among them; `None` if there are none.
    /// `packets` says how many a candidate is seen to hold.
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
    /// What the queue holds of whole data packets, of priority 0 where there are priorities, or all queues together.
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

    /// Draws that were laid out.
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
    fn only_whole_marked_data_below_the_limit() {
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
    fn a_queue_of_the_threshold_is_not_hot() {
        let opf = DetourModel::opf(8);
        assert_eq!([7, 8, 9].map(|packets| opf.is_hot(packets, || true)), [false, false, true]);
        let dibs = DetourModel::dibs();
        assert!(dibs.is_hot(0, || true) && !dibs.is_hot(99, || false));
        let never = DetourModel { hot: None, ..opf };
        assert!(!never.is_hot(u32::MAX, || true));
        assert!(DetourModel::rps().is_hot(0, || false));
    }

    #[test]
    fn the_shorter_of_two_that_are_drawn() {
        let opf = DetourModel::opf(8);
        let packets = |place: u32| [5, 3, 3, 0][place as usize];
        let choose = |draws| opf.choose(4, packets, &mut Laid(draws));
        assert_eq!(choose(&[0, 1]), Some(1));
        assert_eq!(choose(&[1, 0]), Some(1));
        assert_eq!(choose(&[2, 1]), Some(2), "of equals the first drawn");
        assert_eq!(choose(&[0, 0]), Some(0), "with replacement; not the shortest of all");
        assert_eq!(opf.choose(0, packets, &mut Laid(&[])), None, "nothing is drawn");
        let one = DetourModel::dibs();
        assert_eq!(one.choose(4, packets, &mut Laid(&[0])), Some(0));
    }

    #[test]
    fn what_a_register_holds_after_a_departure() {
        assert_eq!(Seen::Now.at_departure(7, 3), None);
        assert_eq!(Seen::LastDeparture.at_departure(7, 3), Some(7));
        assert_eq!(Seen::LastDeparture.at_departure(70_000, 3), Some(u16::MAX));
        assert_eq!(Seen::LastArrivalThatLeft.at_departure(7, 3), Some(3));
    }

    #[test]
    fn what_a_port_may_not_be() {
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
        assert!(Targets::EQUAL_COST.admit(own) && !Targets::EQUAL_COST.admit(Target::default()));
        let (hosts, input, dead) = (true, true, true);
        let any = Targets { hosts, input, dead, own: true, ..Targets::OTHERS };
        assert!(admitted(any).iter().all(|&is| is));
    }
}
