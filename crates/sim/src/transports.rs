//! Transports, each in its own file: endpoint, scenario keys, description and samples.
//!
//! A transport implements [`Transport`]. [`Transports`] is the list that a program knows: [`Transports::built_in`], and
//! further ones that a crate outside this workspace adds with [`Transports::with`].
//!
//! Nothing here is called for a packet: [`Transport::with`] leads to a run whose hosts are of the type
//! [`Transport::Endpoint`].

mod cbr;
mod dcqcn;
mod describe;
mod estimate;
mod frames;
mod homa;
mod homa_cutoffs;
mod hpcc;
mod keys;
mod ndp;
mod nscc;
mod pfabric;
mod phost;
mod pull_gaps;
mod random_keys;
mod rccc;
mod roce;
mod several;
mod tcp;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

pub use trimline_metrics::capture::Frames;
pub use trimline_metrics::timeline::PacketKind;
use trimline_metrics::{FlowRecord, PacketLatency, RunRecord};
pub use trimline_metrics::{Reading, Readings, SeriesColumn};
use trimline_packet::{BitRate, HostId, Packet, Telemetry, Time, TimeDelta};
use trimline_switch::Marker;
use trimline_transport::{Allowed, Disposition, Endpoint, Framing, HostTables, Side, flow};

pub use cbr::Cbr;
pub use dcqcn::Dcqcn;
pub use describe::time;
pub use estimate::{constant_rate, windowed};
pub use homa::Homa;
pub use hpcc::Hpcc;
pub use keys::{Keys, Setting};
pub use ndp::Ndp;
pub use nscc::Uet;
pub use pfabric::Pfabric;
pub use phost::Phost;
pub(crate) use random_keys::random_parameters;
pub use tcp::Family;

pub use crate::keys::error::ScenarioError;
pub use crate::keys::form::{
    BYTES, DURATION, Form, Grammar, Key, RATE, computed, fixed, optional, required,
};
pub use crate::keys::quantity::Quantity;
pub use crate::plan::{
    Choice, Chosen, Group, Need, Plan, Progress, Resources, RunError, Traits, Work,
};
pub use crate::protocol::Protocol;

use crate::keys::form::Language;
use crate::keys::tree::Node;
use crate::run::run_hosts;
use crate::topology::Clos;
use several::{Nothing, Several, several};

// One line per transport: its variant, the type of its endpoints, its scenario names in the order of messages.
several::transports! {
    Ndp(trimline_transport::ndp::Endpoint): Ndp;
    Tcp(trimline_transport::tcp::Endpoint): Family::Tcp, Family::Dctcp, Family::Mptcp;
    Dcqcn(trimline_transport::dcqcn::Endpoint): Dcqcn;
    Cbr(trimline_transport::cbr::Endpoint): Cbr;
    Phost(trimline_transport::phost::Endpoint): Phost;
    Homa(trimline_transport::homa::Endpoint): Homa;
    Pfabric(trimline_transport::pfabric::Endpoint): Pfabric;
    Nscc(trimline_transport::nscc::Endpoint): Uet::Nscc, Uet::Rccc;
    Hpcc(trimline_transport::hpcc::Endpoint): Hpcc;
}

/// Parameters of a transport's endpoints.
pub type ConfigOf<T> = <<T as Transport>::Endpoint as Protocol>::Config;

