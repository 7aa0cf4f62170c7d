//! Real hosts and switches in network namespaces: `trimline testbed`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use std::{fs, io};

use clap::{Args, ValueEnum};
use serde_json::json;
use trimline_experiments::findings::Expected;
use trimline_experiments::verdicts::{self, Tier, Verdict};
use trimline_experiments::{Bar, Failure};
use trimline_explain::wrapped;
use trimline_packet::{BitRate, ByteCount, TimeDelta};
use trimline_testbed::coexist::Setting;
use trimline_testbed::report::Report;
use trimline_testbed::steps::Steps;
use trimline_testbed::{fastlane_figures, figures, hull_figures, kernel_figures, namespace};

use crate::output::Output;
use crate::quantity;
use crate::status::done;
use crate::verdict_table::table;

/// The figures of the testbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Figure {
    /// Latency of a 1 KB request over raw frames, NDP, TFO and TCP, polling and blocking.
    Fig08,
    /// Incast of seven hosts, with NDP and TCP.
    Fig09,
    /// FCT of a short flow beside six long flows, with and without priority.
    Fig10,
    /// Throughput for several initial windows.
    Fig11,
    /// Time between two PULLs at the sender.
    Fig12,
    /// Latency of the first and the second request to a server that validates addresses.
    FirstContact,
    /// Throughput of one flow against bare frames, and of the switch against a bare forwarder.
    Throughput,
    /// `cat` against the kernel's TCP without offloads, and `rpc` against a UDP echo, over one cable.
    Kernel,
    /// NDP and the kernel's TCP at one port: long flows of both, and an NDP incast beside TCP.
    Coexist,
    /// Two flows of the kernel's TCP at one port, with and without a phantom queue (HULL, Table 1 and Figure 2).
    Hull,
    /// Flows of the kernel's TCP at a port that notifies senders of drops (FastLane).
    Fastlane,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HullFigure {
    /// Throughput and queueing delay of TCP, of TCP with ECN, and with a phantom queue.
    #[value(name = "table1-real")]
    Table1,
    /// Throughput and queueing delay over the drain rate of a phantom queue.
    #[value(name = "fig02-real")]
    Fig02,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Figure to measure.
    figure: Figure,
    /// Number of requests (fig08), clients (first-contact), incasts of each size (fig09), flows of each size (fig10),
    /// pairs of flows (throughput) or rounds (others). The default depends on the figure.
    #[arg(long, value_name = "N")]
    repeat: Option<u64>,
    /// Virtual line rate of the switches; a number without a unit is in Mb/s.
    #[arg(long, value_name = "RATE", default_value = "200Mbps", value_parser = quantity::rate)]
    rate: BitRate,
    /// Directory of the results.
    #[arg(long, value_name = "DIR", default_value = "out/testbed")]
    out: PathBuf,
    /// Directory of experiments, which have the expected findings.
    #[arg(long = "experiments", value_name = "DIR", default_value = "experiments")]
    experiments: PathBuf,
    /// Write every frame between a host and its switch into FILE, for Wireshark (fig09 and fig10: NDP; fastlane: the
    /// first round).
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    coexist: CoexistOptions,
    #[command(flatten)]
    hull: HullOptions,
}

/// Options mostly for `hull`.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Options of hull")]
struct HullOptions {
    /// Measure only this figure. Default: both.
    #[arg(long, value_name = "FIGURE")]
    only: Option<HullFigure>,
    /// Delay of every link of hull and fastlane; a round trip crosses four links [default: 250us].
    #[arg(long, value_name = "TIME", value_parser = quantity::duration)]
    delay: Option<TimeDelta>,
}

