//! The interface of a host: its state, its changes, and the next hops to peers.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::io;
use std::net::IpAddr;

use trimline_packet::{Time, TimeDelta};

use super::core::Core;
use crate::io::{LinkState, NextHop, PacketIo, Routed};

/// Interval between inspections of the interface.
const INSPECTION_INTERVAL: TimeDelta = TimeDelta::from_ms(100);

/// Interval between look-ups of the next hop to a peer.
const REFRESH: TimeDelta = TimeDelta::from_ms(5_000);

/// Maximum number of peers that are looked up in one turn.
const LOOKUPS: usize = 64;

/// Maximum number of peers without a next hop that are looked up at each inspection; others wait for the next refresh.
const MISSING: usize = 128;

/// The first and the longest wait after an interface accepted no frame.
const FIRST_WAIT: TimeDelta = TimeDelta::from_us(20);
const LONGEST_WAIT: TimeDelta = TimeDelta::from_ms(1);

/// A change of a host's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The link went down: the host waits.
    Down,
    /// It is up again.
    Up,
    /// It now carries IP packets of at most this many bytes: fewer than this host's packets may have.
    TooNarrow(usize),
    /// It carries this host's packets again.
    WideEnough,
    /// No route leads to this address of a peer: its path is not used.
    Withdrawn(IpAddr),
    /// A route leads to this address of a peer again.
    Announced(IpAddr),
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            News::Down => f.write_str("the link is down; waiting"),
            News::Up => f.write_str("the link is up"),
            News::TooNarrow(mtu) => {
                write!(f, "the MTU is {mtu} now: full packets do not pass; waiting")
            }
            News::WideEnough => f.write_str("full packets pass again"),
            News::Withdrawn(way) => {
                write!(f, "no route leads to {way}: its path is not used")
            }
            News::Announced(way) => write!(f, "a route leads to {way}: its path is used"),
        }
    }
}

#[derive(Debug)]
pub(super) struct Links {
    state: LinkState,
    /// Bytes of this host's longest packet.
    longest: usize,
    looked: Option<Time>,
    refreshed: Time,
    news: VecDeque<News>,
    wanted: Vec<IpAddr>,
    /// Peers that were looked up and have no next hop yet.
    missing: Vec<IpAddr>,
    /// Addresses of peers whose paths are withdrawn because no route leads there.
    withdrawn: BTreeSet<IpAddr>,
    /// The end and the length of the wait after no frame was accepted.
    blocked: Time,
    wait: TimeDelta,
}

impl Links {
    pub(super) fn new(mtu: usize, longest: usize) -> Links {
        Links {
            state: LinkState { running: true, mtu },
            longest,
            looked: None,
            refreshed: Time::ZERO,
            news: VecDeque::new(),
            wanted: Vec::new(),
            missing: Vec::new(),
            withdrawn: BTreeSet::new(),
            blocked: Time::ZERO,
            wait: TimeDelta::ZERO,
        }
    }

    pub(super) fn state(&self) -> LinkState {
        self.state
    }

    pub(super) fn next_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// Makes everything due, because the clock was set back.
    pub(super) fn set_back(&mut self) {
        (self.looked, self.refreshed, self.blocked) = (None, Time::ZERO, Time::ZERO);
    }

    pub(super) fn blocked_until(&self) -> Time {
        self.blocked
    }

    pub(super) fn took(&mut self, now: Time, any: bool) {
        self.wait = match any {
            true => TimeDelta::ZERO,
            false => (self.wait + self.wait).max(FIRST_WAIT).min(LONGEST_WAIT),
        };
        self.blocked = now.saturating_add(self.wait);
    }

    /// Inspects the interface and looks up next hops, if it is time to. Fails if the interface is gone.
    pub(super) fn inspect(
        &mut self,
        now: Time,
        io: &mut impl PacketIo,
        core: &mut Core,
    ) -> io::Result<()> {
        self.wanted.extend(std::iter::from_fn(|| core.next_unresolved()));
        if self.wanted.is_empty()
            && self.looked.is_some_and(|at| now < at.saturating_add(INSPECTION_INTERVAL))
        {
            return Ok(());
        }
        if self.looked.is_none_or(|at| now >= at.saturating_add(INSPECTION_INTERVAL)) {
            let is_first = self.looked.replace(now).is_none();
            let state = io.link()?;
            self.compare(state);
            if io.routes_changed() || is_first {
                self.follow_routes(now, io, core);
            }
            // The kernel was asked to resolve them.
            self.wanted.append(&mut self.missing);
        }
        if now >= self.refreshed.saturating_add(REFRESH) {
            self.refreshed = now;
            self.wanted = core.peers_in_use();
            self.follow_routes(now, io, core);
        }
        self.find(io, core);
        Ok(())
    }

    /// Withdraws the paths whose address has no route, and announces the others (NDP 3.2.3).
    fn follow_routes(&mut self, now: Time, io: &mut impl PacketIo, core: &mut Core) {
        for (peer, path, way) in core.ways_in_use() {
            // A path that the application has withdrawn stays so.
            let (is_ours, routed) = (self.withdrawn.contains(&way), io.routed(way));
            if routed == Routed::No && core.withdraw_path(now, peer, path) {
                self.withdrawn.insert(way);
                self.news.push_back(News::Withdrawn(way));
            }
            if routed == Routed::Yes && is_ours {
                self.withdrawn.remove(&way);
                core.announce_path(now, peer, path);
                self.news.push_back(News::Announced(way));
            }
        }
        self.forget_old_news();
    }

    fn compare(&mut self, state: LinkState) {
        let before = std::mem::replace(&mut self.state, state);
        match (before.running, state.running) {
            (true, false) => self.news.push_back(News::Down),
            (false, true) => self.news.push_back(News::Up),
            (true, true) | (false, false) => {}
        }
        match (before.mtu >= self.longest, state.mtu >= self.longest) {
            (true, false) => self.news.push_back(News::TooNarrow(state.mtu)),
            (false, true) => self.news.push_back(News::WideEnough),
            (true, true) | (false, false) => {}
        }
        self.forget_old_news();
    }

    /// Keeps the newest, for an application that does not ask.
    fn forget_old_news(&mut self) {
        while self.news.len() > 16 {
            self.news.pop_front();
        }
    }

    fn find(&mut self, io: &mut impl PacketIo, core: &mut Core) {
        for _ in 0..LOOKUPS {
            let Some(peer) = self.wanted.pop() else { return };
            match io.next_hop(peer) {
                NextHop::Known(ethernet) => core.set_next_hop(peer, ethernet),
                // A known next hop stays until another one is found.
                NextHop::Unknown if core.lacks_way(peer) && self.missing.len() < MISSING => {
                    self.missing.push(peer);
                }
                NextHop::Given | NextHop::Unknown => {}
            }
        }
    }
}
