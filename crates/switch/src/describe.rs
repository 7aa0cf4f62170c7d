//! Describes a model for people.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use trimline_packet::TimeDelta;

use crate::model::{
    Action, Classifier, Limit, MarkAt, Marker, Order, QueueModel, Scheduler, ServiceModel, Signal,
    Unit,
};

impl ServiceModel {
    /// Describes the order of the queues, then every queue, a line each; equal neighbours share a line.
    pub fn describe(&self) -> Vec<String> {
        let count = self.queue_count();
        let mut lines = Vec::new();
        let order = match self.scheduler {
            Scheduler::Fifo if self.queues[0].order == Order::Arrival => {
                "one FIFO queue".to_string()
            }
            Scheduler::Fifo => "one queue".to_string(),
            Scheduler::Strict => format!("{count} queues, strict priority"),
            Scheduler::RateLimited(cap) => {
                let max = match cap.is_work_conserving {
                    true => "work-conserving",
                    false => "not work-conserving",
                };
                format!(
                    "{count} queues, strict priority; {} limited to {} kb/s, {max}",
                    self.name_of(0),
                    cap.rate.as_bps() / 1000
                )
            }
            Scheduler::WeightedRoundRobin { weights } => {
                let weights: Vec<String> = weights[..count].iter().map(u32::to_string).collect();
                format!("{count} queues, weighted round robin {} in packets", weights.join(":"))
            }
        };
        lines.push(match self.port_limit() {
            Limit::NONE => order,
            limit => format!("{order}; all queues together: {}", describe_limit(limit)),
        });
        if self.trim_marks != 0 {
            lines
                .push("a packet that is trimmed here carries the mark of the last hop".to_string());
        }
        let mut place = 0;
        for alike in self.queues[..count].chunk_by(|queue, next| queue == next) {
            let last = place + alike.len() - 1;
            let name = match alike.len() {
                1 => self.name_of(place),
                _ => format!("{} to {}, each", self.name_of(place), self.name_of(last)),
            };
            lines.push(format!("{name}: {}", self.describe_queue(&alike[0])));
            place = last + 1;
        }
        lines
    }

    fn name_of(&self, queue: usize) -> String {
        match self.classifier {
            Classifier::Single => "all packets".to_string(),
            Classifier::HeaderAndData if queue == 0 => "headers and control".to_string(),
            Classifier::HeaderAndData => "data".to_string(),
            Classifier::Class => format!("class {}", 3 - queue),
            Classifier::Priority => format!("priority {}", 7 - queue),
            Classifier::Notifications if queue == 0 => "notifications".to_string(),
            Classifier::Notifications => "other packets".to_string(),
        }
    }

    fn describe_queue(&self, queue: &QueueModel) -> String {
        let [whole, header] = queue.limits;
        let mut described = describe_limit(whole);
        if header != whole {
            described += &format!(", headers up to {}", describe_limit(header));
        }
        if let Some(alpha) = queue.pool {
            described += &format!(
                ", at most {}.{:02} times the free shared memory",
                alpha.bits() >> 16,
                ((u64::from(alpha.bits()) & 0xffff) * 100) >> 16
            );
        }
        described += &describe_marker(queue.marker);
        if queue.unscheduled < u32::MAX {
            described += &format!(", drops unscheduled packets above {} B", queue.unscheduled);
        }
        described += match queue.order {
            Order::Arrival => "",
            Order::Urgency => ", sends the most urgent packet first and drops the least urgent one",
        };
        let actions: Vec<String> =
            queue.overflow.iter().filter_map(|action| self.describe_action(*action)).collect();
        match actions.is_empty() {
            true => described + "; on overflow: drop",
            false => {
                format!("{described}; on overflow: {}, else drop", actions.join(", else "))
            }
        }
    }

    /// Describes an action; `None` for the default, a drop.
    fn describe_action(&self, action: Action) -> Option<String> {
        Some(match action {
            Action::Drop => return None,
            Action::TrimArriving => {
                format!("trim the arriving packet to {} B", self.trimmed_bytes())
            }
            Action::TrimRandom => {
                format!(
                    "trim the arriving packet or the last of the queue (at random) to {} B",
                    self.trimmed_bytes()
                )
            }
            Action::TrimToSender => {
                format!("trim the arriving packet to {} B and return it", self.trimmed_bytes())
            }
            Action::TrimToBoth => {
                format!(
                    "trim the arriving packet to {} B and notify its sender",
                    self.trimmed_bytes()
                )
            }
            Action::Return => "return headers to their sender".to_string(),
            Action::Notify => "notify the sender".to_string(),
        })
    }
}

