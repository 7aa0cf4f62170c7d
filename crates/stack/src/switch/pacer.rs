//! A pacer on a host's cable (HULL, NSDI 2012, 4.2): its configuration, and the driver of `trimline-hostnic`'s pacer.
//!
//! It stands where HULL's testbed has its NetFPGAs, between a host and its switch (5.2, figure 7). It sees the frames
//! of the host, after the segmentation by the host, and the frames for the host, whose echoes of congestion associate
//! flows. It reads the echoes of TCP (RFC 3168) and of no other protocol.

use serde::Deserialize;
use trimline_hostnic::{FlowId, Measured, Pacer, PacerCounters, PacerModel, PacerSettings, Taken};
use trimline_packet::fluid::Clock;
use trimline_packet::list::Queue;
use trimline_packet::{BitRate, ByteCount, Handle, Packets, Time, TimeDelta};
use trimline_transport::RngStream;

use super::frames::Frames;
use super::ip_header::IpHeader;
use super::quantity::{Billionths, Delay, Rate, Size};
use super::rng::ScriptedRng;

/// The configuration of a pacer, with the keys of the simulator's scenarios. Defaults are those of HULL's testbed
/// (table 3, 5.1) on cables below 10 Gb/s, otherwise those of its large simulation (6.3).
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacerConfig {
    /// Time between two updates of the rate, T_r.
    pub interval: Option<Delay>,
    /// Weight of the last sample, eta.
    pub gain: Option<Billionths>,
    /// Rate added per byte of backlog and update, beta, in B/s.
    pub backlog_gain: Option<u64>,
    /// The bytes that the rate follows; default: "paced".
    pub measured: Option<MeasuredBytes>,
    /// First rate; default: the cable's.
    pub first_rate: Option<Rate>,
    /// The min rate.
    pub min_rate: Option<Rate>,
    /// Tokens that a bucket holds: at least a full packet.
    pub bucket: Option<Size>,
    /// The interval at which tokens come; "0s": continuously.
    pub tick: Option<Delay>,
    /// Capacity of the FIFO of a bucket.
    pub queue: Option<Size>,
    /// Token buckets, each with a FIFO.
    pub buckets: Option<u8>,
    /// Probability that an echo of congestion associates its flow, p_a.
    pub association_chance: Option<Billionths>,
    /// Time after the last echo at which an association ends, T_i.
    pub association_lifetime: Option<Delay>,
    /// Max number of associated flows.
    pub flows: Option<u16>,
}

/// The bytes that a pacer's rate follows: M_r of equation (4). The paper gives both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeasuredBytes {
    /// Those of paced packets (HULL 4.2, footnote 2).
    Paced,
    /// Those of all packets of the host (HULL 4.2, the text).
    All,
}

impl PacerConfig {
    /// Returns the pacer of a cable of this rate for packets of up to `largest_packet` bytes on the wire, or the first
    /// invalid key: its value, the reason, and the nearest valid value.
    pub(super) fn check(
        &self,
        rate: BitRate,
        largest_packet: u16,
    ) -> Result<(PacerSettings, PacerModel), String> {
        let base = PacerSettings::for_link(rate);
        let share = |share: Option<Billionths>, default: u32| {
            share.map_or(default, |share| u32::try_from(share.0).unwrap_or(u32::MAX))
        };
        let settings = PacerSettings {
            interval: self.interval.map_or(base.interval, |time| time.0),
            gain: share(self.gain, base.gain),
            backlog_gain: self.backlog_gain.unwrap_or(base.backlog_gain),
            measured: match self.measured {
                None => base.measured,
                Some(MeasuredBytes::Paced) => Measured::Paced,
                Some(MeasuredBytes::All) => Measured::FromHost,
            },
            first_rate: self.first_rate.map(|rate| rate.0),
            min_rate: self.min_rate.map_or(base.min_rate, |rate| rate.0),
            bucket: self.bucket.map_or(base.bucket, |size| size.0),
            clock: match self.tick {
                None => base.clock,
                Some(Delay(TimeDelta::ZERO)) => Clock::Continuous,
                Some(Delay(tick)) => Clock::Tick(tick),
            },
            queue: self.queue.map_or(base.queue, |size| size.0),
            buckets: self.buckets.unwrap_or(base.buckets),
            association_chance: share(self.association_chance, base.association_chance),
            association_lifetime: self
                .association_lifetime
                .map_or(base.association_lifetime, |time| time.0),
            flows: self.flows.unwrap_or(base.flows),
            ..base
        };
        let model = settings.check(rate, largest_packet).map_err(|fault| fault.to_string())?;
        Ok((settings, model))
    }
}

