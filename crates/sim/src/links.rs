//! Links that change during a run, and links that lose, corrupt and reorder packets.
//!
//! # Changes
//! Changes of links come first at their instant. A change affects the transmitter: packets that it already sends, or
//! that are on the wire, arrive as before. A packet for a failed link takes its time there and is lost.
//!
//! Routing learns of a failure, or of its end, a fixed time later (NDP 3.2.3). Then hosts stop naming paths over the
//! dead link, or name them again, and switches that choose paths avoid up-links that do not lead to the destination.
//! Until then packets are lost.
//!
//! # Impairments
//! The outcome of a packet is drawn when it leaves, from the link's own stream; other links draw nothing. The receiver
//! of a link discards a corrupted packet, whose frame check fails: for all others it is lost. The next packet may
//! overtake a delayed one.
//!
//! # Hosts whose delay varies
//! A host's variable delay is drawn as a packet goes to the link: the sending host's part on its own link, the
//! receiving host's on the link to it. A host keeps its packets in order. Packets that it sends are never closer
//! together than the link carries them; packets that it receives may come a picosecond apart, when one held up the
//! others. A link that reorders does so behind the sending host and beside the receiving host: its delay is added.

use std::collections::BTreeSet;

use trimline_packet::{BitRate, Time, TimeDelta};
use trimline_transport::RngStream;

use crate::random;
use crate::table::Shared;
use crate::topology::{Clos, HostDelay, LinkId, Routes};

/// A change of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkChange {
    /// Sends at this rate from the next packet on.
    Rate(BitRate),
    /// Loses all packets.
    Fail,
    /// Returns to its initial state.
    Restore,
}

/// A change of a link at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkEvent {
    /// Time from the beginning of the run.
    pub at: TimeDelta,
    /// The link that changes.
    pub link: LinkId,
    /// True if the link in the other direction changes too.
    pub both_directions: bool,
    /// The change.
    pub change: LinkChange,
}

/// A probability, in billionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u32);

impl Share {
    const WHOLE: u32 = 1_000_000_000;

    /// Returns a share in billionths; `None` above one billion.
    pub fn from_billionths(billionths: u64) -> Option<Share> {
        u32::try_from(billionths).ok().filter(|&share| share <= Share::WHOLE).map(Share)
    }

    /// Returns the share in billionths.
    pub fn billionths(self) -> u32 {
        self.0
    }

    /// Draws whether the event happens. A share of zero draws nothing.
    fn strikes(self, stream: &mut RngStream) -> bool {
        self.0 > 0 && random::below(stream, u64::from(Share::WHOLE)) < u64::from(self.0)
    }
}

/// Impairments of packets on links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impairment {
    /// Share of packets that are lost.
    pub loss: Share,
    /// Share of packets that arrive damaged and are discarded at the far end.
    pub corruption: Share,
    /// Maximum extra delay of a packet, uniform: packets may overtake each other.
    pub reordering: TimeDelta,
    /// The impaired links, each in one direction; empty for every link.
    pub links: Vec<LinkId>,
}

impl Impairment {
    fn strikes(&self, link: LinkId) -> bool {
        let is_any = *self != Impairment { links: self.links.clone(), ..Impairment::default() };
        is_any && (self.links.is_empty() || self.links.contains(&link))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    Arrives(Time),
    Gone(Loss),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// The link was down.
    Failed,
    /// Lost by chance.
    Lost,
    /// Damaged, and discarded at the far end.
    Corrupted,
}

/// An event of the links, one direction each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Change(LinkId, LinkChange),
    /// Routing learns whether the link works.
    Learn(LinkId, bool),
}

struct Impaired {
    stream: RngStream,
    /// Arrival times of packets that may be on the way, all different: the order at an instant is by link.
    arrivals: BTreeSet<Time>,
}

impl Impaired {
    /// Arrival time of a packet that enters the link at `now` and would arrive at `at` without reordering.
    fn reorder(&mut self, now: Time, at: Time, max: TimeDelta) -> Time {
        if max == TimeDelta::ZERO {
            return at;
        }
        let mut at = at + TimeDelta::from_ps(random::below(&mut self.stream, max.as_ps() + 1));
        while self.arrivals.first().is_some_and(|&first| first < now) {
            self.arrivals.pop_first();
        }
        while !self.arrivals.insert(at) {
            at += TimeDelta::from_ps(1);
        }
        at
    }
}

