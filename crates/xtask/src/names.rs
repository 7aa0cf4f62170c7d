//! Identifiers that the glossary (docs/glossary.md) replaced: `cargo xtask tidy` refuses them in Rust and Python.
//!
//! Comments, strings and prose may use the words.

use proc_macro2::{TokenStream, TokenTree};

/// An old identifier, its replacement, and the folders in which the old one is refused. `prefix_` stands for every
/// identifier that begins with it.
const OLD: [(&str, &str, &[&str]); 67] = [
    ("deflect", "detour", ALL),
    ("deflection", "detour", ALL),
    ("deflections", "detours", ALL),
    ("deflected", "detoured", ALL),
    ("Deflection", "Detour", ALL),
    ("Deflections", "Detours", ALL),
    ("DeflectionModel", "DetourModel", ALL),
    ("Displaced", "DropList", ALL),
    ("displaced", "drop_list", ALL),
    ("Fate", "Disposition or LinkAction", ALL),
    ("settle", "apply_dispositions, catch_up or reconcile", ALL),
    ("Around", "PortContext", ALL),
    ("Capped", "RateLimited", ALL),
    ("Beside", "Drr", ALL),
    ("BesideModel", "DrrModel", ALL),
    ("Varied", "PerPort", ALL),
    ("Urgent", "PriorityDrop", ALL),
    ("Sojourn", "CodelPort", ALL),
    ("least", "min", ALL),
    ("most", "max", ALL),
    ("least_", "min_", ALL),
    ("most_", "max_", ALL),
    ("LEAST_", "MIN_", ALL),
    ("MOST_", "MAX_", ALL),
    ("Least", "Min", ALL),
    ("Most", "Max", ALL),
    ("unit", "node", ENGINE),
    ("units", "nodes", ENGINE),
    ("visit_", "run_", ENGINE),
    ("visits", "runner", ENGINE),
    ("Visits", "Runner", ENGINE),
    ("outlook", "next_event", ENGINE),
    ("Outlook", "NextEvent", ENGINE),
    ("Agenda", "EventList", ENGINE),
    ("Calendar", "EventSink", ENGINE),
    ("stride", "epoch", &["crates/sim/src/run.rs"]),
    ("Half", "Side", ALL),
    ("Role", "StreamState", &["crates/transport", "crates/cli/templates"]),
    ("hear", "receive", ALL),
    ("hear_", "receive_", ALL),
    ("Laying", "Overlay", ALL),
    ("Claim", "OutputLock", &["crates/experiments", "crates/py", "python"]),
    ("foreign", "import", &["crates/cli/src", "crates/experiments/src/import.rs"]),
    ("Theirs", "Baseline", ALL),
    ("patience", "stall_timeout", ALL),
    ("Patience", "SpinLimit", ALL),
    ("Turns", "SendScheduler", ALL),
    ("Unfinished", "Offload", ALL),
    ("Bell", "Waker", ALL),
    ("bell", "waker", ALL),
    ("Mistake", "Mutant", &["crates/xtask", "tools/p4"]),
    ("Chance", "Rng", ALL),
    ("turn_round", "bounce", ALL),
    ("TrimByCoin", "TrimRandom", ALL),
    ("is_turned_round", "is_bounced", ALL),
    ("Untold", "Unnotified", ALL),
    ("untold", "unnotified or pending", ALL),
    ("NOBODY", "NONE", ALL),
    ("unsettle", "change_links", ALL),
    ("Teller", "ProgressLine", ALL),
    ("telling", "notifying", &["crates/switch", "crates/transport"]),
    ("silence", "clear_eventfd or a timeout", ALL),
    ("silences", "timeouts", ALL),
    ("SILENCE", "IDLE_TIMEOUT", ALL),
    ("count_kept", "count_buffered", ALL),
    ("FATES", "DISPOSITIONS", ALL),
    ("Windows", "LookaheadWindows", &["crates/sim/src"]),
];

