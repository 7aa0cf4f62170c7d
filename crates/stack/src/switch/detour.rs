//! Frames that leave a switch by another port than routing chose ([`trimline_switch::detour`]): how a configuration
//! writes it, and what a switch remembers.
//!
//! A frame has no place for a count of detours. What is counted is the switches that it has left, and its TTL says how
//! many these are: Algorithm 1 of OPF as printed.

use serde::Deserialize;
use trimline_packet::Packet;
use trimline_switch::Rng;
use trimline_switch::detour::{Counts, DetourModel, Hot, Seen, Steps, Target};

/// The TTL that hosts send with where nothing is stated: Linux's, and that of this protocol's hosts.
const INITIAL_TTL: u8 = 64;

/// A scheme of detour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DetourScheme {
    /// Data that nobody asked for, above a threshold, to the shorter of two ports.
    #[default]
    Opf,
    /// All data, when the port has no room, to a port drawn from those with room.
    Dibs,
    /// All data, always, to a port drawn from those that are equally near (random packet spraying).
    Rps,
}

/// How long a queue is seen to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DetourView {
    /// As long as it is.
    #[default]
    Now,
    /// As long as it was when a packet last began to leave it (OPF's Algorithm 2).
    LastDeparture,
    /// As long as the last packet to begin to leave found it when it came (OPF's published prototype).
    LastArrival,
}

/// Detour as a configuration has it; its keys are those of the simulator's scenarios, and `initial_ttl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DetourConfig {
    /// Which scheme: OPF without it.
    #[serde(default)]
    pub scheme: DetourScheme,
    /// A port that is seen to hold more packets is busy (OPF: opf-thresh): an eighth less than the queue holds without it.
    pub threshold: Option<u32>,
    /// A frame that has left so many switches is not detoured again (OPF: dcc-thresh): 2 with OPF without it, else none.
    pub limit: Option<u8>,
    /// How long a queue is seen to be: as it is without it.
    #[serde(default)]
    pub seen: DetourView,
    /// The TTL that hosts send with, from which switches are counted: 64 without it.
    pub initial_ttl: Option<u8>,
}

impl DetourConfig {
    /// What switches do whose ports hold so many full packets of data at most.
    ///
    /// # Errors
    /// The first key that cannot be: its value, why not, and what was expected.
    pub fn check(&self, longest: u32) -> Result<Detour, String> {
        let scheme = match self.scheme {
            DetourScheme::Opf => DetourModel::opf(0),
            DetourScheme::Dibs => DetourModel::dibs(),
            DetourScheme::Rps => DetourModel::rps(),
        };
        let hot = match (self.scheme, self.threshold) {
            (DetourScheme::Opf, threshold) => Some(Hot::Above(above(threshold, longest)?)),
            (DetourScheme::Dibs | DetourScheme::Rps, None) => scheme.hot,
            (DetourScheme::Dibs | DetourScheme::Rps, Some(threshold)) => {
                return Err(format!(
                    "threshold = {threshold}: this scheme compares no queue with one; expected scheme = \"opf\", or no threshold"
                ));
            }
        };
        let limit = match self.limit {
            Some(0) => {
                return Err("limit = 0: nothing would be detoured; expected 1 to 255".to_owned());
            }
            Some(limit) => Some(limit),
            None => scheme.limit,
        };
        let initial_ttl = match self.initial_ttl.unwrap_or(INITIAL_TTL) {
            ttl @ 0..=1 => {
                let reason = "no packet passes a switch; expected 2 to 255";
                return Err(format!("initial_ttl = {ttl}: {reason}"));
            }
            ttl => ttl,
        };
        let seen = match self.seen {
            DetourView::Now => Seen::Now,
            DetourView::LastDeparture => Seen::LastDeparture,
            DetourView::LastArrival => Seen::LastArrivalThatLeft,
        };
        let model = DetourModel { hot, limit, counts: Counts::Switches, seen, ..scheme };
        Ok(Detour { model, initial_ttl })
    }
}

/// The threshold of ports that hold so many packets.
fn above(threshold: Option<u32>, longest: u32) -> Result<u32, String> {
    match threshold {
        // OPF IV: 4 to 12 packets below a longest queue of 64.
        None => Ok(longest - longest.div_ceil(8)),
        Some(threshold) if threshold >= longest => Err(format!(
            "threshold = {threshold}: a queue of {longest} packets never holds more; expected less than {longest}"
        )),
        Some(threshold) => Ok(threshold),
    }
}

/// Checked settings of detour, the same at all switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detour {
    /// What is decided.
    model: DetourModel,
    /// From which switches are counted.
    initial_ttl: u8,
}

impl Detour {
    /// Switches that decide so, behind hosts that send with this TTL.
    pub fn new(model: DetourModel, initial_ttl: u8) -> Detour {
        Detour { model, initial_ttl }
    }

    /// In words.
    pub(super) fn describe(&self) -> String {
        let DetourModel { hot, limit, seen, .. } = self.model;
        let what = match hot {
            Some(Hot::Above(threshold)) => {
                format!(
                    "data that nobody asked for leaves by another port where its own holds more than {threshold} packets"
                )
            }
            Some(Hot::Full) => "data leaves by another port where its own has no room".to_owned(),
            Some(Hot::Always) => "data always leaves by a port that is drawn".to_owned(),
            None => "all leaves by its own port".to_owned(),
        };
        let seen = match seen {
            Seen::Now => "now",
            Seen::LastDeparture => "at the last departure",
            Seen::LastArrivalThatLeft => "as the last to leave found them",
        };
        let limit = match limit {
            Some(limit) => format!("until it has left {limit} switches"),
            None => "as long as its TTL lasts".to_owned(),
        };
        format!(
            "{what}, {limit}; queues are seen as they are {seen}; hosts send with a TTL of {}",
            self.initial_ttl
        )
    }

