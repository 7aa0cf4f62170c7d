//! Links that change during a run, and links that lose, corrupt and reorder packets.
//!
//! # Changes
//! Changes of links are the first thing at their instant. A change is a change of the transmitter:
//! what it already sends, and what is on the wire, arrives as if nothing had happened; what is handed
//! to a failed link takes its time there and is lost.
//!
//! Routing learns of a failure, or of its end, a fixed time later (NDP 3.2.3). Then hosts stop naming
//! paths over the dead link, or name them again, and switches that choose paths themselves stop
//! choosing up-links that do not lead to the destination. Until then packets are lost.
//!
//! # Impairments
//! What happens to a packet is drawn when it leaves, from a stream of the link's own; a link without
//! impairment draws nothing. A corrupted packet is thrown away by the receiver of its link, whose
//! frame check fails, so for everybody else it is a lost one. A packet that is delayed may be
//! overtaken by the next.

use std::collections::BTreeSet;

use trimline_packet::{BitRate, Time, TimeDelta};
use trimline_transport::Stream;

use crate::random;
use crate::table::Shared;
use crate::topology::LinkId;

/// What becomes of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkChange {
    /// It sends at this rate from the next packet on.
    Rate(BitRate),
    /// It loses everything.
    Fail,
    /// It is again what it was at the beginning.
    Restore,
}

/// A change of a link at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkEvent {
    /// When, from the beginning of the run.
    pub at: TimeDelta,
    /// Which link.
    pub link: LinkId,
    /// Whether the link in the other direction changes too.
    pub both_directions: bool,
    /// How.
    pub change: LinkChange,
}

/// A probability, in billionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u32);

impl Share {
    const WHOLE: u32 = 1_000_000_000;

    /// So many of a billion; `None` if there are more.
    pub fn from_billionths(billionths: u64) -> Option<Share> {
        u32::try_from(billionths).ok().filter(|&share| share <= Share::WHOLE).map(Share)
    }

    /// Whether it strikes. Nothing is drawn for what never does.
    fn strikes(self, stream: &mut Stream) -> bool {
        self.0 > 0 && random::below(stream, u64::from(Share::WHOLE)) < u64::from(self.0)
    }
}

/// What links do to packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impairment {
    /// Packets that are lost.
    pub loss: Share,
    /// Packets that arrive damaged and are thrown away at the far end of the link.
    pub corruption: Share,
    /// Each packet is delayed by up to this much, uniformly: packets may overtake each other.
    pub reordering: TimeDelta,
    /// Only these links, each in the one direction; empty: every link.
    pub links: Vec<LinkId>,
}

impl Impairment {
    fn strikes(&self, link: LinkId) -> bool {
        let is_any = *self != Impairment { links: self.links.clone(), ..Impairment::default() };
        is_any && (self.links.is_empty() || self.links.contains(&link))
    }
}

/// What becomes of a packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    Arrives(Time),
    Lost,
    Corrupted,
}

/// Something that happens to the links, one direction each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Change(LinkId, LinkChange),
    /// Routing learns whether the link works.
    Learn(LinkId, bool),
}

/// An impaired link.
struct Impaired {
    stream: Stream,
    /// When packets will arrive that may not have arrived yet: no two at one instant, for the order of
    /// arrivals at an instant is by link.
    arrivals: BTreeSet<Time>,
}

/// The links of a run that are not always what they were at its beginning.
pub(crate) struct Links {
    /// What happens, in order.
    steps: Vec<(Time, Step)>,
    /// How much of it has happened.
    taken: usize,
    impairment: Impairment,
    /// Per unit; empty in a run without impairment.
    impaired: Shared<Option<Impaired>>,
    /// Per unit; empty in a run in which nothing fails.
    failed: Shared<bool>,
}

