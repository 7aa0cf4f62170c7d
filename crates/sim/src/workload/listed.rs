//! Flows of files, and the triggers that start some flows.
//!
//! One host sees the event that activates a trigger: the last ACK of a flow that it sends, or the last byte of a flow
//! that it receives. Each host whose flows the trigger starts counts the activations that it knows of: its own at once,
//! another host's one way through the network later.

use std::sync::Arc;

use crate::plan::{Listed, ListedFlow, ListedStart, Trigger};

/// A flow that a trigger starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Target {
    trigger: u32,
    source: u32,
    /// Its place among all flows of the trigger, from 1.
    turn: u32,
    flow: u32,
    /// Its place among the flows of its source.
    index: u64,
}

/// A file with its triggers.
pub(super) struct Triggers {
    listed: Arc<Listed>,
    targets: Vec<Target>,
}

impl Triggers {
    pub(super) fn new(listed: &Arc<Listed>, hosts: u32) -> Triggers {
        let mut flows_of = vec![0u64; hosts as usize];
        let mut turns = vec![0u32; listed.triggers.len()];
        let mut targets = Vec::new();
        for (number, flow) in (0u32..).zip(&listed.flows) {
            let Some(own) = flows_of.get_mut(flow.source as usize) else { continue };
            let index = *own;
            *own += 1;
            if let ListedStart::Trigger(trigger) = flow.start {
                let turn = &mut turns[trigger as usize];
                *turn += 1;
                let (source, turn) = (flow.source, *turn);
                targets.push(Target { trigger, source, turn, flow: number, index });
            }
        }
        targets.sort_unstable();
        Triggers { listed: Arc::clone(listed), targets }
    }

    /// Returns whether a trigger starts flows of a host other than its activator.
    pub(super) fn reach_others(&self) -> bool {
        let is_elsewhere = |trigger: Option<u32>, host: u32| {
            trigger.is_some_and(|trigger| self.hosts_of(trigger).any(|target| target != host))
        };
        self.listed.flows.iter().any(|flow| {
            is_elsewhere(flow.on_acknowledged, flow.source)
                || is_elsewhere(flow.on_delivered, flow.destination)
        })
    }

    pub(super) fn flow(&self, number: u32) -> &ListedFlow {
        &self.listed.flows[number as usize]
    }

    pub(super) fn on_delivered(&self, flow: u32) -> Option<u32> {
        self.listed.flows[flow as usize].on_delivered
    }

    pub(super) fn on_acknowledged(&self, flow: u32) -> Option<u32> {
        self.listed.flows[flow as usize].on_acknowledged
    }

    pub(super) fn hosts_of(&self, trigger: u32) -> impl Iterator<Item = u32> + '_ {
        let mut place = self.targets.partition_point(|target| target.trigger < trigger);
        std::iter::from_fn(move || {
            let first = self.targets.get(place).filter(|target| target.trigger == trigger)?;
            let others = &self.targets[place..];
            place += others.partition_point(|target| {
                (target.trigger, target.source) == (trigger, first.source)
            });
            Some(first.source)
        })
    }

    /// Flows, with their indices, that a host starts at activation number `activation`, from 1.
    pub(super) fn started(
        &self,
        trigger: u32,
        host: u32,
        activation: u32,
    ) -> impl Iterator<Item = (u32, u64)> + '_ {
        let first = self
            .targets
            .partition_point(|target| (target.trigger, target.source) < (trigger, host));
        self.targets[first..]
            .iter()
            .take_while(move |target| (target.trigger, target.source) == (trigger, host))
            .filter(move |target| activation == self.starts_at(target))
            .map(|target| (target.flow, target.index))
    }

    /// Number of the activation that starts a flow.
    fn starts_at(&self, target: &Target) -> u32 {
        match self.listed.triggers[target.trigger as usize] {
            Trigger::After(count) => count,
            Trigger::OneByOne => target.turn,
        }
    }

    /// Flows that still wait for their trigger, with index and source. `activations` counts those that a host knows of.
    pub(super) fn waiting(
        &self,
        activations: impl Fn(u32, u32) -> u32,
    ) -> impl Iterator<Item = (u32, u64, u32)> {
        let waits = move |target: &&Target| {
            activations(target.source, target.trigger) < self.starts_at(target)
        };
        self.targets.iter().filter(waits).map(|target| (target.flow, target.index, target.source))
    }
}
