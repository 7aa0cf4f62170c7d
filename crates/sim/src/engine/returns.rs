//! Finds the switches that may have to return a header, or to notify a sender, within a window. The ports of such a
//! switch run together.

use std::mem;

use trimline_packet::TimeDelta;
use trimline_switch::{OutputPort, Returning};

use super::inbox::MAX_PENDING;
use super::wheel::Wheel;
use crate::network::{Core, Switches};

pub(super) struct Returns {
    mode: Mode,
    /// Per port: its watched queue was over the threshold when the port ran last.
    risky_ports: Vec<bool>,
    /// Per switch: its risky ports, and the first window for which they count.
    risky: Vec<(u32, u64)>,
}

/// The rule that finds switches whose ports run together. Every run of a port reads it: the tag is a byte.
#[repr(u8)]
enum Mode {
    /// No header is ever returned: every port runs alone.
    Never,
    /// No watched queue is over the threshold: every port runs alone.
    Calm(Watch),
    /// `ports` watched queues are over the threshold: the ports of their switches run together.
    Alert { watch: Watch, ports: u32 },
    /// The packets that links could carry in one window would often fill a watched queue: actual arrivals are counted.
    Counted(Counted),
    /// Watched queues always could overflow: the ports of every switch run together.
    Always,
    /// The ports of every switch are coupled: they run in one pass, or each alone while there is room for all.
    Coupled,
}

/// A bound on the queues that return packets when they overflow: header queues, or queues that notify.
#[derive(Clone, Copy)]
struct Watch {
    queue: usize,
    /// Bytes in the queue beyond which one run could overflow it.
    threshold: u32,
}

impl Watch {
    #[inline(always)]
    fn is_risky<P: OutputPort>(&self, switches: &Switches<P>, port: u32) -> bool {
        switches.bytes_in(port, self.queue) > self.threshold
    }
}

/// Counts arrivals: all arrivals of a window are in the inboxes when it begins.
struct Counted {
    queue: usize,
    capacity: u64,
    /// Size of the longest packet in the queue, in bytes.
    longest: u64,
    /// The switches whose ports run together in this window.
    together: Vec<u32>,
    /// The ports that are counted; `None` for all ports.
    near: Option<Near>,
}

/// Ports whose watched queues are so full that one run could overflow them.
struct Near {
    /// Bytes in a queue beyond which it could overflow.
    threshold: u32,
    /// The number of these ports.
    ports: u32,
    is_near: Vec<bool>,
}

impl Counted {
    /// Returns whether `packets` could overflow a queue with `bytes`. Each packet adds at most one packet to it.
    fn could_overflow(&self, bytes: u32, packets: u64) -> bool {
        u64::from(bytes) + packets * self.longest > self.capacity
    }

    /// Returns whether a port's next run cannot overflow its queue.
    #[inline(always)]
    fn is_far<P: OutputPort>(&self, switches: &Switches<P>, wheel: &Wheel, port: u32) -> bool {
        match &self.near {
            Some(near) => switches.bytes_in(port, self.queue) <= near.threshold,
            None => !self.is_eager(switches, wheel, port),
        }
    }

    /// Returns whether packets in the inbox by the next run could overflow a port's queue.
    #[inline(always)]
    fn is_eager<P: OutputPort>(&self, switches: &Switches<P>, wheel: &Wheel, port: u32) -> bool {
        let bytes = switches.bytes_in(port, self.queue);
        self.could_overflow(bytes, wheel.packets(port) + MAX_PENDING)
    }
}

