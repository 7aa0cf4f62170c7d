//! Properties of any text as a file of another simulator. The fuzz target and the simulator's tests share them.

use trimline_sim::formats::sizes::{Form, Reading, SizeDistribution, WHOLE};
use trimline_sim::formats::{FormatError, connection_matrix, hpcc, htsim_topology};
use trimline_sim::scenario::Scenario;

/// Runs every parser on one text.
pub(crate) fn formats(bytes: &[u8]) {
    connection_matrix(bytes);
    htsim_topology(bytes);
    hpcc_topology(bytes);
    hpcc_flows(bytes);
    sizes(bytes);
}

pub(crate) fn connection_matrix(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(matrix) = well(connection_matrix::parse("f", &text), &text) {
        for flow in &matrix.connections {
            assert!(flow.source.max(flow.destination) < matrix.nodes, "a host that is not there");
        }
    }
}

pub(crate) fn htsim_topology(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(topology) = well(htsim_topology::parse("f", &text), &text) {
        assert!(topology.clos.hosts() >= 2);
    }
}

pub(crate) fn hpcc_topology(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(clos) = well(hpcc::topology("f", &text), &text) {
        assert!(clos.hosts() >= 2 && clos.tiers >= 1);
    }
}

pub(crate) fn hpcc_flows(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(flows) = well(hpcc::flows("f", &text), &text) {
        assert!(flows.is_sorted_by_key(|flow| flow.start));
    }
}

/// Runs every form of a distribution.
pub(crate) fn sizes(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for form in [Form::Hpcc, Form::Homa, Form::Dcpim] {
        for (reading, unit) in [(Reading::Step, 1), (Reading::Linear, 1460)] {
            if let Some(sizes) =
                well(SizeDistribution::parse("f", &text, form, unit, reading), &text)
            {
                distribution(&sizes);
            }
        }
    }
    if let Some(sizes) = well(SizeDistribution::percentiles("f", &text, "a"), &text) {
        distribution(&sizes);
    }
}

/// Parses a scenario with all its overlays. Texts that name files are skipped: the disk is no input.
pub(crate) fn scenario(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if text.contains("file") {
        return;
    }
    match Scenario::parse("f", &text, &[]) {
        Ok(scenario) => {
            assert!(!scenario.runs.is_empty());
            let mut names: Vec<&str> = scenario.runs.iter().map(|run| run.name.as_str()).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "two runs of one name");
        }
        Err(error) => {
            let place = &error.place;
            assert!(place.start <= place.source.text.len(), "a place behind the end: {error}");
        }
    }
}

/// Checks that a mistake names an existing line.
fn well<T>(read: Result<T, FormatError>, text: &str) -> Option<T> {
    match read {
        Ok(read) => Some(read),
        Err(error) => {
            let lines = text.lines().count().max(1);
            assert!((1..=lines).contains(&error.line), "line {} of {lines}: {error}", error.line);
            None
        }
    }
}

/// Checks that sizes rise with the draw, and that the mean does not exceed the largest.
fn distribution(sizes: &SizeDistribution) {
    let drawn: Vec<u64> = (0..64).map(|n| sizes.size(WHOLE / 64 * n)).collect();
    assert!(drawn.is_sorted() && drawn[0] >= 1, "{drawn:?}");
    assert_eq!(sizes.size(WHOLE - 1).max(sizes.largest()), sizes.largest());
    assert!(sizes.mean_millibytes() <= sizes.largest() * 1000);
}
