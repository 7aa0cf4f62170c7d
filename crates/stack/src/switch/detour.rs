//! Detours ([`trimline_switch::detour`]): their configuration, and the state of a switch.
//!
//! The limit bounds a packet's detours. The header of an NDP packet counts them: a switch adds one to the low byte of
//! IPv4's identification or IPv6's flow label, which no receiver reads and no checksum but IPv4's covers. The switch of
//! the sending host sets it to zero. A packet of another protocol has no count; then the TTL gives an upper bound, the
//! number of switches that it has left (OPF III-B, "DCC Inference"). [`DetourCount::Switches`] uses that bound for all
//! packets: Algorithm 1 as printed.

use serde::Deserialize;
use trimline_packet::Packet;
use trimline_switch::Rng;
use trimline_switch::detour::{Counts, DetourModel, Hot, Pick, Seen, Steps, Target};

use super::frames::Track;

/// The default TTL of Linux and of this protocol's hosts.
const INITIAL_TTL: u8 = 64;

/// A scheme of detour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DetourScheme {
    /// Unsolicited data, above a threshold, to the shorter of two ports.
    #[default]
    Opf,
    /// All data, when the port has no room, to a random port with room.
    Dibs,
    /// All data, always, to a random port of those equally near (random packet spraying).
    Rps,
    /// All data, always, to the shorter of two random ports of those equally near (adaptive routing).
    Adaptive,
}

/// The queue length that a detour decision sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DetourView {
    /// The current length.
    #[default]
    Now,
    /// The length when a packet last began to leave it (OPF's Algorithm 2).
    LastDeparture,
    /// The length that the last packet to leave had found on arrival (OPF's published prototype).
    LastArrival,
}

/// The count that the limit bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DetourCount {
    /// Detours of the packet. The switches that it has left, for a packet of another protocol.
    #[default]
    Detours,
    /// Switches that the packet has left, by its TTL (OPF's Algorithm 1 as printed).
    Switches,
}

/// The configuration of detours, with the keys of the simulator's scenarios and `initial_ttl`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DetourConfig {
    /// The scheme; default: OPF.
    #[serde(default)]
    pub scheme: DetourScheme,
    /// A port that is seen to hold more packets is busy (OPF: opf-thresh). Default: an eighth less than the queue
    /// holds.
    pub threshold: Option<u32>,
    /// A packet with this count is not detoured again (OPF: dcc-thresh). Default: 2 with OPF, otherwise none.
    pub limit: Option<u8>,
    /// The count that the limit bounds; default: detours, as in the simulator.
    #[serde(default)]
    pub counts: DetourCount,
    /// The queue length that decisions see; default: the current one.
    #[serde(default)]
    pub seen: DetourView,
    /// The TTL that hosts send with, from which switches are counted; default: 64.
    pub initial_ttl: Option<u8>,
}

impl DetourConfig {
    /// Returns the detours of switches whose ports hold at most `longest` full data packets.
    ///
    /// # Errors
    /// Returns the first invalid key: its value, the reason, and what was expected.
    pub fn check(&self, longest: u32) -> Result<Detour, String> {
        let scheme = match self.scheme {
            DetourScheme::Opf => DetourModel::opf(0),
            DetourScheme::Dibs => DetourModel::dibs(),
            DetourScheme::Rps => DetourModel::rps(),
            DetourScheme::Adaptive => DetourModel::adaptive(),
        };
        let hot = match (self.scheme, self.threshold) {
            (DetourScheme::Opf, threshold) => Some(Hot::Above(above(threshold, longest)?)),
            (DetourScheme::Dibs | DetourScheme::Rps | DetourScheme::Adaptive, None) => scheme.hot,
            (DetourScheme::Dibs | DetourScheme::Rps | DetourScheme::Adaptive, Some(threshold)) => {
                return Err(format!(
                    "threshold = {threshold}: this scheme uses no threshold; expected scheme = \"opf\", or no threshold"
                ));
            }
        };
        let limit = match self.limit {
            Some(0) => {
                return Err("limit = 0: no packet would detour; expected 1 to 255".to_owned());
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
        let counts = match self.counts {
            DetourCount::Detours => Counts::Detours,
            DetourCount::Switches => Counts::Switches,
        };
        let model = DetourModel { hot, limit, counts, seen, ..scheme };
        Ok(Detour { model, initial_ttl })
    }
}

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

/// Checked settings of detours, common to all switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detour {
    model: DetourModel,
    /// The TTL from which switches are counted.
    initial_ttl: u8,
}

impl Detour {
    /// Returns the detours of this model, for hosts that send with this TTL.
    pub fn new(model: DetourModel, initial_ttl: u8) -> Detour {
        Detour { model, initial_ttl }
    }

    pub(super) fn describe(&self) -> String {
        let DetourModel { hot, limit, counts, seen, .. } = self.model;
        let what = match hot {
            Some(Hot::Above(threshold)) => {
                format!(
                    "unscheduled data leaves by another port when its own holds more than {threshold} packets"
                )
            }
            Some(Hot::Full) => "data leaves by another port when its own has no room".to_owned(),
            Some(Hot::Always) => {
                let port = match self.model.pick {
                    Pick::One => "a random port",
                    Pick::ShorterOfTwo => "the shorter of two random ports",
                };
                format!("data always leaves by {port}")
            }
            None => "all packets leave by their own port".to_owned(),
        };
        let seen = match seen {
            Seen::Now => "now",
            Seen::LastDeparture => "at the last departure",
            Seen::LastArrivalThatLeft => "at the arrival of the last departed packet",
        };
        let limit = match (limit, counts) {
            (Some(limit), Counts::Detours) => {
                format!(
                    "at most {limit} times (other protocols: until it has left {limit} switches)"
                )
            }
            (Some(limit), Counts::Switches) => format!("until it has left {limit} switches"),
            (None, _) => "as long as its TTL lasts".to_owned(),
        };
        format!(
            "{what}, {limit}; queue lengths are those {seen}; hosts send with a TTL of {}",
            self.initial_ttl
        )
    }

