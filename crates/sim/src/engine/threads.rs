//! One run on several threads, with the same results to the bit.
//!
//! Every thread drives its own nodes ([`Partition`]) with the windows engine, through a view of the network ([`view`]).
//! A node depends only on its own events in their order, which is not the order in which they came. So results depend
//! neither on the thread that brings a packet nor on the moment in the round.
//!
//! A round is the number of windows in which no packet can cross between threads ([`Partition::lookahead`]): one if all
//! links are alike, more if links of the top tier are longer. Messages of the round before are taken in the middle of a
//! round's first window ([`Exchange`]): nodes that do not receive from other threads, more than half of all work, run
//! first. So a thread waits only for one that is more than half a window behind, and a brief stop of one thread, or the
//! loss of its processor, does not stop the others.
//!
//! The calling thread drives the first part and everything that concerns the whole run: links that change, the end,
//! checks. The others wait meanwhile.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use trimline_packet::Time;

use super::exchange::{Broken, Exchange, Outgoing, SpinLimit};
use super::lookahead_windows::LookaheadWindows;
use super::{Engine, Network};
use crate::partition::Partition;
use crate::table;

/// The next task of all threads and its end, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    RunUntil(Time),
    CatchUp(Time),
    Stop,
}

impl Order {
    const STOP: u64 = u64::MAX;
    const CATCH_UP: u64 = 1 << 63;

    fn to_bits(self) -> u64 {
        match self {
            Order::RunUntil(limit) => limit.as_ps(),
            Order::CatchUp(limit) => limit.as_ps() | Order::CATCH_UP,
            Order::Stop => Order::STOP,
        }
    }

    fn from_bits(bits: u64) -> Order {
        match bits {
            Order::STOP => Order::Stop,
            bits if bits & Order::CATCH_UP != 0 => {
                Order::CatchUp(Time::from_ps(bits & !Order::CATCH_UP))
            }
            bits => Order::RunUntil(Time::from_ps(bits)),
        }
    }
}

struct Member {
    number: usize,
    network: Network,
    part: Part,
}

struct Part {
    windows: LookaheadWindows,
    windows_a_round: u64,
    round: u32,
    /// True if messages of the last round wait to be taken.
    has_mail: bool,
    spin_limit: SpinLimit,
}

struct Team {
    exchange: Exchange,
    order: AtomicU64,
    /// All threads but the calling one. Each thread locks its member while it works.
    others: Vec<Mutex<Member>>,
}

struct Threads<'a> {
    team: &'a Team,
    part: Part,
}

/// Runs `drive` with an engine that works on the threads of `partition`.
pub(crate) fn together<R>(
    network: &mut Network,
    largest_packet: u16,
    partition: &Partition,
    drive: impl FnOnce(&mut Network, &mut dyn Engine) -> R,
) -> R {
    let threads = partition.threads();
    let outgoing = (0..threads).map(|number| Outgoing::new(partition, number)).collect();
    // SAFETY: from here to the end of the scope each thread uses only units of its own, whole switches, while
    // others run; the first one looks at the rest only between its orders, when the others wait.
    let mut windows = unsafe { LookaheadWindows::divided(network, largest_packet, outgoing) };
    let windows_a_round = windows[0].windows_in(partition.lookahead(&network.core)).max(1);
    let part = |windows| Part {
        windows,
        windows_a_round,
        round: 0,
        has_mail: false,
        spin_limit: SpinLimit::new(),
    };
    let first = part(windows.remove(0));
    let member = |(place, windows)| {
        // SAFETY: as above.
        let network = unsafe { view(network) };
        Mutex::new(Member { number: place + 1, network, part: part(windows) })
    };
    let team = Team {
        exchange: Exchange::new(threads),
        order: AtomicU64::new(Order::STOP),
        others: windows.into_iter().enumerate().map(member).collect(),
    };
    let result = thread::scope(|scope| {
        for member in &team.others {
            scope.spawn(|| team.serve(member));
        }
        // Ends the other threads whatever happens here.
        let mut threads = Threads { team: &team, part: first };
        drive(network, &mut threads)
    });
    for member in &team.others {
        network.core.take_packets(&lock(member).network.core);
    }
    result
}

/// Returns another view of a network, without packets.
///
/// # Safety
/// See [`Core::view`](crate::network::Core::view).
unsafe fn view(network: &Network) -> Network {
    let Network { core, switches, hosts } = network;
    // SAFETY: promised by the caller.
    unsafe { Network { core: core.view(), switches: switches.view(), hosts: hosts.view() } }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Alarm<'a>(&'a Exchange);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.poison();
        }
    }
}

