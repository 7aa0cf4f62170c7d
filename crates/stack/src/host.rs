//! An NDP host in the application's thread.
//!
//! [`Host`] is a [`Core`] with a socket and a clock. Nothing happens between its calls: while an application computes,
//! its answers and its peers' packets wait. One process owns an interface, or a declared share of its rate
//! ([`Config::send_rate`] and `ndp.link_rate`).
//!
//! The first packets of a connection open it: there is no handshake (NDP 3.2.2). Each direction is a stream of bytes,
//! divided into messages by the sender. Closing delivers everything first. Abandoning tells the peer by a RESET.
//!
//! # At most once
//! A connection is remembered for `ndp.time_wait` after its last packet, so that late copies of its first packets open
//! none. Connection ids start at random: a restarted client does not meet what its servers remember of it.

mod buffer;
mod cause;
mod config;
mod connection_ids;
mod core;
mod credit;
mod directory;
mod hashing;
mod incoming;
mod key;
mod links;
mod open;
mod outgoing;
mod peers;
mod scoreboard;
mod tokens;
mod wait;
mod waker;

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use trimline_packet::wire::{Error, What};
use trimline_packet::{Kind, Time, TimeDelta};

use self::core::Written;
use crate::clock::{Clock, EPOCH, begins_again, in_this_epoch};
use crate::io::{Caps, LinkState, PacketIo, Pieces};

use self::links::Links;

pub(crate) use self::core::BEHIND_PAYLOAD;
pub use cause::Cause;
pub use config::{Config, Limits, payload_of_mtu};
pub use core::{Backlog, Core};
pub use directory::Streams;
pub use key::Key;
pub use links::News;
pub use scoreboard::{PathCounters, PathStatus};
pub use wait::{Idle, Waiter};
pub use waker::Waker;

/// A handle of a connection of one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Connection {
    index: u32,
    generation: u32,
}

/// The options of a new connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Priority class of the data to send, 0 to 3: the receiver pulls higher classes first.
    pub class: u8,
    /// The time when the connection fails if it is still in use.
    pub deadline: Option<Time>,
    /// True if each message, either way, carries a CRC-32C. The peer must listen with [`Core::listen_checked`]; a host
    /// that does not know checks refuses. The connection carries no stream.
    pub checked: bool,
}

/// The reason why a call on a connection fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No next hop to the peer is known.
    Unreachable,
    /// The peer does not listen, or has abandoned or does not know the connection, for this cause.
    Refused(Cause),
    /// This application closed it, or the peer did and all was read.
    Closed,
    /// Its deadline passed.
    Deadline,
    /// There is no room for the data now ([`Core::has_room`]).
    Full,
    /// A message without bytes.
    Empty,
    /// A message that is longer than [`Limits::message_bytes`].
    TooLong,
    /// This host's limit for the peer or for all is reached ([`Limits`]), and the message is not whole.
    NoRoom,
    /// The peer was not heard for this time.
    DeadPeer(TimeDelta),
    /// The peer was heard, but for this time no data under way arrived. The path loses some packets, or another host
    /// forges answers.
    Stalled(TimeDelta),
    /// Packets of this many bytes, with IP headers, do not arrive, but short ones do: the path's MTU is below the
    /// interface's. Set a smaller one at both ends (`mtu` of [`Config::new`], `--mtu` of the commands).
    PathMtu(u16),
    /// The CRC-32C of a message does not match.
    Altered,
    /// A stream was asked for, but a checked connection carries only messages.
    Unchecked,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let described = match self {
            Failure::Unreachable => "no route to the peer is known",
            Failure::Refused(cause) => return cause.fmt(f),
            Failure::Closed => "the connection is closed",
            Failure::Deadline => "the connection's deadline has passed",
            Failure::Full => "the send buffer has no room for the message",
            Failure::Empty => "a message needs at least one byte",
            Failure::TooLong => "a message is longer than this host accepts",
            Failure::NoRoom => "this host has no room for the rest of a message",
            Failure::DeadPeer(_) => "no packet arrived from the peer",
            Failure::Stalled(_) => "the peer answers, but no data has arrived",
            Failure::Altered => "a message was altered: its CRC-32C does not match",
            Failure::Unchecked => "a checked connection carries only messages, no stream",
            Failure::PathMtu(bytes) => {
                return write!(
                    f,
                    "the peer answers short packets, but packets of {bytes} B or more do not arrive: the MTU of the \
                     path is smaller; set --mtu at both ends"
                );
            }
        };
        f.write_str(described)?;
        if let Failure::DeadPeer(time) | Failure::Stalled(time) = self {
            let tenths = time.as_ps() / 100_000_000_000;
            write!(f, " for {}.{} s", tenths / 10, tenths % 10)?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> io::Error {
        let kind = match failure {
            Failure::Unreachable => io::ErrorKind::HostUnreachable,
            Failure::Refused(_) => io::ErrorKind::ConnectionRefused,
            Failure::Closed => io::ErrorKind::NotConnected,
            Failure::Deadline
            | Failure::DeadPeer(_)
            | Failure::Stalled(_)
            | Failure::PathMtu(_) => io::ErrorKind::TimedOut,
            Failure::Full => io::ErrorKind::WouldBlock,
            Failure::Empty | Failure::TooLong | Failure::Unchecked => io::ErrorKind::InvalidInput,
            Failure::Altered => io::ErrorKind::InvalidData,
            Failure::NoRoom => io::ErrorKind::OutOfMemory,
        };
        io::Error::new(kind, failure)
    }
}

