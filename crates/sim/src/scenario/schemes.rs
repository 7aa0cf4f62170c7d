//! Built-in schemes: hosts and switches under one name. Each is a set of scenario keys for the rate of the hosts' links
//! and the packet size.

use std::fmt::Write;

use trimline_packet::BitRate;

/// Network that a scheme is sized for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Network {
    pub(super) rate: BitRate,
    /// Bytes of a full packet on the wire.
    pub(super) packet_bytes: u64,
}

impl Network {
    fn in_time(self, nanoseconds: u64, min: u64) -> u64 {
        let bytes = u128::from(self.rate.as_bps()) * u128::from(nanoseconds) / 8_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX).max(min)
    }

    /// Returns the key `data_queue` for queues of `packets`. Papers give such queues for packets of 1500 B at up to 10
    /// Gb/s. On faster links a queue is at least as long in time, and has `min` bytes at any rate. Empty if the
    /// profile's queue suffices.
    fn data_queue(self, packets: u64, min: u64) -> String {
        let held = packets * self.packet_bytes;
        let needed = match self.rate > AT {
            true => self.rate.scale(packets * PACKET, AT).max(min),
            false => min,
        };
        if needed <= held { String::new() } else { format!("data_queue = \"{needed}B\"") }
    }

    /// Returns the table `switch` of a profile, with queues of `packets` and at least `min` bytes, and more keys.
    fn switch(self, profile: &str, (packets, min): (u64, u64), keys: &[String]) -> String {
        let queue = self.data_queue(packets, min);
        let all = [format!("profile = \"{profile}\"")].into_iter().chain(keys.iter().cloned());
        let all: Vec<String> = all.chain([queue]).filter(|key| !key.is_empty()).collect();
        match &all[..] {
            [only] => format!("switch.{only}\n"),
            several => format!("switch = {{ {} }}\n", several.join(", ")),
        }
    }
}

/// Rate and packet size of papers' queues.
const AT: BitRate = BitRate::from_gbps(10);
const PACKET: u64 = 1_500;

/// A scheme that needs no table.
pub(super) struct BuiltIn {
    pub(super) name: &'static str,
    /// Description in a sentence.
    pub(super) about: &'static str,
    pub(super) keys: fn(Network) -> String,
}

