//! What happened, one event after the other, at chosen ports and hosts or to chosen flows: timeline.csv.

use trimline_packet::{Kind, Packet, Service};

use crate::csv::table;

/// The events of a run that its scenario asks for, in the order in which they happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Names of ports and hosts.
    pub places: Vec<String>,
    /// Names of workloads.
    pub workloads: Vec<String>,
    /// Events, ascending in time.
    pub events: Vec<Event>,
    /// The packet of each event as it is from then on, where packets are kept; else none.
    pub packets: Vec<Packet>,
}

/// One thing that happened to one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, from the start of the run.
    pub time_ps: u64,
    /// Departures: when the last bit has left.
    pub until_ps: Option<u64>,
    /// Where: of [`Timeline::places`].
    pub place: u32,
    /// What.
    pub what: What,
    /// What kind of packet it is from now on.
    pub packet: PacketKind,
    /// The packet's flow.
    pub flow: FlowName,
    /// DATA, ACK, NACK: packet number in the flow. PULL: the pull counter.
    pub sequence: u32,
    /// Which transmission of its packet number this is, from 0, modulo 4; so in the answers to it.
    pub attempt: u8,
    /// The path that its sender chose, or the switch that detoured it last.
    pub path: u16,
    /// Bytes on the wire from now on.
    pub wire_bytes: u16,
    /// At a port: packets and bytes of the queue for such packets, after everything that the port did at
    /// this instant; the packet on the wire included until its last bit has left.
    pub queue: Option<(u32, u32)>,
}

/// A flow as flows.csv names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowName {
    /// Of [`Timeline::workloads`].
    pub workload: u32,
    /// Number among those of its source and workload.
    pub index: u64,
    /// Source host, also of packets that go the other way.
    pub source: u32,
    /// Destination host.
    pub destination: u32,
}

impl FlowName {
    /// Of a packet that belongs to no flow.
    pub const NOBODY: FlowName =
        FlowName { workload: u32::MAX, index: 0, source: u32::MAX, destination: u32::MAX };
}

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It arrived at a port and waits there.
    Enqueue,
    /// It lost its payload; what is left waits at the port.
    Trim,
    /// Its first bit is on the link of a port or host.
    Depart,
    /// Its last bit arrived at a host.
    Arrive,
    /// The port, or the phantom queue of a port or host, marked it: it had no mark of congestion (ECN) before.
    Mark,
    /// It was for this port and leaves the switch by another one.
    Detour,
    /// It found no place at a port and goes back to its sender.
    Return,
    /// It found no place at a port and goes back as a notification, or it met congestion and a notification goes to its
    /// sender.
    Notify,
    /// It found no place at a port and is gone.
    Drop,
    /// The link lost it.
    Lose,
}

/// Kinds of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// DATA, whole.
    Data,
    /// DATA without its payload.
    Header,
    /// A header on its way back.
    Returned,
    /// The notification of a drop, or of congestion, on its way to the packet's sender.
    Notification,
    /// ACK.
    Ack,
    /// NACK.
    Nack,
    /// PULL of NDP.
    Pull,
    /// RESET.
    Reset,
    /// A frame of priority flow control: of no flow, from one end of a link to the other.
    Pause,
    /// SYN without data.
    Syn,
    /// The answer to a SYN.
    SynAck,
    /// Asks whether packets arrive.
    Probe,
    /// Request to send of pHost.
    Rts,
    /// Token of pHost: allows one packet.
    Token,
    /// GRANT of Homa: allows packets.
    Grant,
    /// RESEND of Homa: asks for packets that are missing.
    Resend,
    /// BUSY of Homa: another message goes first.
    Busy,
    /// Congestion notification packet of DCQCN.
    Cnp,
}

impl What {
    /// As timeline.csv writes it.
    pub fn name(self) -> &'static str {
        match self {
            What::Enqueue => "enqueue",
            What::Trim => "trim",
            What::Mark => "mark",
            What::Depart => "depart",
            What::Arrive => "arrive",
            What::Return => "return",
            What::Drop => "drop",
            What::Detour => "detour",
            What::Notify => "notify",
            What::Lose => "lose",
        }
    }
}

impl PacketKind {
    /// All kinds, in the order of the documentation.
    pub const ALL: [PacketKind; 18] = [
        PacketKind::Data,
        PacketKind::Header,
        PacketKind::Returned,
        PacketKind::Notification,
        PacketKind::Ack,
        PacketKind::Nack,
        PacketKind::Pull,
        PacketKind::Reset,
        PacketKind::Pause,
        PacketKind::Syn,
        PacketKind::SynAck,
        PacketKind::Probe,
        PacketKind::Rts,
        PacketKind::Token,
        PacketKind::Grant,
        PacketKind::Resend,
        PacketKind::Busy,
        PacketKind::Cnp,
    ];

    /// The kind of a packet that a switch has changed, and of a frame of a link. `None` for a packet as its sender made
    /// it: its transport knows its kind.
    pub fn of_switches(packet: &Packet) -> Option<PacketKind> {
        if packet.service.is_link() {
            return Some(PacketKind::Pause);
        }
        match packet.service.service() {
            Service::Notification => Some(PacketKind::Notification),
            Service::Trimmed => Some(PacketKind::Header),
            Service::Returned => Some(PacketKind::Returned),
            Service::Trimmable | Service::Droppable | Service::Control => None,
        }
    }

