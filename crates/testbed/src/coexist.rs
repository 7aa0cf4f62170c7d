//! NDP and the kernel's TCP into one port of the switch, each in its own queue under deficit round robin (NDP 3.3):
//! long flows of both, and an incast of NDP beside long flows of TCP.

use std::io;
use std::time::{Duration, Instant};

use trimline_packet::{BitRate, ByteCount, Service, TimeDelta};

use super::group::{Group, SwitchCount, Watched, with_watched_switches};
use super::incast::{self, Answer, Completions, MTU, PAYLOAD, REQUEST_BYTES, SERVICE};
use super::network::{Shape, TestHost, TestNetwork, address};
use super::tcp::{self, Received, TcpCounters};
use super::watch::{Watch, held_up};
use trimline_stack::clock::Clock;
use trimline_stack::host::{Connection, Options};
use trimline_stack::switch::{Fabric, QueueCounters};

/// Bytes of a full TCP segment (IP, TCP and time stamps take 52 of the MTU), and of its frame with FCS.
const SEGMENT: (u64, u64) = (MTU as u64 - 52, MTU as u64 + 18);

/// Warm-up of flows: TCP leaves slow start, and the scheduler moves the threads of hosts and switches apart.
const WARM_UP: Duration = Duration::from_secs(1);

/// Time of TCP alone between two incasts.
const PAUSE: Duration = Duration::from_millis(500);

/// The parameters of a run.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Rate of every link.
    pub rate: BitRate,
    /// Number of long NDP flows, each from its own host.
    pub ndp_flows: u32,
    /// Number of long TCP flows, each from its own host.
    pub tcp_flows: u32,
    /// Packets of TCP's queue; without it TCP's packets are in NDP's data queue.
    pub tcp_queue: Option<u32>,
    /// The kernel's name of TCP's congestion control.
    pub congestion: String,
    /// Length of a measured interval.
    pub time: Duration,
    /// Number of hosts that answer in an incast.
    pub senders: u32,
    /// Bytes of each answer.
    pub bytes: u64,
    /// Number of incasts, one after the other.
    pub incasts: u32,
}

impl Setting {
    fn switch(&self) -> String {
        let queue = self.tcp_queue.map(|packets| format!("\ndroppable_queue = {packets}"));
        format!(
            "rate = \"{}bps\"\npayload = {PAYLOAD}{}",
            self.rate.as_bps(),
            queue.unwrap_or_default()
        )
    }

    /// Returns half of the TCP payload that the port can carry, in bits per second.
    pub fn fair_share(&self) -> f64 {
        let (payload, frame) = SEGMENT;
        self.rate.as_bps() as f64 / 2.0 * payload as f64 / frame as f64
    }

    /// Returns the ideal time of an incast's last answer, in an idle network.
    pub fn ideal(&self) -> Duration {
        let header = 64;
        let wire = self.bytes + header * self.bytes.div_ceil(u64::from(PAYLOAD));
        let first = self.bytes.min(u64::from(PAYLOAD)) + header;
        // The request crosses two links, and so does the first packet; the second link carries everything.
        let bytes = 2 * (header + REQUEST_BYTES as u64) + first + u64::from(self.senders) * wire;
        Duration::from_nanos(self.rate.transmission(ByteCount::new(bytes)).as_ps() / 1000)
    }
}

/// Counters of the receiver's port of the switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCount {
    /// NDP's headers and control packets.
    pub headers: QueueCounters,
    /// NDP's data.
    pub data: QueueCounters,
    /// TCP's packets; equal to `data` if they have no queue of their own.
    pub tcp: QueueCounters,
    /// Packets of NDP's data queue that were trimmed.
    pub trimmed: u64,
}

fn queue_since(now: QueueCounters, before: QueueCounters) -> QueueCounters {
    QueueCounters {
        packets: now.packets - before.packets,
        bytes: now.bytes - before.bytes,
        dropped: now.dropped - before.dropped,
    }
}

