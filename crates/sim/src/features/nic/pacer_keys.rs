//! The keys of a host's pacer in a scenario (HULL, NSDI 2012, 4.2), and the resulting settings.

use trimline_hostnic::{Measured, PacerSettings};

use crate::keys::error::ScenarioError;
use crate::keys::form::{
    BYTES, DURATION, Form, Grammar, Key, MAX_HOSTS, RATE, SHARE, computed, fixed,
};
use crate::keys::read::{
    bytes, clock, duration_of, need_marks, number, rate, setting_fault, share, some_hosts,
};
use crate::keys::tree::Node;
use crate::plan::PacedHosts;
use crate::topology::Clos;

pub(crate) const KEY: Key = computed(
    "pacer",
    Form::Table(&PACER),
    "none",
    "A pacer between each host and its link (HULL, NSDI 2012, 4.2): it spaces out the packets of flows that hear of congestion. It needs a transport that answers marks.",
);

static PACER: Grammar = Grammar {
    about: "The pacer of hosts. Defaults: HULL's large simulation (6.3) where the links of hosts have 10 Gb/s or more, else its testbed (table 3).",
    alternatives: &[],
    keys: &[
        computed(
            "interval",
            DURATION,
            "7.2us; testbed 64us",
            "Time between two updates of the rate, T_r.",
        ),
        fixed("gain", SHARE, "12.5%", "The weight of what was measured last, eta."),
        computed(
            "backlog_gain",
            Form::Integer(0, 1 << 40),
            "375; testbed 16",
            "Bytes a second that each byte of backlog adds to the rate with each update, beta.",
        ),
        fixed(
            "measured",
            Form::Word(&["paced", "all"]),
            "paced",
            "The bytes that the rate follows: bytes of paced packets (HULL 4.2, footnote 2), or all bytes that the host sends (its text).",
        ),
        computed("first_rate", RATE, "the link's", "The rate before anything was measured."),
        fixed("min_rate", RATE, "0.5Mbps", "The least rate."),
        fixed("bucket", BYTES, "3KB", "Tokens that a bucket holds: a packet at least."),
        computed(
            "tick",
            DURATION,
            "0s; testbed 16us",
            "Tokens come at the multiples of this time; \"0s\": at every instant.",
        ),
        computed(
            "queue",
            BYTES,
            "128KB (HULL 5.1); above 10 Gb/s more in proportion to the rate of hosts' links (chosen)",
            "What the FIFO of a bucket holds.",
        ),
        fixed(
            "buckets",
            Form::Integer(1, 64),
            "1",
            "Token buckets, each with a FIFO; a flow keeps to one.",
        ),
        fixed(
            "association_chance",
            SHARE,
            "12.5%",
            "With this probability an echo of congestion makes its flow a paced one, p_a.",
        ),
        computed(
            "association_lifetime",
            DURATION,
            "1ms; testbed 10ms",
            "So long after its last echo a flow is no longer paced, T_i.",
        ),
        fixed("flows", Form::Integer(1, 65_535), "64", "Flows that can be paced at a time."),
        computed(
            "hosts",
            Form::List(&Form::Integer(0, MAX_HOSTS - 1)),
            "all",
            "The hosts that have one.",
        ),
    ],
};

