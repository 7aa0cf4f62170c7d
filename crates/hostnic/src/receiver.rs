//! From the wire to the transport: frames wait for an interrupt and for a processor (HULL 4.1).

use alloc::vec::Vec;

use trimline_packet::list::Queue;
use trimline_packet::{
    ByteCount, Flags, Handle, Kind, Packet, Packets, Service, SettingFault, Time, TimeDelta,
};

use super::interrupts::{Interrupts, Moderation};
use crate::flow_id::FlowId;

#[cfg(test)]
mod tests;

/// What a host's NIC and processors do with what arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverSettings {
    /// When a processor is told of frames.
    pub interrupts: Interrupts,
    /// Frames that the NIC holds until a processor takes them. What finds it full is dropped.
    pub ring: u32,
    /// Frames that a processor takes out of the ring at once (Linux: 64). After so many it looks again; after fewer it
    /// waits for an interrupt, though further ones have come meanwhile.
    pub round: u32,
    /// Bytes of a flow's frames that are taken as one (generic receive offload; the paper's largest ACK ratios are 64 KB).
    /// Zero: each frame by itself.
    pub merge: ByteCount,
    /// Processors that work side by side. Several take one frame at once each, so that the packets of a flow keep their
    /// order.
    pub processors: u8,
    /// A processor's time for each interrupt.
    pub per_interrupt: TimeDelta,
    /// The same for each frame.
    pub per_packet: TimeDelta,
    /// The same for each answer: once for data that is taken as one.
    pub per_answer: TimeDelta,
    /// What the NIC hands to the transport at once.
    pub bypass: Bypass,
}

/// What no processor has to work on: the NIC does it by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bypass {
    /// What switches tell senders.
    pub notifications: bool,
    /// Packets of kind PULL: pFabric's probes, there and back (FastLane 4.2.2).
    pub probes: bool,
}

impl ReceiverSettings {
    /// Checks the settings.
    ///
    /// # Errors
    /// The first setting that cannot be.
    pub fn check(&self) -> Result<ReceiverModel, SettingFault> {
        for (key, count, reason) in [
            ("ring", self.ring, "drops every frame"),
            ("round", self.round, "takes no frame, ever"),
            ("processors", self.processors.into(), "takes no frame, ever"),
        ] {
            if count == 0 {
                return Err(SettingFault::new(key, count, reason).nearest(1));
            }
        }
        if self.processors > 1 && self.round > 1 {
            let reason = "is more than one frame with several processors: packets would overtake";
            return Err(SettingFault::new("round", self.round, reason).nearest(1));
        }
        self.check_interrupts()?;
        let merge = u32::try_from(self.merge.get()).map_err(|_| {
            SettingFault::new("merge", self.merge, "is more than a host can count")
                .nearest(ByteCount::new(u32::MAX.into()))
        })?;
        Ok(ReceiverModel { settings: *self, merge })
    }

    fn check_interrupts(&self) -> Result<(), SettingFault> {
        let frames = match &self.interrupts {
            Interrupts::EachFrame => return Ok(()),
            Interrupts::Coalesced { frames, .. } => *frames,
            Interrupts::Adaptive(adaptive) => {
                if adaptive.low >= adaptive.high {
                    let reason = "is not above the lower rate: the time would have to jump";
                    let fault = SettingFault::new("interrupts", adaptive.high, reason);
                    return Err(fault.nearest(adaptive.low.saturating_add(1)));
                }
                if adaptive.interval == TimeDelta::ZERO {
                    let reason = "measures no rate";
                    let fault = SettingFault::new("interrupts", adaptive.interval, reason);
                    return Err(fault.nearest(TimeDelta::from_ps(1)));
                }
                adaptive.frames
            }
        };
        if frames == 0 {
            let reason = "are never waited for: that is an interrupt for each frame";
            return Err(SettingFault::new("interrupts", "0 frames", reason).nearest("1 frame"));
        }
        Ok(())
    }
}

/// Checked settings, which many hosts share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverModel {
    settings: ReceiverSettings,
    merge: u32,
}

impl ReceiverModel {
    /// Whether the transport hears of a packet at once, whatever the processors do.
    #[inline]
    pub fn bypasses(&self, packet: &Packet) -> bool {
        let Bypass { notifications, probes } = self.settings.bypass;
        match packet.service.service() {
            Service::Notification => notifications,
            Service::Trimmable
            | Service::Trimmed
            | Service::Returned
            | Service::Control
            | Service::Droppable => probes && packet.header.kind == Kind::Pull,
        }
    }
}

/// What a receiver has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Frames that found a place in the ring.
    pub frames: u64,
    /// Frames that found it full.
    pub dropped: u64,
    /// Interrupts.
    pub interrupts: u64,
    /// Times that a processor took something: a frame, or several as one.
    pub taken: u64,
    /// Time that processors worked, all together.
    pub busy: TimeDelta,
}

