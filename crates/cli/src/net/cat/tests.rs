//! Tests of whole transfers between two ends in threads, over cables in memory.

use super::super::pair::{CLIENT, Pair, SERVER};
use super::*;
use std::sync::{Arc, Mutex};
use trimline_packet::BitRate;
use trimline_stack::clock::Clock;
use trimline_stack::host::{Cause, Config, Host};
use trimline_stack::io::mem::{Impairments, Mem, impaired_pair};
use trimline_stack::io::{Caps, PacketIo, Pieces};

/// An output that stores its bytes, until it is full.
#[derive(Clone)]
struct Stored {
    bytes: Arc<Mutex<Vec<u8>>>,
    room: usize,
}

impl Write for Stored {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut stored = self.bytes.lock().unwrap();
        if stored.len() + bytes.len() > self.room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        stored.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An end of a cable that changes sent frames, and may drop received ones.
struct Odd<C, H> {
    end: Mem,
    change: C,
    receives: H,
}

impl<C: FnMut(&mut [u8]), H: FnMut() -> bool> PacketIo for Odd<C, H> {
    fn rx_burst(&mut self, max: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let Odd { end, receives, .. } = self;
        end.rx_burst(max, &mut |frame| {
            if receives() {
                take(frame);
            }
        })
    }

