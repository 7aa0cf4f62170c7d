//! The baseline of a finding: results of the authors' published program.

use serde::{Deserialize, Serialize};

/// Results of the authors' published program: exactly one of `value`, `from` with `to`, and `none`, the reason for no
/// result.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Baseline {
    /// Value of the only run, or of all runs.
    value: Option<f64>,
    /// Min of several runs.
    from: Option<f64>,
    /// Max of several runs.
    to: Option<f64>,
    /// The program, and how it was run.
    source: Option<String>,
    /// Why no published program does this work.
    none: Option<String>,
}

/// Results of several runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Span {
    /// Min.
    pub from: f64,
    /// Max.
    pub to: f64,
}

impl Baseline {
    /// Checks the fields. Returns a mistake, if any.
    pub(crate) fn mistake(&self) -> Option<&'static str> {
        let said = [self.value.is_some(), self.from.or(self.to).is_some(), self.none.is_some()];
        if said.iter().filter(|is_said| **is_said).count() != 1 {
            return Some("baseline: expected exactly one of `value`, `from` with `to`, and `none`");
        }
        if self.from.is_some() != self.to.is_some()
            || self.from.zip(self.to).is_some_and(|(from, to)| from > to)
        {
            return Some("baseline: expected `from` and `to`, the min and the max value");
        }
        if self.source.is_none() != self.none.is_some() {
            return Some("baseline: expected a `source` for a number, and no `source` for `none`");
        }
        None
    }

    pub(crate) fn span(&self) -> Option<Span> {
        let (from, to) = self.value.map(|value| (value, value)).or(self.from.zip(self.to))?;
        Some(Span { from, to })
    }
}

/// The state of a finding that our runs miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missed {
    /// The baseline is beyond the same bound.
    AsBaseline,
    /// The baseline is within the bound: our runs miss both.
    Both,
    /// No published program does this work.
    NoProgram,
    /// The authors' program was not run for this work; expected.toml gives the cause.
    CauseKnown,
}

impl Missed {
    /// Compares a value beyond a bound with the baseline. `None` without `baseline` and reference.
    pub(crate) fn of(
        ours: f64,
        [lo, hi]: [Option<f64>; 2],
        baseline: Option<&Baseline>,
        span: Option<Span>,
    ) -> Option<Missed> {
        let Some(Span { from, to }) = span else { return baseline.map(|_| Missed::NoProgram) };
        let below = lo.is_some_and(|lo| ours < lo && from < lo);
        let above = hi.is_some_and(|hi| ours > hi && to > hi);
        Some(if below || above { Missed::AsBaseline } else { Missed::Both })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_has_one_value_a_range_or_a_reason() {
        for (text, mistake) in [
            ("value = 1.0\nsource = \"s\"", None),
            ("from = 1.0\nto = 2.0\nsource = \"s\"", None),
            ("none = \"why\"", None),
            ("source = \"s\"", Some("exactly one")),
            ("value = 1.0\nnone = \"why\"", Some("exactly one")),
            ("from = 1.0\nsource = \"s\"", Some("the min and the max")),
            ("from = 2.0\nto = 1.0\nsource = \"s\"", Some("the min and the max")),
            ("value = 1.0", Some("expected a `source`")),
            ("none = \"why\"\nsource = \"s\"", Some("expected a `source`")),
        ] {
            let baseline: Baseline = toml::from_str(text).unwrap();
            match (baseline.mistake(), mistake) {
                (None, None) => {}
                (Some(said), Some(part)) => assert!(said.contains(part), "{text}: {said}"),
                (said, _) => panic!("{text}: {said:?}"),
            }
        }
        assert!(toml::from_str::<Baseline>("mean = 1.0").is_err());
    }

    #[test]
    fn a_miss_matches_the_baseline_only_beyond_the_same_bound() {
        let baseline = Baseline::default();
        let of = |ours, from, to| {
            Missed::of(ours, [Some(3.0), Some(9.0)], Some(&baseline), Some(Span { from, to }))
        };
        assert_eq!(of(10.0, 8.0, 9.5), Some(Missed::AsBaseline));
        assert_eq!(of(10.0, 8.0, 9.0), Some(Missed::Both));
        assert_eq!(of(10.0, 1.0, 2.0), Some(Missed::Both));
        assert_eq!(of(2.0, 1.0, 8.0), Some(Missed::AsBaseline));
        assert_eq!(of(2.0, 10.0, 12.0), Some(Missed::Both));
        assert_eq!(
            Missed::of(2.0, [Some(3.0), None], Some(&baseline), None),
            Some(Missed::NoProgram)
        );
        assert_eq!(Missed::of(2.0, [Some(3.0), None], None, None), None);
    }
}
