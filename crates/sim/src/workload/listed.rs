//! Flows of files.

use trimline_packet::{Time, TimeDelta};

use super::{Draft, Making};
use crate::plan::{Listed, ListedStart, Workload};
use crate::triggers::{NONE, Wiring};

impl Making<'_> {
    pub(super) fn listed(
        &mut self,
        place: u32,
        workload: &Workload,
        listed: &Listed,
    ) -> Result<(), String> {
        let first_trigger = self.made.triggers.len() as u32;
        self.made.triggers.extend(&listed.triggers);
        let number = |trigger: Option<u32>| trigger.map_or(NONE, |trigger| first_trigger + trigger);
        let mut flows_of = vec![0u64; self.hosts as usize];
        for flow in &listed.flows {
            let (start, waits_for) = match flow.start {
                ListedStart::At(at) => (Time::ZERO + workload.start + at, NONE),
                ListedStart::Trigger(trigger) => (Time::NEVER, first_trigger + trigger),
            };
            let wiring = Wiring {
                waits_for,
                delay: TimeDelta::ZERO,
                on_delivered: number(flow.on_delivered),
                on_acknowledged: number(flow.on_acknowledged),
            };
            let own = &mut flows_of[flow.source as usize];
            let draft = Draft {
                source: flow.source,
                destination: flow.destination,
                index: *own,
                start,
                wiring: (wiring != Wiring::LOOSE).then_some(wiring),
            };
            *own += 1;
            self.push(place, workload, draft, Some(flow.size))?;
        }
        Ok(())
    }
}
