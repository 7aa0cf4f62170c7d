//! The TOML configuration of a network of switches.
//!
//! ```toml
//! rate = "100Mbps"             # of every link that states no other
//! payload = 9000               # of a full packet: sizes the queues that are counted in bytes
//! packets = 8                  # of a data queue
//!
//! [[switch]]
//! name = "tor0"
//!
//! [[switch]]
//! name = "spine0"
//!
//! [[link]]
//! between = ["tor0", "spine0"]
//!
//! [[host]]
//! switch = "tor0"
//! interface = "p0"             # what the switch's end of the host's cable is called
//! addresses = [{ address = "10.0.0.1", through = "spine0" }]
//! ```

mod labels;

use std::collections::VecDeque;
use std::net::IpAddr;

use serde::Deserialize;
use trimline_hostnic::{PacerModel, PacerSettings};
use trimline_packet::wire::{Lengths, Profile};
use trimline_packet::{BitRate, Packet, TimeDelta};
use trimline_switch::profiles::{self, Sizes};
use trimline_switch::{Demands, DrrModel, Models, Order, ServiceModel};
use trimline_switch::{PhantomModel, PhantomSettings};

use super::detour::{Detour, DetourConfig};
use super::forwarding::Spread;
use super::labels::{LabelConfig, LabelTable};
use super::notifications_config::{self, NotificationsConfig};
use super::pacer::{self, PacerConfig};
use super::pfabric;
use super::phantom::{self, PhantomConfig};
use super::quantity::{Delay, Rate, Share};
use super::security::{Guard, PortSecurityConfig};
use crate::io::mem::Impairments;

/// A network, as in its file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Rate of every link without its own.
    pub rate: Option<Rate>,
    /// Propagation delay of every link without its own.
    pub delay: Option<Delay>,
    /// The phantom queue of every port without its own; default: none.
    pub phantom_queue: Option<PhantomConfig>,
    /// The pacer of every host without its own; default: none.
    pub pacer: Option<PacerConfig>,
    /// The behaviour of ports: a profile of the simulator.
    #[serde(default = "paper")]
    pub profile: String,
    /// Packets in a data queue.
    #[serde(default = "eight")]
    pub packets: u32,
    /// Queue length, in packets, from which profile "ecn" marks.
    pub ecn_threshold: Option<u32>,
    /// Payload of a full packet, in bytes.
    #[serde(default = "jumbo")]
    pub payload: u16,
    /// DSCPs and the size of trimmed packets: a profile of the wire format.
    #[serde(default = "paper")]
    pub dscp: String,
    /// Whether trimming leaves the IP length uncorrected.
    #[serde(default)]
    pub stale_lengths: bool,
    /// Packets in a second queue for droppable traffic, which shares the port with NDP by deficit round robin
    /// (NDP 3.3). Default: that traffic goes to the data queue.
    pub droppable_queue: Option<u32>,
    /// Queue length, in packets, from which that queue marks; default: it does not mark.
    pub droppable_ecn_threshold: Option<u32>,
    /// Bounds on notifications of drops, with profiles "fastlane" and "fastlane-pfabric" (FastLane 3.3).
    pub notifications: Option<NotificationsConfig>,
    /// The frames to detour; default: none.
    pub detour: Option<DetourConfig>,
    /// The sources that host ports accept by default; without it all.
    pub port_security: Option<PortSecurityConfig>,
    /// The former name of `droppable_queue`, which is refused.
    beside: Option<u32>,
    /// Seed of random marks, hashes, spraying and impairments; default: from the operating system.
    pub seed: Option<u64>,
    /// The switches.
    #[serde(default)]
    pub switch: Vec<SwitchConfig>,
    /// Links between switches.
    #[serde(default)]
    pub link: Vec<LinkConfig>,
    /// Hosts, each on a port of its own.
    #[serde(default)]
    pub host: Vec<HostConfig>,
    /// The parsed file, for comparison with a later one.
    #[serde(skip)]
    pub(super) source: toml::Table,
}