struct Varying {
    spread: TimeDelta,
    stream: RngStream,
    last: Time,
}

impl Varying {
    fn new(delay: HostDelay, seed: u64, purpose: &str, host: u32) -> Option<Varying> {
        let stream = || random::stream(seed, purpose, &[u64::from(host)]);
        let HostDelay { spread, .. } = delay;
        (spread > TimeDelta::ZERO).then(|| Varying { spread, stream: stream(), last: Time::ZERO })
    }

    /// Returns when a packet is through that would be at `at` without spread: at least `apart` behind the one before.
    ///
    /// If packets come at least `apart` from each other, it is at most `spread` later.
    fn pass(&mut self, at: Time, apart: TimeDelta) -> Time {
        let drawn = random::below(&mut self.stream, self.spread.as_ps() + 1);
        self.last = (at + TimeDelta::from_ps(drawn)).max(self.last + apart);
        self.last
    }
}

struct Ends {
    sender: Option<Varying>,
    receiver: Option<Varying>,
}

impl Ends {
    fn max_delay(&self) -> TimeDelta {
        let max = |end: &Option<Varying>| end.as_ref().map_or(TimeDelta::ZERO, |end| end.spread);
        max(&self.sender) + max(&self.receiver)
    }
}

/// The links of a run that change, lose or delay packets.
pub(crate) struct Links {
    /// All events, in order.
    steps: Vec<(Time, Step)>,
    taken: usize,
    impairment: Impairment,
    /// Per node; empty in a run without impairment.
    impaired: Shared<Option<Impaired>>,
    /// Per node; empty in a run without failures.
    failed: Shared<bool>,
    /// Per node; empty if no host's delay varies.
    ends: Shared<Option<Ends>>,
    /// Maximum delay of a packet beyond transmission, propagation and the constant delay of hosts.
    max_delay: TimeDelta,
    /// Per node: whether a phantom queue or pacer sees each packet; empty in a run without.
    has_phantom: Shared<bool>,
    /// From this node on sent packets are counted: hosts, in a sampled run.
    counted_from: u32,
}

impl Links {
    /// Links of a run. `reverse` gives the link in the other direction.
    pub(crate) fn new(
        events: &[LinkEvent],
        impairment: &Impairment,
        convergence: TimeDelta,
        nodes: u32,
        seed: u64,
        reverse: &dyn Fn(LinkId) -> LinkId,
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
        // The sort is stable: at one instant changes come first, in the order of the scenario.
        steps.sort_by_key(|&(at, step)| (at, matches!(step, Step::Learn(..))));
        let is_any_impaired = (0..nodes).any(|node| impairment.strikes(LinkId::new(node)));
        let impaired = |node| {
            impairment.strikes(LinkId::new(node)).then(|| Impaired {
                stream: random::stream(seed, "link", &[u64::from(node)]),
                arrivals: BTreeSet::new(),
            })
        };
        let max_delay = if is_any_impaired { impairment.reordering } else { TimeDelta::ZERO };
        let fails = events.iter().any(|event| event.change == LinkChange::Fail);
        Links {
            steps,
            taken: 0,
            impairment: impairment.clone(),
            impaired: (0..if is_any_impaired { nodes } else { 0 }).map(impaired).collect(),
            failed: vec![false; if fails { nodes as usize } else { 0 }].into(),
            ends: Vec::new().into(),
            max_delay,
            has_phantom: Vec::new().into(),
            counted_from: u32::MAX,
        }
    }

    /// Adds counting of packets that node `from` and later nodes send.
    pub(crate) fn counted(self, from: u32) -> Links {
        Links { counted_from: from, ..self }
    }

    /// Adds the links on which a phantom queue or pacer sees each packet.
    pub(crate) fn with_phantom_queues(self, has_phantom: Shared<bool>) -> Links {
        Links { has_phantom, ..self }
    }

    pub(crate) fn counts_hosts(&self) -> bool {
        self.counted_from != u32::MAX
    }

