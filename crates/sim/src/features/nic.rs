//! The host model: the stages between a host's transport and its link. These are the NIC's queue and processors (HULL,
//! NSDI 2012, 4.1), and the pacer behind them (4.2).

mod hooks;
pub(crate) mod keys;
pub(crate) mod pacer;
pub(crate) mod pacer_keys;
pub(crate) mod state;
