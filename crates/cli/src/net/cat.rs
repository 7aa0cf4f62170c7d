//! `trimline cat`: standard input to a peer's standard output.
//!
//! Standard output has a thread, and standard input too unless it is a regular file, so that the protocol runs while
//! they block. They wake the host, which waits for frames, timers and threads together.
//!
//! The sender appends the CRC-32C of its bytes and closes the stream. The listener writes, compares, and answers with
//! the CRC-32C of its output and the text of an error, if any. The sender succeeds only by this answer. The listener
//! stays until the answer is ACKed; as the ACK may be lost and the sender gone, it also ends after [`LINGER`] without a
//! frame.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError, TrySendError};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use serde_json::json;
use trimline_experiments::{Bar, Failure};
use trimline_packet::{Time, TimeDelta};
use trimline_stack::host::{Connection, Core, Failure as Broken, Options, Waker};
use trimline_stack::io::standard_output;

use super::host::{AnyHost, GLANCE, Interface, broken, status, with_host};
use crate::interrupt::{catch_interrupts, is_stopped};
use crate::stats::Account;

const SERVICE: u16 = 8;

const OUTPUT: usize = 1 << 19;

/// After a smaller chunk the writing thread waits for more bytes: a wake-up per packet takes longer than the packet.
const FEW: usize = 1 << 18;

const GATHER: Duration = Duration::from_micros(300);

/// Bytes per read: a pipe has 64 KB, and a regular file's stay in the nearest caches.
const INPUT: usize = 1 << 16;

const INPUTS: usize = 16;

/// Bytes of the checksum behind the stream.
const SUM: usize = 4;

/// A listener without an ACK ends after this time without a frame (chosen: it sends its answer five times meanwhile,
/// with a first time-out of 200 ms; not all are lost).
const LINGER: TimeDelta = TimeDelta::from_ms(4000);

/// End of a listener that failed, was interrupted or has a blocked output: after this time without a frame.
const SHORT_LINGER: TimeDelta = TimeDelta::from_ms(500);

/// Max time that a listener stays for its answer.
const LONGEST_LINGER: TimeDelta = TimeDelta::from_ms(30_000);

#[derive(Subcommand, Clone, Debug)]
pub(crate) enum Cat {
    /// Receive a stream from one peer and write it to standard output.
    Listen {
        #[command(flatten)]
        interface: Interface,
        /// Accept a stream only from this peer. Default: from any peer.
        #[arg(long, value_name = "ADDRESS")]
        from: Option<IpAddr>,
        #[command(flatten)]
        interval: Interval,
    },
    /// Send standard input to a peer that runs `trimline cat listen`.
    Send {
        /// Address of the peer.
        peer: IpAddr,
        #[command(flatten)]
        interface: Interface,
        #[command(flatten)]
        interval: Interval,
    },
}

/// The interval of reports on a transfer.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Interval {
    /// Report the transferred bytes on standard error every S seconds. Default: no reports.
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: Option<u64>,
}

pub(crate) fn cat(what: &Cat) -> Result<ExitCode, Failure> {
    catch_interrupts()?;
    let (interface, outcome) = match what {
        Cat::Listen { interface, from, interval } => {
            let meter = Meter::new(interval.interval);
            let outcome = standard_output().and_then(|output| {
                let receive =
                    |host: &mut _, account: &mut _| receive(host, account, *from, output, meter);
                with_host(interface, None, receive)
            });
            (interface, outcome)
        }
        Cat::Send { peer, interface, interval } => {
            let meter = Meter::new(interval.interval);
            let send = |host: &mut AnyHost, account: &mut _| {
                let mut file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
                let left = bytes_left(&mut file)?;
                let source = Source::of(file, host)?;
                send(host, account, *peer, (source, left), meter)
            };
            (interface, with_host(interface, Some(*peer), send))
        }
    };
    status("cat", interface, outcome)
}

#[derive(Clone, Copy, Debug)]
struct Meter {
    every: Option<Duration>,
    /// Time at which the first bytes were seen.
    begin: Option<Instant>,
    /// End of the last interval, since the first bytes, and its bytes.
    last: (Duration, u64),
}

impl Meter {
    fn new(every_seconds: Option<u64>) -> Meter {
        let every = every_seconds.map(Duration::from_secs);
        Meter { every, begin: None, last: (Duration::ZERO, 0) }
    }

