//! Cautions about a comparison: defaults that may decide more than its transports.

use trimline_sim::scenario::Run;

/// Sentences about defaults that may decide more than the transports do.
pub fn cautions<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Vec<String> {
    let runs: Vec<&Run> = runs.into_iter().collect();
    let mut sentences = slow_timers(runs.iter().copied());
    sentences.extend(unequal_payloads(&runs));
    sentences
}

/// Warns of different payloads at one point of the sweep.
fn unequal_payloads(runs: &[&Run]) -> Option<String> {
    let payload = |run: &Run| run.plan.transports.iter().map(|one| one.payload_bytes()).max();
    let first = runs.first()?;
    let mut found: Vec<(&str, u16)> = Vec::new();
    for run in runs.iter().filter(|run| run.point == first.point) {
        let of_run = (&*run.plan.series, payload(run)?);
        if !found.contains(&of_run) {
            found.push(of_run);
        }
    }
    if found.windows(2).all(|pair| pair[0].1 == pair[1].1) {
        return None;
    }
    let each = found.iter().map(|(name, bytes)| format!("{name} {bytes} B"));
    let each = each.collect::<Vec<_>>().join(", ");
    Some(format!(
        "full packets have different payloads: {each}; `payload` in the scenario, or --set payload=1460B, makes them \
         equal"
    ))
}

/// Warns of timers made for other networks, unless all transports have such.
fn slow_timers<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Vec<String> {
    let mut of: Vec<(&str, Option<String>)> = Vec::new();
    for chosen in runs.into_iter().flat_map(|run| &run.plan.transports) {
        let found = (chosen.name(), chosen.slow_timers());
        if !of.contains(&found) {
            of.push(found);
        }
    }
    if of.iter().all(|(_, slow)| slow.is_some()) {
        return Vec::new();
    }
    let note = |(name, slow): &(&str, Option<String>)| {
        slow.as_ref().map(|slow| {
            format!(
                "{name} has timers of Internet hosts ({slow}), which may affect results more than the transport; the \
                 preset `datacenter` has shorter timers"
            )
        })
    };
    of.iter().filter_map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trimline_sim::scenario::Scenario;

    /// The cautions about a series for each transport, with keys of the scenario and of the transports.
    fn said(keys: &str, series: &[(&str, &str)], settings: &[&str]) -> Vec<String> {
        let of = |(name, own): &(&str, &str)| {
            format!("[[series]]\nname = \"{name}\"\ntransport.{name} = {{{own}}}\n")
        };
        let text = format!(
            "{keys}topology.star.hosts = 3\n[[workload]]\nname = \"w\"\npermutation = {{}}\nsize = \"9KB\"\n{}",
            series.iter().map(of).collect::<String>()
        );
        let settings: Vec<String> = settings.iter().map(|&text| text.to_owned()).collect();
        let scenario = Scenario::parse("s", &text, &settings);
        cautions(&scenario.unwrap_or_else(|error| panic!("{error}")).runs)
    }

    #[test]
    fn timers_that_make_a_comparison_unfair_are_warned_of() {
        let notes = |timers: &str| said("", &[("ndp", ""), ("dctcp", timers)], &[]);
        let slow = notes("");
        assert!(slow.len() == 1 && slow[0].contains("dctcp has timers"), "{slow:?}");
        assert!(slow[0].contains("minimum time-out 200ms, ACKs delayed by up to 40ms"), "{slow:?}");
        assert!(notes("timers = \"rfc\"")[0].contains("minimum time-out 1s"));
        assert_eq!(notes("timers = \"datacenter\""), [""; 0]);
        // All have the same.
        assert_eq!(said("", &[("tcp", ""), ("dctcp", "")], &[]), [""; 0]);
    }

    #[test]
    fn payloads_that_make_a_comparison_unfair_are_warned_of() {
        let notes = |keys: &str, ndp: &str, settings: &[&str]| {
            said(keys, &[("ndp", ndp), ("homa", "")], settings)
        };
        let (own, of_all) = ("payload = \"1460B\"", "payload = \"1460B\"\n");
        let unequal = notes("", own, &[]);
        assert!(
            unequal.len() == 1 && unequal[0].contains("ndp 1460 B, homa 9000 B"),
            "{unequal:?}"
        );
        assert_eq!(notes("", "", &[]), [""; 0]);
        assert_eq!(notes(of_all, "", &[]), [""; 0]);
        assert_eq!(notes("", own, &["payload=700B"]), [""; 0]);
    }
}
