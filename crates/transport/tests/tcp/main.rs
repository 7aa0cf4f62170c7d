//! TCP endpoints against their RFCs: alone, and over a virtual link that drops, marks, loses, doubles and delays.

mod beginning;
mod impaired;
mod link;
mod lone;
mod losses;
mod marks;
mod messages;
mod notified;
mod paths;
mod receiving;
mod recovery;
mod sharing;
mod subflows;
mod timer;
mod trimmed;
mod undoing;