    /// Records all bytes so far, and reports an interval that is over.
    fn update(&mut self, account: &Account, all: u64) {
        if all > 0 && self.begin.is_none() {
            self.begin = Some(Instant::now());
        }
        let now = self.elapsed();
        if self.every.is_some_and(|every| now >= self.last.0 + every) {
            let (begin, bytes) = self.last;
            self.last = (now, all);
            say(account, Report::Interval, (begin, now), all - bytes);
        }
    }

    fn elapsed(&self) -> Duration {
        self.begin.map_or(Duration::ZERO, |begin| begin.elapsed())
    }

    fn finish(&self, account: &Account, all: u64) {
        say(account, Report::Whole, (Duration::ZERO, self.elapsed()), all);
    }
}

#[derive(Clone, Copy, Debug)]
enum Report {
    Interval,
    Whole,
}

fn say(account: &Account, report: Report, (begin, end): (Duration, Duration), bytes: u64) {
    let [from, to] = [begin, end].map(|time| time.as_secs_f64());
    let gbps = bytes as f64 * 8e-9 / (to - from).max(1e-9);
    let (event, text) = match report {
        Report::Interval => {
            ("interval", format!("{from:.3} to {to:.3} s: {bytes} B, {gbps:.2} Gb/s"))
        }
        Report::Whole => ("transferred", format!("{bytes} B in {to:.3} s, {gbps:.2} Gb/s")),
    };
    let about = [
        ("begin_s", json!(from)),
        ("end_s", json!(to)),
        ("bytes", json!(bytes)),
        ("bits_per_second", json!((gbps * 1e9).round())),
    ];
    account.log().event(event, &about, &text);
}

/// Bytes of a regular file from its position; `None` of other files.
fn bytes_left(file: &mut File) -> io::Result<Option<u64>> {
    let about = file.metadata()?;
    match about.is_file() {
        true => Ok(Some(about.len().saturating_sub(file.stream_position()?))),
        false => Ok(None),
    }
}

fn interrupted() -> io::Error {
    io::Error::new(io::ErrorKind::Interrupted, "interrupted")
}

struct Output {
    /// To the writing thread: chunks with their valid bytes. `None` after the last.
    filled: Option<SyncSender<(Vec<u8>, usize)>>,
    /// Written chunks, for reuse.
    written: Receiver<Vec<u8>>,
    /// CRC-32C of all written bytes, at the end.
    outcome: Receiver<io::Result<u32>>,
    /// Bytes read since the last chunk: the first `count`.
    chunk: Vec<u8>,
    count: usize,
    all: u64,
}

impl Output {
    fn new(mut out: impl Write + Send + 'static, waker: Waker) -> Output {
        let (filled, chunks) = mpsc::sync_channel::<(Vec<u8>, usize)>(1);
        let (back, written) = mpsc::sync_channel::<Vec<u8>>(2);
        let (done, outcome) = mpsc::sync_channel(1);
        let ends = waker.clone();
        let mut write = move || -> io::Result<u32> {
            let mut sum = 0;
            for (chunk, count) in &chunks {
                out.write_all(&chunk[..count])?;
                sum = crc32c::crc32c_append(sum, &chunk[..count]);
                // If the channel is full, the chunk is not reused.
                let _ = back.try_send(chunk);
                waker.wake()?;
                if count < FEW {
                    std::thread::sleep(GATHER);
                }
            }
            out.flush().map(|()| sum)
        };
        std::thread::spawn(move || {
            let outcome = write();
            // Tell the host that chunks are no longer taken.
            drop(write);
            let _ = done.send(outcome);
            let _ = ends.wake();
        });
        let chunk = vec![0; OUTPUT];
        Output { filled: Some(filled), written, outcome, chunk, count: 0, all: 0 }
    }