    fn tx_burst(&mut self, frames: &[Pieces<'_>]) -> io::Result<usize> {
        for pieces in frames {
            let mut frame = pieces.concat();
            (self.change)(&mut frame);
            self.end.tx_burst(&[&[&frame]])?;
        }
        Ok(frames.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn poll_fd(&self) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.end.poll_fd()
    }

    fn caps(&self) -> Caps {
        self.end.caps()
    }
}

fn host(io: impl PacketIo + 'static, address: [u8; 4], peer: [u8; 4]) -> AnyHost {
    let mut config = Config::new(address.into(), 1500, BitRate::from_gbps(1)).unwrap();
    (config.validates_addresses, config.joins_acks) = (true, true);
    let mut host = Host::new(io, config, Clock::real());
    if address == CLIENT {
        host.core().add_peer(peer.into(), &[], [2; 6]);
    }
    host.boxed()
}

struct Outcome {
    sender: Result<(), String>,
    listener: Result<(), String>,
    is_whole: bool,
    time: Duration,
}

/// Transfers `bytes` from a reading thread through two hosts to an output with `room`.
fn transfer(bytes: usize, room: usize, cable: (impl PacketIo + Send + 'static, Mem)) -> Outcome {
    transfer_of(Source::thread, bytes, room, cable)
}

fn transfer_of(
    source: fn(Summed, Waker) -> Source,
    bytes: usize,
    room: usize,
    cable: (impl PacketIo + Send + 'static, Mem),
) -> Outcome {
    let sent: Vec<u8> = (0..bytes as u32).map(|n| (n ^ n >> 8) as u8).collect();
    let stored = Stored { bytes: Arc::default(), room };
    let input = Summed { input: Box::new(io::Cursor::new(sent.clone())), sum: 0 };
    let out = stored.clone();
    let start = Instant::now();
    let (near, far) = cable;
    let described = |outcome: io::Result<ExitCode>| outcome.map(drop).map_err(|e| e.to_string());
    let listener = std::thread::spawn(move || {
        let mut host = host(far, SERVER, CLIENT);
        let mut account = Account::default();
        let outcome = receive(&mut host, &mut account, None, out, Meter::new(None));
        super::super::host::say_goodbye(&mut host).unwrap();
        described(outcome)
    });
    let mut host = host(near, CLIENT, SERVER);
    let mut account = Account::default();
    let source = source(input, host.waker().unwrap());
    let sender =
        described(send(&mut host, &mut account, SERVER.into(), (source, None), Meter::new(None)));
    super::super::host::say_goodbye(&mut host).unwrap();
    let time = start.elapsed();
    // The sender is gone, whatever the listener lacks.
    drop(host);
    let listener = listener.join().unwrap();
    let is_whole = *stored.bytes.lock().unwrap() == sent;
    Outcome { sender, listener, is_whole, time }
}

fn lossy(hundredths: u32, seed: u64) -> (Mem, Mem) {
    let loss = Impairments::share(hundredths);
    impaired_pair(1500, Impairments { loss, ..Impairments::default() }, seed).unwrap()
}

/// Number of transfers: `TRIMLINE_TRANSFERS=200 cargo test -p trimline-cli --lib loses -- --nocapture`.
fn transfers() -> u64 {
    std::env::var("TRIMLINE_TRANSFERS").map_or(24, |count| count.parse().expect("a number"))
}

#[test]
fn a_complete_transfer_over_a_lossy_cable_is_no_failure() {
    const AT_ONCE: u64 = 8;
    let all = transfers();
    let run = |first: u64| {
        let mut longest = Duration::ZERO;
        for seed in (first..all).step_by(AT_ONCE as usize) {
            let source =
                if seed % 2 == 0 { Source::thread } else { |input, _| Source::File(input) };
            let Outcome { sender, listener, is_whole, time } =
                transfer_of(source, 100_000, usize::MAX, lossy(1000, seed));
            assert_eq!((sender, listener, is_whole), (Ok(()), Ok(()), true), "{seed}");
            longest = longest.max(time);
        }
        longest
    };
    let longest = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE).map(|first| scope.spawn(move || run(first))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).max().unwrap()
    });
    println!("{all} transfers of 100 kB at 10 % loss, none failed; the longest took {longest:.1?}");
}

#[test]
fn a_megabyte_crosses_a_cable_that_loses_thirty_percent() {
    let Outcome { sender, listener, is_whole, time } =
        transfer(1_000_000, usize::MAX, lossy(3000, 1));
    assert_eq!((sender, listener, is_whole), (Ok(()), Ok(()), true));
    println!("1 MB at 30 % loss in {time:.1?}");
    assert!(time < Duration::from_secs(60), "{time:?}");
}

/// The listener has everything, and none of its frames arrives for a second.
#[test]
fn a_listener_stays_until_its_answer_is_acknowledged() {
    let (end, far) = lossy(0, 0);
    let mut first = None;
    // A token comes first.
    let receives = move || match first {
        None => {
            first = Some(Instant::now());
            true
        }
        Some(first) => first.elapsed() > Duration::from_secs(1),
    };
    let Outcome { sender, listener, is_whole, time } =
        transfer(1000, usize::MAX, (Odd { end, change: |_: &mut [u8]| {}, receives }, far));
    assert_eq!((sender, listener, is_whole), (Ok(()), Ok(()), true));
    assert!(time > Duration::from_secs(1) && time < Duration::from_secs(5), "{time:?}");
}

#[test]
fn bytes_without_a_packet_checksum_are_compared() {
    let (end, far) = lossy(0, 0);
    // Swap two words: no 16-bit sum notices.
    let change = |frame: &mut [u8]| {
        if frame.len() > 1000 {
            frame[200..204].rotate_left(2);
        }
    };
    let outcome = transfer(100_000, usize::MAX, (Odd { end, change, receives: || true }, far));
    assert!(!outcome.is_whole, "no sum of a packet noticed");
    for said in [outcome.sender.unwrap_err(), outcome.listener.unwrap_err()] {
        assert!(said.contains(ALTERED), "{said}");
    }
}

#[test]
fn a_full_output_fails_both_ends_at_once_with_its_cause() {
    let outcome = transfer(8_000_000, 500_000, lossy(0, 0));
    for said in [outcome.sender.unwrap_err(), outcome.listener.unwrap_err()] {
        assert!(said.contains("standard output: no storage space"), "{said}");
    }
    assert!(outcome.time < Duration::from_secs(5), "{:?}", outcome.time);
}

#[test]
fn one_connection_is_accepted_and_all_others_are_refused() {
    let mut pair = Pair::new(SERVICE);
    let mut taken = None;
    let mut ends = Vec::new();
    let other = Some([10, 0, 0, 9].into());
    // From an unwanted peer; from the wanted peer; a later one from the wanted peer.
    for from in [other, Some(CLIENT.into()), Some(CLIENT.into())] {
        let near = pair.client.connect(SERVER.into(), SERVICE, Options::default()).unwrap();
        // More than is buffered for a slow reader.
        pair.client.write(near, &vec![7; 8_000_000]).unwrap();
        ends.push(near);
        for _ in 0..100 {
            pair.run_for(TimeDelta::from_ms(10));
            welcome(&mut pair.server, pair.now, from, &mut taken);
        }
    }
    pair.run_for(TimeDelta::from_ms(20_000));
    let refused = Some(Broken::Refused(Cause::Ended));
    let failures: Vec<_> = ends.into_iter().map(|near| pair.client.failure(near)).collect();
    assert_eq!(failures, [refused, None, refused]);
    assert!(taken.is_some());
    assert_eq!(pair.server.connections(), 1);
}
