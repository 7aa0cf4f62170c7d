//! NDP endpoints against section 3.2 of the paper: one endpoint and handmade packets, or several over a virtual link
//! that trims, returns, loses, doubles and reorders.

mod bank;
mod doubted;
mod hostile;
mod impaired;
mod link;
mod lone;
mod messages;
mod options;
mod receiving;
mod round_trips;
mod sending;
mod timing;
mod unscheduled;
