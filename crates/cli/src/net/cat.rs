//! `trimline cat`: standard input to a peer's standard output.
//!
//! Standard output has a thread, and standard input too unless it is a regular file, so that the protocol goes on while they
//! are blocked. They ring the host's bell: it waits for frames, for what is due and for them at once.
//!
//! The sender appends the CRC-32C of its bytes to the stream and closes it. The listener writes all, compares, and answers
//! with one message: the CRC-32C of what it wrote, and in words what is wrong, if anything is. Only this answer lets the
//! sender end well. The listener stays until the answer is ACKed. The ACK may be lost and the sender gone, so it also ends
//! when it has heard nothing for [`LINGER`].

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError, TrySendError};
use std::time::{Duration, Instant};

use serde_json::json;
use trimline_packet::{Time, TimeDelta};
use trimline_stack::host::{Connection, Core, Failure as Broken, Options, Waker};
use trimline_stack::io::standard_output;

use super::{AnyHost, Cat, GLANCE, broken, status, with_host};
use crate::execute::{catch_interrupts, is_stopped};
use crate::failure::Failure;
use crate::stats::Account;

const SERVICE: u16 = 8;

/// Bytes that are written at once.
const OUTPUT: usize = 1 << 19;

/// The thread that writes waits after a chunk of fewer bytes, so that more gather: to be woken for every packet takes
/// longer than the packet.
const FEW: usize = 1 << 18;

/// How long it waits.
const GATHER: Duration = Duration::from_micros(300);

/// Bytes that are read at once: a pipe has 64 KB, and a regular file's stay in the nearest caches.
const INPUT: usize = 1 << 16;

/// Chunks of input that wait for the host.
const INPUTS: usize = 16;

/// Bytes of the checksum behind the stream.
const SUM: usize = 4;

/// A listener whose answer was not ACKed ends after so long without a frame (chosen: it sends its answer five times in this
/// time, with a first time-out of 200 ms; these are not all lost).
const LINGER: TimeDelta = TimeDelta::from_ms(4000);

/// A listener ends after so long without a frame when it has failed or was interrupted, or when its output takes nothing.
const SHORT_LINGER: TimeDelta = TimeDelta::from_ms(500);

/// The longest that a listener stays for its answer, whatever it hears.
const LONGEST_LINGER: TimeDelta = TimeDelta::from_ms(30_000);

/// `trimline cat`.
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
                let source =
                    Source::of(File::from(io::stdin().as_fd().try_clone_to_owned()?), host)?;
                send(host, account, *peer, source, meter)
            };
            (interface, with_host(interface, Some(*peer), send))
        }
    };
    status("cat", interface, outcome)
}

/// The bytes that went through since the first of them, and how often that is said.
#[derive(Clone, Copy, Debug)]
struct Meter {
    every: Option<Duration>,
    /// Time at which the first bytes were seen.
    begin: Option<Instant>,
    /// The end of the last interval, since the first bytes, and the bytes until then.
    last: (Duration, u64),
}

impl Meter {
    fn new(every_seconds: Option<u64>) -> Meter {
        let every = every_seconds.map(Duration::from_secs);
        Meter { every, begin: None, last: (Duration::ZERO, 0) }
    }

    /// Takes note of all bytes that went through until now, and says what the interval had if it is over.
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

    /// Says what went through in all.
    fn finish(&self, account: &Account, all: u64) {
        say(account, Report::Whole, (Duration::ZERO, self.elapsed()), all);
    }
}

/// A report on a transfer.
#[derive(Clone, Copy, Debug)]
enum Report {
    /// The report of one interval.
    Interval,
    /// The report of the whole transfer, at its end.
    Whole,
}

/// Reports the bytes between two times, and their rate.
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

/// Ctrl-C, or a request to terminate.
fn interrupted() -> io::Error {
    io::Error::new(io::ErrorKind::Interrupted, "interrupted")
}