    /// Returns the number of switches that a frame had left before this one, which has decremented its TTL. A TTL above
    /// the hosts' is not trusted and counts as many switches.
    fn switches(&self, ttl: u8) -> u8 {
        self.initial_ttl.wrapping_sub(ttl).wrapping_sub(1)
    }
}

/// The ports of a switch at a detour decision, by local number.
pub trait LocalPorts {
    /// Returns the number of ports.
    fn count(&self) -> u16;
    /// Returns the packets between the frame and the wire of a port.
    fn packets_before(&mut self, port: u16) -> u32;
    /// Returns whether a port has room for the frame.
    fn has_room(&mut self, port: u16) -> bool;
    /// Returns whether a port leads to another switch.
    fn leads_to_switch(&self, port: u16) -> bool;
    /// Returns whether routing might have chosen a port as well.
    fn is_equally_near(&self, port: u16) -> bool;
}

/// The state of a switch that detours.
#[derive(Clone, Debug)]
pub struct DetourState {
    detour: Detour,
    /// Each port's queue length for decisions, unless they see the current one.
    registers: Vec<u16>,
}

impl DetourState {
    /// Returns the state of a switch that no packet has left yet.
    pub fn new(detour: Detour, ports: usize) -> DetourState {
        DetourState { detour, registers: vec![0; ports] }
    }

    /// Returns whether frames count their detours.
    pub(super) fn counts_detours(&self) -> bool {
        self.detour.model.counts == Counts::Detours
    }

    /// Returns the exit of a frame that came by `input` and that routing sends to `own`. This switch has decremented
    /// the TTL of `track`.
    pub fn way(
        &self,
        (packet, track): (&Packet, Track),
        (input, own): (u16, u16),
        ports: &mut impl LocalPorts,
        rng: &mut impl Rng,
    ) -> u16 {
        let model = &self.detour.model;
        let switches = self.detour.switches(track.time_to_live);
        let detours = track.detours.unwrap_or(switches);
        let held = self.seen(own, ports);
        let may_leave = model.applies(packet, Steps { switches, detours, ..Steps::default() })
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

    /// Returns the queue length that decisions see at a port, in packets.
    pub fn seen(&self, port: u16, ports: &mut impl LocalPorts) -> u32 {
        match self.detour.model.seen {
            Seen::Now => ports.packets_before(port),
            Seen::LastDeparture | Seen::LastArrivalThatLeft => {
                self.registers[usize::from(port)].into()
            }
        }
    }

    /// Records that a packet begins to leave a port that held `held` packets with it; on arrival it had found `found`.
    pub fn record_departure(&mut self, port: u16, held: u32, found: u16) {
        if let Some(length) = self.detour.model.seen.at_departure(held, found) {
            self.registers[usize::from(port)] = length;
        }
    }

    /// Sets the queue length that decisions see at a port.
    pub fn set_register(&mut self, port: u16, packets: u16) {
        self.registers[usize::from(port)] = packets;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: u32 = 64;

    #[test]
    fn detour_defaults_match_the_simulator() {
        let opf = DetourConfig::default().check(LONGEST).unwrap();
        assert_eq!(opf.model, DetourModel::opf(56));
        assert_eq!([63, 62, 0, 255].map(|ttl| opf.switches(ttl)), [0, 1, 63, 64]);
        let of = |scheme| DetourConfig { scheme, ..DetourConfig::default() };
        let dibs = of(DetourScheme::Dibs).check(LONGEST).unwrap().model;
        assert_eq!(dibs, DetourModel::dibs());
        let counts = DetourCount::Switches;
        let printed = DetourConfig { counts, ..DetourConfig::default() }.check(LONGEST).unwrap();
        assert_eq!(printed.model, DetourModel { counts: Counts::Switches, ..DetourModel::opf(56) });
    }

    #[test]
    fn a_ttl_above_the_initial_one_allows_no_detour() {
        let opf = DetourConfig::default().check(LONGEST).unwrap();
        assert!(opf.switches(64) == 255 && opf.switches(200) > 100);
    }

    #[test]
    fn invalid_detour_settings_are_refused() {
        let none = DetourConfig::default();
        let error = |config: DetourConfig| config.check(LONGEST).unwrap_err();
        let high = error(DetourConfig { threshold: Some(64), ..none });
        assert_eq!(
            high,
            "threshold = 64: a queue of 64 packets never holds more; expected less than 64"
        );
        for scheme in [DetourScheme::Rps, DetourScheme::Adaptive] {
            let idle = error(DetourConfig { scheme, threshold: Some(4), ..none });
            assert!(idle.starts_with("threshold = 4: this scheme uses no threshold"), "{idle}");
        }
        let limit = error(DetourConfig { limit: Some(0), ..none });
        assert!(limit.starts_with("limit = 0: no packet would detour"), "{limit}");
        let ttl = error(DetourConfig { initial_ttl: Some(1), ..none });
        assert!(ttl.starts_with("initial_ttl = 1: no packet passes a switch"), "{ttl}");
    }
}
