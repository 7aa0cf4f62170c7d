//! pFabric (Alizadeh et al., SIGCOMM 2013): packets say how urgent they are, switches decide, and hosts do little.
//!
//! A flow sends a window of the bandwidth-delay product at once. Each packet is acknowledged by itself. Losses are found by
//! a short time-out alone; then everything that was not acknowledged is sent again, in slow start. After some time-outs in
//! a row the flow sends probes until one comes back. Packets are sprayed over all paths.
//!
//! With FastLane ([`Config::fastlane`]; FastLane 3.4.2) a switch that drops a packet says so. The flow then sends a probe,
//! and when it has come back resends what was dropped: one packet, and one more at a time with each that arrives.
//!
//! What the papers leave open is stated in `spec/deviations.toml`.
//!
//! # What the header says
//! | field | DATA | ACK | probe | probe that comes back |
//! |---|---|---|---|---|
//! | `kind` | DATA | ACK | PULL | PULL |
//! | `flags` | FROM_OPENER, class, attempt; SYN until an ACK came; LAST | none | FROM_OPENER | none |
//! | `sequence` | its number, from 0 | the packet answered | the probe's number | the same |
//! | `extra` | its urgency in bytes: the less, the more urgent | the first packet that is missing | as DATA | 0 |
//! | service | droppable | control | droppable | control |
//!
//! What the receiver of a field must do:
//! - DATA: answer it by an ACK, also when it came before. SYN makes the flow known. LAST is the end of the flow. The payload
//!   is what the packet has on the wire beyond 64 bytes.
//! - `extra` of DATA and of a probe: a port serves the flow with the least value first, and drops the greatest.
//! - attempt: nothing. A switch that drops the packet sends it back: that of an earlier attempt is stale.
//! - ACK: this packet arrived, and all before the first missing one.
//! - probe: send it back, whether or not the flow is known, on the path on which it came. A NIC can do it.

mod config;
mod endpoint;
mod receiver;
mod sender;

pub use config::{Config, Priority, SenderStatistics};
pub use endpoint::Endpoint;
