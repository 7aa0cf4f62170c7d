//! Detours: packets that leave a switch by another port than routing chose.

mod hooks;
pub(crate) mod keys;
pub(crate) mod state;