    /// Switches that a frame had left before this one, which has taken one from its TTL already. A TTL above the one that
    /// hosts send with counts as many: it is not believed.
    fn switches(&self, ttl: u8) -> u8 {
        self.initial_ttl.wrapping_sub(ttl).wrapping_sub(1)
    }
}

/// What a switch asks of its ports when a frame may be detoured, by their local numbers.
pub trait LocalPorts {
    /// Ports of the switch.
    fn count(&self) -> u16;
    /// Packets that stand between the frame and the wire of a port.
    fn packets_before(&mut self, port: u16) -> u32;
    /// Whether a port has room for the frame.
    fn has_room(&mut self, port: u16) -> bool;
    /// Whether a port leads to another switch.
    fn leads_to_switch(&self, port: u16) -> bool;
    /// Whether routing might have chosen a port as well.
    fn is_equally_near(&self, port: u16) -> bool;
}

/// What a switch that detours remembers of its ports.
#[derive(Clone, Debug)]
pub struct DetourState {
    detour: Detour,
    /// By port: the length that ingress has of it, where that is not the length now.
    registers: Vec<u16>,
}

impl DetourState {
    /// A switch that no packet has left yet.
    pub fn new(detour: Detour, ports: usize) -> DetourState {
        DetourState { detour, registers: vec![0; ports] }
    }

    /// The port by which a frame leaves that came by `input` and that routing sends to `own`. `ttl` is what this switch
    /// leaves of its TTL.
    pub fn way(
        &self,
        (packet, ttl): (&Packet, u8),
        (input, own): (u16, u16),
        ports: &mut impl LocalPorts,
        rng: &mut impl Rng,
    ) -> u16 {
        let model = &self.detour.model;
        let switches = self.detour.switches(ttl);
        let held = self.seen(own, ports);
        let may_leave = model.applies(packet, Steps { switches, ..Steps::default() })
            && model.is_hot(held, || !ports.has_room(own));
        if !may_leave {
            return own;
        }
        let admitted: Vec<u16> = (0..ports.count())
            .filter(|&port| {
                model.targets.admit(Target {
                    is_host: !ports.leads_to_switch(port),
                    is_input: port == input,
                    is_dead: false,
                    is_full: !ports.has_room(port),
                    is_own: port == own,
                    is_equal_cost: ports.is_equally_near(port),
                })
            })
            .collect();
        let place = model.choose(
            admitted.len() as u32,
            |place| self.seen(admitted[place as usize], ports),
            rng,
        );
        place.map_or(own, |place| admitted[place as usize])
    }

    /// How many packets a port is seen to hold.
    pub fn seen(&self, port: u16, ports: &mut impl LocalPorts) -> u32 {
        match self.detour.model.seen {
            Seen::Now => ports.packets_before(port),
            Seen::LastDeparture | Seen::LastArrivalThatLeft => {
                self.registers[usize::from(port)].into()
            }
        }
    }

    /// A packet begins to leave a port that held `held` packets, itself included; it had found `found` when it came.
    pub fn record_departure(&mut self, port: u16, held: u32, found: u16) {
        if let Some(length) = self.detour.model.seen.at_departure(held, found) {
            self.registers[usize::from(port)] = length;
        }
    }

    /// What ingress knows of a port from now on.
    pub fn set_register(&mut self, port: u16, packets: u16) {
        self.registers[usize::from(port)] = packets;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: u32 = 64;

    #[test]
    fn defaults_are_those_of_the_simulator() {
        let opf = DetourConfig::default().check(LONGEST).unwrap();
        assert_eq!(opf.model, DetourModel { counts: Counts::Switches, ..DetourModel::opf(56) });
        assert_eq!([63, 62, 0, 255].map(|ttl| opf.switches(ttl)), [0, 1, 63, 64]);
        let of = |scheme| DetourConfig { scheme, ..DetourConfig::default() };
        let dibs = of(DetourScheme::Dibs).check(LONGEST).unwrap().model;
        assert_eq!(dibs, DetourModel { counts: Counts::Switches, ..DetourModel::dibs() });
    }

    #[test]
    fn a_ttl_above_the_initial_one_is_not_believed() {
        let opf = DetourConfig::default().check(LONGEST).unwrap();
        assert!(opf.switches(64) == 255 && opf.switches(200) > 100);
    }

    #[test]
    fn what_cannot_be_is_said() {
        let none = DetourConfig::default();
        let error = |config: DetourConfig| config.check(LONGEST).unwrap_err();
        let high = error(DetourConfig { threshold: Some(64), ..none });
        assert_eq!(
            high,
            "threshold = 64: a queue of 64 packets never holds more; expected less than 64"
        );
        let scheme = DetourScheme::Rps;
        let idle = error(DetourConfig { scheme, threshold: Some(4), ..none });
        assert!(idle.starts_with("threshold = 4: this scheme compares no queue"), "{idle}");
        let limit = error(DetourConfig { limit: Some(0), ..none });
        assert!(limit.starts_with("limit = 0: nothing would be detoured"), "{limit}");
        let ttl = error(DetourConfig { initial_ttl: Some(1), ..none });
        assert!(ttl.starts_with("initial_ttl = 1: no packet passes a switch"), "{ttl}");
    }
}
