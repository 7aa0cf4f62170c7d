//! The kernel's TCP through a port that sends notifications of drops (FastLane 3.2, 3.3), and their effect on kernels
//! that do not know FastLane. They drop a notification as a truncated packet.

use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use trimline_packet::{BitRate, PortCounters, Service, Time, TimeDelta};

use super::group::{SwitchCount, Watched, with_watched_switches};
use super::network::{Shape, TestNetwork};
use super::tcp::{self, TcpCounters, Transferred};
use super::watch::Watch;
use trimline_stack::clock::Clock;
use trimline_stack::switch::{Fabric, Unnotified};

const MTU: usize = 1500;

/// Bits of an IPv4 notification on the wire.
const ONE_BITS: u64 = 64 * 8;

const STALL_TIMEOUT: Duration = Duration::from_secs(20);

/// The parameters of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Rate of every link.
    pub rate: BitRate,
    /// Delay of every link: a round trip has four links.
    pub delay: TimeDelta,
    /// Packets of each port's memory.
    pub packets: u32,
    /// Maximum rate of notifications at each port.
    pub cap: BitRate,
    /// Number of hosts that send to one.
    pub senders: u32,
    /// Flows of each sender.
    pub flows: u32,
    /// Bytes of each flow.
    pub bytes: u64,
    /// The kernel's name of TCP's congestion control.
    pub congestion: String,
}

impl Setting {
    /// Returns the first lines of the switch's configuration. The cap is not work-conserving: it holds over any time.
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

    /// Returns the maximum notifications that a port begins to send in a second: the cap, plus one.
    pub fn max_in_a_second(&self) -> usize {
        (self.cap.as_bps() / ONE_BITS + 1) as usize
    }
}

#[derive(Clone, Debug)]
struct Seen {
    ports: Vec<PortCounters>,
    told: Vec<Vec<Time>>,
    /// Notifications that found no room at any port.
    without_room: u64,
    unnotified: Vec<(Unnotified, u64)>,
    held: usize,
}

impl Seen {
    fn of(fabric: &Fabric) -> Seen {
        let ports: Vec<PortCounters> = fabric.counters().map(|(_, _, port)| port).collect();
        let told = (0..ports.len() as u32).map(|port| fabric.notifications(port));
        let told = told.map(|times| times.unwrap_or_default().to_vec()).collect();
        let queue = |port| fabric.queue_counters(port, Service::Notification.into());
        let without_room = (0..ports.len() as u32).map(|port| queue(port).dropped).sum();
        let unnotified = fabric.unnotified().expect("its ports tell senders of drops").to_vec();
        Seen { ports, told, without_room, unnotified, held: fabric.held() }
    }
}

/// The notifications of one sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// Notifications that its port sent.
    pub notifications: usize,
    /// Packets that its kernel dropped as shorter than their IP length.
    pub truncated: u64,
    /// Maximum notifications that its port began to send within a second.
    pub max_in_a_second: usize,
}

/// The results of all flows until they were complete.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Time until completion.
    pub time: Duration,
    /// The notifications of each sender.
    pub told: Vec<Told>,
    /// Counters of the receiver's port.
    pub port: PortCounters,
    /// Drops at all ports that became notifications.
    pub notified: u64,
    /// All other drops: of notifications without room, and of frames that get no notification.
    pub dropped: u64,
    /// Notifications dropped because a port's memory for them was full.
    pub without_room: u64,
    /// Frames dropped without a notification, for each reason.
    pub unnotified: Vec<(Unnotified, u64)>,
    /// The results of the flows.
    pub flows: Transferred,
    /// Counters of the senders' kernels.
    pub kernel: TcpCounters,
    /// Counts of all ports of the switch.
    pub switch: SwitchCount,
    /// Time that the switch's thread waited for a processor, if the kernel counts it.
    pub held_up: Option<Duration>,
}

impl Measured {
    /// Returns the notifications that all senders' ports sent.
    pub fn sent(&self) -> u64 {
        self.told.iter().map(|told| told.notifications as u64).sum()
    }

    /// Returns the drops of packets with payload without a notification. Packets without payload get one only on
    /// request.
    pub fn unnotified_data(&self) -> u64 {
        let is_data = |reason: Unnotified| match reason {
            Unnotified::Control => false,
            Unnotified::NoIp
            | Unnotified::Group
            | Unnotified::Malformed
            | Unnotified::Fragment
            | Unnotified::Protocol
            | Unnotified::Notification => true,
        };
        self.unnotified.iter().filter(|&&(reason, _)| is_data(reason)).map(|(_, count)| count).sum()
    }

    /// Returns the notifications made that were neither sent nor dropped for lack of room, or vice versa, plus other
    /// drops without a reason.
    pub fn unaccounted(&self) -> u64 {
        let unnotified: u64 = self.unnotified.iter().map(|(_, count)| count).sum();
        self.notified.abs_diff(self.sent() + self.without_room)
            + self.dropped.abs_diff(self.without_room + unnotified)
    }

    /// Returns the difference between notifications sent to senders and packets that their kernels counted as
    /// truncated.
    pub fn miscounted(&self) -> u64 {
        self.told.iter().map(|told| told.truncated.abs_diff(told.notifications as u64)).sum()
    }