    /// Reads arrived bytes while there is room. True once all but the checksum was handed over, or the thread has
    /// ended.
    fn read_from(&mut self, core: &mut Core, connection: Connection) -> Result<bool, Broken> {
        loop {
            if !self.offer(SUM) {
                return Ok(true);
            }
            match core.read(connection, &mut self.chunk[self.count..]) {
                Ok(0) => return Ok(false),
                Ok(count) => self.count += count,
                Err(Broken::Closed) => return Ok(self.count <= SUM),
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Hands the chunk without its last `keep` bytes to the writing thread, if it has room. False if the thread has
    /// ended.
    fn offer(&mut self, keep: usize) -> bool {
        let (Some(filled), true) = (&self.filled, self.count > keep) else { return true };
        let count = self.count - keep;
        let mut kept = [0; SUM];
        kept[..keep].copy_from_slice(&self.chunk[count..self.count]);
        match filled.try_send((std::mem::take(&mut self.chunk), count)) {
            Ok(()) => {
                self.chunk = self.written.try_recv().unwrap_or_else(|_| vec![0; OUTPUT]);
                self.chunk[..keep].copy_from_slice(&kept[..keep]);
                (self.count, self.all) = (keep, self.all + count as u64);
            }
            Err(TrySendError::Full((chunk, _))) => self.chunk = chunk,
            Err(TrySendError::Disconnected((chunk, _))) => {
                self.chunk = chunk;
                return false;
            }
        }
        true
    }

    /// Hands over all but `keep` bytes. Returns the CRC-32C of the output once written.
    fn end(&mut self, keep: usize) -> Option<io::Result<u32>> {
        self.offer(keep);
        if self.count <= keep {
            self.filled = None;
        }
        match self.outcome.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                Some(Err(io::Error::other("the writing thread panicked")))
            }
        }
    }

    fn sum(&self) -> Option<u32> {
        self.chunk[..self.count].first_chunk().map(|&bytes| u32::from_be_bytes(bytes))
    }
}

struct Listener<'a> {
    host: &'a mut AnyHost,
    account: &'a mut Account,
    meter: Meter,
    from: Option<IpAddr>,
    connection: Option<Connection>,
}

impl Listener<'_> {
    /// Runs for [`GLANCE`], or until a connection `is_done`.
    fn glance(
        &mut self,
        mut is_done: impl FnMut(&mut Core, Connection) -> bool,
    ) -> io::Result<bool> {
        let Listener { host, account, from, connection, .. } = self;
        let now = host.now();
        let done = host.run_until(now.saturating_add(GLANCE), |core| {
            welcome(core, now, *from, connection);
            connection.is_some_and(|connection| is_done(core, connection))
        })?;
        account.update(host);
        Ok(done)
    }

    fn receive_into(&mut self, output: &mut Output) -> io::Result<()> {
        loop {
            let mut taken = Ok(false);
            self.glance(|core, connection| {
                taken = output.read_from(core, connection);
                taken != Ok(false)
            })?;
            self.meter.update(self.account, output.all);
            match taken {
                Ok(true) => return Ok(()),
                Ok(false) if is_stopped() => return Err(interrupted()),
                Ok(false) => {}
                Err(failure) => {
                    let peer = self.connection.and_then(|one| self.host.core().peer(one));
                    return Err(peer.map_or(failure.into(), |(peer, _)| broken(peer, failure)));
                }
            }
        }
    }

    /// Waits until all but `keep` bytes are written; not for ever after a failure or Ctrl-C.
    fn write(&mut self, output: &mut Output, keep: usize) -> io::Result<u32> {
        let mut until = if keep == 0 { self.host.now() + SHORT_LINGER } else { Time::NEVER };
        let mut written = None;
        loop {
            self.glance(|_, _| {
                written = output.end(keep);
                written.is_some()
            })?;
            if let Some(written) = written {
                return written.map_err(|error| {
                    io::Error::new(error.kind(), format!("standard output: {error}"))
                });
            }
            if is_stopped() {
                until = until.min(self.host.now() + SHORT_LINGER);
            }
            if self.host.now() >= until {
                return Err(interrupted());
            }
        }
    }

    fn answer(&mut self, connection: Connection, sum: u32, wrong: &str) -> io::Result<()> {
        let message = [&sum.to_be_bytes()[..], wrong.as_bytes()].concat();
        // A failed connection takes no answer.
        let _ = self.host.core().send(connection, &message);
        self.host.core().close(connection);
        let linger = if wrong.is_empty() { LINGER } else { SHORT_LINGER };
        let until = self.host.now() + LONGEST_LINGER;
        let mut received = (0, Time::ZERO);
        while !self.glance(|core, one| core.is_sent(one) || core.failure(one).is_some())? {
            let (now, frames) = (self.host.now(), self.host.statistics().frames_in);
            if frames != received.0 {
                received = (frames, now);
            }
            if now >= until.min(received.1 + linger) {
                break;
            }
        }
        Ok(())
    }
}

