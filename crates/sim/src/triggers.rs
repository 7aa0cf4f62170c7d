//! Flows that start when others end.
//!
//! A *trigger* belongs to one host. It is activated by what that host notices: the last ACK of a flow that it
//! sends, or the last byte of a flow that it receives. It starts flows of that host only, at once or after a
//! delay. So nothing here crosses hosts: a host's triggers are touched by its own events alone, whatever the
//! order in which hosts are visited.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

use trimline_packet::{Time, TimeDelta};

use crate::flows::Flow;
use crate::plan::Trigger;
use crate::table::Shared;

/// No trigger, and no wiring.
pub(crate) const NONE: u32 = u32::MAX;

/// How a flow hangs together with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wiring {
    /// The trigger that starts it.
    pub(crate) waits_for: u32,
    /// How long after the trigger it starts.
    pub(crate) delay: TimeDelta,
    /// The trigger of its destination that its last byte activates.
    pub(crate) on_delivered: u32,
    /// The trigger of its source that its last ACK activates.
    pub(crate) on_acknowledged: u32,
}

impl Wiring {
    /// A flow that hangs together with none.
    pub(crate) const LOOSE: Wiring = Wiring {
        waits_for: NONE,
        delay: TimeDelta::ZERO,
        on_delivered: NONE,
        on_acknowledged: NONE,
    };
}

/// What a host has noticed, and what it is about to start.
#[derive(Default)]
struct HostTriggers {
    /// Of each trigger of the host: activations until it fires, or flows that it has started.
    counts: Vec<u32>,
    /// Flows that are to start, by time and number.
    pending: BinaryHeap<Reverse<(Time, u32)>>,
    /// Of each chained flow of the host: when it started.
    started: Vec<Time>,
}

/// All triggers of a run. What changes belongs to one host, and so to the thread that drives it.
pub(crate) struct Triggers {
    plan: Arc<Plan>,
    hosts: Shared<HostTriggers>,
}

/// What never changes.
#[derive(Default)]
struct Plan {
    wirings: Vec<Wiring>,
    /// Sorted by host.
    triggers: Vec<Trigger>,
    first_trigger: Vec<u32>,
    /// Of each trigger: the flows that it starts, in order.
    targets: Vec<u32>,
    first_target: Vec<u32>,
    /// The first of each host's flows that wait for a trigger: they stand behind all others of the host.
    first_chained: Vec<u32>,
}

impl Triggers {
    /// The triggers of `flows`, which are sorted; `ranges` are the flows of each host.
    pub(crate) fn new(
        flows: &[Flow],
        ranges: &[Range<u32>],
        mut wirings: Vec<Wiring>,
        triggers: &[Trigger],
    ) -> Triggers {
        let waits = |flow: &Flow| match flow.wiring {
            NONE => NONE,
            wiring => wirings[wiring as usize].waits_for,
        };
        // Flows are sorted by host, so the targets of a trigger are of one host and in order.
        let mut pairs: Vec<(u32, u32, u32)> = (0u32..)
            .zip(flows)
            .map(|(number, flow)| (flow.source.get(), waits(flow), number))
            .filter(|&(_, trigger, _)| trigger != NONE)
            .collect();
        pairs.sort_unstable();
        let targets = pairs.iter().map(|&(.., flow)| flow).collect();
        let mut plan = Plan { targets, ..Plan::default() };
        let mut hosts = Vec::with_capacity(ranges.len());
        // Triggers are numbered anew, host by host; those that start nothing go.
        let mut renumbered = vec![NONE; triggers.len()];
        let mut pairs = (0u32..).zip(pairs).peekable();
        for (host, range) in (0u32..).zip(ranges) {
            plan.first_trigger.push(plan.triggers.len() as u32);
            let mut own = HostTriggers::default();
            while let Some((place, (_, trigger, _))) =
                pairs.next_if(|&(_, (owner, ..))| owner == host)
            {
                let number = &mut renumbered[trigger as usize];
                if *number == NONE {
                    *number = plan.triggers.len() as u32;
                    let kind = triggers[trigger as usize];
                    plan.triggers.push(kind);
                    plan.first_target.push(place);
                    own.counts.push(if let Trigger::After(count) = kind { count } else { 0 });
                }
                assert!(
                    *number >= plan.first_trigger[host as usize],
                    "a trigger starts flows of one host"
                );
            }
            let first = range.start
                + flows[range.start as usize..range.end as usize]
                    .partition_point(|flow| flow.start != Time::NEVER) as u32;
            plan.first_chained.push(first);
            own.started = vec![Time::NEVER; (range.end - first) as usize];
            hosts.push(own);
        }
        plan.first_trigger.push(plan.triggers.len() as u32);
        plan.first_target.push(plan.targets.len() as u32);
        for wiring in &mut wirings {
            for trigger in
                [&mut wiring.waits_for, &mut wiring.on_delivered, &mut wiring.on_acknowledged]
            {
                if *trigger != NONE {
                    *trigger = renumbered[*trigger as usize];
                }
            }
        }
        plan.wirings = wirings;
        Triggers { plan: Arc::new(plan), hosts: hosts.into() }
    }

