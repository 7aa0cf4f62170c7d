//! The path from wire to transport (HULL 4.1).

use alloc::vec::Vec;

use trimline_packet::list::Queue;
use trimline_packet::{
    ByteCount, Flags, Handle, Kind, Packet, Packets, Service, SettingFault, Time, TimeDelta,
};

use super::interrupts::{Interrupts, Moderation};
use crate::flow_id::FlowId;

#[cfg(test)]
mod tests;

/// Settings of a host's receive path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverSettings {
    /// Interrupt coalescing.
    pub interrupts: Interrupts,
    /// Frames that the NIC holds for a processor; further ones are dropped.
    pub ring: u32,
    /// Max frames that a processor takes at once (Linux: 64). After a full round it polls again; otherwise it waits for
    /// an interrupt, even if frames have come.
    pub round: u32,
    /// Max bytes of merged frames (generic receive offload; the paper's largest ACK ratios are 64 KB). Zero: no
    /// merging.
    pub merge: ByteCount,
    /// Parallel processors. With several, each takes one frame at a time, so that flows keep their order.
    pub processors: u8,
    /// Processor time per interrupt.
    pub per_interrupt: TimeDelta,
    /// Processor time per frame.
    pub per_packet: TimeDelta,
    /// Processor time per answer: once for merged data.
    pub per_answer: TimeDelta,
    /// Packets that the NIC hands to the transport at once.
    pub bypass: Bypass,
}

/// Packets that skip the processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bypass {
    /// Notifications from switches.
    pub notifications: bool,
    /// Packets of kind PULL: pFabric's probes, there and back (FastLane 4.2.2).
    pub probes: bool,
}

impl ReceiverSettings {
    /// Checks the settings.
    ///
    /// # Errors
    /// Returns the first invalid setting.
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

/// Checked settings, shared by many hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverModel {
    settings: ReceiverSettings,
    merge: u32,
}

impl ReceiverModel {
    /// True if a packet goes to the transport at once.
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

/// Counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Frames accepted into the ring.
    pub frames: u64,
    /// Frames that found the ring full.
    pub dropped: u64,
    /// Interrupts.
    pub interrupts: u64,
    /// Frames or merged groups that processors took.
    pub taken: u64,
    /// Busy time of all processors together.
    pub busy: TimeDelta,
}

/// A packet for the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The packet.
    pub packet: Handle,
    /// More merged packets follow now: the transport answers after the last.
    pub is_followed: bool,
}

/// A processor's round, with the frames merged now.
#[derive(Clone, Copy, Debug)]
struct Job {
    flow: FlowId,
    /// Merged frames in progress.
    packets: Queue,
    until: Time,
    /// Delivery time: `until`, or later behind the flow's frames at other processors.
    done: Time,
    rest: Queue,
    /// The round was full: the processor polls again.
    inspects_again: bool,
}

/// The receive path of a host. A frame enters the ring and waits for an interrupt, which waits for an idle processor,
/// which takes a round of frames.
///
/// # The contract
/// `now` never falls.
/// 1. At [`Receiver::poll_timeout`], before anything later, call [`Receiver::poll_delivery`] until it returns `None`;
///    each packet goes to the transport.
/// 2. Give an arriving frame to [`Receiver::handle_frame`], at the same instant before or after deliveries.
///
/// Nothing is allocated after [`Receiver::new`].
#[derive(Clone, Debug)]
pub struct Receiver {
    ring: Queue,
    moderation: Moderation,
    /// At most one per processor, in order of start.
    jobs: Vec<Job>,
    /// Rest of the last completed group.
    delivered: Queue,
    /// Last completion time.
    free_at: Time,
    counters: ReceiverCounters,
}

impl Receiver {
    /// An idle receiver.
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

    /// Takes a frame whose last bit arrives. False if the ring is full: the caller has the frame again, which is lost.
    ///
    /// # Panics
    /// Panics if an earlier event is still due.
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

    /// Time of the next event; never without frames.
    #[inline]
    pub fn poll_timeout(&self, model: &ReceiverModel) -> Time {
        if !self.delivered.head.is_none() {
            return Time::ZERO;
        }
        self.next_done().min(self.next_interrupt(model))
    }

    #[inline]
    fn next_done(&self) -> Time {
        self.jobs.iter().map(|job| job.done).min().unwrap_or(Time::NEVER)
    }

    /// Time of the next interrupt; never while all processors are busy.
    #[inline]
    fn next_interrupt(&self, model: &ReceiverModel) -> Time {
        let is_free = self.jobs.len() < usize::from(model.settings.processors);
        // An interrupt that is due while all are busy comes at the first completion.
        if is_free { self.moderation.due().max(self.free_at) } else { Time::NEVER }
    }

    /// The next packet for the transport, if due.
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

    /// Counters at `now`; `busy` excludes work still ahead.
    pub fn counters(&self, now: Time) -> ReceiverCounters {
        let left = |sum, job: &Job| sum + job.until.saturating_since(now);
        let left = self.jobs.iter().fold(TimeDelta::ZERO, left);
        ReceiverCounters { busy: self.counters.busy.saturating_sub(left), ..self.counters }
    }

    /// Delivers a finished group. The processor then continues its round, polls again after a full one, or becomes
    /// idle.
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

    /// Starts a round of frames from the ring, after `extra` time.
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
        // The rest has waited long enough.
        self.moderation.interrupt();
        if !self.ring.head.is_none() {
            self.moderation.wait_no_longer(at);
        }
        let inspects_again = round.packets == model.settings.round;
        self.work(at, extra, round, inspects_again, packets, model);
    }

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
        let taken = pop_mergeable(&mut rest, packets, model.merge);
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

/// Takes the first frames that can be merged, up to `max` bytes: at least one.
fn pop_mergeable<P: Packets>(frames: &mut Queue, packets: &mut P, max: u32) -> Queue {
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

fn move_first<P: Packets>(from: &mut Queue, to: &mut Queue, packets: &mut P) {
    let packet = from.pop(packets);
    let bytes = u32::from(packets.packet(packet).wire_bytes);
    from.release(1, bytes);
    to.push(packets, packet, bytes);
}

/// True if `next` merges with `first` to `before`: data of the same flow in order, with equal marks and not larger,
/// after frames of equal size without the end of a message (as generic receive offload in Linux, so that a congestion
/// mark never merges with unmarked frames).
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