impl Links {
    /// `reverse` gives the link in the other direction.
    pub(crate) fn new(
        events: &[LinkEvent],
        impairment: &Impairment,
        convergence: TimeDelta,
        units: u32,
        seed: u64,
        reverse: impl Fn(LinkId) -> LinkId,
    ) -> Links {
        let mut steps = Vec::new();
        for event in events {
            let at = Time::ZERO + event.at;
            let other = event.both_directions.then(|| reverse(event.link));
            for link in [Some(event.link), other].into_iter().flatten() {
                steps.push((at, Step::Change(link, event.change)));
                let works = match event.change {
                    LinkChange::Rate(_) => continue,
                    LinkChange::Fail => false,
                    LinkChange::Restore => true,
                };
                steps.push((at + convergence, Step::Learn(link, works)));
            }
        }
        // Stable: at one instant first the changes, in the order of the scenario.
        steps.sort_by_key(|&(at, step)| (at, matches!(step, Step::Learn(..))));
        let is_any_impaired = (0..units).any(|unit| impairment.strikes(LinkId::new(unit)));
        let impaired = |unit| {
            impairment.strikes(LinkId::new(unit)).then(|| Impaired {
                stream: random::stream(seed, "link", &[u64::from(unit)]),
                arrivals: BTreeSet::new(),
            })
        };
        let fails = events.iter().any(|event| event.change == LinkChange::Fail);
        Links {
            steps,
            taken: 0,
            impairment: impairment.clone(),
            impaired: (0..if is_any_impaired { units } else { 0 }).map(impaired).collect(),
            failed: vec![false; if fails { units as usize } else { 0 }].into(),
        }
    }

    /// The same links for another thread of the run, which changes none.
    ///
    /// # Safety
    /// As [`Shared::view`]: a unit's link is used by one thread at a time.
    pub(crate) unsafe fn view(&self) -> Links {
        // SAFETY: promised by the caller.
        let (impaired, failed) = unsafe { (self.impaired.view(), self.failed.view()) };
        let impairment = self.impairment.clone();
        Links { steps: Vec::new(), taken: 0, impairment, impaired, failed }
    }

