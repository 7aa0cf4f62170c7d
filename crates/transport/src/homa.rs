//! Homa (Montazeri et al., SIGCOMM 2018): the network's priorities are given out by receivers.
//!
//! A message begins at once: its first bytes, as many as a round trip holds, are sent unasked ("unscheduled"), more
//! urgently the fewer bytes the message has left. For the rest its receiver gives GRANTs. It grants a few messages at a
//! time, those with the fewest bytes left, each with a priority of its own and a round trip of bytes on the way. Senders
//! send the message with the fewest bytes left first. Switches serve eight priorities strictly.
//!
//! A receiver that misses what it has granted sends a RESEND. A sender that has other things to do answers BUSY. The end
//! of a message is an ACK, and a sender that hears nothing sends the message's first packet again.
//!
//! What the paper leaves open is as in the simulator of its authors unless `spec/deviations.toml` says another.
//!
//! # What the header says
//! Messages are cut into packets that both ends count alike ([`Config`]): the unscheduled ones, and those behind.
//!
//! | field | DATA | GRANT | RESEND | ACK | BUSY | PROBE |
//! |---|---|---|---|---|---|---|
//! | `kind` | DATA | PULL | NACK | ACK | ACK | NACK |
//! | `flags` | FROM_OPENER, class; SYN if unscheduled; LAST; attempt 1 if sent unasked again | none | none | none | FROM_OPENER | FROM_OPENER, SYN, class |
//! | `sequence` | its number, from 0 | packets before this one may go | the first packet that is missing | packets of the message | the first packet that was asked for | the last packet that went unasked |
//! | `extra` | payload length; packets of the message | priority | packets that are missing (high 16 bits), priority | 0 | 0 | 0; packets of the message |
//! | service | droppable, with its priority | control | control | control | control | droppable, with that packet's priority |
//!
//! What the receiver of a field must do:
//! - DATA: SYN makes the message known. LAST is its end; a message of [`MANY`] packets and more has no other.
//!   Attempt 1 asks whether anybody is there: answer with the ACK or with the last GRANT.
//! - GRANT: send what may go, with this priority; no less may go than before.
//! - RESEND: send these packets again, or for the first time, with this priority. Say BUSY if another message goes first.
//! - BUSY: wait on.
//! - PROBE (Aeolus): packets up to this one were sent. Grant by RESENDs those that are not here, before others.
//! - ACK: the message has ended, if it has so many packets.
//! - class: a message of a higher class is granted first.

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

/// Ethernet, IP and UDP take 46 B of a data packet, and Homa's authors' header 30 B. The shortest Ethernet frame has 64 B.
const FRAMING: Framing = Framing { header: 76, min: Packet::HEADER_BYTES };

/// Packets of a message that never runs out of data.
pub const ENDLESS: u32 = u32::MAX;

/// A header says no more packets than this: a message of so many, or of more, ends with its LAST packet.
pub const MANY: u32 = 0xFFFF;
