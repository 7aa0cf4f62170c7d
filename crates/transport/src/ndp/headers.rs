//! Protects a host against forged trimmed headers: an option for real networks. NDP believes each header
//! ([`Config::doubts_headers`](super::Config::doubts_headers)).
//!
//! A header has no payload, and without a key nothing vouches for it. So it is answered, and no more:
//!
//! * It moves neither the end of the data, nor LAST, nor the class. Whole packets do.
//! * It earns one NACK and one pull for each transmission that it names. Only a packet's last answered attempt is
//!   recorded. Attempts wrap, so an older one counts again: headers draw no more bytes than their own, and queued pulls
//!   are bounded.
//! * It lies less than two windows beyond the newest whole packet: the window that a sender pushes, and as many pulls
//!   in flight. Headers do not move this bound.
//!
//! A header beyond the newest whole packet may be genuine: a sender whose last packets were all trimmed shows only
//! headers. Its packet counts as missing until whole packets pass it, or until [`IN_VAIN`] repeated PULLs elicited
//! nothing.

use trimline_packet::{Flags, Kind, Packet, Time};

use super::answered::Answered;
use super::endpoint::{Asked, Endpoint, answer, is_whole};
use super::receiver::{Arrival, Receiver};
use super::slot::Life;
use crate::arrivals::WINDOW_LIMIT;
use crate::{HostTables, Key, Side};

/// Repeated PULLs in a row after which a packet known only from headers is not missing (chosen: three, each after twice
/// the time of the one before).
const IN_VAIN: u8 = 3;

impl Endpoint {
    #[cold]
    pub(super) fn is_apart(&self, packet: &Packet) -> bool {
        self.is_probe(packet) || self.config.doubts_headers && !is_whole(packet)
    }

    fn is_probe(&self, packet: &Packet) -> bool {
        self.config.aeolus && packet.header.flags.contains(Flags::PULL)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn handle_apart(
        &mut self,
        now: Time,
        packet: &Packet,
        directory: &mut impl HostTables,
    ) {
        if self.is_probe(packet) {
            return self.handle_probe(now, packet, directory);
        }
        let Some((key, slot)) = self.receiving_side(now, packet, directory) else { return };
        let sequence = packet.header.sequence;
        let entry = &mut self.slots[slot as usize];
        let receiver = Receiver::of(&mut entry.stream_state);
        if receiver.has(sequence) {
            receiver.received(now);
            let header =
                answer(&packet.header, key, Kind::Ack, receiver.paths.spray(), Asked::Nothing);
            return self.push_control(Packet::control(self.host, key.peer, header));
        }
        if entry.life != Life::Open {
            return self.reset(now, packet, key.peer, directory);
        }
        if self.is_news(now, slot, packet) {
            self.heeds_options(now, packet, slot, Arrival::Header);
            self.answer_header(now, slot, packet, key);
        }
    }

    /// Returns a DATA packet's receive stream, perhaps a new one.
    pub(super) fn receiving_side(
        &mut self,
        now: Time,
        packet: &Packet,
        directory: &mut impl HostTables,
    ) -> Option<(Key, u32)> {
        let key = Key {
            peer: packet.source,
            connection: packet.header.connection,
            opened_here: !packet.header.flags.contains(Flags::FROM_OPENER),
            side: Side::Receiving,
        };
        let slot = directory.find(key).or_else(|| self.accept(now, packet, key, directory));
        if slot.is_none() {
            self.reset(now, packet, key.peer, directory);
        }
        slot.map(|slot| (key, slot))
    }

    /// Returns whether a header is its attempt's first, of a missing packet that its sender may have sent.
    fn is_news(&mut self, now: Time, slot: u32, packet: &Packet) -> bool {
        let header = &packet.header;
        let reach = 2 * self.config.window(self.config.payload_bytes);
        let receiver = Receiver::of(&mut self.slots[slot as usize].stream_state);
        let ahead = header.sequence.wrapping_sub(receiver.end) as i32;
        let distance = header.sequence.wrapping_sub(receiver.base());
        if ahead >= reach as i32 || distance >= WINDOW_LIMIT {
            return false;
        }
        if self.answered.len() <= slot as usize {
            self.answered.resize_with(slot as usize + 1, Answered::default);
        }
        let answered = &mut self.answered[slot as usize];
        let (is_news, is_first) =
            answered.record(receiver.base(), header.sequence, header.flags.attempt());
        if is_first && ahead >= 0 {
            answered.ahead += 1;
            receiver.missing += 1;
        }
        if is_news {
            receiver.received(now);
            receiver.statistics.trims += 1;
        }
        is_news
    }

    /// NACKs a header and pulls its packet, as usual.
    fn answer_header(&mut self, now: Time, slot: u32, packet: &Packet, key: Key) {
        let receiver = Receiver::of(&mut self.slots[slot as usize].stream_state);
        let allowance = receiver.allowance();
        if receiver.repeating || receiver.pulls() > allowance {
            self.drop_pulls(slot, allowance);
        }
        let entry = &mut self.slots[slot as usize];
        let receiver = Receiver::of(&mut entry.stream_state);
        let length = packet.header.payload_length();
        // Queued pulls are at most the missing packets, and a window of unknown ones.
        let window = self.config.window(self.config.payload_bytes);
        let may_ask = receiver.pulls() < allowance.min(receiver.missing.saturating_add(window));
        let mut asked = Asked::Nothing;
        if receiver.held {
            receiver.withheld = receiver.withheld.saturating_add(1);
        } else if may_ask && self.config.pull_ack && self.pulls.may_ride(now) {
            asked = Asked::Riding { counter: receiver.ride_pull() };
            self.pulls.rode(now, self.gaps.pulled(length));
            let due = now.saturating_add(self.config.pull_repeat);
            if due < entry.deadline {
                entry.deadline = due;
                self.timers.arm(slot, due);
            }
        } else if may_ask {
            asked = Asked::Queued { is_first: receiver.pulls() == 0 };
            receiver.queue_pull(length);
            self.pulls.add(now);
        }
        let class = receiver.class;
        let header = answer(&packet.header, key, Kind::Nack, receiver.paths.spray(), asked);
        self.push_control(Packet::control(self.host, key.peer, header));
        if let Asked::Queued { is_first: true } = asked {
            self.pulls.join(&mut self.slots, slot, class);
        }
    }

    /// Corrects the count of missing packets that headers and whole packets counted twice.
    pub(super) fn recount(&mut self, slot: u32) {
        let Some(answered) = self.answered.get_mut(slot as usize) else { return };
        if answered.ahead > 0 {
            let receiver = Receiver::of(&mut self.slots[slot as usize].stream_state);
            let left = answered.from(receiver.end);
            receiver.missing -= answered.ahead - left;
            answered.ahead = left;
            let allowance = receiver.allowance();
            if receiver.pulls() > allowance {
                self.drop_pulls(slot, allowance);
            }
        }
    }

    /// Stops counting packets as missing that only headers named and no PULL elicits.
    pub(super) fn forget_headers(&mut self, slot: u32) {
        let Some(answered) = self.answered.get_mut(slot as usize) else { return };
        if answered.ahead == 0 {
            return;
        }
        let receiver = Receiver::of(&mut self.slots[slot as usize].stream_state);
        if receiver.repeats >= IN_VAIN {
            receiver.missing -= answered.forget_from(receiver.end);
        }
    }

    /// Clears the record for a new stream.
    pub(super) fn answered_nothing(&mut self, slot: u32) {
        if let Some(answered) = self.answered.get_mut(slot as usize) {
            *answered = Answered::default();
        }
    }
}