impl PortCount {
    fn of(fabric: &Fabric) -> PortCount {
        // Hosts' ports are the first, and the receiver is the first host.
        let queue = |service: Service| fabric.queue_counters(0, service.into());
        let (_, _, port) = fabric.counters().next().expect("a star has a port for each host");
        PortCount {
            headers: queue(Service::Trimmed),
            data: queue(Service::Trimmable),
            tcp: queue(Service::Droppable),
            trimmed: port.trimmed,
        }
    }

    fn since(self, before: PortCount) -> PortCount {
        PortCount {
            headers: queue_since(self.headers, before.headers),
            data: queue_since(self.data, before.data),
            tcp: queue_since(self.tcp, before.tcp),
            trimmed: self.trimmed - before.trimmed,
        }
    }
}

/// The traffic through the port in one or several intervals.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    /// Length of the interval.
    pub time: Duration,
    /// NDP bytes that the receiver's application read.
    pub ndp_bytes: u64,
    /// TCP bytes that the receiver's application read.
    pub tcp_bytes: u64,
    /// Counters of the switch's port.
    pub port: PortCount,
    /// Counters of the kernels of TCP's senders.
    pub kernel: TcpCounters,
    /// Time that the threads of the switch and of NDP's hosts waited for a processor, if the kernel counts it. TCP gets
    /// the port while one of these is held up for longer than NDP's queue lasts.
    pub held_up: Option<Duration>,
}

impl Default for Interval {
    fn default() -> Interval {
        Interval {
            time: Duration::ZERO,
            ndp_bytes: 0,
            tcp_bytes: 0,
            port: PortCount::default(),
            kernel: TcpCounters::default(),
            held_up: Some(Duration::ZERO),
        }
    }
}

impl Interval {
    fn bps(&self, bytes: u64) -> f64 {
        bytes as f64 * 8.0 / self.time.as_secs_f64().max(1e-9)
    }

    /// Returns the goodput of NDP, in bits per second.
    pub fn ndp_bps(&self) -> f64 {
        self.bps(self.ndp_bytes)
    }

    /// Returns the goodput of TCP, in bits per second.
    pub fn tcp_bps(&self) -> f64 {
        self.bps(self.tcp_bytes)
    }

    /// Returns the share of the time that the switch and NDP's hosts were held up; NaN if unknown.
    pub fn held_up_share(&self) -> f64 {
        let held_up = self.held_up.map_or(f64::NAN, |held_up| held_up.as_secs_f64());
        held_up / self.time.as_secs_f64().max(1e-9)
    }

    /// Returns NDP's share of the goodput of both.
    pub fn ndp_share(&self) -> f64 {
        self.ndp_bytes as f64 / (self.ndp_bytes + self.tcp_bytes).max(1) as f64
    }

    /// Returns NDP's share of the bytes that the port sent, if TCP has its own queue.
    pub fn ndp_wire_share(&self) -> f64 {
        let ndp = self.port.headers.bytes + self.port.data.bytes;
        ndp as f64 / (ndp + self.port.tcp.bytes).max(1) as f64
    }

    fn add(&mut self, from: &Sight, to: &Sight) {
        let add = |sum: QueueCounters, more: QueueCounters| QueueCounters {
            packets: sum.packets + more.packets,
            bytes: sum.bytes + more.bytes,
            dropped: sum.dropped + more.dropped,
        };
        self.time += to.at - from.at;
        self.ndp_bytes += to.ndp_bytes - from.ndp_bytes;
        self.tcp_bytes += to.tcp_bytes - from.tcp_bytes;
        let port = to.port.since(from.port);
        self.port = PortCount {
            headers: add(self.port.headers, port.headers),
            data: add(self.port.data, port.data),
            tcp: add(self.port.tcp, port.tcp),
            trimmed: self.port.trimmed + port.trimmed,
        };
        let kernel = to.kernel.since(from.kernel);
        self.kernel.retransmissions += kernel.retransmissions;
        self.kernel.timeouts += kernel.timeouts;
        let more = to.held_up.zip(from.held_up).map(|(now, before)| now.saturating_sub(before));
        self.held_up = self.held_up.zip(more).map(|(sum, more)| sum + more);
    }
}

struct Sight {
    at: Instant,
    ndp_bytes: u64,
    tcp_bytes: u64,
    port: PortCount,
    kernel: TcpCounters,
    held_up: Option<Duration>,
}

