//! The flows of a run: who sends what to whom and when, and how far each one is.

use std::mem;
use std::ops::Range;
use std::sync::Arc;

use trimline_packet::{ByteCount, HostId, Time};
use trimline_transport::{Half, Key, Stream, flow};

use crate::random;
use crate::table::Shared;
use crate::triggers::{self, Trigger, Triggers, Wiring};

/// What a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    pub(crate) source: HostId,
    pub(crate) destination: HostId,
    /// Place of its workload in the scenario.
    pub(crate) workload: u32,
    /// Number among the flows of its source and workload.
    pub(crate) index: u32,
    /// Payload bytes, `None` for a long-lived flow.
    pub(crate) size: Option<ByteCount>,
    /// [`Time::NEVER`] for one that starts when others end.
    pub(crate) start: Time,
    pub(crate) class: u8,
    /// Switches choose its paths.
    pub(crate) switch_random: bool,
    /// Place among the wirings, [`triggers::NONE`] for most.
    pub(crate) wiring: u32,
}

/// The flows that workloads make, and how they hang together.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) flows: Vec<Flow>,
    pub(crate) wirings: Vec<Wiring>,
    pub(crate) triggers: Vec<Trigger>,
}

/// A half of a flow, as its host knows it.
#[derive(Clone, Copy, Default)]
struct Known {
    /// Assigned and not released.
    is_open: bool,
    /// Assigned at some time.
    was_opened: bool,
}

/// What a thread of the run saw of flows.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// Sized flows whose sender knows that they ended.
    finished: u64,
    last_change: Time,
}

/// When a flow's halves ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) delivered: Option<Time>,
    pub(crate) acknowledged: Option<Time>,
}

/// All flows of a run, sorted by (source, start, workload, index): a flow's number is its connection
/// on the wire.
///
/// What changes belongs to one half of a flow, and so to the thread that drives the host of that half.
pub(crate) struct Flows {
    flows: Shared<Flow>,
    sender_slots: Shared<u32>,
    receiver_slots: Shared<u32>,
    sending: Shared<Known>,
    receiving: Shared<Known>,
    delivered: Shared<Option<Time>>,
    acknowledged: Shared<Option<Time>>,
    /// Hash of each workload's name: part of a flow's identity.
    workload_names: Arc<[u64]>,
    /// Place of each workload's transport in the plan.
    transports: Arc<[u8]>,
    first_of_host: Arc<[u32]>,
    any_switch_random: bool,
    sized: u64,
    seen: Seen,
    /// Only in a run where flows start when others end.
    triggers: Option<Triggers>,
}

impl Flows {
    pub(crate) fn new(
        made: Made,
        hosts: u32,
        workload_names: &[&str],
        transports: Arc<[u8]>,
    ) -> Flows {
        let Made { mut flows, wirings, triggers } = made;
        flows.sort_by_key(|flow| (flow.source, flow.start, flow.workload, flow.index));
        let mut first_of_host = Vec::with_capacity(hosts as usize + 1);
        for host in 0..=hosts {
            let first = flows.partition_point(|flow| flow.source.get() < host);
            first_of_host.push(u32::try_from(first).expect("fewer than 2^32 flows"));
        }
        // A host's slots: first the flows that it sends, then those that it receives.
        let mut next_slots: Vec<u32> =
            first_of_host.windows(2).map(|bounds| bounds[1] - bounds[0]).collect();
        let receiver_slots = flows
            .iter()
            .map(|flow| {
                let slot = &mut next_slots[flow.destination.index()];
                *slot += 1;
                *slot - 1
            })
            .collect();
        let sender_slots = flows
            .iter()
            .enumerate()
            .map(|(number, flow)| number as u32 - first_of_host[flow.source.index()])
            .collect();
        let triggers = (!wirings.is_empty()).then(|| {
            let ranges: Vec<Range<u32>> =
                first_of_host.windows(2).map(|bounds| bounds[0]..bounds[1]).collect();
            Triggers::new(&flows, &ranges, wirings, &triggers)
        });
        Flows {
            triggers,
            sender_slots,
            receiver_slots,
            sending: vec![Known::default(); flows.len()].into(),
            receiving: vec![Known::default(); flows.len()].into(),
            delivered: vec![None; flows.len()].into(),
            acknowledged: vec![None; flows.len()].into(),
            workload_names: workload_names.iter().map(|name| random::name_number(name)).collect(),
            transports,
            first_of_host: first_of_host.into(),
            any_switch_random: flows.iter().any(|flow| flow.switch_random),
            sized: flows.iter().filter(|flow| flow.size.is_some()).count() as u64,
            seen: Seen::default(),
            flows: flows.into(),
        }
    }