impl Mode {
    /// Initial mode. Windows last `1 << shift` picoseconds; packets have at most `largest_packet` bytes.
    fn of(core: &Core, shift: u32, largest_packet: u16) -> Mode {
        let switches = core.routes.switches() as u32;
        if core.couples_ports {
            return Mode::Coupled;
        }
        let links = |switch| core.routes.ports_of(switch).len() as u64;
        let max_links = (0..switches).map(links).max().unwrap_or(0);
        let window = TimeDelta::from_ps(1 << shift);
        let (queue, bytes, longest, queues_trimmed_by_bytes) = match core.returning {
            Returning::Never => return Mode::Never,
            Returning::Anywhere => return Mode::Always,
            // Whole packets often wait in such a queue: it is counted wherever a window may bring enough.
            Returning::WhenFull { queue, bytes } => {
                let (capacity, longest) = (u64::from(bytes), u64::from(largest_packet));
                let each = core.max_bytes_per_link(window, largest_packet);
                let max = each * max_links + 2 * MAX_PENDING * longest;
                let near = capacity.checked_sub(max).map(|threshold| Near {
                    threshold: threshold as u32,
                    ports: 0,
                    is_near: vec![false; core.routes.ports() as usize],
                });
                let together = Vec::new();
                return Mode::Counted(Counted { queue, capacity, longest, together, near });
            }
            Returning::From {
                queue,
                bytes,
                trimmed_bytes,
                cell_bytes,
                queues_trimmed_by_bytes,
            } => {
                let longest = u64::from(trimmed_bytes.max(core.framing.header));
                (queue, bytes, longest + u64::from(cell_bytes - 1), queues_trimmed_by_bytes)
            }
        };
        let capacity = u64::from(bytes);
        let headers = core.max_packets_per_link(window) * max_links
            + core.max_older_tails(largest_packet) * u64::from(queues_trimmed_by_bytes)
            + 2 * MAX_PENDING;
        match capacity.checked_sub(headers * longest) {
            Some(threshold) => Mode::Calm(Watch { queue, threshold: threshold as u32 }),
            None if queues_trimmed_by_bytes == 0 => {
                let together = Vec::new();
                Mode::Counted(Counted { queue, capacity, longest, together, near: None })
            }
            None => Mode::Always,
        }
    }
}

impl Returns {
    /// Initial state. Windows last `1 << shift` picoseconds; packets have at most `largest_packet` bytes.
    pub(super) fn new(core: &Core, shift: u32, largest_packet: u16) -> Returns {
        Returns {
            mode: Mode::of(core, shift, largest_packet),
            risky_ports: vec![false; core.routes.ports() as usize],
            risky: vec![(0, 0); core.routes.switches()],
        }
    }

    #[inline(always)]
    pub(super) fn is_calm(&self) -> bool {
        match &self.mode {
            Mode::Never | Mode::Calm(_) => true,
            // The ports that may not run alone ran before the others.
            Mode::Counted(_) => true,
            Mode::Alert { .. } | Mode::Always | Mode::Coupled => false,
        }
    }

    #[inline]
    pub(super) fn are_coupled(&self) -> bool {
        match self.mode {
            Mode::Coupled => true,
            Mode::Never | Mode::Calm(_) | Mode::Alert { .. } | Mode::Counted(_) | Mode::Always => {
                false
            }
        }
    }

    /// Returns whether arrivals are counted when a window begins.
    #[inline(always)]
    pub(super) fn is_counted(&self) -> bool {
        match self.mode {
            Mode::Counted(_) => true,
            Mode::Never | Mode::Calm(_) | Mode::Alert { .. } | Mode::Always | Mode::Coupled => {
                false
            }
        }
    }

    pub(super) fn forget_counts(&mut self) {
        if let Mode::Counted(counted) = &mut self.mode {
            for switch in counted.together.drain(..) {
                self.risky[switch as usize] = (0, 0);
            }
        }
    }

    #[inline]
    pub(super) fn none_is_near(&self) -> bool {
        match &self.mode {
            Mode::Counted(Counted { near: Some(near), .. }) => near.ports == 0,
            Mode::Counted(Counted { near: None, .. })
            | Mode::Never
            | Mode::Calm(_)
            | Mode::Alert { .. }
            | Mode::Always
            | Mode::Coupled => false,
        }
    }

    /// A switch whose ports run together in this window, by its place in the list.
    #[inline]
    pub(super) fn crowded(&self, place: usize) -> Option<u32> {
        match &self.mode {
            Mode::Counted(counted) => counted.together.get(place).copied(),
            Mode::Never | Mode::Calm(_) | Mode::Alert { .. } | Mode::Always | Mode::Coupled => None,
        }
    }

