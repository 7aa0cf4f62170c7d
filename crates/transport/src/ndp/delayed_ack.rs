//! One ACK for several packets, and one PULL for several more: an option for small packets. NDP answers each packet
//! (3.2).
//!
//! An ACK of 64 bytes for each packet of 1500 bytes takes 4 % of the way back, for each of 750 bytes 7 %. So the
//! receiver delays the ACKs and pulls of up to [`Config::ack_every`](super::Config::ack_every) whole packets of a
//! connection. Once that many pulls are queued, or would have been due, they go together: the counter of the PULL rises
//! by their number, the pacer rests for as many packets, and the ACK rides in it
//! ([`Header::delayed_ack`](trimline_packet::Header::delayed_ack)). So the pull rate stays.
//!
//! Never delayed are NACKs; ACKs of duplicates; a message's last packet; ACKs that the pulls of others would delay, or
//! that have no queued pull to ride in. After one part in [`WAIT_PART`] of the sender's time-out an ACK goes alone.

use trimline_packet::{DelayedAck, Flags, Header, Kind, Packet, Time, TimeDelta};

use super::endpoint::Endpoint;
use super::pull_queue::Sent;
use super::receiver::Receiver;
use super::slot::{Slot, StreamState};
use crate::Key;

/// Max wait of an ACK, as a divisor of the time-out (chosen: with its way back far less than the time-out).
const WAIT_PART: u64 = 4;

impl Endpoint {
    /// Returns whether a whole packet's ACK is delayed; its pull is then queued.
    pub(super) fn joins(&mut self, now: Time, slot: u32, header: &Header) -> bool {
        let (max, wait) = (u32::from(self.config.ack_every), self.wait());
        let entry = &mut self.slots[slot as usize];
        let receiver = Receiver::of(&mut entry.stream_state);
        let waits = !receiver.held
            && !receiver.complete()
            && receiver.pulls() < receiver.allowance()
            && self.pulls.queued() < 2 * max;
        if !waits {
            // The remaining pulls may be few and far between: no ACK waits for them.
            self.answer(slot);
            return false;
        }
        if !receiver.pending_acks.add(now, header) {
            self.answer(slot);
            let receiver = Receiver::of(&mut self.slots[slot as usize].stream_state);
            assert!(receiver.pending_acks.add(now, header), "one packet can always wait");
        }
        let entry = &mut self.slots[slot as usize];
        let receiver = Receiver::of(&mut entry.stream_state);
        let is_first = receiver.pulls() == 0;
        receiver.queue_pull(header.payload_length());
        let class = receiver.class;
        if receiver.pending_acks.count() == 1 {
            let due = now.saturating_add(wait);
            if due < entry.deadline {
                entry.deadline = due;
                self.timers.arm(slot, due);
            }
        }
        self.pulls.add(now);
        if is_first {
            self.pulls.join(&mut self.slots, slot, class);
        }
        true
    }

    /// Answers the pending packets of a receive stream now, without a pull.
    pub(super) fn answer(&mut self, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        let StreamState::Receiving(receiver) = &mut entry.stream_state else { return };
        if receiver.pending_acks.count() > 0 {
            let packet = delayed_ack(entry, self.host, None);
            self.push_control(packet);
        }
    }

    /// Answers, at a deadline, packets that have waited long enough; others bound the next deadline.
    pub(super) fn answer_in_time(&mut self, now: Time, slot: u32) {
        let wait = self.wait();
        let entry = &mut self.slots[slot as usize];
        let StreamState::Receiving(receiver) = &mut entry.stream_state else { return };
        if receiver.pending_acks.count() == 0 {
            return;
        }
        let due = receiver.pending_acks.since().saturating_add(wait);
        if now < due {
            entry.deadline = entry.deadline.min(due);
        } else {
            self.answer(slot);
        }
    }

    /// Sends the head stream's pulls, as many as go together, with its ACK.
    pub(super) fn transmit_pulls(&mut self, now: Time) -> Packet {
        let (slot, class) = self.pulls.head();
        let entry = &mut self.slots[slot as usize];
        let receiver = Receiver::of(&mut entry.stream_state);
        let max = receiver.pulls().min(self.config.ack_every.into());
        let (mut counter, mut gap, mut count, mut bytes) = (0, TimeDelta::ZERO, 0, 0);
        while count == 0 || count < max && !self.pulls.fills_turn(class, bytes) {
            let length;
            (counter, length) = receiver.send_pull(now);
            gap = gap + self.gaps.pulled(length);
            count += 1;
            bytes += u32::from(length);
        }
        let leaves = receiver.pulls() == 0;
        let due = now.saturating_add(self.config.pull_repeat);
        if leaves && due < entry.deadline {
            entry.deadline = due;
            self.timers.arm(slot, due);
        }
        let packet = match receiver.pending_acks.count() {
            0 => {
                let (flags, path) =
                    (entry.direction(), Receiver::of(&mut entry.stream_state).paths.spray());
                entry.control(self.host, Kind::Pull, flags, path, counter, 0)
            }
            _ => delayed_ack(entry, self.host, Some(counter)),
        };
        self.pulls.sent(now, &mut self.slots, class, Sent { gap, count, bytes, leaves });
        packet
    }

    #[cold]
    pub(super) fn acked_together(
        &mut self,
        now: Time,
        slot: u32,
        header: &Header,
        delayed_ack: DelayedAck,
    ) {
        let StreamState::Sending(sender) = &mut self.slots[slot as usize].stream_state else {
            return;
        };
        // Oldest first, as single ACKs would have come.
        for bit in (0..16).rev().filter(|bit| delayed_ack.before >> bit & 1 == 1) {
            let sequence = header.sequence.wrapping_sub(1 + bit);
            if let Some(latencies) = &mut self.latencies {
                latencies.acked(now, slot, sequence);
            }
            sender.acked(sequence, header.flags.attempt());
        }
        if let Some(latencies) = &mut self.latencies {
            latencies.acked(now, slot, header.sequence);
        }
        sender.acked(header.sequence, header.flags.attempt());
        if let Some(low) = delayed_ack.pulls {
            sender.pulled_low(low);
        }
        sender.reconcile(&self.config);
        self.sender_changed(now, slot);
    }

    /// Max delay of an ACK.
    fn wait(&self) -> TimeDelta {
        TimeDelta::from_ps(self.config.rto.as_ps() / WAIT_PART)
    }
}

/// Builds the ACK of pending packets, with the pull counter if pulls go along.
fn delayed_ack(entry: &mut Slot, host: trimline_packet::HostId, counter: Option<u32>) -> Packet {
    let mut flags = entry.direction().with(Flags::DELAYED_ACK);
    if counter.is_some() {
        flags = flags.with(Flags::PULL);
    }
    let receiver = Receiver::of(&mut entry.stream_state);
    let (sequence, before, attempt) = receiver.pending_acks.take();
    let path = receiver.paths.spray();
    let extra = DelayedAck { before, pulls: counter.map(|counter| counter as u16) }.extra();
    let Key { peer, connection, .. } = entry.key;
    let flags = flags.with_attempt(attempt);
    Packet::control(
        host,
        peer,
        Header { kind: Kind::Ack, flags, path, connection, sequence, extra },
    )
}
