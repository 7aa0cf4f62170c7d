//! The memory of a process full of switches: frames, and what ports see of them.
//!
//! The simulator's arena has a free list like this one; its slots are half a cache line each and have no bytes, so that
//! a packet costs one line. Ten lines are alike, and no crate lies below both.

use trimline_packet::wire::{Frame, Lengths, Profile, View};
use trimline_packet::{
    ConnectionId, Flags, Handle, Header, HostId, Kind, Packet, Packets, PathId, Service, Time,
};

use crate::host::BEHIND_PAYLOAD;

use super::egress::Egress;
use super::ip_header::IpHeader;
use super::notification::{self, LONGEST, Untold};
use super::pfabric;

/// Bytes of the FCS, which no buffer contains.
const FCS_BYTES: usize = 4;

#[derive(Debug)]
struct Stored {
    packet: Packet,
    next: Handle,
    /// When it came to the port where it waits, if that port wants to know.
    since: Time,
    /// The port of this switch by which it came in; none where that is not kept, and of a copy that went everywhere.
    input: Option<u16>,
    /// Packets that it found at its port, if that is kept.
    found: u16,
    bytes: Vec<u8>,
}

/// Frames by handle, with what a port looks at beside the bytes.
#[derive(Debug)]
pub struct Frames {
    slots: Vec<Stored>,
    free: Vec<Handle>,
    profile: Profile,
    lengths: Lengths,
    /// The port that trims now leads to a host.
    pub(super) at_last_hop: bool,
    /// Packets of others than this protocol are told of though they carry nothing.
    pub(super) notifies_control: bool,
}

impl Frames {
    /// No frames.
    pub fn new(profile: Profile, lengths: Lengths) -> Frames {
        let (slots, free) = (Vec::new(), Vec::new());
        Frames { slots, free, profile, lengths, at_last_hop: false, notifies_control: false }
    }

    /// Takes a frame in. Ports trim and queue it by its DSCP alone.
    pub fn insert(&mut self, frame: &[u8]) -> Handle {
        let packet = describe(frame, &self.profile);
        match self.free.pop() {
            Some(handle) => {
                let slot = &mut self.slots[handle.index()];
                slot.packet = packet;
                slot.bytes.clear();
                slot.bytes.extend_from_slice(frame);
                handle
            }
            None => {
                let handle = Handle::new(self.slots.len() as u32);
                let (next, since, input, found) = (Handle::NONE, Time::ZERO, None, 0);
                let bytes = frame.to_vec();
                self.slots.push(Stored { packet, next, since, input, found, bytes });
                handle
            }
        }
    }

    /// The bytes of a frame.
    pub fn bytes(&self, handle: Handle) -> &[u8] {
        &self.slots[handle.index()].bytes
    }

    pub(super) fn bytes_mut(&mut self, handle: Handle) -> &mut Vec<u8> {
        &mut self.slots[handle.index()].bytes
    }

    /// When it came to its port: what [`Frames::set_since`] was told last of this frame.
    pub(super) fn since(&self, handle: Handle) -> Time {
        self.slots[handle.index()].since
    }

    pub(super) fn set_since(&mut self, handle: Handle, since: Time) {
        self.slots[handle.index()].since = since;
    }

    /// Packets that a frame found at its port: what [`Frames::set_found`] was told last of it.
    pub fn found(&self, handle: Handle) -> u16 {
        self.slots[handle.index()].found
    }

    /// Writes down how many packets a frame found at its port.
    pub fn set_found(&mut self, handle: Handle, packets: u32) {
        self.slots[handle.index()].found = packets.min(u16::MAX.into()) as u16;
    }

    /// The hops that a frame has left to live; none if it is no IP.
    pub fn time_to_live(&self, handle: Handle) -> Option<u8> {
        let bytes = self.bytes(handle);
        IpHeader::of(bytes).map(|network| network.time_to_live(bytes))
    }

    pub(super) fn release(&mut self, handle: Handle) {
        self.free.push(handle);
    }

