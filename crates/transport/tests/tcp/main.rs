//! TCP endpoints held to their RFCs: endpoints against each other over a virtual link that drops, marks, loses,
//! doubles and holds.

mod impaired;
mod link;
mod messages;
mod paths;
mod recovery;
mod sharing;
