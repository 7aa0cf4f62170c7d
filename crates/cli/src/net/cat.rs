//! `trimline cat`: standard input to a peer's standard output.
//!
//! Standard input and output have a thread each, so that the protocol goes on while they are blocked. They ring the
//! host's bell: it waits for frames, for what is due and for them at once.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError, TrySendError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use trimline_packet::{Time, TimeDelta};
use trimline_stack::host::{Bell, Connection, Core, Failure as Broken, Options};

use super::{Cat, Interface, account, broken, failed, open, say_news};
use crate::failure::Failure;
use crate::terminal;

const SERVICE: u16 = 8;

/// Bytes that are written at once.
const OUTPUT: usize = 1 << 18;

/// The thread that writes waits after a chunk of fewer bytes, so that more gather: to be woken for every packet takes
/// longer than the packet.
const FEW: usize = 1 << 16;

/// How long it waits.
const GATHER: Duration = Duration::from_micros(150);

/// Bytes that are read at once: a pipe has no more.
const INPUT: usize = 1 << 16;

/// Chunks of input that wait for the host.
const INPUTS: usize = 16;

/// How long a host goes on by itself before news are said and statistics written.
const GLANCE: TimeDelta = TimeDelta::from_ms(100);

/// `trimline cat`.
pub(crate) fn cat(what: &Cat) -> Result<ExitCode, Failure> {
    match what {
        Cat::Listen { interface, from } => listen(interface, *from),
        Cat::Send { peer, interface } => send(*peer, interface),
    }
    .map_err(failed("cat"))
}

/// Standard output, and what waits for it.
struct Output {
    /// Chunks for the thread that writes, of which so many bytes count.
    filled: SyncSender<(Vec<u8>, usize)>,
    /// Chunks that were written, to be used again.
    written: Receiver<Vec<u8>>,
    /// What was read since the last chunk: the first `count` bytes.
    chunk: Vec<u8>,
    count: usize,
    writing: JoinHandle<io::Result<()>>,
}

impl Output {
    fn new(bell: Bell) -> io::Result<Output> {
        let (filled, chunks) = mpsc::sync_channel::<(Vec<u8>, usize)>(1);
        let (back, written) = mpsc::sync_channel::<Vec<u8>>(2);
        // Without the buffer of lines that the standard library puts before it.
        let mut out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        let write = move || {
            for (chunk, count) in chunks {
                let result = out.write_all(&chunk[..count]);
                // Where there is no room for it, it is not used again.
                let _ = back.try_send(chunk);
                bell.ring()?;
                result?;
                if count < FEW {
                    std::thread::sleep(GATHER);
                }
            }
            Ok(())
        };
        let writing = std::thread::spawn(write);
        Ok(Output { filled, written, chunk: vec![0; OUTPUT], count: 0, writing })
    }

    /// Takes what has arrived while there is room. Gives whether everything has arrived and was handed over, or nobody
    /// writes any more.
    fn take(&mut self, core: &mut Core, connection: Connection) -> Result<bool, Broken> {
        loop {
            if !self.offer() {
                return Ok(true);
            }
            match core.read(connection, &mut self.chunk[self.count..]) {
                Ok(0) => return Ok(false),
                Ok(count) => self.count += count,
                Err(Broken::Closed) => return Ok(self.count == 0),
                Err(failure) => return Err(failure),
            }
        }
    }

    /// Hands the chunk to the thread that writes, if it has room. Gives whether there is such a thread.
    fn offer(&mut self) -> bool {
        if self.count == 0 {
            return true;
        }
        match self.filled.try_send((std::mem::take(&mut self.chunk), self.count)) {
            Ok(()) => {
                self.chunk = self.written.try_recv().unwrap_or_else(|_| vec![0; OUTPUT]);
                self.count = 0;
            }
            Err(TrySendError::Full((chunk, _))) => self.chunk = chunk,
            Err(TrySendError::Disconnected(_)) => return false,
        }
        true
    }

    /// Waits until everything is written.
    fn end(self) -> io::Result<()> {
        drop(self.filled);
        self.writing.join().map_err(|_| io::Error::other("who writes panicked"))?
    }
}

/// Accepts one connection and reads it to its end.
fn listen(interface: &Interface, from: Option<IpAddr>) -> io::Result<ExitCode> {
    let mut host = open(interface, None)?;
    let mut account = account(interface);
    host.listen(SERVICE);
    let mut output = Output::new(host.bell()?)?;
    let mut connection = None;
    loop {
        let (now, mut is_over) = (host.now(), Ok(false));
        host.run_until(now.saturating_add(GLANCE), |core| {
            welcome(core, now, from, &mut connection);
            is_over = connection.map_or(Ok(false), |connection| output.take(core, connection));
            is_over != Ok(false)
        })?;
        say_news(&mut host);
        let peer = connection.and_then(|connection| host.core().peer(connection));
        let peer = peer.map_or(interface.address, |(peer, _)| peer);
        if is_over.map_err(|failure| broken(peer, failure))? {
            break;
        }
        account.update(&mut host);
    }
    if let Some(connection) = connection {
        host.core().close(connection);
        // The last ACK and our own end are on their way, and perhaps output is still written.
        let until = host.now().saturating_add(TimeDelta::from_ms(200));
        host.run_until(until, |_| false)?;
    }
    account.write(&mut host)?;
    output.end()?;
    Ok(ExitCode::SUCCESS)
}

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

