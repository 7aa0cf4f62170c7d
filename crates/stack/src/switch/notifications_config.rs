//! What notifications of drops may take of a port (FastLane 3.3): how a configuration writes it, and what it is on a port.

use serde::Deserialize;
use trimline_packet::{BitRate, ByteCount, Packet};
use trimline_switch::profiles::notification_bytes;
use trimline_switch::{Cap, Choices, Models, Order, ServiceModel};

use super::quantity::{Billionths, Size};

/// The profile of ports that tell senders of drops, and whose other packets go in the order of their arrival.
pub(super) const PROFILE: &str = "fastlane";
/// The same with the most urgent packet first.
const PFABRIC: &str = "fastlane-pfabric";

/// In which order packets that are no notifications leave ports of this profile; none where it tells nobody of drops.
pub(super) fn order_of(profile: &str) -> Option<Order> {
    match profile {
        PROFILE => Some(Order::Arrival),
        PFABRIC => Some(Order::Urgency),
        _ => None,
    }
}

/// A port of this memory, this part of it for notifications, and this cap.
fn model(order: Order, bytes: u32, notified: u32, cap: Cap) -> Result<ServiceModel, String> {
    let (profile, choices) = match order {
        Order::Arrival => (PROFILE, Choices::fastlane(bytes, notified, cap)),
        Order::Urgency => (PFABRIC, Choices::fastlane_pfabric(bytes, notified, cap)),
    };
    choices.build().map_err(|error| format!("profile {profile}: {error}"))
}

/// Bytes of a port of so many packets.
///
/// # Errors
/// More than a port counts.
pub(super) fn port_bytes(packets: u32, packet_bytes: u16) -> Result<u32, String> {
    let all = u64::from(packets) * u64::from(packet_bytes);
    u32::try_from(all).map_err(|_| {
        let max = u32::MAX / u32::from(packet_bytes.max(1));
        format!("packets = {packets}: a port of {all} B is more than 4 GiB; nearest: {max}")
    })
}

/// Bounds of notifications as a configuration has them; its keys are those of the simulator's scenarios, and `control`.
/// What is not stated is the paper's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotificationsConfig {
    /// Of the rate of the port's line: "1%" without it (FastLane 3.3.1).
    pub cap: Option<Billionths>,
    /// Of the memory of the port: a fortieth without it (FastLane 3.3.2).
    pub memory: Option<Size>,
    /// Whether they go beyond the cap while nothing else waits: true without it (FastLane 3.3.1).
    pub work_conserving: Option<bool>,
    /// Whether the senders of packets that carry nothing are told too (FastLane 3.4.1): false without it. A kernel that
    /// does not know FastLane gets such notifications whole, and answers those of TCP with RST.
    pub control: Option<bool>,
}

/// A notification on the wire.
const ONE: u64 = Packet::HEADER_BYTES as u64;

impl NotificationsConfig {
    /// What ports are whose lines have these rates and whose memory is `packets` packets of `packet_bytes`: a table, and
    /// each port's place in it.
    ///
    /// # Errors
    /// The first key that cannot be: its value, why not, and the nearest that could. `rates` come with their places.
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
            // Without a port none is asked for, and a table has one.
            let cap = Cap::of_line(BitRate::from_gbps(1));
            models.push(model(order, bytes, notified, cap)?);
        }
        Ok((Models::new(models), of_port))
    }

    /// Bytes of the port, and those of them that are for notifications.
    pub(super) fn memory(&self, packets: u32, packet_bytes: u16) -> Result<(u32, u32), String> {
        let bytes = port_bytes(packets, packet_bytes)?;
        let (all, packet) = (u64::from(bytes), u64::from(packet_bytes));
        // One packet beside the notifications.
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
        // Chosen: a cap brings a notification in each second, or it is none.
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

    /// What ports of these places do about drops, in words: a line for each cap.
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
                true => "while others wait",
                false => "always",
            };
            let control = match self.control.unwrap_or(false) {
                true => "all packets of TCP and UDP",
                false => "packets of TCP and UDP that carry something",
            };
            format!(
                "{}: senders are told of drops of {control}: notifications go first, each {min} {conserving}, in {notified} B \
                 of {bytes} B",
                places.join(", ")
            )
        };
        Ok(kinds.into_iter().map(line).collect())
    }
}
