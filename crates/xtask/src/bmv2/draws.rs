//! Scripted results of `random`, so that the effect on a program is known.

use std::collections::VecDeque;

/// A scripted draw, and the inclusive bounds that the program must pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Draw {
    pub(crate) value: u64,
    pub(crate) low: u64,
    pub(crate) high: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ScriptedDraws(pub(super) VecDeque<Draw>);

impl ScriptedDraws {
    /// Returns the next scripted draw, and refuses other draws and other bounds.
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