/// A packet that the transport hears of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Which.
    pub packet: Handle,
    /// Whether more of the same follow at this instant, taken as one with it: the transport answers behind the last.
    pub is_followed: bool,
}

/// What a processor works on: a round, of which it takes frames of a flow as one.
#[derive(Clone, Copy, Debug)]
struct Job {
    flow: FlowId,
    /// What is taken as one now.
    packets: Queue,
    /// Until when a processor works on it.
    until: Time,
    /// When that is done: not before what another processor took of the same flow earlier.
    done: Time,
    /// What is left of the round.
    rest: Queue,
    /// Whether the round was a full one: the processor looks again when it is done.
    inspects_again: bool,
}

/// The receiving side of one host.
///
/// A frame finds a place in the ring and waits for an interrupt. The interrupt waits for a processor that has nothing to
/// do, which takes a round of frames.
///
/// # The contract
/// `now` never falls.
/// 1. At [`Receiver::poll_timeout`], before anything later, [`Receiver::poll_delivery`] gives the packets that the
///    transport hears of, until it gives none.
/// 2. A frame that arrives goes to [`Receiver::handle_frame`]: at one instant before or behind deliveries.
///
/// Nothing is allocated after [`Receiver::new`].
#[derive(Clone, Debug)]
pub struct Receiver {
    ring: Queue,
    moderation: Moderation,
    /// At most one for each processor, in the order in which they were taken.
    jobs: Vec<Job>,
    /// What is left of what was done last.
    delivered: Queue,
    /// When a processor was done last.
    free_at: Time,
    counters: ReceiverCounters,
}

impl Receiver {
    /// An idle one.
    pub fn new(model: &ReceiverModel) -> Receiver {
        Receiver {
            ring: Queue::EMPTY,
            moderation: Moderation::new(&model.settings.interrupts),
            jobs: Vec::with_capacity(model.settings.processors.into()),
            delivered: Queue::EMPTY,
            free_at: Time::ZERO,
            counters: ReceiverCounters::default(),
        }
    }

    /// A frame's last bit arrives. Gives whether there is room for it; if not, it is the caller's again, and lost.
    ///
    /// # Panics
    /// Something was due before.
    pub fn handle_frame<P: Packets>(
        &mut self,
        now: Time,
        packet: Handle,
        packets: &mut P,
        model: &ReceiverModel,
    ) -> bool {
        assert!(
            self.poll_timeout(model) >= now,
            "a frame arrives before what was due earlier is done"
        );
        let interrupts = &model.settings.interrupts;
        self.moderation.measure(now, interrupts);
        if self.ring.packets >= model.settings.ring {
            self.counters.dropped += 1;
            return false;
        }
        let bytes = packets.packet(packet).wire_bytes;
        self.ring.push(packets, packet, bytes.into());
        self.counters.frames += 1;
        self.moderation.wait(now, interrupts);
        true
    }

    /// When to come back: never if no frame is here.
    #[inline]
    pub fn poll_timeout(&self, model: &ReceiverModel) -> Time {
        if !self.delivered.head.is_none() {
            return Time::ZERO;
        }
        self.next_done().min(self.next_interrupt(model))
    }

    /// When the first processor is done with what it takes as one.
    #[inline]
    fn next_done(&self) -> Time {
        self.jobs.iter().map(|job| job.done).min().unwrap_or(Time::NEVER)
    }

    /// When the next interrupt comes: never while no processor is free for it.
    #[inline]
    fn next_interrupt(&self, model: &ReceiverModel) -> Time {
        let is_free = self.jobs.len() < usize::from(model.settings.processors);
        // An interrupt that is due while all work comes when the first of them is done.
        if is_free { self.moderation.due().max(self.free_at) } else { Time::NEVER }
    }

    /// The next packet that the transport hears of, if one is due.
    pub fn poll_delivery<P: Packets>(
        &mut self,
        now: Time,
        packets: &mut P,
        model: &ReceiverModel,
    ) -> Option<Delivered> {
        while self.delivered.head.is_none() {
            let (done, interrupt) = (self.next_done(), self.next_interrupt(model));
            if done.min(interrupt) > now || done.min(interrupt) == Time::NEVER {
                return None;
            }
            if done <= interrupt {
                self.complete(done, packets, model);
            } else {
                self.counters.interrupts += 1;
                self.begin_round(interrupt, model.settings.per_interrupt, packets, model);
            }
        }
        let packet = self.delivered.pop(packets);
        Some(Delivered { packet, is_followed: !self.delivered.head.is_none() })
    }

