//! Named service models: the constants on which implementations disagree.
//!
//! ```
//! use trimline_packet::BitRate;
//! use trimline_switch::Scheduler;
//! use trimline_switch::profiles::{Sizes, named};
//!
//! let line = BitRate::from_gbps(10);
//! let sizes = Sizes { packets: 8, payload_bytes: 9000, packet_bytes: 9064, mark: 0, line };
//! let scheduler = |name| (named(name).unwrap().build)(sizes).scheduler;
//! assert_eq!(scheduler("p4"), Scheduler::Strict);
//! let Scheduler::WeightedRoundRobin { weights } = scheduler("paper") else { panic!() };
//! assert_eq!(weights[..2], [10, 1], "ten headers to one data packet");
//! assert!(named("htsim2").is_none());
//! ```

use alloc::vec;
use alloc::vec::Vec;

use trimline_packet::{BitRate, Packet, TimeDelta};

use crate::model::{
    Action, Cap, Choices, Classifier, Limit, MAX_QUEUES, MarkAt, Marker, Order, QueueChoices,
    Scheduler, ServiceModel, Signal, Unit,
};

/// NDP 3.1: ten headers to one data packet.
const PAPER_RATIO: u32 = 10;
/// csg-htsim: nearly strict priority.
const CSG_RATIO: u32 = 100_000;
/// uet-htsim: its ramp begins at a fifth of a queue of one bandwidth-delay product, and ends at four.
const UEC_RAMP: [u32; 2] = [1, 4];
const UEC_PARTS: u32 = 5;
/// Classes that a flow may have.
const CLASSES: usize = 4;
/// NDP 4: the NetFPGA switch has two 12 KB queues a port.
const NETFPGA_BYTES: u32 = 12_000;

/// FastLane 3.3.2: 2.5 % of a port's memory, 1/40, is for notifications.
const NOTIFICATION_PART: u32 = 40;
/// CoDel's target (chosen: 25 KB at 10 Gb/s, less than the round trip of 26 us that FastLane's buffers are made for;
/// the usual 5 ms exceeds a port of 128 KB).
pub const CODEL_TARGET: TimeDelta = TimeDelta::from_us(20);
/// CoDel's interval (chosen: more than a round trip through several full queues of 105 us).
pub const CODEL_INTERVAL: TimeDelta = TimeDelta::from_us(200);

/// CoDel with [`CODEL_TARGET`] and [`CODEL_INTERVAL`].
pub const fn codel(signal: Signal) -> Marker {
    Marker::CoDel { target: CODEL_TARGET, interval: CODEL_INTERVAL, signal }
}

/// The notifications' part of a port's memory, at least one notification.
pub fn notification_bytes(port_bytes: u32) -> u32 {
    (port_bytes / NOTIFICATION_PART).max(Packet::HEADER_BYTES.into())
}

fn headers_to_data(ratio: u32) -> Scheduler {
    Scheduler::WeightedRoundRobin { weights: [ratio, 1, 0, 0, 0, 0, 0, 0] }
}

fn memory(packets: u32, payload_bytes: u16) -> u32 {
    packets.checked_mul(u32::from(payload_bytes)).expect("a queue holds less than 4 GiB")
}

impl QueueChoices {
    /// Cut Payload's queue: data packets fill at most `bytes`. Their headers fill twice that, then they are dropped
    /// (chosen: CP states no second limit).
    pub fn cut_payload(bytes: u32) -> QueueChoices {
        let mut queue = QueueChoices::new(Limit::bytes(bytes));
        queue.header = Limit::bytes(bytes.saturating_mul(2));
        queue.overflow(&[Action::TrimArriving])
    }
}

impl Choices {
    /// NDP's two queues, the header queue first, with 64-byte headers and exact memory.
    fn ndp(header: QueueChoices, data: QueueChoices, scheduler: Scheduler) -> Choices {
        Choices {
            queues: vec![header, data],
            classifier: Classifier::HeaderAndData,
            scheduler,
            port: Limit::NONE,
            trimmed_bytes: Packet::HEADER_BYTES,
            is_last_hop: false,
            cell_bytes: 1,
        }
    }

