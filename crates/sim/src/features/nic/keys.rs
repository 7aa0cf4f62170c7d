//! Scenario keys of NICs and processors, which are between the transports of hosts and their links.

use trimline_hostnic::{Adaptive, Bypass, Interrupts, ReceiverSettings, TransmitterSettings};
use trimline_packet::{ByteCount, TimeDelta};

use crate::keys::error::ScenarioError;
use crate::keys::form::{
    BYTES, DURATION, Form, Grammar, Key, MAX_HOSTS, computed, fixed, required,
};
use crate::keys::read::{bytes, duration_of, number, setting_fault, some_hosts};
use crate::keys::tree::Node;
use crate::plan::{Nics, ReceiveHosts, TransmitHosts};

pub(crate) const FIFO_KEY: Key = computed(
    "fifo",
    Form::Either(&FIFOS),
    "none: a packet is given up when the link is free",
    "A queue, first in first out, in which all that a host sends waits for its link: data and ACKs of all connections in the order in which their transports gave them up. Bytes, or a table.",
);

pub(crate) const CPU_KEY: Key = computed(
    "cpu",
    Form::Table(&CPU),
    "the transport hears of each packet at once",
    "What a host's NIC and processors do with what arrives (HULL, NSDI 2012, 4.1): frames wait for an interrupt, then for a processor.",
);

static FIFOS: [Form; 2] = [BYTES, Form::Table(&FIFO)];

static FIFO: Grammar = Grammar {
    about: "The queue of a NIC, and how a host fills it.",
    alternatives: &[],
    keys: &[
        required("queue", BYTES, "What it holds, of all connections. What finds no room is lost."),
        fixed(
            "lso",
            BYTES,
            "64KB",
            "What a host hands over at once, for the NIC to cut into packets (large send offload). \"0B\": each packet by itself.",
        ),
        fixed("burst_cost", DURATION, "0s", "A processor's time for what is handed over at once."),
        HOSTS_KEY,
    ],
};

const HOSTS_KEY: Key = computed(
    "hosts",
    Form::List(&Form::Integer(0, MAX_HOSTS - 1)),
    "all",
    "The hosts that have one.",
);

static CPU: Grammar = Grammar {
    about: "The NIC's ring, its interrupts, and the processors that take frames from it. The transports of the TCP family answer frames that are taken together with one ACK.",
    alternatives: &[],
    keys: &[
        fixed(
            "interrupts",
            Form::Either(&INTERRUPTS),
            "each-frame",
            "When the NIC interrupts a processor: \"each-frame\"; or { frames, time }: when `frames` frames wait or `time` after the first, whichever is earlier; or \"adaptive\": 44 frames or a time that follows the rate of frames (none below 400,000 a second, 128 us above 450,000; the rule of Linux's mlx4_en).",
        ),
        fixed("ring", COUNT, "1024", "Frames that the NIC holds. What finds no room is lost."),
        computed(
            "round",
            COUNT,
            "64; 1 with several processors",
            "Maximum frames that a processor takes at once; then it looks again without an interrupt.",
        ),
        fixed(
            "gro",
            BYTES,
            "64KB",
            "Bytes of neighbouring frames of a flow that are taken as one (generic receive offload). \"0B\": none.",
        ),
        fixed("cores", Form::Integer(1, 255), "1", "Processors that work side by side."),
        fixed("interrupt_cost", DURATION, "0s", "A processor's time for an interrupt."),
        fixed("packet_cost", DURATION, "0s", "The same for a frame."),
        fixed(
            "answer_cost",
            DURATION,
            "0s",
            "The same for data that is taken as one, and its answer.",
        ),
        computed(
            "bypass",
            Form::List(&Form::Word(&["notifications", "probes"])),
            "none",
            "What the NIC hands to the transport at once, without ring and processor: what switches tell senders; pFabric's probes, there and back (FastLane 4.2.2).",
        ),
        HOSTS_KEY,
    ],
};

const COUNT: Form = Form::Integer(1, 1 << 20);

static INTERRUPTS: [Form; 2] = [Form::Word(&["each-frame", "adaptive"]), Form::Table(&COALESCED)];

static COALESCED: Grammar = Grammar {
    about: "Interrupt coalescing.",
    alternatives: &[],
    keys: &[
        required("frames", COUNT, "Frames that wait until one comes (rx-frames)."),
        required("time", DURATION, "The maximum wait of the first frame (rx-usecs)."),
    ],
};

