//! The shared vectors of the switch on frames: the software switch treats bytes as a port treats the packet.

use std::collections::{BTreeSet, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use trimline_packet::wire::route::{entropy_of, path_of};
use trimline_packet::wire::{Datagram, Ethernet, Frame, Lengths, Profile, Routes};
use trimline_packet::{
    ConnectionId, Flags, Handle, Header, HostId, Kind, Packet, Packets, PathId, Service, Time,
};
use trimline_stack::switch::Frames;
use trimline_switch::{
    CodelPort, Demands, Disposition, DropList, OutputPort, Pool, Port, PortContext, PriorityDrop,
    RateLimited, ServiceModel,
};

mod detour;
#[allow(dead_code, reason = "only their text is wanted here")]
#[path = "../../../xtask/src/detours.rs"]
mod detours;
#[allow(dead_code, reason = "only what reads a folder is wanted here")]
#[path = "../../../xtask/src/vector_folder.rs"]
mod vector_folder;
#[allow(dead_code, reason = "only their text is wanted here")]
#[path = "../../../xtask/src/vectors.rs"]
mod vectors;

use vectors::{Command, FOLDER, PORTS, ScriptedRng, Vector, list, read};

/// Host N is 10.0.0.N.
struct Hosts;

impl Routes for Hosts {
    fn canonical(&self, host: HostId) -> Option<IpAddr> {
        Some(Ipv4Addr::from_bits(10 << 24 | host.get()).into())
    }
    fn toward(&self, host: HostId, path: PathId) -> Option<(IpAddr, u16)> {
        Some((self.canonical(host)?, entropy_of(path)))
    }
    fn host(&self, address: IpAddr) -> Option<HostId> {
        match address {
            IpAddr::V4(address) => Some(HostId::new(address.to_bits() & 0xff_ffff)),
            IpAddr::V6(_) => None,
        }
    }
    fn path(&self, _: IpAddr, entropy: u16) -> Option<PathId> {
        Some(path_of(entropy))
    }
}

/// TCP's source port of connection 0, and the destination port of all.
const PORTS_OF_TCP: [u16; 2] = [40_000, 5001];

/// Offset of TCP in a frame of IPv4 without options.
const TCP: usize = 14 + 20;

/// The bytes of data with a priority: TCP, with the option of the software switch.
fn segment(packet: &Packet) -> Vec<u8> {
    let [first, to] = PORTS_OF_TCP;
    let from = first + packet.header.connection.get() as u16;
    let mut bytes = [&[0; 12][..], &[8, 0, 0x45, 0]].concat();
    // All but the check sequence of Ethernet.
    let length = usize::from(packet.wire_bytes) - 4;
    bytes.extend((length as u16 - 14).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    for host in [packet.source, packet.destination] {
        bytes.extend((10 << 24 | host.get()).to_be_bytes());
    }
    detour::sign(&mut bytes[14..TCP]);
    bytes.extend([from.to_be_bytes(), to.to_be_bytes()].concat());
    bytes.extend(packet.header.sequence.to_be_bytes());
    // Twenty bytes and two options; the first is padding.
    bytes.extend([0, 0, 0, 0, 8 << 4, 16, 255, 255, 0, 0, 0, 0]);
    bytes.extend([1, 1, 1, 1, 253, 8, 0x70, 0x46]);
    bytes.extend(packet.header.extra.to_be_bytes());
    bytes.resize(length, 0x5a);
    bytes
}

/// The packet of a frame of [`segment`], or of its notification, whose option is cut off with the data.
fn packet_of_segment(bytes: &[u8]) -> Packet {
    let word = |at: usize| u32::from_be_bytes(*bytes[at..].first_chunk().expect("four bytes"));
    let is_notified = bytes[15] >> 2 == Profile::PAPER.notification;
    let service = if is_notified { Service::Notification } else { Service::Droppable };
    let connection = (word(TCP) >> 16) - u32::from(PORTS_OF_TCP[0]);
    Packet {
        source: HostId::new(word(26) & 0xff_ffff),
        destination: HostId::new(word(30) & 0xff_ffff),
        header: Header {
            kind: Kind::Data,
            flags: Flags::default().with(Flags::FROM_OPENER),
            path: PathId::new(0),
            connection: ConnectionId::new(connection),
            sequence: word(TCP + 4),
            extra: if is_notified { 0 } else { word(TCP + 28) },
        },
        wire_bytes: bytes.len() as u16 + 4,
        service: service.into(),
        marks: 0,
    }
}

/// Returns whether the packet is data or its notification under a model with priorities.
fn is_segment(packet: &Packet, by_urgency: bool) -> bool {
    by_urgency && packet.header.kind == Kind::Data
}

/// The bytes of a packet.
fn frame(packet: &Packet) -> Vec<u8> {
    let datagram = Datagram::of(packet, &Hosts).expect("every host has an address");
    let is_whole = matches!(packet.service.service(), Service::Trimmable | Service::Droppable);
    let payload = vec![0x5a; if is_whole { datagram.fields.payload_length() } else { 0 }];
    let mut bytes = Vec::new();
    datagram
        .emit(Ethernet::default(), &Profile::PAPER, &payload, &[], &mut bytes)
        .expect("a vector's packet has a form on the wire");
    bytes
}

/// A switch of a few ports: host N sits at port N.
struct Switch<'a, P> {
    model: &'a ServiceModel,
    now: Time,
    ports: [P; PORTS],
    frames: Frames,
    rng: ScriptedRng,
    drop_list: DropList,
    left: [VecDeque<Packet>; PORTS],
    dispositions: [u64; 3],
    quenched: u64,
    notified_bytes: u64,
    /// Notifications that this switch made.
    notified: BTreeSet<Handle>,
}

impl<P: OutputPort<Model = ServiceModel>> Switch<'_, P> {
    fn by_urgency(&self) -> bool {
        self.model.demands().urgency
    }

    /// The packet of a frame.
    fn packet(&self, handle: Handle) -> Packet {
        let bytes = self.frames.bytes(handle);
        if bytes[23] == 6 {
            return packet_of_segment(bytes);
        }
        let parsed = Frame::new(self.frames.bytes(handle))
            .and_then(|frame| frame.parse(&Profile::PAPER)?.packet(&Hosts))
            .expect("what a switch does to a frame can be parsed");
        // A mark is written into the frame when it leaves the switch.
        Packet { marks: self.frames.packet(handle).marks, ..parsed }
    }

    fn arrive(&mut self, packet: &Packet) {
        let bytes = match is_segment(packet, self.by_urgency()) {
            true => segment(packet),
            false => frame(packet),
        };
        let frame = self.frames.insert(&bytes);
        if self.by_urgency() {
            self.frames.weigh(frame);
        }
        self.frames.set_input(frame, Some(packet.source.index() as u16));
        self.route(VecDeque::from([frame]));
    }

    /// The port by which a frame leaves: fastlane-3.2-b, a notification by its packet's input port.
    fn exit(&self, handle: Handle) -> usize {
        let packet = self.packet(handle);
        match (packet.service == Service::Notification, self.frames.input(handle)) {
            (true, Some(input)) if self.notified.contains(&handle) => usize::from(input),
            (_, _) => packet.destination.index(),
        }
    }

    fn route(&mut self, mut travelling: VecDeque<Handle>) {
        while let Some(handle) = travelling.pop_front() {
            let port = self.exit(handle);
            let Switch { model, now, frames, rng, drop_list, .. } = self;
            let (now, model, pool) = (*now, *model, &mut Pool::none());
            let context = &mut PortContext { now, model, packets: frames, pool, rng, drop_list };
            self.ports[port].enqueue(handle, context);
            self.apply_dispositions(&mut travelling);
        }
    }

    fn apply_dispositions(&mut self, travelling: &mut VecDeque<Handle>) {
        for (handle, disposition) in self.drop_list.drain() {
            self.dispositions[disposition as usize] += 1;
            match disposition {
                Disposition::Returned => {
                    assert!(self.frames.bounce(handle), "what is returned was trimmed");
                    travelling.push_back(handle);
                }
                Disposition::Notify => {
                    let cut = self.frames.notify(handle).expect("a frame that can be told of");
                    self.notified_bytes += u64::from(cut);
                    self.notified.insert(handle);
                    travelling.push_back(handle);
                }
                Disposition::Dropped => {}
            }
        }
        for (handle, _) in self.drop_list.drain_quenched() {
            self.quenched += 1;
            let bytes = self.frames.bytes(handle).to_vec();
            let copy = self.frames.insert(&bytes);
            self.frames.set_input(copy, self.frames.input(handle));
            self.frames.notify(copy).expect("a frame of the protocol");
            travelling.push_back(copy);
        }
    }

    fn count(&self, name: &str) -> u64 {
        match name {
            "trimmed" => u64::from(self.drop_list.trimmed),
            "cut_bytes" => self.drop_list.cut_bytes + self.notified_bytes,
            "quenched" => self.quenched,
            "dropped" => self.dispositions[Disposition::Dropped as usize],
            "returned" => self.dispositions[Disposition::Returned as usize],
            "notified" => self.dispositions[Disposition::Notify as usize],
            "coins" => self.rng.drawn,
            _ => {
                let (port, queue) = name.split_once('.').expect("a count names a port");
                let port = &self.ports[port.parse::<usize>().expect("a port is a number")];
                let (queue, unit) = queue.split_once('_').expect("a count names a unit");
                let service = match queue {
                    "header" => Service::Trimmed,
                    "notification" => Service::Notification,
                    _ => Service::Trimmable,
                };
                let queue = self.model.queue_of(service);
                match unit {
                    "packets" => u64::from(port.queue_packets(queue)),
                    _ => u64::from(port.queue_bytes(queue)),
                }
            }
        }
    }

    fn obey(&mut self, command: &Command, place: &str) {
        match command {
            Command::Config(_) => {}
            Command::At(time) => self.now = *time,
            Command::ScriptedBit(coins) => self.rng.scripted.extend(coins),
            Command::Packet { packets, .. } => {
                packets.iter().for_each(|(_, packet)| self.arrive(packet));
            }
            Command::Serve { port, times } => {
                for _ in 0..*times {
                    let Switch { model, now, frames, rng, drop_list, .. } = self;
                    let (now, model, pool) = (*now, *model, &mut Pool::none());
                    let context =
                        &mut PortContext { now, model, packets: frames, pool, rng, drop_list };
                    let sent = self.ports[*port].dequeue(context);
                    if let Some(handle) = sent {
                        let packet = self.packet(handle);
                        self.left[*port].push_back(packet);
                    }
                    let mut travelling = VecDeque::new();
                    self.apply_dispositions(&mut travelling);
                    self.route(travelling);
                }
            }
            Command::Expect { port, packets } => {
                for (name, packet) in packets {
                    let mut packet = *packet;
                    if is_segment(&packet, self.by_urgency())
                        && packet.service == Service::Notification
                    {
                        packet.header.extra = 0;
                    }
                    let left = self.left[*port].pop_front();
                    assert_eq!(left, Some(packet), "{place}: {name} at port {port}");
                }
            }
            Command::Count { name, number } => {
                assert_eq!(self.count(name), *number, "{place}: {name}");
            }
        }
    }
}