    pub(crate) fn with_hosts(self, clos: &Clos, routes: &Routes, seed: u64) -> Links {
        let (send, receive) = (clos.processing.host_send, clos.processing.host_receive);
        if send.spread == TimeDelta::ZERO && receive.spread == TimeDelta::ZERO {
            return self;
        }
        let ends = |node| {
            let host = |node: u32| node.checked_sub(routes.ports());
            let (sender, receiver) = (host(node), host(routes.reverse(LinkId::new(node)).node()));
            let ends = Ends {
                sender: sender.and_then(|host| Varying::new(send, seed, "host send", host)),
                receiver: receiver
                    .and_then(|host| Varying::new(receive, seed, "host receive", host)),
            };
            (ends.max_delay() > TimeDelta::ZERO).then_some(ends)
        };
        let ends: Shared<Option<Ends>> = (0..routes.nodes()).map(ends).collect();
        let max = ends.iter().flatten().map(Ends::max_delay).max().unwrap_or(TimeDelta::ZERO);
        Links { ends, max_delay: self.max_delay + max, ..self }
    }

    /// Returns a view for another thread of the run, which changes no link.
    ///
    /// # Safety
    /// See [`Shared::view`]: one thread at a time uses a node's link.
    pub(crate) unsafe fn view(&self) -> Links {
        // SAFETY: promised by the caller.
        let (impaired, failed, ends) =
            unsafe { (self.impaired.view(), self.failed.view(), self.ends.view()) };
        // SAFETY: the same.
        let has_phantom = unsafe { self.has_phantom.view() };
        Links {
            steps: Vec::new(),
            taken: 0,
            impairment: self.impairment.clone(),
            impaired,
            failed,
            ends,
            has_phantom,
            ..*self
        }
    }