    fn single(queue: QueueChoices) -> Choices {
        let queues: Vec<QueueChoices> = vec![queue];
        Choices {
            queues,
            classifier: Classifier::Single,
            scheduler: Scheduler::Fifo,
            port: Limit::NONE,
            trimmed_bytes: Packet::HEADER_BYTES,
            is_last_hop: false,
            cell_bytes: 1,
        }
    }

    /// NDP as in the paper: a data queue of `packets` packets; headers in the same amount of memory (3.2.4: eight 9 KB
    /// packets or 1125 headers), ten to one; a coin trims the arriving packet or the tail; return-to-sender when the
    /// header queue is full.
    pub fn paper(packets: u32, payload_bytes: u16) -> Choices {
        let header = QueueChoices::new(Limit::bytes(memory(packets, payload_bytes)));
        Choices::ndp(
            header.overflow(&[Action::Return]),
            QueueChoices::new(Limit::packets(packets)).overflow(&[Action::TrimRandom]),
            headers_to_data(PAPER_RATIO),
        )
    }

    /// The authors' simulator: both queues hold `packets` times the payload in bytes, so that seven packets of 9064 B
    /// fit in the memory of eight of 9000 B; otherwise as the paper.
    pub fn htsim(packets: u32, payload_bytes: u16) -> Choices {
        let limit = Limit::bytes(memory(packets, payload_bytes));
        Choices::ndp(
            QueueChoices::new(limit).overflow(&[Action::Return]),
            QueueChoices::new(limit).overflow(&[Action::TrimRandom]),
            headers_to_data(PAPER_RATIO),
        )
    }

    /// Broadcom's csg-htsim: 100000 headers to one data packet, and twice the memory for headers, which are dropped on
    /// overflow (its code for returning is never switched on); otherwise as the authors' simulator.
    pub fn csg_htsim(packets: u32, payload_bytes: u16) -> Choices {
        let bytes = memory(packets, payload_bytes);
        Choices::ndp(
            QueueChoices::new(Limit::bytes(memory(2 * packets, payload_bytes))),
            QueueChoices::new(Limit::bytes(bytes)).overflow(&[Action::TrimRandom]),
            headers_to_data(CSG_RATIO),
        )
    }

    /// The authors' NetFPGA switch (NDP 4): two queues of 12 KB and strict priority. It trims the arriving packet, and
    /// drops headers on overflow.
    pub fn netfpga() -> Choices {
        Choices::ndp(
            QueueChoices::new(Limit::bytes(NETFPGA_BYTES)),
            QueueChoices::new(Limit::bytes(NETFPGA_BYTES)).overflow(&[Action::TrimArriving]),
            Scheduler::Strict,
        )
    }

    /// The authors' P4 switch (NDP 4): trims the arriving packet, without a coin; strict priority, which P4 targets
    /// have; return-to-sender.
    pub fn p4(packets: u32, payload_bytes: u16) -> Choices {
        let limit = Limit::bytes(memory(packets, payload_bytes));
        Choices::ndp(
            QueueChoices::new(limit).overflow(&[Action::Return]),
            QueueChoices::new(Limit::packets(packets)).overflow(&[Action::TrimArriving]),
            Scheduler::Strict,
        )
    }

    /// Ultra Ethernet as uet-htsim has it: a data queue of `packets` packets, one bandwidth-delay product; a coin trims
    /// the arriving packet or the tail; headers and control packets go first, 100000 to one, in twice the memory. A
    /// packet is marked as it leaves, with a probability that rises from a fifth of the queue to four fifths, in whole
    /// packets.
    pub fn uec(packets: u32, packet_bytes: u16) -> Choices {
        let [kmin, kmax] = UEC_RAMP
            .map(|part| memory(packets.saturating_mul(part).div_ceil(UEC_PARTS), packet_bytes));
        // A queue of one packet: from nothing on.
        let kmin = if kmin < kmax { kmin } else { 0 };
        let marker = Marker::Ramp { kmin, kmax, pmax: u32::MAX, at: MarkAt::Dequeue };
        let data = QueueChoices::new(Limit::bytes(memory(packets, packet_bytes)));
        Choices::ndp(
            QueueChoices::new(Limit::bytes(memory(2 * packets, packet_bytes))),
            data.overflow(&[Action::TrimRandom]).marker(marker),
            headers_to_data(CSG_RATIO),
        )
    }

