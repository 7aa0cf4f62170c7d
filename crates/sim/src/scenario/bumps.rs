//! Phantom queues on links and pacers of hosts (HULL, NSDI 2012).

use trimline_hostnic::{Measured, PacerSettings};
use trimline_packet::fluid::Clock;
use trimline_packet::{BitRate, ByteCount, SettingFault, TimeDelta};
use trimline_switch::PhantomSettings;

use super::switch::selected;
use crate::keys::error::ScenarioError;
use crate::keys::form::{
    BYTES, DIRECTION, DURATION, Form, Grammar, Key, LAYER, MAX_HOSTS, RATE, SHARE, computed, fixed,
    optional,
};
use crate::keys::quantity::{self, Quantity};
use crate::keys::read::{duration_of, host, number, read};
use crate::keys::tree::Node;
use crate::plan::{Bumps, LinkChange, LinkEvent, PacedHosts, PhantomLink};
use crate::topology::{self, Clos, LinkId, Routes};

pub(super) const PHANTOM_KEY: Key = optional(
    "phantom_queue",
    Form::Tables(&PHANTOM),
    "Phantom queues on links (HULL, NSDI 2012, 2.1): counters that drain slower than the link and mark. They need a transport that answers marks.",
);

static PHANTOM: Grammar = Grammar {
    about: "A phantom queue on each of some links. Without layer, direction and link: on the link of every switch port. A later entry holds where two name a link.",
    alternatives: &[],
    keys: &[
        computed(
            "name",
            Form::Name,
            "none",
            "A name by which a series or a sweep changes this entry.",
        ),
        LAYER,
        DIRECTION,
        computed(
            "link",
            Form::Text,
            "all of the layer and direction",
            "One link, named as in link_event: \"tor 0 down 1\", or \"host 3\".",
        ),
        fixed(
            "drain",
            SHARE,
            "95%",
            "The rate at which the counter falls, of the link's. Below 100%.",
        )
        .with_source("HULL table 3"),
        computed("drain_rate", RATE, "by `drain`", "The same as a rate."),
        computed(
            "threshold",
            BYTES,
            "1KB (HULL table 3); above 10 Gb/s more in proportion to the link's rate (chosen)",
            "A packet that finds more than this in the counter is marked.",
        ),
        computed(
            "tick",
            DURATION,
            "at every instant",
            "The counter falls at the multiples of this time, as in hardware (HULL 5.1: 800 ns).",
        ),
    ],
};

pub(super) const PACER_KEY: Key = computed(
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

pub(super) struct Surroundings<'a> {
    pub(super) topology: &'a Clos,
    /// True if any transport of the run answers marks.
    pub(super) answers_marks: bool,
    pub(super) is_lossless: bool,
    /// Largest packet, in bytes on the wire.
    pub(super) largest_packet: u16,
    pub(super) events: &'a [LinkEvent],
}

pub(super) fn bumps(root: &Node, around: &Surroundings<'_>) -> Result<Bumps, ScenarioError> {
    let nodes = root.child("phantom_queue").and_then(Node::list).unwrap_or(&[]);
    let pacer = root.at(&["host", "pacer"]);
    let phantoms: Vec<Vec<PhantomLink>> =
        nodes.iter().map(|node| phantoms(node, around)).collect::<Result<_, _>>()?;
    let paced = pacer.map(|node| paced(node, around)).transpose()?;
    Ok(Bumps { phantoms: phantoms.concat(), paced })
}

/// Refuses settings that need marks if no transport answers them.
fn need_marks(node: &Node, what: &str, around: &Surroundings<'_>) -> Result<(), ScenarioError> {
    if around.answers_marks {
        return Ok(());
    }
    Err(ScenarioError::new(
        &node.place,
        format!("{what} with transports that do not answer marks"),
        "a transport with ECN: dctcp, dcqcn, or tcp with ecn = true",
    ))
}

/// Reports a fault of a setting at its key, or at its table.
fn at(node: &Node, fault: &SettingFault) -> ScenarioError {
    let place = node.child(fault.key).or(node.child("drain_rate")).unwrap_or(node);
    let expected = match &fault.nearest {
        Some(nearest) => format!("another value, the nearest being {nearest}"),
        None => "another value".to_owned(),
    };
    ScenarioError::new(
        &place.place,
        format!("`{}` of {} {}", fault.key, fault.value, fault.reason),
        expected,
    )
}

fn bytes(node: &Node) -> Result<ByteCount, ScenarioError> {
    read(node, quantity::bytes, Quantity::Bytes)
}

fn rate(node: &Node) -> Result<BitRate, ScenarioError> {
    read(node, quantity::rate, Quantity::Rate)
}

