//! A scenario with several transports or schemes in turn, as its series.

use std::path::Path;

use trimline_sim::scenario::Scenario;
use trimline_sim::transports::Transports;

use crate::failure::Failure;
use crate::import::FlowFormat;
use crate::scenario_file::{parse_scenario, scenario_text};
use crate::toml_text;

/// The series of a comparison.
#[derive(Debug)]
pub enum Compared {
    /// A series for each transport.
    Transports {
        /// Names with commas.
        names: String,
        /// A preset of TCP's timers.
        timers: Option<String>,
    },
    /// A series for each scheme: names with commas, or a file.
    Schemes(String),
}

/// A scenario that compares.
#[derive(Debug)]
pub struct Comparison {
    /// The scenario.
    pub scenario: Scenario,
    /// The settings of its runs: those given, and what the table of a comparison needs.
    pub settings: Vec<String>,
    /// The series of the file, which are left out.
    pub left_out: Vec<String>,
}

/// Reads the scenario at `path` with a series for each transport or scheme.
///
/// # Errors
/// Returns a mistake in the file, in `settings` or in the names.
pub fn read_comparison(
    path: &Path,
    format: Option<FlowFormat>,
    settings: &[String],
    compared: &Compared,
    transports: &Transports,
) -> Result<Comparison, Failure> {
    let text = scenario_text(path, format)?;
    let settings: Vec<String> = asked(&text).into_iter().chain(settings.iter().cloned()).collect();
    let (scenario, left_out) = match compared {
        Compared::Transports { names, timers } => {
            of_transports(path, &text, (names, timers.as_deref()), &settings, transports)?
        }
        Compared::Schemes(schemes) => of_schemes(path, &text, schemes, &settings, transports)?,
    };
    Ok(Comparison { scenario, settings, left_out })
}

/// Returns the scenario with a series per transport, and the names of its own.
fn of_transports(
    path: &Path,
    text: &str,
    (names, timers): (&str, Option<&str>),
    settings: &[String],
    transports: &Transports,
) -> Result<(Scenario, Vec<String>), Failure> {
    let names = self::names(names, transports)?;
    let own = own_series(text);
    let stays = can_be_added_to(text) && !own.iter().any(|own| names.contains(&&**own));
    let base = if stays {
        text.to_owned()
    } else {
        // Report mistakes by the lines of the file, which the other text does not have.
        parse_scenario(path, text, settings, transports)?;
        toml_text::without(text, &["series"])
    };
    let series = with_series(&base, &names, timers, transports);
    let mut scenario = parse_scenario(path, &series, settings, transports)?;
    scenario.runs.retain(|run| names.contains(&&*run.plan.series));
    Ok((scenario, own))
}

fn own_series(text: &str) -> Vec<String> {
    let read: Option<toml::Table> = text.parse().ok();
    let own = read.as_ref().and_then(|read| read.get("series")?.as_array());
    let named = |series: &toml::Value| Some(series.get("name")?.as_str()?.to_owned());
    own.into_iter().flatten().filter_map(named).collect()
}

/// True if series can be appended: not after `series = [...]`. Invalid TOML is left to the parser.
fn can_be_added_to(text: &str) -> bool {
    let is_toml = |text: &str| text.parse::<toml::Table>().is_ok();
    !is_toml(text) || is_toml(&format!("{text}\n[[series]]\nname = \"one\"\n"))
}

/// Returns the scenario with these schemes, and the names of its own series.
fn of_schemes(
    path: &Path,
    text: &str,
    schemes: &str,
    settings: &[String],
    transports: &Transports,
) -> Result<(Scenario, Vec<String>), Failure> {
    let file = Path::new(schemes);
    let is_file = file.extension().is_some_and(|ending| ending == "toml") || file.is_file();
    let (source, said) = match is_file {
        true => {
            let read = std::fs::read_to_string(file).map_err(|error| Failure::io(file, &error))?;
            (schemes.to_owned(), read)
        }
        false => ("--schemes".to_owned(), list_of(schemes)),
    };
    let name = path.display().to_string();
    let mut scenario =
        Scenario::parse_schemes((&name, text), (&source, &said), settings, transports)?;
    if scenario.name.is_empty() {
        scenario.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    }
    scenario.text = with_schemes(text, &said);
    Ok((scenario, own_series(text)))
}