    /// Cut Payload: a queue in order of arrival. A data packet that would exceed the memory of `packets` packets is
    /// trimmed ([`QueueChoices::cut_payload`]).
    pub fn cut_payload(packets: u32, packet_bytes: u16) -> Choices {
        Choices::single(QueueChoices::cut_payload(memory(packets, packet_bytes)))
    }

    /// A drop-tail queue of `packets` packets.
    pub fn drop_tail(packets: u32) -> Choices {
        Choices::single(QueueChoices::new(Limit::packets(packets)))
    }

    /// Eight drop-tail queues by priority, each of `packets` packets, the most urgent first (Homa 3.4). Control packets
    /// use the first, which holds equally many bytes of control packets and of data.
    pub fn priorities(packets: u32, packet_bytes: u16) -> Choices {
        let mut queues = vec![QueueChoices::new(Limit::packets(packets)); MAX_QUEUES];
        queues[0].header = Limit::bytes(memory(packets, packet_bytes));
        Choices {
            queues,
            classifier: Classifier::Priority,
            scheduler: Scheduler::Strict,
            port: Limit::NONE,
            trimmed_bytes: Packet::HEADER_BYTES,
            is_last_hop: false,
            cell_bytes: 1,
        }
    }

    /// A queue of `packets` packets that marks a packet which finds more than `mark` packets, the one on the wire
    /// included (DCTCP).
    pub fn ecn(packets: u32, mark: u32) -> Choices {
        let marker = Marker::Threshold {
            unit: Unit::Packets,
            above: mark,
            count_self: false,
            at: MarkAt::Enqueue,
        };
        Choices::single(QueueChoices::new(Limit::packets(packets)).marker(marker))
    }

    /// A drop-tail queue of `packets` packets' memory under CoDel.
    pub fn codel(
        packets: u32,
        packet_bytes: u16,
        target: TimeDelta,
        interval: TimeDelta,
        signal: Signal,
    ) -> Choices {
        let queue = QueueChoices::new(Limit::bytes(memory(packets, packet_bytes)));
        Choices::single(queue.marker(Marker::CoDel { target, interval, signal }))
    }

    /// FastLane: a port of `port_bytes` with `notification_bytes` for notifications, which go first, at the cap's rate
    /// at most. Other packets are dropped on overflow and their senders notified (3.2, 3.3). Notifications are dropped
    /// on overflow.
    pub fn fastlane(port_bytes: u32, notification_bytes: u32, cap: Cap) -> Choices {
        let rest = Limit::bytes(port_bytes.saturating_sub(notification_bytes));
        Choices {
            queues: vec![
                QueueChoices::new(Limit::bytes(notification_bytes)),
                QueueChoices::new(rest).overflow(&[Action::Notify]),
            ],
            classifier: Classifier::Notifications,
            scheduler: Scheduler::RateLimited(cap),
            port: Limit::NONE,
            trimmed_bytes: Packet::HEADER_BYTES,
            is_last_hop: false,
            cell_bytes: 1,
        }
    }

    /// pFabric: a queue of `bytes` in order of urgency; the least urgent packet is dropped.
    pub fn pfabric(bytes: u32) -> Choices {
        let queue = QueueChoices::new(Limit::bytes(bytes));
        Choices::single(QueueChoices { order: Order::Urgency, ..queue })
    }

    /// pFabric with FastLane: pFabric's queue beside a queue for notifications, as in [`Choices::fastlane`]. The
    /// senders of evicted packets are notified too.
    pub fn fastlane_pfabric(port_bytes: u32, notification_bytes: u32, cap: Cap) -> Choices {
        let mut choices = Choices::fastlane(port_bytes, notification_bytes, cap);
        choices.queues[1].order = Order::Urgency;
        choices
    }

    /// A drop-tail queue of `packets` packets for each of the four classes of flows, the highest class first (HULL
    /// 6.2.2 has two, in memory of their own or of the switch).
    pub fn qos(packets: u32) -> Choices {
        Choices {
            queues: vec![QueueChoices::new(Limit::packets(packets)); CLASSES],
            classifier: Classifier::Class,
            scheduler: Scheduler::Strict,
            port: Limit::NONE,
            trimmed_bytes: Packet::HEADER_BYTES,
            is_last_hop: false,
            cell_bytes: 1,
        }
    }
}

