//! The report of a testbed program: numbers by name, lines for people, files.

use std::collections::BTreeMap;

/// The results of a testbed program.
#[derive(Debug, Default)]
pub struct Report {
    /// Numbers by their names in testbed.toml.
    pub measures: BTreeMap<String, f64>,
    /// Lines for people.
    pub table: String,
    /// Further files: name and contents.
    pub files: Vec<(String, String)>,
    /// A missing feature of this machine, and the prefix of the measures absent without it.
    pub lacks: Option<(String, &'static str)>,
}

impl Report {
    pub(super) fn line(&mut self, text: &str) {
        self.table.push_str(text);
        self.table.push('\n');
    }

    pub(super) fn measure(&mut self, name: impl Into<String>, value: f64) {
        self.measures.insert(name.into(), value);
    }

    pub(super) fn of(&self, name: &str) -> f64 {
        self.measures.get(name).copied().unwrap_or(f64::NAN)
    }

    pub(super) fn of_rounds(&mut self, name: &str, values: impl Iterator<Item = f64>) -> [f64; 3] {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let found = [0.5, 0.0, 1.0].map(|share| quantile(&values, share));
        for (end, value) in ["", "_min", "_max"].into_iter().zip(found) {
            self.measure(format!("{name}{end}"), value);
        }
        found
    }

    pub(super) fn rounds(&mut self, label: &str, name: &str, values: impl Iterator<Item = f64>) {
        let [median, min, max] = self.of_rounds(name, values);
        self.line(&format!("  {label:50} {median:9.2} ({min:.2}, {max:.2})"));
    }
}

/// Returns the value below which this share of sorted values lies.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    match sorted.len() {
        0 => f64::NAN,
        count => sorted[((count - 1) as f64 * share).round() as usize],
    }
}