/// A transport that scenarios can name.
pub trait Transport: Copy + fmt::Debug + Send + Sync + 'static {
    /// Endpoint at each host.
    type Endpoint: Protocol;
    /// For the list of this crate only.
    #[doc(hidden)]
    const IS_BUILT_IN: bool = false;

    /// Returns the name in scenarios: lower-case letters, digits and `_`, unique in a program.
    fn name(self) -> &'static str;
    /// Returns the name in figures and tables.
    fn label(self) -> &'static str;
    /// Returns the colour in figures, "#rrggbb".
    fn colour(self) -> &'static str;
    /// Returns a description in one sentence.
    fn about(self) -> &'static str;
    /// Returns the keys of its scenario table.
    fn grammar(self) -> &'static Grammar;
    /// Returns the properties of all its flows.
    fn traits(self) -> Traits;
    /// Returns the default switch profile (`trimline schema`, switch.profile). It is the NDP paper's by default.
    fn profile(self, _keys: &Keys<'_>) -> &'static str {
        "paper"
    }
    /// Returns whether marks slow its senders down by ECN-Echo or CNP. The default is true.
    fn answers_marks(self, _config: &ConfigOf<Self>) -> bool {
        true
    }
    /// Returns the need of one of its keys, with the key: no other value of the key needs it.
    fn need(self, _config: &ConfigOf<Self>) -> Option<(&'static str, Need)> {
        None
    }
    /// Returns the default marker of queues for a rate of hosts' links. `None`: the profile's.
    fn marker(self, _rate: BitRate) -> Option<Marker> {
        None
    }
    /// Returns the maximum full packets in flight of a flow, with the key that sets it. The program warns if they last
    /// less than an idle round trip. `None`: no limit.
    fn window(self, _config: &ConfigOf<Self>) -> Option<(&'static str, u64)> {
        None
    }
    /// Converts its keys, which the grammar has accepted, to parameters.
    ///
    /// # Errors
    /// Refuses contradictions between keys, which no grammar can see ([`Keys::refuse`]).
    fn resolve(
        self,
        keys: &Keys<'_>,
        setting: &Setting<'_>,
    ) -> Result<ConfigOf<Self>, ScenarioError>;
    /// Returns the kind of a packet at its sender, for a timeline. The default is the header's kind.
    fn packet_kind(self, packet: &Packet) -> PacketKind {
        PacketKind::of_header(packet.header.kind)
    }
    /// Returns the payload bytes of a full packet.
    fn payload_bytes(self, config: &ConfigOf<Self>) -> u16;
    /// Returns the parameters for flows with another payload. The endpoint finds each connection's payload in
    /// [`flow::Command::Open`].
    ///
    /// # Errors
    /// Returns why it cannot, as the end of "transport NAME, ...".
    fn with_payload(
        self,
        _config: &ConfigOf<Self>,
        _payload_bytes: u16,
    ) -> Result<ConfigOf<Self>, &'static str> {
        Err("whose connections all have one payload")
    }
    /// Returns whether every sized flow ends with these parameters.
    fn ends_flows(self, _config: &ConfigOf<Self>) -> bool {
        self.traits().ends_flows
    }
    /// Describes the parameters, after the name, for `explain`.
    fn describe(self, config: &ConfigOf<Self>) -> String;
    /// Describes timers that are long for a data centre: in a comparison they may matter more than the transport.
    /// `None` without such timers.
    fn slow_timers(self, _config: &ConfigOf<Self>) -> Option<String> {
        None
    }
    /// Returns the time after which a sender without a round-trip sample resends, with its key; an answer after that
    /// means no loss. `None`: no such time, or it is known to be too short.
    fn first_timeout(self, _config: &ConfigOf<Self>) -> Option<(&'static str, TimeDelta)> {
        None
    }
    /// Returns how long a sender may use a token of its receiver, with its key. `None`: without tokens.
    fn token_expiry(self, _config: &ConfigOf<Self>) -> Option<(&'static str, TimeDelta)> {
        None
    }
    /// Returns a maker of capture frames for packets in order of time. `None`: the wire format of this repository.
    fn frames(self, _config: &ConfigOf<Self>, _packets: &[Packet]) -> Option<Box<dyn Frames>> {
        None
    }
    /// Estimates the work of a group of flows before a run. See [`windowed`] and [`constant_rate`].
    fn work(self, config: &ConfigOf<Self>, plan: &Plan, group: &Group) -> Work;
    /// Returns the parameters that the suite `every_transport` runs under every switch profile: at least one.
    fn samples(self) -> &'static [Sample];

    /// Returns the parameters of a table with the lines `keys`, in a scenario without further keys.
    ///
    /// # Errors
    /// Refuses text that is not TOML; see also the grammar and [`Transport::resolve`].
    fn config(self, keys: &str, topology: &Clos) -> Result<ConfigOf<Self>, ScenarioError> {
        keys::resolved(keys, self.grammar(), |keys| {
            self.resolve(keys, &Setting::plain(self.profile(keys), topology))
        })
    }
    /// Combines the transport with parameters, for a plan.
    fn with(self, config: ConfigOf<Self>) -> Chosen {
        Chosen::new(Configured { transport: self, config: Arc::new(config) })
    }
}

/// Parameters of a suite.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Name in failures.
    pub name: &'static str,
    /// Keys of the transport's table, one a line.
    pub keys: &'static str,
    /// Minimum payload bytes delivered in two milliseconds of the suite's load under any switch profile. The links
    /// could carry 40 MB.
    pub min_bytes: u64,
}