    /// The same flows for another thread of the run.
    ///
    /// # Safety
    /// As [`Shared::view`]: a half of a flow is used by one thread at a time.
    pub(crate) unsafe fn view(&self) -> Flows {
        // SAFETY: promised by the caller.
        unsafe {
            Flows {
                flows: self.flows.view(),
                sender_slots: self.sender_slots.view(),
                receiver_slots: self.receiver_slots.view(),
                sending: self.sending.view(),
                receiving: self.receiving.view(),
                delivered: self.delivered.view(),
                acknowledged: self.acknowledged.view(),
                workload_names: Arc::clone(&self.workload_names),
                transports: Arc::clone(&self.transports),
                first_of_host: Arc::clone(&self.first_of_host),
                any_switch_random: self.any_switch_random,
                sized: self.sized,
                seen: Seen::default(),
                triggers: self.triggers.as_ref().map(|triggers| triggers.view()),
            }
        }
    }

    /// Takes over what the view of another thread saw.
    pub(crate) fn gather(&mut self, other: &mut Flows) {
        let seen = mem::take(&mut other.seen);
        self.seen.finished += seen.finished;
        self.seen.last_change = self.seen.last_change.max(seen.last_change);
    }

    pub(crate) fn len(&self) -> u32 {
        self.flows.len() as u32
    }
    pub(crate) fn description(&self, flow: u32) -> &Flow {
        &self.flows[flow as usize]
    }
    pub(crate) fn ends(&self, flow: u32) -> Ends {
        let flow = flow as usize;
        Ends { delivered: self.delivered[flow], acknowledged: self.acknowledged[flow] }
    }
    pub(crate) fn slots(&self, flow: u32) -> (u32, u32) {
        (self.sender_slots[flow as usize], self.receiver_slots[flow as usize])
    }
    /// Place of a flow's transport in the plan.
    pub(crate) fn transport_of(&self, flow: u32) -> usize {
        usize::from(self.transports[self.description(flow).workload as usize])
    }
    pub(crate) fn any_switch_random(&self) -> bool {
        self.any_switch_random
    }
    /// Sized flows, and those whose sender knows that they ended.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.sized, self.seen.finished)
    }
    /// When a sized flow last started to be known, was delivered or ended.
    pub(crate) fn last_change(&self) -> Time {
        self.seen.last_change
    }
    /// Whether the flow's sender has state: it was opened at some time.
    pub(crate) fn has_sender(&self, flow: u32) -> bool {
        self.sending[flow as usize].was_opened
    }
    /// Whether the flow's receiver has state: a packet reached it at some time.
    pub(crate) fn has_receiver(&self, flow: u32) -> bool {
        self.receiving[flow as usize].was_opened
    }

    /// The starts of a host's flows, in order: without those that start when others end.
    pub(crate) fn starts_of(&self, host: u32) -> Range<u32> {
        let end = match &self.triggers {
            Some(triggers) => triggers.end_of_fixed(host),
            None => self.first_of_host[host as usize + 1],
        };
        self.first_of_host[host as usize]..end
    }

    /// When the next flow of a host starts, as far as the host knows: never if there is none. `starts` are those of
    /// [`Flows::starts_of`] that have not started.
    pub(crate) fn next_start(&self, host: u32, starts: &Range<u32>) -> Time {
        let fixed =
            if starts.is_empty() { Time::NEVER } else { self.flows[starts.start as usize].start };
        match &self.triggers {
            Some(triggers) => fixed.min(triggers.next_start(host).0),
            None => fixed,
        }
    }

    /// The next flow of a host starts now. At one instant flows start in the order of their numbers.
    pub(crate) fn take_start(&mut self, host: u32, starts: &mut Range<u32>) -> Option<u32> {
        let fixed = starts.clone().next().map(|flow| (self.flows[flow as usize].start, flow));
        if let Some(triggers) = &mut self.triggers {
            let chained = triggers.next_start(host);
            if chained.0 != Time::NEVER && fixed.is_none_or(|fixed| chained < fixed) {
                triggers.take(host);
                return Some(chained.1);
            }
        }
        starts.next()
    }

    /// When a flow started, or will; `None` for one that starts when others end, which have not ended.
    pub(crate) fn start_of(&self, flow: u32) -> Option<Time> {
        let description = self.description(flow);
        match &self.triggers {
            Some(triggers) if description.start == Time::NEVER => {
                triggers.started(flow, description.source.get())
            }
            _ => Some(description.start),
        }
    }

    #[inline]
    pub(crate) fn find(&self, key: Key) -> Option<u32> {
        let flow = key.connection.index();
        let (half, slots) = match key.half {
            Half::Sending => (&self.sending, &self.sender_slots),
            Half::Receiving => (&self.receiving, &self.receiver_slots),
        };
        half.find(flow)?.is_open.then(|| slots[flow])
    }
    pub(crate) fn assign(&mut self, key: Key) -> u32 {
        let flow = key.connection.index();
        let (half, slots) = match key.half {
            Half::Sending => (&mut self.sending, &self.sender_slots),
            Half::Receiving => (&mut self.receiving, &self.receiver_slots),
        };
        let half = half.find_mut(flow).expect("a connection is a flow");
        *half = Known { is_open: true, was_opened: true };
        slots[flow]
    }
    pub(crate) fn release(&mut self, key: Key) {
        let half = match key.half {
            Half::Sending => &mut self.sending,
            Half::Receiving => &mut self.receiving,
        };
        half.find_mut(key.connection.index()).expect("a connection is a flow").is_open = false;
    }

    /// The random stream of one half of a flow, named by what the flow is and not by its number.
    pub(crate) fn stream(&self, seed: u64, flow: u32, half: Half) -> Stream {
        let description = self.description(flow);
        let purpose = match half {
            Half::Sending => "flow sender",
            Half::Receiving => "flow receiver",
        };
        let name = self.workload_names[description.workload as usize];
        let owner = [u64::from(description.source.get()), name, u64::from(description.index)];
        random::stream(seed, purpose, &owner)
    }

    /// Something happened to a flow, at its destination or at its source. What follows happens at the same host.
    pub(crate) fn note(&mut self, event: flow::Event, now: Time) {
        self.seen.last_change = self.seen.last_change.max(now);
        match event {
            flow::Event::Delivered { key, .. } => {
                let flow = key.connection.get();
                let end = &mut self.delivered[flow as usize];
                if end.replace(end.unwrap_or(now)).is_none() {
                    let host = self.flows[flow as usize].destination.get();
                    self.activate(host, flow, now, |wiring| wiring.on_delivered);
                }
            }
            flow::Event::Acknowledged { key, .. } => {
                let flow = key.connection.get();
                let end = &mut self.acknowledged[flow as usize];
                if end.replace(end.unwrap_or(now)).is_none() {
                    self.seen.finished += u64::from(self.flows[flow as usize].size.is_some());
                    let host = self.flows[flow as usize].source.get();
                    self.activate(host, flow, now, |wiring| wiring.on_acknowledged);
                }
            }
        }
    }

    fn activate(&mut self, host: u32, flow: u32, now: Time, trigger: impl Fn(&Wiring) -> u32) {
        let Some(triggers) = &mut self.triggers else { return };
        if self.flows[flow as usize].wiring != triggers::NONE {
            let trigger = trigger(&triggers.wiring(&self.flows[flow as usize]));
            triggers.activate(host, trigger, now, &self.flows);
        }
    }
}
