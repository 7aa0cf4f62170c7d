//! Phantom queues of links (HULL, NSDI 2012, 2.1). They act where a transmission begins, in [`crate::network`].

pub(crate) mod keys;
pub(crate) mod state;
