//! Completions of shells, and man pages: `trimline completions`, which help does not list.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;
use trimline_experiments::Failure;

#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Folder to write into.
    folder: PathBuf,
}

pub(crate) fn completions(
    options: &Options,
    commands: impl IntoIterator<Item = Command>,
) -> Result<ExitCode, Failure> {
    let folder = &options.folder;
    commands
        .into_iter()
        .try_for_each(|command| write(folder, command))
        .map_err(|error| Failure::io(folder, &error))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the files of a command: bash, zsh, fish, and a man page for it and for each of its commands.
fn write(folder: &Path, command: Command) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    // A page for each `help COMMAND` would say nothing new.
    let without_help = |command: Command| command.disable_help_subcommand(true);
    let mut command = without_help(command).mut_subcommands(without_help);
    let name = command.get_name().to_owned();
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        clap_complete::generate_to(shell, &mut command, &name, folder)?;
    }
    clap_mangen::generate_to(command, folder)
}