/// Accepts a connection, writes its stream to the output, and answers.
fn receive(
    host: &mut AnyHost,
    account: &mut Account,
    from: Option<IpAddr>,
    out: impl Write + Send + 'static,
    meter: Meter,
) -> io::Result<ExitCode> {
    host.listen(SERVICE);
    let mut output = Output::new(out, host.waker()?);
    let mut listener = Listener { host, account, meter, from, connection: None };
    let taken = listener.receive_into(&mut output);
    let Some(connection) = listener.connection else { return taken.map(|()| ExitCode::SUCCESS) };
    let keep = if taken.is_ok() { SUM } else { 0 };
    let written = listener.write(&mut output, keep);
    let sum = *written.as_ref().unwrap_or(&0);
    let outcome = match taken.and(written) {
        Ok(sum) if output.sum() == Some(sum) => Ok(ExitCode::SUCCESS),
        Ok(_) => Err(io::Error::new(io::ErrorKind::InvalidData, ALTERED)),
        Err(error) => Err(error),
    };
    let wrong = outcome.as_ref().err().map_or(String::new(), io::Error::to_string);
    listener.answer(connection, sum, &wrong)?;
    let all = output.all;
    if outcome.is_ok() && listener.meter.every.is_some() {
        listener.meter.finish(listener.account, all);
    }
    outcome.map_err(|error| io::Error::new(error.kind(), format!("{error}; {all} B arrived")))
}

/// The error at both ends if the checksums differ.
const ALTERED: &str = "the received bytes differ from the sent bytes: their CRC-32C does not match";

/// Accepts the first connection of a wanted peer. All others are refused: their bytes would not be read.
fn welcome(core: &mut Core, now: Time, from: Option<IpAddr>, taken: &mut Option<Connection>) {
    while let Some(connection) = core.accept() {
        let peer = core.peer(connection);
        let is_wanted = peer.is_some_and(|(peer, _)| from.is_none_or(|from| from == peer));
        match taken {
            None if is_wanted => *taken = Some(connection),
            None | Some(_) => core.abandon(now, connection),
        }
    }
}

struct Summed {
    input: Box<dyn Read + Send>,
    sum: u32,
}

/// Memory, and its bytes read. At the end it is the checksum, with 0.
type Chunk = (Vec<u8>, usize);

impl Summed {
    fn read(&mut self, mut chunk: Vec<u8>) -> io::Result<Chunk> {
        chunk.resize(INPUT, 0);
        let count = self.input.read(&mut chunk)?;
        self.sum = crc32c::crc32c_append(self.sum, &chunk[..count]);
        Ok(if count > 0 { (chunk, count) } else { (self.sum.to_be_bytes().to_vec(), 0) })
    }
}

enum Source {
    /// The host reads a regular file between frames: it waits for the disk at most.
    File(Summed),
    Thread {
        read: Receiver<io::Result<Chunk>>,
        /// Memory of sent chunks, for reuse.
        sent: SyncSender<Vec<u8>>,
    },
}

impl Source {
    fn of(file: File, host: &mut AnyHost) -> io::Result<Source> {
        let is_regular = file.metadata()?.is_file();
        let input = Summed { input: Box::new(file), sum: 0 };
        Ok(if is_regular { Source::File(input) } else { Source::thread(input, host.waker()?) })
    }

    fn thread(mut input: Summed, waker: Waker) -> Source {
        let (chunks, read) = mpsc::sync_channel(INPUTS);
        let (sent, used) = mpsc::sync_channel::<Vec<u8>>(INPUTS);
        std::thread::spawn(move || {
            loop {
                let read = input.read(used.try_recv().unwrap_or_default());
                let is_last = !matches!(&read, Ok((_, 1..)));
                if chunks.send(read).is_err() || waker.wake().is_err() || is_last {
                    return;
                }
            }
        });
        Source::Thread { read, sent }
    }

    /// Returns the next chunk, if any, and reuses the last one's memory.
    fn next(&mut self, last: &mut Vec<u8>) -> io::Result<Option<Chunk>> {
        match self {
            Source::File(input) => input.read(std::mem::take(last)).map(Some),
            Source::Thread { read, sent } => match read.try_recv() {
                Ok(read) => {
                    // If the channel is full, the chunk is not reused.
                    let _ = sent.try_send(std::mem::take(last));
                    read.map(Some)
                }
                Err(TryRecvError::Empty) => Ok(None),
                Err(TryRecvError::Disconnected) => {
                    Err(io::Error::other("the reading thread panicked"))
                }
            },
        }
    }
}

