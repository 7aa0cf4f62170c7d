//! Lookahead windows: the fast engine.
//!
//! Nodes act on each other only through links. So time advances in windows no longer than the shortest transmission
//! plus delay. A packet sent inside a window arrives in a later one, and each active node can work through a whole
//! window alone, in any order of nodes. There is no global event queue.
//!
//! - A window is a power of two of picoseconds, so that the window of a time is a shift.
//! - A wheel has one bitmap per window: the nodes with anything to do in it. A summary bitmap lets the engine skip an
//!   idle fabric.
//! - Packets on a link wait in the inbox of their next node: a list in order of time, in a table of all packets on
//!   links (`flights`).
//! - Events beyond the wheel (retransmission timers, flow starts, slow links) wait in a heap.
//!
//! # Nodes run when they may act
//! While its transmitter is busy, a node cannot act on anything else. So it does not run for arrivals, but when its
//! transmitter becomes free. It then works through all arrivals since, in order of time. A busy port runs once per data
//! packet, headers included. Its inbox remembers the window of the next run; a packet that could make the node act
//! earlier brings the run forward.
//!
//! Call `catch_up` before reading results or changing links: it processes arrivals that wait for such a run.
//!
//! # Returned headers
//! One thing crosses nodes without a link: a header that a full header queue returns enters another port of its switch
//! at the same instant. While a header queue of a switch could overflow in one run, its ports run together, in every
//! window with an arrival there, with arrivals in order of time across them. The bound is arithmetic: the arrivals at a
//! switch in one window, and the [`MAX_PENDING`](super::inbox::MAX_PENDING) packets that may wait for a run. Other
//! engines of this kind would have to delay the returned header; this one keeps the instant.
//!
//! # Coupled switches
//! If the ports of a switch share memory, a port's room depends on the others' queues at that instant. Such a switch
//! runs in every window in which something happens at it, in one pass over its arrivals and its ports' actions, in the
//! order that [`crate::network`] gives. Only ports with something to do in the window are read: each gives its next
//! event time at the end of a run.

use trimline_packet::{Time, TimeDelta};

use super::exchange::{Mail, Outgoing};
use super::runner::{FAR_AHEAD, Runner};
use super::wheel::Wheel;
use super::{Engine, Network};
use crate::workload::Notice;

pub(crate) struct LookaheadWindows {
    runner: Runner,
    now: Time,
    /// The last window in which something happened or came into the wheel.
    last_active: u64,
}

impl LookaheadWindows {
    /// Returns an engine for a new network; `largest_packet` is in bytes on the wire.
    pub(crate) fn new(network: &Network, largest_packet: u16) -> LookaheadWindows {
        let wheel = LookaheadWindows::wheel(network, largest_packet);
        LookaheadWindows::with(network, wheel, largest_packet)
    }

    /// Returns one engine per thread.
    ///
    /// # Safety
    /// See [`Core::view`](crate::network::Core::view): while several threads work, each has a view of its own.
    pub(super) unsafe fn divided(
        network: &Network,
        largest_packet: u16,
        outgoing: Vec<Outgoing>,
    ) -> Vec<LookaheadWindows> {
        let whole = LookaheadWindows::wheel(network, largest_packet);
        outgoing
            .into_iter()
            // SAFETY: promised by the caller.
            .map(|outgoing| {
                LookaheadWindows::with(network, unsafe { whole.view(outgoing) }, largest_packet)
            })
            .collect()
    }

    fn wheel(network: &Network, largest_packet: u16) -> Wheel {
        let lookahead = network.core.lookahead().as_ps();
        assert!(lookahead > 0, "a packet takes time to send");
        let shift = lookahead.ilog2();
        let horizon = (network.core.horizon(largest_packet).as_ps() >> shift) + 2;
        Wheel::new(network.core.routes.nodes() as usize, shift, horizon, network.core.ties())
    }

    fn with(network: &Network, wheel: Wheel, largest_packet: u16) -> LookaheadWindows {
        let mut engine = LookaheadWindows {
            runner: Runner::new(&network.core, wheel, largest_packet),
            now: Time::ZERO,
            last_active: 0,
        };
        for host in 0..network.core.routes.hosts() {
            let node = network.core.routes.ports() + host;
            if engine.runner.wheel.is_mine(node) {
                let next =
                    network.hosts.wake(&network.core, host).as_ps() >> engine.runner.wheel.shift();
                engine.runner.wheel.plan(node, next);
            }
        }
        engine.runner.wheel.keep_unfinished();
        engine
    }

    pub(super) fn now(&self) -> Time {
        self.now
    }

    pub(super) fn window(&self) -> u64 {
        self.runner.wheel.current
    }

    pub(super) fn windows_in(&self, span: TimeDelta) -> u64 {
        span.as_ps() >> self.runner.wheel.shift()
    }

    /// Plans a run of a node in the window of `at`, if the node belongs to this thread.
    pub(super) fn run_at(&mut self, node: u32, at: Time) {
        if self.runner.wheel.is_mine(node) {
            self.runner.wheel.plan(
                node,
                (at.as_ps() >> self.runner.wheel.shift()).max(self.runner.wheel.current),
            );
            self.runner.wheel.keep_unfinished();
            self.last_active = self.runner.wheel.current;
        }
    }

