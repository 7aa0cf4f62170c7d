//! HPCC (Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019): every port on a packet's way writes its
//! queue, its bytes and the time into the packet (in-band telemetry, INT), the receiver sends them back, and the sender
//! computes from two of them how much more or less may be in flight.
//!
//! A connection is one stream on one path, like a queue pair of RoCEv2: telemetry of several paths would mix their
//! links. The receiver answers each packet. The window's law is in `window.rs`; packets are paced at a window in a base
//! round trip.
//!
//! # The packet
//! | field | data | ACK | NACK |
//! |---|---|---|---|
//! | `kind` | DATA | ACK | NACK |
//! | `sequence` | packet of the stream, from 0 | the next missing packet | the missing packet |
//! | `flags` | LAST (of a message); FROM_OPENER; class | class | class |
//! | `extra` | payload bytes, as in every DATA packet | the answered packet | the answered packet |
//!
//! Each has 42 bytes of telemetry ([`Telemetry::BYTES`]) behind the header of 64 bytes, an answer those of the packet
//! that it answers. Drivers carry them beside packets ([`crate::Endpoint::telemetry`]).
//!
//! # Loss
//! [`Resend::GoBack`], over priority flow control, is RoCE's go-back-N: a receiver takes packets only in order, names
//! the missing one once, and the sender restarts there. [`Resend::Selective`], for switches that drop, takes any order:
//! on one path a packet behind which another one has arrived is lost. A time-out without answers finds the rest.

use trimline_packet::{Packet, Telemetry};

use crate::Framing;

mod config;
mod endpoint;
mod holes;
mod receiver;
mod sender;
mod window;

pub use crate::flow::{Command, Event};
pub use config::{Config, Law, ReceiverStatistics, Resend, SenderStatistics, Units};
pub use endpoint::Endpoint;
pub use window::UTILISATION_ONE;

/// Data and answers carry telemetry.
const FRAMING: Framing =
    Framing { header: Packet::HEADER_BYTES + Telemetry::BYTES, min: Packet::HEADER_BYTES };