struct Input {
    source: Source,
    chunk: Vec<u8>,
    count: usize,
    given: usize,
    all: u64,
    sum: Option<[u8; SUM]>,
    is_closed: bool,
}

impl Input {
    fn new(source: Source) -> Input {
        let (chunk, count, given) = (Vec::new(), 0, 0);
        Input { source, chunk, count, given, all: 0, sum: None, is_closed: false }
    }

    /// Writes input to a connection while it has room, and closes it after the checksum. Returns the peer's answer, if
    /// any.
    fn go_on(
        &mut self,
        core: &mut Core,
        connection: Connection,
    ) -> io::Result<Result<Option<Vec<u8>>, Broken>> {
        // Before writing: the peer sends nothing after its answer.
        let answer = core.receive(connection);
        if matches!(answer, Ok(None)) && !self.is_closed && self.write_to(core, connection)? {
            self.is_closed = true;
            core.close(connection);
        }
        Ok(answer)
    }

    /// Writes input to a connection while it has room. Returns whether all is written.
    fn write_to(&mut self, core: &mut Core, connection: Connection) -> io::Result<bool> {
        loop {
            if self.given == self.count {
                if self.sum.is_some() {
                    return Ok(true);
                }
                let Some((chunk, count)) = self.source.next(&mut self.chunk)? else {
                    return Ok(false);
                };
                (self.chunk, self.count, self.given) = (chunk, count, 0);
                if count == 0 {
                    self.sum = self.chunk.first_chunk().copied();
                    self.count = SUM;
                }
            }
            // A failure shows when the answer is received.
            let rest = &self.chunk[self.given..self.count];
            let taken = core.write(connection, rest).unwrap_or(0);
            self.given += taken;
            self.all += if self.sum.is_some() { 0 } else { taken as u64 };
            if taken == 0 {
                return Ok(false);
            }
        }
    }

    /// Compares the listener's answer with the checksum of the sent bytes.
    ///
    /// # Errors
    /// Returns the listener's error, or an error if the checksums differ.
    fn judge(&self, peer: IpAddr, answer: &[u8]) -> io::Result<()> {
        let (sum, wrong) = answer.split_at(answer.len().min(SUM));
        let wrong: String = match (wrong.is_empty(), self.sum.is_some_and(|own| own == sum)) {
            (true, true) => return Ok(()),
            (true, false) => ALTERED.into(),
            // The peer's text is not trusted: print a line at most, without control characters.
            (false, _) => String::from_utf8_lossy(wrong).escape_debug().take(200).collect(),
        };
        Err(io::Error::new(io::ErrorKind::InvalidData, format!("{peer}: {wrong}")))
    }
}

fn send(
    host: &mut AnyHost,
    account: &mut Account,
    peer: IpAddr,
    (source, bytes): (Source, Option<u64>),
    mut meter: Meter,
) -> io::Result<ExitCode> {
    let connection = host.connect(peer, SERVICE, Options::default())?;
    let mut input = Input::new(source);
    let bar = Bar::new(bytes.unwrap_or(0), bytes.is_none());
    let answer = loop {
        let mut answer = Ok(Ok(None));
        host.run_until(host.now().saturating_add(GLANCE), |core| {
            answer = input.go_on(core, connection);
            meter.begin = meter.begin.or_else(|| (input.all > 0).then(Instant::now));
            !matches!(answer, Ok(Ok(None)))
        })?;
        account.update(host);
        bar.show(input.all, bytes.unwrap_or(0));
        meter.update(account, input.all);
        match answer? {
            Ok(None) if is_stopped() => break Err(interrupted()),
            Ok(None) => {}
            Ok(Some(answer)) => break Ok(answer),
            Err(failure) => break Err(broken(peer, failure)),
        }
    };
    drop(bar);
    match answer.and_then(|answer| input.judge(peer, &answer)) {
        Ok(()) => {
            meter.finish(account, input.all);
            Ok(ExitCode::SUCCESS)
        }
        Err(error) => {
            let acked = input.all.saturating_sub(host.core().unacked());
            Err(io::Error::new(error.kind(), format!("{error}; {acked} B were ACKed")))
        }
    }
}

#[cfg(test)]
mod tests;
