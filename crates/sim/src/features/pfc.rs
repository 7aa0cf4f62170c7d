//! Priority flow control (IEEE 802.1Qbb): inputs of switches pause the senders of their links.

pub(crate) mod deadlocks;
mod hooks;
pub(crate) mod keys;
pub(crate) mod state;
