//! `trimline transports`: the transports that scenarios can name.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use trimline_experiments::Failure;
use trimline_sim::transports::Transports;

use crate::output::Output;
use crate::terminal::columns;

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    output: Output,
}

pub(crate) fn list(options: &Options, transports: &Transports) -> Result<ExitCode, Failure> {
    let all: Vec<_> = transports
        .iter()
        .map(|transport| {
            json!({
                "name": transport.name(),
                "label": transport.label(),
                "colour": transport.colour(),
                "about": transport.about(),
            })
        })
        .collect();
    options.output.print(&all, || {
        let row = |described: [&str; 3]| described.map(str::to_owned).to_vec();
        let mut rows = vec![row(["transport", "figures", "description"])];
        rows.extend(transports.iter().map(|t| row([t.name(), t.label(), t.about()])));
        columns(&rows)
    })?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_label_and_colour_of_every_transport() {
        let published = include_str!("../../../python/trimline/plot/transports.json");
        let published: serde_json::Value = serde_json::from_str(published).expect("JSON");
        let own: Vec<_> = Transports::built_in()
            .iter()
            .map(|t| (t.name().to_owned(), json!({ "label": t.label(), "colour": t.colour() })))
            .collect();
        assert_eq!(
            published,
            serde_json::Value::Object(own.into_iter().collect()),
            "python/trimline/plot/transports.json is stale"
        );
    }
}
