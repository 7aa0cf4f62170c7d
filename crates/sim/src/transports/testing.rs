//! Helpers for tests of transports' keys.

use crate::plan::Plan;
use crate::scenario::Scenario;

pub(super) fn plan(keys: &str) -> Result<Plan, String> {
    let text = format!(
        "topology.star.hosts = 4\nworkload = [{{ name = \"w\", permutation = {{}}, size = \"9KB\" }}]\n{keys}"
    );
    let scenario = Scenario::parse("s.toml", &text, &[]).map_err(|error| error.to_string())?;
    Ok(scenario.runs[0].plan.clone())
}

pub(super) fn config<C: Clone + 'static>(keys: &str) -> C {
    let plan = plan(keys).unwrap_or_else(|error| panic!("{error}"));
    plan.transports[0].config::<C>().expect("a transport with this configuration").clone()
}