/// An output, and what waits for it.
struct Output {
    /// Sends chunks to the thread that writes, each with the number of its bytes that count. `None` after the last chunk.
    filled: Option<SyncSender<(Vec<u8>, usize)>>,
    /// Chunks that were written, to be used again.
    written: Receiver<Vec<u8>>,
    /// The CRC-32C of all that was written, at the end.
    outcome: Receiver<io::Result<u32>>,
    /// What was read since the last chunk: the first `count` bytes.
    chunk: Vec<u8>,
    count: usize,
    /// Bytes that were handed over.
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
                // Where there is no room for it, it is not used again.
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
            // Nobody takes chunks any more, and the host hears of it.
            drop(write);
            let _ = done.send(outcome);
            let _ = ends.wake();
        });
        let chunk = vec![0; OUTPUT];
        Output { filled: Some(filled), written, outcome, chunk, count: 0, all: 0 }
    }

    /// Takes what has arrived while there is room. Gives whether everything but the checksum was handed over, or nobody
    /// writes any more.
    fn take(&mut self, core: &mut Core, connection: Connection) -> Result<bool, Broken> {
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

    /// Hands the chunk without its last `keep` bytes to the writing thread, if the thread has room. Returns false if the
    /// thread has ended.
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

    /// Hands over the rest but the last `keep` bytes. Gives the CRC-32C of all that was written, once it is.
    fn end(&mut self, keep: usize) -> Option<io::Result<u32>> {
        self.offer(keep);
        if self.count <= keep {
            self.filled = None;
        }
        match self.outcome.try_recv() {
            Ok(outcome) => Some(outcome),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(io::Error::other("who writes panicked"))),
        }
    }

    /// The checksum that the sender appended, if the stream had room for one.
    fn sum(&self) -> Option<u32> {
        self.chunk[..self.count].first_chunk().map(|&bytes| u32::from_be_bytes(bytes))
    }
}

/// A host that receives one stream.
struct Listener<'a> {
    host: &'a mut AnyHost,
    account: &'a mut Account,
    meter: Meter,
    from: Option<IpAddr>,
    connection: Option<Connection>,
}

