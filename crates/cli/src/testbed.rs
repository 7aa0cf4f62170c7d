//! Real hosts and switches in network namespaces: `trimline testbed`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use clap::{Args, ValueEnum};
use trimline_packet::BitRate;
use trimline_stack::testbed::figures::{self, Report};
use trimline_stack::testbed::namespace;

use crate::failure::Failure;
use crate::findings::Expected;
use crate::quantity;
use crate::terminal::print;
use crate::verdicts::{self, Tier, Verdict};

/// What is run on the testbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Figure {
    /// Time of a 1 KB request: raw, NDP, TFO, TCP; polling and blocking.
    Fig08,
    /// Seven hosts answer one: NDP and TCP.
    Fig09,
    /// A short flow beside six long ones, with and without priority.
    Fig10,
    /// Throughput by initial window.
    Fig11,
    /// Time between two PULLs at the sender.
    Fig12,
    /// The first request to a server that validates addresses, and the next one.
    FirstContact,
    /// One flow beside bare frames, and the switch beside a bare forwarder.
    Throughput,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// What to run.
    figure: Figure,
    /// Requests (fig08), clients (first-contact), repetitions of each incast, pairs of flows (throughput).
    #[arg(long, value_name = "N")]
    repeat: Option<u64>,
    /// Virtual line rate of the switches; without a unit in Mb/s.
    #[arg(long, value_name = "RATE", default_value = "200Mbps", value_parser = quantity::rate)]
    rate: BitRate,
    /// Directory of the results.
    #[arg(long, value_name = "DIR", default_value = "out/testbed")]
    out: PathBuf,
    /// Directory of experiments: what is expected.
    #[arg(long = "experiments", value_name = "DIR", default_value = "experiments")]
    experiments: PathBuf,
    /// Write every frame between a host and its switch into this file, for Wireshark (fig09 and fig10, NDP).
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,
    /// Print measures and verdicts as JSON.
    #[arg(long)]
    json: bool,
}

/// What the figure's folder expects.
fn expected(directory: &Path, figure: &str) -> Result<Option<Expected<String>>, Failure> {
    let path = directory.join("ndp").join(figure).join("testbed.toml");
    match fs::read_to_string(&path) {
        Ok(text) => Expected::parse(&path.display().to_string(), &text).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::message(format!("{}: {error}", path.display()))),
    }
}

/// Runs a figure and judges it. A capability that is missing is no failure: it is said, and nothing is
/// judged.
pub(crate) fn testbed(options: &Options) -> Result<ExitCode, Failure> {
    let figure = options.figure.to_possible_value().expect("every figure has a name");
    let figure = figure.get_name().to_owned();
    let expected = expected(&options.experiments, &figure)?;
    let report = namespace::become_root().and_then(|()| run(options));
    let report = match report {
        Ok(report) => report,
        Err(error) if namespace::is_forbidden(&error) => {
            println!("SKIPPED testbed {figure}: {error} ({})", namespace::NEEDS);
            return Ok(ExitCode::SUCCESS);
        }
        Err(error) => return Err(Failure::message(format!("testbed {figure}: {error}"))),
    };
    let folder = options.out.join(&figure);
    let write = |name: &str, contents: &str| {
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(folder.join(name), contents))
            .map_err(|error| Failure::message(format!("{}: {error}", folder.display())))
    };
    let id = format!("ndp/{figure}");
    let findings = expected.iter().flat_map(|expected| &expected.finding);
    let judged: Vec<Verdict> =
        findings.map(|finding| finding.of_testbed(&report.measures)).collect();
    let json = serde_json::json!({ "figure": figure, "measures": report.measures });
    write("measures.json", &format!("{json:#}\n"))?;
    for (name, contents) in &report.files {
        write(name, contents)?;
    }
    verdicts::write(&folder, &id, &judged, Tier::Full)?;
    if options.json {
        let mut json = json;
        json["findings"] = verdicts::as_json(&id, &judged, Tier::Full)["findings"].take();
        print(&format!("{json:#}\n"));
    } else {
        print(&report.table);
        if let Some(expected) = &expected {
            print(&verdicts::table(&id, &expected.title, &judged, Tier::Full));
        }
    }
    // What is only reported decides nothing.
    let is_missed = |verdict: &Verdict| !verdict.holds && verdict.lo.or(verdict.hi).is_some();
    Ok(if judged.iter().any(is_missed) { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn run(options: &Options) -> io::Result<Report> {
    let rate = options.rate;
    let capture = options.capture.as_deref();
    let repeats = |default: u64| options.repeat.unwrap_or(default);
    match options.figure {
        Figure::Fig08 => figures::fig08(repeats(20_000)),
        Figure::Fig09 => figures::fig09(rate, repeats(10) as usize, capture),
        Figure::Fig10 => figures::fig10(rate, repeats(5) as usize, capture),
        Figure::Fig11 => figures::fig11(),
        Figure::Fig12 => figures::fig12(),
        Figure::FirstContact => figures::first_contact(repeats(200)),
        Figure::Throughput => figures::throughput(repeats(9).max(1)),
    }
}
