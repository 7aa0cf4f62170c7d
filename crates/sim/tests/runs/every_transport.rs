//! Every built-in transport under every switch profile.

use trimline_sim::suites::every_profile;
use trimline_sim::transports::Transports;

#[test]
fn every_transport_repeats_its_results_under_every_profile() {
    for transport in Transports::built_in().iter() {
        every_profile(transport);
    }
}