    /// What it has done by `now`: of work under way what is behind it.
    pub fn counters(&self, now: Time) -> ReceiverCounters {
        let left = |sum, job: &Job| sum + job.until.saturating_since(now);
        let left = self.jobs.iter().fold(TimeDelta::ZERO, left);
        ReceiverCounters { busy: self.counters.busy.saturating_sub(left), ..self.counters }
    }

    /// A processor is done with what it took as one: the transport hears of it. It goes on with its round, or looks again
    /// behind a full one, or has nothing to do.
    fn complete<P: Packets>(&mut self, at: Time, packets: &mut P, model: &ReceiverModel) {
        let place = self.jobs.iter().position(|job| job.done == at);
        let job = self.jobs.remove(place.expect("a job that is due"));
        self.delivered = job.packets;
        self.free_at = at;
        if !job.rest.head.is_none() {
            self.work(at, TimeDelta::ZERO, job.rest, job.inspects_again, packets, model);
        } else if job.inspects_again && !self.ring.head.is_none() {
            self.begin_round(at, TimeDelta::ZERO, packets, model);
        }
    }

    /// A processor takes frames out of the ring. Before them it works for the `extra` time.
    fn begin_round<P: Packets>(
        &mut self,
        at: Time,
        extra: TimeDelta,
        packets: &mut P,
        model: &ReceiverModel,
    ) {
        let mut round = Queue::EMPTY;
        while round.packets < model.settings.round && !self.ring.head.is_none() {
            move_first(&mut self.ring, &mut round, packets);
        }
        // What is left has been waited for long enough.
        self.moderation.interrupt();
        if !self.ring.head.is_none() {
            self.moderation.wait_no_longer(at);
        }
        let inspects_again = round.packets == model.settings.round;
        self.work(at, extra, round, inspects_again, packets, model);
    }

    /// A processor takes the next frames of its round as one.
    fn work<P: Packets>(
        &mut self,
        at: Time,
        extra: TimeDelta,
        mut rest: Queue,
        inspects_again: bool,
        packets: &mut P,
        model: &ReceiverModel,
    ) {
        let first = *packets.packet(rest.head);
        let taken = take_as_one(&mut rest, packets, model.merge);
        let settings = &model.settings;
        let answer = match first.header.kind {
            Kind::Data => settings.per_answer,
            Kind::Ack | Kind::Nack | Kind::Pull | Kind::Reset => TimeDelta::ZERO,
        };
        let work = extra + settings.per_packet * u64::from(taken.packets) + answer;
        self.counters.taken += 1;
        self.counters.busy = self.counters.busy + work;
        let flow = FlowId::of_received(&first);
        let earlier = self.jobs.iter().filter(|job| job.flow == flow).map(|job| job.done).max();
        let until = at.saturating_add(work);
        let done = until.max(earlier.unwrap_or(Time::ZERO));
        self.jobs.push(Job { flow, packets: taken, until, done, rest, inspects_again });
    }
}

/// The first frames that can be taken as one, of up to so many bytes: at least one frame.
fn take_as_one<P: Packets>(frames: &mut Queue, packets: &mut P, max: u32) -> Queue {
    let first = *packets.packet(frames.head);
    let (mut taken, mut before) = (Queue::EMPTY, first);
    move_first(frames, &mut taken, packets);
    while !frames.head.is_none() {
        let next = *packets.packet(frames.head);
        let bytes = taken.bytes.saturating_add(next.wire_bytes.into());
        if bytes > max || !joins(&first, &before, &next) {
            break;
        }
        move_first(frames, &mut taken, packets);
        before = next;
    }
    taken
}

/// The first frame of a list goes to the end of another.
fn move_first<P: Packets>(from: &mut Queue, to: &mut Queue, packets: &mut P) {
    let packet = from.pop(packets);
    let bytes = u32::from(packets.packet(packet).wire_bytes);
    from.release(1, bytes);
    to.push(packets, packet, bytes);
}

/// Whether a frame is taken as one with those before it, of which `first` is the first: data of the same flow that
/// follows in order, with the same marks and no larger, behind frames of one size of which none ended a message (as
/// generic receive offload in Linux, so that a mark of congestion is never joined with none).
fn joins(first: &Packet, before: &Packet, next: &Packet) -> bool {
    let is_whole = |packet: &Packet| match packet.header.kind {
        Kind::Data => packet.service == Service::Droppable || packet.service == Service::Trimmable,
        Kind::Ack | Kind::Nack | Kind::Pull | Kind::Reset => false,
    };
    is_whole(before)
        && is_whole(next)
        && FlowId::of_received(before) == FlowId::of_received(next)
        && next.header.sequence == before.header.sequence.wrapping_add(1)
        && next.marks == before.marks
        && !before.header.flags.contains(Flags::LAST)
        && before.wire_bytes == first.wire_bytes
        && next.wire_bytes <= first.wire_bytes
}
