//! Counts of sentences that have to be read twice, in doc comments, docstrings and documents: `cargo xtask tidy` holds
//! them to bars.

/// First words of a doc comment that names nothing.
const RELATIVE: [&str; 8] = ["What", "Whether", "Who", "When", "Where", "How", "Of", "As"];
/// First words that lean on the item above, which an IDE does not show.
const LEANING: [&str; 5] = ["The same", "As there", "The other", "These", "Likewise"];
/// Words that stand for a noun.
const PRONOUNS: [&str; 12] = [
    "nobody",
    "somebody",
    "whoever",
    "so many",
    "one of them",
    "of which",
    "of them",
    "is told",
    "are told",
    "tells of",
    "that of",
    "those of",
];

/// Lines of the repository, by kind of fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    relative: usize,
    leaning: usize,
    without_noun: usize,
}

/// The most lines of each kind that the repository may have.
const BARS: Counts = Counts { relative: 150, leaning: 0, without_noun: 80 };

impl Counts {
    /// Counts the lines of one file.
    pub(crate) fn add(&mut self, path: &str, text: &str) {
        let is_read = [".rs", ".py", ".md"].iter().any(|ending| path.ends_with(ending));
        // The changelog is history, and this file has the words.
        if !is_read || path == "CHANGELOG.md" || path.ends_with("xtask/src/prose.rs") {
            return;
        }
        for line in text.lines().map(str::trim_start) {
            let doc = line.strip_prefix("/// ").or(line.strip_prefix("//! "));
            let begins = |words: &[&str]| {
                let has = |doc: &str, word: &str| {
                    doc.strip_prefix(word)
                        .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
                };
                doc.is_some_and(|doc| words.iter().any(|word| has(doc, word)))
            };
            self.relative += usize::from(begins(&RELATIVE));
            self.leaning += usize::from(begins(&LEANING));
            let is_prose = doc.is_some()
                || line.starts_with('#')
                || line.starts_with("\"\"\"")
                || line.starts_with(|first: char| first.is_ascii_uppercase());
            let stands = |word: &&str| contains(line, word);
            self.without_noun += usize::from(is_prose && PRONOUNS.iter().any(stands));
        }
    }

    /// Returns the counts that are above their bar.
    pub(crate) fn findings(self) -> Vec<String> {
        let kinds = [
            ("doc lines open with a relative word", self.relative, BARS.relative),
            ("doc lines lean on the item above", self.leaning, BARS.leaning),
            ("lines have a pronoun in place of a noun", self.without_noun, BARS.without_noun),
        ];
        let above = kinds.into_iter().filter(|(_, count, bar)| count > bar);
        above.map(|(kind, count, bar)| format!("prose: {count} {kind}; at most {bar}")).collect()
    }
}

/// Returns whether `word` is in `line`, and not part of a longer word.
pub(crate) fn contains(line: &str, word: &str) -> bool {
    let of_a_word = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        let joined_before = word.starts_with(of_a_word) && before.is_some_and(of_a_word);
        // A path begins at its slash; a relative one has a name before it.
        let inside_path = word.starts_with('/') && before.is_some_and(|c| of_a_word(c) || c == '.');
        let joined_after = word.chars().all(of_a_word) && after.is_some_and(of_a_word);
        !(joined_before || inside_path || joined_after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_by_kind() {
        let mut counts = Counts::default();
        counts.add(
            "a.rs",
            "/// What it is.\n/// Returns the whatnot.\n    /// The same.\nlet whoever = 1;\n",
        );
        counts.add("a.md", "Ports that nobody reads.\nPorts that nobodys.\n");
        assert_eq!(counts, Counts { relative: 1, leaning: 1, without_noun: 1 });
        assert_eq!(counts.findings(), ["prose: 1 doc lines lean on the item above; at most 0"]);
    }
}
