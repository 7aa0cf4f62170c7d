//! The life of a connection's streams: opened or accepted, closed, remembered, released.
//!
//! # The end of a stream
//! The application ends a stream, with `Close`. Until then a stream that has delivered everything may be used again; a
//! driver that knows better (a simulator at the end of a sized flow) closes it at Acknowledged or Delivered. Tried:
//! closing a stream that was idle for the time of time-wait. It breaks a connection that is used once a second.
//!
//! * A closed send stream first sends its data (an endless stream stops at once), and is then remembered for time-wait.
//! * A closed receive stream is remembered at once. It ACKs packets that it had, without delivery, and refuses others
//!   with a RESET.
//!
//! # At most once (NDP 3.2.2)
//! A stream in time-wait keeps its slot, so that a late first-window packet opens no second connection. Each packet
//! that arrives restarts the time. A sender whose ACKs are lost resends after its RTO, which backs off to eight times
//! its first value: only a longer `time_wait` keeps lost ACKs from letting a packet outlive the memory of its
//! connection.

use core::num::NonZeroU16;

use trimline_packet::{Flags, Packet, PathId, Time};

use super::config::Event;
use super::endpoint::Endpoint;
use super::paths::Paths;
use super::receiver::Receiver;
use super::sender::Sender;
use super::slot::{Life, Slot, StreamState};
use crate::arrivals::WINDOW_LIMIT;
use crate::round_robin::Links;
use crate::{HostTables, Key, PathList, RngStream, Side};