/// Reads the NICs. `largest_packet` is in bytes on the wire.
pub(crate) fn nics(
    root: &Node,
    hosts: u32,
    largest_packet: u16,
    is_lossless: bool,
) -> Result<Nics, ScenarioError> {
    let transmit = root.at(&["host", "fifo"]).map(|node| {
        if is_lossless {
            return Err(ScenarioError::new(
                &node.place,
                "a NIC's queue beside switch.pfc: it keeps packets and hears of no pause",
                "one of the two",
            ));
        }
        fifo(node, hosts, largest_packet)
    });
    let receive = root.at(&["host", "cpu"]).map(|node| cpu(node, hosts));
    Ok(Nics { transmit: transmit.transpose()?, receive: receive.transpose()? })
}

fn time(node: &Node, key: &str) -> Result<TimeDelta, ScenarioError> {
    node.child(key).map_or(Ok(TimeDelta::ZERO), duration_of)
}

fn fifo(node: &Node, hosts: u32, largest_packet: u16) -> Result<TransmitHosts, ScenarioError> {
    let lso = ByteCount::new(64_000);
    let settings = TransmitterSettings {
        queue: bytes(node.child("queue").unwrap_or(node))?,
        burst: node.child("lso").map_or(Ok(lso), bytes)?,
        per_burst: burst_cost(node)?,
    };
    let keys = [("burst", "lso"), ("per_burst", "burst_cost")];
    let model =
        settings.check(largest_packet).map_err(|fault| setting_fault(node, &keys, &fault))?;
    Ok(TransmitHosts { hosts: some_hosts(node, hosts)?, settings, model })
}

/// Reads a processor's time for a burst. Sums of longer times would overflow.
fn burst_cost(node: &Node) -> Result<TimeDelta, ScenarioError> {
    let cost = time(node, "burst_cost")?;
    match node.child("burst_cost").filter(|_| cost > MAX_BURST_COST) {
        None => Ok(cost),
        Some(node) => Err(ScenarioError::new(
            &node.place,
            format!("a processor works {cost} for one burst"),
            format!("at most {MAX_BURST_COST}"),
        )),
    }
}

/// Chosen.
const MAX_BURST_COST: TimeDelta = TimeDelta::from_ms(1_000);

fn interrupts(node: Option<&Node>) -> Result<Interrupts, ScenarioError> {
    let Some(node) = node else { return Ok(Interrupts::EachFrame) };
    match node.text() {
        Some("adaptive") => Ok(Interrupts::Adaptive(Adaptive::mlx4())),
        Some(_) => Ok(Interrupts::EachFrame),
        None => Ok(Interrupts::Coalesced {
            frames: number(node, "frames").unwrap_or(1),
            time: time(node, "time")?,
        }),
    }
}

fn bypass(node: &Node) -> Bypass {
    let described = node.child("bypass").and_then(Node::list).unwrap_or(&[]);
    let has = |word: &str| described.iter().any(|node| node.text() == Some(word));
    Bypass { notifications: has("notifications"), probes: has("probes") }
}

