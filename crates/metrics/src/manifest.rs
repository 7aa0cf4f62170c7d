//! manifest.json: origin and speed of a result, the only file that differs between equal runs.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::record::HostLink;

/// The file that marks a directory as a result.
pub const MANIFEST: &str = "manifest.json";

/// Origin of a result, required for plots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Program version.
    pub version: String,
    /// Commit of the build; `unknown` outside a repository.
    pub commit: String,
    /// Fingerprint of the program's source: programs with equal fingerprints give equal bytes.
    pub source: String,
    /// Scenario name.
    pub scenario: String,
    /// SHA-256 of the scenario text and its overlaid settings ([`scenario_hash`]).
    pub scenario_sha256: String,
    /// SHA-256 of the run's plan: all that the scenario and the files that it names decide.
    pub plan_sha256: String,
    /// Settings overlaid on the scenario, `KEY=VALUE`.
    pub settings: Vec<String>,
    /// Run name: series, sweep point, seed.
    pub run: String,
    /// Sweep point as the scenario writes it: keys and values.
    pub point: Vec<(String, String)>,
    /// Seed of the run.
    pub seed: u64,
    /// Host links and a full data packet on them: the reference for goodputs and ideal times.
    pub host_link: HostLink,
    /// Link changes, in scenario order.
    pub link_events: Vec<LinkChange>,
    /// Engine of the run.
    pub engine: String,
    /// Thread count.
    pub threads: usize,
    /// True if the run was stopped early.
    pub interrupted: bool,
    /// Wall time of the run in seconds.
    pub wall_seconds: f64,
    /// Packets that left a link.
    pub packet_hops: u64,
    /// Packet hops per second of wall time.
    pub packet_hops_per_second: f64,
}

/// A link change during a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkChange {
    /// Time since the start of the run.
    pub at_ps: u64,
    /// Description of the change.
    pub what: String,
}

impl Manifest {
    /// Formats the manifest as JSON text with a final newline.
    pub fn to_json(&self) -> String {
        crate::summary::to_json(self)
    }

    /// Parses the output of [`Manifest::to_json`], or returns `None`.
    pub fn from_json(text: &str) -> Option<Manifest> {
        serde_json::from_str(text).ok()
    }

    /// True for results of the same run of the same scenario by the same program, which may replace each other.
    pub fn is_of_the_same_run(&self, other: &Manifest) -> bool {
        let made_by = |manifest: &Manifest| {
            [&manifest.version, &manifest.source, &manifest.engine].map(Clone::clone)
        };
        let what = |manifest: &Manifest| {
            [&manifest.scenario_sha256, &manifest.plan_sha256, &manifest.run].map(Clone::clone)
        };
        made_by(self) == made_by(other) && what(self) == what(other) && self.seed == other.seed
    }
}

/// Origin of a result, from a manifest of any version.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Origin {
    /// Scenario name.
    pub scenario: String,
    /// Run name.
    pub run: String,
}

impl Origin {
    /// Reads the origin of the result in a directory. `None` without a manifest of this program.
    pub fn of(directory: &Path) -> Option<Origin> {
        let text = fs::read_to_string(directory.join(MANIFEST)).ok()?;
        serde_json::from_str(&text).ok()
    }
}

/// SHA-256 of a text, in hex.
pub fn text_hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256, in hex, of the scenario text and each setting, each preceded by its length.
pub fn scenario_hash(text: &str, settings: &[String]) -> String {
    let mut hash = Sha256::new();
    for part in std::iter::once(text).chain(settings.iter().map(String::as_str)) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cached_result_needs_the_same_run_and_program() {
        let manifest = Manifest {
            version: "1".into(),
            commit: "c".into(),
            source: "s".into(),
            scenario: "n".into(),
            scenario_sha256: "h".into(),
            plan_sha256: "p".into(),
            settings: vec![],
            run: "seed-1".into(),
            point: vec![("load".into(), "50%".into())],
            seed: 1,
            host_link: HostLink { rate_bps: 10, payload_bytes: 9, header_bytes: 1 },
            link_events: vec![LinkChange { at_ps: 7, what: "host 3 fails".into() }],
            engine: "windows".into(),
            threads: 1,
            interrupted: false,
            wall_seconds: 0.1 + 0.2,
            packet_hops: 1,
            packet_hops_per_second: 1.0,
        };
        assert_eq!(Manifest::from_json(&manifest.to_json()), Some(manifest.clone()));
        let slower = Manifest { wall_seconds: 9.0, commit: "d".into(), ..manifest.clone() };
        assert!(manifest.is_of_the_same_run(&slower));
        let others = [
            Manifest { version: "2".into(), ..manifest.clone() },
            Manifest { source: "t".into(), ..manifest.clone() },
            Manifest { scenario_sha256: "i".into(), ..manifest.clone() },
            Manifest { plan_sha256: "q".into(), ..manifest.clone() },
            Manifest { run: "seed-2".into(), ..manifest.clone() },
            Manifest { engine: "heap".into(), ..manifest.clone() },
            Manifest { seed: 2, ..manifest.clone() },
        ];
        for other in others {
            assert!(!manifest.is_of_the_same_run(&other), "{other:?}");
        }
    }

    #[test]
    fn the_hash_distinguishes_scenario_text_from_settings() {
        let hash = |text: &str, settings: &[&str]| {
            let settings: Vec<String> = settings.iter().map(|&s| s.to_owned()).collect();
            scenario_hash(text, &settings)
        };
        assert_eq!(hash("a", &[]).len(), 64);
        assert_eq!(hash("a", &["b"]), hash("a", &["b"]));
        assert_ne!(hash("ab", &[]), hash("a", &["b"]));
        assert_ne!(hash("a", &["b", "c"]), hash("a", &["bc"]));
    }
}