struct Observer<'a> {
    watch: &'a Watch<PortCount>,
    tcp_senders: &'a [TestHost],
    tcp_bytes: &'a Received,
}

impl Observer<'_> {
    fn inspect(&self, ndp_bytes: u64) -> io::Result<Sight> {
        let kernel = TcpCounters::of(self.tcp_senders)?;
        let (port, switch) = self.watch.ask()?;
        let held_up = switch.zip(held_up()).map(|(switch, hosts)| switch + hosts);
        let tcp_bytes = self.tcp_bytes.sum();
        Ok(Sight { at: Instant::now(), ndp_bytes, tcp_bytes, port, kernel, held_up })
    }
}

/// Builds a star with the receiver, then NDP's senders, then TCP's, and runs its switch during `act`.
fn on_star<T>(
    setting: &Setting,
    ndp_senders: u32,
    act: impl FnOnce(&mut Group, &[TestHost], &TestHost, &Watch<PortCount>) -> io::Result<T>,
) -> io::Result<(T, SwitchCount)> {
    let network = TestNetwork::build(Shape::Star(1 + ndp_senders + setting.tcp_flows), MTU)?;
    let (clock, watch) = (Clock::real(), Watch::new());
    let window = incast::Options::default().initial_window;
    let show = |fabric: &Fabric| watch.show(|| PortCount::of(fabric));
    let watched = Watched { prepare: |_: &mut Fabric| {}, show };
    with_watched_switches(&network, &setting.switch(), &clock, None, watched, || {
        let mut group = incast::ndp_hosts(&network, 1 + ndp_senders, setting.rate, window, &clock)?;
        let tcp_senders = &network.hosts[1 + ndp_senders as usize..];
        act(&mut group, tcp_senders, &network.hosts[0], &watch)
    })
}

struct NdpFlows {
    connections: Vec<Connection>,
    bytes: Vec<u8>,
    buffer: Vec<u8>,
    received: u64,
}

impl NdpFlows {
    fn open(group: &mut Group) -> io::Result<NdpFlows> {
        let receiver = address(0, 0).into();
        let open = |host: &mut trimline_stack::host::Host<_>| {
            host.core().connect(receiver, SERVICE, Options::default())
        };
        let connections = group.hosts[1..].iter_mut().map(open).collect::<Result<_, _>>()?;
        let (bytes, buffer) = (vec![0x5a; 1 << 16], vec![0; 1 << 18]);
        Ok(NdpFlows { connections, bytes, buffer, received: 0 })
    }

    fn run(&mut self, group: &mut Group, time: Duration) -> io::Result<()> {
        let NdpFlows { connections, bytes, buffer, received } = self;
        let mut failure = None;
        let until = group.now().saturating_add(delta(time));
        group.run_until(until, |hosts| {
            let (receiver, senders) = hosts.split_first_mut().expect("the receiver is the first");
            for (sender, &connection) in senders.iter_mut().zip(&*connections) {
                while failure.is_none() {
                    match sender.core().write(connection, bytes) {
                        Ok(0) => break,
                        Ok(_) => {}
                        Err(error) => failure = Some(error),
                    }
                }
            }
            let core = receiver.core();
            while core.accept().is_some() {}
            while let Some(connection) = core.next_readable() {
                loop {
                    match core.read(connection, buffer) {
                        Ok(0) => break,
                        Ok(count) => *received += count as u64,
                        Err(error) => {
                            failure = Some(error);
                            break;
                        }
                    }
                }
            }
            failure.is_some()
        })?;
        failure.map_or(Ok(()), |failure| Err(failure.into()))
    }
}

fn delta(time: Duration) -> TimeDelta {
    TimeDelta::from_ns(time.as_nanos().min(u128::from(u64::MAX / 1000)) as u64)
}

