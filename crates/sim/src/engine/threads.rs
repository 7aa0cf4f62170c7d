//! One run on several threads, with the same results to the bit.
//!
//! Every thread drives the units of its own ([`Partition`]) with the windows engine, through a view of the network
//! ([`view`]). What a unit does depends only on its own events in their order, and the order is not that in
//! which they came: so it makes no difference which thread brings a packet, or when in a round.
//!
//! A round is as many windows as no packet can cross from thread to thread in ([`Partition::lookahead`]): one if all
//! links are alike, more if those of the top tier are longer than others. What others sent in the round before is
//! taken in the middle of a round's first window ([`Exchange`]): the units that do not receive from other threads,
//! more than half of all work, are visited first. So a thread waits for another only when that is more than half a
//! window behind, and what makes one slower for a moment, or takes its processor away, does not stop both.
//!
//! The thread that called drives the first part and everything that concerns the whole run: links that change, the
//! end, checks. The others wait meanwhile.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use trimline_packet::Time;

use super::exchange::{Broken, Exchange, Outgoing, SpinLimit};
use super::windows::Windows;
use super::{Engine, Network};
use crate::partition::Partition;
use crate::table;

/// What the threads do next, and until when: one word.
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

/// A thread's part of the run.
struct Member {
    number: usize,
    network: Network,
    part: Part,
}

/// How a thread works through its part.
struct Part {
    windows: Windows,
    windows_a_round: u64,
    /// Rounds that were ended.
    round: u32,
    /// What the others sent in the last round was not taken yet.
    has_mail: bool,
    spin_limit: SpinLimit,
}

/// What the threads have in common.
struct Team {
    exchange: Exchange,
    order: AtomicU64,
    /// All but the first, which belongs to the thread that called. Each is locked by its thread while it works.
    others: Vec<Mutex<Member>>,
}

/// The engine as the thread that called sees it.
struct Threads<'a> {
    team: &'a Team,
    part: Part,
}

/// Runs `drive` with an engine that works on as many threads as the network was divided among.
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
    let mut windows = unsafe { Windows::divided(network, largest_packet, outgoing) };
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
        // Ends the others whatever happens here.
        let mut threads = Threads { team: &team, part: first };
        drive(network, &mut threads)
    });
    for member in &team.others {
        network.core.take_packets(&lock(member).network.core);
    }
    result
}

/// Another view of a network, without packets.
///
/// # Safety
/// As [`Core::view`](crate::network::Core::view).
unsafe fn view(network: &Network) -> Network {
    let Network { core, switches, hosts } = network;
    // SAFETY: promised by the caller.
    unsafe { Network { core: core.view(), switches: switches.view(), hosts: hosts.view() } }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets the others go when a thread panics.
struct Alarm<'a>(&'a Exchange);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.give_up();
        }
    }
}

impl Team {
    /// What a thread does that was not the one that called.
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
                        self.take(network, me, exchange)?;
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

    /// Hands packets over. Waits for the others if all must be done, or if there is nothing to do meanwhile, and then
    /// goes on in time if that is so for everybody.
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
            self.take(network, me, exchange)?;
            // One that has something to do does not come here, and keeps all others from going on.
            let idle_until = exchange.idle_until(self.round.wrapping_sub(1));
            self.windows.skip_to(idle_until.min(limit));
        }
        Ok(())
    }

    /// Takes what the others sent in the last round, when all have ended it.
    fn take(
        &mut self,
        network: &mut Network,
        me: usize,
        exchange: &Exchange,
    ) -> Result<(), Broken> {
        let round = self.round.wrapping_sub(1);
        exchange.wait(round, &mut self.spin_limit)?;
        exchange.take(round, me, |mail| self.windows.take(network, mail));
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
            self.team.exchange.give_up();
        } else {
            self.team.order.store(Order::STOP, Ordering::Relaxed);
            // Nobody is left to wait for if this fails.
            let _ = self.team.exchange.meet(&mut self.part.spin_limit);
        }
    }
}
