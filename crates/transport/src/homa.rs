//! Homa (Montazeri et al., SIGCOMM 2018): receivers assign the network's priorities.
//!
//! A message begins at once: its first bytes, up to a round trip's, go unscheduled, more urgently the fewer bytes the
//! message has left. Its receiver GRANTs the rest. It grants a few messages at a time, those with the fewest bytes
//! left, each with its own priority and a round trip of bytes on the way. Senders send the message with the fewest
//! bytes left first. Switches serve eight priorities strictly.
//!
//! A receiver that misses granted packets sends a RESEND. A sender with other things to do answers BUSY. An ACK ends a
//! message; a sender without answers resends the message's first packet.
//!
//! What the paper leaves open follows the simulator of its authors unless `spec/deviations.toml` differs.
//!
//! # Header fields
//! Both ends count a message's packets alike ([`Config`]): unscheduled packets, then the rest.
//!
//! | field | DATA | GRANT | RESEND | ACK | BUSY | PROBE |
//! |---|---|---|---|---|---|---|
//! | `kind` | DATA | PULL | NACK | ACK | ACK | NACK |
//! | `flags` | FROM_OPENER, class; SYN if unscheduled; LAST; attempt 1 if resent unasked | none | none | none | FROM_OPENER | FROM_OPENER, SYN, class |
//! | `sequence` | its number, from 0 | packets before this one may go | the first missing packet | packets of the message | the first requested packet | the last unscheduled packet |
//! | `extra` | payload length; packets of the message | priority | missing packets (high 16 bits), priority | 0 | 0 | 0; packets of the message |
//! | service | droppable, with its priority | control | control | control | control | droppable, with that packet's priority |
//!
//! Duties of a receiver:
//! - DATA: SYN makes the message known. LAST ends it; a message of [`MANY`] or more packets has no other end. Attempt 1
//!   asks whether the receiver is there: answer with the ACK or the last GRANT.
//! - GRANT: send what may go, with this priority. A GRANT takes back nothing.
//! - RESEND: send these packets (again) with this priority. Answer BUSY if another message goes first.
//! - BUSY: wait on.
//! - PROBE (Aeolus): packets up to this one were sent. Grant missing ones by RESENDs, before others.
//! - ACK: the message has ended, if it has that many packets.
//! - class: grant messages of a higher class first.

mod config;
mod endpoint;
mod granting;
mod receiver;
mod sender;
mod sending;

use trimline_packet::Packet;

use crate::Framing;

pub use config::{Config, Ending};
pub use endpoint::Endpoint;

/// Ethernet, IP and UDP take 46 B of a data packet, the header of Homa's authors 30 B. The shortest Ethernet frame has
/// 64 B.
const FRAMING: Framing = Framing { header: 76, min: Packet::HEADER_BYTES };

/// Packet count of an endless message.
pub const ENDLESS: u32 = u32::MAX;

/// Max packet count in a header: a message of at least this many packets ends with its LAST packet.
pub const MANY: u32 = 0xFFFF;
