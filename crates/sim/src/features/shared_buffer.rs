//! The keys of memory that the ports of a switch share, and the resulting settings.

use trimline_packet::ByteCount;
use trimline_switch::{Alpha, Choices, Classifier, Limit};

use crate::keys::error::ScenarioError;
use crate::keys::form::{Form, Key, QUEUE, computed, fixed};
use crate::keys::port::Keys;
use crate::keys::quantity::{self, Quantity, QueueSize};
use crate::keys::read::read;
use crate::keys::tree::Node;
use crate::plan::SharedMemory;
use crate::topology::Clos;

const OF_SWITCH: &str = "shared_buffer";
const OF_PORT: &str = "shared_buffer_per_port";
const ALPHA: &str = "shared_buffer_alpha";

pub(crate) const KEYS: [&str; 3] = [OF_SWITCH, OF_PORT, ALPHA];

pub(crate) const OF_SWITCH_KEY: Key = computed(
    OF_SWITCH,
    QUEUE,
    "each queue has memory of its own",
    "Memory of each switch that the queues of all its ports share, by dynamic thresholds (Choudhury and Hahne 1998). Profiles drop-tail, ecn, cut-payload, qos, priorities, codel, source-quench and fastlane.",
);
pub(crate) const OF_PORT_KEY: Key = computed(
    OF_PORT,
    QUEUE,
    "none",
    "The same, given for each port: a switch of 12 ports shares 12 times as much.",
);
pub(crate) const ALPHA_KEY: Key = fixed(
    ALPHA,
    Form::Quantity(Quantity::Factor),
    "1",
    "A queue (with qos the queue of a class) may hold up to this factor times the free shared memory, and up to `data_queue` if it is given.",
);

/// Returns the shared memory and its key, for any kind of port.
pub(crate) fn given<'a>(
    keys: &Keys<'a>,
    packet_bytes: u16,
) -> Result<Option<(&'a Node, SharedMemory)>, ScenarioError> {
    let bytes = |node| bytes_of(node, packet_bytes).map(ByteCount::new);
    Ok(match (keys.get(OF_SWITCH), keys.get(OF_PORT)) {
        (None, None) => None,
        (Some(node), _) => Some((node, SharedMemory::OfSwitch(bytes(node)?))),
        (None, Some(node)) => Some((node, SharedMemory::OfPort(bytes(node)?))),
    })
}

pub(crate) fn bytes_of(node: &Node, packet_bytes: u16) -> Result<u64, ScenarioError> {
    Ok(match read(node, quantity::queue, Quantity::Queue)? {
        QueueSize::Packets(packets) => u64::from(packets) * u64::from(packet_bytes),
        QueueSize::Bytes(bytes) => bytes,
    })
}