fn describe_limit(limit: Limit) -> String {
    match (limit.packets, limit.bytes) {
        (u32::MAX, u32::MAX) => "unlimited".to_string(),
        (packets, u32::MAX) => format!("{packets} packets"),
        (u32::MAX, bytes) => format!("{bytes} B"),
        (packets, bytes) => format!("{packets} packets and {bytes} B"),
    }
}

fn describe_marker(marker: Marker) -> String {
    match marker {
        Marker::None => String::new(),
        Marker::Threshold { unit, above, count_self, at } => {
            let unit = match unit {
                Unit::Packets => "packets",
                Unit::Bytes => "B",
            };
            let itself = if count_self { ", the packet included" } else { "" };
            let at = match at {
                MarkAt::Enqueue => "at enqueue",
                MarkAt::Dequeue => "at dequeue",
            };
            format!(", ECN marks {at} above {above} {unit}{itself}")
        }
        Marker::Ramp { kmin, kmax, pmax, at } => {
            // Rounded to a hundredth of a percent: one percent of 2^32 is not a whole number.
            let hundredths = ((u64::from(pmax) * 10_000) + (1 << 31)) >> 32;
            let (whole, rest) = (hundredths / 100, hundredths % 100);
            let rest = if rest == 0 { String::new() } else { format!(".{rest:02}") };
            let at = match at {
                MarkAt::Enqueue => "",
                MarkAt::Dequeue => " at dequeue",
            };
            format!(
                ", ECN marks{at} from {kmin} B (probability 0 %) to {kmax} B ({whole}{rest} %), all packets above"
            )
        }
        Marker::CoDel { target, interval, signal } => {
            let does = match signal {
                Signal::Mark => "CoDel ECN marks",
                Signal::Quench => "CoDel Source Quench to senders of data",
            };
            let ns = |time: TimeDelta| time.as_ps() / 1000;
            format!(", {does} (target {} ns, interval {} ns)", ns(target), ns(interval))
        }
    }
}

#[cfg(test)]
mod tests {
    use trimline_packet::BitRate;

    use super::*;
    use crate::profiles::{self, Sizes};

    #[test]
    fn a_ramp_is_described_to_a_hundredth_of_a_percent() {
        let said = |pmax| {
            let mut choices = crate::Choices::ecn(8, 3);
            choices.queues[0].marker = Marker::Ramp { kmin: 5, kmax: 9, pmax, at: MarkAt::Dequeue };
            choices.build().unwrap().describe().concat()
        };
        for (pmax, described) in [(u32::MAX / 100, "1 %"), (u32::MAX, "100 %"), (1 << 27, "3.13 %")]
        {
            let expected =
                format!("marks at dequeue from 5 B (probability 0 %) to 9 B ({described})");
            assert!(said(pmax).contains(&expected), "{}", said(pmax));
        }
    }

    #[test]
    fn every_profile_has_a_description() {
        for profile in &profiles::ALL {
            let line = BitRate::from_gbps(10);
            let sizes =
                Sizes { packets: 8, payload_bytes: 9000, packet_bytes: 9064, mark: 6, line };
            let model = (profile.build)(sizes).build().unwrap();
            let described = model.describe();
            // Equal queues share a line.
            let queues = match profile.name {
                "qos" => 1,
                "priorities" => 2,
                _ => model.queue_count(),
            };
            assert_eq!(described.len(), 1 + queues, "{described:?}");
        }
        let classes = ServiceModel::qos(10).describe();
        let strict = "4 queues, strict priority";
        let each = "class 3 to class 0, each: 10 packets; on overflow: drop";
        assert_eq!(classes, [strict, each]);
        let mut changed = crate::Choices::paper(8, 9000);
        changed.trimmed_bytes = 128;
        let model = changed.build().unwrap();
        let described = model.describe();
        assert_eq!(described[0], "2 queues, weighted round robin 10:1 in packets");
        assert!(
            described[1].starts_with("headers and control: 72000 B; on overflow: return headers")
        );
        assert!(
            described[2].contains("8 packets") && described[2].contains("to 128 B"),
            "{described:?}"
        );
        let mut limits = crate::Choices::priorities(8, 1500);
        limits.port = Limit::packets(64);
        limits.queues[7].selective_drop = Some(6000);
        let described = limits.build().unwrap().describe();
        assert!(
            described[0].ends_with("strict priority; all queues together: 64 packets"),
            "{described:?}"
        );
        assert!(described[3].contains("8 packets, drops unscheduled packets above 6000 B; "));
        let marks = crate::Choices::ecn(200, 30).build().unwrap().describe();
        assert!(
            marks[1].contains("200 packets, ECN marks at enqueue above 30 packets"),
            "{marks:?}"
        );
    }
}