const RENAMED: &str = "beside: the new name of this key is droppable_queue";

fn paper() -> String {
    "paper".to_owned()
}
fn eight() -> u32 {
    8
}
fn jumbo() -> u16 {
    9000
}

/// One switch.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchConfig {
    /// Its name.
    pub name: String,
    /// Whether it forwards by Ethernet or by IP addresses.
    #[serde(default)]
    pub forwarding: ForwardingLayer,
    /// Its choice among equal next hops.
    #[serde(default)]
    pub spread: Spread,
    /// Its label-switched paths.
    #[serde(default)]
    pub labels: Vec<LabelConfig>,
}

/// The addresses by which a switch forwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardingLayer {
    /// Ethernet addresses, learned.
    L2,
    /// IP addresses, by the shortest paths.
    #[default]
    L3,
}

/// Impairments of frames on a link, in both directions.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImpairmentConfig {
    /// Share that is lost.
    pub loss: Option<Share>,
    /// Share that is damaged.
    pub corruption: Option<Share>,
    /// Share that arrives twice.
    pub duplication: Option<Share>,
    /// Share that is overtaken.
    pub reordering: Option<Share>,
    /// Maximum number of frames that overtake one.
    pub reorder_depth: Option<u8>,
}

impl ImpairmentConfig {
    pub(super) fn rules(&self) -> Impairments {
        let share = |share: Option<Share>| share.map_or(0, |share| share.0);
        Impairments {
            loss: share(self.loss),
            corruption: share(self.corruption),
            duplication: share(self.duplication),
            reordering: share(self.reordering),
            reorder_depth: self.reorder_depth.unwrap_or(4),
        }
    }
}

/// A link between two switches.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkConfig {
    /// The names of the switches.
    pub between: [String; 2],
    /// Its rate.
    pub rate: Option<Rate>,
    /// Its propagation delay.
    pub delay: Option<Delay>,
    /// The phantom queue of both ports.
    pub phantom_queue: Option<PhantomConfig>,
    /// Impairments of its frames.
    #[serde(default)]
    pub impairment: ImpairmentConfig,
}

/// A host and its cable.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostConfig {
    /// The name of its switch.
    pub switch: String,
    /// The interface at the switch's end.
    pub interface: String,
    /// The host's addresses.
    #[serde(default)]
    pub addresses: Vec<AddressConfig>,
    /// The cable's rate.
    pub rate: Option<Rate>,
    /// Its propagation delay.
    pub delay: Option<Delay>,
    /// The phantom queue of the host's port.
    pub phantom_queue: Option<PhantomConfig>,
    /// The pacer between the host and its cable.
    pub pacer: Option<PacerConfig>,
    /// The sources that the port accepts from the host.
    pub port_security: Option<PortSecurityConfig>,
    /// Impairments of its frames.
    #[serde(default)]
    pub impairment: ImpairmentConfig,
}

/// An address of a host.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddressConfig {
    /// The address.
    pub address: IpAddr,
    /// A switch that every packet to this address from another switch passes. One address for each core switch gives
    /// senders a choice of paths (NDP 3.1.1).
    pub through: Option<String>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) rate: BitRate,
    pub(super) delay: TimeDelta,
    pub(super) rules: Impairments,
}

/// The far end of a port's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FarEnd {
    Port(u32),
    Host(u32),
}

#[derive(Debug)]
pub(super) enum PortModels {
    /// One model for all ports.
    Alike(Box<DrrModel>),
    /// One model for all ports: the most urgent packet first.
    Pfabric(Box<ServiceModel>),
    /// Ports that send notifications of drops, limited by their line rates.
    Notifying {
        /// The order of packets other than notifications.
        order: Order,
        model: Models<ServiceModel>,
        /// The index of each port's model.
        of_port: Vec<u16>,
    },
}