    #[inline(always)]
    pub(super) fn count<P: OutputPort>(
        &mut self,
        switches: &Switches<P>,
        core: &Core,
        wheel: &Wheel,
        port: u32,
    ) {
        let Mode::Counted(counted) = &mut self.mode else { return };
        let bytes = switches.bytes_in(port, counted.queue);
        if let Some(near) = &mut counted.near {
            let is_near = &mut near.is_near[port as usize];
            if !*is_near {
                return;
            }
            if bytes <= near.threshold {
                *is_near = false;
                near.ports -= 1;
                return;
            }
        }
        if counted.could_overflow(bytes, wheel.packets(port)) {
            let switch = core.routes.switch_of(port);
            let is_new = mem::replace(&mut self.risky[switch as usize], (1, wheel.current)).0 == 0;
            if is_new {
                counted.together.push(switch);
            }
        }
    }

    /// Returns whether the ports of a switch must run together in this window.
    #[inline]
    pub(super) fn together(&self, switch: u32, window: u64) -> bool {
        match self.mode {
            // The counted switches ran before the others.
            Mode::Never | Mode::Calm(_) | Mode::Counted(_) => false,
            Mode::Alert { .. } => {
                let (ports, since) = self.risky[switch as usize];
                ports > 0 && since <= window
            }
            Mode::Always | Mode::Coupled => true,
        }
    }

    /// Records a port's watched queue after a run. Returns whether its switch may have to return a packet.
    #[inline(always)]
    pub(super) fn record<P: OutputPort>(
        &mut self,
        switches: &Switches<P>,
        core: &Core,
        wheel: &Wheel,
        port: u32,
    ) -> bool {
        match &self.mode {
            Mode::Never => false,
            Mode::Calm(watch) if !watch.is_risky(switches, port) => false,
            Mode::Counted(counted) if counted.is_far(switches, wheel, port) => false,
            Mode::Calm(_)
            | Mode::Alert { .. }
            | Mode::Counted(_)
            | Mode::Always
            | Mode::Coupled => self.record_closely(switches, core, wheel, port),
        }
    }

    #[inline(never)]
    fn record_closely<P: OutputPort>(
        &mut self,
        switches: &Switches<P>,
        core: &Core,
        wheel: &Wheel,
        port: u32,
    ) -> bool {
        match &mut self.mode {
            Mode::Never => false,
            &mut Mode::Calm(watch) => self.change(switches, core, watch, 0, port, wheel.current),
            &mut Mode::Alert { watch, ports } => {
                self.change(switches, core, watch, ports, port, wheel.current)
            }
            Mode::Counted(counted) => {
                if let Some(near) = &mut counted.near
                    && !mem::replace(&mut near.is_near[port as usize], true)
                {
                    near.ports += 1;
                }
                counted.is_eager(switches, wheel, port)
            }
            Mode::Always | Mode::Coupled => true,
        }
    }

    /// Records whether a port is risky; `all` ports of the network were. Returns whether a port of its switch is.
    fn change<P: OutputPort>(
        &mut self,
        switches: &Switches<P>,
        core: &Core,
        watch: Watch,
        all: u32,
        port: u32,
        window: u64,
    ) -> bool {
        let is_risky = watch.is_risky(switches, port);
        let was_risky = mem::replace(&mut self.risky_ports[port as usize], is_risky);
        let (ports, since) = &mut self.risky[core.routes.switch_of(port) as usize];
        if is_risky == was_risky {
            return *ports > 0;
        }
        let all = if is_risky {
            if *ports == 0 {
                *since = window + 1;
            }
            *ports += 1;
            all + 1
        } else {
            *ports -= 1;
            all - 1
        };
        self.mode = match all {
            0 => Mode::Calm(watch),
            ports => Mode::Alert { watch, ports },
        };
        *ports > 0
    }
}
