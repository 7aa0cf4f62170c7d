//! The schemes that are built in: what hosts and switches do together under one name. Each is keys of a scenario, made
//! for the rate of the hosts' links and the size of packets.

use std::fmt::Write;

use trimline_packet::BitRate;

/// What a scheme is made for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Network {
    /// Of the hosts' links.
    pub(super) rate: BitRate,
    /// On the wire, of a full packet.
    pub(super) packet_bytes: u64,
}

impl Network {
    /// Bytes that a link brings in a time, and at least so many.
    fn in_time(self, nanoseconds: u64, least: u64) -> u64 {
        let bytes = u128::from(self.rate.as_bps()) * u128::from(nanoseconds) / 8_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX).max(least)
    }
}

/// A scheme that needs no table.
pub(super) struct BuiltIn {
    pub(super) name: &'static str,
    /// What it is, in a sentence.
    pub(super) about: &'static str,
    /// Its keys.
    pub(super) keys: fn(Network) -> String,
}

/// Every one of them.
pub(super) static ALL: [BuiltIn; 12] = [
    BuiltIn {
        name: "ndp",
        about: "NDP over switches that trim (SIGCOMM 2017).",
        keys: |_| "transport.ndp = {}\nswitch.profile = \"paper\"\n".to_owned(),
    },
    BuiltIn {
        name: "hull",
        about: "HULL (NSDI 2012): DCTCP as below, a phantom queue of 95 % behind every port that marks above 1 KB (table 3; the paper gives no threshold at 10 Gb/s), pacers at hosts by the links' rate. A pacer's bucket holds two packets where 3 KB are less (chosen).",
        keys: |network| {
            let bucket = (2 * network.packet_bytes).max(3_000);
            format!(
                "transport.dctcp = {{ timers = \"datacenter\", ack_every = 1 }}\nswitch.profile = \"drop-tail\"\n\
                 phantom_queue = [{{ drain = \"95%\", threshold = \"1KB\" }}]\nhost.pacer.bucket = \"{bucket}B\"\n"
            )
        },
    },
    BuiltIn {
        name: "dctcp",
        about: "DCTCP, an ACK for each packet: a window of one would wait for a delayed one. Switches mark above 97.5 KB at 10 Gb/s (DCTCP 3.5: 65 packets of 1500 B), as long a time at other rates, and above 30 KB at least (20 packets, at 1 Gb/s).",
        keys: |network| {
            let threshold = network.in_time(78_000, 30_000);
            format!(
                "transport.dctcp = {{ timers = \"datacenter\", ack_every = 1 }}\nswitch = {{ profile = \"ecn\", ecn_threshold = \"{threshold}B\" }}\n"
            )
        },
    },
    BuiltIn {
        name: "tcp",
        about: "TCP over switches that drop, an ACK for each packet.",
        keys: |_| {
            let transport = "transport.tcp = { timers = \"datacenter\", ack_every = 1 }";
            format!("{transport}\nswitch.profile = \"drop-tail\"\n")
        },
    },
    BuiltIn {
        name: "dcqcn",
        about: "DCQCN over priority flow control: inputs stop their senders at what the hosts' links bring in 100 us (chosen), 15 packets at least; marks by its paper's ramp.",
        keys: |network| {
            let xoff = network.in_time(100_000, 15 * network.packet_bytes);
            format!(
                "transport.dcqcn = {{}}\nswitch = {{ profile = \"ecn\", pfc.xoff = \"{xoff}B\" }}\n"
            )
        },
    },
    BuiltIn {
        name: "phost",
        about: "pHost over switches with strict priority for control packets.",
        keys: |_| "transport.phost = {}\nswitch.profile = \"p4\"\n".to_owned(),
    },
    BuiltIn {
        name: "homa",
        about: "Homa (SIGCOMM 2018) over switches with eight priorities. Cut-offs are equal parts of the unscheduled bytes; transport.homa.cutoffs makes them follow from a distribution.",
        keys: |_| "transport.homa = {}\nswitch.profile = \"priorities\"\n".to_owned(),
    },
    BuiltIn {
        name: "homa-aeolus",
        about: "Homa with Aeolus (SIGCOMM 2020): switches drop unscheduled packets above 6 KB of a queue, four packets where they are larger; a probe finds what is missing.",
        keys: |network| {
            let threshold = (4 * network.packet_bytes).max(6_000);
            format!(
                "transport.homa = {{ aeolus = true }}\nswitch = {{ profile = \"priorities\", selective_drop = \"{threshold}B\" }}\n"
            )
        },
    },
    BuiltIn {
        name: "opf",
        about: "NDP over switches that trim, and that deflect unscheduled packets before (OPF, IFIP Networking 2024). The network needs more than one switch.",
        keys: |_| {
            "transport.ndp = {}\nswitch = { profile = \"paper\", deflection = {} }\n".to_owned()
        },
    },
    BuiltIn {
        name: "fastlane",
        about: "TCP, an ACK for each packet, over switches that tell senders of drops at once (FastLane, 2013). A port holds 85 packets, 128 KB of 1500 B.",
        keys: |_| {
            let transport = "transport.tcp = { timers = \"datacenter\", ack_every = 1, notifications = \"fastlane\" }";
            format!("{transport}\nswitch.profile = \"fastlane\"\n")
        },
    },
    BuiltIn {
        name: "pfabric",
        about: "pFabric (SIGCOMM 2013): hosts say how urgent each packet is, and switches send the most urgent first. A port holds 43 packets, 64 KB of 1500 B.",
        keys: |_| "transport.pfabric = {}\nswitch.profile = \"pfabric\"\n".to_owned(),
    },
    BuiltIn {
        name: "pfabric-fastlane",
        about: "pFabric over switches that tell senders of drops at once (FastLane, 2013).",
        keys: |_| {
            "transport.pfabric = { fastlane = true }\nswitch.profile = \"fastlane-pfabric\"\n"
                .to_owned()
        },
    },
];

/// How many there are.
const COUNT: usize = ALL.len();

/// Their names.
pub(super) const NAMES: [&str; COUNT] = [
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
];

/// The one of this name.
pub(super) fn named(name: &str) -> Option<&'static BuiltIn> {
    ALL.iter().find(|scheme| scheme.name == name)
}

/// The schemes that are built in, as Markdown: what each is, and its keys in a network of 10 Gb/s.
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

    #[test]
    fn thresholds_fit_the_rate_of_the_links() {
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
    }
}