/// Counters of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Frames that arrived.
    pub frames_in: u64,
    /// Bytes that arrived, without FCS.
    pub bytes_in: u64,
    /// Frames that were sent.
    pub frames_out: u64,
    /// Bytes that were sent, without FCS.
    pub bytes_out: u64,
    /// Headers that arrived instead of packets.
    pub trimmed_in: u64,
    /// Headers that came back.
    pub returned_in: u64,
    /// Frames for another host.
    pub misdirected: u64,
    /// Frames that would have exceeded the [`Limits`].
    pub beyond_limits: u64,
    /// Frames to peers without a known Ethernet address.
    pub without_way: u64,
    /// Data packets taken as headers, because arrived data is not read.
    pub without_room: u64,
    /// First packets of unknown hosts answered with a token ([`Config::validates_addresses`]).
    pub challenged: u64,
    /// Frames that name something impossible: packets too far ahead, resets or probes of unknown packets.
    pub implausible: u64,
    /// Refused frames, indexed by reason as in [`What::ALL`].
    pub refused: [u64; What::ALL.len()],
}

impl Statistics {
    fn refuse(&mut self, error: Error) {
        self.refused[error.what as usize] += 1;
    }

    /// Returns the refused frames by the name of the reason.
    pub fn refused_by_reason(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        What::ALL.into_iter().map(What::name).zip(self.refused)
    }

    /// Returns the number of refused frames.
    pub fn refused_in_all(&self) -> u64 {
        self.refused.iter().sum()
    }
}

/// Maximum number of frames received before sending.
const BURST: usize = 64;

/// The time before the link is free at which a frame may be handed over.
const AHEAD: TimeDelta = TimeDelta::from_us(2);

/// Maximum number of ACKs that one data packet may overtake.
const FEW: usize = 2;

/// A host on an interface.
#[derive(Debug)]
pub struct Host<I> {
    io: I,
    core: Core,
    clock: Clock,
    waiter: Waiter,
    /// Frames that the interface had no room for.
    pending: VecDeque<Written>,
    /// Reusable memory of frames.
    spare: Vec<Vec<u8>>,
    links: Links,
    /// The last time read: it falls when the clock restarts.
    latest: Time,
    /// The clock has restarted.
    begun_again: bool,
    /// The waker for other threads.
    waker: Option<Waker>,
    /// Frames that found the ring of the interface full.
    overran: u64,
}

impl<I: PacketIo> Host<I> {
    /// Returns a host without connections.
    pub fn new(io: I, config: Config, clock: Clock) -> Host<I> {
        let (waiter, mut core) = (Waiter::default(), Core::new(config));
        if matches!(clock, Clock::Real(_)) {
            core.ahead = AHEAD;
        }
        let caps = io.caps();
        core.learns_next_hops = !caps.finds_next_hops;
        let links = Links::new(caps.mtu, core.config.longest_packet());
        Host {
            io,
            core,
            clock,
            waiter,
            pending: VecDeque::new(),
            spare: Vec::new(),
            links,
            latest: Time::ZERO,
            begun_again: false,
            waker: None,
            overran: 0,
        }
    }

    /// Returns this host's only waker for other threads.
    ///
    /// # Errors
    /// Fails if the system has no descriptor left.
    pub fn waker(&mut self) -> io::Result<Waker> {
        if self.waker.is_none() {
            self.waker = Some(Waker::new()?);
        }
        Ok(self.waker.clone().expect("it was just made"))
    }

    /// Returns the core, with its connections, messages and streams.
    pub fn core(&mut self) -> &mut Core {
        &mut self.core
    }

    /// Returns the counters of this host.
    pub fn statistics(&self) -> &Statistics {
        &self.core.statistics
    }

    /// Returns when each pull arrived, if [`Config::record_pulls`].
    pub fn pulls_received(&self) -> &[Time] {
        &self.core.pulls_received
    }

