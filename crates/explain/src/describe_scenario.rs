//! Describes a scenario: its series, warnings and cost.

use std::fmt;

use serde::{Serialize, Serializer};
use trimline_sim::scenario::{Run, Scenario, Warning};

use crate::describe_plan::{self, different};
use crate::estimate::{Estimate, human_bytes};
use crate::line::{Line, plural, shortened, wrapped};
use crate::warnings;

/// A scenario in words. Its text has lines of 80 columns, and of later series only what differs from the first.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    name: String,
    description: String,
    runs: usize,
    series: Vec<Series>,
    warnings: Vec<Doubt>,
    estimate: Cost,
}

#[derive(Clone, Debug, Serialize)]
struct Series {
    series: String,
    #[serde(serialize_with = "with_subjects")]
    settings: Vec<Line>,
    sweep: Vec<Swept>,
    seeds: Vec<u64>,
}

/// A key of the sweep, with its values.
#[derive(Clone, Debug, Serialize)]
struct Swept {
    key: String,
    values: Vec<String>,
}

/// A warning, with the first run that has it.
#[derive(Clone, Debug, Serialize)]
struct Doubt {
    about: &'static str,
    sentence: String,
    run: String,
}

/// Estimated cost: hops and time of all runs together, memory of the largest run.
#[derive(Clone, Copy, Debug, Serialize)]
struct Cost {
    packet_hops: u64,
    one_core_seconds: f64,
    memory_bytes_per_run: u64,
}

/// Describes a scenario: the settings of each series, its sweep and seeds, warnings, and the cost of all runs.
pub fn describe(scenario: &Scenario) -> Description {
    let doubt = |(Warning { about, sentence }, run): (Warning, &Run)| Doubt {
        about,
        sentence,
        run: run.name.clone(),
    };
    Description {
        name: scenario.name.clone(),
        description: scenario.description.clone(),
        runs: scenario.runs.len(),
        series: scenario
            .runs
            .chunk_by(|a, b| a.plan.series == b.plan.series)
            .map(Series::of)
            .collect(),
        warnings: warnings::warnings(&scenario.runs).into_iter().map(doubt).collect(),
        estimate: Cost::of(&scenario.runs),
    }
}

impl fmt::Display for Description {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.name.is_empty() {
            let separator = if self.description.is_empty() { "" } else { ": " };
            let title = format!("{}{separator}{}", self.name, self.description);
            writeln!(out, "{}", wrapped(&title, 2))?;
        }
        writeln!(out, "{} run{}", self.runs, plural(self.runs))?;
        for (place, series) in self.series.iter().enumerate() {
            let first = &self.series[0];
            let (more, lines) = match place {
                0 => (String::new(), series.settings.clone()),
                _ => (
                    format!(": as {}, but", first.series),
                    different(&first.settings, &series.settings),
                ),
            };
            if !series.series.is_empty() {
                writeln!(out, "\nseries {}{more}", series.series)?;
            }
            let sweep = series.sweep.iter().map(Swept::line);
            for line in lines.into_iter().chain(sweep).chain([series.seeds()]) {
                out.write_str(&line.text())?;
            }
        }
        if !self.warnings.is_empty() {
            writeln!(out)?;
        }
        for Doubt { about, sentence, run } in self.warnings.iter().take(MAX_WARNINGS) {
            let of = if self.runs > 1 { format!(" ({run})") } else { String::new() };
            out.write_str(&Line::new(about, format!("{sentence}{of}")).text())?;
        }
        self.estimate.fmt(out)
    }
}

/// Max number of warnings in a text.
const MAX_WARNINGS: usize = 24;

impl Series {
    /// Describes the runs of one series.
    fn of(runs: &[Run]) -> Series {
        let Run { plan, output, point, .. } = &runs[0];
        let swept = |(place, (key, _)): (usize, &(String, String))| {
            let values = runs.iter().filter_map(|run| Some(run.point.get(place)?.1.clone()));
            Swept { key: key.clone(), values: distinct(values) }
        };
        Series {
            series: plan.series.clone(),
            settings: describe_plan::describe(plan, output),
            sweep: point.iter().enumerate().map(swept).collect(),
            seeds: distinct(runs.iter().map(|run| run.plan.seed)),
        }
    }

    fn seeds(&self) -> Line {
        let seeds: Vec<String> = self.seeds.iter().map(u64::to_string).collect();
        let numbers: Vec<&str> = seeds.iter().map(String::as_str).collect();
        let about = if numbers.len() == 1 { "seed" } else { "seeds" };
        Line::new(about, shortened(&numbers))
    }
}

impl Swept {
    fn line(&self) -> Line {
        let values: Vec<&str> = self.values.iter().map(String::as_str).collect();
        Line::new("sweep", format!("{}: {}", self.key, shortened(&values)))
    }
}

