//! A copy of every frame in a file for Wireshark (pcap, nanoseconds).

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Caps, LinkState, NextHop, PacketIo, Pieces};
use crate::clock::Clock;

/// A capture file, which several interfaces may write.
#[derive(Clone, Debug)]
pub struct Capture {
    file: Arc<Mutex<BufWriter<File>>>,
    clock: Clock,
}

impl Capture {
    /// Creates a file with times of this clock.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn create(path: &Path, clock: &Clock) -> io::Result<Capture> {
        let mut file = BufWriter::new(File::create(path)?);
        // Nanoseconds; version 2.4; no time zone, no precision; longest frame; Ethernet.
        let words: [u32; 6] = [0xa1b2_3c4d, 4 << 16 | 2, 0, 0, 1 << 16, 1];
        for word in words {
            file.write_all(&word.to_le_bytes())?;
        }
        Ok(Capture { file: Arc::new(Mutex::new(file)), clock: clock.clone() })
    }

    fn frame(&self, pieces: Pieces<'_>) -> io::Result<()> {
        let length = pieces.iter().map(|piece| piece.len()).sum::<usize>() as u32;
        let ns = self.clock.now().as_ps() / 1000;
        let words = [(ns / 1_000_000_000) as u32, (ns % 1_000_000_000) as u32, length, length];
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        for word in words {
            file.write_all(&word.to_le_bytes())?;
        }
        pieces.iter().try_for_each(|piece| file.write_all(piece))
    }

    /// Writes all buffered bytes.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn finish(&self) -> io::Result<()> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).flush()
    }
}

/// An interface with an optional capture.
#[derive(Debug)]
pub struct Captured<I> {
    io: I,
    capture: Option<Capture>,
}

impl<I> Captured<I> {
    /// Returns the interface with this capture, if any.
    pub fn new(io: I, capture: Option<Capture>) -> Captured<I> {
        Captured { io, capture }
    }
}

impl<I: PacketIo> PacketIo for Captured<I> {
    fn rx_burst(&mut self, max: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let Some(capture) = &self.capture else { return self.io.rx_burst(max, take) };
        let mut outcome = Ok(());
        let count = self.io.rx_burst(max, &mut |frame| {
            if outcome.is_ok() {
                outcome = capture.frame(&[frame]);
            }
            take(frame);
        })?;
        outcome.map(|()| count)
    }

    fn tx_burst(&mut self, frames: &[Pieces<'_>]) -> io::Result<usize> {
        let taken = self.io.tx_burst(frames)?;
        if let Some(capture) = &self.capture {
            frames[..taken].iter().try_for_each(|pieces| capture.frame(pieces))?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.io.flush()
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.io.poll_fd()
    }

    fn caps(&self) -> Caps {
        self.io.caps()
    }

    fn link(&mut self) -> io::Result<LinkState> {
        self.io.link()
    }

    fn reopen(&mut self) -> io::Result<()> {
        self.io.reopen()
    }

    fn next_hop(&mut self, peer: IpAddr) -> NextHop {
        self.io.next_hop(peer)
    }

    fn lost(&self) -> u64 {
        self.io.lost()
    }

    fn unreadable(&self) -> u64 {
        self.io.unreadable()
    }

    fn offload(&self) -> u64 {
        self.io.offload()
    }

    fn overrun(&self) -> u64 {
        self.io.overrun()
    }
}
