//! The memory of frames in all switches of a process, and the ports' view of them.
//!
//! The simulator's arena has a similar free list, whose slots are half a cache line without bytes, so that a packet
//! costs one line. Ten lines of code are alike, and no crate lies below both.

use trimline_packet::wire::{Frame, LabelStack, Lengths, Profile, View};
use trimline_packet::{
    ConnectionId, Flags, Handle, Header, HostId, Kind, Packet, Packets, PathId, Service, Time,
};

use crate::host::BEHIND_PAYLOAD;

use super::egress::Egress;
use super::ip_header::IpHeader;
use super::notification::{self, LONGEST, Unnotified};
use super::pfabric;

const FCS_BYTES: usize = 4;

/// The way of a frame so far, as its IP header has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track {
    /// The TTL, which every switch decrements.
    pub time_to_live: u8,
    /// The number of detours; `None` if the frame has no count.
    pub detours: Option<u8>,
}

#[derive(Debug)]
pub(super) struct Stored {
    pub(super) packet: Packet,
    next: Handle,
    /// The arrival at the port where it waits, if recorded.
    since: Time,
    /// Its input port at this switch; `None` if not recorded, and for a flooded copy.
    input: Option<u16>,
    /// Packets that it found at its port, if recorded.
    found: u16,
    /// Its bytes, without labels.
    pub(super) bytes: Vec<u8>,
    /// Its labels, which stand before its IP header on the wire.
    pub(super) labels: LabelStack,
}

/// Frames by handle, with the packet that ports see.
#[derive(Debug)]
pub struct Frames {
    slots: Vec<Stored>,
    free: Vec<Handle>,
    profile: Profile,
    lengths: Lengths,
    /// The port that is trimming leads to a host.
    pub(super) at_last_hop: bool,
    /// Packets of other protocols without payload are notified, too.
    pub(super) notifies_control: bool,
    /// Frames may have labels before their IP header.
    pub(super) reads_labels: bool,
}

impl Frames {
    /// Returns an empty memory.
    pub fn new(profile: Profile, lengths: Lengths) -> Frames {
        let (slots, free) = (Vec::new(), Vec::new());
        Frames {
            slots,
            free,
            profile,
            lengths,
            at_last_hop: false,
            notifies_control: false,
            reads_labels: false,
        }
    }

    /// Stores a frame. Ports trim and queue it by its DSCP alone.
    pub fn insert(&mut self, frame: &[u8]) -> Handle {
        match IpHeader::of(frame) {
            None => self.insert_other(frame),
            network => self.insert_unlabelled(frame, network),
        }
    }

    /// Stores a frame that is not IP, or that has labels before its IP header.
    #[cold]
    fn insert_other(&mut self, frame: &[u8]) -> Handle {
        let split = LabelStack::split(frame).filter(|_| self.reads_labels);
        let Some((labels, plain)) = split else { return self.insert_unlabelled(frame, None) };
        let handle = self.insert_unlabelled(&plain, IpHeader::of(&plain));
        let slot = &mut self.slots[handle.index()];
        slot.labels = labels;
        slot.packet.wire_bytes = slot.packet.wire_bytes.saturating_add(labels.bytes() as u16);
        handle
    }

    fn insert_unlabelled(&mut self, frame: &[u8], network: Option<IpHeader>) -> Handle {
        let packet = describe(frame, network, &self.profile);
        match self.free.pop() {
            Some(handle) => {
                let slot = &mut self.slots[handle.index()];
                slot.packet = packet;
                slot.labels.clear();
                slot.bytes.clear();
                slot.bytes.extend_from_slice(frame);
                handle
            }
            None => {
                let handle = Handle::new(self.slots.len() as u32);
                let (next, since, input, found) = (Handle::NONE, Time::ZERO, None, 0);
                let (bytes, labels) = (frame.to_vec(), LabelStack::default());
                self.slots.push(Stored { packet, next, since, input, found, bytes, labels });
                handle
            }
        }
    }