pub(super) static ALL: [BuiltIn; 15] = [
    BuiltIn {
        name: "ndp",
        about: "NDP over switches that trim (SIGCOMM 2017). Above 10 Gb/s the initial window grows with the round trip (transport.ndp.initial_window); the queue of eight packets does not, since what it has no room for is trimmed.",
        keys: |_| "transport.ndp = {}\nswitch.profile = \"paper\"\n".to_owned(),
    },
    BuiltIn {
        name: "hull",
        about: "HULL (NSDI 2012): DCTCP as below, a phantom queue of 95 % behind every port that marks above 1 KB (table 3; the paper gives no threshold at 10 Gb/s), pacers at hosts by the links' rate. A pacer's bucket holds two packets where 3 KB are less (chosen). Above 10 Gb/s the threshold, a pacer's queue and a port's queue last as long as at 10 Gb/s (chosen).",
        keys: |network| {
            let bucket = (2 * network.packet_bytes).max(3_000);
            let threshold = network.rate.scale(1_000, AT);
            let switch = network.switch("drop-tail", (200, 0), &[]);
            format!(
                "transport.dctcp = {{ timers = \"datacenter\", ack_every = 1 }}\n{switch}\
                 phantom_queue = [{{ drain = \"95%\", threshold = \"{threshold}B\" }}]\nhost.pacer.bucket = \"{bucket}B\"\n"
            )
        },
    },
    BuiltIn {
        name: "dctcp",
        about: "DCTCP, an ACK for each packet: a window of one would wait for a delayed one. Switches mark above 97.5 KB at 10 Gb/s (DCTCP 3.5: 65 packets of 1500 B), as long a time at other rates, and above 30 KB at least (20 packets, at 1 Gb/s). A queue holds 200 packets, and three times the threshold at least (chosen: 200 packets of 1500 B are that at 10 Gb/s).",
        keys: |network| {
            let threshold = network.in_time(78_000, 30_000);
            let keys = [format!("ecn_threshold = \"{threshold}B\"")];
            let switch = network.switch("ecn", (200, 3 * threshold), &keys);
            format!("transport.dctcp = {{ timers = \"datacenter\", ack_every = 1 }}\n{switch}")
        },
    },
    BuiltIn {
        name: "tcp",
        about: "TCP over switches that drop, an ACK for each packet. A queue holds 200 packets, and above 10 Gb/s at least what the link sends in the time of 200 packets of 1500 B at 10 Gb/s.",
        keys: |network| {
            let transport = "transport.tcp = { timers = \"datacenter\", ack_every = 1 }";
            format!("{transport}\n{}", network.switch("drop-tail", (200, 0), &[]))
        },
    },
    BuiltIn {
        name: "dcqcn",
        about: "DCQCN over priority flow control: inputs stop their senders at what the hosts' links bring in 100 us (chosen), 15 packets at least; marks by its paper's ramp, which is given for 40 Gb/s and grows with the rate above that.",
        keys: |network| {
            let xoff = network.in_time(100_000, 15 * network.packet_bytes);
            format!(
                "transport.dcqcn = {{}}\nswitch = {{ profile = \"ecn\", pfc.xoff = \"{xoff}B\" }}\n"
            )
        },
    },
    BuiltIn {
        name: "phost",
        about: "pHost over switches with strict priority for control packets. Above 10 Gb/s tokens grow with the round trip (transport.phost.free_tokens), and a port's eight packets with the rate.",
        keys: |network| format!("transport.phost = {{}}\n{}", network.switch("p4", (8, 0), &[])),
    },
    BuiltIn {
        name: "homa",
        about: "Homa (SIGCOMM 2018) over switches with eight priorities. Cut-offs are equal parts of the unscheduled bytes; transport.homa.cutoffs makes them follow from a distribution. Each priority holds 200 packets, and above 10 Gb/s at least what the link sends in the time of 200 packets of 1500 B at 10 Gb/s.",
        keys: |network| {
            format!("transport.homa = {{}}\n{}", network.switch("priorities", (200, 0), &[]))
        },
    },
    BuiltIn {
        name: "homa-aeolus",
        about: "Homa with Aeolus (SIGCOMM 2020): switches drop unscheduled packets above 6 KB of a queue, four packets where they are larger; a probe finds what is missing.",
        keys: |network| {
            let threshold = (4 * network.packet_bytes).max(6_000);
            let keys = [format!("selective_drop = \"{threshold}B\"")];
            format!(
                "transport.homa = {{ aeolus = true }}\n{}",
                network.switch("priorities", (200, 0), &keys)
            )
        },
    },
    BuiltIn {
        name: "opf",
        about: "NDP over switches that trim, and that detour unscheduled packets before (OPF, IFIP Networking 2024). The network needs more than one switch.",
        keys: |_| "transport.ndp = {}\nswitch = { profile = \"paper\", detour = {} }\n".to_owned(),
    },
    BuiltIn {
        name: "fastlane",
        about: "TCP, an ACK for each packet, over switches that tell senders of drops at once (FastLane, 2013). A port holds 85 packets, 128 KB of 1500 B, and above 10 Gb/s at least as long a time of the link.",
        keys: |network| {
            let transport = "transport.tcp = { timers = \"datacenter\", ack_every = 1, notifications = \"fastlane\" }";
            format!("{transport}\n{}", network.switch("fastlane", (85, 0), &[]))
        },
    },
    BuiltIn {
        name: "pfabric",
        about: "pFabric (SIGCOMM 2013): hosts say how urgent each packet is, and switches send the most urgent first. A port holds 43 packets, 64 KB of 1500 B, and above 10 Gb/s at least as long a time of the link.",
        keys: |network| {
            format!("transport.pfabric = {{}}\n{}", network.switch("pfabric", (43, 0), &[]))
        },
    },
    BuiltIn {
        name: "pfabric-fastlane",
        about: "pFabric over switches that tell senders of drops at once (FastLane, 2013).",
        keys: |network| {
            format!(
                "transport.pfabric = {{ fastlane = true }}\n{}",
                network.switch("fastlane-pfabric", (43, 0), &[])
            )
        },
    },
    BuiltIn {
        name: "uec",
        about: "NSCC of Ultra Ethernet over switches that trim and mark, as uet-htsim has them: a queue of a bandwidth-delay product, and a mark of what the last hop trimmed.",
        keys: |_| {
            "transport.nscc = {}\nswitch = { profile = \"uec\", port = [{ layer = \"tor\", direction = \"down\", last_hop = true }] }\n"
                .to_owned()
        },
    },
    BuiltIn {
        name: "rccc",
        about: "RCCC of Ultra Ethernet over the switches of uec, whose ports to hosts mark nothing: the receiver's credit keeps their queues short.",
        keys: |_| {
            "transport.rccc = {}\nswitch = { profile = \"uec\", port = [{ layer = \"tor\", direction = \"down\", last_hop = true, ecn_threshold = \"none\" }] }\n"
                .to_owned()
        },
    },
    BuiltIn {
        name: "hpcc",
        about: "HPCC over priority flow control: inputs stop their senders at what the hosts' links bring in 100 us (chosen), 15 packets at least.",
        keys: |network| {
            let xoff = network.in_time(100_000, 15 * network.packet_bytes);
            format!(
                "transport.hpcc = {{}}\nswitch = {{ profile = \"drop-tail\", pfc.xoff = \"{xoff}B\" }}\n"
            )
        },
    },
];

const COUNT: usize = ALL.len();

/// Names of the built-in schemes.
pub const NAMES: [&str; COUNT] = [
    "ndp",
    "hull",
    "dctcp",
    "tcp",
    "dcqcn",
    "phost",
    "homa",
    "homa-aeolus",
    "opf",
    "fastlane",
    "pfabric",
    "pfabric-fastlane",
    "uec",
    "rccc",
    "hpcc",
];

