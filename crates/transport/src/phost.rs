//! pHost (Gao et al., CoNEXT 2015): receivers give tokens, and a sender sends one packet per token.
//!
//! A sender announces a flow by a request to send (RTS) and sends its first packets on free tokens. Then the receiver
//! gives one token per packet time of its link, to the flow with the fewest packets left. Unused tokens expire. A flow
//! whose source lets tokens pass loses its turn for a while. Later tokens request missing packets again. One ACK
//! acknowledges the whole flow.
//!
//! Packets are sprayed over all paths, and switches drop on overflow.
//!
//! Choices that the paper leaves open follow the simulator of its authors (YAPS) unless `spec/deviations.toml` differs.
//!
//! # Header fields
//! Three kinds serve four packets. An RTS is a PULL from the opener: it asks for tokens as a token asks for a packet.
//! It is not a DATA packet without payload, since switches take DATA for data, and control packets go ahead.
//!
//! | field | RTS | token | DATA | ACK |
//! |---|---|---|---|---|
//! | `kind` | PULL | PULL | DATA | ACK |
//! | `flags` | SYN, FROM_OPENER, class | none | FROM_OPENER, class; SYN if the token was free; LAST | none |
//! | `sequence` | packets of the flow | the packet to send | its number, from 0 | packets of the flow |
//! | `extra` | packets on free tokens | the token's number (low 16 bits) | payload length; the token's number | 0 |
//! | service | control | control | droppable | control |
//!
//! Duties of a receiver:
//! - RTS: make the flow known, expect that many packets, and request none of the first `extra` until they are overdue.
//!   [`ENDLESS`] means no end. Answer an RTS of a complete flow by its ACK.
//! - token: send that packet, once, before the token expires, and put the token's number into it.
//! - DATA: stop waiting for tokens up to this number. A free token's number is its packet's. SYN makes the flow known.
//!   LAST ends the flow, in case the RTS was lost.
//! - class: give tokens to flows of a higher class first.
//! - ACK: the flow has ended, if it has that many packets.

mod config;
mod endpoint;
mod pace;
mod ranking;
mod receiver;
mod sender;

pub use config::{Config, FreeTokens, Order, ReceiverRules};
pub use endpoint::Endpoint;

/// Packet count of an endless flow.
pub const ENDLESS: u32 = u32::MAX;