pub(super) fn describe(settings: &PacerSettings, rate: BitRate) -> String {
    let PacerSettings { interval, bucket, queue, association_lifetime, .. } = settings;
    let chance = f64::from(settings.association_chance) / 1e7;
    let mut described = format!(
        "a pacer spaces out flows that hear of congestion: {chance} % of echoes associate a flow, for {association_lifetime}; \
         the rate follows every {interval}; buckets of {bucket}, FIFOs of {queue}"
    );
    for warning in settings.warnings(rate) {
        described += &format!("; warning: {warning}");
    }
    described
}

/// The state of a pacer, for statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacerState {
    /// Packets that passed, waited and were dropped, and associations.
    pub counters: PacerCounters,
    /// Flows that are associated.
    pub flows: u64,
    /// Rate of all buckets, in b/s.
    pub rate_bps: u64,
    /// Bytes that wait in all buckets.
    pub backlog_bytes: u64,
}

impl PacerState {
    /// Returns each counter with its name.
    pub fn counted(&self) -> [(&'static str, u64); 6] {
        let PacerCounters { passed, paced, dropped, dropped_bytes, associated, refused } =
            self.counters;
        [
            ("passed", passed),
            ("paced", paced),
            ("dropped", dropped),
            ("dropped_bytes", dropped_bytes),
            ("associated", associated),
            ("refused", refused),
        ]
    }

    /// Returns each quantity that rises and falls with its name.
    pub fn gauged(&self) -> [(&'static str, u64); 3] {
        let PacerState { flows, rate_bps, backlog_bytes, .. } = *self;
        [("flows", flows), ("rate_bps", rate_bps), ("backlog_bytes", backlog_bytes)]
    }
}

/// A pacer, the frames that its host has sent faster than the cable, and the times of both.
#[derive(Debug)]
pub(super) struct HostPacer {
    model: PacerModel,
    pacer: Pacer,
    rng: ScriptedRng,
    sent: Queue,
    /// End of the way of the last frame from the host to the pacer, which is as fast as the cable.
    taken_until: Time,
    /// The valid event of this pacer; `NEVER` if there is none. Others are obsolete.
    pub(super) planned: Time,
    /// The latest call.
    latest: Time,
}

impl HostPacer {
    pub(super) fn new(model: PacerModel, draws: RngStream) -> HostPacer {
        HostPacer {
            model,
            pacer: Pacer::new(&model),
            rng: ScriptedRng(draws),
            sent: Queue::EMPTY,
            taken_until: Time::ZERO,
            planned: Time::NEVER,
            latest: Time::ZERO,
        }
    }

    /// Bytes of frames that the host has sent and the pacer has not taken.
    pub(super) fn sent_bytes(&self) -> ByteCount {
        ByteCount::new(self.sent.bytes.into())
    }

    /// Accepts a frame that the host sends.
    pub(super) fn accept(&mut self, now: Time, frame: Handle, frames: &mut Frames) {
        if self.sent.head.is_none() {
            self.taken_until = self.taken_until.max(now);
        }
        let bytes = frames.packet(frame).wire_bytes;
        self.sent.push(frames, frame, bytes.into());
    }

    /// Sees a frame for the host: an echo of congestion may associate its flow.
    pub(super) fn see_delivered(&mut self, now: Time, bytes: &[u8]) {
        let Some(network) = IpHeader::of(bytes) else { return };
        if echoes_congestion(network, bytes) {
            self.latest = now;
            let flow = flow_of(network, bytes, Direction::Received);
            self.pacer.handle_echo(now, flow, &self.model, &mut self.rng);
        }
    }

    /// Returns the time of the next [`HostPacer::poll`] without further frames, if the cable is free at `free_at`.
    pub(super) fn next(&self, free_at: Time) -> Time {
        self.takes_at().min(self.pacer.next_start(free_at, &self.model))
    }

    fn takes_at(&self) -> Time {
        match !self.sent.head.is_none() && self.pacer.is_open() {
            true => self.taken_until,
            false => Time::NEVER,
        }
    }

    /// Takes the frames that are due, and returns one to send on the cable, which is free at `free_at`.
    pub(super) fn poll(
        &mut self,
        now: Time,
        free_at: Time,
        rate: BitRate,
        frames: &mut Frames,
    ) -> Option<Handle> {
        self.latest = now;
        while self.takes_at() <= now {
            self.take(now, rate, frames);
        }
        match free_at <= now && self.pacer.next_start(free_at, &self.model) <= now {
            true => self.pacer.poll_transmit(now, frames, &self.model),
            false => None,
        }
    }

    fn take(&mut self, now: Time, rate: BitRate, frames: &mut Frames) {
        let frame = self.sent.pop(frames);
        let wire = frames.packet(frame).wire_bytes;
        self.sent.release(1, wire.into());
        self.taken_until = now + rate.transmission(ByteCount::new(wire.into()));
        let bytes = frames.bytes(frame);
        let flow = match IpHeader::of(bytes) {
            Some(network) => flow_of(network, bytes, Direction::Sent),
            None => FlowId::new(0),
        };
        match self.pacer.handle_packet(now, flow, frame, frames, &self.model) {
            Taken::Passes | Taken::Waits => {}
            Taken::Dropped => frames.release(frame),
        }
    }

    pub(super) fn dropped(&self) -> u64 {
        self.pacer.counters().dropped
    }

    /// Returns the state at the latest call.
    pub(super) fn state(&self) -> PacerState {
        let (mut rate_bps, mut backlog_bytes) = (0, 0);
        for (rate, backlog) in self.pacer.buckets(self.latest, &self.model) {
            rate_bps += rate.as_bps();
            backlog_bytes += backlog.get();
        }
        let flows = self.pacer.flows(self.latest, &self.model) as u64;
        PacerState { counters: self.pacer.counters(), flows, rate_bps, backlog_bytes }
    }

    pub(super) fn set_back(&mut self, by: TimeDelta) {
        self.pacer.set_back(by);
        (self.taken_until, self.planned, self.latest) =
            (self.taken_until.set_back(by), self.planned.set_back(by), self.latest.set_back(by));
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Sent,
    Received,
}

const TCP: u8 = 6;

/// Returns whether a frame is an ACK of TCP with ECN-Echo. A SYN has the same bit for another purpose (RFC 3168,
/// 6.1.1).
fn echoes_congestion(network: IpHeader, bytes: &[u8]) -> bool {
    const SYN: u8 = 0x02;
    const ACK: u8 = 0x10;
    const ECE: u8 = 0x40;
    if network.protocol(bytes) != TCP || network.ports(bytes).is_empty() {
        return false;
    }
    let flags = bytes.get(network.payload() + 13).copied().unwrap_or(0);
    flags & (SYN | ACK | ECE) == ACK | ECE
}

/// Returns the flow of a frame, the same in both directions: the host's address and port, its peer's, and the protocol.
/// A flow of IPv4 has its own number, one of IPv6 a hash of 127 bits.
fn flow_of(network: IpHeader, bytes: &[u8], direction: Direction) -> FlowId {
    use std::net::IpAddr;
    let port = |at: usize| -> u16 {
        let ports = network.ports(bytes);
        ports.get(at..at + 2).map_or(0, |port| u16::from_be_bytes([port[0], port[1]]))
    };
    let source = (network.source(bytes), port(0));
    let destination = (network.destination(bytes), port(2));
    let (own, peer) = match direction {
        Direction::Sent => (source, destination),
        Direction::Received => (destination, source),
    };
    let protocol = network.protocol(bytes);
    let ports = u128::from(own.1) << 16 | u128::from(peer.1);
    FlowId::new(match (own.0, peer.0) {
        (IpAddr::V4(own), IpAddr::V4(peer)) => {
            let addresses = u128::from(u32::from(own)) << 32 | u128::from(u32::from(peer));
            addresses << 40 | u128::from(protocol) << 32 | ports
        }
        (own, peer) => {
            let number = |address: IpAddr| match address {
                IpAddr::V4(address) => u128::from(u32::from(address)),
                IpAddr::V6(address) => u128::from(address),
            };
            let parts = [number(own), number(peer), u128::from(protocol) << 32 | ports];
            let hash = |seed: u64| {
                parts.iter().fold(seed, |hash, &part| {
                    crate::random::mix(crate::random::mix(hash ^ part as u64) ^ (part >> 64) as u64)
                })
            };
            u128::from(hash(1)) << 64 | u128::from(hash(2)) | 1 << 127
        }
    })
}
