//! Flow-size distributions: built in by name, or read from files of a scenario.

use std::sync::Arc;

use trimline_packet::ByteCount;

use crate::formats::FormatError;
use crate::formats::sizes::{Form, Reading, SizeDistribution};
use crate::keys::error::{ScenarioError, nearest};
use crate::keys::form::{self, BYTES, Key, computed, optional};
use crate::keys::quantity::{self, Quantity};
use crate::keys::read::{MAX_PACKETS, few_packets, in_file, number, read, text_of};
use crate::keys::tree::Node;
use crate::pareto::{NoPareto, Pareto};
use crate::plan::Size;

/// Payload of a packet in files that count packets: Ethernet's 1500 B less 40 B of IP and TCP headers.
const PACKET: u64 = 1460;

/// The file of a built-in distribution, and its form.
struct BuiltIn {
    name: &'static str,
    file: &'static str,
    text: &'static str,
    /// `None` for a column of percentiles.
    form: Option<Form>,
    unit: u64,
    column: &'static str,
}

const fn listed(name: &'static str, file: &'static str, text: &'static str, form: Form) -> BuiltIn {
    BuiltIn { name, file, text, form: Some(form), unit: 1, column: "" }
}

const fn in_packets(
    name: &'static str,
    file: &'static str,
    text: &'static str,
    form: Form,
) -> BuiltIn {
    BuiltIn { name, file, text, form: Some(form), unit: PACKET, column: "" }
}

const fn column(name: &'static str, column: &'static str) -> BuiltIn {
    let text = include_str!("../distributions/roy15-percentiles.csv");
    BuiltIn { name, file: "roy15-percentiles.csv", text, form: None, unit: 1, column }
}

macro_rules! file {
    ($make:ident, $name:literal, $file:literal, $form:expr) => {
        $make($name, $file, include_str!(concat!("../distributions/", $file)), $form)
    };
}

/// Sources: distributions/README.md.
const BUILT_IN: [BuiltIn; 19] = [
    file!(listed, "web-search", "hpcc-WebSearch_distribution.txt", Form::Hpcc),
    file!(listed, "hadoop", "hpcc-FbHdp_distribution.txt", Form::Hpcc),
    file!(listed, "ali-storage", "hpcc-AliStorage2019.txt", Form::Hpcc),
    file!(listed, "google-rpc", "hpcc-GoogleRPC2008.txt", Form::Hpcc),
    file!(listed, "homa-w1", "homa-FacebookKeyValue_Sampled.txt", Form::Homa),
    file!(listed, "homa-w2", "homa-Google_SearchRPC.txt", Form::Homa),
    file!(listed, "homa-w3", "homa-Google_AllRPC.txt", Form::Homa),
    file!(listed, "homa-w4", "homa-Facebook_HadoopDist_All.txt", Form::Homa),
    file!(in_packets, "homa-w5", "homa-DCTCP_MsgSizeDist.txt", Form::Homa),
    file!(
        listed,
        "facebook-cache-follower",
        "homa-Facebook_CacheFollowerDist_IntraCluster.txt",
        Form::Homa
    ),
    file!(
        listed,
        "facebook-web-server",
        "homa-Facebook_WebServerDist_IntraCluster.txt",
        Form::Homa
    ),
    file!(in_packets, "dcpim-web-search", "dcpim-CDF_websearch.txt", Form::Dcpim),
    file!(in_packets, "dcpim-dctcp", "dcpim-CDF_dctcp.txt", Form::Dcpim),
    file!(in_packets, "dcpim-data-mining", "dcpim-CDF_datamining.txt", Form::Dcpim),
    file!(in_packets, "dcpim-imc10", "dcpim-CDF_imc10.txt", Form::Dcpim),
    column("web-ndp-paper", "web_ndp_paper_bytes"),
    column("roy15-web", "web_bytes"),
    column("roy15-cache", "cache_bytes"),
    column("roy15-hadoop", "hadoop_bytes"),
];