/// A resolved configuration, without the models of its ports.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) profile: Profile,
    pub(super) lengths: Lengths,
    pub(super) notifies_control: bool,
    pub(super) switches: Vec<Vec<u32>>,
    /// Switch, line and far end of each port.
    pub(super) ports: Vec<(u32, Line, FarEnd)>,
    pub(super) phantoms: Vec<Option<PhantomModel>>,
    /// The pacer of each host.
    pub(super) pacers: Vec<Option<PacerModel>>,
    /// The detours of all switches.
    pub(super) detour: Option<Detour>,
    pub(super) hosts: Vec<u32>,
    /// The sources that the port of each host accepts; `None`: all.
    pub(super) guards: Vec<Option<Guard>>,
    /// For each switch the local ports towards each address.
    pub(super) routes: Vec<Vec<(IpAddr, Vec<u16>)>>,
    /// The labels of each switch; empty in a network without labels.
    pub(super) labels: Vec<LabelTable>,
}

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// Returns line, column and what was expected there.
    pub fn parse(text: &str) -> Result<Config, String> {
        let parsed: Result<Config, _> = toml::from_str(text);
        let mut config = parsed.map_err(|error| error.to_string())?;
        config.source = toml::from_str(text).map_err(|error| error.to_string())?;
        Ok(config)
    }

    fn model(&self) -> Result<DrrModel, String> {
        let profile = profiles::named(&self.profile).ok_or_else(|| {
            format!("profile {:?}: expected {}", self.profile, profiles::NAMES.join(", "))
        })?;
        let mark = match self.ecn_threshold {
            None if profile.marks => {
                return Err(format!("profile {:?} needs ecn_threshold, in packets", self.profile));
            }
            mark => mark.unwrap_or(0),
        };
        let sizes = Sizes {
            packets: self.packets,
            payload_bytes: self.payload,
            packet_bytes: self.packet_bytes(),
            mark,
            // Ports with a rate limit have models of their own.
            line: BitRate::from_gbps(1),
        };
        let choices = (profile.build)(sizes);
        if self.ecn_threshold.is_some() && !profile.marks {
            return Err(format!("ecn_threshold: profile {:?} does not mark", self.profile));
        }
        let main = choices.build().map_err(|error| format!("profile {}: {error}", self.profile))?;
        if main.demands() != Demands::default() {
            return Err(format!(
                "profile {:?}: the ports of this switch do not measure queueing delays",
                self.profile
            ));
        }
        if self.beside.is_some() {
            return Err(RENAMED.to_owned());
        }
        let droppable = match (self.droppable_queue, self.droppable_ecn_threshold) {
            (Some(0), _) => {
                return Err("droppable_queue = 0: a queue holds at least one packet".to_owned());
            }
            (Some(packets), None) => Some(ServiceModel::drop_tail(packets)),
            (Some(packets), Some(mark)) => Some(ServiceModel::ecn(packets, mark)),
            (None, None) => None,
            (None, Some(_)) => {
                return Err("droppable_ecn_threshold: droppable_queue is missing".to_owned());
            }
        };
        Ok(DrrModel { main, droppable })
    }

    /// Returns the order of other packets if ports send notifications. Refuses settings that do not fit.
    fn notifies(&self) -> Result<Option<Order>, String> {
        let notifies = notifications_config::order_of(&self.profile);
        let profile = profiles::named(&self.profile).map_or("", |profile| profile.name);
        match (notifies, self.notifications, self.droppable_queue) {
            (None, Some(_), _) => Err(format!(
                "notifications: profile {profile:?} does not notify senders of drops; nearest: profile = \"{}\", \
                 which drops packets that others trim",
                notifications_config::PROFILE
            )),
            (Some(_), _, Some(packets)) => Err(format!(
                "droppable_queue = {packets}: it would drop packets of profile {profile:?} without a notification; \
                 nearest: no droppable_queue"
            )),
            (notifies, _, _) => Ok(notifies),
        }
    }

    /// Returns whether ports order by urgency without notifications. Refuses a second queue.
    fn is_pfabric(&self) -> Result<bool, String> {
        match (self.profile == pfabric::PROFILE, self.droppable_queue) {
            (true, Some(packets)) => Err(format!(
                "droppable_queue = {packets}: it would take all packets that profile {:?} orders by urgency; nearest: \
                 no droppable_queue",
                self.profile
            )),
            (is_pfabric, _) => Ok(is_pfabric),
        }
    }

    fn marks_nothing(&self) -> Result<(), String> {
        if self.ecn_threshold.is_some() {
            return Err(format!("ecn_threshold: profile {:?} does not mark", self.profile));
        }
        if self.droppable_ecn_threshold.is_some() {
            return Err("droppable_ecn_threshold: droppable_queue is missing".to_owned());
        }
        match self.beside {
            Some(_) => Err(RENAMED.to_owned()),
            None => Ok(()),
        }
    }

    fn packet_bytes(&self) -> u16 {
        self.payload.saturating_add(Packet::HEADER_BYTES)
    }

    /// Returns the name and rate of each line: hosts' ports, then both ends of each link.
    pub(super) fn rates(&self) -> Vec<(String, BitRate)> {
        let hosts = self.host.iter().map(|host| (host.interface.clone(), host.rate));
        let links = self.link.iter().map(|link| (link.between.join(" to "), link.rate));
        let both_ends = links.flat_map(|link| [link.clone(), link]);
        let lines = hosts.chain(both_ends);
        lines.filter_map(|(place, rate)| Some((place, rate.or(self.rate)?.0))).collect()
    }

    /// Describes notifications of drops: a line for each rate limit.
    ///
    /// # Errors
    /// Returns a message about an invalid setting.
    pub fn describe_notifications(&self) -> Result<Vec<String>, String> {
        match self.notifies()? {
            None => Ok(Vec::new()),
            Some(_) => self.notifications.unwrap_or_default().describe(
                self.packets,
                self.packet_bytes(),
                &self.rates(),
            ),
        }
    }

    /// Describes the order by urgency: one line, or none.
    ///
    /// # Errors
    /// Returns a message about an invalid setting.
    pub fn describe_pfabric(&self) -> Result<Vec<String>, String> {
        let notifies = self.notifies()?;
        let bytes = match notifies {
            Some(Order::Arrival) => return Ok(Vec::new()),
            Some(Order::Urgency) => {
                let bounds = self.notifications.unwrap_or_default();
                let (bytes, notified) = bounds.memory(self.packets, self.packet_bytes())?;
                bytes - notified
            }
            None if self.is_pfabric()? => {
                notifications_config::port_bytes(self.packets, self.packet_bytes())?
            }
            None => return Ok(Vec::new()),
        };
        Ok(vec![pfabric::describe(notifies, bytes)])
    }

    /// Returns the models of all ports, once their line rates are known.
    fn port_models(&self) -> Result<PortModels, String> {
        let packet_bytes = self.packet_bytes();
        if let Some(order) = self.notifies()? {
            self.marks_nothing()?;
            let bounds = self.notifications.unwrap_or_default();
            let (model, of_port) =
                bounds.models(order, self.packets, packet_bytes, &self.rates())?;
            return Ok(PortModels::Notifying { order, model, of_port });
        }
        if self.is_pfabric()? {
            self.marks_nothing()?;
            let model = pfabric::model(self.packets, packet_bytes)?;
            return Ok(PortModels::Pfabric(Box::new(model)));
        }
        self.model().map(|model| PortModels::Alike(Box::new(model)))
    }

    fn detour(&self) -> Result<Option<Detour>, String> {
        let Some(detour) = &self.detour else { return Ok(None) };
        if let Some(switch) = self.switch.iter().find(|s| s.forwarding == ForwardingLayer::L2) {
            return Err(format!(
                "detour: switch {:?} forwards by Ethernet addresses, so that frames have no hop count; expected \
                 forwarding = \"l3\" in every switch",
                switch.name
            ));
        }
        if self.link.is_empty() {
            return Err(
                "detour: no switch has a port to another one; expected a [[link]]".to_owned()
            );
        }
        let why = match (self.notifies()?, self.is_pfabric()?) {
            (Some(_), _) => Some("notify senders of drops"),
            (None, true) => Some("accept urgent packets although they are full"),
            (None, false) => None,
        };
        if let Some(why) = why {
            return Err(format!(
                "detour: ports of profile {:?} {why}; expected another profile, such as \"paper\"",
                self.profile
            ));
        }
        let packet_bytes = self.packet_bytes();
        let room = self.model()?.main.room_for_data();
        let longest = room.packets.min(room.bytes / u32::from(packet_bytes));
        let checked = detour.check(longest).map_err(|error| format!("detour: {error}"))?;
        Ok(Some(checked))
    }

    /// Describes detours: one line, or none.
    ///
    /// # Errors
    /// Returns a message about an invalid setting.
    pub fn describe_detour(&self) -> Result<Vec<String>, String> {
        Ok(self.detour()?.iter().map(|detour| format!("detour: {}", detour.describe())).collect())
    }

    fn phantom(
        &self,
        place: &str,
        own: Option<PhantomConfig>,
        rate: BitRate,
    ) -> Result<Option<(PhantomSettings, PhantomModel)>, String> {
        let checked = own.or(self.phantom_queue).map(|phantom| phantom.check(rate)).transpose();
        checked.map_err(|error| format!("{place}: phantom_queue: {error}"))
    }

    fn pacer(
        &self,
        host: &HostConfig,
        rate: BitRate,
    ) -> Result<Option<(PacerSettings, PacerModel)>, String> {
        let packet_bytes = self.packet_bytes();
        let checked = host.pacer.or(self.pacer).map(|pacer| pacer.check(rate, packet_bytes));
        checked.transpose().map_err(|error| format!("{}: pacer: {error}", host.interface))
    }

    /// Checks the MTU of each host's interface: a pacer drops longer packets of paced flows than `payload`.
    ///
    /// # Errors
    /// Returns the first host with a pacer whose MTU is above the payload.
    pub fn check_pacers(&self, mtus: impl IntoIterator<Item = usize>) -> Result<(), String> {
        let paced = |host: &&HostConfig| host.pacer.or(self.pacer).is_some();
        let is_long = |&mtu: &usize| mtu > usize::from(self.payload);
        let mut hosts = self.host.iter().zip(mtus);
        match hosts.find(|(host, mtu)| paced(host) && is_long(mtu)) {
            None => Ok(()),
            Some((host, mtu)) => Err(format!(
                "{}: pacer: the interface's MTU of {mtu} is above `payload` = {}; nearest: an MTU of {}",
                host.interface, self.payload, self.payload
            )),
        }
    }

    /// Describes the pacers of hosts: a line for each kind.
    ///
    /// # Errors
    /// Returns a message about an invalid pacer.
    pub fn describe_pacers(&self) -> Result<Vec<String>, String> {
        let mut kinds = Vec::new();
        for host in &self.host {
            let Some(Rate(rate)) = host.rate.or(self.rate) else { continue };
            let Some((settings, _)) = self.pacer(host, rate)? else { continue };
            add_place(&mut kinds, pacer::describe(&settings, rate), &host.interface);
        }
        Ok(lines_of(kinds))
    }

    /// Returns the guard of a host's port, if it does not accept all sources. Fails if it would accept none.
    fn guard(&self, host: &HostConfig) -> Result<Option<Guard>, String> {
        let addresses: Vec<IpAddr> = host.addresses.iter().map(|one| one.address).collect();
        let security = host.port_security.as_ref().or(self.port_security.as_ref());
        let guard = security.map(|security| security.guard(&addresses)).transpose();
        guard.map_err(|error| format!("{}: {error}", host.interface))
    }

    /// Describes the accepted sources: a line for each port with port security.
    ///
    /// # Errors
    /// Fails if a port would accept nothing, and names its interface.
    pub fn describe_security(&self) -> Result<Vec<String>, String> {
        let line = |host: &HostConfig| -> Result<Option<String>, String> {
            let guard = self.guard(host)?;
            Ok(guard.map(|guard| format!("{}: accepts {}", host.interface, guard.describe())))
        };
        self.host.iter().filter_map(|host| line(host).transpose()).collect()
    }

    /// Describes phantom queues and their ports: a line for each kind.
    ///
    /// # Errors
    /// Returns a message about an invalid phantom queue.
    pub fn describe_phantom(&self) -> Result<Vec<String>, String> {
        let hosts = self.host.iter();
        let hosts = hosts.map(|host| (host.interface.clone(), host.phantom_queue, host.rate));
        let links = self.link.iter();
        let links = links.map(|link| (link.between.join(" to "), link.phantom_queue, link.rate));
        let mut kinds = Vec::new();
        for (place, own, rate) in hosts.chain(links) {
            let Some(Rate(rate)) = rate.or(self.rate) else { continue };
            let Some((settings, _)) = self.phantom(&place, own, rate)? else { continue };
            add_place(&mut kinds, phantom::describe(&settings), &place);
        }
        Ok(lines_of(kinds))
    }

    pub(super) fn layout(&self) -> Result<(PortModels, Layout), String> {
        let mut profile = Profile::named(&self.dscp).ok_or_else(|| {
            let names: Vec<&str> = Profile::ALL.iter().map(|&(name, _)| name).collect();
            format!("dscp {:?}: expected {}", self.dscp, names.join(", "))
        })?;
        if let Some((one, other)) = profile.conflict() {
            return Err(format!("dscp {:?}: {one} has the value of {other}", self.dscp));
        }
        let models = self.port_models()?;
        if let PortModels::Alike(model) = &models {
            profile.trimmed_bytes = profile.trimmed_bytes.max(model.main.trimmed_bytes());
        }
        let number = |name: &str| {
            let found = self.switch.iter().position(|switch| switch.name == name);
            found.ok_or_else(|| format!("no switch is named {name:?}"))
        };
        let line = |what: &str, rate: Option<Rate>, delay: Option<Delay>, rules: Impairments| {
            let rate = rate
                .or(self.rate)
                .ok_or_else(|| format!("{what}: no rate; expected the key `rate`"))?
                .0;
            let delay = delay.or(self.delay).map_or(TimeDelta::ZERO, |delay| delay.0);
            Ok::<Line, String>(Line { rate, delay, rules })
        };
        for (index, switch) in self.switch.iter().enumerate() {
            if number(&switch.name)? != index {
                return Err(format!("two switches are named {:?}", switch.name));
            }
        }
        let mut switches: Vec<Vec<u32>> = vec![Vec::new(); self.switch.len()];
        let (mut ports, mut hosts, mut phantoms) = (Vec::new(), Vec::new(), Vec::new());
        let (mut guards, mut pacers) = (Vec::new(), Vec::new());
        for (index, host) in self.host.iter().enumerate() {
            let switch = number(&host.switch)?;
            let line = line(&host.interface, host.rate, host.delay, host.impairment.rules())?;
            switches[switch].push(ports.len() as u32);
            hosts.push(ports.len() as u32);
            guards.push(self.guard(host)?);
            pacers.push(self.pacer(host, line.rate)?.map(|(_, model)| model));
            let phantom = self.phantom(&host.interface, host.phantom_queue, line.rate)?;
            phantoms.push(phantom.map(|(_, model)| model));
            ports.push((switch as u32, line, FarEnd::Host(index as u32)));
        }
        for link in &self.link {
            let ends = [number(&link.between[0])?, number(&link.between[1])?];
            let name = link.between.join(" to ");
            let line = line(&name, link.rate, link.delay, link.impairment.rules())?;
            let phantom = self.phantom(&name, link.phantom_queue, line.rate)?;
            let first = ports.len() as u32;
            for (end, other) in [(0, 1), (1, 0)] {
                switches[ends[end]].push(first + end as u32);
                phantoms.push(phantom.map(|(_, model)| model));
                ports.push((ends[end] as u32, line, FarEnd::Port(first + other)));
            }
        }
        let notifies_control =
            self.notifications.and_then(|bounds| bounds.control).unwrap_or(false);
        let mut layout = Layout {
            profile,
            lengths: if self.stale_lengths { Lengths::Stale } else { Lengths::Updated },
            notifies_control,
            switches,
            ports,
            phantoms,
            pacers,
            detour: self.detour()?,
            hosts,
            guards,
            routes: vec![Vec::new(); self.switch.len()],
            labels: Vec::new(),
        };
        layout.labels = self.label_tables(&layout)?;
        let mut known = std::collections::HashSet::new();
        for (index, host) in self.host.iter().enumerate() {
            for address in &host.addresses {
                if !known.insert(address.address) {
                    return Err(format!("{} is the address of two hosts", address.address));
                }
                let through = address.through.as_deref().map(&number).transpose()?;
                layout.route(address.address, index, through)?;
            }
        }
        Ok((models, layout))
    }
}

