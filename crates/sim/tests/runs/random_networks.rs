//! Every built-in transport that ends its flows, in random small networks.
//!
//! A failure prints the seed; `TRIMLINE_SEED=n` replays it alone. `TRIMLINE_SEEDS=n` runs n seeds, `TRIMLINE_ONCE=1` on
//! one engine alone; `TRIMLINE_WATCH=1` prints the networks and their progress. `TRIMLINE_TRANSPORTS=nscc,rccc` leaves
//! out the other transports; the same seed is another network then.

use trimline_sim::suites::{random_networks, seeds};
use trimline_sim::transports::Transports;

/// Seeds of `make test`; `make nightly` runs 100,000.
const SEEDS: u64 = 250;

#[test]
fn every_flow_completes_whatever_happens_to_the_links() {
    let built_in = Transports::built_in();
    let chosen = std::env::var("TRIMLINE_TRANSPORTS").ok();
    let transports: Vec<_> = match &chosen {
        Some(names) => {
            let find = |name| built_in.find(name);
            let of =
                |name| find(name).unwrap_or_else(|| panic!("TRIMLINE_TRANSPORTS: no `{name}`"));
            names.split(',').map(of).collect()
        }
        None => built_in.iter().collect(),
    };
    let seeds = seeds(SEEDS);
    let are_all = chosen.is_none() && seeds == (0..SEEDS);
    let seen = random_networks(&transports, seeds);
    println!("{seen:?}");
    let min =
        seen.completed.min(seen.timeouts).min(seen.persistent).min(seen.pooled).min(seen.mixed);
    assert!(
        !are_all || min > 250 && seen.shared > 25 && seen.pauses.min(seen.detoured) > 250,
        "{seen:?}"
    );
}

/// Seeds of NSCC and RCCC that found what no seed of all transports had.
#[test]
fn seeds_of_nscc_and_rccc() {
    let built_in = Transports::built_in();
    let transports = ["nscc", "rccc"].map(|name| built_in.find(name).expect("a transport"));
    // Headers of packets of 128 B filled a link, and a frame for one class put off the renewal of another's pause.
    for seed in [1_001_343, 1_005_731] {
        random_networks(&transports, seed..seed + 1);
    }
}