    /// The same triggers for another thread of the run.
    ///
    /// # Safety
    /// As [`Shared::view`]: a host is driven by one thread at a time.
    pub(crate) unsafe fn view(&self) -> Triggers {
        // SAFETY: promised by the caller.
        Triggers { plan: Arc::clone(&self.plan), hosts: unsafe { self.hosts.view() } }
    }

    /// How a flow hangs together with others.
    pub(crate) fn wiring(&self, flow: &Flow) -> Wiring {
        self.plan.wirings.get(flow.wiring as usize).copied().unwrap_or(Wiring::LOOSE)
    }

    /// Something that activates `trigger` happened at `host`, its owner.
    pub(crate) fn activate(&mut self, host: u32, trigger: u32, now: Time, flows: &Shared<Flow>) {
        if trigger == NONE {
            return;
        }
        let first = self.plan.first_trigger[host as usize];
        assert!(
            (first..self.plan.first_trigger[host as usize + 1]).contains(&trigger),
            "a host activates its own triggers"
        );
        let own = &mut self.hosts[host as usize];
        let count = &mut own.counts[(trigger - first) as usize];
        let bounds = &self.plan.first_target[trigger as usize..=trigger as usize + 1];
        let targets = &self.plan.targets[bounds[0] as usize..bounds[1] as usize];
        let due = match self.plan.triggers[trigger as usize] {
            Trigger::OneByOne => {
                let place = *count as usize;
                *count += 1;
                targets.get(place..=place).unwrap_or(&[])
            }
            Trigger::After(_) => {
                let is_last = *count == 1;
                *count = count.saturating_sub(1);
                if is_last { targets } else { &[] }
            }
        };
        for &target in due {
            let wiring = flows[target as usize].wiring;
            let delay = self.plan.wirings[wiring as usize].delay;
            own.pending.push(Reverse((now + delay, target)));
        }
    }

    /// When the first of a host's chained flows starts, as far as the host knows.
    pub(crate) fn next_start(&self, host: u32) -> (Time, u32) {
        self.hosts[host as usize].pending.peek().map_or((Time::NEVER, NONE), |first| first.0)
    }

    /// Takes that flow: it starts now.
    pub(crate) fn take(&mut self, host: u32) {
        let own = &mut self.hosts[host as usize];
        if let Some(Reverse((at, flow))) = own.pending.pop() {
            own.started[(flow - self.plan.first_chained[host as usize]) as usize] = at;
        }
    }

    /// The flows of a host that wait for no trigger.
    pub(crate) fn end_of_fixed(&self, host: u32) -> u32 {
        self.plan.first_chained[host as usize]
    }

    /// When a chained flow started.
    pub(crate) fn started(&self, flow: u32, source: u32) -> Option<Time> {
        let place = flow - self.plan.first_chained[source as usize];
        Some(self.hosts[source as usize].started[place as usize]).filter(|&at| at != Time::NEVER)
    }
}
