//! Several transports at one host, each with its own endpoint, which share the host's link.
//!
//! Control packets of all transports go before data. Data packets take turns by bytes ([`Deficits`]), as in a NIC with
//! a queue for each transport. An arriving packet goes to the transport of its flow's workload.

use std::sync::Arc;

use trimline_metrics::{FlowRecord, PacketLatency, Readings, SeriesColumn};
use trimline_packet::{Flags, HostId, Packet, Telemetry, Time, TimeDelta};
use trimline_switch::Deficits;
use trimline_transport::{Allowed, Disposition, Endpoint, Framing, HostTables, Key, Side, flow};

use super::{Hosted, Parameters, Protocol};
use crate::protocol::STALL_TIMEOUT;

/// Expands the list of transports into the list and into closed enums of a host's endpoints and parameters.
macro_rules! transports {
    ($($Variant:ident($Endpoint:ty): $($transport:expr),+;)+) => {
        static BUILT_IN: &[&dyn AnyTransport] = &[$($(&$transport),+),+];

        const FRAMING: Framing = Framing::NDP$(.with(<$Endpoint as Endpoint>::FRAMING))+;

        /// An endpoint of a host with several transports.
        enum Hosted<X> {
            $($Variant($Endpoint),)+
            /// Endpoint of an outside transport.
            Outside(X),
        }

        #[derive(Clone, Debug)]
        enum Parameters<C> {
            $($Variant(Arc<<$Endpoint as Protocol>::Config>),)+
            Outside(Arc<C>),
        }

        impl<C: Send + Sync + 'static> Parameters<C> {
            fn of(chosen: &Chosen) -> Parameters<C> {
                let parameters = chosen.parameters();
                $(
                    if let Some(config) =
                        parameters.downcast_ref::<Arc<<$Endpoint as Protocol>::Config>>()
                    {
                        return Parameters::$Variant(Arc::clone(config));
                    }
                )+
                let config = parameters.downcast_ref::<Arc<C>>();
                Parameters::Outside(Arc::clone(config.expect("one transport from outside")))
            }
            fn stall_timeout<X: Protocol<Config = C>>(&self) -> TimeDelta {
                match self {
                    $(
                        Parameters::$Variant(config) => {
                            <$Endpoint as Protocol>::stall_timeout(config)
                        }
                    )+
                    Parameters::Outside(config) => X::stall_timeout(config),
                }
            }
            fn time_wait<X: Protocol<Config = C>>(&self) -> TimeDelta {
                match self {
                    $(
                        Parameters::$Variant(config) => {
                            <$Endpoint as Protocol>::time_wait(config)
                        }
                    )+
                    Parameters::Outside(config) => X::time_wait(config),
                }
            }
            fn series_columns<X: Protocol<Config = C>>(&self) -> Vec<SeriesColumn> {
                match self {
                    $(
                        Parameters::$Variant(config) => {
                            <$Endpoint as Protocol>::series_columns(config)
                        }
                    )+
                    Parameters::Outside(config) => X::series_columns(config),
                }
            }
            fn host<X: Protocol<Config = C>>(&self, host: HostId, seed: u64) -> Hosted<X> {
                match self {
                    $(
                        Parameters::$Variant(config) => {
                            Hosted::$Variant(<$Endpoint as Protocol>::new(host, config, seed))
                        }
                    )+
                    Parameters::Outside(config) => Hosted::Outside(X::new(host, config, seed)),
                }
            }
        }

        impl<X: Protocol> Hosted<X> {
            fn handle_command(
                &mut self,
                now: Time,
                command: flow::Command,
                tables: &mut impl HostTables,
            ) {
                match self {
                    $(Hosted::$Variant(at) => at.handle_command(now, command.into(), tables),)+
                    Hosted::Outside(at) => at.handle_command(now, command.into(), tables),
                }
            }
            fn handle_packet(
                &mut self,
                now: Time,
                packet: &Packet,
                tables: &mut impl HostTables,
            ) -> Disposition {
                match self {
                    $(Hosted::$Variant(at) => at.handle_packet(now, packet, tables),)+
                    Hosted::Outside(at) => at.handle_packet(now, packet, tables),
                }
            }
            fn handle_timeout(&mut self, now: Time, tables: &mut impl HostTables) {
                match self {
                    $(Hosted::$Variant(at) => at.handle_timeout(now, tables),)+
                    Hosted::Outside(at) => at.handle_timeout(now, tables),
                }
            }
            fn poll_transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet> {
                match self {
                    $(Hosted::$Variant(at) => at.poll_transmit(now, allowed),)+
                    Hosted::Outside(at) => at.poll_transmit(now, allowed),
                }
            }
            fn poll_event(&mut self) -> Option<flow::Event> {
                loop {
                    let event = match self {
                        $(Hosted::$Variant(at) => at.poll_event()?.into(),)+
                        Hosted::Outside(at) => at.poll_event()?.into(),
                    };
                    if event.is_some() {
                        return event;
                    }
                }
            }
            fn transmit_at(&self, allowed: Allowed) -> Time {
                match self {
                    $(Hosted::$Variant(at) => at.transmit_at(allowed),)+
                    Hosted::Outside(at) => at.transmit_at(allowed),
                }
            }
            fn poll_timeout(&self) -> Time {
                match self {
                    $(Hosted::$Variant(at) => at.poll_timeout(),)+
                    Hosted::Outside(at) => at.poll_timeout(),
                }
            }
            fn telemetry(&mut self, packet: &Packet) -> Option<Telemetry> {
                match self {
                    $(Hosted::$Variant(at) => at.telemetry(packet),)+
                    Hosted::Outside(at) => at.telemetry(packet),
                }
            }
            fn handle_telemetry(&mut self, telemetry: Option<Telemetry>) {
                match self {
                    $(Hosted::$Variant(at) => at.handle_telemetry(telemetry),)+
                    Hosted::Outside(at) => at.handle_telemetry(telemetry),
                }
            }
            fn forget(&mut self, slot: u32) {
                match self {
                    $(Hosted::$Variant(at) => Protocol::forget(at, slot),)+
                    Hosted::Outside(at) => at.forget(slot),
                }
            }
            fn statistics_of(&self, slot: u32) -> flow::Statistics {
                match self {
                    $(Hosted::$Variant(at) => at.statistics_of(slot),)+
                    Hosted::Outside(at) => at.statistics_of(slot),
                }
            }
            fn record_sender(&self, slot: u32, record: &mut FlowRecord) {
                match self {
                    $(Hosted::$Variant(at) => at.record_sender(slot, record),)+
                    Hosted::Outside(at) => at.record_sender(slot, record),
                }
            }
            fn record_receiver(&self, slot: u32, record: &mut FlowRecord) -> u64 {
                match self {
                    $(Hosted::$Variant(at) => at.record_receiver(slot, record),)+
                    Hosted::Outside(at) => at.record_receiver(slot, record),
                }
            }
            fn read(&self, slot: u32, side: Side, readings: &mut Readings<'_>) {
                match self {
                    $(Hosted::$Variant(at) => at.read(slot, side, readings),)+
                    Hosted::Outside(at) => at.read(slot, side, readings),
                }
            }
            fn latencies(
                &self,
                slot: u32,
                parameters: &Parameters<X::Config>,
                latencies: &mut Vec<PacketLatency>,
            ) {
                match (self, parameters) {
                    $(
                        (Hosted::$Variant(at), Parameters::$Variant(config)) => {
                            Protocol::latencies(at, slot, config, latencies);
                        }
                        (Hosted::$Variant(_), _) => unreachable!("parameters of another transport"),
                    )+
                    (Hosted::Outside(at), Parameters::Outside(config)) => {
                        at.latencies(slot, config, latencies);
                    }
                    (Hosted::Outside(_), _) => unreachable!("parameters of another transport"),
                }
            }
        }
    };
}
pub(super) use transports;