fn share(node: &Node) -> Result<u64, ScenarioError> {
    read(node, quantity::share, Quantity::Share)
}

fn clock(tick: TimeDelta) -> Clock {
    if tick == TimeDelta::ZERO { Clock::Continuous } else { Clock::Tick(tick) }
}

fn links(node: &Node, topology: &Clos) -> Result<Vec<LinkId>, ScenarioError> {
    let names = topology::links(topology);
    let is_of_host = |name: &str| name.starts_with("host ");
    if let Some(link) = node.child("link")
        && link.text().is_some_and(is_of_host)
        && node.child("layer").or(node.child("direction")).is_none()
    {
        return Ok(vec![super::links::link(link, &names)?]);
    }
    if ["layer", "direction", "link"].iter().any(|key| node.child(key).is_some()) {
        return selected(node, topology);
    }
    Ok(names.iter().filter(|(name, _)| !is_of_host(name)).map(|&(_, link)| link).collect())
}

fn phantoms(node: &Node, around: &Surroundings<'_>) -> Result<Vec<PhantomLink>, ScenarioError> {
    need_marks(node, "a phantom queue", around)?;
    let threshold = node.child("threshold").map(bytes).transpose()?;
    let tick = node.child("tick").map_or(Ok(TimeDelta::ZERO), duration_of)?;
    let drain = node.child("drain").map(share).transpose()?;
    let fixed = node.child("drain_rate").map(rate).transpose()?;
    if let (Some(_), Some(other)) = (drain, node.child("drain_rate")) {
        return Err(ScenarioError::new(
            &other.place,
            "two drains",
            "either `drain`, a share of the link's rate, or `drain_rate`",
        ));
    }
    if let Some(none) = node.child("drain").filter(|_| drain == Some(0)) {
        return Err(ScenarioError::new(
            &none.place,
            "a counter that never falls",
            "a share above 0% and below 100%, such as \"95%\"",
        ));
    }
    let links = links(node, around.topology)?;
    let routes = Routes::new(around.topology);
    let phantom = |link: LinkId| {
        let at_first = routes.link(link.node()).spec.rate;
        let billionths = drain.unwrap_or(950_000_000);
        let of_share = u128::from(at_first.as_bps()) * u128::from(billionths) / 1_000_000_000;
        let drain = fixed.unwrap_or(BitRate::from_bps((of_share as u64).max(1)));
        let threshold = threshold.unwrap_or_else(|| PhantomSettings::threshold_for(at_first));
        let settings = PhantomSettings { drain, threshold, clock: clock(tick) };
        // A link that becomes slower must stay faster than its drain.
        let changes = around.events.iter().filter(|event| {
            event.link == link || event.both_directions && routes.reverse(event.link) == link
        });
        let slowest = changes.filter_map(|event| match event.change {
            LinkChange::Rate(rate) => Some(rate),
            LinkChange::Fail | LinkChange::Restore => None,
        });
        let slowest = slowest.fold(at_first, BitRate::min);
        let model = settings.check(slowest).map_err(|fault| at(node, &fault))?;
        Ok(PhantomLink { link, settings, model })
    };
    links.into_iter().map(phantom).collect()
}

