//! Distributions of the time between two pulls: files, and built-in ones.

use rand_xoshiro::rand_core::SeedableRng;
use trimline_packet::TimeDelta;
use trimline_transport::RngStream;
use trimline_transport::ndp::{PullGap, PullGaps};

use crate::keys::read::text_of;
use crate::keys::tree::Node;
use crate::scenario::ScenarioError;

/// Built-in distributions: synthetic, and measured with `trimline testbed fig12`.
pub(super) const BUILT_IN: [&str; 4] =
    ["synthetic-1500", "synthetic-9000", "measured-1500", "measured-9000"];
const BUILT_IN_TEXTS: [&str; 4] = [
    include_str!("../../distributions/pull-gaps-synthetic-1500.csv"),
    include_str!("../../distributions/pull-gaps-synthetic-9000.csv"),
    include_str!("../../distributions/pull-gaps-measured-1500.csv"),
    include_str!("../../distributions/pull-gaps-measured-9000.csv"),
];

/// Reads the distribution of a checked `pull_spacing`, if it has one.
pub(super) fn read(spacing: &Node) -> Result<Option<PullGaps>, ScenarioError> {
    let built_in = spacing.child("distribution").and_then(Node::text);
    let (node, name, text) = match (spacing.child("file"), built_in) {
        (Some(node), _) => {
            let (_, text) = text_of(node, "a file with lines \"ns,share\"")?;
            (node, node.text().unwrap_or_default(), text)
        }
        (None, Some(name)) => {
            let place = BUILT_IN.iter().position(|&known| known == name);
            (spacing, name, BUILT_IN_TEXTS[place.expect("names are checked before")].to_owned())
        }
        (None, None) => return Ok(None),
    };
    let steps = parse(&text).map_err(|(line, problem)| {
        ScenarioError::new(
            &node.place,
            format!("{name}:{line}: {problem}"),
            "lines \"ns,share\" with rising gaps, and shares rising to 1",
        )
    })?;
    // Each host gets its own stream at the start of the run.
    Ok(Some(PullGaps { steps: steps.into(), stream: RngStream::seed_from_u64(0) }))
}

/// Returns the steps of a distribution, or line and problem. `#` begins a comment line.
fn parse(text: &str) -> Result<Vec<PullGap>, (usize, String)> {
    let mut steps: Vec<PullGap> = Vec::new();
    let mut last = 0;
    for (line, text) in (1..).zip(text.lines()) {
        if text.trim().is_empty() || text.starts_with('#') {
            continue;
        }
        let fields: Vec<&str> = text.split(',').map(str::trim).collect();
        let (gap, share) = match fields[..] {
            [gap, share] => (decimal(gap, 1_000), decimal(share, 1 << 32)),
            _ => return Err((line, "not two numbers".to_owned())),
        };
        let (Some(gap), Some(share)) = (gap, share) else {
            return Err((line, "not two decimal numbers".to_owned()));
        };
        let falls = steps.last().is_some_and(|step| gap <= step.gap.as_ps());
        if gap == 0 || falls || share <= last || share > 1 << 32 {
            return Err((line, "a gap or a share that does not rise, or lies beyond 1".to_owned()));
        }
        last = share;
        let share = u32::try_from(share).unwrap_or(u32::MAX);
        steps.push(PullGap { share, gap: TimeDelta::from_ps(gap) });
    }
    match last {
        share if share == 1 << 32 => Ok(steps),
        _ => Err((text.lines().count(), "the shares do not reach 1".to_owned())),
    }
}

/// Multiplies a decimal of at most twelve places by `unit`, rounded to the nearest, with integers for equal results
/// everywhere.
fn decimal(text: &str, unit: u64) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if part.len() > 12 || !part.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let scale = 10u128.pow(part.len() as u32);
    let part: u128 = if part.is_empty() { 0 } else { part.parse().ok()? };
    let whole: u64 = whole.parse().ok()?;
    let value = (u128::from(whole) * scale + part) * u128::from(unit);
    u64::try_from((value + scale / 2) / scale).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_is_read() {
        let steps = parse("# gaps\n1200,0.25\n1251.2, 0.75\n2000,1\n").unwrap();
        let step = |share, ps| PullGap { share, gap: TimeDelta::from_ps(ps) };
        assert_eq!(
            steps,
            [step(1 << 30, 1_200_000), step(3 << 30, 1_251_200), step(u32::MAX, 2_000_000)]
        );
    }

    #[test]
    fn errors_name_their_line() {
        let line = |text: &str| parse(text).map(|_| ()).unwrap_err().0;
        assert_eq!(line("1200,0.5\n1100,1\n"), 2);
        assert_eq!(line("1200,0.5\n1300,0.5\n"), 2);
        assert_eq!(line("1200,1.5\n"), 1);
        assert_eq!(line("1200\n"), 1);
        assert_eq!(line("1200,x\n"), 1);
        assert_eq!(line("1200,0.5\n1300,0.9\n"), 2);
        assert_eq!(line(""), 0);
    }

    #[test]
    fn the_built_in_distributions_keep_the_mean_rate() {
        for (name, text) in BUILT_IN.into_iter().zip(BUILT_IN_TEXTS) {
            let wire = if name.ends_with("1500") { 1_251_200.0 } else { 7_251_200.0 };
            let mut mean = 0.0;
            let mut below = 0.0;
            for step in parse(text).unwrap() {
                let share = f64::from(step.share) / f64::from(u32::MAX);
                mean += (share - below) * step.gap.as_ps() as f64;
                below = share;
            }
            // Real hosts are late for some pulls and never early.
            let late = if name.starts_with("measured") { 0.01..0.03 } else { -0.001..0.001 };
            assert!(late.contains(&(mean / wire - 1.0)), "{name}: {mean}");
        }
    }
}
