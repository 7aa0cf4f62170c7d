//! The `trimline` command: one file for each command, with its options, its calls of libraries and what it prints.
//!
//! `trimline-experiments` makes runs, keeps results and judges findings, `trimline-explain` describes scenarios,
//! `trimline-stack` has hosts and switches, `trimline-testbed` measurements on real ones. The crate is a library, so that
//! the binaries `trimline` and `trimline-switch`, the Python package, and programs with a transport of their own share it.
//!
//! # Begin with
//! - [`command`]: a whole command line, from words to an exit status.
//! - [`command_with`]: the same in a program that adds a transport.
//! - `switch`: the program `trimline-switch`, on Linux.
//!
//! # In and out
//! Words go in. A command reads its options, calls a library and prints: tables go to standard output; warnings, progress
//! and errors go to standard error.
//!
//! `--json` prints the same as JSON. `trimline --help` lists the exit statuses, `trimline reference` the commands without
//! `--json`.
//!
//! # Example
//! ```
//! use std::ffi::OsString;
//! use std::process::ExitCode;
//!
//! let status = |words: &[&str]| trimline::command(words.iter().map(OsString::from));
//! assert_eq!(status(&["trimline", "formats"]), ExitCode::SUCCESS);
//! assert_eq!(status(&["trimline", "explain", "not-there.toml"]), ExitCode::from(2));
//! ```
//!
//! # Read on
//! `README.md` lists the commands, `docs/first-hour.md` shows them at work, `docs/errors.md` shows their answers to
//! mistakes.
//!
//! # Features
//! `checked`: a run checks every index of its packet path, at half the speed.
#![forbid(unsafe_code)]

mod bench;
mod compare;
mod completions;
mod explain;
mod failure;
mod formats;
// Some of it is for commands of Linux alone, as some of `terminal`.
#[cfg_attr(not(target_os = "linux"), expect(dead_code))]
mod interrupt;
mod list;
#[cfg(target_os = "linux")]
mod log;
#[cfg(target_os = "linux")]
mod net;
mod new_transport;
#[cfg(target_os = "linux")]
mod openmetrics;
mod output;
mod python_package;
#[cfg(target_os = "linux")]
mod quantity;
mod reference;
mod report;
mod reproduce;
#[cfg(target_os = "linux")]
mod rows;
mod run;
mod run_table;
mod settings;
#[cfg(target_os = "linux")]
mod stats;
mod status;
#[cfg(target_os = "linux")]
mod switch;
#[cfg(target_os = "linux")]
mod switch_ports;
#[cfg_attr(not(target_os = "linux"), expect(dead_code))]
mod terminal;
#[cfg(target_os = "linux")]
mod testbed;
mod trace;
mod transports;
mod verdict_table;
#[cfg(target_os = "linux")]
mod writer;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use trimline_experiments::Failure;
use trimline_sim::transports::{AnyTransport, Transports};

#[cfg(target_os = "linux")]
pub use switch::switch;

#[derive(Parser, Debug)]
#[command(
    name = "trimline",
    version,
    term_width = 80,
    after_help = status::help(),
    about = "Simulates datacenter networks whose switches trim packets instead of dropping them."
)]
struct Command {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand, Debug)]
enum Verb {
    /// Run a scenario and write its results.
    Run(run::Options),
    /// Run experiments and compare their findings with the ranges from the papers.
    Reproduce(reproduce::Options),
    /// List the experiments.
    List(list::Options),
    /// Compare transports or schemes on one scenario, in one table and one figure.
    Compare(compare::Options),
    /// Trace one flow packet by packet: a capture for Wireshark, a trace for Perfetto and a table.
    Trace(trace::Options),
    /// Write an HTML report of results: verdicts, plots, the network and manifests.
    Report(report::Options),
    /// Measure packet-hops per second on the standard workloads.
    Bench(bench::Options),
    #[cfg(target_os = "linux")]
    #[command(flatten)]
    Real(net::Verb),
    /// Print the JSON Schema of scenario files.
    Schema,
    /// Print the reference as Markdown: scenario keys, profiles, links, columns of files, exit statuses and JSON.
    Reference,
    /// List the transports that scenarios can name.
    Transports(transports::Options),
    /// Create a project from a template.
    #[command(subcommand)]
    New(New),
    /// List the file formats of other simulators that Trimline reads, and the built-in flow-size distributions.
    Formats(formats::Options),
    /// Describe a scenario, and estimate the time and memory of its runs.
    Explain(explain::Options),
    /// Write completions for bash, zsh and fish, and man pages.
    #[command(hide = true)]
    Completions(completions::Options),
}

/// Commands with real packets, whose system calls are Linux's.
#[cfg(any(test, not(target_os = "linux")))]
const NEED_LINUX: [&str; 6] = ["testbed", "ping", "rpc", "cat", "key", "stats"];

