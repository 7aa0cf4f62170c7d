//! Mutants of the model of a vector, which at least one vector must find. The list is in vectors/README.md;
//! rtl/mutations.sh has the same mutants of the RTL.

use std::path::Path;

use trimline_switch::detour::{Counts, DetourModel, Detourable, Hot, Pick, Seen, Targets};
use trimline_switch::{Action, Choices, Limit, Port, Scheduler};

use crate::detours::{self, Device as _};
use crate::vectors::{FOLDER, Harness, Vector, read_all};

/// A mutant, and whether coins are inverted.
type Mutant = (&'static str, fn(&mut Choices), bool);

/// A mutant by its name, and the vectors that find it.
type Found = (&'static str, Vec<String>);

fn trims(choices: &mut Choices, bytes: u16) {
    choices.trimmed_bytes = bytes;
}

fn ratio(choices: &mut Choices, by: i32) {
    if let Scheduler::WeightedRoundRobin { weights } = &mut choices.scheduler {
        weights[0] = weights[0].saturating_add_signed(by);
    }
}

fn replace(choices: &mut Choices, old: Action, new: Option<Action>) {
    for queue in &mut choices.queues {
        queue.overflow.retain_mut(|action| match (*action == old, new) {
            (true, Some(new)) => {
                *action = new;
                true
            }
            (true, None) => false,
            (false, _) => true,
        });
    }
}

const MUTANTS: [Mutant; 13] = [
    ("trim to 60 bytes", |choices| trims(choices, 60), false),
    ("trim to 63 bytes", |choices| trims(choices, 63), false),
    ("trim to 65 bytes", |choices| trims(choices, 65), false),
    ("trim to 128 bytes", |choices| trims(choices, 128), false),
    ("nine headers to one", |choices| ratio(choices, -1), false),
    ("eleven headers to one", |choices| ratio(choices, 1), false),
    ("strict priority", |choices| choices.scheduler = Scheduler::Strict, false),
    ("the coin's sides are swapped", |_| {}, true),
    (
        "always the newcomer",
        |choices| replace(choices, Action::TrimRandom, Some(Action::TrimArriving)),
        false,
    ),
    ("no trimming", |choices| replace(choices, Action::TrimRandom, None), false),
    ("no return to sender", |choices| replace(choices, Action::Return, None), false),
    (
        "one packet more in the data queue",
        |choices| {
            choices.queues[1].whole.packets = choices.queues[1].whole.packets.saturating_add(1)
        },
        false,
    ),
    (
        "one header less in the header queue",
        |choices| {
            let header = &mut choices.queues[0].header;
            *header = Limit { bytes: header.bytes.saturating_sub(64).max(1), ..*header };
        },
        false,
    ),
];

/// Returns each mutant with the vectors that find it, or a line per mutant that no vector finds.
fn judged(all: impl Iterator<Item = Found>) -> Result<Vec<Found>, Vec<String>> {
    let (found, missed): (Vec<_>, Vec<_>) = all.partition(|(_, finders)| !finders.is_empty());
    let line = |(name, _): &Found| format!("no vector finds the mutant: {name}");
    if missed.is_empty() { Ok(found) } else { Err(missed.iter().map(line).collect()) }
}

/// Judges the mutants of the port, by the vectors of the profile `paper`.
pub(crate) fn check_all(root: &Path) -> Result<Vec<Found>, Vec<String>> {
    let mut vectors = read_all(root, &[FOLDER]).map_err(|error| vec![error])?;
    vectors.retain(|vector| vector.profiles.iter().any(|profile| profile == "paper"));
    judged(MUTANTS.into_iter().map(|(name, mutate, opposite)| {
        let finders = vectors.iter().filter(|vector| fails(vector, mutate, opposite));
        (name, finders.map(|vector| vector.file.clone()).collect())
    }))
}

fn fails(vector: &Vector, mutate: fn(&mut Choices), opposite: bool) -> bool {
    let mut choices = vector.choices("paper").expect("vectors are read before");
    mutate(&mut choices);
    // A model that cannot be built is found.
    let Ok(model) = choices.build() else { return true };
    let mut harness = Harness::<Port<2>>::new(&model);
    harness.rng.opposite = opposite;
    harness.run(vector, "paper").is_err()
}

type DetourMutant = (&'static str, fn(&mut DetourModel));

fn threshold(model: &mut DetourModel, by: i32) {
    if let Some(Hot::Above(threshold)) = &mut model.hot {
        // There is no threshold below 0.
        *threshold = threshold.saturating_add_signed(by);
    }
}

fn limit(model: &mut DetourModel, by: i8) {
    model.limit = model.limit.map(|limit| limit.saturating_add_signed(by));
}

fn targets(model: &mut DetourModel, change: fn(&mut Targets)) {
    change(&mut model.targets);
}

const DETOUR_MUTANTS: [DetourMutant; 16] = [
    ("a queue of the threshold is hot", |model| threshold(model, -1)),
    ("the threshold is one more", |model| threshold(model, 1)),
    ("every port is hot", |model| model.hot = Some(Hot::Always)),
    ("no port is hot", |model| model.hot = None),
    ("detoured once too often", |model| limit(model, 1)),
    ("detoured once too seldom", |model| limit(model, -1)),
    ("no limit", |model| model.limit = None),
    ("the limit counts detours", |model| model.counts = Counts::Detours),
    ("scheduled data is detoured", |model| model.detourable = Detourable::Data),
    ("one port is drawn", |model| model.pick = Pick::One),
    ("a port to a host is drawn", |model| targets(model, |targets| targets.hosts = true)),
    ("the input is drawn", |model| targets(model, |targets| targets.input = true)),
    ("its own port is drawn", |model| targets(model, |targets| targets.own = true)),
    ("a dead link is drawn", |model| targets(model, |targets| targets.dead = true)),
    ("the length is the one now", |model| model.seen = Seen::Now),
    ("the length is the one at the arrival", |model| model.seen = Seen::LastArrivalThatLeft),
];

/// Judges the mutants of the decision of a detour, by `vectors/detour`.
pub(crate) fn check_detours(root: &Path) -> Result<Vec<Found>, Vec<String>> {
    let vectors = detours::read_all(root).map_err(|error| vec![error])?;
    judged(DETOUR_MUTANTS.into_iter().map(|(name, mutate)| {
        let fails = |vector: &&detours::Vector| {
            let mut model = vector.model();
            mutate(&mut model);
            detours::Harness::new(model, &vector.config).run(vector).is_err()
        };
        let finders = vectors.iter().filter(fails);
        (name, finders.map(|vector| vector.file.clone()).collect())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutant_is_found_by_a_vector() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for outcome in [check_all(&root), check_detours(&root)] {
            if let Err(missed) = outcome {
                panic!("{}", missed.join("\n"));
            }
        }
    }
}