/// Text for the result, which runs again with the same schemes. Names go before all tables, tables to the end.
fn with_schemes(text: &str, said: &str) -> String {
    let base = toml_text::without(text, &["series", "scheme", "schemes"]);
    let (names, tables) = toml_text::parts(said, &[]);
    // A byte-order mark is allowed at the beginning alone.
    format!("{names}{}{tables}", base.trim_start_matches('\u{feff}'))
}

fn list_of(names: &str) -> String {
    let quoted = names.split(',').map(|name| serde_json::Value::from(name.trim()).to_string());
    format!("schemes = [{}]\n", quoted.collect::<Vec<_>>().join(", "))
}

/// Splits a list of distinct transports.
fn names<'a>(list: &'a str, transports: &Transports) -> Result<Vec<&'a str>, Failure> {
    let names: Vec<&str> = list.split(',').map(str::trim).collect();
    for (place, &name) in names.iter().enumerate() {
        let wrong = |what: String| Err(Failure::message(format!("--transports: {what}")));
        if transports.find(name).is_none() {
            let known: Vec<&str> = transports.iter().map(|known| known.name()).collect();
            let nearest = transports.nearest(name).map(|name| format!("; nearest: {name}"));
            return wrong(format!(
                "no transport `{name}`; expected comma-separated names of {}{}",
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

/// Appends a series per transport, with these timers if it has any.
fn with_series(
    text: &str,
    names: &[&str],
    timers: Option<&str>,
    transports: &Transports,
) -> String {
    let series = names.iter().map(|name| {
        let timers = timers.filter(|_| has_timers(name, transports));
        let keys = timers.map_or(String::new(), |timers| format!(" timers = \"{timers}\" "));
        format!("\n[[series]]\nname = \"{name}\"\ntransport.{name} = {{{keys}}}\n")
    });
    std::iter::once(text.to_owned()).chain(series).collect()
}

/// True if a transport has timers that a preset sets.
pub fn has_timers(name: &str, transports: &Transports) -> bool {
    let known = transports.find(name);
    known.is_some_and(|known| known.grammar().keys.iter().any(|key| key.name == "timers"))
}

/// Settings that the table needs: link utilisation, and queues over time unless the scenario sets an interval.
fn asked(text: &str) -> Vec<String> {
    let is_sampled =
        || Some(text.parse::<toml::Table>().ok()?.get("output")?.get("series").is_some());
    let mut asked = vec!["output.ports=true".to_owned()];
    if is_sampled() != Some(true) {
        asked.push("output.series=\"50us\"".to_owned());
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimline_sim::scenario::Run;

    #[test]
    fn every_transport_becomes_a_series() {
        let base = "topology.star.hosts = 3\n[[workload]]\nname = \"w\"\npermutation = {}\nsize = \"9KB\"\n";
        let known = Transports::built_in();
        let text = with_series(base, &names("ndp, cbr", &known).unwrap(), Some("rfc"), &known);
        assert!(text.ends_with("[[series]]\nname = \"cbr\"\ntransport.cbr = {}\n"), "{text}");
        let refused = |text| names(text, &known).unwrap_err().to_string();
        assert!(refused("ndp,").contains("no transport ``; expected"));
        assert!(refused("n\"dp").contains("nearest: ndp"));
        assert!(refused("ndp,tcp,ndp").contains("`ndp` twice"));
    }

    #[test]
    fn a_comparison_takes_schemes_from_a_list_or_a_file() {
        let base = "schemes = [\"tcp\"]\ntopology.star.hosts = 3\nlinks.rate = \"40Gbps\"\n\
            [[workload]]\nname = \"w\"\npermutation = {}\nsize = \"9KB\"\n\
            [[series]]\nname = \"mine\"\n";
        let known = Transports::built_in();
        let read = |schemes: &str| of_schemes(Path::new("s.toml"), base, schemes, &[], &known);
        let (scenario, own) = read("hull, ndp").unwrap();
        let series: Vec<&str> = scenario.runs.iter().map(|run| &*run.plan.series).collect();
        assert_eq!((series, own), (vec!["hull", "ndp"], vec!["mine".to_owned()]));
        assert!(scenario.text.starts_with("schemes = [\"hull\", \"ndp\"]\n"));
        runs_again(&scenario);
        let refused = |schemes: &str| read(schemes).unwrap_err().to_string();
        let unknown = refused("ndp,hul");
        assert!(
            unknown.starts_with("--schemes:1:19: no scheme `hul` (at `\"hul\"`); expected one of"),
            "{unknown}"
        );
        assert!(unknown.ends_with("nearest: hull"), "{unknown}");
        assert!(refused("ndp,ndp").contains("scheme `ndp` twice"));
        assert!(refused("ndp,").contains("no name for a file"));
        assert!(matches!(read("none.toml"), Err(Failure::Message(_))));
    }

    #[track_caller]
    fn runs_again(scenario: &Scenario) {
        let again = Scenario::parse("kept.toml", &scenario.text, &[])
            .unwrap_or_else(|error| panic!("{error}\n{}", scenario.text));
        let told = |scenario: &Scenario| {
            let of = |run: &Run| format!("{} {:?} {:?}", run.name, run.plan, run.output);
            scenario.runs.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(told(&again), told(scenario), "{}", scenario.text);
    }

    #[test]
    fn the_saved_scenario_of_a_comparison_runs_again() {
        let scratch = std::env::temp_dir().join(format!("trimline-kept-{}", std::process::id()));
        std::fs::create_dir_all(&scratch).unwrap();
        let file = scratch.join("schemes.toml");
        let plain = "\u{feff}topology.star.hosts = 3\n[[workload]]\nname = \"w\"\npermutation = {}\nsize = \"9KB\"\n\
            [sweep]\nworkload.w.size = [\"9KB\", \"18KB\"]\nlinks.rate = [\"10Gbps\", \"40Gbps\"]";
        let inline = "scheme = [{ name = \"mine\", transport.tcp.payload = \"700B\", switch.profile = \"qos\" }]\n";
        for own in [
            "",
            "\n[[series]]\nname = \"mine\"\nlinks.delay = \"9us\"\n",
            "\n[[scheme]]\nname = \"small\"\nlike = \"dctcp\"\n",
        ] {
            let text = format!("{plain}{own}");
            for said in [
                "schemes = [\"ndp\", \"small\"]\n[[scheme]]\nname = \"small\"\nlike = \"tcp\"\n\
                    [scheme.switch]\ndata_queue = \"9pkt\"\n",
                "[[scheme]]\nname = \"hull\"\n[[scheme]]\nname = \"ndp\"\n",
                "schemes = [\"ndp\", \"tcp\"]",
                inline,
            ] {
                std::fs::write(&file, said).unwrap();
                let known = Transports::built_in();
                let name = file.display().to_string();
                let read = of_schemes(Path::new("s.toml"), &text, &name, &[], &known);
                runs_again(&read.unwrap().0);
            }
        }
        std::fs::remove_dir_all(scratch).unwrap();
    }

    #[test]
    fn series_of_the_same_name_and_inline_ones_are_left_out() {
        let base = "topology.star.hosts = 3\nworkload = [{ name = \"w\", permutation = {}, size = \"9KB\" }]\n";
        let known = Transports::built_in();
        let read = |own: &str| {
            let text = format!("{base}{own}");
            of_transports(Path::new("s.toml"), &text, ("ndp,dctcp", None), &[], &known)
        };
        let table = |name| format!("[[series]]\nname = \"{name}\"\nlinks.delay = \"9us\"\n");
        for (own, left) in [
            (String::new(), vec![]),
            (table("mine"), vec!["mine"]),
            (table("ndp") + &table("mine"), vec!["ndp", "mine"]),
            ("series = [{ name = \"mine\" }]\n".to_owned(), vec!["mine"]),
            ("series = [{ name = \"dctcp\", transport.tcp = {} }]\n".to_owned(), vec!["dctcp"]),
        ] {
            let (scenario, names) = read(&own).unwrap_or_else(|error| panic!("{own}: {error:?}"));
            assert_eq!(names, left, "{own}");
            let plain = read("").unwrap().0;
            let plans = |scenario: &Scenario| {
                scenario.runs.iter().map(|run| format!("{:?}", run.plan)).collect::<Vec<_>>()
            };
            assert_eq!(plans(&scenario), plans(&plain), "{own}");
        }
        // A mistake of its own is named where the file has it.
        let error = read("series = [{ name = \"ndp\", links.rat = \"1Gbps\" }]\n").unwrap_err();
        assert!(error.to_string().starts_with("s.toml:3:33: unknown key `rat`"), "{error}");
    }

    #[test]
    fn a_comparison_samples_by_default() {
        assert_eq!(asked("name = \"a\""), ["output.ports=true", "output.series=\"50us\""]);
        assert_eq!(asked("[output]\nseries = \"1us\""), ["output.ports=true"]);
        assert_eq!(asked("output.series = \"1us\""), ["output.ports=true"]);
    }
}