    /// Returns the maximum notifications that a sender's port began to send within a second.
    pub fn max_in_a_second(&self) -> usize {
        self.told.iter().map(|told| told.max_in_a_second).max().unwrap_or(0)
    }

    /// Returns the percentage of time that the switch's thread waited for a processor; NaN if unknown.
    pub fn held_up_percent(&self) -> f64 {
        let held_up = self.held_up.map_or(f64::NAN, |held_up| held_up.as_secs_f64());
        held_up / self.time.as_secs_f64().max(1e-9) * 100.0
    }
}

fn max_in_a_second(times: &[Time]) -> usize {
    let second = TimeDelta::from_ms(1000);
    let within =
        |&from: &Time| times.iter().filter(|&&at| from <= at && at < from + second).count();
    times.iter().map(within).max().unwrap_or(0)
}

/// Sends flows of one size to one host, and waits until they are complete and the switch is empty. A capture has every
/// frame between a host and the switch.
///
/// # Errors
/// Fails without a privilege or this congestion control.
pub fn sized_flows(setting: &Setting, capture: Option<&Path>) -> io::Result<Measured> {
    let network = TestNetwork::build(Shape::Star(1 + setting.senders), MTU)?;
    for host in &network.hosts {
        // Otherwise TCP joins segments, and the kernel segments them below it.
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
        let (_, held_up_before) = watch.ask()?;
        let start = Instant::now();
        let flows =
            tcp::transfer(senders, receiver, &setting.congestion, setting.flows, setting.bytes)?;
        let time = start.elapsed();
        let (_, held_up) = watch.ask()?;
        let held_up = held_up.zip(held_up_before).map(|(to, from)| to.saturating_sub(from));
        let seen = loop {
            let (seen, _) = watch.ask()?;
            // Frames that hosts have sent may be on their way into the switch.
            thread::sleep(Duration::from_millis(100));
            let (later, _) = watch.ask()?;
            if later.held == 0 && later.ports == seen.ports {
                break later;
            }
            if start.elapsed() > time + STALL_TIMEOUT {
                let text = "the switch did not become idle";
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
        };
        Ok(((time, held_up, flows), seen, [before, truncated()?], TcpCounters::of(senders)?))
    };
    let (((time, held_up, flows), seen, [before, after], kernel), switch) =
        with_watched_switches(&network, &setting.switch(), &clock, capture, watched, act)?;
    let told = seen.told[1..].iter().zip(before.iter().zip(&after));
    let told = told.map(|(times, (before, after))| Told {
        notifications: times.len(),
        truncated: after - before,
        max_in_a_second: max_in_a_second(times),
    });
    Ok(Measured {
        time,
        told: told.collect(),
        port: seen.ports[0],
        notified: seen.ports.iter().map(|port| port.notified).sum(),
        dropped: seen.ports.iter().map(|port| port.dropped).sum(),
        without_room: seen.without_room,
        unnotified: seen.unnotified,
        flows,
        kernel,
        switch,
        held_up,
    })
}

#[cfg(test)]
impl Measured {
    /// Seven notifications found no room, and five frames got no notification.
    pub(super) fn sound(told: Vec<Told>) -> Measured {
        let sent: u64 = told.iter().map(|told| told.notifications as u64).sum();
        Measured {
            time: Duration::from_secs(2),
            told,
            port: PortCounters::default(),
            notified: sent + 7,
            dropped: 12,
            without_room: 7,
            unnotified: vec![(Unnotified::Control, 5), (Unnotified::Malformed, 0)],
            flows: Transferred::default(),
            kernel: TcpCounters::default(),
            switch: SwitchCount::default(),
            held_up: Some(Duration::from_millis(100)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_switch_configuration_has_the_notification_cap() {
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
        assert_eq!(setting.max_in_a_second(), 98);
        let ms = |ms| Time::ZERO + TimeDelta::from_ms(ms);
        assert_eq!(max_in_a_second(&[0, 10, 999, 1000, 1009, 2500].map(ms)), 4);
        assert_eq!(max_in_a_second(&[]), 0);
    }

    #[test]
    fn unaccounted_notifications_are_reported() {
        let told = |notifications, truncated| Told { notifications, truncated, max_in_a_second: 3 };
        let sound = Measured::sound(vec![told(10, 10), told(20, 20)]);
        let of = |one: &Measured| [one.unnotified_data(), one.unaccounted(), one.miscounted()];
        assert_eq!((of(&sound), sound.sent(), sound.held_up_percent()), ([0; 3], 30, 5.0));
        let unnotified = vec![(Unnotified::Control, 4), (Unnotified::Malformed, 1)];
        assert_eq!(of(&Measured { unnotified, ..sound.clone() }), [1, 0, 0]);
        assert_eq!(of(&Measured { notified: 38, ..sound.clone() }), [0, 1, 0]);
        assert_eq!(of(&Measured { dropped: 13, ..sound.clone() }), [0, 1, 0]);
        let twice = vec![told(10, 9), told(20, 21)];
        assert_eq!(of(&Measured { told: twice, ..sound.clone() }), [0, 0, 2]);
    }
}
