//! A program, the vectors that it claims, and the mutants that these must find.

use std::path::Path;

use serde_json::Value;

use crate::bmv2::{Program, Switch};
use crate::mutants::Mutant;
use crate::vectors::read;

/// Folder of the compiled programs.
pub(crate) const KEPT: &str = "p4";

pub(crate) trait Claim {
    type Vector;
    /// The settings that a vector gives the control plane.
    type Settings: 'static;
    /// Name of the compiled program in its folder.
    const FILE: &'static str;
    /// Commands of the control plane that hold for every vector.
    const TABLES: &'static str;
    const PORTS: usize;
    /// Queues of a port.
    const PRIORITIES: u64;
    const MUTANTS: &'static [(&'static str, Mutant<Self::Settings>)];

    fn vectors(root: &Path) -> Result<Vec<Self::Vector>, String>;
    fn settings(vector: &Self::Vector) -> Result<Self::Settings, String>;
    /// Returns the commands for the settings of a vector. Refuses what the program cannot be set to.
    fn commands(settings: &Self::Settings) -> Result<String, String>;
    /// Runs a vector. An error names file and line, expectation and finding.
    fn run(switch: Switch<'_>, vector: &Self::Vector) -> Result<(), String>;
}

fn document<C: Claim>(root: &Path, folder: &str) -> Result<Value, String> {
    let text = read(root, &Path::new(folder).join(C::FILE))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", C::FILE))
}

pub(crate) fn program<C: Claim>(root: &Path, folder: &str) -> Result<Program, String> {
    let program = document::<C>(root, folder).map(Program::read)?;
    program.map_err(|error| format!("{}: {error}", C::FILE))
}

pub(crate) fn tables<C: Claim>(root: &Path) -> Result<String, String> {
    read(root, Path::new(C::TABLES))
}

/// Returns a switch that has obeyed these commands.
pub(crate) fn switch<'p, C: Claim>(
    program: &'p Program,
    commands: &str,
) -> Result<Switch<'p>, String> {
    let mut switch = Switch::new(program, C::PRIORITIES);
    switch.configure(commands).map_err(|error| format!("{}:{error}", C::TABLES))?;
    Ok(switch)
}

/// Runs vectors, in a mutant of settings or tables if there is one. Returns a line per failure.
fn failures<C: Claim>(
    program: &Program,
    tables: &str,
    vectors: &[C::Vector],
    mutant: Option<&Mutant<C::Settings>>,
) -> Result<Vec<String>, String> {
    let mut failures = Vec::new();
    for vector in vectors {
        let mut settings = C::settings(vector)?;
        if let Some(Mutant::Set(change)) = mutant {
            change(&mut settings);
        }
        let mut commands = tables.to_owned() + &C::commands(&settings)?;
        match mutant {
            Some(Mutant::Table(old, new)) => commands = commands.replace(old, new),
            Some(Mutant::Also(command)) => commands += command,
            None
            | Some(
                Mutant::Set(_)
                | Mutant::Without(..)
                | Mutant::Operation(..)
                | Mutant::Condition(..)
                | Mutant::Read(..)
                | Mutant::Always(..)
                | Mutant::Program(_),
            ) => {}
        }
        failures.extend(C::run(switch::<C>(program, &commands)?, vector).err());
    }
    Ok(failures)
}

/// Runs the program on every vector that it claims. Returns their number, or a line per failure.
pub(crate) fn hold<C: Claim>(root: &Path, program: &Program) -> Result<usize, String> {
    let vectors = C::vectors(root)?;
    let failures = failures::<C>(program, &tables::<C>(root)?, &vectors, None)?;
    match vectors.len() {
        0 => Err(format!("{} claims no vector", C::FILE)),
        vectors if failures.is_empty() => Ok(vectors),
        _ => Err(failures.join("\n")),
    }
}

/// Returns a line per mutant with the vectors that find it, or a line per mutant that no vector finds.
pub(crate) fn check_mutants<C: Claim>(root: &Path) -> Result<String, String> {
    let document = document::<C>(root, KEPT)?;
    let (tables, vectors) = (tables::<C>(root)?, C::vectors(root)?);
    let (mut found, mut missed) = (Vec::new(), Vec::new());
    for (name, mutant) in C::MUTANTS {
        let mut changed = document.clone();
        mutant.change(&mut changed);
        let is_changed = match mutant {
            Mutant::Set(_) | Mutant::Also(_) => true,
            Mutant::Table(old, _) => tables.contains(old),
            Mutant::Without(..)
            | Mutant::Operation(..)
            | Mutant::Condition(..)
            | Mutant::Read(..)
            | Mutant::Always(..)
            | Mutant::Program(_) => changed != document,
        };
        let program = Program::read(changed)?;
        let failures = failures::<C>(&program, &tables, &vectors, Some(mutant))?;
        // A failure begins with the vector's file.
        let finders: Vec<&str> =
            failures.iter().filter_map(|line| line.split(':').next()).collect();
        match finders.len() {
            0 => missed.push(format!("no vector finds the mutant: {name}")),
            _ if !is_changed => missed.push(format!("{name}: the program has no such place")),
            _ => found.push(format!("{name}: found by {}", finders.join(" "))),
        }
    }
    if missed.is_empty() { Ok(found.join("\n")) } else { Err(missed.join("\n")) }
}