pub(crate) static NAMES: [&str; BUILT_IN.len()] = {
    let mut names = [""; BUILT_IN.len()];
    let mut place = 0;
    while place < names.len() {
        names[place] = BUILT_IN[place].name;
        place += 1;
    }
    names
};

impl BuiltIn {
    fn read(&self, reading: Option<Reading>) -> Result<SizeDistribution, FormatError> {
        match self.form {
            Some(form) => {
                let reading = reading.unwrap_or(form.reading());
                SizeDistribution::parse(self.file, self.text, form, self.unit, reading)
            }
            None => SizeDistribution::percentiles(self.file, self.text, self.column),
        }
    }
}

/// The forms of files, for the keys of a table with a file.
pub(crate) const FORMATS: [&str; 4] = ["hpcc", "homa", "dcpim", "cdf"];
/// Keys of a table that names a distribution of sizes.
pub(crate) const BUILT_IN_KEY: Key = optional(
    "distribution",
    form::Form::Word(&NAMES),
    "A built-in distribution; `trimline formats` lists them with their sources.",
);
pub(crate) const FILE_KEY: Key = optional(
    "file",
    form::Form::Text,
    "A file in the form of HPCC, Homa or dcPIM, or of sizes and shares up to 1, with blanks or commas. A relative name begins at the scenario's folder.",
);
pub(crate) const FORMAT_KEY: Key = computed(
    "format",
    form::Form::Word(&FORMATS),
    "by the words in its first line, and whether the last share is 1 or 100",
    "Form of the file.",
);
pub(crate) const PACKET_KEY: Key = computed(
    "packet",
    BYTES,
    "1B; 1460B with dcpim and homa-w5, which count packets; none for a file of Homa with sizes below 1 MB",
    "Bytes of one unit of the file's sizes.",
);

/// Returns every built-in distribution with its name and its source file.
///
/// # Panics
/// Never panics: a test reads the files.
pub fn built_in() -> impl Iterator<Item = (&'static str, &'static str, SizeDistribution)> {
    BUILT_IN.iter().map(|built_in| {
        let sizes = built_in.read(None).unwrap_or_else(|error| panic!("{error}"));
        (built_in.name, built_in.file, sizes)
    })
}

/// Sizes of a checked `size` table, for a transport with packets of `payload_bytes`.
pub(super) fn drawn(node: &Node, payload_bytes: u16) -> Result<Size, ScenarioError> {
    let Some(parameters) = node.child("pareto").or(node.child("mixture")) else {
        let sizes = distribution(node)?;
        few_packets(node, sizes.largest(), payload_bytes)?;
        return Ok(Size::Drawn(sizes));
    };
    let of_others = ["packet", "format", "interpolation"];
    if let Some(stray) = of_others.iter().find_map(|key| node.child(key)) {
        return Err(ScenarioError::new(
            &stray.place,
            "the form of a file for a distribution that has none",
            "`packet`, `format` and `interpolation` beside `file` or `distribution`",
        ));
    }
    match parameters.list() {
        Some(parts) => mixture(parameters, parts, payload_bytes).map(Size::Drawn),
        None => pareto(parameters, payload_bytes).map(Size::Pareto),
    }
}

fn mixture(
    node: &Node,
    parts: &[Node],
    payload_bytes: u16,
) -> Result<Arc<SizeDistribution>, ScenarioError> {
    let mut sizes = Vec::with_capacity(parts.len());
    for part in parts {
        let place = part.child("size").unwrap_or(part);
        let size = read(place, quantity::bytes, Quantity::Bytes)?;
        few_packets(place, size.get(), payload_bytes)?;
        sizes.push((size.get(), u64::from(number(part, "weight").unwrap_or(1))));
    }
    let sizes = SizeDistribution::mixture(&sizes).map_err(|problem| {
        ScenarioError::new(&node.place, problem, "sizes of which one has a weight above 0")
    })?;
    Ok(Arc::new(sizes))
}

