//! pHost (Gao et al., CoNEXT 2015): receivers give tokens, and a sender sends a packet for each.
//!
//! A sender announces a flow by a request to send (RTS) and sends its first packets on free tokens. From then on the
//! receiver decides: one token each packet time of its link, for one packet of the flow that has the fewest packets
//! left. A token that is not used at once expires. A flow whose source lets tokens pass loses its turn for a while.
//! What did not arrive is asked for again by later tokens, and the end of a flow is acknowledged by one ACK.
//!
//! The network is a plain one: packets are sprayed over all paths, and switches drop what does not fit.
//!
//! What the paper leaves open is as in the simulator of its authors (YAPS) unless `spec/deviations.toml` says another.
//!
//! # What the header says
//! Four packets are needed, and three kinds suffice. An RTS is a PULL that the opener sends: it asks for tokens as a
//! token asks for a packet. It is no DATA packet without payload, since a switch takes DATA for data, and control
//! packets go ahead of it.
//!
//! | field | RTS | token | DATA | ACK |
//! |---|---|---|---|---|
//! | `kind` | PULL | PULL | DATA | ACK |
//! | `flags` | SYN, FROM_OPENER, class | none | FROM_OPENER, class; SYN if the token was free; LAST | none |
//! | `sequence` | packets of the flow | the packet to send | its number, from 0 | packets of the flow |
//! | `extra` | packets that come on free tokens | the token's number (low 16 bits) | payload length; the token's number | 0 |
//! | service | control | control | droppable | control |
//!
//! What the receiver of a field must do:
//! - RTS: make the flow known, expect that many packets, and ask for none of the first `extra` until they are overdue.
//!   [`ENDLESS`] packets have no end. An RTS of a flow that is complete is answered by its ACK.
//! - token: send that packet, once, before the token expires, and put the token's number into it.
//! - DATA: a token of this number or a lower one is no longer awaited. A free token's number is that of its packet. SYN
//!   makes the flow known. LAST is the end of the flow, for who has not heard the RTS.
//! - class: a flow of a higher class has tokens first.
//! - ACK: the flow has ended, if it has so many packets.

mod config;
mod endpoint;
mod pace;
mod ranking;
mod receiver;
mod sender;

pub use config::{Config, FreeTokens, Order, ReceiverRules};
pub use endpoint::Endpoint;

/// Packets of a flow that never runs out of data.
pub const ENDLESS: u32 = u32::MAX;
