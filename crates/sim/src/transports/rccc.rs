//! RCCC of Ultra Ethernet in the simulator: the keys of the receiver's credit, alone or beside NSCC's window.

use trimline_metrics::{Reading, SeriesColumn};
use trimline_packet::ByteCount;
use trimline_transport::nscc::Law;
use trimline_transport::rccc::{CoreControl, MAX_CREDIT, MAX_PULL, QUANTUM, Rule};

use super::{BYTES, Form, Grammar, Key, Keys, ScenarioError, computed, fixed};
use crate::topology::Clos;

/// uet-htsim: the lowest rate is this share of what the core can carry, in millionths.
const OF_THE_CORE: u64 = 900_000;

pub(super) const MAX: Key = computed(
    "max_credit",
    BYTES,
    "one and a half bandwidth-delay products, at least a packet and at most 4MiB",
    "Max credit of a flow, with headers: what its sender may ask for and hold, and what its receiver grants unasked when nobody asks. At most 4MiB.",
)
.with_source("uet-htsim")
.with_samples(&["30KB", "4MiB"]);
pub(super) const FIRST: Key = computed(
    "first_credit",
    BYTES,
    "max_credit",
    "Speculative credit of a flow's sender, with headers: the first answer takes back what is left. At most max_credit.",
)
.with_source("uet-htsim")
.with_samples(&["1B", "20KB"]);
pub(super) const PULL: Key = fixed(
    "pull",
    BYTES,
    "16384B",
    "Bytes that one PULL grants at most, in whole quanta of 256 B. At most 1MiB.",
)
.with_source("uet-htsim")
.with_samples(&["256B", "100KB"]);
pub(super) const PULL_PERCENT: Key = fixed(
    "pull_percent",
    Form::Integer(1, 100),
    "99",
    "Rate at which a receiver grants credit, in percent of its link's.",
)
.with_source("uet-htsim")
.with_samples(&["100", "80"]);
pub(super) const CORE_CONTROL: Key = fixed(
    "core_control",
    Form::Boolean,
    "false",
    "Whether the rate of credit falls while packets are marked or trimmed before the last switch, which the ports to hosts must tell apart (switch.port with last_hop). For oversubscribed networks.",
)
.with_source("uet-htsim, where it is on by itself in oversubscribed networks without NSCC");

pub(super) static CREDIT: Grammar = Grammar {
    about: "The receiver's credit beside NSCC's window.",
    alternatives: &[],
    keys: &[MAX, FIRST, PULL, PULL_PERCENT, CORE_CONTROL],
};

pub(super) const CREDIT_COLUMNS: [SeriesColumn; 3] = [
    SeriesColumn {
        name: "credit_bytes",
        unit: "B",
        about: "that a sender may still send, with headers",
        kind: Reading::Level,
        decimals: 0,
    },
    SeriesColumn {
        name: "granted_bytes",
        unit: "B",
        about: "of credit that the receiver has granted so far",
        kind: Reading::Count,
        decimals: 0,
    },
    SeriesColumn {
        name: "rts",
        unit: "packets",
        about: "RTSs that a sender without credit has sent",
        kind: Reading::Count,
        decimals: 0,
    },
];

/// Reads the rule of credit from a table that has its keys.
pub(super) fn rule(keys: &Keys<'_>, law: &Law, topology: &Clos) -> Result<Rule, ScenarioError> {
    let product = law.line.bytes_in(law.base).get();
    let default = (product * 3 / 2).max(law.packet_bytes.into()).min(MAX_CREDIT);
    let bounded = |key: &str, default: u64, max: u64| {
        let bytes = keys.bytes_or(key, ByteCount::new(default))?.get();
        match (1..=max).contains(&bytes) {
            true => Ok(bytes),
            false => Err(keys.refuse(
                key,
                format!("credit of {bytes} B"),
                format!("from 1 B to {max} B"),
            )),
        }
    };
    let max = bounded("max_credit", default, MAX_CREDIT)?;
    Ok(Rule {
        max,
        first: bounded("first_credit", max, max)?,
        pull: bounded("pull", 64 * QUANTUM, MAX_PULL)?.div_ceil(QUANTUM) as u32,
        line: law.line,
        share: keys.integer("pull_percent") * 10_000,
        core: keys
            .flag("core_control")
            .then(|| CoreControl { base: law.base, floor: floor(topology) }),
    })
}