    /// Returns a frame with its labels, as it is on a wire.
    #[cold]
    pub(super) fn labelled(&self, handle: Handle) -> Vec<u8> {
        let Stored { bytes, labels, .. } = &self.slots[handle.index()];
        let mut bytes = bytes.clone();
        labels.push_onto(&mut bytes);
        bytes
    }

    pub(super) fn has_labels(&self, handle: Handle) -> bool {
        !self.slots[handle.index()].labels.is_empty()
    }

    pub(super) fn stored_mut(&mut self, handle: Handle) -> &mut Stored {
        &mut self.slots[handle.index()]
    }

    /// Returns the bytes of a frame, without labels.
    pub fn bytes(&self, handle: Handle) -> &[u8] {
        &self.slots[handle.index()].bytes
    }

    pub(super) fn bytes_mut(&mut self, handle: Handle) -> &mut Vec<u8> {
        &mut self.slots[handle.index()].bytes
    }

    pub(super) fn since(&self, handle: Handle) -> Time {
        self.slots[handle.index()].since
    }

    pub(super) fn set_since(&mut self, handle: Handle, since: Time) {
        self.slots[handle.index()].since = since;
    }

    /// Returns the value of [`Frames::set_found`].
    pub fn found(&self, handle: Handle) -> u16 {
        self.slots[handle.index()].found
    }

    /// Records the packets that a frame found at its port.
    pub fn set_found(&mut self, handle: Handle, packets: u32) {
        self.slots[handle.index()].found = packets.min(u16::MAX.into()) as u16;
    }

    /// Returns what the IP header says about a frame's way; `None` if it is not IP. The header of an NDP packet counts
    /// its detours; other protocols have a use of their own for the field.
    pub fn track(&self, handle: Handle) -> Option<Track> {
        let bytes = self.bytes(handle);
        let network = IpHeader::of(bytes)?;
        let detours = self.counts_detours(bytes).and_then(|network| network.detours(bytes));
        Some(Track { time_to_live: network.time_to_live(bytes), detours })
    }

    fn counts_detours(&self, bytes: &[u8]) -> Option<IpHeader> {
        let is_ours = Frame::new(bytes).is_ok_and(|frame| is_ours(&frame, &self.profile));
        IpHeader::of(bytes).filter(|_| is_ours)
    }

    /// Writes the number of detours into the header of an NDP packet.
    pub fn set_detours(&mut self, handle: Handle, detours: u8) {
        let Some(network) = self.counts_detours(self.bytes(handle)) else { return };
        let bytes = self.bytes_mut(handle);
        if network.detours(bytes).is_some() {
            network.set_detours(bytes, detours);
        }
    }

    pub(super) fn release(&mut self, handle: Handle) {
        self.free.push(handle);
    }

