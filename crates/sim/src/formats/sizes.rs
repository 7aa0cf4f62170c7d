//! Flow-size distributions: `size cumulative` lines as in HPCC, Homa and dcPIM, with shares up to 1, and tables of
//! percentiles. Words are separated by blanks or commas.
//!
//! A distribution has points (size, share of flows up to it) and a reading between them. Read as *steps*, a draw `u`
//! gives the first size whose share reaches `u`, so only the sizes of the file occur. Read *linearly*, sizes between
//! two points are equally likely; a size that occurs twice is an atom. Homa's simulations draw steps, HPCC's and
//! dcPIM's draw linearly; a scenario may choose the other reading.

use super::{FormatError, Text, decimal};

/// The whole of a distribution, which shares are parts of.
pub const WHOLE: u64 = 1_000_000_000_000_000_000;

/// The largest size of a distribution, in bytes. Means stay exact in 128 bits.
const LARGEST: u64 = 1 << 50;

/// Interpolation between two points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The first size whose share reaches the draw.
    Step,
    /// Linear between the two sizes around the draw.
    Linear,
}

/// Form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `size_bytes cumulative_percent`, from 0 to 100.
    Hpcc,
    /// The mean, then `size cumulative_probability`, to 1.
    Homa,
    /// `packets 1 cumulative_probability`, from 0 to 1.
    Dcpim,
    /// `size_bytes cumulative_probability`, to 1; a line of names may come first.
    Cdf,
}

impl Form {
    /// Returns the name in scenarios.
    pub fn name(self) -> &'static str {
        match self {
            Form::Hpcc => "hpcc",
            Form::Homa => "homa",
            Form::Dcpim => "dcpim",
            Form::Cdf => "cdf",
        }
    }

    /// Returns the reading of the simulations that the form comes from.
    pub fn reading(self) -> Reading {
        match self {
            Form::Homa => Reading::Step,
            Form::Hpcc | Form::Dcpim | Form::Cdf => Reading::Linear,
        }
    }

    /// Detects the form of a text by the number of words in its first line; with two words, by whether the last share
    /// is 1.
    pub fn of(text: &str) -> Option<Form> {
        let mut lines = points_of(Text { file: "", text });
        let (_, words) = lines.next()?;
        match words.len() {
            1 => Some(Form::Homa),
            2 => match lines.last().and_then(|(_, words)| decimal(words.last()?, WHOLE)) {
                Some(WHOLE) => Some(Form::Cdf),
                _ => Some(Form::Hpcc),
            },
            3 => Some(Form::Dcpim),
            _ => None,
        }
    }
}

/// Returns the lines with their numbers and words, without a line of names before the first point.
fn points_of<'a>(text: Text<'a>) -> impl Iterator<Item = (usize, Vec<&'a str>)> {
    let lines = text.lines().map(|(number, words)| {
        let parts = words.into_iter().flat_map(|word| word.split(','));
        (number, parts.filter(|part| !part.is_empty()).collect::<Vec<_>>())
    });
    let mut lines = lines.peekable();
    lines.next_if(|(_, words)| {
        words.len() == 2 && words.iter().all(|word| word.starts_with(char::is_alphabetic))
    });
    lines
}

/// A flow-size distribution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeDistribution {
    /// Pairs of bytes and share of flows up to this size, in parts of [`WHOLE`]: both never fall, and the last share is
    /// [`WHOLE`].
    points: Vec<(u64, u64)>,
    reading: Reading,
}