    pub(crate) fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        self.steps.iter().map(|&(_, step)| step)
    }

    pub(crate) fn has_steps(&self) -> bool {
        !self.steps.is_empty()
    }

    pub(crate) fn next_at(&self) -> Time {
        self.steps.get(self.taken).map_or(Time::NEVER, |&(at, _)| at)
    }

    /// Takes the next event at or before `now`.
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
            Step::Change(_, LinkChange::Rate(_)) | Step::Learn(..) => {}
        }
        Some(step)
    }

    /// Returns whether a packet on this link must ask for its passage.
    pub(crate) fn is_impaired(&self, link: LinkId) -> bool {
        let is_seen =
            link.node() >= self.counted_from || self.has_phantom.find(link.index()) == Some(&true);
        is_seen || self.failed.find(link.index()) == Some(&true) || self.draws(link)
    }

    /// Returns whether chance decides about packets on this link.
    pub(crate) fn draws(&self, link: LinkId) -> bool {
        let is_drawn = self.impaired.find(link.index()).is_some_and(Option::is_some);
        is_drawn || self.ends.find(link.index()).is_some_and(Option::is_some)
    }

    pub(crate) fn may_lose(&self) -> bool {
        self.failed.len() > 0 || self.impaired.len() > 0
    }

    /// Maximum delay of a packet beyond transmission, propagation and the constant delay of hosts.
    pub(crate) fn max_delay(&self) -> TimeDelta {
        self.max_delay
    }

    /// Passage of a packet that enters the link at `now`, occupies it for `transmission` and would arrive at `at`.
    #[cold]
    #[inline(never)]
    pub(crate) fn passage(
        &mut self,
        node: u32,
        now: Time,
        mut at: Time,
        transmission: TimeDelta,
    ) -> Passage {
        let node = node as usize;
        let mut ends = self.ends.find_mut(node).and_then(Option::as_mut);
        // A sending host draws for each packet, even a lost one.
        if let Some(host) = ends.as_mut().and_then(|ends| ends.sender.as_mut()) {
            at = host.pass(at, transmission);
        }
        if self.failed.find(node) == Some(&true) {
            return Passage::Gone(Loss::Failed);
        }
        let mut link = self.impaired.find_mut(node).and_then(Option::as_mut);
        if let Some(link) = &mut link {
            if self.impairment.loss.strikes(&mut link.stream) {
                return Passage::Gone(Loss::Lost);
            }
            if self.impairment.corruption.strikes(&mut link.stream) {
                return Passage::Gone(Loss::Corrupted);
            }
        }
        if let Some(host) = ends.and_then(|ends| ends.receiver.as_mut()) {
            at = host.pass(at, TimeDelta::from_ps(1));
        }
        Passage::Arrives(match link {
            Some(link) => link.reorder(now, at, self.impairment.reordering),
            None => at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Processing;
    use crate::topology::tests::fattree;

    fn impaired(impairment: Impairment) -> Links {
        Links::new(&[], &impairment, TimeDelta::ZERO, 1, 1, &|link| link)
    }

    fn share(billionths: u64) -> Share {
        Share::from_billionths(billionths).unwrap()
    }

    /// Passages of 100,000 packets of 1 ns each.
    fn passages(links: &mut Links) -> Vec<Passage> {
        let at = |packet: u64| Time::from_ps(packet * 1000);
        (0..100_000)
            .map(|packet| links.passage(0, at(packet), at(packet + 1), TimeDelta::from_ps(1000)))
            .collect()
    }

    #[test]
    fn loss_and_corruption_hit_their_share_of_packets() {
        let (loss, corruption) = (share(10_000_000), share(50_000_000));
        let mut links = impaired(Impairment { loss, corruption, ..Impairment::default() });
        let passages = passages(&mut links);
        let count = |loss| passages.iter().filter(|&&each| each == Passage::Gone(loss)).count();
        let (lost, corrupted) = (count(Loss::Lost), count(Loss::Corrupted));
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

    /// Returns a cable between two hosts that delay a packet by up to `send` and `receive`.
    fn cable(impairment: &Impairment, send: TimeDelta, receive: TimeDelta) -> Links {
        let delay = |spread| HostDelay { min: TimeDelta::from_ps(7), spread };
        let clos = Clos {
            tiers: 0,
            pods: 1,
            tors_per_pod: 2,
            hosts_per_tor: 1,
            processing: Processing {
                host_send: delay(send),
                host_receive: delay(receive),
                ..Processing::default()
            },
            ..fattree(4)
        };
        let routes = Routes::new(&clos);
        Links::new(&[], impairment, TimeDelta::ZERO, 2, 1, &|link| link)
            .with_hosts(&clos, &routes, 1)
    }

    fn arrivals(links: &mut Links) -> Vec<Time> {
        let arrival = |passage| match passage {
            Passage::Arrives(at) => at,
            other => panic!("{other:?} without loss"),
        };
        passages(links).into_iter().map(arrival).collect()
    }

    #[test]
    fn hosts_keep_packet_order_and_bound_their_delay() {
        let spread = TimeDelta::from_ps;
        let (none, late) = (Impairment::default(), |packet: usize, at: Time| {
            at.as_ps() - (packet as u64 + 1) * 1000
        });
        for (send, receive) in [(20_000, 0), (0, 20_000), (20_000, 7_000)] {
            let mut links = cable(&none, spread(send), spread(receive));
            assert!(links.is_impaired(LinkId::new(0)) && links.is_impaired(LinkId::new(1)));
            assert_eq!(links.max_delay(), spread(send + receive));
            let arrivals = arrivals(&mut links);
            // A sender is bound by its link; a receiver gets at once what one packet held up.
            let apart = arrivals.windows(2).map(|pair| (pair[1] - pair[0]).as_ps()).min();
            assert_eq!(apart, Some(if receive == 0 { 1000 } else { 1 }));
            let delays = arrivals.iter().enumerate().map(|(packet, &at)| late(packet, at));
            let max = delays.clone().max().unwrap();
            assert!((send + receive) * 9 / 10 < max && max <= send + receive, "{max}");
            assert!(delays.min().unwrap() < send + receive);
        }
    }

    #[test]
    fn a_lone_packet_takes_a_uniform_delay() {
        let mut links = cable(&Impairment::default(), TimeDelta::from_ps(999), TimeDelta::ZERO);
        let mut counts = [0; 10];
        for packet in 1..=100_000 {
            let at = Time::from_ps(packet * 1_000_000);
            let passage = links.passage(0, at, at, TimeDelta::from_ps(1000));
            let Passage::Arrives(later) = passage else { panic!("{passage:?}") };
            counts[((later - at).as_ps() / 100) as usize] += 1;
        }
        assert!(counts.iter().all(|&count| (9_500..10_500).contains(&count)), "{counts:?}");
    }

    /// Loss moves no draw of a sending host, nor a host's delay any of the link's.
    #[test]
    fn hosts_and_links_draw_independently() {
        let spread = TimeDelta::from_ps(900);
        let loss = Impairment { loss: share(300_000_000), ..Impairment::default() };
        let whole = passages(&mut cable(&Impairment::default(), spread, TimeDelta::ZERO));
        let lossy = passages(&mut cable(&loss, spread, TimeDelta::ZERO));
        let lost = |passages: &[Passage]| -> Vec<bool> {
            passages.iter().map(|&passage| passage == Passage::Gone(Loss::Lost)).collect()
        };
        assert_eq!(lost(&lossy), lost(&passages(&mut cable(&loss, TimeDelta::ZERO, spread))));
        let arrived =
            whole.iter().zip(&lossy).filter(|(_, lossy)| **lossy != Passage::Gone(Loss::Lost));
        assert!(arrived.clone().count() > 60_000 && arrived.clone().count() < 80_000);
        assert!(arrived.into_iter().all(|(whole, lossy)| whole == lossy));
        // Each direction and each host has its own stream.
        let both = |links: &mut Links| {
            let at = |packet: u64| Time::from_ps(packet * 1_000_000);
            let mut pass = |node, packet| links.passage(node, at(packet), at(packet), spread);
            let pairs: Vec<_> = (0..100).map(|packet| (pass(0, packet), pass(1, packet))).collect();
            pairs
        };
        let one = both(&mut cable(&Impairment::default(), spread, TimeDelta::ZERO));
        let other = both(&mut cable(&Impairment::default(), TimeDelta::ZERO, spread));
        let equal = |a: &[(Passage, Passage)]| a.iter().filter(|(one, other)| one == other).count();
        assert!(equal(&one) < 5 && equal(&other) < 5);
        // Host 0 sends on link 0 and receives from link 1.
        let crossed = one.iter().zip(&other).filter(|(one, other)| one.0 == other.1).count();
        assert!(crossed < 5, "{crossed}");
    }

    #[test]
    fn a_reordering_link_adds_to_the_delay_of_its_hosts() {
        let max = TimeDelta::from_ps(20_000);
        let impairment = Impairment { reordering: max, ..Impairment::default() };
        let mut links = cable(&impairment, max, max);
        assert_eq!(links.max_delay(), max + max + max);
        let arrivals = arrivals(&mut links);
        assert_eq!(arrivals.iter().collect::<BTreeSet<_>>().len(), arrivals.len());
        assert!(arrivals.windows(2).filter(|pair| pair[0] > pair[1]).count() > 10_000);
    }

    #[test]
    fn an_impairment_without_effect_draws_nothing() {
        let reordering = TimeDelta::from_ps(20_000);
        let mut links = impaired(Impairment { reordering, ..Impairment::default() });
        let mut stream = random::stream(1, "link", &[0]);
        for packet in 0..100 {
            let (now, at) =
                (Time::from_ps(packet * 100_000), Time::from_ps((packet + 1) * 100_000));
            let delay = TimeDelta::from_ps(random::below(&mut stream, 20_001));
            assert_eq!(links.passage(0, now, at, TimeDelta::ZERO), Passage::Arrives(at + delay));
        }
    }

    #[test]
    fn each_link_draws_from_its_own_stream() {
        let impairment = Impairment { loss: share(500_000_000), ..Impairment::default() };
        let mut links = Links::new(&[], &impairment, TimeDelta::ZERO, 2, 1, &|link| link);
        let mut dispositions = |node| -> Vec<Passage> {
            (0..64)
                .map(|_| links.passage(node, Time::ZERO, Time::from_ps(1), TimeDelta::ZERO))
                .collect()
        };
        assert_ne!(dispositions(0), dispositions(1));
    }

    #[test]
    fn only_the_named_links_are_impaired() {
        let links = vec![LinkId::new(2)];
        let impairment = Impairment { loss: share(1), links, ..Impairment::default() };
        let links = Links::new(&[], &impairment, TimeDelta::ZERO, 4, 1, &|link| link);
        let is_impaired: Vec<bool> =
            (0..4).map(|node| links.is_impaired(LinkId::new(node))).collect();
        assert_eq!(is_impaired, [false, false, true, false]);
        assert!(!impaired(Impairment::default()).is_impaired(LinkId::new(0)));
    }

    #[test]
    fn routing_converges_after_its_delay_and_link_changes_come_first() {
        let event = |us, change| LinkEvent {
            at: TimeDelta::from_us(us),
            link: LinkId::new(0),
            both_directions: false,
            change,
        };
        let events = [event(2, LinkChange::Restore), event(1, LinkChange::Fail)];
        let none = Impairment::default();
        let mut links = Links::new(&events, &none, TimeDelta::from_us(1), 1, 1, &|link| link);
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