/// Options mostly for `coexist`.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Options of coexist")]
struct CoexistOptions {
    /// Number of long NDP flows, each from a separate host [default: 4].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    ndp_flows: Option<u32>,
    /// Number of long TCP flows, each from a separate host [default: 4].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    tcp_flows: Option<u32>,
    /// Capacity of TCP's queue, in packets [default: 200].
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    tcp_queue: Option<u32>,
    /// TCP congestion control of coexist, hull and fastlane, by its name in the kernel [default: cubic; hull: reno].
    #[arg(long, value_name = "NAME")]
    congestion: Option<String>,
    /// Duration of each measured interval of coexist and hull, in seconds [default: 5; hull: 8].
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: Option<u64>,
    /// Number of senders of an NDP incast [default: 16].
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=64))]
    incast_senders: Option<u32>,
    /// Size of each response; a number without a unit is in bytes [default: 450KB].
    #[arg(long, value_name = "SIZE", value_parser = answer_size)]
    incast_bytes: Option<ByteCount>,
    /// Number of incasts per round beside TCP, after the same number without TCP [default: 5].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    incasts: Option<u32>,
}

/// Default delay of every link.
const DELAY: TimeDelta = TimeDelta::from_us(250);

/// Max answer of an incast: a host's max message.
const LONGEST_ANSWER: ByteCount = ByteCount::new(64_000_000);

fn answer_size(text: &str) -> Result<ByteCount, String> {
    let size = quantity::size(text)?;
    match size.get() >= 1 && size <= LONGEST_ANSWER {
        true => Ok(size),
        false => Err(format!("{text} is out of range; expected 1 B to 64 MB")),
    }
}

impl CoexistOptions {
    fn setting(&self, rate: BitRate) -> Setting {
        Setting {
            rate,
            ndp_flows: self.ndp_flows.unwrap_or(4),
            tcp_flows: self.tcp_flows.unwrap_or(4),
            tcp_queue: Some(self.tcp_queue.unwrap_or(200)),
            congestion: self.congestion.clone().unwrap_or_else(|| "cubic".to_owned()),
            time: Duration::from_secs(self.seconds.unwrap_or(5)),
            senders: self.incast_senders.unwrap_or(16),
            bytes: self.incast_bytes.map_or(450_000, ByteCount::get),
            incasts: self.incasts.unwrap_or(5),
        }
    }
}

/// The first given option that the figure would ignore, and the figures that use it.
fn unheeded(options: &Options) -> Option<(&'static str, &'static str)> {
    use Figure::{Coexist, Fastlane, Fig09, Fig10, Hull};
    let CoexistOptions {
        ndp_flows,
        tcp_flows,
        tcp_queue,
        congestion,
        seconds,
        incast_senders,
        incast_bytes,
        incasts,
    } = &options.coexist;
    let HullOptions { only, delay } = &options.hull;
    let (coexist, capture) = ("coexist", "fig09, fig10 or fastlane");
    let given: [(&str, bool, &[Figure], &str); 11] = [
        ("--ndp-flows", ndp_flows.is_some(), &[Coexist], coexist),
        ("--tcp-flows", tcp_flows.is_some(), &[Coexist], coexist),
        ("--tcp-queue", tcp_queue.is_some(), &[Coexist], coexist),
        (
            "--congestion",
            congestion.is_some(),
            &[Coexist, Hull, Fastlane],
            "coexist, hull or fastlane",
        ),
        ("--seconds", seconds.is_some(), &[Coexist, Hull], "coexist or hull"),
        ("--incast-senders", incast_senders.is_some(), &[Coexist], coexist),
        ("--incast-bytes", incast_bytes.is_some(), &[Coexist], coexist),
        ("--incasts", incasts.is_some(), &[Coexist], coexist),
        ("--only", only.is_some(), &[Hull], "hull"),
        ("--delay", delay.is_some(), &[Hull, Fastlane], "hull or fastlane"),
        ("--capture", options.capture.is_some(), &[Fig09, Fig10, Fastlane], capture),
    ];
    let is_unheeded = |given: &(&str, bool, &[Figure], &str)| {
        let (_, is_given, figures, _) = given;
        *is_given && !figures.contains(&options.figure)
    };
    given.into_iter().find(is_unheeded).map(|(name, _, _, figures)| (name, figures))
}

/// The measurement of a figure, in steps.
type Measurement<'a> = Box<dyn Fn(&Steps<'_>) -> io::Result<Report> + 'a>;