    /// Returns the capabilities of the interface.
    pub fn caps(&self) -> Caps {
        self.io.caps()
    }

    /// Returns the next change of the interface, after which the host goes on.
    pub fn news(&mut self) -> Option<News> {
        self.links.next_news()
    }

    /// Returns the state of the interface at its last inspection.
    pub fn link(&self) -> LinkState {
        self.links.state()
    }

    /// Returns the frames that the link or their destination did not take.
    pub fn unsent(&self) -> u64 {
        self.io.lost()
    }

    /// Returns the frames that could not be handed over: see [`PacketIo::unreadable`].
    pub fn unreadable(&self) -> u64 {
        self.io.unreadable()
    }

    /// Returns the frames that arrived too fast: see [`PacketIo::overrun`].
    pub fn overrun(&self) -> u64 {
        self.io.overrun()
    }

    /// Returns the time of its clock.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Returns a descriptor that is readable when frames have arrived.
    pub fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.io.poll_fd()
    }

    /// Returns when [`Host::turn`] has work without an arrival.
    pub fn next(&self) -> Time {
        match self.pending.is_empty() {
            true => self.core.next(),
            // No frame overtakes the pending ones; timers go on.
            false => self.links.blocked_until().min(self.core.next_timer()),
        }
    }

    fn wakes_at(&self, now: Time) -> Time {
        match self.core.config.idle {
            Idle::Block | Idle::Sleep if self.pending.is_empty() => self.core.next_wake(now),
            Idle::Block | Idle::Sleep | Idle::Poll => self.next(),
        }
    }

    /// Receives frames, handles what is due and sends, without waiting. Returns whether there was work.
    ///
    /// # Errors
    /// Fails if the interface is gone or the system refuses.
    pub fn turn(&mut self) -> io::Result<bool> {
        let (received, now) = self.receive_frames()?;
        let sent = self.transmit(now)?;
        let due = self.core.expire(now);
        Ok((due && self.transmit(now)?) | due | sent | received)
    }

    fn receive_frames(&mut self) -> io::Result<(bool, Time)> {
        let Host { core, clock, io, links, latest, begun_again, overran, .. } = self;
        let before = clock.now();
        if begins_again(*latest, before) {
            *begun_again = true;
            core.set_back(EPOCH);
            links.set_back();
            core.pulls_received.clear();
        }
        *latest = before;
        let mut now = None;
        // Each frame has its own time: a PULL that is due rides in the ACK of its packet.
        io.rx_burst(BURST, &mut |frame| {
            let at = clock.now();
            now = Some(at);
            core.receive_frame(at, frame);
        })?;
        let received = now.is_some();
        let now = now.unwrap_or(before);
        links.inspect(now, io, core)?;
        if io.overrun() > *overran {
            *overran = io.overrun();
            core.overran(now);
        }
        Ok((core.expire(now) || received, now))
    }

    fn transmit(&mut self, now: Time) -> io::Result<bool> {
        let mut sent = false;
        if !self.pending.is_empty() && now < self.links.blocked_until() {
            return Ok(false);
        }
        loop {
            // Frames that are written together go in one system call.
            let (mut idle_acks, mut data) = (0, 0);
            while self.pending.len() < BURST {
                let Some((packet, written)) = self.core.transmit_apart(now) else { break };
                if !written.has_way {
                    self.core.frame = written.bytes;
                    continue;
                }
                self.pending.push_back(written);
                self.core.frame = self.spare.pop().unwrap_or_default();
                data += usize::from(packet.header.kind == Kind::Data);
                let is_idle =
                    packet.header.kind == Kind::Ack && packet.header.pull_counter().is_none();
                idle_acks += usize::from(is_idle);
            }
            // An answer does not wait for the ACKs of its question, which pull nothing.
            if data == 1 && idle_acks + data == self.pending.len() && idle_acks <= FEW {
                self.pending.rotate_right(1);
            }
            if self.pending.is_empty() {
                break;
            }
            let taken = self.send_pending()?;
            self.links.took(now, taken > 0);
            self.spare.extend(self.pending.drain(..taken).map(|written| written.bytes));
            sent |= taken > 0;
            if !self.pending.is_empty() {
                self.keep_pending();
                break;
            }
        }
        if sent {
            self.io.flush()?;
        }
        Ok(sent)
    }

    fn send_pending(&mut self) -> io::Result<usize> {
        let Host { core, io, pending, .. } = self;
        let core = &*core;
        // A single frame, as most requests and answers are, allocates nothing.
        if let [written] = pending.make_contiguous() {
            let (pieces, count) = written.pieces(core);
            return io.tx_burst(&[&pieces[..count]]);
        }
        let frames: Vec<([&[u8]; 4], usize)> =
            pending.iter().map(|written| written.pieces(core)).collect();
        let frames: Vec<Pieces<'_>> =
            frames.iter().map(|(pieces, count)| &pieces[..*count]).collect();
        io.tx_burst(&frames)
    }

    /// Copies the payloads of pending frames, whose bytes an ACK may free.
    #[cold]
    fn keep_pending(&mut self) {
        for written in &mut self.pending {
            if let Some(lent) = written.payload.take() {
                let payload = self.core.lent(&lent).concat();
                written.bytes.splice(written.head..written.head, payload);
            }
        }
    }

    /// Turns until `is_done` or the deadline. Returns whether it is done. After a clock restart a deadline may be at
    /// most 53 days ahead.
    ///
    /// # Errors
    /// Fails as [`Host::turn`] does.
    pub fn run_until(
        &mut self,
        mut deadline: Time,
        mut is_done: impl FnMut(&mut Core) -> bool,
    ) -> io::Result<bool> {
        let now = self.clock.now();
        self.transmit(now)?;
        self.core.expire(now);
        loop {
            let (received, now) = self.receive_frames()?;
            // The application first: its answers go together with the ACKs.
            let done = is_done(&mut self.core);
            if done && self.core.config.sends_later {
                return Ok(true);
            }
            let sent = self.transmit(now)?;
            if done {
                return Ok(true);
            }
            // Arrivals before timers: an answer does not wait while old connections are forgotten.
            let due = self.core.expire(now);
            if due && is_done(&mut self.core) {
                self.transmit(now)?;
                return Ok(true);
            }
            if self.begun_again {
                deadline = in_this_epoch(now, deadline);
            }
            if now >= deadline {
                return Ok(false);
            }
            if received || sent || due {
                self.waiter.busy();
            } else {
                let due = self.wakes_at(now).min(deadline);
                let wait = self.waiter.pause(self.core.config.idle, now, due);
                let waker = self.waker.as_ref();
                if let Some(wait) = wait.filter(|_| waker.is_none_or(Waker::may_block)) {
                    let fds = self.io.poll_fd().into_iter().chain(waker.map(Waker::as_fd));
                    self.waiter.block(now, wait, fds)?;
                    waker.into_iter().for_each(Waker::clear);
                }
            }
        }
    }

    /// Opens a connection: see [`Core::connect`].
    ///
    /// # Errors
    /// Fails if no next hop to the peer is known.
    pub fn connect(
        &mut self,
        peer: IpAddr,
        service_port: u16,
        options: Options,
    ) -> Result<Connection, Failure> {
        self.core.connect(peer, service_port, options)
    }

    /// Accepts connections to a service port.
    pub fn listen(&mut self, service_port: u16) {
        let now = self.clock.now();
        self.core.listen(now, service_port);
    }

    /// Accepts connections to a service port, and reserves room for them: see [`Core::listen_with`].
    ///
    /// # Errors
    /// Returns a message if the limits do not have that room.
    pub fn listen_with(&mut self, service_port: u16, backlog: Backlog) -> Result<(), String> {
        let now = self.clock.now();
        self.core.listen_with(now, service_port, backlog)
    }

    /// Accepts checked connections to a service port: see [`Core::listen_checked`].
    pub fn listen_checked(&mut self, service_port: u16) {
        let now = self.clock.now();
        self.core.listen_checked(now, service_port);
    }

    /// Waits for a whole message.
    ///
    /// # Errors
    /// Fails if the connection ended or failed, or no message came in time.
    pub fn receive(&mut self, connection: Connection, wait: TimeDelta) -> io::Result<Vec<u8>> {
        let deadline = self.clock.now().saturating_add(wait);
        let mut outcome = Ok(None);
        self.run_until(deadline, |core| {
            outcome = core.receive(connection);
            !matches!(outcome, Ok(None))
        })?;
        match outcome? {
            Some(message) => Ok(message),
            None => Err(Failure::Deadline.into()),
        }
    }

    /// Waits until all data given to a connection has been ACKed.
    ///
    /// # Errors
    /// Fails if the connection failed or the time is over.
    pub fn drain(&mut self, connection: Connection, wait: TimeDelta) -> io::Result<()> {
        let deadline = self.clock.now().saturating_add(wait);
        let mut failure = None;
        let done = self.run_until(deadline, |core| {
            failure = core.failure(connection);
            failure.is_some() || core.is_sent(connection)
        })?;
        match (failure, done) {
            (Some(failure), _) => Err(failure.into()),
            (None, true) => Ok(()),
            (None, false) => Err(Failure::Deadline.into()),
        }
    }
}
