//! `trimline new transport`: creates a crate with a custom transport from templates.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use trimline_experiments::Failure;
use trimline_sim::transports::Transports;

use crate::output::Output;

/// Files of the crate, and their templates.
const FILES: [(&str, &str); 7] = [
    ("Cargo.toml", include_str!("../templates/transport/Cargo.toml.in")),
    ("README.md", include_str!("../templates/transport/README.md.in")),
    (".gitignore", "/target\n/out\n"),
    ("scenario.toml", include_str!("../templates/transport/scenario.toml")),
    ("src/lib.rs", include_str!("../templates/transport/src/lib.rs.in")),
    ("src/main.rs", include_str!("../templates/transport/src/main.rs.in")),
    ("tests/suites.rs", include_str!("../templates/transport/tests/suites.rs.in")),
];

/// Names that cargo, the compiler or the crate itself uses.
const KEPT: [&str; 44] = [
    "alloc", "as", "async", "await", "break", "build", "const", "continue", "core", "crate",
    "deps", "dyn", "else", "enum", "examples", "extern", "false", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self", "static",
    "std", "struct", "super", "test", "trait", "trimline", "true", "type", "use", "while",
];

/// The checkout of this program; what is distributed names none of the machine that built it.
const BUILT_FROM: &str = match option_env!("TRIMLINE_CHECKOUT") {
    Some(checkout) => checkout,
    None => concat!(env!("CARGO_MANIFEST_DIR"), "/../.."),
};

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Name of the crate and its transport: lower-case letters, digits and `_`.
    name: String,
    /// Folder to create, which must not exist. Default: NAME in the current folder.
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
    /// Checkout of Trimline that the crate depends on. Default: the checkout that this program was built from.
    #[arg(long, value_name = "DIR")]
    trimline: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

pub(crate) fn new(options: Options, transports: &Transports) -> Result<ExitCode, Failure> {
    let Options { name, path, trimline, output } = options;
    check_name(&name, transports)?;
    let path = path.unwrap_or_else(|| PathBuf::from(&name));
    if fs::symlink_metadata(&path).is_ok() {
        let problem = format!("{}: exists; expected the name of a new folder", path.display());
        return Err(Failure::message(problem));
    }
    let root = checkout(trimline)?;
    for (file, template) in FILES {
        let file = path.join(file);
        let folder = file.parent().unwrap_or(&path);
        fs::create_dir_all(folder).map_err(|error| Failure::io(folder, &error))?;
        let text = filled(template, &name, &root);
        fs::write(&file, text).map_err(|error| Failure::io(&file, &error))?;
    }
    // Use the same versions of shared dependencies.
    let (locked, lock) = (root.join("Cargo.lock"), path.join("Cargo.lock"));
    fs::copy(&locked, &lock).map_err(|error| Failure::io(&locked, &error))?;
    let shown = path.display();
    let next = [
        format!("cd {shown}"),
        "cargo test".to_owned(),
        format!("cargo run -- compare scenario.toml --transports {name},ndp"),
    ];
    let names = FILES.map(|(file, _)| file);
    let all =
        json!({ "transport": name, "folder": shown.to_string(), "files": names, "next": next });
    output.print(&all, || {
        let next = next.join("\n  ");
        format!("{shown}: a constant-rate transport with ACKs, named `{name}`\nnext:\n  {next}\n")
    })?;
    Ok(ExitCode::SUCCESS)
}

fn check_name(name: &str, transports: &Transports) -> Result<(), Failure> {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let problem = if !name.starts_with(|c: char| c.is_ascii_lowercase())
        || !name.chars().all(is_letter)
        || name.len() > 64
    {
        "is not a valid name of a crate and a transport"
    } else if KEPT.contains(&name) || name.starts_with("trimline_") {
        "is a reserved name"
    } else if transports.find(name).is_some() {
        "is an existing transport"
    } else {
        return Ok(());
    };
    Err(Failure::message(format!(
        "`{name}` {problem}; expected a new name of lower-case letters, digits and `_`, such as `paced`"
    )))
}

/// The checkout that the crate depends on, as an absolute path.
fn checkout(given: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let root = given.unwrap_or_else(|| BUILT_FROM.into());
    let whole = fs::canonicalize(&root).ok();
    let is_checkout = |root: &PathBuf| root.join("crates/sim/Cargo.toml").is_file();
    whole.filter(is_checkout).ok_or_else(|| {
        Failure::message(format!(
            "{}: not a checkout of Trimline; expected one with --trimline",
            root.display()
        ))
    })
}

/// A template with the names filled in.
fn filled(template: &str, name: &str, root: &Path) -> String {
    let type_name: String = name.split('_').map(capitalised).collect();
    // A JSON string is a TOML string; the template has the quotes.
    let root = serde_json::Value::from(root.display().to_string()).to_string();
    template
        .replace("@name@", name)
        .replace("@Name@", &type_name)
        .replace("@root@", root.trim_matches('"'))
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(name: &str) -> String {
        check_name(name, &Transports::built_in()).unwrap_err().to_string()
    }

    #[test]
    fn a_new_transport_needs_a_new_valid_crate_name() {
        for name in ["", "9p", "Paced", "a-b", "_a", "../x", "a b", &"a".repeat(65)] {
            assert!(refused(name).contains("is not a valid name"), "{name}");
        }
        assert!(refused("dctcp").contains("is an existing transport"));
        assert!(refused("match").contains("is a reserved name"));
        assert!(refused("trimline_sim").contains("is a reserved name"));
        assert!(check_name("paced_2", &Transports::built_in()).is_ok());
    }

    #[test]
    fn templates_are_filled_completely() {
        for (file, template) in FILES {
            let text = filled(template, "my_own", Path::new("there"));
            assert!(!text.contains('@'), "{file}: {text}");
        }
        assert_eq!(
            filled("@Name@ @name@ @root@", "my_own", Path::new("there")),
            "MyOwn my_own there"
        );
    }
}