fn paced(node: &Node, around: &Surroundings<'_>) -> Result<PacedHosts, ScenarioError> {
    need_marks(node, "a pacer", around)?;
    if around.is_lossless {
        return Err(ScenarioError::new(
            &node.place,
            "a pacer beside switch.pfc: it keeps packets and hears of no pause",
            "one of the two",
        ));
    }
    let link = around.topology.host_link.rate;
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
            Some(tick) => clock(duration_of(tick)?),
            None => base.clock,
        },
        queue: size("queue", base.queue)?,
        buckets: count("buckets", base.buckets.into()) as u8,
        association_chance: billionths("association_chance", base.association_chance)?,
        association_lifetime: time("association_lifetime", base.association_lifetime)?,
        flows: count("flows", base.flows.into()) as u16,
        ..base
    };
    let model = settings.check(link, around.largest_packet).map_err(|fault| at(node, &fault))?;
    let all = around.topology.hosts();
    let hosts = node.child("hosts").and_then(Node::list);
    let hosts = hosts.map(|hosts| hosts.iter().map(|node| host(node, all)).collect());
    Ok(PacedHosts { hosts: hosts.transpose()?, settings, model })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Plan, Scenario};

    const TOP: &str = "links.rate = \"1Gbps\"\ntopology.star.hosts = 4\nworkload = [{ name = \"w\", permutation = {}, size = \"9KB\" }]\n";

    fn parse(rest: &str) -> Result<Plan, String> {
        let text = format!("{TOP}{rest}");
        let scenario = Scenario::parse("s.toml", &text, &[]).map_err(|error| error.to_string())?;
        Ok(scenario.runs[0].plan.clone())
    }

    fn refused(rest: &str, parts: &[&str]) {
        let error = parse(rest).expect_err(rest);
        for part in parts {
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    const DCTCP: &str = "transport.dctcp.payload = \"1460B\"\n";

    #[test]
    fn three_lines_put_a_phantom_queue_on_every_port() {
        let plan =
            parse(&format!("{DCTCP}[[phantom_queue]]\ndrain = \"90%\"\nthreshold = \"3KB\""));
        let phantoms = plan.unwrap().bumps.phantoms;
        assert_eq!(phantoms.len(), 4);
        let expected = PhantomSettings {
            drain: BitRate::from_bps(900_000_000),
            threshold: ByteCount::new(3_000),
            clock: Clock::Continuous,
        };
        assert!(phantoms.iter().all(|phantom| phantom.settings == expected));
    }

    #[test]
    fn an_entry_names_one_link_and_a_later_one_holds() {
        let plan = parse(&format!(
            "{DCTCP}[[phantom_queue]]\n[[phantom_queue]]\nlink = \"host 2\"\ndrain_rate = \"800Mbps\"\ntick = \"800ns\""
        ))
        .unwrap();
        let names = topology::links(&plan.topology);
        let phantoms = plan.bumps.phantoms;
        let last = phantoms.last().unwrap();
        let named = names.iter().find(|(_, link)| *link == last.link).unwrap();
        assert_eq!((phantoms.len(), named.0.as_str()), (5, "host 2"));
        assert_eq!(last.settings.clock, Clock::Tick(TimeDelta::from_ns(800)));
    }

    #[test]
    fn phantom_queues_that_cannot_be_are_refused() {
        let phantom = |keys: &str| format!("{DCTCP}[[phantom_queue]]\n{keys}");
        refused(
            &phantom("drain = \"100%\""),
            &["s.toml:6:9", "is not below the link's", "nearest being 950 Mb/s"],
        );
        refused(&phantom("drain_rate = \"2Gbps\""), &["s.toml:6:14", "is not below the link's"]);
        refused(&phantom("threshold = \"0B\""), &["s.toml:6:13", "threshold"]);
        refused(&phantom("drain = \"0%\""), &["s.toml:6:9", "never falls"]);
        refused(&phantom("drain_rate = \"0bps\""), &["s.toml:6:14"]);
        refused(
            &phantom("drain = \"90%\"\ndrain_rate = \"1Mbps\""),
            &["s.toml:7:14", "two drains"],
        );
        refused(&phantom("link = \"tor 9 down 9\""), &["no link is named"]);
        refused("[[phantom_queue]]", &["s.toml:4", "do not answer marks", "dctcp"]);
        refused("transport.tcp = {}\n[[phantom_queue]]", &["do not answer marks"]);
        assert!(parse("transport.tcp.ecn = true\n[[phantom_queue]]").is_ok());
        let slower = "[[link_event]]\nat = \"1ms\"\nlink = \"tor 0 down 1\"\nchange = { rate = \"500Mbps\" }";
        refused(&format!("{}\n{slower}", phantom("")), &["is not below the link's 500 Mb/s"]);
    }

    #[test]
    fn a_pacer_has_the_parameters_of_the_paper_for_the_rate_of_its_link() {
        let plan = parse(&format!("{DCTCP}host.pacer = {{}}")).unwrap();
        let paced = plan.bumps.paced.unwrap();
        assert_eq!((paced.settings, paced.hosts), (PacerSettings::testbed(), None));
        let fast = format!("{}{DCTCP}host.pacer = {{}}", TOP.replace("1Gbps", "10Gbps"));
        let scenario = Scenario::parse("s.toml", &fast, &[]).unwrap();
        let paced = scenario.runs[0].plan.bumps.paced.clone().unwrap();
        assert_eq!(paced.settings, PacerSettings::simulated());
    }

    #[test]
    fn every_key_of_a_pacer_is_read() {
        let keys = "interval = \"1us\", gain = \"25%\", backlog_gain = 7, measured = \"all\", first_rate = \"2Mbps\", min_rate = \"1Mbps\", bucket = \"4KB\", tick = \"3us\", queue = \"5MB\", buckets = 2, association_chance = \"50%\", association_lifetime = \"6ms\", flows = 9, hosts = [1, 3]";
        let paced = parse(&format!("{DCTCP}host.pacer = {{ {keys} }}")).unwrap().bumps.paced;
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
    fn pacers_that_cannot_be_are_refused() {
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
