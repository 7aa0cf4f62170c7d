//! Incasts of seven hosts to one (NDP 5.1, Figures 9 and 10), over NDP and over TCP.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use trimline_packet::{BitRate, ByteCount, TimeDelta};

use super::group::{Group, SwitchCount, with_switches};
use super::network::{Shape, TestNetwork, address};
use super::steps::Steps;
use super::sys::{self, Open};
use trimline_stack::clock::Clock;
use trimline_stack::host::{self, Connection, Host, Idle};
use trimline_stack::io::afpacket::AfPacket;

/// Payload of a full packet, in bytes. The paper's testbed has 1500, and its switches queue 12 KB (NDP 4), eight
/// packets.
pub const PAYLOAD: u16 = 1500;
/// The MTU of every interface: a full packet and its headers.
pub const MTU: usize = 1600;
/// The initial window, in packets: the idle round trip between the farthest hosts, four data packets and four ACKs or
/// 4.2 packets, and the eight that a queue on the way may hold (the rule of `initial_window = "bdp"`).
const INITIAL_WINDOW: u32 = 13;

pub(super) const SERVICE: u16 = 7;
/// Bytes of a request: the size of the answer as a number.
pub(super) const REQUEST_BYTES: usize = 8;
/// Number of hosts that answer.
const SERVERS: u32 = 7;
/// Maximum time of one incast.
const STALL_TIMEOUT: TimeDelta = TimeDelta::from_ms(60_000);

/// One answer of an incast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The host that sends it.
    pub server: u32,
    /// Its bytes.
    pub bytes: u64,
    /// Its priority class.
    pub class: u8,
}

/// The options of an NDP incast.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// Packets of a data queue (the paper: 8).
    pub packets: u32,
    /// The initial window, in packets.
    pub initial_window: u32,
    /// The file for a capture of every frame between a host and its switch.
    pub capture: Option<&'a Path>,
    /// Steps of the figure: one ends with each list of answers.
    pub steps: Option<&'a Steps<'a>>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { packets: 8, initial_window: INITIAL_WINDOW, capture: None, steps: None }
    }
}

/// The completion times of an incast, from its first request to the last byte of each answer.
pub type Completions = Vec<Duration>;

/// Returns the ideal time of the last answer in an otherwise idle network. The frontend's link carries all answers,
/// once the first packet can be there. Answers from other ToRs must cross three links before, whatever the nearer
/// server has sent.
pub fn ideal(rate: BitRate, answers: &[Answer]) -> Duration {
    let header = 64;
    let request = header + REQUEST_BYTES as u64;
    let wire = |answer: &Answer| answer.bytes + header * answer.bytes.div_ceil(u64::from(PAYLOAD));
    let first = |answer: &Answer| answer.bytes.min(u64::from(PAYLOAD)) + header;
    // Number of links between a server and the frontend, both ways; host 1 is below the frontend's ToR.
    let links = |answer: &Answer| if answer.server / 2 == 0 { 2 } else { 4 };
    let bound = |fewest: u64| {
        let these = || answers.iter().filter(|answer| links(answer) >= fewest);
        let there = |answer: &Answer| request * links(answer) + first(answer) * (links(answer) - 1);
        these().map(there).min().unwrap_or(0) + these().map(wire).sum::<u64>()
    };
    let bytes = bound(2).max(bound(4));
    Duration::from_nanos(rate.transmission(ByteCount::new(bytes)).as_ps() / 1000)
}

/// Returns the first hosts of a testbed as NDP hosts.
pub(super) fn ndp_hosts(
    network: &TestNetwork,
    hosts: u32,
    rate: BitRate,
    initial_window: u32,
    clock: &Clock,
) -> io::Result<Group> {
    let hosts = (0..hosts).map(|number| {
        let mut config = network.config(number, rate)?;
        config.ndp.payload_bytes = PAYLOAD.min(config.ndp.payload_bytes);
        config.ndp.initial_window = initial_window;
        let mut host = network.host(number, config, clock)?;
        host.listen(SERVICE);
        Ok(host)
    });
    Ok(Group::new(hosts.collect::<io::Result<_>>()?, clock, Idle::Block))
}

/// Answers requests at every server with as many bytes as they ask for.
fn answer_requests(hosts: &mut [Host<AfPacket>], data: &[u8]) {
    for host in &mut hosts[1..] {
        let core = host.core();
        while core.accept().is_some() {}
        while let Some(connection) = core.next_readable() {
            while let Ok(Some(request)) = core.receive(connection) {
                let Some(bytes) = request.first_chunk() else { continue };
                let bytes = u64::from_be_bytes(*bytes) as usize;
                // The send buffer is larger than any answer.
                if core.send(connection, &data[..bytes.min(data.len())]).is_ok() {
                    core.close(connection);
                }
            }
        }
    }
}