fn pareto(node: &Node, payload_bytes: u16) -> Result<Pareto, ScenarioError> {
    let under = |key| node.child(key).unwrap_or(node);
    let shape = read(under("shape"), quantity::factor, Quantity::Factor)?;
    let mean = read(under("mean"), quantity::bytes, Quantity::Bytes)?;
    let sizes = match node.child("max") {
        Some(max) => {
            let bytes = read(max, quantity::bytes, Quantity::Bytes)?.get();
            few_packets(max, bytes, payload_bytes)?;
            Pareto::bounded(shape, mean.get(), bytes)
        }
        None => {
            let max = MAX_PACKETS * u64::from(payload_bytes);
            Pareto::unbounded(shape, mean.get(), max)
        }
    };
    sizes.map_err(|mistake| {
        let (key, problem, expected) = match mistake {
            NoPareto::Shape => {
                ("shape", "sizes without a mean".to_owned(), "a shape above 1".to_owned())
            }
            NoPareto::Mean(min) => (
                "mean",
                format!("a mean of {mean} makes the least size smaller than a byte"),
                match min {
                    Some(min) => format!("a mean of {min}B or more"),
                    None => "a larger shape".to_owned(),
                },
            ),
            NoPareto::Max if node.child("max").is_some() => (
                "max",
                "a largest size that does not exceed the mean".to_owned(),
                format!("more than {mean}"),
            ),
            NoPareto::Max => (
                "mean",
                format!("a mean of {mean}"),
                format!("less than {MAX_PACKETS} packets of {payload_bytes} B"),
            ),
        };
        ScenarioError::new(&under(key).place, problem, expected)
    })
}

pub(crate) fn distribution(node: &Node) -> Result<Arc<SizeDistribution>, ScenarioError> {
    let reading = match node.child("interpolation").and_then(Node::text) {
        Some("step") => Some(Reading::Step),
        Some("linear") => Some(Reading::Linear),
        _ => None,
    };
    let sizes = match (node.child("file"), node.child("distribution")) {
        (Some(file), _) => from_file(node, file, reading)?,
        (None, Some(named)) => {
            let name = named.text().unwrap_or_default();
            let built_in = BUILT_IN.iter().find(|built_in| built_in.name == name);
            let built_in = built_in.ok_or_else(|| {
                ScenarioError::new(
                    &named.place,
                    format!("no distribution \"{name}\""),
                    format!("one of {}", NAMES.join(", ")),
                )
                .nearest(nearest(name, NAMES))
            })?;
            let packet = node.child("packet");
            let stray = node.child("format").or(packet.filter(|_| built_in.unit == 1));
            if let Some(stray) = stray {
                return Err(ScenarioError::new(
                    &stray.place,
                    "the form of a distribution that is built in",
                    "`packet` and `format` beside `file`; `packet` also beside a distribution that counts packets",
                ));
            }
            let unit = match packet {
                Some(packet) => unit(read(packet, quantity::bytes, Quantity::Bytes)?),
                None => built_in.unit,
            };
            let mistake = |error: FormatError| {
                ScenarioError::new(&named.place, error.to_string(), "a distribution")
            };
            let sizes = BuiltIn { unit, ..*built_in }.read(reading).map_err(mistake)?;
            if reading.is_some_and(|reading| reading != sizes.reading()) {
                return Err(ScenarioError::new(
                    &node.place,
                    format!("\"{name}\" is percentiles: nothing is known between them"),
                    "interpolation \"step\"",
                ));
            }
            sizes
        }
        (None, None) => {
            return Err(ScenarioError::new(
                &node.place,
                "no distribution",
                "`distribution`, `file`, `pareto` or `mixture`",
            ));
        }
    };
    Ok(Arc::new(sizes))
}

