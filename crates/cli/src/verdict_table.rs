//! Verdicts for people: a table of all, or a line for an experiment.

use trimline_experiments::verdicts::{Missed, Span, Tier, Verdict};
use trimline_explain::wrapped;

use crate::terminal::{WIDTH, aligned, has_colours};

/// Numbers of judged findings and of findings that hold; findings about a sign count separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    ranges: [usize; 2],
    signs: [usize; 2],
}

impl Count {
    pub(crate) fn add(&mut self, verdicts: &[Verdict]) {
        for verdict in verdicts.iter().filter(|verdict| verdict.is_judged()) {
            let [judged, hold] = if verdict.sign { &mut self.signs } else { &mut self.ranges };
            *judged += 1;
            *hold += usize::from(verdict.holds);
        }
    }

    /// Describes both kinds together.
    pub(crate) fn describe(self) -> String {
        let Count { ranges, signs } = self;
        format!("{} of {} findings hold", ranges[1] + signs[1], ranges[0] + signs[0])
    }

    /// Describes each kind, in one line.
    pub(crate) fn line(&self) -> String {
        let Count { ranges: [ranges, ranges_hold], signs: [signs, signs_hold] } = self;
        format!(
            "findings with a range: {ranges_hold} of {ranges} hold; with only a sign: {signs_hold} of {signs} hold\n"
        )
    }
}

/// The number of findings that hold, and the first judged finding, in 80 columns.
pub(crate) fn summary(id: &str, title: &str, verdicts: &[Verdict], tier: Tier) -> String {
    let mut count = Count::default();
    count.add(verdicts);
    let counted = format!("  {}", count.describe());
    let title = wrapped(&format!("{id}: {title}{}", part(tier)), 2);
    let mut text = format!("{title}\n{counted}");
    let first = verdicts.iter().find(|verdict| verdict.is_judged());
    if let Some(Verdict { name, ours: Some(ours), unit, paper, .. }) = first {
        let paper = paper.map_or(String::new(), |paper| format!(" (paper {})", significant(paper)));
        let described = format!("{name}: {} {unit}{paper}", significant(*ours));
        let is_short = counted.chars().count() + 2 + described.chars().count() <= WIDTH;
        text += if is_short { "; " } else { "\n" };
        text += &if is_short { described } else { wrapped(&format!("  {described}"), 4) };
    }
    text + "\n"
}

/// The verdicts for people.
pub(crate) fn table(id: &str, title: &str, verdicts: &[Verdict], tier: Tier) -> String {
    let head =
        ["finding", "paper", "reference", "ours", "range", "unit", "mean over seeds", "verdict"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for verdict in verdicts {
        let number = |number: Option<f64>| number.map_or("-".to_owned(), significant);
        let range = match (verdict.lo, verdict.hi) {
            (None, None) => "-".to_owned(),
            (lo, hi) => format!(
                "{}..{}{}",
                lo.map(significant).unwrap_or_default(),
                hi.map(significant).unwrap_or_default(),
                if verdict.sign { " sign" } else { "" }
            ),
        };
        let seeds = verdict.seeds.map_or("-".to_owned(), |interval| match interval.half_width {
            Some(half_width) => format!("{} ± {half_width:.2}", significant(interval.mean)),
            None => significant(interval.mean),
        });
        rows.push(vec![
            verdict.name.clone(),
            number(verdict.paper),
            match verdict.baseline {
                Some(Span { from, to }) if from < to => {
                    format!("{}..{}", significant(from), significant(to))
                }
                Some(Span { from, .. }) => significant(from),
                None => number(verdict.reference),
            },
            number(verdict.ours),
            range,
            verdict.unit.clone(),
            seeds,
            match (verdict.holds, verdict.lo.or(verdict.hi)) {
                _ if verdict.not_judged => "not judged",
                (true, Some(_)) => "holds",
                (true, None) => "reported",
                (false, _) => verdict.missed.map_or("DOES NOT HOLD", miss),
            }
            .to_owned(),
        ]);
    }
    let title = wrapped(&format!("{id}: {title}{}", part(tier)), 2);
    let mut text = format!("\n{title}\n");
    let of_rows = std::iter::once(None).chain(verdicts.iter().map(Some));
    for (row, verdict) in aligned(&rows).iter().zip(of_rows) {
        let is_refuted = verdict.is_some_and(|verdict| !verdict.holds);
        if is_refuted && has_colours() {
            text += &format!("\x1b[31m{}\x1b[0m\n", row.trim_end());
        } else {
            text += row;
        }
    }
    let mut count = Count::default();
    count.add(verdicts);
    text + &count.line()
}

/// The text after a title.
fn part(tier: Tier) -> &'static str {
    match tier {
        Tier::Full => "",
        Tier::Quick => " (quick tier: some of the runs)",
        Tier::Partial => " (some of the series)",
    }
}

fn miss(missed: Missed) -> &'static str {
    match missed {
        Missed::AsBaseline => "MISSES THE PAPER, AS THE BASELINE DOES",
        Missed::Both => "MISSES BOTH",
        Missed::NoProgram => "MISSES THE PAPER; NO PROGRAM",
        Missed::CauseKnown => "DOES NOT HOLD; CAUSE KNOWN",
    }
}

/// Up to four decimals, no trailing zeros.
fn significant(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_and_ranges_are_counted_separately() {
        let of = |sign, hi, holds| Verdict { sign, hi, holds, ..Verdict::default() };
        let verdicts = [
            of(true, Some(0.0), true),
            of(true, Some(0.0), false),
            of(false, Some(-5.0), true),
            of(false, None, true),
            Verdict { not_judged: true, ..of(false, Some(99.0), true) },
        ];
        let mut count = Count::default();
        count.add(&verdicts);
        assert_eq!(
            count.line(),
            "findings with a range: 1 of 1 hold; with only a sign: 1 of 2 hold\n"
        );
        let table = table("p/f", "t", &verdicts, Tier::Full);
        assert_eq!(table.matches("..0 sign").count(), 2, "{table}");
        assert!(table.ends_with(&count.line()), "{table}");
    }

    #[test]
    fn numbers_are_printed_with_few_digits() {
        assert_eq!(significant(92.0), "92");
        assert_eq!(significant(1668.1248), "1668.1248");
        assert_eq!(significant(0.045_77), "0.0458");
        assert_eq!(significant(100.0), "100");
    }
}