    /// The kind that a header names.
    pub fn of_header(kind: Kind) -> PacketKind {
        match kind {
            Kind::Data => PacketKind::Data,
            Kind::Ack => PacketKind::Ack,
            Kind::Nack => PacketKind::Nack,
            Kind::Pull => PacketKind::Pull,
            Kind::Reset => PacketKind::Reset,
        }
    }

    /// As timeline.csv writes it.
    pub fn name(self) -> &'static str {
        match self {
            PacketKind::Data => "data",
            PacketKind::Header => "header",
            PacketKind::Returned => "returned",
            PacketKind::Notification => "notification",
            PacketKind::Ack => "ack",
            PacketKind::Nack => "nack",
            PacketKind::Pull => "pull",
            PacketKind::Reset => "reset",
            PacketKind::Pause => "pause",
            PacketKind::Syn => "syn",
            PacketKind::SynAck => "syn-ack",
            PacketKind::Probe => "probe",
            PacketKind::Rts => "rts",
            PacketKind::Token => "token",
            PacketKind::Grant => "grant",
            PacketKind::Resend => "resend",
            PacketKind::Busy => "busy",
            PacketKind::Cnp => "cnp",
        }
    }
}

impl Timeline {
    /// The events at a place; at all without one.
    pub fn at<'a>(&'a self, place: Option<&'a str>) -> impl Iterator<Item = &'a Event> {
        let here = move |event: &&Event| {
            place.is_none_or(|name| {
                self.places.get(event.place as usize).is_some_and(|place| place == name)
            })
        };
        self.events.iter().filter(here)
    }
}

/// The columns of timeline.csv. A number that an event does not have is an empty field.
pub const TIMELINE_COLUMNS: [&str; 15] = [
    "time_ps",
    "until_ps",
    "place",
    "event",
    "packet",
    "workload",
    "index",
    "source",
    "destination",
    "sequence",
    "attempt",
    "path",
    "wire_bytes",
    "queue_packets",
    "queue_bytes",
];

/// timeline.csv.
pub fn csv(timeline: &Timeline) -> Vec<u8> {
    let name =
        |names: &[String], number: u32| names.get(number as usize).cloned().unwrap_or_default();
    let of_flow = |event: &Event, number: &dyn ToString| match event.flow == FlowName::NOBODY {
        true => String::new(),
        false => number.to_string(),
    };
    let rows = timeline.events.iter().map(|event| {
        [
            event.time_ps.to_string(),
            event.until_ps.map(|until| until.to_string()).unwrap_or_default(),
            name(&timeline.places, event.place),
            event.what.name().to_owned(),
            event.packet.name().to_owned(),
            name(&timeline.workloads, event.flow.workload),
            of_flow(event, &event.flow.index),
            of_flow(event, &event.flow.source),
            of_flow(event, &event.flow.destination),
            of_flow(event, &event.sequence),
            of_flow(event, &event.attempt),
            of_flow(event, &event.path),
            event.wire_bytes.to_string(),
            event.queue.map(|(packets, _)| packets.to_string()).unwrap_or_default(),
            event.queue.map(|(_, bytes)| bytes.to_string()).unwrap_or_default(),
        ]
    });
    table(&TIMELINE_COLUMNS, rows)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A DATA packet of the flow from host 1 to host 0, at place 0.
    pub(crate) fn event(time_ps: u64, what: What) -> Event {
        Event {
            time_ps,
            until_ps: None,
            place: 0,
            what,
            packet: PacketKind::Data,
            flow: FlowName { workload: 0, index: 0, source: 1, destination: 0 },
            sequence: 7,
            attempt: 0,
            path: 3,
            wire_bytes: 9064,
            queue: Some((2, 18_128)),
        }
    }

    #[test]
    fn timeline_csv_to_the_byte() {
        let timeline = Timeline {
            places: vec!["tor 0 down 0".into(), "host 0".into()],
            workloads: vec!["replies".into()],
            events: vec![
                event(5, What::Enqueue),
                Event { until_ps: Some(7_251_205), ..event(5, What::Depart) },
                Event {
                    place: 1,
                    queue: None,
                    packet: PacketKind::Nack,
                    wire_bytes: 64,
                    attempt: 1,
                    ..event(9, What::Arrive)
                },
            ],
            packets: Vec::new(),
        };
        let expected = "\
time_ps,until_ps,place,event,packet,workload,index,source,destination,sequence,attempt,path,wire_bytes,queue_packets,queue_bytes
5,,tor 0 down 0,enqueue,data,replies,0,1,0,7,0,3,9064,2,18128
5,7251205,tor 0 down 0,depart,data,replies,0,1,0,7,0,3,9064,2,18128
9,,host 0,arrive,nack,replies,0,1,0,7,1,3,64,,
";
        assert_eq!(String::from_utf8(csv(&timeline)).unwrap(), expected);
        assert_eq!(timeline.at(Some("host 0")).count(), 1);
        assert_eq!(timeline.at(None).count(), 3);
    }
}
