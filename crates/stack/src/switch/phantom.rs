//! Phantom queues on ports (HULL, NSDI 2012, 2.1): their configuration, and their state.

use serde::Deserialize;
use trimline_packet::fluid::Clock;
use trimline_packet::{BitRate, Packet, Time, TimeDelta};
use trimline_switch::{PhantomModel, PhantomQueue, PhantomSettings};

use super::quantity::{Billionths, Delay, Rate, Size};

/// The configuration of a phantom queue, with the keys of the simulator's scenarios. Defaults are those of HULL's
/// testbed (table 3), without ticks.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhantomConfig {
    /// The drain rate, as a share of the port's rate; default: "95%".
    pub drain: Option<Billionths>,
    /// The drain rate.
    pub drain_rate: Option<Rate>,
    /// A packet that finds more than this in the counter is marked; default: "1KB".
    pub threshold: Option<Size>,
    /// The interval at which the counter falls, as in hardware; default and "0s": continuously.
    pub tick: Option<Delay>,
}

impl PhantomConfig {
    /// Returns the phantom queue of a port of this rate, or the first invalid key: its value, the reason, and the
    /// nearest valid value.
    pub(super) fn check(&self, rate: BitRate) -> Result<(PhantomSettings, PhantomModel), String> {
        let testbed = PhantomSettings::testbed();
        let drain = match (self.drain, self.drain_rate) {
            (Some(_), Some(_)) => {
                return Err("drain and drain_rate: expected one of the two".to_owned());
            }
            (None, None) => Billionths(950_000_000).of(rate),
            (Some(share), None) => share.of(rate),
            (None, Some(Rate(drain))) => Some(drain),
        };
        let drain =
            drain.ok_or("a `drain` of 0 never falls and marks every packet; nearest: 1 bps")?;
        let clock = match self.tick {
            None | Some(Delay(TimeDelta::ZERO)) => Clock::Continuous,
            Some(Delay(tick)) => Clock::Tick(tick),
        };
        let threshold = self.threshold.map_or(testbed.threshold, |size| size.0);
        let settings = PhantomSettings { drain, threshold, clock };
        let model = settings.check(rate).map_err(|fault| fault.to_string())?;
        Ok((settings, model))
    }
}

pub(super) fn describe(settings: &PhantomSettings) -> String {
    let PhantomSettings { drain, threshold, clock } = settings;
    let clock = match clock {
        Clock::Continuous => "at every instant".to_owned(),
        Clock::Tick(tick) => format!("every {tick}"),
    };
    let mut described = format!(
        "a phantom queue drains at {drain}, {clock}, and marks packets that find more than {threshold}"
    );
    for warning in settings.warnings() {
        described += &format!("; warning: {warning}");
    }
    described
}

#[derive(Debug)]
pub(super) struct Phantom {
    model: PhantomModel,
    queue: PhantomQueue,
    pub(super) marked: u64,
}

impl Phantom {
    pub(super) fn new(model: PhantomModel) -> Phantom {
        Phantom { model, queue: PhantomQueue::new(), marked: 0 }
    }

    pub(super) fn pass(&mut self, now: Time, packet: &mut Packet) {
        self.marked += u64::from(self.queue.pass(now, packet, &self.model));
    }

    pub(super) fn set_back(&mut self, by: TimeDelta) {
        self.queue.set_back(by);
    }
}
