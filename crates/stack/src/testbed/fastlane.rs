//! The kernel's TCP through a port that tells senders of drops (FastLane 3.2, 3.3): what the switch tells, and what kernels
//! that do not know FastLane make of it. They take a notification for a truncated packet, and drop it.

use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use trimline_packet::{BitRate, PortCounters, Time, TimeDelta};

use super::group::{SwitchCount, Watched, with_watched_switches};
use super::network::{Shape, TestNetwork};
use super::tcp::{self, TcpCounters};
use super::watch::Watch;
use crate::clock::Clock;
use crate::switch::Fabric;

/// The MTU of every interface.
const MTU: usize = 1500;

/// Bits of a notification of IPv4 on the wire.
const ONE_BITS: u64 = 64 * 8;

/// How long the switch may take to send the last notification.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Of every link.
    pub rate: BitRate,
    /// Of every link: a round trip has four of them.
    pub delay: TimeDelta,
    /// Packets of each port's memory.
    pub packets: u32,
    /// Bits a second of notifications that each port sends at most.
    pub cap: BitRate,
    /// Hosts that send to one.
    pub senders: u32,
    /// Flows of each of them.
    pub flows: u32,
    /// Bytes of each flow.
    pub bytes: u64,
    /// TCP's congestion control, as the kernel calls it.
    pub congestion: String,
}

impl Setting {
    /// Lines of the head of the switch's configuration. The cap does not conserve work: it holds over any time.
    fn switch(&self) -> String {
        let Setting { rate, delay, packets, cap, .. } = self;
        let parts = u128::from(cap.as_bps()) * 1_000_000_000 / u128::from(rate.as_bps());
        format!(
            "rate = \"{}bps\"\ndelay = \"{}ps\"\npayload = {MTU}\nprofile = \"fastlane\"\npackets = {packets}\n\
             notifications = {{ cap = \"{parts}ppb\", work_conserving = false }}",
            rate.as_bps(),
            delay.as_ps(),
        )
    }

    /// The most notifications that one port begins to send within a second: what the cap brings, and one.
    pub fn most_in_a_second(&self) -> usize {
        (self.cap.as_bps() / ONE_BITS + 1) as usize
    }
}

/// What the switch has counted.
#[derive(Clone, Debug)]
struct Seen {
    ports: Vec<PortCounters>,
    told: Vec<Vec<Time>>,
    held: usize,
}

impl Seen {
    fn of(fabric: &Fabric) -> Seen {
        let ports: Vec<PortCounters> = fabric.counters().map(|(_, _, port)| port).collect();
        let told = (0..ports.len() as u32).map(|port| fabric.notifications(port));
        let told = told.map(|times| times.unwrap_or_default().to_vec()).collect();
        Seen { ports, told, held: fabric.held() }
    }
}

/// What happened to one sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// Notifications that its port sent.
    pub notifications: usize,
    /// Packets that its kernel dropped because they were shorter than their IP length.
    pub truncated: u64,
    /// The most notifications that its port began to send within a second.
    pub most_in_a_second: usize,
}

/// What went through the switch until all flows were complete.
#[derive(Clone, Debug)]
pub struct Measured {
    /// How long it took.
    pub time: Duration,
    /// Each sender.
    pub told: Vec<Told>,
    /// The port of the receiver.
    pub port: PortCounters,
    /// Drops of all ports of which nobody was told: of notifications above all, for which there was no room.
    pub dropped: u64,
    /// What the kernels of the senders counted.
    pub kernel: TcpCounters,
    /// Of all ports.
    pub switch: SwitchCount,
}

/// The most of these times within a second.
fn most_in_a_second(times: &[Time]) -> usize {
    let second = TimeDelta::from_ms(1000);
    let within =
        |&from: &Time| times.iter().filter(|&&at| from <= at && at < from + second).count();
    times.iter().map(within).max().unwrap_or(0)
}

/// Sends flows of a size to one host, and waits until they have arrived and nothing is in the switch. A capture has every
/// frame between a host and the switch.
///
/// # Errors
/// A right is missing, the kernel has no such congestion control, or a flow breaks.
pub fn sized_flows(setting: &Setting, capture: Option<&Path>) -> io::Result<Measured> {
    let network = TestNetwork::build(Shape::Star(1 + setting.senders), MTU)?;
    for host in &network.hosts {
        // A kernel else cuts segments that it made together behind TCP.
        host.namespace.ip(&[format!("link set dev {} gso_max_segs 1", host.interface)])?;
    }
    let (receiver, senders) = network.hosts.split_first().expect("it has a receiver");
    let truncated = || -> io::Result<Vec<u64>> { senders.iter().map(tcp::truncated).collect() };
    let (clock, watch) = (Clock::real(), Watch::new());
    let watched = Watched {
        prepare: |fabric: &mut Fabric| {
            (0..=setting.senders).for_each(|port| fabric.watch_notifications(port));
        },
        show: |fabric: &Fabric| watch.show(|| Seen::of(fabric)),
    };
    let act = || {
        let before = truncated()?;
        let start = Instant::now();
        tcp::transfer(senders, receiver, &setting.congestion, setting.flows, setting.bytes)?;
        let time = start.elapsed();
        let seen = loop {
            let (seen, _) = watch.ask()?;
            // What hosts have sent may be on its way into the switch.
            thread::sleep(Duration::from_millis(100));
            let (later, _) = watch.ask()?;
            if later.held == 0 && later.ports == seen.ports {
                break later;
            }
            if start.elapsed() > time + PATIENCE {
                let text = "the switch does not come to rest";
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
        };
        Ok((time, seen, before, truncated()?, TcpCounters::of(senders)?))
    };
    let ((time, seen, before, after, kernel), switch) =
        with_watched_switches(&network, &setting.switch(), &clock, capture, watched, act)?;
    let told = seen.told[1..].iter().zip(before.iter().zip(&after));
    let told = told.map(|(times, (before, after))| Told {
        notifications: times.len(),
        truncated: after - before,
        most_in_a_second: most_in_a_second(times),
    });
    Ok(Measured {
        time,
        told: told.collect(),
        port: seen.ports[0],
        dropped: seen.ports.iter().map(|port| port.dropped).sum(),
        kernel,
        switch,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_switch_has_the_cap_and_a_second_what_it_brings() {
        let setting = Setting {
            rate: BitRate::from_bps(50_000_000),
            delay: TimeDelta::from_us(250),
            packets: 20,
            cap: BitRate::from_bps(50_000),
            senders: 2,
            flows: 4,
            bytes: 1,
            congestion: "cubic".to_owned(),
        };
        assert_eq!(
            setting.switch(),
            "rate = \"50000000bps\"\ndelay = \"250000000ps\"\npayload = 1500\nprofile = \"fastlane\"\npackets = 20\n\
             notifications = { cap = \"1000000ppb\", work_conserving = false }"
        );
        assert_eq!(setting.most_in_a_second(), 98);
        let ms = |ms| Time::ZERO + TimeDelta::from_ms(ms);
        assert_eq!(most_in_a_second(&[0, 10, 999, 1000, 1009, 2500].map(ms)), 4);
        assert_eq!(most_in_a_second(&[]), 0);
    }
}
