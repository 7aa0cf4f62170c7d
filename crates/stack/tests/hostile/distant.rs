//! Distant hosts: a path with a rate, a queue and a delay, on a virtual clock.

use std::collections::BTreeMap;

use super::*;
use trimline_stack::host::Connection;

/// One direction of a path: a queue that drops, a rate, and a delay.
struct Way {
    rate: BitRate,
    /// Bytes that wait before further frames are dropped.
    queue: u64,
    free_at: Time,
    delay: TimeDelta,
}

impl Way {
    /// Returns the arrival time of a frame sent now, or `None` if it is dropped.
    fn arrival(&mut self, now: Time, bytes: usize) -> Option<Time> {
        let waits = self.free_at.saturating_since(now);
        if self.rate.bytes_in(waits).get() > self.queue {
            return None;
        }
        self.free_at = now + waits + self.rate.transmission(ByteCount::new(bytes as u64));
        Some(self.free_at + self.delay)
    }
}

/// A client (10.0.0.2) and a server (10.0.0.1) at the ends of a path.
struct Distant {
    now: Time,
    ends: [Core; 2],
    ways: [Way; 2],
    /// Frames on their way, each with its receiver.
    under_way: BTreeMap<(Time, u64), (usize, Vec<u8>)>,
    frames: u64,
    /// One data frame in this many is lost.
    loss: Option<u64>,
    /// Time and number of each data packet that left the client.
    sent: Vec<(Time, u32)>,
    /// Bytes that the server's application has read.
    read: u64,
}

const CLIENT: usize = 0;
const SERVER: usize = 1;

impl Distant {
    /// Makes hosts on links of a rate, and a path of 100 Mb/s.
    fn new(
        link: BitRate,
        round_trip: TimeDelta,
        queue: u64,
        change: impl Fn(&mut Config),
    ) -> Distant {
        let of = |host: u8| {
            let mut config = Config::new(address(host), 1500, link).unwrap();
            config.streams = Some(Streams::seeded(u64::from(host)));
            change(&mut config);
            Core::new(config)
        };
        let mut ends = [of(2), of(1)];
        ends[CLIENT].add_peer(address(1), &[], [2; 6]);
        ends[SERVER].listen(Time::ZERO, SERVICE);
        let way = || Way {
            rate: BitRate::from_bps(100_000_000),
            queue,
            free_at: Time::ZERO,
            delay: TimeDelta::from_ps(round_trip.as_ps() / 2),
        };
        Distant {
            now: ms(1),
            ends,
            ways: [way(), way()],
            under_way: BTreeMap::new(),
            frames: 0,
            loss: None,
            sent: Vec::new(),
            read: 0,
        }
    }

    fn round_trip(&mut self, time: TimeDelta) {
        self.ways.iter_mut().for_each(|way| way.delay = TimeDelta::from_ps(time.as_ps() / 2));
    }

    /// Runs both ends until `until`. The client fills connection `writes`, if given; the server reads.
    fn run_to(&mut self, until: Time, writes: Option<Connection>) {
        let bytes = vec![7; 1 << 16];
        let mut read = vec![0; 1 << 20];
        loop {
            let now = self.now;
            while let Some((&(at, number), _)) = self.under_way.first_key_value()
                && at <= now
            {
                let (end, frame) = self.under_way.remove(&(at, number)).unwrap();
                self.ends[end].receive_frame(now, &frame);
            }
            while let Some(far) = self.ends[SERVER].next_readable() {
                while let Ok(count @ 1..) = self.ends[SERVER].read(far, &mut read) {
                    self.read += count as u64;
                }
            }
            if let Some(near) = writes {
                while self.ends[CLIENT].write(near, &bytes).unwrap() == bytes.len() {}
            }
            for end in [CLIENT, SERVER] {
                self.ends[end].expire(now);
                while let Some((at, packet)) = self.ends[end].transmit(now) {
                    let is_data = end == CLIENT && packet.header.kind == Kind::Data;
                    if is_data {
                        self.sent.push((at, packet.header.sequence));
                    }
                    self.frames += 1;
                    let is_lost = is_data
                        && self
                            .loss
                            .is_some_and(|one| (self.sent.len() as u64).is_multiple_of(one));
                    let frame = self.ends[end].frame().to_vec();
                    if let Some(arrival) = self.ways[end].arrival(now, frame.len())
                        && !is_lost
                    {
                        self.under_way.insert((arrival, self.frames), (1 - end, frame));
                    }
                }
            }
            let next = self.ends.iter().map(Core::next).min().unwrap();
            let next = self.under_way.first_key_value().map_or(next, |(&(at, _), _)| at.min(next));
            if next > until {
                self.now = until;
                return;
            }
            self.now = next.max(now);
        }
    }

    fn open(&mut self) -> Connection {
        self.ends[CLIENT].connect(address(1), SERVICE, Default::default()).unwrap()
    }

