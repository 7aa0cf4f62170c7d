//! Commands with real packets.

pub(crate) mod cat;
mod host;
pub(crate) mod key;
#[cfg(test)]
mod pair;
pub(crate) mod ping;
pub(crate) mod rpc;
mod server;