pub(super) fn several<C: Send + Sync + 'static>(plan: &super::Plan) -> Vec<Parameters<C>> {
    plan.transports.iter().map(Parameters::of).collect()
}

/// All endpoints of a host; `X` is not built in.
pub(super) struct Several<X> {
    parts: Vec<Hosted<X>>,
    /// Turns of the transports' data.
    deficits: Deficits<Vec<i64>>,
    /// Transport of each slot.
    owners: Vec<u8>,
}

impl<X: Protocol> Several<X> {
    /// Records the transport of a stream's slot. Endpoints get the host's own tables: compiled for one type, they are
    /// as fast as alone.
    fn record_owner(&mut self, place: usize, key: Key, tables: &impl HostTables) {
        let Some(slot) = tables.find(key) else { return };
        let index = slot as usize;
        if self.owners.len() <= index {
            self.owners.resize(index + 1, 0);
        }
        self.owners[index] = place as u8;
    }

    fn owner(&self, slot: u32) -> usize {
        usize::from(self.owners[slot as usize])
    }

    /// Returns a data packet of the transport whose turn it is.
    fn transmit_data(&mut self, now: Time, allowed: Allowed) -> Option<Packet> {
        let data = Allowed::DATA.and(allowed);
        let parts = &self.parts;
        let next = self.deficits.next(|place| parts[place].transmit_at(data) <= now)?;
        let packet = self.parts[next].poll_transmit(now, data)?;
        self.deficits.sent(packet.wire_bytes);
        Some(packet)
    }
}