/// Gives the queues of `choices` a pool, if given, and returns its size.
pub(crate) fn share(
    keys: &Keys<'_>,
    topology: &Clos,
    packet_bytes: u16,
    choices: &mut Choices,
) -> Result<SharedMemory, ScenarioError> {
    let key = |key| keys.get(key);
    let (switch, port, alpha) = (key(OF_SWITCH), key(OF_PORT), key(ALPHA));
    let node = match (switch, port, alpha) {
        (None, None, None) => return Ok(SharedMemory::None),
        (Some(_), Some(node), _) => {
            return Err(ScenarioError::new(
                &node.place,
                format!("`{OF_PORT}` beside `{OF_SWITCH}`"),
                "one of the two",
            ));
        }
        (None, None, Some(node)) => {
            return Err(ScenarioError::new(
                &node.place,
                format!("`{ALPHA}` without shared memory"),
                format!("`{OF_SWITCH}` or `{OF_PORT}` beside it"),
            ));
        }
        (Some(node), None, _) | (None, Some(node), _) => node,
    };
    if choices.classifier == Classifier::HeaderAndData {
        return Err(ScenarioError::new(
            &node.place,
            format!(
                "shared memory with profile \"{}\", whose queues have their own",
                keys.profile()
            ),
            "a profile whose queues can share, such as drop-tail, ecn, cut-payload, qos or priorities",
        ));
    }
    let bytes = bytes_of(node, packet_bytes)?;
    let memory = match switch {
        Some(_) => SharedMemory::OfSwitch(ByteCount::new(bytes)),
        None => SharedMemory::OfPort(ByteCount::new(bytes)),
    };
    let factor = alpha.map_or(Ok((1, 1)), |node| read(node, quantity::factor, Quantity::Factor))?;
    let alpha_value = Alpha::from_fraction(factor.0, factor.1);
    let min = memory.of(u64::from(topology.min_switch_ports()));
    // In an empty switch a queue may have alpha times the memory, and at most all of it.
    let threshold = (u128::from(min.get()) * u128::from(alpha_value.bits())) >> 16;
    if threshold.min(u128::from(min.get())) < u128::from(packet_bytes) {
        return Err(ScenarioError::new(
            &alpha.unwrap_or(node).place,
            format!(
                "an empty switch with {min} to share lets a queue have {threshold} B, but a packet has {packet_bytes} B"
            ),
            "more memory, or a larger factor",
        ));
    }
    for queue in &mut choices.queues {
        queue.pool = Some(alpha_value);
        if key("data_queue").is_none() {
            (queue.whole, queue.header) = (Limit::NONE, Limit::NONE);
        }
    }
    Ok(memory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use crate::scenario::Scenario;

    fn plan(switch: &str) -> Result<Plan, String> {
        let text = format!(
            "topology.fattree.k = 4\ntransport.dctcp = {{}}\nswitch = {{ {switch} }}\n\
             workload = [{{ name = \"w\", permutation = {{}}, size = \"9KB\" }}]\n"
        );
        let scenario = Scenario::parse("s.toml", &text, &[]).map_err(|error| error.to_string())?;
        Ok(scenario.runs[0].plan.clone())
    }

    #[test]
    fn shared_memory_belongs_to_a_switch_or_a_port() {
        let own = plan("").unwrap();
        assert_eq!((own.shared_memory, own.switch.shares_memory()), (SharedMemory::None, false));
        let switch = plan("shared_buffer = \"4MB\", shared_buffer_alpha = \"21/100\"").unwrap();
        assert_eq!(switch.shared_memory, SharedMemory::OfSwitch(ByteCount::new(4_000_000)));
        let mut choices = Choices::ecn(200, 30);
        choices.queues[0].pool = Some(Alpha::from_fraction(21, 100));
        (choices.queues[0].whole, choices.queues[0].header) = (Limit::NONE, Limit::NONE);
        assert_eq!(switch.switch, choices.build().unwrap());
        let port = plan("shared_buffer_per_port = \"200pkt\", data_queue = \"300pkt\"").unwrap();
        assert_eq!(port.shared_memory.of(4), ByteCount::new(4 * 200 * 9064));
        choices = Choices::ecn(300, 30);
        choices.queues[0].pool = Some(Alpha::from_fraction(1, 1));
        assert_eq!(port.switch, choices.build().unwrap());
    }

    #[test]
    fn the_queue_of_each_class_takes_from_the_memory_of_its_switch() {
        let keys = "profile = \"qos\", shared_buffer = \"4MB\", shared_buffer_alpha = \"21/100\"";
        let mut choices = Choices::qos(200);
        for queue in &mut choices.queues {
            queue.pool = Some(Alpha::from_fraction(21, 100));
            (queue.whole, queue.header) = (Limit::NONE, Limit::NONE);
        }
        assert_eq!(plan(keys).unwrap().switch, choices.build().unwrap());
        let bounded = plan(&format!("{keys}, data_queue = \"90KB\"")).unwrap();
        for queue in &mut choices.queues {
            (queue.whole, queue.header) = (Limit::bytes(90_000), Limit::bytes(90_000));
        }
        assert_eq!(bounded.switch, choices.build().unwrap());
    }

    #[test]
    fn an_invalid_shared_buffer_is_refused() {
        let refused = |keys| plan(keys).unwrap_err();
        let both = refused("shared_buffer = \"4MB\", shared_buffer_per_port = \"1MB\"");
        assert!(both.contains("beside `shared_buffer`") && both.contains("one of the two"));
        assert!(refused("shared_buffer_alpha = \"1\"").contains("without shared memory"));
        let ndp = refused("profile = \"paper\", shared_buffer = \"4MB\"");
        assert!(ndp.contains("drop-tail, ecn, cut-payload, qos"), "{ndp}");
        assert!(ndp.contains("profile \"paper\", whose queues have their own"), "{ndp}");
        // Switches of four ports, alpha 1/16: a quarter of a port's memory.
        let tiny = refused("shared_buffer_per_port = \"3pkt\", shared_buffer_alpha = \"1/16\"");
        assert!(tiny.contains("6798 B, but a packet has 9064 B"), "{tiny}");
        assert!(plan("shared_buffer_per_port = \"4pkt\", shared_buffer_alpha = \"1/16\"").is_ok());
        assert!(refused("shared_buffer = \"9KB\"").contains("a packet has 9064 B"));
        // No factor exceeds the memory.
        let small = refused("shared_buffer = \"9KB\", shared_buffer_alpha = \"8\"");
        assert!(small.contains("a packet has 9064 B"), "{small}");
        assert!(
            refused("shared_buffer = \"4MB\", shared_buffer_alpha = \"0.0\"").contains("factor")
        );
    }
}