/// Adds a place to the kind of this description.
fn add_place(kinds: &mut Vec<(String, Vec<String>)>, described: String, place: &str) {
    match kinds.iter_mut().find(|(known, _)| *known == described) {
        Some((_, places)) => places.push(place.to_owned()),
        None => kinds.push((described, vec![place.to_owned()])),
    }
}

/// Returns a line for each kind: its places and its description.
fn lines_of(kinds: Vec<(String, Vec<String>)>) -> Vec<String> {
    let line =
        |(described, places): (String, Vec<String>)| format!("{}: {described}", places.join(", "));
    kinds.into_iter().map(line).collect()
}

impl Layout {
    /// Returns the number of links from every switch to one.
    fn distances(&self, to: usize) -> Vec<Option<u32>> {
        let mut distances = vec![None; self.switches.len()];
        distances[to] = Some(0);
        let mut waiting = VecDeque::from([to]);
        while let Some(switch) = waiting.pop_front() {
            for &port in &self.switches[switch] {
                let FarEnd::Port(other) = self.ports[port as usize].2 else { continue };
                let next = self.ports[other as usize].0 as usize;
                if distances[next].is_none() {
                    distances[next] = distances[switch].map(|links| links + 1);
                    waiting.push_back(next);
                }
            }
        }
        distances
    }

