//! The exchange of packets between threads, and their waits for each other.
//!
//! Work goes in rounds of one or a few windows. During a round each thread collects packets for other threads' nodes,
//! and at its end puts them into one box per receiver. In the next round it works as far as it can without new packets,
//! waits until all threads have ended the round before, and takes its packets. Even and odd rounds have separate boxes,
//! so that one wait per round is enough: a thread that ends a round has seen all others end the round before, and has
//! emptied their boxes.

use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use trimline_packet::{Handle, Packet, Packets, Telemetry, Time};
use trimline_switch::detour::Steps;

use crate::arena::Arena;
use crate::network::Transmission;
use crate::partition::Partition;
use crate::table::Shared;
use crate::workload::Notice;

/// The number of checks for other threads before a thread sleeps. They take at most a fifth of a millisecond, about as
/// long as a hypervisor sometimes stops a virtual machine.
///
/// With a core per thread the others arrive in time, and sleep would cost more. On shared cores a spinning thread keeps
/// others from running. So a failure halves the checks, and a success doubles them. Now and then a thread spins in
/// spite of failures: sleeping threads arrive late for each other, and would never stop sleeping.
#[derive(Clone, Copy)]
pub(super) struct SpinLimit {
    spins: u32,
    meetings: u32,
}

impl SpinLimit {
    const MAX: u32 = 8_000;
    const ANEW: u32 = 2_000;
    const MIN: u32 = 100;
    const TRY_ANEW: u32 = 32;
    /// Calls of `sched_yield` after spinning, about a microsecond each, before a thread sleeps.
    const YIELDS: u32 = 2_000;

    pub(super) fn new() -> SpinLimit {
        SpinLimit { spins: SpinLimit::MAX, meetings: 0 }
    }

    fn spins(&mut self) -> u32 {
        self.meetings = self.meetings.wrapping_add(1);
        if self.meetings.is_multiple_of(SpinLimit::TRY_ANEW) {
            self.spins = self.spins.max(SpinLimit::ANEW);
        }
        self.spins
    }

    fn is_rewarded(&mut self) {
        self.spins = (self.spins * 2).min(SpinLimit::MAX);
    }

    fn is_in_vain(&mut self) {
        self.spins = (self.spins / 2).max(SpinLimit::MIN);
    }
}

pub(super) struct Letter {
    pub(super) at: Time,
    pub(super) node: u32,
    pub(super) from: Transmission,
    pub(super) packet: Packet,
    pub(super) steps: Steps,
}

#[derive(Default)]
pub(super) struct Mail {
    pub(super) letters: Vec<Letter>,
    /// The telemetry of each letter, in a run that carries it.
    pub(super) telemetry: Vec<Option<Telemetry>>,
    pub(super) notices: Vec<Notice>,
}

impl Mail {
    pub(super) fn is_empty(&self) -> bool {
        self.letters.is_empty() && self.notices.is_empty()
    }
}

/// Messages of one thread to all others in a round.
pub(super) struct Outgoing {
    owners: Shared<u8>,
    /// A bit per node that exchanges packets with other threads.
    border: Shared<u64>,
    me: u8,
    /// By receiver.
    mails: Vec<Mail>,
}

impl Outgoing {
    pub(super) fn new(partition: &Partition, me: usize) -> Outgoing {
        let mails = (0..partition.threads()).map(|_| Mail::default()).collect();
        Outgoing { owners: partition.owners(), border: partition.border(), me: me as u8, mails }
    }

    /// Returns a bit for each of 64 nodes that exchanges packets with other threads.
    #[inline(always)]
    pub(super) fn border(&self, word: usize) -> u64 {
        self.border[word]
    }

    pub(super) fn is_mine(&self, node: u32) -> bool {
        self.owners[node as usize] == self.me
    }

    /// Moves a packet out of this thread's storage if its next node is another thread's. Returns whether it does.
    #[inline]
    pub(super) fn send(
        &mut self,
        arena: &mut Arena,
        node: u32,
        at: Time,
        handle: Handle,
        from: Transmission,
    ) -> bool {
        let owner = self.owners[node as usize];
        if owner == self.me {
            return false;
        }
        let (packet, steps) = (*arena.packet(handle), arena.steps(handle));
        arena.release(handle);
        let letter = Letter { at, node, from, packet, steps };
        let mail = &mut self.mails[usize::from(owner)];
        mail.letters.push(letter);
        if arena.carries_telemetry() {
            mail.telemetry.push(arena.telemetry(handle));
        }
        true
    }

    pub(super) fn notify(&mut self, node: u32, notice: Notice) {
        self.mails[usize::from(self.owners[node as usize])].notices.push(notice);
    }
}

/// Error: another thread of the run panicked.
#[derive(Debug)]
pub(super) struct Broken;

#[repr(align(128))]
#[derive(Default)]
struct Apart<T>(T);