    /// Frames inside.
    pub(super) fn held(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Turns a trimmed header round. False: it is not one of those that can be.
    pub fn turn_round(&mut self, handle: Handle) -> bool {
        let slot = &mut self.slots[handle.index()];
        let turned = Frame::turn_round(&mut slot.bytes, &self.profile).is_ok();
        if turned {
            slot.packet.turn_round();
        }
        turned
    }

    /// The port by which a frame came in: what [`Frames::set_input`] was told last of it.
    pub fn input(&self, handle: Handle) -> Option<u16> {
        self.slots[handle.index()].input
    }

    /// Writes down the port by which a frame came in.
    pub fn set_input(&mut self, handle: Handle, input: Option<u16>) {
        self.slots[handle.index()].input = input;
    }

    /// Sees what this kind of ports asks of a frame beside its DSCP.
    pub(super) fn look_for<E: Egress>(&mut self, handle: Handle) {
        if E::NOTIFIES {
            self.recognise(handle);
        }
        if E::WEIGHS {
            self.weigh(handle);
        }
    }

    /// Sees whether a frame, whoever sent it, is a notification of another switch, which goes before all else. What is
    /// longer than any notification is none, whatever it says. No input is known yet.
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

    /// Sees how urgent a frame is, and of which flow (pFabric 4.1, 4.2): what a port asks that is in order of urgency. What
    /// says nothing of it goes before all that does, whatever its header has in that place.
    pub fn weigh(&mut self, handle: Handle) {
        let Stored { packet, bytes, .. } = &mut self.slots[handle.index()];
        packet.header.extra = pfabric::of(bytes).unwrap_or(0);
        // Two flows of one hash keep their order among each other, which costs one of them some time.
        let flow = IpHeader::of(bytes).map_or(0, |network| network.flow_hash(bytes, 0));
        packet.source = HostId::new((flow >> 32) as u32);
        packet.header.connection = ConnectionId::new(flow as u32);
    }

    /// Makes a frame the notification of its own drop (fastlane-3.2-a). Gives the bytes cut on the wire.
    ///
    /// # Errors
    /// Why nobody is told of it; it is as it was.
    pub fn notify(&mut self, handle: Handle) -> Result<u16, Untold> {
        let Frames { slots, profile, notifies_control, .. } = self;
        let Stored { packet, input, bytes, .. } = &mut slots[handle.index()];
        let network = notification::between_hosts(bytes, profile.notification)?;
        if input.is_none() {
            return Err(Untold::Group);
        }
        let left = match Frame::new(bytes).is_ok_and(|frame| is_ours(&frame, profile)) {
            true => Frame::notify(bytes, profile).map_err(|_| Untold::Notification)?,
            false => notification::notify(bytes, network, profile.notification, *notifies_control)?,
        };
        bytes.truncate(left);
        let before = packet.wire_bytes;
        packet.notify();
        let on_wire = (left + FCS_BYTES).max(packet.wire_bytes.into());
        packet.wire_bytes = before.min(on_wire.min(u16::MAX.into()) as u16);
        Ok(before - packet.wire_bytes)
    }

    /// What a frame is to a port after its bytes were changed.
    pub(super) fn describe_again(&mut self, handle: Handle) {
        let slot = &mut self.slots[handle.index()];
        slot.packet = describe(&slot.bytes, &self.profile);
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
        slot.packet.trim(trimmed_bytes.max(on_wire))
    }
}

/// Whether one end of a frame is the protocol's port.
fn is_ours(frame: &Frame<'_>, profile: &Profile) -> bool {
    let (source, destination) = frame.ports();
    source == profile.port || destination == profile.port
}

/// What a port sees of a frame. Its class is its DSCP; what the profile does not name, and what is no IP,
/// may only be dropped. DATA is counted as the simulator counts it, its payload and 64 bytes; everything
/// else as Ethernet does, with its FCS, and so is DATA that is longer than it says.
fn describe(bytes: &[u8], profile: &Profile) -> Packet {
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
    let Some(network) = IpHeader::of(bytes) else { return packet };
    packet.marks = network.marks(bytes);
    // NDP packets are UDP with the protocol's 16 bytes; what cannot be read so cannot be trimmed.
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
        // What hosts put behind the payload is not counted. More is no host's: frames would cost less than they take.
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

    /// What a port counts of a packet of data with this payload and so many bytes behind it, and its own length with
    /// the FCS.
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
        (describe(&frame, &Profile::PAPER).wire_bytes, frame.len() + FCS_BYTES)
    }

    #[test]
    fn data_counts_as_the_model_has_it_unless_it_is_longer_than_hosts_make_it() {
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