/// Parameters of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Packets of the data queue.
    pub packets: u32,
    /// Payload of a full packet in bytes.
    pub payload_bytes: u16,
    /// Bytes of a full packet with its header.
    pub packet_bytes: u16,
    /// Marking threshold in packets ([`Profile::marks`]).
    pub mark: u32,
    /// Rate of the port's link, for caps.
    pub line: BitRate,
}

impl Sizes {
    /// Bytes of `packets` full packets with headers.
    fn port_bytes(self) -> u32 {
        memory(self.packets, self.packet_bytes)
    }
}

/// A named service model, for scenarios, switch configurations and vectors.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Its name.
    pub name: &'static str,
    /// A sentence about it.
    pub about: &'static str,
    /// Default packets of its data queue. `None`: a bandwidth-delay product of the network.
    pub packets: Option<u32>,
    /// [`Sizes::packets`] sets the capacity of the data queue.
    pub is_sized: bool,
    /// Its queue marks.
    pub marks: bool,
    /// Its choices.
    pub build: fn(Sizes) -> Choices,
}

/// Number of profiles.
const COUNT: usize = 16;

/// All profiles.
pub static ALL: [Profile; COUNT] = [
    Profile {
        name: "paper",
        about: "NDP as the paper has it (SIGCOMM 2017, 3.1).",
        packets: Some(8),
        is_sized: true,
        marks: false,
        build: |sizes| Choices::paper(sizes.packets, sizes.payload_bytes),
    },
    Profile {
        name: "htsim",
        about: "NDP as the authors' simulator has it: both queues counted in bytes.",
        packets: Some(8),
        is_sized: true,
        marks: false,
        build: |sizes| Choices::htsim(sizes.packets, sizes.payload_bytes),
    },
    Profile {
        name: "csg-htsim",
        about: "NDP as Broadcom's csg-htsim has it: headers go first, in twice the memory.",
        packets: Some(8),
        is_sized: true,
        marks: false,
        build: |sizes| Choices::csg_htsim(sizes.packets, sizes.payload_bytes),
    },
    Profile {
        name: "netfpga",
        about: "NDP as the authors' NetFPGA switch has it: two queues of 12 KB, no coin.",
        packets: Some(8),
        is_sized: false,
        marks: false,
        build: |_| Choices::netfpga(),
    },
    Profile {
        name: "p4",
        about: "NDP as the authors' P4 switch has it: no coin, strict priority.",
        packets: Some(8),
        is_sized: true,
        marks: false,
        build: |sizes| Choices::p4(sizes.packets, sizes.payload_bytes),
    },
    Profile {
        name: "cut-payload",
        about: "Cut Payload: one FIFO queue that trims packets on overflow.",
        packets: Some(8),
        is_sized: true,
        marks: false,
        build: |sizes| Choices::cut_payload(sizes.packets, sizes.packet_bytes),
    },
    Profile {
        name: "drop-tail",
        about: "One FIFO queue that drops packets on overflow.",
        packets: Some(200),
        is_sized: true,
        marks: false,
        build: |sizes| Choices::drop_tail(sizes.packets),
    },
    Profile {
        name: "ecn",
        about: "A drop-tail queue that marks when it is longer than a threshold (DCTCP).",
        packets: Some(200),
        is_sized: true,
        marks: true,
        build: |sizes| Choices::ecn(sizes.packets, sizes.mark),
    },
    Profile {
        name: "qos",
        about: "A drop-tail queue for each class of flows, with strict priority.",
        packets: Some(200),
        is_sized: true,
        marks: false,
        build: |sizes| Choices::qos(sizes.packets),
    },
    Profile {
        name: "priorities",
        about: "A drop-tail queue for each of eight priorities, the most urgent first (Homa).",
        packets: Some(200),
        is_sized: true,
        marks: false,
        build: |sizes| Choices::priorities(sizes.packets, sizes.packet_bytes),
    },
    Profile {
        name: "codel",
        about: "A drop-tail queue that marks when packets have waited too long for some time (CoDel).",
        packets: Some(85),
        is_sized: true,
        marks: false,
        build: |sizes| {
            let (target, interval) = (CODEL_TARGET, CODEL_INTERVAL);
            Choices::codel(sizes.packets, sizes.packet_bytes, target, interval, Signal::Mark)
        },
    },
    Profile {
        name: "source-quench",
        about: "The same, and instead of a mark a notification goes to the sender (Source Quench).",
        packets: Some(85),
        is_sized: true,
        marks: false,
        build: |sizes| {
            let (target, interval) = (CODEL_TARGET, CODEL_INTERVAL);
            Choices::codel(sizes.packets, sizes.packet_bytes, target, interval, Signal::Quench)
        },
    },
    Profile {
        name: "fastlane",
        about: "A drop-tail queue that tells senders of drops, ahead of everything at 1 % of the link (FastLane).",
        packets: Some(85),
        is_sized: true,
        marks: false,
        build: |sizes| {
            let bytes = sizes.port_bytes();
            Choices::fastlane(bytes, notification_bytes(bytes), Cap::of_line(sizes.line))
        },
    },
    Profile {
        name: "pfabric",
        about: "A small queue: the most urgent packet is sent first, the least urgent is dropped (pFabric).",
        packets: Some(43),
        is_sized: true,
        marks: false,
        build: |sizes| Choices::pfabric(sizes.port_bytes()),
    },
    Profile {
        name: "fastlane-pfabric",
        about: "pFabric's queue, which tells senders of drops as `fastlane` does.",
        packets: Some(43),
        is_sized: true,
        marks: false,
        build: |sizes| {
            let bytes = sizes.port_bytes();
            Choices::fastlane_pfabric(bytes, notification_bytes(bytes), Cap::of_line(sizes.line))
        },
    },
    Profile {
        name: "uec",
        about: "Ultra Ethernet as uet-htsim has it: a queue of a bandwidth-delay product that trims, and marks by a ramp as packets leave; headers go first.",
        packets: None,
        is_sized: true,
        marks: false,
        build: |sizes| Choices::uec(sizes.packets, sizes.packet_bytes),
    },
];

