//! Commands with real packets.

mod cat;
mod host;
mod key;
#[cfg(test)]
mod pair;
mod paths;
mod ping;
mod rpc;
mod server;

use std::process::ExitCode;

use clap::Subcommand;
use trimline_experiments::Failure;

use crate::{stats, testbed};

#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Measure a figure on real hosts and switches, in temporary network namespaces.
    Testbed(testbed::Options),
    /// Measure round-trip times over NDP to a host that runs `trimline rpc serve`.
    Ping(ping::Ping),
    /// Answer requests over NDP, or generate them as load.
    #[command(subcommand)]
    Rpc(rpc::Rpc),
    /// Transfer one host's standard input to another host's standard output over NDP.
    #[command(subcommand)]
    Cat(cat::Cat),
    /// Create keys that hosts share (`--key`).
    #[command(subcommand)]
    Key(key::Key),
    /// Print the latest counters that a command with --stats wrote: frames, and packets per path.
    Stats(stats::Options),
}

pub(crate) fn perform(verb: Verb) -> Result<ExitCode, Failure> {
    match verb {
        Verb::Testbed(options) => testbed::testbed(&options),
        Verb::Ping(options) => ping::ping(&options),
        Verb::Rpc(what) => rpc::rpc(&what),
        Verb::Cat(what) => cat::cat(&what),
        Verb::Key(what) => key::key(&what),
        Verb::Stats(options) => stats::stats(&options),
    }
}
