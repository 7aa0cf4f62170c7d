//! A network of switches, whatever their ports do.

use trimline_packet::{PortCounters, ServiceClass, Time, TimeDelta};
use trimline_switch::Order;
use trimline_transport::Stream;

use super::config::{Config, Layout, PortModels};
use super::dataplane::{Dataplane, QueueCounters, Queues, Ties, Waits};
use super::egress::{Notifying, NotifyingPfabric, Pfabric, Plain};
use super::ingress::Ingress;
use super::notification::Untold;
use crate::random;

/// Switches and the links between them.
pub struct Fabric(Kind);

/// Each kind of ports has a data plane of its own, so that a frame pays for what its port does and no more.
enum Kind {
    Plain(Box<Dataplane<Plain>>),
    Notifying(Box<Dataplane<Notifying>>),
    Pfabric(Box<Dataplane<Pfabric>>),
    NotifyingPfabric(Box<Dataplane<NotifyingPfabric>>),
}

/// Asks the data plane, whichever it is.
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
    /// The switches of a configuration.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(config: &Config) -> Result<Fabric, String> {
        let seed = config.seed.unwrap_or_else(random::seed);
        // A hash, so that no line is favoured and packets of equal length build no permanent phase.
        let ties = move |line: u32, before: u64| {
            random::mix(seed ^ random::mix(before << 32 | u64::from(line)))
        };
        let coins = |port| random::stream(seed, u64::from(port));
        Fabric::with_rng(config, coins, Box::new(ties))
    }

    /// The same, with the stream of each port's coins and the order of what arrives at one instant.
    /// Lines are numbered: those that leave switch ports, hosts' ports first, in the order of the
    /// hosts, then those of links, both ends of each; then those that leave hosts.
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub fn with_rng(
        config: &Config,
        coins: impl Fn(u32) -> Stream,
        ties: Ties,
    ) -> Result<Fabric, String> {
        let seed = config.seed.unwrap_or_else(random::seed);
        let (models, layout): (PortModels, Layout) = config.layout()?;
        let switches = &config.switch;
        Ok(Fabric(match models {
            PortModels::Alike(model) => {
                let queues = Queues { model: *model, of_port: Vec::new() };
                let plane = Dataplane::new(switches, layout, queues, seed, coins, ties);
                Kind::Plain(Box::new(plane))
            }
            PortModels::Pfabric(model) => {
                let queues = Queues { model: *model, of_port: Vec::new() };
                let plane = Dataplane::new(switches, layout, queues, seed, coins, ties);
                Kind::Pfabric(Box::new(plane))
            }
            PortModels::Notifying { order: Order::Arrival, model, of_port } => {
                let queues = Queues { model, of_port };
                let plane = Dataplane::new(switches, layout, queues, seed, coins, ties);
                Kind::Notifying(Box::new(plane))
            }
            PortModels::Notifying { order: Order::Urgency, model, of_port } => {
                let queues = Queues { model, of_port };
                let plane = Dataplane::new(switches, layout, queues, seed, coins, ties);
                Kind::NotifyingPfabric(Box::new(plane))
            }
        }))
    }

    /// The clock was set back by so much: all times that the switches remember are, too.
    pub fn set_back(&mut self, by: TimeDelta) {
        of_each!(&mut self.0, plane => plane.set_back(by));
    }

    /// Hosts, each on a port of its own.
    pub fn hosts(&self) -> usize {
        of_each!(&self.0, plane => plane.hosts())
    }

    /// What happened at each port, in the order of [`Fabric::with_rng`], with its number at its
    /// switch.
    pub fn counters(&self) -> impl Iterator<Item = (u32, u16, PortCounters)> + '_ {
        let counters: Vec<_> = of_each!(&self.0, plane => plane.counters().collect());
        counters.into_iter()
    }

    /// What happened at the queue of a port in which packets of this class wait.
    pub fn queue_counters(&self, port: u32, class: ServiceClass) -> QueueCounters {
        of_each!(&self.0, plane => plane.queue_counters(port, class))
    }

    /// Packets that the phantom queue of a port has marked: some of those that [`Fabric::counters`] has as marked.
    pub fn marked_by_phantom(&self, port: u32) -> u64 {
        of_each!(&self.0, plane => plane.marked_by_phantom(port))
    }

    /// From now on how long frames wait at this port is counted.
    pub fn watch_waits(&mut self, port: u32) {
        of_each!(&mut self.0, plane => plane.watch_waits(port));
    }

    /// How long the frames that left this port had waited there, if that is counted.
    pub fn waits(&self, port: u32) -> Option<&Waits> {
        of_each!(&self.0, plane => plane.waits(port))
    }

    /// From now on the times are kept at which notifications begin to leave this port.
    pub fn watch_notifications(&mut self, port: u32) {
        of_each!(&mut self.0, plane => plane.watch_notifications(port));
    }

    /// When notifications began to leave this port, if that is kept.
    pub fn notifications(&self, port: u32) -> Option<&[Time]> {
        of_each!(&self.0, plane => plane.notifications(port))
    }

    /// Frames that were dropped and of which nobody was told, for each reason, where senders are told of drops.
    pub fn untold(&self) -> Option<[(Untold, u64); Untold::ALL.len()]> {
        match &self.0 {
            Kind::Plain(_) | Kind::Pfabric(_) => None,
            Kind::Notifying(plane) => Some(plane.untold()),
            Kind::NotifyingPfabric(plane) => Some(plane.untold()),
        }
    }

    /// Packets in each queue of a port, the one on the wire included.
    pub fn queued(&self, port: u32) -> Vec<u32> {
        of_each!(&self.0, plane => plane.queued(port))
    }

    /// Frames inside, on links too.
    pub fn held(&self) -> usize {
        of_each!(&self.0, plane => plane.held())
    }

    /// Frames for which there was no way.
    pub fn lost_ways(&self) -> u64 {
        of_each!(&self.0, plane => plane.lost_ways)
    }

    /// Frames that hosts sent faster than their cables for too long.
    pub fn dropped_at_ingress(&self) -> u64 {
        of_each!(&self.0, plane => plane.dropped_at_ingress())
    }

    /// Frames that each host sent from sources that its port does not accept.
    pub fn refused_sources(&self) -> impl Iterator<Item = u64> + '_ {
        of_each!(&self.0, plane => plane.ingresses()).iter().map(Ingress::refused_sources)
    }

    /// The first source that the port of a host did not accept.
    pub fn intruder(&self, host: usize) -> Option<&str> {
        of_each!(&self.0, plane => plane.ingresses().get(host)?.intruder())
    }

    /// Forgets the sources that the port of a host has learned: another host may be there.
    pub fn forget_sources(&mut self, host: usize) {
        let ingresses = of_each!(&mut self.0, plane => plane.ingresses_mut());
        ingresses.get_mut(host).into_iter().for_each(Ingress::forget_sources);
    }

    /// Takes over rates, delays, addresses, `spread` and `port_security` of another configuration of the same switches.
    /// Frames inside go on.
    ///
    /// # Errors
    /// `after` is invalid, or differs from `before` in a key that needs a restart. Nothing has changed in that case.
    pub fn change(&mut self, before: &Config, after: &Config) -> Result<(), String> {
        before.check_change(after)?;
        let (_, layout) = after.layout()?;
        of_each!(&mut self.0, plane => plane.change(&after.switch, layout));
        Ok(())
    }

    /// When something will happen that is not a host's doing.
    pub fn next(&self) -> Time {
        of_each!(&self.0, plane => plane.next())
    }

    /// A host begins to send a frame. Time must not fall.
    pub fn host_sends(&mut self, now: Time, host: u32, frame: &[u8]) {
        of_each!(&mut self.0, plane => plane.host_sends(now, host, frame));
    }

    /// Does everything that is due by `now`. Frames for hosts are handed over, with the exact time at
    /// which their last bit arrives.
    pub fn advance(&mut self, now: Time, deliver: &mut dyn FnMut(Time, u32, &[u8])) -> bool {
        of_each!(&mut self.0, plane => plane.advance(now, deliver))
    }
}