    pub(super) fn is_mine(&self, node: u32) -> bool {
        self.runner.wheel.is_mine(node)
    }

    pub(super) fn outgoing(&mut self) -> Option<&mut Outgoing> {
        self.runner.wheel.outgoing()
    }

    /// Takes packets of another thread that arrive in the current window or later.
    pub(super) fn receive(&mut self, network: &mut Network, mail: &Mail) {
        let letters = &mail.letters;
        if !mail.is_empty() {
            self.last_active = self.runner.wheel.current;
        }
        for &notice in &mail.notices {
            self.expect(network, notice);
        }
        for (index, letter) in letters.iter().enumerate() {
            if let Some(later) = letters.get(index + FAR_AHEAD) {
                self.runner.wheel.prefetch_inbox(later.node);
            }
            let handle = network.core.arena.insert(letter.packet);
            if network.core.detours_packets() {
                network.core.arena.set_steps(handle, letter.steps);
            }
            if network.core.arena.carries_telemetry() {
                network.core.arena.set_telemetry(handle, mail.telemetry[index]);
            }
            self.runner.wheel.accept(letter.node, letter.at, handle, letter.from);
        }
        self.runner.wheel.keep_unfinished();
    }

    /// Begins or continues a window, up to `limit`. Returns its end.
    #[inline]
    fn begin(&mut self, limit: Time) -> Time {
        let (end, is_any) = self.runner.wheel.begin(self.now);
        if is_any {
            self.last_active = self.runner.wheel.current;
        }
        end.min(limit)
    }

    /// Runs the nodes to which no other thread sends: the first half of a window. Returns its end, at most `limit`.
    pub(super) fn begin_window(&mut self, network: &mut Network, limit: Time) -> Time {
        let end = self.begin(limit);
        let count = self.runner.collect_inner();
        self.work(network, end, count);
        end
    }

    /// Runs the nodes to which other threads send: the second half of a window that ends at `end`. Packets sent before
    /// it must have been taken.
    pub(super) fn end_window(&mut self, network: &mut Network, end: Time) {
        let count = self.runner.collect_border();
        self.work(network, end, count);
        self.now = end;
    }

    /// Time until which there is nothing to do; zero if there may be something soon.
    #[inline]
    pub(super) fn idle_until(&self) -> Time {
        // The wheel was empty for a whole turn: nothing happens before the first entry of the heap.
        let is_idle = self.runner.wheel.current - self.last_active > self.runner.wheel.wheel_mask;
        if is_idle { self.runner.wheel.first_far() } else { Time::ZERO }
    }

    /// Advances to `idle_until`; nothing happens before it.
    #[inline]
    pub(super) fn skip_to(&mut self, idle_until: Time) {
        self.now = self.now.max(idle_until);
    }

    fn work(&mut self, network: &mut Network, limit: Time, count: usize) {
        let Network { core, switches, hosts } = network;
        if count > 0 {
            self.last_active = self.runner.wheel.current;
            let mut first_host = 0;
            if self.runner.nodes[0] < core.routes.ports() {
                first_host = switches.work(core, &mut self.runner, count, limit);
            }
            if first_host < count {
                hosts.work(core, &mut self.runner, (first_host, count), limit);
            }
        }
        if network.core.has_notices {
            self.notify(network);
        }
        self.runner.wheel.deliver_letters();
        self.runner.wheel.keep_unfinished();
    }

    /// Hands over the notices of hosts in this window. They arrive in later ones.
    #[cold]
    fn notify(&mut self, network: &mut Network) {
        for notice in network.core.take_notices() {
            let node = network.core.routes.ports() + notice.host;
            match self.runner.wheel.outgoing() {
                Some(outgoing) if !outgoing.is_mine(node) => outgoing.notify(node, notice),
                _ => self.expect(network, notice),
            }
        }
    }

    fn expect(&mut self, network: &mut Network, notice: Notice) {
        let node = network.expect(notice);
        self.runner.wheel.wake(node, notice.at);
    }
}

impl Engine for LookaheadWindows {
    fn run_until(&mut self, network: &mut Network, limit: Time) {
        while self.now < limit {
            let end = self.begin(limit);
            let count = self.runner.collect();
            self.work(network, end, count);
            self.now = end;
            self.skip_to(self.idle_until().min(limit));
        }
    }

    fn disturb(&mut self, _network: &mut Network, node: u32, at: Time) {
        self.run_at(node, at);
    }

    /// Performs arrivals before `limit` at nodes that have not run for them yet.
    fn catch_up(&mut self, network: &mut Network, limit: Time) {
        let Network { core, switches, hosts } = &mut *network;
        let mut nodes = Vec::new();
        self.runner.wheel.behind(limit, &mut nodes);
        let is_port = |&node: &u32| node < core.routes.ports();
        let (ports, at_hosts): (Vec<u32>, Vec<u32>) = nodes.into_iter().partition(is_port);
        switches.catch_up(core, &mut self.runner, &ports, limit);
        hosts.catch_up(core, &mut self.runner, &at_hosts, limit);
        if network.core.has_notices {
            self.notify(network);
        }
        self.runner.wheel.deliver_letters();
        self.runner.wheel.keep_unfinished();
    }
}
