//! The fabric: all switches of a network, with any kind of ports.

use trimline_packet::{PortCounters, ServiceClass, Time, TimeDelta};
use trimline_switch::Order;
use trimline_transport::RngStream;

use super::config::{Config, Layout, PortModels};
use super::dataplane::{Dataplane, QueueCounters, Queues, Ties, Waits};
use super::egress::{Notifying, NotifyingPfabric, Pfabric, Plain};
use super::ingress::Ingress;
use super::notification::Unnotified;
use super::pacer::PacerState;
use crate::random;

/// A fabric: all switches of a network and the links between them.
///
/// ```
/// use trimline_packet::{Time, TimeDelta};
/// use trimline_stack::switch::{Config, Fabric};
///
/// let text = r#"
///     rate = "1Gbps"
///     switch = [{ name = "s", forwarding = "l2" }]
///     host = [{ switch = "s", interface = "p0" }, { switch = "s", interface = "p1" }]
/// "#;
/// let mut fabric = Fabric::new(&Config::parse(text).unwrap()).unwrap();
///
/// let mut frame = [0; 1000];
/// frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0]);
/// fabric.host_sends(Time::ZERO, 0, &frame);
/// let mut arrived = Vec::new();
/// while fabric.next() < Time::NEVER {
///     let next = fabric.next();
///     fabric.advance(next, &mut |at, host, bytes| arrived.push((at, host, bytes.len())));
/// }
/// let two_links = TimeDelta::from_ns(1004 * 8) * 2; // with the check sequence
/// assert_eq!(arrived, [(Time::ZERO + two_links, 1, 1000)]);
/// ```
pub struct Fabric(Kind);

/// One data plane for each kind of ports, so that a frame pays only for its port's features.
enum Kind {
    Plain(Box<Dataplane<Plain>>),
    Notifying(Box<Dataplane<Notifying>>),
    Pfabric(Box<Dataplane<Pfabric>>),
    NotifyingPfabric(Box<Dataplane<NotifyingPfabric>>),
}

macro_rules! of_each {
    ($kind:expr, $plane:ident => $act:expr) => {
        match $kind {
            Kind::Plain($plane) => $act,
            Kind::Notifying($plane) => $act,
            Kind::Pfabric($plane) => $act,
            Kind::NotifyingPfabric($plane) => $act,
        }
    };
}

impl Fabric {
    /// Returns the switches of a configuration.
    ///
    /// # Errors
    /// Fails for an invalid configuration.
    pub fn new(config: &Config) -> Result<Fabric, String> {
        let seed = config.seed.unwrap_or_else(random::seed);
        // A hash, so that no line is favoured and packets of equal length build no permanent phase.
        let ties = move |line: u32, before: u64| {
            random::mix(seed ^ random::mix(before << 32 | u64::from(line)))
        };
        let rngs = |port| random::stream(seed, u64::from(port));
        Fabric::with_rng(config, rngs, Box::new(ties))
    }

    /// Returns the switches of a configuration, with given RNG streams of ports and order of arrivals at one instant.
    /// Lines are numbered: first those from switch ports (hosts' ports in the order of the hosts, then both ends of
    /// each link), then those from hosts.
    ///
    /// # Errors
    /// Fails for an invalid configuration.
    pub fn with_rng(
        config: &Config,
        rngs: impl Fn(u32) -> RngStream,
        ties: Ties,
    ) -> Result<Fabric, String> {
        let seed = config.seed.unwrap_or_else(random::seed);
        let (models, layout): (PortModels, Layout) = config.layout()?;
        let switches = &config.switch;
        Ok(Fabric(match models {
            PortModels::Alike(model) => {
                let queues = Queues { model: *model, of_port: Vec::new() };
                let plane = Dataplane::new(switches, layout, queues, seed, rngs, ties);
                Kind::Plain(Box::new(plane))
            }
            PortModels::Pfabric(model) => {
                let queues = Queues { model: *model, of_port: Vec::new() };
                let plane = Dataplane::new(switches, layout, queues, seed, rngs, ties);
                Kind::Pfabric(Box::new(plane))
            }
            PortModels::Notifying { order: Order::Arrival, model, of_port } => {
                let queues = Queues { model, of_port };
                let plane = Dataplane::new(switches, layout, queues, seed, rngs, ties);
                Kind::Notifying(Box::new(plane))
            }
            PortModels::Notifying { order: Order::Urgency, model, of_port } => {
                let queues = Queues { model, of_port };
                let plane = Dataplane::new(switches, layout, queues, seed, rngs, ties);
                Kind::NotifyingPfabric(Box::new(plane))
            }
        }))
    }

    /// Sets all remembered times back with the clock.
    pub fn set_back(&mut self, by: TimeDelta) {
        of_each!(&mut self.0, plane => plane.set_back(by));
    }

    /// Returns the number of hosts.
    pub fn hosts(&self) -> usize {
        of_each!(&self.0, plane => plane.hosts())
    }