pub(super) fn named(name: &str) -> Option<&'static BuiltIn> {
    ALL.iter().find(|scheme| scheme.name == name)
}

/// Returns the built-in schemes as Markdown, each with its keys in a network of 10 Gb/s.
pub fn schemes() -> String {
    let mut text = String::from(
        "\n## Schemes\n\n\
         What `schemes` and `trimline compare --schemes` name, with the keys that each stands for where hosts have links\n\
         of 10 Gb/s and packets 9000 B of payload. A table `[[scheme]]` makes another, or changes one of these.\n",
    );
    let network = Network { rate: BitRate::from_gbps(10), packet_bytes: 9064 };
    for scheme in &ALL {
        let keys = (scheme.keys)(network);
        let _ = write!(text, "\n### {}\n\n{}\n\n", scheme.name, scheme.about);
        for key in keys.lines() {
            let _ = writeln!(text, "    {key}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    /// Up to 10 Gb/s queues have the papers' sizes; above, they are as long in time.
    #[test]
    fn queues_scale_with_the_rate() {
        let queue = |name, gbps, packet_bytes| {
            let network = Network { rate: BitRate::from_gbps(gbps), packet_bytes };
            let keys = (named(name).expect(name).keys)(network);
            let at = keys.split_once("data_queue = \"")?.1.split_once("B\"")?.0;
            Some(at.parse::<u64>().expect("bytes"))
        };
        for scheme in NAMES {
            for gbps in [1, 10] {
                for packet_bytes in [1_500, 1_524, 4_160, 9_064] {
                    assert_eq!(queue(scheme, gbps, packet_bytes), None, "{scheme} {gbps}");
                }
            }
        }
        for (scheme, packets) in [
            ("hull", 200),
            ("tcp", 200),
            ("homa", 200),
            ("homa-aeolus", 200),
            ("phost", 8),
            ("fastlane", 85),
            ("pfabric", 43),
            ("pfabric-fastlane", 43),
        ] {
            assert_eq!(queue(scheme, 100, 1_500), Some(packets * 15_000), "{scheme}");
            // 200 packets of 9064 B last longer than 300 KB at 10 Gb/s.
            assert_eq!(queue(scheme, 40, 9_064), None, "{scheme}");
        }
        for scheme in ["ndp", "opf", "dcqcn", "uec", "rccc", "hpcc"] {
            assert_eq!(queue(scheme, 800, 1_500), None, "{scheme}");
        }
        // Three thresholds, even with small packets.
        assert_eq!(queue("dctcp", 100, 1_524), Some(3_000_000));
        assert_eq!(queue("dctcp", 10, 564), Some(292_500));
        assert_eq!(queue("dctcp", 1, 128), Some(90_000));
    }

    #[test]
    fn thresholds_scale_with_the_rate_of_the_links() {
        assert_eq!(ALL.each_ref().map(|scheme| scheme.name), NAMES);
        let keys = |name, gbps, packet_bytes| {
            let network = Network { rate: BitRate::from_gbps(gbps), packet_bytes };
            (named(name).expect(name).keys)(network)
        };
        assert!(keys("dctcp", 10, 9064).contains("ecn_threshold = \"97500B\""));
        assert!(keys("dctcp", 1, 1500).contains("ecn_threshold = \"30000B\""));
        assert!(keys("dctcp", 100, 9064).contains("ecn_threshold = \"975000B\""));
        assert!(keys("hull", 10, 1500).contains("bucket = \"3000B\""));
        assert!(keys("hull", 10, 9064).contains("bucket = \"18128B\""));
        assert!(keys("dcqcn", 10, 9064).contains("xoff = \"135960B\""));
        assert!(keys("dcqcn", 40, 1064).contains("xoff = \"500000B\""));
        assert!(keys("hull", 10, 1500).contains("threshold = \"1000B\""));
        assert!(keys("hull", 400, 1500).contains("threshold = \"40000B\""));
    }

    /// A built-in scheme sets nothing that cannot act.
    #[test]
    fn schemes_warn_of_nothing() {
        for scheme in super::NAMES {
            for rate in ["10Gbps", "100Gbps", "400Gbps"] {
                let text = format!(
                    "schemes = [\"{scheme}\"]\nlinks = {{ rate = \"{rate}\", delay = \"500ns\" }}\n\
                     topology.leafspine = {{ leaves = 2, spines = 2, hosts_per_leaf = 4 }}\n\
                     workload = [{{ name = \"w\", permutation = {{}}, size = \"90KB\" }}]\n"
                );
                let scenario = Scenario::parse("s", &text, &[]).unwrap();
                let sentences: Vec<&String> =
                    scenario.runs[0].warnings.iter().map(|warning| &warning.sentence).collect();
                assert!(sentences.is_empty(), "{scheme} {rate}: {sentences:?}");
            }
        }
    }
}
