//! Queue memory in cells, in a scenario.

use trimline_packet::Packet;
use trimline_switch::Choices;

use crate::keys::error::ScenarioError;
use crate::keys::form::{BYTES, Key, computed};
use crate::keys::port::Keys;
use crate::keys::quantity::{self, Quantity};
use crate::keys::read::read;

pub(super) const KEY: Key = computed(
    "buffer_cell",
    BYTES,
    "a packet takes its bytes",
    "A packet takes whole cells of this size in its queue, as where a switch keeps packets in words of its data bus: in cells of 32B a packet of 65 B takes 96. Thresholds and shared memory count the same; inputs of priority flow control count bytes.",
);

/// Sets the cell size of `choices`, if given.
pub(super) fn cells(
    keys: &Keys<'_>,
    packet_bytes: u16,
    choices: &mut Choices,
) -> Result<(), ScenarioError> {
    let Some(node) = keys.get("buffer_cell") else { return Ok(()) };
    let bytes = read(node, quantity::bytes, Quantity::Bytes)?.get();
    let cell = u16::try_from(bytes).ok().filter(|&cell| cell > 0).ok_or_else(|| {
        let problem = format!("cells of {bytes} B");
        ScenarioError::new(&node.place, problem, format!("from 1B to {}B", u16::MAX))
    })?;
    choices.cell_bytes = cell;
    let takes = |packet: u16| u32::from(packet).next_multiple_of(cell.into());
    // The first of several queues is for headers.
    let several = choices.queues.len() > 1;
    for (place, queue) in choices.queues.iter().enumerate() {
        let whole = if several && place == 0 { 0 } else { takes(packet_bytes) };
        let header = takes(Packet::HEADER_BYTES);
        let (room, needed) = match (queue.whole.bytes < whole, queue.header.bytes < header) {
            (true, _) => (queue.whole.bytes, whole),
            (false, true) => (queue.header.bytes, header),
            (false, false) => continue,
        };
        return Err(ScenarioError::new(
            &node.place,
            format!("a queue of {room} B, in which a packet takes {needed} B in cells of {cell} B"),
            "smaller cells, or larger queues",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::plan::Plan;
    use crate::scenario::Scenario;

    fn plan(switch: &str) -> Result<Plan, String> {
        let text = format!(
            "topology.star.hosts = 3\nswitch = {switch}\n\
             workload = [{{ name = \"w\", permutation = {{}}, size = \"9KB\" }}]\n"
        );
        let scenario = Scenario::parse("s.toml", &text, &[]).map_err(|error| error.to_string())?;
        Ok(scenario.runs[0].plan.clone())
    }

    #[test]
    fn a_buffer_cell_applies_to_every_queue() {
        let model = plan("{ buffer_cell = \"32B\", droppable_queue = \"10pkt\" }").unwrap();
        let mut paper = trimline_switch::Choices::paper(8, 9000);
        paper.cell_bytes = 32;
        assert_eq!(model.switch, paper.build().unwrap());
        let mut droppable = trimline_switch::Choices::drop_tail(10);
        droppable.cell_bytes = 32;
        assert_eq!(model.droppable, Some(droppable.build().unwrap()));
        assert_eq!(plan("{ buffer_cell = \"1B\" }").unwrap().switch, plan("{}").unwrap().switch);
    }

    #[test]
    fn a_cell_larger_than_its_queue_is_refused() {
        let refused = |switch: &str| plan(switch).unwrap_err();
        assert!(refused("{ buffer_cell = \"0B\" }").contains("from 1B to 65535B"));
        assert!(refused("{ buffer_cell = \"70KB\" }").contains("from 1B to 65535B"));
        let larger = "{ profile = \"drop-tail\", data_queue = \"10KB\", buffer_cell = \"10001B\" }";
        assert!(refused(larger).contains("a packet takes 10001 B in cells of 10001 B"));
        // 9064 B are two cells of 5001 B.
        let two = "{ profile = \"drop-tail\", data_queue = \"10KB\", buffer_cell = \"5001B\" }";
        assert!(refused(two).contains("a packet takes 10002 B"));
        let headers = "{ header_queue = \"128B\", buffer_cell = \"256B\" }";
        assert!(refused(headers).contains("a queue of 128 B, in which a packet takes 256 B"));
        let beside = "{ profile = \"codel\", buffer_cell = \"32B\" }";
        assert!(refused(beside).contains("`buffer_cell` beside ports"));
    }
}
