//! Events at chosen ports and hosts or of chosen flows: timeline.csv.

use trimline_packet::{Kind, Packet, Service};

use crate::csv::table;

/// Events that the scenario asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Port and host names.
    pub places: Vec<String>,
    /// Workload names.
    pub workloads: Vec<String>,
    /// Events by time.
    pub events: Vec<Event>,
    /// Packet of each event, as it is afterwards; empty if packets are not kept.
    pub packets: Vec<Packet>,
}

/// An event of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time since the start of the run.
    pub time_ps: u64,
    /// Departures: when the last bit has left.
    pub until_ps: Option<u64>,
    /// Index into [`Timeline::places`].
    pub place: u32,
    /// Kind of event.
    pub what: What,
    /// Kind of packet after the event.
    pub packet: PacketKind,
    /// The packet's flow.
    pub flow: FlowName,
    /// DATA, ACK, NACK: packet number. PULL: pull counter.
    pub sequence: u32,
    /// Transmission number, from 0, modulo 4; answers echo it.
    pub attempt: u8,
    /// Path chosen by the sender, or switch of the last detour.
    pub path: u16,
    /// Bytes on the wire after the event.
    pub wire_bytes: u16,
    /// At a port: packets and bytes of the packet's queue after everything of this instant, with the packet on the wire
    /// until its last bit has left.
    pub queue: Option<(u32, u32)>,
}

/// A flow as flows.csv names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowName {
    /// Index into [`Timeline::workloads`].
    pub workload: u32,
    /// Flow number within source and workload.
    pub index: u64,
    /// Source host, whatever the packet's direction.
    pub source: u32,
    /// Destination host.
    pub destination: u32,
}

impl FlowName {
    /// A packet without a flow.
    pub const NONE: FlowName =
        FlowName { workload: u32::MAX, index: 0, source: u32::MAX, destination: u32::MAX };
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Waits at a port.
    Enqueue,
    /// Lost its payload; the header waits at the port.
    Trim,
    /// Begins to leave on the link of a port or host.
    Depart,
    /// Last bit arrived at a host.
    Arrive,
    /// Got its first congestion mark (ECN) from the port, or the phantom queue of a port or host.
    Mark,
    /// Routed to this port, but leaves by another.
    Detour,
    /// Returns to its sender for lack of space at a port.
    Return,
    /// Returns as a notification for lack of space at a port, or met congestion that notifies its sender.
    Notify,
    /// Dropped for lack of space at a port.
    Drop,
    /// Lost by the link.
    Lose,
}

/// Kinds of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// Whole DATA.
    Data,
    /// Trimmed DATA.
    Header,
    /// A header on its way back.
    Returned,
    /// Notification of a drop or congestion, on its way to the packet's sender.
    Notification,
    /// ACK.
    Ack,
    /// NACK.
    Nack,
    /// PULL of NDP.
    Pull,
    /// RESET.
    Reset,
    /// Frame of priority flow control: crosses one link, has no flow.
    Pause,
    /// SYN without data.
    Syn,
    /// Answer to a SYN.
    SynAck,
    /// Asks whether packets arrive.
    Probe,
    /// pHost request to send.
    Rts,
    /// pHost token: allows one packet.
    Token,
    /// Homa GRANT: allows packets.
    Grant,
    /// Homa RESEND: asks for missing packets.
    Resend,
    /// Homa BUSY: another message goes first.
    Busy,
    /// DCQCN congestion notification packet.
    Cnp,
}

impl What {
    /// Name in timeline.csv.
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
    /// All kinds, in documentation order.
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

    /// Kind of a link frame or of a packet changed by a switch. `None` for others: ask their transport.
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

    /// Converts a header's kind.
    pub fn of_header(kind: Kind) -> PacketKind {
        match kind {
            Kind::Data => PacketKind::Data,
            Kind::Ack => PacketKind::Ack,
            Kind::Nack => PacketKind::Nack,
            Kind::Pull => PacketKind::Pull,
            Kind::Reset => PacketKind::Reset,
        }
    }

    /// Name in timeline.csv.
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
    /// Iterates over the events at `place`, or over all.
    pub fn at<'a>(&'a self, place: Option<&'a str>) -> impl Iterator<Item = &'a Event> {
        let here = move |event: &&Event| {
            place.is_none_or(|name| {
                self.places.get(event.place as usize).is_some_and(|place| place == name)
            })
        };
        self.events.iter().filter(here)
    }
}

/// Columns of timeline.csv. Missing numbers are empty fields.
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

/// Formats timeline.csv.
pub fn csv(timeline: &Timeline) -> Vec<u8> {
    let name =
        |names: &[String], number: u32| names.get(number as usize).cloned().unwrap_or_default();
    let of_flow = |event: &Event, number: &dyn ToString| match event.flow == FlowName::NONE {
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

    /// Creates a DATA event at place 0, from host 1 to host 0.
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
    fn timeline_csv_has_the_expected_bytes() {
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