/// Runs long flows of both kinds into one port. Returns the measured interval, and the switches' counts of the whole
/// run.
///
/// # Errors
/// Fails without a privilege or this congestion control, or if a flow breaks.
pub fn long_flows(setting: &Setting) -> io::Result<(Interval, SwitchCount)> {
    on_star(setting, setting.ndp_flows, |group, tcp_senders, receiver, watch| {
        tcp::beside_flows(tcp_senders, receiver, &setting.congestion, None, |tcp_bytes| {
            let observer = Observer { watch, tcp_senders, tcp_bytes };
            let mut flows = NdpFlows::open(group)?;
            flows.run(group, WARM_UP)?;
            let before = observer.inspect(flows.received)?;
            flows.run(group, setting.time)?;
            let after = observer.inspect(flows.received)?;
            let mut interval = Interval::default();
            interval.add(&before, &after);
            Ok(interval)
        })
    })
}

/// Incasts of NDP, first alone and then beside long flows of TCP.
#[derive(Debug)]
pub struct Incasts {
    /// The completions of each incast without TCP.
    pub alone: Vec<Completions>,
    /// The completions of each incast beside TCP.
    pub beside: Vec<Completions>,
    /// TCP without NDP, before the first incast beside it.
    pub before: Interval,
    /// The sum of all incasts, each from its first request to its last byte.
    pub during: Interval,
}

/// Runs incasts of NDP into a port with long flows of TCP. Returns the results, and the switches' counts of the whole
/// run.
///
/// # Errors
/// Fails as [`long_flows`] does, or if an answer is missing.
pub fn incasts(setting: &Setting) -> io::Result<(Incasts, SwitchCount)> {
    let answer = |server| Answer { server, bytes: setting.bytes, class: 0 };
    let answers: Vec<Answer> = (1..=setting.senders).map(answer).collect();
    let data = vec![0x5a; setting.bytes as usize];
    let received = setting.bytes * u64::from(setting.senders);
    let rest = |group: &mut Group, time: Duration| {
        let until = group.now().saturating_add(delta(time));
        group.run_until(until, |_| false).map(drop)
    };
    on_star(setting, setting.senders, |group, tcp_senders, receiver, watch| {
        let mut alone = Vec::new();
        incast::warm_up(|| incast::ndp_incast(group, &answers, &data))?;
        for _ in 0..setting.incasts {
            rest(group, PAUSE / 10)?;
            alone.push(incast::ndp_incast(group, &answers, &data)?);
        }
        rest(group, PAUSE)?;
        tcp::beside_flows(tcp_senders, receiver, &setting.congestion, None, |tcp_bytes| {
            let observer = Observer { watch, tcp_senders, tcp_bytes };
            rest(group, WARM_UP)?;
            let (mut before, mut during) = (Interval::default(), Interval::default());
            let start = observer.inspect(0)?;
            rest(group, setting.time)?;
            before.add(&start, &observer.inspect(0)?);
            let mut beside = Vec::new();
            for _ in 0..setting.incasts {
                let start = observer.inspect(0)?;
                beside.push(incast::ndp_incast(group, &answers, &data)?);
                during.add(&start, &observer.inspect(received)?);
                rest(group, PAUSE)?;
            }
            Ok(Incasts { alone, beside, before, during })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting() -> Setting {
        Setting {
            rate: BitRate::from_bps(8_000_000),
            ndp_flows: 1,
            tcp_flows: 1,
            tcp_queue: Some(7),
            congestion: "cubic".to_owned(),
            time: Duration::ZERO,
            senders: 3,
            bytes: 3000,
            incasts: 1,
        }
    }

    #[test]
    fn the_ideal_goodput_follows_from_the_receivers_link() {
        // One byte in a microsecond: a request over two links, a packet over the first, three answers over the second.
        assert_eq!(setting().ideal(), Duration::from_micros(2 * 72 + 1564 + 3 * 2 * 1564));
    }

    #[test]
    fn a_fair_share_is_half_of_the_payload_rate_of_the_port() {
        assert_eq!(setting().fair_share().round(), (4e6 * 1548.0 / 1618.0f64).round());
    }

    #[test]
    fn the_switch_has_a_queue_for_tcp_if_requested() {
        let has = |setting: &Setting| setting.switch().contains("droppable_queue = 7");
        assert!(has(&setting()));
        assert!(!has(&Setting { tcp_queue: None, ..setting() }));
    }
}
