//! Checks the dependencies of crates in their manifests against ARCHITECTURE.md's arrows.

use std::fs;
use std::path::Path;

/// Permitted dependencies of a crate and of its tests.
struct Arrows {
    of: &'static str,
    to: &'static [&'static str],
    in_tests: &'static [&'static str],
}

const fn arrows(of: &'static str, to: &'static [&'static str]) -> Arrows {
    Arrows { of, to, in_tests: &[] }
}

const ALLOWED: [Arrows; 15] = [
    arrows("packet", &[]),
    arrows("switch", &["packet"]),
    arrows("hostnic", &["packet"]),
    arrows("transport", &["packet"]),
    arrows("metrics", &["packet"]),
    arrows("sim", &["packet", "switch", "hostnic", "transport", "metrics"]),
    Arrows {
        of: "stack",
        to: &["packet", "switch", "hostnic", "transport"],
        // One scenario on both drivers.
        in_tests: &["sim", "metrics", "testbed"],
    },
    arrows("testbed", &["packet", "switch", "stack"]),
    arrows("explain", &["packet", "metrics", "sim"]),
    arrows("experiments", &["packet", "metrics", "sim", "explain"]),
    arrows("cli", &["packet", "metrics", "sim", "stack", "testbed", "explain", "experiments"]),
    arrows("py", &["metrics", "sim", "experiments", "cli"]),
    arrows("web", &["metrics", "sim"]),
    arrows("xtask", &["packet", "switch", "hostnic"]),
    arrows("p4", &["packet", "switch"]),
];

/// Folders of crates.
pub(crate) const FOLDERS: [&str; 2] = ["crates", "tools"];

/// Returns faults in the manifests of the crates, or the name of a manifest that cannot be read or is not TOML.
pub(crate) fn check_all(root: &Path) -> Result<Vec<String>, String> {
    let mut findings = Vec::new();
    for folder in FOLDERS {
        let unreadable = |error| format!("{folder}: {error}");
        for entry in fs::read_dir(root.join(folder)).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let manifest = entry.path().join("Cargo.toml");
            if manifest.is_file() {
                let text = fs::read_to_string(&manifest)
                    .map_err(|error| format!("{folder}/{name}/Cargo.toml: {error}"))?;
                findings.extend(check(folder, &name, &text)?);
            }
        }
    }
    findings.sort();
    Ok(findings)
}

fn check(folder: &str, name: &str, manifest: &str) -> Result<Vec<String>, String> {
    let at = format!("{folder}/{name}/Cargo.toml");
    let Some(allowed) = ALLOWED.iter().find(|arrows| arrows.of == name) else {
        return Ok(vec![format!(
            "{at}: say in {} and in ARCHITECTURE.md what it may know",
            file!()
        )]);
    };
    let parsed: toml::Table = manifest.parse().map_err(|error| format!("{at}: {error}"))?;
    let mut findings = Vec::new();
    let sections = [
        ("dependencies", &[][..]),
        ("build-dependencies", &[]),
        ("dev-dependencies", allowed.in_tests),
    ];
    for (section, besides) in sections {
        // Dependencies on every system, then on some systems: `[target.'cfg(..)'.dependencies]`.
        let targets = parsed.get("target").and_then(toml::Value::as_table);
        let tables = targets.into_iter().flatten().filter_map(|(_, target)| target.as_table());
        let named = [&parsed].into_iter().chain(tables);
        let named = named.filter_map(|table| table.get(section)?.as_table());
        for crate_name in named.flat_map(toml::Table::keys) {
            let Some(other) = crate_name.strip_prefix("trimline-") else { continue };
            if !allowed.to.contains(&other) && !besides.contains(&other) {
                let known = [allowed.to, besides].concat();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                findings.push(format!(
                    "{at}: {section}: {name} may not know {other}; of ours it may know: {known}"
                ));
            }
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    fn check(name: &str, manifest: &str) -> Result<Vec<String>, String> {
        super::check("crates", name, manifest)
    }

    #[test]
    fn a_dependency_against_the_order_is_refused() {
        let manifest = "[dependencies]\ntrimline-packet.workspace = true\nserde = \"1\"\n";
        assert_eq!(check("switch", manifest), Ok(Vec::new()));
        let of_linux = manifest.replace("[", "[target.'cfg(unix)'.").replace("packet", "sim");
        assert_eq!(check("switch", &of_linux).unwrap().len(), 1);
        let sideways = format!("{manifest}trimline-transport = {{ path = \"../transport\" }}\n");
        let found = check("switch", &sideways).unwrap();
        assert_eq!(
            found,
            [
                "crates/switch/Cargo.toml: dependencies: switch may not know transport; of ours it may know: packet"
            ]
        );
    }

    #[test]
    fn tests_of_the_stack_may_know_the_simulator_and_the_stack_may_not() {
        assert_eq!(check("stack", "[dev-dependencies]\ntrimline-sim.workspace = true"), Ok(vec![]));
        assert_eq!(
            check("stack", "[dependencies]\ntrimline-sim.workspace = true").unwrap().len(),
            1
        );
    }

    #[test]
    fn a_crate_missing_from_the_order_is_named() {
        assert!(check("common", "").unwrap()[0].contains("what it may know"));
        assert!(check("sim", "[").unwrap_err().starts_with("crates/sim/Cargo.toml: "));
    }
}