/// Returns whether all packets have a wire form. No frame is shorter than 64 bytes, and data of this protocol has its
/// length where other transports have a priority; under a model with priorities data is TCP.
fn has_frames(vector: &Vector, by_urgency: bool) -> bool {
    vector.commands.iter().all(|(_, command)| match command {
        Command::Packet { packets, .. } | Command::Expect { packets, .. } => {
            packets.iter().all(|(_, packet)| {
                let says_length = u32::from(packet.header.payload_length()) + 64
                    >= u32::from(packet.wire_bytes)
                    || packet.header.kind != Kind::Data
                    || by_urgency;
                // A frame of 64 bytes cannot be cut, so it stays whole.
                let can_be_cut = packet.wire_bytes > 66 || !packet.service.service().is_whole();
                packet.wire_bytes >= Packet::HEADER_BYTES && says_length && can_be_cut
            })
        }
        Command::Config(_)
        | Command::At(_)
        | Command::ScriptedBit(_)
        | Command::Serve { .. }
        | Command::Count { .. } => true,
    })
}

/// Runs a vector on ports of this type.
fn run_on<P: OutputPort<Model = ServiceModel>>(
    vector: &Vector,
    model: &ServiceModel,
    profile: &str,
) {
    let mut switch = Switch::<P> {
        model,
        now: Time::ZERO,
        ports: std::array::from_fn(|_| P::with_model(0)),
        frames: Frames::new(Profile::PAPER, Lengths::Updated),
        rng: ScriptedRng::default(),
        drop_list: DropList::new(),
        left: Default::default(),
        dispositions: [0; 3],
        quenched: 0,
        notified_bytes: 0,
        notified: BTreeSet::new(),
    };
    for (line, command) in &vector.commands {
        let place = format!("{}:{line} (profile {profile})", vector.file);
        switch.obey(command, &place);
    }
    assert!(switch.left.iter().all(VecDeque::is_empty), "{}: surplus", vector.file);
    assert!(switch.rng.scripted.is_empty(), "{}: coins", vector.file);
}