/// Standard input, and what was not sent of it.
struct Input {
    /// Chunks from the thread that reads, of which so many bytes count; none is the end.
    read: Receiver<io::Result<(Vec<u8>, usize)>>,
    /// Chunks that were sent, to be used again.
    sent: SyncSender<Vec<u8>>,
    chunk: Vec<u8>,
    count: usize,
    /// Bytes of it that were sent.
    given: usize,
    /// Bytes that were sent, and when the first came.
    all: u64,
    begin: Option<Instant>,
}

impl Input {
    fn new(bell: Bell) -> Input {
        let (chunks, read) = mpsc::sync_channel(INPUTS);
        let (sent, used) = mpsc::sync_channel::<Vec<u8>>(INPUTS);
        std::thread::spawn(move || {
            let mut input = io::stdin().lock();
            loop {
                let mut chunk = used.try_recv().unwrap_or_else(|_| vec![0; INPUT]);
                let read = input.read(&mut chunk).map(|count| (chunk, count));
                let is_last = !matches!(&read, Ok((_, 1..)));
                if chunks.send(read).is_err() || bell.ring().is_err() || is_last {
                    return;
                }
            }
        });
        Input { read, sent, chunk: Vec::new(), count: 0, given: 0, all: 0, begin: None }
    }

    /// Gives what was read to a connection while it has room. Gives whether that was all.
    fn give(&mut self, core: &mut Core, connection: Connection, peer: IpAddr) -> io::Result<bool> {
        let told = |failure| broken(peer, failure);
        core.failure(connection).map_or(Ok(()), |failure| Err(told(failure)))?;
        loop {
            if self.given == self.count {
                let (chunk, count) = match self.read.try_recv() {
                    Ok(read) => read?,
                    Err(TryRecvError::Empty) => return Ok(false),
                    Err(TryRecvError::Disconnected) => return Ok(true),
                };
                self.begin = self.begin.or_else(|| Some(Instant::now()));
                if count == 0 {
                    return Ok(true);
                }
                let used = std::mem::replace(&mut self.chunk, chunk);
                if !used.is_empty() {
                    // Where there is no room for it, it is not used again.
                    let _ = self.sent.try_send(used);
                }
                (self.count, self.given) = (count, 0);
            }
            let rest = &self.chunk[self.given..self.count];
            let taken = core.write(connection, rest).map_err(told)?;
            (self.given, self.all) = (self.given + taken, self.all + taken as u64);
            if taken == 0 {
                return Ok(false);
            }
        }
    }

    /// What was reached, which is less than the rate where the machine is busy.
    fn say(&self) {
        let seconds = self.begin.map_or(0.0, |begin| begin.elapsed().as_secs_f64());
        let gbps = self.all as f64 * 8e-9 / seconds.max(1e-9);
        terminal::say(&format!("{} B in {seconds:.3} s, {gbps:.2} Gb/s", self.all));
    }
}

fn send(peer: IpAddr, interface: &Interface) -> io::Result<ExitCode> {
    let mut host = open(interface, Some(peer))?;
    let mut account = account(interface);
    let connection = host.connect(peer, SERVICE, Options::default())?;
    let mut input = Input::new(host.bell()?);
    let mut is_over = false;
    while !is_over {
        let until = host.now().saturating_add(GLANCE);
        let mut given = Ok(false);
        host.run_until(until, |core| {
            given = input.give(core, connection, peer);
            !matches!(given, Ok(false))
        })?;
        is_over = given?;
        say_news(&mut host);
        account.update(&mut host);
    }
    host.core().close(connection);
    let is_sent = |core: &mut Core| core.failure(connection).is_some() || core.is_sent(connection);
    while !host.run_until(host.now().saturating_add(GLANCE), is_sent)? {
        say_news(&mut host);
        account.update(&mut host);
    }
    if let Some(failure) = host.core().failure(connection) {
        return Err(broken(peer, failure));
    }
    input.say();
    account.write(&mut host)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::super::pair::{CLIENT, Pair, SERVER};
    use super::*;

    #[test]
    fn one_connection_is_taken_and_all_others_are_refused() {
        let mut pair = Pair::new(SERVICE);
        let mut taken = None;
        let mut ends = Vec::new();
        let other = Some([10, 0, 0, 9].into());
        // Not of the peer that is wanted; the one that is; one more of it, later.
        for from in [other, Some(CLIENT.into()), Some(CLIENT.into())] {
            let near = pair.client.connect(SERVER.into(), SERVICE, Options::default()).unwrap();
            // More than is kept for somebody who does not read.
            pair.client.write(near, &vec![7; 8_000_000]).unwrap();
            ends.push(near);
            for _ in 0..100 {
                pair.run_for(TimeDelta::from_ms(10));
                welcome(&mut pair.server, pair.now, from, &mut taken);
            }
        }
        pair.run_for(TimeDelta::from_ms(20_000));
        let refused = Some(Broken::Refused);
        let failures: Vec<_> = ends.into_iter().map(|near| pair.client.failure(near)).collect();
        assert_eq!(failures, [refused, None, refused]);
        assert!(taken.is_some());
        assert_eq!(pair.server.connections(), 1);
    }
}
