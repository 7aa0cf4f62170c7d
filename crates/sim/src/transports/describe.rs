//! Descriptions that transports share.

use trimline_packet::TimeDelta;
use trimline_transport::path_choice::PathChoice;

/// Formats a time as in a scenario file, in the largest unit in which it is a short decimal.
pub fn time(time: TimeDelta) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns")];
    let ps = time.as_ps();
    let unit = UNITS.iter().find(|&&(unit, _)| ps >= unit);
    let (unit, name) = unit.copied().unwrap_or((1, "ps"));
    let decimals = format!("{:.12}", (ps % unit) as f64 / unit as f64);
    let decimals = decimals[1..].trim_end_matches('0').trim_end_matches('.');
    format!("{}{decimals}{name}", ps / unit)
}

/// Describes a path choice, behind "paths".
pub(super) fn path_rule(choice: PathChoice) -> String {
    match choice {
        PathChoice::Permutation => "by permutation".to_owned(),
        PathChoice::Random => "at random".to_owned(),
        PathChoice::Oblivious => "in rounds".to_owned(),
        PathChoice::Bitmap => "by bitmap".to_owned(),
        PathChoice::Reps { freeze: TimeDelta::ZERO } => "by REPS without freezing".to_owned(),
        PathChoice::Reps { freeze } => format!("by REPS that freezes for {}", time(freeze)),
        PathChoice::Mixed => "recycled, otherwise by bitmap".to_owned(),
    }
}