    /// Everything that will happen.
    pub(crate) fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        self.steps.iter().map(|&(_, step)| step)
    }

    /// When something happens next.
    pub(crate) fn next_at(&self) -> Time {
        self.steps.get(self.taken).map_or(Time::NEVER, |&(at, _)| at)
    }

    /// The next thing that happens at or before `now`.
    pub(crate) fn take(&mut self, now: Time) -> Option<Step> {
        let &(at, step) = self.steps.get(self.taken)?;
        if at > now {
            return None;
        }
        self.taken += 1;
        match step {
            Step::Change(link, LinkChange::Fail) => self.failed[link.index()] = true,
            Step::Change(link, LinkChange::Restore) => {
                if let Some(failed) = self.failed.find_mut(link.index()) {
                    *failed = false;
                }
            }
            _ => {}
        }
        Some(step)
    }

    /// Whether a packet on this link must ask for its passage.
    pub(crate) fn is_impaired(&self, link: LinkId) -> bool {
        self.failed.find(link.index()) == Some(&true) || self.draws(link)
    }

    /// Whether chance decides what becomes of a packet on this link.
    pub(crate) fn draws(&self, link: LinkId) -> bool {
        self.impaired.find(link.index()).is_some_and(Option::is_some)
    }

    /// The most that a packet may be delayed beyond transmission and propagation.
    pub(crate) fn most_delay(&self) -> TimeDelta {
        if self.impaired.is_empty() { TimeDelta::ZERO } else { self.impairment.reordering }
    }

    /// What becomes of a packet that is handed to the link at `now` and would arrive at `at`.
    #[cold]
    #[inline(never)]
    pub(crate) fn passage(&mut self, unit: u32, now: Time, at: Time) -> Passage {
        if self.failed.find(unit as usize) == Some(&true) {
            return Passage::Lost;
        }
        let Some(Some(link)) = self.impaired.find_mut(unit as usize) else {
            return Passage::Arrives(at);
        };
        let impairment = &self.impairment;
        if impairment.loss.strikes(&mut link.stream) {
            return Passage::Lost;
        }
        if impairment.corruption.strikes(&mut link.stream) {
            return Passage::Corrupted;
        }
        let most = impairment.reordering.as_ps();
        if most == 0 {
            return Passage::Arrives(at);
        }
        let mut at = at + TimeDelta::from_ps(random::below(&mut link.stream, most + 1));
        while link.arrivals.first().is_some_and(|&first| first < now) {
            link.arrivals.pop_first();
        }
        while !link.arrivals.insert(at) {
            at += TimeDelta::from_ps(1);
        }
        Passage::Arrives(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn impaired(impairment: Impairment) -> Links {
        Links::new(&[], &impairment, TimeDelta::ZERO, 1, 1, |link| link)
    }

    fn share(billionths: u64) -> Share {
        Share::from_billionths(billionths).unwrap()
    }

    /// Passages of 100,000 packets of 1 ns each.
    fn passages(links: &mut Links) -> Vec<Passage> {
        let at = |packet: u64| Time::from_ps(packet * 1000);
        (0..100_000).map(|packet| links.passage(0, at(packet), at(packet + 1))).collect()
    }

    #[test]
    fn loss_and_corruption_strike_their_share() {
        let (loss, corruption) = (share(10_000_000), share(50_000_000));
        let mut links = impaired(Impairment { loss, corruption, ..Impairment::default() });
        let passages = passages(&mut links);
        let count = |fate| passages.iter().filter(|&&passage| passage == fate).count();
        let (lost, corrupted) = (count(Passage::Lost), count(Passage::Corrupted));
        assert!((900..1100).contains(&lost), "{lost}");
        assert!((4_700..5_200).contains(&corrupted), "{corrupted}");
        assert!(Share::from_billionths(1_000_000_001).is_none());
    }

    #[test]
    fn delayed_packets_overtake_and_never_arrive_together() {
        let reordering = TimeDelta::from_ps(20_000);
        let mut links = impaired(Impairment { reordering, ..Impairment::default() });
        let arrivals: Vec<Time> = passages(&mut links)
            .into_iter()
            .map(|passage| match passage {
                Passage::Arrives(at) => at,
                other => panic!("{other:?} without loss"),
            })
            .collect();
        assert_eq!(arrivals.iter().collect::<BTreeSet<_>>().len(), arrivals.len());
        assert!(arrivals.windows(2).filter(|pair| pair[0] > pair[1]).count() > 10_000);
        for (packet, &at) in arrivals.iter().enumerate() {
            let early = Time::from_ps((packet as u64 + 1) * 1000);
            // A few picoseconds more where an instant was taken.
            assert!((early..early + TimeDelta::from_ps(20_100)).contains(&at));
        }
    }

    #[test]
    fn what_never_strikes_draws_nothing() {
        let reordering = TimeDelta::from_ps(20_000);
        let mut links = impaired(Impairment { reordering, ..Impairment::default() });
        let mut stream = random::stream(1, "link", &[0]);
        for packet in 0..100 {
            let (now, at) =
                (Time::from_ps(packet * 100_000), Time::from_ps((packet + 1) * 100_000));
            let delay = TimeDelta::from_ps(random::below(&mut stream, 20_001));
            assert_eq!(links.passage(0, now, at), Passage::Arrives(at + delay));
        }
    }

    #[test]
    fn links_draw_from_streams_of_their_own() {
        let impairment = Impairment { loss: share(500_000_000), ..Impairment::default() };
        let mut links = Links::new(&[], &impairment, TimeDelta::ZERO, 2, 1, |link| link);
        let mut fates = |unit| -> Vec<Passage> {
            (0..64).map(|_| links.passage(unit, Time::ZERO, Time::from_ps(1))).collect()
        };
        assert_ne!(fates(0), fates(1));
    }

    #[test]
    fn only_the_named_links_are_impaired() {
        let links = vec![LinkId::new(2)];
        let impairment = Impairment { loss: share(1), links, ..Impairment::default() };
        let links = Links::new(&[], &impairment, TimeDelta::ZERO, 4, 1, |link| link);
        let is_impaired: Vec<bool> =
            (0..4).map(|unit| links.is_impaired(LinkId::new(unit))).collect();
        assert_eq!(is_impaired, [false, false, true, false]);
        assert!(!impaired(Impairment::default()).is_impaired(LinkId::new(0)));
    }

    #[test]
    fn routing_learns_after_its_time_and_changes_come_first() {
        let event = |us, change| LinkEvent {
            at: TimeDelta::from_us(us),
            link: LinkId::new(0),
            both_directions: false,
            change,
        };
        let events = [event(2, LinkChange::Restore), event(1, LinkChange::Fail)];
        let none = Impairment::default();
        let mut links = Links::new(&events, &none, TimeDelta::from_us(1), 1, 1, |link| link);
        let link = LinkId::new(0);
        let at = |us| Time::ZERO + TimeDelta::from_us(us);
        assert_eq!(links.take(at(0)), None);
        assert_eq!(links.take(at(1)), Some(Step::Change(link, LinkChange::Fail)));
        assert!(links.is_impaired(link));
        assert_eq!(links.take(at(1)), None);
        assert_eq!(links.next_at(), at(2));
        assert_eq!(links.take(at(2)), Some(Step::Change(link, LinkChange::Restore)));
        assert!(!links.is_impaired(link));
        assert_eq!(links.take(at(2)), Some(Step::Learn(link, false)));
        assert_eq!(links.take(at(3)), Some(Step::Learn(link, true)));
        assert_eq!(links.next_at(), Time::NEVER);
    }
}
