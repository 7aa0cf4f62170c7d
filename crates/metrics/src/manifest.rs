//! manifest.json: what made a result, and how fast. The one file whose bytes differ between two runs of
//! the same scenario.

use serde::Serialize;
use sha2::{Digest, Sha256};

/// What made a result. A result without its manifest is not plotted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Manifest {
    /// Version of the program.
    pub version: String,
    /// Commit that it was built from; `unknown` outside a repository.
    pub commit: String,
    /// Name of the scenario.
    pub scenario: String,
    /// SHA-256 of the scenario's text and of the settings laid over it ([`scenario_hash`]).
    pub scenario_sha256: String,
    /// Settings laid over the scenario, `KEY=VALUE`.
    pub settings: Vec<String>,
    /// Name of the run: series, point of the sweep, seed.
    pub run: String,
    /// Seed of the run.
    pub seed: u64,
    /// Engine that drove it.
    pub engine: String,
    /// Threads that drove it.
    pub threads: usize,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// Wall time of the run.
    pub wall_seconds: f64,
    /// Packets that left a link.
    pub packet_hops: u64,
    /// Of wall time.
    pub packet_hops_per_second: f64,
}

impl Manifest {
    /// The manifest as JSON text that ends with a newline.
    pub fn to_json(&self) -> String {
        crate::summary::to_json(self)
    }
}

/// SHA-256 over the scenario's text, then each setting, each preceded by its length, in hex.
pub fn scenario_hash(text: &str, settings: &[String]) -> String {
    let mut hash = Sha256::new();
    for part in std::iter::once(text).chain(settings.iter().map(String::as_str)) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_tells_text_and_settings_apart() {
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
