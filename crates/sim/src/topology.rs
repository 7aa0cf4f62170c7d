//! The network's shape: a folded Clos of one to three tiers, or a single cable.
//!
//! FatTree, leaf-spine, star and back-to-back are all the same arithmetic with other numbers; no
//! routing table exists.

use trimline_packet::{BitRate, TimeDelta};

/// Rate and propagation delay of the links of one tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSpec {
    /// Bits per second, each direction.
    pub rate: BitRate,
    /// Propagation delay.
    pub delay: TimeDelta,
}

/// A folded Clos network.
///
/// Hosts are numbered by pod, then by ToR, then by port. With three tiers aggregation switch `a` of
/// every pod has `cores_per_aggregation` up-links, to the cores of group `a`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clos {
    /// Switch tiers on the way up: 0 back-to-back (two hosts, one cable), 1 star (one switch),
    /// 2 leaf-spine (every leaf to every spine), 3 FatTree.
    pub tiers: u8,
    /// Pods. 1 with fewer than three tiers.
    pub pods: u32,
    /// ToR (leaf) switches in a pod.
    pub tors_per_pod: u32,
    /// Hosts below a ToR.
    pub hosts_per_tor: u32,
    /// Aggregation switches in a pod, and up-links of each ToR; spines with two tiers; 0 with fewer.
    pub aggregations_per_pod: u32,
    /// Up-links of each aggregation switch; 0 with fewer than three tiers.
    pub cores_per_aggregation: u32,
    /// Host to ToR.
    pub host_link: LinkSpec,
    /// ToR to aggregation (leaf to spine).
    pub tor_link: LinkSpec,
    /// Aggregation to core.
    pub aggregation_link: LinkSpec,
}