fn cpu(node: &Node, hosts: u32) -> Result<ReceiveHosts, ScenarioError> {
    let processors = number(node, "cores").unwrap_or(1);
    let round = if processors > 1 { 1 } else { 64 };
    let settings = ReceiverSettings {
        interrupts: interrupts(node.child("interrupts"))?,
        ring: number(node, "ring").unwrap_or(1024),
        round: number(node, "round").unwrap_or(round),
        merge: node.child("gro").map_or(Ok(ByteCount::new(64_000)), bytes)?,
        processors: processors as u8,
        per_interrupt: time(node, "interrupt_cost")?,
        per_packet: time(node, "packet_cost")?,
        per_answer: time(node, "answer_cost")?,
        bypass: bypass(node),
    };
    let keys = [("merge", "gro"), ("processors", "cores")];
    let model = settings.check().map_err(|fault| setting_fault(node, &keys, &fault))?;
    Ok(ReceiveHosts { hosts: some_hosts(node, hosts)?, settings, model })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn parse(rest: &str) -> Result<Nics, String> {
        let text = format!(
            "topology.star.hosts = 4\nworkload = [{{ name = \"w\", permutation = {{}}, size = \"9KB\" }}]\n{rest}"
        );
        let scenario = Scenario::parse("s.toml", &text, &[]).map_err(|error| error.to_string())?;
        Ok(scenario.runs[0].plan.nics.clone())
    }

    const TCP: &str = "transport.tcp = {}\n";

    fn refused(rest: &str, parts: &[&str]) {
        let error = parse(&format!("{TCP}{rest}")).expect_err(rest);
        for part in parts {
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    #[test]
    fn a_host_queue_is_a_value_or_a_table() {
        let transmit = |rest: &str| parse(&format!("{TCP}{rest}")).unwrap().transmit.unwrap();
        let short = transmit("host.fifo = \"2MB\"");
        let expected = TransmitterSettings {
            queue: ByteCount::new(2_000_000),
            burst: ByteCount::new(64_000),
            per_burst: TimeDelta::ZERO,
        };
        assert_eq!((short.settings, short.hosts), (expected, None));
        let long = transmit(
            "host.fifo = { queue = \"1MB\", lso = \"0B\", burst_cost = \"2us\", hosts = [1, 3] }",
        );
        let expected = TransmitterSettings {
            queue: ByteCount::new(1_000_000),
            burst: ByteCount::ZERO,
            per_burst: TimeDelta::from_us(2),
        };
        assert_eq!((long.settings, long.hosts), (expected, Some(vec![1, 3])));
    }

    #[test]
    fn every_key_of_processors_is_read() {
        let receive =
            |keys: &str| parse(&format!("{TCP}host.cpu = {{ {keys} }}")).unwrap().receive.unwrap();
        let plain = receive("").settings;
        assert_eq!(plain.interrupts, Interrupts::EachFrame);
        assert_eq!((plain.ring, plain.round, plain.processors), (1024, 64, 1));
        let us = TimeDelta::from_us;
        let all = receive(
            "interrupts = { frames = 32, time = \"16us\" }, ring = 9, round = 7, gro = \"9KB\", cores = 1, interrupt_cost = \"1us\", packet_cost = \"2us\", answer_cost = \"3us\", hosts = [2]",
        );
        let expected = ReceiverSettings {
            interrupts: Interrupts::Coalesced { frames: 32, time: us(16) },
            ring: 9,
            round: 7,
            merge: ByteCount::new(9_000),
            processors: 1,
            per_interrupt: us(1),
            per_packet: us(2),
            per_answer: us(3),
            bypass: Bypass::default(),
        };
        assert_eq!((all.settings, all.hosts), (expected, Some(vec![2])));
        let many = receive("cores = 16, interrupts = \"adaptive\"").settings;
        assert_eq!((many.round, many.processors), (1, 16));
        let notified = receive("bypass = [\"notifications\"]").settings.bypass;
        assert_eq!(notified, Bypass { notifications: true, probes: false });
        let both = receive("bypass = [\"probes\", \"notifications\"]").settings.bypass;
        assert_eq!(both, Bypass { notifications: true, probes: true });
        assert_eq!(many.interrupts, Interrupts::Adaptive(Adaptive::mlx4()));
    }

    #[test]
    fn invalid_nics_are_refused_at_their_key() {
        refused("host.fifo = \"1KB\"", &["s.toml:4:13", "less than a packet", "nearest being"]);
        refused("host.fifo = { lso = \"1KB\" }", &["s.toml:4", "`queue`"]);
        refused("host.fifo = { queue = \"1MB\", lso = \"9GB\" }", &["s.toml:4:36", "`lso`"]);
        refused("host.cpu = { ring = 0 }", &["s.toml:4"]);
        refused("host.cpu = { cores = 2, round = 64 }", &["s.toml:4:33", "would overtake"]);
        refused("host.cpu = { interrupts = { frames = 3 } }", &["`time`"]);
        refused("host.cpu = { interrupts = \"soon\" }", &["each-frame"]);
        refused("host.cpu = { hosts = [4] }", &["s.toml:4"]);
        refused("host.cpu = { bypass = [\"probe\"] }", &["s.toml:4:24", "\"probes\""]);
        refused(
            "switch.pfc = { xoff = \"90KB\", xon = \"60KB\" }\nhost.fifo = \"2MB\"",
            &["beside switch.pfc"],
        );
    }
}