    /// Adds the shortest paths from all switches to an address of a host, or the shortest through the switch `through`.
    fn route(
        &mut self,
        address: IpAddr,
        host: usize,
        through: Option<usize>,
    ) -> Result<(), String> {
        let host_port = self.hosts[host];
        let home = self.ports[host_port as usize].0 as usize;
        let to_home = self.distances(home);
        let to_way = through.map(|through| self.distances(through));
        // Switches at and behind `through`, on the way home.
        let mut is_behind = vec![to_way.is_none(); self.switches.len()];
        if let Some(through) = through {
            let mut waiting = vec![through];
            while let Some(switch) = waiting.pop() {
                if std::mem::replace(&mut is_behind[switch], true) {
                    continue;
                }
                for &port in &self.switches[switch] {
                    let FarEnd::Port(other) = self.ports[port as usize].2 else { continue };
                    let next = self.ports[other as usize].0 as usize;
                    if to_home[next].map(|links| links + 1) == to_home[switch] {
                        waiting.push(next);
                    }
                }
            }
        }
        for switch in 0..self.switches.len() {
            let distances = match &to_way {
                Some(to_way) if !is_behind[switch] => to_way,
                _ => &to_home,
            };
            let local = self.switches[switch].iter().enumerate();
            let ports: Vec<u16> = local
                .filter(|&(_, &port)| match self.ports[port as usize].2 {
                    FarEnd::Host(_) => port == host_port,
                    FarEnd::Port(other) if switch != home => {
                        let next = self.ports[other as usize].0 as usize;
                        let closer = distances[next].map(|links| links + 1);
                        closer.is_some() && closer == distances[switch]
                    }
                    FarEnd::Port(_) => false,
                })
                .map(|(local, _)| local as u16)
                .collect();
            if ports.is_empty() {
                return Err(format!("not every switch has a route to {address}"));
            }
            self.routes[switch].push((address, ports));
        }
        Ok(())
    }
}