#[test]
fn every_vector_holds_for_frames() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = list(&root, Path::new(FOLDER)).unwrap();
    let (mut runs, mut notified, mut urgent) = (0, BTreeSet::new(), BTreeSet::new());
    for file in &files {
        let vector = Vector::parse(file, &read(&root, file).unwrap()).unwrap();
        let name = vector.file.rsplit('/').next().unwrap_or_default();
        for profile in &vector.profiles {
            let model = vector.model(profile).unwrap();
            let Demands { urgency, .. } = model.demands();
            if !has_frames(&vector, urgency) {
                continue;
            }
            match (urgency, model.queue_count()) {
                (true, 1) => run_on::<PriorityDrop<1>>(&vector, &model, profile),
                (true, _) => run_on::<RateLimited<PriorityDrop<2>>>(&vector, &model, profile),
                // It behaves as an ordinary port under a model that asks for no more.
                (false, _) => run_on::<RateLimited<CodelPort<Port<8>>>>(&vector, &model, profile),
            }
            runs += 1;
            if name.starts_with("fastlane-") {
                notified.insert(file);
            }
            if name.contains("pfabric") {
                urgent.insert(file);
            }
        }
    }
    // All vectors of FastLane and pFabric ran, even if others have no frames.
    let of = |word: &str| {
        files.iter().filter(|file| file.to_string_lossy().contains(word)).collect::<BTreeSet<_>>()
    };
    assert_eq!((notified, urgent), (of("fastlane-"), of("pfabric")));
    assert!(runs > files.len(), "{runs} runs of {} files", files.len());
}