impl Listener<'_> {
    /// Goes on for a while, or until the connection is there and `is_done`.
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

    /// Takes everything. Gives the connection that it came on.
    fn take(&mut self, output: &mut Output) -> io::Result<()> {
        loop {
            let mut taken = Ok(false);
            self.glance(|core, connection| {
                taken = output.take(core, connection);
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

    /// Waits until everything is written but the last `keep` bytes; not for ever after a failure or Ctrl-C.
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

    /// Tells the sender how it went, and stays until it knows.
    fn answer(&mut self, connection: Connection, sum: u32, wrong: &str) -> io::Result<()> {
        let message = [&sum.to_be_bytes()[..], wrong.as_bytes()].concat();
        // A connection that has failed takes no answer.
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

/// Accepts one connection, writes what comes on it, and answers.
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
    let taken = listener.take(&mut output);
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

/// Both ends say so when the checksums differ.
const ALTERED: &str = "what arrived is not what was sent: its CRC-32C is another";

/// Takes the first connection of a peer that is wanted. All others are refused, those that come later too: nobody would
/// read what they send.
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

/// An input, and the CRC-32C of the bytes that were read of it.
struct Summed {
    input: Box<dyn Read + Send>,
    sum: u32,
}

/// Memory, and the number of its bytes that were read. The number is 0 at the end, where the memory has the checksum.
type Chunk = (Vec<u8>, usize);

impl Summed {
    fn read(&mut self, mut chunk: Vec<u8>) -> io::Result<Chunk> {
        chunk.resize(INPUT, 0);
        let count = self.input.read(&mut chunk)?;
        self.sum = crc32c::crc32c_append(self.sum, &chunk[..count]);
        Ok(if count > 0 { (chunk, count) } else { (self.sum.to_be_bytes().to_vec(), 0) })
    }
}

/// The way in which an input is read.
enum Source {
    /// The host reads a regular file between frames, since that waits for the disk at most.
    File(Summed),
    /// A thread reads any other input, which may wait.
    Thread {
        read: Receiver<io::Result<Chunk>>,
        /// Memory of chunks that were sent, to be used again.
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

    /// Gives the next chunk, if one is there, and takes the memory of the last one.
    fn next(&mut self, last: &mut Vec<u8>) -> io::Result<Option<Chunk>> {
        match self {
            Source::File(input) => input.read(std::mem::take(last)).map(Some),
            Source::Thread { read, sent } => match read.try_recv() {
                Ok(read) => {
                    // Where there is no room for it, it is not used again.
                    let _ = sent.try_send(std::mem::take(last));
                    read.map(Some)
                }
                Err(TryRecvError::Empty) => Ok(None),
                Err(TryRecvError::Disconnected) => Err(io::Error::other("who reads panicked")),
            },
        }
    }
}

/// An input, and what was not sent of it.
struct Input {
    source: Source,
    chunk: Vec<u8>,
    /// Bytes of the chunk that count.
    count: usize,
    /// Bytes of it that were sent.
    given: usize,
    /// Bytes that were sent.
    all: u64,
    /// The checksum, once everything was read.
    sum: Option<[u8; SUM]>,
    /// The connection was closed behind it.
    is_closed: bool,
}

impl Input {
    fn new(source: Source) -> Input {
        let (chunk, count, given) = (Vec::new(), 0, 0);
        Input { source, chunk, count, given, all: 0, sum: None, is_closed: false }
    }

    /// Gives what was read to a connection while it has room, and closes it behind the checksum. Gives the peer's answer,
    /// once it has come.
    fn go_on(
        &mut self,
        core: &mut Core,
        connection: Connection,
    ) -> io::Result<Result<Option<Vec<u8>>, Broken>> {
        // Before anything is written: an answer is the last word of the peer.
        let answer = core.receive(connection);
        if matches!(answer, Ok(None)) && !self.is_closed && self.give(core, connection)? {
            self.is_closed = true;
            core.close(connection);
        }
        Ok(answer)
    }

    /// Gives what was read to a connection while it has room. Gives whether that was all.
    fn give(&mut self, core: &mut Core, connection: Connection) -> io::Result<bool> {
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
            // A failure shows when the answer is asked for.
            let rest = &self.chunk[self.given..self.count];
            let taken = core.write(connection, rest).unwrap_or(0);
            self.given += taken;
            self.all += if self.sum.is_some() { 0 } else { taken as u64 };
            if taken == 0 {
                return Ok(false);
            }
        }
    }

    /// Compares the listener's answer with the checksum of what was sent.
    ///
    /// # Errors
    /// The listener names a failure, or the checksums differ.
    fn judge(&self, peer: IpAddr, answer: &[u8]) -> io::Result<()> {
        let (sum, wrong) = answer.split_at(answer.len().min(SUM));
        let wrong: String = match (wrong.is_empty(), self.sum.is_some_and(|own| own == sum)) {
            (true, true) => return Ok(()),
            (true, false) => ALTERED.into(),
            // It is somebody else's: no more than a line, and nothing that a terminal obeys.
            (false, _) => String::from_utf8_lossy(wrong).escape_debug().take(200).collect(),
        };
        Err(io::Error::new(io::ErrorKind::InvalidData, format!("{peer}: {wrong}")))
    }
}

/// Sends an input, and waits for the answer.
fn send(
    host: &mut AnyHost,
    account: &mut Account,
    peer: IpAddr,
    source: Source,
    mut meter: Meter,
) -> io::Result<ExitCode> {
    let connection = host.connect(peer, SERVICE, Options::default())?;
    let mut input = Input::new(source);
    let answer = loop {
        let mut answer = Ok(Ok(None));
        host.run_until(host.now().saturating_add(GLANCE), |core| {
            answer = input.go_on(core, connection);
            meter.begin = meter.begin.or_else(|| (input.all > 0).then(Instant::now));
            !matches!(answer, Ok(Ok(None)))
        })?;
        account.update(host);
        meter.update(account, input.all);
        match answer? {
            Ok(None) if is_stopped() => break Err(interrupted()),
            Ok(None) => {}
            Ok(Some(answer)) => break Ok(answer),
            Err(failure) => break Err(broken(peer, failure)),
        }
    };
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
