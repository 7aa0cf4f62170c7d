//! Random numbers as an argument of state machines.

/// Random numbers that a driver supplies: neither a port nor a pacer owns a stream.
///
/// Numbers are drawn only when a rule needs them, so a port without collisions moves no stream.
pub trait Rng {
    /// Draws a fair bit.
    fn coin(&mut self) -> bool;
    /// Draws a uniform number below `bound`, which is positive.
    fn below(&mut self, bound: u32) -> u32;
}