fn unit(bytes: ByteCount) -> u64 {
    bytes.get().clamp(1, 1 << 20)
}

fn from_file(
    node: &Node,
    file: &Node,
    reading: Option<Reading>,
) -> Result<SizeDistribution, ScenarioError> {
    let (name, text) = text_of(file, "a file of a flow-size distribution")?;
    let form = match node.child("format").and_then(Node::text) {
        Some("hpcc") => Some(Form::Hpcc),
        Some("homa") => Some(Form::Homa),
        Some("dcpim") => Some(Form::Dcpim),
        Some("cdf") => Some(Form::Cdf),
        _ => Form::of(&text),
    };
    let form = form.ok_or_else(|| {
        ScenarioError::new(
            &file.place,
            format!("{name}:1: no flow-size distribution that is known"),
            "lines of 2 (HPCC, or shares up to 1) or 3 numbers (dcPIM), or a mean in the first line (Homa)",
        )
    })?;
    let unit = match node.child("packet") {
        Some(packet) => read(packet, quantity::bytes, Quantity::Bytes)?,
        None if form == Form::Dcpim => ByteCount::new(PACKET),
        None => ByteCount::new(1),
    };
    let reading = reading.unwrap_or(form.reading());
    let sizes = SizeDistribution::parse(&name, &text, form, self::unit(unit), reading)
        .map_err(|error| in_file(file, &error))?;
    // Homa's files count bytes, except one that counts packets up to 20,000.
    if form == Form::Homa && node.child("packet").is_none() && sizes.largest() < 1_000_000 {
        let largest = sizes.largest();
        return Err(ScenarioError::new(
            &file.place,
            format!("{name}: sizes up to {largest}, which may be bytes or packets"),
            "`packet` beside `file`: \"1B\", or the payload of a packet, as \"1460B\"",
        ));
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_distribution_is_read() {
        assert_eq!(built_in().count(), NAMES.len());
        for (name, file, sizes) in built_in() {
            let mean = sizes.mean_millibytes() / 1000;
            assert!((100..20_000_000).contains(&mean), "{name}, {file}: {mean} B");
        }
    }

    #[test]
    fn a_distribution_in_packets_takes_a_packet_size() {
        let text = |size: &str| {
            format!(
                "topology.star.hosts = 4\n[[workload]]\nname = \"w\"\npermutation = {{}}\nsize = {{ {size} }}"
            )
        };
        let sizes = |size: &str| {
            let scenario = crate::scenario::Scenario::parse("s.toml", &text(size), &[]);
            let plan = scenario.map_err(|error| error.to_string())?.runs[0].plan.clone();
            match &plan.workloads[0].size {
                Size::Drawn(sizes) => Ok(sizes.largest()),
                other => Err(format!("{other:?}")),
            }
        };
        assert_eq!(sizes("distribution = \"homa-w5\""), Ok(20_000 * 1460));
        assert_eq!(sizes("distribution = \"homa-w5\", packet = \"1442B\""), Ok(20_000 * 1442));
        let refused = sizes("distribution = \"homa-w1\", packet = \"1442B\"").unwrap_err();
        assert!(refused.contains("a distribution that counts packets"), "{refused}");
    }

    /// The files of Homa begin with the mean that their authors computed.
    #[test]
    fn means_match_the_distribution_files() {
        for built_in in BUILT_IN.iter().filter(|built_in| built_in.form == Some(Form::Homa)) {
            let sizes = built_in.read(None).unwrap();
            let stated: f64 = built_in.text.lines().next().unwrap().trim().parse().unwrap();
            let stated = stated * built_in.unit as f64;
            let mean = sizes.mean_millibytes() as f64 / 1000.0;
            // The sampled files keep the mean of the data they were sampled from.
            let share = if built_in.name == "homa-w5" { 0.01 } else { 0.06 };
            assert!((mean / stated - 1.0).abs() < share, "{}: {mean} {stated}", built_in.name);
        }
    }
}