/// Writes lines with the subject of each: in a text only the first line of a subject names it.
fn with_subjects<S: Serializer>(lines: &[Line], out: S) -> Result<S::Ok, S::Error> {
    let mut subject = "";
    out.collect_seq(lines.iter().map(|line| {
        if !line.about.is_empty() {
            subject = &line.about;
        }
        Line::new(subject, &*line.described)
    }))
}

/// Values without repetitions, in their order.
fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

impl Cost {
    fn of(runs: &[Run]) -> Cost {
        let mut total = Estimate::default();
        for run in runs {
            let estimate = Estimate::of(&run.plan);
            total.hops += estimate.hops;
            total.seconds += estimate.seconds;
            total.megabytes = total.megabytes.max(estimate.megabytes);
        }
        Cost {
            packet_hops: total.hops.round() as u64,
            one_core_seconds: total.seconds,
            memory_bytes_per_run: (total.megabytes * 1e6).round() as u64,
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "\nroughly {:.1} million packet-hops, {} on one core, {} of memory per run",
            self.packet_hops as f64 / 1e6,
            human_time(self.one_core_seconds),
            human_bytes(self.memory_bytes_per_run as f64 / 1e6),
        )
    }
}

fn human_time(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 1.0 => format!("{:.0} ms", seconds * 1000.0),
        seconds if seconds < 120.0 => format!("{seconds:.1} s"),
        seconds => format!("{:.0} min", seconds / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario;

    fn of(text_of: &str) -> String {
        describe(&scenario(text_of)).to_string()
    }

    #[test]
    fn the_description_of_a_scenario_fits_a_terminal() {
        let shown = of("name = \"mixed\"\nseeds = \"1..3\"\nduration = \"1ms\"\n\
            topology.fattree = { k = 8, tiers = 2, oversubscription = 3 }\nimpairment.loss = \"0.1%\"\n\
            output.ports = true\n[[workload]]\nname = \"background\"\nrandom = {}\n\
            size = \"90KB\"\narrivals.poisson.load = \"60%\"\n\
            [[series]]\nname = \"ndp\"\ntransport.ndp = {}\n\
            [[series]]\nname = \"dctcp\"\ntransport.dctcp = {}\n\
            [[series]]\nname = \"short\"\nswitch.data_queue = \"4pkt\"\n");
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/explain.txt");
        if std::env::var_os("TRIMLINE_BLESS").is_some() {
            std::fs::write(file, &shown).unwrap();
        }
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        assert_eq!(shown, std::fs::read_to_string(file).unwrap_or_default());
    }

    /// Every word of the text, but for what later series do not repeat, is in the JSON.
    #[test]
    fn a_description_holds_what_its_text_holds() {
        let text = "name = \"pair\"\nseeds = \"1..2\"\ntopology.star.hosts = 3\n\
            [[workload]]\nname = \"w\"\nrandom = {}\nsize = \"90KB\"\narrivals.poisson.load = \"200%\"\n\
            [sweep]\nlinks.rate = [\"10Gbps\", \"40Gbps\"]\n\
            [[series]]\nname = \"a\"\n[[series]]\nname = \"b\"\ntransport.dctcp = {}\n";
        let described = describe(&scenario(&format!("duration = \"1ms\"\n{text}")));
        let json = serde_json::to_value(&described).unwrap();
        let series = json["series"].as_array().unwrap();
        assert_eq!(series.len(), 2);
        assert_eq!(series[1]["sweep"][0]["values"], serde_json::json!(["10Gbps", "40Gbps"]));
        assert_eq!(series[0]["seeds"], serde_json::json!([1, 2]));
        assert!(json["warnings"][0]["sentence"].as_str().unwrap().contains("offers"));
        assert!(json["estimate"]["packet_hops"].as_u64().unwrap() > 1000);
        let settings = series.iter().flat_map(|of| of["settings"].as_array().unwrap());
        let all: Vec<&serde_json::Value> = settings.collect();
        assert!(all.iter().all(|line| line["about"] != ""), "{all:?}");
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown = words(&described.to_string());
        for line in series[0]["settings"].as_array().unwrap() {
            assert!(shown.contains(&words(line["described"].as_str().unwrap())), "{line}\n{shown}");
        }
    }

    #[test]
    fn a_single_seed_and_several_seeds_are_listed() {
        let star = "topology.star.hosts = 3\n[[workload]]\nname = \"w\"\npermutation = {}\nsize = \"9KB\"\n";
        assert!(of(&format!("seeds = [3]\n{star}")).contains("seed       3\n"));
        assert!(of(&format!("seeds = \"1..3\"\n{star}")).contains("seeds      1, 2, 3\n"));
    }
}