const ALL: &[&str] = &["crates", "fuzz", "python", "scripts", "tools"];
const ENGINE: &[&str] = &["crates/sim/src/engine", "crates/sim/src/network"];

/// Reports the old identifiers in one file.
pub(crate) fn check(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    match path.rsplit_once('.') {
        Some((_, "rs")) => {
            // The compiler refuses a file that is not Rust.
            let tokens: TokenStream = text.parse().unwrap_or_default();
            identifiers(tokens, &mut found);
        }
        Some((_, "py")) => identifiers_of_python(text, &mut found),
        _ => {}
    }
    // A pool chooses the least busy connection: the term of load balancers.
    let old = found.iter().filter(|(_, name)| name != "least_busy");
    let refused = old.filter_map(|(line, name)| {
        let (_, new, _) = OLD.iter().find(|(old, _, folders)| {
            let is_old = name == old || old.ends_with('_') && name.starts_with(old);
            is_old && folders.iter().any(|folder| path.starts_with(folder))
        })?;
        Some(format!("{path}:{line}: `{name}`: docs/glossary.md has `{new}`"))
    });
    refused.collect()
}

/// Returns the identifiers of Rust with their lines, without sentences, such as names of tests.
fn identifiers(tokens: TokenStream, found: &mut Vec<(usize, String)>) {
    let mut is_function = false;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                let name = ident.to_string();
                let is_sentence = is_function && name.matches('_').count() > 3;
                is_function = name == "fn";
                if !is_sentence {
                    found.push((ident.span().start().line, name));
                }
            }
            TokenTree::Group(group) => identifiers(group.stream(), found),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// Returns the identifiers of Python with their lines, without comments and strings.
fn identifiers_of_python(text: &str, found: &mut Vec<(usize, String)>) {
    let (mut rest, mut line, mut name) = (text, 1, String::new());
    while let Some(first) = rest.chars().next() {
        if first.is_alphanumeric() || first == '_' {
            name.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        if !name.is_empty() {
            found.push((line, std::mem::take(&mut name)));
        }
        let skipped = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => {
                let mark = &rest
                    [..if rest[1..].starts_with(&first.to_string().repeat(2)) { 3 } else { 1 }];
                string_length(rest, mark)
            }
            _ => first.len_utf8(),
        };
        line += rest[..skipped].matches('\n').count();
        rest = &rest[skipped..];
    }
}

/// Returns the length of a string between two `mark`s.
fn string_length(text: &str, mark: &str) -> usize {
    let mut place = mark.len();
    while place < text.len() {
        if text[place..].starts_with(mark) {
            return place + mark.len();
        }
        let escaped = text[place..].starts_with('\\');
        place +=
            text[place..].chars().take(1 + usize::from(escaped)).map(char::len_utf8).sum::<usize>();
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn finds(path: &str, text: &str, expected: &[&str]) {
        assert_eq!(check(path, text), expected);
    }

    #[test]
    fn old_identifiers_are_refused_and_prose_is_not() {
        let text = "/// At least one.\nfn run(least: u32) { let text = \"least\"; }\n#[test]\nfn one_at_least_is_the_least_of_all() {}\n";
        finds("crates/a.rs", text, &["crates/a.rs:2: `least`: docs/glossary.md has `min`"]);
        let text = "MOST_ROWS = 3  # most\n\"\"\"The\nleast.\"\"\"\nx = 'it\\'s least'\nmost = 1\n";
        let expected = [
            "python/a.py:1: `MOST_ROWS`: docs/glossary.md has `MAX_`",
            "python/a.py:5: `most`: docs/glossary.md has `max`",
        ];
        finds("python/a.py", text, &expected);
    }

    #[test]
    fn a_word_is_refused_where_it_was_replaced() {
        finds("crates/metrics/src/a.rs", "fn unit() {}", &[]);
        let expected = "crates/sim/src/engine/a.rs:1: `unit`: docs/glossary.md has `node`";
        finds("crates/sim/src/engine/a.rs", "fn unit() {}", &[expected]);
    }
}