impl Team {
    fn serve(&self, member: &Mutex<Member>) {
        let _alarm = Alarm(&self.exchange);
        let mut spin_limit = SpinLimit::new();
        while self.exchange.meet(&mut spin_limit).is_ok() {
            let order = Order::from_bits(self.order.load(Ordering::Relaxed));
            if order == Order::Stop {
                return;
            }
            let Member { number, network, part } = &mut *lock(member);
            if part.perform(order, network, *number, &self.exchange).is_err() {
                return;
            }
        }
    }
}

impl Part {
    fn perform(
        &mut self,
        order: Order,
        network: &mut Network,
        me: usize,
        exchange: &Exchange,
    ) -> Result<(), Broken> {
        match order {
            Order::RunUntil(limit) => {
                while self.windows.now() < limit {
                    let end = self.windows.begin_window(network, limit);
                    if self.has_mail {
                        self.receive(network, me, exchange)?;
                    }
                    self.windows.end_window(network, end);
                    let window = self.windows.window();
                    let is_last = self.windows.now() >= limit;
                    if is_last || (window + 1).is_multiple_of(self.windows_a_round) {
                        self.end_round(network, me, exchange, limit, is_last)?;
                    }
                }
                Ok(())
            }
            Order::CatchUp(limit) => {
                self.windows.catch_up(network, limit);
                self.end_round(network, me, exchange, limit, true)
            }
            Order::Stop => Ok(()),
        }
    }

    /// Hands packets over. Waits for the others in an order's last round, or if idle. Then skips ahead if all are idle.
    fn end_round(
        &mut self,
        network: &mut Network,
        me: usize,
        exchange: &Exchange,
        limit: Time,
        is_last: bool,
    ) -> Result<(), Broken> {
        let idle_until = self.windows.idle_until();
        let outgoing = self.windows.outgoing().expect("one thread of several");
        exchange.put(self.round, me, outgoing, idle_until);
        self.round = self.round.wrapping_add(1);
        self.has_mail = true;
        if is_last || idle_until > Time::ZERO {
            self.receive(network, me, exchange)?;
            // A thread that has something to do does not come here, and keeps all others from skipping ahead.
            let idle_until = exchange.idle_until(self.round.wrapping_sub(1));
            self.windows.skip_to(idle_until.min(limit));
        }
        Ok(())
    }

    /// Takes the messages of the last round when all threads have ended it.
    fn receive(
        &mut self,
        network: &mut Network,
        me: usize,
        exchange: &Exchange,
    ) -> Result<(), Broken> {
        let round = self.round.wrapping_sub(1);
        exchange.wait(round, &mut self.spin_limit)?;
        exchange.receive(round, me, |mail| self.windows.receive(network, mail));
        self.has_mail = false;
        Ok(())
    }
}

impl Threads<'_> {
    fn order(&mut self, network: &mut Network, order: Order) {
        table::hand_over();
        self.team.order.store(order.to_bits(), Ordering::Relaxed);
        let exchange = &self.team.exchange;
        let met = exchange.meet(&mut self.part.spin_limit);
        let done = met.and_then(|()| self.part.perform(order, network, 0, exchange));
        done.expect("no thread of the run panics");
        table::hand_over();
        for member in &self.team.others {
            network.core.gather(&mut lock(member).network.core);
        }
    }
}

impl Engine for Threads<'_> {
    fn run_until(&mut self, network: &mut Network, limit: Time) {
        // Every order has a round: after it all others have read it.
        if self.part.windows.now() < limit {
            self.order(network, Order::RunUntil(limit));
        }
    }
    fn catch_up(&mut self, network: &mut Network, limit: Time) {
        self.order(network, Order::CatchUp(limit));
    }
    fn at_node(&mut self, network: &Network, node: u32, inspect: &mut dyn FnMut(&Network)) {
        if self.part.windows.is_mine(node) {
            return inspect(network);
        }
        let members = self.team.others.iter().map(lock);
        let mut owner = members.filter(|member| member.part.windows.is_mine(node));
        inspect(&owner.next().expect("every unit has a thread").network);
    }
    fn disturb(&mut self, _network: &mut Network, node: u32, at: Time) {
        self.part.windows.run_at(node, at);
        self.team.others.iter().for_each(|member| lock(member).part.windows.run_at(node, at));
    }
}

impl Drop for Threads<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.team.exchange.poison();
        } else {
            self.team.order.store(Order::STOP, Ordering::Relaxed);
            // If this fails, there is no thread left to wait for.
            let _ = self.team.exchange.meet(&mut self.part.spin_limit);
        }
    }
}
