//! The exit of a frame from a switch.

/// The port by which a frame leaves, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// By this port of the switch.
    By(u16),
    /// By all ports except the input.
    Flood,
    /// None: no route, or TTL expired.
    Nowhere,
    /// None: its label is not in the table of the switch.
    UnknownLabel,
}