/// A transport behind a trait object. Every [`Transport`] implements it.
pub trait AnyTransport: fmt::Debug + Send + Sync + 'static {
    /// See [`Transport::name`].
    fn name(&self) -> &'static str;
    /// See [`Transport::label`].
    fn label(&self) -> &'static str;
    /// See [`Transport::colour`].
    fn colour(&self) -> &'static str;
    /// See [`Transport::about`].
    fn about(&self) -> &'static str;
    /// See [`Transport::grammar`].
    fn grammar(&self) -> &'static Grammar;
    /// See [`Transport::traits`].
    fn traits(&self) -> Traits;
    /// See [`Transport::profile`].
    fn profile(&self, keys: &Keys<'_>) -> &'static str;
    /// See [`Transport::marker`].
    fn marker(&self, rate: BitRate) -> Option<Marker>;
    /// See [`Transport::resolve`].
    ///
    /// # Errors
    /// Refuses contradictions between keys.
    fn choose(&self, keys: &Keys<'_>, setting: &Setting<'_>) -> Result<Chosen, ScenarioError>;
    /// See [`Transport::samples`].
    fn samples(&self) -> &'static [Sample];
}

impl dyn AnyTransport {
    /// Combines the transport with the parameters of [`Transport::config`].
    ///
    /// # Errors
    /// See [`Transport::config`].
    pub fn with_keys(&self, keys: &str, topology: &Clos) -> Result<Chosen, ScenarioError> {
        keys::resolved(keys, self.grammar(), |keys| {
            self.choose(keys, &Setting::plain(self.profile(keys), topology))
        })
    }
}

impl<T: Transport> AnyTransport for T {
    fn name(&self) -> &'static str {
        Transport::name(*self)
    }
    fn label(&self) -> &'static str {
        Transport::label(*self)
    }
    fn colour(&self) -> &'static str {
        Transport::colour(*self)
    }
    fn about(&self) -> &'static str {
        Transport::about(*self)
    }
    fn grammar(&self) -> &'static Grammar {
        Transport::grammar(*self)
    }
    fn traits(&self) -> Traits {
        Transport::traits(*self)
    }
    fn profile(&self, keys: &Keys<'_>) -> &'static str {
        Transport::profile(*self, keys)
    }
    fn marker(&self, rate: BitRate) -> Option<Marker> {
        Transport::marker(*self, rate)
    }
    fn choose(&self, keys: &Keys<'_>, setting: &Setting<'_>) -> Result<Chosen, ScenarioError> {
        self.resolve(keys, setting).map(|config| self.with(config))
    }
    fn samples(&self) -> &'static [Sample] {
        Transport::samples(*self)
    }
}

#[derive(Clone, Debug)]
struct Configured<T: Transport> {
    transport: T,
    config: Arc<ConfigOf<T>>,
}

impl<T: Transport> Choice for Configured<T> {
    fn name(&self) -> &'static str {
        Transport::name(self.transport)
    }
    fn is_built_in(&self) -> bool {
        T::IS_BUILT_IN
    }
    fn parameters(&self) -> &dyn Any {
        &self.config
    }
    fn payload_bytes(&self) -> u16 {
        self.transport.payload_bytes(&self.config)
    }
    fn with_payload(&self, payload_bytes: u16) -> Result<Chosen, &'static str> {
        let config = self.transport.with_payload(&self.config, payload_bytes)?;
        Ok(self.transport.with(config))
    }
    fn framing(&self) -> Framing {
        T::Endpoint::FRAMING
    }
    fn traits(&self) -> Traits {
        let ends_flows = self.transport.ends_flows(&self.config);
        Traits { ends_flows, ..Transport::traits(self.transport) }
    }
    fn series_columns(&self) -> Vec<SeriesColumn> {
        T::Endpoint::series_columns(&self.config)
    }
    fn packet_kind(&self, packet: &Packet) -> PacketKind {
        self.transport.packet_kind(packet)
    }
    fn answers_marks(&self) -> bool {
        self.transport.answers_marks(&self.config)
    }
    fn collects_telemetry(&self) -> bool {
        T::Endpoint::TELEMETRY
    }
    fn need(&self) -> Option<(&'static str, Need)> {
        self.transport.need(&self.config)
    }
    fn takes_messages(&self) -> bool {
        T::Endpoint::TAKES_MESSAGES
    }
    fn time_wait(&self) -> TimeDelta {
        T::Endpoint::time_wait(&self.config)
    }
    fn describe(&self, plan: &Plan) -> String {
        let described = self.transport.describe(&self.config);
        let mut text = format!("  transport  {described}\n");
        if self.traits().ends_flows {
            text += &describe_round_trip(&plan.topology, self);
        }
        text
    }
    fn slow_timers(&self) -> Option<String> {
        self.transport.slow_timers(&self.config)
    }
    fn first_timeout(&self) -> Option<(&'static str, TimeDelta)> {
        self.transport.first_timeout(&self.config)
    }
    fn token_expiry(&self) -> Option<(&'static str, TimeDelta)> {
        self.transport.token_expiry(&self.config)
    }
    fn window(&self) -> Option<(&'static str, u64)> {
        self.transport.window(&self.config)
    }
    fn frames(&self, packets: &[Packet]) -> Option<Box<dyn Frames>> {
        self.transport.frames(&self.config, packets)
    }
    fn work(&self, plan: &Plan, group: &Group) -> Work {
        self.transport.work(&self.config, plan, group)
    }
    fn run(
        &self,
        plan: &Plan,
        resources: Resources,
        watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<RunRecord, RunError> {
        if plan.transports.len() == 1 {
            return run_hosts::<T::Endpoint>(plan, &self.config, resources, watch);
        }
        // Known at compile time: a built-in transport adds no network here.
        if T::IS_BUILT_IN {
            run_hosts::<Several<Nothing>>(plan, &several(plan), resources, watch)
        } else {
            run_hosts::<Several<T::Endpoint>>(plan, &several(plan), resources, watch)
        }
    }
}

