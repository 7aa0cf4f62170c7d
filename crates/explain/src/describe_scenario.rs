//! Describes a scenario: its series, warnings and cost.

use trimline_sim::scenario::{Run, Scenario, Warning};

use crate::describe_plan::{self, different};
use crate::estimate::{Estimate, human_bytes};
use crate::line::{Line, plural, shortened};
use crate::warnings;

/// Describes a scenario in lines of 80 columns: the settings of each series, its sweep and seeds, then warnings, then the
/// cost of all runs. Later series show what differs from the first.
pub fn describe(scenario: &Scenario) -> String {
    let mut text = String::new();
    if !scenario.name.is_empty() {
        let description = match scenario.description.as_str() {
            "" => String::new(),
            described => format!(": {described}"),
        };
        text += &format!("{}{description}\n", scenario.name);
    }
    let runs = scenario.runs.len();
    text += &format!("{runs} run{}\n", plural(runs));
    let mut first: Option<(&str, Vec<Line>)> = None;
    // A description per series, then its sweep and seeds.
    for of_series in scenario.runs.chunk_by(|a, b| a.plan.series == b.plan.series) {
        let run = &of_series[0];
        let lines = describe_plan::describe(&run.plan, &run.output);
        let shown = match &first {
            None => {
                text += &title(&run.plan.series, "");
                lines.clone()
            }
            Some((name, lines_of_first)) => {
                text += &title(&run.plan.series, &format!(": as {name}, but"));
                different(lines_of_first, &lines)
            }
        };
        text += &shown.iter().map(Line::text).collect::<String>();
        text += &varied(of_series);
        first.get_or_insert((&run.plan.series, lines));
    }
    text + &doubts(&scenario.runs) + &cost(&scenario.runs)
}

fn title(series: &str, more: &str) -> String {
    if series.is_empty() { String::new() } else { format!("\nseries {series}{more}\n") }
}

/// The warnings of runs, with the first run of each.
fn doubts(runs: &[Run]) -> String {
    let line = |(warning, run): &(Warning, &Run)| {
        let of = if runs.len() > 1 { format!(" ({})", run.name) } else { String::new() };
        let described = format!("{}{of}", warning.sentence);
        Line { about: warning.about.to_owned(), described }.text()
    };
    let lines = warnings::warnings(runs).iter().take(24).map(line).collect::<String>();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

fn cost(runs: &[Run]) -> String {
    let mut total = Estimate::default();
    for run in runs {
        let estimate = Estimate::of(&run.plan);
        total.hops += estimate.hops;
        total.seconds += estimate.seconds;
        total.megabytes = total.megabytes.max(estimate.megabytes);
    }
    format!(
        "\nroughly {:.1} million packet-hops, {} on one core, {} of memory per run\n",
        total.hops / 1e6,
        human_time(total.seconds),
        human_bytes(total.megabytes),
    )
}

fn varied(runs: &[Run]) -> String {
    let mut text = String::new();
    for (place, (key, _)) in runs[0].point.iter().enumerate() {
        let mut values: Vec<&str> = Vec::new();
        for value in runs.iter().filter_map(|run| run.point.get(place)) {
            if !values.contains(&value.1.as_str()) {
                values.push(&value.1);
            }
        }
        let described = format!("{key}: {}", shortened(&values));
        text += &Line { about: "sweep".to_owned(), described }.text();
    }
    let mut seeds: Vec<String> = Vec::new();
    for seed in runs.iter().map(|run| run.plan.seed.to_string()) {
        if !seeds.contains(&seed) {
            seeds.push(seed);
        }
    }
    let numbers: Vec<&str> = seeds.iter().map(String::as_str).collect();
    let (about, described) = match &numbers[..] {
        [only] => ("seed", (*only).to_owned()),
        several => ("seeds", shortened(several)),
    };
    text + &Line::new(about, described).text()
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
        let scenario = scenario(text_of);
        describe(&scenario)
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

    #[test]
    fn a_single_seed_and_several_seeds_are_listed() {
        let star = "topology.star.hosts = 3\n[[workload]]\nname = \"w\"\npermutation = {}\nsize = \"9KB\"\n";
        assert!(of(&format!("seeds = [3]\n{star}")).contains("seed       3\n"));
        assert!(of(&format!("seeds = \"1..3\"\n{star}")).contains("seeds      1, 2, 3\n"));
    }
}