/// A figure of a command: paper, name, result folder and measurement.
struct Part<'a> {
    paper: &'static str,
    figure: String,
    folder: PathBuf,
    run: Measurement<'a>,
}

fn expected(directory: &Path, part: &Part<'_>) -> Result<Option<Expected<String>>, Failure> {
    let path = directory.join(part.paper).join(&part.figure).join("testbed.toml");
    match fs::read_to_string(&path) {
        Ok(text) => Expected::parse(&path.display().to_string(), &text).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::message(format!("{}: {error}", path.display()))),
    }
}

/// Runs figures and judges them. Without a capability it says so and judges nothing.
pub(crate) fn testbed(options: &Options) -> Result<ExitCode, Failure> {
    let name = options.figure.to_possible_value().expect("every figure has a name");
    let name = name.get_name();
    if let Some((option, figures)) = unheeded(options) {
        let text = format!("testbed {name}: {option} does not apply; expected {figures}");
        return Err(Failure::message(text));
    }
    let parts = parts(options, name);
    let expected: Vec<Option<Expected<String>>> =
        parts.iter().map(|part| expected(&options.experiments, part)).collect::<Result<_, _>>()?;
    let skipped = |error: io::Error| match namespace::is_forbidden(&error) {
        true => {
            let reason = format!("{error} ({})", namespace::NEEDS);
            let skipped = json!({ "figure": name, "skipped": reason });
            options.output.print(&skipped, || format!("SKIPPED testbed {name}: {reason}\n"))?;
            Ok(ExitCode::SUCCESS)
        }
        false => Err(Failure::message(format!("testbed {name}: {error}"))),
    };
    if let Err(error) = namespace::become_root() {
        return skipped(error);
    }
    let mut holds = true;
    for (part, expected) in parts.iter().zip(&expected) {
        match measured(part) {
            Ok(report) => holds &= judge(options, part, expected.as_ref(), &report)?,
            Err(error) => return skipped(error),
        }
    }
    Ok(done(holds))
}

/// Measures a figure, with a bar.
fn measured(part: &Part<'_>) -> io::Result<Report> {
    let bar = Bar::new(1, false);
    bar.name(&part.figure);
    (part.run)(&Steps::new(&|done, all| bar.show(done, all)))
}

/// Judges, writes and prints the measures. Returns whether all findings hold.
fn judge(
    options: &Options,
    part: &Part<'_>,
    expected: Option<&Expected<String>>,
    report: &Report,
) -> Result<bool, Failure> {
    let Part { paper, figure, folder, run: _ } = part;
    let write = |name: &str, contents: &str| {
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(folder.join(name), contents))
            .map_err(|error| Failure::message(format!("{}: {error}", folder.display())))
    };
    let id = format!("{paper}/{figure}");
    // Measures that the machine cannot make are not judged; the report names them.
    let is_there = |measure: &str| {
        report.lacks.as_ref().is_none_or(|(_, beginning)| !measure.starts_with(beginning))
    };
    let findings = expected.into_iter().flat_map(|expected| &expected.finding);
    let findings = findings.filter(|finding| is_there(&finding.measure));
    let judged: Vec<Verdict> =
        findings.map(|finding| finding.of_testbed(&report.measures)).collect();
    let json = json!({ "figure": figure, "measures": report.measures });
    write("measures.json", &format!("{json:#}\n"))?;
    for (name, contents) in &report.files {
        write(name, contents)?;
    }
    let mut findings = verdicts::as_json(&id, &judged, Tier::Full);
    verdicts::write(folder, &findings)?;
    let mut json = json;
    json["findings"] = findings["findings"].take();
    json["lacks"] = json!(report.lacks.as_ref().map(|(feature, _)| feature));
    options.output.print(&json, || {
        let verdicts = expected.map(|one| table(&id, &one.title, &judged, Tier::Full));
        let lines = report.table.lines().map(|line| wrapped(line, 4) + "\n");
        lines.chain(verdicts).collect()
    })?;
    // Findings without bounds decide nothing.
    Ok(judged.iter().all(|verdict| verdict.holds || !verdict.is_judged()))
}