impl Endpoint {
    fn place(&mut self, slot: u32, key: Key, stream_state: StreamState) {
        let entry = Slot {
            links: Links::OUTSIDE,
            deadline: Time::NEVER,
            key,
            life: Life::Open,
            stream_state,
        };
        let index = slot as usize;
        self.answered_nothing(slot);
        if index < self.slots.len() {
            assert!(
                self.slots[index].life == Life::Released,
                "the directory assigned a slot that is in use"
            );
            self.slots[index] = entry;
            return;
        }
        self.slots.resize_with(index, || Slot {
            links: Links::OUTSIDE,
            deadline: Time::NEVER,
            key,
            life: Life::Released,
            stream_state: StreamState::Vacant,
        });
        self.slots.push(entry);
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one command")]
    pub(super) fn open(
        &mut self,
        now: Time,
        key: Key,
        service_port: u16,
        class: u8,
        (length, payload): (Option<u64>, Option<NonZeroU16>),
        paths: &[PathId],
        stream: RngStream,
        directory: &mut impl HostTables,
    ) {
        if directory.find(key).is_some() {
            // In use, or in time-wait.
            self.events.push_back(Event::Refused { key });
            return;
        }
        let slot = directory.assign(key);
        let paths = Paths::new(paths, stream, self.config.path_penalty.as_ref());
        let paths = paths.with_choice(self.config.path_choice);
        let sender = Sender::new(now, &self.config, payload, length, service_port, class, paths);
        self.place(slot, key, StreamState::Sending(sender));
        self.sender_changed(now, slot);
    }

    /// Sends more data; on a connection that the peer opened, perhaps the first.
    pub(super) fn send(
        &mut self,
        now: Time,
        key: Key,
        length: u64,
        directory: &mut impl HostTables,
    ) {
        let slot = match directory.find(key) {
            Some(slot) => slot,
            None => match self.answer_back(now, key, length, directory) {
                Some(slot) => return self.sender_changed(now, slot),
                None => return self.events.push_back(Event::Refused { key }),
            },
        };
        let rto = self.rto(key.peer);
        let entry = &mut self.slots[slot as usize];
        match &mut entry.stream_state {
            StreamState::Sending(sender) if entry.life == Life::Open => {
                sender.append(now, length, &self.config, rto);
                self.sender_changed(now, slot);
            }
            _ => self.events.push_back(Event::Refused { key }),
        }
    }

    fn answer_back(
        &mut self,
        now: Time,
        key: Key,
        length: u64,
        directory: &mut impl HostTables,
    ) -> Option<u32> {
        if key.opened_here || key.side != Side::Sending {
            return None;
        }
        let receiving = directory.find(Key { side: Side::Receiving, ..key })?;
        let StreamState::Receiving(receiver) = &self.slots[receiving as usize].stream_state else {
            return None;
        };
        let (service_port, class) = (receiver.service_port, receiver.class);
        let mut paths = PathList::new();
        directory.paths(key.peer, &mut paths);
        let paths = Paths::new(&paths, directory.stream(key), self.config.path_penalty.as_ref());
        let paths = paths.with_choice(self.config.path_choice);
        let slot = directory.assign(key);
        let sender = Sender::new(now, &self.config, None, Some(length), service_port, class, paths);
        self.place(slot, key, StreamState::Sending(sender));
        Some(slot)
    }

    /// NDP 3.2.2-b: makes a receive stream from whichever packet of the first window comes first.
    #[cold]
    pub(super) fn accept(
        &mut self,
        now: Time,
        packet: &Packet,
        key: Key,
        directory: &mut impl HostTables,
    ) -> Option<u32> {
        let header = &packet.header;
        if !header.flags.contains(Flags::SYN) || header.sequence >= WINDOW_LIMIT {
            return None;
        }
        let known = if key.opened_here {
            // The peer answers on a connection that was opened here.
            directory.find(Key { side: Side::Sending, ..key }).is_some()
        } else {
            self.listening.contains(&header.service_port())
        };
        if !known || !directory.accepts(key) {
            return None;
        }
        let mut paths = PathList::new();
        directory.paths(key.peer, &mut paths);
        let paths = Paths::new(&paths, directory.stream(key), None);
        let slot = directory.assign(key);
        let receiver = Receiver::new(now, header.service_port(), header.flags.class(), paths);
        self.place(slot, key, StreamState::Receiving(receiver));
        self.events.push_back(Event::Accepted { key, slot });
        Some(slot)
    }

    pub(super) fn prioritise(&mut self, key: Key, class: u8, directory: &mut impl HostTables) {
        let Some(slot) = directory.find(key) else { return };
        let StreamState::Receiving(receiver) = &mut self.slots[slot as usize].stream_state else {
            return;
        };
        let class = class & 3;
        let old = core::mem::replace(&mut receiver.class, class);
        receiver.class_fixed = true;
        if receiver.pulls() > 0 && old != class {
            self.pulls.reclassify(&mut self.slots, slot, old, class);
        }
    }

    #[cold]
    pub(super) fn hold(
        &mut self,
        now: Time,
        key: Key,
        holds: bool,
        directory: &mut impl HostTables,
    ) {
        let Some(slot) = directory.find(key) else { return };
        let entry = &mut self.slots[slot as usize];
        let StreamState::Receiving(receiver) = &mut entry.stream_state else { return };
        if receiver.held == holds || entry.life != Life::Open {
            return;
        }
        if holds {
            if receiver.hold() > 0 || receiver.repeating {
                self.drop_pulls(slot, 0);
            }
            return;
        }
        let (before, class) = (receiver.pulls(), receiver.class);
        let count = receiver.go_on();
        (0..count).for_each(|_| self.pulls.add(now));
        if before == 0 && count > 0 {
            self.pulls.join(&mut self.slots, slot, class);
        }
        // A PULL may have been lost before: it is repeated as usual.
        let due = now.saturating_add(self.config.pull_repeat);
        let entry = &mut self.slots[slot as usize];
        if due < entry.deadline {
            entry.deadline = due;
            self.timers.arm(slot, due);
        }
    }

    #[cold]
    pub(super) fn renew(&mut self, now: Time, key: Key, directory: &mut impl HostTables) {
        let Some(slot) = directory.find(key) else { return };
        let entry = &mut self.slots[slot as usize];
        let StreamState::Sending(sender) = &mut entry.stream_state else { return };
        if entry.life != Life::TimeWait {
            sender.renew();
            self.sender_changed(now, slot);
        }
    }

    pub(super) fn classify(&mut self, key: Key, class: u8, directory: &mut impl HostTables) {
        let Some(slot) = directory.find(key) else { return };
        if let StreamState::Sending(sender) = &mut self.slots[slot as usize].stream_state {
            sender.classify(class);
        }
    }

    #[cold]
    pub(super) fn abandon(&mut self, now: Time, key: Key, directory: &mut impl HostTables) {
        let Some(slot) = directory.find(key) else { return };
        let entry = &mut self.slots[slot as usize];
        if entry.life == Life::TimeWait {
            return;
        }
        if let StreamState::Sending(sender) = &mut entry.stream_state {
            // The application must not get an event that everything was ACKed.
            sender.acknowledged = true;
        }
        self.enter_time_wait(now, slot);
    }

    #[cold]
    pub(super) fn use_paths(
        &mut self,
        key: Key,
        paths: &[PathId],
        directory: &mut impl HostTables,
    ) {
        let Some(slot) = directory.find(key) else { return };
        let penalty = self.config.path_penalty.as_ref();
        match &mut self.slots[slot as usize].stream_state {
            StreamState::Sending(sender) => sender.use_paths(paths, penalty),
            StreamState::Receiving(receiver) => receiver.paths.replace(paths, None),
            StreamState::Vacant => {}
        }
    }

    #[cold]
    pub(super) fn avoid(
        &mut self,
        key: Key,
        path: PathId,
        until: Time,
        directory: &mut impl HostTables,
    ) {
        let Some(slot) = directory.find(key) else { return };
        if let StreamState::Sending(sender) = &mut self.slots[slot as usize].stream_state {
            sender.avoid(path, until);
        }
    }

    pub(super) fn close(&mut self, now: Time, key: Key, directory: &mut impl HostTables) {
        let Some(slot) = directory.find(key) else { return };
        let entry = &mut self.slots[slot as usize];
        if entry.life != Life::Open {
            return;
        }
        if let StreamState::Sending(sender) = &mut entry.stream_state {
            sender.finish();
            if !sender.complete() {
                entry.life = Life::Closing;
                return self.sender_changed(now, slot);
            }
        }
        self.enter_time_wait(now, slot);
    }

    /// Handles a RESET: the peer refuses or does not know the stream.
    #[cold]
    pub(super) fn handle_reset(
        &mut self,
        now: Time,
        packet: &Packet,
        directory: &mut impl HostTables,
    ) {
        let flags = packet.header.flags;
        let key = Key {
            peer: packet.source,
            connection: packet.header.connection,
            opened_here: !flags.contains(Flags::FROM_OPENER),
            side: if flags.contains(Flags::PULL) { Side::Receiving } else { Side::Sending },
        };
        let Some(slot) = directory.find(key) else { return };
        let entry = &mut self.slots[slot as usize];
        // A complete stream has nothing to refuse: the RESET is late.
        let complete = match &entry.stream_state {
            StreamState::Sending(sender) => sender.complete(),
            StreamState::Receiving(receiver) => receiver.complete(),
            StreamState::Vacant => true,
        };
        if complete || entry.life == Life::TimeWait {
            return;
        }
        if let StreamState::Sending(sender) = &mut entry.stream_state {
            sender.abandon();
            sender.acknowledged = true;
        }
        self.events.push_back(Event::Refused { key });
        self.enter_time_wait(now, slot);
    }

    /// NDP 3.2.2-c: both ends remember a finished connection.
    pub(super) fn enter_time_wait(&mut self, now: Time, slot: u32) {
        self.answer(slot);
        let until = now.saturating_add(self.time_wait(self.slots[slot as usize].key.peer));
        let entry = &mut self.slots[slot as usize];
        (entry.life, entry.deadline) = (Life::TimeWait, until);
        self.timers.arm(slot, until);
        match &mut entry.stream_state {
            StreamState::Sending(sender) => {
                sender.abandon();
                self.sender_changed(now, slot);
            }
            StreamState::Receiving(receiver) => {
                receiver.active_at = now;
                let (class, dropped) = (receiver.class, receiver.drop_pulls(0));
                if dropped > 0 {
                    self.pulls.remove(&mut self.slots, slot, class, dropped, true);
                }
            }
            StreamState::Vacant => {}
        }
    }

    /// Ends the memory of a stream, unless packets still arrive for it.
    pub(super) fn time_wait_expired(
        &mut self,
        now: Time,
        slot: u32,
        directory: &mut impl HostTables,
    ) {
        let time_wait = self.time_wait(self.slots[slot as usize].key.peer);
        let entry = &mut self.slots[slot as usize];
        if let StreamState::Receiving(receiver) = &mut entry.stream_state {
            let until = receiver.active_at.saturating_add(time_wait);
            if now < until {
                entry.deadline = until;
                self.timers.arm(slot, until);
                return;
            }
            receiver.shrink();
        }
        entry.life = Life::Released;
        entry.deadline = Time::NEVER;
        directory.release(entry.key, slot);
    }
}

impl Endpoint {
    /// Forgets the stream in `slot`: for a driver that reassigns slots once no packet can name them. It must have
    /// nothing to send or wait for.
    pub fn forget(&mut self, slot: u32) {
        let entry = &mut self.slots[slot as usize];
        assert!(!entry.links.joined(), "a half that is forgotten has no pull to send");
        if let StreamState::Sending(sender) = &mut entry.stream_state {
            assert!(!sender.ready(), "a half that is forgotten has nothing to send");
            self.ready.forget(slot, &sender.scheduler);
        }
        entry.stream_state = StreamState::Vacant;
        entry.life = Life::Released;
        entry.deadline = Time::NEVER;
        if let Some(latencies) = &mut self.latencies {
            latencies.forget(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ndp_slot_fits_four_cache_lines() {
        assert!(size_of::<Slot>() <= 256, "{}", size_of::<Slot>());
    }
}