    pub(super) fn held(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Bounces a trimmed header. Returns false if it cannot be bounced.
    pub fn bounce(&mut self, handle: Handle) -> bool {
        let slot = &mut self.slots[handle.index()];
        let turned = Frame::bounce(&mut slot.bytes, &self.profile).is_ok();
        if turned {
            slot.packet.bounce();
            slot.drop_labels();
        }
        turned
    }

    /// Returns the value of [`Frames::set_input`].
    pub fn input(&self, handle: Handle) -> Option<u16> {
        self.slots[handle.index()].input
    }

    /// Records the input port of a frame.
    pub fn set_input(&mut self, handle: Handle, input: Option<u16>) {
        self.slots[handle.index()].input = input;
    }

    /// Reads the fields that this kind of ports needs besides the DSCP.
    pub(super) fn read_fields<E: Egress>(&mut self, handle: Handle) {
        if E::NOTIFIES {
            self.recognise(handle);
        }
        if E::WEIGHS {
            self.weigh(handle);
        }
    }

    /// Recognises a notification, from any sender, which goes first. A frame longer than any notification is not one.
    /// Clears the input.
    fn recognise(&mut self, handle: Handle) {
        let Stored { packet, input, bytes, .. } = &mut self.slots[handle.index()];
        *input = None;
        let dscp = IpHeader::of(bytes).map(|network| network.dscp(bytes));
        if dscp == Some(self.profile.notification) {
            let service = match bytes.len() <= LONGEST {
                true => Service::Notification,
                false => Service::Droppable,
            };
            packet.service = service.into();
        }
    }

    /// Reads the urgency and the flow of a frame (pFabric 4.1, 4.2). A frame without an urgency goes first, whatever
    /// its header has in that field.
    pub fn weigh(&mut self, handle: Handle) {
        let Stored { packet, bytes, .. } = &mut self.slots[handle.index()];
        packet.header.extra = pfabric::of(bytes).unwrap_or(0);
        // Two flows of one hash keep their common order, which costs one of the flows some time.
        let flow = IpHeader::of(bytes).map_or(0, |network| network.flow_hash(bytes, 0));
        packet.source = HostId::new((flow >> 32) as u32);
        packet.header.connection = ConnectionId::new(flow as u32);
    }

    /// Turns a frame into the notification of its own drop (fastlane-3.2-a). Returns the bytes cut on the wire.
    ///
    /// # Errors
    /// Returns the reason why there is no notification; the frame is unchanged.
    pub fn notify(&mut self, handle: Handle) -> Result<u16, Unnotified> {
        let Frames { slots, profile, notifies_control, .. } = self;
        let Stored { packet, input, bytes, labels, .. } = &mut slots[handle.index()];
        let network = notification::between_hosts(bytes, profile.notification)?;
        if input.is_none() {
            return Err(Unnotified::Group);
        }
        let left = match Frame::new(bytes).is_ok_and(|frame| is_ours(&frame, profile)) {
            true => Frame::notify(bytes, profile).map_err(|_| Unnotified::Notification)?,
            false => notification::notify(bytes, network, profile.notification, *notifies_control)?,
        };
        bytes.truncate(left);
        let before = packet.wire_bytes;
        labels.clear();
        packet.notify();
        let on_wire = (left + FCS_BYTES).max(packet.wire_bytes.into());
        packet.wire_bytes = before.min(on_wire.min(u16::MAX.into()) as u16);
        Ok(before - packet.wire_bytes)
    }

    pub(super) fn describe_again(&mut self, handle: Handle) {
        let slot = &mut self.slots[handle.index()];
        slot.packet = describe(&slot.bytes, IpHeader::of(&slot.bytes), &self.profile);
        let labels = slot.labels.bytes() as u16;
        slot.packet.wire_bytes = slot.packet.wire_bytes.saturating_add(labels);
    }
}

impl Packets for Frames {
    #[inline]
    fn packet(&self, handle: Handle) -> &Packet {
        &self.slots[handle.index()].packet
    }
    #[inline]
    fn packet_mut(&mut self, handle: Handle) -> &mut Packet {
        &mut self.slots[handle.index()].packet
    }
    #[inline]
    fn next(&self, handle: Handle) -> Handle {
        self.slots[handle.index()].next
    }
    #[inline]
    fn set_next(&mut self, handle: Handle, next: Handle) {
        self.slots[handle.index()].next = next;
    }