fn own_program() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    match program.file_stem().is_some_and(|name| name == "trimline") {
        true => Ok(program),
        false => Err(io::Error::other(format!(
            "it starts `trimline cat` and `trimline rpc`; expected the program `trimline`, not {}",
            program.display()
        ))),
    }
}

/// The figures of a command.
fn parts<'a>(options: &'a Options, name: &str) -> Vec<Part<'a>> {
    let rate = options.rate;
    let capture = options.capture.as_deref();
    let repeats = |default: u64| options.repeat.unwrap_or(default);
    let of_ndp = |run: Measurement<'a>| {
        let folder = options.out.join(name);
        vec![Part { paper: "ndp", figure: name.to_owned(), folder, run }]
    };
    match options.figure {
        Figure::Fig08 => of_ndp(Box::new(move |steps| figures::fig08(repeats(20_000), steps))),
        Figure::Fig09 => of_ndp(Box::new(move |steps| {
            figures::fig09(rate, repeats(10) as usize, capture, steps)
        })),
        Figure::Fig10 => {
            of_ndp(Box::new(move |steps| figures::fig10(rate, repeats(5) as usize, capture, steps)))
        }
        Figure::Fig11 => of_ndp(Box::new(figures::fig11)),
        Figure::Fig12 => of_ndp(Box::new(figures::fig12)),
        Figure::FirstContact => {
            of_ndp(Box::new(move |steps| figures::first_contact(repeats(200), steps)))
        }
        Figure::Throughput => {
            of_ndp(Box::new(move |steps| figures::throughput(repeats(9).max(1), steps)))
        }
        Figure::Kernel => of_ndp(Box::new(move |steps| {
            kernel_figures::kernel(&own_program()?, repeats(9).max(1), steps)
        })),
        Figure::Coexist => of_ndp(Box::new(move |steps| {
            figures::coexist(&options.coexist.setting(rate), repeats(5).max(1), steps)
        })),
        Figure::Hull => hull_parts(options, repeats(3).max(1)),
        Figure::Fastlane => {
            let fastlane = fastlane_figures::Options {
                rate,
                delay: options.hull.delay.unwrap_or(DELAY),
                congestion: options
                    .coexist
                    .congestion
                    .clone()
                    .unwrap_or_else(|| "cubic".to_owned()),
                rounds: repeats(3).max(1),
            };
            let (folder, figure) = (options.out.join(name), "notifications-real".to_owned());
            let run = Box::new(move |steps: &Steps<'_>| {
                fastlane_figures::notifications(&fastlane, capture, steps)
            });
            vec![Part { paper: "fastlane", figure, folder, run }]
        }
    }
}

/// HULL's two figures, or only the requested one.
fn hull_parts(options: &Options, rounds: u64) -> Vec<Part<'_>> {
    let CoexistOptions { congestion, seconds, .. } = &options.coexist;
    let hull = hull_figures::Options {
        rate: options.rate,
        delay: options.hull.delay.unwrap_or(DELAY),
        congestion: congestion.clone().unwrap_or_else(|| "reno".to_owned()),
        time: Duration::from_secs(seconds.unwrap_or(8)),
        rounds,
    };
    let all = HullFigure::value_variants().iter();
    let wanted = all.filter(|figure| options.hull.only.is_none_or(|only| only == **figure));
    let part = |figure: &HullFigure| {
        let (figure, hull) = (*figure, hull.clone());
        let value = figure.to_possible_value().expect("every figure has a name");
        let name = value.get_name().to_owned();
        let folder = options.out.join("hull").join(&name);
        let run = move |steps: &Steps<'_>| match figure {
            HullFigure::Table1 => hull_figures::table1(&hull, steps),
            HullFigure::Fig02 => hull_figures::fig02(&hull, steps),
        };
        Part { paper: "hull", figure: name, folder, run: Box::new(run) }
    };
    wanted.map(part).collect()
}
