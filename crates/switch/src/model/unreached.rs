//! Settings that a port's queues can never reach: such a port never marks, or never drops selectively.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use trimline_packet::BitRate;

use super::{Limit, Marker, QueueModel, ServiceModel, Unit};
use trimline_packet::SettingFault;

/// The network around a port, as far as it limits the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// Bytes of a full packet on the wire.
    pub packet_bytes: u16,
    /// Rate of the fastest link of the port's kind.
    pub line: BitRate,
    /// Bytes of shared memory of the switch; 0 without.
    pub pool_bytes: u64,
    /// Queue bytes beyond which PFC has stopped all senders; `None`: no PFC.
    pub paused_bytes: Option<u64>,
}

/// Capacity of a queue, in full packets and in their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Room {
    packets: u64,
    bytes: u64,
}

impl ServiceModel {
    /// Settings that full packets can never reach, as a queue holds too little; each once.
    pub fn unreached(&self, around: &Surroundings) -> Vec<SettingFault> {
        let mut faults: Vec<SettingFault> = Vec::new();
        let queues = &self.queues[..self.queue_count()];
        for queue in queues {
            let room = self.room(queue, around);
            let found = [of_marker(queue.marker, room, around), of_selective_drop(queue, room)];
            for fault in found.into_iter().flatten() {
                if !faults.contains(&fault) {
                    faults.push(fault);
                }
            }
        }
        faults.extend(self.of_port_limit(queues, around));
        faults
    }

    fn room(&self, queue: &QueueModel, around: &Surroundings) -> Room {
        let [whole, _] = queue.limits;
        let packet = u64::from(around.packet_bytes.max(1));
        let mut bytes = u64::from(whole.bytes.min(self.port.bytes));
        if let Some(alpha) = queue.pool {
            // A single busy queue gets pool x alpha / (1 + alpha).
            let (pool, alpha) = (u128::from(around.pool_bytes), u128::from(alpha.bits()));
            bytes = bytes.min((pool * alpha / (alpha + (1 << 16))) as u64);
        }
        bytes = bytes.min(around.paused_bytes.unwrap_or(u64::MAX));
        let packets = u64::from(whole.packets.min(self.port.packets));
        Room { packets: packets.min(bytes / packet), bytes: bytes.min(packets * packet) }
    }

    /// Checks for a port limit above the sum of its queues.
    fn of_port_limit(&self, queues: &[QueueModel], around: &Surroundings) -> Option<SettingFault> {
        let packet = u64::from(around.packet_bytes);
        let of = |limit: Limit| u64::from(limit.bytes).min(u64::from(limit.packets) * packet);
        let sum: u64 = queues.iter().map(|queue| of(queue.limits[0])).sum();
        let port = of(self.port);
        (self.port != Limit::NONE && port > sum).then(|| {
            let reason = format!("is above the {sum} B that all queues of the port hold together");
            SettingFault::new("port_limit", format!("{port} B"), reason).nearest(format!("{sum} B"))
        })
    }
}

fn of_marker(marker: Marker, room: Room, around: &Surroundings) -> Option<SettingFault> {
    let holds = match around.paused_bytes {
        Some(paused) if paused == room.bytes => {
            "a queue holds when pauses have stopped all senders"
        }
        _ => "a queue holds",
    };
    let never = |max: String| format!("is not below the {max} that {holds}: nothing is marked");
    match marker {
        Marker::None => None,
        Marker::Threshold { unit: Unit::Packets, above, count_self, .. } => {
            (u64::from(above) >= room.packets + u64::from(count_self)).then(|| {
                let max = format!("{} full packets", room.packets);
                SettingFault::new("ecn_threshold", format!("{above} packets"), never(max))
            })
        }
        Marker::Threshold { unit: Unit::Bytes, above, .. } => (u64::from(above) >= room.bytes)
            .then(|| {
                let max = format!("{} B", room.bytes);
                SettingFault::new("ecn_threshold", format!("{above} B"), never(max))
            }),
        Marker::Ramp { kmin, .. } if u64::from(kmin) >= room.bytes => {
            let max = format!("{} B", room.bytes);
            Some(SettingFault::new("ecn_ramp.kmin", format!("{kmin} B"), never(max)))
        }
        Marker::Ramp { kmax, .. } => (u64::from(kmax) > room.bytes).then(|| {
            let reason = format!(
                "is above the {} B that {holds}: the probability of a mark never rises to pmax",
                room.bytes
            );
            SettingFault::new("ecn_ramp.kmax", format!("{kmax} B"), reason)
        }),
        Marker::CoDel { target, .. } => {
            let wait = u128::from(room.bytes) * 8_000_000_000_000
                / u128::from(around.line.as_bps().max(1));
            (u128::from(target.as_ps()) >= wait).then(|| {
                let reason = format!(
                    "is not below the time in which a link of {} sends the {} B that {holds}: CoDel never acts",
                    around.line, room.bytes
                );
                SettingFault::new("codel.target", target, reason)
            })
        }
    }
}

