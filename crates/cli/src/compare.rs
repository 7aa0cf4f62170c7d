//! `trimline compare`: a scenario with one transport after the other. The runs are those of `run`, a series for each
//! transport; the Python package makes the table and the figure.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use trimline_sim::transports::Transports;

use crate::failure::Failure;
use crate::reproduce::call_package;
use crate::run::run_scenario;
use crate::scenario_file::{parse_scenario, scenario_text};

/// What is compared, and where it goes.
#[derive(Debug)]
pub(crate) struct Options {
    /// Names with commas.
    pub(crate) transports: String,
    pub(crate) threads: Option<usize>,
    pub(crate) out: Option<PathBuf>,
    pub(crate) resume: bool,
}

/// Runs the scenario at `path` with each transport, and shows table and figure.
pub(crate) fn compare(
    path: &Path,
    format: Option<&str>,
    settings: &[String],
    options: Options,
    transports: &Transports,
) -> Result<ExitCode, Failure> {
    let names = names(&options.transports, transports)?;
    let text = scenario_text(path, format)?;
    if text.parse::<toml::Table>().is_ok()
        && with_series(&text, &names).parse::<toml::Table>().is_err()
    {
        return Err(Failure::message(format!(
            "{}: `series = [...]` cannot be added to; expected [[series]] tables",
            path.display()
        )));
    }
    let settings: Vec<String> = asked(&text).into_iter().chain(settings.iter().cloned()).collect();
    let mut scenario = parse_scenario(path, &with_series(&text, &names), &settings, transports)?;
    let is_transport = |series: &str| names.contains(&series);
    let own: BTreeSet<String> = (scenario.runs.iter().map(|run| run.plan.series.clone()))
        .filter(|series| !is_transport(series))
        .collect();
    if !own.is_empty() {
        let own = Vec::from_iter(own).join(", ");
        eprintln!("note: the scenario's own series are left out: {own}");
        scenario.runs.retain(|run| is_transport(&run.plan.series));
    }
    let out = folder(path, options.out);
    let code = run_scenario(&scenario, &settings, options.threads, out.clone(), options.resume)?;
    if code != ExitCode::SUCCESS {
        return Ok(code);
    }
    let arguments: Vec<_> =
        std::iter::once(out.into()).chain(names.iter().map(|&name| name.into())).collect();
    match call_package("comparison", &arguments, false)? {
        Some(0) => Ok(ExitCode::SUCCESS),
        _ => Ok(ExitCode::from(2)),
    }
}

/// The names of a list with commas: each that of a transport, each once.
fn names<'a>(list: &'a str, transports: &Transports) -> Result<Vec<&'a str>, Failure> {
    let names: Vec<&str> = list.split(',').map(str::trim).collect();
    for (place, &name) in names.iter().enumerate() {
        let wrong = |what: String| Err(Failure::message(format!("--transports: {what}")));
        if transports.find(name).is_none() {
            let known: Vec<&str> = transports.iter().map(|known| known.name()).collect();
            let nearest = transports.nearest(name).map(|name| format!("; nearest: {name}"));
            return wrong(format!(
                "no transport `{name}`; expected names with commas, of {}{}",
                known.join(", "),
                nearest.unwrap_or_default()
            ));
        }
        if names[..place].contains(&name) {
            return wrong(format!("`{name}` twice"));
        }
    }
    Ok(names)
}

/// The scenario's text with a series for each transport.
fn with_series(text: &str, names: &[&str]) -> String {
    let series = names
        .iter()
        .map(|name| format!("\n[[series]]\nname = \"{name}\"\ntransport.{name} = {{}}\n"));
    std::iter::once(text.to_owned()).chain(series).collect()
}

/// What the table needs of every run: utilisation of links, and queues over time where the scenario does not say how
/// often.
fn asked(text: &str) -> Vec<String> {
    let is_sampled =
        || Some(text.parse::<toml::Table>().ok()?.get("output")?.get("series").is_some());
    let mut asked = vec!["output.ports=true".to_owned()];
    if is_sampled() != Some(true) {
        asked.push("output.series=\"50us\"".to_owned());
    }
    asked
}

/// Where a comparison is written.
fn folder(path: &Path, out: Option<PathBuf>) -> PathBuf {
    out.unwrap_or_else(|| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        Path::new("out").join(format!("{name}-compare"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_transport_becomes_a_series() {
        let base = "topology.star.hosts = 3\n[[workload]]\nname = \"w\"\npermutation = {}\nsize = \"9KB\"\n";
        let known = Transports::built_in();
        let names_of = |text| names(text, &known).unwrap_or_else(|_| panic!("{text}"));
        let text = with_series(base, &names_of("ndp, cbr"));
        assert!(text.ends_with("[[series]]\nname = \"cbr\"\ntransport.cbr = {}\n"), "{text}");
        let refused = |text| match names(text, &known) {
            Err(Failure::Message(problem)) => problem,
            other => panic!("{text}: {other:?}"),
        };
        assert!(refused("ndp,").contains("no transport ``; expected"));
        assert!(refused("n\"dp").contains("nearest: ndp"));
        assert!(refused("ndp,tcp,ndp").contains("`ndp` twice"));
    }

    #[test]
    fn samples_are_asked_for_unless_the_scenario_says_how_often() {
        assert_eq!(asked("name = \"a\""), ["output.ports=true", "output.series=\"50us\""]);
        assert_eq!(asked("[output]\nseries = \"1us\""), ["output.ports=true"]);
        assert_eq!(asked("output.series = \"1us\""), ["output.ports=true"]);
    }
}