pub(super) struct Exchange {
    threads: usize,
    /// By parity of the round, sender and receiver.
    boxes: [Vec<Apart<Mutex<Mail>>>; 2],
    /// By parity of the round and thread: the end of the thread's idle time.
    idle_until: [Vec<Apart<AtomicU64>>; 2],
    /// Per thread: rounds that have ended.
    ended: Vec<Apart<AtomicU32>>,
    /// Threads that have come to the present meeting.
    arrived: Apart<AtomicU32>,
    meetings: Apart<AtomicU32>,
    is_broken: AtomicBool,
    sleepers: AtomicU32,
    bed: Mutex<()>,
    waker: Condvar,
}

impl Exchange {
    pub(super) fn new(threads: usize) -> Exchange {
        let boxes = || (0..threads * threads).map(|_| Apart::default()).collect();
        let times = || (0..threads).map(|_| Apart::default()).collect();
        Exchange {
            threads,
            boxes: [boxes(), boxes()],
            idle_until: [times(), times()],
            ended: (0..threads).map(|_| Apart::default()).collect(),
            arrived: Apart::default(),
            meetings: Apart::default(),
            is_broken: AtomicBool::new(false),
            sleepers: AtomicU32::new(0),
            bed: Mutex::new(()),
            waker: Condvar::new(),
        }
    }

    fn mail(&self, parity: usize, from: usize, to: usize) -> MutexGuard<'_, Mail> {
        let slot = &self.boxes[parity][from * self.threads + to].0;
        slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a thread's part of a round: puts its messages into the boxes.
    pub(super) fn put(&self, round: u32, me: usize, outgoing: &mut Outgoing, idle_until: Time) {
        let parity = round as usize % 2;
        let mut idle_until = idle_until;
        for (to, mail) in outgoing.mails.iter_mut().enumerate() {
            if !mail.is_empty() {
                // In a long round the thread may have sent first and been idle since.
                idle_until = Time::ZERO;
                // The box was emptied two rounds ago: its memory is reused.
                mem::swap(&mut *self.mail(parity, me, to), mail);
            }
        }
        self.idle_until[parity][me].0.store(idle_until.as_ps(), Ordering::Relaxed);
        // In one order with `sleep`: a thread that counts itself as a sleeper after this sees the new round.
        self.ended[me].0.store(round.wrapping_add(1), Ordering::SeqCst);
        self.wake();
    }

    /// Waits until all threads have ended `round`, the last round of this thread.
    pub(super) fn wait(&self, round: u32, spin_limit: &mut SpinLimit) -> Result<(), Broken> {
        // A thread may have ended the next round too, but not more.
        let has_ended = |ended: &Apart<AtomicU32>| ended.0.load(Ordering::SeqCst) != round;
        self.until(|| self.ended.iter().all(has_ended), spin_limit)
    }

    /// Hands over messages to this thread in a round that all threads have ended.
    pub(super) fn receive(&self, round: u32, me: usize, mut each: impl FnMut(&Mail)) {
        for from in (0..self.threads).filter(|&from| from != me) {
            let mut mail = self.mail(round as usize % 2, from, me);
            each(&mail);
            mail.letters.clear();
            mail.telemetry.clear();
            mail.notices.clear();
        }
    }

    /// Time until which all threads are idle, after all have ended the round.
    pub(super) fn idle_until(&self, round: u32) -> Time {
        let times = self.idle_until[round as usize % 2].iter();
        let first = times.map(|time| time.0.load(Ordering::Relaxed)).min();
        Time::from_ps(first.expect("a run has threads"))
    }

    pub(super) fn meet(&self, spin_limit: &mut SpinLimit) -> Result<(), Broken> {
        let meeting = self.meetings.0.load(Ordering::Acquire);
        if self.arrived.0.fetch_add(1, Ordering::AcqRel) + 1 == self.threads as u32 {
            self.arrived.0.store(0, Ordering::Relaxed);
            self.meetings.0.store(meeting.wrapping_add(1), Ordering::SeqCst);
            self.wake();
            return Ok(());
        }
        self.until(|| self.meetings.0.load(Ordering::SeqCst) != meeting, spin_limit)
    }

    fn until(&self, is_over: impl Fn() -> bool, spin_limit: &mut SpinLimit) -> Result<(), Broken> {
        // A meeting that is over at once says nothing about spinning.
        if is_over() {
            return Ok(());
        }
        for _ in 0..spin_limit.spins() {
            if is_over() {
                spin_limit.is_rewarded();
                return Ok(());
            }
            std::hint::spin_loop();
        }
        spin_limit.is_in_vain();
        for _ in 0..SpinLimit::YIELDS {
            if is_over() {
                return Ok(());
            }
            thread::yield_now();
        }
        self.sleep(is_over)
    }

    #[cold]
    fn sleep(&self, is_over: impl Fn() -> bool) -> Result<(), Broken> {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let mut bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        while !is_over() && !self.is_broken.load(Ordering::SeqCst) {
            bed = self.waker.wait(bed).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        if is_over() { Ok(()) } else { Err(Broken) }
    }

    fn wake(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            let _bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
            self.waker.notify_all();
        }
    }

    /// Releases all waiting threads after a panic.
    pub(super) fn poison(&self) {
        self.is_broken.store(true, Ordering::SeqCst);
        self.wake();
    }
}