/// Describes the bandwidth-delay product, to compare with the initial window.
fn describe_round_trip(clos: &Clos, choice: &dyn Choice) -> String {
    let round_trip = clos.idle_round_trip(choice.payload_bytes(), choice.framing());
    let packet_bits = f64::from(choice.full_wire_bytes()) * 8.0;
    let packets =
        round_trip.as_ps() as f64 / 1e12 * clos.host_link.rate.as_bps() as f64 / packet_bits;
    format!(
        "  idle round trip between the farthest hosts {}: {packets:.1} packets at the rate of the host link\n",
        time(round_trip)
    )
}

/// The transports that a program knows.
///
/// ```
/// use trimline_sim::transports::{Ndp, Transports};
///
/// let transports = Transports::built_in();
/// assert_eq!(transports.find("dctcp").unwrap().label(), "DCTCP");
/// assert!(transports.find("dctpc").is_none());
/// assert_eq!(transports.nearest("dctpc"), Some("dctcp"));
/// // A name is unique.
/// assert_eq!(transports.with(&[&Ndp]).unwrap_err(), "a second transport named `ndp`");
/// ```
#[derive(Clone, Debug)]
pub struct Transports(Vec<&'static dyn AnyTransport>);

impl Transports {
    /// Returns the transports of this crate. The first is the default.
    pub fn built_in() -> Transports {
        Transports(BUILT_IN.to_vec())
    }

    /// Adds transports from outside.
    ///
    /// # Errors
    /// Refuses an invalid name, and a name in use.
    pub fn with(mut self, more: &[&'static dyn AnyTransport]) -> Result<Transports, String> {
        for &transport in more {
            let name = transport.name();
            let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_letter) {
                return Err(format!(
                    "`{name}` is no name of a transport: lower-case letters, digits and `_`"
                ));
            }
            if self.find(name).is_some() {
                return Err(format!("a second transport named `{name}`"));
            }
            self.0.push(transport);
        }
        Ok(self)
    }

    /// Returns the transport of this name.
    pub fn find(&self, name: &str) -> Option<&'static dyn AnyTransport> {
        self.0.iter().copied().find(|transport| transport.name() == name)
    }

    /// Returns all transports.
    pub fn iter(&self) -> impl Iterator<Item = &'static dyn AnyTransport> + '_ {
        self.0.iter().copied()
    }

    /// Returns the transport of a scenario without one.
    pub(crate) fn default(&self) -> &'static dyn AnyTransport {
        self.0[0]
    }

    /// Returns the name nearest to `written`, if one is near.
    pub fn nearest(&self, written: &str) -> Option<&'static str> {
        crate::keys::error::nearest(written, self.iter().map(|transport| transport.name()))
    }

    pub(crate) fn language(&self) -> Language {
        let key = |transport: &'static dyn AnyTransport| {
            optional(transport.name(), Form::Table(transport.grammar()), transport.about())
        };
        Language { transports: self.iter().map(key).collect() }
    }
}

pub(crate) fn keys_of<'a>(root: &'a Node, transport: &dyn AnyTransport) -> Keys<'a> {
    Keys::new(root, root.at(&["transport", transport.name()]), transport.grammar())
}
