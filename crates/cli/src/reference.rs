//! `trimline reference`: every key of a scenario, the switch profiles, the names of links, the columns of every file.
//! docs/reference.md is its output.

use std::fmt::Write;

use trimline_metrics::columns::{EVENTS, FILES, PACKETS};
use trimline_sim::scenario::{self, Scenario};
use trimline_sim::topology;
use trimline_sim::transports::Transports;

use crate::output::WITHOUT_JSON;
use crate::status::STATUSES;

/// The reference for a program with these transports, as Markdown.
pub(crate) fn reference(transports: &Transports) -> String {
    let mut text = String::from(
        "# Reference\n\n\
         `trimline reference` prints this page. Keys come from the grammar that reads scenarios, columns from the code that\n\
         writes files.\n\n\
         ## Keys of a scenario\n\n\
         A key without a source has a chosen default. An example is one valid value of the key. A table in double brackets\n\
         may occur several times.\n\n\
         The settings of a run come in layers. Each layer overrides the earlier ones, in this order: the scenario, its\n\
         series, its scheme, each `--set` in the order of the command line, the point of the sweep. Trimline refuses a value\n\
         that a sweep would override, a key of a series that a scheme would replace, and a `--set` or a sweep of a key of a\n\
         transport that the series or scheme does not have: `payload` is the key for all transports. If no series or scheme\n\
         names a transport, `--set transport.dctcp={}` chooses one.\n",
    );
    text += &scenario::reference(transports);
    text += &scenario::profiles();
    text += &scenario::schemes();
    text += &links();
    text += &files();
    text += &transports_known(transports);
    text += &commands();
    text
}

const SHAPES: [(&str, &str); 4] = [
    ("topology.star.hosts = 2", "a star of two hosts"),
    (
        "topology.leafspine = { leaves = 2, spines = 1, hosts_per_leaf = 1 }",
        "two leaves and a spine",
    ),
    ("topology.fattree.k = 2", "a FatTree of switches with two ports"),
    ("topology.back_to_back = {}", "two hosts and a cable"),
];

/// The rules for names of links, with all names of some small networks.
fn links() -> String {
    let mut text = String::from(
        "\n## Names of links\n\n\
         A link has two directions. Each is named after the port or host that sends on it: layer, number of the switch\n\
         in its layer, `up` (away from hosts) or `down`, number of the port among those; or `host` and its number. All\n\
         numbers begin at 0. Layers are `tor` (also leaves, and the switch of a star), `aggregation`, `spine` and `core`.\n\n\
         | network | links |\n|---|---|\n",
    );
    for (shape, described) in SHAPES {
        let scenario =
            format!("{shape}\n[[workload]]\nname = \"w\"\npermutation = {{}}\nsize = \"1KB\"\n");
        let read = Scenario::parse("", &scenario, &[]);
        let named = |run: &scenario::Run| {
            let links = topology::links(&run.plan.topology).into_iter();
            links.map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        let names = read.ok().and_then(|read| read.runs.first().map(named)).unwrap_or_default();
        let _ = writeln!(text, "| {described}: `{shape}` | {names} |");
    }
    text
}

fn files() -> String {
    let mut text = String::from(
        "\n## Files of a run\n\n\
         A missing number is an empty field. Times are whole picoseconds. summary.json has the sums and quantiles of these\n\
         columns, manifest.json the program and the settings of the run; the names of both end in their units.\n",
    );
    for file in FILES {
        let _ = write!(
            text,
            "\n### {}\n\nA row is {}. `output.{}` enables the file.\n\n| column | unit | meaning |\n|---|---|---|\n",
            file.file, file.row, file.key
        );
        for column in file.columns {
            let _ = writeln!(text, "| `{}` | {} | {} |", column.name, column.unit, column.about);
        }
    }
    text += "\n### Events of a timeline\n\n| event | meaning |\n|---|---|\n";
    for (name, about) in EVENTS {
        let _ = writeln!(text, "| `{name}` | {about} |");
    }
    text += "\n### Packets of a timeline\n\n| packet | meaning |\n|---|---|\n";
    for (name, about) in PACKETS {
        let _ = writeln!(text, "| `{name}` | {about} |");
    }
    text
}

fn transports_known(transports: &Transports) -> String {
    let mut text = String::from(
        "\n## Transports\n\n| transport | in figures | description |\n|---|---|---|\n",
    );
    for transport in transports.iter() {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} |",
            transport.name(),
            transport.label(),
            transport.about()
        );
    }
    text
}

/// Rules of all commands: exit statuses, streams, JSON.
fn commands() -> String {
    let mut text = String::from(
        "\n## Output of commands\n\n\
         Results go to standard output, in 80 columns; a table that is wider has several lines for each row. Notes,\n\
         warnings, errors and progress go to standard error: wrapped at 80 columns on a terminal, otherwise one line\n\
         each. A bar with the time left shows the progress of long commands on a terminal only. Colours need a terminal\n\
         and no `NO_COLOR`.\n\n\
         `--json` prints the results as one JSON value instead. Commands that print repeatedly (`stats --every`,\n\
         `trimline-switch --counters`) print one value per line, and `testbed hull` one per figure. Names end in\n\
         units, as columns of files do. Errors stay text on standard error, and exit statuses stay the same.\n\n\
         | command without `--json` | reason |\n|---|---|\n",
    );
    for (command, reason) in WITHOUT_JSON {
        let _ = writeln!(text, "| `{command}` | {reason} |");
    }
    text += "\n| exit status | meaning |\n|---|---|\n";
    for (status, meaning) in STATUSES {
        let _ = writeln!(text, "| {status} | {meaning} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TRIMLINE_BLESS=1 writes the page anew.
    #[test]
    fn the_reference_page_matches_the_program() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference.md");
        let text = reference(&Transports::built_in());
        if std::env::var_os("TRIMLINE_BLESS").is_some() {
            std::fs::write(file, &text).unwrap();
        }
        let page = std::fs::read_to_string(file).unwrap_or_default();
        assert_eq!(text, page, "docs/reference.md is old: `trimline reference` prints it");
        // It has every key of the grammar, and the names of every example network.
        assert!(text.matches("`host 0`").count() >= SHAPES.len());
        assert!(!text.contains("| `` |"));
    }
}