impl SizeDistribution {
    /// Reads a file. `unit` is the bytes of one unit of its sizes, for files that count packets.
    ///
    /// # Errors
    /// Returns the first line that is not a point of a distribution.
    pub fn parse(
        file: &str,
        text: &str,
        form: Form,
        unit: u64,
        reading: Reading,
    ) -> Result<SizeDistribution, FormatError> {
        let text = Text { file, text };
        let expected = match form {
            Form::Hpcc => "`size_bytes cumulative_percent`, percents rising from 0 to 100",
            Form::Homa => {
                "the mean in the first line, then `size cumulative_probability`, rising to 1"
            }
            Form::Dcpim => "`packets 1 cumulative_probability`, rising from 0 to 1",
            Form::Cdf => "`size_bytes cumulative_probability`, rising to 1",
        };
        let mut lines = points_of(text);
        if form == Form::Homa {
            match lines.next() {
                Some((_, words)) if words.len() == 1 && decimal(words[0], 1).is_some() => {}
                Some((line, _)) => return Err(text.error(line, "no mean", expected)),
                None => return Err(text.error(1, "an empty file", expected)),
            }
        }
        let mut points: Vec<(u64, u64)> = Vec::new();
        let mut last_line = 1;
        for (line, words) in lines {
            last_line = line;
            let error = |problem: String| text.error(line, problem, expected);
            let (size, share) = match (form, &words[..]) {
                (Form::Hpcc, [size, percent]) => (size, decimal(percent, WHOLE / 100)),
                (Form::Homa | Form::Cdf, [size, share]) => (size, decimal(share, WHOLE)),
                (Form::Dcpim, [packets, one, share]) if decimal(one, 1) == Some(1) => {
                    (packets, decimal(share, WHOLE))
                }
                _ => return Err(error(format!("`{}`", words.join(" ")))),
            };
            let size = decimal(size, unit).filter(|&size| size <= LARGEST);
            let Some((size, share)) = size.zip(share) else {
                return Err(error(format!("no size and share in `{}`", words.join(" "))));
            };
            if let Some(&(before, reached)) = points.last() {
                let rises = match form {
                    Form::Hpcc => size > before && share > reached,
                    Form::Homa | Form::Dcpim | Form::Cdf => size >= before && share >= reached,
                };
                if !rises {
                    return Err(error("a size or a share that does not rise".to_owned()));
                }
            } else if matches!(form, Form::Hpcc | Form::Dcpim) && share != 0 {
                return Err(error("the first share is not 0".to_owned()));
            }
            if share > WHOLE {
                return Err(error("a share beyond the whole".to_owned()));
            }
            points.push((size, share));
        }
        SizeDistribution::new(points, reading)
            .map_err(|problem| text.error(last_line, problem, expected))
    }

    /// Reads one column of a table `percentile,NAME,...` as steps. Cells may be empty.
    ///
    /// # Errors
    /// Refuses a missing column, and a line that does not fit the table.
    pub fn percentiles(
        file: &str,
        text: &str,
        column: &str,
    ) -> Result<SizeDistribution, FormatError> {
        let text = Text { file, text };
        let expected = "a line of names, `percentile` first, then rising percentiles and sizes";
        let mut lines = (1..).zip(text.body().lines()).filter(|(_, line)| !line.starts_with('#'));
        let Some((head, names)) = lines.next() else {
            return Err(text.error(1, "an empty file", expected));
        };
        let Some(place) = names.split(',').position(|name| name == column) else {
            return Err(text.error(head, format!("no column `{column}`"), expected));
        };
        let mut points: Vec<(u64, u64)> = Vec::new();
        let mut last_line = head;
        for (line, row) in lines {
            last_line = line;
            let cells: Vec<&str> = row.split(',').map(str::trim).collect();
            let Some(&cell) = cells.get(place) else {
                return Err(text.error(line, "too few cells", expected));
            };
            if cell.is_empty() {
                continue;
            }
            let point = decimal(cell, 1).zip(decimal(cells[0], WHOLE / 100));
            let rises = |&(size, share): &(u64, u64)| {
                size <= LARGEST && points.last().is_none_or(|last| size >= last.0 && share > last.1)
            };
            match point.filter(rises) {
                Some(point) => points.push(point),
                None => return Err(text.error(line, format!("`{row}`"), expected)),
            }
        }
        // NDP evaluation, TR-933: flows above the last percentile have its size.
        if let Some(last) = points.last_mut() {
            last.1 = WHOLE;
        }
        SizeDistribution::new(points, Reading::Step)
            .map_err(|problem| text.error(last_line, problem, expected))
    }