/// Runs one incast over NDP. Returns the completions in the order of the requests.
pub(super) fn ndp_incast(
    group: &mut Group,
    answers: &[Answer],
    data: &[u8],
) -> io::Result<Completions> {
    let start = Instant::now();
    let mut waiting: Vec<(usize, Connection)> = Vec::new();
    for (place, answer) in answers.iter().enumerate() {
        let options = host::Options { class: answer.class, ..host::Options::default() };
        let frontend = group.hosts[0].core();
        let connection = frontend.connect(address(answer.server, 0).into(), SERVICE, options)?;
        frontend.send(connection, &answer.bytes.to_be_bytes())?;
        frontend.close(connection);
        waiting.push((place, connection));
    }
    let mut completions = vec![Duration::ZERO; answers.len()];
    let mut wrong = None;
    let deadline = group.now().saturating_add(STALL_TIMEOUT);
    let done = group.run_until(deadline, |hosts| {
        answer_requests(hosts, data);
        let core = hosts[0].core();
        waiting.retain(|&(place, connection)| match core.receive(connection) {
            Ok(None) => true,
            Ok(Some(message)) => {
                completions[place] = start.elapsed();
                if message.len() as u64 != answers[place].bytes {
                    wrong = Some(format!("{} bytes from {}", message.len(), answers[place].server));
                }
                false
            }
            Err(failure) => {
                wrong = Some(format!("server {}: {failure}", answers[place].server));
                false
            }
        });
        waiting.is_empty()
    })?;
    match wrong {
        Some(wrong) => Err(io::Error::other(wrong)),
        None if !done => Err(io::Error::other("an answer did not come within a minute")),
        None => Ok(completions),
    }
}

/// Warm-up of incasts: in the first 100 ms the scheduler moves the threads of hosts and switches apart, and threads
/// that share a core delay each other by milliseconds.
const WARM_UP: Duration = Duration::from_millis(200);

pub(super) fn warm_up(mut incast: impl FnMut() -> io::Result<Completions>) -> io::Result<()> {
    let start = Instant::now();
    loop {
        incast()?;
        if start.elapsed() >= WARM_UP {
            return Ok(());
        }
    }
}

/// Runs incasts over NDP through the paper's testbed, in turn. Returns every repetition's completions for each list of
/// answers.
///
/// # Errors
/// Fails if a privilege is missing or an answer does not come.
pub fn ndp(
    rate: BitRate,
    lists: &[Vec<Answer>],
    repeats: usize,
    options: Options<'_>,
) -> io::Result<(Vec<Vec<Completions>>, SwitchCount)> {
    let network = TestNetwork::build(Shape::FatTree, MTU)?;
    let clock = Clock::real();
    let packets = options.packets;
    let settings =
        format!("rate = \"{}bps\"\npayload = {PAYLOAD}\npackets = {packets}", rate.as_bps());
    with_switches(&network, &settings, &clock, options.capture, || {
        // The switches' thread has the other processor: two threads on one delay each other by milliseconds.
        let _pinned = sys::Pinned::to(0);
        let hosts = network.shape().hosts();
        let mut group = ndp_hosts(&network, hosts, rate, options.initial_window, &clock)?;
        let longest = lists.iter().flatten().map(|answer| answer.bytes).max().unwrap_or(0);
        let data = vec![0x5a; longest as usize];
        let mut all = Vec::new();
        for answers in lists {
            warm_up(|| ndp_incast(&mut group, answers, &data))?;
            let mut completions = Vec::new();
            for _ in 0..repeats {
                let quiet = group.now().saturating_add(TimeDelta::from_ms(5));
                group.run_until(quiet, |_| false)?;
                completions.push(ndp_incast(&mut group, answers, &data)?);
            }
            all.push(completions);
            if let Some(steps) = options.steps {
                steps.end(());
            }
        }
        Ok(all)
    })
}

/// Packets that a TCP port queues before it drops (chosen: hundreds, as NDP 3.3 says of TCP's queues).
const TCP_QUEUE: u32 = 100;

/// Runs incasts over TCP with cubic as [`ndp`] does, with a new connection for each answer, through switches that drop.
///
/// # Errors
/// Fails as [`ndp`] does.
pub fn tcp(
    rate: BitRate,
    lists: &[Vec<Answer>],
    repeats: usize,
    steps: &Steps<'_>,
) -> io::Result<(Vec<Vec<Completions>>, SwitchCount)> {
    let network = TestNetwork::build(Shape::FatTree, MTU)?;
    let clock = Clock::real();
    let settings = format!(
        "rate = \"{}bps\"\npayload = {PAYLOAD}\nprofile = \"drop-tail\"\npackets = {TCP_QUEUE}",
        rate.as_bps()
    );
    with_switches(&network, &settings, &clock, None, || {
        let listeners = (1..=SERVERS)
            .map(|server| {
                network.hosts[server as usize].namespace.inside(|| {
                    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, SERVICE))?;
                    sys::set_congestion(&listener, "cubic")?;
                    listener.set_nonblocking(true)?;
                    Ok(listener)
                })
            })
            .collect::<io::Result<Vec<_>>>()?;
        let longest = lists.iter().flatten().map(|answer| answer.bytes).max().unwrap_or(0);
        let data = vec![0x5a; longest as usize];
        let mut all = Vec::new();
        for answers in lists {
            let mut incast = || tcp_incast(&network, &listeners, answers, &data);
            warm_up(&mut incast)?;
            all.push(steps.end((0..repeats).map(|_| incast()).collect::<io::Result<_>>()?));
        }
        Ok(all)
    })
}

