//! In-band telemetry ([`trimline_packet::Telemetry`]): ports write into packets as they leave.

pub(crate) mod hooks;
pub(crate) mod state;
