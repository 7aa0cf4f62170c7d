//! What `random` gives. It is laid out beforehand, so that what a program makes of it can be known.

use std::collections::VecDeque;

/// A number, and the bounds between which the program must ask for it, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeRng {
    pub(crate) value: u64,
    pub(crate) low: u64,
    pub(crate) high: u64,
}

/// Those that are laid out, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct SplitMix(pub(super) VecDeque<NodeRng>);

impl SplitMix {
    /// The next one.
    ///
    /// # Errors
    /// The program asks for one that is not laid out, or between other bounds.
    pub(super) fn draw(&mut self, (low, high): (i128, i128)) -> Result<u64, String> {
        let asked = format!("a draw from {low} to {high}");
        let Some(draw) = self.0.pop_front() else {
            return Err(format!("{asked}, which is not laid out"));
        };
        if (i128::from(draw.low), i128::from(draw.high)) != (low, high) {
            return Err(format!("{asked}, not from {} to {}", draw.low, draw.high));
        }
        if !(draw.low..=draw.high).contains(&draw.value) {
            return Err(format!("{asked} does not give {}", draw.value));
        }
        Ok(draw.value)
    }
}