/// Reads the pacer of hosts. `largest_packet` is in bytes on the wire.
pub(crate) fn pacer(
    root: &Node,
    topology: &Clos,
    largest_packet: u16,
    (answers_marks, is_lossless): (bool, bool),
) -> Result<Option<PacedHosts>, ScenarioError> {
    let Some(node) = root.at(&["host", "pacer"]) else { return Ok(None) };
    need_marks(node, "a pacer", answers_marks)?;
    if is_lossless {
        return Err(ScenarioError::new(
            &node.place,
            "a pacer beside switch.pfc: it keeps packets and hears of no pause",
            "one of the two",
        ));
    }
    let link = topology.host_link.rate;
    let base = PacerSettings::for_link(link);
    let time = |key, default| node.child(key).map_or(Ok(default), duration_of);
    let size = |key, default| node.child(key).map_or(Ok(default), bytes);
    let billionths = |key, default: u32| -> Result<u32, ScenarioError> {
        let Some(node) = node.child(key) else { return Ok(default) };
        Ok(share(node)?.min(u32::MAX.into()) as u32)
    };
    let count = |key, default: u64| number(node, key).map_or(default, u64::from);
    let settings = PacerSettings {
        interval: time("interval", base.interval)?,
        gain: billionths("gain", base.gain)?,
        backlog_gain: match node.child("backlog_gain").and_then(Node::integer) {
            Some(gain) => gain.unsigned_abs(),
            None => base.backlog_gain,
        },
        measured: match node.child("measured").and_then(Node::text) {
            Some("all") => Measured::FromHost,
            _ => base.measured,
        },
        first_rate: node.child("first_rate").map(rate).transpose()?,
        min_rate: node.child("min_rate").map_or(Ok(base.min_rate), rate)?,
        bucket: size("bucket", base.bucket)?,
        clock: match node.child("tick") {
            Some(tick) => clock(tick)?,
            None => base.clock,
        },
        queue: size("queue", base.queue)?,
        buckets: count("buckets", base.buckets.into()) as u8,
        association_chance: billionths("association_chance", base.association_chance)?,
        association_lifetime: time("association_lifetime", base.association_lifetime)?,
        flows: count("flows", base.flows.into()) as u16,
        ..base
    };
    let model =
        settings.check(link, largest_packet).map_err(|fault| setting_fault(node, &[], &fault))?;
    let hosts = some_hosts(node, topology.hosts())?;
    Ok(Some(PacedHosts { hosts, settings, model }))
}

#[cfg(test)]
mod tests {
    use trimline_packet::fluid::Clock;
    use trimline_packet::{BitRate, ByteCount, TimeDelta};

    use super::*;
    use crate::features::phantom_queue::keys::tests::{DCTCP, TOP, parse, refused};
    use crate::scenario::Scenario;

    #[test]
    fn a_pacer_has_the_parameters_of_the_paper_for_the_rate_of_its_link() {
        let plan = parse(&format!("{DCTCP}host.pacer = {{}}")).unwrap();
        let paced = plan.pacer.unwrap();
        assert_eq!((paced.settings, paced.hosts), (PacerSettings::testbed(), None));
        let fast = format!("{}{DCTCP}host.pacer = {{}}", TOP.replace("1Gbps", "10Gbps"));
        let scenario = Scenario::parse("s.toml", &fast, &[]).unwrap();
        let paced = scenario.runs[0].plan.pacer.clone().unwrap();
        assert_eq!(paced.settings, PacerSettings::simulated());
    }

    #[test]
    fn every_key_of_a_pacer_is_read() {
        let keys = "interval = \"1us\", gain = \"25%\", backlog_gain = 7, measured = \"all\", first_rate = \"2Mbps\", min_rate = \"1Mbps\", bucket = \"4KB\", tick = \"3us\", queue = \"5MB\", buckets = 2, association_chance = \"50%\", association_lifetime = \"6ms\", flows = 9, hosts = [1, 3]";
        let paced = parse(&format!("{DCTCP}host.pacer = {{ {keys} }}")).unwrap().pacer;
        let paced = paced.unwrap();
        let us = TimeDelta::from_us;
        let expected = PacerSettings {
            interval: us(1),
            gain: 250_000_000,
            backlog_gain: 7,
            measured: Measured::FromHost,
            first_rate: Some(BitRate::from_bps(2_000_000)),
            min_rate: BitRate::from_bps(1_000_000),
            rate_step: PacerSettings::testbed().rate_step,
            bucket: ByteCount::new(4_000),
            clock: Clock::Tick(us(3)),
            queue: ByteCount::new(5_000_000),
            buckets: 2,
            association_chance: 500_000_000,
            association_lifetime: us(6_000),
            flows: 9,
        };
        assert_eq!((paced.settings, paced.hosts), (expected, Some(vec![1, 3])));
    }

    #[test]
    fn invalid_pacers_are_refused() {
        let pacer = |keys: &str| format!("{DCTCP}host.pacer = {{ {keys} }}");
        refused(&pacer("bucket = \"1KB\""), &["s.toml:5:25", "bucket"]);
        refused(&pacer("gain = \"0%\""), &["gain"]);
        refused(&pacer("interval = \"0s\""), &["interval"]);
        refused(&pacer("hosts = [4]"), &["s.toml:5"]);
        refused(
            "transport.ndp = {}\nhost.pacer = {}",
            &["a pacer with transports that do not answer marks"],
        );
        let pfc = "transport.dctcp.payload = \"1460B\"\nswitch.pfc = { xoff = \"90KB\", xon = \"60KB\" }\nhost.pacer = {}";
        refused(pfc, &["beside switch.pfc"]);
    }
}
