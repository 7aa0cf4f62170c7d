//! Phantom queues on ports (HULL, NSDI 2012, 2.1): how a configuration writes one, and what a port keeps of it.

use serde::Deserialize;
use trimline_packet::fluid::Clock;
use trimline_packet::{BitRate, Packet, Time, TimeDelta};
use trimline_switch::{PhantomModel, PhantomQueue, PhantomSettings};

use super::quantity::{Billionths, Delay, Rate, Size};

/// A phantom queue as a configuration has it; its keys are those of the simulator's scenarios. What is not stated is that
/// of HULL's testbed (table 3), on a clock without ticks.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhantomConfig {
    /// The rate at which the counter falls, of the port's: "95%" without it.
    pub drain: Option<Billionths>,
    /// The same as a rate.
    pub drain_rate: Option<Rate>,
    /// A packet that finds more than this in the counter is marked: "1KB" without it.
    pub threshold: Option<Size>,
    /// The counter falls at the multiples of this time, as in hardware; at every instant without it, or with "0s".
    pub tick: Option<Delay>,
}

impl PhantomConfig {
    /// What it is on a port of this rate.
    ///
    /// # Errors
    /// The first key that cannot be: its value, why not, and the nearest that could.
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
            drain.ok_or("`drain` of nothing never falls: everything is marked; nearest: 1 bps")?;
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

/// What a phantom queue does, in words.
pub(super) fn describe(settings: &PhantomSettings) -> String {
    let PhantomSettings { drain, threshold, clock } = settings;
    let clock = match clock {
        Clock::Continuous => "at every instant".to_owned(),
        Clock::Tick(tick) => format!("every {tick}"),
    };
    let mut described = format!(
        "a phantom queue drains at {drain}, {clock}, and marks what finds more than {threshold}"
    );
    for warning in settings.warnings() {
        described += &format!("; warning: {warning}");
    }
    described
}

/// The phantom queue of a port, and what it has done.
#[derive(Debug)]
pub(super) struct Phantom {
    model: PhantomModel,
    queue: PhantomQueue,
    /// Packets that it marked.
    pub(super) marked: u64,
}

impl Phantom {
    pub(super) fn new(model: PhantomModel) -> Phantom {
        Phantom { model, queue: PhantomQueue::new(), marked: 0 }
    }

    /// A packet's transmission starts.
    pub(super) fn pass(&mut self, now: Time, packet: &mut Packet) {
        self.marked += u64::from(self.queue.pass(now, packet, &self.model));
    }

    pub(super) fn set_back(&mut self, by: TimeDelta) {
        self.queue.set_back(by);
    }
}