    /// Returns each port's switch, index there and counters, in the order of [`Fabric::with_rng`].
    pub fn counters(&self) -> impl Iterator<Item = (u32, u16, PortCounters)> + '_ {
        let counters: Vec<_> = of_each!(&self.0, plane => plane.counters().collect());
        counters.into_iter()
    }

    /// Returns the counters of a port's queue for packets of this class.
    pub fn queue_counters(&self, port: u32, class: ServiceClass) -> QueueCounters {
        of_each!(&self.0, plane => plane.queue_counters(port, class))
    }

    /// Returns the packets that a phantom queue has marked, which [`Fabric::counters`] includes.
    pub fn marked_by_phantom(&self, port: u32) -> u64 {
        of_each!(&self.0, plane => plane.marked_by_phantom(port))
    }

    /// Starts recording the waits at this port.
    pub fn watch_waits(&mut self, port: u32) {
        of_each!(&mut self.0, plane => plane.watch_waits(port));
    }

    /// Returns the recorded waits at this port.
    pub fn waits(&self, port: u32) -> Option<&Waits> {
        of_each!(&self.0, plane => plane.waits(port))
    }

    /// Starts recording when notifications begin to leave this port.
    pub fn watch_notifications(&mut self, port: u32) {
        of_each!(&mut self.0, plane => plane.watch_notifications(port));
    }

    /// Returns when notifications began to leave this port.
    pub fn notifications(&self, port: u32) -> Option<&[Time]> {
        of_each!(&self.0, plane => plane.notifications(port))
    }

    /// Returns the frames dropped without a notification, by reason, if ports send notifications.
    pub fn unnotified(&self) -> Option<[(Unnotified, u64); Unnotified::ALL.len()]> {
        match &self.0 {
            Kind::Plain(_) | Kind::Pfabric(_) => None,
            Kind::Notifying(plane) => Some(plane.unnotified()),
            Kind::NotifyingPfabric(plane) => Some(plane.unnotified()),
        }
    }

    /// Returns the packets in each queue of a port, with the one on the wire.
    pub fn queued(&self, port: u32) -> Vec<u32> {
        of_each!(&self.0, plane => plane.queued(port))
    }

    /// Returns the number of frames inside, with those on links.
    pub fn held(&self) -> usize {
        of_each!(&self.0, plane => plane.held())
    }

    /// Returns the number of frames without a route.
    pub fn lost_ways(&self) -> u64 {
        of_each!(&self.0, plane => plane.lost_ways)
    }

    /// Returns the number of frames with a label that the table of a switch does not have.
    pub fn unknown_labels(&self) -> u64 {
        of_each!(&self.0, plane => plane.unknown_labels)
    }

    /// Returns the frames dropped because hosts exceeded their cables' rates for too long.
    pub fn dropped_at_ingress(&self) -> u64 {
        of_each!(&self.0, plane => plane.dropped_at_ingress())
    }

    /// Returns the state of a host's pacer; `None` without one.
    pub fn pacer(&self, host: u32) -> Option<PacerState> {
        of_each!(&self.0, plane => plane.pacer(host))
    }

    /// Returns the frames that full FIFOs of pacers dropped.
    pub fn dropped_by_pacers(&self) -> u64 {
        of_each!(&self.0, plane => plane.ingresses()).iter().map(Ingress::dropped_by_pacer).sum()
    }

    /// Returns each host's frames from sources that its port refuses.
    pub fn refused_sources(&self) -> impl Iterator<Item = u64> + '_ {
        of_each!(&self.0, plane => plane.ingresses()).iter().map(Ingress::refused_sources)
    }

    /// Returns the first source that a host's port refused.
    pub fn intruder(&self, host: usize) -> Option<&str> {
        of_each!(&self.0, plane => plane.ingresses().get(host)?.intruder())
    }

    /// Forgets the sources that a host's port has learned: another host may be there.
    pub fn forget_sources(&mut self, host: usize) {
        let ingresses = of_each!(&mut self.0, plane => plane.ingresses_mut());
        ingresses.get_mut(host).into_iter().for_each(Ingress::forget_sources);
    }

    /// Takes over rates, delays, addresses, `spread` and `port_security` of another configuration of these switches.
    /// Frames inside go on.
    ///
    /// # Errors
    /// Fails without any change if `after` is invalid, or differs from `before` in a key that needs a restart.
    pub fn change(&mut self, before: &Config, after: &Config) -> Result<(), String> {
        before.check_change(after)?;
        let (_, layout) = after.layout()?;
        of_each!(&mut self.0, plane => plane.change(&after.switch, layout));
        Ok(())
    }

    /// Returns the next event that is not a host's action.
    pub fn next(&self) -> Time {
        of_each!(&self.0, plane => plane.next())
    }

    /// Lets a host begin to send a frame. Time must not fall.
    pub fn host_sends(&mut self, now: Time, host: u32, frame: &[u8]) {
        of_each!(&mut self.0, plane => plane.host_sends(now, host, frame));
    }

    /// Handles all events due by `now`, and hands over frames for hosts with the exact arrival of their last bit.
    /// Returns whether there were events.
    pub fn advance(&mut self, now: Time, deliver: &mut dyn FnMut(Time, u32, &[u8])) -> bool {
        of_each!(&mut self.0, plane => plane.advance(now, deliver))
    }
}