impl<X: Protocol> Endpoint for Several<X> {
    type Command = flow::Command;
    type Event = flow::Event;
    const FRAMING: Framing = super::FRAMING.with(X::FRAMING);
    /// The plan says whether a run has a transport with telemetry.
    const TELEMETRY: bool = true;

    fn handle_command(&mut self, now: Time, command: flow::Command, tables: &mut impl HostTables) {
        let key = match &command {
            flow::Command::Listen => {
                for part in &mut self.parts {
                    part.handle_command(now, flow::Command::Listen, tables);
                }
                return;
            }
            flow::Command::Open { peer, connection, .. } => {
                let (peer, connection) = (*peer, *connection);
                Key { peer, connection, opened_here: true, side: Side::Sending }
            }
            flow::Command::Send { key, .. } | flow::Command::Paths { key, .. } => *key,
        };
        let Some(place) = tables.transport(key) else { return };
        self.parts[place].handle_command(now, command, tables);
        self.record_owner(place, key, tables);
    }

    /// Late packets of forgotten flows are ignored.
    fn handle_packet(
        &mut self,
        now: Time,
        packet: &Packet,
        tables: &mut impl HostTables,
    ) -> Disposition {
        let key = connection_of(packet);
        let Some(place) = tables.transport(key) else { return Disposition::Discard };
        let disposition = self.parts[place].handle_packet(now, packet, tables);
        self.record_owner(place, key, tables);
        disposition
    }

    fn handle_timeout(&mut self, now: Time, tables: &mut impl HostTables) {
        for part in &mut self.parts {
            if part.poll_timeout() <= now {
                part.handle_timeout(now, tables);
            }
        }
    }

    fn poll_transmit(&mut self, now: Time, allowed: Allowed) -> Option<Packet> {
        let control = Allowed::CONTROL.and(allowed);
        let mut ready = self.parts.iter_mut().filter(|part| part.transmit_at(control) <= now);
        match ready.find_map(|part| part.poll_transmit(now, control)) {
            None => self.transmit_data(now, allowed),
            control => control,
        }
    }

    fn poll_event(&mut self) -> Option<flow::Event> {
        self.parts.iter_mut().find_map(|part| part.poll_event())
    }

    fn transmit_at(&self, allowed: Allowed) -> Time {
        self.parts.iter().map(|part| part.transmit_at(allowed)).min().unwrap_or(Time::NEVER)
    }

    fn poll_timeout(&self) -> Time {
        self.parts.iter().map(|part| part.poll_timeout()).min().unwrap_or(Time::NEVER)
    }

    /// A transport without telemetry has none, and one with it knows its own answers.
    fn telemetry(&mut self, packet: &Packet) -> Option<Telemetry> {
        self.parts.iter_mut().find_map(|part| part.telemetry(packet))
    }

    fn handle_telemetry(&mut self, telemetry: Option<Telemetry>) {
        self.parts.iter_mut().for_each(|part| part.handle_telemetry(telemetry));
    }
}

impl<X: Protocol> Protocol for Several<X> {
    type Config = Vec<Parameters<X::Config>>;

