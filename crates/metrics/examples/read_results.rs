//! The files of a run, read without the simulator: quantiles of flows.csv, beside those of summary.json.
//!
//!     trimline run examples/incast.toml
//!     cargo run -p trimline-metrics --example read_results -- out/examples/incast/paper/seed-1
//!
//! Without a folder it reads the result that `make golden` compares with. Its last line:
//!
//!     FCT at the receiver: p50 983.6 us, p99 2771.9 us (summary.json: 983.6, 2771.9)

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use trimline_metrics::columns::{Column, FILES};
use trimline_metrics::{Summary, quantile};

fn main() -> Result<(), Box<dyn Error>> {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../cli/tests/golden");
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or(golden.to_owned()));

    // Each column has a unit and a meaning.
    let flows = FILES.iter().find(|file| file.file == "flows.csv").ok_or("no such file")?;
    let column = |name: &str| flows.columns.iter().position(|column| column.name == name);
    let fct = column("fct_receiver_ps").ok_or("no such column")?;
    let Column { name, unit, about } = flows.columns[fct];
    println!("column {name}, in {unit}: {about}");

    // A flow that has not ended has an empty field.
    let mut values: Vec<u64> = Vec::new();
    let (mut count, mut reader) = (0, csv::Reader::from_path(folder.join("flows.csv"))?);
    for row in reader.records() {
        count += 1;
        if let Some(text) = row?.get(fct).filter(|text| !text.is_empty()) {
            values.push(text.parse()?);
        }
    }
    values.sort_unstable();
    println!("{} of {count} flows have ended", values.len());

    let text = fs::read_to_string(folder.join("summary.json"))?;
    let summary = Summary::from_json(&text).ok_or("no summary of this program")?;
    let there = summary.fct_receiver_us.ok_or("no flow has ended")?;
    let at = |share| quantile(&values, share).map_or(0.0, |ps| ps as f64 / 1e6);
    println!(
        "FCT at the receiver: p50 {:.1} us, p99 {:.1} us (summary.json: {:.1}, {:.1})",
        at(5_000),
        at(9_900),
        there.p50,
        there.p99
    );
    Ok(())
}
