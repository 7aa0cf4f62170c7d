//! pFabric (Alizadeh et al., SIGCOMM 2013): packets carry their urgency, switches decide, hosts do little.
//!
//! A flow sends a window of the bandwidth-delay product at once. Each packet is acknowledged. Only a short time-out
//! detects losses; then all unacknowledged packets are resent in slow start. After some time-outs in a row the flow
//! sends probes until one comes back. Packets are sprayed over all paths.
//!
//! With FastLane ([`Config::fastlane`]; FastLane 3.4.2) a switch notifies the sender of a drop. The flow sends a probe;
//! when it is back, the flow resends the dropped packets: one at first, and one more at a time with each arrival.
//!
//! `spec/deviations.toml` lists choices that the papers leave open.
//!
//! # Header fields
//! | field | DATA | ACK | probe | probe that comes back |
//! |---|---|---|---|---|
//! | `kind` | DATA | ACK | PULL | PULL |
//! | `flags` | FROM_OPENER, class, attempt; SYN until an ACK came; LAST | none | FROM_OPENER | none |
//! | `sequence` | its number, from 0 | the packet answered | the probe's number | the probe's number |
//! | `extra` | its urgency in bytes: smaller is more urgent | the first missing packet | as DATA | 0 |
//! | service | droppable | control | droppable | control |
//!
//! Duties of a receiver:
//! - DATA: answer by an ACK, also a duplicate. SYN makes the flow known. LAST ends the flow. The payload is the size on
//!   the wire less 64 bytes.
//! - `extra` of DATA and of a probe: a port serves the flow with the min value first, and drops the max.
//! - attempt: none. A switch that drops the packet sends it back: a notification of an earlier attempt is stale.
//! - ACK: this packet arrived, and all before the first missing one.
//! - probe: send it back on the path on which it came, whether or not the flow is known. A NIC can do it.

mod config;
mod endpoint;
mod receiver;
mod sender;

pub use config::{Config, Priority, SenderStatistics};
pub use endpoint::Endpoint;