/// The names of [`ALL`].
pub const NAMES: [&str; COUNT] = {
    let mut names = [""; COUNT];
    let mut place = 0;
    while place < COUNT {
        names[place] = ALL[place].name;
        place += 1;
    }
    names
};

/// The profile of this name.
pub fn named(name: &str) -> Option<&'static Profile> {
    ALL.iter().find(|profile| profile.name == name)
}

macro_rules! profiles {
    ($($name:ident($($argument:ident: $type:ty),*)),* $(,)?) => {
        impl ServiceModel {
            $(
                #[doc = concat!("[`Choices::", stringify!($name), "`], checked.")]
                ///
                /// # Panics
                /// Panics if a capacity is zero.
                pub fn $name($($argument: $type),*) -> ServiceModel {
                    match Choices::$name($($argument),*).build() {
                        Ok(model) => model,
                        Err(error) => panic!("profile {}: {error}", stringify!($name)),
                    }
                }
            )*
        }
    };
}

profiles! {
    paper(packets: u32, payload_bytes: u16),
    htsim(packets: u32, payload_bytes: u16),
    csg_htsim(packets: u32, payload_bytes: u16),
    netfpga(),
    p4(packets: u32, payload_bytes: u16),
    uec(packets: u32, packet_bytes: u16),
    cut_payload(packets: u32, packet_bytes: u16),
    drop_tail(packets: u32),
    ecn(packets: u32, mark: u32),
    qos(packets: u32),
    priorities(packets: u32, packet_bytes: u16),
    codel(
        packets: u32,
        packet_bytes: u16,
        target: TimeDelta,
        interval: TimeDelta,
        signal: Signal
    ),
    fastlane(port_bytes: u32, notification_bytes: u32, cap: Cap),
    pfabric(bytes: u32),
    fastlane_pfabric(port_bytes: u32, notification_bytes: u32, cap: Cap),
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimline_packet::{Service, ServiceClass};

    #[test]
    fn every_profile_builds_and_is_found_by_its_name() {
        let line = BitRate::from_gbps(10);
        let sizes = Sizes { packets: 8, payload_bytes: 9000, packet_bytes: 9064, mark: 3, line };
        for (profile, name) in ALL.iter().zip(NAMES) {
            let found = named(name).map(|found| found.about);
            assert_eq!(found, Some(profile.about), "names are different");
            let choices = (profile.build)(sizes);
            assert!(choices.build().is_ok(), "{name}");
            let larger = (profile.build)(Sizes { packets: 9, ..sizes });
            assert_eq!(larger != choices, profile.is_sized, "{name}");
            let marked = (profile.build)(Sizes { mark: 4, ..sizes });
            assert_eq!(marked != choices, profile.marks, "{name}");
        }
    }

    #[test]
    fn priorities_have_their_own_queues_and_control_has_the_highest() {
        let model = ServiceModel::priorities(8, 1500);
        let data = |priority| model.queue_of(ServiceClass::new(Service::Droppable, priority));
        assert_eq!([7, 6, 1, 0].map(data), [0, 1, 6, 7]);
        assert_eq!(model.queue_of(Service::Control), 0);
        assert_eq!(model.header_queue_capacity_bytes(), Some(12_000));
        assert_eq!(model.max_in_queue(7), Limit::packets(8));
    }

    /// The sizes that uet-htsim prints for 43 packets of 4150 B.
    #[test]
    fn the_queue_of_ultra_ethernet_marks_from_a_fifth_to_four() {
        let ends = |packets| {
            let data = Choices::uec(packets, 4150).queues[1].clone();
            let Marker::Ramp { kmin, kmax, at, .. } = data.marker else { panic!("a ramp") };
            assert_eq!((at, data.overflow), (MarkAt::Dequeue, vec![Action::TrimRandom]));
            (data.whole.bytes, kmin, kmax)
        };
        assert_eq!(ends(43), (178_450, 37_350, 145_250));
        assert_eq!(ends(1), (4_150, 0, 4_150));
        assert_eq!(ends(2), (8_300, 4_150, 8_300));
    }

    /// FastLane 3.3: 3.2 KB of a port of 128 KB, 100 Mb/s of a link of 10 Gb/s.
    #[test]
    fn notifications_get_a_fortieth_of_the_memory_and_a_hundredth_of_the_link() {
        assert_eq!(notification_bytes(128_000), 3_200);
        assert_eq!(notification_bytes(100), 64, "at least one");
        let cap = Cap::of_line(BitRate::from_gbps(10));
        assert_eq!((cap.rate, cap.is_work_conserving), (BitRate::from_bps(100_000_000), true));
        let choices = Choices::fastlane(128_000, 3_200, cap);
        let limits = [0, 1].map(|queue: usize| choices.queues[queue].whole.bytes);
        assert_eq!(limits, [3_200, 124_800]);
        assert_eq!(choices.queues[0].overflow, [], "nobody is told of a notification");
        for name in ["fastlane", "fastlane-pfabric", "source-quench", "codel", "pfabric"] {
            let line = BitRate::from_gbps(10);
            let sizes =
                Sizes { packets: 85, payload_bytes: 1436, packet_bytes: 1500, mark: 3, line };
            let model = (named(name).unwrap().build)(sizes).build().unwrap();
            let expected = (name.contains("fastlane"), name.contains('q') || name == "codel");
            let demands = model.demands();
            assert_eq!((demands.clock, demands.sojourn), expected, "{name}");
            assert_eq!(demands.urgency, name.contains("pfabric"), "{name}");
            assert_eq!(model.notifies(), name.contains("fastlane") || name.contains('q'), "{name}");
        }
    }

    /// The profiles' weights and memory agree with the table in spec/deviations.toml.
    #[test]
    fn profiles_differ_as_documented() {
        let weights = |choices: Choices| match choices.scheduler {
            Scheduler::WeightedRoundRobin { weights } => Some((weights[0], weights[1])),
            _ => None,
        };
        assert_eq!(weights(Choices::paper(8, 9000)), Some((10, 1)));
        assert_eq!(weights(Choices::htsim(8, 9000)), Some((10, 1)));
        assert_eq!(weights(Choices::csg_htsim(8, 9000)), Some((100_000, 1)));
        assert_eq!(weights(Choices::uec(8, 9064)), Some((100_000, 1)));
        assert_eq!(weights(Choices::netfpga()), None);
        assert_eq!(weights(Choices::p4(8, 9000)), None);
        let data = |choices: Choices| choices.queues[1].whole;
        assert_eq!(data(Choices::paper(8, 9000)), Limit::packets(8));
        assert_eq!(data(Choices::htsim(8, 9000)), Limit::bytes(72_000));
        assert_eq!(data(Choices::csg_htsim(8, 9000)), Limit::bytes(72_000));
    }
}