    /// Returns the number of packets sent, and of repeated packets among them.
    fn repeated(&self) -> (usize, usize) {
        let mut numbers: Vec<u32> = self.sent.iter().map(|&(_, number)| number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        (self.sent.len(), self.sent.len() - numbers.len())
    }

    /// Runs until `until`. Returns the rate in Mb/s at which the server's application reads.
    fn goodput(&mut self, until: Time, near: Connection) -> u64 {
        let (from, before) = (self.now, self.read);
        self.run_to(until, Some(near));
        (self.read - before) * 8_000_000
            / (until.saturating_since(from).as_ps() / 1_000_000).max(1)
            / 1_000_000
    }
}

const FAR: TimeDelta = TimeDelta::from_ms(50);
const NEAR: TimeDelta = TimeDelta::from_us(100);
const SLOW: BitRate = BitRate::from_bps(100_000_000);
const FAST: BitRate = BitRate::from_gbps(10);

#[test]
fn a_transfer_fills_a_long_path_and_sends_each_packet_once() {
    let mut path = Distant::new(SLOW, FAR, 1 << 30, |_| {});
    let near = path.open();
    let start = path.goodput(ms(1000), near);
    let rate = path.goodput(ms(5000), near);
    let (sent, repeated) = path.repeated();
    println!("{start} Mb/s, then {rate} Mb/s; {sent} packets, {repeated} again");
    assert_eq!(repeated, 0, "of {sent}");
    // Of 100 Mb/s on the wire.
    assert!(rate >= 90, "{rate} Mb/s after {start}");
}

#[test]
fn a_transfer_fills_a_long_path_that_is_narrower_than_its_ends() {
    for queue in [100_000, 600_000] {
        let mut path = Distant::new(FAST, FAR, queue, |_| {});
        let near = path.open();
        let start = path.goodput(ms(3000), near);
        let rate = path.goodput(ms(13_000), near);
        let (sent, repeated) = path.repeated();
        println!("queue {queue}: {start} Mb/s, then {rate} Mb/s; {sent} packets, {repeated} again");
        assert!(rate >= 75, "{rate} Mb/s after {start}, {queue} B");
        assert!(repeated < sent / 20, "{repeated} of {sent}, {queue} B");
    }
}

#[test]
fn near_hosts_behave_as_without_round_trip_measurement() {
    let logs = [true, false].map(|follows| {
        let mut path = Distant::new(SLOW, NEAR, 1 << 30, |config| {
            if !follows {
                config.ndp.follows_path = None;
            }
        });
        let near = path.open();
        path.run_to(ms(500), Some(near));
        path.sent
    });
    assert!(logs[0].len() > 3000, "{} packets", logs[0].len());
    assert!(logs[0] == logs[1]);
}

#[test]
fn the_timeout_follows_the_round_trip_of_the_path() {
    for (round_trip, max) in [(NEAR, 25), (FAR, 170), (TimeDelta::from_ms(150), 460)] {
        let mut path = Distant::new(SLOW, round_trip, 1 << 30, |_| {});
        path.loss = Some(101);
        let near = path.open();
        path.run_to(ms(4000), Some(near));
        // Only lost packets are repeated, after a timeout.
        let (sent, repeated) = path.repeated();
        let lost = sent / 101;
        println!("{round_trip:?}: {repeated} of {sent} again, {lost} lost");
        assert!(repeated <= lost && repeated + 40 > lost, "{repeated} of {sent}");
        let mut first = BTreeMap::new();
        let again = path.sent.iter().skip(2000).filter_map(|&(at, number)| {
            first.insert(number, at).map(|before| at.saturating_since(before))
        });
        let longest = again.max().unwrap_or_default();
        assert!(longest < TimeDelta::from_ms(2 * max), "{longest:?} at {round_trip:?}");
    }
}

#[test]
fn a_path_that_becomes_longer_than_the_timeout_is_measured() {
    let mut path = Distant::new(SLOW, NEAR, 1 << 30, |_| {});
    let near = path.open();
    path.run_to(ms(200), Some(near));
    path.round_trip(TimeDelta::from_ms(300));
    path.run_to(ms(5000), Some(near));
    let (_, repeated) = path.repeated();
    assert!(repeated > 0 && repeated <= 90, "{repeated} again");
    path.run_to(ms(11_000), Some(near));
    let rate = path.goodput(ms(13_000), near);
    assert_eq!(path.repeated().1, repeated, "it is known now");
    assert!(rate > 80, "{rate} Mb/s");
}

#[test]
fn a_path_longer_than_the_first_timeout_costs_one_window() {
    let mut path = Distant::new(SLOW, TimeDelta::from_ms(500), 1 << 30, |_| {});
    let near = path.open();
    path.run_to(ms(6000), Some(near));
    path.run_to(ms(7000), None);
    let (sent, repeated) = path.repeated();
    assert!(sent > 1000 && repeated <= 60, "{repeated} of {sent} again");
    // The next connection knows the path.
    path.sent.clear();
    let other = path.open();
    path.ends[CLIENT].send(other, &[7; 100_000]).unwrap();
    path.run_to(ms(9000), None);
    assert!(path.ends[CLIENT].is_sent(other));
    assert_eq!(path.repeated().1, 0);
}