    fn trim(&mut self, handle: Handle, trimmed_bytes: u16) -> u16 {
        let slot = &mut self.slots[handle.index()];
        let left = Frame::trim(&mut slot.bytes, &self.profile, self.at_last_hop, self.lengths)
            .expect("what ports take for trimmable can be trimmed");
        slot.bytes.truncate(left);
        let on_wire = (left + FCS_BYTES).min(usize::from(u16::MAX)) as u16;
        let labels = slot.labels.bytes() as u16;
        slot.packet.trim(trimmed_bytes.max(on_wire).saturating_add(labels))
    }
}

impl Stored {
    /// Removes the labels of a header that returns to its sender: they lead to the receiver.
    fn drop_labels(&mut self) {
        self.packet.wire_bytes -= self.labels.bytes() as u16;
        self.labels.clear();
    }
}

fn is_ours(frame: &Frame<'_>, profile: &Profile) -> bool {
    let (source, destination) = frame.ports();
    source == profile.port || destination == profile.port
}

/// Returns the ports' view of a frame. Its class is its DSCP; frames that are not IP, or with a DSCP unknown to the
/// profile, may only be dropped. DATA counts as in the simulator, with its payload and 64 bytes. All else counts as in
/// Ethernet, with FCS, and so does DATA longer than it says.
fn describe(bytes: &[u8], network: Option<IpHeader>, profile: &Profile) -> Packet {
    let mut packet = Packet {
        source: HostId::new(0),
        destination: HostId::new(0),
        header: Header {
            kind: Kind::Data,
            flags: Flags::default(),
            path: PathId::new(0),
            connection: ConnectionId::new(0),
            sequence: 0,
            extra: 0,
        },
        wire_bytes: (bytes.len() + FCS_BYTES).clamp(64, usize::from(u16::MAX)) as u16,
        service: Service::Droppable.into(),
        marks: 0,
    };
    let Some(network) = network else { return packet };
    packet.marks = network.marks(bytes);
    // NDP packets are UDP with the protocol's 16 bytes; a frame that cannot be read so cannot be trimmed.
    let Ok(frame) = Frame::new(bytes) else { return packet };
    let Some(class) = profile.class(network.dscp(bytes)) else { return packet };
    packet.service = class;
    let header: View<'_> = frame.header();
    packet.header.flags = header.flags();
    packet.header.kind = header.kind().unwrap_or(Kind::Data);
    packet.header.connection = header.connection();
    packet.header.sequence = header.sequence();
    packet.header.extra = header.extra();
    let is_whole = class.service().is_whole();
    if is_ours(&frame, profile) && is_whole && header.kind() == Some(Kind::Data) {
        packet.marks |= profile.marks(network.dscp(bytes));
        let behind = network.payload() + 8 + 16;
        let payload = usize::from(packet.header.payload_length());
        // A host's bytes behind the payload are not counted. More bytes are not from a host of this stack: such frames
        // would cost less than they take.
        if (payload..=payload + BEHIND_PAYLOAD).contains(&bytes.len().saturating_sub(behind)) {
            let wire = usize::from(Packet::HEADER_BYTES) + payload;
            packet.wire_bytes = wire.min(usize::from(u16::MAX)) as u16;
        }
    }
    packet
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimline_packet::wire::{Datagram, Ethernet, Fields};

    /// Returns the counted size of a data packet with `behind` bytes after its payload, and its own length with the
    /// FCS.
    fn counted(payload: usize, behind: usize) -> (u16, usize) {
        let datagram = Datagram {
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
            entropy: 50_000,
            service: Service::Trimmable.into(),
            marks: 0,
            fields: Fields {
                kind: Kind::Data,
                flags: Flags::default(),
                connection: ConnectionId::new(1),
                sequence: 0,
                extra: Header::data_extra(payload as u16, 7),
            },
        };
        let (bytes, mut frame) = (vec![7; payload], Vec::new());
        datagram.emit(Ethernet::default(), &Profile::PAPER, &bytes, &[], &mut frame).unwrap();
        frame.resize(frame.len() + behind, 0);
        let described = describe(&frame, IpHeader::of(&frame), &Profile::PAPER);
        (described.wire_bytes, frame.len() + FCS_BYTES)
    }

    #[test]
    fn data_frames_count_with_the_bytes_of_the_model() {
        for payload in [0, 1, 1000, 8000] {
            for behind in [0, 8, BEHIND_PAYLOAD - 2] {
                assert_eq!(counted(payload, behind).0, payload as u16 + 64, "{payload}, {behind}");
            }
            for behind in [BEHIND_PAYLOAD + 1, 1400] {
                let (wire_bytes, length) = counted(payload, behind);
                assert_eq!(usize::from(wire_bytes), length, "{payload}, {behind}");
            }
        }
    }
}