fn of_selective_drop(queue: &QueueModel, room: Room) -> Option<SettingFault> {
    let above = queue.unscheduled;
    (above < u32::MAX && u64::from(above) >= room.bytes).then(|| {
        let reason = format!(
            "is not below the {} B that a queue holds: nothing is dropped selectively",
            room.bytes
        );
        SettingFault::new("selective_drop", format!("{above} B"), reason)
    })
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use trimline_packet::TimeDelta;

    use super::*;
    use crate::model::MarkAt;
    use crate::profiles::codel;
    use crate::{Alpha, Choices, Signal};

    const AROUND: Surroundings = Surroundings {
        packet_bytes: 1500,
        line: BitRate::from_gbps(10),
        pool_bytes: 0,
        paused_bytes: None,
    };

    #[track_caller]
    fn check(choices: &Choices, around: &Surroundings, expected: &[&str]) {
        let faults = choices.build().unwrap().unreached(around);
        let said: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(said, expected);
    }

    fn marks(limit: Limit, unit: Unit, above: u32) -> Choices {
        let mut choices = Choices::drop_tail(1);
        let queue = &mut choices.queues[0];
        (queue.whole, queue.header) = (limit, limit);
        queue.marker = Marker::Threshold { unit, above, count_self: false, at: MarkAt::Enqueue };
        choices
    }

    #[test]
    fn a_threshold_that_full_packets_cannot_reach_is_warned_of() {
        let bytes = |above| marks(Limit::packets(200), Unit::Bytes, above);
        check(&bytes(299_999), &AROUND, &[]);
        check(
            &bytes(300_000),
            &AROUND,
            &[
                "`ecn_threshold` of 300000 B is not below the 300000 B that a queue holds: nothing is marked",
            ],
        );
        let packets = |above| marks(Limit::bytes(45_000), Unit::Packets, above);
        check(&packets(29), &AROUND, &[]);
        check(
            &packets(30),
            &AROUND,
            &[
                "`ecn_threshold` of 30 packets is not below the 30 full packets that a queue holds: nothing is marked",
            ],
        );
    }

    #[test]
    fn a_ramp_above_the_queue_limit_is_warned_of() {
        let ramp = |kmin, kmax| {
            let mut choices = Choices::drop_tail(10);
            choices.queues[0].marker = Marker::Ramp { kmin, kmax, pmax: 1, at: MarkAt::Enqueue };
            choices
        };
        check(&ramp(14_999, 15_000), &AROUND, &[]);
        check(
            &ramp(5_000, 15_001),
            &AROUND,
            &[
                "`ecn_ramp.kmax` of 15001 B is above the 15000 B that a queue holds: the probability of a mark never rises to pmax",
            ],
        );
        check(
            &ramp(15_000, 15_001),
            &AROUND,
            &[
                "`ecn_ramp.kmin` of 15000 B is not below the 15000 B that a queue holds: nothing is marked",
            ],
        );
    }

    #[test]
    fn shared_memory_and_pauses_bound_a_queue() {
        let mut choices = marks(Limit::NONE, Unit::Bytes, 50_000);
        choices.queues[0].pool = Some(Alpha::from_fraction(1, 1));
        check(&choices, &Surroundings { pool_bytes: 100_002, ..AROUND }, &[]);
        check(
            &choices,
            &Surroundings { pool_bytes: 100_000, ..AROUND },
            &[
                "`ecn_threshold` of 50000 B is not below the 50000 B that a queue holds: nothing is marked",
            ],
        );
        let paused = Surroundings { paused_bytes: Some(40_000), ..AROUND };
        check(
            &marks(Limit::NONE, Unit::Bytes, 50_000),
            &paused,
            &[
                "`ecn_threshold` of 50000 B is not below the 40000 B that a queue holds when pauses have stopped all senders: nothing is marked",
            ],
        );
    }

    #[test]
    fn limits_above_those_of_the_queues_are_warned_of() {
        let mut choices = Choices::priorities(10, 1500);
        choices.port = Limit::packets(80);
        choices.queues[3].selective_drop = Some(14_999);
        check(&choices, &AROUND, &[]);
        choices.port = Limit::packets(81);
        choices.queues[3].selective_drop = Some(15_000);
        choices.queues[4].selective_drop = Some(15_000);
        check(
            &choices,
            &AROUND,
            &[
                "`selective_drop` of 15000 B is not below the 15000 B that a queue holds: nothing is dropped selectively",
                "`port_limit` of 121500 B is above the 120000 B that all queues of the port hold together; nearest: 120000 B",
            ],
        );
    }

    #[test]
    fn a_codel_target_above_the_longest_sojourn_time_is_warned_of() {
        let mut choices = Choices::drop_tail(10);
        choices.queues = vec![choices.queues[0].clone().marker(codel(Signal::Mark))];
        // 15,000 B: 12 us at 10 Gb/s, 24 us at 5.
        let slow = Surroundings { line: BitRate::from_gbps(5), ..AROUND };
        check(&choices, &slow, &[]);
        check(
            &choices,
            &AROUND,
            &[
                "`codel.target` of 20.000000 us is not below the time in which a link of 10 Gb/s sends the 15000 B that a queue holds: CoDel never acts",
            ],
        );
        assert_eq!(TimeDelta::from_us(20), crate::profiles::CODEL_TARGET);
    }
}
