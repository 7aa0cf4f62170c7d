//! `trimline formats`: the files of other simulators that are read, and the built-in flow sizes.

use trimline_sim::distributions;
use trimline_sim::formats::sizes::Reading;

use crate::terminal::columns;

pub(crate) fn formats() -> String {
    let head = ["distribution", "mean B", "largest B", "interpolation", "file"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (name, file, sizes) in distributions::built_in() {
        let reading = match sizes.reading() {
            Reading::Step => "step",
            Reading::Linear => "linear",
        };
        rows.push(vec![
            name.to_owned(),
            (sizes.mean_millibytes() / 1000).to_string(),
            sizes.largest().to_string(),
            reading.to_owned(),
            file.to_owned(),
        ]);
    }
    format!("{FILES}{}", columns(&rows))
}

const FILES: &str = "\
Files that are read as they are:

topology.file    htsim's .topo; HPCC's topologies, where the graph is a folded Clos
workload.file    htsim's .cm (flows, triggers, failures); HPCC's flows
size.file        flow sizes: HPCC (bytes and percents), Homa (mean, then sizes and probabilities),
                 dcPIM (packets, 1, probability), sizes and shares up to 1; blanks or commas

`trimline run FLOWS.cm [--topology FILE]` runs a connection matrix without a scenario, and
`trimline run FLOWS --topology FILE` flows of HPCC; so do compare, trace and explain. `--format` says which
of the two a file is in, where its name (.cm, .tm) and first line do not.
Written: fct.txt with output.fct = true, the lines of HPCC's FCT output.

Flow sizes that are built in, size.distribution = NAME; sources in crates/sim/distributions/README.md:

";