struct Giving {
    stream: TcpStream,
    left: usize,
    asked: Vec<u8>,
}

fn unless_blocked(outcome: io::Result<usize>) -> io::Result<Option<usize>> {
    match outcome {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

fn tcp_incast(
    network: &TestNetwork,
    listeners: &[TcpListener],
    answers: &[Answer],
    data: &[u8],
) -> io::Result<Completions> {
    let start = Instant::now();
    let mut streams = network.hosts[0].namespace.inside(|| {
        let open = |answer: &Answer| {
            sys::tcp_connect(address(answer.server, 0), SERVICE, Open::Plain, false, &[])
                .map(|(stream, _)| (stream, 0u64, false))
        };
        answers.iter().map(open).collect::<io::Result<Vec<_>>>()
    })?;
    let mut completions = vec![None; answers.len()];
    let mut giving: Vec<Giving> = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    while completions.iter().any(Option::is_none) {
        if start.elapsed() > Duration::from_secs(60) {
            return Err(io::Error::other("an answer did not come within a minute"));
        }
        let mut busy = false;
        for listener in listeners {
            if let Ok((stream, _)) = listener.accept() {
                stream.set_nonblocking(true)?;
                stream.set_nodelay(true)?;
                giving.push(Giving { stream, left: 0, asked: Vec::new() });
                busy = true;
            }
        }
        for giver in &mut giving {
            if giver.asked.len() < REQUEST_BYTES {
                let count = unless_blocked(giver.stream.read(&mut buffer))?.unwrap_or(0);
                giver.asked.extend_from_slice(&buffer[..count]);
                if let Some(asked) = giver.asked.first_chunk() {
                    giver.left = u64::from_be_bytes(*asked) as usize;
                }
            }
            while giver.left > 0 {
                let Some(count) = unless_blocked(giver.stream.write(&data[..giver.left]))? else {
                    break;
                };
                giver.left -= count;
                busy = true;
            }
        }
        giving.retain(|giver| giver.asked.len() < REQUEST_BYTES || giver.left > 0);
        for (place, (stream, got, asked)) in streams.iter_mut().enumerate() {
            if !*asked {
                match stream.write(&answers[place].bytes.to_be_bytes()) {
                    Ok(_) => *asked = true,
                    Err(error)
                        if matches!(
                            error.kind(),
                            io::ErrorKind::NotConnected | io::ErrorKind::WouldBlock
                        ) => {}
                    Err(error) => return Err(error),
                }
            }
            while completions[place].is_none()
                && let Some(count) = unless_blocked(stream.read(&mut buffer)).or_else(|error| {
                    // Not connected yet.
                    if *asked { Err(error) } else { Ok(None) }
                })?
            {
                busy = true;
                *got += count as u64;
                if *got >= answers[place].bytes || count == 0 {
                    completions[place] = Some(start.elapsed());
                }
            }
        }
        if !busy {
            thread::sleep(Duration::from_micros(20));
        }
    }
    Ok(completions.into_iter().flatten().collect())
}

/// Returns seven equal answers.
pub fn equal_answers(bytes: u64) -> Vec<Answer> {
    (1..=SERVERS).map(|server| Answer { server, bytes, class: 0 }).collect()
}

/// Returns a short answer from the farthest server, and long ones from the six others if `has_long`.
pub fn short_among_long(short: u64, long: u64, class: u8, has_long: bool) -> Vec<Answer> {
    let mut answers = vec![Answer { server: SERVERS, bytes: short, class }];
    if has_long {
        answers.extend((1..SERVERS).map(|server| Answer { server, bytes: long, class: 0 }));
    }
    answers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ideal_time_follows_from_the_last_link() {
        let rate = BitRate::from_bps(8_000_000);
        let us = |bytes: u64| Duration::from_micros(bytes);
        // One far server: its request over four links, its packet over all four.
        let one = [Answer { server: 7, bytes: 9000, class: 0 }];
        assert_eq!(ideal(rate, &one), us(4 * 72 + 3 * 1564 + 6 * 1564));
        // Large answers: the near server keeps the last link busy until the others come.
        let large = equal_answers(900_000);
        assert_eq!(ideal(rate, &large), us(2 * 72 + 1564 + 7 * 600 * 1564));
        // Small answers: it does not.
        let small = equal_answers(1000);
        assert_eq!(ideal(rate, &small), us(4 * 72 + 3 * 1064 + 6 * 1064));
    }
}
