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
Files that Trimline reads unchanged:

topology.file    topologies of htsim (.topo), and of HPCC if the graph is a folded Clos
workload.file    connection matrices of htsim (.cm: flows, triggers, failures), flow files of HPCC
size.file        flow sizes of HPCC (bytes and percents), Homa (mean, then sizes and probabilities) and
                 dcPIM (packets, 1, probability), or sizes and cumulative shares up to 1; columns are
                 separated by blanks or commas

`trimline run FLOWS.cm [--topology FILE]` runs a connection matrix without a scenario, and
`trimline run FLOWS --topology FILE` a flow file of HPCC; so do compare, trace and explain. `--format`
gives the format if neither the name (.cm, .tm) nor the first line shows it.

Files that Trimline writes: fct.txt, in the FCT format of HPCC, with output.fct = true.

Built-in flow-size distributions (size.distribution = NAME; sources in crates/sim/distributions/README.md):

";