/// Returns 0.9 of the share of the hosts' links that the core carries, in millionths.
fn floor(topology: &Clos) -> u32 {
    let up_over_down = |up: u64, down: u64, share: u64| {
        if up == 0 || up >= down {
            share
        } else {
            (u128::from(share) * u128::from(up) / u128::from(down)) as u64
        }
    };
    let tors = up_over_down(
        u64::from(topology.aggregations_per_pod) * topology.tor_link.rate.as_bps(),
        u64::from(topology.hosts_per_tor) * topology.host_link.rate.as_bps(),
        OF_THE_CORE,
    );
    let all = up_over_down(
        u64::from(topology.cores_per_aggregation) * topology.aggregation_link.rate.as_bps(),
        u64::from(topology.tors_per_pod) * topology.tor_link.rate.as_bps(),
        tors,
    );
    all.max(1) as u32
}

/// Describes the rule, behind a colon.
pub(super) fn describe(rule: &Rule) -> String {
    let core = match &rule.core {
        None => String::new(),
        Some(control) => {
            format!(", less when the core is full, down to {} ppm", control.floor)
        }
    };
    format!(
        "{} B at the beginning and {} B at most per flow, {} B per PULL at {} % of the link's rate{core}",
        rule.first,
        rule.max,
        u64::from(rule.pull) * QUANTUM,
        rule.share / 10_000,
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, plan};
    use super::*;
    use crate::scenario::Scenario;
    use trimline_packet::{BitRate, TimeDelta};
    use trimline_transport::nscc::{Config, Control};

    fn config(keys: &str) -> Config {
        testing::config(keys)
    }

    #[test]
    fn every_key_is_read() {
        let keys =
            "max_credit = \"40KB\", first_credit = \"30KB\", pull = \"5KB\", pull_percent = 80";
        let rule = Rule {
            max: 40_000,
            first: 30_000,
            pull: 20,
            line: BitRate::from_gbps(10),
            share: 800_000,
            core: None,
        };
        let alone = config(&format!(
            "transport.rccc = {{ payload = \"1000B\", base_rtt = \"30us\", rto = \"44us\", ack_every = \"5KB\", {keys} }}"
        ));
        assert_eq!(alone.control, Control::Credit(rule.clone()));
        assert_eq!((alone.payload_bytes, alone.ack_every), (1_000, 5_000));
        assert_eq!((alone.law.base, alone.rto), (TimeDelta::from_us(30), TimeDelta::from_us(44)));
        let both = config(&format!("transport.nscc.credit = {{ {keys} }}"));
        assert_eq!(both.control, Control::Both(rule));
        assert_eq!(config("transport.nscc.credit = false").control, Control::Window);
        assert_eq!(
            config("transport.nscc.credit = true").control.credit(),
            config("transport.rccc = {}").control.credit()
        );
        for key in [
            "max_credit = \"5MB\"",
            "max_credit = \"0B\"",
            "first_credit = \"5MB\"",
            "pull = \"0B\"",
        ] {
            let refused = plan(&format!("transport.rccc.{key}")).expect_err(key).to_string();
            assert!(refused.contains("credit of"), "{refused}");
        }
    }

    /// The figures of uet-htsim at its defaults.
    #[test]
    fn defaults_are_those_of_uet_htsim() {
        let uet = |topology: &str, more: &str| {
            let text = format!(
                "topology.{topology}\nlinks = {{ rate = \"100Gbps\", delay = \"1us\" }}\ntransport.rccc.payload = \"4086B\"\n\
                 workload = [{{ name = \"w\", pairs = [[0, 15]], size = \"2MB\" }}]\n{more}"
            );
            let scenario = Scenario::parse("s.toml", &text, &[]);
            let plan = scenario.unwrap_or_else(|error| panic!("{error}")).runs[0].plan.clone();
            let config = plan.transports[0].config::<Config>().expect("RCCC").clone();
            config.control.credit().expect("credit").clone()
        };
        let rule = uet("fattree.k = 4", "");
        assert_eq!((rule.max, rule.first, rule.pull), (262_926, 262_926, 64));
        // 1.32396 us.
        assert_eq!(rule.time_of(64), TimeDelta::from_ps(1_323_959));
        let told = "transport.rccc.core_control = true\n\
            switch.port = [{ layer = \"tor\", direction = \"down\", last_hop = true }]\n";
        for (topology, floor) in [
            ("leafspine = { leaves = 4, spines = 4, hosts_per_leaf = 4 }", 900_000),
            ("leafspine = { leaves = 4, spines = 2, hosts_per_leaf = 8 }", 225_000),
            ("fattree = { k = 4, oversubscription = 4 }", 225_000),
        ] {
            let control = uet(topology, told).core.expect("control");
            assert_eq!(control.floor, floor, "{topology}");
        }
    }
}
