//! The bounds on notifications at a port (FastLane 3.3): their configuration, and the port models.

use serde::Deserialize;
use trimline_packet::{BitRate, ByteCount, Packet};
use trimline_switch::profiles::notification_bytes;
use trimline_switch::{Cap, Choices, Models, Order, ServiceModel};

use super::quantity::{Billionths, Size};

/// The profile with notifications and otherwise the order of arrival.
pub(super) const PROFILE: &str = "fastlane";
/// The profile with notifications and otherwise the most urgent packet first.
const PFABRIC: &str = "fastlane-pfabric";

/// Returns the order of other packets in this profile, if it sends notifications.
pub(super) fn order_of(profile: &str) -> Option<Order> {
    match profile {
        PROFILE => Some(Order::Arrival),
        PFABRIC => Some(Order::Urgency),
        _ => None,
    }
}

/// Returns the model of a port with `notified` of its `bytes` for notifications, and this limit.
fn model(order: Order, bytes: u32, notified: u32, cap: Cap) -> Result<ServiceModel, String> {
    let (profile, choices) = match order {
        Order::Arrival => (PROFILE, Choices::fastlane(bytes, notified, cap)),
        Order::Urgency => (PFABRIC, Choices::fastlane_pfabric(bytes, notified, cap)),
    };
    choices.build().map_err(|error| format!("profile {profile}: {error}"))
}

/// Returns the bytes of a port, unless it cannot count them.
pub(super) fn port_bytes(packets: u32, packet_bytes: u16) -> Result<u32, String> {
    let all = u64::from(packets) * u64::from(packet_bytes);
    u32::try_from(all).map_err(|_| {
        let max = u32::MAX / u32::from(packet_bytes.max(1));
        format!("packets = {packets}: a port of {all} B is more than 4 GiB; nearest: {max}")
    })
}

/// The configured bounds on notifications, with the keys of the simulator's scenarios and `control`. Defaults are the
/// paper's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotificationsConfig {
    /// Share of the port's line rate; default: "1%" (FastLane 3.3.1).
    pub cap: Option<Billionths>,
    /// Memory of the port for notifications; default: a fortieth of the port's (FastLane 3.3.2).
    pub memory: Option<Size>,
    /// True if notifications may exceed the cap while no other packet waits, as by default (FastLane 3.3.1).
    pub work_conserving: Option<bool>,
    /// True if senders of packets without payload are notified, too (FastLane 3.4.1); default: false. A kernel that
    /// does not know FastLane gets these whole, and answers TCP ones with RST.
    pub control: Option<bool>,
}

const ONE: u64 = Packet::HEADER_BYTES as u64;

impl NotificationsConfig {
    /// Returns the models of ports with these line rates and a memory of `packets` packets, and the index of each
    /// port's model. Or the first invalid key: its value, the reason, and the nearest valid value.
    pub(super) fn models(
        &self,
        order: Order,
        packets: u32,
        packet_bytes: u16,
        rates: &[(String, BitRate)],
    ) -> Result<(Models<ServiceModel>, Vec<u16>), String> {
        let (bytes, notified) = self.memory(packets, packet_bytes)?;
        let mut known: Vec<BitRate> = Vec::new();
        let mut models = Vec::new();
        let mut of_port = Vec::new();
        for (place, line) in rates {
            let number = match known.iter().position(|rate| rate == line) {
                Some(number) => number,
                None => {
                    let cap = self.cap_of(*line).map_err(|error| format!("{place}: {error}"))?;
                    models.push(model(order, bytes, notified, cap)?);
                    known.push(*line);
                    known.len() - 1
                }
            };
            let number = u16::try_from(number);
            of_port.push(number.map_err(|_| "lines have more than 65536 rates".to_owned())?);
        }
        if models.is_empty() {
            // A table has at least one model, even without ports.
            let cap = Cap::of_line(BitRate::from_gbps(1));
            models.push(model(order, bytes, notified, cap)?);
        }
        Ok((Models::new(models), of_port))
    }

    pub(super) fn memory(&self, packets: u32, packet_bytes: u16) -> Result<(u32, u32), String> {
        let bytes = port_bytes(packets, packet_bytes)?;
        let (all, packet) = (u64::from(bytes), u64::from(packet_bytes));
        // One packet fits beside the notifications.
        let max = all.saturating_sub(packet);
        if max < ONE {
            return Err(format!(
                "packets = {packets}: notifications take a part of a port of {all} B, and leave no room for a packet of \
                 {packet} B; nearest: 2"
            ));
        }
        let notified = match self.memory {
            None => u64::from(notification_bytes(bytes)),
            Some(Size(memory)) => memory.get(),
        };
        let nearest = notified.clamp(ONE, max);
        if notified != nearest {
            return Err(format!(
                "notifications: `memory` of {notified} B in a port of {all} B: one notification has {ONE} B, and a packet of \
                 {packet} B needs room beside them; nearest: \"{nearest}B\""
            ));
        }
        Ok((bytes, notified as u32))
    }

    fn cap_of(&self, line: BitRate) -> Result<Cap, String> {
        let is_work_conserving = self.work_conserving.unwrap_or(true);
        let share = self.cap.unwrap_or(Billionths(10_000_000));
        let rate = share.of(line).map_or(0, BitRate::as_bps);
        // Chosen: the cap must allow one notification in each second.
        let min = ONE * 8;
        if rate < min {
            let parts = (u128::from(min) * 1_000_000_000).div_ceil(line.as_bps().into());
            return Err(match parts <= 1_000_000_000 {
                true => format!(
                    "notifications: `cap` of {rate} bit/s is less than one notification of {ONE} B in a second; nearest: \
                     \"{parts}ppb\""
                ),
                false => format!(
                    "notifications: a line of {line} carries less than one notification of {ONE} B in a second; nearest: \
                     rate = \"{min}bps\""
                ),
            });
        }
        Ok(Cap { rate: BitRate::from_bps(rate), is_work_conserving })
    }

    pub(super) fn describe(
        &self,
        packets: u32,
        packet_bytes: u16,
        rates: &[(String, BitRate)],
    ) -> Result<Vec<String>, String> {
        let (bytes, notified) = self.memory(packets, packet_bytes)?;
        let mut kinds: Vec<(Cap, Vec<&str>)> = Vec::new();
        for (place, line) in rates {
            let cap = self.cap_of(*line).map_err(|error| format!("{place}: {error}"))?;
            match kinds.iter_mut().find(|(known, _)| *known == cap) {
                Some((_, places)) if places.last() == Some(&place.as_str()) => {}
                Some((_, places)) => places.push(place),
                None => kinds.push((cap, vec![place])),
            }
        }
        let line = |(cap, places): (Cap, Vec<&str>)| {
            let min = cap.rate.transmission(ByteCount::new(ONE));
            let conserving = match cap.is_work_conserving {
                true => "while other packets wait",
                false => "always",
            };
            let control = match self.control.unwrap_or(false) {
                true => "all TCP and UDP packets",
                false => "TCP and UDP packets with payload",
            };
            format!(
                "{}: notifies senders of drops of {control}: notifications have priority, each {min} {conserving}, in \
                 {notified} B of {bytes} B",
                places.join(", ")
            )
        };
        Ok(kinds.into_iter().map(line).collect())
    }
}
