//! The configuration of a port: the five choices.

/// The five choices of a port, shared by all ports of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceModel {}