    /// Creates a step distribution of sizes in bytes, each with its weight. The probability of a size is its weight
    /// over the sum of all weights.
    ///
    /// # Errors
    /// Refuses an empty list, a size of 0 or above 2^50 B, and weights that are all 0 or whose sum exceeds 64 bits.
    pub fn mixture(parts: &[(u64, u64)]) -> Result<SizeDistribution, &'static str> {
        let mut parts = parts.to_vec();
        parts.sort_unstable();
        if parts.iter().any(|&(size, _)| !(1..=LARGEST).contains(&size)) {
            return Err("a size of nothing, or beyond 2^50 B");
        }
        let sum = parts.iter().try_fold(0u64, |sum, &(_, weight)| sum.checked_add(weight));
        let sum = sum.ok_or("weights that are too large")?;
        if sum == 0 {
            return Err("no weight");
        }
        let mut reached = 0;
        let point = |&(size, weight): &(u64, u64)| {
            reached += u128::from(weight);
            (size, (u128::from(WHOLE) * reached / u128::from(sum)) as u64)
        };
        SizeDistribution::new(parts.iter().map(point).collect(), Reading::Step)
    }

    fn new(points: Vec<(u64, u64)>, reading: Reading) -> Result<SizeDistribution, &'static str> {
        match points.last() {
            None => return Err("no points"),
            Some(&(0, _)) => return Err("all flows would be empty"),
            Some(&(_, WHOLE)) => {}
            Some(_) => return Err("the shares do not reach the whole"),
        }
        Ok(SizeDistribution { points, reading })
    }

    /// Returns the size for a uniform draw below [`WHOLE`]: at least one byte.
    pub fn size(&self, draw: u64) -> u64 {
        // Draws are 0..WHOLE, and shares count draws: a size with share s belongs to the draws below s.
        let place = self.points.partition_point(|&(_, share)| share <= draw);
        let place = place.min(self.points.len() - 1);
        let (above, reached) = self.points[place];
        let size = match (self.reading, place) {
            (Reading::Step, _) | (Reading::Linear, 0) => above,
            (Reading::Linear, _) => {
                let (below, before) = self.points[place - 1];
                let span = u128::from(reached - before);
                let part = u128::from(above - below) * u128::from(draw - before);
                below + ((part + span / 2) / span) as u64
            }
        };
        size.max(1)
    }

    /// Returns the mean size in thousandths of a byte, rounded down.
    pub fn mean_millibytes(&self) -> u64 {
        let mut sum: u128 = 0;
        let mut before = (0, 0);
        for (place, &(size, share)) in self.points.iter().enumerate() {
            let weight = u128::from(share - before.1);
            // Twice the mean of the sizes between the two points.
            let twice = match (self.reading, place) {
                (Reading::Step, _) | (Reading::Linear, 0) => 2 * u128::from(size),
                (Reading::Linear, _) => u128::from(size) + u128::from(before.0),
            };
            sum += weight * twice;
            before = (size, share);
        }
        // Sizes stay below 2^50 and shares below 2^60.
        (sum / u128::from(WHOLE / 500)) as u64
    }

    /// Returns the largest size.
    pub fn largest(&self) -> u64 {
        self.points.last().map_or(1, |point| point.0)
    }

    /// Returns the interpolation between two points.
    pub fn reading(&self) -> Reading {
        self.reading
    }

    /// Returns pairs of bytes and share of flows up to this size, in parts of [`WHOLE`].
    pub fn points(&self) -> &[(u64, u64)] {
        &self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SizeDistribution, String> {
        let form = Form::of(text).unwrap_or(Form::Hpcc);
        SizeDistribution::parse("f.txt", text, form, 1, form.reading())
            .map_err(|error| error.to_string())
    }

    const HALF: u64 = WHOLE / 2;

    #[test]
    fn hpcc_sizes_are_linear_between_points() {
        let sizes = parse("0 0\n100 50\n300 100\n").unwrap();
        let at = |draw| sizes.size(draw);
        assert_eq!((at(0), at(HALF / 2), at(HALF), at(WHOLE - 1)), (1, 50, 100, 300));
        // The mean of half of the flows is 50 and of the other half 200.
        assert_eq!(sizes.mean_millibytes(), 125_000);
    }

    #[test]
    fn homa_sizes_are_steps_and_may_repeat() {
        let sizes = parse("1.5\n10 0.25\n10 0.5\n30 1.0\n").unwrap();
        let at = |draw| sizes.size(draw);
        assert_eq!((at(0), at(HALF - 1), at(HALF), at(WHOLE - 1)), (10, 10, 30, 30));
        assert_eq!(sizes.mean_millibytes(), 20_000);
    }

    #[test]
    fn dcpim_sizes_count_packets_and_begin_with_an_atom() {
        let text = "1 1 0\n1 1 0.5\n3 1 1\n";
        let sizes = SizeDistribution::parse("f", text, Form::Dcpim, 1460, Reading::Linear).unwrap();
        assert_eq!(
            (sizes.size(0), sizes.size(HALF - 1), sizes.size(WHOLE - 1)),
            (1460, 1460, 4380)
        );
        assert_eq!(sizes.size(HALF + HALF / 2), 2920);
        assert_eq!(sizes.mean_millibytes(), 2_190_000);
    }

    #[test]
    fn a_cdf_rises_to_1_and_its_first_size_is_an_atom() {
        let csv = parse("size_bytes,cdf\n200,0.1\n1000,0.4\n2000,1.0\n").unwrap();
        assert_eq!(csv.points(), [(200, WHOLE / 10), (1000, WHOLE / 10 * 4), (2000, WHOLE)]);
        assert_eq!((csv.size(WHOLE / 10 - 1), csv.size(WHOLE / 4)), (200, 600));
        for same in ["200 0.1\n1000 0.4\n2000 1\n", "# a, b\n200, 0.1\n1000 , 0.4\n2000,1\n"] {
            assert_eq!(parse(same).unwrap(), csv, "{same}");
        }
        assert_eq!(parse("size,percent\n0,0\n9,100\n").unwrap(), parse("0 0\n9 100\n").unwrap());
        let error = parse("200 0.1\n1000 0.9\n").unwrap_err();
        assert!(error.contains("the first share is not 0"), "{error}");
    }

    #[test]
    fn percentiles_are_steps_and_the_last_size_takes_the_rest() {
        let text = "percentile,a_bytes,b_bytes\n5,,1\n10,250,2\n90,300,\n95,,4\n";
        let sizes = SizeDistribution::percentiles("t.csv", text, "a_bytes").unwrap();
        assert_eq!(sizes.points(), [(250, WHOLE / 10), (300, WHOLE)]);
        assert_eq!(sizes.size(WHOLE / 10 - 1), 250);
        assert_eq!(sizes.size(WHOLE / 10), 300);
        let error = SizeDistribution::percentiles("t.csv", text, "c").unwrap_err();
        assert!(error.to_string().starts_with("t.csv:1: no column `c`"), "{error}");
    }

    #[test]
    fn a_mixture_draws_sizes_by_their_weights() {
        // HULL 6.2.
        let sizes = SizeDistribution::mixture(&[(10_000_000, 1), (1000, 4)]).unwrap();
        assert_eq!(sizes.points(), [(1000, WHOLE / 5 * 4), (10_000_000, WHOLE)]);
        assert_eq!((sizes.size(WHOLE / 5 * 4 - 1), sizes.size(WHOLE / 5 * 4)), (1000, 10_000_000));
        assert_eq!(sizes.mean_millibytes(), 2_000_800_000);
        // Thirds, and a size of weight 0.
        let sizes = SizeDistribution::mixture(&[(1, 1), (2, 1), (5, 0), (3, 1)]).unwrap();
        let points = [(1, WHOLE / 3), (2, WHOLE / 3 * 2), (3, WHOLE), (5, WHOLE)];
        assert_eq!(sizes.points(), points);
        assert_eq!(sizes.size(WHOLE - 1), 3);
        for parts in [&[][..], &[(0, 1)], &[(1, 0)], &[(LARGEST + 1, 1)], &[(1, u64::MAX), (2, 1)]]
        {
            assert!(SizeDistribution::mixture(parts).is_err(), "{parts:?}");
        }
    }

    #[test]
    fn the_computed_mean_equals_the_mean_of_the_draws() {
        for text in ["0 0\n7 1\n100 50\n30000 100\n", "9\n3 0.1\n90 0.9\n1000 1\n"] {
            let sizes = parse(text).unwrap();
            const DRAWS: u64 = 100_000;
            let sum: u64 =
                (0..DRAWS).map(|n| sizes.size(WHOLE / DRAWS * n + WHOLE / 2 / DRAWS)).sum();
            let mean = sum as f64 / DRAWS as f64;
            let stated = sizes.mean_millibytes() as f64 / 1000.0;
            assert!((mean / stated - 1.0).abs() < 1e-3, "{mean} {stated}");
        }
    }

    #[test]
    fn errors_name_file_and_line() {
        for (text, line) in [
            ("0 0\n100 50\n90 100\n", 3),
            ("0 0\n100 50\n200 50\n", 3),
            ("0 0\n100 50\n", 2),
            ("0 1\n100 100\n", 1),
            ("0 0\n100 101\n", 2),
            ("0 0\n100 x\n", 2),
            ("0 0\n100 100 3\n", 2),
            ("mean\n", 1),
            ("5\n", 1),
            ("1 2 0\n", 1),
            ("# nothing\n", 1),
            ("0 0\n99999999999999999999 100\n", 2),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(&format!("f.txt:{line}: ")), "{text:?}: {error}");
        }
    }
}
