//! The simulator for a page of a browser: a scenario's text goes in, the files of a run come out.
//!
//! It draws nothing: `see/see.js` does. It exports two functions, [`allocate`] and [`run()`], and imports none, so that a
//! page needs no generated code. An instance serves one run; its memory goes with it.
//!
//! # Begin with
//! - [`run()`]: the whole interface.
//!
//! # In and out
//! The page drives. It copies the text to [`allocate`]d memory, calls [`run()`], and reads [`PARTS`] parts, each a file with
//! the bytes that `trimline run` writes.
//!
//! # Example
//! ```js
//! const { memory, allocate, run } = (await WebAssembly.instantiate(module)).exports;
//! const text = new TextEncoder().encode(scenario);
//! const at = allocate(text.length);
//! new Uint8Array(memory.buffer, at, text.length).set(text);
//! const result = run(at, text.length, 0); // before `memory.buffer`, which it may replace
//! const parts = new Uint32Array(memory.buffer, result, 14);
//! const flows = new Uint8Array(memory.buffer, parts[4], parts[5]);
//! ```
//!
//! # Read on
//! `docs/see.md` says what the page shows and how it is built.

use std::ops::ControlFlow;

use trimline_metrics::{Summary, table, timeline};
use trimline_sim::Progress;
use trimline_sim::scenario::Scenario;

/// Number of parts of a result: error, names of the scenario's runs (a line each), flows.csv, summary.json, ports.csv,
/// pauses.csv, timeline.csv.
pub const PARTS: usize = 7;

/// Packet-hops after which a run is an error, so that a page answers within seconds (chosen).
const MAX_HOPS: u64 = 5_000_000;

/// Returns memory for a text of `bytes` bytes.
#[unsafe(no_mangle)]
pub extern "C" fn allocate(bytes: usize) -> *mut u8 {
    vec![0; bytes].leak().as_mut_ptr()
}

/// Runs the run at `place` of a scenario. Returns the address of [`PARTS`] pairs: address and length of each part. A part
/// that does not exist has length 0; with an error there are the error and the names alone.
///
/// # Safety
/// `text` is memory of [`allocate`] with at least `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn run(text: *const u8, bytes: usize, place: usize) -> *const [usize; 2] {
    // SAFETY: as the caller promises.
    let text = String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(text, bytes) });
    let parts = parts(&text, place).map(|part| {
        let part = part.leak();
        [part.as_ptr().addr(), part.len()]
    });
    Box::leak(Box::new(parts)).as_ptr()
}

fn parts(text: &str, place: usize) -> [Vec<u8>; PARTS] {
    let mut names = Vec::new();
    match files(text, place, &mut names) {
        Ok([flows, summary, ports, pauses, timeline]) => {
            [Vec::new(), names, flows, summary, ports, pauses, timeline]
        }
        Err(error) => [error.into_bytes(), names, vec![], vec![], vec![], vec![], vec![]],
    }
}

fn files(text: &str, place: usize, names: &mut Vec<u8>) -> Result<[Vec<u8>; 5], String> {
    let scenario =
        Scenario::parse("scenario.toml", text, &[]).map_err(|error| error.to_string())?;
    let all: Vec<&str> = scenario.runs.iter().map(|run| run.name.as_str()).collect();
    names.extend(all.join("\n").into_bytes());
    let run = scenario.runs.get(place).ok_or_else(|| format!("no run {place} of {}", all.len()))?;

    let mut watch = |progress: Progress| match progress.packet_hops > MAX_HOPS {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let record = trimline_sim::run(&run.plan, &mut watch)
        .map_err(|error| format!("{}: {error}", run.name))?;
    if record.packet_hops > MAX_HOPS {
        let at_us = record.simulated_ps / 1_000_000;
        return Err(format!(
            "{}: stopped at {at_us} us: more than {MAX_HOPS} packet-hops. `trimline run` has no such limit.",
            run.name
        ));
    }
    let mut flows = Vec::new();
    table::write_flows(&record, &mut flows).map_err(|error| error.to_string())?;
    Ok([
        flows,
        Summary::new(&record).to_json().into_bytes(),
        table::ports(&record),
        if record.pauses.is_empty() { Vec::new() } else { table::pauses(&record) },
        timeline::csv(&record.timeline),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = "topology.star.hosts = 3\n\
        workload = [{ name = \"w\", incast = { receiver = 0, senders = 2 }, size = \"9KB\" }]\n\
        output.timeline.places = [\"tor 0 down 0\"]\n\
        series = [{ name = \"a\" }, { name = \"b\", transport.dctcp = {} }]\n";

    fn text(part: &[u8]) -> &str {
        std::str::from_utf8(part).unwrap()
    }

    #[test]
    fn a_run_has_its_files_and_the_names_of_all_runs() {
        let [error, names, flows, summary, ports, pauses, timeline] =
            parts(SCENARIO, 1).map(|part| text(&part).to_owned());
        assert_eq!((error.as_str(), names.as_str()), ("", "a/seed-1\nb/seed-1"));
        assert_eq!(flows.lines().count(), 3);
        assert!(summary.contains("\"series\": \"b\""), "{summary}");
        assert!(ports.contains("tor 0 down 2,"), "{ports}");
        assert_eq!(pauses, "");
        assert!(timeline.contains(",depart,data,w,"), "{timeline}");
    }

    #[test]
    fn mistakes_name_line_and_column() {
        let error = |text: &str, place| String::from_utf8(parts(text, place)[0].clone()).unwrap();
        assert_eq!(error(SCENARIO, 2), "no run 2 of 2");
        let wrong = error(&SCENARIO.replace("hosts = 3", "hosts = \"3\""), 0);
        assert!(wrong.starts_with("scenario.toml:1:23: "), "{wrong}");
    }

    #[test]
    fn a_run_without_end_is_stopped() {
        let endless = SCENARIO.replace("\"9KB\"", "\"long-lived\"") + "duration = \"3600s\"";
        let error = String::from_utf8(parts(&endless, 0)[0].clone()).unwrap();
        assert!(error.contains("more than 5000000 packet-hops"), "{error}");
    }
}