#[derive(Subcommand, Debug)]
enum New {
    /// Create a crate with a custom transport: a working constant-rate transport with ACKs, to modify. The program of
    /// the crate has every command of `trimline`.
    Transport(new_transport::Options),
}

/// Runs a command line with the program's name first. Help and misuse end the process.
pub fn command(described: impl IntoIterator<Item = OsString>) -> ExitCode {
    perform(described, &Transports::built_in())
}

/// Runs a command line in a program with more transports: every command accepts their names.
///
/// ```no_run
/// # use trimline_sim::transports::Ndp as Mine;
/// fn main() -> std::process::ExitCode {
///     trimline::command_with(std::env::args_os(), &[&Mine])
/// }
/// ```
pub fn command_with(
    described: impl IntoIterator<Item = OsString>,
    more: &[&'static dyn AnyTransport],
) -> ExitCode {
    match Transports::built_in().with(more) {
        Ok(transports) => perform(described, &transports),
        Err(problem) => failure::report(&Failure::message(problem)),
    }
}

fn perform(described: impl IntoIterator<Item = OsString>, transports: &Transports) -> ExitCode {
    #[cfg(not(target_os = "linux"))]
    let described: Vec<OsString> = described.into_iter().collect();
    #[cfg(not(target_os = "linux"))]
    if let Some(verb) =
        NEED_LINUX.iter().find(|verb| described.get(1).is_some_and(|word| word == *verb))
    {
        return failure::report(&Failure::message(format!("`trimline {verb}` needs Linux")));
    }
    let command = Command::parse_from(described);
    if let Err(failure) = interrupt::end_at_interrupts() {
        return failure::report(&failure);
    }
    let outcome = match command.verb {
        Verb::Run(options) => run::run(options, transports),
        Verb::Reproduce(options) => reproduce::reproduce(options, transports),
        Verb::List(options) => list::list(&options),
        Verb::Compare(options) => compare::compare(options, transports),
        Verb::Trace(options) => trace::trace(options, transports),
        Verb::Report(options) => report::report(options),
        Verb::Bench(options) => bench::bench(&options),
        #[cfg(target_os = "linux")]
        Verb::Real(verb) => net::perform(verb),
        Verb::Schema => printed(&trimline_sim::scenario::schema(transports)),
        Verb::Reference => printed(&reference::reference(transports)),
        Verb::Transports(options) => transports::list(&options, transports),
        Verb::New(New::Transport(options)) => new_transport::new(options, transports),
        Verb::Formats(options) => formats::formats(&options),
        Verb::Explain(options) => explain::explain(&options, transports),
        Verb::Completions(options) => completions::completions(&options, commands()),
    };
    outcome.unwrap_or_else(|failure| failure::report(&failure))
}

/// The commands of this crate's programs.
fn commands() -> Vec<clap::Command> {
    vec![
        Command::command(),
        #[cfg(target_os = "linux")]
        switch::Options::command(),
    ]
}

fn printed(text: &str) -> Result<ExitCode, Failure> {
    terminal::print(text).map(|()| ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    /// On other systems these commands print an error that names Linux.
    #[cfg(target_os = "linux")]
    #[test]
    fn commands_with_real_packets_need_linux() {
        let real =
            <super::net::Verb as clap::Subcommand>::augment_subcommands(clap::Command::new(""));
        let real: Vec<&str> = real.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(real, super::NEED_LINUX);
    }

    /// Every command has `--json`, or a reason in the list of those without it.
    #[test]
    fn every_command_prints_json_or_has_a_reason() {
        fn check(path: &str, command: &clap::Command, without: &mut Vec<String>) {
            let subcommands: Vec<_> = command.get_subcommands().collect();
            for below in &subcommands {
                let path = format!("{path} {}", below.get_name());
                check(path.trim(), below, without);
            }
            let has_json = command.get_arguments().any(|option| option.get_long() == Some("json"));
            if subcommands.is_empty() && !has_json {
                without.push(path.to_owned());
            }
        }
        let mut without = Vec::new();
        for command in super::commands() {
            check("", &command, &mut without);
        }
        without.sort();
        let mut listed = super::output::WITHOUT_JSON.map(|(command, _)| command);
        listed.sort_unstable();
        assert_eq!(without, listed);
    }

    /// Every help text fits a terminal of 80 columns.
    #[test]
    fn help_fits_a_terminal() {
        fn check(command: &mut clap::Command) {
            for help in [command.render_help(), command.render_long_help()] {
                let help = help.to_string();
                let wide = help.lines().find(|line| line.chars().count() > 80);
                assert_eq!(wide, None, "{}", command.get_name());
            }
            command.get_subcommands_mut().for_each(check);
        }
        for mut command in super::commands() {
            command.build();
            check(&mut command);
        }
    }
}