    fn new(host: HostId, config: &Arc<Self::Config>, seed: u64) -> Self {
        let parts = config.iter().map(|parameters| parameters.host(host, seed)).collect();
        Several { parts, deficits: Deficits::new(vec![0; config.len()]), owners: Vec::new() }
    }
    /// Returns the longest time of all; other flows are remembered longer.
    fn time_wait(config: &Self::Config) -> TimeDelta {
        config.iter().map(Parameters::time_wait::<X>).max().unwrap_or(TimeDelta::ZERO)
    }
    fn stall_timeout(config: &Self::Config) -> TimeDelta {
        config.iter().map(Parameters::stall_timeout::<X>).max().unwrap_or(STALL_TIMEOUT)
    }
    fn forget(&mut self, slot: u32) {
        let owner = self.owner(slot);
        self.parts[owner].forget(slot);
    }
    fn statistics_of(&self, slot: u32) -> flow::Statistics {
        self.parts[self.owner(slot)].statistics_of(slot)
    }
    fn record_sender(&self, slot: u32, record: &mut FlowRecord) {
        self.parts[self.owner(slot)].record_sender(slot, record);
    }
    fn record_receiver(&self, slot: u32, record: &mut FlowRecord) -> u64 {
        self.parts[self.owner(slot)].record_receiver(slot, record)
    }
    /// Returns the columns of all, each name once: a shared column has one meaning.
    fn series_columns(config: &Self::Config) -> Vec<SeriesColumn> {
        let form = |column: &SeriesColumn| (column.unit, column.kind, column.decimals);
        let mut all: Vec<SeriesColumn> = Vec::new();
        for column in config.iter().flat_map(Parameters::series_columns::<X>) {
            match all.iter().find(|known| known.name == column.name) {
                None => all.push(column),
                Some(known) => assert_eq!(
                    form(known),
                    form(&column),
                    "two transports write the column `{}` in two ways",
                    column.name
                ),
            }
        }
        all
    }
    fn read(&self, slot: u32, side: Side, readings: &mut Readings<'_>) {
        self.parts[self.owner(slot)].read(slot, side, readings);
    }
    fn latencies(&self, slot: u32, config: &Self::Config, latencies: &mut Vec<PacketLatency>) {
        let owner = self.owner(slot);
        self.parts[owner].latencies(slot, &config[owner], latencies);
    }
}

/// Returns the connection of an arriving packet; a bounced packet's is this host's.
fn connection_of(packet: &Packet) -> Key {
    let is_back = packet.service.service().is_bounced();
    let opened_here = packet.header.flags.contains(Flags::FROM_OPENER) == is_back;
    let side = if opened_here { Side::Sending } else { Side::Receiving };
    Key { peer: packet.source, connection: packet.header.connection, opened_here, side }
}

#[derive(Debug)]
pub(super) enum Nothing {}

impl Endpoint for Nothing {
    type Command = flow::Command;
    type Event = flow::Event;

    fn handle_command(&mut self, _: Time, _: flow::Command, _: &mut impl HostTables) {
        match *self {}
    }
    fn handle_packet(&mut self, _: Time, _: &Packet, _: &mut impl HostTables) -> Disposition {
        match *self {}
    }
    fn handle_timeout(&mut self, _: Time, _: &mut impl HostTables) {
        match *self {}
    }
    fn poll_transmit(&mut self, _: Time, _: Allowed) -> Option<Packet> {
        match *self {}
    }
    fn poll_event(&mut self) -> Option<flow::Event> {
        match *self {}
    }
    fn transmit_at(&self, _: Allowed) -> Time {
        match *self {}
    }
    fn poll_timeout(&self) -> Time {
        match *self {}
    }
}

impl Protocol for Nothing {
    type Config = ();

    fn new(_: HostId, _: &Arc<()>, _: u64) -> Self {
        unreachable!("a plan of built-in transports")
    }
    fn time_wait(_: &()) -> TimeDelta {
        unreachable!("a plan of built-in transports")
    }
    fn forget(&mut self, _: u32) {
        match *self {}
    }
    fn statistics_of(&self, _: u32) -> flow::Statistics {
        match *self {}
    }
}
